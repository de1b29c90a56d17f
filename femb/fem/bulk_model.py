"""A whole structure in NASTRAN bulk data as a finite element model: shells, bars, springs, masses, solids, ties.

Grids that rigid elements carry move with these; other ties are rows. Masses are lumped as NASTRAN has them, unless
PARAM,COUPMASS says otherwise.
"""

import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from femb.base.bulk_cards import Units
from femb.base.bulk_data import BulkData, Logical, read_bulk_data
from femb.base.errors import FembWarning, ModelError
from femb.base.types import Bools, Floats, Ints, Sparse
from femb.elements.shell.bulk_shell import NO_DENSITY, isotropic
from femb.elements.shell.mesh import SIZES
from femb.fem.bulk_bars import bars_of
from femb.fem.bulk_curved_shells import curved_shells_of
from femb.fem.bulk_shells import Shells, second_strains, shells_of
from femb.fem.bulk_springs import springs_of
from femb.fem.bulk_ties import Row, ties_of
from femb.fem.model import FeModel, StressStiffness, as_csc
from femb.numerics.rotations import rigid_transport

# Solids: by their number of grids, the kind of meshio and its order of the grids.
SOLIDS: dict[str, dict[int, tuple[str, list[int]]]] = {
    "CTETRA": {4: ("tetra", [*range(4)]), 10: ("tetra10", [*range(10)])},
    "CHEXA": {
        8: ("hexahedron", [*range(8)]),
        20: ("hexahedron20", [*range(12), *range(16, 20), *range(12, 16)]),
    },
    "CPENTA": {6: ("wedge", [*range(6)])},
    "CPYRAM": {},
}
# What is left out without a word.
UNSAID = ("loads", "sets", "requests and solution", "supports")
# Grids of superelements within this distance are one, in the unit of the file.
CONNECTED = 5e-5
SINGULAR = 1e-8  # stiffness of a direction, of that of the stiffest at the grid, as NASTRAN's AUTOSPC


def read_structure(path: str | Path, unit: float | str | Units = 1.0, logical: Logical | None = None) -> FeModel:
    """The finite element model of a file, without supports.

    unit : of its lengths, m, beside N and s; or a system of units, as "in-lbf-s". logical : folders of INCLUDE by name.
    Nodes are the grids that rigid elements do not carry. Warns of what is left out. Raises ModelError: cards, fields
    and options that are not read, by name; ResultError.
    """
    data = read_bulk_data(path, unit, logical)
    try:
        sections, said = [data, *data.parts.values()], dict[str, list[str]]()
        for section in sections:
            for what, names in section.check_names().items():
                said[what] = list(dict.fromkeys([*said.get(what, []), *names]))
        held = any(section.held_grids for section in sections)
        supports = [*said.get("supports", []), *(["PS of GRID"] if held else [])]
        if supports:
            warnings.warn(f"{path}: {', '.join(supports)}: supports are left out: name interfaces", FembWarning)
        if others := {what: names for what, names in said.items() if what not in UNSAID}:
            words = "; ".join(f"{', '.join(names)} ({what})" for what, names in others.items())
            warnings.warn(f"{path}: left out: {words}", FembWarning)
        return _joined(data)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


@dataclass
class _Entries:
    """Parts of a symmetric matrix."""

    rows: list[Ints] = field(default_factory=list)
    columns: list[Ints] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)

    def add(self, places: Ints, blocks: Floats) -> None:
        """Blocks (e, k, k) with rows (e, k)."""
        self.rows.append(np.broadcast_to(places[:, :, None], blocks.shape).ravel())
        self.columns.append(np.broadcast_to(places[:, None, :], blocks.shape).ravel())
        self.values.append(np.asarray(blocks).ravel())

    def matrix(self, size: int) -> Sparse:
        from scipy.sparse import coo_array

        if not self.values:
            return as_csc(coo_array((size, size)))
        entries = np.concatenate(self.values), (np.concatenate(self.rows), np.concatenate(self.columns))
        return as_csc(coo_array(entries, shape=(size, size)))


