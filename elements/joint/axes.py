"""Axes of a joint from directions in a body."""

import math
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.numerics import formulas

# Cosine of the smallest angle between the joint's axis and the body axis that is its default reference.
LARGEST_COSINE = np.cos(np.radians(25.0))


def axes_of(axis: Any, reference: Any = None) -> Floats:
    """(3, 3) the joint's x, y and z axes as columns: z along ``axis``, x in the plane of ``axis`` and ``reference``."""
    z = np.asarray(axis, dtype=float)
    z = z / math.sqrt(z @ z)
    if reference is None:
        reference = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < LARGEST_COSINE else np.array([0.0, 1.0, 0.0])
    x = reference - z * (z @ reference)
    x = x / math.sqrt(x @ x)
    return np.array([x, formulas.cross(z.tolist(), x.tolist()), z]).T.copy()
