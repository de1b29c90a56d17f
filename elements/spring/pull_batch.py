"""Pulls along lines between points, evaluated together."""

from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import frame_places
from femb.elements.spring.batch import SpringBatch
from femb.elements.spring.end import SHORTEST
from femb.layout.element import Input, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.singularity import Posture


class PullBatch(SpringBatch):
    """Springs without stiffness, whose callable force (see ``spring_kernels``) is a function of time alone."""

    table = "loads"

    def __init__(self, pulls: list[Any], layout: Layout) -> None:
        index, data, inputs, postures = [], [], [], []
        self.names = [pull.name for pull in pulls]
        for k, pull in enumerate(pulls):
            ends = [layout.station(each) for each in (pull.start, pull.end)]
            index.append([*(place for end in ends for place in frame_places(layout, end.frame)), 3 * k, 3])
            data.append([*ends[0].offset, *ends[1].offset, 0.0, 0.0, 0.0])
            inputs.append(_input(pull))
            postures.append(_meeting(pull, float(np.linalg.norm(layout.pose(ends[1])[0] - layout.pose(ends[0])[0]))))
        self.inputs, self.postures = tuple(inputs), tuple(postures)
        self.index = self.local_index = np.array(index, dtype=np.int64)
        self.data: Floats = np.array(data, dtype=float)
        self.fixed = layout.fixed
        self._watched: Ints = np.arange(len(pulls))


def _input(pull: Any) -> Input:
    breakpoints = breakpoints_of(pull.profile)
    return Input(
        3, lambda t: (pull.force * pull.profile(t), 0.0, 0.0), breakpoints=breakpoints, label=f"loads.{pull.name}"
    )


def _meeting(pull: Any, length: float) -> Posture:
    where = "its two ends meet, where its force has no direction,"
    return Posture(SHORTEST * length, f"loads.{pull.name}", where, "length", "end the pull before they meet")
