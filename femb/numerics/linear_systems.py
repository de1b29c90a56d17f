"""Linear systems x' = A x + B u: exact motion between samples, with u constant, and frequencies of resonances."""

from collections.abc import Mapping, Sequence

import numpy as np

from femb.base.types import Complexes, Floats, Ints

# Of a period: instants that differ by less are one.
SAME = 1e-9


# What is added to every entry where a matrix is balanced, in SI units: else states that nothing leads back from would
# have no size.
LITTLE = 1e-6


def balancing(matrix: Floats) -> Floats:
    """(n,) sizes of states s, powers of two, for which matrix (n, n) times s by columns and over s by rows is balanced.

    Source: Parlett and Reinsch, Numer. Math. 13 (1969) 293.
    """
    from scipy.linalg.lapack import dgebal

    if not len(matrix):
        return np.ones(0)
    scale: Floats = dgebal(np.abs(matrix) + LITTLE, scale=1, permute=0)[3]
    return scale


def graded(matrix: Floats) -> tuple[Floats, Ints]:
    """Sizes s (n,) of states and their order (n,), in which matrix (n, n) is balanced, with its largest rows first.

    So the QR algorithm keeps the digits of small eigenvalues beside large ones, of which it would leave rounding else:
    of the slow motions of a stiff mesh. Source: Stewart, Matrix Algorithms II, section 2.3.
    """
    from scipy.linalg.lapack import dgebal

    if not len(matrix):
        return np.ones(0), np.zeros(0, dtype=np.int64)
    # scipy's matrix_balance casts sizes to integers, and warns of those that are none
    balanced, _, _, scale, _ = dgebal(matrix, scale=1, permute=0)
    return scale, np.argsort(-np.max(np.abs(balanced), axis=1), kind="stable")


def eigenvalues(matrix: Floats) -> Complexes:
    """(n,) eigenvalues of a matrix (n, n) in its ``graded`` order."""
    scale, order = graded(matrix)
    balanced = matrix * scale / scale[:, None]
    return np.linalg.eigvals(balanced[np.ix_(order, order)]).astype(np.complex128)


def eigenvectors(matrix: Floats) -> tuple[Complexes, Complexes, Complexes]:
    """Eigenvalues (n,), left vectors y and right ones x (n, n) with y^T A = lambda y^T, in the ``graded`` order."""
    from scipy.linalg import eig

    scale, order = graded(matrix)
    left, right = np.zeros((2, *matrix.shape), dtype=complex)
    values, y, right[order] = eig((matrix * scale / scale[:, None])[np.ix_(order, order)], left=True)
    left[order] = y.conj()
    return values.astype(complex), left / scale[:, None], right * scale[:, None]


# Of a power series of the exponential: the norm at which it begins, and its terms, to the rounding of a double.
SMALL, TERMS = 0.5, 14


def exponential_less_one(matrix: Floats) -> Floats:
    """e^X - 1 of a matrix X (n, n), which keeps the digits of slow motions beside fast ones.

    The identity, beside which these would be rounding, is in no step: e^2X - 1 = 2 E + E^2 with E = e^X - 1.
    """
    norm = float(np.max(np.sum(np.abs(matrix), axis=0), initial=0.0))
    halvings = max(0, int(np.ceil(np.log2(norm / SMALL)))) if norm > 0.0 else 0
    X = matrix / 2.0**halvings
    E = X / TERMS
    for k in range(TERMS - 1, 0, -1):
        E = (X + X @ E) / k
    for _ in range(halvings):
        E = 2.0 * E + E @ E
    return np.asarray(E)


def transfers(A: Floats, B: Floats, C: Floats, D: Floats, frequencies: Floats, dt: float | None) -> Complexes:
    """(f, p, m) C (z - A)^-1 B + D at frequencies (f,) Hz, by a triangular form of A: for many of them.

    dt : s, the period of a sampled system; None of a continuous one.
    """
    from scipy.linalg import schur, solve_triangular

    points = 2j * np.pi * frequencies
    points = points if dt is None else np.exp(points * dt)
    triangular, unitary = schur(A.astype(np.complex128), output="complex")
    left, right, unit = C @ unitary, unitary.conj().T @ B, np.eye(len(A))
    found = [D + left @ solve_triangular(point * unit - triangular, right, check_finite=False) for point in points]
    return np.asarray(found, dtype=np.complex128).reshape(len(frequencies), *D.shape)


class Flow:
    """x at the end of an interval is P x + Q u; ``flow(dt)`` gives (P, Q) of an interval dt, s.

    A (n, n), B (n, m). Powers are of the balanced matrix: of stiff vibrations A itself has entries of omega^2.
    """

    def __init__(self, A: Floats, B: Floats) -> None:
        n, m = B.shape
        self._scale = balancing(A)
        self._block = np.zeros((n + m, n + m))
        self._block[:n, :n], self._block[:n, n:] = A * self._scale / self._scale[:, None], B / self._scale[:, None]
        self._n = n
        # by the length to ten digits: differences of instants differ in the last ones
        self._known: dict[str, tuple[Floats, Floats]] = {}

    def __call__(self, dt: float) -> tuple[Floats, Floats]:
        """P (n, n), Q (n, m)."""
        key = f"{dt:.10e}"
        found = self._known.get(key)
        if found is None:
            n, scale = self._n, self._scale
            whole = exponential_less_one(self._block * dt)
            found = np.eye(n) + whole[:n, :n] * scale[:, None] / scale, whole[:n, n:] * scale[:, None]
            self._known[key] = found
        return found


