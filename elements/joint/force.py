"""Forces along a coordinate of a joint: springs, dry friction, end stops and motors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, OWN_UNITS, POSITIVE, Arguments, Floats, LowerBound, Unit
from femb.elements.force_results import LoadResults, SpringResults
from femb.elements.item import HoldsCommands
from femb.elements.joint.coordinates import ANGLE, Z
from femb.elements.joint.on_coordinate import OnCoordinate
from femb.layout.commands import Command, command_array
from femb.layout.element import Batch, Input, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses
from femb.profiles import Constant, Profile, check_profile

# Laws of forces along coordinates of joints (``femb.elements.joint.force_batch``).
SPRING, FRICTION, STOPS, MOTOR, CURVE, STEPPER = range(6)


@dataclass(frozen=True, eq=False)
class JointForce(OnCoordinate):
    """Base class of forces along a coordinate of a joint: torques for an angle, forces for a stroke.

    The force does work on that coordinate only. It acts between the two frames of the joint and has no resultant.

    Source: docs/theory/joint_forces.md, equation (1).
    """

    table: ClassVar[str] = "springs"
    results: ClassVar[type[Group]] = SpringResults
    batch: ClassVar[str] = "femb.elements.joint.force_batch:JointForceBatch"
    law: ClassVar[int]
    # sign of the recorded force: 1 if it resists an increase of the coordinate, -1 if it is along the coordinate
    sense: ClassVar[float] = 1.0

    name: str
    joint: str
    coordinate: str | None = None
    """one of the joint's coordinates, by default its first; angles count revolutions"""

    def numbers(self) -> list[float]:
        """The parameters (5) of its law, as in ``force_batch.laws``."""
        raise NotImplementedError

    def limits(self) -> list[tuple[float, float]]:
        """(sense, value) of every discontinuity of the law; sense is 1 if the law changes below the value, -1 above."""
        return []

    def inputs(self) -> Sequence[Input]:
        """The inputs of its law, functions of time and state."""
        return ()

    def tables(self) -> list[Floats]:
        """The tables (m, 6) of its law."""
        return []

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        super().declare_dofs(layout, placement, model)
        joint, _ = self.joint_and_index(layout)
        layout.couple((joint.first.frame, joint.second.frame))


def law_of_coordinate(item: JointForce, law: Callable[[float, float], Any]) -> Callable[[float, Any], Any]:
    """The function of time and state that evaluates a callable ``law`` of a joint's coordinate and its rate."""

    def evaluate(t: float, state: Any) -> Any:
        joint = state.joints[item.joint]
        k = joint.names.index(item.coordinate) if item.coordinate is not None else 0
        return law(float(joint.coordinates[k]), float(joint.rates[k]))

    return evaluate


# Dry friction in a joint.

# Default Stribeck rate, in transition rates.
STRIBECK = 10.0


@dataclass(frozen=True, eq=False, kw_only=True)
class JointFriction(JointForce):
    """Resists with (coulomb + (static - coulomb) exp(-(rate/stribeck_rate)^2)) tanh(rate/transition_rate) + viscous
    rate.

    The friction does not depend on the reaction of the joint.

    Raises ModelError: numbers below zero, static below coulomb.

    Source: docs/theory/joint_forces.md, equation (5).
    """

    kind: ClassVar[str] = "friction"
    law: ClassVar[int] = FRICTION

    coulomb: Annotated[float, Unit("N m", stroke="N"), NOT_NEGATIVE]
    """friction at rates far above the two other rates"""
    transition_rate: Annotated[float, Unit("rad/s", stroke="m/s"), POSITIVE]
    """over which friction develops; below it the joint creeps as on a dashpot of coulomb/transition_rate. Take a
    hundredth of the typical rate; explicit methods need steps below inertia times transition_rate/coulomb"""
    static: Annotated[float | None, Unit("N m", stroke="N"), NOT_NEGATIVE] = None
    """the peak before sliding, by default ``coulomb``; the transition reduces it by a few per cent"""
    stribeck_rate: Annotated[float | None, Unit("rad/s", stroke="m/s"), POSITIVE] = None
    """over which friction falls to coulomb, by default 10 transition_rate"""
    viscous: Annotated[float, Unit("N m s/rad", stroke="N s/m"), NOT_NEGATIVE] = 0.0
    """friction by the rate"""

    @property
    def by_rate_alone(self) -> bool:
        return True

    def check(self, check: Checks) -> None:
        super().check(check)
        if self.static is not None and not check.bad:
            check.require("static", self.static >= self.coulomb, f"must be at least coulomb, {self.coulomb:g}")

    def numbers(self) -> list[float]:
        excess = 0.0 if self.static is None else self.static - self.coulomb
        stribeck = STRIBECK * self.transition_rate if self.stribeck_rate is None else self.stribeck_rate
        return [self.coulomb, excess, self.transition_rate, stribeck, self.viscous]


