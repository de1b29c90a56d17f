"""Connections of meshes in NASTRAN bulk data: spot welds, fasteners, and edges of shells on faces of solids.

A weld or fastener has an end on each of two surfaces. Its motion is the mean of four points around its foot there, at
the corners of a square of the area of its section, each of which moves with the element that it lies on.
"""

from collections.abc import Iterator
from functools import partial
from itertools import combinations

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.shell.bulk_shell import isotropic
from femb.fem.bulk_bars import axes_along, stiffness
from femb.fem.bulk_curved_shells import shape
from femb.fem.bulk_sections import BarSection
from femb.fem.bulk_springs import Spring
from femb.fem.bulk_ties import Row
from femb.numerics.rotations import cross_matrix, rigid_transport

CORNERS = {"CQUAD4": 4, "CQUADR": 4, "CTRIA3": 3, "CTRIAR": 3, "CQUAD8": 8, "CTRIA6": 6}
SOLIDS = ("CHEXA", "CPENTA", "CTETRA", "CPYRAM")
ROUND = 0.9  # shear factor of a round section
OFF_LINE = 0.05  # of a grid of a shell from the line of two grids of a solid, in their distance


def connectors_of(data: BulkData) -> Iterator[Spring]:
    """Welds and fasteners. Raises ModelError: kinds that are not read."""
    shells = {card.id: card for card in data.all(*CORNERS)}
    for card in data.all("CWELD"):
        yield from _weld(data, card, shells)
    for card in data.all("CFAST"):
        yield from _fastener(data, card, shells)


