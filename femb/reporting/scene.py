"""The moving structure of a page: bodies with their shapes, flexible bodies, and beams, at the chosen output times.

Poses are positions and quaternions. Beams and flexible bodies are deformed in the axes of what carries them, so that
the page can enlarge deflections. Positions are relative to a common path, so that rounding does not depend on how far
the structure travels.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats, Ints
from femb.elements.beam.results import BeamResults
from femb.elements.body.results import BodyResults
from femb.elements.shell.results import ShellResults
from femb.numerics import rotations
from femb.pictures import fittings, geometry
from femb.pictures.parts import FlexibleMesh, flexible_meshes, sections_of
from femb.pictures.picture import THINNEST
from femb.reporting.carriers import carriers_of, groups_of, numbers_of_parts
from femb.reporting.packing import Packing, Reference
from femb.results.results import Results

# A beam of a scene: its stations, deformed in the axes of what carries it, and the quantities that colour it.

STRESS, INDEX = "von Mises stress", "failure index"
QUANTITIES = {
    "axial force": "N",
    "shear force y": "N",
    "shear force z": "N",
    "torsional moment": "N m",
    "bending moment y": "N m",
    "bending moment z": "N m",
    "bending moment": "N m",
    STRESS: "Pa",
    INDEX: "",
    "axial strain": "",
    "deflection": "m",
}
"""Quantities by which beams and shells are coloured, with their units; "bending moment" is the magnitude of both
components, and the failure index of an element that of its worst ply."""
COMPONENTS = tuple(QUANTITIES)[:6]
MOST, LEAST, STATIONS = 8, 2, 48  # segments of an element: at most, at least, and of a beam where these permit it
NO_TURN = np.array([1.0, 0.0, 0.0, 0.0])


class BeamMotion:
    """Stations of a beam at all output times.

    points (t, s, 3) m : inertial. colours : of each quantity (t, e, 2) at both ends of every element, or of the
    deflection (t, s) at the stations.
    """

    def __init__(self, beam: BeamResults, bodies: Mapping[str, BodyResults]) -> None:
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
    def size(beam: BeamResults) -> int:
        """The number of values that a scene stores of a beam at one output time."""
        elements = int(beam.element_length.size)
        return 6 * elements * (segments_of(elements) + 1) + 2 * len(QUANTITIES) * elements

    def _at_rest(
        self, between: Any, xi: Floats, owner: BodyResults | None, local: Floats, turned: Floats
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
        """The beam in the data of a page; path : see ``femb.reporting.scene``; numbers : of the bodies."""
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
            "colours": {
                name: packing.add(values, TOLD) for name, values in self.colours.items() if name != "deflection"
            },
        }
        if self.carrier is None:
            position, quaternion = self.pose
            result |= packed_pose(position, quaternion, path, packing)
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


def _pose(body: BodyResults) -> tuple[Floats, Floats]:
    return body.position, body.quaternion


def _colours(beam: BeamResults) -> dict[str, Floats]:
    """(t, e, 2) of the quantities that are recorded."""
    result: dict[str, Floats] = {}
    if "section_force" in beam and "section_moment" in beam:
        loads = np.concatenate([beam.section_force, beam.section_moment], axis=-1)
        result |= {name: loads[..., k] for k, name in enumerate(COMPONENTS)}
        result["bending moment"] = np.linalg.norm(loads[..., 4:], axis=-1)
    if "stress_section" in beam and "midpoint_force" in beam:
        result[STRESS] = np.max(beam.von_mises[:, :, ::2], axis=-1)
    if "strain" in beam:
        result["axial strain"] = beam.strain
    return result


FRAMES = 600  # largest number of output times in a scene
VALUES = 1_500_000  # numbers of the motion of a scene; with more bodies there are fewer output times
FEWEST = 60
LOOKED_AT = 60  # output times at which the largest deflection of flexible bodies is looked for
MOVING = ("bodies/", "beams/", "shells/")
TOLD = 20  # bits of poses and of colours: what is picked tells them by five digits


def chosen_frames(results: Results, frames: int = FRAMES) -> Ints:
    """Indices of the output times of a scene, evenly spread, the last one included; all of statics and modes.

    Those of a run that broke down, at which a position is not a number, are left out.
    """
    known = np.ones(results.time.size, dtype=bool)
    for group in (*results.bodies.values(), *results.beams.values(), *results.shells.values()):
        for word in ("position", "quaternion"):
            if word in group:
                known &= np.isfinite(group[word]).reshape(len(known), -1).all(axis=1)
    usable = np.flatnonzero(known)
    if results.method in ("static", "modes"):
        return usable
    beams = sum(BeamMotion.size(beam) for beam in results.beams.values())
    modes = sum(body["deformation"].shape[1] for body in results.bodies.values() if "deformation" in body)
    shells = sum(ShellMotion.size(shell) for shell in results.shells.values())
    modes += sum(len(body["nodes"]) for body in results.bodies.values() if _stressed(body))
    limit = min(frames, max(FEWEST, VALUES // (7 * len(results.bodies) + beams + modes + shells + 1)))
    count = len(usable)
    chosen: Ints = usable[np.unique(np.rint(np.linspace(0, count - 1, min(count, limit))).astype(np.int64))]
    return chosen


def at_times(results: Results, chosen: Ints) -> Results:
    """The motion of bodies, beams and shells, and their constant arrays, at some output times only."""
    series = {path: results.series[path][chosen] for path in results.series if path.startswith(MOVING)}
    static = {path: results.static[path] for path in results.static if path.startswith(MOVING)}
    return Results({"time": results.time[chosen], **series}, static, results.attributes)


def scene_of(results: Results, packing: Packing, frames: int = FRAMES, kind: str = "") -> dict[str, Any] | None:
    """The scene of results; None where nothing moves or nothing is recorded.

    kind : by default that of the analysis: "modes", "states" or "time"; or "buckling", of ``modal.buckling_of``.
    """
    if not results.time.size or not (results.bodies or results.beams or results.shells):
        return None
    chosen = chosen_frames(results, frames)
    if not chosen.size:
        return None
    seen = at_times(results, chosen)
    bodies = {name: body for name, body in seen.bodies.items() if "position" in body and "quaternion" in body}
    beams = [BeamMotion(beam, bodies) for beam in seen.beams.values() if "position" in beam and "quaternion" in beam]
    shells = [
        ShellMotion(shell, bodies) for shell in seen.shells.values() if "position" in shell and "quaternion" in shell
    ]
    if not bodies and not beams and not shells:
        return None
    points = [body.position[:, None] for body in bodies.values()]
    points += [beam.points for beam in beams] + [shell.points for shell in shells]
    everything = np.concatenate(points, axis=1)
    low, high = everything.min(axis=1), everything.max(axis=1)
    path = 0.5 * (low + high)
    extent = float(np.max(np.median(high - low, axis=0))) or _size_of_shapes(list(bodies.values()))
    numbers = {name: number for number, name in enumerate(bodies)}
    tables = bodies, {each.shell.name: each.shell for each in shells}, {each.beam.name: each.beam for each in beams}
    of_parts = numbers_of_parts(*tables)
    paths = list(of_parts)
    carriers = carriers_of(seen, bodies, tables[2], tables[1])
    stresses = {name: body.nodal_von_mises for name, body in bodies.items() if _stressed(body)}
    return {
        "kind": kind or {"modes": "modes", "static": "states"}.get(results.method, "time"),
        "frame": results.frame,
        "times": [float(t) for t in seen.time],
        "outputs": int(results.time.size),
        "extent": extent,
        "path": [float(x) for x in path.ravel()],
        "bodies": [
            *(_body(body, path, extent, packing, stresses.get(name)) for name, body in bodies.items()),
            *(shell.packed(path, packing) for shell in shells),
        ],
        "beams": [beam.packed(path, numbers, extent, packing) for beam in beams],
        "links": [*_links(bodies), *_lines(seen, of_parts, extent, path)],
        "fittings": _fittings(seen, of_parts, extent, packing),
        "carriers": carriers,
        "parts": [
            {"path": path, "group": group}
            for path, group in zip(paths, groups_of(results, paths, carriers), strict=True)
        ],
        "quantities": _ranges(beams, shells, [_largest_deflection(body) for body in bodies.values()], stresses),
    }


class ShellMotion:
    """The nodes of a shell at all output times, and how a page has them, as a body.

    points (t, n, 3) m : inertial. colours : of each quantity (t, e, 2), behind the normal and in front.
    """

    def __init__(self, shell: ShellResults, bodies: Mapping[str, BodyResults]) -> None:
        self.shell, self.points = shell, shell.position
        owner = bodies.get(shell.deflection_body or "")
        self.pose = (shell.position[:, 0], shell.quaternion[:, 0]) if owner is None else _pose(owner)
        position, quaternion = self.pose
        local = rotations.rotate_back(quaternion[:, None], self.points - position[:, None])
        self.deflection = shell.deflection if "deflection" in shell else local - local[0]
        self.rest = local[0] - self.deflection[0]
        self.largest = float(np.max(np.linalg.norm(self.deflection, axis=-1)))
        self.colours = self._colours()

    @staticmethod
    def size(shell: ShellResults) -> int:
        """The number of values that a scene stores of a shell at one output time."""
        elements = len(shell.quadrilaterals) + len(shell.triangles)
        return 7 + 3 * len(shell.reference_position) + 2 * elements * len(_fields(shell))

    def _colours(self) -> dict[str, Floats]:
        fields = _fields(self.shell)
        found = {STRESS: self.shell.surface_von_mises} if STRESS in fields else {}
        if INDEX in fields:
            index = self.shell.failure_index
            worst = np.max(index.reshape(*index.shape[:2], -1), axis=-1)
            found[INDEX] = np.stack([worst, worst], axis=-1)
        return found

    def packed(self, path: Floats, packing: Packing) -> dict[str, Any]:
        """A body with the pose of the shell's carrier, whose mesh has deflections in the axes of the carrier."""
        faces = [_triangles(each.astype(np.int64)) for each in (self.shell.quadrilaterals, self.shell.triangles)]
        mesh = {"points": packing.add(self.rest, 20), "triangles": packing.add(np.concatenate(faces))}
        mesh["deflection"] = packing.add(self.deflection)
        quads, others = len(self.shell.quadrilaterals), len(self.shell.triangles)
        mesh["elements"] = packing.add(np.concatenate([np.tile(np.arange(quads), 2), quads + np.arange(others)]))
        mesh["colours"] = {name: packing.add(values, TOLD) for name, values in self.colours.items()}
        return {"name": self.shell.name, "fixed": False, **packed_pose(*self.pose, path, packing), "meshes": [mesh]}


