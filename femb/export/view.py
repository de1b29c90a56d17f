"""The frame that points and velocities are shown in: inertial, or moving with a body."""

from __future__ import annotations

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

        For a slice of output times, one point (t, 3) at each of them.
        """
        return rotations.rotate_back(self.quaternion[k], points - self.origin[k])

    def velocities(self, k: int, points: Floats, velocities: Floats) -> Floats:
        """(..., 3) m/s: the rate of `points`, that is velocity relative to the moving frame."""
        carried = self.velocity[k] + np.cross(self.angular_velocity[k], points - self.origin[k])
        return rotations.rotate_back(self.quaternion[k], velocities - carried)
