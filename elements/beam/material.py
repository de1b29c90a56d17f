"""Materials by name, for sections."""

from dataclasses import dataclass, fields
from typing import Annotated

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import Unit
from femb.base.values import nearest


@dataclass(frozen=True)
class Material:
    """An isotropic material. youngs_modulus, shear_modulus : Pa. density : kg/m3. expansion : coefficient of thermal
    expansion, 1/K. source : of the values.

    Raises ModelError: a value that is not positive.
    """

    youngs_modulus: Annotated[float, Unit("Pa")]
    shear_modulus: Annotated[float, Unit("Pa")]
    density: Annotated[float, Unit("kg/m3")]
    expansion: Annotated[float | None, Unit("1/K")] = None
    source: str = ""

    def __post_init__(self) -> None:
        with Checks(self, "material") as check:
            check.positive("youngs_modulus", "shear_modulus", "density")

    def values(self) -> dict[str, float]:
        """The values by the names of the fields of a section."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "source"}
        return {name: value for name, value in given.items() if value is not None}


ALUMINUM_ASSOCIATION = "Aluminum Association, typical values"
HIBBELER = "R. C. Hibbeler, Mechanics of Materials, table of average properties"
# Typical values at room temperature; a project's own data sheets go before them.
MATERIALS = {
    "aluminium 6061-T6": Material(68.9e9, 26.0e9, 2700.0, 23.6e-6, ALUMINUM_ASSOCIATION),
    "aluminium 7075-T6": Material(71.7e9, 26.9e9, 2810.0, 23.6e-6, ALUMINUM_ASSOCIATION),
    "aluminium 2014-T6": Material(73.1e9, 27.0e9, 2790.0, 23.0e-6, HIBBELER),
    "stainless steel 304": Material(193.0e9, 75.0e9, 7860.0, 17.0e-6, HIBBELER),
    "steel A36": Material(200.0e9, 75.0e9, 7850.0, 12.0e-6, HIBBELER),
    "titanium Ti-6Al-4V": Material(120.0e9, 44.0e9, 4430.0, 9.4e-6, HIBBELER),
}


def material_named(name: str) -> Material:
    """A material of MATERIALS. Raises ModelError with the names that are known."""
    if name not in MATERIALS:
        known = ", ".join(map(repr, MATERIALS))
        raise ModelError(f"got {name!r}, must be one of {known}, or a table{nearest(name, MATERIALS)}")
    return MATERIALS[name]
