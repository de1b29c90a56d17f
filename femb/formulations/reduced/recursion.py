"""Accelerations of a tree of rigid bodies in independent speeds by a recursion of cost O(n), one compiled call a step.

The recursion evaluates weight, and linear springs and dashpots of joints; the System's elements evaluate all other
forces, which are passed to it as generalized forces. Source: docs/theory/reduced_order.md, section 4.
"""

from functools import cached_property

import numpy as np

from femb.base.types import Floats, Ints, Loop
from femb.elements.body.mass_batch import MassBatch
from femb.formulations.hamiltonian.momentum_kernels import (
    AT,
    COSINE,
    DAMPING,
    FIXED,
    MASS,
    REST,
    STIFFNESS,
    articulated,
    base_pose,
    center_of,
    inertia_force,
    pack,
    pose_of,
    rotation_about,
    spatial_inertias,
)
from femb.formulations.hamiltonian.segments import Segments, Tree, linear_springs, other_batches, spring_columns
from femb.formulations.independent import Independent
from femb.formulations.joint_tree import JointTree, Swept
from femb.formulations.joint_tree_kernels import SPHERICAL, force_at, motion_cross
from femb.formulations.tree_frame import TreeFrame
from femb.layout.element import Batch, TrialError
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.traced import M3, M6, V3, V4, V6, put
from femb.numerics.dop853_kernels import (
    EVALUATIONS,
    INSTANTS,
    LENGTH,
    LOST,
    TIME,
    advance,
    copy_to,
    error_size,
    instants_until,
    interpolate,
    is_open,
    shortened,
    stage_state,
    trial_length,
)
from femb.numerics.kinematics import normalise
from femb.numerics.vector3 import attitude, quaternion_times, unturned
from femb.system.system import System

# Rates of a tree of rigid bodies in independent speeds by an articulated recursion of cost O(n), for whole steps.
#
# Every speed has a row, a hinge of one degree of freedom; row 0 is the ground. The three speeds of a spherical joint
# have three rows at one point: their axes are those of the joint's second end, and rows between have no mass. Spatial
# vectors are in inertial axes about one point for each tree: a free body's own point, or the first joint on the ground.
#
# index (rows, 7) int: KIND; first index of the coordinate in q, of its speed in u; CARRIER, the row with which the
# axis moves; for the last row of a spherical joint, rows about X, Y and Z. data (rows, N_COLUMNS) : as in
# ``femb.formulations.hamiltonian.momentum_kernels``, but for a last row FIXED and COSINE are constant rotations before
# and after that of the quaternion. Source: docs/theory/hamiltonian.md, section 7; docs/theory/reduced_order.md,
# section 4.

# Kinds of rows: strokes of a free body move the point that the vectors refer to, which changes nothing.
HINGE, FREE_STROKE, BALL_INSIDE, BALL_LAST, BALL_LAST_BACKWARD = range(5)
KIND, IN_Q, IN_U, CARRIER, ABOUT_X = range(5)
# numba would compile a separate variant of the called kernel for a literal False.
FLOATING = np.False_


@inlined
def ball_pose(k, parent, index, data, q, R, hinge, c, S, axes):
    """Axes R[k] of the last row of a spherical joint, and the motions S of its three rows; axes (3, 3) : scratch."""
    backward = index[k, KIND] == BALL_LAST_BACKWARD
    h = parent[index[k, ABOUT_X + 2]] if backward else parent[index[k, ABOUT_X]]
    first, turn = M3(R[h]) @ M3(data[k, FIXED:]), attitude(V4(q[index[k, IN_Q] :]))
    if backward:
        # the second end is at the parent, and the quaternion takes its components to those of the first
        turn = turn.T
    put(first @ turn @ M3(data[k, COSINE:]), R[k])
    center_of(k, data, R, hinge, c)
    put((-first if backward else first @ turn).T, axes)
    for m in range(3):
        put(rotation_about(V3(hinge[k]), V3(axes[m])), S[index[k, ABOUT_X + m]])