def shape_of(n: int, r: float, s: float) -> tuple[Floats, Floats]:
    """Values (n,) and derivatives (2, n) of the shape functions of shells of 3, 4, 6 or 8 grids."""
    if n in (6, 8):
        return shape(n, r, s)
    if n == 3:
        return np.array([1.0 - r - s, r, s]), np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    p, q = np.array([-1.0, 1.0, 1.0, -1.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    return 0.25 * (1 + p * r) * (1 + q * s), 0.25 * np.array([p * (1 + q * s), q * (1 + p * r)])


class Facets:
    """Faces, as lists of 3, 4, 6 or 8 grids with their corners (n, 3), on which points are projected; whose : for
    messages."""

    def __init__(self, whose: object, cells: list[list[int]], corners: list[Floats]) -> None:
        self.whose, self.cells, self.corners = whose, cells, corners

    @classmethod
    def of(cls, data: BulkData, card: Card, cells: list[list[int]]) -> "Facets":
        """The patch of elements that a card names."""
        return cls(card, cells, [np.array([data.grids[grid][0] for grid in cell]) for cell in cells])

    def foot(self, point: Floats) -> tuple[Floats, Floats, dict[int, Floats]]:
        """The nearest place (3,) to a point, the normal there, and the parts (1,) of the grids in its motion."""
        found: list[tuple[float, Floats, Floats, dict[int, Floats]]] = []
        for cell, x in zip(self.cells, self.corners, strict=True):
            n = len(cell)
            r, s = (1.0 / 3.0, 1.0 / 3.0) if n in (3, 6) else (0.0, 0.0)
            for _ in range(8):
                N, D = shape_of(n, r, s)
                sides = D @ x
                step = np.linalg.lstsq(sides.T, point - N @ x, rcond=None)[0]
                r, s = r + step[0], s + step[1]
            # how far outside the element
            outside = max(-r, -s, r + s - 1.0, 0.0) if n in (3, 6) else max(abs(r) - 1.0, abs(s) - 1.0, 0.0)
            N, D = shape_of(n, r, s)
            normal = np.cross(*(D @ x))
            away = float(np.linalg.norm(point - N @ x)) / np.sqrt(np.linalg.norm(normal))
            found.append(
                (outside + 1e-6 * away, N @ x, normal / np.linalg.norm(normal), dict(zip(cell, N, strict=True)))
            )
        outside, place, normal, parts = min(found, key=lambda each: each[0])
        if outside > 0.5:
            raise ModelError(f"{self.whose}: its point has no foot on a surface that it connects")
        return place, normal, parts

    def motion(self, point: Floats, width: float) -> tuple[Floats, Floats, dict[int, Floats]]:
        """The foot of a point, the normal there, and rows (6, 6) by grid of its displacement and rotation."""
        place, normal, _ = self.foot(point)
        a = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
        a *= 0.5 * width / np.linalg.norm(a)
        b = np.cross(normal, a)
        arms = [a + b, b - a, -a - b, a - b]
        inertia = sum(cross_matrix(arm).T @ cross_matrix(arm) for arm in arms)
        rows: dict[int, Floats] = {}
        for arm in arms:
            # mean displacement, and the rotation of least squares
            by_arm = np.vstack([0.25 * np.eye(3), np.linalg.solve(inertia, cross_matrix(arm))])
            for grid, part in self.foot(place + arm)[2].items():
                rows.setdefault(grid, np.zeros((6, 6)))[:, :3] += part * by_arm
        return place, normal, rows


def _patches(data: BulkData, card: Card, shells: dict[int, Card], of: str) -> list[Facets]:
    """The surfaces of both ends. of : "property", or "element", with those that share a grid with it."""
    found = []
    for key in ("IDA", "IDB"):
        number = card.whole(key)
        if of == "property":
            own = [each for each in shells.values() if each.whole("PID") == number]
        else:
            own = [shells[number]] if number in shells else []
            around = set(_grids(data, own[0])) if own else set()
            own = [each for each in shells.values() if around & set(_grids(data, each))] if own else []
            own = [each for each in own if each.whole("PID") == shells[number].whole("PID")]
        if not own:
            raise ModelError(f"{card}: {of} {number} is none of a shell of the file")
        found.append(Facets.of(data, card, [_grids(data, each) for each in own]))
    return found


def _grids(data: BulkData, card: Card) -> list[int]:
    n = CORNERS[card.name]
    given = [data.known(card, f"G{k + 1}") for k in range(n) if card.value(f"G{k + 1}") not in (None, 0)]
    return given if len(given) == n else given[: n // 2]


def _point(data: BulkData, card: Card) -> Floats:
    for key in ("GS", "GA"):
        if card.value(key) is not None:
            return data.grids[data.known(card, key)][0]
    if card.value("XS") is None:
        raise ModelError(f"{card}: has no GS, no GA and no XS, YS, ZS")
    return card.numbers("XS", 3)


def _weld(data: BulkData, card: Card, shells: dict[int, Card]) -> Iterator[Spring]:
    own = data.property(card, "PWELD")
    E, G, _, density = isotropic(data.property(own, "MAT1", "MID"), bars=True)
    D, kind = own.number("D"), card.text("TYPE")
    if kind == "ALIGN":
        grids = [data.known(card, "GA"), data.known(card, "GB")]
        ends = [(data.grids[grid][0], np.zeros(3), {grid: np.eye(6)}) for grid in grids]
    elif kind in ("PARTPAT", "ELPAT", "ELEMID"):
        patches = _patches(data, card, shells, "property" if kind == "PARTPAT" else "element")
        width = 0.5 * np.sqrt(np.pi) * D * (1e-3 if kind == "ELEMID" else 1.0)
        ends = [patch.motion(_point(data, card), width) for patch in patches]
    else:
        raise card.refuse(f"the kind {kind}, beside which PARTPAT, ELPAT, ELEMID and ALIGN")
    along = ends[1][0] - ends[0][0]
    length = float(np.linalg.norm(along))
    effective = min(max(length, own.number("LDMIN") * D), own.number("LDMAX") * D)
    if own.text("TYPE") == "SPOT" and kind != "ALIGN":
        walls = [data["PSHELL PCOMP PCOMPG"].get(shells[n].whole("PID")) for key in ("IDA", "IDB")
                 if (n := card.whole(key)) in shells]  # fmt: skip
        sizes = [wall.number("T") for wall in walls if wall is not None and wall.name == "PSHELL"]
        effective = 0.5 * sum(sizes) if len(sizes) == 2 else effective
    area, second = 0.25 * np.pi * D**2, np.pi * D**4 / 64.0
    axis = along / length if length > 0.0 else ends[0][1]
    R = _axes(axis)
    if length > 1e-6 * effective:
        scale = length / effective
        section = BarSection(area, second, second, 0.0, 2.0 * second, (ROUND, ROUND), E=E * scale, G=G * scale)
        K = stiffness([(0.0, section)], length)
    else:
        spring = np.diag([E * area, ROUND * G * area, ROUND * G * area, 2.0 * G * second, E * second, E * second])
        K = np.kron(np.array([[1.0, -1.0], [-1.0, 1.0]]), spring / effective)
    yield Spring(_rows([ends[0][2], ends[1][2]], R), K)
    half = np.diag([0.5 * density * area * length] * 3 + [0.0] * 3)
    for _, _, rows in ends:
        if density * length > 0.0:
            yield Spring(rows, half, True)


def _axes(axis: Floats) -> Floats:
    """(3, 3) columns: x along an axis, y towards the basic axis that is farthest from it."""
    return axes_along(axis, np.eye(3)[np.abs(axis).argmin()])


def _rows(ends: list[dict[int, Floats]], R: Floats) -> dict[int, Floats]:
    """Rows (12, 6) of the motions of both ends in axes R."""
    turned, rows = np.kron(np.eye(2), R.T), dict[int, Floats]()
    for k, end in enumerate(ends):
        for grid, part in end.items():
            rows.setdefault(grid, np.zeros((12, 6)))[6 * k : 6 * k + 6] += turned @ part
    return rows


def _fastener(data: BulkData, card: Card, shells: dict[int, Card]) -> Iterator[Spring]:
    """CFAST: springs of PFAST in the middle between both feet."""
    own, kind = data.property(card, "PFAST"), card.text("TYPE")
    if kind not in ("PROP", "ELEM"):
        raise card.refuse(f"the kind {kind}, beside which PROP and ELEM")
    patches = _patches(data, card, shells, "property" if kind == "PROP" else "element")
    ends = [patch.motion(_point(data, card), 0.5 * np.sqrt(np.pi) * own.number("D")) for patch in patches]
    along = ends[1][0] - ends[0][0]
    axis = along / np.linalg.norm(along) if np.linalg.norm(along) > 1e-9 * own.number("D") else ends[0][1]
    R, system = _axes(axis), own.whole("MCID")
    if system >= 0:
        R = data.axes_at(own, system, ends[0][0])
        if own.whole("MFLAG") == 0:
            if not np.linalg.norm(np.cross(axis, R[:, 1])) > 1e-6:
                raise ModelError(f"{card}: the y axis of coordinate system {system} is along it")
            R = axes_along(axis, R[:, 1])
    springs = np.diag([own.number(f"KT{k}") for k in (1, 2, 3)] + [own.number(f"KR{k}") for k in (1, 2, 3)])
    turned, middle = np.kron(np.eye(2), R.T), 0.5 * (ends[0][0] + ends[1][0])
    rows: dict[int, Floats] = {}
    for sign, (place, _, end) in zip((-1.0, 1.0), ends, strict=True):
        for grid, part in end.items():
            own_part = sign * turned @ rigid_transport(middle - place) @ part
            rows[grid] = rows.get(grid, 0.0) + own_part
        if own.number("MASS"):
            yield Spring(end, np.diag([0.5 * own.number("MASS")] * 3 + [0.0] * 3), True)
    yield Spring(rows, springs)


def edges_of(data: BulkData) -> Iterator[Row]:
    """RSSCON: a grid of a shell moves with the two grids of a solid on whose line it lies."""
    shells, solids = ({card.id: card for card in data.all(*names)} for names in (CORNERS, SOLIDS))
    tied = set[int]()
    for card in data.all("RSSCON"):
        known = partial(data.known, card)
        if card.text("TYPE") == "GRID":
            given = [k for k in (1, 2) if card.value(f"ES{k}") is not None]
            triples = [(known(f"ES{k}"), known(f"EA{k}"), known(f"EB{k}")) for k in given]
        else:
            shell, solid = card.whole("ES1"), card.whole("EA1")
            if shell not in shells or solid not in solids:
                raise ModelError(f"{card}: {shell} is no shell, or {solid} no solid of the file")
            triples = list(_lines(data, _grids(data, shells[shell]), solids[solid]))
            if len(triples) < 2:
                raise ModelError(f"{card}: the shell {shell} has no edge on a face of the solid {solid}")
        for grid, a, b in triples:
            if grid not in tied:
                tied.add(grid)
                yield _edge(data, card, grid, a, b)


def _lines(data: BulkData, grids: list[int], solid: Card) -> Iterator[tuple[int, int, int]]:
    """Grids of a shell with the two of a solid on whose line they lie."""
    known = [data.known(solid, solid.place("G") + k) for k, each in enumerate(solid.rest("G")) if each]
    x = {grid: data.grids[grid][0] for grid in (*known, *grids)}
    patch = Facets.of(data, solid, [grids])
    for grid in grids:
        found, normal = [], patch.foot(x[grid])[1]
        for a, b in combinations([each for each in known if each != grid], 2):
            line = x[b] - x[a]
            size = float(np.linalg.norm(line))
            part = float((x[grid] - x[a]) @ line) / size**2
            if -OFF_LINE < part < 1.0 + OFF_LINE and np.linalg.norm(x[grid] - x[a] - part * line) <= OFF_LINE * size:
                found.append((-round(abs(float(line @ normal)) / size, 3), -size, a, b))
        if found:
            # the longest through the thickness of the shell
            yield (grid, *min(found)[2:])


def _edge(data: BulkData, card: Card, grid: int, a: int, b: int) -> Row:
    line = data.grids[b][0] - data.grids[a][0]
    size = float(np.linalg.norm(line))
    if not size > 0.0:
        raise ModelError(f"{card}: the grids {a} and {b} are at one place")
    part = float((data.grids[grid][0] - data.grids[a][0]) @ line) / size**2
    across = _axes(line / size)[:, 1:].T
    rows = {each: np.zeros((5, 6)) for each in (grid, a, b)}
    rows[grid][:3, :3], rows[a][:3, :3], rows[b][:3, :3] = np.eye(3), (part - 1.0) * np.eye(3), -part * np.eye(3)
    # the rotation turns the line, but about itself
    rows[grid][3:, 3:] = across @ cross_matrix(line).T
    rows[a][3:, :3], rows[b][3:, :3] = across, -across
    return dict(rows)
