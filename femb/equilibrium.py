"""Equilibrium at rest or in steady rotation, from which a motion can start without shaking its structure."""

import numpy as np

from femb import rotations
from femb.batch import TrialError
from femb.blocktree import SingularError
from femb.errors import SolveError
from femb.kinematics import error_norm
from femb.options import Tolerances
from femb.start import components
from femb.system import System
from femb.types import Floats

ITERATIONS = 200
LOOSE = 1e-6  # relative size of a net force or moment that no strain can balance


def steady_start(system: System) -> tuple[Floats, Floats]:
    """q (n_q,), v (n_v,) of the steady motion that the start velocities describe, loads as at time zero.

    Every connected structure keeps the angular velocity of its start, and the velocity of its mass centre, and is
    strained so that each part has the acceleration of that rigid motion; one held by the ground, or at rest, is in
    static equilibrium. Newton's iteration with the iteration tangent, regularised by the rotation's inertia.

    Raises SolveError where there is no such state: a free structure under a net load, or turning about an axis that is
    not a principal one; or where the iteration does not converge.
    """
    motions = [_Motion(system, frames) for frames in _structures(system)]
    q = system.q0.copy()
    spin2 = max(float(motion.omega @ motion.omega) for motion in motions)
    any_free = any(motion.free for motion in motions)
    scale, _ = system.error_scale(1e-12, Tolerances(1e-12, 1e-12, 1e-13))
    step = np.inf
    for _ in range(ITERATIONS):
        v, a = np.zeros(system.n_v), np.zeros(system.n_v)
        for motion in motions:
            motion.state(q, v, a)
        u = system.inputs_at(0.0, q, v)
        try:
            force = system.residual(u[None], q[None], v[None], a[None])[0]
            mass, _, stiffness = system.matrices(u, q, v)
            shift = max(spin2, 1e-6 * float(np.max(np.abs(stiffness)) / np.max(np.abs(mass)))) if any_free else 0.0
            change = system.solver.factorise(stiffness + shift * mass).solve(-force)
        except (TrialError, SingularError) as error:
            raise SolveError(f"no equilibrium found to start from: {error}") from error
        largest = float(np.max(np.abs(change)))
        if not np.isfinite(largest):
            break
        change *= min(1.0, 0.3 / largest) if largest > 0.0 else 1.0
        q = q + system.rates(q[None], change[None])[0]
        system.normalise(q)
        previous, step = step, error_norm(*scale, system.rates(q[None], change[None])[0], q)
        if step < 1.0 or (step < 1e3 and step > 0.5 * previous):
            for motion in motions:
                motion.check(q, force)
            for motion in motions:
                motion.state(q, v, a)
            return q, v
    for motion in motions:
        motion.check(q, force)
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
        momentum, self.mass, _ = self._mass_centre(system.q0)
        self.velocity = momentum / self.mass if self.free else np.zeros(3)

    def _mass_centre(self, q: Floats) -> tuple[Floats, float, Floats]:
        """Linear momentum at the start velocities, mass and mass centre."""
        own = np.where(self.mask, self.system.rigid_velocities(q), 0.0)
        momenta = np.array([self.system.energy_momentum(q[None], v[None])[0, 2:] for v in own])
        mass = float(momenta[0, 0])
        centre = np.array([momenta[5, 1], momenta[3, 2], momenta[4, 0]]) / mass
        start = np.where(self.mask, self.system.v0, 0.0)
        return self.system.energy_momentum(self.system.q0[None], start[None])[0, 2:5], mass, centre

    def state(self, q: Floats, v: Floats, a: Floats) -> None:
        """Set velocities and accelerations of the structure's frames."""
        layout = self.system.layout
        if not self.free:
            return
        centre = self._mass_centre(q)[2]
        for k in self.frames:
            i, j = layout.frame_q[k], layout.frame_v[k]
            arm = q[i : i + 3] - centre
            v[j : j + 3] = self.velocity + np.cross(self.omega, arm)
            a[j : j + 3] = np.cross(self.omega, np.cross(self.omega, arm))
            if layout.frames[k].freedom == 6:
                v[j + 3 : j + 6] = rotations.rotate_back(q[i + 3 : i + 7], self.omega)

    def check(self, q: Floats, force: Floats) -> None:
        """Refuse a net force or moment on a free structure."""
        if not self.free:
            return
        net = self.system.rigid_velocities(q) @ np.where(self.mask, force, 0.0)
        largest = float(np.max(np.abs(net)))
        typical = float(np.max(np.abs(force))) + self.mass * float(self.omega @ self.omega)
        if largest > LOOSE * typical and largest > 1e-9:
            raise SolveError(
                f"no steady motion to start from: the structure of {self.labels!r} would need a net force "
                f"({', '.join(f'{x:.3g}' for x in -net[:3])}) N and moment about the origin "
                f"({', '.join(f'{x:.3g}' for x in -net[3:])}) N m to keep its angular velocity; turn it about a "
                "principal axis of inertia, remove loads that act at the start, or start as given"
            )
