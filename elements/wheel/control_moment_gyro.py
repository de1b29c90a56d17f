"""Control-moment gyro: a wheel on one or two gimbals, which are bodies on joints."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.meanings import Description
from femb.base.profile import Integral, check_rate
from femb.base.types import POSITIVE, Direction, Inertia, Unit
from femb.base.values import shown
from femb.elements.body.body import RigidBody, inertia_matrix
from femb.elements.item import Item
from femb.elements.joint.driver import JointDriver, check_motion
from femb.elements.joint.force import JointMotor
from femb.elements.joint.joint import Revolute
from femb.elements.marker import LEAST_SINE, JointEnd, Place
from femb.elements.wheel.reaction_wheel import ReactionWheel
from femb.profiles import Constant, Profile


def check_gimbal(check: Checks, prefix: str = "") -> None:
    """Report problems of the fields of a gimbal, whose names begin with ``prefix``."""
    item = check.item
    matrix, problem = inertia_matrix(getattr(item, f"{prefix}inertia"), 0.0, np.zeros(3))
    if problem:
        check.fail(f"{prefix}inertia", problem)
    else:
        object.__setattr__(item, f"{prefix}inertia", matrix)
    if callable(getattr(item, f"{prefix}rate")):
        check_rate(check, f"{prefix}rate")
        torque = getattr(item, f"{prefix}torque")
        clear = not callable(torque) and torque == 0.0
        reason = "given beside a profile of the rate: the motor that follows it has no torque of its own"
        check.require(f"{prefix}torque", clear, reason)
    if callable(getattr(item, f"{prefix}angle")):
        check_motion(check, f"{prefix}angle")
        for word, zero in ((f"{prefix}torque", "the motor that follows it has no torque of its own"),
                           (f"{prefix}rate", "the motion has its own rate")):  # fmt: skip
            given = getattr(item, word)
            check.require(word, not callable(given) and given == 0.0, f"given beside a motion of the angle: {zero}")


@dataclass(frozen=True, eq=False)
class Gimbal(Description):
    """The outer gimbal of a gyro with two. Its angle, rate and torque are as those of the inner gimbal,
    ``ControlMomentGyro``.

    Raises ModelError: a mass that is not positive, an inertia that no body has, an axis of length zero, a rate that
    jumps.
    """

    axis: Direction
    """of the gimbal, in the axes of the host, at the angle zero"""
    mass: Annotated[float, Unit("kg"), POSITIVE]
    """of the gimbal alone"""
    inertia: Inertia
    """of the gimbal alone about its mass centre, in the axes of the host at the angle zero"""
    angle: Annotated[float | Profile, Unit("rad")] = 0.0
    """at the start; or a profile, which the gimbal follows"""
    rate: Annotated[float | Profile, Unit("rad/s")] = 0.0
    """at the start; or a profile, followed from the angle at the start"""
    torque: Annotated[float | Profile, Unit("N m")] = 0.0
    """of the motor of the gimbal"""

    def __post_init__(self) -> None:
        with Checks(self, "outer_gimbal") as check:
            check_gimbal(check)


@dataclass(frozen=True, eq=False)
class ControlMomentGyro(ReactionWheel):
    """A control-moment gyro: a wheel on a gimbal that turns about ``gimbal_axis``, or on two gimbals.

    Fields of ``ReactionWheel`` are those of the wheel. Its place is the crossing of the axes on the host. It makes the
    body, the joint and the motor NAME_gimbal (of a profile of angle or rate the driver), and those of the outer gimbal
    NAME_outer: stops, friction and springs name these joints, controllers the motors.

    Raises ModelError: what a wheel raises; a gimbal axis along that of the wheel, an inertia that no body has, an angle
    without two derivatives, a rate that jumps. Source: docs/theory/wheels.md, equation (8).
    """

    kind: ClassVar[str] = "control_moment"

    gimbal_axis: Direction = field(kw_only=True)
    """host axes (at the outer angle zero); axis is that of the wheel at the gimbal angle zero, host axes"""
    gimbal_mass: Annotated[float, Unit("kg"), POSITIVE] = field(kw_only=True)
    """of the gimbal with the wheel, unless that has a mass of its own"""
    gimbal_inertia: Inertia = field(kw_only=True)
    """of the same about the crossing with the wheel locked, host axes at the angle zero"""
    gimbal_angle: Annotated[float | Profile, Unit("rad")] = 0.0
    """at the start; or a profile, which the gimbal follows"""
    gimbal_rate: Annotated[float | Profile, Unit("rad/s")] = 0.0
    """at the start; or a profile, followed from the angle at the start"""
    gimbal_torque: Annotated[float | Profile, Unit("N m")] = 0.0
    """of the motor of the gimbal"""
    outer: Gimbal | None = None
    """a femb.Gimbal between the host and this one"""

    def check(self, check: Checks) -> None:
        super().check(check)
        check_gimbal(check, "gimbal_")
        if self.outer is not None and not isinstance(self.outer, Gimbal):
            check.fail("outer", f"got {shown(self.outer)}, wanted a femb.Gimbal")
        if not {"axis", "gimbal_axis"} & check.bad:
            sine = np.linalg.norm(np.cross(self.axis, self.gimbal_axis)) / np.linalg.norm(self.gimbal_axis)
            check.require("gimbal_axis", sine > LEAST_SINE, "is along the axis of the wheel, which it would not turn")

    @property
    def on(self) -> Place:
        return Place(f"{self.name}_gimbal")

    @cached_property
    def _made(self) -> tuple[Item, ...]:
        inner = Gimbal(
            self.gimbal_axis,
            self.gimbal_mass,
            self.gimbal_inertia,
            self.gimbal_angle,
            self.gimbal_rate,
            self.gimbal_torque,
        )
        if self.outer is None:
            return gimbal_items(f"{self.name}_gimbal", self.host, inner)
        outer = f"{self.name}_outer"
        return (*gimbal_items(outer, self.host, self.outer), *gimbal_items(f"{self.name}_gimbal", Place(outer), inner))

    def parts(self) -> tuple[Item, ...]:
        return self._made


def gimbal_items(name: str, on: Place, gimbal: Gimbal) -> tuple[Item, ...]:
    """The body of a gimbal, its joint and its motor or driver, all of one name."""
    body = RigidBody(name, gimbal.mass, gimbal.inertia)
    ends = JointEnd(on.body, on.beam, on.at, on.node, axis=gimbal.axis), JointEnd(name, axis=gimbal.axis)
    if callable(gimbal.angle):
        joint = Revolute(name, *ends, start=float(np.ravel(gimbal.angle(0.0))[0]))
        return body, joint, JointDriver(name, name, gimbal.angle)
    if callable(gimbal.rate):
        return (
            body,
            Revolute(name, *ends, start=gimbal.angle),
            JointDriver(name, name, Integral(gimbal.rate, gimbal.angle)),
        )
    joint = Revolute(name, *ends, start=gimbal.angle, rates=gimbal.rate)
    profile = gimbal.torque if callable(gimbal.torque) else Constant()
    force = 1.0 if callable(gimbal.torque) else gimbal.torque
    return body, joint, JointMotor(name=name, joint=name, force=force, profile=profile)
