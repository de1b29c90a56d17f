"""Mass, damping and iteration tangent of beam elements; arguments as in ``strain``. Source: docs/theory/beam.md."""

from typing import Any, NamedTuple

import numpy as np

from femb.elements.beam.ends import element_shape, ends_motion
from femb.elements.beam.force import shape_force
from femb.elements.beam.inertia import offset_mass, rotary_rows, translation_mass
from femb.elements.beam.strain import (
    DAMPING,
    INERTIA,
    INNER_ANGLES,
    LENGTH,
    MASS,
    OFFSET,
    SOURCE,
    STIFFNESS,
    WEIGHTS,
    BentShape,
    gather_rates,
    gather_states,
    geometric_stiffness,
    shape_gradient,
    strains,
)
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.compiler.lanes import LANES, choose, every, lanes
from femb.numerics.vector3 import add_torque_tangent, rotate, rotate_back

# Matrices (14, 14) of the ends of beam elements: from section axes to the frames, and added to block data.


@inlined
def arm_map(R1, Rn, arm, out):
    """out (3, 3) = -(R1^T Rn) arm~: velocity, axes R1, of the end of an arm (3,) in a frame, per spin of the frame."""
    for i in range(3):
        # row i of R1^T Rn
        a = R1[0, i] * Rn[0, 0] + R1[1, i] * Rn[1, 0] + R1[2, i] * Rn[2, 0]
        b = R1[0, i] * Rn[0, 1] + R1[1, i] * Rn[1, 1] + R1[2, i] * Rn[2, 1]
        c = R1[0, i] * Rn[0, 2] + R1[1, i] * Rn[1, 2] + R1[2, i] * Rn[2, 2]
        out[i, 0] = c * arm[1] - b * arm[2]
        out[i, 1] = a * arm[2] - c * arm[0]
        out[i, 2] = b * arm[0] - a * arm[1]


@inlined
def frame_map(R, ends, T):
    """T (2, 3, 3): per end, its velocity per spin of its frame, axes of the first section."""
    for end in range(2):
        arm_map(R[1], R[2 * end], ends[end, 1:4], T[end])


@inlined
def scatter_ends(local, offset, stride, data):
    """``vector3.scatter`` for the groups of a beam element (frame and strain of each end), with loops unrolled."""
    for a in range(2):
        for b in range(2):
            base, step = offset[2 * a, 2 * b], stride[2 * a, 2 * b]
            if base >= 0:
                for k in range(6):
                    for m in range(6):
                        data[base + k * step + m] += local[7 * a + k, 7 * b + m]
            base, step = offset[2 * a, 2 * b + 1], stride[2 * a, 2 * b + 1]
            if base >= 0:
                for k in range(6):
                    data[base + k * step] += local[7 * a + k, 7 * b + 6]
            base = offset[2 * a + 1, 2 * b]
            if base >= 0:
                for m in range(6):
                    data[base + m] += local[7 * a + 6, 7 * b + m]
            data[offset[2 * a + 1, 2 * b + 1]] += local[7 * a + 6, 7 * b + 6]


@inlined
def scatter_group(local, first, offset, stride, data):
    """``scatter_ends`` of matrices (14, 14, LANES) of the elements from ``first``."""
    for m in range(min(LANES, offset.shape[0] - first)):
        scatter_ends(local[:, :, m], offset[first + m], stride[first + m], data)


@inlined
def spread(a, sign, b):
    """b (14,) += sign times a (11,), whose first three coordinates are r_II - r_I."""
    for j in range(3):
        b[j] -= sign * a[j]
        b[7 + j] += sign * a[j]
    for j in range(3, 7):
        b[j] += sign * a[j]
    for j in range(7, 11):
        b[j + 3] += sign * a[j]


@inlined
def expand(A, B):
    """B (14, 14) += A (11, 11), whose first three coordinates are r_II - r_I."""
    for i in range(11):
        spread(A[i], 1.0, B[i if 3 <= i < 7 else (i + 7 if i < 3 else i + 3)])
        if i < 3:
            spread(A[i], -1.0, B[i])


