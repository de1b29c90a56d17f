"""Base class of forces along a coordinate of a joint, and their laws."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from femb.base.quantity import Group
from femb.elements.joint.on_coordinate import OnCoordinate
from femb.elements.spring.end import SpringResults
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses


@dataclass(frozen=True, eq=False)
class JointForce(OnCoordinate):
    """Base class of forces along a coordinate of a joint: torques for an angle, forces for a stroke.

    joint : its name. coordinate : the name of one of its coordinates, by default its first. Angles are unwrapped: they
    are continuous over any number of revolutions.

    The force does work on that coordinate only. It acts between the two frames of the joint and has no resultant.
    Source: docs/theory/joint_forces.md, equation (1).
    """

    table: ClassVar[str] = "springs"
    results: ClassVar[type[Group]] = SpringResults
    law: ClassVar[int]
    # sign of the recorded force: 1 if it resists an increase of the coordinate, -1 if it is along the coordinate
    sense: ClassVar[float] = 1.0

    name: str
    joint: str
    coordinate: str | None = None

    def numbers(self) -> list[float]:
        """The parameters (5) of its law, as in ``force_kernels.laws``."""
        raise NotImplementedError

    def limits(self) -> list[tuple[float, float]]:
        """(sense, value) of every discontinuity of the law; sense is 1 if the law changes below the value, -1 above."""
        return []

    def input(self) -> Input | None:
        """The input of its law, a function of time and state, if there is one."""
        return None

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Couple the two frames of its joint."""
        joint, _ = self.joint_and_index(layout)
        layout.couple_by_spring((joint.first.frame, joint.second.frame))

    @staticmethod
    def batches(items: list[Any], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all items of this class."""
        from femb.elements.joint.force_batch import JointForceBatch

        return [JointForceBatch(layout, items)]


def law_of_coordinate(item: JointForce, law: Callable[[float, float], Any]) -> Callable[[float, Any], Any]:
    """The function of time and state that evaluates a callable ``law`` of a joint's coordinate and its rate."""

    def evaluate(t: float, state: Any) -> Any:
        joint = state.joints[item.joint]
        k = joint.names.index(item.coordinate) if item.coordinate is not None else 0
        return law(float(joint.coordinates[k]), float(joint.rates[k]))

    return evaluate
