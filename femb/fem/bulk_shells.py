"""Shells of NASTRAN bulk data as matrices: the elements of ``Shell`` in small motions, each with a normal of its own.

Source: docs/theory/shell.md, sections 2, 3 and 10.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.elements.shell.bulk_shell import Walls, corners_of, material_directions, shell_cards
from femb.elements.shell.mesh import SIZES, projected_axes
from femb.elements.shell.stiffness import (
    ShellElements,
    areas,
    elements_of,
    middle_axes,
    reference_strains,
    shear_of_all_axes,
)
from femb.fem.bulk_connectors import shape_of

SNORM = 20.0  # degrees, elements that meet by less have one normal, of decks that do not give it
K6ROT = 100.0  # of decks that do not give it, or none
LEAST_CORNER = 1e-12  # sine of the angle at a corner, by the sides


@dataclass(frozen=True, eq=False)
class Shells:
    """Elements with n corners: rows (e, n) of grids, stiffness and mass (e, 6 n, 6 n) in basic axes; corners x and
    directors d (e, n, 3), and stresses (e, m, 6 n) of natural strains by the motions of the corners. heat
    (e, n + 1, 6 n) : forces of a kelvin above ``cold`` (e,) of each corner, and of a kelvin per metre along the normal.
    numbers (e,) : of the elements. resultants (e, 8, 6 n) : N, M and Q in the middle, in the axes of NASTRAN; held
    (e, n + 1, 8) : those of the heat where the corners do not move."""

    cells: Ints
    stiffness: Floats
    mass: Floats
    x: Floats
    d: Floats
    stresses: Floats
    heat: Floats
    cold: Floats
    numbers: Ints
    resultants: Floats
    held: Floats


def shells_of(data: BulkData, coupled: bool) -> list[Shells]:
    """The shells of a file by their number of corners. coupled : whether masses are those of the shape functions."""
    points = np.array([place for place, _ in data.grids.values()])
    walls, cards = Walls(data), {n: shell_cards(data, n) for n in SIZES.values()}
    cells = {n: corners_of(data, own, n) for n, own in cards.items()}
    middles = {n: middle_axes(points[own])[:, :, 2] for n, own in cells.items() if len(own)}
    normals = _normals(cells, middles, data.parameter("SNORM"))
    found = []
    for n in middles:
        x, d = points[cells[n]], normals[n]
        sides = np.roll(x, -1, axis=1) - x
        corner = np.linalg.norm(np.cross(np.roll(sides, 1, axis=1), sides), axis=2).min(axis=1)
        if n == 4 and (flat_at := corner <= LEAST_CORNER * np.sum(sides**2, axis=2).max(axis=1)).any():
            raise ModelError(f"{cards[n][int(flat_at.argmax())]}: three of its corners are on a line")
        axes = middle_axes(x)
        material = projected_axes(axes[:, :, 2], material_directions(data, cards[n], x))
        angle = np.arctan2(*(np.sum(material[:, :, 0] * axes[:, :, k], 1) for k in (1, 0)))
        which = np.array([walls.number(card) for card in cards[n]])
        laid = {int(k): walls.laid(int(k)).wall for k in np.unique(which)}
        C = np.array([laid[int(k)].stiffness for k in which])
        mass = np.array([laid[int(k)].mass for k in which])
        free = np.nan_to_num([laid[int(k)].free for k in which])
        try:
            # drilling is weak, as NASTRAN's: the stiff one of flat meshes is up to 4 % above its coarse quadrilaterals
            elements = elements_of(x, d, C, angle, free, False, residual=True)
        except np.linalg.LinAlgError:
            worst = cards[n][int(np.argmin(areas(x)))]
            raise ModelError(f"{worst}: is collapsed, the smallest of those with {n} corners") from None
        _drill(data, cards[n], C, elements)
        B = _strain_rows(x, d)
        SB = elements.stiffness @ B
        properties = [card.whole("PID") for card in cards[n]]
        cold = {number: cold_of(data, number) for number in set(properties)}
        K, M = np.swapaxes(B, 1, 2) @ SB, _mass(elements.weights, d, mass, coupled)
        known, numbers = np.array([cold[number] for number in properties]), np.array([card.id for card in cards[n]])
        N, free = _resultants(x, elements), np.swapaxes(elements.free, 1, 2)
        # of elements beside their grids moments are those about themselves
        N[:, 3:6] += np.array([card.number("ZOFFS") for card in cards[n]])[:, None, None] * N[:, :3]
        per_kelvin = np.swapaxes(-N @ free, 1, 2)[:, [0] * n + [1]] / np.array([*[n] * n, 1.0])[:, None]
        found.append(Shells(cells[n], K, M, x, d, SB, _heat(x, elements, SB), known, numbers, N @ B, per_kelvin))
    return found


def _drill(data: BulkData, cards: list[Card], C: Floats, elements: ShellElements) -> None:
    """Make the drilling of all but CQUADR and CTRIAR that of PARAM,K6ROT, as NASTRAN's moments show it: at each corner
    1e-6 of it times shear stiffness and area, twice of a triangle."""
    n, given = elements.weights.shape[1], data.parameter("K6ROT")
    share = 1e-6 * (given if isinstance(given, (int, float)) and given > 0 else K6ROT) * (2.0 if n == 3 else 1.0)
    weak = np.array([not card.name.endswith("R") for card in cards])
    corner = share * (shear_of_all_axes(C, 0) * elements.area)[weak]
    elements.stiffness[weak, -n:, -n:] = corner[:, None, None] * np.eye(n)


def _heat(x: Floats, elements: ShellElements, SB: Floats) -> Floats:
    """Forces (e, n + 1, 6 n) of temperatures of the corners, bilinear between four, and of their gradient."""
    n, whole = x.shape[1], elements.free @ SB
    found = np.repeat(whole[:, :1] / n, n, axis=1)
    if n == 4:
        axes = elements.axes[:, :, :2]
        plane = (x - x.mean(axis=1, keepdims=True)) @ axes
        N = np.einsum("eim,em->ei", elements.recovery[:, :3], elements.free[:, 0])
        tensor = N[:, [0, 2, 2, 1]].reshape(-1, 2, 2)
        for r, s in np.sqrt(1.0 / 3.0) * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]):
            values, slopes = shape_of(4, r, s)
            J = slopes @ plane
            force = np.linalg.det(J)[:, None, None] * np.einsum(
                "eca,eab,ebi->eic", axes, tensor, np.linalg.solve(J, np.broadcast_to(slopes, (len(x), 2, 4)))
            )
            own = found.reshape(len(x), n, n, 6)
            own[..., :3] += (values - 0.25)[:, None, None] * force[:, None]
    return np.concatenate([found, whole[:, 1:]], axis=1)


def element_directions(x: Floats) -> Floats:
    """(e, 3) along NASTRAN's x of elements with corners (e, n, 3): the first side of a triangle, the bisector of the
    diagonals of a quadrilateral."""
    if x.shape[1] == 3:
        return np.asarray(x[:, 1] - x[:, 0])
    first, second = x[:, 2] - x[:, 0], x[:, 3] - x[:, 1]
    return first / np.linalg.norm(first, axis=1)[:, None] - second / np.linalg.norm(second, axis=1)[:, None]  # type: ignore[no-any-return]


def _resultants(x: Floats, elements: ShellElements) -> Floats:
    """(e, 8, m) by natural strains; moments have NASTRAN's sign."""
    along = element_directions(x)
    c, s = (np.sum(along * elements.axes[:, :, k], axis=1) for k in (0, 1))
    size = np.hypot(c, s)
    c, s = c / size, s / size
    T = np.zeros((len(x), 8, 8))
    for k, sign in ((0, 1.0), (3, -1.0)):
        T[:, k : k + 3, k : k + 3] = sign * np.moveaxis(
            np.array([[c * c, s * s, 2 * c * s], [s * s, c * c, -2 * c * s], [-c * s, c * s, c * c - s * s]]), 2, 0
        )
    T[:, 6:, 6:] = np.moveaxis(np.array([[c, s], [-s, c]]), 2, 0)
    return np.asarray(T @ elements.recovery)


