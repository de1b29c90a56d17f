"""Plates in sunlight and in thin air: the pressure of radiation, and drag of free molecules, by normal and velocity.

Source: docs/theory/actuators.md, section 4.
"""

from typing import Any, ClassVar

import numpy as np

from femb.base.types import Floats
from femb.elements.environment.atmosphere import stream
from femb.elements.environment.density import density
from femb.elements.environment.orbital_frame import orbital_motion, sunlight
from femb.layout.element import Input, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.views import ModelView
from femb.numerics.compiler.compile import inlined
from femb.numerics.vector3 import dot
from femb.profiles import Profile

# Numbers (9,) of a plate: whether it is TWO_SIDED; in light, the direction to the SUN (3), the FULL force (N) and the
# SPECULAR and DIFFUSE parts of the light; in air, whether the density is GIVEN, HALF the density times the area times
# the coefficient, and velocity (3) and place (3) of the ORIGIN of the model.

LIGHT, AIR = 0, 1
TWO_SIDED = 0
SUN, FULL, SPECULAR, DIFFUSE = slice(1, 4), 4, 5, 6
GIVEN, HALF, ORIGIN_VELOCITY, ORIGIN = 1, 2, 3, 6


@inlined
def plate_force(kind, numbers, levels, u, first, n, w, x, F, by_n, by_w, by_x):
    """Set the force F (3,) N on a plate, and its derivatives (3, 3) by its normal n, velocity w and place x (3,).

    All in inertial axes. kind : LIGHT or AIR. levels : of ``density``. first : where its inputs begin in u. Returns -1,
    or as ``density`` the distance that the atmosphere does not have.
    """
    by_n[:], by_w[:], by_x[:] = 0.0, 0.0, 0.0
    slope, flow = np.zeros(3), np.empty(3)
    if kind == LIGHT:
        sun, specular = numbers[SUN], numbers[SPECULAR]
        side, c = facing(numbers, n, sun)
        factor, reflected = -u[first] * numbers[FULL], 2.0 * (specular * c + numbers[DIFFUSE] / 3.0) * side
        for i in range(3):
            F[i] = factor * c * ((1.0 - specular) * sun[i] + reflected * n[i])
            if c > 0.0:
                whole = (1.0 - specular) * sun[i] + (reflected + 2.0 * specular * c * side) * n[i]
                for j in range(3):
                    by_n[i, j] = factor * side * whole * sun[j]
                by_n[i, i] += factor * c * reflected
        return -1
    value = 1.0
    for o in range(3):
        flow[o] = w[o] + numbers[ORIGIN_VELOCITY + o] - u[first + 1 + o]
    if numbers[GIVEN] == 0.0:
        place = by_x[0]
        for o in range(3):
            place[o] = x[o] + numbers[ORIGIN + o] + u[first + 4 + o]
        value = density(levels, place, slope)
        if value < 0.0:
            return int(0.5 - value)
    alone = u[first] * numbers[HALF]
    side, c = facing(numbers, n, flow)
    factor = -alone * value
    on = factor * side if c > 0.0 else 0.0
    for i in range(3):
        F[i] = factor * c * flow[i]
        for j in range(3):
            by_n[i, j] = on * flow[i] * flow[j]
            by_w[i, j] = on * flow[i] * n[j]
            by_x[i, j] = -alone * c * flow[i] * slope[j]
        by_w[i, i] += factor * c
    return -1


@inlined
def facing(numbers, n, along):
    """Side, 1 or -1 for the other one, of a plate in a flow along a direction, and the cosine of their angle times the
    length of ``along``; zero on a side that does not count."""
    cosine = dot(n, along)
    side = -1.0 if numbers[TWO_SIDED] > 0.0 and cosine < 0.0 else 1.0
    return side, max(side * cosine, 0.0)


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
    return factor, Input(width - 1, at, label=f"{label}.wind", unit="m/s", surroundings=True)
