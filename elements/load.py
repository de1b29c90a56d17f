"""Point load: a force and a torque on a body or a beam node."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from femb.batch import Batch
from femb.checks import Checks
from femb.elements.attachment import Place
from femb.layout import Layout
from femb.profiles import Constant, Profile
from femb.types import Vector


@dataclass(frozen=True, eq=False)
class Load:
    """A force (N) and/or torque (N m) at a point of a body or at a node of a beam.

    force, torque : three numbers, multiplied with the profile; or a callable ``(t, state) -> (3,)`` where state
    gives the named bodies and beams at that instant (femb.state.State). frame : the axes of both, "inertial" or
    "body" (the beam node's section axes). body and at, or beam and node : where it acts. profile : a Profile of
    femb.profiles or any callable of time (without declared breakpoints).

    Raises ModelError: neither force nor torque, both or neither of body and beam, unknown frame.
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "point"

    name: str
    body: str | None = None
    beam: str | None = None
    at: Vector = (0.0, 0.0, 0.0)
    node: int = -1
    force: Vector | Callable[..., Any] | None = None
    torque: Vector | Callable[..., Any] | None = None
    frame: str = "inertial"
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        with Checks(self, "loads", self.name) as check:
            check.one_of("frame", ("inertial", "body"))
            if self.force is None and self.torque is None:
                check.fail("force", "neither force nor torque is given")
            if (self.body is None) == (self.beam is None):
                check.fail("body", "give either body or beam: the one the load acts on")

    @property
    def on(self) -> Place:
        """Where it acts."""
        return Place(self.body, self.beam, self.at, self.node)

    def lay_out(self, layout: Layout, placement: Any, model: Any) -> None:
        """A load has no coordinates."""

    @staticmethod
    def batches(items: list["Load"], layout: Layout, model: Any) -> list[Batch]:
        """All point loads together; what acts on the ground moves nothing."""
        from femb.elements.load_batch import LoadBatch

        moving = [item for item in items if layout.frames[layout.station(item.on).frame].freedom]
        return [LoadBatch(moving, layout)] if moving else []
