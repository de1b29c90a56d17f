"""End stops of a joint."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from femb.base.checks import Checks
from femb.base.types import OWN_UNITS, Unit
from femb.elements.joint.columns import STOPS
from femb.elements.joint.force import JointForce

NO_LIMIT = 1e300


@dataclass(frozen=True, eq=False, kw_only=True)
class JointStops(JointForce):
    """Resists motion beyond ``upper`` and below ``lower`` with stiffness depth^exponent g; depth is beyond the limit.

    lower, upper : rad or m; one of them may be omitted. stiffness : N m/rad^exponent or N/m^exponent. exponent : at
    least 1; by default 1.5, the contact of two spheres, where the force is smooth at the limit.
    damping : s/rad or s/m. g = y + sqrt(1 + y^2) with y = damping d(depth)/dt is about 1 + y, the model of Hunt and
    Crossley, and is positive at any rate: the stop never pulls. A body with the impact speed w has the rebound speed
    (1 - 2/3 damping w) w, approximately. Energy is stored in stiffness depth^exponent; damping counts as work.

    Raises ModelError: no limit, a lower limit not below the upper one, numbers below zero.
    Source: docs/theory/joint_forces.md, equations (6) to (8).
    """

    kind: ClassVar[str] = "stops"
    law: ClassVar[int] = STOPS

    stiffness: Annotated[float, OWN_UNITS]
    lower: Annotated[float | None, Unit("rad", stroke="m")] = None
    upper: Annotated[float | None, Unit("rad", stroke="m")] = None
    exponent: Annotated[float, Unit("")] = 1.5
    damping: Annotated[float, Unit("s/rad", stroke="s/m")] = 0.0

    def check(self, check: Checks) -> None:
        super().check(check)
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
        lower = -NO_LIMIT if self.lower is None else self.lower
        upper = NO_LIMIT if self.upper is None else self.upper
        return [lower, upper, self.stiffness, self.exponent, self.damping]
