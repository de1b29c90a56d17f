"""Accelerations of a tree of rigid bodies in independent speeds by a recursion of cost O(n), one compiled call a step.

The recursion evaluates weight, and linear springs and dashpots of joints; the System's elements evaluate all other
forces, which are passed to it as generalized forces. Source: docs/theory/reduced_order.md, section 4.
"""

from functools import cached_property

import numpy as np

from femb.base.types import Floats, Ints, Loop
from femb.elements.body.mass_batch import MassBatch
from femb.formulations.hamiltonian.columns import AT, COSINE, FIXED, pack
from femb.formulations.hamiltonian.hinge_forces import linear_springs, other_batches, spring_columns
from femb.formulations.hamiltonian.segments import Segments
from femb.formulations.hamiltonian.tree import Tree
from femb.formulations.joint_tree import JointTree, Swept
from femb.formulations.joint_tree_kernels import SPHERICAL
from femb.formulations.reduced import recursion_kernels as kernels
from femb.formulations.tree_frame import TreeFrame
from femb.layout.element import Batch, TrialError
from femb.system.system import System


class SpeedSegments(Segments):
    """Segments with rows for the free bodies too, on the inertial axes."""

    def _add_root(self, frame: TreeFrame) -> None:
        self._add_segments(frame)


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
        index[:, kernels.CARRIER] = np.arange(n + 1)
        for row, in_q, in_u in segments.single_dof_hinges:
            hinges[in_q] = row
            index[row + 1, [kernels.IN_Q, kernels.IN_U]] = in_q, in_u
        for frame in joints.frames:
            if frame.joint is None:
                index[1 + hinges[frame.q.start : frame.angles.start], kernels.KIND] = kernels.FREE_STROKE
        hinge_of = np.where(joints.coordinate_index >= 0, hinges[joints.coordinate_index], -1)
        stiffness, damping, rest = spring_columns(system.layout, springs, hinge_of, n)
        gravity = next((b.gravity for b in system.batches if isinstance(b, MassBatch)), np.zeros(3))
        tree = Tree(**columns, stiffness=stiffness, damping=damping, rest=rest, gravity=gravity, base=None)
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
        if not free or layout.couplings or any(frame.body_velocity for frame in joints.frames):
            return None
        if any(batch.element_masses(system.q0) for batch in system.batches if not isinstance(batch, MassBatch)):
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
        kernels.steps(*self._tree, self.no_forces, self._n_q, quaternions, loop)

    def _evaluate(self, applied: Floats, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats) -> Floats:
        y = np.empty_like(y0)
        failed = kernels.stage_rates(*self._tree, applied, A, first, last, h, self._n_q, y0, K, y)
        if failed:
            raise TrialError("the reduced mass matrix is singular: a direction without mass")
        return y


def _set_balls(segments: Segments, joints: JointTree, tree: Tree, index: Ints, data: Floats) -> None:
    """Set the index and the constant rotations of the rows of spherical joints."""
    frames = [frame for frame in joints.frames if frame.rotation == SPHERICAL]
    for frame, ball in zip(frames, segments.balls, strict=True):
        rows = 1 + np.array(ball.hinges)
        last = int(rows.max())
        index[rows, kernels.KIND] = kernels.BALL_INSIDE
        index[last, kernels.KIND] = kernels.BALL_LAST_BACKWARD if frame.backward else kernels.BALL_LAST
        index[rows, kernels.IN_Q], index[rows, kernels.IN_U] = ball.q, ball.u + np.arange(3)
        index[rows, kernels.CARRIER] = tree.parent_rows[rows.min()] if frame.backward else last
        index[last, kernels.ABOUT_X :] = rows
        # strokes before or after the rotation have the rotation of the end at their side
        data[last, FIXED : FIXED + 9] = tree.mounting[min(ball.hinges)].ravel()
        data[last, COSINE : COSINE + 9] = tree.mounting[last - 1].ravel()


class RecursiveSteps:
    """The part of a reduced form that evaluates accelerations, stages and steps by the recursion."""

    system: System
    tree: JointTree
    n_v: int
    n_c: int

    def pulled(self, swept: Swept, force: Floats) -> Floats:
        """H2^T force (s, n_v)."""
        raise NotImplementedError

    @cached_property
    def _recursion(self) -> Recursion | None:
        return Recursion.of(self.system, self.tree)

    def _applied(self, recursion: Recursion, u: Floats, q: Floats, v: Floats) -> Floats:
        """The generalized forces (n_v,) of the elements that the recursion does not evaluate, at one state."""
        if not recursion.others:
            return recursion.no_forces
        swept = self.tree.sweep(q[None], v[None])
        force, still = np.zeros((2, 1, self.system.n_v))
        for batch in recursion.others:
            batch.residual(u[None], *swept[:2], still, force)
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
