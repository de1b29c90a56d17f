"""Matrices of a finite element model in files of arrays: .npz, .h5 and MATLAB's .mat.

Names of the arrays: nodes (N, 3) m or (N, 4) with numbers first; mass and stiffness or M and K, dense or sparse. A
sparse matrix in .npz or .h5 is three arrays NAME_row, NAME_column, NAME_value. dofs (n, 2), node numbers and components
1 to 6, is needed if not all nodes have the same three or six. node_set_NAME are node numbers. stress_LOAD are stress
stiffnesses, see ``femb.fem.model.GivenStress``.
"""

import contextlib
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.array_files import check_file, numbers_in, reading_foreign
from femb.base.bulk_data import located, pyyeti_nastran
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints, Sparse
from femb.fem.input_deck import input_nodes
from femb.fem.model import FeModel, GivenStress, as_csc

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


# Matrices of NASTRAN and its relatives, through pyyeti: OP4 files, DMIG punch files, and grids of bulk data.

# Names of matrices in files, in the order in which they are looked for.
MASS = ("mgg", "mff", "maa", "maax", "mxx", "mcb", "mass", "m")
STIFFNESS = ("kgg", "kff", "kaa", "kaax", "kxx", "kcb", "stiff", "stiffness", "k")

SAME_AXES = 1e-12  # difference of direction cosines


def read_output_matrices(path: str | Path, mass: str = "", stiffness: str = "") -> tuple[Sparse, Sparse]:
    """Mass and stiffness of an OP4 or OP2 file; names are looked for if none are given. Raises ModelError,
    ResultError."""
    nastran = pyyeti_nastran()
    if Path(path).suffix.lower() == ".op2":
        with reading_foreign(path, "an OP2 file"):
            found = {name.lower(): matrix for name, matrix in nastran.op2.rdmats(str(path)).items()}
    else:
        with reading_foreign(path, "an OP4 file"):
            found = {name.lower(): entry[0] for name, entry in nastran.op4.load(str(path), into="dct").items()}
    return tuple(
        as_csc(_named(found, word, given, known, path))
        for word, given, known in (("mass", mass, MASS), ("stiffness", stiffness, STIFFNESS))
    )


def _named(found: dict[str, Any], word: str, given: str, known: tuple[str, ...], path: str | Path) -> Any:
    for name in (given.lower(),) if given else known:
        if name in found:
            return found[name]
    wanted = given or ", ".join(known).upper()
    raise ModelError(f"{path}: has no {word}: wanted {wanted}, it has {', '.join(found).upper() or 'no matrices'}")


def _read_punch(path: str | Path, mass: str, stiffness: str) -> tuple[list[Floats], Ints]:
    """Mass and stiffness of DMIG, and the number and component (n, 2) of each row. Raises ModelError, ResultError."""
    nastran = pyyeti_nastran()
    with reading_foreign(path, "a punch file of DMIG"):
        found = {name.lower(): frame for name, frame in nastran.bulk.rddmig(str(path)).items()}
    M, K = _named(found, "mass", mass, MASS, path), _named(found, "stiffness", stiffness, STIFFNESS, path)
    with reading_foreign(path, "a punch file of DMIG"):
        points = K.index.union(K.columns).union(M.index).union(M.columns)
        parts = [frame.reindex(index=points, columns=points, fill_value=0.0).to_numpy(dtype=float) for frame in (M, K)]
        return parts, np.array(points.to_list(), dtype=np.int64).reshape(-1, 2)


def read_punch_superelement(
    path: str | Path, grids: Mapping[str, int], mass: str = "", stiffness: str = ""
) -> tuple[Sparse, Sparse]:
    """Mass and stiffness of an external superelement in DMIG, as EXTSEOUT(DMIGPCH) writes: six rows for each of the
    grids by the names of interfaces, in their order, then those of the other points, which are modes.

    Raises ModelError: a grid without six rows; ResultError.
    """
    parts, dofs = _read_punch(path, mass, stiffness)
    row = {(int(point), int(component)): k for k, (point, component) in enumerate(dofs)}
    order: list[int] = []
    for name, grid in grids.items():
        own = [row.get((grid, component), -1) for component in range(1, 7)]
        if min(own) < 0:
            raise ModelError.at(("interfaces", name), f"grid {grid} has no six rows in {path}: keep all its components")
        order += own
    order += [k for k in range(len(dofs)) if k not in set(order)]
    return as_csc(parts[0][np.ix_(order, order)]), as_csc(parts[1][np.ix_(order, order)])


