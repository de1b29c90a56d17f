"""Outputs of a study that are of linear models: margins and poles of loops, gains and norms of transfer functions; of
loads and appendages; and the catalogue of all outputs.
"""

from dataclasses import dataclass
from math import inf
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ResultError
from femb.base.types import POSITIVE, Complexes, Floats, OneOf, Unit
from femb.base.values import nearest
from femb.linear.loop import Loop
from femb.linear.margins import Margins, disk_margin
from femb.linear.norms import h2_norm, peak_gain
from femb.linear.peak_loads import PeakLoad, peak_loads
from femb.linear.state_space import StateSpace
from femb.study.outputs import (
    ANALYSES,
    LOST,
    Analyses,
    CenterOfMass,
    DampingRatio,
    EventTime,
    Final,
    FirstFrequency,
    Inertia,
    Mass,
    Maximum,
    Mean,
    Minimum,
    NaturalFrequency,
    Peak,
    PeakTime,
    PointingError,
    Rms,
    SettlingTime,
    StudyOutput,
)

# Margins of the loop of the controllers. One that is not stable has none: all are zero, its sensitivity is infinite.


@dataclass(frozen=True, kw_only=True)
class LoopOutput(StudyOutput):
    """Base of the outputs of the loop of the controllers."""

    channel: str | None = None
    """where the loop is opened, as of ``femb loop``; by default the worst of all channels"""
    start: str | None = None
    """as in ``femb loop``"""
    unstable: ClassVar[float] = 0.0
    of_unit: ClassVar[str] = ""

    def of_channel(self, loop: Loop, channel: str) -> float:
        """The number at a channel of a stable loop."""
        raise NotImplementedError

    def worst(self, loop: Loop) -> tuple[float, str]:
        """The number of a loop, and the channel that has it; "" where it is not stable."""
        if self.channel is not None and self.channel not in loop.channels:
            there = ", ".join(loop.channels)
            hint = nearest(self.channel, loop.channels)
            raise ResultError(f"the loop has no channel {self.channel!r}{hint}; there are: {there}")
        if not loop.stable:
            return self.unstable, ""
        names = loop.channels if self.channel is None else (self.channel,)
        found = [(self.of_channel(loop, name), name) for name in names]
        return max(found) if self.unstable else min(found)

    def value(self, analyses: Analyses) -> float:
        return self.worst(analyses.loop(self.start))[0]

    def unit(self, analyses: Analyses) -> str:
        self.worst(analyses.loop(self.start))
        return self.of_unit


def margins_at(loop: Loop, channel: str) -> Margins:
    """The margins of a loop at a channel."""
    (found,) = loop.margins([channel])
    return found


class PhaseMargin(LoopOutput):
    """The least phase margin (deg) of all crossovers, by size."""

    kind: ClassVar[str] = "phase_margin"
    of_unit: ClassVar[str] = "deg"

    def of_channel(self, loop: Loop, channel: str) -> float:
        return abs(margins_at(loop, channel).phase_margin)


class GainMargin(LoopOutput):
    """The least factor above one by which the gain may grow."""

    kind: ClassVar[str] = "gain_margin"

    def of_channel(self, loop: Loop, channel: str) -> float:
        return margins_at(loop, channel).gain_margin[1]


class DelayMargin(LoopOutput):
    """The least delay (s) that makes the loop unstable."""

    kind: ClassVar[str] = "delay_margin"
    of_unit: ClassVar[str] = "s"

    def of_channel(self, loop: Loop, channel: str) -> float:
        return margins_at(loop, channel).delay_margin


class DiskMargin(LoopOutput):
    """The symmetric disk margin, of gain and phase together: the least 2 |(1 + L)/(1 - L)|."""

    kind: ClassVar[str] = "disk_margin"

    def of_channel(self, loop: Loop, channel: str) -> float:
        found = margins_at(loop, channel)
        return disk_margin(loop.opened(channel), found.frequencies, found.values)[0]


class SensitivityPeak(LoopOutput):
    """The largest |1/(1 + L)|."""

    kind: ClassVar[str] = "sensitivity_peak"
    unstable: ClassVar[float] = inf

    def of_channel(self, loop: Loop, channel: str) -> float:
        return margins_at(loop, channel).sensitivity


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
    def of(cls, loop: Loop) -> "ClosedPoles":
        """Of a loop, in the order of size; those of conserved motions are not among them."""
        from scipy.linalg import eig

        from femb.numerics.linear_systems import continuous

        closed = loop.closed((), ())
        multipliers, left, right = eig(closed.A, left=True)
        values = multipliers.astype(complex)
        if closed.dt is not None:
            values = continuous(values, closed.dt)
        kept = np.flatnonzero(np.isfinite(values) & (np.abs(values) > loop.plant.smallest_pole))
        kept = kept[np.argsort(np.abs(values[kept]), kind="stable")]
        left = left.conj() / np.sum(left.conj() * right, axis=0)
        return cls(closed.A, closed.dt, multipliers[kept], values[kept], right[:, kept], left[:, kept])

    def like(self, other: "ClosedPoles", k: int) -> tuple[int, float]:
        """The pole of another loop that is like pole k, and its share in it."""
        shares = np.abs(self.left.T @ other.right) ** 2
        found = int(np.argmax(shares[k] / np.maximum(np.sum(shares, axis=0), np.finfo(float).tiny)))
        return found, float(shares[k, found] / np.sum(shares[:, found]))


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
        nominal, own = analyses.reference.loop(self.start), analyses.loop(self.start)
        before = ClosedPoles.of(nominal)
        k = self.place(before)
        if own is nominal:
            return part_of_pole(complex(before.values[k]), self.part)
        after = ClosedPoles.of(own)
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


