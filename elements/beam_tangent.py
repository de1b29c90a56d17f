"""Exact tangent of the beam element: the change of its whole residual with coordinates and velocities.

To the iteration tangent of ``beam_kernels`` this adds the second derivatives of the strains, the change of the
strain rates with the coordinates, and the change of inertia and gyroscopic force. Second derivatives of the strains
are formed on the natural coordinates; what the inertia force changes by is found along one direction after
another, each line of ``inertia_force`` differentiated. A leading d means the change along a direction:

    0 to 10     a motion of the ends at held velocities and accelerations: chord (3), spin (3) and strain of
                end I, spin (3) and strain of end II, as in ``end_gradient``
    11 to 21    a change of the ends' velocities, in the same order

Vectors are components in the axes of the first section. What is held in inertial directions therefore changes by
y x theta as these axes turn by theta. Source: docs/theory/beam.md.
"""

import math

import numpy as np

from femb.elements.beam_inertia import (
    HERMITE_MASS,
    at_point,
    section_axes,
    swing_spin,
    tangent_rates,
    twist_rates,
)
from femb.elements.beam_kernels import (
    DAMPING,
    INERTIA,
    LENGTH,
    MASS,
    OFFSET,
    SOURCE,
    STIFFNESS,
    TRUE,
    attachment_stiffness,
    element_force,
    element_mass,
    expand,
    scatter_ends,
    to_frames,
)
from femb.elements.beam_mass_axis import offset_force, offset_force_change
from femb.elements.beam_strain import (
    HERMITE,
    POINTS,
    TWIST_HERMITE,
    TWIST_POINTS,
    TWIST_WEIGHTS,
    WEIGHTS,
    geometric_stiffness,
    shape_gradient,
    twist_rule,
)
from femb.jit import kernel
from femb.smallmath import cross, dot, turn, turn_back

ENDS = 11  # directions of one kind
ALL = 22
# r' depends on the natural coordinate k < 7 through its component AXIS[k] and the Hermite function number SHAPE[k]
AXIS = np.array([0, 1, 2, 0, 0, 1, 2])
SHAPE = np.array([1, 1, 1, 0, 2, 2, 2])


# Strains


@kernel
def twist_hessian(X, S):  # type: ignore[no-untyped-def]
    """S (4, 8, 8): second derivatives of ``twist_angles`` by X.

    The angles are integrals of c f, c = 6 (X1 X6 - X2 X5) and f = xi^2 / (g (g + u1)) with u = r', g = |u|.
    """
    H, t = np.empty((3, 3)), np.empty(3)
    whole, first = np.zeros(4), np.zeros((4, 8))  # integrals of f and of its gradient
    S[:] = 0.0
    start, stop = twist_rule(X)
    for j in range(start, stop):
        n2, n3, n4 = TWIST_HERMITE[j, 0], TWIST_HERMITE[j, 1], TWIST_HERMITE[j, 2]
        t[0] = n3 * X[0] + n2 * X[3] + n4 * X[4]
        t[1] = n3 * X[1] + n4 * X[5]
        t[2] = n3 * X[2] + n4 * X[6]
        g = math.sqrt(dot(t, t))
        swing = g + t[0]
        f = TWIST_POINTS[j] * TWIST_POINTS[j] / (g * swing)
        for i in range(3):
            t[i] /= g
        # gradient -f (t/g + q/swing), q = t + e1; derivative of t/g and of q/swing beside its square
        for i in range(3):
            for k in range(3):
                q_i = t[i] + (1.0 if i == 0 else 0.0)
                q_k = t[k] + (1.0 if k == 0 else 0.0)
                flat = (1.0 if i == k else 0.0) - t[i] * t[k]
                H[i, k] = f * (
                    (t[i] / g + q_i / swing) * (t[k] / g + q_k / swing)
                    - (flat - t[i] * t[k]) / (g * g)
                    - flat / (g * swing)
                    + q_i * q_k / (swing * swing)
                )
        for p in range(7):
            n_p = TWIST_HERMITE[j, SHAPE[p]]
            i = AXIS[p]
            d = -f * n_p * (t[i] / g + (t[i] + (1.0 if i == 0 else 0.0)) / swing)
            for o in range(4):
                first[o, p] += TWIST_WEIGHTS[o, j] * d
            for q in range(p + 1):
                d = n_p * TWIST_HERMITE[j, SHAPE[q]] * H[i, AXIS[q]]
                for o in range(4):
                    S[o, p, q] += TWIST_WEIGHTS[o, j] * d
        for o in range(4):
            whole[o] += TWIST_WEIGHTS[o, j] * f
    c = 6.0 * (X[1] * X[6] - X[2] * X[5])
    c_first = np.zeros(8)
    c_first[1], c_first[2], c_first[5], c_first[6] = 6.0 * X[6], -6.0 * X[5], -6.0 * X[2], 6.0 * X[1]
    for o in range(4):
        for p in range(7):
            for q in range(p + 1):
                S[o, p, q] = c * S[o, p, q] + c_first[p] * first[o, q] + first[o, p] * c_first[q]
        S[o, 6, 1] += 6.0 * whole[o]
        S[o, 5, 2] -= 6.0 * whole[o]
        for p in range(7):
            for q in range(p):
                S[o, q, p] = S[o, p, q]
    # uniform twist adds its share, as in twist_angles
    for p in range(7):
        for q in range(7):
            for o in range(3):
                S[o, p, q] -= POINTS[o] * S[3, p, q]
            S[3, p, q] = -S[3, p, q]


