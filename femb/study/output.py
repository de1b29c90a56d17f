"""The contract of outputs of a study: one number of every run."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from femb.analysis.modes import Modes
from femb.base.checks import Checks
from femb.results.results import Results


class Analyses(Protocol):
    """The analyses of one run of a study, each carried out when an output first asks for it."""

    def results(self, analysis: str) -> Results:
        """Results of "run", the motion in time, or "static", the equilibria as the loads grow."""

    def modes(self, held: str | None, start: str | None, damped: bool) -> Modes:
        """The natural modes."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """Base of the kinds of outputs."""

    table: ClassVar[str] = "outputs"
    kind: ClassVar[str]

    name: str

    def __post_init__(self) -> None:
        with Checks(self, self.table, self.name) as check:
            self.check(check)

    def check(self, check: Checks) -> None:
        """Check the fields of the kind."""

    def value(self, analyses: Analyses) -> float:
        """The number of one run. Raises ResultError where the results do not have the quantity."""
        raise NotImplementedError

    def unit(self, analyses: Analyses) -> str:
        """Its unit, "" where it is unknown. Raises ResultError where the results do not have the quantity."""
        raise NotImplementedError
