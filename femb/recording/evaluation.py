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

Steps with many instants are corrected at six nodes. Between them, motions relative to one frame of each structure are
polynomials in time: in a structure that turns they hardly change, so that the polynomials keep its strains.

A run collects instants and evaluates those of many steps together.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TypeAlias

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.layout.element import TrialError
from femb.numerics.compiler.lanes import LANES
from femb.recording.frames import Frames, SystemsAt, frames_of, inputs_of, projected_frames
from femb.recording.instants import NODES, PLACES, Instants, InStep, Part, in_steps, with_states
from femb.system.block_lu import SingularError
from femb.system.relative_motion import between_nodes, links_of, to_relative, turn
from femb.system.stacked import EachMatrices, Space, matrices_each, on_constraints, portions, projected_each
from femb.system.system import System

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
# The node whose matrices all nodes of a step share: forces of others differ less from its own than from those of ends.
MIDDLE = NODES // 2
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
    time, end = _joined(parts, "time", "end")
    try:
        u, q, v = _consistent(systems, parts, motion_only)
    except TrialError:
        steps = [step for part in parts for step in part.of_steps()]
        if len(steps) > 1:
            return Frames.joined([_evaluated([step], motion_only) for step in steps])
        (part,) = parts
        if part.with_nodes:
            return _evaluated([part.alone(np.ones(len(time), dtype=bool))], motion_only)
        # beyond a singularity or a fold that the step itself did not reach
        return projected_frames(systems, time, part.q, part.v, part.work, motion_only)
    work = np.zeros((len(time), systems.systems[0].budget.size)) if motion_only else _joined(parts, "work")[0]
    a = None if motion_only else _joined(parts, "a")[0]
    frames = frames_of(systems, time, u, q, v, work, a, motion_only)
    for k in np.flatnonzero(time >= end).tolist():
        frames = _after_jump(systems[k : k + 1], frames, k, motion_only)
    return frames


def _consistent(systems: SystemsAt, parts: list[Instants], motion_only: bool) -> tuple[Floats, Floats, Floats]:
    """Inputs u (k, n_u), q (k, n_q) and v (k, n_v) at instants, corrected: one by one, or between nodes of steps.

    motion_only : whether inputs between nodes, on which no motion depends, may be left at zero.
    """
    system, space, count = systems.systems[0], Space(), len(systems.systems)
    q, v, u = (np.zeros((count, n)) for n in (system.n_q, system.n_v, system.n_u))
    single, alone, first = np.ones(count, dtype=bool), [], 0
    for part in parts:
        here, first = slice(first, first + len(part.time)), first + len(part.time)
        if part.with_nodes:
            single[here] = _interpolate(part, q[here], v[here], space)
        if single[here].any():
            alone.append(part.alone(single[here]) if part.with_nodes else part)
    if alone:
        its = SystemsAt.joined([part.systems for part in alone])
        at_q, at_v, start, end = _joined(alone, "q", "v", "start", "end")
        at_u, mu = inputs_of(its, _before(alone), at_q, at_v), STIFF / (end - start)
        a = None if parts[0].explicit else _joined(alone, "a")[0]
        for some in portions(system, len(mu)):
            state = at_u[some], at_q[some], at_v[some]
            if a is not None:
                at_q[some], at_v[some], _ = _corrected(system, *state, a[some], mu[some], space)
            elif parts[0].form.n_c:  # coordinates of joints satisfy their constraints
                at_q[some], at_v[some] = projected_each(system, *state)
        u[single], q[single], v[single] = at_u, at_q, at_v
    if system.inputs_of_state or not (motion_only or single.all()):
        u = inputs_of(systems, _before(parts), q, v)
    return u, q, v


def _before(parts: list[Instants]) -> Floats:
    """The times (k,), those at ends of steps just before them, where inputs have their left limits."""
    time, start, end = _joined(parts, "time", "start", "end")
    return np.minimum(time, np.nextafter(end, start))


def _interpolate(part: Instants, q: Floats, v: Floats, space: Space) -> Bools:
    """Set q (k, n_q) and v (k, n_v) between the nodes of steps; returns which instants (k,) are left."""
    steps, system = part.with_nodes, part.systems.systems[0]
    links = links_of(system.layout)
    found = [_nodes(steps[some], space) for some in portions(system, len(steps))]
    nodes_q, nodes_v = (np.concatenate([each[k] for each in found], axis=1) for k in range(2))
    solved = np.concatenate([each[2] for each in found])
    to_relative(*links, nodes_q.reshape(-1, system.n_q), nodes_v.reshape(-1, system.n_v))
    inside = (part.between >= 0) & solved[part.between]
    start, end, of_step = part.start[inside], part.end[inside], part.between[inside]
    at_q, at_v = np.empty((len(of_step), system.n_q)), np.empty((len(of_step), system.n_v))
    passed = (part.time[inside] - start) / (end - start)
    between_nodes(
        *links, system.coordinates[2], PLACES, of_step, passed, nodes_q, nodes_v, np.empty(NODES), at_q, at_v
    )  # fmt: skip
    if system.n_c and inside.any():
        its = SystemsAt([part.systems.systems[k] for k in np.flatnonzero(inside).tolist()], part.systems.angles[inside])
        u = inputs_of(its, part.time[inside], at_q, at_v)
        apart = np.unique(of_step[~on_constraints(system, u, at_q, at_v)])
        kept = ~np.isin(of_step, apart)
        inside[inside], at_q, at_v = kept, at_q[kept], at_v[kept]
    q[inside], v[inside] = at_q, at_v
    left: Bools = ~inside
    return left


