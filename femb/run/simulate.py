"""Simulate: time integration of a model, the function behind ``femb run``; and a summary of a model."""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from femb.base.errors import FembError, FembWarning, ModelError
from femb.base.options import Run, StartState
from femb.base.progress import Reporter, reporting
from femb.base.values import shown
from femb.model.model import Model
from femb.numerics.threads import one_blas_thread
from femb.results.results import Results
from femb.run.calling import RunOptions, check_known, read_call
from femb.run.checkpoints import Checkpoints
from femb.run.events import Event
from femb.run.start import continued, started
from femb.run.time_loop import RunSummary, integrate
from femb.steppers.contract import StepperState
from femb.steppers.diagnosis import nearly_locked
from femb.system.moving_ground import mass_properties
from femb.vibration.completion import check_figures_of, system_of

if TYPE_CHECKING:
    from femb.case import Given
    from femb.recording.frames import Frames
    from femb.recording.recording import Recording
    from femb.run.accuracy import Accuracy
    from femb.small_motions.spin_watch import SpinWatch
    from femb.system.system import System


def simulate(
    model: "System | Given",
    run: Run | None = None,
    *,
    out: str | Path | None = None,
    case_text: str = "",
    events: Sequence[Event] = (),
    progress: Reporter | bool | None = None,
    resume: bool = False,
    extend: float | None = None,
    force: bool = False,
    **options: Unpack[RunOptions],
) -> Results:
    """Integrate a model in time.

    Parameters:
        model: or a System of one, which gives the start, as ``StaticResults.start`` does; or a case or the path of its
            file, whose run counts then.
        run: options of the integration, in place of options by name.
        out: an HDF5 file to write to while it runs.
        case_text: text of the case, for the results.
        events: zeros of functions of time and state.
        progress: True for a bar, in terminals and notebooks; or an object with ``message(text)`` and ``update(t)``.
        resume: continue the run in ``out`` whose process was ended, from its last checkpoint; one that was never begun
            begins, one that is finished is read.
        extend: s, go on by so long from the last state of the finished run in ``out``.
        force: begin anew where ``out`` has a run whose process was ended, which is refused without.
        options: fields of ``femb.Run`` by name, which replace those of the run of a case file: duration,
            output_interval, method, formulation, rtol, atol (also one number, or a dictionary), accuracy, start,
            tableau, step, order, max_order, spectral_radius, filter, first_step, max_step, max_steps and output.

    To resume and to extend, the model and the options must be the same; functions in Python must keep no state of their
    own.

    Returns:
        The results, of which ``out`` is the file if it is given.

    Raises:
        ModelError: every problem of the model.
        ResultError: ``out`` cannot be written, has another run, or one whose process was ended.
        SolveError: the integration cannot go on: the results so far are in the file and in ``error.results``, also
            where the error is the KeyboardInterrupt of Ctrl-C.
    """
    from femb.system.system import System

    given = model if isinstance(model, System) else None
    model, run, text = read_call(model.model if isinstance(model, System) else model, run, options)
    check_events(events)
    case_text, events = case_text or text, tuple(events)
    from femb.formulations import make_formulation
    from femb.recording.recording import Recording, Watch
    from femb.run.memory import check_memory
    from femb.run.method_choice import with_defaults
    from femb.small_motions.spin_watch import SpinWatch
    from femb.steppers import make_stepper

    system = system_of(model, run.assembles) if given is None else given
    from_state = isinstance(run.start, StartState)
    if from_state:
        system = started(system, run)
    run, reason, of_output = with_defaults(system, run)
    for warning in run.unused():
        warnings.warn(warning, FembWarning, stacklevel=2)
    check_figures_of(model)
    plan = continued(run, out, case_text, resume, extend, force)
    if plan.finished and out is not None:
        return Results.read(out)
    run, earlier = plan.run, plan.earlier
    check_known(model, run.duration)
    check_memory(system, run)
    if not from_state:
        system = started(system, run)
    form, run_summary = make_formulation(system, run.formulation), RunSummary([])
    observer = Observer(SpinWatch(system))
    # the matrices of other formulations are dense and small
    threads = nullcontext() if form is system else one_blas_thread()

    with (
        threads,
        reporting(progress, run.duration) as reporter,
        Recording(
            system, run.method, out, case_text, run.output, reason, plan.options, earlier, observer.take
        ) as recording,
    ):
        if reporter and of_output:
            reporter.message(of_output)
        if run.accuracy is not None:
            from femb.run.accuracy import toward  # of few runs

            observer.accuracy = toward(system, run, run.output_times(), events, reporter)
            run = observer.accuracy.run
        stepper = make_stepper(form, run)
        keep = Checkpoints(recording.keep, earlier, plan.extended) if out is not None else None
        try:
            watch = Watch(recording, reporter)
            for frames in integrate(
                form, stepper, run.output_times(), run_summary, events, watch, run.most_steps, keep,
                run.output.motion_only,
            ):  # fmt: skip
                recording.add(frames)
        finally:
            recording.statistics, recording.arrays = stepper.statistics.as_dict(), run_summary.arrays()
        if out is None:  # the last state, for a file of these results
            recording.keep({f"discrete/{name}": array for name, array in stepper.form.system.discrete.items()})
        stopped = f"stopped by event {run_summary.stopped_by!r}" if run_summary.stopped_by else ""
        warned = run_summary.warning, *observer.conclude(recording, stepper, reporter)
        recording.message = "; ".join(filter(None, (stopped, *tolerance_notes(system, run), *warned)))
    return recording.results()


