"""The states of an item as its quantities read them, and the records that its quantities declare.

A quantity that declares a coordinate, a rate or a function (``femb.base.quantity.Quantity``) is recorded and seen by
users' functions from here, without code of its item for each of these.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from femb.base.errors import ModelError
from femb.base.quantity import Quantity
from femb.base.types import Floats
from femb.elements.marker import Marker
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout, Station
from femb.layout.state import station_motion
from femb.layout.views import OutputStates


class DeclaringSystem(RecordedSystem, Protocol):
    """The members of a System that the records of declared quantities need."""

    @property
    def parts_of_inputs(self) -> list[tuple[Input, slice]]: ...


class ItemStates:
    """An item at s states, as the functions of its quantities read it (``femb.base.quantity.Quantity``).

    item : its description. time (s,) s. q (s, n_q), v (s, n_v), u (s, n_u) : coordinates, velocities and inputs of the
    system. inputs : the parts of u by the labels of the inputs. a (s, n_v) : accelerations, and multipliers (s, n_c),
    None where they are not known.
    """

    def __init__(
        self,
        item: Any,
        layout: Layout,
        time: Floats,
        q: Floats,
        v: Floats,
        u: Floats,
        inputs: Mapping[str, slice],
        a: Floats | None = None,
        multipliers: Floats | None = None,
    ) -> None:
        self.item, self.layout, self.time, self.inputs = item, layout, time, inputs
        self.q, self.v, self.u, self.a, self.multipliers = q, v, u, a, multipliers

    def coordinate(self, name: str) -> Floats:
        """(s,) the value of an internal coordinate or of a first-order state of the item. Raises KeyError."""
        number, layout = self._number(name), self.layout
        if layout.internal[number].quantity.first_order:
            return self.rate(name)
        values: Floats = self.q[:, layout.internal_q[number]]
        return values

    def rate(self, name: str) -> Floats:
        """(s,) the rate of an internal coordinate of the item. Raises KeyError."""
        values: Floats = self.v[:, self.layout.internal_v[self._number(name)]]
        return values

    def input(self, word: str) -> Floats:
        """(s, width) the input TABLE.NAME.word of the item, or its discrete state of this name. Raises KeyError."""
        values: Floats = self.u[:, self.inputs[f"{self.item.table}.{self.item.name}.{word}"]]
        return values

    def motion(self, of: str | Marker) -> tuple[Floats, Floats, Floats, Floats]:
        """Position (m), quaternion, velocity (m/s) and angular velocity (rad/s) (s, 3 or 4) of a body or a marker.

        of : the name of a body, or a marker of the item (``Item.markers``). Position and velocity are inertial, the
        angular velocity is in the axes of the body or of the marker's station.
        """
        station = Station(self.layout.bodies[of]) if isinstance(of, str) else self.layout.station(of)
        position, quaternion, velocity, omega = station_motion(self.layout, station, self.q, self.v)
        position, velocity = self.layout.to_inertial(self.time, position, velocity)
        return position, quaternion, velocity, omega

    def _number(self, name: str) -> int:
        """The number of an internal coordinate."""
        return self.layout.internal_number(self.item.table, self.item.name, name)


def given_values(name: str, quantity: Quantity, at: ItemStates) -> Floats:
    """(s, ...) a quantity whose declaration gives its values. Raises ModelError: its function gives another shape."""
    if quantity.coordinate:
        return at.coordinate(quantity.coordinate)
    if quantity.rate:
        return at.rate(quantity.rate)
    assert quantity.of is not None
    values = np.asarray(quantity.of(at.item, at), dtype=float)
    if not quantity.admits(values, {"T": len(at.q)}, strict=True):
        path = (at.item.table, at.item.name, name)
        raise ModelError.at(path, f"its function gave an array of shape {values.shape}, wanted {quantity.shape}")
    return values


class ItemState:
    """An item at one instant for users' functions: its quantities of positions and velocities, by name."""

    def __init__(self, item: Any, layout: Layout, state: Any) -> None:
        q, v = state.arrays()
        none = np.zeros((1, 0))
        self._at = ItemStates(item, layout, np.array([state.time]), q[None], v[None], none, {})
        self._quantities = {name: each for name, each in item.given_quantities().items() if each.level != "forces"}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._quantities:
            there = ", ".join(self._quantities) if not name.startswith("_") else ""
            raise AttributeError(f"{self._at.item.name!r} has no {name!r} of its state; it has {there or 'none'}")
        return given_values(name, self._quantities[name], self._at)[0]

    def __dir__(self) -> list[str]:
        return list(self._quantities)


def declared_records(items: list[Any], system: DeclaringSystem) -> Records:
    """The records of items of one class that their quantities declare."""
    layout, quantities = system.layout, type(items[0]).given_quantities()
    inputs = {given.label: part for given, part in system.parts_of_inputs}
    motion = {name: quantity for name, quantity in quantities.items() if quantity.level != "forces"}

    def series(of: dict[str, Quantity], frames: OutputStates) -> dict[str, Floats]:
        found = {}
        for item in items:
            at = ItemStates(
                item, layout, frames.time, frames.q, frames.v, frames.u, inputs, frames.a, frames.multipliers
            )
            for name, quantity in of.items():
                found[f"{item.table}/{item.name}/{name}"] = given_values(name, quantity, at)
        return found

    return Records(series=partial(series, quantities), motion=partial(series, motion))


class RecordedArrays(Batch):
    """Discrete states that are recorded and that no equation reads: their names by the paths TABLE/NAME/WORD."""

    records_motion: ClassVar[bool] = True

    @classmethod
    def of(cls, arrays: Mapping[str, str], layout: Layout) -> list[Batch]:
        """One batch of those arrays that a layout has, if it has any."""
        declared = {path: name for path, name in arrays.items() if name in layout.discrete}
        return [cls(declared, layout)] if declared else []

    def __init__(self, arrays: Mapping[str, str], layout: Layout) -> None:
        self.paths, names = list(arrays), list(arrays.values())
        starts = [np.asarray(layout.discrete[name].start) for name in names]
        self.scalar, widths = [start.ndim == 0 for start in starts], [start.size for start in starts]
        self.inputs = tuple(
            Input.of_array(name, width, recorded_only=True) for name, width in zip(names, widths, strict=True)
        )

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        """Nothing."""

    def bound_residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> Callable[[], object]:
        from femb.numerics.compiler.bound_calls import BoundSequence

        return BoundSequence([])

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        """Nothing."""

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """The arrays at output instants: those before the samples there."""
        result, start = {}, self.first_input
        for path, scalar, input_ in zip(self.paths, self.scalar, self.inputs, strict=True):
            values = frames.u[:, start : start + input_.width]
            result[path] = values[:, 0] if scalar else values
            start += input_.width
        return result
