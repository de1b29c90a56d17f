"""Strains that Newton's iteration of statics treats as separate unknowns; arguments as in ``columns``.

Source: docs/theory/statics.md, equation (4).
"""

import numpy as np

from femb.elements.beam.columns import LENGTH, REFERENCE, SOURCE
from femb.elements.beam.end_states import end_rates, end_states
from femb.elements.beam.ends import element_shape, ends_motion
from femb.elements.beam.natural import natural_rates
from femb.elements.beam.strain import strains
from femb.numerics.compile import kernel


@kernel
def linearised_strains(index, ends, data, q, x, fixed, out):
    """out (n, 12): strains minus reference at the strain points, plus their change with displacements x (n_v,).

    Returns -1, or the number of a folded element.
    """
    states, rates = np.empty((2, 8)), np.empty((2, 7))
    R, small = np.empty((5, 3, 3)), np.empty((12, 3))
    X, motion, rate = np.empty(8), np.empty(11), np.empty(8)
    e, E, psi, psi_X = np.empty((3, 4)), np.empty((3, 4, 8)), np.empty(4), np.empty((4, 8))
    for k in range(index.shape[0]):
        length = data[k, LENGTH]
        end_states(index[k], q, fixed, states)
        element_shape(states, ends[k], length, R, small, X)
        if not strains(X, length, data[k, SOURCE] != 0.0, psi, psi_X, e, E):
            return k
        end_rates(index[k], x, rates)
        ends_motion(rates, ends[k], R, small, motion)
        natural_rates(X, R[4], small[10], small[11], length, motion, rate)
        for i in range(3):
            for j in range(4):
                value = e[i, j] - data[k, REFERENCE + 4 * i + j]
                for m in range(8):
                    value += E[i, j, m] * rate[m]
                out[k, 4 * i + j] = value
    return -1
