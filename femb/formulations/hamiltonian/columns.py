"""Columns of the array of segment data that the kernels read, one row for each segment.

The rotation of a hinge is ``fixed + cos(q) cosine + sin(q) sine`` with three constant matrices, so that revolute and
prismatic hinges need no branches: for a prismatic hinge only ``fixed`` is not zero, and ``SLIDE`` is one.
"""

from typing import Any

import numpy as np

from femb.base.types import Floats

MASS = 0
CENTER = 1
INERTIA = 4
AT = 13
AXIS = 16  # in the parent's components
FIXED = 19
COSINE = 28
SINE = 37
SLIDE = 46
STIFFNESS = 47
REST = 48
DAMPING = 49
N_COLUMNS = 50


def pack(tree: Any) -> Floats:
    """Segment data (n + 1, N_COLUMNS) of a Tree, the base first."""
    n = tree.n
    data = np.zeros((n + 1, N_COLUMNS))
    if tree.base is not None:
        data[0, MASS] = tree.base.mass
        data[0, CENTER : CENTER + 3] = tree.base.center_of_mass
        data[0, INERTIA : INERTIA + 9] = tree.base.inertia.ravel()
    rows = data[1:]
    rows[:, MASS] = tree.mass
    rows[:, CENTER : CENTER + 3] = tree.center
    rows[:, INERTIA : INERTIA + 9] = tree.inertia.reshape(n, 9)
    rows[:, AT : AT + 3] = tree.at
    rows[:, AXIS : AXIS + 3] = np.einsum("kij,kj->ki", tree.mounting, tree.axis)
    along = tree.mounting @ (tree.axis[:, :, None] * tree.axis[:, None, :])
    across = tree.mounting @ np.cross(np.eye(3), tree.axis[:, None, :])
    fixed = np.where(tree.sliding[:, None, None], tree.mounting, along)
    rows[:, FIXED : FIXED + 9] = fixed.reshape(n, 9)
    rows[:, COSINE : COSINE + 9] = (tree.mounting - fixed).reshape(n, 9)
    rows[:, SINE : SINE + 9] = np.where(tree.sliding[:, None, None], 0.0, across).reshape(n, 9)
    rows[:, SLIDE] = tree.sliding
    rows[:, STIFFNESS], rows[:, REST], rows[:, DAMPING] = tree.stiffness, tree.rest, tree.damping
    return data
