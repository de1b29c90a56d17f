"""Newton's iteration of a step: as calls of bound kernels, by Python or in one call, and what its corrections tell."""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Any, TypeAlias

import numpy as np

from femb.base.types import Floats, Ints
from femb.layout.element import TrialError
from femb.numerics.block_kernels import multiply, solve
from femb.numerics.compiler.bound_calls import Bound, BoundSequence, Known, call_each, program
from femb.steppers.step_kernels import (
    CONVERGED,
    DONE,
    GOES_ON,
    LOOKED_AHEAD,
    PREPARED,
    RATE,
    RATIO,
    UNDEFINED,
    UNPREPARED,
    called,
    judged,
    try_step,
)
from femb.system.block_lu import Factorisation, Factors, Matrix

# The second correction also removes the quadratic part of the first one, such as the stretch of members that turn: from
# this fraction of the first one on, it does not tell the rate.
RESTORING = 0.3


class Convergence:
    """Judges a simplified Newton iteration by the sizes of its corrections and by their rate.

    tolerance : of the remaining error. iterations : the largest number of them; infinity to omit the test whether they
    suffice. doubted : corrections up to this size, with reused matrices, must decrease. restoring : a second correction
    of at least this fraction of the first gives no rate; of more than ``diverging`` times the first it ends the
    iteration. least : a rate between `NEGLIGIBLE` and this counts as this. rounding : third and later corrections up to
    this size that do not decrease are rounding, and end the iteration. memory (5,) : of ``judged``, which compiled
    steps call with the same ``limits``.
    E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8.
    """

    __slots__ = ("limits", "memory")

    def __init__(
        self, tolerance: float, iterations: float, doubted: float = 0.0, restoring: float = inf, diverging: float = inf,
        least: float = 0.0, rounding: float = 0.0,
    ) -> None:  # fmt: skip
        self.limits = (tolerance, float(iterations), doubted, restoring, diverging, least, rounding)
        self.begin()

    def begin(self) -> None:
        """Begin another iteration."""
        self.memory: list[float] = [0.0] * 5

    def reached(self, size: float) -> bool | None:
        """True if the iteration has converged with a correction of this size, False if it will not, None to iterate."""
        outcome = judged(self.limits, self.memory, size)
        return None if outcome == GOES_ON else outcome == CONVERGED

    @property
    def done(self) -> int:
        """Number of corrections."""
        return int(self.memory[DONE])

    @property
    def rate(self) -> float:
        """The rate of the last corrections above rounding."""
        return self.memory[RATE]

    @rate.setter
    def rate(self, value: float) -> None:
        self.memory[RATE] = value

    @property
    def ratio(self) -> float:
        """The size of the last correction over that of the one before."""
        return self.memory[RATIO]


Call: TypeAlias = Callable[[], Any]

# What a step forms before its iteration: nothing, factors of the matrices that there are, or also matrices.
NOTHING, FACTORS, MATRICES = range(3)


class BoundSolution(BoundSequence):
    """The solution for x (n,), in place, by factors that the next ones replace."""

    def __init__(self, x: Any) -> None:
        super().__init__([])
        self._x = x

    def by(self, factors: Factors) -> None:
        """Solve by these factors from now on."""
        blocks = type(factors) is Factorisation
        self.calls = [Bound(solve, *factors.arguments, self._x) if blocks else partial(factors.solve, self._x)]  # type: ignore[attr-defined]


class BoundProduct(BoundSequence):
    """The product y (n,) of a matrix that is replaced by others, and x (n,)."""

    def __init__(self, x: Floats, y: Floats) -> None:
        super().__init__([])
        self._x, self._y = x, y

    def by(self, matrix: Matrix, solver: Any, blocks: bool) -> None:
        """Take this matrix from now on; blocks : whether it is block data."""
        x, y = self._x, self._y
        if not blocks:
            self.calls = [lambda: np.copyto(y, solver.multiply(matrix, x))]
        elif self.calls and isinstance(self.calls[0], Bound):
            self.calls[0].point("data", matrix)
        else:
            structure = solver.structure
            self.calls = [Bound(multiply, structure[0], *structure[2:], matrix, x, y)]


