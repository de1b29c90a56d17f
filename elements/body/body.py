"""Bodies: what all record, and the ground, point masses and rigid bodies."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group
from femb.base.types import POSITIVE, Floats, Inertia, Matrix3, OneOf, Quaternion, Unit, Vector
from femb.base.values import TURN, as_numbers, bracketed, finite_problem, frozen_array, number_problem, shown
from femb.elements.body.results import BodyResults
from femb.elements.item import FRAMES, Item, StartMotion, StartPose
from femb.elements.marker import Attachment, Marker, Place, check_markers
from femb.elements.records import RecordedSystem, Records, StationMotions
from femb.layout.element import Batch, ForceColumns, OutputRows
from femb.layout.layout import Layout, Station
from femb.layout.state import STATION_FORCES, motion_outputs, station_force_columns, station_rows
from femb.layout.views import LinearPoint, ModelView, OutputStates, StartPoses
from femb.numerics import rotations
from femb.numerics.euler import from_euler, omega_from_euler_rates, to_euler
from femb.numerics.turns import EulerSequence, axes_problem

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
    for name, number in frames_of.items():
        frame = layout.frames[number]
        static[f"bodies/{name}/reference_position"] = layout.origin + frame.position
        static[f"bodies/{name}/reference_quaternion"] = frame.quaternion
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
    """Base class of rigid bodies, point masses and grounds.

    moves : whether its frame does. has_axes : whether it has an attitude.
    """

    moves: ClassVar[bool] = True
    has_axes: ClassVar[bool] = True
    table: ClassVar[str] = "bodies"
    results: ClassVar[type[Group]] = BodyResults
    has_dofs: ClassVar[bool] = True

    def refusal(self, end: Marker, turned: bool) -> tuple[str, str] | None:
        """The field of an ``end`` that cannot be on the body, and why; None if it can. turned : whether what has it
        acts on the attitude."""
        return None

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
    """Base class of bodies with axes."""

    position: Floats | None
    quaternion: Floats | None
    """attitude, from body axes to inertial ones"""
    euler_angles: Floats | None
    """in place of the quaternion, intrinsic angles in euler_sequence"""
    euler_sequence: Any
    """three letters, or any three axes, a row each"""
    relative_to: str
    """with "orbit", attitude and angular velocity are relative to the frame of the orbit at time 0, x ahead, z down,
    and by default those of this frame"""

    def check(self, check: Checks) -> None:
        check_sequence(check, "euler_sequence")
        check.at_most_one("quaternion", "euler_angles")
        check_unit(check, "quaternion")

    def doubts(self, model: ModelView) -> Iterator[str]:
        if self.euler_angles is not None and np.max(np.abs(self.euler_angles)) > TURN:
            angles = bracketed(self.euler_angles)
            yield f"bodies.{self.name}.euler_angles: {angles} rad is more than a turn; are these degrees?"

    def orbit(self, model: ModelView) -> tuple[Floats, Floats] | None:
        """The quaternion (4,) and the turn (3,) of the frame of the orbit at time 0, as in ``frame_of``, that its own
        are relative to; None where they are inertial. Raises ModelError: a model without an orbit."""
        if self.relative_to == "inertial":
            return None
        from femb.elements.environment.orbital_frame import frame_of, motion_of

        return frame_of(motion_of(model, (self.table, self.name, "relative_to"), 'got "orbit"'), 0.0)

    def start_pose(self, model: ModelView) -> StartPose:
        given, orbit = self.euler_angles, self.orbit(model)
        quaternion = self.quaternion if given is None else from_euler(given, self.euler_sequence)
        if orbit is not None:
            quaternion = orbit[0] if quaternion is None else rotations.multiply(orbit[0], quaternion)
        return StartPose(self.position, quaternion)

    def turn(self, layout: Layout, model: ModelView, given: Floats | None) -> Floats | None:
        """(3,) rad/s: its angular velocity at the start in its axes, with that of the orbit that the ``given`` one
        (3,), in the same axes, is relative to; None where neither is given."""
        if (orbit := self.orbit(model)) is None:
            return given
        attitude = layout.frames[layout.bodies[self.name]].quaternion
        turning = rotations.rotate_back(attitude, rotations.rotate(*orbit))
        return turning if given is None else turning + given

    def at(self, at: Any = (0.0, 0.0, 0.0), direction: Any = None, up: Any = None, y_axis: Any = None) -> Attachment:
        """A point of the body for the end of a beam: ``at`` (3,) m, the beam's tangent ``direction`` (3,) and the y
        axis of its section ``y_axis`` (3,), or ``up``, of any length, body axes."""
        return Attachment(body=self.name, at=at, direction=direction, up=up, y_axis=y_axis)


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


# Ground: a frame that does not move.


@dataclass(frozen=True, eq=False)
class Ground(OrientedBody):
    """A frame fixed in inertial space. Every model contains one named ``"ground"`` at the origin."""

    moves: ClassVar[bool] = False
    kind: ClassVar[str] = "ground"

    relative_to = "inertial"
    name: str = "ground"
    position: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    quaternion: Quaternion | None = None
    euler_angles: Annotated[Vector | None, Unit("rad")] = None
    euler_sequence: Annotated[EulerSequence | Matrix3, Unit("")] = "xyz"

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        position, quaternion = placement.bodies[self.name]
        layout.bodies[self.name] = layout.add_frame(self.name, position, quaternion, freedom=0)


# Point mass: free, or fixed to a body or to a node of a beam.


@dataclass(frozen=True, eq=False)
class PointMass(Body):
    """A mass without inertia.

    Raises ModelError: mass not positive, both free and fixed. Source: docs/theory/rigid_body.md.
    """

    has_axes: ClassVar[bool] = False
    kind: ClassVar[str] = "point_mass"
    acts_on_attitude: ClassVar[bool] = True

    name: str
    mass: Annotated[float, Unit("kg"), POSITIVE]
    position: Annotated[Vector | None, Unit("m")] = None
    """of a free mass, inertial axes"""
    velocity: Annotated[Vector | None, Unit("m/s")] = None
    """of a free mass, inertial axes"""
    on: Place | None = None
    """the point of a body or section to which it is fixed"""

    def refusal(self, end: Marker, turned: bool) -> tuple[str, str] | None:
        if turned:
            return "body", f"got {self.name!r}, a point mass, which only takes forces"
        if self.on is not None:
            what = f"body {self.on.body!r}" if self.on.body is not None else f"beam {self.on.beam!r}"
            return "body", f"got {self.name!r}, a point mass fixed to {what}: give that instead"
        return ("at", "is off the point mass, which has no axes: leave it out") if np.any(end.at) else None

    def check(self, check: Checks) -> None:
        if self.on is not None:
            check_markers(check, Place, "on")
            for name in ("position", "velocity"):
                check.require(name, getattr(self, name) is None, "but the mass is fixed by 'on': give one of them")

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        return {} if self.on is None else {("on",): self.on}

    def start_pose(self, model: ModelView) -> StartPose:
        return StartPose(self.position)

    def start_motion(self, layout: Layout, model: ModelView) -> StartMotion | None:
        if self.velocity is None:
            return None
        return StartMotion(Station(layout.bodies[self.name]), self.velocity)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """A frame without axes, if it is free."""
        if self.on is None:
            position, quaternion = placement.bodies[self.name]
            layout.bodies[self.name] = layout.add_frame(self.name, position, quaternion, freedom=3)

    @staticmethod
    def batches(items: list["PointMass"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of the free masses, with three coordinates each, and one of the masses fixed to moving frames."""
        from femb.elements.body.mass_batch import MassBatch, PointBatch

        free = [(layout.bodies[item.name], item.mass) for item in items if item.on is None]
        fixed = []
        for item in items:
            if item.on is not None:
                station = layout.station(item.on)
                if layout.frames[station.frame].freedom:
                    fixed.append((station.frame, item.mass, station.offset, np.zeros((3, 3))))
        points: list[Batch] = [PointBatch(layout, model.gravity, free)] if free else []
        return points + ([MassBatch(layout, model.gravity, fixed)] if fixed else [])


