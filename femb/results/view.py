"""The frame that motion is seen from: inertial, or moving with a body or with a node of a beam."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.numerics import rotations
from femb.results.arrays import Content, listing
from femb.results.groups import Beam, Body

if TYPE_CHECKING:
    from femb.results.results import Results

INERTIAL = "inertial"
MOTION = ("position", "quaternion", "velocity", "angular_velocity")
NODE = re.compile(r"(?P<name>.+)\[(?P<node>-?\d+)\]")


@dataclass(frozen=True)
class View:
    """Motion of the viewing frame: origin (T, 3) m and its velocity (T, 3) m/s in inertial axes,
    quaternion (T, 4) frame to inertial, angular velocity (T, 3) rad/s in inertial axes."""

    origin: Floats
    velocity: Floats
    quaternion: Floats
    angular_velocity: Floats

    @classmethod
    def of(cls, results: Results, frame: str) -> Self:
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
        origin, quaternion = _beside(points, self.origin[k], self.quaternion[k])
        return rotations.rotate_back(quaternion, points - origin)

    def velocities(self, k: int | slice, points: Floats, velocities: Floats) -> Floats:
        """(..., 3) m/s: the rate of `points`, that is velocity relative to the moving frame."""
        frame = self.origin[k], self.velocity[k], self.quaternion[k], self.angular_velocity[k]
        origin, velocity, quaternion, spin = _beside(points, *frame)
        carried = velocity + np.cross(spin, points - origin)
        return rotations.rotate_back(quaternion, velocities - carried)

    def quaternions(self, k: int | slice, quaternions: Floats) -> Floats:
        """(..., 4): of something to the frame, from its quaternions to the inertial axes."""
        (quaternion,) = _beside(quaternions, self.quaternion[k])
        return rotations.multiply(rotations.conjugate(quaternion), quaternions)

    def angular_velocities(self, k: int | slice, quaternions: Floats, angular_velocities: Floats) -> Floats:
        """(..., 3) rad/s: relative to the moving frame, in the axes of what turns, as they are given;
        ``quaternions`` (..., 4) are from those to the inertial axes."""
        (spin,) = _beside(angular_velocities, self.angular_velocity[k])
        return angular_velocities - rotations.rotate_back(quaternions, spin)

    def accelerations(
        self, k: int | slice, points: Floats, velocities: Floats, accelerations: Floats, own: tuple[Floats, Floats]
    ) -> Floats:
        """(..., 3) m/s2: the second rate of `points`; ``own`` are the frame's acceleration and angular acceleration
        (T, 3), inertial axes."""
        frame = self.origin[k], self.velocity[k], self.quaternion[k], self.angular_velocity[k], own[0][k], own[1][k]
        origin, velocity, quaternion, spin, acceleration, change = _beside(points, *frame)
        arm = points - origin
        relative = velocities - velocity - np.cross(spin, arm)
        carried = acceleration + np.cross(change, arm) + np.cross(spin, np.cross(spin, arm))
        return rotations.rotate_back(quaternion, accelerations - carried - 2.0 * np.cross(spin, relative))

    def angular_accelerations(
        self,
        k: int | slice,
        quaternions: Floats,
        angular_velocities: Floats,
        angular_accelerations: Floats,
        change: Floats,
    ) -> Floats:
        """(..., 3) rad/s2: the rate of `angular_velocities`; ``change`` (T, 3) is the frame's angular acceleration,
        inertial axes."""
        spin, own = _beside(angular_accelerations, self.angular_velocity[k], change[k])
        spin, own = rotations.rotate_back(quaternions, spin), rotations.rotate_back(quaternions, own)
        return angular_accelerations - own + np.cross(angular_velocities, spin)


def seen_from(results: Results, frame: str) -> Content:
    """What `Results.in_frame` describes."""
    view = View.of(results, frame)
    origin, axes = start_pose(results, frame)
    own = _frame_accelerations(results, frame)
    series, static = dict(results.series), dict(results.static)
    attributes: dict[str, dict[str, Any]] = {path: dict(values) for path, values in results.attributes.items()}
    attributes.setdefault("", {})["frame"] = frame
    groups: list[Body | Beam] = [*results.bodies.values(), *results.beams.values()]
    for group in groups:
        path = group.path
        if "position" not in group or "quaternion" not in group:
            continue
        place, turn = _start_of(group)
        moved = relative(view, group, own)
        moved["reference_position"] = rotations.rotate_back(axes, place - origin)
        moved["reference_quaternion"] = rotations.multiply(rotations.conjugate(axes), turn)
        moved["displacement"] = moved["position"] - moved["reference_position"]
        moved["rotation"] = rotations.multiply(moved["quaternion"], rotations.conjugate(moved["reference_quaternion"]))
        if group.of_nodes:
            moved["deflection"] = moved["displacement"]
            attributes.setdefault(path, {})["deflection_body"] = frame
        for word in ("acceleration", "angular_acceleration"):
            if word not in moved:
                series.pop(f"{path}/{word}", None)
        for word, array in moved.items():
            (static if word.startswith("reference") else series)[f"{path}/{word}"] = array
    return Content(series, static, attributes)


def relative(view: View, group: Body | Beam, own: tuple[Floats, Floats] | None = None) -> dict[str, Floats]:
    """Arrays of a body's or beam's motion, all output times, as the view has them; accelerations where ``own``,
    the frame's acceleration and angular acceleration in inertial axes, is given and the group holds its own."""
    always = slice(None)
    position, quaternion = group["position"], group["quaternion"]
    seen = {"position": view.points(always, position), "quaternion": view.quaternions(always, quaternion)}
    if "velocity" in group:
        seen["velocity"] = view.velocities(always, position, group["velocity"])
    if "angular_velocity" in group:
        seen["angular_velocity"] = view.angular_velocities(always, quaternion, group["angular_velocity"])
    if own is not None and "acceleration" in group and "velocity" in group:
        seen["acceleration"] = view.accelerations(always, position, group["velocity"], group["acceleration"], own)
    if own is not None and "angular_acceleration" in group and "angular_velocity" in group:
        given = group["angular_velocity"], group["angular_acceleration"]
        seen["angular_acceleration"] = view.angular_accelerations(always, quaternion, *given, own[1])
    return seen


