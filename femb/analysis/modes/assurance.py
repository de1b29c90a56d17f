"""The modal assurance criterion: which mode of one state is which of another.

    MAC_ij = |a_i^H W b_j|^2 / ((a_i^H W a_i) (b_j^H W b_j)),   W = diag(s^2 M, M) of states (phi, lambda phi)

Source: docs/theory/modes.md, equation (10).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from femb.analysis.modes.complex_modes import Complex
from femb.analysis.modes.solution import Solution

# Eigenvalues that differ by no more than this part are one multiple eigenvalue, whose shapes are any basis.
MULTIPLE = 1e-6


def assurance(first: Solution, second: Solution) -> NDArray[np.float64]:
    """The modal assurance criterion (k, m) between the modes of two states of one model, weighted by the first's."""
    weight = _Weight(first)
    a, b = weight.states(first), weight.states(second)
    sizes = [np.abs(np.sum(x.conj() * weight.times(x), axis=0)) for x in (a, b)]
    return np.asarray(np.abs(a.conj().T @ weight.times(b)) ** 2 / np.outer(*sizes))


def nearer(before: Solution, after: Solution) -> tuple[Solution, NDArray[np.float64]]:
    """The modes after, each or its conjugate by which is nearer to a mode before, and the criterion (k, m).

    In axes that turn, a whirl whose frequency falls through zero goes on as its conjugate.
    """
    mirrored = replace(after, eigenvalues=after.eigenvalues.conj(), shapes=after.shapes.conj())
    same, other = assurance(before, after), assurance(before, mirrored)
    turned = np.max(other, axis=0) > np.max(same, axis=0)
    chosen = replace(
        after,
        eigenvalues=np.where(turned, mirrored.eigenvalues, after.eigenvalues),
        shapes=np.where(turned, mirrored.shapes, after.shapes),
    )
    return chosen, np.where(turned, other, same)


def aligned(reference: Solution, modes: Solution) -> Solution:
    """The same modes; those of a multiple eigenvalue in the basis that is nearest to modes of the reference."""
    weight = _Weight(reference)
    shapes = modes.shapes.copy()
    for group in _multiple(modes.eigenvalues):
        # an orthonormal basis first: the eigenvalue solver's may be nearly dependent
        states = weight.states(modes.ordered(group))
        sizes, axes = np.linalg.eigh(states.conj().T @ weight.times(states))
        basis = axes / np.sqrt(np.maximum(sizes, np.finfo(float).tiny))
        products = (states @ basis).conj().T @ weight.times(weight.states(reference))
        nearest = np.argsort(-np.sum(np.abs(products) ** 2, axis=0))[: len(group)]
        left, _, right = np.linalg.svd(products[:, nearest], full_matrices=False)
        shapes[:, group] = shapes[:, group] @ (basis @ _completed(left @ right, len(group)))
    return replace(modes, shapes=shapes)


def _completed(basis: Complex, count: int) -> Complex:
    """Orthonormal columns (count, m) and what completes them to (count, count)."""
    if basis.shape[1] == count:
        return basis
    whole, _ = np.linalg.qr(np.hstack([basis, np.eye(count)]))
    return np.hstack([basis, whole[:, basis.shape[1] : count]])


def _multiple(eigenvalues: Complex) -> list[NDArray[np.intp]]:
    """Numbers of the modes of each multiple eigenvalue."""
    order = np.argsort(np.abs(eigenvalues), kind="stable")
    groups: list[list[int]] = []
    for k in order:
        if groups and abs(eigenvalues[k] - eigenvalues[groups[-1][-1]]) <= MULTIPLE * abs(eigenvalues[k]):
            groups[-1].append(int(k))
        else:
            groups.append([int(k)])
    return [np.array(group) for group in groups if len(group) > 1]


class _Weight:
    """W = diag(s^2 M, M) of the states (phi, lambda phi) of a solution, s the median of its |lambda|.

    It is positive in every state, also where centrifugal forces make the stiffness negative.
    """

    def __init__(self, of: Solution) -> None:
        self.motion, self.scale = of.motion, float(np.median(np.abs(of.eigenvalues)))

    def states(self, of: Solution) -> Complex:
        """(2 n_v, k): s phi and lambda phi."""
        return np.vstack([self.scale * of.shapes, of.shapes * of.eigenvalues])

    def times(self, states: Complex) -> Complex:
        """diag(M, M) x (2 n_v, k)."""
        return np.vstack([self._times(part) for part in np.split(states, 2)])

    def _times(self, x: Complex) -> Complex:
        columns = [
            self.motion.times(self.motion.mass, np.ascontiguousarray(column.real))
            + 1j * self.motion.times(self.motion.mass, np.ascontiguousarray(column.imag))
            for column in x.T
        ]
        return np.array(columns).T
