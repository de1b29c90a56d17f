"""Parent joint of each frame of a joint tree, free roots, and the degrees of freedom of a joint from its rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import array_problem, shown
from femb.elements.joint.coordinates import LOCK, PARALLEL, X, Y, Z
from femb.formulations import joint_tree_kernels as columns
from femb.formulations.joint_tree_kernels import LOCKED, POINT_MASS, REVOLUTE, SPHERICAL, UNIVERSAL
from femb.layout.layout import Layout, Station
from femb.numerics import rotations

# Z of joints that turn the frame by their coordinates alone, as a matrix and as a quaternion.
IDENTITY, NO_TURN = np.eye(3), (1.0, 0.0, 0.0, 0.0)
IDENTITY.flags.writeable = False
# Numbers of coordinates and speeds of a rotation.
ROTATION_SIZES = {LOCKED: (0, 0), REVOLUTE: (1, 1), UNIVERSAL: (2, 2), SPHERICAL: (4, 3), POINT_MASS: (0, 0)}


@dataclass(frozen=True)
class Root:
    """Coordinates of free bodies: the point whose position and velocity are coordinates and speeds.

    point : "origin" of the body's frame, its "center_of_mass", or (3,) m in its axes, such as that of a hinge.
    velocity : in "inertial" or in "body" axes. body : name of the root body; by default the first body of the tree.

    Raises ModelError.
    """

    point: Any = "origin"
    velocity: str = "inertial"
    body: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.point, str):
            if self.point not in ("origin", "center_of_mass"):
                raise ModelError(f"root: got point {self.point!r}, wanted 'origin', 'center_of_mass' or 3 numbers (m)")
        elif problem := array_problem(self.point, (3,)):
            raise ModelError(f"root: point {problem}")
        if self.velocity not in ("inertial", "body"):
            raise ModelError(f"root: got velocity {shown(self.velocity)}, wanted 'inertial' or 'body'")


@dataclass(frozen=True, eq=False)
class TreeFrame:
    """A frame of the tree: its number in the layout, and the joint to its parent.

    parent : index in the tree, -1 for the ground or a free root. joint : name, None for a free root.
    backward : whether the frame is at the joint's first end. above, below : the joint's ends at the parent and at the
    frame, with the joint's axes. strokes : axes of the first end along which it slides. rotation : LOCKED, REVOLUTE,
    UNIVERSAL, SPHERICAL or POINT_MASS (without axes). zero : Z. first_q, first_u : index of its first coordinate and
    speed. body_velocity : whether the speeds of the strokes are the velocity in axes of the frame.
    """

    frame: int
    parent: int
    joint: str | None
    backward: bool
    above: Station
    below: Station
    strokes: tuple[int, ...]
    rotation: int
    zero: Floats
    first_q: int
    first_u: int
    body_velocity: bool = False

    @cached_property
    def q(self) -> slice:
        """Its coordinates: strokes, then angles."""
        return slice(self.first_q, self.first_q + len(self.strokes) + ROTATION_SIZES[self.rotation][0])

    @cached_property
    def u(self) -> slice:
        """Its speeds."""
        return slice(self.first_u, self.first_u + len(self.strokes) + ROTATION_SIZES[self.rotation][1])

    @cached_property
    def angles(self) -> slice:
        """Its angles, or its quaternion, in the coordinates."""
        return slice(self.q.start + len(self.strokes), self.q.stop)


def free_directions(item: Any) -> tuple[tuple[int, ...], int]:
    """Strokes and kind of rotation that the rows of a joint leave free. Raises ValueError if these have no coordinates.

    Source: docs/theory/reduced_order.md, section 2.
    """
    return _free_directions(item.rows)


@cache
def _free_directions(rows: tuple[tuple[Any, ...], ...]) -> tuple[tuple[int, ...], int]:
    words = {row[0] for row in rows}
    if not words <= {"point", "dot1", "dot2"}:
        raise ValueError("has no coordinates that make one")
    constrained = {row[1] for row in rows if row[0] == "dot2"}
    strokes = () if "point" in words else tuple(k for k in (X, Y, Z) if k not in constrained)
    between_axes = {row for row in rows if row[0] == "dot1"}
    if not between_axes:
        return strokes, SPHERICAL
    if between_axes == {("dot1", Z, Z)}:
        return strokes, UNIVERSAL
    if between_axes == set(PARALLEL):
        return strokes, REVOLUTE
    if between_axes in ({*PARALLEL, ("dot1", X, Y)}, set(LOCK)):
        return strokes, LOCKED
    raise ValueError("has no angles that make one")


def end_poses(layout: Layout, ends: Sequence[Station], Q: Floats) -> tuple[Floats, Floats]:
    """Points (n, 3) and quaternions (n, 4) of ends of joints at the System's Q; inertial axes for negative frames."""
    numbers = np.array([end.frame for end in ends], dtype=int)
    frames = [layout.frames[number] for number in numbers.tolist()]
    freedom, i = layout.freedom[numbers], layout.frame_q[numbers][:, None]
    r = np.array([frame.position for frame in frames], dtype=float).reshape(-1, 3)
    p = np.array([frame.quaternion for frame in frames], dtype=float).reshape(-1, 4)
    inertial = numbers < 0
    moving, turning = ~inertial & (freedom > 0), ~inertial & (freedom == 6)
    r[inertial] = 0.0
    # a point mass has no axes, also where it was placed by a joint with turned ones
    p[inertial | (moving & ~turning)] = (1.0, 0.0, 0.0, 0.0)
    r[moving] = Q[i[moving] + np.arange(3)]
    p[turning] = rotations.normalise(Q[i[turning] + np.arange(3, 7)])
    offsets = np.array([end.offset for end in ends]).reshape(-1, 3)
    turns = np.array([end.rotation for end in ends]).reshape(-1, 4)
    points, quaternions = r + rotations.rotate(p, offsets), rotations.multiply(p, turns)
    points[inertial], quaternions[inertial] = r[inertial], p[inertial]
    return points, quaternions


