"""Output at instants inside steps: the correction of interpolated states by the equations of motion.

The interpolated state of a step is accurate, but a force that is a large stiffness times a small strain is not: an
axial strain of 1e-9 may be a newton. Therefore Newton's iteration corrects the interpolated state with the equations of
motion and the interpolated acceleration a, a polynomial through instants at which the equations are satisfied:

    [mu M + C + K/mu  J^T] [y]     [ M a + h + f_el - f ]
    [J                0  ] [.] = - [          0          ],      y <- F y,      q <- q + H y/mu,      v <- v + y

F y being the solution of the same matrix for (C + K/mu) y: F is nearly one for components stiffer than mu = 10/h, with
the step h, and nearly zero for softer ones, whose interpolated motion is not changed. Accelerations and multipliers
follow from the forces at the corrected state. An explicit step has no stiff components, since it would not be stable:
its states are projected on the constraints alone, as are those
of models without stiffness and damping, where F = 0. Source: docs/theory/integration.md, section 8.

Steps with many instants are corrected at six nodes. Between them, motions relative to one frame of each structure are
polynomials in time: in a structure that turns they hardly change, so that the polynomials keep its strains. So are
accelerations and internal loads, of which interpolated states would show their error times the stiffness.

A run collects instants and evaluates those of many steps together.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from typing import TypeAlias

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.layout.element import TrialError
from femb.numerics.compiler.lanes import LANES
from femb.recording.frames import Frames, SystemsAt, Through, frames_of, inputs_of, largest, projected_frames
from femb.recording.instants import Instants, InStep, Part, in_parts, with_states
from femb.system.block_lu import SingularError
from femb.system.forward import forward_balance
from femb.system.relative_motion import (
    NODES,
    PLACES,
    Links,
    absolute_accelerations,
    absolute_motion,
    links_of,
    summed,
    to_relative,
    to_relative_accelerations,
    turn,
    weights_at,
)
from femb.system.stacked import (
    EachFactors,
    Space,
    mass_factors,
    matrices_each,
    on_constraints,
    portions,
    projected_each,
)
from femb.system.system import System

State: TypeAlias = tuple[Floats, Floats]
"""q (k, n_q) and v (k, n_v) of k instants."""
Piece: TypeAlias = tuple[Ints, Frames]
"""Output at some of the instants of a part, and their numbers there."""

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
# The last four coefficients of the series of Chebyshev's polynomials through values at the nodes.
LAST: Floats = np.cos(np.arange(2, NODES)[:, None] * (np.arange(NODES) + 0.5) * np.pi / NODES) * 2.0 / NODES
# What polynomials may leave of accelerations, relative to the largest in a step.
SMALL = 1e-4
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


def _together(parts: Sequence[Part], evaluate: Callable[[list[Instants]], list[Piece]]) -> Frames:
    """The output of parts; those of the same equations, with steps of one kind, are evaluated in one call."""
    found: list[list[Piece]] = []
    for _, group in groupby(
        with_states(parts),
        lambda part: (id(part.systems.systems[0].solver), part.explicit) if isinstance(part, Instants) else None,
    ):
        instants: list[Instants] = []
        for part in group:
            if isinstance(part, Frames):
                found.append([(np.arange(len(part.time)), part)])
            else:
                instants.append(part)
        if instants:
            found.append(evaluate(instants))
    numbers, frames = zip(*_one_after_another(found), strict=True)
    return frames[0] if len(frames) == 1 else Frames.joined(list(frames), list(numbers))


def _one_after_another(found: Iterable[list[Piece]]) -> list[Piece]:
    """The pieces of parts that follow each other."""
    pieces: list[Piece] = []
    first = 0
    for each in found:
        pieces += [(first + numbers, frames) for numbers, frames in each]
        first += sum(len(numbers) for numbers, _ in each)
    return pieces


def _joined(parts: list[Instants], *words: str) -> list[Floats]:
    return [np.concatenate([getattr(part, word) for part in parts]) for word in words]


def _interpolated(parts: list[Instants]) -> list[Piece]:
    systems = SystemsAt.joined([part.systems for part in parts])
    system = systems.systems[0]
    time, q, v, work = _joined(parts, "time", "q", "v", "work")
    coordinates, rates = systems.joint_motion(q, v)
    u, a, multipliers, balance = (np.zeros((len(time), n)) for n in (system.n_u, system.n_v, system.n_c, 2))
    return [(np.arange(len(time)), Frames(time, q, v, work, u, a, multipliers, coordinates, rates, balance))]


def _evaluated(parts: list[Instants], motion_only: bool) -> list[Piece]:
    try:
        if any(part.with_nodes for part in parts):
            return _one_after_another(_through_nodes(part, motion_only) for part in parts)
        frames = _one_by_one(parts, motion_only)
    except TrialError:
        steps = [step for part in parts for step in part.of_steps()]
        if len(steps) > 1:
            return _one_after_another(_evaluated([step], motion_only) for step in steps)
        (part,) = parts
        if part.with_nodes:
            return _evaluated([part.alone(np.arange(len(part.time)))], motion_only)
        # beyond a singularity or a fold that the step itself did not reach
        frames = projected_frames(part.systems, part.time, part.q, part.v, part.work, motion_only)
    return [(np.arange(len(frames.time)), frames)]


def _one_by_one(parts: list[Instants], motion_only: bool) -> Frames:
    """The output at instants that are corrected one by one."""
    systems, space = SystemsAt.joined([part.systems for part in parts]), Space()
    system = systems.systems[0]
    time, start, end, q, v = _joined(parts, "time", "start", "end", "q", "v")
    u, mu = inputs_of(systems, _before(time, start, end), q, v), STIFF / (end - start)
    a = None if motion_only and parts[0].explicit else _joined(parts, "a")[0]
    for some in portions(system, len(mu)):
        state = u[some], q[some], v[some]
        if not parts[0].explicit:
            assert a is not None
            q[some], v[some], _ = _corrected(system, *state, a[some], mu[some], space)
        elif parts[0].form.n_c:  # coordinates of joints satisfy their constraints
            q[some], v[some] = projected_each(system, *state)
    if system.inputs_of_state:
        u = inputs_of(systems, _before(time, start, end), q, v)
    work = np.zeros((len(time), system.budget.size)) if motion_only else _joined(parts, "work")[0]
    frames = frames_of(systems, time, u, q, v, work, None if motion_only else a, motion_only)
    for k in [] if system.inputs.only_held else np.flatnonzero(time >= end).tolist():
        frames = _after_jump(systems[k : k + 1], frames, k, motion_only)
    return frames


def _before(time: Floats, start: Floats, end: Floats) -> Floats:
    """The times (k,), those at ends of steps just before them, where inputs have their left limits."""
    return np.minimum(time, np.nextafter(end, start))


def _through_nodes(part: Instants, motion_only: bool) -> list[Piece]:
    """The output at the instants of steps of which some have nodes: polynomials through these, and others alone."""
    system, steps, space = part.systems.systems[0], part.with_nodes, Space()
    alone = np.ones(len(part.time), dtype=bool)
    found: list[Piece] = []
    for some in portions(system, len(steps)):
        first, last, _ = some.indices(len(steps))
        nodes = _nodes(steps[some], space)
        inside = np.flatnonzero((part.between >= first) & (part.between < last))
        inside = inside[nodes.solved[part.between[inside] - first]]
        for which, frames in _between(part, inside, part.between[inside] - first, nodes, motion_only):
            found.append((which, frames))
            alone[which] = False
    left = np.flatnonzero(alone)
    if len(left):
        found += [(left[numbers], frames) for numbers, frames in _evaluated([part.alone(left)], motion_only)]
    return found


@dataclass(frozen=True)
class Nodes:
    """Corrected states u, q, v (m s, .) at the m nodes of s steps, first those at the first node of each.

    instants : those of the nodes, step by step. order (m s,) : their numbers there. solved (s,) : for which steps
    corrections were found.
    """

    instants: Instants
    order: Ints
    u: Floats
    q: Floats
    v: Floats
    solved: Bools

    @cached_property
    def systems(self) -> SystemsAt:
        """The Systems of the nodes."""
        return self.instants.systems.part(self.order)

    @cached_property
    def links(self) -> Links:
        """The frames that others are relative to."""
        return links_of(self.systems.systems[0].layout)

    @cached_property
    def relative(self) -> State:
        """The motion of frames relative to those before."""
        q, v = self.q.copy(), self.v.copy()
        to_relative(*self.links, q, v)
        return q, v

    @cached_property
    def forward(self) -> tuple[Frames, Floats, Floats]:
        """The output at the nodes, whose accelerations and multipliers follow from the forces; accelerations relative
        to the frame before; and residual forces, as in ``forward_balance``."""
        system, state = self.systems.systems[0], (self.q, self.v)
        a, multipliers, residual = self._balance()
        none = np.zeros((len(a), system.budget.size)), np.zeros((len(a), 2))
        time, motion = self.instants.time[self.order], self.systems.joint_motion(*state)
        at = Frames(time, *state, none[0], self.u, a, multipliers, *motion, none[1])
        relative = a.copy()
        to_relative_accelerations(self.links[0], self.q, relative)
        return at, relative, residual

    @cached_property
    def rough(self) -> Bools:
        """For which of the s steps (s,) polynomials through accelerations leave too much."""
        return _rough(self.systems.systems[0], self.forward[1])

    def _balance(self) -> tuple[Floats, Floats, Floats]:
        """Accelerations, multipliers and residual forces.

        Nodes that share a matrix share one of masses: it changes little in a step, and the residual forces are small.
        """
        system, a, state = self.systems.systems[0], self.instants.a[self.order], (self.u, self.q, self.v)
        if system.n_c:
            return forward_balance(system, *state, a)
        count = len(self.solved)
        u, q, v = (array[MIDDLE * count : (MIDDLE + 1) * count] for array in state)
        data = np.zeros((len(q), system.pattern.size))
        system.evaluation.add_masses(q, data)
        residual = system.residual(*state, a)
        change = turned(system, q, self.q, mass_factors(system, u, q, v, data).solve, residual.copy())
        return a - change, np.zeros((len(a), 0)), residual


def _between(part: Instants, which: Ints, of_step: Ints, nodes: Nodes, motion_only: bool) -> list[Piece]:
    """The output at those of the instants ``which`` (k,), inside steps with numbers of_step (k,), that are polynomials
    through nodes, and their numbers."""
    if not len(which):
        return []
    system, links = part.systems.systems[0], nodes.links
    forces = not motion_only and system.forces_recorded
    if forces and (rough := nodes.rough[of_step]).any() and not rough.all():
        parts = ((which[some], of_step[some]) for some in (~rough, rough))
        return [piece for some in parts for piece in _between(part, *some, nodes, motion_only)]
    start, end, time, systems = part.start[which], part.end[which], part.time[which], part.systems.part(which)
    of = of_step[:, None] + len(nodes.solved) * np.arange(NODES)
    weights = weights_at(PLACES[None], np.zeros_like(of_step), (time - start) / (end - start))
    q, v = (summed(of, weights, x) for x in nodes.relative)
    absolute_motion(*links, system.coordinates[2], q, v)
    u = np.zeros((len(which), system.n_u))
    if part.form.n_c or system.inputs_of_state or not motion_only:
        u = inputs_of(systems, _before(time, start, end), q, v)
    if system.n_c:
        kept = ~np.isin(of_step, of_step[~on_constraints(system, u, q, v)])
        if not kept.all():
            return _between(part, which[kept], of_step[kept], nodes, motion_only)
    work = np.zeros((len(which), system.budget.size)) if motion_only else part.work[which]
    if not forces:
        return [(which, frames_of(systems, time, u, q, v, work, motion_only=True))]
    if rough.any():
        return [(which, frames_of(systems, time, u, q, v, work, part.alone(which).a))]
    at, relative, residual = nodes.forward
    a, multipliers, residual = (summed(of, weights, x) for x in (relative, at.multipliers, residual))
    absolute_accelerations(links[0], q, a)
    motion, balance, through = systems.joint_motion(q, v), largest(system, residual), Through(at, of, weights)
    return [(which, Frames(time, q, v, work, u, a, multipliers, *motion, balance, through))]


def _rough(system: System, values: Floats) -> Bools:
    """For which of s steps (s,) polynomials through values (m s, n_v) at their m nodes leave too much.

    Two further coefficients of Chebyshev's series would be as much smaller than the last two as these are than the two
    before.
    """
    series = np.abs(np.tensordot(LAST, values.reshape(NODES, -1, system.n_v), 1))
    before, last = np.maximum(series[0], series[1]), np.maximum(series[2], series[3])
    left = last * np.minimum(1.0, last / np.maximum(before, TINY))
    sizes = np.max(np.abs(values.reshape(NODES, -1, system.n_v)), axis=0)
    layout, result = system.layout, np.zeros(len(left), dtype=bool)
    linear, angular = (layout.frame_v[layout.freedom > 3 * k, None] + 3 * k + np.arange(3) for k in range(2))
    for kind in (linear.ravel(), angular.ravel()):
        result |= left[:, kind].max(axis=1, initial=0.0) > SMALL * sizes[:, kind].max(axis=1, initial=0.0)
    return result


def _nodes(steps: Sequence[InStep], space: Space) -> Nodes:
    """The nodes of steps; those of a step share the matrix of one, which turns with the frames, unless there are
    constraints."""
    count, instants = len(steps), in_parts(steps, PLACES)
    system, mu = instants.systems.systems[0], STIFF / (instants.end - instants.start)
    of = np.arange(len(mu)).reshape(count, NODES).T
    before = _before(instants.time, instants.start, instants.end)
    u = inputs_of(instants.systems, before, instants.q, instants.v)

    def state(which: Ints) -> tuple[Floats, Floats, Floats]:
        return u[which], instants.q[which], instants.v[which]

    def nodes(q: Floats, v: Floats, solved: Bools) -> Nodes:
        order = of.ravel()
        found = Nodes(instants, order, u[order], q.reshape(len(order), -1), v.reshape(len(order), -1), solved)
        if system.inputs_of_state:
            return replace(found, u=inputs_of(found.systems, before[order], found.q, found.v))
        return found

    if system.n_c or system.without_stiffness:
        at_q, at_v, failed = np.empty_like(instants.q), np.empty_like(instants.v), np.empty(len(mu), dtype=bool)
        for some in portions(system, len(mu)):
            here = u[some], instants.q[some], instants.v[some]
            at_q[some], at_v[some], failed[some] = _corrected(system, *here, instants.a[some], mu[some], space)
        return nodes(at_q[of], at_v[of], np.logical_not(failed[of].any(axis=0)))

    def corrected(some: Ints, *at: Floats) -> tuple[Floats, Floats, Floats]:
        """q, v and the ratios (m, .) at the nodes of some of the steps, by matrices at u, q, v of all steps."""
        kept = len(some)
        if kept > LANES and not system.pattern.net:
            # the last ones again, since those that fill no register take as long as one that is full
            some = np.append(some, np.full(-kept % LANES, some[-1]))
        which = of[:, some].ravel()
        (here_u, q, v), (there_u, there_q, there_v) = state(which), (array[some] for array in at)
        shared = matrices_each(system, there_u, there_q, there_v, mu[of[0, some]], space)
        filtered = partial(turned, system, there_q, q, shared.filtered)
        _, found, ratio = _iterated(system, here_u, (q, v), instants.a[which], mu[which], filtered)
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
    return nodes(q, v, solved)


def turned(system: System, at_q: Floats, q: Floats, function: Callable[[Floats], Floats], x: Floats) -> Floats:
    """A linear function of vectors at s states at_q (s, n_q), applied to x (m s, n) at states q (m s, n_q) whose frames
    have turned; in place."""
    quaternions, vectors = system.corotated_frames
    frames = quaternions, np.ascontiguousarray(vectors[:, 0])
    there, here = at_q[None], q.reshape(-1, *at_q.shape)
    each = x.reshape(*here.shape[:2], -1)
    turn(*frames, here, there, each)
    each = function(each)
    turn(*frames, there, here, each)
    return each.reshape(x.shape)


def _after_jump(system: SystemsAt, frames: Frames, k: int, motion_only: bool) -> Frames:
    """The output, at instant k that after a jump of the inputs, if they jump there."""
    at = slice(k, k + 1)
    time, q, v = frames.time[at], frames.q[at], frames.v[at]
    there, before = inputs_of(system, time, q, v), frames.u[at]
    if np.array_equal(there, before) or np.allclose(there, before, SMOOTH, 0.0):
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
    if system.without_stiffness:
        return *projected_each(system, u, q, v), np.zeros(len(q), dtype=bool)  # F is zero
    try:
        matrices = matrices_each(system, u, q, v, mu, space)
    except SingularError as error:
        raise TrialError("the iteration matrix at an output instant is singular") from error
    interpolated = projected_each(system, u, q, v, matrices.factors)
    first, state, ratio = _iterated(system, u, interpolated, a, mu, matrices.filtered, matrices.factors)
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
            words = matrices.filtered, matrices.factors
            first, found, ratio = _iterated(system, u[some], given, a[some], mu[some], *words)
        except (SingularError, TrialError):
            found, ratio = given, np.zeros(len(some))
        state[0][some], state[1][some] = found
    # strongly nonlinear forces, as with a contact that just opens: the interpolated state without correction
    worse = some[~(ratio <= 1.0)]
    state[0][worse], state[1][worse], failed[worse] = interpolated[0][worse], interpolated[1][worse], True
    return *state, failed


def _iterated(
    system: System,
    u: Floats,
    state: State,
    a: Floats,
    mu: Floats,
    filtered: Callable[[Floats], Floats],
    factors: EachFactors | None = None,
) -> tuple[State, State, Floats]:
    """q, v after the first and after all `CORRECTIONS`, and the ratio (k,) of the sizes of the last and the first."""
    (q, v), free = state, np.zeros((len(mu), system.n_c))
    states, sizes = [], []
    for _ in range(CORRECTIONS):
        x = filtered(-system.equations(u, q, v, a, free))
        y = np.ascontiguousarray(x[:, : system.n_v])
        q, v = q + system.rates(q, y) / mu[:, None], v + y
        system.normalise(q)
        q, v = projected_each(system, u, q, v, factors)
        states.append((q, v))
        sizes.append(np.max(np.abs(y), axis=1, initial=0.0))
    return states[0], states[-1], sizes[-1] / np.maximum(sizes[0], TINY)