def part_of_pole(pole: complex, part: str) -> float:
    """A part of a pole (1/s) by its word."""
    if part == "damping":
        return -pole.real / abs(pole)
    return abs(pole) / (2.0 * np.pi) if part == "frequency" else pole.real if part == "real" else pole.imag


@dataclass(frozen=True, kw_only=True)
class Growth(StudyOutput):
    """The largest real part (1/s) of the poles of the closed loop: negative of a stable one."""

    kind: ClassVar[str] = "growth"

    start: str | None = None
    """as in ``femb loop``"""

    def value(self, analyses: Analyses) -> float:
        return analyses.loop(self.start).growth()

    def unit(self, analyses: Analyses) -> str:
        analyses.loop(self.start)
        return "1/s"


# Gains of transfer functions.


@dataclass(frozen=True, kw_only=True)
class TransferOutput(StudyOutput):
    """Base of the outputs of transfer functions."""

    input: str
    """its name, as of ``femb linearize``"""
    output: str
    """its name, as of ``femb linearize``"""
    closed: bool = False
    """whether the controllers act"""
    start: str | None = None
    """as in ``femb linearize``"""

    def space(self, analyses: Analyses) -> StateSpace:
        """The linear model from the input to the output."""
        return analyses.space(self.start, (self.input,), (self.output,), self.closed)

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


class PeakGainOutput(TransferOutput):
    """The largest gain of a transfer function over all frequencies, its H-infinity norm; infinite if unstable."""

    kind: ClassVar[str] = "peak_gain"

    def value(self, analyses: Analyses) -> float:
        return peak_gain(self.space(analyses)).gain


class NoiseGain(TransferOutput):
    """The root mean square of the output under white noise of unit density (1/Hz, two-sided), the H2 norm."""

    kind: ClassVar[str] = "h2_norm"

    def value(self, analyses: Analyses) -> float:
        return h2_norm(self.space(analyses))

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
            hint = nearest(self.appendage, parts)
            there = ", ".join(parts)
            raise ResultError(f"there is no appendage {self.appendage!r}{hint}; there are: {there}")
        part = parts[self.appendage]
        if len(part.frequencies) < self.mode:
            raise ResultError(f"outputs.{self.name}: there are {len(part.frequencies)} modes, got mode {self.mode}")
        return float(part.coupling[self.mode - 1, DIRECTIONS.index(self.direction)] ** 2)

    def unit(self, analyses: Analyses) -> str:
        self.value(analyses)
        return "kg m2" if self.direction.startswith("r") else "kg"


@dataclass(frozen=True, kw_only=True)
class CriticalLoad(StudyOutput):
    """The factor of the loads at which the structure buckles, as of ``femb static --critical``; NaN if it does not."""

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

    def unit(self, analyses: Analyses) -> str:
        return ""


@dataclass(frozen=True, kw_only=True)
class PeakLoadOutput(StudyOutput):
    """The largest magnitude of a load, as of ``femb loads``."""

    kind: ClassVar[str] = "peak_load"

    item: str
    """that carries it, as "beams/boom" """
    load: str
    """its name, as "bending moment y" """
    analysis: Annotated[str, OneOf(ANALYSES)] = "run"
    """as of other outputs"""

    def _peak(self, analyses: Analyses) -> PeakLoad:
        peaks = {peak.load: peak for peak in peak_loads(analyses.results(self.analysis), [self.item]).peaks}
        if self.load not in peaks:
            hint = nearest(self.load, peaks)
            raise ResultError(f"{self.item} has no load {self.load!r}{hint}; there are: {', '.join(peaks)}")
        return peaks[self.load]

    def value(self, analyses: Analyses) -> float:
        return self._peak(analyses).largest

    def unit(self, analyses: Analyses) -> str:
        return self._peak(analyses).unit


OUTPUTS: dict[str, type[StudyOutput]] = {
    kind.kind: kind
    for kind in (
        *(Maximum, Minimum, Peak, PeakTime, Final, Mean, Rms, SettlingTime, FirstFrequency),
        *(EventTime, NaturalFrequency, DampingRatio, PointingError, Mass, CenterOfMass, Inertia),
        *(PhaseMargin, GainMargin, DelayMargin, DiskMargin, SensitivityPeak, ClosedPole, Growth),
        *(Gain, PeakGainOutput, NoiseGain, EffectiveMass, CriticalLoad, PeakLoadOutput),
    )
}
"""The kinds of outputs by their words; the first is the default."""
