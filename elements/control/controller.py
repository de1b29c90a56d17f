"""The base of controllers: what they read and set, samples, delays, and the order at one instant.

A sampled controller is an update of discrete states at the instants phase + k period: it reads signals and its state,
and gives commands and its next state. A command acts after the delay. A continuous one has its states among the
first-order states of the model (``femb.elements.control.continuous``). Source: docs/theory/controllers.md.
"""

import json
from abc import abstractmethod
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import FembError, ModelError, SolveError
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, Ints, Unit
from femb.base.values import as_numbers, nearest, shown, without_rounding
from femb.elements.control import queue
from femb.elements.control.control_law import Law, LinearControl, Setting
from femb.elements.control.errors import AttitudeErrors, Errors
from femb.elements.control.linear_law import LinearLaw
from femb.elements.control.results import ControllerResults
from femb.elements.control.sample_kernels import (
    ARRIVED_AT,
    ATTITUDE,
    COUNT,
    IN_Q,
    IN_STATES,
    IN_V,
    OUTPUT,
    QUEUE,
    SLOTS,
    STATE,
    TIME,
    act,
    sample,
)
from femb.elements.control.schedule import (
    GainSchedule,
    ScheduledControl,
    check_schedule,
    frozen,
    law_of,
    recorded,
    start_of,
    take_first_row,
    true_signal,
)
from femb.elements.control.sensor import Sensor, columns_of_item
from femb.elements.control.signals import (
    ARRIVED,
    TRUE,
    Moment,
    Signal,
    held_signal,
    is_of,
    known_signals,
    last_sample,
    named_item,
    signal_of,
    unknown_item,
)
from femb.elements.item import Item, RecordedArrays
from femb.elements.records import RecordedSystem, Records
from femb.layout.commands import Command, TakesCommands
from femb.layout.discrete import ANGLES, DiscreteState, Update, UpdateArrays
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.symmetry import EVERY, NO_MOTION, Surroundings, Symmetry
from femb.layout.views import ModelAtStart, ModelView, StartPoses, StateView
from femb.numerics.compiler.bound_calls import Bound

# The order of updates at one instant: sensors 0, controllers from 1 on, what acts after all of them.
ACTS = 1_000_000
NO_STATE = np.zeros(0)


# Of texts that name signals or commands.
NAMES = "a list of names, TABLE.NAME.QUANTITY"


