"""Worst sums of a linear pointing budget over the ranges of parameters, found by search.

Source: docs/theory/robust.md, section 2; docs/theory/pointing_budget.md.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.linear.error_windows import UnboundedError
from femb.linear.loop import Loop
from femb.linear.pointing_budget import (
    LEVEL,
    MEASURES,
    PointingBudget,
    acted_on,
    listed_sources,
    pointing_budget,
    sensor_sources,
)
from femb.linear.pointing_sources import Source
from femb.numerics.threads import one_blas_thread
from femb.robust.uncertain import Uncertain, uncertain
from femb.study.box import largest, points_of
from femb.study.sensitivity import CaseFamily, read_either
from femb.study.study import Build, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Points from which local searches start, and their evaluations by the number of parameters.
BEST, EVALUATIONS = 1, 40
# Of the largest sum of all: what is worse by less is rounding.
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class WorstError:
    """The largest sum of a measure for an error ``of`` a budget that a search found, in its unit, at ``parameters``."""

    measure: str
    of: str
    nominal: float
    found: float
    parameters: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class WorstPointing(Tabled):
    """The worst sums of a pointing budget over the ranges of an uncertain model.

    of : the model. budget : that of the nominal parameters. errors : by axis and measure.
    """

    of: Uncertain
    budget: PointingBudget
    errors: tuple[WorstError, ...]

    def __getitem__(self, key: tuple[str, str]) -> WorstError:
        """The worst sum of a measure for an error, as "RPE" and "bodies.hub.turn.x". Raises ModelError: none."""
        for each in self.errors:
            if (each.measure, each.of) == key:
                return each
        raise ModelError(f"worst: no {key[0]!r} of {key[1]!r}")

    def table(self) -> str:
        """A block for each axis: nominal and found sums by measure, and the parameters of these."""
        lines = [self.of.table(), "", f"exact sums for {100.0 * self.budget.level:g} % of the time, windows of "
                 f"{self.budget.window:g} s, {self.budget.apart:g} s apart, in {self.budget.unit or 'their unit'}; the "
                 "worst are found by search, not proved"]  # fmt: skip
        for axis in self.budget.of:
            lines += ["", f"{axis:28}{'nominal':>12}{'found':>12}"]
            for each in self.errors:
                if each.of == axis:
                    at = ", ".join(f"{name} = {value:.6g}" for name, value in each.parameters.items())
                    lines.append(f"{each.measure:28}{each.nominal:12.4g}{each.found:12.4g}  {at}")
        return "\n".join(lines)

    def plot(self, required: float | None = None) -> "Figure":
        """The nominal sums with the worst ones, and what is required, in the unit of the errors."""
        return self.budget.plot(required, self.sums)

    @property
    def sums(self) -> Floats:
        """(5, p) the worst sums by measure."""
        return np.array([[self[word, axis].found for axis in self.budget.of] for word in MEASURES])


def worst_pointing(
    case: Study | Build | str | Path,
    of: str | Sequence[str],
    sources: Iterable[Source] | Mapping[str, Mapping[str, Any]] = (),
    by: Sequence[str] | Mapping[str, Any] | str | None = None,
    *,
    window: float = 1.0,
    apart: float | None = None,
    level: float = LEVEL,
    seed: int = 1,
    overrides: Iterable[str] = (),
    progress: Callable[[int, int], None] | None = None,
    **words: Any,
) -> WorstPointing:
    """The largest sums of a pointing budget over the ranges of parameters: corners, random points, local searches.

    Gains of controllers and errors of sensors are those of the nominal case.

    Parameters:
        case: as in ``femb.uncertain``.
        of: the errors, as in ``femb.pointing_budget``.
        sources: likewise, beside noise and bias of the sensors of the case.
        by: parameters, as in ``femb.uncertain``.
        window: s, as in ``femb.pointing_budget``.
        apart: s, likewise.
        level: part of the time, likewise.
        seed: of the random points of the search.
        overrides: entries to replace, as in ``load_case``.
        progress: is called with the number of budgets that were made, and of those that may be.
        words: others of ``femb.uncertain``, as ``modes``.

    Raises:
        ModelError: as in ``femb.uncertain`` and ``femb.pointing_budget``; a nominal loop that is not stable.
    """
    study = read_either(case, overrides)
    listed, asked = listed_sources(sources), [of] if isinstance(of, str) else list(of)
    form = uncertain(study, by, inputs=acted_on(listed, asked), outputs=asked, **words)
    loop = form.loop({})
    listed = [*sensor_sources(CaseFamily(study, {}, {}).nominal.described.model, loop), *listed]
    known: dict[bytes, Floats] = {}

    def totals(d: Floats) -> Floats:
        """(5, p) sums at d (k,), infinite where the errors grow without bound."""
        if (key := d.tobytes()) not in known:
            at, known[key] = form.loop(d), np.full(shape, np.inf)
            with suppress(UnboundedError):
                known[key] = _totals(budget(at)) if at.stable else known[key]
            if progress is not None:
                progress(min(len(known), most), most)
        return known[key]

    def budget(at: Loop) -> PointingBudget:
        return pointing_budget(at, asked, listed, window, apart, level)

    nominal = budget(loop)
    shape = (len(MEASURES), len(nominal.of))
    begun = points_of(len(form.ranges), seed)
    most = len(begun) + int(np.prod(shape)) * EVALUATIONS * len(form.ranges)
    errors, own, middle = [], _totals(nominal), form.values(form.normal({}))
    with one_blas_thread():
        values = np.array([totals(d) for d in begun])
        for (i, k), start in np.ndenumerate(own):

            def objective(d: Floats, place: tuple[int, ...] = (i, k)) -> float:
                return float(np.minimum(totals(d)[place], 1e30))

            # where the parameters do not matter there is nothing to search
            if np.ptp(values[:, i, k]) <= ROUNDING * np.max(own):
                errors.append(WorstError(MEASURES[i], nominal.of[k], float(start), float(start), middle))
                continue
            d, value = largest(objective, begun, values[:, i, k].tolist(), BEST, EVALUATIONS)
            if value <= start + ROUNDING * np.max(own):
                d, value = form.normal({}), float(start)
            errors.append(WorstError(MEASURES[i], nominal.of[k], float(start), value, form.values(d)))
    if progress is not None:
        progress(most, most)
    return WorstPointing(form, nominal, tuple(errors))


def _totals(of: PointingBudget) -> Floats:
    return np.array([of.total(word) for word in MEASURES])
