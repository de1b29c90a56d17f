"""The equations of motion of a model in velocity coordinates, without the start of the motion.

    q' = H(q) v,    M(q) v' + h(q, v) + f_el(q, v) + J(q)^T lambda = f(u, q, v),    J v + Phi_t = dPhi/dt = 0

with u the inputs (factors of loads, motions of drivers) and lambda the multipliers of the constraints Phi(q, t) = 0 of
joints and drivers. M is symmetric positive definite. Evaluations do not change the object.
Source: docs/theory/beam.md, equation (1), docs/theory/rigid_body.md and docs/theory/constraints.md.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np

from femb.base.copies import shallow_copy
from femb.base.types import Bools, Floats, Sparse
from femb.layout.element import Batch
from femb.layout.low_rank import LowRank
from femb.layout.singularity import check_singularities
from femb.numerics.components import norm
from femb.system.constraints import projected
from femb.system.forward import forward_each
from femb.system.linear_solver import Factors, Matrix
from femb.system.low_rank_solver import WithLowRank
from femb.system.numbered_model import NumberedModel

# Number of roundings of a position in a constraint equation.
ROUNDINGS = 8.0


class Equations(NumberedModel):
    """The equations of motion of the elements and constraints of a model.

    q (n_q,) m, - : coordinates. v (n_v,) m/s, rad/s : velocities, a (n_v,) their rates. u (n_u,) : inputs, in their
    units. multipliers (n_c,) N, N m. t : s. Of s states they are (s, n_q) and so on. Matrices are block data of
    ``pattern`` with n = n_v + n_c rows and columns: velocities, then multipliers.
    """

    audited = True  # whether output instants have the unbalanced forces of the audit
    forces_recorded = True  # whether they have multipliers, and the accelerations that follow from the forces

    def without_rows(self, rows: Bools) -> Self:
        """The same system, with these rows of constraints (n_c,) bool left out of every solution.

        A dependent row becomes independent at a state slightly off the constraints, as within a step, and would block
        the motion of the mechanism.
        """
        other = shallow_copy(self)
        other.solver = self.solver.without(rows)
        return other

    def with_gravity(self, gravity: Floats) -> Self:
        """The same equations with another uniform acceleration of weight, gravity (3,), m/s2, inertial axes."""
        other = shallow_copy(self)
        other.batches = [batch.weighed(gravity) for batch in self.batches]
        other.__dict__.pop("rigid", None)
        return other

    def with_own_strains(self, q: Floats, own: Sequence[Floats]) -> Self:
        """The same equations; ``tangent`` at q takes the stresses of the strains ``own``, arrays (e,) by batch, and so
        do the forces of batches with ``own_force``."""
        return self.with_batches([batch.strained(q, each) for batch, each in zip(self.batches, own, strict=True)])

    def with_batches(self, batches: list[Batch]) -> Self:
        """The same equations of other batches of the same elements."""
        other = shallow_copy(self)
        other.batches = batches
        return other

    def check_singularities(self, t: float, q: Floats, v: Floats, last: bool = False) -> None:
        """Refuse a step from t with the states q (s, n_q), v (s, n_v) that meets a singular configuration.

        Raises TrialError if a shorter step can approach it further; SingularityError if not, or if the step is the
        ``last``.
        """
        for batch in self.singular_batches:
            check_singularities(batch, t, q, v, last)

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        """M a + h + f_el - f (s, n_v), without the forces of constraints. Raises FoldedError."""
        out = np.zeros(a.shape)
        for batch in self.batches:
            batch.residual(u, q, v, a, out)
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
    ) -> tuple[Floats, Matrix, Floats]:
        """Mass, damping and iteration tangent of the ``equations`` at one state, block data. Raises FoldedError.

        J and J^T are part of damping, the derivatives with respect to velocities and multipliers. multipliers (n_c,).
        Damping is a ``femb.system.low_rank_solver.WithLowRank`` where an element asks for it.
        """
        mass, damping, stiffness = np.zeros((3, self.pattern.size))
        for batch in self.batches:
            batch.matrices(u, q, v, mass, damping, stiffness)
        return mass, self._constrained(u, q, v, multipliers, damping, stiffness), stiffness

    def exact_matrices(
        self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats
    ) -> tuple[Floats, Matrix, Floats]:
        """As ``matrices``, with the exact derivatives at the accelerations a (n_v,): those of beams take longer to
        compile, and let Newton's iteration converge where small stresses of slender members stiffen them."""
        damping, stiffness = self.tangent(u, q, v, a)
        return self.mass_data(q), self._constrained(u, q, v, multipliers, damping, stiffness), stiffness

    def _constrained(
        self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None, damping: Floats, stiffness: Floats
    ) -> Matrix:
        """Damping with J, J^T and low-rank parts; adds the derivatives of constraint forces to stiffness."""
        self.constraint_set.jacobian(u, q, damping)
        if multipliers is not None:
            self.constraint_set.constraint_tangent(u, q, v, multipliers, stiffness)
        parts = [part for part in (batch.low_rank_matrices(q, v) for batch in self.batches) if part is not None]
        if parts:
            return WithLowRank.of(damping, LowRank.joined(parts, self.n_v), self.n_c)
        return damping

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, constraints: bool = False) -> tuple[Floats, Floats]:
        """d(residual)/dv and d(residual)/dq H at one state, exact, at constant inputs; block data.

        The derivatives of some forces are in ``low_rank_tangent`` instead.
        constraints : whether to add J and J^T, as ``matrices`` does, and d(J v + Phi_t)/dq H in the rows of the
        multipliers. ``femb.system.reaction_stiffness`` has d(J^T lambda)/dq H.
        """
        damping, stiffness = np.zeros((2, self.pattern.size))
        for batch in self.batches:
            batch.tangent(u, q, v, a, damping, stiffness)
        if constraints:
            self.constraint_set.jacobian(u, q, damping)
            self.constraint_set.constraint_tangent(u, q, v, np.zeros(self.n_c), stiffness)
        return damping, stiffness

    def low_rank_tangent(self, u: Floats, q: Floats, v: Floats) -> LowRank:
        """The part of d(residual)/dv and d(residual)/dq H at one state that is not in ``tangent``."""
        parts = [batch.low_rank_tangent(u, q, v) for batch in self.batches]
        return LowRank.joined([part for part in parts if part is not None], self.n_v)

    def mass_data(self, q: Floats) -> Floats:
        """Mass at one state, block data."""
        mass = np.zeros(self.pattern.size)
        for batch in self.batches:
            batch.mass(q, mass)
        return mass

    def mass_matrix(self, q: Floats) -> Sparse:
        """M(q) (n_v, n_v), scipy.sparse."""
        return self.pattern.to_csc(self.mass_data(q))[: self.n_v, : self.n_v]

    def acceleration(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """v' (n_v,) at one state."""
        return self.forward(u, q, v)[0]

    def forward(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (n_v,) and multipliers (n_c,) at one state: M v' + J^T lambda = f - h - f_el and J v' = gamma.

        The multiplier of a row that depends on the others is zero.
        """
        a, multipliers = self.forward_each(u[None], q[None], v[None])
        return a[0], multipliers[0]

    def forward_each(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (s, n_v) and multipliers (s, n_c) of s states; see ``forward``. Raises TrialError."""
        return forward_each(self, u, q, v)

    # Constraints

    @cached_property
    def resolution(self) -> float:
        """Size of gaps of constraints (m) that are rounding errors of the positions at the start."""
        farthest = max(norm(frame.position) for frame in self.layout.frames)
        return ROUNDINGS * float(np.finfo(float).eps) * farthest

    def constraints(self, u: Floats, q: Floats, v: Floats, data: Floats | None = None) -> tuple[Floats, Floats]:
        """Phi and gamma (s, n_c), where J v' = gamma; J and J^T are added to block data (s, size)."""
        position, gamma = np.zeros((2, len(q), self.n_c))
        if data is None:
            self.constraint_set.constraints(u, q, v, position, gamma)
        else:
            self.constraint_set.jacobian_each(u, q, v, data, position, gamma)
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

    def projected(self, u: Floats, q: Floats, v: Floats, factors: Factors | None = None) -> tuple[Floats, Floats]:
        """q (n_q,), v (n_v,) on the constraints, by ``factors`` where given; see ``femb.system.constraints``."""
        return projected(self, u, q, v, factors)

    def jacobian(self, u: Floats, q: Floats) -> Sparse:
        """J (n_c, n_v) at one state, scipy.sparse."""
        data = np.zeros(self.pattern.size)
        self.constraint_set.jacobian(u, q, data)
        return self.pattern.to_csc(data)[self.n_v :, : self.n_v]

    # Energy, momentum

    def energy_momentum(self, q: Floats, v: Floats, u: Floats | None = None) -> Floats:
        """(s, 8): kinetic and potential energy, linear momentum, angular momentum about the inertial origin.

        u (s, n_u) : inputs, for the unwrapped angles of joints; by default those of ``discrete``.
        """
        out = np.zeros((len(q), 8))
        if u is None:
            u = np.zeros((len(q), self.n_u))
            for input_, part in self.parts_of_inputs:
                if input_.of_discrete:
                    u[:, part] = input_.function(self.discrete)
        for batch in self.batches:
            batch.energy_momentum(q, v, out)
            batch.potential_energy(u, q, v, out[:, 1])
        return out

    def power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers, which is the rate of kinetic plus potential energy."""
        force = np.zeros(v.shape)
        for batch in self.batches:
            batch.nonconservative_force(u, q, v, force)
        power: Floats = np.einsum("sv,sv->s", force, v)
        if multipliers is not None:
            self.constraint_set.constraint_power(u, q, v, multipliers, power)
        return power
