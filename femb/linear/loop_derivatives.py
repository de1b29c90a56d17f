"""Derivatives of margins, poles and norms by a parameter, from what rebuilt loops have at the frequencies of this one.

L is the transfer function of the opened loop, (ln L)' its change at a fixed frequency, s = d(ln L)/dw:

    crossover, |L| = 1       w' = -Re (ln L)' / Re s,  phase margin  PM' = Im (ln L)' + Im s w',  delay PM/w
    phase crossover          w' = -Im (ln L)' / Im s,  gain margin   GM' = -GM (Re (ln L)' + Re s w')

Peaks are taken at their frequency, where they do not change with it. Each function gives the numbers that are read from
a loop, and how the derivative follows from their changes.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Complexes, Floats
from femb.linear.margins import InjectedLoop, OpenedLoop
from femb.linear.norms import gramian

Opened: TypeAlias = OpenedLoop | InjectedLoop
Combined: TypeAlias = Callable[[Complexes], float]
# Of a frequency: the step of derivatives by it.
STEP = 1e-5


def slope(loop: Opened, omega: float) -> complex:
    """d(ln L)/dw, s, at a frequency, rad/s."""
    at, pairs = loop.one(omega), []
    for h in (STEP * omega, 0.5 * STEP * omega):
        pairs.append((loop.one(omega + h) - loop.one(omega - h)) / (2.0 * h))
    return (4.0 * pairs[1] - pairs[0]) / (3.0 * at)


def of_crossover(loop: Opened, omega: float, margin: float) -> tuple[Combined, Combined]:
    """The derivatives of the size of a phase margin (deg) and of a delay margin (s) by the changes of ln L there.

    margin : deg, in (-180, 180].
    """
    s, size = slope(loop, omega), np.radians(margin % 360.0)

    def phase(change: Complexes) -> float:
        moved = -change[0].real / s.real
        return float(np.sign(margin) * np.degrees(change[0].imag + s.imag * moved))

    def delay(change: Complexes) -> float:
        moved = -change[0].real / s.real
        return float((change[0].imag + s.imag * moved) / omega - size * moved / omega**2)

    return phase, delay


def of_phase_crossover(loop: Opened, omega: float, gain: float) -> Combined:
    """The derivative of a gain margin by the change of ln L, at the ends of all frequencies too, which stay.

    gain : the factor; with the sign of minus that by which the gain may be divided.
    """
    last = np.inf if loop.period is None else np.pi / loop.period
    s = slope(loop, omega) if 0.0 < omega < last * (1.0 - 1e-9) else complex(0.0)

    def derivative(change: Complexes) -> float:
        moved = -change[0].imag / s.imag if s else 0.0
        return float(-gain * (change[0].real + s.real * moved))

    return derivative


def ratio(loop: Opened, nominal: complex, omega: float) -> Complexes:
    """(1,) ln of L by the nominal one, at a frequency, rad/s."""
    # of zero at infinity there is no change
    return np.array([np.log(loop.one(omega) / nominal)]) if nominal else np.zeros(1, dtype=complex)


def of_noise(A: Floats, B: Floats, C: Floats, dt: float | None, norm: float) -> Callable[..., float]:
    """The derivative of an H2 norm as a function of the changes of A, B and C, by two Lyapunov equations."""
    P, Q = gramian(A, B, dt), gramian(A.T, C.T, dt)

    def derivative(dA: Floats, dB: Floats, dC: Floats) -> float:
        of_states = np.trace(Q @ dA @ (P if dt is None else P @ A.T))
        return float((of_states + np.trace(B.T @ Q @ dB) + np.trace(C @ P @ dC.T)) / norm)

    return derivative


def check_states(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    """Raise ModelError: two models have other states."""
    if first != second:
        raise ModelError("the states of the linear models differ beside the value")
