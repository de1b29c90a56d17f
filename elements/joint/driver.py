"""Drivers: rows of constraint whose inputs are functions of time with two derivatives."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import FembError, ModelError, SolveError
from femb.base.quantity import Group
from femb.base.types import Arguments, Direction, Floats, Matrix3, OneOf, Unit
from femb.base.values import as_numbers, shown
from femb.elements.body.body import check_sequence
from femb.elements.item import Item
from femb.elements.joint.constraint_set import ConstraintRow
from femb.elements.joint.coordinates import component_rows, coordinate_row, make_row
from femb.elements.joint.on_coordinate import OnCoordinate
from femb.elements.joint.primitives import ORIENTATION
from femb.elements.joint.records import driver_records, driver_rows
from femb.elements.joint.results import DriverResults
from femb.elements.marker import JointEnd, Place, axes_of, check_markers
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Input, OutputRows, breakpoints_of, raised
from femb.layout.layout import DriverLayout, Layout, Station
from femb.layout.state import motion_rows, station_motion
from femb.layout.symmetry import AXES, EVERY, TRANSLATIONS, Surroundings, Symmetry, along_components, twists
from femb.layout.views import LinearPoint, ModelView, StartPoses
from femb.numerics import euler, rotations
from femb.numerics.turns import EulerSequence
from femb.profiles import PROFILES, Motion, Profile

Follow = Callable[[float], Any]


@dataclass(frozen=True, eq=False)
class Driver(Item):
    """Base class of drivers: the driven quantities follow functions of time, with the necessary force.

    A motion is a profile with two derivatives (femb.profiles.Motion), or in Python a function of time that returns the
    value and its first and second derivative.
    """

    table: ClassVar[str] = "drivers"
    results: ClassVar[type[Group]] = DriverResults
    # Attribute of its results, see ``Group.columns_of``: of quantities with other units and components than the rest.
    columns: ClassVar[Mapping[str, str]] = {}

    name: str

    def ends(self, layout: Layout) -> tuple[Station, Station]:
        """Its two ends."""
        raise NotImplementedError

    def components(self, layout: Layout) -> tuple[str, ...]:
        """Names of the components of its rate and force, one for every row."""
        raise NotImplementedError

    def inputs(self) -> list[Input]:
        """The inputs of its rows."""
        raise NotImplementedError

    def outputs(self, entry: DriverLayout, motions: list[Floats], multipliers: Floats) -> tuple[Floats, Floats, Floats]:
        """Value, rate and force (T, n) from the values of the inputs, (T, width) each, and the multipliers (T, n).

        entry : the driver in the layout. motions (T, width) : the values, rates and accelerations of its
        inputs, m or rad.

        The power of the drive is force times rate. Source: docs/theory/constraints.md, section 10.
        """
        value, rate = (np.stack([motion[:, k] for motion in motions], axis=1) for k in (0, 1))
        return value, rate, -multipliers

    def unit(self, layout: Layout) -> str:
        """The unit of what it drives, m or rad."""
        return "m"

    def angular(self, layout: Layout) -> tuple[bool, ...]:
        return (self.unit(layout) == "rad",)

    def force_by_pose(self, point: LinearPoint, force: Floats) -> Floats | None:
        """(n, n_v): the change of its ``force`` (n,) with the pose at constant multipliers; None of no change."""
        return None

    def linear_outputs(self, layout: Layout) -> Mapping[str, bool]:
        """Its force."""
        return {"force": False}

    def output_rows(self, point: LinearPoint, quantity: str) -> OutputRows | None:
        """The rows of its force, the ``quantity`` that it gives; see ``driver_rows``."""
        return driver_rows(point, self) if quantity == "force" else None

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Rows between its two ends. Raises ModelError for ends on one frame, two fixed ends, or an invalid motion."""
        first, second = self.ends(layout)
        moving = [layout.frames[end.frame].freedom for end in (first, second)]
        if first.frame == second.frame or not any(moving):
            raise ModelError.at(
                (self.table, self.name, "second"), "is on the same frame as the first, or both are fixed: nothing moves"
            )
        inputs = tuple(replace(each, unit=self.unit(layout)) for each in self.inputs())
        for input_ in inputs:
            _check_start(input_)
        names = self.components(layout)
        rows = [layout.add_row(f"drivers.{self.name}: {name}", first.frame, second.frame) for name in names]
        layout.drivers[self.name] = DriverLayout(first, second, rows, inputs, names, self.coordinate_number(layout))

    def coordinate_number(self, layout: Layout) -> int:
        """Number of the driven coordinate among those of all joints; -1 if it drives no joint coordinate."""
        return -1

    def constraint_inputs(self, layout: Layout) -> tuple[Input, ...]:
        return layout.drivers[self.name].inputs

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        return driver_records(items, system)


