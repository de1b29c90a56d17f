"""Motor: a given torque or force along a coordinate of a joint."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group
from femb.base.types import Floats, Unit
from femb.elements.item import is_set
from femb.elements.joint.columns import MOTOR
from femb.elements.joint.force import JointForce
from femb.elements.joint.rows import ANGLE, Z
from femb.elements.load.load import LoadResults
from femb.layout.element import (
    Batch,
    Command,
    Input,
    add_command,
    breakpoints_of,
    clip_count,
    clipped_command,
    command_array,
)
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses
from femb.profiles import Constant, Profile, check_profile


@dataclass(frozen=True, eq=False, kw_only=True)
class JointMotor(JointForce):
    """A torque (N m) on an angle or a force (N) on a stroke, positive in the direction of increasing coordinate.

    force : a number, multiplied by the profile; or in Python a callable ``(t, state) -> force``, where
    ``state.joints[joint]`` is the joint's motion (femb.layout.state.State), or ``-> (force, by coordinate, by rate)``
    with its derivatives; Newton's iteration uses zeros for derivatives that are not given.
    profile : a Profile of femb.profiles or any callable of time (without declared breakpoints).
    A controller may set the command ``force``, which adds to it. max_force : N m or N, of the command; what exceeds it
    is clipped.

    Source: docs/theory/joint_forces.md, equation (9).
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "motor"
    results: ClassVar[type[Group]] = LoadResults
    law: ClassVar[int] = MOTOR
    sense: ClassVar[float] = -1.0

    force: Annotated[float | Callable[..., Any], Unit("N m", stroke="N")]
    profile: Profile = Constant()  # noqa: RUF009 - frozen
    max_force: Annotated[float | None, Unit("N m", stroke="N")] = None

    def check(self, check: Checks) -> None:
        super().check(check)
        check.positive("max_force")
        check.require("force", self.force is not None, "wanted a number or a function (t, state) -> N m or N")
        check_profile(check, "force")

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """None: it acts between the two ends of its joint."""
        return ()

    @property
    def _command(self) -> str:
        return f"loads.{self.name}.force"

    def commands(self, layout: Layout) -> dict[str, Command]:
        """A torque or force along its coordinate; none where it is a function."""
        if callable(self.force):
            return {}
        limit = inf if self.max_force is None else self.max_force
        return {"force": Command("N m or N", self._command, limit=limit, columns=self._columns(layout))}

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

    def commanded(self, word: str, value: Floats, t: float, discrete: Mapping[str, Floats]) -> dict[str, Any]:
        """The command ``word`` of ``value`` (k,), N or N m, at t (s), within its limit, and the count of those beyond.

        discrete : the present discrete state.
        """
        return clipped_command(self._command, value, self.max_force, discrete)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        super().declare_dofs(layout, placement, model)
        if self.commands(layout) and is_set(model, self._command):
            add_command(layout, self._command)

    @staticmethod
    def batches(items: list[Any], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all motors, with a force of its own for each command."""
        from femb.elements.item_states import RecordedArrays

        own = [_WithCommand(item) if command_array(item._command) in layout.discrete else item for item in items]
        commands = [_MotorCommand(each.motor) for each in own if isinstance(each, _WithCommand)]
        clips = {f"loads/{each.name}/force_clips": clip_count(each._command) for each in items}
        return [*JointForce.batches([*own, *commands], layout, model), *RecordedArrays.of(clips, layout)]

    def numbers(self) -> list[float]:
        return [1.0 if callable(self.force) else self.force, 0.0, 0.0, 0.0, 0.0]

    def input(self) -> Input:
        force = self.force
        if callable(force):
            return Input.of_law(force, self._command)
        return Input.of_profile(self.profile, self._command)


class _WithCommand:
    """A motor that a controller sets: its force is an input of linear models in N m or N, not as a factor."""

    def __init__(self, motor: JointMotor) -> None:
        self.motor = motor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.motor, name)

    def numbers(self) -> list[float]:
        """A factor of one."""
        return [1.0, 0.0, 0.0, 0.0, 0.0]

    def input(self) -> Input:
        """The motor's own force."""
        force, profile = float(self.motor.force), self.motor.profile  # type: ignore[arg-type]
        label = self.motor._command
        return Input(1, lambda t: force * profile(t), breakpoints=breakpoints_of(profile), label=label, unit="N m or N")


class _MotorCommand(_WithCommand):
    """The command of a motor, as a force of its own."""

    def input(self) -> Input:
        """The held command."""
        return Input.of_array(command_array(self.motor._command), 1)
