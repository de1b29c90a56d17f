"""Files of reduced bodies, the format femb-modal-1: .npz, or a results file .h5 or a group of it.

The arrays have the names of the fields of ``ReducedBody``; ``format`` holds "femb-modal-1". The nodes of cells are
``cells/TYPE`` with the type's name in meshio, such as cells/tetra.
"""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.array_files import numbers_in, read_arrays
from femb.base.errors import ModelError, Problem, ResultError
from femb.base.types import Ints
from femb.elements.modal.data import FORMAT, ReducedBody

SHAPES_FORMAT = "femb-shapes-1"  # of shapes of any reference, see docs/howto/finite_element_bodies.md
CELLS = "cells/"
NAMES = ("interface_names", "recovery_names")
REQUIRED = (
    "interfaces", "interface_axes", "interface_names", "mass", "first_moment", "inertia", "S1", "C0", "M", "K",
)  # fmt: skip


def write_reduced_body(path: str | Path, body: ReducedBody, group: str = "modal_body") -> Path:
    """Write a reduced body to .npz, or to a group of an .h5 file; returns the path. Raises ResultError."""
    path = Path(path)
    arrays: dict[str, Any] = {"format": FORMAT}
    for part in fields(ReducedBody):
        value = getattr(body, part.name)
        if part.name == "cells":
            arrays |= {f"{CELLS}{kind}": nodes for kind, nodes in value.items()}
        elif value is not None and not (part.name == "recovery_names" and not value):
            arrays[part.name] = value
    if path.suffix not in (".npz", ".h5"):
        raise ResultError(f"{path}: got the suffix {path.suffix!r}, must be .npz or .h5")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npz":
        stored: dict[str, Any] = {name: np.array(value) for name, value in arrays.items()}
        np.savez(path, **stored)
        return path
    import h5py

    with h5py.File(path, "a") as file:
        if group in file:
            del file[group]
        place = file.create_group(group)
        for name, value in arrays.items():
            place[name] = list(value) if name in NAMES else value
    return path


def read_reduced_body(path: str | Path, group: str = "modal_body") -> ReducedBody:
    """Read a reduced body from the .npz at ``path``, or from a group of an .h5 file. Raises ResultError, ModelError."""
    return body_of_arrays(path, read_body_arrays(path, group))


def read_body_arrays(path: str | Path, group: str = "modal_body") -> dict[str, Any]:
    """The arrays of a body in a file by name, with its ``format``, and ``cells`` by type. Raises ResultError."""
    path = Path(path)
    if path.suffix not in (".npz", ".h5"):
        raise ResultError(
            f"{path}: got the suffix {path.suffix!r}, wanted a reduced body, .npz or .h5; convert other files with "
            "`femb reduce`"
        )
    arrays = read_arrays(path, "a reduced body", "" if path.suffix == ".npz" else group)
    form = np.asarray(arrays.get("format", ""))
    arrays["format"] = str(form) if form.dtype.kind in "US" and not form.ndim else ""
    arrays["cells"] = {name.removeprefix(CELLS): arrays.pop(name) for name in list(arrays) if name.startswith(CELLS)}
    for name in NAMES:
        if name in arrays:
            arrays[name] = tuple(
                x.decode("utf-8", "replace") if isinstance(x, bytes) else str(x) for x in np.ravel(arrays[name])
            )
    return arrays


def body_of_arrays(path: str | Path, arrays: dict[str, Any]) -> ReducedBody:
    """The body of the arrays of the file at ``path``. Raises ResultError, ModelError."""
    arrays = dict(arrays)
    form = arrays.pop("format")
    if form == SHAPES_FORMAT:
        raise ResultError(f"{path}: its shapes are not those of a held root: `femb reduce {path}` makes a body of them")
    if form != FORMAT:
        raise ResultError(f"{path}: got format {form!r}, wanted {FORMAT!r}")
    absent = [name for name in REQUIRED if name not in arrays]
    if absent:
        raise ResultError(f"{path}: lacks {', '.join(absent)}, which a reduced body needs")
    unknown = sorted(set(arrays) - {part.name for part in fields(ReducedBody)})
    if unknown:
        raise ResultError(f"{path}: has {', '.join(unknown)}, which a reduced body does not know")
    arrays["cells"] = {kind: cell_nodes(path, kind, nodes) for kind, nodes in arrays["cells"].items()}
    for name in set(arrays) - {*NAMES, "cells"}:
        arrays[name] = numbers_in(path, name, arrays[name])
        if name in ("mass", "included"):
            if arrays[name].size != 1:
                raise ResultError(f"{path}: {name}: got an array of shape {arrays[name].shape}, wanted one number")
            arrays[name] = arrays[name].item() if name == "mass" else bool(arrays[name].item())
    try:
        return ReducedBody(**arrays)
    except ModelError as error:
        raise ModelError(*(Problem((str(path), *each.item), each.message) for each in error.problems)) from error


def cell_nodes(path: str | Path, kind: str, nodes: Any) -> Ints:
    """The nodes (c, m) of cells as whole numbers. Raises ResultError."""
    found = numbers_in(path, f"{CELLS}{kind}", nodes)
    if found.size and (np.abs(found).max() > 2**53 or np.any(found != np.round(found))):
        raise ResultError(f"{path}: {CELLS}{kind}: wanted whole numbers of nodes")
    return found.astype(np.int64)