def read_punch_model(path: str | Path, numbers: Ints, nodes: Floats, mass: str = "", stiffness: str = "") -> FeModel:
    """The model of DMIG matrices, whose entries name grids and components. Raises ModelError, ResultError."""
    parts, dofs = _read_punch(path, mass, stiffness)
    scalar = np.flatnonzero(dofs[:, 1] == 0)
    if len(scalar):
        raise ModelError(
            f"{path}: point {dofs[scalar[0], 0]} is a scalar point: the matrices are reduced already; give their "
            "interfaces as grids (--craig-bampton --interfaces root=3, reduced_craig_bampton)"
        )
    used = np.isin(numbers, dofs[:, 0])
    return with_dofs(nodes[used], numbers[used], dofs, as_csc(parts[0]), as_csc(parts[1]), str(path))


def along_basic_axes(model: FeModel, frames: Mapping[int, tuple[Floats, Floats]]) -> FeModel:
    """The model with displacements along basic axes, of matrices along the displacement axes of each grid.

    frames : of ``femb.base.bulk_data.located``. Raises ModelError: a turned grid without all three of its components.
    """
    from scipy.sparse import coo_array, eye_array

    rows, columns, values = [], [], []
    for dofs, number in zip(model.dofs, model.numbers, strict=True):
        axes = frames[int(number)][1]
        for own in (dofs[:3], dofs[3:]):
            if np.all(own < 0) or np.abs(axes - np.eye(3)).max() < SAME_AXES:
                continue
            if np.any(own < 0):
                raise ModelError(
                    f"grid {number}: has displacement axes of its own, but not all three components: keep all three, "
                    "or give its displacements in basic coordinates"
                )
            rows.append(np.repeat(own, 3))
            columns.append(np.tile(own, 3))
            values.append((axes - np.eye(3)).ravel())
    if not rows:
        return model
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    T = as_csc(eye_array(model.size) + coo_array(entries, shape=(model.size, model.size)))
    return replace(model, mass=as_csc(T @ model.mass @ T.T), stiffness=as_csc(T @ model.stiffness @ T.T))


# Tables of nodes beside matrices: numbers, positions and node sets.

# Suffixes of tables that are not bulk data of NASTRAN.
TABLES = (".inp", ".csv", ".txt")


def read_nodes(path: str | Path) -> tuple[Ints, Floats, dict[str, Ints]]:
    """Numbers (N,), positions (N, 3) m and node sets, rows by name, of a table of nodes.

    .csv or .txt : lines number, x, y, z. .inp : *NODE and *NSET of Abaqus and CalculiX. Else bulk data of NASTRAN, by
    pyyeti. Raises ModelError, ResultError.
    """
    path = Path(path)
    check_file(path, "nodes")
    if path.suffix.lower() == ".inp":
        return input_nodes(path)
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
    frames = located(path)[0]
    numbers = np.array(sorted(frames), dtype=np.int64)
    return numbers, np.array([frames[int(number)][0] for number in numbers]), {}


# Matrices that CalculiX stores: NAME.sti, NAME.mas and NAME.dof of *FREQUENCY, SOLVER=MATRIXSTORAGE.
#
# The matrices are lines row, column, value of one triangle; the .dof file has a line node.component for each row. Node
# positions and sets come from the input file. Source: G. Dhondt, CalculiX CrunchiX user's manual, *FREQUENCY.


def read_stored(path: str | Path, nodes: str | Path | None = None) -> FeModel:
    """The model of one of the three files, which are beside each other.

    nodes : the input file, by default NAME.inp. Raises ModelError, ResultError.
    """
    stem = Path(path).with_suffix("")
    files = {word: stem.with_suffix(f".{word}") for word in ("sti", "mas", "dof")}
    for file in files.values():
        check_file(file, "one of CalculiX's .sti, .mas and .dof, which it writes together")
    lines = files["dof"].read_text(encoding="utf-8", errors="replace").split()
    try:
        dofs = np.array([line.split(".")[:2] for line in lines], dtype=np.int64).reshape(-1, 2)
    except (ValueError, OverflowError) as error:
        raise ModelError(f"{files['dof']}: wanted lines node.component ({error})") from error
    if not len(dofs):
        raise ModelError(f"{files['dof']}: is empty, wanted lines node.component")
    stiffness, mass = (_triangle(files[word], len(dofs)) for word in ("sti", "mas"))
    return _on_nodes(nodes or stem.with_suffix(".inp"), dofs, mass, stiffness, str(stem))


