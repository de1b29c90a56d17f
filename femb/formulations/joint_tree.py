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
Source: docs/theory/reduced_order.md, sections 2 and 3.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.elements import RigidBody
from femb.elements.joint.coordinates import X, Y, Z
from femb.formulations.contract import Coordinates
from femb.formulations.joint_tree_kernels import LOCKED, POINT_MASS, REVOLUTE, SPHERICAL, UNIVERSAL, sweep
from femb.formulations.tree_frame import IDENTITY, Root, TreeFrame, end_poses, free_directions, packed
from femb.layout.layout import Layout, Station
from femb.numerics import rotations
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
        n_q = n_u = 0
        self.frames: list[TreeFrame] = []
        rows: set[int] = set()
        bodies, body = self.layout.bodies, self.root.body
        if body is not None and body not in bodies:
            raise ModelError(f"root: got body {body!r}, which is not in the model")
        # candidates for free roots, in order of preference
        roots = [] if body is None else [bodies[body]]
        roots += [k for k, frame in enumerate(self.layout.frames) if frame.freedom]
        for frame, parent, name in ordered_frames(self.layout, roots, self._refused):
            first = n_q, n_u
            added = self._free(frame, first) if name is None else self._by_joint(frame, parent, name, first)
            self.frames.append(added)
            n_q, n_u = added.q.stop, added.u.stop
            if name is not None:
                rows |= set(self.layout.joints[name].rows[: len(self._item(name).rows)])
        count = len(self.layout.internal)
        self.internal = (slice(n_q, n_q + count), slice(n_u, n_u + count))
        self.internal_index = self.layout.internal_q, self.layout.internal_v
        self.n_q, self.n_u = n_q + count, n_u + count
        self.retained_rows = [k for k in range(len(self.layout.rows)) if k not in rows]
        self.index, self.data, self.fixed = packed(self.frames, self.layout)
        self._list_coordinates()

    def _free(self, frame: int, first: tuple[int, int]) -> TreeFrame:
        """A free root."""
        point, velocity = np.zeros(3), False
        body = next((name for name, number in self.layout.bodies.items() if number == frame), None)
        has_axes = self.layout.frames[frame].freedom == 6
        if has_axes and body is not None and self.root.body in (None, body):
            velocity = self.root.velocity == "body"
            given = self.root.point
            if isinstance(given, str):
                rigid = self.system.model.bodies[body]
                given = rigid.center_of_mass if given != "origin" and isinstance(rigid, RigidBody) else point
            point = np.asarray(given, dtype=float)
        ends = Station(-1), Station(frame, point)
        rotation = SPHERICAL if has_axes else POINT_MASS
        return TreeFrame(frame, -1, None, False, *ends, (X, Y, Z), rotation, IDENTITY, *first, velocity)

    def _item(self, name: str) -> Any:
        return self.system.model.tables["joints"][name]

    def _by_joint(self, frame: int, parent: int, name: str, first: tuple[int, int]) -> TreeFrame:
        """A frame with a parent frame or the ground: no row constrains its degrees of freedom."""
        joint, item = self.layout.joints[name], self._item(name)
        try:
            strokes, rotation = free_directions(item)
        except ValueError as error:
            raise self._refused(f"joints.{name} ({item.kind}) {error}") from error
        zero = item.at_zero(IDENTITY) if rotation == UNIVERSAL else IDENTITY
        if rotation == LOCKED:
            zero = self._locked(joint)
        if self.layout.frames[frame].freedom == 3:
            rotation = POINT_MASS
        backward = joint.first.frame == frame
        ends = (joint.second, joint.first) if backward else (joint.first, joint.second)
        return TreeFrame(frame, parent, name, backward, *ends, strokes, rotation, zero, *first)

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
        signs = np.ones(len(self.frames) + 1)
        for k, frame in enumerate(self.frames):
            i = self.layout.frame_q[frame.frame] + 3
            if self.layout.frames[frame.frame].freedom == 6:
                signs[k] = np.copysign(1.0, Q[i : i + 4] @ self.system.q0[i : i + 4])
            self.data[k, 14:] *= signs[k] * signs[frame.parent]

    def _list_coordinates(self) -> None:
        linear: list[tuple[int, int]] = []
        spherical: list[tuple[int, int]] = []
        self.coordinate_index: Ints = np.full(self.system.coordinates_of_joints.count, -1)
        for frame in self.frames:
            count = frame.q.stop - frame.q.start - (4 if frame.rotation == SPHERICAL else 0)
            linear += [(frame.q.start + k, frame.u.start + k) for k in range(count)]
            if frame.rotation == SPHERICAL:
                spherical.append((frame.q.stop - 4, frame.u.stop - 3))
            if frame.joint is not None:
                joint, angle = self.layout.joints[frame.joint], frame.angles.start
                numbers = range(joint.part.start, joint.part.stop)
                for number, coordinate in zip(numbers, joint.coordinates, strict=True):
                    if not coordinate.is_angle:
                        self.coordinate_index[number] = frame.q.start + frame.strokes.index(coordinate.first[0])
                    elif frame.rotation in (REVOLUTE, UNIVERSAL):
                        self.coordinate_index[number] = angle
                        angle += 1
        linear += [(self.internal[0].start + k, self.internal[1].start + k) for k in range(len(self.layout.internal))]
        of_linear, of_spherical = (np.array(pairs, dtype=np.int64).reshape(-1, 2).T for pairs in (linear, spherical))
        # kernels need contiguous arguments
        linear_q, linear_v, quaternion_q, omega_v = (np.ascontiguousarray(row) for row in (*of_linear, *of_spherical))
        self.coordinates: Coordinates = linear_q, linear_v, quaternion_q, omega_v

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
        """The same with T, T', B, B' of so many states only."""
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
        q = np.empty(self.n_q)
        q[self.internal[0]] = Q[self.internal_index[0]]
        first = [frame.below if frame.backward else frame.above for frame in self.frames]
        second = [frame.above if frame.backward else frame.below for frame in self.frames]
        r, p = end_poses(self.layout, [*first, *second], Q)
        (r_a, r_b), (p_a, p_b) = r.reshape(2, -1, 3), p.reshape(2, -1, 4)
        p = rotations.multiply(rotations.conjugate(p_a), p_b)
        strokes, rotation = rotations.rotate_back(p_a, r_b - r_a), rotations.rotation_matrix(p)
        for frame, d, C, quaternion in zip(self.frames, strokes, rotation, p, strict=True):
            if frame.strokes:
                q[frame.q.start : frame.angles.start] = d[list(frame.strokes)]
            if frame.rotation == REVOLUTE:
                C = C @ frame.zero.T
                q[frame.angles] = np.arctan2(C[Y, X], C[X, X])
            elif frame.rotation == UNIVERSAL:
                q[frame.angles] = np.arctan2(C[Y, Z], C[X, Z]), np.arctan2(-C[Z, Y], C[Z, X])
            elif frame.rotation == SPHERICAL:
                q[frame.angles] = rotations.normalise(quaternion)
        numbers = np.flatnonzero(self.coordinate_index >= 0)
        in_q = self.coordinate_index[numbers]
        reference = self.system.discrete.angles if angles is None else angles
        picked = self.system.coordinates_of_joints.picked(numbers)
        q[in_q] = picked.unwrapped(q[in_q], reference[numbers])
        return q

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
