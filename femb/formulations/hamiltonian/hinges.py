"""Joints as strings of hinges: how the frames of a joint tree hang on each other by segments of one freedom each.

Between its first and its second end a joint slides, then turns (femb.formulations.joint_tree):

    x_second = x_first + A_first d,      A_second = A_first C,      C = 1, Z, R_z(a) Z, R_z(a) Z R_z(b) or a ball's

A ball becomes three hinges, C = C_0 R_x(a) R_y(b) R_z(c), with C_0 its attitude at the start, which is as far as can be
from where the three axes become dependent. Seen from the second end, every motion is the reverse, in reverse order.
Source: docs/theory/hamiltonian.md, section 11.
"""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats
from femb.formulations.joint_tree_kernels import REVOLUTE, SPHERICAL, UNIVERSAL
from femb.formulations.tree_frame import TreeFrame
from femb.numerics.rotations import rotation_matrix

AXES = np.eye(3)


@dataclass(frozen=True, eq=False)
class Step:
    """A fixed turn (3, 3) of the axes, or, where ``axis`` is given, a motion about or along it by coordinate ``place``.

    place : of the joint's own coordinates, strokes first, then angles.
    """

    turn: Floats | None = None
    axis: Floats | None = None
    sliding: bool = False
    place: int = -1

    def reversed(self) -> "Step":
        """The motion the other way, by the same coordinate."""
        turn = None if self.turn is None else self.turn.T
        return Step(turn, None if self.axis is None else -self.axis, self.sliding, self.place)


def steps_of(frame: TreeFrame, ball: Floats) -> list[Step]:
    """From the parent's axes to those of a frame; ball (4,) the attitude of a ball at the start, second in first."""
    found = [Step(axis=AXES[axis], sliding=True, place=k) for k, axis in enumerate(frame.strokes)]
    k = len(frame.strokes)
    if frame.turn == SPHERICAL:
        found.append(Step(rotation_matrix(ball)))
        found += [Step(axis=AXES[axis], place=k + axis) for axis in range(3)]
    else:
        found += [Step(axis=AXES[2], place=k)] if frame.turn in (REVOLUTE, UNIVERSAL) else []
        found.append(Step(frame.zero))
        found += [Step(axis=AXES[2], place=k + 1)] if frame.turn == UNIVERSAL else []
    if frame.backward:
        found = [each.reversed() for each in reversed(found)]
    above, below = rotation_matrix(frame.above.rotation), rotation_matrix(frame.below.rotation)
    return [Step(above), *found, Step(below.T)]


@dataclass(frozen=True, eq=False)
class Link:
    """One hinge: mounting (3, 3) of its segment's axes in those of the segment before, axis in the segment's own."""

    mounting: Floats
    axis: Floats
    sliding: bool
    place: int


def links_of(steps: list[Step]) -> tuple[list[Link], Floats]:
    """The hinges of a string, and the turn (3, 3) left over where there is none.

    Axes of the last segment are those of the frame that hangs on the string.
    """
    links: list[Link] = []
    turn = np.eye(3)
    for step in steps:
        if step.turn is not None:
            turn = turn @ step.turn
        if step.axis is not None:
            links.append(Link(turn, step.axis, step.sliding, step.place))
            turn = np.eye(3)
    if not links:
        return [], turn
    last = links.pop()
    return [*links, Link(last.mounting @ turn, turn.T @ last.axis, last.sliding, last.place)], np.eye(3)
