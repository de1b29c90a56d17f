"""Motion relative to a frame: inertial, or moving with a body or with a node of a beam."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from femb.base.arrays import Content, listing
from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.elements.beam.results import BeamResults
from femb.elements.body.results import BodyResults, Moving
from femb.numerics import rotations
from femb.results.groups import NamedArrays

INERTIAL = "inertial"
MOTION = ("position", "quaternion", "velocity", "angular_velocity")
NODE = re.compile(r"(?P<name>.+)\[(?P<node>-?\d+)\]")


@dataclass(frozen=True)
class View:
    """Motion of the frame of reference: origin (T, 3) m and its velocity (T, 3) m/s in inertial axes,
    quaternion (T, 4) frame to inertial, angular velocity (T, 3) rad/s in inertial axes."""

    origin: Floats
    velocity: Floats
    quaternion: Floats
    angular_velocity: Floats

    @classmethod
    def of(cls, results: NamedArrays, frame: str) -> Self:
        """The frame ``"inertial"``, that of the body of that name, or that of a beam's node, ``"NAME[NODE]"``.

        Raises ResultError for any other name and for a node that the beam does not have.
        """
        times = results.time.size
        if frame == INERTIAL:
            still = np.zeros((times, 3))
            return cls(still, still, np.tile([1.0, 0.0, 0.0, 0.0], (times, 1)), still)
        position, quaternion, velocity, angular_velocity = _motion(results, frame)
        return cls(position, velocity, quaternion, rotations.rotate(quaternion, angular_velocity))

    def points(self, k: int | slice, points: Floats) -> Floats:
        """(..., 3) m: inertial points at output time k, in the frame's coordinates.

        Here and below, arrays are (t, ..., 3 or 4) for a slice of t output times.
        """
        origin, quaternion = _aligned(points, self.origin[k], self.quaternion[k])
        return rotations.rotate_back(quaternion, points - origin)

    def velocities(self, k: int | slice, points: Floats, velocities: Floats) -> Floats:
        """(..., 3) m/s: the rate of `points`, that is velocity relative to the moving frame."""
        frame = self.origin[k], self.velocity[k], self.quaternion[k], self.angular_velocity[k]
        origin, velocity, quaternion, spin = _aligned(points, *frame)
        carried = velocity + np.cross(spin, points - origin)
        return rotations.rotate_back(quaternion, velocities - carried)

    def quaternions(self, k: int | slice, quaternions: Floats) -> Floats:
        """(..., 4): quaternions to the frame, from quaternions of the same axes to the inertial axes."""
        (quaternion,) = _aligned(quaternions, self.quaternion[k])
        return rotations.multiply(rotations.conjugate(quaternion), quaternions)

    def angular_velocities(self, quaternions: Floats, angular_velocities: Floats) -> Floats:
        """(T, ..., 3) rad/s: relative to the moving frame, in rotating axes as ``angular_velocities``; ``quaternions``
        (T, ..., 4) are from those axes to the inertial ones."""
        (spin,) = _aligned(angular_velocities, self.angular_velocity)
        return angular_velocities - rotations.rotate_back(quaternions, spin)

    def accelerations(
        self, points: Floats, velocities: Floats, accelerations: Floats, of_frame: tuple[Floats, Floats]
    ) -> Floats:
        """(T, ..., 3) m/s2: the second rate of `points`; ``of_frame`` are the frame's acceleration and angular
        acceleration (T, 3), inertial axes."""
        frame = self.origin, self.velocity, self.quaternion, self.angular_velocity, *of_frame
        origin, velocity, quaternion, spin, acceleration, spin_rate = _aligned(points, *frame)
        arm = points - origin
        relative = velocities - velocity - np.cross(spin, arm)
        carried = acceleration + np.cross(spin_rate, arm) + np.cross(spin, np.cross(spin, arm))
        return rotations.rotate_back(quaternion, accelerations - carried - 2.0 * np.cross(spin, relative))

    def angular_accelerations(
        self, quaternions: Floats, angular_velocities: Floats, angular_accelerations: Floats, of_frame: Floats
    ) -> Floats:
        """(T, ..., 3) rad/s2: the rate of `angular_velocities`; ``of_frame`` (T, 3) is the frame's angular
        acceleration, inertial axes."""
        spin, spin_rate = _aligned(angular_accelerations, self.angular_velocity, of_frame)
        spin, spin_rate = rotations.rotate_back(quaternions, spin), rotations.rotate_back(quaternions, spin_rate)
        return angular_accelerations - spin_rate + np.cross(angular_velocities, spin)


RELATIVE = (
    "position", "velocity", "acceleration", "quaternion", "angular_velocity", "angular_acceleration", "displacement",
    "rotation", "deflection",
)  # fmt: skip


def seen_from(results: NamedArrays, frame: str) -> Content:
    """The content of `Results.in_frame`."""
    view = View.of(results, frame)
    origin, axes = start_pose(results, frame)
    of_frame = _frame_accelerations(results, frame)
    series, static = dict(results.series), dict(results.static)
    attributes: dict[str, dict[str, Any]] = {path: dict(values) for path, values in results.attributes.items()}
    attributes.setdefault("", {})["frame"] = frame
    groups: list[Moving] = [*results.bodies.values(), *results.beams.values(), *results.shells.values()]
    for group in groups:
        path = group.path
        arrays = relative(view, group, of_frame)
        if "position" in arrays and "quaternion" in arrays:
            position, quaternion = _start_of(group)
            start = arrays["reference_quaternion"] = rotations.multiply(rotations.conjugate(axes), quaternion)
            arrays["reference_position"] = rotations.rotate_back(axes, position - origin)
            arrays["displacement"] = arrays["position"] - arrays["reference_position"]
            arrays["rotation"] = rotations.multiply(arrays["quaternion"], rotations.conjugate(start))
            if group.of_nodes:
                arrays["deflection"] = arrays["displacement"]
                attributes.setdefault(path, {})["deflection_body"] = frame
        for word in RELATIVE:
            if word not in arrays:  # what is not recorded beside it says how it moves
                series.pop(f"{path}/{word}", None)
        for word, array in arrays.items():
            (static if word.startswith("reference") else series)[f"{path}/{word}"] = array
    return Content(series, static, attributes)


def relative(view: View, group: Moving, of_frame: tuple[Floats, Floats] | None = None) -> dict[str, Floats]:
    """Arrays of the motion of a body, beam or shell relative to a frame, all output times, as far as what they follow
    from is recorded; ``of_frame`` : the frame's acceleration and angular acceleration, inertial axes."""
    times, result = slice(None), dict[str, Floats]()
    if "position" in group:
        position = group["position"]
        result["position"] = view.points(times, position)
        if "velocity" in group:
            result["velocity"] = view.velocities(times, position, group["velocity"])
        if of_frame is not None and "acceleration" in group and "velocity" in group:
            linear = group["velocity"], group["acceleration"]
            result["acceleration"] = view.accelerations(position, *linear, of_frame)
    if "quaternion" in group:
        quaternion = group["quaternion"]
        result["quaternion"] = view.quaternions(times, quaternion)
        if "angular_velocity" in group:
            result["angular_velocity"] = view.angular_velocities(quaternion, group["angular_velocity"])
        if of_frame is not None and "angular_acceleration" in group and "angular_velocity" in group:
            angular = group["angular_velocity"], group["angular_acceleration"]
            result["angular_acceleration"] = view.angular_accelerations(quaternion, *angular, of_frame[1])
    return result


