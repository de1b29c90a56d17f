"""Array types used in signatures, and the shapes a description's fields must have."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """Marks a field of a description as an array; read by the constructors and by the case-file schema."""

    dims: tuple[int, ...]


Vector = Annotated[Any, Shape((3,))]
"""Three numbers; stored as a read-only float array of shape (3,)."""
Quaternion = Annotated[Any, Shape((4,))]
"""Four numbers, scalar first; stored as a read-only float array of shape (4,)."""
Strains = Annotated[Any, Shape((4,))]
"""Axial strain, twist and the curvatures about y and z; stored as a read-only float array of shape (4,)."""
Pair = Annotated[Any, Shape((2,))]
"""Two numbers; stored as a read-only float array of shape (2,)."""
Matrix4 = Annotated[Any, Shape((4, 4))]
"""A 4 x 4 matrix; stored as a read-only float array."""
Matrix3 = Annotated[Any, Shape((3, 3))]
"""A 3 x 3 matrix; stored as a read-only float array."""
