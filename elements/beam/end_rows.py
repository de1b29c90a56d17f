"""Rows of parameters of the ends of beam elements: the poses of their sections in the frames of the nodes."""

from collections.abc import Sequence

import numpy as np

from femb.base.types import Floats
from femb.elements.beam.shape import IDENTITY
from femb.layout.layout import Station
from femb.numerics.rotations import multiply, rotation_matrix

# The first column of the quaternion.
QUATERNION = 13


def end_rows(stations: Sequence[Station], corners: Floats) -> Floats:
    """(e, 2, 17) of both ends of every element: 1 if it has an offset or a rotation, offset (3) in the frame, section
    axes (9) in it and their quaternion (4).

    stations : the nodes. corners (e, 4) : rotation from the first node's section to the element's.
    """
    offsets = np.array([station.offset for station in stations])
    quaternions = np.array([station.rotation for station in stations])
    first, turned = quaternions[:-1].copy(), np.any(corners != IDENTITY, axis=1)
    first[turned] = multiply(first[turned], corners[turned])
    offset = np.stack([offsets[:-1], offsets[1:]], axis=1)
    rotation = np.stack([first, quaternions[1:]], axis=1)
    has_offset = np.any(offset != 0.0, axis=-1) | np.any(rotation != IDENTITY, axis=-1)
    axes = rotation_matrix(rotation).reshape(-1, 2, 9)
    return np.concatenate([has_offset[..., None], offset, axes, rotation], axis=-1)
