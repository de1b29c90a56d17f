"""Matrices that CalculiX stores: NAME.sti, NAME.mas and NAME.dof of *FREQUENCY, SOLVER=MATRIXSTORAGE.

The matrices are lines row, column, value of one triangle; the .dof file has a line node.component for each row. Node
positions and sets come from the input file. Source: G. Dhondt, CalculiX CrunchiX user's manual, *FREQUENCY.
"""

import warnings
from pathlib import Path

import numpy as np

from femb.analysis.fem.matrix_files import with_dofs
from femb.analysis.fem.model import FeModel
from femb.analysis.fem.node_tables import read_nodes
from femb.base.errors import ModelError, ResultError
from femb.base.types import Sparse


def read_stored(path: str | Path, nodes: str | Path | None = None) -> FeModel:
    """The model of one of the three files, which are beside each other.

    nodes : the input file, by default NAME.inp. Raises ModelError, ResultError.
    """
    stem = Path(path).with_suffix("")
    files = {word: stem.with_suffix(f".{word}") for word in ("sti", "mas", "dof")}
    for file in files.values():
        if not file.is_file():
            raise ResultError(f"{file}: there is no such file; CalculiX writes .sti, .mas and .dof together")
    lines = files["dof"].read_text(encoding="utf-8", errors="replace").split()
    try:
        dofs = np.array([line.split(".")[:2] for line in lines], dtype=np.int64).reshape(-1, 2)
    except (ValueError, OverflowError) as error:
        raise ModelError(f"{files['dof']}: wanted lines node.component ({error})") from error
    if not len(dofs):
        raise ModelError(f"{files['dof']}: is empty, wanted lines node.component")
    stiffness, mass = (_triangle(files[word], len(dofs)) for word in ("sti", "mas"))
    numbers, places, sets = read_nodes(nodes or stem.with_suffix(".inp"))
    used = np.isin(numbers, dofs[:, 0])
    row = np.cumsum(used) - 1
    kept = {name: row[rows[used[rows]]] for name, rows in sets.items()}
    return with_dofs(places[used], numbers[used], dofs, mass, stiffness, str(stem), kept)


def _triangle(path: Path, size: int) -> Sparse:
    """A symmetric matrix of lines row, column, value of one triangle. Raises ModelError."""
    from scipy.sparse import coo_array, csc_array

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a file without numbers, which is refused below
            table = np.loadtxt(path, ndmin=2, encoding="latin-1")
    except ValueError as error:
        raise ModelError(f"{path}: wanted lines row, column, value ({str(error).splitlines()[0]})") from error
    if table.shape[1] != 3 or not len(table) or not np.isfinite(table).all() or np.abs(table[:, :2]).max() > 2**53:
        raise ModelError(f"{path}: wanted lines row, column, value")
    row, column = table[:, 0].astype(np.int64) - 1, table[:, 1].astype(np.int64) - 1
    if max(row.max(), column.max()) >= size or min(row.min(), column.min()) < 0:
        raise ModelError(f"{path}: got row {max(row.max(), column.max()) + 1}, the .dof file has {size} rows")
    off = row != column
    entries = np.concatenate([table[:, 2], table[off, 2]])
    places = np.concatenate([row, column[off]]), np.concatenate([column, row[off]])
    return csc_array(coo_array((entries, places), shape=(size, size)))
