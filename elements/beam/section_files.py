"""Matrices of sections from the files of other programs: VABS, BECAS, BeamDyn, and tables of stations.

Matrices are 6 x 6; those of BECAS and BeamDyn have z along the beam, and are brought to the order of ``Section``, which
is that of VABS. Twelve rows without words are of BECAS, or in the order of VABS where their mass says so.
Source: docs/theory/exact_beam.md, section 3.
"""

import csv
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femb.base.array_files import content_of
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import order_problem
from femb.elements.beam.section_matrices import mass_problem, stiffness_problem

# Of (x, y, z, Mx, My, Mz) with z along the beam, the rows that are ours: 1 = z, 2 = x, 3 = y.
FROM_Z_ALONG = [2, 0, 1, 5, 3, 4]
POLAR = 1e-3  # difference of a polar moment from the sum of the others, of digits written
FORMATS = ("vabs", "becas", "beamdyn", "csv")


@dataclass(frozen=True, eq=False)
class SectionMatrices:
    """Stations (k,) of a file; stiffness and mass (k, 6, 6) there, and damping coefficients (k, 6) s.

    relative : whether stations are parts of the length of the beam, not lengths in m.
    """

    stations: Floats
    stiffness: Floats
    mass: Floats
    damping: Floats
    relative: bool = False


def read_matrices(
    path: str | os.PathLike[str], format: str | None = None, length: float | None = None
) -> SectionMatrices:
    """The matrices in a file; format, length : as in ``femb.read_sections``, without a length relative stations.

    Raises ModelError: a file that cannot be read or is not of the format, or stations out of order.
    """
    file = Path(path)
    try:
        text = content_of(file).decode("utf-8", errors="replace").replace("\r\n", "\n")
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    found = format or _format_of(file, text)
    if found not in FORMATS:
        raise ModelError(f"{path}: got the format {found!r}, wanted one of {', '.join(map(repr, FORMATS))}")
    relative = found == "beamdyn"
    if found == "csv":
        stations, matrices, damping = _table(file, text)
    elif found == "beamdyn":
        stations, matrices, damping = _beamdyn(file, text)
        if length is not None:
            stations, relative = stations * length, False
    else:
        stations, damping = np.zeros(1), np.zeros((1, 6))
        matrices = [_vabs(file, text) if found == "vabs" else _becas(file, text, format)]
    if problem := order_problem(stations, "of the length" if relative else "m"):
        raise ModelError(f"{path}: stations {problem}")
    stiffness, mass = (np.array([_symmetric(pair[k]) for pair in matrices]) for k in range(2))
    return SectionMatrices(stations, stiffness, mass, damping, relative)


def one_section(path: str | os.PathLike[str]) -> tuple[Floats, Floats, Floats]:
    """Stiffness and mass (6, 6) and damping (6,) s of a file of one section. Raises ModelError."""
    found = read_matrices(path)
    if len(found.stations) > 1:
        raise ModelError(
            f"{path}: has {len(found.stations)} stations, wanted one section: give the file as 'sections' of a beam"
        )
    matrices = (
        ("stiffness_matrix", found.stiffness[0], stiffness_problem),
        ("mass_matrix", found.mass[0], mass_problem),
    )
    for name, matrix, problem_of in matrices:
        if problem := problem_of(matrix):
            raise ModelError(f"{path}: {name}: {problem}")
    return found.stiffness[0], found.mass[0], found.damping[0]


def _format_of(file: Path, text: str) -> str:
    if file.suffix.lower() == ".csv":
        return "csv"
    if file.suffix == ".K" or "Timoshenko Stiffness Matrix" in text:
        return "vabs"
    return "beamdyn" if "BEAMDYN" in text.upper() else "becas"


def _symmetric(matrix: Floats) -> Floats:
    """Without the differences of the digits written."""
    if np.allclose(matrix, matrix.T, rtol=1e-4, atol=1e-6 * float(np.max(np.abs(matrix)))):
        return 0.5 * (matrix + matrix.T)
    return matrix


def _rows(lines: list[str]) -> list[list[float]]:
    """The lines that consist of six numbers."""
    rows = []
    for line in lines:
        try:
            values = [float(re.sub("[dD]", "e", word)) for word in line.replace(",", " ").split()]
        except ValueError:
            continue
        if len(values) == 6:
            rows.append(values)
    return rows


def _block(file: Path, text: str, title: str) -> Floats:
    """The 6 x 6 matrix below a title."""
    _, found, rest = text.partition(title)
    rows = _rows(rest.splitlines()[:20])[:6]
    if not found or len(rows) < 6:
        raise ModelError(f"{file}: there is no {title!r} with six rows of six numbers: is it an output file of VABS?")
    return np.array(rows)


def _vabs(file: Path, text: str) -> tuple[Floats, Floats]:
    title = next((line.strip() for line in text.splitlines() if "6X6 Mass Matrix" in line), "6X6 Mass Matrix")
    return _block(file, text, "Timoshenko Stiffness Matrix"), _block(file, text, title)


