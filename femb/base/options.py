"""Options of a run: the catalogue of methods, duration, tolerances; the ``[run]`` table of a case file."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from femb.base.checks import Checks
from femb.base.meanings import Description
from femb.base.types import POSITIVE, ErrorScale, OneOf, Unit
from femb.base.values import shown

# The catalogue of methods of integration: their names, and where the class of each stepper is.
#
# Adding a stepper takes one file and one line of ``STEPPERS``: a Run takes names and options from here, and
# ``femb.steppers`` loads the class when a run needs it; see docs/howto/extend.md.

# For type checkers, which cannot evaluate the catalogue.
Method = Literal["radau", "bdf", "rk", "gauss", "generalized-alpha", "auto"]


class Entry(NamedTuple):
    """A stepper: its method in a Run, its module and class, the options that only some steppers use, and whether it
    needs ``run.step`` as its fixed step length."""

    method: str
    module: str
    name: str
    options: tuple[str, ...] = ()
    fixed: bool = False


# By method, or by tableau where a method has several.
STEPPERS = {
    "radau": Entry("radau", "femb.steppers.radau", "Radau", ("filter",)),
    "bdf": Entry("bdf", "femb.steppers.bdf", "Bdf", ("max_order",)),
    "dop853": Entry("rk", "femb.steppers.runge_kutta", "Dop853", ("tableau",)),
    "rk4": Entry("rk", "femb.steppers.runge_kutta", "RungeKutta4", ("tableau",), fixed=True),
    "gauss": Entry("gauss", "femb.steppers.gauss", "Gauss", ("order",), fixed=True),
    "generalized-alpha": Entry(
        "generalized-alpha",
        "femb.steppers.generalized_alpha",
        "GeneralizedAlpha",
        ("spectral_radius", "filter", "step"),
    ),
}
METHODS = tuple(dict.fromkeys(entry.method for entry in STEPPERS.values()))
# The method that the model decides; see ``femb.run.method_choice``.
AUTO = "auto"
TABLEAUX = tuple(name for name, entry in STEPPERS.items() if "tableau" in entry.options)


# The selection of what a run records: the ``[run.output]`` table of a case file.

PRECISIONS = ("float64", "float32")
# Recorded in every run, whatever is selected.
ALWAYS = ("time", "audit", "budget")


@dataclass(frozen=True)
class Output(Description):
    """The quantities that a run records, and how they are stored. Time, audit and constant arrays are always recorded.

    A pattern is a path of the results file or its beginning, with or without the kind of item: "bodies/hub/position",
    "hub.position", "hub", "bodies"; * and ? are wildcards.

    Raises ModelError: patterns that are no text, an unknown precision, a level out of bounds.
    """

    select: tuple[str, ...] = ()
    """patterns of quantities to record, by default all"""
    exclude: tuple[str, ...] = ()
    """patterns of quantities to leave out"""
    precision: Annotated[str, OneOf(PRECISIONS)] = "float64"
    """of the recorded numbers but time and audit; "float32" has 7 digits and takes half the memory"""
    compression: int = 0
    """level of gzip in the results file, 1 to 9, or 0 for none"""
    motion_only: bool = False
    """record positions, velocities, deflections, strains and coordinates of joints alone; without deflections and
    strains they are interpolated between steps, to the tolerance of the run, at next to no cost"""

    def __post_init__(self) -> None:
        with Checks(self, "run", "output") as check:
            check.whole("compression", 0, 9)
            for word in ("select", "exclude"):
                patterns: Any = getattr(self, word)
                if isinstance(patterns, list | tuple) and all(isinstance(each, str) and each for each in patterns):
                    object.__setattr__(self, word, tuple(patterns))
                else:
                    check.fail(word, f'got {shown(patterns)}, wanted a list of patterns such as ["hub/position"]')

    @property
    def restricted(self) -> bool:
        """Whether something may be left out."""
        return bool(self.select or self.exclude or self.motion_only)

    def admits(self, path: str) -> bool:
        """Whether the patterns choose the quantity at a path of the results file."""
        if path.partition("/")[0] in ALWAYS:
            return True
        chosen = not self.select or any(matches(pattern, path) for pattern in self.select)
        return chosen and not any(matches(pattern, path) for pattern in self.exclude)

    def unmatched(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        """Patterns that none of the ``paths`` matches, each after the name of its field."""
        known = list(paths)
        patterns = [(word, pattern) for word in ("select", "exclude") for pattern in getattr(self, word)]
        return [each for each in patterns if not any(matches(each[1], path) for path in known)]

    def words(self) -> str:
        """The selection as text; empty without one."""
        given = {word: list(getattr(self, word)) for word in ("select", "exclude")}
        words = [f"{word} = {patterns}" for word, patterns in given.items() if patterns]
        return ", ".join([*words, "motion_only = true"] if self.motion_only else words)


EVERYTHING = Output()


@lru_cache(maxsize=1 << 16)
def matches(pattern: str, path: str) -> bool:
    """Whether a pattern is that of a path KIND/NAME/QUANTITY, or of a beginning of it."""
    parts = path.split("/")
    ends = range(1, len(parts) + 1)
    candidates = ["/".join(parts[:end]) for end in ends] + ["/".join(parts[1:end]) for end in ends if end > 1]
    return any(fnmatchcase(each, pattern) or fnmatchcase(each.replace("/", "."), pattern) for each in candidates)


FORMULATIONS = ("velocity", "quaternion", "reduced", "hamiltonian")
# The methods that integrate a formulation, where not all do.
METHODS_OF = {"hamiltonian": ("rk", "gauss")}
# The smallest default of an absolute tolerance: some rounding errors of sums of numbers of size one.
ROUNDING = 1e-14
# An absolute tolerance above this many times the relative one limits the accuracy.
LIMITING = 30.0
# Default of the shortest time of interest, s; runs of small models that are shorter, s, have a part of it.
SHORTEST_TIME, SHORT_RUN = 0.01, 0.5
# Default limit of the number of steps with error control: minutes for the smallest models.
MOST_STEPS = 1_000_000
# Relative tolerance of the local error, unless it is given.
DEFAULT_RTOL = 1e-6
# The smallest accuracy of a run, whose local errors are still above rounding.
LEAST_ACCURACY = 1e-9
# Limit by the memory of the times alone, 8 bytes each; that of the results is checked once the model's size is known.
MOST_OUTPUTS = 1e8
# The kinds of quantity that have an absolute tolerance of their own.
TOLERANCES = ("position", "quaternion", "strain")
STARTS = ("as_given", "assembled", "equilibrium")


@dataclass(frozen=True)
class Tolerances(Description):
    """Absolute tolerances by kind of quantity, by default a tenth of rtol; that of positions times the size of the
    model, ``Layout.length``, in metres.

    That of a strain is the same, since strains are no more accurate than the positions they are derivatives of.
    """

    position: Annotated[float | None, Unit("m"), POSITIVE] = None
    """of positions and strokes; the default is that of a model of one metre or more, times the size of a smaller one"""
    quaternion: Annotated[float | None, Unit(""), POSITIVE] = None
    """of the components of unit quaternions and of angles"""
    strain: Annotated[float | None, Unit(""), POSITIVE] = None
    """of axial strains"""
    time: Annotated[float | None, Unit("s"), POSITIVE] = None
    """shortest time of interest: the tolerance of a rate is that of its quantity divided by it; by default 0.01 s, of
    a model smaller than 1 m in a run shorter than 0.5 s in proportion to its size or to the duration, if this is more;
    of a single body in orbit at least a 600th of the period, so that its attitude does not drift"""

    def __post_init__(self) -> None:
        with Checks(self, "run", "atol"):
            pass

    @property
    def rate_time(self) -> float:
        """The shortest time of interest (s), of a run whose duration is not known where none is given."""
        return SHORTEST_TIME if self.time is None else self.time

    def values(self, rtol: float, length: float = 1.0) -> list[float]:
        """The tolerances of position, quaternion and strain, of a model of some ``length`` (m)."""
        default = max(ROUNDING, 0.1 * rtol)
        given = self.position, self.quaternion, self.strain
        return [
            size * default if value is None else value for value, size in zip(given, (length, 1.0, 1.0), strict=True)
        ]

    def notes(self, rtol: float, sizes: dict[str, float]) -> list[str]:
        """Sentences on what limits the accuracy more than ``rtol``; sizes : of the largest quantity of each kind at the
        start, in its unit."""
        notes = []
        for word, size in sizes.items():
            given = getattr(self, word)
            if given is not None and given > LIMITING * rtol * max(size, 1.0):
                notes.append(
                    f"atol.{word} = {given:g} limits the accuracy: a smaller rtol than {rtol:g} will not change much"
                )
        if 0.1 * rtol < ROUNDING:
            notes.append(f"rounding limits the accuracy: rtol = {rtol:g} is no better than {10.0 * ROUNDING:g}")
        return notes


@dataclass(frozen=True)
class GivenScales(Tolerances):
    """The scales of errors of coordinates and of rates themselves, as runs to an accuracy have them."""

    scales: tuple[ErrorScale, ErrorScale] | None = None

    def __post_init__(self) -> None:
        """Nothing: no user gives them."""


@dataclass(frozen=True)
class StartState(Description):
    """The last state of a run in time, with which another run starts. The model needs the same names of bodies, beams
    and joints.
    """

    results: str
    """path of the result file of the run, or of its folder; in a case file relative to its folder"""

    def __post_init__(self) -> None:
        with Checks(self, "run", "start"):
            pass


IN_PLACE_OF_ACCURACY = ("rtol", "atol", "filter", "step")


def beside_accuracy(given: Iterable[str]) -> str:
    """The sentence on options that are given beside ``accuracy``; empty if there are none."""
    both = [word for word in given if word in IN_PLACE_OF_ACCURACY]
    return f"is given beside {' and '.join(both)}, in place of which it stands: give one of them" if both else ""


def set_aside(given: Iterable[str]) -> set[str]:
    """The options of a case for which others stand, where these are ``given`` in place of what the case has."""
    names = set(given)
    if "accuracy" in names:
        return {*IN_PLACE_OF_ACCURACY} - names
    return {"accuracy"} if names & {"rtol", "atol"} else set()


@dataclass(frozen=True)
class Run(Description):
    """Options of the integration of a model in time.

    Raises ModelError: an unknown method, a tolerance or time that is not positive.
    """

    table: ClassVar[str] = "run"

    duration: Annotated[float, Unit("s"), POSITIVE]
    """from the start to the end"""
    output_interval: Annotated[float | None, Unit("s"), POSITIVE] = None
    """by default duration/1000; longer in models of more than some 20,000 numbers at each time"""
    method: Annotated[str, OneOf((*METHODS, AUTO))] = "radau"
    """the integrator: "radau" (Radau IIA of order 5, stiff and accurate), "bdf" (multistep, cheap steps), "rk"
    (explicit), "gauss" (symplectic, for long conservative motions that are not stiff), "generalized-alpha" (second
    order), or "auto": by the model; the results say why"""
    formulation: Annotated[str, OneOf(FORMULATIONS)] = "velocity"
    """coordinates of the equations: "velocity" or "quaternion"; for trees of joints "reduced" (joint coordinates, no
    constraints); for trees of rigid bodies, with rk or gauss, "hamiltonian" (the same with momenta)"""
    rtol: Annotated[float, Unit(""), POSITIVE] = DEFAULT_RTOL
    """relative tolerance of the local error"""
    atol: Tolerances = Tolerances()
    """absolute tolerances of the local error"""
    accuracy: Annotated[float | None, Unit(""), POSITIVE] = None
    """of radau, in place of rtol and atol: the error of positions over the whole run, relative to the largest way of
    each body; vibrations that no position shows are damped, and the results say how much and how accurate they are"""
    start: Annotated[str, OneOf(STARTS)] | StartState = "as_given"
    """state at the start: "as_given"; "assembled" closes joints and drivers that are open as given; "equilibrium"
    begins in the steady motion of the start velocities, with strained beams; { results = "out/deploy" } is the last
    state of another run"""
    tableau: Annotated[str, OneOf(TABLEAUX)] = "dop853"
    """of rk: "dop853" with error control, or "rk4" with a fixed step"""
    step: Annotated[float | None, Unit("s"), POSITIVE] = None
    """fixed, of rk4 and gauss, and if wanted of generalized-alpha; rtol and atol are then those of its equations
    alone"""
    order: int = 4
    """of gauss, 4 or 6"""
    max_order: int | None = None
    """of bdf, 1 to 5; by default 5, or 2 for sections without damping: higher orders are unstable for undamped
    vibrations faster than the step"""
    spectral_radius: Annotated[float, Unit("")] = 0.8
    """of generalized-alpha, the factor of a step on vibrations much faster than the step, 0 to 1"""
    filter: Annotated[float | None, Unit("Hz"), POSITIVE] = None
    """of radau and generalized-alpha; vibrations above it are damped, not followed, and the results say how much"""
    first_step: Annotated[float | None, Unit("s"), POSITIVE] = None
    """by default chosen by the method"""
    max_step: Annotated[float | None, Unit("s"), POSITIVE] = None
    """by default no limit"""
    max_steps: int | None = None
    """largest number of steps, by default a million with error control and no limit with fixed steps"""
    output: Output = EVERYTHING
    """the quantities that are recorded, by default all, and how they are stored"""

    def __post_init__(self) -> None:
        with Checks(self, "run") as check:
            check.whole("max_steps", 1)
            if self.output_interval is not None and not {"duration", "output_interval"} & check.bad:
                within = self.output_interval <= self.duration * (1.0 + 1e-9)
                check.require("output_interval", within, f"is longer than the run, {self.duration:g} s")
                count = self.duration / self.output_interval
                words = f"gives {count:.3g} output times, wanted at most {MOST_OUTPUTS:g}"
                check.require("output_interval", count < MOST_OUTPUTS, words)
            methods = METHODS_OF.get(self.formulation, METHODS) if "formulation" not in check.bad else METHODS
            if "method" not in check.bad and self.method not in (*methods, AUTO):
                allowed = " or ".join(map(repr, methods))
                check.fail(
                    "formulation", f"{self.formulation!r} is integrated by method {allowed}, got method {self.method!r}"
                )
            if not isinstance(self.atol, Tolerances):
                check.fail("atol", f"got {shown(self.atol)}, wanted Tolerances of position, quaternion and strain")
            if not isinstance(self.output, Output):
                check.fail("output", f"got {shown(self.output)}, wanted an Output of patterns, precision, compression")
            check.require("rtol", "rtol" in check.bad or 1e-14 <= self.rtol < 1.0, "must be from 1e-14 to below 1")
            if self.accuracy is not None and "accuracy" not in check.bad:
                self._check_accuracy(check)
            if isinstance(self.start, str):
                check.require("start", self.start in STARTS, f"must be one of {', '.join(map(repr, STARTS))}")
            elif not isinstance(self.start, StartState):
                check.fail("start", f"got {shown(self.start)}, wanted a word or {{ results = FILE }}")
            check.whole("max_order", 1, 5)
            if "spectral_radius" not in check.bad:
                check.require("spectral_radius", 0.0 <= self.spectral_radius <= 1.0, "must be from 0 to 1")
            if "order" not in check.bad:
                check.require("order", self.order in (4, 6), "must be 4 or 6: that of gauss, of 2 or 3 stages")
            known = not {"method", "tableau", "step"} & check.bad and self.method != AUTO
            if known and self.step is None and self.stepper.fixed:
                name = f"the tableau {self.tableau}" if "tableau" in self.stepper.options else self.method
                check.fail("step", f"is missing: {name} has no error control and needs a fixed step (s)")

    def _check_accuracy(self, check: Checks) -> None:
        """Add the problems of ``accuracy`` beside the other options."""
        assert self.accuracy is not None
        check.require("accuracy", LEAST_ACCURACY <= self.accuracy < 1.0, f"must be from {LEAST_ACCURACY:g} to below 1")
        defaults = {"rtol": DEFAULT_RTOL, "atol": Tolerances(), "filter": None, "step": None}
        given = [word for word, default in defaults.items() if getattr(self, word) != default]
        if text := beside_accuracy(given):
            check.fail("accuracy", text)
        if self.method not in ("radau", AUTO):
            check.fail("accuracy", f"is kept by method 'radau' or 'auto', got method {self.method!r}")
        if self.formulation != "velocity":
            check.fail("accuracy", f"needs formulation 'velocity', got {self.formulation!r}")

    def unused(self) -> list[str]:
        """Sentences on options that are given and that the method does not use."""
        if self.method == AUTO:
            return []
        special = {name for entry in STEPPERS.values() for name in entry.options}
        length = {"first_step", "max_step"} if self.controls_error else {"step"}
        used = length | set(self.stepper.options) - (set() if self.controls_error else {"filter"})
        unused = (special | {"step", "first_step", "max_step"}) - used
        method = repr(self.method) + (f" with tableau {self.tableau!r}" if "tableau" in self.stepper.options else "")
        return [
            f"run.{name}: {getattr(self, name)!r} has no effect, method {method} does not use it"
            for name in type(self).__annotations__
            if name in unused and getattr(self, name) != getattr(type(self), name)
        ]

    def output_count(self) -> int:
        """Number of multiples of the interval in the run, the start included."""
        interval = self.output_interval or self.duration / 1000.0
        return int(np.floor(self.duration / interval * (1.0 + 1e-12))) + 1

    @property
    def stepper(self) -> Entry:
        """The stepper of the method and, where it has several, of the tableau."""
        several = self.method not in STEPPERS
        return STEPPERS[self.tableau if several else self.method]

    @property
    def start_word(self) -> str:
        """The start of analyses other than those in time: the last state of a run is none of their starts."""
        return self.start if isinstance(self.start, str) else "as_given"

    @property
    def assembles(self) -> bool | None:
        """Whether joints may be open at the start, and are closed; None where the start is the state of another run."""
        return None if isinstance(self.start, StartState) else self.start == "assembled"

    @property
    def controls_error(self) -> bool:
        """Whether the method chooses its steps by rtol and atol."""
        if self.method == AUTO:
            return True
        return not self.stepper.fixed and not (self.step is not None and "step" in self.stepper.options)

    @property
    def most_steps(self) -> float:
        """Steps after which the run is given up."""
        if self.max_steps is not None:
            return self.max_steps
        return MOST_STEPS if self.controls_error else np.inf

    def output_times(self) -> Any:
        """(T,) the instants of output: multiples of the interval, and the end."""
        interval = self.output_interval or self.duration / 1000.0
        times = interval * np.arange(self.output_count())
        if times[-1] < self.duration * (1.0 - 1e-12):
            times = np.append(times, self.duration)
        times[-1] = self.duration if abs(times[-1] - self.duration) <= 1e-9 * self.duration else times[-1]
        return times
