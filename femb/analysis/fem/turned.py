"""A reduced body in other shapes, or along other axes: which axes of its arrays are coordinates, and which vectors."""

import numpy as np
from scipy.linalg import block_diag

from femb.base.types import Floats

# Axes of the arrays of ReducedBody that number its coordinates, and those that are along x, y and z.
COORDINATES = {
    "S1": (0,), "C0": (0,), "M": (0, 1), "K": (0, 1), "D": (0, 1), "J1": (0,), "J2": (0, 1), "Q": (0, 1),
    "S2": (0, 1), "B2": (0, 1), "psi2": (2, 3), "node_shapes": (0,), "recovery": (1,),
}  # fmt: skip
VECTORS = {
    "S1": (1,), "C0": (1,), "J1": (1, 2), "J2": (2, 3), "Q": (2,), "S2": (2,), "B2": (2, 3), "psi2": (1,),
    "node_shapes": (2,), "first_moment": (0,), "inertia": (0, 1), "interfaces": (1,), "interface_axes": (1,),
    "nodes": (1,),
}  # fmt: skip


def combined_arrays(arrays: dict[str, Floats], T: Floats) -> dict[str, Floats]:
    """Arrays of the shapes Psi T (n, m) in place of those of the shapes Psi."""
    return {name: _along(value, T, COORDINATES.get(name, ())) for name, value in arrays.items()}


def turned_arrays(arrays: dict[str, Floats], axes: Floats, boundary: int) -> dict[str, Floats]:
    """Arrays along ``axes`` (3, 3), columns, in place of the present axes.

    boundary : how many coordinates are of interfaces.
    """
    size = len(arrays["K"])
    T = block_diag(*[axes] * (boundary // 3), np.eye(size - boundary))
    out = combined_arrays(arrays, T)
    return {name: _along(value, axes, VECTORS.get(name, ())) for name, value in out.items()}


def _along(value: Floats, T: Floats, axes: tuple[int, ...]) -> Floats:
    for axis in axes:
        value = np.moveaxis(np.tensordot(value, T, (axis, 0)), -1, axis)
    return value
