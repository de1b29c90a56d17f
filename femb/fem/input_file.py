"""Input files of Abaqus and CalculiX, .inp: blocks, parts and instances, nodes, elements, sets, surfaces and axes.

Source: Abaqus Keywords Reference Guide; G. Dhondt, CalculiX CrunchiX user's manual.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from femb.base.array_files import content_of, reading_foreign
from femb.base.bulk_cards import Units
from femb.base.bulk_data import Card
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import shown
from femb.elements.beam.shape import section_axes
from femb.fem.input_cards import CARDS
from femb.numerics.rotations import rotation_matrix

# Types of elements: card, number of nodes; then the places of the nodes of the card where they differ.
_UP = [*range(12), *range(16, 20), *range(12, 16)]
TYPES: dict[str, tuple[str, int]] = {
    r"C3D4H?": ("CTETRA", 4), r"C3D10\w*": ("CTETRA", 10), r"C3D6H?": ("CPENTA", 6), r"C3D15\w*": ("CPENTA", 15),
    r"C3D8[RIH]*": ("CHEXA", 8), r"C3D20\w*": ("CHEXA", 20), r"C3D5H?": ("CPYRAM", 5),
    r"S3R?S?|STRI3|M3D3": ("CTRIA3", 3), r"S4R?S?W?5?|M3D4R?": ("CQUAD4", 4), r"S6|STRI65|M3D6": ("CTRIA6", 6),
    r"S8R?5?|M3D8R?": ("CQUAD8", 8), r"B3[13][HRO]*": ("CBAR", 2), r"B32[HRO]*": ("CBAR", 3), r"T3D2H?": ("CROD", 2),
    r"MASS|ROTARYI|SPRING1|DCOUP3D|DASHPOT1": ("", 1), r"SPRING[A2]|DASHPOT[A2]": ("", 2),
    r"R3D3": ("", 3), r"R3D4": ("", 4),
}  # fmt: skip
ORDER = {("CHEXA", 20): _UP, ("CPENTA", 15): [*range(9), 12, 13, 14, 9, 10, 11]}
# Corners of the faces S1, S2, ... of solids.
FACES = {
    "CTETRA": ["012", "031", "132", "230"], "CPENTA": ["012", "354", "0341", "1452", "2530"],
    "CHEXA": ["0123", "4765", "0451", "1562", "2673", "3740"], "CPYRAM": ["0321", "014", "124", "234", "304"],
}  # fmt: skip
CORNERS = {"CTETRA": 4, "CPENTA": 6, "CHEXA": 8, "CPYRAM": 5, "CTRIA3": 3, "CTRIA6": 3, "CQUAD4": 4, "CQUAD8": 4}
WANTED = "take it out of the file, or give the matrices to `femb reduce`"


@dataclass(frozen=True)
class InputBlock:
    """A keyword with its parameters and lines of words; where : for messages; step : 0 before all."""

    keyword: str
    words: dict[str, str]
    lines: list[list[str]]
    where: str
    step: int

    def word(self, name: str, default: str = "") -> str:
        return self.words.get(name.replace(" ", ""), default).upper()

    def fault(self, text: str) -> ModelError:
        return ModelError(f"{self.where}: *{self.keyword}: {text}")

    def left_out(self) -> list[str]:
        """The parameters that do not change the model. Raises ModelError: one that is not read."""
        known = {name.replace(" ", ""): (name, what) for name, what in CARDS[self.keyword].items()}
        for name, value in self.words.items():
            _, what = known.get(name, ("", "|".join(a for a, b in CARDS[self.keyword].items() if b != "-") or "none"))
            if name not in known or (what.strip("-") and value.upper() not in what.split("|")):
                text = f"the parameter {name}={value}".rstrip("=")
                raise self.fault(f"{text} is not read beside {what.replace('|', ', ')}: {WANTED}")
        return [known[a][0] for a, b in self.words.items() if known[a][1] == "-" and b.upper() != "NO"]

    def numbers(self, line: int, count: int, least: int = 0) -> list[float]:
        """Numbers of a line, zero where blank. Raises ModelError."""
        given = self.lines[line] if line < len(self.lines) else []
        try:
            found = [float(each.upper().replace("D", "E")) if each else 0.0 for each in given[:count]]
        except ValueError:
            found = []
        if len(found) < least or not np.isfinite(found).all():
            raise self.fault(f"got {shown(', '.join(given))} in its line {line + 1}, wanted {least or count} numbers")
        return found + [0.0] * (count - len(found))


@dataclass(frozen=True)
class Naming:
    """Where names and numbers are looked up: of an instance, or of the whole."""

    prefix: str = ""
    first: int = 0
    turn: Floats = field(default_factory=lambda: np.eye(3))
    shift: Floats = field(default_factory=lambda: np.zeros(3))


def _blocks(path: Path, root: Path, depth: int = 0) -> Iterator[InputBlock]:
    """The blocks of a file and of those that it includes."""
    if depth > 16:
        raise ModelError(f"{path}: *INCLUDE: files include each other")
    with reading_foreign(path, "an input file"):
        lines = content_of(path).decode("utf-8", errors="replace").splitlines()
    open_: InputBlock | None = None
    k = 0
    while k < len(lines):
        line, where = lines[k].strip(), f"{path}, line {k + 1}"
        k += 1
        if not line or line.startswith("**"):
            continue
        if not line.startswith("*"):
            if open_ is not None:
                open_.lines.append([each.strip() for each in line.split(",")])
            continue
        while line.endswith(",") and k < len(lines) and not lines[k].startswith("*"):
            line, k = line + lines[k].strip(), k + 1
        head, *rest = (each.strip() for each in line[1:].split(","))
        # blanks within names are none in CalculiX
        words = {re.sub(r"\s", "", a).upper(): b.strip(" \"'") for a, _, b in (x.partition("=") for x in rest) if a}
        if open_ is not None:
            yield open_
        open_ = InputBlock(re.sub(r"\s+", " ", head.upper()), words, [], where, 0)
        if open_.keyword == "INCLUDE":
            open_.left_out()
            name = open_.words.get("INPUT", "")
            found = next((each / name for each in (path.parent, root) if name and (each / name).is_file()), None)
            if found is None:
                raise open_.fault(f"there is no file {name!r} beside it or beside {root}")
            yield from _blocks(found, root, depth + 1)
            open_ = None
    if open_ is not None:
        yield open_


class InputFile:
    """The things that the blocks of a file define, with cards of its axes; whole : or nodes and their sets alone."""

    def __init__(self, path: Path, units: Units, whole: bool = True) -> None:
        self.path, self.units = path, units
        self.cards: dict[str, list[Card]] = {}
        self.nodes: dict[int, Floats] = {}
        self.elements: dict[int, tuple[str, str, list[int]]] = {}
        self.nsets: dict[str, list[int]] = {}
        self.elsets: dict[str, list[int]] = {}
        self.surfaces: dict[str, tuple[list[tuple[int, str]], list[int]]] = {}
        self.materials: dict[str, dict[str, InputBlock]] = {}
        self.systems: dict[str, int] = {}
        self.cold: dict[int, float] = {}
        self.axes: dict[int, int] = {}
        self.scopes: dict[str, Naming] = {}
        self.frames: list[tuple[str, list[Floats]]] = []
        self.local = np.eye(3), np.zeros(3)  # axes and origin of *SYSTEM
        self.others = defaultdict[str, list[str]](list)  # what is left out
        self.numbers: dict[str, int] = {}  # of materials by name and use
        self.pid, self.eid = 0, 0
        self.owned: set[int] = set()
        known = {"NODE": self._nodes, "SYSTEM": self._axes_of_nodes, "NSET": self._set}
        if whole:
            known |= {"ELEMENT": self._elements, "ELSET": self._set, "ORIENTATION": self._orientation}
            known["SURFACE"] = self._surface
        material = ""
        given, at = list(_blocks(path, path.parent)), Naming()
        for block in given:
            if block.keyword in CARDS and (whole or block.keyword in known):
                idle = [f"{name} of *{block.keyword}" for name in block.left_out()]
                self.others["parameters; loads are at full size"] += idle
        self.blocks = self._laid_out(given)
        for block, scope in self.blocks:
            if scope is not at:
                self.local, at = (np.eye(3), np.zeros(3)), scope
            if block.keyword == "MATERIAL":
                material = block.word("NAME")
                self.materials[material] = {}
            elif block.keyword in ("ELASTIC", "DENSITY", "EXPANSION"):
                self.materials.setdefault(material, {})[block.keyword] = block
            elif block.keyword in known:
                known[block.keyword](block, scope)
        if not self.nodes:
            raise ModelError(f"{path}: has no *NODE")

    def add(self, name: str, *fields: object) -> None:
        self.cards.setdefault(name, []).append(Card(name, list(fields), self.units))

    def new(self) -> int:
        self.eid += 1
        return self.eid

    def _laid_out(self, blocks: list[InputBlock]) -> list[tuple[InputBlock, Naming]]:
        """Blocks with their scopes, those of parts once for each instance, with the numbers of steps."""
        parts: dict[str, list[InputBlock]] = {}
        found: list[tuple[InputBlock, Naming]] = []
        part, scope, step, count = "", Naming(), 0, 0
        size = 10 ** len(str(max((int(line[0]) for block in blocks if block.keyword in ("NODE", "ELEMENT")
                                  for line in block.lines if line[0].isdecimal()), default=0)))  # fmt: skip
        for block in blocks:
            step += block.keyword == "STEP"
            block = InputBlock(block.keyword, block.words, block.lines, block.where, step)
            if block.keyword == "PART":
                part = block.word("NAME")
                parts[part] = []
            elif block.keyword == "END PART":
                part = ""
            elif part:
                parts[part].append(block)
            elif block.keyword == "INSTANCE":
                if block.word("PART") not in parts:
                    raise block.fault(f"part {block.word('PART')} is none of {', '.join(parts) or 'none'}")
                count += 1
                turn, shift = np.eye(3), np.array(block.numbers(0, 3))
                if len(block.lines) > 1:
                    *ends, angle = block.numbers(1, 7, 7)
                    a, axis = np.array(ends[:3]), np.array(ends[3:]) - ends[:3]
                    turn = turned(axis, angle)
                    shift = a + turn @ (shift - a)
                scope = Naming(block.word("NAME") + ".", count * size, turn, shift)
                found += [(each, scope) for each in parts[block.word("PART")]]
            elif block.keyword == "END INSTANCE":
                scope = Naming()
            else:
                found.append((block, scope))
        return found

    # Names

    def members(self, block: InputBlock, word: str, scope: Naming, of: str = "node") -> list[int]:
        """Nodes or elements of a number or the name of a set. Raises ModelError."""
        sets, known = (self.nsets, self.nodes) if of == "node" else (self.elsets, self.elements)
        name = word.upper().strip("\"'")
        if block.word("INSTANCE"):
            scope = self.instances(block, block.word("INSTANCE"))
        head, dot, tail = name.rpartition(".")
        if dot and tail.isdecimal():
            scope, name = self.instances(block, head), tail
        if name.isdecimal():
            number = int(name) + scope.first
            if number not in known:
                raise block.fault(f"{of} {name} is not in the file")
            return [number]
        for each in (scope.prefix + name, name):
            if each in sets:
                return sets[each]
        raise block.fault(f"{name} is no set of {of}s and no {of}")

    def instances(self, block: InputBlock, name: str) -> Naming:
        if name not in self.scopes:
            raise block.fault(f"{name} is no instance of the assembly")
        return self.scopes[name]

    def _nodes(self, block: InputBlock, scope: Naming) -> None:
        if scope.prefix:
            self.scopes[scope.prefix[:-1]] = scope
        own, turn = list[int](), scope.turn @ self.local[0]
        shift = scope.turn @ self.local[1] + scope.shift
        for k in range(len(block.lines)):
            number, *place = block.numbers(k, 4, 1)
            own.append(int(number) + scope.first)
            if block.word("SYSTEM") == "C":
                angle = np.radians(place[1])
                place[:2] = place[0] * np.cos(angle), place[0] * np.sin(angle)
            self.nodes[own[-1]] = turn @ np.array(place) + shift
        self._named(self.nsets, block.word("NSET"), scope, own)

    def _axes_of_nodes(self, block: InputBlock, scope: Naming) -> None:
        """The origin, a point on the x axis, and on the second line one towards y."""
        a, b = np.split(np.array(block.numbers(0, 6)), 2)
        axes = np.eye(3)
        if len([each for each in (block.lines or [[]])[0] if each]) > 3:
            x, y = b - a, np.array(block.numbers(1, 3)) - a
            if len(block.lines) < 2:
                x[2], y = 0.0, np.array([a[1] - b[1], b[0] - a[0], 0.0])
            if not np.linalg.norm(np.cross(x, y)) > 0.0:
                raise block.fault("its points are on one line")
            axes = rotation_matrix(section_axes(x.tolist(), y.tolist()))
        self.local = axes, a

    def _named(self, sets: dict[str, list[int]], name: str, scope: Naming, own: list[int]) -> None:
        if name:
            key = scope.prefix + name
            sets[key] = list(dict.fromkeys([*sets.get(key, []), *own]))

    def _elements(self, block: InputBlock, scope: Naming) -> None:
        kind = block.word("TYPE")
        known = next((each for name, each in TYPES.items() if re.fullmatch(name, kind)), None)
        if known is None:
            raise block.fault(f"elements of the type {kind or '(none)'} are not read: {WANTED}")
        card, count = known
        own, words = list[int](), list[str]()
        for line in block.lines:
            words += [each for each in line if each]
            if len(words) <= count:
                continue
            if not all(each.rpartition(".")[2].isdecimal() for each in words) or not words[0].isdecimal():
                raise block.fault(f"got the element {', '.join(words)!r}, wanted whole numbers, or nodes INSTANCE.11")
            # of nodes behind those of the type, as of C3D8I in CalculiX, there is no need
            number = int(words[0]) + scope.first
            grids = [
                int(each) + scope.first if each.isdecimal() else self.members(block, each, scope)[0]
                for each in words[1 : count + 1]
            ]
            if absent := [grid for grid in grids if grid not in self.nodes]:
                raise block.fault(f"element {words[0]} has the node {absent[0] - scope.first}, not in the file")
            own.append(number)
            found = kind, card, [grids[place] for place in ORDER.get((card, count), range(count))]
            if self.elements.setdefault(number, found) != found:
                raise block.fault(f"element {words[0]} is there twice")
            words = []
        if words:
            raise block.fault(f"got {len(words)} numbers, wanted {count + 1} for an element of {kind}")
        self._named(self.elsets, block.word("ELSET"), scope, own)

    def _set(self, block: InputBlock, scope: Naming) -> None:
        of = "node" if block.keyword == "NSET" else "element"
        sets, own = (self.nsets if of == "node" else self.elsets), list[int]()
        known = self.nodes if of == "node" else self.elements
        if block.keyword == "NSET" and block.word("ELSET") and self.elements:
            own = [n for e in self.members(block, block.word("ELSET"), scope, "element") for n in self.elements[e][2]]
        inner = self.instances(block, block.word("INSTANCE")) if block.word("INSTANCE") else scope
        for k, line in enumerate(block.lines):
            if "GENERATE" in block.words:
                first, last, step = (int(each) for each in block.numbers(k, 3, 2))
                if len(span := range(first, last + 1, step or 1)) > 10_000_000:
                    raise block.fault(f"has {len(span)} members")
                own += [number + inner.first for number in span if number + inner.first in known]
            else:
                own += [number for word in line if word for number in self.members(block, word, scope, of)]
        self._named(sets, block.word(block.keyword), scope, own)

    def _surface(self, block: InputBlock, scope: Naming) -> None:
        faces, nodes = list[tuple[int, str]](), list[int]()
        for line in block.lines:
            if block.word("TYPE", "ELEMENT") == "NODE":
                nodes += self.members(block, line[0], scope)
                continue
            own = self.members(block, line[0], scope, "element")
            face = line[1].upper() if len(line) > 1 else ""
            found = [(e, face) for e in own] if face else self._outside(own)
            faces += found
            nodes += [grid for each in found for grid in self.face(block, *each)]
        self.surfaces[scope.prefix + block.word("NAME")] = faces, list(dict.fromkeys(nodes))

    def _outside(self, own: list[int]) -> list[tuple[int, str]]:
        """Faces of elements that no two of them share."""
        owners = defaultdict[frozenset[int], list[tuple[int, str]]](list)
        for number in own:
            _, card, grids = self.elements[number]
            for k, face in enumerate(FACES.get(card, ())):
                owners[frozenset(grids[int(c)] for c in face)].append((number, f"S{k + 1}"))
            if card not in FACES:
                owners[frozenset(grids)] = [(number, "SPOS")]
        return [each[0] for each in owners.values() if len(each) == 1]

    def face(self, block: InputBlock, number: int, face: str) -> list[int]:
        """The nodes of a face, corners first. Raises ModelError."""
        kind, card, grids = self.elements[number]
        if card not in FACES:
            return grids
        k = int(face[1:]) - 1 if face[1:].isdecimal() else -1
        if not 0 <= k < len(FACES[card]):
            raise block.fault(f"{face} is no face of element {number}, {kind}")
        corners = [int(c) for c in FACES[card][k]]
        middles = _middles(card)
        pairs = [frozenset(each) for each in zip(corners, [*corners[1:], corners[0]], strict=True)]
        rest = [grids[middles[pair]] for pair in pairs] if len(grids) > CORNERS[card] else []
        return [grids[c] for c in corners] + rest

    def surface(self, block: InputBlock, name: str, scope: Naming) -> tuple[list[tuple[int, str]], list[int]]:
        for each in (scope.prefix + name.upper(), name.upper()):
            if each in self.surfaces or each in self.nsets:
                return self.surfaces.get(each, ([], self.nsets.get(each, [])))
        raise block.fault(f"{name} is no surface of the file")

    # Axes

    def _system(self, kind: str, points: list[Floats]) -> int:
        self.frames.append((kind, points))
        self.add(kind, len(self.frames), 0, *(x for point in points for x in point.tolist()))
        return len(self.frames)

    def turn(self, system: int, place: Floats) -> Floats:
        """The axes (3, 3), columns, of a system at a place."""
        if not system:
            return np.eye(3)
        kind, (o, z, x) = self.frames[system - 1]
        axes = rotation_matrix(section_axes((z - o).tolist(), ((place if kind == "CORD2C" else x) - o).tolist()))
        return np.asarray(axes[:, [1, 2, 0]])

    def _of_points(self, block: InputBlock, kind: str, scope: Naming, values: list[float]) -> tuple[str, list[Floats]]:
        a, b, c = (scope.turn @ np.array(values[k : k + 3]) + scope.shift for k in (0, 3, 6))
        if kind.startswith("C"):
            away = np.cross(b - a, np.eye(3)[np.abs(b - a).argmin()])
            return "CORD2C", [a, b, a + away]
        if not kind.startswith("R"):
            raise block.fault(f"axes of the system {kind} are not read: {WANTED}")
        x = a - c
        return "CORD2R", [c, c + np.cross(x, b - c), c + x]

    def _orientation(self, block: InputBlock, scope: Naming) -> None:
        kind, points = self._of_points(block, block.word("SYSTEM", "RECTANGULAR"), scope, block.numbers(0, 9, 6))
        axis, angle = block.numbers(1, 2)
        if angle:
            if kind != "CORD2R":
                raise block.fault("a further rotation of cylindrical axes is not read")
            o, z, x = points[0], points[1] - points[0], points[2] - points[0]
            turn = turned([x, np.cross(z, x), z][int(axis) - 1 if axis else 2], angle)
            points = [o, o + turn @ z, o + turn @ x]
        self.systems[scope.prefix + block.word("NAME")] = self._system(kind, points)

    def axes_of(self, block: InputBlock, scope: Naming, name: str) -> int:
        """The number of an orientation, 0 of none. Raises ModelError."""
        found = self.systems.get(scope.prefix + name, self.systems.get(name, 0))
        if name and not found:
            raise block.fault(f"orientation {name} is not in the file")
        return found


def _middles(card: str) -> dict[frozenset[int], int]:
    """Places of the nodes at the middles of sides, by the two corners."""
    n = CORNERS[card]
    loops = {
        "CHEXA": "01 12 23 30 04 15 26 37 45 56 67 74", "CPENTA": "01 12 20 03 14 25 34 45 53",
        "CTETRA": "01 12 20 03 13 23", "CPYRAM": "01 12 23 30 04 14 24 34",
    }[card]  # fmt: skip
    return {frozenset(map(int, pair)): n + k for k, pair in enumerate(loops.split())}


def number_in(block: InputBlock, line: list[str], k: int) -> float:
    """A number of a line, zero where blank. Raises ModelError."""
    text = line[k] if k < len(line) else ""
    try:
        return float(text.upper().replace("D", "E")) if text else 0.0
    except ValueError:
        raise block.fault(f"got {text!r} in {', '.join(line)!r}, wanted a number") from None


def turned(axis: Floats, degrees: float) -> Floats:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_rotvec(np.radians(degrees) * axis / np.linalg.norm(axis)).as_matrix())
