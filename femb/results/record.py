"""Record: from the states of a system to the named arrays of a result file."""

import json
from typing import Any

import numpy as np

from femb import __version__
from femb.base.types import Floats
from femb.layout.layout import DriverLayout, JointLayout, Station
from femb.layout.state import station_acceleration, station_motion
from femb.numerics import rotations
from femb.results.audit import AuditWatch
from femb.results.frames import Frames
from femb.results.reactions import joint_reaction
from femb.system.system import System

# What is recorded of every body and node, in the order of ``station_motion`` and ``station_acceleration``.
MOTION = ("position", "quaternion", "velocity", "angular_velocity", "acceleration", "angular_acceleration")


class Recorder:
    """Turns output frames into blocks of named arrays, and audits them.

    The energy error is kinetic plus potential energy less the work of loads and dampers and less its value at the
    first frame recorded.
    """

    def __init__(self, system: System) -> None:
        from femb.elements.beam.batch import BeamBatch

        self.system = system
        self.layout = system.layout
        self.references = {name: self._reference(name) for name in self.layout.beams}
        self.carriers = {name: self._carrier(name) for name in self.layout.beams}
        self.shapes = {name: self._shape(name) for name in self.layout.beams}
        self.beam_batches = [batch for batch in system.batches if isinstance(batch, BeamBatch)]
        self.audit_watch = AuditWatch()
        self.first_energy: float | None = None
        self.first_stored = 0.0

    def _reference(self, name: str) -> tuple[Floats, Floats]:
        """Positions (n, 3) and quaternions (n, 4) of a beam's nodes in the reference shape, inertial axes."""
        poses = [self.layout.pose(station) for station in self.layout.beams[name].stations]
        return np.array([r for r, _ in poses]), np.array([p for _, p in poses])

    def _carrier(self, name: str) -> tuple[Station, str | None]:
        """What a beam's deflection is relative to: the body its start, or if that is free its end, is clamped to, and
        that body's name; the first node's section and None where that is no body."""
        start, end = self.system.model.beams[name].attached
        clamp = start if start is not None else end
        if clamp is None or clamp.body is None:
            return self.layout.beams[name].stations[0], None
        return Station(self.layout.bodies[clamp.body]), clamp.body

    def _shape(self, name: str) -> Floats:
        """(n, 3) m: a beam's nodes in the reference shape, in the axes of its carrier and from its origin."""
        origin, axes = self.layout.pose(self.carriers[name][0])
        return rotations.rotate_back(axes, self.references[name][0] - origin)

    def static(self) -> dict[str, Floats]:
        """What does not change with time: the poses at the start, the beams' reference shapes and outlines."""
        found: dict[str, Floats] = {}
        for name, frame in self.layout.bodies.items():
            position, quaternion = self.layout.pose(Station(frame))
            found[f"bodies/{name}/reference_position"] = position
            found[f"bodies/{name}/reference_quaternion"] = quaternion
        for name in self.layout.beams:
            beam = self.system.model.beams[name]
            position, quaternion = self.references[name]
            found[f"beams/{name}/reference_position"] = self.layout.origin + position
            found[f"beams/{name}/reference_quaternion"] = quaternion
            found[f"beams/{name}/element_length"] = beam.shape.lengths
            found[f"beams/{name}/corner"] = beam.shape.corners
            found[f"beams/{name}/outline"] = self.system.model.section_of(beam).outline()
        return found

    def attributes(self, case_text: str, method: str) -> dict[str, dict[str, Any]]:
        """Attributes of the file, which bodies are fixed and their shapes, and what the deflections are relative to."""
        found: dict[str, dict[str, Any]] = {
            "": {
                "femb_version": __version__,
                "title": self.system.model.title,
                "case": case_text,
                "method": method,
                "status": "running",
                "message": "",
            }
        }
        figures = self.system.model.figures
        if figures:
            found[""]["figures"] = json.dumps({name: figure.words() for name, figure in figures.items()})
        for name, frame in self.layout.bodies.items():
            about = found[f"bodies/{name}"] = {"fixed": self.layout.frames[frame].freedom == 0}
            shape = getattr(self.system.model.bodies.get(name), "shape", None)
            if shape is not None:
                about["shape"] = json.dumps(shape)
        for name, (_, carrier) in self.carriers.items():
            if carrier is not None:
                found[f"beams/{name}"] = {"deflection_body": carrier}
        for name, joint in self.layout.joints.items():
            found[f"joints/{name}"] = {"names": json.dumps([each.name for each in joint.coordinates])}
        for name, driver in self.layout.drivers.items():
            found[f"drivers/{name}"] = {"names": json.dumps(driver.components)}
        return found

    def block(self, frames: Frames) -> dict[str, Floats]:
        """The named arrays of k output instants."""
        block: dict[str, Floats] = {"time": frames.time}
        for name, frame in self.layout.bodies.items():
            self._motion(block, f"bodies/{name}", Station(frame), frames)
        for name in self.layout.beams:
            self._beam(block, name, frames)
        if self.beam_batches:
            self._section_forces(block, frames)
        accelerations = self.system.coordinates_of_joints.accelerations(frames.q, frames.v, frames.a)
        for name, joint in self.layout.joints.items():
            self._joint(block, name, joint, frames, accelerations)
        for name, driver in self.layout.drivers.items():
            self._driver(block, name, driver, frames)
        for batch in self.system.batches:
            block |= batch.records(frames)
        self._audit(block, frames)
        return block

    def _motion(self, block: dict[str, Floats], path: str, station: Station, frames: Frames) -> None:
        for word, values in zip(MOTION, self._motion_of(station, frames), strict=True):
            block[f"{path}/{word}"] = values
        block[f"{path}/position"] = self.layout.origin + block[f"{path}/position"]

    def _motion_of(self, station: Station, frames: Frames) -> tuple[Floats, ...]:
        """The arrays (k, 3 or 4) of ``MOTION`` of a station."""
        q, v = frames.q, frames.v
        return *station_motion(self.layout, station, q, v), *station_acceleration(self.layout, station, q, v, frames.a)

    def _beam(self, block: dict[str, Floats], name: str, frames: Frames) -> None:
        where = self.layout.beams[name]
        motions = [self._motion_of(station, frames) for station in where.stations]
        path = f"beams/{name}"
        for k, word in enumerate(MOTION):
            block[f"{path}/{word}"] = np.stack([motion[k] for motion in motions], axis=1)
        nodes = block[f"{path}/position"]
        block[f"{path}/position"] = self.layout.origin + nodes
        block[f"{path}/strain"] = frames.q[:, self.layout.strain_q[where.strains]]
        back = rotations.conjugate(self.references[name][1])
        block[f"{path}/rotation"] = rotations.multiply(block[f"{path}/quaternion"], back)
        block[f"{path}/deflection"] = self._deflection(name, nodes, frames)

    def _deflection(self, name: str, position: Floats, frames: Frames) -> Floats:
        """(k, n, 3) m: nodes minus the reference shape that moves rigidly with the beam's carrier, in its axes."""
        origin, axes, _, _ = station_motion(self.layout, self.carriers[name][0], frames.q, frames.v)
        # A quaternion that is off unit length would stretch the motion and pass for a deflection.
        local = rotations.rotate_back(rotations.normalise(axes)[:, None], position - origin[:, None])
        return local - self.shapes[name]

    def _section_forces(self, block: dict[str, Floats], frames: Frames) -> None:
        for batch in self.beam_batches:
            forces = batch.section_forces(frames.q, frames.v, frames.a)
            for other in self.system.batches:
                other.add_section_forces(frames.u, frames.q, frames.v, forces)
            for name, rows in batch.slices.items():
                block[f"beams/{name}/section_force"] = forces[:, rows, :, :3]
                block[f"beams/{name}/section_moment"] = forces[:, rows, :, 3:]

    def _joint(
        self, block: dict[str, Floats], name: str, joint: JointLayout, frames: Frames, accelerations: Floats
    ) -> None:
        """Reaction on the second end, at its point, in the axes of the first; coordinates, rates and accelerations."""
        path = f"joints/{name}"
        force, torque = joint_reaction(self.system, joint, frames)
        block[f"{path}/force"], block[f"{path}/torque"] = force, torque
        if joint.coordinates:
            block[f"{path}/coordinates"] = frames.coordinates[:, joint.part]
            block[f"{path}/rates"] = frames.coordinate_rates[:, joint.part]
            block[f"{path}/accelerations"] = accelerations[:, joint.part]

    def _driver(self, block: dict[str, Floats], name: str, driver: DriverLayout, frames: Frames) -> None:
        """What a driver prescribes, its rate, and the force it takes."""
        motions = [np.array([each.function(float(t)) for t in frames.time]) for each in driver.inputs]
        multipliers = frames.multipliers[:, self.layout.row_c[driver.rows]]
        told = self.system.model.tables["drivers"][name].told(driver, motions, multipliers)
        for word, values in zip(("value", "rate", "force"), told, strict=True):
            block[f"drivers/{name}/{word}"] = values

    def _audit(self, block: dict[str, Floats], frames: Frames) -> None:
        values = self.system.energy_momentum(frames.q, frames.v, frames.u)
        stored = np.zeros(len(frames.time))
        for batch in self.system.batches:
            batch.input_energy(frames.u, frames.q, stored)
        if self.first_energy is None:
            self.first_stored = float(stored[0])
        kinetic, potential, work = values[:, 0], values[:, 1] + stored, frames.work + stored - self.first_stored
        balance = kinetic + potential - work
        if self.first_energy is None:
            self.first_energy = float(balance[0])
        block["audit/kinetic_energy"] = kinetic
        block["audit/potential_energy"] = potential
        block["audit/work"] = work
        block["audit/linear_momentum"] = values[:, 2:5]
        block["audit/angular_momentum"] = values[:, 5:8] + np.cross(self.layout.origin, values[:, 2:5])
        block["audit/energy_error"] = balance - self.first_energy
        position, _ = self.system.constraints(frames.u, frames.q, frames.v)
        rates = self.system.constraint_rates(frames.u, frames.q, frames.v)
        block["audit/constraint_position"] = np.max(np.abs(position), axis=1, initial=0.0)
        block["audit/constraint_velocity"] = np.max(np.abs(rates), axis=1, initial=0.0)
        block["audit/quaternion_norm"] = self._norm_error(frames.q)
        block["audit/force_balance"], block["audit/moment_balance"] = frames.unbalanced.T
        audit = {path.removeprefix("audit/"): array for path, array in block.items() if path.startswith("audit/")}
        self.audit_watch.add(frames.time, audit, np.max(np.abs(frames.v), axis=1, initial=0.0))

    def _norm_error(self, q: Floats) -> Floats:
        places = self.system.coordinates[2][:, None] + np.arange(4)
        if not places.size:
            return np.zeros(len(q))
        result: Floats = np.max(np.abs(np.sum(q[:, places] ** 2, axis=2) - 1.0), axis=1)
        return result
