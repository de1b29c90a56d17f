"""Motion of a model's origin about the central body, and the frame of the orbit: a reference for attitudes.

Source: docs/theory/actuators.md, section 2.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.load.gravity_gradient import GravityGradient
from femb.elements.load.orbit import Orbit
from femb.layout.views import ModelView
from femb.numerics import rotations


class OrbitalMotion(Protocol):
    """A function of the time t (s): position (3,) m and velocity (3,) m/s about the central body, inertial axes."""

    def __call__(self, t: float, /) -> tuple[Floats, Floats]: ...


def orbital_motion(model: ModelView) -> OrbitalMotion | None:
    """The motion of the model's origin by its orbit or its gravity gradient; None of a model without both."""
    for item in model.items():
        if isinstance(item, Orbit | GravityGradient):
            return item.motion_at
    return None


def motion_of(model: ModelView, path: tuple[str, ...], needs: str) -> OrbitalMotion:
    """``orbital_motion`` for an item at a path that needs it. Raises ModelError: there is no orbit."""
    found = orbital_motion(model)
    if found is None:
        raise ModelError.at(
            path, f"{needs}, but the model has no orbit: add a load of kind 'orbit' or 'gravity_gradient'"
        )
    return found


def frame_of(motion: OrbitalMotion, t: float) -> tuple[Floats, Floats]:
    """``orbital_frame`` of a motion."""
    position, velocity = motion(t)
    momentum = np.cross(position, velocity)
    distance, size = np.linalg.norm(position), np.linalg.norm(momentum)
    down, across = -position / distance, -momentum / size
    axes = np.stack([np.cross(across, down), across, down], axis=1)
    return rotations.from_matrix(axes), np.array([0.0, -size / distance**2, 0.0])


def orbital_frame(layout: Any, model: ModelView, t: float) -> tuple[Floats, Floats]:
    """Quaternion (4,), orbital frame to inertial axes, and angular velocity (3,) rad/s, in axes of the frame, at t (s).

    z is down, to the central body; y is against the normal of the orbit; x is ahead, along the velocity where the orbit
    is circular. layout : not used; sensors have it. Raises ModelError: the model has no orbit.
    """
    return frame_of(motion_of(model, (), "the orbital frame is asked for"), t)


def reference_frame(model: ModelView, path: tuple[str, ...]) -> Callable[[float], tuple[Floats, Floats]]:
    """``orbital_frame`` as a function of the time for an item at a path, which is refused by name without an orbit."""
    motion = motion_of(model, path, "needs the frame of an orbit")
    return lambda t: frame_of(motion, t)
