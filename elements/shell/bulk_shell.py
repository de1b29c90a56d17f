"""Shells of NASTRAN bulk data: CQUAD4 and CTRIA3 with their walls, PSHELL and PCOMP of MAT1 and MAT8."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from femb.base.bulk_cards import Units
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
# Stiffness of stretching or bending that a wall has not, by that of a wall of its material.
NO_STIFFNESS = 1e-9
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


def read_bulk_shell(
    path: str | Path, unit: float | str | Units = 1.0, group: str | None = None, walls: bool = True
) -> BulkShell:
    """The shells of a file. unit : of its lengths, m, beside N and s, or of all. group : as "property 3", taken alone.
    walls : whether to read them too.

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
    walls = Walls(data)
    cells, sets = dict[str, Ints](), dict[str, dict[str, Ints]]()
    which, directions = dict[int, Ints](), dict[int, Floats]()
    for kind, n in SIZES.items():
        cards = shell_cards(data, n)
        cells[kind] = corners_of(data, cards, n)
        which[n] = np.array([walls.number(card) for card in cards], dtype=np.int64)
        directions[n] = material_directions(data, cards, points[cells[kind]])
        owned = np.array([card.whole("PID") for card in cards], dtype=np.int64)
        for owner in np.unique(owned):
            sets.setdefault(f"property {owner}", {})[kind] = np.flatnonzero(owned == owner)
    if not walls.keys:
        raise ModelError(f"has no shells: wanted {', '.join(ELEMENTS)}")
    if group is not None and group in sets:
        for kind, n in SIZES.items():
            rows = sets[group].get(kind, np.zeros(0, dtype=np.int64))
            which[n], directions[n] = which[n][rows], directions[n][rows]
    file = MeshFile(points, {kind: each for kind, each in cells.items() if len(each)}, (), {}, sets, numbers)
    mesh = mesh_of(file, 1.0, group)
    used = np.unique(np.concatenate([which[n] for n in which]))
    place = np.full(len(walls.keys), -1)
    place[used] = np.arange(len(used))
    laid = tuple(walls.laid(int(k)) for k in used) if with_walls else ()
    least = [np.linalg.norm(np.cross(mesh.normals, d / np.linalg.norm(d)), axis=1).min() for d in TRIED]
    if max(least) < LEAST_SINE:
        raise ModelError("its surface has normals in all directions: give the Shell a direction and a group")
    of_nodes = np.array([int(name) for name in mesh.sets.rows])  # type: ignore[attr-defined]
    return BulkShell(
        mesh, laid, {n: place[each] for n, each in which.items()}, directions, TRIED[int(np.argmax(least))], of_nodes
    )


def shell_cards(data: BulkData, n: int) -> list[Card]:
    """The elements with n corners."""
    return [card for name, count in ELEMENTS.items() if count == n for card in data.all(name)]


def corners_of(data: BulkData, cards: list[Card], n: int) -> Ints:
    """(e, n) rows of the corners among the grids."""
    row = {number: k for k, number in enumerate(data.grids)}
    found = [[row[data.known(card, 2 + k)] for k in range(n)] for card in cards]
    return np.array(found, dtype=np.int64).reshape(-1, n)