class PlaceDriver(Driver):
    """Base class of drivers between two places."""

    first: Place
    """point of a body, the ground or a beam node"""
    second: Place
    """point of a body, the ground or a beam node"""

    def check(self, check: Checks) -> None:
        check_markers(check, Place, "first", "second")

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        return {("first",): self.first, ("second",): self.second}

    def ends(self, layout: Layout) -> tuple[Station, Station]:
        return layout.station(self.first), layout.station(self.second)


def check_motion(check: Checks, field: str) -> None:
    """Report a field that is not a motion with two derivatives."""
    value = getattr(check.item, field)
    shape = getattr(value, "shape", None)
    if shape in list(PROFILES) and not isinstance(value, Motion):
        smooth = ", ".join(repr(shape) for shape, kind in PROFILES.items() if hasattr(kind, "derivatives"))
        check.fail(field, f"got the profile {shape!r}, whose value or rate jumps; a driver can follow {smooth}")
    elif not callable(value):
        check.fail(
            field,
            f"got {shown(value)}, wanted a profile, or a function of time that returns three numbers (f, f', f'')",
        )


def motion_input(name: str, field: str, motion: Any) -> Input:
    """The input of width 3 of a motion."""
    label = f"drivers.{name}.{field}"
    return Input(3, motion_function(motion, label), breakpoints=breakpoints_of(motion), label=label)


def motion_function(motion: Any, label: str) -> Follow:
    """The function of time with the result (f, f', f''). It raises SolveError for other results of the function."""
    if hasattr(motion, "derivatives"):
        result: Follow = motion.derivatives
        return result

    def follow(t: float) -> Any:
        wanted = "three numbers: the value and its first and second derivative"
        return as_array(call_user(motion, label, t), (3,), wanted, label, t)

    return follow


def call_user(function: Callable[[float], Any], label: str, t: float) -> Any:
    """The result of a user's function of time. Raises SolveError, with the cause, if the function fails."""
    try:
        return function(t)
    except FembError:
        raise
    except Exception as error:
        raise raised(label, t, error) from error


def as_array(value: Any, shape: tuple[int, ...], wanted: str, label: str, t: float) -> Floats:
    """The result of a user's function as an array of the given shape. Raises SolveError for any other result."""
    numbers = as_numbers(value)
    if numbers is None or numbers.shape != shape:
        raise SolveError(f"{label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}")
    return numbers


def _check_start(motion: Input) -> None:
    """Raise ModelError for an input that fails or is not finite at t = 0."""
    item, field = motion.label.rsplit(".", 1)
    path = (*item.split(".", 1), field)
    try:
        value = motion.function(0.0)
    except SolveError as error:
        raise ModelError.at(path, str(error).removeprefix(f"{motion.label}: ")) from error
    except Exception as error:  # of a user's function
        raise ModelError.at(path, f"fails at t = 0 s: {type(error).__name__}: {error}") from error
    if not np.all(np.isfinite(value)):
        raise ModelError.at(path, f"got {shown(value)} at t = 0 s, every number must be finite")


# Drivers of the distance of two points, or of components of the vector between them.

DIRECTIONS = ("x", "y", "z")


class _BetweenPoints(PlaceDriver):
    """Base class of drivers between two points."""

    frame: Annotated[str, OneOf(("inertial", "first"))] = "inertial"
    """in which the directions are fixed: inertial, or that of the axes of the first end"""

    @property
    def acts_on_attitude(self) -> bool:  # type: ignore[override]
        """Whether its markers need axes."""
        return self.frame == "first"


