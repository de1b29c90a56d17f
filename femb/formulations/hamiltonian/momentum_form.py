"""Formulation "hamiltonian": a System's tree of rigid bodies in coordinates and momenta.

    q = (r, e, hinge coordinates),    v = (L, P, hinge momenta)        r, e, L and P only for a free base

The kernels of this package evaluate rates and momenta, weight, and linear springs and dashpots of joints. The System's
elements evaluate all other forces, at the positions and velocities of the bodies; these forces are applied to the
segments. For a driven or latched hinge v contains its rate instead of its momentum. Output, events and the impulses of
latches are evaluated by the System. Source: docs/theory/hamiltonian.md, sections 2 to 7 and 11.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats, Ints
from femb.base.values import frozen_array
from femb.formulations.contract import Transformed, refused
from femb.formulations.hamiltonian.momentum_kernels import (
    accelerations,
    convective_rates,
    stage_rates,
    state_rates,
    wrenches,
)
from femb.formulations.hamiltonian.segments import (
    Base,
    Segments,
    Tree,
    TreeAccelerations,
    TreeMotion,
    does_work,
    linear_springs,
    other_batches,
    spring_columns,
)
from femb.formulations.joint_tree import JointTree
from femb.formulations.tree_frame import TreeFrame
from femb.layout.discrete import DiscreteState
from femb.layout.element import TrialError
from femb.numerics import euler, kinematics, rotations
from femb.system.system import System

# Driven hinges: hinges whose motion a driver or an engaged latch prescribes.


@dataclass(frozen=True)
class DrivenHinge:
    """A driven hinge (its number) and the name of its driver or latch. first_input : index in u of its value, rate and
    second derivative; negative for a latch, which keeps the hinge at ``value``."""

    hinge: int
    name: str
    first_input: int = -1
    value: float = 0.0


def driven_hinges(system: System, hinge_of: Any) -> list[DrivenHinge]:
    """The driven hinges of a System in its discrete state; hinge_of (m,) is the hinge of every joint coordinate.

    A hinge with several engaged latches is listed once. Raises ModelError for a hinge with a driver and a latch.
    """
    layout = system.layout
    first_input = {id(input_): part.start for input_, part in system.inputs.parts}
    driven: dict[int, DrivenHinge] = {}
    for name, driver in layout.drivers.items():
        hinge = int(hinge_of[driver.coordinate])
        driven[hinge] = DrivenHinge(hinge, f"drivers.{name}", first_input=first_input[id(driver.inputs[0])])
    for latch in layout.latches:
        hinge = int(hinge_of[latch.coordinate])
        if hinge in driven and driven[hinge].first_input >= 0:
            raise refused(
                f"'hamiltonian' drives a hinge or latches it, got {driven[hinge].name} and latches.{latch.item.name} "
                "on the same one; leave one out, or use 'velocity'"
            )
        if latch.engaged(system.discrete):
            value = float(system.discrete[latch.at])
            driven.setdefault(hinge, DrivenHinge(hinge, f"latches.{latch.item.name}", value=value))
    return list(driven.values())


def prescribed_motions(hinges: list[DrivenHinge], u: Floats) -> Floats:
    """Value, rate and second derivative (n, 3) of n driven hinges for inputs u (n_u,)."""
    motions = [u[h.first_input : h.first_input + 3] if h.first_input >= 0 else (h.value, 0.0, 0.0) for h in hinges]
    return np.array(motions, dtype=float).reshape(-1, 3)


# Equations of a Tree with driven hinges: velocities, rates, accelerations and momenta of a state.
#
# A state is (q, v): coordinates q = (r, e, hinges) and momenta v = (L, P, hinges); r, e, L and P only for a free base.
# v contains the rate of a driven hinge instead of its momentum. Loads are the arguments of ``rate_kernels.wrenches``.
# Source: docs/theory/hamiltonian.md, sections 2 to 7.

Loads = tuple[Ints, Floats]
"""Rows (m,) of the base (0) and segments, and their loads (m, 9): point (segment axes), force, torque (inertial)."""


class MomentumEquations:
    """Equations of a tree with driven hinges, ``driven`` (n,) bool. first, first_v: first hinge in q, v; n_q, n_v."""

    def __init__(self, tree: Tree, driven: Any) -> None:
        self.tree, self.driven = tree, driven
        self._of_tree = tree.parent_rows, tree.floating, driven
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
            self._of_tree, tree.data, self._undriven, (tree.gravity, *self.no_loads), A, first, last, h, y0, K, y
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
            self._of_tree, tree.data, only_speeds, given, (tree.gravity, *loads), Y, rate, velocity, out
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
        """Motion of the tree for hinge rates (n,) and the base's velocity (6,), inertial axes."""
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
            self._of_tree, given, motion.S, motion.M.copy(), motion.v, motion.rate,
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


