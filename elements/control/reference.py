"""References of attitudes: a fixed attitude, a turn about an axis by a profile, and the axes of an orbit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.meanings import Description
from femb.base.types import Direction, Floats, OneOf, Quaternion, Unit
from femb.elements.control.signals import Signal
from femb.elements.environment.orbital_frame import frame_of, motion_of
from femb.elements.item import FRAMES
from femb.elements.load.orbit import GravityGradient, Orbit
from femb.layout.element import breakpoints_of
from femb.layout.views import ModelView
from femb.numerics import rotations
from femb.profiles import Profile

Axes = Callable[[float], tuple[Floats, Floats]]
"""A function of the time (s): the quaternion (4,) from moving axes to inertial ones, and their angular velocity (3,),
rad/s, in these axes."""


@dataclass(frozen=True, eq=False)
class AttitudeReference(Description):
    """The attitude that a controller holds a body to: ``quaternion``, then a turn by ``angle`` about ``axis``."""

    quaternion: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """from the axes of the body to inertial ones, or to those of the orbit"""
    axis: Direction | None = None
    """of the turn, in axes of the body"""
    angle: Annotated[Profile | Callable[..., Any] | None, Unit("rad")] = None
    """a profile with two derivatives, as with a slew"""
    relative_to: Annotated[str, OneOf(FRAMES)] = "inertial"
    """either "inertial", or "orbit" for the axes along the motion (x), across the orbit (y) and towards the centre
    (z)"""

    def __post_init__(self) -> None:
        with Checks(self, "reference") as check:
            if (self.axis is None) != (self.angle is None):
                check.fail("axis" if self.axis is None else "angle", "is missing: a turn has an axis and an angle")
            if self.angle is not None and "angle" not in check.bad:
                check.require("angle", hasattr(self.angle, "derivatives"), "wanted a profile with two derivatives")

    def fixed_in(self, frame: str) -> bool:
        """Whether it does not move, and is read in a frame, "inertial" or "orbit", in which it rests."""
        return self.angle is None and self.relative_to == frame == "inertial"

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The instants (s) at which it is not smooth."""
        return breakpoints_of(self.angle) if self.angle is not None else ()

    def axes(
        self, model: ModelView, path: tuple[str, ...], attitude: Signal | None = None, rate: Signal | None = None
    ) -> Axes:
        """Its axes by time, in a ``model``: a quaternion (4,) and an angular velocity (3,) rad/s, of the time (s).

        path : of the item that has it, for messages. attitude, rate : what is compared with it at that time: the
        quaternion leads to the frame of the attitude, and the orbit is that at the instants at which both were
        measured; by default inertial axes and the time itself. The velocity is always inertial. Raises ModelError: no
        orbit.
        """
        frame = "inertial" if attitude is None else attitude.frame
        base = rotations.normalise(self.quaternion)
        orbit = orbit_of(model, path) if "orbit" in (self.relative_to, frame) else None
        unit = None if self.axis is None else np.asarray(self.axis, dtype=float) / np.linalg.norm(self.axis)

        def at(t: float) -> tuple[Floats, Floats]:
            quaternion, spin = base, np.zeros(3)
            if orbit is not None:
                if self.relative_to == "orbit":
                    spin = rotations.rotate_back(base, orbit(t if rate is None else rate.instant(t))[1])
                if frame != self.relative_to:
                    of_orbit = orbit(t if attitude is None else attitude.instant(t))[0]
                    lead = of_orbit if frame == "inertial" else rotations.conjugate(of_orbit)
                    quaternion = rotations.multiply(lead, base)
            if unit is not None:
                angle, speed, _ = self.angle.derivatives(t)  # type: ignore[union-attr]
                turn = rotations.from_axis_angle(unit, angle)
                spin = rotations.rotate_back(turn, spin) + speed * unit
                quaternion = rotations.multiply(quaternion, turn)
            return quaternion, spin

        return at


def orbit_of(model: ModelView, path: tuple[str, ...]) -> Axes:
    """The axes of the orbit of a model: along the motion (x), across the orbit (y), towards the centre (z).

    Raises ModelError, at the path of an item, where the model has no orbit and no gravity gradient.
    """
    return partial(frame_of, motion_of(model, path, 'got "orbit"'))


Gravity = Callable[[float, Floats], tuple[Floats, Floats]]
"""A function of the time (s) and a point (3,) m, inertial axes: the acceleration (3,) m/s2 of gravity there, and its
derivative (3, 3) 1/s2 by the point."""


def gravity_of(model: ModelView, path: tuple[str, ...]) -> Gravity:
    """The gravity of a model by time and point.

    Uniform gravity, and on an orbit the tide relative to the origin, which falls freely. Raises ModelError: a gravity
    gradient about a mass centre that moves.
    """
    uniform = np.asarray(model.gravity, dtype=float), np.zeros((3, 3))
    fields: list[Gravity] = []
    for item in model.items():
        if isinstance(item, Orbit):
            fields.append(item.gravity_at)
        elif isinstance(item, GravityGradient):
            if item.origin is None:
                raise ModelError.at(
                    path,
                    f"an accelerometer needs the point that is on the orbit: give loads.{item.name}.origin, or a load "
                    "of the kind orbit",
                )
            fields.append(_gradient(item))

    def gravity(t: float, point: Floats) -> tuple[Floats, Floats]:
        parts = [uniform, *(each(t, point) for each in fields)]
        return np.sum([each for each, _ in parts], axis=0), np.sum([slope for _, slope in parts], axis=0)

    return gravity


def _gradient(item: GravityGradient) -> Gravity:
    origin = np.asarray(item.origin, dtype=float)

    def field(t: float, point: Floats) -> tuple[Floats, Floats]:
        vertical = item.vertical(t)
        slope = item.orbital_rate**2 * (3.0 * np.outer(vertical, vertical) - np.eye(3))
        return slope @ (point - origin), slope

    return field
