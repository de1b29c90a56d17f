"""Dense output: quintic Hermite interpolation of the coordinates, and the dense output of DOP853.

The positions, velocities and accelerations at both ends of a step give q with an error of order h^6 and v, as the
velocity of the interpolated motion, of order h^5, whatever the method. Accelerations are those of the interpolated
motion, or a polynomial through instants at which a method's equations hold, since second derivatives amplify the errors
of a method's positions.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np

from femb.base.types import ErrorScale, Floats, Ints, Turning
from femb.formulations.contract import Formulation, WithSteps
from femb.numerics import dop853 as dop
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.dop853_kernels import EVALUATIONS, INSTANTS, LENGTH, REJECTED, STEPS, TIME
from femb.steppers.contract import SMALLEST_STEP, PassedSteps, Statistics
from femb.system.relative_motion import summed, weights_at

# Kernels of the quintic Hermite interpolation; see ``femb.steppers.dense``.


@inlined
def weights(powers, x, value, slope, bend):
    """value, slope, bend (6,): the weights at the passed part x of a step and their first two derivatives."""
    for m in range(6):
        f = f1 = f2 = 0.0
        for k in range(5, -1, -1):
            f2 = f2 * x + 2.0 * f1
            f1 = f1 * x + f
            f = f * x + powers[m, k]
        value[m], slope[m], bend[m] = f, f1, f2


@kernel
def interpolate(powers, q, rate, bend, h, theta, of_step, work, out, slopes, bends):
    """out, slopes, bends (k, n_q): q, q' and q'' at the passed parts theta (k,) of the steps with numbers of_step (k,).

    powers (6, 6) : see ``WEIGHTS``. q, rate, bend (2, s, n_q) : q, q' and q'' at both ends of the steps, h (s,) : their
    lengths. bends may have no rows and is left then. work (3, 6).
    """
    value, slope, second = work[0], work[1], work[2]
    for i in range(theta.size):
        s = of_step[i]
        weights(powers, theta[i], value, slope, second)
        d = h[s]
        for m in range(2):
            # of rates by the length of the step, of second derivatives by its square
            value[2 + m], slope[2 + m], second[2 + m] = d * value[2 + m], d * slope[2 + m], d * second[2 + m]
            value[4 + m], slope[4 + m] = d * d * value[4 + m], d * d * slope[4 + m]
            second[4 + m] *= d * d
        for j in range(q.shape[2]):
            first, change = q[0, s, j], q[1, s, j] - q[0, s, j]
            r0, r1, b0, b1 = rate[0, s, j], rate[1, s, j], bend[0, s, j], bend[1, s, j]
            out[i, j] = first + (value[1] * change + value[2] * r0 + value[3] * r1 + value[4] * b0 + value[5] * b1)
            slopes[i, j] = (slope[1] * change + slope[2] * r0 + slope[3] * r1 + slope[4] * b0 + slope[5] * b1) / d
        if bends.shape[0] > 0:
            for j in range(q.shape[2]):
                change = q[1, s, j] - q[0, s, j]
                x = second[1] * change + second[2] * rate[0, s, j] + second[3] * rate[1, s, j]
                bends[i, j] = (x + second[4] * bend[0, s, j] + second[5] * bend[1, s, j]) / (d * d)


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
Power: TypeAlias = Floats | Callable[[], Floats]
"""The rates (n_w,) of the budget; or a function that computes them, where they are needed for outputs inside a step
alone."""
End: TypeAlias = tuple[Floats, Floats, Floats, Floats, Power]
"""One end of a step: q (n_q,), v (n_v,), v' (n_v,), the budget (n_w,) since the start, and its rates."""
Stages: TypeAlias = tuple[Sequence[float] | Floats, Sequence[Floats] | Floats]
"""Fractions of the step, increasing, and the rates (n_w,) of the budget there."""


def through_nodes(nodes: Nodes, times: Floats) -> Floats:
    """Values (s, n) at times (s,) of the polynomial through nodes, by Lagrange's formula."""
    return _through_nodes([nodes], np.zeros(len(times), dtype=np.int64), times)


def _through_nodes(nodes: Sequence[Nodes], of_step: Ints, times: Floats) -> Floats:
    """Values (k, n) of polynomials through as many nodes each, of those with numbers of_step (k,)."""
    instants, values = (np.array([each[k] for each in nodes]) for k in range(2))
    count = instants.shape[1]
    weights = weights_at(instants, of_step, np.asarray(times))
    return summed(count * of_step[:, None] + np.arange(count), weights, values.reshape(-1, values.shape[2]))


