"""Trim: a state of steady motion near the start - an equilibrium, or a steady rotation of bodies and joints.

    w'(p, w) = 0,    K w = 0,    p and w of independent coordinates in axes that move with the bodies

Newton's iteration with the exact stiffness K at the accelerations of each state (femb.analysis.linear.second_order).
Coordinates that nothing depends on, such as the azimuth of a free rotor, keep their speeds and stay near where they
are: each step is the shortest. The others come to rest, for forces that change along the motion allow no steady one;
what would go round and round is no oscillation about the equilibrium, and refused.
Source: docs/theory/linearisation.md, section 6.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from femb.analysis.linear.balanced import ROUNDING, Balanced
from femb.analysis.linear.chart import Chart
from femb.analysis.linear.point import OperatingPoint
from femb.analysis.linear.steady import Balance, why_unsteady
from femb.base.errors import ModelError, SolveError
from femb.base.types import Bools, Floats, Ints
from femb.model.model import Model
from femb.numerics.newton import Iteration, largest, newton
from femb.system.system import System

ITERATIONS = 50
LARGEST_STEP = 0.3  # rad, or parts of the structure's size, of one iteration
FOUND = 1e-11  # a step as small as this, in the same units, ends the iteration
ROUNDED = 1e-7  # and so does one as small as this that grows no smaller
OVER_THE_TOP = 2.0  # times its frequency about the equilibrium, the rate at which a pendulum begins to go round


def trim(model: Model | System, *, vary: Sequence[str] | None = None, t: float = 0.0) -> OperatingPoint:
    """A state of steady motion, in equilibrium or in steady rotation, from the start of a model or of a System of it.

    vary : names of states, as `linearize` gives them, that may change: coordinates, or their "rate". By default all
    coordinates; speeds that nothing depends on stay, the others come to rest. Steady means that the speeds of the
    independent coordinates - rates of joints, velocities in axes of the bodies - do not change, now and on the way:
    the motion is followed for half a radian with its loads as they are at time t (s).

    Raises ModelError: an unknown name, or what cannot be linearised; SolveError where there is no such state nearby,
    which names a coordinate that goes round while the forces depend on it: its motion may be periodic.
    """
    return trimmed(model, vary=vary, t=t).point


@dataclass(frozen=True, eq=False)
class Trimmed:
    """A steady state, and the speeds that the start has and it has not, by the names of their coordinates."""

    point: OperatingPoint
    balance: Balance
    rested: dict[str, float]


def trimmed(model: Model | System, *, vary: Sequence[str] | None = None, t: float = 0.0) -> Trimmed:
    """A steady state as by ``trim``, and what was brought to rest for it."""
    system = System(model) if isinstance(model, Model) else model
    q, v = _near(system)
    given = Balance.of(OperatingPoint.of(system, q, v, t))
    if vary is not None:
        balance = _nearest(given, lambda each: _varied(each, vary))
    else:
        balance = _nearest(given, lambda each: _resting(each, given.chart.speeds, _going_on(given)))
        if given.chart.joints:
            # what nothing depends on in the steady state, though it does at the start, goes on as well
            wanted = _going_on(given) | ~np.any(balance.depends, axis=0)[: given.chart.free]
            balance = _nearest(balance, lambda each: _resting(each, given.chart.speeds, wanted))
    why = why_unsteady(balance.point, balance)
    if why:
        raise SolveError(f"no steady motion found near the start: {why}; {_advice(balance)}")
    return Trimmed(balance.point, balance, {} if vary is not None else _rested(given.chart, balance.chart))


def _near(system: System) -> tuple[Floats, Floats]:
    """The start; of beams in the steady motion it describes: they are too stiff to bend in one step."""
    from femb.analysis.equilibrium import steady_start

    if system.layout.beams or system.layout.internal:
        with contextlib.suppress(SolveError, ModelError):
            return steady_start(system)
    return system.q0, system.v0


@dataclass(frozen=True, eq=False)
class Step:
    """Changes (P,) of coordinates and of speeds, the forces (P,) left where they are linear, the greatest motion."""

    change: Floats
    slowed: Floats
    left: Floats
    extent: float = 0.0


def _nearest(balance: Balance, stepped: Callable[[Balance], Step]) -> Balance:
    """The steady state nearest to a point; ``stepped`` gives a step from a state. Raises SolveError."""

    def step(balance: Balance) -> Step:
        result = stepped(balance.made_steady())
        return replace(result, extent=balance.extent(result.change))

    def moved(balance: Balance, change: Floats, _: float) -> Balance:
        point = balance.point
        return Balance.of(OperatingPoint.of(point.system, *balance.chart.after(change), point.t))

    def settled(it: Iteration[Balance, Step]) -> bool:
        if not it.within(FOUND, rounding=ROUNDED):
            return False
        balance = it.x
        slow = largest(it.residual.slowed) <= 1e-12 * largest(balance.chart.speeds)
        return balance.point.at_rest or slow or balance.unbalanced(it.residual.left)

    end = newton(
        balance,
        step,
        lambda it: np.concatenate([it.residual.change, it.residual.slowed]),
        moved,
        settled,
        iterations=ITERATIONS,
        residual_size=lambda step: step.extent,
    )
    balance = end.x
    if end.converged and not balance.unbalanced(end.residual.left):
        return balance
    rates = balance.rates[: balance.chart.free]
    k = int(np.argmax(np.abs(rates)))
    raise SolveError(
        f"no steady motion found near the start: {balance.chart.names[k]} still changes its speed by {rates[k]:.3g} "
        f"per s2; {_advice(balance)}"
    )


def _resting(balance: Balance, given: Floats, going_on: Bools) -> Step:
    """A step to where speeds do not change.

    given : the speeds of the start. going_on (P,) : which of a tree's keep them.
    """
    equations, chart, P = balance.equations, balance.chart, balance.chart.free
    stiffness, damping, speeds = equations.stiffness[:, :P], equations.damping[:, :P], chart.speeds[:P]
    if chart.joints:
        slowed = np.where(going_on, given[:P], 0.0) - speeds
    else:
        # rigid motions of free structures, and whatever else leaves the forces as they are
        slowed = -balance.stiffness.solve(balance.drift) if balance.drifts() else np.zeros(P)
    # what rounding leaves of a speed is none
    small = 1e-12 * np.max(np.abs(chart.speeds), initial=0.0)
    slowed = np.where(np.abs(speeds + slowed) <= small, -speeds, np.where(np.abs(slowed) <= small, 0.0, slowed))
    left = balance.left - damping @ slowed
    # an angle that goes round is anywhere: it stays where it is, and its own equation shows at the end if it can
    moving = bool(chart.joints) and np.any(speeds + slowed)
    kept = np.flatnonzero(~((speeds + slowed != 0.0) & _turns(balance)[:P])) if moving else np.arange(P)
    own = np.ix_(kept, kept)
    solver = Balanced(stiffness[own], balance.stiffness_size[own]) if moving else balance.stiffness
    rounding = ROUNDING * balance.largest_force
    changed = solver.solve_within(left[kept], LARGEST_STEP, lambda x: balance.extent(_spread(P, kept, x)), rounding)
    step = _spread(P, kept, changed)
    return Step(step, slowed, left - stiffness @ step)


def _spread(P: int, columns: Ints | Sequence[int], x: Floats) -> Floats:
    whole = np.zeros(P)
    whole[columns] = x
    return whole


def _varied(balance: Balance, vary: Sequence[str]) -> Step:
    """The same where what varies is given by name."""
    equations, chart, P = balance.equations, balance.chart, balance.chart.free
    columns = [_column(chart, name) for name in vary]
    size = np.hstack([balance.stiffness_size[:, :P], np.abs(equations.damping[:, :P])])[:, columns]
    slopes = np.hstack([equations.stiffness[:, :P], equations.damping[:, :P]])[:, columns]
    changed = Balanced(slopes, size).solve_within(
        balance.left, LARGEST_STEP, lambda x: balance.extent(_spread(2 * P, columns, x)[:P])
    )
    whole = _spread(2 * P, columns, changed)
    if balance.extent(whole[:P]) < FOUND and balance.extent(whole[P:]) < FOUND * balance.extent(chart.speeds):
        whole[P:] = 0.0
    return Step(whole[:P], whole[P:], balance.left - slopes @ changed)


def _going_on(balance: Balance) -> Bools:
    """(P,) which coordinates of a tree keep their speeds: angles that go round, and what nothing depends on."""
    chart, P = balance.chart, balance.chart.free
    frequency2 = np.abs(np.diag(balance.equations.stiffness)) / np.diag(balance.equations.mass)
    kept: Bools = _turns(balance)[:P] & (chart.speeds[:P] ** 2 > OVER_THE_TOP**2 * frequency2)
    kept |= ~np.any(balance.depends, axis=0)[:P]
    return kept


def _turns(balance: Balance) -> Bools:
    """(P + D,) which coordinates turn something."""
    layout = balance.point.system.layout
    frames = zip(layout.frames, layout.frame_v, strict=True)
    spins = [j + k for frame, j in frames for k in range(3, frame.freedom)]
    turns: Bools = np.any(balance.chart.H[spins] != 0.0, axis=0)
    internal = {each.name for each in layout.internal}
    return turns & [name not in internal for name in (*balance.chart.names, *balance.chart.driven)]


def _advice(balance: Balance) -> str:
    """What to try where there is no steady motion: the period of an angle that goes round while forces depend on it."""
    chart = balance.chart
    names = (*chart.names, *chart.driven)
    allowed = 1e-6 * np.max(np.abs(chart.speeds), initial=0.0)
    moves = _turns(balance) & np.any(balance.depends, axis=0) & (np.abs(chart.speeds) > allowed)
    rounds = np.where(moves, np.abs(chart.speeds), 0.0)
    k = int(np.argmax(rounds)) if len(rounds) else -1
    if k < 0 or rounds[k] == 0.0:
        return "start nearer, or let more vary"
    return (
        f"{names[k]} turns at {rounds[k]:.4g} rad/s and the forces change with it, so that the motion may be periodic: "
        f"look for one with the period {2.0 * np.pi / rounds[k]:.6g} s (femb.periodic, --periodic), or start "
        "at rest"
    )


def _column(chart: Chart, name: str) -> int:
    word = name.removesuffix(" rate")
    if word not in chart.names:
        raise ModelError(f"trim: no state {name!r}; there are: {', '.join(chart.names)}, and their 'rate'")
    return chart.names.index(word) + (chart.free if name.endswith(" rate") else 0)


def _rested(given: Chart, found: Chart) -> dict[str, float]:
    """Speeds of the start that the steady state has not."""
    after = dict(zip(found.names, found.speeds, strict=False))
    largest = float(np.max(np.abs(given.speeds), initial=0.0))
    before = zip(given.names, given.speeds, strict=False)
    return {name: float(u) for name, u in before if abs(after.get(name, u) - u) > 1e-9 * largest}
