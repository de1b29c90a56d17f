"""Mass, damping and iteration tangent of beam elements; arguments as in ``columns``. Source: docs/theory/beam.md."""

import numpy as np

from femb.elements.beam.columns import DAMPING, INERTIA, LENGTH, MASS, OFFSET, SOURCE, STIFFNESS, TRUE
from femb.elements.beam.end_states import gather_rates, gather_states
from femb.elements.beam.ends import element_shape, ends_motion
from femb.elements.beam.force import shape_force
from femb.elements.beam.frame_matrices import attachment_stiffness, expand, frame_map, scatter_group, to_frames
from femb.elements.beam.mass import rotary_rows, translation_mass
from femb.elements.beam.mass_axis import offset_mass
from femb.elements.beam.natural import geometric_stiffness, shape_gradient
from femb.elements.beam.strain import WEIGHTS, strains
from femb.numerics.compile import inlined, kernel
from femb.numerics.lanes import LANES, choose, every, lanes


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
    for k in range(8):
        for i in range(11):
            x = B[k, i]
            if not every(x == 0.0):
                for j in range(11):
                    K[i, j] += x * KB[k, j]


@inlined
def element_mass(X, Q, beta, gamma, s2, data, has_mass_offset, axes, spin, K, G, centres, M):
    """M (14, 14) = mass of an element for the end velocities, translations in the axes of the first section.

    Work arrays: axes (3, 3), spin (3, 11), K (11, 11), G (2, 3, 3), centres (2, 3, 14).
    """
    length, mass, cy, cz = data[LENGTH], data[MASS], data[OFFSET], data[OFFSET + 1]
    symmetric = every(data[INERTIA + 1] == data[INERTIA + 2]) and every(cy == 0.0) and every(cz == 0.0)
    K[:] = 0.0
    M[:] = 0.0
    translation_mass(Q, X[3], s2, length, mass * length, G, M)
    for i in range(3):
        rotary_rows(X, Q, beta, gamma, length, i, symmetric, axes[0], axes[1], axes[2], spin)
        weight = WEIGHTS[i] * length
        for j in range(3):
            for i1 in range(11):
                x = weight * data[INERTIA + j] * spin[j, i1]
                for i2 in range(11):
                    K[i1, i2] += x * spin[j, i2]
        if has_mass_offset:
            offset_mass(i, weight * mass, cy, cz, axes, spin, G, centres[0], centres[1], M)
    expand(K, M)


@inlined
def material_stiffness(data, E, S, K8):
    """K8 (8, 8): change of the force on the natural coordinates with these, at constant gradients E of the strains.

    S (4, 8) : work array.
    """
    K8[:] = 0.0
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


@kernel
def matrices(
    index, kind, ends, data, has_mass_offset, offset, stride, coordinates, speeds, fixed, with_stiffness, masses,
    dampings, stiffnesses
):  # fmt: skip
    """Add mass, damping and the iteration tangent of all elements at s states to block data (see ``scatter``).

    Groups of elements as in ``forces``. coordinates (s, n_q) and speeds (s, n_v), masses, dampings, stiffnesses (s,
    size). The iteration tangent contains the material and the geometric stiffness, equation (16), without the second
    derivatives of the strains. with_stiffness : false for the mass alone. Returns -1, or the number of a folded
    element.
    """
    states, rates = np.empty((2, 8, LANES)), np.empty((2, 7, LANES))
    R, small, whole = lanes(np.empty((5, 3, 3, LANES))), lanes(np.empty((12, 3, LANES))), np.empty((1, LANES))
    Q, beta, gamma, axes = R[4], small[10], small[11], lanes(np.empty((3, 3, LANES)))
    X, n, f11 = lanes(np.empty((8, LANES))), lanes(np.empty((8, LANES))), lanes(np.empty((11, LANES)))
    e, E = lanes(np.empty((3, 4, LANES))), lanes(np.empty((3, 4, 8, LANES)))
    psi, psi_X = lanes(np.empty((4, LANES))), lanes(np.empty((4, 8, LANES)))
    B, KB, S = lanes(np.empty((8, 11, LANES))), lanes(np.empty((8, 11, LANES))), lanes(np.empty((4, 8, LANES)))
    K8, K11 = lanes(np.empty((8, 8, LANES))), lanes(np.empty((11, 11, LANES)))
    spin, centres = lanes(np.empty((3, 11, LANES))), lanes(np.empty((2, 3, 14, LANES)))
    T, G = lanes(np.empty((2, 3, 3, LANES))), lanes(np.empty((2, 3, 3, LANES)))
    local = np.empty((14, 14, LANES))
    A = lanes(local)
    for s in range(coordinates.shape[0]):
        for g in range(kind.shape[0]):
            first, row, end = g * LANES, lanes(data[kind[g]]), lanes(ends[kind[g]])
            count, length = min(LANES, index.shape[0] - first), row[LENGTH]
            gather_states(index, first, coordinates[s], fixed, states)
            element_shape(lanes(states), end, length, R, small, X)
            straight = choose(X[3] > 0.0, 1.0, 0.0)
            lanes(whole)[0] = choose(1.0 + Q[0, 0] > 1e-6, straight, 0.0)
            if folded(first, whole[0], count) >= 0:
                return folded(first, whole[0], count)
            attached = not every(end[0, 0] == 0.0) or not every(end[1, 0] == 0.0)
            if attached:
                frame_map(R, end, T)
            s2 = length * (1.0 + lanes(states)[1, 7])
            element_mass(X, Q, beta, gamma, s2, row, has_mass_offset, axes, spin, K11, G, centres, A)
            to_frames(A, R[1], T, end)
            scatter_group(local, first, offset, stride, masses[s])
            if not with_stiffness:
                continue
            lanes(whole)[0] = strains(X, length, row[SOURCE] != 0.0, psi, psi_X, e, E)
            if folded(first, whole[0], count) >= 0:
                return folded(first, whole[0], count)
            material_stiffness(row, E, S, K8)
            shape_gradient(X, Q, beta, gamma, length, B)
            ends_stiffness(K8, B, KB, K11)
            if not every(row[DAMPING] == 0.0):
                A[:] = 0.0
                expand(K11, A)
                for i1 in range(14):
                    for i2 in range(14):
                        A[i1, i2] *= row[DAMPING]
                to_frames(A, R[1], T, end)
                scatter_group(local, first, offset, stride, dampings[s])
            gather_rates(index, first, speeds[s], rates)
            ends_motion(lanes(rates), end, R, small, f11)
            shape_force(X, Q, beta, gamma, row, f11, TRUE, e, E, n)
            geometric_stiffness(X, Q, beta, gamma, length, n, K11)
            A[:] = 0.0
            expand(K11, A)
            to_frames(A, R[1], T, end)
            if attached:
                for i in range(3):
                    axes[0, i], axes[1, i] = -n[i], n[i]
                attachment_stiffness(axes[0], axes[1], end, R, T[0], A)
            scatter_group(local, first, offset, stride, stiffnesses[s])
    return -1
