"""Magnetic fields: the tilted dipole of the Earth along an orbit, and uniform fields.

Source: docs/theory/actuators.md, section 3.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, sin, sqrt
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import POSITIVE, Floats, Unit, Vector
from femb.elements.environment.orbital_frame import OrbitalMotion, motion_of, orbital_motion
from femb.elements.force_results import FieldResults
from femb.elements.item import Item
from femb.elements.records import RecordedSystem, Records
from femb.layout.layout import Layout
from femb.layout.views import ModelView, OutputStates, StartPoses
from femb.profiles import Constant, Profile

# mu_0 M/(4 pi) of the Earth, T m3, and the rate of its rotation, rad/s.
EARTH_STRENGTH, EARTH_ROTATION = 7.746e15, 7.2921159e-5

Field = Callable[[float, Floats], Floats]


@dataclass(frozen=True, eq=False)
class MagneticField(Item):
    """Base of magnetic fields."""

    table: ClassVar[str] = "fields"
    results: ClassVar[type[Group]] = FieldResults

    name: str

    def at(self, motion: OrbitalMotion | None, t: float, position: Floats) -> Floats:
        """The field (3,) T at the time t (s), inertial axes, at a position (3,) m from the origin of the model's frame.

        motion : of the origin about the central body, None of a model without an orbit.
        """
        raise NotImplementedError

    @property
    def direction(self) -> Floats | None:
        """(3,) along which it is at all times and places; None where it changes."""
        return None

    def gradient(self, motion: OrbitalMotion | None, t: float, position: Floats) -> Floats:
        """(3, 3) T/m: the derivative of ``at``, with the same ``motion``, by the position (3,) m at the time t (s); by
        default zero."""
        return np.zeros((3, 3))

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        motion = orbital_motion(system.model)

        def series(frames: OutputStates) -> dict[str, Floats]:
            times = frames.time.tolist()
            return {
                f"fields/{item.name}/field": np.array([item.at(motion, t, np.zeros(3)) for t in times]).reshape(-1, 3)
                for item in items
            }

        return Records(series=series, motion=series)


@dataclass(frozen=True, eq=False)
class DipoleField(MagneticField):
    """The field of a tilted dipole that turns with the central body, such as that of the Earth, along the orbit.

    The model has an orbit or a gravity gradient: z is along the rotation of the Earth. The defaults are of the Earth,
    whose dipole has a tilt of about 9.4 deg.

    Raises ModelError: a strength that is not positive, no orbit. Source: docs/theory/actuators.md, equation (7).
    """

    kind: ClassVar[str] = "dipole"

    name: str
    strength: Annotated[float, Unit("T m3"), POSITIVE] = EARTH_STRENGTH
    """mu_0 M/(4 pi)"""
    tilt: Annotated[float, Unit("rad")] = 0.0
    """of the dipole's axis against the inertial z axis, about which it turns"""
    longitude: Annotated[float, Unit("rad")] = 0.0
    """of the dipole's northern pole from the inertial x axis at time 0"""
    rotation: Annotated[float, Unit("rad/s")] = EARTH_ROTATION
    """of the dipole"""

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Nothing; the model must have an orbit."""
        motion_of(model, ("fields", self.name), "is that of a dipole along an orbit")

    def axis(self, t: float) -> Floats:
        """(3,) the unit vector from the northern to the southern pole of the dipole at the time t (s)."""
        angle, across = self.longitude + self.rotation * t, sin(self.tilt)
        return np.array([-across * cos(angle), -across * sin(angle), -cos(self.tilt)])

    def at(self, motion: OrbitalMotion | None, t: float, position: Floats) -> Floats:
        distance, up = self._place(motion, t, position)
        # with numbers, since steps and samples ask for it at an instant each
        (x, y, z), (a, b, c) = up.tolist(), self.axis(t).tolist()
        size, along = self.strength / distance**3, 3.0 * (a * x + b * y + c * z)
        return np.array([size * (along * x - a), size * (along * y - b), size * (along * z - c)])

    def gradient(self, motion: OrbitalMotion | None, t: float, position: Floats) -> Floats:
        distance, up = self._place(motion, t, position)
        axis = self.axis(t)
        along = axis @ up
        shape = np.outer(up, axis) + np.outer(axis, up) + along * (np.eye(3) - 5.0 * np.outer(up, up))
        return np.asarray(3.0 * self.strength / distance**4 * shape)

    def _place(self, motion: OrbitalMotion | None, t: float, position: Floats) -> tuple[float, Floats]:
        """The distance (m) from the centre of the body, and the direction (3,) from there."""
        if motion is None:
            raise ModelError.at(("fields", self.name), "is that of a dipole along an orbit, but the model has no orbit")
        arm = motion(t)[0] + position
        distance = sqrt(arm @ arm)
        return distance, arm / distance


@dataclass(frozen=True, eq=False)
class UniformField(MagneticField):
    """A magnetic field that is the same everywhere, as that of a test facility. Fields of a model add up."""

    kind: ClassVar[str] = "uniform"

    name: str
    field: Annotated[Vector, Unit("T")]
    """inertial axes, times the profile"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen
    """factor of the field: a profile or any function of time"""

    @property
    def direction(self) -> Floats:
        return np.asarray(self.field)

    def at(self, motion: OrbitalMotion | None, t: float, position: Floats) -> Floats:
        return float(self.profile(t)) * np.asarray(self.field)


def magnetic_field(model: ModelView, path: tuple[str, ...]) -> Field:
    """The sum of a model's magnetic fields as a function of the time (s) and a position (3,) m, for an item at a path.

    Raises ModelError: there is none.
    """
    fields = [item for item in model.items() if isinstance(item, MagneticField)]
    if not fields:
        raise ModelError.at(path, "needs a magnetic field, but the model has none: add [fields.earth]")
    motion = orbital_motion(model)
    if len(fields) == 1:
        return lambda t, position: fields[0].at(motion, t, position)
    return lambda t, position: np.sum([each.at(motion, t, position) for each in fields], axis=0)


def field_gradient(model: ModelView) -> Field:
    """The sum of the gradients (3, 3) T/m of a model's magnetic fields as a function of the time (s) and a position."""
    fields = [item for item in model.items() if isinstance(item, MagneticField)]
    motion = orbital_motion(model)
    return lambda t, position: np.sum([each.gradient(motion, t, position) for each in fields], axis=0)


def field_breakpoints(model: ModelView) -> tuple[float, ...]:
    """The instants (s) at which a field is not smooth."""
    profiles = [item.profile for item in model.items() if isinstance(item, UniformField)]
    return tuple(sorted({t for profile in profiles for t in getattr(profile, "breakpoints", ())}))
