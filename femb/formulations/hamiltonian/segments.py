"""Segments of a tree with hinges of one degree of freedom, built from the frames of a joint tree, and their masses.

Frames connected by rigid joints form one segment. Topology and axes are those of ``femb.formulations.joint_tree``,
masses those of the System's own elements. Source: docs/theory/hamiltonian.md, section 11.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.body.mass_batch import MassBatch
from femb.formulations.hamiltonian.composite_body import CompositeBody
from femb.formulations.hamiltonian.hinges import hinges_of, steps_of
from femb.formulations.hamiltonian.tree import GROUND
from femb.formulations.joint_tree import JointTree
from femb.formulations.joint_tree_kernels import SPHERICAL
from femb.formulations.tree_frame import TreeFrame
from femb.numerics import rotations
from femb.system.system import System


@dataclass(frozen=True, eq=False)
class FrameOnSegment:
    """The position of a frame: its segment, -1 for the base, and its axes (3, 3) and origin (3,) in segment axes.

    A frame fixed to the ground belongs to the base of a tree on the ground: ``moves`` is false.
    """

    segment: int
    axes: Floats
    origin: Floats
    moves: bool = True


@dataclass(frozen=True, eq=False)
class Ball:
    """A ball joint: first index of its quaternion and angular velocity in the joint tree's q and u, its three hinges,
    and its attitude (4,) at zero hinge angles."""

    q: int
    u: int
    hinges: list[int]
    start: Floats


class Segments:
    """Collects segments frame by frame.

    start (n_q,) : coordinates of the joint tree at the start. frames : by number of the layout's frames.
    single_dof_hinges : (hinge, index in q, index in u) of the joint tree's coordinates that are hinge coordinates.
    balls : the other joints.
    """

    def __init__(self, system: System, joints: JointTree, start: Floats) -> None:
        self.layout, self.start = system.layout, start
        self.frames: dict[int, FrameOnSegment] = {}
        self.single_dof_hinges: list[tuple[int, int, int]] = []
        self.balls: list[Ball] = []
        self._rows: list[dict[str, Any]] = []
        for frame in joints.frames:
            if frame.joint is None:
                self.frames[frame.frame] = FrameOnSegment(GROUND, np.eye(3), np.zeros(3))
            else:
                self._add_segments(frame)
        self._bodies = [CompositeBody() for _ in range(len(self._rows) + 1)]
        for batch in system.batches:
            if isinstance(batch, MassBatch):
                self._add_masses(batch)

    @property
    def base(self) -> CompositeBody:
        """The mass of a free base."""
        return self._bodies[GROUND]

    def columns(self) -> dict[str, Any]:
        """Fields of a Tree: names, topology, hinges and masses."""
        rows, bodies, n = self._rows, self._bodies[:-1], len(self._rows)
        result: dict[str, Any] = {"names": tuple(row["name"] for row in rows)}
        shapes: dict[str, tuple[int, ...]] = {"parent": (n,), "axis": (n, 3), "at": (n, 3), "mounting": (n, 3, 3)}
        result |= {word: np.array([row[word] for row in rows]).reshape(shape) for word, shape in shapes.items()}
        result["axis"] /= np.linalg.norm(result["axis"], axis=1, keepdims=True)
        result["sliding"] = np.array([row["sliding"] for row in rows], dtype=bool)
        result["mass"] = np.array([body.mass for body in bodies])
        result["center"] = np.array([body.center for body in bodies]).reshape(n, 3)
        result["inertia"] = np.array([body.inertia for body in bodies]).reshape(n, 3, 3)
        return result

    def _add_segments(self, frame: TreeFrame) -> None:
        """Add the segments between a frame and its parent."""
        parent = self._frame(frame.above.frame)
        ball = self.start[frame.angles] if frame.rotation == SPHERICAL else np.array([1.0, 0.0, 0.0, 0.0])
        chain, rotation = hinges_of(steps_of(frame, ball))
        at = parent.origin + parent.axes @ frame.above.offset
        if not chain:
            axes = parent.axes @ rotation
            self.frames[frame.frame] = FrameOnSegment(
                parent.segment, axes, at - axes @ frame.below.offset, parent.moves
            )
            return
        names, row, numbers = self._names(frame), parent.segment, {}
        for d, hinge_data in enumerate(chain):
            self._rows.append(
                {
                    "name": names[hinge_data.coordinate],
                    "parent": row,
                    "axis": hinge_data.axis,
                    "sliding": hinge_data.sliding,
                    "at": at if d == 0 else np.zeros(3),
                    "mounting": parent.axes @ hinge_data.mounting if d == 0 else hinge_data.mounting,
                }
            )
            row = numbers[hinge_data.coordinate] = len(self._rows) - 1
        self.frames[frame.frame] = FrameOnSegment(row, np.eye(3), -frame.below.offset)
        q, u, first = frame.q.start, frame.u.start, len(frame.strokes)
        if frame.rotation == SPHERICAL:
            self.balls.append(Ball(q + first, u + first, [numbers.pop(first + k) for k in range(3)], ball))
        self.single_dof_hinges += [(hinge, q + k, u + k) for k, hinge in numbers.items()]

    def _frame(self, frame: int) -> FrameOnSegment:
        if frame not in self.frames:
            fixed = self.layout.frames[frame]
            return FrameOnSegment(
                GROUND, rotations.rotation_matrix(fixed.quaternion), np.asarray(fixed.position), False
            )
        return self.frames[frame]

    def _names(self, frame: TreeFrame) -> list[str]:
        """'joint.coordinate' of a joint's hinges, strokes first."""
        assert frame.joint is not None
        coordinates = self.layout.joints[frame.joint].coordinates
        strokes = {coordinate.first[0]: coordinate.name for coordinate in coordinates if not coordinate.is_angle}
        words = [strokes.get(axis, "xyz"[axis]) for axis in frame.strokes]
        if frame.rotation == SPHERICAL:
            words += ["turn_x", "turn_y", "turn_z"]
        else:
            words += [coordinate.name for coordinate in coordinates if coordinate.is_angle] or [
                "first_angle",
                "second_angle",
            ]
        return [f"{frame.joint}.{word}" for word in words]

    def _add_masses(self, batch: MassBatch) -> None:
        at = {int(self.layout.frame_v[frame]): on for frame, on in self.frames.items()}
        for (_, frame_v), data in zip(batch.index, batch.data, strict=True):
            on = at[int(frame_v)]
            if on.moves:
                inertia = on.axes @ data[4:13].reshape(3, 3) @ on.axes.T
                center = on.origin + on.axes @ data[1:4]
                self._bodies[on.segment].add(data[0], center, inertia)
