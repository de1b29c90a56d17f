"""Formulation "hamiltonian": a System's tree of rigid bodies in coordinates and momenta, as a stepper sees it.

    q = (r, e, hinge coordinates),    v = (L, P, hinge momenta)        r, e, L and P where the base is a free body

Rates and momenta are those of the kernels of this package; weight and linear springs and dashpots of joints are theirs
too. Every other force is evaluated by the System's own elements, at the bodies' positions and velocities, and applied
to the segments. A driven or latched hinge has its rate in the place of its momentum. Output, events and what a latch
takes are the System's. Source: docs/theory/hamiltonian.md, sections 2 to 7 and 11.
"""

from copy import copy
from typing import Any

import numpy as np

from femb import kinematics, rotations
from femb.batch import Batch, TrialError
from femb.discrete import Discrete
from femb.elements.constraint_batch import ConstraintBatch
from femb.elements.joint_force_batch import JointForceBatch
from femb.elements.mass_batch import MassBatch
from femb.errors import ModelError
from femb.formulations.hamiltonian.acceleration_kernels import accelerations
from femb.formulations.hamiltonian.actions import Drive
from femb.formulations.hamiltonian.form import HamiltonianForm
from femb.formulations.hamiltonian.held import held_hinges, motions
from femb.formulations.hamiltonian.motion import Motion, TreeAccelerations
from femb.formulations.hamiltonian.rate_kernels import state_rates, wrenches
from femb.formulations.hamiltonian.sweep_kernels import turn_rate
from femb.formulations.hamiltonian.system_tree import SystemTree
from femb.options import Tolerances
from femb.types import Floats


