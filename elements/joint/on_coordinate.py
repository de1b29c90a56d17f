"""Base class of items that act on a coordinate of a joint: forces, drivers, latches and stepper motors."""

from femb.base.checks import Checks
from femb.elements.item import Item
from femb.elements.joint.coordinates import Coordinate
from femb.layout.layout import JointLayout, Layout


class OnCoordinate(Item):
    """Base class of items with the fields joint, its name, and coordinate, by default the first of the joint."""

    joint: str
    coordinate: str | None

    def check(self, check: Checks) -> None:
        check.require("joint", isinstance(self.joint, str), "wanted the name of a joint")

    @property
    def joint_coordinate(self) -> tuple[str, str | None]:
        """Names of the joint and of the coordinate, None for the first."""
        return self.joint, self.coordinate

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
