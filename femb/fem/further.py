"""Reduced bodies reduced further, and bodies from shapes of any reference, such as free-free modes.

Shapes are referred to the frame of one interface, rigid motions among them are left out, and those that remain are
combined to unit motions of the other interfaces, which strain the body least, and to modes with all interfaces held.
Source: docs/theory/modal_body.md, section 8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh, null_space

from femb.base.array_files import numbers_in, of_file
from femb.base.errors import ModelError, ResultError
from femb.base.types import Floats, Ints
from femb.elements.modal.data import (
    SHAPES,
    SHAPES_FORMAT,
    SYMMETRIC,
    SYMMETRY,
    ReducedBody,
    body_of_arrays,
    cell_nodes,
    ratios_of_modes,
    read_body_arrays,
    rigid_mass,
)
from femb.elements.modal.kernels import axial, inertia_of, product_of, symmetric
from femb.fem.model import combined_arrays, turned_arrays
from femb.fem.reduction import Coupling, Keep, Reduction
from femb.numerics.rotations import cross_matrix

# Shapes of a body in the frame of one of its interfaces: the change of reference, from moments alone.
#
# With displacement a_j and rotation b_j of shape j at the new origin, Z_j = b_j~, the shapes psi_j - a_j - b_j x X
# have
#
#     s'_j  = s_j - m a_j - b_j x s_0                                                                       (26)
#     B'_ij = B_ij - s_i a_j^T - B_i0 Z_j^T - a_i s_j^T + m a_i a_j^T + a_i s_0^T Z_j^T - Z_i B_0j + Z_i s_0 a_j^T
#             + Z_i B_00 Z_j^T
#
# The mass matrix changes likewise, with the rigid mass matrix, and is exact also with rotary inertia of nodes.
# Source: docs/theory/modal_body.md, section 8.


def referred_arrays(arrays: dict[str, Floats], motion: Floats, point: Floats) -> dict[str, Floats]:
    """Arrays of the shapes less their rigid ``motion`` (6, n), displacement and rotation, at a point (3,) m, which is
    the new origin; along the same axes. Arrays of geometric stiffening are those of a held frame, and are left out."""
    stiffened = bool(np.any(arrays.get("included", False)))
    if stiffened and "B2" in arrays:
        of_rest = {"J2": arrays["J2"] - 2.0 * inertia_of(arrays["B2"]), "Q": arrays["Q"] - axial(arrays["B2"])}
        arrays, stiffened = {**arrays, **of_rest}, False
    left_out = {"S2", "B2", "psi2", "included"} | ({"J1", "J2", "Q"} if stiffened else set())
    out = {name: value for name, value in arrays.items() if name not in left_out}
    m, s0, J0, S1 = float(arrays["mass"]), arrays["first_moment"], arrays["inertia"], arrays["S1"]
    B00 = 0.5 * np.trace(J0) * np.eye(3) - J0
    first = s0 - m * point
    moved = B00 - np.outer(point, s0) - np.outer(s0, point) + m * np.outer(point, point)
    out["first_moment"], out["inertia"] = first, inertia_of(moved)
    rigid = rigid_mass(m, first, out["inertia"])
    momenta = np.hstack([S1, arrays["C0"] - np.cross(point, S1)])
    carried = momenta @ motion
    out["M"] = symmetric(arrays["M"] - carried - carried.T + motion.T @ rigid @ motion)
    momenta = momenta - (rigid @ motion).T
    out["S1"], out["C0"] = momenta[:, :3], momenta[:, 3:]
    if "J1" in out and "J2" in out and "Q" in out:
        B0 = product_of(arrays["J1"], arrays["C0"]) - np.einsum("a,jb->jab", point, S1)
        B = product_of(arrays["J2"], arrays["Q"])
        out["J1"], out["J2"], out["Q"] = _second_order(m, first, moved, S1, B0, B, motion)
    out["interfaces"] = arrays["interfaces"] - point
    if "nodes" in arrays:
        out["nodes"] = arrays["nodes"] - point
        out["node_shapes"] = arrays["node_shapes"] - at_points(motion, out["nodes"])
    if "load_modal" in arrays:
        force = arrays["load_force"]
        out["load_torque"] = arrays["load_torque"] - np.cross(point, force)
        out["load_modal"] = arrays["load_modal"] - np.hstack([force, out["load_torque"]]) @ motion
    return out


def at_points(motion: Floats, points: Floats) -> Floats:
    """(n, N, 3): displacements of points (N, 3) from the origin in rigid motions (6, n)."""
    return np.asarray(motion[:3].T[:, None] + np.cross(motion[3:].T[:, None], points[None]))


def _second_order(
    m: float, s0: Floats, B00: Floats, s: Floats, B0: Floats, B: Floats, motion: Floats
) -> tuple[Floats, Floats, Floats]:
    """J1, J2 and Q by (26) of moments about the new origin; B0 are the B_0j."""
    a, Z = motion[:3].T, np.array([cross_matrix(b) for b in motion[3:].T])
    Zt = Z.swapaxes(-1, -2)
    ends = np.einsum("jab,b->ja", Z, s0)  # Z_j s_0
    new_B0 = B0 - np.einsum("a,jb->jab", s0, a) - B00 @ Zt
    outer = np.einsum("ia,jb->ijab", s, a) + np.einsum("ia,jb->ijab", a, s)
    outer -= m * np.einsum("ia,jb->ijab", a, a)
    outer -= np.einsum("ia,jb->ijab", a, ends) + np.einsum("ia,jb->ijab", ends, a)
    of_i = np.einsum("ica,jbc->ijab", B0, Z)  # B_i0 Z_j^T
    of_j = np.einsum("iac,jcb->ijab", Z, B0)  # Z_i B_0j
    new_B = B - outer - of_i - of_j + np.einsum("iac,cd,jbd->ijab", Z, B00, Z, optimize=True)
    J2 = 2.0 * inertia_of(new_B)
    return 2.0 * inertia_of(new_B0), 0.5 * (J2 + J2.swapaxes(0, 1)), axial(new_B)


# Bodies by shapes of any reference, such as free-free modes: their arrays and the motion of their interfaces.
#
# Source: docs/theory/modal_body.md, section 7.


ROWS = ("recovery_names", "load_names")


@dataclass(frozen=True, eq=False)
class ShapedBody:
    """A body by n shapes of any reference. arrays : those of ReducedBody by name, about any origin. motions (k, 6, n) :
    displacement and rotation of each interface by the shapes. names of the interfaces. rows : the names of the rows of
    recovery and of the loads, as fields of ReducedBody. held : whether the first
    interface is at rest in all shapes, with the origin there."""

    arrays: dict[str, Floats]
    motions: Floats
    names: tuple[str, ...]
    cells: dict[str, Ints]
    rows: dict[str, tuple[str, ...]]
    held: bool

    @classmethod
    def of(cls, body: ReducedBody) -> "ShapedBody":
        """The shapes of a reduced body: its coordinates are motions of its interfaces, and modes."""
        k, n = len(body.interfaces), body.size
        motions = np.zeros((k, 6, n))
        motions[1:, :, : 6 * (k - 1)] = np.eye(6 * (k - 1)).reshape(k - 1, 6, 6 * (k - 1))
        left_out = ("cells", "interface_names", "damping_ratio", *ROWS)
        values = {part.name: getattr(body, part.name) for part in fields(body) if part.name not in left_out}
        arrays = {name: np.asarray(value) for name, value in values.items() if value is not None}
        if body.D is None and body.damping_ratio is not None:
            arrays["D"] = body.damping(body.damping_ratio)
        rows = {name: getattr(body, name) for name in ROWS}
        return cls(arrays, motions, body.interface_names, dict(body.cells), rows, True)

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
        rows = {name: tuple(found.pop(name, ())) for name in ROWS}
        found.setdefault("interface_axes", np.tile(np.eye(3), (len(names), 1, 1)))
        known = {"interface_shapes", *(part.name for part in fields(ReducedBody))} - {"damping_ratio"}
        arrays = {name: numbers_in(path, name, value) for name, value in found.items() if name in known}
        motions, n = arrays.pop("interface_shapes"), len(np.atleast_1d(arrays["M"]))
        if motions.shape != (len(names), 6, n):
            raise ModelError(
                f"{path}: interface_shapes: got an array of shape {motions.shape}, wanted {(len(names), 6, n)}: "
                "displacement and rotation of each interface by each shape"
            )
        _check_arrays(path, arrays, len(names), n, rows)
        return cls(arrays, motions, tuple(names), cells, rows, False)


def _check_arrays(
    path: str | Path, arrays: dict[str, Floats], k: int, n: int, rows: Mapping[str, tuple[str, ...]]
) -> None:
    """Raise ModelError for arrays of other shapes than those of ``ReducedBody``, mass and stiffness of no shapes."""
    sizes: dict[int | str, int] = {"k": k, "b": k - 1, "n": n, "N": len(np.atleast_1d(arrays.get("nodes", ())))}
    sizes |= {"r": len(rows["recovery_names"]), "l": len(rows["load_names"])}
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


# A reduced body in mean axes: the frame follows the motion of the whole mass, and no interface is held.
#
# The shapes are referred to the rigid motion that has their momenta, so that S1 = 0 and C0 = 0. With coupling
# "constant" the mass matrix by motion of the frame and coordinates does not change with deformation, and stays positive
# definite.
# Source: docs/theory/modal_body.md, section 7.

MEAN = "mean"


def in_mean_axes(body: ReducedBody) -> ShapedBody:
    """The body with one more interface, "mean", the first: its frame lies on the root of the undeformed body.

    Raises ModelError: fewer coordinates than motions of the interfaces.
    """
    wanted = 6 * len(body.interfaces)
    if body.size < wanted:
        raise ModelError(
            f"mean axes: the body has {body.size} coordinates, its {len(body.interfaces)} interfaces move in {wanted} "
            f"ways: reduce it with {wanted - body.size} more modes"
        )
    if MEAN in body.interface_names:
        raise ModelError(f"mean axes: the body has an interface {MEAN!r} already")
    shaped = ShapedBody.of(body)
    rigid = rigid_mass(body.mass, body.first_moment, body.inertia)
    motion = np.asarray(np.linalg.solve(rigid, np.hstack([body.S1, body.C0]).T), dtype=np.float64)
    arrays = referred_arrays(shaped.arrays, motion, np.zeros(3))
    points = body.interfaces
    moved = shaped.motions - motion
    moved[:, :3] += motion[:3] - at_points(motion, points).transpose(1, 2, 0)
    for name in ("interfaces", "interface_axes"):
        arrays[name] = np.concatenate([arrays[name][:1], arrays[name]])
    motions = np.concatenate([np.zeros((1, *moved.shape[1:])), moved])
    return ShapedBody(arrays, motions, (MEAN, *shaped.names), shaped.cells, shaped.rows, True)


RIGID = 1e-4  # highest frequency of a rigid motion, of the lowest of a deformation
INDEPENDENT = 1e-8  # least part of the largest motion of the interfaces


def reduce_further(
    source: str | Path | ReducedBody | ShapedBody,
    interfaces: Sequence[str] = (),
    modes: int | None = None,
    *,
    max_frequency: float | None = None,
    damping_ratio: float | Sequence[float] | None = None,
    mean_axes: bool = False,
) -> Reduction:
    """A body with fewer interfaces or modes, or with another root. It is made of a reduced body or of shapes of any
    reference.

    With another root the coupling becomes "constant". The account is against the source: truncation error, effective
    mass left out.

    Parameters:
        source: a file of format femb-modal-1 or femb-shapes-1, or a body.
        interfaces: names of those that are kept, the root first; by default all.
        modes: number of those with all interfaces held that are kept; by default all.
        max_frequency: Hz, in place of a number of modes.
        damping_ratio: as in ``reduce_model``, in place of that of the source, or of 0.005 where it has none.
        mean_axes: the body gets a frame that follows the motion of its whole mass, the interface "mean", which comes
            first, and its root becomes one like the others.

    Raises:
        ResultError: the source cannot be read.
        ModelError: an unknown interface; interfaces that shapes do not move independently.
    """
    keep = Keep(modes, max_frequency) if modes is not None or max_frequency is not None else None
    if isinstance(source, ReducedBody | ShapedBody):
        whole = source if isinstance(source, ShapedBody) else ShapedBody.of(source)
        return _reduced(whole, interfaces, keep, damping_ratio, mean_axes)
    with of_file(source):
        return _reduced(ShapedBody.read(source), interfaces, keep, damping_ratio, mean_axes)


def _reduced(
    whole: ShapedBody, interfaces: Sequence[str], keep: Keep | None,
    damping_ratio: float | Sequence[float] | None, mean_axes: bool,
) -> Reduction:  # fmt: skip
    if mean_axes:
        if not whole.held or keep is not None:
            raise ModelError(
                "mean axes: take a body of femb-modal-1 as it is; choose its root and modes in a step before"
            )
        whole = in_mean_axes(reduce_further(whole).body)
        keep, interfaces = None, ["mean", *interfaces] if interfaces else interfaces
    places = _places(whole.names, interfaces)
    arrays, motions = _at_root(whole, places[0])
    others = motions[places[1:]].reshape(-1, motions.shape[2])
    elastic = np.eye(len(arrays["M"])) if whole.held else _elastic(whole.arrays)
    M, K = (elastic.T @ arrays[name] @ elastic for name in ("M", "K"))
    T, held = _basis(M, K, others @ elastic, whole, keep)
    T = elastic @ T
    kept = combined_arrays(arrays, T)
    for name in ("interfaces", "interface_axes"):
        kept[name] = arrays[name][places]
    if "psi2" in kept:
        kept["psi2"] = kept["psi2"][places[1:] - 1]
    axes = kept["interface_axes"][0]
    kept = turned_arrays(kept, axes, len(others))
    values: dict[str, Any] = {**kept, **whole.rows}
    if damping_ratio is not None or "D" not in kept:
        values.pop("D", None)
        values["damping_ratio"] = ratios_of_modes(0.005 if damping_ratio is None else damping_ratio, T.shape[1])
    values["mass"], values["included"] = float(kept["mass"]), bool(np.any(kept.get("included", False)))
    body = ReducedBody(interface_names=tuple(whole.names[k] for k in places), cells=whole.cells, **values)
    return _account(body, turned_arrays(arrays, axes, 0), elastic, T, held)


def _places(names: tuple[str, ...], wanted: Sequence[str]) -> Ints:
    for name in wanted:
        if name not in names:
            raise ModelError.at(("interfaces", name), f"is not in the source, which has {', '.join(names)}")
    if len(set(wanted)) < len(wanted):
        raise ModelError.at(("interfaces",), "every interface is named once")
    return np.array([names.index(name) for name in wanted] if wanted else np.arange(len(names)))


def _at_root(whole: ShapedBody, root: int) -> tuple[dict[str, Floats], Floats]:
    """Arrays and motions of the interfaces with an interface held, the origin there."""
    if whole.held and root == 0:
        return whole.arrays, whole.motions
    motion, points = whole.motions[root], whole.arrays["interfaces"]
    arrays = referred_arrays(whole.arrays, motion, points[root])
    motions = whole.motions - motion
    motions[:, :3] += motion[:3] - at_points(motion, points - points[root]).transpose(1, 2, 0)
    return arrays, motions


def _elastic(arrays: dict[str, Floats]) -> Floats:
    """(n, m): combinations of the shapes without the rigid motions among them, which are six or fewer."""
    squares, vectors = eigh(arrays["K"], arrays["M"])
    frequencies = np.sqrt(np.maximum(squares, 0.0))
    for count in range(min(6, len(squares) - 1), 0, -1):
        if frequencies[count - 1] < RIGID * frequencies[count]:
            return np.asarray(vectors[:, count:])
    return np.eye(len(squares))


def _basis(M: Floats, K: Floats, others: Floats, whole: ShapedBody, keep: Keep | None) -> tuple[Floats, Floats]:
    """Combinations of shapes: unit motions of other interfaces, then modes, with the frequencies (m,) Hz of these."""
    sizes = np.linalg.svd(others, compute_uv=False)
    rank = int(np.sum(sizes > INDEPENDENT * np.max(sizes, initial=0.0)))
    if rank < len(others):
        raise ModelError(
            f"interfaces: the shapes move them relative to the root in {rank} independent ways, wanted {len(others)}: "
            f"name fewer of {', '.join(whole.names)}, or take more shapes, with those of unit motions of the interfaces"
        )
    soft = np.linalg.solve(K, others.T)
    boundary = soft @ np.linalg.inv(others @ soft) if rank else np.zeros((len(M), 0))
    inner = null_space(others) if rank else np.eye(len(M))
    squares, parts = eigh(inner.T @ K @ inner, inner.T @ M @ inner) if inner.shape[1] else (np.zeros(0), inner)
    frequencies = np.sqrt(np.maximum(squares, 0.0)) / (2.0 * np.pi)
    count = len(squares)
    if keep is not None and keep.modes is not None:
        if keep.modes > count:
            raise ModelError(f"modes: got {keep.modes}, the source has {count}")
        count = keep.modes
    if keep is not None and keep.max_frequency is not None:
        count = min(count, int(np.searchsorted(frequencies, keep.max_frequency, side="right")))
    return np.hstack([boundary, inner @ parts[:, :count]]), frequencies[:count]


def _account(body: ReducedBody, arrays: dict[str, Floats], elastic: Floats, T: Floats, held: Floats) -> Reduction:
    """The account of a body whose shapes T are among those of ``arrays``, along the body's axes."""
    M, K, momenta = (elastic.T @ each for each in (arrays["M"] @ elastic, arrays["K"] @ elastic, _momenta(arrays)))
    squares, parts = eigh(body.K, body.M)
    force = elastic.T @ arrays["M"] @ T @ parts
    moved = np.linalg.solve(K, force)
    better = np.einsum("nk,nk->k", moved, force) / np.einsum("nk,nk->k", moved, M @ moved)
    rigid = np.concatenate([np.full(3, body.mass), np.diag(body.inertia)])
    effective = (parts.T @ _momenta(vars(body))) ** 2 / rigid
    missing = np.einsum("na,na->a", momenta, np.linalg.solve(M, momenta)) / rigid - effective.sum(axis=0)
    error = np.sqrt(np.maximum(squares / better, 1.0)) - 1.0
    listed = tuple(
        (name, "source", np.asarray(point), 0)
        for name, point in zip(body.interface_names, body.interfaces, strict=True)
    )
    length = float(np.max(np.ptp(body.interfaces if body.nodes is None else body.nodes, axis=0)))
    coupling: Coupling = "full" if body.second_order else "constant"
    return Reduction(body, listed, held, body.frequencies(), error, effective, missing, coupling, length)


def _momenta(arrays: Mapping[str, Floats]) -> Floats:
    return np.hstack([arrays["S1"], arrays["C0"]])
