"""The field of a gravity gradient on all masses, about a fixed point or the mass centre.

Source: docs/theory/gravity_gradient.md.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from femb.base.types import Floats
from femb.elements.load.mass_field import DIRECTIONS, MassField, Rotations
from femb.elements.load.orbit_batch import gradient
from femb.elements.private_blocks import CutsFree
from femb.layout.element import Batch, Input, LowRank
from femb.layout.layout import Layout
from femb.layout.views import BlockPattern, OutputStates
from femb.numerics.rotations import normalise, rotate
from femb.numerics.vector3 import IN_Q, IN_V


class TensorField(Protocol):
    """The description of such a field, ``femb.elements.load.gravity_gradient.GravityGradient``."""

    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> Any: ...
    @property
    def orbital_rate(self) -> float: ...
    def vertical(self, t: float) -> Floats: ...


class GravityGradientBatch(MassField):
    """The forces of one ``femb.elements.GravityGradient``.

    follows : whether the mass centre is on the orbit, as of a free model without a given origin. origin (3,) m : of the
    field at t = 0, relative to the origin of the layout; zero if it follows the mass centre.
    """

    def __init__(self, item: TensorField, layout: Layout) -> None:
        super().__init__(layout)
        self.item = item
        self.follows = item.origin is None and not len(self.held)
        self.translations = np.zeros((2, self.size))  # velocities along x and y
        self.translations[[[0], [1]], self.index[:, IN_V] + [[0], [1]]] = 1.0
        self.inputs = (Input(7, self._inputs, label=f"loads.{item.name}", surroundings=True),)

    def bind(self, batches: Sequence[Batch]) -> None:
        super().bind(batches)
        self.origin = np.zeros(3)
        if self.item.origin is not None:
            self.origin = np.asarray(self.item.origin) - self.layout.origin
        elif not self.follows:
            self.origin = self._centres(self.with_fixed(self.layout.start_coordinates()[None]))[1][0]

    def _centres(self, q: Floats) -> tuple[float, Floats]:
        """Mass (kg) and mass centres (s, 3) m, relative to the origin of the layout, of states with fixed frames."""
        s = len(q)
        out, states = np.zeros((2 * s, 8)), np.concatenate([q, q])
        v = np.repeat(self.translations, s, axis=0)
        for batch in self.masses:
            batch.energy_momentum(states, v, out)
        centres, mass = np.empty((s, 3)), float(out[0, 2])
        # r x m e of the translations
        centres[:, 0], centres[:, 1], centres[:, 2] = out[s:, 7], -out[:s, 7], out[:s, 6]
        return mass, centres / (mass or 1.0)

    def _inputs(self, t: float) -> Floats:
        """(7,) numbers of the field, as of the kernel ``gradient``; a load factor multiplies them."""
        factor, vertical = self.item.orbital_rate**2, self.item.vertical(t)
        shift = np.zeros(3) if self.follows else self.layout.origin_velocity * t - self.origin
        return np.concatenate([[factor], factor * vertical, factor * (3.0 * (vertical @ shift) * vertical - shift)])

    def set_field(self, u: Floats, of: Rotations) -> bool:
        centre = self._centres(of.q)[1] if self.follows else np.zeros((len(u), 3))
        field = of.acceleration, of.weights, of.axes
        found: bool = gradient(self.index, u, self.first_input, centre, of.q, *field)
        return found

    def slopes(self, u: Floats, q: Floats) -> Floats:
        factor, vertical = u[self.first_input], u[self.first_input + 1 : self.first_input + 4]
        if factor == 0.0:
            return np.zeros((3, 3))
        tensor: Floats = 3.0 / factor * np.outer(vertical, vertical) - factor * np.eye(3)
        return tensor

    def allocate(self, pattern: BlockPattern) -> None:
        super().allocate(pattern)
        self.pattern = pattern

    def low_rank_tangent(self, u: Floats, q: Floats, v: Floats) -> LowRank | None:
        """By the motion of the mass centre that the field follows: M P G P^T M / m with the translations P."""
        if not self.follows:
            return None
        pattern, P = self.pattern, np.zeros((self.pattern.n, 3))
        P[self.index[:, IN_V, None] + DIRECTIONS] = np.eye(3)
        left: Floats = (pattern.to_csc(self.mass_data(q, pattern.size)) @ P)[: len(v)]
        return LowRank(left, np.zeros_like(left), left @ self.slopes(u, q) / self._centres(q[None])[0])

    def field_tangent(self, batch: CutsFree, number: int, u: Floats, q: Floats) -> Floats | float:
        result, of_centre = super().field_tangent(batch, number, u, q), self.low_rank_tangent(u, q, np.zeros(self.size))
        if of_centre is None:
            return result
        body = batch.free_body(number)
        P = np.zeros((body.size, 3))
        for group, _, _ in body.ends:
            P[int(body.starts[group]) + DIRECTIONS] = np.eye(3)
        return np.asarray(result + body.mass(q) @ P @ of_centre.stiffness.T)

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Force, and torque about the origin of the field, of all moving parts; both in inertial axes."""
        force = np.zeros_like(frames.v)
        self.nonconservative_force(frames.u, frames.q, frames.v, force)
        at = self.origin - frames.time[:, None] * self.layout.origin_velocity
        if self.follows:
            at = self._centres(frames.q)[1]
        own, turning = self.index[self.own, :, None] + DIRECTIONS, self.index[self.turning, :, None]
        pull = force[:, own[:, IN_V]]
        torque = np.cross(frames.q[:, own[:, IN_Q]] - at[:, None], pull).sum(axis=1)
        attitudes = normalise(frames.q[:, turning[:, IN_Q] + 3 + np.arange(4)])
        torque += rotate(attitudes, force[:, turning[:, IN_V] + 3 + DIRECTIONS]).sum(axis=1)
        name = f"loads/{self.item.name}"
        return {f"{name}/force": pull.sum(axis=1), f"{name}/torque": torque}
