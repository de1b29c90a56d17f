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

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import nearest
from femb.elements.beam import batch as default_beam
from femb.elements.beam.batch import BeamBatch
from femb.elements.exact import batch as exact_beam
from femb.elements.exact.batch import ExactBatch
from femb.elements.private_blocks import PrivateBlocks
from femb.layout.element import Batch
from femb.layout.layout import JointLayout, Station
from femb.numerics import rotations
from femb.system.constraints import reaction_stiffness

if TYPE_CHECKING:
    from femb.linear.chart import Chart
    from femb.linear.point import OperatingPoint


# The reaction of a joint as rows on small changes of the pose and of the multipliers.
#
#     force = A^T f,  torque = A^T t,  f = -g,  t = -R (c - d x R^T g),  [g; c] = J_joint^T lambda on the second end
#
# with A the joint's axes at the first end and d its point on the second. Signs and axes are those of results
# (``femb.elements.joint.records``). Source: docs/theory/constraints.md, equations (11) and (12).

cross_matrix = rotations.cross_matrix


def reaction_rows(point: "OperatingPoint", joint: JointLayout, word: str) -> tuple[Floats, Floats]:
    """Rows (3, n_v) on the pose and (3, n_c) on the multipliers; word : "force" or "torque".

    Raises ModelError: a joint on a point mass.
    """
    system, layout = point.system, point.system.layout
    moving = layout.frames[joint.second.frame].freedom > 0
    end, sign = (joint.second, -1.0) if moving else (joint.first, 1.0)
    if layout.frames[end.frame].freedom != 6:
        raise ModelError(f"output: the reaction of a joint on the point mass {layout.frames[end.frame].label!r}")
    j = layout.frame_v[end.frame]
    line, spin = slice(j, j + 3), slice(j + 3, j + 6)
    own = np.zeros(system.n_c, dtype=bool)
    own[layout.row_c[joint.rows]] = True
    by_multipliers = sign * system.jacobian(point.u, point.q).T.toarray()[j : j + 6] * own
    by_pose = sign * reaction_stiffness(system, point.u, point.q, point.v, np.where(own, point.multipliers, 0.0))
    by_pose = by_pose.tocsr()[j : j + 6].toarray()
    g, c = np.split(by_multipliers @ point.multipliers, 2)
    position, R = _pose(point, end.frame)
    A = _pose(point, joint.first.frame)[1] @ rotations.rotation_matrix(joint.first.rotation)
    # the point of the second end, in axes of the frame on which the reaction is taken
    second, S = _pose(point, joint.second.frame)
    d = R.T @ (second + S @ joint.second.offset - position)
    w = c - np.cross(d, R.T @ g)
    rows = []
    for change, turned in ((by_pose, True), (by_multipliers, False)):
        if word == "force":
            row, value = A.T @ change[:3], A.T @ g
        else:
            row = change[3:] - cross_matrix(d) @ (R.T @ change[:3])
            if turned:
                row[:, spin] -= cross_matrix(d) @ cross_matrix(R.T @ g) + cross_matrix(w)
                if not moving:  # the point is on the other frame, which is fixed: d changes
                    row[:, spin] += cross_matrix(R.T @ g) @ cross_matrix(d)
                    row[:, line] -= cross_matrix(R.T @ g) @ R.T
            row, value = A.T @ R @ row, A.T @ R @ w
        first = layout.frames[joint.first.frame]
        if turned and first.freedom == 6:
            i = layout.frame_v[joint.first.frame] + 3
            row[:, i : i + 3] += cross_matrix(value) @ rotations.rotation_matrix(joint.first.rotation).T
        rows.append(row)
    return rows[0], rows[1]


def _pose(point: "OperatingPoint", frame: int) -> tuple[Floats, Floats]:
    """Position (3,) and axes (3, 3) of a frame."""
    layout = point.system.layout
    if not layout.frames[frame].freedom:
        return layout.frames[frame].position, rotations.rotation_matrix(layout.frames[frame].quaternion)
    i = layout.frame_q[frame]
    if layout.frames[frame].freedom == 3:
        return point.q[i : i + 3], np.eye(3)
    return point.q[i : i + 3], rotations.rotation_matrix(rotations.normalise(point.q[i + 3 : i + 7]))


# Section force and moment of a beam as rows on small changes of motion, by the exact tangent of one element.
#
# The section force is the residual force of an element on its end, in the axes of the section there:
#
#     N = o S^T R^T f,    M = o S^T (c - d x R^T f),    o = -1 at the first end, 1 at the second
#
# with f (inertial axes) and c (frame axes) the force and the torque on the frame of the node, whose section has the
# axes
# S and the offset d. Inertia and weight of the element are part of it, as in results, for beams of both kinds. Source:
# docs/theory/beam.md, docs/theory/exact_beam.md.