def _becas(file: Path, text: str, format: str | None = None) -> tuple[Floats, Floats]:
    """Matrices of twelve rows: with z along the section, as BECAS writes them, or x, the order of VABS.

    The mass tells which: the moment of inertia about the axis along is the sum of the two others.
    Raises ModelError: the format "becas" of matrices in the order of VABS.
    """
    rows = _rows(text.splitlines())
    if len(rows) != 12:
        raise ModelError(
            f"{file}: got {len(rows)} rows of six numbers, wanted 12: a stiffness and a mass matrix of BECAS"
        )
    stiffness, mass = np.array(rows).reshape(2, 6, 6)
    moments = np.diag(mass)[3:]
    along_z, along_x = (abs(2.0 * moments[k] - moments.sum()) <= POLAR * moments.max() for k in (2, 0))
    if along_x and not along_z:
        if format == "becas":
            raise ModelError(
                f"{file}: its mass matrix has J1 = J2 + J3 ({', '.join(f'{value:.6g}' for value in moments)} kg m): x "
                "is along the section, the order of VABS, not z as BECAS has it; leave the format out"
            )
        return stiffness, mass
    return _turned(stiffness), _turned(mass)


def _turned(matrix: Floats) -> Floats:
    return matrix[np.ix_(FROM_Z_ALONG, FROM_Z_ALONG)]


def _switch(head: str, word: str) -> list[int]:
    """The whole number before a word, where there is one."""
    return [int(number) for number in re.findall(rf"^\s*(\d+)\s+{word}\b", head, re.MULTILINE | re.IGNORECASE)]


def _beamdyn(file: Path, text: str) -> tuple[Floats, list[tuple[Floats, Floats]], Floats]:
    # the title is in capitals or not, by the version of BeamDyn
    head, *bodies = re.split("distributed properties", text, maxsplit=1, flags=re.IGNORECASE)
    body = "".join(bodies)
    lines = [line for line in body.splitlines()[1:] if line.strip()]
    counts, damped = _switch(head, "station_total"), _switch(head, "damp_type")
    if not counts or len(lines) < 13 * counts[0]:
        raise ModelError(f"{file}: wanted station_total, and for each station its place and 12 rows of six numbers")
    mu = _rows(head.splitlines())
    damping = np.zeros(6)
    if damped and damped[0] not in (0, 1):
        raise ModelError(f"{file}: damp_type {damped[0]} is not of the sections: make it 0, and give [modal_damping]")
    if damped and damped[0] and mu:
        damping = np.array(mu[-1])[FROM_Z_ALONG]
    stations, matrices = [], []
    for k in range(counts[0]):
        block = lines[13 * k : 13 * k + 13]
        rows, place = np.array(_rows(block[1:])), re.fullmatch(r"\s*([-+.\deE]+)\s*", block[0])
        if rows.shape != (12, 6) or not place:
            raise ModelError(f"{file}: station {k + 1}: wanted its place, then 12 rows of six numbers")
        stations.append(float(place[1]))
        matrices.append((_turned(rows[:6]), _turned(rows[6:])))
    return np.array(stations), matrices, np.tile(damping, (len(stations), 1))


def _table(file: Path, text: str) -> tuple[Floats, list[tuple[Floats, Floats]], Floats]:
    lines = csv.reader(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    columns = [column.strip() for column in next(lines, [])]
    unknown = [column for column in columns if not re.fullmatch("station|damping[1-6]?|[KM][1-6][1-6]", column)]
    twice = [column for column in columns if columns.count(column) > 1]
    if {"station", "K11", "M11"} - set(columns) or unknown or twice:
        wrong = f"columns {', '.join(columns) or 'none'}"
        wrong = (
            f"unknown column {unknown[0]!r}" if unknown else f"column {twice[0]!r} is given twice" if twice else wrong
        )
        raise ModelError(
            f"{file}: {wrong}; wanted station, K11 to K66, M11 to M66 and, if any, damping, or damping1 to damping6"
        )
    stations, matrices, dampings = [], [], []
    for k, row in enumerate(lines):
        try:
            values = {column: float(value) for column, value in zip(columns, row, strict=True)}
        except ValueError as error:
            raise ModelError(f"{file}: row {k + 1}: wanted a number in each of {len(columns)} columns") from error
        K, M = np.zeros((2, 6, 6))
        for i, j in np.ndindex(6, 6):
            for word, matrix in (("K", K), ("M", M)):
                other = values.get(f"{word}{j + 1}{i + 1}", 0.0)
                matrix[i, j] = values.get(f"{word}{i + 1}{j + 1}", other)
        stations.append(values["station"])
        dampings.append([values.get(f"damping{i + 1}", values.get("damping", 0.0)) for i in range(6)])
        matrices.append((K, M))
    if not stations:
        raise ModelError(f"{file}: there are no rows below the columns, wanted one for each station")
    return np.array(stations), matrices, np.array(dampings)
