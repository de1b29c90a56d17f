"""Supports, sets of grids, and sets of loads as forces on grids, that the case control of bulk data names.

Enforced motions are no forces and are left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from femb.base.bulk_data import BulkData, Card, expanded, read_field
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import shown
from femb.elements.shell.bulk_shell import ELEMENTS
from femb.fem.bulk_bars import line_load
from femb.fem.bulk_connectors import shape_of
from femb.fem.bulk_ties import Row
from femb.fem.model import FeModel

FORCES = ("FORCE", "FORCE1", "FORCE2", "MOMENT", "MOMENT1", "MOMENT2")
PRESSURES = ("PLOAD", "PLOAD1", "PLOAD2", "PLOAD4", "SLOAD")
HEAT = ("TEMP", "TEMPD", "TEMPP1", "TEMPRB")
DRIVEN = "make its grid an interface, and drive the position of this"
# Of static sets, which are refused where they are asked for.
UNREAD = r"SPCD|DEFORM|ACCEL1?|PLOAD\w+|FORCE\w+|MOMENT\w+|LOADCYN"
SOLIDS = {"CHEXA": 8, "CPENTA": 6, "CTETRA": 4, "CPYRAM": 5}
FACES = {
    "CHEXA": ["0321", "0154", "1265", "2376", "3047", "4567"],
    "CPENTA": ["021", "345", "0143", "1254", "2035"],
    "CTETRA": ["021", "013", "123", "203"],
    "CPYRAM": ["0321", "014", "124", "234", "304"],
}


def glued(data: BulkData) -> list[str]:
    """Cards of contact bodies that the case control glues, whose parts lie apart without. Raises ModelError: BGSET."""
    for card in data.all("BGSET") if any(data.chosen.get("BGSET", ())) else ():
        raise card.refuse("glue of meshes")
    found = []
    for card in data.all("BCONPRG", "BCTABLE") if any(data.chosen.get("BCONTACT", ())) else ():
        word, step = ("IGLUE", 1) if card.name == "BCONPRG" else ("SLAVE", 6)
        words = [card.text(k) for k in range(len(card.fields))]
        found += [str(card)] if word in words and card.value(words.index(word) + step) else []
    return found


def grid_sets(data: BulkData) -> dict[str, list[int]]:
    """Grids by name: "set7" of SET and SET1, "rbe9" the independent grid of an RBE2, "spc" those that SPC holds."""
    found = {**data.sets, **{f"rbe{card.id}": [card.whole("GN")] for card in data.all("RBE2")}}
    text = "\n".join(line.split("$")[0].strip().upper() for line in data.control).replace(",\n", ",")
    given = [line[3:].partition("=") for line in text.splitlines() if line.startswith("SET ")]
    lists = [(number.strip(), rest.replace(",", " ").split()) for number, _, rest in given]
    lists += [(str(card.value(0)), list(map(str, filter(None, card.rest(1))))) for card in data.all("SET1")]
    for number, words in lists:
        try:
            found[f"set{number}"] = expanded(Card("SET", [number]), [read_field(word) for word in words])
        except ModelError:
            continue  # ALL, or sets of other things
    if len(data.chosen.get("SPC", ())) < 2:  # subcases may differ
        found["spc"] = list(supports_of(data))
    return found


def supports_of(data: BulkData) -> dict[int, list[int]]:
    """Held components 0 to 5 of grids, 0 of scalar points, by SPC and SPC1 that the case control chooses, of all where
    it chooses nothing, and by PS of GRID."""
    held: dict[int, set[int]] = {}

    def hold(number: object, components: object) -> None:
        digits = str(components or 0).replace(" ", "")
        if not set(digits) <= set("0123456"):
            raise ModelError(f"SPC of grid {number}: got the components {shown(components)}, wanted digits 1 to 6")
        if isinstance(number, int):
            held.setdefault(number, set()).update(max(int(c) - 1, 0) for c in digits)

    for card in _chosen(data):
        if card.name == "SPC1":
            for number in card.ids(2):
                hold(number, card.value(1))
        else:
            for k in (1, 4):
                hold(card.value(k), card.value(k + 1))
    for number, components in data.held_grids.items():
        hold(number, components)
    return {number: sorted(own) for number, own in held.items() if number in data["GRID"] or own == {0}}


def _chosen(data: BulkData) -> Iterator[Card]:
    """SPC and SPC1 that the case control chooses, all of a deck without choices of any kind."""
    wanted = data.chosen_sets("SPC", alike=False)
    return (card for card in data.all("SPC", "SPC1") if card.id in wanted)


def moved_grids(data: BulkData) -> list[int]:
    """Grids with an enforced displacement, D of SPC."""
    cards = (card for card in _chosen(data) if card.name == "SPC")
    return [card.whole(k) for card in cards for k in (1, 4) if card.value(k) is not None and card.value(k + 2)]


def support_rows(data: BulkData, scalars: dict[int, int]) -> Iterator[Row]:
    """Rows of the components that supports hold, by grid, along its displacement axes."""
    for number, components in supports_of(data).items():
        if number in data["GRID"]:
            yield {number: np.asarray(np.kron(np.eye(2), data.grids[number][1].T)[components])}
        elif number in scalars:
            yield {number: np.ones((1, 1))}


@dataclass(frozen=True)
class Temperatures:
    """In a set: grids by number, others, and elements by their own: mean and gradient along the normal, 1/m; initial :
    in place of those without stress of the materials, or None."""

    grids: dict[int, float]
    others: float | None
    elements: dict[int, tuple[float, float]] = field(default_factory=dict)
    initial: "Temperatures | None" = None

    def at(self, grid: int) -> float:
        """The temperature of a grid. Raises ModelError."""
        found = self.grids.get(grid, self.others)
        if found is None:
            raise ModelError(f"grid {grid} has no TEMP, and the set has no TEMPD")
        return found


class LoadSets:
    """Forces and moments (6,) by grid of the sets of loads of bulk data, in basic axes."""

    def __init__(self, data: BulkData) -> None:
        self.data = data
        self.bars = {card.id: card for card in data.all("CBAR", "CBEAM")}
        self.faces = {card.id: card for card in data.all(*ELEMENTS, "CQUAD8", "CTRIA6", *SOLIDS)}

    def numbers(self) -> list[int]:
        """The numbers of all sets."""
        cards = self.data.all("LOAD", "GRAV", "RFORCE", *FORCES, *PRESSURES, *HEAT)
        return sorted({card.whole(0) for card in cards if isinstance(card.value(0), int)})

    def of(self, number: int) -> tuple[dict[int, Floats], list[tuple[float, Card]], dict[int, Floats]]:
        """Forces by grid, factors and cards of accelerations of the mass, and forces (8,) of bars, by number, where
        their grids do not move, of a set. Raises ModelError."""
        parts = [(1.0, number)]
        for card in self.data.all("LOAD"):
            if card.id == number:
                pairs = [k for k in range(2, 2 + len(card.rest(2)), 2) if card.value(k) or card.value(k + 1)]
                parts = [(card.number(1) * card.number(k, ""), card.whole(k + 1)) for k in pairs]
        forces, fields, held = dict[int, Floats](), list[tuple[float, Card]](), dict[int, Floats]()
        found = any(card.whole(0) == number for card in self.data.all(*HEAT))
        for factor, own in parts:
            for name, cards in self.data.cards.items():
                if name not in (*FORCES, *PRESSURES) and re.fullmatch(UNREAD, name):
                    for card in (card for card in cards if card.value(0) == own):
                        if name == "SPCD":
                            raise ModelError(f"{card}: an enforced motion is no force: {DRIVEN}")
                        raise card.refuse("a load of this kind")
            for card in self.data.all(*FORCES, *PRESSURES, "GRAV", "RFORCE"):
                if card.whole(0) != own:
                    continue
                found = True
                if card.name in ("GRAV", "RFORCE"):
                    if isinstance(what := card.value(1), str):
                        raise card.refuse(what)
                    fields.append((factor, card))
                    continue
                on_grids = self._on_grids(card)
                if card.name == "PLOAD1":
                    ends, own_forces = line_load(self.data, card, self.bars)
                    on_grids = iter(ends.items())
                    held[card.whole(1)] = held.get(card.whole(1), 0.0) + factor * own_forces
                for grid, force in on_grids:
                    forces[grid] = forces.get(grid, np.zeros(6)) + factor * force
        if not found:
            raise ModelError(f"load set {number}: has no cards that are read; the file has {self.numbers()}")
        return forces, fields, held

    def heat(self, number: int, above_initial: bool = True) -> Temperatures | None:
        """The temperatures of a set, or None, with the initial ones that the case control names."""
        known, others = dict[int, float](), None
        own = {name: [card for card in self.data.all(name) if card.value(0) == number] for name in HEAT}
        for card in own["TEMP"]:
            known |= {card.whole(k): card.number(k + 1) for k in (1, 3, 5) if card.value(k) is not None}
        for card in self.data.all("TEMPD"):
            for k in range(0, len(card.rest(0)), 2):
                others = card.number(k + 1) if card.value(k) == number else others
        elements = dict[int, tuple[float, float]]()
        for card in own["TEMPP1"]:
            slope = card.number(3, "1/L") if card.value(3) is not None else 0.0
            elements |= dict.fromkeys([card.whole(1), *card.ids(8)], (card.number(2), slope))
        for card in own["TEMPRB"]:
            if any(card.value(k) for k in range(4, 16)):
                raise card.refuse("temperatures that change across a bar")
            ends = card.numbers(2, 2, "")
            elements |= dict.fromkeys([card.whole(1), *card.ids(16)], (float(ends.mean()), 0.0))
        if not known and not elements and others is None:
            return None
        named = re.findall(r"^\s*TEMP\w*\s*\(\s*INI\w*\s*\)\s*=\s*(\d+)", "\n".join(self.data.control).upper(), re.M)
        initial = self.heat(int(named[0]), False) if named and above_initial else None
        return Temperatures(known, others, elements, initial)

    def _on_grids(self, card: Card) -> Iterator[tuple[int, Floats]]:
        if card.name in FORCES:
            yield card.whole(1), self._force(card)
        elif card.name == "PLOAD":
            grids = [self.data.known(card, k) for k in (2, 3, 4, 5) if card.value(k) not in (None, 0)]
            yield from self._pressed(grids, [card.number(1, "P")] * len(grids))
        elif card.name == "PLOAD2":
            # of a range some may be none
            given = [number for number in card.ids(2) if "THRU" not in card.rest(2) or number in self.faces]
            for number in given:
                grids = self._corners(card, number)
                yield from self._pressed(grids, [card.number(1, "P")] * len(grids))
        elif card.name == "PLOAD4":
            yield from self._pload4(card)
        elif card.name == "SLOAD":
            for k in (1, 3, 5):
                if card.value(k) is not None:
                    yield card.whole(k), np.array([card.number(k + 1, "F"), *[0.0] * 5])

    def _force(self, card: Card) -> Floats:
        data, moment = self.data, card.name.startswith("MOMENT")
        by_grids, unit = card.name[-1] in "12", "FL" if moment else "F"
        size = card.number(2 if by_grids else 3, unit)
        if by_grids:
            at = [data.grids[data.known(card, k)][0] for k in (3, 4, 5, 6) if card.value(k)]
            direction = at[1] - at[0] if card.name[-1] == "1" else np.cross(at[1] - at[0], at[3] - at[2])
            direction = direction / np.linalg.norm(direction)
        else:
            place = data.grids[data.known(card, 1)][0]
            direction = data.axes_at(card, card.value(2) or 0, place) @ card.numbers(4, 3, "")
        return np.concatenate([np.zeros(3), size * direction] if moment else [size * direction, np.zeros(3)])

    def _corners(self, card: Card, number: int) -> list[int]:
        if number not in self.faces or self.faces[number].name in SOLIDS:
            raise ModelError(f"{card}: {number} is no shell of the file")
        own = self.faces[number]
        n = 3 if own.name.startswith("CTRI") else 4
        return [self.data.known(own, f"G{k + 1}") for k in range(n)]

    def _pload4(self, card: Card) -> Iterator[tuple[int, Floats]]:
        data = self.data
        numbers = [card.whole(1)]
        if card.text(6) == "THRU":
            numbers = [n for n in range(card.whole(1), card.whole(7) + 1) if n in self.faces]
        given = [card.number(k, "P") if card.value(k) is not None else None for k in range(2, 6)]
        for number in numbers:
            if number not in self.faces:
                raise ModelError(f"{card}: {number} is no shell and no solid of the file")
            own = self.faces[number]
            if own.name in SOLIDS:
                corners = [data.known(own, own.place("G") + k) for k in range(SOLIDS[own.name])]
                grids = self._face(card, own.name, corners)
            else:
                grids = self._corners(card, number)
            pressures = [given[0] or 0.0 if value is None else value for value in given][: len(grids)]
            direction = card.numbers(9, 3, "")
            along = None
            if direction.any():
                middle = np.mean([data.grids[grid][0] for grid in grids], axis=0)
                along = data.axes_at(card, card.value(8) or 0, middle) @ (direction / np.linalg.norm(direction))
            yield from self._pressed(grids, pressures, along, -1.0 if own.name in SOLIDS else 1.0)

    def _face(self, card: Card, name: str, corners: list[int]) -> list[int]:
        """The face of a solid by G1 and G3 or G4, its normal outwards, from G1 on."""
        first, other = card.value(6), card.value(7)
        for face in FACES[name]:
            grids = [corners[int(c)] for c in face]
            if first not in grids:
                continue
            # of a face with four corners the opposite one is named, of one with three none, or of a CTETRA the fourth
            if len(grids) == 4:
                named = other == grids[(grids.index(first) + 2) % 4]
            elif name == "CTETRA":
                named = other not in grids and other in corners
            else:
                named = other in (None, 0)
            if named:
                k = grids.index(first)
                return grids[k:] + grids[:k]
        raise ModelError(f"{card}: grids {first} and {other} name no face of its element")

    def _pressed(
        self, grids: list[int], pressures: list[float], along: Floats | None = None, sign: float = 1.0
    ) -> Iterator[tuple[int, Floats]]:
        """Forces of a pressure that is linear over a face with the corners, which may be warped, along its normal."""
        x = np.array([self.data.grids[grid][0] for grid in grids])
        points, weights = np.polynomial.legendre.leggauss(6)
        rule = [
            (r, s, w * v) for r, w in zip(points, weights, strict=True) for s, v in zip(points, weights, strict=True)
        ]
        shares = np.zeros((len(x), 3))
        for r, s, weight in rule if len(x) == 4 else [(0.5, 0.5, 1 / 6), (0.0, 0.5, 1 / 6), (0.5, 0.0, 1 / 6)]:
            values, slopes = shape_of(len(x), r, s)
            area = np.cross(*(slopes @ x))
            area = area if along is None else np.linalg.norm(area) * along * sign
            shares += weight * (values @ pressures) * np.outer(values, area)
        for grid, force in zip(grids, sign * shares, strict=True):
            yield grid, np.concatenate([force, np.zeros(3)])


def inertia(data: BulkData, card: Card, model: FeModel) -> Floats:
    """(n,) forces on the mass of a model in the field of a GRAV, or in the spin of an RFORCE."""
    if card.name == "GRAV":
        axes = data.axes_at(card, card.whole(1) if card.value(1) is not None else 0, np.zeros(3))
        field = card.number(2, "L/T2") * (axes @ card.numbers(3, 3, ""))
        return np.asarray(model.mass @ (model.rigid_motions(np.zeros(3))[:, :3] @ field))
    if card.value(8) or card.value(7) not in (None, 0, 1, 2):
        raise card.refuse("an angular acceleration, RACC,")
    origin = data.grids[data.known(card, 1)][0] if card.value(1) else np.zeros(3)
    axes = data.axes_at(card, card.value(2) or 0, origin)
    spin = 2.0 * np.pi * card.number(3, "1/T") * (axes @ card.numbers(4, 3, ""))
    # momenta of the nodes, and angular ones about these, turn with the spin: masses may be beside the nodes
    momenta = model.mass @ (model.rigid_motions(origin)[:, 3:] @ spin)
    p, h = np.append(momenta, 0.0)[model.dofs].reshape(-1, 2, 3).swapaxes(0, 1)
    turned = np.hstack([np.cross(p, spin), np.cross(h, spin) + np.cross(p, np.cross(spin, model.nodes - origin))])
    force, own = np.zeros(model.size), model.dofs >= 0
    force[model.dofs[own]] = turned[own]
    return force
