"""Loads on the surfaces and edges of shells, evaluated together.

Source: docs/theory/shell.md, section 8.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

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
from femb.numerics.compiler.duals import Vector3, norm
from femb.numerics.compiler.traced import V3, add_to, put_changes, traced, unit_changes
from femb.numerics.rotations import normalise
from femb.numerics.vector3 import (
    IN_Q,
    IN_V,
    add_point_force,
    add_skew,
    add_torque_tangent,
    cross,
    pose,
    product,
    rotate,
    rotate_back,
    scatter,
    times_skew,
)

# Kernels over loads on elements with n corners each.
#
# index (e, n, 2) int: IN_Q and IN_V of the frames of the corners. arms (e, n, 3): of the corners in their frames.
# points (3, g, n): shape functions times weights, and derivatives by r and s, at g points. kind: PRESSURE along the
# area vector, of numbers[0] times the input ``first``, or that of a plate, see ``plate_force``. dead (e, n, 3) N: of
# forces on the corners that keep their direction, times the same input.

PRESSURE = -1


@inlined
def corner_motion(index, arms, fixed, q, v, x, speed, turning, R):
    """Set places x and velocities (n, 3) of the corners of an element, and the axes R (n, 3, 3) of their frames;
    turning (n, 3) : their velocities relative to these, axes of the frames."""
    omega, moved = np.zeros(3), np.empty(3)
    for c in range(index.shape[0]):
        j = index[c, IN_V]
        pose(index[c, IN_Q], q, fixed, x[c], R[c])
        for o in range(3):
            omega[o] = v[j + 3 + o] if j >= 0 else 0.0
        cross(omega, arms[c], turning[c])
        rotate(R[c], turning[c], speed[c])
        rotate(R[c], arms[c], moved)
        for o in range(3):
            x[c, o] += moved[o]
            speed[c, o] += v[j + o] if j >= 0 else 0.0


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
def at_point(points, g, x, speed, rows):
    """Set x_r, x_s, the area vector, the velocity and the place (5, 3) at a point of an element."""
    xr, xs, area, w, place = rows[0], rows[1], rows[2], rows[3], rows[4]
    rows[:5], total = 0.0, points[0, g].sum()
    for c in range(x.shape[0]):
        for o in range(3):
            xr[o] += points[1, g, c] * x[c, o]
            xs[o] += points[2, g, c] * x[c, o]
            w[o] += points[0, g, c] / total * speed[c, o]
            place[o] += points[0, g, c] / total * x[c, o]
    cross(xr, xs, area)


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
def element_forces(of, e, u, x, speed, rows, out):
    """Set the forces out (n, 3) on the corners of element e; returns as ``plate_force``."""
    for c in range(out.shape[0]):
        for o in range(3):
            out[c, o] = u[of.first] * of.dead[e, c, o]
    for g in range(of.points.shape[1]):
        at_point(of.points, g, x, speed, rows)
        F, found = area_force(of, u, V3(rows[2]), V3(rows[3]), V3(rows[4]))
        if found >= 0:
            return found
        for c in range(out.shape[0]):
            add_to(of.points[0, g, c] * F, out[c])
    return -1


@kernel
def corner_forces(of, u, q, v, out):
    """Set the forces out (s, e, n, 3), inertial axes, on the corners; returns as ``plate_force``."""
    index, arms, n = of.places, of.arms, of.places.shape[1]
    at, R, rows = np.empty((3, n, 3)), np.empty((n, 3, 3)), np.empty((5, 3))
    for s in range(q.shape[0]):
        for e in range(index.shape[0]):
            corner_motion(index[e], arms[e], of.fixed, q[s], v[s], at[0], at[1], at[2], R)
            found = element_forces(of, e, u[s], at[0], at[1], rows, out[s, e])
            if found >= 0:
                return found
    return -1


@kernel_with_entry
def forces(of, u, q, v, out):
    """out (s, n_v) -= the generalized forces; returns as ``plate_force``."""
    index, arms, n, local = of.places, of.arms, of.places.shape[1], np.empty(3)
    at, R, rows = np.empty((4, n, 3)), np.empty((n, 3, 3)), np.empty((5, 3))
    for s in range(q.shape[0]):
        for e in range(index.shape[0]):
            corner_motion(index[e], arms[e], of.fixed, q[s], v[s], at[0], at[1], at[2], R)
            found = element_forces(of, e, u[s], at[0], at[1], rows, at[3])
            if found >= 0:
                return found
            for c in range(n):
                if index[e, c, IN_V] >= 0:
                    rotate_back(R[c], at[3, c], local)
                    add_point_force(-1.0, at[3, c], local, arms[e, c], index[e, c, IN_V], out[s])
    return -1


@kernel_with_entry
def tangent(of, offset, stride, u, q, v, damping, stiffness):
    """Add the derivatives of minus the generalized forces to block data (s, size); returns as ``plate_force``."""
    index, arms, points, n = of.places, of.arms, of.points, of.places.shape[1]
    at, R, rows, by = np.empty((4, n, 3)), np.empty((n, 3, 3)), np.empty((6, 3)), np.empty((2, 3, 3))
    changes = np.empty((3, 12))
    turns, local, starts, sizes = np.empty((3, 3)), np.empty(3), 6 * np.arange(n), np.full(n, 6)
    by_x, by_v, C, K = (
        np.empty((n, 3, n, 3)),
        np.empty((n, 3, n, 3)),
        np.empty((6 * n, 6 * n)),
        np.empty((6 * n, 6 * n)),
    )
    on, change = np.empty((3, 3)), np.empty((3, 3))
    for s in range(q.shape[0]):
        for e in range(index.shape[0]):
            corner_motion(index[e], arms[e], of.fixed, q[s], v[s], at[0], at[1], at[2], R)
            found = element_forces(of, e, u[s], at[0], at[1], rows, at[3])
            if found >= 0:
                return found
            by_x[:], by_v[:], C[:], K[:] = 0.0, 0.0, 0.0, 0.0
            for g in range(points.shape[1]):
                at_point(points, g, at[0], at[1], rows)
                a, w, x = areas(V3(rows[2])), velocities(V3(rows[3])), spots(V3(rows[4]))
                F, _ = area_force(of, u[s], a, w, x)
                put_changes(F, changes)
                for i in range(3):
                    for j in range(3):
                        by[0, i, j] = changes[i, j]
                total = points[0, g].sum()
                for m in range(n):
                    turns[:] = 0.0
                    add_skew(points[2, g, m], rows[0], turns)
                    add_skew(-points[1, g, m], rows[1], turns)
                    product(by[0], turns, by[1])
                    share = points[0, g, m] / total
                    for c in range(n):
                        for i in range(3):
                            for j in range(3):
                                of_place = by[1, i, j] + share * changes[i, 6 + j]
                                by_x[c, i, m, j] += points[0, g, c] * of_place
                                by_v[c, i, m, j] += points[0, g, c] * share * changes[i, 3 + j]
            for c in range(n):
                for m in range(n):
                    for A, by_what, is_place in ((K, by_x, True), (K, by_v, False), (C, by_v, True)):
                        # the place turns with its frame by -R d~, the velocity by -R (omega x d)~
                        product(by_what[c, :, m], R[m], on)
                        times_skew(-1.0, on, arms[e, m] if is_place else at[2, m], change)
                        for i in range(3):
                            for j in range(3):
                                if is_place:
                                    A[6 * c + i, 6 * m + j] += by_what[c, i, m, j]
                                A[6 * c + i, 6 * m + 3 + j] += change[i, j]
                for A in (C, K):
                    for j in range(6 * n):
                        rotate_back(R[c], A[6 * c : 6 * c + 3, j], local)
                        cross(arms[e, c], local, rows[5])
                        for i in range(3):
                            A[6 * c + 3 + i, j] += rows[5, i]
                rotate_back(R[c], at[3, c], local)
                add_torque_tangent(1.0, local, arms[e, c], 6 * c + 3, K)
            for i in range(6 * n):
                for j in range(6 * n):
                    C[i, j], K[i, j] = -C[i, j], -K[i, j]
            scatter(C, starts, sizes, offset[e], stride[e], damping[s])
            scatter(K, starts, sizes, offset[e], stride[e], stiffness[s])
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
        """The force on every shell, inertial axes."""
        block = {f"loads/{item.name}/force": np.zeros((len(frames.q), 3)) for item in self.items}
        for patch in self.patches:
            found = self._forces(patch, frames.u, frames.q, frames.v)
            block[f"loads/{self.items[patch.load].name}/force"] += found.sum(axis=(1, 2))
        return block
