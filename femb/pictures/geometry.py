"""Shapes of beams and bodies as points and cells, for meshes and pictures; numpy only.

A beam is drawn element by element: every element has s + 1 stations of its own, so that section forces and strains may
jump between elements. Arrays may have leading axes (...), usually time; e is the number of elements, n = e + 1 of
nodes, m of outline corners.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats, Ints

ROUND_SEGMENTS = 24  # sides of a circle
# Faces of solid cells by their corners, counterclockwise from outside, in the order of VTK and meshio.
SOLID_FACES: dict[str, list[tuple[int, ...]]] = {
    "tetra": [(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)],
    "wedge": [(0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)],
    "hexahedron": [(0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)],
}
FLAT_CELLS = {"triangle": 3, "quad": 4}  # corners of cells that are seen from both sides


def sweep(centre: Floats, axes: Floats, outline: Floats) -> Floats:
    """(..., stations, m, 3): the outline (m, 2) at every station, from (..., 3) and (..., 3, 3)."""
    return centre[..., None, :] + outline @ np.swapaxes(axes[..., 1:], -1, -2)


def line_cells(elements: int, subdivisions: int) -> Ints:
    """(e s, 2) lines between neighbouring stations of e elements."""
    first = np.arange(elements)[:, None] * (subdivisions + 1) + np.arange(subdivisions)
    return np.stack([first, first + 1], axis=-1).reshape(-1, 2)


def wedge_cells(elements: int, subdivisions: int, outline: Floats) -> Ints:
    """(e s t, 6) wedges that fill a swept beam, with t triangles of the outline and points numbered as in `sweep`.

    In VTK's order: the first triangle faces away from the second.
    """
    m = len(outline)
    lines = line_cells(elements, subdivisions)
    triangles = triangulate(outline)
    near, far = (lines[:, end, None, None] * m + triangles for end in (0, 1))
    return np.concatenate([far, near], axis=-1).reshape(-1, 6)


def side_cells(elements: int, subdivisions: int, corners: int) -> Ints:
    """(e s m, 4) outward quadrilaterals around a swept beam with a counterclockwise outline."""
    lines = line_cells(elements, subdivisions) * corners
    i = np.arange(corners)
    j = (i + 1) % corners
    near, far = lines[:, :1], lines[:, 1:]
    return np.stack([near + i, near + j, far + j, far + i], axis=-1).reshape(-1, 4)


def triangulate(outline: Floats) -> Ints:
    """(m - 2, 3) triangles, counterclockwise, that fill a simple polygon (m, 2), convex or not.

    A tube is one polygon, its inner side connected with the outer by a slit. Ear clipping. Raises ResultError where
    no ear exists because the outline crosses itself.
    """
    outline = np.asarray(outline, float)
    remaining = list(range(len(outline)))
    if signed_area(outline) < 0.0:
        remaining.reverse()
    smallest = 1e-14 * float(np.ptp(outline)) ** 2
    triangles: list[tuple[int, int, int]] = []
    # Ends by area, not by corners: corners of slits and straight sides span no area.
    while not triangles or abs(signed_area(outline[remaining])) > smallest:
        k = next((i for i in range(len(remaining)) if _is_ear(outline, remaining, i, smallest)), None)
        if k is None:
            raise ResultError(
                f"section outline of {len(outline)} corners cannot be filled: it must be a closed polygon "
                "of three corners or more that does not cross itself"
            )
        triangles.append((remaining[k - 1], remaining[k], remaining[(k + 1) % len(remaining)]))
        del remaining[k]
    return np.array(triangles, dtype=np.int64)


def outer_faces(cell_type: str, cells: Ints) -> list[Ints]:
    """The boundary of a mesh, cells (c, m) of one meshio type: faces (f, 3) and (f, 4) by their corners, outwards.

    Middle nodes are left out: sides of quadratic cells are drawn straight. Flat cells have two faces; lines have none.
    """
    kind = cell_type.rstrip("0123456789")
    if kind in FLAT_CELLS:
        corners = cells[:, : FLAT_CELLS[kind]]
        return [np.concatenate([corners, corners[:, ::-1]])]
    outer: list[Ints] = []
    for size in (3, 4):
        own = [cells[:, list(face)] for face in SOLID_FACES.get(kind, []) if len(face) == size]
        if own:
            faces = np.concatenate(own)
            _, first, times = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
            outer.append(faces[first[times == 1]])
    return outer


def signed_area(outline: Floats) -> float:
    """Area of a polygon (m, 2), positive where its corners go counterclockwise."""
    y, z = outline.T
    return float(0.5 * np.sum(y * np.roll(z, -1) - np.roll(y, -1) * z))


def _is_ear(outline: Floats, polygon: list[int], k: int, smallest: float) -> bool:
    """Whether corner k of a polygon and its neighbours form a counterclockwise triangle of an area above ``smallest``
    that contains none of the other corners."""
    ear = [polygon[k - 1], polygon[k], polygon[(k + 1) % len(polygon)]]
    corners = outline[ear]
    if signed_area(corners) <= smallest:
        return False
    others = outline[[i for i in polygon if i not in ear]]
    # The slit of a tube passes its corners twice.
    others = others[~(others[:, None] == corners).all(axis=-1).any(axis=-1)]
    sides = np.roll(corners, -1, axis=0) - corners
    offsets = others[:, None] - corners
    inside = sides[:, 0] * offsets[..., 1] - sides[:, 1] * offsets[..., 0] >= 0.0
    return not inside.all(axis=1).any()


def body_surface(shape: Mapping[str, Any]) -> tuple[Floats, Ints]:
    """Points (k, 3), m, in body axes and outward triangles (j, 3) of a body's shape.

    Shapes: ``{"box": [x, y, z]}``, ``{"sphere": radius}``, ``{"cylinder": [radius, length]}``
    about z, with their middle ``"at"``, by default the reference point. Raises ResultError for any other.
    """
    points, triangles = _centred({word: size for word, size in shape.items() if word != "at"})
    return points + np.asarray(shape.get("at", np.zeros(3)), float), triangles


def _centred(shape: Mapping[str, Any]) -> tuple[Floats, Ints]:
    kind: str = next(iter(shape), "")
    size: Any = shape.get(kind)
    if kind == "box":
        square = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
        points, triangles = _prism(square, 1.0)
        return points * np.asarray(size, float), triangles
    angle = 2.0 * np.pi * np.arange(ROUND_SEGMENTS) / ROUND_SEGMENTS
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    if kind == "cylinder":
        radius, length = map(float, size)
        return _prism(radius * circle, length)
    if kind == "sphere":
        return _sphere(circle, float(size))
    raise ResultError(f"body shape {dict(shape)!r} is not known; use one of box, sphere, cylinder")


def _prism(polygon: Floats, height: float) -> tuple[Floats, Ints]:
    """Convex counterclockwise polygon (m, 2) extruded along z, centred."""
    m = len(polygon)
    points = np.concatenate([np.insert(polygon, 2, z, axis=1) for z in (-0.5 * height, 0.5 * height)])
    lid = triangulate(polygon)
    return points, np.concatenate([lid[:, ::-1], lid + m, _band(m)])


def _sphere(circle: Floats, radius: float) -> tuple[Floats, Ints]:
    """Rings of latitude between two poles."""
    m = len(circle)
    latitudes = np.linspace(-0.5 * np.pi, 0.5 * np.pi, m // 2 + 1)[1:-1]
    rings = [np.insert(np.cos(u) * circle, 2, np.sin(u), axis=1) for u in latitudes]
    points = radius * np.concatenate([*rings, [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]])
    last, south = (len(rings) - 1) * m, len(rings) * m
    i = np.arange(m)
    j = (i + 1) % m
    bands = [_band(m) + ring * m for ring in range(len(rings) - 1)]
    caps = [np.stack([j, i, np.full(m, south)], -1), np.stack([last + i, last + j, np.full(m, south + 1)], -1)]
    return points, np.concatenate([*bands, *caps])


def _band(m: int) -> Ints:
    """(2 m, 3) triangles between a ring of points 0..m-1 and the ring m..2m-1 above it."""
    i = np.arange(m)
    j = (i + 1) % m
    return np.concatenate([np.stack([i, j, j + m], -1), np.stack([i, j + m, i + m], -1)])
