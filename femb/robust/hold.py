"""Continuous laws in place of sampled ones, of which a form is rational: what is proved of sampled loops is of these.

    u = (1 - e^(-T s))/(T s) e^(-d s) K(z) y,    z = (1 + T s/2)/(1 - T s/2)

with quotients of polynomials in place of exponentials. A sampled law K(z) is exact at the frequency 0, and of numbers
at all. Source: docs/theory/robust.md, section 3.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, factorial

import numpy as np
import scipy  # its module of signals takes longer to import than all else here

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.control.linear_law import LinearLaw, Realisation
from femb.numerics.linear_systems import SAME

# Degrees of the quotient that stands for a hold, and for a delay of so many periods, up to half the rate of samples.
OF_HOLD, OF_DELAY = 4, 4
# Of the poles of a law: nearer to z = -1 it has no continuous one.
NEAREST = 1e-6


def held_laws(laws: Sequence[LinearLaw], inputs: Sequence[str]) -> tuple[LinearLaw, ...]:
    """Continuous laws in place of sampled ones.

    inputs : of the plant, whose commands are held; other laws read values after a delay alone.

    Raises ModelError: laws of several periods, or that change sign at each sample; values that are read after different
    delays.
    """
    periods = {law.period for law in laws if law.period is not None}
    if len(periods) > 1:
        raise ModelError("its laws have several periods")
    return tuple(law if law.period is None else _continuous(law, laws, inputs) for law in laws)


def _continuous(law: LinearLaw, laws: Sequence[LinearLaw], inputs: Sequence[str]) -> LinearLaw:
    T = law.period
    assert T is not None
    own = inverse_tustin(Realisation(law.A, law.B, law.C, law.D), T, law.name)
    for k, name in enumerate(law.outputs):
        readers = [each for each in laws if name in each.inputs]
        if name in inputs or any(each.period is None for each in readers):
            after = hold(T).then(delay_of(law.delay, T))
        else:
            lags = {round(_lag(law, each, T) / T, 9) for each in readers}
            if len(lags) > 1:
                raise ModelError(f"{name} is read after several delays")
            after = delay_of(T * max(lags, default=0.0), T)
        own = own.then(after.on_one(k, len(law.outputs)))
    return replace(law, A=own.A, B=own.B, C=own.C, D=own.D, period=None, phase=0.0, delay=0.0, start_state=None,
                   start_value=None)  # fmt: skip


def _lag(law: LinearLaw, reader: LinearLaw, T: float) -> float:
    """The time (s) from a sample of a law to that of another one which reads its value."""
    between = (reader.phase - law.phase) % T
    between = 0.0 if T - between <= SAME * T else between
    return between + T * max(ceil((law.delay - between) / T - SAME), 0)


def inverse_tustin(law: Realisation, T: float, name: str = "") -> Realisation:
    """The continuous law of which a sampled one follows by Tustin's rule. Raises ModelError: a pole at z = -1."""
    near = law.A + np.eye(len(law.A))
    if len(near) and np.min(np.abs(np.linalg.eigvals(near))) < NEAREST:
        raise ModelError(f"controllers.{name} has a state that changes its sign at each sample")
    X, root = np.linalg.inv(near), 2.0 / np.sqrt(T)
    A = 2.0 / T * (law.A - np.eye(len(law.A))) @ X
    return Realisation(A, root * X @ law.B, root * law.C @ X, law.D - law.C @ X @ law.B)


def hold(T: float) -> Realisation:
    """(1 - e^(-T s))/(T s) of commands that are held for a period."""
    below = _pade(OF_HOLD)
    # of 1 - N/D the odd powers, twice
    above = [2.0 * c if k % 2 else 0.0 for k, c in enumerate(below)][1:]
    return _scaled(np.array(above[::-1]), below[::-1], T)


def delay_of(delay: float, T: float) -> Realisation:
    """e^(-d s) of a delay, s, right up to half the rate of samples."""
    if delay <= SAME * T:
        return constant(1.0)
    below = _pade(OF_DELAY + 2 * ceil(delay / T - 1.0 - SAME))
    signs = (-1.0) ** np.arange(len(below))
    return _scaled((below * signs)[::-1], below[::-1], delay)


def constant(gain: float) -> Realisation:
    """A gain of one value, without states."""
    none = np.zeros((0, 1))
    return Realisation(np.zeros((0, 0)), none, none.T, np.array([[gain]]))


def _pade(n: int) -> Floats:
    """Coefficients by rising power of the denominator of e^-x, the numerator's with signs that change."""
    return np.array([factorial(2 * n - k) * factorial(n) / (factorial(2 * n) * factorial(k) * factorial(n - k))
                     for k in range(n + 1)])  # fmt: skip


def _scaled(above: Floats, below: Floats, T: float) -> Realisation:
    """The quotient of polynomials in T s, by falling power."""
    A, B, C, D = scipy.signal.tf2ss(np.trim_zeros(above, "f"), below)
    return Realisation(A / T, B / T, C, D)