@kernel
def strain_changes(X, length, source, turned, rows, S, D, dE):  # type: ignore[no-untyped-def]
    """dE (n, 3, 4, 8): changes of the gradient E of ``strains`` as X changes along the directions D (n, 8).

    turned, rows : of ``twist_angles``; S : its second derivatives.
    """
    w = np.empty((13, 3))
    u, v, t, q, s_u, du, dv, dt, ds_u = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]
    # of the second derivative of the centreline along the swung y and z axes: gradients by u = r' and v = r''
    swung, by_u = np.empty((2, 3)), np.empty((2, 3))
    dswung, dby_u = np.empty((2, 3)), np.empty((2, 3))
    y, value, dvalue = w[9], w[10], w[11]
    drow = np.empty(8)
    for i in range(3):
        n2, n3, n4 = HERMITE[i, 0], HERMITE[i, 1], HERMITE[i, 2]
        m2, m3, m4 = HERMITE[i, 3], HERMITE[i, 4], HERMITE[i, 5]
        for k in range(3):
            u[k] = n3 * X[k] + n4 * X[4 + k]
            v[k] = m3 * X[k] + m4 * X[4 + k]
        u[0] += n2 * X[3]
        v[0] += m2 * X[3]
        g = math.sqrt(dot(u, u))
        for k in range(3):
            t[k] = u[k] / g
            q[k] = t[k]
        q[0] += 1.0
        z = 1.0 / (g + u[0])
        along = dot(t, v)
        s = v[0] + along
        for k in range(3):
            s_u[k] = (v[k] - along * t[k]) / g
        for a in range(2):
            y[a] = u[1 + a] * z
            value[a] = v[1 + a] - y[a] * s
            for k in range(3):
                swung[a, k] = (1.0 if k == 1 + a else 0.0) - y[a] * q[k]
                by_u[a, k] = -s * z * swung[a, k] - y[a] * s_u[k]
        scale = 1.0 / (length * length) if source else 1.0 / (g * length)
        by_g = 0.0 if source else 1.0 / g
        cp, sp = math.cos(turned[i]), math.sin(turned[i])
        k2 = scale * (sp * value[0] - cp * value[1])
        k3 = scale * (cp * value[0] + sp * value[1])
        for n in range(D.shape[0]):
            for k in range(3):
                du[k] = n3 * D[n, k] + n4 * D[n, 4 + k]
                dv[k] = m3 * D[n, k] + m4 * D[n, 4 + k]
            du[0] += n2 * D[n, 3]
            dv[0] += m2 * D[n, 3]
            dturned = 0.0
            for m in range(8):
                dturned += rows[i, m] * D[n, m]
            dg = dot(t, du)
            for k in range(3):
                dt[k] = (du[k] - dg * t[k]) / g
            dz = -z * z * (dg + du[0])
            dalong = dot(dt, v) + dot(t, dv)
            ds = dot(s_u, du) + dot(q, dv)
            for k in range(3):
                ds_u[k] = (dv[k] - dalong * t[k] - along * dt[k] - dg * s_u[k]) / g
            for a in range(2):
                dy = z * dot(swung[a], du)
                dvalue[a] = dot(by_u[a], du) + dot(swung[a], dv)
                for k in range(3):
                    dswung[a, k] = -dy * q[k] - y[a] * dt[k]
                    dby_u[a, k] = -(ds * z + s * dz) * swung[a, k] - s * z * dswung[a, k] - dy * s_u[k] - y[a] * ds_u[k]
            dlog = -by_g * dg  # of the scale
            dby_g = -by_g * by_g * dg
            dk2 = dlog * k2 + scale * (sp * dvalue[0] - cp * dvalue[1]) + k3 * dturned
            dk3 = dlog * k3 + scale * (cp * dvalue[0] + sp * dvalue[1]) - k2 * dturned
            for row in range(2, 4):
                if row == 2:
                    p, r, kappa, dkappa, turning, dturning = scale * sp, -scale * cp, k2, dk2, k3, dk3
                else:
                    p, r, kappa, dkappa, turning, dturning = scale * cp, scale * sp, k3, dk3, -k2, -dk2
                dp, dr = dlog * p - r * dturned, dlog * r + p * dturned
                drow[:] = 0.0
                for k in range(3):
                    ku = dp * by_u[0, k] + p * dby_u[0, k] + dr * by_u[1, k] + r * dby_u[1, k]
                    ku -= (dkappa * by_g + kappa * dby_g) * t[k] + kappa * by_g * dt[k]
                    kv = dp * swung[0, k] + p * dswung[0, k] + dr * swung[1, k] + r * dswung[1, k]
                    drow[k] = n3 * ku + m3 * kv
                    drow[4 + k] = n4 * ku + m4 * kv
                    if k == 0:
                        drow[3] = n2 * ku + m2 * kv
                for m in range(8):
                    x = drow[m] + dturning * rows[i, m]
                    for o in range(7):
                        x += turning * S[i, m, o] * D[n, o]
                    dE[n, i, row, m] = x
            for k in range(3):
                dE[n, i, 0, k] = n3 * dt[k] / length
                dE[n, i, 0, 4 + k] = n4 * dt[k] / length
            dE[n, i, 0, 3] = n2 * dt[0] / length
            dE[n, i, 0, 7] = 0.0
            for m in range(8):
                x = 0.0
                for o in range(7):
                    x += S[3, m, o] * D[n, o]
                dE[n, i, 1, m] = x / length


