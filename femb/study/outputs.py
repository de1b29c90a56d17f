"""Outputs of a study: what an output is, its derivatives, and outputs of modes and of mass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol, TypeVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError, ResultError
from femb.base.meanings import Description
from femb.base.types import Bools, Complexes, Floats, OneOf
from femb.model.model import Model
from femb.results.results import Results
from femb.run.static import StaticResults
from femb.run.static_derivatives import StaticSide
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.element_forms import element_mass
from femb.vibration.mode_derivatives import ModeForm
from femb.vibration.mode_sweep import followed
from femb.vibration.modes import Modes
from femb.vibration.solution import Solution

if TYPE_CHECKING:
    from femb.linear.loop import Loop
    from femb.linear.state_space import StateSpace


T = TypeVar("T")
# How outputs are differentiated that do not follow from equations at a frozen state.
# Results of a run that have further instants between its output times.
BETWEEN = "between"
BY_ANALYSES, BY_STEPS = "by differences of the analysis", "by the same steps beside the value"
# The modal assurance criterion of a mode that is lost from its track.
LOST = 0.5
# Amplitudes of a spectrum below this part of the largest are no vibration of their own.
VISIBLE = 0.1


# The contract of outputs of a study: one number of every run.


class Analyses(Protocol):
    """The analyses of one run of a study, each carried out when an output first asks for it."""

    def results(self, analysis: str) -> Results:
        """Results of "run", the motion in time, or "static", the equilibria as the loads grow; of "between", the motion
        with the instants ``between`` output times, where derivatives of it are taken."""

    def at(self, times: Floats) -> Results:
        """The motion of a nominal run at any times (s), beside whose value its derivatives are taken."""

    def modes(self, held: str | None, start: str | None, damped: bool) -> Modes:
        """The natural modes."""

    def mass_properties(self) -> tuple[float, Floats, Floats]:
        """Mass (kg), mass centre (3,) m and inertia (3, 3) about it, kg m2, of the model at its start."""

    def solution(self, held: str | None, start: str | None, damped: bool) -> Solution:
        """The natural modes with their matrices, in axes of the frames, and some more of them."""

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """The value that a function makes on first use, kept for other outputs."""

    def small_motions(self, held: str | None, start: str | None, damped: bool) -> EigenProblem:
        """The matrices that these modes are of."""

    def differing(self, held: str | None, start: str | None, damped: bool) -> EigenProblem:
        """These matrices of the elements that differ from the nominal ones. Raises ModelError: more differs."""

    @property
    def model(self) -> Model:
        """The model of the run, of a form that of the nominal case."""

    def loop(self, start: str | None, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ()) -> "Loop":
        """The loop of the controllers, whose plant has further inputs and outputs."""

    def space(self, start: str | None, inputs: tuple[str, ...], outputs: tuple[str, ...], closed: bool) -> "StateSpace":
        """The linear model with these inputs and outputs, by default all; ``closed`` with the controllers."""

    def static_side(self) -> StaticSide:
        """The static equations."""

    def critical(self, number: int, factor: float) -> StaticResults:
        """The equilibria up to the critical load factor of this number, or to a factor of the loads."""

    @property
    def reference(self) -> "Analyses":
        """The analyses of the nominal case, from which modes and poles are followed by their shapes."""

    @property
    def message(self) -> str:
        """Messages of the analyses that were carried out."""


@dataclass(frozen=True, eq=False)
class ByElements:
    """A derivative of which each element has its own part.

    numbers : (e, n + 1) of classes of elements of a model; the last tell the elements apart. Raises ModelError where
    elements are not told apart, or more changes. derivative : of the output by the changes (n,) of their sum.
    """

    numbers: Callable[[Analyses], list[Complexes]]
    derivative: Callable[[Complexes], float]


@dataclass(frozen=True, eq=False)
class ByChanges:
    """The way an output is differentiated: by the changes of numbers that are read from models beside the nominal one.

    numbers : (n,) of a model, real or complex; what is taken from the nominal one, as shapes and frequencies, is frozen
    in it. derivative : of the output by the changes (n,) of them. way : empty where it follows from equations; else
    what is carried out beside the value, of which differences are taken. elements : the way of parameters of single
    elements, which are many. lower : the derivative by an interpolation of lower degree, where there is one.
    """

    numbers: Callable[[Analyses], Complexes]
    derivative: Callable[[Complexes], float]
    way: str = ""
    elements: ByElements | None = None
    lower: Callable[[Complexes], float] | None = None


@dataclass(frozen=True, kw_only=True)
class StudyOutput(Description):
    """Base of the kinds of outputs."""

    table: ClassVar[str] = "outputs"
    kind: ClassVar[str]
    of_unit: ClassVar[str] = ""

    name: str

    def __post_init__(self) -> None:
        with Checks(self, self.table, self.name) as check:
            self.check(check)

    def check(self, check: Checks) -> None:
        """Check the fields of the kind."""

    def value(self, analyses: Analyses) -> float:
        """The number of one run. Raises ResultError where the results do not have the quantity."""
        raise NotImplementedError

    def channels(self) -> tuple[Sequence[str], Sequence[str]]:
        """The inputs and outputs of the plant that it needs beside those of laws, by name."""
        return (), ()

    def unstable_at(self, values: Floats) -> Bools:
        """Whether values tell that a loop is not stable."""
        return np.zeros(len(values), bool)

    @property
    def known_units(self) -> tuple[str, ...]:
        """The units that it may have, before the model tells which; none where nothing is known."""
        return (self.of_unit,) if self.of_unit else ()

    def unit(self, analyses: Analyses) -> str:
        """Its unit, "" where it is unknown. Raises ResultError where the results do not have the quantity."""
        return self.of_unit

    def frozen(self, analyses: Analyses) -> ByChanges:
        """The way it is differentiated about a nominal run. Raises ModelError: not at all, with the reason."""
        return self.by_values(BY_ANALYSES)

    def instants(self, analyses: Analyses) -> Floats | None:
        """The output times (s) of a nominal run from which its derivative follows; None for all."""
        return None

    def between(self, analyses: Analyses) -> Floats:
        """The instants (s) between output times of a nominal run from which its derivative follows."""
        return np.zeros(0)

    def by_values(self, way: str) -> ByChanges:
        """By its values beside the nominal one."""
        return ByChanges(
            lambda other: np.array([complex(self.value(other))]), lambda change: float(change[0].real), way
        )


def damping_rate(value: complex, rate: complex) -> float:
    """The derivative of the damping ratio of an eigenvalue by that of the eigenvalue."""
    size = abs(value)
    return float(-rate.real / size + value.real * (value.conjugate() * rate).real / size**3)


# Outputs of a study that are natural modes of every run.


@dataclass(frozen=True, kw_only=True)
class ModeOutput(StudyOutput):
    """Base of the outputs of natural modes."""

    mode: int = 1
    """its number, from 1 at the lowest frequency"""
    held: str | None = None
    """as in ``femb modes``"""
    start: str | None = None
    """as in ``femb modes``"""
    by_shape: bool = False
    """whether the number is that in the nominal case, from which the mode is followed by its shape; a mode without a
    like one is refused"""
    damped: ClassVar[bool] = False

    def check(self, check: Checks) -> None:
        check.whole("mode", 1, 1000)

    def place(self, analyses: Analyses) -> int:
        """The number from 0 of the mode; by shape that of the nominal one. Raises ResultError: it lost its track."""
        reference = analyses.reference
        if not self.by_shape or reference is analyses:
            return self.mode - 1
        of = (self.held, self.start, self.damped)

        def make() -> int:
            own = analyses.solution(*of)
            modes, assurance = followed(reference.solution(*of), own, self.place(reference) + 1)
            if assurance[-1] < LOST:
                raise ResultError(
                    f"outputs.{self.name}: mode {self.mode} of the nominal case is lost from its track: the best match "
                    f"has an assurance of {assurance[-1]:.3g}; take smaller ranges, or another mode"
                )
            value = modes.eigenvalues[-1]
            return int(np.argmin(np.minimum(abs(own.eigenvalues - value), abs(own.eigenvalues - value.conjugate()))))

        return analyses.once(("place", *of, self.mode), make)

    def eigenvalue(self, analyses: Analyses) -> complex:
        """The eigenvalue of the mode, 1/s, followed by its shape. Raises ResultError."""
        return complex(analyses.solution(self.held, self.start, self.damped).eigenvalues[self.place(analyses)])

    def of_rate(self, value: complex, rate: complex) -> float:
        """The derivative of the output by that of the eigenvalue."""
        raise NotImplementedError

    def frozen(self, analyses: Analyses) -> ByChanges:
        of = (self.held, self.start, self.damped)
        modes = analyses.solution(*of)
        place = self.place(analyses)
        form, value = ModeForm.of(modes, place), complex(modes.eigenvalues[place])

        def derivative(change: Complexes) -> float:
            return self.of_rate(value, form.derivative(change))

        def of_elements(other: Analyses) -> list[Complexes]:
            return form.of_elements(other.differing(*of))

        def numbers(other: Analyses) -> Complexes:
            # by elements little cancels
            try:
                return np.asarray(
                    sum((each[:, :-1].sum(axis=0) for each in of_elements(other)), np.zeros(form.scale.size))
                )
            except ModelError:
                return form.numbers(other.small_motions(*of))

        return ByChanges(numbers, derivative, elements=ByElements(of_elements, derivative))

    def found(self, analyses: Analyses) -> Modes:
        """The modes, at least as many as asked for."""
        modes = analyses.modes(self.held, self.start, self.damped)
        if len(modes.frequencies) < self.mode:
            raise ResultError(f"outputs.{self.name}: there are {len(modes.frequencies)} modes, got mode {self.mode}")
        return modes


class NaturalFrequency(ModeOutput):
    """The frequency (Hz) of a natural mode without damping, as in ``femb modes``."""

    kind: ClassVar[str] = "natural_frequency"
    of_unit: ClassVar[str] = "Hz"

    def value(self, analyses: Analyses) -> float:
        if self.by_shape:
            return abs(self.eigenvalue(analyses)) / (2.0 * np.pi)
        return float(self.found(analyses).frequencies[self.mode - 1])

    def of_rate(self, value: complex, rate: complex) -> float:
        return float((value.conjugate() * rate).real / abs(value) / (2.0 * np.pi))


class DampingRatio(ModeOutput):
    """The damping ratio of a complex mode, as in ``femb modes --damped``."""

    kind: ClassVar[str] = "damping_ratio"
    damped: ClassVar[bool] = True

    def value(self, analyses: Analyses) -> float:
        if self.by_shape:
            of = self.eigenvalue(analyses)
            return -of.real / abs(of)
        return float(self.found(analyses).damping[self.mode - 1])

    def of_rate(self, value: complex, rate: complex) -> float:
        return damping_rate(value, rate)


# Outputs of a study that are mass properties of the model at its start, as in ``femb check``.


class Mass(StudyOutput):
    """The mass (kg) of the whole model."""

    kind: ClassVar[str] = "mass"
    of_unit: ClassVar[str] = "kg"

    def value(self, analyses: Analyses) -> float:
        return analyses.mass_properties()[0]

    def frozen(self, analyses: Analyses) -> ByChanges:
        elements = ByElements(
            lambda other: element_mass(other.differing(None, None, False)), lambda change: float(change[0].real)
        )
        return replace(super().frozen(analyses), elements=elements)


@dataclass(frozen=True, kw_only=True)
class CenterOfMass(StudyOutput):
    """A component (m) of the mass centre, in inertial axes."""

    kind: ClassVar[str] = "center_of_mass"
    of_unit: ClassVar[str] = "m"

    component: Annotated[str, OneOf(("x", "y", "z"))]
    """of the vector"""

    def value(self, analyses: Analyses) -> float:
        return float(analyses.mass_properties()[1]["xyz".index(self.component)])


@dataclass(frozen=True, kw_only=True)
class Inertia(StudyOutput):
    """A component (kg m2) of the inertia about the mass centre, in inertial axes."""

    kind: ClassVar[str] = "inertia"
    of_unit: ClassVar[str] = "kg m2"

    component: Annotated[str, OneOf(("xx", "yy", "zz", "xy", "xz", "yz"))]
    """of the inertia matrix, whose "xy", "xz" and "yz" are the negative products"""

    def value(self, analyses: Analyses) -> float:
        row, column = ("xyz".index(axis) for axis in self.component)
        return float(analyses.mass_properties()[2][row, column])