@dataclass(frozen=True, eq=False, kw_only=True)
class Controller(Item):
    """The base of all controllers."""

    table: ClassVar[str] = "controllers"
    results: ClassVar[type[Group]] = ControllerResults

    period: Annotated[float | None, Unit("s"), POSITIVE] = None
    """of the samples; without it the controller is continuous"""
    phase: Annotated[float, Unit("s"), NOT_NEGATIVE] = 0.0
    """instant of the first sample"""
    delay: Annotated[float, Unit("s"), NOT_NEGATIVE] = 0.0
    """from a sample to the action of its commands, any multiple of the period"""
    atol: Annotated[float, Unit("own"), POSITIVE] = 1e-6
    """of a continuous controller, the absolute tolerance of its states at the default rtol, in their unit"""

    schedule: GainSchedule | None = None
    """gains that follow a signal, as the angle of an array"""

    # Keys that a schedule may set.
    gains_by_table: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        double = take_first_row(self)
        with Checks(self, self.table, self.name) as check:
            self.check(check)
            check_schedule(self, check, double)

    def check(self, check: Checks) -> None:
        if self.period is None and not {"phase", "delay", "period"} & check.bad:
            for word in ("phase", "delay"):
                check.require(word, getattr(self, word) == 0.0, "but a continuous controller has none: give a period")

    def beside_statics(self, time: float) -> str:
        return (
            f"the commands of controllers.{self.name}, which samples" if self.sets and self.period is not None else ""
        )

    def remarks(self, at: ModelAtStart) -> Iterator[str]:
        """On samples that vibrations of beams are too fast for."""
        most = inf if self.period is None else 0.5 / self.period
        fast = [each for each in at.bending if each.frequency > most]
        if fast:
            yield (
                f"controllers.{self.name} samples at {2.0 * most:.4g} Hz: the first bending of {fast[0].item}, "
                f"{fast[0].frequency:.3g} Hz, is above half of that, and comes back as a slow motion; filter it before "
                "it is sampled (sensors with integrating = true), or sample faster"
            )
        if self.schedule is not None:
            layout, model = at.system.layout, at.system.model
            law = law_of(self, layout, model)
            x = true_signal(self, layout, model).value(start_of(layout), {})  # type: ignore[arg-type]
            if isinstance(law, ScheduledControl) and (text := law.outside(float(x[0]))):
                yield text

    # What it reads and sets

    @property
    @abstractmethod
    def reads(self) -> tuple[str, ...]:
        """The names of the signals that it reads."""

    def misnamed(self, model: ModelView) -> Iterator[str]:
        for word, names in (("reads", self.reads), ("sets", self.sets)):
            yield from (f"{word} {name!r}, {text}" for name in names if (text := unknown_item(model, name)))

    def start_state(self, layout: Layout, model: ModelView) -> Floats:
        """(n,) its state at the start."""
        return np.zeros(0)

    def settings(self, layout: Layout, model: ModelView) -> list[Setting]:
        """Its commands. Raises ModelError: unknown ones, and those that another controller sets."""
        result, start, known = [], 0, _commands_of(layout, model) if self.sets else {}
        for name in self.sets:
            named = named_item(model, name)
            if named is None or name not in known:
                listed = ", ".join(known) or "none: add a wheel, a thruster, a load or a motor"
                text = f"sets {name!r}; there are the commands {listed}{nearest(name, known)}"
                raise ModelError.at(self._path, text)
            for other in model.items():
                if other.name != self.name and isinstance(other, Controller) and name in other.sets:
                    raise ModelError.at(
                        self._path,
                        f"sets {name!r}, which controllers.{other.name} sets too: let one of them do so, and read the "
                        "other",
                    )
            command = known[name]
            result.append(Setting(*named, command, slice(start, start + command.width)))
            start += command.width
        return result

    @property
    def _path(self) -> tuple[str, ...]:
        return (self.table, self.name)

    def width_and_unit(self, layout: Layout, model: ModelView) -> tuple[int, str]:
        """The number of its outputs, and their unit: by default those of its commands, "own" where they differ."""
        settings = self.settings(layout, model)
        units = {each.command.unit for each in settings}
        return sum(each.command.width for each in settings), units.pop() if len(units) == 1 else "own"

    def signal(self, layout: Layout, model: ModelView) -> Signal:
        """Its output, as other controllers read it."""
        if self.period is not None:
            return held_signal(self, "output", layout, model)
        from femb.elements.control.continuous import output_signal

        return replace(output_signal(self, layout, model), **self.declared_of_value(layout, model))

    def declared_of_value(self, layout: Layout, model: ModelView) -> dict[str, Any]:
        """The unit, the mount and the host of its output as a signal, where they are not its own: see ``Signal``."""
        return {}

    def measured_at(self, layout: Layout, model: ModelView, t: float) -> float:
        """The instant (s) of the sample that others read of it at the time t (s)."""
        return t if self.period is None else last_sample(t, self.period, self.phase, self.delay)

    def limits(self, layout: Layout, model: ModelView) -> Floats:
        """(k,) limits of its commands, in their units."""
        settings = self.settings(layout, model)
        return np.array([each.command.limit for each in settings for _ in range(each.command.width)])

    def signals(self, layout: Layout, model: ModelView) -> list[Signal]:
        """The signals that it reads. Raises ModelError with its name for an unknown one."""
        signals = []
        for name in self.reads:
            try:
                signals.append(signal_of(layout, model, name))
            except ModelError as error:
                raise ModelError.at(self._path, f"reads {name!r}: {error}") from None
        return signals

    @abstractmethod
    def law(self, layout: Layout, model: ModelView) -> "Law":
        """Its law in a layout, whose numbers are known."""

    def linear_law(self, layout: Layout, model: ModelView, at: Moment | None = None) -> LinearLaw:
        """Its law on small changes about a state, by default the start. Raises ModelError where it has none."""
        law = law_of(self, layout, model)
        if not isinstance(law, LinearControl):
            raise ModelError.at(self._path, "has no linear law: a function in Python; give one of the kind state_space")
        return law.on_plant(self, layout, model, at)

    def fixed(self, layout: Layout, model: ModelView) -> Self:
        """Itself with gains that do not follow a changed model; the same object where they are given."""
        return self if self.schedule is None else frozen(self, layout, model)

    # The contract of items

    def symmetry(self, around: Surroundings) -> Symmetry:
        # None of a continuous one, which reads attitudes and places; it acts through the items that it sets.
        return EVERY if self.period is not None else Symmetry(NO_MOTION.motions, EVERY.momenta, at_speed=False)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """The discrete states of its last sample, its queue, and the updates; or the first-order states."""
        self._check_names(layout, model)
        if self.period is None:
            from femb.elements.control.continuous import declare_states

            _chain(self, model, ())
            declare_states(self, layout, model)
            return
        order = 1 + len(_chain(self, model, ()))
        width, start = self.width_and_unit(layout, model)[0], np.atleast_1d(self.start_state(layout, model))
        layout.add_discrete(self.key("output"), np.zeros(width))
        if start.size:
            layout.add_discrete(self.key("state"), start)
        layout.add_discrete(self.key("time"), 0.0, carried=False)
        sampled = ControllerSamples(self, layout, model)
        label = f"controllers.{self.name}"
        layout.add_update(
            Update(
                label, sampled.sample, period=self.period, phase=self.phase, order=order, sample=sampled.kept,
                bind=sampled.sample_call,
            )
        )  # fmt: skip
        read = any(
            is_of(name, "controllers", self.name)
            for other in model.items()
            if isinstance(other, Controller)
            for name in other.reads
        )
        if self.delay > 0.0 and (self.sets or read):
            count = queue.slots(self._path, self.delay, self.period)
            layout.add_discrete(self.key("queue"), queue.empty(count, width), carried=queue.moved)
            if read:
                layout.add_discrete(self.key(ARRIVED), np.zeros(width))
            # what only other laws read arrives before these sample, as the values of sensors do
            order, bind = ACTS if self.sets else 0, sampled.action_call
            acts = Update(f"{label}.action", sampled.act, waits_in=self.key("queue"), order=order, bind=bind)
            layout.add_update(acts)

    def _check_names(self, layout: Layout, model: ModelView) -> None:
        """Raise ModelError for commands and signals that are not in the model."""
        self.settings(layout, model)
        tables = {item.table for item in model.items()} | {"bodies", "beams", "joints", "sensors", "controllers"}
        for name in self.reads:
            table, _, rest = name.partition(".")
            if table in ("sensors", "controllers"):
                if text := unknown_item(model, name):
                    raise ModelError.at(self._path, f"reads {name!r}, {text}")
            elif table not in tables or not rest:
                named = [f"{item.table}.{item.name}" for item in model.items() if item.name == table]
                meant = f"; did you mean {', '.join(map(repr, named))}?" if named else nearest(
                    name, known_signals(layout, model)
                )  # fmt: skip
                raise ModelError.at(
                    self._path, f"reads {name!r}, wanted TABLE.NAME.QUANTITY, as bodies.hub.turn{meant}"
                )

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        """The names and the unit of the commands, and what it reads and sets."""
        attributes = {}
        for item in items:
            settings = item.settings(system.layout, system.model)
            names = [name for each in settings for name in _components(each.label, each.command.width)]
            columns = columns_of_item(item, system, "output", "sample_output", names=names)
            names_of = {word: json.dumps(list(getattr(item, word))) for word in ("reads", "sets")}
            attributes[f"controllers/{item.name}"] = {"columns": columns, **names_of}
        return Records(attributes=attributes, series=recorded(items, system))

    @staticmethod
    def batches(items: list[Any], layout: Layout, model: ModelView) -> list[Batch]:
        words = ("time", "output", "state")
        arrays = {f"controllers/{each.name}/{word}": each.key(word) for each in items for word in words}
        batches = RecordedArrays.of(arrays, layout)
        continuous = [each for each in items if each.period is None]
        if continuous:
            from femb.elements.control.continuous import ContinuousBatch

            batches.append(ContinuousBatch(continuous, layout, model))
        return batches


