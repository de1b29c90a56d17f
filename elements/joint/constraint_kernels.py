"""Kernels over rows of constraints: the primitives that every joint and driver is made of.

A row ties frame i to frame j. With s points and a, h directions fixed in the frames, e = A a, the distance
d = r_j + A_j s_j - r_i - A_i s_i, and f, f', f'' the input it follows, or zeros:

    POINT        e.d - f           e = a_i, inertial
    DISTANCE     (d.d - f^2)/2c    c the length at the start, the input or c for f
    DOT1         e_i.e_j - f
    DOT2         e_i.d - f
    ANGLE        e_i.e_j           a_i = -sin f g + cos f h: the angle from g to a_j about g x h is f
    ORIENTATION  vec(conj(p_d) conj(p_i) p_j), one of its three components; follows p_d, omega_d, omega_d'

index (n, 10) int: of frame i in q (negative: fixed), in v (negative: fixed), 1 if it has axes; the same of frame j;
the row; the primitive; first input or -1; input that is 0 where the row is not in force, or -1. data (n, 16): s_i, a_i
(g for ANGLE, p_d over a_i and h for ORIENTATION), h, s_j, a_j, a constant. J (12,) of a row is on (rdot_i, omega_i,
rdot_j, omega_j). fixed : poses of fixed frames. Source: docs/theory/constraints.md, equations (1) to (9).
"""

import math

import numpy as np

from femb.numerics.compile import inner, kernel
from femb.numerics.vector3 import cross, dot, rotation, turn, turn_back

POINT, DISTANCE, DOT1, DOT2, ANGLE, ORIENTATION = range(6)
INPUTS = (3, 3, 3, 3, 3, 10)  # width of the input that each primitive follows


@inner
def frame_motion(i, j, axes, q, v, fixed, R, r, rate, w):
    """Axes R, position r, velocity ``rate`` and angular velocity w of a frame."""
    for k in range(3):
        r[k] = q[i + k] if i >= 0 else fixed[-1 - i, k]
        rate[k] = v[j + k] if j >= 0 else 0.0
        w[k] = v[j + 3 + k] if j >= 0 and axes else 0.0
    if not axes:
        for k in range(3):
            for m in range(3):
                R[k, m] = 1.0 if k == m else 0.0
    elif i >= 0:
        rotation(q[i + 3 : i + 7], R)
    else:
        rotation(fixed[-1 - i, 3:7], R)


@inner
def relative_orientation(index, data, u, q, fixed, pd, y):
    """p_d, and y = conj(p_d) conj(p_i) p_j with p_i, p_j of unit length."""
    pi, pj, x = np.empty(4), np.empty(4), np.empty(4)
    first = index[8]
    for k in range(4):
        pi[k] = q[index[0] + 3 + k] if index[0] >= 0 else fixed[-1 - index[0], 3 + k]
        pj[k] = q[index[3] + 3 + k] if index[3] >= 0 else fixed[-1 - index[3], 3 + k]
        pd[k] = u[first + k] if first >= 0 else data[3 + k]
    hamilton(pi, pd, x)
    for k in range(1, 4):
        x[k] = -x[k]
    hamilton(x, pj, y)
    size = math.sqrt(dot4(pi, pi) * dot4(pj, pj))
    for k in range(4):
        y[k] /= size


@inner
def orientation(index, data, u, q, fixed, wi, wj, J):
    """Phi, Phi_t and gamma of an ORIENTATION row; sets J."""
    pd, y = np.empty(4), np.empty(4)
    relative_orientation(index, data, u, q, fixed, pd, y)
    first = index[8]
    wd, ad, turned, R = np.zeros(3), np.zeros(3), np.empty(3), np.empty((3, 3))
    if first >= 0:
        for k in range(3):
            wd[k], ad[k] = u[first + 4 + k], u[first + 7 + k]
    rotation(pd, R)
    turn_back(R, wi, turned)
    full, rate, a, b = np.empty(3), np.empty(4), np.empty(4), np.empty(4)
    cross(wd, turned, full)
    for k in range(3):
        ad[k] -= full[k]
        full[k] = turned[k] + wd[k]
    quaternion_times(y, wj, a)
    times_quaternion(full, y, b)
    for k in range(4):
        rate[k] = 0.5 * (a[k] - b[k])
    quaternion_times(rate, wj, a)
    times_quaternion(full, rate, b)
    c = int(data[15])
    gamma = -0.5 * (a[c + 1] - b[c + 1])
    times_quaternion(ad, y, b)
    gamma += 0.5 * b[c + 1]
    times_quaternion(wd, y, b)
    phi_t = -0.5 * b[c + 1]
    unit = np.zeros(3)
    for k in range(3):
        unit[0], unit[1], unit[2] = 0.0, 0.0, 0.0
        unit[k] = 1.0
        quaternion_times(y, unit, a)
        J[9 + k] = 0.5 * a[c + 1]
        turn_back(R, unit, turned)
        times_quaternion(turned, y, b)
        J[3 + k] = -0.5 * b[c + 1]
    return y[c + 1], phi_t, gamma


