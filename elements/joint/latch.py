"""Latch: fixes a coordinate of a joint at an event, or releases it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.types import POSITIVE, Unit
from femb.base.values import whole_number
from femb.elements.joint.constraint_set import ConstraintRow
from femb.elements.joint.coordinates import coordinate_row
from femb.elements.joint.on_coordinate import OnCoordinate
from femb.layout.discrete import Crossing, DiscreteState, Update
from femb.layout.element import Input
from femb.layout.layout import LatchLayout, Layout
from femb.layout.symmetry import EVERY, Surroundings, Symmetry
from femb.layout.views import ModelView, StartPoses, StateView


@dataclass(frozen=True, eq=False)
class Latch(OnCoordinate):
    """Fixes a coordinate of a joint at its value at an event; a latch ``engaged`` at the start releases it then.

    Engagement is an impulse, which conserves momentum; the loss of kinetic energy counts as (negative) work and is
    recorded with the event.

    Raises ModelError: none or several of at, time and when; a direction other than -1, 0 and 1. Source:
    docs/theory/constraints.md, section 12.
    """

    table: ClassVar[str] = "latches"
    kind: ClassVar[str] = "latch"

    name: str
    joint: str
    coordinate: str | None = None
    at: Annotated[float | None, Unit("rad", stroke="m")] = None
    """the event: the coordinate, any angle (unwrapped) or stroke, reaches this value; if it starts there, when it comes
    back"""
    time: Annotated[float | None, Unit("s"), POSITIVE] = None
    """in place of it, the instant of the event, after the start; ``engaged`` says what holds from the start"""
    direction: int = 0
    """in which the coordinate passes ``at``: increasing (1), decreasing (-1) or either (0)"""
    engaged: bool = False
    """whether it holds the coordinate from the start, up to the event"""
    when: Callable[[float, Any], float] | None = None
    """in Python in place of both, a callable ``(t, state) -> number`` that passes through zero at the event"""

    def check(self, check: Checks) -> None:
        check.exactly_one("at", "time", "when")
        known = whole_number(self.direction) and self.direction in (-1, 0, 1)
        check.require("direction", known, "must be -1, 0 or 1")

    def symmetry(self, around: Surroundings) -> Symmetry:
        # What leaves its coordinate as it is, while it is engaged.
        return super().symmetry(around) if around.discrete[self._entry(around.layout).on] else EVERY

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        joint, k = self.joint_and_index(layout)
        label = f"latches.{self.name}: {joint.coordinates[k].name}"
        row = layout.add_row(label, joint.first.frame, joint.second.frame)
        joint.rows.append(row)
        number = joint.part.start + k
        latch = LatchLayout(self, number, row)
        layout.latches.append(latch)
        on = layout.add_discrete(latch.on, float(self.engaged))
        at = layout.add_discrete(latch.at, lambda coordinates: coordinates[number])

        def switch(t: float, state: StateView, discrete: DiscreteState) -> dict[str, Any]:
            return {on: 1.0 - discrete[on], at: state.coordinates[number]}

        place = Crossing(number, self.at or 0.0) if self.time is None else Crossing(-1, self.time)

        layout.add_update(
            Update(
                f"latches.{self.name}",
                switch,
                zero=lambda t, state, discrete: place.value(t, state) if self.when is None else self.when(t, state),
                direction=self.direction,
                crossing=(lambda discrete: place) if self.when is None else None,
                watched=lambda discrete: latch.engaged(discrete) == self.engaged,
                order=2,
                recorded=True,
                rows=(row,),
            )
        )

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        """A row that fixes its coordinate, in force while it is engaged."""
        entry = self._entry(layout)
        joint, coordinate = layout.joints[self.joint], self.coordinate_of(layout)
        return [coordinate_row(layout, entry.row, joint, coordinate, follows=0, in_force=1)]

    def constraint_inputs(self, layout: Layout) -> tuple[Input, ...]:
        latch = self._entry(layout)
        return (
            Input(3, lambda discrete: np.array([discrete[latch.at], 0.0, 0.0]), of_discrete=True, array=latch.at),
            Input.of_array(latch.on),
        )

    def _entry(self, layout: Layout) -> LatchLayout:
        return next(latch for latch in layout.latches if latch.item is self)
