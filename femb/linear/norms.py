"""Norms of a linear system: the peak of its largest gain over all frequencies, and its response to white noise.

The peak is that of level sets, which no thin resonance escapes: a level gamma is reached where a Hamiltonian matrix has
an eigenvalue on the imaginary axis. Sources: S. Boyd, V. Balakrishnan, Systems & Control Letters 15 (1990); N. A.
Bruinsma, M. Steinbuch, Systems & Control Letters 14 (1990).
"""

from math import inf
from typing import NamedTuple

import numpy as np

from femb.base.types import Complexes, Floats
from femb.elements.control.linear_law import Realisation
from femb.linear.conserved import scales, without_conserved
from femb.linear.state_space import StateSpace
from femb.numerics.linear_systems import balancing, eigenvalues, eigenvectors

# The relative accuracy of a peak, of a first look for it, and the iterations, each of which squares the error.
ACCURACY, COARSE, ITERATIONS = 1e-12, 1e-6, 30
# Frequencies of large gains from which it is looked for.
SEVERAL = 4
# Parts of a frequency within which its peak is looked for.
WIDTHS = (1e-5, 1e-4, 1e-3, 1e-2)
# Of an eigenvalue's size: real parts below this are on the axis, or do not decay.
ON_AXIS, STABLE = 1e-8, 1e-12
# The part of inputs and outputs below which an undamped vibration is none of the gain, as any damping would show; the
# part of a frequency below which two are one.
HIDDEN, ALIKE = 1e-12, 1e-8


class PeakGain(NamedTuple):
    """The largest singular value of a transfer matrix, infinite of a system that is not stable; its frequency omega,
    rad/s; left (p,) and right (m,) : its singular vectors there."""

    gain: float
    omega: float
    left: Complexes
    right: Complexes


def peak_gain(space: StateSpace) -> PeakGain:
    """The peak over all frequencies of the largest singular value of a transfer matrix, its H-infinity norm."""
    of = without_conserved(space, in_modes=True)
    if of.dt is not None and unstable(of):
        return _peak_of_rest(of)
    matrices = _balanced(of)
    poles, *vectors = eigenvectors(matrices.A)
    if of.dt is None and np.any(_growth(matrices.A, None, poles, *vectors) >= -STABLE):
        return _peak_of_rest(of)
    best = max(((_at(matrices, w), w) for w in _begin(matrices, poles, *vectors)), key=lambda pair: pair[0][0])
    through = float(np.linalg.norm(matrices.D, 2)) if matrices.D.size else 0.0
    if best[0][0] < through:
        best = (_at(matrices, 1e8 * max(1.0, float(np.max(np.abs(poles), initial=0.0)))), inf)
    # first with a slack at which levels beside those at zero and infinity are none of rounding
    for slack in (COARSE, ACCURACY):
        for _ in range(ITERATIONS):
            level = (1.0 + slack) * best[0][0]
            crossings = _crossings(matrices, level) if level else np.zeros(0)
            if not len(crossings):
                break
            # beside a level at zero or infinity the crossing there is lost in rounding
            middles = [0.5 * crossings[0], *np.sqrt(crossings[1:] * crossings[:-1]), 2.0 * crossings[-1]]
            found = max(((_at(matrices, float(w)), float(w)) for w in middles), key=lambda pair: pair[0][0])
            if found[0][0] <= level:
                break
            best = found
    omega = _summit(matrices, best[1])
    gain, left, right = best[0] if omega == inf else _at(matrices, omega)
    return PeakGain(gain, omega if space.dt is None else 2.0 * float(np.arctan(omega)) / space.dt, left, right)


def _peak_of_rest(of: StateSpace) -> PeakGain:
    """The peak of a model that does not decay without what is hidden of it; infinite where nothing is."""
    rest = without_hidden(of)
    if len(rest.A) < len(of.A):
        return peak_gain(rest)
    return PeakGain(inf, np.nan, np.zeros(0, dtype=complex), np.zeros(0, dtype=complex))


