"""Unmodelled dynamics of a case: by how much what acts on the plant, or is measured of it, may be wrong.

[unmodelled.torquer]
at = "loads.torquer.torque"
frequencies = [0.1, 10.0]
error = [0.05, 1.0]
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.meanings import Description
from femb.base.types import POSITIVE, SeveralForms, Unit
from femb.base.values import as_numbers, shown


@dataclass(frozen=True, kw_only=True)
class Unmodelled(Description):
    """Unmodelled dynamics of an input or an output of a plant: it is (1 + W d) of what the model says, with any stable
    d whose gain is at most one, and the relative error W."""

    table: ClassVar[str] = "unmodelled"

    name: str
    at: str
    """an input of the plant that a controller sets, or an output that a law or a sensor reads, as in femb linearize:
    "loads.torquer.torque.0"; of a vector, as "loads.torquer.torque", each component by itself"""
    error: Annotated[Any, SeveralForms((float, list[float]))]
    """the relative error, a number, or one at each of the frequencies; 0.1 is ten per cent of the gain, and 6 degrees
    of the phase"""
    frequencies: Annotated[list[float] | None, Unit("rad/s"), POSITIVE] = None
    """those of a list of errors, two or more, rising; between them the error is straight in logarithms, and beyond
    constant"""

    def __post_init__(self) -> None:
        with Checks(self, self.table, self.name) as check:
            if check.bad:
                return
            errors = as_numbers(self.error if isinstance(self.error, list) else [self.error])
            if errors is None or not np.all(np.array(errors, dtype=float) > 0.0):
                check.fail("error", f"got {shown(self.error)}, wanted a number above 0, or a list of such numbers")
            elif isinstance(self.error, list) != (self.frequencies is not None):
                check.fail("frequencies", "go with a list of errors, one for each, and with no single number")
            elif self.frequencies is not None:
                if len(self.error) != len(self.frequencies) or len(self.error) < 2:
                    check.fail("error", f"got {len(self.error)}, wanted one for each of two or more frequencies")
                elif np.any(np.diff(self.frequencies) <= 0.0):
                    check.fail("frequencies", f"got {self.frequencies}, wanted rising ones")
