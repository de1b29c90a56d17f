"""Segments of a tree with hinges of one degree of freedom, built from the frames of a joint tree, and their masses.

Frames connected by rigid joints form one segment. Topology and axes are those of ``femb.formulations.joint_tree``,
masses those of the System's own elements. From its first to its second end a joint is a translation, then a rotation:

    x_second = x_first + A_first d,      A_second = A_first C,      C = 1, Z, R_z(a) Z, R_z(a) Z R_z(b) or spherical

A ball joint becomes three hinges, C = C_0 R_x(a) R_y(b) R_z(c), with C_0 its attitude at the start, which is farthest
from the attitudes at which the three axes are dependent. From the second end, every motion is reversed, in reverse
order. Source: docs/theory/hamiltonian.md, section 11.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import frozen_array, given_numbers, number_problem, shown
from femb.elements.body.mass_batch import MassBatch
from femb.elements.joint.force import JointSpringDamper
from femb.elements.joint.force_batch import JointForceBatch
from femb.formulations.hamiltonian.momentum_kernels import energy_matrix, momenta, pack, poses, spatial_inertias
from femb.formulations.joint_tree import JointTree, joint_words
from femb.formulations.joint_tree_kernels import REVOLUTE, SPHERICAL, UNIVERSAL
from femb.formulations.tree_frame import TreeFrame
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.terms import work_accounts
from femb.numerics.components import kept, length_of
from femb.numerics.rotations import normalise, rotation_matrix
from femb.system.system import System

# Numbered description of a tree of rigid segments with one degree of freedom each.
#
# The hinge of segment k connects it to segment ``parent[k]``, or to the base for -1; parents precede children.
# The origin of its frame is at the hinge. For a rotation q about the unit vector ``axis`` or a translation q along it,
#
#     R_k = R_parent mounting_k rotation(axis_k, q_k)          O_k = O_parent + R_parent at_k                  revolute
#     R_k = R_parent mounting_k                                O_k = O_parent + R_parent (at_k + mounting_k axis_k q_k)
#
# Rotation matrices take segment components to inertial ones, as everywhere in femb. The base is the ground, or a free
# body (``Base``). A joint with several degrees of freedom is a chain of segments; all but the last have neither mass
# nor inertia. ``femb.formulations.hamiltonian.momentum_form`` makes the tree of a System.
#
# Source: docs/theory/hamiltonian.md, section 1.

GROUND = -1


@dataclass(frozen=True, eq=False)
class Base:
    """A free body, the root of the tree.

    mass (kg), center_of_mass (3,) (m, base axes, from the origin of its frame), inertia (3, 3) (kg m2, about the mass
    centre, base axes).
    """

    name: str
    mass: float
    inertia: Floats
    center_of_mass: Floats


@dataclass(frozen=True, eq=False)
class Tree:
    """n segments; every array has one row for each segment.

    names : of the coordinates, 'joint.coordinate', or none. parent (n,): see the module. axis (n, 3): hinge axes,
    segment components, unit vectors. at (n, 3): hinge in the parent's frame, m. mass (n,), kg. center (n, 3): mass
    centre, from the hinge, segment axes. inertia (n, 3, 3): about the mass centre, segment axes, kg m2. sliding (n,):
    prismatic instead of revolute hinges. mounting (n, 3, 3): segment to parent components at q = 0. stiffness, rest,
    damping (n,): springs and dampers at the hinges (N m/rad or N/m, rad or m, N m s/rad or N s/m), each acting on its
    own coordinate. gravity (3,), m/s2. base: a free body, or None for the ground.
    """

    names: tuple[str, ...]
    parent: Ints
    axis: Floats
    at: Floats
    mass: Floats
    center: Floats
    inertia: Floats
    sliding: Any
    mounting: Floats
    stiffness: Floats
    rest: Floats
    damping: Floats
    gravity: Floats
    base: Base | None

    @property
    def n(self) -> int:
        """Number of coordinates of the hinges."""
        return len(self.parent)

    @property
    def floating(self) -> bool:
        """Whether the base is a free body."""
        return self.base is not None

    def index(self, name: str) -> int:
        """Number of a coordinate. Raises ModelError with the names of existing coordinates."""
        if name not in self.names:
            there = ", ".join(map(repr, self.names[:8])) + (", ..." if self.n > 8 else "")
            raise ModelError(f"no hinge coordinate is named {shown(name)}; there are {there}")
        return self.names.index(name)

    def array(self, values: ArrayLike | Mapping[str, float] | None, what: str = "coordinates") -> Floats:
        """Array (n,) of values by coordinate name (others zero), of an array, or of None (zeros). Raises ModelError."""
        if isinstance(values, Mapping):
            named = np.zeros(self.n)
            for name, value in values.items():
                if text := number_problem(value):
                    raise ModelError(f"{what}, {name!r}: {text}")
                named[self.index(name)] = value
            return named
        return given_numbers(np.zeros(self.n) if values is None else values, self.n, what, ", one a hinge coordinate")

    @cached_property
    def parent_rows(self) -> Ints:
        """(n + 1,): rows of the parents, with the base as row 0 and segment k as row k + 1; read-only."""
        rows: Ints = np.zeros(self.n + 1, dtype=np.int64)
        rows[1:] = self.parent + 1
        rows.flags.writeable = False
        return rows

    @cached_property
    def data(self) -> Floats:
        """(n + 1, columns.N_COLUMNS): data of the base (row 0) and the segments for the kernels; read-only."""
        return frozen_array(pack(self))

    @cached_property
    def ancestors(self) -> Any:
        """B (n, n) bool: B[i, k] is true if i is k or inboard of k."""
        result = np.eye(self.n, dtype=bool)
        for k in range(self.n):
            if self.parent[k] != GROUND:
                result[:, k] |= result[:, self.parent[k]]
        return result


UNIT_VECTORS, ORIGIN, NO_INERTIA = np.eye(3), np.zeros(3), np.zeros((3, 3))
NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])
for _array in (UNIT_VECTORS, ORIGIN, NO_INERTIA, NO_TURN):
    _array.flags.writeable = False


class CompositeBody:
    """Mass (kg), mass centre (3,) m and inertia (3, 3) kg m2 about it of the bodies added so far, at first none."""

    def __init__(self) -> None:
        self.mass, self.center, self.inertia = 0.0, ORIGIN, NO_INERTIA

    def add(self, mass: float, center: Floats, inertia: Floats) -> None:
        """Add a body in the same axes: mass (kg), center (3,) m, inertia (3, 3) kg m2 about its mass centre."""
        if not self.mass:
            self.mass, self.center, self.inertia = mass, center, inertia
            return
        total, d = self.mass + mass, center - self.center
        self.inertia = self.inertia + inertia + self.mass * mass / total * ((d @ d) * np.eye(3) - np.outer(d, d))
        self.center = (self.mass * self.center + mass * center) / total
        self.mass = total


class FrameOnSegment(NamedTuple):
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


class Segment(NamedTuple):
    """A segment that is collected: the frame and the coordinate of its joint that move it, and a row of ``Tree``."""

    frame: TreeFrame
    coordinate: int
    parent: int
    at: Floats
    axis: Floats
    sliding: bool
    mounting: Floats


class Segments:
    """Collects segments frame by frame.

    start (n_q,) : coordinates of the joint tree at the start. frames : by number of the layout's frames.
    single_dof_hinges (3, k) : hinges, and indices in q and in u, of the joint tree's coordinates that are hinge
    coordinates. balls : the other joints.
    """

    def __init__(self, system: System, joints: JointTree, start: Floats) -> None:
        self.layout, self.start = system.layout, start
        self.frames: dict[int, FrameOnSegment] = {}
        self.balls: list[Ball] = []
        self._rows: list[Segment] = []
        single: list[tuple[int, int, int]] = []
        for frame in joints.frames:
            single += self._add_root(frame) if frame.joint is None else self._add_segments(frame)
        self.single_dof_hinges: Ints = np.array(single, dtype=np.int64).reshape(-1, 3).T
        self._bodies = [CompositeBody() for _ in range(len(self._rows) + 1)]
        at = {int(self.layout.frame_v[frame]): on for frame, on in self.frames.items()}
        for batch in system.batches:
            if isinstance(batch, MassBatch):
                places = [at[k] for k in batch.index[:, 1].tolist()]
                axes, origin = np.array([on.axes for on in places]), np.array([on.origin for on in places])
                inertia = axes @ batch.data[:, 4:13].reshape(-1, 3, 3) @ np.swapaxes(axes, 1, 2)
                center = origin + (axes @ batch.data[:, 1:4, None])[:, :, 0]
                for on, *body in zip(places, batch.data[:, 0].tolist(), center, inertia, strict=True):
                    if on.moves:
                        self._bodies[on.segment].add(*body)

    @property
    def base(self) -> CompositeBody:
        """The mass of a free base."""
        return self._bodies[GROUND]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the hinge coordinates, JOINT.COORDINATE."""
        turns = ["turn_x", "turn_y", "turn_z"]  # of spherical joints, after the strokes
        words = [[*joint_words(self.layout, row.frame), *turns][row.coordinate] for row in self._rows]
        return tuple(f"{row.frame.joint}.{word}" for row, word in zip(self._rows, words, strict=True))

    def columns(self) -> dict[str, Any]:
        """Fields of a Tree: topology, hinges and masses."""
        rows, bodies, n = self._rows, self._bodies[:-1], len(self._rows)
        shapes: dict[str, tuple[int, ...]] = {"parent": (n,), "axis": (n, 3), "at": (n, 3), "mounting": (n, 3, 3)}
        result: dict[str, Any] = {
            word: np.array([getattr(row, word) for row in rows]).reshape(shape) for word, shape in shapes.items()
        }
        result["axis"] /= length_of(result["axis"])[:, None]
        result["sliding"] = np.array([row.sliding for row in rows], dtype=bool)
        result["mass"] = np.array([body.mass for body in bodies])
        result["center"] = np.array([body.center for body in bodies]).reshape(n, 3)
        result["inertia"] = np.array([body.inertia for body in bodies]).reshape(n, 3, 3)
        return result

    def _add_root(self, frame: TreeFrame) -> list[tuple[int, int, int]]:
        """A free body: the base, without hinges."""
        self.frames[frame.frame] = FrameOnSegment(GROUND, UNIT_VECTORS, ORIGIN)
        return []

    def _add_segments(self, frame: TreeFrame) -> list[tuple[int, int, int]]:
        """Add the segments between a frame and its parent; rows of ``single_dof_hinges``."""
        segment, axes, origin, moves = self.frame(frame.above.frame)
        ball = self.start[frame.angles] if frame.rotation == SPHERICAL else NO_TURN
        kind = frame.strokes, frame.rotation, frame.backward
        chain, rotation = _hinges_of(*kind, frame.zero, frame.above.axes, frame.below.axes, ball)
        plain = axes is UNIT_VECTORS
        at = origin + (frame.above.offset if plain else axes @ frame.above.offset)
        if not chain:
            axes = axes @ rotation
            self.frames[frame.frame] = FrameOnSegment(segment, axes, at - axes @ frame.below.offset, moves)
            return []
        numbers = {}
        for hinge in chain:
            mounting = hinge.mounting if plain else axes @ hinge.mounting
            numbers[hinge.coordinate] = len(self._rows)
            self._rows.append(Segment(frame, hinge.coordinate, segment, at, hinge.axis, hinge.sliding, mounting))
            at, plain, segment = ORIGIN, True, numbers[hinge.coordinate]
        self.frames[frame.frame] = FrameOnSegment(segment, UNIT_VECTORS, -frame.below.offset)
        q, u, first = frame.first_q, frame.first_u, len(frame.strokes)
        if frame.rotation == SPHERICAL:
            self.balls.append(Ball(q + first, u + first, [numbers.pop(first + k) for k in range(3)], ball))
        return [(number, q + k, u + k) for k, number in numbers.items()]

    def frame(self, frame: int) -> FrameOnSegment:
        """The position of a frame of the layout; of the inertial axes for a negative number."""
        if frame < 0:
            return FrameOnSegment(GROUND, UNIT_VECTORS, ORIGIN, False)
        if frame not in self.frames:
            fixed = self.layout.frames[frame]
            return FrameOnSegment(GROUND, rotation_matrix(fixed.quaternion), np.asarray(fixed.position), False)
        return self.frames[frame]