tilde = rotations.cross_matrix
# Columns of the velocities of an element, of two frames, and of the default beam a rate of strain after each.
PLACES: dict[type, tuple[list[int] | slice, tuple[int, ...]]] = {
    BeamBatch: (default_beam.VELOCITIES, (6, 1, 6, 1)),
    ExactBatch: (exact_beam.VELOCITIES, (6, 6)),
}


def section_rows(
    point: "OperatingPoint", beam: str, node: int, word: str
) -> tuple[Floats, Floats, Floats, int, int, None, Floats]:
    """Rows (3, n_v) on pose, velocity and acceleration, and (3, n_u) on the inputs of loads along the beam.

    node : index from 0; the section is that of the element before the node, at the first node of the one after.
    word : "section_force" or "section_moment". The result are the fields of an Output after its names.

    Raises ModelError: a load along the beam that acts at the point.
    """
    system, layout = point.system, point.system.layout
    whole = next(b for b in system.batches if isinstance(b, BeamBatch | ExactBatch) and beam in b.slices)
    row, end = (whole.slices[beam].start + node - 1, 1) if node else (whole.slices[beam].start, 0)
    by_input = _by_inputs(point, whole, row, end, word)
    one = whole.row(row)
    velocities, groups = PLACES[type(whole)]
    width = sum(groups)
    places = one.index[:, velocities].copy()
    # a fixed frame too has places of its own, so that the force on it is known
    private = PrivateBlocks(np.arange(len(groups))[None], groups)
    one.index[:, velocities] = private.starts
    one.offset, one.stride = private.offset, private.stride
    starts = np.cumsum((0, *groups))[:-1]
    v, a, own = np.zeros((1, width)), np.zeros((1, width)), np.full(width, -1)
    for start, size, place in zip(starts, groups, places[0], strict=True):
        if place >= 0:
            own[start : start + size] = place + np.arange(size)
            v[0, start : start + size], a[0, start : start + size] = (
                x[place : place + size] for x in (point.v, point.a)
            )
    residual, mass, damping, stiffness = np.zeros((1, width)), *np.zeros((3, width**2))
    one.residual(point.u[None], point.q[None], v, a, residual)
    one.mass(point.q, mass)
    one.tangent(point.u, point.q, v[0], a[0], damping, stiffness)
    station = layout.beams[beam].stations[node]
    frame = layout.frames[station.frame]
    i = layout.frame_q[station.frame]
    quaternion = rotations.normalise(point.q[i + 3 : i + 7]) if frame.freedom else frame.quaternion
    R = rotations.rotation_matrix(quaternion)
    S = one.ends[0, end, 4:13].reshape(3, 3)
    d = station.offset
    first = width // 2 * end
    f = R.T @ residual[0, first : first + 3]
    outward = 1.0 if end else -1.0
    result = []
    for data, turned in ((stiffness, True), (damping, False), (mass, False)):
        change = data.reshape(width, width)[first : first + 6]
        force = R.T @ change[:3]
        if turned:
            force[:, first + 3 : first + 6] += tilde(f)
        rows = outward * S.T @ (force if word == "section_force" else change[3:] - tilde(d) @ force)
        wide = np.zeros((3, system.n_v))
        wide[:, own[own >= 0]] = rows[:, own >= 0]
        result.append(wide)
    return result[0], result[1], result[2], -1, -1, None, by_input


def _by_inputs(point: "OperatingPoint", whole: BeamBatch | ExactBatch, row: int, end: int, word: str) -> Floats:
    """(3, n_u) change of the section force with the inputs of loads along beams, and with the heat of exact ones.

    Raises ModelError where a load along the beam acts at the point: its section force changes with the pose too.
    """
    system = point.system
    by_input = np.zeros((3, system.n_u))
    beams = [batch for batch in system.batches if isinstance(batch, type(whole))]
    part = slice(0, 3) if word == "section_force" else slice(3, 6)
    v = point.v[None]
    for batch, k, name in point.input_components():
        if isinstance(batch, BeamBatch | ExactBatch) and batch is not whole:
            continue

        def section(u: Floats, batch: Batch = batch) -> Floats:
            if batch is whole and isinstance(whole, ExactBatch):
                out = whole.section_forces(point.q[None], v, np.zeros_like(v), u[None])
            else:
                out = np.zeros((1, sum(len(each.index) for each in beams), 2, 6))
                batch.add_section_forces(beams[0], u[None], point.q[None], v, out)
            return np.asarray(out[0, row, end, part])

        by_input[:, k] = point.by_input(section, k)
        if batch is not whole and point.u[k] and np.any(by_input[:, k]):
            raise ModelError(
                f"output: section forces of a beam are not linearised about a state with a load along it; {name} is "
                f"{point.u[k]:.6g}: set its profile to zero, or take the reaction of a joint"
            )
    return by_input


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
