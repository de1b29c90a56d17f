"""The rotation by a vector and the mean of the rotations on the way to it, apart from the elements.

Source: docs/theory/exact_beam.md, section 10.
"""

import math
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.numerics import rotations
from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.duals import Number, Vector3, dot, identity, lift, outer, skew
from femb.numerics.compiler.traced import traced


@inlined
def mean_factors(t):
    """a = (1 - cos x)/x^2 and b = (x - sin x)/x^3, and their derivatives by t = x^2."""
    if t < 1e-2:
        a = 0.5 - t / 24.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0 * (1.0 - t / 90.0)))
        b = 1.0 / 6.0 - t / 120.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0)))
        da = -1.0 / 24.0 + t / 360.0 * (1.0 - t * 3.0 / 112.0 * (1.0 - t * 4.0 / 270.0))
        db = -1.0 / 120.0 + t / 2520.0 * (1.0 - t * 3.0 / 144.0 * (1.0 - t * 4.0 / 330.0))
        return a, b, da, db
    size = math.sqrt(t)
    sine, cosine = math.sin(size) / size, math.cos(size)
    a, b = (1.0 - cosine) / t, (1.0 - sine) / t
    return a, b, (0.5 * sine - a) / t, (0.5 * (sine - cosine) / t - b) / t


@traced
def rotation_and_mean(psi: Vector3, factors: tuple[Number, Number, Number, Number]) -> Any:
    """exp(psi), and the mean of the rotations on the way there, equation (27); factors : those of |psi|^2."""
    a, b, da, db = factors
    t = dot(psi, psi)
    a, b = lift(a, (da, t)), lift(b, (db, t))
    square, turn, one = outer(psi, psi), skew(psi), identity(3)
    s = 1.0 - b * t
    return s * turn + a * square + (1.0 - a * t) * one, a * turn + b * square + (1.0 - b * t) * one


def helix_map(theta: Floats) -> Floats:
    """A(theta) (..., 3, 3): the mean of the rotations from none to theta, equation (27)."""
    t = np.sum(theta * theta, axis=-1)[..., None, None]
    small = t < 1e-6
    safe = np.where(small, 1.0, t)
    size = np.sqrt(safe)
    a = np.where(small, 0.5 - t / 24.0, (1.0 - np.cos(size)) / safe)
    b = np.where(small, 1.0 / 6.0 - t / 120.0, (size - np.sin(size)) / (safe * size))
    tilde = rotations.cross_matrix(theta)
    return np.asarray(np.eye(3) + a * tilde + b * (tilde @ tilde))
