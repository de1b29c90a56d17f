"""Joint tree: the frames of a System connected by its joints, with a coordinate for each degree of freedom.

Every moving frame has a parent: another frame, the ground, or, for a free root, the inertial axes with six degrees of
freedom. The axes and points of the first and the second end of a joint satisfy

    A_second = A_first C,    x_second = x_first + A_first d

with strokes d along the axes that no row of the joint constrains, and C of one of the kinds

    locked      C = Z                        no coordinate
    revolute    C = R_z(a) Z                 an angle
    universal   C = R_z(a) Z R_z(b)          two angles
    spherical   C of a quaternion            four coordinates; speeds: relative angular velocity, axes of the second

Beams couple frames only by forces: their nodes are free roots, which may be parents of other frames. The coordinates of
a frame are its strokes, then its angles; internal coordinates follow after all frames. Parents come before children.
Coordinates have names, for states of a linearisation and matrices of the reduced form.
Source: docs/theory/reduced_order.md, sections 2 and 3.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import Keeper, given_numbers, shown
from femb.elements.joint.coordinates import X, Y, Z
from femb.formulations.contract import Coordinates, Transformed
from femb.formulations.joint_tree_kernels import (
    FRAME_Q,
    LOCKED,
    POINT_MASS,
    REVOLUTE,
    SIZE,
    SPHERICAL,
    UNIVERSAL,
    ZERO,
    sweep,
)
from femb.formulations.tree_frame import (
    IDENTITY,
    ROTATION_SIZES,
    Root,
    TreeFrame,
    end_poses,
    free_directions,
    packed_data,
    packed_index,
)
from femb.layout.discrete import ANGLES, DiscreteState
from femb.layout.element import TrialError
from femb.layout.layout import Layout, Station
from femb.layout.numbering import KEPT
from femb.numerics import rotations
from femb.numerics.newton import largest, newton
from femb.system.block_lu import Factors
from femb.system.system import System

# Order of the frames of a joint tree, parents before children, by a breadth-first search along the joints.


def ordered_frames(
    layout: Layout, roots: Iterable[int], refused: Callable[[str, str], ModelError]
) -> list[tuple[int, int, str | None]]:
    """Frame, index of its parent in the list (-1 for a fixed frame), and joint (None for a free root) of all frames.

    roots : candidates for free roots, in order of preference. refused : makes the error for a closed loop from the
    reason and a remedy.
    """
    joints: list[list[str]] = [[] for _ in layout.frames]
    for name, joint in layout.joints.items():
        for end in (joint.first, joint.second):
            joints[end.frame].append(name)
    index = {k: -1 for k, frame in enumerate(layout.frames) if frame.freedom == 0}
    parent: dict[int, tuple[int, str]] = {}
    result: list[tuple[int, int, str | None]] = []
    queue = deque(index)
    used: set[str] = set()
    for root in [None, *roots]:
        if root is not None:
            if root in index:
                continue
            index[root] = len(result)
            result.append((root, -1, None))
            queue.append(root)
        while queue:
            above = queue.popleft()
            for name in joints[above]:
                joint = layout.joints[name]
                below = joint.second.frame if joint.first.frame == above else joint.first.frame
                if name in used:
                    continue
                used.add(name)
                if below in index:
                    loop = ", ".join(f"joints.{member}" for member in _loop(parent, above, below, name))
                    raise refused(f"{loop} close a loop", "or open the loop")
                index[below] = len(result)
                parent[below] = (above, name)
                result.append((below, index[above], name))
                queue.append(below)
    return result


def _loop(parent: dict[int, tuple[int, str]], first: int, second: int, closing: str) -> list[str]:
    """Names of the joints of the loop that the joint ``closing`` closes."""
    paths = []
    for frame in (first, second):
        path = []
        while frame in parent:
            frame, name = parent[frame]
            path.append(name)
        paths.append(path)
    return [closing, *(path for path in paths[0] + paths[1] if (path in paths[0]) != (path in paths[1]))]


class FramePlace(NamedTuple):
    """A frame in the order of a tree: its number in the layout, and the number of its joint, -1 for a free root.

    of_joint : the kind of rotation of the joint; rotation : that of the frame, which may have no axes. The others are
    those of ``TreeFrame``.
    """

    frame: int
    parent: int
    joint: int
    backward: bool
    strokes: tuple[int, ...]
    of_joint: int
    rotation: int
    first_q: int
    first_u: int


@dataclass(frozen=True, eq=False)
class TreeStructure:
    """The part of a joint tree that models of one topology have in common.

    unmeasured : the frames with coordinates that are none of a joint. quaternions : the frames with axes, the places
    (n, 4) of their quaternions in the System's q, and the parents of all frames. The others are described for
    ``JointTree``.
    """

    places: list[FramePlace]
    n_q: int
    n_u: int
    retained_rows: list[int]
    index: Ints
    coordinate_index: Ints
    coordinates: Coordinates
    unmeasured: list[int]
    quaternions: tuple[Ints, Ints, Ints]


STRUCTURES: Keeper[TreeStructure] = Keeper(KEPT)
INERTIAL = Station(-1)

Swept: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats, Floats]
"""The result of ``JointTree.sweep``: q and v of the System, and T, T', B, B' of every frame."""


class JointTree:
    """The tree of a system.

    frames : TreeFrame in order. n_q, n_u : numbers of coordinates and speeds. coordinates : indices of strokes, angles
    and internal coordinates in q and u, of quaternions in q and angular velocities in u, as
    ``femb.numerics.kinematics`` takes them. retained_rows : numbers of the layout's rows that belong to no joint of the
    tree but to drivers and latches. q0 (n_q,) : coordinates at the start of the System. coordinate_index (m,) : index
    in q of every joint coordinate of the System, or -1.

    formulation : name for messages. analysis : whether it is a user's function, for which another formulation is no
    remedy. Raises ModelError naming joints that close a loop or whose degrees of freedom have no coordinates.
    """

    def __init__(
        self, system: System, formulation: str = "reduced", root: Root | None = None, analysis: bool = False
    ) -> None:
        self.system, self.layout, self.formulation = system, system.layout, formulation
        self._analysis = analysis
        self.root = Root() if root is None else root
        self._number()
        self.q0 = self.coordinates_at(system.q0)
        self._same_signs()

    # The tree

    def _refused(self, why: str, instead: str = "") -> ModelError:
        text = f"{self.formulation!r} is for trees of joints: {why}"
        if self._analysis:
            return ModelError(f"{text}; {instead.removeprefix('or ') or 'take a joint of another kind'}")
        return ModelError.at(("run", "formulation"), f"{text}; use 'velocity'" + (f", {instead}" if instead else ""))

    def _number(self) -> None:
        layout, root = self.layout, self.root
        self._names, self._joints = list(layout.joints), list(layout.joints.values())
        self._items = [self.system.model.joints[name] for name in self._names]
        if root.body is not None and root.body not in layout.bodies:
            raise ModelError(f"root: got body {root.body!r}, which is not in the model")
        if layout.numbers.kept and root == Root():
            ends = [
                (joint.first.frame, joint.second.frame, joint.part.start, *joint.rows[:1]) for joint in self._joints
            ]
            kinds = [(type(item), item.rows) for item in self._items]
            key = layout.numbers, tuple(ends), tuple(kinds), self.system.coordinates_of_joints.count
            structure = STRUCTURES.get(key, self._structure)
        else:
            structure = self._structure()
        self.structure = structure
        self.n_q, self.n_u = structure.n_q, structure.n_u
        count = len(layout.internal)
        self.internal = (slice(self.n_q - count, self.n_q), slice(self.n_u - count, self.n_u))
        self.internal_index = layout.internal_q, layout.internal_v
        self.retained_rows, self.index = structure.retained_rows, structure.index
        self.coordinate_index, self.coordinates = structure.coordinate_index, structure.coordinates
        self.frames = [self._frame(place) for place in structure.places]
        self.data = packed_data(self.frames)
        self.fixed = np.vstack([layout.fixed, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])

    def _structure(self) -> "TreeStructure":
        """The order of the frames, and the places of their coordinates."""
        layout, number = self.layout, {name: k for k, name in enumerate(self._names)}
        # candidates for free roots, in order of preference
        roots = [] if self.root.body is None else [layout.bodies[self.root.body]]
        roots += [k for k, frame in enumerate(layout.frames) if frame.freedom]
        n_q = n_u = 0
        places: list[FramePlace] = []
        rows: set[int] = set()
        for frame, parent, name in ordered_frames(layout, roots, self._refused):
            joint = -1 if name is None else number[name]
            strokes: tuple[int, ...] = X, Y, Z
            of_joint = SPHERICAL
            if name is not None:
                strokes, of_joint = self._free_directions(name, self._items[joint])
                rows |= set(self._joints[joint].rows[: len(self._items[joint].rows)])
            rotation = POINT_MASS if layout.frames[frame].freedom == 3 else of_joint
            backward = name is not None and self._joints[joint].first.frame == frame
            places.append(FramePlace(frame, parent, joint, backward, strokes, of_joint, rotation, n_q, n_u))
            of_q, of_u = ROTATION_SIZES[rotation]
            n_q, n_u = n_q + len(strokes) + of_q, n_u + len(strokes) + of_u
        retained = [k for k in range(len(layout.rows)) if k not in rows]
        return self._indexed(places, n_q, n_u, retained)

    def _indexed(self, places: "list[FramePlace]", n_q: int, n_u: int, retained: list[int]) -> "TreeStructure":
        """The structure with the indices of coordinates."""
        layout, count = self.layout, len(self.layout.internal)
        frames = [self._frame(place) for place in places]
        linear: list[tuple[int, int]] = []
        spherical: list[tuple[int, int]] = []
        coordinate_index: Ints = np.full(self.system.coordinates_of_joints.count, -1)
        for place, frame in zip(places, frames, strict=True):
            sizes = frame.q.stop - frame.q.start - (4 if frame.rotation == SPHERICAL else 0)
            linear += [(frame.q.start + i, frame.u.start + i) for i in range(sizes)]
            if frame.rotation == SPHERICAL:
                spherical.append((frame.q.stop - 4, frame.u.stop - 3))
            if place.joint >= 0:
                joint, angle = self._joints[place.joint], frame.angles.start
                numbers = range(joint.part.start, joint.part.stop)
                for number, coordinate in zip(numbers, joint.coordinates, strict=True):
                    if not coordinate.is_angle:
                        coordinate_index[number] = frame.q.start + frame.strokes.index(coordinate.first[0])
                    elif frame.rotation in (REVOLUTE, UNIVERSAL):
                        coordinate_index[number] = angle
                        angle += 1
        linear += [(n_q + k, n_u + k) for k in range(count)]
        of_linear, of_spherical = (np.array(pairs, dtype=np.int64).reshape(-1, 2).T for pairs in (linear, spherical))
        measured = set(coordinate_index.tolist())
        # kernels need contiguous arguments
        linear_q, linear_v, quaternion_q, omega_v = (np.ascontiguousarray(row) for row in (*of_linear, *of_spherical))
        index = packed_index(frames, layout)
        turning = np.flatnonzero(index[:, SIZE] == 6)
        parents = np.array([place.parent for place in places], dtype=np.int64)
        return TreeStructure(
            places,
            n_q + count,
            n_u + count,
            retained,
            index,
            coordinate_index,
            (linear_q, linear_v, quaternion_q, omega_v),
            [k for k, frame in enumerate(frames) if not measured.issuperset(range(frame.q.start, frame.q.stop))],
            (turning, index[turning, FRAME_Q, None] + np.arange(3, 7), parents),
        )

    def _frame(self, place: "FramePlace") -> TreeFrame:
        """A frame of the tree, with the ends of its joint."""
        frame, parent, number, backward, strokes, of_joint, rotation, first_q, first_u = place
        first = first_q, first_u
        if number < 0:
            above, below, velocity = self._free(frame)
            return TreeFrame(frame, parent, None, False, above, below, strokes, rotation, IDENTITY, *first, velocity)
        joint, zero = self._joints[number], IDENTITY
        if of_joint == UNIVERSAL:
            zero = self._items[number].at_zero(IDENTITY)
        elif of_joint == LOCKED:
            zero = self._locked(joint)
        ends = (joint.second, joint.first) if backward else (joint.first, joint.second)
        return TreeFrame(frame, parent, self._names[number], backward, *ends, strokes, rotation, zero, *first)

    def _free(self, frame: int) -> tuple[Station, Station, bool]:
        """The ends of a free root, and whether its speeds are in its own axes."""
        if self.root == Root():
            return INERTIAL, Station(frame), False
        point, velocity = np.zeros(3), False
        body = next((name for name, number in self.layout.bodies.items() if number == frame), None)
        has_axes = self.layout.frames[frame].freedom == 6
        if has_axes and body is not None and self.root.body in (None, body):
            velocity = self.root.velocity == "body"
            given = self.root.point
            if isinstance(given, str):
                given = point if given == "origin" else getattr(self.system.model.bodies[body], "center_of_mass", point)
            point = np.asarray(given, dtype=float)
        return INERTIAL, Station(frame, point), velocity

    def _free_directions(self, name: str, item: Any) -> tuple[tuple[int, ...], int]:
        """Strokes and kind of rotation of a joint: no row constrains its degrees of freedom."""
        try:
            return free_directions(item)
        except ValueError as error:
            owner = next((each for each in self.system.model.items() if item in each.parts()), None)
            of = "" if owner is None else f" of {owner.table}.{owner.name} ({getattr(owner, 'model', owner.kind)})"
            raise self._refused(f"joints.{name} ({item.kind}){of} {error}") from error

    def _locked(self, joint: Any) -> Floats:
        """Z of ends without relative rotation: their x axes may point in opposite directions."""
        ends = end_poses(self.layout, [joint.first, joint.second], self.system.q0)[1]
        first, second = rotations.rotation_matrix(ends)[:, :, X]
        sign = 1.0 if first @ second > 0.0 else -1.0
        return np.diag([sign, sign, 1.0])

    # Tables and indices

    def _same_signs(self) -> None:
        """Choose the signs of Z so that quaternions of frames have the same signs as in the System at the start."""
        Q = self.to_system(self.q0[None], np.zeros((1, self.n_u)))[0][0]
        turning, places, parents = self.structure.quaternions
        signs = np.ones(len(self.frames) + 1)
        signs[turning] = np.copysign(1.0, (Q[places] * self.system.q0[places]).sum(axis=1))
        # the parent of a root is the last of the signs
        self.data[:, ZERO] *= (signs[:-1] * signs[parents])[:, None]

    @cached_property
    def joint_speeds(self) -> dict[int, int]:
        """Indices in u of the speeds of joint coordinates, by the number of the coordinate."""
        speed_of = dict(zip(self.coordinates[0].tolist(), self.coordinates[1].tolist(), strict=True))
        return {k: speed_of[int(index)] for k, index in enumerate(self.coordinate_index) if index >= 0}

    # Kinematics

    def sweep(self, q: Floats, u: Floats) -> Swept:
        """At s states q (s, n_q), u (s, n_u), from root to tips: the System's q and v, and for every frame, with

            v_i = T_i v_parent + B_i u_i,

        T, T' (s, frames, 6, 6), B, B' (s, frames, 6, 6). Source: docs/theory/reduced_order.md, equations (5) to (9).
        """
        return self._swept(q, u, len(q))

    def _swept(self, q: Floats, u: Floats, kept: int) -> Swept:
        """The sweep with T, T', B, B' of the first ``kept`` states only."""
        count, n = len(q), len(self.frames)
        Q, V = np.empty((count, self.system.n_q)), np.empty((count, self.system.n_v))
        T, T1, B, B1 = np.zeros((4, kept, n, 6, 6))
        sweep(self.index, self.data, self.fixed, q, u, Q, V, T, T1, B, B1)
        internal_q, internal_v = self.internal_index
        Q[:, internal_q], V[:, internal_v] = q[:, self.internal[0]], u[:, self.internal[1]]
        return Q, V, T, T1, B, B1

    def to_system(self, q: Floats, u: Floats) -> tuple[Floats, Floats]:
        """The System's q (s, n_q) and v (s, n_v) at s states."""
        return self._swept(q, u, min(1, len(q)))[:2]

    def coordinates_at(self, Q: Floats, angles: Floats | None = None) -> Floats:
        """q (n_q,) of the System's Q (system.n_q,); exact if Q satisfies the constraints.

        angles (m,) : joint coordinates from which angles are unwrapped; by default those of the discrete state.
        """
        q, joints = np.empty(self.n_q), self.system.coordinates_of_joints
        q[self.internal[0]] = Q[self.internal_index[0]]
        if self.structure.unmeasured:
            self._set_poses([self.frames[k] for k in self.structure.unmeasured], Q, q)
        numbers = np.flatnonzero(self.coordinate_index >= 0)
        if numbers.size:
            values = joints.motion(Q[None], np.zeros((1, self.system.n_v)))[0][0]
            reference = self.system.discrete.angles if angles is None else angles
            q[self.coordinate_index[numbers]] = joints.unwrapped(values, reference)[numbers]
        return q

    def _set_poses(self, frames: list[TreeFrame], Q: Floats, q: Floats) -> None:
        """Set the coordinates of frames in q by the poses of the ends of their joints."""
        first = [frame.below if frame.backward else frame.above for frame in frames]
        second = [frame.above if frame.backward else frame.below for frame in frames]
        r, p = end_poses(self.layout, [*first, *second], Q)
        (r_a, r_b), (p_a, p_b) = r.reshape(2, -1, 3), p.reshape(2, -1, 4)
        p = rotations.multiply(rotations.conjugate(p_a), p_b)
        strokes, rotation = rotations.rotate_back(p_a, r_b - r_a), rotations.rotation_matrix(p)
        for frame, d, C, quaternion in zip(frames, strokes, rotation, p, strict=True):
            if frame.strokes:
                q[frame.q.start : frame.angles.start] = d[list(frame.strokes)]
            if frame.rotation == REVOLUTE:
                q[frame.angles] = np.arctan2(C[Y, X], C[X, X])
            elif frame.rotation == UNIVERSAL:
                q[frame.angles] = np.arctan2(C[Y, Z], C[X, Z]), np.arctan2(-C[Z, Y], C[Z, X])
            elif frame.rotation == SPHERICAL:
                q[frame.angles] = rotations.normalise(quaternion)

    def speeds_at(self, q: Floats, V: Floats) -> Floats:
        """u (n_u,) of the System's velocities V (system.n_v,) at q: u_i = B_i^+ (v_i - T_i v_parent)."""
        if not V.any():
            return np.zeros(self.n_u)
        u = np.empty(self.n_u)
        u[self.internal[1]] = V[self.internal_index[1]]
        _, _, T, _, B, _ = self.sweep(q[None], np.zeros((1, self.n_u)))
        velocity = np.zeros((len(self.frames), 6))
        for k, frame in enumerate(self.frames):
            j, freedom = self.layout.frame_v[frame.frame], self.layout.frames[frame.frame].freedom
            velocity[k, :freedom] = V[j : j + freedom]
            relative = velocity[k] - (T[0, k] @ velocity[frame.parent] if frame.parent >= 0 else 0.0)
            count = frame.u.stop - frame.u.start
            u[frame.u] = np.linalg.lstsq(B[0, k, :freedom, :count], relative[:freedom], rcond=None)[0]
        return u


