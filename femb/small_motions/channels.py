"""Outputs and inputs of linear models by name: exact rows and columns on small changes of the motion, from the items.

TABLE.NAME.QUANTITY     of an item that gives the quantity (``femb.layout.element.GivesOutputs``, ``TakesForces``): the
                        motion of bodies and nodes, section forces, coordinates and reactions of joints
TABLE.COORDINATE        an internal coordinate of any item by the name that the states of a linearisation have; its rate
                        after a blank and "rate"
LABEL                   an input of a batch: the factor of a load or a motor, by its label

A last .x, .y or .z selects one component of several.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import names_of, nearest
from femb.layout.element import ForceColumns, GivesOutputs, OutputRows, TakesForces
from femb.layout.protocols import HasRows
from femb.layout.state import RATE, internal_rows
from femb.layout.views import LinearPoint

# Suggestions in a message.
SHOWN = 8
MOTION = ("pose", "velocity", "acceleration")
NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class LinearOutput:
    """An output: names of its rows, their unit, and the rows (k, n_v) on the changes of pose, velocity, acceleration.

    multipliers (k, n_c) : rows on the changes of the multipliers of constraints. by_input (k, n_u) : rows on the inputs
    of the System. force (k, n_v) : rows on the forces. None where there are none. within : frames between which forces
    are no forces for these rows, of an appendage and its root.
    """

    names: tuple[str, ...]
    unit: str
    pose: Floats
    velocity: Floats
    acceleration: Floats
    multipliers: Floats | None = None
    by_input: Floats | None = None
    force: Floats | None = None
    within: frozenset[int] = NONE

    @classmethod
    def of(cls, name: str, rows: OutputRows, n_v: int) -> "LinearOutput":
        """The rows that an item gives, with zeros for those that it leaves out."""
        names = tuple(f"{name}.{component}" for component in rows.components) or (name,)
        motion = (rows.pose, rows.velocity, rows.acceleration)
        pose, velocity, acceleration = (np.zeros((len(names), n_v)) if each is None else each for each in motion)
        return cls(names, rows.unit, pose, velocity, acceleration, rows.multipliers, rows.inputs)

    def row(self, k: int) -> "LinearOutput":
        words = (*MOTION, "names", "multipliers", "by_input", "force")
        own: Any = {word: part[k : k + 1] for word in words if (part := getattr(self, word)) is not None}
        return replace(self, **own)

    def balanced(self, through: Floats, stiffness: Any, damping: Any, mass: Any) -> "LinearOutput":
        """The rows with multipliers that balance all forces: through (k, n_v) times F - M p'' - C p' - K p."""
        matrices = zip(MOTION, (stiffness, damping, mass), strict=True)
        return replace(self, force=through, **{word: getattr(self, word) - through @ each for word, each in matrices})


def stacked(parts: Sequence[LinearOutput], word: str, columns: int) -> Floats:
    """The rows of one kind of several outputs, with zeros where one has none."""
    rows = ((len(each.names), getattr(each, word)) for each in parts)
    return np.vstack([np.zeros((0, columns)), *(np.zeros((k, columns)) if x is None else x for k, x in rows)])


def default_outputs(point: LinearPoint) -> tuple[str, ...]:
    """The outputs that items declare as such: the motion of moving bodies, coordinates of joints and their rates."""
    return tuple(
        f"{item.table}.{item.name}.{quantity}"
        for item in point.system.items
        if isinstance(item, GivesOutputs)
        for quantity, by_default in item.linear_outputs(point.system.layout).items()
        if by_default
    )


