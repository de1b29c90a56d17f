"""Matrices of NASTRAN bulk data: GENEL, and the DMIG that K2GG and M2GG of the case control choose."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.fem.bulk_springs import Spring, component_row
from femb.numerics.rotations import rigid_transport

# Names of DMIG of an external superelement, which its section of the file has.
OF_SUPERELEMENTS = {"K2GG": "KAA", "M2GG": "MAA"}


def matrices_of(data: BulkData, is_part: bool, points: dict[int, int]) -> Iterator[Spring]:
    """The matrices as springs and masses. is_part : whether the cards are those of a superelement."""
    for card in data.all("GENEL"):
        yield _general(data, card, points)
    for word, begin in OF_SUPERELEMENTS.items():
        chosen = {name: factor for factor, name in data.matrices(word)}
        if not chosen and is_part:
            chosen = {name: 1.0 for card in data.all("DMIG") if (name := card.text("NAME")).startswith(begin)}
        for name, factor in chosen.items():
            cards = [card for card in data.all("DMIG") if card.text("NAME") == name]
            if not cards:
                raise ModelError(f"{word} = {name}: there is no DMIG of this name")
            yield _direct(data, cards, factor, word == "M2GG", points)


def _direct(data: BulkData, cards: list[Card], factor: float, is_mass: bool, points: dict[int, int]) -> Spring:
    """A DMIG, whose heading has 0 in the place of a grid; mass is without WTMASS."""
    heading = [card for card in cards if card.value(1) == 0]
    form = heading[0].value(2) if heading else None
    if form not in (1, 2, 6) or heading[0].value(5) not in (None, 0):
        raise cards[0].refuse("a heading that is none of a square or symmetric one, 1 or 6,")
    entries: list[tuple[tuple[int, int], tuple[int, int], float]] = []
    for card in cards:
        if card.value(1) == 0:
            continue
        column = card.whole(1), card.whole(2) if card.value(2) else 0
        for k in range(4, len(card.rest(0)), 4):
            if card.value(k) is not None:
                row = card.whole(k), card.whole(k + 1) if card.value(k + 1) else 0
                entries.append((row, column, card.number(k + 2)))
    freedoms = {each: k for k, each in enumerate(dict.fromkeys(own for i, j, _ in entries for own in (i, j)))}
    matrix = np.zeros((len(freedoms), len(freedoms)))
    for i, j, value in entries:
        matrix[freedoms[i], freedoms[j]] = value
        if form == 6:
            matrix[freedoms[j], freedoms[i]] = value
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9 * np.abs(matrix).max()):
        raise cards[0].refuse("a matrix that is not symmetric")
    units = replace(cards[0].units, mass=1.0)
    one = factor * (units.factor("M") if is_mass else units.factor("F/L"))
    rows, sizes = _rows(data, cards[0], list(freedoms), points)
    return Spring(rows, one * np.outer(sizes, sizes) * 0.5 * (matrix + matrix.T), is_mass)


def _rows(
    data: BulkData, card: Card, freedoms: list[tuple[int, int]], points: dict[int, int]
) -> tuple[dict[int, Floats], Floats]:
    """Rows (m, 6), or (m, 1) of scalar points, of freedoms by grid, and a length of the file for each rotation."""
    rows: dict[int, Floats] = {}
    for k, (grid, component) in enumerate(freedoms):
        own = component_row(data, card, grid, component, points)
        rows.setdefault(grid, np.zeros((len(freedoms), own.shape[1])))[k] = own[0]
    return rows, np.array([card.units.length if component > 3 else 1.0 for _, component in freedoms])


def _general(data: BulkData, card: Card, points: dict[int, int]) -> Spring:
    """GENEL: UI, UD in pairs, then K or Z by columns of the lower half, then S by rows."""
    parts, word = {key: list[float]() for key in ("UI", "UD", "K", "Z", "S")}, "UI"
    for value in card.rest("W"):
        if isinstance(value, str):
            word = value.strip().upper()
            if word not in parts:
                raise card.refuse(f"the word {word}")
        elif value is not None:
            parts[word].append(value)
    own, support = (
        [(int(g), int(c)) for g, c in zip(parts[u][::2], parts[u][1::2], strict=True)] for u in ("UI", "UD")
    )
    m, kind = len(own), "K" if parts["K"] else "Z"
    given = np.array(parts[kind], dtype=float)
    if not m or len(given) != m * (m + 1) // 2:
        raise ModelError(f"{card}: has {len(given)} values of {kind} for {m} freedoms, wanted {m * (m + 1) // 2}")
    matrix = np.zeros((m, m))
    first = 0
    for j in range(m):
        matrix[j:, j] = matrix[j, j:] = given[first : first + m - j]
        first += m - j
    if kind == "Z":
        matrix[:] = np.linalg.inv(matrix)
    rows, sizes = _rows(data, card, own + support, points)
    S = np.array(parts["S"], dtype=float).reshape(m, -1)
    if parts["S"]:
        if S.shape[1] != len(support):
            raise ModelError(f"{card}: has {S.size} values of S for {m} freedoms and {len(support)} of UD")
        S = S * sizes[m:] / sizes[:m, None]
    else:
        S = _rigid(data, card, own, support)
    whole = sizes[:m, None] * np.hstack([np.eye(m), -S])
    matrix = 0.5 * (matrix + matrix.T) * card.units.factor("F/L")
    return Spring(rows, whole.T @ matrix @ whole)


def _rigid(data: BulkData, card: Card, own: list[tuple[int, int]], support: list[tuple[int, int]]) -> Floats:
    """(m, 6): freedoms by those of UD as a rigid body moves them, (m, 0) without UD."""
    if not support:
        return np.zeros((len(own), 0))
    rows = [
        component_row(data, card, grid, component, {}) @ rigid_transport(data.grids[grid][0])
        for grid, component in own + support
    ]
    D = np.vstack(rows)
    if len(support) != 6 or np.linalg.matrix_rank(D[len(own) :], 1e-9) < 6:
        raise ModelError(f"{card}: has no S, and UD is none of six freedoms that hold a rigid body")
    return np.asarray(D[: len(own)] @ np.linalg.inv(D[len(own) :]))
