"""Results of beams: motion of the nodes, strains, rotation, deflection, and the reference shape."""

from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam.recovery import recovery_points, stress_section
from femb.elements.records import RecordedSystem, Records, StationMotions
from femb.elements.station_kernels import shape_changes
from femb.layout.layout import Layout, Station
from femb.layout.views import OutputStates
from femb.numerics import rotations


def beam_records(beams: list[Any], system: RecordedSystem) -> Records:
    """The records of beams, without section forces, which the batch records (they depend on loads along beams)."""
    layout = system.layout
    static: dict[str, Floats] = {}
    attributes: dict[str, dict[str, Any]] = {}
    recorder = _BeamRecorder(beams, layout)
    for beam, rows, body in zip(beams, recorder.rows, recorder.deflection_bodies, strict=True):
        path = f"beams/{beam.name}"
        static[f"{path}/reference_position"] = layout.origin + recorder.position[rows]
        static[f"{path}/reference_quaternion"] = recorder.quaternion[rows]
        static[f"{path}/element_length"] = beam.shape.lengths
        static[f"{path}/corner"] = beam.shape.corners
        section = system.model.section_of(beam)
        static[f"{path}/outline"] = section.outline()
        properties = stress_section(section) if beam.uniform else None
        if properties is not None:
            static[f"{path}/recovery_points"], static[f"{path}/stress_section"] = recovery_points(section), properties
        attributes[path] = {"kind": beam.kind}
        if body is not None:
            attributes[path]["deflection_body"] = body
    return Records(static, attributes, partial(recorder.series, True), partial(recorder.series, False))


class _BeamRecorder:
    """Computes the series of beams, of all their n nodes together; ``rows`` : of the nodes of every beam.

    position (n, 3), quaternion (n, 4) : reference pose of the nodes, inertial axes. carriers : the reference of each
    beam's deflection: the body of its start, or of its end if the start is free, which ``deflection_bodies`` names; if
    this is not on a body, the section of the first node, and the name is None.
    """

    def __init__(self, beams: list[Any], layout: Layout) -> None:
        self.layout, self.beams = layout, [layout.beams[beam.name] for beam in beams]
        self.names = [beam.name for beam in beams]
        self.stations = [station for beam in self.beams for station in beam.stations]
        ends = np.cumsum([len(beam.stations) for beam in self.beams]).tolist()
        self.rows = [slice(start, end) for start, end in pairwise([0, *ends])]
        self.beam_of: Ints = np.repeat(np.arange(len(beams)), [len(beam.stations) for beam in self.beams])
        self.position, self.quaternion = layout.poses(self.stations)
        self.carriers: list[Station] = []
        self.deflection_bodies: list[str | None] = []
        for beam, own in zip(beams, self.beams, strict=True):
            start, end = beam.attached
            clamp = start if start is not None else end
            body = clamp.body if clamp is not None else None
            self.carriers.append(own.stations[0] if body is None else Station(layout.bodies[body]))
            self.deflection_bodies.append(body)

    # Of recorded beams alone: the others have only arrays that do not change with time.

    @cached_property
    def motions(self) -> StationMotions:
        """The motion of all nodes."""
        return StationMotions(self.layout, self.stations)

    @cached_property
    def carrier_motions(self) -> StationMotions:
        """The motion of the carriers."""
        return StationMotions(self.layout, self.carriers)

    @cached_property
    def shape(self) -> Floats:
        """(n, 3) m: position of the nodes in the reference shape relative to the carrier, in its axes."""
        origin, axes = self.layout.poses(self.carriers)
        return rotations.rotate_back(axes[self.beam_of], self.position - origin[self.beam_of])

    def series(self, accelerations: bool, frames: OutputStates) -> dict[str, Floats]:
        """The arrays (k, ...) of all beams, with accelerations or without."""
        motion = self.motions.at(frames, accelerations)
        nodes = motion["position"]
        motion["position"], motion["velocity"] = self.layout.to_inertial(frames.time, nodes, motion["velocity"])
        rotation, deflection = np.empty_like(motion["quaternion"]), np.empty_like(nodes)
        carriers = self.carrier_motions.at(frames, accelerations=False)
        shape_changes(
            self.beam_of, carriers["position"], carriers["quaternion"], self.shape, self.quaternion, nodes,
            motion["quaternion"], rotation, deflection,
        )  # fmt: skip
        result: dict[str, Floats] = {}
        for name, beam, rows in zip(self.names, self.beams, self.rows, strict=True):
            path = f"beams/{name}"
            result |= {f"{path}/{word}": values[:, rows] for word, values in motion.items()}
            for word, numbers in beam.internal.items():
                result[f"{path}/{word}"] = frames.q[:, self.layout.internal_q[numbers]]
            result[f"{path}/rotation"], result[f"{path}/deflection"] = rotation[:, rows], deflection[:, rows]
        return result
