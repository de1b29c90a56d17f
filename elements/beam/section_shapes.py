"""Shapes of sections: area, second moments, torsion constant and outline.

The y and z axes are the principal axes through the centroid. Sizes are outer sizes, m. Sources: S. P. Timoshenko and
J. N. Goodier, Theory of Elasticity, chapter 10, for circles, rings and rectangles (its series); the formulas of Bredt
and of thin open sections for "box", "i" and "channel", which are exact in the limit of thin walls.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.base.values import as_numbers

# Sizes beyond these are mistakes, m: their fourth powers leave the range of numbers.
LEAST, MOST = 1e-9, 1e9
CORNERS = 24  # of a circle
# Terms of the series of a rectangle in torsion; the missing ones are 1e-12 of a square.
TERMS = np.arange(1.0, 400.0, 2.0)


@dataclass(frozen=True)
class ShapeProperties:
    """area : m2. second_moments : (2,) about y and z, m4. torsion_constant : m4. torsion_modulus : torque divided by
    the greatest shear stress, m3. outline : (m, 2) outer polygon, y and z, m."""

    area: float
    second_moments: Floats
    torsion_constant: float
    torsion_modulus: float
    outline: Floats


def rectangle(y: float, z: float) -> Floats:
    """(4, 2) m: a rectangle of these sides about the reference axis."""
    return 0.5 * np.array([[-y, -z], [y, -z], [y, z], [-y, z]])


def torsion_of_rectangle(y: float, z: float) -> float:
    """m4: Saint-Venant's torsion constant of a rectangle, by its series."""
    long, short = max(y, z), min(y, z)
    decay = np.tanh(TERMS * np.pi * long / (2.0 * short)) / TERMS**5
    return float(long * short**3 * (1.0 - 192.0 / np.pi**5 * short / long * np.sum(decay)) / 3.0)


def thickness_in_torsion(long: float, short: float) -> float:
    """m: greatest shear stress of a rectangle (in the middle of its long sides) divided by G and the twist (1/m)."""
    x = np.minimum(TERMS * np.pi * long / (2.0 * short), 600.0)
    return short * (1.0 - 8.0 / np.pi**2 * float(np.sum(1.0 / (TERMS**2 * np.cosh(x)))))


def _rectangle(y: float, z: float) -> ShapeProperties:
    constant = torsion_of_rectangle(y, z)
    moments = np.array([y * z**3, z * y**3]) / 12.0
    modulus = constant / thickness_in_torsion(max(y, z), min(y, z))
    return ShapeProperties(y * z, moments, constant, modulus, rectangle(y, z))


def _tube(radius: float, wall: float) -> ShapeProperties:
    inner = radius - wall
    moment = np.pi * (radius**4 - inner**4) / 4.0
    area = np.pi * (radius**2 - inner**2)
    angle = np.linspace(0.0, 2.0 * np.pi, CORNERS, endpoint=False)
    outline = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return ShapeProperties(area, np.full(2, moment), 2.0 * moment, 2.0 * moment / radius, outline)


def _circle(radius: float) -> ShapeProperties:
    return _tube(radius, radius)


def _box(y: float, z: float, wall: float) -> ShapeProperties:
    """Properties of a thin-walled box: Bredt's formula about the middle of the walls, and Saint-Venant's part of the
    walls.
    """
    a, b = y - 2.0 * wall, z - 2.0 * wall
    enclosed, length = (y - wall) * (z - wall), 2.0 * (y + z - 2.0 * wall)
    constant = 4.0 * enclosed**2 * wall / length + length * wall**3 / 3.0
    moments = np.array([y * z**3 - a * b**3, z * y**3 - b * a**3]) / 12.0
    return ShapeProperties(y * z - a * b, moments, constant, 2.0 * enclosed * wall, rectangle(y, z))


def _parts(corners: list[tuple[float, float, float, float]], outline: list[tuple[float, float]]) -> ShapeProperties:
    """Properties of rectangles (centre y, centre z, side y, side z) that form an open section, about their common
    centroid.
    """
    y, z, b, h = np.array(corners).T
    areas = b * h
    area = float(areas.sum())
    centre = np.array([areas @ y, areas @ z]) / area
    dy, dz = y - centre[0], z - centre[1]
    moments = np.array([np.sum(b * h**3 / 12.0 + areas * dz**2), np.sum(h * b**3 / 12.0 + areas * dy**2)])
    thin, long = np.minimum(b, h), np.maximum(b, h)
    constant = float(np.sum(long * thin**3) / 3.0)
    return ShapeProperties(area, moments, constant, constant / float(thin.max()), np.array(outline) - centre)


