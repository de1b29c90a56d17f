"""Base class of items that act on a coordinate of a joint: forces, drivers, latches and stepper motors."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.elements.item import Item
from femb.elements.joint.coordinates import Coordinate, Z
from femb.layout.layout import JointLayout, Layout
from femb.layout.symmetry import AXES, EVERY, NONE, Surroundings, Symmetry, across, twists


class OnCoordinate(Item):
    """Base class of items that act on a coordinate of a joint."""

    follows_joint: ClassVar[bool] = True

    joint: str
    """its name"""
    coordinate: str | None
    """one of the joint's coordinates, by default its first"""

    def check(self, check: Checks) -> None:
        check.require("joint", isinstance(self.joint, str), "wanted the name of a joint")

    @property
    def by_rate_alone(self) -> bool:
        """Whether it does not depend on the coordinate, but on its rate at most."""
        return False

    @property
    def joint_coordinates(self) -> Mapping[tuple[str, ...], tuple[str, str | None]]:
        return {(): (self.joint, self.coordinate)}

    def frames(self, layout: Layout) -> list[int]:
        joint, _ = self.joint_and_index(layout)
        return [joint.first.frame, joint.second.frame]

    def symmetry(self, around: Surroundings) -> Symmetry:
        return coordinate_symmetry(around, *self.joint_and_index(around.layout), self.by_rate_alone)

    def joint_and_index(self, layout: Layout) -> tuple[JointLayout, int]:
        """The joint, and the index of the coordinate in the joint."""
        joint = layout.joints[self.joint]
        names = [coordinate.name for coordinate in joint.coordinates]
        return joint, names.index(self.coordinate) if self.coordinate is not None else 0

    def coordinate_number(self, layout: Layout) -> int:
        """The number of the coordinate among those of all joints."""
        joint, k = self.joint_and_index(layout)
        return int(joint.part.start) + k

    def coordinate_of(self, layout: Layout) -> Coordinate:
        """The coordinate."""
        joint, k = self.joint_and_index(layout)
        result: Coordinate = joint.coordinates[k]
        return result

    def angular(self, layout: Layout) -> tuple[bool, ...]:
        return (self.coordinate_of(layout).is_angle,)


def coordinate_symmetry(around: Surroundings, joint: JointLayout, k: int, by_rate_alone: bool = False) -> Symmetry:
    """Symmetry of the k-th coordinate of a joint: motions, of those that the joint has, that leave it as it is; or, by
    a rate alone, its rate."""
    if not around.hold([joint.first.frame, joint.second.frame]):
        return EVERY
    coordinate, of_first = joint.coordinates[k], joint.first.frame in around.fixed
    point, axes = around.pose(joint.first if of_first else joint.second)
    if coordinate.is_angle:
        own = coordinate.first if of_first else coordinate.second
        # an angle between axes of which one is that of the rotation does not change
        turned = axes[:, Z] if own != (Z, Z) else np.zeros(3)
        kept, moved = twists(AXES, across(turned), point), EVERY.motions
    else:
        along = axes[:, coordinate.first[0]]
        kept = twists(across(along), along[None], point) if of_first else twists(turns=AXES, point=point)
        # the axis of a stroke that the other end carries does not turn where it is that of the joint
        shifts = AXES if of_first else along[None] if coordinate.first == (Z,) else NONE
        moved = twists(shifts, along[None] if of_first else AXES, point)
    return Symmetry(moved, kept, at_speed=False) if by_rate_alone else Symmetry.of(kept)