class Hinge(NamedTuple):
    """One hinge: mounting (3, 3) of its segment's axes in those of the parent segment, axis (3,) in segment axes.

    coordinate : index of its coordinate in those of the joint, strokes first, then angles.
    """

    mounting: Floats
    axis: Floats
    sliding: bool
    coordinate: int


Step = Floats | tuple[Floats, bool, int]
"""A constant rotation (3, 3), or a motion: its axis (3,), whether it slides, and its coordinate."""


@kept
def _hinges_of(
    strokes: tuple[int, ...], kind: int, backward: bool, zero: Floats, above: Floats, below: Floats, ball: Floats
) -> tuple[list[Hinge], Floats]:
    k = len(strokes)
    steps: list[Step] = [(UNIT_VECTORS[axis], True, number) for number, axis in enumerate(strokes)]
    if kind == SPHERICAL:
        steps += [rotation_matrix(ball), *((UNIT_VECTORS[axis], False, k + axis) for axis in range(3))]
    else:
        count = {REVOLUTE: 1, UNIVERSAL: 2}.get(kind, 0)
        turns = [(UNIT_VECTORS[2], False, k + number) for number in range(count)]
        steps += [*turns[:1], zero, *turns[1:]]
    if backward:
        steps = [(-step[0], *step[1:]) if isinstance(step, tuple) else step.T for step in reversed(steps)]
    hinges: list[Hinge] = []
    rotation = above
    for step in steps:
        if isinstance(step, tuple):
            hinges.append(Hinge(rotation, *step))
            rotation = UNIT_VECTORS
        else:
            rotation = rotation @ step
    rotation = rotation @ below.T
    if not hinges:
        return [], rotation
    last = hinges.pop()
    return [
        *hinges,
        Hinge(last.mounting @ rotation, rotation.T @ last.axis, last.sliding, last.coordinate),
    ], UNIT_VECTORS


