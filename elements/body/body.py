"""Base classes of bodies: what all record, and the attitude of those with axes."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group
from femb.base.types import Floats
from femb.elements.body.results import BodyResults
from femb.elements.item import Item, StartPose
from femb.elements.marker import Attachment
from femb.elements.records import RecordedSystem, Records, StationMotions
from femb.layout.element import ForceColumns, OutputRows
from femb.layout.layout import Layout, Station
from femb.layout.state import STATION_FORCES, motion_outputs, station_force_columns, station_rows
from femb.layout.views import LinearPoint, OutputStates
from femb.numerics.euler import from_euler
from femb.numerics.turns import axes_problem

# Results of bodies: their motion, and their pose at the start.


def body_records(names: Iterable[str], system: RecordedSystem) -> Records:
    """The records of the named bodies that have a frame."""
    layout = system.layout
    frames_of = {name: layout.bodies[name] for name in names if name in layout.bodies}
    static: dict[str, Floats] = {}
    attributes = {f"bodies/{name}": {"fixed": layout.frames[frame].freedom == 0} for name, frame in frames_of.items()}

    if not frames_of:
        return Records(static, attributes)
    stations = [Station(frame) for frame in frames_of.values()]
    for name, position, quaternion in zip(frames_of, *layout.poses(stations), strict=True):
        static[f"bodies/{name}/reference_position"] = layout.origin + position
        static[f"bodies/{name}/reference_quaternion"] = quaternion
    motions = StationMotions(layout, stations)

    def series(accelerations: bool, frames: OutputStates) -> dict[str, Floats]:
        motion = motions.at(frames, accelerations)
        position, velocity = layout.to_inertial(frames.time, motion["position"], motion["velocity"])
        motion |= {"position": position, "velocity": velocity}
        return {
            f"bodies/{name}/{word}": values[:, k] for k, name in enumerate(frames_of) for word, values in motion.items()
        }

    return Records(static, attributes, partial(series, True), partial(series, False))


class Body(Item):
    """Base class of rigid bodies, point masses and grounds."""

    table: ClassVar[str] = "bodies"
    results: ClassVar[type[Group]] = BodyResults
    has_dofs: ClassVar[bool] = True

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        return body_records([item.name for item in items], system)

    def linear_outputs(self, layout: Layout) -> Mapping[str, bool]:
        """The motion of its frame; by default, of one that moves, without accelerations."""
        if self.name not in layout.bodies:
            return {}
        freedom = layout.frames[layout.bodies[self.name]].freedom
        return {word: bool(freedom) and "acceleration" not in word for word in motion_outputs(freedom)}

    def output_rows(self, point: LinearPoint, quantity: str) -> OutputRows | None:
        """The rows of a ``quantity`` of its motion at the ``point``."""
        frame = point.system.layout.bodies.get(self.name)
        return None if frame is None else station_rows(point, Station(frame), quantity)

    def linear_forces(self, layout: Layout) -> tuple[str, ...]:
        """A force and a torque at its reference point, body axes."""
        return tuple(STATION_FORCES) if self.name in layout.bodies else ()

    def force_columns(self, point: LinearPoint, quantity: str) -> ForceColumns | None:
        """The columns of a ``quantity`` at the ``point``: a force or a torque."""
        frame = point.system.layout.bodies.get(self.name)
        return None if frame is None else station_force_columns(point, Station(frame), quantity)


class OrientedBody(Body):
    """Base class of bodies with axes: their attitude is ``quaternion``, or ``euler_angles`` in ``euler_sequence``."""

    position: Floats | None
    quaternion: Floats | None
    euler_angles: Floats | None
    euler_sequence: Any

    def check(self, check: Checks) -> None:
        check_sequence(check, "euler_sequence")
        check.at_most_one("quaternion", "euler_angles")
        check_unit(check, "quaternion")

    def start_pose(self) -> StartPose:
        given = self.euler_angles
        return StartPose(self.position, self.quaternion if given is None else from_euler(given, self.euler_sequence))

    def at(self, at: Any = (0.0, 0.0, 0.0), direction: Any = None, up: Any = None) -> Attachment:
        """A point of the body for the end of a beam: ``at`` (3,) m, the beam's tangent ``direction`` (3,) and ``up``
        (3,), of any length, body axes."""
        return Attachment(body=self.name, at=at, direction=direction, up=up)


def check_sequence(check: Checks, name: str) -> None:
    """Report a field that is neither one of the twelve sequences nor three rotation axes."""
    value = getattr(check.item, name)
    if not isinstance(value, str) and name not in check.bad:
        problem = axes_problem(value)
        if problem:
            check.fail(name, problem)


def check_unit(check: Checks, name: str) -> None:
    """Report a quaternion whose length differs from 1 by more than 1e-6; normalise it otherwise."""
    value = getattr(check.item, name)
    if value is None or name in check.bad:
        return
    length = float(np.linalg.norm(value))
    if abs(length - 1.0) > 1e-6:
        check.fail(name, f"got {value.tolist()} of length {length:.6g}, wanted length 1 (scalar part first)")
    else:
        object.__setattr__(check.item, name, value / length)
