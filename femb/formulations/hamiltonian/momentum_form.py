"""Formulation "hamiltonian": a System's tree of rigid bodies in coordinates and momenta.

    q = (r, e, hinge coordinates),    v = (L, P, hinge momenta)        r, e, L and P only for a free base

The kernels of this package evaluate rates and momenta, weight, and linear springs and dashpots of joints. The System's
elements evaluate all other forces, at the positions and velocities of the bodies; these forces are applied to the
segments. For a driven or latched hinge v contains its rate instead of its momentum. Output, events and the impulses of
latches are evaluated by the System. Source: docs/theory/hamiltonian.md, sections 2 to 7 and 11.
"""

from copy import copy
from dataclasses import replace

import numpy as np

from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints
from femb.formulations.hamiltonian.held import driven_hinges, prescribed_motions
from femb.formulations.hamiltonian.hinge_forces import does_work, other_batches
from femb.formulations.hamiltonian.momentum_equations import Loads, MomentumEquations
from femb.formulations.hamiltonian.motion import TreeAccelerations
from femb.formulations.hamiltonian.system_tree import SystemTree
from femb.formulations.transformed import Transformed, refused
from femb.layout.discrete import DiscreteState
from femb.layout.element import TrialError
from femb.numerics import kinematics, rotations
from femb.system.system import System


