"""Interface of a flexible body: a frame of its own, to which joints, beams, springs, loads and masses attach."""

from dataclasses import dataclass
from typing import ClassVar

from femb.base.errors import ModelError
from femb.elements.body.body import OrientedBody
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses


@dataclass(frozen=True, eq=False)
class Interface(OrientedBody):
    """A free interface of a flexible body, a body named BODY.INTERFACE, such as "panel.tip".

    A FlexibleBody adds it to the model; its pose at the start follows from that of the body. Other items name it as any
    body. of : the name of the flexible body. interface : its name in the file of the body.

    Raises ModelError if the model has no such flexible body.
    """

    kind: ClassVar[str] = "interface"
    in_case_files: ClassVar[bool] = False

    name: str
    of: str
    interface: str

    position = None
    quaternion = None
    euler_angles = None
    euler_sequence = "xyz"

    def check(self, check: object) -> None:
        """Nothing: the flexible body checks its interfaces."""

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """A moving frame, unless its flexible body has declared it."""
        if self.name not in layout.bodies:
            raise ModelError.at(
                (self.table, self.name), f"got of = {self.of!r}, which is no flexible body with this interface"
            )
