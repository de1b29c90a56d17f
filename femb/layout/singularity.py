"""Postures: states that a motion cannot go on through, because an element's equations end there.

Gimbal lock ends a torque along a dual Euler basis, whose vectors grow without bound; a spring between two points that
meet has no direction. Such a set is where a vector y of the coordinates vanishes. It is met in passing, and a step may
leap over it, so y is watched along the states of every step (its start, its stages, its end) before the step is
accepted: it must not come nearer to zero than ``limit``, and the chords from state to state must keep clear of zero
by a twentieth of their length. Where that fails, a shorter step is tried; where y at the start of the step is
already within a hundredth of the limit, the run ends, at a time that is extrapolated linearly in |y|.
"""

from dataclasses import dataclass
from math import hypot
from typing import Any

import numpy as np

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.layout.element import TrialError
from femb.numerics.compile import kernel

# A chord passes zero at a distance of this part of its length, or it is too coarse to tell on which side.
CLEARANCE = 0.05
# Within this part of the limit the motion has arrived: a shorter step would only halve what is left.
ARRIVED = 1.01


@dataclass(frozen=True)
class Singularity:
    """One vector that must not vanish: how small it may become, and what a message says of it.

    item : whose equations end, such as "loads.spin". event : what happens there, as in "gimbal lock of ...".
    measure : the length of the vector, such as "|cos phi|". advice : what to try.
    """

    limit: float
    item: str
    event: str
    measure: str
    advice: str


class SingularityError(SolveError):
    """The motion came to a singularity that it cannot go on through; ``time`` (s) is when, by extrapolation."""

    def __init__(self, singularity: Singularity, reached: float, time: float, size: float) -> None:
        self.singularity, self.time = singularity, time
        super().__init__(
            f"the run stopped at t = {reached:.8g} s: {singularity.item}: {singularity.event} at t = {time:.9g} s, "
            f"extrapolated linearly from {singularity.measure} = {size:.3g}; {singularity.advice}"
        )


@kernel
def first_violation(y, limit):
    """The first of the vectors y (s, k, m), at s states of a step, that comes too near to zero; -1 if none does."""
    for k in range(y.shape[1]):
        for s in range(y.shape[0]):
            size = 0.0
            for i in range(y.shape[2]):
                size += y[s, k, i] ** 2
            if not size >= limit[k] ** 2:
                return k
            if s == 0:
                continue
            # the point of the chord nearest to zero, if it is inside
            along, length = 0.0, 0.0
            for i in range(y.shape[2]):
                step = y[s, k, i] - y[s - 1, k, i]
                along -= y[s - 1, k, i] * step
                length += step * step
            if 0.0 < along < length:
                nearest = 0.0
                for i in range(y.shape[2]):
                    step = y[s, k, i] - y[s - 1, k, i]
                    nearest += (y[s - 1, k, i] + along / length * step) ** 2
                if nearest < max(limit[k] ** 2, CLEARANCE**2 * length):
                    return k
    return -1


def check_singularities(batch: Any, t: float, q: Floats, v: Floats, last: bool) -> None:
    """See what the states q (s, n_q), v (s, n_v) of a step from t meet; q[0] is the state that was accepted.

    Raises TrialError where a shorter step can come nearer, SingularityError where none can or the step is the ``last``.
    """
    y, rates = batch.singularity_vectors(q, v)
    k = first_violation(y, np.array([singularity.limit for singularity in batch.singularities]))
    if k < 0:
        return
    singularity, size = batch.singularities[k], hypot(*y[0, k])
    if size > ARRIVED * singularity.limit and not last:
        raise TrialError(f"{singularity.item}: {singularity.event} is near")
    approach = -float(np.dot(y[0, k], rates[0, k])) / size if size > 0.0 else 0.0
    raise SingularityError(singularity, t, t + size / approach if approach > 0.0 else t, size)
