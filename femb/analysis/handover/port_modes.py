"""Modes of an appendage from the Craig-Bampton basis of its two ports: both held, and the six motions of the child.

The six static shapes are those by forces on the child port; they span the same as its unit displacements do. Forces,
too, hold the child port for the other modes, so that one factorisation, in the order that the held root needs, does.
Source: docs/theory/handover.md, equation (15).
"""

import numpy as np
from scipy.linalg import cholesky, eigh, null_space, solve_triangular

from femb.analysis.modes.eigen import SEED, SMALL, freedoms, real_modes
from femb.analysis.modes.eigenproblem import EigenProblem
from femb.analysis.modes.rigid import free_motions
from femb.base.types import Floats
from femb.system.block_lu import Factorisation

# Part of the lowest omega^2 that makes every block of the stiffness regular, and the passes that take it out again.
SHIFT, PASSES = 1e-3, 6
# A shape depends on the others where less than this part of it is left.
DEPENDENT = 1e-13


def port_modes(alone: EigenProblem, frame: int, lowest: float, count: int | None) -> tuple[Floats, Floats]:
    """omega^2 (k,) and shapes (n_v, k) of unit mass of an appendage, of which nothing else moves.

    frame : of the child port. lowest : frequency, Hz. count : modes with both ports held, by default all.
    """
    most = freedoms(alone)
    if count is None or 6 + count >= most:
        return real_modes(alone, free_motions(alone), most)
    if most < SMALL or 2 * count > most:
        squares, shapes = real_modes(alone, free_motions(alone), most)
        rows = shapes[alone.velocities_of(frame)]
        held = null_space(rows)
        _, parts = eigh((held.T * squares) @ held)
        return _diagonal(alone, np.hstack([shapes @ (rows / squares).T, shapes @ (held @ parts[:, :count])]))
    shift = SHIFT * (2.0 * np.pi * lowest) ** 2
    factors = alone.factorise(alone.stiffness + shift * alone.mass)
    loads = np.zeros((alone.system.n_v, 6))
    loads[alone.velocities_of(frame)] = np.eye(6)
    by_loads = alone.solve_columns(factors, loads)
    static = by_loads
    for _ in range(PASSES):  # each takes the error of the shift down by SHIFT
        static = by_loads + shift * alone.solve_columns(factors, _times_mass(alone, static))
    return _diagonal(alone, np.hstack([static, _held_modes(alone, frame, factors, by_loads, shift, count)]))


def _held_modes(
    alone: EigenProblem, frame: int, factors: Factorisation, by_loads: Floats, shift: float, count: int
) -> Floats:
    """(n_v, count): the lowest modes with the frame held, by forces on it that keep it where it is."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    n, own = alone.system.n_v, alone.velocities_of(frame)
    keep = np.linalg.inv(by_loads[own])

    def inverse(force: Floats) -> Floats:
        x = alone.solve(factors, force.ravel())
        held: Floats = x - by_loads @ (keep @ x[own])
        return held

    def mass(x: Floats) -> Floats:
        return alone.times(alone.mass, np.where(alone.held, 0.0, x.ravel()))

    operators = [LinearOperator((n, n), matvec=f, dtype=np.float64) for f in (mass, inverse)]
    start = inverse(mass(np.random.default_rng(SEED).standard_normal(n)))
    _, shapes = eigsh(
        operators[0],
        k=count,
        M=operators[0],
        sigma=-shift,
        OPinv=operators[1],
        v0=start,
        tol=0.0,
        ncv=min(n - 1, max(2 * count + 1, 20)),
    )
    return np.asarray(shapes)


def _times_mass(alone: EigenProblem, shapes: Floats) -> Floats:
    return np.array([alone.times(alone.mass, x) for x in shapes.T]).T


def _diagonal(alone: EigenProblem, basis: Floats) -> tuple[Floats, Floats]:
    """omega^2 (k,) and shapes (n_v, k) of unit mass of the motions that a basis (n_v, m) spans."""
    stiff = np.array([alone.times(alone.stiffness, x) for x in basis.T]) @ basis
    scale = 1.0 / np.sqrt(np.maximum(np.diag(stiff), np.finfo(float).tiny))
    sizes, parts = eigh(scale[:, None] * (0.5 * (stiff + stiff.T)) * scale)
    kept = sizes > DEPENDENT * sizes[-1]
    unit = basis @ (scale[:, None] * (parts[:, kept] / np.sqrt(sizes[kept])))
    # of the inverse, whose largest eigenvalues are those of the lowest modes: the others cannot round these
    inverses, turns = eigh(unit.T @ _times_mass(alone, unit))
    shapes = unit @ (turns[:, ::-1] / np.sqrt(inverses[::-1]))
    upper = cholesky(shapes.T @ _times_mass(alone, shapes))
    return 1.0 / inverses[::-1], solve_triangular(upper, shapes.T, trans="T").T
