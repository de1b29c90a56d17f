"""The moments of lines of hinges, evaluated together."""

from itertools import pairwise
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.joint.coordinates import JointCoordinates
from femb.elements.joint.force_batch import ELASTIC, REST, CoordinateForceBatch
from femb.elements.joint.records import on_frames
from femb.layout.element import Batch, OutputRows
from femb.layout.layout import JointLayout, Layout
from femb.layout.views import LinearPoint, ModelView, OutputStates

OUTPUTS = ("angle", "rate", "moment")


def lengths_of(layout: Layout, joints: list[JointLayout]) -> Floats:
    """(k,) m of a line at each of its joints: half of the distances to the next ones."""
    steps = np.linalg.norm(np.diff(layout.poses([joint.first for joint in joints])[0], axis=0), axis=1)
    return np.asarray(0.5 * (np.append(steps, 0.0) + np.append(0.0, steps)))


class HingeBatch(CoordinateForceBatch):
    """The moments of all lines of hinges."""

    def __init__(self, items: list[Any], layout: Layout, model: ModelView) -> None:
        joints = [layout.hinges[item.name] for item in items]
        coordinates = JointCoordinates(layout, [joint for line in joints for joint in line])
        super().__init__(items, coordinates, np.zeros(0, dtype=np.int64), ())
        ends = np.cumsum([0, *map(len, joints)]).tolist()
        self.parts = [slice(a, b) for a, b in pairwise(ends)]
        self.lengths = np.concatenate([lengths_of(layout, line) for line in joints])
        owner = np.repeat(np.arange(len(items)), list(map(len, joints)))
        rows = np.array([[x.stiffness, x.damping, x.free] for x in items])[owner]
        rows[:, :2] *= self.lengths[:, None]
        self.data[:, :3] = rows  # of the law SPRING

    def linear_outputs(self) -> dict[str, tuple[str, ...]]:
        return {f"{item.table}.{item.name}": OUTPUTS for item in self.items}

    def output_rows(self, point: LinearPoint, item: str, quantity: str) -> OutputRows:
        """The rows of the angles of a line at its nodes, of their rates, or of the moments per length."""
        part = next(p for each, p in zip(self.items, self.parts, strict=True) if f"{each.table}.{each.name}" == item)
        joints = point.system.layout.hinges[item.partition(".")[2]]
        rows = [self.coordinates.rows(k, point.q, point.v) for k in range(part.start, part.stop)]
        by_angle, by_rate = (
            np.vstack([on_frames(point.system.layout, joint, row[k], point.system.n_v)
                       for joint, row in zip(joints, rows, strict=True)])
            for k in range(2)
        )  # fmt: skip
        names = tuple(str(k) for k in range(len(joints)))
        if quantity == "angle":
            return OutputRows("rad", by_angle, components=names)
        if quantity == "rate":
            return OutputRows("rad/s", by_rate, by_angle, components=names)
        stiffness, damping = ((self.data[part, k] / self.lengths[part])[:, None] for k in (0, 1))
        return OutputRows("N", stiffness * by_angle + damping * by_rate, damping * by_angle, components=names)

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        values, rates, _, L = self.measure(frames.u, frames.q, frames.v)
        moments = (L[..., ELASTIC] + L[..., REST]) / self.lengths
        block = {}
        for item, part in zip(self.items, self.parts, strict=True):
            for word, found in (("angle", values), ("rate", rates), ("moment", moments)):
                block[f"{item.table}/{item.name}/{word}"] = found[:, part]
        return block
