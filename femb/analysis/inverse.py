"""Inverse dynamics: the forces of a motion that joints and drivers prescribe in full.

Statics is the case of drivers at rest. Source: docs/theory/constraints.md, section 10.
"""

import time
from pathlib import Path
from typing import Unpack

import numpy as np

from femb.analysis.calling import RunOptions, read_call
from femb.analysis.completion import system_of
from femb.analysis.prescribed_motion import ConstraintRows, prescribed
from femb.analysis.undriven import missing_drivers
from femb.base.errors import ModelError, Problem
from femb.base.options import Run
from femb.base.progress import Reporter, reporting
from femb.export.plots.check import check_figures
from femb.model.model import Model
from femb.results.recording import Recording
from femb.results.results import Results
from femb.system.system import System


def inverse(
    model: Model | str | Path,
    run: Run | None = None,
    *,
    out: str | Path | None = None,
    case_text: str = "",
    progress: Reporter | bool | None = None,
    **options: Unpack[RunOptions],
) -> Results:
    """Motion and forces of a model whose joints and drivers prescribe all of its motion.

    model : or the path of a case file. run, or its fields as keyword options: only ``duration``, ``output_interval``
    and ``start`` are used; there is no stepper. out, case_text, progress : as in ``simulate``.

    The results are those of a run; ``drivers`` has the forces of the drives and ``joints`` the reactions. The work of
    the audit is the power integrated by Gauss's rule with two points in each output interval: the energy error is that
    of the rule, of fourth order in the interval.

    Raises ModelError with every problem of the model, for beams and latches, or where the motion is not prescribed in
    full; SolveError, with the results so far in ``error.results``, where the drivers cannot be followed.
    """
    model, run, text = read_call(model, run, options)
    case_text = case_text or text
    system = system_of(model, run.start == "assembled")
    check_figures(model)
    check_prescribed(system)
    clock, cpu = time.perf_counter(), time.process_time()
    with (
        reporting(progress, run.duration) as reporter,
        Recording(system, "inverse", out, case_text, run.output) as recording,
    ):
        for frames in prescribed(system, run.output_times()):
            recording.add(frames)
            recording.statistics = {
                "steps": recording.statistics.get("steps", 0) + 1,
                "wall_time": time.perf_counter() - clock,
                "cpu_time": time.process_time() - cpu,
            }
            if reporter is not None:
                reporter.update(float(frames.time[-1]))
    return recording.results()


def check_prescribed(system: System) -> None:
    """Raise ModelError where constraints do not prescribe all of the motion, with suggestions of further drivers."""
    for latch in system.layout.latches:
        raise ModelError.at(
            ("latches", latch.item.name), "engages or lets go at an event, and inverse dynamics has none: leave it out"
        )
    for name in system.layout.beams:
        raise ModelError.at(
            ("beams", name),
            "bends: no joint or driver prescribes how; inverse dynamics is of rigid bodies, so integrate in time "
            "(femb run), or take a rigid body in its place",
        )
    for name in system.layout.flexible_bodies:
        raise ModelError.at(
            ("bodies", name),
            "is flexible: no joint or driver prescribes how it deforms; integrate in time (femb run), or take a rigid "
            "body in its place",
        )
    for unknown in system.layout.internal:
        raise ModelError.at(
            (unknown.table, unknown.label),
            f"has an unknown of its own, {unknown.quantity.name}, that no joint or driver prescribes; integrate in "
            "time (femb run)",
        )
    q = system.q0
    J = system.jacobian(system.inputs_at(0.0, q, np.zeros(system.n_v)), q).toarray()
    free = system.n_v - ConstraintRows(J).rank
    if free:
        raise ModelError(
            Problem(
                ("drivers",),
                f"joints and drivers leave {free} degree{'s' if free > 1 else ''} of freedom: drive also "
                f"{missing_drivers(system, q, J)}; or integrate in time (femb run)",
            )
        )
