"""What a state means: poses, velocities, momenta, energies, and accelerations with the forces in the hinges."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.formulations.hamiltonian.acceleration_kernels import accelerations
from femb.formulations.hamiltonian.actions import at_time
from femb.formulations.hamiltonian.rate_kernels import wrenches
from femb.formulations.hamiltonian.sweep_kernels import multiply, place, spatial_inertias, sum_outboard, velocities
from femb.formulations.hamiltonian.tree import Tree


@dataclass(frozen=True)
class Motion:
    """Rows are the base (0) and the segments (k + 1); spatial quantities are about the base's origin, inertial axes.

    R (rows, 3, 3): attitudes. hinge, center (rows, 3): hinge points and mass centres, from the base's origin, m.
    S (rows, 6): hinge motions. M (rows, 6, 6): spatial inertias. v, h (rows, 6): velocities, and the momenta of all
    that is outboard. origin_of_base (3,), m. q, rate (n,).
    """

    tree: Tree
    q: Floats
    rate: Floats
    R: Floats
    hinge: Floats
    center: Floats
    S: Floats
    M: Floats
    v: Floats
    h: Floats
    origin_of_base: Floats

    @classmethod
    def of(cls, tree: Tree, q: Floats, rate: Floats, base: Floats, pose: Floats | None = None) -> "Motion":
        """Of coordinates and velocities; base (6,): its velocity (omega, v), inertial axes; pose (7,): where it is."""
        from femb.numerics.rotations import normalise, rotation_matrix

        rows = tree.n + 1
        R, hinge, c, S = np.empty((rows, 3, 3)), np.empty((rows, 3)), np.empty((rows, 3)), np.zeros((rows, 6))
        M, v, h = np.empty((rows, 6, 6)), np.empty((rows, 6)), np.empty((rows, 6))
        R[0] = np.eye(3) if pose is None else rotation_matrix(normalise(pose[3:]))
        place(tree.parent_rows, tree.data, q, R, hinge, c, S)
        spatial_inertias(tree.data, R, c, M)
        v[0] = base
        velocities(tree.parent_rows, S, rate, v)
        multiply(M, v, h)
        sum_outboard(tree.parent_rows, h)
        return cls(tree, q, rate, R, hinge, c, S, M, v, h, np.zeros(3) if pose is None else pose[:3].copy())

    @property
    def p(self) -> Floats:
        """(n,): momenta of the hinges, p_k = S_k . h_k, equation (8)."""
        return np.einsum("ki,ki->k", self.S[1:], self.h[1:])

    @property
    def kinetic_energy(self) -> float:
        """J."""
        return 0.5 * float(np.einsum("ki,kij,kj->", self.v, self.M, self.v))

    @property
    def linear_momentum(self) -> Floats:
        """(3,) kg m/s of the whole tree."""
        return self.h[0, 3:].copy()

    @property
    def angular_momentum(self) -> Floats:
        """(3,) kg m2/s of the whole tree about the inertial origin."""
        return self.h[0, :3] + np.cross(self.origin_of_base, self.h[0, 3:])

    def position(self, name: str) -> Floats:
        """(3,) m: origin of a body's own frame, inertial."""
        k = self.tree.body(name)
        local = self.R[k + 1] @ self.tree.origin[k] if k >= 0 else 0.0
        return self.origin_of_base + self.hinge[k + 1] + local

    def velocity(self, name: str) -> Floats:
        """(3,) m/s of that origin."""
        v = self.v[self.tree.body(name) + 1]
        return v[3:] + np.cross(v[:3], self.position(name) - self.origin_of_base)

    def angular_velocity(self, name: str) -> Floats:
        """(3,) rad/s, body axes."""
        k = self.tree.body(name) + 1
        return self.R[k].T @ self.v[k, :3]

    def attitude(self, name: str) -> Floats:
        """(3, 3): body to inertial."""
        return self.R[self.tree.body(name) + 1].copy()


@dataclass(frozen=True)
class TreeAccelerations:
    """Of a motion: second (n,) hinge accelerations; a (rows, 6) rates of v at the point held still; force (rows, 6)
    carried by each hinge, from the inner to the outer segment, about the base's origin; drive (n,) what a drive or
    latch exerts along its coordinate, zero elsewhere.
    """

    second: Floats
    a: Floats
    force: Floats
    drive: Floats
    motion: Motion

    def reaction(self, coordinate: str) -> tuple[Floats, Floats]:
        """Force and torque (3,) on the outer segment at its hinge, inertial axes; N, N m."""
        k = self.motion.tree.index(coordinate) + 1
        force = self.force[k, 3:].copy()
        return force, self.force[k, :3] - np.cross(self.motion.hinge[k], force)


def motion_of(form: Any, t: float, y: Floats) -> Motion:
    """Motion of a state of a HamiltonianForm."""
    rate, v = form.velocities(t, y)
    return Motion.of(form.tree, y[form.q_slice].copy(), rate, v[0], y[:7] if form.tree.floating else None)


def accelerations_of(form: Any, t: float, y: Floats) -> TreeAccelerations:
    """TreeAccelerations of a state of a HamiltonianForm."""
    tree, motion = form.tree, form.motion(t, y)
    q, rate, rows = motion.q, motion.rate, tree.n + 1
    W, a, f, second = np.empty((rows, 6)), np.empty((rows, 6)), np.empty((rows, 6)), np.empty(tree.n)
    factors, _ = form._inputs(t, 1)
    wrenches(tree.data, tree.gravity, form._places, form._loads, factors[0], motion.R, motion.hinge, motion.center, W)
    given = np.zeros(tree.n)
    for drive in form.drives:
        given[tree.index(drive.coordinate)] = at_time(drive.acceleration, t)
    force = form.generalized(t, q, rate) - tree.stiffness * (q - tree.rest) - tree.damping * rate
    accelerations(
        tree.parent_rows,
        tree.floating,
        form._driven,
        given,
        motion.S,
        motion.M.copy(),
        motion.v,
        rate,
        force,
        W,
        second,
        a,
        f,
    )
    along = np.einsum("ki,ki->k", motion.S[1:], f[1:])
    return TreeAccelerations(second, a, f, np.where(form._driven, along - force, 0.0), motion)
