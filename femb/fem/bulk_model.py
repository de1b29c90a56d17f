"""A whole structure in NASTRAN bulk data as a finite element model: shells, bars, springs, masses, solids, ties.

Grids that rigid elements carry move with these; other ties are rows. Masses are lumped as NASTRAN has them, unless
PARAM,COUPMASS says otherwise.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from scipy.linalg import block_diag

from femb.base.bulk_cards import Units, fields_of, kind_of
from femb.base.bulk_data import BulkData, Card, Logical, is_input
from femb.base.errors import FembWarning, ModelError
from femb.base.types import Floats, Ints, Sparse
from femb.elements.shell.mesh import SIZES
from femb.fem.bulk_bars import axes_along, bars_of
from femb.fem.bulk_case import DRIVEN, LoadSets, Temperatures, glued, grid_sets, inertia, moved_grids, support_rows
from femb.fem.bulk_connectors import connectors_of, edges_of
from femb.fem.bulk_curved_shells import curved_shells_of
from femb.fem.bulk_matrices import matrices_of
from femb.fem.bulk_panels import panels_of
from femb.fem.bulk_sections import unused_factors
from femb.fem.bulk_shells import Shells, shells_of, stress_work
from femb.fem.bulk_solids import Materials, SolidStresses
from femb.fem.bulk_springs import springs_of
from femb.fem.bulk_stresses import stress_rows
from femb.fem.bulk_ties import Row, ties_of
from femb.fem.bulk_unknowns import of_unknowns
from femb.fem.input_deck import read_deck
from femb.fem.loads import blocks_of, heated
from femb.fem.model import FeModel, StressStiffness, as_csc
from femb.fem.recovery import BAR, SHELL, ElementRows, Recoverable
from femb.fem.solids import SolidMaterial, SolidStress, solid_model
from femb.numerics.threads import one_blas_thread

# Solids: numbers of corners and of all grids; kinds of meshio with these; where the other grids are in meshio's order;
# corners on both sides of them.
_LOOP = [(0, 1), (1, 2), (2, 3), (3, 0)]
_UP = [(0, 4), (1, 5), (2, 6), (3, 7)]
SOLIDS: dict[str, tuple[int, str, str, list[int], list[tuple[int, int]]]] = {
    "CTETRA": (4, "tetra", "tetra10", [*range(6)], [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]),
    "CHEXA": (8, "hexahedron", "hexahedron20", [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7],
              [*_LOOP, *_UP, *((a + 4, b + 4) for a, b in _LOOP)]),
    "CPENTA": (6, "wedge", "wedge15", [0, 1, 2, 6, 7, 8, 3, 4, 5],
               [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)]),
    "CPYRAM": (5, "pyramid", "pyramid13", [*range(8)], [*_LOOP, (0, 4), (1, 4), (2, 4), (3, 4)]),
}  # fmt: skip
# Corners whose edges from the first are right-handed, and the order of the corners the other way round.
FRAMES = {"CTETRA": (1, 2, 3), "CHEXA": (1, 3, 4), "CPENTA": (1, 2, 3), "CPYRAM": (1, 3, 4)}
TURNED = {"CTETRA": [0, 2, 1, 3], "CHEXA": [4, 5, 6, 7, 0, 1, 2, 3], "CPENTA": [3, 4, 5, 0, 1, 2],
          "CPYRAM": [0, 3, 2, 1, 4]}  # fmt: skip
# What is left out without a word.
UNSAID = ("materials that no element read here has", "loads", "sets", "requests and solution", "supports")
# Grids of superelements within this distance are one, in the unit of the file.
CONNECTED = 5e-5


@one_blas_thread()
def read_structure(path: str | Path, unit: float | str | Units = 1.0, logical: Logical | None = None) -> FeModel:
    """The finite element model of a file, without supports.

    unit : of its lengths, m, beside N and s; or a system of units, as "in-lbf-s". logical : folders of INCLUDE by name.
    Nodes are the grids that rigid elements do not carry. Warns of what is left out. Raises ModelError: cards, fields
    and options that are not read, by name; ResultError.
    """
    data = read_deck(path, unit, logical)
    try:
        sections, said = [data, *data.parts.values()], dict[str, list[str]]()
        for section in sections:
            for what, names in section.check_names().items():
                said[what] = list(dict.fromkeys([*said.get(what, []), *names]))
        if joined := glued(data):
            warnings.warn(f"{path}: {', '.join(joined)}: glue is left out: parts that it joins lie apart", FembWarning)
        held = any(section.held_grids for section in sections)
        supports = [*said.get("supports", []), *(["PS of GRID"] if held else [])]
        supports = ["*BOUNDARY"] if supports and is_input(path) else supports
        sets = sorted({card.id for card in data.all("SPC", "SPC1")})
        if sets and data.chosen and "SPC" not in data.chosen:
            given = ", ".join(map(str, sets))
            warnings.warn(f"{path}: SPC {given}: chosen by no SPC = of the case control: hold nothing", FembWarning)
        elif supports:
            warnings.warn(f"{path}: {', '.join(supports)}: supports are left out: name interfaces", FembWarning)
        if moved := [number for section in sections for number in moved_grids(section)]:
            given = ", ".join(map(str, dict.fromkeys(moved[:5]))) + (", ..." if len(moved) > 5 else "")
            warnings.warn(f"{path}: SPC of {given}: D of an enforced displacement is left out: {DRIVEN}", FembWarning)
        bars = [f"{card}" for each in sections for card in each.all("PBAR") if unused_factors(card)]
        if bars:
            warnings.warn(f"{path}: {', '.join(bars)}: K1 and K2 are ignored, since I12 is not 0", FembWarning)
        _check_designed(data)
        if reduced := [name for name in ("ASET", "ASET1", "OMIT", "OMIT1") if name in data.cards]:
            warnings.warn(
                f"{path}: {', '.join(reduced)}: is left out: all freedoms are kept, not those alone", FembWarning
            )
        factors = [name for name in ("CK1", "CK2", "CK3", "CM1", "CM2") if data.parameter(name) not in (None, 1)]
        if factors:
            warnings.warn(f"{path}: PARAM {', '.join(factors)}: factors of K2GG, K42GG, M2GG are left out", FembWarning)
        if others := {what: names for what, names in said.items() if what not in UNSAID}:
            words = "; ".join(f"{', '.join(names)} ({what})" for what, names in others.items())
            warnings.warn(f"{path}: left out: {words}", FembWarning)
        return _joined(data)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    except np.linalg.LinAlgError as error:
        raise ModelError(f"{path}: a number of its stiffness or mass is out of range: {error}") from error


def _check_designed(data: BulkData) -> None:
    """Raise ModelError where SOL 200 replaces fields before its first analysis: by an equation, or by another value."""
    if not any(re.match(r"\s*SOL\s+(200|DESOPT)\b", line, re.IGNORECASE) for line in data.control):
        return
    starts = {card.id: card.value(2) for card in data.all("DESVAR")}
    for card in data.all("DVPREL1", "DVPREL2", "DVMREL1", "DVMREL2", "DVCREL1", "DVCREL2"):
        kind, number, name = (card.value(k) for k in (1, 2, 3))
        if card.name.endswith("1"):
            owner = next((own for own in data.all(kind) if own.id == number), None)
            if owner is None or not (isinstance(name, int) or (kind_of(kind) == "read" and name in fields_of(kind))):
                continue
            pairs = card.rest(8)
            terms = [(starts.get(a), b) for a, b in zip(pairs[::2], pairs[1::2], strict=False)]
            given = owner.value(name - 2 if isinstance(name, int) else name)
            known = [own for term in (*terms, (given, 0.0)) for own in term]
            if not all(isinstance(each, (int, float)) for each in known):
                continue
            value = (card.value(6) or 0.0) + sum(a * b for a, b in terms)
            if abs(value - given) <= 1e-3 * abs(given):
                continue
        raise ModelError(
            f"{card}: SOL 200 replaces {name} of {kind} {number} by that of its design variables before the first "
            "analysis: give the deck that it punches, or another SOL where the cards have their values"
        )


@dataclass
class _Entries:
    """Parts of a symmetric matrix."""

    rows: list[Ints] = field(default_factory=list)
    columns: list[Ints] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    more: list[Sparse] = field(default_factory=list)

    def add(self, places: Ints, blocks: Floats) -> None:
        """Blocks (e, k, k) with rows (e, k)."""
        self.rows.append(np.broadcast_to(places[:, :, None], blocks.shape).ravel())
        self.columns.append(np.broadcast_to(places[:, None, :], blocks.shape).ravel())
        self.values.append(np.asarray(blocks).ravel())

    def matrix(self, size: int) -> Sparse:
        from scipy.sparse import coo_array

        none = np.zeros(0, dtype=int)
        entries = (
            np.concatenate([np.zeros(0), *self.values]),
            (np.concatenate([none, *self.rows]), np.concatenate([none, *self.columns])),
        )
        return as_csc(sum(self.more, start=coo_array(entries, shape=(size, size)).tocsc()))


@dataclass(frozen=True, eq=False)
class _Heat:
    """Elements with their numbers, freedoms (e, k), forces (e, n + 1, k) of a kelvin of each grid above ``cold`` (e,)
    and of a kelvin per metre along the normal, rows (e, n) of grids, and forces held (e, n + 1, q) where these do not
    move."""

    numbers: list[int]
    places: Ints
    per_kelvin: Floats
    cold: Floats
    rows: Ints
    held: Floats


class _Part:
    """The matrices of a section of bulk data by its freedoms: six of each grid, in basic axes, then those of the scalar
    points; its ties and cells."""

    def __init__(self, data: BulkData, coupled: bool, number: int) -> None:
        self.data, self.coupled, self.number = data, coupled, number
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
        self.solids: tuple[FeModel, list[int | list[int]]] | None = None
        self.solid_cells = dict[int, tuple[Card, str, Ints, SolidMaterial]]()
        self.ties = ties_of(data, self.points)
        self.ties.rows += edges_of(data)
        self.stress, self.heat = StructureStress(), list[_Heat]()
        self.forces = dict[int, tuple[str, tuple[str, ...], Floats, Ints]]()
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
            self.heat.append(
                _Heat(shells.numbers.tolist(), places, shells.heat, shells.cold, shells.cells, shells.held)
            )
            word = "tria" if shells.cells.shape[1] == 3 else "quad"
            for number, resultants, at in zip(shells.numbers.tolist(), shells.resultants, places, strict=True):
                self.forces[number] = word, SHELL, resultants, at
            cells |= {kind: shells.cells for kind, n in SIZES.items() if n == shells.cells.shape[1]}
        for rows, stiffness, mass in curved_shells_of(self.data, self.coupled):
            places = (6 * rows[:, :, None] + np.arange(6)).reshape(1, -1)
            self.stiffness.add(places, stiffness)
            self.mass.add(places, mass)
        if bars := bars_of(self.data, self.coupled):
            places = np.array([self.places(list(bar.grids)) for bar in bars])
            self.stiffness.add(places, np.array([bar.stiffness for bar in bars]))
            self.mass.add(places, np.array([bar.mass for bar in bars]))
            halves, none = np.array([0.5, 0.5, 0.0])[:, None], np.zeros(8)
            growth = np.array([halves * bar.growth for bar in bars])
            held = np.array([halves * (none if bar.held is None else bar.held) for bar in bars])
            rows = np.array([[self.row[grid] for grid in bar.grids] for bar in bars])
            numbers = [bar.number for bar in bars]
            self.heat.append(_Heat(numbers, places, growth, np.array([bar.cold for bar in bars]), rows, held))
            for bar, at in zip(bars, places, strict=True):
                if bar.forces is not None:
                    first = 0 if bar.forces[:6].any() else 6
                    word = "rod" if first else "bar"
                    self.forces[bar.number] = word, BAR[first:], bar.forces[first:], at
            self.stress.bars = places, np.array([b.tension for b in bars]), np.array([b.stress for b in bars])
        for grids, stiffness, masses in panels_of(self.data):
            places = (6 * np.array([self.row[grid] for grid in grids])[:, None] + np.arange(3)).reshape(1, -1)
            self.stiffness.add(places, stiffness[None])
            self.mass.add(places, np.diag(np.repeat(masses, 3))[None])
        springs = springs_of(self.data, self.points), connectors_of(self.data)
        for spring in chain(*springs, matrices_of(self.data, self.number > 0, self.points)):
            if not spring.rows:
                continue
            B = np.hstack(list(spring.rows.values()))
            into = self.mass if spring.is_mass else self.stiffness
            into.add(self.places(list(spring.rows))[None], (B.T @ spring.matrix @ B)[None])
        return cells | self._solids()

    def _solids(self) -> dict[str, Ints]:
        """The cells of solids by their kind, rows of grids; a side without its grid stays straight."""
        from scipy.sparse import coo_array

        data, materials = self.data, Materials(self.data)
        cells, owned = dict[str, list[list[int]]](), dict[str, list[SolidMaterial]]()
        points, between = [place for place, _ in data.grids.values()], list[tuple[int, int]]()
        for card in data.all(*SOLIDS):
            corners, linear, whole, order, sides = SOLIDS[card.name]
            given = card.rest("G")
            if len(given) > corners + len(sides) or len(given) < corners or None in given[:corners]:
                raise ModelError(f"{card}: has {len(given)} grids, wanted {corners} to {corners + len(sides)}")
            own = [self.row[data.known(card, card.place("G") + k)] for k in range(corners)]
            rest, kind = [each or None for each in given[corners:]], linear
            if any(rest):
                kind, own = whole, own + [0] * len(sides)
                for k, (place, (a, b)) in enumerate(zip(order, sides, strict=True)):
                    if k < len(rest) and rest[k] is not None:
                        own[corners + place] = self.row[data.known(card, card.place("G") + corners + k)]
                    else:
                        own[corners + place] = len(points)
                        between.append((own[a], own[b]))
                        points.append(0.5 * (points[own[a]] + points[own[b]]))
            if np.linalg.det([points[own[k]] - points[own[0]] for k in FRAMES[card.name]]) < 0.0:
                # the other way round, which NASTRAN takes too
                turn = TURNED[card.name]
                pairs = [{turn[a], turn[b]} for _, (a, b) in sorted(zip(order, sides, strict=True))]
                places = {frozenset(each): order[k] for k, each in enumerate(map(frozenset, sides))}
                rest_of = [corners + places[frozenset(pair)] for pair in pairs] if kind == whole else []
                own = [own[k] for k in (*turn, *rest_of)]
            material = materials.of(card, np.mean([points[k] for k in own[:corners]], axis=0))
            cells.setdefault(kind, []).append(own)
            owned.setdefault(kind, []).append(material)
            self.solid_cells[card.id] = card, kind, np.array(own), material
        if not cells:
            return {}
        arrays = {kind: np.array(each, dtype=np.int64) for kind, each in cells.items()}
        found = solid_model(np.array(points), arrays, owned)
        # by the freedoms of the grids
        count, ends = len(self.row), np.array(between, dtype=np.int64).reshape(-1, 2)
        spread = [[node] if node < count else ends[node - count].tolist() for node in found.node_of.tolist()]
        entries = np.array([
            (1.0 / len(each), i, 6 * row + c)
            for i, (each, c) in enumerate(zip(spread, found.component.tolist(), strict=True)) for row in each
        ])  # fmt: skip
        S = as_csc(coo_array((entries[:, 0], entries[:, 1:].T.astype(int)), shape=(found.size, self.size)))
        for into, matrix in ((self.stiffness, found.stiffness), (self.mass, found.mass)):
            own_part = matrix if into is self.stiffness or self.coupled else _lumped(matrix)
            into.more.append(as_csc(S.T @ own_part @ S))
        assert isinstance(found.stress, SolidStress)
        self.stress.solid = S, found.stress
        self.solids = found, [node if node < count else ends[node - count].tolist() for node in range(len(points))]
        return {kind: each for kind, each in arrays.items() if not np.any(each >= count)}

    def heated(self, temperatures: Temperatures) -> tuple[Floats, dict[int, Floats]]:
        """Forces (n,) of temperatures of the grids and elements, and forces (8,) of elements by their number where
        nothing moves. Raises ModelError."""
        force, grids, held = np.zeros(self.size), list(self.row), dict[int, Floats]()
        if any(True for _ in self.data.all("CQUAD8", "CTRIA6")):
            raise ModelError("temperatures of CQUAD8 and CTRIA6 are not read: take CQUAD4 and CTRIA3")
        for part in self.heat:
            for number, places, per_kelvin, cold, rows, per_held in zip(
                part.numbers, part.places, part.per_kelvin, part.cold, part.rows, part.held, strict=True
            ):
                mean, slope = temperatures.elements.get(number, (None, 0.0))
                own = [temperatures.at(grids[row]) if mean is None else mean for row in rows]
                first = cold if temperatures.initial is None else [temperatures.initial.at(grids[row]) for row in rows]
                warmth = np.append(np.array(own) - first, slope)
                force[places] += warmth @ per_kelvin
                held[number] = warmth @ per_held
        if self.solids is not None:
            model, nodes = self.solids
            assert isinstance(model.stress, SolidStress)
            used = set(np.concatenate([block.cells.ravel() for block in model.stress.blocks]).tolist())
            first = temperatures.initial

            def warm_at(row: int) -> float:
                return temperatures.at(grids[row]) - (0.0 if first is None else first.at(grids[row]))

            warm = np.array([
                np.mean([warm_at(row) for row in np.atleast_1d(each)]) if k in used else 0.0
                for k, each in enumerate(nodes)
            ])  # fmt: skip
            own_force = heated(blocks_of(model.stress), model.nodes, warm, "TEMP", from_cold=first is None)[0]
            assert self.stress.solid is not None
            force += self.stress.solid[0].T @ own_force[model.node_of, model.component]
            for number, (_, _, cell, material) in self.solid_cells.items():
                held[number] = warm[cell] - (material.cold if first is None else 0.0)
        return force, held

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
    from scipy.sparse import vstack

    parts, places = _parts_of(data)
    numbers, positions, rows = _common_grids(data, parts, places)
    scalars = np.cumsum([6 * len(numbers), *(len(part.points) for part in parts)])
    size = int(scalars[-1])
    K, M = _empty(size, size), _empty(size, size)
    ties, held, placed = [_empty(0, size)], [_empty(0, size)], list[tuple[_Part, Sparse]]()
    carrier, cells = dict[int, int](), dict[str, Ints]()
    stress = StructureStress()
    for part, row, first, (R, _) in zip(parts, rows, scalars[:-1], places, strict=True):
        E = _placed(part, row, int(first), size, R)
        K, M = (as_csc(own + E.T @ each.matrix(part.size) @ E) for own, each in ((K, part.stiffness), (M, part.mass)))
        placed.append((part, E))
        ties.append(part.rows(part.ties.rows) @ E)
        held.append(part.rows(list(support_rows(part.data, part.points))) @ E)
        place = dict(zip(part.row, row.tolist(), strict=True))
        carrier |= {place[own]: place[part.ties.host(own)] for own in part.ties.carrier}
        for kind, each in part.cells.items():
            cells[kind] = np.vstack([*([cells[kind]] if kind in cells else []), row[each]])
        stress.parts.append((part.stress, E))
    model, expand = of_unknowns(data, numbers, positions, K, M, as_csc(vstack(ties)), carrier, cells, stress)
    stress.expand = expand
    # all grids that something moves, those that rigid elements carry too
    moving = np.flatnonzero(abs(expand[: 6 * len(numbers)]).sum(axis=1).reshape(-1, 6).any(axis=1))
    known, sets = np.array(numbers)[moving], grid_sets(data)
    return replace(
        model, supports=_independent(as_csc(vstack(held)) @ expand), load_set=partial(_load_set, placed, model, expand),
        recoverable=Recoverable(
            known, positions[moving], _rows_of(sets, known),
            expand.tocsr()[(6 * moving[:, None] + np.arange(6)).ravel()],
            {number: axes for number, (_, axes) in data.grids.items()},
            {number: (*own, expanded_by) for part, E in placed for expanded_by in ((E @ expand).tocsr(),)
             for number, own in part.forces.items()},
            partial(stress_rows, [part.data for part, _ in placed]),
            partial(_solid_stresses, [(part, E @ expand) for part, E in placed if part.solids is not None]),
        ),
        node_sets=_rows_of(sets, model.numbers),
    )  # fmt: skip


def _parts_of(data: BulkData) -> tuple[list[_Part], list[tuple[Floats, Floats]]]:
    """The parts of bulk data: itself and its superelements, and where each is. Raises ModelError."""
    value = data.parameter("COUPMASS")
    coupled = value == "YES" or (isinstance(value, int) and value > 0)
    parts = [_Part(data, coupled, 0), *(_Part(each, coupled, number) for number, each in data.parts.items())]
    places = [_turn(data, part, number) for part, number in zip(parts, (0, *data.parts), strict=True)]
    for card in data.all("SEBULK"):
        kind, number = card.text("TYPE"), card.id
        if number in data.parts or kind == "PRIMARY":
            continue
        if kind not in ("MIRROR", "REPEAT", "IDENTICAL", "IDENTICA") or card.whole("RSEID") not in data.parts:
            raise card.refuse(f"a superelement of type {kind}, beside which PRIMARY, REPEAT and MIRROR of one that is")
        part = parts[1 + list(data.parts).index(card.whole("RSEID"))]
        parts.append(part)
        places.append(_turn(data, part, number, kind == "MIRROR"))
    if not any(part.row for part in parts):
        raise ModelError("has no GRID")
    if not any(part.stiffness.values or part.stiffness.more for part in parts):
        raise ModelError("has no shells, no bars, no springs and no solids; of a mesh give the material (-E)")
    return parts, places


def _rows_of(sets: Mapping[str, Sequence[int]], numbers: Ints) -> dict[str, Ints]:
    """The rows of the grids of sets among grids of these ``numbers``; without sets of which there are none."""
    place = {int(number): k for k, number in enumerate(numbers)}
    found = {name: np.array([place[n] for n in own if n in place], dtype=int) for name, own in sets.items()}
    return {name: rows for name, rows in found.items() if len(rows)}


def _load_set(
    placed: list[tuple[_Part, Sparse]], model: FeModel, expand: Sparse, number: int
) -> tuple[Floats, dict[int, Floats]]:
    """Forces (n,) of a load set of this number, and those of elements in which nothing moves."""
    force, held_forces = np.zeros(model.size), dict[int, Floats]()
    for part, E in placed:
        if part is not placed[0][0] and not LoadSets(part.data).numbers():
            continue
        forces, fields, of_bars = LoadSets(part.data).of(number)
        own = np.zeros(part.size)
        for grid, each in forces.items():
            own[part.places([grid])] += each if grid in part.row else each[:1]
        if (warm := LoadSets(part.data).heat(number)) is not None:
            of_heat, warmed = part.heated(warm)
            own += of_heat
            of_bars = warmed | {bar: each + warmed.get(bar, 0.0) for bar, each in of_bars.items()}
        held_forces |= of_bars
        force += expand.T @ (E.T @ own)
        for factor, card in fields:
            force += factor * inertia(part.data, card, model)
    return force, held_forces


def _solid_stresses(parts: list[tuple[_Part, Sparse]], number: int) -> ElementRows | None:
    """``SolidStresses`` of the first part that has a solid of this number."""
    for part, expand in parts:
        if number in part.solid_cells and part.solids is not None and part.stress.solid is not None:
            (model, _), (S, stress) = part.solids, part.stress.solid
            assert isinstance(stress, SolidStress)
            of = SolidStresses(part.data, part.solid_cells, model.nodes, part.row, stress.place, (S @ expand).tocsr())
            return of.of(number)
    return None


def _independent(rows: Sparse) -> Sparse | None:
    """Rows that hold something."""
    own = np.flatnonzero(abs(rows).sum(axis=1) > 0.0)
    return as_csc(rows.tocsr()[own]) if len(own) else None


def _empty(rows: int, columns: int) -> Sparse:
    from scipy.sparse import csc_array

    return csc_array((rows, columns))


def _common_grids(
    data: BulkData, parts: list[_Part], places: list[tuple[Floats, Floats]]
) -> tuple[list[int], Floats, list[Ints]]:
    """Numbers and positions (N, 3) of the grids of all parts, and the rows of those of each part."""
    from scipy.spatial import cKDTree

    numbers, rows = list[int](), list[Ints]()
    positions = np.zeros((0, 3))
    for k, (part, (R, shift)) in enumerate(zip(parts, places, strict=True)):
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


def _turn(data: BulkData, part: _Part, number: int, mirrored: bool = False) -> tuple[Floats, Floats]:
    """Axes (3, 3) and place (3,) m to which SEMPLN and SELOC move a part; mirrored axes are left-handed."""
    points = {**data["POINT"], **data["GRID"]}
    own = {**part.data["POINT"], **part.data["GRID"]}
    R, shift = np.eye(3), np.zeros(3)
    if mirrored:
        planes = [card for card in data.all("SEMPLN") if card.whole("SEID") == number]
        if not planes or any(planes[0].value(key) not in points for key in ("P1", "P2", "P3")):
            raise ModelError(f"SEBULK {number}: has no SEMPLN with three grids or POINT of the file")
        a, b, c = (data.place(points[planes[0].whole(key)]) for key in ("P1", "P2", "P3"))
        normal = axes_along(b - a, c - a)[:, 2]
        R = np.eye(3) - 2.0 * np.outer(normal, normal)
        shift = a - R @ a
    for card in data.all("SELOC"):
        if card.whole("SEID") != number:
            continue
        from_, to = [], []
        for k in (1, 2, 3):
            if card.whole(f"GA{k}") not in own or card.whole(f"GB{k}") not in points:
                raise ModelError(f"{card}: its grids are not in the file")
            from_.append(R @ part.data.place(own[card.whole(f"GA{k}")]) + shift)
            to.append(data.place(points[card.whole(f"GB{k}")]))
        first, second = (axes_along(b - a, c - a) for a, b, c in (from_, to))
        turn = second @ first.T
        R, shift = turn @ R, to[0] + turn @ (shift - from_[0])
    return R, shift


def _placed(part: _Part, row: Ints, first: int, size: int, turn: Floats) -> Sparse:
    """(n of the part, size): the freedoms of a part by those of all."""
    from scipy.sparse import coo_array

    # in a mirror rotations change their sign
    R = block_diag(turn.T, np.linalg.det(turn) * turn.T)
    count, scalars = len(row), np.arange(len(part.points))
    i, j = np.nonzero(R)
    rows = (6 * np.arange(count)[:, None] + i).ravel()
    columns = (6 * row[:, None] + j).ravel()
    values = np.concatenate([np.tile(R[i, j], count), np.ones(len(scalars))])
    entries = values, (np.r_[rows, 6 * count + scalars], np.r_[columns, first + scalars])
    return as_csc(coo_array(entries, shape=(part.size, size)))


def _lumped(mass: Sparse) -> Sparse:
    """The diagonal of a mass, each element's in proportion to its own."""
    from scipy.sparse import diags_array

    return as_csc(diags_array(np.asarray(mass.sum(axis=1)).ravel()))


