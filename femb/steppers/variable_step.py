"""The base of steppers with error control: trial steps until one is accepted, and their lengths.

A method solves the equations of a step, estimates its error, and updates its state when the step is accepted; the loop,
the rejections and the causes of a failure are here. Source: docs/theory/integration.md, section 3.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.layout.element import TrialError
from femb.numerics.kinematics import error_norm
from femb.steppers.contacts import Contacts
from femb.steppers.contract import ABOVE_TOLERANCE, F, Statistics, Step, step_to, too_small
from femb.steppers.diagnosis import step_failure
from femb.steppers.energy import UNBALANCED_ENERGY
from femb.system.block_lu import SingularError

NOT_CONVERGED = "Newton's iteration did not converge"
# Least growth factor for which the step length is changed.
WORTHWHILE = 1.2

T = TypeVar("T")


class VariableStep(ABC, Generic[F, T]):
    """A stepper with error control; T is the type of its trial steps. See ``femb.steppers.contract``."""

    q: Floats
    v: Floats
    work: float
    error_v: Floats | None = None
    # whether to restart also where a contact ends, which costs a multistep method more than it gains
    lands_on_openings = True
    # see ``femb.base.memory``; q, v, work and the rest are those of the method
    memory: ClassVar[tuple[str, ...]] = ("h", "_contacts", "statistics")

    def __init__(self, form: F, run: Run) -> None:
        self.form, self.run = form, run
        self.t = 0.0
        self.statistics = Statistics()
        self.scale_q, self.scale_v = form.error_scale(run.rtol, run.atol)
        self.max_step = run.max_step or np.inf
        # length of the next step, s; zero where it is to be estimated
        self.h = run.first_step or 0.0
        self._contacts = Contacts(run, self.lands_on_openings) if form.system.has_gaps else None
        # rejections of the present step; after one the next step is not longer
        self._rejections = 0

    def step(self, limit: float) -> Step:
        """One accepted step that ends at the next contact at the latest; raises SolveError where none can be made."""
        return self._contacts.step(self, self._accepted, limit) if self._contacts else self._accepted(limit)

    def _accepted(self, limit: float) -> Step:
        """Try steps until one is accepted."""
        h, self._rejections = min(self.h, self.max_step), 0
        cause: str | Exception = ABOVE_TOLERANCE
        while True:
            h = step_to(limit, self.t, h)
            if too_small(limit, h):
                raise step_failure(self, h, cause) from (cause if isinstance(cause, Exception) else None)
            end = limit if h == limit - self.t else self._time_after(h)
            problem: str | Exception = NOT_CONVERGED
            try:
                trial = self._solve(h, end)
            except (TrialError, SingularError) as error:
                trial, problem = None, error
            if trial is None:
                h, cause = self._after_failure(h, problem), problem
            elif not (norm := self._error(trial, h)) <= 1.0:
                self._rejections += 1
                h, cause = self._after_error(trial, h, norm), ABOVE_TOLERANCE
            else:
                try:
                    if self._complete(trial, h, end):
                        self.statistics.steps += 1
                        return self._accept(trial, h, end, norm, end == limit)
                    h, cause = self._after_impact(h), UNBALANCED_ENERGY
                except TrialError as error:
                    self._rejections += 1
                    h, cause = 0.5 * h, error
            self.statistics.rejected += 1

    def land(self, t: float, q: Floats, v: Floats, work: float) -> None:
        """Restart where a contact begins or ends, an instant within the last step or shortly after it."""
        self.jump(t, q, v, work)

    # Implemented by methods

    @abstractmethod
    def restart(self) -> None:
        """Begin a smooth interval at the present state, without history. Raises TrialError."""

    @abstractmethod
    def jump(self, t: float, q: Floats, v: Floats, work: float) -> None:
        """Restart from an instant within the last step, with another state. Raises TrialError."""

    @abstractmethod
    def _solve(self, h: float, end: float) -> T | None:
        """Solve the equations of a step of length h (s) to ``end``; None, TrialError or SingularError on failure."""

    @abstractmethod
    def _error(self, trial: T, h: float) -> float:
        """Norm of the local error of a solved step: at most one where it may be accepted."""

    @abstractmethod
    def _after_error(self, trial: T, h: float, error: float) -> float:
        """The step length to try after an error above one."""

    @abstractmethod
    def _complete(self, trial: T, h: float, end: float) -> bool:
        """Project the end of a step on the constraints; False if its energy balance fails. Raises TrialError."""

    @abstractmethod
    def _accept(self, trial: T, h: float, end: float, error: float, cut: bool) -> Step:
        """Advance to the end of a step and plan the next; cut : whether the step ends at the limit."""

    def _after_failure(self, h: float, cause: str | Exception) -> float:
        """The step length to try after a step whose equations were not solved."""
        self._rejections += 1
        return 0.5 * h

    def _after_impact(self, h: float) -> float:
        """The step length to try after a step whose energy balance failed."""
        self._rejections += 1
        return 0.25 * h

    def _time_after(self, h: float) -> float:
        """The time at the end of a step h, s."""
        return self.t + h

    # Shared by methods

    def _norm(self, error_q: Floats, error_v: Floats, q: Floats, v: Floats) -> float:
        """The larger of the norms of errors of q and of v at a state."""
        return float(max(error_norm(*self.scale_q, error_q, q), error_norm(*self.scale_v, error_v, v)))

    def _next_length(self, h: float, factor: float, cut: bool, worthwhile: float = WORTHWHILE) -> float:
        """``factor`` times h, at most h after rejections; h where the growth is not ``worthwhile``.

        A step shortened to end at a limit does not reduce the length that was planned.
        """
        if self._rejections:
            factor = min(1.0, factor)
        length = h if 1.0 <= factor < worthwhile else h * factor
        return max(length, self.h * min(1.0, factor)) if cut and h < self.h else length
