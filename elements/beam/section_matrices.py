"""Stiffness and mass matrices of sections, 6 x 6 in the order of VABS: what is wrong with them, and their parts.

Axes: x along the beam. Strains: extension, shear along y and z, twist, curvatures about y and z.
Source: docs/theory/exact_beam.md, section 3.
"""

import numpy as np

from femb.base.types import Floats
from femb.numerics.rotations import cross_matrix

ROUNDING = 1e-9  # of the largest entry: what measured or written tables leave


def stiffness_problem(matrix: Floats) -> str | None:
    """Why a stiffness matrix (n, n) is none; None if it is one."""
    if np.max(np.abs(matrix - matrix.T)) > ROUNDING * np.max(np.abs(matrix)):
        return "must be symmetric"
    # forces and moments have different units: on the scale of the diagonal
    scale = np.sqrt(np.abs(np.diag(matrix)))
    if not np.all(scale > 0.0) or not np.all(np.linalg.eigvalsh(matrix / np.outer(scale, scale)) > 0.0):
        return "must be positive definite: every deformation must cost energy"
    return None


def mass_parts(matrix: Floats) -> tuple[float, Floats, Floats]:
    """Mass per length, mass centre (3,) and inertia (3, 3) about it, of a mass matrix (6, 6)."""
    m = float(matrix[0, 0])
    c = np.array([0.0, -matrix[0, 5], matrix[0, 4]]) / m
    return m, c, matrix[3:, 3:] - m * (c @ c * np.eye(3) - np.outer(c, c))


def mass_problem(matrix: Floats) -> str | None:
    """Why a mass matrix (6, 6) is that of no section; None if it is of one."""
    if matrix[0, 0] <= 0.0:
        return f"the mass per length, its first entry, is {matrix[0, 0]:.6g} kg/m, must be greater than 0"
    m, c, inertia = mass_parts(matrix)
    tilde = m * cross_matrix(c)
    rotary = inertia + m * (c @ c * np.eye(3) - np.outer(c, c))
    wanted = np.block([[m * np.eye(3), -tilde], [tilde, rotary]])
    wrong = np.abs(matrix - wanted)
    scale = np.sqrt(np.abs(np.outer(np.diag(matrix), np.diag(matrix))))
    if np.any(wrong > 1e-6 * scale) or np.any(np.abs(matrix - matrix.T) > 1e-6 * scale):
        i, j = np.unravel_index(int(np.argmax(wrong / np.maximum(scale, 1e-300))), (6, 6))
        return (
            "is not of a section: wanted [m 1, -m c~; m c~, J + m (|c|2 1 - c c^T)] with the mass centre c = (0, y, z) "
            f"and x along the beam; row {i + 1}, column {j + 1} is {matrix[i, j]:.6g}, wanted {wanted[i, j]:.6g}"
        )
    if not np.all(np.linalg.eigvalsh(inertia) > 0.0):
        return "the inertia about the mass centre must be positive definite: its moments about c are too small"
    if inertia[0, 0] * np.linalg.inv(inertia)[0, 0] >= 3.0:
        return "couples the rotation about x with y and z more than a section can"
    return None