class Walls:
    """Walls by property, offset of the element, mean thickness of its corners and factor of bending of a wedge; keys :
    these, in the order of numbers."""

    def __init__(self, data: BulkData) -> None:
        self.data = data
        self.keys: dict[tuple[int, float, float | None, float], int] = {}

    def number(self, card: Card) -> int:
        """The number of the wall of an element. Raises ModelError."""
        n = 3 if card.name.startswith("CTRI") else 4
        keys = [f"T{k + 1}" for k in range(n)]
        given = [card.number(key) for key in keys if card.value(key) is not None]
        if given and len(given) < n and max(given) > 0.0:
            # blank: that of the property
            own = self.data["PSHELL PCOMP PCOMPG"].get(card.whole("PID"))
            if own is None or own.name != "PSHELL":
                raise card.refuse("thicknesses T1 to T4 of some corners")
            given += [own.number("T")] * (n - len(given))
        if given and not min(given) >= 0.0:
            raise ModelError(f"{card}: got a thickness of T1 to T4 below 0")
        if given and card.name[-1] not in "68" and card.text("TFLAG") == "1":
            raise card.refuse("TFLAG, thicknesses as parts of that of the property,")
        # of a wedge the mean, and the mean of the cube by that of an even wall
        t = _at_points(np.array(given))
        mean = float(t.mean()) if given and max(given) > 0.0 else None
        key = card.whole("PID"), card.number("ZOFFS"), mean, float((t**3).mean() / mean**3) if mean else 1.0
        return self.keys.setdefault(key, len(self.keys))

    def laid(self, number: int) -> LaidWall:
        """The wall of a number. Raises ModelError."""
        pid, offset, thickness, wedge = list(self.keys)[number]
        found = self.data["PSHELL PCOMP PCOMPG"]
        if pid not in found:
            raise ModelError(f"PSHELL {pid}: is not in the file")
        card = found[pid]
        return (
            _sheet(self.data, card, offset, thickness, wedge)
            if card.name == "PSHELL"
            else _laminate(self.data, card, offset)
        )


def material_directions(data: BulkData, cards: list[Card], x: Floats) -> Floats:
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
    named = np.array([isinstance(card.value("THETA"), int) and card.value("THETA") > 0 for card in cards])
    angle = np.array([0.0 if own else np.radians(card.number("THETA")) for card, own in zip(cards, named, strict=True)])
    found = np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * np.cross(normal, side)
    for k in np.flatnonzero(named):
        own = data.axes_at(cards[k], cards[k].whole("THETA"), x[k].mean(axis=0))[:, 0]
        if np.linalg.norm(np.cross(own, normal[k])) >= LEAST_SINE:
            found[k] = own
        elif not _isotropic(data, cards[k]):
            raise ModelError(f"{cards[k]}: the x axis of its material's coordinate system is along its normal")
    return np.asarray(found)


def _isotropic(data: BulkData, card: Card) -> bool:
    """Whether the wall of an element is alike in all directions."""
    own = data["PSHELL"].get(card.whole("PID"))
    keys = ("MID1", "MID2", "MID3", "MID4")
    return own is not None and all(own.value(key) in (None, 0) or own.value(key) in data["MAT1"] for key in keys)


def _at_points(corners: Floats) -> Floats:
    """Thicknesses at Gauss points by those of the corners, or none."""
    if len(corners) < 4:
        return corners if not len(corners) else np.array([[4, 1, 1], [1, 4, 1], [1, 1, 4]]) / 6.0 @ corners
    a = 0.5 + np.sqrt(1.0 / 12.0) * np.array([[1, -1, -1, 1], [1, 1, -1, -1]])
    shares = np.array([a[0] * a[1], (1 - a[0]) * a[1], (1 - a[0]) * (1 - a[1]), a[0] * (1 - a[1])])
    return np.asarray(shares.T @ corners)