def hermite_accelerations(steps: "Sequence[HermiteStep]", times: Sequence[Floats]) -> Floats:
    """v' (k, n_v) at the times inside each of several steps of one formulation."""
    nodes = [step.nodes for step in steps]
    known = [each for each in nodes if each is not None]
    if len(known) < len(nodes) or len({len(each[0]) for each in known}) > 1:
        return np.concatenate([step.accelerations(each) for step, each in zip(steps, times, strict=True)])
    of_step = np.repeat(np.arange(len(steps)), [len(each) for each in times])
    return _through_nodes(known, of_step, np.concatenate(times))


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
    quadrature, if any; work is the integral of the polynomial through them. nodes : instants at which the method's
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

    def part(self, form: Formulation, in_q: slice, in_v: slice, late: float) -> "HermiteStep":
        """The step of a formulation whose state is a part of this one, without work, by a clock that is ``late`` (s)
        behind."""
        none = np.zeros(form.system.budget.size)
        states = [(q[in_q], v[in_v], a[in_v], none, none) for q, v, a, *_ in (self.state0, self.state1)]
        stages = self.stages[0], [none] * len(self.stages[0])
        nodes = self.nodes and ([t + late for t in self.nodes[0]], [a[in_v] for a in self.nodes[1]])
        return HermiteStep(form, self.start + late, self.end + late, states[0], states[1], stages, nodes)

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


@dataclass(frozen=True, eq=False)
class SolvedStep:
    """An accepted step with its stages.

    step : its dense output. length : s. inputs (s, n_u), q (s, n_q), v, a (s, n_v), multipliers (s, n_c) : of the
    stages, with quaternions of any length. begins : whether a smooth interval begins with it.
    """

    step: HermiteStep
    length: float
    inputs: Floats
    q: Floats
    v: Floats
    a: Floats
    multipliers: Floats
    begins: bool

    @property
    def rates(self) -> tuple[Floats, Floats, Floats]:
        """Rates of q, v and work at the end."""
        q, v, _, _, power = self.step.state1
        rates: Floats = self.step.form.rates(q[None], v[None])[0]
        return rates, self.a[-1], power() if callable(power) else power


