"""Gauss-Legendre steps of fixed length, orders 4 and 6: symplectic where the coordinates are canonical.

The collocation itself is ``femb.steppers.collocation``; this is its stepper. Accelerations come from the
equations with the constraints on accelerations (index 1), and the state is projected on the constraints after each
step, as in ``femb.steppers.runge_kutta``. Source: docs/theory/integration.md, section 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from femb.base.errors import SolveError
from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import Formulation, WithStiffJacobian
from femb.layout.element import TrialError
from femb.steppers.collocation import Collocation
from femb.steppers.contract import Step, lands, left_limit
from femb.steppers.dense import End, HermiteStep


class Gauss:
    """Steps of the length ``run.step``, shorter only to end at a limit; ``run.order`` 4 or 6.

    Stages are solved by fixed-point iteration, for which the step must resolve the fastest motion; after the first
    failure, if the formulation is one ``WithStiffJacobian``, by simplified Newton iteration.
    """

    error_v: Floats | None = None

    def __init__(self, form: Formulation, run: Run) -> None:
        self.form, self.run, self.order = form, run, run.order
        self.n_q, self.t, self.work = form.n_q, 0.0, 0.0
        y = np.concatenate([form.q0, form.v0])
        self.core = Collocation(self._rates, y, float(run.step or run.duration), stages=run.order // 2)
        self.statistics = self.core.statistics

    @property
    def q(self) -> Floats:
        """Coordinates (n_q,)."""
        return self.core.y[: self.n_q]

    @property
    def v(self) -> Floats:
        """Velocities, or momenta of a Hamiltonian formulation (n_v,)."""
        return self.core.y[self.n_q :]

    def restart(self) -> None:
        """Discard the rates that stages are extrapolated from: inputs may jump here."""
        self.core.begin(self.t, self.core.y)

    def jump(self, t: float, q: Floats, v: Floats, work: float) -> None:
        """Restart from a state within the last step."""
        self.t, self.work = t, work
        self.core.begin(t, np.concatenate([q, v]))

    def rate(self, t: float, y: Floats) -> tuple[Floats, float]:
        """y' and the power of loads and dampers at one state."""
        form, q, v = self.form, y[: self.n_q], y[self.n_q :]
        u = form.inputs_at(t, q, v)
        a, multipliers = form.forward(u, q, v)
        power = form.power(u[None], q[None], v[None], multipliers[None])[0]
        return np.concatenate([form.rates(q[None], v[None])[0], a]), float(power)

    def _rates(self, t: Sequence[float] | Floats, Y: Floats) -> Floats:
        rates, powers = zip(*(self.rate(float(instant), y) for instant, y in zip(t, Y, strict=True)), strict=True)
        self._powers = np.array(powers)
        return np.array(rates)

    def step(self, limit: float) -> Step:
        """One step; raises SolveError where the iteration of its stages does not converge."""
        core, start, length = self.core, self.t, float(self.run.step or self.run.duration)
        remaining = limit - start
        landing = lands(length, remaining)
        h = remaining if landing else length
        if h != core.h:
            core.resize(h)
        y0 = core.y.copy()
        try:
            _, Y, F = self._settled()
            if not np.all(np.isfinite(F)):
                raise TrialError("the state is not finite")
            if self.form.singular_batches:
                states = np.vstack([y0, Y])
                q, v = np.ascontiguousarray(states[:, : self.n_q]), np.ascontiguousarray(states[:, self.n_q :])
                self.form.check_singularities(start, q, v, True)
            core.accept(F)
            end = limit if landing else core.t
            self._project(left_limit(end, start))
        except TrialError as problem:
            raise SolveError(
                f"gauss stopped at t = {start:.6g} s with step {h:.6g} s ({problem}); try a smaller step"
            ) from problem
        if landing:
            core.t = limit
        work, self.work = self.work, self.work + h * float(core.b @ self._powers)
        self.t = end
        return _GaussStep(self, self.form, start, end, (y0, work), (core.y.copy(), self.work), self._powers)

    def _settled(self) -> tuple[Floats, Floats, Floats]:
        core = self.core
        try:
            return core.stages()
        except SolveError as problem:
            form = self.form
            if isinstance(problem, TrialError) or core.jacobian is not None or not isinstance(form, WithStiffJacobian):
                raise
            core.jacobian = self._stiff_jacobian
        return core.stages()

    def _stiff_jacobian(self, t: float, y: Floats) -> Floats:
        assert isinstance(self.form, WithStiffJacobian)
        return self.form.stiff_jacobian(t, y[: self.n_q], y[self.n_q :])

    def _project(self, t: float) -> None:
        """Unit quaternions, and the state on the constraints, in place."""
        form, y = self.form, self.core.y
        form.normalise(y[: self.n_q])
        if form.n_c:
            u = form.inputs_at(t, y[: self.n_q], y[self.n_q :])
            y[: self.n_q], y[self.n_q :] = form.projected(u, y[: self.n_q], y[self.n_q :])


@dataclass(eq=False)
class _GaussStep:
    """A step; its interpolant needs the rates at both ends (y, work), which are evaluated on first use."""

    stepper: Gauss
    form: Formulation
    start: float
    end: float
    first: tuple[Floats, float]
    last: tuple[Floats, float]
    powers: Floats

    def _state(self, t: float, y: Floats, work: float) -> End:
        n_q = self.stepper.n_q
        rate, power = self.stepper.rate(t, y)
        self.stepper.statistics.evaluations += 1
        return y[:n_q], y[n_q:], rate[n_q:], work, power

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        return self._interpolant(times)

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times inside the step."""
        return self._interpolant.accelerations(times)

    @cached_property
    def _interpolant(self) -> HermiteStep:
        first = self._state(self.start, *self.first)
        last = self._state(left_limit(self.end, self.start), *self.last)
        stages = self.stepper.core.c, self.powers
        return HermiteStep(self.form, self.start, self.end, first, last, stages)
