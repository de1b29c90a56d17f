"""Runs whose steps are recorded, and the same steps in models with other numbers; see ``femb.steppers.replay``."""

from collections.abc import Callable
from dataclasses import replace

from femb.base.errors import ModelError
from femb.base.options import Run, StartState
from femb.formulations import make_formulation
from femb.model.model import Model
from femb.numerics.threads import one_blas_thread
from femb.recording.recording import Recording
from femb.results.results import Results
from femb.run.memory import with_interval
from femb.run.method_choice import with_method
from femb.run.start import started
from femb.run.time_loop import RunSummary, integrate
from femb.steppers import make_stepper
from femb.steppers.contract import StepperState
from femb.steppers.replay import GivenSteps, StepRecord
from femb.steppers.variable_step import VariableStep
from femb.system.system import System
from femb.vibration.completion import system_of


class RecordedRun:
    """A run in time of a model, and the same steps in models with other numbers.

    Methods of fixed steps take these in every model. run : as carried out, with its method and scales of errors.
    """

    def __init__(self, model: Model, run: Run) -> None:
        for item in model.items():
            if why := item.without_derivative():
                raise ModelError.at((item.table, item.name), f"{why}: outputs of runs have no derivative")
        system = system_of(model, run.assembles)
        if isinstance(run.start, StartState):
            system = started(system, run)
        self.run, _ = with_method(system, run)
        self.run, _ = with_interval(system, self.run)
        if self.run.accuracy is not None:
            from femb.run.accuracy import toward  # of few runs

            self.run = toward(started(system, self.run), self.run, self.run.output_times(), ()).run
        self._record = StepRecord()
        self.results = self._motion(system, self.run, self._noted)

    def of(self, model: Model, halved: bool = False) -> Results:
        """The results of the same steps, or of their halves, in another model.

        Raises ReplayError, ModelError, SolveError.
        """
        given = GivenSteps(self._record.halved() if halved else self._record.steps)

        def attach(stepper: StepperState) -> None:
            if isinstance(stepper, VariableStep):
                stepper.given = given

        run = replace(self.run, step=0.5 * self.run.step) if halved and self.run.step else self.run
        results = self._motion(system_of(model, run.assembles), run, attach)
        if self._record.steps:
            given.finish()
        return results

    def _noted(self, stepper: StepperState) -> None:
        if isinstance(stepper, VariableStep):
            stepper.record = self._record

    def _motion(self, system: System, run: Run, attach: Callable[[StepperState], None]) -> Results:
        summary = RunSummary([])
        form = make_formulation(started(system, run), run.formulation)
        with one_blas_thread(), Recording(system, run.method, None, "", run.output) as recording:
            stepper = make_stepper(form, run)
            attach(stepper)
            only = run.output.motion_only
            for frames in integrate(
                form, stepper, run.output_times(), summary, max_steps=run.most_steps, motion_only=only
            ):
                recording.add(frames)
            recording.statistics, recording.arrays = stepper.statistics.as_dict(), summary.arrays()
        return recording.results()
