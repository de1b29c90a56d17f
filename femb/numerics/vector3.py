"""Vector algebra for kernels: three-vectors, quaternions and 3 x 3 matrices in preallocated arrays.

Functions of quaternions take and return components, without arrays. A quaternion p is scalar first and takes components
in a frame's axes to inertial ones; p' = p (0, omega)/2 with omega in the frame's axes.
"""

from typing import Any, NamedTuple

import numpy as np

from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.duals import (
    Dual,
    Matrix3,
    Number,
    SmallArray,
    Vector3,
    Vector4,
    identity,
    lift,
    matrix,
    skew,
    vector,
)
from femb.numerics.compiler.duals import cross as cross_product
from femb.numerics.compiler.traced import V3, V4, add_to, traced

# Columns of a frame: its indices in q and in v, negative if it is fixed, and whether it has axes.
IN_Q, IN_V, HAS_AXES = range(3)


@inlined
def assign(x, y):
    """y (n,) = x. For ``y[:] = x`` numba compiles the message of an error too, which takes it a second."""
    for i in range(x.size):
        y[i] = x[i]


@inlined
def rotation(p, R):
    """R (3, 3), body to inertial, of the quaternion p (4,); p is scaled to unit length first.

    A step adds increments to quaternions, so that the length of stage values differs from one by the order of the step.
    """
    s = 2.0 / (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    a, b, c = s * p[1], s * p[2], s * p[3]
    R[0, 0] = 1.0 - b * p[2] - c * p[3]
    R[1, 1] = 1.0 - a * p[1] - c * p[3]
    R[2, 2] = 1.0 - a * p[1] - b * p[2]
    R[0, 1] = a * p[2] - c * p[0]
    R[1, 0] = a * p[2] + c * p[0]
    R[0, 2] = a * p[3] + b * p[0]
    R[2, 0] = a * p[3] - b * p[0]
    R[1, 2] = b * p[3] - a * p[0]
    R[2, 1] = b * p[3] + a * p[0]


@traced
def attitude(p: Vector4) -> Any:
    """Axes (3, 3), body to inertial, of a quaternion p (4,), as in ``rotation``."""
    w, x, y, z = p
    a, b, c = (2.0 / (p @ p)) * p[1:]
    return identity(3) + matrix(
        (-b * y - c * z, a * y - c * w, a * z + b * w),
        (a * y + c * w, -a * x - c * z, b * z - a * w),
        (a * z - b * w, b * z + a * w, -a * x - b * y),
    )


class MovingFrame(NamedTuple):
    """Axes R (3, 3), body to inertial, place and velocity (3,), inertial axes, and angular velocity (3,), own axes."""

    R: Matrix3
    r: Vector3
    v: Vector3
    omega: Vector3


@traced
def turned_about(R: Matrix3, turn: Vector3) -> Any:
    """Axes R (3, 3) after a small rotation, a change of zero, about them."""
    return R + R @ skew(turn)


@traced
def quaternion_product(a: Vector4, b: Vector4) -> Any:
    """The product a b of quaternions."""
    (a0, a1, a2, a3), (b0, b1, b2, b3) = a, b
    return vector(
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 + a2 * b0 + a3 * b1 - a1 * b3,
        a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1,
    )


@traced
def conjugate(p: Vector4) -> Any:
    """The inverse of a unit quaternion."""
    return vector(p[0], -p[1], -p[2], -p[3])


@traced
def turned(p: Vector4, turn: Vector3) -> Any:
    """A quaternion after a small rotation, a change of zero, about the axes of its frame."""
    x, y, z = turn
    return p + 0.5 * quaternion_product.run(p, vector(0.0, x, y, z))


@traced
def crossed(a: Vector3, b: Vector3) -> Any:
    """a x b."""
    return cross_product(a, b)


@traced
def skewed(a: Vector3) -> Any:
    """The matrix a~ with a~ b = a x b."""
    return skew(a)


@traced
def in_axes(p: Vector4, x: Vector3) -> Any:
    """A vector along the axes that the quaternion p turns to."""
    return attitude.run(p).T @ x


@traced
def out_of_axes(p: Vector4, x: Vector3) -> Any:
    """The reverse of ``in_axes``."""
    return attitude.run(p) @ x


@traced
def still() -> Any:
    """A vector that is zero."""
    return vector(0.0, 0.0, 0.0)


@traced
def unturned() -> Any:
    """The quaternion of inertial axes."""
    return vector(1.0, 0.0, 0.0, 0.0)


@traced
def moving_frame(p: Vector4, r: Vector3, v: Vector3, omega: Vector3) -> Any:
    """The motion of a frame with the quaternion p."""
    return MovingFrame(attitude.run(p), r, v, omega)


def in_group(x: Any, units: Any, group: int) -> Any:
    """x with the changes of units, an array of its shape, as a group of directions of its own."""
    before = (None,) * (group * len(units.items[0].changes))
    pairs = zip(x.items, units.items, strict=True)
    return SmallArray(x.shape, [Dual(each.value, (*before, *unit.changes)) for each, unit in pairs])


def turned_pair(one: MovingFrame, two: MovingFrame, units: Any) -> tuple[MovingFrame, MovingFrame]:
    """Both frames with changes in groups of directions: the second place relative to the first, and both turns."""
    turns = [in_group(vector(0.0, 0.0, 0.0), units, group) for group in (1, 2)]
    place = in_group(two.r, units, 0)
    return one._replace(R=turned_about.run(one.R, turns[0])), two._replace(R=turned_about.run(two.R, turns[1]), r=place)


@inlined
def axes_at(index, first, q, v, fixed):
    """Quaternion (4,) and angular velocity (3,) of a frame; arguments as in ``frame_at``."""
    i, j, p, omega = index[first + IN_Q], index[first + IN_V], unturned(), still()
    if index[first + HAS_AXES]:
        p = V4(q[i + 3 :]) if i >= 0 else V4(fixed[-1 - i, 3:])
        if j >= 0:
            omega = V3(v[j + 3 :])
    return p, omega


@inlined
def frame_at(index, first, q, v, fixed):
    """The motion of a frame.

    index[first:] : the columns IN_Q, IN_V, HAS_AXES of the frame. A negative index i in q is row -1-i of ``fixed``; a
    negative index in v is a frame at rest.
    """
    i, j, rate = index[first + IN_Q], index[first + IN_V], still()
    r = V3(q[i:]) if i >= 0 else V3(fixed[-1 - i])
    if j >= 0:
        rate = V3(v[j:])
    p, omega = axes_at(index, first, q, v, fixed)
    return moving_frame(p, r, rate, omega)


def only_changes(a):
    """A vector of zeros with the changes of another, for traced functions."""
    return vector(*(lift(0.0, (1.0, each)) for each in a))


@inlined
def pose(i, q, fixed, r, R):
    """Position r (3,) and axes R (3, 3) of the frame at q[i:i+7]; for negative i in row -1-i of ``fixed``."""
    if i >= 0:
        for k in range(3):
            r[k] = q[i + k]
        rotation(q[i + 3 : i + 7], R)
    else:
        for k in range(3):
            r[k] = fixed[-1 - i, k]
        rotation(fixed[-1 - i, 3:7], R)


@inlined
def hamilton(a0, a1, a2, a3, b0, b1, b2, b3):
    """The product a b of quaternions."""
    return (
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 + a2 * b0 + a3 * b1 - a1 * b3,
        a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1,
    )


@inlined
def quaternion_times(p0, p1, p2, p3, x, y, z):
    """The product p (0, x, y, z): the rate of p at the angular velocity 2 (x, y, z) in its own axes."""
    return -p1 * x - p2 * y - p3 * z, p0 * x + p2 * z - p3 * y, p0 * y + p3 * x - p1 * z, p0 * z + p1 * y - p2 * x


@inlined
def body_part(p0, p1, p2, p3, x0, x1, x2, x3):
    """Vector part of conj(p) x: for a unit quaternion p with the rate x, half its angular velocity in its own axes."""
    return (
        p0 * x1 - p1 * x0 + p3 * x2 - p2 * x3,
        p0 * x2 - p2 * x0 + p1 * x3 - p3 * x1,
        p0 * x3 - p3 * x0 + p2 * x1 - p1 * x2,
    )


@inlined
def cross(a, b, out):
    """out = a x b; out may be neither a nor b."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@inlined
def dot(a, b):
    """a . b of three-vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def rotate(R, a, out):
    """out = R a."""
    for i in range(3):
        out[i] = R[i, 0] * a[0] + R[i, 1] * a[1] + R[i, 2] * a[2]


@inlined
def rotate_back(R, a, out):
    """out = R^T a."""
    for i in range(3):
        out[i] = R[0, i] * a[0] + R[1, i] * a[1] + R[2, i] * a[2]


@inlined
def product_left_back(A, B, out):
    """out = A^T B."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[0, i] * B[0, j] + A[1, i] * B[1, j] + A[2, i] * B[2, j]


@inlined
def times_skew(factor, A, x, out):
    """out = factor A x~, where x~ y = x cross y; -A x~ is the derivative of A x by a rotation of A in its own axes."""
    for i in range(3):
        out[i, 0] = factor * (A[i, 1] * x[2] - A[i, 2] * x[1])
        out[i, 1] = factor * (A[i, 2] * x[0] - A[i, 0] * x[2])
        out[i, 2] = factor * (A[i, 0] * x[1] - A[i, 1] * x[0])


@inlined
def add_point_force(factor, force, local, point, j, out):
    """Add factor times a force at a point of a frame, and its torque about the frame's origin, to out[j : j + 6].

    force (3,) : in inertial axes; local, point (3,) : the same force, and the point, in the frame's axes.
    """
    for k in range(3):
        f, g = (k + 1) % 3, (k + 2) % 3
        out[j + k] += factor * force[k]
        out[j + 3 + k] += factor * (point[f] * local[g] - point[g] * local[f])


@inlined
def add_row_force(index, factor, J, out):
    """out (n_v,) += factor J of a row J (12,) on two frames; index : the columns of both."""
    for e in range(2):
        j = index[3 * e + IN_V]
        if j >= 0:
            for k in range(6 if index[3 * e + HAS_AXES] else 3):
                out[j + k] += factor * J[6 * e + k]


@inlined
def add_torque_tangent(factor, force, point, at, K):
    """Add factor (f d^T - (d . f) 1) to K[at : at + 3, at : at + 3]: the derivative of the torque d x f by a rotation
    of the frame. f, d (3,) : the force, constant in inertial axes, and its point, both in the frame's axes.
    """
    along = factor * dot(point, force)
    for k in range(3):
        for m in range(3):
            K[at + k, at + m] += factor * force[k] * point[m]
        K[at + k, at + k] -= along


@inlined
def add_block(A, out, row, column):
    """out[row : row + 3, column : column + 3] += A."""
    add_to(A[0], out[row, column:])
    add_to(A[1], out[row + 1, column:])
    add_to(A[2], out[row + 2, column:])


@traced
def column(x: Number, y: Number, z: Number) -> Any:
    """A vector of three numbers."""
    return vector(x, y, z)


@kernel
def scatter(local, starts, sizes, offset, stride, data):
    """Add a dense matrix to block data.

    Groups of rows and columns of ``local`` (first row ``starts``, number of rows ``sizes``) are contiguous in the
    blocks: the entry (0, 0) of the pair of groups (i, j) is added to data[offset[i, j]], the next row starts
    ``stride[i, j]`` later. A pair with a negative offset (a fixed frame) is skipped.
    """
    for i in range(starts.size):
        for j in range(starts.size):
            base = offset[i, j]
            if base < 0:
                continue
            step = stride[i, j]
            for k in range(sizes[i]):
                for m in range(sizes[j]):
                    data[base + k * step + m] += local[starts[i] + k, starts[j] + m]


# First columns and signs of the groups (g, 2) of ``scatter_changes``: of the places and turns of two frames along the
# second place relative to the first, and both turns; and of the turns of two frames.
OF_PAIR, OF_TURNS = np.array([[0, -1], [4, 1], [0, 1], [8, 1]]), np.array([[0, 1], [4, 1]])


@inlined
def scatter_changes(rows, first, groups, offset, stride, data):
    """Add the changes of forces on frames to block data, as ``scatter``: rows (3 g, .), from column ``first``."""
    for i in range(groups.shape[0]):
        for j in range(groups.shape[0]):
            base, step, column, sign = offset[i, j], stride[i, j], first + groups[j, 0], groups[j, 1]
            if base >= 0:
                for k in range(3):
                    for m in range(3):
                        data[base + k * step + m] += sign * rows[3 * i + k, column + m]


@kernel_with_entry
def add_constant(matrices, firsts, sizes, offset, stride, q, out):
    """Add matrices (e, n, n) of elements, equal at all states, to block data (s, size).

    firsts, sizes (g,) : of the groups of their rows and columns. offset, stride (e, g, g) : of the blocks.
    """
    for s in range(q.shape[0]):
        for k in range(matrices.shape[0]):
            scatter(matrices[k], firsts, sizes, offset[k], stride[k], out[s])
