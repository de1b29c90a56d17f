"""Loads on the surfaces and edges of shells, evaluated together.

Source: docs/theory/shell.md, section 8.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.environment.plates import PlateLaw, no_change, plate_force
from femb.elements.records import load_factors
from femb.elements.shell.stiffness import R_SIGNS, S_SIGNS, shape_weights
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.protocols import HasInterfaces
from femb.layout.terms import Force, Tangent
from femb.layout.views import ModelView, OutputStates
from femb.numerics import rotations
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.duals import Matrix3, Number, Vector3, blocks, dot, identity, norm, outer, skew
from femb.numerics.compiler.traced import M3, V3, V4, add_to, put, put_changes, reader, traced, unit_changes
from femb.numerics.rotations import normalise
from femb.numerics.vector3 import IN_Q, IN_V, add_block, attitude, column, crossed, scatter, skewed, still

# Kernels over loads on elements with n corners each.
#
# index (e, n, 2) int: IN_Q and IN_V of the frames of the corners. arms (e, n, 3): of the corners in their frames.
# points (3, g, n): shape functions times weights, and derivatives by r and s, at g points. kind: PRESSURE along the
# area vector, of numbers[0] times the input ``first``, or that of a plate, see ``plate_force``. dead (e, n, 3) N: of
# forces on the corners that keep their direction, times the same input.

PRESSURE = -1
V312 = reader(3, 12)


@inlined
def corner_motion(index, arms, fixed, q, v, x, speed, turning, R):
    """Set places x and velocities (n, 3) of the corners of an element, and the axes R (n, 3, 3) of their frames;
    turning (n, 3) : their velocities relative to these, axes of the frames."""
    for c in range(index.shape[0]):
        i, j, rate, omega, arm = index[c, IN_Q], index[c, IN_V], still(), still(), V3(arms[c])
        r, p = (V3(q[i:]), V4(q[i + 3 :])) if i >= 0 else (V3(fixed[-1 - i]), V4(fixed[-1 - i, 3:]))
        if j >= 0:
            rate, omega = V3(v[j:]), V3(v[j + 3 :])
        axes, turn = attitude(p), crossed(omega, arm)
        put(axes, R[c])
        put(turn, turning[c])
        put(r + axes @ arm, x[c])
        put(rate + axes @ turn, speed[c])


# Directions of the derivatives: the area vector, the velocity and the place of a point.
areas, velocities, spots = unit_changes(0, 12), unit_changes(3, 12), unit_changes(6, 12)


@traced
def unit_normal(a: Vector3) -> Any:
    """The normal of an area vector."""
    return a / norm(a)


@traced
def on_area(a: Vector3, f: Vector3) -> Any:
    """The force on an area vector of a force on a unit of area."""
    return norm(a) * f


@inlined
def at_point(points, g, x, speed):
    """x_r, x_s, the velocity and the place (3,) of a point of an element."""
    xr, xs, w, place, total = still(), still(), still(), still(), points[0, g].sum()
    for c in range(x.shape[0]):
        corner, share = V3(x[c]), points[0, g, c] / total
        xr += points[1, g, c] * corner
        xs += points[2, g, c] * corner
        w += share * V3(speed[c])
        place += share * corner
    return xr, xs, w, place


@traced
def by_corner(changes: Annotated[Any, (3, 12)], xr: Vector3, xs: Vector3, slopes: Vector3, share: Number) -> Any:
    """Derivatives of a force by the place and by the velocity of a corner; slopes : of its shape function."""
    turns = slopes[2] * skew(xr) - slopes[1] * skew(xs)
    return changes[:, :3] @ turns + share * changes[:, 6:9], share * changes[:, 3:6]


@traced
def on_corner(R: Matrix3, arm: Vector3, by_line: Matrix3, by_turn: Matrix3) -> Any:
    """(6, 6) : minus the rows of force (3, 3), and of its torque about the origin of the frame of a corner."""
    lever = -skew(arm) @ R.T
    return blocks((-by_line, -by_turn), (lever @ by_line, lever @ by_turn))


@traced
def turned_torque(force: Vector3, arm: Vector3) -> Any:
    """Minus the derivative of d x f by the rotation of a frame; f, d : in its axes, f constant in inertial ones."""
    return dot(arm, force) * identity(3) - outer(force, arm)


class Loaded(NamedTuple):
    """Arrays that the kernels keep of a patch, as above; places is index. With the first input of its law."""

    places: Ints
    arms: Floats
    fixed: Floats
    points: Floats
    kind: int
    numbers: Floats
    levels: Floats
    first: int
    dead: Floats


@inlined
def area_force(of, u, a, w, x):
    """The force (3,) on an area vector a with a velocity and a place, and as ``plate_force``."""
    F, found = no_change(a, w, x), -1
    if of.kind == PRESSURE:
        F = F + (u[of.first] * of.numbers[0]) * a
    else:
        f, found = plate_force(of.kind, of.numbers, of.levels, u, of.first, unit_normal(a), w, x)
        F = F + on_area(a, f)
    return F, found


@inlined
def element_forces(of, e, u, x, speed, out):
    """Set the forces out (n, 3) on the corners of element e; returns as ``plate_force``."""
    for c in range(out.shape[0]):
        put(u[of.first] * V3(of.dead[e, c]), out[c])
    for g in range(of.points.shape[1]):
        xr, xs, w, place = at_point(of.points, g, x, speed)
        F, found = area_force(of, u, crossed(xr, xs), w, place)
        if found >= 0:
            return found
        for c in range(out.shape[0]):
            add_to(of.points[0, g, c] * F, out[c])
    return -1


@kernel
def corner_forces(of, u, q, v, out):
    """Set the forces out (s, e, n, 3), inertial axes, on the corners; returns as ``plate_force``."""
    index, arms, n = of.places, of.arms, of.places.shape[1]
    at, R = np.empty((3, n, 3)), np.empty((n, 3, 3))
    for s in range(q.shape[0]):
        for e in range(index.shape[0]):
            corner_motion(index[e], arms[e], of.fixed, q[s], v[s], at[0], at[1], at[2], R)
            found = element_forces(of, e, u[s], at[0], at[1], out[s, e])
            if found >= 0:
                return found
    return -1


@kernel_with_entry
def forces(of, u, q, v, out):
    """out (s, n_v) -= the generalized forces; returns as ``plate_force``."""
    index, arms, n = of.places, of.arms, of.places.shape[1]
    at, R = np.empty((4, n, 3)), np.empty((n, 3, 3))
    for s in range(q.shape[0]):
        for e in range(index.shape[0]):
            corner_motion(index[e], arms[e], of.fixed, q[s], v[s], at[0], at[1], at[2], R)
            found = element_forces(of, e, u[s], at[0], at[1], at[3])
            if found >= 0:
                return found
            for c in range(n):
                j, force = index[e, c, IN_V], V3(at[3, c])
                if j >= 0:
                    add_to(-force, out[s, j:])
                    add_to(-crossed(V3(arms[e, c]), M3(R[c]).T @ force), out[s, j + 3 :])
    return -1


@kernel_with_entry
def tangent(of, offset, stride, u, q, v, damping, stiffness):
    """Add the derivatives of minus the generalized forces to block data (s, size); returns as ``plate_force``."""
    index, arms, points, n, own = of.places, of.arms, of.points, of.places.shape[1], np.empty((6, 6))
    at, R, changes, start, size = (
        np.empty((4, n, 3)),
        np.empty((n, 3, 3)),
        np.empty((3, 12)),
        np.array([0]),
        np.array([6]),
    )
    by_x, by_v = np.empty((n, n, 3, 3)), np.empty((n, n, 3, 3))
    for s in range(q.shape[0]):
        for e in range(index.shape[0]):
            corner_motion(index[e], arms[e], of.fixed, q[s], v[s], at[0], at[1], at[2], R)
            found = element_forces(of, e, u[s], at[0], at[1], at[3])
            if found >= 0:
                return found
            by_x[:], by_v[:] = 0.0, 0.0
            for g in range(points.shape[1]):
                xr, xs, w, place = at_point(points, g, at[0], at[1])
                F, _ = area_force(of, u[s], areas(crossed(xr, xs)), velocities(w), spots(place))
                put_changes(F, changes)
                for m in range(n):
                    slopes, share = column(points[0, g, m], points[1, g, m], points[2, g, m]), points[0, g, m]
                    of_place, of_speed = by_corner(V312(changes), xr, xs, slopes, share / points[0, g].sum())
                    for c in range(n):
                        add_to(points[0, g, c] * of_place, by_x[c, m])
                        add_to(points[0, g, c] * of_speed, by_v[c, m])
            for c in range(n):
                axes, arm, force = M3(R[c]), V3(arms[e, c]), V3(at[3, c])
                for m in range(n):
                    X, V = M3(by_x[c, m]), M3(by_v[c, m])
                    # the place turns with its frame by -R d~, the velocity by -R (omega x d)~
                    by_arm, by_sweep = M3(R[m]) @ skewed(V3(arms[e, m])), M3(R[m]) @ skewed(V3(at[2, m]))
                    put(on_corner(axes, arm, X, -(X @ by_arm) - V @ by_sweep), own)
                    if m == c:
                        add_block(turned_torque(axes.T @ force, arm), own, 3, 3)
                    place = offset[e, c : c + 1, m : m + 1], stride[e, c : c + 1, m : m + 1]
                    scatter(own, start, size, *place, stiffness[s])
                    put(on_corner(axes, arm, V, -(V @ by_arm)), own)
                    scatter(own, start, size, *place, damping[s])
    return -1


def shapes(n: int) -> Floats:
    """(3, g, n) shape functions times weights, and their derivatives by r and s, at the points of elements with n
    corners; an edge, with two, has no points."""
    if n == 2:
        return np.zeros((3, 0, 2))
    if n == 3:
        return np.array([[[1.0 / 6.0] * 3], [[-1.0, 1.0, 0.0]], [[-1.0, 0.0, 1.0]]])
    a = 1.0 / np.sqrt(3.0)
    r, s = (np.array(x)[:, None] for x in ((-a, a, a, -a), (-a, -a, a, a)))
    along, across = 1.0 + r * R_SIGNS, 1.0 + s * S_SIGNS
    return np.array([0.25 * along * across, 0.25 * R_SIGNS * across, 0.25 * S_SIGNS * along])


@dataclass(frozen=True, eq=False)
class Patch:
    """The elements of one kind, or segments of an edge, of a shell that a load acts on.

    shell : its name. frames (e, n) : those of the corners. load : its number. kept : what its kernels keep, with
    ``first`` as the number of an input of the batch.
    """

    shell: str
    frames: Ints
    load: int
    kept: Loaded

    @classmethod
    def of(
        cls, shell: str, cells: Ints, layout: Layout, load: int, law: tuple[Any, ...], dead: Floats | None = None
    ) -> "Patch":
        """The patch of elements with corners (e, n) of a shell; law : kind, numbers, levels and first input."""
        stations = layout.shells[shell].stations
        frames = np.array([station.frame for station in stations])[cells]
        arms = np.array([station.offset for station in stations])[cells]
        index = np.stack([layout.frame_q[frames], layout.frame_v[frames]], axis=2)
        dead = np.zeros(arms.shape) if dead is None else dead
        kept = Loaded._make((index, arms, layout.fixed, shapes(cells.shape[1]), *law, dead))
        return cls(shell, frames, load, kept)

    def with_inputs(self, first_input: int) -> tuple[Any, ...]:
        """Arguments that its kernels keep, for the first input of the batch in u."""
        return (self.kept._replace(first=self.kept.first + first_input),)

    def add_interface_forces(self, loaded: HasInterfaces, q: Floats, force: Callable[[], Floats], out: Floats) -> None:
        """out (s, k, 6) += the part of the forces on the corners (s, e, n, 3) that is on the ``interfaces``."""
        index, arms, fixed, *_ = self.kept
        for k, (path, frame) in enumerate(loaded.interfaces):
            on = self.frames == frame
            if path == f"shells.{self.shell}" and on.any():
                i = int(index[on][0, IN_Q])
                attitude = normalise(q[:, i + 3 : i + 7] if i >= 0 else fixed[None, -1 - i, 3:7])[:, None]
                found = force()[:, on]
                out[:, k, :3] += found.sum(axis=1)
                out[:, k, 3:] += np.cross(arms[on], rotations.rotate_back(attitude, found)).sum(axis=1)


class ShellLoads(Batch):
    """Loads on patches of shells; check : called with what a kernel returns."""

    items: list[Any]
    patches: list[Patch]
    check: Callable[[int], object] | None = None

    def forces(self) -> list[Force]:
        return [Force(forces, patch.with_inputs(self.first_input), check=self.check) for patch in self.patches]

    def tangents(self) -> list[Tangent]:
        return [
            Tangent(tangent, patch.with_inputs(self.first_input), patch.kept.places[:, :, IN_V], check=self.check)
            for patch in self.patches
        ]

    def _forces(self, patch: Patch, u: Floats, q: Floats, v: Floats) -> Floats:
        """(s, e, n, 3) N on the corners."""
        out = np.empty((len(q), *patch.frames.shape, 3))
        Bound(corner_forces, *patch.with_inputs(self.first_input), u, q, v, out, check=self.check)()
        return out

    def add_interface_forces(self, loaded: HasInterfaces, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, k, 6) += forces and torques on nodes that are on the ``interfaces`` of the shells."""
        for patch in self.patches:
            patch.add_interface_forces(loaded, q, partial(self._forces, patch, u, q, v), out)


