"""The tree of segments of a System, and the conversion between its coordinates and the System's.

Bodies and joints are described once: topology and axes are those of ``femb.formulations.joint_tree``, masses those of
the System's elements, and coordinates of hinges are coordinates of joints.
Source: docs/theory/hamiltonian.md, section 11.
"""

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import frozen_array
from femb.formulations.hamiltonian.hinge_forces import linear_springs, spring_columns
from femb.formulations.hamiltonian.segments import Segments
from femb.formulations.hamiltonian.tree import Base, Tree
from femb.formulations.joint_tree import JointTree
from femb.formulations.transformed import refused
from femb.formulations.tree_frame import TreeFrame
from femb.numerics import euler, rotations
from femb.system.system import System


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
        self._single_dof_hinges: Ints = np.array(segments.single_dof_hinges, dtype=np.int64).reshape(-1, 3).T
        hinges = np.full(self.joints.n_q, -1)
        hinges[self._single_dof_hinges[1]] = self._single_dof_hinges[0]
        self.hinge_of: Ints = np.where(self.joints.coordinate_index >= 0, hinges[self.joints.coordinate_index], -1)
        self.tree_springs = linear_springs(system)
        base = None
        if self._root is not None:
            body, name = segments.base, self.layout.frames[self._root.frame].label
            base = Base(name, body.mass, body.inertia, body.center)
        columns = segments.columns()
        stiffness, damping, rest = spring_columns(self.layout, self.tree_springs, self.hinge_of, len(columns["names"]))
        if base is None and not columns["names"]:
            raise refused(
                "'hamiltonian' is for bodies that move in joints: got none, wanted at least one joint with a "
                "coordinate; use 'velocity'"
            )
        gravity = frozen_array(system.model.gravity)
        self.tree = Tree(**columns, stiffness=stiffness, damping=damping, rest=rest, gravity=gravity, base=base)

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
