"""Point loads, evaluated together."""

from typing import Any

import numpy as np

from femb.batch import Batch, Input
from femb.elements import load_kernels as kernels
from femb.layout import Layout
from femb.rotations import rotation_matrix
from femb.types import Floats, Ints

POINT, FORCE, TORQUE = 5, 1, 2
FRAME_AXES = 2


class LoadBatch(Batch):
    """Forces and torques at stations, each an input times a direction or three inputs of a callable."""

    def __init__(self, loads: list[Any], layout: Layout) -> None:
        index, data, inputs = [], [], []
        width = 0
        for load in loads:
            station = layout.station(load.on)
            frame = layout.frames[station.frame]
            for word, value, kind in (("force", load.force, FORCE), ("torque", load.torque, TORQUE)):
                if value is None:
                    continue
                label = f"loads.{load.name}.{word}"
                if callable(value):
                    matrix, count = np.eye(3), 3
                    inputs.append(Input(3, value, of_state=True, label=label))
                else:
                    matrix, count = np.zeros((3, 3)), 1
                    matrix[:, 0] = value
                    breakpoints = getattr(load.profile, "breakpoints", ())
                    inputs.append(Input(1, load.profile, breakpoints=breakpoints, label=label))
                if load.frame == "body":
                    # a beam node's own axes, given by the station on the frame
                    matrix = rotation_matrix(station.rotation) @ matrix
                    kind += FRAME_AXES
                if frame.freedom == 3:
                    kind = POINT
                where = (layout.frame_q[station.frame], layout.frame_v[station.frame])
                index.append([*where, width, count, kind])
                data.append([*station.offset, *matrix.ravel()])
                width += count
        self.inputs = tuple(inputs)
        self.local_index: Ints = np.array(index, dtype=np.int64)
        self.data: Floats = np.array(data, dtype=float)

    def couple(self, pattern: Any) -> None:
        self.index = self.local_index.copy()
        self.index[:, 2] += self.first_input
        self.offset, self.stride = pattern.offsets(self.index[:, 1:2])

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        kernels.applied(self.index, self.data, u, q, v, -1.0, out)

    def applied(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        kernels.applied(self.index, self.data, u, q, v, 1.0, out)

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        kernels.stiffness(self.index, self.data, self.offset, self.stride, u, q, stiffness)

    def mass(self, q: Floats, mass: Floats) -> None:
        """Loads have none."""

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        kernels.stiffness(self.index, self.data, self.offset, self.stride, u, q, stiffness)

    def energy_momentum(self, q: Floats, v: Floats, out: Floats) -> None:
        """Loads store no energy: what they do is work."""
