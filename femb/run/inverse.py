"""Inverse dynamics: the forces of a motion that joints and drivers prescribe in full.

Statics is the case of drivers at rest. Source: docs/theory/constraints.md, section 10.
"""

import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from scipy.linalg import null_space, qr, solve_triangular

from femb.base.errors import ModelError, Problem, SolveError
from femb.base.options import Run
from femb.base.progress import Reporter, reporting
from femb.base.types import Floats, Ints
from femb.base.values import listed
from femb.numerics.newton import Iteration, largest, newton
from femb.recording.frames import Frames, unbalanced
from femb.recording.instants import Part
from femb.recording.recording import Recording
from femb.results.results import Results
from femb.run.calling import RunOptions, read_call
from femb.run.time_loop import Integration, RunSummary
from femb.steppers.contract import AcceptedStep, Statistics
from femb.system.block_lu import SINE
from femb.system.constraints import OPEN, POSITION
from femb.system.degrees_of_freedom import EXACT, with_lengths
from femb.system.initial_state import coordinate_rows
from femb.system.system import System
from femb.vibration.completion import check_figures_of, system_of

if TYPE_CHECKING:
    from femb.case import Given

# Prescribed motion: positions, velocities, accelerations and forces where joints and drivers prescribe all of it.
#
#     Phi(q, t) = 0,    J v = -Phi_t,    J a = gamma,    J^T lambda = f - M a - h
#
# are solved in this order at every instant; nothing is integrated. J has the rank n_v. Dependent rows must be
# consistent, and the multipliers are those of least norm. Discrete states change as in a run: at samples, at instants
# that they name, and at zeros of functions of this motion. Source: docs/theory/constraints.md, section 10.

ITERATIONS = 12
LARGEST_ROTATION = 0.3  # rad, between instants: a larger one may lead to another branch of the mechanism
FAR = 1.0  # rad or m, of a coordinate of joints in a step
LARGEST_CORRECTION = 0.1  # rad, of the extrapolation from the last instant
SHORTEST = 1e-6  # relative to an output interval
AGREEMENT = 1e-6  # relative inconsistency of dependent rows that is allowed
# Points of Gauss's rule in an interval of unit length, with weights of one half.
GAUSS = (0.5 - np.sqrt(3.0) / 6.0, 0.5 + np.sqrt(3.0) / 6.0)


def prescribed(system: System, times: Floats, summary: RunSummary | None = None) -> Iterator[Part]:
    """Yield the output at each of the instants ``times`` (T,), the first of them the system's start.

    summary : filled with the events and samples on the way, as in a run.
    """
    motion = _Motion(system, times)
    yield from _Following(system, motion, times, RunSummary([]) if summary is None else summary).parts()


class _Motion:
    """A prescribed motion as a ``Stepper``: its steps end at output times too, and go no further than ``FAR``."""

    error_v = None

    def __init__(self, system: System, times: Floats) -> None:
        self.form, self.run, self.statistics = system, Run(float(times[-1])), Statistics()
        # inputs that jump at the end have their left limits there
        self._ends, self.t = np.append(times[:-1], np.nextafter(times[-1], times[0])), float(times[0])
        self.now, self.work = _Instant(system, self.t, system.q0), system.budget.none()

    @property
    def q(self) -> Floats:
        """Coordinates (n_q,)."""
        return self.now.q

    @property
    def v(self) -> Floats:
        """Velocities (n_v,)."""
        return self.now.v

    def step(self, limit: float) -> "_PrescribedStep":
        """The step to ``limit`` (s), or to what comes before."""
        self.now.system, t = self.form, self.t
        step = _PrescribedStep(
            self.now, self.work, t, min(limit, *self._ends[bisect_right(self._ends, t) :][:1].tolist())
        )
        # joints count their revolutions from step to step, and events look at coordinates that are counted
        while step.turned > FAR:
            step = _PrescribedStep(self.now, self.work, t, 0.5 * (t + step.end))
        self.now, self.work = step.last, step.work
        self.t, self.statistics.steps = step.end, self.statistics.steps + 1
        return step

    def restart(self) -> None:
        """Take the forces of the inputs and of the discrete state that are in force now."""
        self.now = _Instant(self.form, self.t, self.now.q)

    resume = restart

    def jump(self, t: float, q: Floats, v: Floats, work: Floats) -> None:
        """Go on from an instant within the last step."""
        self.t, self.work, self.now = t, work, _Instant(self.form, t, q)


