"""One run of a study: the model with the values of its variables, and the analyses that the outputs ask for."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from femb.base.errors import FembError, FembWarning, ModelError
from femb.base.options import Run
from femb.base.types import Floats
from femb.case import read_case
from femb.case.overrides import override
from femb.model.model import Model
from femb.numerics.threads import limited_threads, one_blas_thread
from femb.results.results import Results
from femb.run.simulate import simulate
from femb.run.static import static
from femb.study.outputs import ModeOutput, StudyOutput
from femb.study.study import Build
from femb.system.mass_properties import mass_properties
from femb.system.system import System
from femb.vibration.modes import Modes, modes

# Part of the duration of a run that a trial takes.
TRIAL = 1e-4


class StudyRow(NamedTuple):
    """The outcome of one run: its number from 0, the outputs, whether it failed, and why, or notes on it."""

    run: int
    outputs: tuple[float, ...]
    failed: bool
    message: str


class Described(NamedTuple):
    """The model of a run and its options; text : of its case."""

    model: Model
    run: Run | None
    text: str


@dataclass(frozen=True)
class Runner:
    """The data that every process of a study needs; can be pickled.

    source : path and text of the case file, or the function that makes the model, with ``run``. keys : the entries of
    each variable. factors : by entry, the number or numbers of the case that values of a relative variable multiply.
    folder : of the results of all runs, None to keep none.
    """

    source: tuple[Path, str] | Build
    run: Run | None
    overrides: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    factors: Mapping[str, float | Sequence[float]]
    outputs: tuple[StudyOutput, ...]
    folder: Path | None = None

    def __call__(self, number: int, values: Sequence[Any]) -> StudyRow:
        """Carry out a run. Its errors, also those of functions of a case in Python, are part of the row."""
        folder = None if self.folder is None else self.folder / f"{number:06d}"
        return self.row(number, lambda: self.analyses(values, folder))

    def row(self, number: int, begun: "Callable[[], RunAnalyses]") -> StudyRow:
        """The row of a run whose analyses the function gives."""
        nothing = (float("nan"),) * len(self.outputs)
        try:
            with one_blas_thread(), limited_threads(1), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", FembWarning)
                analyses = begun()
                outputs = tuple(float(output.value(analyses)) for output in self.outputs)
        except FembError as error:
            return StudyRow(number, nothing, True, str(error))
        except Exception as error:
            return StudyRow(number, nothing, True, f"{type(error).__name__}: {error}")
        said = [str(warning.message) for warning in caught if issubclass(warning.category, FembWarning)]
        return StudyRow(number, outputs, False, "; ".join(dict.fromkeys(filter(None, [analyses.message, *said]))))

    def analyses(self, values: Sequence[Any], folder: Path | None = None) -> "RunAnalyses":
        """The analyses of a run with these values. Raises ModelError where they give no model."""
        return self.analyses_of(self.described(values), folder)

    def analyses_of(self, described: "Described", folder: Path | None = None) -> "RunAnalyses":
        """The analyses of a run of this model."""
        counted = [output.mode for output in self.outputs if isinstance(output, ModeOutput)]
        return RunAnalyses(described, max(counted, default=1), folder)

    def described(self, values: Sequence[Any]) -> Described:
        """The model of a run and its options. Raises ModelError."""
        entries = [(key, value) for keys, value in zip(self.keys, values, strict=True) for key in keys]
        if callable(self.source):
            model = self.source(**dict(entries))
            if not isinstance(model, Model):
                raise ModelError(f"the function of the case returned {type(model).__name__}, wanted a femb.Model")
            return Described(model, self.run, "")
        texts = [override(key, self._scaled(key, value)) for key, value in entries]
        case = read_case(*self.source, (*self.overrides, *texts))
        return Described(case.model, case.run, case.text)

    def _scaled(self, key: str, value: Any) -> Any:
        if key not in self.factors:
            return value
        scaled: Floats = np.asarray(self.factors[key], dtype=float) * value
        return scaled.tolist()


@dataclass
class RunAnalyses:
    """The analyses of one run, each carried out on first use. ``count`` : of natural modes."""

    described: Described
    count: int
    folder: Path | None
    found: dict[str, Results] = field(default_factory=dict)
    found_modes: dict[tuple[str | None, str, bool], Modes] = field(default_factory=dict)
    found_mass: tuple[float, Floats, Floats] | None = None
    brief: bool = False

    def results(self, analysis: str) -> Results:
        if analysis not in self.found:
            self.found[analysis] = self._static() if analysis == "static" else self._motion()
        return self.found[analysis]

    def modes(self, held: str | None, start: str | None, damped: bool) -> Modes:
        start = start or (self.described.run.start_word if self.described.run is not None else "as_given")
        key = (held, start, damped)
        if key not in self.found_modes:
            self.found_modes[key] = modes(self.described.model, self.count, held=held, start=start, damped=damped)
            if self.folder is not None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self.found_modes[key].write(self.folder / f"modes{len(self.found_modes)}.h5")
        return self.found_modes[key]

    def mass_properties(self) -> tuple[float, Floats, Floats]:
        if self.found_mass is None:
            assemble = self.described.run is not None and self.described.run.start == "assembled"
            self.found_mass = mass_properties(System(self.described.model, assemble=assemble))
        return self.found_mass

    @property
    def message(self) -> str:
        """Notes of the run, such as on its energy balance."""
        return "; ".join(dict.fromkeys(results.message for results in self.found.values() if results.message))

    @cached_property
    def options(self) -> Run:
        """The options of the motion; in a trial with its beginning only. Raises ModelError without any."""
        run = self.described.run
        if run is None:
            raise ModelError.at(("run",), "is missing; the outputs are of a motion, which needs a duration (s)")
        if not self.brief:
            return run
        duration = min(run.duration, max(TRIAL * run.duration, run.step or 0.0))
        return replace(run, duration=duration, output_interval=duration)

    def _motion(self) -> Results:
        return simulate(self.described.model, self.options, out=self._file("results.h5"), case_text=self.described.text)

    def _static(self) -> Results:
        assemble = self.described.run is not None and self.described.run.start == "assembled"
        file = self._file("static.h5")
        return static(self.described.model, assemble=assemble, out=file, case_text=self.described.text)

    def _file(self, name: str) -> Path | None:
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / name
