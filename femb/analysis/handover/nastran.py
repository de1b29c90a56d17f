"""Matrices in files of NASTRAN and its relatives, by pyyeti: OP4, and DMIG punch files with grids and scalar points."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ModelError, ResultError
from femb.base.types import Floats

# Names in files, of at most eight letters.
NAMES = {"mass": "MCB", "stiffness": "KCB", "damping": "BCB"}
BOUNDARY, FIRST_MODE = 1, 1001  # grid of the boundary, and the scalar point of the first mode


def _pyyeti() -> Any:
    try:
        import pyyeti.nastran
    except ImportError as error:
        raise ModelError(
            "pip install 'femb[fe]': OP4 and DMIG files are written by pyyeti, which is not installed"
        ) from error
    return pyyeti.nastran


def write_op4(path: Path, matrices: Mapping[str, Floats]) -> Path:
    """Write matrices, by names as mass, to an OP4 file, binary, with all digits; its path. Raises ModelError."""
    op4 = _pyyeti().op4
    path.parent.mkdir(parents=True, exist_ok=True)
    op4.write(str(path), {NAMES[word]: matrix for word, matrix in matrices.items()}, sparse="dense")
    return path


def read_op4(path: str | Path) -> dict[str, Floats]:
    """Matrices by names as mass of a file of ``write_op4``. Raises ModelError, ResultError."""
    op4 = _pyyeti().op4
    try:
        found = op4.load(str(path), into="dct")
        return {word: np.asarray(found[name.lower()][0], dtype=float) for word, name in NAMES.items()}
    except (OSError, KeyError, ValueError) as error:
        raise ResultError(f"{path}: cannot be read as an OP4 file of reduced matrices ({error})") from error


def _points(count: int) -> Any:
    """Grid and component of each degree of freedom: six of the boundary, then scalar points."""
    import pandas

    ids = [(BOUNDARY, k + 1) for k in range(6)] + [(FIRST_MODE + k, 0) for k in range(count - 6)]
    return pandas.MultiIndex.from_tuples(ids, names=["id", "dof"])


def write_punch(path: Path, matrices: Mapping[str, Floats], dofs: tuple[str, ...]) -> Path:
    """Write matrices as DMIG entries with a comment for each degree of freedom; its path. Raises ModelError.

    Numbers have ten digits, the width of the format.
    """
    nastran, points = _pyyeti(), _points(len(dofs))
    import pandas

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for (grid, component), name in zip(points, dofs, strict=True):
            file.write(f"$ {grid} {component}: {name}\n")
        nastran.wtdmig(file, {NAMES[word]: pandas.DataFrame(m, points, points) for word, m in matrices.items()})
    return path


def read_punch(path: str | Path) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Matrices by names as mass, and the names of their rows, of a file of ``write_punch``.

    Raises ModelError, ResultError.
    """
    nastran = _pyyeti()
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        dofs = tuple(line.split(": ", 1)[1] for line in lines if line.startswith("$ "))
        points, found = _points(len(dofs)), nastran.rddmig(str(path))
        frames = {word: found[name.lower()] for word, name in NAMES.items()}
    except (OSError, KeyError, ValueError, IndexError) as error:
        raise ResultError(f"{path}: cannot be read as a punch file of reduced matrices ({error})") from error
    whole = {word: frame.reindex(index=points, columns=points, fill_value=0.0) for word, frame in frames.items()}
    return {word: np.asarray(frame, dtype=float) for word, frame in whole.items()}, dofs
