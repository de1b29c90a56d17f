"""Reduced form: a System in independent speeds, one for each free direction of its tree of joints.

    (H2^T M H2) u' = H2^T (f - h - f_el - M H2' u),        v = H2(q) u,    v' = H2 u' + H2' u,    J H2 = 0

which is the velocity form pulled back: forces and masses of elements are the System's, the reactions of joints drop
out, and joints have no drift, since their angles and strokes are the coordinates. Rows that no joint of the tree has,
of drivers and of engaged latches, are kept as constraints, C H2 u + Phi_t = 0, with multipliers. H2 is never formed
where a sweep over the tree does. Source: docs/theory/reduced_order.md, equations (1) to (13); Thompson, AIAA 2011-6277,
equations (13) to (18).
"""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.formulations.bordered import BorderedSolver
from femb.formulations.joint_tree import JointTree, Swept
from femb.formulations.joint_tree_kernels import FRAME_V, SIZE
from femb.formulations.reduced.coordinates import TreeCoordinates
from femb.formulations.reduced.dense import DenseSolver, bordered, solve_positive
from femb.formulations.reduced.kernels import apply_H2, apply_H2_T, composite
from femb.formulations.reduced.null_space import NullSpace
from femb.formulations.reduced.tangent import Tangent
from femb.formulations.transformed import Transformed
from femb.formulations.tree_frame import Root
from femb.layout.discrete import DiscreteState
from femb.layout.element import TrialError
from femb.system.block_lu import SingularError
from femb.system.linear_solver import Factors, Matrix, Solver
from femb.system.reaction_stiffness import reaction_stiffness
from femb.system.system import System

# Up to this many unknowns dense matrices are the faster ones, also with beams; those of rigid bodies fill in anyway.
DENSE = 250
# What is left of kept rows by a projection, in their units.
CLOSED, PASSES = 1e-13, 10


