"""Shells of NASTRAN bulk data: CQUAD4 and CTRIA3 with their walls, PSHELL and PCOMP of MAT1 and MAT8."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from femb.base.bulk_data import BulkData, Card, is_bulk_data, left_out, read_bulk_data
from femb.base.errors import ModelError
from femb.base.mesh_files import MeshFile
from femb.base.types import Floats, Ints
from femb.elements.beam.laminate import Ply
from femb.elements.shell.laminate import Wall, wall_of_plies, wall_of_sheet
from femb.elements.shell.mesh import LEAST_SINE, SIZES, ShellMesh, mesh_of

__all__ = ["BulkShell", "is_bulk_data", "read_bulk_shell"]

ELEMENTS = {"CQUAD4": 4, "CQUADR": 4, "CTRIA3": 3, "CTRIAR": 3}
READ = (*ELEMENTS, "PSHELL", "PCOMP", "PCOMPG")
AXES = ("CORD2R", "CORD2C", "CORD2S")
# Shear stiffness of a wall that the file says not to shear, by that of a wall of its material.
NO_SHEAR = 1e3
# Density of a material without one, kg/m3, as plies have a positive one.
NO_DENSITY = 1e-12
# Directions for the axes of nodes, of which the one farthest from all normals is taken.
TRIED = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [3, 2, 1], [1, 3, 2], [2, -1, 3], [3, -2, -1]], dtype=float)


@dataclass(frozen=True, eq=False)
class LaidWall:
    """A wall, and its plies and offset where it has plies."""

    wall: Wall
    plies: list[Ply] = field(default_factory=list)
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class BulkShell:
    """The shells of a file. wall_of (e,) : number of the wall of each element, and directions (e, 3) of the material,
    by their number of corners. direction (3,) : of the axes of nodes. numbers (n,) : grids of the nodes of the mesh.
    remark : on what is left out, or nothing."""

    mesh: ShellMesh
    walls: tuple[LaidWall, ...]
    wall_of: Mapping[int, Ints]
    directions: Mapping[int, Floats]
    direction: Floats
    numbers: Ints
    remark: str = ""


def read_bulk_shell(path: str | Path, unit: float = 1.0, group: str | None = None, walls: bool = True) -> BulkShell:
    """The shells of a file. unit : of its lengths, m, beside N and s. group : as "property 3", taken alone. walls :
    whether to read them too.

    Raises ModelError: no shells, properties and materials that are not read; ResultError.
    """
    data = read_bulk_data(path, unit)
    try:
        found = bulk_shell(data, group, walls)
        return replace(found, remark=left_out(path, *AXES, *(READ if walls else ())))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def bulk_shell(data: BulkData, group: str | None = None, with_walls: bool = True) -> BulkShell:
    """The shells of bulk data, as ``read_bulk_shell``. Raises ModelError."""
    numbers = np.array(list(data.grids))
    points = np.array([place for place, _ in data.grids.values()])
    row = {int(number): k for k, number in enumerate(numbers)}
    properties = data.by_id("PSHELL", "PCOMP", "PCOMPG")
    walls: dict[tuple[int, float], int] = {}
    cells, sets = dict[str, Ints](), dict[str, dict[str, Ints]]()
    which, directions = dict[int, Ints](), dict[int, Floats]()
    for kind, n in SIZES.items():
        cards = [card for name, count in ELEMENTS.items() if count == n for card in data.all(name)]
        owned = np.array([card.whole(3, card.id) for card in cards], dtype=np.int64)
        corners = [[row[data.grid(card, 4 + k)] for k in range(n)] for card in cards]
        cells[kind] = np.array(corners, dtype=np.int64).reshape(-1, n)
        keys = [(int(owner), _offset(card, n)) for owner, card in zip(owned, cards, strict=True)]
        which[n] = np.array([walls.setdefault(key, len(walls)) for key in keys], dtype=np.int64)
        directions[n] = _directions(data, cards, points[cells[kind]])
        for owner in np.unique(owned):
            sets.setdefault(f"property {owner}", {})[kind] = np.flatnonzero(owned == owner)
    if not walls:
        raise ModelError(f"has no shells: wanted {', '.join(ELEMENTS)}")
    if group is not None and group in sets:
        for kind, n in SIZES.items():
            rows = sets[group].get(kind, np.zeros(0, dtype=np.int64))
            which[n], directions[n] = which[n][rows], directions[n][rows]
    file = MeshFile(points, {kind: each for kind, each in cells.items() if len(each)}, (), {}, sets, numbers)
    mesh = mesh_of(file, 1.0, group)
    used = np.unique(np.concatenate([which[n] for n in which]))
    place = np.full(len(walls), -1)
    place[used] = np.arange(len(used))
    chosen = [key for key, k in walls.items() if place[k] >= 0]
    laid = tuple(_wall(data, properties, *key) for key in chosen) if with_walls else ()
    least = [np.linalg.norm(np.cross(mesh.normals, d / np.linalg.norm(d)), axis=1).min() for d in TRIED]
    if max(least) < LEAST_SINE:
        raise ModelError("its surface has normals in all directions: give the Shell a direction and a group")
    of_nodes = np.array([int(name) for name in mesh.sets.rows])  # type: ignore[attr-defined]
    return BulkShell(
        mesh, laid, {n: place[each] for n, each in which.items()}, directions, TRIED[int(np.argmax(least))], of_nodes
    )


def _offset(card: Card, n: int) -> float:
    """ZOFFS, in the unit of the file; refuses thicknesses of corners."""
    card.refuse_fields(12, 11 + n, "a thickness at corners")
    return card.number(5 + n, 0.0)


def _directions(data: BulkData, cards: list[Card], x: Floats) -> Floats:
    """(e, 3) of the material: by THETA from the first side, or the x axis of the system MCID."""
    n = x.shape[1]
    if not len(cards):
        return np.zeros((0, 3))
    side = x[:, 1] - x[:, 0]
    normal = np.cross(x[:, 2] - x[:, 0], x[:, 3] - x[:, 1]) if n == 4 else np.cross(side, x[:, 2] - x[:, 0])
    size = np.linalg.norm(normal, axis=1)
    if not size.min() > 0.0:
        raise ModelError(f"{cards[int(size.argmin())]}: is collapsed")
    normal /= size[:, None]
    side -= np.sum(side * normal, axis=1)[:, None] * normal
    values = [card.value(4 + n) for card in cards]
    named = np.array([isinstance(value, int) for value in values])
    angle = np.array(
        [0.0 if own else np.radians(card.number(4 + n, 0.0)) for card, own in zip(cards, named, strict=True)]
    )
    found = np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * np.cross(normal, side)
    for k in np.flatnonzero(named):
        found[k] = data.system(cards[k], 4 + n)[1][:, 0]
        if np.linalg.norm(np.cross(found[k], normal[k])) < LEAST_SINE:
            raise ModelError(f"{cards[k]}: the x axis of its material's coordinate system is along its normal")
    return np.asarray(found)


def _wall(data: BulkData, properties: Mapping[int, Card], number: int, zoffs: float) -> LaidWall:
    """The wall of a property, with elements at an offset along their normals."""
    if number not in properties:
        raise ModelError(f"PSHELL {number}: is not in the file")
    card = properties[number]
    return (_sheet if card.name == "PSHELL" else _laminate)(data, card, data.unit * zoffs)


def _sheet(data: BulkData, card: Card, zoffs: float) -> LaidWall:
    """PSHELL: MID1 T MID2 12I/T3 MID3 TS/T NSM, Z1 Z2 MID4."""
    if card.value(3) is None or card.value(5) is None:
        raise card.refuse("a wall without a material of stretching (MID1) or of bending (MID2)")
    card.refuse_fields(12, 12, "the material of coupling, MID4")
    thickness = data.unit * card.number(4)
    if not thickness > 0.0:
        raise card.fault(4, "a thickness above 0")
    first, second = (data.material(card, k, "MAT1", "MAT8") for k in (3, 5))
    third = first if card.value(7) is None else data.material(card, 7, "MAT1", "MAT8")
    bending, shear = card.number(6, 1.0), card.number(8, 5.0 / 6.0)
    plies = [ply_of(data, each, thickness, 0.0) for each in (first, second, third)]
    extra = np.array([card.number(9, 0.0) * data.mass_factor / data.unit**2, 0.0, 0.0])
    # the guide writes 0.833333
    if first is second is third and card.value(7) is not None and bending == 1.0 and abs(shear - 5.0 / 6.0) < 1e-5:
        wall = wall_of_plies(plies[:1], -zoffs)
        return LaidWall(replace(wall, mass=wall.mass + extra), plies[:1], -zoffs)
    if card.value(7) is None:
        shear = NO_SHEAR
    A, D, S = thickness * plies[0].stiffness(), thickness**3 / 12.0 * plies[1].stiffness(), thickness * plies[2].shear()
    wall = wall_of_sheet(A, bending * D, shear * S, thickness, float(plies[0].density or 0.0), -zoffs)
    return LaidWall(replace(wall, mass=wall.mass + extra))


def _laminate(data: BulkData, card: Card, zoffs: float) -> LaidWall:
    """PCOMP: Z0 NSM SB FT TREF GE LAM, then MID T THETA SOUT of each ply from the bottom; PCOMPG: a line a ply, before
    which there is its number."""
    plies: list[Ply] = []
    material, thickness = None, 0.0
    first, step = (11, 8) if card.name == "PCOMPG" else (10, 4)
    for k in range(first, len(card.fields) + 2, step):
        if all(card.value(k + i) is None for i in range(3)):
            continue
        if card.value(k) is not None:
            material = data.material(card, k, "MAT1", "MAT8")
        thickness = data.unit * card.number(k + 1, thickness / data.unit)
        if material is None or not thickness > 0.0:
            raise card.fault(k if material is None else k + 1, "the material and the thickness of the first ply")
        plies.append(ply_of(data, material, thickness, np.radians(card.number(k + 2, 0.0))))
    if not plies:
        raise ModelError(f"{card}: has no plies")
    lam = card.text(9)
    if lam == "SYM":
        plies += plies[::-1]
    elif lam:
        raise card.refuse(f"the option {lam}, beside which SYM is read")
    total = sum(ply.thickness for ply in plies)
    bottom = data.unit * card.number(3, -0.5 * total / data.unit)
    offset = -(bottom + 0.5 * total + zoffs)
    wall = wall_of_plies(plies, offset)
    extra = np.array([card.number(4, 0.0) * data.mass_factor / data.unit**2, 0.0, 0.0])
    return LaidWall(replace(wall, mass=wall.mass + extra), plies, offset)


def ply_of(data: BulkData, card: Card, thickness: float, angle: float) -> Ply:
    """A ply of MAT1 or MAT8 in SI units: of a MAT8 without G1,Z and G2,Z one that does not shear. Raises ModelError."""
    pressure, density = data.unit**-2, data.mass_factor / data.unit**3
    if card.name == "MAT1":
        E, G, nu, rho = isotropic(data, card)
        heat = None if card.value(7) is None else (card.number(7), card.number(7))
        return _ply(card, thickness, angle, (E, E), G, nu, rho or NO_DENSITY, expansion=heat)
    G = card.number(6)
    across = [card.number(k, 0.0) or NO_SHEAR * G for k in (7, 8)]
    heat = None if card.value(10) is None else (card.number(10), card.number(11, 0.0))
    strengths = None
    if all(card.number(k, 0.0) > 0.0 for k in (13, 15, 17)):
        tension, other = card.number(13), card.number(15)
        strengths = pressure * np.array(
            [tension, card.number(14, tension), other, card.number(16, other), card.number(17)]
        )
    return _ply(
        card, thickness, angle, (pressure * card.number(3), pressure * card.number(4)), pressure * G,
        card.number(5), density * card.number(9, 0.0) or NO_DENSITY,
        transverse_shear=(pressure * across[0], pressure * across[1]), expansion=heat, strengths=strengths,
    )  # fmt: skip


def _ply(card: Card, thickness: float, angle: float, *values: object, **words: object) -> Ply:
    moduli, shear, ratio, density = values
    try:
        return Ply(thickness, angle, moduli, shear, ratio, density, **words)  # type: ignore[arg-type]
    except ModelError as error:
        raise ModelError(f"{card}: {error}") from error


def isotropic(data: BulkData, card: Card) -> tuple[float, float, float, float]:
    """Young's and the shear modulus (Pa), Poisson's ratio and the density (kg/m3) of a MAT1. Raises ModelError."""
    given = [card.value(k) for k in (3, 4, 5)]
    if sum(value is None for value in given) > 1:
        raise ModelError(f"{card}: wanted two of E, G and NU")
    if given[0] is None:
        E = 2.0 * (1.0 + card.number(5)) * card.number(4)
    else:
        E = card.number(3)
    G = 0.5 * E / (1.0 + card.number(5)) if given[1] is None else card.number(4)
    nu = 0.5 * E / G - 1.0 if given[2] is None else card.number(5)
    if not (E > 0.0 and G > 0.0):
        raise ModelError(f"{card}: got E = {E:g} and G = {G:g}, must be greater than 0")
    if not -1.0 < nu < 0.5:
        raise ModelError(f"{card}: has Poisson's ratio {nu:.3g}, must be between -1 and 0.5: give NU beside E and G")
    pressure = data.unit**-2
    return pressure * E, pressure * G, nu, card.number(6, 0.0) * data.mass_factor / data.unit**3
