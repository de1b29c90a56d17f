"""Quaternions: algebra, rate maps, rotation matrices, axis and angle.

Conventions, the same everywhere in femb:

- a quaternion ``p = (p0, p1, p2, p3)`` is scalar first, unit, and takes body components to
  inertial ones: ``x_inertial = p (0, x_body) p*``;
- the product is Hamilton's (``i j = k``), so a body attached to a parent has
  ``p_child = multiply(p_parent, p_relative)`` and ``R(p q) = R(p) R(q)``;
- ``omega`` is the angular velocity in body axes, rad/s, unless the name says inertial;
- ``p`` and ``-p`` are the same orientation. Angles are in radians.

Every function accepts leading axes, shapes (..., 4), (..., 3) and (..., 3, 3), and broadcasts them.
Polynomial maps accept complex entries, for differentiation by a complex step.

Sources: [C] H. Choi, *Dynamic modeling and simulations of rigid-flexible coupled systems using quaternion dynamics*,
USC thesis 2014, chapter 2; [T] Thompson, AIAA 2011-6277, appendix.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.numerics import formulas
from femb.numerics.components import (
    as_components,
    components,
    entries_of,
    evaluated,
    kept,
    length_of,
    matrix_of,
    rows_of,
)

# Largest difference of R R^T from the identity: matrices typed with three digits pass.
ORTHOGONALITY = 1e-3
CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


def multiply(p: ArrayLike, q: ArrayLike) -> Floats:
    """Hamilton product ``p q`` (..., 4): the rotation ``q``, then the rotation ``p``, both about inertial axes."""
    return evaluated(formulas.product, (p, 4, "quaternion p"), (q, 4, "quaternion q"))


def conjugate(p: ArrayLike) -> Floats:
    """``p* = (p0, -p1, -p2, -p3)``, the inverse rotation of a unit quaternion (..., 4)."""
    result: Floats = as_components(p, 4, "quaternion") * CONJUGATE
    return result


def normalise(p: ArrayLike) -> Floats:
    """``p / sqrt(p.p)`` of quaternions (..., 4).

    Raises ModelError for a zero quaternion. NaN is returned as NaN: the caller tests for it.
    """
    p = as_components(p, 4, "quaternion")
    if p.ndim == 1 and p.dtype.char == "d":
        p0, p1, p2, p3 = p.tolist()
        norm: Any = math.sqrt(p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
        zero = norm == 0.0
    else:
        norm = np.sqrt(np.add.reduce(p * p, axis=-1, keepdims=True))
        zero = bool(np.logical_or.reduce(norm == 0.0, axis=None))
    if zero:
        advice = "For no rotation write (1, 0, 0, 0), scalar first."
        raise ModelError.at((), f"a quaternion is zero and gives no orientation; it must have length 1. {advice}")
    result: Floats = p / norm
    return result


def rate_body(p: ArrayLike) -> Floats:
    """Map (..., 3, 4) from the rate of a quaternion to the angular velocity in body axes.

    ``omega = 2 rate_body(p) @ pdot``, and ``pdot = rate_body(p).T @ omega / 2``. For a unit ``p`` the rows are
    orthonormal and ``rate_body(p) @ p`` is zero: ``p`` and the rows are the columns of the matrix L in ``p q = L q``.
    Source: L in [T] (25); half of the body matrix in [C] (21).
    """
    p0, p1, p2, p3 = components(p, 4, "quaternion")
    return matrix_of((-p1, p0, p3, -p2), (-p2, -p3, p0, p1), (-p3, p2, -p1, p0))


def rate_inertial(p: ArrayLike) -> Floats:
    """Map (..., 3, 4) from the rate of a quaternion to the angular velocity in inertial axes.

    ``omega_inertial = 2 rate_inertial(p) @ pdot``; ``rate_inertial(p) @ rate_body(p).T`` is the rotation matrix. ``p``
    and its rows are the columns of the matrix G in ``q p = G q``. Source: G in [T], appendix; half of A in [C] (3).
    """
    p0, p1, p2, p3 = components(p, 4, "quaternion")
    return matrix_of((-p1, p0, -p3, p2), (-p2, p3, p0, -p1), (-p3, -p2, p1, p0))


def quaternion_rate(p: ArrayLike, omega: ArrayLike) -> Floats:
    """``pdot = p (0, omega) / 2`` (..., 4), 1/s, from ``omega`` (..., 3) in body axes, rad/s.

    ``p . pdot`` is zero: the length is constant. Source: [T] (28).
    """
    omega = as_components(omega, 3, "angular velocity")
    return 0.5 * multiply(p, np.concatenate([np.zeros_like(omega[..., :1]), omega], axis=-1))


def cross(x: ArrayLike, y: ArrayLike) -> Floats:
    """Cross product (..., 3): np.cross, but faster for few vectors."""
    return evaluated(formulas.cross, (x, 3, "vector"), (y, 3, "vector"))


def cross_matrix(x: ArrayLike) -> Floats:
    """Matrix (..., 3, 3) of the cross product from the left: ``np.cross(x, y) = cross_matrix(x) @ y``."""
    x = as_components(x, 3, "vector")
    result = np.zeros((*x.shape, 3), dtype=x.dtype)
    result[..., 2, 1], result[..., 0, 2], result[..., 1, 0] = x[..., 0], x[..., 1], x[..., 2]
    result[..., 1, 2], result[..., 2, 0], result[..., 0, 1] = -x[..., 0], -x[..., 1], -x[..., 2]
    return result


def rigid_transport(arm: ArrayLike) -> Floats:
    """Matrix (..., 6, 6): displacement and rotation of a point at an ``arm`` (..., 3) by those of a rigid frame."""
    arm = as_components(arm, 3, "vector")
    result = np.zeros((*arm.shape[:-1], 6, 6))
    result[..., range(6), range(6)] = 1.0
    result[..., :3, 3:] = -cross_matrix(arm)
    return result


def rotation_matrix(p: ArrayLike) -> Floats:
    """Matrix (..., 3, 3) from body to inertial components; its columns are the body axes.

    For ``|p|`` other than one it is ``p.p`` times a rotation, as is ``rotate``. Source: [C] (16) with ``p.p = 1``.
    """
    entries = evaluated(formulas.rotation, (p, 4, "quaternion"))
    return entries.reshape(*entries.shape[:-1], 3, 3)


def from_matrix(R: ArrayLike) -> Floats:
    """Unit quaternion (..., 4), ``p0 >= 0``, of rotation matrices (..., 3, 3), body to inertial.

    For a rotation by pi, ``p0 = 0``, the largest component is positive. Raises ModelError for a matrix that is not a
    rotation. Source: largest-component form of [T], appendix.
    """
    R = np.asarray(R, dtype=np.float64)
    p = _of_rotation(R) if R.shape == (3, 3) else None
    if p is not None:
        return p.copy()
    if R.shape[-2:] != (3, 3):
        raise ModelError.at((), f"rotation matrix has shape {R.shape}; it must be (..., 3, 3).")
    error = np.max(np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)), initial=0.0)
    if not error <= ORTHOGONALITY:
        raise ModelError.at(
            (),
            f"matrix is not a rotation: an entry of R R^T is off the identity's by {error:.2g} (at most "
            f"{ORTHOGONALITY:g}). Its columns must be the body axes in inertial components, of unit length.",
        )
    if np.any(np.linalg.det(R) < 0.0):
        raise ModelError.at((), "matrix is a reflection (determinant -1), not a rotation. Reverse one of the axes.")
    squares = matrix_of(*_squares([entries_of(row) for row in rows_of(R)]))
    largest = np.argmax(np.diagonal(squares, axis1=-2, axis2=-1), axis=-1)
    p = normalise(np.take_along_axis(squares, largest[..., None, None], axis=-2)[..., 0, :])
    return np.where(p[..., :1] < 0.0, -p, p)


@kept
def _of_rotation(R: Floats) -> Floats | None:
    """``from_matrix`` of one matrix in Python numbers, for which numpy's calls take longer; None if it is none."""
    (x, xy, xz), (yx, y, yz), (zx, zy, z) = R.tolist()
    errors = (
        *(x * x + xy * xy + xz * xz - 1.0, yx * yx + y * y + yz * yz - 1.0, zx * zx + zy * zy + z * z - 1.0),
        *(x * yx + xy * y + xz * yz, x * zx + xy * zy + xz * z, yx * zx + y * zy + yz * z),
    )
    if not all(-ORTHOGONALITY <= error <= ORTHOGONALITY for error in errors):
        return None
    if x * (y * z - yz * zy) + xy * (yz * zx - yx * z) + xz * (yx * zy - y * zx) < 0.0:
        return None
    squares = _squares(R.tolist())
    diagonal = [row[k] for k, row in enumerate(squares)]
    p0, p1, p2, p3 = squares[diagonal.index(max(diagonal))]
    length = math.sqrt(p0 * p0 + p1 * p1 + p2 * p2 + p3 * p3)
    return np.array([p0, p1, p2, p3]) / (-length if p0 < 0.0 else length)


