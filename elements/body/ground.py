"""Ground: a frame that does not move."""

from dataclasses import dataclass
from typing import Any, ClassVar

from femb.base.checks import Checks
from femb.base.types import Matrix3, Quaternion, Vector
from femb.elements.body.records import body_records
from femb.elements.body.rigid_body import attitude, check_sequence, check_unit
from femb.elements.item import Item, StartPose
from femb.elements.marker import Attachment
from femb.elements.records import RecordedSystem, Records
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses
from femb.numerics.turns import EulerSequence


@dataclass(frozen=True, eq=False)
class Ground(Item):
    """A frame fixed in inertial space. Every model contains one named ``"ground"`` at the origin.

    position : m. quaternion or euler_angles (rad, in ``euler_sequence``, intrinsic) : its attitude.
    """

    table: ClassVar[str] = "bodies"
    kind: ClassVar[str] = "ground"
    has_dofs: ClassVar[bool] = True

    name: str = "ground"
    position: Vector = (0.0, 0.0, 0.0)
    quaternion: Quaternion | None = None
    euler_angles: Vector | None = None
    euler_sequence: EulerSequence | Matrix3 = "xyz"

    def __post_init__(self) -> None:
        with Checks(self, "bodies", self.name) as check:
            check_sequence(check, "euler_sequence")
            check.at_most_one("quaternion", "euler_angles")
            check_unit(check, "quaternion")

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """A fixed frame."""
        position, quaternion = placement.bodies[self.name]
        layout.bodies[self.name] = layout.add_frame(self.name, position, quaternion, freedom=0)

    def start_pose(self) -> StartPose:
        return StartPose(self.position, attitude(self))

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        return body_records([item.name for item in items], system)

    def at(self, at: Any = (0.0, 0.0, 0.0), direction: Any = None, up: Any = None) -> Attachment:
        """A point of the ground for the end of a beam: ``at`` (m) and the beam's tangent ``direction``, ground axes."""
        return Attachment(body=self.name, at=at, direction=direction, up=up)
