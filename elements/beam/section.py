"""Section of a beam: stiffness and inertia per unit length."""

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import FembWarning, ModelError
from femb.base.html import Brief
from femb.base.types import (
    NOT_NEGATIVE,
    OWN_UNITS,
    POSITIVE,
    Coefficients,
    Floats,
    Matrix4,
    Matrix6,
    Pair,
    Unit,
    Vector,
)
from femb.base.values import bracketed, check_kind, frozen_array, shown
from femb.elements.beam.laminate import (
    Material,
    Ply,
    doubts_of_moduli,
    doubts_of_plies,
    material_named,
    tube_inertia,
    tube_stiffness,
)
from femb.elements.beam.section_matrices import mass_parts, mass_problem, stiffness_problem
from femb.elements.beam.section_shapes import rectangle, shape_problem, shape_properties
from femb.elements.item import Item
from femb.layout.views import ModelView
from femb.numerics.components import kept
from femb.numerics.rotations import cross_matrix

# Densities (kg/m3) of what structures are made of, from foams on.
DENSITY = (5.0, 3e4)

# Checks of a section: each of its stiffness and its inertia in one form, and complete.

MATERIAL = ("area", "second_moments", "torsion_constant", "youngs_modulus", "shear_modulus")
DIRECT = ("axial_stiffness", "torsional_stiffness", "bending_stiffness")
MASSES = ("density", "area", "second_moments")
DIRECT_MASSES = ("mass_per_length", "inertia_per_length")


def check_matrices(section: "Section", check: Checks) -> None:
    """Report matrices that are not those of a section."""
    matrix, mass = section.stiffness_matrix, section.mass_matrix
    if matrix is not None and "stiffness_matrix" not in check.bad:
        if problem := stiffness_problem(matrix):
            check.fail("stiffness_matrix", problem)
        if len(matrix) == 6 and section.shear_stiffness is not None:
            check.fail("shear_stiffness", "given beside a 6 x 6 stiffness_matrix, which has it: give one of them")
    if mass is not None and "mass_matrix" not in check.bad and (problem := mass_problem(mass)):
        check.fail("mass_matrix", problem)


def check_forms(section: "Section", check: Checks) -> None:
    """Report if the stiffness or the inertia is not given completely in exactly one form."""

    def given(names: tuple[str, ...]) -> list[str]:
        return [name for name in names if getattr(section, name) is not None]

    direct = given(DIRECT) or given(("stiffness_matrix",))
    wanted = MATERIAL if not direct else (DIRECT if given(DIRECT) else ("stiffness_matrix",))
    for name in wanted:
        if getattr(section, name) is None and name not in check.bad:
            check.fail(name, f"is missing: the stiffness needs {', '.join(wanted)}")
    for name in given(("youngs_modulus", "shear_modulus", "torsion_constant")) if direct else []:
        check.fail(name, f"given beside {direct[0]!r}, which also says the stiffness: give one of them")
    if given(DIRECT) and section.stiffness_matrix is not None:
        check.fail("stiffness_matrix", f"given beside {given(DIRECT)[0]!r}: give one of them")
    if section.mass_matrix is not None:
        for name in given(("density", "mass_per_length", "inertia_per_length", "mass_axis", "polar_moment")):
            check.fail(name, "given beside 'mass_matrix', which also says the inertia: give one of them")
        return
    masses = DIRECT_MASSES if given(DIRECT_MASSES) else MASSES
    if section.mass_per_length is not None and section.area is not None and section.second_moments is not None:
        wanted = (*wanted, "inertia_per_length")  # without one the mass is spread over the area
    for name in masses:
        if getattr(section, name) is None and name not in check.bad and name not in wanted:
            check.fail(name, f"is missing: the inertia needs {', '.join(masses)}")
    if masses is DIRECT_MASSES and section.density is not None:
        check.fail("density", f"given beside {given(DIRECT_MASSES)[0]!r}: give one of them")


