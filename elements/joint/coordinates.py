"""Coordinates of joints: angles and strokes, their rates and gradients, at states of a system.

Source: docs/theory/constraints.md, equations (6), (7) and (10).
"""

from copy import copy
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.joint import constraint_kernels as row_kernels
from femb.elements.joint import coordinate_kernels as kernels
from femb.elements.joint.constraint_kernels import ANGLE
from femb.elements.joint.constraint_set import ConstraintSet, Row
from femb.elements.joint.rows import Coordinate, make_row
from femb.layout.layout import JointLayout


def coordinate_row(layout: Any, number: int, joint: JointLayout, coordinate: Coordinate, **more: Any) -> Row:
    """The row that makes a joint's coordinate follow an input; ``more`` as in Row. Source: equations (7), (8)."""
    if not coordinate.is_angle:
        return make_row(layout, number, ("dot2", coordinate.first[0]), joint.first, joint.second, 0.0, **more)
    (a, c), (b, d) = coordinate.first, coordinate.second
    # One end has the same axis in both dot products: that axis turns before two axes of the other end.
    turns_second = b == d
    base, turned = (joint.first, joint.second) if turns_second else (joint.second, joint.first)
    zero, quarter, turning = (c, a, b) if turns_second else (d, b, a)
    axes = base.axes
    return Row(
        number,
        ANGLE,
        base.frame,
        turned.frame,
        first_axis=axes[:, zero],
        first_axis_2=coordinate.sign * axes[:, quarter],
        second_axis=turned.axes[:, turning],
        **more,
    )


class JointCoordinates:
    """All coordinates of the joints of a layout, numbered joint by joint; is_angle (m,) bool."""

    def __init__(self, layout: Any) -> None:
        rows, angles, signs = [], [], []
        for joint in layout.joints.values():
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
        """Some of them, by their numbers; one may come more than once."""
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
        if self.count:  # a model without joints need not wait for these kernels to be compiled
            args = (self.index, self.data, self.is_angle, self.signs, q, v, self.fixed)
            kernels.measure(*args, values, rates, gradients)
        return values, rates, gradients

    def accelerations(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Second rates (s, m) at s states with v' = a.

        The dot products x of two rows a coordinate have x'' = J a - gamma; an angle is the atan2 of two of them.
        """
        if not self.count:
            return np.zeros((len(q), 0))
        index = self.index.copy()
        index[:, row_kernels.ROW] = np.arange(len(index))
        u, free = np.zeros((len(q), 1)), np.zeros((len(q), len(index)))
        x, gamma, rate, second = (np.empty_like(free) for _ in range(4))
        row_kernels.constraints(index, self.data, u, q, v, self.fixed, x, gamma)
        for motion, found in ((v, rate), (a, second)):
            row_kernels.hold(index, self.data, u, q, motion, self.fixed, free, np.zeros_like(v), found)
        second -= gamma
        s, s1, s2 = x[:, 0::2], rate[:, 0::2], second[:, 0::2]
        c, c1, c2 = x[:, 1::2], rate[:, 1::2], second[:, 1::2]
        w = np.where(self.is_angle, s * s + c * c, 1.0)
        turning = (c * s2 - s * c2 - 2.0 * (c * s1 - s * c1) * (s * s1 + c * c1) / w) / w
        return np.where(self.is_angle, self.signs * turning, s2)

    def unwrapped(self, values: Floats, reference: Floats) -> Floats:
        """Angles brought within half a turn of a reference (m,), by whole turns."""
        turns = np.round((values - reference) / (2.0 * np.pi))
        return values - np.where(self.is_angle, 2.0 * np.pi * turns, 0.0)
