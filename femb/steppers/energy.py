"""Energy of a step: what the filter of an error estimate hides must not matter to the energy.

An implicit method damps what is faster than its step, and the estimate of its error is filtered accordingly: a
vibration of a stiff part costs no steps while it is of no account. A stiff impact is of account. It puts the energy of
the motion into a vibration that a long step would not see, and would take away or, by the work of forces at the few
instants at which the step looks at them, multiply. A step whose estimate is below the tolerance only after it was
filtered again is therefore accepted only if

    |dT + dV - dW| <= sqrt(rtol) max(T, |V - V_0|, |W|, T_0)

with the kinetic energy T, the potential energy V, V_0 at the start of the run, the work W of loads, dampers and
drivers, and T_0, the kinetic energy of velocities of NEGLIGIBLE times their absolute tolerances. What constraints take
out of the estimate, as of a motion that drivers begin, is no vibration: the estimate is judged without it.
Source: docs/theory/integration.md, section 5.
"""

from math import sqrt

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.numerics.kinematics import error_norm
from femb.steppers.contract import StepperState
from femb.system.constraints import mass_factors

# Velocities of so many times their absolute tolerance have an energy that is of no account.
NEGLIGIBLE = 1000.0
# Cause of a failure, for messages.
NOT_KEPT = "a stiff part takes up energy that shorter steps had to follow, as in an impact"


class EnergyWatch:
    """Judges steps of a stepper, from what the energy was at the start of the run."""

    def __init__(self, form: Formulation, run: Run) -> None:
        system = form.system
        self._part = sqrt(run.rtol)
        self._scale = system.error_scale(run.rtol, run.atol)[1]
        start, size, atol, _ = self._scale
        v = np.zeros(system.n_v)
        for first, width, tolerance in zip(start, np.abs(size), atol, strict=True):
            v[first : first + width] = NEGLIGIBLE * tolerance
        q = form.to_system(form.q0[None].copy(), form.v0[None].copy())[0]
        self._least, self._first = (float(x) for x in system.energy_momentum(q, v[None])[0, :2])

    def keeps(self, stepper: StepperState, q: Floats, v: Floats, work: float, error_v: Floats) -> bool:
        """Whether a step does, from where a stepper stands to q (n_q,), v (n_v,) and the work (J) since the start.

        error_v (n_v,) : the estimate of the error of v, not filtered.
        """
        before, after = _energies(stepper.form, stepper.q, stepper.v), _energies(stepper.form, q, v)
        error = sum(after) - sum(before) - (work - stepper.work)
        sizes = [before[0], after[0], *(abs(each[1] - self._first) for each in (before, after)), abs(stepper.work)]
        if abs(error) <= self._part * max(*sizes, self._least):
            return True
        return not self._hidden_by_stiffness(stepper, error_v)

    def _hidden_by_stiffness(self, stepper: StepperState, error_v: Floats) -> bool:
        """Whether the estimate is too large also in the motions that the constraints admit."""
        form = stepper.form
        system = form.system
        if not system.n_c:
            return True
        states = np.stack([stepper.q, stepper.q]), np.stack([stepper.v, stepper.v + error_v])
        Q, V = form.to_system(*states)
        x = np.concatenate([system.mass_matrix(Q[0]) @ (V[1] - V[0]), np.zeros(system.n_c)])
        u = system.inputs_at(stepper.t, Q[0], V[0])
        admitted = mass_factors(system, u, Q[0]).solve(x)[: system.n_v]
        return bool(error_norm(*self._scale, admitted, V[0]) > 1.0)


def _energies(form: Formulation, q: Floats, v: Floats) -> tuple[float, float]:
    """Kinetic and potential energy (J) at one state of a formulation."""
    found = form.system.energy_momentum(*form.to_system(q[None].copy(), v[None].copy()))[0]
    return float(found[0]), float(found[1])
