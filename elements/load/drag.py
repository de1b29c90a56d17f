"""Drag along a beam, and other forces per length that depend on the places and the velocities of its points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.types import Floats, Vector
from femb.base.values import shown
from femb.elements.item import Item
from femb.elements.marker import Place
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView
from femb.profiles import Constant, Profile

NUMBERS = ("coefficient", "tangential_coefficient", "viscous")


@dataclass(frozen=True, eq=False)
class Drag(Item):
    """Drag along a beam of either kind: a force per unstretched length against the velocity relative to a fluid.

    beam : its name. With the velocity u of a point of the axis relative to the fluid, and its parts u_n across the beam
    and u_t along it, the force per length is

        -density width / 2 (coefficient |u_n| u_n + tangential_coefficient |u_t| u_t) - viscous u

    density : of the fluid, kg/m3. width : breadth or diameter of the section, m. coefficient : of the drag across the
    beam. viscous : N s/m2. wind : velocity of the fluid, inertial axes, m/s.

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
    resists_flight: ClassVar[bool] = True

    name: str
    beam: str
    density: float = 0.0
    width: float = 0.0
    coefficient: float = 0.0
    tangential_coefficient: float = 0.0
    viscous: float = 0.0
    wind: Vector = (0.0, 0.0, 0.0)
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

    def forces(self, velocity: Floats, slope: Floats) -> tuple[Floats, Floats, Floats]:
        """Force per length (..., 3), N/m, at points with this velocity (..., 3), m/s, and this slope (..., 3), the
        derivative of the place along the beam; and its derivatives (..., 3, 3) by the velocity and by the slope."""
        u, half = velocity - self.wind, 0.5 * self.density * self.width
        size = np.linalg.norm(slope, axis=-1)[..., None, None]
        t = slope / size[..., 0]
        along = np.einsum("...i,...i->...", u, t)[..., None, None]
        one, tt = np.eye(3), t[..., :, None] * t[..., None, :]
        u_n = u - along[..., 0] * t
        speed = np.linalg.norm(u_n, axis=-1)[..., None, None]
        unit = u_n / np.where(speed, speed, 1.0)[..., 0]
        # changes of |u_n| u_n with u_n, and of |u_t| u_t with the component along t
        c, c_t = half * self.coefficient, half * self.tangential_coefficient
        across = -c * speed * (one + unit[..., :, None] * unit[..., None, :])
        force = -c * speed[..., 0] * u_n - c_t * np.abs(along[..., 0]) * along[..., 0] * t - self.viscous * u
        by_u = across @ (one - tt) - 2.0 * c_t * np.abs(along) * tt - self.viscous * one
        # with t: u_n changes by -(t u^T + along), the part along by 2 |along| t u^T + |along| along
        tu = t[..., :, None] * u[..., None, :]
        by_t = -across @ (tu + along * one) - c_t * np.abs(along) * (2.0 * tu + along * one)
        return force, by_u, by_t @ (one - tt) / size

    @staticmethod
    def batches(items: list["Drag"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch for each."""
        from femb.elements.load.drag_batch import DragBatch

        return [DragBatch(item, layout, model) for item in items]
