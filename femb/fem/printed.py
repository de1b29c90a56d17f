"""Modes and mass that NASTRAN and MYSTRAN print: .f06, .pch of eigenvectors, .op2."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from femb.base.array_files import check_file, content_of, reading_foreign
from femb.base.bulk_data import pyyeti_nastran
from femb.base.errors import ResultError
from femb.base.types import Floats

NUMBER = r"[-+]?\d*\.\d*(?:[EeDd]?[-+]\d+)?"
MODES = re.compile(rf"^\s*\d+\s+\d+\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+{NUMBER}\s+{NUMBER}\s*$")
GRID = re.compile(rf"^\s*(\d+)\s+(?:G|S|L|-?\d+)\s+((?:{NUMBER}\s*){{1,6}})$")
MASSES = re.compile(rf"(?:Total mass =|^\s*X\s)\s*({NUMBER})")


@dataclass(frozen=True, eq=False)
class Printed:
    """frequencies (k,) Hz. shapes : (k, 6) by grid, along its displacement axes. mass : in the units of the deck."""

    path: Path
    frequencies: Floats
    shapes: dict[int, Floats] = field(default_factory=dict)
    mass: float | None = None


def read_printed(path: str | Path) -> Printed:
    """The modes of a file. Raises ResultError: a file without modes; ModelError: .op2 without pyyeti."""
    path = Path(path)
    check_file(path, "results of NASTRAN")
    suffix = path.suffix.lower()
    if suffix not in (".f06", ".pch", ".op2"):
        raise ResultError(f"{path}: got the suffix {path.suffix!r}, wanted results in .f06, .pch or .op2")
    with reading_foreign(path, "results of NASTRAN"):
        if suffix == ".op2":
            found = _of_op2(path)
        else:
            lines = content_of(path).decode("utf-8", errors="replace").splitlines()
            found = _of_punch(path, lines) if suffix == ".pch" else _of_listing(path, lines)
    if not len(found.frequencies) and found.mass is None:
        raise ResultError(f"{path}: has no eigenvalues and no mass")
    return found


def _value(text: str) -> float:
    text = re.sub(r"(?<=[\d.])([-+]\d+)$", r"e\1", text.strip().upper().replace("D", "E").replace("E", "e"))
    return float(text)


def _of_listing(path: Path, lines: list[str]) -> Printed:
    frequencies: list[float] = []
    modes: dict[int, dict[int, Floats]] = {}
    mode, mass = 0, None
    for line in lines:
        squeezed = line.replace(" ", "").upper()
        if "EIGENVECTOR" in squeezed and "OUTPUT" not in squeezed:
            named = re.search(r"EIGENVECTORNO\.(\d+)", squeezed)
            mode = int(named[1]) if named else mode + 1
        elif "DISPLACEMENT" in squeezed or "LOADVECTOR" in squeezed or "FORCESOFSINGLE" in squeezed:
            mode = -1
        elif found := MODES.match(line):
            frequencies.append(_value(found[3]))
        elif mode > 0 and (found := GRID.match(line)):
            values = [_value(text) for text in found[2].split()]
            modes.setdefault(mode, {})[int(found[1])] = np.array(values + [0.0] * (6 - len(values)))
        elif mass is None and (found := MASSES.search(line)) and len(line.split()) > 4 - ("Total" in line):
            mass = _value(found[1])
    return Printed(path, np.array(frequencies), _by_grid(modes, len(frequencies)), mass)


def _of_punch(path: Path, lines: list[str]) -> Printed:
    squares: dict[int, float] = {}
    modes: dict[int, dict[int, Floats]] = {}
    mode, grid = 0, 0
    for line in lines:
        if found := re.match(rf"\$EIGENVALUE\s*=\s*({NUMBER})\s+MODE\s*=\s*(\d+)", line):
            mode = int(found[2])
            squares[mode] = _value(found[1])
        elif line.startswith("$") or not mode:
            continue
        elif line.startswith("-CONT-"):
            modes[mode][grid][3:] = [_value(line[k : k + 18]) for k in (18, 36, 54)]
        else:
            grid = int(line[:10])
            first = [_value(line[k : k + 18]) for k in (18, 36, 54)]
            modes.setdefault(mode, {})[grid] = np.array(first + [0.0] * 3)
    frequencies = np.sqrt(np.abs([squares[k] for k in sorted(squares)])) / (2.0 * np.pi)
    return Printed(path, np.asarray(frequencies), _by_grid(modes, len(squares)))


def _by_grid(modes: dict[int, dict[int, Floats]], count: int) -> dict[int, Floats]:
    """(count, 6) by grid, of those of all modes."""
    if sorted(modes) != list(range(1, count + 1)) or not count:
        return {}
    common = set.intersection(*(set(own) for own in modes.values()))
    return {grid: np.array([modes[k + 1][grid] for k in range(count)]) for grid in sorted(common)}


def _of_op2(path: Path) -> Printed:
    import warnings

    pyyeti_nastran()
    from pyyeti.nastran import op2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = op2.rdpostop2(str(path), getougv1=True)
    mass = found.get("gpwg", {}).get("mass")
    for each in found["mats"].get("OUGV1", found["mats"].get("BOPHIG", ())):
        squares = np.asarray(each["lambda"], dtype=float)
        dof, shapes = np.asarray(each["dof"], dtype=int), np.asarray(each["ougv1"], dtype=float)
        rows: dict[int, Floats] = {}
        for (grid, component), row in zip(dof[:, :2].tolist(), shapes, strict=True):
            rows.setdefault(grid, np.zeros((len(squares), 6)))[:, max(component - 1, 0)] = row
        return Printed(path, np.sqrt(np.abs(squares)) / (2.0 * np.pi), rows, None if mass is None else float(mass))
    return Printed(path, np.zeros(0), {}, None if mass is None else float(mass))
