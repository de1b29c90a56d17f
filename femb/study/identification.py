"""Identification: parameters of a case by which its modes, transfer functions and histories fit measured ones.

    least sum of r_i^2 + ((p - p0)/s_p)^2
    C = (J^T J)^{-1},    singular values of J diag(p): below one, data do not tell that direction

with the residuals r of femb.study.measured. Source: M. I. Friswell, J. E. Mottershead, Finite Element Model Updating in
Structural Dynamics (1995); docs/howto/correlate.md.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import FembWarning, ModelError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.base.values import absent, numbered
from femb.case.parameters import Parameter
from femb.fem.measured_functions import HISTORY, TRANSFER
from femb.fem.test_data import TestData, read_test_data
from femb.results.array_file import write_arrays
from femb.study.correlation import NO_SHAPE, SPARE, Correlation
from femb.study.measured import (
    ENOUGH,
    OFFSET,
    FittedFunction,
    FunctionResiduals,
    ModeResiduals,
    Nuisance,
    Residuals,
    check_channels,
    named_as,
)
from femb.study.outputs import NaturalFrequency, StudyOutput
from femb.study.sensitivity import Differences, parameters_of, read_either
from femb.study.study import Build, Study

# A bound is reached within this part of the range; a sum of squares less probable than this is too large.
AT_BOUND, UNLIKELY = 1e-4, 1e-3
# Correlations of parameters above this are named.
CORRELATED = 0.9
# A component of a direction below this is left out of its words.
SMALL = 0.05
# An error of the data is named where it explains this part of the sum of squares beyond noise, and changes the data by
# so much of their size. Less is enough to look for it with the parameters.
EXPLAINED, MATTERS, TRIED = 0.9, 1e-3, 0.5
# What is left of a sum of squares by rounding.
TINY = 1e-12
# Parts of the duration of histories over which a fit from afar grows. A motion that changes by more than this many
# times its size, as a parameter by its own, is unstable: derivatives tell too little of the way.
WINDOWS, UNSTABLE = (0.125, 0.25, 0.5), 1e3
# Relative changes of parameters at which a fit ends, and the fits before it.
EXACT, ROUGH = 1e-10, 1e-4


@dataclass(frozen=True, eq=False)
class Identification(Tabled):
    """Parameters (n,) that fit measured data, in SI units.

    parameters : their names. start, values, deviations (n,) : before, after, and their standard deviations, infinite of
    what the data do not tell. correlation (n, n). residuals : names of the rows, those of a function alike. before,
    after (r,) : by their standard deviations. singular (n,) : of the derivatives by relative changes, largest first.
    directions (n, n) : relative changes of the parameters, a row for each. held_out : ratios before and after of rows
    that were not fitted, root mean squares of functions. at_bound (n,) : numbers -1, 0 or 1. units : by parameter.
    runs : their number. correlations : of each test with modes, after the fit. curves : measured functions beside those
    of the model. noticed : further reasons to doubt the values.
    """

    parameters: tuple[str, ...]
    start: Floats
    values: Floats
    deviations: Floats
    correlation: Floats
    residuals: tuple[str, ...]
    before: Floats
    after: Floats
    singular: Floats
    directions: Floats
    held_out: Mapping[str, tuple[float, float]]
    at_bound: Floats
    units: Mapping[str, str]
    runs: int
    correlations: tuple[Correlation, ...]
    curves: tuple[FittedFunction, ...] = ()
    noticed: tuple[str, ...] = ()

    @property
    def chi2(self) -> float:
        """The sum of squares of the residuals of the data and priors."""
        return float(np.sum(self.after**2))

    @property
    def freedom(self) -> int:
        """The residuals beyond the parameters that they tell."""
        return len(self.after) - int(np.sum(np.isfinite(self.deviations)))

    @property
    def doubts(self) -> list[str]:
        """Why the values may be wrong: they end at bounds, or residuals are too large for their deviations."""
        units = [self.units.get(name, "") for name in self.parameters]
        found = _at_bounds(self.parameters, self.at_bound, self.values, units)
        found += self.noticed
        freedom = max(self.freedom, 1)
        if unlikely(self.chi2, freedom):
            found.append(
                f"chi2 is {self.chi2 / freedom:.3g} per freedom, {freedom}: residuals are larger than their standard "
                "deviations allow, and so are errors of the parameters; look at pairs, at the model and at sigma"
            )
        return found

    @property
    def not_told(self) -> list[str]:
        """Combinations of relative changes of parameters, in words, which the data cannot tell."""
        return [
            " ".join(
                f"{part:+.2f} {name}"
                for part, name in zip(row, self.parameters, strict=True)
                if abs(part) > SMALL * np.max(np.abs(row))
            )
            for size, row in zip(self.singular, self.directions, strict=True)
            if size < 1.0
        ]

    def grouped(self) -> dict[str, tuple[float, float]]:
        """Residuals before and after by name; of functions root mean squares."""
        found = {}
        for name in dict.fromkeys(self.residuals):
            rows = [k for k, each in enumerate(self.residuals) if each == name]
            sides = (self.before[rows], self.after[rows])
            found[name] = tuple(float(r[0]) if len(rows) == 1 else float(np.sqrt(np.mean(r**2))) for r in sides)
        return found  # type: ignore[return-value]

    def table(self) -> str:
        """Parameters with their deviations, residuals before and after, and what the data cannot tell."""
        width = max(12, *(len(name) + 2 for name in self.parameters))
        lines = [f"{'parameter':{width}}{'before':>13}{'after':>13}{'deviation':>12}  unit"]
        for k, name in enumerate(self.parameters):
            bound = {-1: "  at its least value", 1: "  at its largest value"}.get(int(self.at_bound[k]), "")
            lines.append(
                f"{name:{width}}{self.start[k]:13.7g}{self.values[k]:13.7g}{self.deviations[k]:12.4g}  "
                f"{self.units.get(name, '') or '-'}{bound}"
            )
        groups = self.grouped()
        width = max(24, *(len(name) + 2 for name in groups))
        of_functions = ", root mean squares of functions" if self.curves else ""
        lines += ["", f"{'residual':{width}}{'before':>10}{'after':>10}  by the standard deviation{of_functions}"]
        lines += [f"{name:{width}}{a:10.3f}{b:10.3f}" for name, (a, b) in groups.items()]
        lines.append(
            f"chi2 {np.sum(self.before**2):.6g} before, {self.chi2:.6g} after, in {numbered(self.runs, 'run')}"
        )
        for t, each in enumerate(self.correlations):
            lines += [f"mode {k + 1} of test {t + 1} is paired by frequency: {NO_SHAPE}" for k in each.by_frequency]
        lines += [f"held out: {n} {a:.3f} before, {b:.3f} after" for n, (a, b) in self.held_out.items()]
        for i, name in enumerate(self.parameters):
            for j in range(i):
                if abs(self.correlation[i, j]) > CORRELATED:
                    lines.append(f"correlation of {self.parameters[j]} and {name}: {self.correlation[i, j]:.3f}")
        lines += [f"the data cannot tell: {text}" for text in self.not_told]
        return "\n".join(lines)

    def write(self, path: str | Path) -> Path:
        """Write a .npz with the fields by their names; its path."""
        words = (
            "parameters", "start", "values", "deviations", "correlation", "residuals", "before", "after", "singular",
            "directions",
        )  # fmt: skip
        return write_arrays(Path(path), {word: getattr(self, word) for word in words})

    def draw(self, path: str | Path) -> Path:
        """Draw the residuals before and after to the picture file ``path``; its path."""
        from matplotlib.figure import Figure

        from femb.pictures.drawing import FREQUENCY, INK, PALETTE, TIME, listed, save, styled, titled

        rows, groups = len(self.curves), self.grouped()
        figure = Figure(figsize=(7.5, 1.5 + 0.3 * len(groups) + 1.9 * rows), layout="constrained")
        titles = dict.fromkeys(each.data.title for each in self.correlations)
        titled(figure, ", ".join(filter(None, titles)), "identification")
        heights = [0.8 + 0.3 * len(groups), *[1.9] * rows]
        axes, *others = np.atleast_1d(figure.subplots(1 + rows, height_ratios=heights))
        at, sides = np.arange(len(groups)), np.array(list(groups.values())).T
        for shift, values, color, label in ((0.2, sides[0], "0.7", "before"), (-0.2, sides[1], PALETTE[0], "after")):
            axes.barh(at - shift, values, 0.38, color=color, label=label)
        axes.set_yticks(at, list(groups), fontsize=8)
        axes.invert_yaxis()
        axes.set_xlabel("residual by its standard deviation")
        styled(axes)
        for axes, curve in zip(others, self.curves, strict=True):
            for values, color, label in ((curve.before, "0.7", "before"), (curve.after, PALETTE[0], "after")):
                shown = np.abs(values) if curve.transfer else values.real
                axes.plot(curve.abscissa, shown, color=color, lw=1.2, label=label)
            measured = np.abs(curve.measured) if curve.transfer else curve.measured.real
            axes.plot(curve.abscissa, measured, ".", color=INK, ms=4, label="measured")
            axes.set_yscale("log" if curve.transfer else "linear")
            axes.set_xlabel(FREQUENCY if curve.transfer else TIME)
            axes.set_title(curve.name, fontsize=9, color=INK)
            styled(axes)
        listed(figure, figure.axes)
        return save(figure, Path(path))


def unlikely(chi2: float, freedom: int) -> bool:
    """Whether a sum of squares is larger than standard deviations of residuals allow."""
    from scipy.special import chdtrc

    return bool(chdtrc(max(freedom, 1), chi2) < UNLIKELY)


def identify(
    case: Study | Build | str | Path,
    data: TestData | str | Path | Sequence[tuple[TestData | str | Path, str | None]],
    by: Sequence[str] | Mapping[str, Any] | str | None = None,
    *,
    held: str | None = None,
    start: str | None = None,
    priors: Mapping[str, float] | None = None,
    hold_out: Sequence[int | str] = (),
    channels: Mapping[str, str] | None = None,
    closed: bool = False,
    overrides: Iterable[str] = (),
) -> Identification:
    """Fit parameters of a case to measured data, by nonlinear least squares within the ranges of the parameters.

    Modes are compared with those of the case, transfer functions with its linear model, histories with its run.

    Parameters:
        case: as in ``sensitivities``; the values of its parameters are the start.
        data: as in ``correlate``; or tests, each with the body that was held in it, or None. All are fitted together.
        by: as in ``sensitivities``.
        held: as in ``correlate``, of data of one test.
        start: as in ``correlate``; of transfer functions as in ``linearize``.
        priors: standard deviations by parameter, in its unit, about the start.
        hold_out: what is not fitted but predicted: numbers from 1 of measured modes, of the first test, and names of
            functions, as "OUTPUT" or "OUTPUT by INPUT".
        channels: names of inputs, outputs and quantities of the model by those of the data, as "3z"; of an end alone by
            "output 3z", "input 3z" or "3z m/s2". With a sign, "-bodies.tip.force.z", they are negative.
        closed: of transfer functions, as in ``linearize``.
        overrides: entries to replace, as in ``load_case``.

    Raises:
        ModelError: damaged data, data in other units or with an offset, no measured mode that has a pair, unknown
            names, a history longer than the run.
    """
    study = read_either(case, overrides)
    given = data if isinstance(data, Sequence) and not isinstance(data, str) else [(data, held)]
    tests = [(each if isinstance(each, TestData) else read_test_data(each), body) for each, body in given]
    fit = _Fit(
        study, parameters_of(study, by), tests, start, dict(priors or {}), hold_out, dict(channels or {}), closed
    )
    return fit.found()


def _at_bounds(names: Iterable[str], at_bound: Floats, values: Floats, units: Iterable[str]) -> list[str]:
    """Words for each parameter that ends at a bound."""
    return [
        f"{name} ends at its {'least' if side < 0 else 'largest'} value, {value:.7g} {unit}".rstrip()
        + ": the best fit may be outside its range"
        for name, side, value, unit in zip(names, at_bound, values, units, strict=True)
        if side
    ]


def _explained(M: Floats, residuals: Floats, low: Any, high: Any) -> tuple[float, Floats]:
    """The part of a sum of squares that changes of columns of M within bounds explain, and these changes."""
    from scipy.optimize import lsq_linear

    size = np.linalg.norm(M, axis=0)
    size = np.where(size > 0.0, size, 1.0)
    found = lsq_linear(M / size, -residuals, (low * size, high * size), method="bvls")
    return 1.0 - 2.0 * float(found.cost) / float(residuals @ residuals), np.asarray(found.x) / size


class _Fit:
    """The residuals of a model over its parameters, relative to their start."""

    _last: tuple[tuple[float, ...], Differences] | None

    def __init__(
        self, study: Study, parameters: dict[str, Parameter], tests: list[tuple[TestData, str | None]],
        start: str | None, priors: dict[str, float], hold_out: Sequence[int | str], channels: dict[str, str],
        closed: bool,
    ) -> None:  # fmt: skip
        self.study, self.priors = study, priors
        for name, sigma in priors.items():
            if name not in parameters:
                raise ModelError(f"priors: no parameter {absent(name, parameters)}")
            if not 0.0 < sigma < np.inf:
                raise ModelError(f"priors: {name}: got {sigma:g}, wanted a standard deviation above zero")
        # universal files of modes may have functions that nobody has named
        named = [data for data, _ in tests if channels or not len(data.frequencies)]
        functions = [each for data in named for each in data.responses if each.kind in (HISTORY, TRANSFER)]
        check_channels(channels, functions)
        functions = [named_as(each, channels) for each in functions]
        of_modes = [test for test in tests if len(test[0].frequencies)]
        if not (functions or of_modes):
            raise ModelError("identify: the data have no modes, transfer functions or histories")
        modes_out, out = self._held_out(hold_out, of_modes, [each.name for each in functions])
        count = max((len(data.frequencies) for data, _ in of_modes), default=0) + SPARE
        self.counting: dict[str, StudyOutput] = (
            {"count": NaturalFrequency(name="count", mode=count)} if of_modes else {}
        )
        family = Differences(study, parameters, self.counting)
        self.named = dict(zip(parameters, family.parameters, strict=True))
        self.p0 = np.array([each.value for each in family.parameters])
        self.scale = np.array([each.scale if not each.value else abs(each.value) for each in family.parameters])
        self.runs, self._last = 0, None
        self.rows: list[Residuals] = []
        self.functions: FunctionResiduals | None = None
        if functions:
            self.functions = FunctionResiduals(functions, start, closed, out, self.models)
        if of_modes:
            self.modes = ModeResiduals(of_modes, start, modes_out, self.models, self.p0, self.scale)
            self.rows.append(self.modes)
            if words := self.modes.unit():
                warnings.warn(words, FembWarning, stacklevel=4)
        if self.functions is not None:
            self.functions.check(self.p0)
            self.rows.append(self.functions)

    @staticmethod
    def _held_out(
        hold_out: Sequence[int | str], tests: list[tuple[TestData, str | None]], functions: list[str]
    ) -> tuple[set[int], set[str]]:
        """Numbers from 0 of modes, and names of functions, that are not fitted. Raises ModelError."""
        count = len(tests[0][0].frequencies) if tests else 0
        names = [each for each in hold_out if isinstance(each, str)]
        wrong = [k for k in hold_out if not isinstance(k, str) and not 1 <= k <= count]
        if wrong:
            raise ModelError(f"hold_out: got mode {wrong[0]}; the test has {numbered(count, 'mode')}")
        for name in names:
            if name not in functions:
                raise ModelError(f"hold_out: no function {absent(name, functions)}")
        modes = {k - 1 for k in hold_out if not isinstance(k, str)}
        if len(tests) <= 1 and len(modes) == count and not set(functions) - set(names):
            what = "measured mode" if count else "function"
            raise ModelError(f"hold_out: leaves no {what} to fit; leave one out of it")
        return modes, set(names)

    def models(self, p: Floats, outputs: dict[str, StudyOutput]) -> Differences:
        """The models at and beside values of the parameters; those of the last values are kept."""
        key = (*p.tolist(), self.functions.horizon if self.functions is not None else 0.0)
        if not outputs and self._last and self._last[0] == key:
            return self._last[1]
        moved: dict[str, Parameter] = {}
        for (name, each), value in zip(self.named.items(), p, strict=True):
            own = each.parameter
            moved[name] = Parameter(
                name=name, entries=list(own.keys), value=float(value), scale=float(self.scale[len(moved)]),
                relative=own.relative,
            )  # fmt: skip
        found = Differences(self.study, moved, outputs or self.counting)
        found.small = ENOUGH
        if not outputs:
            self._last = key, found
        return found

    def values(self, p: Floats) -> Floats:
        """Residuals of data and priors."""
        self.runs += 1
        return np.concatenate([*(rows.values(p) for rows in self.rows), self.of_priors @ (p - self.p0)])

    def jacobian(self, p: Floats) -> Floats:
        """Derivatives of the residuals by the parameters."""
        return np.vstack([*(rows.slopes(p) for rows in self.rows), self.of_priors])

    @property
    def of_priors(self) -> Floats:
        """(n, k) derivatives of the residuals of the priors."""
        found, places = np.zeros((len(self.priors), len(self.p0))), list(self.named)
        for row, (name, sigma) in zip(found, self.priors.items(), strict=True):
            row[places.index(name)] = 1.0 / sigma
        return found

    def _least(self, p: Floats, xtol: float = EXACT) -> Any:
        """The fit from values on, as scipy gives it; xtol : relative change of parameters at which it ends."""
        from scipy.optimize import least_squares

        return least_squares(
            self.values, p, self.jacobian, self.limits, method="trf", x_scale=self.scale, xtol=xtol, ftol=0.01 * xtol
        )

    def _solved(self) -> tuple[Any, list[str]]:
        """The fit, and what was noticed on the way."""
        p, functions, noticed = self.p0, self.functions, list[str]()
        if functions is None:
            return self._least(p), noticed
        if functions.has_deviations:
            # far from the fit logarithms tell more of the way
            functions.logarithmic = True
            p = self._least(p, ROUGH).x
            functions.logarithmic = False
        begun, end = p, functions.end
        far = bool(end) and unlikely(float(np.sum(self.values(p) ** 2)), len(functions.names))
        for part in (*(WINDOWS if far else ()), 1.0):
            functions.window(part, functions.end)
            wanted = functions.horizon
            if (end := functions.stable_until(begun, self.scale, UNSTABLE)) < wanted:
                noticed.append(
                    f"the motion is unstable: after {end:.4g} s it changes by more than {UNSTABLE:g} times its size, "
                    "as a parameter by its own; histories are fitted up to then"
                )
                functions.window(1.0, end)
                break
            if part < 1.0:
                begun = self._least(begun, ROUGH).x
        fit = self._least(begun)
        if far and unlikely(2.0 * fit.cost, len(fit.fun) - len(p)):
            fit = min(fit, self._least(p), key=lambda each: each.cost)
        return fit, noticed

    def _error_of_data(self, fit: Any, at_bound: Floats) -> str:
        """The error of a function that would explain what is left. Raises ModelError: an offset, another unit."""
        from scipy.special import fdtrc

        functions, left, freedom = self.functions, 2.0 * fit.cost, len(fit.fun) - len(fit.x)
        if functions is None or not unlikely(left, freedom):
            return ""
        low, high = ((each - fit.x) / self.scale for each in self.limits)
        J, first = np.asarray(fit.jac) * self.scale, sum(len(rows.names) for rows in self.rows[:-1])
        # beside what noise leaves
        excess = left - freedom
        if at_bound.any() and _explained(J, fit.fun, -np.inf, np.inf)[0] * left > EXPLAINED * excess:
            return ""
        bounds = "; ".join(_at_bounds(self.named, at_bound, fit.x, [each.unit for each in self.named.values()]))
        if functions.suspect:
            words = functions.suspect.removeprefix("identify: ")
            raise ModelError(f"identify: {'; '.join(filter(None, [bounds, words]))}")
        for name, by, unit in functions.suspects(self.p0):
            if left - self._fitted_over(name, by) > EXPLAINED * excess:
                words = (
                    f"{name}: measured values are {by:.3g} times those of the model, whose parameters explain the rest"
                )
                raise ModelError(f"identify: {words}: are they in {unit}? Give SI units")
        best, number, begun = 0.0, 0, 0.0
        for k, each in enumerate(functions.nuisances(fit.x)):
            column = np.zeros(len(fit.fun))
            column[first:][each.rows] = each.change
            part, solved = _explained(
                np.column_stack([J, column]), fit.fun, np.append(low, -np.inf), np.append(high, np.inf)
            )
            if part > best:
                best, number, begun = part, k, solved[-1]
        if best * left < TRIED * excess or freedom < 2:
            return ""
        error, value, rest = self._with_error(fit.x, number, begun, first)
        part = min((left - rest) / excess, 1.0)
        matters = abs(value) * np.linalg.norm(error.change) > MATTERS * error.size
        by_chance = fdtrc(1, freedom - 1, (freedom - 1) * (left - rest) / max(rest, TINY * left))
        if part < EXPLAINED or not matters or by_chance > UNLIKELY:
            return ""
        words = f"{error.text.format(error.shown(value))} of the data explains {100.0 * part:.3g} % of the residuals"
        if error.text == OFFSET:
            words = f"{error.name}: {words}: take it off the data, or let a parameter have it"
            raise ModelError(f"identify: {'; '.join(filter(None, [bounds, words]))}")
        return f"{error.name}: {words}"

    def _fitted_over(self, name: str, factor: float) -> float:
        """The sum of squares of a fit to the data with one function over a factor."""
        assert self.functions is not None
        functions, horizon = self.functions.functions, self.functions.horizon
        self.functions.functions = self.functions.over(name, factor)
        try:
            return 2.0 * float(self._solved()[0].cost)
        finally:
            self.functions.functions, self.functions.horizon = functions, horizon

    def _check_ranges(self) -> None:
        """Raise ModelError where there is no model at an end of a range: a fit could come there."""
        for k, (name, each) in enumerate(self.named.items()):
            for end in (limit[k] for limit in self.limits if np.isfinite(limit[k])):
                p = self.p0.copy()
                p[k] = end
                try:
                    self.models(p, {})
                except ModelError as error:
                    text = f"got {end:.6g} {each.unit}".rstrip()
                    raise ModelError.at(
                        ("parameters", name, "range"), f"{text} at an end, where there is no such model: {error}"
                    ) from error

    def _with_error(self, p: Floats, number: int, value: float, first: int) -> tuple[Nuisance, float, float]:
        """The fit of parameters with an error of the data: this one, by its number, its value, and the sum of squares
        that is left. value : where it begins. first : the first residual of functions."""
        from scipy.optimize import least_squares

        assert self.functions is not None
        functions = self.functions

        def error(p: Floats) -> Nuisance:
            return functions.nuisances(p)[number]

        def values(z: Floats) -> Floats:
            own, found = error(z[:-1]), self.values(z[:-1])
            found[first:][own.rows] += z[-1] * own.change
            return found

        def jacobian(z: Floats) -> Floats:
            own, J = error(z[:-1]), np.column_stack([self.jacobian(z[:-1]), np.zeros(len(values(z)))])
            J[first:][own.rows] *= 1.0 + z[-1] * own.scales
            J[first:, -1][own.rows] = own.change
            return J

        own = error(p)
        scale = np.append(self.scale, own.size / np.linalg.norm(own.change))
        low, high = (np.append(each, end) for each, end in zip(self.limits, (-np.inf, np.inf), strict=True))
        begun = np.append(np.clip(p, low[:-1], high[:-1]), value)
        fit = least_squares(values, begun, jacobian, (low, high), x_scale=scale, xtol=ROUGH, ftol=ROUGH)
        return error(fit.x[:-1]), float(fit.x[-1]), 2.0 * float(fit.cost)

    def found(self) -> Identification:
        """The fit."""
        limits = [each.limits or (-np.inf, np.inf) for each in self.named.values()]
        self.limits = low, high = np.array(limits, dtype=float).T
        if np.any((self.p0 <= low) | (self.p0 >= high)):
            k = int(np.flatnonzero((self.p0 <= low) | (self.p0 >= high))[0])
            raise ModelError(
                f"parameters.{list(self.named)[k]}.range: got a start of {self.p0[k]:g}, wanted one within the range"
            )
        self._check_ranges()
        out = {name: each for rows in self.rows for name, each in rows.held_out(self.p0).items()}
        fit, noticed = self._solved()
        noticed += self.functions.noticed if self.functions is not None else ()
        near = np.where(np.isfinite(high - low), AT_BOUND * (high - low), 0.0)
        at_bound = 1.0 * (fit.x >= high - near) - (fit.x <= low + near)
        noticed += filter(None, [self._error_of_data(fit, at_bound)])
        names = [name for rows in self.rows for name in rows.names]
        before, _ = self.values(self.p0), self.values(fit.x)
        after_out = {name: each for rows in self.rows for name, each in rows.held_out(fit.x).items()}
        J = np.asarray(fit.jac)
        of_data = J[: len(names)] * np.where(fit.x, np.abs(fit.x), self.scale)
        _, singular, directions = np.linalg.svd(of_data, full_matrices=len(of_data) < len(fit.x))
        singular = np.append(singular, np.zeros(len(fit.x) - len(singular)))
        # with priors the data need not tell all
        _, sizes, right = np.linalg.svd(J * self.scale, full_matrices=False)
        told = sizes > 1e-10 * sizes[0]
        covariance = (right[told].T / sizes[told] ** 2) @ right[told] * np.outer(self.scale, self.scale)
        unknown = np.linalg.norm(right[~told], axis=0) if len(right[~told]) else np.zeros(len(fit.x))
        if len(right) < len(fit.x):
            unknown = np.sqrt(np.maximum(1.0 - np.sum(right[told] ** 2, axis=0), 0.0))
        variance = np.diag(covariance)
        deviations = np.where(unknown > SMALL, np.inf, np.sqrt(variance))
        correlation = covariance / np.sqrt(np.maximum(np.outer(variance, variance), np.finfo(float).tiny))
        names += [f"prior of {name}" for name in self.priors]
        largest = directions[np.arange(len(fit.x)), np.argmax(np.abs(directions), axis=1)]
        result = Identification(
            tuple(self.named), self.p0, fit.x, deviations, correlation, tuple(names), before, np.asarray(fit.fun),
            singular, directions / largest[:, None], {name: (out[name], after_out.get(name, np.nan)) for name in out},
            at_bound, {name: each.unit for name, each in self.named.items()}, self.runs,
            tuple(self.rows[0].correlations) if isinstance(self.rows[0], ModeResiduals) else (),
            self.functions.curves(self.p0, fit.x) if self.functions is not None else (), tuple(noticed),
        )  # fmt: skip
        if result.doubts:
            warnings.warn(f"identify: {'; '.join(result.doubts)}", FembWarning, stacklevel=3)
        return result
