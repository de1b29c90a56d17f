"""Exact change of a beam element's inertia and gyroscopic force along 22 directions; see ``tangent``.

Source: docs/theory/beam.md.
"""

import numpy as np

from femb.elements.beam.columns import INERTIA, LENGTH, MASS, OFFSET
from femb.elements.beam.inertia import HERMITE_MASS, at_point, section_axes, swing_spin, tangent_rates
from femb.elements.beam.mass_axis import offset_force, offset_force_change
from femb.elements.beam.strain import HERMITE, POINTS, WEIGHTS
from femb.elements.beam.tangent_motion import END_MOTIONS
from femb.numerics.compile import inlined
from femb.numerics.vector3 import cross, dot, rotate_back


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
    axes, daxes, w = np.empty((3, 3)), np.empty((3, 3)), np.empty((12, 3))
    t, m, n, dt, dm, dn = axes[0], axes[1], axes[2], daxes[0], daxes[1], daxes[2]
    ud, udd, td, tdd, P, b = w[0], w[1], w[2], w[3], w[4], w[5]
    du, dud, dudd, dtd, dtdd, p = w[6], w[7], w[8], w[9], w[10], w[11]
    # for sections with an offset: spin, its rate and the moment, and their changes
    s, ds = np.empty((3, 3)), np.empty((3, 3))
    at, dat, F = np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3))
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
        if has_mass_offset:
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
            for o in range(3):
                dtdd[o] = dudd[o] - dalong2 * t[o] - along2 * dt[o] - 2.0 * (dalong * td[o] + along * dtd[o])
                # without the part along t, which no term below sees
                dtdd[o] = (dtdd[o] - dg * (tdd[o] + speed2 * t[o])) / g - speed2 * dt[o]
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
            ds[2, 0] = f * (j1 * dwt_rate + (j3 - j2) * (dwm * wn + wm * dwn))
            ds[2, 1] = f * (j2 * dwm_rate + (j1 - j3) * (dwt * wn + wt * dwn))
            ds[2, 2] = f * (j3 * dwn_rate + (j2 - j1) * (dwt * wm + wt * dwm))
            if has_mass_offset:
                ds[0, 0], ds[0, 1], ds[0, 2] = dwt, dwm, dwn
                ds[1, 0], ds[1, 1], ds[1, 2] = dwt_rate, dwm_rate, dwn_rate
                offset_force_change(
                    i, f * mass, cy, cz, axes, s[0], s[1], at, daxes, ds[0], ds[1], dx2[k], dat, dF[k], ds[2]
                )
            dmt, dmm, dmn = ds[2, 0], ds[2, 1], ds[2, 2]
            moment, dmoment = mt * d, dmt * d + mt * dd
            for o in range(3):
                p[o] = dmn * m[o] + mn * dm[o] - dmm * n[o] - mm * dn[o] - dg * P[o] / g
                dM1[k, o] += dmoment * t[o] + moment * dt[o]
            p[1] += dmoment * t[2] + moment * dt[2]
            p[2] -= dmoment * t[1] + moment * dt[1]
            for o in range(3):
                p[o] /= g
                dF[k, 0, o] -= HERMITE[i, 1] * p[o]
                dF[k, 1, o] += HERMITE[i, 0] * p[o]
                dF[k, 2, o] += HERMITE[i, 1] * p[o]
                dF[k, 3, o] += HERMITE[i, 2] * p[o]
            dM1[k, 0] += dmoment
            dforce[k] += x * dmt


@inlined
def inertia_tangent(Q, beta, gamma, length, s1, s2, F, dF, dM1, dforce, column, work, K, C):
    """K, C (14, 14) += the changes of the inertia force on the ends, from those of ``inertia_changes``.

    ``geometric_stiffness`` contains the change of the directions beta, gamma of the force conjugate to alpha.
    column (14,), work (4, 3) : work arrays.
    """
    F2 = work[3]
    rotate_back(Q, F[3], F2)
    for k in range(dF.shape[0]):
        column[:] = 0.0
        for i in range(3):
            column[3 + i] = dM1[k, i] - dforce[k] * beta[i]
            column[10 + i] = dforce[k] * gamma[i]
        add_force_change(k, Q, length, s1, s2, F, F2, dF[k], work, column)
        if k < END_MOTIONS:
            add_column(k, column, K)
        else:
            add_column(k - END_MOTIONS, column, C)


@inlined
def add_force_change(k, Q, length, s1, s2, F, F2, dF, work, column):
    """column (14,) += change, along direction k, of the end forces that follow from forces F (4, 3) on the centreline.

    F2 (3,) : the force on g_II in the axes of end II. dF (4, 3) : changes of the components of F in the axes of the
    first section; the rotation of these axes is added to it. work : (3, 3).
    """
    e, product, dF2 = work[0], work[1], work[2]
    e[:] = 0.0
    if 3 <= k < 6:
        # forces on r and g_II with constant components rotate with these axes
        e[k - 3] = 1.0
        for o in (0, 2, 3):
            cross(e, F[o], product)
            for i in range(3):
                dF[o, i] += product[i]
    rotate_back(Q, dF[3], dF2)
    if 7 <= k < 10:
        e[k - 7] = 1.0
        cross(F2, e, product)
        for i in range(3):
            dF2[i] += product[i]
    d1, d2 = length if k == 6 else 0.0, length if k == 10 else 0.0
    for i in range(3):
        column[i] += dF[0, i]
        column[7 + i] += dF[2, i]
    # moment s e1 x G and strain force length e1 . G of a force G on g = s e1
    column[4] -= s1 * dF[1, 2] + d1 * F[1, 2]
    column[5] += s1 * dF[1, 1] + d1 * F[1, 1]
    column[6] += length * dF[1, 0]
    column[11] -= s2 * dF2[2] + d2 * F2[2]
    column[12] += s2 * dF2[1] + d2 * F2[1]
    column[13] += length * dF2[0]


@inlined
def add_column(k, column, A):
    """A (14, 14) += the change (14,) of the force on the ends along their motion k < 11, in the columns of the ends."""
    for i in range(14):
        if k < 3:
            A[i, k] -= column[i]
            A[i, 7 + k] += column[i]
        else:
            A[i, k if k < 7 else k + 3] += column[i]
