"""Columns of the array arguments of the kernels over beam elements.

The parameters of an element are rows of three arrays:

    index (n, 8) int    index of both frames in q, of both frames in v, of both end strains in q, of both in v;
                        a negative frame index i means row -1-i of ``fixed`` in q and a fixed frame in v
    ends (n, 2, 13)     per end: 1 if it has an offset or a rotation, offset (3) in the frame, section axes (9) in it
    data (n, 37)        length, mass and three inertias per length, damping, 1 for source strains, stiffness (16),
                        offset (2) of the mass axis, reference strains (3 x 4)

``has_mass_offset`` is True if the mass axis of any section has an offset: without one its terms are not evaluated.
Source: docs/theory/beam.md.
"""

import numpy as np

from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.lanes import LANES

LENGTH, MASS, INERTIA, DAMPING, SOURCE, STIFFNESS, OFFSET, REFERENCE = 0, 1, 2, 5, 6, 7, 23, 25
# numba would compile a separate variant of the called kernel for a literal True.
TRUE = np.True_


# Coordinates of the ends of one beam element, or gathered for a group of LANES; arguments as in ``columns``.
#
# states (2, 8) : position and quaternion of the frame of each end, and the strain of the end. rates (2, 7) : their
# rates, or second rates: velocity, angular velocity and strain rate.


@inlined
def end_states(index, q, fixed, states):
    """states (2, 8) of the ends of an element."""
    for e in range(2):
        j = index[e]
        for i in range(7):
            states[e, i] = q[j + i] if j >= 0 else fixed[-1 - j, i]
        states[e, 7] = q[index[4 + e]]


@inlined
def end_rates(index, v, rates):
    """rates (2, 7) of the ends, from velocities or accelerations v; zero for a fixed frame."""
    for e in range(2):
        j = index[2 + e]
        for i in range(6):
            rates[e, i] = v[j + i] if j >= 0 else 0.0
        rates[e, 6] = v[index[6 + e]]


@inlined
def gather_states(index, first, q, fixed, states):
    """states (2, 8, LANES) of the elements from ``first``; the last element fills the lanes left over."""
    for m in range(LANES):
        end_states(index[min(first + m, index.shape[0] - 1)], q, fixed, states[:, :, m])


@inlined
def gather_rates(index, first, v, rates):
    """rates (2, 7, LANES) of the same ends."""
    for m in range(LANES):
        end_rates(index[min(first + m, index.shape[0] - 1)], v, rates[:, :, m])
