"""Plates in sunlight and in thin air: the pressure of radiation, and drag of free molecules, by normal and velocity.

Source: docs/theory/actuators.md, section 4.
"""

from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np

from femb.base.types import Floats
from femb.elements.environment.atmosphere import stream
from femb.elements.environment.density import density
from femb.elements.environment.orbital_frame import orbital_motion, sunlight
from femb.layout.element import Input, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.views import ModelView
from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.duals import Number, Vector3, dot, lift, zeros_like
from femb.numerics.compiler.traced import V3, of_one, put, reader, traced
from femb.profiles import Profile

# Numbers (9,) of a plate: whether it is TWO_SIDED; in light, the direction to the SUN (3), the FULL force (N) and the
# SPECULAR and DIFFUSE parts of the light; in air, whether the density is GIVEN, HALF the density times the area times
# the coefficient, and velocity (3) and place (3) of the ORIGIN of the model.

LIGHT, AIR = 0, 1
TWO_SIDED = 0
SUN, FULL, SPECULAR, DIFFUSE = slice(1, 4), 4, 5, 6
GIVEN, HALF, ORIGIN_VELOCITY, ORIGIN = 1, 2, 3, 6
V9 = reader(9)
Numbers: TypeAlias = Annotated[Any, (9,)]


@traced
def light(numbers: Numbers, n: Vector3, side: Number, factor: Number) -> Any:
    """The force of light (9) on a plate with the normal n, inertial axes. side : 1, -1 for the other one, or zero."""
    sun, specular = numbers[SUN], numbers[SPECULAR]
    c = side * dot(n, sun)
    reflected = 2.0 * (specular * c + numbers[DIFFUSE] / 3.0) * side
    return -factor * numbers[FULL] * c * ((1.0 - specular) * sun + reflected * n)


@traced
def air(numbers: Numbers, n: Vector3, flow: Vector3, side: Number, factor: Number) -> Any:
    """The force of thin air (10); factor : times the density, or of one that is given. side : as in ``light``."""
    return -factor * numbers[HALF] * side * dot(n, flow) * flow


@traced
def density_at(value: Number, slope: Vector3, x: Vector3) -> Any:
    """A density with its changes by the place."""
    return lift(value, *zip(slope, x, strict=True))


@traced
def no_change(n: Vector3, w: Vector3, x: Vector3) -> Any:
    """Zeros (3,) with as many changes as a normal, velocity and place."""
    return zeros_like(n + w + x)


@traced
def cosine(n: Vector3, along: Vector3) -> Any:
    """The cosine of the angle of a normal and a direction, times the length of that."""
    return dot(n, along)


@inlined
def facing(numbers, cosine):
    """Side, 1 or -1 for the other one, of a plate at a ``cosine``; zero if it does not count."""
    if numbers[TWO_SIDED] > 0.0 and cosine < 0.0:
        return -1.0
    return 1.0 if cosine > 0.0 else 0.0


@inlined
def plate_force(kind, numbers, levels, u, first, n, w, x):
    """The force (3,) N on a plate by its normal n, velocity w and place x (3,), with their changes; and -1, or as
    ``density`` the distance that the atmosphere does not have.

    All in inertial axes. kind : LIGHT or AIR. levels : of ``density``. first : where its inputs begin in u.
    """
    row, F, found = V9(numbers), no_change(n, w, x), -1
    if kind == LIGHT:
        F = F + light(row, n, facing(numbers, of_one(cosine(n, V3(numbers[SUN])))), u[first])
    else:
        flow, value, place, slope = w + row[ORIGIN_VELOCITY:ORIGIN] - V3(u[first + 1 :]), 1.0, np.empty(3), np.zeros(3)
        if numbers[GIVEN] == 0.0:
            put(of_one(x + row[ORIGIN:] + V3(u[first + 4 :])), place)
            value = density(levels, place, slope)
            if value < 0.0:
                found = int(0.5 - value)
        factor = u[first] * density_at(value, V3(slope), x)
        F = F + air(row, n, flow, facing(numbers, of_one(cosine(n, flow))), factor)
    return F, found


