"""Reference shapes of beams: straight, of constant curvature and twist, or along a path."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from femb.base.checks import Checks
from femb.base.html import Brief
from femb.base.types import POSITIVE, Arguments, Floats, Ints, Unit, Vector
from femb.base.values import frozen_array
from femb.numerics import rotations
from femb.numerics.components import kept, norm

# Samples per element of a function of the length, which a spline of degree 5 interpolates.
SAMPLES = 32
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
# Straight shapes that are kept: a model has many alike, and the next model of a study has the same ones.
KEPT = 64


@dataclass(frozen=True, eq=False)
class BeamShape:
    """An undeformed beam of e elements and n = e + 1 nodes, in the axes of its first section.

    positions (n, 3) m and quaternions (n, 4) of the nodes' sections; lengths (e,) m of the elements; corners (e, 4) :
    rotation from the section of an element's first node to the start of the element. It is not the identity at a
    corner, because a node has the section of the element that ends there. first (4,) : the first section in the axes
    of the path, or None if the attachment defines it. straight : whether all elements are straight.
    """

    positions: Floats
    quaternions: Floats
    lengths: Floats
    corners: Floats
    straight: bool
    first: Floats | None = None

    @property
    def length(self) -> float:
        return float(self.lengths.sum())

    @property
    def corner_nodes(self) -> set[int]:
        return set(np.flatnonzero(np.any(self.corners != IDENTITY, axis=1)).tolist())

    def element(self, k: int | Ints) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Position and quaternion of both ends of an element, or of elements k (m,)."""
        start = rotations.multiply(self.quaternions[k], self.corners[k])
        return (self.positions[k], start), (self.positions[k + 1], self.quaternions[k + 1])

    def curvature(self, k: int | Ints) -> Floats:
        """Mean twist and curvatures (..., 3) of an element or elements, 1/m, from the rotation between its ends."""
        (_, start), (_, end) = self.element(k)
        turn = rotations.logarithm(rotations.multiply(rotations.conjugate(start), end))
        result: Floats = turn / self.lengths[k, None]
        return result


def section_axes(direction: Any, up: Any = None) -> Floats:
    """Quaternion of the section axes: x along ``direction``, y along the part of ``up`` perpendicular to it.

    The default of ``up`` is y, or z where the direction is within 25 degrees of y.
    """
    return _section_axes(np.asarray(direction, dtype=float), None if up is None else np.asarray(up, dtype=float))


@kept
def _section_axes(x: Floats, up: Floats | None) -> Floats:
    x = x / norm(x)
    if up is None:
        up = np.array([0.0, 1.0, 0.0]) if abs(x[1]) < np.cos(np.radians(25.0)) else np.array([0.0, 0.0, 1.0])
    y = up - x * (x @ up)
    y /= norm(y)
    return frozen_array(rotations.from_matrix(np.stack([x, y, rotations.cross(x, y)], axis=1)))


def uniform_shape(length: float, elements: int, curvature: Any = None) -> BeamShape:
    """A beam of uniform curvature.

    curvature (3,) : twist and curvatures about the section's y and z axes, 1/m: (0, 0, 1/R) is an arc of radius R
    towards y, (t, 0, 0) a straight beam with twist t, all three a helix. None is straight.
    """
    straight = _straight_shape(length, elements)
    if curvature is None or not np.any(curvature):
        return straight
    from femb.elements.beam.strain import helix

    k, s, positions = np.asarray(curvature, dtype=float), straight.positions[:, 0], np.zeros((elements + 1, 3))
    for x, position in zip(s, positions, strict=True):
        helix(x * k, x, position, np.empty((3, 3)))
    quaternions = rotations.exponential(s[:, None] * k)
    return BeamShape(positions, quaternions, straight.lengths, straight.corners, False)


@lru_cache(KEPT)
def _straight_shape(length: float, elements: int) -> BeamShape:
    """A straight beam; the arrays are read-only."""
    positions = frozen_array(np.linspace((0.0, 0.0, 0.0), (length, 0.0, 0.0), elements + 1))
    quaternions, corners = (frozen_array(np.tile(IDENTITY, (count, 1))) for count in (elements + 1, elements))
    return BeamShape(positions, quaternions, frozen_array(np.full(elements, length / elements)), corners, True)


