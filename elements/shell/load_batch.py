"""Loads on the surfaces and edges of shells, evaluated together.

Source: docs/theory/shell.md, section 8.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.records import load_factors
from femb.elements.shell.stiffness import R_SIGNS, S_SIGNS, shape_weights
from femb.layout.element import Batch, ForceBatch, Input
from femb.layout.layout import Layout
from femb.layout.state import Stations
from femb.layout.views import BlockPattern, OutputStates
from femb.numerics.rotations import cross_matrix


@dataclass(frozen=True, eq=False)
class _Patch:
    """The elements of one kind, or segments of an edge, that a load acts on.

    shell : its name. frames (e, n) : those of the corners. stations : the corners. load : its number. pressure : Pa.
    forces (e, n, 3) N : those that keep their direction.
    """

    shell: str
    frames: Ints
    stations: Stations
    load: int
    pressure: float
    forces: Floats

    @property
    def size(self) -> int:
        """The number of velocities among which are those of the corners."""
        return int(self.stations.v.max(initial=-1)) + 1

    def evaluated(self, q: Floats) -> tuple[Floats, Floats]:
        """Positions of the corners and forces on them (s, e, n, 3) at s states, for a factor of one."""
        x = self.stations.motion(q, np.zeros((len(q), self.size))).position
        force = np.broadcast_to(self.forces, x.shape)
        if self.pressure:
            force = force + self.pressure * np.einsum("gn,gsek->senk", *_area_vectors(x))
        return x, force

    def changes(self, x: Floats) -> Floats:
        """(e, 6 n, 6 n) derivatives of the forces by the positions of the corners x (e, n, 3)."""
        count, n = x.shape[:2]
        K = np.zeros((count, n, 6, n, 6))
        if self.pressure:
            shape, by_r, by_s = _shapes(n)
            xr, xs = (cross_matrix(np.einsum("gn,enk->gek", by, x)) for by in (by_r, by_s))
            each = np.einsum("geab,gm->gemab", xr, by_s) - np.einsum("geab,gm->gemab", xs, by_r)
            K[:, :, :3, :, :3] = self.pressure * np.einsum("gn,gemab->enamb", shape, each)
        return K.reshape(count, 6 * n, 6 * n)


def _shapes(n: int) -> tuple[Floats, Floats, Floats]:
    """Shape functions times weights, and derivatives by r and s (g, n), at the points of elements with n corners."""
    if n == 3:
        return np.full((1, 3), 1.0 / 6.0), np.array([[-1.0, 1.0, 0.0]]), np.array([[-1.0, 0.0, 1.0]])
    a = 1.0 / np.sqrt(3.0)
    r, s = (np.array(x)[:, None] for x in ((-a, a, a, -a), (-a, -a, a, a)))
    along, across = 1.0 + r * R_SIGNS, 1.0 + s * S_SIGNS
    return 0.25 * along * across, 0.25 * R_SIGNS * across, 0.25 * S_SIGNS * along


def _area_vectors(x: Floats) -> tuple[Floats, Floats]:
    """Shape functions times weights (g, n), and x_r times x_s (g, s, e, 3) of corners (s, e, n, 3)."""
    shape, by_r, by_s = _shapes(x.shape[2])
    return shape, np.cross(np.einsum("gn,senk->gsek", by_r, x), np.einsum("gn,senk->gsek", by_s, x))


class SurfaceBatch(ForceBatch):
    """Loads on the surfaces and edges of shells."""

    def __init__(self, items: list[Any], shells: dict[str, Any], layout: Layout) -> None:
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
        stations = layout.shells[shell].stations
        corners = Stations([[stations[node] for node in cell] for cell in cells.tolist()], layout)
        frames = np.array([station.frame for station in stations])[cells]
        self.patches.append(_Patch(shell, frames, corners, load, pressure, forces))

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
            x, force = patch.evaluated(q[None])
            patch.stations.add_matrix(q, factor * patch.changes(x[0]), stiffness, factor * force[0])

    def add_interface_forces(self, loaded: Batch, u: Floats, q: Floats, out: Floats) -> None:
        """out (s, k, 6) += forces and torques of the loads on nodes that are on the ``interfaces`` of the shells."""
        for patch in self.patches:
            at = [k for k, (path, _) in enumerate(loaded.interfaces) if path == f"shells.{patch.shell}"]
            if not any(np.any(patch.frames == loaded.interfaces[k][1]) for k in at):
                continue
            force = u[:, self.first_input + patch.load, None, None, None] * patch.evaluated(q)[1]
            axes = patch.stations.motion(q, np.zeros((len(q), patch.size))).axes
            turn, offset = patch.stations.rotation, patch.stations.offset
            frames = axes @ np.swapaxes(turn, 1, 2).reshape(*patch.frames.shape, 3, 3)
            local = np.einsum("senji,senj->seni", frames, force)
            torque = np.cross(offset.reshape(*patch.frames.shape, 3), local)
            for k in at:
                on = patch.frames == loaded.interfaces[k][1]
                out[:, k, :3] += force[:, on].sum(axis=1)
                out[:, k, 3:] += torque[:, on].sum(axis=1)

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        return load_factors(self, frames)
