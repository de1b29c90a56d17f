"""Partial linearisation: equations linear in small coordinates theta at large coordinates s, for trees on the ground.

Equations linear in theta need the kinetic energy to second order in theta and its rates together: the block of A of
large coordinates to second order, the source of centrifugal stiffening; the mixed block to first order; the block of
small coordinates at theta = 0. The integration of the full equations does not use these expansions.
Source: docs/theory/hamiltonian.md, section 8, equations (17) to (21).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.brief import Brief
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.formulations.hamiltonian.motion import TreeMotion
from femb.formulations.hamiltonian.tree import Tree
from femb.numerics.rotations import cross_matrix

Law = Callable[[float, float], tuple[float, float, float]]
"""(coordinate, rate) -> the resisting torque or force, N m or N, and its derivatives by coordinate and rate."""


@dataclass(frozen=True)
class SmallMotion(Brief):
    """mass theta'' + damping theta' + stiffness theta = force, (k, k) and (k,), at given s and constant s'.

    names (k,) : of theta, rad or m; in SI units. damping includes gyroscopic and Coriolis terms, stiffness centrifugal
    ones; neither is symmetric in general.
    """

    names: tuple[str, ...]
    mass: Floats
    damping: Floats
    stiffness: Floats
    force: Floats

    def eigenvalues(self) -> Any:
        """(2 k,) complex, 1/s, by size of their imaginary part; coefficients taken as constant in time."""
        k = len(self.names)
        matrix = np.block(
            [
                [np.zeros((k, k)), np.eye(k)],
                [-np.linalg.solve(self.mass, self.stiffness), -np.linalg.solve(self.mass, self.damping)],
            ]
        )
        values = np.linalg.eigvals(matrix)
        return values[np.argsort(np.abs(values.imag), kind="stable")]


class Derivatives:
    """The energy matrix of a tree on the ground with its first and second derivatives, entry by entry.

    The derivatives by coordinate l of quantities outboard of hinge l are X_l S for a hinge motion, -X_l^T h for a
    momentum, and -X_l^T I - I X_l for an inertia, with X_l the matrix of S_l x.
    """

    def __init__(self, tree: Tree, q: Floats) -> None:
        if tree.base is not None:
            raise ModelError(
                f"partial linearisation is for trees on the ground; this one hangs on the free body {tree.base.name!r}."
                " Hold the body, or linearise the velocity form"
            )
        motion = TreeMotion.of(tree, q, np.zeros(tree.n), np.zeros(6))
        self.tree, self.S = tree, motion.S[1:]
        self._inboard = tree.ancestors
        self._composite = np.einsum("ki,iab->kab", self._inboard, motion.M[1:])
        self._F = np.einsum("kij,kj->ki", self._composite, self.S)
        self._X = np.zeros((tree.n, 6, 6))
        self._X[:, :3, :3] = self._X[:, 3:, 3:] = cross_matrix(self.S[:, :3])
        self._X[:, 3:, :3] = cross_matrix(self.S[:, 3:])
        self._composite_changes = -np.swapaxes(self._X, 1, 2) @ self._composite - self._composite @ self._X
        # mass outboard of every hinge, and its first moment
        self._mass, self._moment = self._inboard @ tree.mass, self._inboard @ (tree.mass[:, None] * motion.center[1:])

    def entry(self, i: int, j: int) -> float:
        """Entry a_ij of the energy matrix."""
        i, j = self._sorted(i, j)
        return float(self.S[i] @ self._F[j]) if self._inboard[i, j] else 0.0

    def first(self, i: int, j: int, m: int) -> float:
        """d a_ij / dq_m, equation (17)."""
        i, j = self._sorted(i, j)
        if self._between(i, m, j):
            return -float(self._X[m] @ self.S[i] @ self._F[j])
        if self._inboard[i, j] and self._outboard(j, m):
            return float(self.S[i] @ self._composite_changes[m] @ self.S[j])
        return 0.0

    def second(self, i: int, j: int, m: int, k: int) -> float:
        """d2 a_ij / dq_m dq_k, equation (18)."""
        i, j = self._sorted(i, j)
        m, k = self._sorted(m, k)
        X, S = self._X, self.S
        if not self._inboard[m, k]:
            return 0.0
        if self._between(i, m, j):
            if self._between(i, k, j):
                return float((X[k] @ X[m] @ S[i]) @ self._F[j])
            return -float((X[m] @ S[i]) @ self._composite_changes[k] @ S[j])
        if self._inboard[i, j] and self._outboard(j, m):
            return -float(
                (X[m] @ S[i]) @ self._composite_changes[k] @ S[j] + S[i] @ self._composite_changes[k] @ X[m] @ S[j]
            )
        return 0.0

    def weight(self, m: int, k: int) -> float:
        """Second derivative of the potential of gravity by q_m and q_k, equation (21)."""
        m, k = self._sorted(m, k)
        if not self._inboard[m, k]:
            return 0.0
        shift = np.cross(self.S[k, :3], self._moment[k]) + self._mass[k] * self.S[k, 3:]
        return -float(self.S[m, :3] @ np.cross(shift, self.tree.gravity))

    def pull(self, m: int) -> float:
        """First derivative of the potential of gravity by q_m."""
        moment = np.cross(self._moment[m], self.tree.gravity)
        return -float(self.S[m, :3] @ moment + self.S[m, 3:] @ self.tree.gravity * self._mass[m])

    def _sorted(self, i: int, j: int) -> tuple[int, int]:
        return (i, j) if i <= j else (j, i)  # parents come first

    def _outboard(self, j: int, m: int) -> bool:
        return bool(m != j and self._inboard[j, m])

    def _between(self, i: int, m: int, j: int) -> bool:
        """Whether m is outboard of i on the path to j, j included."""
        return self._outboard(i, m) and bool(self._inboard[m, j])


def expanded_energy_matrix(tree: Tree, q: ArrayLike, small: Sequence[str]) -> Floats:
    """A (n, n) at q to the orders that equations linear in the small coordinates need; exact without any.

    The error of the kinetic energy is of third order in the small coordinates and their rates.
    """
    q = tree.array(q).copy()
    indices = [tree.index(name) for name in small]
    theta = dict(zip(indices, q[indices], strict=True))
    q[indices] = 0.0
    d, A = Derivatives(tree, q), np.zeros((tree.n, tree.n))
    for i in range(tree.n):
        for j in range(i, tree.n):
            order = 2 - (i in theta) - (j in theta)
            value = d.entry(i, j)
            if order > 0:
                value += sum(d.first(i, j, m) * x for m, x in theta.items())
            if order > 1:
                value += 0.5 * sum(d.second(i, j, m, k) * x * y for m, x in theta.items() for k, y in theta.items())
            A[i, j] = A[j, i] = value
    return A


def linearise(
    tree: Tree,
    small: Sequence[str],
    q: ArrayLike | None = None,
    rate: ArrayLike | None = None,
    laws: Sequence[tuple[int, Law]] = (),
) -> SmallMotion:
    """Small motion of some coordinates of a tree while the others are at q and move at constant rates.

    q, rate: arrays (n,) or numbers by name; entries of small coordinates are not read. laws: hinges and their laws,
    in addition to the tree's springs and dampers. Equations (19) and (20).
    """
    indices = [tree.index(name) for name in small]
    x, v = tree.array(q).copy(), tree.array(rate, "rates").copy()
    x[indices], v[indices] = 0.0, 0.0
    d, moving = Derivatives(tree, x), [int(m) for m in np.flatnonzero(v)]
    k = len(indices)
    mass, damping, stiffness, force = np.zeros((k, k)), np.zeros((k, k)), np.zeros((k, k)), np.zeros(k)
    for a, i in enumerate(indices):
        force[a] = -d.pull(i) + tree.stiffness[i] * tree.rest[i]
        for m in moving:
            for n in moving:
                force[a] -= v[m] * v[n] * (d.first(m, i, n) - 0.5 * d.first(m, n, i))
        for b, j in enumerate(indices):
            mass[a, b] = d.entry(i, j)
            stiffness[a, b] = d.weight(i, j)
            for m in moving:
                damping[a, b] += v[m] * (d.first(m, i, j) - d.first(m, j, i) + d.first(i, j, m))
                for n in moving:
                    stiffness[a, b] += v[m] * v[n] * (d.second(m, i, n, j) - 0.5 * d.second(m, n, i, j))
        damping[a, a] += tree.damping[i]
        stiffness[a, a] += tree.stiffness[i]
        for resisting, by_coordinate, by_rate in (law(0.0, 0.0) for hinge, law in laws if hinge == i):
            force[a] -= resisting
            stiffness[a, a] += by_coordinate
            damping[a, a] += by_rate
    return SmallMotion(tuple(small), mass, damping, stiffness, force)
