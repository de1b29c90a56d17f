"""Index arrays of elements: where their frames are in q and in v, and their inputs in u, as kernels take them."""

import numpy as np

from femb.base.types import Ints
from femb.layout.layout import Layout
from femb.numerics.vector3 import AXES, IN_V


def frame_places(layout: Layout, frame: int) -> list[int]:
    """Where a frame is in q and in v, negative if fixed, and whether it has axes."""
    return [int(layout.frame_q[frame]), int(layout.frame_v[frame]), int(layout.frames[frame].freedom != 3)]


def pair_starts(index: Ints) -> Ints:
    """First velocities (n, 4) of the translation and the rotation of both frames, -1 where there is none.

    index (n, 6 or more) : ``frame_places`` of the first and of the second frame.
    """
    starts = []
    for column in (0, 3):
        place, axes = index[:, column + IN_V], index[:, column + AXES] == 1
        starts += [place, np.where((place >= 0) & axes, place + 3, -1)]
    return np.stack(starts, axis=1)


def with_inputs(index: Ints, first_input: int, *columns: int) -> Ints:
    """A copy of an index whose ``columns`` number inputs of the batch, -1 for none: there they are numbered in u."""
    result = index.copy()
    for column in columns:
        result[:, column] += np.where(result[:, column] >= 0, first_input, 0)
    return result
