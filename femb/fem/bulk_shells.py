"""Shells of NASTRAN bulk data as matrices: the elements of ``Shell`` in small motions, each with a normal of its own.

Source: docs/theory/shell.md, sections 2, 3 and 10.
"""

from dataclasses import dataclass

import numpy as np

from femb.base.bulk_data import BulkData
from femb.base.types import Floats, Ints
from femb.elements.shell.bulk_shell import Walls, corners_of, material_directions, shell_cards
from femb.elements.shell.mesh import SIZES, projected_axes
from femb.elements.shell.stiffness import elements_of, middle_axes, reference_strains

SMOOTH = np.cos(np.radians(20.0))  # elements that meet by less have one normal
FLAT = 1e-6


@dataclass(frozen=True, eq=False)
class Shells:
    """Elements with n corners: rows (e, n) of grids, stiffness and mass (e, 6 n, 6 n) in basic axes; corners x and
    directors d (e, n, 3), and stresses (e, m, 6 n) of natural strains by the motions of the corners."""

    cells: Ints
    stiffness: Floats
    mass: Floats
    x: Floats
    d: Floats
    stresses: Floats


def shells_of(data: BulkData, coupled: bool) -> list[Shells]:
    """The shells of a file by their number of corners. coupled : whether masses are those of the shape functions."""
    points = np.array([place for place, _ in data.grids.values()])
    walls, cards = Walls(data), {n: shell_cards(data, n) for n in SIZES.values()}
    cells = {n: corners_of(data, own, n) for n, own in cards.items()}
    middles = {n: middle_axes(points[own])[:, :, 2] for n, own in cells.items() if len(own)}
    normals = _normals(cells, middles)
    every = np.concatenate([each.reshape(-1, 3) for each in normals.values()]) if normals else np.zeros((0, 3))
    flat = 3 not in middles and len(every) > 0 and bool(np.all(np.abs(every @ every[0]) > 1.0 - FLAT**2))
    found = []
    for n in middles:
        x, d = points[cells[n]], normals[n]
        axes = middle_axes(x)
        material = projected_axes(axes[:, :, 2], material_directions(data, cards[n], x))
        angle = np.arctan2(*(np.sum(material[:, :, 0] * axes[:, :, k], 1) for k in (1, 0)))
        which = np.array([walls.number(card) for card in cards[n]])
        laid = {int(k): walls.laid(int(k)).wall for k in np.unique(which)}
        C = np.array([laid[int(k)].stiffness for k in which])
        mass = np.array([laid[int(k)].mass for k in which])
        elements = elements_of(x, d, C, angle, np.zeros((len(x), 1, 6)), flat)
        B = _strain_rows(x, d)
        SB = elements.stiffness @ B
        found.append(Shells(cells[n], np.swapaxes(B, 1, 2) @ SB, _mass(elements.weights, d, mass, coupled), x, d, SB))
    return found


def _normals(cells: dict[int, Ints], middles: dict[int, Floats]) -> dict[int, Floats]:
    """(e, n, 3) by corners: means of the normals of elements around a grid that meet by less than 20 degrees, on the
    side of each element."""
    nodes = np.concatenate([cells[n].ravel() for n in middles]) if middles else np.zeros(0, dtype=np.int64)
    own = np.concatenate([np.repeat(middles[n], n, axis=0) for n in middles]) if middles else np.zeros((0, 3))
    order = np.argsort(nodes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(nodes[order]) != 0])
    total = own.copy()
    for rows in np.split(order, starts[1:]):
        cosine = own[rows] @ own[rows].T
        total[rows] = (np.sign(cosine) * (np.abs(cosine) > SMOOTH)) @ own[rows]
    total /= np.linalg.norm(total, axis=1)[:, None]
    found, first = {}, 0
    for n in middles:
        found[n] = total[first : first + cells[n].size].reshape(-1, n, 3)
        first += cells[n].size
    return found


def _moved(n: int, k: int, d: Floats, arms: Floats) -> tuple[Floats, Floats, Floats]:
    """Motions (e, n, 3) of corners and directors, and (e, n, 2, 3) of the edges at the corners, by a freedom k."""
    z, w, turned = np.zeros_like(d), np.zeros_like(d), np.zeros_like(arms)
    i, c = divmod(k, 6)
    if c < 3:
        z[:, i, c] = 1.0
    else:
        axis = np.eye(3)[c - 3]
        w[:, i], turned[:, i] = np.cross(axis, d[:, i]), np.cross(axis, arms[:, i])
    return z, w, turned


