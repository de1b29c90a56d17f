"""Input files of Abaqus and CalculiX, .inp, as bulk data: one structure model, one set of elements, loads and ties.

The loads that hold in step k are load set k, also those of steps before it; supports are those of the last step. Masses
are consistent, as CalculiX has them. Source: as ``input_file``.
"""

import re
import warnings
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from femb.base.array_files import check_file
from femb.base.bulk_cards import SI, Units
from femb.base.bulk_data import BulkData, Logical, is_input, read_bulk_data
from femb.base.errors import FembWarning, ModelError
from femb.base.types import Floats, Ints
from femb.fem.bulk_connectors import Facets
from femb.fem.input_cards import CARDS, LEFT_OUT, PERTURBATIONS
from femb.fem.input_file import FACES, WANTED, InputBlock, InputFile, Naming, number_in

HELD = {
    "ENCASTRE": "123456", "PINNED": "123", "XSYMM": "156", "YSYMM": "246", "ZSYMM": "345", "XASYMM": "234",
    "YASYMM": "135", "ZASYMM": "126",
}  # fmt: skip
NEAR = 0.1  # of the size of a face, within which *TIE connects without POSITION TOLERANCE


def read_deck(path: str | Path, unit: float | str | Units = 1.0, logical: Logical | None = None) -> BulkData:
    """The cards of bulk data, or of an input file of Abaqus and CalculiX, by its suffix. Raises ModelError,
    ResultError."""
    if not is_input(path):
        return read_bulk_data(path, unit, logical)
    check_file(path, "an input file")
    state = Path(path).stat()
    return _read(Path(path), Units.of(unit), (state.st_size, state.st_mtime_ns))


def input_nodes(path: Path) -> tuple[Ints, Floats, dict[str, Ints]]:
    """Numbers, positions and node sets of an input file, whatever else is in it. Raises ModelError, ResultError."""
    deck = InputFile(path, SI, whole=False)
    row = {number: k for k, number in enumerate(deck.nodes)}
    sets = {name: np.array([row[each] for each in own], dtype=np.int64) for name, own in deck.nsets.items()}
    return np.array(list(deck.nodes)), np.array(list(deck.nodes.values())), sets


@lru_cache(maxsize=2)
def _read(path: Path, units: Units, state: tuple[int, int]) -> BulkData:
    try:
        return _Deck(path, units).data
    except (ValueError, IndexError, OverflowError) as error:
        raise ModelError(f"{path}: is damaged: {error}") from error


