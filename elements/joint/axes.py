"""Axes of a joint by directions in a body."""

from typing import Any

import numpy as np

from femb.base.types import Floats

# Body axes x and y within this angle of the joint's axis are not taken for its reference.
STEEP = np.cos(np.radians(25.0))


def axes_of(axis: Any, reference: Any = None) -> Floats:
    """(3, 3) the joint's x, y and z axes as columns: z along ``axis``, x by ``reference``."""
    z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    if reference is None:
        reference = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < STEEP else np.array([0.0, 1.0, 0.0])
    x = reference - z * (z @ reference)
    x = x / np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
