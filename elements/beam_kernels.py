"""Kernels over all beam elements of a system: residual, matrices, energy and momentum.

An element's parameters are rows of three arrays:

    index (n, 8) int    of both frames in q, of both frames in v, of both end strains in q, of both in v;
                        a negative frame index is row -1-i of ``fixed`` in q and "does not move" in v
    ends (n, 2, 13)     per end: 1 if attached off the frame, offset (3) in the frame, rotation (9) frame to section
    data (n, 37)        length, mass and three inertias per length, damping, 1 for source strains, stiffness (16),
                        offset (2) of the mass axis, reference strains (3 x 4)

``beside`` is None where no section has its mass beside the axis, so that numba leaves that part out, else True.
Source: docs/theory/beam.md.
"""

import math

import numpy as np

from femb.elements.beam_inertia import (
    HERMITE_MASS,
    HERMITE_MEAN,
    centreline_acceleration,
    centreline_rate,
    inertia_force,
    rotary_rows,
    translation_mass,
)
from femb.elements.beam_mass_axis import offset_energy, offset_mass
from femb.elements.beam_strain import (
    WEIGHTS,
    end_gradient,
    geometric_stiffness,
    natural_coordinates,
    shape_gradient,
    strains,
    twist_directions,
)
from femb.jit import kernel
from femb.smallmath import cross, pose, turn, turn_back

LENGTH, MASS, INERTIA, DAMPING, SOURCE, STIFFNESS, OFFSET, REFERENCE = 0, 1, 2, 5, 6, 7, 23, 25
# For a literal True, numba would compile a variant of the called kernel.
TRUE = np.True_


@kernel
def end_pose(index, end, q, fixed, r, Rn, R):  # type: ignore[no-untyped-def]
    """Position r and axes R of an element's end, and axes Rn of the frame that carries it."""
    pose(index, q, fixed, r, Rn)
    attached = end[0] != 0.0
    for i in range(3):
        a, b, c = Rn[i, 0], Rn[i, 1], Rn[i, 2]
        if attached:
            r[i] += a * end[1] + b * end[2] + c * end[3]
        for j in range(3):
            R[i, j] = a * end[4 + j] + b * end[7 + j] + c * end[10 + j] if attached else Rn[i, j]


@kernel
def end_rates(index, end, v, Rn, rate, omega):  # type: ignore[no-untyped-def]
    """Velocity (3, inertial axes) and angular velocity (3, own axes) of an element's end."""
    if index < 0:
        rate[:] = 0.0
        omega[:] = 0.0
        return
    for i in range(3):
        rate[i] = v[index + i]
    w1, w2, w3 = v[index + 3], v[index + 4], v[index + 5]
    if end[0] == 0.0:
        omega[0], omega[1], omega[2] = w1, w2, w3
        return
    c1 = w2 * end[3] - w3 * end[2]
    c2 = w3 * end[1] - w1 * end[3]
    c3 = w1 * end[2] - w2 * end[1]
    for i in range(3):
        rate[i] += Rn[i, 0] * c1 + Rn[i, 1] * c2 + Rn[i, 2] * c3
        omega[i] = end[4 + i] * w1 + end[7 + i] * w2 + end[10 + i] * w3


@kernel
def end_accelerations(index, end, v, a, Rn, acc, alpha):  # type: ignore[no-untyped-def]
    """Acceleration (3, inertial axes) and angular acceleration (3, own axes) of an element's end."""
    end_rates(index, end, a, Rn, acc, alpha)
    if index >= 0 and end[0] != 0.0:
        w1, w2, w3 = v[index + 3], v[index + 4], v[index + 5]
        wd = w1 * end[1] + w2 * end[2] + w3 * end[3]
        ww = w1 * w1 + w2 * w2 + w3 * w3
        c1, c2, c3 = w1 * wd - ww * end[1], w2 * wd - ww * end[2], w3 * wd - ww * end[3]
        for i in range(3):
            acc[i] += Rn[i, 0] * c1 + Rn[i, 1] * c2 + Rn[i, 2] * c3


