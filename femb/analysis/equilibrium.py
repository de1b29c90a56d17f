"""Equilibrium at rest or in steady rotation, from which a motion can start without shaking its structure."""

import numpy as np

from femb.analysis.regularisation import AdaptiveShift, CautiousShift, MassShift
from femb.analysis.rigid_motion import RigidMotion, rigid_motions
from femb.analysis.statics import Balanced, Statics, in_load_steps
from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats
from femb.layout.element import TrialError
from femb.system.system import System

SMALLEST_LOAD_STEP = 1.0 / 512.0


def steady_start(system: System) -> tuple[Floats, Floats]:
    """q (n_q,), v (n_v,) of the steady motion that the start velocities describe, loads as at time zero.

    Every connected structure keeps the angular velocity of its start, and the velocity of its mass centre, and is
    strained so that each part has the acceleration of that rigid motion; one held by the ground, or at rest, is in
    static equilibrium. Newton's iteration first under the whole load, and if that fails in load steps, regularised by
    the inertia of the rotation where a structure is free. With joints, drivers and latches the constraints hold too:
    drivers stay where they begin, and what joints connect moves as one structure. See ``femb.analysis.statics``.

    Raises SolveError where there is no such state: a free structure under a net load, or turning about an axis that is
    not a principal one; or where the iteration does not converge. Raises ModelError where joints turn at the start, and
    where a mechanism that the ground holds can move with nothing against it.
    """
    if system.n_c:
        _check_rates(system)
    motions: list[RigidMotion] = []

    def rigid(q: Floats, v: Floats, a: Floats) -> None:
        for motion in motions:
            motion.state(q, v, a)

    statics = Statics(system, rigid)
    motions += rigid_motions(statics.twin)
    for motion in motions:
        motion.check_axis()
    spin2 = max((float(motion.omega @ motion.omega) for motion in motions), default=0.0)
    free = any(motion.free for motion in motions)

    def solved(before: Balanced, load: float) -> Balanced:
        if not system.n_c:
            return statics.solve(before, load, MassShift(spin2, free=free))
        try:
            return statics.solve(before, load, AdaptiveShift(spin2))
        except SolveError:
            if load < 1.0:
                raise
            return statics.solve(before, load, CautiousShift(spin2))

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
    for motion in motions:
        motion.check(found.q, found.force)
    if system.n_c:
        _check_held(statics, motions, found)
    v, a = np.zeros((2, system.n_v))
    rigid(found.q, v, a)
    try:
        return system.projected(system.inputs_at(0.0, found.q, v), found.q, v)
    except TrialError as error:
        raise SolveError(
            f"no equilibrium found to start from: {error} where the forces are in balance, a posture in which rows of "
            "constraints depend on each other; start nearer"
        ) from error


def _check_rates(system: System) -> None:
    turning = [name for name in system.layout.joints if np.any(system.model.tables["joints"][name].rates or 0.0)]
    if turning:
        raise ModelError.at(
            ("run", "start"),
            f"'equilibrium' moves what joints connect as one body, but {turning[0]!r} is given rates: leave them out, "
            "or look for steady motion with femb.trim",
        )


def _check_held(statics: Statics, motions: list[RigidMotion], found: Balanced) -> None:
    """Refuse an equilibrium from which what the ground holds can move without a force against it."""
    grounded = ~np.any([motion.mask for motion in motions if motion.free] or [np.zeros_like(motions[0].mask)], axis=0)
    loose = statics.unheld(found, grounded) if np.any(grounded) else ""
    if loose:
        raise ModelError.at(
            ("run", "start"),
            f"'equilibrium' is not one place: joints leave {loose} free to move with nothing against it, no spring and "
            "no weight; use 'as_given' or 'assembled', or add what holds it",
        )
