"""Motor: a given torque or force along a coordinate of a joint."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from femb.base.checks import Checks
from femb.base.types import Unit
from femb.elements.joint.force import JointForce
from femb.elements.joint.force_batch import MOTOR
from femb.layout.element import Input
from femb.profiles import Constant, Profile, check_profile


@dataclass(frozen=True, eq=False, kw_only=True)
class JointMotor(JointForce):
    """A torque (N m) on an angle or a force (N) on a stroke, positive in the direction of increasing coordinate.

    force : a number, multiplied by the profile; or in Python a callable ``(t, state) -> force``, where
    ``state.joints[joint]`` is the joint's motion (femb.layout.state.State), or ``-> (force, by coordinate, by rate)``
    with its derivatives; Newton's iteration uses zeros for derivatives that are not given.
    profile : a Profile of femb.profiles or any callable of time (without declared breakpoints).

    Source: docs/theory/joint_forces.md, equation (9).
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "motor"
    law: ClassVar[int] = MOTOR
    sense: ClassVar[float] = -1.0

    force: Annotated[float | Callable[..., Any], Unit("N m", stroke="N")]
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
        super().check(check)
        check.require("force", self.force is not None, "wanted a number or a function (t, state) -> N m or N")
        check_profile(check, "force")

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """None: it acts between the two ends of its joint."""
        return ()

    def numbers(self) -> list[float]:
        return [1.0 if callable(self.force) else self.force, 0.0, 0.0, 0.0, 0.0]

    def input(self) -> Input:
        label, force = f"loads.{self.name}.force", self.force
        if callable(force):
            return Input.of_law(force, label)
        return Input.of_profile(self.profile, label)
