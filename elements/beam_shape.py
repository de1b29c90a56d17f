"""Reference shapes of beams: straight, or of constant curvature and twist."""

from typing import Any

import numpy as np

from femb import rotations
from femb.types import Floats


def reference_shape(length: float, elements: int, curvature: Any = None) -> tuple[Floats, Floats]:
    """Positions (n, 3) m and quaternions (n, 4) of the nodes of an undeformed beam, axes of its first section.

    curvature (3,) : twist and curvatures about the section's y and z axes, 1/m, the same all along: (0, 0, 1/R) is an
    arc of radius R towards y, (t, 0, 0) a straight beam with twist t, all three a helix. None is straight.
    """
    s = np.linspace(0.0, length, elements + 1)
    k = np.zeros(3) if curvature is None else np.asarray(curvature, dtype=float)
    quaternions = rotations.exponential(s[:, None] * k)
    rate = float(np.linalg.norm(k))
    x = np.array([1.0, 0.0, 0.0])
    if rate == 0.0:
        return s[:, None] * x, quaternions
    # r(s) = integral of exp(s k~) e1, by Rodrigues' formula
    axis = k / rate
    turn = rate * s
    across = np.cross(axis, x)
    along = np.cross(axis, across)
    positions = (
        s[:, None] * x + np.outer((1.0 - np.cos(turn)) / rate, across) + np.outer(s - np.sin(turn) / rate, along)
    )
    return positions, quaternions


def reference_strains(data: Floats, ends: tuple[Floats, Floats], others: tuple[Floats, Floats]) -> Floats:
    """(12,) strains (3 x 4, at the strain points) of an element that is undeformed between two node poses.

    data : its row of parameters (for its length and the form of its strains). ends, others : position and quaternion
    of its two ends. Being those of the interpolated curve, they cancel exactly at the start, whatever the number of
    elements.
    """
    from femb.elements import beam_kernels, beam_strain

    Q, X, e = np.empty((3, 3)), np.empty(8), np.empty((3, 4))
    R1, R2 = rotations.rotation_matrix(ends[1]), rotations.rotation_matrix(others[1])
    length = data[beam_kernels.LENGTH]
    beam_strain.natural_coordinates(ends[0], R1, 0.0, others[0], R2, 0.0, length, Q, X)
    source = data[beam_kernels.SOURCE] != 0.0
    beam_strain.strains(X, length, source, np.empty(4), np.empty((4, 8)), e, np.empty((3, 4, 8)))
    return e.ravel()
