"""Identification: parameters of a case by which its modes fit measured ones.

    least sum of ((f - f_m)/s_f)^2 + ((z - z_m)/s_z)^2 + ((1 - sqrt MAC)/s_M)^2 + ((p - p0)/s_p)^2
    C = (J^T J)^{-1},    singular values of J diag(p): below one, data do not tell that direction

with the Jacobian of frequencies and damping from the derivatives of eigenvalues, that of MAC from differences. Source:
M. I. Friswell, J. E. Mottershead, Finite Element Model Updating in Structural Dynamics (1995); docs/howto/correlate.md.
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
from femb.base.values import nearest, numbered
from femb.case.parameters import Parameter
from femb.fem.test_data import TestData, read_test_data
from femb.results.array_file import write_arrays
from femb.study.correlation import NO_SHAPE, SPARE, Correlation, correlated
from femb.study.outputs import DampingRatio, NaturalFrequency, StudyOutput
from femb.study.sensitivity import Differences, parameters_of, read_either
from femb.study.study import Build, Study

# Standard deviations of measurements that do not say theirs: of frequencies and damping ratios by the value, of
# 1 - sqrt MAC.
OF_FREQUENCY, OF_DAMPING, OF_SHAPE = 0.005, 0.1, 0.05
# Relative error of a gradient, and relative step of differences of MAC.
ENOUGH, STEP = 1e-6, 1e-4
# Units other than Hz by their size, and how far the logarithm of a ratio may be from it.
UNITS, NEAR = {2.0 * np.pi: "rad/s", 60.0: "turns a minute", 1e-3: "kHz", 360.0: "degrees a second"}, 0.3
# A bound is reached within this part of the range; a sum of squares less probable than this is too large.
AT_BOUND, UNLIKELY = 1e-4, 1e-3
# Correlations of parameters above this are named.
CORRELATED = 0.9
# A component of a direction below this is left out of its words.
SMALL = 0.05


@dataclass(frozen=True, eq=False)
class Identification(Tabled):
    """Parameters (n,) that fit measured modes, in SI units.

    parameters : their names. start, values, deviations (n,) : before, after, and their standard deviations, infinite of
    what the data do not tell. correlation (n, n). residuals : names of the rows. before, after (r,) : by their standard
    deviations. singular (n,) : of the derivatives by relative changes, largest first. directions (n, n) : relative
    changes of the parameters, a row for each. held_out : ratios before and after of rows that were not fitted. at_bound
    (n,) : numbers -1, 0 or 1. units : by parameter. runs : their number. correlations : of each test, after the fit.
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
        found = [
            f"{name} ends at its {'least' if self.at_bound[k] < 0 else 'largest'} value, {self.values[k]:.7g} "
            f"{self.units.get(name, '')}".rstrip()
            + ": the best fit may be outside its range"
            for k, name in enumerate(self.parameters)
            if self.at_bound[k]
        ]
        from scipy.special import chdtrc

        freedom = max(self.freedom, 1)
        if chdtrc(freedom, self.chi2) < UNLIKELY:
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
        lines += ["", f"{'residual':{24}}{'before':>10}{'after':>10}  by the standard deviation"]
        lines += [f"{n:24}{a:10.3f}{b:10.3f}" for n, a, b in zip(self.residuals, self.before, self.after, strict=True)]
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
            "parameters",
            "start",
            "values",
            "deviations",
            "correlation",
            "residuals",
            "before",
            "after",
            "singular",
        )
        return write_arrays(Path(path), {word: getattr(self, word) for word in (*words, "directions")})

    def draw(self, path: str | Path) -> Path:
        """Draw the residuals before and after to the picture file ``path``; its path."""
        from matplotlib.figure import Figure

        from femb.pictures.drawing import PALETTE, save, styled

        figure = Figure(figsize=(7.5, 0.8 + 0.3 * len(self.residuals)), layout="constrained")
        axes, at = figure.subplots(), np.arange(len(self.residuals))
        for shift, values, color, label in (
            (0.2, self.before, "0.7", "before"),
            (-0.2, self.after, PALETTE[0], "after"),
        ):
            axes.barh(at - shift, values, 0.38, color=color, label=label)
        axes.set_yticks(at, self.residuals, fontsize=8)
        axes.invert_yaxis()
        axes.set_xlabel("residual by its standard deviation")
        axes.legend(fontsize=8, frameon=False)
        styled(axes)
        return save(figure, Path(path))


