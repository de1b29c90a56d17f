"""Stepper motor: a joint's angle follows a target in steps, with ripple of the torque."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.meanings import Description
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, Unit
from femb.elements.item import is_set
from femb.elements.joint.force import STEPPER, JointForce
from femb.elements.joint.results import StepperResults
from femb.layout.commands import Command
from femb.layout.discrete import DiscreteState, Update
from femb.layout.element import Input, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses, StateView
from femb.profiles import Profile

# Samples that one look ahead for the next step goes through.
AHEAD = 1000


@dataclass(frozen=True, eq=False)
class DriveHarmonic(Description):
    """A periodic error of a motor.

    Raises ModelError: an order that is not positive, neither torque nor angle, numbers below zero.
    """

    order: Annotated[float, Unit(""), POSITIVE]
    """periods in a revolution of the joint"""
    torque: Annotated[float, Unit("N m"), NOT_NEGATIVE] = 0.0
    """amplitude of a torque, such as the detent torque, four periods a tooth"""
    angle: Annotated[float, Unit("rad"), NOT_NEGATIVE] = 0.0
    """amplitude of an error of the target, as that of microsteps"""
    phase: Annotated[float, Unit("rad")] = 0.0

    def __post_init__(self) -> None:
        with Checks(self, "harmonic") as check:
            if not check.bad and self.torque == 0.0 and self.angle == 0.0:
                check.fail("torque", "neither torque nor angle is given")


@dataclass(frozen=True, eq=False, kw_only=True)
class StepperMotor(JointForce):
    """A stepper motor at an angle c of a joint, which pulls it to a target: a torque in the direction of increasing c

        holding_torque sin(teeth (target - c)) - damping dc/dt - sum of torque sin(order c + phase) over the harmonics

    A controller commands ``loads.NAME.angle`` (rad), which adds to the motion, for steps from the next instant of
    step_rate on. Beyond half a period of the torque the motor loses steps. Friction and play of the gear are items of
    their own: ``friction`` and ``stops``.

    Raises ModelError: step without step_rate or the reverse, numbers that are not positive, a coordinate that is no
    angle. Source: docs/theory/joint_forces.md, equations (10) and (11).
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "stepper_motor"
    sense: ClassVar[float] = -1.0
    results: ClassVar[type[Group]] = StepperResults
    batch: ClassVar[str] = "femb.elements.joint.force_batch:StepperBatch"
    law: ClassVar[int] = STEPPER

    name: str
    joint: str
    holding_torque: Annotated[float, Unit("N m"), POSITIVE]
    """at the joint"""
    teeth: Annotated[float, Unit(""), POSITIVE]
    """periods of the torque in a revolution of the joint: the teeth of the rotor times the ratio of a gear"""
    motion: Annotated[Profile | Callable[[float], float], Unit("rad")]
    """what the target follows, a profile of time or in Python a function of it"""
    step: Annotated[float | None, Unit("rad"), POSITIVE] = None
    """of the target; by default it is the motion itself, as with fine microsteps"""
    step_rate: Annotated[float | None, Unit("Hz"), POSITIVE] = None
    """the most steps a second: at each instant the target takes a step towards the motion, if that brings it nearer"""
    damping: Annotated[float, Unit("N m s/rad"), NOT_NEGATIVE] = 0.0
    harmonics: list[DriveHarmonic] | None = None
    """ripple of torque and target"""
    coordinate: str | None = None

    def check(self, check: Checks) -> None:
        super().check(check)
        if (self.step is None) != (self.step_rate is None):
            missing, given = ("step", "step_rate") if self.step is None else ("step_rate", "step")
            check.fail(missing, f"is missing beside {given!r}")

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """None: it acts between the two ends of its joint."""
        return ()

    # The target: the motion itself, or steps towards it

    def with_errors(self, given: Floats) -> Floats:
        """(s,) rad: the target with the motor's errors; ``given`` (s,) : the one without. Source: equation (11)."""
        result = given.copy()
        for each in self.harmonics or ():
            result += each.angle * np.sin(each.order * given + each.phase)
        return result

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Couple the two frames of its joint; the target and the next of its steps."""
        joint, k = self.joint_and_index(layout)
        if not joint.coordinates[k].is_angle:
            known = ", ".join(each.name for each in joint.coordinates if each.is_angle) or "none"
            raise ModelError.at(
                ("loads", self.name, "coordinate"),
                f"got the stroke {joint.coordinates[k].name!r} of {self.joint!r}, wanted an angle: {known}",
            )
        super().declare_dofs(layout, placement, model)
        layout.add_discrete(self.key("command"), 0.0, carried=is_set(model, self.key("angle")))
        start = 0.0 if self.step is None else self.step * round(float(self.motion(0.0)) / self.step)
        layout.add_discrete(self.key("target"), start)
        if self.step is not None:
            following = layout.add_discrete(self.key("next"), 0.0, carried=False)
            layout.add_update(
                Update(f"loads.{self.name}", self._stepped, instant=lambda discrete: float(discrete[following]))
            )

    def _due(self, t: float, target: float, command: float) -> int:
        """The direction of the step that is due at an instant, 1 or -1, or 0: one that brings the target nearer."""
        assert self.step is not None
        away = (float(self.motion(t)) + command - target) / self.step
        return int(math.copysign(1.0, away)) if abs(away) > 0.5 else 0

    def _following(self, number: int, target: float, command: float) -> float:
        """The next instant (s) of a step, or one at which to look again, from a sample on."""
        assert self.step_rate is not None
        for k in range(number, number + AHEAD):
            if self._due(k / self.step_rate, target, command):
                return k / self.step_rate
        return (number + AHEAD) / self.step_rate

    def _stepped(self, t: float, state: StateView, discrete: DiscreteState) -> dict[str, Any]:
        """The target after a step that is due, and the instant of the next."""
        assert self.step is not None
        assert self.step_rate is not None
        target, command = float(discrete[self.key("target")]), float(discrete[self.key("command")])
        # a whole number of steps: sums of rounded ones would drift
        target = self.step * (round(target / self.step) + self._due(t, target, command))
        number = round(t * self.step_rate) + 1
        return {self.key("target"): target, self.key("next"): self._following(number, target, command)}

    def commands(self, layout: Layout) -> Mapping[str, Command]:
        """An angle that adds to its motion."""
        return {"angle": Command("rad", self.key("angle"))}

    def commanded(self, word: str, value: Floats, t: float, discrete: DiscreteState) -> Mapping[str, Any]:
        """The states after the command ``value`` (1,), rad, at the time t (s), where they were ``discrete``."""
        angle = float(np.ravel(value)[0])
        if self.step is None or self.step_rate is None:
            return {self.key("command"): angle, self.key("target"): angle}
        # the motor has had its step at this instant, before controllers: a command acts from the next sample on
        number = math.floor(t * self.step_rate * (1.0 + 1e-12)) + 1
        following = self._following(number, float(discrete[self.key("target")]), angle)
        return {self.key("command"): angle, self.key("next"): following}

    def numbers(self) -> list[float]:
        return [self.holding_torque, self.teeth, self.damping, 0.0, 0.0]

    def tables(self) -> list[Floats]:
        rows = [[each.order, each.phase, each.torque, each.angle, 0.0, 0.0] for each in self.harmonics or ()]
        return [np.reshape(rows, (-1, 6))]

    def inputs(self) -> Sequence[Input]:
        """Inputs of its target beside its steps, an input of linear models, and of these or a command."""
        label = self.key("angle")
        motion = (lambda t: 0.0) if self.step is not None else self.motion
        breakpoints = () if self.step is not None else breakpoints_of(self.motion)
        return Input(1, motion, breakpoints=breakpoints, label=label, unit="rad"), Input.of_array(self.key("target"))
