"""Flat plates in sunlight and in thin air: the pressure of radiation, and drag of free molecules."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, Unit, UnitVector, Vector
from femb.base.values import nearest
from femb.elements.environment.atmosphere import Atmosphere, atmosphere_of
from femb.elements.environment.orbital_frame import orbital_motion
from femb.elements.environment.plates import AirLaw, PlateLaw, SunLaw
from femb.elements.force_results import LoadResults
from femb.elements.item import AtPoint
from femb.elements.load.at_stations import StationForces
from femb.elements.marker import Place
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.symmetry import AXES, NO_MOTION, TRANSLATIONS, Surroundings, Symmetry, along, in_air, twists
from femb.layout.views import ModelView, OutputStates, StartPoses
from femb.numerics.orbits import EARTH_RADIUS
from femb.profiles import Constant, Profile

# Pressure (Pa) of sunlight on what absorbs it at the mean distance of the Earth.
SUNLIGHT = 4.56e-6


class Plate(AtPoint):
    """Base of loads on a shell, or on a flat plate on a body or a section."""

    table: ClassVar[str] = "loads"
    results: ClassVar[type[Group]] = LoadResults
    acts_on_attitude: ClassVar[bool] = True
    law: ClassVar[type[Any]]

    shell: str | None
    """in place of plate and place the name of a shell, whose deformed surface the load follows; its normal is
    outwards"""
    area: float | None
    """of a flat plate, whose place is its centre, where the force acts"""
    normal: Floats | None
    """outwards, in axes of the body or section"""
    two_sided: bool
    """whether the other side counts too"""
    profile: Profile
    """factor of the load: a profile or any function of time"""

    def check(self, check: Checks) -> None:
        for word in ("area", "normal"):
            if (getattr(self, word) is None) == (self.shell is None) and word not in check.bad:
                check.fail(word, "is missing" if self.shell is None else "given beside 'shell', which has its own")
        if self.shell is None:
            self.on.report(check)
        for word in ("body", "beam"):
            if self.shell is not None and getattr(self, word) is not None:
                check.fail(word, "given beside 'shell': the load is on one of them")

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """Its centre; a load on a shell has none."""
        return super().markers if self.shell is None else {}

    def frames(self, layout: Layout) -> list[int]:
        return super().frames(layout) if self.shell is None else list(layout.shells[self.shell].frames)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Nothing to declare. Raises ModelError where there is no such shell."""
        shells = [item.name for item in model.items() if item.table == "shells"]
        if self.shell is not None and self.shell not in shells:
            names = ", ".join(map(repr, shells)) or "none"
            what = f"got {self.shell!r}, which is not in the model{nearest(self.shell, shells)}; shells: {names}"
            raise ModelError.at((self.table, self.name, "shell"), what)

    @classmethod
    def batches(cls, items: list[Any], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all on bodies and sections, and one of all on shells. Raises ModelError: a plate on what is
        fixed, or eclipses without an orbit."""
        plates, others = ([item for item in items if (item.shell is None) == flat] for flat in (True, False))
        batches: list[Batch] = []
        if plates:
            areas = np.array([item.area for item in plates])
            batches.append(PlateBatch(plates, layout, cls.law(plates, areas, layout, model)))
        if others:
            from femb.elements.shell.load_batch import ExposedBatch

            shells = {item.name: item for item in model.items() if item.table == "shells"}
            law = cls.law(others, np.ones(len(others)), layout, model)
            batches.append(ExposedBatch(others, shells, layout, law))
        return batches


@dataclass(frozen=True, eq=False)
class SolarPressure(Plate):
    """The pressure of sunlight on a flat plate of a body or of a beam's section, or on a shell, by optical properties.

    No part of the model throws a shadow on another one. Light that is not reflected is absorbed.

    Raises ModelError: an area or pressure that is not positive, a direction of length zero, reflected parts below zero
    or above one together, eclipses without a closed orbit. Source: docs/theory/actuators.md, equation (9).
    """

    kind: ClassVar[str] = "solar_pressure"
    law: ClassVar[type[Any]] = SunLaw

    name: str
    area: Annotated[float | None, Unit("m2"), POSITIVE] = None
    normal: UnitVector | None = None
    sun: UnitVector | None = None
    """direction to the sun, inertial axes"""
    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    node: int = -1
    shell: str | None = None
    two_sided: bool = False
    specular: Annotated[float, Unit(""), NOT_NEGATIVE] = 0.0
    """part of the light that is reflected as by a mirror"""
    diffuse: Annotated[float, Unit(""), NOT_NEGATIVE] = 0.0
    """part of the light that is reflected in all directions"""
    pressure: Annotated[float, Unit("Pa"), POSITIVE] = SUNLIGHT
    """by default at the distance of the Earth"""
    eclipse: bool = False
    """no light in the shadow of the orbit's central body, a cylinder"""
    shadow_radius: Annotated[float, Unit("m"), POSITIVE] = EARTH_RADIUS
    """of this cylinder"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
        super().check(check)
        if self.sun is None and "sun" not in check.bad:
            check.fail("sun", "is missing: a direction")
        if not {"specular", "diffuse"} & check.bad and self.specular + self.diffuse > 1.0:
            check.fail(
                "diffuse", f"got {self.specular:.6g} + {self.diffuse:.6g} of the light, wanted at most 1 together"
            )

    def symmetry(self, around: Surroundings) -> Symmetry:
        # Translations, and turns about the direction to the sun.
        return Symmetry(twists(AXES, along(np.asarray(self.sun))), np.zeros((0, 6)))


@dataclass(frozen=True, eq=False)
class PlateDrag(Plate):
    """The drag of thin air on a flat plate of a body or of a beam's section, or on a shell, against the velocity.

    No part of the model shelters another one.

    Raises ModelError: numbers that are not positive, a direction of length zero. Source: docs/theory/actuators.md,
    equation (10).
    """

    kind: ClassVar[str] = "plate_drag"
    law: ClassVar[type[Any]] = AirLaw
    resists_flight: ClassVar[bool] = True

    name: str
    area: Annotated[float | None, Unit("m2"), POSITIVE] = None
    normal: UnitVector | None = None
    density: Annotated[float | None, Unit("kg/m3"), POSITIVE] = None
    """of the air; by default that of the model's atmosphere, with its rotation, at the place of the plate"""
    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    node: int = -1
    shell: str | None = None
    two_sided: bool = False
    coefficient: Annotated[float, Unit(""), POSITIVE] = 2.2
    """of the drag, relative to the area across the flow"""
    wind: Annotated[Vector, Unit("m/s")] = (0.0, 0.0, 0.0)
    """velocity of the air, inertial axes"""
    rotation: Annotated[float, Unit("rad/s")] = 0.0
    """of the air about the inertial z axis in a model with an orbit or a gravity gradient, the velocity of whose origin
    counts"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
        super().check(check)
        if self.density is None and self.rotation and not {"density", "rotation"} & check.bad:
            check.fail("rotation", "is that of the atmosphere, whose density the plate has: give it there")

    def atmosphere(self, model: ModelView) -> tuple[Atmosphere, Callable[[float], Floats]]:
        """``atmosphere_of`` the model, whose density the plate has."""
        return atmosphere_of(model, (self.table, self.name))

    def symmetry(self, around: Surroundings) -> Symmetry:
        # Translations at rest, and turns that keep the wind; in orbit its direction changes. None in air by altitude.
        if self.density is None:
            return NO_MOTION
        moving = orbital_motion(around.model) is not None
        return Symmetry(TRANSLATIONS, TRANSLATIONS[:0], at_speed=False) if moving else in_air(self.wind)


class PlateBatch(StationForces):
    """Forces of a law on plates of bodies and sections."""

    def __init__(self, items: list[Any], layout: Layout, law: PlateLaw) -> None:
        super().__init__(items, layout)
        self.inputs, self.levels, self.check = law.inputs, law.levels, law.check
        normal = self.in_frame([item.normal for item in items])
        self.set_law(law.kind, law.width * np.arange(len(items)), [normal, law.numbers])

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        force, _ = self.wrenches(frames.u, frames.q, frames.v)
        return {f"loads/{item.name}/force": force[:, k] for k, item in enumerate(self.items)}