@kernel
def strain_stiffness(X, data, B, turned, rows, S, e, E, Xd, dXd, K, C):  # type: ignore[no-untyped-def]
    """K, C (11, 11) += changes of the elastic and damping force with the ends' motion and with their velocities, at
    held directions in which it acts (``geometric_stiffness`` adds their turning).

    e (3, 4) : strain less reference plus damping times strain rate. Xd (8,) : rate of X. dXd (8, 11) : its change
    with the ends' motion at held velocities.
    """
    length, damping = data[LENGTH], data[DAMPING]
    D, dE = np.zeros((9, 8)), np.empty((9, 3, 4, 8))
    for m in range(8):
        D[m, m] = 1.0
        D[8, m] = Xd[m]
    count = 9 if damping > 0.0 else 8
    strain_changes(X, length, data[SOURCE] != 0.0, turned, rows, S, D[:count], dE)
    A, G = np.zeros((8, 8)), np.zeros((8, 8))
    stress_gradient = np.empty((4, 8))
    for i in range(3):
        for j in range(4):
            stress_gradient[j] = 0.0
            stress = 0.0
            for o in range(4):
                f = WEIGHTS[i] * length * data[STIFFNESS + 4 * j + o]
                stress += f * e[i, o]
                for m in range(8):
                    stress_gradient[j, m] += f * E[i, o, m]
            for n in range(8):
                for m in range(8):
                    G[m, n] += stress * dE[n, i, j, m]
        for j in range(4):
            for m in range(8):
                for n in range(8):
                    A[m, n] += stress_gradient[j, m] * E[i, j, n]
                    if damping > 0.0:
                        # the strain rate E Xd changes by the change of E along Xd
                        G[m, n] += damping * stress_gradient[j, m] * dE[8, i, j, n]
    AB, GB = np.zeros((8, 11)), np.zeros((8, 11))
    for m in range(8):
        for n in range(8):
            for k in range(11):
                AB[m, k] += A[m, n] * B[n, k]
                GB[m, k] += (A[m, n] + G[m, n]) * B[n, k] + damping * A[m, n] * dXd[n, k]
    for m in range(8):
        for i in range(11):
            for k in range(11):
                K[i, k] += B[m, i] * GB[m, k]
                C[i, k] += damping * B[m, i] * AB[m, k]


# Inertia


@kernel
def centreline_changes(length, eps_rate, omega, alpha, s, along, dg, dv, dx2):  # type: ignore[no-untyped-def]
    """Changes of g = s e1 and of its rates (see ``centreline_acceleration``) in the axes of its end, into column
    0 with the strain, 1 with the strain rate and 2, 3, 4 with the angular velocity; dg, dv, dx2 (5, 3)."""
    dg[:] = 0.0
    dv[:] = 0.0
    dx2[:] = 0.0
    w1, w2, w3 = omega[0], omega[1], omega[2]
    dg[0, 0] = length
    dv[0, 1], dv[0, 2] = length * w3, -length * w2
    dx2[0, 0] = -length * (w2 * w2 + w3 * w3)
    dx2[0, 1], dx2[0, 2] = length * (alpha[2] + w1 * w2), length * (w1 * w3 - alpha[1])
    dv[1, 0] = length
    dx2[1, 1], dx2[1, 2] = 2.0 * length * w3, -2.0 * length * w2
    dv[3, 2], dv[4, 1] = -s, s
    dx2[2, 1], dx2[2, 2] = s * w2, s * w3
    dx2[3, 0], dx2[3, 1], dx2[3, 2] = -2.0 * s * w2, s * w1, -2.0 * length * eps_rate
    dx2[4, 0], dx2[4, 1], dx2[4, 2] = -2.0 * s * w3, 2.0 * length * eps_rate, s * w1