# Motor: a given torque or force along a coordinate of a joint.


@dataclass(frozen=True, eq=False, kw_only=True)
class JointMotor(JointForce, HoldsCommands):
    """A torque (N m) on an angle or a force (N) on a stroke, positive in the direction of increasing coordinate.

    A controller may set the command ``force``, which adds to it.

    Source: docs/theory/joint_forces.md, equation (9).
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "motor"
    results: ClassVar[type[Group]] = LoadResults
    law: ClassVar[int] = MOTOR
    sense: ClassVar[float] = -1.0

    force: Annotated[float | Callable[..., Any], Unit("N m", stroke="N")]
    """times the profile; in Python also a callable (t, state) -> force, or -> (force, by coordinate, by rate), of
    the femb.layout.state.State"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen
    """factor of the force: a profile or any function of time (without declared breakpoints)"""
    max_force: Annotated[float | None, Unit("N m", stroke="N"), POSITIVE] = None
    """limit of the command"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check.require("force", self.force is not None, "wanted a number or a function (t, state) -> N m or N")
        check_profile(check, "force")

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """None: it acts between the two ends of its joint."""
        return ()

    @property
    def by_rate_alone(self) -> bool:
        """Whether its force is given; a function may depend on anything."""
        return not callable(self.force)

    def commands(self, layout: Layout) -> dict[str, Command]:
        if callable(self.force):
            return {}
        return {"force": self.held("force", "N m or N", columns=self._columns(layout))}

    def _columns(self, layout: Layout) -> Floats | None:
        """(1, n_v) generalized forces of a unit torque, constant about an axis of both bodies that the joint keeps
        parallel; None of another coordinate."""
        if not hasattr(layout, "n_v"):
            return None
        joint, k = self.joint_and_index(layout)
        if joint.coordinates[k] != ANGLE or Z not in joint.same_way:
            return None
        columns = np.zeros((1, layout.n_v))
        for end, sign in ((joint.first, -1.0), (joint.second, 1.0)):
            if layout.frames[end.frame].freedom:
                j = layout.frame_v[end.frame] + 3
                columns[0, j : j + 3] += sign * end.axes[:, Z]
        return columns

    @classmethod
    def batches(cls, items: list[Any], layout: Layout, model: ModelView) -> list[Batch]:
        commands = [_MotorCommand(item) for item in items if command_array(item.key("force")) in layout.discrete]
        return [*super().batches([*items, *commands], layout, model), *JointMotor.clips(items, layout)]

    def numbers(self) -> list[float]:
        """None: the input is the force itself, whatever it is at the start."""
        return 5 * [0.0]

    def inputs(self) -> Sequence[Input]:
        force, profile, label = self.force, self.profile, self.key("force")
        if callable(force):
            return [Input.of_law(force, label)]
        value = float(force)
        given = Input(
            1, lambda t: value * profile(t), breakpoints=breakpoints_of(profile), label=label, unit="N m or N"
        )
        return [given]


class _MotorCommand:
    """The command of a motor, as a force of its own."""

    def __init__(self, motor: JointMotor) -> None:
        self.motor = motor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.motor, name)

    def inputs(self) -> Sequence[Input]:
        return [Input.of_array(command_array(self.motor.key("force")))]


# Spring and dashpot along a coordinate of a joint.


@dataclass(frozen=True, eq=False)
class JointSpringDamper(JointForce):
    """Resists with stiffness (c - free) + damping dc/dt, where c is the angle (rad) or the stroke (m).

    Only the stiffness stores energy.

    Raises ModelError: neither stiffness, damping nor force, or numbers below zero. Source: docs/theory/joint_forces.md,
    equation (4).
    """

    kind: ClassVar[str] = "joint"
    law: ClassVar[int] = SPRING

    stiffness: Annotated[float, Unit("N m/rad", stroke="N/m"), NOT_NEGATIVE] = 0.0
    damping: Annotated[float, Unit("N m s/rad", stroke="N s/m"), NOT_NEGATIVE] = 0.0
    free: Annotated[float, Unit("rad", stroke="m")] = 0.0
    """the coordinate without elastic force; a joint with another start value has the preload stiffness (start -
    free)"""
    force: Annotated[Callable[[float, float], Any], Arguments("(coordinate, rate) -> N m or N")] | None = None
    """in Python, a callable ``(c, rate) -> N m or N`` for an additional force; or ``-> (force, by c, by rate)`` with
    its derivatives; Newton's iteration uses zeros for derivatives that are not given"""

    @property
    def by_rate_alone(self) -> bool:
        return self.stiffness == 0.0 and self.force is None

    @property
    def resists(self) -> bool:
        """Whether it is a spring alone: a function may cancel one."""
        return self.stiffness > 0.0 and self.force is None

    def check(self, check: Checks) -> None:
        super().check(check)
        if not check.bad and self.stiffness == 0.0 and self.damping == 0.0 and self.force is None:
            check.fail("stiffness", "neither stiffness nor damping is given")

    def numbers(self) -> list[float]:
        return [self.stiffness, self.damping, self.free, 0.0, 0.0]

    def inputs(self) -> Sequence[Input]:
        if self.force is None:
            return []
        return [Input.of_law(law_of_coordinate(self, self.force), f"springs.{self.name}.force")]


