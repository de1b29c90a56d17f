"""Rows of modes at named points: what sensors measure, and where forces act, on a hub and its appendages.

    u_P = [1 -rho~; 0 1] u_hub + Phi_P eta

u_P (6,) is displacement and rotation of a point at rho from the hub's origin, all along the hub's axes.
Source: docs/theory/handover.md, equation (1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from femb.analysis.modes.eigenproblem import EigenProblem
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.marker import Place
from femb.layout.layout import Station
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix


@dataclass(frozen=True, eq=False)
class ModeRows:
    """A named point and its displacement by modes.

    appendage : its name, or that of the hub. position (3,) m : from the hub's origin, along its axes. rows (6, k) :
    displacement (m) and rotation (rad) by the modal coordinates of its appendage, along the hub's axes.
    """

    name: str
    appendage: str
    position: Floats
    rows: Floats

    @property
    def rigid(self) -> Floats:
        """(6, 6): displacement and rotation of the point by those of the hub."""
        tau = np.eye(6)
        tau[:3, 3:] = -cross_matrix(self.position)
        return tau

    def first(self, count: int) -> "ModeRows":
        """The same with the ``count`` lowest modes."""
        return replace(self, rows=self.rows[:, :count])


def stations(motion: EigenProblem, points: Mapping[str, Place | str]) -> dict[str, Station]:
    """The stations of points: places of a model, or names such as "bodies.panel" and "beams.boom.-1".

    Raises ModelError: an unknown body, beam or node.
    """
    return {name: _station(motion, name, point) for name, point in points.items()}


def _station(motion: EigenProblem, name: str, point: Place | str) -> Station:
    layout = motion.system.layout
    wanted = "wanted a Place of the model, bodies.NAME or beams.NAME.NODE"
    match layout.parts_of(point) if isinstance(point, str) else point:
        case ["bodies", body] if body in layout.bodies:
            return Station(layout.bodies[body])
        case ["beams", beam, node] if beam in layout.beams and _is_node(node, len(layout.beams[beam].stations)):
            return layout.beams[beam].stations[int(node)]
        case Place(body=body, beam=beam, node=number):
            known = body in layout.bodies if body is not None else beam in layout.beams
            if known and (beam is None or _is_node(str(number), len(layout.beams[beam].stations))):
                return layout.station(point)
    raise ModelError(f"points: {name}: got {point!r}, {wanted}")


def _is_node(text: str, count: int) -> bool:
    return text.removeprefix("-").isdigit() and -count <= int(text) < count


def default_points(motion: EigenProblem, frames: set[int]) -> dict[str, str]:
    """Names of the bodies, and of the last nodes of the beams, that are on these frames."""
    layout = motion.system.layout
    found = {name: f"bodies.{name}" for name, frame in layout.bodies.items() if frame in frames}
    for name, beam in layout.beams.items():
        if beam.stations[-1].frame in frames:
            found[f"{name}.-1"] = f"beams.{name}.-1"
    return found


def place_of(motion: EigenProblem, station: Station, origin: Floats, axes: Floats) -> Floats:
    """Position (3,) m of a station from an inertial point ``origin``, along ``axes`` (3, 3)."""
    i = motion.system.layout.frame_q[station.frame]
    position = motion.q[i : i + 3] + motion.system.layout.origin
    if motion.system.layout.frames[station.frame].freedom == 6:
        position = position + rotations.rotate(motion.q[i + 3 : i + 7], station.offset)
    place: Floats = axes.T @ (position - origin)
    return place


def rows_of(motion: EigenProblem, station: Station, axes: Floats, shapes: Floats) -> Floats:
    """(6, k): displacement and rotation of a station along ``axes`` (3, 3) by shapes (n_v, k)."""
    layout = motion.system.layout
    i, own = layout.frame_q[station.frame], motion.velocities_of(station.frame)
    line, rows = shapes[own][:3], np.zeros((6, shapes.shape[1]))
    if layout.frames[station.frame].freedom == 6:
        R = rotations.rotation_matrix(motion.q[i + 3 : i + 7])
        turn = R @ shapes[own][3:]
        line = line - cross_matrix(R @ station.offset) @ turn
        rows[3:] = axes.T @ turn
    rows[:3] = axes.T @ line
    return rows
