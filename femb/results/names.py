"""Quantities of results by name: the names of tables, spectra, figures and outputs of studies.

ITEM.QUANTITY                             as hub.position, with the quantities of docs/reference/results.md; with its
                                          kind, bodies.hub.position, where items of several kinds have the name
BEAM.NODE.QUANTITY                        at a node, counted from 0, or from -1 at the end; root and tip are the ends
JOINT.COORDINATE, JOINT.COORDINATE rate, JOINT.COORDINATE acceleration
audit.QUANTITY, statistics.WORD           of the whole run

A last .x, .y, .z, .w, name or number selects a component. As one number over time, `history`, a vector is its magnitude
and a quantity of a beam without a node the largest magnitude along it. The names are those of the outputs of linear
models (``femb.small_motions.channels``), where these have the same quantity.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from femb.base.arrays import listing
from femb.base.errors import ResultError
from femb.base.quantity import AXES, COMPONENTS, Group
from femb.base.types import Floats
from femb.base.values import shown
from femb.elements.beam.results import BeamResults
from femb.results.groups import NamedArrays


def full_names(path: str) -> tuple[str, ...]:
    """Names of an item by its path KIND/NAME in results: NAME, KIND/NAME and KIND.NAME."""
    kind, _, name = path.partition("/")
    return (name, path, f"{kind}.{name}") if name else (path,)


def fits(name: str, pattern: str) -> bool:
    """Whether a name equals a pattern or matches its wildcards, * and ?."""
    return name == pattern or fnmatchcase(name, pattern.replace("[", "[[]"))


def fits_item(group: Group, patterns: Iterable[str]) -> bool:
    """Whether a group of results is one of the patterns of items."""
    return any(fits(name, pattern) for name in full_names(group.path) for pattern in patterns)


# A named quantity of a group of results, with its array, unit and components.

COMPUTED = {"euler_angles": "rad", "euler_rates": "rad/s", "quaternion_rate": "1/s", "rotation_rate": "1/s"}
"""Quantities that groups compute and that no `Quantity` declares, and their units."""
STRESSES = ("axial_stress", "shear_stress", "von_mises")


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
        names = components_of(self.group, self.word, self.array)
        return (names[self.component] if names else str(self.component),)

    @property
    def axes(self) -> list[tuple[str, tuple[str, ...]]]:
        """For the axes of `values` after the time the declared size and the names, see `Group.axes_of`."""
        if self.component is not None:
            return [(str(size), ()) for size in self.values.shape[1:]]
        quantity = self.group.quantities().get(self.word)
        of_ends = quantity is not None and quantity.sizes[1:3] == ["e", "2"]
        left_out = (0,) * (0 if self.node is None else 1 + of_ends)
        return self.group.axes_of(self.word, (0, *left_out, *self.array.shape[1:]))[1 + len(left_out) :]


def at_node(group: Group, word: str, array: Floats, node: int) -> Floats | None:
    """(T, ...) of an array of nodes, or of ends of elements, at a node: the end of the element before it, of the first
    node the start of the one after. None for any other array and for a node that the beam or shell does not have."""
    if array.ndim < 2:
        return None
    declared = type(group).quantities().get(word)
    sizes = ["T", "n"] if declared is None else declared.sizes
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
    return one_unit(group.columns_of(word)[0])


def one_unit(unit: str) -> str:
    """The unit of a declaration, "" where it is of several, or of none."""
    return "" if " or " in unit or ", " in unit or unit in ("-", "own") else unit


def unit_of_coordinate(group: Group, word: str, coordinate: str) -> str:
    """The unit of a coordinate of a joint or a component of a driver, where these differ; "" of other quantities."""
    unit, names = group.columns_of(word)
    of_each = dict(zip(names, unit.split(", "), strict=False)) if ", " in unit else {}
    return of_each.get(coordinate, "")


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


def components_of(group: Group, word: str, array: Floats) -> tuple[str, ...]:
    """The names of the last axis of an array (T, ..., k) of a quantity; empty for numbers."""
    if array.ndim < 2:
        return ()
    size, names = group.axes_of(word, array.shape)[-1]
    # errors and outputs of laws are vectors where there are three
    return names or (() if size in AXES else COMPONENTS.get(str(array.shape[-1]), ()))


DERIVED = {
    **dict.fromkeys(("displacement", "deflection"), ("position",)),
    "rotation": ("quaternion",),
    **dict.fromkeys(("nodal_stress", "nodal_von_mises"), ("stress_shapes", "deformation")),
    **dict.fromkeys(("axial_stress", "shear_stress", "von_mises"), ("stress_section", "midpoint_force")),
    **dict.fromkeys(
        ("ply_stress", "surface_stress", "surface_von_mises"), ("ply_recovery", "membrane_force", "bending_moment")
    ),
}
"""Quantities that groups compute where they are not recorded, and what from."""
COORDINATES = {"": "coordinates", " rate": "rates", " acceleration": "accelerations"}
ENDS = {"root": 0, "tip": -1}
SHORT = {"euler": "euler_angles"}
"""Other words for quantities."""


def named(results: NamedArrays, name: str) -> Named:
    """The quantity of a name. Raises ResultError, which names what there is: none of the name, or several."""
    if not isinstance(name, str):
        raise ResultError(f"got {shown(name)}, wanted the name of a quantity, as 'hub.position'")
    places = list(_places(results, name.replace("/", ".")))
    found = [each for group, rest in places if (each := _named(results, group, rest)) is not None]
    if len(found) == 1:
        return found[0]
    if found:
        raise ResultError(
            f"got {name!r}; there are several: give one of {', '.join(repr(each.path) for each in found)}"
        )
    for group, rest in places:
        word = rest.partition(".")[0]
        if word in group.arrays and f"{group.path}/{word}" not in results.series:
            raise ResultError(f"got {name!r}, which does not change with time")
    raise ResultError(
        f"got {name!r}, no such quantity in the results; wanted ITEM.QUANTITY, BEAM.NODE.QUANTITY or JOINT.COORDINATE, "
        f"with a last .x, .y or .z for one component; {_instead(results, name, places)}"
    )


def _instead(results: NamedArrays, name: str, places: list[tuple[Group, str]]) -> str:
    """Suggestions in place of an unknown name: the most similar names, or those of its item, or the items."""
    from difflib import get_close_matches

    if not places:
        close = get_close_matches(name, [*known_names(results), *short_names(results)], n=3, cutoff=0.6)
        items = listing(dict.fromkeys(group.name for group in results.groups()))
        return f"did you mean {', '.join(map(repr, close))}?" if close else f"items are {items}"
    group, rest = places[0]
    start, words = name[: len(name) - len(rest)], dict.fromkeys(_words(results, group))
    if isinstance(group, BeamResults) and "position" in group:
        node, _, more = rest.partition(".")
        last = group["position"].shape[1] - 1
        if node.removeprefix("-").isdecimal() and not -last - 1 <= int(node) <= last:
            return f"{group.name!r} has the nodes 0 to {last}"
        if more and (node in ENDS or node.removeprefix("-").isdecimal()):
            if (word := more.partition(".")[0]) in words and _named(results, group, f"{node}.{word}") is None:
                return f"{word!r} is of {group.name!r} as a whole: leave out the node {node}"
            start, rest = f"{start}{node}.", more
    word, _, component = rest.partition(".")
    if component and word in words:
        return f"{word!r} has no component {component!r}"
    close = [start + match for match in get_close_matches(rest, [*words, *SHORT], n=3, cutoff=0.6)]
    return f"did you mean {', '.join(map(repr, close))}?" if close else f"{group.name!r} has {listing(words)}"


def known_names(results: NamedArrays) -> list[str]:
    """The full names of all quantities over time, of beams also at their ends, without components."""
    names = [f"statistics.{word}" for word in results.statistics]
    for group in results.groups():
        path = group.path.replace("/", ".")
        for word in _words(results, group):
            at_ends = isinstance(group, BeamResults) and _named(results, group, f"0.{word}") is not None
            names += [f"{path}.{node}{word}" for node in ("", *(("root.", "tip.") if at_ends else ()))]
    return names


def short_names(results: NamedArrays) -> list[str]:
    """The names of all quantities over time as `named` takes them, without kinds of items where these are clear."""
    names = [name for name in known_names(results) if not name.startswith("statistics.")]
    short = [name if name.startswith("audit.") else name.partition(".")[2] for name in names]
    counts = Counter(short)
    return [brief if counts[brief] == 1 else name for brief, name in zip(short, names, strict=True)]


def _words(results: NamedArrays, group: Group) -> list[str]:
    """The quantities of a group over time, and the coordinates of a joint."""
    known = group.quantities()
    words = [word for word in group.arrays if f"{group.path}/{word}" in results.series]
    words += [word for word in COMPUTED if hasattr(type(group), word) and "quaternion" in group]
    words += [
        word for word, of in DERIVED.items() if word in known and word not in group and all(map(group.__contains__, of))
    ]
    if group.path.startswith("joints/"):
        ends = [ending for ending, word in COORDINATES.items() if word in group]
        words += [f"{name}{ending}" for name in group.column_names for ending in ends]
    return words


def _places(results: NamedArrays, name: str) -> Iterator[tuple[Group, str]]:
    """The groups that the beginning of a name may mean, of each kind the one with the longest name, and the remainder.

    Names of items may contain dots.
    """
    for kind in (*results.present, "audit"):
        groups = {"audit": results.audit} if kind == "audit" else getattr(results, kind)
        for start in ("", f"{kind}."):
            matching = [item for item in groups if name.startswith(f"{start}{item}.")]
            if matching and not (kind == "audit" and start):
                item = max(matching, key=len)
                yield groups[item], name[len(start) + len(item) + 1 :]


def _named(results: NamedArrays, group: Group, rest: str) -> Named | None:
    """A quantity of a group; None where there is none of that name."""
    if group.path.startswith("joints/"):
        for ending, word in COORDINATES.items():
            coordinate, names = rest.removesuffix(ending), group.column_names
            if rest.endswith(ending) and coordinate in names and word in group:
                unit = unit_of(group, word) or unit_of_coordinate(group, word, coordinate)
                return Named(group, word, None, group[word], unit, names.index(coordinate))
    node: int | None = None
    if isinstance(group, BeamResults):
        first, _, more = rest.partition(".")
        if first in ENDS or first.removeprefix("-").isdecimal():
            node, rest = ENDS[first] if first in ENDS else int(first), more
    word, _, component = rest.partition(".")
    word = word if word in group else SHORT.get(word, word)
    array, unit = array_of(group, word)
    if array is not None and node is not None and isinstance(group, BeamResults):
        array = at_node(group, word, array, node)
    if array is None or array.shape[:1] != results.time.shape:
        return None
    quantity = group.quantities().get(word)
    if quantity is not None and quantity.sizes[:1] != ["T"]:
        return None
    if not component:
        return Named(group, word, node, array, unit)
    if array.ndim < 2 or (word in STRESSES and node is None):
        return None
    names = components_of(group, word, array)
    column = names.index(component) if component in names else -1
    if column < 0 and component.isdecimal() and array.ndim == 2 and int(component) < array.shape[-1]:
        column = int(component)
    unit = unit or unit_of_coordinate(group, word, component)
    return None if column < 0 else Named(group, word, node, array, unit, column)
