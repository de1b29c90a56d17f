"""Driver of orientation: one body's attitude relative to another follows a function of time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import SolveError
from femb.base.types import Floats, Matrix3, Unit
from femb.base.values import shown
from femb.elements.body.body import check_sequence
from femb.elements.joint.columns import ORIENTATION
from femb.elements.joint.constraint_set import ConstraintRow
from femb.elements.joint.driver import Follow, PlaceDriver, as_array, call_user, check_motion, motion_function
from femb.elements.marker import Place
from femb.layout.element import Input, breakpoints_of
from femb.layout.layout import DriverLayout, Layout
from femb.layout.views import ModelView, StartPoses
from femb.numerics import euler, rotations
from femb.numerics.turns import EulerSequence
from femb.profiles import Profile

ANGLES = ("first_angle", "second_angle", "third_angle")
MOTION_WIDTH = 10  # quaternion, angular velocity and angular acceleration


@dataclass(frozen=True, eq=False)
class OrientationDriver(PlaceDriver):
    """The attitude of the second end relative to the first follows a function of time; their positions are free.

    first, second : bodies, the ground or beam nodes. first_angle, second_angle, third_angle : motions of the Euler
    angles (rad) of the second in the axes of the first, by default zero; sequence : of those angles, one of the
    twelve, intrinsic, or any three axes, a row each. The angles may pass gimbal lock, because only the attitude is
    driven.
    motion : in Python, instead of angles, a function of time that returns the quaternion (4,) second to first, and the
    angular velocity and angular acceleration (3,) of the second relative to the first, in the axes of the second.

    Value: the quaternion; rate: the relative angular velocity (rad/s); force: the torque (N m) on the second; both in
    the axes of the second. Raises ModelError: no motion, both motion and angles, a motion without two derivatives.
    Source: docs/theory/constraints.md, section 3.
    """

    kind: ClassVar[str] = "orientation"
    acts_on_attitude: ClassVar[bool] = True

    first: Place
    second: Place
    first_angle: Annotated[Profile | Callable[..., Any] | None, Unit("rad")] = None
    second_angle: Annotated[Profile | Callable[..., Any] | None, Unit("rad")] = None
    third_angle: Annotated[Profile | Callable[..., Any] | None, Unit("rad")] = None
    sequence: Annotated[EulerSequence | Matrix3, Unit("")] = "xyz"
    motion: Callable[..., Any] | None = None

    def check(self, check: Checks) -> None:
        super().check(check)
        check_sequence(check, "sequence")
        given = [angle for angle in ANGLES if getattr(self, angle) is not None]
        for angle in given:
            check_motion(check, angle)
        if self.motion is None and not given:
            check.fail("first_angle", "no motion is given: give one or more of the three angles")
        if self.motion is not None and not callable(self.motion):
            check.fail("motion", f"got {shown(self.motion)}, wanted a function of time")
        if self.motion is not None and given:
            check.fail("motion", f"given beside {given[0]!r}: give the angles or the motion as a whole")

    def unit(self, layout: Layout) -> str:
        return "rad"

    def components(self, layout: Layout) -> tuple[str, ...]:
        return ("x", "y", "z")

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Three rows; their input is the relative motion of the frames of the two ends."""
        super().declare_dofs(layout, placement, model)
        entry = layout.drivers[self.name]
        (of_ends,) = entry.inputs
        of_frames = replace(of_ends, function=lambda t: _of_frames(entry, of_ends.function(t)))
        layout.drivers[self.name] = replace(entry, inputs=(of_frames,))

    def inputs(self) -> list[Input]:
        """The motion of the axes of the second end relative to those of the first."""
        breakpoints: set[float] = set()
        for angle in ANGLES:
            breakpoints |= set(breakpoints_of(getattr(self, angle)))
        breakpoints |= set(breakpoints_of(self.motion))
        field = "motion" if self.motion is not None else next(x for x in ANGLES if getattr(self, x) is not None)
        label = f"drivers.{self.name}.{field}"
        function = self._from_angles() if self.motion is None else self._from_motion(label)
        return [Input(MOTION_WIDTH, function, breakpoints=tuple(sorted(breakpoints)), label=label)]

    def _from_angles(self) -> Follow:
        parts: list[Follow] = []
        for angle in ANGLES:
            motion = getattr(self, angle)
            label = f"drivers.{self.name}.{angle}"
            parts.append(motion_function(motion, label) if motion is not None else lambda t: (0.0, 0.0, 0.0))
        return lambda t: motion_of_angles(np.array([part(t) for part in parts]).T, self.sequence)

    def _from_motion(self, label: str) -> Follow:
        wanted = "a quaternion of length 1, an angular velocity and an angular acceleration"

        def follow(t: float) -> Floats:
            value = call_user(self.motion, label, t)  # type: ignore[arg-type]
            if not isinstance(value, tuple | list) or len(value) != 3:
                raise SolveError(f"{label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}")
            parts = [as_array(part, (size,), wanted, label, t) for part, size in zip(value, (4, 3, 3), strict=True)]
            if abs(np.linalg.norm(parts[0]) - 1.0) > 1e-6:
                raise SolveError(f"{label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}")
            parts[0] /= np.linalg.norm(parts[0])
            return np.concatenate(parts)

        return follow

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        entry = layout.drivers[self.name]
        frames, rows = (entry.first.frame, entry.second.frame), enumerate(entry.rows)
        return [ConstraintRow(number, ORIENTATION, *frames, constant=float(k), follows=0) for k, number in rows]

    def outputs(self, entry: DriverLayout, motions: list[Floats], multipliers: Floats) -> tuple[Floats, Floats, Floats]:
        """As of ``Driver``: the quaternion (T, 4) and angular velocity (T, 3) rad/s of the second end, and its
        torque."""
        # close to Phi = 0 the rows are half the rotation error, in the axes of the second frame
        first, second = entry.first.rotation, entry.second.rotation
        value = rotations.multiply(rotations.conjugate(first), rotations.multiply(motions[0][:, :4], second))
        return (
            value,
            rotations.rotate_back(second, motions[0][:, 4:7]),
            rotations.rotate_back(second, -0.5 * multipliers),
        )


def _of_frames(entry: DriverLayout, motion: Floats) -> Floats:
    """The relative motion (10,) of the frames of two ends, from that of the ends."""
    first, second = entry.first.rotation, entry.second.rotation
    quaternion = rotations.multiply(first, rotations.multiply(motion[:4], rotations.conjugate(second)))
    return np.concatenate([quaternion, rotations.rotate(second, motion[4:7]), rotations.rotate(second, motion[7:])])


def motion_of_angles(angles: Floats, sequence: Any) -> Floats:
    """(10,) quaternion, angular velocity and acceleration in body axes, of Euler angles, rates and their rates (3, 3).

    omega = g1 a' + g2 b' + g3 c'. The axis g3 is fixed in the body; relative to the body, g1 and g2 rotate opposite to
    the subsequent rotations of the sequence.
    """
    value, rate, second = angles
    g1, g2, g3 = euler.euler_axes(value, sequence).T
    after_second = g3 * rate[2]
    after_first = g2 * rate[1] + after_second
    omega = g1 * rate[0] + after_first
    alpha = g1 * second[0] + g2 * second[1] + g3 * second[2]
    alpha -= np.cross(after_first, g1) * rate[0] + np.cross(after_second, g2) * rate[1]
    return np.concatenate([euler.from_euler(value, sequence), omega, alpha])
