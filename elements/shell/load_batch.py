"""Loads on the surfaces and edges of shells, evaluated together.

Source: docs/theory/shell.md, section 8.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.environment.plates import PlateLaw
from femb.elements.records import load_factors
from femb.elements.shell.stiffness import R_SIGNS, S_SIGNS, shape_weights
from femb.layout.element import Batch, ForceBatch, Input
from femb.layout.layout import Layout
from femb.layout.state import Stations
from femb.layout.views import BlockPattern, ModelView, OutputStates
from femb.numerics.rotations import cross_matrix


@dataclass(frozen=True, eq=False)
class Patch:
    """The elements of one kind, or segments of an edge, of a shell that a load acts on.

    shell : its name. frames (e, n) : those of the corners. stations : the corners. load : its number.
    """

    shell: str
    frames: Ints
    stations: Stations
    load: int

    @classmethod
    def of(cls, shell: str, cells: Ints, layout: Layout, load: int, *more: Any) -> Self:
        """The patch of elements with corners (e, n) of a shell; more : further fields."""
        stations = layout.shells[shell].stations
        corners = Stations([[stations[node] for node in cell] for cell in cells.tolist()], layout)
        frames = np.array([station.frame for station in stations])[cells]
        return cls(shell, frames, corners, load, *more)

    def on_interfaces(self, loaded: Batch) -> bool:
        """Whether a corner is on one of the ``interfaces`` of the shells."""
        return any(np.any(self.frames == frame) for path, frame in loaded.interfaces if path == f"shells.{self.shell}")

    def add_interface_forces(self, loaded: Batch, q: Floats, force: Floats, out: Floats) -> None:
        """out (s, k, 6) += the part of forces on the corners (s, e, n, 3) that is on the ``interfaces``."""
        axes = self.stations.motion(q, np.zeros((len(q), self.size))).axes
        turn, offset = self.stations.rotation, self.stations.offset
        frames = axes @ np.swapaxes(turn, 1, 2).reshape(*self.frames.shape, 3, 3)
        local = np.einsum("senji,senj->seni", frames, force)
        torque = np.cross(offset.reshape(*self.frames.shape, 3), local)
        for k, (path, frame) in enumerate(loaded.interfaces):
            if path == f"shells.{self.shell}":
                on = self.frames == frame
                out[:, k, :3] += force[:, on].sum(axis=1)
                out[:, k, 3:] += torque[:, on].sum(axis=1)

    @property
    def size(self) -> int:
        """The number of velocities among which are those of the corners."""
        return int(self.stations.v.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False)
class _Patch(Patch):
    """pressure : Pa. forces (e, n, 3) N : those that keep their direction."""

    pressure: float
    forces: Floats

    def evaluated(self, q: Floats) -> tuple[Floats, Floats]:
        """Positions of the corners and forces on them (s, e, n, 3) at s states, for a factor of one."""
        x = self.stations.motion(q, np.zeros((len(q), self.size))).position
        force = np.broadcast_to(self.forces, x.shape)
        if self.pressure:
            force = force + self.pressure * np.einsum("gn,gsek->senk", *area_vectors(x))
        return x, force

    def changes(self, x: Floats) -> Floats:
        """(e, n, 3, n, 3) derivatives of the forces by the positions of the corners x (e, n, 3)."""
        count, n = x.shape[:2]
        if not self.pressure:  # also of edges, which have no area
            return np.zeros((count, n, 3, n, 3))
        shape, by_r, by_s = shapes(n)
        xr, xs = (cross_matrix(np.einsum("gn,enk->gek", by, x)) for by in (by_r, by_s))
        # sums over the points of products with numbers alone
        of_r, of_s = (np.einsum("gn,gm->nmg", shape, by) for by in (by_s, by_r))
        K = np.tensordot(of_r, xr, 1) - np.tensordot(of_s, xs, 1)
        return self.pressure * K.transpose(2, 0, 3, 1, 4)


def shapes(n: int) -> tuple[Floats, Floats, Floats]:
    """Shape functions times weights, and derivatives by r and s (g, n), at the points of elements with n corners."""
    if n == 3:
        return np.full((1, 3), 1.0 / 6.0), np.array([[-1.0, 1.0, 0.0]]), np.array([[-1.0, 0.0, 1.0]])
    a = 1.0 / np.sqrt(3.0)
    r, s = (np.array(x)[:, None] for x in ((-a, a, a, -a), (-a, -a, a, a)))
    along, across = 1.0 + r * R_SIGNS, 1.0 + s * S_SIGNS
    return 0.25 * along * across, 0.25 * R_SIGNS * across, 0.25 * S_SIGNS * along


def area_vectors(x: Floats) -> tuple[Floats, Floats]:
    """Shape functions times weights (g, n), and x_r times x_s (g, s, e, 3) of corners (s, e, n, 3)."""
    shape, by_r, by_s = shapes(x.shape[2])
    return shape, np.cross(np.einsum("gn,senk->gsek", by_r, x), np.einsum("gn,senk->gsek", by_s, x))


class SurfaceBatch(ForceBatch):
    """Loads on the surfaces and edges of shells."""

    def __init__(self, items: list[Any], layout: Layout, model: ModelView) -> None:
        shells: dict[str, Any] = {item.name: item for item in model.items() if item.table == "shells"}
        self.inputs = tuple(Input.of_profile(item.profile, f"loads.{item.name}") for item in items)
        self.patches: list[_Patch] = []
        for number, item in enumerate(items):
            mesh, nodes = shells[item.shell].geometry, layout.poses(layout.shells[item.shell].stations)[0]
            if item.pressure is not None or item.force is not None:
                for cells in mesh.cells:
                    share = shape_weights(nodes[cells]).sum(axis=2)
                    force = np.zeros(3) if item.force is None else item.force
                    self._add(item.shell, cells, layout, number, item.pressure or 0.0, share[..., None] * force)
            if item.edge is not None:
                ends = mesh.segments(item.edge)
                lengths = np.linalg.norm(nodes[ends[:, 1]] - nodes[ends[:, 0]], axis=1)
                half = 0.5 * lengths[:, None, None] * np.asarray(item.edge_force)
                self._add(item.shell, ends, layout, number, 0.0, np.repeat(half, 2, axis=1))

    def _add(self, shell: str, cells: Ints, layout: Layout, load: int, pressure: float, forces: Floats) -> None:
        self.patches.append(_Patch.of(shell, cells, layout, load, pressure, forces))

    def allocate(self, pattern: BlockPattern) -> None:
        for patch in self.patches:
            patch.stations.allocate(pattern)

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        if not rest:
            return
        for patch in self.patches:
            factor = -rest * u[:, self.first_input + patch.load]
            force = factor[:, None, None, None] * patch.evaluated(q)[1]
            patch.stations.add_force(q, force, np.zeros_like(force), out)

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        for patch in self.patches:
            factor = -u[self.first_input + patch.load]
            if not factor or not (patch.pressure or patch.stations.has_levers):
                continue
            x, force = patch.evaluated(q[None])
            K = factor * patch.changes(x[0])
            patch.stations.add_by_positions(q, K, stiffness, factor * force[0])

    def add_interface_forces(self, loaded: Batch, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, k, 6) += forces and torques of the loads on nodes that are on the ``interfaces`` of the shells."""
        for patch in self.patches:
            if patch.on_interfaces(loaded):
                force = u[:, self.first_input + patch.load, None, None, None] * patch.evaluated(q)[1]
                patch.add_interface_forces(loaded, q, force, out)

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        return load_factors(self, frames)