def h2_norm(space: StateSpace) -> float:
    """The root of the sum of mean squares of all outputs under white noise of unit density at every input, its H2 norm.

    Of a sampled system noise of unit variance at each sample. Infinite of a system that is not stable, and of a
    continuous one with direct feedthrough.
    """
    of = without_conserved(space, in_modes=True)
    if (of.dt is None and np.any(of.D)) or (unstable(of) and unstable(of := without_hidden(of))):
        return inf
    return float(np.sqrt(max(float(np.trace(of.C @ gramian(of.A, of.B, of.dt) @ of.C.T)) + _direct(of), 0.0)))


def _direct(of: StateSpace) -> float:
    return 0.0 if of.dt is None else float(np.sum(of.D**2))


def gramian(A: Floats, B: Floats, dt: float | None) -> Floats:
    """P with A P + P A^T + B B^T = 0, or of samples A P A^T - P + B B^T = 0."""
    from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov

    if not len(A):
        return np.zeros((0, 0))
    return np.asarray(solve_continuous_lyapunov(A, -B @ B.T) if dt is None else solve_discrete_lyapunov(A, B @ B.T))


def unstable(space: StateSpace) -> bool:
    """Whether an eigenvalue does not decay."""
    if space.dt is not None:
        return bool(np.any(np.abs(eigenvalues(space.A)) - 1.0 >= -STABLE))
    return bool(np.any(_growth(space.A, None, *eigenvectors(space.A)) >= -STABLE))


def _growth(A: Floats, dt: float | None, values: Complexes, left: Complexes, right: Complexes) -> Floats:
    """(n,) of each eigenvalue of A (n, n) with these vectors, beside what rounding may change."""
    if dt is not None:
        return np.abs(values) - 1.0
    # of each what rounding of entries changes, and of vibrations the fastest: decays of 1e12 1/s say nothing of others
    sizes = np.sum(np.abs(left) * (np.abs(A) @ np.abs(right)), axis=0) / np.abs(np.sum(left * right, axis=0))
    return np.asarray(values.real / np.maximum(sizes, np.max(np.abs(values.imag), initial=1e-300)))


def without_hidden(space: StateSpace) -> StateSpace:
    """The model without undamped vibrations that no input drives or no output sees; its gains stay."""
    left, right = acting(space)
    A, B, C = left @ space.A @ right, left @ space.B, space.C @ right
    states = tuple(f"x{k}" for k in range(len(A)))
    return StateSpace(A, B, C, space.D, states, space.inputs, space.outputs, dt=space.dt)


def acting(space: StateSpace) -> tuple[Floats, Floats]:
    """Left (r, n) and right (n, r) rows and columns: its states x are right y where none of these vibrations is, and y
    is left x of all of them."""
    scale, inputs, outputs = scales(space.A, space.B, space.C)
    A, B, C = space.A * scale / scale[:, None], space.B / scale[:, None], space.C * scale
    driven, seen = (each / max(float(np.linalg.norm(each)), 1e-300) for each in (B * inputs, C / outputs[:, None]))
    values, left, right = eigenvectors(A)
    staying = np.flatnonzero((np.abs(_growth(A, space.dt, values, left, right)) <= STABLE) & (values.imag > 0.0))
    hidden = np.zeros(len(A), dtype=bool)
    while len(staying):
        alike = np.abs(values[staying] - values[staying[0]]) <= ALIKE * np.abs(values[staying[0]])
        V, W = right[:, staying[alike]], left[:, staying[alike]]
        residue = seen @ V @ np.linalg.pinv(W.T @ V) @ W.T @ driven
        hidden[staying[alike]] = np.linalg.norm(residue) <= HIDDEN
        staying = staying[~alike]
    X, Y = (np.hstack([each[:, hidden].real, each[:, hidden].imag]) for each in (right, left))
    kept = np.linalg.qr(Y, mode="complete")[0][:, Y.shape[1] :]
    return (kept.T - kept.T @ X @ np.linalg.solve(Y.T @ X, Y.T)) / scale, kept * scale[:, None]


