"""Checks of a section: each of its stiffness and its inertia in one form, and complete."""

import warnings
from typing import Protocol

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import FembWarning
from femb.base.types import Floats, Matrix4, Matrix6, Pair, Vector
from femb.elements.beam.section_matrices import mass_problem, stiffness_problem

MATERIAL = ("area", "second_moments", "torsion_constant", "youngs_modulus", "shear_modulus")
DIRECT = ("axial_stiffness", "torsional_stiffness", "bending_stiffness")
MASSES = ("density", "area", "second_moments")
DIRECT_MASSES = ("mass_per_length", "inertia_per_length")


class SectionFields(Protocol):
    """The fields of a Section that exclude each other; ``femb.elements.beam.section.Section`` has them."""

    @property
    def name(self) -> str: ...
    @property
    def second_moments(self) -> Pair | None: ...
    @property
    def torsion_constant(self) -> float | None: ...
    @property
    def inertia_per_length(self) -> Vector | None: ...
    @property
    def density(self) -> float | None: ...
    @property
    def stiffness_matrix(self) -> Matrix4 | Matrix6 | None: ...
    @property
    def mass_matrix(self) -> Matrix6 | None: ...
    @property
    def shear_stiffness(self) -> Pair | None: ...
    def inertia(self) -> Floats: ...


def check_matrices(section: SectionFields, check: Checks) -> None:
    """Report matrices that are not those of a section."""
    matrix, mass = section.stiffness_matrix, section.mass_matrix
    if matrix is not None and "stiffness_matrix" not in check.bad:
        if problem := stiffness_problem(matrix):
            check.fail("stiffness_matrix", problem)
        if len(matrix) == 6 and section.shear_stiffness is not None:
            check.fail("shear_stiffness", "given beside a 6 x 6 stiffness_matrix, which has it: give one of them")
    if mass is not None and "mass_matrix" not in check.bad and (problem := mass_problem(mass)):
        check.fail("mass_matrix", problem)


def check_forms(section: SectionFields, check: Checks) -> None:
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
    for name in masses:
        if getattr(section, name) is None and name not in check.bad and (masses is DIRECT_MASSES or name not in wanted):
            check.fail(name, f"is missing: the inertia needs {', '.join(masses)}")
    if masses is DIRECT_MASSES and section.density is not None:
        check.fail("density", f"given beside {given(DIRECT_MASSES)[0]!r}: give one of them")


def warn_of_impossible(section: SectionFields) -> None:
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
