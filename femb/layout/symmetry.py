"""Symmetry of items: the rigid motions in its surroundings that it does not notice, and momenta.

A twist (6,) is a rigid motion of small size: the velocity (3,) of what is at the origin of the layout, and the angular
velocity (3,), inertial axes. The ground, fields and what is held are the surroundings; they stay where they are.
Source: docs/theory/known_motions.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.layout.layout import Layout, Station
from femb.layout.state import station_pose
from femb.layout.views import ModelView
from femb.numerics import rotations

# Of unit vectors and lengths in parts of the structure: typed directions that differ by less are one.
SAME = 1e-8
AXES = np.eye(3)
NONE = np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class Symmetry:
    """motions (k, 6): a structure moved by any of these twists, at any size, meets the same forces and constraints,
    which move with it. momenta (j, 6): along these twists the surroundings do no work, so that the momenta stay.

    at_speed : whether this is so too in motion at a constant velocity, along the translations among the motions.
    at_rest (i, 6): other twists of small size that change neither forces nor constraints of what rests, as turns about
    the centre of a bearing.
    """

    motions: Floats
    momenta: Floats
    at_speed: bool = True
    at_rest: Floats = field(default_factory=lambda: np.zeros((0, 6)))

    @classmethod
    def of(cls, motions: Floats, at_speed: bool = True) -> "Symmetry":
        """These motions and momenta, as where every force has a potential or acts between two points."""
        return cls(motions, motions, at_speed)

    @property
    def whole(self) -> bool:
        """Whether it leaves all motions and all momenta."""
        return len(self.motions) == 6 and len(self.momenta) == 6 and self.at_speed


def twists(shifts: Floats = NONE, turns: Floats = NONE, point: Floats | None = None) -> Floats:
    """(k, 6) translations along the rows of ``shifts`` and rotations about those of ``turns`` through a point (3,)."""
    found = np.zeros((len(shifts) + len(turns), 6))
    found[: len(shifts), :3], found[len(shifts) :, 3:] = shifts, turns
    if point is not None and len(turns):
        found[len(shifts) :, :3] = rotations.cross(point, turns)
    return found


def about(motions: Floats, point: Floats) -> Floats:
    """(k, 6) twists about a point (3,) of twists (k, 6) about the origin."""
    return np.hstack([motions[:, :3] + motions[:, 3:] @ rotations.cross_matrix(point), motions[:, 3:]])


EVERY = Symmetry.of(np.eye(6))
NO_MOTION = Symmetry.of(np.zeros((0, 6)))
TRANSLATIONS = twists(AXES)


def with_host(changed: Iterable[str]) -> Symmetry:
    """Symmetry of forces that turn with what they act on, and change these momenta, "linear" and "angular"."""
    kept = [k for word, part in (("linear", range(3)), ("angular", range(3, 6))) if word not in changed for k in part]
    # an angular momentum is about a point: it changes with the linear one
    return Symmetry(np.eye(6), np.eye(6)[kept] if "linear" not in changed else np.zeros((0, 6)))


def along(*vectors: Floats) -> Floats:
    """(k, 3) directions about which a turn changes none of these vectors (3,): all, that of the vectors, or none."""
    given = [vector / np.linalg.norm(vector) for vector in vectors if np.any(vector)]
    if not given:
        return AXES
    alike = all(np.linalg.norm(np.cross(given[0], vector)) <= SAME for vector in given[1:])
    return given[0][None] if alike else NONE


def across(*vectors: Floats) -> Floats:
    """(k, 3) orthonormal directions across all these vectors (3,)."""
    given = [vector / np.linalg.norm(vector) for vector in vectors if np.any(vector)]
    return nullity(np.array(given).reshape(-1, 3))


def of_directions(forces: Iterable[Floats] = (), torques: Iterable[Floats] = ()) -> Symmetry:
    """Symmetry of forces and torques (3,) with directions that stay, whatever their sizes and wherever they act."""
    forces, held = list(forces), [torque for torque in torques if np.any(torque)]
    turns = kept = along(*forces, *held)
    if held:
        # no moment about the direction of the forces, and of torques none across them
        kept = across(*held) if len(along(*forces)) == 3 else NONE
    return Symmetry(twists(AXES, turns), twists(across(*forces), kept))


def in_air(wind: Floats) -> Symmetry:
    """Symmetry of forces against the velocity relative to air of this velocity (3,): another one at another speed."""
    return Symmetry(twists(AXES, along(np.asarray(wind))), np.zeros((0, 6)), at_speed=False)


def nullity(rows: Floats) -> Floats:
    """(k, n) orthonormal rows across the given ones (m, n), which have sizes of one."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, sizes, basis = np.linalg.svd(rows, full_matrices=len(rows) < rows.shape[1])
    return np.asarray(basis[int(np.sum(sizes > SAME)) :])


def intersection(spaces: Iterable[Floats]) -> Floats:
    """(k, n) what is in all spaces of rows (m, n), of sizes of one."""
    conditions = [nullity(space) for space in spaces]
    return nullity(np.vstack(conditions))


def bracket(omega: Floats, point: Floats, motions: Floats) -> Floats:
    """(k, 6) the rates of twists (k, 6) in space that are fixed in axes that turn at omega (3,) about a point (3,)."""
    shift = np.cross(omega, about(motions, point)[:, :3])
    turn = np.cross(omega, motions[:, 3:])
    return np.hstack([shift - np.cross(turn, point), turn])


@dataclass(frozen=True, eq=False)
class Surroundings:
    """All that does not move with a model at a state q (n_q,): the numbers of its ``fixed`` frames, and fields.

    discrete : the discrete state, as whether a latch is engaged. zeros : labels of inputs that are zero.
    """

    layout: Layout
    model: ModelView
    q: Floats
    fixed: frozenset[int]
    discrete: Mapping[str, Any]
    zeros: frozenset[str] = frozenset()

    def hold(self, frames: Iterable[int]) -> bool:
        """Whether some of these frames move, and others do not."""
        found = {frame in self.fixed for frame in frames}
        return len(found) == 2

    def pose(self, station: Station) -> tuple[Floats, Floats]:
        """Position (3,) and axes (3, 3) of a station, as columns."""
        position, quaternion = station_pose(self.layout, station, self.q[None])
        return position[0], rotations.rotation_matrix(rotations.normalise(quaternion[0]))


def along_components(around: Surroundings, first: Station, second: Station, axes: Floats, frame: str) -> Symmetry:
    """Symmetry of a constraint on the components of the vector between two points along ``axes`` (k, 3), directions in
    space (``frame`` "inertial") or in the axes of the first end ("first")."""
    held, fixed = around.hold([first.frame, second.frame]), first.frame in around.fixed
    if not held and frame == "first":
        return EVERY
    start, end = around.pose(first), around.pose(second)
    if frame == "first":
        if not fixed:
            return Symmetry.of(twists(turns=AXES, point=end[0]))
        axes = axes @ start[1].T
    free = across(*axes)
    turns = axes if len(axes) == 1 else free if len(axes) == 2 else AXES
    if held:
        return Symmetry.of(twists(free, turns, end[0] if fixed else start[0]))
    # both ends turn: components along one direction stay, others where there are none
    apart = np.abs(axes @ (end[0] - start[0])).max(initial=0.0) > SAME * around.layout.extent
    return Symmetry.of(twists(AXES, NONE if apart and len(axes) > 1 else turns))