@kernel
def motion_changes(  # type: ignore[no-untyped-def]
    Q, length, s1, s2, eps_rates, omega1, omega2, alpha1, alpha2, x, v, x2, spins, dx, dv, dx2, dspins, dl
):
    """Changes, along the 22 directions, of everything that the inertia force depends on.

    x, v, x2 (4, 3) : (r_I, g_I, r_II, g_II) and its rates, changes dx, dv, dx2 (22, 4, 3). spins (4, 3) : angular
    velocities of end I and II, angular accelerations of both, changes dspins (22, 4, 3). dl (22, 3) : of the
    tangent l_II. All zero on entry; only differences between r_I and r_II are right. omega, alpha (3,) : own axes.
    """
    dg1, dv1, da1 = np.empty((5, 3)), np.empty((5, 3)), np.empty((5, 3))
    dg2, dv2, da2 = np.empty((5, 3)), np.empty((5, 3)), np.empty((5, 3))
    centreline_changes(length, eps_rates[0], omega1, alpha1, s1, length, dg1, dv1, da1)
    centreline_changes(length, eps_rates[1], omega2, alpha2, s2, length, dg2, dv2, da2)
    e, l2 = np.zeros(3), np.ascontiguousarray(Q[:, 0])
    for i in range(3):
        e[:] = 0.0
        e[i] = 1.0
        dx[i, 2, i] = 1.0
        dv[ENDS + i, 2, i] = 1.0
        # a turn of end I: vectors that are held in inertial directions turn back
        k = 3 + i
        cross(x[2], e, dx[k, 2])
        cross(x[3], e, dx[k, 3])
        cross(l2, e, dl[k])
        for o in range(4):
            if o != 1:
                cross(v[o], e, dv[k, o])
                cross(x2[o], e, dx2[k, o])
        cross(spins[1], e, dspins[k, 1])
        cross(spins[3], e, dspins[k, 3])
        # a turn of end II: its vectors, known in its own axes, turn with it
        k = 7 + i
        turn_with(Q, e, x[3], dx[k, 3])
        turn_with(Q, e, v[3], dv[k, 3])
        turn_with(Q, e, x2[3], dx2[k, 3])
        turn_with(Q, e, l2, dl[k])
        turn_with(Q, e, spins[1], dspins[k, 1])
        turn_with(Q, e, spins[3], dspins[k, 3])
        # angular velocities
        k = ENDS + 3 + i
        dv[k, 1] = dv1[2 + i]
        dx2[k, 1] = da1[2 + i]
        dspins[k, 0, i] = 1.0
        k = ENDS + 7 + i
        turn(Q, dv2[2 + i], dv[k, 3])
        turn(Q, da2[2 + i], dx2[k, 3])
        turn(Q, e, dspins[k, 1])
    dx[6, 1] = dg1[0]
    turn(Q, dg2[0], dx[10, 3])
    for o in range(2):
        # strains and strain rates
        dv[ENDS * o + 6, 1] = dv1[o]
        dx2[ENDS * o + 6, 1] = da1[o]
        turn(Q, dv2[o], dv[ENDS * o + 10, 3])
        turn(Q, da2[o], dx2[ENDS * o + 10, 3])


@kernel
def turn_with(Q, e, x, out):  # type: ignore[no-untyped-def]
    """out = (Q e) x x: change of the vector x of end II, axes of end I, as end II turns about e in its own axes."""
    a = Q[0, 0] * e[0] + Q[0, 1] * e[1] + Q[0, 2] * e[2]
    b = Q[1, 0] * e[0] + Q[1, 1] * e[1] + Q[1, 2] * e[2]
    c = Q[2, 0] * e[0] + Q[2, 1] * e[1] + Q[2, 2] * e[2]
    out[0] = b * x[2] - c * x[1]
    out[1] = c * x[0] - a * x[2]
    out[2] = a * x[1] - b * x[0]


@kernel
def twist_changes(Q, beta, gamma, spins, dspins, dl, dtwist):  # type: ignore[no-untyped-def]
    """dtwist (22, 3): changes of the twist alpha, its rate and its second rate; other arguments as above."""
    w = np.empty((5, 3))
    l2, s, difference, swing1, swing2 = w[0], w[1], w[2], w[3], w[4]
    change1, change2 = np.empty(3), np.empty(3)
    for i in range(3):
        l2[i] = Q[i, 0]
        difference[i] = spins[1, i] - spins[0, i]
        dtwist[3 + i, 0] = -beta[i]
        dtwist[7 + i, 0] = gamma[i]
    # beta = c (l_I + l_II) with l_I = e1; s is the rate of l_I + l_II
    c = 1.0 / (1.0 + l2[0])
    swing1[0], swing1[1], swing1[2] = 0.0, spins[0, 2], -spins[0, 1]
    cross(spins[1], l2, swing2)
    for i in range(3):
        s[i] = swing1[i] + swing2[i]
    rate = dot(beta, difference)
    c_rate = swing2[0] + dot(swing1, l2)
    for k in range(dspins.shape[0]):
        dc = -c * c * dl[k, 0]
        drate = 0.0
        dsecond = 0.0
        d_s = 0.0
        for i in range(3):
            dbeta = c * (dl[k, i] - beta[i] * dl[k, 0])
            dspin = dspins[k, 1, i] - dspins[k, 0, i]
            drate += dbeta * difference[i] + beta[i] * dspin
            dsecond += dbeta * (spins[3, i] - spins[2, i]) + beta[i] * (dspins[k, 3, i] - dspins[k, 2, i])
            d_s += s[i] * dspin
        cross(dspins[k, 1], l2, change1)
        cross(spins[1], dl[k], change2)
        dswing1_2, dswing1_3 = dspins[k, 0, 2], -dspins[k, 0, 1]
        for i in range(3):
            change1[i] += change2[i]  # of swing2
            d_s += change1[i] * difference[i]
        d_s += dswing1_2 * difference[1] + dswing1_3 * difference[2]
        dc_rate = change1[0] + dswing1_2 * l2[1] + dswing1_3 * l2[2] + dot(swing1, dl[k])
        dsecond += dc * (dot(s, difference) - rate * c_rate) + c * (d_s - drate * c_rate - rate * dc_rate)
        dtwist[k, 1] = drate
        dtwist[k, 2] = dsecond


