"""Meshes of shells: nodes with normals, quadrilaterals and triangles, and sets of nodes, from surfaces.

Source: docs/theory/shell.md, section 1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import shown
from femb.numerics import rotations

# Normals of a mesh that differ by less are those of a flat shell.
FLAT = 1e-6
# Smallest sine of the angle between a normal and the material direction, and between two edges at a corner.
LEAST_SINE = 1e-3
# Surfaces by their words, with the numbers of each.
SURFACES: Mapping[str, tuple[str, ...]] = {
    "cylinder": ("radius", "length", "angle"),
    "disc": ("outer radius", "inner radius"),
    "paraboloid": ("focal length", "outer radius", "inner radius"),
}


@dataclass(frozen=True, eq=False)
class ShellMesh:
    """nodes (n, 3) m, normals (n, 3) there, quads (q, 4) and triangles (t, 3) of nodes, counter-clockwise about the
    normals, and sets of nodes by name, those of edges in their order."""

    nodes: Floats
    normals: Floats
    quads: Ints
    triangles: Ints
    sets: Mapping[str, Ints]

    @property
    def cells(self) -> tuple[Ints, ...]:
        """The quadrilaterals and the triangles, those that there are."""
        return tuple(cells for cells in (self.quads, self.triangles) if len(cells))

    @cached_property
    def flat(self) -> bool:
        """Whether all normals agree."""
        return bool(np.all(np.abs(self.normals - self.normals[0]) <= FLAT))

    @cached_property
    def size(self) -> float:
        """The length (m) of the shortest edge of an element."""
        return float(
            min(
                np.linalg.norm(self.nodes[cells] - self.nodes[np.roll(cells, 1, axis=1)], axis=2).min()
                for cells in self.cells
            )
        )

    def problem(self) -> str:
        """The fault of an element, or nothing: corners that coincide, are in one line or in the wrong order."""
        for cells in self.cells:
            x = self.nodes[cells]
            after, before = np.roll(x, -1, axis=1) - x, np.roll(x, 1, axis=1) - x
            lengths = np.linalg.norm(after, axis=2) * np.linalg.norm(before, axis=2)
            with np.errstate(invalid="ignore", divide="ignore"):
                sines = np.sum(np.cross(after, before) * self.normals[cells], axis=2) / lengths
            bad = ~(sines > LEAST_SINE)
            if bad.any():
                element, corner = np.argwhere(bad)[0]
                at = np.round(x[element, corner], 9).tolist()
                return (
                    f"the element with the nodes {cells[element].tolist()} is collapsed, or has a corner inward or in "
                    f"the wrong order, at {at}: corners go around the surface, with less than 180 degrees inside"
                )
        return ""

    def axes(self, direction: Floats) -> Floats:
        """Quaternions (n, 4) of the nodes: z along the normal, x along the projection of the direction. Raises
        ModelError."""
        return rotations.from_matrix(projected_axes(self.normals, direction))


def projected_axes(normals: Floats, direction: Floats) -> Floats:
    """(n, 3, 3) axes as columns: the third along normals (n, 3), the first along the projection of a direction (3,).

    Raises ModelError where the direction is along a normal.
    """
    size = np.linalg.norm(direction)
    x = direction / size - np.sum(normals * (direction / size), axis=1)[:, None] * normals
    lengths = np.linalg.norm(x, axis=1)
    if not lengths.min() > LEAST_SINE:
        raise ModelError(
            f"got {shown(direction.tolist())}, which is along the normal of the shell at a place: give another one"
        )
    x = x / lengths[:, None]
    return np.stack([x, np.cross(normals, x), normals], axis=2)


def grid(
    at: Callable[[Floats, Floats], tuple[Floats, Floats]], n: int, m: int, closed: bool = False, centre: bool = False
) -> ShellMesh:
    """The mesh of n by m elements on a surface.

    at : positions and normals (k, 3) at r, s (k,) from 0 to 1. closed : whether s = 1 is s = 0. centre : whether r = 0
    is one point, around which the elements are triangles.
    """
    columns = m if closed else m + 1
    number = np.arange((n + 1) * columns).reshape(columns, n + 1)
    r, s = np.meshgrid(np.arange(n + 1) / n, np.arange(columns) / m)
    nodes, normals = at(r.ravel(), s.ravel())
    if centre:
        # the first node of all rows is one
        kept = np.ones(number.shape, dtype=bool)
        kept[1:, 0] = False
        renumbered = np.cumsum(kept.ravel()) - 1
        renumbered[number[:, 0]] = 0
        number = renumbered[number]
        nodes, normals = nodes[kept.ravel()], normals[kept.ravel()]
    rows = np.vstack([number, number[:1]]) if closed else number
    quads = np.stack([rows[:-1, :-1], rows[:-1, 1:], rows[1:, 1:], rows[1:, :-1]], axis=-1)
    triangles: Ints = np.zeros((0, 3), dtype=np.int64)
    if centre:
        triangles, quads = quads[:, 0, :3], quads[:, 1:]
    sets = {"edge2": number[:, -1]}
    if not centre:
        sets["edge4"] = number[::-1, 0]
    if not closed:
        sets |= {"edge1": number[0], "edge3": number[-1, ::-1]}
        sets |= {f"corner{k + 1}": sets[f"edge{k + 1}"][:1] for k in range(4)}
    elif centre:
        sets["centre"] = number[0, :1]
    return ShellMesh(nodes, normals, quads.reshape(-1, 4), triangles, sets)


def quadrilateral(corners: Floats, n: int, m: int) -> ShellMesh:
    """The mesh of a quadrilateral with corners (4, 3), n elements from the first to the second corner."""

    def at(r: Floats, s: Floats) -> tuple[Floats, Floats]:
        a, b, c, d = corners
        r, s = r[:, None], s[:, None]
        x = (1.0 - r) * (1.0 - s) * a + r * (1.0 - s) * b + r * s * c + (1.0 - r) * s * d
        normal = np.cross((1.0 - s) * (b - a) + s * (c - d), (1.0 - r) * (d - a) + r * (c - b))
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        return x, normal / np.where(length > 0.0, length, 1.0)

    mesh = grid(at, n, m)
    if np.all(np.abs(mesh.normals - mesh.normals[0]) <= FLAT * 1e-3):
        mesh.normals[:] = mesh.normals[0]
    return mesh


def cylinder(radius: float, length: float, angle: float, n: int, m: int) -> ShellMesh:
    """A part of a cylinder with its axis along x; its middle line begins at the origin, with the normal along z."""

    def at(r: Floats, s: Floats) -> tuple[Floats, Floats]:
        turn = angle * (s - 0.5)
        normal = np.stack([np.zeros_like(s), np.sin(turn), np.cos(turn)], axis=1)
        return np.stack([length * r, np.zeros_like(s), np.full_like(s, -radius)], axis=1) + radius * normal, normal

    return grid(at, n, m, closed=angle >= 2.0 * np.pi * (1.0 - 1e-9))


def paraboloid(focal: float, outer: float, inner: float, n: int, m: int) -> ShellMesh:
    """A dish about the z axis with its vertex in the origin, n elements along the radius; a disc for an infinite focal
    length."""

    def at(r: Floats, s: Floats) -> tuple[Floats, Floats]:
        rho, turn = inner + (outer - inner) * r, 2.0 * np.pi * s
        around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        slope = rho / (2.0 * focal)
        x = np.column_stack([rho[:, None] * around, rho * slope / 2.0])
        normal = np.column_stack([-slope[:, None] * around, np.ones_like(r)])
        return x, normal / np.sqrt(1.0 + slope**2)[:, None]

    return grid(at, n, m, closed=True, centre=inner == 0.0)


def surface_problem(surface: Any) -> str:
    """The fault of the description of a surface, or nothing."""
    forms = ", ".join(f"{{ {word} = [{', '.join(names)}] }}" for word, names in SURFACES.items())
    if not isinstance(surface, dict) or len(surface) != 1 or next(iter(surface)) not in SURFACES:
        return f"got {shown(surface)}, wanted one of {forms}"
    word, given = next(iter(surface.items()))
    try:
        numbers = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    names = SURFACES[word]
    if numbers.shape != (len(names),) or not np.all(np.isfinite(numbers)):
        return f"got {shown(surface)}, {word} wants {', '.join(names)}"
    least = np.array([name.startswith("inner") for name in names])
    if np.any(numbers[~least] <= 0.0) or np.any(numbers[least] < 0.0):
        return f"got {shown(surface)}: sizes must be greater than 0, an inner radius at least 0"
    if word == "cylinder" and numbers[2] > 2.0 * np.pi * (1.0 + 1e-9):
        return f"got the angle {numbers[2]:g} rad, must be at most one turn"
    if word != "cylinder" and numbers[-1] >= numbers[-2]:
        return f"got {shown(surface)}: the inner radius must be less than the outer one"
    return ""


def surface_mesh(surface: Mapping[str, Any], n: int, m: int) -> ShellMesh:
    """The mesh of a surface that has no problem."""
    word, given = next(iter(surface.items()))
    if word == "cylinder":
        radius, length, angle = given
        return cylinder(radius, length, angle, n, m)
    focal, outer, inner = (np.inf, *given) if word == "disc" else given
    return paraboloid(focal, outer, inner, n, m)
