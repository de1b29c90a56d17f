"""The equations of motion in velocity coordinates, evaluated at states.

    q' = H(q) v,    M(q) v' + h(q, v) + f_el(q, v) + J(q)^T lambda = f(u, q, v),    J v + Phi_t = dPhi/dt = 0

with u the inputs (factors of loads, motions of drivers) and lambda the multipliers of the constraints Phi(q, t) = 0 of
joints and drivers. M is symmetric positive definite. Evaluations do not change the object. Source: docs/theory/beam.md,
equation (1), docs/theory/rigid_body.md and docs/theory/constraints.md.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from math import inf
from typing import Any, Self

import numpy as np

from femb.base.types import Bools, Floats, Sparse
from femb.base.values import shallow_copy
from femb.layout.connections import check_singularities
from femb.layout.discrete import DiscreteState
from femb.layout.element import Batch, Input, LowRank, TrialError, weighed
from femb.layout.protocols import HasGaps, LimitsSteps, LowRankStep, LowRankTangent, OfPhase, Singular, Strained
from femb.layout.state import State
from femb.system.block_lu import LinearSolver, LowRankSolver, Matrix, WithLowRank
from femb.system.inputs import Inputs
from femb.system.parts import Parts, mass_properties, not_finite
from femb.system.velocity_coordinates import VelocityCoordinates

# Number of roundings of a position in a constraint equation.
ROUNDINGS = 8.0


class MotionEquations(VelocityCoordinates):
    """The equations of motion of the elements and constraints of a model.

    q (n_q,) m, - : coordinates. v (n_v,) m/s, rad/s : velocities, a (n_v,) their rates. u (n_u,) : inputs, in their
    units. multipliers (n_c,) N, N m. t : s. Of s states they are (s, n_q) and so on. Matrices are block data of
    ``pattern`` with n = n_v + n_c rows and columns: velocities, then multipliers.

    Its parts are the model, the layout of unknowns, the batches and their evaluation, constraint_set, inputs, budget,
    coordinates_of_joints and the solver. discrete : the discrete state of the inputs. audited, forces_recorded : see
    ``Parts``.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts.layout)
        self.model, self.items, self.pattern = parts.model, parts.items, parts.pattern
        self.evaluation, self.items_of_batches = parts.evaluation, parts.items_of_batches
        self.constraint_set, self.inputs, self.budget = parts.constraint_set, parts.inputs, parts.budget
        self.coordinates_of_joints = parts.coordinates_of_joints
        self.solver: LinearSolver = LowRankSolver(parts.pattern)
        self.discrete, self.audited, self.forces_recorded = parts.discrete, parts.audited, parts.forces_recorded

    @property
    def batches(self) -> list[Batch]:
        """The batches of elements, in the order of evaluation."""
        return self.evaluation.batches

    @property
    def singular_batches(self) -> Sequence[Batch]:
        """The batches with singular configurations."""
        return self._singular_batches  # of protocols, whose members type checkers want as properties

    @cached_property
    def _singular_batches(self) -> Sequence[Batch]:
        return [batch for batch in self.batches if isinstance(batch, Singular) and batch.singularities]

    @cached_property
    def strained_batches(self) -> dict[int, Strained]:
        """The batches of elements with strains, by number."""
        return {k: batch for k, batch in enumerate(self.batches) if isinstance(batch, Strained)}

    @property
    def inputs_of_state(self) -> bool:
        """Whether an input is a function of the state."""
        return self.inputs.of_state

    @property
    def breakpoints(self) -> list[float]:
        """Instants (s) where an input is not smooth, sorted."""
        return self.inputs.breakpoints

    @property
    def n_u(self) -> int:
        """The number of inputs."""
        return self.inputs.size

    # Systems with other parts

    def with_batches(self, batches: Iterable[Batch]) -> Self:
        """The system with other batches of the same elements."""
        other = shallow_copy(self)
        other.evaluation = self.evaluation.of(batches)
        for word in ("rigid", "_singular_batches", "strained_batches"):
            other.__dict__.pop(word, None)
        return other

    def with_inputs(self, inputs: Iterable[Input]) -> Self:
        """The system with other functions for its inputs, of the same widths."""
        other = shallow_copy(self)
        other.inputs = Inputs(inputs)
        other.__dict__.pop("discrete_inputs", None)
        other.__dict__.pop("_inputs_before", None)
        return other

    def with_discrete(self, discrete: DiscreteState) -> Self:
        """The system in another discrete state."""
        other = shallow_copy(self)
        other.discrete = discrete
        values = other.__dict__.pop("discrete_inputs", None)
        if values is not None:
            other._inputs_before = self.discrete, values
        return other

    def with_gravity(self, gravity: Floats) -> Self:
        """The system with another uniform acceleration of weight, gravity (3,), m/s2, inertial axes."""
        return self.with_batches(weighed(batch, gravity) for batch in self.batches)

    def balanced(self) -> Self:
        """The equations without forces of known phase, as the imbalance and the harmonics of wheels: in the mean over
        turns at a steady speed they change neither forces nor their derivatives."""
        if not any(isinstance(batch, OfPhase) and batch.disturbing for batch in self.batches):
            return self
        return self.with_batches(batch.balanced() if isinstance(batch, OfPhase) else batch for batch in self.batches)

    def with_own_strains(self, q: Floats, own: Sequence[Floats]) -> Self:
        """The equations with strains of their own; ``tangent`` at q takes the stresses of the strains ``own``, arrays
        (e,) by batch, and so do the forces of batches with ``own_force``.
        """
        batches: list[Any] = list(self.batches)
        for k, batch in self.strained_batches.items():
            batches[k] = batch.strained(q, own[k])
        return self.with_batches(batches)

    def without_rows(self, rows: Bools) -> Self:
        """The system with these rows of constraints (n_c,) bool left out of every solution.

        A dependent row becomes independent at a state slightly off the constraints, as within a step, and would block
        the motion of the mechanism.
        """
        other = shallow_copy(self)
        other.solver = self.solver.without(rows)
        return other

    @cached_property
    def rigid(self) -> Any:
        """Compiled steps, if there are only rigid bodies, point masses and joints, without inputs."""
        return None

    # Inputs and discrete state

    _inputs_before: tuple[DiscreteState, Floats] | None = None

    @cached_property
    def discrete_inputs(self) -> Floats:
        """(n_u,) the inputs of the discrete state and constants, and zeros for the others. Raises as ``inputs_at``."""
        return self.inputs.held_at(self.discrete, self._inputs_before)

    def inputs_at(self, t: float, q: Floats, v: Floats) -> Floats:
        """u (n_u,) at time t and state q (n_q,), v (n_v,).

        Raises InputError where an input is not finite; SolveError, with its cause, where a user's function fails.
        """
        return self.inputs.at(t, lambda: self.discrete_inputs, partial(self.state, t, q, v))

    def inputs_along(self, times: Sequence[float], q: Floats, v: Floats, out: Floats) -> None:
        """Set out (s, n_u) to ``inputs_at`` s times, s, and one state, on which none depends. Raises as that."""
        self.inputs.along(times, lambda: self.discrete_inputs, partial(self.state, times[-1], q, v), out)

    def at(self, q: Floats) -> Self:
        """The system with the unwrapped angles of its joints after a step to q (n_q,)."""
        if not self.has_angles:
            return self
        return self.with_discrete(self.discrete.with_angles(self.joint_motion(q, np.zeros(self.n_v))[0]))

    def angles_along(self, q: Floats) -> Floats:
        """The joint coordinates (s + 1, m) at the present and at the ends q (s, n_q) of further steps, unwrapped."""
        joints, angles = self.coordinates_of_joints, [self.discrete.angles]
        for values in joints.motion(q, np.zeros((len(q), self.n_v)))[0]:
            angles.append(joints.unwrapped(values, angles[-1]))
        return np.array(angles)

    @cached_property
    def has_angles(self) -> bool:
        """Whether joints have angles, whose revolutions the discrete state counts."""
        return bool(self.coordinates_of_joints.is_angle.any())

    def joint_motion(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Coordinates, unwrapped, and rates (m,) of all joints at one state, in the order of the layout."""
        values, rates = self.coordinates_of_joints.motion(q[None], v[None])
        return self.coordinates_of_joints.unwrapped(values[0], self.discrete.angles), rates[0]

    def state(self, t: float, q: Floats, v: Floats) -> State:
        """The named bodies, beams and joints at the time t, s, with the state q, v."""
        return State(self.layout, t, q, v, self.joint_motion, partial(self.left_accelerations, t, q, v))

    def left_accelerations(self, t: float, q: Floats, v: Floats) -> Floats:
        """Accelerations (n_v,) at the state q, v, with the inputs just before the time t (s)."""
        raise NotImplementedError

    # Switches and limits of elements

    @cached_property
    def switches(self) -> bool:
        """Whether a stiffness may be discontinuous, so that the matrix of an earlier step may not be reused."""
        return any(batch.switches for batch in self.batches) or any(input_.differentiated for input_ in self.inputs)

    def gaps(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Functions (s, k) that are zero where a stiffness is discontinuous, and their rates, at s states."""
        pairs = [
            batch.gaps(self.discrete, q, v) for batch in self.batches if batch.switches and isinstance(batch, HasGaps)
        ]
        empty = np.empty((len(q), 0))
        return np.hstack([empty, *(gap for gap, _ in pairs)]), np.hstack([empty, *(rate for _, rate in pairs)])

    @cached_property
    def has_gaps(self) -> bool:
        """Whether there are functions of ``gaps``."""
        if not any(batch.switches for batch in self.batches):
            return False
        no_states = np.empty((0, self.n_q)), np.empty((0, self.n_v))
        return bool(self.gaps(*no_states)[0].shape[1])

    @cached_property
    def limits_steps(self) -> bool:
        """Whether elements limit the length of steps."""
        return any(isinstance(batch, LimitsSteps) and batch.limits_steps for batch in self.batches)

    def longest_step(self, q: Floats, v: Floats) -> float:
        """The longest step (s) from one state that the elements admit; infinity for any."""
        limiting = (batch for batch in self.batches if isinstance(batch, LimitsSteps) and batch.limits_steps)
        return min((batch.longest_step(q, v) for batch in limiting), default=inf)

    def check_singularities(self, t: float, q: Floats, v: Floats, last: bool = False) -> None:
        """Refuse a step from t with the states q (s, n_q), v (s, n_v) that meets a singular configuration.

        Raises TrialError if a shorter step can approach it further; SingularityError if not, or if the step is the
        ``last``.
        """
        for batch in self.singular_batches:
            check_singularities(batch, t, q, v, last)

    # Forces and matrices

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        """M a + h + f_el - f (s, n_v), without the forces of constraints. Raises FoldedError."""
        out = np.zeros(a.shape)
        self.evaluation.add_residual(u, q, v, a, out)
        return out

    def equations(self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats) -> Floats:
        """(s, n): M a + h + f_el + J^T lambda - f, the residual with the forces of constraints, and J v + Phi_t."""
        force = self.residual(u, q, v, a)
        if not self.n_c:
            return force
        rates = np.zeros(multipliers.shape)
        self.constraint_set.constraint_force(u, q, v, multipliers, force, rates)
        return np.concatenate([force, rates], axis=1)

    def matrices(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None
    ) -> tuple[Floats, Matrix, Matrix]:
        """Mass, damping and iteration tangent of the ``equations`` at one state, block data. Raises FoldedError.

        J and J^T are part of damping, the derivatives with respect to velocities and multipliers. multipliers (n_c,).
        Damping and tangent are ``femb.system.block_lu.WithLowRank`` where an element asks for it.
        """
        mass, damping, stiffness = data = np.zeros((3, 1, self.pattern.size))
        self.evaluation.add_step_matrices(u[None], q[None], v[None], *data)
        return mass[0], *self._constrained(u, q, v, multipliers, damping[0], stiffness[0])

    def exact_matrices(
        self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats
    ) -> tuple[Floats, Matrix, Matrix]:
        """Matrices with the exact derivatives at the accelerations a (n_v,): those of beams take longer to
        compile, and let Newton's iteration converge where small stresses of slender members stiffen them."""
        damping, stiffness = self.tangent(u, q, v, a)
        return self.mass_data(q), *self._constrained(u, q, v, multipliers, damping, stiffness)

    def _constrained(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None, damping: Floats, stiffness: Floats
    ) -> tuple[Matrix, Matrix]:
        """Damping with J and J^T, stiffness with the derivatives of constraint forces, both with low-rank parts."""
        self.constraint_set.jacobian(u, q, damping)
        if multipliers is not None:
            self.constraint_set.constraint_tangent(u, q, v, multipliers, stiffness)
        low_rank = self.low_rank_matrices(u, q, v)
        return WithLowRank.pair(damping, stiffness, low_rank, self.n_c) if low_rank.rank else (damping, stiffness)

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, constraints: bool = False) -> tuple[Floats, Floats]:
        """d(residual)/dv and d(residual)/dq H at one state, exact, at constant inputs; block data.

        The derivatives of some forces are in ``low_rank_tangent`` instead. Raises TrialError: one is not finite.
        constraints : whether to add J and J^T, as ``matrices`` does, and d(J v + Phi_t)/dq H in the rows of the
        multipliers. ``femb.system.constraints`` has d(J^T lambda)/dq H.
        """
        damping, stiffness = data = np.zeros((2, 1, self.pattern.size))
        self.evaluation.add_tangents(u[None], q[None], v[None], a[None], *data)
        if not np.isfinite(data).all() and (text := not_finite(self, u, q, v, a)):
            raise TrialError(text)
        if constraints:
            self.constraint_set.jacobian(u, q, damping[0])
            self.constraint_set.constraint_tangent(u, q, v, np.zeros(self.n_c), stiffness[0])
        return damping[0], stiffness[0]

    @cached_property
    def without_stiffness(self) -> bool:
        """Whether the matrices of Newton's iteration have the mass alone, as those of rigid bodies and joints."""
        of_step = any(term.step for of_batch in self.evaluation.tangents for term in of_batch)
        return not (of_step or any(isinstance(batch, LowRankStep) for batch in self.batches))

    def low_rank_matrices(self, u: Floats, q: Floats, v: Floats) -> LowRank:
        """The part of ``matrices`` at one state that is not in block data; of rank 0 where no element asks for it."""
        parts = [batch.low_rank_matrices(u, q, v) for batch in self.batches if isinstance(batch, LowRankStep)]
        return LowRank.joined([part for part in parts if part is not None], self.n_v)

    def low_rank_tangent(self, u: Floats, q: Floats, v: Floats) -> LowRank:
        """The part of d(residual)/dv and d(residual)/dq H at one state that is not in ``tangent``."""
        parts = [batch.low_rank_tangent(u, q, v) for batch in self.batches if isinstance(batch, LowRankTangent)]
        return LowRank.joined([part for part in parts if part is not None], self.n_v)

    def mass_data(self, q: Floats) -> Floats:
        """Mass at one state, block data."""
        mass = np.zeros((1, self.pattern.size))
        self.evaluation.add_masses(q[None], mass)
        return np.asarray(mass[0])

    def mass_matrix(self, q: Floats) -> Sparse:
        """M(q) (n_v, n_v), scipy.sparse."""
        return self.pattern.to_csc(self.mass_data(q))[: self.n_v, : self.n_v]

    # Constraints

    @cached_property
    def resolution(self) -> float:
        """Size of gaps of constraints (m) that are rounding errors of the positions at the start."""
        return ROUNDINGS * float(np.finfo(float).eps) * self.layout.extent

    def constraints(self, u: Floats, q: Floats, v: Floats, data: Floats | None = None) -> tuple[Floats, Floats]:
        """Phi and gamma (s, n_c), where J v' = gamma; J and J^T are added to block data (s, size)."""
        position, gamma = np.zeros((2, len(q), self.n_c))
        if data is None:
            self.constraint_set.constraints(u, q, v, position, gamma)
        else:
            self.constraint_set.add_jacobians(u, q, v, data, position, gamma)
        return position, gamma

    def constraint_rates(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """J v + Phi_t (s, n_c)."""
        force, rates = np.zeros(v.shape), np.zeros((len(q), self.n_c))
        self.constraint_set.constraint_force(u, q, v, np.zeros_like(rates), force, rates)
        return rates

    def position_residual(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """Phi (n_c,) at one state."""
        gaps: Floats = self.constraints(u[None], q[None], v[None])[0][0]
        return gaps

    def velocity_residual(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """J v + Phi_t (n_c,) at one state."""
        rates: Floats = self.constraint_rates(u[None], q[None], v[None])[0]
        return rates

    def jacobian(self, u: Floats, q: Floats) -> Sparse:
        """J (n_c, n_v) at one state, scipy.sparse."""
        data = np.zeros(self.pattern.size)
        self.constraint_set.jacobian(u, q, data)
        return self.pattern.to_csc(data)[self.n_v :, : self.n_v]

    # Energy, momentum, power

    def energy_momentum(self, q: Floats, v: Floats, u: Floats | None = None) -> Floats:
        """(s, 8): kinetic and potential energy, linear momentum, angular momentum about the inertial origin.

        u (s, n_u) : inputs, for the unwrapped angles of joints; by default those of ``discrete``.
        """
        out = np.zeros((len(q), 8))
        if u is None:
            u = np.zeros((len(q), self.n_u))
            for input_, part in self.inputs.held:
                u[:, part] = input_.function(self.discrete)
        self.evaluation.add_energies(u, q, v, out)
        return out

    def budget_rates(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s, n_w): power and rates of momentum of loads, dampers and drivers; the columns are those of ``budget``."""
        return self.budget.rates(self, u, q, v, multipliers)

    def power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers, which is the rate of kinetic plus potential energy."""
        return self.budget.total(self.budget_rates(u, q, v, multipliers))

    def mass_properties_at(self, q: Floats) -> tuple[float, Floats, Floats]:
        """Mass (kg), mass centre (3,) m from ``layout.origin`` and inertia (3, 3) kg m2 about it, inertial axes.

        q (n_q,) : the state.
        """
        return mass_properties(self, self.evaluation, q)
