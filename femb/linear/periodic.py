"""Periodic motion: a state that repeats after a given period, the stability of small motions, multi-blade coordinates.

    x' = A(t) x over a period T gives x(T) = Phi x(0);    (Phi - 1) dx = -(state at T less state at 0)

The motion is integrated and linearised at the three points of Gauss's rule in each of many intervals; Phi follows by
the collocation method of order 6 at these points. Where explicit steps would follow vibrations that the intervals do
not resolve, radau makes a step in each, and Newton's iteration takes the derivative of these steps in place of Phi. The
eigenvalues of Phi are the Floquet multipliers: the motion is stable if all are within the unit circle. Source:
docs/theory/linearisation.md, equations (15) and (16).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.html import Brief
from femb.base.options import AUTO, Run, Tolerances
from femb.base.types import Complexes, Floats
from femb.base.values import check_kind, number_problem, shown
from femb.layout.protocols import OfPhase
from femb.linear.loop_names import place_of
from femb.linear.second_order import chart_of, second_order
from femb.linear.state_space import StateSpace, names_of_states
from femb.numerics.newton import Iteration, largest, newton
from femb.numerics.tableaux import GAUSS, RADAU_A, RADAU_C
from femb.recording.evaluation import evaluated
from femb.results.array_file import write_arrays
from femb.run.method_choice import facts_of
from femb.run.time_loop import RunSummary, integrate
from femb.small_motions.point import OperatingPoint
from femb.system.system import System
from femb.vibration.completion import given, system_of

if TYPE_CHECKING:
    from femb.case import Given
    from femb.steppers.contract import Stepper

ITERATIONS = 20
LARGEST_STEP = 0.3  # rad, m, or their rates, of one iteration
PERIODIC = 1e-9  # rad, m, or their rates: tolerance of the state after a period
SINGULAR = 1e-7  # singular values of Phi - 1 below this, relative to the largest, count as zero, as with a free motion
NODES, WEIGHTS, STAGES = GAUSS[3]
# Intervals of a period by default, and the largest product of one with a rate (rad/s, 1/s) that it resolves.
INTERVALS, RESOLVED = {"rk": 40, "radau": 160}, 2.0
WHOLE = 1e-3  # of a turn of a wheel with imbalance after a period
OF_STAGES = 1e-7  # least relative tolerance of the stages of radau
CONTRACTING = 0.1  # by which a correction reduces the change over a period, or else its derivative is formed anew


@dataclass(frozen=True, eq=False)
class Periodic(Brief):
    """A periodic motion.

    point : its start. period : s. monodromy (n, n) : Phi; states (n,) : names of its rows and columns. error : the
    largest difference of the states after a period, rad, m, or their rates. method, intervals : of the integration.
    """

    point: OperatingPoint
    period: float
    monodromy: Floats
    states: tuple[str, ...]
    error: float
    method: str = "rk"
    intervals: int = 40

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
    model: "Given | System",
    period: float,
    *,
    vary: Sequence[str] | None = None,
    method: str = AUTO,
    intervals: int | None = None,
    rtol: float = 1e-11,
    atol: float = 1e-12,
) -> Periodic:
    """A periodic motion of given period. It is sought near the start of a model, or of a System of it.

    Angles of joints are periodic modulo 2 pi.

    Parameters:
        model: or a System of it, a case, or the path of its file.
        period: s, of the motion.
        vary: names of states, as in `linearize`, that may change; by default all.
        method: "rk" follows every vibration; "radau" makes equal steps, one for each interval, in which those that it
            does not resolve are at rest. By default radau where 40 intervals do not resolve what is fastest at the
            start, such as axial vibrations of metal booms.
        intervals: of the period, for the linearised motion; by default 40, with radau 160.
        rtol: relative tolerance of the integration.
        atol: absolute tolerance of the integration, in units of the states.

    Raises:
        ModelError: a period that is not positive, an unknown name or method, closed loops, exact couplings.
        SolveError: the iteration does not converge, or the motion cannot be integrated.
    """
    model, _ = given(model)
    if number_problem(period) or not period > 0.0:
        raise ModelError(f"periodic motion: got the period {period}, must be greater than 0 (s)")
    if method not in (AUTO, "rk", "radau"):
        raise ModelError(f"periodic motion: got the method {shown(method)}, wanted 'auto', 'rk' or 'radau'")
    system = system_of(model)
    if method == AUTO:
        method = _method(system, period, intervals or INTERVALS["rk"])
    count = intervals or INTERVALS[method]
    tolerances = (rtol, atol) if method == "rk" else (max(rtol, OF_STAGES), max(atol, 0.1 * OF_STAGES))
    derivative: Floats | None = None

    def after_a_period(start: _Start) -> tuple[Floats, _Flow]:
        if start.chart.local_difference is None:
            raise ModelError(
                "periodic motion: coordinates of closed loops and couplings differ from state to state; open the loop, "
                "or give the coupling a 'stiffness'"
            )
        flow = _flow(start.system, period, method, count, *tolerances)
        change = start.chart.local_difference(*flow.end)[start.kept]
        change[start.steady_speeds(flow.end[0])] = 0.0
        return change, flow

    def correction(it: Iteration[_Start, tuple[Floats, _Flow]]) -> Floats:
        nonlocal derivative
        states, (change, flow) = it.x.states, it.residual
        whole = range(len(states))
        columns = whole if vary is None else [place_of(states, name, "periodic motion") for name in vary]
        if derivative is None or it.size > CONTRACTING * it.previous:
            derivative = flow.derivative()
        step = np.zeros(len(states))
        step[columns] = _shortest((derivative - np.eye(len(states)))[:, columns], -change)
        return step

    end = newton(
        _Start(system),
        after_a_period,
        correction,
        lambda start, step, _: start.after(step),
        lambda it: it.within(PERIODIC),
        iterations=ITERATIONS,
        residual_size=lambda residual: largest(residual[0]),
    )
    states, (change, flow) = end.x.states, end.residual
    if not end.converged:
        worst = states[int(np.argmax(np.abs(change)))]
        raise SolveError(
            f"no motion of period {period:.6g} s found near the start: {worst} is still off by {end.size:.3g} after "
            f"it; start nearer, or with another period{'' if method == 'rk' else f', or more intervals than {count}'}"
        )
    return Periodic(end.x.point, period, flow.monodromy(), states, end.size, method, count)


class _Start:
    """A System with the point at its start, and the names of the states there."""

    def __init__(self, system: System) -> None:
        self.system, self.point = system, OperatingPoint.of(system)
        self.chart = chart_of(self.point)
        # first-order states are periodic, not their integrals, which nothing reads
        self.kept, self.states = names_of_states(self.chart.names, system.layout.first_order_names)

    def steady_speeds(self, end: Floats) -> list[int]:
        """The states that are speeds of wheels with imbalance, after a period that ends at q (n_q,): their motors hold
        them, against the mean torque that the motion of the whole has on an imbalance. Raises SolveError."""
        layout, places = self.system.layout, []
        for name, (number, orders) in (
            pair for each in self.system.batches if isinstance(each, OfPhase) for pair in each.disturbing.items()
        ):
            turns = (end - self.system.q0)[layout.internal_q[number]] / (2.0 * np.pi)
            if any(abs(order * turns - round(order * turns)) > WHOLE for order in orders):
                raise SolveError(
                    f"periodic motion: the disturbances of {name} have another period: it turns {turns:.6g} times; "
                    "wanted a period of whole turns, or a wheel without imbalance and harmonics"
                )
            speed = layout.first_order_names[layout.first_order_v.tolist().index(layout.internal_v[number])]
            places.append(self.states.index(speed))
        return places

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


# A point along a motion: the time (s), coordinates and velocities.
Along: TypeAlias = tuple[float, Floats, Floats]


@dataclass(eq=False)
class _Flow:
    """A motion over a period: its end q, v, and three points in each of several intervals, with their lengths (s).

    at_gauss : at the points of Gauss's rule. at_stages : those that the end depends on, of radau; empty for rk.
    """

    system: System
    end: tuple[Floats, Floats]
    at_gauss: list[tuple[float, list[Along]]]
    at_stages: list[tuple[float, list[Along]]]

    def derivative(self) -> Floats:
        """The derivative (n, n) of the end by the start: that of the steps of radau, and else the monodromy."""
        return self._collocated(self.at_stages, RADAU_A[2], RADAU_A) if self.at_stages else self.monodromy()

    def monodromy(self) -> Floats:
        """Phi (n, n), by collocation of order 6."""
        return self._collocated(self.at_gauss, WEIGHTS, STAGES)

    def _collocated(self, intervals: list[tuple[float, list[Along]]], weights: Floats, stages: Floats) -> Floats:
        Phi: Floats | None = None
        for length, points in intervals:
            A = [self._A(*each) for each in points]
            n = len(A[0])
            # K_i = A_i (1 + h sum_j a_ij K_j)
            blocks = [[(i == j) * np.eye(n) - length * stages[i, j] * A[i] for j in range(3)] for i in range(3)]
            slopes = np.linalg.solve(np.block(blocks), np.vstack(A)).reshape(3, n, n)
            step = np.eye(n) + length * np.tensordot(weights, slopes, 1)
            Phi = step if Phi is None else step @ Phi
        assert Phi is not None
        return Phi

    def _A(self, t: float, q: Floats, v: Floats) -> Floats:
        point = OperatingPoint.of(self.system, q, v, t)
        chart = chart_of(point)
        # angles of wheels are known motions, and no states
        kept = names_of_states(chart.names, self.system.layout.first_order_names)[0]
        return second_order(point, chart).first_order[np.ix_(kept, kept)]


def _flow(system: System, period: float, method: str, intervals: int, rtol: float, atol: float) -> _Flow:
    """The motion from the start of a system."""
    from femb.steppers import make_stepper
    from femb.steppers.radau import EqualSteps

    tolerance = Tolerances(position=atol, quaternion=atol, strain=atol, time=1.0)
    run = Run(duration=period, method=method, rtol=rtol, atol=tolerance)
    length = period / intervals
    equal = None if method == "rk" else EqualSteps(system, run, length)
    stepper = make_stepper(system, run) if equal is None else cast("Stepper[System]", equal)
    times = np.concatenate([[0.0], (length * (np.arange(intervals)[:, None] + NODES)).ravel(), [period]])
    frames = evaluated(list(integrate(system, stepper, times, RunSummary([]))))
    points = list(zip(times.tolist(), frames.q, frames.v, strict=True))
    at_gauss = [(length, points[k : k + 3]) for k in range(1, 3 * intervals, 3)]
    at_stages: list[tuple[float, list[Along]]] = []
    if equal is not None:
        for each in equal.solved:
            system.normalise(each.q)
            times = each.step.start + each.length * RADAU_C
            at_stages.append((each.length, list(zip(times.tolist(), each.q, each.v, strict=True))))
    return _Flow(system, (frames.q[-1], frames.v[-1]), at_gauss, at_stages)


def _method(system: System, period: float, intervals: int) -> str:
    """The method of a motion: radau, if the intervals do not resolve the fastest vibration and decay at the start."""
    facts = facts_of(system)
    return "radau" if max(2.0 * np.pi * facts.frequency, facts.decay) * period > RESOLVED * intervals else "rk"


# Multi-blade coordinates: the motion of the blades of a rotor in the non-rotating frame.
#
# For n >= 3 equal blades, blade i at the azimuth psi_i = psi + 2 pi i/n with a coordinate beta_i:
#
#     beta_i = eta_0 + sum_k (eta_kc cos k psi_i + eta_ks sin k psi_i) + (-1)^i eta_d,    beta = T(psi) eta
#
# k = 1 .. (n - 1)/2, eta_d for even n. At a constant rate Omega of the rotor, with T' = dT/dpsi,
#
#     [beta; beta'] = S [eta; eta'],    S = [T 0; Omega T' T],    A_y = S^-1 (A S - dS/dt)
#
# A_y of an isotropic rotor does not depend on psi; its eigenvalues give the frequencies in the non-rotating frame.
# Source: docs/theory/linearisation.md, equations (11) to (13); Coleman and Feingold, NACA Report 1351.

FEWEST = 3  # a rotor with two blades is not isotropic: its equations stay periodic


def transformation(blades: int, azimuth: float, derivative: int = 0) -> Floats:
    """T (n, n), or its first or second derivative by the azimuth (rad); columns eta_0, eta_1c, eta_1s, ..., eta_d.

    Raises ModelError: fewer than 3 blades.
    """
    if blades < FEWEST:
        raise ModelError(
            f"multi-blade coordinates: got {blades} blades, wanted at least {FEWEST}; with fewer the equations stay "
            "periodic in the azimuth"
        )
    i = np.arange(blades)
    psi = azimuth + 2.0 * np.pi * i / blades
    columns: list[Floats] = [np.ones(blades) if derivative == 0 else np.zeros(blades)]
    for k in range(1, (blades - 1) // 2 + 1):
        # every derivative shifts cos and sin by pi/2, and gives a factor k
        phase = k * psi + 0.5 * np.pi * derivative
        columns += [float(k) ** derivative * np.cos(phase), float(k) ** derivative * np.sin(phase)]
    if blades % 2 == 0:
        columns.append(np.where(i % 2 == 0, 1.0, -1.0) if derivative == 0 else np.zeros(blades))
    return np.column_stack(columns)


def labels(blades: int) -> tuple[str, ...]:
    """Names of the multi-blade coordinates: collective, cos 1, sin 1, ..., differential."""
    names = ["collective"]
    for k in range(1, (blades - 1) // 2 + 1):
        names += [f"cos {k}", f"sin {k}"]
    return tuple(names + (["differential"] if blades % 2 == 0 else []))


def multiblade(space: StateSpace, blades: Mapping[str, Sequence[str]], rate: float, azimuth: float = 0.0) -> StateSpace:
    """The state space in multi-blade coordinates: the states "flap.collective", ... replace those of the blades.

    Parameters:
        space: with the states x and "x rate" of each coordinate x, as `linearize` gives.
        blades: by the name of a motion, such as "flap", its coordinates of all blades, in the order of azimuth in the
            sense of rotation.
        rate: of the rotor, rad/s.
        azimuth: of blade 0, rad.

    Raises:
        ModelError: fewer than 3 blades, an unknown or repeated state, groups of different numbers of blades.
    """
    check_kind("multi-blade coordinates", space, StateSpace, "a femb.StateSpace")
    check_kind("multi-blade coordinates: blades", blades, Mapping, "lists of states by the name of a motion")
    check_kind("multi-blade coordinates: rate", rate, (float, int), "a number, rad/s")
    used: set[str] = set()
    counts = {len(names) for names in blades.values()}
    if len(counts) > 1:
        raise ModelError(f"multi-blade coordinates: got groups of {sorted(counts)} blades, wanted one number of blades")
    n = len(space.states)
    S, S_rate, states = np.eye(n), np.zeros((n, n)), list(space.states)
    for motion, names in blades.items():
        T, T1, T2 = (transformation(len(names), azimuth, k) for k in range(3))
        for name in names:
            if name in used:
                raise ModelError(f"multi-blade coordinates: {name!r} is given twice")
            used.add(name)
        at = np.array([space.index("states", name) for name in names])
        rates = np.array([space.index("states", f"{name} rate") for name in names])
        S[np.ix_(at, at)] = S[np.ix_(rates, rates)] = T
        S[np.ix_(rates, at)] = rate * T1
        S_rate[np.ix_(at, at)] = S_rate[np.ix_(rates, rates)] = rate * T1
        S_rate[np.ix_(rates, at)] = rate**2 * T2
        for k, k_rate, label in zip(at, rates, labels(len(names)), strict=True):
            states[k], states[k_rate] = f"{motion}.{label}", f"{motion}.{label} rate"
    A, B = (np.asarray(np.linalg.solve(S, x), dtype=float) for x in (space.A @ S - S_rate, space.B))
    return replace(space, A=A, B=B, C=space.C @ S, states=tuple(states))
