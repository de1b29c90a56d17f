"""Energy balance of steps: the filter of an error estimate must not hide a change of the energy.

An implicit method damps vibrations faster than its step, and its error estimate is filtered accordingly: negligible
vibrations of stiff parts cost no steps. A stiff impact is not negligible. It transfers the energy of the motion to a
vibration that a long step does not resolve, and would dissipate or, with the work of forces at few instants, amplify.
A step whose estimate is below the tolerance only after filtering is therefore accepted only if

    |dT + dV - dW| <= sqrt(rtol) max(T, |V - V_0|, |W|, T_0)

with the kinetic energy T, the potential energy V, V_0 at the start of the run, the work W of loads, dampers and
drivers, and T_0, the kinetic energy of velocities of NEGLIGIBLE times their absolute tolerances. Components of the
estimate that violate the constraints, as where drivers begin a motion, are no vibration: they are removed first.
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

# Velocities up to this many times their absolute tolerance have a negligible energy.
NEGLIGIBLE = 1000.0
# Cause of a failure, for messages.
UNBALANCED_ENERGY = "a stiff part takes up energy that shorter steps had to follow, as in an impact"


class EnergyWatch:
    """Checks the energy balance of the steps of a stepper, relative to the start of the run."""

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

    def is_balanced(self, stepper: StepperState, q: Floats, v: Floats, work: float, error_v: Floats) -> bool:
        """Whether a step from the state of a stepper to q (n_q,), v (n_v,) and the work (J) since the start does.

        error_v (n_v,) : the unfiltered error estimate of v.
        """
        (T0, V0), (T1, V1) = _energies(stepper.form, stepper.q, stepper.v), _energies(stepper.form, q, v)
        error = T1 + V1 - (T0 + V0) - (work - stepper.work)
        sizes = [T0, T1, abs(V0 - self._first), abs(V1 - self._first), abs(stepper.work)]
        if abs(error) <= self._part * max(*sizes, self._least):
            return True
        return not self._hidden_by_stiffness(stepper, error_v)

    def _hidden_by_stiffness(self, stepper: StepperState, error_v: Floats) -> bool:
        """Whether the estimate is above the tolerance also within the motions that the constraints admit."""
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
    values = form.system.energy_momentum(*form.to_system(q[None].copy(), v[None].copy()))[0]
    return float(values[0]), float(values[1])
