"""Test data: measured frequencies, damping, shapes and functions, from universal files (.unv, .uff) and CSV.

Universal files, I-DEAS Test Data Analysis, datasets: 15 nodes, 55 shapes at nodes, 58 functions, also binary, 82 trace
lines, 151 header, 164 units, 2420 coordinate systems of nodes and of their shapes. Fields have fixed widths, in which
numbers may touch, and D or E exponents. Source: Structural Dynamics Research Laboratory, University of Cincinnati,
Universal File Formats; docs/howto/correlate.md.
"""

import csv
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from femb.base.array_files import check_file, content_of
from femb.base.errors import ModelError
from femb.base.types import Complexes, Floats
from femb.base.values import absent, check_kind
from femb.case.text import text_of
from femb.fem.measured_functions import NEEDED, Response, functions_of_csv, in_si, numbers_of_line, of_dataset

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
COLUMNS = (
    "mode", "frequency", "sigma", "damping", "damping_sigma", "point", "x", "y", "z", "direction", "real", "imag",
)  # fmt: skip
"""Columns of a CSV file: a row for each mode alone, or for each mode and measured direction of a point."""
# Coordinates beyond this, or below its inverse, m: probably of another unit.
LARGE = 1e3
# Bytes of an ASCII line of a universal file; binary datasets have none.
SEPARATOR = "-1"


@dataclass(frozen=True, eq=False)
class TestData:
    """Measured modes: k modes at p directions of points, and functions, in SI units.

    frequencies (k,) Hz. damping (k,) : ratios. sigma, damping_sigma (k,) : standard deviations of them. All are NaN
    where they are not known. points (p,) : names. places, directions (p, 3) m, unit vectors. shapes (p, k) : NaN where
    they were not measured. traces : lines between points, for figures. responses : measured functions.
    title : of the file.
    """

    __test__ = False  # of pytest, to which the name looks like that of a test

    frequencies: Floats
    damping: Floats
    sigma: Floats
    damping_sigma: Floats
    points: tuple[str, ...]
    places: Floats
    directions: Floats
    shapes: Complexes
    traces: tuple[tuple[str, ...], ...] = ()
    responses: tuple[Response, ...] = ()
    title: str = field(default="")

    def modes(self, chosen: Sequence[int]) -> "TestData":
        """The data of some modes; chosen : their numbers from 0."""
        of = list(chosen)
        return replace(
            self, frequencies=self.frequencies[of], damping=self.damping[of], sigma=self.sigma[of],
            damping_sigma=self.damping_sigma[of], shapes=self.shapes[:, of],
        )  # fmt: skip


def read_test_data(path: str | Path) -> TestData:
    """Read the universal or CSV file at ``path``. Raises ModelError with its line: what is damaged, or in other
    units."""
    check_kind("read_test_data", path, (str, os.PathLike), "the path of a universal file or of CSV")
    path = Path(path)
    if path.suffix.lower() == ".csv":
        data = _of_csv(path, text_of(path, "test data, a universal file (.unv, .uff) or CSV"))
    else:
        check_file(path, "test data")
        content, responses = _without_binary(path, content_of(path))
        if b"\0" in content:
            raise ModelError(f"{path}: is no text; wanted a universal file (.unv, .uff) or CSV")
        found = _Universal(path, responses)
        for kind, start, lines in _datasets(path, content.decode("utf-8", errors="replace")):
            where = f"{path}, dataset {kind} at line {start}"
            try:
                found.take(kind, lines, where)
            except (ValueError, IndexError) as error:
                raise ModelError(f"{where}: is damaged: {error}") from error
        data = found.data()
    size = float(np.max(np.ptp(data.places, axis=0))) if len(data.places) else 0.0
    if size and not 1.0 / LARGE < size < LARGE:
        raise ModelError(
            f"{path}: the points are {size:.3g} m apart, probably in another unit; wanted m, or a dataset 164"
        )
    if not len(data.frequencies) and not data.responses:
        raise ModelError(f"{path}: has no modes; wanted datasets 55 or 58, or rows with a frequency")
    return data


