"""Sunlight and thin air on the deformed surfaces of shells, by the laws of plates.

Source: docs/theory/shell.md, section 8; docs/theory/actuators.md, section 4.
"""

from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.elements.environment.plates import PlateLaw
from femb.elements.shell.load_batch import Patch, area_vectors, shapes
from femb.layout.element import Batch, ForceBatch
from femb.layout.layout import Layout
from femb.layout.views import BlockPattern, OutputStates
from femb.numerics.rotations import cross_matrix


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
    ) -> tuple[PlateLaw, Floats, Floats, Floats, Floats]:
        """State of all p points of a patch, at s states: the law, the values of its inputs (s, p, width), area vectors,
        velocities (s, p, 3), and the corners (s, e, n, 3)."""
        motion = patch.stations.motion(q, v)
        shape, areas = area_vectors(motion.position)
        weights = shape / shape.sum(axis=1, keepdims=True)
        velocity = np.einsum("gn,senk->gsek", weights, motion.velocity) + self.layout.origin_velocity
        area, velocity = (np.moveaxis(x, 0, 1).reshape(len(q), -1, 3) for x in (areas, velocity))
        law = self.law.picked(np.full(area.shape[1], patch.load))
        first = self.first_input + self.law.width * patch.load
        given = u[:, None, first : first + self.law.width]
        values = np.broadcast_to(given, (len(u), area.shape[1], self.law.width))
        return law, values, area, velocity, motion.position

    def _forces(self, patch: Patch, u: Floats, q: Floats, v: Floats) -> Floats:
        """(s, e, n, 3) N on the corners."""
        law, values, area, velocity, x = self._at_points(patch, u, q, v)
        size = np.linalg.norm(area, axis=-1, keepdims=True)
        shape = shapes(x.shape[2])[0]
        force = (size * law.force(values, area / size, velocity)).reshape(len(q), len(shape), -1, 3)
        return np.asarray(np.einsum("gn,sgek->senk", shape, force))

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        if not rest:
            return
        for patch in self.patches:
            force = -rest * self._forces(patch, u, q, v)
            patch.stations.add_force(q, force, np.zeros_like(force), out)

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        for patch in self.patches:
            law, values, area, velocity, corners = self._at_points(patch, u[None], q[None], v[None])
            (x,), a = corners, area[0]
            count, n = x.shape[:2]
            size = np.linalg.norm(a, axis=-1, keepdims=True)
            normal = a / size
            force = law.force(values, normal[None], velocity)[0]
            by_n, by_w = law.slopes(values[0], normal, velocity[0])
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
