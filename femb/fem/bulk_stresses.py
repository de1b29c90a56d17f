"""Stresses of bars, rods and shells of NASTRAN bulk data by their forces.

Source: MSC Nastran Quick Reference Guide, PBAR, PROD, PSHELL and item codes of element stresses.
"""

from collections.abc import Sequence

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.shell.bulk_shell import ELEMENTS

BARS = ("CBAR", "CROD", "CTUBE", "CONROD")


def stress_rows(sections: Sequence[BulkData], number: int) -> tuple[tuple[str, ...], Floats]:
    """Names, and rows (r, q) by the forces of an element as of ``femb.fem.recovery``, of the first section that has it.

    Bars have their four points at A, the axial stress, the four at B; rods axial and torsional stress; shells X, Y and
    XY at both fibres, whose places are in the names. Raises ModelError: an element or property without these.
    """
    for data in sections:
        for card in data.all(*BARS, *ELEMENTS):
            if card.id == number:
                return _of_shell(data, card) if card.name in ELEMENTS else _of_bar(data, card)
    raise ModelError(f"element {number} has no stresses here: wanted CBAR, CROD, CTUBE, CONROD, or shells of PSHELL")


def _of_shell(data: BulkData, card: Card) -> tuple[tuple[str, ...], Floats]:
    own = data.property(card, "PSHELL")
    if any(card.value(f"T{k}") is not None for k in range(1, 5 if card.name.startswith("CQUAD") else 4)):
        raise card.refuse("stresses of walls with a thickness of their own")
    thickness, bending = own.number("T"), own.number("K")
    if own.value("MID2") in (None, 0, -1):
        bending = np.inf
    names, rows = list[str](), []
    for key, default in (("Z1", -0.5), ("Z2", 0.5)):
        z = own.number(key, "L") if own.value(key) is not None else default * thickness
        names += [f"{word}@{z:.12g}" for word in ("SX", "SY", "TXY")]
        parts = [np.eye(3) / thickness, -12.0 * z / (bending * thickness**3) * np.eye(3), np.zeros((3, 2))]
        rows.append(np.hstack(parts))
    return tuple(names), np.vstack(rows)


def _of_bar(data: BulkData, card: Card) -> tuple[tuple[str, ...], Floats]:
    if card.name != "CBAR":
        own = card if card.name == "CONROD" else data.property(card, "PROD" if card.name == "CROD" else "PTUBE")
        if own.name == "PTUBE":
            raise own.refuse("stresses of tubes")
        J, C = own.number("J"), own.numbers("C", 1, "L")[0]
        area = own.number("A")
        return ("AXIAL", "TORSION"), np.diag([1.0 / area if area > 0.0 else 0.0, C / J if J > 0.0 else 0.0])
    own = data.property(card, "PBAR")
    if own.number("I12"):
        raise own.refuse("stresses of sections with I12")
    first, second = own.number("I1"), own.number("I2")
    rows = np.zeros((9, 8))
    for k, letter in enumerate("CDEF"):
        y, z = own.numbers(f"{letter}1", 2, "L")
        by = [-y / first if first > 0.0 else 0.0, -z / second if second > 0.0 else 0.0]
        rows[k, :2] = rows[5 + k, 2:4] = by
    rows[4, 6] = 1.0 / own.number("A") if own.number("A") > 0.0 else 0.0
    return ("SA1", "SA2", "SA3", "SA4", "AXIAL", "SB1", "SB2", "SB3", "SB4"), rows
