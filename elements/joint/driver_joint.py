"""Driver of a joint: one of its coordinates follows a function of time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from femb.base.checks import Checks
from femb.base.types import Unit
from femb.elements.joint.constraint_set import ConstraintRow
from femb.elements.joint.coordinates import coordinate_row
from femb.elements.joint.driver import Driver, check_motion, motion_input
from femb.elements.joint.on_coordinate import OnCoordinate
from femb.layout.element import Input
from femb.layout.layout import Layout, Station
from femb.profiles import Profile


@dataclass(frozen=True, eq=False)
class JointDriver(OnCoordinate, Driver):
    """A motor: a coordinate of a joint follows a function of time.

    joint : its name. motion : of the coordinate, rad or m. coordinate : the name of one of the joint's coordinates, by
    default its first.

    The ``start`` of the joint must agree with the motion at t = 0; assembly corrects an angle with a difference below a
    quarter of a revolution. Force: torque (N m) or force (N) of the motor in the direction of increasing coordinate.

    Raises ModelError: an unknown joint, a joint without such a coordinate, a motion without two derivatives.
    Source: docs/theory/constraints.md, sections 3, 4 and 10.
    """

    kind: ClassVar[str] = "joint"

    joint: str
    motion: Annotated[Profile | Callable[..., Any], Unit("rad", stroke="m")]
    coordinate: str | None = None

    def check(self, check: Checks) -> None:
        super().check(check)
        check_motion(check, "motion")

    def unit(self, layout: Layout) -> str:
        return "rad" if self.coordinate_of(layout).is_angle else "m"

    def components(self, layout: Layout) -> tuple[str, ...]:
        return (self.coordinate_of(layout).name,)

    def inputs(self) -> list[Input]:
        return [motion_input(self.name, "motion", self.motion)]

    def ends(self, layout: Layout) -> tuple[Station, Station]:
        joint = layout.joints[self.joint]
        return joint.first, joint.second

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        number = layout.drivers[self.name].rows[0]
        joint = layout.joints[self.joint]
        return [coordinate_row(layout, number, joint, self.coordinate_of(layout), follows=0)]
