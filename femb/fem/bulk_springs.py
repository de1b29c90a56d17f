"""Springs and masses of NASTRAN bulk data as rows of displacements with stiffnesses or masses.

Their stiffness is that of small displacements at rest; damping is left out, as that of a reduced body is given with it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.fem.bulk_bars import axes_along, line_axes, warping_of
from femb.numerics.rotations import rigid_transport

SCALAR_SPRINGS = ("CELAS1", "CELAS2", "CELAS3", "CELAS4")
SCALAR_MASSES = ("CMASS1", "CMASS2", "CMASS3", "CMASS4")


@dataclass(frozen=True, eq=False)
class Spring:
    """rows : by grid (m, 6), or of a scalar point (m, 1), whose sums with the motions are m elongations. matrix (m, m)
    : stiffness N/m, or mass kg where ``is_mass``."""

    rows: Mapping[int, Floats]
    matrix: Floats
    is_mass: bool = False


def springs_of(data: BulkData, points: Mapping[int, int]) -> list[Spring]:
    """All springs and masses. points : scalar points. Raises ModelError: options that are not read."""
    pelas, pmass = _several(data, "PELAS", 4, 2), _several(data, "PMASS", 2, 4)
    found = [_scalar(data, card, pelas, points, False) for card in data.all(*SCALAR_SPRINGS)]
    found += [_scalar(data, card, pmass, points, True) for card in data.all(*SCALAR_MASSES)]
    found += [_bush(data, card) for card in data.all("CBUSH", "CBUSH1D", "CGAP")]
    return [*found, *_masses(data), *_warping(data, points)]


def _several(data: BulkData, name: str, size: int, count: int) -> dict[int, float]:
    """The values of properties of which several are on a card. Raises ModelError: one that is there twice."""
    found: dict[int, float] = {}
    for card in data.all(name):
        for k in range(0, size * count, size):
            if card.value(k) is None:
                continue
            if found.setdefault(card.whole(k), card.number(k + 1)) != card.number(k + 1):
                raise ModelError(f"{card}: its number is that of another {name} too")
    return found


def _scalar(data: BulkData, card: Card, known: Mapping[int, float], points: Mapping[int, int], mass: bool) -> Spring:
    """A value between components of two grids, scalar points or the ground."""
    simple = card.name[-1] in "34"
    if card.name[-1] in "24":
        value = card.number("K")
    elif card.whole("PID") in known:
        value = known[card.whole("PID")]
    else:
        raise ModelError(f"{card}: property {card.whole('PID')} of field 3 is no {'PMASS' if mass else 'PELAS'}")
    rows: dict[int, Floats] = {}
    for k, sign in ((1, -1.0), (2, 1.0)):
        grid = card.whole(f"G{k}")
        if grid == 0:
            continue
        if simple and grid not in points:
            raise ModelError(f"{card}: {grid} is no SPOINT")
        component = 0 if grid in points else card.whole(f"C{k}")
        # beside displacements in the file's unit, rotations are in rad
        size = sign * (card.units.length if component > 3 else 1.0)
        rows[grid] = np.asarray(rows.get(grid, 0.0) + size * component_row(data, card, grid, component, points))
    unit = "M" if mass else "F/L"  # of two ends, the mass is on their difference, as NASTRAN has it
    return Spring(rows, np.array([[value * card.units.factor(unit)]]), mass)


def _warping(data: BulkData, points: Mapping[int, int]) -> Iterator[Spring]:
    """The rate of twist of CBEAM at the first component of SA and SB, 1/m in the file's unit."""
    for card, axis, K in warping_of(data):
        rows: dict[int, Floats] = {}
        for k, (key, other) in enumerate((("GA", "SA"), ("GB", "SB"))):
            row = np.zeros((4, 6))
            row[2 * k, 3:] = axis
            rows[card.whole(key)] = rows.get(card.whole(key), 0.0) + row
            if card.value(other):
                rate = component_row(data, card, card.whole(other), 1, points)
                # of a grid, displacements have the unit of length already
                size = card.units.length ** (-2 if rate.shape[1] == 6 else -1)
                row = np.zeros((4, rate.shape[1]))
                row[2 * k + 1] = size * rate[0]
                rows[card.whole(other)] = rows.get(card.whole(other), 0.0) + row
        yield Spring(rows, K)


def component_row(data: BulkData, card: Card, grid: int, component: int, points: Mapping[int, int]) -> Floats:
    """(1, 6) of a component 1 to 6 of a grid along its displacement axes; (1, 1) of a scalar point."""
    if grid in points:
        return np.ones((1, 1))
    if grid not in data["GRID"]:
        raise ModelError(f"{card}: {grid} is no grid or scalar point of the file")
    if not 1 <= component <= 6:
        raise ModelError(f"{card}: got the component {component} of grid {grid}, wanted one from 1 to 6")
    return np.asarray(np.kron(np.eye(2), data.grids[grid][1].T)[[component - 1]])


