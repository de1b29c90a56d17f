"""Worst cases of a control loop over the ranges of parameters: found by search, proved by bounds over all frequencies.

Source: docs/theory/robust.md, sections 2 to 4.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from femb.base.errors import ModelError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.base.values import numbered, shown
from femb.linear.loop import STABLE, Loop
from femb.linear.loop_derivatives import Opened
from femb.linear.margins import Margins, OpenedLoop, margins_of
from femb.linear.norms import peak_gain
from femb.linear.state_space import StateSpace
from femb.numerics.threads import one_blas_thread
from femb.robust.bounds import SLACK, Plant, bound, recentred
from femb.robust.decoupling import parts_of
from femb.robust.hold import held_laws
from femb.robust.uncertain import Uncertain, uncertain
from femb.robust.unmodelled import CORNER, at_point, disturbed, error_at
from femb.study.box import largest, points_of
from femb.study.linear_outputs import DelayMargin, DiskMargin, GainMargin, LoopOutput, PhaseMargin, SensitivityPeak
from femb.study.study import Build, Study

OUTPUTS: tuple[LoopOutput, ...] = tuple(
    kind(name=kind.kind) for kind in (DiskMargin, SensitivityPeak, PhaseMargin, DelayMargin, GainMargin)
)
RADIUS = "stability_radius"
QUANTITIES = (*(each.kind for each in OUTPUTS), RADIUS)
# By the nearest one, levels of which a proof with a time takes one after another, the last first.
LEVELS = 1.0, 1.1, 1.3, 2.0, 4.0
# Semidefinite programs of one proof.
FREQUENCIES = 1200
# What is taken from S so that its peak is that of a quantity. Evaluations, a parameter, of the search for others.
LESS, FEW = {"disk_margin": 0.5, "sensitivity_peak": 0.0}, 12
# A proof whose level is above what was found by more than this halves the box, up to so many parts.
GAP, BOXES = 1.03, 16
# Sizes of the box, by the given one, up to which instability is looked for, and steps.
LARGEST, STEP = 10.0, 0.25
# Parts of the size that was found, which are proved one after another until one is.
RADII = (0.99, 0.9, 0.6)
# Sampled loops that are kept for all channels: those of the first points.
KEPT = 40
# Repetitions of all parameters of a sampled loop, whose holds and delays have many states, of which a proof is tried.
REPEATED = 8
# A peak of the sensitivity that stands for any finite one.
FINITE = 1000.0


@dataclass(frozen=True, eq=False)
class WorstCase:
    """The worst value of a quantity over the ranges.

    quantity : its kind, as in outputs of studies; "stability_radius" is the factor of all ranges at which a loop is
    not stable. channel : where the loop is opened, else "". nominal : value at the nominal parameters. found : the
    worst that a search found, at ``parameters`` and the frequency omega (rad/s).
    proved : what no parameters of the ranges are worse than, at any frequency; None where there is no proof, as of
    sampled laws. continuous : of these the same with continuous ones in their place, which proves nothing of them.
    ended : whether the time of a proof ended before it was as near to what was found as it may be. phases : degrees at
    omega, of unmodelled dynamics by name, whose size is one.
    """

    quantity: str
    channel: str
    unit: str
    nominal: float
    found: float
    parameters: Mapping[str, float]
    omega: float
    proved: float | None = None
    continuous: float | None = None
    ended: bool = False
    phases: Mapping[str, float] = field(default_factory=dict)

    def line(self) -> str:
        """The numbers in a row."""
        nominal = "" if np.isnan(self.nominal) else f"{self.nominal:.6g}"
        bound = self.proved if self.continuous is None else self.continuous
        proved = "-" if bound is None else f"{bound:.6g}{'*' if self.ended else ''}"
        name = self.quantity.replace("_", " ") + (f", {self.unit}" if self.unit else "")
        parts = [f"{key} = {value:.6g}" for key, value in self.parameters.items()]
        at = ", ".join([*parts, *(f"{key} at {value:.0f} deg" for key, value in self.phases.items())])
        omega = f"{self.omega:.6g}" if np.isfinite(self.omega) else "-"
        return f"{name:22}{nominal:>12}{self.found:12.6g}{proved:>12}{omega:>12}  {at}"


@dataclass(frozen=True, eq=False)
class WorstCases(Tabled):
    """The worst cases of a loop over the ranges of an uncertain model.

    growth : the largest real part (1/s) of a pole that was found, without unmodelled dynamics. boxes, frequencies : of
    the proofs. why : there are none; else "". held : of proofs of continuous laws in place of sampled ones, the largest
    relative difference of peaks and disk margins from those of the samples, with the same parameters.
    """

    of: Uncertain
    growth: float
    cases: tuple[WorstCase, ...]
    boxes: int = 0
    frequencies: int = 0
    why: str = ""
    held: float | None = None

    def __getitem__(self, key: tuple[str, str]) -> WorstCase:
        """The worst case of a quantity at a channel. Raises ModelError: there is none."""
        for each in self.cases:
            if (each.quantity, each.channel) == key:
                return each
        raise ModelError(f"worst: no {key[0]!r} at {key[1]!r}")

    def table(self) -> str:
        """A block for each channel: nominal, found and proved values, where these are."""
        lines = [self.of.table(), "", f"largest growth of a pole that was found: {self.growth:.6g} 1/s"]
        bound = "proved" if self.held is None else "continuous"
        lines.append(
            f"proved: not, {self.why}"
            if self.why
            else f"{bound}: for all frequencies, in {numbered(self.boxes, 'part')} of the ranges, by the scalings of "
            f"{numbered(self.frequencies, 'frequency')}"
        )
        if self.held is not None:
            lines.append(
                "not proved of the samples, but of continuous laws, with hold and delay as quotients of polynomials, "
                f"in their place: with the same parameters these differ by {100.0 * self.held:.2g} %"
            )
        if any(each.ended for each in self.cases):
            lines.append("*: as far as the proof came in its time, - where it came to none")
        for channel in dict.fromkeys(each.channel for each in self.cases):
            lines += ["", f"{channel}: opened here, with the others closed" if channel else "factor of all ranges"]
            lines.append(f"{'':22}{'nominal':>12}{'found':>12}{bound:>12}{'at rad/s':>12}")
            lines += [each.line() for each in self.cases if each.channel == channel]
        return "\n".join(lines)


@one_blas_thread()
def worst(
    case: Uncertain | Study | Build | str | Path,
    by: Sequence[str] | Mapping[str, Any] | str | None = None,
    *,
    channels: Iterable[str] | None = None,
    quantities: Sequence[str] | None = None,
    prove: bool = True,
    proof_time: float | None = None,
    seed: int = 1,
    overrides: Iterable[str] = (),
    **words: Any,
) -> WorstCases:
    """The worst margins of a loop, its worst peak of the sensitivity and its stability radius over ranges.

    Disk margins, peaks and the radius of continuous loops are proved, too, with Clarabel (pip install 'femb[robust]').
    Of sampled laws of one period those of continuous ones are proved that hold and delay alike.

    Parameters:
        case: as in ``femb.uncertain``, or what that gave.
        by: parameters, as in ``femb.uncertain``.
        channels: names of those at which the loop is opened, by default all.
        quantities: kinds of ``WorstCase``, as "disk_margin", by default all.
        prove: whether to prove what can be proved.
        proof_time: the longest time (s) of each proof, which then begins at far levels and keeps the nearest.
        seed: of the random points of the search.
        overrides: entries to replace, as in ``load_case``.
        words: others of ``femb.uncertain``.

    Raises:
        ModelError: as in ``femb.uncertain``; a model without controllers, a nominal loop that is not stable, an unknown
            quantity.
    """
    wanted = QUANTITIES if quantities is None else tuple(quantities)
    if wrong := [name for name in wanted if name not in QUANTITIES]:
        raise ModelError(f"worst: no quantity {wrong[0]!r}; there are: {', '.join(QUANTITIES)}")
    if proof_time is not None and not proof_time > 0.0:
        raise ModelError(f"worst: proof_time: got {shown(proof_time)}, must be above 0 s, or None for no end")
    of = case if isinstance(case, Uncertain) else uncertain(case, by, overrides=overrides, **words)
    if not of.laws:
        raise ModelError("worst: the model has no controllers that set commands: add one, or give laws")
    nominal = of.loop({})
    if not nominal.stable:
        raise ModelError(f"worst: the nominal loop is not stable: a pole grows by {nominal.growth():.4g} 1/s")
    names = of.channels if channels is None else tuple(channels)
    if not names:
        raise ModelError(f"worst: channels: got none; there are: {', '.join(of.channels)}")
    search = _Search(of, names, seed)
    growth, cases = search.growth(), search.cases(wanted)
    proving, why = search, "" if prove else "as asked"
    if search.sampled and prove:
        proving, why = _with_continuous_laws(search, seed)
        growth = growth if why else max(growth, proving.growth())
    proofs = _Proofs(proving, why or _no_proof(of, growth, cases), proof_time, in_place=proving is not search)
    if RADIUS in wanted and not search.sampled:
        cases.append(proofs.radius())
    cases = [proofs.proved(each) for each in cases]
    return WorstCases(of, growth, tuple(cases), proofs.boxes, proofs.frequencies, proofs.why, proofs.held)


def _with_continuous_laws(search: "_Search", seed: int) -> tuple["_Search", str]:
    """The search of the loop with continuous laws in place of sampled ones; or the given one, and why there is none."""
    of, repeated = search.of, sum(search.of.sizes)
    if repeated > REPEATED:
        why = f"the loop has sampled laws, and its parameters repeat {repeated} times, above {REPEATED}: take fewer"
        return search, why
    try:
        return _Search(replace(of, laws=held_laws(of.laws, of.plant.inputs)), tuple(search.openings), seed), ""
    except ModelError as error:
        return search, f"no continuous laws stand for the sampled ones: {error}"


def _no_proof(of: Uncertain, growth: float, cases: Iterable[WorstCase]) -> str:
    """Why nothing can be proved; "" where it can. growth : the largest real part of a pole, 1/s."""
    if growth >= -STABLE or any(
        each.found == (np.inf if each.quantity == "sensitivity_peak" else 0.0) for each in cases
    ):
        return "the loop is not stable for all parameters" + (" and errors" if of.blocks else "")
    return "Clarabel is missing: pip install 'femb[robust]'" if find_spec("clarabel") is None else ""


class _Search:
    """The loop opened at each channel, and the points of the ranges at which a search begins."""

    def __init__(self, of: Uncertain, names: Sequence[str], seed: int) -> None:
        self.of, self.real = of, len(of.ranges)
        self.sampled = any(law.period is not None for law in of.laws)
        self.begun = points_of(len(of.structure), seed)
        self.begun[:, self.real :] *= CORNER
        loops: dict[bytes, Loop] = {}
        self.openings = {name: _Opening(of, name, loops) for name in names}
        if names and self.first.nominal is None:
            raise ModelError(self.first.undamped())

    @property
    def first(self) -> "_Opening":
        """The loop opened at its first channel, which has the poles of all."""
        return next(iter(self.openings.values()))

    def growth(self) -> float:
        """The largest real part (1/s) of a pole that is found, without unmodelled dynamics."""
        alone = self.begun[:, : self.real]
        # a sampled loop is made anew at each point
        few = {"best": 1, "evaluations": FEW} if self.sampled else {}
        return largest(self.first.growth, alone, [self.first.growth(d) for d in alone], **few)[1]

    def cases(self, quantities: Sequence[str]) -> list[WorstCase]:
        """The worst cases that are found, of some quantities at each channel."""
        return [case for each in self.openings.values() for case in _searched(each, self.begun, quantities)]


class _Opening:
    """The loop opened at a channel, at all parameters. loops : sampled ones of all channels, by their parameters."""

    def __init__(self, of: Uncertain, channel: str, loops: dict[bytes, Loop]) -> None:
        self.of, self.channel, self.omega, self.loops = of, channel, 1.0, loops
        self.sampled = any(law.period is not None for law in of.laws)
        if not self.sampled:
            self.closed = of.closed(channel)
        # errors are given by their phases at the peak of the sensitivity
        self.nominal = self.margins(of.normal({}))
        if self.nominal is not None and 0.0 < self.nominal[1].at < np.inf:
            self.omega = self.nominal[1].at

    def gain(self, less: float) -> StateSpace:
        """S less a number, as the last output by the last input."""
        D = self.closed.D.copy()
        D[-1, -1] -= less
        return replace(self.closed, D=D)

    def at(self, d: Floats, less: float = 0.0, size: float = 1.0) -> StateSpace:
        """S less a number at d (k,) times a size: of parameters, and coordinates of errors, without which there are
        none."""
        return at_point(self.gain(less), self.of.structure, len(self.of.ranges), d, self.omega, size)

    def loop(self, d: Floats) -> Loop:
        """The loop, also of sampled laws."""
        real = len(self.of.ranges)
        key = np.append(d, self.omega if self.of.blocks else 0.0).tobytes()
        if key in self.loops:
            return self.loops[key]
        made = Loop(disturbed(self.of.at(d[:real]), self.of.blocks, d[real:], self.omega), self.of.laws)
        if len(self.loops) < KEPT:
            self.loops[key] = made
        return made

    def peak(self, d: Floats, less: float) -> float:
        """The largest size of S less a number."""
        return peak_gain(self.at(d, less)).gain

    def growth(self, d: Floats, size: float = 1.0) -> float:
        """The largest real part of a pole, 1/s."""
        if self.sampled:
            return self.loop(d).growth()
        try:
            return float(np.max(np.linalg.eigvals(self.at(d, size=size).A).real, initial=-np.inf))
        except np.linalg.LinAlgError:
            return np.inf

    def undamped(self) -> str:
        """Words for a nominal loop without margins, since a motion stays as it is."""
        poles = np.linalg.eigvals(self.at(self.of.normal({})).A)
        pole = poles[np.argmax(poles.real)]
        still = "worst: the nominal loop has a motion that does not decay, which leaves no margins:"
        if abs(pole) < STABLE:
            return f"{still} a state that stays; leave it out of the laws"
        return (
            f"{still} of {abs(pole.imag):.6g} rad/s, {pole.real:.2g} 1/s; damp it, as by the damping of a section or "
            "more modes of modal damping, or keep fewer modes"
        )

    def phases(self, d: Floats, omega: float) -> dict[str, float]:
        """The phases of errors at a frequency (rad/s), in degrees from -180 to 180, by name."""
        found: dict[str, float] = {}
        if not np.isfinite(omega):
            return found
        for block, t in zip(self.of.blocks, d[len(self.of.ranges) :], strict=False):
            sign, a = error_at(float(t), self.omega)
            found[block.name] = float(np.angle(sign * (1j * omega - a) / (1j * omega + a), deg=True))
        return found

    def margins(self, d: Floats) -> tuple[Opened, Margins] | None:
        """The opened loop and its margins; None where the closed one is not stable."""
        if self.sampled:
            loop = self.loop(d)
            if not loop.stable:
                return None
            opened: Opened = loop.opened(self.channel)
        else:
            # with a = S e: 1 + L = 1/S, so that a is opened by e = a + L a
            at = self.at(d)
            if np.max(np.linalg.eigvals(at.A).real, initial=-np.inf) >= -STABLE:
                return None
            through = 1.0 / at.D[-1, -1]
            B, C = at.B[:, -1:] * through, at.C[-1:] * through
            opened = OpenedLoop(at.A - B @ at.C[-1:], B, C, np.array([[1.0 - through]]), None)
        return opened, margins_of(self.channel, opened)


def _searched(at: _Opening, begun: Floats, quantities: Sequence[str]) -> list[WorstCase]:
    """The worst case of quantities at a channel, from points at which the margins are computed once."""
    known, found = [at.margins(d) for d in begun], []
    for output in (each for each in OUTPUTS if each.kind in quantities):
        sign, less = 1.0 if output.unstable else -1.0, LESS.get(output.kind)
        direct = less is not None and not at.sampled

        def value(pair: tuple[Opened, Margins] | None, of: LoopOutput = output, sign: float = sign) -> float:
            return sign * (of.unstable if pair is None else of.of_channel(*pair))

        def objective(d: Floats, value: Any = value, less: float | None = less) -> float:
            found = value(at.margins(d)) if less is None or at.sampled else at.peak(d, less)
            return float(np.clip(found, -1e30, 1e30))

        first = [objective(d) for d in begun] if direct else [value(pair) for pair in known]
        d, worst = largest(objective, begun, first, **({"best": 3} if direct else {"best": 1, "evaluations": FEW}))
        pair = at.margins(d)
        worst = value(pair) if direct else worst
        omega = output.at(*pair)[0] if pair is not None and np.isfinite(worst) else np.nan
        values, phases = at.of.values(d[: len(at.of.ranges)]), at.phases(d, omega)
        numbers = sign * value(at.nominal), sign * worst
        found.append(WorstCase(output.kind, at.channel, output.of_unit, *numbers, values, omega, phases=phases))
    return found


# Proofs.


class _Proof(NamedTuple):
    level: float
    boxes: int
    frequencies: int


class _Proofs:
    """The proofs of worst cases of a loop.

    why : there are none; else "". time : the longest of each, s. held : the largest relative difference of values from
    those of the sampled loop in whose place this one stands, else None.
    """

    def __init__(self, search: _Search, why: str, time: float | None, in_place: bool) -> None:
        self.search, self.why, self.time = search, why, time
        self.boxes = self.frequencies = 0
        self.held = 0.0 if in_place and not why else None
        self.of_channels = set[str]()

    def radius(self) -> WorstCase:
        """The stability radius, found and proved."""
        search = self.search
        found, d = _radius(search.first, search.begun[1:])
        proof, ended = (_Proof(np.inf, 0, 0), False) if self.why else _proved_radius(search.first, found, self.time)
        self.boxes, self.frequencies = max(self.boxes, proof.boxes), self.frequencies + proof.frequencies
        values = search.of.values(found * d[: search.real]) if np.isfinite(found) else {}
        proved = proof.level if np.isfinite(proof.level) else None
        return WorstCase(RADIUS, "", "", np.nan, found, values, np.nan, proved, ended=ended)

    def proved(self, case: WorstCase) -> WorstCase:
        """A case with what is proved of it."""
        if self.why or case.quantity not in LESS:
            return case
        of, opening, less = self.search.of, self.search.openings[case.channel], LESS[case.quantity]
        disk = case.quantity == "disk_margin"
        level = 1.0 / case.found if disk else case.found
        if self.held is not None:
            # errors by their phases at the peak of the nominal sensitivity are not those of the other loop
            d, other = (of.normal({}), case.nominal) if of.blocks else (of.normal(case.parameters), case.found)
            own = opening.peak(d, less)
            level = level if of.blocks else own
            self.held = max(self.held, abs((1.0 / own if disk else own) / other - 1.0))
        prove_level = partial(
            proved_level, opening.gain(less), of.structure, real=self.search.real,
            alone=case.channel not in self.of_channels,
        )  # fmt: skip
        levels = LEVELS[:1] if self.time is None else LEVELS
        proof, ended = _nearest([partial(prove_level, factor * level) for factor in levels], self.time)
        self.boxes, self.frequencies = max(self.boxes, proof.boxes), self.frequencies + proof.frequencies
        if not np.isfinite(proof.level):
            return replace(case, ended=ended)
        self.of_channels.add(case.channel)
        value = 1.0 / proof.level if disk else proof.level
        if self.held is None:
            return replace(case, ended=ended, proved=value)
        return replace(case, ended=ended, continuous=value)


def proved_level(
    space: StateSpace,
    sizes: Sequence[int],
    found: float,
    size: float = 1.0,
    most: int = FREQUENCIES,
    real: int | None = None,
    alone: bool = True,
    until: float = np.inf,
) -> _Proof:
    """A level that no gain from the last inputs to the last outputs exceeds over the box, at any frequency.

    Parameters:
        space: (z, e) by (w, d).
        sizes: repetitions of the parameters.
        found: the largest gain that was found, above which the level should be little.
        size: of the box, by the given one.
        most: frequencies, after which it is given up.
        real: number of the blocks that are real parameters, by default all; later ones are complex, and not halved.
        alone: whether to prove, too, that what has no gain is stable.
        until: of ``monotonic``, after which it is given up.
    """
    real = len(sizes) if real is None else real
    level, boxes, frequencies = SLACK * found, 0, 0
    parts, difference = parts_of(space, sizes, real)
    for plant, own in parts[: None if alone else 1]:
        proof = _of_part(plant, own, level, GAP * found, size, most - frequencies, real, until)
        level, boxes, frequencies = max(level, proof.level), max(boxes, proof.boxes), frequencies + proof.frequencies
        if not np.isfinite(level):
            break
    return _Proof(level * (1.0 + difference), boxes, frequencies)


def _of_part(
    space: StateSpace, sizes: Sequence[int], level: float, stop: float, size: float, most: int, real: int, until: float
) -> _Proof:
    """``proved_level`` of one part. stop : a level above which the box is halved."""
    k, boxes, frequencies = len(sizes), 0, 0
    parts: list[tuple[Floats, Floats, int]] = [(np.zeros(k), np.full(k, size), 0)]
    while parts:
        middle, half, depth = parts.pop()
        boxes += 1
        plant = Plant(recentred(space, sizes, middle, half), sizes, real)
        if np.max(plant.poles.real, initial=-np.inf) >= 0.0:
            return _Proof(np.inf, boxes, frequencies)
        split = real > 0 and boxes + len(parts) < BOXES
        gamma, count = bound(plant, level, most - frequencies, stop if split else np.inf, until)
        frequencies += count
        if np.isfinite(gamma):
            level = max(level, gamma)
            continue
        if not split or frequencies >= most or monotonic() >= until:
            return _Proof(np.inf, boxes, frequencies)
        step = half * (np.arange(k) == depth % real)
        parts += [(middle + 0.5 * side * step, half - 0.5 * step, depth + 1) for side in (-1.0, 1.0)]
    return _Proof(level, boxes, frequencies)


def _radius(of: _Opening, directions: Floats) -> tuple[float, Floats]:
    """The least factor of the box at which a pole does not decay, and its corner or point (k,)."""
    from scipy.optimize import brentq

    real = len(of.of.ranges)

    def normed(d: Floats) -> Floats:
        return np.concatenate([d[:real] / np.max(np.abs(d[:real]), initial=1e-300), d[real:]])

    def crossing(d: Floats) -> float:
        d = normed(d)
        for rho in np.arange(STEP, LARGEST + STEP, STEP):
            if of.growth(d, rho - STEP) >= 0.0:
                return float(rho - STEP)
            if of.growth(d, rho) >= 0.0:
                return float(brentq(partial(of.growth, d), rho - STEP, rho, xtol=1e-12))
        return np.inf

    if of.growth(directions[0], 0.0) >= -STABLE:  # of the middle, as an undamped vibration but for rounding
        return 0.0, directions[0]
    values = np.array([crossing(d) for d in directions])
    if not np.any(np.isfinite(values)):
        return np.inf, directions[0]
    d, value = largest(
        lambda d: -crossing(d) if np.any(d[:real]) or not real else -1e30, directions,
        np.maximum(-values, -1e30).tolist(), 1,
    )  # fmt: skip
    return -value, normed(d)


def _proved_radius(of: _Opening, found: float, proof_time: float | None) -> tuple[_Proof, bool]:
    """The largest of some factors of the box, all below the found one, with which no pole grows, as ``_nearest``."""

    def proof(size: float, until: float) -> _Proof:
        got = proved_level(of.closed, of.of.structure, FINITE, size, FREQUENCIES // 4, len(of.of.ranges), until=until)
        return got._replace(level=size) if np.isfinite(got.level) else got

    return _nearest([partial(proof, part * min(found, LARGEST)) for part in RADII], proof_time)


def _nearest(proofs: Sequence[Callable[..., _Proof]], proof_time: float | None) -> tuple[_Proof, bool]:
    """The first of some proofs that succeeds, or with a time (s) the last before one fails, from the last to the first;
    whether the time ended."""
    until = np.inf if proof_time is None else monotonic() + proof_time
    level, boxes, frequencies = np.inf, 0, 0
    for prove in proofs if proof_time is None else reversed(proofs):
        now = prove(until=until)
        boxes, frequencies = max(boxes, now.boxes), frequencies + now.frequencies
        level = now.level if np.isfinite(now.level) else level
        if np.isfinite(now.level) == (proof_time is None):
            break
    return _Proof(level, boxes, frequencies), monotonic() >= until
