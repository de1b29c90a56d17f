"""Dense output: quintic Hermite interpolation of the coordinates, and the dense output of DOP853.

The positions, velocities and accelerations at both ends of a step give q with an error of order h^6 and v, as the
velocity of the interpolated motion, of order h^5, whatever the method. Accelerations are those of the interpolated
motion, or a polynomial through instants at which a method's equations hold, since second derivatives amplify the errors
of a method's positions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np

from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.numerics import dop853 as dop

# Row k: coefficients of theta^0..5 of the weights of q0, h q0', h^2 q0'', q1, h q1', h^2 q1''.
_QUINTIC = np.array(
    [
        [1, 0, 0, -10, 15, -6],
        [0, 1, 0, -6, 8, -3],
        [0, 0, 0.5, -1.5, 1.5, -0.5],
        [0, 0, 0, 10, -15, 6],
        [0, 0, 0, -4, 7, -3],
        [0, 0, 0, 0.5, -1, 0.5],
    ]
)

_POWERS, _COUNT = np.arange(6), np.arange(1.0, 6.0)
# Coefficients of theta^0..2 of a quadratic power, from its values at both ends and its mean.
_OF_ENDS = np.linalg.inv([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0 / 2.0, 1.0 / 3.0]])

# The coefficients of DOP853's dense output belong to x, x (1 - x), x^2 (1 - x) and so on, where x is the passed part of
# the step: whether the last factor of each is 1 - x, and the coefficients of x^0..6 (7, 7) of their derivatives.
_OF_END = np.arange(7) % 2 == 1
SLOPES = np.array(
    [
        [1.0, 1, 0, 0, 0, 0, 0],
        [0, -2, 2, 2, 0, 0, 0],
        [0, 0, -3, -6, 3, 3, 0],
        [0, 0, 0, 4, -8, -12, 4],
        [0, 0, 0, 0, 5, 15, -15],
        [0, 0, 0, 0, 0, -6, 18],
        [0, 0, 0, 0, 0, 0, -7],
    ]
)

Nodes: TypeAlias = tuple[Sequence[float] | Floats, Sequence[Floats] | Floats]
"""Instants (k,) s and accelerations (k, n_v) there."""
End: TypeAlias = tuple[Floats, Floats, Floats, float, float]
"""One end of a step: q (n_q,), v (n_v,), v' (n_v,), work (J) since the start and power (W)."""
Stages: TypeAlias = tuple[Sequence[float] | Floats, Sequence[float] | Floats]
"""Fractions of the step, increasing, and the power (W) there."""


def through_nodes(nodes: Nodes, times: Floats) -> Floats:
    """Values (s, n) at times (s,) of the polynomial through nodes, by Lagrange's formula."""
    instants, values = (np.asarray(node) for node in nodes)
    distances = instants[:, None] - instants
    np.fill_diagonal(distances, 1.0)
    factors = (np.asarray(times)[:, None, None] - instants) / distances
    factors.reshape(len(factors), -1)[:, :: len(instants) + 1] = 1.0
    result: Floats = factors.prod(axis=2).dot(values)
    return result


@cache
def _inverse_powers(*inside: float) -> Floats:
    """Coefficients of the polynomial through values at 0, at fractions inside a step, and at 1."""
    instants = np.array([0.0, *inside, 1.0])
    result: Floats = np.linalg.inv(instants[:, None] ** np.arange(len(instants)))
    return result


@dataclass(eq=False)
class HermiteStep:
    """A Step interpolated from the states and accelerations at its ends.

    state0, state1 : (q, v, a, work, power). stages : (fractions of the step, power) at the inner nodes of the method's
    quadrature, if any; the work is the integral of the polynomial through them. nodes : instants at which the method's
    equations hold; without them accelerations are those of the interpolated motion.
    """

    form: Formulation
    start: float
    end: float
    state0: End
    state1: End
    stages: Stages = ((), ())
    nodes: Nodes | None = None

    @cached_property
    def _polynomials(self) -> tuple[Floats, Floats]:
        """Coefficients (6, n_q) of q, and those of the work, by the part of the step that has passed."""
        h = self.end - self.start
        (q0, v0, a0, w0, p0), (q1, v1, a1, w1, p1) = self.state0, self.state1
        q, v = np.array([q0, q1]), np.array([v0, v1])
        data = np.empty((6, len(q0)))
        data[::3] = q
        data[1::3] = h * self.form.rates(q, v)
        data[2::3] = h * h * self.form.second_rates(q, v, np.array([a0, a1]))
        inside, powers = self.stages
        values = np.array([p0, *powers, p1])
        if len(inside):
            # the method's quadrature is exact for this polynomial, so that it also meets w1
            power = _inverse_powers(*inside).dot(values)
        else:
            power = _OF_ENDS.dot([p0, p1, (w1 - w0) / h])
        work = np.empty(len(power) + 1)
        work[0] = w0
        np.multiply(power, h / _COUNT[: len(power)], out=work[1:])
        return _QUINTIC.T.dot(data), work

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        h, (motion, work) = self.end - self.start, self._polynomials
        theta = (np.asarray(times) - self.start) / h
        powers = theta[:, None] ** _POWERS
        q = powers.dot(motion)
        v = self.form.tangents(q, (powers[:, :5] * (_COUNT / h)).dot(motion[1:]))
        self.form.normalise(q)
        return q, v, powers[:, : len(work)].dot(work)

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times inside the step."""
        if self.nodes is not None:
            return through_nodes(self.nodes, times)
        h, (motion, _) = self.end - self.start, self._polynomials
        theta = (np.asarray(times) - self.start) / h
        q = theta[:, None] ** np.arange(6) @ motion
        k = np.arange(2, 6)
        second = (k * (k - 1) * theta[:, None] ** np.arange(4)) @ motion[2:] / h**2
        v = self(times)[1]
        # H(q) v' = q'' - H(q') v
        second -= self.form.second_rates(q, v, np.zeros_like(v))
        return self.form.tangents(q, second)


@dataclass(eq=False)
class Dop853Step:
    """Dense output of order 7; its three further stages are evaluated on first use.

    more : sets the further stages in K for y0. y0, y1 (n,) : states at the ends. K : the stages, with room for the
    further ones.
    """

    form: Formulation
    more: Callable[[Floats, Floats], Floats]
    start: float
    end: float
    y0: Floats
    y1: Floats
    K: Floats

    @cached_property
    def _coefficients(self) -> Floats:
        h, K = self.end - self.start, self.K
        self.more(self.y0, K)
        change = self.y1 - self.y0
        first = [change, h * K[0] - change, 2.0 * change - h * (K[dop.STAGES] + K[0])]
        return np.concatenate([first, h * (dop.D @ K)])

    @cached_property
    def _velocities(self) -> Floats:
        """The coefficients of the velocities."""
        return np.ascontiguousarray(self._coefficients[:, self.form.n_q : -1])

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        x = ((np.asarray(times) - self.start) / (self.end - self.start))[:, None]
        factors = np.where(_OF_END, 1.0 - x, x)
        y = self.y0 + np.cumprod(factors, axis=1) @ self._coefficients
        n_q = self.form.n_q
        q = np.ascontiguousarray(y[:, :n_q])
        self.form.normalise(q)
        return q, np.ascontiguousarray(y[:, n_q:-1]), y[:, -1]

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times inside the step."""
        h = self.end - self.start
        x = (np.asarray(times) - self.start) / h
        result: Floats = np.vander(x, len(SLOPES), increasing=True) @ (SLOPES @ self._velocities) / h
        return result
