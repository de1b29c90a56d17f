"""Loads along a beam: forces and moments per length, heating, and drag."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, Numbers, OneOf, Pair, Rows, Strains, Unit, Vector
from femb.base.values import as_numbers, finite_problem, frozen_array, order_problem, shown
from femb.elements.environment.atmosphere import Atmosphere, atmosphere_of
from femb.elements.force_results import LoadResults
from femb.elements.item import Item
from femb.elements.marker import Place
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.symmetry import AXES, NO_MOTION, Surroundings, Symmetry, in_air, of_directions, with_host
from femb.layout.views import ModelView, StartPoses
from femb.profiles import Constant, Profile

SHAPES = ((3,), (1, 3), (2, 3), (3, 3))


class OnBeam(Item):
    """Base class of loads along a beam."""

    table: ClassVar[str] = "loads"
    results: ClassVar[type[Group]] = LoadResults

    beam: str
    """its name"""
    profile: Profile
    """factor of the load: a profile or any function of time"""

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        return {(): Place(beam=self.beam)}

    def in_batch(self, layout: Layout, model: ModelView) -> bool:
        """Whether its beam does not carry its loads itself."""
        return not model.beams[self.beam].carries_loads


@dataclass(frozen=True, eq=False)
class DistributedLoad(OnBeam):
    """A force (N/m) and/or torque (N m/m) per unstretched length along a beam.

    Each is three numbers of a uniform load, rows (start, end) of a linear or (start, middle, end) of a quadratic one.
    In Python also a function s -> (3,) of the length (m) from the start.

    Loads of constant direction are integrated exactly up to quadratic ones, others with three Gauss points per element:
    put nodes where a load jumps or bends.

    Raises ModelError: no force or torque, not one to three rows of three numbers, or not one for each station, stations
    out of order or beyond the beam, unknown frame. Source: docs/theory/beam_loads.md, equations (6) to (12).
    """

    kind: ClassVar[str] = "distributed"
    batch: ClassVar[str] = "femb.elements.load.line_load_batch:LineLoadBatch"

    name: str
    beam: str
    force: Annotated[Rows, Unit("N/m")] = None
    """three numbers, or rows of them from the start to the end"""
    torque: Annotated[Rows, Unit("N")] = None
    """three numbers, or rows of them from the start to the end"""
    frame: Annotated[str, OneOf(("inertial", "body"))] = "inertial"
    """either "inertial", or "body" for the axes of the section, with which the load rotates"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen
    stations: Annotated[Numbers, Unit("m")] = None
    """increasing lengths from the start of the beam, with a row of force and of torque for each; linear between
    them, zero outside"""

    def check(self, check: Checks) -> None:
        if self.force is None and self.torque is None:
            check.fail("force", "neither force nor torque is given")
        self._check_stations(check)
        if "stations" in check.bad:
            return
        shapes: tuple[tuple[int, ...], ...] = SHAPES
        wanted = "three numbers, or two or three rows of three numbers; more rows need 'stations'"
        if self.stations is not None:
            shapes = ((len(self.stations), 3),)
            wanted = f"a row of three numbers for each of {len(self.stations)} stations"
        for name in ("force", "torque"):
            value = getattr(self, name)
            if callable(value) and self.stations is not None:
                check.fail(
                    name, "a function given beside 'stations': give rows of three numbers, or leave out 'stations'"
                )
            if value is None or callable(value):
                continue
            rows = check.array(name, lambda x: x.shape in shapes and bool(np.isfinite(x).all()), wanted)
            if rows is not None:
                object.__setattr__(self, name, frozen_array(rows.reshape(-1, 3)))

    def _check_stations(self, check: Checks) -> None:
        if self.stations is None or "stations" in check.bad:
            return
        stations = as_numbers(self.stations)
        if stations is None or stations.ndim != 1 or len(stations) < 2:
            check.fail("stations", f"got {shown(self.stations)}, wanted two or more lengths from the start, m")
            return
        if problem := finite_problem(self.stations, stations) or order_problem(stations):
            check.fail("stations", problem)
        object.__setattr__(self, "stations", frozen_array(stations))

    def symmetry(self, around: Surroundings) -> Symmetry:
        # In axes of the section all motions; else those that keep its directions.
        if self.frame == "body":
            return with_host(self.changes_momenta)
        # three directions of a function, which are not known
        force, torque = (AXES if callable(each) else () if each is None else each for each in (self.force, self.torque))
        return of_directions(force, torque)

    def values(self, s: Floats, length: float) -> Floats:
        """Force and torque (n, 6) per length at the lengths s (n,) from the start of a beam of that length."""
        values, stations = [], self.stations
        if stations is not None and (stations[0] < -1e-9 * length or stations[-1] > (1.0 + 1e-6) * length):
            got = f"got stations from {stations[0]:.6g} to {stations[-1]:.6g} m"
            path = (self.table, self.name, "stations")
            raise ModelError.at(path, f"{got}, wanted them within 0 and {length:.6g} m, the length of the beam")
        for word, load in (("force", self.force), ("torque", self.torque)):
            try:
                values.append(_interpolated(load, s, length, stations))
            except Exception as error:  # of a user's function
                path, cause = (self.table, self.name, word), f"{type(error).__name__}: {error}"
                raise ModelError.at(path, f"fails along the beam: {cause}; wanted three numbers") from error
        return np.hstack(values)


