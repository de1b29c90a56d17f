"""Equilibrium at rest or in steady rotation, from which a motion can start without shaking its structure."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from femb.analysis.statics import Balanced, Statics
from femb.base.errors import ModelError, SolveError
from femb.base.options import Tolerances
from femb.base.types import Floats
from femb.layout.element import TrialError
from femb.numerics import rotations
from femb.numerics.kinematics import error_norm
from femb.system.block_lu import SingularError
from femb.system.initial_velocity import components
from femb.system.system import System

ITERATIONS = 50
LARGEST_TURN = 0.3  # rad, of one iteration
SMALLEST_LOAD_STEP = 1.0 / 512.0
LOOSE = 1e-6  # relative size of a net force or moment that no strain can balance
# Angle (rad) between an axis of rotation and the angular momentum about it that typed numbers leave.
NEARLY_PRINCIPAL = 1e-6


def steady_start(system: System) -> tuple[Floats, Floats]:
    """q (n_q,), v (n_v,) of the steady motion that the start velocities describe, loads as at time zero.

    Every connected structure keeps the angular velocity of its start, and the velocity of its mass centre, and is
    strained so that each part has the acceleration of that rigid motion; one held by the ground, or at rest, is in
    static equilibrium. Newton's iteration, regularised by the inertia of the rotation where a structure is free; first
    with the iteration tangent under the whole load, and if that fails with the exact tangent in load steps.

    With joints, drivers and latches the constraints hold too (femb.analysis.statics): drivers stay where they begin,
    and what joints connect moves as one structure.

    Raises SolveError where there is no such state: a free structure under a net load, or turning about an axis that is
    not a principal one; or where the iteration does not converge. Raises ModelError where joints turn at the start, and
    where a mechanism that the ground holds can move with nothing against it.
    """
    if system.n_c:
        return _held_start(system)
    motions = [_Motion(system, frames) for frames in _structures(system)]
    for motion in motions:
        motion.check_axis()
    try:
        q, force = _solve(system, motions, system.q0, 1.0, exact=False)
    except SolveError as first:
        for motion in motions:
            motion.check(system.q0, _forces(system, motions, system.q0, 1.0)[1])
        start = (system.q0, np.zeros(system.n_v))
        q, force = _in_load_steps(
            system, lambda before, load: _solve(system, motions, before[0], load, exact=True), start, first
        )
    v, a = np.zeros(system.n_v), np.zeros(system.n_v)
    for motion in motions:
        motion.check(q, force)
        motion.state(q, v, a)
    return q, v


def _held_start(system: System) -> tuple[Floats, Floats]:
    """The same with constraints."""
    turning = [name for name in system.layout.joints if np.any(system.model.tables["joints"][name].rates or 0.0)]
    if turning:
        raise ModelError.at(
            ("run", "start"),
            f"'equilibrium' moves what joints connect as one body, but {turning[0]!r} is given rates: leave them out, "
            "or look for steady motion with femb.trim",
        )
    motions: list[_Motion] = []

    def rigid(q: Floats, v: Floats, a: Floats) -> None:
        for motion in motions:
            motion.state(q, v, a)

    statics = Statics(system, rigid)
    twin = statics.twin
    motions += [_Motion(twin, frames) for frames in _structures(twin)]
    for motion in motions:
        motion.check_axis()
    spin2 = max(float(motion.omega @ motion.omega) for motion in motions)
    none = Balanced(system.q0, np.zeros(twin.n_v), np.zeros(twin.n_c))

    def solved(before: Balanced, load: float) -> Balanced:
        try:
            return statics.solve(before.q, load, before.multipliers, spin2)
        except SolveError:
            if load < 1.0:
                raise
            return statics.solve(before.q, load, before.multipliers, spin2, cautious=True)

    try:
        found = solved(none, 1.0)
    except SolveError as first:
        for motion in motions:
            motion.check(system.q0, statics.forces(system.q0, 1.0)[1])
        found = _in_load_steps(system, solved, none, first)
    v, a = np.zeros((2, system.n_v))
    u = twin.at(found.q).inputs_at(0.0, found.q, v)
    force = twin.equations(u[None], found.q[None], v[None], a[None], found.multipliers[None])[0, : twin.n_v]
    for motion in motions:
        motion.check(found.q, found.force if motion.free else force)
    grounded = ~np.any([motion.mask for motion in motions if motion.free] or [np.zeros(twin.n_v, bool)], axis=0)
    loose = statics.unheld(found, grounded) if np.any(grounded) else ""
    if loose:
        raise ModelError.at(
            ("run", "start"),
            f"'equilibrium' is not one place: joints leave {loose} free to move with nothing against it, no spring and "
            "no weight; use 'as_given' or 'assembled', or add what holds it",
        )
    rigid(found.q, v, a)
    try:
        return system.projected(system.inputs_at(0.0, found.q, v), found.q, v)
    except TrialError as error:
        raise SolveError(
            f"no equilibrium found to start from: {error} where the forces are in balance, a posture in which rows of "
            "constraints depend on each other; start nearer"
        ) from error


State = TypeVar("State")


def _in_load_steps(system: System, solved: Callable[[State, float], State], zero: State, first: SolveError) -> State:
    """Raise the inputs from zero, in steps that are halved where the iteration fails and doubled where it does not."""
    found, reached, part = zero, 0.0, 0.25
    while reached < 1.0:
        trial = min(1.0, reached + part)
        try:
            found = solved(found, trial)
        except SolveError:
            part *= 0.5
            if part < SMALLEST_LOAD_STEP or not system.n_u:
                raise first from None
            continue
        reached, part = trial, 2.0 * part
    return found


def _forces(system: System, motions: list["_Motion"], q: Floats, load: float) -> tuple[Any, Floats]:
    """(u, v, a) at a share of the load, and the residual force (n_v,)."""
    v, a = np.zeros(system.n_v), np.zeros(system.n_v)
    for motion in motions:
        motion.state(q, v, a)
    # what follows the discrete state, such as the turn of a joint, is no load
    loads = np.concatenate([[], *(np.full(each.width, not each.of_discrete) for each in system.inputs)])
    u = np.where(loads, load, 1.0) * system.inputs_at(0.0, q, v)
    return (u, v, a), system.residual(u[None], q[None], v[None], a[None])[0]


def _solve(system: System, motions: list["_Motion"], q: Floats, load: float, exact: bool) -> tuple[Floats, Floats]:
    """Coordinates in equilibrium at a share of the load, from those of another, and the residual force there."""
    spin2 = max(float(motion.omega @ motion.omega) for motion in motions)
    any_free = any(motion.free for motion in motions)
    scale, _ = system.error_scale(1e-12, Tolerances(1e-12, 1e-12, 1e-13))
    spins = (system.coordinates[3][:, None] + np.arange(3)).ravel()
    step = np.inf
    for _ in range(ITERATIONS):
        try:
            (u, v, a), force = _forces(system, motions, q, load)
            mass, _, stiffness = system.matrices(u, q, v)
            if exact:
                stiffness = system.tangent(u, q, v, a)[1]
            shift = max(spin2, 1e-6 * float(np.max(np.abs(stiffness)) / np.max(np.abs(mass)))) if any_free else 0.0
            change = system.solver.factorise(stiffness + shift * mass).solve(-force)
        except (TrialError, SingularError) as error:
            raise SolveError(f"no equilibrium found to start from: {error}") from error
        if not np.all(np.isfinite(change)):
            break
        # a turn is only nearly a vector: larger ones would overshoot
        turned = float(np.max(np.abs(change[spins]), initial=0.0))
        change *= min(1.0, LARGEST_TURN / turned) if turned > 0.0 else 1.0
        moved = system.rates(q[None], change[None])[0]
        q = q + moved
        system.normalise(q)
        previous, step = step, error_norm(*scale, moved, q)
        if step < 1.0 or (step < 1e3 and step > 0.5 * previous):
            return q, force
    raise SolveError(
        f"no equilibrium found to start from in {ITERATIONS} iterations (last change {step:.2g} times the tolerance): "
        "the structure may buckle or turn too fast for its stiffness; start as given, or with a smaller load or rate"
    )


def _structures(system: System) -> list[list[int]]:
    group = components(system.layout, through_springs=True)
    return [[k for k in range(len(group)) if group[k] == each] for each in sorted(set(group))]


class _Motion:
    """The rigid motion of one connected structure: angular velocity and velocity of its mass centre, inertial axes."""

    def __init__(self, system: System, frames: list[int]) -> None:
        self.system = system
        layout = system.layout
        self.frames = [k for k in frames if layout.frames[k].freedom]
        self.free = len(self.frames) == len(frames)
        self.labels = layout.frames[frames[0]].label
        self.omega = np.zeros(3)
        owner = {k for k in self.frames if layout.frames[k].freedom == 6}
        if self.free and owner:
            k = min(owner)
            i, j = layout.frame_q[k] + 3, layout.frame_v[k] + 3
            self.omega = rotations.rotate(system.q0[i : i + 4], system.v0[j : j + 3])
        self.mask = np.zeros(system.n_v, dtype=bool)
        for k in self.frames:
            self.mask[layout.frame_v[k] : layout.frame_v[k] + layout.frames[k].freedom] = True
        for s, strain_owner in enumerate(layout.strain_owner):
            self.mask[layout.strain_v[s]] = strain_owner in owner
        self.mass = self._mass_centre(system.q0)[0]
        start = np.where(self.mask, system.v0, 0.0)
        momentum = system.energy_momentum(system.q0[None], start[None])[0, 2:5]
        self.velocity = momentum / self.mass if self.free else np.zeros(3)

    def _mass_centre(self, q: Floats) -> tuple[float, Floats, Floats]:
        """Mass, mass centre, and angular momentum (3,) about it of the rotation."""
        own = np.where(self.mask, self.system.rigid_velocities(q), 0.0)
        momenta = np.array([self.system.energy_momentum(q[None], v[None])[0, 2:] for v in own])
        mass = float(momenta[0, 0])
        centre = np.array([momenta[5, 1], momenta[3, 2], momenta[4, 0]]) / mass
        spin = self.omega @ momenta[3:, 3:] - mass * np.cross(centre, np.cross(self.omega, centre))
        return mass, centre, spin

    def state(self, q: Floats, v: Floats, a: Floats) -> None:
        """Set velocities and accelerations of the structure's frames."""
        layout = self.system.layout
        if not self.free:
            return
        centre = self._mass_centre(q)[1]
        for k in self.frames:
            i, j = layout.frame_q[k], layout.frame_v[k]
            arm = q[i : i + 3] - centre
            v[j : j + 3] = self.velocity + np.cross(self.omega, arm)
            a[j : j + 3] = np.cross(self.omega, np.cross(self.omega, arm))
            if layout.frames[k].freedom == 6:
                v[j + 3 : j + 6] = rotations.rotate_back(q[i + 3 : i + 7], self.omega)

    def check_axis(self) -> None:
        """Refuse an axis that is not a principal one at the start: the iteration would turn the structure into one."""
        spin = self._mass_centre(self.system.q0)[2]
        moment = np.cross(self.omega, spin)
        if np.linalg.norm(moment) > NEARLY_PRINCIPAL * np.linalg.norm(self.omega) * np.linalg.norm(spin):
            self._refuse(np.concatenate([np.zeros(3), moment]))

    def check(self, q: Floats, force: Floats) -> None:
        """Refuse a net force or moment on a free structure."""
        if not self.free:
            return
        net = self.system.rigid_velocities(q) @ np.where(self.mask, force, 0.0)
        largest = float(np.max(np.abs(net)))
        typical = float(np.max(np.abs(force))) + self.mass * float(self.omega @ self.omega)
        if largest > LOOSE * typical and largest > 1e-9:
            self._refuse(-net)

    def _refuse(self, needed: Floats) -> None:
        needed = needed + 0.0  # no minus zeros
        raise SolveError(
            f"no steady motion to start from: the structure of {self.labels!r} would need a net force "
            f"({', '.join(f'{x:.3g}' for x in needed[:3])}) N and moment about the origin "
            f"({', '.join(f'{x:.3g}' for x in needed[3:])}) N m to keep its angular velocity; turn it about a "
            "principal axis of inertia, remove loads that act at the start, or start as given"
        )
