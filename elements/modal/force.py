"""Kernel: the force of a flexible body on the frames of its interfaces and on its modes; equations (9) to (23)."""

import numpy as np

from femb.elements.modal.columns import (
    ACC,
    ALPHA,
    AT_REST,
    IN_FRAME,
    OFF,
    OFFSET,
    OMEGA,
    THETA,
    X,
)  # fmt: skip
from femb.elements.modal.inertia import WIDTH, inner_force, moments
from femb.elements.modal.motion import bent_coordinate, measured, station_motion, times_inverse_back
from femb.numerics.compiler.compile import inlined, kernel_with_entry
from femb.numerics.vector3 import IN_V, add_point_force, cross, rotate, rotate_back


@kernel_with_entry
def forces(
    index,
    stations,
    rests,
    rigid,
    linear,
    pairs,
    quad,
    psi2,
    q,
    v,
    a,
    fixed,
    gravity,
    inertial,
    elastic,
    damped,
    sign,
    out,
):
    """out (s, n_v) += sign times the residual, with factors of its terms of inertia, elasticity and damping.

    Returns -1, or the number of an interface whose rotation relative to the root has reached half a turn.
    """
    k, n, size = stations.shape[0], psi2.shape[1], linear.shape[0]
    frames, axes, turns = np.empty((k, 3, 3)), np.empty((k, 3, 3)), np.empty((k, 3, 3))
    motion, relative, at_stations = np.empty((k, 8, 3)), np.empty((k, 9, 3)), np.empty((k, 2, 3))
    x, eta, body, each = np.empty((3, n)), np.empty((3, size)), np.empty((8, 6)), np.empty((size, WIDTH))
    work, wrench, N, f, acc = np.empty((6, 3)), np.empty((2, 3)), np.empty(size), np.empty(n), np.empty(3)
    for state in range(q.shape[0]):
        station_motion(index, stations, rests, q[state], v[state], a[state], fixed, frames, axes, motion)
        bad = measured(
            index, stations, rests, axes, motion, q[state], v[state], a[state], psi2, relative, turns, x, eta
        )
        if bad > 0:
            return bad
        moments(rigid, linear, quad, eta, body, each)
        less_gravity(axes[0], motion[0, ACC], gravity, work[0], acc)
        omega, alpha = motion[0, OMEGA], motion[0, ALPHA]
        inner_force(rigid[0], pairs, eta, body, each, acc, omega, alpha, inertial, elastic, damped, work, wrench, N)
        by_measured(psi2, x, N, f)
        station_forces(rests, axes, relative, turns, wrench, f, work, at_stations)
        for s in range(k):
            j = index[s, IN_V]
            if j >= 0:
                add_to_frame(stations[s], rests[s, IN_FRAME], frames[s], at_stations[s], sign, work, j, out[state])
        j, first = index[k, IN_V], 6 * (k - 1)
        for m in range(n - first):
            out[state, j + m] += sign * f[first + m]
    return -1


@inlined
def less_gravity(axes, acceleration, gravity, work, out):
    """out = R^T (acceleration - gravity)."""
    for o in range(3):
        work[o] = acceleration[o] - gravity[o]
    rotate_back(axes, work, out)


@inlined
def by_measured(psi2, x, N, f):
    """f (n,) on the measured coordinates x from N on those that move the mass, the transpose of equation (29)."""
    n = f.size
    bends = psi2.shape[0] - (N.size - n)
    for j in range(n):
        f[j] = N[j]
    for p in range(psi2.shape[0]):
        on = N[bent_coordinate(p, bends, n)]
        for j in range(n):
            bent = 0.0
            for o in range(n):
                bent += psi2[p, j, o] * x[0, o]
            f[j] -= on * bent


@inlined
def station_forces(rests, axes, relative, turns, wrench, f, work, out):
    """Forces, inertial axes, and torques, axes of the station, at every interface, (k, 2, 3); equation (23)."""
    rotate(axes[0], wrench[0], out[0, 0])
    for o in range(3):
        out[0, 1, o] = wrench[1, o]
    for s in range(1, rests.shape[0]):
        at = 6 * (s - 1)
        force, theta = f[at : at + 3], relative[s, THETA]
        rotate(axes[0], force, out[s, 0])
        cross(relative[s, X], force, work[0])
        times_inverse_back(theta, f[at + 3 : at + 6], work[1])
        rotate(turns[s], work[1], work[2])
        rotate_back(rests[s, AT_REST], work[1], out[s, 1])
        for o in range(3):
            out[0, 0, o] -= out[s, 0, o]
            out[0, 1, o] -= work[0, o] + work[2, o]


@inlined
def add_to_frame(station, turned, frame, at_station, sign, work, j, out):
    """Add the force and torque at a station to those of its frame, out[j : j + 6]."""
    if station[OFF] == 0.0:
        for o in range(3):
            out[j + o] += sign * at_station[0, o]
            out[j + 3 + o] += sign * at_station[1, o]
        return
    rotate_back(frame, at_station[0], work[0])
    add_point_force(sign, at_station[0], work[0], station[OFFSET : OFFSET + 3], j, out)
    rotate(turned, at_station[1], work[1])
    for o in range(3):
        out[j + 3 + o] += sign * work[1, o]
