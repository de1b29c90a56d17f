"""Equilibrium at rest or in steady rotation, from which a motion can start without shaking its structure."""

import math
import warnings

import numpy as np

from femb.base.errors import FembWarning, ModelError, SolveError
from femb.base.types import Floats
from femb.base.values import listed
from femb.layout.connections import components, groups_of
from femb.layout.element import TrialError
from femb.statics.equations import AdaptiveShift, CautiousShift, MassShift, Regularisation
from femb.statics.neutral import LISTED, moves_freely
from femb.statics.path import LoadPath
from femb.statics.solve import Balanced, Statics, in_load_steps
from femb.statics.stability import negative_stiffness
from femb.system.rigid_motion import RigidMotion
from femb.system.system import System

SMALLEST_LOAD_STEP = 1.0 / 512.0
# Newton's iterations on first-order states, and the last step, relative to the values.
SETTLING, SETTLED = 50, 1e-12
WARNED = 0.5  # degrees by which a structure turns against its axis
OPENED = 1e-9  # rate of a row of constraints that a velocity does not have


def in_equilibrium(system: System, held: str | None = None) -> System:
    """The system in the steady motion of ``steady_start``. Warns where this is unstable, of motions of joints that
    nothing resists, of given velocities that it does not have, and of structures that turn to another axis.

    held : a body that analyses hold, which keeps its axis whatever moment across it this takes.
    """
    path, found = _balanced(system, held)
    state = path.judged(found)
    said = list(path.statics.left_out)
    free = moves_freely(system.layout, found.q, state.neutral)
    said += [f"{text}; the start leaves it where it is" for text in free]
    if state.negative > 0 and not state.follows:
        said.append(
            f"the start is an unstable equilibrium: {negative_stiffness(state.negative)}; the least disturbance moves "
            "the structure away from it"
        )
    said += [
        f"the equilibrium turns {motion.labels!r} by {angle:.3g} degrees against its axis of rotation, to a principal "
        "axis of inertia"
        for motion in path.statics.motions
        if (angle := math.degrees(motion.turned_to(found.q))) >= WARNED
    ]
    system = _counted(system, path)
    q, v = _started(system, path, found)
    stopped = [
        frame.label
        for k, frame in enumerate(system.layout.frames)
        if frame.freedom
        and not v[(part := slice(system.layout.frame_v[k], system.layout.frame_v[k] + frame.freedom))].any()
        and system.v0[part].any()
    ]
    if stopped:
        said.append(
            "what is held by the ground starts at rest, without its given velocity: "
            f"{listed(stopped, LISTED)}; a motion from an equilibrium goes on from its results, run.start = "
            '{ results = "..." }, or begins with a load'
        )
    for text in said:
        warnings.warn(text, FembWarning, stacklevel=3)
    return system.starting_at(q, v)


def steady_start(system: System) -> tuple[Floats, Floats]:
    """q (n_q,), v (n_v,) of the steady motion that the start velocities describe, loads as at time zero.

    Every connected structure keeps the angular velocity of its start, and the velocity of its mass centre, and is
    strained so that each part has the acceleration of that rigid motion. One that turns in bearings of the ground,
    freely or by a driver, keeps its rotation about their axis; any other one held by the ground, or at rest, is in
    static equilibrium. Newton's iteration first under the whole load, and if that fails in load steps, regularised by
    the inertia of the rotation where a structure is free. With joints, drivers and latches the constraints hold too:
    drivers stay where they begin. What joints connect moves as one structure; where drivers move its parts, it begins
    with its start velocities. What nothing resists stays where it is. See ``femb.statics.solve``.

    Raises SolveError where there is no such state: a free structure under a net load, or turning about an axis that is
    not a principal one; or where the iteration does not converge. Raises ModelError where joints turn at the start.
    """
    path, found = _balanced(system)
    return _started(_counted(system, path), path, found)