def _nodes(steps: list[InStep], space: Space) -> tuple[Floats, Floats, Bools]:
    """q (m, s, n_q), v (m, s, n_v) at the nodes of steps, and for which of them (s,) corrections were found.

    The nodes of a step share the matrices of one, which turn with the frames, unless there are constraints.
    """
    count, instants = len(steps), in_steps([step.at(PLACES) for step in steps], nodes=False)
    system, mu = instants.systems.systems[0], STIFF / (instants.end - instants.start)
    of = np.arange(len(mu)).reshape(count, NODES).T
    u = inputs_of(instants.systems, _before([instants]), instants.q, instants.v)

    def state(which: Ints) -> tuple[Floats, Floats, Floats]:
        return u[which], instants.q[which], instants.v[which]

    if system.n_c:
        at_q, at_v, failed = np.empty_like(instants.q), np.empty_like(instants.v), np.empty(len(mu), dtype=bool)
        for some in portions(system, len(mu)):
            here = u[some], instants.q[some], instants.v[some]
            at_q[some], at_v[some], failed[some] = _corrected(system, *here, instants.a[some], mu[some], space)
        return at_q[of], at_v[of], np.logical_not(failed[of].any(axis=0))

    def corrected(some: Ints, *at: Floats) -> tuple[Floats, Floats, Floats]:
        """q, v and the ratios (m, .) at the nodes of some of the steps, by matrices at u, q, v of all steps."""
        kept = len(some)
        if kept > LANES and not system.pattern.net:
            # the last ones again, since those that fill no register take as long as one that is full
            some = np.append(some, np.full(-kept % LANES, some[-1]))
        which = of[:, some].ravel()
        (here_u, q, v), (there_u, there_q, there_v) = state(which), (array[some] for array in at)
        shared = matrices_each(system, there_u, there_q, there_v, mu[of[0, some]], space)
        matrices = TurnedMatrices(system, shared, there_q, q)
        _, found, ratio = _iterated(system, here_u, (q, v), instants.a[which], mu[which], matrices)
        new_q, new_v, ratio = (array.reshape(NODES, len(some), -1)[:, :kept] for array in (*found, ratio))
        return new_q, new_v, ratio[:, :, 0]

    try:
        q, v, ratio = corrected(np.arange(count), *state(of[MIDDLE]))
        slow = np.flatnonzero(~(ratio <= SLOW).all(axis=0))
        if len(slow):
            # as for single instants: with matrices at a corrected state
            q[:, slow], v[:, slow], now = corrected(slow, u[of[MIDDLE]], q[MIDDLE], v[MIDDLE])
            settled = (now <= SLOW) | ((now > BETTER * ratio[:, slow]) & (now <= GROWN))
            slow = slow[~settled.all(axis=0)]
    except SingularError as error:
        raise TrialError("the iteration matrix at an output instant is singular") from error
    solved = np.ones(count, dtype=bool)
    for k in slow.tolist():
        which = of[:, k]
        q[:, k], v[:, k], failed = _corrected(system, *state(which), instants.a[which], mu[which], space)
        solved[k] = not failed.any()
    return q, v, solved


class TurnedMatrices:
    """Matrices of s states at_q (s, n_q), for m times as many, q (m s, n_q), whose frames have turned."""

    def __init__(self, system: System, matrices: EachMatrices, at_q: Floats, q: Floats) -> None:
        self._matrices, self.factors = matrices, matrices.factors
        quaternions, vectors = system.corotated_frames
        self._frames = quaternions, np.ascontiguousarray(vectors[:, 0])
        self._there, self._here = at_q[None], q.reshape(-1, *at_q.shape)

    def filtered(self, x: Floats) -> Floats:
        """Filter as ``StackedMatrices.filtered`` does."""
        each = x.reshape(*self._here.shape[:2], -1)
        turn(*self._frames, self._here, self._there, each)
        each = self._matrices.filtered(each)
        turn(*self._frames, self._there, self._here, each)
        return each.reshape(x.shape)


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


def _corrected(
    system: System, u: Floats, q: Floats, v: Floats, a: Floats, mu: Floats, space: Space
) -> tuple[Floats, Floats, Bools]:
    """q (k, n_q), v (k, n_v) corrected such that stiff members accelerate with a (k, n_v), on the constraints.

    Also which of them (k,) are left as they were. space : of the matrices.
    """
    try:
        matrices = matrices_each(system, u, q, v, mu, space)
    except SingularError as error:
        raise TrialError("the iteration matrix at an output instant is singular") from error
    interpolated = projected_each(system, u, q, v, matrices.factors)
    first, state, ratio = _iterated(system, u, interpolated, a, mu, matrices)
    some, before = np.arange(len(q)), np.full(len(q), np.inf)
    failed = np.zeros(len(q), dtype=bool)
    for _ in range(AGAIN):
        # also where corrections are not finite
        slow = ~(ratio <= SLOW) & ~((ratio > BETTER * before) & (ratio <= GROWN))
        if not slow.any():
            return *state, failed
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
    state[0][worse], state[1][worse], failed[worse] = interpolated[0][worse], interpolated[1][worse], True
    return *state, failed


def _iterated(
    system: System, u: Floats, state: State, a: Floats, mu: Floats, matrices: "EachMatrices | TurnedMatrices"
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