def _components(label: str, width: int) -> list[str]:
    """The names of the numbers of a command."""
    return [label] if width == 1 else [f"{label}.{axis}" for axis in "xyz"[:width]]


def _commands_of(layout: Layout, model: ModelView) -> dict[str, Command]:
    return {
        f"{item.table}.{item.name}.{word}": command
        for item in model.items()
        if isinstance(item, TakesCommands)
        for word, command in item.commands(layout).items()
    }


def _chain(controller: Controller, model: ModelView, before: tuple[str, ...]) -> tuple[str, ...]:
    """The longest chain of controllers that lead to one. Raises ModelError: a ring."""
    if controller.name in before:
        ring = " -> ".join([*reversed(before[: before.index(controller.name) + 1]), before[-1]])
        raise ModelError.at(
            ("controllers", controller.name),
            f"is in a ring of controllers that read each other: {ring}; let one of them read a signal of the model",
        )
    longest: tuple[str, ...] = ()
    for other in model.items():
        if isinstance(other, Controller) and any(is_of(name, "controllers", other.name) for name in controller.reads):
            chain = _chain(other, model, (*before, controller.name))
            longest = max(longest, (*chain, other.name), key=len)
    return longest


# Samples


class ControllerSamples:
    """The updates of a sampled controller in one layout."""

    def __init__(self, item: Controller, layout: Layout, model: ModelView) -> None:
        self.item, self.layout, self.model = item, layout, model
        self.period = float(item.period or 0.0)
        self.width, self.states = item.width_and_unit(layout, model)[0], item.key("state") in layout.discrete
        self.names = {word: item.key(word) for word in ("output", "time", "state", "queue", "samples")}

    @cached_property
    def law(self) -> Law:
        """The law; the numbers of the layout are known after its declarations."""
        return law_of(self.item, self.layout, self.model)

    @cached_property
    def arrives(self) -> bool:
        """Whether other laws read its outputs after a delay."""
        return self.item.key(ARRIVED) in self.layout.discrete

    @cached_property
    def _kept(self) -> list[tuple[str, str]]:
        """Paths of what a sample records, and the discrete states."""
        words = ("time", "output", "state") if self.states else ("time", "output")
        return [(f"controllers/{self.item.name}/sample_{word}", self.names[word]) for word in words]

    @cached_property
    def settings(self) -> list[Setting]:
        return self.item.settings(self.layout, self.model)

    def sample(self, t: float, state: StateView, discrete: DiscreteState) -> dict[str, Any]:
        """The arrays of a sample. Raises SolveError with the name, the sample and the time where the law fails."""
        item, names = self.item, self.names
        number = int(discrete[names["samples"]])
        instant = item.phase + number * self.period
        x = discrete[names["state"]] if self.states else NO_STATE
        y = self.law.read(t, state, discrete)
        try:
            u, new = self.law.step(t, y, x, number)
            u = _numbers("commands", u, self.width)
            changes: dict[str, Any] = {names["output"]: u, names["time"]: instant}
            if self.states:
                changes[names["state"]] = _numbers("states", new, len(x))
        except Exception as error:
            where = f"controllers.{item.name}: sample {number}, t = {instant:.6g} s"
            raised = "" if isinstance(error, FembError) else f"raised {type(error).__name__}: "
            raise SolveError(f"{where}: {raised}{error}") from error
        if names["queue"] in discrete:
            changes[names["queue"]] = queue.pushed(discrete[names["queue"]], instant + item.delay, u)
        else:
            self._set(u, t, discrete, changes)
        return changes

    def kept(self, discrete: Mapping[str, Floats]) -> dict[str, Any]:
        """A sample as the results have it, by path."""
        return {path: discrete[name] for path, name in self._kept}

    def act(self, t: float, state: StateView, discrete: DiscreteState) -> dict[str, Any]:
        """Commands whose delay has passed, in the order in which they were given."""
        waiting = self.names["queue"]
        values, rest = queue.taken(discrete[waiting], t, self.period)
        changes: dict[str, Any] = {waiting: rest}
        for u in values:
            self._set(u, t, discrete, changes)
            if self.arrives:
                changes[self.item.key(ARRIVED)] = u
        return changes

    # As kernels

    def sample_call(self, arrays: UpdateArrays) -> Bound | None:
        """``sample`` as a kernel, of a linear law that reads plain numbers."""
        law = self.law
        common = self._bound(arrays)
        if common is None or not isinstance(law, LinearControl):
            return None
        errors = law.errors
        if type(errors).of not in (Errors.of, AttitudeErrors.of) or errors.constant is None:
            return None
        sources = []
        for signal in errors.signals:
            if signal.place is None:
                return None
            sources.append((*_source(signal.place, arrays), signal.width))
        over, table, now, matrices = np.zeros(2, dtype=np.int64), np.zeros((0, 0)), np.zeros(0), law.arrays
        if isinstance(law, ScheduledControl):
            if law.signal.place is None:
                return None
            over[:] = _source(law.signal.place, arrays)
            table, (now, matrices) = law.table, law.buffer()
        places, timing, u, targets, limits = common
        places[ATTITUDE] = isinstance(errors, AttitudeErrors)
        if places[ATTITUDE] and (sources[0][0] == IN_V or sources[1][0] == IN_Q):
            return None
        y, new = np.empty(errors.width), np.empty(len(law.realisation.A))
        return Bound(
            sample, places, timing, np.array(sources, dtype=np.int64), arrays.q, arrays.v, arrays.states,
            errors.constant.copy(), matrices, (table, now, over), (y, u, new), (targets, limits),
        )  # fmt: skip

    def action_call(self, arrays: UpdateArrays) -> Bound | None:
        """``act`` as a kernel, of commands that are only held."""
        common = self._bound(arrays)
        if common is None:
            return None
        places, timing, u, targets, limits = common
        return Bound(act, places, timing, arrays.t, arrays.states, u, targets, limits)

    def _bound(self, arrays: UpdateArrays) -> tuple[Ints, Floats, Floats, Ints, Floats] | None:
        """Arguments of both kernels; None where an item does more than hold a command."""
        commands, names, places = [each.command for each in self.settings], self.names, np.zeros(8, dtype=np.int64)
        if not all(each.held for each in commands):
            return None
        for k, word in {COUNT: "samples", OUTPUT: "output", TIME: "time", STATE: "state", QUEUE: "queue"}.items():
            if names[word] in arrays.parts:
                places[k] = arrays.place(names[word])
        places[ARRIVED_AT] = arrays.place(self.item.key(ARRIVED)) if self.arrives else -1
        if names["queue"] in arrays.parts:
            part = arrays.parts[names["queue"]]
            places[SLOTS] = (part.stop - part.start) // (1 + self.width)
        rows = [(arrays.place(each.held), each.width, arrays.place(each.clips)) for each in commands]
        targets = np.array(rows, dtype=np.int64).reshape(-1, 3)
        limits = np.array([(each.own, each.limit) for each in commands], dtype=float).reshape(-1, 2)
        timing = np.array([self.item.phase, self.period, self.item.delay], dtype=float)
        return places, timing, np.empty(self.width), targets, limits

    def _set(self, u: Floats, t: float, discrete: DiscreteState, changes: dict[str, Any]) -> None:
        """Add the changes by the commands u (k,); each sees those before it."""
        seen: Any = ChainMap(changes, discrete)  # type: ignore[arg-type]
        for item, word, _, part in self.settings:
            changes.update(item.commanded(word, u[part], t, seen))