# Rigid body: a frame with mass, an offset mass centre and an inertia.

# The inertia matrix of a rigid body from user input.


NOWHERE, UNIT = np.zeros(3), np.eye(3)


def inertia_matrix(value: Any, mass: float, distance: Floats) -> tuple[Floats | None, str | None]:
    """The 3 x 3 inertia about the mass centre from a scalar, three principal moments or a matrix, and None; or None and
    the problem.

    mass (kg), distance (3,) m : of a point from the mass centre, that the value is about.

    A physical inertia about the mass centre has principal moments that are positive and obey the triangle
    inequality (each at most the sum of the other two); equality is a flat or thin body and is allowed.
    """
    array = as_numbers(value)
    if array is None:
        array = np.empty(0)
    if array.shape == ():
        array = np.full(3, float(array))
    fits = array.shape in ((3,), (3, 3))
    problem = finite_problem(value, array) if fits else None
    if not fits or (problem and not np.isfinite(array).all()):
        return (None, f"got {shown(value)}, wanted a number, 3 principal moments or a 3 x 3 matrix, all finite (kg m2)")
    if problem:
        return None, problem
    if array.ndim == 1 and not mass:
        moments, symmetric = sorted(array.tolist()), array * UNIT
    else:
        array = np.diag(array) if array.ndim == 1 else array
        if np.max(np.abs(array - array.T)) > 1e-9 * np.max(np.abs(array)):
            return None, f"got {shown(value)}, which is not symmetric"
        array = array - mass * (distance @ distance * np.eye(3) - np.outer(distance, distance))
        moments, symmetric = np.linalg.eigvalsh(array).tolist(), 0.5 * (array + array.T)
    least, middle, largest = moments
    if least > 0.0 and largest <= (least + middle) * (1.0 + 1e-9):
        return frozen_array(symmetric), None
    return None, _moments_problem(moments, " about the mass centre" if np.any(distance) else "")


