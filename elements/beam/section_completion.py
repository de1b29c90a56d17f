"""What a section's shape, material and plies say of its stiffness and inertia."""

from typing import Any, Protocol

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import frozen_array, shown
from femb.elements.beam.laminate import Ply, tube_inertia, tube_stiffness
from femb.elements.beam.material import Material, material_named
from femb.elements.beam.section_checks import DIRECT, DIRECT_MASSES, MATERIAL
from femb.elements.beam.section_shapes import shape_properties

SHAPED = ("area", "second_moments", "torsion_constant")


class CompletedFields(Protocol):
    """The fields of a Section that say others; ``femb.elements.beam.section.Section`` has them."""

    @property
    def area(self) -> float | None: ...
    @property
    def second_moments(self) -> Floats | None: ...
    @property
    def mass_per_length(self) -> float | None: ...
    @property
    def shape(self) -> dict[str, Any] | None: ...
    @property
    def material(self) -> str | Material | None: ...
    @property
    def plies(self) -> list[Ply] | None: ...
    @property
    def mass_matrix(self) -> Floats | None: ...
    @property
    def non_structural_mass(self) -> float: ...


def complete(section: CompletedFields, check: Checks) -> None:
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
    if masses == ["mass_per_length"] and "mass_per_length" not in check.bad and not _given(section, ("density",)):
        _spread_mass(section)
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


def _spread_mass(section: CompletedFields) -> None:
    """The density that gives a whole mass per length, structural or not, on the area of the section."""
    if section.plies is None and section.area and section.second_moments is not None and section.mass_per_length:
        object.__setattr__(section, "density", section.mass_per_length / section.area)
        object.__setattr__(section, "mass_per_length", None)


def _laminate(section: CompletedFields, plies: list[Ply], check: Checks) -> None:
    """Set stiffness and inertia of a laminated tube."""
    given_list = isinstance(plies, list | tuple) and len(plies) > 0
    if not given_list or not all(isinstance(ply, Ply) for ply in plies):
        check.fail("plies", f"got {shown(plies)}, wanted a list of plies, from inside to outside")
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


def _given(section: CompletedFields, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if getattr(section, name) is not None]


def _set(section: CompletedFields, name: str, value: Any) -> None:
    if getattr(section, name) is None:
        object.__setattr__(section, name, value)
