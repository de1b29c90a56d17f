"""Filters of steps: fast vibrations are taken out of an error estimate, and above the frequency of a run damped."""

from dataclasses import dataclass
from math import comb, expm1, inf, pi
from typing import Any, ClassVar

import numpy as np

from femb.base.types import ErrorScale, Floats
from femb.formulations.contract import Formulation, ImplicitFormulation
from femb.layout.protocols import Strained
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.steppers.contract import Statistics
from femb.steppers.step_kernels import finish_filter, force_of_error, start_filter
from femb.steppers.step_program import BoundProduct, BoundSolution
from femb.system.block_lu import Factorisation, Factors, Matrix


class ErrorFilter(BoundSequence):
    """The call that replaces an error by x, y with

        x = error_q + reach H y,    mu M (y - error_v) + C y + K x = 0,

    and returns the norm of these at the start of a step.

    weights (2,) : mu and reach. q (1, n_q), rotations (1, F, 4) : a state of the step, and the rotations of frames to
    it since the matrices were formed. start : q (1, n_q) and v (1, n_v) there. error_q (1, n_q), error_v (1, n) : the
    error, in place, in the first n_v columns. All are arrays whose entries change between the calls.
    """

    def __init__(
        self, form: ImplicitFormulation, scales: tuple[ErrorScale, ErrorScale], weights: Floats, q: Floats,
        rotations: Floats, start: tuple[Floats, Floats], error_q: Floats, error_v: Floats,
    ) -> None:  # fmt: skip
        n = error_v.shape[1]
        (in_q, in_v), products = np.zeros((2, 1, n)), np.empty((2, n))
        self._inertial, self._elastic = BoundProduct(in_v[0], products[0]), BoundProduct(in_q[0], products[1])
        self.solution = BoundSolution(error_v[0])
        coordinates, turning_v, of_error = form.coordinates, form.corotated_frames[1], (error_q, error_v)
        super().__init__(
            [
                Bound(start_filter, coordinates, turning_v, form.n_v, rotations, q, *of_error, in_q, in_v),
                self._inertial,
                self._elastic,
                Bound(force_of_error, form.n_v, weights, *products, error_v),
                self.solution,
                Bound(finish_filter, coordinates, (turning_v, rotations), scales, weights, q, *start, *of_error),
            ]
        )

    def of(self, matrices: tuple[Matrix, Matrix, Matrix], solver: Any, factors: Factors) -> None:
        """Take these matrices M, C and K from now on; factors : of their sum, for the kind of the matrices."""
        blocks = type(factors) is Factorisation
        self._inertial.by(matrices[0], solver, blocks)
        self._elastic.by(matrices[2], solver, blocks)


# Vibrations above a frequency are damped, not followed: the part of an error estimate that controls the steps.
#
# An implicit method damps vibrations that are faster than its steps. Undamped, small ones nevertheless keep the steps
# short, because the error estimate sees them as long as the steps resolve them. With ``run.filter``, a frequency f in
# Hz, the estimate e of coordinates and velocities passes four times through a step of length 1/mu of the linear
# equations,
#
#     mu (x - e_q) = H y,    mu M (y - e_v) + C y + K x = 0,    mu = 2 pi f,
#
# which weights the error of an undamped vibration of frequency g by 1/(1 + (g/f)^2)^4, and leaves that of rigid
# motions.
#
# Vibrations far above the tolerances, as those that an impact excites, would nevertheless be followed up to several
# times f, where the weight is small enough. They are taken out of the velocities by ``LowPass.quieted``: at once at an
# impact, and within a few periods of f where they hold up the steps, by their error or because Newton's iteration
# fails. Source: docs/theory/integration.md, section 9.

# How often an estimate passes the filter, and how often it passes it again to tell which vibrations are left in it.
PASSES, AGAIN = 4, 8
# An estimate that falls below this part when it passes again is one of vibrations above nine tenths of the frequency.
HELD_UP = 0.01
# Degree of the polynomial that tells the fast part of velocities, and the order of its zero at rigid motions.
DEGREE, ORDER = 8, 5
# Its coefficients from the power ORDER on: the chance of at least ORDER successes in DEGREE trials.
FAST = [(-1) ** (k - ORDER) * comb(k - 1, ORDER - 1) * comb(DEGREE, k) for k in range(ORDER, DEGREE + 1)]
# Rate at which fast velocities are damped, relative to 2 pi f: twice a vibration's own, and a little more.
DAMPING_RATE = 1.5
# Periods of f over which they are damped: after an impact, and after a step that they held up.
PERIODS = 5.0
# Number of components of a position in the groups of an ErrorScale.
POSITION = 3