class MomentumForm:
    """A System seen by a stepper in coordinates q (n_q,) and momenta v (n_v,).

    n_c counts driven and latched hinges; their multipliers are the forces (N) and torques (N m) of what holds them.
    Raises ModelError for what is no tree of rigid bodies, or cannot move as described.
    """

    def __init__(self, system: Any) -> None:
        self.system, self.model, self.layout = system, system.model, system.layout
        self.map = SystemTree(system)
        tree = self.tree = self.map.tree
        self.floating, n = tree.floating, tree.n
        self._first = 7 if self.floating else 0
        self._first_v = 6 if self.floating else 0
        self.n_q, self.n_v = self._first + n, self._first_v + n
        self.breakpoints, self.watched = system.breakpoints, system.watched
        self.inputs_of_state = system.inputs_of_state
        places = np.array([3] if self.floating else [], dtype=np.int64)
        linear = np.arange(self.n_q if not self.floating else 3)
        self.coordinates = (linear, linear, places, places)
        self._list_forces()
        self._list_held()
        self.q0, self.v0 = self.from_configuration(system.q0, system.v0)
        self._check_start()

    def _list_forces(self) -> None:
        """The batches whose forces the kernels do not know, and where frames are on the segments."""
        native = set(map(id, self.map.native))
        self._others: list[Batch] = []
        for batch in self.system.batches:
            if isinstance(batch, JointForceBatch):
                batch = _without(batch, native)
            if not isinstance(batch, MassBatch | ConstraintBatch) and batch is not None:
                self._others.append(batch)
        self._works = any(_does_work(batch) for batch in self.system.batches)
        carried = [(frame, each) for frame, each in self.map.carriers.items() if each.moves]
        frames = np.array([frame for frame, _ in carried], dtype=np.int64)
        self._frames = self.layout.frame_q[frames], self.layout.frame_v[frames]
        self._rows = np.array([[each.segment + 1, 0] for _, each in carried], dtype=np.int64).reshape(-1, 2)
        self._points = np.array([each.origin for _, each in carried]).reshape(-1, 3)
        self._nowhere = np.zeros((0, 2), dtype=np.int64), np.zeros((0, 9))

    def _list_held(self) -> None:
        self._held = held_hinges(self.system, self.map.hinge_of)
        self.n_c = len(self._held)
        self._hinges = np.array([each.hinge for each in self._held], dtype=np.int64)
        self._driven = np.zeros(self.tree.n, dtype=np.bool_)
        self._driven[self._hinges] = True

    def _check_start(self) -> None:
        """Refuse a start in which a hinge moves nothing of its own."""
        try:
            self._speeds(self.q0[None], self.v0[None])
        except TrialError as problem:
            raise ModelError.at(("run", "formulation"), f"'hamiltonian': at the start, {problem}") from problem

    # The equations

    def _evaluate(self, q: Floats, v: Floats, places: Any, loads: Floats, only_speeds: bool) -> tuple[Floats, ...]:
        """Rates (s, n_q + n_v), hinge rates (s, n) and velocities (s, rows, 6) about the base's origin of s states."""
        tree, count = self.tree, len(q)
        Y = np.concatenate([q, v], axis=1)
        out, rate, velocity = np.empty_like(Y), np.empty((count, tree.n)), np.empty((count, tree.n + 1, 6))
        given = np.where(self._driven, v[:, self._first_v :], 0.0)
        switches = np.array([self.floating, False, only_speeds], dtype=np.int64)
        failed = state_rates(
            tree.parent_rows, tree.data, switches, self._driven, given, tree.gravity, places, loads,
            np.ones((1, len(loads))), np.zeros((1, tree.n)), Y, rate, velocity, out,
        )  # fmt: skip
        if failed or not np.all(np.isfinite(rate)):
            raise TrialError(self._singular(failed - 1, q))
        return out, rate, velocity

    def _speeds(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Hinge rates (s, n) and velocities (s, rows, 6)."""
        _, rate, velocity = self._evaluate(q, v, *self._nowhere, True)
        return rate, velocity

    def _singular(self, k: int, q: Floats) -> str:
        if k < 0 or not np.all(np.isfinite(q)):
            return "the state is not finite"
        at = f"{self.tree.names[k]} moves no mass that hinges further out do not move as well"
        where = ", ".join(
            f"{self.tree.names[i]} = {q[0, self._first + i]:.6g}" for i in np.flatnonzero(self.tree.ancestors[k])[:4]
        )
        return (
            f"{at} ({where}): hinge axes at a point lie in a plane, as those of a ball joint a quarter turn from its "
            "start, or a body has no inertia about its own axis"
        )

    def _loads(self, u: Floats, q: Floats, v: Floats) -> tuple[Any, Floats]:
        """Wrenches of the System's other elements on the segments: rows (m, 2), and loads (m, 9) as the kernels take
        them, in inertial components."""
        if not self._others:
            return self._nowhere
        system = self.system
        Q, V = self.configuration(q[None], v[None])
        force, still = np.zeros((1, system.n_v)), np.zeros((1, system.n_v))
        for batch in self._others:
            batch.residual(u[None], Q, V, still, force)
        at_q, at_v = (each[:, None] for each in self._frames)
        turns = rotations.normalise(Q[0, at_q + np.arange(3, 7)])
        torque = rotations.rotate(turns, force[0, at_v + np.arange(3, 6)])
        return self._rows, np.concatenate([self._points, -force[0, at_v + np.arange(3)], -torque], axis=1)

    def forward(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """v' (n_v,), and what drivers and latches exert (n_c,), at one state. Raises TrialError at a singular one."""
        places, loads = self._loads(u, q, v)
        change = self._evaluate(q[None], v[None], places, loads, False)[0][0, self.n_q :]
        if not self.n_c:
            return change, np.zeros(0)
        change[self._first_v + self._hinges] = motions(self._held, u)[:, 2]
        return change, self._accelerations(u, q, v, places, loads).drive[self._hinges]

    def acceleration(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """v' (n_v,)."""
        return self.forward(u, q, v)[0]

    def motion(self, q: Floats, v: Floats) -> Motion:
        """Attitudes, velocities and momenta of the segments at one state."""
        rate, velocity = self._speeds(q[None], v[None])
        return self._moving(q, rate[0], velocity[0, 0])

    def _moving(self, q: Floats, rate: Floats, base: Floats) -> Motion:
        pose = q[:7] if self.floating else None
        hinges = np.ascontiguousarray(q[self._first :])
        return Motion.of(self.tree, hinges, np.ascontiguousarray(rate), base, pose)

    def accelerations(self, u: Floats, q: Floats, v: Floats) -> TreeAccelerations:
        """Accelerations, forces through the hinges and what drivers and latches exert, at one state."""
        places, loads = self._loads(u, q, v)
        return self._accelerations(u, q, v, places, loads)

    def _accelerations(self, u: Floats, q: Floats, v: Floats, places: Any, loads: Floats) -> TreeAccelerations:
        tree = self.tree
        motion = self.motion(q, v)
        W = np.empty((tree.n + 1, 6))
        factors = np.ones(len(loads))
        wrenches(tree.data, tree.gravity, places, loads, factors, motion.R, motion.hinge, motion.center, W)
        given = np.zeros(tree.n)
        given[self._hinges] = motions(self._held, u)[:, 2]
        force = -tree.stiffness * (motion.q - tree.rest) - tree.damping * motion.rate
        return self._solved(motion, given, force, W)

    def _solved(self, motion: Motion, given: Floats, force: Floats, W: Floats) -> TreeAccelerations:
        """Of forces (n,) along the hinges and wrenches W (rows, 6) on the segments; held hinges as ``given`` (n,)."""
        tree = self.tree
        a, f, second = np.empty((tree.n + 1, 6)), np.empty((tree.n + 1, 6)), np.empty(tree.n)
        accelerations(
            tree.parent_rows, tree.floating, self._driven, given, motion.S, motion.M.copy(), motion.v, motion.rate,
            force, W, second, a, f,
        )  # fmt: skip
        along = np.einsum("ki,ki->k", motion.S[1:], f[1:])
        return TreeAccelerations(second, a, f, np.where(self._driven, along - force, 0.0), motion)

    def power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers."""
        power = self.system.power(u, *self.configuration(q, v)) if self._works else np.zeros(len(q))
        if multipliers is not None and self.n_c:
            power = power + np.sum(multipliers * v[:, self._first_v + self._hinges], axis=1)
        return power

    def rates(self, q: Floats, v: Floats) -> Floats:
        """q' (s, n_q)."""
        return np.ascontiguousarray(self._evaluate(q, v, *self._nowhere, False)[0][:, : self.n_q])

    def second_rates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """q'' (s, n_q) where v' = a."""
        return np.array([self._second(*each) for each in zip(q, v, a, strict=True)])

    def _second(self, q: Floats, v: Floats, a: Floats) -> Floats:
        tree, hinges = self.tree, a[self._first_v :]
        motion = self.motion(q, v)
        # what is left of p' without h . (v x S) are the generalized forces; equation (13)
        turning, force = np.empty(6), np.empty(tree.n)
        for k in range(tree.n):
            turn_rate(motion.S, motion.v, k + 1, turning)
            force[k] = hinges[k] - motion.h[k + 1] @ turning
        W = np.zeros((tree.n + 1, 6))
        if self.floating:
            W[0] = np.concatenate([a[:3] - np.cross(q[:3], a[3:6]), a[3:6]])
        found = self._solved(motion, np.where(self._driven, hinges, 0.0), force, W)
        if not self.floating:
            return found.second
        # the point held still has the acceleration of the origin less omega x v
        base, (spin, speed) = found.a[0], np.split(motion.v[0], 2)
        omega, alpha = (rotations.rotate_back(rotations.normalise(q[3:7]), x) for x in (spin, base[:3]))
        turn = rotations.quaternion_rate(rotations.quaternion_rate(q[3:7], omega), omega)
        turn += rotations.quaternion_rate(q[3:7], alpha)
        return np.concatenate([base[3:] + np.cross(spin, speed), turn, found.second])

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The momenta (s, n_v) that change q (n_q,) at the rates dq (s, n_q)."""
        return np.array([self.momenta(q, each[self._first :], self._base_velocity(q, each)) for each in dq])

    def _base_velocity(self, q: Floats, dq: Floats) -> Floats:
        if not self.floating:
            return np.zeros(6)
        e = q[3:7]
        omega = 2.0 * rotations.rate_body(e) @ dq[3:7] / (e @ e)
        return np.concatenate([rotations.rotate(rotations.normalise(e), omega), dq[:3]])

    def momenta(self, q: Floats, rate: Floats, base: Floats) -> Floats:
        """v (n_v,) of hinge rates (n,) and the base's velocity (6,)."""
        motion = self._moving(q, rate, base)
        p = np.where(self._driven, rate, motion.p)
        if not self.floating:
            return p
        return np.concatenate([motion.angular_momentum, motion.linear_momentum, p])

    def stiff_jacobian(self, t: float, q: Floats, v: Floats) -> Floats:
        """(n_q + n_v square) what is stiff in the derivative of the rates: springs and dampers of hinges."""
        drives = [Drive(self.tree.names[k]) for k in self._hinges]
        return HamiltonianForm(self.tree, drives=drives).jacobian(t, np.concatenate([q, v]))

    # States

    @property
    def velocity_form(self) -> Any:
        """The system it is the form of."""
        return self.system

    def configuration(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The System's q (s, .) and v (s, .) at s states."""
        rate, velocity = self._speeds(q, v)
        return self.map.configuration(q, rate, velocity[:, 0])

    def from_configuration(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q (n_q,) and momenta (n_v,) of one state of the System."""
        pose, hinges, rate, base = self.map.hinge_motion(q, v, self.system.discrete.angles)
        mine = np.concatenate([pose, hinges])
        return mine, self.momenta(mine, rate, base)

    def state(self, t: float, q: Floats, v: Floats) -> Any:
        """The named bodies and joints at an instant."""
        Q, V = self.configuration(q[None], v[None])
        return self.system.state(t, Q[0], V[0])

    def at(self, q: Floats) -> "MomentumForm":
        """The same form with the turns of its joints as they are after a step to q."""
        if not self.system.coordinates_of_joints.is_angle.any():
            return self
        Q, _ = self.map.configuration(q[None], np.zeros((1, self.tree.n)), np.zeros((1, 6)))
        other = copy(self)
        other.system = self.system.at(Q[0])
        return other

    def with_discrete(self, discrete: Discrete) -> "MomentumForm":
        """The same form in another discrete state."""
        other = copy(self)
        other.system = self.system.with_discrete(discrete)
        other._list_held()
        return other

    def normalise(self, q: Floats) -> float:
        """Scale the base's quaternion to unit length, in place; returns |e.e - 1| before."""
        return kinematics.normalise(self.coordinates[2], q)

    def projected(self, u: Floats, q: Floats, v: Floats, factors: Any = None) -> tuple[Floats, Floats]:
        """q and v with the hinges that are held where they are held."""
        q, v = q.copy(), v.copy()
        wanted = motions(self._held, u)
        places = self._first + self._hinges
        away = wanted[:, 0] - q[places]
        turns = np.where(self.tree.sliding[self._hinges], 0.0, np.round(away / (2.0 * np.pi)))
        q[places] += away - 2.0 * np.pi * turns
        v[self._first_v + self._hinges] = wanted[:, 1]
        return q, v

    def inputs_at(self, t: float, q: Floats, v: Floats) -> Floats:
        """u (n_u,) at time t and a state."""
        if not self.system.inputs_of_state:
            return self.system.inputs_at(t, self.system.q0, self.system.v0)
        Q, V = self.configuration(q[None], v[None])
        return self.system.inputs_at(t, Q[0], V[0])

    def watch(self, t: float, q: Floats, v: Floats, *rest: Any) -> Any:
        """Look for postures that a motion cannot go on through."""
        return self.system.watch(t, *self.configuration(q, v), *rest)

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Momenta to the tolerance of their velocities, times the inertia that these move at the start."""
        position, turn, _ = atol.values(rtol)
        hinges = np.where(self.tree.sliding, position, turn)
        drives = [Drive(self.tree.names[k]) for k in self._hinges]
        inertia = HamiltonianForm(self.tree, drives=drives).inertia(0.0, np.concatenate([self.q0, self.v0]))
        start, size, scale = np.arange(self._first, self.n_q), np.ones(self.tree.n, dtype=np.int64), hinges
        start_v, scale_v = np.arange(self._first_v, self.n_v), hinges * np.where(self._driven, 1.0, inertia[6:])
        size_v = size
        if self.floating:
            start, size, scale = np.append([0, 3], start), np.append([3, 4], size), np.append([position, turn], scale)
            start_v, size_v = np.append([0, 3], start_v), np.append([3, 3], size_v)
            scale_v = np.append([turn * inertia[:3].min(), position * inertia[3:6].min()], scale_v)
        return (start, size, scale, rtol), (start_v, size_v, scale_v / atol.time, rtol)


def _without(batch: JointForceBatch, native: set[int]) -> JointForceBatch | None:
    """The batch with the linear springs and dampers that the hinges have taken over set to zero; None of nothing."""
    taken = np.array([id(item) in native for item in batch.items])
    if taken.all():
        return None
    other = copy(batch)
    other.data = np.where(taken[:, None], 0.0, batch.data)
    return other


def _does_work(batch: Batch) -> bool:
    """Whether a batch may have power: not if it is made of springs alone."""
    if isinstance(batch, JointForceBatch):
        return any(getattr(item, "damping", 1.0) or getattr(item, "force", None) for item in batch.items)
    return type(batch).applied is not Batch.applied
