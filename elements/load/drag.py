"""Drag along a beam, and other forces per length that depend on the places and the velocities of its points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group
from femb.base.types import Floats, Unit, Vector
from femb.base.values import shown
from femb.elements.item import Item
from femb.elements.load.load import LoadResults
from femb.elements.marker import Place
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView
from femb.profiles import Constant, Profile

NUMBERS = ("coefficient", "tangential_coefficient", "viscous")


@dataclass(frozen=True, eq=False)
class Drag(Item):
    """Drag along a beam of either kind: a force per unstretched length against the velocity relative to a fluid.

    beam : its name.
    density : of the fluid, kg/m3. width : breadth or diameter of the section, m. coefficient : of the drag across the
    beam. tangential_coefficient : of the drag along it. viscous : N s/m2, the force per length by the velocity.
    wind : velocity of the fluid, inertial axes, m/s.

    With the velocity u of a point of the axis relative to the fluid, and its parts u_n across the beam and u_t along
    it, the force per length is

        -density width / 2 (coefficient |u_n| u_n + tangential_coefficient |u_t| u_t) - viscous u

    Or law : in Python, any force per length as a function ``law(t, s, position, velocity)`` of the time, the lengths s
    (m,) from the start of the beam to its Gauss points, and their positions and velocities (m, 3), inertial axes. It
    returns the force (m, 3), N/m, inertial axes; or this and its derivatives by position and by velocity, (m, 3, 3)
    each, for Newton's iterations and linearisation.

    profile : factor of the load, a Profile of femb.profiles or any callable of time.

    Raises ModelError: neither coefficients nor law, or both; density or width is missing.
    Source: docs/theory/beam_loads.md, section 3.
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "drag"
    results: ClassVar[type[Group]] = LoadResults
    resists_flight: ClassVar[bool] = True

    name: str
    beam: str
    density: Annotated[float, Unit("kg/m3")] = 0.0
    width: Annotated[float, Unit("m")] = 0.0
    coefficient: Annotated[float, Unit("")] = 0.0
    tangential_coefficient: Annotated[float, Unit("")] = 0.0
    viscous: Annotated[float, Unit("N s/m2")] = 0.0
    wind: Annotated[Vector, Unit("m/s")] = (0.0, 0.0, 0.0)
    law: Callable[..., Any] | None = None
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
        for word in ("density", "width", *NUMBERS):
            if word not in check.bad:
                check.require(word, getattr(self, word) >= 0.0, "must be at least 0")
        if check.bad:
            return
        given = [word for word in NUMBERS if getattr(self, word)]
        if self.law is not None:
            if not callable(self.law):
                what = f"got {shown(self.law)}, wanted a function: in a case file give coefficients instead"
                check.fail("law", what)
            if given:
                check.fail(given[0], "given beside a law, which says the whole load: give one of the two")
        elif not given:
            check.fail("coefficient", "no coefficient is given, and no law: the load would be nothing")
        elif given != ["viscous"]:
            for word in ("density", "width"):
                check.require(word, getattr(self, word) > 0.0, f"must be above 0, since {given[0]!r} is given")

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """Its beam."""
        return {(): Place(beam=self.beam)}

    @property
    def numbers(self) -> Floats:
        """(3,) density width / 2 times the coefficients across and along the beam, kg/m2, and the viscous one."""
        half = 0.5 * self.density * self.width
        return np.array([half * self.coefficient, half * self.tangential_coefficient, self.viscous])

    @staticmethod
    def batches(items: list["Drag"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch for each."""
        from femb.elements.load.drag_batch import DragBatch

        return [DragBatch(item, layout, model) for item in items]
