"""A picture of the structure at several instants of its motion, from light to dark.

A parallel projection with the faces sorted from back to front; no three-dimensional graphics are needed. Lengths in the
plane of the picture are in m, on paper in inches.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats, Ints
from femb.elements.beam.results import BeamResults
from femb.elements.body.results import BodyResults
from femb.pictures import fittings, geometry
from femb.pictures.drawing import HEADER, INK, WIDTH, Sheet, draw_triad, save, titled
from femb.pictures.parts import BeamSolid, BodySolid, FlexibleMesh, ShellSurface, flexible_meshes, shell_surfaces
from femb.results.results import Results, results_of
from femb.results.view import INERTIAL, View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


BEAM_COLOURS = ("#d3e3f0", "#0d3f63")  # first instant, last instant
BODY_COLOURS = ("#fae0c4", "#c2501c")
LINE_COLOURS = ("#d5dbe0", "#5c6b76")
SYMBOL_COLOURS = {
    "ring": ("#e6d5ee", "#7b3f9c"),
    "cone": ("#f5e6b3", "#c79100"),
    "arrow": ("#cdeadd", "#12805a"),
    "drum": ("#d3e3f0", "#2a78b5"),
}
PATH_COLOUR = "#a9b6bf"
LIGHT = np.array([0.35, 0.55, 0.76])  # towards the light: right, up, to the viewer
SHADOW = 0.7  # brightness of a face without light
THINNEST = 0.012  # smallest thickness of a drawn beam, as a fraction of the extent
SUBDIVISIONS = 16
NAMED_TIMES = 9  # largest number of instants with written times


def picture(
    results: Results | str | Path,
    path: str | Path,
    times: int | Sequence[float] = 5,
    *,
    frame: str = INERTIAL,
    azimuth: float = -60.0,
    elevation: float = 25.0,
    dpi: int = 150,
) -> Path:
    """Draw bodies by their shape and beams by their section; returns the path written.

    Beams thinner than a hundredth of the picture are drawn thicker, flexible bodies by the boundary of their mesh,
    bodies without a shape as small spheres, with rods to what is attached. Springs between points and ropes are lines,
    wheels rings about their axis, thrusters cones whose plume leaves at the base, sensors arrows. Dashed lines are the
    paths of the beams' ends between the first and the last instant.

    Parameters:
        results: a run with bodies or beams.
        path: of the picture. The suffix gives the format (png, svg, pdf), png without one. Its folder is created.
        times: number of evenly spaced instants, or the instants in s. The nearest output times are drawn; the last is
            the darkest and on top.
        frame: ``"inertial"``, or the body or beam node ``"NAME[NODE]"`` that the motion is relative to.
        azimuth: degrees, of the direction to the viewer about z from x.
        elevation: degrees, of the direction to the viewer above the x-y plane.
        dpi: dots per inch; the picture is 9 inches wide.

    Raises:
        ResultError: nothing to draw, or a file that cannot be written.
    """
    from matplotlib.collections import PolyCollection

    results = results_of(results)
    instants = _instants(results, times)
    check_drawable(results)
    view = View.of(results, frame)
    camera = camera_axes(azimuth, elevation)
    surfaces = surfaces_of(results, extent_of(results, view, instants))
    shades = np.linspace(0.0, 1.0, len(instants)) if len(instants) > 1 else np.ones(1)
    paths = [line @ camera[:2].T for line in end_paths(results, view, instants)]
    # Later instants cover earlier ones at any depth, to show the order in time.
    of_instants = [faces_of(surfaces, view, camera, *at) for at in zip(instants, shades.tolist(), strict=True)]
    faces = [face for drawn in of_instants for face, _ in drawn]
    colours = [colour for drawn in of_instants for _, colour in drawn]

    figure, axes, footer = page(faces, paths, camera, frame, 150, results.title)
    # Edges in the colour of the face close the gaps between neighbours.
    axes.add_collection(PolyCollection(faces, facecolors=colours, edgecolors=colours, linewidths=0.7))
    _draw_times(footer, results.instants(results.time[instants], ".3g"), shades)
    return save(figure, Path(path), dpi)


def page(
    faces: Sequence[Floats], paths: Sequence[Floats], camera: Floats, frame: str, dpi: int, title: str
) -> tuple[Any, Any, Any]:
    """A matplotlib figure, its axes and its footer, that shows polygons (c, 2), not drawn yet, and paths (t, 2); title
    : of the model."""
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    sheet = Sheet.around(np.concatenate([*faces, *paths]), HEADER if title else 0.0)
    figure = Figure(figsize=(WIDTH, sheet.height), dpi=dpi)
    titled(figure, title)
    axes = sheet.axes(figure)
    axes.add_collection(LineCollection(paths, colors=PATH_COLOUR, linewidths=0.8, linestyles=[(0, (4, 3))], zorder=0))
    return figure, axes, sheet.footer(figure, camera, frame)


@dataclass(frozen=True)
class Surface:
    """A body or beam: its inertial points at an output time, its boundary faces by number of corners, and its colours
    at the first and last instant; symbols are seen through what is in front of them."""

    points: Callable[[int], Floats]
    faces: Sequence[Ints]
    colours: tuple[str, str]
    symbol: bool = False

    @classmethod
    def of(
        cls, part: BodySolid | BeamSolid | FlexibleMesh | ShellSurface, faces: Sequence[Ints], colours: tuple[str, str]
    ) -> Self:
        """That of a part."""
        return cls(lambda k: part.state(k).points, faces, colours)


def check_drawable(results: Results) -> None:
    """Raise ResultError for results without anything to draw."""
    if not results.bodies and not results.beams and not results.shells:
        raise ResultError("these results have neither bodies nor beams nor shells, so there is nothing to draw")


def _instants(results: Results, times: int | Sequence[float]) -> list[int]:
    """Indices of the output times to draw, increasing, without duplicates."""
    if not results.time.size:
        raise ResultError("these results have no output times, so there is no motion to draw")
    wanted = np.linspace(results.time[0], results.time[-1], times) if isinstance(times, int) else np.asarray(times)
    if not wanted.size:
        raise ResultError("a picture needs one instant or more; times asks for none")
    first, last = float(results.time[0]), float(results.time[-1])
    margin = 0.5 * (last - first) / max(len(results.time) - 1, 1) + 1e-9 * abs(last)
    if outside := [time for time in wanted.tolist() if not first - margin <= time <= last + margin]:
        raise ResultError(f"times: got {outside[0]:g} s, wanted instants of the run, {first:g} to {last:g} s")
    return sorted({int(np.argmin(np.abs(results.time - time))) for time in wanted})


def camera_axes(azimuth: float, elevation: float) -> Floats:
    """(3, 3): rows are the viewer's right, up, and the direction towards the viewer."""
    a, e = np.deg2rad(azimuth), np.deg2rad(elevation)
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    return np.stack([right, np.cross(towards, right), towards])


