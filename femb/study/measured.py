"""Residuals of fits: of measured modes, transfer functions and histories beside a model, by their deviations.

    modes:               (f - f_m)/s,   (z - z_m)/s,   (1 - sqrt MAC)/s
    transfer functions:  (G - G_m)/s in both parts; ln(G/G_m)/s where s is not known
    histories:           (y(t_i) - y_m)/s

Derivatives are those of the eigenvalues, G' = C' X + D' + Y (A' X + B') with X = (s - A)^-1 B and Y = C (s - A)^-1, and
those of the steps of the run. Source: docs/theory/sensitivities.md, section 6.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.types import Complexes, Floats
from femb.base.values import absent
from femb.fem.measured_functions import DEVIATION, TRANSFER, Response
from femb.fem.test_data import TestData
from femb.linear.loop_derivatives import check_states
from femb.linear.state_space import StateSpace
from femb.study.correlation import Correlation, correlated
from femb.study.outputs import Analyses, DampingRatio, NaturalFrequency, StudyOutput
from femb.study.run_outputs import history
from femb.study.sensitivity import Differences

# Standard deviations of measurements that do not say theirs: of frequencies and damping ratios by the value, of
# 1 - sqrt MAC; of transfer functions by the value, of histories by the largest one.
OF_FREQUENCY, OF_DAMPING, OF_SHAPE, OF_TRANSFER, OF_HISTORY = 0.005, 0.1, 0.05, 0.05, 0.01
# Relative error of a gradient, and relative step of differences of MAC.
ENOUGH, STEP = 1e-6, 1e-4
# Units other than SI ones by their size, and how far the logarithm of a ratio may be from it.
NEAR = 0.3
UNITS = {2.0 * np.pi: "rad/s", 60.0: "turns a minute", 1e-3: "kHz", 360.0: "degrees a second"}
FACTORS = {
    1e3: "mm or mN", 1e-3: "km or kN", 180.0 / np.pi: "degrees", 9.80665: "g", 1.0 / 9.80665: "g",
    1e6: "parts in a million", 30.0 / np.pi: "turns a minute", 206264.806: "arcseconds",
}  # fmt: skip
# A smaller factor may be that of a parameter, unless a fit fails. Laws of frequency need as much of it, and points.
PLAIN, OCTAVES, POINTS = 50.0, 2.0, 3
OFFSET, FACTOR, LATE = "an offset of {:.4g}", "a factor of {:.4g}", "a delay of {:.4g} s"
# How far it may be before a fit, whose parameters change sizes too.
WITH_PARAMETERS = 1.0
# Below this many deviations a transfer function is noise, whose logarithm tells nothing.
NOISE = 3.0
# Where a motion is so unstable that nothing follows from its derivatives, this part of its duration is tried, so often.
NEARER, SHORTER = 0.7, 6

Models: TypeAlias = Callable[[Floats, dict[str, StudyOutput]], Differences]
"""The models at and beside values of parameters, with outputs that are to be differentiated."""


class Nuisance(NamedTuple):
    """An error of measured data that a fit may have in place of its parameters.

    name : of the function. text : what it is, with a place for its number. rows : of the residuals that it changes.
    change (r,) : of the residuals by one of it. size : of the data in these residuals. shown : the number by that one.
    scales : whether it multiplies the function, and so its derivatives.
    """

    name: str
    text: str
    rows: slice
    change: Floats
    size: float
    shown: Callable[[float], float] = float
    scales: bool = False


class Residuals(Protocol):
    """Residuals of a kind of data."""

    @property
    def names(self) -> list[str]:
        """(r,) of each residual, those of one function alike."""

    def values(self, p: Floats) -> Floats:
        """(r,) residuals. Raises ModelError."""

    def slopes(self, p: Floats) -> Floats:
        """(r, k) their derivatives by the parameters. Raises ModelError."""

    def held_out(self, p: Floats) -> dict[str, float]:
        """The residuals of what is not fitted, by name."""


class ModeResiduals:
    """Residuals of modes; tests : with what was held in each. out : numbers from 0 of modes of the first that are not
    fitted. size : of the parameters (k,)."""

    def __init__(
        self, tests: Sequence[tuple[TestData, str | None]], begin: str | None, out: set[int], models: Models,
        start: Floats, size: Floats,
    ) -> None:  # fmt: skip
        self.tests, self.begin, self.out, self.models, self.size = tests, begin, out, models, size
        self.track, self.correlations = self._rows(start)

    @property
    def names(self) -> list[str]:
        return list(self.track)

    def _of(self, correlations: Sequence[Correlation], out: bool) -> dict[str, tuple[float, str, int, int]]:
        """Residuals by name: the value, its kind, the number of the test and of the measured mode."""
        found: dict[str, tuple[float, str, int, int]] = {}
        for t, each in enumerate(correlations):
            data, body = self.tests[t]
            of = f", {body} held" if body else f", test {t + 1}" if len(self.tests) > 1 else ""
            for k, j in enumerate(each.pairs):
                if j < 0 or (t == 0 and k in self.out) != out:
                    continue
                sigma = self._deviation(t, k, "f")
                found[f"mode {k + 1}, Hz{of}"] = ((each.frequencies[j] - data.frequencies[k]) / sigma, "f", t, k)
                known = np.isfinite(data.damping[k]) and bool(data.damping[k] or np.isfinite(data.damping_sigma[k]))
                if known and np.any(each.damping > 1e-9):
                    sigma = self._deviation(t, k, "z")
                    found[f"mode {k + 1}, damping{of}"] = ((each.damping[j] - data.damping[k]) / sigma, "z", t, k)
                if np.isfinite(each.mac[k, j]):
                    found[f"mode {k + 1}, shape{of}"] = ((1.0 - np.sqrt(each.mac[k, j])) / OF_SHAPE, "m", t, k)
        return found

    def _deviation(self, t: int, k: int, kind: str) -> float:
        """The standard deviation of the frequency (kind "f") or the damping ratio ("z") of a measured mode."""
        data = self.tests[t][0]
        own, part, value = (
            (data.sigma[k], OF_FREQUENCY, data.frequencies[k])
            if kind == "f"
            else (data.damping_sigma[k], OF_DAMPING, abs(data.damping[k]))
        )
        return float(own if np.isfinite(own) else part * value)

    def _rows(self, p: Floats) -> tuple[dict[str, tuple[float, str, int, int]], list[Correlation]]:
        """The residuals at values of the parameters. Raises ModelError: no mode has a pair."""
        analyses = self.models(p, {}).nominal
        found = [
            correlated(analyses, data, body, self.begin, bool(np.isfinite(data.damping).any()))
            for data, body in self.tests
        ]
        rows = self._of(found, False)
        if not rows:
            best = max(float(np.nanmax(each.mac, initial=0.0)) for each in found)
            raise ModelError(
                f"identify: no measured mode has a pair in the model, the best MAC is {best:.3f}; look at correlate"
            )
        return rows, found

    def held_out(self, p: Floats) -> dict[str, float]:
        return {name: row[0] for name, row in self._of(self._rows(p)[1], True).items()}

    def values(self, p: Floats) -> Floats:
        """Residuals; a mode that lost its pair keeps those of its frequency."""
        rows, self.correlations = self._rows(p)
        # of a pair that is lost from its track: a large residual of its shape, and the others as they were
        return np.array([
            rows[name][0] if name in rows else 1.0 / OF_SHAPE if kind == "m" else before
            for name, (before, kind, _, _) in self.track.items()
        ])  # fmt: skip

    def slopes(self, p: Floats) -> Floats:
        _, correlations = self._rows(p)
        outputs: dict[str, StudyOutput] = {}
        for name, (_, kind, t, k) in self.track.items():
            mode = int(correlations[t].pairs[k]) + 1
            if kind != "m" and mode > 0:
                of = NaturalFrequency if kind == "f" else DampingRatio
                outputs[name] = of(name=name, mode=mode, held=self.tests[t][1], start=self.begin)
        found = self.models(p, outputs).found()
        J = np.zeros((len(self.names), len(p)))
        of_shapes = [i for i, row in enumerate(self.track.values()) if row[1] == "m"]
        for j, step in enumerate(STEP * self.size) if of_shapes else ():
            one, other = (self.values(p + sign * step * np.eye(len(p))[j]) for sign in (1.0, -1.0))
            J[of_shapes, j] = ((one - other) / (2.0 * step))[of_shapes]
        for i, (name, (_, kind, t, k)) in enumerate(self.track.items()):
            if name in outputs:
                J[i] = found.derivatives[found.outputs.index(name)] / self._deviation(t, k, kind)
        return J

    def unit(self) -> str:
        """A warning where measured frequencies are those of the model in another unit, by their size; else nothing."""
        pairs = [
            data.frequencies[k] / each.frequencies[j]
            for (data, _), each in zip(self.tests, self.correlations, strict=True)
            # without shapes by their order, since those near each other are pairs
            for k, j in enumerate(each.pairs.tolist() if np.isfinite(each.mac).any() else range(len(data.frequencies)))
            if 0 <= j < len(each.frequencies) and each.frequencies[j] > 0.0
        ]
        for factor, unit in UNITS.items():
            if pairs and np.all(np.abs(np.log(np.array(pairs) / factor)) < NEAR):
                return (
                    f"identify: measured frequencies are {np.median(pairs):.3g} times those of the model: are they in "
                    f"{unit}? Give them in Hz"
                )
        return ""


@dataclass(frozen=True, eq=False)
class FittedFunction:
    """A measured function (n,) beside the model before and after a fit, over Hz, or s of a history."""

    name: str
    transfer: bool
    abscissa: Floats
    measured: Complexes
    before: Complexes
    after: Complexes


class FunctionResiduals:
    """Residuals of transfer functions and histories, whose names are those of inputs and outputs of the model.

    out : names of functions that are not fitted. begin : where linear models are about, None of the case. closed :
    whether controllers act in them. logarithmic : whether transfer functions are compared by their logarithms even
    where their deviations are known.
    """

    logarithmic = False
    horizon: float = np.inf

    def __init__(
        self, functions: Sequence[Response], begin: str | None, closed: bool, out: set[str], models: Models
    ) -> None:
        # a model need have no response to what is constant
        self.functions = [each.of(each.abscissa > 0.0) if each.kind == TRANSFER else each for each in functions]
        self.begin, self.closed, self.out, self.models = begin, closed, out, models
        # of a fit that fails, the reason that the sizes of data give
        self.suspect = ""
        self.noticed = list[str]()
        self.transfers = [each for each in self.functions if each.kind == TRANSFER]
        self.times = np.unique([t for each in functions if each.kind != TRANSFER for t in each.abscissa])
        self.end = float(max(self.times, default=0.0))
        if self.end:
            self.horizon = self.end
        self.has_deviations = any(map(self._own, self.transfers))

    def window(self, part: float, end: float) -> None:
        """Let the horizon be at a part of the time from the first instant to ``end``, two instants at least."""
        self.horizon = max(self.times[0] + part * (end - self.times[0]), self.times[:2][-1]) if self.end else np.inf

    @property
    def seen(self) -> list[Response]:
        """The functions, histories up to the horizon."""
        return [each if each.kind == TRANSFER else each.of(each.abscissa <= self.horizon) for each in self.functions]

    @property
    def fitted(self) -> list[Response]:
        """The functions that are fitted."""
        return [each for each in self.seen if each.name not in self.out]

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.fitted for _ in range(len(self._parts(each.values, each)))]

    def _models(self, p: Floats) -> Differences:
        found = self.models(p, {})
        if self.times.size:
            found.times = self.times[self.times <= self.horizon]
        return found

    def _space(self, analyses: Analyses) -> StateSpace:
        """The linear model with all inputs and outputs of the data."""
        ends = [tuple(dict.fromkeys(getattr(each, word) for each in self.transfers)) for word in ("input", "output")]
        return analyses.space(self.begin, ends[0], ends[1], self.closed)

    def _place(self, space: StateSpace, of: Response) -> tuple[int, int]:
        """The row and the column of a transfer function."""
        return space.index("outputs", of.output), space.index("inputs", of.input)

    def of_model(self, analyses: Analyses, functions: Sequence[Response]) -> list[Complexes]:
        """The functions of a model at the measured instants and frequencies. Raises ModelError: unknown names."""
        found = []
        for each in functions:
            if each.kind != TRANSFER:
                own = history(analyses.results("run"), each.output)
                found.append(np.interp(each.abscissa, own.time, own.values).astype(complex))
                continue
            space = self._space(analyses)
            i, j = self._place(space, each)
            found.append(self._transfer(analyses, space, each.abscissa)[:, i, j])
        return found

    def _transfer(self, analyses: Analyses, space: StateSpace, frequencies: Floats) -> Complexes:
        """(f, p, m) the transfer matrices, of all functions with these frequencies at once."""
        key = ("transfer", self.begin, self.closed, space.inputs, space.outputs, frequencies.tobytes())
        return analyses.once(key, lambda: np.array([space.transfer(2j * np.pi * f) for f in frequencies]))

    def _own(self, of: Response) -> bool:
        """Whether a transfer function is compared by differences, of known deviations."""
        return bool(np.isfinite(of.sigma).all()) and not self.logarithmic

    def _parts(self, values: Complexes, of: Response) -> Floats:
        """Residuals of a function with these values, or, linear in them, of their changes."""
        if of.kind != TRANSFER:
            sigma = np.where(np.isfinite(of.sigma), of.sigma, OF_HISTORY * max(np.max(np.abs(of.values)), 1e-300))
            return np.asarray(values.real / sigma)
        if self._own(of):
            return np.concatenate([values.real, values.imag]) / np.tile(of.sigma, 2)
        clear = self._clear(of)
        return np.concatenate([values.real[clear], values.imag[clear]]) / OF_TRANSFER

    def _clear(self, of: Response) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """The values of a transfer function that are no noise."""
        size = np.abs(of.values)
        return np.asarray(size > np.where(np.isfinite(of.sigma), NOISE * of.sigma, 0.0))

    def _differ(self, values: Complexes, of: Response) -> Complexes:
        """The difference to the measured function, or the logarithm of the ratio, of which residuals are parts."""
        if of.kind != TRANSFER or self._own(of):
            return np.asarray(values - of.values)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(self._clear(of), np.log(values / of.values), 0.0)
        if not np.all(np.isfinite(found)):
            raise ModelError(
                f"identify: {of.output} does not respond to {of.input} in the model, whose response is zero"
            )
        return found

    def _residuals(self, analyses: Analyses, functions: Sequence[Response]) -> list[Floats]:
        values = self.of_model(analyses, functions)
        return [self._parts(self._differ(own, each), each) for own, each in zip(values, functions, strict=True)]

    def values(self, p: Floats) -> Floats:
        return np.concatenate(self._residuals(self._models(p).nominal, self.fitted))

    def held_out(self, p: Floats) -> dict[str, float]:
        """Root mean squares."""
        some = [each for each in self.seen if each.name in self.out]
        own = self._residuals(self._models(p).nominal, some)
        return {each.name: float(np.sqrt(np.mean(r**2))) for each, r in zip(some, own, strict=True)}

    def slopes(self, p: Floats) -> Floats:
        models, fitted = self._models(p), self.fitted
        histories = [each for each in fitted if each.kind != TRANSFER]
        space, changes = None, iter(list[Complexes]())
        if histories:
            ends = np.cumsum([len(each.abscissa) for each in histories])[:-1]
            found = models.slopes(lambda other: np.concatenate(self.of_model(other, histories)), of_run=True)
            changes = iter(np.split(found, ends))
        if len(histories) < len(fitted):
            nominal = space = self._space(models.nominal)
            of_matrices = models.slopes(lambda other: self._matrices(nominal, self._space(other)))
        rows = []
        for each, own in zip(fitted, self.of_model(models.nominal, fitted), strict=True):
            if each.kind != TRANSFER or space is None:
                change = next(changes)
            else:
                change = self._of_matrices(space, of_matrices, each)
                change = change if self._own(each) else change / own[:, None]
            rows.append(np.array([self._parts(column, each) for column in change.T]).T)
        return np.vstack(rows)

    @staticmethod
    def _matrices(of: StateSpace, other: StateSpace) -> Complexes:
        """The matrices of a linear model in one column. Raises ModelError: other states than those of ``of``."""
        check_states(of.states, other.states)
        if of.dt != other.dt:
            raise ModelError(
                "identify: a parameter changes the period of the sampled loop, by which functions have no derivative"
            )
        return np.concatenate([each.ravel() for each in (other.A, other.B, other.C, other.D)]).astype(complex)

    def _of_matrices(self, space: StateSpace, changes: Complexes, of: Response) -> Complexes:
        """(f, k) derivatives of a transfer function by those of the matrices, in columns (.., k)."""
        from scipy.linalg import lu_factor, lu_solve

        parts, start = [], 0
        for each in (space.A, space.B, space.C, space.D):
            parts.append(changes[start : start + each.size].real.reshape(*each.shape, -1))
            start += each.size
        i, j = self._place(space, of)
        A, B, C, D = parts[0], parts[1][:, j], parts[2][i], parts[3][i, j]
        x, y = np.empty((2, len(of.abscissa), len(space.A)), dtype=complex)
        for n, f in enumerate(of.abscissa):
            z = 2j * np.pi * f if space.dt is None else np.exp(2j * np.pi * f * space.dt)
            factors = lu_factor(z * np.eye(len(space.A)) - space.A)
            x[n] = lu_solve(factors, space.B[:, j].astype(complex))
            y[n] = lu_solve(factors, space.C[i].astype(complex), trans=1)
        inner = [np.sum((y @ by) * x, axis=1) for by in np.moveaxis(A, 2, 0)]
        return np.asarray(D + x @ C + y @ B + np.array(inner).T)

    def stable_until(self, p: Floats, size: Floats, most: float) -> float:
        """The instant (s) up to the horizon after which a history changes by more than ``most`` times its size, as
        parameters by theirs; else the horizon. Raises SolveError."""
        if not self.end:
            return self.horizon
        last = self.horizon
        for shorter in range(SHORTER):
            self.window(NEARER**shorter, last)
            try:
                slopes = self.slopes(p)
                break
            except SolveError:
                # the linear change is so large that it meets no constraints
                if shorter == SHORTER - 1:
                    raise
        found, start = self.horizon, 0
        for each in self.fitted:
            own = self._parts(each.values, each)
            if each.kind != TRANSFER:
                moved = np.abs(slopes[start : start + len(own)] * size).max(axis=1)
                away = np.flatnonzero(moved > most * max(np.abs(own).max(), 1.0))
                found = min(found, float(each.abscissa[away[0]])) if away.size else found
            start += len(own)
        return found

    def check(self, p: Floats) -> None:
        """Raises ModelError: data in other units, or of other quantities, by their size and by what files say.

        What else is doubtful is noticed: unsteady motion, values of zero.
        """
        analyses = self._models(p).nominal
        if self.transfers and (unsteady := self._space(analyses).unsteady):
            self.noticed.append(
                f"transfer functions are about unsteady motion: {unsteady}: give another start of linear models, as "
                "--start equilibrium (start=)"
            )
        for each, own in zip(self.functions, self.of_model(analyses, self.functions), strict=True):
            if each.kind == TRANSFER:
                space = self._space(analyses)
                for name, unit in zip((each.output, each.input), each.units, strict=True):
                    known = space.units.get(name, "")
                    if unit and known and unit != known:
                        raise ModelError(
                            f"identify: the file has {name} in {unit}, the model in {known}: name another; of one "
                            f"point in several units name 'POINT UNIT' of the file, as '3z {unit}'"
                        )
            zero = each.values == 0.0
            if zero.all() and not np.isfinite(each.sigma).all():
                raise ModelError(
                    f"identify: {each.name}: all values are zero, of which no standard deviation follows: give one "
                    f"(NAME {DEVIATION} SIGMA, or a column sigma), or leave it out"
                )
            if each.kind == TRANSFER and zero.any() and not self._own(each):
                lost = ", ".join(f"{f:g}" for f in each.abscissa[zero])
                self.noticed.append(
                    f"{each.name}: values of zero, at {lost} Hz, have no logarithm and are left out: give sigma"
                )
            what, plain = _unit(each, own)
            if what:
                self.suspect = f"identify: {each.name}: measured values are {what}"
            if plain:
                raise ModelError(self.suspect)

    def nuisances(self, p: Floats) -> list[Nuisance]:
        """Errors that the data may have, with the changes of the residuals by them; histories are late together too."""
        found, start, late = [], 0, list[Nuisance]()
        for each, own in zip(self.fitted, self.of_model(self._models(p).nominal, self.fitted), strict=True):
            history_of = each.kind != TRANSFER
            logarithmic = not history_of and not self._own(each)
            ones: Complexes = np.ones(len(own), dtype=complex)
            rows = slice(start, start + len(self._parts(own, each)))
            size = float(np.linalg.norm(self._parts(ones if logarithmic else each.values, each)))

            def add(
                text: str, change: Any, shown: Callable[[float], float] = float, scales: bool = False,
                each: Response = each, rows: slice = rows, size: float = size,
            ) -> None:  # fmt: skip
                parts = self._parts(np.asarray(change, dtype=complex), each)
                found.append(Nuisance(each.name, text, rows, parts, size, shown, scales))

            if logarithmic:
                add(FACTOR, ones, np.exp)
            else:
                add(FACTOR, own, lambda by: 1.0 + by, True)
            if history_of:
                add(OFFSET, ones)
            if len(own) > 1:
                rate = 2j * np.pi * each.abscissa * (1.0 if logarithmic else own)
                add(LATE, -np.gradient(own, each.abscissa) if history_of else -rate)
                late += found[-1:] if history_of else ()
            start = rows.stop
        if len(late) > 1:
            change = np.zeros(start)
            for one in late:
                change[one.rows] = one.change
            size = float(np.linalg.norm([one.size for one in late]))
            found.append(Nuisance("all histories", LATE, slice(0, start), change, size))
        return found

    def suspects(self, p: Floats) -> list[tuple[str, float, str]]:
        """Units that parameters far from the start could hide: the name of the function, the factor and the unit."""
        found = []
        for each, own in zip(self.fitted, self.of_model(self._models(p).nominal, self.fitted), strict=True):
            sizes = np.linalg.norm(each.values), np.linalg.norm(own)
            ratio = sizes[0] / sizes[1] if min(sizes) > 0.0 else 1.0
            close = (by for by in FACTORS if abs(np.log(ratio / by)) < WITH_PARAMETERS)
            found += [(each.name, by, FACTORS[by]) for by in close]
        return found

    def over(self, name: str, factor: float) -> "list[Response]":
        """The functions, one of them over a factor."""
        return [
            replace(each, values=each.values / factor, sigma=each.sigma / factor) if each.name == name else each
            for each in self.functions
        ]

    def curves(self, p: Floats, q: Floats) -> tuple[FittedFunction, ...]:
        """The functions before and after a fit."""
        sides = [self.of_model(self._models(each).nominal, self.seen) for each in (p, q)]
        return tuple(
            FittedFunction(each.name, each.kind == TRANSFER, each.abscissa, each.values, one, other)
            for each, one, other in zip(self.seen, *sides, strict=True)
        )


def _unit(of: Response, own: Complexes) -> tuple[str, bool]:
    """The unit that measured values may have, in words, by their size beside those of the model, "" for none; and
    whether no parameter can be the reason."""
    if of.kind != TRANSFER:
        size = [float(np.sqrt(np.mean(np.abs(each) ** 2))) for each in (of.values, own)]
        ratios, at = np.array([size[0] / size[1]]) if min(size) > 0.0 else np.ones(1), np.ones(1)
    else:
        some = (np.abs(own) > 0.0) & (np.abs(of.values) > 0.0)
        ratios, at = np.abs(of.values[some]) / np.abs(own[some]), 2.0 * np.pi * of.abscissa[some]
    if not ratios.size:
        return "", False

    def far(by: Floats) -> float:
        return float(np.median(np.abs(np.log(ratios / by))))

    near = {factor: unit for factor, unit in FACTORS.items() if far(np.array(factor)) < NEAR}
    if near:
        words = f"{np.median(ratios):.3g} times those of the model: are they in {' or '.join(near.values())}?"
        return f"{words} Give SI units", all(max(x, 1.0 / x) > PLAIN for x in near)
    for power in (1, 2, -1, -2) if len(at) >= POINTS and at.max() > OCTAVES * at.min() else ():
        if far(at**power) < NEAR < far(np.ones(1)):
            words = f"(2 pi f)^{power} times those of the model: name the position, velocity or acceleration measured"
            return words, False
    if of.kind == TRANSFER and np.median(np.abs(np.angle(of.values[some] / own[some]))) > np.pi - NEAR:
        return "of the opposite sign to those of the model: name an end with a sign, as -bodies.tip.force.z", False
    return "", False


def _keys(response: Response) -> tuple[list[str], list[str]]:
    """Names of channels by which its output and its input may be known, the most special first."""
    found = []
    for word, name, unit in zip(("output", "input"), (response.output, response.input), response.units, strict=True):
        both = list(dict.fromkeys((name, name.removeprefix("-")))) if name else []
        in_unit = [f"{x} {unit}" for x in both if unit]
        found.append([*(f"{word} {x}" for x in in_unit), *in_unit, *(f"{word} {x}" for x in both), *both])
    return found[0], found[1]


def named_as(response: Response, channels: Mapping[str, str]) -> Response:
    """A function with the names of the model for its ends, by those of the data; ends with a sign are negative.

    channels : names of the model by "NAME", "output NAME", "input NAME", "NAME UNIT" or "output NAME UNIT" of the data,
    with a sign where they are along the negative direction.
    """
    sign, ends = 1.0, []
    for name, keys in zip((response.output, response.input), _keys(response), strict=True):
        own = next((channels[key] for key in keys if key in channels), None)
        if own is not None:
            sign *= (-1.0) ** (name.startswith("-") + own.startswith("-"))
        ends.append(name if own is None else own.removeprefix("-"))
    return replace(response, output=ends[0], input=ends[1], values=sign * response.values)


def check_channels(channels: Mapping[str, str], functions: Sequence[Response]) -> None:
    """Raises ModelError: a name that the data do not have, or one name for an output and for an input of them."""
    outputs, inputs = ([key for each in functions for key in _keys(each)[k]] for k in (0, 1))
    ends = {name for each in functions for name in (each.output, each.input) if name}
    names = sorted(ends | {name.removeprefix("-") for name in ends})
    for name in channels:
        if name not in (*outputs, *inputs):
            raise ModelError(f"channels: the data have no {absent(name, names)}")
    used = [{next((key for key in _keys(each)[k] if key in channels), "") for each in functions} for k in (0, 1)]
    for name in sorted(used[0] & used[1] - {""}):
        raise ModelError(
            f"channels: {name!r} is both an output and an input of the data: name 'output {name}' and 'input {name}'"
        )