@dataclass
class StructureStress:
    """Stress stiffness of shells, bars and solids by the freedoms of a part; parts : with their freedoms by those of
    the whole; expand : these by those of the model, as rigid elements carry some."""

    shells: list[tuple[Ints, Shells]] = field(default_factory=list)
    bars: tuple[Ints, Floats, Floats] | None = None
    solid: tuple[Sparse, StressStiffness] | None = None
    parts: "list[tuple[StructureStress, Sparse]]" = field(default_factory=list)
    expand: Sparse | None = None

    def __call__(self, fields: Floats, shapes: Floats) -> Floats:
        """(f, s, s) of fields (n, f) and shapes (n, s)."""
        u, w = (fields, shapes) if self.expand is None else (self.expand @ fields, self.expand @ shapes)
        G = np.zeros((u.shape[1], w.shape[1], w.shape[1]))
        for own, E in self.parts:
            G += own(E @ u, E @ w)
        for places, shells in self.shells:
            G += stress_work(shells, u[places], w[places])
        if self.bars is not None:
            places, tension, stress = self.bars
            pulled = np.einsum("ek,ekf->ef", tension, u[places])
            G += np.einsum("ef,eas,eab,ebt->fst", pulled, w[places], stress, w[places], optimize=True)
        if self.solid is not None:
            S, solid = self.solid
            G += solid(S @ u, S @ w)
        return G
