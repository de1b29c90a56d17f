"""Equations of a Tree with driven hinges: velocities, rates, accelerations and momenta of a state.

A state is (q, v): coordinates q = (r, e, hinges) and momenta v = (L, P, hinges); r, e, L and P only for a free base. v
contains the rate of a driven hinge instead of its momentum. Loads are the arguments of ``rate_kernels.wrenches``.
Source: docs/theory/hamiltonian.md, sections 2 to 7.
"""

from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.formulations.hamiltonian.momentum_kernels import accelerations
from femb.formulations.hamiltonian.motion import TreeAccelerations, TreeMotion
from femb.formulations.hamiltonian.rate_kernels import stage_rates, state_rates, wrenches
from femb.formulations.hamiltonian.sweep_kernels import convective_rates
from femb.formulations.hamiltonian.tree import Tree
from femb.layout.element import TrialError
from femb.numerics import rotations

Loads = tuple[Ints, Floats]
"""Rows (m,) of the base (0) and segments, and their loads (m, 9): point (segment axes), force, torque (inertial)."""


class MomentumEquations:
    """Equations of a tree with driven hinges, ``driven`` (n,) bool. first, first_v: first hinge in q, v; n_q, n_v."""

    def __init__(self, tree: Tree, driven: Any) -> None:
        self.tree, self.driven = tree, driven
        self.first, self.first_v = (7, 6) if tree.floating else (0, 0)
        self.n_q, self.n_v = self.first + tree.n, self.first_v + tree.n
        self._undriven = np.zeros((1, tree.n))
        self.no_loads: Loads = np.zeros(0, dtype=np.int64), np.zeros((0, 9))

    def rates(self, q: Floats, v: Floats, loads: Loads) -> tuple[Floats, Floats]:
        """q' (s, n_q) and v' (s, n_v) at s states; v' of driven hinges is zero. Raises TrialError."""
        out = self._evaluate(q, v, loads, False)[0]
        return np.ascontiguousarray(out[:, : self.n_q]), out[:, self.n_q :]

    def stages(self, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats) -> Floats:
        """Stages of an explicit step without loads; see ``femb.formulations.contract.WithStages``."""
        tree, y = self.tree, np.empty_like(y0)
        failed = stage_rates(
            tree.parent_rows, tree.data, tree.floating, self.driven, self._undriven, tree.gravity, *self.no_loads,
            A, first, last, h, y0, K, y,
        )  # fmt: skip
        if failed:
            raise TrialError(self._singular(failed - 1, y[None]))
        return y

    def speeds(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Hinge rates (s, n), and velocities (s, rows, 6) about the base's origin, base first."""
        return self._evaluate(q, v, self.no_loads, True)[1:]

    def _evaluate(self, q: Floats, v: Floats, loads: Loads, only_speeds: bool) -> tuple[Floats, Floats, Floats]:
        tree, count = self.tree, len(q)
        Y = np.concatenate([q, v], axis=1)
        out, rate, velocity = np.empty_like(Y), np.empty((count, tree.n)), np.empty((count, tree.n + 1, 6))
        given = np.where(self.driven, v[:, self.first_v :], 0.0)
        failed = state_rates(
            tree.parent_rows, tree.data, tree.floating, only_speeds, self.driven, given, tree.gravity, *loads,
            Y, rate, velocity, out,
        )  # fmt: skip
        if failed or not np.all(np.isfinite(rate)):
            raise TrialError(self._singular(failed - 1, q))
        return out, rate, velocity

    def _singular(self, k: int, q: Floats) -> str:
        if k < 0 or not np.all(np.isfinite(q)):
            return "the state is not finite"
        names = self.tree.names
        outboard = np.flatnonzero(self.tree.ancestors[k])[:4]
        values = ", ".join(f"{names[i]} = {q[0, self.first + i]:.6g}" for i in outboard)
        return (
            f"{names[k]} moves no mass that hinges further out do not move as well ({values}): hinge axes at a point "
            "lie in a plane, as those of a ball joint a quarter turn from its start, or a body has no inertia about "
            "its own axis"
        )

    def motion(self, q: Floats, v: Floats) -> TreeMotion:
        """Attitudes, velocities and momenta of the segments at one state."""
        rate, velocity = self.speeds(q[None], v[None])
        return self.moving(q, rate[0], velocity[0, 0])

    def moving(self, q: Floats, rate: Floats, base: Floats) -> TreeMotion:
        """The same for hinge rates (n,) and the base's velocity (6,), inertial axes."""
        pose = q[:7] if self.tree.floating else None
        hinges = np.ascontiguousarray(q[self.first :])
        return TreeMotion.of(self.tree, hinges, np.ascontiguousarray(rate), base, pose)

    def momenta(self, q: Floats, rate: Floats, base: Floats) -> Floats:
        """v (n_v,) for hinge rates (n,) and the base's velocity (6,)."""
        motion = self.moving(q, rate, base)
        p = np.where(self.driven, rate, motion.p)
        if not self.tree.floating:
            return p
        return np.concatenate([motion.angular_momentum, motion.linear_momentum, p])

    def tangent(self, q: Floats, dq: Floats) -> Floats:
        """The momenta (n_v,) at which q (n_q,) has the rates dq (n_q,)."""
        base = np.zeros(6)
        if self.tree.floating:
            e = q[3:7]
            omega = 2.0 * rotations.rate_body(e) @ dq[3:7] / (e @ e)
            base = np.concatenate([rotations.rotate(rotations.normalise(e), omega), dq[:3]])
        return self.momenta(q, dq[self.first :], base)

    def accelerations(self, q: Floats, v: Floats, loads: Loads, given: Floats) -> TreeAccelerations:
        """Accelerations and forces through the hinges; given (n,) : accelerations of driven hinges."""
        tree, motion = self.tree, self.motion(q, v)
        W = np.empty((tree.n + 1, 6))
        wrenches(tree.data, tree.gravity, *loads, motion.R, motion.hinge, motion.center, W)
        force = -tree.stiffness * (motion.q - tree.rest) - tree.damping * motion.rate
        return self._solved(motion, given, force, W)

    def _solved(self, motion: TreeMotion, given: Floats, force: Floats, W: Floats) -> TreeAccelerations:
        """Accelerations for forces (n,) along the hinges and wrenches W (rows, 6) on the segments."""
        tree = self.tree
        a, f, second = np.empty((tree.n + 1, 6)), np.empty((tree.n + 1, 6)), np.empty(tree.n)
        accelerations(
            tree.parent_rows, tree.floating, self.driven, given, motion.S, motion.M.copy(), motion.v, motion.rate,
            force, W, second, a, f,
        )  # fmt: skip
        along = np.einsum("ki,ki->k", motion.S[1:], f[1:])
        return TreeAccelerations(second, a, f, np.where(self.driven, along - force, 0.0), motion)

    def with_momentum_rates(self, q: Floats, v: Floats, a: Floats) -> TreeAccelerations:
        """Accelerations of a state with v' = a (n_v,)."""
        tree, hinges, motion = self.tree, a[self.first_v :], self.motion(q, v)
        # p' less h . (v x S) is the generalized force, equation (13)
        convective = np.empty(tree.n)
        convective_rates(motion.S, motion.v, motion.h, convective)
        W = np.zeros((tree.n + 1, 6))
        if tree.floating:
            W[0] = np.concatenate([a[:3] - np.cross(q[:3], a[3:6]), a[3:6]])
        return self._solved(motion, np.where(self.driven, hinges, 0.0), hinges - convective, W)

    def second_rate(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """q'' (n_q,) for v' = a (n_v,)."""
        result = self.with_momentum_rates(q, v, a)
        motion = result.motion
        if not self.tree.floating:
            return result.second
        # the acceleration at the fixed point is that of the origin less omega x v
        base, (spin, speed) = result.a[0], np.split(motion.v[0], 2)
        omega, alpha = (rotations.rotate_back(rotations.normalise(q[3:7]), x) for x in (spin, base[:3]))
        quaternion_acceleration = rotations.quaternion_rate(rotations.quaternion_rate(q[3:7], omega), omega)
        quaternion_acceleration += rotations.quaternion_rate(q[3:7], alpha)
        return np.concatenate([base[3:] + np.cross(spin, speed), quaternion_acceleration, result.second])

    def stiff_jacobian(self, q: Floats, v: Floats) -> Floats:
        """(n_q + n_v, n_q + n_v): the stiff part of the derivative of the rates, for simplified Newton iteration.

        Stiffness and damping of hinges with the inverse of the energy matrix; derivatives of this matrix, of gravity
        and of loads are neglected. The iteration converges as long as the step resolves the motion.
        """
        tree, free = self.tree, ~self.driven
        mobility = self._mobility(q, v)[6:, 6:]
        at_q, at_v = slice(self.first, self.n_q), slice(self.n_q + self.first_v, None)
        J = np.zeros((self.n_q + self.n_v, self.n_q + self.n_v))
        J[at_q, at_v] = mobility
        J[at_v, at_q] = -np.diag(tree.stiffness * free)
        J[at_v, at_v] = -(tree.damping * free)[:, None] * mobility
        return J

    def inertia(self, q: Floats, v: Floats) -> Floats:
        """Effective inertia (6 + n,) of each velocity of the base and each hinge rate, with all others free.

        The reciprocals of the diagonal of the inverse energy matrix, inf for zero. The error of a momentum divided by
        it is the error of a velocity.
        """
        mobility = np.diag(self._mobility(q, v))
        result: Floats = np.divide(1.0, mobility, out=np.full(mobility.size, np.inf), where=mobility > 0.0)
        return result

    def _mobility(self, q: Floats, v: Floats) -> Floats:
        """(6 + n, 6 + n): the inverse of the energy matrix, zero for driven hinges and a base on the ground."""
        A = self.motion(q, v).energy_matrix
        moving = np.concatenate([np.full(6, self.tree.floating), ~self.driven])
        mobility = np.zeros_like(A)
        mobility[np.ix_(moving, moving)] = np.linalg.inv(A[np.ix_(moving, moving)])
        return mobility
