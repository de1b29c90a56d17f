"""Named arrays of results: quantities with shape, unit and meaning, and the groups that contain them."""

import json
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, ClassVar, Self, TypeVar, overload

import numpy as np

from femb.base.arrays import NOTHING, Arrays, Attributes, Below, ByName, Chosen, listing
from femb.base.errors import ResultError
from femb.base.types import Floats

GroupType = TypeVar("GroupType", bound="Group")


LEVELS = ("motion", "deformation", "forces")
COMPONENTS = {"3": ("x", "y", "z"), "4": ("w", "x", "y", "z")}
"""Names of the components of vectors and quaternions, by their number in a `Quantity`'s shape."""
IN_PLANE = ("11", "22", "12")  # of plates
ENDS = ("start", "end")  # of elements
LENGTHS = {"x", "y", "z", "stroke", "distance"}  # names of coordinates and components of drivers in m, not rad
AXES = {"T": "time", "n": "node", "e": "element", "c": "coordinate"}


class Quantity:
    """A named array of a `Group`, read as an attribute; knows its shape, unit and meaning.

    shape : of the array, such as "(T, 3)": T output times; letters are sizes. unit : "-" for none, "A or B" of lengths
    or of angles. meaning : with the axes. components : names of the last axis; by default x, y, z of three and w, x, y,
    z of four. places : names of an axis of numbered size before it, as the ends of elements. label : in figures, by
    default the name.
    level : what it depends on: "motion" (positions and velocities), "deformation" (small coordinates beside positions)
    or "forces" (accelerations, reactions, inputs).
    A run records it from what gives it, or from the records of its item (``Item.records``, ``Batch.records``):
    coordinate, rate : name of an internal coordinate of the item, of which it is the value or the rate. of : a function
    of the item and its states, `femb.elements.item.ItemStates`, that returns (s, ...) at s states. recorded :
    the module of a function of the same name, a `femb.recording.record.RecordedFunction`.
    rows : a function of the item and the operating point that returns its exact `femb.layout.element.OutputRows`, with
    which it is an output of linear models; a coordinate and a rate have theirs.
    otherwise : function that computes it from the group where the results do not contain it.
    """

    def __init__(
        self,
        shape: str,
        unit: str,
        meaning: str,
        otherwise: "Callable[[Group], Floats] | None" = None,
        recorded: str = "",
        *,
        level: str = "forces",
        coordinate: str = "",
        rate: str = "",
        of: Callable[[Any, Any], Floats] | None = None,
        rows: Callable[[Any, Any], Any] | None = None,
        components: tuple[str, ...] = (),
        places: tuple[str, ...] = (),
        label: str = "",
    ) -> None:
        if level not in LEVELS:
            raise ValueError(f"quantity: level: got {level!r}, wanted one of {', '.join(LEVELS)}")
        self.shape, self.unit, self.meaning = shape, unit, meaning
        self.otherwise, self.recorded, self.of = otherwise, recorded, of
        self.coordinate, self.rate, self.rows = coordinate, rate, rows
        self.level = "motion" if coordinate or rate else level
        self.components, self.places, self.label = components, places, label
        self.__doc__ = f"{shape} {unit}: {meaning}."

    @property
    def given(self) -> bool:
        """Whether the declaration itself gives the values, by a coordinate, a rate or a function."""
        return bool(self.coordinate or self.rate or self.of)

    @property
    def sizes(self) -> list[str]:
        """The sizes of an array's axes: numbers or letters."""
        return [part.strip() for part in self.shape.strip("()").split(",") if part.strip()]

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, group: None, owner: type) -> "Quantity": ...
    @overload
    def __get__(self, group: "Group", owner: type) -> Floats: ...
    def __get__(self, group: "Group | None", owner: type) -> "Quantity | Floats":
        if group is None:
            return self
        if self.otherwise is not None and self.name not in group:
            return self.otherwise(group)
        return group[self.name]

    def admits(self, array: np.ndarray, sizes: dict[str, int], strict: bool) -> bool:
        """Whether an array has this shape, with ``sizes`` for its letters; new letters are added to ``sizes``.

        strict : letters have one size in the group. Otherwise an array may have further axes, such as the force of a
        spring on Euler angles, which has three components.
        """
        wanted, shape = self.sizes, array.shape
        if wanted[:1] == ["..."]:  # of any leading axes
            wanted, shape = wanted[1:], shape[array.ndim - len(wanted) + 1 :]
        if array.dtype.kind not in "biufc" or len(shape) < len(wanted) or (strict and len(shape) != len(wanted)):
            return False
        for letter, size in zip(wanted, shape, strict=False):
            fixed = int(letter) if letter.isdigit() else sizes.get(letter, size)
            if size != fixed:
                return False
            if strict:
                sizes.setdefault(letter, size)
        return True

    def __set__(self, group: "Group", value: object) -> None:
        raise AttributeError(f"{group.path}/{self.name} is a result and cannot be assigned")