def _balanced(system: System, held: str | None = None) -> tuple[LoadPath, Balanced]:
    """The state of ``steady_start`` in balance, and what found it; held : as in ``in_equilibrium``."""
    if system.n_c:
        check_rates(system)
    statics = Statics(system)
    motions = statics.motions
    holding = statics.twin.layout.bodies[held] if held is not None else -1
    for motion in motions:
        if motion.free and motion.turns(holding):
            motion.carried, motion.owner = True, holding
        motion.check_axis()
    path = LoadPath(statics)
    shifts = [AdaptiveShift, CautiousShift] if system.n_c else []

    def solved(before: Balanced, load: float) -> Balanced:
        attempts: list[Regularisation] = [shift(path.spin2) for shift in (shifts if load == 1.0 else shifts[:1])]
        found = path.first_solved(attempts or [MassShift(path.spin2, free=path.free)], before, load)
        statics.advanced(found.q)
        return found

    start = Balanced(system.q0, np.zeros(system.n_v), np.zeros(system.n_c))
    try:
        found = solved(start, 1.0)
    except SolveError as first:
        for motion in motions:
            motion.check(system.q0, statics.forces(system.q0, 1.0)[1])
        try:
            found = in_load_steps(solved, start, 1.0, 0.25, SMALLEST_LOAD_STEP if system.n_u else 1.0)
        except SolveError:
            raise first from None
    found = path.snapped(found)
    for motion in motions:
        motion.check(found.q, found.force)
    return path, found


def _counted(system: System, path: LoadPath) -> System:
    """The system with the turns of joints that the path counts, and the springs that have snapped on it."""
    discrete = path.statics.twin.discrete
    return system if discrete is system.discrete else system.with_discrete(discrete)


def _started(system: System, path: LoadPath, found: Balanced) -> tuple[Floats, Floats]:
    v = _as_driven(system, found.q, path.statics.motion(found.q)[0])
    try:
        q, v = system.projected(system.inputs_at(0.0, found.q, v), found.q, v)
        return q, _settled(system, q, v)
    except TrialError as error:
        raise SolveError(
            f"no equilibrium found to start from: {error} where the forces are in balance, a posture in which rows of "
            "constraints depend on each other; start nearer"
        ) from error


def _as_driven(system: System, q: Floats, v: Floats) -> Floats:
    """v (n_v,) with the start velocities of structures that drivers move, but do not turn as one body."""
    if not system.n_c:
        return v
    rates = system.constraint_rates(system.inputs_at(0.0, q, v)[None], q[None], v[None])[0]
    layout, v = system.layout, v.copy()
    opened = np.flatnonzero(np.abs(rates[layout.row_c]) > OPENED * max(1.0, float(np.max(np.abs(rates)))))
    moved = {frame for row in opened.tolist() for frame in layout.rows[row]}
    for group in groups_of(layout, joined=True):
        if not moved.isdisjoint(group):
            own = RigidMotion(system, group).mask
            v[own] = system.v0[own]
    return v


def _settled(system: System, q: Floats, v: Floats) -> Floats:
    """v (n_v,) in which first-order states that act on nothing but each other have no rate, as filters that measure.

    Others, and those whose rate does not depend on them, as integrals, stay at their start: they would move the
    structure out of its equilibrium. States that act on each other are settled together. See docs/theory/states.md.
    """
    states = system.layout.first_order_v
    if not states.size:
        return v
    v, still = v.copy(), np.zeros_like(v)
    by_states = system.pattern.to_csc(system.tangent(system.inputs_at(0.0, q, v), q, v, still)[0])[:, states].toarray()
    A, others = by_states[states], np.delete(by_states, states, axis=0)
    pairs = np.argwhere(A != 0.0).tolist()
    groups = np.array(components(len(states), pairs))
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        if np.any(others[:, members]) or np.linalg.matrix_rank(A[np.ix_(members, members)]) < len(members):
            continue
        of = states[members]
        for _ in range(SETTLING):
            u = system.inputs_at(0.0, q, v)
            rate = system.residual(u[None], q[None], v[None], still[None])[0][of]
            tangent = system.pattern.to_csc(system.tangent(u, q, v, still)[0])[:, of].toarray()[of]
            step = np.linalg.solve(tangent, rate)
            v[of] -= step
            if np.all(np.abs(step) <= SETTLED * np.abs(v[of])):
                break
        else:
            name = system.layout.velocity_labels()[of[0]]
            raise SolveError(
                f"no equilibrium found to start from: {name!r} does not come to rest in {SETTLING} iterations"
            )
    return v


def check_rates(system: System) -> None:
    """Raise ModelError for an equilibrium of joints with given rates, as one body has none."""
    joints = system.model.joints
    turning = [name for name in system.layout.joints if (rates := joints[name].rates) is not None and np.any(rates)]
    if turning:
        raise ModelError.at(
            ("run", "start"),
            f"'equilibrium' moves what joints connect as one body, but {turning[0]!r} is given rates: leave them out, "
            "or look for steady motion with femb.trim",
        )