def _fields(shell: ShellResults) -> list[str]:
    """The quantities by which the elements of a shell are coloured."""
    stressed = "ply_recovery" in shell and "membrane_force" in shell and "bending_moment" in shell
    return [STRESS, *([INDEX] if "ply_strengths" in shell else [])] if stressed else []


def _links(bodies: dict[str, BodyResults]) -> list[list[dict[str, Any]]]:
    """Numbers of flexible bodies without a mesh and of their interfaces, NAME.INTERFACE: lines show these bodies."""
    numbers = {name: number for number, name in enumerate(bodies)}
    parents = {name: name.rpartition(".")[0] for name in bodies}
    return [
        [{"part": numbers[each], "node": None, "at": [0.0, 0.0, 0.0]} for each in (parent, name)]
        for name, parent in parents.items()
        if parent in bodies and bodies[parent].attributes.get("kind") == "modal" and not flexible_meshes(bodies[parent])
    ]


def _lines(results: Results, numbers: Mapping[str, int], extent: float, path: Floats) -> list[list[dict[str, Any]]]:
    """The ends of pieces of springs, ropes and rods between points; of a point in space, its place at the start."""

    def end(host: fittings.Host | None, point: Floats) -> dict[str, Any]:
        if host is None:
            return {"part": None, "node": None, "at": [float(x) for x in point - path[0]]}
        return {"part": numbers[host.group.path], "node": host.node, "at": [float(x) for x in point]}

    lines = [[end(*each) for each in line.ends] for line in fittings.lines_of(results, extent)]
    return [list(both) for line in lines for both in pairwise(line)]