def warn_of_impossible(section: "Section") -> None:
    """Warn of values that are impossible for a plane section."""
    if section.mass_matrix is not None:
        return
    moments = section.inertia()
    largest = int(np.argmax(moments))
    if moments[largest] > (moments.sum() - moments[largest]) * (1.0 + 1e-9):
        field = "inertia_per_length" if section.inertia_per_length is not None else "polar_moment"
        # not an error: a comparison may omit the rotary inertia of bending
        warnings.warn(
            f"sections.{section.name}.{field}: the moments of inertia {', '.join(f'{x:.6g}' for x in moments)} "
            f"kg m about x, y and z break the triangle inequality: that about {'xyz'[largest]} is above the sum of "
            "the others; of a plane section, that about x is the sum of those about y and z",
            FembWarning,
            stacklevel=4,
        )
    polar = float(np.sum(section.second_moments)) if section.second_moments is not None else np.inf
    if section.torsion_constant is not None and section.torsion_constant > polar * (1.0 + 1e-6):
        warnings.warn(
            f"sections.{section.name}.torsion_constant: {section.torsion_constant:g} m4 is above the polar moment, "
            f"{polar:.6g} m4, the sum of the second moments, which is the most that any section has: that of a "
            "circle or a ring",
            FembWarning,
            stacklevel=4,
        )


# Stiffness and inertia of a section from its shape, material and plies.

SHAPED = ("area", "second_moments", "torsion_constant")


def complete(section: "Section", check: Checks) -> None:
    """Set the fields that shape, material and plies give, where they are not given. Report what contradicts."""
    if "shape" in check.bad:
        check.bad.update(SHAPED)  # which are not reported as missing too
    if section.plies is not None and not {"plies", "shape"} & check.bad:
        _laminate(section, section.plies, check)
    if "plies" in check.bad:
        check.bad.update(MATERIAL, ("density",))
    direct = _given(section, (*DIRECT, "stiffness_matrix"))
    masses = _given(section, (*DIRECT_MASSES, "mass_matrix"))
    if section.shape is not None and "shape" not in check.bad and not direct:
        shape = shape_properties(section.shape)
        own_torsion = _given(section, ("torsion_constant",))
        _set(section, "area", shape.area)
        _set(section, "second_moments", frozen_array(shape.second_moments))
        _set(section, "torsion_constant", shape.torsion_constant)
        if not own_torsion:
            _set(section, "torsion_modulus", shape.torsion_modulus)
    if section.material is not None and not isinstance(section.material, str | Material):
        check.fail("material", f"got {shown(section.material)}, wanted the name of a material or a femb.Material")
        check.bad.update(MATERIAL[-2:], ("density",))
    elif section.material is not None and "material" not in check.bad:
        try:
            named = section.material
            values = (material_named(named) if isinstance(named, str) else named).values()
        except ModelError as error:
            check.fail("material", str(error))
            check.bad.update(MATERIAL[-2:], ("density",))
            values = {}
        for name, value in values.items():
            if not (direct and name in MATERIAL) and not (masses and name == "density"):
                _set(section, name, value)
    if "non_structural_mass" not in check.bad and section.non_structural_mass and masses and section.plies is None:
        check.fail("non_structural_mass", f"given beside {masses[0]!r}, which contains all mass: give one of them")


def _laminate(section: "Section", plies: list[Ply], check: Checks) -> None:
    """Set stiffness and inertia of a laminated tube."""
    check.require("plies", plies, "wanted a list of plies, from inside to outside")
    if "plies" in check.bad:
        return
    shape, wall = section.shape, sum(ply.thickness for ply in plies)
    if shape is None or "tube" not in shape:
        check.fail("plies", "are of a tube: give shape = { tube = [radius, wall] }")
        return
    radius, given = shape["tube"]
    if abs(given - wall) > 1e-6 * wall:
        check.fail("plies", f"are {wall:.6g} m thick together, but the wall of the tube {given:.6g} m")
        return
    mass, inertia = tube_inertia(radius - wall, plies)
    said: dict[str, Any] = {
        "stiffness_matrix": frozen_array(tube_stiffness(radius - wall, plies)),
        "mass_per_length": mass + (0.0 if "non_structural_mass" in check.bad else section.non_structural_mass or 0.0),
        "inertia_per_length": frozen_array(inertia),
    }
    for name in (*MATERIAL, *DIRECT, *DIRECT_MASSES, "stiffness_matrix", "mass_matrix", "density", "material"):
        value = getattr(section, name)
        # equal ones are those of a section that is made again
        if value is not None and not (name in said and np.array_equal(value, said[name])):
            check.fail(name, "given beside 'plies', which say the stiffness and the inertia: give one of them")
    for name, value in said.items():
        _set(section, name, value)


