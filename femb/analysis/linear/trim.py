"""Trim: a state of steady motion near the start, in equilibrium or in steady rotation of bodies and joints.

    w'(p, w) = 0,    K w = 0,    p and w of independent coordinates in axes that move with the bodies

Newton's iteration with the exact stiffness K at the accelerations of each state (femb.analysis.linear.second_order).
Coordinates on which no force depends, such as the azimuth of a free rotor, keep their speeds, and change little since
each step is the shortest. The others come to rest: a motion along which forces change is not steady. A coordinate that
revolves is not oscillating about the equilibrium, and is refused.
Source: docs/theory/linearisation.md, section 6.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from femb.analysis.completion import system_of
from femb.analysis.linear.balanced import ROUNDING, ScaledLeastSquares
from femb.analysis.linear.chart import Chart
from femb.analysis.linear.point import OperatingPoint
from femb.analysis.linear.steady import Balance, why_unsteady
from femb.base.errors import ModelError, SolveError
from femb.base.types import Bools, Floats, Ints
from femb.model.model import Model
from femb.numerics.newton import Iteration, largest, newton
from femb.system.system import System

ITERATIONS = 50
LARGEST_STEP = 0.3  # rad, or relative to the structure's size, of one iteration
CONVERGED = 1e-11  # a step up to this, in the same units, ends the iteration
ROUNDED = 1e-7  # and so does a step up to this that no longer decreases
REVOLVING = 2.0  # speed, relative to the frequency about the equilibrium, above which a pendulum revolves


def trim(model: Model | System, *, vary: Sequence[str] | None = None, t: float = 0.0) -> OperatingPoint:
    """A state of steady motion, in equilibrium or in steady rotation, from the start of a model or of a System of it.

    vary : names of states, as in `linearize`, that may change: coordinates, or their "rate". By default all
    coordinates; speeds of coordinates on which no force depends stay, the others come to rest. In a steady motion the
    speeds of the independent coordinates (rates of joints, velocities in axes of the bodies) are constant; this is
    checked by integration over half a radian with the loads of time t (s).

    Raises ModelError: an unknown name, or a model that cannot be linearised; SolveError where there is no such state
    nearby, with the name of a coordinate that revolves while forces depend on it: its motion may be periodic.
    """
    return trimmed(model, vary=vary, t=t).point


@dataclass(frozen=True, eq=False)
class Trimmed:
    """A steady state; stopped : the speeds of the start that it does not have, by the names of their coordinates."""

    point: OperatingPoint
    balance: Balance
    stopped: dict[str, float]


def trimmed(model: Model | System, *, vary: Sequence[str] | None = None, t: float = 0.0) -> Trimmed:
    """The steady state of ``trim``, and the speeds that were set to zero."""
    system = system_of(model)
    q, v = _near(system)
    given = Balance.of(OperatingPoint.of(system, q, v, t))
    if vary is not None:
        balance = _nearest(given, lambda state: _varied(state, vary))
    else:
        balance = _nearest(given, lambda state: _resting(state, given.chart.speeds, _persistent(given)))
        if given.chart.joints:
            # coordinates without forces in the steady state, though not at the start, keep their speeds as well
            persistent = _persistent(given) | ~np.any(balance.nonzero_stiffness, axis=0)[: given.chart.free]
            balance = _nearest(balance, lambda state: _resting(state, given.chart.speeds, persistent))
    why = why_unsteady(balance.point, balance)
    if why:
        raise SolveError(f"no steady motion found near the start: {why}; {_advice(balance)}")
    return Trimmed(balance.point, balance, {} if vary is not None else _stopped_speeds(given.chart, balance.chart))


def _near(system: System) -> tuple[Floats, Floats]:
    """The start; with beams, the equilibrium of its steady motion, since beams are too stiff for one step of trim."""
    from femb.analysis.equilibrium import steady_start

    if system.layout.beams or system.layout.internal:
        with contextlib.suppress(SolveError, ModelError):
            return steady_start(system)
    return system.q0, system.v0


@dataclass(frozen=True, eq=False)
class TrimStep:
    """Changes (P,) of coordinates and of speeds, the forces (P,) that remain to first order, the largest motion."""

    change: Floats
    speed_change: Floats
    remaining: Floats
    extent: float = 0.0


def _nearest(balance: Balance, stepped: Callable[[Balance], TrimStep]) -> Balance:
    """The steady state nearest to a point; stepped : the step from a state. Raises SolveError."""

    def step(balance: Balance) -> TrimStep:
        result = stepped(balance.with_constant_speeds())
        return replace(result, extent=balance.extent(result.change))

    def after(balance: Balance, change: Floats, _: float) -> Balance:
        point = balance.point
        return Balance.of(OperatingPoint.of(point.system, *balance.chart.after(change), point.t))

    def settled(it: Iteration[Balance, TrimStep]) -> bool:
        if not it.within(CONVERGED, rounding=ROUNDED):
            return False
        balance = it.x
        slow = largest(it.residual.speed_change) <= 1e-12 * largest(balance.chart.speeds)
        return balance.point.at_rest or slow or balance.unbalanced(it.residual.remaining)

    end = newton(
        balance,
        step,
        lambda it: np.concatenate([it.residual.change, it.residual.speed_change]),
        after,
        settled,
        iterations=ITERATIONS,
        residual_size=lambda step: step.extent,
    )
    balance = end.x
    if end.converged and not balance.unbalanced(end.residual.remaining):
        return balance
    rates = balance.rates[: balance.chart.free]
    k = int(np.argmax(np.abs(rates)))
    raise SolveError(
        f"no steady motion found near the start: {balance.chart.names[k]} still changes its speed by {rates[k]:.3g} "
        f"per s2; {_advice(balance)}"
    )


def _resting(balance: Balance, given: Floats, persistent: Bools) -> TrimStep:
    """A step to a state of constant speeds.

    given : the speeds of the start. persistent (P,) : which coordinates of a tree keep them.
    """
    equations, chart, P = balance.equations, balance.chart, balance.chart.free
    stiffness, damping, speeds = equations.stiffness[:, :P], equations.damping[:, :P], chart.speeds[:P]
    if chart.joints:
        dw = np.where(persistent, given[:P], 0.0) - speeds
    else:
        # rigid motions of free structures, and other motions that do not change the forces, keep their speeds
        dw = -balance.stiffness.solve(balance.drift) if balance.drifts() else np.zeros(P)
    # speeds of the size of rounding are zero
    small = 1e-12 * np.max(np.abs(chart.speeds), initial=0.0)
    dw = np.where(np.abs(speeds + dw) <= small, -speeds, np.where(np.abs(dw) <= small, 0.0, dw))
    force = balance.imbalance - damping @ dw
    # an angle that revolves has no steady value: it is not changed, and its equation is checked at the end
    moving = bool(chart.joints) and np.any(speeds + dw)
    varied = np.flatnonzero(~((speeds + dw != 0.0) & _angular(balance)[:P])) if moving else np.arange(P)
    block = np.ix_(varied, varied)
    solver = ScaledLeastSquares(stiffness[block], balance.stiffness_size[block]) if moving else balance.stiffness
    rounding = ROUNDING * balance.largest_force
    x = solver.solve_within(force[varied], LARGEST_STEP, lambda x: balance.extent(_spread(P, varied, x)), rounding)
    step = _spread(P, varied, x)
    return TrimStep(step, dw, force - stiffness @ step)


def _spread(P: int, columns: Ints | Sequence[int], x: Floats) -> Floats:
    result = np.zeros(P)
    result[columns] = x
    return result


def _varied(balance: Balance, vary: Sequence[str]) -> TrimStep:
    """A step to a state of constant speeds by changes of the named states."""
    equations, chart, P = balance.equations, balance.chart, balance.chart.free
    columns = [_column(chart, name) for name in vary]
    size = np.hstack([balance.stiffness_size[:, :P], np.abs(equations.damping[:, :P])])[:, columns]
    slopes = np.hstack([equations.stiffness[:, :P], equations.damping[:, :P]])[:, columns]
    x = ScaledLeastSquares(slopes, size).solve_within(
        balance.imbalance, LARGEST_STEP, lambda x: balance.extent(_spread(2 * P, columns, x)[:P])
    )
    change = _spread(2 * P, columns, x)
    if balance.extent(change[:P]) < CONVERGED and balance.extent(change[P:]) < CONVERGED * balance.extent(chart.speeds):
        change[P:] = 0.0
    return TrimStep(change[:P], change[P:], balance.imbalance - slopes @ x)


def _persistent(balance: Balance) -> Bools:
    """(P,) which coordinates of a tree keep their speeds: angles that revolve, and those on which no force depends."""
    chart, P = balance.chart, balance.chart.free
    frequency2 = np.abs(np.diag(balance.equations.stiffness)) / np.diag(balance.equations.mass)
    result: Bools = _angular(balance)[:P] & (chart.speeds[:P] ** 2 > REVOLVING**2 * frequency2)
    result |= ~np.any(balance.nonzero_stiffness, axis=0)[:P]
    return result


def _angular(balance: Balance) -> Bools:
    """(P + D,) which coordinates rotate a frame."""
    layout = balance.point.system.layout
    frames = zip(layout.frames, layout.frame_v, strict=True)
    spins = [j + k for frame, j in frames for k in range(3, frame.freedom)]
    rotates: Bools = np.any(balance.chart.H[spins] != 0.0, axis=0)
    internal = {coordinate.name for coordinate in layout.internal}
    return rotates & [name not in internal for name in (*balance.chart.names, *balance.chart.driven)]


def _advice(balance: Balance) -> str:
    """Advice where there is no steady motion, with the period of an angle that revolves while forces depend on it."""
    chart = balance.chart
    names = (*chart.names, *chart.driven)
    allowed = 1e-6 * np.max(np.abs(chart.speeds), initial=0.0)
    forced = _angular(balance) & np.any(balance.nonzero_stiffness, axis=0) & (np.abs(chart.speeds) > allowed)
    rates = np.where(forced, np.abs(chart.speeds), 0.0)
    k = int(np.argmax(rates)) if len(rates) else -1
    if k < 0 or rates[k] == 0.0:
        return "start nearer, or let more vary"
    return (
        f"{names[k]} turns at {rates[k]:.4g} rad/s and the forces change with it, so that the motion may be periodic: "
        f"look for one with the period {2.0 * np.pi / rates[k]:.6g} s (femb.periodic, --periodic), or start "
        "at rest"
    )


def _column(chart: Chart, name: str) -> int:
    word = name.removesuffix(" rate")
    if word not in chart.names:
        raise ModelError(f"trim: no state {name!r}; there are: {', '.join(chart.names)}, and their 'rate'")
    return chart.names.index(word) + (chart.free if name.endswith(" rate") else 0)


def _stopped_speeds(start: Chart, steady: Chart) -> dict[str, float]:
    """Speeds of the start that the steady state does not have."""
    after = dict(zip(steady.names, steady.speeds, strict=False))
    largest = float(np.max(np.abs(start.speeds), initial=0.0))
    speeds = zip(start.names, start.speeds, strict=False)
    return {name: float(u) for name, u in speeds if abs(after.get(name, u) - u) > 1e-9 * largest}
