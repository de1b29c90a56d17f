"""Tuning of the gains of controllers of a fixed structure, over all parameters of an uncertain model.

    least f(gains)    with    growth(plant) <= -decay,    |S(plant)| <= peak at every local peak,    for all plants

Growth is a constraint of its own: a loop that is not stable may have low peaks, too. Every local peak of every plant is
a constraint of its own in a sequence of linear programs within a way that grows where they succeed, from gains with
which all loops are stable. Plants are corners of the ranges, and what a search over the ranges finds to be worse.
Source: docs/theory/robust.md, section 8; P. Apkarian, D. Noll, IEEE Trans. Automatic Control 51 (2006) 71.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import FembError, ModelError
from femb.base.files import write_text
from femb.base.html import Tabled
from femb.base.types import Complexes, Floats
from femb.base.values import nearest, numbered
from femb.case import rewritten
from femb.case.parameters import Parameter, TunedGain, read_parameters
from femb.elements.control.linear_law import LinearLaw
from femb.linear.conserved import without_conserved
from femb.linear.linearise import laws_of
from femb.linear.loop import Loop
from femb.linear.margins import nearest as nearest_distance
from femb.linear.norms import h2_norm, peak_gain
from femb.linear.sampled_motion import part_of, with_continuous
from femb.linear.state_space import StateSpace
from femb.robust.peaks import LoopPeaks, fixed_poles, resolved, slowest, within_bands
from femb.robust.ranges import check_apart
from femb.robust.uncertain import Uncertain, uncertain
from femb.study.box import ALL_CORNERS, largest, points_of
from femb.study.sensitivity import CaseFamily, read_either
from femb.study.study import Build, Study, given_entries
from femb.study.variables import unit_points
from femb.vibration.completion import system_of

# Gains of one search. Corners, of more parameters at random, at which it begins; rounds that add worse plants.
MOST_GAINS, CORNERS, ROUNDS = 10, 16, 5
# Frequencies at which peaks are looked for, and the decades beyond poles.
GRID, BEYOND = 120, 1.0
# Steps of differences. Programs from one start; the way of one at first, of the ranges, and the least one; the price of
# limits that are exceeded.
STEP, PROGRAMS, WAY, LEAST_WAY, PRICE = 1e-6, 60, 0.1, 1e-5, 30.0
# Evaluations, a gain, that look for stable loops. Part of a limit by which a plant may exceed it.
STABILISING, WITHIN = 150, 1e-4
# Words for what is least; the limit of peaks where these are not it.
NOISE, PEAK, LIMIT = "noise", "peak", 2.0


@dataclass(frozen=True, eq=False)
class Tuned(Tabled):
    """Gains that are tuned over an uncertain model.

    gains, begun : tuned numbers by name and those before. entries : the tuned numbers by entry of the case.
    least : the number that was to be least. peak, growth : the largest of all plants, a ratio and 1/s. plants :
    parameters by name at which the limits were kept, the last ones found by search. laws : of the tuned controllers.
    notes : a line for each start. title : the first line of the table. case, given : its path, and the entries that
    were replaced before.
    """

    gains: Mapping[str, float]
    begun: Mapping[str, float]
    entries: Mapping[str, float]
    least: float
    peak: float
    growth: float
    plants: tuple[Mapping[str, float], ...]
    laws: tuple[LinearLaw, ...]
    notes: tuple[str, ...]
    title: str = ""
    case: Path | None = None
    given: tuple[str, ...] = ()

    @property
    def overrides(self) -> tuple[str, ...]:
        """The entries as ``load_case`` and --set take them."""
        return tuple(f"{key}={value!r}" for key, value in self.entries.items())

    def table(self) -> str:
        """Gains, what is reached, and the starts."""
        lines = [self.title] if self.title else []
        width = max(28, *(len(name) + 2 for name in self.gains))
        lines.append(f"{'gains':{width}}{'before':>14}{'tuned':>14}")
        lines += [f"{name:{width}}{self.begun[name]:14.7g}{value:14.7g}" for name, value in self.gains.items()]
        lines.append(f"least {self.least:.7g}; of {numbered(len(self.plants), 'plant')}: largest peak {self.peak:.6g}, "
                     f"growth {self.growth:.6g} 1/s")  # fmt: skip
        return "\n".join([*lines, *self.notes])

    def write(self, path: str | Path) -> Path:
        """Write the case with its tuned gains to a file (TOML), and return its path.

        Raises ModelError: gains of laws that were given, or of a case in Python.
        """
        path = Path(path)
        if self.case is None or self.case.suffix == ".py" or not self.entries or path.suffix != ".toml":
            raise ModelError(f"tune: {path}: wanted a name that ends in .toml, of gains of a case file in TOML")
        text = rewritten(self.case, (*self.given, *self.overrides), path)
        return write_text(path, f"# {self.case.name}, with gains that femb loop --tune found\n{text}")


def tune(
    case: Study | Build | str | Path,
    gains: Mapping[str, Any] | Sequence[str] = (),
    by: Sequence[str] | Mapping[str, Any] | str | None = None,
    *,
    least: str | Callable[[Loop], float] = NOISE,
    peak: float | None = None,
    decay: float = 0.0,
    laws: Callable[..., Sequence[LinearLaw]] | None = None,
    starts: int = 4,
    seed: int = 1,
    overrides: Iterable[str] = (),
    **words: Any,
) -> Tuned:
    """Gains with the least of a number, within limits that hold for all parameters of an uncertain model.

    Parameters:
        case: as in ``femb.uncertain``, or what that gave where ``laws`` are given.
        gains: up to ten numbers of the controllers: tables with ``entry`` and ``range`` by name, as [gains]; or texts
            "KEY=LOW:HIGH", with an entry, and names of [gains]. By default all of these.
        by: parameters, as in ``femb.uncertain``; a case without any has its nominal plant alone.
        least: what is least: "noise", the norm of the laws from what they read, by white noise of unit density, to what
            they set; "peak", the largest peak itself; or a function of the nominal loop.
        peak: largest peak of the sensitivity, a ratio: of continuous laws the largest singular value of all channels
            together, of sampled ones that of each channel, for all parameters. By default 2, where it is least none.
        decay: 1/s, of the slowest pole that laws move, for all parameters.
        laws: function of the gains by name that gives laws, in place of those of a case.
        starts: the gains of the case, and points of their ranges.
        seed: of the points.
        overrides: entries to replace, as in ``load_case``.
        words: others of ``femb.uncertain``.

    Raises:
        ModelError: as in ``femb.uncertain``; gains without a range, too many, or with which no loop keeps the limits.
    """
    study = None if isinstance(case, Uncertain) else read_either(case, overrides)
    found = gains_in(study, gains)
    if not 1 <= len(found) <= MOST_GAINS:
        raise ModelError(f"gains: got {len(found)}, wanted 1 to {MOST_GAINS}")
    if isinstance(least, str) and least not in (NOISE, PEAK):
        raise ModelError(f"least: got {least!r}, wanted {NOISE!r}, {PEAK!r} or a function of a femb.Loop")
    limit = limit_of(least, peak)
    if limit <= 1.0 or decay < 0.0:
        raise ModelError(f"peak, decay: got {limit:g} and {decay:g}, wanted above 1, and 0 or more")
    if study is not None and not by and not study.parameters and not study.variables:
        by = {}
    if laws is None:
        if study is None:
            raise ModelError("tune: got an uncertain model, whose gains are those of a case: give laws, or the case")
        choices = _Gains.of_case(study, found)
        form = uncertain(study, by, **words)
        check_apart(found, form.ranges)
    else:
        choices = _Gains.of_function(laws, found)
        form = uncertain(study, by, laws=choices.laws(choices.start), **words) if study is not None else case
    tuned = _Tuning(form.without_errors(), choices, least, limit, decay).find(starts, seed)
    if study is None or study.build is not None:
        return tuned
    return replace(tuned, case=Path(study.case), given=tuple(study.overrides))


def limit_of(least: str | Callable[[Loop], float], peak: float | None) -> float:
    """The limit of peaks: infinite where none is given, and the peak itself is least."""
    return peak if peak is not None else np.inf if least == PEAK else LIMIT


def gains_in(study: Study | None, given: Mapping[str, Any] | Sequence[str]) -> dict[str, Parameter]:
    """The gains of tables, or of texts about a case. Raises ModelError."""
    document = given_entries(study) if study is not None and study.build is None else None
    own, tables = (document or {}).get(TunedGain.table, {}), dict(given) if isinstance(given, Mapping) else {}
    for text in (given or own) if not isinstance(given, Mapping) else ():
        key, sign, limits = text.rpartition("=")
        if sign:
            tables[key] = {"entry": key, "range": [_number(each) for each in limits.split(":")]}
        elif text in own:
            tables[text] = own[text]
        else:
            raise ModelError(f"gains: got {text!r}{nearest(text, own)}, wanted KEY=LOW:HIGH, or a name of [gains]")
    found, problems = read_parameters(tables, False, document, TunedGain)
    if problems:
        raise ModelError(*problems)
    return found


def _number(text: str) -> float | str:
    """The number of a text, else the text, of a number with its unit."""
    try:
        return float(text)
    except ValueError:
        return text


@dataclass
class _Gains:
    """Gains z in [0, 1] by their ranges, in logarithms where these are positive, and the laws of values of them."""

    names: tuple[str, ...]
    low: Floats
    high: Floats
    start: Floats
    of: Callable[[Floats], Sequence[LinearLaw]]
    entries: Callable[[Floats], Mapping[str, float]]

    @staticmethod
    def of_case(study: Study, given: Mapping[str, Parameter]) -> "_Gains":
        family = CaseFamily(study, dict(given), {})

        def entries(x: Floats) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for each, value in zip(family.parameters, x, strict=True):
                found |= each.entries(float(value))
            return found

        def laws(x: Floats) -> Sequence[LinearLaw]:
            return laws_of(system_of(family.analyses(entries(x)).described.model))

        low, high = np.array([_limits(each.parameter.name, each.limits) for each in family.parameters]).T
        return _Gains(tuple(given), low, high, np.array([each.value for each in family.parameters]), laws,
                      entries)  # fmt: skip

    @staticmethod
    def of_function(laws: Callable[..., Sequence[LinearLaw]], given: Mapping[str, Parameter]) -> "_Gains":
        limits = np.array([_limits(name, each.limits(each.value)) for name, each in given.items()])
        middle = np.where(np.all(limits > 0.0, axis=1), np.sqrt(np.abs(np.prod(limits, axis=1))), limits.mean(axis=1))
        own = [each.value for each in given.values()]
        start = np.array([m if x is None else x for m, x in zip(middle, own, strict=True)])
        return _Gains(
            tuple(given), limits[:, 0], limits[:, 1], start,
            lambda x: laws(**dict(zip(given, x.tolist(), strict=True))), lambda _: {},
        )  # fmt: skip

    def x(self, z: Floats) -> Floats:
        """The values at z."""
        z = np.clip(z, 0.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            bent = self.low * (self.high / self.low) ** z
        return np.asarray(np.where(self.low > 0.0, bent, self.low + z * (self.high - self.low)))

    def z(self, x: Floats) -> Floats:
        """The z of values."""
        with np.errstate(divide="ignore", invalid="ignore"):
            bent = np.log(x / self.low) / np.log(self.high / self.low)
        return np.asarray(np.clip(np.where(self.low > 0.0, bent, (x - self.low) / (self.high - self.low)), 0.0, 1.0))

    def laws(self, x: Floats) -> tuple[LinearLaw, ...]:
        """The laws of values. Raises ModelError: values with which there are none."""
        try:
            return tuple(self.of(x))
        except FembError as error:
            values = ", ".join(f"{name} = {value:.6g}" for name, value in zip(self.names, x, strict=True))
            raise ModelError(f"tune: no laws with {values}: {error}") from error


def _limits(name: str, limits: tuple[float, float] | None) -> tuple[float, float]:
    if limits is None:
        raise ModelError.at((TunedGain.table, name, "range"), "is missing: a gain is tuned between two limits")
    return limits


class _Plant:
    """A plant in the loop of any laws."""

    def __init__(self, plant: StateSpace, laws: Sequence[LinearLaw]) -> None:
        set_ = [x for law in laws for x in law.outputs if x in plant.inputs]
        read = [x for law in laws for x in law.inputs if x in plant.outputs]
        self.commands = tuple(dict.fromkeys(set_))
        core = without_conserved(part_of(plant, self.commands, tuple(dict.fromkeys(read))), in_modes=True)
        self.plant, m = core, len(self.commands)
        self.fixed = fixed_poles(core)
        # what acts, beside what is read
        self.acting = StateSpace(
            core.A, core.B, np.vstack([core.C, np.zeros((m, len(core.A)))]), np.vstack([core.D, np.eye(m)]),
            core.states, core.inputs, (*core.outputs, *(f"{name} acts" for name in self.commands)), units=core.units,
        )  # fmt: skip

    def closed(self, laws: Sequence[LinearLaw]) -> StateSpace:
        """S of all commands together, of continuous laws."""
        found = with_continuous(self.acting, laws)
        return part_of(found, self.commands, [f"{name} acts" for name in self.commands])

    def _moved(self, poles: Complexes, period: float | None = None) -> Complexes:
        """The poles of a loop without those that are the same with all laws."""
        places = poles if period is None else np.exp(poles * period)
        for fixed in self.fixed if period is None else np.exp(self.fixed * period):
            nearest = int(np.argmin(np.abs(places - fixed)))
            poles, places = np.delete(poles, nearest), np.delete(places, nearest)
        return poles

    def response(self, laws: Sequence[LinearLaw], grid: Floats, exact: bool = False) -> LoopPeaks:
        """Growth and sensitivity with some laws, on a grid and near the poles.

        exact : the largest peaks alone, of sampled laws as in ``Loop.margins``, else by level sets.
        """
        if not _continuous(laws):
            loop = Loop(self.plant, tuple(laws))
            opened, poles = [loop.opened(name) for name in loop.channels], loop.poles()
            rates = slowest(self._moved(poles, loop.common_period))
            if exact:
                return LoopPeaks.alone(rates, [(1.0 / np.float64(d), w) for d, w in map(nearest_distance, opened)])
            omega = resolved(grid, poles)
            grids = [omega if of.period is None else omega[omega < np.pi / of.period] for of in opened]
            gains = [lambda w, of=of: 1.0 / np.abs(1.0 + of(w)) for of in opened]
            return LoopPeaks.of(rates, grids, gains)
        of = self.closed(laws)
        values, vectors = np.linalg.eig(of.A)
        if exact and np.isfinite((found := peak_gain(of)).gain):
            return LoopPeaks.alone(slowest(self._moved(values)), [found[:2]])
        omega = resolved(grid, values)
        modal = np.linalg.cond(vectors) < 1e8
        left = np.linalg.solve(vectors, of.B.astype(complex)) if modal else of.B
        right = of.C @ vectors if modal else of.C

        residues = (right.T[:, :, None] * left[:, None]).reshape(len(values), -1) if modal else None

        def gain(w: Floats) -> Floats:
            s = 1j * w[:, None]
            if residues is not None:
                through = (1.0 / (s - values) @ residues).reshape(-1, *of.D.shape)
            else:
                through = right @ np.linalg.solve(
                    s[:, None] * np.eye(len(of.A)) - of.A, np.broadcast_to(left, (len(w), *left.shape))
                )
            whole = of.D + through
            # of the largest singular value the square has all digits, in half of the time
            return np.asarray(np.sqrt(np.linalg.eigvalsh(np.swapaxes(whole.conj(), 1, 2) @ whole)[:, -1]))

        return LoopPeaks.of(slowest(self._moved(values)), [omega], [gain])


@dataclass
class _Tuning:
    """A search for gains. plants : by the coordinates of their parameters; known : of gains, what they give, on the
    grid and with the largest peaks alone."""

    form: Uncertain
    gains: _Gains
    least: str | Callable[[Loop], float]
    peak: float
    decay: float
    plants: list[tuple[Floats, _Plant]] = field(default_factory=list)
    known: dict[tuple[bytes, bool], tuple[float, list[LoopPeaks]]] = field(default_factory=dict)

    def begin(self, seed: int) -> list[LinearLaw]:
        """Take the first plants and the grid of frequencies; the laws of the start."""
        k, first = len(self.form.ranges), self.gains.laws(self.gains.start)
        corners = points_of(k)[1 : 2 ** min(k, ALL_CORNERS) + 1] if k else np.zeros((0, 0))
        some = np.sort(np.random.default_rng(seed).permutation(len(corners))[:CORNERS])
        for d in [self.form.normal({}), *corners[some]]:
            self._add(d, first)
        poles = np.abs(np.concatenate([np.linalg.eigvals(of.closed(first).A) if _continuous(first) else
                                       Loop(of.plant, tuple(first)).poles() for _, of in self.plants]))  # fmt: skip
        poles = poles[poles > 1e-9 * np.max(poles)]
        ends = np.log10([np.min(poles), np.max(poles)]) + np.array([-BEYOND, BEYOND])
        self.grid = np.logspace(float(ends[0]), float(ends[1]), GRID)
        return list(first)

    def find(self, starts: int, seed: int) -> Tuned:
        """The best gains of all starts."""
        size, first = len(self.gains.names), self.begin(seed)
        notes, found = list[str](), list[Floats]()
        others = unit_points("sobol", size, max(starts - 1, 1), seed)[: starts - 1]
        for number, z in enumerate([self.gains.z(self.gains.start), *others], 1):
            z = self._stabilised(np.asarray(z, dtype=float))
            if max(each.growth for each in self._at(z)[1]) > -self.decay:
                notes.append(f"start {number}: no gains with a decay of {self.decay:g} 1/s were found")
                continue
            z = self._settled(z, first, seed)
            value, excess = self._at(z, exact=True)[0], self._excess(z, exact=True)
            peak, growth = self.reached(z)
            within = "" if excess <= WITHIN else (
                f", {100.0 * excess:.2g} % beyond a limit: largest peak {peak:.6g}, growth {growth:.6g} 1/s"
            )  # fmt: skip
            notes.append(f"start {number}: least {value:.7g}{within}")
            if excess <= WITHIN:
                found.append(z)
        # plants of later starts count for earlier ones, too
        kept = [z for z in found if self._excess(z, exact=True) <= WITHIN]
        if not kept:
            again = [self._settled(z, first, seed) for z in found]
            kept = [z for z in again if self._excess(z, exact=True) <= WITHIN]
        if not kept:
            raise ModelError("tune: no start led to gains within the limits:\n" + "\n".join(notes))
        return self._tuned(min(kept, key=lambda z: self._at(z, exact=True)[0]), notes)

    def _settled(self, z: Floats, first: Sequence[LinearLaw], seed: int) -> Floats:
        """The optimum from gains with which all plants decay, of plants that no others of the ranges are worse than,
        and of a grid that misses none of their largest peaks."""
        z = self._best(z)
        for _ in range(ROUNDS):
            missed, worse = self._missed(z), self._worse(z, seed)
            if not len(missed) and not worse:
                break
            self.grid = np.union1d(self.grid, missed)
            self.known.clear()
            for d in worse:
                self._add(d, first)
            z = self._best(z)
        return z

    def _add(self, d: Floats, laws: Sequence[LinearLaw]) -> None:
        self.plants.append((d, _Plant(self.form.at(d), laws)))
        self.known.clear()

    def _at(self, z: Floats, exact: bool = False) -> tuple[float, list[LoopPeaks]]:
        """The number that is to be least, and the responses of all plants, on the grid or their largest peaks alone."""
        key = np.asarray(z).tobytes(), exact
        if key not in self.known:
            laws = self.gains.laws(self.gains.x(z))
            responses = [of.response(laws, self.grid, exact) for _, of in self.plants]
            self.known[key] = self._value(laws, responses), responses
        return self.known[key]

    def _value(self, laws: Sequence[LinearLaw], responses: Sequence[LoopPeaks]) -> float:
        if self.least == PEAK:
            return max(each.peak for each in responses)
        if self.least == NOISE:
            return noise_of(laws)
        assert callable(self.least)
        return float(self.least(Loop(self.form.at(self.plants[0][0]), tuple(laws))))

    def _excess(self, z: Floats, exact: bool = False) -> float:
        """By how much the limits are exceeded, relative to them."""
        responses = self._at(z, exact)[1]
        rates = max(each.growth for each in responses) + self.decay
        peaks = max(each.peak for each in responses)
        return max(rates / self.rate, peaks / self.peak - 1.0)

    @property
    def rate(self) -> float:
        """The size of a usual change of growth, 1/s."""
        return max(10.0 * self.decay, float(self.grid[0]))

    def _stabilised(self, z: Floats) -> Floats:
        """Gains near some with which all plants decay, if there are any."""
        from scipy.optimize import minimize

        def growth(z: Floats) -> float:
            worst = max(each.growth for each in self._at(np.clip(z, 0.0, 1.0))[1])
            if worst < -1.5 * self.decay - 1e-12:
                raise _FoundError(np.clip(z, 0.0, 1.0))
            return worst

        try:
            found = minimize(growth, z, method="Nelder-Mead", bounds=[(0.0, 1.0)] * len(z),
                             options={"maxfev": STABILISING * len(z)}).x  # fmt: skip
        except _FoundError as error:
            return error.z
        return np.asarray(np.clip(found, 0.0, 1.0))

    def _best(self, z: Floats) -> Floats:
        """The optimum from gains with which all plants decay: linear programs with the peaks of the last gains, within
        a way that grows where they succeed."""
        from scipy.optimize import linprog

        size, of_peak, way = len(z), self.least == PEAK, WAY
        limit = 1.0 if of_peak else self.peak
        scale = abs(self._at(z)[0]) or 1.0

        def merit(z: Floats) -> float:
            if max(each.growth for each in self._at(z)[1]) > -self.decay:
                return np.inf
            return self._at(z)[0] / scale + PRICE * max(self._excess(z), 0.0)

        def values(z: Floats, bands: Sequence[Sequence[Floats]]) -> Floats:
            """The number that is to be least, what poles leave of the decay, and peaks of their limit."""
            value, responses = self._at(z)
            slow = [rate for each in responses for rate in (-each.rates - self.decay) / self.rate]
            peaks = [np.log(limit / top) for each, of in zip(responses, bands, strict=True)
                     for row in zip(each.at, each.tops, of, strict=True) for top in within_bands(*row)]  # fmt: skip
            return np.array([0.0 if of_peak else value / scale, *slow, *peaks])

        for _ in range(PROGRAMS):
            if way <= LEAST_WAY:
                break
            bands = [each.valleys for each in self._at(z)[1]]
            own, inward = values(z, bands), np.where(z + STEP > 1.0, -STEP, STEP)
            slopes = np.array(
                [(values(z + h * e, bands) - own) / h for h, e in zip(inward, np.eye(size), strict=True)]
            ).T
            # of peaks t is what they exceed their limits by; it is what is least where this is the peak itself
            slow = len(own) - 1 - sum(len(row) + 1 for of in bands for row in of)
            t = np.arange(1, len(own)) > slow
            while way > LEAST_WAY:
                bounds = [*zip(np.maximum(-way, -z), np.minimum(way, 1.0 - z), strict=True)]
                bounds.append((None if of_peak else 0.0, None))
                found = linprog(np.append(slopes[0], 1.0 if of_peak else PRICE), -np.column_stack([slopes[1:], t]),
                                own[1:], bounds=bounds)  # fmt: skip
                new = np.clip(z + found.x[:size], 0.0, 1.0) if found.success else z
                if merit(new) < merit(z) * (1.0 - 1e-7):
                    z, way = new, min(2.0 * way, 0.5)
                    break
                way *= 0.3
        return z

    def _worse(self, z: Floats, seed: int) -> list[Floats]:
        """Parameters with which a limit is exceeded by more than with those of all plants."""
        laws, k = self.gains.laws(self.gains.x(z)), len(self.form.ranges)
        if not k:
            return []
        peak = self._limit(z)

        def over(d: Floats) -> float:
            of = _Plant(self.form.at(d), laws).response(laws, self.grid, True)
            return max((of.growth + self.decay) / self.rate, of.peak / peak - 1.0)

        begun = points_of(k, seed)
        d, value = largest(over, begun, [over(each) for each in begun], best=1, evaluations=10)
        return [d] if value > 0.5 * WITHIN else []

    def reached(self, z: Floats) -> tuple[float, float]:
        """The largest peak and growth (1/s) of all plants."""
        responses = self._at(z, exact=True)[1]
        return max(each.peak for each in responses), max(each.growth for each in responses)

    def _limit(self, z: Floats) -> float:
        """Bound of the peaks of all plants: the largest of the grid where this is least, else the limit."""
        return self._at(z)[0] if self.least == PEAK else self.peak

    def _missed(self, z: Floats) -> Floats:
        """Frequencies (f,), rad/s, of largest peaks that exceed a limit and are higher than all on the grid."""
        limit, pairs = self._limit(z), zip(self._at(z)[1], self._at(z, exact=True)[1], strict=True)
        found = [np.concatenate(of.at)[np.concatenate(of.tops) > (1.0 + 0.5 * WITHIN) * max(limit, on_grid.peak)]
                 for on_grid, of in pairs]  # fmt: skip
        at = np.concatenate(found)
        return at[(at > 0.0) & (at < np.inf)]

    def _tuned(self, z: Floats, notes: Sequence[str]) -> Tuned:
        x, value = self.gains.x(z), self._at(z, exact=True)[0]
        gains, begun = (dict(zip(self.gains.names, of.tolist(), strict=True)) for of in (x, self.gains.start))
        peak, growth = self.reached(z)
        return Tuned(
            gains, begun, self.gains.entries(x), value, peak, growth,
            tuple(self.form.values(d) for d, _ in self.plants), self.gains.laws(x),
            (*notes, *self._unmoved(growth)), self.form.title,
        )  # fmt: skip

    def _unmoved(self, growth: float) -> list[str]:
        """A line on the poles that no law moves, where the slowest of all plants decays less than those that they do.

        growth : 1/s, of the latter.
        """
        d, of = max(self.plants, key=lambda pair: float(f"{np.max(pair[1].fixed.real, initial=-np.inf):.9g}"))
        slow = of.fixed[(of.fixed.real > growth) & (of.fixed.imag >= 0.0)]
        if not len(slow):
            return []
        least = complex(slow[np.argmax(slow.real)])
        mode = Loop(self.form.at(d), self.gains.laws(self.gains.start)).nearest_mode(abs(least))
        name = f" at {abs(least) / (2.0 * np.pi):.6g} Hz of {mode.items}" if least.imag and mode is not None else ""
        count = f"slower poles that no law moves, {len(slow)} of one plant, are" if len(slow) > 1 else (
            "a slower pole that no law moves is"
        )  # fmt: skip
        return [f"{count} left out of growth and decay; the slowest: {least.real:.6g} 1/s{name}"]


def reached(form: Uncertain, seed: int) -> tuple[float, float]:
    """The largest peak of the sensitivity, and growth (1/s), of the loops of a form at corners of its ranges."""
    none = np.zeros(0)
    of = _Tuning(form, _Gains((), none, none, none, lambda _: form.laws, lambda _: {}), PEAK, np.inf, 0.0)
    of.begin(seed)
    return of.reached(none)


class _FoundError(Exception):
    """Gains z with which all plants decay."""

    def __init__(self, z: Floats) -> None:
        super().__init__()
        self.z = z


def _continuous(laws: Sequence[LinearLaw]) -> bool:
    return all(law.period is None for law in laws)


def noise_of(laws: Sequence[LinearLaw]) -> float:
    """The norm of laws from white noise of unit density at all they read, to all they set.

    Raises ModelError: a law that noise moves without bound, by an integrator, or continuous without roll-off.
    """
    total = 0.0
    for law in laws:
        states = tuple(f"x{k}" for k in range(len(law.A)))
        of = StateSpace(law.A, law.B, law.C, law.D, states, law.inputs, law.outputs, dt=law.period)
        total += h2_norm(of) ** 2
        if not np.isfinite(total):
            why = "is continuous without roll-off" if law.period is None and np.any(law.D) else "has an integrator"
            raise ModelError(f"least: {NOISE!r}: controllers.{law.name} {why}, and no finite noise: take {PEAK!r}, or "
                             "a function of the loop")  # fmt: skip
    return float(np.sqrt(total))
