"""Spring and dashpot between two points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import Unit
from femb.elements.spring.end import SHORTEST, TwoEndItem, check_ends, coupled_stations
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses


@dataclass(frozen=True, eq=False)
class SpringDamper(TwoEndItem):
    """A force along the line between two points: stiffness (length - free_length) + damping d(length)/dt, tension
    positive.

    start, end : points of bodies or beam nodes, or an inertial ``anchor``. stiffness : N/m. damping : N s/m.
    free_length : m, by default the length at the start; zero for a spring that is unstressed at coincident points.
    force : in Python, a callable ``(length, rate) -> N`` (tension positive) for an additional force; or
    ``-> (N, N/m, N s/m)`` with its derivatives by length and rate; Newton's iteration uses zeros for derivatives that
    are not given. The energy of force and damping counts as work; only the stiffness stores energy.

    A run ends if the two points coincide, because the direction of the force is not defined, unless free_length is zero
    and there is no callable. For start velocities, a spring does not connect its ends to one structure.

    Raises ModelError: neither stiffness, damping nor force, numbers below zero, an end given twice or not at all,
    ends on one and the same frame, or that start at one point.
    Source: Choi, USC thesis 2014, equations (22) to (28); Thompson, AIAA 2011-6277, generalized forces.
    """

    table: ClassVar[str] = "springs"
    kind: ClassVar[str] = "point"

    stiffness: Annotated[float, Unit("N/m")] = 0.0
    damping: Annotated[float, Unit("N s/m")] = 0.0
    free_length: Annotated[float | None, Unit("m")] = None
    force: Callable[[float, float], Any] | None = None

    def check(self, check: Checks) -> None:
        check.not_negative("stiffness", "damping", "free_length")
        if self.force is not None and not callable(self.force):
            check.fail("force", f"got {self.force!r}, wanted a function (length, rate) -> N")
        if not check.bad and self.stiffness == 0.0 and self.damping == 0.0 and self.force is None:
            check.fail("stiffness", "neither stiffness nor damping is given")
        check_ends(check, needs_axes=False)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Couple its two frames. Raises ModelError if its direction is not defined at the start."""
        start, end = coupled_stations(self, layout)
        length = float(np.linalg.norm(layout.pose(end)[0] - layout.pose(start)[0]))
        if self.needs_direction(length) and length <= SHORTEST * (self.free_length or 0.0):
            raise ModelError.at(
                ("springs", self.name, "end"),
                "starts at the same point as the start, so that the spring has no direction: move one of the two, or "
                "give free_length = 0",
            )

    def rest_length(self, start_length: float) -> float:
        """The length (m) without elastic force, by default ``start_length``, m, that at the start."""
        return start_length if self.free_length is None else self.free_length

    def needs_direction(self, start_length: float) -> bool:
        """Whether the force is not defined for coincident ends, by the length ``start_length``, m, at the start."""
        return self.free_length is None or self.rest_length(start_length) > 0.0 or self.force is not None

    @staticmethod
    def batches(items: list["SpringDamper"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all items of this class."""
        from femb.elements.spring.batch import SpringBatch

        return [SpringBatch(items, layout)]
