"""Section force and moment in the middle of beam elements, from the equilibrium of both halves.

    F_m = F_1 + int_0^1/2 p dxi,    M_m = M_1 + (r_1 - r_m) x F_1 + int_0^1/2 (r - r_m) x p dxi

and likewise from the other end, of which the mean is taken: it differs by the rotary inertia of the sections. p is the
inertia force of the centreline less its weight, and a uniform density of what else loads the element, which its end
forces tell. Arguments as in ``columns``; vectors have components in the axes of the element's first section.
Source: docs/theory/loads.md, equations (1) and (2).
"""

import numpy as np

from femb.elements.beam.columns import LENGTH, MASS
from femb.elements.beam.end_states import end_rates, end_states
from femb.elements.beam.ends import element_shape, end_accelerations, end_velocities
from femb.elements.beam.inertia import centreline_acceleration
from femb.elements.beam.interpolation import cubics, section_at
from femb.elements.beam.strain import HERMITE, HERMITE_VALUES, twist_angles
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import cross, rotate, rotate_back

# The strain point in the middle of an element.
MIDDLE = 1
# Integrals of the Hermite functions and of their products over the first and the second half of an element.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
_VALUES = [cubics(first + 0.25 * (1.0 + _NODES)) for first in (0.0, 0.5)]
MEANS = np.array([0.25 * _WEIGHTS @ values for values in _VALUES])
PRODUCTS = np.array([(0.25 * _WEIGHTS * values.T) @ values for values in _VALUES])


@inlined
def half_integrals(half, x, x2, middle, mass, rest, work, force, torque):
    """force and torque (3,): integrals over half 0 or 1 of p, and of (r - middle) x p.

    x, x2 (4, 3) : positions and centreline derivatives of the ends, and their accelerations less gravity. rest (3,) :
    the uniform part of p. work (2, 3).
    """
    mean = work[0]
    for i in range(3):
        mean[i] = -0.5 * middle[i]
        force[i] = 0.5 * rest[i]
        for j in range(4):
            mean[i] += MEANS[half, j] * x[j, i]
            force[i] += mass * MEANS[half, j] * x2[j, i]
    cross(mean, rest, torque)
    for j in range(4):
        for i in range(3):
            mean[i] = -MEANS[half, j] * middle[i]
            for m in range(4):
                mean[i] += PRODUCTS[half, m, j] * x[m, i]
        cross(mean, x2[j], work[1])
        for i in range(3):
            torque[i] += mass * work[1, i]


@kernel
def midpoint_loads(index, ends, data, q, v, a, fixed, gravity, section, out):
    """out (s, n, 6): force and moment in the middle of every element at s states, axes of the section there.

    section (s, n, 2, 6) : those at the ends of the elements, with the loads along them. Returns -1, or the number of a
    folded element.
    """
    states, rates, R = np.empty((2, 8)), np.empty((2, 2, 7)), np.empty((5, 3, 3))
    S = np.empty((3, 3))
    small = np.empty((12, 3))
    x, x2, end_loads, halves, work = (
        np.empty((4, 3)),
        np.empty((4, 3)),
        np.empty((4, 3)),
        np.empty((4, 3)),
        np.empty((2, 3)),
    )
    X, psi, psi_X = np.empty(8), np.empty(4), np.empty((4, 8))
    middle, rest, force, moment = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length, mass = data[k, LENGTH], data[k, LENGTH] * data[k, MASS]
            end_states(index[k], q[s], fixed, states)
            end_rates(index[k], v[s], rates[0])
            end_rates(index[k], a[s], rates[1])
            element_shape(states, ends[k], length, R, small, X)
            if not twist_angles(X, psi, psi_X):
                return k
            section_at(X, HERMITE[MIDDLE, 0], HERMITE[MIDDLE, 1], HERMITE[MIDDLE, 2], psi[MIDDLE], S)
            Q = R[4]
            for i in range(3):
                x[0, i], x[1, i], x[2, i], x[3, i] = 0.0, 0.0, X[i], X[4 + i]
            x[1, 0] = X[3]
            for end in range(2):
                stretched, end_row = length * (1.0 + states[end, 7]), ends[k, end]
                axes, omega, acceleration, alpha = R[2 * end], small[4 + end], small[6 + end], small[8 + end]
                end_velocities(rates[0, end], end_row, axes, small[2 + end], omega)
                end_accelerations(rates[0, end], rates[1, end], end_row, axes, acceleration, alpha)
                for i in range(3):
                    acceleration[i] -= gravity[i]
                rotate_back(R[1], acceleration, x2[2 * end])
                centreline_acceleration(rates[0, end, 6], rates[1, end, 6], omega, alpha, stretched, length, work[0])
                for i in range(3):
                    x2[1 + 2 * end, i] = work[0, i]
                    end_loads[2 * end, i] = section[s, k, end, i]
                    end_loads[1 + 2 * end, i] = section[s, k, end, 3 + i]
            for m in range(2):
                for i in range(3):
                    work[0, i] = end_loads[2 + m, i]
                rotate(Q, work[0], end_loads[2 + m])
            for i in range(3):
                work[0, i] = x2[3, i]
            rotate(Q, work[0], x2[3])
            for i in range(3):
                middle[i] = 0.0
                rest[i] = end_loads[2, i] - end_loads[0, i]
                for j in range(4):
                    middle[i] += HERMITE_VALUES[MIDDLE, j] * x[j, i]
                    rest[i] -= mass * (MEANS[0, j] + MEANS[1, j]) * x2[j, i]
            half_integrals(0, x, x2, middle, mass, rest, work, halves[0], halves[1])
            half_integrals(1, x, x2, middle, mass, rest, work, halves[2], halves[3])
            for i in range(3):
                force[i] = end_loads[0, i] + halves[0, i]
                moment[i] = 0.5 * (end_loads[1, i] + halves[1, i] + end_loads[3, i] - halves[3, i])
            for end in range(2):
                for i in range(3):
                    work[0, i] = x[2 * end, i] - middle[i]
                cross(work[0], end_loads[2 * end], work[1])
                for i in range(3):
                    moment[i] += 0.5 * work[1, i]
            rotate_back(S, force, out[s, k, 0:3])
            rotate_back(S, moment, out[s, k, 3:6])
    return -1
