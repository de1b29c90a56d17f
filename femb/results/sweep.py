"""The table of a study: a row for each run, with its variables and outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base import html
from femb.base.arrays import listing
from femb.base.errors import ResultError, optional
from femb.base.files import write_table
from femb.base.types import Bools, Floats
from femb.base.values import numbered
from femb.results.results import Results

if TYPE_CHECKING:
    import pandas

SENSITIVITIES = "sensitivities"
METHOD = "sweep"
# The design of a table of natural modes over a parameter, and the beginning of the names of their damping ratios.
OF_MODES, DAMPING = "modes", "damping of mode "
COMPLETE, FAILED = "complete", "failed"
FEASIBLE = "feasible"
# Part of a limit, or of 1 where it is zero, by which an output may be beyond it: the accuracy of outputs as critical
# loads, and that to which optimisers meet limits.
ROOM = 1e-6
# Failed runs that a summary lists.
LISTED = 10


@dataclass(frozen=True, eq=False)
class Sweep:
    """The runs of a study, in the order of its design.

    title : of the study. variables : by name, the values of all runs; texts and lists as Python objects. outputs : by
    name (runs,) numbers, NaN where a run failed. failed (runs,). messages : why each run failed, or notes on it.
    units : of variables and outputs. design, samples : of the study, and the number of its samples. limits : by output,
    its least and largest value in its unit, or None. wanted : "least NAME" or "largest NAME" of an output, or "".
    fingerprint : of the study's files and options, by which a repeated study is known. notes : lines on a search.
    nominal : of numbers of the case, by variable. unstable : (runs,) whether the loop of a run is not
    stable, as far as outputs tell. multipliers : the derivative of what is wanted by each limit, and each bound of a
    variable, that holds the optimum, in units of both. gradients : (runs, outputs, variables), in units of both; NaN
    where unknown.
    """

    variables: Mapping[str, Sequence[Any]]
    outputs: Mapping[str, Floats]
    failed: Bools
    messages: Sequence[str]
    units: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    design: str = "grid"
    samples: int = 0
    limits: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    wanted: str = ""
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    multipliers: Mapping[str, float] = field(default_factory=dict)
    gradients: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    nominal: Mapping[str, float] = field(default_factory=dict)
    unstable: Bools = field(default_factory=lambda: np.zeros(0, bool))

    def __len__(self) -> int:
        return len(self.failed)

    def __getitem__(self, name: str) -> Any:
        """The column of a variable or an output. Raises ResultError for an unknown name."""
        columns = {**self.variables, **self.outputs}
        if name not in columns:
            raise ResultError(f"no column {name!r} in this study; there are: {listing(columns)}")
        return columns[name]

    @property
    def status(self) -> list[str]:
        """Status of each run, "complete" or "failed"."""
        return [FAILED if failed else COMPLETE for failed in self.failed]

    @property
    def excess(self) -> Floats:
        """(runs,) by how much each run exceeds its limits, the sum over them relative to the limits (a limit of zero:
        to 1); 0 where it keeps all to 1e-6, NaN where it has no value."""
        return np.where(self.failed, np.nan, excess(self.limits, self.outputs))

    @property
    def feasible(self) -> Bools:
        """(runs,) whether a run is complete and keeps all limits."""
        return np.asarray(self.excess == 0.0)

    @property
    def best(self) -> int | None:
        """Number of the best run of those that keep all limits; None without one, or where nothing is ``wanted``.

        Of runs that are equal to 1e-6 it is the one that is least beyond a limit.
        """
        if not self.wanted:
            return None
        sense, _, name = self.wanted.partition(" ")
        values = np.where(self.feasible, self.outputs[name], np.nan) * (1.0 if sense == "least" else -1.0)
        if not np.isfinite(values).any():
            return None
        least = np.nanmin(values)
        over = excess(self.limits, self.outputs, room=0.0)
        return int(np.lexsort((values, np.where(values - least <= ROOM * abs(least), over, np.inf)))[0])

    def columns(self) -> dict[str, Sequence[Any]]:
        """All columns of the table: the number of the run from 0, variables, outputs, whether it keeps the limits of a
        study that has any, status and message."""
        return {
            "run": range(len(self)),
            **self.variables,
            **{name: values.tolist() for name, values in self.outputs.items()},
            **({FEASIBLE: self.feasible.tolist()} if self.limits else {}),
            "status": self.status,
            "message": self.messages,
        }

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas DataFrame, whose index is the number of the run. Raises ResultError without pandas."""
        library = optional("pandas", "pandas", "pandas is not installed", ResultError)
        frame: pandas.DataFrame = library.DataFrame(dict(self.columns())).set_index("run")
        return frame

    def write_csv(self, path: str | Path) -> Path:
        """Write the table as text, numbers with all digits, lists in JSON; its path."""
        columns = self.columns()
        return write_table(path, columns, zip(*(map(_text, column) for column in columns.values()), strict=True))

    def write(self, path: str | Path) -> Path:
        """Write the table as a results file (.h5), which `read` and ``femb plot`` read; its path."""
        self.results().write(path)
        return Path(path)

    def results(self) -> Results:
        """The table as `Results`, for files and figures."""
        arrays: dict[str, np.ndarray] = {
            **{f"{METHOD}/variables/{name}": _stored(values) for name, values in self.variables.items()},
            **{f"{METHOD}/outputs/{name}": values for name, values in self.outputs.items()},
            f"{METHOD}/failed": self.failed.astype(np.int64),
            f"{METHOD}/messages": np.array(self.messages, dtype=str),
            f"{METHOD}/gradients": self.gradients,
            f"{METHOD}/unstable": self.unstable.astype(np.int64),
        }
        words = {
            "names": json.dumps([*self.variables, *self.outputs]),
            "units": json.dumps(dict(self.units)),
            "design": self.design,
            "samples": self.samples,
            "limits": json.dumps(dict(self.limits)),
            "best": self.wanted,
            "fingerprint": json.dumps(dict(self.fingerprint)),
            "notes": json.dumps([*self.notes]),
            "multipliers": json.dumps(dict(self.multipliers)),
            "nominal": json.dumps(dict(self.nominal)),
        }
        root = {"status": COMPLETE, "method": METHOD, "title": self.title}
        return Results({}, arrays, {"": root, METHOD: words})

    @classmethod
    def read(cls, path: str | Path) -> Sweep:
        """Read the file at ``path``, which `write` wrote. Raises ResultError."""
        return cls.of(Results.read(path))

    @classmethod
    def of(cls, results: Results) -> Sweep:
        """The table in results of a study. Raises ResultError for any other results."""
        if results.method != METHOD:
            raise ResultError(f"these results are not those of a study, sweep.h5 of femb sweep: {results!r}")
        words = results.attributes[METHOD]
        order = json.loads(str(words["names"]))
        parts: dict[str, dict[str, Any]] = {}
        for kind in ("variables", "outputs"):
            prefix = f"{METHOD}/{kind}/"
            found = {path.removeprefix(prefix): path for path in results.arrays if path.startswith(prefix)}
            parts[kind] = {name: results.arrays[found[name]] for name in order if name in found}
        return cls(
            {name: _values(array) for name, array in parts["variables"].items()},
            parts["outputs"],
            results.arrays[f"{METHOD}/failed"].astype(bool),
            [str(text) for text in results.arrays[f"{METHOD}/messages"]],
            json.loads(str(words["units"])),
            results.title,
            str(words["design"]),
            int(words["samples"]),
            {name: tuple(each) for name, each in json.loads(str(words.get("limits", "{}"))).items()},
            str(words.get("best", "")),
            json.loads(str(words.get("fingerprint", "{}"))),
            json.loads(str(words.get("notes", "[]"))),
            json.loads(str(words.get("multipliers", "{}"))),
            results.arrays.get(f"{METHOD}/gradients", np.zeros((0, 0))),
            json.loads(str(words.get("nominal", "{}"))),
            results.arrays.get(f"{METHOD}/unstable", np.zeros(0)).astype(bool),
        )

    def summary(self) -> str:
        """Text: numbers of runs, statistics of every output over the complete runs, and the failed runs."""
        bad = np.flatnonzero(self.failed)
        counts = f"{numbered(len(self), 'run')}, {len(bad)} failed"
        lines = [f"{self.title}: {counts}" if self.title else counts, ""]
        width = max(18, *(len(self.label(name)) + 2 for name in self.outputs))
        words = ("least", "median", "mean", "deviation", "largest")
        lines.append(f"{'output':{width}}" + "".join(f"{word:>13}" for word in words))
        for name, values in self.outputs.items():
            known = values[np.isfinite(values)]
            if not known.size:
                none = "infinite" if np.isinf(values).any() else "no value"
                lines.append(f"{self.label(name):{width}}{none:>13}")
                continue
            deviation = float(np.std(known, ddof=1)) if known.size > 1 else 0.0
            numbers = (np.min(known), np.median(known), np.mean(known), deviation, np.max(known))
            missing = {"infinite": np.isinf(values), "without a value": np.isnan(values) & ~self.failed}
            note = "".join(
                f"   {numbered(int(n), 'run')} {word}" for word, each in missing.items() if (n := each.sum())
            )
            lines.append(f"{self.label(name):{width}}" + "".join(f"{number:13.6g}" for number in numbers) + note)
        lines += ["", *judged] if (judged := self.judged()) else []
        if bad.size:
            lines += ["", *(f"run {k} failed: {' '.join(self.messages[k].splitlines())}" for k in bad[:LISTED])]
            if bad.size > LISTED:
                lines.append(f"... and {bad.size - LISTED} more, in the column message of the table")
        return "\n".join(lines)

    def judged(self) -> list[str]:
        """Lines on the runs that keep the limits, and on the best of them, or that nearest to the limits."""
        lines: list[str] = []
        count, texts = int(np.sum(self.feasible)), list[str]()
        for name, (least, largest) in self.limits.items():
            texts += [f"{name} at least {least:g}"] if least is not None else []
            texts += [f"{name} at most {largest:g}"] if largest is not None else []
        if texts:
            lines.append(f"{numbered(count, 'run')} of {len(self)} within the limits: {', '.join(texts)}")
        if self.best is not None:
            lines.append(f"best, {self.wanted}: {self._described(self.best)}")
        elif not count and np.isfinite(self.excess).any():
            lines.append(f"nearest to the limits: {self._described(int(np.nanargmin(self.excess)))}")
        lines += [f"search {note}" if note.startswith("by ") else f"  {note}" for note in self.notes]
        _, _, wanted = self.wanted.partition(" ")
        of_best, names = self.units.get(wanted, ""), self.multipliers
        for name in names:
            unit = f"{of_best}/{below}" if (below := self.units.get(name.rpartition(" ")[0], "")) else of_best
            lines.append(f"  {wanted} by the limit {name}: {names[name]:.7g} {unit}".rstrip())
        return lines

    def _described(self, run: int) -> str:
        given = [f"{name} = {_brief(values[run])}" for name, values in self.variables.items()]
        found = []
        for name, values in self.outputs.items():
            unit = self.units.get(name, "")
            found.append(f"{name} {values[run]:.6g}{f' {unit}' if unit else ''}")
        return f"run {run}, {', '.join(given)}: {', '.join(found)}"

    def label(self, name: str) -> str:
        """The name of a variable or an output, with its unit where it is known."""
        unit = self.units.get(name, "")
        return f"{name} ({unit})" if unit else name

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.variables, *self.outputs]

    def _repr_html_(self) -> str:
        return html.text(self.summary())

    def __repr__(self) -> str:
        names = listing({**self.variables, **self.outputs})
        return f"<Sweep: {len(self)} runs, {int(np.sum(self.failed))} failed; {names}>"


def excess(
    limits: Mapping[str, tuple[float | None, float | None]], outputs: Mapping[str, Floats], room: float = ROOM
) -> Floats:
    """Amount by which outputs exceed their limits, the sum over them, each with a room; see ``Sweep.excess``."""
    total = np.zeros(())
    for name, (least, largest) in limits.items():
        for limit, sign in ((least, -1.0), (largest, 1.0)):
            if limit is not None:
                over = sign * (outputs[name] - limit) / (abs(limit) or 1.0)
                total = total + np.where(over <= room, 0.0, over)
    return total


def is_numeric(values: Sequence[Any]) -> bool:
    """Whether all values of a variable are numbers."""
    return all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values)


def _brief(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _text(value: object) -> str:
    if isinstance(value, float):
        return repr(float(value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict | bool) else str(value)


def _stored(values: Sequence[Any]) -> np.ndarray:
    """Numbers as such, all else in JSON."""
    if is_numeric(values):
        return np.asarray(values)
    return np.array([json.dumps(value, ensure_ascii=False) for value in values])


def _values(array: np.ndarray) -> list[Any]:
    values: list[Any] = array.tolist()
    return values if array.dtype.kind in "if" else [json.loads(text) for text in values]