class ExposedBatch(ForceBatch):
    """Forces of a law of plates with the area of one, at the points of integration of shells."""

    def __init__(self, items: list[Any], shells: dict[str, Any], layout: Layout, law: PlateLaw) -> None:
        self.items, self.layout, self.law, self.inputs = items, layout, law, law.inputs
        self.patches = [
            Patch.of(item.shell, cells, layout, number)
            for number, item in enumerate(items)
            for cells in shells[item.shell].geometry.cells
        ]

    def allocate(self, pattern: BlockPattern) -> None:
        for patch in self.patches:
            patch.stations.allocate(pattern)

    def _at_points(
        self, patch: Patch, u: Floats, q: Floats, v: Floats
    ) -> tuple[PlateLaw, Floats, Floats, Floats, Floats, Floats]:
        """State of all p points of a patch, at s states: the law, the values of its inputs (s, p, width), area vectors,
        velocities and places (s, p, 3), and the corners (s, e, n, 3)."""
        motion = patch.stations.motion(q, v)
        shape, areas = area_vectors(motion.position)
        weights = shape / shape.sum(axis=1, keepdims=True)
        velocity = np.einsum("gn,senk->gsek", weights, motion.velocity) + self.layout.origin_velocity
        place = np.einsum("gn,senk->gsek", weights, motion.position) + self.layout.origin
        area, velocity, place = (np.moveaxis(x, 0, 1).reshape(len(q), -1, 3) for x in (areas, velocity, place))
        law = self.law.picked(np.full(area.shape[1], patch.load))
        first = self.first_input + self.law.width * patch.load
        given = u[:, None, first : first + self.law.width]
        values = np.broadcast_to(given, (len(u), area.shape[1], self.law.width))
        return law, values, area, velocity, place, motion.position

    def _forces(self, patch: Patch, u: Floats, q: Floats, v: Floats) -> Floats:
        """(s, e, n, 3) N on the corners."""
        law, values, area, velocity, place, x = self._at_points(patch, u, q, v)
        size = np.linalg.norm(area, axis=-1, keepdims=True)
        shape = shapes(x.shape[2])[0]
        force = (size * law.force(values, area / size, velocity, place)).reshape(len(q), len(shape), -1, 3)
        return np.asarray(np.einsum("gn,sgek->senk", shape, force))

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        if not rest:
            return
        for patch in self.patches:
            force = -rest * self._forces(patch, u, q, v)
            patch.stations.add_force(q, force, np.zeros_like(force), out)

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        for patch in self.patches:
            law, values, area, velocity, place, corners = self._at_points(patch, u[None], q[None], v[None])
            (x,), a = corners, area[0]
            count, n = x.shape[:2]
            size = np.linalg.norm(a, axis=-1, keepdims=True)
            normal = a / size
            force = law.force(values, normal[None], velocity, place)[0]
            by_n, by_w, by_x = law.slopes(values[0], normal, velocity[0], place[0])
            across = np.eye(3) - normal[:, :, None] * normal[:, None, :]
            # of |a| f(a/|a|) by a
            by_area = (force[:, :, None] * normal[:, None, :] + by_n @ across).reshape(-1, count, 3, 3)
            by_velocity = (size[..., None] * by_w).reshape(-1, count, 3, 3)
            shape, by_r, by_s = shapes(n)
            weights = shape / shape.sum(axis=1, keepdims=True)
            xr, xs = (cross_matrix(np.einsum("gn,enk->gek", by, x)) for by in (by_r, by_s))
            turns = np.einsum("geab,gm->gemab", xr, by_s) - np.einsum("geab,gm->gemab", xs, by_r)
            K, D = np.zeros((2, count, n, 6, n, 6))
            K[:, :, :3, :, :3] = np.einsum("gn,geac,gemcb->enamb", shape, by_area, turns)
            D[:, :, :3, :, :3] = np.einsum("gn,gm,geab->enamb", shape, weights, by_velocity)
            by_place = (size[..., None] * by_x).reshape(-1, count, 3, 3)
            K[:, :, :3, :, :3] += np.einsum("gn,gm,geab->enamb", shape, weights, by_place)
            on_corners = np.einsum("gn,gek->enk", shape, (size * force).reshape(len(shape), count, 3))
            patch.stations.add_matrix(q, -K.reshape(count, 6 * n, 6 * n), stiffness, -on_corners)
            if by_w.any():
                patch.stations.add_by_velocities(q, v, -D.reshape(count, 6 * n, 6 * n), damping, stiffness)

    def add_interface_forces(self, loaded: Batch, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, k, 6) += forces and torques on nodes that are on the ``interfaces`` of the shells."""
        for patch in self.patches:
            if patch.on_interfaces(loaded):
                patch.add_interface_forces(loaded, q, self._forces(patch, u, q, v), out)

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """The force on every shell, inertial axes."""
        block = {f"loads/{item.name}/force": np.zeros((len(frames.q), 3)) for item in self.items}
        for patch in self.patches:
            found = self._forces(patch, frames.u, frames.q, frames.v)
            block[f"loads/{self.items[patch.load].name}/force"] += found.sum(axis=(1, 2))
        return block