def identify(
    case: Study | Build | str | Path,
    data: TestData | str | Path | Sequence[tuple[TestData | str | Path, str | None]],
    by: Sequence[str] | Mapping[str, Any] | str | None = None,
    *,
    held: str | None = None,
    start: str | None = None,
    priors: Mapping[str, float] | None = None,
    hold_out: Sequence[int] = (),
    overrides: Iterable[str] = (),
) -> Identification:
    """Fit parameters of a case to measured modes, by nonlinear least squares within the ranges of the parameters.

    Parameters:
        case: as in ``sensitivities``; the values of its parameters are the start.
        data: as in ``correlate``; or tests, each with the body that was held in it, or None.
        by: as in ``sensitivities``.
        held: as in ``correlate``, of data of one test.
        start: as in ``correlate``.
        priors: standard deviations by parameter, in its unit, about the start.
        hold_out: numbers from 1 of measured modes, of the first test, that are not fitted but predicted.
        overrides: entries to replace, as in ``load_case``.

    Raises:
        ModelError: damaged data, no measured mode that has a pair, unknown names.
    """
    study = case if isinstance(case, Study) else read_either(case, tuple(overrides))
    given = data if isinstance(data, Sequence) and not isinstance(data, str) else [(data, held)]
    tests = [(each if isinstance(each, TestData) else read_test_data(each), body) for each, body in given]
    fit = _Fit(study, parameters_of(study, by), tests, start, dict(priors or {}), tuple(hold_out))
    return fit.found()


