"""Section of a beam: stiffness and inertia per unit length."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import OWN_UNITS, Coefficients, Floats, Matrix4, Matrix6, Pair, Unit, Vector
from femb.base.values import frozen_array
from femb.elements.beam.laminate import Ply
from femb.elements.beam.material import Material
from femb.elements.beam.section_checks import check_forms, check_matrices, warn_of_impossible
from femb.elements.beam.section_completion import complete
from femb.elements.beam.section_files import one_section
from femb.elements.beam.section_matrices import mass_parts
from femb.elements.beam.section_shapes import rectangle, shape_problem, shape_properties
from femb.elements.item import Item
from femb.numerics.rotations import cross_matrix

# Extension, twist and curvatures among the six strains.
UNSHEARED = [0, 3, 4, 5]


@dataclass(frozen=True, eq=False)
class Section(Item):
    """A beam's cross-section: its stiffness and its inertia, each in one of these forms.

    Stiffness from material and shape: area (m2), second_moments about the section's principal y and z axes (m4),
    torsion_constant (Saint-Venant's, m4; for a square of side b it is 0.1406 b4, not the polar moment),
    youngs_modulus and shear_modulus (Pa). Directly: axial_stiffness EA (N), torsional_stiffness GJ and
    bending_stiffness [EIy, EIz] (N m2). In full: stiffness_matrix, symmetric 4 x 4, of axial strain, twist and the
    curvatures about y and z, for sections that couple bending with twist or stretching; or symmetric 6 x 6, forces then
    moments by extension, shear along y and z, twist and curvatures, in the order and with the signs of VABS.
    shear_stiffness [kGAy, kGAz] (N), beside one of these but the 6 x 6: then, and with a 6 x 6, the section shears,
    which takes a beam of the kind "exact".
    Inertia: density (kg/m3) with area and second_moments, and polar_moment (m4) of inertia in twist, by default the sum
    of the second moments; or mass_per_length (kg/m) and inertia_per_length [x, y, z] (kg m); or mass_per_length alone,
    the whole mass, which gives the density with the area, whatever that of the material is. They are about axes
    through the mass centre at mass_axis [y, z] (m, by default on the reference axis of the stiffness). In full:
    mass_matrix, symmetric 6 x 6, momentum and angular momentum per length by velocity and spin, order of VABS.
    file : of VABS (.K) or BECAS, with the stiffness_matrix and the mass_matrix, or a table (.csv) of one row; in a case
    file relative to its folder.
    shape : the outer sizes (m), {"rectangle": [y, z]}, {"circle": radius}, {"tube": [radius, wall]},
    {"box": [y, z, wall]}, {"i": [y, z, web, flange]} or {"channel": [y, z, web, flange]} about the centroid. It gives
    area, second_moments, torsion_constant and torsion_modulus where they are not given, and the pictures; by default
    these show the rectangle with the same area and radii of gyration.
    material : one of femb.MATERIALS by its name, or a Material; it gives the moduli, the density and the expansion
    where they are not given. plies : of a laminated tube, from inside to outside, whose wall is as thick as they are
    together; they give the stiffness and the inertia. non_structural_mass : mass per length, such as of wires, in
    addition to the density, without rotary inertia, kg/m.
    damping : stiffness-proportional, stress per strain rate divided by stress per strain, s; or six such coefficients,
    of extension, shear along y and z, twist and the curvatures about y and z, which takes a beam of the kind "exact":
    the stress per rate of strain j is then sqrt(d_i d_j) K_ij.
    recovery_points : points [[y, z], ...] (m) for stresses; by default the corners of the shape, or of the rectangle
    with the section's radii of gyration. torsion_modulus : torque divided by the largest shear stress, m3; by default
    that of the same circle or rectangle with this torsion_constant.
    expansion : coefficient of thermal expansion for thermal loads, 1/K; that of some fibres is negative.

    Raises ModelError: a value that is not positive, a stiffness or inertia given twice or incompletely, a matrix that
    is not symmetric and positive definite. Warns if one moment of inertia exceeds the sum of the others, or if the
    torsion constant exceeds the sum of the second moments.
    """

    table: ClassVar[str] = "sections"
    kind: ClassVar[str] = "section"

    name: str
    area: Annotated[float | None, Unit("m2")] = None
    second_moments: Annotated[Pair | None, Unit("m4")] = None
    torsion_constant: Annotated[float | None, Unit("m4")] = None
    density: Annotated[float | None, Unit("kg/m3")] = None
    youngs_modulus: Annotated[float | None, Unit("Pa")] = None
    shear_modulus: Annotated[float | None, Unit("Pa")] = None
    polar_moment: Annotated[float | None, Unit("m4")] = None
    damping: Annotated[Coefficients, Unit("s")] = 0.0
    shape: Annotated[dict[str, Any] | None, Unit("m")] = field(default=None, repr=False)
    axial_stiffness: Annotated[float | None, Unit("N")] = None
    torsional_stiffness: Annotated[float | None, Unit("N m2")] = None
    bending_stiffness: Annotated[Pair | None, Unit("N m2")] = None
    stiffness_matrix: Annotated[Matrix4 | Matrix6 | None, OWN_UNITS] = None
    mass_per_length: Annotated[float | None, Unit("kg/m")] = None
    inertia_per_length: Annotated[Vector | None, Unit("kg m")] = None
    expansion: Annotated[float | None, Unit("1/K")] = None
    mass_axis: Annotated[Pair | None, Unit("m")] = None
    recovery_points: Annotated[list[Pair] | None, Unit("m")] = None
    torsion_modulus: Annotated[float | None, Unit("m3")] = None
    shear_stiffness: Annotated[Pair | None, Unit("N")] = None
    mass_matrix: Annotated[Matrix6 | None, OWN_UNITS] = None
    file: str | None = None
    material: str | Material | None = None
    plies: list[Ply] | None = None
    non_structural_mass: Annotated[float, Unit("kg/m")] = 0.0

    def check(self, check: Checks) -> None:
        if self.file is not None and "file" not in check.bad and not self._read(check, self.file):
            return
        if self.shape is not None and (problem := shape_problem(self.shape)):
            check.fail("shape", problem)
        complete(self, check)
        check.positive("area", "torsion_constant", "density", "youngs_modulus", "shear_modulus", "polar_moment")
        check.positive("axial_stiffness", "torsional_stiffness", "mass_per_length", "torsion_modulus")
        check.not_negative("non_structural_mass")
        self._check_damping(check)
        for name in ("second_moments", "bending_stiffness", "inertia_per_length", "shear_stiffness"):
            value = getattr(self, name)
            if value is not None and name not in check.bad:
                check.require(name, np.all(np.asarray(value) > 0), "must be greater than 0")
        check_matrices(self, check)
        check_forms(self, check)
        if self.recovery_points is not None:
            wanted = "points of two numbers, [[y, z], ...], in m"
            points = check.array(
                "recovery_points", lambda x: x.ndim == 2 and x.shape[1] == 2 and bool(np.isfinite(x).all()), wanted
            )
            if points is not None:
                object.__setattr__(self, "recovery_points", frozen_array(points))
        if not check.bad:
            warn_of_impossible(self)

    def _read(self, check: Checks, file: str) -> bool:
        """Take the matrices of the file; false with a problem."""
        try:
            stiffness, mass, damping = one_section(file)
        except ModelError as error:
            check.fail("file", str(error))
            return False
        for name, matrix in (("stiffness_matrix", stiffness), ("mass_matrix", mass)):
            given = getattr(self, name)
            if given is not None and not np.array_equal(given, matrix):
                check.fail(name, "given beside 'file', which has it: give one of them")
            object.__setattr__(self, name, frozen_array(matrix))
        if not np.any(self.damping):
            object.__setattr__(self, "damping", damping)
        return True

    def _check_damping(self, check: Checks) -> None:
        """Of six coefficients that are equal, one is stored."""
        if "damping" in check.bad:
            return
        wanted = "a number of at least 0, or six, in s"
        values = check.array("damping", lambda x: x.shape in ((), (6,)) and bool(np.all(x >= 0.0)), wanted)
        if values is not None:
            one = np.ptp(values) == 0.0
            object.__setattr__(self, "damping", float(values.ravel()[0]) if one else frozen_array(values))

    @property
    def shears(self) -> str:
        """The field that makes it shear, in words; empty if it does not."""
        if self.shear_stiffness is not None:
            return "a shear_stiffness"
        return (
            "a 6 x 6 stiffness_matrix" if self.stiffness_matrix is not None and len(self.stiffness_matrix) == 6 else ""
        )

    @property
    def damped_by_direction(self) -> bool:
        """Whether its six damping coefficients differ."""
        return np.ndim(self.damping) > 0

    def stiffness(self) -> Floats:
        """(4, 4) force, torque and moments per axial strain, twist and the curvatures about y and z, N and N m2; of a
        6 x 6 matrix, those without shear forces; read-only."""
        return self._stiffness

    @cached_property
    def _stiffness(self) -> Floats:
        if self.stiffness_matrix is not None:
            if len(self.stiffness_matrix) == 4:
                return frozen_array(np.array(self.stiffness_matrix))
            matrix: Any = self.stiffness_matrix
            return frozen_array(np.linalg.inv(np.linalg.inv(matrix)[np.ix_(UNSHEARED, UNSHEARED)]))
        # the checks ensure that one of the two forms is complete
        given: Any = self
        if self.axial_stiffness is not None:
            return frozen_array(np.diag([given.axial_stiffness, given.torsional_stiffness, *given.bending_stiffness]))
        e, g = given.youngs_modulus, given.shear_modulus
        return frozen_array(np.diag([e * given.area, g * given.torsion_constant, *(e * given.second_moments)]))

    def compliance(self) -> Floats:
        """(6, 6) strains (extension, shear along y and z, twist, curvatures) per force and moment; no shear strain
        where the section has no shear stiffness; read-only."""
        return self._compliance

    @cached_property
    def _compliance(self) -> Floats:
        if self.stiffness_matrix is not None and len(self.stiffness_matrix) == 6:
            return frozen_array(np.linalg.inv(self.stiffness_matrix))
        result = np.zeros((6, 6))
        result[np.ix_(UNSHEARED, UNSHEARED)] = np.linalg.inv(self.stiffness())
        if self.shear_stiffness is not None:
            result[1, 1], result[2, 2] = 1.0 / np.asarray(self.shear_stiffness)
        return frozen_array(result)

    def mass(self) -> Floats:
        """(6, 6) momentum and angular momentum per length, about the reference axis, per velocity and spin;
        read-only."""
        return self._mass

    @cached_property
    def _mass(self) -> Floats:
        if self.mass_matrix is not None:
            return frozen_array(self.mass_matrix)
        m, c = self.line_mass(), np.array([0.0, *self.offset()])
        tilde = cross_matrix(c)
        result = np.zeros((6, 6))
        result[:3, :3] = m * np.eye(3)
        result[:3, 3:], result[3:, :3] = -m * tilde, m * tilde
        result[3:, 3:] = np.diag(self.inertia()) - m * tilde @ tilde
        return frozen_array(result)

    def line_mass(self) -> float:
        """Mass per length, kg/m."""
        if self.mass_matrix is not None:
            return float(self.mass_matrix[0, 0])
        if self.mass_per_length is not None:
            return float(self.mass_per_length)
        return float(self.density * self.area + self.non_structural_mass)  # type: ignore[operator]

    def inertia(self) -> Floats:
        """(3,) moments of inertia per unit length about the section's x, y and z axes, kg m."""
        if self.mass_matrix is not None:
            return np.diag(mass_parts(self.mass_matrix)[2])
        if self.inertia_per_length is not None:
            return np.array(self.inertia_per_length)
        given: Any = self
        polar = self.polar_moment or float(np.sum(given.second_moments))
        return np.asarray(given.density * np.array([polar, *given.second_moments]))

    def offset(self) -> Floats:
        """(2,) y and z of the mass centre relative to the reference axis, section axes, m."""
        if self.mass_matrix is not None:
            return mass_parts(self.mass_matrix)[1][1:]
        return np.zeros(2) if self.mass_axis is None else np.array(self.mass_axis)

    def outline(self) -> Floats:
        """(m, 2) polygon of the section in its y and z axes, m; for pictures and meshes."""
        if self.shape is not None:
            return shape_properties(self.shape).outline
        # Rectangle with the section's radii of gyration, scaled to its area if the area is given.
        stiffness = np.diag(self.stiffness())
        z, y = np.sqrt(12.0 * stiffness[2:] / stiffness[0])
        scale = np.sqrt(self.area / (y * z)) if self.area is not None else 1.0
        return rectangle(scale * y, scale * z)
