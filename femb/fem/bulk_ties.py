"""Rigid elements and equations of NASTRAN bulk data: grids that others carry, and rows that are zero."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from femb.base.bulk_data import BulkData, Card, expanded
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.numerics.rotations import rigid_transport

Row = dict[int, Floats]
ALL = [*range(6)]


@dataclass
class Ties:
    """carrier : by grid, the one whose rigid element carries it. rows : by grid (m, 6), of which the sums with the
    motions of the grids are zero."""

    carrier: dict[int, int] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def host(self, grid: int) -> int:
        """The grid that moves it, itself where no rigid element does. Raises ModelError: rigid elements in a ring."""
        passed = [grid]
        while grid in self.carrier:
            grid = self.carrier[grid]
            if grid in passed:
                raise ModelError(f"RBE2: grid {grid} depends on itself by way of {', '.join(map(str, passed))}")
            passed.append(grid)
        return grid


def ties_of(data: BulkData, points: Mapping[int, int]) -> Ties:
    """All rigid elements and equations. Raises ModelError."""
    ties, owner = Ties(), dict[tuple[int, int], Card]()
    for card, free, dependent in _rigid(data):
        for grid, components in dependent.items():
            for c in components:
                other = owner.setdefault((grid, c), card)
                if other is not card:
                    raise ModelError(f"{card}: grid {grid} depends by {other} already")
        lead = next(iter(free))
        for grid, components in dependent.items():
            if len(free) == 1 and len(components) == 6 and len(free[lead]) == 6:
                ties.carrier[grid] = lead
            elif components:
                ties.rows.append(_rigid_row(data, card, free, grid, components))
    for card in data.all("RROD"):
        grids = data.known(card, "GA"), data.known(card, "GB")
        along = data.grids[grids[1]][0] - data.grids[grids[0]][0]
        if not np.linalg.norm(along) > 0.0:
            raise ModelError(f"{card}: has no length")
        row = np.concatenate([along / np.linalg.norm(along), np.zeros(3)])[None]
        ties.rows.append({grids[0]: -row, grids[1]: row})
    ties.rows += [_mean_rows(data, card) for card in data.all("RBE3")]
    ties.rows += _equations(data, points)
    return ties


def _rigid(data: BulkData) -> Iterator[tuple[Card, dict[int, list[int]], dict[int, list[int]]]]:
    """The rigid elements with their independent and dependent components by grid."""
    for card in data.all("RBE2"):
        given = [each for each in card.rest("GM") if each is not None]
        # behind the grids there may be an expansion, a real number
        while given and isinstance(given[-1], float):
            given.pop()
        components, lead = card.components("CM"), data.known(card, "GN")
        owned = [number for number in expanded(card, given) if number != lead]
        if absent := [number for number in owned if number not in data["GRID"]]:
            raise ModelError(f"{card}: grid {absent[0]} of GM is not in the file")
        yield card, {lead: ALL}, dict.fromkeys(owned, components)
    for card in data.all("CRIGD1", "CRIGD2"):
        grids = card.ids("GM") if card.name == "CRIGD1" else [data.known(card, k) for k in _pairs(card)]
        if absent := [number for number in grids if number not in data["GRID"]]:
            raise ModelError(f"{card}: grid {absent[0]} is not in the file")
        own = [ALL] * len(grids) if card.name == "CRIGD1" else [card.components(k + 1) for k in _pairs(card)]
        yield card, {data.known(card, "GN"): ALL}, dict(zip(grids, own, strict=True))
    for card in data.all("RBAR", "RTRPLT"):
        names = "ABC"[: 3 if card.name == "RTRPLT" else 2]
        grids = [data.known(card, f"G{name}") for name in names]
        free = {g: card.components(f"CN{n}") for g, n in zip(grids, names, strict=True) if card.value(f"CN{n}")}
        moved = {g: card.components(f"CM{n}") for g, n in zip(grids, names, strict=True) if card.value(f"CM{n}")}
        yield card, free, moved or _others(grids, free)
    for card in data.all("RBE1"):
        given, free, moved = card.rest("W"), dict[int, list[int]](), dict[int, list[int]]()
        into, k = free, card.place("W")
        while k < card.place("W") + len(given):
            if card.text(k) == "UM":
                into, k = moved, k + 1
            elif isinstance(card.value(k), float):
                break
            elif card.value(k) is None:
                k += 1
            else:
                into[data.known(card, k)] = card.components(k + 1)
                k += 2
        yield card, free, moved


def _pairs(card: Card) -> list[int]:
    """The places of the grids of a CRIGD2, each before its components."""
    first = card.place("W")
    return [k for k in range(first, first + len(card.rest("W")), 2) if card.value(k) is not None]


def _others(grids: list[int], free: Mapping[int, list[int]]) -> dict[int, list[int]]:
    left = {grid: [c for c in ALL if c not in free.get(grid, [])] for grid in grids}
    return {grid: components for grid, components in left.items() if components}


def _components_at(data: BulkData, grid: int, components: list[int], origin: Floats) -> Floats:
    """(c, 6): components along the axes of a grid, by the motion of a rigid body at an origin."""
    place, axes = data.grids[grid]
    return np.asarray((np.kron(np.eye(2), axes.T) @ rigid_transport(place - origin))[components])


def _rigid_row(data: BulkData, card: Card, free: Mapping[int, list[int]], grid: int, components: list[int]) -> Row:
    origin = data.grids[next(iter(free))][0]
    D = np.vstack([_components_at(data, each, own, origin) for each, own in free.items()])
    if D.shape != (6, 6) or np.linalg.matrix_rank(D, 1e-9) < 6:
        raise ModelError(f"{card}: its independent components are not six that define a rigid motion")
    by_free = _components_at(data, grid, components, origin) @ np.linalg.inv(D)
    row: Row = {grid: np.asarray(np.kron(np.eye(2), data.grids[grid][1].T)[components])}
    first = 0
    for each, own in free.items():
        part = by_free[:, first : first + len(own)] @ np.kron(np.eye(2), data.grids[each][1].T)[own]
        row[each] = np.asarray(row.get(each, 0.0) - part)
        first += len(own)
    return row


def _equations(data: BulkData, points: Mapping[int, int]) -> Iterator[Row]:
    """MPC of the set that the case control chooses, of all where it chooses none of any kind."""
    wanted = data.chosen_sets("MPC")
    for card in data.all("MPC"):
        if card.id not in wanted:
            continue
        row: Row = {}
        # two terms a line: G C A G C A, with a blank at the end of a line and at the start of the next
        for k in range(1, len(card.fields)):
            if k % 8 not in (1, 4) or card.value(k) is None:
                continue
            value = card.number(k + 2) if card.value(k + 2) is not None else 0.0
            number = card.whole(k)
            if number in points:
                part = np.array([[value]])
            else:
                data.known(card, k)
                c = card.components(k + 1)[0]
                size = 1.0 if c < 3 else card.units.length
                part = value * size * np.kron(np.eye(2), data.grids[number][1].T)[[c]]
            row[number] = np.asarray(row.get(number, 0.0) + part)
        if row:
            yield row


def _mean_rows(data: BulkData, card: Card) -> Row:
    """RBE3: WT, C, grids of each group.

    The motion of the reference grid is that of least weighted squares, those of rotations times the square of the mean
    distance of the grids.
    """
    lead, wanted = data.known(card, "REFGRID"), card.components("REFC")
    groups: list[tuple[float, list[int], list[int]]] = []
    k, last = card.place("W"), card.place("W") + len(card.rest("W"))
    while k < last:
        value = card.value(k)
        if isinstance(value, str):
            if value.strip().upper() not in ("ALPHA", "UM"):
                raise card.refuse(f"field {k + 2}, {value.strip()}")
            break
        if isinstance(value, float):
            groups.append((value, card.components(k + 1), []))
            k += 1
        elif value is not None and groups:
            groups[-1][2].append(k)
        k += 1
    listed = [(weight, components, expanded(card, [card.value(k) for k in own])) for weight, components, own in groups]
    if not listed or not all(grids for _, _, grids in listed):
        raise ModelError(f"{card}: has no weights and grids to take the mean of")
    if any(weight <= 0.0 for weight, _, _ in listed):
        raise ModelError(f"{card}: has a weight that is not above 0")
    if absent := [g for _, _, grids in listed for g in grids if g not in data["GRID"]]:
        raise ModelError(f"{card}: grid {absent[0]} is not in the file")
    A, b = np.zeros((6, 6)), Row()
    place = data.grids[lead][0]
    lengths = [np.linalg.norm(data.grids[g][0] - place) for _, _, grids in listed for g in grids]
    turns = float(np.mean(lengths)) ** 2 or 1.0
    for weight, components, grids in listed:
        W = np.diag([weight * (1.0 if c < 3 else turns) * (c in components) for c in range(6)])
        for grid in grids:
            Q = np.kron(np.eye(2), data.grids[grid][1])
            S, own = rigid_transport(data.grids[grid][0] - place), Q @ W @ Q.T
            A += S.T @ own @ S
            b[grid] = b.get(grid, 0.0) + S.T @ own
    size = np.sqrt(np.diag(A))
    if not size.min() > 0.0 or np.linalg.matrix_rank(A / np.outer(size, size), 1e-9) < 6:
        raise ModelError(f"{card}: the components of its grids define no motion of grid {lead}: take grids off a line")
    turned = np.kron(np.eye(2), data.grids[lead][1].T)[wanted]
    rows = {grid: np.asarray(-turned @ np.linalg.solve(A, part)) for grid, part in b.items()}
    rows[lead] = np.asarray(rows.get(lead, 0.0) + turned)
    return rows