def _sheet(data: BulkData, card: Card, zoffs: float, thickness: float | None, wedge: float) -> LaidWall:
    """PSHELL: without MID1 its stiffness in its plane is made very small, without MID2 that of bending."""
    thickness = card.number("T") if thickness is None else thickness
    if not thickness > 0.0:
        raise card.fault("T", "a thickness above 0")
    named = {key: card.value(key) not in (None, 0) for key in ("MID1", "MID2", "MID3")}
    strained = card.value("MID2") == -1
    named["MID2"] &= not strained
    if strained and card.value("MID1") not in data["MAT1"]:
        raise card.refuse("plane strain, MID2 = -1, of another material than MAT1")
    if not (named["MID1"] or named["MID2"]):
        raise card.refuse("a wall without a material of stretching (MID1) or of bending (MID2)")
    own = {key: data.property(card, "MAT1 MAT8 MAT2", key) for key, given in named.items() if given}
    first, second = own.get("MID1", own.get("MID2")), own.get("MID2", own.get("MID1"))
    assert first is not None
    assert second is not None
    third = own.get("MID3", first)
    bending, shear = wedge * card.number("K"), card.number("TST") or 5.0 / 6.0
    extra = np.array([card.number("NSM"), 0.0, 0.0])
    # the guide writes 0.833333
    coupled = card.value("MID4") not in (None, 0)
    whole = bending == 1.0 and abs(shear - 5.0 / 6.0) < 1e-5 and all(named.values()) and not coupled
    if first is second is third and whole and first.name != "MAT2":
        ply = ply_of(first, thickness, 0.0)
        wall = wall_of_plies([ply], -zoffs)
        return LaidWall(replace(wall, mass=wall.mass + extra), [ply], -zoffs)
    if not named["MID2"]:
        shear = NO_STIFFNESS  # else rotations that walls share would stiffen the corners of a box of membranes
    elif not named["MID3"]:
        shear = NO_SHEAR
    (A, _, density), (D, _, _), (_, S, _) = (plane_stiffness(each) for each in (first, second, third))
    if strained:
        nu, G = A[0, 1] / A[0, 0], A[2, 2]
        A[:2, :2] = 2.0 * G * (np.eye(2) + nu / (1.0 - 2.0 * nu))
    A = thickness * A * (1.0 if named["MID1"] else NO_STIFFNESS)
    D = thickness**3 / 12.0 * bending * D * (1.0 if named["MID2"] else NO_STIFFNESS)
    wall = wall_of_sheet(A, D, shear * thickness * S, thickness, density, -zoffs)
    if coupled:
        # NASTRAN counts curvatures the other way
        if zoffs:
            raise card.refuse("the material of coupling, MID4, of elements with an offset")
        B = -(thickness**2) * plane_stiffness(data.property(card, "MAT1 MAT8 MAT2", "MID4"), False)[0]
        wall.stiffness[:3, 3:6] = wall.stiffness[3:6, :3] = B
    return LaidWall(replace(wall, mass=wall.mass + extra))


def plane_stiffness(card: Card, positive: bool = True) -> tuple[Floats, Floats, float]:
    """Plane stress (3, 3) and shear through the thickness (2, 2), Pa, and density of a MAT1, MAT2 or MAT8. positive :
    whether the former must be."""
    if card.name != "MAT2":
        ply = ply_of(card, 1.0, 0.0)
        return ply.stiffness(), ply.shear(), float(ply.density or 0.0)
    a, b, c, d, e, f = (card.number(key) for key in ("G11", "G12", "G13", "G22", "G23", "G33"))
    G = np.array([[a, b, c], [b, d, e], [c, e, f]])
    if not positive:
        return G, G[:2, :2], 0.0
    if np.linalg.eigvalsh(G)[-1] <= 0.0 or np.linalg.eigvalsh(G)[0] < 0.0:
        raise ModelError(f"{card}: its stiffness is not positive")
    # as the shear material MAT2 has G11, G12, G22
    return G + NO_STIFFNESS * G.max() * np.eye(3), np.array([[a, b], [b, d]]), card.number("RHO")