# End stops of a joint.

NO_LIMIT = 1e300


@dataclass(frozen=True, eq=False, kw_only=True)
class JointStops(JointForce):
    """Resists motion beyond ``upper`` and below ``lower`` with stiffness depth^exponent g; depth is beyond the limit.

    g = y + sqrt(1 + y^2) with y = damping d(depth)/dt, about 1 + y as with Hunt and Crossley: the stop never pulls. An
    impact at the speed w rebounds at about (1 - 2/3 damping w) w. Damping counts as work.

    Raises ModelError: no limit, a lower limit not below the upper one, numbers below zero. Source:
    docs/theory/joint_forces.md, equations (6) to (8).
    """

    kind: ClassVar[str] = "stops"
    law: ClassVar[int] = STOPS

    stiffness: Annotated[float, OWN_UNITS, POSITIVE]
    """N m/rad^exponent or N/m^exponent"""
    lower: Annotated[float | None, Unit("rad", stroke="m")] = None
    """one of the two limits may be omitted"""
    upper: Annotated[float | None, Unit("rad", stroke="m")] = None
    exponent: Annotated[float, Unit(""), LowerBound(1.0)] = 1.5
    """at least 1; 1.5 is the contact of two spheres, smooth at the limit"""
    damping: Annotated[float, Unit("s/rad", stroke="s/m"), NOT_NEGATIVE] = 0.0

    def check(self, check: Checks) -> None:
        super().check(check)
        if self.lower is None and self.upper is None:
            check.fail("lower", "neither lower nor upper is given")
        elif self.lower is not None and self.upper is not None and not {"lower", "upper"} & check.bad:
            check.require("upper", self.lower < self.upper, f"must be above lower, {self.lower:g}")

    def limits(self) -> list[tuple[float, float]]:
        return [(sense, x) for sense, x in ((1.0, self.lower), (-1.0, self.upper)) if x is not None]

    def numbers(self) -> list[float]:
        lower = -NO_LIMIT if self.lower is None else self.lower
        upper = NO_LIMIT if self.upper is None else self.upper
        return [lower, upper, self.stiffness, self.exponent, self.damping]
