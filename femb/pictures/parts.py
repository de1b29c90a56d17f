"""The bodies, beams and shells of `Results` as parts of a mesh: constant cells, points and fields over time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.arrays import NOTHING
from femb.base.errors import ResultError
from femb.base.quantity import ENDS, Group
from femb.base.types import Floats, Ints
from femb.elements.beam.line import LineItem
from femb.elements.beam.results import STATIONS, BeamResults
from femb.elements.beam.shape import Sections, along, element_ends
from femb.elements.body.results import BodyResults, nodal_stress_at, nodal_von_mises_at
from femb.elements.registry import kinds
from femb.elements.shell.results import SIDES, ShellResults, surface_stress_at
from femb.numerics import rotations
from femb.pictures import geometry
from femb.results.results import Results

SHELL_FIELDS = ("membrane_force", "bending_moment", "shear_force")
"""Resultants of shells that are fields; the third component of the last is zero."""
CELLS = "cells_"
"""Beginning of the names of arrays with the cells of a flexible body, before their type in meshio."""


@dataclass(frozen=True)
class PartState:
    """A part at one output time, P points: inertial positions (P, 3) m, velocities (P, 3) m/s,
    quaternions (P, 4) from the axes of the body or section to the inertial ones, and fields by name,
    (P,) or (P, 3)."""

    points: Floats
    velocities: Floats
    quaternions: Floats
    fields: Mapping[str, Floats]


class Part:
    """Base of parts: ``cells`` (c, corners) of one meshio ``cell_type``, and for every cell the ``element`` (c,) of the
    beam or shell, 0 for others."""

    kind: str
    name: str
    cell_type: str
    cells: Ints
    element: Ints

    def state(self, k: int) -> PartState:
        """Its points and their fields at output time k."""
        raise NotImplementedError

    def of_elements(self, k: int) -> Mapping[str, Floats]:
        """Quantities of its elements at output time k by name, (e,) or (e, 3)."""
        return NOTHING


# Quantities of elements as fields: of several places, as the ends of an element, each is a field of its own, and of the
# plies and the recovery points the value that is largest in size.

PLACES = (ENDS, STATIONS, SIDES)
ALIKE = 1e-9  # relative


def recorded(group: Group, names: Sequence[str]) -> list[str]:
    """The quantities of ``names`` that results have, or can compute."""
    found, first = [], group.instant(0)
    for name in names:
        try:
            getattr(first, name)
        except ResultError:
            continue
        found.append(name)
    return found


def element_fields(group: Group, names: Sequence[str], k: int) -> dict[str, Floats]:
    """Quantities (T, e, ...) of a group at output time k, as fields by name: NAME, or NAME_PLACE as NAME_start."""
    found, now = dict[str, Floats](), group.instant(k)
    for name in names:
        values: Floats = getattr(now, name)
        found |= _fields_of(name, values[0], group.axes_of(name, values.shape)[2:])
    return found


def _fields_of(name: str, values: Floats, axes: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[tuple[str, Floats]]:
    if not axes:
        yield name, values
        return
    (size, names), *others = axes
    if size == "p":
        known = np.where(np.isnan(values), 0.0, values)
        # the positive one of those alike but for rounding, as on both sides of a section in bending
        below = -known.min(axis=1) > (1.0 + ALIKE) * known.max(axis=1)
        at = np.where(below, known.argmin(axis=1), known.argmax(axis=1))[:, None]
        yield from _fields_of(name, np.take_along_axis(values, at, axis=1)[:, 0], others)
    elif names in PLACES:
        for j, place in enumerate(names):
            yield from _fields_of(f"{name}_{place}", values[:, j], others)
    else:
        yield name, np.pad(values, ((0, 0), (0, 3 - values.shape[1])))  # meshes have vectors of three alone


class BeamLine(Part):
    """A beam's centreline, by the interpolation of its kind; the outline of its section is a point."""

    kind = "beam"
    cell_type = "line"
    outline = np.zeros((1, 2))

    def __init__(self, beam: BeamResults, subdivisions: int) -> None:
        self.name = beam.name
        self.beam = beam
        self.length = beam.element_length
        self.xi = np.linspace(0.0, 1.0, subdivisions + 1)
        self.sections = sections_of(beam)
        self.cells = geometry.line_cells(self.length.size, subdivisions)
        self.element = np.repeat(np.arange(self.length.size), subdivisions)

    def state(self, k: int) -> PartState:
        """The outline at every station, moving with the section, with fields linear along the elements.

        Section loads are parabolas through both ends and the middle: exact under a uniform load.
        """
        sections = self.sections({**self.beam.at(k), "corner": self.beam.corner}, self.xi)
        points = geometry.sweep(sections.position, sections.axes, self.outline)
        arms = points - sections.position[..., None, :]
        velocities = sections.velocity[..., None, :] + np.cross(sections.spin[..., None, :], arms)
        corners = len(self.outline)
        quaternions = np.repeat(rotations.from_matrix(sections.axes).reshape(-1, 4), corners, axis=0)
        fields = {name: np.repeat(field, corners, axis=0) for name, field in self._fields(k).items()}
        return PartState(points.reshape(-1, 3), velocities.reshape(-1, 3), quaternions, fields)

    @cached_property
    def _of_elements(self) -> list[str]:
        return recorded(self.beam, ("axial_stress", "shear_stress", "von_mises"))

    def of_elements(self, k: int) -> Mapping[str, Floats]:
        """Stresses; what else is of the elements of a beam is a field of its points."""
        return element_fields(self.beam, self._of_elements, k)

    def _fields(self, k: int) -> dict[str, Floats]:
        beam = self.beam
        fields: dict[str, Floats] = {}
        if "strain" in beam:
            fields["strain"] = along(beam.strain[k][..., None], self.xi).reshape(-1)
        for name, middle in (("section_force", "midpoint_force"), ("section_moment", "midpoint_moment")):
            if name in beam:
                ends, bulge = beam[name][k], 4.0 * (self.xi * (1.0 - self.xi))[:, None]
                excess = beam[middle][k] - ends.mean(axis=1) if middle in beam else np.zeros_like(ends[:, 0])
                fields[name] = (along(ends, self.xi) + bulge * excess[:, None]).reshape(-1, 3)
        for name in ("deflection", "acceleration"):
            if name in beam:
                fields[name] = along(element_ends(beam[name][k]), self.xi).reshape(-1, 3)
        return fields


