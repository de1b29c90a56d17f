"""Pointing budget of a loop in closed form: errors by source and axis, absolute and by windows, and their sums.

Source: docs/theory/pointing_budget.md; ECSS-E-ST-60-10C, 2008; ESSB-HB-E-003, 2011.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from femb.base.errors import FembWarning, ModelError, Problem
from femb.base.html import Tabled
from femb.base.types import Complexes, Floats
from femb.base.values import as_numbers, number_problem, shown
from femb.elements.control.linear_law import LinearLaw
from femb.linear.conserved import without_conserved
from femb.linear.error_windows import ErrorMotion, UnboundedError, check_decay, continuous_errors, sampled_errors, step
from femb.linear.linearise import loop
from femb.linear.loop import Loop
from femb.linear.norms import gramian
from femb.linear.pointing_sources import ConstantSource, HarmonicSource, NoiseSource, PulseSource, Source, read_source
from femb.linear.sampled_motion import Fundamental, part_of, with_continuous
from femb.linear.state_space import StateSpace
from femb.model.model import Model
from femb.numerics.threads import one_blas_thread
from femb.vibration.completion import given

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from femb.case import Given

MEASURES = ("APE", "MPE", "RPE", "PDE", "PRE")
SUMS = ("exact", "squares", "linear")
# Part of the time for which a level holds, three standard deviations of a normal error.
LEVEL = 0.9973
# Harmonics whose sum with noise is exact; more are taken as normal. Phases at which each is averaged.
EXACT, PHASES = 3, 64
# Frequencies of a range of a harmonic beside the resonances in it; damping of thin ones, and the folds of their samples
# that are looked at.
ACROSS, THIN, FOLDS = 40, 0.1, 10.0
# Part of a quantum that noise has where what rounding takes is white: B. Widrow, I. Kollar, Quantization Noise, 2008.
DITHER = 0.25
# Lobes of windows that are looked at, from the lowest frequency on.
LOBES = 8


@dataclass(frozen=True, eq=False)
class ErrorPart:
    """The errors of one source: constant (p,), the variances of random ones by measure (5, p), and amplitudes of a
    harmonic by measure (5, p), each at its worst frequency ``omega`` (5, p), rad/s."""

    source: str
    constant: Floats
    variance: Floats
    amplitude: Floats
    omega: Floats | None = None

    def size(self, measure: str) -> Floats:
        """(p,) its root mean square, with constant parts where the measure has them."""
        k = MEASURES.index(measure)
        square = self.constant**2 * (k < 2) + self.variance[k] + 0.5 * self.amplitude[k] ** 2
        return np.asarray(np.sqrt(square))


@dataclass(frozen=True, eq=False)
class PointingBudget(Tabled):
    """A pointing budget.

    of (p,) : names of the errors. unit : theirs. window, apart : s, the length of windows and the distance of their
    starts. parts : by source. covariance (p, p) : of all noise, for two axes together. level : part of the time.
    title : of the model.
    """

    of: tuple[str, ...]
    unit: str
    window: float
    apart: float
    parts: tuple[ErrorPart, ...]
    covariance: Floats
    level: float = LEVEL
    title: str = ""

    def total(self, measure: str, how: str = "exact") -> Floats:
        """(p,) the errors that are not exceeded for ``level`` of the time.

        Parameters:
            measure: APE, MPE, RPE, PDE or PRE.
            how: "exact", by the distribution of noise and harmonics; "squares", of a normal distribution of their mean
                square; "linear", with the amplitudes of harmonics added.

        Raises:
            ModelError: another measure or way.
        """
        if measure not in MEASURES or how not in SUMS:
            known = f"one of {', '.join(MEASURES)}, and exact, squares or linear"
            raise ModelError(f"pointing: got {measure!r}, {how!r}, wanted {known}")
        k = MEASURES.index(measure)
        # constant parts of one cause, as all knowledge errors may be, add linearly
        constant = sum(np.abs(each.constant) for each in self.parts) * float(measure in ("APE", "MPE"))
        sigma = np.sqrt(sum(each.variance[k] for each in self.parts))
        amplitudes = np.array([each.amplitude[k] for each in self.parts])
        normal = level(1.0, (), self.level)
        if how == "linear":
            return np.asarray(constant + normal * sigma + np.sum(amplitudes, axis=0))
        few = np.count_nonzero(np.any(amplitudes > 0.0, axis=1)) <= EXACT
        if how == "squares" or not few:
            return np.asarray(constant + normal * np.sqrt(sigma**2 + 0.5 * np.sum(amplitudes**2, axis=0)))
        each_axis = [level(s, tuple(a[a > 0.0]), self.level) for s, a in zip(sigma, amplitudes.T, strict=True)]
        return np.asarray(constant + np.array(each_axis))

    def largest(self) -> float:
        """The root of the largest eigenvalue of the covariance of absolute random errors of all axes together."""
        return float(np.sqrt(np.linalg.eigvalsh(self.covariance)[-1]))

    def table(self) -> str:
        """A block for each axis: rows of sources, RMS by measure, and the sums."""
        lines = [self.title] if self.title else []
        lines.append(
            f"windows of {self.window:g} s, {self.apart:g} s apart; RMS by source, in {self.unit or 'its unit'}; sums "
            f"for {100.0 * self.level:g} % of the time"
        )
        for axis, name in enumerate(self.of):
            lines += ["", f"{name:28}" + "".join(f"{word:>12}" for word in MEASURES)]
            for part in self.parts:
                sizes = [part.size(word)[axis] for word in MEASURES]
                at = "" if part.omega is None else f"  APE at {part.omega[0, axis]:.6g} rad/s"
                lines.append(f"{part.source:28}" + "".join(f"{value:12.4g}" for value in sizes) + at)
            for how in SUMS:
                sums = [self.total(word, how)[axis] for word in MEASURES]
                lines.append(f"{'sum, ' + how:28}" + "".join(f"{value:12.4g}" for value in sums))
        if len(self.of) > 1:
            lines += ["", f"noise of all axes together, along the worst direction: APE {self.largest():.4g} RMS"]
        return "\n".join(lines)

    def beside(self, required: float, largest: Floats | None = None) -> str:
        """A line that says whether the sums, or ``largest`` (5, p) in their place, keep what is required."""
        sums = self._sums() if largest is None else largest
        over = [
            f"{word} of {name} {size:.4g}, {size / required:.3g} times"
            for word, row in zip(MEASURES, sums, strict=True)
            for name, size in zip(self.of, row, strict=True)
            if not size <= required
        ]
        said = f"exceeded by {'; '.join(over)}" if over else "kept by all measures"
        return f"required {required:g} {self.unit}, windows of {self.window:g} s: {said}"

    def plot(self, required: float | None = None, largest: Floats | None = None) -> "Figure":
        """The sums by measure and axis, and what is required, in the unit of the errors.

        largest (5, p) : sums by measure that are marked beside them, as the worst ones.
        """
        return plot_budgets([self], required, [largest])

    def _sums(self) -> Floats:
        return np.array([self.total(word) for word in MEASURES])


def plot_budgets(
    budgets: Sequence[PointingBudget], required: float | None, largest: Sequence[Floats | None]
) -> "Figure":
    """One panel for the window of each budget; the arguments as of ``PointingBudget.plot``."""
    from matplotlib.figure import Figure

    from femb.pictures.drawing import INK, coloured, listed, styled, titled

    figure = Figure(figsize=(9.5, 1.5 + 3.5 * len(budgets)), layout="constrained")
    panels = figure.subplots(len(budgets), sharex=True, squeeze=False)[:, 0]
    titled(figure, budgets[0].title, "pointing budget")
    for axes, budget, worst in zip(panels, budgets, largest, strict=True):
        coloured(axes)
        width = 0.8 / len(budget.of)
        for k, (name, values) in enumerate(zip(budget.of, budget._sums().T, strict=True)):
            at = np.arange(len(MEASURES)) + (k - 0.5 * (len(budget.of) - 1)) * width
            axes.bar(at, values, width, label=name)
            if worst is not None:
                axes.plot(at, worst[:, k], "k_", ms=12.0, label=None if k else "worst found")
        if required is not None:
            axes.axhline(required, color=INK, lw=1.4, ls="--", label="required")
        axes.set_xticks(range(len(MEASURES)), MEASURES)
        axes.set_yscale("log")
        axes.set_ylabel(f"error for {100.0 * budget.level:g} % of the time ({budget.unit})")
        axes.set_title(f"windows of {budget.window:g} s, {budget.apart:g} s apart", fontsize=9)
        styled(axes)
    listed(figure, panels)
    return figure


def level(sigma: float, amplitudes: Sequence[float], probability: float = LEVEL) -> float:
    """The size that a normal error of deviation sigma and sinusoids of random phases do not exceed with a probability.

    Parameters:
        sigma: standard deviation.
        amplitudes: of up to three sinusoids.
        probability: that the size of their sum is below the level.
    """
    from scipy.optimize import brentq

    most = float(np.sum(amplitudes))
    if sigma <= 0.0 and not most:
        return 0.0
    # a small deviation in place of none, for a smooth distribution
    sigma = max(sigma, 1e-3 * most)
    count = PHASES if sigma > 0.05 * most else 40 * PHASES if len(amplitudes) == 1 else 4 * PHASES
    offsets = np.zeros(1)
    for amplitude in amplitudes:
        sines = amplitude * np.sin(np.pi * (np.arange(count) + 0.5) / count - 0.5 * np.pi)
        offsets = (offsets[:, None] + sines).ravel()

    def below(x: float) -> float:
        return float(np.mean(ndtr((x - offsets) / sigma) - ndtr((-x - offsets) / sigma))) - probability

    return float(brentq(below, 0.0, most + 10.0 * sigma, xtol=1e-14 * (most + sigma), rtol=1e-13))


@one_blas_thread()
def pointing_budget(
    of_loop: "Loop | Given",
    of: str | Sequence[str],
    sources: Iterable[Source] | Mapping[str, Mapping[str, Any]] = (),
    window: float = 1.0,
    apart: float | None = None,
    level: float = LEVEL,
) -> PointingBudget:
    """The pointing budget of a loop in closed form; of sampled laws exactly, but harmonics by their main part.

    Parameters:
        of_loop: of ``femb.loop``, with the inputs and outputs that the budget names; or a model or a case, of whose
            sensors noise and bias are sources, too.
        of: outputs of the plant that are the errors, as "bodies.hub.turn.x", or a vector by the name of its components.
        sources: femb.NoiseSource, HarmonicSource, PulseSource, ConstantSource, or tables by name with their kind.
        window: s, the length of windows.
        apart: s, between the starts of two windows, by default the length.
        level: part of the time for which the sums hold.

    Raises:
        ModelError: unknown names, a loop that is not stable, sources that a sampled loop has no closed form of, or
            under which the errors grow without bound.
    """
    listed = listed_sources(sources)
    asked = [of] if isinstance(of, str) else list(of)
    if not isinstance(of_loop, Loop):
        model, start = given(of_loop, None)
        of_loop = loop(model, inputs=acted_on(listed, asked), outputs=asked, start=start)
        own = model if isinstance(model, Model) else model.model
        listed = [*sensor_sources(own, of_loop), *listed]
        for text in _coarse(own, of_loop):
            warnings.warn(text, FembWarning, stacklevel=2)
    plant = of_loop.plant
    pairs = [(name, [name] if name in plant.outputs else _components(name, plant.outputs)) for name in asked]
    names = tuple(x for _, found in pairs for x in found)
    if not listed:
        raise ModelError("pointing: there are no sources: give at least one, or sensors with noise")
    made = _Errors(of_loop, names, tuple(x for each in listed for x in each.inputs if x not in names))
    apart = window if apart is None else apart
    for word, value in (("window", window), ("apart", apart)):
        if problem := number_problem(value):
            raise ModelError(f"pointing: {word}: {problem}, in s")
    parts, covariance = [], np.zeros((len(names), len(names)))
    for source in listed:
        try:
            part, more = made.part(source, window, apart)
        except UnboundedError as error:
            raise UnboundedError(
                *(Problem(("sources", source.name), each.message) for each in error.problems)
            ) from error
        parts.append(part)
        covariance = covariance + more
    unit = plant.units.get(names[0], "")
    return PointingBudget(names, unit, window, apart, tuple(parts), covariance, level, plant.title)


def listed_sources(given: Iterable[Source] | Mapping[str, Mapping[str, Any]]) -> list[Source]:
    """Sources, or those of tables by name. Raises ModelError: bad tables."""
    named = given.items() if isinstance(given, Mapping) else ((None, each) for each in given)
    return [each if isinstance(each, Source) else _source(name, each) for name, each in named]


def _source(name: str | None, table: object) -> Source:
    """The source of a table by name. Raises ModelError: another form, or bad keys."""
    if name is None or not isinstance(table, Mapping):
        path = ("sources",) if name is None else ("sources", name)
        raise ModelError.at(path, f"got {shown(table)}, wanted tables by name, as [sources.NAME] with their kind")
    return read_source(name, dict(table))


def acted_on(sources: Iterable[Source], of: Sequence[str]) -> list[str]:
    """The inputs of the plant that sources act on: neither errors of readings, nor the errors of the budget."""
    names = dict.fromkeys(x for each in sources for x in each.inputs if not x.endswith(" error"))
    return [x for x in names if x not in of and x.rpartition(".")[0] not in of]


def sensor_sources(model: Model, of: Loop) -> list[Source]:
    """Noise, bias and quanta of the sampled sensors of a model that laws of its loop read, as sources.

    The walk of a bias, as of gyros, is none of them.
    """
    found = list[Source]()
    for law, sensor in _sensors(model, of):
        inputs, width = tuple(f"{x} error" for x in law.outputs), len(law.outputs)
        errors = {
            ("noise", "bias"): sensor.sample_errors(width, law.period),
            ("quantum", "quantum, mean"): sensor.quantum_errors(width),
        }
        for (random, constant), (covariance, mean) in errors.items():
            if np.any(covariance):
                found.append(NoiseSource(name=f"sensors.{law.name} {random}", inputs=inputs, deviation=covariance))
            if np.any(mean):
                found.append(ConstantSource(name=f"sensors.{law.name} {constant}", inputs=inputs, value=mean))
    return found


def _sensors(model: Model, of: Loop) -> Iterator[tuple[LinearLaw, Any]]:
    """The sampled sensors among the laws of a loop, with their items."""
    for law in of.laws:
        sensor = model.sensors.get(law.name)
        if sensor is not None and law.period and all(x.startswith(f"sensors.{law.name}.") for x in law.outputs):
            yield law, sensor


def _coarse(model: Model, of: Loop) -> Iterator[str]:
    """Warnings of sensors whose noise is too small for their quantum to be white noise."""
    for law, sensor in _sensors(model, of):
        covariance, _ = sensor.sample_errors(len(law.outputs), law.period)
        if np.min(np.diag(covariance)) < (DITHER * (sensor.quantum or 0.0)) ** 2:
            yield (
                f"sensors.{sensor.name}: its noise is below a quarter of its quantum, which the budget takes for white "
                "noise: readings may stick, and the loop move in a cycle, unless they move by as much from one sample "
                "to the next; compare with a run"
            )


def _components(name: str, known: Sequence[str]) -> list[str]:
    found = [each for each in known if each.startswith(f"{name}.")]
    if not found:
        raise ModelError(f"pointing: the loop has no output {name!r}; give it in outputs= of femb.loop")
    return found


class _Errors:
    """The errors of a loop by source. names : of the errors. inputs : of all sources."""

    def __init__(self, loop: Loop, names: tuple[str, ...], inputs: tuple[str, ...]) -> None:
        self.names = names
        added = [x for x in inputs if not x.endswith(" error")]
        set_ = [x for law in loop.laws for x in law.outputs if x in loop.plant.inputs]
        read = [x for law in loop.laws for x in law.inputs if x in loop.plant.outputs]
        plant = part_of(loop.plant, list(dict.fromkeys([*set_, *added])), list(dict.fromkeys([*read, *names])))
        self.loop = Loop(plant, loop.laws)
        poles = self.loop.poles()
        if not self.loop.stable:
            slowest = poles[np.argmax(poles.real)]
            raise ModelError(f"pointing: the loop is not stable: the pole {slowest:.4g} 1/s does not decay")
        self.poles = poles
        self.sampled = any(law.period is not None for law in loop.laws)

    def closed(self, inputs: Sequence[str]) -> StateSpace:
        """The closed loop from inputs to the errors, without what is conserved and unseen."""
        return without_conserved(self.loop.closed(tuple(inputs), self.names), in_modes=True)

    def part(self, source: Source, window: float, apart: float) -> tuple[ErrorPart, Floats]:
        """The errors of a source, and their covariance. Raises ModelError."""
        p = len(self.names)
        nothing = np.zeros((len(MEASURES), p))
        if isinstance(source, NoiseSource):
            covariances = self._windows(self._noise(source), window, apart)
            return ErrorPart(source.name, np.zeros(p), _diagonals(covariances), nothing), covariances[0]
        if isinstance(source, PulseSource):
            return self._pulses(source, window, apart)
        if isinstance(source, HarmonicSource):
            amplitude, omega = self._worst(source, window, apart)
            return ErrorPart(source.name, np.zeros(p), nothing, amplitude, omega), np.zeros((p, p))
        assert isinstance(source, ConstantSource)
        values = source.by_input(source.value).real
        if set(source.inputs) <= set(self.names):
            constant = np.zeros(p)
            constant[[self.names.index(x) for x in source.inputs]] = values
        else:
            constant = self._static(source.inputs) @ values
        variance = nothing.copy()
        if source.differs:
            variance[4] = 2.0 * constant**2
        return ErrorPart(source.name, constant, variance, nothing), np.zeros((p, p))

    def _noise(self, source: NoiseSource) -> ErrorMotion:
        errors = [x.endswith(" error") for x in source.inputs]
        if not self.sampled:
            if source.density is None:
                raise ModelError.at(("sources", source.name, "deviation"), "is of samples: give density for this loop")
            return continuous_errors(self.closed(source.inputs), source.covariance)
        if all(errors) and source.density is None:
            read = tuple(x.removesuffix(" error") for x in source.inputs)
            return sampled_errors(self.loop, self.names, read, source.covariance)
        if not any(errors) and source.deviation is None:
            return sampled_errors(self.loop, self.names, (), np.zeros((0, 0)), source.inputs, source.covariance)
        raise ModelError.at(
            ("sources", source.name),
            "noise of a sampled loop has a deviation where laws read, and a density at inputs of the plant: give one "
            "source for each",
        )

    def _windows(self, motion: ErrorMotion, window: float, apart: float) -> list[Floats]:
        """Covariances (p, p) by measure."""
        found = motion.window(window, apart)
        return [found.absolute, found.mean, found.relative, found.drift, 2.0 * found.mean]

    def _pulses(self, source: PulseSource, window: float, apart: float) -> tuple[ErrorPart, Floats]:
        """Campbell's theorem: exact variance; windows as of short pulses."""
        size = source.by_input(source.size).real
        density = source.rate * source.length**2 * np.outer(size, size)
        impulse = NoiseSource(name=source.name, inputs=source.inputs, density=density)
        covariances = self._windows(self._noise(impulse), window, apart)
        if not self.sampled:
            factor = self._campbell(source, size) / np.where(covariances[0] != 0.0, covariances[0], 1.0)
            covariances = [each * factor for each in covariances]
        mean = self._static(source.inputs) @ size * source.rate * source.length
        p = len(self.names)
        return ErrorPart(source.name, mean, _diagonals(covariances), np.zeros((len(MEASURES), p))), covariances[0]

    def _campbell(self, source: PulseSource, size: Floats) -> Floats:
        """(p, p) rate times the integral of products of the responses to one pulse."""
        space = self.closed(source.inputs)
        A, B, C = space.A, space.B @ size, space.C
        n = len(A)
        whole = np.zeros((n + 1, n + 1))
        whole[:n, :n], whole[:n, n] = A, B
        F, _ = step(whole, np.zeros_like(whole), source.length)
        after = F[:n, n]
        X = gramian(A, after[:, None], None)
        # during it, as (x, u) from (0, 1)
        points, weights = np.polynomial.legendre.leggauss(16)
        times = 0.5 * source.length * (points + 1.0)
        states = [step(whole, np.zeros_like(whole), float(t))[0][:n, n] for t in times]
        during = sum(0.5 * source.length * w * np.outer(x, x) for w, x in zip(weights, states, strict=True))
        return np.asarray(source.rate * C @ (X + during) @ C.T)

    def _static(self, inputs: Sequence[str]) -> Floats:
        space = self.closed(inputs)
        check_decay(space)
        A = space.A if space.dt is None else space.A - np.eye(len(space.A))
        return np.asarray(space.D - space.C @ np.linalg.solve(A, space.B))

    @cached_property
    def _held(self) -> Fundamental:
        """The responses of the plant with its continuous laws, under the sampled ones."""
        laws = self.loop.laws
        own = without_conserved(self.loop.plant, in_modes=True)
        plant = with_continuous(own, [law for law in laws if law.period is None])
        rows = [plant.index("outputs", name) for name in self.names]
        return Fundamental(plant, [law for law in laws if law.period is not None], rows)

    def _response(self, source: HarmonicSource, omega: float) -> Complexes:
        """(p,) the amplitude of the errors at a frequency; of sampled loops of their part at this frequency."""
        if not self.sampled:
            return np.asarray(self._space.transfer(1j * omega) @ source.at(omega))
        if any(x.endswith(" error") for x in source.inputs):
            raise ModelError.at(("sources", source.name, "inputs"), "of a sampled loop wanted inputs of the plant")
        plant = self._held.plant
        entering = np.zeros(len(plant.inputs), dtype=complex)
        np.add.at(entering, [plant.index("inputs", name) for name in source.inputs], source.at(omega))
        return self._held(omega, entering)

    def _resonances(self, high: float) -> Floats:
        """Frequencies (rad/s) up to ``high`` at which the errors may be large: of poles of the loop; where laws are
        sampled also of the plant, and of thin resonances as samples fold them."""
        found = [np.abs(self.poles)]
        periods = {law.period for law in self.loop.laws if law.period is not None}
        if periods:
            found.append(np.abs(self.loop.plant.eigenvalues()))
        thin = np.abs(self.poles[np.abs(self.poles.real) < THIN * np.abs(self.poles)].imag)
        for period in periods:
            folds = 2.0 * np.pi / period * np.arange(1.0, min(high * period / (2.0 * np.pi) + 1.0, FOLDS))[:, None]
            found += [np.ravel(folds + thin), np.ravel(folds - thin)]
        return np.concatenate(found)

    def _worst(self, source: HarmonicSource, window: float, apart: float) -> tuple[Floats, Floats]:
        """Amplitudes (5, p) by measure, each at the frequency of the range where it is largest, and these, rad/s."""
        from scipy.optimize import minimize_scalar

        low, high = source.range
        if not self.sampled:
            self._space = self.closed(source.inputs)

        def sizes(omega: float) -> Floats:
            shares = _shares(omega, window, apart)
            return np.outer(shares, np.abs(self._response(source, omega)))

        if low == high:
            amplitudes = sizes(low)
            return amplitudes, np.full(amplitudes.shape, low)
        peaks = self._resonances(high)
        across, lobes = np.geomspace(low, high, ACROSS), _lobes(low, peaks, (window, apart))
        grid: Floats = np.unique(np.concatenate([[low, high], across, peaks, *lobes]))
        grid = grid[(grid >= low) & (grid <= high)]
        values = np.array([sizes(float(w)) for w in grid])
        best = np.argmax(values, axis=0)
        amplitudes, omegas = np.max(values, axis=0), grid[best]
        for place in np.ndindex(best.shape):
            ends = grid[max(best[place] - 1, 0)], grid[min(best[place] + 1, len(grid) - 1)]
            found = minimize_scalar(
                lambda w, at=place: -sizes(w)[at], bounds=ends, method="bounded", options={"xatol": 1e-12 * high}
            )
            if -found.fun > amplitudes[place]:
                amplitudes[place], omegas[place] = -found.fun, found.x
        return amplitudes, omegas


