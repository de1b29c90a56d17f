"""Kernels of the rotation by a vector and of the mean of the rotations on the way to it, apart from the elements.

Source: docs/theory/exact_beam.md, section 10.
"""

import math

from femb.numerics.compiler.compile import inlined
from femb.numerics.vector3 import add_skew


@inlined
def rotation_and_mean(psi, E, A):
    """E (3, 3) = exp(psi) and A (3, 3), the mean of the rotations from none to psi: equation (27)."""
    t = psi[0] * psi[0] + psi[1] * psi[1] + psi[2] * psi[2]
    if t < 1e-2:
        s = 1.0 - t / 6.0 * (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0)))
        a = 0.5 - t / 24.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0 * (1.0 - t / 90.0)))
        b = 1.0 / 6.0 - t / 120.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0)))
    else:
        size = math.sqrt(t)
        s = math.sin(size) / size
        a = (1.0 - math.cos(size)) / t
        b = (1.0 - s) / t
    for i in range(3):
        for j in range(3):
            E[i, j] = a * psi[i] * psi[j]
            A[i, j] = b * psi[i] * psi[j]
        E[i, i] += 1.0 - a * t
        A[i, i] += 1.0 - b * t
    add_skew(s, psi, E)
    add_skew(a, psi, A)


@inlined
def mean_change(psi, y, M):
    """M (3, 3): derivative of A(psi)^T y by psi."""
    t = psi[0] * psi[0] + psi[1] * psi[1] + psi[2] * psi[2]
    if t < 1e-2:
        a = 0.5 - t / 24.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0 * (1.0 - t / 90.0)))
        b = 1.0 / 6.0 - t / 120.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0)))
        # derivatives by t
        da = -1.0 / 24.0 + t / 360.0 * (1.0 - t * 3.0 / 112.0 * (1.0 - t * 4.0 / 270.0))
        db = -1.0 / 120.0 + t / 2520.0 * (1.0 - t * 3.0 / 144.0 * (1.0 - t * 4.0 / 330.0))
    else:
        size = math.sqrt(t)
        sine, cosine = math.sin(size), math.cos(size)
        a = (1.0 - cosine) / t
        b = (1.0 - sine / size) / t
        da = (0.5 * sine / size - a) / t
        db = (0.5 * (sine / size - cosine) / t - b) / t
    s = psi[0] * y[0] + psi[1] * y[1] + psi[2] * y[2]
    c0 = psi[1] * y[2] - psi[2] * y[1]
    c1 = psi[2] * y[0] - psi[0] * y[2]
    c2 = psi[0] * y[1] - psi[1] * y[0]
    for i in range(3):
        cross_i = c0 if i == 0 else (c1 if i == 1 else c2)
        w = 2.0 * db * (psi[i] * s - t * y[i]) - 2.0 * b * y[i] - 2.0 * da * cross_i
        for j in range(3):
            M[i, j] = b * psi[i] * y[j] + w * psi[j]
        M[i, i] += b * s
    add_skew(a, y, M)
