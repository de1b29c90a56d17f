"""Statics: equilibria of a model as its loads grow, how stable they are, and the loads at which they cease to be.

Source: docs/theory/statics.md.
"""

import time as clock
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from femb.analysis.completion import system_of
from femb.analysis.critical_loads import Critical, critical_between
from femb.analysis.load_path import Equilibrium, LoadPath
from femb.analysis.neutral import moves_freely
from femb.analysis.stability import negative_stiffness
from femb.analysis.static_equations import WEIGHT
from femb.analysis.static_results import StaticResults, mode_arrays, static_frame
from femb.analysis.statics import Statics
from femb.base.arguments import check_flag, names_of
from femb.base.errors import ModelError, SolveError
from femb.base.progress import LoadProgress, Reporter, reporting
from femb.base.types import Floats
from femb.base.values import number_problem, shown
from femb.model.model import Model
from femb.results.recording import Recording
from femb.system.system import System

MOST_STEPS = 100_000
# Asymmetry of a stiffness, relative to its largest entry, above which loads follow the motion.
FOLLOWING = 1e-9
LOOSE = 1e-6  # net force on what is free, relative to the largest force


def static(
    model: Model | str | Path,
    *,
    factor: float = 1.0,
    steps: int = 10,
    arc_length: bool = False,
    critical: int = 0,
    constant: Sequence[str] = (),
    time: float = 0.0,
    assemble: bool = False,
    out: str | Path | None = None,
    case_text: str = "",
    progress: Reporter | bool | None = None,
) -> StaticResults:
    """Equilibria of a model as its load factor grows from zero to ``factor``, in equal ``steps``.

    model : or the path of a case file, whose run counts only for how joints are assembled. The load factor multiplies
    all loads, as they are at ``time`` (s), and the weight; those named in ``constant``, loads or "gravity", keep their
    full value. Drivers go along: at the load factor p they are where they are at p times ``time``. Bodies that turn
    steadily at the start keep their angular velocity; all else is at rest.

    arc_length : steps along the path, on which the load factor may fall, up to the first state with the load factor
    ``factor``; the first raises the load factor by factor/steps. critical : look for so many load factors at which an
    eigenvalue of the stiffness changes its sign, to 1e-6, and end with the last of them. assemble : joints may be open
    in the positions given. out : an HDF5 file to write to. case_text, progress : as in ``simulate``.

    The output times of the results count the states from 0; ``load_factor`` has their load factors. See
    ``StaticResults`` for what else there is, among it the System that starts from a state.

    Raises ModelError with every problem of the model, and where joints leave something free to move with nothing
    against it; SolveError, with the states so far in ``error.results``, where there is no equilibrium.
    """
    if isinstance(model, str | Path):
        from femb.case import load_case

        case = load_case(model)
        model, case_text = case.model, case_text or case.text
        assemble = assemble or (case.run is not None and case.run.start == "assembled")
    if not isinstance(model, Model):
        raise ModelError(f"got {shown(model)} for the model, wanted a femb.Model or the path of a case file")
    check_options(model, factor, steps, critical, constant, time, arc_length)
    orbit = next((item for item in model.items() if item.follows_origin), None)
    if orbit is not None:
        raise ModelError.at(
            (orbit.table, orbit.name),
            "gravity on an orbit turns in the axes of the model, so that there is no equilibrium: leave it out",
        )
    system = system_of(model, assemble)
    path = path_of(system, time, constant)
    if critical and path.spin2:
        raise ModelError(
            "critical: the stability of structures that turn is not judged by their stiffness; leave it out"
        )
    if arc_length and not (path.statics.loads.any() or path.statics.gravity is not None):
        raise ModelError("arc length: there is no load and no weight whose factor could change; leave it out")
    began, cpu = clock.perf_counter(), clock.process_time()
    states: list[Equilibrium] = []
    found: list[Critical] = []
    with (
        reporting(progress, abs(factor), LoadProgress) as reporter,
        Recording(system, "static", out, case_text) as recording,
    ):
        try:
            for state in _states(path, factor, steps, arc_length):
                if critical and states and state.negative != states[-1].negative:
                    found += critical_between(path, states[-1], state)
                states.append(state)
                recording.add(*static_frame(path.statics, system, len(states) - 1, state))
                if reporter is not None:
                    reporter.update(abs(state.load))
                if critical and len(found) >= critical:
                    break
        except SolveError as error:
            raise _explained(error, path, states, arc_length) from error
        finally:
            recording.arrays = mode_arrays(system, path.statics, found)
            recording.statistics = {
                "steps": max(0, len(states) - 1),
                "newton_iterations": path.iterations,
                "wall_time": clock.perf_counter() - began,
                "cpu_time": clock.process_time() - cpu,
            }
        recording.message = "; ".join(notes(path, states, found, factor, critical))
    return StaticResults.of(recording.results(), system, states)


