"""Calls of a kernel of one state for each of many: with the rows of arrays, in one compiled loop.

A kernel of many states would contain the code of that of one, and be compiled once more. Here a loop calls the machine
code that is there by its address (``femb.numerics.compiler.bound_calls``), and moves the addresses of the rows.
"""

from typing import Any

import numpy as np

from femb.base.types import Ints
from femb.numerics.compiler.bound_calls import ADDRESS, AVAILABLE, Bound, call_bound
from femb.numerics.compiler.compile import kernel

# So many calls from Python take less time than to prepare those by address.
FEW = 8


@kernel
def call_rows(address: int, block: Any, at_block: int, rows: Any, which: Any) -> int:
    """Call the kernel with this address for rows ``which``, up to the first result other than -1; how many were -1.

    block : its arguments, at the address ``at_block``. rows (m, 3) : place of an array's address in the block, address
    and size (bytes) of its rows.
    """
    for i in range(which.size):
        for m in range(rows.shape[0]):
            block[rows[m, 0]] = rows[m, 1] + which[i] * rows[m, 2]
        if call_bound(address, at_block) != -1:
            return i
    count: int = which.size
    return count


class RowCalls(Bound):
    """A kernel that takes the rows of arrays (k, ...) as its arguments at ``places``; k > 0."""

    def __init__(self, kernel: Any, places: tuple[int, ...], *args: Any) -> None:
        self._of_rows = {place: args[place] for place in places}
        super().__init__(kernel, *(arg[0] if place in self._of_rows else arg for place, arg in enumerate(args)))

    def call(self, which: Ints) -> int:
        """Call it for these rows (n,), up to the first result that is neither none nor -1; returns how many it was."""
        if AVAILABLE and len(which) > FEW:
            entry = self.entry({})
            assert self._block is not None
            rows = [
                (self.place(place) + ADDRESS, array.__array_interface__["data"][0], array.strides[0])
                for place, array in self._of_rows.items()
            ]
            done: int = call_rows(entry[0], self._block, entry[1], np.array(rows, dtype=np.int64), which)
            return done
        args = list(self.args)
        for count, k in enumerate(which.tolist()):
            for place, array in self._of_rows.items():
                args[place] = array[k]
            if self.kernel(*args) not in (None, -1):
                return count
        return len(which)