class BeamSolid(BeamLine):
    """A beam as the solid swept by its section outline, in wedges, with closed ends."""

    cell_type = "wedge"

    def __init__(self, beam: BeamResults, subdivisions: int, outline: Floats | None = None) -> None:
        super().__init__(beam, subdivisions)
        self.outline = beam.outline if outline is None else outline
        self.cells = geometry.wedge_cells(self.length.size, subdivisions, self.outline)
        self.element = np.repeat(np.arange(self.length.size), len(self.cells) // self.length.size)


def sections_of(beam: BeamResults) -> Callable[[Mapping[str, Floats], Floats], Sections]:
    """The interpolation of a beam's kind."""
    for kind in kinds():
        if issubclass(kind, LineItem) and kind.kind == beam.kind:
            return kind.sections_between
    raise ResultError(
        f"{beam.path}: is of the kind {beam.kind!r}, which is not in the catalogue here, so that nothing is known "
        "of it between its nodes: use the femb that it was made with"
    )


class BodyPoint(Part):
    """A body as its reference point."""

    kind = "body"
    cell_type = "vertex"

    def __init__(self, body: BodyResults) -> None:
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
        return _of_body(body, k, self.points, velocities, fields)


class BodySolid(BodyPoint):
    """A body as the surface of its shape."""

    cell_type = "triangle"

    def __init__(self, body: BodyResults, shape: Mapping[str, Any] | None = None) -> None:
        super().__init__(body)
        self.points, self.cells = geometry.body_surface(shape or body.shape or {})
        self.element = np.zeros(len(self.cells), dtype=np.int64)


class FlexibleMesh(Part):
    """The cells of one type of a flexible body, deformed by its coordinates; see docs/theory/modal_body.md."""

    kind = "body"

    def __init__(self, body: BodyResults, cell_type: str) -> None:
        self.name, self.body, self.cell_type = body.name, body, cell_type
        cells = body[CELLS + cell_type].astype(np.int64)
        used, numbers = np.unique(cells, return_inverse=True)
        self.cells = numbers.reshape(cells.shape)
        self.nodes, self.shapes = body["nodes"][used], body["node_shapes"][:, used]
        self.element, self.used = np.zeros(len(cells), dtype=np.int64), used

    def deflections(self, every: int) -> Floats:
        """(t, P, 3) m, in body axes, at every ``every``-th output time."""
        result: Floats = np.tensordot(self.body["deformation"][::every], self.shapes, 1)
        return result

    def state(self, k: int) -> PartState:
        """The nodes; their deflection is in body axes."""
        body = self.body
        deflection = np.tensordot(body["deformation"][k], self.shapes, 1)
        rates = np.tensordot(body["deformation_rate"][k], self.shapes, 1)
        points = self.nodes + deflection
        velocities = np.cross(body.angular_velocity[k], points) + rates
        fields = {"deflection": deflection}
        if "stress_shapes" in body:
            one = slice(k, k + 1)
            fields |= {"stress": nodal_stress_at(body, one)[0][self.used]}
            fields |= {"von_mises": nodal_von_mises_at(body, one)[0][self.used]}
        return _of_body(body, k, points, velocities, fields)


def _of_body(body: BodyResults, k: int, points: Floats, velocities: Floats, fields: Mapping[str, Floats]) -> PartState:
    """The state of points and their velocities relative to the reference point, both (P, 3) in body axes."""
    quaternion = body.quaternion[k]
    return PartState(
        body.position[k] + rotations.rotate(quaternion, points),
        body.velocity[k] + rotations.rotate(quaternion, velocities),
        np.tile(quaternion, (len(points), 1)),
        fields,
    )


def flexible_meshes(body: BodyResults) -> list[FlexibleMesh]:
    """The meshes of a flexible body, one for each type of its cells; none if its file holds no cells."""
    return [FlexibleMesh(body, name.removeprefix(CELLS)) for name in body.arrays if name.startswith(CELLS)]


class ShellSurface(Part):
    """The quadrilaterals or the triangles of a shell, with the mean of the resultants of the elements at a node."""

    kind = "shell"

    def __init__(self, shell: ShellResults, cell_type: str) -> None:
        self.name, self.shell, self.cell_type = shell.name, shell, cell_type
        quads, triangles = shell.quadrilaterals.astype(np.int64), shell.triangles.astype(np.int64)
        cells, first = (quads, 0) if cell_type == "quad" else (triangles, len(quads))
        self.used, numbers = np.unique(cells, return_inverse=True)
        self.cells = numbers.reshape(cells.shape)
        self.element = first + np.arange(len(cells))
        nodes = np.concatenate([quads.ravel(), triangles.ravel()])
        elements = np.concatenate(
            [np.repeat(np.arange(len(quads)), 4), np.repeat(len(quads) + np.arange(len(triangles)), 3)]
        )
        share = shell.element_area[elements]
        self._sums = nodes, elements, share, np.bincount(nodes, share)

    def state(self, k: int) -> PartState:
        """The nodes; deflections are in the axes of the body that carries the shell, resultants in material axes."""
        shell, used = self.shell, self.used
        fields: dict[str, Floats] = {}
        for name in ("deflection", "acceleration"):
            if name in shell:
                fields[name] = shell[name][k][used]
        for name in SHELL_FIELDS:
            if name in shell:
                fields[name] = self._at_nodes(shell[name][k])[used]
        if "ply_recovery" in shell and "bending_moment" in shell:
            behind, front = np.moveaxis(surface_stress_at(shell, slice(k, k + 1))[0], 1, 0)
            fields["stress_behind"], fields["stress_in_front"] = (
                self._at_nodes(behind)[used],
                self._at_nodes(front)[used],
            )
        words = ("position", "velocity", "quaternion")
        points, velocities, quaternions = (shell[word][k][used] for word in words)
        return PartState(points, velocities, quaternions, fields)

    @cached_property
    def _of_elements(self) -> list[str]:
        found = {name: each for name, each in self.shell.quantities().items() if each.sizes[:2] == ["T", "e"]}
        return recorded(self.shell, [name for name in found if name != "ply_stress"])  # which has axes of each ply

    def of_elements(self, k: int) -> Mapping[str, Floats]:
        """All quantities of the elements, in material axes."""
        return element_fields(self.shell, self._of_elements, k)

    def _at_nodes(self, values: Floats) -> Floats:
        """(n, 3) means of values (e, 2 or 3) in the elements around each node, by their areas."""
        nodes, elements, share, total = self._sums
        result = np.zeros((len(total), 3))
        for k, column in enumerate(values.T):
            result[:, k] = np.bincount(nodes, share * column[elements]) / total
        return result


def shell_surfaces(shell: ShellResults) -> list[ShellSurface]:
    """The surfaces of a shell, one for each number of corners that its elements have."""
    words = (("quad", shell.quadrilaterals), ("triangle", shell.triangles))
    return [ShellSurface(shell, word) for word, cells in words if len(cells)]


def parts_of(results: Results, solids: bool, subdivisions: int) -> list[Part]:
    """All bodies, then all beams and shells; with ``solids`` as solids, if the model gives a shape or outline."""
    bodies: list[Part] = []
    for b in results.bodies.values():
        bodies += flexible_meshes(b) or [BodySolid(b) if solids and b.shape else BodyPoint(b)]
    beams = [
        BeamSolid(b, subdivisions) if solids and "outline" in b else BeamLine(b, subdivisions)
        for b in results.beams.values()
    ]
    shells = [surface for shell in results.shells.values() for surface in shell_surfaces(shell)]
    return [*bodies, *beams, *shells]