def _masses(data: BulkData) -> Iterator[Spring]:
    """CONM2, whose centre is in axes of CID, with -1 at a place; CONM1, a matrix (6, 6)."""
    for card in data.all("CONM2"):
        grid = data.known(card, "G")
        place, absolute = data.grids[grid][0], card.value("CID") == -1
        axes = np.eye(3) if absolute else data.axes_at(card, card.whole("CID"), place)
        xx, xy, yy, xz, yz, zz = (card.number(key) for key in ("I11", "I21", "I22", "I31", "I32", "I33"))
        inertia = axes @ np.array([[xx, -xy, -xz], [-xy, yy, -yz], [-xz, -yz, zz]]) @ axes.T
        mass, centre = card.number("M"), card.numbers("X1", 3)
        if mass < 0.0 or np.linalg.eigvalsh(inertia)[0] < -1e-9 * np.abs(inertia).max():
            raise ModelError(f"{card}: its mass or a principal moment of inertia is negative")
        matrix = np.zeros((6, 6))
        matrix[:3, :3], matrix[3:, 3:] = mass * np.eye(3), inertia
        yield Spring({grid: rigid_transport(centre - place if absolute else axes @ centre)}, matrix, True)
    for card in data.all("CONM1"):
        grid = data.known(card, "G")
        turned = np.kron(np.eye(2), data.axes_at(card, card.whole("CID"), data.grids[grid][0]).T)
        matrix, values = np.zeros((6, 6)), iter(range(card.place("M"), 40))
        for i in range(6):
            for j in range(i + 1):
                unit = ("M", "ML", "ML2")[(i > 2) + (j > 2)]
                matrix[i, j] = matrix[j, i] = card.numbers(next(values), 1, unit)[0]
        yield Spring({grid: np.asarray(turned)}, matrix, True)


def _bush(data: BulkData, card: Card) -> Spring:
    """CBUSH of PBUSH, lines of a letter and six numbers; CBUSH1D and CGAP, along their line or the x axis of CID."""
    own = data.property(card, {"CBUSH": "PBUSH", "CBUSH1D": "PBUSH1D", "CGAP": "PGAP"}[card.name])
    stiffness = np.zeros(6)
    if card.name == "CBUSH":
        for k in range(1, len(own.fields), 8):
            if own.text(k) == "K":
                stiffness = np.array([own.numbers(k + 1 + c, 1, "F/L" if c < 3 else "FL")[0] for c in range(6)])
            elif own.text(k) == "M":
                raise own.refuse("its mass, M")
    elif card.name == "CBUSH1D":
        stiffness[0] = own.number("K")
        if own.number("M"):
            raise own.refuse("its mass, M")
    else:
        closed = own.value("U0") is None or own.number("U0") <= 0.0
        stiffness[0] = own.number("KA") if closed and own.value("KA") is not None else own.number("KB")
    grids = [data.known(card, "GA")]
    if card.value("GB") is not None:
        grids.append(data.known(card, "GB"))
    ends = [data.grids[grid][0] for grid in grids]
    at = ends[0]
    if card.name == "CBUSH":
        if card.value("OCID") not in (None, -1):
            axes = data.axes_at(card, card.whole("OCID"), ends[0])
            at = data.system(card, card.whole("OCID"))[1] + axes @ card.numbers("S1", 3)
        else:
            at = ends[0] + card.number("S") * (ends[-1] - ends[0])
    axes = _bush_axes(data, card, ends, stiffness)
    turned = np.asarray(np.kron(np.eye(2), axes.T))
    rows: dict[int, Floats] = {}
    for grid, end, sign in zip(grids, ends, (-1.0, 1.0), strict=False):
        arm = at - end if card.name == "CBUSH" else np.zeros(3)
        rows[grid] = rows.get(grid, 0.0) + sign * turned @ rigid_transport(arm)
    return Spring(rows, np.diag(stiffness))


def _bush_axes(data: BulkData, card: Card, ends: list[Floats], stiffness: Floats) -> Floats:
    """(3, 3) columns: those of CID, or the line of the grids and the orientation vector."""
    if card.value("CID") is not None:
        return data.axes_at(card, card.whole("CID"), ends[0])
    along = ends[-1] - ends[0]
    if len(ends) < 2 or not np.linalg.norm(along) > 0.0:
        raise ModelError(f"{card}: its grids are at one place and it has no CID: give its coordinate system")
    if card.name == "CBUSH1D" or all(card.value(f"X{k}") is None for k in (1, 2, 3)):
        if stiffness[[1, 2, 4, 5]].any():
            raise ModelError(f"{card}: has a stiffness across its line: give its orientation vector or CID")
        return axes_along(along, np.eye(3)[np.abs(along).argmin()])
    return line_axes(data, card, (ends[0], ends[1]), data.grids[data.known(card, "GA")][1])