@kernel
def element_shape(index, ends, q, fixed, length, R, small, X):  # type: ignore[no-untyped-def]
    """Axes, directions and natural coordinates X (8,) of an element.

    R (5, 3, 3) : axes of the frame and of the end of I, of II, and the turn Q from the second section to the first.
    small (12, 3) : in its rows 0, 1 positions of the ends, 10 and 11 beta and gamma (see ``twist_directions``).
    """
    end_pose(index[0], ends[0], q, fixed, small[0], R[0], R[1])
    end_pose(index[1], ends[1], q, fixed, small[1], R[2], R[3])
    natural_coordinates(small[0], R[1], q[index[4]], small[1], R[3], q[index[5]], length, R[4], X)
    twist_directions(R[4], small[10], small[11])


@kernel
def ends_motion(index, ends, v, R, small, motion):  # type: ignore[no-untyped-def]
    """motion (11,) of the ends as in ``end_gradient``, from the velocities v; R and small of ``element_shape``.

    small : in its rows 2, 3 velocities of the ends, inertial axes, 4 and 5 angular velocities, own axes.
    """
    end_rates(index[2], ends[0], v, R[0], small[2], small[4])
    end_rates(index[3], ends[1], v, R[2], small[3], small[5])
    for i in range(3):
        motion[i] = 0.0
        for k in range(3):
            motion[i] += R[1, k, i] * (small[3, k] - small[2, k])
        motion[3 + i] = small[4, i]
        motion[7 + i] = small[5, i]
    motion[6] = v[index[6]]
    motion[10] = v[index[7]]


@kernel
def shape_force(X, Q, beta, gamma, data, motion, elastic, e, E, n):  # type: ignore[no-untyped-def]
    """n (8,): force on the natural coordinates by elastic (if asked for) and damping stress, at ends' motion (11,)."""
    length, damping = data[LENGTH], data[DAMPING]
    for i in range(3):
        for j in range(4):
            e[i, j] = e[i, j] - data[REFERENCE + 4 * i + j] if elastic else 0.0
    if damping > 0.0:
        s2 = math.sqrt(X[4] * X[4] + X[5] * X[5] + X[6] * X[6])
        # rates of the natural coordinates, kept where the force will be
        n[0] = motion[0] + X[1] * motion[5] - X[2] * motion[4]
        n[1] = motion[1] + X[2] * motion[3] - X[0] * motion[5]
        n[2] = motion[2] + X[0] * motion[4] - X[1] * motion[3]
        n[3] = length * motion[6]
        g1, g2, g3 = length * motion[10], s2 * motion[9], -s2 * motion[8]
        n[4] = Q[0, 0] * g1 + Q[0, 1] * g2 + Q[0, 2] * g3 + X[5] * motion[5] - X[6] * motion[4]
        n[5] = Q[1, 0] * g1 + Q[1, 1] * g2 + Q[1, 2] * g3 + X[6] * motion[3] - X[4] * motion[5]
        n[6] = Q[2, 0] * g1 + Q[2, 1] * g2 + Q[2, 2] * g3 + X[4] * motion[4] - X[5] * motion[3]
        n[7] = 0.0
        for k in range(3):
            n[7] += gamma[k] * motion[7 + k] - beta[k] * motion[3 + k]
        for i in range(3):
            for j in range(4):
                rate = 0.0
                for m in range(8):
                    rate += E[i, j, m] * n[m]
                e[i, j] += damping * rate
    n[:] = 0.0
    for i in range(3):
        for j in range(4):
            stress = 0.0
            for k in range(4):
                stress += data[STIFFNESS + 4 * j + k] * e[i, k]
            stress *= WEIGHTS[i] * length
            for m in range(8):
                n[m] += stress * E[i, j, m]


