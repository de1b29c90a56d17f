"""Ground: a frame that does not move."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from femb.base.types import Matrix3, Quaternion, Unit, Vector
from femb.elements.body.body import OrientedBody
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses
from femb.numerics.turns import EulerSequence


@dataclass(frozen=True, eq=False)
class Ground(OrientedBody):
    """A frame fixed in inertial space. Every model contains one named ``"ground"`` at the origin.

    position : m. quaternion or euler_angles (rad, in ``euler_sequence``, intrinsic) : its attitude.
    """

    kind: ClassVar[str] = "ground"

    name: str = "ground"
    position: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    quaternion: Quaternion | None = None
    euler_angles: Annotated[Vector | None, Unit("rad")] = None
    euler_sequence: Annotated[EulerSequence | Matrix3, Unit("")] = "xyz"

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """A fixed frame."""
        position, quaternion = placement.bodies[self.name]
        layout.bodies[self.name] = layout.add_frame(self.name, position, quaternion, freedom=0)
