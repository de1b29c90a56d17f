"""Critical loads: where eigenvalues of the stiffness change their sign on a path of equilibria, by bisection.

Source: docs/theory/statics.md, section 4.
"""

from collections.abc import Callable
from dataclasses import dataclass

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.statics.path import NEXT, Equilibrium, LoadPath
from femb.statics.path_measure import STILL

CROSSING = 0.1  # of the stiffness of a mode one load step before: no more is left next to a critical load
CRITICAL = 1e-7  # relative accuracy of critical load factors
SHARES = (0.5, 0.4, 0.6, 0.25, 0.75)  # of an interval, at which its inside is tried


@dataclass(frozen=True, eq=False)
class Critical:
    """A load factor at which an eigenvalue of the stiffness changes its sign, the equilibrium before it, and the mode
    (n_v,): displacements and rotations, of which the largest is one (extent of the model, or rad)."""

    load: float
    before: Equilibrium
    mode: Floats


def critical_between(path: LoadPath, before: Equilibrium, after: Equilibrium) -> list[Critical]:
    """The load factors between two neighbours on the path at which eigenvalues change their sign, by bisection.

    Several at once, where their load factors agree to the accuracy asked for.
    """
    between = _between(path, before, after)
    found: list[Critical] = []
    low, low_part = before, 0.0
    sign = 1 if after.negative > before.negative else -1
    while sign * (after.negative - low.negative) > 0:
        high, high_part = after, 1.0
        while not _as_one(low, high, high_part - low_part):
            middle_part, middle = _inside(between, (low, low_part), (high, high_part))
            if sign * (middle.negative - low.negative) > 0:
                high, high_part = middle, middle_part
            else:
                low, low_part = middle, middle_part
        count = abs(high.negative - low.negative)
        load = 0.5 * (low.load + high.load)
        modes = path.stiffness.softest(low.found, count)
        _check_crossing(path, (before, after), (low, high), modes[0])
        found += [Critical(load, low, mode) for mode in modes]
        low, low_part = high, high_part
    path.statics.advanced(after.found.q)
    return found


def _inside(
    between: Callable[[Equilibrium, Equilibrium, float], Equilibrium],
    low: tuple[Equilibrium, float],
    high: tuple[Equilibrium, float],
) -> tuple[float, Equilibrium]:
    """An equilibrium in an interval and its part of the way: in its middle, or beside it where that is so near a
    bifurcation that the iteration does not end. Raises SolveError."""
    for share in SHARES:
        part = low[1] + share * (high[1] - low[1])
        try:
            return part, between(low[0], high[0], part)
        except SolveError:
            if share == SHARES[-1]:
                raise
    raise AssertionError


def _check_crossing(
    path: LoadPath, step: tuple[Equilibrium, Equilibrium], pair: tuple[Equilibrium, Equilibrium], mode: Floats
) -> None:
    """Refuse a change of sign without a zero: the iteration went over to another branch of equilibria, away from that
    before it.

    pair : the states before and after the change in a ``step``.
    """
    (before, _), (low, _) = step, pair
    left = abs(path.stiffness.along(low.found, mode)) if low is not before else 0.0
    if path.apart(*pair) > NEXT * path.apart(*step) + STILL or left > CROSSING * abs(
        path.stiffness.along(before.found, mode)
    ):
        raise SolveError(
            f"the iteration goes over to another path at the load factor {low.load:.6g}: no stiffness is zero there"
        )


def _between(
    path: LoadPath, before: Equilibrium, after: Equilibrium
) -> Callable[[Equilibrium, Equilibrium, float], Equilibrium]:
    """A function from two states and a part of the way from ``before`` to ``after`` to the equilibrium there."""
    if path.control is not None:
        start, end = (path.control.place(state.found.q) for state in (before, after))
        return lambda low, high, part: path.pushed(low, start + part * (end - start), within=True)
    if path.arc is None:
        change = after.load - before.load
        return lambda low, high, part: path.raised(low, before.load + part * change, within=True)
    tangent = path.direction(before, None, 1.0)
    q = before.found.q
    moved = path.statics.twin.tangents(q, (after.found.q - q)[None])[0]  # to first order
    whole = tangent.along(moved) + tangent.by_load * (after.load - before.load)
    return lambda low, high, part: path.step(before, tangent, part * whole, patient=True)


def _as_one(low: Equilibrium, high: Equilibrium, part: float) -> bool:
    """Whether two states on the path are as near as critical load factors are asked for."""
    if part < 1e-12:
        return True
    return abs(high.load - low.load) <= CRITICAL * max(abs(low.load), abs(high.load)) and part <= 1e-2
