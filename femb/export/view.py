"""The frame that points and velocities are shown in: inertial, or moving with a body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from femb import rotations
from femb.errors import ResultError
from femb.results import Results, listing
from femb.types import Floats

INERTIAL = "inertial"


@dataclass(frozen=True)
class View:
    """Motion of the viewing frame: origin (T, 3) m and its velocity (T, 3) m/s in inertial axes,
    quaternion (T, 4) frame to inertial, angular velocity (T, 3) rad/s in inertial axes."""

    origin: Floats
    velocity: Floats
    quaternion: Floats
    angular_velocity: Floats

    @classmethod
    def of(cls, results: Results, frame: str) -> Self:
        """The frame ``"inertial"`` or that of the body of that name; ResultError for any other."""
        times = results.time.size
        if frame == INERTIAL:
            still = np.zeros((times, 3))
            return cls(still, still, np.tile([1.0, 0.0, 0.0, 0.0], (times, 1)), still)
        if frame not in results.bodies:
            names = {INERTIAL: None, **results.bodies}
            raise ResultError(f"no frame {frame!r}; it may be one of: {listing(names)}")
        body = results.bodies[frame]
        spin = rotations.rotate(body.quaternion, body.angular_velocity)
        return cls(body.position, body.velocity, body.quaternion, spin)

    def points(self, k: int | slice, points: Floats) -> Floats:
        """(..., 3) m: inertial points at output time k, in the frame's coordinates.

        Here and below, arrays are (t, ..., 3 or 4) for a slice of t output times.
        """
        origin, quaternion = _beside(points, self.origin[k], self.quaternion[k])
        return rotations.rotate_back(quaternion, points - origin)

    def velocities(self, k: int | slice, points: Floats, velocities: Floats) -> Floats:
        """(..., 3) m/s: the rate of `points`, that is velocity relative to the moving frame."""
        frame = self.origin[k], self.velocity[k], self.quaternion[k], self.angular_velocity[k]
        origin, velocity, quaternion, spin = _beside(points, *frame)
        carried = velocity + np.cross(spin, points - origin)
        return rotations.rotate_back(quaternion, velocities - carried)

    def quaternions(self, k: int | slice, quaternions: Floats) -> Floats:
        """(..., 4): of something to the frame, from its quaternions to the inertial axes."""
        (quaternion,) = _beside(quaternions, self.quaternion[k])
        return rotations.multiply(rotations.conjugate(quaternion), quaternions)

    def angular_velocities(self, k: int | slice, quaternions: Floats, angular_velocities: Floats) -> Floats:
        """(..., 3) rad/s: relative to the moving frame, in the axes of what turns, as they are given;
        ``quaternions`` (..., 4) are from those to the inertial axes."""
        (spin,) = _beside(angular_velocities, self.angular_velocity[k])
        return angular_velocities - rotations.rotate_back(quaternions, spin)


def _beside(values: Floats, *frame: Floats) -> Iterator[Floats]:
    """The frame's (t, 3 or 4) as (t, 1, ..., 3 or 4), to go with values (t, ..., 3 or 4) of the same output times."""
    for each in frame:
        yield each.reshape(*each.shape[:-1], *(1,) * (values.ndim - each.ndim), each.shape[-1])