def joint_words(layout: Layout, frame: TreeFrame) -> list[str]:
    """Names of the strokes, then of the one or two angles, of the joint of a frame; none for a spherical joint."""
    assert frame.joint is not None
    coordinates = layout.joints[frame.joint].coordinates
    strokes = {coordinate.first[0]: coordinate.name for coordinate in coordinates if not coordinate.is_angle}
    angles = [coordinate.name for coordinate in coordinates if coordinate.is_angle]
    unnamed = {REVOLUTE: ["angle"], UNIVERSAL: ["first_angle", "second_angle"]}.get(frame.rotation, [])
    return [strokes.get(axis, "xyz"[axis]) for axis in frame.strokes] + (angles or unnamed)


def coordinate_names(tree: JointTree) -> list[str]:
    """Names (n_u,) of the coordinates, in the order of the speeds."""
    layout = tree.layout
    names = [""] * tree.n_u
    bodies = {frame: f"bodies.{name}" for name, frame in layout.bodies.items()}
    for frame in tree.frames:
        owner = f"joints.{frame.joint}" if frame.joint else bodies.get(frame.frame, layout.frames[frame.frame].label)
        words = ["xyz"[k] if frame.joint is None else f"stroke_{'xyz'[k]}" for k in frame.strokes]
        turns = frame.u.stop - frame.u.start - len(words)
        words += [f"turn_{'xyz'[k]}" for k in range(turns)]
        names[frame.u] = [f"{owner}.{word}" for word in words]
    for number, index in tree.joint_speeds.items():
        joint = next(name for name, joint in layout.joints.items() if joint.part.start <= number < joint.part.stop)
        coordinates, part = layout.joints[joint].coordinates, layout.joints[joint].part
        names[index] = f"joints.{joint}.{coordinates[number - part.start].name}"
    names[tree.internal[1]] = [coordinate.name for coordinate in layout.internal]
    return names


