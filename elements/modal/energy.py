"""Kernel: energies and momenta of a flexible body; equation (13)."""

import numpy as np

from femb.elements.modal.columns import MASS, OMEGA, RATE, STIFFNESS, R
from femb.elements.modal.inertia import C_RATE, CJ, S_RATE, SJ, WIDTH, J, S, moments
from femb.elements.modal.motion import measured, station_motion
from femb.elements.modal.small_matrices import six_times
from femb.numerics.compile import kernel
from femb.numerics.vector3 import cross, dot, rotate, rotate_back


@kernel
def energy_momentum(index, stations, rests, rigid, linear, pairs, quad, psi2, q, v, fixed, gravity, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the inertial origin.

    Returns 0, or the number of an interface whose rotation relative to the root has reached half a turn.
    """
    k, n, measures = stations.shape[0], linear.shape[0], psi2.shape[1]
    frames, axes, turns = np.empty((k, 3, 3)), np.empty((k, 3, 3)), np.empty((k, 3, 3))
    motion, relative = np.empty((k, 8, 3)), np.empty((k, 9, 3))
    x, eta, body, each = np.empty((3, measures)), np.empty((3, n)), np.empty((8, 6)), np.empty((n, WIDTH))
    w = np.empty((8, 3))
    m = rigid[0]
    for state in range(q.shape[0]):
        # accelerations are not used: rates take their place
        station_motion(index, stations, rests, q[state], v[state], v[state], fixed, frames, axes, motion)
        bad = measured(
            index, stations, rests, axes, motion, q[state], v[state], v[state], psi2, relative, turns, x, eta
        )
        if bad > 0:
            return bad
        moments(rigid, linear, quad, eta, body, each)
        omega, velocity, p, h, s = motion[0, OMEGA], w[0], w[1], w[2], body[S, :3]
        rotate_back(axes[0], motion[0, RATE], velocity)
        cross(omega, s, w[3])
        cross(s, velocity, w[4])
        six_times(body[J], omega, w[5])
        for o in range(3):
            p[o] = m * velocity[o] + w[3, o] + body[S_RATE, o]
            h[o] = w[4, o] + w[5, o] + body[C_RATE, o]
        kinetic, potential = dot(velocity, p) + dot(omega, h), 0.0
        for i in range(n):
            rate, pull = dot(each[i, SJ : SJ + 3], velocity) + dot(each[i, CJ : CJ + 3], omega), 0.0
            for j in range(n):
                rate += pairs[MASS, i, j] * eta[1, j]
                pull += pairs[STIFFNESS, i, j] * eta[0, j]
            kinetic += rate * eta[1, i]
            potential += 0.5 * pull * eta[0, i]
        rotate(axes[0], s, w[3])
        rotate(axes[0], p, w[4])
        rotate(axes[0], h, w[5])
        cross(motion[0, R], w[4], w[6])
        out[state, 0] += 0.5 * kinetic
        out[state, 1] += potential - m * dot(gravity, motion[0, R]) - dot(gravity, w[3])
        for o in range(3):
            out[state, 2 + o] += w[4, o]
            out[state, 5 + o] += w[5, o] + w[6, o]
    return 0


@kernel
def coordinates(index, stations, rests, psi2, q, v, a, fixed, out):
    """out (s, 3, N) = the coordinates that move the mass, their rates and second rates.

    Returns 0, or the number of an interface whose rotation relative to the root has reached half a turn.
    """
    k, n = stations.shape[0], psi2.shape[1]
    frames, axes, turns = np.empty((k, 3, 3)), np.empty((k, 3, 3)), np.empty((k, 3, 3))
    motion, relative, x = np.empty((k, 8, 3)), np.empty((k, 9, 3)), np.empty((3, n))
    for state in range(q.shape[0]):
        station_motion(index, stations, rests, q[state], v[state], a[state], fixed, frames, axes, motion)
        bad = measured(
            index, stations, rests, axes, motion, q[state], v[state], a[state], psi2, relative, turns, x, out[state]
        )
        if bad > 0:
            return bad
    return 0