def _moments_problem(moments: Sequence[float], moved: str) -> str:
    """Why ascending principal moments are not those of a body. moved : what they are about."""
    least = moments[0]
    listed = ", ".join(f"{moment:.6g}" for moment in moments)
    if not least > 0.0:
        return f"principal moments {listed} kg m2{moved}: all must be greater than 0"
    return (
        f"principal moments {listed} kg m2{moved} break the triangle inequality: no body has one moment above the "
        "sum of the other two; check the signs of the products of inertia and the point the inertia refers to "
        "(the mass centre)"
    )


GYRATION = 500.0  # m, the radius of gyration of a rigid body


@dataclass(frozen=True, eq=False)
class RigidBody(OrientedBody):
    """A rigid body; position and velocity are those of its reference point, the origin of its frame.

    Raises ModelError: mass not positive, inertia not that of a body, quaternion not of unit length; no orbit. Source:
    docs/theory/rigid_body.md.
    """

    kind: ClassVar[str] = "rigid"

    name: str
    mass: Annotated[float, Unit("kg"), POSITIVE]
    inertia: Inertia
    """about the mass centre in body axes; three numbers are principal moments"""
    center_of_mass: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    """mass centre from the reference point, body axes"""
    position: Annotated[Vector | None, Unit("m")] = None
    """of the reference point, inertial axes; by default from beams and joints to known bodies, else the origin"""
    quaternion: Quaternion | None = None
    euler_angles: Annotated[Vector | None, Unit("rad")] = None
    velocity: Annotated[Vector | None, Unit("m/s")] = None
    """of the reference point, inertial axes"""
    angular_velocity: Annotated[Vector | None, Unit("rad/s")] = None
    """in body axes"""
    euler_rates: Annotated[Vector | None, Unit("rad/s")] = None
    """in place of the angular velocity"""
    euler_sequence: Annotated[EulerSequence | Matrix3, Unit("")] = "xyz"
    moves_alone: bool = False
    """whether the velocities are those of the body alone; else those of the whole connected structure as one rigid
    body"""
    shape: Annotated[dict[str, Any] | None, Unit("m")] = field(default=None, repr=False)
    """for pictures only: {"box": [x, y, z]}, {"sphere": radius} or {"cylinder": [radius, length]}; "at" is its middle,
    by default the mass centre"""
    inertia_about: Annotated[Vector | None, Unit("m")] = None
    """the point that inertia is about, if not the mass centre, from the reference point, body axes"""
    relative_to: Annotated[str, OneOf(FRAMES)] = "inertial"

    def check(self, check: Checks) -> None:
        distance, mass = NOWHERE, 0.0
        if self.inertia_about is not None and not {"inertia_about", "center_of_mass", "mass"} & check.bad:
            distance, mass = self.inertia_about - self.center_of_mass, self.mass
        matrix, problem = inertia_matrix(self.inertia, mass, distance)
        if problem:
            check.fail("inertia", problem)
        else:
            object.__setattr__(self, "inertia", matrix)
            object.__setattr__(self, "inertia_about", None)
        super().check(check)
        check.at_most_one("angular_velocity", "euler_rates")
        check_shape(check, "shape")

    def doubts(self, model: ModelView) -> Iterator[str]:
        radius = float(np.sqrt(np.max(np.abs(np.asarray(self.inertia))) / self.mass))
        if radius > GYRATION:
            yield (
                f"bodies.{self.name}.inertia: with a mass of {self.mass:g} kg it is that of a body of {radius:.3g} m; "
                "kg mm2 are to be multiplied by 1e-6"
            )
        yield from super().doubts(model)

    def start_motion(self, layout: Layout, model: ModelView) -> StartMotion | None:
        station, omega, orbit = Station(layout.bodies[self.name]), self.angular_velocity, self.orbit(model)
        if self.euler_rates is not None:
            attitude = layout.frames[station.frame].quaternion
            if orbit is not None:
                attitude = rotations.multiply(rotations.conjugate(orbit[0]), attitude)
            angles = to_euler(attitude, self.euler_sequence)
            omega = omega_from_euler_rates(angles, self.euler_rates, self.euler_sequence)
        omega = self.turn(layout, model, omega)
        if self.velocity is None and omega is None:
            return None
        return StartMotion(station, self.velocity, omega, self.moves_alone)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        layout.bodies[self.name] = layout.add_frame(self.name, *placement.bodies[self.name])
        layout.gyration = max(layout.gyration, math.sqrt(0.5 * np.trace(self.inertia) / self.mass))

    @staticmethod
    def batches(items: list["RigidBody"], layout: Layout, model: ModelView) -> list[Batch]:
        from femb.elements.body.mass_batch import MassBatch

        entries = [(layout.bodies[body.name], body.mass, body.center_of_mass, body.inertia) for body in items]
        return [MassBatch(layout, model.gravity, entries)]

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        result = OrientedBody.records(items, system)
        for item in items:
            if item.shape is not None:
                middle = {"at": [float(x) for x in item.center_of_mass]} if any(item.center_of_mass) else {}
                result.attributes[f"bodies/{item.name}"]["shape"] = json.dumps({**middle, **item.shape})
        return result


def check_shape(check: Checks, name: str) -> None:
    """Report a picture shape that no exporter can draw."""
    shape = getattr(check.item, name)
    sizes = {"box": 3, "sphere": 1, "cylinder": 2}
    if shape is None:
        return
    words = [word for word in shape if word != "at"] if isinstance(shape, dict) else []
    if len(words) != 1 or words[0] not in sizes:
        check.fail(name, f"got {shape!r}, wanted one of box = [x, y, z], sphere = radius, cylinder = [radius, length]")
        return
    at = np.asarray(shape.get("at", (0, 0, 0)), dtype=object)
    if at.shape != (3,) or any(number_problem(x) for x in at):
        check.fail(name, f"got {shape!r}, wanted at = [x, y, z], the middle of the {words[0]} in body axes, m")
    word, size = words[0], shape[words[0]]
    numbers = np.atleast_1d(np.asarray(size, dtype=object))
    if numbers.shape != (sizes[word],) or not all(isinstance(x, int | float) and x > 0 for x in numbers):
        check.fail(name, f"got {shape!r}, {word} wants {sizes[word]} number(s) greater than 0")