def position_names(tree: JointTree) -> tuple[str, ...]:
    """Names (n_q,) of the coordinates q; the rotation of a spherical joint or a free body is a quaternion."""
    names, result = coordinate_names(tree), [""] * tree.n_q
    for frame in tree.frames:
        frame_names = names[frame.u]
        if frame.q.stop - frame.q.start > len(frame_names):
            title = frame_names[-1].rpartition(".")[0]
            frame_names = [*frame_names[:-3], *(f"{title}.quaternion_{k}" for k in range(4))]
        result[frame.q] = frame_names
    result[tree.internal[0]] = names[tree.internal[1]]
    return tuple(result)


def speed_names(tree: JointTree) -> tuple[str, ...]:
    """Names (n_u,) of the speeds."""
    return tuple(f"{name} rate" for name in coordinate_names(tree))


def given_by_name(
    word: str, values: ArrayLike | Mapping[str, float] | None, start: Floats, names: tuple[str, ...]
) -> Floats:
    """A copy of ``start`` (n,) with values by name, or an array (n,) of all values. Raises ModelError."""
    if values is None:
        return start.copy()
    if isinstance(values, Mapping):
        result = start.copy()
        for name, value in values.items():
            if name not in names:
                raise ModelError(f"reduced_matrices: {word}: got {shown(name)}, wanted names of {', '.join(names)}")
            result[names.index(name)] = value
        return result
    return given_numbers(values, len(start), f"reduced_matrices: {word}", f": {', '.join(names)}").copy()


