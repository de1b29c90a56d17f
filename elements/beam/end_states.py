"""Coordinates of the ends of one beam element, or gathered for a group of LANES; arguments as in ``columns``.

states (2, 8) : position and quaternion of the frame of each end, and the strain of the end. rates (2, 7) : their rates,
or second rates: velocity, angular velocity and strain rate.
"""

from femb.numerics.compile import inlined
from femb.numerics.lanes import LANES


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
