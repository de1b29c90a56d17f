"""Bulk data of NASTRAN: its lines, files that it includes, cards in all formats, grids and coordinate systems.

Source: MSC Nastran's Quick Reference Guide. The cards, with fields and units, are in ``femb.base.bulk_cards``.
"""

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.array_files import check_file, content_of, reading_foreign
from femb.base.bulk_cards import LEFT_OUT, SI, Units, fields_of, kind_of, refusal
from femb.base.errors import FembWarning, ModelError, ResultError, optional
from femb.base.types import Floats
from femb.base.values import shown

SUFFIXES = (".bdf", ".dat", ".nas", ".fem")
NOT_OF_MESHES = "are not read: give walls, masses, beams and joints here"
# Of numbers, and of numbers of cards.
LARGEST, MOST = 1e60, 2**53
HEAD = 100_000  # bytes, within which the bulk data begins
# Of files that include others.
DEPTH = 16
NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[EeDd]?([+-]\d+)|[EeDd](\d+))?")
Logical = Mapping[str, str]


def is_bulk_data(path: str | Path) -> bool:
    """Whether a file is bulk data, by its suffix; an .inp is where it has BEGIN BULK."""
    return Path(path).suffix.lower() in SUFFIXES or (Path(path).suffix.lower() == ".inp" and not is_input(path))


def is_input(path: str | Path) -> bool:
    """Whether a file is an input file of Abaqus or CalculiX, by its suffix."""
    path = Path(path)
    head = path.read_bytes()[:HEAD] if path.suffix.lower() == ".inp" and path.is_file() else b""
    return path.suffix.lower() == ".inp" and not re.search(rb"(?im)^\s*BEGIN\s+BULK", head)


def is_deck(path: str | Path) -> bool:
    """Whether a file is of a structure that may have materials of its own, by its suffix."""
    return Path(path).suffix.lower() in (*SUFFIXES, ".inp")


def left_out(path: str | Path, *read: str) -> str:
    """The names of the cards of a file that a mesh leaves out, beside those that are ``read``, in words; or nothing."""
    lines = Path(path).read_text(encoding="utf-8", errors="replace").upper().splitlines()
    names = dict.fromkeys(re.split(r"[,*\s]", line[:8], maxsplit=1)[0] for line in lines)
    points = r"GRID|GRDSET|PARAM|CQUAD\w+|CTRI\w+|CHEXA|CTETRA|CPENTA|MAT\d+|PSOLID"
    known = [name for name in names if name and kind_of(name) == "read" and name not in read]
    left = [name for name in known if not re.fullmatch(points, name)]
    return f"{', '.join(left)}: {NOT_OF_MESHES}" if left else ""