@inlined
def set_rates(index, q, u, second, out):
    """out (n_y,) = (q', u', power): q' of the coordinates, and u' of the rows' accelerations."""
    n_q = q.size
    for k in range(1, index.shape[0]):
        kind, i, j = index[k, KIND], index[k, IN_Q], index[k, IN_U]
        out[n_q + j] = second[k - 1]
        if kind in (HINGE, FREE_STROKE):
            out[i] = u[j]
        elif kind != BALL_INSIDE:
            j = index[index[k, ABOUT_X], IN_U]
            out[i], out[i + 1], out[i + 2], out[i + 3] = quaternion_times(
                q[i], q[i + 1], q[i + 2], q[i + 3], 0.5 * u[j], 0.5 * u[j + 1], 0.5 * u[j + 2]
            )


# For a literal 1, as the number of the first stage, numba would compile a variant of the called kernel.
FIRST_RATED = np.int64(1)


@kernel
def stage_rates(tree, applied, n_q, A, first, last, h, y0, K, y):
    """Stages ``first`` to ``last`` - 1 of an explicit Runge-Kutta step of length h from y0 = (q, u, work).

    A (stages, .) : coefficients, so that stage s is evaluated at y0 + h sum A[s, m] K[m]; K (stages, n_y) are the
    rates, y (n_y,) is the last of these states. tree : parents, index, data and gravity. applied (n_u,) : further
    generalized forces, constant. Returns the row with a zero pivot, or 0.
    """
    parent, index, data, gravity = tree
    rows = parent.size
    R, hinge, c, S = np.empty((rows, 3, 3)), np.empty((rows, 3)), np.empty((rows, 3)), np.empty((rows, 6))
    M, v, a, f = np.empty((rows, 6, 6)), np.empty((rows, 6)), np.empty((rows, 6)), np.empty((rows, 6))
    moving, bias, still = np.empty((rows, 6)), np.empty((rows, 6)), np.zeros(6)
    force, second, x = np.empty(rows - 1), np.zeros(rows - 1), np.zeros(rows)
    driven, axes = np.zeros(rows - 1, dtype=np.bool_), np.empty((3, 3))
    put(attitude(unturned()), R[0])
    for s in range(first, last):
        stage_state(A, s, h, y0, K, y)
        q, u = y[:n_q], y[n_q : y0.size - 1]
        base_pose(data, R, hinge, c)
        power = 0.0
        for k in range(1, rows):
            kind, j = index[k, KIND], index[k, IN_U]
            angle = q[index[k, IN_Q]] if kind == HINGE else 0.0
            rate = 0.0 if kind == FREE_STROKE else u[j]
            pose_of(k, parent[k], data, angle, R, hinge, c, S)
            if kind in (BALL_LAST, BALL_LAST_BACKWARD):
                ball_pose(k, parent, index, data, q, R, hinge, c, S, axes)
            x[k] = rate
            resisting = data[k, DAMPING] * rate
            force[k - 1] = applied[j] - data[k, STIFFNESS] * (angle - data[k, REST]) - resisting
            power -= resisting * rate
        spatial_inertias(data, R, c, M)
        for i in range(6):
            v[0, i] = bias[0, i] = moving[0, i] = 0.0
        for k in range(1, rows):
            put(V6(v[parent[k]]) + x[k] * V6(S[k]), v[k])
            weight = force_at(V3(c[k]), data[k, MASS] * V3(gravity))
            put(inertia_force(M6(M[k]), V6(v[k])) - weight, bias[k])
        for k in range(1, rows):
            put(x[k] * motion_cross(V6(v[index[k, CARRIER]]), V6(S[k])), moving[k])
        failed = articulated((parent, FLOATING, driven), second, S, M, moving, bias, force, still, second, a, f)
        if failed:
            return failed
        set_rates(index, q, u, second, K[s])
        K[s, y0.size - 1] = power
    return 0


