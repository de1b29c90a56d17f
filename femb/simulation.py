"""Simulate: a model through time into results; the one call behind ``femb run``."""

from pathlib import Path
from typing import Any

import numpy as np

from femb.errors import FembError, ModelError, SolveError
from femb.integrate import Event, Frames, Outcome, integrate
from femb.model import Model
from femb.options import Run
from femb.results import Results

# Output frames collected before they are turned into named arrays, which is cheaper for many at once.
BLOCK = 64


def simulate(
    model: Model,
    run: Run | None = None,
    *,
    out: str | Path | None = None,
    case_text: str = "",
    events: tuple[Event, ...] = (),
    progress: Any = None,
    **options: Any,
) -> Results:
    """Integrate a model in time.

    run, or its fields as keyword options (duration, method, rtol, ...). out : an HDF5 file to write to while it runs.
    events : functions of time and state whose zeros are looked for. progress : an object with ``message(text)`` and
    ``update(t)``.

    Raises ModelError with every problem of the model; SolveError where the integration cannot go on, in which case
    what was computed is in the file, and in ``error.results``.
    """
    if run is None:
        run = Run(**options)
    elif options:
        raise ModelError(f"got a run and the options {', '.join(options)}: give one of the two")
    from femb.formulations import make_formulation
    from femb.record import Recorder
    from femb.resultfile import MemoryWriter, ResultWriter
    from femb.steppers import make_stepper
    from femb.system import System
    from femb.warmup import compile_first

    system = System(model, assemble=run.start == "assembled")
    compile_first(system, progress)
    if run.start == "equilibrium":
        from femb.equilibrium import steady_start

        system = system.starting_at(*steady_start(system))
    recorder = Recorder(system)
    static, attributes = recorder.static(), recorder.attributes(case_text, run.method)
    memory = MemoryWriter(static, attributes)
    writers: list[Any] = [memory] if out is None else [memory, ResultWriter(out, static, attributes)]
    outcome = Outcome([])
    stepper = None
    status, message = "failed", ""
    failure: BaseException | None = None
    try:
        form = make_formulation(system, run.formulation)
        stepper = make_stepper(form, run)
        collected: list[Frames] = []
        try:
            for frames in integrate(form, stepper, run.output_times(), outcome, events, progress, run.max_steps):
                collected.append(frames)
                if sum(len(each.time) for each in collected) >= BLOCK:
                    _write(writers, recorder, collected)
        finally:
            _write(writers, recorder, collected)
        status = "complete"
        message = f"stopped by event {outcome.stopped_by!r}" if outcome.stopped_by else ""
    except BaseException as error:
        message = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        failure = error
        raise
    finally:
        for writer in writers:
            statistics = stepper.statistics.as_dict() if stepper is not None else {}
            writer.finish(status, message, statistics, outcome.arrays())
            writer.close()
        if isinstance(failure, SolveError):
            failure.results = memory.results()  # type: ignore[attr-defined]
    return memory.results()


def _write(writers: list[Any], recorder: Any, collected: list[Frames]) -> None:
    if not collected:
        return
    block = recorder.block(Frames.joined(collected))
    collected.clear()
    for writer in writers:
        writer.append(block)


def summary(model: Model, run: Run | None = None) -> str:
    """What a model is, in a few lines: counts, degrees of freedom, mass, mass centre and inertia at the start.

    run : how it starts, where that matters. Raises ModelError with every problem of the model.
    """
    from femb.system import System

    system = System(model, assemble=run is not None and run.start == "assembled")
    counts = f"{len(model.bodies)} bodies, {len(model.beams)} beams of {sum(b.elements for b in model.beams.values())}"
    lines = [
        model.title or "untitled model",
        f"{counts} elements, {len(model.loads)} loads, {len(model.springs)} springs",
        f"{system.n_v} velocities, {system.n_q} coordinates; "
        + ("a tree of frames" if system.layout.is_tree else "closed loops of frames"),
    ]
    if system.n_c:
        lines += _freedom_lines(system)
    mass, centre, inertia = mass_properties(system)
    lines.append(f"mass {mass:.6g} kg, mass centre at ({', '.join(f'{x:.6g}' for x in centre)}) m")
    moments = np.linalg.eigvalsh(inertia)
    lines.append(f"principal moments about it {', '.join(f'{x:.6g}' for x in moments)} kg m2")
    return "\n".join(lines)


def _freedom_lines(system: Any) -> list[str]:
    """Degrees of freedom, and what depends on what, at the start."""
    from femb.assembly import freedom

    found = freedom(system, system.q0)
    plural = "" if found.degrees == 1 else "s"
    lines = [
        f"{len(system.layout.joints)} joints, {found.rows} equations of constraint: {found.degrees} degree{plural} of "
        "freedom at the start"
    ]
    if found.dependent:
        lines += [
            f"{len(found.dependent)} equations depend on the others: {_by_item(found.dependent)}",
            f"the bodies leave these reactions open, the least are given: {_by_item(found.undetermined)}",
        ]
    return lines


def _by_item(labels: tuple[str, ...]) -> str:
    """Labels of rows, 'item: what', gathered by item."""
    items: dict[str, list[str]] = {}
    for label in labels:
        item, _, what = label.partition(": ")
        items.setdefault(item, []).append(what)
    return "; ".join(f"{item} ({', '.join(what)})" for item, what in items.items())


def mass_properties(system: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass (kg), mass centre (3,) m and inertia (3, 3) about it, kg m2, inertial axes, at the start.

    Momenta of six rigid motions of all that can move.
    """
    q = system.q0
    momenta = np.array([system.energy_momentum(q[None], v[None])[0, 2:] for v in system.rigid_velocities(q)])
    mass = momenta[0, 0]
    # rotation about the origin: linear momentum omega x m c
    centre = np.array([momenta[5, 1], momenta[3, 2], momenta[4, 0]]) / mass
    about_origin = momenta[3:, 3:].T
    return float(mass), centre, about_origin - mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))


__all__ = ["Event", "FembError", "mass_properties", "simulate", "summary"]
