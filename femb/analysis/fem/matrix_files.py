"""Matrices of a finite element model in files of arrays: .npz, .h5 and MATLAB's .mat.

Names of the arrays: nodes (N, 3) m or (N, 4) with numbers first; mass and stiffness or M and K, dense or sparse. A
sparse matrix in .npz or .h5 is three arrays NAME_row, NAME_column, NAME_value. dofs (n, 2), node numbers and components
1 to 6, is needed if not all nodes have the same three or six. node_set_NAME are node numbers. stress_LOAD are stress
stiffnesses, see ``femb.analysis.fem.model.GivenStress``.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from femb.analysis.fem.model import FeModel, GivenStress, as_csc
from femb.base.array_files import numbers_in
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints, Sparse

LARGEST = 2**53  # of a whole number among floats
MOST_ROWS = 50_000_000
NAMES = {"mass": ("mass", "M"), "stiffness": ("stiffness", "K")}
SET, STRESS = "node_set_", "stress_"


def model_of_arrays(arrays: Mapping[str, Any], nodes: Floats | None, numbers: Ints | None, source: str) -> FeModel:
    """A model of arrays by name. nodes, numbers : of a table beside, or None. Raises ModelError: what is missing."""
    matrices = {word: matrix(arrays, word, source) for word in NAMES}
    if "nodes" in arrays:
        table = numbers_in(source, "nodes", arrays["nodes"])
        if table.ndim != 2 or table.shape[1] not in (3, 4):
            raise ModelError(f"{source}: nodes: got an array of {table.shape}, wanted (N, 3), or (N, 4) with numbers")
        nodes = table[:, -3:]
        numbers = _whole(source, "nodes", table[:, 0]) if table.shape[1] == 4 else np.arange(1, len(table) + 1)
    if nodes is None or numbers is None:
        raise ModelError(
            f"{source}: has no positions of nodes: give the table of nodes (number, x, y, z), or the array nodes"
        )
    row = rows_of(numbers, source)
    sets: dict[str, Ints] = {}
    for name, value in arrays.items():
        if name.startswith(SET):
            members = _whole(source, name, np.ravel(numbers_in(source, name, value)))
            lacking = [int(each) for each in members if int(each) not in row]
            if lacking:
                raise ModelError(f"{source}: {name}: node {lacking[0]} is not among the nodes")
            sets[name.removeprefix(SET)] = np.array([row[int(each)] for each in members], dtype=np.int64)
    if "dofs" not in arrays:
        return FeModel.of(nodes, matrices["mass"], matrices["stiffness"], numbers=numbers, node_sets=sets)
    dofs = _whole(source, "dofs", numbers_in(source, "dofs", arrays["dofs"]))
    return with_dofs(nodes, numbers, dofs, matrices["mass"], matrices["stiffness"], source, sets)


def rows_of(numbers: Ints, source: str) -> dict[int, int]:
    """Rows of nodes by their numbers. Raises ModelError: a number of two nodes."""
    row = {int(number): k for k, number in enumerate(numbers)}
    if len(row) < len(numbers):
        values, counts = np.unique(numbers, return_counts=True)
        raise ModelError(f"{source}: the node number {int(values[np.argmax(counts)])} is given twice")
    return row


def _whole(source: str, name: str, values: Floats) -> Ints:
    if values.size and (np.any(values != np.round(values)) or np.abs(values).max() > LARGEST):
        raise ModelError(f"{source}: {name}: wanted whole numbers")
    return values.astype(np.int64)


def with_stress(model: FeModel, arrays: Mapping[str, Any], source: str) -> FeModel:
    """The model with the stress stiffnesses among arrays by name, where there are some. Raises ModelError."""
    names = {re.sub("_(row|column|value)$", "", name) for name in arrays if name.startswith(STRESS)}
    if not names:
        return model
    found = {name.removeprefix(STRESS): _array(arrays, name, source) for name in sorted(names)}
    for name, each in found.items():
        if each is None or each.shape != (model.size, model.size) or not np.isfinite(each.data).all():
            got = "a part of it" if each is None else f"a matrix of {each.shape}"
            raise ModelError(
                f"{source}: {STRESS}{name}: got {got}, wanted finite numbers ({model.size}, {model.size}), or _row, "
                "_column and _value"
            )
    return replace(model, stress=GivenStress({name: each for name, each in found.items() if each is not None}))


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
    row = rows_of(numbers, source)
    if dofs.ndim != 2 or dofs.shape[1] != 2:
        raise ModelError(f"{source}: dofs: got an array of {dofs.shape}, wanted (n, 2): node number and component")
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
    """The matrix "mass" or "stiffness" of arrays by name. Raises ModelError, ResultError."""
    for name in NAMES[word]:
        found = _array(arrays, name, source)
        if found is not None:
            return found
    raise ModelError(
        f"{source}: has no {word}: wanted the array {' or '.join(NAMES[word])}; it has {', '.join(arrays) or 'nothing'}"
    )


def _array(arrays: Mapping[str, Any], name: str, source: str) -> Sparse | None:
    """A square matrix, dense or sparse, or by rows, columns and values; None if there is none of that name."""
    from scipy.sparse import coo_array, csc_array, issparse

    if name in arrays:
        value = arrays[name]
        if issparse(value):
            found = csc_array(value)
            found.check_format(full_check=True)
            numbers_in(source, name, found.data)
        else:
            found = numbers_in(source, name, value)
        if found.ndim != 2 or found.shape[0] != found.shape[1] or not found.shape[0]:
            raise ModelError(f"{source}: {name}: got an array of shape {found.shape}, wanted a square matrix")
        return as_csc(found)
    if f"{name}_value" not in arrays:
        return None
    parts = {}
    for part in ("row", "column", "value"):
        if f"{name}_{part}" not in arrays:
            raise ModelError(f"{source}: has {name}_value, but no {name}_{part}")
        parts[part] = np.ravel(numbers_in(source, f"{name}_{part}", arrays[f"{name}_{part}"]))
    row, column = (_whole(source, f"{name}_{part}", parts[part]) for part in ("row", "column"))
    if len({len(each) for each in parts.values()}) > 1 or not len(row) or min(row.min(), column.min()) < 0:
        raise ModelError(
            f"{source}: {name}_row, _column and _value: got {', '.join(str(len(each)) for each in parts.values())} "
            "entries, wanted equally many, and rows and columns counted from 0"
        )
    size = int(max(row.max(), column.max())) + 1
    if size > MOST_ROWS:
        raise ModelError(f"{source}: {name}: row or column {size - 1} is too large: at most {MOST_ROWS}")
    return as_csc(coo_array((parts["value"], (row, column)), shape=(size, size)))
