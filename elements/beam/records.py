"""Results of beams: motion of the nodes, strains, rotation, deflection, and the reference shape."""

from functools import partial
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.beam.recovery import recovery_points, stress_section
from femb.elements.records import RecordedSystem, Records, motions_of
from femb.layout.layout import Layout, Station
from femb.layout.state import station_motion
from femb.layout.views import OutputStates
from femb.numerics import rotations


def beam_records(beams: list[Any], system: RecordedSystem) -> Records:
    """The records of beams, without section forces, which the batch records (they depend on loads along beams)."""
    layout = system.layout
    static: dict[str, Floats] = {}
    attributes: dict[str, dict[str, Any]] = {}
    recorders = {beam.name: _BeamRecorder(beam, layout) for beam in beams}
    for beam in beams:
        path, recorder = f"beams/{beam.name}", recorders[beam.name]
        static[f"{path}/reference_position"] = layout.origin + recorder.position
        static[f"{path}/reference_quaternion"] = recorder.quaternion
        static[f"{path}/element_length"] = beam.shape.lengths
        static[f"{path}/corner"] = beam.shape.corners
        section = system.model.section_of(beam)
        static[f"{path}/outline"] = section.outline()
        properties = stress_section(section) if beam.uniform else None
        if properties is not None:
            static[f"{path}/recovery_points"], static[f"{path}/stress_section"] = recovery_points(section), properties
        attributes[path] = {"kind": beam.kind}
        if recorder.deflection_body is not None:
            attributes[path]["deflection_body"] = recorder.deflection_body

    def series(accelerations: bool, frames: OutputStates) -> dict[str, Floats]:
        return {
            f"beams/{name}/{word}": values
            for name, recorder in recorders.items()
            for word, values in recorder.series(frames, accelerations).items()
        }

    return Records(static, attributes, partial(series, True), partial(series, False))


class _BeamRecorder:
    """Computes the series of a beam. position (n, 3), quaternion (n, 4) : reference pose of its nodes, inertial axes.

    carrier : the reference of its deflection: the body ``deflection_body`` of its start, or of its end if the start is
    free; if this is not on a body, the section of the first node, and ``deflection_body`` is None.
    """

    def __init__(self, beam: Any, layout: Layout) -> None:
        self.layout, self.beam = layout, layout.beams[beam.name]
        poses = [layout.pose(station) for station in self.beam.stations]
        self.position, self.quaternion = np.array([r for r, _ in poses]), np.array([p for _, p in poses])
        start, end = beam.attached
        clamp = start if start is not None else end
        self.carrier, self.deflection_body = self.beam.stations[0], None
        if clamp is not None and clamp.body is not None:
            self.carrier, self.deflection_body = Station(layout.bodies[clamp.body]), clamp.body
        # position of the nodes in the reference shape relative to the carrier, in its axes
        origin, axes = layout.pose(self.carrier)
        self.shape = rotations.rotate_back(axes, self.position - origin)

    def series(self, frames: OutputStates, accelerations: bool) -> dict[str, Floats]:
        """Arrays (k, n, ...) by name, with accelerations or without."""
        result = motions_of(self.layout, self.beam.stations, frames, accelerations)
        nodes = result["position"]
        result["position"], result["velocity"] = self.layout.to_inertial(frames.time, nodes, result["velocity"])
        for word, numbers in self.beam.internal.items():
            result[word] = frames.q[:, self.layout.internal_q[numbers]]
        result["rotation"] = rotations.multiply(result["quaternion"], rotations.conjugate(self.quaternion))
        result["deflection"] = self._deflection(nodes, frames)
        return result

    def _deflection(self, position: Floats, frames: OutputStates) -> Floats:
        """(k, n, 3) m: nodes minus the reference shape moved rigidly with the carrier, axes of the carrier."""
        origin, axes, _, _ = station_motion(self.layout, self.carrier, frames.q, frames.v)
        # A quaternion whose length is not exactly 1 would scale the positions and cause a false deflection.
        local = rotations.rotate_back(rotations.normalise(axes)[:, None], position - origin[:, None])
        return local - self.shape