def _squares(R: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
    """4 p p^T: any row is a multiple of p; the row of the largest component, at least 1/2, is the accurate one."""
    (x, xy, xz), (yx, y, yz), (zx, zy, z) = R
    a, b, c, d, e, f = zy - yz, xz - zx, yx - xy, xy + yx, xz + zx, yz + zy
    return (1 + x + y + z, a, b, c), (a, 1 + x - y - z, d, e), (b, d, 1 - x + y - z, f), (c, e, f, 1 - x - y + z)


def rotate(p: ArrayLike, x: ArrayLike) -> Floats:
    """Inertial components (..., 3) of a vector with body components ``x``: ``p (0, x) p*``, [C] (14)."""
    return evaluated(formulas.rotated, (p, 4, "quaternion"), (x, 3, "vector"))


def rotate_back(p: ArrayLike, x: ArrayLike) -> Floats:
    """Body components (..., 3) of a vector with inertial components ``x``: ``p* (0, x) p``."""
    return rotate(conjugate(p), x)


def from_axis_angle(axis: ArrayLike, angle: ArrayLike) -> Floats:
    """Quaternion (..., 4) of a rotation by ``angle`` (...), rad, about ``axis`` (..., 3), of any length."""
    axis = as_components(axis, 3, "axis")
    length = length_of(axis)[..., None]
    if np.any(length == 0.0):
        raise ModelError.at((), "rotation axis is (0, 0, 0) and has no direction; it must have a length, of any size.")
    half = 0.5 * np.asarray(angle, dtype=np.float64)[..., None]
    vector = np.sin(half) * (axis / length)
    return np.concatenate([np.broadcast_to(np.cos(half), (*vector.shape[:-1], 1)), vector], axis=-1)


def axis_angle(p: ArrayLike) -> tuple[Floats, Floats]:
    """Unit axis (..., 3) and angle (...) in [0, pi], rad, of the shortest rotation; axis (1, 0, 0) if it is zero."""
    p = as_components(p, 4, "quaternion")
    p = np.where(p[..., :1] < 0.0, -p, p)
    vector, length = p[..., 1:], length_of(p[..., 1:])
    zero = (length == 0.0)[..., None]
    axis = np.where(zero, np.array([1.0, 0.0, 0.0]), vector / np.where(zero, 1.0, length[..., None]))
    return axis, 2.0 * np.arctan2(length, p[..., 0])


def exponential(rotation_vector: ArrayLike) -> Floats:
    """Quaternion (..., 4) of a rotation vector (..., 3), axis times angle, rad, of any length."""
    vector = as_components(rotation_vector, 3, "rotation vector")
    half = 0.5 * length_of(vector)[..., None]
    zero = half == 0.0
    factor = np.where(zero, 0.5, 0.5 * np.sin(half) / np.where(zero, 1.0, half))
    return np.concatenate([np.cos(half), factor * vector], axis=-1)


def logarithm(p: ArrayLike) -> Floats:
    """Rotation vector (..., 3), rad, of the shortest rotation: length in [0, pi], the same for ``p`` and ``-p``.

    For a rotation by pi both directions are shortest; the one along the given ``(p1, p2, p3)`` is returned.
    """
    axis, angle = axis_angle(p)
    return axis * angle[..., None]