class _Part:
    """The matrices of a section of bulk data by its freedoms: six of each grid, in basic axes, then those of the scalar
    points; its ties and cells."""

    def __init__(self, data: BulkData, coupled: bool) -> None:
        self.data, self.coupled = data, coupled
        self.row = {number: k for k, number in enumerate(data.grids)}
        numbers = dict.fromkeys(number for card in data.all("SPOINT") for number in card.ids("ID"))
        scalars = (
            {card.whole(f"G{k}") for card in data.all("CELAS3", "CELAS4", "CMASS3", "CMASS4") for k in (1, 2)}
            - {0}
            - set(self.row)
        )
        self.points = {number: k for k, number in enumerate({**numbers, **dict.fromkeys(sorted(scalars))})}
        self.size = 6 * len(self.row) + len(self.points)
        self.stiffness, self.mass = _Entries(), _Entries()
        self.ties = ties_of(data, self.points)
        self.stress = StructureStress()
        self.cells = self._assembled()

    def places(self, numbers: list[int]) -> Ints:
        """The freedoms of grids and scalar points."""
        return np.concatenate([
            6 * self.row[number] + np.arange(6) if number in self.row
            else np.array([6 * len(self.row) + self.points[number]]) for number in numbers
        ])  # fmt: skip

    def _assembled(self) -> dict[str, Ints]:
        """Add all elements; the cells."""
        cells: dict[str, Ints] = {}
        for shells in shells_of(self.data, self.coupled):
            places = (6 * shells.cells[:, :, None] + np.arange(6)).reshape(len(shells.cells), -1)
            self.stiffness.add(places, shells.stiffness)
            self.mass.add(places, shells.mass)
            self.stress.shells.append((places, shells))
            cells |= {kind: shells.cells for kind, n in SIZES.items() if n == shells.cells.shape[1]}
        for rows, stiffness, mass in curved_shells_of(self.data, self.coupled):
            places = (6 * rows[:, :, None] + np.arange(6)).reshape(1, -1)
            self.stiffness.add(places, stiffness)
            self.mass.add(places, mass)
        if bars := bars_of(self.data, self.coupled):
            places = np.array([self.places(list(bar.grids)) for bar in bars])
            self.stiffness.add(places, np.array([bar.stiffness for bar in bars]))
            self.mass.add(places, np.array([bar.mass for bar in bars]))
            self.stress.bars = places, np.array([b.tension for b in bars]), np.array([b.stress for b in bars])
        for spring in springs_of(self.data, self.points):
            B = np.hstack(list(spring.rows.values()))
            into = self.mass if spring.is_mass else self.stiffness
            into.add(self.places(list(spring.rows))[None], (B.T @ spring.matrix @ B)[None])
        return cells | self._solids()

    def _solids(self) -> dict[str, Ints]:
        """The cells of PSOLID and MAT1 by their kind, rows of grids."""
        from femb.fem.solids import SolidMaterial, SolidStress, solid_model

        data, materials = self.data, dict[int, SolidMaterial]()
        cells, owned = dict[str, list[list[int]]](), dict[str, list[SolidMaterial]]()
        for card in data.all(*SOLIDS):
            number = card.whole("PID")
            if number not in materials:
                material = data.property(data.property(card, "PSOLID"), "MAT1", "MID")
                E, _, nu, rho = isotropic(material)
                heat = 0.0 if material.value("A") is None else material.number("A")
                materials[number] = SolidMaterial(E, nu, rho or NO_DENSITY, heat)
            given = card.rest("G")
            if len(given) not in SOLIDS[card.name] or None in given:
                read = " and ".join(map(str, SOLIDS[card.name])) or "others"
                raise card.refuse(f"{sum(each is not None for each in given)} grids, beside which {read} are read,")
            kind, order = SOLIDS[card.name][len(given)]
            grids = [self.row[data.known(card, card.place("G") + k)] for k in range(len(given))]
            cells.setdefault(kind, []).append([grids[k] for k in order])
            owned.setdefault(kind, []).append(materials[number])
        if not cells:
            return {}
        points = np.array([place for place, _ in data.grids.values()])
        arrays = {kind: np.array(each, dtype=np.int64) for kind, each in cells.items()}
        found = solid_model(points, arrays, owned)
        own = 6 * found.node_of + found.component
        for into, matrix in ((self.stiffness, found.stiffness), (self.mass, found.mass)):
            entries = matrix.tocoo() if into is self.stiffness or self.coupled else _lumped(matrix)
            into.rows.append(own[entries.row])
            into.columns.append(own[entries.col])
            into.values.append(entries.data)
        assert isinstance(found.stress, SolidStress)
        self.stress.solid = own, found.stress
        return arrays

    def rows(self, ties: list[Row]) -> Sparse:
        """(m, n) of rows by grids."""
        from scipy.sparse import coo_array

        rows, columns, values, count = [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)], [np.zeros(0)], 0
        for tie in ties:
            size = max(len(part) for part in tie.values())
            for number, part in tie.items():
                i, j = np.nonzero(np.atleast_2d(part))
                rows.append(count + i)
                columns.append(self.places([number])[j])
                values.append(np.atleast_2d(part)[i, j])
            count += size
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return as_csc(coo_array(entries, shape=(count, self.size)))


