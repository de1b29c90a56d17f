"""The field of a gravity gradient on all masses, about a fixed point or the mass centre.

Source: docs/theory/gravity_gradient.md.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from femb.base.types import Floats
from femb.elements.load.mass_field import AXES, Field, MassField
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.low_rank import LowRank
from femb.layout.views import BlockPattern, OutputStates
from femb.numerics.rotations import normalise, rotate
from femb.numerics.vector3 import IN_Q, IN_V

UPPER = np.triu_indices(3)  # the tensor as six inputs, which a load factor multiplies; then the field at the origin


class TensorField(Protocol):
    """The description of such a field, ``femb.elements.load.gravity_gradient.GravityGradient``."""

    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> Any: ...
    def tensor(self, t: float) -> Floats: ...


class GravityGradientBatch(MassField):
    """The forces of one ``femb.elements.GravityGradient``.

    follows : whether the mass centre is on the orbit, as of a free model without a given origin. origin (3,) m : of the
    field at t = 0, relative to the origin of the layout; zero if it follows the mass centre.
    """

    def __init__(self, item: TensorField, layout: Layout) -> None:
        super().__init__(layout)
        self.item = item
        self.follows = item.origin is None and not len(self.held)
        self.inputs = (Input(9, self._inputs, label=f"loads.{item.name}", surroundings=True),)

    def bind(self, batches: Sequence[Batch]) -> None:
        super().bind(batches)
        self.origin = np.zeros(3)
        if self.item.origin is not None:
            self.origin = np.asarray(self.item.origin) - self.layout.origin
        elif not self.follows:
            self.origin = self._centres(self.with_fixed(self.layout.start_coordinates()[None]))[1][0]

    def _centres(self, q: Floats) -> tuple[float, Floats]:
        """Mass (kg) and mass centres (s, 3) m, relative to the origin of the layout, of states with fixed frames."""
        v, out = np.zeros((len(q), 2, self.size)), np.zeros((2 * len(q), 8))
        v[:, :, self.index[:, IN_V, None] + AXES] = np.eye(3)[:2, None]
        for batch in self.masses:
            batch.energy_momentum(np.repeat(q, 2, axis=0), v.reshape(len(out), -1), out)
        mass, (x, y) = float(out[0, 2]), np.moveaxis(out[:, 5:8].reshape(-1, 2, 3), 1, 0)  # r x m e of translations
        return mass, np.stack([y[:, 2], -x[:, 2], x[:, 1]], axis=1) / (mass or 1.0)

    def _inputs(self, t: float) -> Floats:
        """(9,) the tensor G, and the acceleration b at the origin of q: the field is G r + b."""
        G = self.item.tensor(t)
        shift = np.zeros(3) if self.follows else self.layout.origin_velocity * t - self.origin
        return np.concatenate([G[UPPER], G @ shift])

    def _tensors(self, u: Floats) -> Floats:
        """G (s, 3, 3) of inputs u (s, n_u)."""
        G = np.zeros((len(u), 3, 3))
        G[:, UPPER[0], UPPER[1]] = G[:, UPPER[1], UPPER[0]] = u[:, self.first_input : self.first_input + 6]
        return G

    def field(self, u: Floats, q: Floats, middle: Floats) -> Field | None:
        G = self._tensors(u)
        if not G.any():
            return None
        values, vectors = np.linalg.eigh(G)
        axes = np.swapaxes(vectors, 1, 2)[:, None, ::-1]  # the largest is the last
        b = u[:, self.first_input + 6 : self.first_input + 9]
        if self.follows:
            b = b - np.einsum("sij,sj->si", G, self._centres(q)[1])
        acceleration = q[:, self.index[:, IN_Q, None] + AXES] @ G + b[:, None]
        every = np.ascontiguousarray(np.broadcast_to(axes, (len(q), self.count, 3, 3)))
        return Field(acceleration, np.ascontiguousarray(values.T[::-1]), every)

    def slopes(self, u: Floats, q: Floats) -> Floats:
        found: Floats = self._tensors(u[None])[0]
        return found

    def allocate(self, pattern: BlockPattern) -> None:
        super().allocate(pattern)
        self.pattern = pattern

    def low_rank_tangent(self, u: Floats, q: Floats, v: Floats) -> LowRank | None:
        """By the motion of the mass centre that the field follows: M P G P^T M / m with the translations P."""
        if not self.follows:
            return None
        pattern, P = self.pattern, np.zeros((self.pattern.n, 3))
        P[self.index[:, IN_V, None] + AXES] = np.eye(3)
        left: Floats = (pattern.to_csc(self.mass_data(q, pattern.size)) @ P)[: len(v)]
        return LowRank(left, np.zeros_like(left), left @ self.slopes(u, q) / self._centres(q[None])[0])

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Force, and torque about the origin of the field, of all moving parts; both in inertial axes."""
        force = np.zeros_like(frames.v)
        self.nonconservative_force(frames.u, frames.q, frames.v, force)
        at = self.origin - frames.time[:, None] * self.layout.origin_velocity
        if self.follows:
            at = self._centres(frames.q)[1]
        own, turning = self.index[self.own, :, None] + AXES, self.index[self.turning, :, None]
        pull = force[:, own[:, IN_V]]
        torque = np.cross(frames.q[:, own[:, IN_Q]] - at[:, None], pull).sum(axis=1)
        attitudes = normalise(frames.q[:, turning[:, IN_Q] + 3 + np.arange(4)])
        torque += rotate(attitudes, force[:, turning[:, IN_V] + 3 + AXES]).sum(axis=1)
        name = f"loads/{self.item.name}"
        return {f"{name}/force": pull.sum(axis=1), f"{name}/torque": torque}
