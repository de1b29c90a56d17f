"""The motions of models beside a recorded run, to first order, by the tangents of its steps; see ``RadauTangent``."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.model.model import Model
from femb.numerics.threads import one_blas_thread
from femb.recording.frames import output_frames
from femb.recording.instants import step_instants
from femb.recording.recording import Recording
from femb.results.results import Results
from femb.run.start import started
from femb.steppers.dense import HermiteStep
from femb.steppers.radau import SolvedStep
from femb.steppers.radau_tangent import RadauTangent, StepChanges, at_stages
from femb.system.pair import SystemPair
from femb.system.system import System
from femb.vibration.completion import system_of

# Steps at which the equations are tested to be linear in a parameter, about.
SAMPLES = 8


class RunTangents:
    """The derivatives of a run, whose ``steps`` these are, at output times (s).

    Those by all parameters are found when the first is asked for.
    """

    def __init__(self, steps: Sequence[SolvedStep], run: Run, times: Floats) -> None:
        self.steps, self.run, self.times = steps, run, times
        self.system: System = steps[0].step.form.system
        starts = [each.step.start for each in steps]
        self.begins = bool(times[0] <= starts[0])
        inside = times[self.begins :]
        numbers = [min(bisect_left(starts, t) - 1, len(steps) - 1) for t in inside.tolist()]
        self.inside = {k: inside[np.array(numbers) == k] for k in dict.fromkeys(numbers)}
        self._tangent, self._columns = RadauTangent(steps), list[Column]()
        self._nominal: Results | None = None

    def nominal(self) -> Results:
        """The results of the run at these times."""
        if self._nominal is None:
            self._nominal = self._results(self.system, {k: self.steps[k].step for k in self.inside})
        return self._nominal

    def add(self, models: tuple[Model, Model], places: tuple[float, float]) -> "Column":
        """The motions beside the value of a parameter, from two models. Raises ModelError: none."""
        first, second = map(self.system_of, models)
        pair = SystemPair(self.system, (first, second), places)
        some = self.steps[:: 1 + len(self.steps) // SAMPLES]
        self._columns.append(Column(self, pair, pair.is_linear(*at_stages(some)) if all(places) else False))
        return self._columns[-1]

    def system_of(self, model: Model) -> System:
        """The system of a model at the start of the run."""
        return started(system_of(model, self.run.assembles), self.run)

    def find(self) -> None:
        """Find the derivatives by all parameters that were added."""
        waiting, self._columns = self._columns, []
        found = self._tangent.along([each.pair for each in waiting], list(self.inside))
        for j, column in enumerate(waiting):
            column.changes = {k: each[j] for k, each in found.items()}

    def moved(self, changes: dict[int, StepChanges], system: System, place: float) -> Results:
        """The results of the linear change of the motion, in the system there."""
        return self._results(system, {k: each.of(self.steps[k], system, place) for k, each in changes.items()})

    def _results(self, system: System, steps: dict[int, HermiteStep]) -> Results:
        output, q, v = self.run.output, system.q0, system.v0
        with one_blas_thread(), Recording(system, self.run.method, None, "", output) as recording:
            if self.begins:
                work = system.budget.none()[None]
                recording.add(output_frames(system, self.times[:1], q[None], v[None], work, output.motion_only))
            for k, times in self.inside.items():
                recording.add(step_instants(steps[k].form, steps[k], times))
        return recording.results()


@dataclass(eq=False)
class Column:
    """The motions beside the value of a parameter.

    linear : whether the equations are linear in it. changes : derivatives of steps by their number, once they are
    found.
    """

    of: RunTangents
    pair: SystemPair
    linear: bool
    changes: dict[int, StepChanges] | None = None

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
        known = dict(zip(self.pair.places, self.pair.sides, strict=True))
        system = known[place] if place in known else self.of.system_of(model)
        return self.of.moved(self.changes or {}, system, place)
