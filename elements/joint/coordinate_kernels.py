"""Kernels over coordinates of joints, computed from the dot products of rows of constraints.

An angle is atan2(s S, C) of two DOT1 rows S and C; its gradient (C J_S - S J_C) s/(C^2 + S^2). A stroke is a DOT2 row.
index, data : two rows for every coordinate, see ``columns``.
"""

import math

import numpy as np

from femb.elements.joint.constraint_kernels import rate_of, row
from femb.numerics.compile import kernel


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
