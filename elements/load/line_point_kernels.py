"""Kernels over points on the axes of beams: see ``line_points`` and docs/theory/beam_loads.md, section 3.

index (e, 2, 4) int: of both ends of an element the indices in q and v of its frame, negative if it is fixed, and those
of its strain, IN_STRAIN and STRAIN_RATE, negative if it has none. ends (e, 2, 6): the arm d and the vector e of an end
in frame axes. values, slopes (3, 4), weights (e, 3): as of ``LinePoints``. The arrays R, omega, k, w, arm_rate, x and
rates are those of ``line_points.Motion``.
"""

import numpy as np

from femb.numerics.compile import kernel
from femb.numerics.vector3 import (
    IN_Q,
    IN_V,
    add_torque_tangent,
    cross,
    dot,
    pose,
    rotate,
    rotate_back,
    scatter,
    times_skew,
)

IN_STRAIN, STRAIN_RATE = 2, 3
WIDTH = 7  # velocities of an end: of its frame, and of its strain


@kernel
def motions(index, ends, fixed, q, v, R, omega, k, w, arm_rate, x, rates):
    """Set the motion of the ends of all elements at s states."""
    along = np.empty(3)
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            for end in range(2):
                i, j, own = index[n, end, IN_Q], index[n, end, IN_V], index[n, end, IN_STRAIN]
                d, e = ends[n, end, 0:3], ends[n, end, 3:6]
                A, spin, arm, turned = R[s, n, end], omega[s, n, end], arm_rate[s, n, end], w[s, n, end]
                at, speed = x[s, n, 2 * end], rates[s, n, 2 * end]
                pose(i, q[s], fixed, at, A)
                stretch, stretching = 1.0, 0.0
                if own >= 0:
                    stretch, stretching = 1.0 + q[s, own], v[s, index[n, end, STRAIN_RATE]]
                for o in range(3):
                    speed[o] = v[s, j + o] if j >= 0 else 0.0
                    spin[o] = v[s, j + 3 + o] if j >= 0 else 0.0
                    k[s, n, end, o] = stretch * e[o]
                cross(spin, d, arm)
                cross(spin, k[s, n, end], turned)
                for o in range(3):
                    turned[o] += stretching * e[o]
                rotate(A, d, along)
                for o in range(3):
                    at[o] += along[o]
                rotate(A, arm, along)
                for o in range(3):
                    speed[o] += along[o]
                rotate(A, k[s, n, end], x[s, n, 2 * end + 1])
                rotate(A, turned, rates[s, n, 2 * end + 1])


@kernel
def end_forces(index, ends, weights, values, R, k, force, sign, F, out):
    """F (s, e, 4, 3), inertial axes, on the four vectors by the forces per length (s, e, 3, 3) at the points.

    out (s, n_v) += sign times the generalised forces.
    """
    w = np.empty((4, 3))
    on_place, on_along, first, second = w[0], w[1], w[2], w[3]
    for s in range(force.shape[0]):
        for n in range(index.shape[0]):
            for a in range(4):
                for o in range(3):
                    F[s, n, a, o] = 0.0
                    for g in range(3):
                        F[s, n, a, o] += weights[n, g] * values[g, a] * force[s, n, g, o]
            for end in range(2):
                j, own = index[n, end, IN_V], index[n, end, STRAIN_RATE]
                rotate_back(R[s, n, end], F[s, n, 2 * end], on_place)
                rotate_back(R[s, n, end], F[s, n, 2 * end + 1], on_along)
                if j >= 0:
                    cross(ends[n, end, 0:3], on_place, first)
                    cross(k[s, n, end], on_along, second)
                    for o in range(3):
                        out[s, j + o] += sign * F[s, n, 2 * end, o]
                        out[s, j + 3 + o] += sign * (first[o] + second[o])
                if own >= 0:
                    out[s, own] += sign * dot(ends[n, end, 3:6], on_along)