@kernel
def inertia_changes(  # type: ignore[no-untyped-def]
    X, data, beside, spins, twist_rate, twist_second, v, x2, dx, dv, dx2, dspins, dtwist, dF, dM1, dforce
):
    """Changes dF (22, 4, 3), dM1 (22, 3) and dforce (22,) of what ``inertia_force`` gives; all zero on entry."""
    length, mass, cy, cz = data[LENGTH], data[MASS], data[OFFSET], data[OFFSET + 1]
    j1, j2, j3 = data[INERTIA], data[INERTIA + 1], data[INERTIA + 2]
    count = dx.shape[0]
    for k in range(count):
        for a in range(4):
            for b in range(4):
                f = mass * length * HERMITE_MASS[a, b]
                for o in range(3):
                    dF[k, a, o] += f * dx2[k, b, o]
    axes, daxes, w = np.empty((3, 3)), np.empty((3, 3)), np.empty((11, 3))
    t, m, n, dt, dm, dn = axes[0], axes[1], axes[2], daxes[0], daxes[1], daxes[2]
    ud, udd, td, tdd, du, dud, dudd, dtd, dtdd, P, b = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10]
    # of sections with an offset: spin, its rate and the moment, each with its change
    s, at, dat, F = np.empty((6, 3)), np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3))
    omega, alpha = spins[0], spins[2]
    symmetric = j2 == j3 and cy == 0.0 and cz == 0.0
    for i in range(3):
        x = POINTS[i]
        f = WEIGHTS[i] * length
        g = section_axes(X, i, symmetric, t, m, n)
        at_point(i, v, ud)
        at_point(i, x2, udd)
        along, along2, speed2 = tangent_rates(t, g, ud, udd, td, tdd)
        spin, spin_rate, num_rate, den_rate = swing_spin(t, td, tdd, omega, alpha)
        d = 1.0 / (1.0 + t[0])
        cross(t, td, b)
        wt = spin + x * twist_rate
        wt_rate = spin_rate + x * twist_second
        wm, wn = -dot(n, td), dot(m, td)
        wm_rate = wt * wn - dot(n, tdd)
        wn_rate = -wt * wm + dot(m, tdd)
        mt = f * (j1 * wt_rate + (j3 - j2) * wm * wn)
        mm = f * (j2 * wm_rate + (j1 - j3) * wt * wn)
        mn = f * (j3 * wn_rate + (j2 - j1) * wt * wm)
        if beside is not None:
            s[0, 0], s[0, 1], s[0, 2] = wt, wm, wn
            s[1, 0], s[1, 1], s[1, 2] = wt_rate, wm_rate, wn_rate
            s[2, 0], s[2, 1], s[2, 2] = mt, mm, mn
            offset_force(i, f * mass, cy, cz, axes, s[0], s[1], x2, at, F, s[2])
            mt, mm, mn = s[2, 0], s[2, 1], s[2, 2]
        # the force on r' is P / g
        for o in range(3):
            P[o] = mn * m[o] - mm * n[o]
        P[1] += mt * d * t[2]
        P[2] -= mt * d * t[1]
        for k in range(count):
            at_point(i, dx[k], du)
            at_point(i, dv[k], dud)
            at_point(i, dx2[k], dudd)
            domega, dalpha = dspins[k, 0], dspins[k, 2]
            # the tangent and its rates
            dg = dot(t, du)
            for o in range(3):
                dt[o] = (du[o] - dg * t[o]) / g
            dalong = dot(dt, ud) + dot(t, dud)
            for o in range(3):
                dtd[o] = (dud[o] - dalong * t[o] - along * dt[o] - dg * td[o]) / g
            dalong2 = dot(dt, udd) + dot(t, dudd)
            dspeed2 = 2.0 * dot(td, dtd)
            for o in range(3):
                dtdd[o] = dudd[o] - dalong2 * t[o] - along2 * dt[o] - 2.0 * (dalong * td[o] + along * dtd[o])
                dtdd[o] = (dtdd[o] - dg * (tdd[o] + speed2 * t[o])) / g - dspeed2 * t[o] - speed2 * dt[o]
            # the other axes swing with the tangent and turn about it
            turning = (t[2] * dt[1] - t[1] * dt[2]) * d
            if not symmetric:
                turning += x * dtwist[k, 0]
            m_dt, n_dt = dot(m, dt), dot(n, dt)
            for o in range(3):
                dm[o] = turning * n[o] - m_dt * t[o]
                dn[o] = -turning * m[o] - n_dt * t[o]
            # spin about the tangent
            dd = -d * d * dt[0]
            dnum = domega[0] + dot(domega, t) + dot(omega, dt)
            dnum += dt[2] * td[1] + t[2] * dtd[1] - dt[1] * td[2] - t[1] * dtd[2]
            dspin = dnum * d - spin * d * dt[0]
            dnum_rate = dalpha[0] + dot(dalpha, t) + dot(alpha, dt) + dot(domega, td) + dot(omega, dtd)
            dnum_rate += dt[2] * tdd[1] + t[2] * dtdd[1] - dt[1] * tdd[2] - t[1] * dtdd[2]
            dnum_rate += domega[1] * b[2] - domega[2] * b[1]
            dnum_rate += omega[1] * (dt[0] * td[1] - dt[1] * td[0] + t[0] * dtd[1] - t[1] * dtd[0])
            dnum_rate -= omega[2] * (dt[2] * td[0] - dt[0] * td[2] + t[2] * dtd[0] - t[0] * dtd[2])
            dden_rate = domega[2] * t[1] - domega[1] * t[2] + omega[2] * dt[1] - omega[1] * dt[2] + dtd[0]
            dspin_rate = (dnum_rate - dspin * den_rate - spin * dden_rate) * d + (num_rate - spin * den_rate) * dd
            dwt = dspin + x * dtwist[k, 1]
            dwt_rate = dspin_rate + x * dtwist[k, 2]
            # spin about the other axes
            dwm = -dot(dn, td) - dot(n, dtd)
            dwn = dot(dm, td) + dot(m, dtd)
            dwm_rate = dwt * wn + wt * dwn - dot(dn, tdd) - dot(n, dtdd)
            dwn_rate = -dwt * wm - wt * dwm + dot(dm, tdd) + dot(m, dtdd)
            # moments, and the force on r'
            dmt = f * (j1 * dwt_rate + (j3 - j2) * (dwm * wn + wm * dwn))
            dmm = f * (j2 * dwm_rate + (j1 - j3) * (dwt * wn + wt * dwn))
            dmn = f * (j3 * dwn_rate + (j2 - j1) * (dwt * wm + wt * dwm))
            if beside is not None:
                s[3, 0], s[3, 1], s[3, 2] = dwt, dwm, dwn
                s[4, 0], s[4, 1], s[4, 2] = dwt_rate, dwm_rate, dwn_rate
                s[5, 0], s[5, 1], s[5, 2] = dmt, dmm, dmn
                offset_force_change(
                    i, f * mass, cy, cz, axes, s[0], s[1], at, daxes, s[3], s[4], dx2[k], dat, dF[k], s[5]
                )
                dmt, dmm, dmn = s[5, 0], s[5, 1], s[5, 2]
            moment, dmoment = mt * d, dmt * d + mt * dd
            for o in range(3):
                p = dmn * m[o] + mn * dm[o] - dmm * n[o] - mm * dn[o] - dg * P[o] / g
                if o == 1:
                    p += dmoment * t[2] + moment * dt[2]
                elif o == 2:
                    p -= dmoment * t[1] + moment * dt[1]
                p /= g
                dF[k, 0, o] -= HERMITE[i, 1] * p
                dF[k, 1, o] += HERMITE[i, 0] * p
                dF[k, 2, o] += HERMITE[i, 1] * p
                dF[k, 3, o] += HERMITE[i, 2] * p
                dM1[k, o] += dmoment * t[o] + moment * dt[o]
            dM1[k, 0] += dmoment
            dforce[k] += x * dmt


