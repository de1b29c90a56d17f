"""Quantities along a motion with their first two rates, and the changes of all three to first order.

Sums, products and functions of such quantities follow from the rules of Leibniz and of the chain.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats


@dataclass(frozen=True, eq=False)
class Course:
    """A vector (n,), or a number (1,), in a motion that changes.

    values (3, n) : the quantity, its rate and its second rate. changes (3, n, m) : their changes by m parameters.
    """

    values: Floats
    changes: Floats

    def __add__(self, other: "Course") -> "Course":
        return Course(self.values + other.values, self.changes + other.changes)

    def __sub__(self, other: "Course") -> "Course":
        return Course(self.values - other.values, self.changes - other.changes)

    def scaled(self, factor: float) -> "Course":
        """The quantity times a constant."""
        return Course(factor * self.values, factor * self.changes)

    def along(self, axis: Floats) -> "Course":
        """The component along a constant axis (n,)."""
        return Course((self.values @ axis)[:, None], np.einsum("knm,n->km", self.changes, axis)[:, None])

    def dot(self, other: "Course") -> "Course":
        """The scalar product with another one."""
        values, changes = np.zeros((3, 1)), np.zeros((3, 1, self.changes.shape[2]))
        for n in range(3):
            for k in range(n + 1):
                a, b, factor = self.values[k], other.values[n - k], math.comb(n, k)
                values[n] += factor * (a @ b)
                changes[n] += factor * (a @ other.changes[n - k] + b @ self.changes[k])
        return Course(values, changes)

    def function(self, derivatives: Callable[[float], Any]) -> "Course":
        """A function of this number; ``derivatives`` (4,) are its value and its first three derivatives."""
        c, rate, second = self.values[:, 0]
        value, slope, bend, third = derivatives(float(c))
        by = self.changes
        changes = [
            slope * by[0],
            slope * by[1] + bend * rate * by[0],
            slope * by[2] + bend * (second * by[0] + 2.0 * rate * by[1]) + third * rate**2 * by[0],
        ]
        return Course(np.array([[value], [slope * rate], [slope * second + bend * rate**2]]), np.array(changes))

    def angle(self, cosine: "Course") -> "Course":
        """The angle of which this number and ``cosine`` are sine and cosine, times one length: with w the square of
        it, w t' = C S' - S C' and w t'' = C S'' - S C'' - w' t'."""
        (s, ds), (c, dc) = ((each.values[:, 0], each.changes) for each in (self, cosine))
        w, dw = s[0] ** 2 + c[0] ** 2, 2.0 * (s[0] * ds[0] + c[0] * dc[0])
        w1 = 2.0 * (s[0] * s[1] + c[0] * c[1])
        dw1 = 2.0 * (s[1] * ds[0] + s[0] * ds[1] + c[1] * dc[0] + c[0] * dc[1])
        first, second = (c[0] * s[k] - s[0] * c[k] for k in (1, 2))
        d_first, d_second = (s[k] * dc[0] + c[0] * ds[k] - c[k] * ds[0] - s[0] * dc[k] for k in (1, 2))
        rate = first / w
        again = (second - rate * w1) / w
        d_rate = (d_first - rate * dw) / w
        d_again = (d_second - w1 * d_rate - rate * dw1 - again * dw) / w
        values = np.array([[math.atan2(s[0], c[0])], [rate], [again]])
        return Course(values, np.array([(c[0] * ds[0] - s[0] * dc[0]) / w, d_rate, d_again]))