# Base class of formulations in coordinates of a joint tree: the rows that remain constraints.

PROJECTION_TOLERANCE, PROJECTION_ITERATIONS = 1e-13, 10


def holding_rows(layout: Layout, discrete: DiscreteState) -> set[int]:
    """Rows of engaged latches, without those whose coordinates couplings and other ones of these latches hold."""
    relations = [each for each in layout.relations.values() if each.row >= 0]
    # what drives a curve holds what follows; what follows may rest while the other moves
    drives = {each.numbers[0] for each in relations if not each.factors}
    latches = sorted(
        (each for each in layout.latches if each.engaged(discrete)), key=lambda x: x.coordinate not in drives
    )
    rows = np.zeros((len(relations), 1 + max((each.part.stop for each in layout.joints.values()), default=0)))
    for row, each in zip(rows, relations, strict=True):
        # slopes of curves change: numbers that are no ratios of others stand for them
        row[[*each.numbers]] = each.factors or np.sqrt(2.0 + np.arange(len(each.numbers)))
    found: set[int] = set()
    for latch in latches:
        more = np.vstack([rows, np.arange(rows.shape[1]) == latch.coordinate])
        if np.linalg.matrix_rank(more) == len(more):
            rows = more
            found.add(latch.row)
    return found


class TreeForm(Transformed):
    """A System in coordinates of its joint tree.

    The rows of drivers and of engaged latches, which belong to no joint of the tree, are retained as constraints, but
    for those of latches that add nothing. retained : indices of these n_c rows in the System's multipliers.
    """

    def _select_rows(self, tree: JointTree, eliminated: Collection[int] = ()) -> None:
        idle = {latch.row for latch in self.layout.latches} - holding_rows(self.layout, self.system.discrete)
        rows = [row for row in tree.retained_rows if row not in idle and row not in eliminated]
        self.retained: Ints = np.asarray(self.layout.row_c[rows], dtype=np.int64)
        self.n_c = len(rows)

    def _all_multipliers(self, multipliers: Floats) -> Floats:
        """The System's multipliers (s, system.n_c), with zero for the rows of joints."""
        result = np.zeros((len(multipliers), self.system.n_c))
        result[:, self.retained] = multipliers
        return result

    def projected(self, u: Floats, q: Floats, v: Floats, factors: Factors | None = None) -> tuple[Floats, Floats]:
        """q (n_q,), v (n_v,) projected onto the retained rows in the metric of the mass matrix, or of its ``factors``
        where given. Raises TrialError."""
        if not self.n_c:
            return q, v
        angles = [pair for pair in self.system.inputs.parts if pair[0].array == ANGLES]
        if angles:
            # a step may be longer than a turn, which q counts
            u, here = u.copy(), {ANGLES: self.joint_angles(q[None])[0]}
            for input_, part in angles:
                u[part] = input_.function(here)

        def gaps(q: Floats) -> Floats:
            result: Floats = self.system.constraints(u[None], *self.to_system(q[None], v[None]))[0][0, self.retained]
            return result

        def retract(q: Floats, x: Floats, part: float) -> Floats:
            new: Floats = q + part * self.rates(q[None], x[None])[0]
            self.normalise(new)
            return new

        end = newton(
            q,
            gaps,
            lambda it: self._correction(u, it.x, it.residual),
            retract,
            lambda it: it.within(PROJECTION_TOLERANCE),
            iterations=PROJECTION_ITERATIONS,
            residual_size=largest,
        )
        if not end.size <= 100.0 * PROJECTION_TOLERANCE:
            raise TrialError("the drivers could not be followed")
        q = end.x
        rates = self.system.constraint_rates(u[None], *self.to_system(q[None], v[None]))[0, self.retained]
        return q, v + self._correction(u, q, rates)

    def rates(self, q: Floats, v: Floats) -> Floats:
        """q' (s, n_q) at s states."""
        raise NotImplementedError

    def normalise(self, q: Floats) -> float:
        """Scale quaternions to unit length, in place."""
        raise NotImplementedError

    def _correction(self, u: Floats, q: Floats, gap: Floats) -> Floats:
        """The smallest change of speeds, in the metric of the mass, that changes the retained rows by -gap."""
        raise NotImplementedError

    def budget_rates(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s, n_w): power and rates of momentum of loads, dampers and drivers, by the columns of the budget."""
        full = None if multipliers is None else self._all_multipliers(multipliers)
        return self.system.budget_rates(u, *self.to_system(q, v), full)
