"""Newton's iteration of the analyses: one loop with its limit on rotations, line search and reasons to stop.

    K(x) c = -r(x),    x <- retract(x, s c),    0 < s <= 1

x is a state of any kind, r what is to vanish. A correction c (n,) is a vector of displacements and rotations, which
``retract`` applies: positions add, quaternions turn. A finite rotation is a vector only nearly, so that s keeps every
rotation below ``LARGEST_ROTATION``. A line search halves s until r falls by a part of what the linear equations
promise. The implicit steppers iterate by themselves: their iterations are predicted, and given up early.

Source: J. Nocedal, S. J. Wright, Numerical Optimization, section 11.2 (sufficient decrease).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import inf, isfinite
from typing import Generic, TypeVar

import numpy as np

from femb.base.types import Floats, Ints

LARGEST_ROTATION = 0.3  # rad, of one correction
SHORTEST = 1e-4  # part of a correction below which a line search gives up
DECREASE = 0.1  # part of the promised decrease that a line search asks for

State = TypeVar("State")
Residual = TypeVar("Residual")


class Stop(Enum):
    """Why an iteration ended."""

    CONVERGED = "converged"
    NOT_FINITE = "a residual or a correction is not finite"
    NO_DECREASE = "no part of the correction makes the residual smaller"
    ITERATIONS = "too many iterations"


@dataclass(slots=True)
class Iteration(Generic[State, Residual]):
    """An iteration under way, and at its end its result.

    x : the state. residual : at x; where the size of the last step ended the iteration, at the state before.
    count : corrections so far. size, previous : the size that the test of convergence judges, and the one before.
    stopped : why the iteration ended.
    """

    x: State
    residual: Residual
    count: int = 0
    size: float = inf
    previous: float = inf
    stopped: Stop = Stop.ITERATIONS

    @property
    def converged(self) -> bool:
        """Whether it ended in a solution."""
        return self.stopped is Stop.CONVERGED

    def within(self, tolerance: float, rounding: float = 0.0) -> bool:
        """Whether the size is at most the tolerance, or is rounding: at most ``rounding``, and no longer halved."""
        return self.size <= tolerance or (self.size <= rounding and self.size > 0.5 * self.previous)

    def judged(self, size: float, converged: "Callable[[Iteration[State, Residual]], bool]") -> bool:
        """Whether the iteration ends at a new size."""
        self.previous, self.size = self.size, size
        if not isfinite(size):
            self.stopped = Stop.NOT_FINITE
        elif converged(self):
            self.stopped = Stop.CONVERGED
        return self.stopped is not Stop.ITERATIONS


def largest(x: Floats) -> float:
    """The largest absolute value, zero of an empty array: a size of residuals."""
    return float(abs(x).max(initial=0.0))


def newton(
    x: State,
    residual: Callable[[State], Residual],
    correction: Callable[[Iteration[State, Residual]], Floats | None],
    retract: Callable[[State, Floats, float], State],
    converged: Callable[[Iteration[State, Residual]], bool],
    *,
    iterations: int,
    residual_size: Callable[[Residual], float] | None = None,
    step_size: Callable[[State, Floats, float, State], float] | None = None,
    rotations: Ints | None = None,
    line_search: Callable[[Residual], float] | None = None,
) -> Iteration[State, Residual]:
    """Iterate from x, with at most so many ``iterations``; the result says whether and why it ended.

    correction : c (n,) at the present state and residual; None to be asked again, with more damping.
    retract : the state after the part s of a correction.
    converged : judges the size of the residual, residual_size(r), before a correction, or that of the step,
    step_size(x, c, s, new x), after it.
    rotations : where the components of rotations are in c, which the limit shortens it by.
    line_search : the norm of residuals that each step has to decrease; needs residual_size.

    Exceptions of the callables pass through.
    """
    it = Iteration(x, residual(x))
    evaluated = True
    for it.count in range(iterations):
        if not evaluated:
            it.residual, evaluated = residual(it.x), True
        if residual_size is not None and it.judged(residual_size(it.residual), converged):
            break
        c = correction(it)
        it.count += 1
        if c is None:
            continue
        # where residuals are judged, the next one tells
        if step_size is not None and not np.isfinite(c).all():
            it.stopped = Stop.NOT_FINITE
            break
        rotation = 0.0 if rotations is None else largest(c[rotations])
        part = LARGEST_ROTATION / rotation if rotation > LARGEST_ROTATION else 1.0
        new = retract(it.x, c, part)
        if line_search is None:
            evaluated = False
        else:
            norm = line_search(it.residual)
            while True:
                after = residual(new)
                trial = Iteration(new, after, size=residual_size(after) if residual_size else inf)
                if line_search(after) < (1.0 - DECREASE * part) * norm or converged(trial):
                    break
                part *= 0.5
                if part < SHORTEST:
                    it.stopped = Stop.NO_DECREASE
                    return it
                new = retract(it.x, c, part)
            it.residual = after
        done = step_size is not None and it.judged(step_size(it.x, c, part, new), converged)
        it.x = new
        if done:
            break
    return it
