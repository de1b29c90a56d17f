"""Changes, along 22 directions, of the motion on which a beam element's inertia force depends; see ``tangent``.

Source: docs/theory/beam.md.
"""

import numpy as np

from femb.numerics.compile import inlined
from femb.numerics.vector3 import assign, cross, dot, rotate

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
    e, Qe, l2 = np.zeros(3), np.empty(3), np.ascontiguousarray(Q[:, 0])
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
        rotate(Q, e, Qe)
        cross(Qe, x[3], dx[k, 3])
        cross(Qe, v[3], dv[k, 3])
        cross(Qe, x2[3], dx2[k, 3])
        cross(Qe, l2, dl[k])
        cross(Qe, spins[1], dspins[k, 1])
        cross(Qe, spins[3], dspins[k, 3])
        # angular velocities
        k = END_MOTIONS + 3 + i
        assign(dv1[2 + i], dv[k, 1])
        assign(da1[2 + i], dx2[k, 1])
        dspins[k, 0, i] = 1.0
        k = END_MOTIONS + 7 + i
        rotate(Q, dv2[2 + i], dv[k, 3])
        rotate(Q, da2[2 + i], dx2[k, 3])
        assign(Qe, dspins[k, 1])
    assign(dg1[0], dx[6, 1])
    rotate(Q, dg2[0], dx[10, 3])
    for o in range(2):
        # strains and strain rates
        assign(dv1[o], dv[END_MOTIONS * o + 6, 1])
        assign(da1[o], dx2[END_MOTIONS * o + 6, 1])
        rotate(Q, dv2[o], dv[END_MOTIONS * o + 10, 3])
        rotate(Q, da2[o], dx2[END_MOTIONS * o + 10, 3])


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