@inlined
def to_frames(A, R1, T, ends):
    """Transform A (14, 14) on both sides from end velocities in the axes of the first section to frame velocities.

    Translations are rotated by R1; an end with an offset has the velocity T (see ``frame_map``) per spin of its frame.
    """
    for end in range(2):
        o = 7 * end
        attached = not every(ends[end, 0] == 0.0)
        for i in range(14):
            a, b, c = A[i, o], A[i, o + 1], A[i, o + 2]
            if attached:
                x, y, z = A[i, o + 3], A[i, o + 4], A[i, o + 5]
                for j in range(3):
                    spin = x * ends[end, 4 + 3 * j] + y * ends[end, 5 + 3 * j] + z * ends[end, 6 + 3 * j]
                    A[i, o + 3 + j] = spin + a * T[end, 0, j] + b * T[end, 1, j] + c * T[end, 2, j]
            for j in range(3):
                A[i, o + j] = a * R1[j, 0] + b * R1[j, 1] + c * R1[j, 2]
    for end in range(2):
        o = 7 * end
        attached = not every(ends[end, 0] == 0.0)
        for i in range(14):
            a, b, c = A[o, i], A[o + 1, i], A[o + 2, i]
            if attached:
                x, y, z = A[o + 3, i], A[o + 4, i], A[o + 5, i]
                for j in range(3):
                    spin = x * ends[end, 4 + 3 * j] + y * ends[end, 5 + 3 * j] + z * ends[end, 6 + 3 * j]
                    A[o + 3 + j, i] = spin + a * T[end, 0, j] + b * T[end, 1, j] + c * T[end, 2, j]
            for j in range(3):
                A[o + j, i] = R1[j, 0] * a + R1[j, 1] * b + R1[j, 2] * c


@inlined
def attachment_stiffness(force1, force2, ends, R, work, A):
    """A (14, 14) += the change of the moment d x (Rn^T F) of a force F with the rotation of the frame, per end.

    force1, force2 (3,) : on the ends, components in the axes of the first section, constant in inertial axes.
    work : (2, 3) or more.
    """
    for end in range(2):
        if not every(ends[end, 0] == 0.0):
            rotate(R[1], force1 if end == 0 else force2, work[0])
            rotate_back(R[2 * end], work[0], work[1])
            add_torque_tangent(1.0, work[1], ends[end, 1:4], 7 * end + 3, A)


@inlined
def add_from_shape(B, AB, K):
    """K (11, 11) += B^T AB for a sparse B (8, 11) and AB (8, 11)."""
    for m in range(8):
        for i in range(11):
            x = B[m, i]
            if not every(x == 0.0):
                for k in range(11):
                    K[i, k] += x * AB[m, k]


@inlined
def ends_stiffness(K8, B, KB, K):
    """K (11, 11) = B^T K8 B with a sparse B (8, 11); KB (8, 11) is a work array.

    Inner loops of fixed length run over columns, so that the compiler can use vector instructions.
    """
    KB[:] = 0.0
    K[:] = 0.0
    for k in range(8):
        for j in range(11):
            x = B[k, j]
            if not every(x == 0.0):
                for i in range(8):
                    KB[i, j] += x * K8[k, i]
    add_from_shape(B, KB, K)


class MassWork(NamedTuple):
    """Work arrays of ``element_mass``: axes (3, 3), spin (3, 11), K (11, 11), G (2, 3, 3), centres (2, 3, 14)."""

    axes: Any
    spin: Any
    K: Any
    G: Any
    centres: Any