def _interpolated(value: Any, s: Floats, length: float, stations: Floats | None) -> Floats:
    """(n, 3) values of a function, of lines between rows at stations, or of the polynomial through equidistant rows."""
    if value is None:
        return np.zeros((len(s), 3))
    if stations is not None:
        return np.stack([np.interp(s, stations, column, 0.0, 0.0) for column in value.T], axis=-1)
    if callable(value):
        return np.array([np.broadcast_to(np.asarray(value(float(x)), dtype=float), 3) for x in s])
    x = s[:, None] / length
    rows: Sequence[Floats] = value
    if len(rows) < 3:
        return rows[0] + x * (rows[-1] - rows[0])
    start, middle, end = rows
    return (1.0 - x) * (1.0 - 2.0 * x) * start + 4.0 * x * (1.0 - x) * middle + x * (2.0 * x - 1.0) * end


# Thermal load: uniform or one-sided heating of a beam.


@dataclass(frozen=True, eq=False)
class ThermalLoad(OnBeam):
    """Heating along a beam: the stress depends on the strain minus the strain of the free, heated beam.

    In the energy audit heating is work, and the potential energy is that of the stress. Material damping depends on the
    rate of the total strain.

    Raises ModelError: no temperature, gradient or strain; strain with one of the others; section without expansion.
    Source: docs/theory/beam_loads.md, equations (1) to (5).
    """

    kind: ClassVar[str] = "thermal"
    turns_with_host: ClassVar[bool] = True
    batch: ClassVar[str] = "femb.elements.load.thermal_batch:ThermalBatch"

    name: str
    beam: str
    temperature: Annotated[float | None, Unit("K")] = None
    """mean over the section, above the temperature of the stress-free reference shape"""
    gradient: Annotated[Pair | None, Unit("K/m")] = None
    """of the temperature along the section's y and z axes. The free beam bends away from its warmer side with the
    radius 1/(expansion times gradient)"""
    strain: Strains | None = None
    """instead of both, the strain of the free beam: axial strain, twist and curvatures about y and z (1/m)"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
        heated = [name for name in ("temperature", "gradient") if getattr(self, name) is not None]
        if not heated and self.strain is None:
            check.fail("temperature", "neither temperature, gradient nor strain is given")
        if heated and self.strain is not None:
            check.fail("strain", f"given beside {heated[0]!r}, which says the strain: give it in a load of its own")

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """None: the stresses of a beam are in equilibrium."""
        return ()

    def free_strain(self, expansion: float | None) -> Floats:
        """(4,) axial strain, twist and curvatures of the free beam, for a profile of one."""
        if self.strain is not None:
            return np.array(self.strain)
        y, z = self.gradient if self.gradient is not None else (0.0, 0.0)
        # curvatures cause the strain z kappa_2 - y kappa_3 in a fibre at (y, z)
        return (expansion or 0.0) * np.array([self.temperature or 0.0, 0.0, z, -y])

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Nothing to declare. Raises ModelError if a section of the beam has no expansion."""
        without = [each for each in model.beams[self.beam].sections_along(model) if each.expansion is None]
        if self.strain is None and without:
            section = without[0]
            word = "temperature" if self.temperature is not None else "gradient"
            raise ModelError.at(
                ("loads", self.name, word),
                f"needs the expansion (1/K) of the section {section.name!r} of beam {self.beam!r}: give it there",
            )


