"""Record: from the states of a system to the named arrays of a result file."""

import json
from typing import Any

import numpy as np

from femb import __version__, rotations
from femb.integrate import Frames
from femb.state import station_motion
from femb.system import System
from femb.types import Floats


class Recorder:
    """Turns output frames into blocks of named arrays, and audits them.

    The energy error is kinetic plus potential energy less the work of loads and dampers and less its value at the
    first frame recorded.
    """

    def __init__(self, system: System) -> None:
        from femb.elements.beam_batch import BeamBatch

        self.system = system
        self.layout = system.layout
        self.references = {
            name: [self.layout.pose(station)[1] for station in beam.stations]
            for name, beam in self.layout.beams.items()
        }
        self.beam_batches = [batch for batch in system.batches if isinstance(batch, BeamBatch)]
        self.first_energy: float | None = None

    def static(self) -> dict[str, Floats]:
        """What does not change with time: the beams' reference shapes and outlines."""
        found: dict[str, Floats] = {}
        for name, where in self.layout.beams.items():
            beam = self.system.model.beams[name]
            poses = [self.layout.pose(station) for station in where.stations]
            found[f"beams/{name}/reference_position"] = np.array([r for r, _ in poses])
            found[f"beams/{name}/reference_quaternion"] = np.array([p for _, p in poses])
            found[f"beams/{name}/element_length"] = np.full(beam.elements, beam.length / beam.elements)
            found[f"beams/{name}/outline"] = self.system.model.section_of(beam).outline()
        return found

    def attributes(self, case_text: str, method: str) -> dict[str, dict[str, Any]]:
        """Attributes of the file, and the bodies' shapes for pictures."""
        found: dict[str, dict[str, Any]] = {
            "": {"femb_version": __version__, "case": case_text, "method": method, "status": "running", "message": ""}
        }
        for name, body in self.system.model.bodies.items():
            if getattr(body, "shape", None) is not None and name in self.layout.bodies:
                found[f"bodies/{name}"] = {"shape": json.dumps(body.shape)}
        return found

    def block(self, frames: Frames) -> dict[str, Floats]:
        """The named arrays of k output instants."""
        block: dict[str, Floats] = {"time": frames.time}
        for name, frame in self.layout.bodies.items():
            from femb.layout import Station

            self._motion(block, f"bodies/{name}", Station(frame), frames)
        for name in self.layout.beams:
            self._beam(block, name, frames)
        if self.beam_batches:
            self._section_forces(block, frames)
        self._audit(block, frames)
        return block

    def _motion(self, block: dict[str, Floats], path: str, station: Any, frames: Frames) -> None:
        motion = station_motion(self.layout, station, frames.q, frames.v)
        for word, values in zip(("position", "quaternion", "velocity", "angular_velocity"), motion, strict=True):
            block[f"{path}/{word}"] = values

    def _beam(self, block: dict[str, Floats], name: str, frames: Frames) -> None:
        where = self.layout.beams[name]
        motions = [station_motion(self.layout, station, frames.q, frames.v) for station in where.stations]
        path = f"beams/{name}"
        for k, word in enumerate(("position", "quaternion", "velocity", "angular_velocity")):
            block[f"{path}/{word}"] = np.stack([motion[k] for motion in motions], axis=1)
        block[f"{path}/strain"] = frames.q[:, self.layout.strain_q[where.strains]]
        back = rotations.conjugate(np.array(self.references[name]))
        block[f"{path}/rotation"] = rotations.multiply(block[f"{path}/quaternion"], back)

    def _section_forces(self, block: dict[str, Floats], frames: Frames) -> None:
        system = self.system
        a = np.empty_like(frames.v)
        for k, t in enumerate(frames.time):
            u = system.inputs_at(float(t), frames.q[k], frames.v[k])
            a[k] = system.acceleration(u, frames.q[k], frames.v[k])
        for batch in self.beam_batches:
            forces = batch.section_forces(frames.q, frames.v, a)
            for name, rows in batch.slices.items():
                block[f"beams/{name}/section_force"] = forces[:, rows, :, :3]
                block[f"beams/{name}/section_moment"] = forces[:, rows, :, 3:]

    def _audit(self, block: dict[str, Floats], frames: Frames) -> None:
        values = self.system.energy_momentum(frames.q, frames.v)
        kinetic, potential = values[:, 0], values[:, 1]
        balance = kinetic + potential - frames.work
        if self.first_energy is None:
            self.first_energy = float(balance[0])
        count = len(frames.time)
        block["audit/kinetic_energy"] = kinetic
        block["audit/potential_energy"] = potential
        block["audit/work"] = frames.work
        block["audit/linear_momentum"] = values[:, 2:5]
        block["audit/angular_momentum"] = values[:, 5:8]
        block["audit/energy_error"] = balance - self.first_energy
        block["audit/constraint_position"] = np.zeros(count)
        block["audit/constraint_velocity"] = np.zeros(count)
        block["audit/quaternion_norm"] = self._norm_error(frames.q)

    def _norm_error(self, q: Floats) -> Floats:
        places = self.system.coordinates[2][:, None] + np.arange(4)
        if not places.size:
            return np.zeros(len(q))
        return np.max(np.abs(np.sum(q[:, places] ** 2, axis=2) - 1.0), axis=1)