@dataclass
class FilterStatistics(Statistics):
    """Counts of a run with a filter.

    filter : Hz. kept_error : sum over the steps of the largest local error of a position that the filter kept, m: the
    order of magnitude of the error of the motion, as long as errors do not grow by themselves; zero in coordinates
    without positions. damped : J, the energy of the vibrations that were taken out of the velocities; it is part of
    the work, and that of vibrations which only the steps damp is in the energy error.
    """

    filter: float = 0.0
    kept_error: float = 0.0
    damped: float = 0.0

    def add(self, low_pass: "LowPass") -> None:
        """Count an accepted step."""
        errors = low_pass.kept[low_pass.points]
        self.damped += low_pass.lost
        self.kept_error += float(np.sqrt(np.max(np.sum(errors**2, axis=1), initial=0.0)))


class LowPass:
    """The filter of a run: ``kept``, the estimate of q (n_q,) after it in the last step tried; and
    ``points`` (k, 3), the indices of positions in q. until : s, fast vibrations are damped in steps up to there. lost :
    their energy (J) in the last step."""

    memory: ClassVar[tuple[str, ...]] = ("until",)

    def __init__(self, frequency: float, scale_q: ErrorScale) -> None:
        self.frequency, self.mu, self.until = frequency, 2.0 * pi * frequency, -inf
        first, size, _, _ = scale_q
        self.points = first[size == POSITION][:, None] + np.arange(POSITION)
        self.kept: Floats = np.zeros(0)
        self.lost = 0.0
        # the filter of estimates, and the matrices that it takes
        self.filter: ErrorFilter | None = None
        self.of: object = None

    def damp_from(self, t: float) -> None:
        """Damp fast vibrations for some periods of the frequency from the time t (s) on."""
        self.until = t + PERIODS / self.frequency

    def after_impact(self, form: Formulation, t: float, q: Floats, v: Floats) -> tuple[Floats, float]:
        """Velocities without the fast vibrations that an impact has excited, and their energy (J)."""
        self.damp_from(t)
        return self.quieted(form, t, q, v, 1.0)

    def damped(self, form: Formulation, start: float, end: float, q: Floats, v: Floats) -> tuple[Floats, float]:
        """Velocities at the end of a step (s) after the damping of fast vibrations in it, and the energy (J) that they
        lost. An impact goes on as long as a gap is closed; a function of the user may be one."""
        system = form.system
        if start >= self.until or any(input_.differentiated for input_ in system.inputs):
            return v, 0.0
        if system.has_gaps and np.any(system.gaps(*form.to_system(q[None], v[None]))[0] < 0.0):
            return v, 0.0
        return self.quieted(form, end, q, v, -expm1(-DAMPING_RATE * self.mu * (end - start)))

    def quieted(self, form: Formulation, t: float, q: Floats, v: Floats, share: float) -> tuple[Floats, float]:
        """Velocities (n_v,) at a state on the constraints, less a share of the vibrations above the frequency; and the
        energy (J) that they lose.

        Momentum and the rates of constraints are kept. The stiffness is that of members without stresses; velocities
        stay as they are where their kinetic energy would grow.

        Source: docs/theory/integration.md, equations (9) and (10).
        """
        system = form.system
        Q, V = (states[0] for states in form.to_system(q[None].copy(), v[None].copy()))
        u = system.inputs_at(t, Q, V)
        rows, still = np.zeros(system.pattern.size), np.zeros(system.n_v)
        # stresses of unresolved axial vibrations would make a slow motion of a slender member look fast
        unstressed = [
            batch.strained(Q, 0.0 * batch.own_strains(u, Q, still)) if isinstance(batch, Strained) else batch
            for batch in system.batches
        ]
        _, stiffness = system.evaluation.of(unstressed).tangent(u, Q, still, still)
        system.constraint_set.jacobian(u, Q, rows)
        data = system.solver.shifted(system.mass_data(Q), rows, stiffness, 1j * self.mu, 1.0 / self.mu + 0.0j)
        factors = system.solver.factorise(data)

        def part(x: Floats) -> Floats:
            y = system.solver.multiply(stiffness, np.concatenate([x, np.zeros(system.n_c)])) / (self.mu + 0.0j)
            y[system.n_v :] = 0.0
            factors.solve(y)
            return y.real[: system.n_v]

        power = V
        for _ in range(ORDER):
            power = part(power)
        fast = FAST[-1] * power
        for coefficient in FAST[-2::-1]:
            fast = part(fast) + coefficient * power
        fast[system.layout.first_order_v] = 0.0
        slower = V - share * fast
        before, after = system.energy_momentum(np.stack([Q, Q]), np.stack([V, slower]))[:, 0]
        if not after <= before:
            return v, 0.0
        return form.from_system(Q, slower)[1], float(before - after)
