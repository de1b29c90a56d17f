"""Rows of the exact elements of several models, one after the other."""

from collections.abc import Sequence

import numpy as np

from femb.base.types import Floats


def stacked_rows(data: Sequence[Floats]) -> Floats:
    """The rows (e, columns) of parameters, of which some may have further columns, for damping by direction."""
    columns = max(rows.shape[1] for rows in data)
    result = np.zeros((sum(map(len, data)), columns))
    first = 0
    for rows in data:
        result[first : first + len(rows), : rows.shape[1]] = rows
        first += len(rows)
    return result


def stacked_shares(shares: Sequence[Floats]) -> Floats:
    """The free strains (k, e, 6) of all elements by the inputs of all models, from those of each model by its own."""
    inputs, elements = (sum(part.shape[axis] for part in shares) for axis in range(2))
    result = np.zeros((inputs, elements, 6))
    k = e = 0
    for part in shares:
        result[k : k + part.shape[0], e : e + part.shape[1]] = part
        k, e = k + part.shape[0], e + part.shape[1]
    return result
