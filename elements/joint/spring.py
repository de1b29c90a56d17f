"""Spring and dashpot along a coordinate of a joint."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from femb.base.checks import Checks
from femb.base.types import Unit
from femb.elements.joint.columns import SPRING
from femb.elements.joint.force import JointForce, law_of_coordinate
from femb.layout.element import Input


@dataclass(frozen=True, eq=False)
class JointSpringDamper(JointForce):
    """Resists with stiffness (c - free) + damping dc/dt, where c is the angle (rad) or the stroke (m).

    stiffness : N m/rad or N/m. damping : N m s/rad or N s/m. free : the coordinate (rad, m) without elastic force; a
    joint with another start value has the preload stiffness (start - free).
    force : in Python, a callable ``(c, rate) -> N m or N`` for an additional force; or ``-> (force, by c, by rate)``
    with its derivatives; Newton's iteration uses zeros for derivatives that are not given. The energy of force and
    damping counts as work; only the stiffness stores energy.

    Raises ModelError: neither stiffness, damping nor force, or numbers below zero.
    Source: docs/theory/joint_forces.md, equation (4).
    """

    kind: ClassVar[str] = "joint"
    law: ClassVar[int] = SPRING

    stiffness: Annotated[float, Unit("N m/rad", stroke="N/m")] = 0.0
    damping: Annotated[float, Unit("N m s/rad", stroke="N s/m")] = 0.0
    free: Annotated[float, Unit("rad", stroke="m")] = 0.0
    force: Callable[[float, float], Any] | None = None

    def check(self, check: Checks) -> None:
        super().check(check)
        check.not_negative("stiffness", "damping")
        if self.force is not None and not callable(self.force):
            check.fail("force", f"got {self.force!r}, wanted a function (coordinate, rate) -> N m or N")
        if not check.bad and self.stiffness == 0.0 and self.damping == 0.0 and self.force is None:
            check.fail("stiffness", "neither stiffness nor damping is given")

    def numbers(self) -> list[float]:
        return [self.stiffness, self.damping, self.free, 0.0, 0.0]

    def input(self) -> Input | None:
        if self.force is None:
            return None
        return Input.of_law(law_of_coordinate(self, self.force), f"springs.{self.name}.force")