@dataclass(frozen=True, eq=False)
class Card:
    """A card: its name and its fields from the second on, with the units of its file.

    Methods take the name of a field in ``bulk_cards``, or its place from 0; they raise ModelError naming the card.
    """

    name: str
    fields: list[Any]
    units: Units = SI

    @property
    def id(self) -> int:
        """Its number."""
        return self.whole(0)

    def __str__(self) -> str:
        return f"{self.name} {self.fields[0] if self.fields else ''}".strip()

    def place(self, key: str | int) -> int:
        return key if isinstance(key, int) else fields_of(self.name)[key].place

    def value(self, key: str | int) -> Any:
        """The content of a field, or its default; None where it is blank."""
        place = self.place(key)
        found = self.fields[place] if 0 <= place < len(self.fields) else None
        if found is None and isinstance(key, str) and (default := fields_of(self.name)[key].default):
            return self.value(default) if default in fields_of(self.name) else read_field(default)
        return found

    def number(self, key: str | int, unit: str | None = None) -> float:
        """A number in SI units, those of the table or of ``unit``."""
        found = self.value(key)
        if not isinstance(found, int | float) or not abs(found) < LARGEST:
            raise self.fault(key, "a number")
        own = fields_of(self.name)[key].unit if unit is None and isinstance(key, str) else unit or ""
        return float(found) * self.units.factor(own)

    def numbers(self, first: str | int, count: int, unit: str | None = None) -> Floats:
        """(count,) from a field on, zero where blank."""
        place = self.place(first)
        own = fields_of(self.name)[first].unit if unit is None and isinstance(first, str) else unit or ""
        return np.array(
            [self.number(place + i, own) if self.value(place + i) is not None else 0.0 for i in range(count)]
        )

    def whole(self, key: str | int) -> int:
        found = self.value(key)
        if not isinstance(found, int) or abs(found) >= MOST:
            raise self.fault(key, "a whole number")
        return found

    def text(self, key: str | int) -> str:
        found = self.value(key)
        return "" if found is None else str(found).strip().upper()

    def rest(self, key: str | int) -> list[Any]:
        """The contents from a field on, without blanks at the end."""
        found = self.fields[self.place(key) :]
        while found and found[-1] is None:
            found = found[:-1]
        return found

    def ids(self, key: str | int) -> list[int]:
        """The whole numbers from a field on, with THRU and BY. Raises ModelError."""
        return expanded(self, [each for each in self.rest(key) if each is not None])

    def components(self, key: str | int) -> list[int]:
        """Components 0 to 5 of digits as 123. Raises ModelError."""
        found = str(self.value(key) or "")
        if not found or not set(found) <= set("123456") or len(set(found)) < len(found):
            raise self.fault(key, "components as 123456")
        return sorted(int(digit) - 1 for digit in found)

    def fault(self, key: str | int, wanted: str) -> ModelError:
        found = self.value(key)
        what = f" ({key})" if isinstance(key, str) else ""
        found = "nothing" if found is None else shown(found)
        return ModelError(f"{self}: got {found} in field {self.place(key) + 2}{what}, wanted {wanted}")

    def refuse(self, what: str) -> ModelError:
        return ModelError(f"{self}: {what}: is not read; change the file, or give its matrices to `femb reduce`")


def expanded(card: Card, given: Sequence[Any]) -> list[int]:
    """Whole numbers of a list with THRU and BY. Raises ModelError."""
    found: list[int] = []
    k = 0
    while k < len(given):
        if str(given[k]).upper() == "THRU" and found and k + 1 < len(given) and isinstance(given[k + 1], int):
            by = given[k + 3] if k + 3 < len(given) and str(given[k + 2]).upper() == "BY" else 1
            found += range(found[-1] + by, given[k + 1] + 1, by)
            k += 4 if by != 1 or (k + 2 < len(given) and str(given[k + 2]).upper() == "BY") else 2
            continue
        if not isinstance(given[k], int):
            raise ModelError(f"{card}: got {shown(given[k])} in a list, wanted whole numbers, THRU or BY")
        found.append(given[k])
        k += 1
    return found


