"""Discrete state: quantities that change only after a step or at an event, never during an evaluation.

Coordinates give the angles of joints modulo 2 pi; the unwrapped angles of the last accepted state are stored here. A
latch is engaged or not; while engaged it keeps its joint coordinate at the value at which it was engaged.
"""

from dataclasses import dataclass

from femb.base.types import Floats


@dataclass(frozen=True, eq=False)
class DiscreteState:
    """angles (m,) : joint coordinates at the last accepted state, unwrapped, rad or m. engaged (k,) : one for engaged
    latches, else zero. latched (k,) : the values of the coordinates that engaged latches keep, rad or m."""

    angles: Floats
    engaged: Floats
    latched: Floats
