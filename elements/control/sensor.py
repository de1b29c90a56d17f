"""The base of sensors: samples at the instants of a clock, their delay, and what is recorded of them.

A sensor reads the state at the end of a step, before anything changes there: its true quantity, then bias and noise,
scale, quantum, range and delay, in this order. Source: docs/theory/controllers.md, section 1.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from math import inf
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np

from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, Ints, OneOf, Unit, Vector
from femb.elements.control import queue
from femb.elements.control.linear_law import LinearLaw
from femb.elements.control.results import SensorResults
from femb.elements.control.sample_kernels import IN_Q, IN_V
from femb.elements.control.sensor_kernels import (
    AT,
    BIAS,
    COUNT,
    DRAWN,
    FACTORS,
    FLOOR,
    KIND,
    LAST,
    QUEUE,
    SLOTS,
    STEPS,
    TIME,
    TRUE_VALUE,
    VALUE,
    WHERE,
    arrive,
    draw,
    sample_sensor,
)
from femb.elements.control.signals import (
    AXES,
    TRUE,
    Rows,
    Signal,
    component_names,
    held_signal,
    is_of,
    is_true,
    last_sample,
    law_outputs,
)
from femb.elements.item import Item, RecordedArrays
from femb.elements.records import RecordedSystem, Records
from femb.layout.discrete import DiscreteState, Update, UpdateArrays
from femb.layout.element import Batch, OutputRows
from femb.layout.layout import Layout
from femb.layout.views import LinearPoint, ModelView, StartPoses, StateView
from femb.numerics.compiler.bound_calls import Bound

# Noise by counter: normal numbers that are a function of the seed, the name of a sensor and the number of its sample.
#
# Nothing is stored, so that the order of evaluation, a resumed run or an ensemble cannot change them. Source:
# docs/theory/controllers.md, section 1; J. K. Salmon et al., SC11 (2011).


def noise_key(seed: int, name: str) -> tuple[int, int]:
    """The two words of the key of a sensor's generator: the first 16 bytes of the hash of "seed/name"."""
    digest = blake2b(f"{seed}/{name}".encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def normals(key: tuple[int, int], sample: int, count: int) -> Floats:
    """(count,) independent normal numbers of mean zero and variance one of a sample 0, 1, 2 ...

    By Box and Muller from Philox, whose counter contains the sample: always the same number of words.
    """
    result, arrays = np.empty(count), drawing(key, count)
    arrays[1][2] = sample
    draw(*arrays, result)
    return result


def drawing(key: tuple[int, int], count: int) -> tuple[Any, ...]:
    """The arrays of ``draw`` for a key and ``count`` numbers."""
    words, counter = np.zeros((2, 4), dtype=np.uint64)
    return np.array(key, dtype=np.uint64), counter, FACTORS, STEPS, words, np.empty(count + 4)


NO_AXES = np.zeros(0)
# The order of the values at the start among updates of one instant: before all sensors.
BEFORE = -1

Sizes: TypeAlias = float | Vector
"""A number for all components, or three."""


class WithErrors:
    """Base of sensors with errors in the unit of their value."""

    bias: Any
    """constant error, in the unit of the value"""
    noise: Any
    """standard deviation of each sample, in the unit of the value"""


@dataclass(frozen=True, eq=False, kw_only=True)
class Sensor(WithErrors, Item):
    """The base of all sensors."""

    table: ClassVar[str] = "sensors"
    results: ClassVar[type[Group]] = SensorResults
    width: ClassVar[int] = 3
    unit: ClassVar[str] = "-"
    # what it measures in ``femb.elements.control.sensor_kernels``; a class without its own is sampled in Python
    measures: ClassVar[int | None] = None

    period: Annotated[float | None, Unit("s"), POSITIVE] = None
    """of its samples; by default that of the controller that reads it"""
    phase: Annotated[float, Unit("s"), NOT_NEGATIVE] = 0.0
    """instant of the first sample of a sensor with a period of its own; others sample with the controller"""
    delay: Annotated[float, Unit("s"), NOT_NEGATIVE] = 0.0
    """from a sample to its value, which a law of the same instants reads a period late where it is shorter; before the
    first one the value is that of the start, without noise and bias"""
    scale: Annotated[float, Unit("")] = 1.0
    """factor of the value"""
    quantum: Annotated[float | None, Unit("own"), POSITIVE] = None
    """step of the value, in its unit"""
    rounding: Annotated[str, OneOf(("round", "floor"))] = "round"
    """to the quantum"""
    range: Annotated[float | None, Unit("own"), POSITIVE] = None
    """the largest size of a component, in the unit of the value"""

    def without_derivative(self) -> str:
        return "its quantum rounds what it reads" if self.quantum is not None else ""

    def width_and_unit(self, layout: Layout, model: ModelView) -> tuple[int, str]:
        """The number of components of its value, and their unit."""
        return self.width, self.unit

    def signal(self, layout: Layout, model: ModelView) -> Signal:
        """Its value."""
        return held_signal(self, "value", layout, model)

    def declared_of_value(self, layout: Layout, model: ModelView) -> dict[str, Any]:
        """The mount, the host and the frame of its value: see ``Signal``."""
        return {}

    def measured_at(self, layout: Layout, model: ModelView, t: float) -> float:
        """The instant (s) of the motion that its value at the time t (s) is of."""
        return last_sample(t, *self.clock(model), self.delay)

    def sample_errors(self, width: int, period: float) -> tuple[Floats, Floats]:
        """The covariance (w, w) of the noise of a sample, and the bias (w,), in the unit of its value.

        width : of its value in linear models. period : s, of its samples. Slow walks of a bias are not among them.
        """
        noise = np.broadcast_to(self.noise, width).astype(float)
        return np.diag((self.scale * noise) ** 2), self.scale * np.broadcast_to(self.bias, width)

    def quantum_errors(self, width: int) -> tuple[Floats, Floats]:
        """The covariance (w, w) of what its quantum takes from a sample, and the mean (w,), in the unit of its value.

        width : of its value in linear models. The errors are uniform, and white where readings move by half a quantum
        or more from one sample to the next.
        """
        step = self.quantum or 0.0
        return step**2 / 12.0 * np.eye(width), np.full(width, -0.5 * step if self.rounding == "floor" else 0.0)

    def linear_law(self, layout: Layout, model: ModelView) -> LinearLaw:
        """Its gains on the outputs of the linear plant, at its samples."""
        truth = self.checked_truth(layout, model)
        outputs = law_outputs(f"sensors.{self.name}", self.width)
        D = self.scale * (np.eye(len(outputs)) if truth.gain is None else truth.gain)
        period, phase = self.clock(model)
        nothing = np.zeros((0, 0)), np.zeros((0, D.shape[1])), np.zeros((len(D), 0))
        read = truth.linear or component_names(self.key(TRUE), len(outputs))
        return LinearLaw(self.name, *nothing, D, period, phase, self.delay, read, outputs, start_value=D)

    # Its true quantity as an output of linear models (``femb.layout.element.GivesOutputs``)

    def linear_outputs(self, layout: Layout) -> Mapping[str, bool]:
        """Its true quantity, as ``sensors.NAME.true``."""
        return {TRUE: False}

    def output_rows(self, point: LinearPoint, quantity: str) -> OutputRows | None:
        """The rows of its true quantity, in its axes; of an attitude those of the small turn."""
        return self.true_rows(point) if quantity == TRUE else None

    def true_rows(self, point: LinearPoint) -> OutputRows:
        """The rows of its true quantity at the ``point``. Raises ModelError where it depends on more than the state."""
        truth = self.checked_truth(point.system.layout, point.system.model)
        if truth.rows is None:
            raise ModelError("is a mean over a period, which no state gives: take the output of its states")
        pose, velocity = truth.rows(point.t, point.q, point.v)
        unit = "rad" if truth.width == 4 else truth.unit
        return OutputRows(unit, pose, velocity, components=AXES if len(pose) == len(AXES) else ())

    # What it measures

    def truth(self, layout: Layout, model: ModelView) -> Signal:
        """The true quantity, in a ``layout`` of a ``model``. Raises ModelError where the model does not have it."""
        raise NotImplementedError

    def checked_truth(self, layout: Layout, model: ModelView) -> Signal:
        """Its ``truth``, of which value and rows raise ModelError where their sizes are not those of the sensor."""
        true, width, size = self.truth(layout, model), self.width, 3 if self.width == 4 else self.width
        value, rows = true.value, true.rows

        def check(word: str, got: Any, wanted: tuple[int, ...]) -> None:
            if np.shape(got) != wanted:
                text = f"truth: {word}: got an array {np.shape(got)}, wanted {wanted}, by its width {width}"
                raise ModelError.at((self.table, self.name), text)

        def numbers(state: StateView, discrete: Mapping[str, Floats]) -> Floats:
            found = value(state, discrete)
            check("value", found, (width,))
            return found

        def derivatives(t: float, q: Floats, v: Floats) -> Rows:
            assert rows is not None
            pair = rows(t, q, v)
            for each in pair:
                check("rows", each, (size, len(v)))
            return pair

        if true.width != width:
            raise ModelError.at((self.table, self.name), f"truth: got a signal of width {true.width}, wanted {width}")
        return replace(true, value=numbers, rows=None if rows is None else derivatives)

    def read_by_kernel(self, layout: Layout, model: ModelView) -> tuple[Signal, Floats]:
        """The signal with a place that a kernel reads, and its own axes, a quaternion (4,) or a matrix (9,), if any."""
        return self.checked_truth(layout, model), NO_AXES

    def random_numbers(self, period: float) -> tuple[int, tuple[float, ...]]:
        """The count of normal numbers that a sample draws, and further numbers of the kernel from ``ROLL`` on."""
        count = 3 if self.width == 4 else self.width
        return count if np.any(getattr(self, "noise", 0.0)) else 0, (0.0,) * 7

    def mean(self, true: Floats, sample: "Sample") -> Floats:
        """(k,) of a ``sample``, in the unit of the sensor, from ``true`` (k,) at its instant; by default the same."""
        return true

    def measured(self, true: Floats, sample: "Sample") -> Floats:
        """(k,) in the unit of the sensor: the quantity ``true`` (k,) with the bias and the noise of a ``sample``."""
        noise, bias = getattr(self, "noise", 0.0), getattr(self, "bias", 0.0)
        if np.any(noise):
            true = true + noise * sample.normals(len(true))
        result: Floats = true + bias
        return result

    def converted(self, value: Floats) -> Floats:
        """(k,) in the unit of the sensor: a ``value`` (k,) with scale, quantum and range."""
        value = self.scale * value
        if self.quantum is not None:
            value = self.quantum * (np.floor if self.rounding == "floor" else np.round)(value / self.quantum)
        if self.range is not None:
            value = np.clip(value, -self.range, self.range)
        return value

    def at_start(self, layout: Layout, model: ModelView) -> Signal:
        """The quantity that it has before its first value arrives: the true one at the start."""
        return self.checked_truth(layout, model)

    def exact(self, layout: Layout, model: ModelView) -> Signal:
        """Its value without bias, noise, quantum, range and delay: the scale is no error."""
        true, scale = self.at_start(layout, model), self.scale
        if scale == 1.0 or true.width == 4:
            return true
        return replace(true, value=lambda state, discrete: scale * true.value(state, discrete), rows=None, place=None)

    def begun(self, true: Floats, period: float, phase: float) -> dict[str, Floats]:
        """Its further arrays at the start, where its true quantity is ``true`` (k,); period, phase : of its samples."""
        return {}

    # The contract of items

    def clock(self, model: ModelView) -> tuple[float, float]:
        """Its period and phase (s). Raises ModelError: neither it nor one controller gives them."""
        if self.period is not None:
            return self.period, self.phase
        clocks = {
            (item.period, item.phase)
            for item in model.items()
            if item.table == "controllers"
            and any(is_of(read, "sensors", self.name) and not is_true(read) for read in item.reads)
        }
        path = (self.table, self.name, "period")
        if not clocks:
            raise ModelError.at(path, "is missing: no controller reads this sensor, whose period it would have")
        if len(clocks) > 1:
            raise ModelError.at(path, "is missing: several controllers with different clocks read this sensor")
        ((period, phase),) = clocks
        if period is None:
            raise ModelError.at(
                path,
                "is missing: the controller that reads this sensor is continuous; give it a period, or let it read "
                f'true quantities, as "bodies.hub.angular_velocity", or with a period "sensors.{self.name}.{TRUE}"',
            )
        return period, phase

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        period, phase = self.clock(model)
        start = np.eye(self.width)[0] if self.width == 4 else np.zeros(self.width)
        layout.add_discrete(self.key("value"), start)
        layout.add_discrete(self.key("true"), start)
        layout.add_discrete(self.key("time"), 0.0, carried=False)
        for word, value in self.more_arrays().items():
            layout.add_discrete(self.key(word), value)
        sampled = SampledSensor(self, layout, model, period, phase)
        layout.add_discrete(self.key("starts"), 0.0)
        begin = Update(self.key("start"), sampled.start, waits_in=self.key("starts"), order=BEFORE)
        layout.add_update(begin)
        if self.delay > 0.0:
            count = queue.slots((self.table, self.name), self.delay, period)
            layout.add_discrete(self.key("queue"), queue.empty(count, self.width), carried=queue.moved)
            waits, bind = self.key("queue"), sampled.arrive_call
            layout.add_update(Update(self.key("arrival"), sampled.arrive, waits_in=waits, bind=bind))
        layout.add_update(
            Update(
                f"sensors.{self.name}", sampled.sample, period=period, phase=phase, sample=sampled.kept,
                bind=sampled.sample_call,
            )
        )  # fmt: skip

    def more_arrays(self) -> Mapping[str, Any]:
        """Further discrete states by word, with their start."""
        return {}

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        """The units of the values, which differ between sensors."""
        names = {3: "xyz", 4: "wxyz"}
        columns = {
            item.name: columns_of_item(
                item, system, "value", "true", "sample_value", "sample_true", names=names.get(item.width, "")
            )
            for item in items
        }
        return Records(attributes={f"sensors/{name}": {"columns": text} for name, text in columns.items()})

    @staticmethod
    def batches(items: list[Any], layout: Layout, model: ModelView) -> list[Batch]:
        words = ("time", "value", "true")
        arrays = {f"sensors/{each.name}/{word}": each.key(word) for each in items for word in words}
        return RecordedArrays.of(arrays, layout)


def columns_of_item(item: Any, system: RecordedSystem, *words: str, names: Sequence[str] = ()) -> str:
    """The attribute "columns" of results: unit and names of the components of some quantities of an item."""
    unit = item.width_and_unit(system.layout, system.model)[1]
    given: dict[str, Any] = {"names": list(names)} if names else {}
    return json.dumps({word: given | ({} if unit == "own" else {"unit": unit}) for word in words})


class Sample:
    """One sample of a sensor: its number 0, 1, 2 ..., the period (s), the discrete states, and the changes of these."""

    def __init__(self, item: Sensor, number: int, period: float, key: tuple[int, int], discrete: DiscreteState) -> None:
        self._item, self._key, self._discrete = item, key, discrete
        self.number, self.period = number, period
        self.changes: dict[str, Any] = {}

    def normals(self, count: int) -> Floats:
        return normals(self._key, self.number, count)

    def __getitem__(self, word: str) -> Floats:
        return self._discrete[self._item.key(word)]

    def __setitem__(self, word: str, value: Any) -> None:
        self.changes[self._item.key(word)] = value


class SampledSensor:
    """The updates of a sensor in one layout."""

    def __init__(self, item: Sensor, layout: Layout, model: ModelView, period: float, phase: float) -> None:
        self.item, self.layout, self.model, self.period, self.phase = item, layout, model, period, phase
        self.key = noise_key(model.seed, item.name)

    @cached_property
    def truth(self) -> Signal:
        """The true quantity; the numbers of the layout are known after its declarations."""
        return self.item.checked_truth(self.layout, self.model)

    def start(self, t: float, state: StateView, discrete: DiscreteState) -> dict[str, Any]:
        """The value that controllers read until the first sample arrives: that of the motion at the start."""
        item = self.item
        true = item.at_start(self.layout, self.model).value(state, discrete)
        return {
            item.key("value"): item.converted(true),
            item.key("true"): true,
            item.key("starts"): inf,
            **item.begun(true, self.period, self.phase),
        }

    def sample(self, t: float, state: StateView, discrete: DiscreteState) -> dict[str, Floats]:
        item, number = self.item, int(discrete[f"sensors.{self.item.name}.samples"])
        sample, instant = Sample(item, number, self.period, self.key, discrete), self.phase + number * self.period
        true = item.mean(self.truth.value(state, discrete), sample)
        value = item.converted(item.measured(true, sample))
        sample["true"], sample["time"] = true, instant
        if item.delay > 0.0:
            sample["queue"] = queue.pushed(sample["queue"], instant + item.delay, value)
        else:
            sample["value"] = value
        return sample.changes

    def kept(self, discrete: Mapping[str, Floats]) -> dict[str, Any]:
        """A sample as the results have it, by path."""
        item, path = self.item, f"sensors/{self.item.name}"
        given = {word: discrete[item.key(word)] for word in ("time", "value", "true")}
        if item.delay > 0.0:
            given["value"] = queue.newest(discrete[item.key("queue")])
        return {f"{path}/sample_{word}": value for word, value in given.items()}

    def arrive(self, t: float, state: StateView, discrete: DiscreteState) -> dict[str, Floats]:
        """The value that has waited for its delay."""
        values, rest = queue.taken(discrete[self.item.key("queue")], t, self.period)
        return {self.item.key("queue"): rest} | ({self.item.key("value"): values[-1]} if len(values) else {})

    # As kernels

    def sample_call(self, arrays: UpdateArrays) -> Bound | None:
        """``sample`` as a kernel, of a quantity that is among the coordinates or velocities."""
        item = self.item
        kind = vars(type(item)).get("measures")
        if kind is None:
            return None
        signal, axes = item.read_by_kernel(self.layout, self.model)
        if signal.place is None or signal.place[0] not in ("q", "v"):
            return None
        places, numbers = self._bound(arrays)
        drawn, further = item.random_numbers(self.period)
        places[KIND], places[WHERE], places[AT] = kind, IN_Q if signal.place[0] == "q" else IN_V, signal.place[1]
        places[FLOOR], places[DRAWN] = item.rounding == "floor", drawn
        true, value = np.empty((2, signal.width))
        noise, bias = (
            np.broadcast_to(getattr(item, word, 0.0), 3 if signal.width == 4 else signal.width).astype(float)
            for word in ("noise", "bias")
        )
        boresight = np.array(getattr(item, "boresight", (0.0, 0.0, 1.0)), dtype=float)
        return Bound(
            sample_sensor, places, np.concatenate([numbers, further]), axes, (noise, bias, boresight),
            drawing(self.key, drawn), np.zeros(9), np.zeros(6), true, value, arrays.q, arrays.v, arrays.states,
        )  # fmt: skip

    def arrive_call(self, arrays: UpdateArrays) -> Bound:
        width = arrays.parts[self.item.key("value")]
        return Bound(arrive, *self._bound(arrays), arrays.t, np.empty(width.stop - width.start), arrays.states)

    def _bound(self, arrays: UpdateArrays) -> tuple[Ints, Floats]:
        """Integers and the first numbers of both kernels."""
        item, places = self.item, np.full(DRAWN + 1, -1, dtype=np.int64)
        words = {COUNT: "samples", TRUE_VALUE: "true", TIME: "time", VALUE: "value", QUEUE: "queue", BIAS: "bias"}
        for k, word in {**words, LAST: "turned"}.items():
            if item.key(word) in arrays.parts:
                places[k] = arrays.place(item.key(word))
        places[SLOTS] = 0
        if item.delay > 0.0:
            queue_part, value = (arrays.parts[item.key(word)] for word in ("queue", "value"))
            places[SLOTS] = (queue_part.stop - queue_part.start) // (1 + value.stop - value.start)
        most = inf if item.range is None else item.range
        return places, np.array([self.phase, self.period, item.delay, item.scale, item.quantum or 0.0, most])
