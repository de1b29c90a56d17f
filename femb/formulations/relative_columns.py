"""The joint tree of a System as a ``RelativeTree``, and the names of its coordinates and speeds.

A RelativeTree has six columns for every joint; the joint's strokes and angles are those components of the relative
translation and rotation, in axes of the joint, that no row constrains.
Source: docs/theory/relative.md, sections 1 to 4.
"""

import numpy as np

from femb.base.types import Floats
from femb.formulations.joint_tree import JointTree
from femb.formulations.joint_tree_kernels import REVOLUTE, SPHERICAL, UNIVERSAL
from femb.formulations.relative import Speeds
from femb.formulations.relative_tree import RelativeTree
from femb.formulations.tree_names import joint_words
from femb.numerics import rotations
from femb.system.system import System


class RelativeColumns:
    """The columns of a model.

    names (n,) : bodies and nodes of beams, parents first. parents (n,) : index of the parent in ``names``, -1 for the
    ground or the inertial frame. coordinates, speeds : their names. choice : "fixed", "body" or "angles". tree : has
    six columns for every joint; ``select`` (6 n, n_v) maps the speeds to these columns.
    """

    def __init__(self, system: System, choice: Speeds) -> None:
        self.choice: Speeds = choice
        self.system, self.model, self.layout = system, system.model, system.layout
        self.joints = JointTree(system, "relative_kinematics", analysis=True)
        self.names = tuple(self.layout.frames[frame.frame].label for frame in self.joints.frames)
        self.parents = tuple(frame.parent for frame in self.joints.frames)
        self.tree = self._relative_tree()
        self._number()
        self.n_q, self.n_v = len(self.coordinates), len(self.speeds)

    def _center(self, frame: int) -> Floats:
        """Mass centre (3,) of a frame in its axes; zero for nodes and point masses."""
        name = next((name for name, number in self.layout.bodies.items() if number == frame), None)
        body = None if name is None else self.model.bodies[name]
        return np.asarray(getattr(body, "center_of_mass", np.zeros(3)), dtype=float)

    def _relative_tree(self) -> RelativeTree:
        frames, count = self.joints.frames, len(self.joints.frames)
        self._centers = np.array([self._center(frame.frame) for frame in frames])
        joint, arm = np.zeros((2, count, 3))
        inner, outer = np.tile(np.eye(3), (2, count, 1, 1))
        for k, frame in enumerate(frames):
            if frame.joint is None:
                continue  # a free root: translation of its mass centre, rotation of its axes
            if frame.parent >= 0:
                joint[k] = frame.above.offset - self._centers[frame.parent]
                inner[k] = rotations.rotation_matrix(frame.above.rotation)
            else:
                joint[k], quaternion = self.layout.pose(frame.above)
                inner[k] = rotations.rotation_matrix(quaternion)
            arm[k] = self._centers[k] - frame.below.offset
            outer[k] = rotations.rotation_matrix(frame.below.rotation)
        universal = [(2 if frame.backward else 1) if frame.rotation == UNIVERSAL else 0 for frame in frames]
        slides = [float(frame.backward) for frame in frames]
        return RelativeTree(self.names, self.parents, joint, arm, inner, outer, slides, universal)

    def _number(self) -> None:
        """Set the names of coordinates and speeds, and ``select``."""
        coordinates: list[str] = []
        speeds: list[str] = []
        columns: list[tuple[int, float]] = []
        self._parts: list[tuple[int, int]] = []  # first coordinate and speed of every frame
        for k, frame in enumerate(self.joints.frames):
            self._parts.append((len(coordinates), len(speeds)))
            free = frame.joint is None
            title = f"bodies.{self.names[k]}" if free else f"joints.{frame.joint}"
            words = ["xyz"[axis] for axis in frame.strokes] if free else joint_words(self.layout, frame)
            coordinates += [f"{title}.{word}" for word in words]
            speeds += [f"{title}.{word} rate" for word in words]
            columns += [(6 * k + axis, 1.0) for axis in frame.strokes]
            if frame.rotation in (REVOLUTE, UNIVERSAL):
                sign, count = -1.0 if frame.backward else 1.0, len(words) - len(frame.strokes)
                columns += [(6 * k + 3 + (2 if frame.rotation == REVOLUTE else i), sign) for i in range(count)]
            elif frame.rotation == SPHERICAL:
                if self.choice == "angles":
                    names = [f"{title}.theta_{i}" for i in (1, 2, 3)]
                    coordinates += names
                    speeds += [f"{name} rate" for name in names]
                else:
                    coordinates += [f"{title}.quaternion_{i}" for i in range(4)]
                    speeds += [f"{title}.omega_{axis}" for axis in "xyz"]
                columns += [(6 * k + 3 + i, 1.0) for i in range(3)]
        internal = [f"{item.table}.{item.label}: {item.quantity.name}" for item in self.layout.internal]
        self._internal = len(coordinates), len(speeds), len(internal)
        self.coordinates, self.speeds = (*coordinates, *internal), (*speeds, *(f"{name} rate" for name in internal))
        self.select = np.zeros((6 * len(self.names), len(self.speeds)))
        for column, (row, sign) in enumerate(columns):
            self.select[row, column] = sign
