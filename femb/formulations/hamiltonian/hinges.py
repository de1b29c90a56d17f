"""Joints as chains of hinges with one degree of freedom each.

From its first to its second end a joint is a translation, then a rotation (femb.formulations.joint_tree):

    x_second = x_first + A_first d,      A_second = A_first C,      C = 1, Z, R_z(a) Z, R_z(a) Z R_z(b) or spherical

A ball joint becomes three hinges, C = C_0 R_x(a) R_y(b) R_z(c), with C_0 its attitude at the start, which is farthest
from the attitudes at which the three axes are dependent. From the second end, every motion is reversed, in reverse
order.
Source: docs/theory/hamiltonian.md, section 11.
"""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats
from femb.formulations.joint_tree_kernels import REVOLUTE, SPHERICAL, UNIVERSAL
from femb.formulations.tree_frame import TreeFrame
from femb.numerics.rotations import rotation_matrix

UNIT_VECTORS = np.eye(3)


@dataclass(frozen=True, eq=False)
class HingeStep:
    """A constant rotation (3, 3) of the axes, or, if ``axis`` is given, a rotation about or translation along it.

    coordinate : index of its coordinate in those of the joint, strokes first, then angles.
    """

    rotation: Floats | None = None
    axis: Floats | None = None
    sliding: bool = False
    coordinate: int = -1

    def reversed(self) -> "HingeStep":
        """The inverse motion with the same coordinate."""
        rotation = None if self.rotation is None else self.rotation.T
        return HingeStep(rotation, None if self.axis is None else -self.axis, self.sliding, self.coordinate)


def steps_of(frame: TreeFrame, ball: Floats) -> list[HingeStep]:
    """Steps from the parent's axes to those of a frame; ball (4,) : start attitude of a ball joint."""
    steps = [HingeStep(axis=UNIT_VECTORS[axis], sliding=True, coordinate=k) for k, axis in enumerate(frame.strokes)]
    k = len(frame.strokes)
    if frame.rotation == SPHERICAL:
        steps.append(HingeStep(rotation_matrix(ball)))
        steps += [HingeStep(axis=UNIT_VECTORS[axis], coordinate=k + axis) for axis in range(3)]
    else:
        steps += [HingeStep(axis=UNIT_VECTORS[2], coordinate=k)] if frame.rotation in (REVOLUTE, UNIVERSAL) else []
        steps.append(HingeStep(frame.zero))
        steps += [HingeStep(axis=UNIT_VECTORS[2], coordinate=k + 1)] if frame.rotation == UNIVERSAL else []
    if frame.backward:
        steps = [step.reversed() for step in reversed(steps)]
    above, below = rotation_matrix(frame.above.rotation), rotation_matrix(frame.below.rotation)
    return [HingeStep(above), *steps, HingeStep(below.T)]


@dataclass(frozen=True, eq=False)
class Hinge:
    """One hinge: mounting (3, 3) of its segment's axes in those of the parent segment, axis (3,) in segment axes."""

    mounting: Floats
    axis: Floats
    sliding: bool
    coordinate: int


def hinges_of(steps: list[HingeStep]) -> tuple[list[Hinge], Floats]:
    """The hinges of a chain, and its constant rotation (3, 3) if it has no hinge.

    The axes of the last segment are those of the frame at the end of the chain.
    """
    hinges: list[Hinge] = []
    rotation = np.eye(3)
    for step in steps:
        if step.rotation is not None:
            rotation = rotation @ step.rotation
        if step.axis is not None:
            hinges.append(Hinge(rotation, step.axis, step.sliding, step.coordinate))
            rotation = np.eye(3)
    if not hinges:
        return [], rotation
    last = hinges.pop()
    return [*hinges, Hinge(last.mounting @ rotation, rotation.T @ last.axis, last.sliding, last.coordinate)], np.eye(3)
