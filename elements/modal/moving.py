"""Arrays of the coordinates that move the mass of a flexible body, so that its kinetic energy is a sum of squares.

Displacements of second order Psi2_jk are given by their moments S2_jk = int Psi2_jk dm and B2_jk = int X Psi2_jk^T dm.
Of all fields with these moments that which moves the least mass is a combination of the fields f_r e_b, with the
functions f_r of 1, x, y, z that are orthonormal in the mass. Its amplitudes are further coordinates zeta, of which the
field is linear; the mass matrix is then that of linear shapes, and positive definite wherever the body is.
Source: docs/theory/modal_body.md, section 4, equations (30) to (32).
"""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats
from femb.elements.modal import columns
from femb.elements.modal.data import ReducedBody
from femb.elements.modal.mass_moments import axial, inertia_of, product_of

THIN = 1e-9  # least mass of a function of position, of the largest
SMALL = 1e-8  # least amplitude of a field, of the largest


@dataclass(frozen=True, eq=False)
class MovingArrays:
    """Arrays of N coordinates: n of the body and N - n of second order.

    linear (N, 12), quad (N, N, 12) or (0, N, 12): see ``columns``; mass (N, N); bent (N - n, n, n): the amplitudes of
    second order are eta bent eta / 2.
    """

    linear: Floats
    quad: Floats
    mass: Floats
    bent: Floats


def moving_arrays(body: ReducedBody, full: bool, free: bool = False) -> MovingArrays:
    """Of a body with coupling "full" or "constant"; free : whether no joint
    holds it, and no body carries it."""
    n = body.size
    if free and not full:
        return _about_mass_centre(body)
    if full and body.B2 is not None and body.S2 is not None:
        return _with_second_order(body, body.S2, body.B2)
    linear, quad = np.zeros((n, 12)), np.zeros((n if full else 0, n, 12))
    linear[:, columns.S1 : columns.C0], linear[:, columns.C0 : columns.J1] = body.S1, body.C0
    if full and body.J1 is not None and body.J2 is not None:
        linear[:, columns.J1 :] = columns.six(body.J1)
        quad[:, :, columns.S2 : columns.Q] = body.S2
        quad[:, :, columns.Q : columns.J2] = body.Q
        quad[:, :, columns.J2 :] = columns.six(body.J2)
    return MovingArrays(linear, quad, np.array(body.M), np.zeros((0, n, n)))


def _about_mass_centre(body: ReducedBody) -> MovingArrays:
    """With the inertia of second order of the whole mass at the mass centre: equation (33).

    Inertia and momenta about the mass centre are then constant, as in mean axes.
    """
    m, s0, S1, n = body.mass, body.first_moment, body.S1, body.size
    B = np.einsum("ia,jb->ijab", S1, S1) / m
    linear, quad = np.zeros((n, 12)), np.zeros((n, n, 12))
    linear[:, columns.S1 : columns.C0], linear[:, columns.C0 : columns.J1] = S1, body.C0
    linear[:, columns.J1 :] = columns.six(2.0 * inertia_of(np.einsum("a,jb->jab", s0, S1) / m))
    quad[:, :, columns.Q : columns.J2] = axial(B)
    quad[:, :, columns.J2 :] = columns.six(2.0 * inertia_of(B))
    return MovingArrays(linear, quad, np.array(body.M), np.zeros((0, n, n)))


def _with_second_order(body: ReducedBody, S2: Floats, B2: Floats) -> MovingArrays:
    """Equations (30) to (32)."""
    assert body.J1 is not None  # B2 is refused without these
    assert body.J2 is not None
    assert body.Q is not None
    n, s0 = body.size, body.first_moment
    B00 = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
    gram = np.block([[np.array([[body.mass]]), s0[None]], [s0[:, None], B00]])
    masses, axes = np.linalg.eigh(gram)
    kept = masses > THIN * masses[-1]
    f = axes[:, kept] / np.sqrt(masses[kept])  # columns: f_r by 1, x, y, z
    amplitudes = np.einsum("ar,jkab->rbjk", f, np.concatenate([S2[:, :, None], B2], axis=2))
    U, sizes, rows = np.linalg.svd(amplitudes.reshape(-1, n * n), full_matrices=False)
    own = sizes > SMALL * np.max(sizes, initial=0.0)
    bent = (sizes[own, None] * rows[own]).reshape(-1, n, n)
    fields = f @ U[:, own].T.reshape(-1, f.shape[1], 3)  # (e, 4, 3): int (1, X)_a phi_e = gram fields
    moved = gram @ fields
    B0 = product_of(body.J1, body.C0)
    shapes = np.concatenate([body.S1[:, None], B0], axis=1)  # (n, 4, 3): int (1, X)_a Psi_j dm
    across = np.einsum("jab,eac->jebc", shapes, fields)  # int Psi_j phi_e^T dm
    size, e = n + len(fields), slice(n, None)
    B = np.zeros((size, size, 3, 3))
    B[:n, e], B[e, :n] = across, across.transpose(1, 0, 3, 2)
    B[e, e] = np.einsum("dab,eac->debc", fields, moved)
    inertias = 2.0 * inertia_of(B)
    inertias = 0.5 * (inertias + inertias.swapaxes(0, 1))
    twists, mass = axial(B), np.trace(B, axis1=-2, axis2=-1)
    inertias[:n, :n], twists[:n, :n], mass[:n, :n] = body.J2 - 2.0 * inertia_of(B2), body.Q - axial(B2), body.M
    linear, quad = np.zeros((size, 12)), np.zeros((size, size, 12))
    linear[:n, columns.S1 : columns.C0], linear[:n, columns.C0 : columns.J1] = body.S1, body.C0
    linear[:n, columns.J1 :] = columns.six(body.J1)
    linear[e, columns.S1 : columns.C0], linear[e, columns.C0 : columns.J1] = moved[:, 0], axial(moved[:, 1:])
    linear[e, columns.J1 :] = columns.six(2.0 * inertia_of(moved[:, 1:]))
    quad[:, :, columns.Q : columns.J2], quad[:, :, columns.J2 :] = twists, columns.six(inertias)
    return MovingArrays(linear, quad, mass, bent)
