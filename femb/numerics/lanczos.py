"""Largest eigenvalues of a flexibility and a mass by block Lanczos with full orthogonalisation."""

from collections.abc import Callable

import numpy as np

from femb.base.errors import SolveError
from femb.base.types import Floats, Sparse

# Largest eigenvalues of a flexibility and a mass by block Lanczos with full orthogonalisation.
#
#     F M x = mu x,   x^T M x = 1,   mu = 1/omega^2
#
# Blocks make the triangular solves products of matrices: scipy's eigsh solves for one vector at a time, reads all
# factors for each, and takes twice the time (the same bench). Source: R. G. Grimes, J. G. Lewis, H. D. Simon, SIAM J.
# Matrix Anal. Appl. 15 (1994) 228.

RESIDUAL = 1e-9  # of an eigenvalue, whose own error is the square
ROUNDING = 1e-13  # of the largest eigenvalue
MOST_BLOCKS = 60
DEPENDENT = 1e-12  # of the largest square of a block


def largest_eigenvalues(
    flexibility: Callable[[Floats], Floats], mass: Sparse, count: int, tolerance: float = RESIDUAL
) -> tuple[Floats, Floats]:
    """mu (count,), falling, and x (n, count). Raises SolveError: no convergence.

    tolerance : of residuals, relative to the eigenvalues, whose own error is the square.
    """
    n = mass.shape[0]
    width = min(max(8, count // 3), n)  # narrow blocks: fewer vectors in all
    step = flexibility(mass @ np.random.default_rng(1).standard_normal((n, width)))
    momenta = mass @ step
    basis: list[Floats] = []
    rows: list[Floats] = []
    for _ in range(MOST_BLOCKS):
        block, weighted = _orthonormal(step, momenta, mass, basis)
        if not block.shape[1]:  # an invariant space
            break
        basis.append(block)
        step = flexibility(weighted)
        rows.append(_remove(step, mass @ step, basis))
        momenta = mass @ step
        size = sum(each.shape[1] for each in basis)
        values, parts = _projected(rows, size)
        if size >= count:
            kept = parts[:, :count]
            # what the next block would add to each of the wanted ones
            last = kept[size - step.shape[1] :]
            norms = np.sqrt(np.maximum(np.einsum("jk,jl,lk->k", last, step.T @ momenta, last, optimize=True), 0.0))
            if np.all(norms <= tolerance * values[:count] + ROUNDING * values[0]):
                return values[:count], _combined(basis, kept)
    else:
        raise SolveError(f"modes: the eigenvalue solver did not converge in {MOST_BLOCKS} blocks of {width}")
    values, parts = _projected(rows, sum(each.shape[1] for each in basis))
    return values[:count], _combined(basis, parts[:, :count])


def _projected(rows: list[Floats], size: int) -> tuple[Floats, Floats]:
    """Eigenvalues, falling, and vectors of the projection, whose upper block columns are ``rows``."""
    H = np.zeros((size, size))
    first = 0
    for each in rows:
        last = first + each.shape[1]
        H[: len(each), first:last] = each
        H[first:last, : len(each)] = each.T
        H[first:last, first:last] = 0.5 * (each[first:] + each[first:].T)
        first = last
    values, vectors = np.linalg.eigh(H)
    return values[::-1], vectors[:, ::-1]


def _combined(basis: list[Floats], parts: Floats) -> Floats:
    out, first = np.zeros((len(basis[0]), parts.shape[1])), 0
    for each in basis:
        out += each @ parts[first : first + each.shape[1]]
        first += each.shape[1]
    return out


def _remove(x: Floats, momenta: Floats, basis: list[Floats]) -> Floats:
    """Take the basis out of x, which has these momenta, in place; returns the parts (size, q) that x had."""
    # products with the mass again take less than those of the basis would take memory
    parts = [each.T @ momenta for each in basis]
    for each, part in zip(basis, parts, strict=True):
        x -= each @ part
    return np.vstack(parts) if parts else np.zeros((0, x.shape[1]))


def _orthonormal(x: Floats, momenta: Floats, mass: Sparse, basis: list[Floats]) -> tuple[Floats, Floats]:
    """A block of unit mass without the basis, of x without it but for rounding, and its momenta; dependent columns are
    left out."""
    x, _ = _of_unit_mass(x, momenta)
    momenta = mass @ x  # nearly dependent columns have lost digits
    if basis and x.shape[1]:
        _remove(x, momenta, basis)
        momenta = mass @ x
    return _of_unit_mass(x, momenta)


def _of_unit_mass(x: Floats, momenta: Floats) -> tuple[Floats, Floats]:
    gram = x.T @ momenta
    scale = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
    own = scale > 0.0
    squares, axes = np.linalg.eigh(gram[own][:, own] / np.outer(scale[own], scale[own]))
    good = squares > DEPENDENT * max(squares[-1], 1e-300) if len(squares) else np.zeros(0, dtype=bool)
    turn = np.zeros((len(scale), int(np.sum(good))))
    turn[own] = axes[:, good] / np.sqrt(squares[good]) / scale[own][:, None]
    return x @ turn, momenta @ turn
