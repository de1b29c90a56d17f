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
    attributes = {f"bodies/{name}": {"fixed": layout.frames[frame].freedom == 0} for name, frame in frames_of.items()}

    if not frames_of:
        return Records(static, attributes)
    stations = [Station(frame) for frame in frames_of.values()]
    for name, position, quaternion in zip(frames_of, *layout.poses(stations), strict=True):
        static[f"bodies/{name}/reference_position"] = layout.origin + position
        static[f"bodies/{name}/reference_quaternion"] = quaternion
    motions = StationMotions(layout, stations)

    def series(accelerations: bool, frames: OutputStates) -> dict[str, Floats]:
        motion = motions.at(frames, accelerations)
        position, velocity = layout.to_inertial(frames.time, motion["position"], motion["velocity"])
        motion |= {"position": position, "velocity": velocity}
        return {
            f"bodies/{name}/{word}": values[:, k] for k, name in enumerate(frames_of) for word, values in motion.items()
        }

    return Records(static, attributes, partial(series, True), partial(series, False))