def path_shape(path: Any, length: float | None, elements: int, up: Any, up_at_end: bool) -> BeamShape:
    """A beam along a Path; ``up`` defines the y axis of the first section, or of the last if ``up_at_end``.

    Raises ValueError if the curve is not a function of the length along it.
    """
    if path.radius is not None:
        return uniform_shape(path.radius * path.angle, elements, (0.0, 0.0, 1.0 / path.radius))
    if path.kinks:
        return kinked_shape(path.points, elements, up, up_at_end)
    if path.points is not None:
        chords = np.linalg.norm(np.diff(path.points, axis=0), axis=1)
        knots = np.concatenate([[0.0], np.cumsum(chords)])
        from scipy.interpolate import CubicSpline

        curve = CubicSpline(knots, path.points)
        return smooth_shape(curve, _refined(knots, 16), elements, up, up_at_end)
    assert length is not None
    return _shape_of_function(path.curve, length, elements, up, up_at_end)


def _shape_of_function(function: Any, length: float, elements: int, up: Any, up_at_end: bool) -> BeamShape:
    from scipy.interpolate import make_interp_spline

    grid = _refined(np.linspace(0.0, length, elements + 1), SAMPLES)
    values = [function(float(s)) for s in grid]
    paired = np.shape(values[0]) == (2, 3)
    points = np.array([value[0] if paired else value for value in values], dtype=float)
    if points.shape != (len(grid), 3) or not np.all(np.isfinite(points)):
        raise ValueError(f"gives {values[0]!r} at s = 0, wanted three numbers, or a point and a direction")
    curve = make_interp_spline(grid, points, k=5)
    speed = np.linalg.norm(curve(grid, 1), axis=1)
    k = int(np.argmax(np.abs(speed - 1.0)))
    if abs(speed[k] - 1.0) > 1e-5:
        raise ValueError(
            f"is not a function of the length along the curve: |dr/ds| is {speed[k]:.6g} at s = {grid[k]:.4g} m"
        )
    ups = (lambda nodes: [function(float(s))[1] for s in nodes]) if paired else None
    return smooth_shape(curve, grid, elements, up, up_at_end, ups)


def _refined(knots: Floats, parts: int) -> Floats:
    """Every interval between knots divided into equal parts."""
    inside = knots[:-1, None] + np.diff(knots)[:, None] * (np.arange(parts) / parts)
    return np.append(inside.ravel(), knots[-1])


