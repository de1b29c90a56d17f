"""H2 and H2' as sparse matrices.

The velocity of a frame depends only on the speeds on its path from the root, so that both are sparse for trees with
branches.
Source: docs/theory/reduced_order.md, equation (12).
"""

from functools import cached_property
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.formulations.joint_tree import JointTree, Swept
from femb.formulations.joint_tree_kernels import FRAME_V, SIZE
from femb.formulations.reduced.kernels import fill


class NullSpace:
    """Builds H2 (system.n_v, n_u) of a joint tree with J H2 = 0."""

    def __init__(self, tree: JointTree) -> None:
        self.tree = tree
        self.shape = (tree.system.n_v, tree.n_u)

    @cached_property
    def _paths(self) -> list[list[int]]:
        """The speeds on the path from the root to every frame."""
        paths: list[list[int]] = []
        for frame in self.tree.frames:
            parent_path = paths[frame.parent] if frame.parent >= 0 else []
            paths.append(parent_path + list(range(frame.u.start, frame.u.stop)))
        return paths

    @cached_property
    def width(self) -> Ints:
        """Number of speeds that every frame depends on."""
        return np.array([len(path) for path in self._paths], dtype=np.int64)

    @cached_property
    def _ends(self) -> Ints:
        return np.cumsum(self.tree.index[:, SIZE] * self.width)

    @property
    def start(self) -> Ints:
        """First entry of every frame in the order of ``fill``."""
        return np.concatenate([[0], self._ends[:-1]]).astype(np.int64)

    @property
    def size(self) -> int:
        """Number of entries in the order of ``fill``."""
        return int(self._ends[-1]) if len(self._ends) else 0

    @cached_property
    def _structure(self) -> tuple[Ints, Ints, Ints]:
        """Order of the entries, their columns, and the first of every row."""
        tree, paths = self.tree, self._paths
        first_v, size, internal_v = tree.index[:, FRAME_V], tree.index[:, SIZE], tree.internal_index[1]
        rows = [np.repeat(first_v[k] + np.arange(size[k]), self.width[k]) for k in range(len(paths))]
        columns = [np.tile(path, size[k]) for k, path in enumerate(paths)]
        row = np.concatenate([*rows, internal_v])
        column = np.concatenate([*columns, np.arange(tree.internal[1].start, tree.internal[1].stop)]).astype(int)
        order = np.lexsort((column, row))
        first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=tree.system.n_v))])
        return order, column[order], first

    def matrices(self, T: Floats, T1: Floats, B: Floats, B1: Floats) -> tuple[Any, Any]:
        """H2 and H2' of T, T', B, B' (n, 6, 6) at one state, scipy.sparse."""
        H, H1 = np.empty((2, self.size))
        fill(self.tree.index, self.start, self.width, T, T1, B, B1, H, H1)
        return self.matrix(H, 1.0), self.matrix(H1, 0.0)

    def of(self, swept: Swept) -> Any:
        """H2 at the first swept state."""
        return self.matrices(swept[2][0], swept[3][0], swept[4][0], swept[5][0])[0]

    def matrix(self, flat: Floats, of_internal: float) -> Any:
        """(system.n_v, n_u), scipy.sparse, of entries in the order of ``fill``; one value for internal coordinates."""
        from scipy.sparse import csr_array

        data = np.append(flat, np.full(len(self.tree.internal_index[1]), of_internal))
        order, columns, first = self._structure
        return csr_array((data[order], columns, first), shape=self.shape)
