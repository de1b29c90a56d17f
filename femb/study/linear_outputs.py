"""Outputs of a study that are of linear models: margins and poles of loops, gains and norms of transfer functions; of
loads and appendages; and the catalogue of all outputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError, ResultError
from femb.base.types import POSITIVE, Bools, Complexes, Floats, OneOf, Unit
from femb.base.values import absent
from femb.linear.conserved import without_conserved
from femb.linear.loop import STABLE, Loop
from femb.linear.loop_derivatives import (
    Combined,
    Opened,
    check_states,
    of_crossover,
    of_noise,
    of_phase_crossover,
    ratio,
)
from femb.linear.margins import Margins, disk_margin, margins_of
from femb.linear.norms import acting, h2_norm, peak_gain
from femb.linear.peak_loads import PeakLoad, peak_loads
from femb.linear.state_space import StateSpace
from femb.results.results import Results
from femb.run.static_derivatives import StaticForm, of_critical
from femb.study.budget_output import BudgetOutput
from femb.study.outputs import (
    LOST,
    Analyses,
    ByChanges,
    CenterOfMass,
    DampingRatio,
    Inertia,
    Mass,
    NaturalFrequency,
    StudyOutput,
    damping_rate,
)
from femb.study.run_outputs import (
    ANALYSES,
    AtExtreme,
    EventTime,
    Final,
    FirstFrequency,
    Maximum,
    Mean,
    Minimum,
    Peak,
    PeakTime,
    PointingError,
    Rms,
    SettlingTime,
    SmoothMaximum,
)

# Margins of the loop of the controllers. One that is not stable has none: all are zero, its sensitivity is infinite.


@dataclass(frozen=True, kw_only=True)
class LoopOutput(StudyOutput):
    """Base of the outputs of the loop of the controllers."""

    channel: str | None = None
    """where the loop is opened, as in ``femb loop``; by default the worst of all channels"""
    start: str | None = None
    """as in ``femb loop``"""
    unstable: ClassVar[float] = 0.0

    def of_channel(self, opened: Opened, margins: Margins) -> float:
        """The number at a channel of a stable loop."""
        raise NotImplementedError

    def opened(self, analyses: Analyses, channel: str) -> tuple[Opened, Margins]:
        """The loop opened at a channel, and its margins."""

        def make() -> tuple[Opened, Margins]:
            opened = analyses.loop(self.start).opened(channel)
            return opened, margins_of(channel, opened)

        return analyses.once(("margins", self.start, channel), make)

    def unstable_at(self, values: Floats) -> Bools:
        return np.asarray(values == self.unstable)

    def worst(self, analyses: Analyses) -> tuple[float, str]:
        """The number of a loop, and the channel that has it; "" where it is not stable."""
        loop = analyses.loop(self.start)
        if self.channel is not None and self.channel not in loop.channels:
            raise ResultError(f"the loop has no channel {absent(self.channel, loop.channels)}")
        asked = loop.channels if self.channel is None else (self.channel,)
        names = [name for name in asked if name not in loop.without_effect]
        if not names or not analyses.once(("stable", self.start), lambda: loop.stable):
            return self.unstable, ""
        found = [(self.of_channel(*self.opened(analyses, name)), name) for name in names]
        return max(found) if self.unstable else min(found)

    def value(self, analyses: Analyses) -> float:
        return self.worst(analyses)[0]

    def at(self, opened: Opened, margins: Margins) -> tuple[float, Combined]:
        """The frequency (rad/s) that the number of a channel is of, and its derivative by the change of ln L there."""
        raise NotImplementedError

    def frozen(self, analyses: Analyses) -> ByChanges:
        value, channel = self.worst(analyses)
        if not channel or not np.isfinite(value):
            why = "infinite" if channel else "of a loop that is not stable"
            raise ModelError(f"outputs.{self.name}: is {why}, and has no derivative")
        opened, margins = self.opened(analyses, channel)
        omega, derivative = self.at(opened, margins)
        nominal = opened.one(omega)
        return ByChanges(lambda other: ratio(other.loop(self.start).opened(channel), nominal, omega), derivative)

    def unit(self, analyses: Analyses) -> str:
        self.worst(analyses)
        return self.of_unit


class PhaseMargin(LoopOutput):
    """The least phase margin (deg) of all crossovers, by size."""

    kind: ClassVar[str] = "phase_margin"
    of_unit: ClassVar[str] = "deg"

    def of_channel(self, opened: Opened, margins: Margins) -> float:
        return abs(margins.phase_margin)

    def at(self, opened: Opened, margins: Margins) -> tuple[float, Combined]:
        k = int(np.argmin(np.abs(margins.phase_margins)))
        omega, margin = float(margins.crossovers[k]), float(margins.phase_margins[k])
        return omega, of_crossover(opened, omega, margin)[0]


class GainMargin(LoopOutput):
    """The least factor, of one or more, by which the gain may be multiplied or divided."""

    kind: ClassVar[str] = "gain_margin"

    def of_channel(self, opened: Opened, margins: Margins) -> float:
        return margins.gain_factor

    def at(self, opened: Opened, margins: Margins) -> tuple[float, Combined]:
        low, high = margins.gain_margin
        gain = low if high * low > 1.0 else high
        omega = float(margins.phase_crossovers[int(np.argmin(np.abs(margins.gain_margins - gain)))])
        # of a quotient the sign is the other one
        return omega, of_phase_crossover(opened, omega, high if gain == high else -1.0 / low)


class DelayMargin(LoopOutput):
    """The least delay (s) that makes the loop unstable."""

    kind: ClassVar[str] = "delay_margin"
    of_unit: ClassVar[str] = "s"

    def of_channel(self, opened: Opened, margins: Margins) -> float:
        return margins.delay_margin

    def at(self, opened: Opened, margins: Margins) -> tuple[float, Combined]:
        k = int(np.argmin(margins.delay_margins))
        omega, margin = float(margins.crossovers[k]), float(margins.phase_margins[k])
        return omega, of_crossover(opened, omega, margin)[1]


class DiskMargin(LoopOutput):
    """The symmetric disk margin, of gain and phase together: the least 2 |(1 + L)/(1 - L)|."""

    kind: ClassVar[str] = "disk_margin"

    def of_channel(self, opened: Opened, margins: Margins) -> float:
        return disk_margin(opened, margins.frequencies, margins.values)[0]

    def at(self, opened: Opened, margins: Margins) -> tuple[float, Combined]:
        value, omega = disk_margin(opened, margins.frequencies, margins.values)
        L = opened.one(omega)
        # d ln |(1 + L)/(1 - L)| = Re (2 L/(1 - L^2) d ln L)
        return omega, lambda change: value * float((2.0 * L / (1.0 - L * L) * change[0]).real)


class SensitivityPeak(LoopOutput):
    """The largest |1/(1 + L)|."""

    kind: ClassVar[str] = "sensitivity_peak"
    unstable: ClassVar[float] = inf

    def of_channel(self, opened: Opened, margins: Margins) -> float:
        return margins.sensitivity

    def at(self, opened: Opened, margins: Margins) -> tuple[float, Combined]:
        L, value = opened.one(margins.at), margins.sensitivity
        return margins.at, lambda change: -value * float((L / (1.0 + L) * change[0]).real)


# Poles of the closed loop.

PARTS = {"damping": "", "frequency": "Hz", "real": "1/s", "imaginary": "rad/s"}
"""Parts of a pole and their units."""


@dataclass(frozen=True, eq=False)
class ClosedPoles:
    """Eigenvalues (n,) 1/s of a closed loop, right vectors (n, n) and left ones with y^T x = 1, of the matrix A."""

    A: Floats
    dt: float | None
    multipliers: Complexes
    values: Complexes
    right: Complexes
    left: Complexes

    @classmethod
    def of(cls, analyses: Analyses, start: str | None) -> "ClosedPoles":
        """The poles of the loop of a run, in the order of size; those of conserved motions are not among them."""
        return analyses.once(("poles", start), lambda: cls._of(analyses.loop(start)))

    @classmethod
    def _of(cls, loop: Loop) -> "ClosedPoles":
        from femb.numerics.linear_systems import continuous, eigenvectors

        closed = loop.closed((), ())
        of = closed.in_form()
        multipliers, left, right = eigenvectors(of.A)
        values = multipliers
        if closed.dt is not None:
            values = continuous(values, closed.dt)
        kept = np.flatnonzero(np.isfinite(values) & (np.abs(values) > loop.plant.smallest_pole))
        kept = kept[np.argsort(np.abs(values[kept]), kind="stable")]
        left = left / np.sum(left * right, axis=0)
        if closed.known is not None and of is not closed:
            left, right = closed.known.form.inverse.T @ left, closed.known.form.change @ right
        return cls(closed.A, closed.dt, multipliers[kept], values[kept], right[:, kept], left[:, kept])

    def like(self, other: "ClosedPoles", k: int) -> tuple[int, float]:
        """The pole of another loop that is like pole k, and its share in it."""
        # the products of left and right vectors, whose sum is one whatever the units of states
        shares = np.abs((self.left[:, k] @ other.right) * (self.right[:, k] @ other.left))
        found = int(np.argmax(shares))
        return found, float(shares[found])

    def frozen(self, k: int, start: str | None, combined: Callable[[complex, complex], float]) -> ByChanges:
        """The way a number of pole k is differentiated; combined : that by the pole and its derivative, 1/s."""
        z, value, x, y = self.multipliers[k], complex(self.values[k]), self.right[:, k], self.left[:, k]

        def numbers(other: Analyses) -> Complexes:
            closed = other.loop(start).closed((), ())
            if closed.A.shape != self.A.shape:
                raise ModelError("the states of the closed loops differ beside the value")
            # of samples s = ln z/T: with z itself, and its exponent, which a change of the period changes alone
            return np.array([y @ (closed.A @ x), complex(closed.dt or 1.0)])

        def derivative(change: Complexes) -> float:
            if self.dt is None:
                return combined(value, complex(change[0]))
            return combined(value, complex(change[0] / (z * self.dt) - change[1] * value / self.dt))

        return ByChanges(numbers, derivative)


@dataclass(frozen=True, kw_only=True)
class ClosedPole(StudyOutput):
    """A part of a pole of the closed loop: followed by its shape from the nominal case."""

    kind: ClassVar[str] = "pole"

    frequency: Annotated[float, Unit("Hz"), POSITIVE]
    """of the nominal case the pole of which |pole|/(2 pi) is nearest to this"""
    part: Annotated[str, OneOf(tuple(PARTS))] = "damping"
    """of the pole: its ratio, frequency (Hz), real part (1/s) or imaginary part (rad/s)"""
    start: str | None = None
    """as in ``femb loop``"""

    def place(self, poles: ClosedPoles) -> int:
        """The number of the nominal pole."""
        upper = np.flatnonzero(poles.values.imag >= 0.0)
        if not len(upper):
            raise ResultError("the closed loop has no poles")
        return int(upper[np.argmin(np.abs(np.log(np.abs(poles.values[upper]) / (2.0 * np.pi * self.frequency))))])

    def value(self, analyses: Analyses) -> float:
        before, after = (ClosedPoles.of(each, self.start) for each in (analyses.reference, analyses))
        k = self.place(before)
        if before.right.shape[0] != after.right.shape[0]:
            raise ResultError(f"outputs.{self.name}: the loop has other states, between which no pole can be followed")
        found, share = before.like(after, k)
        if share < LOST:
            raise ResultError(
                f"outputs.{self.name}: the pole at {self.frequency:g} Hz is lost from its track: the best match has a "
                f"share of {share:.3g}; take smaller ranges"
            )
        pole = complex(after.values[found])
        return part_of_pole(pole.conjugate() if pole.imag < 0.0 else pole, self.part)

    def unit(self, analyses: Analyses) -> str:
        self.value(analyses)
        return PARTS[self.part]

    def frozen(self, analyses: Analyses) -> ByChanges:
        poles = ClosedPoles.of(analyses, self.start)
        return poles.frozen(self.place(poles), self.start, lambda pole, rate: rate_of_part(pole, rate, self.part))


def part_of_pole(pole: complex, part: str) -> float:
    """A part of a pole (1/s) by its word."""
    if part == "damping":
        return -pole.real / abs(pole)
    return abs(pole) / (2.0 * np.pi) if part == "frequency" else pole.real if part == "real" else pole.imag


def rate_of_part(pole: complex, rate: complex, part: str) -> float:
    """The derivative of a part of a pole by that of the pole, 1/s."""
    if part == "damping":
        return damping_rate(pole, rate)
    along = (pole.conjugate() * rate).real / abs(pole) / (2.0 * np.pi)
    return float(along if part == "frequency" else rate.real if part == "real" else rate.imag)


@dataclass(frozen=True, kw_only=True)
class Growth(StudyOutput):
    """The largest real part (1/s) of the poles of the closed loop: negative of a stable one."""

    kind: ClassVar[str] = "growth"

    start: str | None = None
    """as in ``femb loop``"""

    def value(self, analyses: Analyses) -> float:
        return analyses.loop(self.start).growth()

    def unstable_at(self, values: Floats) -> Bools:
        return np.asarray(values >= STABLE)

    def unit(self, analyses: Analyses) -> str:
        analyses.loop(self.start)
        return "1/s"

    def frozen(self, analyses: Analyses) -> ByChanges:
        poles = ClosedPoles.of(analyses, self.start)
        return poles.frozen(int(np.argmax(poles.values.real)), self.start, lambda _, rate: rate.real)


# Gains of transfer functions.


@dataclass(frozen=True, kw_only=True)
class TransferOutput(StudyOutput):
    """Base of the outputs of transfer functions."""

    input: str
    """its name, as in ``femb linearize``"""
    output: str
    """its name, as in ``femb linearize``"""
    closed: bool = False
    """whether the controllers act"""
    start: str | None = None
    """as in ``femb linearize``"""

    def channels(self) -> tuple[Sequence[str], Sequence[str]]:
        return (self.input,), (self.output,)

    def space(self, analyses: Analyses) -> StateSpace:
        """The linear model from the input to the output."""
        return analyses.space(self.start, (self.input,), (self.output,), self.closed)

    def at(self, omega: float, left: Complexes, right: Complexes) -> ByChanges:
        """The way a singular value with these vectors at a frequency, rad/s, is differentiated."""

        def numbers(other: Analyses) -> Complexes:
            return np.array(
                [left.conj() @ without_conserved(self.space(other), in_modes=True).transfer(1j * omega) @ right]
            )

        return ByChanges(numbers, lambda change: float(change[0].real))

    def unit(self, analyses: Analyses) -> str:
        space = self.space(analyses)
        of_output, of_input = ({space.units.get(name, "") for name in names} for names in (space.outputs, space.inputs))
        if len(of_output) != 1 or len(of_input) != 1 or not (above := of_output.pop()):
            return ""
        return f"{above}/({below})" if (below := of_input.pop()) else above


@dataclass(frozen=True, kw_only=True)
class Gain(TransferOutput):
    """The gain of a transfer function at a frequency."""

    kind: ClassVar[str] = "gain"

    frequency: Annotated[float, Unit("Hz"), POSITIVE]
    """of the input"""

    def value(self, analyses: Analyses) -> float:
        return float(np.linalg.norm(self.space(analyses).transfer(2j * np.pi * self.frequency), 2))

    def frozen(self, analyses: Analyses) -> ByChanges:
        U, _, V = np.linalg.svd(self.space(analyses).transfer(2j * np.pi * self.frequency))
        return self.at(2.0 * np.pi * self.frequency, U[:, 0], V[0].conj())


class PeakGainOutput(TransferOutput):
    """The largest gain of a transfer function over all frequencies, its H-infinity norm; infinite if unstable."""

    kind: ClassVar[str] = "peak_gain"

    def value(self, analyses: Analyses) -> float:
        return peak_gain(self.space(analyses)).gain

    def frozen(self, analyses: Analyses) -> ByChanges:
        found = peak_gain(self.space(analyses))
        if not np.isfinite(found.gain * found.omega):
            raise ModelError(f"outputs.{self.name}: has its peak at no finite frequency, and no derivative")
        return self.at(found.omega, found.left, found.right)


class NoiseGain(TransferOutput):
    """The root mean square of the output under white noise of unit density (1/Hz, two-sided), the H2 norm."""

    kind: ClassVar[str] = "h2_norm"

    def value(self, analyses: Analyses) -> float:
        return h2_norm(self.space(analyses))

    def frozen(self, analyses: Analyses) -> ByChanges:
        if not np.isfinite(norm := self.value(analyses)):
            raise ModelError(f"outputs.{self.name}: is infinite, and has no derivative")
        space = without_conserved(self.space(analyses))
        shapes = [part.shape for part in (space.A, space.B, space.C)]
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
        left, right = acting(space)
        derivative = of_noise(left @ space.A @ right, left @ space.B, space.C @ right, space.dt, norm)

        def numbers(other: Analyses) -> Complexes:
            own = without_conserved(self.space(other))
            check_states(space.states, own.states)
            return np.concatenate([part.ravel() for part in (own.A, own.B, own.C)]).astype(complex)

        def of_changes(change: Complexes) -> float:
            A, B, C = (change.real[a:b].reshape(shape) for a, b, shape in zip(ends, ends[1:], shapes, strict=False))
            return derivative(left @ A @ right, left @ B, C @ right)

        return ByChanges(numbers, of_changes)

    def unit(self, analyses: Analyses) -> str:
        self.space(analyses)
        return ""


# Loads and appendages.

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True, kw_only=True)
class EffectiveMass(StudyOutput):
    """The effective mass (kg), about an axis the effective inertia (kg m2), of a mode of an appendage."""

    kind: ClassVar[str] = "effective_mass"

    held: str
    """the body that is held, as in ``femb modes``"""
    appendage: str
    """its name, as in ``femb modes --held``"""
    mode: int = 1
    """its number, from 1 at the lowest frequency of the appendage"""
    direction: Annotated[str, OneOf(DIRECTIONS)]
    """along or, with r, about an axis of the held body"""
    start: str | None = None
    """as in ``femb modes``"""

    def check(self, check: Checks) -> None:
        check.whole("mode", 1, 1000)

    def value(self, analyses: Analyses) -> float:
        parts = {part.name: part for part in analyses.modes(self.held, self.start, False).appendages}
        if self.appendage not in parts:
            raise ResultError(f"there is no appendage {absent(self.appendage, parts)}")
        part = parts[self.appendage]
        if len(part.frequencies) < self.mode:
            raise ResultError(f"outputs.{self.name}: there are {len(part.frequencies)} modes, got mode {self.mode}")
        return float(part.coupling[self.mode - 1, DIRECTIONS.index(self.direction)] ** 2)

    def unit(self, analyses: Analyses) -> str:
        self.value(analyses)
        return "kg m2" if self.direction.startswith("r") else "kg"


@dataclass(frozen=True, kw_only=True)
class CriticalLoad(StudyOutput):
    """The factor of the loads at which the structure buckles, as in ``femb static --critical``; NaN if it does not."""

    kind: ClassVar[str] = "critical_load"

    number: int = 1
    """of the critical load factor, from 1 on along the path"""
    factor: Annotated[float, POSITIVE] = 10.0
    """of the loads, up to which it is looked for in ten steps"""

    def check(self, check: Checks) -> None:
        check.whole("number", 1, 1000)

    def value(self, analyses: Analyses) -> float:
        found = analyses.critical(self.number, self.factor).critical_load_factors
        return float(found[self.number - 1]) if len(found) >= self.number else np.nan

    def frozen(self, analyses: Analyses) -> ByChanges:
        found = analyses.critical(self.number, self.factor).critical
        if len(found) < self.number:
            raise ModelError(f"outputs.{self.name}: there is none up to the factor {self.factor:g}")
        side, critical = analyses.static_side(), found[self.number - 1]
        numbers, derivative = of_critical(StaticForm(side, critical.before), critical.mode)
        return ByChanges(lambda other: numbers(other.static_side()), derivative)


@dataclass(frozen=True, kw_only=True)
class PeakLoadOutput(AtExtreme):
    """The largest magnitude of a load, as in ``femb loads``."""

    kind: ClassVar[str] = "peak_load"

    item: str
    """that carries it, as "beams/boom" """
    load: str
    """its name, as "bending moment y" """
    analysis: Annotated[str, OneOf(ANALYSES)] = "run"
    """as with other outputs"""

    def _peak(self, results: Results) -> PeakLoad:
        found = peak_loads(results, [self.item]).peaks
        if len(items := dict.fromkeys(peak.item for peak in found)) > 1:
            raise ResultError(f"got the item {self.item!r}, wanted one of: {', '.join(items)}")
        peaks = {peak.load: peak for peak in found}
        if self.load not in peaks:
            raise ResultError(f"{self.item} has no load {absent(self.load, peaks)}")
        return peaks[self.load]

    def _at(self, results: Results, times: Floats) -> Floats:
        return self._peak(results).curves[:, np.argmin(np.abs(results.time[:, None] - times), axis=0)]

    def value(self, analyses: Analyses) -> float:
        return self._peak(analyses.results(self.analysis)).largest

    def _curves(self, analyses: Analyses) -> tuple[Floats, Floats]:
        results = analyses.results("run")
        return results.time, self._peak(results).curves

    def unit(self, analyses: Analyses) -> str:
        return self._peak(analyses.results(self.analysis)).unit


OUTPUTS: dict[str, type[StudyOutput]] = {
    kind.kind: kind
    for kind in (
        *(Maximum, Minimum, Peak, PeakTime, Final, Mean, Rms, SettlingTime, FirstFrequency),
        *(SmoothMaximum, EventTime, NaturalFrequency, DampingRatio, PointingError, Mass, CenterOfMass, Inertia),
        *(PhaseMargin, GainMargin, DelayMargin, DiskMargin, SensitivityPeak, ClosedPole, Growth),
        *(Gain, PeakGainOutput, NoiseGain, BudgetOutput, EffectiveMass, CriticalLoad, PeakLoadOutput),
    )
}
"""The kinds of outputs by their words; the first is the default."""
