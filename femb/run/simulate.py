"""Simulate: time integration of a model, the function behind ``femb run``; and a summary of a model."""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
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
from femb.steppers.diagnosis import nearly_locked
from femb.system.moving_ground import mass_properties
from femb.vibration.completion import check_figures_of, system_of

if TYPE_CHECKING:
    from femb.case import Given
    from femb.recording.frames import Frames
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
    times, spin, asked = run.output_times(), SpinWatch(system), run.accuracy
    # the matrices of other formulations are dense and small
    threads = nullcontext() if form is system else one_blas_thread()

    def observe(frames: "Frames") -> None:
        spin.add(frames.v)
        if accuracy is not None:
            accuracy.followed.take(frames)

    with (
        threads,
        reporting(progress, run.duration) as reporter,
        Recording(system, run.method, out, case_text, run.output, reason, plan.options, earlier, observe) as recording,
    ):
        if reporter and of_output:
            reporter.message(of_output)
        accuracy = None
        if asked is not None:
            from femb.run.accuracy import toward  # of few runs

            accuracy = toward(system, run, times, events, reporter)
            run = accuracy.run
        stepper = make_stepper(form, run)
        keep = Checkpoints(recording.keep, earlier, plan.extended) if out is not None else None
        try:
            watch = Watch(recording, reporter)
            for frames in integrate(
                form, stepper, times, run_summary, events, watch, run.most_steps, keep,
                run.output.motion_only,
            ):  # fmt: skip
                recording.add(frames)
        finally:
            recording.statistics, recording.arrays = stepper.statistics.as_dict(), run_summary.arrays()
        if out is None:  # the last state, for a file of these results
            recording.keep({f"discrete/{name}": array for name, array in stepper.form.system.discrete.items()})
        finer = "rtol" if run.accuracy is None else "accuracy"
        for text in filter(None, (recording.audit_warning(run.rtol, finer), nearly_locked(stepper), spin.warning())):
            run_summary.warning = "; ".join(filter(None, (run_summary.warning, text)))
            if reporter is not None:
                reporter.message(text)
        if accuracy is not None and asked is not None:
            recording.statistics["accuracy"], said = accuracy.verdict(asked)
            run_summary.warning = "; ".join(filter(None, (run_summary.warning, said)))
        recording.statistics |= {"largest_force": recording.largest_force} if recording.largest_force else {}
        notes = [f"stopped by event {run_summary.stopped_by!r}"] if run_summary.stopped_by else []
        notes += tolerance_notes(system, run)
        recording.message = "; ".join([*notes, run_summary.warning] if run_summary.warning else notes)
    return recording.results()


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
