"""Quantities of fields and of the air in results; T times."""

from typing import ClassVar

from femb.base.quantity import Group, Quantity


class FieldResults(Group):
    """A magnetic field at the origin of the model's frame."""

    word: ClassVar[str] = "field"

    field = Quantity("(T, 3)", "T", "at the origin of the model's frame, inertial axes")


class AtmosphereResults(Group):
    """Density of the air at the origin of the model's frame."""

    word: ClassVar[str] = "field"

    density = Quantity("(T,)", "kg/m3", "at the origin of the model's frame")