def _joined(data: BulkData) -> FeModel:
    """The model of bulk data and of its superelements, whose grids at one place are one. Raises ModelError: nothing
    with stiffness."""
    if copies := [card for card in data.all("SEBULK") if card.text("TYPE") != "PRIMARY"]:
        raise copies[0].refuse(f"a superelement of type {copies[0].text('TYPE')}, beside which PRIMARY")
    coupled = isinstance(value := data.parameter("COUPMASS"), int) and value > 0
    parts = [_Part(each, coupled) for each in (data, *data.parts.values())]
    if not any(part.row for part in parts):
        raise ModelError("has no GRID")
    if not any(part.stiffness.values for part in parts):
        raise ModelError("has no shells, no bars, no springs and no solids; of a mesh give the material (-E)")
    numbers, positions, rows = _common_grids(data, parts)
    scalars = np.cumsum([6 * len(numbers), *(len(part.points) for part in parts)])
    size = int(scalars[-1])
    K, M = _empty(size, size), _empty(size, size)
    ties, carrier, cells = [_empty(0, size)], dict[int, int](), dict[str, Ints]()
    stress = StructureStress()
    for part, row, first in zip(parts, rows, scalars[:-1], strict=True):
        E = _placed(part, row, int(first), size, _turn(data, part))
        K, M = (as_csc(own + E.T @ each.matrix(part.size) @ E) for own, each in ((K, part.stiffness), (M, part.mass)))
        ties.append(part.rows(part.ties.rows) @ E)
        place = dict(zip(part.row, row.tolist(), strict=True))
        carrier |= {place[own]: place[part.ties.host(own)] for own in part.ties.carrier}
        for kind, each in part.cells.items():
            cells[kind] = np.vstack([*([cells[kind]] if kind in cells else []), row[each]])
        stress.parts.append((part.stress, E))
    from scipy.sparse import vstack

    return _reduced(data, numbers, positions, K, M, as_csc(vstack(ties)), carrier, cells, stress)


def _empty(rows: int, columns: int) -> Sparse:
    from scipy.sparse import csc_array

    return csc_array((rows, columns))


def _common_grids(data: BulkData, parts: list[_Part]) -> tuple[list[int], Floats, list[Ints]]:
    """Numbers and positions (N, 3) of the grids of all parts, and the rows of those of each part."""
    from scipy.spatial import cKDTree

    numbers, rows = list[int](), list[Ints]()
    positions = np.zeros((0, 3))
    for k, part in enumerate(parts):
        R, shift = _turn(data, part)
        own = np.array([place for place, _ in part.data.grids.values()]).reshape(-1, 3) @ R.T + shift
        row = np.arange(len(positions), len(positions) + len(own))
        same = np.zeros(len(own), dtype=bool)
        if len(positions) and len(own):
            distance, nearest = cKDTree(positions).query(own)
            same = distance <= CONNECTED * data.units.length
            row[same] = nearest[same]
            row[~same] = len(positions) + np.arange((~same).sum())
        taken = set(numbers)
        new = [number for number, known in zip(part.row, same, strict=True) if not known]
        numbers += [number if number not in taken else number + k * 100_000_000 for number in new]
        positions, rows = np.vstack([positions, own[~same]]), [*rows, row]
    return numbers, positions, rows


