"""Section of a beam: stiffness and inertia per unit length."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from femb.checks import Checks
from femb.types import Floats, Pair


@dataclass(frozen=True, eq=False)
class Section:
    """A beam's cross-section; axes y and z are principal.

    area : m2. second_moments : about the section's y and z axes, m4. torsion_constant : Saint-Venant's, m4; for a
    square of side b it is 0.1406 b4, not the polar moment. polar_moment : of inertia in twist, m4, by default
    the sum of the second moments. density : kg/m3. youngs_modulus, shear_modulus : Pa. damping : stress per
    strain rate over stress per strain (stiffness-proportional), s. shape : for pictures only,
    {"rectangle": [y, z]}, {"circle": radius}; by default the rectangle of the same area and moments' ratio.

    Raises ModelError: a value that is not positive, a negative damping.
    """

    table: ClassVar[str] = "sections"
    kind: ClassVar[str] = "section"

    name: str
    area: float
    second_moments: Pair
    torsion_constant: float
    density: float
    youngs_modulus: float
    shear_modulus: float
    polar_moment: float | None = None
    damping: float = 0.0
    shape: dict[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        with Checks(self, "sections", self.name) as check:
            check.positive("area", "torsion_constant", "density", "youngs_modulus", "shear_modulus", "polar_moment")
            check.not_negative("damping")
            if "second_moments" not in check.bad:
                check.require("second_moments", np.all(np.asarray(self.second_moments) > 0), "must be greater than 0")
            if self.polar_moment is None and not check.bad:
                object.__setattr__(self, "polar_moment", float(np.sum(self.second_moments)))
            if self.shape is not None and self._outline_of_shape() is None:
                check.fail("shape", f"got {self.shape!r}, wanted rectangle = [y, z] or circle = radius, in m")

    def stiffness(self) -> Floats:
        """(4, 4) force, torque and moments per axial strain, twist and the curvatures about y and z, N and N m2."""
        e, g = self.youngs_modulus, self.shear_modulus
        return np.diag([e * self.area, g * self.torsion_constant, *(e * np.asarray(self.second_moments))])

    def inertia(self) -> Floats:
        """(3,) moments of inertia per unit length about the section's x, y and z axes, kg m."""
        return self.density * np.array([self.polar_moment, *self.second_moments])

    def outline(self) -> Floats:
        """(m, 2) polygon of the section in its y and z axes, m; for pictures and meshes."""
        given = self._outline_of_shape()
        if given is not None:
            return given
        # Rectangle with the section's ratio of radii of gyration, scaled to its area.
        y, z = np.sqrt(np.asarray(self.second_moments)[::-1])
        scale = np.sqrt(self.area / (y * z))
        return _rectangle(scale * y, scale * z)

    def _outline_of_shape(self) -> Floats | None:
        match self.shape:
            case {"rectangle": [float() | int() as y, float() | int() as z]} if y > 0 and z > 0:
                return _rectangle(y, z)
            case {"circle": float() | int() as radius} if radius > 0:
                turn = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
                return radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        return None


def _rectangle(y: float, z: float) -> Floats:
    return 0.5 * np.array([[-y, -z], [y, -z], [y, z], [-y, z]])