def _given(section: "Section", names: tuple[str, ...]) -> list[str]:
    return [name for name in names if getattr(section, name) is not None]


def _set(section: "Section", name: str, value: Any) -> None:
    if getattr(section, name) is None:
        object.__setattr__(section, name, value)


# Extension, twist and curvatures among the six strains.
UNSHEARED = [0, 3, 4, 5]


@dataclass(frozen=True, eq=False)
class Section(Item):
    """A beam's cross-section: its stiffness and its inertia, each in one of these forms.

    Stiffness: of a material and a shape, by area, second_moments, torsion_constant, youngs_modulus and shear_modulus;
    or directly, by axial_stiffness, torsional_stiffness and bending_stiffness; or by stiffness_matrix. Inertia: by
    density; or by mass_per_length and inertia_per_length; or by mass_matrix.

    Raises ModelError: a value that is not positive, a stiffness or inertia given twice or incompletely, a matrix that
    is not symmetric and positive definite. Warns if one moment of inertia exceeds the sum of the others, or if the
    torsion constant exceeds the sum of the second moments.
    """

    table: ClassVar[str] = "sections"
    kind: ClassVar[str] = "section"

    name: str
    area: Annotated[float | None, Unit("m2"), POSITIVE] = None
    second_moments: Annotated[Pair | None, Unit("m4"), POSITIVE] = None
    """about the section's principal y and z axes"""
    torsion_constant: Annotated[float | None, Unit("m4"), POSITIVE] = None
    """Saint-Venant's, 0.1406 b4 of a square of side b, not the polar moment"""
    density: Annotated[float | None, Unit("kg/m3"), POSITIVE] = None
    """with area and second_moments"""
    youngs_modulus: Annotated[float | None, Unit("Pa"), POSITIVE] = None
    shear_modulus: Annotated[float | None, Unit("Pa"), POSITIVE] = None
    polar_moment: Annotated[float | None, Unit("m4"), POSITIVE] = None
    """of inertia in twist; by default the sum of the second moments"""
    damping: Annotated[Coefficients, Unit("s")] = 0.0
    """stiffness-proportional, stress per strain rate divided by stress per strain. A beam of the kind "exact" takes
    six, d, of extension, shear along y and z, twist and curvatures about y and z: stress i per rate of strain j is
    sqrt(d_i d_j) K_ij"""
    shape: Annotated[dict[str, Any] | None, Unit("m")] = field(default=None, repr=False)
    """the outer sizes, {"rectangle": [y, z]}, {"circle": radius}, {"tube": [radius, wall]}, {"box": [y, z, wall]},
    {"i": [y, z, web, flange]} or {"channel": [y, z, web, flange]} about the centroid. It gives area, second_moments,
    torsion_constant and torsion_modulus unless given, and the pictures"""
    axial_stiffness: Annotated[float | None, Unit("N"), POSITIVE] = None
    """EA"""
    torsional_stiffness: Annotated[float | None, Unit("N m2"), POSITIVE] = None
    """GJ"""
    bending_stiffness: Annotated[Pair | None, Unit("N m2"), POSITIVE] = None
    """[EIy, EIz]"""
    stiffness_matrix: Annotated[Matrix4 | Matrix6 | None, OWN_UNITS] = None
    """symmetric 4 x 4, of axial strain, twist and curvatures about y and z. Or symmetric 6 x 6, forces then moments by
    extension, shear along y and z, twist and curvatures, order and signs of VABS"""
    mass_per_length: Annotated[float | None, Unit("kg/m"), POSITIVE] = None
    """the whole mass, before the density of the material"""
    inertia_per_length: Annotated[Vector | None, Unit("kg m"), POSITIVE] = None
    """[x, y, z] about axes through the mass centre"""
    expansion: Annotated[float | None, Unit("1/K")] = None
    """coefficient of thermal expansion; negative of some fibres"""
    mass_axis: Annotated[Pair | None, Unit("m")] = None
    """the mass centre, [y, z], by default on the reference axis of the stiffness"""
    recovery_points: Annotated[list[Pair] | None, Unit("m")] = None
    """[[y, z], ...] for stresses; by default the corners of the shape, or of the rectangle with the radii of
    gyration"""
    torsion_modulus: Annotated[float | None, Unit("m3"), POSITIVE] = None
    """torque divided by the largest shear stress; by default that of the same circle or rectangle with this
    torsion_constant"""
    shear_stiffness: Annotated[Pair | None, Unit("N"), POSITIVE] = None
    """[kGAy, kGAz], beside another stiffness than the 6 x 6: then, and with a 6 x 6, the section shears, which takes an
    "exact" beam"""
    mass_matrix: Annotated[Matrix6 | None, OWN_UNITS] = None
    """symmetric 6 x 6, momentum and angular momentum per length by velocity and spin, order of VABS"""
    file: str | None = None
    """of VABS (.K) or BECAS with both matrices, or a table (.csv) of one row"""
    material: str | Material | None = None
    """one of femb.MATERIALS by its name, or a Material; it gives moduli, density and expansion unless given"""
    plies: list[Ply] | None = None
    """of a laminated tube, from inside to outside, as thick as its wall; they give stiffness and inertia"""
    non_structural_mass: Annotated[float, Unit("kg/m"), NOT_NEGATIVE] = 0.0
    """in addition, such as wires, without rotary inertia"""

    def check(self, check: Checks) -> None:
        if self.file is not None and "file" not in check.bad and not self._read(check, self.file):
            return
        if self.shape is not None and (problem := shape_problem(self.shape)):
            check.fail("shape", problem)
        complete(self, check)
        self._check_damping(check)
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

    def doubts(self, model: ModelView) -> Iterator[str]:
        at = f"sections.{self.name}"
        yield from doubts_of_moduli(at, self.youngs_modulus, self.shear_modulus)
        yield from doubts_of_plies(f"{at}.plies", self.plies or ())
        if self.density is not None and not DENSITY[0] <= self.density <= DENSITY[1]:
            yield f"{at}.density: {self.density:g} kg/m3 is that of no material; g/cm3 are to be multiplied by 1e3"
        if self.area is not None and self.second_moments is not None:
            # the radius of gyration by the root of the area is near 0.3
            ratio = np.sqrt(np.asarray(self.second_moments) / self.area**2)
            if np.any(ratio > 100.0) or np.any(ratio < 1e-3):
                yield (
                    f"{at}.second_moments: {bracketed(self.second_moments)} m4 do not belong to an area of "
                    f"{self.area:g} m2; mm4 are to be multiplied by 1e-12, mm2 by 1e-6"
                )

    def _read(self, check: Checks, file: str) -> bool:
        """Take the matrices of the file; false with a problem."""
        from femb.elements.beam.section_files import one_section

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
        """Check the damping coefficients; of six equal ones one is stored."""
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
        shear = None if self.shear_stiffness is None else np.asarray(self.shear_stiffness, dtype=float)
        return _compliance_of(self.stiffness(), shear)

    def mass(self) -> Floats:
        """(6, 6) momentum and angular momentum per length, about the reference axis, per velocity and spin;
        read-only."""
        return self._mass

    @cached_property
    def _mass(self) -> Floats:
        if self.mass_matrix is not None:
            return frozen_array(self.mass_matrix)
        return _mass_of(self.line_mass(), self.inertia(), np.array([0.0, *self.offset()]))

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
        density = given.density if self.mass_per_length is None else self.mass_per_length / given.area
        return np.asarray(density * np.array([polar, *given.second_moments]))

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


