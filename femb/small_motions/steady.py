"""Whether the forces on a rotating structure turn with it, so that small motions about it have constant coefficients.

What does not notice a rotation turns with it, as items say (``femb.system.known_motions``). What notices it may still
be alike in all attitudes about the axis, as isotropic bearings: it is compared with itself after turns, in axes that
turn.
Source: docs/theory/modes.md, section 1.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats
from femb.base.values import listed
from femb.layout.connections import groups_of
from femb.numerics import rotations
from femb.small_motions.point import OperatingPoint
from femb.system.known_motions import known_motions
from femb.system.rigid_motion import RigidMotion
from femb.system.system import System

if TYPE_CHECKING:
    from scipy.sparse import csc_array

# Of tangents at the poses that are described, and of forces of the state, in which an unbalance displaces the structure
# in bearings of finite length: each relative to itself.
TANGENT_CHANGED, FORCE_CHANGED = 1e-6, 1e-2
# Of rows of constraints: less is none.
EXACT = 1e-9
# Of the stiffness times the size of the structure.
ROUNDING = 64.0 * np.finfo(float).eps
LISTED = 4  # items that a message names


def why_changing(system: System, in_orbit: str = "") -> str:
    """The reason why a rotation at the start is not steady, though its forces are in balance; else empty.

    in_orbit : the gravity, as "loads.earth", that turns with the structure; in orbit it is not looked for without.
    """
    if not in_orbit and any(item.follows_origin for item in system.model.items()):
        return ""
    structures, weight = known_motions(system), np.array(system.model.gravity, dtype=float)
    for group in groups_of(system.layout, joined=True):
        motion = RigidMotion(system, group)
        if not motion.omega.any():
            continue
        axis, centre = motion.omega / np.linalg.norm(motion.omega), motion.centre(system.q0)
        structure = next(each for each in structures if motion.owner in each.frames)
        noticing = structure.against(np.concatenate([rotations.cross(centre, axis), axis]))
        noticing = tuple(name for name in noticing if name != in_orbit)
        if np.linalg.norm(rotations.cross(axis, weight)) > TANGENT_CHANGED * np.linalg.norm(weight):
            return f"the weight of {motion.labels!r} is across its axis"
        changing = list(dict.fromkeys(_changing(system.with_gravity(np.zeros(3)), motion, noticing)))
        if changing:
            return f"{listed(changing, LISTED)} do not turn with the structure of {motion.labels!r}"
    return ""


def _changing(system: System, motion: RigidMotion, noticing: Sequence[str]) -> Iterator[str]:
    """The names of those items that notice a rotation whose forces or tangents change as the structure turns."""
    described, v = system.layout.start_coordinates(), system.v0.copy()
    motion.about(described).state(described, v, np.zeros_like(v))
    for number, items in enumerate(system.items_of_batches):
        names = [name for name in (f"{item.table}.{item.name}" for item in items) if name in noticing]
        if names and (_tangent_changes(system, motion, number, described, v) or _force_changes(system, motion, number)):
            yield from names
    if noticing:
        yield from _changing_joints(system, motion, described, v)


def _turned(
    system: System, motion: RigidMotion, q: Floats, v: Floats
) -> "Iterator[tuple[csc_array, Floats, Floats, Floats]]":
    """Velocities by those along turned axes (n_v, n_v), inputs, q and v: before and after turns about the axis.

    The inputs are those at the start, but of surroundings, as with gravity that turns on an orbit, when it has turned.
    """
    from scipy.sparse import block_diag, eye_array

    places = sorted(int(system.layout.frame_v[k]) for k in motion.frames)
    around = np.concatenate([[], *(np.full(each.width, each.surroundings) for each in system.inputs)]).astype(bool)
    for turn, q_after, v_after in motion.turned(motion.centre(q), q, v):
        u = system.inputs_at(0.0, q_after, v_after)
        if around.any():
            time = 2.0 * np.arctan2(np.linalg.norm(turn[1:]), turn[0]) / np.linalg.norm(motion.omega)
            u = np.where(around, system.inputs_at(float(time), q_after, v_after), u)
        blocks, at = [], 0
        for first in places:
            blocks += [eye_array(first - at), rotations.rotation_matrix(turn)]
            at = first + 3
        yield block_diag([*blocks, eye_array(system.n_v - at)], format="csc"), u, q_after, v_after


def _tangent_changes(system: System, motion: RigidMotion, number: int, q: Floats, v: Floats) -> bool:
    """Whether the tangents of a batch, with functions of the state, change as a structure turns from a state q, v."""
    n, batch = system.n_v, system.batches[number]
    alone = system.with_batches([batch])
    found: list[list[csc_array]] = []
    for axes, u, q_after, v_after in _turned(system, motion, q, v):
        point = OperatingPoint(alone, 0.0, u, q_after, v_after, np.zeros(n), np.zeros(system.n_c))
        found.append([axes.T @ matrix @ axes for matrix in point.tangents])
    for first, *others in zip(*found, strict=True):
        largest = _of_frames(system, _row_sizes(first))
        allowed = TANGENT_CHANGED * largest + ROUNDING * np.max(largest)
        if any(np.any(motion.mask & (_row_sizes(other - first) > allowed)) for other in others):
            return True
    return False


def _force_changes(system: System, motion: RigidMotion, number: int) -> bool:
    """Whether the forces of a batch in the start change as the structure turns."""
    n, alone, still = system.n_v, system.evaluation.of([system.batches[number]]), np.zeros((1, system.n_v))
    sizes, forces = np.full(n, system.layout.extent or 1.0), []
    for axes, u, q, v in _turned(system, motion, system.q0, system.v0):
        force = alone.residual(u[None], q[None], v[None], still)
        forces.append(np.where(motion.mask, axes.T @ force[0], 0.0))
    data = alone.tangent(system.inputs_at(0.0, system.q0, system.v0), system.q0, system.v0, still[0])
    damping, stiffness = (abs(system.pattern.to_csc(part)[:n, :n]) for part in data)
    largest = _of_frames(system, np.abs(forces[0]))
    rounded = _of_frames(system, stiffness @ sizes + damping @ np.abs(system.v0) + np.max(largest))
    changes = np.max(np.abs(np.array(forces) - forces[0]), axis=0)
    return bool(np.any(changes > FORCE_CHANGED * largest + ROUNDING * rounded))


def _changing_joints(system: System, motion: RigidMotion, q: Floats, v: Floats) -> Iterator[str]:
    """The places where joints with the ground hold other directions as a structure turns from a state q, v."""
    layout = system.layout
    driven = {row for driver in layout.drivers.values() for row in driver.rows}
    held: dict[int, list[int]] = {}
    for k, pair in enumerate(layout.rows):
        moving = [frame for frame in pair if frame in motion.frames]
        if len(moving) == 1 and k not in driven:
            held.setdefault(moving[0], []).append(int(layout.row_c[k]))
    states = list(_turned(system, motion, q, v)) if held else []
    rows = [(system.jacobian(u, at) @ axes).toarray() for axes, u, at, _ in states]
    for frame, numbers in held.items():
        place = slice(int(layout.frame_v[frame]), int(layout.frame_v[frame]) + layout.frames[frame].freedom)
        spans = [np.linalg.pinv(part[numbers, place], rcond=EXACT) @ part[numbers, place] for part in rows]
        if any(np.max(np.abs(span - spans[0])) > TANGENT_CHANGED for span in spans[1:]):
            yield f"joints of {layout.frames[frame].label!r} with the ground"


def _row_sizes(matrix: "csc_array") -> Floats:
    """The largest entry of every row."""
    return np.asarray(abs(matrix).max(axis=1).todense()).ravel()


def _of_frames(system: System, sizes: Floats) -> Floats:
    """(n_v,) the largest of sizes (n_v,) of the translation, or the rotation, of the same frame."""
    result = sizes.copy()
    for frame, first in zip(system.layout.frames, system.layout.frame_v, strict=True):
        for at in range(first, first + frame.freedom, 3):
            result[at : at + 3] = np.max(sizes[at : at + 3])
    return result
