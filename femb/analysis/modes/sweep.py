"""Frequencies over a parameter - spin rate, joint angle, temperature, tip mass - each curve of one and the same mode.

Modes are matched from value to value by the modal assurance criterion with the weight of energy,

    MAC_ij = |a_i^H W b_j|^2 / ((a_i^H W a_i) (b_j^H W b_j)),   W = diag(s^2 M, M) of states (phi, lambda phi)

Source: docs/theory/modes.md, equation (10).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from femb.analysis.modes.complex_modes import Complex
from femb.analysis.modes.modes import Solution, solution
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.model.model import Model

# Below this value of the criterion a match is doubtful, and the step of the parameter is halved, so many times.
DOUBTFUL, HALVINGS = 0.7, 6
# Eigenvalues that differ by no more than this part are one multiple eigenvalue, whose shapes are any basis.
MULTIPLE = 1e-6
# Modes computed beyond those that are followed, so that none leaves the set at a crossing.
SPARE = 4


@dataclass(frozen=True, eq=False)
class ModeSweep:
    """Frequencies (v, k) Hz and damping ratios (v, k) of k modes at the values (v,) of a parameter.

    assurance (v, k) : the criterion by which each was matched with the value before; 1 at the first.
    labels (k,) : the item that moves most in each mode at the first value.
    """

    values: Floats
    frequencies: Floats
    damping: Floats
    assurance: Floats
    labels: tuple[str, ...]


def mode_sweep(
    build: Callable[[float], Model],
    values: Sequence[float],
    count: int = 6,
    *,
    held: str | None = None,
    start: str = "as_given",
    damped: bool = False,
) -> ModeSweep:
    """The ``count`` lowest modes at the first value, followed over the others.

    build : the model at a value. values : in the order in which the modes are followed. held, start, damped : as of
    ``femb.modes``. Where a match is doubtful, values between are computed too; they are not among the results.
    Raises ModelError as ``femb.modes``, and where a mode cannot be followed.
    """
    values = [float(value) for value in values]
    if len(values) < 2 or not np.all(np.isfinite(values)):
        raise ModelError(f"mode sweep: values: got {values}, wanted at least two numbers")

    def at(value: float, modes: int) -> Solution:
        return solution(build(value), modes, held=held, start=start, damped=damped, own_axes=True)

    before = at(values[0], count + SPARE)
    chosen = before.first(count)
    rows = [(chosen.eigenvalues, np.ones(count))]
    for value, following in pairwise(values):
        chosen, assurance = _followed(at, chosen, value, following, count, HALVINGS)
        rows.append((chosen.eigenvalues, assurance))
    eigenvalues = np.array([row for row, _ in rows])
    size = np.abs(eigenvalues)
    return ModeSweep(
        np.array(values),
        size / (2.0 * np.pi),
        0.0 - eigenvalues.real / np.maximum(size, np.finfo(float).tiny),
        np.array([row for _, row in rows]),
        before.first(count).labels,
    )


def _followed(
    at: Callable[[float, int], Solution], before: Solution, value: float, following: float, count: int, halvings: int
) -> tuple[Solution, Floats]:
    """The modes at the next value in the order of those before, and the criterion of each match."""
    from scipy.optimize import linear_sum_assignment

    after = aligned(before, at(following, count + SPARE))
    after, criterion = _nearer(before, after)
    rows, columns = linear_sum_assignment(-criterion)
    matched = criterion[rows, columns]
    if np.min(matched) >= DOUBTFUL:
        return after.ordered(columns), matched
    if not halvings:
        k = int(np.argmin(matched))
        raise ModelError(
            f"mode sweep: mode {k + 1} of the first value cannot be followed from {value:.6g} to {following:.6g}: the "
            f"best match there has an assurance of {matched[k]:.3g}; ask for more modes, or for values that lie closer"
        )
    middle = 0.5 * (value + following)
    between, first = _followed(at, before, value, middle, count, halvings - 1)
    after, second = _followed(at, between, middle, following, count, halvings - 1)
    return after, np.minimum(first, second)


def assurance(first: Solution, second: Solution) -> NDArray[np.float64]:
    """The modal assurance criterion (k, m) between the modes of two states of one model, weighted by the first's."""
    weight = _Weight(first)
    a, b = weight.states(first), weight.states(second)
    sizes = [np.abs(np.sum(x.conj() * weight.times(x), axis=0)) for x in (a, b)]
    return np.asarray(np.abs(a.conj().T @ weight.times(b)) ** 2 / np.outer(*sizes))


def _nearer(before: Solution, after: Solution) -> tuple[Solution, NDArray[np.float64]]:
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


def aligned(before: Solution, after: Solution) -> Solution:
    """The same modes; those of a multiple eigenvalue in the basis that is nearest to the modes before."""
    weight = _Weight(before)
    products = weight.states(after).conj().T @ weight.times(weight.states(before))
    shapes = after.shapes.copy()
    for group in _multiple(after.eigenvalues):
        share = np.sum(np.abs(products[group]) ** 2, axis=0)
        nearest = np.argsort(-share)[: len(group)]
        left, _, right = np.linalg.svd(products[np.ix_(group, nearest)], full_matrices=False)
        shapes[:, group[: left.shape[0]]] = shapes[:, group] @ _completed(left @ right, len(group))
    return replace(after, shapes=shapes)


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
