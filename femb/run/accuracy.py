"""Runs to an accuracy: errors of positions over the whole run, relative to the largest way of each body.

What a user asks of a run are positions. Tolerances of strains and of turns of nodes make steps follow vibrations that
no position shows; here errors of positions of bodies and nodes, turns of bodies and amplitudes of modal bodies alone
decide, each relative to how far it moves. That is measured: a rough run, whose errors are relative to the size of the
model, gives the ways. Two more, whose steps have larger errors, give them better and tell how the error of the run
follows those of its steps; the difference of the last from the run itself is the estimate of the error. What an
L-stable step damps is booked as work.

Source: docs/theory/integration.md, section 10.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import TypeAlias

import numpy as np

from femb.base.options import ROUNDING, GivenScales, Run, Tolerances
from femb.base.progress import Reporter
from femb.base.types import ErrorScale, Floats, Ints
from femb.recording.frames import Frames
from femb.run.events import Event
from femb.run.time_loop import RunSummary, integrate
from femb.steppers import make_stepper
from femb.steppers.contract import AcceptedStep, StepperState
from femb.system.system import System

# Errors of steps, relative to the accuracy, of the two runs that tell how the error follows them, and of the run.
TRIED, SMALLEST, LARGEST = (1.0, 0.1), 1e-4, 1.0 / 30.0
# Powers of the errors of steps with which the error of a run falls: at least, as a rule, at most; the part of what is
# wanted that the run is to have.
LEAST_POWER, USUAL_POWER, MOST_POWER, AIM = 0.5, 0.7, 1.0, 0.7
# Error of a step of the rough run, relative to the size of the model.
ROUGH = 1e-3
# Smallest way that counts, relative to the largest one and to the size of the model.
SMALL, STILL = 1e-4, 1e-9
# Instants at which two runs are compared.
INSTANTS = 200

# Of points (P,) in m, of turns (R,) and of amplitudes (A,); with a leading axis, of several states.
Ways: TypeAlias = tuple[Floats, Floats, Floats]


class Measure:
    """The distances of bodies, nodes and amplitudes of a system from their start, and which of them share a way.

    Nodes of a beam or shell share the largest way of these, and so do the amplitudes of a modal body.
    points (P, 3), turns (R, 4), amplitudes (A,) : indices in q. names : of the ways, by number.
    """

    def __init__(self, system: System) -> None:
        layout = system.layout
        self.system, self.length = system, layout.length
        moving, quaternions, internal = layout.numbers.groups[0]
        bodies = {frame: name for name, frame in layout.bodies.items()}
        of_frame = {k: frame.label for k, frame in enumerate(layout.frames)}
        nodes = [(name, beam.stations) for name, beam in layout.beams.items()]
        nodes += [(name, shell.stations) for name, shell in layout.shells.items()]
        for name, stations in nodes:
            of_frame |= {station.frame: name for station in stations if station.frame not in bodies}
        frames = np.flatnonzero(layout.numbers.moving).tolist()
        self.points, self.of_points = moving[:, None] + np.arange(3), _numbered([of_frame[k] for k in frames])
        turning = np.flatnonzero(layout.numbers.turning)
        self.turning = np.isin(turning, list(bodies))
        self.turns = quaternions[self.turning][:, None] + np.arange(4)
        modes = {mode: name for name, body in layout.flexible_bodies.items() for mode in body.modes}
        coordinates = [(k, each) for k, each in enumerate(layout.internal) if not each.quantity.first_order]
        self.free = np.array([k for k, each in coordinates if k in modes or each.quantity.kind != "strain"], dtype=int)
        self.amplitudes = internal[self.free]
        self.of_amplitudes = _numbered([modes.get(k, layout.internal[k].name) for k in self.free.tolist()])
        names = [of_frame[k] for k in frames]
        self.names = [f"position of {name!r}" for name in names]
        self.names += [f"attitude of {bodies[k]!r}" for k in turning[self.turning].tolist()]
        self.names += [layout.internal[k].name for k in self.free.tolist()]

    def distances(self, q: Floats, other: Floats) -> Ways:
        """(k, P), (k, R), (k, A): distances (m) of points, turns as changes of unit quaternions, and changes of
        amplitudes, from k states to others."""
        moved = np.linalg.norm((q - other)[:, self.points], axis=2)
        p, old = q[:, self.turns], np.broadcast_to(other, q.shape)[:, self.turns]
        turned = np.minimum(np.linalg.norm(p - old, axis=2), np.linalg.norm(p + old, axis=2))
        return moved, turned, np.abs((q - other)[:, self.amplitudes])

    def ways(self, q: Floats) -> Ways:
        """(P,), (R,), (A,): the largest distances from the start of states (k, n_q), shared by items; at least a small
        part of the largest."""
        moved, turned, swung = (each.max(axis=0, initial=0.0) for each in self.distances(q, self.system.q0))
        moved, swung = _shared(moved, self.of_points), _shared(swung, self.of_amplitudes)
        far = float(moved.max(initial=STILL * self.length))
        turn = float(turned.max(initial=0.0))
        return (
            np.maximum(moved, SMALL * far),
            np.maximum(turned, SMALL * max(turn, far / self.length)),
            np.maximum(swung, SMALL * float(swung.max(initial=far))),
        )

    def sizes(self) -> Ways:
        """Ways that stand for the size of the model before any is known."""
        of = self.length, 1.0, self.length
        moved, turned, swung = (
            np.full(len(each), size) for each, size in zip(self.ways(self.system.q0[None]), of, strict=True)
        )
        return moved, turned, swung

    def difference(self, one: "Followed", other: "Followed", ways: Ways) -> tuple[float, str, float]:
        """The largest difference of two runs relative to the ways; of what, and when (s)."""
        common = sorted(one.states.keys() & other.states.keys())
        if not common:
            return 0.0, "", 0.0
        errors = self.distances(*(np.array([run.states[k] for k in common]) for run in (one, other)))
        relative = np.hstack([each / way for each, way in zip(errors, ways, strict=True)])
        k, i = np.unravel_index(int(np.argmax(relative)), relative.shape)
        return float(relative[k, i]), self.names[int(i)], float(one.time[common[k]])

    def scales(self, ways: Ways, part: float) -> GivenScales:
        """The scales of errors: ``part`` of the ways; rates but those of first-order states are free."""
        system, layout = self.system, self.system.layout
        (start, size, _, _), (start_v, size_v, _, _) = system.error_scale(part, Tolerances())
        points, turns, amplitudes = ways
        of_turns, of_internal = np.full(len(self.turning), inf), np.full(len(layout.internal), inf)
        of_turns[self.turning], of_internal[self.free] = part * turns, part * amplitudes
        of_q = np.concatenate([part * points, of_turns, of_internal])
        of_states = [layout.internal_tolerances(Tolerances(), part)[1]] if layout.internal else []
        first = [each.quantity.first_order for each in layout.internal]
        of_v = np.concatenate(
            [np.full(len(points) + len(of_turns), inf), *(np.where(first, x, inf) for x in of_states)]
        )
        of_positions: ErrorScale = start, np.abs(size), of_q, 0.0
        return GivenScales(scales=(of_positions, (start_v, size_v, of_v, part)))


def _numbered(names: Sequence[str]) -> Ints:
    """(n,) numbers from 0 that equal names share."""
    numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=int)


def _shared(values: Floats, of: Ints) -> Floats:
    """The largest of the values (n,) of the same number."""
    out = np.zeros(of.max(initial=-1) + 1)
    np.maximum.at(out, of, values)
    return out[of]


@dataclass
class Followed:
    """The states q (n_q,) of a run at some of the instants ``time`` (k,), by their number."""

    time: Floats
    states: dict[int, Floats] = field(default_factory=dict)
    passed: int = 0

    def after(self, stepper: StepperState, step: AcceptedStep) -> bool:
        """Take the states inside an accepted step, up to where the run goes on; False, for the run goes on."""
        last = int(np.searchsorted(self.time, min(step.end, stepper.t), side="right"))
        if last > self.passed:
            numbers = range(self.passed, last)
            self.states |= dict(zip(numbers, step(self.time[self.passed : last])[0], strict=True))
            self.passed = last
        return False

    def take(self, frames: Frames) -> None:
        """Take the states of those output instants that are wanted."""
        at = np.minimum(np.searchsorted(self.time, frames.time), len(self.time) - 1)
        for k in np.flatnonzero(self.time[at] == frames.time):
            self.states[int(at[k])] = frames.q[k]

    @property
    def q(self) -> Floats:
        """(k, n_q) of all states taken."""
        return np.array(list(self.states.values()))


@dataclass
class Accuracy:
    """The scales of a run to an accuracy, by runs before it, and the estimate of its error after it.

    wanted : the accuracy. run : with the scales. ways : of ``measure``. part : the errors of steps, relative to the
    accuracy. first : the error of the run with the first of ``TRIED``. before : the states of that with the second.
    followed : takes those of the run.
    """

    wanted: float
    run: Run
    measure: Measure
    ways: Ways
    part: float
    first: float
    before: Followed
    followed: Followed

    def verdict(self) -> tuple[float, str]:
        """The estimate of the error, and a sentence where it is above what was wanted."""
        second, name, t = self.measure.difference(self.followed, self.before, self.ways)
        fall = np.log(max(self.first, 1e-300) / max(second, 1e-300)) / np.log(TRIED[0] / TRIED[1])
        found = second * (self.part / TRIED[1]) ** float(np.clip(fall, LEAST_POWER, MOST_POWER))
        if found <= self.wanted:
            return found, ""
        return found, (
            f"accuracy: got an estimate of {found:.2g}, of {name} at t = {t:.6g} s, wanted {self.wanted:g}: the motion "
            "is sensitive to the least error, or rounding limits it"
        )


def toward(
    system: System, run: Run, times: Floats, events: tuple[Event, ...], reporter: Reporter | None = None
) -> Accuracy:
    """The scales of a run whose ``accuracy`` is given, by three runs with larger errors.

    times (T,) : of output. Raises SolveError where these fail.
    """
    wanted = run.accuracy
    assert wanted is not None
    measure, instants = Measure(system), times[:: -(-len(times) // INSTANTS)]

    if reporter is not None:
        reporter.message(f"accuracy = {wanted:g}: three shorter runs measure the ways and choose the steps")

    def tried(part: float, ways: Ways) -> Followed:
        followed = Followed(instants, {0: system.q0}, 1)
        for _ in integrate(
            system, make_stepper(system, _with(run, measure.scales(ways, part), part)), times[[0, -1]], RunSummary([]),
            events, max_steps=run.most_steps, motion_only=True, until=followed.after,
        ):  # fmt: skip
            pass
        return followed

    ways = measure.ways(tried(ROUGH, measure.sizes()).q)
    first = tried(TRIED[0] * wanted, ways)
    ways = measure.ways(first.q)
    second = tried(TRIED[1] * wanted, ways)
    ways = measure.ways(second.q)
    error = measure.difference(second, first, ways)[0]
    expected = max(error, ROUNDING) * (TRIED[1] / TRIED[0]) ** LEAST_POWER
    part = TRIED[1] * (AIM * wanted / expected) ** (1.0 / USUAL_POWER)
    part = min(LARGEST, max(SMALLEST, part))
    to = _with(run, measure.scales(ways, part * wanted), part * wanted)
    return Accuracy(wanted, to, measure, ways, part, error, second, Followed(instants))


def _with(run: Run, scales: GivenScales, part: float) -> Run:
    return replace(run, accuracy=None, atol=scales, rtol=part)
