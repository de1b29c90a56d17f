"""The reduced finite element model of a flexible body: its arrays, what they must fulfil, and its files.

Arrays and symbols are those of docs/theory/modal_body.md, section "Arrays"; SI units, axes of the body frame, which is
the frame of interface 0, the root. Files: ``femb.elements.modal.data``.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from femb.base.array_files import numbers_in, read_arrays
from femb.base.errors import ModelError, Problem, ResultError
from femb.base.html import Brief
from femb.base.types import Floats, Ints
from femb.base.values import frozen_array
from femb.numerics.rotations import cross_matrix

# The arrays of a reduced finite element model; symbols of docs/theory/modal_body.md.


@dataclass(frozen=True, eq=False)
class ReducedArrays(Brief):
    """The fields of ``femb.elements.modal.data.ReducedBody``, which explains them."""

    interfaces: Floats
    interface_axes: Floats
    interface_names: tuple[str, ...]
    mass: float
    first_moment: Floats
    inertia: Floats
    S1: Floats
    C0: Floats
    M: Floats
    K: Floats
    J1: Floats | None = None
    J2: Floats | None = None
    Q: Floats | None = None
    S2: Floats | None = None
    B2: Floats | None = None
    psi2: Floats | None = None
    included: bool = False
    damping_ratio: Floats | None = None
    D: Floats | None = None
    nodes: Floats | None = None
    node_shapes: Floats | None = None
    cells: Mapping[str, Ints] = field(default_factory=dict)
    recovery_names: tuple[str, ...] = ()
    recovery: Floats | None = None
    stress_shapes: Floats | None = None
    load_names: tuple[str, ...] = ()
    load_force: Floats | None = None
    load_torque: Floats | None = None
    load_modal: Floats | None = None
    load_stress: Floats | None = None
    load_recovery: Floats | None = None


# Checks of the arrays of a reduced body: shapes, symmetry, mass and stiffness of a body.

# Arrays that need another one.
WITH = (
    ("node_shapes", "nodes"), ("nodes", "node_shapes"), ("recovery", "recovery_names"), ("stress_shapes", "nodes"),
    ("load_stress", "stress_shapes"), ("load_recovery", "recovery"),
)  # fmt: skip
LOADS = ("load_force", "load_torque", "load_modal")

Refuse: TypeAlias = Callable[[str, str], None]
"""Records a problem of an array: its name, and the message."""

SYMMETRY = 1e-8  # largest difference from symmetry, relative to the largest entry

# Shapes by name: k interfaces, b = k - 1 of them not the root, n coordinates, N nodes, r rows of recovery, l loads.
SHAPES: dict[str, tuple[int | str, ...]] = {
    "interfaces": ("k", 3),
    "interface_axes": ("k", 3, 3),
    "first_moment": (3,),
    "inertia": (3, 3),
    "S1": ("n", 3),
    "C0": ("n", 3),
    "M": ("n", "n"),
    "K": ("n", "n"),
    "J1": ("n", 3, 3),
    "J2": ("n", "n", 3, 3),
    "Q": ("n", "n", 3),
    "S2": ("n", "n", 3),
    "B2": ("n", "n", 3, 3),
    "psi2": ("b", 3, "n", "n"),
    "damping_ratio": ("n",),
    "D": ("n", "n"),
    "nodes": ("N", 3),
    "node_shapes": ("n", "N", 3),
    "recovery": ("r", "n"),
    "stress_shapes": ("n", "N", 3, 3),
    "load_force": ("l", 3),
    "load_torque": ("l", 3),
    "load_modal": ("l", "n"),
    "load_stress": ("l", "N", 3, 3),
    "load_recovery": ("l", "r"),
}
# Arrays that do not change if these two axes are exchanged.
SYMMETRIC = {
    "inertia": (0, 1),
    "M": (0, 1),
    "K": (0, 1),
    "D": (0, 1),
    "J1": (1, 2),
    "S2": (0, 1),
    "B2": (0, 1),
    "psi2": (2, 3),
}


def check_shapes(body: ReducedArrays, refuse: Refuse) -> None:
    """Report arrays whose shape differs from that of ``SHAPES``, and numbers that are not finite."""
    stiffness = np.shape(body.K)
    if len(stiffness) != 2:
        refuse("K", f"got an array of shape {stiffness}, wanted a square matrix")
        return
    sizes = {"k": len(body.interface_names), "n": stiffness[0]}
    sizes["b"] = sizes["k"] - 1
    sizes["N"] = len(body.nodes) if body.nodes is not None and body.nodes.ndim else -1
    sizes["r"], sizes["l"] = len(body.recovery_names), len(body.load_names)
    for name, words in SHAPES.items():
        value = getattr(body, name)
        if value is None:
            continue
        wanted = tuple(sizes[word] if isinstance(word, str) else word for word in words)
        if value.shape != wanted:
            meaning = f"({', '.join(map(str, words))})"
            refuse(name, f"got an array of shape {value.shape}, wanted {wanted}, which is {meaning}")
        elif not np.isfinite(value).all():
            refuse(name, "contains numbers that are not finite")
    if not np.isfinite(body.mass) or body.mass <= 0.0:
        refuse("mass", f"got {body.mass:g} kg, must be greater than 0")
    if not sizes["k"]:
        refuse("interface_names", "is empty: name at least the root")
    repeated = next((name for name, count in Counter(body.interface_names).items() if count > 1), None)
    if repeated is not None:
        refuse("interface_names", f"has {str(repeated)[:60]!r} more than once: every interface needs a name of its own")
    if sizes["n"] < 6 * max(sizes["b"], 0):
        refuse("K", f"has {sizes['n']} coordinates, {sizes['b']} interfaces beside the root need {6 * sizes['b']}")
    for name, with_it in WITH:
        if getattr(body, name) is not None and getattr(body, with_it) is None:
            refuse(name, f"is given without {with_it}")
    for name in LOADS if body.load_names else ():
        if getattr(body, name) is None:
            refuse(name, "is missing beside load_names")
    if body.damping_ratio is not None and body.D is not None:
        refuse("D", "is given beside damping_ratio: give one of the two")
    for kind, nodes in body.cells.items():
        if nodes.ndim != 2 or (nodes.size and not (nodes.min() >= 0 and nodes.max() < sizes["N"])):
            refuse("cells", f"{kind} names nodes that are not among the {max(sizes['N'], 0)} nodes")


def check_values(body: ReducedArrays, refuse: Refuse) -> None:
    """Report matrices without symmetry, and masses and stiffnesses of no body."""
    for name, axes in SYMMETRIC.items():
        value = getattr(body, name)
        if value is not None and value.size:
            difference = np.abs(value - np.swapaxes(value, *axes))
            entry = tuple(map(int, np.argwhere(difference == difference.max())[0]))
            if difference.max() > SYMMETRY * np.abs(value).max():
                refuse(name, f"is not symmetric: entry {entry} differs by {difference.max():.3g} from its mirror image")
    if body.J2 is not None and body.J2.size:
        uneven = max(np.abs(body.J2 - np.swapaxes(body.J2, *axes)).max() for axes in ((0, 1), (2, 3)))
        if uneven > SYMMETRY * np.abs(body.J2).max():
            refuse("J2", f"is not symmetric in its coordinates and axes: entries differ by {uneven:.3g}")
    given = {"J1": body.J1, "J2": body.J2, "Q": body.Q}
    if 0 < sum(value is not None for value in given.values()) < 3:
        absent = ", ".join(name for name, value in given.items() if value is None)
        refuse(absent, "is missing: give J1, J2 and Q, or none of them")
    if body.included and body.S2 is None:
        refuse("S2", "is missing, though included says that J2 and Q contain geometric stiffening")
    if body.B2 is not None and not body.included:
        refuse("B2", "is given without included: it is the part of J2 and Q that is geometric stiffening")
    frames = body.interface_axes
    if np.abs(frames @ np.swapaxes(frames, -1, -2) - np.eye(3)).max() > 1e-6 or (np.linalg.det(frames) < 0).any():
        refuse("interface_axes", "are not right-handed unit axes: each 3 x 3 must be a rotation matrix")
    if np.abs(body.interfaces[0]).max() > 0.0 or np.abs(frames[0] - np.eye(3)).max() > 1e-6:
        refuse(
            "interfaces",
            f"got the root {body.interfaces[0].tolist()}: the root must be the origin and axes of the body frame",
        )
    _check_mass(body, refuse)
    if len(body.M) and not _positive(body.K):
        least = np.linalg.eigvalsh(body.K)[0]
        refuse(
            "K",
            f"is not positive definite with the root held (least eigenvalue {least:.3g}): a "
            "mechanism, or a rigid motion among the shapes",
        )
    for name in ("damping_ratio", "D"):
        value = getattr(body, name)
        if value is None or not value.size:
            continue
        least = value.min() if name == "damping_ratio" else np.linalg.eigvalsh(value)[0] / np.abs(value).max()
        if least < -1e-9:
            refuse(name, "is negative: it would feed energy")


def rigid_mass(mass: float, first_moment: Floats, inertia: Floats) -> Floats:
    """(6, 6): mass matrix of rigid motion by velocity and angular velocity at a point, with moments about it."""
    cross = cross_matrix(first_moment)
    return np.asarray(np.block([[mass * np.eye(3), -cross], [cross, inertia]]), dtype=np.float64)


def _check_mass(body: ReducedArrays, refuse: Refuse) -> None:
    """Report a mass matrix of the whole body, rigid motion and coordinates, that is not positive definite."""
    s = body.first_moment
    rigid = rigid_mass(body.mass, body.first_moment, body.inertia)
    center = s / body.mass
    central = body.inertia - body.mass * (center @ center * np.eye(3) - np.outer(center, center))
    moments = np.linalg.eigvalsh(central)
    if moments[0] < -1e-9 * moments[2] or moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-6):
        shown = ", ".join(f"{x:.4g}" for x in moments)
        refuse(
            "inertia",
            f"has the moments {shown} kg m2 about the mass centre, which no body has: none "
            "may be negative or exceed the sum of the others",
        )
    whole = np.block([[rigid, np.hstack([body.S1, body.C0]).T], [np.hstack([body.S1, body.C0]), body.M]])
    if len(body.M) and not _positive(body.M):
        refuse(
            "M",
            f"is not positive definite (least eigenvalue {np.linalg.eigvalsh(body.M)[0]:.3g}): shapes that depend on "
            "each other",
        )
    elif not _positive(whole, -1e-9):
        refuse(
            "S1",
            "with C0, mass and inertia makes a mass matrix with a negative eigenvalue: shapes that move more mass than "
            "there is",
        )


def _positive(matrix: Floats, least: float = 1e-15) -> bool:
    """Whether the least eigenvalue of a symmetric matrix, with a diagonal of ones or zeros, is above ``least``."""
    diagonal = np.diag(matrix)
    if diagonal.min() < 0.0 or (least > 0.0 and not diagonal.min() > 0.0):
        return False
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    return bool(np.linalg.eigvalsh(matrix * np.outer(scale, scale))[0] > least)


FORMAT = "femb-modal-1"


def ratios_of_modes(given: float | Sequence[float] | Floats, count: int) -> Floats:
    """(count,) damping ratios: one of all modes, or a list, whose last is also that of all modes above."""
    listed = np.atleast_1d(np.asarray(given, dtype=float))
    return listed[np.minimum(np.arange(count), len(listed) - 1)]


@dataclass(frozen=True, eq=False)
class ReducedBody(ReducedArrays):
    """A finite element model reduced to k interfaces and n coordinates, with the root held.

    The coordinates are six for each interface but the root, in their order, displacement and rotation in body axes,
    then the amplitudes of the modes. interfaces (k, 3) m and interface_axes (k, 3, 3), columns, with
    interface_names: interface 0 is the root, at the origin with the axes of the body frame. mass kg, first_moment
    (3,) kg m, inertia (3, 3) about the origin, S1, C0, M, K: as in the table of docs/theory/modal_body.md. J1, J2,
    Q: inertia of second order. S2, and of forces on interfaces psi2 (k - 1, 3, n, n): geometric stiffening;
    included tells that J2 and Q contain it too, B2 (n, n, 3, 3) which part of them it is: with it the mass matrix
    stays positive definite at large deformation. damping_ratio (n,) of the modes with the root held, in the order
    of their frequencies, or the matrix D. nodes (N, 3) m, node_shapes (n, N, 3) and cells, the nodes (c, m) of the
    cells by their type in meshio: for pictures and meshes. recovery (r, n): quantities by recovery_names, such as
    stresses, per unit coordinate. stress_shapes (n, N, 3, 3) : stresses (Pa, body axes) of the nodes per unit
    coordinate. Loads inside the body, by load_names (l,), of unit size: load_force and load_torque (l, 3), their
    resultants about the origin in body axes; load_modal (l, n), their work per unit coordinate; load_stress (l, N,
    3, 3), the stress of a heated body that is held (Pa), load_recovery (l, r), its quantities by recovery_names.

    Raises ModelError: names the arrays that have another shape, are not symmetric or describe no body.
    Source: docs/theory/modal_body.md.
    """

    def __post_init__(self) -> None:
        problems: list[Problem] = []
        for name in SHAPES:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, frozen_array(value))
        object.__setattr__(self, "mass", float(self.mass))
        object.__setattr__(self, "interface_names", tuple(map(str, self.interface_names)))
        for name in ("recovery_names", "load_names"):
            object.__setattr__(self, name, tuple(map(str, getattr(self, name))))
        cells = {str(kind): np.array(nodes, dtype=np.int64) for kind, nodes in self.cells.items()}
        object.__setattr__(self, "cells", cells)

        def refuse(name: str, message: str) -> None:
            problems.append(Problem((name,), message))

        check_shapes(self, refuse)
        if not problems:
            try:
                with np.errstate(all="ignore"):
                    check_values(self, refuse)
            except np.linalg.LinAlgError:
                refuse("K", "with M and the other arrays has no eigenvalues: their numbers are too large")
        if problems:
            raise ModelError(*problems)

    @property
    def size(self) -> int:
        """The number n of coordinates."""
        return len(self.M)

    @property
    def modes(self) -> int:
        """The number of modes with all interfaces held."""
        return self.size - 6 * (len(self.interfaces) - 1)

    @property
    def second_order(self) -> bool:
        """Whether the body has inertia of second order with geometric stiffening: ``coupling = "full"``."""
        return self.included and all(value is not None for value in (self.J1, self.J2, self.Q, self.S2))

    def frequencies(self) -> Floats:
        """(n,) Hz, ascending, with the root held and the other interfaces free."""
        from scipy.linalg import eigh

        values: Floats = eigh(self.K, self.M, eigvals_only=True)
        return np.sqrt(np.maximum(values, 0.0)) / (2.0 * np.pi)

    def damping(self, ratio: float | Sequence[float] | Floats) -> Floats:
        """D (n, n), kg/s, of modal damping ``ratio``, a number or a list of the modes with the root held, by frequency,
        the last also of all above."""
        from scipy.linalg import eigh

        ratio = ratios_of_modes(ratio, self.size)
        squares, shapes = eigh(self.K, self.M)
        moved = self.M @ shapes
        D: Floats = (moved * (2.0 * ratio * np.sqrt(np.maximum(squares, 0.0)))) @ moved.T
        return 0.5 * (D + D.T)

    def kept(self, modes: int) -> "ReducedBody":
        """The body with the first modes only, all interfaces, and their arrays. Raises ModelError."""
        if not 0 <= modes <= self.modes:
            raise ModelError.at(("modes",), f"got {modes}, the file has {self.modes}: wanted 0 to {self.modes}")
        n = self.size - self.modes + modes
        changed: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        for name, shape in SHAPES.items():
            if changed[name] is not None and "n" in shape:
                changed[name] = changed[name][tuple(slice(n) if word == "n" else slice(None) for word in shape)]
        return ReducedBody(**changed)


# Files of reduced bodies, the format femb-modal-1: .npz, or a results file .h5 or a group of it.
#
# The arrays have the names of the fields of ``ReducedBody``; ``format`` holds "femb-modal-1". The nodes of cells are
# ``cells/TYPE`` with the type's name in meshio, such as cells/tetra.

SHAPES_FORMAT = "femb-shapes-1"  # of shapes of any reference, see docs/howto/finite_element_bodies.md
CELLS = "cells/"
NAMES = ("interface_names", "recovery_names", "load_names")
REQUIRED = (
    "interfaces", "interface_axes", "interface_names", "mass", "first_moment", "inertia", "S1", "C0", "M", "K",
)  # fmt: skip


def write_reduced_body(path: str | Path, body: ReducedBody, group: str = "modal_body") -> Path:
    """Write a reduced body to a file .npz, or to a group of a file .h5; returns the path.

    Parameters:
        path: of a file .npz or .h5.
        body: that is written.
        group: of the .h5 file.

    Raises:
        ResultError: the file cannot be written.
    """
    path = Path(path)
    arrays: dict[str, Any] = {"format": FORMAT}
    for part in fields(ReducedBody):
        value = getattr(body, part.name)
        if part.name == "cells":
            arrays |= {f"{CELLS}{kind}": nodes for kind, nodes in value.items()}
        elif value is not None and not (part.name in NAMES and not value):
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
    """Read a reduced body from a file .npz, or from a group of a file .h5.

    Parameters:
        path: of a file .npz or .h5.
        group: of the .h5 file.

    Raises:
        ResultError: the file cannot be read.
        ModelError: it is no reduced body.
    """
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