def kinked_shape(points: Floats, elements: int, up: Any, up_at_end: bool) -> BeamShape:
    """Straight pieces between points (n, 3); at a corner the sections rotate by the smallest rotation.

    Every piece has one element or more; the other elements divide the pieces with the longest elements.
    """
    steps = np.diff(points, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    counts = np.ones(len(steps), dtype=int)
    for _ in range(elements - len(steps)):
        counts[np.argmax(lengths / counts)] += 1
    tangents = steps / lengths[:, None]
    pieces = _parallel_transport(tangents, section_axes(tangents[0]))
    pieces = _rotated_to_up(pieces, tangents, up, up_at_end)
    piece = np.repeat(np.arange(len(steps)), counts)
    fractions = np.concatenate([np.arange(1, n + 1) / n for n in counts])[:, None]
    nodes = np.vstack([points[:1], points[piece] + fractions * steps[piece]])
    of_elements = pieces[piece]
    quaternions = np.vstack([of_elements[:1], of_elements])
    corners = rotations.multiply(rotations.conjugate(quaternions[:-1]), of_elements)
    corners[np.append(True, piece[1:] == piece[:-1])] = IDENTITY
    positions, quaternions, first = _from_first(nodes, quaternions)
    return BeamShape(positions, quaternions, (lengths / counts)[piece], corners, straight=True, first=first)


def smooth_shape(curve: Any, grid: Floats, elements: int, up: Any, up_at_end: bool, ups: Any = None) -> BeamShape:
    """Elements of equal length along a curve, a scipy spline over the parameters ``grid``.

    ups : function from parameters to directions of the y axes; None for parallel transport.
    """
    lengths = np.concatenate([[0.0], np.cumsum(_arc_lengths(curve, grid[:-1], grid[1:]))])
    wanted = np.linspace(0.0, lengths[-1], elements + 1)
    nodes = np.interp(wanted, lengths, grid)
    for _ in range(5):
        k = np.clip(np.searchsorted(grid, nodes) - 1, 0, len(grid) - 2)
        reached = lengths[k] + _arc_lengths(curve, grid[k], nodes)
        nodes = nodes - (reached - wanted) / np.linalg.norm(curve(nodes, 1), axis=1)
    nodes[0], nodes[-1] = grid[0], grid[-1]
    if ups is not None:
        quaternions = np.array([section_axes(t, y) for t, y in zip(curve(nodes, 1), ups(nodes), strict=True)])
    else:
        distinct = np.min(np.abs(grid[:, None] - nodes), axis=1) > 1e-6 * (grid[-1] - grid[0])
        fine = np.sort(np.concatenate([grid[distinct], nodes]))
        tangents = curve(fine, 1)
        tangents /= np.linalg.norm(tangents, axis=1)[:, None]
        transported = _parallel_transport(tangents, section_axes(tangents[0]), curve(fine))
        quaternions = _rotated_to_up(transported, tangents, up, up_at_end)[np.searchsorted(fine, nodes)]
    positions, quaternions, first = _from_first(curve(nodes), quaternions)
    equal, corners = np.full(elements, lengths[-1] / elements), np.tile(IDENTITY, (elements, 1))
    return BeamShape(positions, quaternions, equal, corners, straight=False, first=first)


def _arc_lengths(curve: Any, start: Floats, end: Floats) -> Floats:
    x, w = np.polynomial.legendre.leggauss(8)
    points = start[:, None] + (0.5 + 0.5 * x) * (end - start)[:, None]
    result: Floats = 0.5 * (end - start) * (np.linalg.norm(curve(points, 1), axis=-1) @ w)
    return result


def _parallel_transport(tangents: Floats, first: Floats, points: Floats | None = None) -> Floats:
    """Sections (n, 4) in parallel transport along tangents (n, 3), without rotation about them.

    With points (n, 3) on a smooth curve by two reflections per step, a method of fourth order (Wang et al., ACM
    Transactions on Graphics 27 (2008), article 2); without points by the smallest rotations.
    """
    axes = [rotations.rotation_matrix(first)]
    for k in range(len(tangents) - 1):
        R, t = axes[-1], tangents[k]
        if points is not None:
            chord = points[k + 1] - points[k]
            R, t = (x - 2.0 * np.outer(chord, chord @ x) / (chord @ chord) for x in (R, t[:, None]))
            t = t[:, 0]
            mirror = tangents[k + 1] - t
            R = R - 2.0 * np.outer(mirror, mirror @ R) / (mirror @ mirror)
        else:
            middle = t + tangents[k + 1]
            R = R - np.outer(middle, middle @ R) / (1.0 + t @ tangents[k + 1]) + 2.0 * np.outer(tangents[k + 1], t @ R)
        axes.append(R)
    return rotations.from_matrix(np.array(axes))


def _rotated_to_up(quaternions: Floats, tangents: Floats, up: Any, at_end: bool) -> Floats:
    """Sections rotated by one angle about their tangents, so that the y axis of the first or last one fits ``up``."""
    k = -1 if at_end else 0
    error = rotations.multiply(rotations.conjugate(quaternions[k]), section_axes(tangents[k], up))
    rotation = np.array([error[0], error[1], 0.0, 0.0]) / np.hypot(error[0], error[1])
    return rotations.multiply(quaternions, rotation)


def _from_first(points: Floats, quaternions: Floats) -> tuple[Floats, Floats, Floats]:
    """Positions and quaternions relative to the first section, and the quaternion of that section."""
    first = quaternions[0]
    relative = rotations.multiply(rotations.conjugate(first), quaternions)
    return rotations.rotate_back(first, points - points[0]), relative, first


def reference_strains(data: Floats, ends: tuple[Floats, Floats], others: tuple[Floats, Floats]) -> Floats:
    """(12,) strains (3 x 4, at the strain points) of an element whose ends have their undeformed poses.

    data : its row of parameters (for its length and the form of its strains). ends, others : position and quaternion of
    its two ends. These strains are of the interpolated curve, so that the stress at the start is exactly zero for any
    number of elements.
    """
    from femb.elements.beam import strain as beam_columns
    from femb.elements.beam.strain import natural_coordinates, strains

    Q, X, e = np.empty((3, 3)), np.empty(8), np.empty((3, 4))
    R1, R2 = rotations.rotation_matrix(ends[1]), rotations.rotation_matrix(others[1])
    length = data[beam_columns.LENGTH]
    natural_coordinates(ends[0], R1, 0.0, others[0], R2, 0.0, length, Q, X)
    source = data[beam_columns.SOURCE] != 0.0
    strains(X, length, source, np.empty(4), np.empty((4, 8)), e, np.empty((3, 4, 8)))
    return e.ravel()


# Sections at any point along beams, interpolated from the results as in the element; for meshes and pictures.


@dataclass(frozen=True, eq=False)
class Sections:
    """Sections at s points of each of e elements, inertial axes; leading axes (...), usually time.

    position (..., e, s, 3) m; axes (..., e, s, 3, 3) : x, y and z axes as columns; velocity (..., e, s, 3) m/s;
    spin (..., e, s, 3) rad/s.
    """

    position: Floats
    axes: Floats
    velocity: Floats
    spin: Floats


def element_ends(nodes: Floats) -> Floats:
    """(..., e, 2, c) of both ends of every element, from nodes (..., n, c)."""
    return np.stack([nodes[..., :-1, :], nodes[..., 1:, :]], axis=-2)


def along(ends: Floats, xi: Floats) -> Floats:
    """(..., e, s, c) linear interpolation between the two ends of every element, from (..., e, 2, c)."""
    return ends[..., 0:1, :] + xi[:, None] * (ends[..., 1:2, :] - ends[..., 0:1, :])


def end_sections(recorded: Mapping[str, Floats]) -> Floats:
    """(..., e, 2, 4) quaternions of both ends of every element; at a corner the two elements have different ones."""
    nodes = recorded["quaternion"]
    return np.stack([rotations.multiply(nodes[..., :-1, :], recorded["corner"]), nodes[..., 1:, :]], axis=-2)


def beam_sections(recorded: Mapping[str, Floats], xi: Floats) -> Sections:
    """Sections at xi (s,) of all elements of quaternion Euler-Bernoulli beams; see ``LineItem.sections_between``.

    The velocity omits the rate of the axial strains, which is not recorded; the spin is interpolated linearly.
    """
    from femb.elements.beam.strain import cubics

    quaternions, strain, length = end_sections(recorded), recorded["strain"], recorded["element_length"]
    position = element_ends(recorded["position"])
    nodes = rotations.rotate(recorded["quaternion"], recorded["angular_velocity"])
    spin = element_ends(nodes)
    tangents = rotations.rotate(quaternions, np.array([1.0, 0.0, 0.0]))
    rates = (length[..., None] * (1.0 + strain))[..., None] * np.cross(spin, tangents)
    velocity = element_ends(recorded["velocity"])
    end_rates = np.stack([velocity[..., 0, :], rates[..., 0, :], velocity[..., 1, :], rates[..., 1, :]], axis=-2)
    centre, axes = section_frames((position, quaternions), strain, length, xi)
    return Sections(centre, axes, cubics(xi) @ end_rates, along(spin, xi))


def section_frames(ends: tuple[Floats, Floats], strain: Floats, length: Floats, xi: Floats) -> tuple[Floats, Floats]:
    """Positions (..., s, 3) m and section axes (..., s, 3, 3), as columns, at xi (s,) along elements.

    ends : positions (..., 2, 3) and quaternions (..., 2, 4) of the sections at both ends. strain (..., 2) : axial
    strain there. length (...) m : of the unstrained element. Source: ``femb.elements.beam.strain``.
    """
    from femb.elements.beam.strain import FINE, cubics, fine_integrals, slope_formula, slopes, swing_formula

    position, sections = ends[0], rotations.rotation_matrix(ends[1])
    first, last = sections[..., 0, :, :], sections[..., 1, :, :]
    stretched = length[..., None] * (1.0 + strain)
    g1, g2 = stretched[..., :1] * first[..., 0], stretched[..., 1:] * last[..., 0]
    centre = cubics(xi) @ np.stack([position[..., 0, :], g1, position[..., 1, :], g2], axis=-2)

    # natural coordinates
    transposed = np.swapaxes(first, -1, -2)
    Q = transposed @ last
    d, G = ((transposed @ x[..., None])[..., 0] for x in (position[..., 1, :] - position[..., 0, :], g2))
    alpha = 2.0 * np.arctan2(Q[..., 2, 1] - Q[..., 1, 2], 1.0 + np.trace(Q, axis1=-2, axis2=-1))[..., None]
    X = np.stack([*np.moveaxis(d, -1, 0), stretched[..., 0], *np.moveaxis(G, -1, 0)])[..., None]

    # angle psi about the tangent
    n = slopes(FINE)
    u1, u2, u3 = slope_formula(n[:, 0], n[:, 1], n[:, 2], X)
    g = np.sqrt(u1 * u1 + u2 * u2 + u3 * u3)
    integral = (FINE**2 / (g * (g + u1))) @ fine_integrals((*xi.tolist(), 1.0))
    transported = 6.0 * (X[1] * X[6] - X[2] * X[5]) * integral
    psi = transported[..., :-1] + xi * (alpha - transported[..., -1:])

    n = slopes(xi)
    u = np.stack(slope_formula(n[:, 0], n[:, 1], n[:, 2], X), axis=-1)
    t = u / np.linalg.norm(u, axis=-1, keepdims=True)
    swing = swing_formula(t[..., 0], t[..., 1], t[..., 2])
    y, z = np.stack(swing[:3], axis=-1), np.stack(swing[3:], axis=-1)
    c, s = np.cos(psi)[..., None], np.sin(psi)[..., None]
    return centre, first[..., None, :, :] @ np.stack([t, c * y + s * z, c * z - s * y], axis=-1)


# Path of a beam: the curve that its undeformed centreline follows.

# Smallest distance of successive points, relative to the total length.
SMALLEST_STEP = 1e-9


@dataclass(frozen=True, eq=False)
class Path(Brief):
    """The reference line of a beam, in one of these forms. All but ``curve`` define the beam's ``length``.

    Without a direction from ``curve``, the sections are in parallel transport along the line. The attachment then needs
    no ``direction``; its ``up`` applies.

    Raises ModelError: none or several of these forms, invalid or coincident points, a corner of 180 degrees. Source:
    docs/theory/beam.md, section 2.
    """

    points: Annotated[list[Vector] | None, Unit("m")] = None
    """at least two, connected by a cubic spline, in the axes of the host of the beam's start (of its end if the start
    is free; inertial axes if both are free). The beam begins at its attachment for any first point"""
    kinks: bool = False
    """straight pieces between the points, with corners, instead of the spline; every piece has one element or more"""
    radius: Annotated[float | None, Unit("m"), POSITIVE] = None
    """of an arc towards the section's y axis"""
    angle: Annotated[float | None, Unit("rad"), POSITIVE] = None
    """of the arc"""
    curve: Annotated[Callable[[float], Any], Arguments("of the length in Python")] | None = None
    """in Python, a function ``s -> (3,)`` or ``s -> ((3,), (3,))`` of the length s (m) from the start: the point (axes
    as for points), and a direction whose component perpendicular to the tangent is the section's y axis"""

    def __post_init__(self) -> None:
        with Checks(self, "path") as check:
            ways = [name for name in ("points", "radius", "curve") if getattr(self, name) is not None]
            if not ways:
                check.fail("points", "neither points, radius and angle nor a curve is given")
            for name in ways[1:]:
                check.fail(name, f"given beside {ways[0]!r}, which says the path too: give one of them")
            if (self.radius is None) != (self.angle is None):
                check.fail("angle" if self.angle is None else "radius", "is missing: an arc has a radius and an angle")
            if "kinks" not in check.bad and self.kinks and self.points is None:
                check.fail("kinks", "only points have corners")
            if self.points is not None:
                self._check_points(check)

    def _check_points(self, check: Checks) -> None:
        wanted = "at least two points of three numbers"
        points = check.array("points", lambda x: x.ndim == 2 and x.shape[1] == 3 and len(x) > 1, wanted)
        if points is None:
            return
        steps = np.diff(points, axis=0)
        lengths = np.linalg.norm(steps, axis=1)
        if np.any(lengths <= SMALLEST_STEP * lengths.sum()):
            k = int(np.argmin(lengths))
            check.fail("points", f"numbers {k + 1} and {k + 2} are at one place: leave one out")
            return
        object.__setattr__(self, "points", frozen_array(points))
        cosines = np.sum(steps[1:] * steps[:-1], axis=1) / (lengths[1:] * lengths[:-1])
        if "kinks" not in check.bad and self.kinks and np.any(cosines < -1.0 + 1e-9):
            k = int(np.argmin(cosines))
            check.fail(
                "points", f"the beam turns back on itself at number {k + 2}: give that piece as a beam of its own"
            )
