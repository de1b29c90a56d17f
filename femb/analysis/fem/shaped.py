"""Bodies by shapes of any reference, such as free-free modes: their arrays and the motion of their interfaces.

Source: docs/theory/modal_body.md, section 7.
"""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from femb.base.array_files import numbers_in
from femb.base.errors import ModelError, ResultError
from femb.base.types import Floats, Ints
from femb.elements.modal.data import ReducedBody
from femb.elements.modal.data_checks import SHAPES, SYMMETRIC, SYMMETRY
from femb.elements.modal.file import SHAPES_FORMAT, body_of_arrays, cell_nodes, read_body_arrays


@dataclass(frozen=True, eq=False)
class ShapedBody:
    """A body by n shapes of any reference. arrays : those of ReducedBody by name, about any origin. motions (k, 6, n) :
    displacement and rotation of each interface by the shapes. names of the interfaces. held : whether the first
    interface is at rest in all shapes, with the origin there."""

    arrays: dict[str, Floats]
    motions: Floats
    names: tuple[str, ...]
    cells: dict[str, Ints]
    recovery_names: tuple[str, ...]
    held: bool

    @classmethod
    def of(cls, body: ReducedBody) -> "ShapedBody":
        """The shapes of a reduced body: its coordinates are motions of its interfaces, and modes."""
        k, n = len(body.interfaces), body.size
        motions = np.zeros((k, 6, n))
        motions[1:, :, : 6 * (k - 1)] = np.eye(6 * (k - 1)).reshape(k - 1, 6, -1)
        left_out = ("cells", "recovery_names", "interface_names", "damping_ratio")
        values = {part.name: getattr(body, part.name) for part in fields(body) if part.name not in left_out}
        arrays = {name: np.asarray(value) for name, value in values.items() if value is not None}
        if body.D is None and body.damping_ratio is not None:
            arrays["D"] = body.damping(body.damping_ratio)
        return cls(arrays, motions, body.interface_names, dict(body.cells), body.recovery_names, True)

    @classmethod
    def read(cls, path: str | Path) -> "ShapedBody":
        """From a file of format femb-modal-1 or femb-shapes-1. Raises ResultError, ModelError."""
        found = read_body_arrays(path)
        if found.get("format") != SHAPES_FORMAT:
            return cls.of(body_of_arrays(path, found))
        required = ("mass", "first_moment", "inertia", "S1", "C0", "M", "K", "interfaces", "interface_names",
                    "interface_shapes")  # fmt: skip
        absent = [name for name in required if name not in found]
        if absent:
            raise ResultError(f"{path}: lacks {', '.join(absent)}, which shapes of a body need")
        names, cells = found.pop("interface_names"), found.pop("cells")
        cells = {kind: cell_nodes(path, kind, nodes) for kind, nodes in cells.items()}
        recovered = tuple(found.pop("recovery_names", ()))
        found.setdefault("interface_axes", np.tile(np.eye(3), (len(names), 1, 1)))
        known = {"interface_shapes", *(part.name for part in fields(ReducedBody))} - {"damping_ratio"}
        arrays = {name: numbers_in(path, name, value) for name, value in found.items() if name in known}
        motions, n = arrays.pop("interface_shapes"), len(np.atleast_1d(arrays["M"]))
        if motions.shape != (len(names), 6, n):
            raise ModelError(
                f"{path}: interface_shapes: got an array of shape {motions.shape}, wanted {(len(names), 6, n)}: "
                "displacement and rotation of each interface by each shape"
            )
        _check_arrays(path, arrays, len(names), n, len(recovered))
        return cls(arrays, motions, tuple(names), cells, recovered, False)


def _check_arrays(path: str | Path, arrays: dict[str, Floats], k: int, n: int, r: int) -> None:
    """Raise ModelError for arrays of other shapes than those of ``ReducedBody``, mass and stiffness of no shapes."""
    sizes: dict[int | str, int] = {"k": k, "b": k - 1, "n": n, "r": r, "N": len(np.atleast_1d(arrays.get("nodes", ())))}
    for name, value in arrays.items():
        words = SHAPES.get(name, (1,) if name == "included" else ())
        wanted = tuple(sizes.get(word, word) for word in words)
        if value.shape != wanted and not (name == "included" and value.size == 1):
            raise ModelError(f"{path}: {name}: got an array of shape {value.shape}, wanted {wanted}")
    for names in (("nodes", "node_shapes"), ("J1", "J2", "Q")):
        absent = [name for name in names if name not in arrays]
        if 0 < len(absent) < len(names):
            raise ModelError(f"{path}: lacks {', '.join(absent)}: give all of {', '.join(names)}, or none")
    if np.any(arrays.get("included", False)) and ("J2" not in arrays or "S2" not in arrays):
        raise ModelError(f"{path}: included says that J2 and Q contain stiffening: give J1, J2, Q and S2 too")
    for name, axes in SYMMETRIC.items():
        value = arrays.get(name, np.zeros(0))
        if value.size and np.abs(value - np.swapaxes(value, *axes)).max() > SYMMETRY * np.abs(value).max():
            raise ModelError(f"{path}: {name}: is not symmetric")
    if not n or not np.linalg.eigvalsh(arrays["M"])[0] > 0.0:
        raise ModelError(f"{path}: M: is not positive definite: the shapes depend on each other, or there are none")
    if not arrays["mass"] > 0.0:
        raise ModelError(f"{path}: mass: got {float(arrays['mass']):g} kg, must be greater than 0")
