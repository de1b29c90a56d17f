"""Euler angles in all twelve sequences, to and from quaternions and angular velocities.

Sequences are intrinsic: each turn is about an axis carried along by the turns before it. So
``"xyz"`` with angles (psi, phi, theta) is ``R = R_x(psi) R_y(phi) R_z(theta)``, body to inertial, and
``p = p_x p_y p_z``. A rotation about fixed axes x, then y, then z is ``"zyx"`` with the angles reversed.
Angles are in radians, shape (..., 3); quaternions and ``omega`` as in ``femb.numerics.rotations``.

One closed form serves all sequences. With i, j, l right- or left-handed (e = +1 or -1), the
symmetric sequence iji with angles (a, b, c) is

    p = (cos(b/2) cos s, cos(b/2) sin s [on i], sin(b/2) cos d [on j], e sin(b/2) sin d [on l]),
    s = (a + c)/2, d = (a - c)/2,

so two arctangents and two lengths give everything, with no inverse sine and nothing cancelling. The
sequence ijk follows since a quarter turn about j takes axis i to -e k:
``ijk(a, b, c)`` followed by that quarter turn is ``iji(a, b + pi/2, -e c)``.

In the place of letters, all functions take any three axes, (3, 3) with a unit vector a row: see
``femb.numerics.turns``.

Gimbal lock is where the first and third axis are parallel: only the sum or the difference of their
angles is then determined. Its distance is ``gimbal_distance``, the sine of the angle between them.

Sources: E. Bernardes and S. Viollet, PLoS ONE 17(11): e0276302, 2022 (the closed form); Choi,
USC thesis 2014, equations (10) to (17) (dual Euler basis, xyz).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.numerics import turns
from femb.numerics.rotations import as_components, multiply
from femb.numerics.turns import SEQUENCES as SEQUENCES

# Below this gimbal distance an orientation is taken as locked: some hundred times the rounding of
# a computed quaternion, and small enough that the orientation is still returned to 1e-12.
LOCKED = 1e-13


def _axes(sequence: str) -> tuple[int, int, int]:
    """Axis numbers 0, 1, 2 of a sequence; ModelError on anything that is not one of the twelve."""
    if sequence not in SEQUENCES:
        raise ModelError.at(
            (),
            f"Euler sequence is {sequence!r}; it must be one of {', '.join(SEQUENCES)} "
            "(lower case, intrinsic: about carried axes). For turns about fixed axes reverse sequence and angles.",
        )
    first, second, third = ("xyz".index(axis) for axis in sequence)
    return first, second, third


def _halves(p: Floats, sequence: str) -> tuple[Floats, Floats, Floats, Floats]:
    """The four components of the iji form above, in its order, (...) each; see the module's docstring."""
    i, j, k = _axes(sequence)
    if i != k:
        quarter = np.zeros(4)
        quarter[0] = quarter[1 + j] = np.sqrt(0.5)
        p = multiply(p, quarter)
    return p[..., 0], p[..., 1 + i], p[..., 1 + j], _handedness(i, j) * p[..., 4 - i - j]


def _handedness(i: int, j: int) -> float:
    """+1 where axis j follows axis i in the cycle x y z, -1 where it precedes."""
    return 1.0 if (j - i) % 3 == 1 else -1.0


def _wrap(angle: Floats) -> Floats:
    """An angle in [-2 pi, 2 pi] brought into (-pi, pi] without touching those already there."""
    return np.where(angle > np.pi, angle - 2.0 * np.pi, np.where(angle <= -np.pi, angle + 2.0 * np.pi, angle))


def lock_angles(sequence: Any = "xyz") -> tuple[float, float]:
    """The two middle angles (rad) at which a sequence locks, half a turn apart, the first in (-pi, 0].

    sequence : three letters, or any three axes (3, 3), for which it is atan2(u . (v x w), u . w - (u . v)(v . w)) and
    half a turn from there. Raises ModelError. Source: Thompson, AIAA 2011-6277, section II.
    """
    if isinstance(sequence, str):
        sequence = np.eye(3)[list(_axes(sequence))]
    return turns.lock_angles(sequence)


def from_euler(angles: ArrayLike, sequence: Any = "xyz") -> Floats:
    """Quaternion (..., 4) of Euler angles (..., 3), rad, of any size. Source: Choi (12)."""
    if not isinstance(sequence, str):
        return turns.quaternion(as_components(angles, 3, "angles"), sequence)
    half = 0.5 * as_components(angles, 3, "Euler angles")
    each = np.zeros((*half.shape, 4), dtype=half.dtype)
    each[..., 0] = np.cos(half)
    for place, axis in enumerate(_axes(sequence)):
        each[..., place, 1 + axis] = np.sin(half[..., place])
    return multiply(multiply(each[..., 0, :], each[..., 1, :]), each[..., 2, :])