def cold_of(data: BulkData, number: int) -> float:
    """The temperature without stress of a wall: TREF of PCOMP, or of the material of PSHELL."""
    own = data["PSHELL PCOMP PCOMPG"][number]
    if own.name == "PSHELL":
        own = data.property(own, "MAT1 MAT8 MAT2", "MID1" if own.value("MID1") not in (None, 0) else "MID2")
        if own.name == "MAT2":
            return 0.0
    return own.number("TREF") if own.value("TREF") is not None else 0.0


def _normals(cells: dict[int, Ints], middles: dict[int, Floats], snorm: object) -> dict[int, Floats]:
    """(e, n, 3) by corners: means of the normals of elements around a grid that meet by less than PARAM,SNORM, on the
    side of each element."""
    smooth = np.cos(np.radians(max(float(snorm), 0.0) if isinstance(snorm, (int, float)) else SNORM))
    nodes = np.concatenate([cells[n].ravel() for n in middles]) if middles else np.zeros(0, dtype=np.int64)
    own = np.concatenate([np.repeat(middles[n], n, axis=0) for n in middles]) if middles else np.zeros((0, 3))
    order = np.argsort(nodes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(nodes[order]) != 0])
    total = own.copy()
    for rows in np.split(order, starts[1:]):
        cosine = own[rows] @ own[rows].T
        total[rows] = (np.sign(cosine) * ((np.abs(cosine) > smooth) | np.eye(len(rows), dtype=bool))) @ own[rows]
    total /= np.linalg.norm(total, axis=1)[:, None]
    found, first = {}, 0
    for n in middles:
        found[n] = total[first : first + cells[n].size].reshape(-1, n, 3)
        first += cells[n].size
    return found


