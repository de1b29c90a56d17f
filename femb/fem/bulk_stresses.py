"""Stresses of bars, rods and shells of NASTRAN bulk data by their forces.

Source: MSC Nastran Quick Reference Guide, PBAR, PROD, PSHELL and item codes of element stresses.
"""

from collections.abc import Sequence

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.shell.bulk_shell import ELEMENTS, LaidWall, Walls, material_directions
from femb.elements.shell.laminate import recovery_of_plies, to_fibres
from femb.elements.shell.mesh import projected_axes
from femb.elements.shell.stiffness import middle_axes
from femb.fem.bulk_bars import rod_section, with_property
from femb.fem.bulk_sections import stations_of, stress_points
from femb.fem.bulk_shells import element_directions

BARS = ("CBAR", "CBEAM", "CROD", "CTUBE", "CONROD")


def stress_rows(sections: Sequence[BulkData], number: int) -> tuple[tuple[str, ...], Floats]:
    """Names, and rows (r, q) by the forces of an element as of ``femb.fem.recovery``, of the first section that has it.

    Bars have their four points at A, the axial stress, the four at B; rods axial and torsional stress; shells X, Y and
    XY at both fibres, whose places are in the names, those of plies these of each. Raises ModelError: an element or
    property without these.
    """
    for data in sections:
        for card in data.all(*BARS, *ELEMENTS):
            if card.id == number:
                return _of_shell(data, card) if card.name in ELEMENTS else _of_bar(data, card)
    raise ModelError(f"element {number} has no stresses here: wanted {', '.join((*BARS, *ELEMENTS))}")


def _of_shell(data: BulkData, card: Card) -> tuple[tuple[str, ...], Floats]:
    own, walls = data.property(card, "PSHELL PCOMP PCOMPG"), Walls(data)
    laid = walls.laid(walls.number(card))
    if own.name != "PSHELL":
        return _of_plies(data, card, laid)
    thickness, bending = laid.wall.thickness, own.number("K")
    if own.value("MID2") in (None, 0, -1):
        bending = np.inf
    names, rows = list[str](), []
    for key, default in (("Z1", -0.5), ("Z2", 0.5)):
        z = own.number(key, "L") if own.value(key) is not None else default * thickness
        names += [f"{word}@{z:.12g}" for word in ("SX", "SY", "TXY")]
        by_moment = -12.0 * z / (bending * thickness**3)
        rows.append(np.hstack([np.eye(3) / thickness, by_moment * np.eye(3), np.zeros((3, 2))]))
    return tuple(names), np.vstack(rows)


def _of_plies(data: BulkData, card: Card, laid: LaidWall) -> tuple[tuple[str, ...], Floats]:
    """S1, S2 and S12 in the middle of each ply from the bottom, along and across its fibres."""
    x = np.array([[data.grids[data.known(card, f"G{k + 1}")][0] for k in range(ELEMENTS[card.name])]])
    frame = projected_axes(middle_axes(x)[:, :, 2], element_directions(x))[0]
    material = material_directions(data, [card], x)[0] @ frame
    turn = to_fibres(np.array([np.arctan2(material[1], material[0])]))[0]
    plies = recovery_of_plies(laid.plies, laid.offset, laid.wall).loads.mean(axis=1)
    # moments have NASTRAN's sign, and are about the element
    by_force = plies[..., :3] + card.number("ZOFFS") * plies[..., 3:]
    rows = np.concatenate([by_force @ turn, -plies[..., 3:] @ turn, np.zeros((len(plies), 3, 2))], axis=2)
    return tuple(f"P{k + 1}.{word}" for k in range(len(plies)) for word in ("S1", "S2", "S12")), rows.reshape(-1, 8)


def _of_bar(data: BulkData, card: Card) -> tuple[tuple[str, ...], Floats]:
    if card.name not in ("CBAR", "CBEAM"):
        own = card if card.name == "CONROD" else data.property(card, "PROD" if card.name == "CROD" else "PTUBE")
        area, J, _ = rod_section(own)
        C = 0.5 * own.number("OD") if own.name == "PTUBE" else own.numbers("C", 1, "L")[0]
        return ("AXIAL", "TORSION"), np.diag([1.0 / area if area > 0.0 else 0.0, C / J if J > 0.0 else 0.0])
    card, own = with_property(data, card)
    (_, section), *more = stations_of(data, own)
    if more:
        raise own.refuse("stresses of bars that change along them")
    rows = np.zeros((9, 8))
    by = -(stress_points(own) - section.neutral) @ np.linalg.pinv(
        [[section.first, section.product], [section.product, section.second]]
    )
    rows[:4, :2] = rows[5:, 2:4] = by
    rows[4, 6] = 1.0 / section.area if section.area > 0.0 else 0.0
    return ("SA1", "SA2", "SA3", "SA4", "AXIAL", "SB1", "SB2", "SB3", "SB4"), rows