def check_options(
    model: Model, factor: float, steps: int, critical: int, constant: Sequence[str], time: float, arc_length: bool
) -> None:
    """Raise ModelError for options that make no sense."""
    check_flag("arc_length", arc_length)
    if number_problem(factor) or factor == 0.0:
        raise ModelError(f"factor: got {shown(factor)}, wanted a number that is not zero: the last load factor")
    if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MOST_STEPS:
        raise ModelError(f"steps: got {shown(steps)}, wanted a whole number from 1 to {MOST_STEPS}")
    if isinstance(critical, bool) or not isinstance(critical, int) or critical < 0:
        raise ModelError(f"critical: got {shown(critical)}, wanted how many load factors to look for, at least 0")
    if isinstance(time, bool) or not isinstance(time, int | float) or not 0.0 <= time < np.inf:
        raise ModelError(f"time: got {shown(time)}, wanted the instant (s) of the loads, at least 0")
    names = [WEIGHT, *model.loads]
    for name in names_of("constant", constant):
        if name not in names:
            raise ModelError(f"constant: there is no load {name!r}; there are: {', '.join(names)}")


def path_of(system: System, time: float = 0.0, constant: Sequence[str] = ()) -> LoadPath:
    """The path of equilibria of a system."""
    if not np.any(system.model.gravity):
        constant = (*constant, WEIGHT)
    statics = Statics(system, time, constant)
    for motion in statics.motions:
        motion.check_axis("or leave out the velocities of its start, which statics take for a steady rotation")
    return LoadPath(statics)


def _states(path: LoadPath, factor: float, steps: int, arc_length: bool) -> Iterator[Equilibrium]:
    """The states to record; refuses what no strain can balance before the first."""
    statics = path.statics
    q = statics.twin.q0
    for motion in statics.motions:
        if motion.free and not np.any(motion.omega):
            force = statics.forces(q, factor)[1]
            net = -motion.system.rigid_velocities(q) @ np.where(motion.mask, force, 0.0) + 0.0
            if largest_of(net) > max(LOOSE * largest_of(force), 1e-9):
                raise SolveError(
                    f"the structure of {motion.labels!r} drifts: nothing holds it to the ground, and its loads at the "
                    f"load factor {factor:g} have a net force ({', '.join(f'{x:.3g}' for x in net[:3])}) N and moment "
                    f"about the origin ({', '.join(f'{x:.3g}' for x in net[3:])}) N m; hold it, or balance its loads"
                )
    yield from path.along_arc(factor, steps) if arc_length else path.in_load_steps(factor, steps)


def largest_of(values: Floats) -> float:
    """The largest absolute value."""
    return float(np.max(np.abs(values), initial=0.0))


def _explained(error: SolveError, path: LoadPath, states: list[Equilibrium], arc_length: bool) -> SolveError:
    """A failure with how far the loads could be raised."""
    text = str(error).removeprefix("no equilibrium found to start from").removeprefix(": ").strip()
    if not states:
        return SolveError(f"no equilibrium at the load factor 0: {text}")
    last = states[-1]
    if not path.spin2 and last.neutral is not None and path.stiffness.unmoved(last.found, last.load + 1.0) is None:
        names = "; ".join(last.neutral.names(path.statics.twin.layout, last.found.q)[:3])
        return SolveError(
            f"no equilibrium found beyond the load factor {last.load:.6g}: the loads act along motions without "
            f"stiffness, and what they move drifts: {names}; add what holds it, or drive it"
        )
    advice = (
        "more steps" if arc_length else "more steps, or arc length, by which a path goes on where loads have to fall"
    )
    return SolveError(f"no equilibrium found beyond the load factor {states[-1].load:.6g}: {text}; try {advice}")


def notes(path: LoadPath, states: list[Equilibrium], found: list[Critical], factor: float, critical: int) -> list[str]:
    """What is to be said of a path that was followed."""
    last = states[-1]
    said = moves_freely(path.statics.twin.layout, last.found.q, last.neutral)
    if last.negative > 0 and not found:
        said.append(
            f"the equilibrium at the load factor {last.load:.6g} is unstable: {negative_stiffness(last.negative)}"
        )
    if critical and len(found) < critical:
        said.append(
            f"{len(found)} of {critical} critical load factors found up to {states[-1].load:g}; raise the last factor"
        )
    elif not critical and abs(states[-1].load - factor) > 1e-9 * abs(factor):
        said.append(
            f"the path does not come to the load factor {factor:g} in {len(states) - 1} states; take fewer steps"
        )
    if any(state.asymmetry > FOLLOWING for state in states):
        said.append(
            "loads follow the motion: the stiffness is not symmetric, and stability is that of its symmetric part"
        )
    return said


def report(results: StaticResults) -> str:
    """States and critical loads as a table."""
    lines = ["state  load factor  negative eigenvalues  iterations  equilibrium"]
    lines += [
        f"{k:5d}  {load:11.6g}  {negative if negative >= 0 else '-':>20}  {iterations:10d}  {word}"
        for k, (load, negative, iterations, word) in enumerate(
            zip(results.load_factor, results.negative_eigenvalues, results.iterations, results.stability, strict=True)
        )
    ]
    lines += [
        f"critical load factor {load:.7g}: {name}"
        for load, name in zip(results.critical_load_factors, results.mode_names, strict=True)
    ]
    return "\n".join(lines)