@kernel
def inertia_tangent(Q, beta, gamma, length, s1, s2, F, dF, dM1, dforce, K, C):  # type: ignore[no-untyped-def]
    """K, C (14, 14) += the changes of the inertia force on the ends, from those of ``inertia_changes``.

    The turning of the directions in which the force conjugate to alpha acts is left to ``geometric_stiffness``.
    """
    column, own, down, turned, e = np.empty(14), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    turn_back(Q, F[3], own)  # force on g_II, axes of end II
    for k in range(dF.shape[0]):
        d1, d2 = 0.0, 0.0
        e[:] = 0.0
        if 3 <= k < 6:
            # forces on r and g_II, constant in these axes, turn with them
            e[k - 3] = 1.0
            for o in (0, 2, 3):
                cross(e, F[o], turned)
                for i in range(3):
                    dF[k, o, i] += turned[i]
        elif k == 6:
            d1 = length
        elif k == 10:
            d2 = length
        turn_back(Q, dF[k, 3], down)
        if 7 <= k < 10:
            e[k - 7] = 1.0
            cross(own, e, turned)
            for i in range(3):
                down[i] += turned[i]
        for i in range(3):
            column[i] = dF[k, 0, i]
            column[7 + i] = dF[k, 2, i]
            column[3 + i] = dM1[k, i] - dforce[k] * beta[i]
            column[10 + i] = dforce[k] * gamma[i]
        # moment s e1 x G and strain force length e1 . G of a force G on g = s e1
        column[4] -= s1 * dF[k, 1, 2] + d1 * F[1, 2]
        column[5] += s1 * dF[k, 1, 1] + d1 * F[1, 1]
        column[6] = length * dF[k, 1, 0]
        column[11] -= s2 * down[2] + d2 * own[2]
        column[12] += s2 * down[1] + d2 * own[1]
        column[13] = length * down[0]
        direction = k if k < ENDS else k - ENDS
        A = K if k < ENDS else C
        for i in range(14):
            if direction < 3:
                A[i, direction] -= column[i]
                A[i, 7 + direction] += column[i]
            else:
                A[i, direction if direction < 7 else direction + 3] += column[i]


# Ends off their frames


