"""Results of joints (reactions and coordinates) and of drivers (motions and forces)."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.joint.constraint_set import GroupReactions
from femb.elements.joint.coordinates import JointCoordinates
from femb.elements.records import RecordedSystem, Records, StationMotions
from femb.layout.element import ForceColumns, OutputRows
from femb.layout.layout import JointLayout, Layout, Station
from femb.layout.state import RATE, frame_pose
from femb.layout.views import LinearPoint, OutputStates
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix

# Reactions: force and torque of the rows of a joint, from their multipliers.
#
# Source: docs/theory/constraints.md, equations (11) and (12).


class JointReactions:
    """Reactions of n joints on the second end at its point, in the joint's axes at the first end.

    The multipliers are those of least norm, which makes reactions unique that the equations of motion do not determine.
    If the frame of the second end is fixed, the result is the opposite of the reaction on the first end.
    """

    def __init__(self, system: RecordedSystem, joints: Sequence[JointLayout]) -> None:
        frames, layout = system.layout.frames, system.layout
        moving = [frames[joint.second.frame].freedom > 0 for joint in joints]
        ends = [joint.second if on else joint.first for joint, on in zip(joints, moving, strict=True)]
        at = np.array([layout.frame_v[end.frame] for end in ends], dtype=np.int64)
        self._on_end = GroupReactions(system.constraint_set, [joint.rows for joint in joints], at)
        self._sign = np.where(moving, -1.0, 1.0)[:, None]
        self._with_axes = np.array([frames[end.frame].freedom == 6 for end in ends])[:, None]
        # the frames' own origins and axes, the points of the second ends, and the axes at the first ones
        stations = *(Station(end.frame) for end in ends), *(each.second for each in joints), *(x.first for x in joints)
        self._stations = StationMotions(layout, stations)

    def at(self, frames: OutputStates) -> tuple[Floats, Floats]:
        """Forces (k, n, 3) N and torques (k, n, 3) N m at k output instants."""
        on_end = self._sign * self._on_end.at(frames.u, frames.q, frames.v, frames.multipliers)
        force, motion = on_end[..., :3], self._stations.at(frames, accelerations=False)
        origin, point, _ = np.split(motion["position"], 3, axis=1)
        attitude, _, axes = np.split(motion["quaternion"], 3, axis=1)
        torque = -rotations.cross(point - origin, force)
        torque += np.where(self._with_axes, rotations.rotate(attitude, on_end[..., 3:]), 0.0)
        return rotations.rotate_back(axes, force), rotations.rotate_back(axes, torque)


REACTION = {"force": "N", "torque": "N m"}
"""Outputs of the reaction of a joint, with units."""


def reaction_rows(point: LinearPoint, joint: JointLayout, quantity: str) -> OutputRows:
    """The rows of the reaction of a joint on small changes of the pose and of the multipliers; see ``JointReactions``.

        force = A^T f,  torque = A^T t,  f = -g,  t = -R (c - d x R^T g),  [g; c] = J_joint^T lambda on the second end

    with A the joint's axes at the first end and d its point on the second, whose axes are R. A point mass has no c.
    """
    system, layout = point.system, point.system.layout
    moving = layout.frames[joint.second.frame].freedom > 0
    end, sign = (joint.second, -1.0) if moving else (joint.first, 1.0)
    size = layout.frames[end.frame].freedom
    j = layout.frame_v[end.frame]
    line, spin = slice(j, j + 3), slice(j + 3, j + 6)
    own = np.zeros(system.n_c, dtype=bool)
    own[layout.row_c[joint.rows]] = True
    by_pose, by_multipliers = np.zeros((6, system.n_v)), np.zeros((6, system.n_c))
    by_multipliers[:size] = sign * point.jacobian[:, j : j + size].toarray().T * own
    stiffness = point.reaction_stiffness(np.where(own, point.multipliers, 0.0)).tocsr()
    by_pose[:size] = sign * stiffness[j : j + size].toarray()
    g, c = np.split(by_multipliers @ point.multipliers, 2)
    position, R = frame_pose(layout, end.frame, point.q)
    first = layout.frames[joint.first.frame]
    A = frame_pose(layout, joint.first.frame, point.q)[1] @ joint.first.axes
    # the point of the second end, in axes of the frame on which the reaction is taken
    second, S = frame_pose(layout, joint.second.frame, point.q)
    d = R.T @ (second + S @ joint.second.offset - position)
    w = c - np.cross(d, R.T @ g)
    rows = []
    for change, turned in ((by_pose, True), (by_multipliers, False)):
        if quantity == "force":
            row, value = A.T @ change[:3], A.T @ g
        else:
            row = change[3:] - cross_matrix(d) @ (R.T @ change[:3])
            if turned and size == 6:
                row[:, spin] -= cross_matrix(d) @ cross_matrix(R.T @ g) + cross_matrix(w)
                if not moving:  # the point is on the other frame, which is fixed: d changes
                    row[:, spin] += cross_matrix(R.T @ g) @ cross_matrix(d)
            if turned and not moving:
                row[:, line] -= cross_matrix(R.T @ g) @ R.T
            row, value = A.T @ R @ row, A.T @ R @ w
        if turned and first.freedom == 6:
            i = layout.frame_v[joint.first.frame] + 3
            row[:, i : i + 3] += cross_matrix(value) @ joint.first.axes.T
        rows.append(row)
    return OutputRows(REACTION[quantity], rows[0], multipliers=rows[1])


def coordinate_rows(point: LinearPoint, joint: JointLayout, name: str) -> OutputRows | None:
    """The row of a coordinate of a joint, or of its rate, after " rate"; None of another name."""
    system, rate = point.system, name.endswith(RATE)
    names = [coordinate.name for coordinate in joint.coordinates]
    if name.removesuffix(RATE) not in names:
        return None
    number = names.index(name.removesuffix(RATE))
    unit = "rad" if joint.coordinates[number].is_angle else "m"
    by_coordinate = system.coordinates_of_joints.rows(joint.part.start + number, point.q, point.v)
    gradient, turned = (on_frames(system.layout, joint, each, system.n_v) for each in by_coordinate)
    if rate:
        return OutputRows(f"{unit}/s", turned, gradient, components=())
    return OutputRows(unit, gradient, components=())


def coordinate_force(point: LinearPoint, joint: JointLayout, name: str) -> ForceColumns | None:
    """The column of a force along a coordinate of a joint, NAME.force; None of another name."""
    coordinate, _, word = name.rpartition(".")
    names = [each.name for each in joint.coordinates]
    if word != "force" or coordinate not in names:
        return None
    number = names.index(coordinate)
    gradient = point.system.coordinates_of_joints.rows(joint.part.start + number, point.q, point.v)[0]
    unit = "N m" if joint.coordinates[number].is_angle else "N"
    return ForceColumns(unit, on_frames(point.system.layout, joint, gradient, point.system.n_v), ())


def on_frames(layout: Layout, joint: JointLayout, row: Floats, n_v: int) -> Floats:
    """(1, n_v) of a row (12,) on the motions of the frames of both ends."""
    wide = np.zeros((1, n_v))
    for e, end in enumerate((joint.first, joint.second)):
        freedom, j = layout.frames[end.frame].freedom, layout.frame_v[end.frame]
        if freedom:
            wide[0, j : j + freedom] += row[6 * e : 6 * e + freedom]
    return wide


@cache
def _names(coordinates: tuple[Any, ...]) -> str:
    return json.dumps([each.name for each in coordinates])


def joint_records(names: list[str], system: RecordedSystem) -> Records:
    """Reaction on the second end, at its point, in the axes of the first; coordinates, rates and accelerations."""
    layout = system.layout
    joints = {name: layout.joints[name] for name in names}
    attributes = {f"joints/{name}": {"names": _names(joint.coordinates)} for name, joint in joints.items()}

    @cache
    def coordinates() -> JointCoordinates:
        numbers = [number for joint in joints.values() for number in range(joint.part.start, joint.part.stop)]
        return system.coordinates_of_joints.picked(np.array(numbers, dtype=np.int64))

    @cache
    def reactions() -> JointReactions:
        return JointReactions(system, list(joints.values()))

    def motion(frames: OutputStates) -> dict[str, Floats]:
        block: dict[str, Floats] = {}
        for name, joint in joints.items():
            if joint.coordinates:
                block[f"joints/{name}/coordinates"] = frames.coordinates[:, joint.part]
                block[f"joints/{name}/rates"] = frames.coordinate_rates[:, joint.part]
        return block

    def series(frames: OutputStates) -> dict[str, Floats]:
        block = motion(frames)
        accelerations, first = coordinates().accelerations(frames.q, frames.v, frames.a), 0
        forces, torques = reactions().at(frames)
        for number, (name, joint) in enumerate(joints.items()):
            path, count = f"joints/{name}", len(joint.coordinates)
            block[f"{path}/force"], block[f"{path}/torque"] = forces[:, number], torques[:, number]
            if count:
                block[f"{path}/accelerations"] = accelerations[:, first : first + count]
            first += count
        return block

    return Records(attributes=attributes, series=series, motion=motion)


def driver_rows(point: LinearPoint, driver: Any) -> OutputRows:
    """The rows of the force of a driver, linear in the multipliers of its rows, as in ``driver.outputs``."""
    system, layout = point.system, point.system.layout
    entry = layout.drivers[driver.name]
    own = layout.row_c[entry.rows]
    motions = [np.array([each.function(point.t)]) for each in entry.inputs]

    def force(multipliers: Floats) -> Floats:
        return np.asarray(driver.outputs(entry, motions, multipliers[None])[2][0])

    by_multipliers = np.zeros((len(entry.components), system.n_c))
    by_multipliers[:, own] = np.array([force(each) for each in np.eye(len(own))]).T
    unit = "N" if driver.unit(layout) == "m" else "N m"
    pose = driver.force_by_pose(point, force(point.multipliers[own]))
    components = tuple(entry.components) if len(entry.components) > 1 else ()
    return OutputRows(unit, pose, multipliers=by_multipliers, components=components)


def driver_records(drivers: list[Any], system: RecordedSystem) -> Records:
    """Values of the driven quantities, their rates, and the forces of the drivers."""
    layout = system.layout
    attributes = {
        f"drivers/{driver.name}": {"names": json.dumps(layout.drivers[driver.name].components)} | driver.columns
        for driver in drivers
    }

    def series(frames: OutputStates) -> dict[str, Floats]:
        block: dict[str, Floats] = {}
        for driver in drivers:
            entry = layout.drivers[driver.name]
            motions = [np.array([input_.function(float(t)) for t in frames.time]) for input_ in entry.inputs]
            outputs = driver.outputs(entry, motions, frames.multipliers[:, layout.row_c[entry.rows]])
            for word, values in zip(("value", "rate", "force"), outputs, strict=True):
                block[f"drivers/{driver.name}/{word}"] = values
        return block

    return Records(attributes=attributes, series=series)