@dataclass(frozen=True, eq=False)
class DistanceDriver(_BetweenPoints):
    """A telescopic strut: the distance of two points follows a function of time. Force: N, positive if it pushes the
    points apart.

    Raises ModelError: a motion without two derivatives. Source: docs/theory/constraints.md, section 3.
    """

    kind: ClassVar[str] = "distance"

    first: Place
    second: Place
    motion: Annotated[Profile | Callable[..., Any], Unit("m")]
    """of the distance, above 0 at all times"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check_motion(check, "motion")

    def components(self, layout: Layout) -> tuple[str, ...]:
        return ("distance",)

    def inputs(self) -> list[Input]:
        """The distance; SolveError in a run where it is not positive."""
        given = motion_input(self.name, "motion", self.motion)
        follow = motion_function(self.motion, given.label)

        def positive(t: float) -> Any:
            motion = follow(t)
            if motion[0] <= 0.0:
                raise SolveError(
                    f"{given.label}: got {motion[0]:.6g} m at t = {t:.6g} s: a distance must be greater than 0; where "
                    "the points meet, drive the components of their position"
                )
            return motion

        return [Input(3, positive, breakpoints=given.breakpoints, label=given.label)]

    def symmetry(self, around: Surroundings) -> Symmetry:
        # Rotations about the point that is fixed in space.
        entry = around.layout.drivers[self.name]
        if not around.hold([entry.first.frame, entry.second.frame]):
            return EVERY
        fixed = entry.first if entry.first.frame in around.fixed else entry.second
        return Symmetry.of(twists(turns=AXES, point=around.pose(fixed)[0]))

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        entry = layout.drivers[self.name]
        scale = float(entry.inputs[0].function(0.0)[0])
        return [make_row(layout, entry.rows[0], ("distance",), entry.first, entry.second, scale, follows=0)]

    def force_by_pose(self, point: LinearPoint, force: Floats) -> Floats:
        """The change by the distance, with which the force grows at constant multipliers."""
        layout = point.system.layout
        ends = layout.drivers[self.name].first, layout.drivers[self.name].second
        place = [station_motion(layout, end, point.q[None], point.v[None])[0][0] for end in ends]
        rows = [motion_rows(point, end, "position")[0] for end in ends]
        d = place[1] - place[0]
        return np.asarray(force[:, None] * (d @ (rows[1] - rows[0])) / (d @ d))

    def outputs(self, entry: DriverLayout, motions: list[Floats], multipliers: Floats) -> tuple[Floats, Floats, Floats]:
        """Outputs of ``Driver``: the distance (T, 1) m, its rate, and the force (T, 1) N along the line."""
        value, rate, force = super().outputs(entry, motions, multipliers)
        # the row is (d.d - f^2)/2c with the distance c at the start
        return value, rate, force * value / float(entry.inputs[0].function(0.0)[0])


@dataclass(frozen=True, eq=False)
class PositionDriver(_BetweenPoints):
    """Components of the vector from one point to another follow functions of time; a direction without one is free.

    Force: N, on the second point along the same axes; the opposite force acts on the first point. The couple of the two
    forces acts on the inertial frame, or on the first body in the frame "first".

    Raises ModelError: no direction is driven, a motion without two derivatives, a reference along the axis. Source:
    docs/theory/constraints.md, section 3.
    """

    kind: ClassVar[str] = "position"

    first: Place
    second: Place
    x: Annotated[Profile | Callable[..., Any] | None, Unit("m")] = None
    """motion along x of the frame"""
    y: Annotated[Profile | Callable[..., Any] | None, Unit("m")] = None
    """motion along y of the frame"""
    z: Annotated[Profile | Callable[..., Any] | None, Unit("m")] = None
    """motion along z of the frame"""
    frame: Annotated[str, OneOf(("inertial", "first"))] = "inertial"
    axis: Direction | None = None
    """in this frame, the z axis; by default its own"""
    reference: Direction | None = None
    """in this frame, the direction of the x axis; by default its own"""

    def check(self, check: Checks) -> None:
        super().check(check)
        if not {"axis", "reference"} & check.bad:
            # the checks of a joint end apply to these axes
            JointEnd("ground", axis=self.axis, reference=self.reference).report(check)
            if self.reference is not None and self.axis is None:
                check.fail("reference", "given without an axis: give both")
        for axis in self.driven:
            check_motion(check, axis)
        if not self.driven:
            check.fail("x", "no direction is driven: give one or more of x, y and z")

    @property
    def driven(self) -> tuple[str, ...]:
        """The directions that have a motion."""
        return tuple(axis for axis in DIRECTIONS if getattr(self, axis) is not None)

    def components(self, layout: Layout) -> tuple[str, ...]:
        return self.driven

    def inputs(self) -> list[Input]:
        return [motion_input(self.name, axis, getattr(self, axis)) for axis in self.driven]

    def _directions(self, entry: DriverLayout) -> list[Floats]:
        """The driven directions (3,), in space or in axes of the first end's frame."""
        axes = np.eye(3) if self.axis is None else axes_of(self.axis, self.reference)
        if self.frame == "first":
            axes = entry.first.axes @ axes
        return [axes[:, DIRECTIONS.index(axis)] for axis in self.driven]

    def symmetry(self, around: Surroundings) -> Symmetry:
        # What leaves the driven components as they are.
        entry = around.layout.drivers[self.name]
        first = Station(entry.first.frame, entry.first.offset)
        return along_components(around, first, entry.second, np.array(self._directions(entry)), self.frame)

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        entry = layout.drivers[self.name]
        driven = self._directions(entry)
        return component_rows(entry.rows, entry.first, entry.second, driven, self.frame)


