"""Energy and momentum of beam elements; arguments as in ``columns``. Source: docs/theory/beam.md."""

import numpy as np

from femb.elements.beam.columns import INERTIA, LENGTH, MASS, OFFSET, REFERENCE, SOURCE, STIFFNESS
from femb.elements.beam.end_states import end_rates, end_states
from femb.elements.beam.ends import element_shape, ends_motion
from femb.elements.beam.inertia import HERMITE_MASS, HERMITE_MEAN, centreline_rate
from femb.elements.beam.mass import rotary_rows
from femb.elements.beam.mass_axis import offset_energy
from femb.elements.beam.strain import WEIGHTS, strains
from femb.numerics.compile import kernel
from femb.numerics.vector3 import cross, rotate


@kernel
def energy_momentum(index, ends, data, has_mass_offset, q, v, fixed, gravity, out):
    """out (s, 8) += kinetic and potential energy, linear momentum and angular momentum about the inertial origin."""
    states, rates, R = np.empty((2, 8)), np.empty((2, 7)), np.empty((5, 3, 3))
    small, axes, offset_work = np.empty((15, 3)), np.empty((3, 3)), np.empty((6, 3))
    Q, beta, gamma, L, work, w = R[4], small[10], small[11], small[12], small[13], small[14]
    x0, x1 = np.empty((4, 3)), np.empty((4, 3))
    X, f11 = np.empty(8), np.empty(11)
    e, E, psi, psi_X = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty(4), np.empty((4, 8))
    spin = np.empty((3, 11))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            length = data[k, LENGTH]
            end_states(index[k], q[s], fixed, states)
            end_rates(index[k], v[s], rates)
            element_shape(states, ends[k], length, R, small, X)
            if not strains(X, length, data[k, SOURCE] != 0.0, psi, psi_X, e, E):
                return k
            ends_motion(rates, ends[k], R, small, f11)
            potential = 0.0
            for i in range(3):
                for j in range(4):
                    e[i, j] -= data[k, REFERENCE + 4 * i + j]
                for j in range(4):
                    for o in range(4):
                        potential += 0.5 * WEIGHTS[i] * length * e[i, j] * data[k, STIFFNESS + 4 * j + o] * e[i, o]
            # centreline, inertial axes
            for end in range(2):
                stretched = length * (1.0 + states[end, 7])
                centreline_rate(rates[end, 6], small[4 + end], stretched, length, work)
                rotate(R[1 + 2 * end], work, x1[1 + 2 * end])
                for i in range(3):
                    x0[2 * end, i] = small[end, i]
                    x1[2 * end, i] = small[2 + end, i]
                    x0[1 + 2 * end, i] = R[1 + 2 * end, i, 0] * stretched
            mass = data[k, MASS] * length
            kinetic = 0.0
            L[:] = 0.0
            for i in range(4):
                for j in range(4):
                    f = mass * HERMITE_MASS[i, j]
                    cross(x0[i], x1[j], work)
                    for o in range(3):
                        kinetic += 0.5 * f * x1[i, o] * x1[j, o]
                        L[o] += f * work[o]
                for o in range(3):
                    out[s, 2 + o] += mass * HERMITE_MEAN[i] * x1[i, o]
                    potential -= mass * HERMITE_MEAN[i] * x0[i, o] * gravity[o]
            # rotary inertia
            cy, cz = data[k, OFFSET], data[k, OFFSET + 1]
            symmetric = data[k, INERTIA + 1] == data[k, INERTIA + 2] and cy == 0.0 and cz == 0.0
            for i in range(3):
                rotary_rows(X, Q, beta, gamma, length, i, symmetric, axes[0], axes[1], axes[2], spin)
                weight = WEIGHTS[i] * length
                for j in range(3):
                    w[j] = 0.0
                    for o in range(11):
                        w[j] += spin[j, o] * f11[o]
                    f = weight * data[k, INERTIA + j] * w[j]
                    kinetic += 0.5 * f * w[j]
                    for o in range(3):
                        for p in range(3):
                            L[p] += R[1, p, o] * f * axes[j, o]
                if has_mass_offset:
                    mass_i = weight * data[k, MASS]
                    offset_energy(i, mass_i, cy, cz, axes, R[1], w, x0, x1, gravity, offset_work, out[s])
            out[s, 0] += kinetic
            out[s, 1] += potential
            for o in range(3):
                out[s, 5 + o] += L[o]
    return -1