@dataclass
class Observer:
    """Looks at the motion while it is recorded: at its spin, and in a run to an accuracy at what tells its error."""

    spin: "SpinWatch"
    accuracy: "Accuracy | None" = None

    def take(self, frames: "Frames") -> None:
        """Look at recorded output instants."""
        self.spin.add(frames.v)
        if self.accuracy is not None:
            self.accuracy.followed.take(frames)

    def conclude(self, recording: "Recording", stepper: StepperState, reporter: Reporter | None) -> list[str]:
        """The warnings about a run at its end, empty where there are none; shows them, and completes the statistics."""
        finer = "rtol" if self.accuracy is None else "accuracy"
        warned = [recording.audit_warning(stepper.run.rtol, finer), nearly_locked(stepper), self.spin.warning()]
        if reporter is not None:
            for text in filter(None, warned):
                reporter.message(text)
        if self.accuracy is not None:
            recording.statistics["accuracy"], sensitive = self.accuracy.verdict()
            warned.append(sensitive)
        if recording.largest_force:
            recording.statistics["largest_force"] = recording.largest_force
        return warned


def check_events(events: object) -> None:
    """Raise ModelError where ``events`` is not a list or tuple of events."""
    if not isinstance(events, list | tuple) or not all(
        isinstance(event, Event) and event.update is None for event in events
    ):
        raise ModelError.at(("events",), f"got {shown(events)}, wanted a tuple of femb.run.simulate.Event")


def tolerance_notes(system: "System", run: Run) -> list[str]:
    """Notes on absolute tolerances that limit the accuracy of a run with error control more than ``rtol`` does."""
    if not run.controls_error:
        return []
    layout = system.layout
    sizes = {"position": layout.extent, "quaternion": 1.0, "strain": 0.0}
    for internal, value in zip(layout.internal, np.abs(system.q0[layout.internal_q]), strict=True):
        if not internal.quantity.first_order:
            sizes[internal.quantity.kind] = max(sizes[internal.quantity.kind], float(value))
    return run.atol.notes(run.rtol, sizes)


def summary(model: Model, run: Run | None = None) -> str:
    """A text about a model: counts of items, degrees of freedom, mass, mass centre and inertia at the start.

    run : for the start, and to check that its formulation admits the model. Raises ModelError with every problem of the
    model.
    """
    from femb.run.overview import overview

    return overview(model, run).text()


__all__ = ["Event", "FembError", "mass_properties", "simulate", "summary"]