@inner
def hamilton(a, b, out):
    """out = a b, quaternions."""
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    out[2] = a[0] * b[2] + a[2] * b[0] + a[3] * b[1] - a[1] * b[3]
    out[3] = a[0] * b[3] + a[3] * b[0] + a[1] * b[2] - a[2] * b[1]


@inner
def quaternion_times(a, w, out):
    """out = a (0, w)."""
    out[0] = -a[1] * w[0] - a[2] * w[1] - a[3] * w[2]
    out[1] = a[0] * w[0] + a[2] * w[2] - a[3] * w[1]
    out[2] = a[0] * w[1] + a[3] * w[0] - a[1] * w[2]
    out[3] = a[0] * w[2] + a[1] * w[1] - a[2] * w[0]


@inner
def times_quaternion(w, a, out):
    """out = (0, w) a."""
    out[0] = -w[0] * a[1] - w[1] * a[2] - w[2] * a[3]
    out[1] = w[0] * a[0] + w[1] * a[3] - w[2] * a[2]
    out[2] = w[1] * a[0] + w[2] * a[1] - w[0] * a[3]
    out[3] = w[2] * a[0] + w[0] * a[2] - w[1] * a[1]


@inner
def dot4(a, b):
    """a . b of quaternions."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@inner
def spin_terms(R, w, a, e, rate, second, work):
    """e = R a of a vector a fixed in a frame, its rate R w~ a, and ``second`` = R w~ w~ a."""
    turn(R, a, e)
    cross(w, a, work)
    turn(R, work, rate)
    cross(w, work, second)
    for k in range(3):
        work[k] = second[k]
    turn(R, work, second)


@inner
def row(index, data, u, q, v, fixed, J, R, W):
    """Phi, Phi_t and gamma of a row; sets J (12,). R (2, 3, 3), W (22, 3) : to work in."""
    kind, first = index[7], index[8]
    Ri, Rj = R[0], R[1]
    ri, vi, wi, rj, vj, wj = W[0], W[1], W[2], W[3], W[4], W[5]
    frame_motion(index[0], index[1], index[2], q, v, fixed, Ri, ri, vi, wi)
    frame_motion(index[3], index[4], index[5], q, v, fixed, Rj, rj, vj, wj)
    for k in range(12):
        J[k] = 0.0
    if kind == ORIENTATION:
        return orientation(index, data, u, q, fixed, wi, wj, J)
    f, f1, f2 = 0.0, 0.0, 0.0
    if first >= 0:
        f, f1, f2 = u[first], u[first + 1], u[first + 2]
    work, ei, ei1, ei2 = W[6], W[7], W[8], W[9]
    if kind in (DOT1, ANGLE):
        ej, ej1, ej2, a, local = W[10], W[11], W[12], W[13], W[14]
        cosine, sine = math.cos(f), math.sin(f)
        for k in range(3):
            a[k] = data[3 + k] if kind == DOT1 else cosine * data[6 + k] - sine * data[3 + k]
        spin_terms(Ri, wi, a, ei, ei1, ei2, work)
        spin_terms(Rj, wj, data[12:15], ej, ej1, ej2, work)
        turn_back(Ri, ej, local)
        cross(a, local, work)
        for k in range(3):
            J[3 + k] = work[k]
        turn_back(Rj, ei, local)
        cross(data[12:15], local, work)
        for k in range(3):
            J[9 + k] = work[k]
        gamma = -dot(ej, ei2) - dot(ei, ej2) - 2.0 * dot(ei1, ej1)
        if kind == DOT1:
            return dot(ei, ej) - data[15] - f, -f1, gamma + f2
        # n' = f' m and n'' = f'' m - f'^2 n with m = -cos f g - sin f h
        m, m0, m1, m2 = W[15], W[16], W[17], W[18]
        for k in range(3):
            m[k] = -cosine * data[3 + k] - sine * data[6 + k]
        spin_terms(Ri, wi, m, m0, m1, m2, work)
        along = dot(m0, ej)
        gamma -= f2 * along - f1 * f1 * dot(ei, ej) + 2.0 * f1 * (dot(m1, ej) + dot(m0, ej1))
        return dot(ei, ej), f1 * along, gamma
    d, d1, d2, b0, b1, b2 = W[10], W[11], W[12], W[13], W[14], W[15]
    spin_terms(Ri, wi, data[0:3], b0, b1, b2, work)
    spin_terms(Rj, wj, data[9:12], d, d1, d2, work)
    for k in range(3):
        d[k] += rj[k] - ri[k] - b0[k]
        d1[k] += vj[k] - vi[k] - b1[k]
        d2[k] -= b2[k]
    if kind == POINT:
        for k in range(3):
            ei[k] = data[3 + k]
        phi, phi_t, gamma = dot(ei, d) - f, -f1, f2 - dot(ei, d2)
    elif kind == DISTANCE:
        scale = 0.5 / data[15]
        if first < 0:
            f = data[15]
        for k in range(3):
            ei[k] = 2.0 * scale * d[k]
        phi, phi_t = scale * (dot(d, d) - f * f), -2.0 * scale * f * f1
        gamma = 2.0 * scale * (f1 * f1 + f * f2 - dot(d, d2) - dot(d1, d1))
    else:
        spin_terms(Ri, wi, data[3:6], ei, ei1, ei2, work)
        phi, phi_t = dot(ei, d) - f, -f1
        gamma = f2 - dot(d, ei2) - 2.0 * dot(ei1, d1) - dot(ei, d2)
        turn_back(Ri, d, b0)
        cross(data[3:6], b0, work)
        for k in range(3):
            J[3 + k] = work[k]
    turn_back(Ri, ei, b0)
    cross(b0, data[0:3], work)
    turn_back(Rj, ei, b1)
    cross(data[9:12], b1, b2)
    for k in range(3):
        J[k], J[6 + k] = -ei[k], ei[k]
        J[3 + k] += work[k]
        J[9 + k] = b2[k]
    return phi, phi_t, gamma


@inner
def inactive(index, u):
    """Whether a row is not in force."""
    return index[9] >= 0 and u[index[9]] == 0.0


@inner
def rate_of(index, v, J):
    """J v of a row."""
    rate = 0.0
    for e in range(2):
        j = index[3 * e + 1]
        if j >= 0:
            for k in range(6 if index[3 * e + 2] else 3):
                rate += J[6 * e + k] * v[j + k]
    return rate


@kernel
def hold(index, data, u, q, v, fixed, multipliers, force, rates):
    """force (s, n_v) += J^T lambda, rates (s, n_c) = J v + Phi_t; a row not in force gives its multiplier."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            c = index[n, 6]
            if inactive(index[n], u[s]):
                rates[s, c] = multipliers[s, c]
                continue
            _, phi_t, _ = row(index[n], data[n], u[s], q[s], v[s], fixed, J, R, W)
            rates[s, c] = rate_of(index[n], v[s], J) + phi_t
            for e in range(2):
                j = index[n, 3 * e + 1]
                if j >= 0:
                    for k in range(6 if index[n, 3 * e + 2] else 3):
                        force[s, j + k] += J[6 * e + k] * multipliers[s, c]