def _of_csv(path: Path, text: str) -> TestData:
    reader = csv.reader(text.splitlines())
    lines = [(reader.line_num, row) for row in reader if row and not row[0].lstrip().startswith("#")]
    names = [word.strip() for word in lines[0][1]] if lines else []
    for line, row in lines[1:]:
        if len(row) != len(names):
            raise ModelError(f"{path}, line {line}: got {len(row)} fields, wanted {len(names)}: {', '.join(names)}")
    if "mode" not in names and {"time", *NEEDED[1:]} & set(names):
        none = np.zeros(0)
        return TestData(
            none, none, none, none, (), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 0), dtype=complex),
            responses=functions_of_csv(path, names, lines[1:]), title=path.stem,
        )  # fmt: skip
    for name in names:
        if name not in COLUMNS:
            raise ModelError(f"{path}: no column {absent(name, COLUMNS)}")
    for name in ("mode", "frequency"):
        if name not in names:
            raise ModelError(f"{path}: the column {name} is missing; wanted a first line with names of columns")
    modes: dict[int, list[float]] = {}
    points: dict[tuple[str, tuple[float, ...]], Floats] = {}
    shapes: dict[tuple[str, tuple[float, ...], int], complex] = {}
    for line, row in lines[1:]:
        words = {name: word.strip() for name, word in zip(names, row, strict=True) if word.strip()}

        def number(name: str, default: float = np.nan, words: dict[str, str] = words, line: int = line) -> float:
            if name not in words:
                return default
            try:
                value = float(words[name])
            except ValueError:
                value = np.nan
            if not np.isfinite(value):
                raise ModelError(f"{path}, line {line}: {name}: got {words[name]!r}, wanted a finite number")
            if name.endswith("sigma") and not value > 0.0:
                raise ModelError(f"{path}, line {line}: {name}: got {words[name]!r}, a deviation must be above zero")
            return value

        mode = int(number("mode", 0.0))
        own = [number(name) for name in ("frequency", "damping", "sigma", "damping_sigma")]
        known = modes.setdefault(mode, own)
        modes[mode] = [old if np.isnan(new) else new for old, new in zip(known, own, strict=True)]
        if not modes[mode][0] > 0.0:
            raise ModelError(f"{path}, line {line}: frequency: mode {mode} has none above zero, Hz")
        if "point" in words:
            direction = _direction(words.get("direction", ""), f"{path}, line {line}")
            point = (words["point"], direction)
            points[point] = np.array([number(axis, 0.0) for axis in AXES])
            shapes[*point, mode] = complex(number("real"), number("imag", 0.0))
    order = sorted(modes, key=lambda mode: modes[mode][0])
    columns = np.array([modes[mode] for mode in order]).reshape(-1, 4).T
    values = np.array([[shapes.get((*point, mode), complex(np.nan)) for mode in order] for point in points])
    return TestData(
        columns[0], columns[1], columns[2], columns[3], tuple(point for point, _ in points),
        np.array(list(points.values())).reshape(-1, 3), np.array([axis for _, axis in points]).reshape(-1, 3),
        values.reshape(len(points), len(order)), title=path.stem,
    )  # fmt: skip


def _direction(text: str, where: str) -> tuple[float, ...]:
    """A unit vector of a text as "z", "-x" or "0 0.6 0.8"."""
    sign, name = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    if name in AXES:
        return tuple(sign * x for x in AXES[name])
    try:
        vector = np.array([float(word) for word in text.split()])
    except ValueError:
        vector = np.zeros(0)
    if vector.shape != (3,) or not np.isfinite(vector).all() or not np.any(vector):
        raise ModelError(f"{where}: direction: got {text!r}, wanted x, -y, or three numbers as '0 0.6 0.8'")
    return tuple((vector / np.linalg.norm(vector)).tolist())


# Universal files.


BINARY = re.compile(rb"^ *-1[ \r]*\n( *58b[ \d]+)[ \r]*\n", re.MULTILINE)