class ReducedForm(TreeCoordinates, Transformed):
    """A System seen by a stepper in the coordinates q (n_q,) of its joint tree and independent speeds v (n_v,).

    root : what free bodies are described by. kept : places of the n_c kept rows among the System's multipliers.
    coordinates : places of coordinates that are integrals of speeds, and of quaternions.

    Raises ModelError for what is no tree (see JointTree), and where kept rows depend on each other.
    """

    def __init__(self, system: System, root: Root | None = None) -> None:
        Transformed.__init__(self, system)
        TreeCoordinates.__init__(self, JointTree(system, "reduced", root))
        if not self.n_v:
            raise ModelError.at(("run", "formulation"), "'reduced': the joints leave nothing free to move")
        self.null_space = NullSpace(self.tree)
        self._tangent = Tangent(self.tree, self.null_space)
        self._keep()
        self.q0, self.v0 = self.from_system(system.q0, system.v0)
        self._check_kept()

    def _keep(self) -> None:
        engaged = self.system.discrete.engaged
        idle = {latch.row for latch, on in zip(self.layout.latches, engaged, strict=True) if not on}
        rows = [row for row in self.tree.kept if row not in idle]
        self.kept: Ints = np.asarray(self.layout.row_c[rows], dtype=np.int64)
        self.n_c = len(rows)
        self.dense = self.n_v + self.n_c <= DENSE or not self.layout.couplings
        self.solver: Solver = DenseSolver() if self.dense else BorderedSolver()

    def _check_kept(self) -> None:
        if not self.n_c:
            return
        u = self.inputs_at(0.0, self.q0, self.v0)
        J = self.kept_rows(u, self.q0)
        if np.linalg.matrix_rank(J, tol=1e-9 * np.linalg.norm(J)) < self.n_c:
            labels = [self.layout.row_labels[row] for row in self.tree.kept if self.layout.row_c[row] in self.kept]
            raise ModelError.at(
                ("run", "formulation"),
                f"'reduced' needs drivers that are independent of each other and of the joints, got "
                f"{', '.join(labels)}; use 'velocity', or drive less",
            )

    # The equations

    def H2(self, q: Floats, v: Floats | None = None) -> tuple[Any, Any]:
        """H2 and H2' (system.n_v, n_v) at one state, scipy.sparse. Equation (12)."""
        swept = self.tree.sweep(q[None], np.zeros((1, self.n_v)) if v is None else v[None])
        return self.null_space.matrices(*(each[0] for each in swept[2:]))

    def velocity_rates(self, swept: Swept, v: Floats, a: Floats) -> Floats:
        """v' of the System (s, system.n_v), H2 a + H2' v, at s states that were swept."""
        _, V, T, T1, B, B1 = swept
        A = np.empty_like(V)
        apply_H2(self.tree.index, T, T1, B, B1, V, v, a, A)
        A[:, self.tree.internal_places[1]] = a[:, self.tree.internal[1]]
        return A

    def pulled(self, swept: Swept, force: Floats) -> Floats:
        """H2^T force (s, n_v) of forces (s, system.n_v), which then hold the sums over what hangs on each frame."""
        out = np.empty((len(force), self.n_v))
        apply_H2_T(self.tree.index, swept[2], swept[4], force, out)
        out[:, self.tree.internal[1]] = force[:, self.tree.internal_places[1]]
        return out

    def equations(self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats) -> Floats:
        """(s, n_v + n_c): H2^T of the System's residual, and kept rows of constraints on velocities."""
        swept = self.tree.sweep(q, v)
        Q, V, *_ = swept
        A = self.velocity_rates(swept, v, a)
        if not self.n_c:
            return self.pulled(swept, self.system.residual(u, Q, V, A))
        both = self.system.equations(u, Q, V, A, self._all_multipliers(multipliers))
        force = self.pulled(swept, np.ascontiguousarray(both[:, : self.system.n_v]))
        return np.concatenate([force, both[:, self.system.n_v + self.kept]], axis=1)

    def _all_multipliers(self, multipliers: Floats) -> Floats:
        """The System's multipliers (s, system.n_c), with zero for the rows of joints."""
        result = np.zeros((len(multipliers), self.system.n_c))
        result[:, self.kept] = multipliers
        return result

    def forward(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (n_v,) and the multipliers (n_c,) of kept rows, at one state: (10). Raises TrialError."""
        swept = self.tree.sweep(q[None], v[None])
        Q, V, *_ = swept
        bias = self.velocity_rates(swept, v[None], np.zeros((1, self.n_v)))
        x = -self.pulled(swept, self.system.residual(u[None], Q, V, bias))[0]
        matrix = self.mass(swept)
        try:
            if self.dense and not self.n_c:
                return solve_positive(matrix, x), np.zeros(0)
            if self.n_c:
                J = self.system.jacobian(u, Q[0])[self.kept]
                gamma = self.system.constraints(u[None], Q, V)[1][0, self.kept] - J @ bias[0]
                matrix, x = bordered(matrix, (J @ self.null_space.of(swept)).toarray()), np.append(x, gamma)
            x = self.solver.factorise(matrix).solve(x)
        except SingularError as error:
            raise TrialError(
                "the reduced mass matrix is singular: a direction without mass, or rows too many"
            ) from error
        return x[: self.n_v], x[self.n_v :]

    @cached_property
    def _mass_places(self) -> Ints | None:
        """Where the entries of every frame's mass (n, 6, 6) are in block data; None where masses of frames couple."""
        if self.layout.couplings:
            return None
        sizes = self.tree.index[:, SIZE]
        offset, stride = self.system.pattern.offsets(self.tree.index[:, [FRAME_V]])
        i = np.arange(6)
        places = offset + i[:, None] * stride + i
        inside = (i[:, None] < sizes[:, None, None]) & (i < sizes[:, None, None])
        return np.where(inside, places, self.system.pattern.size)

    def mass(self, swept: Swept) -> Matrix:
        """H2^T M H2 (n_v, n_v) at one state that was swept; dense, or scipy.sparse."""
        data = self.system.mass_data(swept[0][0])
        if self._mass_places is not None:
            out = np.zeros((self.n_v, self.n_v))
            composite(self.tree.index, swept[2][0], swept[4][0], np.append(data, 0.0)[self._mass_places], out)
            return out
        H = self.null_space.of(swept)
        n = self.system.n_v
        whole = H.T @ self.system.pattern.to_csc(data)[:n, :n] @ H
        return whole.toarray() if self.dense else whole

    def matrices(self, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> tuple[Matrix, Matrix, Matrix]:
        """Mass, damping and stiffness of the ``equations`` at one state, exact: (14) and (15)."""
        swept = self.tree.sweep(q[None], v[None])
        a, _ = self.forward(u, q, v)
        A = self.velocity_rates(swept, v[None], a[None])
        full = self._all_multipliers(multipliers[None])
        force = self.system.equations(u[None], swept[0], swept[1], A, full)[0, : self.system.n_v]
        Q, V = swept[0][0], swept[1][0]
        both = self.system.tangent(u, Q, V, A[0], constraints=self.n_c > 0)
        parts = [self.system.pattern.to_csc(part) for part in (self.system.mass_data(Q), *both)]
        reactions = reaction_stiffness(self.system, u, Q, V, full[0]) if self.n_c else None
        changes = self._tangent.changes(swept, force, q, v, a)
        found = self._tangent.pulled_back(changes, parts, self.kept, reactions)
        return tuple(each.toarray() if self.dense else each.tocsc() for each in found)

    # Kept rows

    def kept_rows(self, u: Floats, q: Floats) -> Floats:
        """C H2 (n_c, n_v) at one state."""
        return self._kept_rows(u, self.tree.sweep(q[None], np.zeros((1, self.n_v))))

    def _kept_rows(self, u: Floats, swept: Swept) -> Floats:
        result: Floats = (self.system.jacobian(u, swept[0][0])[self.kept] @ self.null_space.of(swept)).toarray()
        return result

    def projected(self, u: Floats, q: Floats, v: Floats, factors: Factors | None = None) -> tuple[Floats, Floats]:
        """q (n_q,) and v (n_v,) on the kept rows, by the smallest change weighted with the mass. Raises TrialError."""
        if not self.n_c:
            return q, v
        for _ in range(PASSES):
            left = self.system.constraints(u[None], *self.to_system(q[None], v[None]))[0][0, self.kept]
            if np.max(np.abs(left)) <= CLOSED:
                break
            q = q + self.rates(q[None], self._closing(u, q, left)[None])[0]
            self.normalise(q)
        else:
            if not np.max(np.abs(left)) <= 100.0 * CLOSED:
                raise TrialError("the drivers could not be followed")
        rates = self.system.constraint_rates(u[None], *self.to_system(q[None], v[None]))[0, self.kept]
        return q, v + self._closing(u, q, rates)

    def _closing(self, u: Floats, q: Floats, left: Floats) -> Floats:
        swept = self.tree.sweep(q[None], np.zeros((1, self.n_v)))
        J = self._kept_rows(u, swept)
        x = np.concatenate([np.zeros(self.n_v), -left])
        try:
            result: Floats = self.solver.factorise(bordered(self.mass(swept), J)).solve(x)[: self.n_v]
            return result
        except SingularError as error:
            raise TrialError("the drivers depend on each other") from error

    # States

    def _take(self, before: DiscreteState) -> None:
        """Engaged latches are kept rows."""
        if np.any(before.engaged != self.system.discrete.engaged):
            self._keep()

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v in velocity coordinates of s states."""
        return self.tree.to_system(q, v)

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """v' in velocity coordinates of s states: H2 a + H2' v."""
        return self.velocity_rates(self.tree.sweep(q, v), v, a)

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v of one state in velocity coordinates."""
        found = self.tree.coordinates_at(q, self.system.discrete.angles)
        return found, self.tree.speeds_at(found, v)

    def at(self, q: Floats) -> "ReducedForm":
        """The same form with the turns of its joints as they are at q."""
        return self.with_discrete(self.system_at(q).discrete)

    def system_at(self, q: Floats) -> System:
        """The system with the turns of its joints as they are at q, which a step of any length counts."""
        if not self.system.coordinates_of_joints.count:
            return self.system
        angles = np.where(self.tree.place >= 0, q[self.tree.place], self.system.discrete.angles)
        return self.system.with_discrete(replace(self.system.discrete, angles=angles))

    def power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers."""
        full = None if multipliers is None else self._all_multipliers(multipliers)
        return self.system.power(u, *self.to_system(q, v), full)