def output(point: LinearPoint, name: str) -> LinearOutput:
    """The rows of one output.

    Raises ModelError: an unknown output, or one without exact rows.
    """
    for whole, component in _readings(name):
        rows = _rows(point, whole)
        if rows is not None and (not component or component in rows.components):
            given = (rows.pose, rows.velocity, rows.acceleration, rows.multipliers, rows.inputs)
            if not all(np.isfinite(each).all() for each in given if each is not None):
                raise ModelError(f"output {name!r}: has no derivative at this state, as a distance that is zero")
            found = LinearOutput.of(whole, rows, point.system.n_v)
            return found.row(rows.components.index(component)) if component else found
    if name.startswith("appendages."):
        raise ModelError(
            f"output {name!r}: forces of appendages are outputs of a model with a hub, --hub, or held, --held, or of a "
            "truncated one"
        )
    raise ModelError(f"output {name!r}: {_instead(point, name, known_outputs(point), 'output')}")


def known_outputs(point: LinearPoint) -> list[str]:
    """The names of all outputs, of beams at their ends, without components."""
    given = _known(point, GivesOutputs, lambda item, layout: item.linear_outputs(layout))
    of_batches = (
        f"{item}.{quantity}"
        for batch in point.system.batches
        if isinstance(batch, HasRows)
        for item, quantities in batch.linear_outputs().items()
        for quantity in quantities
    )
    declared = (
        f"{item.table}.{item.name}.{name}"
        for item in point.system.items
        for name, quantity in item.given_quantities().items()
        if quantity.coordinate or quantity.rate or quantity.rows
    )
    return list(dict.fromkeys([*given, *of_batches, *declared, *_internal_names(point)]))


def _known(point: LinearPoint, contract: Any, of: Callable[[Any, Any], Iterable[str]]) -> Iterator[str]:
    layout = point.system.layout
    for item in point.system.items:
        if isinstance(item, contract):
            yield from (f"{item.table}.{item.name}.{quantity}" for quantity in of(item, layout))


def _readings(name: str) -> Iterator[tuple[str, str]]:
    """The name as that of all components, and as that of its last one."""
    yield name, ""
    whole, _, component = name.rpartition(".")
    if whole:
        yield whole, component


def _items(point: LinearPoint, name: str) -> list[tuple[Any, str]]:
    """The items with which a name may begin, those with the longest name first, and the remainder."""
    starts = ((item, f"{item.table}.{item.name}.") for item in point.system.items)
    found = [(item, name[len(start) :]) for item, start in starts if name.startswith(start)]
    return sorted(found, key=lambda each: len(each[1]))


def _rows(point: LinearPoint, name: str) -> OutputRows | None:
    for item, quantity in _items(point, name):
        try:
            rows = item.output_rows(point, quantity) if isinstance(item, GivesOutputs) else None
            rows = _rows_of_batches(point, f"{item.table}.{item.name}", quantity) if rows is None else rows
        except ModelError as error:
            raise ModelError(f"output {name!r}: {error}") from error
        rows = _declared_rows(point, item, quantity) if rows is None else rows
        if rows is not None:
            return rows
    number = _internal_names(point).get(name.removesuffix(RATE))
    return None if number is None else internal_rows(point, number, name.endswith(RATE))


def _rows_of_batches(point: LinearPoint, item: str, quantity: str) -> OutputRows | None:
    """The rows that the batch of an item gives; None where there is none."""
    for batch in point.system.batches:
        if isinstance(batch, HasRows) and quantity in batch.linear_outputs().get(item, ()):
            rows: OutputRows = batch.output_rows(point, item, quantity)
            return rows
    return None


def _declared_rows(point: LinearPoint, item: Any, name: str) -> OutputRows | None:
    """The rows of a quantity that an item declares with its values; None where it has none."""
    quantity = item.given_quantities().get(name)
    if quantity is None:
        return None
    if quantity.rows is not None:
        rows: OutputRows = quantity.rows(item, point)
        return rows
    coordinate = quantity.coordinate or quantity.rate
    if not coordinate:
        path = f"{item.table}.{item.name}.{name}"
        raise ModelError(
            f"output {path!r}: the item declares no derivatives of this quantity; give rows in its declaration "
            "(femb.base.quantity.Quantity)"
        )
    number = point.system.layout.internal_number(item.table, item.name, coordinate)
    # a first-order state is a velocity itself
    first_order = point.system.layout.internal[number].quantity.first_order
    return internal_rows(point, number, bool(quantity.rate) and not first_order)


