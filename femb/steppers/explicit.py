"""The base of explicit Runge-Kutta methods: the state as one array, its rate, stages, and projections."""

from functools import cached_property
from typing import ClassVar, TypeAlias, cast

import numpy as np

from femb.base.types import Floats
from femb.formulations.contract import Formulation, WithStages
from femb.steppers.contract import Statistics, left_limit
from femb.steppers.dense import End

Tableau: TypeAlias = tuple[Floats, Floats]
"""Coefficients A (stages, stages) of the rates in the states of a method, and their times C (stages,) in a step."""

# Coefficients that evaluate the rate at a state itself.
NO_STAGES = np.zeros((1, 1))


class Explicit:
    """Base of explicit methods: the state y = (q, v, work) as one array, and its rate."""

    form: Formulation
    statistics: Statistics
    error_v: Floats | None = None
    memory: ClassVar[tuple[str, ...]] = ("t", "y", "rate", "statistics")

    def recalled(self) -> None:
        """Take up the state of the memory."""
        self._go_to(self.t, self.y)

    @cached_property
    def _compiles(self) -> bool:
        """Whether the formulation, in any discrete state, may have its rates as one compiled function."""
        return isinstance(self.form, WithStages)

    def _go_to(self, t: float, y: Floats) -> None:
        """Set the time and the state y, with q (n_q,), v (n_v,) and the work (J) as its parts."""
        self.t, self.y = t, y
        self.n_q = self.form.n_q
        self.q, self.v, self.work = y[: self.n_q], y[self.n_q : -1], float(y[-1])

    def restart(self) -> None:
        """Evaluate the rate anew: inputs may jump here."""
        self.rate = self._rate(self.t, self.y)

    def jump(self, t: float, q: Floats, v: Floats, work: float) -> None:
        """Restart from a state within the last step."""
        self._go_to(t, np.concatenate([q, v, [work]]))
        self.restart()

    def _rate(self, t: float, y: Floats) -> Floats:
        form = self.form
        self.statistics.evaluations += 1
        rate = np.empty_like(y)
        if self._compiles and (compiled := cast(WithStages, form)).has_stages:
            compiled.stages(NO_STAGES, 0, 1, 0.0, y, rate[None])
            return rate
        q, v = y[: self.n_q], y[self.n_q : -1]
        u = form.inputs_at(t, q, v)
        rate[: self.n_q] = form.rates(q[None], v[None])[0]
        rate[self.n_q : -1], multipliers = form.forward(u, q, v)
        rate[-1] = form.power(u[None], q[None], v[None], multipliers[None])[0]
        return rate

    def _stages(
        self, tableau: Tableau, first: int, last: int, h: float, start: float, end: float, y0: Floats, K: Floats
    ) -> Floats:
        """Set rows ``first`` to ``last`` - 1 of the stages K of a step, start to end (s); returns the last state."""
        A, C = tableau
        if self._compiles and (form := cast(WithStages, self.form)).has_stages:
            self.statistics.evaluations += last - first
            return form.stages(A, first, last, h, y0, K)
        for s in range(first, last):
            y = y0 + h * (A[s, :s] @ K[:s])
            K[s] = self._rate(left_limit(end, start) if C[s] == 1.0 else start + h * C[s], y)
        return y

    def _project(self, t: float, y: Floats) -> Floats:
        """y with unit quaternions and on the constraints, in place; returns its rate."""
        q, v = y[: self.n_q], y[self.n_q : -1]
        self.form.normalise(q)
        if self.form.n_c:
            u = self.form.inputs_at(t, q, v)
            y[: self.n_q], y[self.n_q : -1] = self.form.projected(u, q, v)
        return self._rate(t, y)

    def _check_singularities(self, states: list[Floats], last: bool) -> None:
        """Check the states of a step for singularities; ``last`` where no shorter step can be made."""
        y = np.array(states)
        q, v = np.ascontiguousarray(y[:, : self.n_q]), np.ascontiguousarray(y[:, self.n_q : -1])
        self.form.check_singularities(self.t, q, v, last)

    def _state(self, y: Floats, rate: Floats) -> End:
        """(q, v, a, work, power) for the dense output."""
        return y[: self.n_q], y[self.n_q : -1], rate[self.n_q : -1], float(y[-1]), float(rate[-1])
