"""The unknowns of a structure in bulk data: freedoms that are carried, or that have nothing, are none.

Source: MSC Nastran's quick reference guide, AUTOSPC and the rigid elements.
"""

import warnings

import numpy as np

from femb.base.bulk_data import BulkData
from femb.base.errors import FembWarning
from femb.base.types import Bools, Floats, Ints, Sparse
from femb.fem.model import FeModel, StressStiffness, as_csc
from femb.numerics.rotations import rigid_transport

SINGULAR = 1e-8  # stiffness of a direction, of that of the stiffest at the grid, as NASTRAN's AUTOSPC


def of_unknowns(
    data: BulkData, numbers: list[int], positions: Floats, K: Sparse, M: Sparse, ties: Sparse,
    carrier: dict[int, int], cells: dict[str, Ints], stress: StressStiffness,
) -> tuple[FeModel, Sparse]:  # fmt: skip
    """The model without the grids that are carried, and without freedoms that have nothing; and all freedoms by its."""
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
    joints, idle = (as_csc(each)[:, used] for each in (ties, extra))
    of_grid = used < 6 * len(numbers)
    node = np.where(of_grid, used // 6, len(numbers))
    nodes = np.unique(node)
    place = np.full(len(numbers) + 1, -1)
    place[nodes] = np.arange(len(nodes))
    positions = np.vstack([positions, positions.mean(axis=0)])[nodes]
    mapped = {kind: place[each] for kind, each in cells.items()}
    model = FeModel(
        positions, place[node], np.where(of_grid, used % 6, 6), as_csc(M[:, used][used]), as_csc(K[:, used][used]),
        np.array([*numbers, 0])[nodes], {}, stress,
        {kind: whole for kind, each in mapped.items() if len(whole := each[np.all(each >= 0, axis=1)])},
        joints if joints.shape[0] else None, idle if idle.shape[0] else None,
    )  # fmt: skip
    return model, as_csc(T[:, used])


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
