"""End stops of a joint."""

from dataclasses import dataclass
from typing import ClassVar

from femb.base.checks import Checks
from femb.elements.joint.force import JointForce
from femb.elements.joint.force_kernels import STOPS

NONE = 1e300


@dataclass(frozen=True, eq=False, kw_only=True)
class JointStops(JointForce):
    """Pushes back by stiffness depth^exponent g beyond ``upper`` and below ``lower``, with the depth beyond the limit.

    lower, upper : rad or m; one of them may be left out. stiffness : N m/rad^exponent or N/m^exponent. exponent : at
    least 1; 1.5 by default, as of two balls, so that the push sets in without a kink.
    damping : s/rad or s/m. g = y + sqrt(1 + y^2) with y = damping d(depth)/dt is about 1 + y, the model of Hunt and
    Crossley, and is above zero at any rate: the stop never pulls. A body that meets a stop at the speed w leaves it at
    about (1 - 2/3 damping w) w. Energy is stored in stiffness depth^exponent; what the damping does is work.

    Raises ModelError: no limit, limits that leave nothing between them, numbers below zero.
    Source: docs/theory/joint_forces.md, equations (6) to (8).
    """

    kind: ClassVar[str] = "stops"
    law: ClassVar[int] = STOPS

    stiffness: float
    lower: float | None = None
    upper: float | None = None
    exponent: float = 1.5
    damping: float = 0.0

    def check(self, check: Checks) -> None:
        check.positive("stiffness")
        check.not_negative("damping")
        if "exponent" not in check.bad:
            check.require("exponent", self.exponent >= 1.0, "must be at least 1")
        if self.lower is None and self.upper is None:
            check.fail("lower", "neither lower nor upper is given")
        elif self.lower is not None and self.upper is not None and not {"lower", "upper"} & check.bad:
            check.require("upper", self.lower < self.upper, f"must be above lower, {self.lower:g}")

    def limits(self) -> list[tuple[float, float]]:
        return [(sense, x) for sense, x in ((1.0, self.lower), (-1.0, self.upper)) if x is not None]

    def numbers(self) -> list[float]:
        lower = -NONE if self.lower is None else self.lower
        upper = NONE if self.upper is None else self.upper
        return [lower, upper, self.stiffness, self.exponent, self.damping]