def hermite_states(steps: Sequence[HermiteStep], times: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
    """q (k, n_q) with unit quaternions, v (k, n_v) and work (k, n_w) at the times inside each of several steps of one
    formulation: to the last bit those of each time alone, and those of the end where the time is that but for rounding.
    """
    return *hermite_motion(steps, times), hermite_work(steps, times)


def hermite_motion(steps: Sequence[HermiteStep], times: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Coordinates and velocities of ``hermite_states``."""
    q, v = _at(steps, times, (0, 1), _hermite_motion)
    return q, v


def hermite_work(steps: Sequence[HermiteStep], times: Sequence[Floats]) -> Floats:
    """Work of ``hermite_states``."""
    return _at(steps, times, (3,), _hermite_work)[0]


Interpolated: TypeAlias = Callable[[Sequence[HermiteStep], Ints, Floats], tuple[Floats, ...]]
"""Arrays at times (k,) inside those of some steps that have the numbers (k,)."""


def _at(
    steps: Sequence[HermiteStep], times: Sequence[Floats], words: tuple[int, ...], inside: Interpolated
) -> tuple[Floats, ...]:
    """Arrays at the times of each step: by ``inside``, and at ends these ``words`` of the state there."""
    of_step, time = np.repeat(np.arange(len(steps)), [len(each) for each in times]), np.concatenate(times)
    ends = np.array([step.end for step in steps])[of_step]
    some = np.abs(time - ends) > ROUNDINGS * np.spacing(ends)
    if some.all():
        return inside(steps, of_step, time)
    found = tuple(np.array([step.state1[k] for step in steps])[of_step] for k in words)
    if some.any():
        used, numbers = np.unique(of_step[some], return_inverse=True)
        for array, values in zip(found, inside([steps[k] for k in used], numbers, time[some]), strict=True):
            array[some] = values
    return found


def _hermite_work(steps: Sequence[HermiteStep], of_step: Ints, time: Floats) -> tuple[Floats]:
    works, theta = _works(steps), _passed(steps, of_step, time)[1]
    count, powers = len(works), np.vander(theta, len(works), increasing=True)
    return (summed(of_step[:, None] + len(steps) * np.arange(count), powers, works.reshape(-1, works.shape[2])),)


def _hermite_motion(steps: Sequence[HermiteStep], of_step: Ints, time: Floats) -> tuple[Floats, Floats]:
    """q and v at times (k,) by the polynomials of the steps with the numbers of_step (k,)."""
    form = steps[0].form
    q, slope, _ = _interpolated(steps, of_step, time)
    v = form.tangents(q, slope)
    form.normalise(q)
    return q, v


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
    """(., s, n_w): coefficients of the work, by the part of each step that has passed."""
    inside, _ = steps[0].stages
    inverse = _inverse_powers(*inside) if len(inside) else _OF_ENDS
    h = np.array([step.end - step.start for step in steps])[:, None]
    (work, power0), (work1, power1) = (
        np.array([(work, power() if callable(power) else power) for _, _, _, work, power in states]).swapaxes(0, 1)
        for states in ([step.state0 for step in steps], [step.state1 for step in steps])
    )
    if len(inside):
        # the method's quadrature is exact for this polynomial, so that it also meets the work at the end
        powers = np.array([step.stages[1] for step in steps]).swapaxes(0, 1)
        known = np.array([power0, *powers, power1])
    else:
        known = np.array([power0, power1, (work1 - work) / h])
    power = (inverse[:, :, None, None] * known).sum(axis=1)
    result: Floats = np.array([work, *(h / _COUNT[: len(power), None, None] * power)])
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
        return np.ascontiguousarray(self._coefficients[:, self.form.n_q : self.form.n_q + self.form.n_v])

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        x = ((np.asarray(times) - self.start) / (self.end - self.start))[:, None]
        factors = np.where(_OF_END, 1.0 - x, x)
        y = self.y0 + np.cumprod(factors, axis=1) @ self._coefficients
        n_q, last = self.form.n_q, self.form.n_q + self.form.n_v
        q = np.ascontiguousarray(y[:, :n_q])
        self.form.normalise(q)
        return q, np.ascontiguousarray(y[:, n_q:last]), y[:, last:]

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times inside the step."""
        h = self.end - self.start
        x = (np.asarray(times) - self.start) / h
        result: Floats = np.vander(x, len(SLOPES), increasing=True) @ (SLOPES @ self._velocities) / h
        return result


# Many steps of DOP853 in one compiled call, with the output inside them.
#
# Python takes part between the steps of a run for events, contacts, singular configurations and user's functions. Where
# there are none, a formulation whose steps are compiled (``femb.formulations.contract.WithSteps``) makes many in a
# call. A step that it cannot make, because a trial fails, is left to ``VariableStep.step``, which also finds the cause.

# Most output instants and steps of a call, and of large models so many that a call has so many numbers: Python shows
# progress, writes checkpoints and answers Ctrl-C between calls.
MOST_INSTANTS, MOST_STEPS = 256, 100
NUMBERS_OF_INSTANTS, NUMBERS_OF_STEPS = 200_000, 40_000


class StepLoop:
    """The state of a stepper as a compiled loop over steps changes it: time t, length h of the next step (s), y and its
    rate (n,), and the error estimate of order 5 (n,) of the last step tried."""

    def __init__(self, t: float, h: float, y: Floats, rate: Floats) -> None:
        self.t, self.h, self.y, self.rate = t, h, y.copy(), rate.copy()
        self.error = np.empty_like(y)

    def run(
        self,
        form: Formulation,
        norms: tuple[ErrorScale, ErrorScale, Turning],
        limit: tuple[float, float, float],
        times: Floats,
        most: float,
        statistics: Statistics,
    ) -> PassedSteps | None:
        """Make at most ``most`` steps with output at the next ``times``; None where not one could be made.

        limit : the time to step to, the last output time there, and the longest step, s.
        """
        assert isinstance(form, WithSteps)
        n, n_q, last = len(self.y), form.n_q, form.n_q + form.n_v
        room = min(len(times), MOST_INSTANTS, 1 + NUMBERS_OF_INSTANTS // n)
        count = int(min(most, MOST_STEPS, 1 + NUMBERS_OF_STEPS // n))
        clock, counts = np.array([self.t, self.h, 0.0, 0.0]), np.zeros(4, dtype=np.int64)
        Y, a, spans, ends = np.empty((room, n)), np.empty((room, form.n_v)), np.empty((room, 2)), np.empty(count)
        arrays = self.y, self.rate, np.zeros((dop.EXTENDED, n)), np.empty(n), np.empty(n), self.error
        bounds = (*limit, SMALLEST_STEP * math.ulp(limit[0]))
        # one time more than there is room for tells a step with too many
        output = times[: room + 1], Y, a, spans, ends
        angles = form.steps(((dop.A, dop.E5, dop.E3, dop.D, SLOPES), norms, bounds, clock, counts, arrays, output))
        steps, k = int(counts[STEPS]), int(counts[INSTANTS])
        if not steps:
            return None
        self.t, self.h = float(clock[TIME]), float(clock[LENGTH])
        statistics.steps += steps
        statistics.rejected += int(counts[REJECTED])
        statistics.evaluations += int(counts[EVALUATIONS])
        q = np.ascontiguousarray(Y[:k, :n_q])
        form.normalise(q)
        v = np.ascontiguousarray(Y[:k, n_q:last])
        start, end = spans[:k].T
        of_instants = None if angles is None else angles[np.searchsorted(ends[:steps], end)]
        end_angles = None if angles is None else angles[-1]
        return PassedSteps(
            ends[:steps], times[:k], q, v, Y[:k, last:], a[:k], start, end, of_instants, end_angles, clock[-1] < 0.0
        )
