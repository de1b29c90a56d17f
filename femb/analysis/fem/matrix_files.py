"""Matrices of a finite element model in files of arrays: .npz, .h5 and MATLAB's .mat.

Names of the arrays: nodes (N, 3) m or (N, 4) with numbers first; mass and stiffness or M and K, dense or sparse. A
sparse matrix in .npz or .h5 is three arrays NAME_row, NAME_column, NAME_value. dofs (n, 2), node numbers and components
1 to 6, is needed if not all nodes have the same three or six. node_set_NAME are node numbers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from femb.analysis.fem.model import FeModel, as_csc
from femb.base.errors import ModelError, ResultError
from femb.base.types import Floats, Ints, Sparse

NAMES = {"mass": ("mass", "M"), "stiffness": ("stiffness", "K")}
SET = "node_set_"


def read_arrays(path: Path) -> dict[str, Any]:
    """Arrays of a .npz, .h5 or .mat by their names. Raises ResultError."""
    try:
        if path.suffix == ".npz":
            with np.load(path) as file:
                return dict(file)
        if path.suffix == ".h5" or _is_hdf5(path):
            return _hdf5(path)
        from scipy.io import loadmat

        return {name: value for name, value in loadmat(path).items() if not name.startswith("__")}
    except (OSError, ValueError, KeyError, NotImplementedError) as error:
        raise ResultError(f"{path}: cannot be read as a file of matrices ({error})") from error


def _is_hdf5(path: Path) -> bool:
    """MATLAB's files from version 7.3 on are HDF5."""
    import h5py

    return bool(h5py.is_hdf5(path))


def _hdf5(path: Path) -> dict[str, Any]:
    """Datasets, and sparse matrices of MATLAB, which are groups; a .mat holds the transposes."""
    import h5py
    from scipy.sparse import csc_array

    arrays: dict[str, Any] = {}
    with h5py.File(path) as file:
        matlab = path.suffix == ".mat"
        for name, item in file.items():
            if isinstance(item, h5py.Dataset):
                arrays[name] = item[()].T if matlab else item[()]
            elif "ir" in item:
                rows = int(item.attrs["MATLAB_sparse"])
                parts = (item["data"][()], item["ir"][()], item["jc"][()])
                arrays[name] = csc_array(parts, shape=(rows, len(parts[2]) - 1))
    return arrays


def model_of_arrays(arrays: Mapping[str, Any], nodes: Floats | None, numbers: Ints | None, source: str) -> FeModel:
    """A model of arrays by name. nodes, numbers : of a table beside, or None. Raises ModelError: what is missing."""
    matrices = {word: matrix(arrays, word, source) for word in NAMES}
    if "nodes" in arrays:
        table = np.asarray(arrays["nodes"], dtype=float)
        if table.ndim != 2 or table.shape[1] not in (3, 4):
            raise ModelError(f"{source}: nodes: got an array of {table.shape}, wanted (N, 3), or (N, 4) with numbers")
        nodes = table[:, -3:]
        numbers = table[:, 0].astype(np.int64) if table.shape[1] == 4 else np.arange(1, len(table) + 1)
    if nodes is None or numbers is None:
        raise ModelError(
            f"{source}: has no positions of nodes: give the table of nodes (number, x, y, z), or the array nodes"
        )
    row = {int(number): k for k, number in enumerate(numbers)}
    sets = {
        name.removeprefix(SET): np.array([row[int(each)] for each in np.ravel(value)])
        for name, value in arrays.items()
        if name.startswith(SET)
    }
    if "dofs" not in arrays:
        return FeModel.of(nodes, matrices["mass"], matrices["stiffness"], numbers=numbers, node_sets=sets)
    return with_dofs(nodes, numbers, np.asarray(arrays["dofs"]), matrices["mass"], matrices["stiffness"], source, sets)


def with_dofs(
    nodes: Floats,
    numbers: Ints,
    dofs: Ints,
    mass: Sparse,
    stiffness: Sparse,
    source: str,
    sets: Mapping[str, Ints] | None = None,
) -> FeModel:
    """A model of dofs (n, 2): node numbers and components 1 to 6. Raises ModelError."""
    row = {int(number): k for k, number in enumerate(numbers)}
    shapes = {mass.shape, stiffness.shape, (len(dofs), len(dofs))}
    if len(shapes) > 1:
        raise ModelError(
            f"{source}: got a mass of {mass.shape}, a stiffness of {stiffness.shape} and {len(dofs)} degrees of "
            "freedom, wanted equal sizes"
        )
    for node, component in dofs:
        if int(node) not in row or not 1 <= component <= 6:
            raise ModelError(
                f"{source}: got the degree of freedom {int(node)}.{int(component)}, wanted a node of the table and a "
                "component from 1 to 6"
            )
    if len(np.unique(dofs, axis=0)) < len(dofs):
        raise ModelError(f"{source}: a degree of freedom is listed twice")
    node_of = np.array([row[int(node)] for node in dofs[:, 0]])
    return FeModel(
        nodes, node_of, dofs[:, 1].astype(np.int64) - 1, as_csc(mass), as_csc(stiffness), numbers, sets or {}
    )


def matrix(arrays: Mapping[str, Any], word: str, source: str) -> Sparse:
    """The matrix "mass" or "stiffness" of arrays by name. Raises ModelError."""
    from scipy.sparse import coo_array

    for name in NAMES[word]:
        if name in arrays:
            return as_csc(arrays[name])
        if f"{name}_value" in arrays:
            row, column = (np.ravel(arrays[f"{name}_{part}"]).astype(np.int64) for part in ("row", "column"))
            size = int(max(row.max(), column.max())) + 1
            return as_csc(coo_array((np.ravel(arrays[f"{name}_value"]), (row, column)), shape=(size, size)))
    raise ModelError(
        f"{source}: has no {word}: wanted the array {' or '.join(NAMES[word])}; it has {', '.join(arrays)}"
    )
