"""What forces along a coordinate of a joint share: which joint and coordinate, and the law they follow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from femb.base.checks import Checks
from femb.elements.item import Item
from femb.layout.element import Batch, Input
from femb.layout.layout import JointLayout, Layout


@dataclass(frozen=True, eq=False)
class JointForce(Item):
    """Base of all forces along a coordinate of a joint: torques for an angle, forces for a stroke.

    joint : its name. coordinate : the name of one of its coordinates, by default its first. Angles are unwrapped: they
    are followed through any number of turns.

    The force does work on that coordinate alone, and acts between the two frames of the joint: it has no resultant.
    Source: docs/theory/joint_forces.md, equation (1).
    """

    table: ClassVar[str] = "springs"
    kind: ClassVar[str]
    law: ClassVar[int]
    # of what is written to the results: 1 if the force resists an increase of the coordinate, -1 if it is along it
    sense: ClassVar[float] = 1.0

    name: str
    joint: str
    coordinate: str | None = None

    def __post_init__(self) -> None:
        with Checks(self, self.table, self.name) as check:
            check.require("joint", isinstance(self.joint, str), "wanted the name of a joint")
            self.check(check)

    def check(self, check: Checks) -> None:
        """Refuse what is wrong with the force itself."""

    @property
    def joint_coordinate(self) -> tuple[str, str | None]:
        return self.joint, self.coordinate

    def numbers(self) -> list[float]:
        """The numbers of its law, as in ``joint_force_kernels.laws``."""
        raise NotImplementedError

    def limits(self) -> list[tuple[float, float]]:
        """(sense, value): where the law changes at once, ``sense`` being 1 if it does so below the value, -1 above."""
        return []

    def input(self) -> Input | None:
        """What its law takes that changes with time and state."""
        return None

    def where(self, layout: Layout) -> tuple[JointLayout, int]:
        """The joint, and which of its coordinates it is."""
        joint = layout.joints[self.joint]
        names = [coordinate.name for coordinate in joint.coordinates]
        return joint, names.index(self.coordinate) if self.coordinate is not None else 0

    def number(self, layout: Layout) -> int:
        """The number of the coordinate among those of all joints."""
        joint, k = self.where(layout)
        return int(joint.part.start) + k

    def declare_dofs(self, layout: Layout, placement: Any, model: Any) -> None:
        """Couples the two frames of its joint."""
        joint, _ = self.where(layout)
        layout.couple_by_spring((joint.first.frame, joint.second.frame))

    @staticmethod
    def batches(items: list[Any], layout: Layout, model: Any) -> list[Batch]:
        """All of them together."""
        from femb.elements.joint.force_batch import JointForceBatch

        return [JointForceBatch(layout, items)]


def along(item: JointForce, law: Callable[[float, float], Any]) -> Callable[[float, Any], Any]:
    """A function of time and state, of a callable of a joint's coordinate and its rate."""

    def at(t: float, state: Any) -> Any:
        joint = state.joints[item.joint]
        k = joint.names.index(item.coordinate) if item.coordinate is not None else 0
        return law(float(joint.coordinates[k]), float(joint.rates[k]))

    return at