def _balanced(of: StateSpace) -> Realisation:
    """A, B, C, D of a continuous system of the same gains: of samples by the bilinear map z = (1 + s)/(1 - s)."""
    A, B, C, D = of.A, of.B, of.C, of.D
    if of.dt is not None:
        inverse = np.linalg.inv(np.eye(len(A)) + A)
        A, B, C, D = inverse @ (A - np.eye(len(A))), np.sqrt(2.0) * inverse @ B, np.sqrt(2.0) * C @ inverse, (
            D - C @ inverse @ B
        )  # fmt: skip
    scale = balancing(A)
    return Realisation(A * scale / scale[:, None], B / scale[:, None], C * scale, D)


def _begin(matrices: Realisation, poles: Complexes, left: Complexes, right: Complexes) -> list[float]:
    """Frequencies, rad/s, of the largest gains at rest and at the resonances.

    Gains are sums over the poles, which rounding spoils where vectors are nearly parallel: a few of the largest.
    """
    _, B, C, D = matrices
    tried = np.unique(np.concatenate([np.abs(poles), np.abs(poles.imag), [0.0]]))
    with np.errstate(all="ignore"):
        parts = (left.T @ B) / np.sum(left * right, axis=0)[:, None]
        by_pole = 1.0 / (1j * tried[:, None] - poles)
        gains = np.linalg.norm(D + np.einsum("pn,fn,nm->fpm", C @ right, by_pole, parts), axis=(1, 2))
    return [0.0, *tried[np.argsort(-np.nan_to_num(gains), kind="stable")[:SEVERAL]].tolist()]


def _at(matrices: Realisation, omega: float) -> tuple[float, Complexes, Complexes]:
    """The largest singular value at a frequency, rad/s, and its vectors."""
    U, sizes, V = np.linalg.svd(matrices.transfer(1j * omega))
    return float(sizes[0]) if len(sizes) else 0.0, U[:, 0], V[0].conj()


def _summit(matrices: Realisation, omega: float) -> float:
    """The frequency, rad/s, of the peak near one that the level sets have found.

    Theirs is known to the root of their accuracy alone, to which derivatives of the peak would be wrong.
    """
    from scipy.optimize import brentq

    A, B, C, _ = matrices

    def slope(w: float) -> float:
        _, left, right = _at(matrices, w)
        shifted = 1j * w * np.eye(len(A)) - A
        x = np.linalg.solve(shifted, np.linalg.solve(shifted, B @ right))
        return float(np.real(-1j * (left.conj() @ (C @ x))))

    if not 0.0 < omega < inf:
        return omega
    for width in WIDTHS:
        low, high = omega * (1.0 - width), omega * (1.0 + width)
        if slope(low) > 0.0 > slope(high):
            return float(brentq(slope, low, high, xtol=1e-15 * omega, rtol=8.9e-16))
    return omega


def _crossings(matrices: Realisation, level: float) -> Floats:
    """Frequencies, rad/s, above zero at which a singular value is the level."""
    A, B, C, D = matrices
    R = np.linalg.inv(level**2 * np.eye(B.shape[1]) - D.T @ D)
    F = A + B @ R @ D.T @ C
    scaled = level * B @ R @ B.T, C.T @ (np.eye(len(C)) + D @ R @ D.T) @ C / level
    values = eigenvalues(np.block([[F, scaled[0]], [-scaled[1], -F.T]]))
    size = float(np.max(np.abs(values), initial=0.0))
    on_axis = values[(np.abs(values.real) <= ON_AXIS * np.maximum(np.abs(values), 1e-6 * size)) & (values.imag > 0.0)]
    return np.sort(on_axis.imag)