class _PrescribedStep:
    """A step of a prescribed motion from ``start`` to ``end`` (s), whose work is by Gauss's rule with two points.

    last, work : its end. turned : the largest change of a coordinate of joints on the way, rad or m.
    """

    def __init__(self, now: "_Instant", work: Floats, start: float, end: float) -> None:
        self._now, self._work, self.start, self.end = now, work, start, end
        on_way = self._passed(end)
        self.last, self.work = on_way[-1], self._worked(end, on_way)
        self.turned = max(largest(each.system.discrete.angles - now.system.discrete.angles) for each in on_way)

    def _passed(self, t: float) -> "list[_Instant]":
        """The points of the rule on the way to the instant t (s), and this."""
        first = _follow(self._now, self.start + GAUSS[0] * (t - self.start))
        second = _follow(first, self.start + GAUSS[1] * (t - self.start))
        return [first, second, _follow(second, t)]

    def _worked(self, t: float, passed: "list[_Instant]") -> Floats:
        """The work (n_w,) till the instant t (s)."""
        work: Floats = self._work + 0.5 * (t - self.start) * (passed[0].power + passed[1].power)
        return work

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        """q (s, n_q), v (s, n_v) and work (s, n_w) at times (s,)."""
        found = [self._passed(t) for t in times.tolist()]
        work = [self._worked(t, passed) for t, passed in zip(times.tolist(), found, strict=True)]
        return np.array([each[-1].q for each in found]), np.array([each[-1].v for each in found]), np.array(work)

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times (s,)."""
        return np.array([self._passed(t)[-1].a for t in times.tolist()])


@dataclass(eq=False)
class _Following(Integration[System]):
    """The time loop along a prescribed motion, with the samples and the events of a run."""

    stepper: _Motion

    def _begin(self) -> Iterator[Part]:
        yield from super()._begin()
        self.crossing = None  # singular postures are refused

    def _taken(self, limit: float, instant: float) -> AcceptedStep:
        self.repetition.check(self.form, self.stepper.t, self.stepper.q, self.stepper.v, self.events)
        return self.stepper.step(limit)

    def _output(self, step: AcceptedStep, last: float) -> Iterator[Part]:
        if self.done < len(self.instants) and self.instants[self.done] <= last:
            self.shown, self.done = self.instants[self.done], self.done + 1
            yield replace(self._last_state(), time=np.array([self.shown]))

    def _last_state(self) -> Frames:
        return self.stepper.now.frames(self.stepper.work)


def _follow(now: "_Instant", end: float) -> "_Instant":
    """The instant ``end``, from an earlier one, in steps short enough to stay on its branch of the motion."""
    span = part = end - now.t
    while now.t < end:
        part = min(part, end - now.t)
        t = end if part >= end - now.t else now.t + part
        try:
            now = _Instant(now.system, t, _positions(now, t))
            part *= 2.0
        except _AstrayError as reason:
            part *= 0.5
            if part < SHORTEST * span:
                raise SolveError(
                    f"the drivers cannot be followed beyond t = {now.t:.6g} s: {reason}; the mechanism may be in a "
                    "dead centre or out of reach there, or drivers contradict each other"
                ) from None
    return now


class _AstrayError(Exception):
    """No solution for the positions, or one that may be on another branch."""


def _positions(now: "_Instant", t: float) -> Floats:
    """q (n_q,) with Phi(q, t) = 0, by Newton's iteration from the extrapolation of an earlier instant."""
    system, h = now.system, t - now.t
    if largest(now.v[system.rotations]) * h > LARGEST_ROTATION:
        raise _AstrayError("it turns too fast")
    change = h * system.rates(now.q[None], now.v[None]) + 0.5 * h * h * system.second_rates(
        now.q[None], now.v[None], now.a[None]
    )
    q: Floats = now.q + change[0]
    system.normalise(q)
    corrected = np.zeros(len(system.rotations))

    def correction(it: Iteration[Floats, Floats]) -> Floats:
        rows = ConstraintRows(system.jacobian(system.inputs_at(t, it.x, now.v), it.x).toarray(), system.rotations)
        if rows.rank < system.n_v:
            raise _AstrayError("the constraints are singular")
        x = rows.solve(-it.residual)
        corrected[:] += x[system.rotations]
        if largest(corrected) > LARGEST_CORRECTION:
            raise _AstrayError("it comes to another position than the motion leads to")
        return x

    end = newton(
        q,
        lambda q: system.position_residual(system.inputs_at(t, q, now.v), q, now.v),
        correction,
        system.retract,
        lambda it: it.within(POSITION, rounding=OPEN),
        iterations=ITERATIONS,
        residual_size=largest,
    )
    if not end.converged:
        raise _AstrayError(f"{_widest(system, end.residual)} stays open by {end.size:.3g}")
    return end.x