@kernel
def steps(tree, applied, n_q, quaternion_q, loop):
    """Accepted steps of DOP853, as ``femb.numerics.dop853_kernels`` tells; ends before one that this loop cannot make.

    tree, applied (n_u,) : as in ``stage_rates``. quaternion_q : indices of quaternions.
    """
    coefficients, norms, bounds, clock, counts, (y, rate, K, y1, spare, fifth), output = loop
    A, E5, E3, _, _ = coefficients
    last = K.shape[0] - 4
    while is_open(bounds, clock, counts, output):
        t, h, rejections, error = clock[TIME], clock[LENGTH], 0, LOST
        copy_to(K[0], rate)
        while error > 1.0:
            if error < LOST:
                h = shortened(h, error)
                rejections += 1
            h = trial_length(bounds, t, h)
            if h == 0.0 or stage_rates(tree, applied, n_q, A, FIRST_RATED, last + 1, h, y, K, y1):
                return
            error = error_size((E5, E3), norms, n_q, h, y, y1, K, fifth)
            if not error < LOST:
                return
        first = counts[INSTANTS]
        count = instants_until(bounds, output, first, t, h)
        if count > 0:
            if first + count > output[1].shape[0] or stage_rates(
                tree, applied, n_q, A, last + 1, last + 4, h, y, K, spare
            ):
                return
            interpolate(coefficients, bounds, output, n_q, first, count, t, h, y, y1, K)
            counts[INSTANTS] += count
            counts[EVALUATIONS] += 3
        counts[EVALUATIONS] += last * (1 + rejections)
        copy_to(rate, K[last])
        normalise(quaternion_q, y1[:n_q])
        advance(bounds, clock, counts, output, h, error, rejections, y, y1)


class SpeedSegments(Segments):
    """Segments with rows for the free bodies too, on the inertial axes."""

    def _add_root(self, frame: TreeFrame) -> list[tuple[int, int, int]]:
        return self._add_segments(frame)


class Recursion:
    """The rows of a joint tree of rigid bodies. others : the batches whose forces are to be passed as ``applied``."""

    def __init__(self, system: System, joints: JointTree) -> None:
        start = np.zeros(joints.n_q)
        for frame in joints.frames:
            if frame.rotation == SPHERICAL:
                start[frame.angles.start] = 1.0
        segments = SpeedSegments(system, joints, start)
        springs = linear_springs(system)
        self.others: list[Batch] = other_batches(system, springs)
        columns, n = segments.columns(), joints.n_u
        hinges = np.full(joints.n_q, -1)
        index = np.zeros((n + 1, 7), dtype=np.int64)
        index[:, CARRIER] = np.arange(n + 1)
        rows, in_q, in_u = segments.single_dof_hinges
        hinges[in_q] = rows
        index[rows + 1, IN_Q], index[rows + 1, IN_U] = in_q, in_u
        for frame in joints.frames:
            if frame.joint is None:
                index[1 + hinges[frame.q.start : frame.angles.start], KIND] = FREE_STROKE
        hinge_of = np.where(joints.coordinate_index >= 0, hinges[joints.coordinate_index], -1)
        stiffness, damping, rest = spring_columns(system.layout, springs, hinge_of, n)
        gravity = next((b.gravity for b in system.batches if isinstance(b, MassBatch)), np.zeros(3))
        tree = Tree((), **columns, stiffness=stiffness, damping=damping, rest=rest, gravity=gravity, base=None)
        data = pack(tree)
        _set_balls(segments, joints, tree, index, data)
        # trees on the ground do not move each other: each has its own point
        data[1:][tree.parent < 0, AT : AT + 3] = 0.0
        # read-only, as those of other trees: kernels are compiled once for both
        data.flags.writeable = False
        self._tree = tree.parent_rows, index, data, np.asarray(gravity, dtype=float)
        self.no_forces, self._zero = np.zeros(n), np.zeros((1, 1))
        self._n_q, self._n_y = joints.n_q, joints.n_q + n + 1

    @staticmethod
    def of(system: System, joints: JointTree) -> "Recursion | None":
        """The recursion of a System; None if its frames are not all rigid bodies in inertial velocities."""
        layout = system.layout
        free = all(frame.freedom in (0, 6) for frame in layout.frames) and not layout.internal
        if not free or layout.structures or any(frame.body_velocity for frame in joints.frames):
            return None
        if any(batch.masses() for batch in system.batches if not isinstance(batch, MassBatch)):
            return None
        return Recursion(system, joints)

    def rates(self, q: Floats, u: Floats, applied: Floats) -> Floats:
        """u' (n_u,) at one state, with generalized forces ``applied`` (n_u,). Raises TrialError."""
        y, K = np.concatenate([q, u, [0.0]]), np.empty((1, self._n_y))
        self._evaluate(applied, self._zero, 0, 1, 0.0, y, K)
        result: Floats = K[0, self._n_q : -1]
        return result

    def stages(self, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats) -> Floats:
        """Stages of an explicit step; see ``femb.formulations.contract.WithStages``. Raises TrialError."""
        return self._evaluate(self.no_forces, A, first, last, h, y0, K)

    def steps(self, loop: Loop, quaternions: Ints) -> None:
        """Accepted steps of DOP853; see ``femb.formulations.contract.WithSteps``. quaternions : indices in q."""
        steps(self._tree, self.no_forces, self._n_q, quaternions, loop)

    def _evaluate(self, applied: Floats, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats) -> Floats:
        y = np.empty_like(y0)
        failed = stage_rates(self._tree, applied, self._n_q, A, first, last, h, y0, K, y)
        if failed:
            raise TrialError("the reduced mass matrix is singular: a direction without mass")
        return y


