"""Plates in sunlight and in thin air: the pressure of radiation, and drag of free molecules, by normal and velocity.

Source: docs/theory/actuators.md, section 4.
"""

from typing import Any, Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.base.values import shallow_copy
from femb.elements.environment.atmosphere import stream
from femb.elements.environment.orbital_frame import orbital_motion, sunlight
from femb.layout.element import Input, breakpoints_of
from femb.layout.views import ModelView
from femb.profiles import Profile


class PlateLaw:
    """Forces F(n, w, x) on k plates with the unit normals n, velocities w, m/s, and places x, m, inertial axes.

    inputs : of each plate, one after the other. width : how many values those of a plate have. areas (k,) : m2.
    """

    width: int
    inputs: tuple[Input, ...]

    def __init__(self, items: list[Any], areas: Floats) -> None:
        self.arrays: dict[str, Floats] = {"two_sided": np.array([[float(item.two_sided)] for item in items])}

    def picked(self, numbers: Ints) -> Self:
        """The law of the plates with these numbers, of which some may be repeated."""
        other = shallow_copy(self)
        other.arrays = {word: values[numbers] for word, values in self.arrays.items()}
        return other

    def force(self, values: Floats, n: Floats, w: Floats, x: Floats) -> Floats:
        """(s, k, 3) N, by the values of the inputs (s, k, width), and n, w and x (s, k, 3)."""
        raise NotImplementedError

    def slopes(self, values: Floats, n: Floats, w: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Derivatives (k, 3, 3) of the forces by n, w and x (k, 3) at one state, of values (k, width)."""
        raise NotImplementedError

    def facing(self, n: Floats, along: Floats) -> tuple[Floats, Floats]:
        """Sides (..., 1), 1 or -1 for the other one, of plates in a flow along a direction, and the cosines (..., 1) of
        their angles times the length of ``along``; zero on a side that does not count."""
        cosine = np.sum(n * along, axis=-1, keepdims=True)
        side = np.where((self.arrays["two_sided"] > 0.0) & (cosine < 0.0), -1.0, 1.0)
        return side, np.maximum(side * cosine, 0.0)


class SunLaw(PlateLaw):
    """Plates in sunlight, equation (9); their input is a factor."""

    width = 1

    def __init__(self, items: list[Any], areas: Floats, model: ModelView) -> None:
        super().__init__(items, areas)
        found: dict[tuple[float, ...], Profile] = {}
        self.inputs = tuple(_light(item, model, found) for item in items)
        self.arrays["sun"] = np.array([item.sun for item in items])
        self.arrays["full"] = np.array([[item.pressure] for item in items]) * areas[:, None]
        for word in ("specular", "diffuse"):
            self.arrays[word] = np.array([[getattr(item, word)] for item in items])

    def force(self, values: Floats, n: Floats, w: Floats, x: Floats) -> Floats:
        sun, full, specular, diffuse = (self.arrays[word] for word in ("sun", "full", "specular", "diffuse"))
        side, c = self.facing(n, sun)
        reflected = 2.0 * (specular * c + diffuse / 3.0) * side
        result: Floats = -values * full * c * ((1.0 - specular) * sun + reflected * n)
        return result

    def slopes(self, values: Floats, n: Floats, w: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
        side, c = (x[..., None] for x in self.facing(n, self.arrays["sun"]))
        full, specular, diffuse = (self.arrays[word][..., None] for word in ("full", "specular", "diffuse"))
        e = self.arrays["sun"]
        reflected = 2.0 * (specular * c + diffuse / 3.0) * side
        whole = (1.0 - specular) * e[..., None] + (reflected + 2.0 * specular * c * side) * n[..., None]
        by_n = side * whole * e[:, None, :] + c * reflected * np.eye(3)
        nothing = np.zeros_like(by_n)
        return -values[..., None] * full * np.where(c > 0.0, by_n, 0.0), nothing, nothing


class AirLaw(PlateLaw):
    """Plates in thin air, equation (10); their inputs are a factor, the wind (3,) m/s relative to the model, and where
    one has the density of the atmosphere, the place (3,) m of the model's origin from the central body."""

    def __init__(self, items: list[Any], areas: Floats, model: ModelView) -> None:
        super().__init__(items, areas)
        given = np.array([[item.density is not None] for item in items])
        self.air = None if given.all() else items[int(np.argmin(given))].atmosphere(model)[0]
        self.width = 4 if self.air is None else 7
        self.inputs = tuple(each for item in items for each in _air(item, model, self.width))
        self.arrays["given"] = given
        self.arrays["half"] = np.array([[0.5 * (item.density or 1.0) * item.coefficient] for item in items])
        self.arrays["half"] = self.arrays["half"] * areas[:, None]

    def _density(self, values: Floats, x: Floats) -> tuple[Floats, Floats]:
        """The factor (..., k, 1) of "half" by the density of the atmosphere, and its slope (..., k, 3)."""
        if self.air is None:
            return np.ones((1, 1)), np.zeros((1, 3))
        value, slope = self.air.density_at(values[..., 4:] + x)
        given = self.arrays["given"]
        return np.where(given, 1.0, value[..., None]), np.where(given, 0.0, slope)

    def force(self, values: Floats, n: Floats, w: Floats, x: Floats) -> Floats:
        flow = w - values[..., 1:4]
        factor = values[..., :1] * self.arrays["half"] * self._density(values, x)[0]
        result: Floats = -factor * self.facing(n, flow)[1] * flow
        return result

    def slopes(self, values: Floats, n: Floats, w: Floats, x: Floats) -> tuple[Floats, Floats, Floats]:
        density, slope = self._density(values, x)
        flow, alone = w - values[:, 1:4], values[:, :1] * self.arrays["half"]
        side, c = (each[..., None] for each in self.facing(n, flow))
        factor = (alone * density)[..., None]
        on = -factor * side * (c > 0.0)
        by_n = on * flow[:, :, None] * flow[:, None, :]
        by_w = on * flow[:, :, None] * n[:, None, :] - factor * c * np.eye(3)
        by_x = -alone[..., None] * c * flow[:, :, None] * slope[:, None, :]
        return by_n, by_w, by_x


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