# Drag along a beam, and other forces per length that depend on the places and the velocities of its points.

NUMBERS = ("coefficient", "tangential_coefficient", "viscous")


@dataclass(frozen=True, eq=False)
class Drag(OnBeam):
    """Drag along a beam of either kind: a force per unstretched length against the velocity relative to a fluid.

    With the velocity u of a point of the axis relative to the fluid, and its parts u_n across the beam and u_t along
    it, the force per length is

        -density width / 2 (coefficient |u_n| u_n + tangential_coefficient |u_t| u_t) - viscous u

    Raises ModelError: neither coefficients nor law, or both; width is missing, or density without an atmosphere.
    Source: docs/theory/beam_loads.md, section 3.
    """

    kind: ClassVar[str] = "drag"
    resists_flight: ClassVar[bool] = True

    name: str
    beam: str
    density: Annotated[float | None, Unit("kg/m3"), POSITIVE] = None
    """of the fluid; by default that of the model's atmosphere at the altitude of the beam, which turns with it and
    through which the orbit moves"""
    width: Annotated[float, Unit("m"), NOT_NEGATIVE] = 0.0
    """breadth or diameter of the section"""
    coefficient: Annotated[float, Unit(""), NOT_NEGATIVE] = 0.0
    """of the drag across the beam"""
    tangential_coefficient: Annotated[float, Unit(""), NOT_NEGATIVE] = 0.0
    """of the drag along the beam"""
    viscous: Annotated[float, Unit("N s/m2"), NOT_NEGATIVE] = 0.0
    """the force per length by the velocity"""
    wind: Annotated[Vector, Unit("m/s")] = (0.0, 0.0, 0.0)
    """velocity of the fluid, inertial axes"""
    law: Callable[..., Any] | None = None
    """in Python, any force per length as a function ``law(t, s, position, velocity)`` of the time, the lengths s (m,)
    from the start of the beam to its Gauss points, and their positions and velocities (m, 3), inertial axes. It returns
    the force (m, 3), N/m, inertial axes; or this and its derivatives by position and by velocity, (m, 3, 3) each, for
    Newton's iterations and linearisation"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
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
            check.require("width", self.width > 0.0, f"must be above 0, since {given[0]!r} is given")

    def symmetry(self, around: Surroundings) -> Symmetry:
        # Translations at rest, and turns that keep the wind; none of a law, which may be any, or of air by altitude.
        return NO_MOTION if self.law is not None or self.atmosphere(around.model) else in_air(self.wind)

    @property
    def numbers(self) -> Floats:
        """(3,) density width / 2 times the coefficients across and along the beam, kg/m2, and the viscous one; those of
        the density one where it is that of the atmosphere."""
        half = 0.5 * (self.density or 1.0) * self.width
        return np.array([half * self.coefficient, half * self.tangential_coefficient, self.viscous])

    def atmosphere(self, model: ModelView) -> tuple[Atmosphere, Callable[[float], Floats]] | None:
        """``atmosphere_of`` the model where the load has its density, else None."""
        if self.density is not None or not (self.coefficient or self.tangential_coefficient):
            return None
        return atmosphere_of(model, (self.table, self.name))

    @staticmethod
    def batches(items: list["Drag"], layout: Layout, model: ModelView) -> list[Batch]:
        from femb.elements.load.drag_batch import DragBatch

        return [DragBatch(item, layout, model) for item in items]
