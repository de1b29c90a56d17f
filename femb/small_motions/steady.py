"""Whether the forces on a rotating structure turn with it, so that small motions about it have constant coefficients.

Forces between parts of a structure turn with it. Those of its surroundings do where they are alike in all attitudes
about the axis, as isotropic bearings: each is compared with itself after turns, in axes that turn.
Source: docs/theory/modes.md, section 1.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats
from femb.layout.connections import groups_of
from femb.numerics import rotations
from femb.small_motions.point import OperatingPoint
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


def why_changing(system: System) -> str:
    """The reason why a rotation at the start is not steady, though its forces are in balance; else empty.

    In orbit, where the direction of the weight turns too, it is not looked for.
    """
    if any(item.follows_origin for item in system.model.items()):
        return ""
    weight, weightless = np.array(system.model.gravity, dtype=float), system.with_gravity(np.zeros(3))
    described = system.layout.start_coordinates()
    for group in groups_of(system.layout, springs=True, rows=True):
        motion = RigidMotion(system, group)
        if not motion.omega.any():
            continue
        axis = motion.omega / np.linalg.norm(motion.omega)
        if np.linalg.norm(rotations.cross(axis, weight)) > TANGENT_CHANGED * np.linalg.norm(weight):
            return f"the weight of {motion.labels!r} is across its axis"
        v = system.v0.copy()
        motion.about(described).state(described, v, np.zeros_like(v))
        changing = [*_changing_tangents(weightless, motion, described, v), *_changing_forces(weightless, motion)]
        if changing:
            names = list(dict.fromkeys(changing))
            more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
            return f"{', '.join(names[:LISTED])}{more} do not turn with the structure of {motion.labels!r}"
    return ""


def _turned(system: System, motion: RigidMotion, q: Floats, v: Floats) -> "Iterator[tuple[csc_array, Floats, Floats]]":
    """Velocities by those along turned axes (n_v, n_v), q and v: before and after turns about the axis."""
    from scipy.sparse import block_diag, eye_array

    places = sorted(int(system.layout.frame_v[k]) for k in motion.frames)
    for turn, q_after, v_after in motion.turned(motion.centre(q), q, v):
        blocks, at = [], 0
        for first in places:
            blocks += [eye_array(first - at), rotations.rotation_matrix(turn)]
            at = first + 3
        yield block_diag([*blocks, eye_array(system.n_v - at)], format="csc"), q_after, v_after


def _names(system: System, number: int) -> list[str]:
    return [f"{item.table}.{item.name}" for item in system.items_of_batches[number]]


def _changing_tangents(system: System, motion: RigidMotion, q: Floats, v: Floats) -> Iterator[str]:
    """The names of items whose tangents, or constraints, change as a structure turns from a state q, v."""
    n, layout = system.n_v, system.layout
    found: list[list[csc_array]] = []
    rows: list[Floats] = []
    driven = {row for driver in layout.drivers.values() for row in driver.rows}
    held: dict[int, list[int]] = {}
    for k, pair in enumerate(layout.rows):
        moving = [frame for frame in pair if frame in motion.frames]
        if len(moving) == 1 and k not in driven:
            held.setdefault(moving[0], []).append(int(layout.row_c[k]))
    for axes, q_after, v_after in _turned(system, motion, q, v):
        u = system.inputs_at(0.0, q_after, v_after)
        matrices = []
        for batch in system.batches:
            data = np.zeros((2, system.pattern.size))
            batch.tangent(u, q_after, v_after, np.zeros(n), *data)
            parts = [system.pattern.to_csc(part)[:n, :n] for part in data]
            if (low_rank := batch.low_rank_tangent(u, q_after, v_after)) is not None and low_rank.rank:
                if batch.feeds_back:
                    parts = [a + b for a, b in zip(parts, low_rank.sparse(), strict=True)]
                else:  # between parts of the structure; of its rates rounding is left
                    rounded = np.max(np.abs(low_rank.left), axis=0) @ np.max(np.abs(low_rank.damping), axis=0)
                    parts = [part * (abs(part) > ROUNDING * rounded) for part in parts]
            matrices += parts
        point = OperatingPoint(system, 0.0, u, q_after, v_after, np.zeros(n), np.zeros(system.n_c))
        matrices += point.of_functions().sparse()
        found.append([axes.T @ matrix @ axes for matrix in matrices])
        rows.append((system.jacobian(u, q_after) @ axes).toarray() if held else np.zeros((0, n)))
    labels = [name for k in range(len(system.batches)) for name in 2 * [_names(system, k)]]
    labels += 2 * [[each.label for each in system.inputs if each.of_state]]
    for first, *others, names in zip(*found, labels, strict=True):
        largest = _of_frames(system, _row_sizes(first))
        allowed = TANGENT_CHANGED * largest + ROUNDING * np.max(largest)
        if any(np.any(motion.mask & (_row_sizes(other - first) > allowed)) for other in others):
            yield from names
    for frame, numbers in held.items():
        place = slice(int(layout.frame_v[frame]), int(layout.frame_v[frame]) + layout.frames[frame].freedom)
        spans = [np.linalg.pinv(part[numbers, place], rcond=EXACT) @ part[numbers, place] for part in rows]
        if any(np.max(np.abs(span - spans[0])) > TANGENT_CHANGED for span in spans[1:]):
            yield f"joints of {layout.frames[frame].label!r} with the ground"


def _changing_forces(system: System, motion: RigidMotion) -> Iterator[str]:
    """The names of items whose forces in the start change as the structure turns."""
    still, sizes = np.zeros((1, system.n_v)), np.ones(system.n_v)
    turns = np.concatenate([system.layout.frame_v[k] + 3 + np.arange(3) for k in motion.frames])
    sizes[turns - 3] = system.layout.extent or 1.0
    states = [(*each, system.inputs_at(0.0, *each[1:])) for each in _turned(system, motion, system.q0, system.v0)]
    for number, batch in enumerate(system.batches):
        forces = []
        for axes, q, v, u in states:
            force = still.copy()
            batch.residual(u[None], q[None], v[None], still, force)
            forces.append(np.where(motion.mask, axes.T @ force[0], 0.0))
        data = np.zeros((2, system.pattern.size))
        batch.tangent(states[0][3], system.q0, system.v0, still[0], *data)
        n, speeds = system.n_v, np.abs(system.v0)
        damping, stiffness = (abs(system.pattern.to_csc(part)[:n, :n]) for part in data)
        terms = stiffness @ sizes + damping @ speeds
        if (low_rank := batch.low_rank_tangent(states[0][3], system.q0, system.v0)) is not None:
            terms += np.max(low_rank.damping_sizes(speeds), initial=0.0)
        largest = _of_frames(system, np.abs(forces[0]))
        allowed = FORCE_CHANGED * largest + ROUNDING * (terms + np.max(largest))
        changes = np.max(np.abs(np.array(forces) - forces[0]), axis=0)
        if np.any(changes > allowed):
            yield from _names(system, number)


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