# The tree of segments of a System, and the conversion between its coordinates and the System's.
#
# Bodies and joints are described once: topology and axes are those of ``femb.formulations.joint_tree``, masses those of
# the System's elements, and coordinates of hinges are coordinates of joints. Source: docs/theory/hamiltonian.md,
# section 11.


class SystemTree:
    """The Tree of a System, and the conversion between its coordinates and those of the joint tree.

    tree : Tree. joints : JointTree. frames : FrameOnSegment by number of the layout's frames.
    hinge_of (m,) : the hinge of every joint coordinate of the System. tree_springs : the items whose forces are those
    of the tree's own hinge springs and dampers.

    Raises ModelError if the model is not a tree of rigid bodies, naming the item that prevents it.
    """

    def __init__(self, system: System) -> None:
        self.system, self.layout = system, system.layout
        _check_rigid(system)
        self.joints = JointTree(system, "hamiltonian")
        self._root = self._find_root()
        segments = Segments(system, self.joints, self.joints.coordinates_at(system.q0))
        self.frames, self._balls = segments.frames, segments.balls
        self._single_dof_hinges = segments.single_dof_hinges
        hinges = np.full(self.joints.n_q, -1)
        hinges[self._single_dof_hinges[1]] = self._single_dof_hinges[0]
        self.hinge_of: Ints = np.where(self.joints.coordinate_index >= 0, hinges[self.joints.coordinate_index], -1)
        self.tree_springs = linear_springs(system)
        base = None
        if self._root is not None:
            body, name = segments.base, self.layout.frames[self._root.frame].label
            base = Base(name, body.mass, body.inertia, body.center)
        names, columns = segments.names, segments.columns()
        stiffness, damping, rest = spring_columns(self.layout, self.tree_springs, self.hinge_of, len(names))
        if base is None and not names:
            raise refused(
                "'hamiltonian' is for bodies that move in joints: got none, wanted at least one joint with a "
                "coordinate; use 'velocity'"
            )
        gravity = frozen_array(system.model.gravity)
        springs: dict[str, Any] = {"stiffness": stiffness, "damping": damping, "rest": rest}
        self.tree = Tree(names, **columns, **springs, gravity=gravity, base=base)

    def _find_root(self) -> TreeFrame | None:
        """The free root of the tree; None for a tree on the ground."""
        roots = [frame for frame in self.joints.frames if frame.joint is None]
        grounded = [frame for frame in self.joints.frames if frame.joint is not None and frame.parent < 0]
        if len(roots) > 1 or (roots and grounded):
            names = [self.layout.frames[root.frame].label for root in (roots[0], (grounded or roots[1:])[0])]
            raise refused(
                f"'hamiltonian' is for one tree: no joints lead from bodies.{names[0]} to bodies.{names[1]}; join "
                "them, or use 'velocity'"
            )
        return roots[0] if roots else None

    # Coordinates

    def to_system(self, q: Floats, rate: Floats, base: Floats) -> tuple[Floats, Floats]:
        """The System's q and v at s states: q (s, .), the base's pose and the n hinge coordinates; rate (s, n), of the
        hinges; base (s, 6), the base's velocity in inertial axes."""
        joints, n = self.joints, self.tree.n
        x, u = np.empty((len(q), joints.n_q)), np.empty((len(q), joints.n_u))
        hinges = q[:, q.shape[1] - n :]
        if self._root is not None:
            i, j = self._root.q.start, self._root.u.start
            x[:, i : i + 7] = q[:, :7]
            u[:, j : j + 3] = base[:, 3:]
            u[:, j + 3 : j + 6] = rotations.rotate_back(rotations.normalise(q[:, 3:7]), base[:, :3])
        hinge, in_q, in_u = self._single_dof_hinges
        x[:, in_q], u[:, in_u] = hinges[:, hinge], rate[:, hinge]
        for ball in self._balls:
            angles = hinges[:, ball.hinges]
            x[:, ball.q : ball.q + 4] = rotations.multiply(ball.start, euler.from_euler(angles))
            u[:, ball.u : ball.u + 3] = euler.omega_from_euler_rates(angles, rate[:, ball.hinges])
        return joints.to_system(x, u)

    def hinge_motion(self, Q: Floats, V: Floats, angles: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Base pose (7,) or (0,), hinge coordinates and rates (n,), base velocity (6,), of the System's q and v.

        angles (m,) : joint coordinates of the System from which angles are unwrapped.
        """
        x = self.joints.coordinates_at(Q, angles)
        u = self.joints.speeds_at(x, V)
        pose, base = np.zeros(0), np.zeros(6)
        if self._root is not None:
            i, j = self._root.q.start, self._root.u.start
            pose = x[i : i + 7]
            base[3:], base[:3] = u[j : j + 3], rotations.rotate(pose[3:], u[j + 3 : j + 6])
        q, rate = np.empty((2, self.tree.n))
        hinge, in_q, in_u = self._single_dof_hinges
        q[hinge], rate[hinge] = x[in_q], u[in_u]
        for ball in self._balls:
            relative = rotations.multiply(rotations.conjugate(ball.start), x[ball.q : ball.q + 4])
            q[ball.hinges] = euler.to_euler(relative)
            rate[ball.hinges] = euler.euler_rates(relative, u[ball.u : ball.u + 3])
        return pose, q, rate, base


def _check_rigid(system: System) -> None:
    """Raise ModelError for items that are not rigid segments, and for drivers of other than joint coordinates."""
    layout, model = system.layout, system.model

    def problem(item: str, why: str) -> ModelError:
        return refused(f"'hamiltonian' is for trees of rigid bodies: {item} {why}; use 'velocity'")

    for name in model.beams:
        raise problem(f"beams.{name}", "bends")
    for name in layout.shells:
        raise problem(f"shells.{name}", "bends")
    for name in layout.flexible_bodies:
        raise problem(f"bodies.{name}", "is flexible")
    for unknown in layout.internal:
        raise problem(f"{unknown.table}.{unknown.label}", f"has an unknown of its own, {unknown.quantity.name}")
    for frame in layout.frames:
        if frame.freedom == 3:
            raise problem(f"bodies.{frame.label}", "is a free point mass, which has no axes to turn")
    for name, driver in layout.drivers.items():
        if driver.coordinate < 0:
            raise problem(f"drivers.{name}", "drives something else than a coordinate of a joint")
    for name in layout.relations:
        raise problem(f"couplings.{name}", "couples coordinates of joints")


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
            if batch.masses():
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
        force = system.evaluation.of(self._others).residual(u[None], Q, V, np.zeros(V.shape))
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

    def budget_rates(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s, n_w): power and rates of momentum of loads, dampers and drivers, by the columns of the budget."""
        budget = self.system.budget
        rates = self.system.budget_rates(u, *self.to_system(q, v)) if self._works else np.zeros((len(q), budget.size))
        if multipliers is not None and self.n_c:
            rates = rates + budget.of_drivers(np.sum(multipliers * v[:, self._in_v], axis=1))
        return rates

    def rates(self, q: Floats, v: Floats) -> Floats:
        """q' (s, n_q)."""
        return self.momentum_equations.rates(q, v, self.momentum_equations.no_loads)[0]

    @property
    def has_stages(self) -> bool:
        """Whether all forces are those of the recursion, and no hinge is driven."""
        return not self.n_c and not self._others

    def stages(self, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats) -> Floats:
        """Stages of an explicit step in one call; see ``femb.formulations.contract.WithStages``."""
        y = self.momentum_equations.stages(A, first, last, h, y0, K)
        # the kernel knows the power of the hinges alone
        n = self.n_q + self.n_v
        K[first:last, n:-1], y[n:-1] = 0.0, y0[n:-1]
        return y

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
        """The form after a step to q, from which joint angles are unwrapped."""
        if not self.system.coordinates_of_joints.is_angle.any():
            return self
        other, hinges = copy(self), self.map.hinge_of
        if (hinges >= 0).all():  # q counts revolutions
            angles = q[self.momentum_equations.first + hinges]
            other.system = self.system.with_discrete(self.system.discrete.with_angles(angles))
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
        position, quaternion, _ = atol.values(rtol, self.layout.length)
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
        return (start_q, np.array(sizes_q), of_q, rtol), (start_v, np.array(sizes_v), of_v / atol.rate_time, rtol)
