"""Periodic motion: a state that repeats after a given period, and the stability of small motions about it.

    x' = A(t) x over a period T gives x(T) = Phi x(0);    (Phi - 1) dx = -(state at T less state at 0)

The motion is integrated and linearised at the three points of Gauss's rule in each of many intervals; Phi follows by
the collocation method of order 6 at these points. The eigenvalues of Phi are the Floquet multipliers: the motion is
stable if all are within the unit circle. Source: docs/theory/linearisation.md, equations (15) and (16).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.html import Brief
from femb.base.options import Run, Tolerances
from femb.base.types import Complexes, Floats
from femb.linear.linearise import state_space
from femb.linear.point import OperatingPoint
from femb.linear.second_order import chart_of, second_order
from femb.linear.state_space import names_of_states
from femb.model.model import Model
from femb.numerics.newton import Iteration, largest, newton
from femb.numerics.tableaux import GAUSS
from femb.recording.instants import evaluated
from femb.results.array_file import write_arrays
from femb.run.time_loop import RunSummary, integrate
from femb.system.system import System
from femb.vibration.completion import system_of

ITERATIONS = 20
LARGEST_STEP = 0.3  # rad, m, or their rates, of one iteration
PERIODIC = 1e-9  # rad, m, or their rates: tolerance of the state after a period
SINGULAR = 1e-7  # singular values of Phi - 1 below this, relative to the largest, count as zero, as of a free motion
NODES, WEIGHTS, STAGES = GAUSS[3]


@dataclass(frozen=True, eq=False)
class Periodic(Brief):
    """A periodic motion.

    point : its start. period : s. monodromy (n, n) : Phi; states (n,) : names of its rows and columns. error : the
    largest difference of the states after a period, rad, m, or their rates.
    """

    point: OperatingPoint
    period: float
    monodromy: Floats
    states: tuple[str, ...]
    error: float

    @property
    def multipliers(self) -> Complexes:
        """(n,) complex Floquet multipliers, the largest first."""
        values = np.linalg.eigvals(self.monodromy).astype(np.complex128)
        return values[np.argsort(-np.abs(values))]

    def write(self, path: str | Path) -> Path:
        """Write period, monodromy, multipliers, states, and q, v of the start to a .npz; returns the path.

        Raises ResultError.
        """
        words = ("period", "monodromy", "multipliers", "states")
        arrays = {word: getattr(self, word) for word in words}
        return write_arrays(path, arrays | {"q": self.point.q, "v": self.point.v})


def periodic(
    model: Model | System,
    period: float,
    *,
    vary: Sequence[str] | None = None,
    intervals: int = 40,
    rtol: float = 1e-11,
    atol: float = 1e-12,
) -> Periodic:
    """A periodic motion of given period (s) near the start of a model, or of a System of it.

    vary : names of states, as in `linearize`, that may change; by default all. intervals : of the period, for the
    linearised motion. rtol, atol : relative and absolute tolerances of the integration. Angles of joints are periodic
    modulo 2 pi.

    Raises ModelError: a period that is not positive, an unknown name, closed loops; SolveError where the iteration does
    not converge, or the motion cannot be integrated.
    """
    if not period > 0.0:
        raise ModelError(f"periodic motion: got the period {period}, must be greater than 0 (s)")

    def after_a_period(start: _Start) -> tuple[Floats, Floats]:
        if start.chart.local_difference is None:
            raise ModelError("periodic motion: coordinates of closed loops differ from state to state; open the loop")
        end, Phi = _flow(start.system, period, intervals, rtol, atol)
        return start.chart.local_difference(*end)[start.kept], Phi

    def correction(it: Iteration[_Start, tuple[Floats, Floats]]) -> Floats:
        states, (change, Phi) = it.x.states, it.residual
        columns = [_index(states, name) for name in vary] if vary is not None else list(range(len(states)))
        step = np.zeros(len(states))
        step[columns] = _shortest((Phi - np.eye(len(states)))[:, columns], -change)
        return step

    end = newton(
        _Start(system_of(model)),
        after_a_period,
        correction,
        lambda start, step, _: start.after(step),
        lambda it: it.within(PERIODIC),
        iterations=ITERATIONS,
        residual_size=lambda residual: largest(residual[0]),
    )
    states, (change, Phi) = end.x.states, end.residual
    if not end.converged:
        worst = states[int(np.argmax(np.abs(change)))]
        raise SolveError(
            f"no motion of period {period:.6g} s found near the start: {worst} is still off by {end.size:.3g} after "
            "it; start nearer, or with another period"
        )
    return Periodic(end.x.point, period, Phi, states, end.size)


class _Start:
    """A System with the point at its start, and the names of the states there."""

    def __init__(self, system: System) -> None:
        self.system, self.point = system, OperatingPoint.of(system)
        self.chart = chart_of(self.point)
        # first-order states are periodic, not their integrals, which nothing reads
        self.kept, self.states = names_of_states(self.chart.names, system.layout.first_order_names)

    def after(self, step: Floats) -> "_Start":
        """The start after a change of the states."""
        change = np.zeros(2 * self.chart.free)
        change[self.kept] = step
        return _Start(self.system.starting_at(*self.chart.after(change)))


def _shortest(slopes: Floats, right: Floats) -> Floats:
    """The least-squares solution of least norm of slopes x = right, damped until it is at most LARGEST_STEP.

    Where the phase of the motion is arbitrary, as that of a free rotor, one direction is nearly singular: damping
    reduces the step in this direction, and hardly in the others.
    """
    left, values, directions = np.linalg.svd(slopes, full_matrices=False)
    regular = values > SINGULAR * np.max(values, initial=0.0)
    parts = left.T @ right
    damping, step = 0.0, np.zeros(len(values))
    for _ in range(100):
        squares = np.where(regular, values**2 + damping**2, 1.0)
        step = directions.T @ (np.where(regular, values, 0.0) / squares * parts)
        if np.max(np.abs(step), initial=0.0) <= LARGEST_STEP:
            break
        damping = max(1e-4 * float(values[0]), 2.0 * damping)
    return step


def _index(states: tuple[str, ...], name: str) -> int:
    if name not in states:
        raise ModelError(f"periodic motion: no state {name!r}; there are: {', '.join(states)}")
    return states.index(name)


def _flow(
    system: System, period: float, intervals: int, rtol: float, atol: float
) -> tuple[tuple[Floats, Floats], Floats]:
    """The state q, v after a period, and Phi."""
    from femb.steppers import make_stepper

    tolerance = Tolerances(position=atol, quaternion=atol, strain=atol, time=1.0)
    run = Run(duration=period, method="rk", rtol=rtol, atol=tolerance)
    length = period / intervals
    inner = (length * (np.arange(intervals)[:, None] + NODES)).ravel()
    times = np.concatenate([[0.0], inner, [period]])
    frames = evaluated(list(integrate(system, make_stepper(system, run), times, RunSummary([]))))
    q, v = frames.q, frames.v
    Phi: Floats | None = None
    for k in range(intervals):
        A = []
        for m in range(3 * k + 1, 3 * k + 4):
            point = OperatingPoint.of(system, q[m], v[m], float(times[m]))
            chart = chart_of(point)
            A.append(state_space(point, second_order(point, chart), ()).A)
        n = len(A[0])
        # K_i = A_i (1 + h sum_j a_ij K_j)
        blocks = [[(i == j) * np.eye(n) - length * STAGES[i, j] * A[i] for j in range(3)] for i in range(3)]
        slopes = np.linalg.solve(np.block(blocks), np.vstack(A)).reshape(3, n, n)
        step = np.eye(n) + length * np.tensordot(WEIGHTS, slopes, 1)
        Phi = step if Phi is None else step @ Phi
    assert Phi is not None
    return (q[-1], v[-1]), Phi
