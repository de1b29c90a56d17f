"""Margins of a loop that is opened at one channel, by a grid that resolves its resonances and by root finding.

The loop's transfer function L is that of -u by w where u = w closes it. Polynomials of a free satellite, with its
integrators, are wrong in the first digits: crossings are those of L itself. Source: docs/theory/control_loop.md,
section 5.
"""

import cmath
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from femb.base.html import Brief
from femb.base.types import Complexes, Floats
from femb.linear.margin_kernels import refined_response, responses
from femb.numerics.linear_systems import continuous, eigenvalues, graded, resolving

# |L| above this is that of a pole on the axis; the largest of a crossing.
POLE = 1e7
# Of the slowest pole of a closed loop: poles and zeros of the opened one below are rounding of those at zero.
SLOWEST = 0.1
# |L| below this is rounding.
NOTHING = 1e-10
# Of a continuous channel, the most aliases of poles of the closed loop on its grid.
ALIASES = 8
# Minima of |1 + L| on the grid that are refined.
MINIMA = 5


class OpenedLoop:
    """L of an opened loop: x' = A x + B w, -L w = C x + D w; or over a common period of sampled laws.

    A (n, n), B (n, k), C (k, n), D (k, k) : of a sampled loop over a common period of k samples of its channel.
    period : s, between these samples; None of a continuous loop.

    Of a channel with k > 1, because other laws have other periods, L is the eigenvalue of the matrix (k, k) whose
    eigenvector is nearest to an oscillation at the frequency: a gain or phase of the channel acts on it as on L. It
    follows from that of (1 + L)^-1, of the closed loop: at aliases of zero, where L has the poles of integrators, its
    largest eigenvalue would take the digits of the others.
    """

    def __init__(self, A: Floats, B: Floats, C: Floats, D: Floats, period: float | None) -> None:
        from scipy.linalg import schur

        n, self.count, self.period = len(A), B.shape[1], period
        scale, order = graded(A)
        balanced = (A * scale / scale[:, None])[np.ix_(order, order)]
        self.A, self.B, self.C, self.D = balanced, (B / scale[:, None])[order], (C * scale)[:, order], D
        matrix, B, C = self.A, self.B, self.C
        self._direct: Floats = D
        if self.count > 1:
            self._direct = np.asarray(np.linalg.inv(np.eye(self.count) - D), dtype=float)
            matrix, B, C = self.A + B @ self._direct @ C, B @ self._direct, self._direct @ C
        self._triangle: Complexes = np.zeros((0, 0), dtype=complex)
        basis = self._triangle
        if n:
            self._triangle, basis = schur(matrix, output="complex")
        right = basis.conj().T @ B
        parts = (self._triangle.T, basis.T, basis.conj(), right[:, 0], matrix.T, B[:, 0], C[0])
        self._refined = tuple(map(np.ascontiguousarray, parts))
        self._responding = (self._refined[0], C @ basis, np.ascontiguousarray(right.T))

    def __call__(self, omega: Floats) -> Complexes:
        """(f,) L at omega (f,), rad/s."""
        points = 1j * omega if self.period is None else np.exp(1j * omega * (self.count * self.period))
        found = responses(*self._responding, points) + self._direct
        if self.count == 1:
            return np.asarray(-found[:, 0, 0])
        assert self.period is not None
        values, vectors = np.linalg.eig(found)
        oscillation = np.exp(1j * self.period * omega[:, None] * np.arange(self.count))
        alike = np.abs(np.einsum("fn,fnk->fk", oscillation.conj(), vectors))
        return np.asarray(1.0 / values[np.arange(len(omega)), np.argmax(alike, axis=1)] - 1.0)

    def one(self, omega: float) -> complex:
        """L at one frequency, rad/s; refined, since scales of B and C enlarge the rounding of the triangle of A."""
        if omega == np.inf:
            return complex(-self.D[0, 0])
        if self.count > 1 or not len(self._triangle):
            return complex(self(np.array([omega]))[0])
        point = 1j * omega if self.period is None else cmath.exp(1j * omega * self.period)
        return -complex(refined_response(*self._refined, point) + self.D[0, 0])

    def grid(self) -> Floats:
        """Frequencies (f,), rad/s, that resolve the poles and zeros of L and the poles of the closed loop."""
        from scipy.linalg import eigvals

        n, k = self.B.shape
        whole = np.block([[self.A, self.B], [self.C, self.D]])
        zeros = np.asarray(eigvals(whole, np.diag([1.0] * n + [0.0] * k)))
        closing = np.eye(k) - self.D
        closed = self.A + self.B @ np.linalg.solve(closing, self.C)
        of_closed = eigenvalues(closed)
        of_opened = np.diag(self._triangle) if self.count == 1 else eigenvalues(self.A)
        poles = np.concatenate([of_opened, of_closed, zeros[np.isfinite(zeros)]])
        if self.period is None:
            # what is slower than the closed loop is no motion of this
            sizes = np.abs(of_closed)
            least = SLOWEST * float(np.min(sizes[sizes > 0.0], initial=np.inf))
            seen = np.abs(poles) < 1e3 * np.max(np.abs(self.A), initial=1.0)
            return _apart(resolving(poles[seen], least=least if np.isfinite(least) else None))
        common = self.count * self.period
        poles = continuous(poles[(np.abs(poles) > 1e-6) & (np.abs(poles) < 1e6)], common)
        aliases = (2.0j * np.pi / common) * np.arange(self.count)
        poles = np.concatenate([poles + alias for alias in aliases] + [poles.conj() + alias for alias in aliases])
        return _apart(resolving(poles, last=0.5 / self.period))