def continuous(values: Complexes, period: float) -> Complexes:
    """ln z/period, 1/s, of multipliers z (n,) over a period, s; -infinity where z is zero."""
    zero = values == 0.0
    found = np.log(np.where(zero, 1.0, values)) / period
    return np.asarray(np.where(zero, -np.inf, found), dtype=np.complex128)


# Frequencies that resolve the resonances of a linear system.

# Points in a half-power band, 2 zeta f wide; beyond it they follow the hyperbolic sine, down to this number a decade.
IN_BAND, A_DECADE = 24, 60
# Of bands of modes without damping, the smallest width, as a ratio.
NARROW = 1e-4
# Frequencies below this part of the largest are those of rigid motions.
RIGID = 1e-7
# Responses below this part of the largest of their kind, in which a rotation counts as a translation by 1 m, are zero
# by symmetry; units of the same kind.
NOTHING = 1e-9
NO_UNITS: Mapping[str, str] = {}
ROTATIONS = {"rad": "m", "rad/s": "m/s", "rad/s2": "m/s2", "N m": "N"}


def largest_alike(
    size: Floats, outputs: Sequence[str], inputs: Sequence[str], units: Mapping[str, str] = NO_UNITS
) -> Floats:
    """(p, m): of the sizes of responses (p, m) the largest of their kind, by the units of outputs and inputs."""
    given, got = ([ROTATIONS.get(unit, unit) for unit in (units.get(name, "") for name in each)]
                  for each in (inputs, outputs))  # fmt: skip
    kinds = np.array([[f"{output} by {one}" for one in given] for output in got])
    largest = np.zeros(size.shape)
    for kind in np.unique(kinds):
        largest[kinds == kind] = np.max(size[kinds == kind])
    return largest


def beside_alike(
    size: Floats, outputs: Sequence[str], inputs: Sequence[str], units: Mapping[str, str] = NO_UNITS
) -> Floats:
    """(p, m): the sizes of responses (p, m) as parts of the largest of their kind; zero where all are."""
    largest = largest_alike(size, outputs, inputs, units)
    return np.divide(size, largest, out=np.zeros(size.shape), where=largest > 0.0)


def singular_values(matrices: Complexes) -> Floats:
    """(f, min(p, m)) singular values of matrices (f, p, m), largest first."""
    return np.asarray(np.linalg.svd(matrices, compute_uv=False))


def moving(eigenvalues: Complexes, least: float | None = None) -> Complexes:
    """Eigenvalues by frequency, one of each conjugate pair, without those of rigid motions: up to ``least``, 1/s, by
    default a part of the fastest vibration."""
    size = np.abs(eigenvalues)
    if least is None:
        # what decays above critical, as the in-plane motions of thin shells, is as fast as its damping says
        vibrates = np.abs(eigenvalues.imag) > RIGID * size
        least = RIGID * float(np.max(size[vibrates], initial=0.0) or np.max(size, initial=0.0))
    upper = eigenvalues[(eigenvalues.imag >= 0.0) & (size > least)]
    return upper[np.argsort(np.abs(upper), kind="stable")]


def resolving(
    eigenvalues: Complexes,
    first: float | None = None,
    last: float | None = None,
    in_band: int = IN_BAND,
    least: float | None = None,
) -> Floats:
    """Frequencies (f,) in Hz from first to last that resolve the half-power band of every pole, eigenvalues (n,) 1/s.

    By default from a tenth of the lowest to three times the highest frequency of a pole that is no rigid motion.
    least : 1/s, up to which poles are those of rigid motions, by default a part of the fastest vibration.
    """
    poles = moving(eigenvalues, least)
    centres = np.abs(poles) / (2.0 * np.pi)
    low = first if first is not None else 0.1 * float(np.min(centres)) if len(centres) else 0.01
    high = last if last is not None else 3.0 * float(np.max(centres)) if len(centres) else 100.0
    points = [np.geomspace(low, high, max(2, int(A_DECADE * np.log10(high / low)) + 2)), np.array([low, high])]
    for pole, centre in zip(poles, centres, strict=True):
        ratio = max(-pole.real / abs(pole), NARROW)
        if ratio > 0.3:
            continue
        # the spacing at the centre is the half-width by in_band/2; further out it grows with the distance
        steps = np.arange(0.0, np.arcsinh(0.5 / ratio), 2.0 / in_band)
        offsets = ratio * centre * np.sinh(steps)
        points += [centre - offsets, centre + offsets]
    found: Floats = np.unique(np.concatenate(points))
    return found[(found >= low) & (found <= high)]