class MomentumForm(Transformed):
    """A System in coordinates q (n_q,) and momenta v (n_v,).

    n_c : number of driven and latched hinges; their multipliers are the forces (N) and torques (N m) of drivers and
    latches. Raises ModelError if the model is not a tree of rigid bodies, or is singular at the start.
    """

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.map = SystemTree(system)
        self.tree = self.map.tree
        self._list_forces()
        self._list_driven()
        self.n_q, self.n_v = self.momentum_equations.n_q, self.momentum_equations.n_v
        self.q0, self.v0 = self.from_system(system.q0, system.v0)
        self._check_start()

    def _list_forces(self) -> None:
        """Set the batches whose forces the System evaluates, and the frames and their points on the segments."""
        self._others = other_batches(self.system, self.map.tree_springs)
        for batch in self._others:
            mass = np.zeros(self.system.pattern.size)
            batch.mass(self.system.q0, mass)
            if mass.any():
                name = type(batch).__name__
                raise refused(f"'hamiltonian' knows the masses of bodies alone, got some of {name}; use 'velocity'")
        self._works = any(map(does_work, self.system.batches))
        carried = [(frame, position) for frame, position in self.map.frames.items() if position.moves]
        frames = np.array([frame for frame, _ in carried], dtype=np.int64)
        self._frames = self.layout.frame_q[frames], self.layout.frame_v[frames]
        self._rows = np.array([position.segment + 1 for _, position in carried], dtype=np.int64)
        self._points = np.array([position.origin for _, position in carried]).reshape(-1, 3)

    def _list_driven(self) -> None:
        self._driven = driven_hinges(self.system, self.map.hinge_of)
        self.n_c = len(self._driven)
        self._hinges = np.array([driven.hinge for driven in self._driven], dtype=np.int64)
        driven = np.zeros(self.tree.n, dtype=np.bool_)
        driven[self._hinges] = True
        self.momentum_equations = MomentumEquations(self.tree, driven)

    def _check_start(self) -> None:
        """Raise ModelError for a start at which a hinge moves no mass."""
        try:
            self.momentum_equations.speeds(self.q0[None], self.v0[None])
        except TrialError as problem:
            raise refused(f"'hamiltonian': at the start, {problem}") from problem

    # The equations

    def _loads(self, u: Floats, q: Floats, v: Floats) -> Loads:
        """Wrenches of the batches ``_others`` on the segments at one state, inertial components."""
        if not self._others:
            return self.momentum_equations.no_loads
        system = self.system
        Q, V = self.to_system(q[None], v[None])
        force, still = np.zeros((1, system.n_v)), np.zeros((1, system.n_v))
        for batch in self._others:
            batch.residual(u[None], Q, V, still, force)
        at_q, at_v = (frame[:, None] for frame in self._frames)
        quaternions = rotations.normalise(Q[0, at_q + np.arange(3, 7)])
        torque = rotations.rotate(quaternions, force[0, at_v + np.arange(3, 6)])
        return self._rows, np.concatenate([self._points, -force[0, at_v + np.arange(3)], -torque], axis=1)

    def forward(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (n_v,) and the forces of drivers and latches (n_c,) at one state. Raises TrialError."""
        loads = self._loads(u, q, v)
        change = self.momentum_equations.rates(q[None], v[None], loads)[1][0]
        if not self.n_c:
            return change, np.zeros(0)
        second = self._second_of_driven(u)
        change[self._in_v] = second[self._hinges]
        return change, self.momentum_equations.accelerations(q, v, loads, second).drive[self._hinges]

    def accelerations(self, u: Floats, q: Floats, v: Floats) -> TreeAccelerations:
        """Accelerations, forces through the hinges and forces of drivers and latches, at one state."""
        return self.momentum_equations.accelerations(q, v, self._loads(u, q, v), self._second_of_driven(u))

    def _second_of_driven(self, u: Floats) -> Floats:
        second = np.zeros(self.tree.n)
        second[self._hinges] = prescribed_motions(self._driven, u)[:, 2]
        return second

    @property
    def _in_v(self) -> Ints:
        """Indices of driven hinges in v."""
        return self.momentum_equations.first_v + self._hinges

    def power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers."""
        power = self.system.power(u, *self.to_system(q, v)) if self._works else np.zeros(len(q))
        if multipliers is not None and self.n_c:
            power = power + np.sum(multipliers * v[:, self._in_v], axis=1)
        return power

    def rates(self, q: Floats, v: Floats) -> Floats:
        """q' (s, n_q)."""
        return self.momentum_equations.rates(q, v, self.momentum_equations.no_loads)[0]

    @property
    def has_stages(self) -> bool:
        """Whether all forces are those of the recursion, and no hinge is driven."""
        return not self.n_c and not self._others

    def stages(self, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats) -> Floats:
        """Stages of an explicit step in one call; see ``femb.formulations.contract.WithStages``."""
        return self.momentum_equations.stages(A, first, last, h, y0, K)

    def second_rates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """q'' (s, n_q) for v' = a."""
        return np.array([self.momentum_equations.second_rate(*state) for state in zip(q, v, a, strict=True)])

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The momenta (s, n_v) at which q (n_q,) or (s, n_q) has the rates dq (s, n_q)."""
        return np.array(
            [self.momentum_equations.tangent(*at) for at in zip(np.broadcast_to(q, dq.shape), dq, strict=True)]
        )

    def stiff_jacobian(self, t: float, q: Floats, v: Floats) -> Floats:
        """(n_q + n_v, n_q + n_v) stiff part of the derivative of the rates: springs and dampers of hinges."""
        return self.momentum_equations.stiff_jacobian(q, v)

    # States

    def to_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The System's q (s, .) and v (s, .) at s states."""
        rate, velocity = self.momentum_equations.speeds(q, v)
        return self.map.to_system(q, rate, velocity[:, 0])

    def accelerations_to_system(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """v' of the System at s states whose momenta have the rates a."""
        Q, V = self.to_system(q, v)
        out = np.zeros_like(V)
        at_q, at_v = (frame[:, None] for frame in self._frames)
        rows = self._rows
        for k in range(len(q)):
            tree = self.momentum_equations.with_momentum_rates(q[k], v[k], a[k])
            alpha, spin = tree.a[rows, :3], tree.motion.v[rows, :3]
            arm = Q[k, at_q + np.arange(3)] - tree.motion.origin_of_base
            velocity = V[k, at_v + np.arange(3)]
            # a is the rate of v at a fixed point; the material acceleration adds omega x velocity of the frame's origin
            out[k, at_v + np.arange(3)] = tree.a[rows, 3:] + np.cross(alpha, arm) + np.cross(spin, velocity)
            quaternions = rotations.normalise(Q[k, at_q + np.arange(3, 7)])
            out[k, at_v + np.arange(3, 6)] = rotations.rotate_back(quaternions, alpha)
        return out

    def from_system(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q (n_q,) and momenta (n_v,) of one state of the System."""
        pose, hinges, rate, base = self.map.hinge_motion(q, v, self.system.discrete.angles)
        q = np.concatenate([pose, hinges])
        return q, self.momentum_equations.momenta(q, rate, base)

    def at(self, q: Floats) -> "MomentumForm":
        """The same form after a step to q, from which joint angles are unwrapped."""
        if not self.system.coordinates_of_joints.is_angle.any():
            return self
        other, hinges = copy(self), self.map.hinge_of
        if (hinges >= 0).all():  # q counts revolutions
            angles = q[self.momentum_equations.first + hinges]
            other.system = self.system.with_discrete(replace(self.system.discrete, angles=angles))
        else:
            Q, _ = self.map.to_system(q[None], np.zeros((1, self.tree.n)), np.zeros((1, 6)))
            other.system = self.system.at(Q[0])
        return other

    def joint_angles(self, q: Floats) -> Floats:
        """The joint coordinates (s, m) from which those of the System at s states are unwrapped."""
        hinges = self.map.hinge_of
        counted = len(hinges) and (hinges >= 0).all()
        return q[:, self.momentum_equations.first + hinges] if counted else super().joint_angles(q)

    def _update_discrete(self, previous: DiscreteState) -> None:
        self._list_driven()

    def normalise(self, q: Floats) -> float:
        """Scale the base's quaternion to unit length, in place; returns the largest |e.e - 1| on entry."""
        first = np.array([3] if self.tree.floating else [], dtype=np.int64)
        return float(kinematics.normalise_each(first, q.reshape(-1, self.n_q)))

    def projected(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v with the prescribed values of driven hinges."""
        q, v = q.copy(), v.copy()
        prescribed = prescribed_motions(self._driven, u)
        in_q = self.momentum_equations.first + self._hinges
        change = prescribed[:, 0] - q[in_q]
        revolutions = np.where(self.tree.sliding[self._hinges], 0.0, np.round(change / (2.0 * np.pi)))
        q[in_q] += change - 2.0 * np.pi * revolutions
        v[self._in_v] = prescribed[:, 1]
        return q, v

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """Groups and tolerances; for momenta those of their velocities times the effective inertia at the start."""
        position, quaternion, _ = atol.values(rtol)
        hinges = np.where(self.tree.sliding, position, quaternion)
        inertia = self.momentum_equations.inertia(self.q0, self.v0)
        of_q, of_v = hinges, hinges * np.where(self.momentum_equations.driven, 1.0, inertia[6:])
        first, sizes_q, sizes_v = np.zeros(0, dtype=np.int64), [1] * self.tree.n, [1] * self.tree.n
        if self.tree.floating:
            first, sizes_q, sizes_v = np.array([0, 3]), [3, 4, *sizes_q], [3, 3, *sizes_v]
            of_q = np.append([position, quaternion], of_q)
            of_v = np.append([quaternion * inertia[:3].min(), position * inertia[3:6].min()], of_v)
        start_q, start_v = (
            np.append(first, np.arange(k, k + self.tree.n))
            for k in (self.momentum_equations.first, self.momentum_equations.first_v)
        )
        return (start_q, np.array(sizes_q), of_q, rtol), (start_v, np.array(sizes_v), of_v / atol.time, rtol)