@kernel
def add_arm(A, B, R, Rn, end, arm, sign):  # type: ignore[no-untyped-def]
    """A (14, 14) += B times sign * (R1^T Rn arm~) in the rows of an end's translation and the columns of its spin."""
    P, o = np.empty((3, 3)), 7 * end
    for i in range(3):
        a = R[0, i] * Rn[0, 0] + R[1, i] * Rn[1, 0] + R[2, i] * Rn[2, 0]
        b = R[0, i] * Rn[0, 1] + R[1, i] * Rn[1, 1] + R[2, i] * Rn[2, 1]
        c = R[0, i] * Rn[0, 2] + R[1, i] * Rn[1, 2] + R[2, i] * Rn[2, 2]
        P[i, 0] = sign * (b * arm[2] - c * arm[1])
        P[i, 1] = sign * (c * arm[0] - a * arm[2])
        P[i, 2] = sign * (a * arm[1] - b * arm[0])
    for i in range(14):
        for j in range(3):
            A[i, o + 3 + j] += B[i, o] * P[0, j] + B[i, o + 1] * P[1, j] + B[i, o + 2] * P[2, j]


@kernel
def frame_matrix(R, ends, T):  # type: ignore[no-untyped-def]
    """T (14, 14): end velocities in the axes of the first section by the velocities of the frames."""
    T[:] = 0.0
    for end in range(2):
        o = 7 * end
        for i in range(3):
            for j in range(3):
                T[o + i, o + j] = R[1, j, i]
        if ends[end, 0] == 0.0:
            for i in range(3):
                T[o + 3 + i, o + 3 + i] = 1.0
        else:
            d1, d2, d3 = ends[end, 1], ends[end, 2], ends[end, 3]
            for i in range(3):
                # row i of R1^T Rn, then - (R1^T Rn) d~
                a = R[1, 0, i] * R[2 * end, 0, 0] + R[1, 1, i] * R[2 * end, 1, 0] + R[1, 2, i] * R[2 * end, 2, 0]
                b = R[1, 0, i] * R[2 * end, 0, 1] + R[1, 1, i] * R[2 * end, 1, 1] + R[1, 2, i] * R[2 * end, 2, 1]
                c = R[1, 0, i] * R[2 * end, 0, 2] + R[1, 1, i] * R[2 * end, 1, 2] + R[1, 2, i] * R[2 * end, 2, 2]
                T[o + i, o + 3] = c * d2 - b * d3
                T[o + i, o + 4] = a * d3 - c * d1
                T[o + i, o + 5] = b * d1 - a * d2
                for j in range(3):
                    T[o + 3 + i, o + 3 + j] = ends[end, 4 + 3 * j + i]
        T[o + 6, o + 6] = 1.0


@kernel
def attached_tangent(index, ends, R, v, a, T, f, M, C, K):  # type: ignore[no-untyped-def]
    """Turn K, C (14, 14) by the ends' motion, axes of the first section, into those by the frames' motion.

    M (14, 14) : mass by the ends' motion. f (14,) : residual force on the ends. T : ``frame_matrix``.
    A frame that turns by theta moves the velocity R (omega x d) of its end and the acceleration
    R (alpha x d + omega x (omega x d)); its angular velocity changes the latter too.
    """
    KF, CF = np.zeros((14, 14)), np.zeros((14, 14))
    for i in range(14):
        for j in range(14):
            for k in range(14):
                KF[i, j] += K[i, k] * T[k, j]
                CF[i, j] += C[i, k] * T[k, j]
    speed, centripetal, arm = np.empty(3), np.empty(3), np.empty(3)
    one = np.empty((3, 3))
    for end in range(2):
        j = index[2 + end]
        if ends[end, 0] == 0.0 or j < 0:
            continue
        d, omega = ends[end, 1:4], v[j + 3 : j + 6]
        Rn = R[2 * end]
        cross(omega, d, speed)
        cross(omega, speed, centripetal)
        cross(a[j + 3 : j + 6], d, arm)
        for i in range(3):
            arm[i] += centripetal[i]
        add_arm(KF, C, R[1], Rn, end, speed, -1.0)
        add_arm(KF, M, R[1], Rn, end, arm, -1.0)
        # the change of omega x (omega x d) with omega: -(omega x d)~ - omega~ d~, and omega~ d~ = d omega^T - (..) I
        add_arm(CF, M, R[1], Rn, end, speed, -1.0)
        wd = dot(omega, d)
        for i in range(3):
            for k in range(3):
                one[i, k] = 0.0
                for m in range(3):
                    direct = d[m] * omega[k] - (wd if m == k else 0.0)
                    one[i, k] -= (Rn[0, m] * R[1, 0, i] + Rn[1, m] * R[1, 1, i] + Rn[2, m] * R[1, 2, i]) * direct
        o = 7 * end
        for i in range(14):
            for k in range(3):
                CF[i, o + 3 + k] += M[i, o] * one[0, k] + M[i, o + 1] * one[1, k] + M[i, o + 2] * one[2, k]
    K[:] = 0.0
    C[:] = 0.0
    for i in range(14):
        for j in range(14):
            for k in range(14):
                K[i, j] += T[k, i] * KF[k, j]
                C[i, j] += T[k, i] * CF[k, j]
    attachment_stiffness(f[0:3], f[7:10], ends, R, K)


