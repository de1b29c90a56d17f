"""Block elimination in quaternion coordinates: each quaternion and its multiplier within the block of its frame.

In the basis [p | rate_body(p)^T / 2] of each quaternion the row of its length has a pivot in the radial component and
its multiplier one in the radial force. Both are taken exactly, and leave the blocks of the velocity form with the
changes of the map G: docs/theory/quaternion_form.md, equations (9) to (15).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.formulations.quaternion_kernels import add_radial_change, multiply_pulled, solve_bordered
from femb.system.block_lu import DEPENDENT, Factorisation, LinearSolver


@dataclass(frozen=True)
class Basis:
    """Frames with axes at one state: unit quaternions p (n_p, 4), omega (n_p, 3), the momenta conjugate to it."""

    p: Floats
    omega: Floats
    spin: Floats


@dataclass(frozen=True)
class PulledBack:
    """A matrix in quaternion coordinates, as block data of the velocity form at a state."""

    data: Floats
    basis: Basis


@dataclass(frozen=True)
class Shifted:
    """mu M + C + reach K with the borders of the quaternions; data may be complex, and its factors overwrite it."""

    data: Any
    mass: Floats
    damping: Floats
    basis: Basis
    reach: complex


class QuaternionFactors:
    """Factors of a ``Shifted``. ``of_velocities``: those of the velocity form's blocks."""

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
    def of_turns(self) -> tuple[Ints, Ints]:
        """The entries of block data in the first column of each angular velocity, and the frame that has it."""
        pattern, omega_v = self.velocity_solver.pattern, self.coordinates[3]
        frame_of = np.full(pattern.n, -1)
        frame_of[omega_v] = np.arange(len(omega_v))
        frames = frame_of[pattern.rows_columns()[1]]
        entries = np.flatnonzero(frames >= 0)
        return entries, frames[entries]

    def shifted(
        self, mass: PulledBack, damping: PulledBack, stiffness: PulledBack, mu: complex, reach: complex | None = None
    ) -> Shifted:
        """mu M + C + reach K with its borders, of the numbers that mu is of; reach is 1/mu by default."""
        if reach is None:
            reach = 1.0 / mu
        data = self.velocity_solver.shifted(mass.data, damping.data, stiffness.data, mu, reach)
        basis = mass.basis
        add_radial_change(*self.of_turns, basis.omega, 0.25 * reach * reach, damping.data, data)
        return Shifted(data, mass.data, damping.data, basis, reach)

    def factorise(self, matrix: Shifted, dependent: float = DEPENDENT) -> QuaternionFactors:
        """Factors of the matrix, which must not be used afterwards; raises SingularError."""
        return QuaternionFactors(self, matrix, dependent)

    def multiply(self, matrix: PulledBack, x: Floats) -> Floats:
        """A x (n_q + n_c,), without rows and columns of quaternions' lengths."""
        out = np.empty(len(x))
        places = self.velocity_solver.places
        multiply_pulled(*self.coordinates, matrix.basis.p, *places, matrix.data, self._work, x, out)
        return out
