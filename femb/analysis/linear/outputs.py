"""Outputs of a linear system by name, as rows on small changes of motion.

bodies.NAME.WORD, beams.NAME.NODE.WORD    three rows; WORD: position, velocity, acceleration (inertial axes); turn (the
                                          change of attitude, rad), angular_velocity (own axes)
joints.NAME.COORDINATE, joints.NAME.COORDINATE rate
"""

from dataclasses import dataclass

import numpy as np

from femb.analysis.linear.chart import Chart
from femb.analysis.linear.point import OperatingPoint
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.layout.layout import Station
from femb.numerics import rotations

WORDS = ("position", "turn", "velocity", "angular_velocity", "acceleration")


@dataclass(frozen=True, eq=False)
class Output:
    """Rows (k, n_v) on the changes of pose, velocity and acceleration; names of the rows.

    coordinate, speed : the column of the chart where the output is one of its coordinates or speeds, else -1.
    """

    names: tuple[str, ...]
    pose: Floats
    velocity: Floats
    acceleration: Floats
    coordinate: int = -1
    speed: int = -1


def default_outputs(point: OperatingPoint, chart: Chart) -> tuple[str, ...]:
    """Position, attitude and their rates of moving bodies, coordinates of joints, and their rates where available."""
    layout = point.system.layout
    moving = [name for name, frame in layout.bodies.items() if layout.frames[frame].freedom]
    names = [
        f"bodies.{name}.{word}"
        for name in moving
        for word in WORDS[:4]
        if layout.frames[layout.bodies[name]].freedom == 6 or word in ("position", "velocity")
    ]
    for name, joint in layout.joints.items():
        for k, coordinate in enumerate(joint.coordinates, start=joint.part.start):
            known = point.at_rest or k in chart.joints
            names += [f"joints.{name}.{coordinate.name}{rate}" for rate in (("", " rate") if known else ("",))]
    return tuple(names)


def output(point: OperatingPoint, chart: Chart, name: str) -> Output:
    """The rows of one output. Raises ModelError: an unknown output."""
    layout = point.system.layout
    match name.split("."):
        case ["bodies", body, word] if body in layout.bodies and word in WORDS:
            return _of_station(point, Station(layout.bodies[body]), name, word)
        case ["beams", beam, node, word] if beam in layout.beams and word in WORDS:
            stations = layout.beams[beam].stations
            if node.lstrip("-").isdigit() and -len(stations) <= int(node) < len(stations):
                return _of_station(point, stations[int(node)], name, word)
        case ["joints", joint, word] if joint in layout.joints:
            names = [coordinate.name for coordinate in layout.joints[joint].coordinates]
            rate = word.endswith(" rate")
            if word.removesuffix(" rate") in names:
                number = layout.joints[joint].part.start + names.index(word.removesuffix(" rate"))
                if number in chart.joints:
                    zero = np.zeros((1, point.system.n_v))
                    column = {"speed" if rate else "coordinate": chart.joints[number]}
                    return Output((name,), zero, zero, zero, **column)
                return _of_joint(point, number, name, rate)
    raise ModelError(
        f"output {name!r}: there is no such output; wanted bodies.NAME.WORD or beams.NAME.NODE.WORD with one of "
        f"{', '.join(WORDS)}, or joints.NAME.COORDINATE, and 'rate' after a blank"
    )


def _of_station(point: OperatingPoint, station: Station, name: str, word: str) -> Output:
    """Rows of a point with axes on a frame, on the changes of the frame's pose, velocity and acceleration."""
    layout, n = point.system.layout, point.system.n_v
    frame = layout.frames[station.frame]
    pose, velocity, acceleration = np.zeros((3, 3, n))
    if frame.freedom:
        i, j = layout.frame_q[station.frame], layout.frame_v[station.frame]
        line, spin = slice(j, j + 3), slice(j + 3, j + 6)
        if frame.freedom == 3:
            if word in ("turn", "angular_velocity"):
                raise ModelError(f"output {name!r}: a point mass does not turn")
            {"position": pose, "velocity": velocity, "acceleration": acceleration}[word][:, line] = np.eye(3)
            return Output(_axes(name), pose, velocity, acceleration)
        R = rotations.rotation_matrix(rotations.normalise(point.q[i + 3 : i + 7]))
        arm, omega = station.offset, point.v[spin]
        tilde = rotations.cross_matrix
        speed = np.cross(omega, arm)
        if word in ("turn", "angular_velocity"):
            (pose if word == "turn" else velocity)[:, spin] = rotations.rotation_matrix(station.rotation).T
        elif word == "position":
            pose[:, line], pose[:, spin] = np.eye(3), -R @ tilde(arm)
        elif word == "velocity":
            pose[:, spin] = -R @ tilde(speed)
            velocity[:, line], velocity[:, spin] = np.eye(3), -R @ tilde(arm)
        else:
            pose[:, spin] = -R @ tilde(np.cross(point.a[spin], arm) + np.cross(omega, speed))
            velocity[:, spin] = -R @ (tilde(speed) + tilde(omega) @ tilde(arm))
            acceleration[:, line], acceleration[:, spin] = np.eye(3), -R @ tilde(arm)
    return Output(_axes(name), pose, velocity, acceleration)


def _of_joint(point: OperatingPoint, number: int, name: str, rate: bool) -> Output:
    """A joint's coordinate by its gradient; its rate at rest, where it does not change with the pose."""
    if rate and not point.at_rest:
        raise ModelError(
            f"output {name!r}: rates of joints in closed loops are known at rest only; take those of bodies"
        )
    system, layout = point.system, point.system.layout
    gradient = system.coordinates_of_joints.measure(point.q[None], point.v[None])[2][0, number]
    rows, zero = np.zeros((2, 1, system.n_v))
    joint = next(joint for joint in layout.joints.values() if joint.part.start <= number < joint.part.stop)
    for e, end in enumerate((joint.first, joint.second)):
        freedom, j = layout.frames[end.frame].freedom, layout.frame_v[end.frame]
        rows[0, j : j + freedom] += gradient[6 * e : 6 * e + freedom] if freedom else 0.0
    return Output((name,), zero, rows, zero) if rate else Output((name,), rows, zero, zero)


def _axes(name: str) -> tuple[str, ...]:
    return tuple(f"{name}.{axis}" for axis in "xyz")
