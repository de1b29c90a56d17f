"""Block elimination in quaternion coordinates: each quaternion and its multiplier within the block of its frame.

In the basis [p | rate_body(p)^T / 2] of each quaternion, the pivot of the row of its length is the radial component,
and the pivot of its multiplier is the radial force. Eliminating both exactly leaves the blocks of the velocity form
with the derivatives of the map G: docs/theory/quaternion_form.md, equations (9) to (15).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.formulations.quaternion_kernels import add_radial_change, multiply_pulled, solve_bordered
from femb.system.block_lu import DEPENDENT, Factorisation, LinearSolver
from femb.system.low_rank_solver import LowRankMatrices


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
        self.of_velocities: Factorisation = solver.velocity_solver.factorise(matrix.data, dependent)
        basis = matrix.basis
        work = np.empty((3, solver.velocity_solver.pattern.n), dtype=matrix.data.dtype)
        self._arguments = (
            *solver.coordinates, basis.p, basis.omega, basis.spin, *self.of_velocities.arguments,
            matrix.mass, matrix.damping, matrix.reach, work,
        )  # fmt: skip

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
        places = self.velocity_solver.structure
        multiply_pulled(*self.coordinates, matrix.basis.p, *places, matrix.data, self._work, x, out)
        return out


class LowRankQuaternionSolver(LowRankMatrices, QuaternionSolver):
    """The same, also with a part of low rank."""
