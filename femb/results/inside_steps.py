"""Output instants inside steps, as the steps interpolate them.

Their correction by the equations of motion is that of ``femb.results.instants``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.results.frames import Frames, SystemsAt
from femb.steppers.contract import Step
from femb.steppers.dense import HermiteStep, hermite_states
from femb.steppers.passed_steps import PassedSteps


class Instants:
    """Consecutive output instants inside steps, interpolated and not corrected yet.

    systems : see the class. time (k,), q (k, n_q), v (k, n_v), work (k,), accelerations a (k, n_v), in the coordinates
    of the System; start, end (k,) : of the step of each instant, s. rates : a function that returns the accelerations
    (k, .) of the formulation, which motion alone does not need.
    """

    def __init__(
        self,
        form: Formulation,
        time: Floats,
        states: tuple[Floats, Floats, Floats],
        rates: Callable[[], Floats],
        spans: tuple[Floats, Floats],
        systems: SystemsAt,
    ) -> None:
        self._form, self._states, self._rates = form, states[:2], rates
        self.time, self.work, (self.start, self.end) = time, states[2], spans
        self.systems = systems
        self.q, self.v = form.to_system(*states[:2])

    @cached_property
    def a(self) -> Floats:
        """Accelerations (k, n_v)."""
        return self._form.accelerations_to_system(*self._states, self._rates())

    def part(self, some: slice) -> "Instants":
        """Some of the instants."""
        (q, v), spans = self._states, (self.start[some], self.end[some])
        states = q[some], v[some], self.work[some]
        return Instants(self._form, self.time[some], states, lambda: self._rates()[some], spans, self.systems[some])

    def of_steps(self) -> "list[Instants]":
        """Those of each step."""
        bounds = [0, *(1 + np.flatnonzero(np.diff(self.end))).tolist(), len(self.time)]
        return [self.part(slice(first, last)) for first, last in pairwise(bounds)]


@dataclass(frozen=True, eq=False)
class InStep:
    """Output times (k,), s, inside a step with Hermite interpolation, which is evaluated for several steps together."""

    form: Formulation
    step: HermiteStep
    time: Floats

    @property
    def family(self) -> tuple[Any, ...]:
        """What steps evaluated together have in common: Systems may differ by the angles of their joints."""
        form = self.form
        return id(form.system.solver if form is form.system else form), *self.step.stages[0]

    @property
    def q(self) -> Floats:
        """Coordinates (k, n_q) of the System."""
        return _in_steps([self]).q

    @property
    def v(self) -> Floats:
        """Velocities (k, n_v) of the System."""
        return _in_steps([self]).v


Part: TypeAlias = Frames | Instants | InStep
"""Consecutive output instants, evaluated or not."""


def step_instants(form: Formulation, step: Step, times: Floats) -> Instants | InStep:
    """The instants at times (k,) inside a step of a formulation; a time may exceed its end by rounding."""
    if isinstance(step, HermiteStep):
        return InStep(form, step, times)
    spans = np.full(len(times), step.start), np.full(len(times), step.end)
    a, states = step.accelerations(times), step(times)  # now, since a later step may use the same arrays
    return Instants(form, times, states, lambda: a, spans, SystemsAt.of(form, states[0]))


def _in_steps(parts: Sequence[InStep]) -> Instants:
    """The instants inside steps of one formulation."""
    steps, times = [part.step for part in parts], [part.time for part in parts]
    counts = [len(each) for each in times]
    start, end = np.repeat([(step.start, step.end) for step in steps], counts, axis=0).T
    states = hermite_states(steps, times)
    of_parts = zip(parts, np.split(states[0], np.cumsum(counts[:-1])), strict=True)
    systems = SystemsAt.joined([SystemsAt.of(part.form, q) for part, q in of_parts])

    def rates() -> Floats:
        return np.concatenate([step.accelerations(each) for step, each in zip(steps, times, strict=True)])

    return Instants(parts[0].form, np.concatenate(times), states, rates, (start, end), systems)


def passed_instants(form: Formulation, steps: PassedSteps) -> Instants:
    """The instants inside many steps of a formulation."""
    systems = SystemsAt.of(form, steps.q, steps.angles)
    states, spans = (steps.q, steps.v, steps.work), (steps.start, steps.end)
    return Instants(form, steps.time, states, lambda: steps.a, spans, systems)


def with_states(parts: Iterable[Part]) -> Iterator[Frames | Instants]:
    """The parts, with the states inside steps."""
    inside: list[InStep] = []
    for part in parts:
        if inside and not (isinstance(part, InStep) and part.family == inside[0].family):
            yield _in_steps(inside)
            inside = []
        if isinstance(part, InStep):
            inside.append(part)
        else:
            yield part
    if inside:
        yield _in_steps(inside)