def to_euler(p: ArrayLike, sequence: Any = "xyz", unwrap: bool = False) -> Floats:
    """Euler angles (..., 3), rad, of quaternions (..., 4).

    The first and third angle are in (-pi, pi]; the middle one in [-pi/2, pi/2] where the three
    axes differ, in [0, pi] where the first and last are the same.

    At gimbal lock (``gimbal_distance`` below ``LOCKED``) the first angle is set to zero and the third
    carries the whole turn about the common axis; the orientation is the same to 1e-12.

    ``unwrap=True`` takes the first axis of ``p`` as time and adds whole turns to the first and third
    angle so that they do not jump by more than pi between samples. A sample at lock still
    has a first angle of zero before unwrapping.
    """
    p = as_components(p, 4, "quaternion")
    if unwrap and p.ndim < 2:
        raise ModelError.at(
            (), f"unwrap=True needs a history of quaternions, (T, ..., 4); got shape {p.shape}. Leave out unwrap."
        )
    if not isinstance(sequence, str):
        found = turns.angles(p, sequence)
        return _unwrapped(found) if unwrap else found
    i, j, k = _axes(sequence)
    h0, hi, hj, hl = _halves(p, sequence)
    middle = 2.0 * np.arctan2(np.hypot(hj, hl), np.hypot(h0, hi))
    half_sum, half_difference = np.arctan2(hi, h0), np.arctan2(hl, hj)
    # At lock one of the two lengths vanishes with the angle that belongs to it: keep the other.
    held = np.where(middle < 0.5 * np.pi, 2.0 * half_sum, -2.0 * half_difference)
    locked = gimbal_distance(p, sequence) < LOCKED
    first = np.where(locked, 0.0, _wrap(half_sum + half_difference))
    third = _wrap(np.where(locked, held, half_sum - half_difference))
    if i != k:
        middle = middle - 0.5 * np.pi
        third = _wrap(-_handedness(i, j) * third)
    found = np.stack([first, middle, third], axis=-1)
    return _unwrapped(found) if unwrap else found


def _unwrapped(angles: Floats) -> Floats:
    """A history of angles with whole turns added to the first and third."""
    first, third = np.unwrap(angles[..., 0], axis=0), np.unwrap(angles[..., 2], axis=0)
    return np.stack([first, angles[..., 1], third], axis=-1)


def gimbal_distance(p: ArrayLike, sequence: Any = "xyz") -> Floats:
    """Distance (...) from gimbal lock, 0 at lock to 1: ``|cos b|`` of the middle angle, ``|sin b|`` for iji.

    A product of lengths of quaternion components, exact to 1e-16 at lock, where
    ``sqrt(1 - sin(b)**2)`` would be good to 1e-8 only. Euler rates grow as its inverse.
    """
    if not isinstance(sequence, str):
        return turns.lock_distance(as_components(p, 4, "quaternion"), sequence)
    h0, hi, hj, hl = _halves(as_components(p, 4, "quaternion"), sequence)
    one, other = np.hypot(h0, hi), np.hypot(hj, hl)
    result: Floats = 2.0 * one * other / (one * one + other * other)
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
    # Each axis is seen from the body through the turns made after its own, undone.
    axes[..., :1] = _turn_back(axes[..., :1], j, angles[..., 1])
    axes[..., :2] = _turn_back(axes[..., :2], k, angles[..., 2])
    return axes


def _turn_back(columns: Floats, axis: int, angle: Floats) -> Floats:
    """``R_axis(-angle) @ columns`` for columns (..., 3, n) and angles (...)."""
    u, v = (axis + 1) % 3, (axis + 2) % 3
    cos, sin = np.cos(angle)[..., None], np.sin(angle)[..., None]
    turned = columns.copy()
    turned[..., u, :] = cos * columns[..., u, :] + sin * columns[..., v, :]
    turned[..., v, :] = cos * columns[..., v, :] - sin * columns[..., u, :]
    return turned


def omega_from_euler_rates(angles: ArrayLike, rates: ArrayLike, sequence: Any = "xyz") -> Floats:
    """Angular velocity (..., 3) in body axes, rad/s, of Euler angles and their rates (..., 3), rad/s."""
    rates = as_components(rates, 3, "Euler rates")
    return (euler_axes(angles, sequence) @ rates[..., None])[..., 0]


def euler_rates(p: ArrayLike, omega: ArrayLike, sequence: Any = "xyz") -> Floats:
    """Rates (..., 3), rad/s, of the angles ``to_euler`` gives, from ``omega`` (..., 3) in body axes, rad/s.

    The components of ``omega`` on the dual Euler basis, Choi (10); they grow as 1 / ``gimbal_distance``.

    At gimbal lock (distance below ``LOCKED``) no rates give the part of ``omega`` perpendicular to both
    the common axis and the second one. That part is dropped and the rates of least norm are returned for the
    rest: the turn about the common axis is shared equally by the first and third rate. Nothing is raised,
    so that output of a run that passes through lock goes on; ask ``gimbal_distance`` where it matters.
    """
    omega = as_components(omega, 3, "angular velocity")
    if not isinstance(sequence, str):
        return turns.rates(as_components(p, 4, "quaternion"), omega, sequence, LOCKED)
    axes = euler_axes(to_euler(p, sequence), sequence)
    first, second, third = axes[..., 0], axes[..., 1], axes[..., 2]
    normal = np.cross(second, third)  # unit, and the only direction where the first axis alone acts
    lever = np.sum(normal * first, axis=-1)
    along = np.sum(first * third, axis=-1)
    about_third = np.sum(third * omega, axis=-1)
    locked = np.broadcast_to(gimbal_distance(p, sequence) < LOCKED, about_third.shape)
    rate = np.sum(normal * omega, axis=-1) / np.where(locked, 1.0, lever)
    rate = np.where(locked, 0.5 * along * about_third, rate)
    return np.stack([rate, np.sum(second * omega, axis=-1), about_third - along * rate], axis=-1)
