"""What stands for a mode in an equivalent mechanical model: a sliding mass, or a hinged rigid panel.

Vectors are from the hub's origin and along its axes. Names of parameters are those of Basilisk 2.12.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from femb.base.types import Floats
from femb.numerics.rotations import cross_matrix


def _point_mass(mass: float, place: Floats) -> Floats:
    """(6, 6) of a point mass that moves with the hub."""
    rows = np.hstack([np.eye(3), -cross_matrix(place)])
    return np.asarray(mass * rows.T @ rows)


@dataclass(frozen=True, eq=False)
class SlidingMass:
    """A point mass (kg) at a place (3,) m that slides along a direction (3,) of length one.

    stiffness N/m and damping N s/m : of its spring and dashpot.
    """

    effector: ClassVar[str] = "linearSpringMassDamper"

    name: str
    mass: float
    place: Floats
    direction: Floats
    stiffness: float
    damping: float

    @property
    def rigid_mass(self) -> Floats:
        """(6, 6): where it does not slide."""
        return _point_mass(self.mass, self.place)

    @property
    def coupling(self) -> Floats:
        """(6,): participation of its motion, of unit mass."""
        whole = np.concatenate([self.direction, np.cross(self.place, self.direction)])
        return np.asarray(np.sqrt(self.mass) * whole)

    @property
    def parameters(self) -> dict[str, Any]:
        """By Basilisk's names."""
        return {
            "name": self.name,
            "massInit": self.mass,
            "r_PB_B": self.place.tolist(),
            "pHat_B": self.direction.tolist(),
            "k": self.stiffness,
            "c": self.damping,
            "rhoInit": 0.0,
            "rhoDotInit": 0.0,
        }


@dataclass(frozen=True, eq=False)
class HingedPanel:
    """A rigid panel (kg) on a hinge at a place (3,) m, its mass centre at a distance d (m) from there.

    inertia : kg m2, about its mass centre across its length, as that of a slender rod. dcm (3, 3) : rows h1, h2, h3
    along the hub's axes; the panel is along -h1 and turns about h2. stiffness N m/rad and damping N m s/rad : of
    the hinge.
    """

    effector: ClassVar[str] = "hingedRigidBodyStateEffector"

    name: str
    mass: float
    distance: float
    inertia: float
    place: Floats
    dcm: Floats
    stiffness: float
    damping: float

    @property
    def rigid_mass(self) -> Floats:
        """(6, 6): where it does not turn."""
        whole = _point_mass(self.mass, self.place - self.distance * self.dcm[0])
        whole[3:, 3:] += self.inertia * (np.eye(3) - np.outer(self.dcm[0], self.dcm[0]))
        return whole

    @property
    def coupling(self) -> Floats:
        """(6,): participation of its motion, of unit mass."""
        axis, centre = self.dcm[1], -self.distance * self.dcm[0]
        speed = np.cross(axis, centre)
        turn = self.inertia * axis + self.mass * np.cross(self.place + centre, speed)
        whole = np.concatenate([self.mass * speed, turn])
        return np.asarray(whole / np.sqrt(self.inertia + self.mass * self.distance**2))

    @property
    def parameters(self) -> dict[str, Any]:
        """By Basilisk's names."""
        return {
            "name": self.name,
            "mass": self.mass,
            "d": self.distance,
            "IPntS_S": np.diag([0.0, self.inertia, self.inertia]).tolist(),
            "r_HB_B": self.place.tolist(),
            "dcm_HB": self.dcm.tolist(),
            "k": self.stiffness,
            "c": self.damping,
            "thetaInit": 0.0,
            "thetaDotInit": 0.0,
        }
