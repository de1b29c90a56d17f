"""Upper bounds of gains over a box of real parameters, for one frequency and for all, with proof.

With N = [N_zw, N_zd; N_ew, N_ed] and w = D z over all d_j in [-1, 1], a gain from d to e is at most gamma where

    N^H diag(D, 1) N + i (G N_z - N_z^H G) - diag(D, gamma^2) <= 0

for Hermitian D_j > 0 and G_j of the blocks. Sources: M. K. H. Fan, A. L. Tits, J. C. Doyle, IEEE Transactions on
Automatic Control 36 (1991); docs/theory/robust.md, section 3.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from femb.base.errors import optional
from femb.base.types import Complexes, Floats
from femb.linear.state_space import StateSpace
from femb.numerics.linear_systems import balancing

# The slack of the level that one frequency proves, for which its scalings hold over an interval.
SLACK = 1.01
# The accuracy of scalings in the middle of all that prove a level.
MIDDLE = 1e-3
# Eigenvalues of a Hamiltonian matrix that may be on the imaginary axis: their signs are looked at.
NEAR = 1e-3
SWEEPS = 30
# The largest ratio of the ends to the middle of a band for which scalings are looked for.
WIDEST = 3.0


@dataclass(frozen=True, eq=False)
class Scaling:
    """D and G (r, r), block diagonal, and the level gamma that they prove at a frequency."""

    D: Complexes
    G: Complexes
    gamma: float

    def form(self, N: Complexes, gamma: float) -> Complexes:
        """The left side of the inequality, without a level where gamma is 0."""
        r = len(self.D)
        m = N.shape[1] - r
        whole = np.eye(len(N), dtype=complex)
        whole[:r, :r] = self.D
        skew = np.zeros((N.shape[1], N.shape[1]), dtype=complex)
        skew[:r] = self.G @ N[:r]
        right = np.zeros_like(skew)
        right[:r, :r], right[r:, r:] = self.D, gamma**2 * np.eye(m)
        return np.asarray(N.conj().T @ whole @ N + 1j * (skew - skew.conj().T) - right)


def scaling_at(
    N: Complexes,
    sizes: Sequence[int],
    gamma: float | None = None,
    beside: Sequence[Complexes] = (),
    real: int | None = None,
) -> Scaling | None:
    """The scalings with the least level at one frequency, or, for a level, those in the middle of all that prove it.

    N : of w and d by z and e, with w and z of the blocks' ``sizes`` first. beside : likewise at other frequencies, at
    which the same scalings should prove a level. real : the number of blocks that are real parameters, by default all;
    later ones are complex and have no G. The level is found from D and G themselves: what a solver says of its
    accuracy is no proof. None where there is none.
    """
    for balanced in (True, False):
        t = balance(N, sum(sizes)) if balanced else np.ones(sum(sizes))
        found = _solved([N, *beside], sizes, t, gamma, real)
        if found is not None:
            level = _level(found, N)
            if np.isfinite(level) and (gamma is None or level <= gamma):
                return Scaling(found.D, found.G, level if gamma is None else gamma)
    return None


def _level(of: Scaling, N: Complexes) -> float:
    """The least gamma for which D and G prove the inequality; infinite where there is none."""
    r = len(of.D)
    if r and np.linalg.eigvalsh(of.D)[0] <= 0.0:
        return float("inf")
    X = of.form(N, 0.0)
    X11, X12, X22 = X[:r, :r], X[:r, r:], X[r:, r:]
    if r and np.linalg.eigvalsh(X11)[-1] >= 0.0:
        return float("inf")
    rest = X22 - X12.conj().T @ np.linalg.solve(X11, X12) if r else X22
    return float(np.sqrt(max(np.linalg.eigvalsh(rest)[-1], 0.0))) if len(rest) else 0.0


def balance(N: Complexes, r: int) -> Floats:
    """(r,) factors t of w and z that make rows and columns of N alike (Osborne)."""
    t = np.ones(r)
    sizes = np.abs(N) ** 2
    for _ in range(SWEEPS):
        for k in range(r):
            row = np.sum(np.delete(sizes[k], k))
            column = np.sum(np.delete(sizes[:, k], k))
            if row > 0.0 and column > 0.0:
                f = (column / row) ** 0.25
                t[k] *= f
                sizes[k] *= f * f
                sizes[:, k] /= f * f
    return t


def _hermitian(size: int) -> Iterator[Complexes]:
    """A basis of the Hermitian matrices (size, size)."""
    for i in range(size):
        for j in range(i, size):
            for x in (1.0,) if i == j else (1.0, 1j):
                found = np.zeros((size, size), dtype=complex)
                found[i, j], found[j, i] = x, np.conj(x)
                yield found


def _real(X: Complexes) -> Floats:
    """The upper triangle, column by column, of the real form of a Hermitian matrix, as Clarabel takes it."""
    whole = np.block([[X.real, -X.imag], [X.imag, X.real]])
    rows, columns = _triangle(len(whole))
    return np.asarray(whole[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0)))


def _triangle(n: int) -> tuple[Any, Any]:
    columns, rows = np.tril_indices(n)
    return rows, columns


def _solved(
    of: Sequence[Complexes], sizes: Sequence[int], t: Floats, gamma: float | None, real: int | None
) -> Scaling | None:
    """The scalings that Clarabel finds for all of some N, in coordinates that are scaled by t (r,)."""
    r, m = sum(sizes), of[0].shape[1] - sum(sizes)
    with_G_below, sizes = sum(sizes[:real]), [n for n in sizes if n]
    parts = [_parts(N, t) for N in of]
    starts = np.cumsum([0, *sizes])
    places = [(start, E) for start, n in zip(starts, sizes, strict=False) for E in _hermitian(n)]
    with_G = [place for place in places if place[0] < with_G_below]
    # that the blocks of D are positive is one cone each, after those of the inequalities
    rows = np.cumsum([0, *(n * (2 * n + 1) for n in sizes)])
    of_D = []
    for start, E in places:
        positive, block = np.zeros(rows[-1]), int(np.searchsorted(starts, start))
        positive[rows[block] : rows[block + 1]] = -_real(E)
        of_D.append(np.concatenate([*_by_D(parts, start, E), positive]))
    none = np.zeros(rows[-1])
    of_G = [np.concatenate([*_by_G(parts, start, E), none]) for start, E in with_G]
    levels = [d.conj().T @ d for _, _, _, d in parts]
    fixed = [e.conj().T @ e - (gamma or 0.0) ** 2 * level for (_, e, _, _), level in zip(parts, levels, strict=True)]
    last = [-level if gamma is None else np.eye(r + m, dtype=complex) for level in levels]
    columns = np.array([*of_D, *of_G, np.concatenate([*map(_real, last), none])]).T
    right = np.concatenate([*(-_real(each) for each in fixed), none])
    x = _optimum(columns, right, [2 * (r + m)] * len(parts) + [2 * n for n in sizes], gamma is not None)
    if not np.all(np.isfinite(x)):
        return None
    scale = np.outer(t, t)
    D, G = _combined(places, x, r), _combined(with_G, x[len(places) :], r)
    return Scaling(np.asarray(D * scale), np.asarray(G * scale), 0.0)


def _parts(N: Complexes, t: Floats) -> list[Complexes]:
    """z, e, w and d of an orthonormal basis of [N; 1] scaled by t (r,), of which no column is large at a resonance."""
    r, scaled = len(t), N.copy()
    scaled[:r] *= t[:, None]
    scaled[:, :r] /= t
    Q = np.linalg.qr(np.vstack([scaled, np.eye(N.shape[1])]))[0]
    return np.split(Q, np.cumsum([r, len(N) - r, r]))


def _by_D(parts: list[list[Complexes]], start: int, E: Complexes) -> Iterator[Floats]:
    """The part of a matrix E at a place of D in the inequalities."""
    of = slice(start, start + len(E))
    for z, _, w, _ in parts:
        yield _real(z[of].conj().T @ E @ z[of] - w[of].conj().T @ E @ w[of])


def _by_G(parts: list[list[Complexes]], start: int, E: Complexes) -> Iterator[Floats]:
    """The part of a matrix E at a place of G in the inequalities."""
    of = slice(start, start + len(E))
    for z, _, w, _ in parts:
        cross = -1j * z[of].conj().T @ E @ w[of]
        yield _real(cross + cross.conj().T)


def _optimum(columns: Floats, right: Floats, sizes: list[int], margin: bool) -> Floats:
    """The x for which right - columns x is in cones of these sizes and its last entry, a level, is least; or, a
    ``margin``, largest, and not above a limit. Not finite where there is none."""
    clarabel = optional("clarabel", "robust", "proofs of worst cases need Clarabel, which is missing")
    from scipy.sparse import csc_matrix

    count = columns.shape[1]
    cost, settings = np.zeros(count), clarabel.DefaultSettings()
    cost[-1], settings.verbose = -1.0 if margin else 1.0, False
    cones = [*map(clarabel.PSDTriangleConeT, sizes)]
    if margin:  # the middle of what proves a level need not be exact, and the margin may not grow without end
        settings.tol_gap_abs = settings.tol_gap_rel = MIDDLE
        columns, right = np.vstack([columns, -cost]), np.append(right, 1e6)
        cones.append(clarabel.NonnegativeConeT(1))
    nothing = csc_matrix((count, count))
    solution = clarabel.DefaultSolver(nothing, cost, csc_matrix(columns), right, cones, settings).solve()
    return np.array(solution.x)


def _combined(places: Sequence[tuple[int, Complexes]], x: Floats, r: int) -> Complexes:
    """The sum (r, r) of matrices at their places by the first entries of x."""
    found: Complexes = np.zeros((r, r), dtype=complex)
    for (at, E), value in zip(places, x, strict=False):
        found[at : at + len(E), at : at + len(E)] += value * E
    return found


# All frequencies.


class Plant:
    """N(s) = D + C (s - A)^-1 B of (z, e) by (w, d), balanced; real : as with ``scaling_at``."""

    def __init__(self, space: StateSpace, sizes: Sequence[int], real: int | None = None) -> None:
        scale = balancing(space.A)
        self.A, self.B = space.A * scale / scale[:, None], space.B / scale[:, None]
        self.C, self.D = space.C * scale, space.D
        self.sizes, self.r, self.real = tuple(sizes), sum(sizes), real
        self.poles = np.linalg.eigvals(self.A)

    def at(self, omega: float) -> Complexes:
        """N(i omega)."""
        if not np.isfinite(omega):
            return self.D.astype(complex)
        return np.asarray(self.D + self.C @ np.linalg.solve(1j * omega * np.eye(len(self.A)) - self.A, self.B))

    def holds(self, by: Scaling, omega: float) -> bool:
        """Whether scalings prove their level at a frequency."""
        return bool(np.linalg.eigvalsh(by.form(self.at(omega), by.gamma))[-1] < 0.0)

    def interval(self, by: Scaling, omega: float) -> tuple[float, float]:
        """The frequencies about one of them between which scalings prove their level, by a Hamiltonian matrix."""
        r, (p, m), n = self.r, self.D.shape, len(self.A)
        Pi = np.zeros((p + m, p + m), dtype=complex)
        Pi[:r, :r], Pi[r:p, r:p] = by.D, np.eye(p - r)
        Pi[:r, p : p + r], Pi[p : p + r, :r] = -1j * by.G, 1j * by.G
        Pi[p : p + r, p : p + r], Pi[p + r :, p + r :] = -by.D, -(by.gamma**2) * np.eye(m - r)
        Ch, Dh = np.vstack([self.C, np.zeros((m, n))]), np.vstack([self.D, np.eye(m)])
        Q, S, R = Ch.T @ Pi @ Ch, Ch.T @ Pi @ Dh, Dh.T @ Pi @ Dh
        inverse = np.linalg.inv(R)
        own = self.A - self.B @ inverse @ S.conj().T
        H = np.block([[own, -self.B @ inverse @ self.B.T], [-Q + S @ inverse @ S.conj().T, -own.conj().T]])
        values = np.linalg.eigvals(H)
        near = np.abs(values.real) < NEAR * (NEAR + np.abs(values))
        edges = np.unique(np.concatenate([[0.0], values.imag[near & (values.imag > 0.0)]]))
        k = int(np.searchsorted(edges, omega, side="right")) - 1
        first, last = k, k + 1
        while first > 0 and self.holds(by, 0.5 * (edges[first] + edges[first - 1])):
            first -= 1
        while last < len(edges) and self.holds(
            by, 0.5 * (edges[last] + edges[last + 1]) if last + 1 < len(edges) else 2.0 * edges[last]
        ):
            last += 1
        if last == len(edges) and np.linalg.eigvalsh(R)[-1] >= 0.0:
            last -= 1
        return float(edges[first]), float(edges[last]) if last < len(edges) else np.inf


def bound(
    plant: Plant, level: float = 0.0, most: int = 1000, stop: float = np.inf, until: float = np.inf
) -> tuple[float, int]:
    """A proved level of the gain from d to e for all frequencies and parameters of the box, infinite where there is
    none, and the number of frequencies at which semidefinite programs were solved.

    Parameters:
        plant: of which the middle of the box is stable.
        level: one that is proved at least, such as a gain that was found.
        most: frequencies, after which the proof is given up.
        stop: a level above which it is given up.
        until: of ``monotonic``, after which it is given up.
    """
    left = [(0.0, np.inf)]
    tried = sorted({float(abs(each)) for each in plant.poles if abs(each) > 0.0})
    gamma, count, width = level, 0, WIDEST
    while left and count < most and monotonic() < until:
        inside = [w for w in tried if any(a < w < b for a, b in left)]
        omega = inside[0] if inside else _middle(left[0])
        tried = [w for w in tried if w > omega] if inside else tried
        count += 1
        N = plant.at(omega)
        low, high = next((a, b) for a, b in left if a <= omega <= b)
        ends = max(low, omega / width), min(high, omega * width)
        beside = [plant.at(w) for w in ends]
        centred = scaling_at(N, plant.sizes, gamma, beside, plant.real) if gamma else None
        if centred is None and gamma:
            width = max(np.sqrt(width), 1.0 + 1e-3)
            centred = scaling_at(N, plant.sizes, gamma, real=plant.real)
        if centred is None:
            found = scaling_at(N, plant.sizes, real=plant.real)
            if found is None or SLACK * found.gamma > stop:
                return np.inf, count
            gamma = max(gamma, SLACK * found.gamma)
            centred = scaling_at(N, plant.sizes, gamma, real=plant.real) or Scaling(found.D, found.G, gamma)
        low, high = plant.interval(centred, omega)
        if not low < omega < high:
            low, high = omega * (1.0 - 1e-9), omega * (1.0 + 1e-9)
        if low <= ends[0] * (1.0 + 1e-6) and high >= ends[1] * (1.0 - 1e-6):
            width = min(width**1.5, WIDEST)
        left = [piece for a, b in left for piece in ((a, min(b, low)), (max(a, high), b)) if piece[0] < piece[1]]
    return np.inf if left else gamma, count


def _middle(of: tuple[float, float]) -> float:
    low, high = of
    if not np.isfinite(high):
        return 2.0 * low if low else 1.0
    return float(np.sqrt(low * high)) if low > 0.01 * high else 0.5 * high


def recentred(space: StateSpace, sizes: Sequence[int], middle: Floats, half: Floats) -> StateSpace:
    """The plant (z, e) by (w, d) of a part of the box, d_j = middle_j + half_j d'_j; of a point without w and z."""
    r = sum(sizes)
    c, h = np.repeat(middle, sizes), np.repeat(half, sizes)
    C1, D11, D12 = space.C[:r], space.D[:r, :r], space.D[:r, r:]
    inverse = np.linalg.inv(np.eye(r) - D11 * c)
    # z = inverse (C1 x + D11 w' + D12 d),  w = c z + w',  w' = h d' z
    Cz, Dz = inverse @ C1, np.hstack([inverse @ D11, inverse @ D12])
    own = np.hstack([np.eye(r), np.zeros((r, space.D.shape[1] - r))])
    by = c[:, None] * np.hstack([Cz, Dz])
    by[:, Cz.shape[1] :] += own
    n = len(space.A)
    A = space.A + space.B[:, :r] @ by[:, :n]
    B = space.B[:, :r] @ by[:, n:]
    B[:, r:] += space.B[:, r:]
    C = space.C[r:] + space.D[r:, :r] @ by[:, :n]
    D = space.D[r:, :r] @ by[:, n:]
    D[:, r:] += space.D[r:, r:]
    if not np.any(h):
        return StateSpace(A, B[:, r:], C, D[:, r:], space.states, space.inputs[r:], space.outputs[r:])
    return StateSpace(
        A, B, np.vstack([h[:, None] * Cz, C]), np.vstack([h[:, None] * Dz, D]), space.states, space.inputs,
        space.outputs,
    )  # fmt: skip
