"""Outputs of a linear system by name, as rows on small changes of motion.

bodies.NAME.WORD, beams.NAME.NODE.WORD    three rows; WORD: position, velocity, acceleration (inertial axes); turn (the
                                          change of attitude, rad), angular_velocity, angular_acceleration (own axes)
joints.NAME.COORDINATE, joints.NAME.COORDINATE rate
joints.NAME.force, joints.NAME.torque     three rows: the reaction of a joint, as in results
beams.NAME.NODE.section_force, .section_moment    three rows, as in results

A last .x, .y or .z selects one of three rows.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from femb.analysis.linear.reaction_rows import reaction_rows
from femb.analysis.linear.section_rows import section_rows
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import nearest
from femb.layout.layout import Station
from femb.numerics import rotations

if TYPE_CHECKING:
    from femb.analysis.linear.chart import Chart
    from femb.analysis.linear.point import OperatingPoint

WORDS = ("position", "turn", "velocity", "angular_velocity", "acceleration", "angular_acceleration")
SECTION = ("section_force", "section_moment")
REACTION = ("force", "torque")


@dataclass(frozen=True, eq=False)
class Output:
    """Rows (k, n_v) on the changes of pose, velocity and acceleration; names of the rows.

    coordinate, speed : the column of the chart where the output is one of its coordinates or speeds, else -1.
    multipliers (k, n_c) : rows on the changes of the multipliers of constraints. by_input (k, n_u) : rows on the inputs
    of the System. None where there are none.
    """

    names: tuple[str, ...]
    pose: Floats
    velocity: Floats
    acceleration: Floats
    coordinate: int = -1
    speed: int = -1
    multipliers: Floats | None = None
    by_input: Floats | None = None

    def row(self, k: int) -> "Output":
        """One row."""
        own = slice(k, k + 1)
        return replace(
            self,
            names=self.names[own],
            pose=self.pose[own],
            velocity=self.velocity[own],
            acceleration=self.acceleration[own],
            multipliers=None if self.multipliers is None else self.multipliers[own],
            by_input=None if self.by_input is None else self.by_input[own],
        )


def default_outputs(point: "OperatingPoint", chart: "Chart | None") -> tuple[str, ...]:
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
            known = point.at_rest or (chart is not None and k in chart.joints)
            names += [f"joints.{name}.{coordinate.name}{rate}" for rate in (("", " rate") if known else ("",))]
    return tuple(names)


def output(point: "OperatingPoint", chart: "Chart | None", name: str) -> Output:
    """The rows of one output; chart : None where the rows are on the motion of frames alone.

    Raises ModelError: an unknown output.
    """
    found = _output(point, chart, name)
    if found is None and name.rpartition(".")[2] in ("x", "y", "z"):
        whole, _, axis = name.rpartition(".")
        found = _output(point, chart, whole)
        if found is not None and len(found.names) == 3:
            return found.row("xyz".index(axis))
        found = None
    if found is None and name.startswith("appendages."):
        raise ModelError(
            f"output {name!r}: forces of appendages are outputs of a model with a hub, --hub, or held, --held, or of a "
            "truncated one"
        )
    if found is None:
        raise ModelError(
            f"output {name!r}: there is no such output; wanted bodies.NAME.WORD or beams.NAME.NODE.WORD with one of "
            f"{', '.join(WORDS)}, or joints.NAME.COORDINATE, and 'rate' after a blank; beams also have "
            f"{' and '.join(SECTION)}, joints {' and '.join(REACTION)}{nearest(name, known_outputs(point))}"
        )
    return found


def known_outputs(point: "OperatingPoint") -> list[str]:
    """The names of all outputs, of beams at their ends."""
    layout = point.system.layout
    names = [f"bodies.{body}.{word}" for body in layout.bodies for word in WORDS]
    names += [f"beams.{beam}.{node}.{word}" for beam in layout.beams for node in (0, -1) for word in WORDS + SECTION]
    for joint, entry in layout.joints.items():
        names += [f"joints.{joint}.{c.name}{rate}" for c in entry.coordinates for rate in ("", " rate")]
        names += [f"joints.{joint}.{word}" for word in REACTION]
    return names


def _output(point: "OperatingPoint", chart: "Chart | None", name: str) -> Output | None:
    layout = point.system.layout
    match layout.parts_of(name):
        case ["bodies", body, word] if body in layout.bodies and word in WORDS:
            return _of_station(point, Station(layout.bodies[body]), name, word)
        case ["beams", beam, node, word] if beam in layout.beams and word in (*WORDS, *SECTION):
            stations = layout.beams[beam].stations
            if node.lstrip("-").isdigit() and -len(stations) <= int(node) < len(stations):
                if word in SECTION:
                    return Output(_axes(name), *section_rows(point, beam, int(node) % len(stations), word))
                return _of_station(point, stations[int(node)], name, word)
        case ["joints", joint, word] if joint in layout.joints:
            names = [coordinate.name for coordinate in layout.joints[joint].coordinates]
            rate = word.endswith(" rate")
            if word.removesuffix(" rate") in names:
                number = layout.joints[joint].part.start + names.index(word.removesuffix(" rate"))
                if chart is not None and number in chart.joints:
                    zero = np.zeros((1, point.system.n_v))
                    column = chart.joints[number]
                    at = (-1, column) if rate else (column, -1)
                    return Output((name,), zero, zero, zero, *at)
                return _of_joint(point, number, name, rate)
            if word in REACTION:
                pose, multipliers = reaction_rows(point, layout.joints[joint], word)
                zero = np.zeros_like(pose)
                return Output(_axes(name), pose, zero, zero, multipliers=multipliers)
    return None


def _of_station(point: "OperatingPoint", station: Station, name: str, word: str) -> Output:
    """Rows of a point with axes on a frame, on the changes of the frame's pose, velocity and acceleration."""
    layout, n = point.system.layout, point.system.n_v
    frame = layout.frames[station.frame]
    pose, velocity, acceleration = np.zeros((3, 3, n))
    if frame.freedom:
        i, j = layout.frame_q[station.frame], layout.frame_v[station.frame]
        line, spin = slice(j, j + 3), slice(j + 3, j + 6)
        if frame.freedom == 3:
            if word in ("turn", "angular_velocity", "angular_acceleration"):
                raise ModelError(f"output {name!r}: a point mass does not turn")
            {"position": pose, "velocity": velocity, "acceleration": acceleration}[word][:, line] = np.eye(3)
            return Output(_axes(name), pose, velocity, acceleration)
        R = rotations.rotation_matrix(rotations.normalise(point.q[i + 3 : i + 7]))
        arm, omega = station.offset, point.v[spin]
        tilde = rotations.cross_matrix
        speed = np.cross(omega, arm)
        if word in ("turn", "angular_velocity", "angular_acceleration"):
            rows = {"turn": pose, "angular_velocity": velocity, "angular_acceleration": acceleration}[word]
            rows[:, spin] = rotations.rotation_matrix(station.rotation).T
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


