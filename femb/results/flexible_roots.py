"""Flexible bodies between an appendage and its parent: the forces of their interfaces on it, inertia included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats
from femb.layout.layout import Station
from femb.layout.state import station_motion
from femb.numerics import rotations
from femb.results.frames import Frames
from femb.system.appendages import Appendage
from femb.system.system import System

if TYPE_CHECKING:
    from femb.elements.modal.batch import ModalBatch


@dataclass(frozen=True, eq=False)
class FlexibleRoot:
    """A flexible body with interfaces on the parent: their numbers, and the frames that carry them."""

    batch: ModalBatch
    numbers: tuple[int, ...]
    frames: tuple[int, ...]

    def about(self, point: Floats, system: System, frames: Frames) -> tuple[Floats, Floats]:
        """Force and torque (k, 3) on the parent at k output instants, inertial axes, about a point (k, 3) m."""
        layout, motion = system.layout, (frames.q, frames.v, frames.a)
        each = self.batch.interface_forces(*motion)
        for other in system.batches:
            each = each + other.field_part(self.batch, _interface_forces, frames.u, frames.q)
        force, torque = np.zeros_like(point), np.zeros_like(point)
        for number, frame in zip(self.numbers, self.frames, strict=True):
            position, quaternion, _, _ = station_motion(layout, Station(frame), frames.q, frames.v)
            own = each[:, number, :3]
            force = force + own
            torque = torque + rotations.rotate(quaternion, each[:, number, 3:]) + np.cross(position - point, own)
        return force, torque


def _interface_forces(batch: ModalBatch, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
    return batch.interface_forces(q, v, a)


def flexible_roots(system: System, appendage: Appendage, held: set[int]) -> tuple[FlexibleRoot, ...]:
    """The flexible bodies of an appendage with interfaces on held frames."""
    bodies = system.layout.flexible_bodies
    if not bodies:
        return ()
    from femb.elements.modal.batch import ModalBatch

    found = []
    for batch in system.batches:
        if isinstance(batch, ModalBatch) and batch.label in appendage.items:
            stations = bodies[batch.label.partition(".")[2]].stations
            on = [(k, stations[name].frame) for k, name in enumerate(batch.names) if stations[name].frame in held]
            if on:
                found.append(FlexibleRoot(batch, tuple(k for k, _ in on), tuple(frame for _, frame in on)))
    return tuple(found)
