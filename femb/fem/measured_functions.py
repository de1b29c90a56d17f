"""Measured functions: transfer functions and time histories, of dataset 58 of universal files and of CSV."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Bools, Complexes, Floats
from femb.base.values import absent

# Kinds of dataset 58 that are compared with models.
HISTORY, TRANSFER = 1, 4
NEEDED = "frequency", "input", "output", "real", "imag"
"""Columns that a CSV file of transfer functions must have."""
KNOWN = *NEEDED, "sigma"
# Between the name of a column of a history and its standard deviation.
DEVIATION = "+-"
# Directions of dataset 58 by their numbers, and units of its specific data types along and about axes.
AXES = "", "x", "y", "z", "rx", "ry", "rz"
TYPES = {8: ("m", "rad"), 9: ("N", "N m"), 11: ("m/s", "rad/s"), 12: ("m/s2", "rad/s2"), 13: ("N", "N m")}


@dataclass(frozen=True, eq=False)
class Response:
    """A measured function: a transfer function (kind 4) from an input to an output, or the history (1) of an output.

    abscissa (n,) Hz or s, values (n,), real or complex, SI units. sigma (n,) : standard deviation of the real and the
    imaginary part, NaN where it is not known. units : of output and input, "" where they are not known.
    """

    kind: int
    output: str
    input: str
    abscissa: Floats
    values: Complexes
    sigma: Floats
    units: tuple[str, str] = ("", "")

    @property
    def name(self) -> str:
        """The output, of a transfer function "OUTPUT by INPUT"."""
        return f"{self.output} by {self.input}" if self.kind == TRANSFER else self.output

    def of(self, some: Bools) -> "Response":
        """A part of it; some (n,) : which values."""
        return replace(self, abscissa=self.abscissa[some], values=self.values[some], sigma=self.sigma[some])


def functions_of_csv(path: Path, names: Sequence[str], lines: Sequence[tuple[int, list[str]]]) -> tuple[Response, ...]:
    """The functions of a CSV file: of the columns ``names``, and of lines by their numbers.

    Raises ModelError: unknown or missing columns, what is no finite number, instants that do not increase.
    """
    if not lines:
        raise ModelError(f"{path}: has no rows below the names of columns")
    return _histories(path, names, lines) if "time" in names else _transfers(path, names, lines)


def _column(path: Path, names: Sequence[str], lines: Sequence[tuple[int, list[str]]], name: str) -> Floats:
    """The numbers of a column. Raises ModelError with the line."""
    k, found = names.index(name), np.empty(len(lines))
    for i, (line, row) in enumerate(lines):
        try:
            found[i] = float(row[k])
        except ValueError:
            found[i] = np.nan
        if not np.isfinite(found[i]):
            raise ModelError(
                f"{path}, line {line}: {name}: got {row[k].strip()!r}, wanted a finite number; leave out lines with "
                "gaps, or give each column a file of its own"
            )
    return found


def _histories(path: Path, names: Sequence[str], lines: Sequence[tuple[int, list[str]]]) -> tuple[Response, ...]:
    time = _column(path, names, lines, "time")
    if time[0] < 0.0 or np.any(np.diff(time) <= 0.0):
        k = int(np.argmax(np.diff(time, prepend=-1e-300) <= 0.0)) if time[0] >= 0.0 else 0
        raise ModelError(f"{path}, line {lines[k][0]}: time: got {time[k]:g}, wanted instants from 0 s that increase")
    found = []
    for name in names:
        if name == "time":
            continue
        output, sign, text = (part.strip() for part in name.partition(DEVIATION))
        try:
            sigma = float(text) if sign else np.nan
        except ValueError:
            sigma = 0.0
        if sign and not 0.0 < sigma < np.inf:
            raise ModelError(f"{path}: column {name!r}: wanted NAME {DEVIATION} a standard deviation above zero")
        values = _column(path, names, lines, name).astype(complex)
        found.append(Response(HISTORY, output, "", time, values, np.full(len(time), sigma)))
    if not found:
        raise ModelError(f"{path}: has no column beside time; wanted quantities, as bodies.hub.angular_velocity.x")
    return tuple(found)


def _transfers(path: Path, names: Sequence[str], lines: Sequence[tuple[int, list[str]]]) -> tuple[Response, ...]:
    for name in names:
        if name not in KNOWN:
            raise ModelError(f"{path}: no column {absent(name, KNOWN)}")
    if missing := [name for name in NEEDED if name not in names]:
        raise ModelError(f"{path}: the column {missing[0]} is missing; of transfer functions: {', '.join(NEEDED)}")
    frequency, real, imag = (_column(path, names, lines, name) for name in ("frequency", "real", "imag"))
    sigma = _column(path, names, lines, "sigma") if "sigma" in names else np.full(len(lines), np.nan)
    for what, wrong in (("frequency", frequency <= 0.0), ("sigma", sigma <= 0.0)):
        if np.any(wrong):
            raise ModelError(f"{path}, line {lines[int(np.argmax(wrong))][0]}: {what}: wanted a number above zero")
    ends = [tuple(row[names.index(word)].strip() for word in ("output", "input")) for _, row in lines]
    found = []
    for output, input_ in dict.fromkeys(ends):
        rows = np.array([end == (output, input_) for end in ends])
        order = np.flatnonzero(rows)[np.argsort(frequency[rows], kind="stable")]
        values = real[order] + 1j * imag[order]
        found.append(Response(TRANSFER, output, input_, frequency[order], values, sigma[order]))
    return tuple(found)


def of_dataset(lines: Sequence[str], where: str, binary: tuple[bytes, str] | None = None) -> Response:
    """A function of dataset 58: of real (2, 4) or complex (5, 6) numbers, single (2, 5) or double ones.

    binary : its numbers as bytes, with their order. Its ends are named as "3z", "-3z" or "3rx". Raises ModelError.
    """
    head, form = lines[5], lines[6].split()
    kind = int(head[:5])
    ends = head[30:].split()
    data, count, even = int(form[0]), int(form[1]), int(form[2])
    first, step = float(form[3]), float(form[4])
    double, pairs = data in (4, 6), data in (5, 6)
    per_point = (2 if pairs else 1) + (0 if even else 1)
    if binary is not None:
        size, rest = divmod(len(binary[0]), count * per_point)
        if size not in (4, 8) or rest:
            raise ModelError(f"{where}: has {len(binary[0])} bytes, wanted 4 or 8 of {count * per_point} numbers")
        numbers = np.frombuffer(binary[0], f"{binary[1]}f{size}").astype(float).tolist()
    elif even or not double:
        numbers = [x for line in lines[11:] for x in numbers_of_line(line, 20 if double else 13)]
    else:
        numbers = [x for line in lines[11:] for x in (*numbers_of_line(line[:13], 13), *numbers_of_line(line[13:], 20))]
    if len(numbers) != count * per_point:
        raise ModelError(f"{where}: has {len(numbers)} numbers, wanted {count * per_point} of {count} points")
    if not np.all(np.isfinite(numbers)):
        raise ModelError(f"{where}: has numbers that are not finite")
    table = np.array(numbers).reshape(count, per_point)
    abscissa = first + step * np.arange(count) if even else table[:, 0]
    values = table[:, -2] + 1j * table[:, -1] if pairs else table[:, -1].astype(complex)
    names, units = [], []
    for node, direction, record in zip(ends[1::3], ends[2::3], lines[8:10], strict=False):
        number, of_type = int(direction), int(record[:10] or 0)
        axis = AXES[abs(number)] if abs(number) < len(AXES) else ""
        names.append(f"{'-' if number < 0 else ''}{int(node)}{axis}")
        units.append(TYPES.get(of_type, ("", ""))[axis.startswith("r")])
    output, input_ = names
    return Response(
        kind, output, input_ if kind == TRANSFER else "", np.asarray(abscissa), values, np.full(count, np.nan),
        (units[0], units[1]),
    )  # fmt: skip


def in_si(response: Response, length: float, force: float) -> Response:
    """A function of a universal file in SI units; length, force : factors of dataset 164."""
    factor = 1.0
    for unit, sign in zip(response.units, (1, -1) if response.kind == TRANSFER else (1, 0), strict=True):
        factor *= (length if unit.startswith("m") or unit == "N m" else 1.0) ** sign
        factor *= (force if unit.startswith("N") else 1.0) ** sign
    return replace(response, values=response.values / factor)


def numbers_of_line(line: str, width: int) -> list[float]:
    """The numbers of a line in fields of a width; of a shorter one, by blanks. Raises ValueError."""
    line = line.rstrip().replace("D", "E").replace("d", "e")
    fields = [line[k : k + width] for k in range(0, len(line), width)]
    found = [float(each) for each in fields if each.strip()]
    if not np.all(np.isfinite(found)):
        raise ValueError(f"a number is {line.strip()!r}")
    return found
