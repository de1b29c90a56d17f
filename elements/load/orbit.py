"""Gravity of a central body on every mass: on an orbit of the model's frame, or its gradient about a fixed point."""

from dataclasses import dataclass
from functools import cached_property
from math import cos, pi, sin
from typing import Annotated, Any, ClassVar, NoReturn

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError, SolveError
from femb.base.profile import columns_of
from femb.base.quantity import Group
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, Numbers, Points, Unit, UnitVector, Vector
from femb.base.values import frozen_array
from femb.elements.force_results import LoadResults
from femb.elements.item import Item
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.symmetry import NO_MOTION, TRANSLATIONS, Surroundings, Symmetry
from femb.layout.views import ModelView, OutputStates, StartPoses
from femb.numerics import orbits as kepler
from femb.numerics.orbits import EARTH, EARTH_RADIUS
from femb.numerics.paths import DEGREE, Central, DisturbedPath, GivenPath, KeplerPath, Path, PathPoint, keeping, places

# Parts of a period, below which no motion of a body alone in orbit is of interest by default.
SLOW = 600.0
# Largest distance of a part of the model from the frame's origin at the start, in distances of the central body.
FARTHEST = 0.1
# Largest J2: up to it the gradient of gravity is a tension along the vertical and a pressure across, everywhere.
LARGEST_J2 = 0.1
VECTORS = ("position", "velocity")
TABLE = ("file", "times", "positions")
ELEMENTS = ("semi_major_axis", "eccentricity", "inclination", "ascending_node", "periapsis", "anomaly")