def extent_of(results: Results, view: View, instants: Iterable[int]) -> float:
    """Largest side of the box around all nodes and reference points at all instants, m."""
    positions = [body.position[:, None] for body in results.bodies.values()]
    positions += [beam.position for beam in results.beams.values()]
    positions += [shell.position for shell in results.shells.values()]
    points = [view.points(k, position[k]) for k in instants for position in positions]
    return float(np.max(np.ptp(np.concatenate(points), axis=0)))


def surfaces_of(results: Results, extent: float) -> list[Surface]:
    """The surfaces of all bodies, beams and shells, and of what holds and moves them; extent : of the picture, m, 0 for
    a single point."""
    extent = extent or 1.0
    bodies = [surface for body in results.bodies.values() for surface in _body_surfaces(body, extent)]
    beams = [_beam_surface(beam, extent) for beam in results.beams.values()]
    # both sides of a shell are seen
    shells = [
        Surface.of(part, [part.cells, part.cells[:, ::-1]], BEAM_COLOURS)
        for shell in results.shells.values()
        for part in shell_surfaces(shell)
    ]
    rods = [Surface(rod.at, [rod.triangles], BODY_COLOURS) for rod in fittings.rods_of(results, extent)]
    lines = [Surface(line.at, [line.triangles], LINE_COLOURS) for line in fittings.lines_of(results, extent)]
    symbols = [
        Surface(each.at, [each.triangles], SYMBOL_COLOURS[each.drawn], symbol=True)
        for each in fittings.symbols_of(results, extent)
    ]
    return [*bodies, *beams, *shells, *rods, *lines, *symbols]


def _body_surfaces(body: BodyResults, extent: float) -> list[Surface]:
    """The boundary of a flexible body's mesh; of any other body, and of a mesh of lines, its shape or a sphere."""
    meshes = [(part, geometry.outer_faces(part.cell_type, part.cells)) for part in flexible_meshes(body)]
    found = [Surface.of(part, faces, BODY_COLOURS) for part, faces in meshes if faces]
    if found:
        return found
    part = BodySolid(body, body.shape or {"sphere": THINNEST * extent})
    return [Surface.of(part, [part.cells], BODY_COLOURS)]