def packed_index(frames: list[TreeFrame], layout: Layout) -> Ints:
    """index (n, 14), as ``joint_tree_kernels`` take it. The inertial axes, the parent of free roots, are the last of
    the poses of fixed frames."""
    index = np.zeros((len(frames), 14), dtype=np.int64)
    for row, frame in zip(index, frames, strict=True):
        row[columns.PARENT] = frame.parent
        if frame.joint is None:
            row[columns.PARENT] = -len(layout.fixed) - 1
        elif frame.parent < 0:
            row[columns.PARENT] = layout.frame_q[frame.above.frame]
        row[columns.FRAME_Q], row[columns.FRAME_V] = layout.frame_q[frame.frame], layout.frame_v[frame.frame]
        row[columns.SIZE], row[columns.ROTATION] = layout.frames[frame.frame].freedom, frame.rotation
        row[columns.FIRST_Q], row[columns.FIRST_U] = frame.first_q, frame.first_u
        row[columns.BACKWARD], row[columns.STROKES] = frame.backward, len(frame.strokes)
        row[[columns.STROKE_X + axis for axis in frame.strokes]] = 1
        row[columns.SPEEDS], row[columns.BODY_VELOCITY] = frame.u.stop - frame.u.start, frame.body_velocity
    return index


def packed_data(frames: list[TreeFrame]) -> Floats:
    """data (n, 18), as ``joint_tree_kernels`` take it."""
    data = np.zeros((len(frames), 18))
    if frames:
        data[:, columns.ABOVE] = [frame.above.offset for frame in frames]
        data[:, columns.ABOVE_QUATERNION] = [frame.above.rotation for frame in frames]
        data[:, columns.BELOW] = [frame.below.offset for frame in frames]
        data[:, columns.BELOW_QUATERNION] = [frame.below.rotation for frame in frames]
        data[:, columns.ZERO] = [
            NO_TURN if frame.zero is IDENTITY else rotations.from_matrix(frame.zero) for frame in frames
        ]
    return data
