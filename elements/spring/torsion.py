"""Torsion spring and dashpot about one axis."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.types import Direction, Unit
from femb.elements.spring.end import TwoEndItem, check_ends
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView


@dataclass(frozen=True, eq=False)
class TorsionSpringDamper(TwoEndItem):
    """A moment about an axis: stiffness (angle - free_angle) + damping d(angle)/dt, against the rotation of ``end``.

    start, end : bodies (or the ground) or beam nodes. axis : in axes of the start (section axes at a beam node).
    angle : of the rotation of the end relative to the start about the axis; zero in the start pose. It is the twist
    about the axis in the swing-twist decomposition of the relative rotation; the moment is the derivative of
    stiffness (angle - free_angle)^2 / 2.
    stiffness : N m/rad. damping : N m s/rad. free_angle : rad, where the moment is zero.
    torque : in Python, a callable ``(angle, rate) -> N m`` for an additional torque, or ``-> (N m, N m/rad, N m
    s/rad)`` with its derivatives; Newton's iteration uses zeros for derivatives that are not given. Its energy counts
    as work.

    The angle is not unwrapped: a run ends if it reaches 180 degrees, unless the spring is a pure dashpot.

    Raises ModelError: an axis of length zero, neither stiffness, damping nor torque, an end given twice or not at all.
    Source: Thompson, AIAA 2011-6277, generalized forces.
    """

    table: ClassVar[str] = "springs"
    kind: ClassVar[str] = "torsion"
    acts_on_attitude: ClassVar[bool] = True

    axis: Direction
    stiffness: Annotated[float, Unit("N m/rad")] = 0.0
    damping: Annotated[float, Unit("N m s/rad")] = 0.0
    free_angle: Annotated[float, Unit("rad")] = 0.0
    torque: Callable[[float, float], Any] | None = None

    def check(self, check: Checks) -> None:
        check.not_negative("stiffness", "damping")
        if "axis" not in check.bad:
            check.require("axis", np.linalg.norm(self.axis) > 0.0, "a direction must not be zero")
        if "free_angle" not in check.bad:
            check.require("free_angle", abs(self.free_angle) < np.pi, "must be within half a turn, -pi to pi (rad)")
        if self.torque is not None and not callable(self.torque):
            check.fail("torque", f"got {self.torque!r}, wanted a function (angle, rate) -> N m")
        if not check.bad and self.stiffness == 0.0 and self.damping == 0.0 and self.torque is None:
            check.fail("stiffness", "neither stiffness nor damping is given")
        check_ends(check, needs_axes=True)

    @staticmethod
    def batches(items: list["TorsionSpringDamper"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all items of this class."""
        from femb.elements.spring.torsion_batch import TorsionBatch, axis_row

        return [TorsionBatch(items, layout, axis_row)]