def _widest(system: System, gaps: Floats) -> str:
    """Label of the row with the largest gap."""
    return system.layout.row_labels[int(np.argmax(np.abs(gaps[system.layout.row_c])))]


def _in_conflict(system: System, gaps: Floats) -> str:
    """The drivers whose rows are inconsistent, or else the row with the largest gap."""
    limit = 1e-3 * np.max(np.abs(gaps))
    rows = system.layout.row_c
    names = [name for name, driver in system.layout.drivers.items() if np.max(np.abs(gaps[rows[driver.rows]])) > limit]
    return " and ".join(f"drivers.{name}" for name in names) or _widest(system, gaps)


class _Instant:
    """State, accelerations and multipliers at one instant of a prescribed motion, from its positions."""

    def __init__(self, system: System, t: float, q: Floats) -> None:
        self.t, self.q, n_v = t, q, system.n_v
        u = system.inputs_at(t, q, np.zeros(n_v))
        rows = ConstraintRows(system.jacobian(u, q).toarray(), system.rotations)
        if rows.rank < n_v:
            raise SolveError(
                f"the mechanism is in a singular posture at t = {t:.6g} s: its constraints leave "
                f"{n_v - rows.rank} degree(s) of freedom there"
            )
        drive = system.velocity_residual(u, q, np.zeros(n_v))
        self.v = self._consistent(system, rows, -drive, "velocities")
        self.u = system.inputs_at(t, q, self.v)
        gamma = system.constraints(self.u[None], q[None], self.v[None])[1][0]
        self.a = self._consistent(system, rows, gamma, "accelerations")
        force = system.residual(self.u[None], q[None], self.v[None], self.a[None])[0]
        self.multipliers = rows.solve_transposed(-force)
        self.coordinates = system.joint_motion(q, self.v)
        self.system = system.at(q)

    def _consistent(self, system: System, rows: "ConstraintRows", right: Floats, what: str) -> Floats:
        """x with J x = right. Raises SolveError where dependent rows are inconsistent."""
        x = rows.solve(right)
        gaps = rows.J @ x - right
        if np.max(np.abs(gaps)) > AGREEMENT * (1.0 + np.max(np.abs(right))):
            raise SolveError(
                f"the {what} that drivers prescribe contradict each other at t = {self.t:.6g} s: "
                f"{_in_conflict(system, gaps)} by {np.max(np.abs(gaps)):.3g}"
            )
        return x

    @property
    def power(self) -> Floats:
        """(n_w,) power and rates of momentum of loads, dampers and drivers, by the columns of the budget."""
        state = self.u[None], self.q[None], self.v[None], self.multipliers[None]
        rates: Floats = self.system.budget_rates(*state)[0]
        return rates

    def frames(self, work: Floats) -> Frames:
        """The output at this instant."""
        arrays = (self.u, self.q, self.v, self.a, self.multipliers, work, *self.coordinates)
        u, q, v, a, multipliers, work, coordinates, rates = (x[None] for x in arrays)
        balance = unbalanced(self.system, u, q, v, a, multipliers)
        return Frames(np.array([self.t]), q, v, work, u, a, multipliers, coordinates, rates, balance)


class ConstraintRows:
    """J (n_c, n_v) of rank n_v, factorised: J P = Q R with pivoting.

    Dense, since the dependence of rows has no pattern: a hundred bodies take a tenth of a second per instant.
    """

    def __init__(self, J: Floats, rotations: Ints) -> None:
        self.J, self.rank = J, 0
        if not len(J):
            return
        self.Q, self.R, self.order = qr(J, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(self.R))
        self.rank = int(np.sum(diagonal > SINE * diagonal[0]))
        if self.rank < np.sum(diagonal > EXACT * diagonal[0]):
            alike = with_lengths(J, np.isin(np.arange(J.shape[1]), rotations))
            diagonal = np.abs(np.diag(qr(alike, mode="r", pivoting=True)[0]))
            self.rank = int(np.sum(diagonal > SINE * diagonal[0]))

    def solve(self, right: Floats) -> Floats:
        """The least-squares solution x (n_v,) of J x = right."""
        x = np.empty(self.J.shape[1])
        x[self.order] = solve_triangular(self.R, self.Q.T @ right)
        return x

    def solve_transposed(self, right: Floats) -> Floats:
        """The y (n_c,) of least norm with J^T y = right."""
        result: Floats = self.Q @ solve_triangular(self.R, right[self.order], trans="T")
        return result