def _shares(omega: float, window: float, apart: float) -> Floats:
    """(5,) amplitudes of the measures of an error of amplitude one and frequency omega (rad/s)."""
    part = float(np.sinc(omega * window / (2.0 * np.pi)))
    drift = 2.0 * abs(np.sin(0.5 * omega * apart) * part)
    return np.array([1.0, abs(part), np.sqrt(max(1.0 - part**2, 0.0)), drift, np.sqrt(2.0) * abs(part)])


def _lobes(low: float, peaks: Floats, lengths: Sequence[float]) -> list[Floats]:
    """Frequencies (rad/s) between the zeros of what windows leave of an error: the first above ``low``, and those
    beside each of some peaks."""
    found = []
    for length in lengths:
        first = np.floor(0.5 * low * length / np.pi) + np.arange(LOBES)
        beside = np.floor(0.5 * peaks * length / np.pi)[:, None] + [-1.0, 0.0, 1.0]
        found += [2.0 * np.pi / length * (each + 0.5) for each in (first, np.ravel(beside))]
    return found


def _diagonals(covariances: Sequence[Floats]) -> Floats:
    return np.array([np.maximum(np.diag(each), 0.0) for each in covariances])


def read_budget(path: str | Path) -> tuple[dict[str, Any], list[Source]]:
    """The keys of a budget file (TOML) beside its sources, and these. Raises ModelError: bad keys or sources."""
    from femb.case.schema import converted
    from femb.case.text import parse_toml, text_of

    path = Path(path)
    document = parse_toml(path, text_of(path, "a budget file (TOML)"))
    known = {"of": None, "window": ("s",), "apart": ("s",), "level": ("",), "required": ()}
    sources = document.pop("sources", {})
    for word, value in document.items():
        if word not in known:
            raise ModelError.at((word,), f"is unknown; there are: {', '.join(known)}, sources")
        if (units := known[word]) is None:
            continue
        try:
            document[word] = converted(value, units)
        except ModelError as error:
            raise ModelError.at((word,), str(error)) from error
        if as_numbers(document[word]) is None:
            raise ModelError.at((word,), f"got {shown(value)}, wanted a number, or a list of numbers")
    return document, listed_sources(sources)
