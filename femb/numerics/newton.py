"""Newton's iteration of the analyses: one loop with a limit on rotations, a line search and reasons to stop.

    K(x) c = -r(x),    x <- retract(x, s c),    0 < s <= 1

x is a state of any type, r the residual. A correction c (n,) is a vector of displacements and rotations, which
``retract`` applies: positions are added, quaternions rotated. Finite rotations are not vectors, so s limits every
rotation to ``LARGEST_ROTATION``. A line search halves s until r decreases by a part of the decrease that the linear
equations predict. The implicit steppers have iterations of their own, which start from a prediction and stop early.

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
SHORTEST = 1e-4  # smallest part s of a correction in a line search
DECREASE = 0.1  # part of the predicted decrease that a line search requires

StateT = TypeVar("StateT")
ResidualT = TypeVar("ResidualT")


class Stop(Enum):
    """Why an iteration ended."""

    CONVERGED = "converged"
    NOT_FINITE = "a residual or a correction is not finite"
    NO_DECREASE = "no part of the correction makes the residual smaller"
    ITERATIONS = "too many iterations"


@dataclass(slots=True)
class Iteration(Generic[StateT, ResidualT]):
    """The present state of an iteration, and its result at the end.

    x : the state. residual : at x; at the previous state if the size of the last step ended the iteration.
    count : number of corrections. size, previous : the last two sizes tested for convergence. stopped : why it ended.
    """

    x: StateT
    residual: ResidualT
    count: int = 0
    size: float = inf
    previous: float = inf
    stopped: Stop = Stop.ITERATIONS

    @property
    def converged(self) -> bool:
        """Whether the iteration found a solution."""
        return self.stopped is Stop.CONVERGED

    def within(self, tolerance: float, rounding: float = 0.0) -> bool:
        """Whether the size is at most ``tolerance``, or at most ``rounding`` and no longer halved by a correction."""
        return self.size <= tolerance or (self.size <= rounding and self.size > 0.5 * self.previous)

    @property
    def expected(self) -> float:
        """The size of the next step, if steps go on to fall by the ratio of the last two."""
        return inf if self.previous == inf else self.size * (self.size / self.previous)

    def judged(self, size: float, converged: "Callable[[Iteration[StateT, ResidualT]], bool]") -> bool:
        """Store a new size; whether the iteration ends."""
        self.previous, self.size = self.size, size
        if not isfinite(size):
            self.stopped = Stop.NOT_FINITE
        elif converged(self):
            self.stopped = Stop.CONVERGED
        return self.stopped is not Stop.ITERATIONS


def largest(x: Floats) -> float:
    """The largest absolute value, zero for an empty array: a size of residuals."""
    return float(abs(x).max(initial=0.0))


def newton(
    x: StateT,
    residual: Callable[[StateT], ResidualT],
    correction: Callable[[Iteration[StateT, ResidualT]], Floats | None],
    retract: Callable[[StateT, Floats, float], StateT],
    converged: Callable[[Iteration[StateT, ResidualT]], bool],
    *,
    iterations: int,
    residual_size: Callable[[ResidualT], float] | None = None,
    step_size: Callable[[StateT, Floats, float, StateT], float] | None = None,
    rotations: Ints | None = None,
    largest_rotation: float = LARGEST_ROTATION,
    line_search: Callable[[ResidualT], float] | None = None,
) -> Iteration[StateT, ResidualT]:
    """Iterate from x, at most ``iterations`` times; the result tells whether it converged and why it ended.

    correction : c (n,) at the present state and residual; None requests another call, with more damping.
    retract : the state after the part s of a correction.
    converged : tests the size of the residual, residual_size(r), before a correction, or that of the step,
    step_size(x, c, s, new x), after it.
    rotations : indices in c of the components of rotations that ``largest_rotation`` (rad) limits.
    line_search : the norm of residuals that every step must decrease; needs residual_size.

    Exceptions of the callables are not caught.
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
        # with residual_size, the next residual shows it
        if step_size is not None and not np.isfinite(c).all():
            it.stopped = Stop.NOT_FINITE
            break
        rotation = 0.0 if rotations is None else largest(c[rotations])
        part = largest_rotation / rotation if rotation > largest_rotation else 1.0
        new = retract(it.x, c, part)
        if line_search is None:
            evaluated = False
        else:
            norm = line_search(it.residual)
            while True:
                trial_residual = residual(new)
                trial = Iteration(new, trial_residual, size=residual_size(trial_residual) if residual_size else inf)
                if line_search(trial_residual) < (1.0 - DECREASE * part) * norm or converged(trial):
                    break
                part *= 0.5
                if part < SHORTEST:
                    it.stopped = Stop.NO_DECREASE
                    return it
                new = retract(it.x, c, part)
            it.residual = trial_residual
        ended = step_size is not None and it.judged(step_size(it.x, c, part, new), converged)
        it.x = new
        if ended:
            break
    return it