@kernel
def element_force(  # type: ignore[no-untyped-def]
    index, ends, data, beside, q, v, a, fixed, gravity, elastic, inertial,
    R, small, vectors, X, n, f11, e, E, turned, rows, f,
):  # fmt: skip
    """f (14,): residual force of one element on its two ends, axes of the first section, spins in own axes.

    Damping force; with ``elastic`` also elastic force; with ``inertial`` also inertia and gyroscopic force less
    gravity. Returns False where the element is folded. On return R[0], R[2] are the axes of the frames, R[1], R[3]
    those of the ends and R[4] turns from the second section's axes to the first's.
    """
    omega1, omega2, acc1, acc2, alpha1, alpha2 = small[4], small[5], small[6], small[7], small[8], small[9]
    x1, x2, F, M1, work = vectors[0], vectors[1], vectors[2], vectors[3, 0], vectors[3, 1]
    Q, beta, gamma = R[4], small[10], small[11]
    length = data[LENGTH]
    element_shape(index, ends, q, fixed, length, R, small, X)
    if not strains(X, length, data[SOURCE] != 0.0, turned, rows, e, E):
        return False
    ends_motion(index, ends, v, R, small, f11)
    shape_force(X, Q, beta, gamma, data, f11, elastic, e, E, n)
    s1 = X[3]
    s2 = length * (1.0 + q[index[5]])
    for k in range(3):
        M1[k] = 0.0
        for i in range(4):
            F[i, k] = 0.0
    if inertial:
        end_accelerations(index[2], ends[0], v, a, R[0], acc1, alpha1)
        end_accelerations(index[3], ends[1], v, a, R[2], acc2, alpha2)
        for k in range(3):
            # gravity is an acceleration of the frame of reference
            acc1[k] -= gravity[k]
            acc2[k] -= gravity[k]
            # only differences of the rates of r matter
            x1[0, k] = 0.0
            x1[2, k] = f11[k]
        turn_back(R[1], acc1, x2[0])
        turn_back(R[1], acc2, x2[2])
        centreline_rate(v[index[6]], omega1, s1, length, x1[1])
        centreline_rate(v[index[7]], omega2, s2, length, work)
        turn(Q, work, x1[3])
        centreline_acceleration(v[index[6]], a[index[6]], omega1, alpha1, s1, length, x2[1])
        centreline_acceleration(v[index[7]], a[index[7]], omega2, alpha2, s2, length, work)
        turn(Q, work, x2[3])
        n[7] += inertia_force(
            X, Q, beta, length, data[MASS], data[INERTIA : INERTIA + 3], beside, data[OFFSET], data[OFFSET + 1],
            omega1, omega2, alpha1, alpha2, x1, x2, vectors[4:], F, M1,
        )  # fmt: skip
    end_gradient(X, Q, beta, gamma, length, n, f11)
    for k in range(3):
        f[k] = F[0, k] - f11[k]
        f[3 + k] = f11[3 + k] + M1[k]
        f[7 + k] = F[2, k] + f11[k]
        f[10 + k] = f11[7 + k]
    # a force on x = (r, g) acts on the ends through their centreline derivatives g
    turn_back(Q, F[3], work)
    f[4] -= s1 * F[1, 2]
    f[5] += s1 * F[1, 1]
    f[6] = f11[6] + length * F[1, 0]
    f[11] -= s2 * work[2]
    f[12] += s2 * work[1]
    f[13] = f11[10] + length * work[0]
    return True


@kernel
def force_to_frame(F, moment, end, Rn, force, torque):  # type: ignore[no-untyped-def]
    """Force F (inertial axes) and moment (end axes) at an end as force and torque (frame axes) on its frame."""
    for i in range(3):
        force[i] = F[i]
        torque[i] = moment[i]
    if end[0] != 0.0:
        f1 = Rn[0, 0] * F[0] + Rn[1, 0] * F[1] + Rn[2, 0] * F[2]
        f2 = Rn[0, 1] * F[0] + Rn[1, 1] * F[1] + Rn[2, 1] * F[2]
        f3 = Rn[0, 2] * F[0] + Rn[1, 2] * F[1] + Rn[2, 2] * F[2]
        for i in range(3):
            o = 4 + 3 * i
            torque[i] = end[o] * moment[0] + end[o + 1] * moment[1] + end[o + 2] * moment[2]
        torque[0] += end[2] * f3 - end[3] * f2
        torque[1] += end[3] * f1 - end[1] * f3
        torque[2] += end[1] * f2 - end[2] * f1


