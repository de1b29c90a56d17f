"""The bodies and beams of `Results` as parts of a mesh: cells once, points and fields at each time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from femb.base.types import Floats, Ints
from femb.export import geometry
from femb.numerics import rotations
from femb.results.groups import Beam, Body
from femb.results.results import Results


@dataclass(frozen=True)
class State:
    """A part at one output time, P points: inertial positions (P, 3) m, velocities (P, 3) m/s,
    quaternions (P, 4) from the axes of the body or section to the inertial ones, and fields by name,
    (P,) or (P, 3)."""

    points: Floats
    velocities: Floats
    quaternions: Floats
    fields: Mapping[str, Floats]


class Part(Protocol):
    """Something drawn: ``cells`` (c, corners) of one meshio ``cell_type``, the ``element`` (c,) of
    the beam each belongs to (0 for a body), and the state at output time k."""

    kind: str
    name: str
    cell_type: str
    cells: Ints
    element: Ints

    def state(self, k: int) -> State:
        """Points and fields at output time ``k``."""
        ...


class BeamLine:
    """A beam's centreline: cubic Hermite with the node directions and end strains, as in the element."""

    kind = "beam"
    cell_type = "line"

    def __init__(self, beam: Beam, subdivisions: int) -> None:
        self.name = beam.name
        self.beam = beam
        self.length = beam.element_length
        self.xi = geometry.stations(subdivisions)
        self.functions = geometry.hermite(self.xi)
        self.slopes = geometry.hermite_slope(self.xi)
        self.cells = geometry.line_cells(self.length.size, subdivisions)
        self.element = np.repeat(np.arange(self.length.size), subdivisions)

    def state(self, k: int) -> State:
        """The stations, with fields linear along the elements.

        The velocity leaves out the rate of the end strains, which the results do not hold.
        """
        centre, tangent, velocity, _ = self._motion(k)
        quaternions = self._quaternions(self._axes(k, tangent))
        return State(centre.reshape(-1, 3), velocity.reshape(-1, 3), quaternions, self._fields(k))

    def _motion(self, k: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Centre, tangent, velocity and inertial angular velocity, (e, s + 1, 3) each."""
        beam = self.beam
        position, strain = beam.position[k], beam.strain[k]
        direction = rotations.rotate(self._ends(k), np.array([1.0, 0.0, 0.0]))
        of_nodes = rotations.rotate(beam.quaternion[k], beam.angular_velocity[k])
        omega = np.stack([of_nodes[:-1], of_nodes[1:]], axis=-2)
        ends = geometry.end_slopes(direction, strain, self.length)
        end_rates = geometry.end_slopes(np.cross(omega, direction), strain, self.length)
        return (
            geometry.interpolate(self.functions, position, ends),
            geometry.interpolate(self.slopes, position, ends),
            geometry.interpolate(self.functions, beam.velocity[k], end_rates),
            geometry.along(omega, self.xi),
        )

    def _ends(self, k: int) -> Floats:
        """(e, 2, 4) sections at both ends of every element; at a corner those of its two elements differ."""
        nodes = self.beam.quaternion[k]
        return np.stack([rotations.multiply(nodes[:-1], self.beam.corner), nodes[1:]], axis=-2)

    def _axes(self, k: int, tangent: Floats) -> Floats:
        """(e, s + 1, 3, 3) section axes, as columns."""
        return geometry.section_axes(self._ends(k), tangent, self.xi)

    def _quaternions(self, axes: Floats) -> Floats:
        """(P, 4) of the section axes."""
        return rotations.from_matrix(axes).reshape(-1, 4)

    def _fields(self, k: int) -> dict[str, Floats]:
        beam = self.beam
        fields: dict[str, Floats] = {"strain": geometry.along(beam.strain[k][..., None], self.xi).reshape(-1)}
        for name in ("section_force", "section_moment"):
            if name in beam:
                fields[name] = geometry.along(beam[name][k], self.xi).reshape(-1, 3)
        for name in ("deflection", "acceleration"):
            if name in beam:
                nodes = beam[name][k]
                ends = np.stack([nodes[:-1], nodes[1:]], axis=-2)
                fields[name] = geometry.along(ends, self.xi).reshape(-1, 3)
        return fields


class BeamSolid(BeamLine):
    """A beam as the solid its section outline sweeps, in wedges, with closed ends."""

    cell_type = "wedge"

    def __init__(self, beam: Beam, subdivisions: int, outline: Floats | None = None) -> None:
        super().__init__(beam, subdivisions)
        self.outline = beam.outline if outline is None else outline
        self.cells = geometry.wedge_cells(self.length.size, subdivisions, self.outline)
        self.element = np.repeat(np.arange(self.length.size), len(self.cells) // self.length.size)

    def state(self, k: int) -> State:
        """The outline at every station, moving with the section."""
        centre, tangent, velocity, omega = self._motion(k)
        axes = self._axes(k, tangent)
        points = geometry.sweep(centre, axes, self.outline)
        velocities = velocity[..., None, :] + np.cross(omega[..., None, :], points - centre[..., None, :])
        corners = len(self.outline)
        quaternions = np.repeat(self._quaternions(axes), corners, axis=0)
        fields = {name: np.repeat(field, corners, axis=0) for name, field in self._fields(k).items()}
        return State(points.reshape(-1, 3), velocities.reshape(-1, 3), quaternions, fields)


class BodyPoint:
    """A body as its reference point."""

    kind = "body"
    cell_type = "vertex"

    def __init__(self, body: Body) -> None:
        self.name = body.name
        self.body = body
        self.points = np.zeros((1, 3))
        self.cells = np.zeros((1, 1), dtype=np.int64)
        self.element = np.zeros(1, dtype=np.int64)

    def state(self, k: int) -> State:
        """The points, fixed in the body, and their accelerations."""
        body = self.body
        quaternion, spin = body.quaternion[k], body.angular_velocity[k]
        velocities = np.cross(spin, self.points)
        fields: dict[str, Floats] = {}
        if "acceleration" in body:
            swung = np.cross(body.angular_acceleration[k], self.points) + np.cross(spin, velocities)
            fields["acceleration"] = body.acceleration[k] + rotations.rotate(quaternion, swung)
        return State(
            body.position[k] + rotations.rotate(quaternion, self.points),
            body.velocity[k] + rotations.rotate(quaternion, velocities),
            np.tile(quaternion, (len(self.points), 1)),
            fields,
        )


class BodySolid(BodyPoint):
    """A body as the surface of its shape."""

    cell_type = "triangle"

    def __init__(self, body: Body, shape: Mapping[str, Any] | None = None) -> None:
        super().__init__(body)
        self.points, self.cells = geometry.body_surface(shape or body.shape or {})
        self.element = np.zeros(len(self.cells), dtype=np.int64)


def parts_of(results: Results, solids: bool, subdivisions: int) -> list[Part]:
    """All bodies, then all beams; as solids where asked for and the model gives a shape or outline."""
    bodies = [BodySolid(b) if solids and b.shape else BodyPoint(b) for b in results.bodies.values()]
    beams = [
        BeamSolid(b, subdivisions) if solids and "outline" in b else BeamLine(b, subdivisions)
        for b in results.beams.values()
    ]
    return [*bodies, *beams]
