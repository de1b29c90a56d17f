"""Matrices of NASTRAN and its relatives, through pyyeti: OP4 files, DMIG punch files, and grids of bulk data."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from femb.analysis.fem.matrix_files import with_dofs
from femb.analysis.fem.model import FeModel, as_csc
from femb.base.array_files import reading_foreign
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints, Sparse

# Names of matrices in files, in the order in which they are looked for.
MASS = ("mgg", "mff", "maa", "mxx", "mcb", "mass", "m")
STIFFNESS = ("kgg", "kff", "kaa", "kxx", "kcb", "stiff", "stiffness", "k")

SAME_AXES = 1e-12  # difference of direction cosines


def _pyyeti() -> Any:
    try:
        import pyyeti.nastran
        import pyyeti.nastran.n2p
    except ImportError as error:
        raise ModelError(
            "pip install 'femb[fe]': OP4, DMIG and bulk data files are read by pyyeti, which is not installed"
        ) from error
    return pyyeti.nastran


def read_op4_matrices(path: str | Path, mass: str = "", stiffness: str = "") -> tuple[Sparse, Sparse]:
    """Mass and stiffness of an OP4 file; names are looked for if none are given. Raises ModelError, ResultError."""
    nastran = _pyyeti()
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
    raise ModelError(f"{path}: has no {word}: wanted {wanted}, it has {', '.join(found).upper()}")


def read_punch_model(path: str | Path, numbers: Ints, nodes: Floats, mass: str = "", stiffness: str = "") -> FeModel:
    """The model of DMIG matrices, whose entries name grids and components. Raises ModelError, ResultError."""
    nastran = _pyyeti()
    with reading_foreign(path, "a punch file of DMIG"):
        found = {name.lower(): frame for name, frame in nastran.bulk.rddmig(str(path)).items()}
    M, K = _named(found, "mass", mass, MASS, path), _named(found, "stiffness", stiffness, STIFFNESS, path)
    with reading_foreign(path, "a punch file of DMIG"):
        points = K.index.union(K.columns).union(M.index).union(M.columns)
        parts = [frame.reindex(index=points, columns=points, fill_value=0.0).to_numpy(dtype=float) for frame in (M, K)]
        dofs = np.array(points.to_list(), dtype=np.int64).reshape(-1, 2)
    scalar = np.flatnonzero(dofs[:, 1] == 0)
    if len(scalar):
        raise ModelError(
            f"{path}: point {dofs[scalar[0], 0]} is a scalar point: the matrices are reduced already, and "
            "their interfaces must be given by positions (reduced_craig_bampton)"
        )
    used = np.isin(numbers, dofs[:, 0])
    return with_dofs(nodes[used], numbers[used], dofs, as_csc(parts[0]), as_csc(parts[1]), str(path))


def read_grids(path: str | Path) -> tuple[Ints, Floats]:
    """Numbers (N,) and positions (N, 3) of GRID entries in basic coordinates. Raises ModelError, ResultError."""
    frames = read_grid_frames(path)
    numbers = np.array(sorted(frames), dtype=np.int64)
    return numbers, np.array([frames[int(number)][0] for number in numbers])


def along_basic_axes(model: FeModel, frames: Mapping[int, tuple[Floats, Floats]]) -> FeModel:
    """The model with displacements along basic axes, of matrices along the displacement axes of each grid.

    frames : of ``read_grid_frames``. Raises ModelError: a turned grid without all three of its components.
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


def read_grid_frames(path: str | Path) -> dict[int, tuple[Floats, Floats]]:
    """Positions (3,) and displacement axes (3, 3), columns, of the grids of bulk data in basic coordinates, by number.

    Raises ModelError, ResultError.
    """
    nastran = _pyyeti()
    with reading_foreign(path, "bulk data"):
        table = nastran.bulk.bulk2uset(str(path))[0]
        numbers = [int(number) for number, component in table.index if component == 1]
        places = table.to_numpy()[np.flatnonzero(table.index.get_level_values("dof") == 1), 1:]
        # displacements along a grid's axes by unit translations along the basic ones
        moved = nastran.n2p.rbgeom_uset(table)[:, :3].reshape(len(numbers), -1, 3)[:, :3] if numbers else []
    if not numbers:
        raise ModelError(f"{path}: has no GRID")
    return {number: (place, axes.T) for number, place, axes in zip(numbers, places, moved, strict=True)}
