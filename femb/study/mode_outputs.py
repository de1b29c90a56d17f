"""Outputs of a study that are natural modes of every run."""

from dataclasses import dataclass
from typing import ClassVar

from femb.analysis.modes import Modes
from femb.base.checks import Checks
from femb.base.errors import ResultError
from femb.study.output import Analyses, Output


@dataclass(frozen=True, kw_only=True)
class ModeOutput(Output):
    """Base of the outputs of natural modes.

    mode : its number, from 1 at the lowest frequency. held, start : as of ``femb modes``.
    """

    mode: int = 1
    held: str | None = None
    start: str | None = None
    damped: ClassVar[bool] = False

    def check(self, check: Checks) -> None:
        check.whole("mode", 1, 1000)

    def found(self, analyses: Analyses) -> Modes:
        """The modes, at least as many as asked for."""
        modes = analyses.modes(self.held, self.start, self.damped)
        if len(modes.frequencies) < self.mode:
            raise ResultError(f"outputs.{self.name}: there are {len(modes.frequencies)} modes, got mode {self.mode}")
        return modes


class NaturalFrequency(ModeOutput):
    """The frequency (Hz) of a natural mode without damping, as of ``femb modes``."""

    kind: ClassVar[str] = "natural_frequency"

    def value(self, analyses: Analyses) -> float:
        return float(self.found(analyses).frequencies[self.mode - 1])

    def unit(self, analyses: Analyses) -> str:
        return "Hz"


class DampingRatio(ModeOutput):
    """The damping ratio of a complex mode, as of ``femb modes --damped``."""

    kind: ClassVar[str] = "damping_ratio"
    damped: ClassVar[bool] = True

    def value(self, analyses: Analyses) -> float:
        return float(self.found(analyses).damping[self.mode - 1])

    def unit(self, analyses: Analyses) -> str:
        return ""
