"""The moving structure of a page: bodies with their shapes, flexible bodies, and beams, at the chosen output times.

Poses are positions and quaternions. Beams and flexible bodies are deformed in the axes of what carries them, so that
the page can enlarge deflections. Positions are relative to a common path, so that rounding does not depend on how far
the structure travels.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.export import geometry
from femb.export.parts import FlexibleMesh, flexible_meshes
from femb.export.picture import THINNEST
from femb.export.web.beams import QUANTITIES, BeamMotion
from femb.export.web.carriers import carriers_of
from femb.export.web.packing import Packing, Reference
from femb.export.web.rods import attached_points, rods
from femb.results.groups import Body
from femb.results.results import Results

FRAMES = 600  # largest number of output times in a scene
VALUES = 1_500_000  # numbers of the motion of a scene; with more bodies there are fewer output times
FEWEST = 60
LOOKED_AT = 60  # output times at which the largest deflection of flexible bodies is looked for
MOVING = ("bodies/", "beams/")


def chosen_frames(results: Results, frames: int = FRAMES) -> Ints:
    """Indices of the output times of a scene, evenly spread, the last one included; all of statics and modes.

    Those of a run that broke down, at which a position is not a number, are left out.
    """
    known = np.ones(results.time.size, dtype=bool)
    for group in (*results.bodies.values(), *results.beams.values()):
        for word in ("position", "quaternion"):
            if word in group:
                known &= np.isfinite(group[word]).reshape(len(known), -1).all(axis=1)
    usable = np.flatnonzero(known)
    if results.method in ("static", "modes"):
        return usable
    beams = sum(BeamMotion.size(beam) for beam in results.beams.values())
    modes = sum(body["deformation"].shape[1] for body in results.bodies.values() if "deformation" in body)
    limit = min(frames, max(FEWEST, VALUES // (7 * len(results.bodies) + beams + modes + 1)))
    count = len(usable)
    chosen: Ints = usable[np.unique(np.rint(np.linspace(0, count - 1, min(count, limit))).astype(np.int64))]
    return chosen


def at_times(results: Results, chosen: Ints) -> Results:
    """The motion of bodies and beams, and their constant arrays, at some output times only."""
    series = {path: results.series[path][chosen] for path in results.series if path.startswith(MOVING)}
    static = {path: results.static[path] for path in results.static if path.startswith(MOVING)}
    return Results({"time": results.time[chosen], **series}, static, results.attributes)


def scene_of(results: Results, packing: Packing, frames: int = FRAMES, kind: str = "") -> dict[str, Any] | None:
    """The scene of results; None where nothing moves or nothing is recorded.

    kind : by default that of the analysis: "modes", "states" or "time"; or "buckling", of ``modal.buckling_of``.
    """
    if not results.time.size or not (results.bodies or results.beams):
        return None
    chosen = chosen_frames(results, frames)
    if not chosen.size:
        return None
    seen = at_times(results, chosen)
    bodies = {name: body for name, body in seen.bodies.items() if "position" in body and "quaternion" in body}
    beams = [BeamMotion(beam, bodies) for beam in seen.beams.values() if "position" in beam and "quaternion" in beam]
    if not bodies and not beams:
        return None
    points = [body.position[:, None] for body in bodies.values()] + [beam.points for beam in beams]
    everything = np.concatenate(points, axis=1)
    low, high = everything.min(axis=1), everything.max(axis=1)
    path = 0.5 * (low + high)
    extent = float(np.max(np.median(high - low, axis=0))) or _size_of_shapes(list(bodies.values()))
    numbers = {name: number for number, name in enumerate(bodies)}
    attached = attached_points(seen)
    return {
        "kind": kind or {"modes": "modes", "static": "states"}.get(results.method, "time"),
        "frame": results.frame,
        "times": [float(t) for t in seen.time],
        "outputs": int(results.time.size),
        "extent": extent,
        "path": [float(x) for x in path.ravel()],
        "bodies": [_body(body, path, extent, packing, attached.get(body.name, ())) for body in bodies.values()],
        "beams": [beam.packed(path, numbers, extent, packing) for beam in beams],
        "links": _links(bodies),
        "carriers": carriers_of(seen, bodies, {beam.beam.name: beam.beam for beam in beams}),
        "quantities": _ranges(beams, [_largest_deflection(body) for body in bodies.values()]),
    }


def _links(bodies: dict[str, Body]) -> list[list[int]]:
    """Numbers of flexible bodies without a mesh and of their interfaces, NAME.INTERFACE: lines show these bodies."""
    numbers = {name: number for number, name in enumerate(bodies)}
    parents = {name: name.rpartition(".")[0] for name in bodies}
    return [
        [numbers[parent], numbers[name]]
        for name, parent in parents.items()
        if parent in bodies and bodies[parent].attributes.get("kind") == "modal" and not flexible_meshes(bodies[parent])
    ]


def packed_pose(position: Floats, quaternion: Floats, path: Floats, packing: Packing) -> dict[str, Reference]:
    """Position (t, 3) relative to the common path, and quaternion (t, 4)."""
    return {"position": packing.add(position - path), "quaternion": packing.add(quaternion)}


def _body(body: Body, path: Floats, extent: float, packing: Packing, attached: Iterable[Floats]) -> dict[str, Any]:
    result: dict[str, Any] = {"name": body.name, "fixed": body.fixed}
    result |= packed_pose(body.position, body.quaternion, path, packing)
    result["meshes"] = []
    for part in flexible_meshes(body):
        word, cells = _cells(part)
        used, numbers = np.unique(cells, return_inverse=True)
        mesh = {"points": packing.add(part.nodes[used]), word: packing.add(numbers.reshape(cells.shape))}
        mesh |= {"shapes": packing.add(part.shapes[:, used]), "coordinates": packing.add(body["deformation"], 20)}
        result["meshes"].append(mesh)
    if not result["meshes"]:
        marker = body.shape is None
        points, triangles = geometry.body_surface(body.shape or {"sphere": 0.5 * THINNEST * extent})
        mesh = {"points": packing.add(points), "triangles": packing.add(triangles)}
        result["meshes"] = [mesh]
        rod = rods(attached, 0.3 * THINNEST * extent) if marker and not body.fixed else None
        if rod is not None:
            result["meshes"].append({"points": packing.add(rod[0]), "triangles": packing.add(rod[1])})
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


def _size_of_shapes(bodies: list[Body]) -> float:
    """The largest side of the shapes, m; 1 without any: of a scene in one point."""
    sizes = [float(np.max(np.ptp(geometry.body_surface(body.shape)[0], axis=0))) for body in bodies if body.shape]
    return max(sizes, default=0.0) or 1.0


def _largest_deflection(body: Body) -> float:
    """The largest deflection of a flexible body at some output times, m; 0 of a rigid one."""
    parts = flexible_meshes(body)
    every = max(1, len(body.position) // LOOKED_AT)
    return max((float(np.max(np.linalg.norm(part.deflections(every), axis=-1))) for part in parts), default=0.0)


def _ranges(beams: list[BeamMotion], deflections: list[float]) -> list[dict[str, Any]]:
    """Name, unit and range over all parts and times of the quantities by which these are coloured."""
    result: list[dict[str, Any]] = []
    for name, unit in QUANTITIES.items():
        arrays = [beam.colours[name] for beam in beams if name in beam.colours]
        arrays += [np.array(deflections)] if name == "deflection" and deflections else []
        values = np.concatenate([array.ravel() for array in arrays]) if arrays else np.zeros(0)
        values = values[np.isfinite(values)]
        if values.size and np.any(values):
            result.append({"name": name, "unit": unit, "low": float(values.min()), "high": float(values.max())})
    return result