class InjectedLoop:
    """L of a continuous channel beside sampled laws, as it is measured: from a sinusoid that is injected.

    The laws are closed. With e added to the command of the channel, e + s acts, and of their parts at the frequency of
    e, the others being those of aliases, L = -s/(e + s). Without sampled laws it is the usual L. Source:
    docs/theory/control_loop.md, section 5.

    response : a function of omega (rad/s) that gives (e + s)/e. poles : 1/s, of the closed loop between the aliases,
    and of the opened one; common : s, the common period of the sampled laws.
    """

    period: float | None = None

    def __init__(
        self, response: Callable[[float], complex], poles: Complexes, opened: Complexes, common: float
    ) -> None:
        self._response, self._poles, self._opened, self._common = response, poles, opened, common

    def __call__(self, omega: Floats) -> Complexes:
        """(f,) L at omega (f,), rad/s."""
        return np.array([self.one(each) for each in omega.tolist()], dtype=complex)

    def one(self, omega: float) -> complex:
        """L at one frequency, rad/s."""
        try:
            return 1.0 / self._response(omega) - 1.0
        except np.linalg.LinAlgError:  # exactly a pole of the closed loop, as at zero frequency
            return complex(np.inf)

    def grid(self) -> Floats:
        """Frequencies (f,), rad/s, that resolve the poles of the closed loop, their aliases, and those of the opened
        one, up to the highest of these."""
        last = max(float(np.max(np.abs(self._opened), initial=0.0)), np.pi / self._common)
        count = min(int(np.ceil(last * self._common / (2.0 * np.pi))), ALIASES)
        shifts = (2.0j * np.pi / self._common) * np.arange(-count, count + 1)
        aliases = [self._poles + shift for shift in shifts]
        return _apart(resolving(np.concatenate([self._opened, *aliases]), last=1.5 * last / (2.0 * np.pi)))


def _apart(frequencies: Floats) -> Floats:
    """(f,) rad/s of frequencies in Hz, without those that only rounding separates."""
    kept = np.append(np.diff(frequencies) > 1e-9 * frequencies[:-1], True)
    return np.asarray(2.0 * np.pi * frequencies[kept])


