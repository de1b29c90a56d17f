"""Gains of a controller as a table over a signal: matrices of its law are linear between rows.

Source: docs/theory/controllers.md, equation (11).
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import FembWarning, ModelError
from femb.base.meanings import Description
from femb.base.types import OWN_UNITS, Floats, Numbers, Unit
from femb.base.values import nearest, shallow_copy, shown
from femb.elements.control.control_law import InLoop, Law, LinearControl, Matrices
from femb.elements.control.linear_law import LinearLaw, Realisation
from femb.elements.control.sample_kernels import linear_step, scheduled
from femb.elements.control.signals import AXES, Moment, Signal, named_item
from femb.elements.records import RecordedSystem
from femb.layout.layout import Layout
from femb.layout.views import ModelView, OutputStates, StateView


@dataclass(frozen=True, eq=False, kw_only=True)
class GainSchedule(Description):
    """Gains of a controller as a table over a signal. Between its values the matrices of the law, which for gains are
    these gains, are interpolated linearly; outside, those of the end stay.

    Raises ModelError: values that do not rise, one value only, gains of another length.
    """

    over: str
    """the signal, a number: the angle that a sensor measures, as "sensors.encoder", or "joints.drive.angle" """
    at: Annotated[Numbers, Unit("rad", stroke="m")]
    """its values, increasing"""
    gains: Annotated[dict[str, Any], OWN_UNITS]
    """lists by the key of the controller, one entry a value: { proportional = [1.0, 2.0], derivative = [3.0, 4.0] }"""

    def __post_init__(self) -> None:
        with Checks(self, "schedule") as check:
            if "at" not in check.bad:
                check.numbers("at")
            if "at" not in check.bad:
                check.require("at", len(self.at) > 1, "wanted at least 2 values")
                check.require("at", all(a < b for a, b in pairwise(self.at)), "must rise from each to the next")
            if "gains" in check.bad:
                return
            check.require("gains", len(self.gains) > 0, "wanted lists by the keys of the controller")
            for word, values in () if check.bad else self.gains.items():
                if not isinstance(values, list | tuple | np.ndarray) or len(values) != len(self.at):
                    check.fail_at(("gains", word), f"got {shown(values)}, wanted {len(self.at)} entries, one a value")

    def row(self, k: int) -> dict[str, Any]:
        """The gains of the value k, by key."""
        return {word: values[k] for word, values in self.gains.items()}


def take_first_row(item: Any) -> list[str]:
    """Give a controller the gains of the first row, and return the keys that are given beside them."""
    schedule, double = item.schedule, list[str]()
    for word, value in schedule.row(0).items() if isinstance(schedule, GainSchedule) else ():
        if word not in item.gains_by_table:
            # what a misspelt key stands for is not missing too
            for meant in get_close_matches(word, set(item.gains_by_table) - set(schedule.gains), n=1):
                object.__setattr__(item, meant, value)
            continue
        own, default = getattr(item, word), getattr(type(item), word, None)
        if own is default or own == default or np.array_equal(own, value):
            object.__setattr__(item, word, value)
        else:
            double.append(word)
    return double


def check_schedule(item: Any, check: Checks, double: Sequence[str]) -> None:
    """Report keys that a schedule cannot have, or has beside the controller, and what is wrong with its rows."""
    schedule: GainSchedule | None = item.schedule
    if schedule is None or "schedule" in check.bad:
        return
    known = item.gains_by_table
    for word in double:
        check.fail(word, "given beside 'schedule', which sets it")
    for word, values in schedule.gains.items():
        if word not in known:
            keys = f"; those here are {', '.join(map(repr, known))}" if known else "; this law has none"
            check.fail_at(("schedule", "gains", word), f"is no gain that a schedule sets{nearest(word, known) or keys}")
        elif len({np.shape(each) for each in values}) > 1:
            check.fail_at(("schedule", "gains", word), f"got {shown(values)}, wanted entries of one shape")
    if check.bad:
        return
    rows = [item, *(_as_row(item, k) for k in range(1, len(schedule.at)))]
    for k, row in enumerate(rows[1:], 1):
        try:
            row.__post_init__()
        except ModelError as error:
            for each in error.problems:
                word = each.item[2] if len(each.item) > 2 else ""
                check.fail_at(("schedule", "gains", word, str(k)), each.message)
    if not check.bad:
        # as the controller has them
        gains = {word: tuple(getattr(row, word) for row in rows) for word in schedule.gains}
        object.__setattr__(item, "schedule", replace(schedule, gains=gains))


def _as_row(item: Any, k: int) -> Any:
    """The controller with the gains of a row alone."""
    found = shallow_copy(item)
    for word, value in {**item.schedule.row(k), "schedule": None}.items():
        object.__setattr__(found, word, value)
    return found


def rows_of(item: Any) -> list[Any]:
    """The controllers of all rows of the schedule of one."""
    return [_as_row(item, k) for k in range(len(item.schedule.at))]


def frozen(item: Any, layout: Layout, model: ModelView) -> Any:
    """A controller whose gains stay those of the start, in place of its schedule."""
    x = float(true_signal(item, layout, model).value(start_of(layout), {})[0])  # type: ignore[arg-type]
    at, found = item.schedule.at, shallow_copy(item)  # not checked again
    shares = [float(np.interp(x, at, of_row)) for of_row in np.eye(len(at))]
    for word, values in item.schedule.gains.items():
        value = sum(share * np.asarray(each) for share, each in zip(shares, values, strict=True))
        object.__setattr__(found, word, value if np.ndim(value) else float(value))
    object.__setattr__(found, "schedule", None)
    return found


class ScheduledControl(LinearControl):
    """A linear law whose matrices follow a table.

    name : of the controller. at (r,) : values of the signal. laws : of the rows, with the same errors. signal : over
    which the table is; ``read`` has its value behind the errors.
    """

    signal: Signal

    def __init__(self, name: str, at: Sequence[float], laws: Sequence[LinearControl], signal: Signal) -> None:
        first = laws[0]
        super().__init__(
            first.realisation, first.errors, first.limits, first.integrals, first.allocation, first.tracking
        )
        self.name, self.signal = name, signal
        *parts, limits, held, leads = self.arrays
        self.shapes = [each.shape for each in (*parts, leads)]
        rows = [np.concatenate([np.ravel(each) for each in (*law.arrays[:4], law.arrays[6])]) for law in laws]
        self.table = np.column_stack([at, rows])
        self._limits = limits, held

    def buffer(self) -> tuple[Floats, tuple[Floats, ...]]:
        """The numbers of a row (n,), unset, and what ``linear_step`` reads, of which they are the matrices."""
        now = np.empty(self.table.shape[1] - 1)
        *parts, leads = self._parts(now)
        return now, (*parts, *self._limits, leads)

    def _parts(self, flat: Floats) -> list[Floats]:
        """A, B, C, D and tracking as parts of the numbers of a row."""
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)])
        return [flat[a:b].reshape(shape) for (a, b), shape in zip(pairwise(ends), self.shapes, strict=True)]

    def read(self, t: float, state: StateView, discrete: Mapping[str, Floats]) -> Floats:
        return np.append(super().read(t, state, discrete), self.signal.value(state, discrete)[0])

    def step(self, t: float, y: Floats, x: Floats, sample: int) -> tuple[Floats, Floats]:
        now, arrays = self.buffer()
        scheduled(self.table, float(y[-1]), now)
        u, new = np.empty(len(self.limits)), np.empty(len(x))
        linear_step(arrays, x, y[:-1], u, new)
        return u, new

    def matrices(self, x: float) -> Matrices:
        flat, _ = self.buffer()
        scheduled(self.table, x, flat)
        return self._matrices(flat)

    def slopes(self, x: float) -> Matrices:
        """The derivatives of the matrices by the signal; zero outside the table."""
        at = self.table[:, 0]
        k = int(np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2))
        inside = float(at[0] <= x <= at[-1])
        return self._matrices(inside * (self.table[k + 1, 1:] - self.table[k, 1:]) / (at[k + 1] - at[k]))

    def _matrices(self, flat: Floats) -> Matrices:
        *parts, leads = self._parts(flat)
        return Matrices(Realisation(*parts), None if self.tracking is None else leads)

    def on_plant(self, item: InLoop, layout: Layout, model: ModelView, at: Moment | None = None) -> LinearLaw:
        """The law with the gains at a state, by default the start."""
        true = true_signal(item, layout, model)
        x = float(true.value(at or start_of(layout), {})[0])  # type: ignore[arg-type]
        if text := self.outside(x):
            warnings.warn(text, FembWarning, stacklevel=2)
        of = self.matrices(x)
        frozen = LinearControl(
            of.realisation, self.errors, self.limits, self.integrals, self.allocation, of.tracking
        )  # fmt: skip
        return frozen.on_plant(item, layout, model)

    def outside(self, x: float) -> str:
        """The words for a value outside the table; nothing for others."""
        low, high = self.table[[0, -1], 0]
        return "" if low <= x <= high else _outside(self.name, f"{self.signal.name} = {x:.6g} is", low, high)


def _outside(name: str, what: str, low: float, high: float) -> str:
    return f"controllers.{name}: {what} outside its schedule, {low:.6g} to {high:.6g}: the gains of the end act"


def recorded(items: Sequence[Any], system: RecordedSystem) -> Callable[[OutputStates], dict[str, Floats]]:
    """A function of output instants that gives the signals of schedules, and warns where these end."""
    chosen = [(each, true_signal(each, system.layout, system.model)) for each in items if each.schedule is not None]

    def series(frames: OutputStates) -> dict[str, Floats]:
        arrays = {}
        states = [Moment.of_output(frames, k) for k in range(len(frames.time) if chosen else 0)]
        for item, signal in chosen:
            x = np.array([signal.value(each, {})[0] for each in states])  # type: ignore[arg-type]
            low, high = item.schedule.at[0], item.schedule.at[-1]
            if len(x) and (x.min() < low or x.max() > high):
                text = _outside(item.name, f"{item.schedule.over} goes", low, high)
                warnings.warn(text, FembWarning, stacklevel=2)
            arrays[f"controllers/{item.name}/scheduled"] = x
        return arrays

    return series


def true_signal(item: Any, layout: Layout, model: ModelView) -> Signal:
    """The signal that a schedule is over, without the errors of a sensor."""
    over, signal = item.schedule.over, signal_over(item, layout, model)
    named = named_item(model, f"{over}.")
    if named is None or not signal.held:
        return signal
    exact: Signal = named[0].exact(layout, model)
    return exact if exact.width == 1 else exact.component(AXES.index(over[-1]))


def signal_over(item: Any, layout: Layout, model: ModelView) -> Signal:
    """The signal that a schedule is over. Raises ModelError: none, one of several numbers, or of a controller."""
    from femb.elements.control.signals import signal_of

    path, over = (item.table, item.name, "schedule", "over"), item.schedule.over
    if over.startswith("controllers."):
        raise ModelError.at(path, f"got {over!r}, wanted a sensor or a coordinate, as 'joints.drive.angle'")
    try:
        signal = signal_of(layout, model, over)
    except ModelError as error:
        raise ModelError.at(path, str(error)) from None
    if signal.width != 1:
        raise ModelError.at(path, f"got {over!r}, which has {signal.width} numbers, wanted one")
    return signal


def start_of(layout: Layout) -> Moment:
    """The state at the start, with the coordinates of joints."""
    from femb.elements.joint.coordinates import JointCoordinates

    return moment_of(JointCoordinates(layout), layout.start_coordinates(), layout.start_velocities())


def moment_of(coordinates: Any, q: Floats, v: Floats) -> Moment:
    """A state q (n_q,), v (n_v,) near the start."""
    values = coordinates.at_start(q, len(v)) if coordinates.count else np.zeros(0)
    return Moment(q, v, 0.0, values)


def law_of(item: InLoop, layout: Layout, model: ModelView) -> Law:
    """The law of a controller, by its schedule if it has one. Raises ModelError: arrays of other sizes."""
    laws: list[Any] = [each.law(layout, model) for each in ([item] if item.schedule is None else rows_of(item))]
    for law in laws:
        if isinstance(law, LinearControl):
            law.check_sizes(item, layout, model)
    if item.schedule is None:
        only: Law = laws[0]
        return only
    return ScheduledControl(item.name, item.schedule.at, laws, signal_over(item, layout, model))
