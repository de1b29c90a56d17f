"""Products of stiffness and displacements, without the large numbers that cancel in them.

    K x = K_s x + K_o x,   (K_s x)_i = sum_j K_ij (x_j - T_ij x_i) + (theta_i x f_i, 0),   T_ij = R_j R_i^-1

K_s is of elements of two frames, f_i their forces in the state; x_j - T_ij x_i is what the ends of an element move
beside their motion as one rigid body, with R_i the motions of frame i in rigid motions of all. For elements of length h
in a beam of length L the terms of the sum K x are (L/h)^4 times as large as the sum, so that their rounding acts as
springs to the ground. In this form such differences are taken of displacements, which are exact.
The same holds for C.
Source: docs/theory/modes.md, section 2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from femb.base.types import Floats, Ints
from femb.layout.element import weighed
from femb.layout.protocols import Softened, Strained
from femb.numerics import rotations
from femb.small_motions.point import OperatingPoint
from femb.small_motions.spinning import in_own_axes
from femb.system.system import System

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Motion = TypeVar("Motion", bound=NDArray[Any])


def of_columns(product: Callable[[Floats], Floats], x: Motion) -> Motion:
    """A linear function of real vectors (n,) for a vector or for columns (n, k), real or complex."""
    result: NDArray[Any]
    if np.iscomplexobj(x):
        result = of_columns(product, x.real) + 1j * of_columns(product, x.imag)
    elif x.ndim == 2:
        result = np.array([product(column) for column in np.ascontiguousarray(x.T)]).reshape(x.T.shape).T
    else:
        result = product(np.ascontiguousarray(x))
    return cast("Motion", result)


def times(matrices: Floats, x: Floats) -> Floats:
    """Products (e, i, k) of matrices (e, i, j) and columns (e, j, k), each as alone: BLAS rounds by their number."""
    product: Floats = np.einsum("eij,ejk->eik", matrices, x)
    return product


@dataclass(frozen=True, eq=False)
class ExactProducts:
    """Products with the stiffness and the damping of a state.

    mass : block data. own_axes : whether displacements are along each frame's own axes. transposed : whether the
    damping is, as in the adjoint equations. functions : damping and stiffness of users' functions of the state as block
    data, beyond those of the elements.
    """

    point: OperatingPoint
    mass: Floats
    own_axes: bool
    transposed: bool = False
    functions: tuple[Floats, Floats] | None = None

    def stiffness(self, x: Motion) -> Motion:
        """K x of a motion (n_v,), or of motions (n_v, k), real or complex."""
        return self._product(self._strained[0], self.others[0], x)

    def damping(self, x: Motion) -> Motion:
        """(C + G) x in the same way, without modal damping."""
        return self._product(self._strained[1], self.others[1], x)

    def rigid_stiffness(self, x: Motion) -> Motion:
        """K x of motions x that strain no element."""
        return self._product(self._strained[0].turned, self.others[0], x)

    def _product(self, strained: Callable[[Floats], Floats], others: Floats, x: Motion) -> Motion:
        axes = self.others[2]

        if np.iscomplexobj(x):
            return cast(
                "Motion", self._product(strained, others, x.real) + 1j * self._product(strained, others, x.imag)
            )
        columns: Floats = x.reshape(len(x), -1)
        own = strained(columns) if axes is None else axes.T @ strained(axes @ columns)
        whole = np.vstack([columns, np.zeros((self.point.system.n_c, columns.shape[1]))])
        rest = self.point.system.solver.multiply_columns(others, whole)[: len(x)]
        return cast("Motion", (own + rest).reshape(x.shape))

    @cached_property
    def others(self) -> "tuple[Floats, Floats, csr_array | None]":
        """K_o and C_o + G as block data, and inertial velocities by those along the frames' own axes, None where
        displacements are along inertial ones."""
        point, system = self.point, self.point.system
        # the damping of a shape that does not change in the axes of its frames has no stiffness
        soft = system.evaluation.of(
            batch.softened() if isinstance(batch, Softened) else batch for batch in system.batches
        )
        damping, stiffness = soft.tangent(point.u, point.q, point.v, point.a)
        if self.functions is not None:
            damping, stiffness = damping + self.functions[0], stiffness + self.functions[1]
        system.constraint_set.constraint_tangent(point.u, point.q, point.v, point.multipliers, stiffness)
        if not self.own_axes:
            return stiffness, self._of_adjoint(damping), None
        nothing = np.zeros(system.pattern.size)
        moving = self.mass, damping, stiffness, nothing
        _, damping, stiffness, _, changes = in_own_axes(point, *moving, checked=False)
        return stiffness, self._of_adjoint(damping), changes.H.tocsr()

    def _of_adjoint(self, damping: Floats) -> Floats:
        """Block data, transposed if asked for."""
        pattern = self.point.system.pattern
        return pattern.from_csc(pattern.to_csc(damping).T.tocsc()) if self.transposed else damping

    @cached_property
    def _strained(self) -> "tuple[StrainForces, StrainForces]":
        """K_s and C_s."""
        system, u, q = self.point.system, self.point.u, self.point.q
        still = np.zeros(system.n_v)
        soft = [batch for batch in system.batches if isinstance(batch, Softened)]
        elastic = system.evaluation.of(weighed(batch, np.zeros(3)) for batch in soft)
        damping, stiffness = elastic.tangent(u, q, still, still)
        strained = any(isinstance(batch, Strained) and batch.unstrained(u, q) is None for batch in soft)
        on_frames = elastic.residual(u[None], q[None], still[None], still[None])[0] if strained else still
        return StrainForces.of(system, stiffness, q, on_frames), StrainForces.of(system, damping, q, still)


@dataclass(frozen=True, eq=False)
class StrainForces:
    """K_s x for displacements x (n_v,) along inertial axes, rotations in the frames' own.

    places (f, 6) : velocities of the frames. positions (f, 3), axes (f, 3, 3) : of them. forces (f, 3) : on them in the
    state. first, second (e,) : the frames of pairs. by_first, by_second (e, 6, 6) : forces on both by the motion of the
    second relative to the first. internal (n_v, n_v) : forces by internal coordinates. On the internal coordinates
    ``row`` (m,) rows (m, 6) act, of the motion of frames ``of`` relative to ``to``.
    """

    places: Ints
    positions: Floats
    axes: Floats
    forces: Floats
    first: Ints
    second: Ints
    by_first: Floats
    by_second: Floats
    internal: "csr_array"
    row: Ints
    of_frame: Ints
    to_frame: Ints
    rows: Floats

    @classmethod
    def of(cls, system: System, data: Floats, q: Floats, force: Floats) -> "StrainForces":
        """Forces of strains from block data at a state q (n_q,) with elastic forces (n_v,)."""
        from scipy.sparse import csr_array

        layout, n = system.layout, system.n_v
        rows, columns = system.pattern.rows_columns()
        used = data != 0.0
        rows, columns, data = rows[used], columns[used], data[used]
        frames = np.array([k for k, frame in enumerate(layout.frames) if frame.freedom == 6], dtype=np.int64)
        count = len(frames)
        places = layout.frame_v[frames][:, None] + np.arange(6)
        number, place = np.full(n, -1), np.zeros(n, dtype=np.int64)
        number[places], place[places] = np.arange(count)[:, None], np.arange(6)
        i, j = number[rows], number[columns]
        apart = (i >= 0) & (j >= 0) & (i != j)
        pairs, pair = np.unique((np.minimum(i, j) * count + np.maximum(i, j))[apart], return_inverse=True)
        first, second = np.divmod(pairs, max(count, 1))
        between = np.zeros((2, len(pairs), 6, 6))
        between[(i > j)[apart].astype(int), pair, place[rows[apart]], place[columns[apart]]] = data[apart]
        # forces on internal coordinates by the motion of frames relative to one of those that these belong to
        on_internal = (i < 0) & (j >= 0)
        to = np.full(n, count)
        np.minimum.at(to, rows[on_internal], j[on_internal])
        on_internal &= j != to[rows]
        groups, group = np.unique(rows[on_internal] * count + j[on_internal], return_inverse=True)
        row, of_frame = np.divmod(groups, max(count, 1))
        by_motion = np.zeros((len(groups), 6))
        by_motion[group, place[columns[on_internal]]] = data[on_internal]
        poses = q[layout.frame_q[frames][:, None] + np.arange(7)].reshape(-1, 7)
        positions = poses[:, :3]
        axes = rotations.rotation_matrix(rotations.normalise(poses[:, 3:])).reshape(-1, 3, 3)
        internal = j < 0
        # K_ji (x_i - T_ji x_j) = -K_ji T_ji (x_j - T_ij x_i)
        back = np.zeros((len(pairs), 6, 6))
        back[:, :3, :3] = np.eye(3)
        back[:, :3, 3:] = rotations.cross_matrix(positions[second] - positions[first]) @ axes[second]
        back[:, 3:, 3:] = np.swapaxes(axes[first], 1, 2) @ axes[second]
        return cls(
            places,
            positions,
            axes,
            force[places[:, :3]],
            first,
            second,
            between[0],
            -between[1] @ back,
            csr_array((data[internal], (rows[internal], columns[internal])), shape=(n, n)),
            row,
            of_frame,
            to[row],
            by_motion,
        )

    def __call__(self, x: Floats) -> Floats:
        """K_s x (n_v, k)."""
        moved = x[self.places]
        out: Floats = self.internal @ x + self.turned(x)
        relative = self._relative(moved, self.second, self.first)
        on_first, on_second = times(self.by_first, relative), times(self.by_second, relative)
        if not np.any(self.forces):
            # what little rounding adds to the forces of an element has no sum
            on_second[:, :3] = -on_first[:, :3]
        forces = np.zeros_like(moved)
        for frames, on in ((self.first, on_first), (self.second, on_second)):
            np.add.at(forces, frames, on)
        out[self.places] += forces
        np.add.at(out, self.row, (self.rows[:, None] @ self._relative(moved, self.of_frame, self.to_frame))[:, 0])
        return out

    def turned(self, x: Floats) -> Floats:
        """(n_v, k) the change of the forces of elements as they turn with their frames, by displacements x (n_v, k)."""
        out = np.zeros_like(x)
        out[self.places[:, :3]] = times(-rotations.cross_matrix(self.forces), times(self.axes, x[self.places[:, 3:]]))
        return out

    def _relative(self, moved: Floats, frames: Ints, to: Ints) -> Floats:
        """(e, 6, k): motions of frames less those that they have with the frames ``to`` as one rigid body."""
        turn, relative = times(self.axes[to], moved[to, 3:]), moved[frames] - moved[to]
        relative[:, :3] += times(rotations.cross_matrix(self.positions[frames] - self.positions[to]), turn)
        relative[:, 3:] = moved[frames, 3:] - times(np.swapaxes(self.axes[frames], 1, 2), turn)
        return relative
