"""Bulk data of NASTRAN: its cards in free, small and large format, grids and coordinate systems by pyyeti.

Source: the fields of MSC Nastran's Quick Reference Guide, counted as there, the name being field 1.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.array_files import check_file, reading_foreign
from femb.base.errors import ModelError
from femb.base.types import Floats

SUFFIXES = (".bdf", ".dat", ".nas", ".fem")
# Cards that say nothing of mass and stiffness: loads, supports, requests, tables, design variables.
IGNORED = (
    "ACCEL", "ACCEL1", "ASET", "ASET1", "BSET", "BSET1", "CBARAO", "CSET", "CSET1", "DAREA", "DCONADD", "DCONSTR",
    "DEQATN", "DESVAR", "DLINK", "DLOAD", "DOPTPRM", "DPHASE", "DRESP1", "DRESP2", "DRESP3", "DSCREEN", "DTABLE",
    "DVCREL1", "DVGRID", "DVMREL1", "DVPREL1", "DVPREL2", "EIGB", "EIGC", "EIGR", "EIGRL", "FORCE", "FORCE1", "FORCE2",
    "FREQ", "FREQ1", "FREQ2", "FREQ3", "FREQ4", "FREQ5", "GRAV", "LOAD", "LSEQ", "MAT4", "MOMENT", "MOMENT1", "MOMENT2",
    "NLPARM", "PLOAD", "PLOAD1", "PLOAD2", "PLOAD4", "PLOADX1", "PLOTEL", "PLOTEL3", "PLOTEL4", "QSET", "QSET1",
    "RANDPS", "RANDT1", "RFORCE", "RLOAD1", "RLOAD2", "SET1", "SET3", "SLOAD", "SPC", "SPC1", "SPCADD", "SPCD",
    "SPOINT", "SUPORT", "SUPORT1", "TABDMP1", "TABLED1", "TABLED2", "TABLED3", "TABLED4", "TABLEM1", "TABLEM2",
    "TABLEM3", "TABLEM4", "TABRND1", "TABRNDG", "TEMP", "TEMPD", "TEMPP1", "TEMPRB", "TLOAD1", "TLOAD2", "TSTEP",
    "TSTEPNL", "USET", "USET1",
)  # fmt: skip
# Cards of walls, parts and axes that are no mesh.
NO_MESH = (
    "CORD2R", "CORD2C", "CORD2S", "PSHELL", "PCOMP", "PCOMPG", "CONM1", "CONM2", "CBAR", "CBEAM", "CROD", "CONROD",
    "CBUSH", "CELAS1", "CELAS2", "RBAR", "RBE1", "RBE2", "RBE3", "MPC",
)  # fmt: skip
LEFT_OUT = "are not read: give walls, masses, beams and joints here"
# Of numbers, and of numbers of cards.
LARGEST, MOST = 1e60, 2**31
# Of files that include others.
DEPTH = 16
SUPPORTS = ("SPC", "SPC1", "SUPORT", "SUPORT1")


def is_bulk_data(path: str | Path) -> bool:
    """Whether a file is bulk data, by its suffix."""
    return Path(path).suffix.lower() in SUFFIXES


def left_out(path: str | Path, *read: str) -> str:
    """The names of the cards of a file that a mesh leaves out, beside those that are ``read``, in words; or nothing."""
    lines = Path(path).read_text(encoding="utf-8", errors="replace").upper().splitlines()
    names = dict.fromkeys(re.split(r"[,*\s]", line[:8], maxsplit=1)[0] for line in lines)
    left = [name for name in names if name in NO_MESH and name not in read]
    return f"{', '.join(left)}: {LEFT_OUT}" if left else ""


@dataclass(frozen=True, eq=False)
class Card:
    """A card: its name and its fields from the second on; methods take the number of a field in the guide, those of the
    second line being 10 to 17, and so on, and raise ModelError naming the card."""

    name: str
    fields: list[Any]

    @property
    def id(self) -> int:
        """Its number."""
        return self.whole(2)

    def __str__(self) -> str:
        return f"{self.name} {self.fields[0] if self.fields else ''}".strip()

    def value(self, k: int) -> Any:
        """The content of a field, None where it is blank; lines have eight fields, of which the first is 2, then 10."""
        place = k - 2
        return self.fields[place] if 0 <= place < len(self.fields) else None

    def number(self, k: int, default: float | None = None) -> float:
        found = self.value(k)
        if found is None and default is not None:
            return default
        if not isinstance(found, int | float) or not abs(found) < LARGEST:
            raise self.fault(k, "a number")
        return float(found)

    def numbers(self, k: int, count: int) -> Floats:
        """(count,) from a field on, zero where blank."""
        return np.array([self.number(k + i, 0.0) for i in range(count)])

    def whole(self, k: int, default: int | None = None) -> int:
        found = self.value(k)
        if found is None and default is not None:
            return default
        if not isinstance(found, int) or abs(found) >= MOST:
            raise self.fault(k, "a whole number")
        return found

    def text(self, k: int, default: str = "") -> str:
        found = self.value(k)
        return default if found is None else str(found).strip().upper()

    def fault(self, k: int, wanted: str) -> ModelError:
        found = self.value(k)
        return ModelError(f"{self}: got {'nothing' if found is None else repr(found)} in field {k}, wanted {wanted}")

    def refuse(self, what: str) -> ModelError:
        return ModelError(f"{self}: {what}: is not read; change the file, or give its matrices to `femb reduce`")

    def refuse_fields(self, first: int, last: int, what: str) -> None:
        """Raise ModelError where fields are neither blank nor zero."""
        for k in range(first, last + 1):
            if self.value(k) not in (None, 0, 0.0):
                raise self.refuse(f"field {k}, {self.value(k)!r}, {what}")


@dataclass(frozen=True, eq=False)
class BulkData:
    """Cards by their names, with lengths in a unit (m) beside N and s."""

    path: Path
    cards: dict[str, list[Card]]
    unit: float = 1.0

    def all(self, *names: str) -> Iterator[Card]:
        """The cards of some names."""
        for name in names:
            yield from self.cards.get(name, ())

    def by_id(self, *names: str) -> dict[int, Card]:
        """The cards of some names by their numbers. Raises ModelError: a number of two."""
        found: dict[int, Card] = {}
        for card in self.all(*names):
            if card.id in found:
                raise ModelError(f"{card}: its number is that of {found[card.id]} too")
            found[card.id] = card
        return found

    @cached_property
    def materials(self) -> dict[int, Card]:
        """MAT1, MAT8 by number, and others, which ``material`` refuses."""
        return self.by_id(*(name for name in self.cards if name.startswith("MAT") and name not in IGNORED))

    def material(self, card: Card, k: int, *names: str) -> Card:
        """The material that a field names, of some names. Raises ModelError."""
        number = card.whole(k)
        if number not in self.materials:
            raise ModelError(f"{card}: material {number} of field {k} is not in the file")
        found = self.materials[number]
        if found.name not in names:
            raise card.refuse(f"its material {found.name} {number}, beside which {' and '.join(names)} are read")
        return found

    @cached_property
    def mass_factor(self) -> float:
        """That of PARAM,WTMASS, of all masses, in kg."""
        given = [card.number(3) for card in self.all("PARAM") if card.text(2) == "WTMASS"]
        return (given[-1] if given else 1.0) / self.unit

    @cached_property
    def _located(self) -> tuple[dict[int, tuple[Floats, Floats]], dict[int, Floats]]:
        self.by_id("GRID")
        found = located(self.path)
        for number, (place, _) in found[0].items():
            if not np.abs(place).max() < LARGEST:
                raise ModelError(f"GRID {number}: its place, {place.tolist()}, is out of range")
        return found

    @cached_property
    def grids(self) -> dict[int, tuple[Floats, Floats]]:
        """Positions (3,) m and displacement axes (3, 3), columns, in basic coordinates, by number."""
        return {number: (self.unit * place, axes) for number, (place, axes) in self._located[0].items()}

    def grid(self, card: Card, k: int) -> int:
        """The grid that a field names. Raises ModelError."""
        number = card.whole(k)
        if number not in self.grids:
            raise ModelError(f"{card}: grid {number} of field {k} is not in the file")
        return number

    def system(self, card: Card, k: int) -> tuple[Floats, Floats]:
        """Origin (3,) m and axes (3, 3), columns, of the rectangular coordinate system in a field, blank being basic.

        Raises ModelError.
        """
        number = card.whole(k, 0)
        found = self._located[1].get(number)
        if number and found is None:
            raise ModelError(f"{card}: coordinate system {number} of field {k} is not in the file")
        if found is None:
            return np.zeros(3), np.eye(3)
        if found[0, 1] != 1:
            raise card.refuse(f"axes of the cylindrical or spherical coordinate system {number}")
        return self.unit * found[1], found[2:]

    def check_names(self, *read: str) -> list[str]:
        """The supports that are left out. Raises ModelError: cards that are neither read nor without mass and
        stiffness."""
        known = {"GRID", "PARAM", "MAT1", "MAT8", "CORD2R", "CORD2C", "CORD2S", "ENDDATA", *IGNORED, *read}
        strange = [name for name in self.cards if name not in known]
        if strange:
            raise ModelError(
                f"{', '.join(strange)}: not read, beside {', '.join(read)}: take them out of the file, give its "
                "matrices to `femb reduce`, or the mesh with walls in a case"
            )
        return [name for name in SUPPORTS if name in self.cards]


def located(path: str | Path) -> tuple[dict[int, tuple[Floats, Floats]], dict[int, Floats]]:
    """Positions (3,) and displacement axes (3, 3), columns, of the grids of a file in basic coordinates, by number; and
    its coordinate systems: number and type, origin and axes (5, 3). Raises ModelError, ResultError."""
    nastran = pyyeti_nastran()
    with reading_foreign(path, "bulk data"):
        table, systems = nastran.bulk.bulk2uset(str(path))
        first = np.flatnonzero(table.index.get_level_values("dof") == 1)
        numbers = [int(number) for number in table.index.get_level_values("id")[first]]
        places = table.to_numpy()[first, 1:].astype(float)
        # displacements along a grid's axes by unit translations along the basic ones
        moved = nastran.n2p.rbgeom_uset(table)[:, :3].reshape(len(numbers), -1, 3)[:, :3] if numbers else []
    if not numbers:
        raise ModelError(f"{path}: has no GRID")
    return {number: (place, axes.T) for number, place, axes in zip(numbers, places, moved, strict=True)}, systems


def read_bulk_data(path: str | Path, unit: float = 1.0) -> BulkData:
    """The cards of a file. unit : of its lengths, m. Raises ModelError: a unit that is not above 0; ResultError."""
    if not 0.0 < unit < np.inf:
        raise ModelError(f"unit: got {unit:g} m, must be greater than 0")
    check_file(path, "bulk data")
    state = Path(path).stat()
    return _read(Path(path), unit, (state.st_size, state.st_mtime_ns))


@lru_cache(maxsize=2)
def _read(path: Path, unit: float, state: tuple[int, int]) -> BulkData:
    cards: dict[str, list[Card]] = {}
    with reading_foreign(path, "bulk data"):
        found = list(_cards(path, pyyeti_nastran().nas_sscanf))
    begin = next((k + 1 for k, card in enumerate(found) if card.name == "BEGIN"), 0)
    for card in found[begin:]:
        if card.name == "ENDDATA":
            break
        cards.setdefault(card.name, []).append(card)
    return BulkData(path, cards, unit)


def _cards(path: Path, value: Callable[[str, bool], Any], depth: int = 0) -> Iterator[Card]:
    """The cards of a file and of those that it includes; value : of the text of a field."""
    card: Card | None = None
    for raw in path.read_text(encoding="utf-8", errors="replace").splitlines():
        line = raw.split("$")[0].expandtabs().rstrip()
        if line[:8].upper().startswith("INCLUDE"):
            if depth == DEPTH:
                raise ModelError(f"{path}: INCLUDE: files include each other")
            yield from [card] if card is not None else []
            card = None
            yield from _cards(path.parent / line[7:].strip().strip("\"'"), value, depth + 1)
            continue
        free = line.split(",")
        first = free[0] if len(free) > 1 else line[:8]
        count, word = 4 if "*" in first else 8, re.split(r"[\s*=]", first.strip())[0].upper() or first.strip()
        width = 64 // count
        parts = free[1 : 1 + count] if len(free) > 1 else [line[k : k + width] for k in range(8, 72, width)]
        found = [value(part, True) for part in parts] + [None] * (count - len(parts))
        # the field behind them names the next line
        if any(isinstance(value(part, True), int | float) for part in free[1 + count :]):
            raise ModelError(
                f"{line.strip()}: has more than {count} fields behind its name: go on in a line of its own"
            )
        if card is not None and word[:1] in ("", "+", "*"):
            card.fields.extend(found)
        elif word:
            yield from [card] if card is not None else []
            card = Card(word, found)
    if card is not None:
        yield card


def pyyeti_nastran() -> Any:
    """The readers of NASTRAN's files. Raises ModelError where they are not installed."""
    try:
        import pyyeti.nastran
        import pyyeti.nastran.n2p
    except ImportError as error:
        raise ModelError(
            "pip install 'femb[fe]': OP4, DMIG and bulk data files are read by pyyeti, which is not installed"
        ) from error
    return pyyeti.nastran