# Driver of a joint: one of its coordinates follows a function of time.


@dataclass(frozen=True, eq=False)
class JointDriver(OnCoordinate, Driver):
    """A motor: a coordinate of a joint follows a function of time.

    The ``start`` of the joint must agree with the motion at t = 0, whole revolutions included; assembly corrects an
    angle by less than a quarter of a revolution. Force: torque (N m) or force (N) of the motor in the direction of
    increasing coordinate.

    Raises ModelError: an unknown joint, a joint without such a coordinate, a motion without two derivatives. Source:
    docs/theory/constraints.md, sections 3, 4 and 10.
    """

    kind: ClassVar[str] = "joint"

    joint: str
    motion: Annotated[Profile | Callable[..., Any], Unit("rad", stroke="m")]
    """of the coordinate"""
    coordinate: str | None = None

    def check(self, check: Checks) -> None:
        super().check(check)
        check_motion(check, "motion")

    def unit(self, layout: Layout) -> str:
        return "rad" if self.coordinate_of(layout).is_angle else "m"

    def components(self, layout: Layout) -> tuple[str, ...]:
        return (self.coordinate_of(layout).name,)

    def inputs(self) -> list[Input]:
        return [motion_input(self.name, "motion", self.motion)]

    def ends(self, layout: Layout) -> tuple[Station, Station]:
        joint = layout.joints[self.joint]
        return joint.first, joint.second

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """A row; an angle without a ``start`` counts its revolutions as the motion does."""
        super().declare_dofs(layout, placement, model)
        joint, k = self.joint_and_index(layout)
        if joint.coordinates[k].is_angle and math.isnan(joint.start[k]):
            start = joint.start.copy()
            start[k] = layout.drivers[self.name].inputs[0].function(0.0)[0]
            layout.joints[self.joint] = joint._replace(start=start)

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        number = layout.drivers[self.name].rows[0]
        joint = layout.joints[self.joint]
        return [coordinate_row(layout, number, joint, self.coordinate_of(layout), follows=0)]


# Driver of orientation: one body's attitude relative to another follows a function of time.

ANGLES = ("first_angle", "second_angle", "third_angle")
MOTION_WIDTH = 10  # quaternion, angular velocity and angular acceleration


