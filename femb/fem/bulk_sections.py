"""Sections of the bars of NASTRAN bulk data: PBAR, PBARL, PBEAM, PBEAML.

Source: MSC Nastran Quick Reference Guide for the sizes of shapes; torsion of open shapes by thin rectangles, of closed
ones by Bredt; shear factors as the part of the area whose long side is along the force.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.beam.section_shapes import shape_properties
from femb.elements.shell.bulk_shell import isotropic


@dataclass(frozen=True)
class BarSection:
    """A section of a bar in SI: area, I1 and I2 (in planes of y and z), their product, torsion constant; shear factors
    along y and z, 0 for none; mass per length of what is no structure, kg/m, inertia of that about the
    axis, kg m, its place and that of the neutral axis (y, z); E and G, Pa, density kg/m3; constant of warping."""

    area: float
    first: float
    second: float
    product: float
    torsion: float
    factors: tuple[float, float]
    extra: float = 0.0
    inertia: float = 0.0
    centre: tuple[float, float] = (0.0, 0.0)
    neutral: tuple[float, float] = (0.0, 0.0)
    E: float = 0.0
    G: float = 0.0
    density: float = 0.0
    warping: float = 0.0

    @property
    def mass(self) -> float:
        return self.density * self.area + self.extra


# Inertia of the section of a CBAR about its line, of its own, which a CBEAM has: NASTRAN has none, and a straight boom
# would have none then.
TWIST = 1e-3
Stations = list[tuple[float, BarSection]]
# y, z of the middle and sizes along y and z of a part of a shape
Parts = list[tuple[float, float, float, float]]


def stations_of(data: BulkData, card: Card) -> Stations:
    """Sections along a bar by their place from 0 to 1; one where it is uniform. Raises ModelError."""
    E, G, _, density = isotropic(data.property(card, "MAT1", "MID"), bars=True)
    if card.name in ("PBARL", "PBEAML"):
        found = [(0.0, _shaped(card))]
    elif card.name == "PBAR":
        product = card.number("I12")
        factors = (0.0, 0.0) if unused_factors(card) else (card.number("K1"), card.number("K2"))
        A, first, second = (card.number(key) for key in ("A", "I1", "I2"))
        found = [(0.0, BarSection(A, first, second, product, card.number("J"), factors, card.number("NSM")))]
    elif card.name == "PBCOMP":
        found = [(0.0, _of_areas(data, card, E))]
    else:
        found = _tapered(card)
    for _, each in found:
        if min(each.area, each.first, each.second, each.torsion) < 0.0 or (
            each.product and each.first * each.second <= each.product**2
        ):
            raise ModelError(f"{card}: got A, I1, I2, I12, J = {each.area:g}, {each.first:g}, {each.second:g}, "
                             f"{each.product:g}, {each.torsion:g}: no section has these")  # fmt: skip
    # without stiffness about its line the freedom goes
    own = density * (TWIST if card.name in ("PBAR", "PBARL") else 1.0)
    return [
        (
            place,
            replace(s, E=E, G=G, density=density, inertia=s.inertia + own * (s.first + s.second) * (s.torsion > 0.0)),
        )
        for place, s in found
    ]


def stress_points(card: Card) -> Floats:
    """(4, 2) y, z of the points C to F of a property: of a shape from its centroid, else from its shear centre."""
    if card.name not in ("PBARL", "PBEAML"):
        place = 8 if card.name == "PBAR" or not isinstance(card.value(8), str) else None
        return np.zeros((4, 2)) if place is None else card.numbers(place, 8, "L").reshape(4, 2)
    shape = card.text("TYPE")
    sizes = card.numbers("D", SIZES[shape]).tolist()
    if shape == "BOX1":
        raise card.refuse("stresses of BOX1")
    tall, wide = {name: 2 * [2.0 * sizes[0]] for name in ("ROD", "TUBE", "TUBE2")}.get(
        shape, sizes[:0:-1] if shape == "HEXA" else sizes[1::-1]
    )
    given = OPEN[shape](*sizes) if shape in OPEN else [(0.0, 0.0, tall, wide)]
    parts = np.array([part for part in given if part[2] != 0.0])
    areas = parts[:, 2] * parts[:, 3]
    low, high = (parts[:, :2] + sign * 0.5 * parts[:, 2:] - areas @ parts[:, :2] / areas.sum() for sign in (-1.0, 1.0))
    (bottom, left), (top, right) = low.min(axis=0), high.max(axis=0)
    if shape in ("ROD", "TUBE", "TUBE2", "CROSS"):
        return np.array([(top, 0.0), (0.0, right), (bottom, 0.0), (0.0, left)])
    if shape in ("T", "T1", "HEXA"):
        found = {"T": [(top, 0.0), (top, right), (bottom, 0.0), (top, left)],
                 "T1": [(0.0, right), (bottom, right), (0.0, left), (top, right)],
                 "HEXA": [(top, 0.0), (bottom, 0.0), (0.0, right), (0.0, left)]}  # fmt: skip
        return np.array(found[shape])
    above, below = np.isclose(high[:, 0], top), np.isclose(low[:, 0], bottom)
    return np.array([
        (top, high[above, 1].max()), (bottom, high[below, 1].max()), (bottom, low[below, 1].min()),
        (top, low[above, 1].min()),
    ])  # fmt: skip


def _of_areas(data: BulkData, card: Card, E: float) -> BarSection:
    """PBCOMP: parts C of its area at Y, Z with materials of their own, in the quadrants that SECTION names."""
    A, product, J, extra = (card.number(key) for key in ("A", "I12", "J", "NSM"))
    moments = np.array([[card.number("I1"), product], [product, card.number("I2")]])
    kind, areas, k = card.whole("SECTION"), list[tuple[float, float, float]](), card.place("AREAS")
    signs = {0: [(1, 1)], 1: [(1, 1), (1, -1), (-1, 1), (-1, -1)], 2: [(1, 1), (-1, 1)], 3: [(1, 1), (1, -1)]}
    while any(card.value(k + i) is not None for i in range(4)):
        if kind not in signs:
            raise card.refuse(f"SECTION = {kind}, beside which 0 to 3")
        y, z = card.numbers(k, 2, "L")
        part = card.number(k + 2) * A
        if card.value(k + 3) is not None:
            material = data["MAT1"].get(card.whole(k + 3))
            if material is None:
                raise card.fault(k + 3, "a MAT1 of the file")
            part *= isotropic(material, bars=True)[0] / E
        areas += [(part, i * y, j * z) for i, j in signs[kind]]
        k += 8
    if areas and moments.any():
        raise card.refuse("moments of inertia beside areas")
    for part, y, z in areas:
        moments += part * np.array([[y * y, y * z], [y * z, z * z]])
    if areas and abs(sum(part for part, _, _ in areas) - A) > 1e-3 * A:
        raise card.refuse("areas whose stiffness is not that of A with its own material")
    factors = card.number("K1"), card.number("K2")
    middles = [(card.number(f"{key}1"), card.number(f"{key}2")) for key in "MN"]
    (first, product), (_, second) = moments
    return BarSection(A, first, second, product, J, factors, extra, centre=middles[0], neutral=middles[1])


def unused_factors(card: Card) -> bool:
    """Whether a PBAR has shear factors, K1 or K2, that its I12 switches off, as the guide and MYSTRAN have it."""
    return bool(card.number("I12") and (card.number("K1") or card.number("K2")))


def _tapered(card: Card) -> Stations:
    """PBEAM: A to NSM and C1 to F2 of end A, stations SO, X/XB, A to NSM; then K1 K2 S1 S2 NSI, CW, M and N."""
    keys = (("A", "L2"), ("I1", "L4"), ("I2", "L4"), ("I12", "L4"), ("J", "L4"), ("NSM", "M/L"))
    first = [card.number(key) if card.value(key) is not None else 0.0 for key, _ in keys]
    rows, k = [(0.0, first)], 8 if isinstance(card.value(8), str) else 16
    while isinstance(card.value(k), str):
        if card.text(k) not in ("YES", "YESA", "NO"):
            raise card.fault(k, "YES, YESA or NO")
        # blank: as at end A
        own = [
            first[i] if card.value(k + 2 + i) is None else card.number(k + 2 + i, unit)
            for i, (_, unit) in enumerate(keys)
        ]
        place = card.number(k + 1) if card.value(k + 1) is not None else 1.0
        rows = [row for row in rows if row[0] != place] + [(place, own)]
        k += 16 if card.text(k) == "YES" else 8
    rows.sort(key=lambda row: row[0])
    factors = tuple(1.0 if card.value(k + i) is None else card.number(k + i) for i in (0, 1))
    if any(card.value(k + i) for i in (2, 3)):
        raise card.refuse("shear relief, S1 and S2")

    def along(place: int, other: int, unit: str) -> float:
        own = card.numbers(k + place, 1, unit)[0]
        if card.value(k + other) is not None and card.number(k + other, unit) != own:
            raise card.refuse("an inertia or an axis of mass or stretching that changes along it")
        return float(own)

    places = (4, 5, "ML"), (8, 10, "L"), (9, 11, "L"), (12, 14, "L"), (13, 15, "L")
    warping = float(np.abs(card.numbers(k + 6, 2, "L6")).max())
    inertia, m1, m2, n1, n2 = (along(*each) for each in places)
    found = [
        (at, BarSection(A, i1, i2, i12, j, (factors[0], factors[1]), nsm, inertia, (m1, m2), (n1, n2), warping=warping))
        for at, (A, i1, i2, i12, j, nsm) in rows
    ]
    if not found[0][1].area > 0.0:
        raise ModelError(f"{card}: got A = {found[0][1].area:g}, must be above 0")
    return found if any(row[1] != found[0][1] for row in found[1:]) else found[:1]


def _flanged(h: float, a: float, b: float, web: float, below: float, above: float) -> Parts:
    """A web along y with a flange below and above, all symmetric about y."""
    tall = h - below - above
    return [(0.5 * below, 0.0, below, a), (below + 0.5 * tall, 0.0, tall, web), (h - 0.5 * above, 0.0, above, b)]


def _channel(width: float, h: float, web: float, flange: float) -> Parts:
    """Flanges along z, the web at z = 0."""
    side = width - web
    return [
        (0.0, 0.5 * web, h, web),
        (0.5 * (h - flange), web + 0.5 * side, flange, side),
        (-0.5 * (h - flange), web + 0.5 * side, flange, side),
    ]


# The parts of each shape, by its sizes. CHAN2, HAT: open to the side of y; T2 has its web above.
OPEN: dict[str, Callable[..., Parts]] = {
    "I": _flanged,
    "I1": lambda a, web, tall, h: _flanged(h, a + web, a + web, web, 0.5 * (h - tall), 0.5 * (h - tall)),
    "T": lambda width, h, flange, web: _flanged(h, web, width, web, 0.0, flange),
    "T1": lambda h, a, web, flange: [(0.0, -0.5 * web, h, web), (0.0, -web - 0.5 * a, flange, a)],
    "T2": lambda width, h, flange, web: _flanged(h, width, web, web, flange, 0.0),
    "CHAN": _channel,
    "CHAN1": lambda a, web, tall, h: _channel(a + web, h, web, 0.5 * (h - tall)),
    "CHAN2": lambda side, web, h, width: [
        (0.5 * web, 0.0, web, width),
        *((0.5 * (h + web), s * 0.5 * (width - side), h - web, side) for s in (-1.0, 1.0)),
    ],
    "H": lambda inner, sides, h, bar: [
        (0.0, 0.0, bar, inner),
        *((0.0, s * (0.5 * inner + 0.25 * sides), h, 0.5 * sides) for s in (-1.0, 1.0)),
    ],
    "CROSS": lambda arms, web, h, bar: [
        (0.0, 0.0, h, web),
        *((0.0, s * 0.5 * (web + 0.5 * arms), bar, 0.5 * arms) for s in (-1.0, 1.0)),
    ],
    "Z": lambda a, web, tall, h: [
        (0.0, 0.0, h, web),
        *((s * 0.25 * (h + tall), -s * 0.5 * (web + a), 0.5 * (h - tall), a) for s in (-1.0, 1.0)),
    ],
    "L": lambda width, h, flange, web: [(0.5 * (h - flange), 0.0, h, web), (0.0, 0.5 * width, flange, width - web)],
    "HAT": lambda h, t, top, brim: [
        (0.5 * (h - t), 0.0, t, top),
        *((0.0, s * 0.5 * (top - t), h - 2.0 * t, t) for s in (-1.0, 1.0)),
        *((-0.5 * (h - t), s * 0.5 * (top - t + brim), t, brim + t) for s in (-1.0, 1.0)),
    ],
}
SIZES = {"ROD": 1, "TUBE": 2, "TUBE2": 2, "BAR": 2, "BOX": 4, "BOX1": 6, "HEXA": 3}
SIZES |= {name: len(signature(parts).parameters) for name, parts in OPEN.items()}
# Shapes whose shear centre is where the lines of two parts meet, by the number of these parts.
MEET = {"T": (1, 2), "T1": (0, 1), "T2": (1, 0), "L": (0, 1)}
SYMMETRIC = ("I", "I1", "H", "CROSS", "Z")
FACTORS = {"ROD": 0.9, "TUBE": 0.5, "TUBE2": 0.5, "BAR": 5.0 / 6.0}


def _shaped(card: Card) -> BarSection:
    """The section of a shape. Raises ModelError."""
    shape = card.text("TYPE")
    if shape not in SIZES:
        raise card.refuse(f"the section {shape or 'without a type'}, beside which {', '.join(SIZES)} are read")
    count = SIZES[shape]
    sizes, extra = card.numbers("D", count), float(card.numbers(8 + count, 1, "M/L")[0])
    for k in range(9 + count, len(card.fields), count + 3):
        # SO, X/XB, sizes and NSM of stations, blank ones being those of end A
        own = [
            first if card.value(k + 2 + i) is None else card.number(k + 2 + i, "L" if i < count else "M/L")
            for i, first in enumerate((*sizes, extra))
        ]
        if not np.array_equal(own, [*sizes, extra]):
            raise card.refuse("a section of a shape that changes along it")
    if not sizes.min() > 0.0:
        raise ModelError(f"{card}: got the sizes {sizes.tolist()}, must be above 0")
    found = (_open if shape in OPEN else _solid)(card, shape, sizes)
    return replace(found, extra=extra)


def _solid(card: Card, shape: str, sizes: Floats) -> BarSection:
    """ROD, TUBE, TUBE2, BAR, HEXA, BOX and BOX1."""
    if shape in ("BOX", "BOX1"):
        b, h = sizes[:2]
        top, bottom, left, right = np.repeat(sizes[2:], 2) if shape == "BOX" else sizes[2:]
        inner, tall = b - left - right, h - top - bottom
        if not min(inner, tall) > 0.0:
            raise ModelError(f"{card}: the walls of its box fill it")
        area = b * h - inner * tall
        y, z = (-inner * tall * 0.5 * (bottom - top) / area, -inner * tall * 0.5 * (left - right) / area)
        first = b * h * (h**2 / 12.0 + y**2) - inner * tall * (tall**2 / 12.0 + (0.5 * (bottom - top) - y) ** 2)
        second = b * h * (b**2 / 12.0 + z**2) - inner * tall * (inner**2 / 12.0 + (0.5 * (left - right) - z) ** 2)
        wide, high = b - 0.5 * (left + right), h - 0.5 * (top + bottom)
        around = wide * (1.0 / top + 1.0 / bottom) + high * (1.0 / left + 1.0 / right)
        torsion = 4.0 * (wide * high) ** 2 / around
        factors = float((left + right) * tall / area), float((top + bottom) * inner / area)
        return BarSection(area, first, second, 0.0, torsion, factors)
    if shape == "HEXA":
        tip, width, h = sizes
        if not 2.0 * tip < width:
            raise ModelError(f"{card}: its tips are wider than the whole")
        area = (width - tip) * h
        # a rectangle and four triangles
        flat = width - 2.0 * tip
        first = flat * h**3 / 12.0 + 4.0 * (tip * (0.5 * h) ** 3 / 12.0)
        triangle = 0.25 * tip * h
        second = h * flat**3 / 12.0 + 4.0 * (0.5 * h * tip**3 / 36.0 + triangle * (0.5 * flat + tip / 3.0) ** 2)
        # of a regular hexagon 0.1154 of the fourth power of its height
        return BarSection(area, first, second, 0.0, 0.133 * area * h**2, (5.0 / 6.0, 5.0 / 6.0))
    words = {"ROD": {"circle": sizes[0]}, "BAR": {"rectangle": sizes[::-1].tolist()}}
    if shape in ("TUBE", "TUBE2"):
        wall = sizes[0] - sizes[1] if shape == "TUBE" else sizes[1]
        words[shape] = {"tube": [sizes[0], wall]} if 0.0 < wall < sizes[0] else {"circle": sizes[0]}
    found = shape_properties(words[shape])
    second, first = found.second_moments
    return BarSection(found.area, first, second, 0.0, found.torsion_constant, (FACTORS[shape],) * 2)


def _open(card: Card, shape: str, sizes: Floats) -> BarSection:
    """A shape of thin rectangles."""
    parts = [part for part in OPEN[shape](*sizes.tolist()) if part[2] != 0.0]
    if min(min(part[2:]) for part in parts) < 0.0:
        raise ModelError(f"{card}: its parts overlap: check its sizes, {sizes.tolist()}")
    y, z, tall, wide = np.array(parts).T
    areas = tall * wide
    area = float(areas.sum())
    y0, z0 = float(areas @ y) / area, float(areas @ z) / area
    first = float(areas @ (tall**2 / 12.0 + (y - y0) ** 2))
    second = float(areas @ (wide**2 / 12.0 + (z - z0) ** 2))
    product = float(areas @ ((y - y0) * (z - z0)))
    torsion = float(np.sum(np.maximum(tall, wide) * np.minimum(tall, wide) ** 3) / 3.0)
    upright = tall > wide
    factors = float(areas[upright].sum()) / area, float(areas[~upright].sum()) / area
    neutral = (0.0, 0.0)
    if card.name == "PBEAML" and shape not in SYMMETRIC:
        if shape in MEET:
            web, flange = MEET[shape]
            centre = (y[flange], z[web])
            if shape == "T1":
                centre = (y[0], z[0])
        elif shape in ("CHAN", "CHAN1"):
            b, h = wide[1] + 0.5 * wide[0], tall[0] - tall[1]
            centre = (y0, 0.5 * wide[0] - 3.0 * b**2 * tall[1] / (6.0 * b * tall[1] + h * wide[0]))
        else:
            raise card.refuse(f"the shear centre of a {shape}; of a CBAR it is read")
        neutral = float(y0 - centre[0]), float(z0 - centre[1])
    if shape in ("Z", "L") and card.name == "PBARL":
        factors = (0.0, 0.0)
    return BarSection(area, first, second, product, torsion, factors, neutral=neutral, centre=neutral)
