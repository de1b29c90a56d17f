"""Derivatives of low rank: of forces that couple many frames by a few scalars.

    d(residual)/dv = left damping^T,    d(residual)/dq H = left stiffness^T

Such a force, as that of modal damping, would fill the blocks of all its frames. It is kept as a few vectors instead and
added where matrices are used: by products, by Woodbury's formula, or after a projection.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats

if TYPE_CHECKING:
    from scipy.sparse import csc_array


@dataclass(frozen=True, eq=False)
class LowRank:
    """left, damping, stiffness (n_v, r)."""

    left: Floats
    damping: Floats
    stiffness: Floats

    @staticmethod
    def joined(parts: "Sequence[LowRank]", n_v: int) -> "LowRank":
        """The sum of some; of none, of rank 0."""
        none = np.zeros((n_v, 0))
        return LowRank(
            np.hstack([none, *(part.left for part in parts)]),
            np.hstack([none, *(part.damping for part in parts)]),
            np.hstack([none, *(part.stiffness for part in parts)]),
        )

    @property
    def rank(self) -> int:
        """r."""
        return int(self.left.shape[1])

    def damping_times(self, x: Floats) -> Floats:
        """d(residual)/dv x (n_v,)."""
        return self.left @ (self.damping.T @ x)

    def damping_sizes(self, x: Floats) -> Floats:
        """(n_v,) sizes of the terms of ``damping_times`` for entries of the sizes x."""
        return np.abs(self.left) @ (np.abs(self.damping).T @ x)

    def sparse(self) -> "tuple[csc_array, csc_array]":
        """d(residual)/dv and d(residual)/dq H (n_v, n_v), scipy.sparse: full for the frames that they couple."""
        from scipy.sparse import csc_array

        left = csc_array(self.left)
        return csc_array(left @ csc_array(self.damping).T), csc_array(left @ csc_array(self.stiffness).T)
