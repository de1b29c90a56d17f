"""Formulas of quaternions and vectors in components, which are Python numbers or arrays of equal shapes.

Conventions as in ``femb.numerics.rotations``, whose functions evaluate them.
"""

from collections.abc import Sequence
from typing import Any


def product(p: Sequence[Any], q: Sequence[Any]) -> Sequence[Any]:
    """Hamilton product ``p q``."""
    p0, p1, p2, p3 = p
    q0, q1, q2, q3 = q
    return (
        p0 * q0 - p1 * q1 - p2 * q2 - p3 * q3,
        p0 * q1 + p1 * q0 + p2 * q3 - p3 * q2,
        p0 * q2 - p1 * q3 + p2 * q0 + p3 * q1,
        p0 * q3 + p1 * q2 - p2 * q1 + p3 * q0,
    )


def cross(x: Sequence[Any], y: Sequence[Any]) -> Sequence[Any]:
    """Cross product."""
    x0, x1, x2 = x
    y0, y1, y2 = y
    return x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0


def rotation(p: Sequence[Any]) -> Sequence[Any]:
    """The nine entries of the rotation matrix, row by row."""
    p0, p1, p2, p3 = p
    a, b, c, d = p0 * p0, p1 * p1, p2 * p2, p3 * p3
    return (
        *(a + b - c - d, 2.0 * (p1 * p2 - p0 * p3), 2.0 * (p1 * p3 + p0 * p2)),
        *(2.0 * (p1 * p2 + p0 * p3), a - b + c - d, 2.0 * (p2 * p3 - p0 * p1)),
        *(2.0 * (p1 * p3 - p0 * p2), 2.0 * (p2 * p3 + p0 * p1), a - b - c + d),
    )


def rotated(p: Sequence[Any], x: Sequence[Any]) -> Sequence[Any]:
    """Inertial components of a vector x in body components."""
    p0, p1, p2, p3 = p
    x1, x2, x3 = x
    a = p0 * p0 - p1 * p1 - p2 * p2 - p3 * p3
    b = 2.0 * (p1 * x1 + p2 * x2 + p3 * x3)
    c = 2.0 * p0
    return (
        a * x1 + b * p1 + c * (p2 * x3 - p3 * x2),
        a * x2 + b * p2 + c * (p3 * x1 - p1 * x3),
        a * x3 + b * p3 + c * (p1 * x2 - p2 * x1),
    )
