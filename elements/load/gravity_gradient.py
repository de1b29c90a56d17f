"""Gravity gradient: the field of gravity about a point that moves along a circular orbit."""

from dataclasses import dataclass
from functools import cached_property
from math import cos, pi, sin
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group
from femb.base.types import Direction, Floats, Unit, Vector
from femb.elements.item import Item
from femb.elements.load.load import LoadResults
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView
from femb.numerics.orbits import EARTH, EARTH_RADIUS


@dataclass(frozen=True, eq=False)
class GravityGradient(Item):
    """The gravity gradient in a circular orbit, on every mass of the model: bodies, beams and flexible bodies.

    The axes of the model do not rotate. Their origin falls with a point on the orbit, relative to which gravity is the
    acceleration n^2 (3 (o . r) o - r) at the distance r, to first order. The local vertical o, away from the attracting
    body, rotates about the normal of the orbit with the rate n. On a rigid body this is the torque 3 n^2 o x (J o).

    rate : n, rad/s; or altitude (m) above the Earth's equator, or radius (m) of the orbit, from which n follows by mu
    (m3/s2, by default of the Earth). radial : o at t = 0; normal : of the orbit, perpendicular to it; inertial axes, of
    any length. origin : the point that is on the orbit, at rest in inertial axes, m. By default the mass centre is on
    the orbit, also while it moves in inertial axes; of a model with fixed parts, the mass centre at the start.

    Raises ModelError: none or several of rate, altitude and radius; directions that are not perpendicular.
    Source: docs/theory/gravity_gradient.md.
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "gravity_gradient"
    results: ClassVar[type[Group]] = LoadResults

    name: str
    rate: Annotated[float | None, Unit("rad/s")] = None
    altitude: Annotated[float | None, Unit("m")] = None
    radius: Annotated[float | None, Unit("m")] = None
    mu: Annotated[float, Unit("m3/s2")] = EARTH
    radial: Direction = (1.0, 0.0, 0.0)
    normal: Direction = (0.0, 0.0, 1.0)
    origin: Annotated[Vector | None, Unit("m")] = None

    def check(self, check: Checks) -> None:
        words = ("rate", "altitude", "radius")
        given = [word for word in words if word in check.bad or getattr(self, word) is not None]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            check.fail("rate", f"got {got} of 'rate', 'altitude' and 'radius', wanted one of them")
        for word in (*given, "mu"):
            if word != "altitude":
                check.positive(word)
        if "altitude" in given and "altitude" not in check.bad:
            check.require("altitude", (self.altitude or 0.0) > -EARTH_RADIUS, "must be above the centre of the Earth")
        self._check_directions(check)

    def _check_directions(self, check: Checks) -> None:
        for word in ("radial", "normal"):
            if word in check.bad:
                return
            vector = np.asarray(getattr(self, word), dtype=float)
            length = float(np.linalg.norm(vector))
            if length == 0.0:
                check.fail(word, "got a vector of length 0, wanted a direction")
                return
            object.__setattr__(self, word, vector / length)
        cosine = float(np.dot(self.radial, self.normal))
        if abs(cosine) > 1e-6:
            angle = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
            check.fail("normal", f"is at {angle:.6g} deg from 'radial', wanted 90 deg: it is normal to the orbit")

    @property
    def orbital_rate(self) -> float:
        """n, rad/s."""
        if self.rate is not None:
            return self.rate
        radius = self.radius if self.radius is not None else EARTH_RADIUS + (self.altitude or 0.0)
        return float(np.sqrt(self.mu / radius**3))

    @property
    def period(self) -> float:
        """Time of one revolution, s."""
        return 2.0 * pi / self.orbital_rate

    def vertical(self, t: float) -> Floats:
        """o (3,) at the time t (s), inertial axes."""
        angle, (radial, ahead) = self.orbital_rate * t, self._plane
        return cos(angle) * radial + sin(angle) * ahead

    def motion_at(self, t: float) -> tuple[Floats, Floats]:
        """Position (3,) m and velocity (3,) m/s of the point on the orbit at the time t (s), inertial axes.

        The radius is that of a circular orbit with the rate n about the central body.
        """
        radius, (radial, ahead) = (self.mu / self.orbital_rate**2) ** (1.0 / 3.0), self._plane
        angle = self.orbital_rate * t
        direction = cos(angle) * ahead - sin(angle) * radial
        return radius * self.vertical(t), radius * self.orbital_rate * direction

    @cached_property
    def _plane(self) -> tuple[Floats, Floats]:
        """o at t = 0, and the direction of the motion."""
        return np.asarray(self.radial, dtype=float), np.cross(self.normal, self.radial)

    @staticmethod
    def batches(items: list["GravityGradient"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch for each, since each acts on the whole model."""
        from femb.elements.load.gravity_gradient_batch import GravityGradientBatch

        return [GravityGradientBatch(item, layout) for item in items]
