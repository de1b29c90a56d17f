"""Runs of a study: the model with the values of its variables, and its analyses."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol, TypeVar

import numpy as np

from femb.base.errors import FembError, FembWarning, ModelError, ResultError
from femb.base.options import Run
from femb.base.types import Floats
from femb.case import read_case
from femb.case.build import KnownItems
from femb.case.compose import override
from femb.linear.linearise import linearize, loop
from femb.linear.loop import Loop
from femb.linear.sampled_motion import part_of
from femb.linear.state_space import StateSpace
from femb.model.model import Model
from femb.numerics.threads import limited_threads, one_blas_thread
from femb.results.results import Results
from femb.run.simulate import simulate
from femb.run.static import StaticResults, static
from femb.run.static_derivatives import StaticSide
from femb.small_motions.beside import Neighbours
from femb.small_motions.eigenproblem import EigenProblem
from femb.study.outputs import BETWEEN, Analyses, ModeOutput, StudyOutput
from femb.study.study import Build
from femb.system.moving_ground import mass_properties
from femb.system.system import System
from femb.vibration.completion import begun
from femb.vibration.mode_sweep import SPARE
from femb.vibration.modes import Modes, modes, modes_of
from femb.vibration.solution import Solution, motion_of, solution

# Part of the duration of a run that a trial takes.
TRIAL = 1e-4
T = TypeVar("T")


class StudyRow(NamedTuple):
    """The outcome of one run: its number from 0, the outputs, whether it failed, and why, or notes on it.

    gradients : of a search that uses them, of each output by each variable, NaN where they are not needed.
    """

    run: int
    outputs: tuple[float, ...]
    failed: bool
    message: str
    gradients: Sequence[Sequence[float]] = ()


class Described(NamedTuple):
    """The model of a run and its options; text : of its case."""

    model: Model
    run: Run | None
    text: str


class LoopFamily(Protocol):
    """Loops of a case for all values of its parameters, as ``femb.Uncertain``."""

    @property
    def nominal(self) -> Mapping[str, float]:
        """The nominal values of the parameters by name."""

    @property
    def identity(self) -> list[Any]:
        """Text that tells it from other families of the case."""

    def loop(self, values: Mapping[str, float]) -> Loop:
        """The loop at values of parameters, the others nominal."""


@dataclass(frozen=True)
class Runner:
    """The data that every process of a study needs; can be pickled.

    source : path and text of the case file, or the function that makes the model, with ``run``. keys : the entries of
    each variable. factors : by entry, the number or numbers of the case that values of a relative variable multiply.
    folder : of the results of all runs, None to keep none. nominal : of a function, the values of the nominal case.
    form : of the loops, in place of models, and by the name of each variable what its values are times.
    known : of cases that hardly differ, what was read before; of its items a warning is given once.
    """

    source: tuple[Path, str] | Build
    run: Run | None
    overrides: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    factors: Mapping[str, float | Sequence[float]]
    outputs: tuple[StudyOutput, ...]
    folder: Path | None = None
    nominal: tuple[Any, ...] = ()
    form: tuple[LoopFamily, Mapping[str, float]] | None = None
    known: KnownItems | None = None

    def __call__(self, number: int, values: Sequence[Any]) -> StudyRow:
        """Carry out a run. Its errors, also those of functions of a case in Python, are part of the row."""
        folder = None if self.folder is None else self.folder / f"{number:06d}"
        return self.row(number, lambda: self.begun(values, folder))

    def row(self, number: int, begun: Callable[[], Analyses]) -> StudyRow:
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

    def begun(self, values: Sequence[Any], folder: Path | None = None) -> Analyses:
        """The analyses of a run with these values, of the form where there is one. Raises ModelError."""
        if self.form is None:
            return self.analyses(values, folder)
        form, factors = self.form
        pairs = zip(factors.items(), values, strict=True)
        return FormAnalyses(form, {name: factor * value for (name, factor), value in pairs}, self)

    def analyses(self, values: Sequence[Any], folder: Path | None = None) -> "RunAnalyses":
        """The analyses of the model with these values. Raises ModelError where they give none."""
        return self.analyses_of(self.described(values), folder)

    def analyses_of(self, described: "Described", folder: Path | None = None) -> "RunAnalyses":
        """The analyses of a run of this model."""
        counted = [output.mode for output in self.outputs if isinstance(output, ModeOutput)]
        return RunAnalyses(described, max(counted, default=1), folder, of=self)

    @cached_property
    def reference(self) -> Analyses:
        """The analyses of the nominal case: the case without variables, of a function that of the first run."""
        if self.form is not None:
            return FormAnalyses(self.form[0], {}, self)
        of_case = not callable(self.source)
        found = self.analyses_of(replace(self, keys=()).described(())) if of_case else self.analyses(self.nominal)
        found.previous = found
        return found

    @cached_property
    def nominal_model(self) -> Model:
        """The model of the nominal case, also where there is a form."""
        return replace(self, form=None).reference.model

    def described(self, values: Sequence[Any]) -> Described:
        """The model of a run and its options. Raises ModelError."""
        entries = [(key, value) for keys, value in zip(self.keys, values, strict=True) for key in keys]
        if callable(self.source):
            model = self.source(**dict(entries))
            if not isinstance(model, Model):
                raise ModelError(f"the function of the case returned {type(model).__name__}, wanted a femb.Model")
            return Described(model, self.run, "")
        texts = [override(key, self.scaled(key, value)) for key, value in entries]
        case = read_case(*self.source, (*self.overrides, *texts), known=self.known)
        return Described(case.model, case.run, case.text)

    def scaled(self, key: str, value: Any) -> Any:
        """The entry that a value of its variable sets."""
        if key not in self.factors:
            return value
        scaled: Floats = np.asarray(self.factors[key], dtype=float) * value
        return scaled.tolist()


@dataclass
class RunAnalyses:
    """The analyses of one run, each carried out on first use. ``count`` : of natural modes.

    motion : by which the motion in time is carried out; by default ``simulate``. differentiated : whether modes keep
    their matrices. sides : of the models of a parameter, what tells what differs; central : whether this is the nominal
    one of these. between : s, times of the motion beside its output times. at_times : gives it at any times.
    """

    described: Described
    count: int
    folder: Path | None
    found: dict[str, Results] = field(default_factory=dict)
    found_modes: dict[tuple[str | None, str, bool], Modes] = field(default_factory=dict)
    found_linear: dict[tuple[object, ...], Any] = field(default_factory=dict)
    brief: bool = False
    of: Runner | None = field(default=None, repr=False)
    previous: "RunAnalyses | None" = field(default=None, repr=False)
    motion: Callable[[Model, Run], Results] | None = None
    differentiated: bool = False
    sides: Neighbours | None = None
    central: bool = False
    between: Floats = field(default_factory=lambda: np.zeros(0))
    at_times: Callable[[Floats], Results] | None = None

    @property
    def reference(self) -> Analyses:
        assert self.of is not None
        return self.previous or self.of.reference

    @property
    def start(self) -> str:
        """The start of the case."""
        return self.described.run.start_word if self.described.run is not None else "as_given"

    def _about(self, start: str | None) -> Model | System:
        """The model, or the System in the state about which small motions are where no start is given."""
        return self.described.model if start is not None else self._begun

    @cached_property
    def _begun(self) -> Model | System:
        return begun(self.described.model, self.described.run)

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        if key not in self.found_linear:
            self.found_linear[key] = make()
        found: T = self.found_linear[key]
        return found

    def solution(self, held: str | None, start: str | None, damped: bool) -> Solution:
        model, how, count = self._about(start), start or self.start, self.count + SPARE
        return self.once(
            ("modes", held, how, damped),
            lambda: solution(model, count, held=held, start=how, damped=damped, own_axes=True, at_most=True),
        )

    def small_motions(self, held: str | None, start: str | None, damped: bool) -> EigenProblem:
        key = held, start or self.start, damped

        def make() -> EigenProblem:
            if ("modes", *key) in self.found_linear:
                return self.solution(held, start, damped).motion
            differing = self.sides.beside(*key).of(self.described.model) if self.sides is not None else None
            return differing or motion_of(self._about(start), *key, True)[1]

        if self.sides is not None and self.central:
            return self.sides.central(*key)
        return self.once(("motion", *key), make)

    def differing(self, held: str | None, start: str | None, damped: bool) -> EigenProblem:
        key = held, start or self.start, damped
        assert self.sides is not None
        beside = self.sides.beside(*key)
        found = beside.central() if self.central else self.once(
            ("differing", *key), lambda: beside.of(self.described.model)
        )  # fmt: skip
        if found is None:
            raise ModelError("more than elements differs beside the value")
        return found

    @property
    def model(self) -> Model:
        return self.described.model

    def loop(self, start: str | None, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ()) -> Loop:
        words: dict[str, Any] = {"start": start or self.start, "inputs": inputs, "outputs": outputs}
        return self.once(("loop", start, inputs, outputs), lambda: loop(self._about(start), **words))

    def space(self, start: str | None, inputs: tuple[str, ...], outputs: tuple[str, ...], closed: bool) -> StateSpace:
        words: dict[str, Any] = {"inputs": inputs or None, "outputs": outputs or None, "closed": closed}
        model, how = self._about(start), start or self.start
        return self.once(("space", start, inputs, outputs, closed), lambda: linearize(model, start=how, **words))

    def static_side(self) -> StaticSide:
        return self.once(("static side",), lambda: StaticSide.of(self.described.model, self.start == "assembled"))

    def critical(self, number: int, factor: float) -> StaticResults:
        model, assemble = self.described.model, self.start == "assembled"
        return self.once(
            ("critical", number, factor), lambda: static(model, critical=number, factor=factor, assemble=assemble)
        )

    def results(self, analysis: str) -> Results:
        if analysis not in self.found and analysis == BETWEEN:
            assert self.motion is not None
            self.found[BETWEEN] = self.motion(self.described.model, self.options)
        elif analysis not in self.found:
            self.found[analysis] = self._static() if analysis == "static" else self._motion()
        return self.found[analysis]

    def at(self, times: Floats) -> Results:
        assert self.at_times is not None
        self.results("run")
        return self.at_times(times)

    def modes(self, held: str | None, start: str | None, damped: bool) -> Modes:
        key = (held, start or self.start, damped)
        if key not in self.found_modes:
            if self.differentiated and held is None:
                found = self.solution(held, start, damped)
                self.found_modes[key] = modes_of(
                    found.first(min(self.count, len(found.eigenvalues))), self.count, held, None, damped
                )
            else:
                self.found_modes[key] = modes(self._about(start), self.count, held=held, start=key[1], damped=damped)
            if self.folder is not None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self.found_modes[key].write(self.folder / f"modes{len(self.found_modes)}.h5")
        return self.found_modes[key]

    def mass_properties(self) -> tuple[float, Floats, Floats]:
        assemble = self.start == "assembled"
        return self.once(("mass",), lambda: mass_properties(System(self.described.model, assemble=assemble)))

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
        if self.motion is not None:
            found = self.results(BETWEEN)
            return found.without(self.between) if self.between.size else found
        file, text = self._file("results.h5"), self.described.text
        return simulate(self.described.model, self.options, out=file, case_text=text, force=True)

    def _static(self) -> Results:
        file, assemble = self._file("static.h5"), self.start == "assembled"
        return static(self.described.model, assemble=assemble, out=file, case_text=self.described.text)

    def _file(self, name: str) -> Path | None:
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / name


class FormAnalyses:
    """The analyses of one run of a form: loops, and their transfer functions. values : of its parameters by name."""

    message = ""

    def __init__(self, form: LoopFamily, values: Mapping[str, float], of: Runner) -> None:
        self._form, self._values, self._of = form, values, of
        self._found: dict[tuple[object, ...], Any] = {}

    @property
    def reference(self) -> Analyses:
        return self._of.reference

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        if key not in self._found:
            self._found[key] = make()
        found: T = self._found[key]
        return found

    @property
    def model(self) -> Model:
        return self._of.nominal_model

    def loop(self, start: str | None, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ()) -> Loop:
        if start is not None:
            raise ResultError(f"start: got {start!r}; a form has the start of its case: leave it out")
        return self.once(("loop",), lambda: self._form.loop(self._values))

    def space(self, start: str | None, inputs: tuple[str, ...], outputs: tuple[str, ...], closed: bool) -> StateSpace:
        of = self.loop(start)
        return of.closed(inputs or None, outputs or None) if closed else part_of(of.plant, inputs, outputs)

    def _refused(self, *given: object, **options: object) -> NoReturn:
        raise ResultError("a form has loops and their transfer functions alone: leave this output, or the form, out")

    results = modes = mass_properties = solution = small_motions = differing = static_side = critical = at = _refused
