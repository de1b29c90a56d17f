"""Euler angles in all twelve sequences, to and from quaternions and angular velocities.

Sequences are intrinsic: each rotation is about an axis that moves with the rotations before it. So
``"xyz"`` with angles (psi, phi, theta) is ``R = R_x(psi) R_y(phi) R_z(theta)``, body to inertial, and
``p = p_x p_y p_z``. A rotation about fixed axes x, then y, then z is ``"zyx"`` with the angles reversed.
Angles are in radians, shape (..., 3); quaternions and ``omega`` as in ``femb.numerics.rotations``.

One closed form serves all sequences. With i, j, l right- or left-handed (e = +1 or -1), the
symmetric sequence iji with angles (a, b, c) is

    p = (cos(b/2) cos s, cos(b/2) sin s [on i], sin(b/2) cos d [on j], e sin(b/2) sin d [on l]),
    s = (a + c)/2, d = (a - c)/2,

so that two arctangents and two lengths give the angles, without an inverse sine and without cancellation. The
sequence ijk follows because a rotation by pi/2 about j takes axis i to -e k:
``ijk(a, b, c)`` followed by that rotation is ``iji(a, b + pi/2, -e c)``.

Instead of letters, all functions accept any three axes, (3, 3) with a unit vector in each row: see
``femb.numerics.turns``.

At gimbal lock the first and the third axis are parallel: only the sum or the difference of their
angles is then determined. ``gimbal_distance`` is the sine of the angle between these axes.

Sources: E. Bernardes and S. Viollet, PLoS ONE 17(11): e0276302, 2022 (the closed form); Choi,
USC thesis 2014, equations (10) to (17) (dual Euler basis, xyz).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.numerics import turns
from femb.numerics.components import as_components
from femb.numerics.rotations import multiply
from femb.numerics.turns import SEQUENCES as SEQUENCES

# Below this gimbal distance an orientation is treated as locked: some hundred times the rounding error
# of a quaternion, and small enough that the orientation is still returned to 1e-12.
LOCKED = 1e-13


def _axes(sequence: str) -> tuple[int, int, int]:
    """Axis numbers 0, 1, 2 of a sequence. Raises ModelError unless it is one of the twelve."""
    if sequence not in SEQUENCES:
        raise ModelError.at(
            (),
            f"Euler sequence is {sequence!r}; it must be one of {', '.join(SEQUENCES)} "
            "(lower case, intrinsic: about carried axes). For turns about fixed axes reverse sequence and angles.",
        )
    first, second, third = ("xyz".index(axis) for axis in sequence)
    return first, second, third


def _halves(p: Floats, sequence: str) -> tuple[Floats, Floats, Floats, Floats]:
    """The four components (...) of the iji form in the module's docstring, in its order."""
    i, j, k = _axes(sequence)
    if i != k:
        quarter = np.zeros(4)
        quarter[0] = quarter[1 + j] = np.sqrt(0.5)
        p = multiply(p, quarter)
    return p[..., 0], p[..., 1 + i], p[..., 1 + j], _handedness(i, j) * p[..., 4 - i - j]


def _handedness(i: int, j: int) -> float:
    """+1 if axis j follows axis i in the cycle x y z, -1 if it precedes it."""
    return 1.0 if (j - i) % 3 == 1 else -1.0


def _wrap(angle: Floats) -> Floats:
    """Reduce an angle in [-2 pi, 2 pi] to (-pi, pi]; angles in this range are not changed."""
    return np.where(angle > np.pi, angle - 2.0 * np.pi, np.where(angle <= -np.pi, angle + 2.0 * np.pi, angle))


def lock_angles(sequence: Any = "xyz") -> tuple[float, float]:
    """The two middle angles (rad) at which a sequence locks. They differ by pi; the first is in (-pi, 0].

    sequence : three letters, or any three axes (3, 3), for which they are atan2(u . (v x w), u . w - (u . v)(v . w))
    and this angle plus or minus pi. Raises ModelError. Source: Thompson, AIAA 2011-6277, section II.
    """
    if isinstance(sequence, str):
        sequence = np.eye(3)[list(_axes(sequence))]
    return turns.lock_angles(sequence)


