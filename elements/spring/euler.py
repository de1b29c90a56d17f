"""Torsion springs and dashpots on the three Euler angles between two frames."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import OneOf, Unit, Vector
from femb.elements.spring.end import TwoEndItem, check_ends, coupled_stations
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses
from femb.numerics import rotations
from femb.numerics.euler import gimbal_distance
from femb.numerics.turns import EulerSequence


@dataclass(frozen=True, eq=False)
class EulerSpringDamper(TwoEndItem):
    """Moments stiffness_m (angle_m - free_m) + damping_m rate_m against the Euler angles from ``start`` to ``end``.

    start, end : bodies (or the ground) or beam nodes (section axes). sequence : of the angles, one of the twelve,
    intrinsic, from the axes of the start to those of the end. stiffness (N m/rad), damping (N m s/rad) : a number or
    three. free_angles : rad, by default those at the start.

    frame : directions of the moments. "dual_euler": the dual Euler basis, so that moment m does work only on angle m
    and the torque is the derivative of sum stiffness_m (angle_m - free_m)^2 / 2; the exact spring (B^+ in the source).
    "body": the axes of the end in the sequence, with the components of the relative angular velocity along them as
    rates; for the bending of a structure by small angles (B = 1). It agrees with the exact spring to first order and
    has no potential energy: its energy counts as work.

    A run ends at gimbal lock (a distance of 1e-4 from it), and if an angle with a stiffness reaches 180 degrees.

    Raises ModelError: neither stiffness nor damping, numbers below zero, a start at gimbal lock, "body" with a sequence
    whose first axis is also its last. Source: Thompson, AIAA 2011-6277, generalized forces.
    """

    table: ClassVar[str] = "springs"
    kind: ClassVar[str] = "euler"
    acts_on_attitude: ClassVar[bool] = True

    stiffness: Annotated[float | Vector, Unit("N m/rad")] = 0.0
    damping: Annotated[float | Vector, Unit("N m s/rad")] = 0.0
    free_angles: Annotated[Vector | None, Unit("rad")] = None
    sequence: EulerSequence = "xyz"
    frame: Annotated[str, OneOf(("dual_euler", "body"))] = "dual_euler"

    def check(self, check: Checks) -> None:
        for word in ("stiffness", "damping"):
            if word not in check.bad:
                check.require(word, np.all(np.asarray(getattr(self, word)) >= 0.0), "must be at least 0")
        if not check.bad:
            if not np.any(self.stiffness) and not np.any(self.damping):
                check.fail("stiffness", "neither stiffness nor damping is given")
            if self.frame == "body":
                distinct = self.sequence[0] != self.sequence[2]
                check.require("sequence", distinct, "but frame = 'body' needs three different axes, such as 'xyz'")
        check_ends(check, needs_axes=True)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Couple its two frames. Raises ModelError if its angles are not defined at the start."""
        from femb.elements.load.euler_basis import NEAREST

        start, end = (layout.pose(station)[1] for station in coupled_stations(self, layout))
        if gimbal_distance(rotations.multiply(rotations.conjugate(start), end), self.sequence) < NEAREST:
            raise ModelError.at(
                ("springs", self.name, "sequence"),
                f"got {self.sequence!r}, at whose gimbal lock its ends start, where the angles are not defined: give "
                "another sequence",
            )

    @staticmethod
    def batches(items: list["EulerSpringDamper"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all items of this class."""
        from femb.elements.spring.torsion_batch import TorsionBatch, euler_row

        return [TorsionBatch(items, layout, euler_row)]