def _without_binary(path: Path, content: bytes) -> tuple[bytes, list[Response]]:
    """The content of a file without its binary datasets 58, and these. Raises ModelError."""
    responses: list[Response] = []
    while found := BINARY.search(content):
        where = f"{path}, dataset 58b"
        order, form, lines, size = (int(each) for each in found[1].split()[1:5])
        end = found.end()
        for _ in range(lines):
            end = content.find(b"\n", end) + 1
            if not end:
                raise ModelError(f"{where}: ends within its header")
        header = content[found.end() : end].decode("utf-8", errors="replace").splitlines()
        try:
            data, count, even = (int(word) for word in header[6].split()[:3])
        except (ValueError, IndexError) as error:
            raise ModelError(f"{where}: is damaged: {error}") from error
        # pyuff 2.5 writes half of the size of complex numbers
        sizes = size, count * ((1 if data in (2, 4) else 2) + (not even)) * (8 if data in (4, 6) else 4)
        ends = [(each, re.match(rb"\s*-1[ \r]*(\n|$)", content[end + each : end + each + 100])) for each in sizes]
        size, close = next(((each, stop) for each, stop in ends if stop), (size, None))
        if order not in (1, 2) or form != 2 or close is None:
            raise ModelError(f"{where}: has no end behind {size} bytes, or is not of IEEE 754: write it in ASCII")
        try:
            responses.append(of_dataset(header, where, (content[end : end + size], "<" if order == 1 else ">")))
        except (ValueError, IndexError) as error:
            raise ModelError(f"{where}: is damaged: {error}") from error
        content = content[: found.start()] + content[end + size + close.end() :]
    return content, responses


@dataclass(frozen=True, eq=False)
class _TestAxes:
    """Axes of dataset 2420: kind 0 Cartesian, 1 cylindrical; rows (3, 3) and origin (3,)."""

    kind: int
    rows: Floats
    origin: Floats

    def point(self, x: Floats) -> Floats:
        """A point of these coordinates, angles in degrees."""
        if self.kind:
            around = np.radians(x[1])
            x = np.array([x[0] * np.cos(around), x[0] * np.sin(around), x[2]])
        return np.asarray(x @ self.rows + self.origin)

    def axes(self, place: Floats) -> Floats:
        """(3, 3) rows: the directions of components at a place (3,)."""
        local = self.rows @ (place - self.origin)
        radius = float(np.hypot(local[0], local[1]))
        if not self.kind or not radius > 0.0:
            return self.rows
        c, s = local[:2] / radius
        own = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        return np.asarray(own @ self.rows)


def _systems(lines: list[str]) -> dict[int, _TestAxes]:
    """The coordinate systems of dataset 2420, of six lines each."""
    found = {}
    for k in range(2, len(lines) - 5, 6):
        number, kind = (int(each) for each in lines[k].split()[:2])
        rows = np.array([numbers_of_line(line, 25) for line in lines[k + 2 : k + 6]])
        if rows.shape != (4, 3) or kind not in (0, 1):
            raise ValueError(f"coordinate system {number} is no matrix of 4 x 3, or spherical, which is not read")
        found[number] = _TestAxes(kind, rows[:3], rows[3])
    return found