def from_euler(angles: ArrayLike, sequence: Any = "xyz") -> Floats:
    """Quaternion (..., 4) of Euler angles (..., 3), rad, of any size. Source: Choi (12)."""
    if not isinstance(sequence, str):
        return turns.quaternion(as_components(angles, 3, "angles"), sequence)
    half = 0.5 * as_components(angles, 3, "Euler angles")
    factors = np.zeros((*half.shape, 4), dtype=half.dtype)
    factors[..., 0] = np.cos(half)
    for k, axis in enumerate(_axes(sequence)):
        factors[..., k, 1 + axis] = np.sin(half[..., k])
    return multiply(multiply(factors[..., 0, :], factors[..., 1, :]), factors[..., 2, :])


def to_euler(p: ArrayLike, sequence: Any = "xyz", unwrap: bool = False) -> Floats:
    """Euler angles (..., 3), rad, of quaternions (..., 4).

    The first and third angle are in (-pi, pi]; the middle one is in [-pi/2, pi/2] if the three
    axes differ, in [0, pi] if the first and last are the same.

    At gimbal lock (``gimbal_distance`` below ``LOCKED``) the first angle is set to zero and the third
    is the angle of the rotation about the common axis; the orientation is the same to 1e-12.

    ``unwrap=True`` takes the first axis of ``p`` as time and adds multiples of 2 pi to the first and third
    angle so that they do not jump by more than pi between samples. Before this, a sample at lock
    has a first angle of zero.
    """
    p = as_components(p, 4, "quaternion")
    if unwrap and p.ndim < 2:
        raise ModelError.at(
            (), f"unwrap=True needs a history of quaternions, (T, ..., 4); got shape {p.shape}. Leave out unwrap."
        )
    if not isinstance(sequence, str):
        angles = turns.angles(p, sequence)
        return _unwrapped(angles) if unwrap else angles
    i, j, k = _axes(sequence)
    h0, hi, hj, hl = _halves(p, sequence)
    middle = 2.0 * np.arctan2(np.hypot(hj, hl), np.hypot(h0, hi))
    half_sum, half_difference = np.arctan2(hi, h0), np.arctan2(hl, hj)
    # At lock one of the two lengths vanishes and its angle is undetermined: use the other angle.
    locked_third = np.where(middle < 0.5 * np.pi, 2.0 * half_sum, -2.0 * half_difference)
    locked = gimbal_distance(p, sequence) < LOCKED
    first = np.where(locked, 0.0, _wrap(half_sum + half_difference))
    third = _wrap(np.where(locked, locked_third, half_sum - half_difference))
    if i != k:
        middle = middle - 0.5 * np.pi
        third = _wrap(-_handedness(i, j) * third)
    angles = np.stack([first, middle, third], axis=-1)
    return _unwrapped(angles) if unwrap else angles


def _unwrapped(angles: Floats) -> Floats:
    """A history of angles with multiples of 2 pi added to the first and third."""
    first, third = np.unwrap(angles[..., 0], axis=0), np.unwrap(angles[..., 2], axis=0)
    return np.stack([first, angles[..., 1], third], axis=-1)


def gimbal_distance(p: ArrayLike, sequence: Any = "xyz") -> Floats:
    """Distance (...) from gimbal lock, from 0 (lock) to 1: ``|cos b|`` of the middle angle b, ``|sin b|`` for iji.

    A product of lengths of quaternion components, exact to 1e-16 at lock, where
    ``sqrt(1 - sin(b)**2)`` would be accurate to 1e-8 only. Euler rates grow as its inverse.
    """
    if not isinstance(sequence, str):
        return turns.lock_distance(as_components(p, 4, "quaternion"), sequence)
    h0, hi, hj, hl = _halves(as_components(p, 4, "quaternion"), sequence)
    a, b = np.hypot(h0, hi), np.hypot(hj, hl)
    result: Floats = 2.0 * a * b / (a * a + b * b)
    return result