@kernel
def tangent(index, ends, data, beside, offset, stride, q, v, a, fixed, gravity, damping, stiffness):  # type: ignore[no-untyped-def]
    """Add the exact change of the residual of all elements with v, and with q' = H x, to block data.

    Arrays as in ``beam_kernels``. Returns -1, or the number of an element that is folded.
    """
    R, small, vectors = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty((9, 4, 3))
    X, n, f11, f = np.empty(8), np.empty(8), np.empty(11), np.empty(14)
    e, E, turned, rows = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty(4), np.empty((4, 8))
    S, B, Xd, dXd = np.empty((4, 8, 8)), np.empty((8, 11)), np.empty(8), np.empty((8, 11))
    K11, C11 = np.empty((11, 11)), np.empty((11, 11))
    K, C, M, T = np.empty((4, 14, 14))
    none = np.zeros((2, 3, 3))  # no end of the element is attached off its frame
    G = np.empty((2, 3, 3))
    x, spins, eps_rates = np.empty((4, 3)), np.empty((4, 3)), np.empty(2)
    changes, dl, dtwist = np.empty((5, ALL, 4, 3)), np.empty((ALL, 3)), np.empty((ALL, 3))
    dx, dv, dx2, dspins, dF = changes[0], changes[1], changes[2], changes[3], changes[4]
    dM1, dforce = np.empty((ALL, 3)), np.empty(ALL)
    t, m, axes = np.empty(3), np.empty(3), np.empty((3, 3))
    spin_rows = np.empty((3, 11))
    for k in range(index.shape[0]):
        ok = element_force(
            index[k], ends[k], data[k], beside, q, v, a, fixed, gravity, TRUE, TRUE,
            R, small, vectors, X, n, f11, e, E, turned, rows, f,
        )  # fmt: skip
        if not ok:
            return k
        Q, length = R[4], data[k, LENGTH]
        omega1, omega2, alpha1, alpha2 = small[4], small[5], small[8], small[9]
        beta, gamma = small[10], small[11]
        rates, seconds, F = vectors[0], vectors[1], vectors[2]
        s1, s2 = X[3], length * (1.0 + q[index[k, 5]])
        eps_rates[0], eps_rates[1] = v[index[k, 6]], v[index[k, 7]]
        for i in range(3):
            x[0, i], x[1, i], x[2, i], x[3, i] = 0.0, s1 if i == 0 else 0.0, X[i], X[4 + i]
        spins[0], spins[2] = omega1, alpha1
        turn(Q, omega2, spins[1])
        turn(Q, alpha2, spins[3])
        twist_rate, twist_second = twist_rates(Q, beta, omega1, spins[1], alpha1, spins[3])
        # changes along all directions
        changes[:] = 0.0
        dl[:] = 0.0
        dtwist[:] = 0.0
        dM1[:] = 0.0
        dforce[:] = 0.0
        motion_changes(
            Q, length, s1, s2, eps_rates, omega1, omega2, alpha1, alpha2, x, rates, seconds, spins,
            dx, dv, dx2, dspins, dl,
        )  # fmt: skip
        twist_changes(Q, beta, gamma, spins, dspins, dl, dtwist)
        # elastic and damping force
        shape_gradient(X, Q, beta, gamma, length, B)
        for i in range(3):
            f11[i] = rates[2, i] - rates[0, i]
            f11[3 + i], f11[7 + i] = omega1[i], omega2[i]
        f11[6], f11[10] = eps_rates[0], eps_rates[1]
        for i in range(8):
            Xd[i] = 0.0
            for j in range(11):
                Xd[i] += B[i, j] * f11[j]
        dXd[:] = 0.0
        for j in range(ENDS):
            # rates d' = v_II - v_I + d x omega_I, G' likewise
            cross(dx[j, 2], omega1, t)
            cross(dx[j, 3], omega1, m)
            for i in range(3):
                dXd[i, j] = dv[j, 2, i] - dv[j, 0, i] + t[i]
                dXd[4 + i, j] = dv[j, 3, i] + m[i]
            dXd[7, j] = dtwist[j, 1]
        twist_hessian(X, S)
        K11[:] = 0.0
        C11[:] = 0.0
        strain_stiffness(X, data[k], B, turned, rows, S, e, E, Xd, dXd, K11, C11)
        geometric_stiffness(X, Q, beta, gamma, length, n, K11)
        K[:] = 0.0
        C[:] = 0.0
        expand(K11, K)
        expand(C11, C)
        # inertia force
        inertia_changes(
            X, data[k], beside, spins, twist_rate, twist_second, rates, seconds,
            dx, dv, dx2, dspins, dtwist, dF, dM1, dforce,
        )  # fmt: skip
        inertia_tangent(Q, beta, gamma, length, s1, s2, F, dF, dM1, dforce, K, C)
        # from the ends to the frames
        if ends[k, 0, 0] != 0.0 or ends[k, 1, 0] != 0.0:
            element_mass(X, Q, beta, gamma, s2, data[k], beside, axes, spin_rows, K11, G, M)
            frame_matrix(R, ends[k], T)
            attached_tangent(index[k], ends[k], R, v, a, T, f, M, C, K)
        else:
            to_frames(K, R[1], none, ends[k])
            to_frames(C, R[1], none, ends[k])
        scatter_ends(C, offset[k], stride[k], damping)
        scatter_ends(K, offset[k], stride[k], stiffness)
    return -1
