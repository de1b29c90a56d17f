"""Rods and springs of NASTRAN bulk data as rows of displacements with stiffnesses: CROD, CONROD, CELAS1, CELAS2, CBUSH.

Their stiffness is that of small displacements at rest; damping is left out, as that of a reduced body is given with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.shell.bulk_shell import isotropic
from femb.numerics.rotations import rigid_transport

SPRINGS = ("CROD", "PROD", "CONROD", "CELAS1", "PELAS", "CELAS2", "CBUSH", "PBUSH")


@dataclass(frozen=True, eq=False)
class Spring:
    """rows : by grid (m, 6), whose sums with the motions of the grids are m elongations. stiffness (m,) N/m, or N m.
    masses : kg by grid."""

    rows: Mapping[int, Floats]
    stiffness: Floats
    masses: Mapping[int, float] = field(default_factory=dict)


def springs_of(data: BulkData) -> list[Spring]:
    """All rods and springs. Raises ModelError: grounded and scalar ones, options that are not read."""
    # a PELAS has two properties of four fields
    pelas = (Card(each.name, each.fields[k : k + 4]) for each in data.all("PELAS") for k in range(0, 8, 4))
    halves = BulkData(data.path, {"PELAS": [each for each in pelas if each.value(2) is not None]})
    properties = {"PROD": data.by_id("PROD"), "PELAS": halves.by_id("PELAS"), "PBUSH": data.by_id("PBUSH")}
    found = [_rod(data, card, properties["PROD"]) for card in data.all("CROD", "CONROD")]
    found += [_scalar(data, card, properties["PELAS"]) for card in data.all("CELAS1", "CELAS2")]
    return found + [_bush(data, card, properties["PBUSH"]) for card in data.all("CBUSH")]


def _property(card: Card, known: Mapping[int, Card], name: str) -> Card:
    number = card.whole(3, card.id)
    if number not in known:
        raise ModelError(f"{card}: property {number} of field 3 is no {name} of the file")
    return known[number]


def _rod(data: BulkData, card: Card, known: Mapping[int, Card]) -> Spring:
    """CROD: EID PID G1 G2, PROD: PID MID A J C NSM. CONROD: EID G1 G2 MID A J C NSM."""
    own, k, first = (card, 5, 3) if card.name == "CONROD" else (_property(card, known, "PROD"), 3, 4)
    E, G, _, rho = isotropic(data, data.material(own, k, "MAT1"))
    area, torsion = data.unit**2 * own.number(k + 1, 0.0), data.unit**4 * own.number(k + 2, 0.0)
    nsm = own.number(k + 4, 0.0) * data.mass_factor / data.unit
    grids = data.grid(card, first), data.grid(card, first + 1)
    along = data.grids[grids[1]][0] - data.grids[grids[0]][0]
    length = float(np.linalg.norm(along))
    if not (length > 0.0 and area >= 0.0 and torsion >= 0.0):
        raise ModelError(f"{card}: has no length, or a negative area or torsion constant")
    rows = np.asarray(np.kron(np.eye(2), along / length))
    half = 0.5 * (rho * area + nsm) * length
    return Spring(
        {grids[0]: -rows, grids[1]: rows}, np.array([E * area, G * torsion]) / length, dict.fromkeys(grids, half)
    )


def _scalar(data: BulkData, card: Card, known: Mapping[int, Card]) -> Spring:
    """CELAS1: EID PID G1 C1 G2 C2, PELAS: PID K. CELAS2: EID K G1 C1 G2 C2."""
    stiffness = (card if card.name == "CELAS2" else _property(card, known, "PELAS")).number(3)
    rows: dict[int, Floats] = {}
    kinds = set()
    for k, sign in ((4, -1.0), (6, 1.0)):
        if card.value(k) in (None, 0):
            raise card.refuse("a spring to the ground: name its grid as an interface instead")
        grid, component = data.grid(card, k), card.whole(k + 1, 0) - 1
        if not 0 <= component < 6:
            raise card.fault(k + 1, "a component from 1 to 6")
        kinds.add(component // 3)
        row = sign * np.kron(np.eye(2), data.grids[grid][1].T)[[component]]
        rows[grid] = np.asarray(rows.get(grid, 0.0) + row)
    if len(kinds) > 1:
        raise card.refuse("a spring between a displacement and a rotation")
    return Spring(rows, np.array([stiffness * (data.unit if kinds == {1} else 1.0 / data.unit)]))


def _bush(data: BulkData, card: Card, known: Mapping[int, Card]) -> Spring:
    """CBUSH: EID PID GA GB X1 X2 X3 CID, S OCID. PBUSH: PID and lines of a letter and six numbers: K is read."""
    if card.value(5) is None:
        raise card.refuse("a spring to the ground: name its grid as an interface instead")
    if card.value(11) not in (None, -1):
        raise card.refuse("a place in a coordinate system, OCID")
    own, unit = _property(card, known, "PBUSH"), data.unit
    stiffness = np.zeros(6)
    for k in range(3, len(own.fields) + 2, 8):
        if own.text(k) == "K":
            stiffness = own.numbers(k + 1, 6)
        elif own.text(k) == "M":
            raise own.refuse("its mass, M")
    grids = data.grid(card, 4), data.grid(card, 5)
    ends = [data.grids[grid][0] for grid in grids]
    axes = _bush_axes(data, card, ends[1] - ends[0], stiffness)
    at = ends[0] + card.number(10, 0.5) * (ends[1] - ends[0])
    turned = np.asarray(np.kron(np.eye(2), axes.T))
    rows: dict[int, Floats] = {}
    for grid, end, sign in zip(grids, ends, (-1.0, 1.0), strict=True):
        rows[grid] = rows.get(grid, 0.0) + sign * turned @ rigid_transport(at - end)
    return Spring(rows, stiffness * np.repeat([1.0 / unit, unit], 3))


def _bush_axes(data: BulkData, card: Card, along: Floats, stiffness: Floats) -> Floats:
    """(3, 3) columns: those of CID, or the line of the grids and the orientation vector."""
    if card.value(9) is not None:
        return data.system(card, 9)[1]
    length = float(np.linalg.norm(along))
    if not length > 0.0:
        raise ModelError(f"{card}: its grids are at one place and it has no CID: give its coordinate system")
    x = along / length
    if card.value(6) is None and card.value(7) is None and card.value(8) is None:
        if stiffness[[1, 2, 4, 5]].any():
            raise ModelError(f"{card}: has a stiffness across its line: give its orientation vector or CID")
        up = np.eye(3)[np.abs(x).argmin()]
    elif isinstance(card.value(6), int) and card.value(7) is None:
        up = data.grids[data.grid(card, 6)][0] - data.grids[data.grid(card, 4)][0]
    else:
        up = data.grids[data.grid(card, 4)][1] @ card.numbers(6, 3)
    z = np.cross(x, up)
    if not np.linalg.norm(z) > 1e-6 * np.linalg.norm(up):
        raise ModelError(f"{card}: its orientation vector is along it")
    z /= np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])