# Forces that a recursion over a tree evaluates itself, linear springs and dashpots of joints, and all others.


def linear_springs(system: System) -> list[JointSpringDamper]:
    """The springs and dashpots of joints without a user's law."""
    return [item for batch in system.batches for item in linear_springs_of(batch)]


def linear_springs_of(batch: Batch) -> list[JointSpringDamper]:
    """``linear_springs`` of a batch."""
    items = batch.items if isinstance(batch, JointForceBatch) else []
    return [item for item in items if isinstance(item, JointSpringDamper) and item.force is None]


def spring_columns(
    layout: Layout, springs: Sequence[JointSpringDamper], hinge_of: Ints, n: int
) -> tuple[Floats, Floats, Floats]:
    """Stiffness, damping and rest (n,) of n hinges: parallel springs add up. hinge_of (m,) : of joint coordinates."""
    stiffness, damping, moment = np.zeros((3, n))
    for item in springs:
        k = hinge_of[item.coordinate_number(layout)]
        stiffness[k] += item.stiffness
        damping[k] += item.damping
        moment[k] += item.stiffness * item.free
    return stiffness, damping, np.divide(moment, stiffness, out=np.zeros(n), where=stiffness > 0.0)


def other_batches(system: System, springs: Sequence[JointSpringDamper]) -> list[Batch]:
    """The batches of a System without the masses of rigid bodies and without ``springs``."""
    left_out = set(map(id, springs))
    others = [_without(batch, left_out) for batch in system.batches if not isinstance(batch, MassBatch)]
    return [batch for batch in others if batch is not None]