def euler_axes(angles: ArrayLike, sequence: Any = "xyz") -> Floats:
    """Matrix (..., 3, 3) whose columns are the three rotation axes in body axes, unit vectors.

    ``omega = euler_axes(angles, sequence) @ euler_rates``. The second column is perpendicular to the
    others; the determinant is plus or minus ``gimbal_distance``.
    """
    angles = as_components(angles, 3, "Euler angles")
    if not isinstance(sequence, str):
        return turns.body_axes(angles, sequence)
    i, j, k = _axes(sequence)
    axes = np.zeros((*angles.shape[:-1], 3, 3), dtype=angles.dtype)
    axes[..., i, 0] = axes[..., j, 1] = axes[..., k, 2] = 1.0
    # Body components of an axis: apply the inverses of the rotations that follow the one about it.
    axes[..., :1] = _rotate_back(axes[..., :1], j, angles[..., 1])
    axes[..., :2] = _rotate_back(axes[..., :2], k, angles[..., 2])
    return axes


def _rotate_back(columns: Floats, axis: int, angle: Floats) -> Floats:
    """``R_axis(-angle) @ columns`` for columns (..., 3, n) and angles (...)."""
    u, v = (axis + 1) % 3, (axis + 2) % 3
    cos, sin = np.cos(angle)[..., None], np.sin(angle)[..., None]
    rotated = columns.copy()
    rotated[..., u, :] = cos * columns[..., u, :] + sin * columns[..., v, :]
    rotated[..., v, :] = cos * columns[..., v, :] - sin * columns[..., u, :]
    return rotated


def omega_from_euler_rates(angles: ArrayLike, rates: ArrayLike, sequence: Any = "xyz") -> Floats:
    """Angular velocity (..., 3) in body axes, rad/s, of Euler angles (..., 3), rad, and their rates (..., 3), rad/s."""
    rates = as_components(rates, 3, "Euler rates")
    return (euler_axes(angles, sequence) @ rates[..., None])[..., 0]


def euler_rates(p: ArrayLike, omega: ArrayLike, sequence: Any = "xyz") -> Floats:
    """Rates (..., 3), rad/s, of the angles of ``to_euler``, from ``omega`` (..., 3) in body axes, rad/s.

    The components of ``omega`` on the dual Euler basis, Choi (10); they grow as 1 / ``gimbal_distance``.

    At gimbal lock (distance below ``LOCKED``) no rates give the part of ``omega`` perpendicular to both
    the common axis and the second one. That part is dropped and the rates of least norm are returned for the
    rest: the first and third rate share the rotation about the common axis equally. No error is raised,
    so that output continues when a run passes through lock; ``gimbal_distance`` tells whether it does.
    """
    omega = as_components(omega, 3, "angular velocity")
    if not isinstance(sequence, str):
        return turns.rates(as_components(p, 4, "quaternion"), omega, sequence, LOCKED)
    axes = euler_axes(to_euler(p, sequence), sequence)
    first, second, third = axes[..., 0], axes[..., 1], axes[..., 2]
    normal = np.cross(second, third)  # unit vector; only the rotation about the first axis has a component along it
    lever = np.sum(normal * first, axis=-1)
    along = np.sum(first * third, axis=-1)
    about_third = np.sum(third * omega, axis=-1)
    locked = np.broadcast_to(gimbal_distance(p, sequence) < LOCKED, about_third.shape)
    rate = np.sum(normal * omega, axis=-1) / np.where(locked, 1.0, lever)
    rate = np.where(locked, 0.5 * along * about_third, rate)
    return np.stack([rate, np.sum(second * omega, axis=-1), about_third - along * rate], axis=-1)
