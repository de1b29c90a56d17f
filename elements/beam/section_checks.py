"""Checks of a section: each of its stiffness and its inertia in one form, and complete."""

from typing import Protocol

from femb.base.checks import Checks
from femb.base.types import Matrix4, Matrix6, Pair
from femb.elements.beam.section_matrices import mass_problem, stiffness_problem

MATERIAL = ("area", "second_moments", "torsion_constant", "youngs_modulus", "shear_modulus")
DIRECT = ("axial_stiffness", "torsional_stiffness", "bending_stiffness")
MASSES = ("density", "area", "second_moments")
DIRECT_MASSES = ("mass_per_length", "inertia_per_length")


class SectionFields(Protocol):
    """The fields of a Section that exclude each other; ``femb.elements.beam.section.Section`` has them."""

    @property
    def density(self) -> float | None: ...
    @property
    def stiffness_matrix(self) -> Matrix4 | Matrix6 | None: ...
    @property
    def mass_matrix(self) -> Matrix6 | None: ...
    @property
    def shear_stiffness(self) -> Pair | None: ...


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
