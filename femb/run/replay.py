"""Runs whose steps are recorded, and the same steps in models with other numbers; see ``femb.steppers.replay``."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from femb.base.errors import ModelError
from femb.base.options import Run, StartState
from femb.base.types import Floats
from femb.formulations import make_formulation
from femb.model.model import Model
from femb.numerics.threads import one_blas_thread
from femb.recording.recording import Recording
from femb.results.results import Results
from femb.run.events import OF_CONTACTS, OF_INPUTS
from femb.run.method_choice import with_defaults
from femb.run.start import started
from femb.run.tangents import RunTangents
from femb.run.time_loop import SAME_INSTANT, RunSummary, integrate
from femb.steppers import make_stepper
from femb.steppers.contract import StepperState
from femb.steppers.dense import SolvedStep
from femb.steppers.implicit import ImplicitStepper
from femb.steppers.replay import GivenSteps, StepRecord, TakenStep
from femb.steppers.tangents import TANGENTS
from femb.steppers.variable_step import VariableStep
from femb.system.system import System
from femb.vibration.completion import system_of

# Of a run with tangents, Newton's iteration goes on to this part of its tolerance: they are those of solved equations.
RECORDED = 1e-3

# Part of the number of steps above which those of twice the length are too few.
MOSTLY = 0.75

# Times of data beyond so many times the duration of a run may be in milliseconds.
IN_MS = 100.0


class RecordedRun:
    """A run in time of a model, and the same steps in models with other numbers.

    Methods of fixed steps take these in every model. run : as carried out, with its method and scales of errors.
    times (T,) : s, of output, by default those of the run, which else ends at the last. between : s, further times of
    the same steps.

    Raises ModelError: items without derivatives, times beyond the run.
    """

    def __init__(self, model: Model, run: Run, times: Floats | None = None) -> None:
        for item in model.items():
            if why := item.without_derivative():
                raise ModelError.at((item.table, item.name), f"{why}: outputs of runs have no derivative")
        system = system_of(model, run.assembles)
        if isinstance(run.start, StartState):
            system = started(system, run)
        self.times = run.output_times()
        self._given = times is not None
        if times is not None:
            if not times[-1] > 0.0:
                raise ModelError(f"histories: end at {times[-1]:g} s, with the start of the run; wanted later instants")
            if times[-1] > run.duration * (1.0 + 1e-9):
                raise ModelError.at(
                    ("run", "duration"),
                    f"is {run.duration:g} s, but times up to {times[-1]:g} s are wanted: make it longer"
                    + (", or give seconds, if they are in ms" if times[-1] > IN_MS * run.duration else ""),
                )
            # runs begin at zero
            self.times = times if times[0] <= 0.0 else np.append(0.0, times)
            interval = float(np.median(np.diff(self.times))) if len(self.times) > 2 else None
            run = replace(run, duration=float(times[-1]), output_interval=interval)
        self.run, _, _ = with_defaults(system, run)
        if self.run.accuracy is not None:
            from femb.run.accuracy import toward  # of few runs

            self.run = toward(started(system, self.run), self.run, self.times, ()).run
        self._record, self._solved, self.between = StepRecord(), list[SolvedStep](), np.zeros(0)
        self._contacts: list[float] = self._record.contacts
        self.times = self.times if self._given else self.run.output_times()
        self._summary, self._system = RunSummary([], changes=[]), started(system, self.run)
        self.results = self._motion(system, self.run, self._noted, self.times, self._summary)

    def of(self, model: Model, halved: bool = False, duration: float | None = None) -> Results:
        """The results of the same steps, or of their halves, in another model, up to another duration (s).

        Raises ReplayError, ModelError, SolveError.
        """
        run = self.run if self._given else replace(self.run, duration=duration or self.run.duration)
        run = replace(run, step=0.5 * run.step) if halved and run.step else run
        steps = self._record.halved() if halved else self._record.steps
        times = self.times if self._given else run.output_times()
        times = np.union1d(times, self.between[self.between < times[-1]])
        return self._again(system_of(model, run.assembles), run, steps, [], times, RunSummary([], changes=[]))

    def at(self, times: Floats) -> Results:
        """The results of the run at other times (s), with its ends."""
        times = np.union1d(self.times[[0, -1]], times)
        if tangents := self.tangents(times):
            return tangents.nominal()
        return self._again(self._system, self.run, self._record.steps, [], times, RunSummary([], changes=[]))

    def tangents(self, times: Floats) -> RunTangents | None:
        """The derivatives of the run at output times (s); None of methods and models that have no tangents."""
        steps, same = self._solved, SAME_INSTANT * self.run.duration
        zeros = {each.t for each in self._summary.changes or () if each.zero is not None}
        contiguous = all(
            abs(one.step.end - other.step.start) <= same or other.step.start in zeros for one, other in pairwise(steps)
        )
        if not steps or not contiguous or len({id(each.step.form.system.solver) for each in steps}) > 1:
            return None
        if not TANGENTS[self.run.method].restarts and (zeros or any(each.begins for each in steps[1:])):
            return None
        return RunTangents(self._system, steps, self._summary, self.run, times)

    def by_other_steps(self, times: Floats) -> tuple[RunTangents, float]:
        """``tangents`` of a run with every two steps in one, or, where updates are between most, with halves of them;
        and the part of the difference to those that is the error. Raises ReplayError, SolveError."""
        solved, summary = list[SolvedStep](), RunSummary([], changes=[])
        run = replace(self.run, output=replace(self.run.output, motion_only=True), output_interval=self.run.duration)
        steps, part = self._record.doubled(), TANGENTS[self.run.method].coarse
        if len(steps) > MOSTLY * len(self._record.steps):
            steps, part = self._record.halved(), 1.0
        self._again(self._system, run, steps, solved, run.output_times(), summary)
        return RunTangents(self._system, solved, summary, self.run, times), part

    def _again(
        self, system: System, run: Run, steps: list[TakenStep], solved: list[SolvedStep], times: Floats,
        summary: RunSummary,
    ) -> Results:  # fmt: skip
        given = GivenSteps(steps)
        self._contacts = given.contacts

        def attach(stepper: StepperState) -> None:
            if isinstance(stepper, VariableStep):
                stepper.given = given
            if isinstance(stepper, ImplicitStepper):
                stepper.solved = solved

        results = self._motion(system, run, attach, times, summary)
        if steps:
            given.finish()
        return results

    def _noted(self, stepper: StepperState) -> None:
        if isinstance(stepper, VariableStep):
            stepper.record = self._record
        if isinstance(stepper, ImplicitStepper) and self.run.method in TANGENTS and stepper.has_tangent:
            stepper.solved = self._solved
            stepper.tolerance = max(RECORDED * stepper.tolerance, 10.0 * np.finfo(float).eps / self.run.rtol)

    def _motion(
        self, system: System, run: Run, attach: Callable[[StepperState], None], times: Floats, summary: RunSummary
    ) -> Results:
        form = make_formulation(started(system, run), run.formulation)
        with one_blas_thread(), Recording(system, run.method, None, "", run.output) as recording:
            stepper = make_stepper(form, run)
            attach(stepper)
            only = run.output.motion_only
            for frames in integrate(form, stepper, times, summary, max_steps=run.most_steps, motion_only=only):
                recording.add(frames)
            corners = {OF_INPUTS: np.array(system.breakpoints), OF_CONTACTS: np.array(self._contacts)}
            recording.statistics, recording.arrays = stepper.statistics.as_dict(), summary.arrays() | corners
        return recording.results()
