"""Craig-Bampton reduction of finite element models to interfaces and modes, the first interface held.

    Psi_b : unit motions of the other interfaces,   V : modes with all interfaces held                     (3), (4)

The eigenproblem is of the flexibility, so that rotations without inertia are admitted.
Source: docs/theory/modal_body.md, section 2.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from femb.analysis.fem.factor import HeldSolver
from femb.analysis.fem.krylov import largest
from femb.analysis.fem.model import FeModel
from femb.analysis.fem.ties import Tied
from femb.base.errors import ModelError
from femb.base.types import Floats

FIRST_MODES = 10


@dataclass(frozen=True, eq=False)
class Shapes:
    """Shapes of a reduced model.

    boundary (n, b) : unit motions of the interfaces but the root. modes (n, m) : of unit mass, with all interfaces
    held, with their frequencies (m,) Hz. solver : static solutions with the interfaces held.
    """

    boundary: Floats
    modes: Floats
    frequencies: Floats
    solver: HeldSolver

    @property
    def all(self) -> Floats:
        """(n, b + m)."""
        return np.hstack([self.boundary, self.modes])


def shapes(tied: Tied, enough: Callable[[Floats, Floats], int | None], most: int) -> Shapes:
    """Shapes of a tied model.

    enough : the number of modes to keep by their frequencies (m,) Hz and shapes (n, m), or None where more are to be
    computed. most : the largest number. Raises ModelError: a mechanism; more modes than degrees of freedom.
    """
    solver = HeldSolver(tied)
    parts = [solver.constraint_shapes(k) for k in range(1, len(tied.interfaces))]
    boundary = np.hstack(parts) if parts else np.zeros((tied.model.size, 0))
    count = min(most, FIRST_MODES) if enough(np.zeros(0), np.zeros((tied.model.size, 0))) is None else most
    while True:
        frequencies, modes = held_modes(tied.model, solver, count)
        kept = enough(frequencies, modes)
        if kept is not None or count >= most:
            return Shapes(boundary, modes[:, :kept], frequencies[:kept], solver)
        count = min(most, 2 * count)


def held_modes(model: FeModel, solver: HeldSolver, count: int) -> tuple[Floats, Floats]:
    """Frequencies (count,) Hz and shapes (n, count) of unit mass of the lowest modes with all interfaces held."""
    from scipy.linalg import eigh

    tied = solver.tied
    n = tied.free
    expand = tied.expand[:, :n]
    mass = (expand.T @ model.mass @ expand).tocsc()
    if count == 0:
        return np.zeros(0), np.zeros((model.size, 0))
    independent = int(np.count_nonzero(mass.diagonal())) - tied.rows.shape[0]
    if count > independent:
        raise ModelError(f"modes: got {count}, wanted at most {independent}, the masses that can move")
    if n < 200 or 2 * count > n:
        flexible = solver.solve(np.eye(n))
        root = _root(mass.toarray())
        values, parts = eigh(root.T @ flexible @ root, subset_by_index=(root.shape[1] - count, root.shape[1] - 1))
        inner = flexible @ (root @ parts)[:, ::-1] / values[::-1]
        values = values[::-1]
    else:
        values, inner = largest(solver.solve, mass, count)
    inner = inner / np.sqrt(np.einsum("nk,nk->k", inner, mass @ inner))
    peaks = inner[np.argmax(np.abs(inner), axis=0), np.arange(count)]
    return 1.0 / (2.0 * np.pi * np.sqrt(values)), np.asarray(expand @ (inner * np.sign(peaks)))


def _root(mass: Floats) -> Floats:
    """L with L L^T = mass, semidefinite: only columns of masses that are not zero."""
    values, axes = np.linalg.eigh(mass)
    own = values > 1e-14 * values[-1]
    return np.asarray(axes[:, own] * np.sqrt(values[own]))


def root_held(model: FeModel, found: Shapes) -> Callable[[Floats], Floats]:
    """Static displacements (n, q) by forces (n, q), with only the root held."""
    boundary = found.boundary
    if not boundary.shape[1]:
        return found.solver.flexibility
    loaded = boundary.T @ (model.stiffness @ boundary)

    def flexibility(force: Floats) -> Floats:
        return np.asarray(found.solver.flexibility(force) + boundary @ np.linalg.solve(loaded, boundary.T @ force))

    return flexibility
