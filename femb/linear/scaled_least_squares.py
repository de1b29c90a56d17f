"""Least-squares solution of linear equations, with scaling, and with the rank determined from rounding errors.

Stiffnesses of a model differ by many powers of ten, as those of an axial strain and of a soft hinge do. Entries of
the size of rounding are set to zero, rows and columns are scaled to the same size, and singular values below the
rounding of the entries are set to zero.
"""

from collections.abc import Callable

import numpy as np

from femb.base.types import Floats

ROUNDING = 64.0 * np.finfo(float).eps
PASSES = 8  # number of passes of the scaling
FIRST_DAMPING, FASTER, MOST_DAMPED = 1e-8, 4.0, 20  # relative to the largest entry; factor, and number, of increases


class ScaledLeastSquares:
    """A matrix (m, n) for least squares; size (m, n) : sums of the absolute values of the terms of its entries."""

    def __init__(self, matrix: Floats, size: Floats) -> None:
        clean = np.where(np.abs(matrix) > ROUNDING * size, matrix, 0.0)
        rows, columns = np.ones(matrix.shape[0]), np.ones(matrix.shape[1])
        for _ in range(PASSES):
            scaled = rows[:, None] * np.abs(clean) * columns
            rows /= np.sqrt(or_one(np.max(scaled, axis=1, initial=0.0)))
            columns /= np.sqrt(or_one(np.max(scaled, axis=0, initial=0.0)))
        self.rows, self.columns = rows, columns
        self.left, values, self.right = np.linalg.svd(rows[:, None] * clean * columns, full_matrices=False)
        noise = ROUNDING * float(np.linalg.norm(rows[:, None] * np.where(clean != 0.0, size, 0.0) * columns))
        self.values = np.where(values > noise, values, 0.0)

    def solve(self, right: Floats, rounding: float = 0.0) -> Floats:
        """The least-squares solution x (n,) of least norm, both in the scaled norms, for ``right`` (m,).

        rounding : of the entries of ``right``; components of ``right`` up to it are set to zero.
        """
        parts = self.left.T @ (self.rows * right)
        parts[np.abs(parts) <= rounding * (np.abs(self.left).T @ self.rows)] = 0.0
        inverse = np.where(self.values > 0.0, 1.0 / np.where(self.values > 0.0, self.values, 1.0), 0.0)
        x: Floats = self.columns * (self.right.T @ (inverse * parts))
        return x

    def solve_within(
        self, right: Floats, largest: float, size: Callable[[Floats], float], rounding: float = 0.0
    ) -> Floats:
        """Solve, damped until the size of x is at most ``largest``.

        Damping reduces the directions of least stiffness first, such as a nearly balanced rotor, and the others little.
        """
        x = self.solve(right, rounding)
        if size(x) <= largest:
            return x
        weights = np.array([size(unit) for unit in np.eye(len(x))])
        matrix = (self.left * self.values) @ self.right / self.columns
        target = np.concatenate([self.rows * right, np.zeros(len(x))])
        damping = FIRST_DAMPING * float(np.max(np.abs(matrix), initial=0.0))
        for _ in range(MOST_DAMPED):
            x = np.linalg.lstsq(np.vstack([matrix, damping * np.diag(weights)]), target, rcond=None)[0]
            if size(x) <= largest:
                break
            damping *= FASTER
        return x * min(1.0, largest / size(x)) if size(x) > 0.0 else x


def or_one(x: Floats) -> Floats:
    """Sizes to divide by: one in place of zeros."""
    return np.where(x > 0.0, x, 1.0)