@dataclass(frozen=True, eq=False)
class OrientationDriver(PlaceDriver):
    """The attitude of the second end relative to the first follows a function of time; their positions are free.

    Value: the quaternion; rate: the relative angular velocity (rad/s); force: the torque (N m) on the second; both in
    the axes of the second. The angles may pass gimbal lock.

    Raises ModelError: no motion, both motion and angles, a motion without two derivatives. Source:
    docs/theory/constraints.md, section 3.
    """

    kind: ClassVar[str] = "orientation"
    columns: ClassVar[Mapping[str, str]] = {"columns": '{"value": {"unit": "-", "names": ["w", "x", "y", "z"]}}'}
    acts_on_attitude: ClassVar[bool] = True

    first: Place
    second: Place
    first_angle: Annotated[Profile | Callable[..., Any] | None, Unit("rad")] = None
    """motion of the first Euler angle of the second in the axes of the first, by default zero"""
    second_angle: Annotated[Profile | Callable[..., Any] | None, Unit("rad")] = None
    """motion of the second Euler angle, by default zero"""
    third_angle: Annotated[Profile | Callable[..., Any] | None, Unit("rad")] = None
    """motion of the third Euler angle, by default zero"""
    sequence: Annotated[EulerSequence | Matrix3, Unit("")] = "xyz"
    """of those angles, intrinsic, or any three axes, a row each"""
    motion: Annotated[Callable[..., Any], Arguments("of time")] | None = None
    """in Python, instead of angles, a function of time that returns the quaternion (4,) second to first, and the
    angular velocity and angular acceleration (3,) of the second relative to the first, in the axes of the second"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check_sequence(check, "sequence")
        given = [angle for angle in ANGLES if getattr(self, angle) is not None]
        for angle in given:
            check_motion(check, angle)
        if self.motion is None and not given:
            check.fail("first_angle", "no motion is given: give one or more of the three angles")
        if self.motion is not None and given:
            check.fail("motion", f"given beside {given[0]!r}: give the angles or the motion as a whole")

    def unit(self, layout: Layout) -> str:
        return "rad"

    def components(self, layout: Layout) -> tuple[str, ...]:
        return ("x", "y", "z")

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Three rows; their input is the relative motion of the frames of the two ends."""
        super().declare_dofs(layout, placement, model)
        entry = layout.drivers[self.name]
        (of_ends,) = entry.inputs
        of_frames = replace(of_ends, function=lambda t: _of_frames(entry, of_ends.function(t)))
        layout.drivers[self.name] = replace(entry, inputs=(of_frames,))

    def symmetry(self, around: Surroundings) -> Symmetry:
        # Translations, against an end that is fixed in space.
        entry = around.layout.drivers[self.name]
        return Symmetry.of(TRANSLATIONS) if around.hold([entry.first.frame, entry.second.frame]) else EVERY

    def inputs(self) -> list[Input]:
        """The motion of the axes of the second end relative to those of the first."""
        breakpoints: set[float] = set()
        for angle in ANGLES:
            breakpoints |= set(breakpoints_of(getattr(self, angle)))
        breakpoints |= set(breakpoints_of(self.motion))
        field = "motion" if self.motion is not None else next(x for x in ANGLES if getattr(self, x) is not None)
        label = f"drivers.{self.name}.{field}"
        function = self._from_angles() if self.motion is None else self._from_motion(label)
        return [Input(MOTION_WIDTH, function, breakpoints=tuple(sorted(breakpoints)), label=label)]

    def _from_angles(self) -> Follow:
        parts: list[Follow] = []
        for angle in ANGLES:
            motion = getattr(self, angle)
            label = f"drivers.{self.name}.{angle}"
            parts.append(motion_function(motion, label) if motion is not None else lambda t: (0.0, 0.0, 0.0))
        return lambda t: motion_of_angles(np.array([part(t) for part in parts]).T, self.sequence)

    def _from_motion(self, label: str) -> Follow:
        wanted = "a quaternion of length 1, an angular velocity and an angular acceleration"

        def follow(t: float) -> Floats:
            value = call_user(self.motion, label, t)  # type: ignore[arg-type]
            if not isinstance(value, tuple | list) or len(value) != 3:
                raise SolveError(f"{label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}")
            parts = [as_array(part, (size,), wanted, label, t) for part, size in zip(value, (4, 3, 3), strict=True)]
            if abs(np.linalg.norm(parts[0]) - 1.0) > 1e-6:
                raise SolveError(f"{label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}")
            parts[0] /= np.linalg.norm(parts[0])
            return np.concatenate(parts)

        return follow

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        entry = layout.drivers[self.name]
        frames, rows = (entry.first.frame, entry.second.frame), enumerate(entry.rows)
        return [ConstraintRow(number, ORIENTATION, *frames, constant=float(k), follows=0) for k, number in rows]

    def outputs(self, entry: DriverLayout, motions: list[Floats], multipliers: Floats) -> tuple[Floats, Floats, Floats]:
        """Outputs of ``Driver``: the quaternion (T, 4) and angular velocity (T, 3) rad/s of the second end, and its
        torque."""
        # close to Phi = 0 the rows are half the rotation error, in the axes of the second frame
        first, second = entry.first.rotation, entry.second.rotation
        value = rotations.multiply(rotations.conjugate(first), rotations.multiply(motions[0][:, :4], second))
        return (
            value,
            rotations.rotate_back(second, motions[0][:, 4:7]),
            rotations.rotate_back(second, -0.5 * multipliers),
        )


def _of_frames(entry: DriverLayout, motion: Floats) -> Floats:
    """The relative motion (10,) of the frames of two ends, from that of the ends."""
    first, second = entry.first.rotation, entry.second.rotation
    quaternion = rotations.multiply(first, rotations.multiply(motion[:4], rotations.conjugate(second)))
    return np.concatenate([quaternion, rotations.rotate(second, motion[4:7]), rotations.rotate(second, motion[7:])])


def motion_of_angles(angles: Floats, sequence: Any) -> Floats:
    """(10,) quaternion, angular velocity and acceleration in body axes, of Euler angles, rates and their rates (3, 3).

    omega = g1 a' + g2 b' + g3 c'. The axis g3 is fixed in the body; relative to the body, g1 and g2 rotate opposite to
    the subsequent rotations of the sequence.
    """
    value, rate, second = angles
    g1, g2, g3 = euler.euler_axes(value, sequence).T
    after_second = g3 * rate[2]
    after_first = g2 * rate[1] + after_second
    omega = g1 * rate[0] + after_first
    alpha = g1 * second[0] + g2 * second[1] + g3 * second[2]
    alpha -= np.cross(after_first, g1) * rate[0] + np.cross(after_second, g2) * rate[1]
    return np.concatenate([euler.from_euler(value, sequence), omega, alpha])