@kept
def _compliance_of(stiffness: Floats, shear: Floats | None) -> Floats:
    """The compliance (6, 6) of a section by its stiffness (4, 4) and that to shear (2,); read-only."""
    result = np.zeros((6, 6))
    result[np.ix_(UNSHEARED, UNSHEARED)] = np.linalg.inv(stiffness)
    if shear is not None:
        result[1, 1], result[2, 2] = 1.0 / shear
    return frozen_array(result)


@kept
def _mass_of(m: float, inertia: Floats, c: Floats) -> Floats:
    """The mass (6, 6) per length of a section by its line mass, inertia (3,) and mass centre c (3,); read-only."""
    tilde = cross_matrix(c)
    result = np.zeros((6, 6))
    result[:3, :3] = m * np.eye(3)
    result[:3, 3:], result[3:, :3] = -m * tilde, m * tilde
    result[3:, 3:] = np.diag(inertia) - m * tilde @ tilde
    return frozen_array(result)


# Sections of beams from files, by station.


@dataclass(frozen=True, eq=False)
class SectionTable(Brief):
    """Sections along a beam: stations (k,) m from its start, and the k sections there.

    For a beam: ``ExactBeam("blade", sections=table.sections, stations=table.stations, length=table.stations[-1])`` and
    its other fields.
    """

    stations: Floats
    sections: tuple[Section, ...]


