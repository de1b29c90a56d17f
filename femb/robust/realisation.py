"""Realisations of a matrix that depends on parameters: which rows and columns each of them acts through.

    F(d) = F_0 + U D (1 - H D)^-1 V,    D = diag(d_1 1, d_2 1, ...)

A parameter on which F depends linearly repeats by the rank of its change, one on which it depends rationally by its
McMillan degree, from samples by the Loewner matrix. Source: docs/theory/robust.md, section 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats

# Of the largest singular value of a change, of which smaller ones are none; and of rounding of the whole matrix.
NONE, ROUNDING = 1e-12, 50.0 * float(np.finfo(float).eps)
# Of the largest singular value of a Loewner matrix, whose divided differences enlarge rounding.
DEGREE = 1e-10
# Values, in units of half of the range, at which a rational dependence is sampled: half of them from the left.
SAMPLES = 12


@dataclass(frozen=True, eq=False)
class ParametricForm:
    """U (a, r), H (r, r), V (r, b) of F(d) - F_0, and the repetitions of each parameter, whose sum is r."""

    U: Floats
    H: Floats
    V: Floats
    repetitions: tuple[int, ...]

    def change(self, d: Floats) -> Floats:
        """(a, b) F(d) - F_0 at values (k,) of the parameters."""
        repeated = np.repeat(d, self.repetitions)
        return np.asarray(self.U * repeated @ np.linalg.solve(np.eye(len(self.H)) - self.H * repeated, self.V))


def linear(of: Callable[[Floats], Floats], k: int, count: int) -> bool:
    """Whether a matrix depends on parameter k of ``count`` linearly, the others being zero."""
    ends = [of(_unit(k, count, x)) for x in (-1.0, -0.5, 0.0, 1.0)]
    curved = (ends[0] + ends[3] - 2.0 * ends[2], ends[1] - 0.25 * ends[3] - 0.75 * ends[0])
    change = np.max(np.abs(ends[3] - ends[0]), initial=0.0)
    floor = 1e-9 * change + ROUNDING * np.max(np.abs(ends[2]), initial=0.0)
    return all(bool(np.max(np.abs(each), initial=0.0) <= floor) for each in curved)


def additive(of: Callable[[Floats], Floats], straight: Sequence[bool]) -> Callable[[Floats], Floats]:
    """F(d), from its changes by each linear parameter alone where it has no products of two of these.

    So the samples grow with the number of linear parameters, not with that of their subsets.
    """
    own = np.array(straight)

    def summed(d: Floats) -> Floats:
        rest = np.where(own, 0.0, d)
        base = of(rest)
        units = ((x, _unit(k, len(d))) for k, x in enumerate(d) if own[k] and x)
        return base + sum((x * (of(rest + unit) - base) for x, unit in units), np.zeros_like(base))

    if np.sum(own) < 2:
        return of
    for x in (0.9, -0.7):
        d = np.where(own, 1.0, x)
        found, middle = of(d), np.max(np.abs(of(np.zeros(len(d)))), initial=0.0)
        change = np.max(np.abs(found - of(np.where(own, 0.0, d))), initial=0.0)
        if np.max(np.abs(summed(d) - found), initial=0.0) > 1e-9 * change + ROUNDING * middle:
            return of
    return summed


def realised(of: Callable[[Floats], Floats], straight: Sequence[bool], leading: int = 0) -> ParametricForm:
    """The realisation of a matrix F(d).

    of : F at values (k,). straight : of each parameter whether F is linear in it; others come last, and F has no
    products of two of them. leading : the first columns, as of accelerations, which have repetitions of their own where
    they are linear in a parameter that others are not linear in.

    Parameters are taken out one after another: the rows that one acts through are appended to the matrix that the rest
    acts on, so that products with the rest are exact.
    """
    count = len(straight)
    nodes = np.cos(np.pi * (np.arange(SAMPLES) + 0.5) / SAMPLES)
    taken: list[tuple[int, Floats]] = []

    def stacked(d: Floats, steps: int) -> Floats:
        """F without the parameters of the first steps, and below it the rows that these act through."""
        if not steps:
            return of(d)
        k, rows = taken[steps - 1]
        without, with_it = d.copy(), d.copy()
        without[k], with_it[k] = 0.0, 1.0
        base = stacked(without, steps - 1)
        return np.vstack([base, rows @ (stacked(with_it, steps - 1) - base)])

    columns: list[Floats] = []
    inner: list[Floats] = []
    for step, k in enumerate([k for k in range(count) if straight[k]]):
        zero, one = np.zeros(count), _unit(k, count)
        later = np.setdiff1d(np.arange(count), [each for each, _ in taken] + [k])
        points = [zero, *(x * _unit(j, count) for j in later for x in nodes[:: 1 if not straight[j] else SAMPLES])]
        points += [np.isin(np.arange(count), later) * x for x in (0.9, -0.7)] if len(later) else []
        changes = [stacked(at + one, step) - stacked(at, step) for at in points]
        left, sizes, _ = np.linalg.svd(np.hstack(_distinct(changes)), full_matrices=False)
        floor = NONE * sizes[0] + ROUNDING * np.max(np.abs(stacked(zero, step)))
        rank = int(np.sum(sizes > floor))
        scale = np.sqrt(sizes[:rank])
        taken.append((k, left[:, :rank].T / scale[:, None]))
        columns.append(left[:, :rank] * scale)
    steps, rational = len(taken), [k for k in range(count) if not straight[k]]
    base = stacked(np.zeros(count), steps)
    V = [base[-sum(len(rows) for _, rows in taken) :]] if taken else []
    for k in rational:
        values = [stacked(x * _unit(k, count), steps) - base for x in nodes]
        A, B, C = _in_parts(nodes, values, leading, ROUNDING * np.max(np.abs(base[:, :leading]), initial=0.0))
        columns.append(C)
        inner.append(A)
        V.append(B)
    height, sizes_of = len(of(np.zeros(count))), [each.shape[1] for each in columns]
    total, order = sum(sizes_of), [*(k for k, _ in taken), *rational]
    U, H = np.zeros((height, total)), np.zeros((total, total))
    start = 0
    for number, block in enumerate(columns):
        part = slice(start, start + block.shape[1])
        U[:, part] = block[:height]
        H[: len(block) - height, part] = block[height:]
        if number >= steps:
            H[part, part] = inner[number - steps]
        start = part.stop
    stacked_rows = np.vstack(V) if V else np.zeros((0, base.shape[1]))
    places = np.split(np.arange(total), np.cumsum(sizes_of)[:-1]) if columns else []
    chosen = np.concatenate([places[order.index(k)] for k in range(count)]) if count else np.zeros(0, dtype=int)
    repetitions = tuple(sizes_of[order.index(k)] for k in range(count))
    return ParametricForm(U[:, chosen], H[np.ix_(chosen, chosen)], stacked_rows[chosen], repetitions)


def _unit(k: int, count: int, size: float = 1.0) -> Floats:
    return np.asarray(size * (np.arange(count) == k))


def _distinct(changes: list[Floats]) -> list[Floats]:
    """The first of the matrices, and those that are not equal to it."""
    size = np.max(np.abs(changes[0]), initial=0.0)
    return [changes[0], *(each for each in changes[1:] if np.max(np.abs(each - changes[0])) > 1e-10 * size)]


def _in_parts(nodes: Floats, values: list[Floats], leading: int, floor: float) -> tuple[Floats, Floats, Floats]:
    """A, B, C as of ``_loewner``, with leading columns apart where they are linear; floor : of their rounding."""
    slopes = [each[:, :leading] / x for each, x in zip(values, nodes, strict=True)]
    largest = np.max(np.abs(slopes), initial=0.0)
    least = np.min(np.abs(nodes))
    if np.max(np.abs(np.array(slopes) - slopes[0]), initial=0.0) > 1e-9 * largest + floor / least:
        return _loewner(nodes, values)
    left, sizes, right = np.linalg.svd(slopes[0], full_matrices=False)
    rank = int(np.sum(sizes > NONE * largest + floor))
    own = np.sqrt(sizes[:rank])
    rest = [np.hstack([np.zeros_like(each[:, :leading]), each[:, leading:]]) for each in values]
    A, B, C = _loewner(nodes, rest)
    B[:, :leading] = 0.0
    linear_rows = np.pad(own[:, None] * right[:rank], ((0, 0), (0, rest[0].shape[1] - leading)))
    whole = np.zeros((rank + len(A), rank + len(A)))
    whole[rank:, rank:] = A
    return whole, np.vstack([linear_rows, B]), np.hstack([left[:, :rank] * own, C])


def _loewner(nodes: Floats, values: list[Floats]) -> tuple[Floats, Floats, Floats]:
    """A, B, C with F(t) = t C (1 - t A)^-1 B of the least size, from samples F at nodes (n,), none of them zero.

    With x = 1/t it is the transfer function C (x - A)^-1 B. Source: A. J. Mayo, A. C. Antoulas, Linear Algebra and its
    Applications 425 (2007); docs/theory/robust.md, equation (3).
    """
    P, R = _basis(np.hstack(values)), _basis(np.vstack(values).T)
    F = [P.T @ each @ R for each in values]
    x, left, right = 1.0 / nodes, range(0, len(nodes), 2), range(1, len(nodes), 2)
    L = np.block([[(F[i] - F[j]) / (x[i] - x[j]) for j in right] for i in left])
    shifted = np.block([[(x[i] * F[i] - x[j] * F[j]) / (x[i] - x[j]) for j in right] for i in left])
    Y, sizes, _ = np.linalg.svd(np.hstack([L, shifted]), full_matrices=False)
    rank = int(np.sum(np.linalg.svd(L, compute_uv=False) > DEGREE * sizes[0]))
    X = np.linalg.svd(np.vstack([L, shifted]), full_matrices=False)[2][:rank].T
    Y = Y[:, :rank]
    E = -Y.T @ L @ X
    A = np.linalg.solve(E, -Y.T @ shifted @ X)
    B = np.linalg.solve(E, Y.T @ np.vstack([F[i] for i in left]))
    C = np.hstack([F[j] for j in right]) @ X
    scale = np.sqrt(np.linalg.norm(C, axis=0) / np.maximum(np.linalg.norm(B, axis=1), 1e-300))
    return A * scale[:, None] / scale, scale[:, None] * B @ R.T, P @ C / scale


def _basis(matrix: Floats) -> Floats:
    """An orthonormal basis of the columns."""
    U, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(U[:, sizes > NONE * np.max(sizes, initial=0.0)])
