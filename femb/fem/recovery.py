"""Displacements of grids, forces and stresses of elements of a deck, as rows of recovery of a body and punch files.

Source: MSC Nastran Quick Reference Guide, item codes of element forces and stresses.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Bools, Floats, Ints, Sparse

COMPONENTS = ("T1", "T2", "T3", "R1", "R2", "R3")
BAR = ("BM1A", "BM2A", "BM1B", "BM2B", "TS1", "TS2", "AF", "TRQ")
SHELL = ("FX", "FY", "FXY", "MX", "MY", "MXY", "QX", "QY")
SOLID = ("SX", "SY", "SZ", "SXY", "SYZ", "SZX")
FORCES = {*BAR, *SHELL}
# Types of elements in punch files, with the quantities of their lines.
PUNCHED = {"bar": (34, "BAR"), "rod": (1, "ROD"), "quad": (33, "QUAD4"), "tria": (74, "TRIA3"), "tetra": (39, "TETRA"),
           "hexa": (67, "HEXA"), "penta": (68, "PENTA"), "pyram": (255, "PYRAM")}  # fmt: skip
FORM = "wanted displacements=GRIDS, as with an interface, forces=ELEMENTS or stresses=ELEMENTS, as forces=21,22"
# Word, names, rows by freedoms of an ``expand``, this, and rows by forces held, of solids by temperatures of nodes.
ElementRows = tuple[str, tuple[str, ...], Floats, Ints, Sparse, Floats]


@dataclass(frozen=True, eq=False)
class Recoverable:
    """Rows of a deck: numbers (N,) and places (N, 3) m of its grids, those that rigid elements carry too, their sets,
    and ``expand`` (6 N, n), six freedoms of each; axes (3, 3), columns, of displacements of grids by number; by the
    number of an element its word, the names of its forces, and their rows (q, k) with the freedoms (k,) of an
    ``expand`` of its own. stresses : names and rows by its forces of the stresses of an element by its number."""

    numbers: Ints
    nodes: Floats
    node_sets: Mapping[str, Ints]
    expand: Sparse
    axes: Mapping[int, Floats]
    forces: Mapping[int, tuple[str, tuple[str, ...], Floats, Ints, Sparse]]
    stresses: Callable[[int], tuple[tuple[str, ...], Floats]] | None = None
    solids: Callable[[int], ElementRows | None] | None = None

    def element(self, kind: str, number: int) -> ElementRows | None:
        """Forces or stresses of an element, the last rows by what is held of it. Raises ModelError: no stresses."""
        if kind == "stresses" and self.solids is not None and (found := self.solids(number)) is not None:
            return found
        if number not in self.forces:
            return None
        what, names, by, places, expand = self.forces[number]
        S = np.eye(len(names))
        if kind == "stresses" and self.stresses is not None:
            names, S = self.stresses(number)
        return what, names, S @ by, places, expand, S

    @property
    def known(self) -> Bools:
        """(N,) whether a grid has displacements."""
        return np.asarray(abs(self.expand).sum(axis=1)[::6] > 0.0)


def recovery_rows(
    given: Sequence[str],
    of: Recoverable | None,
    grids: Sequence[Sequence[int]],
    dofs: Ints,
    shapes: Floats,
    held: Sequence[Mapping[int, Floats]] = (),
) -> tuple[tuple[str, ...], Floats, Floats]:
    """Names, rows (r, s) by shapes (n, s), and what these are under each load (l, r) where nothing moves. given :
    texts; grids : rows of the nodes of each, or of the grids of a deck; dofs (N, 7), the numbers of nodes in its last
    column; held : forces of elements by their numbers, of each load. Raises ModelError."""
    names, rows, still = list[str](), [np.zeros((0, shapes.shape[1]))], [np.zeros((len(held), 0))]
    for text, chosen in zip(given, grids, strict=True):
        kind, _, rest = (each.strip() for each in text.partition("="))
        if kind == "displacements":
            for row in chosen:
                if of is None:
                    own = np.where((dofs[row, :6] >= 0)[:, None], shapes[dofs[row, :6]], 0.0)
                    number, axes = int(dofs[row, 6]), np.eye(3)
                else:
                    own, number = of.expand[6 * row : 6 * row + 6] @ shapes, int(of.numbers[row])
                    axes = of.axes.get(number, np.eye(3))
                rows.append(np.asarray(np.kron(np.eye(2), axes.T) @ own, dtype=float))
                names += [f"grid {number} {c}" for c in COMPONENTS]
                still.append(np.zeros((len(held), len(COMPONENTS))))
            continue
        inner = kind in ("forces", "stresses")
        for word in rest.split(",") if inner and of is not None else [""]:
            number = int(word) if word.strip().isdigit() else -1
            try:
                element = of.element(kind, number) if of is not None and inner else None
            except ModelError as error:
                raise ModelError.at(("recover",), f"got {text!r}: {error}") from None
            if element is None:
                said = "" if of is None or not inner else f": element {word.strip()} has no {kind} here"
                raise ModelError.at(("recover",), f"got {text!r}{said}; {FORM}")
            what, own_names, by, places, expand, S = element
            none = np.zeros(S.shape[1])
            unmoved = np.array([each.get(number, none)[-len(none) :] for each in held]).reshape(-1, len(none)) @ S.T
            if own_names[0].startswith("P1") and unmoved.any():
                raise ModelError.at(("recover",), f"got {text!r}: plies under temperatures are not known")
            rows.append(by @ (expand[places] @ shapes))
            names += [f"{what} {number} {name}" for name in own_names]
            still.append(unmoved)
    return tuple(names), np.vstack(rows), np.hstack(still)


def write_punch(
    path: str | Path,
    names: Sequence[str],
    values: Floats,
    times: Floats | None = None,
    frequencies: Floats | None = None,
) -> Path:
    """Write displacements, forces and stresses that a body recovered to a punch file of NASTRAN, in SI units; its path.

    Parameters:
        path: of the file, .pch.
        names: of the rows of recovery, ``body.recovery_names``.
        values: (T, r), as ``results.bodies["wing"].recovered``, or (r,).
        times: (T,) s; without them one static subcase.
        frequencies: (T,) Hz, of values that are modes.

    Raises:
        ModelError: names that are no displacements, forces and stresses, or of plies, or of another number than values.
    """
    values = np.atleast_2d(np.asarray(values, dtype=float))
    owners: dict[tuple[str, str], dict[int, list[int]]] = {}
    for k, name in enumerate(names):
        found = re.fullmatch(rf"(grid|{'|'.join(PUNCHED)}) (\d+) (\S+)", name)
        if found is None or len(names) != values.shape[1] or re.match(r"P\d+\.", found[3]):
            raise ModelError(f"{path}: got the row {name!r} of {values.shape[1]}, {FORM}")
        what = (
            ("EIGENVECTOR" if frequencies is not None else "DISPLACEMENTS")
            if found[1] == "grid"
            else f"ELEMENT {'FORCES' if found[3] in FORCES else 'STRESSES'}"
        )
        owners.setdefault((what, found[1]), {}).setdefault(int(found[2]), []).append(k)
    lines = ["$TITLE   = femb", "$SUBTITLE=", "$LABEL   ="]
    for (what, kind), elements in owners.items():
        heads = [f"${what}", "$REAL OUTPUT", "$SUBCASE ID =           1"]
        heads += [] if kind == "grid" else ["$ELEMENT TYPE = {:11d}  {}".format(*PUNCHED[kind])]
        for k, row in enumerate(values):
            lines += [*heads, *([] if times is None else [f"$TIME = {times[k]:14.7E}"])]
            if frequencies is not None:
                lines.append(f"$EIGENVALUE = {(2.0 * np.pi * frequencies[k]) ** 2:14.7E}  MODE = {k + 1:5d}")
            for number, places in elements.items():
                word, own = "      G " if kind == "grid" else "        ", row[places]
                if what == "ELEMENT STRESSES":
                    own = _punched_stresses(kind, [names[p] for p in places], own)
                fields = [f"{value:18.6E}" if isinstance(value, float) else f"{value:>18}" for value in own]
                lines.append(f"{number:10d}{word}" + "".join(fields[:3]))
                lines += ["-CONT-" + " " * 12 + "".join(fields[i : i + 3]) for i in range(3, len(fields), 3)]
    file = Path(path)
    file.write_text("\n".join(f"{line:72}{n:8d}" for n, line in enumerate(lines, 1)) + "\n")
    return file


def _punched_stresses(kind: str, names: list[str], values: Floats) -> list[float | int | str]:
    """The items of a line of stresses: with largest and least ones, margins of zero, and of shells fibres, angles in
    degrees, principal and von Mises stresses."""
    if kind not in ("rod", "bar", "quad", "tria"):
        return _punched_solid(names, values)
    if kind == "rod":
        return [float(values[0]), 0.0, float(values[1]), 0.0]
    if kind == "bar":
        axial, ends = values[4], (values[:4], values[5:])
        first, second = ([*end, axial + end.max(), axial + end.min(), 0.0] for end in ends)
        return [float(each) for each in (*first[:4], axial, *first[4:], *second)]
    items = list[float | int | str]()
    for k in (0, 3):
        x, y, xy = values[k : k + 3]
        mean, radius = 0.5 * (x + y), np.hypot(0.5 * (x - y), xy)
        angle = np.degrees(0.5 * np.arctan2(2.0 * xy, x - y))
        mises = np.sqrt(x * x + y * y - x * y + 3.0 * xy * xy)
        items += [
            float(names[k].partition("@")[2]),
            *map(float, (x, y, xy, angle, mean + radius, mean - radius, mises)),
        ]
    return items


def _punched_solid(names: list[str], values: Floats) -> list[float | int | str]:
    """Coordinate system and number of corners; of the middle and each corner its grid and three times a normal stress,
    a shear, a principal stress and its directions, beside the first pressure and von Mises stress.

    The principal stresses are the largest, the least and the other, as NASTRAN's.
    """
    places = [name.partition("@")[2].partition("/") for name in names[::6]]
    items: list[float | int | str] = [int(places[0][2] or 0), "GRID", len(places) - 1]
    for (grid, _, _), (x, y, z, xy, yz, zx) in zip(places, values.reshape(-1, 6), strict=True):
        sizes, axes = np.linalg.eigh([[x, xy, zx], [xy, y, yz], [zx, yz, z]])
        sizes, axes = sizes[[2, 0, 1]], axes[:, [2, 0, 1]]
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(3)])
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
        mises = np.sqrt(0.5 * sum((a - b) ** 2 for a, b in zip(sizes, sizes[[1, 2, 0]], strict=True)))
        rest: tuple[list[float], ...] = [-(x + y + z) / 3.0, mises], [], []
        each = zip((x, y, z), (xy, yz, zx), sizes, axes, rest, strict=True)
        items += [int(grid), *(float(v) for a, b, c, d, e in each for v in (a, b, c, *d, *e))]
    return items
