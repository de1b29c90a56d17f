"""Coordinates of joints (angles and strokes), their rates and gradients, at states of a system.

Source: docs/theory/constraints.md, equations (6), (7) and (10).
"""

import math
from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.joint import constraint_kernels as row_kernels
from femb.elements.joint.columns import ANGLE, FIRST, ROW, SECOND
from femb.elements.joint.constraint_kernels import rate_of, row
from femb.elements.joint.constraint_set import ConstraintRow, ConstraintSet
from femb.elements.joint.rows import Coordinate, make_row
from femb.layout.layout import JointLayout, Layout
from femb.numerics.compiler.compile import kernel
from femb.numerics.vector3 import HAS_AXES, IN_V

# Kernels over coordinates of joints, computed from the dot products of rows of constraints.
#
# An angle is atan2(s S, C) of two DOT1 rows S and C; its gradient (C J_S - S J_C) s/(C^2 + S^2). A stroke is a DOT2
# row. index, data : two rows for every coordinate, see ``columns``.


@kernel
def measure(index, data, is_angle, signs, q, v, fixed, values, rates, gradients):
    """Set values and rates (s, m), and gradients (s, m, 12) on (rdot_i, omega_i, rdot_j, omega_j)."""
    A, B = np.empty(12), np.empty(12)
    u, R, W = np.zeros(1), np.empty((2, 3, 3)), np.empty((22, 3))
    for s in range(q.shape[0]):
        for k in range(is_angle.size):
            x, _, _ = row(index[2 * k], data[2 * k], u, q[s], v[s], fixed, A, R, W)
            if is_angle[k]:
                y, _, _ = row(index[2 * k + 1], data[2 * k + 1], u, q[s], v[s], fixed, B, R, W)
                f = signs[k] / (x * x + y * y)
                for j in range(12):
                    A[j] = f * (y * A[j] - x * B[j])
                x = math.atan2(signs[k] * x, y)
            values[s, k] = x
            rates[s, k] = rate_of(index[2 * k], v[s], A)
            for j in range(12):
                gradients[s, k, j] = A[j]


@kernel
def unwrap(is_angle, reference, values):
    """Add multiples of 2 pi to the angles in values (s, m), so that they are within pi of a reference (1 or s, m)."""
    for s in range(values.shape[0]):
        of = s if reference.shape[0] > 1 else 0
        for k in range(is_angle.size):
            if is_angle[k]:
                revolutions = round((reference[of, k] - values[s, k]) / (2.0 * math.pi))
                if revolutions != 0.0:
                    values[s, k] += 2.0 * math.pi * revolutions


def coordinate_row(
    layout: Layout, number: int, joint: JointLayout, coordinate: Coordinate, **more: Any
) -> ConstraintRow:
    """The row of constraint between a coordinate and an input; ``more`` as in Row. Source: equations (7) and (8)."""
    if not coordinate.is_angle:
        return make_row(layout, number, ("dot2", coordinate.first[0]), joint.first, joint.second, 0.0, **more)
    (a, c), (b, d) = coordinate.first, coordinate.second
    # One end has the same axis in both dot products; the angle is measured from an axis of the other end, the base.
    base_first = b == d
    base, other = (joint.first, joint.second) if base_first else (joint.second, joint.first)
    zero, quarter, measured = (c, a, b) if base_first else (d, b, a)
    axes = base.axes
    return ConstraintRow(
        number,
        ANGLE,
        base.frame,
        other.frame,
        first_axis=axes[:, zero],
        first_axis_2=coordinate.sign * axes[:, quarter],
        second_axis=other.axes[:, measured],
        **more,
    )