def node_of(text: str) -> tuple[str, int | None]:
    """Name and node of ``"NAME[NODE]"``; of any other text the text and None."""
    match = NODE.fullmatch(text)
    return (match["name"], int(match["node"])) if match else (text, None)


def start_pose(results: Results, frame: str) -> tuple[Floats, Floats]:
    """Position (3,) and quaternion (4,) of a frame in the start configuration, inertial axes."""
    group, node = _owner(results, frame)
    position, quaternion = _start_of(group)
    return (position, quaternion) if node is None else (position[node], quaternion[node])


def _start_of(group: Body | Beam) -> tuple[Floats, Floats]:
    """Positions and quaternions in the start configuration; at the first output time where results do not hold them."""
    found = []
    for word in ("position", "quaternion"):
        found.append(group[f"reference_{word}"] if f"reference_{word}" in group else group[word][0])
    return found[0], found[1]


def _motion(results: Results, frame: str) -> list[Floats]:
    """Position, quaternion, velocity and angular velocity of a frame, (T, 3 or 4) each."""
    group, node = _owner(results, frame)
    return [group[word] if node is None else group[word][:, node] for word in MOTION]


def _frame_accelerations(results: Results, frame: str) -> tuple[Floats, Floats] | None:
    """Acceleration and angular acceleration (T, 3) of a frame in inertial axes; None in results without them."""
    group, node = _owner(results, frame)
    if "acceleration" not in group or "angular_acceleration" not in group:
        return None
    linear, turning, quaternion = (group[word] for word in ("acceleration", "angular_acceleration", "quaternion"))
    if node is not None:
        linear, turning, quaternion = linear[:, node], turning[:, node], quaternion[:, node]
    return linear, rotations.rotate(quaternion, turning)


def _owner(results: Results, frame: str) -> tuple[Body | Beam, int | None]:
    """The body, or the beam and its node, that a frame's name stands for."""
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


def _beside(values: Floats, *frame: Floats) -> Iterator[Floats]:
    """The frame's (t, 3 or 4) as (t, 1, ..., 3 or 4), to go with values (t, ..., 3 or 4) of the same output times."""
    for each in frame:
        yield each.reshape(*each.shape[:-1], *(1,) * (values.ndim - each.ndim), each.shape[-1])