def _source(place: tuple[str, int], arrays: UpdateArrays) -> tuple[int, int]:
    """Where a kernel reads a signal, and the first of its numbers there."""
    where, first = place
    if where in ("q", "v"):
        return IN_Q if where == "q" else IN_V, first
    return IN_STATES, arrays.place(where) + first


def _numbers(what: str, value: Any, count: int) -> Floats:
    """Numbers (count,) that a law gives. Raises SolveError: other widths, and numbers that are not finite."""
    plain = type(value) is np.ndarray and value.dtype == np.float64
    numbers = value if plain else as_numbers(value)
    if numbers is not None and numbers.ndim == 0 and count == 1:
        numbers = numbers.reshape(1)
    if numbers is None or numbers.shape != (count,):
        raise SolveError(f"{what}: got {shown(value)}, wanted {count} numbers")
    if not all(map(isfinite, numbers.tolist())):
        raise SolveError(f"{what}: got {shown(value)}, which are not finite")
    return numbers


def under_commands(system: Any, t: float, q: Floats, v: Floats) -> tuple[Any, dict[str, float], set[str]]:
    """The System under what sampled laws command at a state; what acts of that by input, if any; what limits reduce.

    Sensors have no errors there, no command waits, and an on-time acts as its mean over the period.
    """
    layout, model = system.layout, system.model
    laws = [each for each in model.items() if isinstance(each, Controller) and each.period is not None]
    if not any(each.sets for each in laws):
        return system, {}, set()
    state, seen, added = system.state(t, q, v), dict(system.discrete), dict[str, Floats]()
    found, reduced = dict[str, float](), set[str]()
    sensors = [each for each in model.items() if isinstance(each, Sensor)]
    seen |= {each.key("value"): each.exact(layout, model).value(state, seen) for each in sensors}
    for item in sorted(laws, key=lambda each: len(_chain(each, model, ()))):
        samples = ControllerSamples(item, layout, model)
        u = samples.sample(t, state, seen)[item.key("output")]  # type: ignore[arg-type]
        if isinstance(law := samples.law, LinearControl):
            (_, _, C, D), x = law.realisation, np.abs(seen.get(item.key("state"), NO_STATE))
            u = without_rounding(u, np.abs(C) @ x + np.abs(D).sum(axis=1))
        seen |= {item.key("output"): u, item.key(ARRIVED): u}
        for taker, word, command, part in samples.settings:
            acting = command.acting(u[part])
            beyond = acting > samples.period if command.per_period else np.abs(command.own + u[part]) > command.limit
            if command.per_period:
                acting = np.minimum(acting / samples.period, 1.0)
                added[command.input] = acting
            else:
                seen |= taker.commanded(word, u[part], t, seen)
            names = [command.input] if command.width == 1 else [f"{command.input}.{k}" for k in range(command.width)]
            found |= {name: float(value) for name, value in zip(names, acting, strict=True) if value}
            reduced |= {name for name, each in zip(names, beyond, strict=True) if each}
    arrays = {name: np.reshape(seen[name], each.shape) for name, each in system.discrete.items() if name != ANGLES}
    discrete = system.discrete.replaced({name: each.astype(float) for name, each in arrays.items()})
    if added:
        parts = [(each, added.get(each.label, 0.0), each.function) for each in system.inputs]
        inputs = [replace(of, function=lambda t, f=f, x=x: f(t) + x) if np.any(x) else of for of, x, f in parts]
        system = system.with_inputs(inputs)
    system = system if discrete is system.discrete else system.with_discrete(discrete)
    limiting = (each.limited(system.inputs_at(t, q, v), v) for each in system.batches if hasattr(each, "limited"))
    limits = {name: x for each in limiting for name, x in each.items() if name in found}
    return system, found | limits, reduced | limits.keys()


def sensor_of(model: ModelView, name: str) -> Sensor | None:
    """The sensor of a signal; None where the signal is of no sensor."""
    for item in model.items():
        if isinstance(item, Sensor) and name in [f"sensors.{item.name}{word}" for word in ("", ".value", f".{TRUE}")]:
            return item
    return None