@kernel
def forces(  # type: ignore[no-untyped-def]
    index, ends, data, beside, q, v, a, fixed, gravity, elastic, inertial, sign, out, section
):
    """Force of all elements (see ``element_force``) at s states.

    out (s, n_v) += sign times the generalized forces. section (s, n, 2, 6), or of length 0 if it is not asked for:
    section force and moment at both ends of every element, each in its own section's axes, positive on the face
    whose outward normal is the tangent, so that a positive first component is tension. Returns -1, or the number of an
    element that is folded.
    """
    R = np.empty((5, 3, 3))
    small = np.empty((12, 3))
    vectors = np.empty((9, 4, 3))
    X, n, f11, f = np.empty(8), np.empty(8), np.empty(11), np.empty(14)
    e, E, turned, rows = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty(4), np.empty((4, 8))
    F, force, torque = np.empty(3), np.empty(3), np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            ok = element_force(
                index[k], ends[k], data[k], beside, q[s], v[s], a[s], fixed, gravity, elastic, inertial,
                R, small, vectors, X, n, f11, e, E, turned, rows, f,
            )  # fmt: skip
            if not ok:
                return k
            for end in range(2):
                frame = index[k, 2 + end]
                turn(R[1], f[7 * end : 7 * end + 3], F)
                if frame >= 0:
                    force_to_frame(F, f[7 * end + 3 : 7 * end + 6], ends[k, end], R[2 * end], force, torque)
                    for i in range(3):
                        out[s, frame + i] += sign * force[i]
                        out[s, frame + 3 + i] += sign * torque[i]
                out[s, index[k, 6 + end]] += sign * f[7 * end + 6]
                if section.shape[0] > 0:
                    outward = -1.0 if end == 0 else 1.0
                    turn_back(R[1 + 2 * end], F, force)
                    for i in range(3):
                        section[s, k, end, i] = outward * force[i]
                        section[s, k, end, 3 + i] = outward * f[7 * end + 3 + i]
    return -1


@kernel
def frame_map(R, ends, T):  # type: ignore[no-untyped-def]
    """T (2, 3, 3): per end, what its frame's spin adds to its velocity, -(R1^T Rn) d~, axes of the first section."""
    for end in range(2):
        d1, d2, d3 = ends[end, 1], ends[end, 2], ends[end, 3]
        for i in range(3):
            # row i of R1^T Rn
            a = R[1, 0, i] * R[2 * end, 0, 0] + R[1, 1, i] * R[2 * end, 1, 0] + R[1, 2, i] * R[2 * end, 2, 0]
            b = R[1, 0, i] * R[2 * end, 0, 1] + R[1, 1, i] * R[2 * end, 1, 1] + R[1, 2, i] * R[2 * end, 2, 1]
            c = R[1, 0, i] * R[2 * end, 0, 2] + R[1, 1, i] * R[2 * end, 1, 2] + R[1, 2, i] * R[2 * end, 2, 2]
            T[end, i, 0] = c * d2 - b * d3
            T[end, i, 1] = a * d3 - c * d1
            T[end, i, 2] = b * d1 - a * d2