def node_of(text: str) -> tuple[str, int | None]:
    """Name and node of ``"NAME[NODE]"``; of any other text the text and None."""
    match = NODE.fullmatch(text)
    return (match["name"], int(match["node"])) if match else (text, None)


def start_pose(results: NamedArrays, frame: str) -> tuple[Floats, Floats]:
    """Position (3,) and quaternion (4,) of a frame in the start configuration, inertial axes."""
    group, node = _owner(results, frame)
    position, quaternion = _start_of(group)
    return (position, quaternion) if node is None else (position[node], quaternion[node])


def _start_of(group: Moving) -> tuple[Floats, Floats]:
    """Positions and quaternions in the start configuration; at the first output time in results without them."""

    def start_value(word: str) -> Floats:
        return group[f"reference_{word}"] if f"reference_{word}" in group else group[word][0]

    return start_value("position"), start_value("quaternion")


def _motion(results: NamedArrays, frame: str, words: tuple[str, ...] = MOTION) -> list[Floats]:
    """Position, quaternion, velocity and angular velocity of a frame, or other quantities, (T, 3 or 4) each."""
    group, node = _owner(results, frame)
    return [group[word] if node is None else group[word][:, node] for word in words]


def _frame_accelerations(results: NamedArrays, frame: str) -> tuple[Floats, Floats] | None:
    """Acceleration and angular acceleration (T, 3) of a frame in inertial axes; None in results without them."""
    group, _ = _owner(results, frame)
    if "acceleration" not in group or "angular_acceleration" not in group:
        return None
    linear, angular, quaternion = _motion(results, frame, ("acceleration", "angular_acceleration", "quaternion"))
    return linear, rotations.rotate(quaternion, angular)


def _owner(results: NamedArrays, frame: str) -> tuple[BodyResults | BeamResults, int | None]:
    """The body, or the beam and its node, of a frame's name."""
    if frame in results.bodies:
        return results.bodies[frame], None
    name, node = node_of(frame)
    if node is None or name not in results.beams:
        names = {INERTIAL: None, **results.bodies, **{f"{beam}[NODE]": None for beam in results.beams}}
        raise ResultError(f"no frame {frame!r}; it may be one of: {listing(names)}")
    count = results.beams[name].position.shape[1]
    if not -count <= node < count:
        raise ResultError(f"no frame {frame!r}: the beam {name!r} has the nodes 0 to {count - 1}")
    return results.beams[name], node


def _aligned(values: Floats, *frame: Floats) -> Iterator[Floats]:
    """Arrays (t, 3 or 4) of the frame as (t, 1, ..., 3 or 4), which broadcast with values (t, ..., 3 or 4)."""
    for array in frame:
        yield array.reshape(*array.shape[:-1], *(1,) * (values.ndim - array.ndim), array.shape[-1])
