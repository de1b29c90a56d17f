"""Motion of a model's origin about the central body, and the frame of the orbit: a reference for attitudes.

Source: docs/theory/actuators.md, section 2.
"""

from collections.abc import Callable
from math import inf
from typing import Protocol

import numpy as np

from femb.base.errors import ModelError
from femb.base.profile import Repeat
from femb.base.types import Floats
from femb.elements.load.orbit import GravityGradient, Orbit
from femb.layout.views import ModelView
from femb.numerics import rotations
from femb.profiles import Constant, Profile, Step


class OrbitalMotion(Protocol):
    """A function of the time t (s): position (3,) m and velocity (3,) m/s about the central body, inertial axes."""

    def __call__(self, t: float, /) -> tuple[Floats, Floats]: ...


def orbit_of(model: ModelView) -> Orbit | GravityGradient | None:
    """The item of a model that says where its origin moves; None without any."""
    return next((item for item in model.items() if isinstance(item, Orbit | GravityGradient)), None)


def orbital_motion(model: ModelView) -> OrbitalMotion | None:
    """The motion of the model's origin by its orbit or its gravity gradient; None of a model without both."""
    orbit = orbit_of(model)
    return None if orbit is None else orbit.motion_at


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
    position, velocity = motion(t)
    momentum = np.cross(position, velocity)
    distance, size = np.linalg.norm(position), np.linalg.norm(momentum)
    down, across = -position / distance, -momentum / size
    axes = np.stack([np.cross(across, down), across, down], axis=1)
    return rotations.from_matrix(axes), np.array([0.0, -size / distance**2, 0.0])


# The shadow of the central body: a cylinder behind it.

# Places of an orbit at which the shadow is looked for, beside the least distance from it.
LOOKS = 720
# Revolutions with eclipses.
REVOLUTIONS = 10_000


def sunlight(model: ModelView, path: tuple[str, ...], sun: Floats, radius: float) -> Profile:
    """A profile of the time that is 1 in sunlight and 0 in the shadow of the central body, for an item at a path.

    sun (3,) : unit vector towards the sun, inertial axes. radius : of the body and of its shadow, a cylinder, m. Raises
    ModelError: the model has no orbit, or one that does not come back.
    """
    motion, orbit = motion_of(model, path, "has eclipses"), orbit_of(model)
    period = orbit.period if orbit is not None else inf
    if not period < inf:
        raise ModelError.at(path, "has eclipses, but the orbit is not closed: give a profile in place of them")

    def outside(t: float) -> float:
        position = motion(t)[0]
        ahead = float(position @ sun)
        return max(ahead, float(np.linalg.norm(position - ahead * sun)) - radius)

    times = np.linspace(0.0, period, LOOKS + 1).tolist()
    least = int(np.argmin([outside(t) for t in times[:-1]]))
    # a short shadow is between two looks: it has the least value
    times = sorted([*times, _least(outside, times[least] - times[1], times[least + 1]) % period])
    values = [outside(t) for t in times]
    edges = {1.0: 0.0, -1.0: 0.0}  # the last exit from the shadow and the last entry
    for first, last, a, b in zip(times, times[1:], values, values[1:], strict=False):
        if (a < 0.0) != (b < 0.0):
            edges[1.0 if b >= 0.0 else -1.0] = _zero(outside, first, last)
    if edges[1.0] == edges[-1.0]:
        return Constant(1.0)
    lit = (edges[-1.0] - edges[1.0]) % period
    return Repeat(Step(duration=lit), period, REVOLUTIONS, edges[1.0] - period)


def _least(function: Callable[[float], float], first: float, last: float) -> float:
    """The time between two (s) at which a function has its minimum."""
    from scipy.optimize import minimize_scalar

    return float(minimize_scalar(function, bounds=(first, last), method="bounded", options={"xatol": 1e-6}).x)


def _zero(function: Callable[[float], float], first: float, last: float) -> float:
    """The zero between two times (s)."""
    from scipy.optimize import brentq

    return float(brentq(function, first, last, xtol=1e-9))
