"""Output instants inside steps, as the steps interpolate them.

Their correction by the equations of motion is that of ``femb.recording.evaluation``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.formulations.contract import Formulation
from femb.recording.frames import Frames, SystemsAt
from femb.steppers.contract import AcceptedStep, PassedSteps
from femb.steppers.dense import ROUNDINGS, Dop853Step, HermiteStep, hermite_accelerations, hermite_motion, hermite_work
from femb.system.relative_motion import NODES, keep_to_joints

# A step with more instants inside it than this, with constraints than `NODES`, has nodes that are evaluated in their
# place.
FEW = 3

States: TypeAlias = tuple[Floats, Floats]
"""q (k, .) and v (k, .) of a formulation."""


class Instants:
    """Consecutive output instants inside steps, interpolated and not corrected yet.

    form : the formulation. systems : see the class. time (k,), q (k, n_q), v (k, n_v), work (k, n_w), accelerations
    a (k, n_v), in the coordinates of the System; start, end (k,) : of the step of each instant, s. states, rates,
    work : functions that return q and v of the formulation, its accelerations, and work; not all output needs all.
    explicit : whether the steps are those of an explicit method. steps : those of which the ones with many instants
    have nodes.
    """

    def __init__(
        self,
        form: Formulation,
        time: Floats,
        states: Callable[[], States],
        rates: Callable[[], Floats],
        work: Callable[[], Floats],
        spans: tuple[Floats, Floats],
        systems: SystemsAt,
        explicit: bool = False,
        steps: "Sequence[InStep]" = (),
    ) -> None:
        self.form, self._get_states, self._rates, self._get_work, self._steps = form, states, rates, work, steps
        self.time, (self.start, self.end) = time, spans
        self.systems, self.explicit = systems, explicit

    @cached_property
    def work(self) -> Floats:
        """The integrals (k, n_w) of the budget."""
        return self._get_work()

    @cached_property
    def _states(self) -> States:
        return self._get_states()

    @cached_property
    def _motion(self) -> tuple[Floats, Floats]:
        return self.form.to_system(*self._states)

    @property
    def q(self) -> Floats:
        """Coordinates (k, n_q)."""
        return self._motion[0]

    @property
    def v(self) -> Floats:
        """Velocities (k, n_v)."""
        return self._motion[1]

    @cached_property
    def a(self) -> Floats:
        """Accelerations (k, n_v)."""
        form = self.form
        return self._rates() if form is form.system else form.accelerations_to_system(*self._states, self._rates())

    def part(self, some: slice) -> "Instants":
        """Some of the instants."""
        spans = self.start[some], self.end[some]
        q, v = self._states
        states, rates, work = (lambda: (q[some], v[some])), (lambda: self._rates()[some]), (lambda: self.work[some])
        systems = self.systems[some]
        return Instants(self.form, self.time[some], states, rates, work, spans, systems, self.explicit)

    def of_steps(self) -> "list[Instants]":
        """The instants of each step."""
        if self._steps:
            return [in_steps([step]) for step in self._steps]
        bounds = [0, *(1 + np.flatnonzero(np.diff(self.end))).tolist(), len(self.time)]
        return [self.part(slice(first, last)) for first, last in pairwise(bounds)]

    @cached_property
    def _of_step(self) -> Ints:
        """(k,): the number of the step of each instant."""
        return np.repeat(np.arange(len(self._steps)), [len(step.time) for step in self._steps])

    @cached_property
    def _many(self) -> Bools:
        """Which of the steps (s,) have many instants inside them."""
        # a fixed step may pass over a jump of stiffness, through which no polynomial leads
        if not self._steps or self.form.system.has_gaps or not keep_to_joints(self.form.layout):
            return np.zeros(len(self._steps), dtype=bool)
        inside = self.end - self.time > ROUNDINGS * np.spacing(self.end)
        few = NODES if self.form.layout.n_c else FEW
        many: Bools = np.bincount(self._of_step[inside], minlength=len(self._steps)) > few
        return many

    @cached_property
    def between(self) -> Ints:
        """(k,): the number of the step in ``with_nodes`` that has the instant inside it; -1 for others."""
        numbers = np.where(self._many, np.cumsum(self._many) - 1, -1)[self._of_step]
        result: Ints = np.where(self.end - self.time > ROUNDINGS * np.spacing(self.end), numbers, -1)
        return result

    @cached_property
    def with_nodes(self) -> "list[InStep]":
        """The steps with many instants."""
        return [self._steps[k] for k in np.flatnonzero(self._many).tolist()]

    def alone(self, some: Ints) -> "Instants":
        """The instants with these numbers, increasing, without nodes."""
        used, first = np.unique(self._of_step[some], return_index=True)
        times = np.split(self.time[some], first[1:])
        steps = [self._steps[k] for k in used.tolist()]
        return in_steps(
            [InStep(step.form, step.step, time) for step, time in zip(steps, times, strict=True)], nodes=False
        )


@dataclass(frozen=True, eq=False)
class InStep:
    """Output times (k,), s, inside a step with Hermite interpolation, which is evaluated for several steps together."""

    form: Formulation
    step: HermiteStep
    time: Floats

    @property
    def family(self) -> tuple[Any, ...]:
        """The key of steps that are evaluated together: Systems may differ by the angles of their joints."""
        form = self.form
        return id(form.system.solver if form is form.system else form), *self.step.stages[0]

    @property
    def q(self) -> Floats:
        """Coordinates (k, n_q) of the System."""
        return in_steps([self]).q

    @property
    def v(self) -> Floats:
        """Velocities (k, n_v) of the System."""
        return in_steps([self]).v


Part: TypeAlias = Frames | Instants | InStep
"""Consecutive output instants, evaluated or not."""


def step_instants(form: Formulation, step: AcceptedStep, times: Floats) -> Instants | InStep:
    """The instants at times (k,) inside a step of a formulation; a time may exceed its end by rounding."""
    if isinstance(step, HermiteStep):
        return InStep(form, step, times)
    spans = np.full(len(times), step.start), np.full(len(times), step.end)
    a, states = step.accelerations(times), step(times)  # now, since a later step may use the same arrays
    q, v, work = states
    systems, explicit = SystemsAt.of(form, q), isinstance(step, Dop853Step)
    return Instants(form, times, lambda: (q, v), lambda: a, lambda: work, spans, systems, explicit)


def in_steps(parts: Sequence[InStep], nodes: bool = True) -> Instants:
    """The instants inside steps of one formulation; nodes : whether steps with many instants have them."""
    form, steps, times = parts[0].form, [part.step for part in parts], [part.time for part in parts]
    counts = [len(each) for each in times]
    of_step = np.repeat(np.arange(len(parts)), counts)
    start, end = np.array([(step.start, step.end) for step in steps])[of_step].T
    states: Callable[[], States] = cache(partial(hermite_motion, steps, times))
    if form is form.system:
        # the angles of the last step, whatever the states
        own = [part.form.system for part in parts]
        angles = np.array([system.discrete.angles for system in own])[of_step]
        systems = SystemsAt([own[k] for k in of_step.tolist()], angles)
    else:
        of_parts = zip(parts, np.split(states()[0], np.cumsum(counts[:-1])), strict=True)
        systems = SystemsAt.joined([SystemsAt.of(part.form, q) for part, q in of_parts])
    rates, work = partial(hermite_accelerations, steps, times), partial(hermite_work, steps, times)
    return Instants(
        form, np.concatenate(times), states, rates, work, (start, end), systems, steps=parts if nodes else ()
    )  # fmt: skip


def in_parts(parts: Sequence[InStep], places: Floats) -> Instants:
    """The instants, without nodes, where the parts ``places`` (m,) of each of some steps of one formulation passed."""
    start, end = np.array([(part.step.start, part.step.end) for part in parts]).T[:, :, None]
    times = start + places * (end - start)
    return in_steps([InStep(part.form, part.step, time) for part, time in zip(parts, times, strict=True)], nodes=False)


def passed_instants(form: Formulation, steps: PassedSteps) -> Instants:
    """The instants inside many steps of a formulation."""
    systems = SystemsAt.of(form, steps.q, steps.angles)
    states, spans = (lambda: (steps.q, steps.v)), (steps.start, steps.end)
    return Instants(form, steps.time, states, lambda: steps.a, lambda: steps.work, spans, systems, explicit=True)


def with_states(parts: Iterable[Part]) -> Iterator[Frames | Instants]:
    """The parts, with the states inside steps."""
    inside: list[InStep] = []
    of: tuple[Any, ...] = ()
    for part in parts:
        family = part.family if isinstance(part, InStep) else ()
        if inside and family != of:
            yield in_steps(inside)
            inside = []
        of = family
        if isinstance(part, InStep):
            inside.append(part)
        else:
            yield part
    if inside:
        yield in_steps(inside)
