"""A trial step of an implicit method as a list of stages, whose kernels one compiled call makes."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any, NamedTuple

import numpy as np

from femb.base.types import Floats
from femb.layout.element import TrialError
from femb.numerics.block_kernels import multiply, solve
from femb.numerics.compiler.bound_calls import Bound, BoundSequence, Known, Program
from femb.steppers.step_kernels import (
    CONVERGED,
    DONE,
    ENDED,
    ESTIMATES,
    LOOKED_AHEAD,
    NORM,
    OUTCOME,
    RATE,
    RATIO,
    REPEATS,
    UNDEFINED,
    UNFILTERED,
    try_step,
)
from femb.system.block_lu import Factorisation, Factors, Matrix

# The second correction also removes the quadratic part of the first one, such as the stretch of members that turn: from
# this fraction of the first one on, it does not tell the rate.
RESTORING = 0.3


class Convergence(NamedTuple):
    """Limits by which ``judged`` ends a simplified Newton iteration, by the sizes of its corrections and their rate.

    tolerance : of the remaining error. iterations : the largest number of them; infinity to omit the test whether they
    suffice. doubted : corrections up to this size, with reused matrices, must decrease. restoring : a second correction
    of at least this fraction of the first gives no rate; of more than ``diverging`` times the first it ends the
    iteration. least : a rate between `NEGLIGIBLE` and this counts as this. rounding : third and later corrections up to
    this size that do not decrease are rounding, and end the iteration.
    E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8.
    """

    tolerance: float
    iterations: float
    doubted: float = 0.0
    restoring: float = inf
    diverging: float = inf
    least: float = 0.0
    rounding: float = 0.0


class BoundSolution(BoundSequence):
    """The solution for x (n,), in place, by factors that the next ones replace."""

    _factors: Factors

    def __init__(self, x: Any) -> None:
        super().__init__([Bound(self._solve)])
        self._x = x

    def by(self, factors: Factors) -> None:
        """Solve by these factors from now on."""
        self._factors = factors
        if type(factors) is Factorisation:
            self.calls = [Bound(solve, *factors.arguments, self._x)]
        elif self.calls[0].kernel is solve:  # type: ignore[attr-defined]
            self.calls = [Bound(self._solve)]

    def _solve(self) -> None:
        self._factors.solve(self._x)


class BoundProduct(BoundSequence):
    """The product y (n,) of a matrix that is replaced by others, and x (n,)."""

    _of: tuple[Matrix, Any]

    def __init__(self, x: Floats, y: Floats) -> None:
        super().__init__([Bound(self._multiply)])
        self._x, self.y = x, y

    def by(self, matrix: Matrix, solver: Any, blocks: bool) -> None:
        """Take this matrix from now on; blocks : whether it is block data."""
        self._of, (call,) = (matrix, solver), self.calls
        if blocks and isinstance(call, Bound) and call.kernel is multiply:
            call.point("data", matrix)
        elif blocks:
            self.calls = [Bound(multiply, solver.structure, matrix, self._x, self.y)]
        elif call.kernel is multiply:  # type: ignore[attr-defined]
            self.calls = [Bound(self._multiply)]

    def _multiply(self) -> None:
        matrix, solver = self._of
        np.copyto(self.y, solver.multiply(matrix, self._x))


@dataclass(frozen=True, eq=False)
class Stages:
    """The stages of a trial step in their order: kernels bound to the arrays of a stepper, and functions of Python
    where an input, an element or a solver has no kernel.

    start : the states before the iteration. Then in each iteration equations, which raise TrialError, and a correction
    of the unknowns, whose last call returns its size; before the first ones, in a full Newton method, also ``renew``,
    which forms matrices at the present state. errors : an estimate of the error, by equations that raise TrialError;
    size : the last call returns its norm, zero without any. again : in place of ``errors``, for another estimate that
    replaces one above one. end : onto the constraints, where the norm is at most one; raises TrialError. ahead : what
    prepares the next step, once this one is accepted; certain : whether that is known where already the first estimate
    is at most one.
    """

    start: Sequence[Any]
    equations: Sequence[Any]
    correction: Sequence[Any]
    renew: Sequence[Any] = ()
    errors: Sequence[Any] = ()
    size: Sequence[Any] = ()
    again: Sequence[Any] = ()
    end: Sequence[Any] = ()
    ahead: Sequence[Any] = ()
    certain: bool = False


# The stages whose calls may raise errors in an iteration, and in an estimate.
OF_ITERATION, OF_ESTIMATE = ("renew", "equations", "correction"), ("errors", "size", "again")


class StepProgram:
    """The stages of a trial step as one compiled call.

    numbers (11,) : what it tells, see ``femb.steppers.step_kernels``.
    """

    def __init__(self, stages: Stages) -> None:
        self.numbers, self._limits = np.zeros(LOOKED_AHEAD + 1), np.zeros(REPEATS + 1)
        words = [field.name for field in fields(stages) if field.name != "certain"]
        self._programs = {word: Program(getattr(stages, word)) for word in words}
        self._certain = stages.certain
        self._limited: tuple[float, ...] = ()
        self.take_apart()

    def take_apart(self) -> None:
        """Take up calls anew, of which some have been replaced."""
        self.tried = False

    def put_together(self, known: Known) -> None:
        """Let one compiled call make the step; known : see ``Program.put_together``."""
        self.tried = True
        parts = {}
        for word, each in self._programs.items():
            each.take_apart()
            parts[word] = each.put_together(known)
        if not self._certain:
            parts["ahead"] = parts["ahead"][:0]
        self._whole = Program([Bound(try_step, *parts.values(), self._limits, self.numbers)])

    def limited(self, newton: Convergence, most: int, renewing: int = 0, repeats: int = 0) -> Program:
        """The step as one call. most : the largest number of iterations. renewing : how many of them begin with
        matrices formed anew. repeats : how often an estimate above one is replaced."""
        if not self.tried:
            self.put_together({})
        if (limits := (*newton, most, renewing, repeats)) != self._limited:
            self._limits[:] = self._limited = limits
        return self._whole

    def run(self, newton: Convergence, most: int, renewing: int = 0, repeats: int = 0) -> float | None:
        """The norm of the error estimate, infinite where its equations are undefined; None where the iteration does
        not converge. Raises TrialError and SingularError. Arguments as in ``limited``."""
        self.limited(newton, most, renewing, repeats)()
        outcome, norm = self.numbers[OUTCOME], float(self.numbers[NORM])
        if outcome != CONVERGED:
            self._raise(OF_ITERATION)
            if outcome == UNDEFINED:
                # once more by Python, which tells why
                BoundSequence.__call__(self._programs["equations"])
            return None
        if not norm < inf:
            self._raise(OF_ESTIMATE, TrialError)
        return norm

    def _raise(self, stages: Sequence[str], but: type[Exception] | tuple[()] = ()) -> None:
        """Raise an error of functions of Python in some stages, but those of a class."""
        for bound in (each for word in stages for each in self._programs[word].bound if each.error is not None):
            error, bound.error = bound.error, None
            if error is not None and not isinstance(error, but):
                raise error

    @property
    def done(self) -> int:
        """The number of corrections."""
        return int(self.numbers[DONE])

    @property
    def rate(self) -> float:
        """The rate of the last corrections above rounding."""
        return float(self.numbers[RATE])

    @property
    def ratio(self) -> float:
        """The size of the last correction over that of the one before."""
        return float(self.numbers[RATIO])

    @property
    def unfiltered(self) -> float:
        """The norm of the first estimate."""
        return float(self.numbers[UNFILTERED])

    @property
    def estimates(self) -> int:
        """The number of estimates."""
        return int(self.numbers[ESTIMATES])

    def reach_end(self) -> None:
        """Make the calls of the end, unless the last step has. Raises TrialError."""
        if not self.numbers[ENDED]:
            self._programs["end"]()

    def look_ahead(self) -> None:
        """Make the calls that prepare the next step, unless the last step has."""
        if not self.numbers[LOOKED_AHEAD]:
            self._programs["ahead"]()