def _i(y: float, z: float, web: float, flange: float) -> ShapeProperties:
    """Flanges of width y at both ends of a web along z."""
    h, w, inner = z / 2.0, web / 2.0, z / 2.0 - flange
    right = [(y / 2.0, -h), (y / 2.0, -inner), (w, -inner), (w, inner), (y / 2.0, inner), (y / 2.0, h)]
    centre = (z - flange) / 2.0
    parts = [(0.0, 0.0, web, 2.0 * inner), (0.0, centre, y, flange), (0.0, -centre, y, flange)]
    return _parts(parts, right + [(-a, b) for a, b in reversed(right)])


def _channel(y: float, z: float, web: float, flange: float) -> ShapeProperties:
    """Flanges of length y to one side, positive y, of a web along z."""
    h, inner, centre = z / 2.0, z / 2.0 - flange, (z - flange) / 2.0
    parts = [(web / 2.0, 0.0, web, 2.0 * inner), (y / 2.0, centre, y, flange), (y / 2.0, -centre, y, flange)]
    outline = [(0.0, -h), (y, -h), (y, -inner), (web, -inner), (web, inner), (y, inner), (y, h), (0.0, h)]
    return _parts(parts, outline)


def _fits_tube(radius: float, wall: float) -> bool:
    return wall <= radius


def _fits_box(y: float, z: float, wall: float) -> bool:
    return 2.0 * wall < min(y, z)


def _fits_open(y: float, z: float, web: float, flange: float) -> bool:
    return web < y and 2.0 * flange < z


@dataclass(frozen=True)
class _Shape:
    """sizes : their names. properties : of them. fits : whether they fit into each other."""

    sizes: tuple[str, ...]
    properties: Callable[..., ShapeProperties]
    fits: Callable[..., bool] = lambda *_: True


SHAPES = {
    "rectangle": _Shape(("y", "z"), _rectangle),
    "circle": _Shape(("radius",), _circle),
    "tube": _Shape(("radius", "wall"), _tube, _fits_tube),
    "box": _Shape(("y", "z", "wall"), _box, _fits_box),
    "i": _Shape(("y", "z", "web", "flange"), _i, _fits_open),
    "channel": _Shape(("y", "z", "web", "flange"), _channel, _fits_open),
}


def shape_problem(shape: Any) -> str | None:
    """Why a shape is none; None if it is one: one word of SHAPES with its sizes."""
    wanted = ", ".join(f"{word} = {_sizes(kind)}" for word, kind in SHAPES.items())
    if not isinstance(shape, dict) or len(shape) != 1 or next(iter(shape)) not in SHAPES:
        return f"got {shape!r}, wanted one of {wanted}, in m"
    word, value = next(iter(shape.items()))
    kind, sizes = SHAPES[word], as_numbers(value)
    if sizes is None or np.atleast_1d(sizes).shape != (len(kind.sizes),) or not np.all((sizes > 0) & (sizes < np.inf)):
        return f"got {shape!r}, wanted {word} = {_sizes(kind)}, in m, each greater than 0"
    if not np.all((sizes >= LEAST) & (sizes <= MOST)):
        return f"got {shape!r}, wanted {word} = {_sizes(kind)}, in m, from {LEAST:g} to {MOST:g}"
    if not kind.fits(*np.atleast_1d(sizes)):
        return f"got {shape!r}, but the walls of {word} = {_sizes(kind)} do not fit into its outer sizes"
    return None


def shape_properties(shape: dict[str, Any]) -> ShapeProperties:
    """The properties of a shape that ``shape_problem`` accepts."""
    word, value = next(iter(shape.items()))
    return SHAPES[word].properties(*map(float, np.atleast_1d(value)))


def _sizes(kind: _Shape) -> str:
    return kind.sizes[0] if len(kind.sizes) == 1 else f"[{', '.join(kind.sizes)}]"
