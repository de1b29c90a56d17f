"""Motion of a model's origin about the central body, and the frame of the orbit: a reference for attitudes.

Source: docs/theory/actuators.md, section 2.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats
from femb.base.values import shown
from femb.elements.load.orbit import GravityGradient, Orbit
from femb.layout.views import ModelView
from femb.numerics import rotations
from femb.numerics.paths import PathPoint
from femb.profiles import Profile

# Of typed numbers, relative: an orbit so near a circle is one.
TYPED = 1e-6


class OrbitalMotion(Protocol):
    """A function of the time t (s): position, velocity and acceleration about the central body, inertial axes."""

    def __call__(self, t: float, /) -> PathPoint: ...


def orbit_of(model: ModelView) -> Orbit | GravityGradient | None:
    """The item of a model that says where its origin moves; None without any."""
    return next((item for item in model.items() if isinstance(item, Orbit | GravityGradient)), None)


def orbital_motion(model: ModelView) -> OrbitalMotion | None:
    """The motion of the model's origin by its orbit or its gravity gradient; None of a model without both."""
    orbit = orbit_of(model)
    return None if orbit is None else orbit.path_at


def motion_of(model: ModelView, path: tuple[str, ...], needs: str) -> OrbitalMotion:
    """``orbital_motion`` for an item at a path that needs it. Raises ModelError: there is no orbit."""
    motion = orbital_motion(model)
    if motion is None:
        raise ModelError.at(
            path, f"{needs}, but the model has no orbit: add a load of kind 'orbit' or 'gravity_gradient'"
        )
    return motion


def frame_of(motion: OrbitalMotion, t: float) -> tuple[Floats, Floats]:
    """Quaternion (4,), orbital frame to inertial axes, and angular velocity (3,) rad/s, in axes of the frame, at t (s).

    z is down, to the central body; y is against the normal of the orbit; x is ahead, along the velocity where the orbit
    is circular.
    """
    position, velocity, acceleration = motion(t)
    momentum = np.cross(position, velocity)
    distance, size = np.linalg.norm(position), np.linalg.norm(momentum)
    down, across = -position / distance, -momentum / size
    axes = np.stack([np.cross(across, down), across, down], axis=1)
    # the plane turns about the vertical by what accelerates across it
    return rotations.from_matrix(axes), np.array([0.0, -size / distance**2, distance / size * (acceleration @ across)])


def turn_of(model: ModelView, t: float) -> tuple[Floats, bool]:
    """Angular velocity (3,) rad/s of the frame of a model's orbit at t (s), inertial axes, and whether it is one of a
    circle, on which gravity stays as it is in this frame. Zero, and yes, without an orbit."""
    orbit = orbit_of(model)
    if orbit is None:
        return np.zeros(3), True
    (quaternion, turn), (position, velocity, acceleration) = frame_of(orbit.path_at, t), orbit.path_at(t)
    square = velocity @ velocity
    gaps = abs(position @ velocity) * np.sqrt(square / (position @ position)), abs(square + position @ acceleration)
    return rotations.rotate(quaternion, turn), bool(orbit.repeats and max(gaps) <= TYPED * square)


def orbital_frame(model: ModelView, t: float = 0.0) -> tuple[Floats, Floats]:
    """The frame of the orbit of a model, as references, sensors and starts have it: x ahead, y against the normal of
    the orbit, z down.

    Parameters:
        model: with an orbit or a gravity gradient.
        t: s, the instant.

    Returns:
        The quaternion (4,), from this frame to inertial axes, and the angular velocity (3,) rad/s, in axes of the
        frame.

    Raises:
        ModelError: the model has no orbit.
    """
    if not callable(getattr(model, "items", None)) or isinstance(model, dict | type):
        raise ModelError(f"got {shown(model)}, wanted a femb.Model")
    return frame_of(motion_of(model, ("loads",), "the frame of the orbit is asked for"), t)


# The shadow of the central body: a cylinder behind it.

# Revolutions with eclipses, and those of an orbit that does not repeat.
REVOLUTIONS, DISTURBED = 10_000, 100


@dataclass(frozen=True)
class Sunlight:
    """A profile of time that is 1 in the light and 0 in the shadow, between which ``breakpoints`` (s) are.

    lit : whether there is light before the first of them. until : s, up to which they are known.
    """

    breakpoints: tuple[float, ...]
    lit: bool
    until: float
    label: str

    def __call__(self, t: float) -> float:
        if t > self.until:
            raise SolveError(
                f"{self.label}: eclipses of orbits with j2 are known for {DISTURBED} revolutions, to {self.until:.6g} "
                f"s; got t = {t:.6g} s: begin another run there, or give a profile in their place"
            )
        return float(self.lit ^ bool(bisect_right(self.breakpoints, t) % 2))


def sunlight(model: ModelView, path: tuple[str, ...], sun: Floats, radius: float) -> Profile:
    """A profile of the time that is 1 in sunlight and 0 in the shadow of the central body, for an item at a path.

    sun (3,) : unit vector towards the sun, inertial axes. radius : of the body and of its shadow, a cylinder, m. Raises
    ModelError: the model has no orbit, or one that does not come back.
    """
    motion, orbit = motion_of(model, path, "has eclipses"), orbit_of(model)
    assert orbit is not None
    end = orbit.known_until
    if not end < inf:
        end = orbit.period * (1 if orbit.repeats else DISTURBED)
    if not end < inf:
        raise ModelError.at(path, "has eclipses, but the orbit is not closed: give a profile in place of them")

    def outside(t: float) -> float:
        position = motion(t)[0]
        ahead = float(position @ sun)
        return max(ahead, float(np.linalg.norm(position - ahead * sun)) - radius)

    looks, positions = orbit.places(end)
    ahead = positions @ sun
    values = np.maximum(ahead, np.linalg.norm(positions - ahead[:, None] * sun, axis=1) - radius)
    # a short shadow is between two looks: it has the least value of them
    ring = np.concatenate([values[-2:-1] if orbit.repeats else [inf], values, values[1:2] if orbit.repeats else [inf]])
    seen, inner = list(zip(looks.tolist(), values.tolist(), strict=True)), looks[1] if orbit.repeats else 0.0
    for k in np.flatnonzero((values >= 0.0) & (values <= ring[:-2]) & (values <= ring[2:])).tolist():
        t = _least(outside, looks[k - 1] if k else -inner, looks[k + 1] if k + 1 < len(looks) else looks[k] + inner)
        seen.append((t % end if orbit.repeats else t, outside(t)))
    times, values = np.array(sorted(seen)).T
    dark = values < 0.0
    edges = [_zero(outside, times[k], times[k + 1]) for k in np.flatnonzero(dark[1:] != dark[:-1])]
    if orbit.repeats:
        edges = (end * np.arange(REVOLUTIONS)[:, None] + edges).ravel().tolist()
    until = inf if orbit.repeats or orbit.known_until < inf else end
    return Sunlight(tuple(edges), not dark[0], until, ".".join(path))


def _least(function: Callable[[float], float], first: float, last: float) -> float:
    """The time between two (s) at which a function has its minimum."""
    from scipy.optimize import minimize_scalar

    return float(minimize_scalar(function, bounds=(first, last), method="bounded", options={"xatol": 1e-6}).x)


def _zero(function: Callable[[float], float], first: float, last: float) -> float:
    """The zero between two times (s)."""
    from scipy.optimize import brentq

    return float(brentq(function, first, last, xtol=1e-9))
