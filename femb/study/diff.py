"""Two results, tables of modes, linear models, other results or cases side by side: the function of ``femb diff``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.case.text import parse_toml, text_of
from femb.linear.state_space import StateSpace
from femb.numerics.linear_systems import moving
from femb.results.results import Results, results_of
from femb.run.compare import Difference, differences

# Rows that a table and a figure show.
SHOWN = 30
# Quantities below this part of the largest one of their unit are zero to rounding, and differ by parts of that one.
ROUNDING = 1e-12
# Frequencies below this part of the largest are those of rigid motions.
RIGID = 1e-9
# Of sensitivities, the arrays of names of derivatives' rows and columns.
OF_TABLE = "parameters", "outputs"
# Frequencies at which transfer functions are compared.
FREQUENCIES = 40


@dataclass(frozen=True)
class DiffRow:
    """One quantity in both: its unit, its values as texts, and the part by which they differ, of the first, or of the
    largest quantity of the unit where both are zero to rounding; infinite where one is missing or texts differ."""

    name: str
    unit: str
    first: str
    second: str
    part: float


@dataclass(frozen=True, eq=False)
class Diff(Tabled):
    """The differences of two files, the largest first.

    kind : "run", "modes", "linear model", "case", or of other results their word, as "sweep". names : of both. rows :
    a ``DiffRow`` of each quantity.
    """

    kind: str
    names: tuple[str, str]
    rows: tuple[DiffRow, ...]

    @property
    def largest(self) -> float:
        """The largest part by which a quantity differs; 0 where nothing does."""
        return max((row.part for row in self.rows), default=0.0)

    def table(self) -> str:
        """A line for each quantity that differs."""
        changed = [row for row in self.rows if row.part > 0.0]
        lines = [f"{self.kind}: {self.names[0]} and {self.names[1]}"]
        if not changed:
            return "\n".join([*lines, "no differences"])
        shown = changed[:SHOWN]
        width, one, two = (max(12, *(len(getattr(row, word)) for row in shown)) for word in ("name", "first", "second"))
        pairs = self.kind in ("modes", "linear model", "sensitivities", "case")
        heads = ("first", "second") if pairs else ("of size", "largest difference")
        two = max(two, len(heads[1]))
        lines.append(f"{'':{width}}  {heads[0]:>{one}}  {heads[1]:>{two}}  {'unit':10}{'part':>10}")
        for row in shown:
            part = f"{row.part:10.2g}" if np.isfinite(row.part) else f"{'':>10}"
            lines.append(f"{row.name:{width}}  {row.first:>{one}}  {row.second:>{two}}  {row.unit:10}{part}".rstrip())
        if len(changed) > SHOWN:
            lines.append(f"and {len(changed) - SHOWN} smaller ones")
        if same := len(self.rows) - len(changed):
            lines.append(f"{same} {'is' if same == 1 else 'are'} equal")
        return "\n".join(lines)

    def draw(self, path: str | Path) -> Path:
        """Draw the parts by which quantities differ to the picture file ``path``. Raises ResultError: none differ."""
        from matplotlib.figure import Figure

        from femb.pictures.drawing import coloured, save, styled, titled

        rows = [row for row in self.rows if 0.0 < row.part < np.inf][:SHOWN]
        if not rows:
            raise ResultError(f"{self.names[0]} and {self.names[1]}: no numbers differ, there is nothing to draw")
        figure = Figure(figsize=(8.0, 1.7 + 0.25 * len(rows)), layout="constrained")
        axes: Any = figure.subplots()
        coloured(axes)
        axes.barh([row.name for row in rows][::-1], [row.part for row in rows][::-1])
        axes.set(xscale="log", xlabel="difference, as part of the first")
        titled(figure, f"{self.names[0]} and {self.names[1]}", "differences")
        styled(axes)
        return save(figure, Path(path))


def diff(first: str | Path | Results, second: str | Path | Results) -> Diff:
    """The differences of two results, or of two case files in TOML.

    Runs are compared at equal output times, each kind of quantity by its largest difference, linear models by their
    poles and responses, studies and other results by the largest difference of each array.

    Parameters:
        first: a results file, its folder, Results, or a case file.
        second: one of the same kind.

    Raises:
        ResultError: two of unlike kinds, output times or items that differ, a file that cannot be read.
        CaseError: a case file that cannot be read, with the line.
    """
    names = _name(first), _name(second)
    cases = [isinstance(each, str | Path) and Path(each).suffix == ".toml" for each in (first, second)]
    if any(cases):
        if not all(cases):
            raise ResultError(f"{names[0]} and {names[1]}: one is a case, the other results; give two of one kind")
        one, two = (_entries(Path(str(each))) for each in (first, second))
        return _sorted("case", names, _of_entries(one, two))
    results = results_of(first), results_of(second)
    kinds = _kind(results[0]), _kind(results[1])
    if kinds[0] != kinds[1]:
        raise ResultError(f"{names[0]}: {kinds[0]}, {names[1]}: {kinds[1]}; give two of one kind")
    of_kind = OF_KIND.get(kinds[0], _of_arrays)
    return _sorted(kinds[0], names, of_kind(results[0], results[1], names))


def _name(of: str | Path | Results) -> str:
    return str(of) if isinstance(of, str | Path) else "results"


def _sorted(kind: str, names: tuple[str, str], rows: Iterator[DiffRow]) -> Diff:
    return Diff(kind, names, tuple(sorted(rows, key=lambda row: -row.part)))


def _kind(results: Results) -> str:
    if results.method == "modes":
        return "modes"
    if "linear/A" in results.arrays or results.series:
        return "linear model" if "linear/A" in results.arrays else "run"
    return results.method or min((path.split("/")[0] for path in results.arrays), default="empty file")


def _number(name: str, unit: str, one: float | None, two: float | None, scale: float = 0.0) -> DiffRow:
    """A row of two numbers, of which one may be missing; scale : below which the first is none to compare with."""
    texts = ["-" if each is None else f"{each:.6g}" for each in (one, two)]
    if one is None or two is None:
        return DiffRow(name, unit, texts[0], texts[1], np.inf)
    size = max(abs(one), scale)
    part = 0.0 if one == two else abs(two - one) / size if size else np.inf
    return DiffRow(name, unit, texts[0], texts[1], part)


def _of_runs(first: Results, second: Results, names: tuple[str, str]) -> Iterator[DiffRow]:
    found = differences(first, second, names, every=True)
    sizes = _sizes(found, float(np.ptp(first.time)) if first.time.size else 0.0)
    for each in found:
        rounded = each.scale + each.largest < ROUNDING * sizes[each.unit]
        scale = sizes[each.unit] if rounded else each.scale
        part = 0.0 if each.largest == 0.0 else each.largest / scale if scale else np.inf
        where = f"{each.quantity}, {each.where} at {first.instants([each.time], '.4g')[0]}" if part else each.quantity
        yield DiffRow(where, each.unit, f"{each.scale:.4g}", f"{each.largest:.3g}", part)


def _sizes(found: Sequence[Difference], duration: float) -> dict[str, float]:
    """The size of the quantities of each unit: of the largest one, at least that of the lengths, angles and energies
    from which they follow, over the duration (s)."""
    sizes: dict[str, float] = {}
    for each in found:
        sizes[each.unit] = max(sizes.get(each.unit, 0.0), each.scale)
    length, angle, energy = (sizes.get(unit, 0.0) for unit in ("m", "rad", "J"))
    least = {"N m": energy, "N": energy / length if length else 0.0}
    if duration:
        least |= {"m/s": length / duration, "rad/s": angle / duration}
    return {unit: max(size, least.get(unit, 0.0)) for unit, size in sizes.items()}


def _of_modes(first: Results, second: Results, names: tuple[str, str]) -> Iterator[DiffRow]:
    tables = [(each.arrays["modes/frequencies"], each.arrays["modes/damping"]) for each in (first, second)]
    for k in range(max(len(frequencies) for frequencies, _ in tables)):
        pairs = [(float(f[k]), float(d[k])) if k < len(f) else (None, None) for f, d in tables]
        yield _number(f"mode {k + 1}, frequency", "Hz", pairs[0][0], pairs[1][0])
        if any(damping for _, damping in pairs):
            yield _number(f"mode {k + 1}, damping ratio", "-", pairs[0][1], pairs[1][1])


def _of_linear(first: Results, second: Results, names: tuple[str, str]) -> Iterator[DiffRow]:
    spaces = StateSpace.of_results(first), StateSpace.of_results(second)
    poles = [space.eigenvalues() for space in spaces]
    tables = [moving(values[np.isfinite(values)]) for values in poles]  # delays have poles at minus infinity
    yield _number("states", "-", float(len(poles[0])), float(len(poles[1])))
    for k in range(max(map(len, tables))):
        found = [values[k] if k < len(values) else None for values in tables]
        sizes = [None if each is None else float(abs(each)) / (2.0 * np.pi) for each in found]
        ratios = [None if each is None else float(-each.real / abs(each)) for each in found]
        yield _number(f"pole {k + 1}, frequency", "Hz", sizes[0], sizes[1])
        yield _number(f"pole {k + 1}, damping ratio", "-", ratios[0], ratios[1], scale=RIGID)
    yield from _of_responses(*spaces, np.abs(tables[0]))


def _of_responses(one: StateSpace, two: StateSpace, rates: Floats) -> Iterator[DiffRow]:
    """Rows of the largest difference of each transfer function that both have, in units of the output by the input.

    rates (k,) : 1/s, of the poles of the first, between and beside which they are compared.
    """
    for word in ("inputs", "outputs"):
        for name in sorted({*getattr(one, word)} ^ {*getattr(two, word)}):
            has = name in getattr(one, word)
            yield DiffRow(f"{word[:-1]} {name}", "", "there" if has else "-", "-" if has else "there", np.inf)
    if one.dt != two.dt:
        yield _number("period", "s", one.dt, two.dt)
        return
    inputs, outputs = ([x for x in getattr(one, word) if x in getattr(two, word)] for word in ("inputs", "outputs"))
    ends = (0.1 * np.min(rates), 3.0 * np.max(rates)) if len(rates) else (0.1, 10.0)
    omega = np.geomspace(ends[0], min(ends[1], np.inf if one.dt is None else np.pi / one.dt), FREQUENCIES)
    at = 1j * omega if one.dt is None else np.exp(1j * omega * one.dt)
    gains = [
        np.array([of.transfer(s) for s in at])[:, [of.index("outputs", x) for x in outputs]][
            :, :, [of.index("inputs", x) for x in inputs]
        ]
        for of in (one, two)
    ]
    apart, sizes = np.abs(gains[1] - gains[0]), np.max(np.abs(gains[0]), axis=0)
    largest: dict[tuple[str, ...], float] = {}  # by the units: what is rounding beside it differs by parts of it
    for (p, y), (m, u) in product(enumerate(outputs), enumerate(inputs)):
        units = one.units.get(y, ""), one.units.get(u, "")
        largest[units] = max(largest.get(units, 0.0), float(sizes[p, m]))
    for (p, y), (m, u) in product(enumerate(outputs), enumerate(inputs)):
        scale, whole = float(sizes[p, m]), largest[one.units.get(y, ""), one.units.get(u, "")]
        scale, k = scale if scale > RIGID * whole else whole, int(np.argmax(apart[:, p, m]))
        part = float(apart[k, p, m]) / scale if scale else np.inf if apart[k, p, m] else 0.0
        a, b = (f"{abs(each[k, p, m]):.6g}" for each in gains)
        yield DiffRow(f"{y} by {u}, {omega[k] / (2.0 * np.pi):.3g} Hz", "", a, b, part if part > RIGID else 0.0)


def _of_sensitivities(first: Results, second: Results, names: tuple[str, str]) -> Iterator[DiffRow]:
    """Rows of the value of each parameter and output, and of each derivative, beside its part of the output."""
    one, two = ({path.split("/")[1]: x for path, x in each.arrays.items()} for each in (first, second))
    named = [[dict(zip(each[w].tolist(), range(len(each[w])), strict=True)) for each in (one, two)] for w in OF_TABLE]
    units = [dict(zip(one[word].tolist(), one[f"{word}_units"].tolist(), strict=True)) for word in OF_TABLE]
    for word, places, unit in zip(("nominal", "values"), named, units, strict=True):
        for name in dict.fromkeys((*places[0], *places[1])):
            a, b = (float(x[word][at[name]]) if name in at else None for x, at in zip((one, two), places, strict=True))
            yield _number(name, unit.get(name, ""), a, b)
    for (y, i), (x, k) in product(named[1][0].items(), named[0][0].items()):
        if y in named[1][1] and x in named[0][1]:
            swing = abs(float(one["swings"][k])) or abs(float(one["nominal"][k]))
            least = RIGID * abs(float(one["values"][i])) / swing if swing else 0.0
            a, b = float(one["derivatives"][i, k]), float(two["derivatives"][named[1][1][y], named[0][1][x]])
            yield _number(f"{y} by {x}", f"{units[1][y]}/({units[0][x] or '-'})", a, b, scale=least)


def _of_arrays(first: Results, second: Results, names: tuple[str, str]) -> Iterator[DiffRow]:
    """Rows of all arrays: numbers by their largest difference, texts by whether they are the same."""
    for path in sorted({*first.arrays, *second.arrays}):
        name, one, two = path.split("/", 1)[-1], first.arrays.get(path), second.arrays.get(path)
        if one is None or two is None or one.shape != two.shape:
            a, b = ("-" if each is None else f"{each.shape}" for each in (one, two))
            yield DiffRow(name, "", a, b, np.inf)
        elif one.dtype.kind in "biufc" and two.dtype.kind in "biufc":
            same = (one == two) | (np.isnan(one) & np.isnan(two))
            with np.errstate(invalid="ignore"):
                apart = np.where(same, 0.0, np.where(np.isnan(one) | np.isnan(two), np.inf, np.abs(two - one)))
            size, largest = (float(np.max(np.abs(x[np.isfinite(x)]), initial=0.0)) for x in (one, apart))
            parts = apart / _sizes_of(one, size) if size else np.where(apart == 0.0, 0.0, np.inf)
            yield DiffRow(name, "", f"{size:.4g}", f"{largest:.3g}", float(np.max(parts, initial=0.0)))
        else:
            changed = int(np.sum(one != two))
            yield DiffRow(name, "", f"{one.size} texts", f"{changed} others", np.inf if changed else 0.0)


def _sizes_of(x: Floats, size: float) -> Floats:
    """The sizes of the entries of an array: of one with a positive diagonal, as of masses and stiffnesses of unlike
    units, the roots of products of this; else the largest."""
    diagonal = np.diag(x) if x.ndim == 2 and x.shape[0] == x.shape[1] else np.zeros(1)
    return np.sqrt(np.outer(diagonal, diagonal)) if np.all(diagonal > ROUNDING * size) else np.full(x.shape, size)


def _entries(path: Path) -> dict[str, Any]:
    """The entries of a case file by their keys. Raises CaseError."""
    return dict(_flat(parse_toml(path, text_of(path))))


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for word, each in value.items():
            yield from _flat(each, f"{key}.{word}" if key else word)
    elif isinstance(value, list) and any(isinstance(each, list | Mapping) for each in value):
        for k, each in enumerate(value):
            yield from _flat(each, f"{key}.{k}")
    else:
        yield key, value


def _of_entries(first: dict[str, Any], second: dict[str, Any]) -> Iterator[DiffRow]:
    for key in dict.fromkeys((*first, *second)):
        one, two = first.get(key), second.get(key)
        if all(isinstance(each, int | float) and not isinstance(each, bool) for each in (one, two)):
            yield _number(key, "", float(one or 0.0), float(two or 0.0))
        else:
            texts = [str(entries[key]) if key in entries else "-" for entries in (first, second)]
            yield DiffRow(
                key, "", texts[0], texts[1], 0.0 if one == two and (key in first) == (key in second) else np.inf
            )


# The rows of a kind of results; of others those of arrays.
OF_KIND = {"modes": _of_modes, "linear model": _of_linear, "run": _of_runs, "sensitivities": _of_sensitivities}