def selection_note(attributes: Attributes) -> str:
    """The selection of a run, for messages about what is missing; empty if it recorded everything."""
    words = attributes.get("", NOTHING).get("output", "")
    return f"; the run recorded a selection only, [run.output] {words}" if words else ""


class Group:
    """The arrays and attributes under one path; ``group["name"]`` reads any of them.

    series : names of the arrays over time. of_nodes : whether its arrays are of a sequence of nodes, (T, n, ...); then
    a letter has the same size in all of its shapes. word : one item of the kind, as in the names of tables. shown :
    names of the quantities over time that figures offer beside those that a declaration gives; by default all.
    """

    word: ClassVar[str] = ""
    shown: ClassVar[tuple[str, ...] | None] = None
    of_nodes: ClassVar[bool] = False

    def __init__(self, path: str, arrays: Arrays, attributes: Attributes, series: Collection[str] = ()) -> None:
        self.path = path
        self.name = path.rsplit("/", 1)[-1]
        self.arrays: Arrays = Below(path + "/", arrays)
        self.attributes: Mapping[str, Any] = attributes.get(path, NOTHING)
        self._root = {word: value for word, value in attributes.get("", NOTHING).items() if word == "output"}
        self._selected = selection_note(attributes)
        self.series = frozenset(name for name in self.arrays if f"{path}/{name}" in series)

    @classmethod
    @cache
    def quantities(cls) -> Mapping[str, Quantity]:
        """The quantities of this kind of group, by name."""
        declared = {name: var for one in reversed(cls.__mro__) for name, var in vars(one).items()}
        return {name: var for name, var in declared.items() if isinstance(var, Quantity)}

    @property
    def attachments(self) -> dict[str, dict[str, Any]]:
        """The places where the item attaches, by its field, as ``first`` of a joint: the ``body``, or the ``beam`` and
        its ``node`` from 0, and the point ``at`` (m) in the axes of the body or section; empty in older files."""
        result: dict[str, dict[str, Any]] = json.loads(str(self.attributes.get("attachments", "{}")))
        return result

    def columns_of(self, name: str) -> tuple[str, tuple[str, ...]]:
        """The unit of a quantity, or those of all columns with commas where they differ, and the names of its
        components: those that its item has recorded of itself, in the attribute "columns", else those declared; "own"
        and none where they are not known."""
        given = json.loads(str(self.attributes.get("columns", "{}"))).get(name, {})
        quantity = self.quantities().get(name)
        unit, components = ("own", ()) if quantity is None else (quantity.unit, quantity.components)
        if quantity is None or quantity.sizes[-1] in ("c", "k"):
            components = self.column_names
        unit, names = given.get("unit", unit), tuple(given.get("names", components))
        length, _, angle = unit.partition(" or ")
        units = [angle if angular else length for angular in self.angular] if angle else []
        unit = ", ".join(units[:1] if len(set(units)) == 1 else units) or unit
        return unit, names

    def axes_of(self, name: str, shape: tuple[int, ...]) -> list[tuple[str, tuple[str, ...]]]:
        """For every axis of the array of a quantity, the time too, its declared size, as "n" of nodes, and the names of
        its places; none where they are numbered."""
        quantity, (_, components) = self.quantities().get(name), self.columns_of(name)
        # some quantities are a number for some items and a vector for others
        declared = quantity.sizes if quantity is not None else []
        if declared[:1] == ["..."]:
            declared = [*(len(shape) - len(declared) + 1) * [""], *declared[1:]]
        fits = len(declared) == len(shape)
        sizes = declared if fits else ["T", *map(str, shape[1:])]
        found = [(size, COMPONENTS.get(size, ())) for size in sizes]
        if quantity is not None and fits and quantity.places:
            found[-2] = sizes[-2], quantity.places
        return [*found[:-1], (sizes[-1], components)] if len(components) == shape[-1] and len(shape) > 1 else found

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of its coordinates or components, from its attribute."""
        try:
            names: Any = json.loads(str(self.attributes.get("names", "[]")))
            return tuple(str(name) for name in names)
        except (ValueError, TypeError):  # a damaged attribute leaves the numbers without names
            return ()

    @property
    def angular(self) -> tuple[bool, ...]:
        """Whether its coordinates, or its single motion, are angles, not lengths: from its attribute, in older files by
        what is recorded."""
        if "angular" in self.attributes:
            return tuple(json.loads(str(self.attributes["angular"])))
        motion = ("angle" in self,) if "angle" in self.quantities() else ()
        return tuple(name not in LENGTHS for name in self.column_names) or motion

    def at(self, k: int) -> dict[str, np.ndarray]:
        """Its arrays at output time k, and its constant arrays."""
        return {name: self[name][k] if name in self.series else self[name] for name in self.arrays}

    def instant(self, k: int) -> Self:
        """The group with output time k alone."""
        arrays = {f"{self.path}/{name}": self[name][k : k + 1] if name in self.series else self[name]
                  for name in self.arrays}  # fmt: skip
        series = [f"{self.path}/{name}" for name in self.series]
        return type(self)(self.path, arrays, {self.path: self.attributes, "": self._root}, series)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.arrays:
            there = f"there are: {listing(self.arrays)}{self._selected}"
            raise ResultError(f"{self.path}: no quantity {name!r} in these results; {there}")
        return self.arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = {f"{self.path}/{name}": array for name, array in self.arrays.items()}
        series = [f"{self.path}/{name}" for name in self.series]
        attributes = {self.path: dict(self.attributes), "": self._root}
        return type(self), (self.path, arrays, attributes, series)

    def __repr__(self) -> str:
        kind = (self.word or self.path.partition("/")[0]).replace("_", " ").capitalize()
        return f"<{kind} {self.name!r}: {', '.join(self.arrays) or 'no arrays'}>"


class Groups(ByName[GroupType]):
    """The groups of one kind by name, in the order of the model."""

    def __init__(
        self, kind: str, make: type[GroupType], arrays: Arrays, attributes: Attributes, series: Collection[str] = ()
    ) -> None:
        self._kind, self._selected = kind, selection_note(attributes)
        # A dictionary, because a set has no order; each group searches its own arrays only.
        paths: dict[str, list[str]] = {}
        start = kind + "/"
        for path in arrays:
            if path.startswith(start):
                paths.setdefault(path.split("/")[1], []).append(path)
        for path in attributes:
            if path.startswith(start):
                paths.setdefault(path.split("/")[1], [])
        # made on first use, since few are asked for in a large model
        self._made: dict[str, GroupType] = {}
        self._make, self._paths, self._of = make, paths, (arrays, attributes, series)
        super().__init__(paths)

    def __getitem__(self, name: str) -> GroupType:
        if name not in self._names:
            raise ResultError(f"no {name!r} among the {self._kind}; there are: {listing(self)}{self._selected}")
        if name not in self._made:
            arrays, attributes, series = self._of
            of_group = Chosen(self._paths[name], arrays)
            self._made[name] = self._make(f"{self._kind}/{name}", of_group, attributes, series)
        return self._made[name]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_made": dict(self), "_of": ({}, {}, ())}

    def get(self, name: str, default: Any = None) -> Any:
        """The group of that name, or ``default``."""
        return default if name not in self._names else self[name]

    def __repr__(self) -> str:
        return f"<{self._kind}: {listing(self)}>"
