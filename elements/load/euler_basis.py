"""Kernels of the Euler basis and its dual: base vectors, and their change with rotations of the axes.

With the first rotation about an axis g_1 fixed in one frame, the third about an axis g_3 fixed in the other, and the
second about g_2 perpendicular to both,

    omega = sum rate_m g_m,    g^m . g_n = 1 if m = n else 0,    rate_m = g^m . omega,
    g_2 = g^2 = +-(g_3 x g_1)/d,    g^1 = (g_1 - s g_3)/d2,    g^3 = (g_3 - s g_1)/d2,    s = g_1 . g_3,

where d = |g_3 x g_1| is |cos phi| for three different axes and |sin phi| if the first axis is also the last. It is
computed from the cross product, since 1 - s2 loses digits if d is small. The Euler basis g_m has unit length; |g^1| =
|g^3| = 1/d. Source: Choi, USC thesis 2014, equations (8) to (11); docs/theory/rigid_body.md.
"""

from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.numerics.compiler.compile import kernel
from femb.numerics.compiler.duals import Number, Vector3, cross, dot, matrix, norm
from femb.numerics.compiler.traced import traced
from femb.numerics.vector3 import cross as cross_into
from femb.numerics.vector3 import dot as dot_of
from femb.numerics.vector3 import rotation

# Smallest d of a motion; the length of the dual base vectors is then 1/NEAREST.
NEAREST = 1e-4


def axes_of(sequence: str) -> tuple[int, int, float]:
    """First and last axis (0, 1, 2) of a sequence such as "xyz", and the sign of g_3 x g_1 along g_2."""
    first, second, third = ("xyz".index(axis) for axis in sequence)
    if first == third:
        return first, third, -1.0
    return first, third, 1.0 if (second - first) % 3 == 1 else -1.0


def measure_of(sequence: str) -> str:
    """The symbol of the distance d from gimbal lock, where phi is the middle angle."""
    return "|sin phi|" if sequence[0] == sequence[2] else "|cos phi|"


def lock_vector(first: int, third: Floats, quaternion: Floats, omega: Floats) -> tuple[Floats, Floats]:
    """The vector (s, 2) of length d, and its rate: the part of the last axis perpendicular to the first.

    quaternion (s, 4), omega (s, 3) : attitude and angular velocity of the frame of the last axis relative to that of
    axis ``first``. third (3,) : the last axis. omega and third are in the axes of the former frame.
    """
    y, rate = np.empty((2, len(quaternion), 2))
    lock_vectors(first, third, quaternion, omega, y, rate)
    return y, rate


@kernel
def lock_vectors(first, third, quaternion, omega, y, rate):
    R, c = np.empty((3, 3)), np.empty(3)
    for s in range(y.shape[0]):
        rotation(quaternion[s], R)
        cross_into(omega[s], third, c)
        for k in range(2):
            row = R[(first + 1 + k) % 3]
            y[s, k] = dot_of(row, third)
            rate[s, k] = dot_of(row, c)


@traced
def euler_basis(g1: Vector3, g3: Vector3, sign: Number) -> Any:
    """The base vectors (3, 3) of the Euler basis, a row each."""
    x = cross(g3, g1)
    return matrix(g1, sign * x / norm(x), g3)


@traced
def dual_basis(g1: Vector3, g3: Vector3, sign: Number) -> Any:
    """The columns of the dual of the Euler basis."""
    x, s = cross(g3, g1), dot(g1, g3)
    square = dot(x, x)
    return matrix((g1 - s * g3) / square, sign * x / norm(x), (g3 - s * g1) / square)
