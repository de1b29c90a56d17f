"""Reduced form: a System in independent speeds, one for each degree of freedom of its joint tree.

    (H2^T M H2) u' = H2^T (f - h - f_el - M H2' u),        v = H2(q) u,    v' = H2 u' + H2' u,    J H2 = 0

the velocity form projected with H2: forces and masses of elements are the System's, the reactions of joints vanish,
and joints have no drift, because their angles and strokes are the coordinates. The rows of drivers and of engaged
latches, which belong to no joint of the tree, are retained as constraints, C H2 u + Phi_t = 0, with multipliers. H2 is
not formed where a sweep over the tree is sufficient. Source: docs/theory/reduced_order.md, equations (1) to (13);
Thompson, AIAA 2011-6277, equations (13) to (18).
"""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.formulations.joint_tree import JointTree, Swept
from femb.formulations.joint_tree_kernels import FRAME_V, SIZE
from femb.formulations.reduced.coordinates import TreeCoordinates
from femb.formulations.reduced.kernels import apply_H2, apply_H2_T, composite
from femb.formulations.reduced.null_space import NullSpace
from femb.formulations.reduced.recursion import RecursiveSteps
from femb.formulations.reduced.solvers import BorderedSolver, DenseSolver, bordered, solve_positive
from femb.formulations.reduced.tangent import Tangent
from femb.formulations.transformed import refused
from femb.formulations.tree_form import TreeForm
from femb.formulations.tree_frame import Root
from femb.layout.discrete import DiscreteState
from femb.layout.element import TrialError
from femb.system.block_lu import SingularError
from femb.system.linear_solver import Matrix, Solver
from femb.system.reaction_stiffness import reaction_stiffness
from femb.system.system import System

# Up to this many unknowns dense matrices are faster, also with beams; those of rigid bodies fill in anyway.
DENSE = 250
# Frames whose 6 x 6 matrices, of one or several states, stay in the processor's cache.
TOGETHER = 200