@dataclass(frozen=True, eq=False)
class Orbit(Item):
    """The gravity of a central body on every mass of the model, in a frame that moves on an orbit.

    The origin of the model's frame moves as a free point mass about the central body, or through given points; its axes
    do not turn. Positions and velocities of all items and of the results are relative to this origin. The start is a
    position and a velocity, or elements of an ellipse, a parabola or a hyperbola.

    The force on every frame is the difference of gravity between its position and the origin, exact at any distance;
    within a body or an element, gravity varies linearly. Energies and momenta of the audit are those in the moving
    frame. Masses move as gravity has it, also where a table does not.

    Raises ModelError: mu that is not positive, a position of zero or along the velocity, elements of no orbit, a table
    that does not begin at 0 or before, a second orbit, a gravity gradient beside it, a model with something fixed in
    space, and one with parts a tenth of the orbit's radius away from the origin. Source: docs/theory/orbit.md.
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "orbit"
    results: ClassVar[type[Group]] = LoadResults
    follows_origin: ClassVar[bool] = True

    name: str
    position: Annotated[Vector | None, Unit("m")] = None
    """of the frame's origin from the centre of the body at time 0, inertial axes, not along the velocity"""
    velocity: Annotated[Vector | None, Unit("m/s")] = None
    """of the frame's origin relative to the centre of the body at time 0, inertial axes"""
    mu: Annotated[float, Unit("m3/s2"), POSITIVE] = kepler.EARTH
    """gravitational constant times mass of the central body"""
    semi_major_axis: Annotated[float | None, Unit("m")] = None
    """in place of position and velocity, with the next elements; negative of a hyperbola"""
    eccentricity: Annotated[float, Unit(""), NOT_NEGATIVE] = 0.0
    """not 1"""
    inclination: Annotated[float, Unit("rad")] = 0.0
    """against the x-y plane"""
    ascending_node: Annotated[float, Unit("rad")] = 0.0
    """its longitude from x"""
    periapsis: Annotated[float, Unit("rad")] = 0.0
    """its argument"""
    anomaly: Annotated[float, Unit("rad")] = 0.0
    """the true one at time 0"""
    j2: Annotated[float, Unit("")] = 0.0
    """oblateness of the body, 1.08263e-3 of the Earth; the elements are then those of the motion at time 0"""
    equatorial_radius: Annotated[float, Unit("m"), POSITIVE] = EARTH_RADIUS
    """of the oblate body"""
    pole: UnitVector = (0.0, 0.0, 1.0)
    """of the oblate body, a direction"""
    times: Annotated[Numbers | None, Unit("s")] = None
    """in place of a start, a table of where the origin is: at least six instants, from 0 or before on"""
    positions: Annotated[Points | None, Unit("m")] = None
    """at the times"""
    file: str | None = None
    """in place of both a table (.csv), with the columns time (s), x, y, z (m)"""

    def check(self, check: Checks) -> None:
        if check.bad:
            return
        check.require("j2", abs(self.j2) <= LARGEST_J2, f"wanted at most {LARGEST_J2:g}, as 1.08263e-3 of the Earth")
        vectors = [word for word in VECTORS if getattr(self, word) is not None]
        elements = [word for word in ELEMENTS if getattr(self, word)]
        table = [word for word in TABLE if getattr(self, word) is not None]
        if table and (elements or vectors):
            word = [*elements, *vectors][0]
            check.fail(word, f"is given beside {table[0]}: give a table, or where the orbit starts")
        elif table:
            self._check_table(check)
        elif elements and vectors:
            check.fail(vectors[0], f"is given beside {elements[0]}: give position and velocity, or elements")
        elif elements:
            self._check_elements(check, self.semi_major_axis)
        elif len(vectors) < 2:
            missing = next(word for word in VECTORS if word not in vectors)
            check.fail(
                missing,
                "is missing: give position and velocity, or semi_major_axis and other elements, or times and positions",
            )
        if not check.bad:
            position, velocity = self.start
            momentum = np.linalg.norm(np.cross(position, velocity))
            if not np.any(position):
                check.fail("position", "is the centre of the body: wanted the distance from it, m")
            elif momentum <= 1e-9 * np.linalg.norm(position) * np.linalg.norm(velocity):
                check.fail("velocity", "is zero or along the position: the orbit falls into the centre of the body")

    def _check_table(self, check: Checks) -> None:
        if self.file is not None:
            try:
                columns = [columns_of(self.file, k) for k in (2, 3, 4)]
            except ModelError as error:
                check.fail("file", str(error))
                return
            found: dict[str, Any] = {"times": columns[0][0], "positions": np.array([values for _, values in columns]).T}
            for word, values in found.items():
                if getattr(self, word) is not None and not np.array_equal(getattr(self, word), values):
                    check.fail(word, "given beside 'file', which has them: give one of them")
                object.__setattr__(self, word, frozen_array(values))
        missing = [word for word in ("times", "positions") if getattr(self, word) is None]
        if missing:
            check.fail(missing[0], "is missing: give times and positions, or a file")
            return
        times = np.asarray(self.times)
        check.require("times", np.all(np.diff(times) > 0.0), "must rise from each to the next")
        check.require("times", len(times) > DEGREE, f"got {len(times)}, wanted at least {DEGREE + 1}")
        check.require("times", times[0] <= 0.0 < times[-1], f"begins at {times[0]:g} s, wanted the start of runs, 0 s")
        count = len(self.positions)  # type: ignore[arg-type]
        check.require("positions", count == len(times), f"got {count}, wanted {len(times)}, one a time")

    def _check_elements(self, check: Checks, axis: float | None) -> None:
        if axis is None:
            check.fail("semi_major_axis", "is missing: elements of an orbit need its size")
        elif not axis * (1.0 - self.eccentricity**2) > 0.0:
            check.fail(
                "semi_major_axis",
                f"got {axis:.6g} m with the eccentricity {self.eccentricity:.6g}; wanted above 0 of an ellipse, below "
                "0 of a hyperbola; a parabola takes position and velocity",
            )
        elif 1.0 + self.eccentricity * cos(self.anomaly) <= 1e-9:
            check.fail("anomaly", f"got {self.anomaly:.6g} rad, which the hyperbola does not reach")

    @cached_property
    def central(self) -> Central:
        """The central body."""
        return Central(self.mu, 1.5 * self.j2 * self.mu * self.equatorial_radius**2, np.asarray(self.pole))

    @cached_property
    def start(self) -> tuple[Floats, Floats]:
        """Position (3,) m and velocity (3,) m/s of the frame's origin relative to the central body at time 0."""
        if self.times is not None:
            return self.path(0.0)[:2]
        if self.semi_major_axis is None:
            return np.asarray(self.position, dtype=float), np.asarray(self.velocity, dtype=float)
        angles = self.inclination, self.ascending_node, self.periapsis, self.anomaly
        return kepler.of_elements(self.mu, self.semi_major_axis, self.eccentricity, *angles)

    @cached_property
    def path(self) -> Path:
        """The motion of the frame's origin as a function of the time (s)."""
        if self.times is not None:
            return GivenPath(np.asarray(self.times), np.asarray(self.positions))
        return DisturbedPath(self.central, *self.start) if self.j2 else KeplerPath(self.mu, *self.start)

    @cached_property
    def _kept(self) -> Path:
        return keeping(self.path)

    def path_at(self, time: float) -> PathPoint:
        """Position (3,) m, velocity (3,) m/s and acceleration (3,) m/s2 of the frame's origin relative to the central
        body at a time (s). Raises SolveError: a time after the table."""
        try:
            return self._kept(time)
        except ValueError as error:
            raise SolveError(f"loads.{self.name}.times: {error}: give a longer table, or a shorter run") from None

    def motion_at(self, time: float) -> tuple[Floats, Floats]:
        """Position (3,) m and velocity (3,) m/s of the frame's origin relative to the central body at a time (s)."""
        return self.path_at(time)[:2]

    def position_at(self, time: float) -> Floats:
        """Position (3,) m of the frame's origin relative to the central body at a time (s)."""
        return self.path_at(time).position

    def gravity_at(self, time: float, point: Floats) -> tuple[Floats, Floats]:
        """The acceleration (3,) m/s2 of masses at a point (3,) m of the frame, at a time (s), by gravity there less
        that of the origin; and its derivative (3, 3)."""
        field = self.field_at(time)
        return self.central.tide(field[:3], point) + field[3:], self.central.gradient(field[:3] + point)

    def field_at(self, time: float) -> Floats:
        """(6,) the position (m) of the frame's origin and the acceleration (m/s2) of a mass there, at a time (s)."""
        position, _, acceleration = self.path_at(time)
        # zero but on a path that is not that of a free point
        felt = np.zeros(3) if self.times is None else self.central.gravity(position) - acceleration
        return np.concatenate([position, felt])

    @property
    def known_until(self) -> float:
        return np.inf if self.times is None else float(self.times[-1])

    def places(self, end: float) -> tuple[Floats, Floats]:
        """Instants (m,) s from 0 to an end (s) or beyond, and positions (m, 3) m of the origin there."""
        path = self.path
        return path.places(end) if isinstance(path, DisturbedPath) else places(path, self.mu, end)

    @property
    def repeats(self) -> bool:
        """Whether the path is that of an ellipse, again and again."""
        return self.times is None and not self.j2 and self.period < np.inf

    def axes_at(self, time: float) -> NoReturn:
        """Raises ModelError: attitudes have one frame, with other axes, ``femb.orbital_frame``. time : s."""
        raise ModelError(
            f"axes_at({time:g}): the frame of the orbit is femb.orbital_frame(model, t), with x ahead, y against the "
            "normal and z down: up is -z, along the orbit x, and its normal -y"
        )

    def symmetry(self, around: Surroundings) -> Symmetry:
        # None: gravity depends on the place, and its direction turns.
        return NO_MOTION

    @property
    def period(self) -> float:
        """Time of one revolution without oblateness, s; infinite of a parabola or hyperbola."""
        return kepler.period(self.mu, *self.start)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Nothing but the time of slow motions."""
        layout.slow_time = self.period / SLOW if self.period < np.inf else 0.0

    @staticmethod
    def batches(items: list["Orbit"], layout: Layout, model: ModelView) -> list[Batch]:
        """The forces on all masses. Raises ModelError: a second field, something fixed or far away."""
        from femb.elements.load.central_gravity import OrbitBatch

        orbit, *others = items
        if others:
            raise ModelError.at(
                ("loads", others[0].name), f"is a second orbit beside {orbit.name!r}: the model has one frame; give one"
            )
        gradient = next((item for item in model.items() if item.kind == "gravity_gradient"), None)
        if gradient is not None:
            raise ModelError.at(
                ("loads", gradient.name),
                f"is part of the gravity of the orbit {orbit.name!r} already: give one of them",
            )
        fixed = [frame.label for frame in layout.frames if not frame.freedom]
        if fixed:
            raise ModelError.at(
                ("loads", orbit.name),
                f"the frame of the model moves on an orbit, but {fixed[0]!r} is fixed in it, and would need a force to "
                "hold it there: leave out what is fixed, or the orbit",
            )
        distance = max(float(np.linalg.norm(layout.origin + frame.position)) for frame in layout.frames)
        if distance > FARTHEST * np.linalg.norm(orbit.start[0]):
            raise ModelError.at(
                ("loads", orbit.name),
                "positions of bodies and beams are relative to the point that moves on the orbit, but one is "
                f"{distance:.6g} m away from it: give positions relative to this point, such as [0, 0, 0]",
            )
        spacing = np.inf if orbit.times is None else float(np.diff(orbit.times).min())
        return [OrbitBatch(orbit.name, orbit.central, orbit.field_at, spacing, layout)]

    @staticmethod
    def records(items: list["Orbit"], system: RecordedSystem) -> Records:
        def series(frames: OutputStates) -> dict[str, Floats]:
            block: dict[str, Floats] = {}
            for orbit in items:
                motions = np.array([orbit.motion_at(float(t)) for t in frames.time]).reshape(-1, 2, 3)
                block[f"loads/{orbit.name}/position"] = motions[:, 0]
                block[f"loads/{orbit.name}/velocity"] = motions[:, 1]
            return block

        return Records(series=series)


# Gravity gradient: the field of gravity about a point that moves along a circular orbit.


@dataclass(frozen=True, eq=False)
class GravityGradient(Item):
    """The gravity gradient in a circular orbit, on every mass of the model: bodies, beams and flexible bodies.

    The axes of the model do not rotate. Their origin falls with a point on the orbit; gravity is the acceleration n^2
    (3 (o . r) o - r) at the distance r. The local vertical o rotates about the normal of the orbit with the rate n.

    Raises ModelError: none or several of rate, altitude and radius; directions that are not perpendicular. Source:
    docs/theory/gravity_gradient.md.
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "gravity_gradient"
    results: ClassVar[type[Group]] = LoadResults

    name: str
    rate: Annotated[float | None, Unit("rad/s"), POSITIVE] = None
    """n"""
    altitude: Annotated[float | None, Unit("m")] = None
    """in place of the rate, above the Earth's equator"""
    radius: Annotated[float | None, Unit("m"), POSITIVE] = None
    """in place of the rate, of the orbit"""
    mu: Annotated[float, Unit("m3/s2"), POSITIVE] = EARTH
    """from which n follows by altitude or radius"""
    radial: UnitVector = (1.0, 0.0, 0.0)
    """o at t = 0, inertial axes"""
    normal: UnitVector = (0.0, 0.0, 1.0)
    """of the orbit, perpendicular to radial, inertial axes"""
    origin: Annotated[Vector | None, Unit("m")] = None
    """the inertial point on the orbit; by default the mass centre as it moves, or at the start if the model has fixed
    parts"""

    def check(self, check: Checks) -> None:
        check.exactly_one("rate", "altitude", "radius")
        if self.altitude is not None and "altitude" not in check.bad:
            check.require("altitude", self.altitude > -EARTH_RADIUS, "must be above the centre of the Earth")
        if {"radial", "normal"} & check.bad:
            return
        cosine = float(np.dot(self.radial, self.normal))
        if abs(cosine) > 1e-6:
            angle = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
            check.fail("normal", f"is at {angle:.6g} deg from 'radial', wanted 90 deg: it is normal to the orbit")

    def symmetry(self, around: Surroundings) -> Symmetry:
        # Translations of the whole model about whose mass centre it is.
        of_centre = self.origin is None and not around.fixed
        return Symmetry.of(TRANSLATIONS) if of_centre else NO_MOTION

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
        return self.path_at(t)[:2]

    def path_at(self, t: float) -> PathPoint:
        """Position (3,) m, velocity (3,) m/s and acceleration (3,) m/s2 as in ``motion_at``."""
        radius, (radial, ahead) = (self.mu / self.orbital_rate**2) ** (1.0 / 3.0), self._plane
        angle, position = self.orbital_rate * t, radius * self.vertical(t)
        direction = cos(angle) * ahead - sin(angle) * radial
        return PathPoint(position, radius * self.orbital_rate * direction, -(self.orbital_rate**2) * position)

    def places(self, end: float) -> tuple[Floats, Floats]:
        """Instants (m,) s from 0 to an end (s), and positions (m, 3) m of the point there."""
        return places(self.path_at, self.mu, end)

    @property
    def repeats(self) -> bool:
        """Whether the path is that of a circle, again and again."""
        return True

    @cached_property
    def _plane(self) -> tuple[Floats, Floats]:
        """o at t = 0, and the direction of the motion."""
        return np.asarray(self.radial, dtype=float), np.cross(self.normal, self.radial)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Nothing but the time of slow motions."""
        layout.slow_time = self.period / SLOW

    @staticmethod
    def batches(items: list["GravityGradient"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch for each, since each acts on the whole model."""
        from femb.elements.load.mass_field import GravityGradientBatch

        return [GravityGradientBatch(item, layout) for item in items]
