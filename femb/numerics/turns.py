"""Three rotations about any three axes: Euler angles about unit vectors u, v, w instead of coordinate axes.

    R = R_u(a) R_v(b) R_w(c), body to inertial,    omega = [g1 g2 g3] (a', b', c'),
    g3 = w,   g2 = R_w(-c) v,   g1 = R_w(-c) R_v(-b) u,          all in body axes.

The middle angle follows from u . R w = k + h cos(b - b0), where k = (u.v)(v.w) and
b0 = atan2(u . (v x w), u . w - k). Since det [g1 g2 g3] = -h sin(b - b0), the vectors g are in one plane at the lock
angles b0 and b0 + pi, and only two rates are determined there. An attitude with |u . R w - k| > h has no such angles;
if v is perpendicular to u and w, then h = 1 and k = 0, and all attitudes have angles.

Source: Thompson, AIAA 2011-6277, section II (three rotations about u, v, w and their gimbal lock); the branch, the
first and the last angle are derived here.
"""

from typing import Annotated, Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, OneOf
from femb.base.values import as_numbers, finite_problem, shown
from femb.numerics import rotations

SEQUENCES = ("xyz", "xzy", "yzx", "yxz", "zxy", "zyx", "xyx", "xzx", "yxy", "yzy", "zxz", "zyz")
EulerSequence = Annotated[str, OneOf(SEQUENCES)]
"""One of the twelve sequences of axes."""
# Smallest sine of the angle between two successive axes; tolerance for attitudes at the limit of the range of angles.
PARALLEL = 1e-6
RANGE = 1e-12


def axes_problem(axes: Any) -> str | None:
    """Why these are not three axes of successive rotations; None if they are."""
    array = as_numbers(axes)
    if array is None or array.shape != (3, 3):
        return f"got {shown(axes)}, wanted one of {', '.join(SEQUENCES)}, or three axes of three numbers"
    problem = finite_problem(axes, array)
    if problem:
        return problem
    lengths = np.linalg.norm(array, axis=1)
    if not np.all(lengths > 0.0):
        return f"got {shown(axes)}: an axis must not be zero"
    u, v, w = array / lengths[:, None]
    if min(np.linalg.norm(np.cross(u, v)), np.linalg.norm(np.cross(v, w))) < PARALLEL:
        return f"got {shown(axes)}: two turns in a row are about one axis"
    return None


def unit_axes(axes: Any) -> Floats:
    """(3, 3) the unit vectors u, v, w as rows. Raises ModelError unless ``axes_problem`` is None."""
    problem = axes_problem(axes)
    if problem:
        raise ModelError.at((), problem)
    array = np.array(axes, dtype=float)
    return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True))


def _middle(axes: Floats) -> tuple[float, float, float]:
    """k, h and b0 of the module's docstring."""
    u, v, w = axes
    k = float((u @ v) * (v @ w))
    sine, cosine = float(u @ np.cross(v, w)), float(u @ w) - k
    return k, float(np.hypot(sine, cosine)), float(np.arctan2(sine, cosine))


def lock_angles(axes: Any) -> tuple[float, float]:
    """The two middle angles (rad) at which the rotations lock, which differ by pi; the first is in (-pi, 0]."""
    _, _, first = _middle(unit_axes(axes))
    return (first, first + np.pi) if first <= 0.0 else (first - np.pi, first)


def quaternion(angles: Floats, axes: Any) -> Floats:
    """Quaternion (..., 4) of the angles (..., 3), rad."""
    u, v, w = unit_axes(axes)
    factors = [rotations.from_axis_angle(axis, angles[..., k]) for k, axis in enumerate((u, v, w))]
    return rotations.multiply(rotations.multiply(factors[0], factors[1]), factors[2])


def angles(p: Floats, axes: Any) -> Floats:
    """Angles (..., 3), rad, of quaternions (..., 4): the middle one between the lock angles, the others in (-pi, pi].

    Near lock they are accurate to 1e-8. Raises ModelError for an attitude that no three such rotations reach.
    """
    u, v, w = unit_axes(axes)
    k, h, first = _middle(np.array([u, v, w]))
    p = rotations.normalise(p)
    rotated = rotations.rotate(p, w)
    cosine = (rotated @ u - k) / h
    if np.any(np.abs(cosine) > 1.0 + RANGE):
        raise ModelError.at(
            (),
            "an attitude that no three turns about these axes reach: take a second axis that is perpendicular to the "
            "first and the third",
        )
    difference = np.arccos(np.clip(cosine, -1.0, 1.0))
    middle = first + difference if first <= 0.0 else first - difference
    unrotated = rotations.rotate(rotations.from_axis_angle(v, middle), w)
    along_u, rotated_along_u = unrotated @ u, rotated @ u
    sine = np.cross(unrotated, rotated) @ u
    cosine_about_u = np.sum(unrotated * rotated, axis=-1) - along_u * rotated_along_u
    # if the rotated third axis is parallel to the first, only the sum of their angles is determined
    first_angle = np.where(np.hypot(sine, cosine_about_u) > RANGE, np.arctan2(sine, cosine_about_u), 0.0)
    two_rotations = rotations.multiply(rotations.from_axis_angle(u, first_angle), rotations.from_axis_angle(v, middle))
    remaining = rotations.multiply(rotations.conjugate(two_rotations), p)
    last = 2.0 * np.arctan2(remaining[..., 1:] @ w, remaining[..., 0])
    last = np.where(last > np.pi, last - 2.0 * np.pi, np.where(last <= -np.pi, last + 2.0 * np.pi, last))
    return np.stack([first_angle, middle, last], axis=-1)


def body_axes(angles: Floats, axes: Any) -> Floats:
    """(..., 3, 3) with the columns g1, g2, g3, the axes of the three rotations in body axes, at angles (..., 3)."""
    u, v, w = unit_axes(axes)
    back_third = rotations.from_axis_angle(w, -angles[..., 2])
    back_second = rotations.from_axis_angle(v, -angles[..., 1])
    second = rotations.rotate(back_third, v)
    first = rotations.rotate(rotations.multiply(back_third, back_second), u)
    return np.stack([first, second, np.broadcast_to(w, first.shape)], axis=-1)


def lock_distance(p: Floats, axes: Any) -> Floats:
    """Distance from gimbal lock (...): |det [g1 g2 g3]|, zero at lock."""
    result: Floats = np.abs(np.linalg.det(body_axes(angles(p, axes), axes)))
    return result


def rates(p: Floats, omega: Floats, axes: Any, locked: float) -> Floats:
    """Rates (..., 3) of the angles, rad/s; the rates of least norm if the distance from lock is below ``locked``."""
    B = body_axes(angles(p, axes), axes)
    near = np.abs(np.linalg.det(B)) < locked
    B, omega = np.broadcast_to(B, (*omega.shape, 3)), omega[..., None]
    regular = np.where(near[..., None, None], np.eye(3), B)
    least = np.linalg.pinv(B, rcond=1e-6) @ omega if np.any(near) else omega
    return np.where(near[..., None], least[..., 0], np.linalg.solve(regular, omega)[..., 0])