def _strain_rows(x: Floats, d: Floats) -> Floats:
    """(e, m, 6 n): natural and drilling strains by displacements and rotations of the corners."""
    n = x.shape[1]
    x = x - x.mean(axis=1, keepdims=True)
    arms = np.stack([np.roll(x, -1, axis=1) - x, np.roll(x, 1, axis=1) - x], axis=2)
    factor = 0.5 / np.linalg.norm(np.cross(arms[:, :, 0], arms[:, :, 1]), axis=2)
    rest, columns = reference_strains(x, d), []
    size = np.sqrt(np.mean(np.sum(x * x, axis=2)))
    for k in range(6 * n):
        z, w, turned = _moved(n, k, d, arms)
        natural = _bilinear(x, d, rest, size * z, w if k % 6 > 2 else size * w)
        natural = natural / size if k % 6 < 3 else natural
        steps = np.roll(z, -1, axis=1) - z, np.roll(z, 1, axis=1) - z
        drilled = factor * np.sum(
            arms[:, :, 0] * turned[:, :, 1] + steps[0] * arms[:, :, 1]
            - arms[:, :, 1] * turned[:, :, 0] - steps[1] * arms[:, :, 0], axis=2,
        )  # fmt: skip
        columns.append(np.hstack([natural, drilled]))
    return np.stack(columns, axis=2)


def _bilinear(x: Floats, d: Floats, rest: Floats, z: Floats, w: Floats) -> Floats:
    """The change of natural strains of x, d, which are products, that is linear in changes z, w."""
    return np.asarray(reference_strains(x + z, d + w) - rest - reference_strains(z, w))


def _mass(weights: Floats, d: Floats, mass: Floats, coupled: bool) -> Floats:
    """(e, 6 n, 6 n) of masses (e, 3) per area by the weights (e, n, n) of the corners; lumped : without the inertia of
    the wall about its own middle."""
    e, n = d.shape[:2]
    mass = mass.copy()
    if not coupled:
        weights = np.einsum("eij->ei", weights)[:, :, None] * np.eye(n)
        mass[:, 2] = np.divide(mass[:, 1] ** 2, mass[:, 0], out=np.zeros(e), where=mass[:, 0] > 0.0)
    turn = np.zeros((e, n, 6, 6))
    turn[..., range(3), range(3)] = 1.0
    for c in range(3):
        turn[..., 3:, 3 + c] = np.cross(np.eye(3)[c], d)
    middle = np.zeros((e, 6, 6))
    for c in range(3):
        middle[:, c, c], middle[:, 3 + c, 3 + c] = mass[:, 0], mass[:, 2]
        middle[:, c, 3 + c] = middle[:, 3 + c, c] = mass[:, 1]
    found = np.asarray(np.einsum("eij,eiba,ebc,ejcd->eiajd", weights, turn, middle, turn, optimize=True))
    if coupled:
        # about the normal as about the middle of the mass, equation (16)
        rest = mass[:, 2] - mass[:, 1] ** 2 / (mass[:, 0] + 1e-300)
        for i in range(n):
            found[:, i, 3:, i, 3:] += np.einsum("e,ea,eb->eab", weights[:, i].sum(axis=1) * rest, d[:, i], d[:, i])
    return found.reshape(e, 6 * n, 6 * n)


def second_strains(shells: Shells, part: slice) -> Floats:
    """(e, m, 6 n, 6 n): second derivatives of the natural strains; those of drilling are left out."""
    x, d = shells.x[part], shells.d[part]
    x = x - x.mean(axis=1, keepdims=True)
    n, none = x.shape[1], np.zeros((len(x), x.shape[1], 2, 3))
    moves = [_moved(n, k, d, none)[:2] for k in range(6 * n)]
    rest = reference_strains(x, d)
    H = np.zeros((len(x), shells.stresses.shape[1], 6 * n, 6 * n))
    m = rest.shape[1]
    squares = [reference_strains(*each) for each in moves]
    for a, (z, w) in enumerate(moves):
        for b in range(a + 1):
            own = _bilinear(z, w, squares[a], *moves[b])
            if a // 6 == b // 6 and min(a % 6, b % 6) > 2:
                i, p, q = a // 6, np.eye(3)[a % 6 - 3], np.eye(3)[b % 6 - 3]
                bent = np.zeros_like(d)
                bent[:, i] = 0.5 * (np.cross(p, np.cross(q, d[:, i])) + np.cross(q, np.cross(p, d[:, i])))
                own = own + _bilinear(x, d, rest, np.zeros_like(d), bent)
            H[:, :m, a, b] = H[:, :m, b, a] = own
    return H