# Undriven degrees of freedom, by the names of joint coordinates and bodies.


def missing_drivers(system: System, q: Floats, J: Floats) -> str:
    """Names of joint coordinates, and of bodies, that must be driven too so that J (n_c, n_v) has the rank n_v."""
    names = [
        f"{coordinate.name!r} of joints.{name}"
        for name, joint in system.layout.joints.items()
        for coordinate in joint.coordinates
    ]
    rows = coordinate_rows(system, q)
    chosen: list[int] = []
    motions = _free(J)
    if len(rows):
        _, R, order = qr((rows @ motions).T, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(R))
        chosen = sorted(order[: np.sum(diagonal > 1e-6 * max(1.0, diagonal[0]))])
        motions = _free(np.vstack([J, rows[chosen]]))
    words = [names[k] for k in chosen]
    words += [f"the position or orientation of {label!r}" for label in _moving(system, motions)]
    return listed(words)


def _free(J: Floats) -> Floats:
    """(n_v, k): an orthonormal basis of the motions with J v = 0."""
    return null_space(J, rcond=EXACT) if len(J) else np.eye(J.shape[1])


def _moving(system: System, motions: Floats) -> list[str]:
    """Labels of the frames that move in any of the motions (n_v, k)."""
    layout = system.layout
    result = []
    for k, frame in enumerate(layout.frames):
        part = motions[layout.frame_v[k] : layout.frame_v[k] + frame.freedom] if frame.freedom else motions[:0]
        if np.max(np.abs(part), initial=0.0) > 1e-3:
            result.append(frame.label)
    return result


def inverse(
    model: "Given",
    run: Run | None = None,
    *,
    out: str | Path | None = None,
    case_text: str = "",
    progress: Reporter | bool | None = None,
    **options: Unpack[RunOptions],
) -> Results:
    """Motion and forces of a model whose joints and drivers prescribe all of its motion.

    Pulses of thrusters, springs that snap, steps of motors and sampled controllers act as in a run. The work of the
    audit is the power integrated by Gauss's rule with two points in each output interval, shorter where they act: the
    energy error is that of the rule, of fourth order in the interval.

    Parameters:
        model: a model, a case or the path of its file.
        run: options, in place of options by name; only ``duration``, ``output_interval`` and ``start`` are used, since
            there is no stepper.
        out: as in ``simulate``.
        case_text: as in ``simulate``.
        progress: as in ``simulate``.
        options: fields of ``femb.Run`` by name, as in ``simulate``.

    Returns:
        The results of a run; ``drivers`` has the forces of the drives and ``joints`` the reactions.

    Raises:
        ModelError: every problem of the model, beams and latches, or a motion that is not prescribed in full.
        SolveError: the drivers cannot be followed; the results so far are in ``error.results``.
    """
    model, run, text = read_call(model, run, options)
    case_text = case_text or text
    system = system_of(model, run.start == "assembled")
    check_figures_of(model)
    check_prescribed(system)
    clock, cpu = time.perf_counter(), time.process_time()
    with (
        reporting(progress, run.duration) as reporter,
        Recording(system, "inverse", out, case_text, run.output) as recording,
    ):
        summary = RunSummary([])
        for frames in prescribed(system, run.output_times(), summary):
            recording.add(frames)
            recording.statistics = {
                "steps": recording.statistics.get("steps", 0) + 1,
                "wall_time": time.perf_counter() - clock,
                "cpu_time": time.process_time() - cpu,
            }
            recording.arrays = summary.arrays()
            if reporter is not None:
                reporter.update(float(frames.time[-1]))
    return recording.results()


def check_prescribed(system: System) -> None:
    """Raise ModelError where constraints do not prescribe all of the motion, with suggestions of further drivers."""
    for latch in system.layout.latches:
        raise ModelError.at(
            (latch.item.table, latch.item.name),
            "engages or lets go of a motion, but in inverse dynamics joints and drivers prescribe all: leave it out",
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
    free = system.n_v - ConstraintRows(J, system.rotations).rank
    if free:
        raise ModelError(
            Problem(
                ("drivers",),
                f"joints and drivers leave {free} degree{'s' if free > 1 else ''} of freedom: drive also "
                f"{missing_drivers(system, q, J)}; or integrate in time (femb run)",
            )
        )