@inlined
def element_mass(shape, s2, data, has_mass_offset, work, M):
    """M (14, 14) = mass of an element for the end velocities, translations in the axes of the first section.

    work : ``MassWork``.
    """
    X, Q, beta, gamma, length = shape
    axes, spin, K, G, centres = work
    mass, cy, cz = data[MASS], data[OFFSET], data[OFFSET + 1]
    symmetric = every(data[INERTIA + 1] == data[INERTIA + 2]) and every(cy == 0.0) and every(cz == 0.0)
    K[:] = 0.0
    M[:] = 0.0
    translation_mass(Q, X[3], s2, length, mass * length, G, M)
    for i in range(3):
        rotary_rows(X, Q, (beta, gamma), length, i, symmetric, axes, spin)
        weight = WEIGHTS[i] * length
        for j in range(3):
            for i1 in range(11):
                x = weight * data[INERTIA + j] * spin[j, i1]
                for i2 in range(11):
                    K[i1, i2] += x * spin[j, i2]
        if has_mass_offset:
            offset_mass(i, (weight * mass, cy, cz), axes, spin, G, centres[0], centres[1], M)
    expand(K, M)


@inlined
def material_stiffness(data, twist, Dc, stiffness, E, S, K8):
    """K8 (8, 8): change of the force on the natural coordinates with these, at constant gradients E of the strains.

    twist, Dc, stiffness : of the inner twist (``shape_force``), whose part is added to E; it makes the element softer.
    S (4, 8) : work array.
    """
    K8[:] = 0.0
    S[:] = 0.0
    for i in range(3):
        b = twist * INNER_ANGLES[i]
        for m in range(8):
            about_y, about_z = E[i, 2, m], E[i, 3, m]
            E[i, 2, m] += b * about_z
            E[i, 3, m] -= b * about_y
        for j in range(4):
            for m in range(8):
                S[0, m] += Dc[i, j] * E[i, j, m]
    for i1 in range(8):
        x = data[LENGTH] / stiffness * S[0, i1]
        for i2 in range(8):
            K8[i1, i2] -= x * S[0, i2]
    for i in range(3):
        S[:] = 0.0
        for j in range(4):
            for o in range(4):
                f = WEIGHTS[i] * data[LENGTH] * data[STIFFNESS + 4 * j + o]
                if not every(f == 0.0):
                    for p in range(8):
                        S[j, p] += f * E[i, o, p]
        for j in range(4):
            for i1 in range(8):
                x = E[i, j, i1]
                for i2 in range(8):
                    K8[i1, i2] += x * S[j, i2]


@inlined
def folded(first, whole, count):
    """The first element of the group from ``first`` that is folded, whose ``whole`` (LANES,) is zero; or -1."""
    for m in range(count):
        if whole[m] == 0.0:
            return first + m
    return -1


@kernel_with_entry
def masses(elements, offset, stride, q, mass):
    """Add the mass of all ``BeamRows`` at s states to block data (s, size) (see ``scatter``).

    Returns -1, or the number of a folded element.
    """
    index, kind, ends, data, has_mass_offset, fixed, _ = elements
    states, R, small = np.empty((2, 8, LANES)), lanes(np.empty((5, 3, 3, LANES))), lanes(np.empty((12, 3, LANES)))
    Q, X, T = R[4], lanes(np.empty((8, LANES))), lanes(np.empty((2, 3, 3, LANES)))
    work = MassWork(
        lanes(np.empty((3, 3, LANES))), lanes(np.empty((3, 11, LANES))), lanes(np.empty((11, 11, LANES))),
        lanes(np.empty((2, 3, 3, LANES))), lanes(np.empty((2, 3, 14, LANES))),
    )  # fmt: skip
    local, whole = np.empty((14, 14, LANES)), np.empty((1, LANES))
    M = lanes(local)
    for s in range(q.shape[0]):
        for g in range(kind.shape[0]):
            first, row, end = g * LANES, lanes(data[kind[g]]), lanes(ends[kind[g]])
            count, length = min(LANES, index.shape[0] - first), row[LENGTH]
            gather_states(index, first, q[s], fixed, states)
            element_shape(lanes(states), end, length, R, small, X)
            straight = choose(X[3] > 0.0, 1.0, 0.0)
            lanes(whole)[0] = choose(1.0 + Q[0, 0] > 1e-6, straight, 0.0)
            if folded(first, whole[0], count) >= 0:
                return folded(first, whole[0], count)
            if not every(end[0, 0] == 0.0) or not every(end[1, 0] == 0.0):
                frame_map(R, end, T)
            s2 = length * (1.0 + lanes(states)[1, 7])
            element_mass(BentShape(X, Q, small[10], small[11], length), s2, row, has_mass_offset, work, M)
            to_frames(M, R[1], T, end)
            scatter_group(local, first, offset, stride, mass[s])
    return -1