@kernel
def ends_stiffness(K8, B, KB, K):  # type: ignore[no-untyped-def]
    """K (11, 11) = B^T K8 B with B (8, 11) mostly zeros; KB (8, 11) is a work array.

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


@kernel
def scatter_ends(local, offset, stride, data):  # type: ignore[no-untyped-def]
    """``smallmath.scatter`` for the groups of a beam element, frame and strain of each end, with loops unrolled."""
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


@kernel
def expand(A, B):  # type: ignore[no-untyped-def]
    """B (14, 14) += A (11, 11), whose first three coordinates are r_II - r_I."""
    for i in range(11):
        i2 = i if 3 <= i < 7 else (i + 7 if i < 3 else i + 3)
        for j in range(3):
            B[i2, j] -= A[i, j]
            B[i2, 7 + j] += A[i, j]
        for j in range(3, 7):
            B[i2, j] += A[i, j]
        for j in range(7, 11):
            B[i2, j + 3] += A[i, j]
    for i in range(3):
        for j in range(3):
            B[i, j] += A[i, j]
            B[i, 7 + j] -= A[i, j]
        for j in range(3, 7):
            B[i, j] -= A[i, j]
        for j in range(7, 11):
            B[i, j + 3] -= A[i, j]


@kernel
def to_frames(A, R1, T, ends):  # type: ignore[no-untyped-def]
    """A (14, 14) from end velocities in the axes of the first section to velocities of the frames, both sides.

    Directions turn by R1; an end attached off its frame moves with T (see ``frame_map``) and spins by its rotation.
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


