"""The bodies and beams of `Results` as parts of a mesh: constant cells, points and fields over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats, Ints
from femb.elements import CATALOGUE
from femb.elements.beam.line import LineItem
from femb.elements.beam.section_frames import Sections, along, element_ends
from femb.export import geometry
from femb.numerics import rotations
from femb.results.groups import Beam, Body
from femb.results.results import Results


@dataclass(frozen=True)
class PartState:
    """A part at one output time, P points: inertial positions (P, 3) m, velocities (P, 3) m/s,
    quaternions (P, 4) from the axes of the body or section to the inertial ones, and fields by name,
    (P,) or (P, 3)."""

    points: Floats
    velocities: Floats
    quaternions: Floats
    fields: Mapping[str, Floats]


class Part(Protocol):
    """A part of a mesh: ``cells`` (c, corners) of one meshio ``cell_type``, and for every cell the ``element`` (c,)
    of the beam, 0 for a body."""

    kind: str
    name: str
    cell_type: str
    cells: Ints
    element: Ints

    def state(self, k: int) -> PartState:
        """Points and fields at output time ``k``."""
        ...


class BeamLine:
    """A beam's centreline, by the interpolation of its kind."""

    kind = "beam"
    cell_type = "line"

    def __init__(self, beam: Beam, subdivisions: int) -> None:
        self.name = beam.name
        self.beam = beam
        self.length = beam.element_length
        self.xi = geometry.stations(subdivisions)
        self.sections = _sections_of(beam)
        self.cells = geometry.line_cells(self.length.size, subdivisions)
        self.element = np.repeat(np.arange(self.length.size), subdivisions)

    def state(self, k: int) -> PartState:
        """The stations, with fields linear along the elements."""
        sections = self._sections(k)
        quaternions = rotations.from_matrix(sections.axes).reshape(-1, 4)
        return PartState(
            sections.position.reshape(-1, 3), sections.velocity.reshape(-1, 3), quaternions, self._fields(k)
        )

    def _sections(self, k: int) -> Sections:
        """The sections at all stations."""
        return self.sections({**self.beam.at(k), "corner": self.beam.corner}, self.xi)

    def _fields(self, k: int) -> dict[str, Floats]:
        beam = self.beam
        fields: dict[str, Floats] = {}
        if "strain" in beam:
            fields["strain"] = along(beam.strain[k][..., None], self.xi).reshape(-1)
        for name in ("section_force", "section_moment"):
            if name in beam:
                fields[name] = along(beam[name][k], self.xi).reshape(-1, 3)
        for name in ("deflection", "acceleration"):
            if name in beam:
                fields[name] = along(element_ends(beam[name][k]), self.xi).reshape(-1, 3)
        return fields


class BeamSolid(BeamLine):
    """A beam as the solid swept by its section outline, in wedges, with closed ends."""

    cell_type = "wedge"

    def __init__(self, beam: Beam, subdivisions: int, outline: Floats | None = None) -> None:
        super().__init__(beam, subdivisions)
        self.outline = beam.outline if outline is None else outline
        self.cells = geometry.wedge_cells(self.length.size, subdivisions, self.outline)
        self.element = np.repeat(np.arange(self.length.size), len(self.cells) // self.length.size)

    def state(self, k: int) -> PartState:
        """The outline at every station, moving with the section."""
        sections = self._sections(k)
        points = geometry.sweep(sections.position, sections.axes, self.outline)
        arms = points - sections.position[..., None, :]
        velocities = sections.velocity[..., None, :] + np.cross(sections.spin[..., None, :], arms)
        corners = len(self.outline)
        quaternions = np.repeat(rotations.from_matrix(sections.axes).reshape(-1, 4), corners, axis=0)
        fields = {name: np.repeat(field, corners, axis=0) for name, field in self._fields(k).items()}
        return PartState(points.reshape(-1, 3), velocities.reshape(-1, 3), quaternions, fields)


def _sections_of(beam: Beam) -> Callable[[Mapping[str, Floats], Floats], Sections]:
    """The interpolation of a beam's kind."""
    for kind in CATALOGUE:
        if issubclass(kind, LineItem) and kind.kind == beam.kind:
            return kind.sections
    raise ResultError(
        f"{beam.path}: is of the kind {beam.kind!r}, which is not in the catalogue here, so that nothing is known "
        "of it between its nodes: use the femb that it was made with"
    )


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

    def state(self, k: int) -> PartState:
        """The points, fixed in the body, and their accelerations."""
        body = self.body
        quaternion, spin = body.quaternion[k], body.angular_velocity[k]
        velocities = np.cross(spin, self.points)
        fields: dict[str, Floats] = {}
        if "acceleration" in body:
            relative = np.cross(body.angular_acceleration[k], self.points) + np.cross(spin, velocities)
            fields["acceleration"] = body.acceleration[k] + rotations.rotate(quaternion, relative)
        return PartState(
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
    """All bodies, then all beams; with ``solids`` as solids, if the model gives a shape or outline."""
    bodies = [BodySolid(b) if solids and b.shape else BodyPoint(b) for b in results.bodies.values()]
    beams = [
        BeamSolid(b, subdivisions) if solids and "outline" in b else BeamLine(b, subdivisions)
        for b in results.beams.values()
    ]
    return [*bodies, *beams]