def _internal_names(point: LinearPoint) -> dict[str, int]:
    """Numbers of the internal coordinates by their names as outputs; of equal ones the first."""
    names: dict[str, int] = {}
    for number, coordinate in enumerate(point.system.layout.internal):
        names.setdefault(f"{coordinate.table}.{coordinate.name}", number)
    return names


def _instead(point: LinearPoint, name: str, known: Sequence[str], what: str) -> str:
    """The part of a message that says what there is in place of an unknown name."""
    own = [f"{item.table}.{item.name}" for item, _ in _items(point, name)][:1]
    of_item = [each for each in known if own and f"{each}.".startswith(f"{own[0]}.")]
    if own:
        there = f"{own[0]} has {_listed(of_item) or f'no {what} with exact derivatives'}"
    else:
        there = f"wanted TABLE.NAME.QUANTITY, as {_listed(known)}"
    return f"there is no such {what}; {there}{nearest(name, list(known))}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


# Inputs.


@dataclass(frozen=True, eq=False)
class ForceInput:
    """One input: its name, its unit or "", its force (n_v,), and its index in the inputs u of the System, or -1.

    prescribed (3, n_v) : pose, velocity and acceleration that a motion prescribes; 0.0 of others. between : the frames
    between which it acts; less than two of a force from outside.
    """

    name: str
    unit: str
    force: Floats
    component: int = -1
    prescribed: Floats | float = 0.0
    between: frozenset[int] = NONE


def inputs_of(point: LinearPoint, names: Sequence[str] | None, others: Sequence[str] = ()) -> list[ForceInput | str]:
    """The inputs of these names in their order, by default all inputs of the batches, then ``others``.

    others : names of inputs that are no forces, as with driven motions; they stay names. A name may be of a group.
    Raises ModelError: an unknown name.
    """
    components = {name: (batch, k) for batch, k, name in point.input_components()}

    def of_batch(name: str) -> ForceInput:
        batch, k = components[name]
        return ForceInput(name, point.input_unit(k), point.force_of(batch, k), k, between=_between(point, name))

    if names is None:
        return [*(of_batch(name) for name in components), *others]
    found: list[ForceInput | str] = []
    for name in names_of("inputs", names):
        own = [each for each in components if each == name or each.startswith(f"{name}.")]
        motions = [each for each in others if each in (name, f"{name} rate", f"{name} acceleration")]
        if own:
            found += [of_batch(each) for each in own]
        elif motions:
            found += motions
        else:
            found += _forces(point, name, [*components, *others])
    return found


def _forces(point: LinearPoint, name: str, others: list[str]) -> list[ForceInput]:
    """The inputs of a force on an item; others : names of all other inputs."""
    for whole, component in _readings(name):
        columns = _columns(point, whole)
        if columns is not None and (not component or component in columns.components):
            labels = [f"{whole}.{each}" for each in columns.components] or [whole]
            each_one = zip(labels, columns.columns, strict=True)
            return [
                ForceInput(label, columns.unit, force, between=_between(point, whole))
                for label, force in each_one
                if not component or label == name
            ]
    known = [*others, *_known(point, TakesForces, lambda item, layout: item.linear_forces(layout))]
    if "acceleration" in name:
        raise ModelError(
            f"input {name!r}: the acceleration of a base is an input of a model with held (--held), or truncated"
        )
    raise ModelError(f"input {name!r}: {_instead(point, name, known, 'input')}")


def _between(point: LinearPoint, name: str) -> frozenset[int]:
    """The frames between which the item of an input acts."""
    return next((item.between(point.system.layout) for item, _ in _items(point, name)), NONE)


def _columns(point: LinearPoint, name: str) -> ForceColumns | None:
    for item, quantity in _items(point, name):
        try:
            columns = item.force_columns(point, quantity) if isinstance(item, TakesForces) else None
        except ModelError as error:
            raise ModelError(f"input {name!r}: {error}") from error
        if columns is not None:
            return columns
    return None