def _fittings(results: Results, numbers: Mapping[str, int], extent: float, packing: Packing) -> list[dict[str, Any]]:
    """Rods to attachments, and symbols of wheels, thrusters, sensors and tanks, on parts or on the nodes of beams."""
    return [
        {
            "title": each.title,
            "drawn": each.drawn,
            "part": numbers[each.host.group.path],
            "node": each.host.node,
            "points": packing.add(each.points),
            "triangles": packing.add(each.triangles),
        }
        for each in (*fittings.rods_of(results, extent), *fittings.symbols_of(results, extent))
    ]


def packed_pose(position: Floats, quaternion: Floats, path: Floats, packing: Packing) -> dict[str, Reference]:
    """Position (t, 3) relative to the common path, and quaternion (t, 4)."""
    return {"position": packing.add(position - path, TOLD), "quaternion": packing.add(quaternion, TOLD)}


def _body(body: BodyResults, path: Floats, extent: float, packing: Packing, stress: Floats | None) -> dict[str, Any]:
    result: dict[str, Any] = {"name": body.name, "fixed": body.fixed}
    result |= packed_pose(body.position, body.quaternion, path, packing)
    result["meshes"] = []
    for part in flexible_meshes(body):
        word, cells = _cells(part)
        used, numbers = np.unique(cells, return_inverse=True)
        mesh = {"points": packing.add(part.nodes[used]), word: packing.add(numbers.reshape(cells.shape))}
        mesh |= {"shapes": packing.add(part.shapes[:, used]), "coordinates": packing.add(body["deformation"], 20)}
        mesh["numbers"] = packing.add(used)
        if stress is not None:
            mesh["colours"] = {STRESS: packing.add(stress[:, part.used[used]], TOLD)}
        result["meshes"].append(mesh)
    if not result["meshes"]:
        marker = body.shape is None
        points, triangles = geometry.body_surface(body.shape or {"sphere": 0.5 * THINNEST * extent})
        mesh = {"points": packing.add(points), "triangles": packing.add(triangles)}
        result["meshes"] = [mesh]
        result["marker"] = marker
        result["smooth"] = "sphere" in (body.shape or {"sphere": 0})
    return result