@dataclass(frozen=True, eq=False)
class BulkData:
    """Cards by their names, with their units; control : the lines before them. parts : superelements with cards of
    their own, by number. sets : grids of sets by name, of input files."""

    path: Path
    cards: dict[str, list[Card]]
    units: Units = SI
    control: tuple[str, ...] = ()
    parts: dict[int, "BulkData"] = field(default_factory=dict)
    sets: dict[str, list[int]] = field(default_factory=dict)
    _kept: dict[str, dict[int, Card]] = field(init=False, default_factory=dict)
    _systems: dict[int, tuple[str, Floats, Floats]] = field(init=False, default_factory=dict)
    _opened: set[int] = field(init=False, default_factory=set)

    def all(self, *names: str) -> Iterator[Card]:
        """The cards of some names."""
        for name in names:
            yield from self.cards.get(name, ())

    def by_id(self, *names: str) -> dict[int, Card]:
        """The cards of some names by their numbers. Raises ModelError: a number of two that differ."""
        found: dict[int, Card] = {}
        for card in self.all(*names):
            other = found.setdefault(card.id, card)
            if other is not card and (other.name, other.rest(0)) != (card.name, card.rest(0)):
                raise ModelError(f"{card}: its number is that of {other} too")
        return found

    def __getitem__(self, names: str) -> dict[int, Card]:
        """The cards of names with blanks between them, by number; they are kept."""
        if names not in self._kept:
            self._kept[names] = self.by_id(*names.split())
        return self._kept[names]

    def property(self, card: Card, names: str, key: str = "PID") -> Card:
        """The property or material that a field names, of some names. Raises ModelError."""
        number = card.whole(key)
        if number in self[names]:
            return self[names][number]
        others = [each for name in self.cards if name[:3] in ("MAT",) for each in self.all(name) if each.id == number]
        if others and names.startswith("MAT"):
            raise card.refuse(f"its material {others[0]}, beside which {names.replace(' ', ' and ')} are read")
        what = "material" if names.startswith("MAT") else "property"
        kinds = " or ".join(names.split())
        raise ModelError(f"{card}: {what} {number} of field {card.place(key) + 2} is no {kinds} of the file")

    def parameter(self, name: str) -> Any:
        """The value of a PARAM, None without it; that of the case control is before that of the bulk data.

        Raises ModelError: subcases that differ.
        """
        matches = (re.match(rf"PARAM[\s,]+{name}[\s,]+([^\s,]+)", line) for line in chain(*self._statements))
        given = {read_field(found[1]) for found in matches if found}
        if len(given) > 1:
            raise ModelError(f"PARAM,{name}: got {' and '.join(map(str, given))} in the case control, wanted one value")
        own = [card.value("V1") for card in self.all("PARAM") if card.text("N") == name]
        return next(iter(given), own[-1] if own else None)

    @cached_property
    def _statements(self) -> list[list[str]]:
        """Lines of the case control above the subcases, then of each."""
        found = [list[str]()]
        for line in self.control:
            text = line.split("$")[0].strip().upper()
            found += [[]] if re.match(r"(SUBCASE|SYM)\b", text) else []
            found[-1].append(text)
        return found

    @cached_property
    def chosen(self) -> dict[str, set[int | None]]:
        """Numbers of the sets that the case control chooses, by word, as "MPC"; of several subcases each one's, which
        is None where it has none."""
        matches = ([re.match(r"([A-Z]\w*)(?:\(.*\))?\s*=\s*(\d+)$", text) for text in own] for own in self._statements)
        above, *subcases = ({each[1]: int(each[2]) for each in own if each} for own in matches)
        each_of = [above | own for own in subcases] or [above]
        return {word: {own.get(word) for own in each_of} for word in set[str]().union(*each_of)}

    def chosen_sets(self, word: str, alike: bool = True) -> set[int | None]:
        """Numbers of SPC or MPC that the case control chooses, with those of SPCADD or MPCADD; all of a deck without
        choices of any kind. Raises ModelError: subcases that differ, where all must be ``alike``."""
        if not self.chosen:
            return {card.id for card in self.all(word, f"{word}1")}
        sums = {card.id: set(card.ids(1)) for card in self.all(f"{word}ADD")}
        choices = {each: set[int | None](sums.get(each or 0, {each})) for each in self.chosen.get(word, ())}
        if alike and len({self._contents(word, numbers) for numbers in choices.values()}) > 1:
            sets = ", ".join(sorted(str(each or "none") for each in choices))
            raise ModelError(f"{word}: subcases choose different sets ({sets}): leave one subcase in the case control")
        return set[int | None]().union(*choices.values())

    def _contents(self, word: str, numbers: set[int | None]) -> tuple[str, ...]:
        """The cards of some sets of SPC or MPC, without their numbers."""
        cards = (card for card in self.all(word, f"{word}1") if card.id in numbers)
        return tuple(sorted(f"{card.name} {card.rest(1)}" for card in cards))

    def matrices(self, word: str) -> list[tuple[float, str]]:
        """Factors and names of the DMIG that the case control chooses by a word, as K2GG."""
        found: dict[str, float] = {}
        for line in chain(*self._statements):
            if match := re.match(rf"{word}\s*=(.*)", line):
                for term in match[1].split(","):
                    factor, _, name = term.strip().rpartition("*")
                    found[name.strip()] = float(factor.strip("( )") or 1.0)
        return [(factor, name) for name, factor in found.items() if name]

    @cached_property
    def _defaults(self) -> Card:
        return next(self.all("GRDSET"), Card("GRDSET", []))

    @cached_property
    def grids(self) -> dict[int, tuple[Floats, Floats]]:
        """Positions (3,) m and displacement axes (3, 3), columns, in basic coordinates, by number."""
        found = {}
        for number, card in self["GRID"].items():
            place = self.place(card)
            if not np.abs(place).max() < LARGEST:
                raise ModelError(f"GRID {number}: its place, {place.tolist()}, is out of range")
            system = card.value("CD") if card.value("CD") is not None else self._defaults.value("CD")
            found[number] = place, self.axes_at(card, system or 0, place)
        return found

    @cached_property
    def held_grids(self) -> dict[int, Any]:
        """Grids with a support PS, and its components as digits."""
        default = self._defaults.value("PS")
        given = {number: card.value("PS") or default for number, card in self["GRID"].items()}
        return {number: components for number, components in given.items() if components}

    def place(self, card: Card) -> Floats:
        given = card.fields[1] if len(card.fields) > 1 and card.fields[1] is not None else self._defaults.value("CP")
        if given is not None and not isinstance(given, int):
            raise card.fault(1, "the number of a coordinate system")
        return self.point(card, given or 0, card.numbers("X1", 3, ""))

    def point(self, card: Card, system: int, x: Floats) -> Floats:
        """(3,) m: a point x, in the units of the file, of a coordinate system, in basic coordinates."""
        if system <= 0:
            return self.units.length * x
        kind, origin, axes = self.system(card, system)
        if kind == "C":
            x = np.array([x[0] * np.cos(np.radians(x[1])), x[0] * np.sin(np.radians(x[1])), x[2]])
        elif kind == "S":
            t, p = np.radians(x[1:])
            x = x[0] * np.array([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)])
        return np.asarray(origin + axes @ (self.units.length * x))

    def axes_at(self, card: Card, system: int, place: Floats) -> Floats:
        """(3, 3) columns: the axes of a coordinate system at a place (3,) m."""
        if system <= 0:
            return np.eye(3)
        kind, origin, axes = self.system(card, system)
        local = axes.T @ (place - origin)
        radius = float(np.hypot(local[0], local[1]))
        if kind == "R" or radius <= 1e-12 * max(1.0, float(np.linalg.norm(local))):
            return axes
        c, s = local[:2] / radius
        around = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        if kind == "S":
            r = float(np.linalg.norm(local))
            st, ct = radius / r, local[2] / r
            around = np.array([[st * c, ct * c, -s], [st * s, ct * s, c], [ct, -st, 0.0]])
        return np.asarray(axes @ around)

    def system(self, card: Card, number: int) -> tuple[str, Floats, Floats]:
        """Kind R, C or S, origin (3,) m and axes (3, 3), columns, of a coordinate system. Raises ModelError."""
        if number == 0:
            return "R", np.zeros(3), np.eye(3)
        if number not in self._systems:
            names = "CORD2R CORD2C CORD2S CORD1R CORD1C CORD1S"
            if number not in self._system_cards:
                raise ModelError(f"{card}: coordinate system {number} is none of {names}")
            own, places = self._system_cards[number]
            if number in self._opened:
                raise ModelError(f"{own}: coordinate systems refer to each other")
            self._opened.add(number)
            if own.name[4] == "2":
                a, b, c = (self.point(own, own.whole("RID"), own.numbers(key, 3, "")) for key in ("A1", "B1", "C1"))
            else:
                a, b, c = (self.place(self["GRID"][self.known(own, k)]) for k in places)
            self._opened.discard(number)
            z, x = b - a, c - a
            y = np.cross(z, x)
            if not np.linalg.norm(y) > 1e-9 * np.linalg.norm(z) * np.linalg.norm(x):
                raise ModelError(f"{own}: its three points are on a line")
            axes = np.column_stack([np.cross(y, z), y, z])
            self._systems[number] = own.name[5], a, axes / np.linalg.norm(axes, axis=0)
        return self._systems[number]

    @cached_property
    def _system_cards(self) -> dict[int, tuple[Card, tuple[int, ...]]]:
        found = {number: (card, ()) for number, card in self["CORD2R CORD2C CORD2S"].items()}
        for card in self.all("CORD1R", "CORD1C", "CORD1S"):
            for k in (0, 4):
                if card.value(k) is not None:
                    found[card.whole(k)] = card, (k + 1, k + 2, k + 3)  # type: ignore[assignment]
        return found  # type: ignore[return-value]

    def known(self, card: Card, key: str | int) -> int:
        """The grid that a field names. Raises ModelError."""
        number = card.whole(key)
        if number not in self["GRID"]:
            raise ModelError(f"{card}: grid {number} of field {card.place(key) + 2} is not in the file")
        return number

    def check_names(self) -> dict[str, list[str]]:
        """The names of the cards that are left out, by what they are. Raises ModelError: those that are refused."""
        kinds = {name: kind_of(name) for name in self.cards}
        if strange := [name for name, kind in kinds.items() if not kind]:
            raise refusal(strange)
        found = {what: [name for name in kinds if kinds[name] == what] for what in LEFT_OUT}
        return {what: names for what, names in found.items() if names}


