"""Plates in sunlight and in thin air: the pressure of radiation, and drag of free molecules, by normal and velocity.

Source: docs/theory/actuators.md, section 4.
"""

from typing import Any, ClassVar, Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.base.values import shallow_copy
from femb.elements.environment.orbital_frame import OrbitalMotion, orbital_motion, sunlight
from femb.layout.element import Input, breakpoints_of
from femb.layout.views import ModelView


class PlateLaw:
    """Forces F(n, w) on k plates with the unit normals n and velocities w, inertial axes, m/s.

    inputs : of each plate, one after the other. width : how many values those of a plate have. areas (k,) : m2.
    """

    width: ClassVar[int]
    inputs: tuple[Input, ...]

    def __init__(self, items: list[Any], areas: Floats) -> None:
        self.arrays: dict[str, Floats] = {"two_sided": np.array([[float(item.two_sided)] for item in items])}

    def picked(self, numbers: Ints) -> Self:
        """The law of the plates with these numbers, of which some may be repeated."""
        other = shallow_copy(self)
        other.arrays = {word: values[numbers] for word, values in self.arrays.items()}
        return other

    def force(self, values: Floats, n: Floats, w: Floats) -> Floats:
        """(s, k, 3) N, by the values of the inputs (s, k, width), n and w (s, k, 3)."""
        raise NotImplementedError

    def slopes(self, values: Floats, n: Floats, w: Floats) -> tuple[Floats, Floats]:
        """Derivatives (k, 3, 3) of the forces by n (k, 3) and by w (k, 3) at one state, of values (k, width)."""
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
        self.inputs = tuple(_light(item, model) for item in items)
        self.arrays["sun"] = np.array([item.sun for item in items])
        self.arrays["full"] = np.array([[item.pressure] for item in items]) * areas[:, None]
        for word in ("specular", "diffuse"):
            self.arrays[word] = np.array([[getattr(item, word)] for item in items])

    def force(self, values: Floats, n: Floats, w: Floats) -> Floats:
        sun, full, specular, diffuse = (self.arrays[word] for word in ("sun", "full", "specular", "diffuse"))
        side, c = self.facing(n, sun)
        reflected = 2.0 * (specular * c + diffuse / 3.0) * side
        result: Floats = -values * full * c * ((1.0 - specular) * sun + reflected * n)
        return result

    def slopes(self, values: Floats, n: Floats, w: Floats) -> tuple[Floats, Floats]:
        side, c = (x[..., None] for x in self.facing(n, self.arrays["sun"]))
        full, specular, diffuse = (self.arrays[word][..., None] for word in ("full", "specular", "diffuse"))
        e = self.arrays["sun"]
        reflected = 2.0 * (specular * c + diffuse / 3.0) * side
        whole = (1.0 - specular) * e[..., None] + (reflected + 2.0 * specular * c * side) * n[..., None]
        by_n = side * whole * e[:, None, :] + c * reflected * np.eye(3)
        return -values[..., None] * full * np.where(c > 0.0, by_n, 0.0), np.zeros_like(by_n)


class AirLaw(PlateLaw):
    """Plates in thin air, equation (10); their inputs are a factor and the wind (3,) m/s relative to the model."""

    width = 4

    def __init__(self, items: list[Any], areas: Floats, model: ModelView) -> None:
        super().__init__(items, areas)
        motion = orbital_motion(model)
        self.inputs = tuple(each for item in items for each in _air(item, motion))
        self.arrays["half"] = np.array([[0.5 * item.density * item.coefficient] for item in items]) * areas[:, None]

    def force(self, values: Floats, n: Floats, w: Floats) -> Floats:
        flow = w - values[..., 1:]
        result: Floats = -values[..., :1] * self.arrays["half"] * self.facing(n, flow)[1] * flow
        return result

    def slopes(self, values: Floats, n: Floats, w: Floats) -> tuple[Floats, Floats]:
        flow, factor = w - values[:, 1:], (values[:, :1] * self.arrays["half"])[..., None]
        side, c = (x[..., None] for x in self.facing(n, flow))
        on = -factor * side * (c > 0.0)
        by_n = on * flow[:, :, None] * flow[:, None, :]
        by_w = on * flow[:, :, None] * n[:, None, :] - factor * c * np.eye(3)
        return by_n, by_w


def _light(item: Any, model: ModelView) -> Input:
    """The factor of a plate in sunlight, zero in eclipse."""
    label, profile = f"loads.{item.name}.profile", item.profile
    if not item.eclipse:
        return Input.of_profile(profile, label)
    lit = sunlight(model, (item.table, item.name), np.asarray(item.sun), item.shadow_radius)
    breakpoints = (*breakpoints_of(profile), *breakpoints_of(lit))
    return Input(1, lambda t: lit(t) * profile(t), breakpoints=breakpoints, label=label)


def _air(item: Any, motion: OrbitalMotion | None) -> tuple[Input, Input]:
    """The factor of a plate in air, and the wind in the frame of the model, which may move on an orbit."""
    wind, label = np.array(item.wind), f"loads.{item.name}"

    def stream(t: float) -> Floats:
        if motion is None:
            return wind
        position, velocity, _ = motion(t)
        turning: Floats = np.cross((0.0, 0.0, item.rotation), position)
        return wind + turning - velocity

    factor = Input(1, item.profile, breakpoints=breakpoints_of(item.profile), label=f"{label}.profile")
    return factor, Input(3, stream, label=f"{label}.wind", unit="m/s", surroundings=True)
