"""What steppers ask of a solver of linear systems, whatever its matrices are.

A matrix is opaque to a stepper: it comes from ``matrices`` of a formulation and is handed to that formulation's own
solver. It is block data of a pattern (``femb.system.block_lu``), the same with quaternions
(``femb.formulations.quaternion_solver``), or a dense or sparse array (``femb.formulations.reduced``).
"""

from typing import Any, Protocol, TypeAlias

from femb.base.types import Floats

Matrix: TypeAlias = Any
"""A matrix of a formulation, or a combination of three of them; only its solver knows of what it is made."""
Unknowns: TypeAlias = Any
"""Array (n,) of velocities and multipliers, float or complex."""


class Factors(Protocol):
    """Factors of one matrix."""

    def solve(self, x: Unknowns, /) -> Unknowns:
        """Solve in place for a contiguous right-hand side (n,), and return it."""
        ...


class Solver(Protocol):
    """Combines, multiplies and factorises the matrices of a formulation."""

    def shifted(
        self, mass: Matrix, damping: Matrix, stiffness: Matrix, mu: complex, reach: complex | None = None, /
    ) -> Matrix:
        """mu M + C + reach K, real or complex as mu is; reach is 1/mu by default."""
        ...

    def factorise(self, matrix: Matrix, dependent: float = ..., /) -> Factors:
        """Factors of a combined matrix, which must not be used afterwards. Raises SingularError.

        dependent : the part of its diagonal below which a row of constraints is left out, by solvers that can.
        """
        ...

    def multiply(self, matrix: Matrix, x: Floats, /) -> Floats:
        """A x (n,) for an x whose multipliers are zero; of the result the rows of velocities count."""
        ...