def located(path: str | Path) -> tuple[dict[int, tuple[Floats, Floats]], BulkData]:
    """Positions (3,) and displacement axes (3, 3), columns, of the grids of a file in basic coordinates, by number; and
    its cards. Raises ModelError, ResultError."""
    data = read_bulk_data(path)
    found = {number: at for part in (*data.parts.values(), data) for number, at in part.grids.items()}
    if not found:
        raise ModelError(f"{path}: has no GRID")
    return found, data


def read_bulk_data(path: str | Path, unit: float | str | Units = 1.0, logical: Logical | None = None) -> BulkData:
    """The cards of a file. unit : of its lengths, m, beside N and s; or the name of a system of units. logical :
    folders of INCLUDE by name, before those of the environment.

    Raises ModelError: units, a file that includes itself; ResultError: a file that is missing or no text.
    """
    units = Units.of(unit)
    check_file(path, "bulk data")
    state = Path(path).stat()
    names = tuple(sorted((logical or {}).items()))
    return _read(Path(path), units, names, (state.st_size, state.st_mtime_ns))


# Letters of a line in messages.
LONGEST = 100


@lru_cache(maxsize=2)
def _read(path: Path, units: Units, logical: tuple[tuple[str, str], ...], state: tuple[int, int]) -> BulkData:
    lines = list(_lines(path, path.parent, dict(logical), 0))
    texts = [line if isinstance(line, str) else "" for line in lines]
    begins = [k for k, line in enumerate(texts) if re.match(r"\s*BEGIN\w*\s*(BULK|SUPER|$)", line, re.IGNORECASE)]
    ends = [k for k, line in enumerate(texts) if re.match(r"\s*CEND\b", line, re.IGNORECASE)]
    first = (begins[0] + 1) if begins else (ends[0] + 1 if ends else 0)
    if absent := [line for line in lines[:first] if isinstance(line, Exception)]:
        warnings.warn(f"{absent[0]}; it is not among the bulk data", FembWarning)
    if absent := [line for line in lines[first:] if isinstance(line, Exception)]:
        raise absent[0]
    sections: dict[int, list[str]] = {}
    number, kept = 0, True
    for line in texts[first - bool(begins) :]:
        if begins and re.match(r"\s*BEGIN\w*\s*(BULK|SUPER|MASSID|AUXMODEL|$)", line, re.IGNORECASE):
            found = re.search(r"SUPER\s*=\s*(\d+)", line, re.IGNORECASE)
            number, kept = int(found[1]) if found else 0, "MASSID" not in line.upper()
        elif kept:
            sections.setdefault(number, []).append(line)
    if not sections:
        return BulkData(path, {}, units)
    parts = {number: _section(path, lines, units, tuple(texts[:first])) for number, lines in sections.items()}
    whole = parts.pop(0, None) or BulkData(path, {}, units, tuple(texts[:first]))
    return replace(whole, parts=parts)