class ReducedForm(RecursiveSteps, TreeCoordinates, TreeForm):
    """A System in the coordinates q (n_q,) of its joint tree and independent speeds v (n_v,).

    root : coordinates of free bodies. Raises ModelError if the joints do not form trees (see JointTree), or retained
    rows depend on each other.
    """

    def __init__(self, system: System, root: Root | None = None) -> None:
        TreeForm.__init__(self, system)
        TreeCoordinates.__init__(self, JointTree(system, "reduced", root))
        if not self.n_v:
            raise refused("'reduced': the joints leave nothing free to move")
        self.null_space = NullSpace(self.tree)
        self._tangent = Tangent(self.tree, self.null_space)
        self._choose_rows()
        self.q0, self.v0 = self.tree.q0, self.tree.speeds_at(self.tree.q0, system.v0)
        self._check_retained()

    def _choose_rows(self) -> None:
        self._select_rows(self.tree)
        self.dense = self.n_v + self.n_c <= DENSE or not self.layout.couplings
        self.solver: Solver = DenseSolver() if self.dense else BorderedSolver()

    def _check_retained(self) -> None:
        if not self.n_c:
            return
        u, layout = self.inputs_at(0.0, self.q0, self.v0), self.layout
        J = self._retained_rows(u, self.tree.sweep(self.q0[None], np.zeros((1, self.n_v))))
        if np.linalg.matrix_rank(J, tol=1e-9 * np.linalg.norm(J)) < self.n_c:
            labels = [layout.row_labels[k] for k in self.tree.retained_rows if layout.row_c[k] in self.retained]
            raise refused(
                f"'reduced' needs drivers that are independent of each other and of the joints, got "
                f"{', '.join(labels)}; use 'velocity', or drive less"
            )

    def H2(self, q: Floats, v: Floats | None = None) -> tuple[Any, Any]:
        """H2 and H2' (system.n_v, n_v) at one state, scipy.sparse. Equation (12)."""
        swept = self.tree.sweep(q[None], np.zeros((1, self.n_v)) if v is None else v[None])
        return self.null_space.matrices(*(array[0] for array in swept[2:]))

    def velocity_rates(self, swept: Swept, v: Floats, a: Floats) -> Floats:
        """v' of the System (s, system.n_v), H2 a + H2' v, at s swept states."""
        _, V, T, T1, B, B1 = swept
        A = np.empty_like(V)
        apply_H2(self.tree.index, T, T1, B, B1, V, v, a, A)
        A[:, self.tree.internal_index[1]] = a[:, self.tree.internal[1]]
        return A

    def pulled(self, swept: Swept, force: Floats) -> Floats:
        """H2^T force (s, n_v); on return force (s, system.n_v) contains for every frame the sum over its subtree."""
        out = np.empty((len(force), self.n_v))
        apply_H2_T(self.tree.index, swept[2], swept[4], force, out)
        out[:, self.tree.internal[1]] = force[:, self.tree.internal_index[1]]
        return out

    def equations(self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats) -> Floats:
        """(s, n_v + n_c): H2^T times the System's residual, and retained constraint rows on velocities."""
        swept = self.tree.sweep(q, v)
        Q, V, *_ = swept
        A = self.velocity_rates(swept, v, a)
        if not self.n_c:
            return self.pulled(swept, self.system.residual(u, Q, V, A))
        both = self.system.equations(u, Q, V, A, self._all_multipliers(multipliers))
        force = self.pulled(swept, np.ascontiguousarray(both[:, : self.system.n_v]))
        return np.concatenate([force, both[:, self.system.n_v + self.retained]], axis=1)

    def forward(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (n_v,) and the multipliers (n_c,) of retained rows at one state: (10). Raises TrialError."""
        if self._recursion is not None and not self.n_c:
            return self._recursion.rates(q, v, self._applied(self._recursion, u, q, v)), np.zeros(0)
        swept = self.tree.sweep(q[None], v[None])
        Q, V, *_ = swept
        bias = self.velocity_rates(swept, v[None], np.zeros((1, self.n_v)))
        x = -self.pulled(swept, self.system.residual(u[None], Q, V, bias))[0]
        matrix = self.mass(swept)
        try:
            if self.dense and not self.n_c:
                return solve_positive(matrix, x), np.zeros(0)
            if self.n_c:
                J = self.system.jacobian(u, Q[0])[self.retained]
                gamma = self.system.constraints(u[None], Q, V)[1][0, self.retained] - J @ bias[0]
                matrix, x = bordered(matrix, (J @ self.null_space.of(swept)).toarray()), np.append(x, gamma)
            x = self.solver.factorise(matrix).solve(x)
        except SingularError as error:
            raise TrialError(
                "the reduced mass matrix is singular: a direction without mass, or rows too many"
            ) from error
        return x[: self.n_v], x[self.n_v :]

    @cached_property
    def _mass_offsets(self) -> Ints | None:
        """Offsets of every frame's mass (n, 6, 6) in block data; None if elements couple frames."""
        if self.layout.couplings:
            return None
        sizes = self.tree.index[:, SIZE]
        offset, stride = self.system.pattern.offsets(self.tree.index[:, [FRAME_V]])
        i = np.arange(6)
        entries = offset + i[:, None] * stride + i
        inside = (i[:, None] < sizes[:, None, None]) & (i < sizes[:, None, None])
        return np.where(inside, entries, self.system.pattern.size)

    def mass(self, swept: Swept) -> Matrix:
        """H2^T M H2 (n_v, n_v) at one swept state; dense, or scipy.sparse."""
        data = self.system.mass_data(swept[0][0])
        if self._mass_offsets is not None:
            out = np.zeros((self.n_v, self.n_v))
            composite(self.tree.index, swept[2][0], swept[4][0], np.append(data, 0.0)[self._mass_offsets], out)
            return out
        H = self.null_space.of(swept)
        n = self.system.n_v
        mass = H.T @ self.system.pattern.to_csc(data)[:n, :n] @ H
        return mass.toarray() if self.dense else mass

    def matrices(self, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> tuple[Matrix, Matrix, Matrix]:
        """Mass, damping and stiffness of the ``equations`` at one state, exact: (14) and (15).

        Sparse matrices are without the part of ``low_rank_tangent``, which would fill them.
        """
        swept = self.tree.sweep(q[None], v[None])
        a, _ = self.forward(u, q, v)
        A = self.velocity_rates(swept, v[None], a[None])
        full = self._all_multipliers(multipliers[None])
        force = self.system.equations(u[None], swept[0], swept[1], A, full)[0, : self.system.n_v]
        Q, V = swept[0][0], swept[1][0]
        both = self.system.tangent(u, Q, V, A[0], constraints=self.n_c > 0)
        parts = [self.system.pattern.to_csc(part) for part in (self.system.mass_data(Q), *both)]
        low_rank = self.system.low_rank_tangent(u, Q, V)
        if self.dense and low_rank.rank:
            for k, part in enumerate(low_rank.sparse(), start=1):
                part.resize(parts[k].shape)
                parts[k] = parts[k] + part
        reactions = reaction_stiffness(self.system, u, Q, V, full[0]) if self.n_c else None
        changes = self._tangent.changes(swept, force, q, v, a)
        reduced = self._tangent.pulled_back(changes, parts, self.retained, reactions)
        return tuple(matrix.toarray() if self.dense else matrix.tocsc() for matrix in reduced)

    def _retained_rows(self, u: Floats, swept: Swept) -> Floats:
        """C H2 (n_c, n_v) at one swept state."""
        result: Floats = (self.system.jacobian(u, swept[0][0])[self.retained] @ self.null_space.of(swept)).toarray()
        return result

    def _correction(self, u: Floats, q: Floats, gap: Floats) -> Floats:
        """The smallest change of speeds, in the metric of the mass, that changes the retained rows by -gap."""
        swept = self.tree.sweep(q[None], np.zeros((1, self.n_v)))
        J = self._retained_rows(u, swept)
        x = np.concatenate([np.zeros(self.n_v), -gap])
        try:
            result: Floats = self.solver.factorise(bordered(self.mass(swept), J)).solve(x)[: self.n_v]
            return result
        except SingularError as error:
            raise TrialError("the drivers depend on each other") from error

    # States

    def _update_discrete(self, previous: DiscreteState) -> None:
        """Select the retained rows again: engaged latches are among them."""
        if np.any(previous.engaged != self.system.discrete.engaged):
            self._choose_rows()

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v of the System at s states."""
        return self.tree.to_system(q, v)

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """v' of the System at s states: H2 a + H2' v."""
        together = max(1, TOGETHER // max(1, len(self.tree.frames)))
        parts = [slice(first, first + together) for first in range(0, max(1, len(q)), together)]
        return np.concatenate([self.velocity_rates(self.tree.sweep(q[x], v[x]), v[x], a[x]) for x in parts])

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v of one state of the System."""
        q = self.tree.coordinates_at(q, self.system.discrete.angles)
        return q, self.tree.speeds_at(q, v)

    def at(self, q: Floats) -> "ReducedForm":
        """The same form with the joint angles of q in its discrete state."""
        # not by ``copy``, which takes several times as long: this is done after every step
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.system = self.system_at(q)
        return other

    def system_at(self, q: Floats) -> System:
        """The system with the joint angles of q in its discrete state; q counts revolutions in steps of any length."""
        if not self.system.coordinates_of_joints.count:
            return self.system
        return self.system.with_discrete(replace(self.system.discrete, angles=self.joint_angles(q[None])[0]))