class JointCoordinates:
    """All m coordinates of the joints of a layout, or of given ones, in the order of the joints; is_angle (m,) bool."""

    def __init__(self, layout: Layout, joints: Iterable[JointLayout] | None = None) -> None:
        rows, angles, signs = [], [], []
        for joint in layout.joints.values() if joints is None else joints:
            for coordinate in joint.coordinates:
                angles.append(coordinate.is_angle)
                signs.append(coordinate.sign)
                specs: list[tuple[Any, ...]]
                if coordinate.is_angle:
                    specs = [("dot1", coordinate.first[k], coordinate.second[k]) for k in (0, 1)]
                else:
                    specs = [("dot2", coordinate.first[0])] * 2
                rows += [make_row(layout, -1, spec, joint.first, joint.second, 0.0) for spec in specs]
        self.count = len(angles)
        self.is_angle = np.array(angles, dtype=bool)
        self.signs: Floats = np.array(signs, dtype=float)
        self.index: Ints
        self.index, self.data = ConstraintSet.tables(layout, rows)
        self.fixed = layout.fixed

    def picked(self, numbers: Ints) -> "JointCoordinates":
        """The coordinates with these numbers, of which some may be repeated."""
        other = copy(self)
        other.count = len(numbers)
        other.is_angle, other.signs = self.is_angle[numbers], self.signs[numbers]
        rows = np.stack([2 * numbers, 2 * numbers + 1], axis=1).ravel()
        other.index, other.data = self.index[rows], self.data[rows]
        return other

    def measure(self, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Values, rates (s, m) and gradients (s, m, 12) on (rdot_i, omega_i, rdot_j, omega_j); angles within pi."""
        values, rates = np.empty((2, len(q), self.count))
        gradients = np.empty((len(q), self.count, 12))
        if self.count:  # a model without joints does not compile these kernels
            args = (self.index, self.data, self.is_angle, self.signs, q, v, self.fixed)
            measure(*args, values, rates, gradients)
        return values, rates, gradients

    def accelerations(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Second rates (s, m) at s states with v' = a.

        The dot products x of the two rows of a coordinate have x'' = J a - gamma; an angle is the atan2 of both.
        """
        if not self.count:
            return np.zeros((len(q), 0))
        index = self.index.copy()
        index[:, ROW] = np.arange(len(index))
        u, free = np.zeros((len(q), 1)), np.zeros((len(q), len(index)))
        x, gamma, rate, second = (np.empty_like(free) for _ in range(4))
        row_kernels.constraints(index, self.data, u, q, v, self.fixed, x, gamma)
        for motion, result in ((v, rate), (a, second)):
            row_kernels.constraint_force(index, self.data, u, q, motion, self.fixed, free, np.zeros_like(v), result)
        second -= gamma
        s, s1, s2 = x[:, 0::2], rate[:, 0::2], second[:, 0::2]
        c, c1, c2 = x[:, 1::2], rate[:, 1::2], second[:, 1::2]
        w = np.where(self.is_angle, s * s + c * c, 1.0)
        angular = (c * s2 - s * c2 - 2.0 * (c * s1 - s * c1) * (s * s1 + c * c1) / w) / w
        return np.where(self.is_angle, self.signs * angular, s2)

    def rows(self, number: int, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """(12,) derivatives of a coordinate, and of its rate at constant v, by the pose, at a state q (n_q,), v (n_v,).

        Columns are (r_i, rotation of frame i, r_j, rotation of frame j), rotations in the axes of the frames. The first
        is also the derivative J of the rate by the velocities. The second rate at v' = 0 is quadratic in v, so that
        differences of it are exact, but symmetric in two motions; rotations one after the other in turned axes are not:

            B(v, xi) = d(J v)/dq H xi = (v''(v + xi) - v''(v - xi)) / 4 + J (xi x v) / 2

        with v'' the second rate, and cross products of angular velocities. Source: docs/theory/linearisation.md, 4.
        """
        one = self.picked(np.array([number]))
        gradient = one.measure(q[None], v[None])[2][0, 0]
        size = max(1.0, float(np.max(np.abs(v), initial=0.0)))
        places = [(one.index[0, first + IN_V], 6 * k) for k, first in enumerate((FIRST, SECOND))]
        by_pose = np.zeros(12)
        freedoms = [6 if one.index[0, first + HAS_AXES] else 3 for first in (FIRST, SECOND)]
        for (place, column), freedom in zip(places, freedoms, strict=True):
            if place < 0:
                continue
            changes = np.zeros((2 * freedom, len(v)))
            changes[np.arange(freedom), place + np.arange(freedom)] = size
            changes[freedom:] = -changes[:freedom]
            still = np.zeros_like(changes)
            second = one.accelerations(np.tile(q, (2 * freedom, 1)), v + changes, still)[:, 0]
            by_pose[column : column + freedom] = (second[:freedom] - second[freedom:]) / (4.0 * size)
            if freedom == 6:
                turn, omega = gradient[column + 3 : column + 6], v[place + 3 : place + 6]
                by_pose[column + 3 : column + 6] += 0.5 * np.cross(omega, turn)
        return gradient, by_pose

    def unwrapped(self, values: Floats, reference: Floats) -> Floats:
        """Values with multiples of 2 pi added to the angles: within pi of a reference (m,) or (s, m)."""
        result = values.copy()
        if self.count:
            rows = (-1, self.count)
            unwrap(self.is_angle, reference.reshape(rows), result.reshape(rows))
        return result