def _without(batch: Any, springs: set[int]) -> Batch | None:
    """The batch without some items; None if no item remains."""
    if not isinstance(batch, JointForceBatch):
        result: Batch = batch
        return result
    taken = np.array([id(item) in springs for item in batch.items])
    if taken.all():
        return None
    other = copy(batch)
    other.data = np.where(taken[:, None], 0.0, batch.data)
    return other


def does_work(batch: Batch) -> bool:
    """Whether a batch may have power: false if it consists of springs only."""
    if isinstance(batch, JointForceBatch):
        springs = linear_springs_of(batch)
        return len(springs) < len(batch.items) or any(item.damping for item in springs)
    return bool(work_accounts(batch.forces(), ""))


# Poses, velocities and momenta of the segments at a state, and their accelerations with the forces in the hinges.


@dataclass(frozen=True)
class TreeMotion:
    """Rows are the base (0) and the segments (k + 1); spatial quantities are about the base's origin, inertial axes.

    R (rows, 3, 3): attitudes. hinge, center (rows, 3): hinge points and mass centres, from the base's origin, m.
    S (rows, 6): hinge motions. M (rows, 6, 6): spatial inertias. v (rows, 6): velocities. h (rows, 6): momenta of a
    segment and all segments outboard. origin_of_base (3,), m. q, rate (n,): coordinates and rates of the hinges.
    """

    tree: Tree
    q: Floats
    rate: Floats
    R: Floats
    hinge: Floats
    center: Floats
    S: Floats
    M: Floats
    v: Floats
    h: Floats
    origin_of_base: Floats

    @classmethod
    def of(cls, tree: Tree, q: Floats, rate: Floats, base: Floats, pose: Floats | None = None) -> "TreeMotion":
        """Motion for q, rate (n,); base (6,), pose (7,): velocity (omega, v), inertial axes, and pose of the base."""
        rows = tree.n + 1
        R, hinge, c, S = np.empty((rows, 3, 3)), np.empty((rows, 3)), np.empty((rows, 3)), np.zeros((rows, 6))
        M, v, h = np.empty((rows, 6, 6)), np.empty((rows, 6)), np.empty((rows, 6))
        R[0] = np.eye(3) if pose is None else rotation_matrix(normalise(pose[3:]))
        poses(tree.parent_rows, tree.data, q, R, hinge, c, S)
        spatial_inertias(tree.data, R, c, M)
        v[0] = base
        momenta(tree.parent_rows, S, M, rate, v, h)
        return cls(tree, q, rate, R, hinge, c, S, M, v, h, np.zeros(3) if pose is None else pose[:3].copy())

    @property
    def p(self) -> Floats:
        """(n,): momenta of the hinges, p_k = S_k . h_k, equation (8)."""
        result: Floats = np.einsum("ki,ki->k", self.S[1:], self.h[1:])
        return result

    @property
    def linear_momentum(self) -> Floats:
        """(3,) kg m/s of the whole tree."""
        return self.h[0, 3:].copy()

    @property
    def angular_momentum(self) -> Floats:
        """(3,) kg m2/s of the whole tree about the inertial origin."""
        return self.h[0, :3] + np.cross(self.origin_of_base, self.h[0, 3:])

    @property
    def energy_matrix(self) -> Floats:
        """A (6 + n, 6 + n), the base's six velocities (omega, v) first: T = 1/2 u.A u, equation (7)."""
        A = np.zeros((6 + self.tree.n, 6 + self.tree.n))
        energy_matrix(self.tree.parent_rows, self.S, self.M.copy(), A)
        return np.tril(A) + np.tril(A, -1).T


@dataclass(frozen=True)
class TreeAccelerations:
    """Accelerations of a motion: second (n,), of the hinges; a (rows, 6), rates of v at the fixed point; force (rows,
    6) of each hinge on its outer segment, about the base's origin; drive (n,), the force of a driver or latch along its
    coordinate, otherwise zero.
    """

    second: Floats
    a: Floats
    force: Floats
    drive: Floats
    motion: TreeMotion
