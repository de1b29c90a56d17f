"""Materials of the solids of NASTRAN bulk data: MAT1, MAT9 and MAT11 of PSOLID, and PCOMPS of one material."""

import numpy as np

from femb.base.bulk_data import BulkData, Card
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.shell.bulk_shell import NO_DENSITY, isotropic
from femb.fem.solids import STRAINS, SolidMaterial

# Integration of hexahedra of 8 grids without the modes of bending that NASTRAN gives them.
FULL = ("1", "FULL")


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
        softened = own.name == "PSOLID" and own.text("ISOP") not in FULL
        if material.name == "MAT1":
            E, _, nu, rho = isotropic(material)
            heat = 0.0 if material.value("A") is None else material.number("A")
            cold = 0.0 if material.value("TREF") is None else material.number("TREF")
            self.isotropic[number] = SolidMaterial(E, nu, rho or NO_DENSITY, heat, softened=softened, cold=cold)
            return self.isotropic[number]
        if own.value("CORDM") == -1:
            raise own.refuse("axes of the material along those of each element, CORDM = -1,")
        axes = self.data.axes_at(own, own.whole("CORDM"), middle) @ turn
        C, density = _nine(material) if material.name == "MAT9" else _eleven(material)
        if not np.linalg.eigvalsh(C)[0] > 0.0:
            raise ModelError(f"{material}: its stiffness is not positive")
        C = turned(C, axes)
        elastic = tuple(C.ravel().tolist())
        return SolidMaterial(C[0, 0], 0.0, density or NO_DENSITY, elastic=elastic, softened=softened)

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
    T = np.zeros((6, 6))
    for row, (i, j) in enumerate(STRAINS):
        for column, (p, q) in enumerate(STRAINS):
            # strains in the axes by those outside; shears are twice the components
            T[row, column] = axes[p, i] * axes[q, j] + (axes[q, i] * axes[p, j] if p != q else 0.0)
            T[row, column] *= (0.5 if p != q else 1.0) * (1.0 if i == j else 2.0)
    if np.allclose(axes, np.eye(3)):
        return C
    return np.asarray(T.T @ C @ T)