@kernel
def element_mass(X, Q, beta, gamma, s2, data, beside, axes, spin, K, G, M):  # type: ignore[no-untyped-def]
    """M (14, 14) = mass of an element by the end velocities, directions in the axes of the first section.

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
        if beside is not None:
            offset_mass(i, weight * mass, cy, cz, axes, spin, G, M)
    expand(K, M)


@kernel
def matrices(  # type: ignore[no-untyped-def]
    index, ends, data, beside, offset, stride, q, v, fixed, with_stiffness, mass, damping, stiffness
):
    """Add mass, damping and the iteration tangent of all elements to block data (see ``scatter``).

    The iteration tangent has the material and the director-stress part of the elastic force, without the second
    derivatives of the strains. with_stiffness false gives the mass alone.
    """
    R = np.empty((5, 3, 3))
    small = np.empty((12, 3))
    Q, beta, gamma = R[4], small[10], small[11]
    axes = np.empty((3, 3))
    X, n, f11 = np.empty(8), np.empty(8), np.empty(11)
    e, E, turned, rows = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty(4), np.empty((4, 8))
    B, K8, KB, K11 = np.empty((8, 11)), np.empty((8, 8)), np.empty((8, 11)), np.empty((11, 11))
    S = np.empty((4, 8))
    spin = np.empty((3, 11))
    T, G, A = np.empty((2, 3, 3)), np.empty((2, 3, 3)), np.empty((14, 14))
    for k in range(index.shape[0]):
        length = data[k, LENGTH]
        element_shape(index[k], ends[k], q, fixed, length, R, small, X)
        if not X[3] > 0.0 or not 1.0 + Q[0, 0] > 1e-6:
            return k
        attached = ends[k, 0, 0] != 0.0 or ends[k, 1, 0] != 0.0
        if attached:
            frame_map(R, ends[k], T)
        element_mass(X, Q, beta, gamma, length * (1.0 + q[index[k, 5]]), data[k], beside, axes, spin, K11, G, A)
        to_frames(A, R[1], T, ends[k])
        scatter_ends(A, offset[k], stride[k], mass)
        if not with_stiffness:
            continue
        # stiffness
        if not strains(X, length, data[k, SOURCE] != 0.0, turned, rows, e, E):
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
        ends_motion(index[k], ends[k], v, R, small, f11)
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


@kernel
def attachment_stiffness(force1, force2, ends, R, A):  # type: ignore[no-untyped-def]
    """A (14, 14) += the change of the moment d x (Rn^T F) of a force F with the frame's turn, per end.

    force1, force2 (3,) : on the ends, axes of the first section, held in inertial directions.
    """
    for end in range(2):
        if ends[end, 0] == 0.0:
            continue
        force = force1 if end == 0 else force2
        o = 7 * end + 3
        along = 0.0
        # F in frame axes is Rn^T R1 force; d~ F~ = F d^T - (d . F) I
        for i in range(3):
            f = 0.0
            for k in range(3):
                f += R[2 * end, k, i] * (R[1, k, 0] * force[0] + R[1, k, 1] * force[1] + R[1, k, 2] * force[2])
            along += f * ends[end, 1 + i]
            for j in range(3):
                A[o + i, o + j] += f * ends[end, 1 + j]
        for i in range(3):
            A[o + i, o + i] -= along


@kernel
def energy_momentum(index, ends, data, beside, q, v, fixed, gravity, out):  # type: ignore[no-untyped-def]
    """out (s, 8) += kinetic and potential energy, linear momentum and angular momentum about the inertial origin."""
    R = np.empty((5, 3, 3))
    small, axes, offset_work = np.empty((15, 3)), np.empty((3, 3)), np.empty((6, 3))
    Q, beta, gamma, L, work, w = R[4], small[10], small[11], small[12], small[13], small[14]
    x0, x1 = np.empty((4, 3)), np.empty((4, 3))
    X, f11 = np.empty(8), np.empty(11)
    e, E, turned, rows = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty(4), np.empty((4, 8))
    spin = np.empty((3, 11))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length = data[k, LENGTH]
            element_shape(index[k], ends[k], q[s], fixed, length, R, small, X)
            if not strains(X, length, data[k, SOURCE] != 0.0, turned, rows, e, E):
                return k
            ends_motion(index[k], ends[k], v[s], R, small, f11)
            potential = 0.0
            for i in range(3):
                for j in range(4):
                    e[i, j] -= data[k, REFERENCE + 4 * i + j]
                for j in range(4):
                    for o in range(4):
                        potential += 0.5 * WEIGHTS[i] * length * e[i, j] * data[k, STIFFNESS + 4 * j + o] * e[i, o]
            # centreline, inertial axes
            for end in range(2):
                stretched = length * (1.0 + q[s, index[k, 4 + end]])
                centreline_rate(v[s, index[k, 6 + end]], small[4 + end], stretched, length, work)
                turn(R[1 + 2 * end], work, x1[1 + 2 * end])
                for i in range(3):
                    x0[2 * end, i] = small[end, i]
                    x1[2 * end, i] = small[2 + end, i]
                    x0[1 + 2 * end, i] = R[1 + 2 * end, i, 0] * stretched
            mass = data[k, MASS] * length
            kinetic = 0.0
            L[:] = 0.0
            for i in range(4):
                for j in range(4):
                    f = mass * HERMITE_MASS[i, j]
                    cross(x0[i], x1[j], work)
                    for o in range(3):
                        kinetic += 0.5 * f * x1[i, o] * x1[j, o]
                        L[o] += f * work[o]
                for o in range(3):
                    out[s, 2 + o] += mass * HERMITE_MEAN[i] * x1[i, o]
                    potential -= mass * HERMITE_MEAN[i] * x0[i, o] * gravity[o]
            # rotary inertia
            cy, cz = data[k, OFFSET], data[k, OFFSET + 1]
            symmetric = data[k, INERTIA + 1] == data[k, INERTIA + 2] and cy == 0.0 and cz == 0.0
            for i in range(3):
                rotary_rows(X, Q, beta, gamma, length, i, symmetric, axes[0], axes[1], axes[2], spin)
                weight = WEIGHTS[i] * length
                for j in range(3):
                    w[j] = 0.0
                    for o in range(11):
                        w[j] += spin[j, o] * f11[o]
                    f = weight * data[k, INERTIA + j] * w[j]
                    kinetic += 0.5 * f * w[j]
                    for o in range(3):
                        for p in range(3):
                            L[p] += R[1, p, o] * f * axes[j, o]
                if beside is not None:
                    mass_i = weight * data[k, MASS]
                    offset_energy(i, mass_i, cy, cz, axes, R[1], w, x0, x1, gravity, offset_work, out[s])
            out[s, 0] += kinetic
            out[s, 1] += potential
            for o in range(3):
                out[s, 5 + o] += L[o]
    return -1
