"""Quantities of results by name, as histories of one number.

bodies.NAME.QUANTITY, joints.NAME.QUANTITY, springs.NAME.QUANTITY, ...   as in docs/reference/results.md
beams.NAME.NODE.QUANTITY                  at a node, counted from 0, or from -1 at the end
beams.NAME.QUANTITY                       the largest magnitude along the beam
joints.NAME.COORDINATE, joints.NAME.COORDINATE rate
audit.QUANTITY, statistics.WORD           of the whole run

A last .x, .y, .z, .w, name or number selects a component; without one, the magnitude of a vector is taken. The names
are those of the outputs of linear models (``femb.analysis.linear.outputs``), where these have the same quantity.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.export.plots.words import LINEAR
from femb.results.beam import Beam
from femb.results.groups import GROUPS
from femb.results.quantity import Group
from femb.results.results import Results

COMPONENTS = {3: ("x", "y", "z"), 4: ("w", "x", "y", "z")}
ANGLES = {"euler_angles": "rad", "euler_rates": "rad/s"}
"""Quantities that a method of a group computes, and their units."""
STRESSES = ("axial_stress", "shear_stress", "von_mises")
COORDINATES = {"": "coordinates", " rate": "rates", " acceleration": "accelerations"}


@dataclass(frozen=True, eq=False)
class History:
    """One number over time: time (T,) s, values (T,), and their unit, "" where it is unknown."""

    time: Floats
    values: Floats
    unit: str


def history(results: Results, name: str) -> History:
    """The history of a quantity of results. Raises ResultError: no such quantity."""
    kind, _, rest = name.partition(".")
    if kind == "statistics" and isinstance(results.statistics.get(rest), int | float | np.number):
        last = results.time[-1:] if results.time.size else np.zeros(1)
        return History(last, np.array([float(results.statistics[rest])]), "s" if rest.endswith("time") else "")
    group, rest = _item(results, kind, rest)
    found = None if group is None else _values(group, rest)
    if found is None:
        close = get_close_matches(name, known_names(results), n=3, cutoff=0.6)
        hint = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
        raise ResultError(
            f"got {name!r}, no such quantity in the results; wanted bodies.NAME.QUANTITY, beams.NAME.NODE.QUANTITY, "
            f"joints.NAME.COORDINATE or the like, with a last .x, .y or .z for one component{hint}"
        )
    values, unit = found
    if values.shape != results.time.shape:
        raise ResultError(f"got {name!r}, which does not change with time")
    return History(results.time, np.asarray(values, dtype=float), unit)


def known_names(results: Results) -> list[str]:
    """The names of all quantities over time, of beams at their ends, without components."""
    names = [f"statistics.{word}" for word in results.statistics]
    for group in results.groups():
        path = group.path.replace("/", ".")
        words = [word for word in group.arrays if f"{group.path}/{word}" in results.series]
        words += [word for word in ANGLES if hasattr(type(group), word)]
        names += [f"{path}.{node}{word}" for word in words for node in ("", *_ends(group, word))]
        if group.path.startswith("joints/"):
            names += [f"{path}.{coordinate}{rate}" for coordinate in _names(group) for rate in COORDINATES]
    return names


def _ends(group: Group, word: str) -> tuple[str, ...]:
    """How the ends of a beam are named in quantities that are known at nodes."""
    return (
        ("0.", "-1.")
        if isinstance(group, Beam) and _at_node(group, word, _array(group, word)[0], 0) is not None
        else ()
    )


def _item(results: Results, kind: str, rest: str) -> tuple[Group | None, str]:
    """The group that the beginning of a name means, whose own name may contain dots, and the remainder."""
    if kind == "audit":
        return results.audit, rest
    groups: Mapping[str, Group] = getattr(results, kind) if kind in GROUPS else {}
    names = [name for name in groups if rest.startswith(f"{name}.")]
    if not names:
        return None, rest
    name = max(names, key=len)
    return groups[name], rest[len(name) + 1 :]


def _values(group: Group, rest: str) -> tuple[Floats, str] | None:
    """Values (T,) and unit of a quantity of a group; None where there is none of that name."""
    if isinstance(group, Beam):
        first, _, more = rest.partition(".")
        if first.removeprefix("-").isdecimal():
            return _of_beam(group, more, int(first))
        return _of_beam(group, rest, None)
    if group.path.startswith("joints/"):
        for ending, word in COORDINATES.items():
            coordinate = rest.removesuffix(ending)
            if rest.endswith(ending) and coordinate in _names(group) and word in group:
                unit = ("m" if coordinate in LINEAR else "rad") + {"": "", " rate": "/s"}.get(ending, "/s2")
                return group[word][:, _names(group).index(coordinate)], unit
    word, _, component = rest.partition(".")
    array, unit = _array(group, word)
    return None if array is None else _component(array, unit, component, _names(group))


def _array(group: Group, word: str) -> tuple[Floats | None, str]:
    """The array of a quantity and its unit; None where there is none."""
    if word in ANGLES and hasattr(type(group), word) and "quaternion" in group:
        return np.asarray(getattr(group, word)()), ANGLES[word]
    quantity = group.quantities().get(word)
    if word not in group and (quantity is None or quantity.otherwise is None):
        return None, ""
    try:
        array = np.asarray(group[word] if word in group else getattr(group, word))
    except ResultError:  # what it is computed from is not recorded
        return None, ""
    unit = "" if quantity is None or " or " in quantity.unit or quantity.unit == "-" else quantity.unit
    return (array, unit) if array.dtype.kind in "biuf" and array.ndim else (None, "")


def _of_beam(beam: Beam, rest: str, node: int | None) -> tuple[Floats, str] | None:
    """Values (T,) at a node, or the largest magnitudes along the beam."""
    word, _, component = rest.partition(".")
    array, unit = _array(beam, word)
    if array is None or array.ndim < 2:
        return None
    if node is not None:
        at_node = _at_node(beam, word, array, node)
        return None if at_node is None else _component(at_node, unit, component, ())
    if component:
        names = COMPONENTS.get(array.shape[-1], ()) if word not in STRESSES else ()
        if component not in names:
            return None
        array = array[..., names.index(component)]
    elif array.ndim > 2 and word not in (*STRESSES, "strain"):
        array = np.linalg.norm(array, axis=-1)
    return np.max(np.abs(array.reshape(len(array), -1)), axis=1), unit


def _at_node(beam: Beam, word: str, array: Floats | None, node: int) -> Floats | None:
    """(T, ...) of an array of nodes, or of ends of elements, at a node: the end of the element before it, of the first
    node the start of the one after. None for any other array and for a node that the beam does not have."""
    if array is None or array.ndim < 2:
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


def _component(array: Floats, unit: str, component: str, names: "list[str] | tuple[()]") -> tuple[Floats, str] | None:
    """One component (T,) of an array (T,) or (T, k); without a name the only one, or the magnitude."""
    if array.ndim == 1:
        return None if component else (array, unit)
    if array.ndim > 2:
        return None
    if not component:
        return array[:, 0] if array.shape[1] == 1 else np.linalg.norm(array, axis=1), unit
    known = list(names) if len(names) == array.shape[1] else list(COMPONENTS.get(array.shape[1], ()))
    if component in known:
        return array[:, known.index(component)], unit
    if component.isdecimal() and int(component) < array.shape[1]:
        return array[:, int(component)], unit
    return None


def _names(group: Group) -> list[str]:
    """The names of a group's coordinates or components, from its attribute."""
    names: Any = json.loads(str(group.attributes.get("names", "[]")))
    return [str(name) for name in names]
