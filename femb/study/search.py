"""Optimisation: a search for the best run of a study within its limits, by gradients or by generations of runs.

Numbers between bounds are sought with exact gradients, in variables and constraints without dimension:

    z = (ln x - ln low)/(ln high - ln low), linear where low is not well above zero;    c = ln(limit/g) >= 0

so that products of powers, as masses and deflections of sections, are straight lines. Choices among values are sought
by differential evolution. Sources: D. Kraft, DFVLR-FB 88-28 (1988), for SLSQP; R. Byrd, M. Hribar, J. Nocedal, SIAM J.
Optim. 9 (1999) 877, for trust-constr; K. Svanberg, SIAM J. Optim. 12 (2002) 555, for mma; R. Storn, K. Price, J. Global
Optimization 11 (1997) 341; J. Lampinen, Proc. CEC 2002.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import FembError, ModelError
from femb.base.options import AUTO
from femb.base.types import Floats
from femb.base.values import number_problem, numbered
from femb.case.compose import entry_of
from femb.case.parameters import Parameter
from femb.numerics.moving_asymptotes import moving_asymptotes
from femb.results.sweep import ROOM, excess
from femb.study.box import largest, points_of
from femb.study.outputs import StudyOutput
from femb.study.runner import RunAnalyses, Runner, StudyRow
from femb.study.sensitivity import Differences
from femb.study.study import Study, given_entries
from femb.study.variables import (
    EDGE,
    EVOLUTION,
    MOVING,
    OPTIMIZE,
    SLSQP,
    WORST,
    Values,
    at_points,
    generation,
    unit_points,
)
from femb.study.variables import Range as Levels

# Relative spread of what is best over a generation at which a search ends; a violation of what has no value.
SPREAD, FAR = 1e-6, 1e30
# Relative change at which a search by gradients ends, and by what it stays inside of the limits.
CONVERGED, INSIDE = 1e-8, 2e-8
# Bounds of a ratio above this are sought in their logarithm. Below the part BENT of a limit logarithms go on straight.
DECADE, BENT = 2.0, 0.05
# Relative error of a gradient that is small enough for a search.
ENOUGH = 1e-6
# Parameter of the barrier that keeps trust-constr within the bounds, at its start.
BARRIER = 1e-3
# Variables, beyond which moving asymptotes take less than quadratic programs.
MANY = 50
# Halvings of a step whose run failed.
HALVINGS = 12
# A limit or bound that is nearer than this, relative to itself or to the range, holds the optimum.
ACTIVE = 1e-5
# Designs in a row that are one within ROOM, with outputs that are one, at which a search ends: an output found to an
# accuracy of its own, as a critical load, does not tell them apart.
STALLED = 3
# Optima that are nearer than this, relative to the ranges, are one.
SAME = 1e-3


@dataclass
class Search:
    """A search of a study: the values of the variables of its runs by number, and what is found beside them.

    notes : lines on starts and optima. multipliers : the derivative of what is best by each limit, and each bound of a
    variable, that holds the optimum, by names as "deflection largest".
    """

    study: Study
    runner: Runner
    carry_out: Callable[..., list[StudyRow]]
    values: list[tuple[Any, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    multipliers: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sense, _, self.name = (self.study.best or "").partition(" ")
        self.sign = 1.0 if sense == "least" else -1.0
        self.limits = self.study.limits

    def run(self) -> None:
        """Carry out the runs of the study: towards its optimum, towards its worst, or as they stand in its design."""
        if self.study.design == OPTIMIZE:
            self.find()
        elif self.study.design == WORST:
            self.find_worst()
        else:
            self.values += self.study.rows
            self.carry_out(dict(enumerate(self.values)))

    def find(self) -> None:
        """Carry out the search. Raises ModelError: gradients are asked for, and an output has none, with the reason."""
        names, asked = list(self.study.variables), self.study.optimizer
        choices = [n for n, each in self.study.variables.items() if isinstance(each, Values | Levels)]
        reason = ""
        if asked != EVOLUTION and len(choices) < len(names):
            try:
                _Differentiated(self, {}).check()
            except ModelError as error:
                if asked != AUTO:
                    raise
                reason = str(error).splitlines()[0]
        elif asked not in (AUTO, EVOLUTION):
            raise ModelError.at(("optimizer",), f"got {asked!r}, which seeks numbers between bounds, of which there "
                                "are none; take kind = 'uniform', or differential-evolution")  # fmt: skip
        if asked == EVOLUTION or reason or len(choices) == len(names):
            self.notes.append(f"by {EVOLUTION}" + (f", since there are no gradients: {reason}" if reason else ""))
            self._evolve(self.study.most)
            return
        fixed: dict[str, Any] = {}
        if choices:
            self._evolve(self.study.most // 2)
            best = min(range(len(self.known)), key=lambda k: (self.known[k][1], self.known[k][0]))
            fixed = {n: self.values[best][names.index(n)] for n in choices}
            self.notes.append(f"by {EVOLUTION}, then with {', '.join(f'{n} = {v}' for n, v in fixed.items())}:")
            _Descents(self, fixed, [self.values[best]]).find()
        else:
            _Descents(self, fixed, []).find()

    def find_worst(self) -> None:
        """Carry out the corners and random points of the bounds, and a local search from the worst of these.

        The worst run is carried out again as the last one.
        """
        variables, values = tuple(self.study.variables.values()), self.values
        values += self.study.rows
        number = list(self.study.outputs).index(self.name)

        def cost(row: StudyRow) -> float:
            """A number that is larger the worse a run is; the least of one that failed."""
            value = self.sign * float(row.outputs[number])
            return -FAR if np.isnan(value) else float(np.clip(value, -FAR, FAR))

        known = [cost(row) for row in self.carry_out(dict(enumerate(values)))]
        begun = points_of(len(variables), self.study.seed)

        def at(d: Floats) -> float:
            if len(values) >= self.study.most - 1:
                return -FAR
            values.extend(at_points(variables, d[None]))
            known.extend(map(cost, self.carry_out({len(values) - 1: values[-1]})))
            return known[-1]

        largest(at, begun, known, best=1)
        worst = int(np.argmax(known))
        values.append(values[worst])
        self.carry_out({len(values) - 1: values[-1]})
        self.notes.append(f"worst {self.name}: run {worst}, carried out again as the last; found, not proved")

    def _evolve(self, most: int) -> None:
        """Differential evolution over the probabilities of the variables.

        Among two runs the better one is that of smaller excess over the limits. The same seed gives the same runs, and
        equal values run once.
        """
        from scipy.optimize import NonlinearConstraint, differential_evolution

        variables, values = tuple(self.study.variables.values()), self.values
        numbers: dict[str, int] = {}
        known = self.known = list[tuple[float, float]]()  # what is to be least, and the excess, of each run

        def found(points: Floats) -> Floats:
            """(2, k) of points (d, k) of the unit cube."""
            columns = [each.quantile(u) for each, u in zip(variables, np.clip(points, EDGE, 1.0 - EDGE), strict=True)]
            rows = list(zip(*columns, strict=True))
            for row in rows:
                if repr(row) not in numbers and len(values) < most:
                    numbers[repr(row)] = len(values)
                    values.append(row)
            for each in self.carry_out({k: values[k] for k in range(len(known), len(values))}):
                outputs = {key: np.asarray(x) for key, x in zip(self.study.outputs, each.outputs, strict=True)}
                cost, over = self.sign * outputs[self.name], excess(self.limits, outputs)
                known.append((float(cost) if np.isfinite(cost) else FAR, float(over) if np.isfinite(over) else FAR))
            none = (FAR, FAR)
            found = [known[numbers[repr(row)]] if repr(row) in numbers else none for row in rows]
            return np.reshape(found, (-1, 2)).T  # also of no points

        count, seed = generation(len(variables)), self.study.seed
        points = unit_points("latin-hypercube", len(variables), count, seed)
        within = NonlinearConstraint(lambda x: found(x.reshape(len(variables), -1))[1:], -np.inf, 0.0)
        differential_evolution(
            lambda x: found(x.reshape(len(variables), -1))[0], [(0.0, 1.0)] * len(variables), constraints=within,
            init=points, maxiter=max(most // count - 1, 0), tol=SPREAD, seed=np.random.default_rng(seed),
            polish=False, vectorized=True, updating="deferred",
        )  # fmt: skip


class _Differentiated:
    """Runs with the gradients of the outputs that a search looks at; called with a number and values, gives its row.

    fixed : the values of the variables that are choices. accepted : the designs of the path, by whose last one modes
    and poles are followed.
    """

    def __init__(self, search: Search, fixed: dict[str, Any]) -> None:
        study = search.study
        self.study, self.runner = study, search.runner
        self.free = [name for name in study.variables if name not in fixed]
        self.entries = {
            key: self.runner.scaled(key, value) for name, value in fixed.items() for key in study.variables[name].keys
        }
        self.wanted = {name: study.outputs[name] for name in dict.fromkeys([search.name, *study.constraints])}
        self.accepted: list[tuple[Any, ...]] = []
        self.followed: list[RunAnalyses] = []

    def sides(self, values: Sequence[Any]) -> Differences:
        """The models at and beside values of all variables."""
        parameters = {}
        for name, value in zip(self.study.variables, values, strict=True):
            if name in self.free:
                of = self.study.variables[name]
                ends = [float(x) for x in of.quantile(np.array([EDGE, 1.0 - EDGE]))]
                parameters[name] = Parameter(
                    name=name, entries=list(of.keys), value=float(value), range=ends, relative=of.relative
                )
        found = Differences(self.study, parameters, self.wanted, self.entries)
        found.small = ENOUGH
        return found

    def check(self) -> None:
        """Raise ModelError where an output or a variable has no derivative; where it has no value, if the one start of
        the search is there."""
        design, others = dict(zip(self.study.variables, self.study.rows[0], strict=True)), self.study.starts > 1
        for name, given in zip(self.free, self.start(), strict=True):
            low, middle, high = self.study.variables[name].quantile(np.array([EDGE, 0.5, 1.0 - EDGE]))
            if isinstance(middle, str | list | bool):
                return
            chosen = isinstance(self.study.variables[name], Values | Levels)
            others |= chosen
            design[name] = middle if chosen or given is None else min(max(given, low), high)
        sides = self.sides(list(design.values()))
        for output in self.wanted.values():
            try:
                output.frozen(sides.nominal)
            except FembError as error:
                if not isinstance(error, ModelError) or error.problems[0].item[:1] == ("run",):
                    continue
                if _has_value(output, sides.nominal):
                    raise
                if not others:
                    at = ", ".join(f"{name} = {value:.6g}" for name, value in design.items())
                    raise ModelError(f"{error}, where the search starts: {at}") from error

    def start(self) -> list[float | None]:
        """The values of the free variables in the case, None where it has none."""
        found: list[float | None] = []
        document = given_entries(self.study)
        for name in self.free:
            of, key = self.study.variables[name], self.study.variables[name].keys[0]
            value = self.study.parameters[name].value if name in self.study.parameters else None
            if value is None and not isinstance(self.study.case, str | Path):
                value = document.get(key)
            elif value is None:
                value = 1.0 if of.relative else entry_of(document, key)
            found.append(None if value is None or number_problem(value) else float(value))
        return found

    def _previous(self) -> RunAnalyses | None:
        """The analyses of the last accepted design, each followed from the one before."""
        for values in self.accepted[len(self.followed) :]:
            nominal = self.sides(values).nominal
            nominal.previous = self.followed[-1] if self.followed else None
            self.followed.append(nominal)
        return self.followed[-1] if self.followed else None

    def __call__(self, number: int, values: Sequence[Any]) -> StudyRow:
        made: list[Differences] = []

        def begun() -> RunAnalyses:
            made.append(self.sides(values))
            made[0].nominal.previous = self._previous()
            return made[0].nominal

        row = self.runner.row(number, begun)
        if row.failed:
            return row
        try:
            found = made[0].found()
        except FembError as error:
            return row._replace(failed=True, message=str(error))
        nothing = (float("nan"),) * len(self.study.variables)
        gradients = dict.fromkeys(self.study.outputs, nothing)
        for name, slopes in zip(found.outputs, found.derivatives, strict=True):
            own = dict(zip(self.free, slopes.tolist(), strict=True))
            gradients[name] = tuple(own.get(each, float("nan")) for each in self.study.variables)
        return row._replace(gradients=tuple(gradients.values()))


def _has_value(output: StudyOutput, analyses: RunAnalyses) -> bool:
    try:
        return bool(np.isfinite(output.value(analyses)))
    except FembError:
        return False


class _RunError(Exception):
    """A run without a value or a gradient, at a point z; it ends a search from a start."""

    def __init__(self, z: Floats, message: str) -> None:
        super().__init__(message)
        self.z = z


class _StallError(Exception):
    """The last designs, of which z is the best, are one within the accuracy of outputs."""

    def __init__(self, z: Floats) -> None:
        super().__init__()
        self.z = z


class _CountError(Exception):
    """The most runs are carried out."""


@dataclass(frozen=True)
class _Point:
    """A design: its run, what is to be least and its gradient (d,), constraints (m,), at least zero, and theirs (m, d),
    by z; physical : output and gradient of each constraint, by z."""

    run: int
    cost: float
    slope: Floats
    within: Floats
    slopes: Floats


class _Descents:
    """Searches by gradients from several starts."""

    def __init__(self, search: Search, fixed: dict[str, Any], starts: list[tuple[Any, ...]]) -> None:
        self.search, self.study, self.fixed = search, search.study, fixed
        self.runs = _Differentiated(search, fixed)
        ends = [self.study.variables[name].quantile(np.array([EDGE, 1.0 - EDGE])) for name in self.runs.free]
        self.low, self.high = np.array(ends, dtype=float).T
        self.logarithmic = (self.low > 0.0) & (self.high > DECADE * self.low)
        self.columns = [list(self.study.variables).index(name) for name in self.runs.free]
        self.sides = [
            (name, limit, sign)
            for name, pair in search.limits.items()
            for limit, sign in zip(pair, (-1.0, 1.0), strict=True)
            if limit is not None
        ]
        self.scale = 0.0
        self.points: dict[bytes, _Point] = {}
        self.rows: dict[int, StudyRow] = {}
        self.given = starts

    def starts(self) -> list[Floats]:
        """The starts: the values of the case, and points of a Sobol sequence."""
        size = len(self.low)
        if self.given:
            return [self._scaled(np.array([self.given[0][k] for k in self.columns], dtype=float))]
        own = np.array([np.nan if value is None else value for value in self.runs.start()])
        first = np.clip(np.where(np.isfinite(own), self._scaled(np.where(np.isfinite(own), own, self.low)), 0.5), 0, 1)
        others = unit_points("sobol", size, max(self.study.starts - 1, 1), self.study.seed)
        return [first, *others[: self.study.starts - 1]]

    def _scaled(self, x: Floats) -> Floats:
        x = np.clip(x, self.low, self.high)
        with np.errstate(divide="ignore", invalid="ignore"):
            bent = np.log(x / self.low) / np.log(self.high / self.low)
        return np.asarray(np.where(self.logarithmic, bent, (x - self.low) / (self.high - self.low)))

    def x(self, z: Floats) -> Floats:
        """The values at z."""
        with np.errstate(divide="ignore", invalid="ignore"):
            bent = self.low * (self.high / self.low) ** z
        straight = self.low + z * (self.high - self.low)
        return np.asarray(np.clip(np.where(self.logarithmic, bent, straight), self.low, self.high))

    def by_z(self, z: Floats) -> Floats:
        """dx/dz (d,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            bent = self.x(z) * np.log(self.high / self.low)
        return np.asarray(np.where(self.logarithmic, bent, self.high - self.low))

    def design(self, z: Floats) -> tuple[Any, ...]:
        """The values of all variables."""
        free = dict(zip(self.runs.free, self.x(z).tolist(), strict=True))
        return tuple((self.fixed | free)[name] for name in self.study.variables)

    def at(self, z: Floats) -> _Point:
        """The design at z. Raises _RunError, _CountError."""
        z = np.clip(np.asarray(z, dtype=float), 0.0, 1.0)
        if z.tobytes() in self.points:
            return self.points[z.tobytes()]
        values = self.search.values
        if len(values) >= self.study.most:
            raise _CountError
        number = len(values)
        values.append(self.design(z))
        (row,) = self.search.carry_out({number: values[number]}, self.runs)
        outputs = dict(zip(self.study.outputs, row.outputs, strict=True))
        if row.failed or not all(np.isfinite(outputs[name]) for name in self.runs.wanted):
            raise _RunError(z, row.message or "an output has no value")
        slopes = self._slopes(row, z)
        name, sign = self.search.name, self.search.sign
        self.scale = self.scale or abs(outputs[name]) or 1.0
        within, of_within = [], []
        for each, limit, side in self.sides:
            value, slope = _within(outputs[each], limit, side)
            within.append(value - INSIDE)
            of_within.append(slope * slopes[each])
        self.rows[number] = row
        point = self.points[z.tobytes()] = _Point(
            number, sign * outputs[name] / self.scale, sign * slopes[name] / self.scale, np.array(within),
            np.array(of_within).reshape(len(self.sides), len(z)),
        )  # fmt: skip
        return point

    def _slopes(self, row: StudyRow, z: Floats) -> dict[str, Floats]:
        """The gradients of outputs of a run by z."""
        pairs = zip(self.study.outputs, row.gradients, strict=True)
        return {name: np.array(each)[self.columns] * self.by_z(z) for name, each in pairs}

    def _cost(self, z: Floats) -> float:
        """The number that is to be least. Raises _StallError where the last designs are one; and as ``at``."""
        point, last = self.at(z), list(self.points.items())[-STALLED:]
        if len(last) == STALLED and all(
            np.max(np.abs(np.frombuffer(key) - z)) < ROOM and abs(each.cost - point.cost) < CONVERGED
            and np.min(each.within, initial=0.0) > -ROOM for key, each in last
        ):  # fmt: skip
            raise _StallError(np.frombuffer(min(last, key=lambda pair: pair[1].cost)[0]).copy())
        return point.cost

    def find(self) -> None:
        """Search from all starts, and note the optima."""
        of_size = SLSQP if len(self.low) <= MANY else MOVING
        method = of_size if self.study.optimizer == AUTO else self.study.optimizer
        ends: list[tuple[int, Floats, _Point]] = []
        first, lines = len(self.search.values), list[str]()
        starts = self.starts()
        for k, start in enumerate(starts):
            self.runs.accepted.clear()
            self.runs.followed.clear()
            try:
                z = self._descend(method, start)
                ends.append((k, z, self.at(z)))
            except _RunError as failure:
                lines.append(f"start {k + 1} failed: {str(failure).splitlines()[0]}")
            except _CountError:
                lines.append(f"start {k + 1} was not finished within {numbered(self.study.most, 'run')}")
                break
        count = len(self.search.values) - first
        self.search.notes.append(f"by {method} from {numbered(len(starts), 'start')}, {numbered(count, 'run')}")
        self.search.notes += lines
        groups: list[list[tuple[int, Floats, _Point]]] = []
        for end in sorted(ends, key=lambda end: (np.min(end[2].within, initial=0.0) < -ROOM, end[2].cost)):
            like = [group for group in groups if np.max(np.abs(group[0][1] - end[1])) < SAME]
            like[0].append(end) if like else groups.append([end])
        for number, group in enumerate(groups if len(starts) > 1 else [], 1):
            names = ", ".join(str(k + 1) for k in sorted(k for k, _, _ in group))
            best = min(group, key=lambda end: end[2].cost)[2]
            beyond = "" if np.min(best.within, initial=0.0) >= -ROOM else ", beyond a limit"
            self.search.notes.append(f"optimum {number}: run {best.run}{beyond}, from start {names}")
        if groups:
            self._multipliers(*groups[0][0][1:])

    def _descend(self, method: str, z: Floats) -> Floats:
        """The optimum from a start. After a failed run the step is halved from the last design that is good."""
        from scipy.optimize import Bounds, NonlinearConstraint, minimize

        self._accept(z)
        self.at(z)
        low, high = np.zeros(len(z)), np.ones(len(z))
        constraints: Any = ()
        for _ in range(HALVINGS):
            words: dict[str, Any]
            if method in (SLSQP, MOVING):
                ends = {SLSQP: "ftol", MOVING: "tolerance"}[method]
                words = {"options": {ends: CONVERGED, "maxiter": 10 * self.study.most}}
                constraints = {"type": "ineq", "fun": lambda z: self.at(z).within, "jac": lambda z: self.at(z).slopes}
            else:
                # its gtol does not look at the barrier of the bounds, which moves the optimum
                words = {"options": {"gtol": 1e-14, "xtol": CONVERGED, "maxiter": self.study.most}}
                words["options"] |= {"initial_barrier_parameter": BARRIER, "initial_barrier_tolerance": BARRIER}
                constraints = NonlinearConstraint(
                    lambda z: self.at(z).within, 0.0, np.inf, jac=lambda z: self.at(z).slopes
                )
            try:
                with warnings.catch_warnings():
                    # of trust-constr on slopes that do not change, which logarithms make of products
                    warnings.simplefilter("ignore", UserWarning)
                    found = minimize(
                        self._cost, z, jac=lambda z: self.at(z).slope,
                        method=moving_asymptotes if method == MOVING else method,
                        bounds=Bounds(low, high, keep_feasible=method not in (SLSQP, MOVING)),
                        constraints=constraints if self.sides else (), callback=self._accepted, **words,
                    )  # fmt: skip
                z = np.clip(found.x, 0.0, 1.0)
            except _StallError as stall:
                z = stall.z
            except _RunError as failure:
                z = self.last
                step = 0.5 * np.abs(failure.z - z)
                low, high = np.maximum(z - step, 0.0), np.minimum(z + step, 1.0)
                continue
            held = (np.minimum(z - low, high - z) < ACTIVE) & (low < high) & (np.minimum(z, 1.0 - z) > ACTIVE)
            if not held.any():
                break
            low, high = np.zeros(len(z)), np.ones(len(z))
        return z

    def _accept(self, z: Floats) -> None:
        self.last = np.array(z)
        self.runs.accepted.append(self.design(self.last))

    def _accepted(self, z: Floats, *_: object) -> None:
        self._accept(np.clip(z, 0.0, 1.0))

    def _multipliers(self, z: Floats, at: _Point) -> None:
        """The derivatives of what is best by the limits and the bounds that hold it."""
        from scipy.optimize import nnls

        row = self.rows[at.run]
        outputs = dict(zip(self.study.outputs, row.outputs, strict=True))
        slopes = self._slopes(row, z)
        found: list[tuple[str, float, Floats]] = []  # its name, d best/d limit by a multiplier of one, its gradient
        for name, limit, side in self.sides:
            if abs(outputs[name] - limit) <= ACTIVE * (abs(limit) or 1.0):
                found.append((f"{name} {'largest' if side > 0.0 else 'least'}", -side, -side * slopes[name]))
        axes = np.eye(len(z)) * self.by_z(z)
        for k, name in enumerate(self.runs.free):
            for word, end, side in (("low", 0.0, 1.0), ("high", 1.0, -1.0)):
                if abs(z[k] - end) <= ACTIVE:
                    found.append((f"{name} {word}", side, side * axes[k]))
        if not found:
            return
        of_best = self.search.sign * slopes[self.search.name]
        matrix = np.array([gradient for _, _, gradient in found]).T
        sizes = np.linalg.norm(matrix, axis=0)
        multipliers = nnls(matrix / sizes, of_best)[0] / sizes
        for (name, direction, _), value in zip(found, multipliers, strict=True):
            self.search.multipliers[name] = float(self.search.sign * direction * value) + 0.0


def _within(value: float, limit: float, side: float) -> tuple[float, float]:
    """The distance of a value from a limit, without dimension, and its derivative; side : 1 of the largest."""
    if not limit:
        return -side * value, -side
    ratio, sign = value / limit, -side * np.sign(limit)
    logarithm = np.log(max(ratio, BENT)) + min(ratio - BENT, 0.0) / BENT
    return float(sign * logarithm), float(sign / (max(ratio, BENT) * limit)) * 1.0