def read_sections(
    path: str | os.PathLike[str], format: str | None = None, *, name: str = "section", length: float | None = None
) -> SectionTable:
    """The sections in a file.

    A table has the columns station (m), K11 to K66 and M11 to M66, of each matrix at least one triangle with what is
    not zero, and damping, or damping1 to damping6 (s), in the order of VABS.

    Parameters:
        path: of the file.
        format: "vabs", the output file with the Timoshenko stiffness and the mass matrix of one section; "becas", a
            text of twelve rows of six numbers, the stiffness and the mass matrix of one section; "beamdyn", a blade
            file; "csv", a table of stations. By default by the file: ".K" is of VABS, ".csv" a table, one with the word
            BEAMDYN of BeamDyn, all else of BECAS, or in the order of VABS where the mass has J1 = J2 + J3.
        name: the sections are NAME, or NAME 1, NAME 2, ... where there are several.
        length: m, of the blade in a file of BeamDyn, whose stations are parts of it.

    Raises:
        ModelError: a file that is not of the format, or whose matrices are not those of a section.
    """
    check_kind("read_sections", path, (str, os.PathLike), "the path of a file")
    table, relative = sections_of(path, format, name, length if length and length > 0.0 else None)
    if relative:
        raise ModelError(f"{path}: the stations of BeamDyn are parts of the blade: give its length (m)")
    return table


def sections_of(
    path: str | os.PathLike[str], format: str | None, name: str, length: float | None
) -> tuple[SectionTable, bool]:
    """Read as ``read_sections`` does; and whether the stations are parts of the length, which is not given."""
    from femb.elements.beam.section_files import read_matrices

    found = read_matrices(path, format, length)
    count, unit = len(found.stations), "of the length" if found.relative else "m"
    sections = []
    for k, (K, M) in enumerate(zip(found.stiffness, found.mass, strict=True)):
        words = {"stiffness_matrix": K, "mass_matrix": M, "damping": found.damping[k]}
        try:
            sections.append(Section(name if count == 1 else f"{name} {k + 1}", **words))
        except ModelError as error:
            where = f"station {k + 1}, at {found.stations[k]:.6g} {unit}, " if count > 1 else ""
            problem = error.problems[0]
            raise ModelError(f"{path}: {where}{problem.item[-1]}: {problem.message}") from error
    return SectionTable(found.stations, tuple(sections)), found.relative
