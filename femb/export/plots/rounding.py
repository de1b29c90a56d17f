"""Rounding: the size below which the values of a quantity are rounding errors.

The difference of numbers of size m has an error of eps m at least; a run accumulates such errors over its steps. Values
that never exceed `LIMIT` times that size are drawn as zero.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from femb.base.types import Floats
from femb.results.results import Results

LIMIT = 1e3 * float(np.finfo(float).eps)  # a thousand rounding errors, as accumulated by the steps of a run


class Scales:
    """The sizes of the numbers whose differences the quantities of some results are, by ``scale`` of a `Word`."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def of(self, name: str, values: Floats) -> float:
        """The size by name, at least that of the ``values`` to be drawn, which is the scale of an empty name."""
        size = _largest(values)
        return max(size, float(getattr(self, name))) if name else size

    @cached_property
    def one(self) -> float:
        """Of pure numbers and angles."""
        return 1.0

    @cached_property
    def length(self) -> float:
        """m: of coordinates of points."""
        return max(self._over("position"), self._over("element_length"))

    @cached_property
    def speed(self) -> float:
        """m/s: of velocities of points."""
        return self._over("velocity")

    @cached_property
    def angular_speed(self) -> float:
        """rad/s: of angular velocities."""
        return self._over("angular_velocity")

    @cached_property
    def acceleration(self) -> float:
        """m/s2."""
        return self._over("acceleration")

    @cached_property
    def angular_acceleration(self) -> float:
        """rad/s2."""
        return self._over("angular_acceleration")

    @cached_property
    def force(self) -> float:
        """N: of forces of joints, springs and loads, which balance one another."""
        return max(self._over("force"), self._over("section_force"))

    @cached_property
    def torque(self) -> float:
        """N m: of torques, and of moments of forces."""
        return max(self._over("torque"), self._over("section_moment"), self.force * self.length)

    @cached_property
    def energy(self) -> float:
        """J: of the terms of the energy balance."""
        return max(self._over(word) for word in ("kinetic_energy", "potential_energy", "work"))

    @cached_property
    def momentum(self) -> float:
        """N s: a lower bound of the sum of the magnitudes of the momenta of all parts.

        With v for the largest speed, m v_i >= m v_i^2 / v for each part, so that the sum is at least 2 T / v.
        """
        moving = 2.0 * self._over("kinetic_energy") / self.speed if self.speed > 0.0 else 0.0
        return max(self._over("linear_momentum"), moving)

    @cached_property
    def angular_momentum(self) -> float:
        """N m s: the same about the origin."""
        return max(self._over("angular_momentum"), self.momentum * self.length)

    @cached_property
    def constraint(self) -> float:
        """Of equations of constraint: positions in m, directions in 1."""
        return max(1.0, self.length)

    @cached_property
    def constraint_rate(self) -> float:
        """Of their rates."""
        return max(self.speed, self.angular_speed * max(1.0, self.length))

    def _over(self, word: str) -> float:
        arrays = self._results.arrays
        return max((_largest(arrays[path]) for path in arrays if path.endswith(f"/{word}")), default=0.0)


def without_noise(values: Floats, scale: float) -> Floats:
    """Values (T, k) with zeros for columns that never exceed the rounding errors of numbers of that size."""
    largest = np.max(np.abs(values), axis=0, initial=0.0, where=np.isfinite(values))
    return np.where((largest <= LIMIT * scale) & np.isfinite(values), 0.0, values)


def _largest(values: Floats) -> float:
    if values.dtype.kind not in "fiu":
        return 0.0
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