def _turn(data: BulkData, part: _Part) -> tuple[Floats, Floats]:
    """Axes (3, 3) and place (3,) m to which SELOC moves a part."""
    number = next((n for n, each in data.parts.items() if each is part.data), None)
    for card in data.all("SELOC"):
        if card.whole("SEID") != number:
            continue
        points = {**data["POINT"], **data["GRID"]}
        own = {**part.data["POINT"], **part.data["GRID"]}
        from_, to = [], []
        for k in (1, 2, 3):
            if card.whole(f"GA{k}") not in own or card.whole(f"GB{k}") not in points:
                raise ModelError(f"{card}: its grids are not in the file")
            from_.append(part.data.place(own[card.whole(f"GA{k}")]))
            to.append(data.place(points[card.whole(f"GB{k}")]))
        first, second = (_triad(*each) for each in (from_, to))
        R = second @ first.T
        return R, to[0] - R @ from_[0]
    return np.eye(3), np.zeros(3)


def _triad(a: Floats, b: Floats, c: Floats) -> Floats:
    x = (b - a) / np.linalg.norm(b - a)
    z = np.cross(x, c - a)
    z /= np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])


def _placed(part: _Part, row: Ints, first: int, size: int, turn: tuple[Floats, Floats]) -> Sparse:
    """(n of the part, size): the freedoms of a part by those of all."""
    from scipy.sparse import coo_array

    R = np.kron(np.eye(2), turn[0].T)
    count, scalars = len(row), np.arange(len(part.points))
    i, j = np.nonzero(R)
    rows = (6 * np.arange(count)[:, None] + i).ravel()
    columns = (6 * row[:, None] + j).ravel()
    values = np.concatenate([np.tile(R[i, j], count), np.ones(len(scalars))])
    entries = values, (np.r_[rows, 6 * count + scalars], np.r_[columns, first + scalars])
    return as_csc(coo_array(entries, shape=(part.size, size)))