def _beam_surface(beam: BeamResults, extent: float) -> Surface:
    angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    outline = beam.outline if "outline" in beam else THINNEST / 2 * extent * np.stack([np.cos(angle), np.sin(angle)], 1)
    outline = outline * max(1.0, THINNEST * extent / float(np.max(np.ptp(outline, axis=0))))
    if geometry.signed_area(outline) < 0.0:
        outline = outline[::-1]
    part = BeamSolid(beam, SUBDIVISIONS, outline)
    elements, corners = part.length.size, len(outline)
    ends = np.arange(corners)[::-1], np.arange(corners) + (elements * (SUBDIVISIONS + 1) - 1) * corners
    return Surface.of(part, [geometry.side_cells(elements, SUBDIVISIONS, corners), np.stack(ends)], BEAM_COLOURS)


def faces_of(
    surfaces: Iterable[Surface], view: View, camera: Floats, k: int, shade: float
) -> list[tuple[Floats, tuple[float, ...]]]:
    """Polygons (c, 2) in the picture's plane and their colours at output time k, from back to front."""
    from matplotlib.colors import to_rgb

    faces: list[tuple[bool, float, Floats, tuple[float, ...]]] = []
    for surface in surfaces:
        first, last = (np.array(to_rgb(colour)) for colour in surface.colours)
        base = (1.0 - shade) * first + shade * last
        points = view.points(k, surface.points(k)) @ camera.T
        for cells in surface.faces:
            polygons = points[cells]
            polygons = polygons[_normals(polygons)[:, 2] > 0.0]  # the others point away from the viewer
            light = np.maximum(_normals(polygons) @ LIGHT, 0.0)
            tints = base * (SHADOW + (1.0 - SHADOW) * light)[:, None]
            depths = polygons[..., 2].mean(axis=1)
            faces += [
                (surface.symbol, float(depth), polygon[:, :2], tuple(tint))
                for depth, polygon, tint in zip(depths, polygons, tints, strict=True)
            ]
    return [(polygon, tint) for _, _, polygon, tint in sorted(faces, key=lambda face: face[:2])]


def _normals(polygons: Floats) -> Floats:
    """(F, 3) unit normals of nearly plane polygons (F, c, 3)."""
    centred = polygons - polygons.mean(axis=1, keepdims=True)
    normals = np.cross(centred, np.roll(centred, -1, axis=1)).sum(axis=1)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    result: Floats = normals / np.where(lengths == 0.0, 1.0, lengths)
    return result


def end_paths(results: Results, view: View, instants: Sequence[int]) -> list[Floats]:
    """(t, 3) paths of the beams' last nodes between the first and the last instant; none from mode to mode."""
    if results.counted == "mode":
        return []
    between = slice(instants[0], instants[-1] + 1)
    return [view.points(between, beam.position[between, -1]) for beam in results.beams.values()]


