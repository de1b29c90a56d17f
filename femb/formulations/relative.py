"""Rotations of joints in relative coordinates: 1-2-3 angles, and the three choices of speeds.

    "fixed"    hat, relative angular velocity in axes fixed in the parent
    "body"     R hat, the same in body axes
    "angles"   rates of the 1-2-3 angles theta, R = R_3 R_2 R_1

with R from parent to body components, in the axes of the joint. Sources: docs/theory/relative.md; Kamman, *Multibody
Dynamics - Accelerations Using Relative Coordinates*, equations (1) to (10).
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.numerics.rotations import cross_matrix

Speeds = Literal["fixed", "body", "angles"]
SPEEDS: tuple[Speeds, ...] = ("fixed", "body", "angles")

# 1-2-3 angles of relative attitudes: map of rates and its time derivative, gimbal lock.
#
# Complex entries are accepted. Source: docs/theory/relative.md, equations (9) to (12).

# Below this gimbal distance |cos theta_2| angle rates are not computed: they would lose half of their digits.
GIMBAL = 1e-8


def rate_map(theta: ArrayLike) -> Floats:
    """Omega_p (..., 3, 3): relative angular velocity in parent axes = Omega_p thetadot."""
    theta = np.asarray(theta)
    c1, s1 = np.cos(theta[..., 0]), np.sin(theta[..., 0])
    c2, s2 = np.cos(theta[..., 1]), np.sin(theta[..., 1])
    zero, one = np.zeros_like(c1), np.ones_like(c1)
    return _rows((one, zero, s2), (zero, c1, -s1 * c2), (zero, s1, c1 * c2))


def rate_map_rate(theta: ArrayLike, rate: ArrayLike) -> Floats:
    """Time derivative (..., 3, 3) of ``rate_map`` at angle rates (..., 3)."""
    theta, rate = np.asarray(theta), np.asarray(rate)
    c1, s1 = np.cos(theta[..., 0]), np.sin(theta[..., 0])
    c2, s2 = np.cos(theta[..., 1]), np.sin(theta[..., 1])
    t1, t2 = rate[..., 0], rate[..., 1]
    zero = np.zeros_like(c1 * t1)
    return _rows(
        (zero, zero, c2 * t2),
        (zero, -s1 * t1, -c1 * c2 * t1 + s1 * s2 * t2),
        (zero, c1 * t1, -s1 * c2 * t1 - c1 * s2 * t2),
    )


def gimbal_distance(theta: ArrayLike) -> Floats:
    """|cos theta_2| (...), the absolute value of the determinant of ``rate_map``: 0 at lock, at most 1."""
    result: Floats = np.abs(np.cos(np.real(np.asarray(theta)[..., 1])))
    return result


def angle_rates(theta: ArrayLike, hat: ArrayLike) -> Floats:
    """thetadot (..., 3) of relative angular velocities (..., 3) in parent axes.

    Raises SolveError if the distance from gimbal lock is below ``GIMBAL``.
    """
    theta = np.asarray(theta)
    distance = gimbal_distance(theta)
    if np.any(distance < GIMBAL):
        raise SolveError(
            f"1-2-3 angles are locked: the second is within {np.min(distance):.2g} of a right angle "
            f"(|cos theta_2|, at least {GIMBAL:g}), where the rates of the first and third are undetermined. Take "
            "angular velocities as speeds"
        )
    return np.linalg.solve(rate_map(theta), np.asarray(hat)[..., None])[..., 0]


def _rows(*rows: tuple[Any, ...]) -> Floats:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def speed_columns(speeds: Speeds, R: Floats, theta: Floats | None, rate: Floats) -> tuple[Floats, Floats]:
    """Relative angular velocity, parent axes, by the speeds of a rotation (3, 3), and the rate of these columns at the
    speeds ``rate`` (3,). R (3, 3) : parent to body components; theta (3,) : the angles, for their rates."""
    if speeds == "fixed":
        return np.eye(3), np.zeros((3, 3))
    if speeds == "body":
        return R.T, R.T @ cross_matrix(rate)
    assert theta is not None
    return rate_map(theta), rate_map_rate(theta, rate)
