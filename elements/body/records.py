"""Results of bodies: their motion, and their pose at the start."""

from collections.abc import Iterable
from functools import partial

from femb.base.types import Floats
from femb.elements.records import RecordedSystem, Records, StationMotions
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

    motions = StationMotions(layout, [Station(frame) for frame in frames_of.values()])

    def series(accelerations: bool, frames: OutputStates) -> dict[str, Floats]:
        of_bodies = motions.at(frames, accelerations)
        pair = of_bodies["position"], of_bodies["velocity"]
        of_bodies["position"], of_bodies["velocity"] = layout.to_inertial(frames.time, *pair)
        return {
            f"bodies/{name}/{word}": values[:, k]
            for k, name in enumerate(frames_of)
            for word, values in of_bodies.items()
        }

    return Records(static, attributes, partial(series, True), partial(series, False))
