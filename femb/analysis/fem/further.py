"""Reduced bodies reduced further, and bodies from shapes of any reference, such as free-free modes.

Shapes are referred to the frame of one interface, rigid motions among them are left out, and those that remain are
combined to unit motions of the other interfaces, which strain the body least, and to modes with all interfaces held.
Source: docs/theory/modal_body.md, section 8.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh, null_space

from femb.analysis.fem.mean_axes import in_mean_axes
from femb.analysis.fem.reduction import Keep, Reduction
from femb.analysis.fem.reference import at_points, referred_arrays
from femb.analysis.fem.shaped import ShapedBody
from femb.analysis.fem.turned import combined_arrays, turned_arrays
from femb.base.array_files import of_file
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.elements.modal.data import ReducedBody

RIGID = 1e-4  # highest frequency of a rigid motion, of the lowest of a deformation
INDEPENDENT = 1e-8  # least part of the largest motion of the interfaces


def reduce_further(
    source: str | Path | ReducedBody | ShapedBody,
    interfaces: Sequence[str] = (),
    modes: int | None = None,
    *,
    max_frequency: float | None = None,
    damping_ratio: float | None = None,
    mean_axes: bool = False,
) -> Reduction:
    """A body with fewer interfaces or modes, or with another root, of a reduced body or of shapes of any reference.

    source : a file of format femb-modal-1 or femb-shapes-1, or a body. interfaces : names of those that are kept, the
    root first; by default all. modes, max_frequency (Hz) : which modes with all interfaces held are kept; by default
    all. mean_axes : the body gets a frame that follows the motion of its whole mass, the interface "mean", which comes
    first, and its root becomes one like the others. damping_ratio : ratio of every mode, in place of the damping of the
    source, or of 0.005 where it has none. With another root the coupling becomes "constant". The account is against the
    source: truncation error, effective mass left out. Raises ResultError, ModelError: an unknown interface; interfaces
    that shapes do not move independently.
    """
    keep = Keep(modes, max_frequency) if modes is not None or max_frequency is not None else None
    if isinstance(source, ReducedBody | ShapedBody):
        whole = source if isinstance(source, ShapedBody) else ShapedBody.of(source)
        return _reduced(whole, interfaces, keep, damping_ratio, mean_axes)
    with of_file(source):
        return _reduced(ShapedBody.read(source), interfaces, keep, damping_ratio, mean_axes)


def _reduced(
    whole: ShapedBody, interfaces: Sequence[str], keep: Keep | None, damping_ratio: float | None, mean_axes: bool
) -> Reduction:
    if mean_axes:
        whole = _in_mean_axes(whole, keep)
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
    values: dict[str, Any] = dict(kept)
    if damping_ratio is not None or "D" not in kept:
        values.pop("D", None)
        values["damping_ratio"] = np.full(T.shape[1], 0.005 if damping_ratio is None else damping_ratio)
    values["mass"], values["included"] = float(kept["mass"]), bool(np.any(kept.get("included", False)))
    body = ReducedBody(
        interface_names=tuple(whole.names[k] for k in places), cells=whole.cells, recovery_names=whole.recovery_names,
        **values,
    )  # fmt: skip
    return _account(body, turned_arrays(arrays, axes, 0), elastic, T, held)


def _in_mean_axes(whole: ShapedBody, keep: Keep | None) -> ShapedBody:
    if not whole.held or keep is not None:
        raise ModelError("mean axes: take a body of femb-modal-1 as it is; choose its root and modes in a step before")
    return in_mean_axes(reduce_further(whole).body)


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
    return Reduction(
        body, listed, held, body.frequencies(), error, effective, missing, "full" if body.second_order else "constant"
    )


def _momenta(arrays: Mapping[str, Floats]) -> Floats:
    return np.hstack([arrays["S1"], arrays["C0"]])
