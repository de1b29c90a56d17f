"""Outputs of a study that are sums of linear pointing budgets."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import POSITIVE, Bools, Floats, OneOf, SeveralForms, Unit
from femb.linear.error_windows import UnboundedError
from femb.linear.pointing_budget import (
    LEVEL,
    MEASURES,
    SUMS,
    PointingBudget,
    acted_on,
    listed_sources,
    pointing_budget,
    sensor_sources,
)
from femb.study.outputs import Analyses, StudyOutput


@dataclass(frozen=True, kw_only=True)
class BudgetOutput(StudyOutput):
    """The sum of a linear pointing budget, as in ``femb pointing --linear``; infinite without a bound."""

    kind: ClassVar[str] = "pointing_budget"

    of: str
    """the error, an output of the plant, as "bodies.hub.turn.x"; of a vector the largest component"""
    window: Annotated[float, Unit("s"), POSITIVE]
    """the length of windows"""
    measure: Annotated[str, OneOf(MEASURES)] = "APE"
    """of the errors"""
    apart: Annotated[float | None, Unit("s"), POSITIVE] = None
    """of the starts of two windows, by default the length"""
    percent: Annotated[float, Unit("")] = 100.0 * LEVEL
    """of the time for which the error is below the output"""
    how: Annotated[str, OneOf(SUMS)] = "exact"
    """of the sums that a budget has"""
    sources: Annotated[Any, SeveralForms((dict,))] = field(default_factory=dict)
    """tables by name beside the noise and bias of sensors, as those of a budget file"""
    start: str | None = None
    """as in ``femb loop``"""

    def check(self, check: Checks) -> None:
        check.require("percent", 0.0 < self.percent < 100.0, "must be above 0 and below 100")
        if "sources" not in check.bad:
            try:
                listed_sources(self.sources)
            except ModelError as error:
                for problem in error.problems:
                    check.fail(
                        "sources", ": ".join([".".join(map(str, problem.item[1:])), problem.message]).lstrip(": ")
                    )

    def channels(self) -> tuple[Sequence[str], Sequence[str]]:
        return acted_on(listed_sources(self.sources), [self.of]), [self.of]

    def _budget(self, analyses: Analyses) -> PointingBudget | None:
        """The budget of a run; None of one that has no bound."""

        def made() -> PointingBudget | None:
            inputs, outputs = map(tuple, self.channels())
            loop = analyses.loop(self.start, inputs, outputs)
            if not loop.stable:
                return None
            sources = [*sensor_sources(analyses.model, loop), *listed_sources(self.sources)]
            try:
                return pointing_budget(loop, self.of, sources, self.window, self.apart, 0.01 * self.percent)
            except UnboundedError:
                return None

        text = json.dumps(self.sources, sort_keys=True, default=str)
        return analyses.once(("budget", self.start, self.of, self.window, self.apart, self.percent, text), made)

    def value(self, analyses: Analyses) -> float:
        found = self._budget(analyses)
        return inf if found is None else float(np.max(found.total(self.measure, self.how)))

    def unstable_at(self, values: Floats) -> Bools:
        return np.asarray(np.isinf(values))

    def unit(self, analyses: Analyses) -> str:
        found = self._budget(analyses)
        return "" if found is None else found.unit
