"""The equations of a step of the backward differentiation formulas; see ``femb.steppers.bdf``."""

from dataclasses import dataclass

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.formulations.contract import ImplicitFormulation
from femb.numerics.kinematics import newton_tolerance
from femb.steppers.bdf_history import ALPHA, History
from femb.steppers.bdf_kernels import correct, implicit_coordinates
from femb.steppers.contract import left_limit
from femb.steppers.implicit import RESTORING, Convergence, ImplicitStepper
from femb.steppers.radau_kernels import frame_rotations, rotate_frames_back

MAX_ITERATIONS = 6
# Tolerance of Newton's iteration, as a fraction of that of the step.
SOLVED = 0.01
# The second correction over the first one, above which Newton's iteration diverges.
DIVERGING = 2.0
# Iterations in which the full Newton method forms new matrices.
FORMING = 3
# The factorisation is reused while mu differs by at most this fraction from the mu it was computed for.
REFACTOR = 0.1
# Rate of convergence above which new matrices are formed for the next step.
SLOW = 0.2


@dataclass
class Solution:
    """A solved step: the increment d of the history, the state at its end, the frames' rotations since the matrices
    were formed."""

    d: Floats
    q: Floats
    v: Floats
    a: Floats
    u: Floats
    multipliers: Floats
    power: float
    rotations: Floats
    iterations: int


class BdfEquations(ImplicitStepper[Solution]):
    """The equations of a step and their solution by Newton's iteration, with reused matrices or in full."""

    def __init__(self, form: ImplicitFormulation, run: Run) -> None:
        super().__init__(form, run)
        self.tolerance = max(10.0 * np.finfo(float).eps / run.rtol, SOLVED)
        self.history = History(form.n_q + form.n_v + 1)
        self._slow = False

    @property
    def order(self) -> int:
        """Order of the next step."""
        return self.history.order

    def _factorise(self, mu: float) -> None:
        if self._factored_for > 0.0 and abs(mu / self._factored_for - 1.0) <= REFACTOR:
            return
        mass, damping, stiffness = self._matrices  # type: ignore[misc]
        self._factored = self.form.solver.factorise(self.form.solver.shifted(mass, damping, stiffness, mu))
        self._factored_for = mu
        self.statistics.factorizations += 1

    def _solve(self, h: float, end: float) -> Solution | None:
        self.history.change(h, self.order)
        trial = self._newton(h, end, full=False) or self._newton(h, end, full=True)
        if trial and self.form.singular_batches:
            self.form.check_singularities(self.t, np.stack([self.q, trial.q]), np.stack([self.v, trial.v]))
        return trial

    def _after_failure(self, h: float, cause: str | Exception) -> float:
        self._matrices = None
        return 0.5 * h

    def _newton(self, h: float, end: float, full: bool) -> Solution | None:
        """The step's equations by Newton's iteration, full or with reused matrices; None where it does not converge.

        The prediction along tangents strains members that rotate. Reused matrices lack the geometric stiffness of this
        strain. Where it dominates the stiffness against rotation, the first iteration rotates the member and the second
        rotates it back, or the iteration diverges; matrices formed in each iteration converge.
        """
        form, n_q = self.form, self.form.n_q
        quaternion_q, corotated_v = form.corotated_frames
        mu = ALPHA[self.order] / h
        predicted, slope = self.history.predict()
        known = predicted[:n_q] - slope[:n_q] / mu
        v_predicted, v_slope = predicted[n_q:-1], slope[n_q:-1]
        d, v, a, q = np.zeros(form.n_v), v_predicted, v_slope, np.empty(n_q)
        implicit_coordinates(*form.coordinates, mu, known, v, q)
        if not full:
            if self._matrices is None or self._slow:
                self._form_matrices(self._u, self.q, self.v)
            self._factorise(mu)
        rotations = np.empty((1, len(corotated_v), 4))
        scale = (*self.scale_v[:2], np.empty(len(self.scale_v[0])), 0.0)
        newton_tolerance(self.scale_q, self.scale_v, self.q, self.v, 1.0 / mu, scale[2])
        t, u, multipliers = left_limit(end, self.t), None, self.multipliers
        doubted = self.tolerance if not full and form.system.switches else 0.0
        diverging = np.inf if full else DIVERGING
        newton = Convergence(self.tolerance, MAX_ITERATIONS, doubted, RESTORING, diverging)
        for iteration in range(MAX_ITERATIONS):
            if u is None or form.inputs_of_state:
                u = form.inputs_at(t, q, v)
            if full and iteration < FORMING:
                self._form_matrices(u, q, v)
                self._factorise(mu)
                newton.rate = 0.0
            if iteration == 0 or (full and iteration < FORMING):
                frame_rotations(quaternion_q, self._matrices_q, q[None], rotations)
            change = -form.equations(u[None], q[None], v[None], a[None], multipliers[None])[0]
            self.statistics.evaluations += 1
            self.statistics.newton_iterations += 1
            rotate_frames_back(rotations[0], corotated_v, change)
            self._factored.solve(change)  # type: ignore[union-attr]
            size = correct(rotations[0], corotated_v, change, scale, self.v, d)
            v, a, multipliers = v_predicted + d, v_slope + mu * d, multipliers + change[form.n_v :]
            implicit_coordinates(*form.coordinates, mu, known, v, q)
            converged = newton.reached(size)
            if converged is None:
                continue
            if not converged:
                return None
            self._slow = newton.rate > SLOW
            q, v = self._projected(u, q, v)
            power = self._power(u, q, v, multipliers)
            d = np.concatenate([q - predicted[:n_q], v - v_predicted, [(power - slope[-1]) / mu]])
            return Solution(d, q, v, a, u, multipliers, power, rotations[0], newton.done)
        return None

    def _projected(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """A solution projected on the constraints; the lengths of its quaternions do not change."""
        if not self.form.n_c:
            return q, v
        index = self.form.coordinates[2][:, None] + np.arange(4)
        lengths = np.sqrt(np.sum(q[index] ** 2, axis=1, keepdims=True))
        unit = q.copy()
        unit[index] /= lengths
        unit, v = self.form.projected(u, unit, v, self._factored)
        unit[index] *= lengths
        return unit, v