@kernel
def constraints(index, data, u, q, v, fixed, position, gamma):
    """position, gamma (s, n_c) = Phi and gamma."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            if not inactive(index[n], u[s]):
                phi, _, right = row(index[n], data[n], u[s], q[s], v[s], fixed, J, R, W)
                position[s, index[n, 6]] = phi
                gamma[s, index[n, 6]] = right


@kernel
def jacobian(index, data, offset, stride, u, q, v, fixed, out):
    """Add J and J^T to block data; the diagonal of a row not in force becomes one."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for n in range(index.shape[0]):
        if inactive(index[n], u):
            out[offset[n, 4, 4]] += 1.0
            continue
        row(index[n], data[n], u, q, v, fixed, J, R, W)
        for g in range(4):
            if offset[n, 4, g] >= 0:
                for k in range(3):
                    out[offset[n, 4, g] + k] += J[3 * g + k]
                    out[offset[n, g, 4] + k * stride[n, g, 4]] += J[3 * g + k]


@kernel
def drive(index, data, u, q, v, fixed, multipliers, out):
    """out (s,) += lambda . Phi_t."""
    J, R, W = np.empty(12), np.empty((2, 3, 3)), np.empty((22, 3))
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            if index[n, 8] >= 0 and not inactive(index[n], u[s]):
                _, phi_t, _ = row(index[n], data[n], u[s], q[s], v[s], fixed, J, R, W)
                out[s] += multipliers[s, index[n, 6]] * phi_t