@lru_cache
def _products(n: int) -> Floats:
    """Q (m, 2 n, 2 n): natural strains are sums of y^T Q y over x, y and z, of the corners and then the directors."""
    pairs = np.eye(2 * n)[:, None] + np.eye(2 * n)
    both = np.zeros((4 * n * n, 2 * n, 3))
    both[:, :, 0] = pairs.reshape(-1, 2 * n)
    values = reference_strains(both[:, :n], both[:, n:]).reshape(2 * n, 2 * n, -1)
    own = np.einsum("iim->im", values) / 4.0
    return np.moveaxis(0.5 * (values - own[:, None] - own[None]), -1, 0)


def _strain_rows(x: Floats, d: Floats) -> Floats:
    """(e, m, 6 n): natural and drilling strains by displacements and rotations of the corners."""
    e, n = x.shape[:2]
    x = x - x.mean(axis=1, keepdims=True)
    slopes = _slopes(x, d)
    m = slopes.shape[1]
    B = np.zeros((e, m + n, n, 6))
    B[:, :m, :, :3], B[:, :m, :, 3:] = slopes[:, :, :n], np.cross(d[:, None], slopes[:, :, n:])
    for i in range(n):
        after, before = (i + 1) % n, i - 1
        a, b = x[:, after] - x[:, i], x[:, before] - x[:, i]
        normal = np.cross(a, b)
        factor = 0.5 / np.linalg.norm(normal, axis=1)[:, None]
        B[:, m + i, i, 3:] = -2.0 * factor * normal
        B[:, m + i, after, :3] += factor * b
        B[:, m + i, before, :3] -= factor * a
        B[:, m + i, i, :3] += factor * (a - b)
    return B.reshape(e, m + n, 6 * n)


def _slopes(x: Floats, d: Floats) -> Floats:
    """(e, m, 2 n, 3): derivatives of the natural strains by the corners, then by the directors."""
    return np.asarray(
        2.0 * np.einsum("mij,ejc->emic", _products(x.shape[1]), np.concatenate([x, d], axis=1), optimize=True)
    )


def stress_work(shells: Shells, fields: Floats, shapes: Floats) -> Floats:
    """(f, s, s): shapes^T K_s shapes by the stresses of fields, both by the freedoms of the elements, (e, 6 n, f) and
    (e, 6 n, s); the part of drilling is left out."""
    e, n = shells.x.shape[:2]
    Q, d = _products(n), shells.d
    m, s = len(Q), shapes.shape[2]
    stress = shells.stresses[:, :m] @ fields
    moved = shapes.reshape(e, n, 6, s)
    turned = moved[:, :, 3:]
    y = np.concatenate([moved[:, :, :3], np.cross(turned, d[..., None], axis=2)], axis=1).reshape(e, 2 * n, 3 * s)
    slopes = _slopes(shells.x - shells.x.mean(axis=1, keepdims=True), d)[:, :, n:]
    flat, turns = y.reshape(-1, s), turned.reshape(-1, s)
    found = np.zeros((fields.shape[2], s, s))
    for k in range(fields.shape[2]):
        pulled = 2.0 * np.tensordot(stress[:, :, k], Q, 1) @ y
        # directors that turn by a finite angle: of half of theta x (theta x d)
        g = np.einsum("em,emic->eic", stress[:, :, k], slopes)
        bent = 0.5 * (g[..., :, None] * d[..., None, :] + d[..., :, None] * g[..., None, :])
        bent -= np.sum(g * d, axis=2)[..., None, None] * np.eye(3)
        found[k] = flat.T @ pulled.reshape(-1, s) + turns.T @ (bent @ turned).reshape(-1, s)
    return found


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
