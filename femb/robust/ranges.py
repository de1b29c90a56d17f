"""The ranges of uncertain parameters: d in [-1, 1] by value, as numbers and in words.

Source: docs/theory/robust.md, section 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import numbered
from femb.case.parameters import Differentiable, Parameter, TunedGain, overlaps


@dataclass(frozen=True, eq=False)
class UncertainRange:
    """The range of one parameter; d in [-1, 1] leads from its lower to its upper limit.

    repetitions : of d in the form. turning : whether d is the tangent of half the angle from the middle, by that of a
    quarter of the range.
    """

    of: Differentiable
    low: float
    high: float
    turning: bool = False
    repetitions: int = 0

    @property
    def name(self) -> str:
        return self.of.parameter.name

    @property
    def _tangent(self) -> float:
        return float(np.tan(0.25 * (self.high - self.low)))

    def value(self, d: float) -> float:
        """The value of the parameter at d."""
        if d in (-1.0, 1.0):
            return self.low if d < 0.0 else self.high
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        return middle + (2.0 * float(np.arctan(self._tangent * d)) if self.turning else half * d)

    def normal(self, value: float) -> float:
        """The d of a value."""
        off = value - 0.5 * (self.low + self.high)
        return float(np.tan(0.5 * off)) / self._tangent if self.turning else off / (0.5 * (self.high - self.low))

    def words(self, value: float | None = None) -> str:
        """A value with its unit, or the range with the repetitions."""
        unit = f" {self.of.unit}" if self.of.unit else ""
        if value is not None:
            return f"{self.name} = {value:.7g}{unit}"
        by = ", by the tangent of half the angle" if self.turning else ""
        return f"{self.name}: {self.low:.7g} to {self.high:.7g}{unit}, {numbered(self.repetitions, 'repetition')}{by}"


def in_words(ranges: Sequence[UncertainRange], d: Floats) -> str:
    """The values at d (k,), in words."""
    return ", ".join(each.words(each.value(float(x))) for each, x in zip(ranges, d, strict=True))


def range_of(of: Differentiable) -> UncertainRange:
    """The range of an uncertain parameter. Raises ModelError: none, or not about its value."""
    limits = of.limits
    if limits is None:
        raise ModelError.at((Parameter.table, of.parameter.name, "range"), "is missing: an uncertain number has one")
    of.parameter.check_about(of.value, limits)
    return UncertainRange(of, *limits)


def check_of_plant(ranges: Sequence[UncertainRange]) -> None:
    """Raise ModelError where a parameter is of laws or sensors alone, which the form has as they are nominally."""
    for each in ranges:
        if all(key.startswith(("controllers.", "sensors.")) for key in each.of.parameter.keys):
            text = "is of a law or a sensor, which stay nominal here: leave it out, or take a study, design = 'worst'"
            raise ModelError.at((Parameter.table, each.name), text)


def check_apart(gains: Mapping[str, Parameter], ranges: Sequence[UncertainRange]) -> None:
    """Raise ModelError where a gain that is tuned sets an entry of an uncertain parameter, or a part of one."""
    keys = {f"parameters.{each.name}": each.of.parameter.keys for each in ranges}
    for name, text in overlaps(keys | {name: each.keys for name, each in gains.items()}):
        raise ModelError.at((TunedGain.table, name), f"{text}; it is either tuned or uncertain")
