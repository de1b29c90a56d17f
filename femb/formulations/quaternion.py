"""Augmented form in quaternion coordinates: the equations of the thesis, with one multiplier for each quaternion.

    [ M_q  A^T  J_q^T ] [ q''      ]   [ f_q      ]
    [ A    0    0     ] [ lambda_E ] = [ -2 p'.p' ],     M_q = G^T M G,  A = blockdiag(2 p^T),  J_q = J G
    [ J_q  0    0     ] [ lambda   ]   [ gamma    ]

with v = G(q) q' (angular velocities 2 rate_body(p) p'). The equations are those of the velocity form, transformed by G:
v' = G q'', because rate_body(p') p' = 0. f_q is the force of Lagrange's equations. M_q is singular or nearly singular;
each quaternion is eliminated together with its multiplier, inside the block of its frame
(``femb.formulations.quaternion``). Source: docs/theory/quaternion_form.md, equations (1) to (15); Choi, USC
thesis 2014, equation (57).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints, Turning
from femb.formulations.contract import Transformed
from femb.layout.element import TrialError
from femb.numerics import kinematics, rotations
from femb.numerics.block_kernels import multiply, solve
from femb.numerics.compiler.compile import kernel
from femb.numerics.vector3 import body_part, hamilton, quaternion_times
from femb.system.block_lu import (
    DEPENDENT,
    Factorisation,
    Factors,
    LinearSolver,
    LowRankFactors,
    LowRankMatrices,
    Matrix,
    SingularError,
    WithLowRank,
)
from femb.system.system import System

# Kernels of the form in quaternion coordinates: blocks of the velocity form transformed by omega = 2 rate_body(p) p'.
#
# Coordinates linear_q, linear_v, quaternion_q, omega_v are those of ``femb.numerics.kinematics``; n_q coordinates, n_v
# velocities, n_p quaternions. rate_body(p)^T x is the product p (0, x). Source: docs/theory/quaternion_form.md, (5) to
# (15).


@kernel
def second_rates(coordinates, q, dq, momentum, v, ratio, x, out):
    """out (n_q + n_c,): q'' and all multipliers from x (n,), v' and multipliers of joints, at one state.

    v, momentum (n,) : velocities and M v, for the multipliers of quaternions (7). ratio : p.p'' over p'.p', -1.
    """
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    n_q, n_p, n_v = q.size, quaternion_q.size, v.size
    for k in range(linear_q.size):
        out[linear_q[k]] = x[linear_v[k]]
    for k in range(n_p):
        i, j = quaternion_q[k], omega_v[k]
        p0, p1, p2, p3 = q[i], q[i + 1], q[i + 2], q[i + 3]
        square = dq[i] * dq[i] + dq[i + 1] * dq[i + 1] + dq[i + 2] * dq[i + 2] + dq[i + 3] * dq[i + 3]
        radial = ratio * square / (p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
        a, b, c = 0.5 * x[j], 0.5 * x[j + 1], 0.5 * x[j + 2]
        out[i], out[i + 1], out[i + 2], out[i + 3] = hamilton(p0, p1, p2, p3, radial, a, b, c)
        out[n_q + k] = v[j] * momentum[j] + v[j + 1] * momentum[j + 1] + v[j + 2] * momentum[j + 2]
    for k in range(n_v, x.size):
        out[n_q + n_p + k - n_v] = x[k]


@kernel
def pull_back(coordinates, q, dq, v, momenta, multipliers, forces, out):
    """out (s, n_q + n_c): the residual in quaternion coordinates (8) at s states.

    forces (s, n) : residual of the velocity form. momenta (s, n) : M v. multipliers (s, n_c) : of the n_p quaternions,
    then of joints.
    """
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    n_q, n_p, n_v = q.shape[1], quaternion_q.size, v.shape[1]
    for s in range(q.shape[0]):
        for k in range(linear_q.size):
            out[s, linear_q[k]] = forces[s, linear_v[k]]
        for k in range(n_p):
            i, j = quaternion_q[k], omega_v[k]
            p0, p1, p2, p3 = q[s, i], q[s, i + 1], q[s, i + 2], q[s, i + 3]
            spin = v[s, j] * momenta[s, j] + v[s, j + 1] * momenta[s, j + 1] + v[s, j + 2] * momenta[s, j + 2]
            f = 2.0 / (p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
            a, b, c = f * forces[s, j], f * forces[s, j + 1], f * forces[s, j + 2]
            radial = 2.0 * (multipliers[s, k] - spin)
            out[s, i], out[s, i + 1], out[s, i + 2], out[s, i + 3] = hamilton(p0, p1, p2, p3, radial, a, b, c)
            out[s, n_q + k] = 2.0 * (p0 * dq[s, i] + p1 * dq[s, i + 1] + p2 * dq[s, i + 2] + p3 * dq[s, i + 3])
        for k in range(n_v, forces.shape[1]):
            out[s, n_q + n_p + k - n_v] = forces[s, k]


# The iteration matrix, in the basis [p | rate_body(p)^T / 2] of each quaternion


@kernel
def add_change_of_map(runs, omega, mass, damping, stiffness):
    """Add to the tangent C omega~ / 2 + M omega.omega / 4 in the columns of angular velocities (15): the change of
    omega and of its rate with p, without the part of the rate that depends on accelerations.

    Block data; runs (r, 4) : the three columns of a frame's angular velocity in one block: offset of the first entry,
    stride from row to row, number of rows, and the frame.
    """
    for r in range(runs.shape[0]):
        w = omega[runs[r, 3]]
        square = 0.25 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
        for i in range(runs[r, 2]):
            o = runs[r, 0] + i * runs[r, 1]
            a, b, c = 0.5 * damping[o], 0.5 * damping[o + 1], 0.5 * damping[o + 2]
            stiffness[o] += b * w[2] - c * w[1] + square * mass[o]
            stiffness[o + 1] += c * w[0] - a * w[2] + square * mass[o + 1]
            stiffness[o + 2] += a * w[1] - b * w[0] + square * mass[o + 2]


@kernel
def add_radial_change(runs, omega, factor, damping, data):
    """data += factor C omega omega^T in the columns of angular velocities (15), from the elimination of the length of
    each quaternion. Arguments as in ``add_change_of_map``."""
    for r in range(runs.shape[0]):
        w = omega[runs[r, 3]]
        for i in range(runs[r, 2]):
            o = runs[r, 0] + i * runs[r, 1]
            f = factor * (damping[o] * w[0] + damping[o + 1] * w[1] + damping[o + 2] * w[2])
            for m in range(3):
                data[o + m] += f * w[m]


@kernel
def solve_bordered(coordinates, basis, blocks, mass, damping, reach, work, x):
    """Solve in place for x (n_q + n_c,), with each quaternion and its multiplier eliminated in its own block.

    coordinates : the four arrays, see above. basis : p, omega, spin of ``Basis``. blocks : the matrix, as
    ``femb.numerics.block_kernels.solve`` takes it. mass, damping : block data of the velocity form. reach : change of p
    for a unit change of p', 1/mu in most methods. work (3, n), real or complex as x.
    """
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    p, omega, spin = basis
    structure, factors, pivots, rank = blocks
    n_v = structure[1]
    y, z, product = work[0], work[1], work[2]
    n_p = quaternion_q.size
    n_q = kinematics.count_of(coordinates)
    joints = n_q + n_p - n_v  # index of a row of joints here less its index in the velocity form
    for k in range(linear_q.size):
        y[linear_v[k]] = x[linear_q[k]]
    off_sphere = False
    for k in range(n_p):
        i, j = quaternion_q[k], omega_v[k]
        p0, p1, p2, p3 = p[k, 0], p[k, 1], p[k, 2], p[k, 3]
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        a, b, c = body_part(p0, p1, p2, p3, x0, x1, x2, x3)
        y[j], y[j + 1], y[j + 2] = 0.5 * a, 0.5 * b, 0.5 * c
        # half of the radial force replaces the first component until the velocities are known
        x[i] = 0.5 * (p0 * x0 + p1 * x1 + p2 * x2 + p3 * x3)
        off_sphere = off_sphere or x[n_q + k] != 0.0
    for k in range(n_v, y.size):
        y[k] = x[k + joints]
    if off_sphere:
        for k in range(y.size):
            z[k] = 0.0
        for k in range(n_p):
            f = 0.5 * reach * x[n_q + k]
            for m in range(3):
                z[omega_v[k] + m] = f * omega[k, m]
        multiply(structure, damping, z, product)
        for k in range(y.size):
            y[k] += product[k]
    solve(structure, factors, pivots, rank, y)
    for k in range(linear_q.size):
        x[linear_q[k]] = y[linear_v[k]]
    for k in range(y.size):
        z[k] = y[k] if k < n_v else 0.0 * y[k]
    for k in range(n_v, y.size):
        x[k + joints] = y[k]
    for k in range(n_p):
        i, j, w = quaternion_q[k], omega_v[k], omega[k]
        a, b, c = y[j], y[j + 1], y[j + 2]
        half = x[i]
        radial = 0.5 * x[n_q + k] - 0.25 * reach * (w[0] * a + w[1] * b + w[2] * c)
        # change of omega by p' and, through the map, by p
        z[j] += reach * (0.5 * (w[1] * c - w[2] * b) - radial * w[0])
        z[j + 1] += reach * (0.5 * (w[2] * a - w[0] * c) - radial * w[1])
        z[j + 2] += reach * (0.5 * (w[0] * b - w[1] * a) - radial * w[2])
        x[i], x[i + 1], x[i + 2], x[i + 3] = hamilton(
            p[k, 0], p[k, 1], p[k, 2], p[k, 3], radial, 0.5 * a, 0.5 * b, 0.5 * c
        )
        x[n_q + k] = half + spin[k, 0] * z[j] + spin[k, 1] * z[j + 1] + spin[k, 2] * z[j + 2]
    multiply(structure, mass, z, product)
    for k in range(n_p):
        j = omega_v[k]
        x[n_q + k] += omega[k, 0] * product[j] + omega[k, 1] * product[j + 1] + omega[k, 2] * product[j + 2]


@kernel
def multiply_pulled(coordinates, p, structure, data, work, x, out):
    """out (n_q + n_c,) = G^T A G x with the block data A of the velocity form, at unit quaternions p (n_p, 4).

    Rows and columns of the lengths of quaternions are excluded. coordinates : the four arrays, see above. structure :
    of the blocks. work (2, n).
    """
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    n_v = structure[1]
    y, product = work[0], work[1]
    n_p = quaternion_q.size
    n_q = kinematics.count_of(coordinates)
    joints = n_q + n_p - n_v
    for k in range(linear_q.size):
        y[linear_v[k]] = x[linear_q[k]]
    for k in range(n_p):
        i, j = quaternion_q[k], omega_v[k]
        a, b, c = body_part(p[k, 0], p[k, 1], p[k, 2], p[k, 3], x[i], x[i + 1], x[i + 2], x[i + 3])
        y[j], y[j + 1], y[j + 2] = 2.0 * a, 2.0 * b, 2.0 * c
    for k in range(n_v, y.size):
        y[k] = x[k + joints]
    multiply(structure, data, y, product)
    for k in range(linear_q.size):
        out[linear_q[k]] = product[linear_v[k]]
    for k in range(n_p):
        i, j = quaternion_q[k], omega_v[k]
        a, b, c = 2.0 * product[j], 2.0 * product[j + 1], 2.0 * product[j + 2]
        out[i], out[i + 1], out[i + 2], out[i + 3] = quaternion_times(p[k, 0], p[k, 1], p[k, 2], p[k, 3], a, b, c)
        out[n_q + k] = 0.0
    for k in range(n_v, y.size):
        out[k + joints] = product[k]


# Block elimination in quaternion coordinates: each quaternion and its multiplier within the block of its frame.
#
# In the basis [p | rate_body(p)^T / 2] of each quaternion, the pivot of the row of its length is the radial component,
# and the pivot of its multiplier is the radial force. Eliminating both exactly leaves the blocks of the velocity form
# with the derivatives of the map G: docs/theory/quaternion_form.md, equations (9) to (15).


@dataclass(frozen=True)
class Basis:
    """Frames with axes at one state: unit quaternions p (n_p, 4), omega and its conjugate momenta spin (n_p, 3)."""

    p: Floats
    omega: Floats
    spin: Floats


@dataclass(frozen=True)
class PulledBack:
    """A matrix in quaternion coordinates, stored as block data of the velocity form and the basis at a state."""

    data: Floats
    basis: Basis


@dataclass(frozen=True)
class Shifted:
    """mu M + C + reach K with the borders of the quaternions; data may be complex, and factors overwrite it."""

    data: Any
    mass: Floats
    damping: Floats
    basis: Basis
    reach: complex


class QuaternionFactors:
    """Factors of a ``Shifted``. ``of_velocities``: factors of the blocks of the velocity form."""

    def __init__(self, solver: "QuaternionSolver", matrix: Shifted, dependent: float) -> None:
        of_blocks, parts = solver.velocity_solver.by_blocks(matrix.data, matrix.mass, matrix.damping)
        self.of_velocities = Factorisation(of_blocks, parts[0], dependent)
        basis = matrix.basis
        work = np.empty((3, solver.velocity_solver.pattern.n), dtype=matrix.data.dtype)
        self._arguments = (
            *(solver.coordinates, (basis.p, basis.omega, basis.spin), self.of_velocities.arguments),
            *(*parts[1:], matrix.reach, work),
        )

    def solve(self, x: Any) -> Any:
        """Solve in place for a contiguous right-hand side (n_q + n_c,), and return it."""
        solve_bordered(*self._arguments, x)
        return x


class QuaternionSolver:
    """Factorises and multiplies the matrices of ``QuaternionForm``, with the interface of LinearSolver."""

    def __init__(self, solver: LinearSolver, coordinates: tuple[Ints, Ints, Ints, Ints]) -> None:
        self.velocity_solver, self.coordinates = solver, coordinates
        self._work = np.empty((2, solver.pattern.n))

    @cached_property
    def runs(self) -> Ints:
        """(r, 4): the columns of angular velocities in every block, as ``add_change_of_map`` takes them."""
        pattern, omega_v = self.velocity_solver.pattern, self.coordinates[3]
        size, (earlier, later) = pattern.sizes, pattern.edges.T
        # a block contains at most one angular velocity
        frame, column = np.full(len(size), -1), np.zeros(len(size), dtype=np.int64)
        block = pattern.block_of[omega_v]
        frame[block], column[block] = np.arange(len(omega_v)), omega_v - pattern.block_start[block]
        rows = np.concatenate([np.arange(len(size)), later, earlier])
        columns = np.concatenate([np.arange(len(size)), earlier, later])
        first = np.concatenate([pattern.diagonal, pattern.upper, pattern.lower]) + column[columns]
        runs: Ints = np.stack([first, size[columns], size[rows], frame[columns]], axis=1)
        return np.ascontiguousarray(runs[frame[columns] >= 0])

    def shifted(
        self, mass: PulledBack, damping: PulledBack, stiffness: PulledBack, mu: complex, reach: complex | None = None
    ) -> Shifted:
        """mu M + C + reach K with its borders, real or complex as mu; reach is 1/mu by default."""
        if reach is None:
            reach = 1.0 / mu
        data = self.velocity_solver.shifted(mass.data, damping.data, stiffness.data, mu, reach)
        basis = mass.basis
        add_radial_change(self.runs, basis.omega, 0.25 * reach * reach, damping.data, data)
        return Shifted(data, mass.data, damping.data, basis, reach)

    def factorise(self, matrix: Shifted, dependent: float = DEPENDENT) -> QuaternionFactors:
        """Factors of the matrix, which they overwrite. Raises SingularError."""
        return QuaternionFactors(self, matrix, dependent)

    def multiply(self, matrix: PulledBack, x: Floats) -> Floats:
        """A x (n_q + n_c,), without the rows and columns of the lengths of quaternions."""
        out = np.empty(len(x))
        structure = self.velocity_solver.structure
        multiply_pulled(self.coordinates, matrix.basis.p, structure, matrix.data, self._work, x, out)
        return out


class LowRankQuaternionSolver(LowRankMatrices, QuaternionSolver):
    """The quaternion solver for matrices that may have a part of low rank."""

    def shifted(
        self, mass: Matrix, damping: Matrix, stiffness: Matrix, mu: complex, reach: complex | None = None
    ) -> Matrix:
        """mu M + C + reach K, as with the solver; C and K may be ``WithLowRank``."""
        result = super().shifted(mass, damping, stiffness, mu, reach)
        if isinstance(result, WithLowRank):
            # from the elimination of the length of each quaternion, as ``add_radial_change``
            places, basis = self.coordinates[2][:, None] + np.arange(4), result.matrix.basis
            rates = rotations.quaternion_rate(basis.p, basis.omega)
            along = np.einsum("nir,ni->nr", damping.right[places], rates)
            result.right[places] += result.matrix.reach**2 * np.einsum("nr,ni->nir", along, rates)
        return result


class QuaternionForm(Transformed):
    """A System in coordinates q and their rates q', both (n_q,), with n_c multipliers.

    Multipliers are lambda_E of every quaternion, in the order of the frames, then those of joints. A stepper treats
    all coordinates alike; quaternions differ by their constraint rows and by ``corotated_frames``.

    consistent : the rows of the constraint are (2 p^T, 2 p'.p'). False gives the pair printed in the thesis, 2 p^T
    with p'.p', whose solution leaves the unit sphere (d2(p.p)/dt2 = p'.p'), for demonstration only.

    Dependent rows of joints are excluded; their multipliers are zero.
    """

    def __init__(self, system: System, consistent: bool = True) -> None:
        super().__init__(system)
        self.consistent = consistent
        self.n_q = self.n_v = system.n_q
        self._system_coordinates = system.coordinates
        quaternion_q = self._system_coordinates[2]
        self.n_p = len(quaternion_q)
        self._frames = quaternion_q[:, None] + np.arange(4), self._system_coordinates[3][:, None] + np.arange(3)
        self.n_c = self.n_p + system.n_c
        all_coordinates = np.arange(self.n_q)
        none = np.zeros(0, dtype=all_coordinates.dtype)
        self.coordinates = (all_coordinates, all_coordinates, none, none)
        # quaternions and their rates rotate with every frame, velocities only with frames that flexible elements couple
        coupled = np.isin(quaternion_q, system.corotated_frames[0])
        first = np.where(coupled, quaternion_q - 3, -1)
        self.corotated_frames = (quaternion_q, np.stack([first, quaternion_q], axis=1))
        self.solver = LowRankQuaternionSolver(system.solver, self._system_coordinates)
        self.q0 = system.q0
        self.v0 = system.rates(system.q0[None], system.v0[None])[0]

    # The equations

    def forward(self, u: Floats, q: Floats, rate: Floats) -> tuple[Floats, Floats]:
        """q'' (n_q,) and the multipliers (n_c,) of (4).

        lambda_E (N m) is omega . dT/domega of the frame (7), twice the kinetic energy of rotation for a frame at the
        mass centre of a free body. Raises TrialError if the matrix is singular.
        """
        system = self.system
        v = self.velocities(q[None], rate[None])
        x = -system.residual(u[None], q[None], v, np.zeros(v.shape))
        if system.n_c:
            x = np.concatenate([x, system.constraints(u[None], q[None], v)[1]], axis=1)
        data = system.mass_data(q)
        momentum = self._product(data, v[0])
        system.constraint_set.jacobian(u, q, data)
        try:
            system.solver.factorise(data).solve(x[0])
        except SingularError as error:
            raise TrialError("the bordered matrix is singular") from error
        out = np.empty(self.n_q + self.n_c)
        ratio = -1.0 if self.consistent else -0.5
        second_rates(self._system_coordinates, q, rate, momentum, v[0], ratio, x[0], out)
        return out[: self.n_q], out[self.n_q :]

    def _product(self, data: Floats, v: Floats) -> Floats:
        """M v (n,) for block data."""
        system = self.system
        return system.solver.multiply(data, np.concatenate([v, np.zeros(system.n_c)]) if system.n_c else v)

    def equations(self, u: Floats, q: Floats, rate: Floats, second: Floats, multipliers: Floats) -> Floats:
        """(s, n_q + n_c): residual (8), with constraint rows on velocities."""
        system = self.system
        v, a = self.velocities(q, rate), self.velocities(q, second)
        forces = system.equations(u, q, v, a, np.ascontiguousarray(multipliers[:, self.n_p :]))
        momenta = np.empty_like(forces)
        for k in range(len(q)):
            momenta[k] = self._product(system.mass_data(q[k]), v[k])
        out = np.empty((len(q), self.n_q + self.n_c))
        pull_back(self._system_coordinates, q, rate, v, momenta, multipliers, forces, out)
        return out

    def matrices(self, u: Floats, q: Floats, rate: Floats, multipliers: Floats) -> tuple[PulledBack, Matrix, Matrix]:
        """Mass, damping and iteration tangent of the ``equations`` (9), those of the velocity form transformed by G."""
        v = self.velocities(q[None], rate[None])[0]
        mass, damping, stiffness = self.system.matrices(u, q, v, np.ascontiguousarray(multipliers[self.n_p :]))
        if not isinstance(damping, WithLowRank):
            return self.pulled_back(q, v, mass, damping, stiffness)
        M, C, K = self.pulled_back(q, v, mass, damping.matrix, stiffness.matrix)
        # the change of omega with p, as ``add_change_of_map``
        change, at_v = stiffness.right.copy(), self._frames[1]
        change[at_v] += 0.5 * np.cross(damping.right[at_v], v[at_v][..., None], axis=1)
        left, of_damping, of_stiffness = (self._forces(q, x) for x in (damping.left, damping.right, change))
        return M, WithLowRank(C, left, of_damping), WithLowRank(K, left, of_stiffness)

    def _forces(self, q: Floats, columns: Floats) -> Floats:
        """G^T times forces (n_v + multipliers of joints, r), with zeros for all multipliers."""
        # G^T is the map of rates; for a quaternion p' = p (0, omega) / 2 and G^T = 2 p (0, .)
        forces = np.ascontiguousarray(columns[: self.system.n_v].T)
        out = self.system.rates(np.tile(q, (len(forces), 1)), forces)
        out[:, self._frames[0]] *= 4.0
        return np.vstack([out.T, np.zeros((self.n_c, len(forces)))])

    def pulled_back(
        self, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats
    ) -> tuple[PulledBack, PulledBack, PulledBack]:
        """Matrices from block data of the velocity form at q and v (n_v,); changes ``stiffness`` in place."""
        at_q, at_v = self._frames
        p = q[at_q]
        a, b, c, d = p.T
        unit = p * ((a * a + b * b + c * c + d * d) ** -0.5)[:, None]
        frames = Basis(unit, v[at_v], self._product(mass, v)[at_v])
        add_change_of_map(self.solver.runs, frames.omega, mass, damping, stiffness)
        return PulledBack(mass, frames), PulledBack(damping, frames), PulledBack(stiffness, frames)

    # States

    def to_system(self, q: Floats, rate: Floats) -> tuple[Floats, Floats]:
        """q and v of the System at s states."""
        return q, self.velocities(q, rate)

    def accelerations_to_system(self, q: Floats, rate: Floats, second: Floats) -> Floats:
        """v' of the System at s states with q'' = second: G q'', because G' q' is zero."""
        return self.velocities(q, second)

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and q' of one state of the System."""
        return q, self.system.rates(q[None], v[None])[0]

    def at(self, q: Floats) -> "QuaternionForm":
        """The form after a step to q, from which joint angles are unwrapped."""
        system = self.system.at(q)
        return self if system is self.system else self.with_discrete(system.discrete)

    @property
    def turning(self) -> Turning:
        """Rates of quaternions, half the angular velocity long, of frames between which joints count angles."""
        _, _, quaternions, omega = self._system_coordinates
        return quaternions[np.isin(omega, self.system.coordinates_of_joints.turning)], 4, 2.0

    def velocities(self, q: Floats, rate: Floats) -> Floats:
        """v (s, n_v) of s states: G q' over p.p, independent of the length of quaternions."""
        out = np.empty((len(q), self.system.n_v))
        kinematics.tangents(self._system_coordinates, q, rate, out)
        return out

    def rates(self, q: Floats, rate: Floats) -> Floats:
        """The rates themselves."""
        return rate.copy()

    def second_rates(self, q: Floats, rate: Floats, second: Floats) -> Floats:
        """The second rates themselves."""
        return second.copy()

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The rates themselves."""
        return dq.copy()

    def normalise(self, q: Floats) -> float:
        """Scale quaternions to unit length, in place, unless ``consistent`` is False; returns the largest |p.p - 1|."""
        return self.system.normalise(q) if self.consistent else 0.0

    def projected(self, u: Floats, q: Floats, rate: Floats, factors: Factors | None = None) -> tuple[Floats, Floats]:
        """q and q' (n_q,) projected onto the constraints; velocities change only along the rows of joints."""
        if not self.consistent:
            return q, rate
        v = self.velocities(q[None], rate[None])[0]
        q = q.copy()
        self.system.normalise(q)
        known = factors.base if isinstance(factors, LowRankFactors) else factors
        q, v = self.system.projected(u, q, v, known.of_velocities if isinstance(known, QuaternionFactors) else None)
        return q, self.system.rates(q[None], v[None])[0]

    def budget_rates(self, u: Floats, q: Floats, rate: Floats, multipliers: Floats | None = None) -> Floats:
        """(s, n_w): power and rates of momentum of loads, dampers and drivers, by the columns of the budget."""
        joints = None if multipliers is None else np.ascontiguousarray(multipliers[:, self.n_p :])
        return self.system.budget_rates(u, q, self.velocities(q, rate), joints)

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """Groups and tolerances of the coordinates; for rates the absolute tolerances are divided by ``atol.time``."""
        (start, size, scale, relative), (_, _, rates, _) = self.system.error_scale(rtol, atol)
        frames = len(scale) - len(self.layout.internal)
        of_rates = np.concatenate([scale[:frames] / atol.rate_time, rates[frames:]])
        return (start, size, scale, relative), (start, size, of_rates, relative)
