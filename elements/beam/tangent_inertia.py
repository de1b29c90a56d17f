"""Exact change of a beam element's inertia and gyroscopic force along 22 directions; see ``tangent``.

Source: docs/theory/beam.md.
"""

import numpy as np

from femb.elements.beam.columns import INERTIA, LENGTH, MASS, OFFSET
from femb.elements.beam.inertia import HERMITE_MASS, at_point, section_axes, swing_spin, tangent_rates
from femb.elements.beam.mass_axis import offset_force, offset_force_change
from femb.elements.beam.strain import HERMITE, POINTS, WEIGHTS
from femb.numerics.compile import inlined
from femb.numerics.vector3 import cross, dot, turn, turn_back

END_MOTIONS = 11  # chord (3), spin (3) and strain of end I, spin (3) and strain of end II
DIRECTIONS = 22  # these motions, and the changes of their rates


@inlined
def centreline_changes(length, eps_rate, omega, alpha, s, along, dg, dv, dx2):
    """Changes of g = s e1 and of its rates (see ``centreline_acceleration``) in the axes of its end: row 0 with the
    strain, 1 with the strain rate and 2, 3, 4 with the angular velocity; dg, dv, dx2 (5, 3)."""
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


@inlined
def motion_changes(
    Q, length, s1, s2, eps_rates, omega1, omega2, alpha1, alpha2, x, v, x2, spins, dx, dv, dx2, dspins, dl
):
    """Changes, along the 22 directions, of the vectors on which the inertia force depends.

    x, v, x2 (4, 3) : (r_I, g_I, r_II, g_II) and its rates, changes dx, dv, dx2 (22, 4, 3). spins (4, 3) : angular
    velocities of end I and II, angular accelerations of both, changes dspins (22, 4, 3). dl (22, 3) : of the tangent
    l_II. All changes are zero on entry; of r_I and r_II only the difference is valid. omega, alpha (3,) : end axes.
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
        dv[END_MOTIONS + i, 2, i] = 1.0
        # a rotation of end I: vectors that are constant in inertial axes rotate backwards
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
        # a rotation of end II: vectors that are constant in its axes rotate with it
        k = 7 + i
        rotation_change(Q, e, x[3], dx[k, 3])
        rotation_change(Q, e, v[3], dv[k, 3])
        rotation_change(Q, e, x2[3], dx2[k, 3])
        rotation_change(Q, e, l2, dl[k])
        rotation_change(Q, e, spins[1], dspins[k, 1])
        rotation_change(Q, e, spins[3], dspins[k, 3])
        # angular velocities
        k = END_MOTIONS + 3 + i
        dv[k, 1] = dv1[2 + i]
        dx2[k, 1] = da1[2 + i]
        dspins[k, 0, i] = 1.0
        k = END_MOTIONS + 7 + i
        turn(Q, dv2[2 + i], dv[k, 3])
        turn(Q, da2[2 + i], dx2[k, 3])
        turn(Q, e, dspins[k, 1])
    dx[6, 1] = dg1[0]
    turn(Q, dg2[0], dx[10, 3])
    for o in range(2):
        # strains and strain rates
        dv[END_MOTIONS * o + 6, 1] = dv1[o]
        dx2[END_MOTIONS * o + 6, 1] = da1[o]
        turn(Q, dv2[o], dv[END_MOTIONS * o + 10, 3])
        turn(Q, da2[o], dx2[END_MOTIONS * o + 10, 3])


@inlined
def rotation_change(Q, e, x, out):
    """out = (Q e) x x: change of a vector x of end II, axes of end I, for a rotation of end II about e, its axes."""
    a = Q[0, 0] * e[0] + Q[0, 1] * e[1] + Q[0, 2] * e[2]
    b = Q[1, 0] * e[0] + Q[1, 1] * e[1] + Q[1, 2] * e[2]
    c = Q[2, 0] * e[0] + Q[2, 1] * e[1] + Q[2, 2] * e[2]
    out[0] = b * x[2] - c * x[1]
    out[1] = c * x[0] - a * x[2]
    out[2] = a * x[1] - b * x[0]


@inlined
def twist_changes(Q, beta, gamma, spins, dspins, dl, dtwist):
    """dtwist (22, 3): changes of the twist alpha, its rate and its second rate; arguments as in ``motion_changes``."""
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


@inlined
def inertia_changes(
    X, data, has_mass_offset, spins, twist_rate, twist_second, v, x2, dx, dv, dx2, dspins, dtwist, dF, dM1, dforce
):
    """Changes dF (22, 4, 3), dM1 (22, 3) and dforce (22,) of the results of ``inertia_force``; all zero on entry."""
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
    # for sections with an offset: spin, its rate and the moment, and their changes
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
        if has_mass_offset is not None:
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
            # the y and z axes rotate with the swing and about the tangent
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
            if has_mass_offset is not None:
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


@inlined
def inertia_tangent(Q, beta, gamma, length, s1, s2, F, dF, dM1, dforce, K, C):
    """K, C (14, 14) += the changes of the inertia force on the ends, from those of ``inertia_changes``.

    ``geometric_stiffness`` contains the change of the directions beta, gamma of the force conjugate to alpha.
    """
    column, force2, dforce2, product, e = np.empty(14), np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    turn_back(Q, F[3], force2)  # force on g_II, axes of end II
    for k in range(dF.shape[0]):
        d1, d2 = 0.0, 0.0
        e[:] = 0.0
        if 3 <= k < 6:
            # forces on r and g_II with constant components rotate with these axes
            e[k - 3] = 1.0
            for o in (0, 2, 3):
                cross(e, F[o], product)
                for i in range(3):
                    dF[k, o, i] += product[i]
        elif k == 6:
            d1 = length
        elif k == 10:
            d2 = length
        turn_back(Q, dF[k, 3], dforce2)
        if 7 <= k < 10:
            e[k - 7] = 1.0
            cross(force2, e, product)
            for i in range(3):
                dforce2[i] += product[i]
        for i in range(3):
            column[i] = dF[k, 0, i]
            column[7 + i] = dF[k, 2, i]
            column[3 + i] = dM1[k, i] - dforce[k] * beta[i]
            column[10 + i] = dforce[k] * gamma[i]
        # moment s e1 x G and strain force length e1 . G of a force G on g = s e1
        column[4] -= s1 * dF[k, 1, 2] + d1 * F[1, 2]
        column[5] += s1 * dF[k, 1, 1] + d1 * F[1, 1]
        column[6] = length * dF[k, 1, 0]
        column[11] -= s2 * dforce2[2] + d2 * force2[2]
        column[12] += s2 * dforce2[1] + d2 * force2[1]
        column[13] = length * dforce2[0]
        direction = k if k < END_MOTIONS else k - END_MOTIONS
        A = K if k < END_MOTIONS else C
        for i in range(14):
            if direction < 3:
                A[i, direction] -= column[i]
                A[i, 7 + direction] += column[i]
            else:
                A[i, direction if direction < 7 else direction + 3] += column[i]
