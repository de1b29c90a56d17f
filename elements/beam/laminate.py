"""Thin-walled laminated tubes: stiffness and inertia of a section from its plies.

Source: classical lamination theory (R. M. Jones, Mechanics of Composite Materials, chapter 4) for the wall, whose hoop
force is zero, and Bredt's shear flow around the tube (docs/theory/beam.md, section 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from femb.base.checks import Checks
from femb.base.types import Floats, Pair


@dataclass(frozen=True, eq=False)
class Ply:
    """One unidirectional ply of a tube.

    thickness : m. angle : of the fibres from the beam's axis, rad; positive turns from the axis along the
    circumference in the sense of rotation about the axis. youngs_moduli : along and across the fibres, Pa.
    shear_modulus : in the plane, Pa. poissons_ratio : ratio of strain across to strain along, under a force along.
    density : kg/m3.

    Raises ModelError: a value that is not positive, or a Poisson's ratio that no material has.
    """

    thickness: float
    angle: float
    youngs_moduli: Pair
    shear_modulus: float
    poissons_ratio: float
    density: float

    def __post_init__(self) -> None:
        with Checks(self, "ply") as check:
            check.positive("thickness", "shear_modulus", "density")
            if "youngs_moduli" not in check.bad:
                check.require("youngs_moduli", np.all(self.youngs_moduli > 0.0), "must be greater than 0")
            if not check.bad:
                along, across = self.youngs_moduli
                limit = float(np.sqrt(along / across))
                ratio = f"must be between -{limit:.4g} and {limit:.4g}, the root of the ratio of the moduli"
                check.require("poissons_ratio", abs(self.poissons_ratio) < limit, ratio)

    def stiffness(self) -> Floats:
        """(3, 3) plane-stress stiffness along the beam, along the circumference and in shear, Pa."""
        along, across = self.youngs_moduli
        n = self.poissons_ratio
        scale = 1.0 / (1.0 - n * n * across / along)
        Q = np.array(
            [
                [scale * along, scale * n * across, 0.0],
                [scale * n * across, scale * across, 0.0],
                [0.0, 0.0, self.shear_modulus],
            ]
        )
        c, s = np.cos(self.angle), np.sin(self.angle)
        # strains in the axes of the fibres by strains in those of the wall, with the engineering shear strain
        T = np.array([[c * c, s * s, c * s], [s * s, c * c, -c * s], [-2.0 * c * s, 2.0 * c * s, c * c - s * s]])
        result: Floats = T.T @ Q @ T
        return result


def tube_stiffness(radius: float, plies: Sequence[Ply]) -> Floats:
    """(4, 4) stiffness of a tube by axial strain, twist and the curvatures, N and N m2; radius : of the mid-wall, m.

    Plies that are not balanced couple stretching with twist, and bending with shear; the section is free to shear.
    """
    A = np.zeros((3, 3))
    for ply in plies:
        A += ply.thickness * ply.stiffness()
    # no force along the circumference
    reduced = A - np.outer(A[:, 1], A[:, 1]) / A[1, 1]
    stretch, couple, shear = reduced[0, 0], reduced[0, 2], reduced[2, 2]
    around = 2.0 * np.pi * radius
    result = np.zeros((4, 4))
    result[:2, :2] = around * np.array([[stretch, radius * couple], [radius * couple, radius**2 * shear]])
    result[2, 2] = result[3, 3] = np.pi * radius**3 * (stretch - couple**2 / shear)
    return result


def tube_inertia(radius: float, plies: Sequence[Ply]) -> tuple[float, Floats]:
    """Mass per length, kg/m, and moments of inertia per length about x, y and z, kg m; radius : of the mid-wall, m."""
    mass = float(2.0 * np.pi * radius * sum(ply.density * ply.thickness for ply in plies))
    wall = float(sum(ply.thickness for ply in plies))
    across = 0.5 * mass * (radius**2 + wall**2 / 4.0)
    return mass, np.array([2.0 * across, across, across])
