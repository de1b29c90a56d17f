"""Dry friction in a joint."""

from dataclasses import dataclass
from typing import ClassVar

from femb.base.checks import Checks
from femb.elements.joint.force import JointForce
from femb.elements.joint.force_kernels import FRICTION

# Stribeck rate in transition rates, where it is not given.
STRIBECK = 10.0


@dataclass(frozen=True, eq=False, kw_only=True)
class JointFriction(JointForce):
    """Resists with (coulomb + (static - coulomb) exp(-(rate/stribeck_rate)^2)) tanh(rate/transition_rate)
    + viscous rate.

    coulomb : N m or N, at a rate well above both others. transition_rate : rad/s or m/s, over which friction builds up;
    below it the joint creeps as in a dashpot of coulomb/transition_rate, so that it never sticks altogether. A
    hundredth of the typical rate is a good choice with an implicit method; an explicit one takes steps shorter than the
    inertia times transition_rate/coulomb.
    static : N m or N, by default ``coulomb``: the peak before sliding, of which a few per cent are lost to the
    transition. stribeck_rate : rad/s or m/s, over which it falls, by default 10 transition_rate. viscous : N m s/rad
    or N s/m.

    The force of the joint's bearing does not enter. Raises ModelError: numbers below zero, static below coulomb.
    Source: docs/theory/joint_forces.md, equation (5).
    """

    kind: ClassVar[str] = "friction"
    law: ClassVar[int] = FRICTION

    coulomb: float
    transition_rate: float
    static: float | None = None
    stribeck_rate: float | None = None
    viscous: float = 0.0

    def check(self, check: Checks) -> None:
        check.not_negative("coulomb", "static", "viscous")
        check.positive("transition_rate", "stribeck_rate")
        if self.static is not None and not check.bad:
            check.require("static", self.static >= self.coulomb, f"must be at least coulomb, {self.coulomb:g}")

    def numbers(self) -> list[float]:
        more = 0.0 if self.static is None else self.static - self.coulomb
        fall = STRIBECK * self.transition_rate if self.stribeck_rate is None else self.stribeck_rate
        return [self.coulomb, more, self.transition_rate, fall, self.viscous]