@kernel
def tangent(
    index, ends, weights, values, slopes, R, omega, k, w, arm_rate, F, by_x, by_v, by_slope,
    starts, sizes, offset, stride, damping, stiffness,
):  # fmt: skip
    """Add the derivatives of minus the generalised forces, at the first state, to block data.

    F : of ``end_forces``. by_x, by_v, by_slope (e, 3, 3, 3) : derivatives of the forces at the points by the place, the
    velocity and the slope. starts, sizes : of the groups of an element among its 14 motions.
    """
    places, speeds = np.empty((4, 3, 2 * WIDTH)), np.empty((4, 3, 2 * WIDTH))
    at, change, change_v = np.empty((3, 3, 2 * WIDTH)), np.empty((3, 2 * WIDTH)), np.empty((3, 2 * WIDTH))
    K, C = np.empty((2 * WIDTH, 2 * WIDTH)), np.empty((2 * WIDTH, 2 * WIDTH))
    y = np.empty((3, 3))
    on_place, on_along, turned = y[0], y[1], y[2]
    for n in range(index.shape[0]):
        places[:], speeds[:], K[:], C[:] = 0.0, 0.0, 0.0, 0.0
        for end in range(2):
            A, d, e, m = R[0, n, end], ends[n, end, 0:3], ends[n, end, 3:6], WIDTH * end
            for o in range(3):
                places[2 * end, o, m + o] = 1.0
            times_skew(-1.0, A, d, places[2 * end, :, m + 3 : m + 6])
            times_skew(-1.0, A, arm_rate[0, n, end], speeds[2 * end, :, m + 3 : m + 6])
            times_skew(-1.0, A, k[0, n, end], places[2 * end + 1, :, m + 3 : m + 6])
            times_skew(-1.0, A, w[0, n, end], speeds[2 * end + 1, :, m + 3 : m + 6])
            rotate(A, e, places[2 * end + 1, :, m + 6])
            cross(omega[0, n, end], e, turned)
            rotate(A, turned, speeds[2 * end + 1, :, m + 6])
            # the torques of constant forces change with the rotation and the strain
            rotate_back(A, F[0, n, 2 * end], on_place)
            rotate_back(A, F[0, n, 2 * end + 1], on_along)
            block = K[m : m + WIDTH, m : m + WIDTH]
            add_torque_tangent(1.0, on_place, d, 3, block)
            add_torque_tangent(1.0, on_along, k[0, n, end], 3, block)
            cross(e, on_along, turned)
            for o in range(3):
                block[3 + o, 6] += turned[o]
                block[6, 3 + o] += turned[o]
        for g in range(3):
            for c in range(2 * WIDTH):
                for o in range(3):
                    for part in range(3):
                        at[part, o, c] = 0.0
                    for a in range(4):
                        at[0, o, c] += values[g, a] * places[a, o, c]
                        at[1, o, c] += values[g, a] * speeds[a, o, c]
                        at[2, o, c] += slopes[g, a] * places[a, o, c]
            for c in range(2 * WIDTH):
                for o in range(3):
                    change[o, c], change_v[o, c] = 0.0, 0.0
                    for i in range(3):
                        change_v[o, c] += by_v[n, g, o, i] * at[0, i, c]
                        change[o, c] += by_x[n, g, o, i] * at[0, i, c] + by_v[n, g, o, i] * at[1, i, c]
                        change[o, c] += by_slope[n, g, o, i] * at[2, i, c]
            for r in range(2 * WIDTH):
                for c in range(2 * WIDTH):
                    for o in range(3):
                        K[r, c] += weights[n, g] * at[0, o, r] * change[o, c]
                        C[r, c] += weights[n, g] * at[0, o, r] * change_v[o, c]
        for r in range(2 * WIDTH):
            for c in range(2 * WIDTH):
                K[r, c], C[r, c] = -K[r, c], -C[r, c]
        scatter(K, starts, sizes, offset[n], stride[n], stiffness)
        scatter(C, starts, sizes, offset[n], stride[n], damping)