def _section(path: Path, lines: list[str], units: Units, control: tuple[str, ...]) -> BulkData:
    cards: dict[str, list[Card]] = {}
    try:
        found = list(_cards(lines))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    for name, fields in found:
        if name == "ENDDATA":
            break
        cards.setdefault(name, []).append(Card(name, fields, units))
    data = BulkData(path, cards, units, control)
    factor = data.parameter("WTMASS")
    if not isinstance(factor, int | float):
        return data
    units = replace(units, mass=float(factor))
    scaled = {name: [replace(card, units=units) for card in own] for name, own in cards.items()}
    return BulkData(path, scaled, units, control)


def _lines(path: Path, root: Path, logical: Logical, depth: int) -> Iterator[str | Exception]:
    """The lines of a file and of those that it includes; an error in place of a file that is not there."""
    if depth == DEPTH:
        raise ModelError(f"{path}: INCLUDE: files include each other")
    with reading_foreign(path, "bulk data"):
        text = content_of(path).decode("utf-8", errors="replace")
    lines = iter(text.splitlines())
    for line in lines:
        if not re.match(r"\s*INCLUDE\b", line, re.IGNORECASE):
            yield line
            continue
        name = line.strip()[7:].strip()
        quote = name[:1] if name[:1] in ("'", '"') else ""
        while quote and name.count(quote) < 2:
            name += next(lines, quote).strip()
        name = name.split(quote)[1].strip() if quote else name.split("$")[0].strip().rstrip(",")
        try:
            yield from _lines(_included(path, name, root, logical), root, logical, depth + 1)
        except ResultError as error:
            yield error


