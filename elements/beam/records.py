"""What beams write to the results: the motion of their nodes, strains, rotation and deflection, and their shape."""

from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.records import Frames, RecordedSystem, Records, motions_of
from femb.layout.layout import Layout, Station
from femb.layout.state import station_motion
from femb.numerics import rotations


def beam_records(beams: list[Any], system: RecordedSystem) -> Records:
    """The records of beams. Section forces are those of the batch, which knows what loads add to them."""
    layout = system.layout
    static: dict[str, Floats] = {}
    attributes: dict[str, dict[str, Any]] = {}
    parts = {beam.name: _Recorded(beam, layout) for beam in beams}
    for beam in beams:
        path, part = f"beams/{beam.name}", parts[beam.name]
        static[f"{path}/reference_position"] = layout.origin + part.position
        static[f"{path}/reference_quaternion"] = part.quaternion
        static[f"{path}/element_length"] = beam.shape.lengths
        static[f"{path}/corner"] = beam.shape.corners
        static[f"{path}/outline"] = system.model.section_of(beam).outline()
        attributes[path] = {"kind": beam.kind}
        if part.deflection_body is not None:
            attributes[path]["deflection_body"] = part.deflection_body

    def series(frames: Frames) -> dict[str, Floats]:
        return {
            f"beams/{name}/{word}": values
            for name, part in parts.items()
            for word, values in part.series(frames).items()
        }

    return Records(static, attributes, series)


class _Recorded:
    """A beam with its nodes' reference pose: position (n, 3) and quaternion (n, 4), inertial axes.

    carrier : what its deflection is relative to: the body that its start, or if that is free its end, is clamped to,
    and ``deflection_body`` that body's name; the first node's section and None where that is no body.
    """

    def __init__(self, beam: Any, layout: Layout) -> None:
        self.layout, self.where = layout, layout.beams[beam.name]
        poses = [layout.pose(station) for station in self.where.stations]
        self.position, self.quaternion = np.array([r for r, _ in poses]), np.array([p for _, p in poses])
        start, end = beam.attached
        clamp = start if start is not None else end
        self.carrier, self.deflection_body = self.where.stations[0], None
        if clamp is not None and clamp.body is not None:
            self.carrier, self.deflection_body = Station(layout.bodies[clamp.body]), clamp.body
        # the nodes in the reference shape, in the axes of the carrier and from its origin
        origin, axes = layout.pose(self.carrier)
        self.shape = rotations.rotate_back(axes, self.position - origin)

    def series(self, frames: Frames) -> dict[str, Floats]:
        """Arrays (k, n, ...) by word."""
        result = motions_of(self.layout, self.where.stations, frames)
        nodes = result["position"]
        result["position"] = self.layout.origin + nodes
        for word, numbers in self.where.internal.items():
            result[word] = frames.q[:, self.layout.internal_q[numbers]]
        result["rotation"] = rotations.multiply(result["quaternion"], rotations.conjugate(self.quaternion))
        result["deflection"] = self._deflection(nodes, frames)
        return result

    def _deflection(self, position: Floats, frames: Frames) -> Floats:
        """(k, n, 3) m: nodes minus the reference shape that moves rigidly with the beam's carrier, in its axes."""
        origin, axes, _, _ = station_motion(self.layout, self.carrier, frames.q, frames.v)
        # A quaternion that is off unit length would stretch the motion and pass for a deflection.
        local = rotations.rotate_back(rotations.normalise(axes)[:, None], position - origin[:, None])
        return local - self.shape
