"""Flat plates in sunlight and in thin air: the pressure of radiation, and drag of free molecules."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group
from femb.base.types import Direction, Floats, Unit, Vector
from femb.elements.environment.orbital_frame import OrbitalMotion, orbital_motion, sunlight
from femb.elements.item import AtPoint
from femb.elements.load.at_stations import StationForces
from femb.elements.load.load import LoadResults
from femb.layout.element import Batch, Input, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.views import ModelView, OutputStates
from femb.numerics import rotations
from femb.numerics.orbits import EARTH_RADIUS
from femb.profiles import Constant, Profile

# Pressure (Pa) of sunlight on what absorbs it at the mean distance of the Earth.
SUNLIGHT = 4.56e-6


class Plate(AtPoint):
    """Base of loads on a flat plate: its ``area``, and its centre and outward ``normal`` on a body or a section."""

    table: ClassVar[str] = "loads"
    results: ClassVar[type[Group]] = LoadResults
    acts_on_attitude: ClassVar[bool] = True

    body: str | None
    beam: str | None
    at: Vector
    node: int

    def check(self, check: Checks) -> None:
        check.positive("area")
        self.on.report(check)
        self.check_direction(check, "normal")

    def check_direction(self, check: Checks, word: str) -> None:
        """Report a direction of length zero, and make others unit vectors."""
        if word in check.bad:
            return
        length = float(np.linalg.norm(getattr(self, word)))
        if length > 0.0:
            object.__setattr__(self, word, np.asarray(getattr(self, word)) / length)
        else:
            check.fail(word, "got a vector of length 0, wanted a direction")


@dataclass(frozen=True, eq=False)
class SolarPressure(Plate):
    """The pressure of sunlight on a flat plate of a body or of a beam's section, by its optical properties.

    area : m2. normal : outwards, in axes of the body or section, of any length. body and at (m, body axes), or beam,
    node and at (m, section axes) : the centre, where the force acts. two_sided : whether the other side counts too.
    sun : direction to the sun, inertial axes, of any length. specular, diffuse : parts of the light that are reflected
    as by a mirror and in all directions; the rest is absorbed. pressure : Pa, by default at the distance of the Earth.
    profile : factor; a Profile of femb.profiles or any callable of time. eclipse : whether there is no light in the
    shadow of the central body of the model's orbit, a cylinder with ``shadow_radius``, m, by default that of the Earth.

    No part of the model throws a shadow on another one. Raises ModelError: an area or pressure that is not positive, a
    direction of length zero, reflected parts below zero or above one together, eclipses without a closed orbit.
    Source: docs/theory/actuators.md, equation (9).
    """

    kind: ClassVar[str] = "solar_pressure"

    name: str
    area: Annotated[float, Unit("m2")]
    normal: Direction
    sun: Direction
    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    node: int = -1
    two_sided: bool = False
    specular: Annotated[float, Unit("")] = 0.0
    diffuse: Annotated[float, Unit("")] = 0.0
    pressure: Annotated[float, Unit("Pa")] = SUNLIGHT
    eclipse: bool = False
    shadow_radius: Annotated[float, Unit("m")] = EARTH_RADIUS
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
        super().check(check)
        self.check_direction(check, "sun")
        check.positive("pressure", "shadow_radius")
        check.not_negative("specular", "diffuse")
        if not {"specular", "diffuse"} & check.bad and self.specular + self.diffuse > 1.0:
            check.fail(
                "diffuse", f"got {self.specular:.6g} + {self.diffuse:.6g} of the light, wanted at most 1 together"
            )

    @staticmethod
    def batches(items: list["SolarPressure"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all such plates. Raises ModelError: one on what is fixed, or eclipses without an orbit."""
        return [SunBatch(items, layout, model)]


