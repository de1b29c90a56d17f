"""Outlines of sections for pictures and meshes: closed polygons in the section's y and z axes."""

from typing import Any

import numpy as np

from femb.base.types import Floats

CORNERS = 24  # of a circle


def rectangle(y: float, z: float) -> Floats:
    """(4, 2) m: a rectangle of these sides about the reference axis."""
    return 0.5 * np.array([[-y, -z], [y, -z], [y, z], [-y, z]])


def outline_of_shape(shape: dict[str, Any] | None) -> Floats | None:
    """(m, 2) m of {"rectangle": [y, z]} or {"circle": radius}; None for anything else."""
    match shape:
        case {"rectangle": [float() | int() as y, float() | int() as z]} if y > 0 and z > 0:
            return rectangle(y, z)
        case {"circle": float() | int() as radius} if radius > 0:
            angle = np.linspace(0.0, 2.0 * np.pi, CORNERS, endpoint=False)
            return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return None
