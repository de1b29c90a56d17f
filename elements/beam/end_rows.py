"""Rows of parameters of the ends of beam elements: the poses of their sections in the frames of the nodes."""

from collections.abc import Sequence

import numpy as np

from femb.base.types import Floats
from femb.elements.beam.shape import IDENTITY
from femb.layout.layout import BeamLayout
from femb.numerics.rotations import multiply, rotation_matrix

# The first columns of the offset, of the section axes and of the quaternion.
OFFSET, AXES, QUATERNION = 1, 4, 13


def end_rows(beams: Sequence[BeamLayout], corners: Floats) -> Floats:
    """(e, 2, 17) of both ends of every element of beams: 1 if it has an offset or a rotation, offset (3) in the frame,
    section axes (9) in it and their quaternion (4).

    corners (e, 4) : rotation from the first node's section to the element's.
    """
    nodes = [station for beam in beams for station in beam.stations]
    offsets = np.array([station.offset for station in nodes])
    quaternions = np.array([station.rotation for station in nodes])
    # every node but the last of each beam is the first of an element
    begins = np.ones(len(nodes), dtype=bool)
    begins[np.cumsum([len(beam.stations) for beam in beams]) - 1] = False
    pairs = np.flatnonzero(begins)[:, None] + (0, 1)
    rows = np.zeros((len(pairs), 2, QUATERNION + 4))
    rows[..., OFFSET:AXES], rotation = offsets[pairs], quaternions[pairs]
    bent = np.any(corners != IDENTITY, axis=1)
    if bent.any():
        rotation[bent, 0] = multiply(rotation[bent, 0], corners[bent])
    rows[..., QUATERNION:] = rotation
    rows[..., AXES:QUATERNION] = np.eye(3).ravel()
    turned = np.any(rotation != IDENTITY, axis=-1)
    if turned.any():
        rows[turned, AXES:QUATERNION] = rotation_matrix(rotation[turned]).reshape(-1, 9)
    rows[..., 0] = turned | np.any(rows[..., OFFSET:AXES] != 0.0, axis=-1)
    return rows
