"""A beam of a scene: its stations, deformed in the axes of what carries it, and the quantities that colour it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats, Ints
from femb.export import geometry
from femb.export.parts import sections_of
from femb.export.picture import THINNEST
from femb.export.web.packing import Packing
from femb.numerics import rotations
from femb.results.beam import Beam
from femb.results.groups import Body

QUANTITIES = {
    "axial force": "N",
    "shear force y": "N",
    "shear force z": "N",
    "torsional moment": "N m",
    "bending moment y": "N m",
    "bending moment z": "N m",
    "bending moment": "N m",
    "von Mises stress": "Pa",
    "axial strain": "",
    "deflection": "m",
}
"""Quantities by which beams are coloured, with their units; "bending moment" is the magnitude of both components."""
COMPONENTS = tuple(QUANTITIES)[:6]
MOST, LEAST, STATIONS = 8, 2, 48  # segments of an element: at most, at least, and of a beam where these permit it
NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])


class BeamMotion:
    """Stations of a beam at all output times.

    points (t, s, 3) m : inertial. colours : of each quantity (t, e, 2) at both ends of every element, or of the
    deflection (t, s) at the stations.
    """

    def __init__(self, beam: Beam, bodies: Mapping[str, Body]) -> None:
        self.beam = beam
        elements = beam.element_length.size
        self.segments = segments_of(elements)
        xi = np.linspace(0.0, 1.0, self.segments + 1)
        between = sections_of(beam)
        times = len(beam.position)
        recorded = {name: beam[name] for name in (*MOTION, "element_length") if name in beam}
        recorded["corner"] = beam.corner
        recorded.setdefault("strain", np.zeros((times, elements, 2)))
        for name in ("velocity", "angular_velocity"):
            recorded.setdefault(name, np.zeros_like(beam.position))
        sections = between(recorded, xi)
        self.points = sections.position.reshape(times, -1, 3)
        axes = sections.axes.reshape(times, -1, 3, 3)
        self.carrier = beam.deflection_body if beam.deflection_body in bodies else None
        owner = bodies[self.carrier] if self.carrier else None
        position, quaternion = (beam.position[:, 0], beam.quaternion[:, 0]) if owner is None else _pose(owner)
        self.pose = position, quaternion
        local = rotations.rotate_back(quaternion[:, None], self.points - position[:, None])
        turned = rotations.multiply(rotations.conjugate(quaternion)[:, None], rotations.from_matrix(axes))
        self.rest, self.rest_axes = self._at_rest(between, xi, owner, local, turned)
        self.deflection = local - self.rest
        turn = rotations.multiply(turned, rotations.conjugate(self.rest_axes))
        self.turn = rotations.logarithm(turn)
        self.colours = _colours(beam) | {"deflection": np.linalg.norm(self.deflection, axis=-1)}

    @staticmethod
    def size(beam: Beam) -> int:
        """How many numbers a scene stores of a beam at one output time."""
        elements = int(beam.element_length.size)
        return 6 * elements * (segments_of(elements) + 1) + 2 * len(QUANTITIES) * elements

    def _at_rest(
        self, between: Any, xi: Floats, owner: Body | None, local: Floats, turned: Floats
    ) -> tuple[Floats, Floats]:
        """Stations (s, 3) and quaternions (s, 4) of the undeformed beam in the axes of the carrier."""
        beam = self.beam
        known = "reference_position" in beam and "reference_quaternion" in beam
        if not known or (owner is not None and "reference_position" not in owner):
            return local[0], turned[0]
        start, still = beam.reference_position, np.zeros_like(beam.reference_position)
        shape = {"position": start, "quaternion": beam.reference_quaternion, "corner": beam.corner}
        shape |= {"velocity": still, "angular_velocity": still, "element_length": beam.element_length}
        shape["strain"] = np.zeros((beam.element_length.size, 2))
        sections = between(shape, xi)
        position, quaternion = (
            (start[0], beam.reference_quaternion[0])
            if owner is None
            else (owner.reference_position, owner.reference_quaternion)
        )
        rest = rotations.rotate_back(quaternion, sections.position.reshape(-1, 3) - position)
        axes = rotations.from_matrix(sections.axes.reshape(-1, 3, 3))
        return rest, rotations.multiply(rotations.conjugate(quaternion), axes)

    def packed(self, path: Floats, numbers: Mapping[str, int], extent: float, packing: Packing) -> dict[str, Any]:
        """The beam in the data of a page; path : see ``femb.export.web.scene``; numbers : of the bodies."""
        outline = self._outline(extent)
        result: dict[str, Any] = {
            "name": self.beam.name,
            "elements": int(self.beam.element_length.size),
            "segments": self.segments,
            "carrier": None if self.carrier is None else numbers[self.carrier],
            "outline": packing.add(outline),
            "lid": packing.add(_lid(outline)),
            "rest": packing.add(self.rest, 20),
            "restAxes": packing.add(self.rest_axes),
            "deflection": packing.add(self.deflection),
            "turn": packing.add(self.turn),
            "colours": {name: packing.add(values) for name, values in self.colours.items() if name != "deflection"},
        }
        if self.carrier is None:
            position, quaternion = self.pose
            result |= {"position": packing.add(position - path), "quaternion": packing.add(quaternion)}
        return result

    def _outline(self, extent: float) -> Floats:
        """The section's outline, counterclockwise, no thinner than the page shows."""
        angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
        least = 0.5 * THINNEST * extent
        circle = 0.5 * least * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        outline: Floats = self.beam.outline if "outline" in self.beam else circle
        outline = outline * max(1.0, least / float(np.max(np.ptp(outline, axis=0))))
        return outline[::-1] if geometry.signed_area(outline) < 0.0 else outline


MOTION = ("position", "quaternion", "velocity", "angular_velocity", "strain")


def segments_of(elements: int) -> int:
    """Segments of each element of a beam."""
    return max(LEAST, min(MOST, STATIONS // max(1, elements)))


def _lid(outline: Floats) -> Ints:
    """(j, 3) triangles of the ends; none, open ends, of an outline that crosses itself."""
    try:
        return geometry.triangulate(outline)
    except ResultError:
        return np.zeros((0, 3), dtype=np.int64)


def _pose(body: Body) -> tuple[Floats, Floats]:
    return body.position, body.quaternion


def _colours(beam: Beam) -> dict[str, Floats]:
    """(t, e, 2) of the quantities that are recorded."""
    result: dict[str, Floats] = {}
    if "section_force" in beam and "section_moment" in beam:
        loads = np.concatenate([beam.section_force, beam.section_moment], axis=-1)
        result |= {name: loads[..., k] for k, name in enumerate(COMPONENTS)}
        result["bending moment"] = np.linalg.norm(loads[..., 4:], axis=-1)
    if "stress_section" in beam and "midpoint_force" in beam:
        result["von Mises stress"] = np.max(beam.von_mises[:, :, ::2], axis=-1)
    if "strain" in beam:
        result["axial strain"] = beam.strain
    return result
