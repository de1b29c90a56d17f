"""Segments of a tree with hinges of one degree of freedom, built from the frames of a joint tree, and their masses.

Frames connected by rigid joints form one segment. Topology and axes are those of ``femb.formulations.joint_tree``,
masses those of the System's own elements. From its first to its second end a joint is a translation, then a rotation:

    x_second = x_first + A_first d,      A_second = A_first C,      C = 1, Z, R_z(a) Z, R_z(a) Z R_z(b) or spherical

A ball joint becomes three hinges, C = C_0 R_x(a) R_y(b) R_z(c), with C_0 its attitude at the start, which is farthest
from the attitudes at which the three axes are dependent. From the second end, every motion is reversed, in reverse
order. Source: docs/theory/hamiltonian.md, section 11.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.body.mass_batch import MassBatch
from femb.formulations.hamiltonian.tree import GROUND
from femb.formulations.joint_tree import JointTree
from femb.formulations.joint_tree_kernels import REVOLUTE, SPHERICAL, UNIVERSAL
from femb.formulations.tree_frame import TreeFrame
from femb.formulations.tree_names import joint_words
from femb.numerics.rotations import rotation_matrix
from femb.system.system import System

UNIT_VECTORS, ORIGIN = np.eye(3), np.zeros(3)
UNIT_VECTORS.flags.writeable = ORIGIN.flags.writeable = False


class CompositeBody:
    """Mass (kg), mass centre (3,) m and inertia (3, 3) kg m2 about it of the bodies added so far, at first none."""

    def __init__(self) -> None:
        self.mass, self.center, self.inertia = 0.0, np.zeros(3), np.zeros((3, 3))

    def add(self, mass: float, center: Floats, inertia: Floats) -> None:
        """Add a body in the same axes: mass (kg), center (3,) m, inertia (3, 3) kg m2 about its mass centre."""
        total, d = self.mass + mass, center - self.center
        self.inertia = self.inertia + inertia
        if self.mass:
            self.inertia += self.mass * mass / total * ((d @ d) * np.eye(3) - np.outer(d, d))
        self.center = (self.mass * self.center + mass * center) / total
        self.mass = total


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
                self._add_root(frame)
            else:
                self._add_segments(frame)
        self._bodies = [CompositeBody() for _ in range(len(self._rows) + 1)]
        at = {int(self.layout.frame_v[frame]): on for frame, on in self.frames.items()}
        for batch in system.batches:
            if isinstance(batch, MassBatch):
                for (_, frame_v), data in zip(batch.index, batch.data, strict=True):
                    on = at[int(frame_v)]
                    if on.moves:
                        inertia = on.axes @ data[4:13].reshape(3, 3) @ on.axes.T
                        center = on.origin + on.axes @ data[1:4]
                        self._bodies[on.segment].add(data[0], center, inertia)

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

    def _add_root(self, frame: TreeFrame) -> None:
        """A free body: the base."""
        self.frames[frame.frame] = FrameOnSegment(GROUND, UNIT_VECTORS, ORIGIN)

    def _add_segments(self, frame: TreeFrame) -> None:
        """Add the segments between a frame and its parent."""
        parent = self.frame(frame.above.frame)
        ball = self.start[frame.angles] if frame.rotation == SPHERICAL else np.array([1.0, 0.0, 0.0, 0.0])
        chain, rotation = hinges_of(frame, ball)
        at = parent.origin + parent.axes @ frame.above.offset
        if not chain:
            axes = parent.axes @ rotation
            self.frames[frame.frame] = FrameOnSegment(
                parent.segment, axes, at - axes @ frame.below.offset, parent.moves
            )
            return
        names = list("xyz") if frame.joint is None else joint_words(self.layout, frame)
        row, numbers = parent.segment, {}
        if frame.rotation == SPHERICAL:
            names += ["turn_x", "turn_y", "turn_z"]
        mounting = parent.axes
        for hinge in chain:
            new = {"name": f"{frame.joint}.{names[hinge.coordinate]}", "parent": row, "at": at, "axis": hinge.axis}
            self._rows.append(new | {"sliding": hinge.sliding, "mounting": mounting @ hinge.mounting})
            at, mounting = ORIGIN, UNIT_VECTORS
            row = numbers[hinge.coordinate] = len(self._rows) - 1
        self.frames[frame.frame] = FrameOnSegment(row, UNIT_VECTORS, -frame.below.offset)
        q, u, first = frame.q.start, frame.u.start, len(frame.strokes)
        if frame.rotation == SPHERICAL:
            self.balls.append(Ball(q + first, u + first, [numbers.pop(first + k) for k in range(3)], ball))
        self.single_dof_hinges += [(number, q + k, u + k) for k, number in numbers.items()]

    def frame(self, frame: int) -> FrameOnSegment:
        """The position of a frame of the layout; of the inertial axes for a negative number."""
        if frame < 0:
            return FrameOnSegment(GROUND, UNIT_VECTORS, ORIGIN, False)
        if frame not in self.frames:
            fixed = self.layout.frames[frame]
            return FrameOnSegment(GROUND, rotation_matrix(fixed.quaternion), np.asarray(fixed.position), False)
        return self.frames[frame]


@dataclass(frozen=True, eq=False)
class Hinge:
    """One hinge: mounting (3, 3) of its segment's axes in those of the parent segment, axis (3,) in segment axes.

    coordinate : index of its coordinate in those of the joint, strokes first, then angles.
    """

    mounting: Floats
    axis: Floats
    sliding: bool
    coordinate: int


Step = Floats | tuple[Floats, bool, int]
"""A constant rotation (3, 3), or a motion: its axis (3,), whether it slides, and its coordinate."""


def hinges_of(frame: TreeFrame, ball: Floats) -> tuple[list[Hinge], Floats]:
    """The hinges from the parent's axes to those of a frame, and the constant rotation (3, 3) if there is none.

    The axes of the last segment are those of the frame. ball (4,) : start attitude of a ball joint.
    """
    k = len(frame.strokes)
    steps: list[Step] = [(UNIT_VECTORS[axis], True, number) for number, axis in enumerate(frame.strokes)]
    if frame.rotation == SPHERICAL:
        steps += [rotation_matrix(ball), *((UNIT_VECTORS[axis], False, k + axis) for axis in range(3))]
    else:
        count = {REVOLUTE: 1, UNIVERSAL: 2}.get(frame.rotation, 0)
        turns = [(UNIT_VECTORS[2], False, k + number) for number in range(count)]
        steps += [*turns[:1], frame.zero, *turns[1:]]
    if frame.backward:
        steps = [(-step[0], *step[1:]) if isinstance(step, tuple) else step.T for step in reversed(steps)]
    hinges: list[Hinge] = []
    rotation = frame.above.axes
    for step in steps:
        if isinstance(step, tuple):
            hinges.append(Hinge(rotation, *step))
            rotation = UNIT_VECTORS
        else:
            rotation = rotation @ step
    rotation = rotation @ frame.below.axes.T
    if not hinges:
        return [], rotation
    last = hinges.pop()
    return [
        *hinges,
        Hinge(last.mounting @ rotation, rotation.T @ last.axis, last.sliding, last.coordinate),
    ], UNIT_VECTORS
