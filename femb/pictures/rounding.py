"""Rounding: the size below which the values of a quantity are rounding errors.

The difference of numbers of size m has an error of eps m at least; a run accumulates such errors over its steps. Values
that never exceed `LIMIT` times that size are drawn as zero.
"""

from collections.abc import Callable

import numpy as np

from femb.base.types import Floats
from femb.results.results import Results

LIMIT = 1e3 * float(np.finfo(float).eps)  # a thousand rounding errors, as accumulated by the steps of a run


class Scales:
    """The sizes of the numbers whose differences the quantities of some results are, by ``scale`` of a `Word`."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._sizes: dict[str, float] = {}

    def of(self, name: str, values: Floats) -> float:
        """The size by name, at least that of the ``values`` to be drawn, which is the scale of an empty name."""
        size = _largest(values)
        return max(size, self[name]) if name else size

    def __getitem__(self, name: str) -> float:
        if name not in self._sizes:
            endings = tuple(f"/{word}" for word in RECORDED.get(name, ()))
            arrays = self._results.arrays
            recorded = (_largest(arrays[path]) for path in arrays if path.endswith(endings))
            self._sizes[name] = max(COMBINED[name](self) if name in COMBINED else 0.0, *recorded, 0.0)
        return self._sizes[name]


# Scales: the largest of recorded quantities, and of combinations of other scales.
RECORDED = {
    "length": ("position", "element_length"),
    "speed": ("velocity",),
    "angular_speed": ("angular_velocity",),
    "acceleration": ("acceleration",),
    "angular_acceleration": ("angular_acceleration",),
    # forces of joints, springs and loads balance one another
    "force": ("force", "section_force"),
    "torque": ("torque", "section_moment"),
    "kinetic": ("kinetic_energy",),
    "energy": ("kinetic_energy", "potential_energy", "work"),
    "momentum": ("linear_momentum",),
    "angular_momentum": ("angular_momentum",),
}
COMBINED: dict[str, Callable[[Scales], float]] = {
    "one": lambda scales: 1.0,  # pure numbers and angles
    "torque": lambda scales: scales["force"] * scales["length"],
    # A lower bound of the sum of the magnitudes of the momenta of all parts: with v for the largest speed,
    # m v_i >= m v_i^2 / v for each part, so that the sum is at least 2 T / v.
    "momentum": lambda scales: 2.0 * scales["kinetic"] / scales["speed"] if scales["speed"] > 0.0 else 0.0,
    "angular_momentum": lambda scales: scales["momentum"] * scales["length"],
    # equations of constraint: positions in m, directions in 1
    "constraint": lambda scales: max(1.0, scales["length"]),
    "constraint_rate": lambda scales: max(scales["speed"], scales["angular_speed"] * scales["constraint"]),
}


def without_noise(values: Floats, scale: float) -> Floats:
    """Values (T, k) with zeros for columns that never exceed the rounding errors of numbers of that size."""
    largest = np.max(np.abs(values), axis=0, initial=0.0, where=np.isfinite(values))
    return np.where((largest <= LIMIT * scale) & np.isfinite(values), 0.0, values)


def _largest(values: Floats) -> float:
    if values.dtype.kind not in "fiu":
        return 0.0
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
