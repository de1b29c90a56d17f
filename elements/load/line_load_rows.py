"""Rows of distributed loads, one for each element of the beam of each load."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam.strain import POINTS
from femb.elements.load.line_load_kernels import INERTIAL, SECTION


@dataclass(frozen=True, eq=False)
class LineLoadRows:
    """elements (n,) : the element of each row in its batch; load (n,) : number of its load; kind (n,) : INERTIAL or
    SECTION axes; values (n, 3, 6) : force and moment per length at the strain points."""

    elements: list[int]
    load: Ints
    kind: Ints
    values: Floats

    @classmethod
    def of(cls, loads: list[Any], slices: Mapping[str, slice], lengths: Floats) -> "LineLoadRows":
        """The rows of loads on beams, whose elements are ``slices`` of a batch with these lengths (m)."""
        values: list[Floats] = []
        load: list[int] = []
        kind: list[int] = []
        elements: list[int] = []
        for k, item in enumerate(loads):
            along = slices[item.beam]
            length = lengths[along]
            s = (np.cumsum(length) - length)[:, None] + length[:, None] * POINTS
            values.append(item.values(s.ravel(), float(length.sum())).reshape(-1, 3, 6))
            load += [k] * len(length)
            kind += [SECTION if item.frame == "body" else INERTIAL] * len(length)
            elements += range(along.start, along.stop)
        whole = np.ascontiguousarray(np.concatenate(values))
        return cls(elements, np.array(load, dtype=np.int64), np.array(kind, dtype=np.int64), whole)