class SurfaceBatch(ShellLoads):
    """Loads on the surfaces and edges of shells."""

    def __init__(self, items: list[Any], layout: Layout, model: ModelView) -> None:
        shells: dict[str, Any] = {item.name: item for item in model.items() if item.table == "shells"}
        self.items, self.patches = items, []
        self.inputs = tuple(Input.of_profile(item.profile, f"loads.{item.name}") for item in items)
        for number, item in enumerate(items):
            mesh, nodes = shells[item.shell].geometry, layout.poses(layout.shells[item.shell].stations)[0]
            law = PRESSURE, np.array([item.pressure or 0.0]), np.empty((0, 3)), number
            if item.pressure is not None or item.force is not None:
                for cells in mesh.cells:
                    share = shape_weights(nodes[cells]).sum(axis=2)
                    force = share[..., None] * (np.zeros(3) if item.force is None else item.force)
                    self.patches.append(Patch.of(item.shell, cells, layout, number, law, force))
            if item.edge is not None:
                ends = mesh.segments(item.edge)
                lengths = np.linalg.norm(nodes[ends[:, 1]] - nodes[ends[:, 0]], axis=1)
                half = np.repeat(0.5 * lengths[:, None, None] * np.asarray(item.edge_force), 2, axis=1)
                self.patches.append(Patch.of(item.shell, ends, layout, number, law, half))

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        return load_factors(self, frames)


class ExposedBatch(ShellLoads):
    """Forces of a law of plates with the area of one, at the points of integration of shells."""

    def __init__(self, items: list[Any], shells: dict[str, Any], layout: Layout, law: PlateLaw) -> None:
        self.items, self.inputs, self.check = items, law.inputs, law.check
        self.patches = [
            Patch.of(item.shell, cells, layout, k, (law.kind, law.numbers[k], law.levels, law.width * k))
            for k, item in enumerate(items)
            for cells in shells[item.shell].geometry.cells
        ]

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        block = {f"loads/{item.name}/force": np.zeros((len(frames.q), 3)) for item in self.items}
        for patch in self.patches:
            found = self._forces(patch, frames.u, frames.q, frames.v)
            block[f"loads/{self.items[patch.load].name}/force"] += found.sum(axis=(1, 2))
        return block