def _included(path: Path, name: str, root: Path, logical: Logical) -> Path:
    """The file of an INCLUDE. Raises ResultError."""
    word, sign, rest = name.partition(":")
    if sign and len(word) > 1:
        folder = logical.get(word, os.environ.get(word))
        if folder is None:
            raise ResultError(
                f"{path}: INCLUDE {name}: {word} is no folder: give --logical {word}=DIR, or set it in the environment"
            )
        name = os.path.join(folder, rest)
    name = name.replace("\\", "/")
    for folder_of in (path.parent, root):
        if (found := folder_of / name).is_file():
            return found
    raise ResultError(f"{path}: INCLUDE {name}: there is no such file beside it or beside {root}")


def read_field(text: str) -> Any:
    """A whole number, a real one as NASTRAN writes it, or the text; None where it is blank."""
    text = text.strip()
    if not text:
        return None
    found = NUMBER.fullmatch(text)
    if found is None:
        return text
    exponent = found[2] or found[3]
    if exponent is None:
        return float(found[1]) if "." in found[1] else int(found[1])
    return float(f"{found[1]}e{exponent}")


def _cards(lines: list[str]) -> Iterator[tuple[str, list[Any]]]:
    """The cards of lines: in free, small and large format, continued in any order, repeated by =."""
    found: list[tuple[str, list[Any]]] = []
    tails: dict[str, int] = {}
    last, tail, steps = -1, "", list[Any]()
    for raw in lines:
        line = raw.split("$")[0].expandtabs().rstrip()
        if not line.strip():
            continue
        word, parts, next_tail = _split(line)
        if word.startswith("="):
            if parts or len(word) == 1:
                steps = parts
            count = int(re.sub(r"\D", "", word) or 1)
            for _ in range(count if last >= 0 else 0):
                found.append((found[last][0], _repeated(found[last][1], steps)))
                last, tail = len(found) - 1, next_tail
            continue
        if word[:1] in ("", "+", "*"):
            label = word[1:].strip() if word else ""
            owner = tails.get(label, last) if label and label != tail[1:].strip() else last
            if owner >= 0:
                own = found[owner][1]
                own += [None] * (-len(own) % len(parts))
                own += parts
            tail = next_tail
        else:
            if last >= 0 and found[last][0] == word and {"=", "=="} & {part for part in parts if isinstance(part, str)}:
                parts = _repeated([*found[last][1][: len(parts)], *[None] * (len(parts) - len(found[last][1]))], parts)
            found.append((word, parts))
            last, tail = len(found) - 1, next_tail
            owner = last
        if next_tail[1:].strip():
            tails[next_tail[1:].strip()] = owner
    yield from found


