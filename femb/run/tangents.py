"""The motions of models beside a recorded run, to first order, by the tangents of its steps; see ``StepTangents``."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from femb.base.errors import FembError
from femb.base.options import Run
from femb.base.types import Floats
from femb.model.model import Model
from femb.numerics.threads import one_blas_thread
from femb.recording.frames import output_frames
from femb.recording.instants import step_instants
from femb.recording.recording import Recording
from femb.results.results import Results
from femb.run.events import OF_INPUTS, RunSummary
from femb.run.jumps import ChangeBeside, shifted, together
from femb.run.start import started
from femb.steppers.dense import HermiteStep, SolvedStep
from femb.steppers.step_tangent import End, StepChanges, at_stages
from femb.steppers.tangents import TANGENTS
from femb.system.pair import SystemPair, moved
from femb.system.system import System
from femb.vibration.completion import system_of

# Steps at which the equations are tested to be linear in a parameter, about.
SAMPLES = 8


class RunTangents:
    """The derivatives of a run of a system, whose ``steps`` these are, at output times (s).

    summary : of the run, with its updates of discrete states. Those by all parameters are found when the first is asked
    for.
    """

    def __init__(
        self, system: System, steps: Sequence[SolvedStep], summary: RunSummary, run: Run, times: Floats
    ) -> None:
        self.system, self.steps, self.run, self.times = system, steps, run, times
        self._arrays = summary.arrays()
        starts = [each.step.start for each in steps]
        self.begins = bool(times[0] <= starts[0])
        inside = times[self.begins :]
        numbers = [min(bisect_left(starts, t) - 1, len(steps) - 1) for t in inside.tolist()]
        self.inside = {k: inside[np.array(numbers) == k] for k in dict.fromkeys(numbers)}
        self._tangent, self._columns = TANGENTS[run.method](steps, run), list[Column]()
        # updates by the number of the step after them, and the discrete state of the first output
        self._changes: dict[int, list[ChangeBeside]] = {}
        self._begins_in = steps[0].step.form.system.discrete
        changes = summary.changes or []
        for k, each in enumerate(changes):
            number = bisect_left(starts, each.t)
            if number == len(steps) or each.t > times[-1]:
                break
            last = changes[k + 1] if k + 1 < len(changes) and changes[k + 1].t == each.t else None
            after = last or steps[number].step
            state = (last.q, last.v) if last else steps[number].step.state0[:2]
            if not self._changes and any(update.order >= 0 for update in each.updates):
                self._begins_in = each.form.system.discrete
            self._changes.setdefault(number, []).append(
                ChangeBeside(each, steps[number - 1] if number else None, after.form.system, state)
            )
        # numbers of the corners of inputs by that of the step after them
        self._corners = {
            number: k
            for k, t in enumerate(system.breakpoints)
            if 0 < (number := bisect_left(starts, t)) < len(steps) and starts[number] == t
        }
        self._nominal: Results | None = None

    @property
    def jumps(self) -> bool:
        """Whether updates of discrete states or corners of inputs, whose instants may move, are on the way."""
        return bool(self._changes or self._corners)

    def nominal(self) -> Results:
        """The results of the run at these times."""
        if self._nominal is None:
            steps = {k: self.steps[k].step for k in self.inside}
            self._nominal = self._results(self.system.with_discrete(self._begins_in), steps, self._arrays)
        return self._nominal

    def add(self, models: tuple[Model, Model], places: tuple[float, float]) -> "Column":
        """The motions beside the value of a parameter, from two models. Raises ModelError: none."""
        first, second = map(self.system_of, models)
        pair = SystemPair(self.system, (first, second), places)
        stages = at_stages(self.steps[:: 1 + len(self.steps) // SAMPLES], self._tangent.fractions)
        linear = all(places) and not np.any(pair.corners) and pair.is_linear(*stages)
        self._columns.append(Column(self, pair, linear))
        return self._columns[-1]

    def system_of(self, model: Model) -> System:
        """The system of a model at the start of the run."""
        return started(system_of(model, self.run.assembles), self.run)

    def find(self) -> None:
        """Find the derivatives by all parameters that were added."""
        waiting, self._columns = self._columns, []
        summaries = [(RunSummary([]), RunSummary([])) for _ in waiting]
        begins = [each.pair.discrete for each in waiting]

        def jump(
            number: int, pairs: Sequence[SystemPair], end: End, steps: list[StepChanges]
        ) -> tuple[Sequence[SystemPair], End]:
            pairs, end = self._shifted(number, pairs, end, waiting)
            for change in self._changes.get(number, ()):
                if number == 0 and change.change.form.system.discrete is self._begins_in:
                    begins[:] = [pair.discrete for pair in pairs]
                found = []
                for j, (column, pair) in enumerate(zip(waiting, pairs, strict=True)):
                    try:
                        found.append(change.over(pair, end, j, steps[j] if steps else None, summaries[j]))
                    except FembError as problem:
                        column.problem = column.problem or problem
                        q, v, work = (np.zeros(len(x)) for x in (end[0], end[1], end[3][j]))
                        found.append((pair, q, v, work))
                pairs = [each[0] for each in found]
                q, v, work = (np.ascontiguousarray(np.array(x).T) for x in list(zip(*found, strict=True))[1:])
                end = q, v, end[2], np.ascontiguousarray(work.T), end[4]
            return pairs, end

        # over the last updates too, whose instants may move
        wanted = {
            *self.inside,
            max(self._changes, default=0),
            *(k - 1 for k, each in self._changes.items() if each[0].change.zero is not None),
        }
        jumps = {k: partial(jump, k) for k in {*self._changes, *self._corners}}
        found = self._tangent.along([each.pair for each in waiting], wanted, jumps)
        for j, column in enumerate(waiting):
            column.changes = {k: each[j] for k, each in found.items() if k in self.inside}
            column.begins = begins[j]
            for path, one in (summaries[j][0].arrays() if column.problem is None else {}).items():
                column.arrays[path] = (one - summaries[j][1].arrays()[path]) / column.pair.distance

    def _shifted(
        self, number: int, pairs: Sequence[SystemPair], end: End, columns: Sequence["Column"]
    ) -> tuple[Sequence[SystemPair], End]:
        """Pairs and the end of the step before the one with this number, where a corner of inputs moves."""
        if number == 0:
            return pairs, end
        before, corner = self.steps[number - 1], self._corners.get(number)
        shifts = [0.0 if corner is None else float(pair.corners[corner]) for pair in pairs]
        if number in self._changes and any(shifts):
            # the state of the updates has a derivative where rates do not jump
            problem = together(before)
            for column, shift in zip(columns, shifts, strict=True):
                column.problem = column.problem or (problem if shift else None)
            shifts = [0.0] * len(pairs)
        return shifted(pairs, end, before.rates, shifts)

    def moved(self, column: "Column", system: System, place: float) -> Results:
        """The results of the linear change of the motion, in the system there."""
        arrays = dict(self._arrays)
        for path, change in column.arrays.items():
            # those after the last instant that is wanted are not known
            arrays[path] = arrays[path].copy()
            arrays[path][: len(change)] += place * change
        steps = {k: each.of(self.steps[k], system, place) for k, each in (column.changes or {}).items()}
        return self._results(system.with_discrete(moved(self._begins_in, column.begins, place)), steps, arrays)

    def _results(self, system: System, steps: dict[int, HermiteStep], arrays: dict[str, Floats]) -> Results:
        output, q, v = self.run.output, system.q0, system.v0
        with one_blas_thread(), Recording(system, self.run.method, None, "", output) as recording:
            if self.begins:
                work = system.budget.none()[None]
                recording.add(output_frames(system, self.times[:1], q[None], v[None], work, output.motion_only))
            for k, times in self.inside.items():
                recording.add(step_instants(steps[k].form, steps[k], times))
            recording.arrays = {**arrays, OF_INPUTS: np.array(system.breakpoints)}
        return recording.results()


@dataclass(eq=False)
class Column:
    """The motions beside the value of a parameter.

    linear : whether the equations are linear in it. changes : derivatives of steps by their number, once they are
    found. begins, arrays : those of the discrete state of the first output, and of events and samples. problem :
    why there are none.
    """

    of: RunTangents
    pair: SystemPair
    linear: bool
    changes: dict[int, StepChanges] | None = None
    begins: dict[str, Floats] = field(default_factory=dict)
    arrays: dict[str, Floats] = field(default_factory=dict)
    problem: FembError | None = None

    @property
    def turn(self) -> float:
        """The largest rate of rotation by the parameter, in rad by its unit."""
        if self.changes is None:
            self.of.find()
        starts = self.of.system.coordinates[2]
        rows = starts[:, None] + np.arange(4)
        return 2.0 * max(
            (float(np.abs(each.q[:, rows]).max(initial=0.0)) for each in (self.changes or {}).values()), default=0.0
        )

    def results(self, model: Model, place: float) -> Results:
        """The results of a model, by its place beside the value."""
        if self.changes is None:
            self.of.find()
        if self.problem is not None:
            raise self.problem
        known = dict(zip(self.pair.places, self.pair.sides, strict=True))
        system = known[place] if place in known else self.of.system_of(model)
        return self.of.moved(self, system, place)