def joint_gradient(point: "OperatingPoint", number: int) -> Floats:
    """(n_v,) derivative of a joint's coordinate; ``number`` : of the coordinate in the layout."""
    system, layout = point.system, point.system.layout
    gradient = system.coordinates_of_joints.measure(point.q[None], point.v[None])[2][0, number]
    row = np.zeros(system.n_v)
    joint = next(joint for joint in layout.joints.values() if joint.part.start <= number < joint.part.stop)
    for e, end in enumerate((joint.first, joint.second)):
        freedom, j = layout.frames[end.frame].freedom, layout.frame_v[end.frame]
        row[j : j + freedom] += gradient[6 * e : 6 * e + freedom] if freedom else 0.0
    return row


def _of_joint(point: "OperatingPoint", number: int, name: str, rate: bool) -> Output:
    """A joint's coordinate by its gradient; its rate at rest, where it does not change with the pose."""
    if rate and not point.at_rest:
        raise ModelError(
            f"output {name!r}: rates of joints in closed loops are known at rest only; take those of bodies"
        )
    rows = joint_gradient(point, number)[None]
    zero = np.zeros_like(rows)
    return Output((name,), zero, rows, zero) if rate else Output((name,), rows, zero, zero)


def _axes(name: str) -> tuple[str, ...]:
    return tuple(f"{name}.{axis}" for axis in "xyz")