@dataclass(frozen=True, eq=False)
class PlateDrag(Plate):
    """The drag of thin air on a flat plate of a body or of a beam's section, against its velocity through the air.

    area : m2. normal : outwards, in axes of the body or section, of any length. body and at (m, body axes), or beam,
    node and at (m, section axes) : the centre, where the force acts. two_sided : whether the other side counts too.
    density : of the air, kg/m3. coefficient : of the drag, relative to the area across the flow. wind : velocity of the
    air, inertial axes, m/s. profile : factor; a Profile of femb.profiles or any callable of time.

    In a model with an orbit or a gravity gradient the velocity of its origin counts, and the air turns about the
    inertial z axis with ``rotation``, rad/s. No part of the model shelters another one. Raises ModelError: numbers that
    are not positive, a direction of length zero. Source: docs/theory/actuators.md, equation (10).
    """

    kind: ClassVar[str] = "plate_drag"
    resists_flight: ClassVar[bool] = True

    name: str
    area: Annotated[float, Unit("m2")]
    normal: Direction
    density: Annotated[float, Unit("kg/m3")]
    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    node: int = -1
    two_sided: bool = False
    coefficient: Annotated[float, Unit("")] = 2.2
    wind: Annotated[Vector, Unit("m/s")] = (0.0, 0.0, 0.0)
    rotation: Annotated[float, Unit("rad/s")] = 0.0
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
        super().check(check)
        check.positive("density", "coefficient")

    @staticmethod
    def batches(items: list["PlateDrag"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all such plates. Raises ModelError: one on what is fixed."""
        return [AirBatch(items, layout, orbital_motion(model))]


class PlateBatch(StationForces):
    """Forces F(n, w) on plates with the normals n and velocities w (s, k, 3), inertial axes."""

    def __init__(self, items: list[Any], layout: Layout) -> None:
        super().__init__(items, layout)
        self.normal = np.einsum("nij,nj->ni", self.axes, np.array([item.normal for item in items]))
        self.two_sided = np.array([item.two_sided for item in items])

    def force(self, u: Floats, n: Floats, w: Floats) -> Floats:
        """(s, k, 3) N."""
        raise NotImplementedError

    def force_slopes(self, u: Floats, n: Floats, w: Floats) -> tuple[Floats, Floats]:
        """Derivatives (k, 3, 3) of the forces by n (k, 3) and by w (k, 3) at one state."""
        raise NotImplementedError

    def facing(self, n: Floats, along: Floats) -> tuple[Floats, Floats]:
        """Sides (..., 1), 1 or -1 for the other one, of plates in a flow along a direction, and the cosines (..., 1) of
        their angles times the length of ``along``; zero on a side that does not count."""
        cosine = np.sum(n * along, axis=-1, keepdims=True)
        side = np.where(self.two_sided[:, None] & (cosine < 0.0), -1.0, 1.0)
        return side, np.maximum(side * cosine, 0.0)

    def motion(self, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Attitudes, normals and velocities of the centres, inertial axes, and w x d in axes of the frames."""
        attitude = self.attitudes(q)
        linear = v[:, self.in_v[:, None] + np.arange(3)]
        turning = rotations.cross(v[:, self.in_v[:, None] + np.arange(3, 6)], self.offset)
        velocity = linear + rotations.rotate(attitude, turning) + self.layout.origin_velocity
        return attitude, rotations.rotate(attitude, self.normal), velocity, turning

    def wrench(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        attitude, n, w, _ = self.motion(q, v)
        force = self.force(u, n, w)
        return force, rotations.cross(self.offset, rotations.rotate_back(attitude, force))

    def slopes(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        attitude, n, w, turning = self.motion(q[None], v[None])
        R, k = rotations.rotation_matrix(attitude[0]), len(self.items)
        by_n, by_w = self.force_slopes(u[None], n[0], w[0])
        force = self.force(u[None], n, w)[0]
        arm, back = rotations.cross_matrix(self.offset), np.swapaxes(R, -1, -2)
        by_velocity, by_pose = np.zeros((2, k, 6, 6))
        by_velocity[:, :3, :3], by_velocity[:, :3, 3:] = by_w, -by_w @ R @ arm
        by_pose[:, :3, 3:] = -by_n @ R @ rotations.cross_matrix(self.normal) - by_w @ R @ rotations.cross_matrix(
            turning
        )
        for part in (by_velocity, by_pose):
            part[:, 3:] = arm @ back @ part[:, :3]
        by_pose[:, 3:, 3:] += arm @ rotations.cross_matrix(np.einsum("kij,kj->ki", back, force))
        return by_velocity, by_pose

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """The force of every plate, inertial axes."""
        _, n, w, _ = self.motion(frames.q, frames.v)
        force = self.force(frames.u, n, w)
        return {f"loads/{item.name}/force": force[:, k] for k, item in enumerate(self.items)}


class SunBatch(PlateBatch):
    """Plates in sunlight, equation (9)."""

    def __init__(self, items: list[SolarPressure], layout: Layout, model: ModelView) -> None:
        super().__init__(items, layout)
        self.inputs = tuple(_light(item, model) for item in items)
        self.sun = np.array([item.sun for item in items])
        self.full = np.array([[item.pressure * item.area] for item in items])
        self.specular, self.diffuse = (
            np.array([[getattr(item, x)] for item in items]) for x in ("specular", "diffuse")
        )

    def _factor(self, u: Floats) -> Floats:
        """(s, k, 1) N, of plates that face the sun and absorb its light."""
        result: Floats = u[:, self.first_input : self.first_input + len(self.items), None] * self.full
        return result

    def force(self, u: Floats, n: Floats, w: Floats) -> Floats:
        side, c = self.facing(n, self.sun)
        reflected = 2.0 * (self.specular * c + self.diffuse / 3.0) * side
        result: Floats = -self._factor(u) * c * ((1.0 - self.specular) * self.sun + reflected * n)
        return result

    def force_slopes(self, u: Floats, n: Floats, w: Floats) -> tuple[Floats, Floats]:
        side, c = (x[..., None] for x in self.facing(n, self.sun))
        specular, diffuse, e = self.specular[..., None], self.diffuse[..., None], self.sun
        reflected = 2.0 * (specular * c + diffuse / 3.0) * side
        whole = (1.0 - specular) * e[..., None] + (reflected + 2.0 * specular * c * side) * n[..., None]
        by_n = side * whole * e[:, None, :] + c * reflected * np.eye(3)
        return -self._factor(u)[0][..., None] * np.where(c > 0.0, by_n, 0.0), np.zeros_like(by_n)


class AirBatch(PlateBatch):
    """Plates in thin air, equation (10); their inputs are a factor and the wind (3,) m/s relative to the model."""

    def __init__(self, items: list[PlateDrag], layout: Layout, motion: OrbitalMotion | None) -> None:
        super().__init__(items, layout)
        self.inputs = tuple(each for item in items for each in _air(item, motion))
        half = [[0.5 * item.density * item.coefficient * item.area] for item in items]
        self.half = np.array(half)

    def _flow(self, u: Floats, w: Floats) -> tuple[Floats, Floats]:
        """Factors (s, k, 1) kg/m and velocities (s, k, 3) through the air."""
        values = u[:, self.first_input : self.first_input + 4 * len(self.items)].reshape(len(u), len(self.items), 4)
        return values[..., :1] * self.half, w - values[..., 1:]

    def force(self, u: Floats, n: Floats, w: Floats) -> Floats:
        factor, w = self._flow(u, w)
        result: Floats = -factor * self.facing(n, w)[1] * w
        return result

    def force_slopes(self, u: Floats, n: Floats, w: Floats) -> tuple[Floats, Floats]:
        factors, flows = self._flow(u, w[None])
        factor, flow = factors[0][..., None], flows[0]
        side, c = (x[..., None] for x in self.facing(n, flow))
        on = -factor * side * (c > 0.0)
        by_n = on * flow[:, :, None] * flow[:, None, :]
        by_w = on * flow[:, :, None] * n[:, None, :] - factor * c * np.eye(3)
        return by_n, by_w


def _light(item: SolarPressure, model: ModelView) -> Input:
    """The factor of a plate in sunlight, zero in eclipse."""
    label, profile = f"loads.{item.name}.profile", item.profile
    if not item.eclipse:
        return Input.of_profile(profile, label)
    lit = sunlight(model, (item.table, item.name), np.asarray(item.sun), item.shadow_radius)
    breakpoints = (*breakpoints_of(profile), *breakpoints_of(lit))
    return Input(1, lambda t: lit(t) * profile(t), breakpoints=breakpoints, label=label)


def _air(item: PlateDrag, motion: OrbitalMotion | None) -> tuple[Input, Input]:
    """The factor of a plate in air, and the wind in the frame of the model, which may move on an orbit."""
    wind, label = np.array(item.wind), f"loads.{item.name}"

    def stream(t: float) -> Floats:
        if motion is None:
            return wind
        position, velocity = motion(t)
        turning: Floats = np.cross((0.0, 0.0, item.rotation), position)
        return wind + turning - velocity

    factor = Input(1, item.profile, breakpoints=breakpoints_of(item.profile), label=f"{label}.profile")
    return factor, Input(3, stream, label=f"{label}.wind", unit="m/s", surroundings=True)