class Calls(BoundSequence):
    """Calls without arguments, in order: by Python, or once they are ``put_together`` by one call of compiled code, to
    the same numbers."""

    def __init__(self, calls: Sequence[Call]) -> None:
        super().__init__(calls)
        self.take_apart()

    def take_apart(self) -> None:
        """Let Python make the calls, of which some have been replaced."""
        self.tried = False
        self._entries: Ints | None = None

    def put_together(self, known: Known) -> None:
        """Let one call make all of them from now on, if each is a kernel."""
        self.tried, self._entries = True, program(self.calls, known)

    @property
    def entries(self) -> Ints:
        """(n, 2) of the kernels that are put together, none if some are not."""
        return np.zeros((0, 2), dtype=np.int64) if self._entries is None else self._entries

    def made(self) -> bool:
        """Make the calls, up to equations that are not defined; whether there are none."""
        if self._entries is not None:
            return bool(call_each(self._entries) == len(self._entries))
        try:
            self()
        except TrialError:
            return False
        return True

    def number(self) -> float:
        """Make the calls; returns the number that the last one does."""
        result: float = self() if self._entries is None else called(self._entries)
        return result


def _listed(call: Call | None) -> list[Call]:
    return [] if call is None else [call]


class StepProgram:
    """A trial step as calls without arguments: kernels bound to the arrays of a stepper, and functions of Python where
    an input, an element or a solver has no kernel.

    matrices, factors : form them anew; they raise TrialError and SingularError. start : before the iteration.
    equations : of the iteration, which raise TrialError. correction : of the unknowns; the last call returns its size.
    errors : form an estimate of the error, by equations that raise TrialError; the last call of ``size`` returns its
    norm, zero without any. again : in place of ``errors``, for another estimate that replaces one above one. end : what
    follows where it is at most one; raises TrialError. ahead : what prepares the next step, once this one is accepted;
    certain : whether that is known where already the first estimate is at most one.

    Python makes the calls one by one. Once they are ``put_together``, one call of compiled code makes all of them, to
    the same numbers; matrices and the end may be left to Python.

    formed, factorised : whether matrices and factors were formed for the last step. unfiltered : its first estimate;
    estimates : their number.
    ended, looked_ahead : whether ``end`` and ``ahead`` are made.
    """

    def __init__(
        self, start: Sequence[Call], equations: Call, correction: Sequence[Call], errors: Sequence[Call] = (),
        size: Sequence[Call] = (), matrices: Call | None = None, factors: Call | None = None,
        again: Sequence[Call] = (), end: Sequence[Call] = (), ahead: Sequence[Call] = (), certain: bool = False,
    ) -> None:  # fmt: skip
        self._start, self._equations, self._correction = start, equations, correction
        self._errors, self._size, self._again = errors, size, again
        self._matrices, self._factors, self._end = _listed(matrices), _listed(factors), Calls(end)
        self._ahead, self._certain = Calls(ahead), certain
        # of ``try_step``; the kernels that form matrices, none if Python does, and those that form matrices and factors
        self._numbers, self._first, self._prepared = np.zeros(LOOKED_AHEAD + 1), 0, 0
        self.formed = self.factorised = self.ended = self.looked_ahead = False
        self.unfiltered, self.estimates = inf, 0
        self.take_apart()

    def take_apart(self) -> None:
        """Let Python make the calls."""
        self.tried = False
        self._whole: Bound | None = None
        self._entry: Ints | None = None
        self._limits: tuple[object, int, int] | None = None
        self._end.take_apart()
        self._ahead.take_apart()

    def put_together(self, known: Known) -> None:
        """Let one compiled call make the step, if each part is a kernel."""
        self.tried = True
        parts = self._factors, self._start, [self._equations], self._correction
        programs: list[Ints] = []
        for part in (*parts, self._errors, self._size, self._again):
            if (entries := program(part, known)) is None:
                return
            programs.append(entries)
        matrices = program(self._matrices, known)
        if matrices is not None:
            programs[0] = np.concatenate([matrices, programs[0]])
        self._first, self._prepared = 0 if matrices is None else len(matrices), len(programs[0])
        self._end.put_together(known)
        self._ahead.put_together(known)
        ahead = self._ahead.entries[: None if self._certain else 0]
        self._whole = Bound(try_step, *programs, self._end.entries, ahead, (0.0,) * 9, self._numbers)
        self._entry = program([self._whole], known)

    def run(
        self, most: int, newton: Convergence, anew: int = NOTHING, repeats: int = 0, forming: int = 0,
        form: Callable[[], None] | None = None,
    ) -> tuple[int, float]:  # fmt: skip
        """The outcome of ``judged`` for the iteration, and the norm of the error estimate, infinity where its equations
        are undefined. Raises TrialError and SingularError.

        most : the largest number of iterations. anew : what is formed before, NOTHING, FACTORS or MATRICES too.
        repeats : how often an estimate above one is replaced. form : called before the first ``forming`` iterations.
        """
        self.formed = self.factorised = self.ended = self.looked_ahead = False
        self.estimates = 0
        if self._entry is None or forming:
            self._prepare(anew)
            for call in self._start:
                call()
            outcome = GOES_ON
            for count in range(most):
                if count < forming and form is not None:
                    form()
                self._equations()
                outcome = judged(newton.limits, newton.memory, [call() for call in self._correction][-1])
                if outcome != GOES_ON:
                    break
            return outcome, self._estimated(repeats) if outcome == CONVERGED else inf
        if anew == MATRICES and not self._first:
            self._form_matrices()
            anew = FACTORS
        self._numbers[PREPARED] = (self._prepared, self._first, 0)[anew]
        limits = newton.limits, most, repeats
        if limits != self._limits:
            self._limits = limits
            for k, each in enumerate((most, *newton.limits, repeats)):
                self._whole.set("limits", each, k)  # type: ignore[union-attr]
        call_each(self._entry)
        *newton.memory, found, norm, self.unfiltered, estimates, prepared, ended, ahead = self._numbers.tolist()
        self.estimates = int(estimates)
        if anew == MATRICES:
            self.formed = prepared >= self._first
        self.factorised, self.ended = anew != NOTHING and found != UNPREPARED, ended == 1.0
        self.looked_ahead = ahead == 1.0
        # the same calls by Python raise the error that says why
        if found == UNPREPARED:
            self._prepare(FACTORS if self.formed else anew)
        elif found == UNDEFINED:
            self._equations()
        return int(found), norm

    def _prepare(self, anew: int) -> None:
        """Form factors, and matrices before them if these are asked for."""
        if anew == MATRICES:
            self._form_matrices()
        if anew != NOTHING:
            for call in self._factors:
                call()
            self.factorised = True

    def _form_matrices(self) -> None:
        for call in self._matrices:
            call()
        self.formed = True

    def reach_end(self) -> None:
        """Make the calls of the end, unless the last step has. Raises TrialError."""
        if not self.ended and not self._end.made():
            self._end()

    def look_ahead(self) -> None:
        """Make the calls that prepare the next step, unless the last step has."""
        if not self.looked_ahead:
            self._ahead.made()

    def _estimated(self, repeats: int) -> float:
        """The norm of the error estimate."""
        norm = self.unfiltered = self._estimate(self._errors)
        for _ in range(repeats):
            if not 1.0 < norm < inf:
                break
            norm = self._estimate(self._again)
        return norm

    def _estimate(self, errors: Sequence[Call]) -> float:
        """The norm of one estimate, infinity where its equations are undefined."""
        try:
            for call in errors:
                call()
        except TrialError:
            return inf
        norm = 0.0
        for call in self._size:
            norm = call()
        self.estimates += 1
        return norm
