"""Results of joints (reactions and coordinates) and of drivers (motions and forces)."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.records import RecordedSystem, Records
from femb.layout.layout import JointLayout, Layout, Station
from femb.layout.views import OutputStates
from femb.numerics import rotations

# Reactions: force and torque of the rows of a joint, from their multipliers.
#
# Source: docs/theory/constraints.md, equations (11) and (12).


def joint_reaction(system: RecordedSystem, joint: JointLayout, frames: OutputStates) -> tuple[Floats, Floats]:
    """Force (k, 3) N and torque (k, 3) N m of one joint; see ``joint_reactions``."""
    force, torque = joint_reactions(system, [joint], frames)
    return force[:, 0], torque[:, 0]


def joint_reactions(
    system: RecordedSystem, joints: Sequence[JointLayout], frames: OutputStates
) -> tuple[Floats, Floats]:
    """Forces (k, n, 3) N and torques (k, n, 3) N m of n joints on the second end at its point, in the joint's axes at
    the first end.

    The multipliers are those of least norm, which makes reactions unique that the equations of motion do not determine.
    If the frame of the second end is fixed, the result is the opposite of the reaction on the first end.
    """
    layout, q = system.layout, frames.q
    moving = [layout.frames[joint.second.frame].freedom > 0 for joint in joints]
    ends = [joint.second if on else joint.first for joint, on in zip(joints, moving, strict=True)]
    at = np.array([layout.frame_v[end.frame] for end in ends], dtype=np.int64)
    rows = [joint.rows for joint in joints]
    on_end = system.constraint_set.reactions(rows, at, frames.u, q, frames.v, frames.multipliers)
    on_end *= np.where(moving, -1.0, 1.0)[:, None]
    force = on_end[..., :3]
    # the frame's own origin and axes
    origin, attitude = _poses(layout, [Station(end.frame) for end in ends], q)
    point = _poses(layout, [joint.second for joint in joints], q)[0]
    torque = -np.cross(point - origin, force)
    with_axes = np.array([layout.frames[end.frame].freedom == 6 for end in ends])[:, None]
    torque += np.where(with_axes, rotations.rotate(attitude, on_end[..., 3:]), 0.0)
    axes = _poses(layout, [joint.first for joint in joints], q)[1]
    return rotations.rotate_back(axes, force), rotations.rotate_back(axes, torque)


def _poses(layout: Layout, stations: Sequence[Station], q: Floats) -> tuple[Floats, Floats]:
    """Points (k, n, 3) and quaternions (k, n, 4) of n stations at k states."""
    r, p = np.empty((len(q), len(stations), 3)), np.empty((len(q), len(stations), 4))
    turning = []
    for n, station in enumerate(stations):
        frame, i = layout.frames[station.frame], layout.frame_q[station.frame]
        if frame.freedom == 0:
            r[:, n], p[:, n] = layout.pose(station)
            continue
        r[:, n], p[:, n] = q[:, i : i + 3], (1.0, 0.0, 0.0, 0.0)
        if frame.freedom == 6:
            p[:, n] = q[:, i + 3 : i + 7]
            if not station.on_frame:
                turning.append(n)
    if turning:
        offsets, turns = (np.array([getattr(stations[n], word) for n in turning]) for word in ("offset", "rotation"))
        r[:, turning] += rotations.rotate(p[:, turning], offsets)
        p[:, turning] = rotations.multiply(p[:, turning], turns)
    return r, p


def joint_records(names: list[str], system: RecordedSystem) -> Records:
    """Reaction on the second end, at its point, in the axes of the first; coordinates, rates and accelerations."""
    layout = system.layout
    joints = {name: layout.joints[name] for name in names}
    attributes = {f"joints/{name}": {"names": json.dumps([x.name for x in joints[name].coordinates])} for name in names}
    numbers = [np.arange(joint.part.start, joint.part.stop) for joint in joints.values()]
    coordinates = system.coordinates_of_joints.picked(np.concatenate([np.zeros(0, dtype=np.int64), *numbers]))

    def motion(frames: OutputStates) -> dict[str, Floats]:
        block: dict[str, Floats] = {}
        for name, joint in joints.items():
            if joint.coordinates:
                block[f"joints/{name}/coordinates"] = frames.coordinates[:, joint.part]
                block[f"joints/{name}/rates"] = frames.coordinate_rates[:, joint.part]
        return block

    def series(frames: OutputStates) -> dict[str, Floats]:
        block = motion(frames)
        accelerations, first = coordinates.accelerations(frames.q, frames.v, frames.a), 0
        forces, torques = joint_reactions(system, list(joints.values()), frames)
        for number, (name, joint) in enumerate(joints.items()):
            path, count = f"joints/{name}", len(joint.coordinates)
            block[f"{path}/force"], block[f"{path}/torque"] = forces[:, number], torques[:, number]
            if count:
                block[f"{path}/accelerations"] = accelerations[:, first : first + count]
            first += count
        return block

    return Records(attributes=attributes, series=series, motion=motion)


def driver_records(drivers: list[Any], system: RecordedSystem) -> Records:
    """Values of the driven quantities, their rates, and the forces of the drivers."""
    layout = system.layout
    attributes = {
        f"drivers/{driver.name}": {"names": json.dumps(layout.drivers[driver.name].components)} for driver in drivers
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
