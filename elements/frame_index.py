"""Index arrays for kernels: positions of frames in q and in v, and of inputs in u."""

from collections.abc import Sequence

import numpy as np

from femb.base.types import Ints
from femb.layout.layout import Layout
from femb.numerics.vector3 import HAS_AXES, IN_V


def frame_indices(layout: Layout, frame: int) -> list[int]:
    """Index of a frame in q and in v, negative if fixed, and 1 if it has axes, else 0."""
    return [int(layout.frame_q[frame]), int(layout.frame_v[frame]), int(layout.frames[frame].freedom != 3)]


def indices_of_frames(layout: Layout, frames: Sequence[int]) -> Ints:
    """(n, 3): ``frame_indices`` of n frames."""
    numbers = np.array(frames, dtype=np.int64)
    result: Ints = np.empty((len(numbers), 3), dtype=np.int64)
    result[:, 0], result[:, 1] = layout.frame_q[numbers], layout.frame_v[numbers]
    result[:, 2] = layout.freedom[numbers] != 3
    return result


def frame_starts(index: Ints, count: int = 2) -> Ints:
    """Indices (n, 2 f) in v of the translation and the rotation of ``count`` frames f, -1 where a frame has none.

    index (n, 3 f or more) : ``frame_indices`` of the first frame, then of the second, and so on.
    """
    starts = []
    for column in range(0, 3 * count, 3):
        first, has_axes = index[:, column + IN_V], index[:, column + HAS_AXES] == 1
        starts += [first, np.where((first >= 0) & has_axes, first + 3, -1)]
    return np.stack(starts, axis=1)


def with_inputs(index: Ints, first_input: int, *columns: int) -> Ints:
    """A copy of ``index`` with input numbers of the batch (-1 for none) in ``columns`` replaced by those in u."""
    result = index.copy()
    for column in columns:
        result[:, column] += np.where(result[:, column] >= 0, first_input, 0)
    return result
