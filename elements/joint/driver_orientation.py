"""Driver of orientation: one body's attitude relative to another follows a function of time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import SolveError
from femb.base.types import Floats, Matrix3
from femb.base.values import shown
from femb.elements.body.rigid_body import check_sequence
from femb.elements.joint.constraint_kernels import ORIENTATION
from femb.elements.joint.constraint_set import Row
from femb.elements.joint.driver import Driver, Follow, asked, check_motion, checked, followed
from femb.elements.marker import Place, check_markers
from femb.layout.element import Input, breakpoints_of
from femb.layout.layout import DriverLayout, Layout, Station
from femb.numerics import euler, rotations
from femb.numerics.turns import EulerSequence
from femb.profiles import Profile

ANGLES = ("first_angle", "second_angle", "third_angle")
WIDTH = 10  # quaternion, angular velocity and angular acceleration


@dataclass(frozen=True, eq=False)
class OrientationDriver(Driver):
    """The attitude of the second place relative to the first follows a function of time; their positions are free.

    first, second : bodies, the ground or beam nodes. first_angle, second_angle, third_angle : motions of the Euler
    angles (rad) of the second in the axes of the first, zero if left out; sequence : of those angles, one of the
    twelve, intrinsic, or any three axes, a row each. They may pass gimbal lock: what is driven is the attitude that
    they describe.
    motion : in Python, in their place, a function of time that returns the quaternion (4,) second to first, and the
    angular velocity and angular acceleration (3,) of the second relative to the first, in the axes of the second.

    Value: the quaternion; rate: the relative angular velocity (rad/s); force: the torque (N m) on the second; both in
    the axes of the second. Raises ModelError: no motion, angles beside it, a motion without two derivatives.
    Source: docs/theory/constraints.md, section 3.
    """

    kind: ClassVar[str] = "orientation"
    acts_on_attitude: ClassVar[bool] = True

    first: Place
    second: Place
    first_angle: Profile | Callable[..., Any] | None = None
    second_angle: Profile | Callable[..., Any] | None = None
    third_angle: Profile | Callable[..., Any] | None = None
    sequence: EulerSequence | Matrix3 = "xyz"
    motion: Callable[..., Any] | None = None

    def check(self, check: Checks) -> None:
        check_markers(check, Place, "first", "second")
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

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """The places it names, by field."""
        return {("first",): self.first, ("second",): self.second}

    def components(self, layout: Layout) -> tuple[str, ...]:
        return ("x", "y", "z")

    def ends(self, layout: Layout) -> tuple[Station, Station]:
        return layout.station(self.first), layout.station(self.second)

    def declare_dofs(self, layout: Layout, placement: Any, model: Any) -> None:
        """Three rows, which follow the motion of the frames that carry the two places."""
        super().declare_dofs(layout, placement, model)
        where = layout.drivers[self.name]
        (of_places,) = where.inputs
        of_frames = replace(of_places, function=lambda t: _of_frames(where, of_places.function(t)))
        layout.drivers[self.name] = replace(where, inputs=(of_frames,))

    def inputs(self) -> list[Input]:
        """The motion of the second place's axes relative to the first's."""
        breakpoints: set[float] = set()
        for angle in ANGLES:
            breakpoints |= set(breakpoints_of(getattr(self, angle)))
        breakpoints |= set(breakpoints_of(self.motion))
        field = "motion" if self.motion is not None else next(x for x in ANGLES if getattr(self, x) is not None)
        label = f"drivers.{self.name}.{field}"
        function = self._angles() if self.motion is None else self._whole(label)
        return [Input(WIDTH, function, breakpoints=tuple(sorted(breakpoints)), label=label)]

    def _angles(self) -> Follow:
        parts: list[Follow] = []
        for angle in ANGLES:
            motion = getattr(self, angle)
            label = f"drivers.{self.name}.{angle}"
            parts.append(followed(motion, label) if motion is not None else lambda t: (0.0, 0.0, 0.0))
        return lambda t: turned_by(np.array([part(t) for part in parts]).T, self.sequence)

    def _whole(self, label: str) -> Follow:
        wanted = "a quaternion of length 1, an angular velocity and an angular acceleration"

        def follow(t: float) -> Floats:
            value = asked(self.motion, label, t)  # type: ignore[arg-type]
            if not isinstance(value, tuple | list) or len(value) != 3:
                raise SolveError(f"{label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}")
            parts = [checked(each, (size,), wanted, label, t) for each, size in zip(value, (4, 3, 3), strict=True)]
            if abs(np.linalg.norm(parts[0]) - 1.0) > 1e-6:
                raise SolveError(f"{label}: got {shown(value)} at t = {t:.6g} s, wanted {wanted}")
            parts[0] /= np.linalg.norm(parts[0])
            return np.concatenate(parts)

        return follow

    def constraint_rows(self, layout: Layout) -> list[Row]:
        where = layout.drivers[self.name]
        frames = where.first.frame, where.second.frame
        return [Row(number, ORIENTATION, *frames, constant=float(k), follows=0) for k, number in enumerate(where.rows)]

    def outputs(self, where: DriverLayout, motions: list[Floats], multipliers: Floats) -> tuple[Floats, Floats, Floats]:
        # where the row is met, it is half the turn that is left, in the axes of the second frame
        first, second = where.first.rotation, where.second.rotation
        value = rotations.multiply(rotations.conjugate(first), rotations.multiply(motions[0][:, :4], second))
        return (
            value,
            rotations.rotate_back(second, motions[0][:, 4:7]),
            rotations.rotate_back(second, -0.5 * multipliers),
        )


def _of_frames(where: DriverLayout, motion: Floats) -> Floats:
    """The motion of the frames that carry two places, from that of the places."""
    first, second = where.first.rotation, where.second.rotation
    quaternion = rotations.multiply(first, rotations.multiply(motion[:4], rotations.conjugate(second)))
    return np.concatenate([quaternion, rotations.rotate(second, motion[4:7]), rotations.rotate(second, motion[7:])])


def turned_by(angles: Floats, sequence: Any) -> Floats:
    """(10,) quaternion, angular velocity and acceleration in body axes, of Euler angles, rates and their rates (3, 3).

    omega = g1 a' + g2 b' + g3 c', where the axis g3 is fixed in the body, and g1 and g2 turn in it against the turns
    that are made after their own.
    """
    value, rate, second = angles
    g1, g2, g3 = euler.euler_axes(value, sequence).T
    after_second = g3 * rate[2]
    after_first = g2 * rate[1] + after_second
    omega = g1 * rate[0] + after_first
    alpha = g1 * second[0] + g2 * second[1] + g3 * second[2]
    alpha -= np.cross(after_first, g1) * rate[0] + np.cross(after_second, g2) * rate[1]
    return np.concatenate([euler.from_euler(value, sequence), omega, alpha])