def _cells(part: FlexibleMesh) -> tuple[str, Ints]:
    """The lines (c, 2) of a mesh of beams, or the triangles (j, 3) of the boundary of any other; and their name."""
    if part.cell_type.startswith("line"):
        return "lines", part.cells[:, :2]
    faces = [_triangles(face) for face in geometry.outer_faces(part.cell_type, part.cells)]
    return "triangles", np.concatenate(faces) if faces else np.zeros((0, 3), dtype=np.int64)


def _triangles(faces: Ints) -> Ints:
    """(j, 3) triangles of faces (f, 3) or (f, 4)."""
    return faces if faces.shape[1] == 3 else np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])


def _size_of_shapes(bodies: list[BodyResults]) -> float:
    """The largest side of the shapes, m; 1 without any: of a scene in one point."""
    sizes = [float(np.max(np.ptp(geometry.body_surface(body.shape)[0], axis=0))) for body in bodies if body.shape]
    return max(sizes, default=0.0) or 1.0


def _stressed(body: BodyResults) -> bool:
    """Whether a flexible body has the stresses of its nodes."""
    return "stress_shapes" in body and "deformation" in body


def _largest_deflection(body: BodyResults) -> float:
    """The largest deflection of a flexible body at some output times, m; 0 of a rigid one."""
    parts = flexible_meshes(body)
    every = max(1, len(body.position) // LOOKED_AT)
    return max((float(np.max(np.linalg.norm(part.deflections(every), axis=-1))) for part in parts), default=0.0)


def _ranges(
    beams: Sequence[BeamMotion],
    shells: Sequence[ShellMotion],
    deflections: Sequence[float],
    stresses: Mapping[str, Floats],
) -> list[dict[str, Any]]:
    """Name, unit and range over all parts and times of the quantities by which these are coloured."""
    result: list[dict[str, Any]] = []
    largest = [*deflections, *(shell.largest for shell in shells)]
    colours = [*(beam.colours for beam in beams), *(shell.colours for shell in shells)]
    colours += [{STRESS: stress} for stress in stresses.values()]
    for name, unit in QUANTITIES.items():
        arrays = [each[name] for each in colours if name in each]
        arrays += [np.array(largest)] if name == "deflection" and largest else []
        values = np.concatenate([array.ravel() for array in arrays]) if arrays else np.zeros(0)
        values = values[np.isfinite(values)]
        if values.size and np.any(values):
            result.append({"name": name, "unit": unit, "low": float(values.min()), "high": float(values.max())})
    return result