class _Deck(InputFile):
    """Cards of a file."""

    def __init__(self, path: Path, units: Units) -> None:
        super().__init__(path, units)
        blocks = self.blocks
        self.eid = max(self.elements, default=0)
        # loads that hold by keyword and place: the step that gave them, and their cards
        self.loads: dict[str, dict[tuple[object, ...], tuple[int, list[tuple[object, ...]]]]] = {}
        self.held: dict[tuple[int, str], tuple[int, float]] = {}
        self.freed: set[tuple[int, str]] = set()
        step, before = 0, self.loads
        for k, (block, scope) in enumerate(blocks):
            if block.step != step:
                self._end(step)
                self.loads, step = before, block.step
            if step and (re.fullmatch(PERTURBATIONS, block.keyword) or "PERTURBATION" in block.words):
                self.loads = {}
            if block.word("OP") == "NEW":
                own = self.loads.get(block.keyword, {})
                self.loads[block.keyword] = {key: each for key, each in own.items() if each[0] == step}
            method = getattr(self, "_of_" + block.keyword.lower().replace(" ", "_"), None)
            if method is not None:
                after = [each for each, _ in blocks[k + 1 : k + 2] if block.keyword == "COUPLING"]
                try:
                    method(block, scope, *after)
                except (ValueError, IndexError, OverflowError, ZeroDivisionError) as error:
                    raise block.fault(f"is damaged: {error}") from error
            elif block.keyword not in CARDS:
                what = next((what for what, names in LEFT_OUT.items() if re.fullmatch(names, block.keyword)), None)
                if what is None and not step:
                    raise block.fault(f"is not read: {WANTED}")
                if what is None:  # refused where the loads of the step are asked for
                    self.add("GRAV", step, f"*{block.keyword} of {block.where}")
                self.others["of steps" if what is None else what].append(f"*{block.keyword}")
        self._end(step)
        for (grid, c), (_, value) in self.held.items():
            self.add("SPC", 1, grid, c, value) if value else self.add("SPC1", 1, c, grid)
        if freed := self.freed - set(self.held):
            self.others["of earlier steps"].append(f"{len(freed)} supports that *BOUNDARY, OP=NEW ends")
        for what, names in self.others.items():
            if what and names:
                warnings.warn(f"{self.path}: left out: {', '.join(dict.fromkeys(names))} ({what})", FembWarning)
        bare = [e for e, (_, card, _) in self.elements.items() if card and e not in self.owned]
        if bare:
            kind = self.elements[bare[0]][0]
            raise ModelError(f"{self.path}: element {bare[0]}, {kind}, is in no section with material")
        for number, place in self.nodes.items():
            self.add("GRID", number, 0, *place.tolist(), self.axes.get(number, 0))
        self.add("PARAM", "COUPMASS", 1)
        self.data = BulkData(self.path, self.cards, self.units, sets=self.nsets)

    # Sections and materials

    def material(self, block: InputBlock, name: str, of: str) -> int:
        """The number of a material as a card for solids, walls or bars. Raises ModelError."""
        found = self.materials.get(name.upper())
        if found is None or "ELASTIC" not in found:
            why = "is not in the file" if found is None else "has no *ELASTIC"
            raise block.fault(f"material {name} {why}, which is read beside *DENSITY and *EXPANSION")
        key = f"{name.upper()} {of}"
        if key in self.numbers:
            return self.numbers[key]
        number = self.numbers[key] = len(self.numbers) + 1
        elastic = found["ELASTIC"]
        rho = found["DENSITY"].numbers(0, 1, 1)[0] if "DENSITY" in found else 0.0
        heat = found["EXPANSION"].numbers(0, 1, 1)[0] if "EXPANSION" in found else None
        kind = re.sub(r"\s", "", elastic.word("TYPE", "ISOTROPIC"))
        if len(elastic.lines) > 1 and kind[:3] == "ISO":
            self.others["of other temperatures"].append(f"*ELASTIC of {name}")
        if heat and kind[:3] != "ISO" and of == "solid":
            self.others["thermal"].append(f"*EXPANSION of {name}")
        values = [float(each) for line in elastic.lines for each in line if each] if kind[:3] != "ISO" else []
        if kind[:3] == "ISO":
            E, nu = elastic.numbers(0, 2, 2)
            self.add("MAT1", number, E, None, nu, rho, heat, 0.0)
        elif kind in ("ENGINEERINGCONSTANTS", "LAMINA") and len(values) >= 6:
            if of != "solid":
                plane = values[:6] if kind == "LAMINA" else [values[k] for k in (0, 1, 3, 6, 7, 8)]
                self.add("MAT8", number, *plane, rho, heat)
            elif kind == "LAMINA":
                raise block.fault(f"material {name}, a LAMINA, is of shells")
            else:
                self.add("MAT11", number, *values[:9], rho)
        elif kind.startswith("ORTHO") and of == "solid" and len(values) >= 9:
            C = np.zeros((6, 6))
            C[0, 0], C[0, 1], C[1, 1], C[0, 2], C[1, 2], C[2, 2], C[3, 3], C[5, 5], C[4, 4] = values[:9]
            self.add("MAT9", number, *C[np.triu_indices(6)].tolist(), rho)
        else:
            raise elastic.fault(f"of the type {kind} is not read for {of}s: {WANTED}")
        return number

    def _own(self, block: InputBlock, scope: Naming) -> list[int]:
        if not block.word("ELSET"):
            raise block.fault("has no ELSET")
        return self.members(block, block.word("ELSET"), scope, "element")

    def _of_solid_section(self, block: InputBlock, scope: Naming) -> None:
        material = self.material(block, block.word("MATERIAL"), "solid")
        own = self._own(block, scope)
        system = self.axes_of(block, scope, block.word("ORIENTATION"))
        self.pid += 1
        if any(self.elements[e][1] == "CROD" for e in own):
            self.add("PROD", self.pid, material, block.numbers(0, 1, 1)[0])
        else:
            self.add("PSOLID", self.pid, material, system, "", "", "MODES")
        self._emit(block, own, ("CTETRA", "CHEXA", "CPENTA", "CPYRAM", "CROD"))

    def _emit(self, block: InputBlock, own: list[int], cards: Sequence[str], *rest: object) -> None:
        for e in own:
            kind, card, grids = self.elements[e]
            if card not in cards or e in self.owned:
                raise block.fault(f"element {e} is {kind}, or in two sections")
            self.owned.add(e)
            self.add(card, e, self.pid, *grids, *([None] * 4 if card == "CQUAD8" and rest else []), *rest)

    def _of_shell_section(self, block: InputBlock, scope: Naming) -> None:
        own, text = self._own(block, scope), block.word("OFFSET", "0")
        offset = number_in(block, [{"SPOS": "0.5", "SNEG": "-0.5"}.get(text, text)], 0)
        theta: object = self.axes_of(block, scope, block.word("ORIENTATION")) or 0.0
        self.pid += 1
        if "COMPOSITE" in block.words:
            plies, thickness = list[object](), 0.0
            for k, line in enumerate(block.lines):
                words = [*line, "", "", ""]
                angle = words[3] if re.fullmatch(r"[-+\d.eE]*", words[3]) else None
                if angle is None:
                    if not block.word("ORIENTATION"):
                        theta = self.axes_of(block, scope, words[3].upper())
                    if any([*each, "", "", "", ""][3] != words[3] for each in block.lines):
                        raise block.fault("plies with different orientations by name are not read: give angles")
                thickness += block.numbers(k, 1, 1)[0]
                plies += [self.material(block, words[2], "shell"), block.numbers(k, 1)[0], float(angle or 0.0), "YES"]
            if isinstance(theta, float):
                if "BASIC" not in self.systems:
                    self.systems["BASIC"] = self._system("CORD2R", [np.zeros(3), np.eye(3)[2], np.eye(3)[0]])
                theta = self.systems["BASIC"]
            self.add("PCOMP", self.pid, *[None] * 7, *plies)
        else:
            thickness = block.numbers(0, 1, 1)[0]
            material = self.material(block, block.word("MATERIAL"), "shell")
            bend = (None, None, None) if block.keyword[0] == "M" else (material, None, material)
            self.add("PSHELL", self.pid, material, thickness, *bend)
        # a reference surface at the top has the middle below
        self._emit(block, own, ("CTRIA3", "CQUAD4", "CTRIA6", "CQUAD8"), theta, -offset * thickness)

    _of_membrane_section = _of_shell_section

    def _of_beam_section(self, block: InputBlock, scope: Naming) -> None:
        own, shape, z = self._own(block, scope), block.word("SECTION"), block.numbers(0, 8, 1)
        n1 = np.array(block.numbers(1, 3)) if len(block.lines) > 1 and any(block.lines[1]) else -np.eye(3)[2]
        n1, lying = scope.turn @ n1, False
        self.pid += 1
        if block.keyword == "BEAM GENERAL SECTION":
            E, G = block.numbers(2, 2, 2)
            number = self.numbers[f"beam {self.pid}"] = len(self.numbers) + 1
            self.add("MAT1", number, E, G, None, float(block.word("DENSITY", "0")))
            A, I11, I12, I22, J = z[:5]
            self.add("PBAR", self.pid, number, A, I22, I11, J, 0.0, None, *[None] * 8, None, None, I12)
        else:
            number, lying = self.material(block, block.word("MATERIAL"), "bar"), shape == "I"
            sizes = {
                "RECT": ("BAR", [z[1], z[0]]), "CIRC": ("ROD", z[:1]), "PIPE": ("TUBE", [z[0], z[0] - z[1]]),
                "BOX": ("BOX", [z[1], z[0], z[2], z[3]]), "I": ("I", [z[1], z[2], z[3], z[6], z[4], z[5]]),
            }.get(shape)  # fmt: skip
            if sizes is None:
                raise block.fault("has no SECTION")
            if (shape == "BOX" and (z[2] != z[4] or z[3] != z[5])) or (
                lying and (abs(z[0] - 0.5 * z[1]) > 1e-6 * z[1] or z[2] != z[3] or z[4] != z[5])
            ):
                raise block.fault(f"SECTION={shape} that is not symmetric about its axes is not read: {WANTED}")
            self.add("PBARL", self.pid, number, None, sizes[0], *[None] * 4, *sizes[1])
        for e in own:
            kind, card, grids = self.elements[e]
            if card != "CBAR" or e in self.owned:
                raise block.fault(f"element {e} is {kind}, or in two sections")
            self.owned.add(e)
            chain = [grids[0], grids[-1]] if len(grids) == 2 else grids
            for k, (a, b) in enumerate(pairwise(chain)):
                up = np.cross(self.nodes[b] - self.nodes[a], n1) if lying else n1
                self.add("CBAR", self.new() if k else e, self.pid, a, b, *up.tolist(), "BGG")

    _of_beam_general_section = _of_beam_section

    def _of_transform(self, block: InputBlock, scope: Naming) -> None:
        kind, points = self._of_points(block, block.word("TYPE", "R"), scope, [*block.numbers(0, 6, 6), *[0.0] * 3])
        number = self._system(kind, points)
        self.axes |= dict.fromkeys(self.members(block, block.word("NSET"), scope), number)

    # Masses, springs, ties

    def _of_mass(self, block: InputBlock, scope: Naming) -> None:
        for e in self._own(block, scope):
            self.add("CONM2", self.new(), self.elements[e][2][0], 0, block.numbers(0, 1, 1)[0])

    def _of_rotary_inertia(self, block: InputBlock, scope: Naming) -> None:
        a, b, c, *products = block.numbers(0, 6, 3)
        if any(products):
            raise block.fault("products of inertia are not read: turn the axes by an ORIENTATION")
        system = self.axes_of(block, scope, block.word("ORIENTATION"))
        for e in self._own(block, scope):
            grid = self.elements[e][2][0]
            self.add("CONM2", self.new(), grid, system, *[0.0] * 4, None, a, 0.0, b, 0.0, 0.0, c)

    def _of_spring(self, block: InputBlock, scope: Naming) -> None:
        system = self.axes_of(block, scope, block.word("ORIENTATION"))
        for e in self._own(block, scope):
            kind, _, grids = self.elements[e]
            if kind == "SPRINGA":
                line = next((k for k, words in enumerate(block.lines) if any(words)), 0)
                self.pid += 1
                self.add("PBUSH1D", self.pid, block.numbers(line, 1, 1)[0])
                self.add("CBUSH1D", self.new(), self.pid, *grids)
                continue
            first, second = (int(each) for each in block.numbers(0, 2, 1))
            ends = [grids[0], first] + ([grids[1], second or first] if kind == "SPRING2" else [])
            size = block.numbers(1, 1, 1)[0]
            if not system:
                self.add("CELAS2", self.new(), size, *ends)
                continue
            freedoms, parts = list[int](), list[float]()
            for grid, c, sign in zip(ends[::2], ends[1::2], (1.0, -1.0), strict=False):
                along, own = (self.turn(each, self.nodes[grid]) for each in (system, self.axes.get(grid, 0)))
                parts += (sign * along[:, (c - 1) % 3] @ own).tolist()
                freedoms += [each for j in (1, 2, 3) for each in (grid, j + 3 * (c > 3))]
            lower = size * np.outer(parts, parts)[np.triu_indices(len(parts))]
            self.add("GENEL", self.new(), None, *freedoms, "K", *lower.tolist())

    def _mpc(self, terms: Sequence[tuple[int, int, float]]) -> None:
        fields: list[object] = [1] + [None] * (8 * (len(terms) + 1) // 2 + 8)
        for i, term in enumerate(terms):
            at = 8 * (i // 2) + 1 + 3 * (i % 2)
            fields[at : at + 3] = term
        self.add("MPC", *fields)

    def _of_equation(self, block: InputBlock, scope: Naming) -> None:
        words = [each for line in block.lines for each in line if each]
        k = len(words) if "REMOVE" in block.words else 0
        while k < len(words):
            count = int(words[k]) if words[k].isdecimal() else 0
            given = words[k + 1 : k + 1 + 3 * count]
            if not count or len(given) < 3 * count:
                raise block.fault(f"got {words[k]} where the number of terms is, with {len(given)} words behind it")
            k += 1 + 3 * count
            terms = [
                (self.members(block, a, scope), int(b), float(c)) for a, b, c in zip(*[iter(given)] * 3, strict=True)
            ]
            size = max(len(own) for own, _, _ in terms)
            if any(len(own) not in (1, size) for own, _, _ in terms):
                raise block.fault("its sets have different numbers of nodes")
            for i in range(size):
                self._mpc([(own[i if len(own) > 1 else 0], c, a) for own, c, a in terms])

    def _of_mpc(self, block: InputBlock, scope: Naming) -> None:
        for line in block.lines:
            kind, words = line[0].upper(), [each for each in line[1:] if each]
            if kind not in ("BEAM", "TIE", "PIN") or len(words) != 2:
                raise block.fault(f"{kind} is not read beside BEAM, TIE and PIN of two nodes or sets")
            moved, lead = (self.members(block, each, scope) for each in words)
            for k, grid in enumerate(moved):
                host = lead[k if len(lead) > 1 else 0]
                if kind == "BEAM":
                    self._rigid(host, [grid])
                for c in range(1, {"PIN": 4, "TIE": 7}.get(kind, 0)):
                    self._mpc([(grid, c, 1.0), (host, c, -1.0)])

    def _rigid(self, lead: int, nodes: Sequence[int], components: str = "123456") -> None:
        self.add("RBE2", self.new(), lead, components, *(grid for grid in dict.fromkeys(nodes) if grid != lead))

    def _lead(self, block: InputBlock, scope: Naming) -> int:
        given = block.word("REF NODE")
        found = self.members(block, given, scope) if given else []
        if len(found) != 1:
            raise block.fault(f"got REF NODE={given}, wanted one node")
        return found[0]

    def _of_rigid_body(self, block: InputBlock, scope: Naming) -> None:
        lead = self._lead(block, scope)
        for word, components in (("NSET", "123456"), ("TIE NSET", "123456"), ("PIN NSET", "123")):
            if block.word(word):
                self._rigid(lead, self.members(block, block.word(word), scope), components)
        if block.word("ELSET"):
            own = self.members(block, block.word("ELSET"), scope, "element")
            self._rigid(lead, [grid for e in own for grid in self.elements[e][2]])

    def _of_coupling(self, block: InputBlock, scope: Naming, after: InputBlock | None = None) -> None:
        nodes, lead = self.surface(block, block.word("SURFACE"), scope)[1], self._lead(block, scope)
        if after is None or after.keyword not in ("KINEMATIC", "DISTRIBUTING"):
            raise block.fault("wanted *KINEMATIC or *DISTRIBUTING behind it")
        given = [after.numbers(k, 2, 1) for k in range(len(after.lines))]
        components = "".join(str(c) for a, b in given for c in range(int(a), int(b or a) + 1)) or "123456"
        if after.keyword == "KINEMATIC":
            self._rigid(lead, nodes, components)
        else:
            own = [grid for grid in dict.fromkeys(nodes) if grid != lead]
            self.add("RBE3", self.new(), None, lead, components, 1.0, "123", *own)

    def _of_kinematic_coupling(self, block: InputBlock, scope: Naming) -> None:
        lead = self._lead(block, scope)
        for line in block.lines:
            spans = [int(each) for each in line[1:3] if each] or [1, 6]
            components = "".join(map(str, range(spans[0], spans[-1] + 1)))
            self._rigid(lead, self.members(block, line[0], scope), components)

    def _of_distributing_coupling(self, block: InputBlock, scope: Naming) -> None:
        lead = self.elements[self._own(block, scope)[0]][2][0]
        groups: list[object] = []
        for line in block.lines:
            weight = float(line[1]) if len(line) > 1 and line[1] else 1.0
            groups += [weight, "123", *(grid for grid in self.members(block, line[0], scope) if grid != lead)]
        self.add("RBE3", self.new(), None, lead, "123456", *groups)

    def _of_tie(self, block: InputBlock, scope: Naming) -> None:
        """Nodes of the first surface move to and with the nearest places of the second."""
        from scipy.spatial import cKDTree

        for line in block.lines:
            nodes = self.surface(block, line[0], scope)[1]
            faces = self.surface(block, line[1], scope)[0]
            if not faces:
                raise block.fault(f"{line[1]} has no faces of elements")
            cells = [self.face(block, *each) for each in faces]
            corners = [np.array([self.nodes[grid] for grid in cell]) for cell in cells]
            sizes = np.array([np.linalg.norm(np.ptp(x, axis=0)) for x in corners])
            given = block.word("POSITION TOLERANCE")
            tolerance = float(given) if given else NEAR * float(np.mean(sizes))
            tree, left = cKDTree([x.mean(axis=0) for x in corners]), list[int]()
            turns = "NOROTATION" not in block.words and all(self.elements[e][1] not in FACES for e, _ in faces)
            own = [node for node in nodes if not any(node in cell for cell in cells)]
            for node in own:
                near = np.atleast_1d(tree.query(self.nodes[node], min(8, len(cells)))[1])
                patch = Facets(block.where, [cells[k] for k in near], [corners[k] for k in near])
                try:
                    place, _, parts = patch.foot(self.nodes[node])
                except ModelError:
                    place, parts = np.full(3, np.inf), {}
                if not np.linalg.norm(place - self.nodes[node]) <= tolerance:
                    left.append(node)
                    continue
                if block.word("ADJUST") != "NO":
                    self.nodes[node] = place
                for c in range(1, 7 if turns else 4):
                    self._mpc([(node, c, -1.0), *((grid, c, float(w)) for grid, w in parts.items() if abs(w) > 1e-9)])
            if left:
                text = f"{len(left)} of {len(own)} nodes of *TIE {line[0]}, as {left[0]}, are farther from {line[1]}"
                warnings.warn(f"{block.where}: {text} than {tolerance:.3g}: they are not tied", FembWarning)

    # Supports and loads

    def _load(self, block: InputBlock, key: tuple[object, ...], *card: object, adds: bool = True) -> None:
        """Loads of one step at a place add up, those of a later step replace them."""
        own = self.loads.setdefault(block.keyword, {})
        step, cards = own.get(key, (block.step, []))
        own[key] = block.step, [*(cards if adds and step == block.step else []), card]

    def _end(self, step: int) -> None:
        """The loads that hold at the end of a step as cards; those of the mass are of all."""
        whole = {e for e, (kind, card, _) in self.elements.items() if card or kind == "MASS"}
        bodies = defaultdict[tuple[object, ...], set[object]](set)
        for own in self.loads.values():
            for key, (_, cards) in own.items():
                for name, *fields in cards:
                    if name in ("GRAV", "RFORCE", ""):
                        bodies[key[1], name, *fields].add(key[0])
                    else:
                        self.add(str(name), step, *fields)
        for (kind, name, *fields), found in bodies.items():
            if not name or not found >= whole:  # refused where the loads of the step are asked for
                text = f"{kind} of element {min(map(str, found))} and {len(found) - 1} more"
                name, fields = "GRAV", [f"{text}, which is no pressure and no GRAV or CENTRIF of all"]
            self.add(str(name), step, *fields)

    def _of_boundary(self, block: InputBlock, scope: Naming) -> None:
        if block.word("OP") == "NEW":
            self.freed |= set(self.held)
            self.held = {key: each for key, each in self.held.items() if each[0] == block.step}
        for k, line in enumerate(block.lines):
            words = [*line, "", "", "", ""]
            components, first, last = HELD.get(words[1].upper(), ""), words[1], words[2] or words[1]
            if not components:
                if not (first + last).isdecimal():
                    text = f"got {', '.join(line)!r} in its line {k + 1}"
                    raise block.fault(f"{text}, wanted a node, first and last freedom")
                components = "".join(str(c) for c in range(int(first), int(last) + 1) if 1 <= c <= 6)
            own = self.members(block, words[0], scope) if components else []
            self.held |= {(grid, c): (block.step, float(words[3] or 0.0)) for grid in own for c in components}

    def _of_initial_conditions(self, block: InputBlock, scope: Naming) -> None:
        if block.word("TYPE") != "TEMPERATURE":
            self.others["initial conditions"].append(block.word("TYPE"))
            return
        for line in block.lines:
            own = self.members(block, line[0], scope)
            self.cold |= dict.fromkeys(own, number_in(block, line, 1))

    def _of_temperature(self, block: InputBlock, scope: Naming) -> None:
        for line in block.lines:
            if line[0]:
                for grid in self.members(block, line[0], scope):
                    size = number_in(block, line, 1) - self.cold.get(grid, 0.0)
                    self._load(block, (grid,), "TEMP", grid, size, adds=False)

    def _of_cload(self, block: InputBlock, scope: Naming) -> None:
        for line in block.lines:
            c = int(number_in(block, line, 1))
            if not 1 <= c <= 6:
                raise block.fault(f"got the freedom {c}, wanted 1 to 6")
            for grid in self.members(block, line[0], scope):
                size, direction = number_in(block, line, 2), np.eye(3)[(c - 1) % 3].tolist()
                name = "FORCE" if c < 4 else "MOMENT"
                self._load(block, (grid, c), name, grid, self.axes.get(grid, 0), size, *direction)

    def _of_dload(self, block: InputBlock, scope: Naming) -> None:
        for line in block.lines:
            kind = line[1].upper() if len(line) > 1 else ""
            if re.fullmatch(r"P\d?|PNOR", kind):
                for e in self.members(block, line[0], scope, "element"):
                    self._press(block, e, "S" + kind[1:], number_in(block, line, 2))
                continue
            own = set(self.members(block, line[0], scope, "element")) if line[0] else set(self.elements)
            card: tuple[object, ...] = "", kind
            direction = list[float]()
            if kind in ("GRAV", "CENTRIF"):
                values = [number_in(block, line, k) for k in range(2, 9)]
                direction = values[1:4] if kind == "GRAV" else values[4:7]
                if not any(direction) or (kind == "CENTRIF" and values[0] < 0.0):
                    raise block.fault(f"got {kind} of {values[0]} along {direction}, wanted a square and a direction")
                direction = (np.array(direction) / np.linalg.norm(direction)).tolist()
                card = "GRAV", 0, values[0], *direction
                if kind == "CENTRIF":
                    centre = max(self.nodes) + 1
                    self.nodes[centre] = np.array(values[1:4])
                    card = "RFORCE", centre, 0, float(np.sqrt(values[0])) / (2.0 * np.pi), *direction
            what = kind, *np.round(direction, 9).tolist()  # those along another axis are others
            for e in own:
                self._load(block, (e, *what), *card)

    def _of_dsload(self, block: InputBlock, scope: Naming) -> None:
        for line in block.lines:
            if line[1].upper() != "P":
                raise block.fault(f"loads {line[1]} are not read beside P")
            for e, face in self.surface(block, line[0], scope)[0]:
                shell = self.elements[e][1] not in FACES
                # onto a surface: against the normal of its positive side
                self._press(block, e, face, number_in(block, line, 2) * (-1.0 if shell and face != "SNEG" else 1.0))

    def _press(self, block: InputBlock, e: int, face: str, size: float) -> None:
        _, card, grids = self.elements[e]
        if card not in FACES:
            self._load(block, (e, face), "PLOAD4", e, size)
            return
        own = self.face(block, e, face)
        n = len(FACES[card][int(face[1:]) - 1])
        other = own[2] if n == 4 else None
        if card == "CTETRA":
            other = next(grid for grid in grids[:4] if grid not in own)
        self._load(block, (e, face), "PLOAD4", e, size, None, None, None, own[0], other)