@dataclass
class _Universal:
    """The content of datasets of a universal file; length, force : units in one m and one N.

    nodes : place, and the coordinate systems of the place and of shapes, by number. shapes : frequency (Hz), damping
    ratio and the vector (3,) at each node.
    """

    path: Path
    responses: list[Response]
    nodes: dict[int, tuple[Floats, int, int]] = field(default_factory=dict)
    systems: dict[int, _TestAxes] = field(default_factory=dict)
    shapes: list[tuple[float, float, dict[int, Complexes]]] = field(default_factory=list)
    traces: list[tuple[str, ...]] = field(default_factory=list)
    title: str = ""
    length: float = 1.0
    force: float = 1.0

    def take(self, kind: str, lines: list[str], where: str) -> None:
        """Take a dataset of a kind; those of other kinds are passed over."""
        match kind:
            case "151":
                self.title = lines[0].strip()
            case "164":
                self.length, self.force = [*numbers_of_line(lines[1], 25), 1.0][:2]
            case "15":
                for line in filter(str.strip, lines):
                    place = np.array(numbers_of_line(line[40:], 13)[:3])
                    self.nodes[int(line[:10])] = place, int(line[10:20]), int(line[20:30])
            case "2420":
                self.systems |= _systems(lines)
            case "55":
                self.shapes.append(_shape(lines, where))
            case "58":
                self.responses.append(of_dataset(lines, where))
            case "82":
                numbers = [int(word) for line in lines[2:] for word in line.split()]
                traces = (tuple(map(str, trace)) for ends, trace in groupby(numbers, lambda n: n == 0) if not ends)
                self.traces.extend(traces)

    def _axes(self, node: int, number: int) -> _TestAxes:
        # without a dataset, 0 and 1 are the axes of the whole
        if number not in self.systems and number not in (0, 1):
            raise ModelError(f"{self.path}: node {node} has the coordinate system {number}, which no dataset 2420 has")
        return self.systems.get(number, _TestAxes(0, np.eye(3), np.zeros(3)))

    def data(self) -> TestData:
        """The modes in the order of their frequencies, at the directions in which anything moves."""
        if not (self.length > 0.0 and self.force > 0.0):
            raise ModelError(
                f"{self.path}: dataset 164 has {self.length:g} and {self.force:g} as factors, wanted ones above zero"
            )
        measured = sorted({node for _, _, vectors in self.shapes for node in vectors})
        unknown = [node for node in measured if node not in self.nodes]
        if unknown:
            raise ModelError(f"{self.path}: shapes are of the node {unknown[0]}, which dataset 15 does not have")
        at, axes = np.zeros((len(measured), 3)), np.zeros((len(measured), 3, 3))
        for k, node in enumerate(measured):
            place, of_place, of_shape = self.nodes[node]
            at[k] = self._axes(node, of_place).point(place)
            axes[k] = self._axes(node, of_shape).axes(at[k])
        shapes = sorted(self.shapes, key=lambda each: each[0])
        found = np.full((len(measured), 3, len(shapes)), np.nan, dtype=complex)
        for k, (_, _, vectors) in enumerate(shapes):
            for node, vector in vectors.items():
                found[measured.index(node), :, k] = vector
        values = found.reshape(3 * len(measured), len(shapes))
        # directions without any motion were not measured
        kept = np.flatnonzero(np.any(np.nan_to_num(values) != 0.0, axis=1))
        frequencies, damping = (np.array([each[i] for each in shapes]) for i in (0, 1))
        nothing = np.full(len(shapes), np.nan)
        return TestData(
            frequencies, damping, nothing, nothing, tuple(str(measured[k // 3]) for k in kept),
            at[kept // 3] / self.length, axes.reshape(-1, 3)[kept], values[kept], tuple(self.traces),
            tuple(in_si(each, self.length, self.force) for each in self.responses), self.title or self.path.stem,
        )  # fmt: skip


def _datasets(path: Path, text: str) -> Iterator[tuple[str, int, list[str]]]:
    """Kind, number of the first line and lines of each dataset, between lines with -1 alone."""
    lines, start = text.splitlines(), None
    for number, line in enumerate(lines, 1):
        if line.strip() != SEPARATOR:
            continue
        if start is None:
            start = number
            continue
        if number - start > 1:
            yield (lines[start].split() or [""])[0], start + 1, lines[start + 1 : number - 1]
        start = None
    if start is not None:
        raise ModelError(f"{path}: the dataset at line {start + 1} has no end, a line with -1")


# Of dataset 55: types of analysis, and of complex data.
NORMAL, COMPLEX_MODES, COMPLEX_DATA = 2, (3, 7), 5


def _shape(lines: Sequence[str], where: str) -> tuple[float, float, dict[int, Complexes]]:
    """Frequency (Hz), damping ratio, and the vector (3,) at each node, of dataset 55."""
    _, analysis, _, _, data, count = (int(word) for word in lines[5].split()[:6])
    reals = int(lines[6].split()[1])
    numbers = [x for line in lines[7 : 7 + -(-reals // 6)] for x in numbers_of_line(line, 13)]
    if analysis == NORMAL:
        frequency, damping = numbers[0], numbers[2]
    elif analysis in COMPLEX_MODES:
        pole = complex(numbers[0], numbers[1])
        frequency, damping = abs(pole) / (2.0 * np.pi), -pole.real / abs(pole)
    else:
        raise ModelError(f"{where}: is of the analysis {analysis}, wanted modes, 2, 3 or 7")
    per_node = count * (2 if data == COMPLEX_DATA else 1)
    rows = lines[7 + -(-reals // 6) :]
    step = 1 + -(-per_node // 6)
    found: dict[int, Complexes] = {}
    for at in range(0, len(rows) - step + 1, step):
        values = np.array([x for line in rows[at + 1 : at + step] for x in numbers_of_line(line, 13)])
        if len(values) != per_node:
            raise ValueError(f"node {rows[at].strip()} has {len(values)} numbers, wanted {per_node}")
        vector = values[0::2] + 1j * values[1::2] if data == COMPLEX_DATA else values.astype(complex)
        found[int(rows[at].split()[0])] = vector[:3]
    return frequency, damping, found