@dataclass(frozen=True, eq=False)
class Mode(Brief):
    """A vibration of the plant without its controllers.

    number : from 1 on, by frequency. eigenvalue : 1/s. items : those that move most in it, beside what the laws read.
    """

    number: int
    eigenvalue: complex
    items: str

    @property
    def name(self) -> str:
        """Number and items."""
        name = f"mode {self.number}"
        return name if name == self.items else f"{name}, {self.items}"

    @property
    def omega(self) -> float:
        """rad/s."""
        return abs(self.eigenvalue)


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins of a loop at one channel, with all others closed.

    channel : its name. frequencies (f,) rad/s and values (f,) : L on the grid.

    crossovers (a,) rad/s : where |L| = 1. phase_margins (a,) degrees, in (-180, 180] : the phase of L there less -180.
    delay_margins (a,) s : the delays in the channel that lead each of them to -1.

    phase_crossovers (b,) rad/s : where L is real and negative, from zero frequency to half the rate of samples, or to
    infinity. gain_margins (b,) : 1/|L| there; below one the gain may be smaller by this factor.

    distance, at : least |1 + L|, and its frequency, rad/s; the peak of the sensitivity is 1/distance.
    """

    channel: str
    frequencies: Floats
    values: Complexes
    crossovers: Floats
    phase_margins: Floats
    phase_crossovers: Floats
    gain_margins: Floats
    distance: float
    at: float

    def content(self) -> dict[str, object]:
        """All but the grid, by name; frequencies in rad/s."""
        words = ("crossovers", "phase_margins", "delay_margins", "phase_crossovers", "gain_margins", "sensitivity")
        return {word: getattr(self, word) for word in words} | {"sensitivity_at": self.at}

    def lines(self, nearest_mode: Callable[[float], Mode | None]) -> list[str]:
        """A heading, and a line for each crossing and for the peak of the sensitivity, with the mode nearest to it."""
        found = [f"{self.channel}: opened here, with the others closed"]
        rows = [
            (w, f"phase margin {phase:.6g} degrees, delay margin {delay:.6g} s")
            for w, phase, delay in zip(self.crossovers, self.phase_margins, self.delay_margins, strict=True)
        ]
        pairs = zip(self.phase_crossovers, self.gain_margins, strict=True)
        rows += [(w, f"gain margin {gain:.6g}") for w, gain in pairs]
        rows.append((self.at, f"peak of the sensitivity {self.sensitivity:.6g}"))
        for w, text in sorted(rows):
            near = nearest_mode(w) if 0.0 < w < np.inf else None
            name = f"; nearest mode {near.number}" if near else ""
            found.append(f"{w:12.6g} rad/s{w / (2.0 * np.pi):12.6g} Hz  {text}{name}")
        return found

    @property
    def delay_margins(self) -> Floats:
        """(a,) s, at the crossovers."""
        return np.asarray(np.radians(np.mod(self.phase_margins, 360.0)) / self.crossovers)

    @property
    def phase_margin(self) -> float:
        """Degrees: that of the least size; infinite without a crossover."""
        sizes = np.abs(self.phase_margins)
        return float(self.phase_margins[np.argmin(sizes)]) if len(sizes) else np.inf

    @property
    def delay_margin(self) -> float:
        """s: the least; infinite without a crossover."""
        return float(np.min(self.delay_margins, initial=np.inf))

    @property
    def gain_margin(self) -> tuple[float, float]:
        """The factors of the gain to which the loop bears it: the largest below one, and the least above one."""
        below, above = (self.gain_margins[each] for each in (self.gain_margins < 1.0, self.gain_margins >= 1.0))
        return float(np.max(below, initial=0.0)), float(np.min(above, initial=np.inf))

    @property
    def gain_factor(self) -> float:
        """The least factor, of one or more, by which the gain may be multiplied or divided."""
        low, high = self.gain_margin
        return min(high, 1.0 / low if low else np.inf)

    @property
    def sensitivity(self) -> float:
        """The largest |1/(1 + L)|."""
        return 1.0 / self.distance if self.distance else np.inf


def margins_of(channel: str, loop: OpenedLoop | InjectedLoop) -> Margins:
    """The margins of an opened loop at the channel of this name."""
    omega = loop.grid()
    values = loop(omega)
    size = np.abs(values)

    def gain(w: float) -> float:
        return float(np.log(max(abs(loop.one(w)), np.finfo(float).tiny)))

    def imaginary(w: float) -> float:
        return loop.one(w).imag

    crossovers = _roots(gain, omega, np.log(np.maximum(size, np.finfo(float).tiny)))
    at_crossovers = _each(loop, crossovers)
    phase = np.degrees(np.angle(-at_crossovers))
    ordinate = values.imag.copy()
    if loop.period is not None:
        ordinate[-1] = ordinate[-2]  # at half the rate L is real: the rest is rounding
    turning = np.sort(np.concatenate([_roots(imaginary, omega, ordinate), _ends(loop, omega)]))
    at_turning = _each(loop, turning)
    real = (at_turning.real < 0.0) & (np.abs(at_turning) < POLE) & (np.abs(at_turning) > NOTHING)
    distance, at = nearest(loop, omega, values)
    turning, at_turning = turning[real], at_turning[real]
    return Margins(
        channel, omega, values, crossovers, phase, turning, 1.0 / np.abs(at_turning), distance, at
    )  # fmt: skip


def _ends(loop: OpenedLoop | InjectedLoop, omega: Floats) -> Floats:
    """The ends of all frequencies, rad/s, where L is real, or infinite with an integrator; omega (f,) : the grid."""
    if loop.period is not None:
        return np.array([0.0, omega[-1]])
    return np.array([0.0, np.inf] if isinstance(loop, OpenedLoop) else [0.0])


def _each(loop: OpenedLoop | InjectedLoop, omega: Floats) -> Complexes:
    """L at a few frequencies (a,), with all digits; at zero, where it may have a pole, as on the grid."""
    return np.array([loop.one(w) if w else loop(np.array([w]))[0] for w in omega], dtype=complex)


def _roots(function: Callable[[float], float], x: Floats, values: Floats) -> Floats:
    """The zeros of a function between points (f,) at which its values have opposite signs."""
    from scipy.optimize import brentq

    values = np.where(values == 0.0, np.finfo(float).tiny, values)
    changes = np.flatnonzero(np.sign(values[:-1]) != np.sign(values[1:]))
    found = [
        brentq(function, x[k], x[k + 1], xtol=1e-14 * x[k], rtol=8.9e-16)
        for k in changes
        if function(x[k]) * function(x[k + 1]) < 0.0
    ]
    return np.array(found, dtype=float)


def disk_margin(loop: OpenedLoop | InjectedLoop, omega: Floats, values: Complexes) -> tuple[float, float]:
    """The symmetric disk margin 2 min |(1 + L)/(1 - L)|, and its frequency, rad/s; values (f,) : L at omega (f,).

    Gain and phase may change together by any factor (1 + d/2)/(1 - d/2) with a complex d smaller than this. Source: P.
    Seiler, A. Packard, P. Gahinet, IEEE Control Systems 40 (2020).
    """

    def distance(L: complex) -> float:
        return 2.0 if not cmath.isfinite(L) else np.inf if L == 1.0 else 2.0 * abs((1.0 + L) / (1.0 - L))

    return _least(loop, omega, values, distance)


def nearest(
    loop: OpenedLoop | InjectedLoop, omega: Floats | None = None, values: Complexes | None = None
) -> tuple[float, float]:
    """The least |1 + L|, and its frequency, rad/s; values (f,) : L at omega (f,), by default on its grid."""
    omega = loop.grid() if omega is None else omega
    return _least(loop, omega, loop(omega) if values is None else values, lambda L: abs(1.0 + L))


def _least(
    loop: OpenedLoop | InjectedLoop, omega: Floats, values: Complexes, of: Callable[[complex], float]
) -> tuple[float, float]:
    """The least of a function of L over all frequencies, and where it is; values (f,) : L at omega (f,), rad/s."""
    from scipy.optimize import minimize_scalar

    ends = _ends(loop, omega)
    found = [(of(L), w) for L, w in zip(_each(loop, ends).tolist(), ends.tolist(), strict=True)]
    sizes = np.array([of(L) for L in values.tolist()])
    found += [(float(sizes[k]), float(omega[k])) for k in (0, len(omega) - 1)]
    inner = np.flatnonzero((sizes[1:-1] <= sizes[:-2]) & (sizes[1:-1] <= sizes[2:])) + 1
    for k in inner[np.argsort(sizes[inner])[:MINIMA]]:
        best = minimize_scalar(
            lambda w: of(loop.one(w)), bounds=(omega[k - 1], omega[k + 1]), method="bounded",
            options={"xatol": 1e-10 * omega[k]},
        )  # fmt: skip
        found.append((float(best.fun), float(best.x)))
    return min(found)