def _laminate(data: BulkData, card: Card, zoffs: float) -> LaidWall:
    """PCOMP: MID T THETA SOUT of each ply from the bottom; PCOMPG: a line a ply, before which there is its number."""
    plies: list[Ply] = []
    material, thickness = None, 0.0
    first, step = (9, 8) if card.name == "PCOMPG" else (8, 4)
    for k in range(first, len(card.fields), step):
        if all(card.value(k + i) is None for i in range(3)):
            continue
        if card.value(k) is not None:
            number = card.whole(k)
            material = data["MAT1 MAT8"].get(number)
            if material is None:
                raise card.refuse(f"its material {number}, beside which MAT1 and MAT8 are read")
        if card.value(k + 1) is not None:
            thickness = card.number(k + 1, "L")
        if material is None or not thickness > 0.0:
            raise card.fault(k if material is None else k + 1, "the material and the thickness of the first ply")
        angle = 0.0 if card.value(k + 2) is None else np.radians(card.number(k + 2))
        plies.append(ply_of(material, thickness, angle))
    if not plies:
        raise ModelError(f"{card}: has no plies")
    lam = card.text("LAM")
    if lam == "SYM":
        plies += plies[::-1]
    elif lam:
        raise card.refuse(f"the option {lam}, beside which SYM is read")
    total = sum(ply.thickness for ply in plies)
    bottom = -0.5 * total if card.value("Z0") is None else card.number("Z0")
    offset = -(bottom + 0.5 * total + zoffs)
    wall = wall_of_plies(plies, offset)
    extra = np.array([card.number("NSM"), 0.0, 0.0])
    return LaidWall(replace(wall, mass=wall.mass + extra), plies, offset)


def ply_of(card: Card, thickness: float, angle: float) -> Ply:
    """A ply of MAT1 or MAT8 in SI units: of a MAT8 without G1,Z and G2,Z one that does not shear. Raises ModelError."""
    if card.name == "MAT1":
        E, G, nu, rho = isotropic(card)
        heat = None if card.value("A") is None else (card.number("A"), card.number("A"))
        return _ply(card, thickness, angle, (E, E), G, nu, rho or NO_DENSITY, expansion=heat)
    G = card.number("G12")
    across = [card.number(key) or NO_SHEAR * G for key in ("G1Z", "G2Z")]
    heat = None if card.value("A1") is None else (card.number("A1"), card.number("A2"))
    strengths = np.array([card.number(key) for key in ("XT", "XC", "YT", "YC", "S")])
    return _ply(
        card, thickness, angle, (card.number("E1"), card.number("E2")), G, card.number("NU12"),
        card.number("RHO") or NO_DENSITY, transverse_shear=(across[0], across[1]), expansion=heat,
        strengths=strengths if strengths.min() > 0.0 else None,
    )  # fmt: skip


def _ply(card: Card, thickness: float, angle: float, *values: object, **words: object) -> Ply:
    moduli, shear, ratio, density = values
    try:
        return Ply(thickness, angle, moduli, shear, ratio, density, **words)  # type: ignore[arg-type]
    except ModelError as error:
        raise ModelError(f"{card}: {error}") from error


def isotropic(card: Card, bars: bool = False) -> tuple[float, float, float, float]:
    """Young's and the shear modulus (Pa), Poisson's ratio and the density (kg/m3) of a MAT1; of bars the ratio may be
    any. Raises ModelError."""
    given = {key: card.value(key) is not None for key in ("E", "G", "NU")}
    if sum(given.values()) < 2 and not (bars and given["E"]):
        raise ModelError(f"{card}: wanted two of E, G and NU")
    E = card.number("E") if given["E"] else 2.0 * (1.0 + card.number("NU")) * card.number("G")
    if given["G"]:
        G = card.number("G")
    else:
        ratio = card.number("NU") if given["NU"] else 0.0
        if not ratio > -1.0:
            raise card.fault("NU", "a ratio above -1")
        G = 0.5 * E / (1.0 + ratio)
    nu = card.number("NU") if given["NU"] else (0.5 * E / G - 1.0 if G else 0.0)
    if not (E > 0.0 and (G > 0.0 or bars)):
        raise ModelError(f"{card}: got E = {E:g} and G = {G:g}, must be greater than 0")
    if not bars and not -1.0 < nu < 0.5:
        raise ModelError(f"{card}: has Poisson's ratio {nu:.3g}, must be between -1 and 0.5: give NU beside E and G")
    return E, G, nu, card.number("RHO")
