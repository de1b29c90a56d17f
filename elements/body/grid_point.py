"""Grid point of a finite element model: a frame that carries masses, and to which beams and shells attach."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.types import Floats, Unit, Vector
from femb.elements.item import StartPose
from femb.elements.modal.flexible_body import Interface
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses


@dataclass(frozen=True, eq=False)
class GridPoint(Interface):
    """A moving frame along inertial axes, a body to which beams and shells attach.

    A reader of finite element models makes it. position : m. masses : kg, offsets (3,) m of their centres, and inertias
    (3, 3) kg m2 about these, which may be zero.
    """

    kind: ClassVar[str] = "grid point"
    in_case_files: ClassVar[bool] = False

    name: str
    of: str = ""
    interface: str = ""
    position: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    masses: tuple[tuple[float, Floats, Floats], ...] = ()

    def start_pose(self, model: ModelView) -> StartPose:
        return StartPose(np.asarray(self.position), np.array([1.0, 0.0, 0.0, 0.0]))

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """A moving frame."""
        layout.bodies[self.name] = layout.add_frame(self.name, *placement.bodies[self.name])

    @staticmethod
    def batches(items: list[Any], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of the masses of all points."""
        from femb.elements.body.mass_batch import MassBatch

        entries = [(layout.bodies[item.name], *mass) for item in items for mass in item.masses]
        return [MassBatch(layout, model.gravity, entries)] if entries else []
