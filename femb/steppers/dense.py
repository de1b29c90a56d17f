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

from femb.base.types import Floats, Ints
from femb.formulations.contract import Formulation
from femb.numerics import dop853 as dop
from femb.steppers.dense_kernels import interpolate

# Number of roundings of the end of a step within which a time is this end.
ROUNDINGS = 4.0
_COUNT = np.arange(1.0, 6.0)
# Weights of q0, q1, h q0', h q1', h^2 q0'' and h^2 q1'' in the quintic: coefficients of the powers of the passed part.
WEIGHTS = np.array(
    [
        [1.0, 0, 0, -10, 15, -6],
        [0, 0, 0, 10, -15, 6],
        [0, 1, 0, -6, 8, -3],
        [0, 0, 0, -4, 7, -3],
        [0, 0, 0.5, -1.5, 1.5, -0.5],
        [0, 0, 0, 0.5, -1, 0.5],
    ]
)
# Coefficients of theta^0..2 of a quadratic power, from its values at both ends and its mean.
_OF_ENDS: Floats = np.linalg.inv(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0 / 2.0, 1.0 / 3.0]]))

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
    weights = factors.prod(axis=2).T[:, :, None]
    # sums by numpy's matrix products would depend on the number of times, in the last bit
    result: Floats = weights[0] * values[0]
    for weight, value in zip(weights[1:], values[1:], strict=True):
        result += weight * value
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
    equations hold; without them accelerations are those of the interpolated motion. These arrays must not change after
    the step, since it may be evaluated later.
    """

    form: Formulation
    start: float
    end: float
    state0: End
    state1: End
    stages: Stages = ((), ())
    nodes: Nodes | None = None

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        return hermite_states([self], [times])

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times inside the step."""
        if self.nodes is not None:
            return through_nodes(self.nodes, times)
        times = np.asarray(times)
        q, _, second = _interpolated([self], np.zeros(len(times), dtype=np.int64), times, second=True)
        v = self(times)[1]
        # H(q) v' = q'' - H(q') v
        second -= self.form.second_rates(q, v, np.zeros_like(v))
        return self.form.tangents(q, second)


def hermite_states(steps: Sequence[HermiteStep], times: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
    """q (k, n_q) with unit quaternions, v (k, n_v) and work (k,) J at the times inside each of several steps of one
    formulation: to the last bit those of each time alone, and those of the end where the time is that but for rounding.
    """
    of_step = np.repeat(np.arange(len(steps)), [len(each) for each in times])
    time, ends = np.concatenate(times), np.array([step.end for step in steps])[of_step]
    inside = np.abs(time - ends) > ROUNDINGS * np.spacing(ends)
    if inside.all():
        return _hermite_states(steps, of_step, time)
    q, v, work = (np.array([step.state1[k] for step in steps])[of_step] for k in (0, 1, 3))
    if inside.any():
        used, numbers = np.unique(of_step[inside], return_inverse=True)
        q[inside], v[inside], work[inside] = _hermite_states([steps[k] for k in used], numbers, time[inside])
    return q, v, work


def _hermite_states(steps: Sequence[HermiteStep], of_step: Ints, time: Floats) -> tuple[Floats, Floats, Floats]:
    """``hermite_states`` at times (k,) by the polynomials of the steps with the numbers of_step (k,)."""
    form, works = steps[0].form, _works(steps)
    q, slope, _ = _interpolated(steps, of_step, time)
    theta = _passed(steps, of_step, time)[1]
    work = works[-1][of_step]
    for each in works[-2::-1]:
        work = work * theta + each[of_step]
    v = form.tangents(q, slope)
    form.normalise(q)
    return q, v, work


def _passed(steps: Sequence[HermiteStep], of_step: Ints, time: Floats) -> tuple[Floats, Floats]:
    """Lengths (s,) of the steps, and the passed parts (k,) of those with the numbers of_step (k,) at times (k,)."""
    start, end = np.array([(step.start, step.end) for step in steps]).T
    h = end - start
    return h, (time - start[of_step]) / h[of_step]


def _interpolated(
    steps: Sequence[HermiteStep], of_step: Ints, time: Floats, second: bool = False
) -> tuple[Floats, Floats, Floats]:
    """q, q' and, if ``second``, q'' (k, n_q) of the quintics."""
    form, ends = steps[0].form, ([step.state0 for step in steps], [step.state1 for step in steps])
    q, v, a = (np.array([state[k] for states in ends for state in states]) for k in range(3))
    shape, size = (2, len(steps), form.n_q), (len(time), form.n_q)
    motion = q.reshape(shape), form.rates(q, v).reshape(shape), form.second_rates(q, v, a).reshape(shape)
    result = np.empty(size), np.empty(size), np.empty(size if second else (0, form.n_q))
    interpolate(WEIGHTS, *motion, *_passed(steps, of_step, time), of_step, np.empty((3, 6)), *result)
    return result


def _works(steps: Sequence[HermiteStep]) -> Floats:
    """(., s): coefficients of the work, by the part of each step that has passed."""
    inside, _ = steps[0].stages
    inverse = _inverse_powers(*inside) if len(inside) else _OF_ENDS
    h = np.array([step.end - step.start for step in steps])
    (work, power0), (work1, power1) = (
        np.array([state[3:] for state in states]).T
        for states in ([step.state0 for step in steps], [step.state1 for step in steps])
    )
    if len(inside):
        # the method's quadrature is exact for this polynomial, so that it also meets the work at the end
        powers = np.array([step.stages[1] for step in steps]).T
        known = np.array([power0, *powers, power1])
    else:
        known = np.array([power0, power1, (work1 - work) / h])
    power = (inverse[:, :, None] * known).sum(axis=1)
    result: Floats = np.array([work, *(h / _COUNT[: len(power), None] * power)])
    return result


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
