"""Results of bodies: their motion, and their pose at the start."""

from collections.abc import Iterable
from functools import partial

from femb.base.types import Floats
from femb.elements.records import RecordedSystem, Records, inertial_motion_of
from femb.layout.layout import Station
from femb.layout.views import OutputStates


def body_records(names: Iterable[str], system: RecordedSystem) -> Records:
    """The records of the named bodies that have a frame."""
    layout = system.layout
    frames_of = {name: layout.bodies[name] for name in names if name in layout.bodies}
    static: dict[str, Floats] = {}
    for name, frame in frames_of.items():
        position, quaternion = layout.pose(Station(frame))
        static[f"bodies/{name}/reference_position"] = layout.origin + position
        static[f"bodies/{name}/reference_quaternion"] = quaternion
    attributes = {f"bodies/{name}": {"fixed": layout.frames[frame].freedom == 0} for name, frame in frames_of.items()}

    def series(accelerations: bool, frames: OutputStates) -> dict[str, Floats]:
        block: dict[str, Floats] = {}
        for name, frame in frames_of.items():
            motion = inertial_motion_of(layout, Station(frame), frames, accelerations)
            block |= {f"bodies/{name}/{word}": values for word, values in motion.items()}
        return block

    return Records(static, attributes, partial(series, True), partial(series, False))
