"""Interface of steppers to solvers of linear systems.

A matrix is opaque to a stepper: it comes from ``matrices`` of a formulation, and goes to the solver of that
formulation. It is block data of a pattern (``femb.system.block_lu``), with quaternions in
``femb.formulations.quaternion_solver``, or a dense or sparse array (``femb.formulations.reduced``).
"""

from typing import Any, Protocol, TypeAlias

from femb.base.types import Floats

Matrix: TypeAlias = Any
"""A matrix of a formulation, or a combination of three of them; its type is known to the solver alone."""
Unknowns: TypeAlias = Any
"""Array (n,) of velocities and multipliers, float or complex."""


class Factors(Protocol):
    """Factors of one matrix."""

    def solve(self, x: Unknowns, /) -> Unknowns:
        """Solve in place for a contiguous right-hand side (n,), and return it."""


class Solver(Protocol):
    """Combines, multiplies and factorises the matrices of a formulation."""

    def shifted(
        self, mass: Matrix, damping: Matrix, stiffness: Matrix, mu: complex, reach: complex | None = None, /
    ) -> Matrix:
        """mu M + C + reach K, real or complex as mu is; reach is 1/mu by default."""

    def factorise(self, matrix: Matrix, dependent: float = ..., /) -> Factors:
        """Factors of a combined matrix, which must not be used afterwards. Raises SingularError.

        dependent : the pivot ratio below which a row of constraints is left out, by solvers that support it.
        """

    def multiply(self, matrix: Matrix, x: Floats, /) -> Floats:
        """A x (n,) for an x with zero multipliers; only the rows of velocities of the result are defined."""
