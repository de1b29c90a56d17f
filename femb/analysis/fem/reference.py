"""Shapes of a body in the frame of one of its interfaces: the change of reference, from moments alone.

With displacement a_j and rotation b_j of shape j at the new origin, Z_j = b_j~, the shapes psi_j - a_j - b_j x X have

    s'_j  = s_j - m a_j - b_j x s_0                                                                       (26)
    B'_ij = B_ij - s_i a_j^T - B_i0 Z_j^T - a_i s_j^T + m a_i a_j^T + a_i s_0^T Z_j^T - Z_i B_0j + Z_i s_0 a_j^T
            + Z_i B_00 Z_j^T

The mass matrix changes likewise, with the rigid mass matrix, and is exact also with rotary inertia of nodes.
Source: docs/theory/modal_body.md, section 8.
"""

import numpy as np

from femb.base.types import Floats
from femb.elements.modal.mass_moments import axial, inertia_of, product_of, symmetric
from femb.numerics.rotations import cross_matrix


def referred_arrays(arrays: dict[str, Floats], motion: Floats, point: Floats) -> dict[str, Floats]:
    """Arrays of the shapes less their rigid ``motion`` (6, n), displacement and rotation, at a point (3,) m, which is
    the new origin; along the same axes. Arrays of geometric stiffening are those of a held frame, and are left out."""
    stiffened = bool(np.any(arrays.get("included", False)))
    if stiffened and "B2" in arrays:
        of_rest = {"J2": arrays["J2"] - 2.0 * inertia_of(arrays["B2"]), "Q": arrays["Q"] - axial(arrays["B2"])}
        arrays, stiffened = {**arrays, **of_rest}, False
    left_out = {"S2", "B2", "psi2", "included"} | ({"J1", "J2", "Q"} if stiffened else set())
    out = {name: value for name, value in arrays.items() if name not in left_out}
    m, s0, J0, S1 = float(arrays["mass"]), arrays["first_moment"], arrays["inertia"], arrays["S1"]
    B00 = 0.5 * np.trace(J0) * np.eye(3) - J0
    first = s0 - m * point
    moved = B00 - np.outer(point, s0) - np.outer(s0, point) + m * np.outer(point, point)
    out["first_moment"], out["inertia"] = first, inertia_of(moved)
    cross = cross_matrix(first)
    rigid = np.block([[m * np.eye(3), -cross], [cross, out["inertia"]]])
    momenta = np.hstack([S1, arrays["C0"] - np.cross(point, S1)])
    carried = momenta @ motion
    out["M"] = symmetric(arrays["M"] - carried - carried.T + motion.T @ rigid @ motion)
    momenta = momenta - (rigid @ motion).T
    out["S1"], out["C0"] = momenta[:, :3], momenta[:, 3:]
    if "J1" in out and "J2" in out and "Q" in out:
        B0 = product_of(arrays["J1"], arrays["C0"]) - np.einsum("a,jb->jab", point, S1)
        B = product_of(arrays["J2"], arrays["Q"])
        out["J1"], out["J2"], out["Q"] = _second_order(m, first, moved, S1, B0, B, motion)
    out["interfaces"] = arrays["interfaces"] - point
    if "nodes" in arrays:
        out["nodes"] = arrays["nodes"] - point
        out["node_shapes"] = arrays["node_shapes"] - at_points(motion, out["nodes"])
    return out


def at_points(motion: Floats, points: Floats) -> Floats:
    """(n, N, 3): displacements of points (N, 3) from the origin in rigid motions (6, n)."""
    return np.asarray(motion[:3].T[:, None] + np.cross(motion[3:].T[:, None], points[None]))


def _second_order(
    m: float, s0: Floats, B00: Floats, s: Floats, B0: Floats, B: Floats, motion: Floats
) -> tuple[Floats, Floats, Floats]:
    """J1, J2 and Q by (26) of moments about the new origin; B0 are the B_0j."""
    a, Z = motion[:3].T, np.array([cross_matrix(b) for b in motion[3:].T])
    Zt = Z.swapaxes(-1, -2)
    ends = np.einsum("jab,b->ja", Z, s0)  # Z_j s_0
    new_B0 = B0 - np.einsum("a,jb->jab", s0, a) - B00 @ Zt
    outer = np.einsum("ia,jb->ijab", s, a) + np.einsum("ia,jb->ijab", a, s)
    outer -= m * np.einsum("ia,jb->ijab", a, a)
    outer -= np.einsum("ia,jb->ijab", a, ends) + np.einsum("ia,jb->ijab", ends, a)
    of_i = np.einsum("ica,jbc->ijab", B0, Z)  # B_i0 Z_j^T
    of_j = np.einsum("iac,jcb->ijab", Z, B0)  # Z_i B_0j
    new_B = B - outer - of_i - of_j + np.einsum("iac,cd,jbd->ijab", Z, B00, Z, optimize=True)
    J2 = 2.0 * inertia_of(new_B)
    return 2.0 * inertia_of(new_B0), 0.5 * (J2 + J2.swapaxes(0, 1)), axial(new_B)
