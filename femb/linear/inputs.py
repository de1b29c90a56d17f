"""Inputs of a linear system by name, as columns of forces.

loads.NAME...               the factors of loads and of motors; loads.NAME is all of one load
drivers.NAME                prescribed motion, its rate and its acceleration: three columns
bodies.NAME.force, .torque  on a body at its reference point, in body axes: three columns
beams.NAME.NODE.force, .torque    on a node, in the axes of its section
joints.NAME.COORDINATE.force      along a coordinate of a joint: N, or N m of an angle

A last .x, .y or .z selects one of three columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import names_of, nearest
from femb.layout.layout import Station
from femb.linear.outputs import joint_gradient
from femb.linear.point import OperatingPoint
from femb.numerics import rotations

WORDS = ("force", "torque")


@dataclass(frozen=True, eq=False)
class Input:
    """One input: its name, its force (n_v,), and its index in the inputs u of the System, or -1."""

    name: str
    force: Floats
    component: int = -1


def inputs_of(point: OperatingPoint, names: Sequence[str] | None, others: Sequence[str] = ()) -> list[Input | str]:
    """The inputs of these names in their order, by default all loads and motors, then ``others``.

    others : names of inputs that are no forces, as of driven motions; they stay names. A name may be of a group.
    Raises ModelError: an unknown name.
    """
    components = {name: (batch, k) for batch, k, name in point.input_components()}
    if names is None:
        return [*(Input(name, point.force_of(*each), each[1]) for name, each in components.items()), *others]
    found: list[Input | str] = []
    for name in names_of("inputs", names):
        loads = [each for each in components if each == name or each.startswith(f"{name}.")]
        motions = [each for each in others if each in (name, f"{name} rate", f"{name} acceleration")]
        if loads:
            found += [Input(each, point.force_of(*components[each]), components[each][1]) for each in loads]
        elif motions:
            found += motions
        else:
            found += _forces(point, name, [*components, *others])
    return found


def _forces(point: OperatingPoint, name: str, known: list[str]) -> list[Input]:
    whole, _, axis = name.rpartition(".")
    if axis in ("x", "y", "z"):
        columns = _on_station(point, whole)
        if columns is not None:
            return [Input(name, columns["xyz".index(axis)])]
    columns = _on_station(point, name)
    if columns is not None:
        return [Input(f"{name}.{axis}", column) for axis, column in zip("xyz", columns, strict=True)]
    layout = point.system.layout
    match layout.parts_of(name):
        case ["joints", joint, coordinate, "force"] if joint in layout.joints:
            coordinates = [each.name for each in layout.joints[joint].coordinates]
            if coordinate in coordinates:
                number = layout.joints[joint].part.start + coordinates.index(coordinate)
                return [Input(name, joint_gradient(point, number))]
    known = [*known, *(f"bodies.{body}.{word}" for body in layout.bodies for word in WORDS)]
    known += [f"joints.{joint}.{c.name}.force" for joint, entry in layout.joints.items() for c in entry.coordinates]
    known += [f"beams.{beam}.{node}.{word}" for beam in layout.beams for node in (0, -1) for word in WORDS]
    if "acceleration" in name:
        raise ModelError(
            f"input {name!r}: the acceleration of a base is an input of a model with held (--held), or truncated"
        )
    raise ModelError(
        f"input {name!r}: there is no such input; wanted a load, a motor or a driver of the model "
        f"({', '.join(known[:8])}, ...), bodies.NAME or beams.NAME.NODE with "
        f".force or .torque, or joints.NAME.COORDINATE.force{nearest(name, known)}"
    )


def _on_station(point: OperatingPoint, name: str) -> Floats | None:
    """(3, n_v) forces of a unit force or torque along each axis; None of another name."""
    layout = point.system.layout
    match layout.parts_of(name):
        case ["bodies", body, word] if body in layout.bodies and word in WORDS:
            station = Station(layout.bodies[body])
        case ["beams", beam, node, word] if beam in layout.beams and word in WORDS:
            stations = layout.beams[beam].stations
            if not (node.lstrip("-").isdigit() and -len(stations) <= int(node) < len(stations)):
                return None
            station = stations[int(node)]
        case _:
            return None
    frame = layout.frames[station.frame]
    columns = np.zeros((3, point.system.n_v))
    if not frame.freedom:
        return columns
    j = layout.frame_v[station.frame]
    if frame.freedom == 3:
        if word == "torque":
            raise ModelError(f"input {name!r}: a point mass does not turn")
        columns[:, j : j + 3] = np.eye(3)
        return columns
    i = layout.frame_q[station.frame]
    R = rotations.rotation_matrix(rotations.normalise(point.q[i + 3 : i + 7]))
    if word == "force":
        columns[:, j : j + 3] = (R @ station.axes).T
        columns[:, j + 3 : j + 6] = np.cross(station.offset, station.axes.T)
    else:
        columns[:, j + 3 : j + 6] = station.axes.T
    return columns