def _split(line: str) -> tuple[str, list[Any], str]:
    """The word of a line, its fields, and the name of its continuation."""
    free = "," in line[:9] or ("," in line and not re.match(r"\w+ ", line)) or re.match(r"\w+ +-?[\d.]+ *,", line)
    if free:
        first, *parts = line.split(",")
        # a line without a name goes on, as those of lists and equations
        goes_on = first.strip() and re.match(r" {8}(?!\s*[A-Za-z]\w*\*?\s*$)|\s*\d+\s*$", first)
        first, *more = ["", first.strip()] if goes_on else first.split(None, 1)[:2] or [""]
        parts = more + parts
        count = 4 if "*" in first and not first.startswith("=") else 8
        parts, more = parts[:count], [part.strip() for part in parts[count:] if part.strip()]
        tail = more[0] if more and (more[0][0] in "+*" or not NUMBER.fullmatch(more[0])) else ""
        if len(more) > bool(tail) and kind_of(first.upper()) == "read":
            raise ModelError(
                f"{line.strip()[:LONGEST]}: has more than {count} fields behind its name, {more[-1][:LONGEST]}: go on "
                "in a line of its own"
            )
    else:
        first = line[:8].strip()
        count = 4 if "*" in first and not first.startswith("=") else 8
        width = 64 // count
        parts, tail = [line[k : k + width] for k in range(8, 72, width)], line[72:80].strip()
        if first.startswith("=") and len(line.strip()) <= 8:
            parts = []
    word = first if first[:1] in ("+", "*", "=") else first.rstrip("*").strip().upper()
    if first[:1] in ("+", "*") and word != first[:1]:
        word = first[:1] + word[1:].strip()
    fields = [read_field(part) for part in parts]
    return (
        word,
        fields + [None] * (count - len(fields) if fields else 0),
        tail if tail[:1] in ("+", "*") else " " + tail,
    )


def _repeated(fields: list[Any], steps: list[Any]) -> list[Any]:
    """The fields of the next card: = the same, == the same from there on, *(x) one more step, else given."""
    out = list(fields)
    for k, step in enumerate(steps):
        text = str(step).strip() if step is not None else ""
        if text == "==":
            break
        if text.startswith("*"):
            change, known = read_field(text[1:].strip("() ")), fields[k] if k < len(fields) else None
            if isinstance(change, str) or isinstance(known, str):
                raise ModelError(f"=: got the step {shown(text)} of {shown(known)}, wanted *(x) of a number")
            value = (known or 0) + (change or 0)
            out[k] = round(value, 12) if isinstance(value, float) else value
        elif text != "=":
            out[k] = step
    return out


def pyyeti_nastran() -> Any:
    """The readers of NASTRAN's matrices. Raises ModelError where they are not installed."""
    what = "OP4 and DMIG files are read by pyyeti, which is not installed"
    optional("pyyeti.nastran.n2p", "fe", what)
    return optional("pyyeti.nastran", "fe", what)
