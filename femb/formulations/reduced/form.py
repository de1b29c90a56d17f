"""Reduced form: a System in independent speeds, one for each degree of freedom of its joint tree.

    (H2^T M H2) u' = H2^T (f - h - f_el - M H2' u),        v = H2(q) u,    v' = H2 u' + H2' u,    J H2 = 0

the velocity form projected with H2: forces and masses of elements are the System's, the reactions of joints vanish,
and joints have no drift, because their angles and strokes are the coordinates. The rows of drivers and of engaged
latches, which belong to no joint of the tree, are retained as constraints, C H2 u + Phi_t = 0, with multipliers. H2 is
not formed where a sweep over the tree is sufficient. Source: docs/theory/reduced_order.md, equations (1) to (13);
Thompson, AIAA 2011-6277, equations (13) to (18).
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.sparse import block_array, csc_array
from scipy.sparse.linalg import splu

from femb.base.errors import ModelError
from femb.base.options import Tolerances
from femb.base.types import Bools, ErrorScale, Floats, Ints
from femb.base.values import Keeper
from femb.formulations.contract import Coordinates, refused
from femb.formulations.independent import Independent
from femb.formulations.joint_tree import JointTree, Swept, TreeForm, position_names, speed_names
from femb.formulations.joint_tree_kernels import FRAME_V, SIZE, SPHERICAL
from femb.formulations.reduced.bound_rates import NO_MASS, ReducedRates, defined, solve_positive
from femb.formulations.reduced.null_space import (
    NullSpace,
    TreeTangent,
    apply_H2,
    apply_H2_T,
    composite,
    product,
    pulled_rows,
)
from femb.formulations.reduced.recursion import RecursiveSteps
from femb.formulations.tree_frame import Root, TreeFrame
from femb.layout.discrete import DiscreteState
from femb.layout.element import TrialError
from femb.layout.numbering import KEPT
from femb.numerics import kinematics, rotations
from femb.system.block_lu import DEPENDENT, LowRankMatrices, Matrix, SingularError, Solver, WithLowRank
from femb.system.constraints import reaction_stiffness
from femb.system.system import System
from femb.system.velocity_coordinates import corotated_vectors

# Coordinates and speeds of a joint tree for steppers: rates, groups for the error norm, unit quaternions.
#
# Source: docs/theory/reduced_order.md, sections 2 and 3.


class ErrorGroups(NamedTuple):
    """Groups of components for the error norm: first index in q, in u, and size (n, 3), of which ``lengths`` are the
    first; a size of -1 is that of an angle."""

    groups: Ints
    lengths: int


GROUPS: Keeper[tuple[ErrorGroups, tuple[Ints, Ints]]] = Keeper(KEPT)


class TreeCoordinates:
    """Independent q (n_q,) and speeds v (n_v,) of a joint tree.

    corotated_frames : quaternions and speeds of the free frames that flexible elements couple; see the contract.
    """

    system: System

    def __init__(self, tree: JointTree) -> None:
        self.tree, self.independent = tree, Independent(tree)
        self.n_q, self.n_v = self.independent.n_q, self.independent.n_v
        # of free bodies with velocities in body axes
        self.body_roots = [self.independent.frame(frame) for frame in tree.frames if frame.body_velocity]
        self._group()

    def _group(self) -> None:
        """Set the groups of components for the error norm, and ``corotated_frames``."""
        layout = self.tree.layout
        if layout.numbers.kept and not self.body_roots and not self.independent:
            self._groups, corotated = GROUPS.get(self.tree.structure, self._grouped)
        else:
            self._groups, corotated = self._grouped()
        quaternion_q, omega_u = corotated
        self.corotated_frames = quaternion_q, corotated_vectors(omega_u - 3)

    def _grouped(self) -> tuple["ErrorGroups", tuple[Ints, Ints]]:
        """Groups and corotated frames, which depend on the topology alone."""
        layout = self.tree.layout
        coupled = {frame for frames in layout.structures for frame in frames} | {each.owner for each in layout.internal}
        lengths, angles, quaternions, corotated = [], [], [], []
        for frame in self.tree.frames:
            strokes, free = len(frame.strokes), frame.joint is None
            pairs = [(frame.q.start + k, frame.u.start + k) for k in range(strokes)]
            lengths += [(*pairs[0], 3)] if free else [(*pair, 1) for pair in pairs]
            if frame.rotation == SPHERICAL:
                quaternions.append((frame.q.stop - 4, frame.u.stop - 3, 4))
                corotated += [quaternions[-1][:2]] if free and frame.frame in coupled else []
            else:
                count = frame.q.stop - frame.angles.start
                angles += [(frame.angles.start + k, frame.u.start + strokes + k, -1) for k in range(count)]
        groups: Ints = np.array([*lengths, *angles, *quaternions], dtype=np.int64).reshape(-1, 3)
        in_q, in_u, there = self.independent.placed(groups[:, 0], groups[:, 1])
        found = ErrorGroups(np.column_stack([in_q, in_u, groups[there, 2]]), int(there[: len(lengths)].sum()))
        return found, self.independent.placed(*np.array(corotated, dtype=np.int64).reshape(-1, 2).T)[:2]

    @property
    def coordinates(self) -> Coordinates:
        """Indices as ``femb.numerics.kinematics`` takes them. Raises ModelError for velocities in body axes."""
        if self.body_roots:
            raise ModelError.at(
                ("run", "method"), "velocities in body axes are no rates of coordinates: use 'rk', or inertial ones"
            )
        return self.independent.coordinates

    def rates(self, q: Floats, v: Floats) -> Floats:
        """q' (s, n_q)."""
        out = np.empty_like(q)
        kinematics.rates(self.independent.coordinates, q, v, out)
        for root in self.body_roots:
            out[:, root.q.start : root.q.start + 3] = self._rotated(q, root, v[:, root.u][:, :3])
        return out

    def second_rates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """q'' (s, n_q)."""
        rate = self.rates(q, v)
        by_rate = np.zeros_like(rate)
        kinematics.rates(self.independent.coordinates, rate, v, by_rate)
        by_rate[:, self.independent.coordinates[0]] = 0.0
        out = self.rates(q, a) + by_rate
        for root in self.body_roots:
            speeds = v[:, root.u]
            out[:, root.q.start : root.q.start + 3] += self._rotated(q, root, np.cross(speeds[:, 3:], speeds[:, :3]))
        return out

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The speeds (s, n_v) that change q (n_q,) or (s, n_q) at the rates dq (s, n_q)."""
        q = q if q.ndim == 2 else q[None]
        out = np.empty((len(dq), self.n_v))
        kinematics.tangents(self.independent.coordinates, q, dq, out)
        for root in self.body_roots:
            back = self._rotated(q, root, dq[:, root.q.start : root.q.start + 3], back=True)
            out[:, root.u.start : root.u.start + 3] = back
        return out

    @staticmethod
    def _rotated(q: Floats, root: TreeFrame, x: Floats, back: bool = False) -> Floats:
        p = rotations.normalise(q[:, root.angles])
        return rotations.rotate_back(p, x) if back else rotations.rotate(p, x)

    def joint_angles(self, q: Floats) -> Floats:
        """The joint coordinates (s, m) that q (s, n_q) counts, and of the others those of the last step."""
        index = self.tree.coordinate_index
        return np.where(index >= 0, self.independent.tree_q(q)[:, index], self.system.discrete.angles)

    def normalise(self, q: Floats) -> float:
        """Scale quaternions to unit length, in place; returns the largest |p.p - 1| before."""
        return float(kinematics.normalise_each(self.independent.coordinates[2], q.reshape(-1, self.n_q)))

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """Groups and tolerances for ``kinematics.error_norm``; angles have the tolerance of quaternions."""
        position, quaternion, _ = atol.values(rtol, self.tree.layout.length)
        groups, lengths = self._groups
        scale = np.full(len(groups), quaternion)
        scale[:lengths] = position
        *of_internal, is_angle = self.tree.layout.internal_tolerances(atol, rtol)
        first_q, first_u = self.n_q - len(is_angle), self.n_v - len(is_angle)
        internal: Ints = np.empty((len(is_angle), 3), dtype=np.int64)
        internal[:, 0] = first_q + np.arange(len(is_angle))
        internal[:, 1] = first_u + np.arange(len(is_angle))
        internal[:, 2] = np.where(is_angle, -1, 1)
        of_q, of_v, size_q = np.ascontiguousarray(np.concatenate([groups, internal]).T)
        size_v = np.minimum(np.abs(size_q), 3)
        pairs = zip((1.0, atol.rate_time), of_internal, strict=True)
        at_q, at_v = (np.concatenate([scale / time, each]) for time, each in pairs)
        return (of_q, size_q, at_q, rtol), (of_v, size_v, at_v, rtol)


# Solvers of bordered matrices, sparse and dense, with the interface of ``femb.system.block_lu.LinearSolver``.


class SparseFactors:
    """LU factors of one matrix. Raises SingularError."""

    def __init__(self, matrix: Any) -> None:
        try:
            self._lu = splu(csc_array(matrix))
        except RuntimeError as error:  # scipy raises it for an exactly singular matrix
            raise SingularError from error

    def solve(self, x: Floats) -> Floats:
        """Solve in place for a right-hand side (n,), and return it."""
        x[:] = self._lu.solve(x)
        return x


class DenseFactors:
    """LU factors of one matrix (n, n), real or complex. Raises SingularError."""

    def __init__(self, matrix: Any) -> None:
        factorise, self._solve = get_lapack_funcs(("getrf", "getrs"), (matrix,))
        self._lu, self._pivots, info = factorise(matrix)
        if info > 0 or not np.all(np.isfinite(np.diag(self._lu))):
            raise SingularError

    def solve(self, x: Floats) -> Floats:
        """Solve in place for a right-hand side (n,), and return it."""
        x[:], _ = self._solve(self._lu, self._pivots, x)
        return x


def bordered(matrix: Matrix, J: Floats) -> Matrix:
    """[matrix, J^T; J, 0], dense or scipy.sparse like the matrix."""
    if isinstance(matrix, np.ndarray):
        return np.block([[matrix, J.T], [J, np.zeros((len(J), len(J)))]])
    return block_array([[matrix, J.T], [J, None]], format="csc")


class BorderedSolver:
    """Factorises and multiplies matrices (n, n) of scipy.sparse."""

    def factorise(self, matrix: Any, dependent: float = DEPENDENT) -> SparseFactors:
        """Factors of a matrix without dependent rows; ``dependent`` is ignored. Raises SingularError."""
        return SparseFactors(matrix)

    def shifted(self, mass: Any, damping: Any, stiffness: Any, mu: complex, reach: complex | None = None) -> Any:
        """mu M + C + reach K; reach is 1/mu by default."""
        return mu * mass + damping + (stiffness / mu if reach is None else reach * stiffness)

    def multiply(self, matrix: Any, x: Floats) -> Floats:
        """A x (n,)."""
        result: Floats = matrix @ x
        return result


class LowRankBorderedSolver(LowRankMatrices, BorderedSolver):
    """The bordered solver for matrices that may have a part of low rank."""


class DenseSolver(BorderedSolver):
    """Factorises and multiplies matrices (n, n)."""

    def factorise(self, matrix: Any, dependent: float = 0.0) -> DenseFactors:  # type: ignore[override]
        """Factors of the matrix. Raises SingularError, also for dependent rows."""
        return DenseFactors(matrix)


class Entries(NamedTuple):
    """Entries of block data: their numbers, and rows and columns in the matrix."""

    numbers: Ints
    places: tuple[Ints, Ints]

    @classmethod
    def where(cls, wanted: Bools, rows: Ints, columns: Ints) -> "Entries":
        """The entries that are wanted, of all at these rows and columns."""
        numbers = np.flatnonzero(wanted)
        return cls(numbers, (rows[numbers].astype(np.int64), columns[numbers].astype(np.int64)))


# Up to this many unknowns dense matrices are faster, also with beams; those of rigid bodies fill in anyway.
DENSE = 250
# Up to so many speeds a dense mass takes less time than a recursion whose other forces Python evaluates.
FEW = 60
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
        self._row_entries_of: tuple[Ints, Entries] | None = None
        self._choose_rows()
        self.q0 = self.independent.q_of(self.tree.q0)
        self.v0 = self.independent.v_of(self.tree.speeds_at(self.tree.q0, system.v0))
        self._check_retained()

    @cached_property
    def _tangent(self) -> TreeTangent:
        """Derivatives of H2, which explicit methods do not need."""
        return TreeTangent(self.tree, self.null_space)

    def _choose_rows(self) -> None:
        self._select_rows(self.tree, self.independent.rows)
        self.dense = self.n_v + self.n_c <= DENSE or not (self.layout.structures or self.layout.internal)
        self.solver: Solver = DenseSolver() if self.dense else LowRankBorderedSolver()

    def _check_retained(self) -> None:
        if not self.n_c:
            return
        u, layout = self.inputs_at(0.0, self.q0, self.v0), self.layout
        J = self._retained_rows(u, self.swept(self.q0[None], np.zeros((1, self.n_v))))
        if np.linalg.matrix_rank(J, tol=1e-9 * np.linalg.norm(J)) < self.n_c:
            labels = [layout.row_labels[k] for k in self.tree.retained_rows if layout.row_c[k] in self.retained]
            raise refused(
                f"'reduced' needs drivers that are independent of each other and of the joints, got "
                f"{', '.join(labels)}; use 'velocity', or drive less"
            )

    def H2(self, q: Floats, v: Floats | None = None) -> tuple[Any, Any]:
        """H2 and H2' (system.n_v, n_v) at one state, scipy.sparse. Equation (12)."""
        swept = self.swept(q[None], np.zeros((1, self.n_v)) if v is None else v[None])
        H2, H2_rate = self.null_space.matrices(*(array[0] for array in swept[2:]))
        return self.independent.pulled(H2), self.independent.pulled(H2_rate)

    def bound_rates(self) -> ReducedRates | None:
        """Its rates by bound kernels; None where it has none, or a recursion of its own that serves better."""
        slow = self._recursion is None or (self._recursion.others and self.n_v <= FEW)
        return ReducedRates(self) if slow and ReducedRates.serves(self) else None

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names (n_q,) of the coordinates."""
        return tuple(self.independent.q_of(np.array(position_names(self.tree))).tolist())

    @property
    def speed_names(self) -> tuple[str, ...]:
        """Names (n_v,) of the speeds."""
        return tuple(self.independent.v_of(np.array(speed_names(self.tree))).tolist())

    def swept(self, q: Floats, v: Floats) -> Swept:
        """The sweep over the tree at s states."""
        return self.tree.sweep(self.independent.tree_q(q), self.independent.tree_u(v))

    def velocity_rates(self, swept: Swept, v: Floats, a: Floats) -> Floats:
        """v' of the System (s, system.n_v), H2 a + H2' v, at s swept states."""
        _, V, T, T1, B, B1 = swept
        A, v, a = np.empty_like(V), self.independent.tree_u(v), self.independent.tree_u(a)
        apply_H2(self.tree.index, T, T1, B, B1, V, v, a, A)
        A[:, self.tree.internal_index[1]] = a[:, self.tree.internal[1]]
        return A

    def pulled(self, swept: Swept, force: Floats) -> Floats:
        """H2^T force (s, n_v); on return force (s, system.n_v) contains for every frame the sum over its subtree."""
        out = np.empty((len(force), self.tree.n_u))
        apply_H2_T(self.tree.index, swept[2], swept[4], force, out)
        out[:, self.tree.internal[1]] = force[:, self.tree.internal_index[1]]
        result: Floats = self.independent.pulled(out)
        return result

    def equations(self, u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats) -> Floats:
        """(s, n_v + n_c): H2^T times the System's residual, and retained constraint rows on velocities."""
        swept = self.swept(q, v)
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
        swept = self.swept(q[None], v[None])
        Q, V, *_ = swept
        bias = self.velocity_rates(swept, v[None], np.zeros((1, self.n_v)))
        x = -self.pulled(swept, self.system.residual(u[None], Q, V, bias))[0]
        matrix = self.mass(swept)
        try:
            if self.dense and not self.n_c:
                defined(solve_positive(np.ascontiguousarray(matrix), x))
                return x, np.zeros(0)
            if self.n_c:
                no_rate = self.system.constraint_rates(u[None], Q, np.zeros_like(V))
                bias_rate = (self.system.constraint_rates(u[None], Q, bias) - no_rate)[0, self.retained]
                gamma = self.system.constraints(u[None], Q, V)[1][0, self.retained] - bias_rate
                matrix, x = bordered(matrix, self._retained_rows(u, swept)), np.append(x, gamma)
            x = self.solver.factorise(matrix).solve(x)
        except SingularError as error:
            raise TrialError(NO_MASS) from error
        return x[: self.n_v], x[self.n_v :]

    @cached_property
    def mass_offsets(self) -> Ints | None:
        """Offsets of every frame's mass (n, 6, 6) in block data; None if elements couple frames or have unknowns."""
        if self.layout.structures or self.layout.internal:
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
        if self.mass_offsets is not None:
            out = np.zeros((self.tree.n_u, self.tree.n_u))
            composite(self.tree.index, swept[2][0], swept[4][0], np.append(data, 0.0)[self.mass_offsets], out)
            result: Floats = self.independent.pulled(out, left=True)
            return result
        n, n_u = self.system.n_v, self.tree.n_u
        if not self.dense:
            H = self.independent.pulled(self.null_space.of(swept))
            return H.T @ self.system.pattern.to_csc(data)[:n, :n] @ H
        entries, by_row, out = self.mass_entries, np.zeros((n, n_u)), np.zeros((n_u, n_u))
        rows = self.null_space.rows(swept)
        product(*entries.places, data[entries.numbers], *rows, by_row)
        pulled_rows(*rows, by_row, out)
        of_mass: Floats = self.independent.pulled(out, left=True)
        return of_mass

    def matrices(self, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> tuple[Matrix, Matrix, Matrix]:
        """Mass, damping and stiffness of the ``equations`` at one state, exact: (14) and (15).

        Sparse ones have the part that would fill them beside them, as ``femb.system.block_lu.WithLowRank``.
        """
        swept = self.swept(q[None], v[None])
        a, _ = self.forward(u, q, v)
        A = self.velocity_rates(swept, v[None], a[None])
        full = self._all_multipliers(multipliers[None])
        force = self.system.equations(u[None], swept[0], swept[1], A, full)[0, : self.system.n_v]
        Q, V = swept[0][0], swept[1][0]
        both = self.system.tangent(u, Q, V, A[0], constraints=self.n_c > 0)
        parts = [self.system.pattern.to_csc(part) for part in (self.system.mass_data(Q), *both)]
        system = self.system
        low_rank = (system.low_rank_tangent if self.dense else system.low_rank_matrices)(u, Q, V)
        if self.dense and low_rank.rank:
            for k, part in enumerate(low_rank.sparse(), start=1):
                part.resize(parts[k].shape)
                parts[k] = parts[k] + part
        reactions = reaction_stiffness(self.system, u, Q, V, full[0]) if self.n_c else None
        of_tree = (self.independent.tree_q(q), *(self.independent.tree_u(x) for x in (v, a)))
        changes = self._tangent.changes(swept, force, *of_tree).of_independent(self.independent)
        reduced = self._tangent.pulled_back(changes, parts, self.retained, reactions)
        if self.dense:
            return tuple(matrix.toarray() for matrix in reduced)
        M, C, K = (matrix.tocsc() for matrix in reduced)
        return M, *(WithLowRank.pair(C, K, changes.pulled_back(low_rank), self.n_c) if low_rank.rank else (C, K))

    def _retained_rows(self, u: Floats, swept: Swept) -> Floats:
        """C H2 (n_c, n_v) at one swept state."""
        data, entries = np.zeros(self.system.pattern.size), self._row_entries
        self.system.constraint_set.jacobian(u, swept[0][0], data)
        rows = np.zeros((self.n_c, self.tree.n_u))
        product(*entries.places, data[entries.numbers], *self.null_space.rows(swept), rows)
        result: Floats = self.independent.pulled(rows)
        return result

    @cached_property
    def mass_entries(self) -> Entries:
        """The entries of masses in block data."""
        rows, columns = self.system.pattern.rows_columns()
        n = self.system.n_v
        return Entries.where((rows < n) & (columns < n), rows, columns)

    @property
    def _row_entries(self) -> Entries:
        """The entries of the retained rows in block data, by the number of the row among these."""
        if self._row_entries_of is None or self._row_entries_of[0] is not self.retained:
            rows, columns = self.system.pattern.rows_columns()
            n = self.system.n_v
            numbers = np.full(n + self.system.n_c, -1)
            numbers[n + self.retained] = np.arange(self.n_c)
            of_rows = numbers[rows]
            self._row_entries_of = self.retained, Entries.where((of_rows >= 0) & (columns < n), of_rows, columns)
        return self._row_entries_of[1]

    def _correction(self, u: Floats, q: Floats, gap: Floats) -> Floats:
        """The smallest change of speeds, in the metric of the mass, that changes the retained rows by -gap."""
        swept = self.swept(q[None], np.zeros((1, self.n_v)))
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
        now = self.system.discrete
        if any(latch.engaged(previous) != latch.engaged(now) for latch in self.layout.latches):
            self._choose_rows()

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v of the System at s states."""
        return self.tree.to_system(self.independent.tree_q(q), self.independent.tree_u(v))

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """v' of the System at s states: H2 a + H2' v."""
        together = max(1, TOGETHER // max(1, len(self.tree.frames)))
        parts = [slice(first, first + together) for first in range(0, max(1, len(q)), together)]
        return np.concatenate([self.velocity_rates(self.swept(q[x], v[x]), v[x], a[x]) for x in parts])

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v of one state of the System."""
        q = self.tree.coordinates_at(q, self.system.discrete.angles)
        return self.independent.q_of(q), self.independent.v_of(self.tree.speeds_at(q, v))

    def at(self, q: Floats) -> "ReducedForm":
        """The form with the joint angles of q in its discrete state."""
        # not by ``copy``, which takes several times as long: this is done after every step
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.system = self.system_at(q)
        return other

    def system_at(self, q: Floats) -> System:
        """The system with the joint angles of q in its discrete state; q counts revolutions in steps of any length."""
        if not self.system.coordinates_of_joints.count:
            return self.system
        return self.system.with_discrete(self.system.discrete.with_angles(self.joint_angles(q[None])[0]))