def _draw_times(footer: Any, times: Sequence[str], shades: Floats) -> None:
    """A colour patch and the time of each instant; of many instants only the first and last time."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    step = min(0.75, 4.4 / len(times))
    left = WIDTH / 2 - step * len(times) / 2
    first, last = (np.array(to_rgb(colour)) for colour in BEAM_COLOURS)
    for i, (time, shade) in enumerate(zip(times, shades, strict=True)):
        colour = (1.0 - shade) * first + shade * last
        footer.add_patch(Rectangle((left + i * step, 0.42), step, 0.12, facecolor=colour))
        if len(times) <= NAMED_TIMES or i in (0, len(times) - 1):
            footer.text(left + (i + 0.5) * step, 0.24, time, fontsize=9, color=INK, ha="center", va="center")


# A picture of mode shapes, a field for each mode: the unloaded structure light, the mode dark.
#
# The results are those of ``femb modes``: their times count the modes, and time 0 is the unloaded structure.

COLUMNS, ROWS = 3, 4
FIELD = 3.4  # inches: width of a field
REST = (0.88, 0.90, 0.92)  # colour of the unloaded structure
TRIAD = 0.22  # width of the axes in a field
# Azimuth and elevation, degrees, of other directions of sight.
SIGHTS = ((-20.0, 25.0), (-90.0, 10.0), (-60.0, 65.0), (-60.0, -30.0))
SEEN = 0.5  # part of a mode's squared motion that a direction of sight must show


def draw_modes(results: Results, *, azimuth: float = -60.0, elevation: float = 25.0) -> "Figure":
    """The figure of the first twelve modes of results of ``femb modes``, each with its axes.

    azimuth, elevation : as in `femb.pictures.picture.picture`, of modes that show well from there; others are seen from
    the side, from the front, from above or from below. Raises ResultError: results without modes.
    """
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

    if results.method != "modes" or "modes/frequencies" not in results.arrays:
        raise ResultError("these results have no modes: give those of femb modes, as out/NAME/modes.h5")
    check_drawable(results)
    count = min(len(results.time) - 1, COLUMNS * ROWS)
    view = View.of(results, INERTIAL)
    surfaces = surfaces_of(results, extent_of(results, view, [0]))
    sights = [camera_axes(*sight) for sight in ((azimuth, elevation), *SIGHTS)]
    cameras = [sights[_sight(surfaces, view, sights, k)] for k in range(1, count + 1)]
    drawn = [(faces_of(surfaces, view, each, 0, 1.0), faces_of(surfaces, view, each, k, 1.0))
             for k, each in enumerate(cameras, 1)]  # fmt: skip
    spans = []
    for both in drawn:
        corners = np.concatenate([face for faces in both for face, _ in faces])
        spans.append((corners.min(axis=0), corners.max(axis=0)))
    largest = np.max([high - low for low, high in spans], axis=0) * 1.08
    columns = min(COLUMNS, count)
    rows = -(-count // columns)
    ratio = float(np.clip(largest[1] / max(largest[0], 1e-9), 0.35, 1.3))
    figure = Figure(figsize=(FIELD * columns, (FIELD * ratio + 0.6) * rows + 0.5), dpi=150)
    titled(figure, results.title, "modes")
    for k, ((low, high), camera, (rest, moved)) in enumerate(zip(spans, cameras, drawn, strict=True), 1):
        axes = figure.add_subplot(rows, columns, k)
        axes.set_axis_off()
        axes.set_aspect("equal")
        middle = 0.5 * (low + high)
        axes.set_xlim(middle[0] - 0.5 * largest[0], middle[0] + 0.5 * largest[0])
        axes.set_ylim(middle[1] - 0.5 * largest[1], middle[1] + 0.5 * largest[1])
        still = [face for face, _ in rest]
        axes.add_collection(PolyCollection(still, facecolors=[REST], edgecolors=[REST], linewidths=0.7))
        faces, colours = zip(*moved, strict=True)
        axes.add_collection(PolyCollection(faces, facecolors=colours, edgecolors=colours, linewidths=0.7))
        axes.set_title(_title(results, k), fontsize=9, color=INK)
        seen = (np.concatenate([*still, *faces]) - middle) / largest + 0.5
        corner = axes.inset_axes(_free_corner(seen, np.array([TRIAD, min(TRIAD / ratio, 0.5)])))
        corner.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal")
        corner.set_axis_off()
        draw_triad(corner, np.zeros(2), camera, 1.0, 7)
    figure.subplots_adjust(0.01, 0.01, 0.99, 1.0 - 0.85 / figure.get_figheight(), 0.02, 0.25)
    return figure


def _sight(surfaces: Iterable[Surface], view: View, sights: Sequence[Floats], k: int) -> int:
    """Number of the first sight across which a mode moves enough, else of that across which it moves most."""
    shares, whole = np.zeros(len(sights)), 0.0
    for each in surfaces:
        rest = view.points(0, each.points(0))
        ways = view.points(k, each.points(k)) - rest
        whole += float(np.sum(ways**2))
        length = np.linalg.svd(rest - rest.mean(axis=0), full_matrices=False)[2][0]
        for i, sight in enumerate(sights):
            # what moves along a member, or is seen along it, does not show
            along = sight[:2] @ length
            shares[i] += float(np.sum((ways @ sight[:2].T @ np.array([-along[1], along[0]])) ** 2))
    return next((i for i, share in enumerate(shares) if share >= SEEN * whole), int(np.argmax(shares)))


def _free_corner(points: Floats, size: Floats) -> tuple[float, float, float, float]:
    """Place and size of the corner of a field that least of the points (k, 2) are in; parts of the field."""
    places = [np.array([x, y]) for y in (0.0, 1.0 - size[1]) for x in (1.0 - size[0], 0.0)]
    place = min(places, key=lambda each: int(np.sum(np.all((points > each) & (points < each + size), axis=1))))
    return float(place[0]), float(place[1]), float(size[0]), float(size[1])


def _title(results: Results, k: int) -> str:
    frequency, ratio = (float(results.arrays[f"modes/{word}"][k - 1]) for word in ("frequencies", "damping"))
    damping = f", {100.0 * ratio:.3g} %" if ratio > 0.0 else ""
    words = [
        str(results.arrays[f"modes/{word}"][k - 1])
        for word in ("labels", "motions")
        if f"modes/{word}" in results.arrays
    ]
    item, *motion = words
    name = ", ".join([item.partition(".")[2] or item, *filter(None, motion)])
    return f"{k}: {frequency:.4g} Hz{damping}\n{name}"