def _on_nodes(nodes: str | Path, dofs: Ints, mass: Sparse, stiffness: Sparse, source: str) -> FeModel:
    """A model of dofs (n, 2), with those nodes of a table that have some. Raises ModelError, ResultError."""
    numbers, places, sets = read_nodes(nodes)
    used = np.isin(numbers, dofs[:, 0])
    row = np.cumsum(used) - 1
    kept = {name: row[rows[used[rows]]] for name, rows in sets.items()}
    return with_dofs(places[used], numbers[used], dofs, mass, stiffness, source, kept)


def _symmetric(row: Ints, column: Ints, values: Floats, size: int) -> Sparse:
    from scipy.sparse import coo_array, csc_array

    off = row != column
    places = np.concatenate([row, column[off]]), np.concatenate([column, row[off]])
    return csc_array(coo_array((np.concatenate([values, values[off]]), places), shape=(size, size)))


def _triangle(path: Path, size: int) -> Sparse:
    """A symmetric matrix of lines row, column, value of one triangle. Raises ModelError."""
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
    return _symmetric(row, column, table[:, 2], size)


# Matrices that Abaqus writes: JOB_STIF1.mtx and JOB_MASS1.mtx of *MATRIX GENERATE with *MATRIX OUTPUT, in its default
# format: lines row node, component, column node, component, value, of a symmetric matrix those of one triangle.

GENERATED = re.compile(r"_(STIF|MASS)(\d*)$", re.IGNORECASE)
HELD = 1e30  # entries on the diagonal that stand for supports; Abaqus writes 1e36


def read_generated(path: str | Path, nodes: str | Path | None = None) -> FeModel:
    """The model of one of the two files, which are beside each other.

    nodes : the input file or another table of nodes, by default JOB.inp. Raises ModelError, ResultError.
    """
    path = Path(path)
    found = GENERATED.search(path.stem)
    if found is None:
        raise ModelError(f"{path}: wanted the names that Abaqus gives, as JOB_STIF1.mtx and JOB_MASS1.mtx")
    begin, number = path.stem[: found.start()], found[2]
    files = {word: path.with_name(f"{begin}_{word}{number}{path.suffix}") for word in ("STIF", "MASS")}
    for file in files.values():
        check_file(file, "one of the .mtx of stiffness and mass, which Abaqus writes together")
    tables = {word: _generated_lines(file) for word, file in files.items()}
    places = np.concatenate([table[:, k : k + 2] for table in tables.values() for k in (0, 2)]).astype(np.int64)
    dofs = np.unique(places, axis=0)
    stiffness, mass = (_of_lines(tables[word], dofs, files[word]) for word in ("STIF", "MASS"))
    return _on_nodes(nodes or path.with_name(f"{begin}.inp"), dofs, mass, stiffness, str(path))


def _generated_lines(path: Path) -> Floats:
    """(n, 5) row node, component, column node, component, value. Raises ModelError."""
    wanted = "wanted lines row node, component, column node, component, value, Abaqus' default format of matrices"
    text = path.read_text(encoding="latin-1")
    lines = [line.rstrip().rstrip(",").split(",") for line in text.splitlines() if line.strip()[:1] not in ("", "*")]
    try:
        table = np.array(lines, dtype=float)
    except ValueError as error:
        raise ModelError(f"{path}: {wanted}") from error
    if table.ndim != 2 or table.shape[1] != 5 or not np.isfinite(table).all():
        raise ModelError(f"{path}: {wanted}")
    if table[:, [0, 2]].min() < 1:
        raise ModelError(
            f"{path}: has internal nodes with numbers below 1, as with multipliers: generate matrices without contact"
        )
    if table[:, 4].max() >= HELD:
        k = int(np.argmax(table[:, 4]))
        raise ModelError(
            f"{path}: node {int(table[k, 0])} is held in component {int(table[k, 1])}: generate the matrices without "
            "boundary conditions; interfaces hold them here"
        )
    return table


def _of_lines(table: Floats, dofs: Ints, path: Path) -> Sparse:
    """The matrix of lines of one triangle, or of both."""
    from scipy.sparse import coo_array, csc_array

    size = len(dofs)
    number = {(int(node), int(component)): k for k, (node, component) in enumerate(dofs)}
    row, column = (np.array([number[int(a), int(b)] for a, b in table[:, k : k + 2]], dtype=np.int64) for k in (0, 2))
    if np.any(row < column) and np.any(row > column):
        full = csc_array(coo_array((table[:, 4], (row, column)), shape=(size, size)))
        if (abs(full - full.T)).max() <= 1e-9 * abs(full).max():
            return full
    return _symmetric(row, column, table[:, 4], size)
