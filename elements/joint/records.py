"""Results of joints (reactions and coordinates) and of drivers (motions and forces)."""

import json
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.joint.reaction import joint_reactions
from femb.elements.records import RecordedSystem, Records
from femb.layout.views import OutputStates


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
