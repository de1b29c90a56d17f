"""Discrete state: what changes from step to step or at events, and never in an evaluation.

Angles of joints are known within a turn; which turn is a matter of history, kept here for accepted states. A latch is
engaged or not, and holds its joint where it was engaged.
"""

from dataclasses import dataclass

from femb.base.types import Floats


@dataclass(frozen=True, eq=False)
class DiscreteState:
    """angles (m,) of the joint coordinates at the last accepted state, unwrapped; engaged (k,) of the latches, one or
    zero, and held (k,) the coordinates they hold."""

    angles: Floats
    engaged: Floats
    held: Floats
