"""Checkpoints of a run: what the time loop needs to continue exactly, when it is written, and how it is restored.

A checkpoint is made between two steps, after the output up to there has been recorded: the memory of the stepper, the
discrete state, the values of events at the end of the last step and the events so far.
"""

import time
from collections.abc import Callable

import numpy as np

from femb.base.arrays import Arrays
from femb.base.errors import ContinuationError
from femb.base.memory import LAYOUT, WithMemory, layout_of, remembered
from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.layout.discrete import DiscreteState
from femb.results.groups import EventRecord
from femb.results.storage.read import Earlier
from femb.run.events import RunSummary, update_events
from femb.steppers.contract import F, Stepper, StepperState

# Least time between two checkpoints: s, a part of the run so far, and a multiple of what the last one took. A killed
# run loses that much, and checkpoints take less than a hundredth of a run.
INTERVAL, PART, COST = 1.0, 0.01, 200.0
# Times that differ by less than this, relative to the end of a run, are equal up to rounding.
SAME = 1e-12


class Checkpoints:
    """Writes the checkpoints of one run, and restores the state of an earlier one.

    write : takes the arrays of a checkpoint by path. earlier : with the checkpoint to begin from, if any. extended :
    whether that is the end of a shorter run.
    """

    def __init__(self, write: Callable[[Arrays], None], earlier: Earlier | None = None, extended: bool = False) -> None:
        self._write, self.earlier, self._extended = write, earlier, extended
        self._begin = self._last = time.perf_counter()
        self._cost = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""
        now = time.perf_counter()
        return now - self._last > max(INTERVAL, PART * (now - self._begin), COST * self._cost)

    def keep(self, form: Formulation, stepper: StepperState, values: list[float], summary: RunSummary) -> None:
        """Write a checkpoint; called between two steps."""
        if not isinstance(stepper, WithMemory):
            return
        begin, discrete = time.perf_counter(), form.system.discrete
        arrays: dict[str, np.ndarray] = {f"stepper/{path}": array for path, array in remembered(stepper).items()}
        arrays[f"stepper/{LAYOUT}"] = np.array(layout_of(type(stepper)))
        arrays |= {f"discrete/{name}": array for name, array in discrete.items()}
        arrays["loop/values"] = np.array(values, dtype=float)
        arrays["loop/warning"], arrays["loop/stopped_by"] = (
            np.array(summary.warning),
            np.array(summary.stopped_by or ""),
        )
        arrays["events/name"] = np.array([event.name for event in summary.events], dtype=str)
        arrays["events/time"] = np.array([event.time for event in summary.events], dtype=float)
        arrays["events/energy_loss"] = np.array([event.energy_loss for event in summary.events], dtype=float)
        arrays |= {f"samples/{path}": array for path, array in summary.sampled().items()}
        self._write(arrays)
        self._last = time.perf_counter()
        self._cost = self._last - begin

    def restore(self, form: F, stepper: Stepper[F], summary: RunSummary, wanted: int) -> tuple[F, list[float]]:
        """Bring a new stepper and the summary of a run to the state of the earlier run's checkpoint; returns the
        formulation and the values of events. wanted : the number of the user's events. Raises ContinuationError."""
        assert self.earlier is not None
        loop, events = self.earlier.part("loop"), self.earlier.part("events")
        discrete = self.earlier.part("discrete")
        if {*discrete} != {*form.system.discrete}:
            raise self.earlier.of_other_layout()
        form = form.with_discrete(DiscreteState(discrete))
        stepper.form = form
        self.earlier.recall(stepper, "stepper")
        records = zip(events["time"].tolist(), events["name"].tolist(), events["energy_loss"].tolist(), strict=True)
        summary.events[:] = [EventRecord(*record) for record in records]
        summary.samples = {path: list(array) for path, array in self.earlier.part("samples").items()}
        summary.warning = str(loop["warning"])
        values: list[float] = loop["values"].tolist()
        if len(values) != wanted + len(update_events(form)):
            raise ContinuationError(f"{self.earlier.path}: the run had other events: give the same to continue it")
        return form, values

    def ended_at_jump(self, form: Formulation, t: float) -> bool:
        """Whether a shorter run ended at the time t (s), where an input may jump."""
        return self._extended and any(abs(instant - t) <= SAME * t for instant in form.breakpoints)

    def done(self, times: Floats, t: float) -> int:
        """The number of output times (T,) up to t (s) that the earlier run has recorded."""
        margin = 1e-9 * float(times[1] - times[0]) if self._extended else 0.0
        return int(np.searchsorted(times, t + margin, side="right"))
