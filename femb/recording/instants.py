"""Output at instants inside steps: the correction of interpolated states by the equations of motion.

The interpolated state of a step is accurate, but a force that is a large stiffness times a small strain is not: an
axial strain of 1e-9 may be a newton. Therefore Newton's iteration corrects the interpolated state with the equations of
motion and the interpolated acceleration a, a polynomial through instants at which the equations are satisfied:

    [mu M + C + K/mu  J^T] [y]     [ M a + h + f_el - f ]
    [J                0  ] [.] = - [          0          ],      y <- F y,      q <- q + H y/mu,      v <- v + y

F y being the solution of the same matrix for (C + K/mu) y: F is nearly one for components stiffer than mu = 10/h, with
the step h, and nearly zero for softer ones, whose interpolated motion is not changed. Accelerations and multipliers
follow from the forces at the corrected state. An explicit step has no stiff components, since it would not be stable:
its states are projected on the constraints alone. Source: docs/theory/integration.md, section 8.

A run collects instants and evaluates those of many steps together.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby, pairwise
from typing import Any, TypeAlias

import numpy as np

from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.layout.element import TrialError
from femb.recording.frames import Frames, SystemsAt, frames_of, inputs_of, projected_frames
from femb.steppers.contract import AcceptedStep, PassedSteps
from femb.steppers.dense import Dop853Step, HermiteStep, hermite_accelerations, hermite_states
from femb.system.block_lu import SingularError
from femb.system.stacked import EachMatrices, Space, matrices_each, portions, projected_each
from femb.system.system import System

# Output instants inside steps, as the steps interpolate them.
#
# Their correction by the equations of motion is that of ``femb.recording.instants``.


class Instants:
    """Consecutive output instants inside steps, interpolated and not corrected yet.

    form : the formulation. systems : see the class. time (k,), q (k, n_q), v (k, n_v), work (k, n_w), accelerations
    a (k, n_v), in the coordinates of the System; start, end (k,) : of the step of each instant, s. rates : a function
    that returns the accelerations (k, .) of the formulation, which motion alone does not need. explicit : whether the
    steps are those of an explicit method.
    """

    def __init__(
        self,
        form: Formulation,
        time: Floats,
        states: tuple[Floats, Floats, Floats],
        rates: Callable[[], Floats],
        spans: tuple[Floats, Floats],
        systems: SystemsAt,
        explicit: bool = False,
    ) -> None:
        self.form, self._states, self._rates, self.explicit = form, states[:2], rates, explicit
        self.time, self.work, (self.start, self.end) = time, states[2], spans
        self.systems = systems
        self.q, self.v = form.to_system(*states[:2])

    @cached_property
    def a(self) -> Floats:
        """Accelerations (k, n_v)."""
        return self.form.accelerations_to_system(*self._states, self._rates())

    def part(self, some: slice) -> "Instants":
        """Some of the instants."""
        (q, v), spans = self._states, (self.start[some], self.end[some])
        states, systems = (q[some], v[some], self.work[some]), self.systems[some]
        return Instants(self.form, self.time[some], states, lambda: self._rates()[some], spans, systems, self.explicit)

    def of_steps(self) -> "list[Instants]":
        """The instants of each step."""
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
        """The key of steps that are evaluated together: Systems may differ by the angles of their joints."""
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


def step_instants(form: Formulation, step: AcceptedStep, times: Floats) -> Instants | InStep:
    """The instants at times (k,) inside a step of a formulation; a time may exceed its end by rounding."""
    if isinstance(step, HermiteStep):
        return InStep(form, step, times)
    spans = np.full(len(times), step.start), np.full(len(times), step.end)
    a, states = step.accelerations(times), step(times)  # now, since a later step may use the same arrays
    return Instants(form, times, states, lambda: a, spans, SystemsAt.of(form, states[0]), isinstance(step, Dop853Step))


def _in_steps(parts: Sequence[InStep]) -> Instants:
    """The instants inside steps of one formulation."""
    steps, times = [part.step for part in parts], [part.time for part in parts]
    counts = [len(each) for each in times]
    start, end = np.repeat([(step.start, step.end) for step in steps], counts, axis=0).T
    states = hermite_states(steps, times)
    of_parts = zip(parts, np.split(states[0], np.cumsum(counts[:-1])), strict=True)
    systems = SystemsAt.joined([SystemsAt.of(part.form, q) for part, q in of_parts])

    rates = partial(hermite_accelerations, steps, times)
    return Instants(parts[0].form, np.concatenate(times), states, rates, (start, end), systems)


def passed_instants(form: Formulation, steps: PassedSteps) -> Instants:
    """The instants inside many steps of a formulation."""
    systems = SystemsAt.of(form, steps.q, steps.angles)
    states, spans = (steps.q, steps.v, steps.work), (steps.start, steps.end)
    return Instants(form, steps.time, states, lambda: steps.a, spans, systems, explicit=True)


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


State: TypeAlias = tuple[Floats, Floats]
"""q (k, n_q) and v (k, n_v) of k instants."""

# mu times the length of the step.
STIFF = 10.0
# Corrections of a state. The second removes the quadratic error and that of members about as stiff as mu.
CORRECTIONS = 2
# Ratio of the second to the first from which on both are repeated with the matrices at the state that the first has
# found; how often, if each time the ratio falls to less than `BETTER` of what it was, or if they grow.
SLOW, BETTER, GROWN, AGAIN = 0.03, 0.5, 1.01, 5
TINY = np.finfo(float).tiny
# Relative difference of inputs before and after an instant up to which they do not jump.
SMOOTH = 1e-9


def evaluated(parts: Sequence[Part], motion_only: bool = False) -> Frames:
    """The output at consecutive instants; those of several steps are evaluated together.

    Where inputs jump at the end of a step, the output is that after the jump, except ``unbalanced``. motion_only : as
    of ``femb.recording.frames.frames_of``; the states are the same. Raises SolveError.
    """
    return _together(parts, partial(_evaluated, motion_only=motion_only))


def interpolated(parts: Sequence[Part]) -> Frames:
    """The motion as the steps interpolate it, to the tolerance of the run: too coarse for deflections and strains.

    Inputs, accelerations, forces and multipliers are left at zero.
    """
    return _together(parts, _interpolated)


def _together(parts: Sequence[Part], evaluate: Callable[[list[Instants]], Frames]) -> Frames:
    """The output of parts; those of the same equations, with steps of one kind, are evaluated in one call."""
    frames: list[Frames] = []
    for _, group in groupby(
        with_states(parts),
        lambda part: (id(part.systems.systems[0].solver), part.explicit) if isinstance(part, Instants) else None,
    ):
        instants: list[Instants] = []
        for part in group:
            if isinstance(part, Frames):
                frames.append(part)
            else:
                instants.append(part)
        if instants:
            frames.append(evaluate(instants))
    return frames[0] if len(frames) == 1 else Frames.joined(frames)


def _joined(parts: list[Instants], *words: str) -> list[Floats]:
    return [np.concatenate([getattr(part, word) for part in parts]) for word in words]


def _interpolated(parts: list[Instants]) -> Frames:
    systems = SystemsAt.joined([part.systems for part in parts])
    system = systems.systems[0]
    time, q, v, work = _joined(parts, "time", "q", "v", "work")
    coordinates, rates = systems.joint_motion(q, v)
    u, a, multipliers, balance = (np.zeros((len(time), n)) for n in (system.n_u, system.n_v, system.n_c, 2))
    return Frames(time, q, v, work, u, a, multipliers, coordinates, rates, balance)


def _evaluated(parts: list[Instants], motion_only: bool) -> Frames:
    systems = SystemsAt.joined([part.systems for part in parts])
    system = systems.systems[0]
    time, q, v, work, start, end = _joined(parts, "time", "q", "v", "work", "start", "end")
    explicit = parts[0].explicit
    a = None if explicit and motion_only else _joined(parts, "a")[0]
    before = np.minimum(time, np.nextafter(end, start))
    mu = STIFF / (end - start)
    u = inputs_of(systems, before, q, v)
    space = Space()
    try:
        for some in portions(system, len(time)):
            if not explicit:
                assert a is not None
                q[some], v[some] = _corrected(system, u[some], q[some], v[some], a[some], mu[some], space)
            elif parts[0].form.n_c:  # coordinates of joints satisfy their constraints
                q[some], v[some] = projected_each(system, u[some], q[some], v[some])
    except TrialError:
        steps = [step for part in parts for step in part.of_steps()]
        if len(steps) > 1:
            return Frames.joined([_evaluated([step], motion_only) for step in steps])
        # beyond a singularity or a fold that the step itself did not reach
        (part,) = parts
        return projected_frames(systems, time, part.q, part.v, work, motion_only)
    if system.inputs_of_state:
        u = inputs_of(systems, before, q, v)
    frames = frames_of(systems, time, u, q, v, work, a, motion_only)
    for k in np.flatnonzero(time >= end).tolist():
        frames = _after_jump(systems[k : k + 1], frames, k, motion_only)
    return frames


def _after_jump(system: SystemsAt, frames: Frames, k: int, motion_only: bool) -> Frames:
    """The output, at instant k that after a jump of the inputs, if they jump there."""
    at = slice(k, k + 1)
    time, q, v = frames.time[at], frames.q[at], frames.v[at]
    if np.allclose(inputs_of(system, time, q, v), frames.u[at], SMOOTH, 0.0):
        return frames
    after = projected_frames(system, time, q, v, frames.work[at], motion_only)
    after = replace(after, unbalanced=frames.unbalanced[at])
    parts = [frames.part(slice(0, k)), after, frames.part(slice(k + 1, None))]
    return Frames.joined([part for part in parts if len(part.time)])


def _corrected(system: System, u: Floats, q: Floats, v: Floats, a: Floats, mu: Floats, space: Space) -> State:
    """q (k, n_q), v (k, n_v) corrected such that stiff members accelerate with a (k, n_v), on the constraints.

    space : of the matrices.
    """
    try:
        matrices = matrices_each(system, u, q, v, mu, space)
    except SingularError as error:
        raise TrialError("the iteration matrix at an output instant is singular") from error
    interpolated = projected_each(system, u, q, v, matrices.factors)
    first, state, ratio = _iterated(system, u, interpolated, a, mu, matrices)
    some, before = np.arange(len(q)), np.full(len(q), np.inf)
    for _ in range(AGAIN):
        # also where corrections are not finite
        slow = ~(ratio <= SLOW) & ~((ratio > BETTER * before) & (ratio <= GROWN))
        if not slow.any():
            return state
        # The tangent at the interpolated states contains their forces, which turn with the members. Where they are
        # large, soft components are corrected as if they were stiff: with matrices at a corrected state they are not.
        some, before = some[slow], ratio[slow]
        given, at = (interpolated[0][some], interpolated[1][some]), (first[0][slow], first[1][slow])
        try:
            matrices = matrices_each(system, u[some], *at, mu[some])
            first, found, ratio = _iterated(system, u[some], given, a[some], mu[some], matrices)
        except (SingularError, TrialError):
            found, ratio = given, np.zeros(len(some))
        state[0][some], state[1][some] = found
    # strongly nonlinear forces, as of a contact that just opens: the interpolated state without correction
    worse = some[~(ratio <= 1.0)]
    state[0][worse], state[1][worse] = interpolated[0][worse], interpolated[1][worse]
    return state


def _iterated(
    system: System, u: Floats, state: State, a: Floats, mu: Floats, matrices: EachMatrices
) -> tuple[State, State, Floats]:
    """q, v after the first and after all `CORRECTIONS`, and the ratio (k,) of the sizes of the last and the first."""
    (q, v), free = state, np.zeros((len(mu), system.n_c))
    states, sizes = [], []
    for _ in range(CORRECTIONS):
        x = matrices.filtered(-system.equations(u, q, v, a, free))
        y = np.ascontiguousarray(x[:, : system.n_v])
        q, v = q + system.rates(q, y) / mu[:, None], v + y
        system.normalise(q)
        q, v = projected_each(system, u, q, v, matrices.factors)
        states.append((q, v))
        sizes.append(np.max(np.abs(y), axis=1, initial=0.0))
    return states[0], states[-1], sizes[-1] / np.maximum(sizes[0], TINY)
