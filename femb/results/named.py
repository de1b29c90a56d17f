"""A named quantity of a group of results, with its array, unit and components."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.results.beam import Beam
from femb.results.quantity import Group

COMPONENTS = {"3": ("x", "y", "z"), "4": ("w", "x", "y", "z")}
"""Names of the components of vectors and quaternions, by their number in a `Quantity`'s shape."""
COMPUTED = {"euler_angles": "rad", "euler_rates": "rad/s", "quaternion_rate": "1/s", "rotation_rate": "1/s"}
"""Quantities that groups compute and that no `Quantity` declares, and their units."""
STRESSES = ("axial_stress", "shear_stress", "von_mises")
LINEAR = {"x", "y", "z", "stroke", "distance"}  # names of coordinates and components of drivers in m, not rad


@dataclass(frozen=True, eq=False)
class Named:
    """A quantity over time, of a group or of one node of a beam.

    word : the quantity. array (T, ...) : all its components, in ``unit``, "" where that is unknown. axes : the declared
    sizes of its axes after the time, see `Quantity`. component : of the last axis, None for all.
    """

    group: Group
    word: str
    node: int | None
    array: Floats
    unit: str
    component: int | None = None

    @property
    def values(self) -> Floats:
        """(T, ...): the array, or the component of it."""
        return self.array if self.component is None else self.array[..., self.component]

    @property
    def path(self) -> str:
        """The full name, as bodies.hub.position or beams.boom.-1.deflection.x."""
        node = [] if self.node is None else [str(self.node)]
        return ".".join([self.group.path.replace("/", "."), *node, self.word, *self.label])

    @property
    def label(self) -> tuple[str, ...]:
        """The name of the component; nothing for all components."""
        if self.component is None:
            return ()
        names = components_of(self.group, self.array)
        return (names[self.component] if names else str(self.component),)

    @property
    def axes(self) -> list[str]:
        """The declared sizes of the axes of `values` after the time; those of its shape where it has others."""
        if self.component is not None:
            return [str(size) for size in self.values.shape[1:]]
        quantity = self.group.quantities().get(self.word)
        declared = [] if quantity is None else quantity.sizes[1:]
        if self.node is not None:
            declared = declared[2:] if declared[:2] == ["e", "2"] else declared[1:]
        shape = self.array.shape[1:]
        return declared if len(declared) == len(shape) else [str(size) for size in shape]


def at_node(beam: Beam, word: str, array: Floats, node: int) -> Floats | None:
    """(T, ...) of an array of nodes, or of ends of elements, at a node: the end of the element before it, of the first
    node the start of the one after. None for any other array and for a node that the beam does not have."""
    if array.ndim < 2:
        return None
    sizes = Beam.quantities()[word].sizes if word in Beam.quantities() else ["T", "n"]
    nodes = array.shape[1] + ("e" in sizes)
    if not -nodes <= node < nodes:
        return None
    node %= nodes
    if sizes[1] == "n":
        return array[:, node]
    if sizes[1:3] == ["e", "2"]:
        return array[:, node - 1, 1] if node else array[:, 0, 0]
    return None


def unit_of(group: Group, word: str) -> str:
    """The unit of a quantity, "" where it is unknown or differs between items."""
    quantity = group.quantities().get(word)
    return "" if quantity is None or " or " in quantity.unit or quantity.unit == "-" else quantity.unit


def array_of(group: Group, word: str) -> tuple[Floats | None, str]:
    """The array of a quantity and its unit; None where there is none."""
    if word in COMPUTED and hasattr(type(group), word) and "quaternion" in group:
        value = getattr(group, word)
        return np.asarray(value() if callable(value) else value), COMPUTED[word]
    quantity = group.quantities().get(word)
    if word not in group and (quantity is None or quantity.otherwise is None):
        return None, ""
    try:
        array = np.asarray(group[word] if word in group else getattr(group, word))
    except ResultError:  # what it is computed from is not recorded
        return None, ""
    return (array, unit_of(group, word)) if array.dtype.kind in "biuf" and array.ndim else (None, "")


def components_of(group: Group, array: Floats) -> list[str]:
    """The names of the last axis of an array (T, ..., k), those of the item before x, y, z; empty for numbers."""
    names = coordinates_of(group)
    if array.ndim == 2 and len(names) == array.shape[-1]:
        return names
    return list(COMPONENTS.get(str(array.shape[-1]), ()))


def coordinates_of(group: Group) -> list[str]:
    """The names of a group's coordinates or components, from its attribute."""
    try:
        names: Any = json.loads(str(group.attributes.get("names", "[]")))
        return [str(name) for name in names]
    except (ValueError, TypeError):  # a damaged attribute leaves the numbers without names
        return []
