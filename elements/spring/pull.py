"""Pull: a given force along the line between two points, such as that of a cable on a winch."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import Unit
from femb.elements.load.load import LoadResults
from femb.elements.spring.end import TwoEndItem, check_ends, coupled_stations
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses
from femb.profiles import Constant, Profile


@dataclass(frozen=True, eq=False)
class Pull(TwoEndItem):
    """A force along the line between two points: attractive if positive, repulsive if negative.

    start, end : points of bodies or beam nodes, or an inertial ``anchor``. force : N, multiplied by the profile, a
    Profile of femb.profiles or any callable of time. Opposite forces act on the two ends: momenta are conserved.

    A run ends if the two points coincide, because the direction of the force is not defined.

    Raises ModelError: a force that is not a number, an end given twice or not at all, ends on one and the same frame or
    that start at one point. Source: docs/theory/rigid_body.md, equation (8), with a given tension.
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "pull"
    results: ClassVar[type[Group]] = LoadResults

    force: Annotated[float, Unit("N")]
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
        check_ends(check, needs_axes=False)

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """None: its two forces are opposite."""
        return ()

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Couple its two frames. Raises ModelError if its direction is not defined at the start."""
        start, end = coupled_stations(self, layout)
        if not np.any(layout.pose(end)[0] - layout.pose(start)[0]):
            raise ModelError.at(
                ("loads", self.name, "end"),
                "starts at the same point as the start, so that the pull has no direction: move one of the two",
            )

    @staticmethod
    def batches(items: list["Pull"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all items of this class."""
        from femb.elements.spring.batch import PullBatch

        return [PullBatch(items, layout)]
