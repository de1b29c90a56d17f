"""Signals: the quantities that sensors and controllers read, by the names that outputs of linear models have.

    bodies.NAME.QUANTITY, beams.NAME.NODE.QUANTITY    position, velocity, turn, angular_velocity, attitude
    joints.NAME.COORDINATE                            a coordinate of a joint; its rate after a blank and "rate"
    TABLE.NAME.QUANTITY                               a quantity of positions and velocities that an item declares
    sensors.NAME, controllers.NAME                    the value of a sensor, the output of a controller
    sensors.NAME.true                                 the true quantity of a sensor at any instant

A last .x, .y or .z selects one component of several. A turn is 2 q_v of the rotation from the attitude at the start,
with the sign of its q_0, in body axes: for small angles the rotation vector.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import floor
from typing import Any, TypeAlias

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import nearest
from femb.elements.item import ItemStates, given_values
from femb.elements.joint.coordinates import JointCoordinates
from femb.elements.joint.records import coordinate_rows
from femb.layout.layout import Layout, Station
from femb.layout.state import RATE, internal_rows, motion_rows, station_motion
from femb.layout.views import ModelView, OutputStates, StateView
from femb.numerics import rotations

# Instants within this part of a period are one.
ONE_INSTANT = 1e-6
Discrete = Mapping[str, Floats]
Rows = tuple[Floats, Floats]
RowsOf: TypeAlias = Callable[[float, Floats, Floats], Rows]
"""A function of t, q (n_q,) and v (n_v,): rows of derivatives by the pose and by the velocities."""
AXES = ("x", "y", "z")
TRUE = "true"
"""The word of the true quantity of a sensor."""
ARRIVED = "arrived"
"""The word of the outputs of a controller after its delay, which other laws read."""
MOTION = {"position": 0, "attitude": 1, "velocity": 2, "angular_velocity": 3}
"""Quantities of a station, and their places in its motion."""
UNITS = {"position": "m", "attitude": "-", "velocity": "m/s", "angular_velocity": "rad/s", "turn": "rad"}


@dataclass(frozen=True, eq=False)
class Signal:
    """A quantity of k numbers at one instant.

    name : as above. unit : SI. width : k. value : function (state, discrete) -> (k,) of the state at the end of a step
    and of the discrete state. linear : the names of the outputs of linear models that are its components; of an
    attitude those of the turn. rows : function (t, q, v) that gives its derivatives (k, n_v) by the pose and by the
    velocities; None of a signal that is held between samples. held : the name of its array, of a held signal. gain (k,
    m) : from the outputs ``linear`` to its components; None for one by one. place : where its numbers are, "q", "v" or
    the name of a discrete state, and the first of them; None where they are computed. integrated : of a signal that
    needs accelerations, two of positions and velocities: it is the rate of the first plus the second. mount (4,) : the
    quaternion from its axes to those of its host; None where these are the same. frame : of an attitude, the axes that
    it is relative to, "inertial" or "orbit". host : the station whose axes these are; None of inertial axes, and where
    there are none. instant : function of the time (s) at which it is read, that gives when it was measured.
    """

    name: str
    unit: str
    width: int
    value: Callable[[StateView, Discrete], Floats]
    linear: tuple[str, ...] = ()
    rows: RowsOf | None = None
    held: str = ""
    gain: Floats | None = None
    place: tuple[str, int] | None = None
    integrated: "tuple[Signal, Signal] | None" = None
    mount: Floats | None = None
    frame: str = "inertial"
    host: Station | None = None
    instant: Callable[[float], float] = float

    def seen_on(self, layout: Layout, host: Station | None) -> "Signal":
        """This attitude or vector in the axes of a ``host``, to which those of another body are turned as at the
        start."""
        mount, value, own = self.mount, self.value, self.gain
        if host is not None and self.host is not None and (turn := axes_between(layout, self.host, host)) is not None:
            mount = turn if mount is None else np.asarray(rotations.multiply(turn, mount))
        if mount is None:
            return self
        matrix = rotations.rotation_matrix(mount)

        def turned(state: StateView, discrete: Discrete) -> Floats:
            given = value(state, discrete)
            if len(given) == 4:
                return np.asarray(rotations.multiply(given, rotations.conjugate(mount)))
            return np.asarray(rotations.rotate(mount, given))

        gain = matrix if own is None else matrix @ own
        return replace(
            self, value=turned, gain=gain, rows=turned_rows(matrix, self.rows), place=None, integrated=None, mount=None
        )

    def in_axes(self, matrix: Floats) -> "Signal":
        """A vector in other axes: its components times ``matrix`` (3, 3)."""
        value, parts, gain, of_matrix = self.value, self.integrated, matrix if self.linear else None, matrix.tolist()

        def in_axes(state: StateView, discrete: Discrete) -> Floats:
            # in the order of the kernels of sensors
            x, y, z = value(state, discrete).tolist()
            return np.array([a * x + b * y + c * z for a, b, c in of_matrix])

        turned = replace(self, value=in_axes, gain=gain, held="")
        integrated = None if parts is None else (parts[0].in_axes(matrix), parts[1].in_axes(matrix))
        return replace(turned, rows=turned_rows(matrix, self.rows), place=None, integrated=integrated)

    def component(self, k: int) -> "Signal":
        value, rows = self.value, self.rows
        of_rows = None
        if rows is not None:

            def of_rows(t: float, q: Floats, v: Floats) -> Rows:
                pose, velocity = rows(t, q, v)
                return pose[k : k + 1], velocity[k : k + 1]

        return replace(
            self,
            name=f"{self.name}.{AXES[k]}",
            width=1,
            value=lambda state, discrete: value(state, discrete)[k : k + 1],
            linear=self.linear if self.gain is not None else self.linear[k : k + 1],
            rows=of_rows,
            place=self.place and (self.place[0], self.place[1] + k),
            gain=None if self.gain is None else self.gain[k : k + 1],
            integrated=self.integrated and (self.integrated[0].component(k), self.integrated[1].component(k)),
            mount=None,
        )


NO_ARRAYS: Mapping[str, Floats] = {}


@dataclass(frozen=True, eq=False)
class Moment:
    """A state as the values of signals read it: q (n_q,), v (n_v,), time (s), coordinates (m,) of joints, unwrapped."""

    q: Floats
    v: Floats
    time: float
    coordinates: Floats

    @classmethod
    def of_output(cls, frames: OutputStates, k: int) -> "Moment":
        return cls(frames.q[k], frames.v[k], float(frames.time[k]), frames.coordinates[k])


class _System:
    def __init__(self, layout: Layout, n_v: int, coordinates: JointCoordinates | None) -> None:
        self.layout, self.n_v, self.coordinates_of_joints = layout, n_v, coordinates


class Instant:
    """A state as exact rows of outputs read it (``femb.layout.views.LinearPoint``), without accelerations."""

    def __init__(self, layout: Layout, q: Floats, v: Floats, coordinates: JointCoordinates | None = None) -> None:
        self.system, self.q, self.v, self.a = _System(layout, len(v), coordinates), q, v, np.zeros_like(v)


def signal_of(layout: Layout, model: ModelView, name: str) -> Signal:
    """The signal of a name. Raises ModelError, which says what there is, for an unknown one."""
    whole, _, component = name.rpartition(".")
    if component in AXES and whole:
        vector = _signal(layout, model, whole)
        if vector is not None and vector.width == 3:
            return vector.component(AXES.index(component))
    signal = _signal(layout, model, name)
    if signal is None:
        known = known_signals(layout, model)
        listed = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
        raise ModelError(f"got {name!r}, which is no signal{nearest(name, known) or f'; there are {listed}'}")
    return signal


def known_signals(layout: Layout, model: ModelView) -> list[str]:
    """The names of all signals, of beams at their ends."""
    names = [f"sensors.{each}{word}" for each in _table(model, "sensors") for word in ("", f".{TRUE}")]
    names += [f"bodies.{body}.{word}" for body in layout.bodies for word in UNITS]
    names += [f"beams.{beam}.{node}.{word}" for beam in layout.beams for node in (0, -1) for word in UNITS]
    for joint, entry in layout.joints.items():
        names += [f"joints.{joint}.{each.name}{rate}" for each in entry.coordinates for rate in ("", RATE)]
    for item in model.items():
        names += [f"{item.table}.{item.name}.{word}" for word in _of_motion(item)]
    return [*names, *(f"controllers.{each}" for each in _table(model, "controllers"))]


def is_of(signal: str, table: str, name: str) -> bool:
    """Whether a signal is of the item TABLE.NAME: its value, or a component of it."""
    start = f"{table}.{name}"
    return signal == start or signal.startswith(f"{start}.")


def is_true(signal: str) -> bool:
    """Whether a signal is the true quantity of a sensor, or a component of it."""
    whole = signal[:-2] if signal[-2:] in (".x", ".y", ".z") else signal
    return signal.startswith("sensors.") and whole.endswith(f".{TRUE}")


# Tables whose items controllers may name; of bodies the quantities are known.
NAMED = ("bodies", "joints", "sensors", "controllers", "wheels", "thrusters", "magnetic_torquers", "loads")


def unknown_item(model: ModelView, name: str) -> str:
    """The reason why a model has nothing of a name TABLE.NAME.WORD, by its items alone; empty where it may have it."""
    table = name.partition(".")[0]
    names = _table(model, table)
    own = max((each for each in names if is_of(name, table, each)), key=len, default=None)
    if table in NAMED and own is None and not is_of(name, "bodies", "ground"):
        known = [".".join([table, each, *name.split(".")[2:]]) for each in names]
        return f"but there is no such item; {table}: {', '.join(names) or 'none'}{nearest(name, known)}"
    word = name.removeprefix(f"bodies.{own}").removeprefix(".").partition(".")[0]
    item = next((each for each in model.items() if each.table == table == "bodies" and each.name == own), None)
    if item is None or not word or word in UNITS or word in _of_motion(item):
        return ""
    return f"but bodies have no such quantity to read; there are {', '.join(UNITS)}{nearest(word, UNITS)}"


def named_item(model: ModelView, name: str) -> tuple[Any, str] | None:
    """The item with which a name TABLE.NAME.WORD begins, and the word; None if there is none."""
    named = None
    for item in model.items():
        start = f"{item.table}.{item.name}."
        if name.startswith(start) and (named is None or len(start) > len(name) - len(named[1])):
            named = item, name[len(start) :]
    return named


def _table(model: ModelView, table: str) -> list[str]:
    return [item.name for item in model.items() if item.table == table]


def _of_motion(item: Any) -> dict[str, Any]:
    """The quantities of an item that follow from positions and velocities."""
    return {word: each for word, each in item.given_quantities().items() if each.level == "motion"}


def _signal(layout: Layout, model: ModelView, name: str) -> Signal | None:
    table, _, rest = name.partition(".")
    if table in ("sensors", "controllers"):
        return _held(layout, model, table, rest)
    place, _, word = name.rpartition(".")
    if word in UNITS:
        station = layout.named_station(place)
        if station is not None:
            return station_signal(layout, station, word, name)
    if table == "joints":
        return _joint_signal(layout, name)
    named = named_item(model, name)
    return _declared(layout, *named) if named is not None and named[1] in _of_motion(named[0]) else None


def _held(layout: Layout, model: ModelView, table: str, rest: str) -> Signal | None:
    """The value of a sensor or the output of a controller."""
    word = "value" if table == "sensors" else "output"
    for item in model.items():
        if item.table == table == "sensors" and rest == f"{item.name}.{TRUE}":
            true = item.checked_truth(layout, model)
            linear = true.linear or component_names(f"{table}.{rest}", 3 if true.width == 4 else true.width)
            declared: dict[str, Any] = item.declared_of_value(layout, model)
            return replace(true, name=f"{table}.{rest}", linear=linear, **declared)  # type: ignore[no-any-return]
        if item.table == table and rest in (item.name, f"{item.name}.{word}"):
            return item.signal(layout, model)  # type: ignore[no-any-return]
    return None


def held_signal(item: Any, word: str, layout: Layout, model: ModelView) -> Signal:
    """The signal that a sensor or a sampled controller holds between its samples, its discrete state ``word``."""
    name = f"{item.table}.{item.name}"
    array = f"{name}.{ARRIVED if f'{name}.{ARRIVED}' in layout.discrete else word}"
    width, unit = item.width_and_unit(layout, model)
    value, linear = (lambda state, discrete: discrete[array]), law_outputs(name, width)
    held = Signal(name, unit, width, value, linear, held=array, place=(array, 0))
    return replace(held, **item.declared_of_value(layout, model), instant=partial(item.measured_at, layout, model))


def axes_between(layout: Layout, first: Station, last: Station) -> Floats | None:
    """(4,) the quaternion from the axes of the first station to those of the last, at the start; None of the same."""
    a, b = (each.rotation if first.frame == last.frame else layout.pose(each)[1] for each in (first, last))
    return None if np.array_equal(a, b) else rotations.normalise(rotations.multiply(rotations.conjugate(b), a))


def last_sample(t: float, period: float, phase: float, delay: float) -> float:
    """The instant (s) at which what is read at the time t (s) was sampled, with a ``delay`` (s) after it; 0 where that
    is the value at the start."""
    return max(phase + period * floor((t - delay - phase) / period + ONE_INSTANT), 0.0)


def law_outputs(name: str, width: int) -> tuple[str, ...]:
    """The names, in linear loops, of the components of a sensor or of a controller; of an attitude of its turns."""
    return tuple(f"{name}.{k + 1}" for k in range(3 if width == 4 else width))


def component_names(name: str, width: int) -> tuple[str, ...]:
    """The names of the components of an output of linear models of 1 or 3 numbers."""
    return (name,) if width == 1 else tuple(f"{name}.{axis}" for axis in AXES[:width])


def station_signal(layout: Layout, station: Station, word: str, name: str) -> Signal:
    """The motion of a station: ``position`` or ``velocity``, inertial axes, ``attitude``, a quaternion, ``turn`` or
    ``angular_velocity``, its axes."""
    frame = layout.frames[station.frame]
    if frame.freedom == 3 and word not in ("position", "velocity"):
        raise ModelError(f"got {name!r}, but a point mass does not turn")
    start = rotations.conjugate(layout.pose(station)[1])

    def motion(state: StateView, place: int) -> Floats:
        columns = station_motion(layout, station, state.q[None], state.v[None])
        if place in (0, 2) and (layout.origin.any() or layout.origin_velocity.any()):
            moved = layout.to_inertial(np.array([state.time]), columns[0], columns[2])
            return np.asarray(moved[place // 2][0])
        return np.asarray(columns[place][0])

    def value(state: StateView, discrete: Discrete) -> Floats:
        if word == "turn":
            return turn_error(rotations.multiply(start, motion(state, 1)))
        return motion(state, MOTION[word])

    i, j = int(layout.frame_q[station.frame]), int(layout.frame_v[station.frame])
    place: tuple[str, int] | None = None
    if word == "angular_velocity" and station.on_frame and frame.freedom == 6:

        def value(state: StateView, discrete: Discrete) -> Floats:
            return np.asarray(state.v[j + 3 : j + 6])

        place = "v", j + 3

    elif word == "attitude" and station.on_frame and frame.freedom == 6:

        def value(state: StateView, discrete: Discrete) -> Floats:
            return state.q[i + 3 : i + 7]

        place = "q", i + 3

    def rows(t: float, q: Floats, v: Floats) -> Rows:
        quantity = "turn" if word == "attitude" else word
        pose, velocity = motion_rows(Instant(layout, q, v), station, quantity)  # type: ignore[arg-type]
        if word == "turn":
            error = rotations.multiply(start, station_motion(layout, station, q[None], v[None])[1][0])
            pose = turn_rows(error) @ pose
        return pose, velocity

    of = name.rpartition(".")[0]
    linear = tuple(f"{of}.{'turn' if word == 'attitude' else word}.{axis}" for axis in AXES)
    host = None if word in ("position", "velocity") else station
    return Signal(name, UNITS[word], 4 if word == "attitude" else 3, value, linear, rows, place=place, host=host)


def turn_error(quaternion: Floats) -> Floats:
    """2 q_v with the sign of q_0 (3,), rad, of a rotation."""
    sign = -1.0 if quaternion[0] < 0.0 else 1.0
    return 2.0 * sign * quaternion[1:]


def turn_rows(quaternion: Floats) -> Floats:
    """The derivative (3, 3) of ``turn_error`` by a further turn in the axes that the rotation leads to."""
    sign = -1.0 if quaternion[0] < 0.0 else 1.0
    return sign * (float(quaternion[0]) * np.eye(3) + rotations.cross_matrix(quaternion[1:]))


def _joint_signal(layout: Layout, name: str) -> Signal | None:
    """A coordinate of a joint, unwrapped, or its rate."""
    whole, rate = name.removesuffix(RATE), name.endswith(RATE)
    places = {
        f"joints.{word}.{coordinate.name}": (joint, k)
        for word, joint in layout.joints.items()
        for k, coordinate in enumerate(joint.coordinates)
    }
    if whole not in places:
        return None
    joint, k = places[whole]
    number, coordinates = joint.part.start + k, JointCoordinates(layout)
    one, coordinate = coordinates.picked(np.array([number])), joint.coordinates[k]
    unit = ("rad" if coordinate.is_angle else "m") + ("/s" if rate else "")

    def value(state: StateView, discrete: Discrete) -> Floats:
        if not rate:
            return np.atleast_1d(state.coordinates[number])
        rates: Floats = one.measure(state.q[None].copy(), state.v[None].copy())[1][0]
        return rates

    def rows(t: float, q: Floats, v: Floats) -> Rows:
        at: Any = Instant(layout, q, v, coordinates)
        of_coordinate = coordinate_rows(at, joint, f"{coordinate.name}{RATE if rate else ''}")
        assert of_coordinate is not None
        return of_coordinate.by_motion

    return Signal(name, unit, 1, value, (name,), rows)


def _declared(layout: Layout, item: Any, word: str) -> Signal:
    """A quantity that an item declares."""
    quantity = item.given_quantities()[word]
    coordinate = quantity.coordinate or quantity.rate
    name = f"{item.table}.{item.name}.{word}"
    if coordinate:
        number = layout.internal_number(item.table, item.name, coordinate)
        first_order = layout.internal[number].quantity.first_order
        in_v = bool(quantity.rate) or first_order
        at = (layout.internal_v if in_v else layout.internal_q)[number]

        def value(state: StateView, discrete: Discrete) -> Floats:
            return (state.v if in_v else state.q)[at : at + 1]

        def rows(t: float, q: Floats, v: Floats) -> Rows:
            rate = bool(quantity.rate) and not first_order
            return internal_rows(Instant(layout, q, v), number, rate).by_motion  # type: ignore[arg-type]

        return Signal(name, quantity.unit, 1, value, (name,), rows, place=("v" if in_v else "q", int(at)))
    width = int(np.prod([int(size) for size in quantity.sizes[1:]] or [1]))

    def of_state(state: StateView, discrete: Discrete) -> Floats:
        none = np.zeros((1, 0))
        at = ItemStates(item, layout, np.array([state.time]), state.q[None].copy(), state.v[None].copy(), none, {})
        return np.ravel(given_values(word, quantity, at)[0])

    def rows_of(t: float, q: Floats, v: Floats) -> Rows:
        result: Rows = quantity.rows(item, Instant(layout, q, v)).by_motion
        return result

    linear = component_names(name, width)
    return Signal(name, quantity.unit, width, of_state, linear, rows_of if quantity.rows else None)


def rows_of(signal: Signal) -> RowsOf:
    """The rows of a signal of positions and velocities."""
    assert signal.rows is not None, signal.name
    return signal.rows


def turned_rows(matrix: Floats, rows: RowsOf | None) -> RowsOf | None:
    """A matrix times ``rows``; None of none."""
    if rows is None:
        return None

    def result(t: float, q: Floats, v: Floats) -> Rows:
        pose, velocity = rows(t, q, v)
        return matrix @ pose, matrix @ velocity

    return result


def seen_from(attitude: Signal, vector: Signal) -> Signal:
    """A ``vector`` in inertial axes as one in those of an ``attitude``; both have rows.

    Source: docs/theory/controllers.md, equation (0).
    """
    of_attitude, of_vector = rows_of(attitude), rows_of(vector)

    def value(state: StateView, discrete: Mapping[str, Floats]) -> Floats:
        return rotations.rotate_back(
            rotations.normalise(attitude.value(state, discrete)), vector.value(state, discrete)
        )

    def rows(t: float, q: Floats, v: Floats) -> Rows:
        at = Moment(q, v, t, np.zeros(0))
        back = rotations.rotation_matrix(rotations.normalise(attitude.value(at, {}))).T  # type: ignore[arg-type]
        x: Floats = vector.value(at, {})  # type: ignore[arg-type]
        seen = back @ x
        pose, velocity = of_vector(t, q, v)
        return back @ pose + rotations.cross_matrix(seen) @ of_attitude(t, q, v)[0], back @ velocity

    return Signal(vector.name, vector.unit, 3, value, (), rows)
