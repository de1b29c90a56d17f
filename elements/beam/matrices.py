"""Mass, damping and iteration tangent of beam elements; arguments as in ``columns``. Source: docs/theory/beam.md."""

import numpy as np

from femb.elements.beam.columns import DAMPING, INERTIA, LENGTH, MASS, OFFSET, SOURCE, STIFFNESS, TRUE
from femb.elements.beam.end_states import end_rates, end_states
from femb.elements.beam.ends import element_shape, ends_motion
from femb.elements.beam.force import shape_force
from femb.elements.beam.mass import rotary_rows, translation_mass
from femb.elements.beam.mass_axis import offset_mass
from femb.elements.beam.natural import geometric_stiffness, shape_gradient
from femb.elements.beam.strain import WEIGHTS, strains
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import add_torque_tangent, rotate, rotate_back


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
def ends_stiffness(K8, B, KB, K):
    """K (11, 11) = B^T K8 B with a sparse B (8, 11); KB (8, 11) is a work array.

    Inner loops of fixed length run over columns, so that the compiler can use vector instructions.
    """
    KB[:] = 0.0
    K[:] = 0.0
    for k in range(8):
        for j in range(11):
            x = B[k, j]
            if x != 0.0:
                for i in range(8):
                    KB[i, j] += x * K8[k, i]
    for k in range(8):
        for i in range(11):
            x = B[k, i]
            if x != 0.0:
                for j in range(11):
                    K[i, j] += x * KB[k, j]


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
        attached = ends[end, 0] != 0.0
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
        attached = ends[end, 0] != 0.0
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
def element_mass(X, Q, beta, gamma, s2, data, has_mass_offset, axes, spin, K, G, M):
    """M (14, 14) = mass of an element for the end velocities, translations in the axes of the first section.

    Work arrays: axes (3, 3), spin (3, 11), K (11, 11), G (2, 3, 3).
    """
    length, mass, cy, cz = data[LENGTH], data[MASS], data[OFFSET], data[OFFSET + 1]
    symmetric = data[INERTIA + 1] == data[INERTIA + 2] and cy == 0.0 and cz == 0.0
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
            offset_mass(i, weight * mass, cy, cz, axes, spin, G, M)
    expand(K, M)


@kernel
def matrices(
    index, ends, data, has_mass_offset, offset, stride, coordinates, speeds, fixed, with_stiffness, masses, dampings,
    stiffnesses
):  # fmt: skip
    """Add mass, damping and the iteration tangent of all elements at s states to block data (see ``scatter``).

    coordinates (s, n_q) and speeds (s, n_v), masses, dampings, stiffnesses (s, size).
    The iteration tangent contains the material and the geometric stiffness, equation (16), without the second
    derivatives of the strains. with_stiffness : false for the mass alone.
    """
    states, rates, R = np.empty((2, 8)), np.empty((2, 7)), np.empty((5, 3, 3))
    small = np.empty((12, 3))
    Q, beta, gamma = R[4], small[10], small[11]
    axes = np.empty((3, 3))
    X, n, f11 = np.empty(8), np.empty(8), np.empty(11)
    e, E, psi, psi_X = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty(4), np.empty((4, 8))
    B, K8, KB, K11 = np.empty((8, 11)), np.empty((8, 8)), np.empty((8, 11)), np.empty((11, 11))
    S = np.empty((4, 8))
    spin = np.empty((3, 11))
    T, G, A = np.empty((2, 3, 3)), np.empty((2, 3, 3)), np.empty((14, 14))
    for s in range(coordinates.shape[0]):
        q, v = coordinates[s], speeds[s]
        mass, damping, stiffness = masses[s], dampings[s], stiffnesses[s]
        for k in range(index.shape[0]):
            length = data[k, LENGTH]
            end_states(index[k], q, fixed, states)
            element_shape(states, ends[k], length, R, small, X)
            if not X[3] > 0.0 or not 1.0 + Q[0, 0] > 1e-6:
                return k
            attached = ends[k, 0, 0] != 0.0 or ends[k, 1, 0] != 0.0
            if attached:
                frame_map(R, ends[k], T)
            s2 = length * (1.0 + states[1, 7])
            element_mass(X, Q, beta, gamma, s2, data[k], has_mass_offset, axes, spin, K11, G, A)
            to_frames(A, R[1], T, ends[k])
            scatter_ends(A, offset[k], stride[k], mass)
            if not with_stiffness:
                continue
            # stiffness
            if not strains(X, length, data[k, SOURCE] != 0.0, psi, psi_X, e, E):
                return k
            K8[:] = 0.0
            for i in range(3):
                for j in range(4):
                    for p in range(8):
                        S[j, p] = 0.0
                    for o in range(4):
                        f = WEIGHTS[i] * length * data[k, STIFFNESS + 4 * j + o]
                        if f != 0.0:
                            for p in range(8):
                                S[j, p] += f * E[i, o, p]
                for j in range(4):
                    for i1 in range(8):
                        x = E[i, j, i1]
                        for i2 in range(8):
                            K8[i1, i2] += x * S[j, i2]
            shape_gradient(X, Q, beta, gamma, length, B)
            ends_stiffness(K8, B, KB, K11)
            if data[k, DAMPING] > 0.0:
                A[:] = 0.0
                expand(K11, A)
                for i1 in range(14):
                    for i2 in range(14):
                        A[i1, i2] *= data[k, DAMPING]
                to_frames(A, R[1], T, ends[k])
                scatter_ends(A, offset[k], stride[k], damping)
            end_rates(index[k], v, rates)
            ends_motion(rates, ends[k], R, small, f11)
            shape_force(X, Q, beta, gamma, data[k], f11, TRUE, e, E, n)
            geometric_stiffness(X, Q, beta, gamma, length, n, K11)
            A[:] = 0.0
            expand(K11, A)
            to_frames(A, R[1], T, ends[k])
            if attached:
                for i in range(3):
                    axes[0, i], axes[1, i] = -n[i], n[i]
                attachment_stiffness(axes[0], axes[1], ends[k], R, A)
            scatter_ends(A, offset[k], stride[k], stiffness)
    return -1


@inlined
def attachment_stiffness(force1, force2, ends, R, A):
    """A (14, 14) += the change of the moment d x (Rn^T F) of a force F with the rotation of the frame, per end.

    force1, force2 (3,) : on the ends, components in the axes of the first section, constant in inertial axes.
    """
    F, local = np.empty(3), np.empty(3)
    for end in range(2):
        if ends[end, 0] != 0.0:
            rotate(R[1], force1 if end == 0 else force2, F)
            rotate_back(R[2 * end], F, local)
            add_torque_tangent(1.0, local, ends[end, 1:4], 7 * end + 3, A)
