"""Tables of nodes beside matrices: numbers, positions and node sets."""

import contextlib
from pathlib import Path

import numpy as np

from femb.base.errors import ModelError, ResultError
from femb.base.types import Floats, Ints

TABLES = (".inp", ".csv", ".txt")


def is_bulk_data(path: str | Path) -> bool:
    """Whether the table of nodes is bulk data of NASTRAN, by its suffix."""
    return Path(path).suffix.lower() not in TABLES


def read_nodes(path: str | Path) -> tuple[Ints, Floats, dict[str, Ints]]:
    """Numbers (N,), positions (N, 3) m and node sets, rows by name, of a table of nodes.

    .csv or .txt : lines number, x, y, z. .inp : *NODE and *NSET of Abaqus and CalculiX. Else bulk data of NASTRAN, by
    pyyeti. Raises ModelError, ResultError.
    """
    path = Path(path)
    if not path.is_file():
        raise ResultError(f"{path}: there is no such file")
    if path.suffix.lower() == ".inp":
        return read_input(path)
    if path.suffix.lower() in (".csv", ".txt"):
        text = path.read_text(encoding="utf-8", errors="replace").replace(",", " ").replace(";", " ")
        lines = [line.split() for line in text.splitlines() if line.strip() and line.strip()[0] in "0123456789"]
        table = np.zeros((0, 4))
        with contextlib.suppress(ValueError):
            if all(len(line) == 4 for line in lines):
                table = np.array(lines, dtype=float).reshape(-1, 4)
        if not len(table) or not np.isfinite(table).all() or np.any(table[:, 0] != np.round(table[:, 0])):
            raise ModelError(f"{path}: wanted lines of four numbers: node number, x, y, z")
        return table[:, 0].astype(np.int64), table[:, 1:], {}
    from femb.analysis.fem.nastran import read_grids

    return (*read_grids(path), {})


def read_input(path: Path) -> tuple[Ints, Floats, dict[str, Ints]]:
    """Numbers, positions and node sets of *NODE and *NSET, with NSET=NAME and GENERATE. Raises ModelError."""
    nodes: dict[int, list[float]] = {}
    sets: dict[str, list[int]] = {}
    keyword, words = "", {}
    for count, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines()):
        if line.startswith("**") or not line.strip():
            continue
        if line.startswith("*"):
            keyword = line[1:].upper().split(",")[0].strip()
            given = (each.split("=") for each in line.split(",")[1:])
            words = {part[0].strip().upper(): part[-1].strip() for part in given}
            continue
        values = [each.strip() for each in line.split(",") if each.strip()]
        try:
            if keyword == "NODE":
                place = [float(each) for each in values[1:4]]
                if not np.isfinite(place).all():
                    raise ValueError
                nodes[int(values[0])] = place + [0.0] * (3 - len(place))
                if "NSET" in words:
                    sets.setdefault(words["NSET"], []).append(int(values[0]))
            elif keyword == "NSET" and "NSET" in words:
                own = sets.setdefault(words["NSET"], [])
                if "GENERATE" in words:
                    own += _generated(*map(int, values))
                else:
                    for each in values:
                        own += [int(each)] if each.isdecimal() else sets.get(each, [])
        except (ValueError, TypeError, IndexError):
            raise ModelError(
                f"{path}:{count + 1}: got {line.strip()[:60]!r} of *{keyword}, wanted numbers separated by commas"
            ) from None
    if not nodes:
        raise ModelError(f"{path}: has no *NODE")
    row = {number: k for k, number in enumerate(nodes)}
    rows = {name: np.array([row[each] for each in own if each in row], dtype=np.int64) for name, own in sets.items()}
    return np.array(list(nodes)), np.array(list(nodes.values())), rows


def _generated(first: int, last: int, step: int = 1) -> range:
    """The numbers of a set with GENERATE, at most ten million. Raises ValueError."""
    numbers = range(first, last + 1, step)
    if len(numbers) > 10_000_000:
        raise ValueError
    return numbers
