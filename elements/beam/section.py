"""Section of a beam: stiffness and inertia per unit length."""

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import FembWarning
from femb.base.types import Floats, Matrix4, Pair, Vector
from femb.elements.item import Item

MATERIAL = ("area", "second_moments", "torsion_constant", "youngs_modulus", "shear_modulus")
DIRECT = ("axial_stiffness", "torsional_stiffness", "bending_stiffness")
MASSES = ("density", "area", "second_moments")
DIRECT_MASSES = ("mass_per_length", "inertia_per_length")


@dataclass(frozen=True, eq=False)
class Section(Item):
    """A beam's cross-section: its stiffness and its inertia, each in one of these forms.

    Stiffness from material and shape: area (m2), second_moments about the section's principal y and z axes (m4),
    torsion_constant (Saint-Venant's, m4; for a square of side b it is 0.1406 b4, not the polar moment),
    youngs_modulus and shear_modulus (Pa). Directly: axial_stiffness EA (N), torsional_stiffness GJ and
    bending_stiffness [EIy, EIz] (N m2). In full: stiffness_matrix, symmetric 4 x 4, of axial strain, twist and the
    curvatures about y and z, for sections that couple bending with twist or stretching.
    Inertia: density (kg/m3) with area and second_moments, and polar_moment (m4) of inertia in twist, by default the sum
    of the second moments; or mass_per_length (kg/m) and inertia_per_length [x, y, z] (kg m). Both are about axes
    through the mass centre at mass_axis [y, z] (m, by default on the reference axis of the stiffness).
    damping : stiffness-proportional, stress per strain rate divided by stress per strain, s. shape : for pictures only,
    {"rectangle": [y, z]} or {"circle": radius}; by default the rectangle with the same area and radii of gyration.
    expansion : coefficient of thermal expansion for thermal loads, 1/K; that of some fibres is negative.

    Raises ModelError: a value that is not positive, a stiffness or inertia given twice or incompletely, a matrix that
    is not symmetric and positive definite. Warns if one moment of inertia exceeds the sum of the others, or if the
    torsion constant exceeds the sum of the second moments.
    """

    table: ClassVar[str] = "sections"
    kind: ClassVar[str] = "section"

    name: str
    area: float | None = None
    second_moments: Pair | None = None
    torsion_constant: float | None = None
    density: float | None = None
    youngs_modulus: float | None = None
    shear_modulus: float | None = None
    polar_moment: float | None = None
    damping: float = 0.0
    shape: dict[str, Any] | None = field(default=None, repr=False)
    axial_stiffness: float | None = None
    torsional_stiffness: float | None = None
    bending_stiffness: Pair | None = None
    stiffness_matrix: Matrix4 | None = None
    mass_per_length: float | None = None
    inertia_per_length: Vector | None = None
    expansion: float | None = None
    mass_axis: Pair | None = None

    def __post_init__(self) -> None:
        with Checks(self, "sections", self.name) as check:
            check.positive("area", "torsion_constant", "density", "youngs_modulus", "shear_modulus", "polar_moment")
            check.positive("axial_stiffness", "torsional_stiffness", "mass_per_length")
            check.not_negative("damping")
            for name in ("second_moments", "bending_stiffness", "inertia_per_length"):
                value = getattr(self, name)
                if value is not None and name not in check.bad:
                    check.require(name, np.all(np.asarray(value) > 0), "must be greater than 0")
            self._check_matrix(check)
            self._check_ways(check)
            if not check.bad:
                self._warn()
            if self.shape is not None and self._outline_of_shape() is None:
                check.fail("shape", f"got {self.shape!r}, wanted rectangle = [y, z] or circle = radius, in m")

    def _check_matrix(self, check: Checks) -> None:
        matrix = self.stiffness_matrix
        if matrix is None or "stiffness_matrix" in check.bad:
            return
        if np.max(np.abs(matrix - matrix.T)) > 1e-9 * np.max(np.abs(matrix)):
            check.fail("stiffness_matrix", "must be symmetric")
        elif not np.all(np.linalg.eigvalsh(matrix) > 0.0):
            check.fail("stiffness_matrix", "must be positive definite: every deformation must cost energy")

    def _check_ways(self, check: Checks) -> None:
        """Report if the stiffness or the inertia is not given completely in exactly one form."""

        def given(names: tuple[str, ...]) -> list[str]:
            return [name for name in names if getattr(self, name) is not None]

        direct = given(DIRECT) or given(("stiffness_matrix",))
        wanted = MATERIAL if not direct else (DIRECT if given(DIRECT) else ("stiffness_matrix",))
        for name in wanted:
            if getattr(self, name) is None and name not in check.bad:
                check.fail(name, f"is missing: the stiffness needs {', '.join(wanted)}")
        for name in given(("youngs_modulus", "shear_modulus", "torsion_constant")) if direct else []:
            check.fail(name, f"given beside {direct[0]!r}, which also says the stiffness: give one of them")
        if given(DIRECT) and self.stiffness_matrix is not None:
            check.fail("stiffness_matrix", f"given beside {given(DIRECT)[0]!r}: give one of them")
        masses = DIRECT_MASSES if given(DIRECT_MASSES) else MASSES
        for name in masses:
            if (
                getattr(self, name) is None
                and name not in check.bad
                and (masses is DIRECT_MASSES or name not in wanted)
            ):
                check.fail(name, f"is missing: the inertia needs {', '.join(masses)}")
        if masses is DIRECT_MASSES and self.density is not None:
            check.fail("density", f"given beside {given(DIRECT_MASSES)[0]!r}: give one of them")

    def _warn(self) -> None:
        """Warn of values that are impossible for a plane section."""
        moments = self.inertia()
        largest = int(np.argmax(moments))
        if moments[largest] > (moments.sum() - moments[largest]) * (1.0 + 1e-9):
            field = "inertia_per_length" if self.inertia_per_length is not None else "polar_moment"
            # not an error: a comparison may omit the rotary inertia of bending
            warnings.warn(
                f"sections.{self.name}.{field}: the moments of inertia {', '.join(f'{x:.6g}' for x in moments)} "
                f"kg m about x, y and z break the triangle inequality: that about {'xyz'[largest]} is above the sum of "
                "the others; of a plane section, that about x is the sum of those about y and z",
                FembWarning,
                stacklevel=4,
            )
        polar = float(np.sum(self.second_moments)) if self.second_moments is not None else np.inf
        if self.torsion_constant is not None and self.torsion_constant > polar * (1.0 + 1e-6):
            warnings.warn(
                f"sections.{self.name}.torsion_constant: {self.torsion_constant:g} m4 is above the polar moment, "
                f"{polar:.6g} m4, the sum of the second moments, which is the most that any section has: that of a "
                "circle or a ring",
                FembWarning,
                stacklevel=4,
            )

    def stiffness(self) -> Floats:
        """(4, 4) force, torque and moments per axial strain, twist and the curvatures about y and z, N and N m2."""
        if self.stiffness_matrix is not None:
            return np.array(self.stiffness_matrix)
        # the checks ensure that one of the two forms is complete
        given: Any = self
        if self.axial_stiffness is not None:
            return np.diag([given.axial_stiffness, given.torsional_stiffness, *given.bending_stiffness])
        e, g = given.youngs_modulus, given.shear_modulus
        return np.diag([e * given.area, g * given.torsion_constant, *(e * given.second_moments)])

    def line_mass(self) -> float:
        """Mass per length, kg/m."""
        return float(self.mass_per_length or self.density * self.area)  # type: ignore[operator]

    def inertia(self) -> Floats:
        """(3,) moments of inertia per unit length about the section's x, y and z axes, kg m."""
        if self.inertia_per_length is not None:
            return np.array(self.inertia_per_length)
        given: Any = self
        polar = self.polar_moment or float(np.sum(given.second_moments))
        result: Floats = given.density * np.array([polar, *given.second_moments])
        return result

    def offset(self) -> Floats:
        """(2,) y and z of the mass centre relative to the reference axis, section axes, m."""
        return np.zeros(2) if self.mass_axis is None else np.array(self.mass_axis)

    def outline(self) -> Floats:
        """(m, 2) polygon of the section in its y and z axes, m; for pictures and meshes."""
        given = self._outline_of_shape()
        if given is not None:
            return given
        # Rectangle with the section's radii of gyration, scaled to its area if the area is given.
        stiffness = np.diag(self.stiffness())
        z, y = np.sqrt(12.0 * stiffness[2:] / stiffness[0])
        scale = np.sqrt(self.area / (y * z)) if self.area is not None else 1.0
        return _rectangle(scale * y, scale * z)

    def _outline_of_shape(self) -> Floats | None:
        match self.shape:
            case {"rectangle": [float() | int() as y, float() | int() as z]} if y > 0 and z > 0:
                return _rectangle(y, z)
            case {"circle": float() | int() as radius} if radius > 0:
                angle = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
                return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return None


def _rectangle(y: float, z: float) -> Floats:
    return 0.5 * np.array([[-y, -z], [y, -z], [y, z], [-y, z]])
