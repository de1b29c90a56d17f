"""Meshes of shells: nodes with normals, quadrilaterals and triangles, and sets of nodes, of surfaces and from files.

Source: docs/theory/shell.md, section 1.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.mesh_files import MeshFile, nodes_on_plane, read_mesh_file
from femb.base.types import Floats, Ints
from femb.base.values import nearest, shown
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
    "sphere": ("radius", "outer radius", "inner radius"),
}


# Elements whose normals differ by less across an edge have one normal there: cosine of 20 degrees.
SMOOTH = np.cos(np.radians(20.0))
# A named point, a middle, and a node of a host, is on a node within this part of the shortest edge.
ON_NODE = 0.05
# Nodes that are nearer than this part of the shortest edge are at one place.
SAME_PLACE = 1e-3


class NodeSets(Mapping[str, Ints]):
    """Sets of nodes by name, also of those on a plane such as "x=0.5", in the axes of the geometry; and of those with
    numbers as "3,7" in the file, where it has some."""

    def __init__(self, named: Mapping[str, Ints], nodes: Floats, numbers: Ints | None = None) -> None:
        self.named, self.nodes = named, nodes
        self.rows = {} if numbers is None else {str(number): k for k, number in enumerate(numbers.tolist())}

    def __getitem__(self, name: str) -> Ints:
        found = self.named.get(name)
        numbers = str(name).replace(" ", "").split(",")
        if found is None and all(number in self.rows for number in numbers):
            return np.array([self.rows[number] for number in numbers])
        try:
            found = nodes_on_plane(name, self.nodes) if found is None else found
        except ModelError as error:
            raise KeyError(str(error)) from error
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.named)

    def __len__(self) -> int:
        return len(self.named)


# A quadrilateral is no parallelogram if its opposite sides differ by more than this part of the shorter pair.
SKEWED = 0.2


@dataclass(frozen=True, eq=False)
class ShellMesh:
    """nodes (n, 3) m, normals (n, 3) there, quads (q, 4) and triangles (t, 3) of nodes, counter-clockwise about the
    normals, and sets of nodes by name, those of edges in their order.

    own_normals : (q, 4, 3) and (t, 3, 3) at the corners of the elements, by their number of corners, where they are not
    those of the nodes. remarks : what is unusual, for the user.
    """

    nodes: Floats
    normals: Floats
    quads: Ints
    triangles: Ints
    sets: Mapping[str, Ints]
    own_normals: Mapping[int, Floats] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def cells(self) -> tuple[Ints, ...]:
        """The quadrilaterals and the triangles, those that there are."""
        return tuple(cells for cells in (self.quads, self.triangles) if len(cells))

    def corner_normals(self, cells: Ints) -> Floats:
        """(e, n, 3) at the corners of all quadrilaterals or all triangles (e, n)."""
        return self.own_normals.get(cells.shape[1], self.normals[cells])

    @cached_property
    def flat(self) -> bool:
        """Whether all normals agree."""
        every = (self.normals, *self.own_normals.values())
        return all(bool(np.all(np.abs(each - self.normals[0]) <= FLAT)) for each in every)

    @cached_property
    def skewed(self) -> int:
        """The number of triangles, and of quadrilaterals that are no parallelograms, which are stiff in bending within
        their plane: docs/theory/shell.md, section 12."""
        x = self.nodes[self.quads]
        sides = np.stack([x[:, 1] - x[:, 0] + x[:, 2] - x[:, 3], x[:, 2] - x[:, 1] + x[:, 3] - x[:, 0]], axis=1)
        parted = np.linalg.norm(x[:, 0] - x[:, 1] + x[:, 2] - x[:, 3], axis=1)
        return len(self.triangles) + int(np.sum(parted > SKEWED * np.linalg.norm(sides, axis=2).min(axis=1)))

    def without(self, name: str, whose: str) -> str:
        """The message for a set that it does not have; whose : what has the mesh."""
        known = [*self.sets, *(["planes such as x=0.5"] if isinstance(self.sets, NodeSets) else [])]
        return f"got {name!r}{nearest(str(name), self.sets)}; {whose} has {', '.join(known)}"

    def middle(self, name: str) -> int | str:
        """The node in the middle of a set: of an edge by its order, in a file at the mean place along its longest axis;
        or what is wrong where no node is there."""
        nodes = self.sets[name]
        places = self.nodes[nodes]
        away = np.linalg.norm(places - places.mean(axis=0), axis=1)
        k = len(nodes) // 2
        there = len(nodes) % 2 == int("corner1" in self.sets) or len(nodes) == 1
        if isinstance(self.sets, NodeSets):
            k = int(away.argmin())
            along = np.linalg.svd(places - places.mean(axis=0))[2][0]
            slip = abs((places[k] - places.mean(axis=0)) @ along)
            there = slip <= ON_NODE * self.size and np.sum(away <= away[k] + ON_NODE * self.size) == 1
        if there:
            return int(nodes[k])
        at = np.round(places[k], 9).tolist()
        return (
            f"got {name!r}, in whose middle no node is; the nearest, {nodes[k]}, is at {at}: give an even number of "
            "elements along it, or a node by its number or position"
        )

    def segments(self, name: str) -> Ints:
        """(k, 2) nodes at the ends of the sides of elements along a set of nodes: those on the outline of the shell,
        and inner ones where no element has all of its corners in the set."""
        inside = np.zeros(len(self.nodes), dtype=bool)
        inside[self.sets[name]] = True
        sides = Sides(self)
        whole = np.concatenate([np.all(inside[cells], axis=1) for cells in self.cells])
        covered = np.zeros(len(sides.ends), dtype=bool)
        np.logical_or.at(covered, sides.of_corner, whole[sides.element])
        chosen = np.all(inside[sides.ends], axis=1) & ((sides.count == 1) | ~covered)
        return np.asarray(sides.ends[chosen])

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
                sines = np.sum(np.cross(after, before) * self.corner_normals(cells), axis=2) / lengths
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
    """(n, 3, 3) axes as columns: the third along normals (n, 3), the first along the projection of a direction (3,), or
    of one for each, (n, 3).

    Raises ModelError where the direction is along a normal.
    """
    unit = direction / np.linalg.norm(direction, axis=-1, keepdims=True)
    x = unit - np.sum(normals * unit, axis=1)[:, None] * normals
    lengths = np.linalg.norm(x, axis=1)
    if not lengths.min() > LEAST_SINE:
        which = np.broadcast_to(direction, normals.shape)[lengths.argmin()]
        raise ModelError(
            f"got {shown(which.tolist())}, which is along the normal of the shell at a place: give another one"
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


def sphere(radius: float, outer: float, inner: float, n: int, m: int) -> ShellMesh:
    """A cap of a sphere about the z axis with its vertex in the origin, n elements of equal angle along the radius."""
    first, last = np.arcsin(inner / radius), np.arcsin(min(outer / radius, 1.0))

    def at(r: Floats, s: Floats) -> tuple[Floats, Floats]:
        slope, turn = first + (last - first) * r, 2.0 * np.pi * s
        out = np.stack([np.sin(slope) * np.cos(turn), np.sin(slope) * np.sin(turn), -np.cos(slope)], axis=1)
        return radius * (out + np.array([0.0, 0.0, 1.0])), -out

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
        return f"got {shown(surface)}, {word} wants {', '.join(names)}: greater than 0, an inner radius at least 0"
    if word == "cylinder" and numbers[2] > 2.0 * np.pi * (1.0 + 1e-9):
        return f"got the angle {numbers[2]:g} rad, must be at most one turn"
    if word != "cylinder" and numbers[-1] >= numbers[-2]:
        return f"got {shown(surface)}: the inner radius must be less than the outer one"
    if word == "sphere" and numbers[1] > numbers[0] * (1.0 + 1e-9):
        return f"got {shown(surface)}: the outer radius must be at most that of the sphere"
    return ""


def surface_mesh(surface: Mapping[str, Any], n: int, m: int) -> ShellMesh:
    """The mesh of a surface that has no problem."""
    word, given = next(iter(surface.items()))
    if word == "cylinder":
        radius, length, angle = given
        return cylinder(radius, length, angle, n, m)
    if word == "sphere":
        radius, outer, inner = given
        return sphere(radius, outer, inner, n, m)
    focal, outer, inner = (np.inf, *given) if word == "disc" else given
    return paraboloid(focal, outer, inner, n, m)


# Meshes in files


class Sides:
    """The sides of the elements of a mesh.

    ends (k, 2) : their nodes, the smaller number first. count (k,) : how many elements have the side. By corner of an
    element, of all quadrilaterals and then all triangles: of_corner (c,) the side to the next corner, element (c,) its
    number, forward (c,) whether the element goes from the smaller number to the larger one, next (c,) the corner behind
    it.
    """

    def __init__(self, mesh: ShellMesh) -> None:
        pairs, elements, following, first, corner = [], [], [], 0, 0
        for cells in mesh.cells:
            count, n = cells.shape
            pairs.append(np.stack([cells, np.roll(cells, -1, axis=1)], axis=2).reshape(-1, 2))
            elements.append(np.repeat(np.arange(first, first + count), n))
            following.append(np.roll(np.arange(corner, corner + count * n).reshape(count, n), -1, axis=1).ravel())
            first, corner = first + count, corner + count * n
        both = np.concatenate(pairs)
        self.element, self.next = np.concatenate(elements), np.concatenate(following)
        self.forward = both[:, 0] < both[:, 1]
        self.ends, self.of_corner, self.count = np.unique(
            np.sort(both, axis=1), axis=0, return_inverse=True, return_counts=True
        )
        self.of_corner = self.of_corner.ravel()

    def shared(self) -> tuple[Ints, Ints]:
        """The corners (s,), (s,) of the two elements of every side that exactly two have."""
        order = np.argsort(self.of_corner, kind="stable")
        order = order[self.count[self.of_corner[order]] == 2]
        return order[::2], order[1::2]


SIZES = {"quad": 4, "triangle": 3}
# Cells beside a surface: points and lines carry sets alone.
BESIDE = ("vertex", "line", "line3")


def mesh_of_file(path: str | Path, unit: float = 1.0, group: str | None = None) -> ShellMesh:
    """The mesh of quadrilaterals and triangles in a file of Gmsh, Abaqus, NASTRAN or another that meshio reads.

    unit : length of the unit of the file, m. group : the name of a cell set or physical group, whose elements are taken
    alone. Elements have one normal at a node where they meet by less than 20 degrees across each side, else each its
    own. Sets of nodes are those of the file, and planes such as "x=0.5". Raises ModelError: no such elements, other
    ones, normals to both sides, elements that are collapsed, badly ordered or twice there; ResultError: a file that
    cannot be read.
    """
    file = read_mesh_file(path, SIZES)
    try:
        return mesh_of(file, unit, group)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def mesh_of(file: MeshFile, unit: float, group: str | None) -> ShellMesh:
    """The mesh of a file that is read, as ``mesh_of_file``. Raises ModelError."""
    file.check_nodes()
    cells = {kind: file.cells.get(kind, np.zeros((0, n), dtype=np.int64)) for kind, n in SIZES.items()}
    if group is not None:
        if group not in file.cell_sets:
            known = ", ".join(file.cell_sets) or "none"
            raise ModelError(f"group: got {group!r}{nearest(group, file.cell_sets)}; the cell sets are {known}")
        rows = file.cell_sets[group]
        strange = [kind for kind in rows if kind not in SIZES]
        cells = {kind: each[rows[kind]] if kind in rows else each[:0] for kind, each in cells.items()}
    else:
        strange = [kind for kind in file.others if kind not in BESIDE]
    wanted = f"wanted {' and '.join(SIZES)} cells, with nodes at their corners alone"
    if strange:
        named = "" if group is not None else ", or the group of the surface"
        raise ModelError(f"has cells of the kind {', '.join(strange)}: {wanted}{named}")
    if not sum(map(len, cells.values())):
        raise ModelError(f"has no surface: got {', '.join(file.others) or 'no cells'}, {wanted}")
    used = np.unique(np.concatenate([each.ravel() for each in cells.values()]))
    place = np.full(len(file.points), -1)
    place[used] = np.arange(len(used))
    named_sets = {name: place[rows] for name, rows in file.node_sets.items()}
    sets = {name: rows[rows >= 0] for name, rows in named_sets.items() if np.any(rows >= 0)}
    nodes = file.points[used] * unit
    of_nodes = NodeSets(sets, nodes, None if file.numbers is None else file.numbers[used])
    bare = ShellMesh(nodes, np.zeros_like(nodes), place[cells["quad"]], place[cells["triangle"]], of_nodes)
    return _with_normals(bare)


def _with_normals(bare: ShellMesh) -> ShellMesh:
    """The mesh with its normals and remarks. Raises ModelError for elements that make no surface."""
    corners, middles = [], []
    for cells in bare.cells:
        same = np.sort(cells, axis=1)
        _, first, count = np.unique(same, axis=0, return_index=True, return_counts=True)
        if count.max() > 1:
            at = _place(bare.nodes[cells[first[count.argmax()]]].mean(axis=0))
            raise ModelError(f"{count.max()} elements have the same nodes, around {at}: keep one of them")
        x = bare.nodes[cells]
        cross = np.cross(np.roll(x, -1, axis=1) - x, np.roll(x, 1, axis=1) - x)
        middle = cross.sum(axis=1)
        middles.append(middle / np.maximum(np.linalg.norm(middle, axis=1), np.finfo(float).tiny)[:, None])
        corners.append(cross)
    flat = {
        cells.shape[1]: np.repeat(each[:, None], cells.shape[1], 1)
        for cells, each in zip(bare.cells, middles, strict=True)
    }
    trial = replace(bare, own_normals=flat)
    if problem := trial.problem():
        raise ModelError(problem)
    sides, element = Sides(bare), np.concatenate(middles)
    one, other = sides.shared()
    against = sides.forward[one] == sides.forward[other]
    cosine = np.sum(element[sides.element[one]] * element[sides.element[other]], axis=1)
    remarks = []
    if np.any(turned := against & (cosine < -SMOOTH)):
        at = _place(bare.nodes[sides.ends[sides.of_corner[one[turned.argmax()]]]].mean(axis=0))
        raise ModelError(
            f"the normals of two elements that meet at {at} are on the two sides of the surface (at {turned.sum()} "
            "sides of elements): number the corners of all elements in one sense, as seen from one side"
        )
    if np.any(against):
        at = _place(bare.nodes[sides.ends[sides.of_corner[one[against.argmax()]]]].mean(axis=0))
        remarks.append(
            f"has its normals on the other side behind a fold at {at}, and with them pressure, plies and offset"
        )
    smooth = ~against & (cosine > SMOOTH)
    return replace(
        bare, **_normals(bare, corners, sides, one[smooth], other[smooth]), remarks=(*remarks, *_seams(bare))
    )


def _normals(bare: ShellMesh, corners: list[Floats], sides: Sides, one: Ints, other: Ints) -> dict[str, Any]:
    """Normals of the nodes and of the corners of elements, means over those that meet smoothly at the sides behind the
    corners ``one`` and ``other``; weighted by the angle."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    cross = np.concatenate([each.reshape(-1, 3) for each in corners])
    x = np.concatenate([bare.nodes[cells].reshape(-1, 3) for cells in bare.cells])
    node = np.concatenate([cells.ravel() for cells in bare.cells])
    before = np.empty_like(sides.next)
    before[sides.next] = np.arange(len(before))
    to_next, to_previous = x[sides.next] - x, x[before] - x
    size = np.linalg.norm(cross, axis=1)
    angle = np.arctan2(size, np.sum(to_next * to_previous, axis=1))
    # an inner side runs once in each direction: the first corner of one is the second of the other
    pairs = np.concatenate([np.stack([one, sides.next[other]]), np.stack([sides.next[one], other])], axis=1)
    graph = coo_array((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(len(node), len(node)))
    count, group = connected_components(graph, directed=False)
    total = np.zeros((count, 3))
    np.add.at(total, group, cross * (angle / size)[:, None])
    normal = total / np.linalg.norm(total, axis=1)[:, None]
    own = normal[group]
    if np.all(np.abs(own - own[0]) <= FLAT * 1e-3):
        own[:] = own[0]
    at_nodes = np.zeros_like(bare.nodes)
    at_nodes[node[::-1]] = own[::-1]
    result, start = {}, 0
    for cells in bare.cells:
        result[cells.shape[1]] = own[start : start + cells.size].reshape(*cells.shape, 3)
        start += cells.size
    return {"normals": at_nodes, "own_normals": result}


def _seams(mesh: ShellMesh) -> list[str]:
    """Sentences on nodes at one place, and on parts that are not connected."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    said = []
    pairs = cKDTree(mesh.nodes).query_pairs(SAME_PLACE * mesh.size, output_type="ndarray")
    if len(pairs):
        said.append(
            f"has {len(pairs)} pairs of nodes at one place, such as {_place(mesh.nodes[pairs[0, 0]])}, which are not "
            "connected: join them in the mesh, unless it is cut there"
        )
    ends = np.concatenate(
        [np.stack([cells[:, :1].repeat(cells.shape[1], 1), cells], 2).reshape(-1, 2) for cells in mesh.cells]
    )
    count = len(mesh.nodes)
    parts, _ = connected_components(
        coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count)), False
    )
    if parts > 1:
        said.append(f"has {parts} parts that no element connects")
    return said


def _place(x: Floats) -> list[float]:
    return [float(f"{value:.6g}") for value in x]
