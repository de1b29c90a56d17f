"""Materials of the solids of NASTRAN bulk data: MAT1, MAT9 and MAT11 of PSOLID, and PCOMPS of one material; their
stresses.

Source: MSC Nastran Quick Reference Guide, PSOLID and item codes of element stresses.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints, Sparse
from femb.elements.shell.bulk_shell import NO_DENSITY, isotropic
from femb.fem.recovery import SOLID, ElementRows
from femb.fem.solid_bending import bent, worked
from femb.fem.solid_shapes import reference_places, shape_functions, turned_strains
from femb.fem.solids import DEGREE, Block, SolidMaterial

# Of PSOLID: ISOP of full shear, and IN without bubbles. ISOP = MODES is that of input files of Abaqus.
FULL, WITHOUT = ("1", "FULL"), ("2", "TWO", "3", "THREE")


class Materials:
    """Materials by property and, where they are not isotropic, by their axes."""

    def __init__(self, data: BulkData) -> None:
        self.data = data
        self.isotropic: dict[int, SolidMaterial] = {}

    def of(self, card: Card, middle: Floats) -> SolidMaterial:
        """The material of an element with its middle (3,) m. Raises ModelError."""
        number = card.whole("PID")
        if number in self.isotropic:
            return self.isotropic[number]
        own = self.data.property(card, "PSOLID PCOMPS")
        if own.name == "PSOLID" and own.text("FCTN") == "PFLUID":
            raise card.refuse("a fluid")
        names = "MAT1 MAT9 MAT11"
        if own.name == "PCOMPS":
            material, turn = self._laminate(own, names)
        else:
            material, turn = self.data.property(own, names, "MID"), np.eye(3)
        bending = _bending(own) if own.name == "PSOLID" else ""
        if material.name == "MAT1":
            E, _, nu, rho = isotropic(material)
            heat = 0.0 if material.value("A") is None else material.number("A")
            cold = 0.0 if material.value("TREF") is None else material.number("TREF")
            self.isotropic[number] = SolidMaterial(E, nu, rho or NO_DENSITY, heat, bending=bending, cold=cold)
            return self.isotropic[number]
        if own.value("CORDM") == -1:
            raise own.refuse("axes of the material along those of each element, CORDM = -1,")
        axes = self.data.axes_at(own, own.whole("CORDM"), middle) @ turn
        C, density = _nine(material) if material.name == "MAT9" else _eleven(material)
        if not np.linalg.eigvalsh(C)[0] > 0.0:
            raise ModelError(f"{material}: its stiffness is not positive")
        C = turned(C, axes)
        elastic = tuple(C.ravel().tolist())
        return SolidMaterial(C[0, 0], 0.0, density or NO_DENSITY, elastic=elastic, bending=bending)

    def _laminate(self, own: Card, names: str) -> tuple[Card, Floats]:
        """The material of a laminate whose plies are alike, and its axes (3, 3) in those of CORDM."""
        plies = [(own.whole(k + 1), own.number(k + 3) if own.value(k + 3) is not None else 0.0)
                 for k in range(8, len(own.rest(0)), 8) if own.value(k) is not None]  # fmt: skip
        if not plies or len(set(plies)) > 1:
            raise own.refuse("plies of several materials or angles in a solid")
        found = self.data["MAT1 MAT9 MAT11"]
        if plies[0][0] not in found:
            raise own.refuse(f"its material {plies[0][0]}, beside which {names.replace(' ', ', ')} are read")
        first, stack = divmod(own.whole("PSDIR"), 10)
        e = np.eye(3)[:, [first - 1, stack - 1]].T
        axes = np.column_stack([e[0], np.cross(e[1], e[0]), e[1]])
        c, s = np.cos(np.radians(plies[0][1])), np.sin(np.radians(plies[0][1]))
        return found[plies[0][0]], axes @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _bending(card: Card) -> str:
    """The word of ``femb.fem.solid_bending`` for solids of PSOLID."""
    if card.text("ISOP") in (*FULL, "MODES"):
        return "modes" if card.text("ISOP") == "MODES" else ""
    return "shear" if card.text("IN") in WITHOUT else "bubbles"


def _nine(card: Card) -> tuple[Floats, float]:
    """Stiffness (6, 6) Pa, of strains xx, yy, zz, xy, yz, zx, and density kg/m3: the upper half by rows."""
    C, place = np.zeros((6, 6)), card.place("G")
    values = card.numbers(place, 21, "P")
    C[np.triu_indices(6)] = values
    return C + np.triu(C, 1).T, float(card.numbers(place + 21, 1, "D")[0])


def _eleven(card: Card) -> tuple[Floats, float]:
    """``_nine`` by three moduli, ratios and shear moduli."""
    E1, E2, E3, G12, G13, G23 = (card.number(key) for key in ("E1", "E2", "E3", "G12", "G13", "G23"))
    nu12, nu13, nu23 = (card.number(key) for key in ("NU12", "NU13", "NU23"))
    S = np.diag([1.0 / each if each > 0.0 else np.inf for each in (E1, E2, E3, G12, G23, G13)])
    S[0, 1] = S[1, 0] = -nu12 / E1
    S[0, 2] = S[2, 0] = -nu13 / E1
    S[1, 2] = S[2, 1] = -nu23 / E2
    if not np.all(np.isfinite(S)):
        raise ModelError(f"{card}: has a modulus that is not above 0")
    return np.linalg.inv(S), card.number("RHO")


def turned(C: Floats, axes: Floats) -> Floats:
    """A stiffness (6, 6) given in axes (3, 3), columns, in those of the components of these."""
    T = turned_strains(axes)
    return C if np.allclose(axes, np.eye(3)) else np.asarray(T.T @ C @ T)


@dataclass(frozen=True, eq=False)
class SolidStresses:
    """Stresses of solids: cards, kinds, nodes (b,) and materials of cells by number; places (N, 3) m of the nodes;
    rows of the first of these by grid; the first freedoms of all in ``expand``."""

    data: BulkData
    solids: Mapping[int, tuple[Card, str, Ints, SolidMaterial]]
    nodes: Floats
    row: Mapping[int, int]
    place: Ints
    expand: Sparse

    def of(self, number: int) -> ElementRows:
        """Word and names; rows (6 p, 3 b) by freedoms (3 b,) of ``expand``, and (6 p, b) by temperatures of the nodes
        above that without stress, in the middle and at the corners. Raises ModelError: axes of elements."""
        card, kind, cell, material = self.solids[number]
        prop = self.data.property(card, "PSOLID PCOMPS")
        if prop.value("CORDM") == -1:
            raise prop.refuse("stresses along axes of each element, CORDM = -1,")
        block = Block.of(kind, cell[None], material, np.ones(1, dtype=int), DEGREE[kind])
        volumes = block.geometry(self.nodes, slice(0, 1))[1]
        corners = card.rest("G")[: len(reference_places(kind.rstrip("0123456789")))]
        at = reference_places(kind)[[cell.tolist().index(self.row[grid]) for grid in corners]]
        if kind.startswith("pyramid") or len(set(corners)) < len(corners):
            # a corner that is a face has no slopes of its own: beside it
            at = at + 1e-6 * (at.mean(axis=0) - at)
        growth = material.expansion * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])

        def strained(points: Floats) -> tuple[Floats, Floats]:
            x = self.nodes[cell][None]
            B, G = bent(kind, material.bending, x, block.points, block.weights, points)
            free = growth[:, None] * shape_functions(kind, points)[0].T[:, None]
            return np.concatenate([B[0], -free], axis=2), G[0]

        C, (B, G) = material.stiffness, strained(block.points)
        wanted, inside = strained(np.vstack([at.mean(axis=0), at]).T)
        across, own = (worked(G[None], C, each[None], volumes)[0] for each in (B, G))
        system = prop.whole("CORDM")
        axes = self.data.axes_at(prop, system, self.nodes[cell[: len(at)]].mean(axis=0))
        # stresses turn as do strains, whose shears are twice the components
        twice = np.diag([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
        turn = np.linalg.inv(twice) @ turned_strains(axes) @ twice
        rows = (turn @ C @ (wanted - inside @ np.linalg.solve(own, across))).reshape(6 * (1 + len(at)), -1)
        of = f"/{system}" if system else ""
        names = tuple(f"{word}@{grid}{of}" for grid in (0, *corners) for word in SOLID)
        places = (3 * self.place[cell][:, None] + np.arange(3)).ravel()
        return card.name[1:].lower(), names, rows[:, : len(places)], places, self.expand, rows[:, len(places) :]