class _Fit:
    """The residuals of a model over its parameters, relative to their start."""

    def __init__(
        self, study: Study, parameters: dict[str, Parameter], tests: list[tuple[TestData, str | None]],
        start: str | None, priors: dict[str, float], hold_out: tuple[int, ...],
    ) -> None:  # fmt: skip
        self.study, self.tests, self.begin, self.priors = study, tests, start, priors
        for name, sigma in priors.items():
            if name not in parameters:
                raise ModelError(
                    f"priors: no parameter {name!r}{nearest(name, parameters)}; there are: {', '.join(parameters)}"
                )
            if not 0.0 < sigma < np.inf:
                raise ModelError(f"priors: {name}: got {sigma:g}, wanted a standard deviation above zero")
        wrong = [k for k in hold_out if not 1 <= k <= len(tests[0][0].frequencies)]
        if wrong:
            raise ModelError(
                f"hold_out: got mode {wrong[0]}; the test has {numbered(len(tests[0][0].frequencies), 'mode')}"
            )
        self.out = {k - 1 for k in hold_out}
        if len(tests) == 1 and len(self.out) == len(tests[0][0].frequencies):
            raise ModelError("hold_out: leaves no measured mode to fit; leave one out of it")
        count = max(len(data.frequencies) for data, _ in tests) + SPARE
        self.counting: dict[str, StudyOutput] = {"count": NaturalFrequency(name="count", mode=count)}
        family = Differences(study, parameters, self.counting)
        self.named = dict(zip(parameters, family.parameters, strict=True))
        self.p0 = np.array([each.value for each in family.parameters])
        self.scale = np.array([each.scale if not each.value else abs(each.value) for each in family.parameters])
        self.runs = 0

    def family(self, p: Floats, outputs: dict[str, StudyOutput]) -> Differences:
        """The models at and beside values of the parameters."""
        moved: dict[str, Parameter] = {}
        for (name, each), value in zip(self.named.items(), p, strict=True):
            own = each.parameter
            moved[name] = Parameter(
                name=name, entries=list(own.keys), value=float(value), scale=float(self.scale[len(moved)]),
                relative=own.relative,
            )  # fmt: skip
        found = Differences(self.study, moved, outputs or self.counting)
        found.small = ENOUGH
        return found

    def rows(self, correlations: Sequence[Correlation], out: bool = False) -> dict[str, tuple[float, str, int, int]]:
        """Residuals by name: the value, its kind, the number of the test and of the measured mode."""
        found: dict[str, tuple[float, str, int, int]] = {}
        for t, each in enumerate(correlations):
            data, body = self.tests[t]
            of = f", {body} held" if body else f", test {t + 1}" if len(self.tests) > 1 else ""
            for k, j in enumerate(each.pairs):
                if j < 0 or (t == 0 and k in self.out) != out:
                    continue
                sigma = data.sigma[k] if np.isfinite(data.sigma[k]) else OF_FREQUENCY * data.frequencies[k]
                found[f"mode {k + 1}, Hz{of}"] = ((each.frequencies[j] - data.frequencies[k]) / sigma, "f", t, k)
                own = data.damping_sigma[k]
                known = np.isfinite(data.damping[k]) and bool(data.damping[k] or np.isfinite(own))
                if known and np.any(each.damping > 1e-9):
                    sigma = own if np.isfinite(own) else OF_DAMPING * abs(data.damping[k])
                    found[f"mode {k + 1}, damping{of}"] = ((each.damping[j] - data.damping[k]) / sigma, "z", t, k)
                if np.isfinite(each.mac[k, j]):
                    found[f"mode {k + 1}, shape{of}"] = ((1.0 - np.sqrt(each.mac[k, j])) / OF_SHAPE, "m", t, k)
        return found

    def at(self, p: Floats) -> tuple[dict[str, tuple[float, str, int, int]], list[Correlation]]:
        """The residuals at values of the parameters. Raises ModelError: no mode has a pair."""
        self.runs += 1
        analyses = self.family(p, {}).nominal
        found = [
            correlated(analyses, data, body, self.begin, bool(np.isfinite(data.damping).any()))
            for data, body in self.tests
        ]
        rows = self.rows(found)
        if not rows:
            best = max(float(np.nanmax(each.mac, initial=0.0)) for each in found)
            raise ModelError(
                f"identify: no measured mode has a pair in the model, the best MAC is {best:.3f}; look at correlate"
            )
        return rows, found

    def values(self, p: Floats) -> Floats:
        """Residuals, of modes that lost their pair those of the frequencies nearest; and of priors."""
        rows, _ = self.at(p)
        known = []
        for name, (before, kind, _, _) in self.names.items():
            if name in rows:
                known.append(rows[name][0])
                continue
            # the pair is lost from its track: a large residual of its shape, and the others as they were
            known.append(1.0 / OF_SHAPE if kind == "m" else before)
        return np.array([*known, *self.of_priors(p)])

    def of_priors(self, p: Floats) -> list[float]:
        """Residuals of the priors."""
        places = list(self.named)
        return [(p[places.index(name)] - self.p0[places.index(name)]) / sigma for name, sigma in self.priors.items()]

    def jacobian(self, p: Floats) -> Floats:
        """Derivatives of the residuals by the parameters."""
        _, correlations = self.at(p)
        outputs: dict[str, StudyOutput] = {}
        for name, (_, kind, t, k) in self.names.items():
            data, body = self.tests[t]
            mode = int(correlations[t].pairs[k]) + 1
            if kind != "m" and mode > 0:
                of = NaturalFrequency if kind == "f" else DampingRatio
                outputs[name] = of(name=name, mode=mode, held=body, start=self.begin)
        found = self.family(p, outputs).found()
        J = np.zeros((len(self.names), len(p)))
        beside: list[tuple[Floats, Floats]] = []
        if any(kind == "m" for _, kind, _, _ in self.names.values()):
            for j, step in enumerate(STEP * self.scale):
                ends = []
                for sign in (1.0, -1.0):
                    moved = p.copy()
                    moved[j] += sign * step
                    ends.append(self.values(moved)[: len(self.names)])
                beside.append(((ends[0] - ends[1]) / (2.0 * step), p))
        for i, (name, (_, kind, t, k)) in enumerate(self.names.items()):
            data = self.tests[t][0]
            if kind == "m":
                J[i] = [of[0][i] for of in beside]
                continue
            if name not in outputs:
                continue
            own = data.sigma[k] if kind == "f" else data.damping_sigma[k]
            part, value = (OF_FREQUENCY, data.frequencies[k]) if kind == "f" else (OF_DAMPING, data.damping[k])
            J[i] = found.derivatives[found.outputs.index(name)] / (own if np.isfinite(own) else part * abs(value))
        places = list(self.named)
        of_priors = [np.eye(len(p))[places.index(name)] / sigma for name, sigma in self.priors.items()]
        return np.vstack([J, *of_priors]) if of_priors else J

    def _check_unit(self, correlations: Sequence[Correlation]) -> None:
        """Warn where measured frequencies are those of the model in another unit, by their size."""
        pairs = [
            data.frequencies[k] / each.frequencies[j]
            for (data, _), each in zip(self.tests, correlations, strict=True)
            # without shapes by their order, since those near each other are pairs
            for k, j in enumerate(each.pairs.tolist() if np.isfinite(each.mac).any() else range(len(data.frequencies)))
            if 0 <= j < len(each.frequencies) and each.frequencies[j] > 0.0
        ]
        for factor, unit in UNITS.items():
            if pairs and np.all(np.abs(np.log(np.array(pairs) / factor)) < NEAR):
                warnings.warn(
                    f"identify: measured frequencies are {np.median(pairs):.3g} times those of the model: are they in "
                    f"{unit}? Give them in Hz",
                    FembWarning,
                    stacklevel=4,
                )

    def found(self) -> Identification:
        """The fit."""
        from scipy.optimize import least_squares

        self.names, first = self.at(self.p0)
        self._check_unit(first)
        out = {name: row[0] for name, row in self.rows(first, True).items()}
        before = self.values(self.p0)
        limits = [each.limits or (-np.inf, np.inf) for each in self.named.values()]
        low, high = np.array(limits, dtype=float).T
        if np.any((self.p0 <= low) | (self.p0 >= high)):
            k = int(np.flatnonzero((self.p0 <= low) | (self.p0 >= high))[0])
            raise ModelError(
                f"parameters.{list(self.named)[k]}.range: got a start of {self.p0[k]:g}, wanted one within the range"
            )
        fit = least_squares(
            self.values, self.p0, self.jacobian, (low, high), method="trf", x_scale=self.scale, xtol=1e-10, ftol=1e-12
        )
        _, last = self.at(fit.x)
        J = np.asarray(fit.jac)
        of_data = J[: len(self.names)] * np.where(fit.x, np.abs(fit.x), self.scale)
        _, singular, directions = np.linalg.svd(of_data, full_matrices=True)
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
        after_out = {name: row[0] for name, row in self.rows(last, True).items()}
        names = [*self.names, *(f"prior of {name}" for name in self.priors)]
        largest = directions[np.arange(len(fit.x)), np.argmax(np.abs(directions), axis=1)]
        near = np.where(np.isfinite(high - low), AT_BOUND * (high - low), 0.0)
        at_bound = 1.0 * (fit.x >= high - near) - (fit.x <= low + near)
        result = Identification(
            tuple(self.named), self.p0, fit.x, deviations, correlation, tuple(names), before, np.asarray(fit.fun),
            singular, directions / largest[:, None], {name: (out[name], after_out.get(name, np.nan)) for name in out},
            at_bound, {name: each.unit for name, each in self.named.items()}, self.runs,
            tuple(last),
        )  # fmt: skip
        if result.doubts:
            warnings.warn(f"identify: {'; '.join(result.doubts)}", FembWarning, stacklevel=3)
        return result
