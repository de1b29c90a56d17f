"""Kernels of the prediction of stages; see ``femb.steppers.stage_prediction``."""

import math

from femb.numerics.compile import inlined, kernel
from femb.steppers.radau_kernels import (
    FIRST_SWEEPS,
    frame_rotations,
    rotate_frames,
    rotate_frames_back,
    stage_coordinates,
)


@inlined
def attitudes(quaternion_q, q, result):
    """result (F, 4): the quaternions of frames in q (n_q,), of unit length."""
    for k in range(quaternion_q.size):
        o = quaternion_q[k]
        f = 1.0 / math.sqrt(q[o] * q[o] + q[o + 1] * q[o + 1] + q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
        for m in range(4):
            result[k, m] = f * q[o + m]


@inlined
def along(t, h, earlier, slope, bend, third):
    """The change of a component from the end of a step h to the time t after it, by the cubic of the trend; earlier :
    the length of the step before."""
    return t * (slope + 0.5 * (h + t) * (bend + (earlier + h + t) * third / 3.0))


@inlined
def extrapolated(x, first, second, d1, d2):
    """At the part x of a step after its end, the cubic that is zero at both ends and d1, d2 at the inner stages.

    first, second : the parts at which these are, negative.
    """
    a, b = d1 / (first * (first + 1.0)), d2 / (second * (second + 1.0))
    slope = (b - a) / (second - first)
    return x * (x + 1.0) * (a + slope * (x - first))


@kernel
def start_stages(
    linear_q, linear_v, quaternion_q, omega_v, corotated_q, matrices_q, C, A, inverse, h, trend, q, v, Z, V, K, Q, L,
    rotations,
):  # fmt: skip
    """Stages of a step h before the first iteration, and the rotations of frames to them from ``matrices_q`` (n_q,).

    trend : the attributes of ``Trend``. Z, V, K, Q : see ``stage_coordinates``; K = A^-1 Z / h. L (3, n_c).
    """
    length, earlier, velocity, slope, bend, third, deviation, growing, of_multipliers, turning_q, turning_v = trend
    first, second = C[0] - 1.0, C[1] - 1.0
    ratio = h / length if length > 0.0 else 0.0
    for i in range(3):
        theta = 1.0 + C[i] * ratio
        for k in range(L.shape[1]):
            a, b, c = of_multipliers[0, k], of_multipliers[1, k], of_multipliers[2, k]
            L[i, k] = a + theta * (b + theta * c)
        for k in range(q.size):
            Q[i, k] = q[k]
    # angular velocities are the same in all axes: the second attitudes follow from them. Rates of quaternions are not,
    # and their attitudes are iterated.
    for _ in range(1 if turning_q.size == 0 else 2 if quaternion_q.size > 0 else 4):
        for i in range(3):
            attitudes(turning_q, Q[i], rotations[i])
            for k in range(v.size):
                if growing[k]:
                    more = extrapolated(C[i] * ratio, first, second, deviation[0, k], deviation[1, k])
                else:
                    more = ratio * ratio * ratio * deviation[i, k]
                Z[i, k] = velocity[k] + more
                Z[i, k] += along(C[i] * h, length, earlier, slope[k], bend[k], third[k])
            rotate_frames(rotations[i], turning_v, Z[i])
            for k in range(v.size):
                Z[i, k] -= v[k]
        stage_coordinates(linear_q, linear_v, quaternion_q, omega_v, A, inverse, h, q, v, Z, V, K, Q, FIRST_SWEEPS)
    frame_rotations(corotated_q, matrices_q, Q, rotations)


@kernel
def find_trend(
    turning_q, turning_v, C, h, length, earlier, old_velocity, old_slope, old_bend, old_third, old_deviation, q0, v0,
    q1, v1, Z, Q, rotations, velocity, slope, bend, third, deviation, growing,
):  # fmt: skip
    """velocity, slope, bend, third (n_v,), deviation (3, n_v), growing (n_v,) of ``Trend`` after a step h from q0, v0
    to q1, v1.

    length, earlier and those with ``old`` : after the step before. Z (3, n_v), Q (3, n_q) : the stages, as of
    ``start_stages``. rotations (3, F, 4) is overwritten.
    """
    attitudes(turning_q, q0, rotations[0])
    attitudes(turning_q, q1, rotations[1])
    for k in range(v0.size):
        slope[k], velocity[k] = v0[k], v1[k]
    rotate_frames_back(rotations[0], turning_v, slope)
    rotate_frames_back(rotations[1], turning_v, velocity)
    for k in range(v0.size):
        slope[k] = (velocity[k] - slope[k]) / h
        bend[k] = 2.0 * (slope[k] - old_slope[k]) / (h + length) if length > 0.0 else 0.0
        third[k] = 3.0 * (bend[k] - old_bend[k]) / (h + length + earlier) if earlier > 0.0 else 0.0
    for i in range(3):
        attitudes(turning_q, Q[i], rotations[i])
        for k in range(v0.size):
            deviation[i, k] = v0[k] + Z[i, k]
        rotate_frames_back(rotations[i], turning_v, deviation[i])
    ratio = h / length if length > 0.0 else 0.0
    first, second = C[0] - 1.0, C[1] - 1.0
    for k in range(v0.size):
        kept = grown = 0.0
        for i in range(3):
            old = old_velocity[k] + along(C[i] * h, length, earlier, old_slope[k], old_bend[k], old_third[k])
            more = deviation[i, k] - old
            kept += abs(more - ratio * ratio * ratio * old_deviation[i, k])
            grown += abs(more - extrapolated(C[i] * ratio, first, second, old_deviation[0, k], old_deviation[1, k]))
            deviation[i, k] -= velocity[k] + along((C[i] - 1.0) * h, h, length, slope[k], bend[k], third[k])
        growing[k] = grown < kept or length == 0.0
