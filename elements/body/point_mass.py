"""Point mass: free, or fixed to a body or to a node of a beam."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.types import Unit, Vector
from femb.elements.body.body import Body
from femb.elements.item import StartMotion, StartPose
from femb.elements.marker import Place, check_markers
from femb.layout.element import Batch
from femb.layout.layout import Layout, Station
from femb.layout.views import ModelView, StartPoses


@dataclass(frozen=True, eq=False)
class PointMass(Body):
    """A mass without inertia.

    mass : kg. Free: position (m) and velocity (m/s), inertial axes; it then has three degrees of freedom.
    Fixed: ``on`` a point of a body, or on a node of a beam with or without an offset; it adds its mass there.

    Raises ModelError: mass not positive, both free and fixed. Source: docs/theory/rigid_body.md.
    """

    kind: ClassVar[str] = "point_mass"
    acts_on_attitude: ClassVar[bool] = True

    name: str
    mass: Annotated[float, Unit("kg")]
    position: Annotated[Vector | None, Unit("m")] = None
    velocity: Annotated[Vector | None, Unit("m/s")] = None
    on: Place | None = None

    def check(self, check: Checks) -> None:
        check.positive("mass")
        if self.on is not None:
            check_markers(check, Place, "on")
            for name in ("position", "velocity"):
                check.require(name, getattr(self, name) is None, "but the mass is fixed by 'on': give one of them")

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """Its markers, by field."""
        return {} if self.on is None else {("on",): self.on}

    def start_pose(self) -> StartPose:
        return StartPose(self.position)

    def start_motion(self, layout: Layout) -> StartMotion | None:
        if self.velocity is None:
            return None
        return StartMotion(Station(layout.bodies[self.name]), self.velocity)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """A frame without axes, if it is free."""
        if self.on is None:
            position, quaternion = placement.bodies[self.name]
            layout.bodies[self.name] = layout.add_frame(self.name, position, quaternion, freedom=3)

    @staticmethod
    def batches(items: list["PointMass"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of the free masses, with three coordinates each, and one of the masses fixed to moving frames."""
        from femb.elements.body.mass_batch import MassBatch, PointBatch

        free = [(layout.bodies[item.name], item.mass) for item in items if item.on is None]
        fixed = []
        for item in items:
            if item.on is not None:
                station = layout.station(item.on)
                if layout.frames[station.frame].freedom:
                    fixed.append((station.frame, item.mass, station.offset, np.zeros((3, 3))))
        points: list[Batch] = [PointBatch(layout, model.gravity, free)] if free else []
        return points + ([MassBatch(layout, model.gravity, fixed)] if fixed else [])
