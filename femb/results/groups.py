"""The catalogue of quantities: arrays of the results of a body, a beam, a joint and so on, with shapes and units.

Items declare their quantities in their own files (``Item.results``). Attributes of results, checks of files, columns of
tables, labels of figures and the table of docs/reference/results.md follow from them; see docs/howto/extend.md.
Declared here is what belongs to no item: root loads of appendages, and the audit of a run.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from femb.base.arrays import Arrays, Attributes
from femb.base.quantity import AXES, LEVELS, Group, Groups, Quantity
from femb.base.types import Floats
from femb.elements.beam.results import BeamResults
from femb.elements.body.results import BodyResults
from femb.elements.registry import results_of, tables

if TYPE_CHECKING:
    from femb.elements.item import Item
    from femb.elements.shell.results import ShellResults

VIOLATIONS = "femb.recording.record"


class AppendageResults(Group):
    """Root load of an appendage: what hangs on the ground or on the heaviest body of its part of the model."""

    word: ClassVar[str] = "appendage"
    shown: ClassVar[tuple[str, ...] | None] = ("force", "torque")

    force = Quantity("(T, 3)", "N", "of the appendage on its parent, in the axes of `parent`")
    torque = Quantity("(T, 3)", "N m", "in the same axes, about `point`")
    point = Quantity(
        "(3,)",
        "m",
        "where the appendage is attached, in the axes of the attribute `parent` from its reference point; the "
        "reference point itself where it is attached at several; inertial where these are on several grounds",
    )

    @property
    def parent(self) -> str:
        """Name of the body, or "ground", that it is attached to."""
        return str(self.attributes.get("parent", ""))


class BudgetResults(Group):
    """The work and impulses of one kind of items since the start of a run, an account of the budgets.

    The budgets are those of energy and momentum. The accounts are the kinds of items whose forces have no potential,
    such as "reaction_wheels_motor"; "drivers"; "jumps", the work of latches, impacts, steps of drivers and of the
    filter of a run; "rest", the impulse of gravity and of the ground, and the errors of the others. The works of all
    accounts add up to that of the audit.
    """

    word: ClassVar[str] = "account"

    work = Quantity("(T,)", "J", "done since the start: added to kinetic plus potential energy")
    electrical_energy = Quantity(
        "(T,)", "J", "taken from the supply since the start, of wheels whose motors have electrical numbers"
    )
    impulse = Quantity("(T, 3)", "N s", "since the start, of what acts from outside; inertial axes")
    angular_impulse = Quantity(
        "(T, 3)", "N m s", "since the start, about the inertial origin or one that moves uniformly; inertial axes"
    )


class Audit(Group):
    """Quantities that should be conserved or zero, at every output time."""

    shown: ClassVar[tuple[str, ...] | None] = ()

    kinetic_energy = Quantity("(T,)", "J", "of the whole model")
    potential_energy = Quantity("(T,)", "J", "elastic and gravitational")
    work = Quantity("(T,)", "J", "done by loads, dampers and drivers since the start")
    linear_momentum = Quantity("(T, 3)", "N s", "inertial axes")
    angular_momentum = Quantity("(T, 3)", "N m s", "about the inertial origin, inertial axes")
    linear_momentum_size = Quantity("(T,)", "N s", "sum of the sizes of those of bodies and nodes")
    angular_momentum_size = Quantity("(T,)", "N m s", "sum of the sizes of those of bodies and nodes")
    energy_error = Quantity("(T,)", "J", "kinetic + potential - work, minus its start value")
    constraint_position = Quantity(
        "(T,)",
        "-",
        "largest violation of a constraint equation of joints, m or -; zero without joints",
        recorded=VIOLATIONS,
    )
    constraint_velocity = Quantity(
        "(T,)", "-", "largest violation of the rate of a constraint equation, per s", recorded=VIOLATIONS
    )
    quaternion_norm = Quantity(
        "(T,)", "-", "largest deviation of a quaternion's squared length from 1", recorded=VIOLATIONS
    )
    force_balance = Quantity(
        "(T,)", "N", "largest residual force on a body or beam node between steps, see below", recorded=VIOLATIONS
    )
    moment_balance = Quantity(
        "(T,)", "N m", "largest residual moment on a body or beam node between steps, see below", recorded=VIOLATIONS
    )


@dataclass(frozen=True)
class EventRecord:
    """An event that happened: time (s), name (of a latch ``"latches.NAME"``), and the energy (J) that a latch took."""

    time: float
    name: str
    energy_loss: float = 0.0


def event_records(static: Arrays) -> tuple[EventRecord, ...]:
    """The events in the arrays of a run, in order of time."""
    names = [path.split("/")[1] for path in static if path.startswith("events/") and path.endswith("/time")]
    events = [
        EventRecord(float(t), name, float(loss))
        for name in names
        for t, loss in zip(static[f"events/{name}/time"], static[f"events/{name}/energy_loss"], strict=True)
    ]
    return tuple(sorted(events, key=lambda event: event.time))


class NamedArrays(Protocol):
    """The members of `femb.Results` that names, views and spectra read."""

    series: Arrays
    static: Arrays
    attributes: Attributes
    bodies: Groups[BodyResults]
    beams: Groups[BeamResults]
    shells: "Groups[ShellResults]"

    @property
    def time(self) -> Floats: ...
    @property
    def present(self) -> list[str]: ...
    @property
    def statistics(self) -> Mapping[str, Any]: ...
    @property
    def audit(self) -> Audit: ...
    def groups(self) -> Iterator[Group]: ...


OF_NO_ITEM: Mapping[str, type[Group]] = MappingProxyType(
    {"appendages": AppendageResults, "budget": BudgetResults, "audit": Audit}
)
"""The kinds of groups that no item declares."""


class _Groups(Mapping[str, type[Group]]):
    """The kinds of groups of all tables; what declares those of a table is imported when it is asked for.

    others : whether also items of other packages count.
    """

    def __init__(self, others: bool = True) -> None:
        self._others = others

    def __getitem__(self, table: str) -> type[Group]:
        found = OF_NO_ITEM.get(table) or joined(results_of(table, self._others))
        if found is Group:
            raise KeyError(table)
        return found

    def __iter__(self) -> Iterator[str]:
        yield from (table for table in tables(self._others) if joined(results_of(table, self._others)) is not Group)
        yield from OF_NO_ITEM

    def __len__(self) -> int:
        return sum(1 for _ in self)


def groups(others: bool = True) -> Mapping[str, type[Group]]:
    """The kinds of groups by the first part of their paths: one group of the audit, and one of each item of a table.

    others : whether also items of other packages count, which results have that declare quantities.
    """
    return _Groups(others)


def table_names(others: bool = True) -> tuple[str, ...]:
    """The first parts of the paths of all groups, also of tables whose items declare no quantities.

    others : whether also items of other packages count.
    """
    return (*tables(others), *OF_NO_ITEM)


def tables_of(paths: Iterable[str], known: Sequence[str]) -> list[str]:
    """The tables of items that paths in results belong to, first those that are ``known``, in the order of these."""
    found = dict.fromkeys(path.partition("/")[0] for path in paths if "/" in path)
    return [*(table for table in known if table in found), *(table for table in found if table not in known)]


@lru_cache(maxsize=256)
def joined(kinds: tuple[type[Group], ...]) -> type[Group]:
    """The quantities of all kinds of a table in one class; ``Group`` where there are none."""
    classes = [of for of in dict.fromkeys(kinds) if of is not Group]
    if not classes:
        return Group
    if len(classes) == 1:
        return classes[0]
    own = [one for one in classes if not any(other is not one and issubclass(other, one) for other in classes)]
    return type(classes[0].__name__, tuple(own), {"word": classes[0].word})


class ArrayAttributes:
    """The attributes ``units``, ``axes``, ``components`` (JSON) and ``meaning`` of the arrays of a file, which readers
    other than femb find at each array.

    attributes : of its groups. kinds : of groups by path or by table, by default of all tables.
    """

    def __init__(
        self, attributes: Attributes, paths: Iterable[str], kinds: Mapping[str, type[Group]] | None = None
    ) -> None:
        self._attributes, self._arrays = attributes, dict.fromkeys(paths, np.zeros(0))
        self._kinds = groups() if kinds is None else {**OF_NO_ITEM, **kinds}
        self._groups: dict[str, Group | None] = {}

    def __call__(self, path: str, shape: tuple[int, ...]) -> dict[str, str]:
        """Columns of an array by its path; none of what no item declares."""
        if path == "time":
            counted = self._attributes.get("", {}).get("method") in ("static", "modes")
            return {"units": "-" if counted else "s", "axes": '["time"]'}
        of, _, word = path.rpartition("/")
        if of not in self._groups:
            kind = self._kinds.get(of) or self._kinds.get(of.partition("/")[0])
            self._groups[of] = None if kind is None else kind(of, self._arrays, self._attributes)
        group = self._groups[of]
        if group is None or word not in (known := group.quantities()):
            return {}
        axes = group.axes_of(word, shape)
        names = {"components": json.dumps(axes[-1][1])} if axes and axes[-1][1] else {}
        dims = [AXES.get(size, "component" if k == len(axes) - 1 else "place") for k, (size, _) in enumerate(axes)]
        unit = group.columns_of(word)[0]
        return {"units": unit, "axes": json.dumps(dims), **names, "meaning": known[word].meaning}


# Declarations in a file: those of items of other packages, which a process that reads it may not have.

STORED = ("shape", "unit", "meaning", "level", "components", "label")


def declarations(of: "Iterable[type[Item]]") -> str:
    """The quantities that classes of items declare, by table, as JSON: the attribute ``declared`` of results."""
    found: dict[str, dict[str, Any]] = {}
    for kind in of:
        table = found.setdefault(kind.table, {"word": kind.results.word, "quantities": {}})
        for name, quantity in kind.results.quantities().items():
            if quantity.otherwise is None:
                table["quantities"][name] = {word: getattr(quantity, word) for word in STORED}
    return json.dumps(found)


def with_declarations(known: Mapping[str, type[Group]], text: object) -> dict[str, type[Group]]:
    """The kinds of groups of the tables of which a file declares quantities that are not known here, with these.

    text : the attribute ``declared``; what is no declaration in it is passed over.
    """
    try:
        given = json.loads(str(text))
    except ValueError:
        given = {}
    result: dict[str, type[Group]] = {}
    for table, stored in given.items() if isinstance(given, dict) else ():
        group = known.get(table, Group)
        stored = stored if isinstance(stored, dict) else {}
        quantities = stored.get("quantities", {})
        more: dict[str, Any] = {
            name: Quantity(**words)
            for name, given_words in (quantities.items() if isinstance(quantities, dict) else ())
            if name.isidentifier() and not hasattr(group, name) and (words := _words(given_words))
        }
        if more:
            word = group.word or str(stored.get("word", ""))
            result[table] = type(group.__name__, (group,), {"word": word, **more})
    return result


def _words(stored: object) -> dict[str, Any]:
    """The arguments of a stored quantity; none of what is no quantity."""
    if not isinstance(stored, dict) or not all(isinstance(stored.get(word), str) for word in STORED[:4]):
        return {}
    components = stored.get("components")
    components = components if isinstance(components, list) else []
    level = stored["level"] if stored["level"] in LEVELS else LEVELS[-1]
    words = {word: stored[word] for word in STORED[:3]} | {"label": str(stored.get("label", ""))}
    return words | {"level": level, "components": tuple(map(str, components))}
