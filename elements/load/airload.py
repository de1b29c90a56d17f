"""The result of an aerodynamic law: a load and its derivatives at one state."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from femb.base.html import Brief
from femb.base.types import Floats
from femb.base.values import shown


@dataclass(frozen=True)
class Airload(Brief):
    """The result of an aerodynamic law at one state: the load and its derivatives, all in body axes.

    force (3,) : N. torque (3,) : N m, about the point. by_velocity, by_angular_velocity, by_rotation (6, 3) :
    derivatives of force and torque, in this order, with respect to the velocity (m/s) and the angular velocity (rad/s)
    in body axes, and to a small rotation of the body (rad, body axes) at constant components of the velocities; the
    last is zero if the load does not depend on the attitude.
    """

    force: Any
    torque: Any
    by_velocity: Any
    by_angular_velocity: Any
    by_rotation: Any = field(default_factory=lambda: np.zeros((6, 3)))

    def packed(self) -> Floats:
        """(60,) load (6) and derivatives (6, 9) by rows. Raises ValueError: an array of wrong shape."""
        parts = (self.by_velocity, self.by_angular_velocity, self.by_rotation)
        for name, value, shape in (
            ("force", self.force, (3,)),
            ("torque", self.torque, (3,)),
            *zip(("by_velocity", "by_angular_velocity", "by_rotation"), parts, [(6, 3)] * 3, strict=True),
        ):
            if np.shape(value) != shape:
                raise ValueError(f"{name}: got {shown(value)}, wanted an array of shape {shape}")
        return np.concatenate([self.force, self.torque, np.hstack(parts).ravel()])