@kernel_with_entry
def step_tangents(elements, offset, stride, q, v, damping, stiffness):
    """Add damping and the iteration tangent of all ``BeamRows`` at s states to block data (s, size) (see ``scatter``).

    The iteration tangent contains the material and the geometric stiffness,
    equation (16), without the second derivatives of the strains. Returns -1, or the number of a folded element.
    """
    index, kind, ends, data, _, fixed, _ = elements
    states, rates = np.empty((2, 8, LANES)), np.empty((2, 7, LANES))
    R, small, whole = lanes(np.empty((5, 3, 3, LANES))), lanes(np.empty((12, 3, LANES))), np.empty((1, LANES))
    Q, beta, gamma, on_ends = R[4], small[10], small[11], lanes(np.empty((2, 3, LANES)))
    X, n, f11 = lanes(np.empty((8, LANES))), lanes(np.empty((8, LANES))), lanes(np.empty((11, LANES)))
    e, E = lanes(np.empty((3, 4, LANES))), lanes(np.empty((3, 4, 8, LANES)))
    c = lanes(np.empty((2, 3, 4, LANES)))
    psi, psi_X = lanes(np.empty((4, LANES))), lanes(np.empty((4, 8, LANES)))
    B, KB, S = lanes(np.empty((8, 11, LANES))), lanes(np.empty((8, 11, LANES))), lanes(np.empty((4, 8, LANES)))
    K8, K11 = lanes(np.empty((8, 8, LANES))), lanes(np.empty((11, 11, LANES)))
    T, local = lanes(np.empty((2, 3, 3, LANES))), np.empty((14, 14, LANES))
    A = lanes(local)
    for s in range(q.shape[0]):
        for g in range(kind.shape[0]):
            first, row, end = g * LANES, lanes(data[kind[g]]), lanes(ends[kind[g]])
            count, length = min(LANES, index.shape[0] - first), row[LENGTH]
            gather_states(index, first, q[s], fixed, states)
            gather_rates(index, first, v[s], rates)
            element_shape(lanes(states), end, length, R, small, X)
            lanes(whole)[0] = strains(X, length, row[SOURCE] != 0.0, psi, psi_X, e, E)
            if folded(first, whole[0], count) >= 0:
                return folded(first, whole[0], count)
            attached = not every(end[0, 0] == 0.0) or not every(end[1, 0] == 0.0)
            if attached:
                frame_map(R, end, T)
            ends_motion(lanes(rates), end, R, small, f11)
            twist, inner = shape_force(BentShape(X, Q, beta, gamma, length), row, f11, 1.0, 1.0, e, c, E, n)
            material_stiffness(row, twist, c[1], inner, E, S, K8)
            shape_gradient(X, Q, beta, gamma, length, B)
            ends_stiffness(K8, B, KB, K11)
            if not every(row[DAMPING] == 0.0):
                A[:] = 0.0
                expand(K11, A)
                for i1 in range(14):
                    for i2 in range(14):
                        A[i1, i2] *= row[DAMPING]
                to_frames(A, R[1], T, end)
                scatter_group(local, first, offset, stride, damping[s])
            geometric_stiffness(X, Q, beta, gamma, length, n, K11)
            A[:] = 0.0
            expand(K11, A)
            to_frames(A, R[1], T, end)
            if attached:
                for i in range(3):
                    on_ends[0, i], on_ends[1, i] = -n[i], n[i]
                attachment_stiffness(on_ends[0], on_ends[1], end, R, T[0], A)
            scatter_group(local, first, offset, stride, stiffness[s])
    return -1