def _reduced(
    data: BulkData, numbers: list[int], positions: Floats, K: Sparse, M: Sparse, ties: Sparse,
    carrier: dict[int, int], cells: dict[str, Ints], stress: "StructureStress",
) -> FeModel:  # fmt: skip
    """The model without the grids that are carried, and without freedoms that have nothing."""
    from scipy.sparse import vstack

    size = K.shape[0]
    T = _carried(positions, carrier, size)
    K, M, ties = as_csc(T.T @ K @ T), as_csc(T.T @ M @ T), ties @ T
    tied = np.zeros(size, dtype=bool)
    tied[np.unique(ties.tocoo().col)] = True
    kept = (abs(K).sum(axis=0) > 0.0) | (abs(M).sum(axis=0) > 0.0) | tied
    singular, extra = _singular(K, M, len(numbers), kept, tied)
    kept &= ~singular
    used = np.flatnonzero(kept)
    if singular.any() or extra.shape[0]:
        own = np.unique(np.r_[np.flatnonzero(singular), extra.tocoo().col] // 6)
        shown = ", ".join(str(numbers[k]) for k in own[:5]) + (", ..." if len(own) > 5 else "")
        said = f"{singular.sum() + extra.shape[0]} components of {len(own)} grids, {shown}"
        warnings.warn(f"{data.path}: {said}, have neither stiffness nor mass: left out (AUTOSPC)", FembWarning)
    joints = as_csc(vstack([ties, extra]))[:, used]
    of_grid = used < 6 * len(numbers)
    node = np.where(of_grid, used // 6, len(numbers))
    nodes = np.unique(node)
    place = np.full(len(numbers) + 1, -1)
    place[nodes] = np.arange(len(nodes))
    positions = np.vstack([positions, positions.mean(axis=0)])[nodes]
    mapped = {kind: place[each] for kind, each in cells.items()}
    stress.expand = as_csc(T[:, used])
    return FeModel(
        positions, place[node], np.where(of_grid, used % 6, 6), as_csc(M[:, used][used]), as_csc(K[:, used][used]),
        np.array([*numbers, 0])[nodes], {}, stress,
        {kind: whole for kind, each in mapped.items() if len(whole := each[np.all(each >= 0, axis=1)])},
        joints if joints.shape[0] else None,
    )  # fmt: skip


def _carried(positions: Floats, carrier: dict[int, int], size: int) -> Sparse:
    """(n, n): all freedoms by those of grids that are not carried."""
    from scipy.sparse import coo_array

    def last(row: int) -> int:
        while row in carrier:
            row = carrier[row]
        return row

    moved = np.array(sorted(carrier), dtype=int)
    hosts = np.array([last(row) for row in moved.tolist()], dtype=int)
    own = np.setdiff1d(np.arange(size), 6 * moved[:, None] + np.arange(6))
    S = rigid_transport(positions[moved] - positions[hosts]) if len(moved) else np.zeros((0, 6, 6))
    e, i, j = np.nonzero(S)
    entries = np.r_[np.ones(len(own)), S[e, i, j]], (np.r_[own, 6 * moved[e] + i], np.r_[own, 6 * hosts[e] + j])
    return as_csc(coo_array(entries, shape=(size, size)))


def _singular(K: Sparse, M: Sparse, grids: int, kept: Bools, tied: Bools) -> tuple[Bools, Sparse]:
    """Freedoms without stiffness and mass, and rows of such directions that are not along the axes."""
    from scipy.sparse import coo_array

    out, directions = np.zeros(K.shape[0], dtype=bool), []
    places = 3 * np.arange(2 * grids)[:, None] + np.arange(3)
    blocks = [_diagonal_blocks(each, 2 * grids) for each in (K, M)]
    candidates = kept[places].any(axis=1) & ~tied[places].any(axis=1)
    values, vectors = np.linalg.eigh(blocks[0])
    weak = (values <= SINGULAR * values[:, -1:]) & candidates[:, None]
    for k, c in zip(*np.nonzero(weak), strict=True):
        v = vectors[k, :, c]
        if abs(v @ blocks[1][k] @ v) > 1e-12 * np.abs(blocks[1][k]).max():
            continue
        axis = int(np.abs(v).argmax())
        if np.abs(v).max() > 1.0 - 1e-9:
            out[places[k, axis]] |= kept[places[k, axis]]
        else:
            directions.append((places[k], v))
    entries = [(i, p, x) for i, (place, v) in enumerate(directions) for p, x in zip(place, v, strict=True)]
    i, p, x = np.array(entries).reshape(-1, 3).T
    return out, as_csc(coo_array((x, (i.astype(int), p.astype(int))), shape=(len(directions), K.shape[0])))


def _diagonal_blocks(matrix: Sparse, count: int) -> Floats:
    """(count, 3, 3)."""
    entries = matrix.tocoo()
    own = (entries.row // 3 == entries.col // 3) & (entries.row < 3 * count)
    blocks = np.zeros((count, 3, 3))
    np.add.at(blocks, (entries.row[own] // 3, entries.row[own] % 3, entries.col[own] % 3), entries.data[own])
    return blocks


def _lumped(mass: Sparse) -> Sparse:
    """The diagonal of a mass, each element's in proportion to its own."""
    from scipy.sparse import diags_array

    return diags_array(np.asarray(mass.sum(axis=1)).ravel()).tocoo()


@dataclass
class StructureStress:
    """Stress stiffness of shells, bars and solids by the freedoms of a part; parts : with their freedoms by those of
    the whole; expand : these by those of the model, as rigid elements carry some."""

    shells: list[tuple[Ints, Shells]] = field(default_factory=list)
    bars: tuple[Ints, Floats, Floats] | None = None
    solid: tuple[Ints, StressStiffness] | None = None
    parts: "list[tuple[StructureStress, Sparse]]" = field(default_factory=list)
    expand: Sparse | None = None

    def __call__(self, fields: Floats, shapes: Floats) -> Floats:
        """(f, s, s) of fields (n, f) and shapes (n, s)."""
        u, w = (fields, shapes) if self.expand is None else (self.expand @ fields, self.expand @ shapes)
        G = np.zeros((u.shape[1], w.shape[1], w.shape[1]))
        for own, E in self.parts:
            G += own(E @ u, E @ w)
        for places, shells in self.shells:
            for k in range(0, len(places), 200):
                part = slice(k, k + 200)
                stress = np.einsum("emk,ekf->emf", shells.stresses[part], u[places[part]])
                K = np.einsum("emf,emab->efab", stress, second_strains(shells, part), optimize=True)
                G += np.einsum("eas,efab,ebt->fst", w[places[part]], K, w[places[part]], optimize=True)
        if self.bars is not None:
            places, tension, stress = self.bars
            pulled = np.einsum("ek,ekf->ef", tension, u[places])
            G += np.einsum("ef,eas,eab,ebt->fst", pulled, w[places], stress, w[places], optimize=True)
        if self.solid is not None:
            of_solid, solid = self.solid
            G += solid(u[of_solid], w[of_solid])
        return G
