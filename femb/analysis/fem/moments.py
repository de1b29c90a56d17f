"""Mass moments of shapes: the inertia of a flexible body to second order in its coordinates.

    B_IJ = sum_kl m_kl Psi_I,k Psi_J,l^T,   Psi_0 = X                                                     (5)

Solids have one scalar mass for x, y and z, and the sums are exact. Models with nodal rotations are made of particles
with offsets and inertias, whose mass and first moment are those of the rows of the mass matrix (7); arrays that do not
grow with deformation are then of the full matrix. Source: docs/theory/modal_body.md, section 3.
"""

from dataclasses import dataclass

import numpy as np

from femb.analysis.fem.model import FeModel
from femb.base.types import Floats, Sparse
from femb.elements.modal.mass_moments import axial, inertia_of, symmetric
from femb.numerics.rotations import cross_matrix

ISOTROPIC = 1e-9  # of the largest entry


@dataclass(frozen=True, eq=False)
class Moments:
    """Arrays of n shapes about the frame's origin, as those of ``femb.elements.modal.data.ReducedBody``."""

    mass: float
    first_moment: Floats
    inertia: Floats
    S1: Floats
    C0: Floats
    M: Floats
    J1: Floats
    J2: Floats
    Q: Floats


def moments(model: FeModel, point: Floats, shapes: Floats) -> Moments:
    """Of shapes (n, s), about a point (3,) m."""
    D, moved = model.rigid_motions(point), model.mass @ shapes
    rigid, by_shape, M = D.T @ (model.mass @ D), moved.T @ D, shapes.T @ moved
    first = np.array([rigid[5, 1], rigid[3, 2], rigid[4, 0]])
    scalar = scalar_mass(model)
    J1, J2, Q = _of_solid(model, scalar, point, shapes) if scalar is not None else _of_lumps(model, point, shapes, D)
    return Moments(
        float(rigid[0, 0]), first, symmetric(rigid[3:, 3:]), by_shape[:, :3], by_shape[:, 3:], symmetric(M), J1, J2, Q
    )  # fmt: skip


def scalar_mass(model: FeModel) -> Sparse | None:
    """m_kl (N', N') of the nodes with displacements, if the mass is the same for x, y, z and without rotations."""
    if np.any(model.component > 2):
        return None
    parts = [model.dofs[:, a] for a in range(3)]
    own = parts[0] >= 0
    if any(np.any((part >= 0) != own) for part in parts):
        return None
    rows = [part[own] for part in parts]
    blocks = [[model.mass[i][:, j] for j in rows] for i in rows]
    limit = ISOTROPIC * float(np.max(np.abs(model.mass.data), initial=0.0))
    for a in range(3):
        for b in range(3):
            rest = blocks[a][b] - blocks[0][0] if a == b else blocks[a][b]
            if rest.nnz and np.abs(rest.data).max() > limit:
                return None
    return blocks[0][0]


def _of_solid(model: FeModel, scalar: Sparse, point: Floats, shapes: Floats) -> tuple[Floats, Floats, Floats]:
    own = model.dofs[:, 0] >= 0
    dofs = model.dofs[own]
    s = shapes.shape[1] + 1
    whole = np.empty((len(dofs), 3, s))
    whole[:, :, 0] = model.nodes[own] - point
    for a in range(3):
        whole[:, a, 1:] = shapes[dofs[:, a]]
    flat = whole.reshape(len(dofs), -1)
    B = (flat.T @ (scalar @ flat)).reshape(3, s, 3, s).transpose(1, 3, 0, 2)
    return _second_order(B)


def _second_order(B: Floats) -> tuple[Floats, Floats, Floats]:
    """J1, J2, Q of B (1 + n, 1 + n, 3, 3)."""
    J2 = 2.0 * inertia_of(B[1:, 1:])
    return 2.0 * inertia_of(B[0, 1:]), 0.5 * (J2 + J2.swapaxes(0, 1)), axial(B[1:, 1:])


def _of_lumps(model: FeModel, point: Floats, shapes: Floats, D: Floats) -> tuple[Floats, Floats, Floats]:
    """Equations (7) and (8)."""
    n, s = len(model.nodes), shapes.shape[1]
    momenta = (model.mass @ D).T  # E^T M and G^T M, by columns
    m, X, J = np.zeros(n), model.nodes - point, np.zeros((n, 3, 3))
    u, theta = np.zeros((n, 3, s)), np.zeros((n, 3, s))
    for k, dofs in enumerate(model.dofs):
        line, turn = np.zeros((6, 3)), np.zeros((6, 3))
        has, turns = dofs[:3] >= 0, dofs[3:] >= 0
        line[:, has], turn[:, turns] = momenta[:, dofs[:3][has]], momenta[:, dofs[3:][turns]]
        m[k] = np.trace(line[:3]) / 3.0
        u[k, has], theta[k, turns] = shapes[dofs[:3][has]], shapes[dofs[3:][turns]]
        across = turn[:3]
        d = axial(across) / (2.0 * m[k]) if m[k] > 0.0 else np.zeros(3)
        X[k] = X[k] + d
        J[k] = symmetric(turn[3:] - cross_matrix(X[k]) @ across)
        u[k] -= cross_matrix(d) @ theta[k]
    whole = np.concatenate([X[:, :, None], u], axis=2).reshape(n, -1)
    B = (whole.T @ (m[:, None] * whole)).reshape(3, s + 1, 3, s + 1).transpose(1, 3, 0, 2)
    J1, J2, Q = _second_order(B)
    return _with_rotary_inertia(J1, J2, Q, J, theta)


def _with_rotary_inertia(J1: Floats, J2: Floats, Q: Floats, J: Floats, theta: Floats) -> tuple[Floats, Floats, Floats]:
    """Equation (8), of inertias (N, 3, 3) and rotations (N, 3, n)."""
    t = np.cross(np.eye(3), theta.transpose(0, 2, 1)[:, :, None, :])  # (N, n, 3, 3) cross matrices
    tJ = t @ J[:, None]
    J1 = J1 + np.sum(tJ + tJ.swapaxes(-1, -2), axis=0)
    first = np.einsum("niab,njbc->ijac", tJ, t, optimize=True)
    second = np.einsum("niab,njbc->ijac", t, tJ, optimize=True)
    half = 0.5 * (second + second.swapaxes(0, 1))
    J2 = J2 - first - first.swapaxes(0, 1) + half + half.swapaxes(-1, -2)
    Q = Q + np.einsum("niab,njb->ija", tJ - 0.5 * (J[:, None] @ t), theta.transpose(0, 2, 1), optimize=True)
    return J1, J2, Q
