"""Dry friction in a joint."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from femb.base.checks import Checks
from femb.base.types import Unit
from femb.elements.joint.columns import FRICTION
from femb.elements.joint.force import JointForce

# Default Stribeck rate, in transition rates.
STRIBECK = 10.0


@dataclass(frozen=True, eq=False, kw_only=True)
class JointFriction(JointForce):
    """Resists with (coulomb + (static - coulomb) exp(-(rate/stribeck_rate)^2)) tanh(rate/transition_rate)
    + viscous rate.

    coulomb : N m or N, at rates far above the two other rates. transition_rate : rad/s or m/s, over which friction is
    developed; below it the joint creeps like a dashpot of coulomb/transition_rate and never sticks completely. A
    hundredth of the typical rate is a good choice with an implicit method; an explicit one needs steps shorter than the
    inertia times transition_rate/coulomb.
    static : N m or N, by default ``coulomb``: the peak before sliding; the transition reduces it by a few per cent.
    stribeck_rate : rad/s or m/s, over which friction decreases to coulomb, by default 10 transition_rate. viscous :
    N m s/rad or N s/m.

    The friction does not depend on the reaction of the joint.

    Raises ModelError: numbers below zero, static below coulomb. Source: docs/theory/joint_forces.md, equation (5).
    """

    kind: ClassVar[str] = "friction"
    law: ClassVar[int] = FRICTION

    coulomb: Annotated[float, Unit("N m", stroke="N")]
    transition_rate: Annotated[float, Unit("rad/s", stroke="m/s")]
    static: Annotated[float | None, Unit("N m", stroke="N")] = None
    stribeck_rate: Annotated[float | None, Unit("rad/s", stroke="m/s")] = None
    viscous: Annotated[float, Unit("N m s/rad", stroke="N s/m")] = 0.0

    def check(self, check: Checks) -> None:
        super().check(check)
        check.not_negative("coulomb", "static", "viscous")
        check.positive("transition_rate", "stribeck_rate")
        if self.static is not None and not check.bad:
            check.require("static", self.static >= self.coulomb, f"must be at least coulomb, {self.coulomb:g}")

    def numbers(self) -> list[float]:
        excess = 0.0 if self.static is None else self.static - self.coulomb
        stribeck = STRIBECK * self.transition_rate if self.stribeck_rate is None else self.stribeck_rate
        return [self.coulomb, excess, self.transition_rate, stribeck, self.viscous]