class PlateLaw:
    """The law of k plates.

    kind : LIGHT or AIR. numbers (k, 9) : see above. inputs : of each plate, one after the other. width : how many
    values those of a plate have. levels : of an atmosphere, see ``density``.
    """

    kind: ClassVar[int]
    width: int
    inputs: tuple[Input, ...]
    levels: Floats = np.empty((0, 3))

    def __init__(self, items: list[Any]) -> None:
        self.numbers = np.zeros((len(items), 9))
        self.numbers[:, TWO_SIDED] = [item.two_sided for item in items]

    def check(self, distance: int) -> None:
        """Raise SolveError where a kernel has returned a distance that the atmosphere does not have, not -1."""


class SunLaw(PlateLaw):
    """Plates in sunlight, equation (9); their input is a factor."""

    kind = LIGHT
    width = 1

    def __init__(self, items: list[Any], areas: Floats, layout: Layout, model: ModelView) -> None:
        super().__init__(items)
        found: dict[tuple[float, ...], Profile] = {}
        self.inputs = tuple(_light(item, model, found) for item in items)
        self.numbers[:, SUN] = [item.sun for item in items]
        self.numbers[:, FULL] = areas * [item.pressure for item in items]
        self.numbers[:, SPECULAR] = [item.specular for item in items]
        self.numbers[:, DIFFUSE] = [item.diffuse for item in items]


class AirLaw(PlateLaw):
    """Plates in thin air, equation (10); their inputs are a factor, the wind (3,) m/s relative to the model, and where
    one has the density of the atmosphere, the place (3,) m of the model's origin from the central body."""

    kind = AIR

    def __init__(self, items: list[Any], areas: Floats, layout: Layout, model: ModelView) -> None:
        super().__init__(items)
        given = [item.density is not None for item in items]
        self.air = None if all(given) else items[given.index(False)].atmosphere(model)[0]
        self.width = 4 if self.air is None else 7
        self.inputs = tuple(each for item in items for each in _air(item, model, self.width))
        self.numbers[:, GIVEN] = given
        self.numbers[:, HALF] = areas * [0.5 * (item.density or 1.0) * item.coefficient for item in items]
        self.numbers[:, ORIGIN_VELOCITY:ORIGIN], self.numbers[:, ORIGIN:] = layout.origin_velocity, layout.origin
        if self.air is not None:
            self.levels = self.air.levels

    def check(self, distance: int) -> None:
        if self.air is not None:
            self.air.check_distance(distance)


def _light(item: Any, model: ModelView, found: dict[tuple[float, ...], Profile]) -> Input:
    """The factor of a plate in sunlight, zero in eclipse; found : eclipses by the sun and the radius of the shadow."""
    label, profile = f"loads.{item.name}.profile", item.profile
    if not item.eclipse:
        return Input.of_profile(profile, label)
    key = (*item.sun, item.shadow_radius)
    if key not in found:
        found[key] = sunlight(model, (item.table, item.name), np.asarray(item.sun), item.shadow_radius)
    lit = found[key]
    breakpoints = (*breakpoints_of(profile), *breakpoints_of(lit))
    return Input(1, lambda t: lit(t) * profile(t), breakpoints=breakpoints, label=label)


def _air(item: Any, model: ModelView, width: int) -> tuple[Input, Input]:
    """The factor of a plate in air, and the wind in the frame of the model, which may move on an orbit, with the place
    of this frame where a law has that width."""
    motion, wind, label = orbital_motion(model), np.array(item.wind), f"loads.{item.name}"
    if item.density is None:
        of_air = item.atmosphere(model)[1]

        def at(t: float) -> Floats:
            return np.asarray(of_air(t) + np.append(wind, np.zeros(3)))

    else:

        def at(t: float) -> Floats:
            relative = wind if motion is None else wind + stream(motion, t, item.rotation)
            return np.concatenate([relative, np.zeros(width - 4)])

    factor = Input(1, item.profile, breakpoints=breakpoints_of(item.profile), label=f"{label}.profile")
    return factor, Input(width - 1, at, label=f"{label}.wind", unit="m/s", surroundings=True, factor=False)