def _set_balls(segments: Segments, joints: JointTree, tree: Tree, index: Ints, data: Floats) -> None:
    """Set the index and the constant rotations of the rows of spherical joints."""
    frames = [frame for frame in joints.frames if frame.rotation == SPHERICAL]
    for frame, ball in zip(frames, segments.balls, strict=True):
        rows = 1 + np.array(ball.hinges)
        last = int(rows.max())
        index[rows, KIND] = BALL_INSIDE
        index[last, KIND] = BALL_LAST_BACKWARD if frame.backward else BALL_LAST
        index[rows, IN_Q], index[rows, IN_U] = ball.q, ball.u + np.arange(3)
        index[rows, CARRIER] = tree.parent_rows[rows.min()] if frame.backward else last
        index[last, ABOUT_X:] = rows
        # strokes before or after the rotation have the rotation of the end at their side
        data[last, FIXED : FIXED + 9] = tree.mounting[min(ball.hinges)].ravel()
        data[last, COSINE : COSINE + 9] = tree.mounting[last - 1].ravel()


class RecursiveSteps:
    """The part of a reduced form that evaluates accelerations, stages and steps by the recursion."""

    system: System
    tree: JointTree
    independent: Independent
    n_v: int
    n_c: int

    def pulled(self, swept: Swept, force: Floats) -> Floats:
        """H2^T force (s, n_v)."""
        raise NotImplementedError

    @cached_property
    def _recursion(self) -> Recursion | None:
        return None if self.independent else Recursion.of(self.system, self.tree)

    def _applied(self, recursion: Recursion, u: Floats, q: Floats, v: Floats) -> Floats:
        """The generalized forces (n_v,) of the elements that the recursion does not evaluate, at one state."""
        if not recursion.others:
            return recursion.no_forces
        swept = self.tree.sweep(q[None], v[None])
        others, still = self.system.evaluation.of(recursion.others), np.zeros((1, self.system.n_v))
        force = others.residual(u[None], *swept[:2], still)
        applied: Floats = -self.pulled(swept, force)[0]
        return applied

    @property
    def has_stages(self) -> bool:
        """Whether all forces are those of the recursion, and no rows are retained."""
        return self.n_c == 0 and self._recursion is not None and not self._recursion.others

    def stages(self, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats) -> Floats:
        """Stages of an explicit step in one call; see ``femb.formulations.contract.WithStages``."""
        assert self._recursion is not None
        return self._recursion.stages(A, first, last, h, y0, K)

    @property
    def has_steps(self) -> bool:
        """Whether whole steps are compiled, as stages are."""
        return self.has_stages

    def steps(self, loop: Loop) -> Floats | None:
        """Accepted steps of DOP853 in one call; see ``femb.formulations.contract.WithSteps``."""
        assert self._recursion is not None
        self._recursion.steps(loop, self.tree.coordinates[2])
        return None
