"""Rows of parameters of beam elements, from their sections."""

from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.beam import columns


def element_data(section: Any, source: bool) -> Floats:
    """(37,) parameters of the elements of a beam with a straight reference shape, without their lengths."""
    row = np.zeros(columns.REFERENCE + 12)
    row[columns.MASS] = section.line_mass()
    row[columns.INERTIA : columns.INERTIA + 3] = section.inertia()
    row[columns.DAMPING] = section.damping
    row[columns.SOURCE] = float(source)
    row[columns.STIFFNESS : columns.STIFFNESS + 16] = section.stiffness().ravel()
    row[columns.OFFSET : columns.OFFSET + 2] = section.offset()
    return row
