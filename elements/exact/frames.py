"""Poses and rates of the frames of elements, one by one or gathered for a group of LANES elements."""

from femb.elements.exact.coordinates import FOLDED
from femb.numerics.compile import inlined
from femb.numerics.lanes import LANES


@inlined
def frame_poses(index, q, fixed, poses):
    """poses (2, 7): positions and quaternions of both frames."""
    for e in range(2):
        j = index[e]
        for i in range(7):
            poses[e, i] = q[j + i] if j >= 0 else fixed[-1 - j, i]


@inlined
def frame_rates(index, v, rates):
    """rates (2, 6) of both frames, from velocities or accelerations v."""
    for e in range(2):
        j = index[2 + e]
        for i in range(6):
            rates[e, i] = v[j + i] if j >= 0 else 0.0


@inlined
def gather_poses(index, first, q, fixed, poses):
    """poses (2, 7, LANES) of the frames of the elements from ``first``; the last element fills the lanes left over."""
    for m in range(LANES):
        frame_poses(index[min(first + m, index.shape[0] - 1)], q, fixed, poses[:, :, m])


@inlined
def gather_rates(index, first, v, rates):
    """rates (2, 6, LANES) of the same frames."""
    for m in range(LANES):
        frame_rates(index[min(first + m, index.shape[0] - 1)], v, rates[:, :, m])


@inlined
def folded(first, p, count):
    """The first folded element of the group from ``first``; p (3, 4, LANES) of ``element_coordinates``."""
    for m in range(count):
        if not p[2, 0, m] >= FOLDED:
            return first + m
    return -1
