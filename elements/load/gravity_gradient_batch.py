"""The force of an acceleration field that is linear in the position, on everything that has mass.

In a rotation with the angular velocity e, a unit vector, about the origin, points have the acceleration
e x (e x r) = (e e^T - 1) r. The inertia forces of this motion, which all elements with mass give, are therefore those
of a linear field. A symmetric tensor G with the eigenvalues g_k and the eigenvectors e_k is such a sum,

    G = sum w_k (e_k e_k^T - 1),    w_k = g_k - tr(G) / 2.

So three rigid rotations, and a translation for the field at the origin, give the force of the field on any kind of
element, with its own distribution of mass, and its exact tangent. Source: docs/theory/gravity_gradient.md.
"""

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.beam.batch import BeamBatch
from femb.elements.exact.batch import ExactBatch
from femb.elements.modal.batch import ModalBatch
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout
from femb.layout.low_rank import LowRank
from femb.layout.views import BlockPattern, ModelView, OutputStates
from femb.numerics.rotations import cross_matrix, normalise, rotate, rotate_back, rotation_matrix

AXES = np.arange(3)
UPPER = np.triu_indices(3)  # the tensor as six inputs, which a load factor multiplies; then the field at the origin
STATES = 4  # three rotations and a translation


class TensorField(Protocol):
    """The description of such a field, ``femb.elements.load.gravity_gradient.GravityGradient``."""

    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> Any: ...
    def tensor(self, t: float) -> Floats: ...


class GravityGradientBatch(Batch):
    """One gravity gradient; ``masses`` are batches of their own of all elements with mass, with their inertia alone."""

    def __init__(self, item: TensorField, layout: Layout, model: ModelView) -> None:
        self.item, self.layout = item, layout
        own = _unfixed(layout)
        self.masses = [batch.inertial() for batch in _batches(own, model) if batch.gravity is not None]
        moving = np.array([bool(frame.freedom) for frame in layout.frames])
        axes = np.array([frame.freedom == 6 for frame in own.frames])
        self.first_q, self.first_v, self.has_axes = own.frame_q, own.frame_v, axes
        self.own_frames = np.flatnonzero(moving)
        self.positions, self.linear = own.frame_q[:, None] + AXES, own.frame_v[:, None] + AXES
        self.quaternions, self.angular = own.frame_q[axes, None] + 3 + np.arange(4), self.linear[axes] + 3
        self.extra_q: Floats = layout.fixed[: int(np.sum(~moving))].ravel()
        self.extra_v = 6 * int(np.sum(~moving))
        self.n_v = layout.n_v
        # of a free model without a given origin, the mass centre is on the orbit
        self.follows = item.origin is None and not self.extra_v
        self.origin = self._origin()
        self.inputs = (Input(9, self._field, label=f"loads.{item.name}", surroundings=True),)

    def _origin(self) -> Floats:
        """(3,) m, of the field at t = 0, relative to the origin of the layout; zero if it follows the mass centre."""
        if self.item.origin is not None:
            return np.asarray(self.item.origin) - self.layout.origin
        if self.follows:
            return np.zeros(3)
        centre: Floats = self._centres(self._with_fixed(self.layout.start_coordinates()[None]))[1][0]
        return centre

    def _centres(self, q: Floats) -> tuple[float, Floats]:
        """Mass (kg) and mass centres (s, 3) m, relative to the origin of the layout, of states with fixed frames."""
        v, out = np.zeros((len(q), 2, self.n_v + self.extra_v)), np.zeros((2 * len(q), 8))
        v[:, :, self.linear] = np.eye(3)[:2, None]
        for batch in self.masses:
            batch.energy_momentum(np.repeat(q, 2, axis=0), v.reshape(len(out), -1), out)
        mass, (x, y) = float(out[0, 2]), np.moveaxis(out[:, 5:8].reshape(-1, 2, 3), 1, 0)  # r x m e of translations
        return mass, np.stack([y[:, 2], -x[:, 2], x[:, 1]], axis=1) / (mass or 1.0)

    def _field(self, t: float) -> Floats:
        """(9,) the tensor G, and the acceleration b at the origin of q: the field is G r + b."""
        G = self.item.tensor(t)
        shift = np.zeros(3) if self.follows else self.layout.origin_velocity * t - self.origin
        return np.concatenate([G[UPPER], G @ shift])

    def _with_fixed(self, q: Floats) -> Floats:
        return np.hstack([q, np.tile(self.extra_q, (len(q), 1))])

    def allocate(self, pattern: BlockPattern) -> None:
        self.pattern = pattern
        moving = _MovingPart(pattern)
        for batch in self.masses:
            batch.allocate(moving)

    def _motions(self, u: Floats, q: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Weights (s, 4) and axes (s, 3, 3), rows, of the motions; q, v and a of 4 s states: motions of each state."""
        given = u[:, self.first_input : self.first_input + 9]
        G = np.zeros((len(q), 3, 3))
        G[:, UPPER[0], UPPER[1]] = G[:, UPPER[1], UPPER[0]] = given[:, :6]
        values, vectors = np.linalg.eigh(G)
        e = np.swapaxes(vectors, 1, 2)
        weights = np.hstack([values - 0.5 * values.sum(axis=1, keepdims=True), np.ones((len(q), 1))])
        whole = self._with_fixed(q)
        v, a = np.zeros((2, len(q), STATES, self.n_v + self.extra_v))
        spins = np.swapaxes(cross_matrix(e), -1, -2)
        velocity = whole[:, None, self.positions] @ spins
        v[:, :3, self.linear] = velocity
        a[:, :3, self.linear] = velocity @ spins
        b = given[:, 6:]
        if self.follows:
            b = b - np.einsum("sij,sj->si", G, self._centres(whole)[1])
        a[:, 3, self.linear] = b[:, None]
        attitudes = rotation_matrix(normalise(whole[:, self.quaternions]))
        v[:, :3, self.angular] = np.einsum("ski,snij->sknj", e, attitudes)
        many = len(q) * STATES
        return weights, e, np.repeat(whole, STATES, axis=0), v.reshape(many, -1), a.reshape(many, -1)

    def nonconservative_force(self, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        weights, _, Q, V, A = self._motions(u, q)
        forces, still = np.zeros_like(V), np.zeros((len(Q), _count(self.masses)))
        for batch in self.masses:
            batch.residual(still, Q, V, A, forces)
        out += np.einsum("sk,skv->sv", weights, forces.reshape(len(q), STATES, -1)[:, :, : self.n_v])

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats) -> None:
        force = np.zeros_like(out)
        self.nonconservative_force(u, q, v, force)
        out -= force

    def matrices(self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats) -> None:
        """Empty: beside the mass over the square of a step, n^2 times the mass is small."""

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        weights, axes, Q, V, A = self._motions(u[None], q[None])
        still, pattern = np.zeros(_count(self.masses)), self.pattern
        mass = np.zeros(pattern.size)
        for batch in self.masses:
            batch.mass(Q[0], mass)
        for k, weight in enumerate(weights[0]):
            by_v, by_q = np.zeros((2, pattern.size))
            for batch in self.masses:
                batch.tangent(still, Q[k], V[k], A[k], by_v, by_q)
            stiffness -= weight * by_q
            if k < 3:  # velocities and accelerations of the rotations depend on the pose
                turned, twice = self._changes(Q[k], axes[0, k])
                change = pattern.to_csc(by_v) @ turned + pattern.to_csc(mass) @ twice
                stiffness -= weight * pattern.from_csc(change)

    def _changes(self, q: Floats, e: Floats) -> tuple[Any, Any]:
        """Derivatives of v and of a of the rotation about e by the pose, scipy.sparse (n, n): blocks of the frames."""
        from scipy.sparse import csc_array

        frames, spin = self.own_frames, cross_matrix(e)
        with_axes = frames[self.has_axes[frames]]
        attitudes = normalise(q[self.first_q[with_axes, None] + 3 + np.arange(4)])
        own = cross_matrix(rotate_back(attitudes, np.broadcast_to(e, (len(with_axes), 3))))
        linear, angular = self.first_v[frames], self.first_v[with_axes] + 3

        def blocks(starts: Ints, values: Floats) -> Any:
            rows = (starts[:, None, None] + AXES[:, None] + 0 * AXES).ravel()
            columns = (starts[:, None, None] + 0 * AXES[:, None] + AXES).ravel()
            data = np.broadcast_to(values, (len(starts), 3, 3)).ravel()
            return csc_array((data, (rows, columns)), shape=(self.pattern.n, self.pattern.n))

        return blocks(linear, spin) + blocks(angular, own), blocks(linear, spin @ spin)

    def low_rank_tangent(self, u: Floats, q: Floats, v: Floats) -> LowRank | None:
        """By the motion of the mass centre that the field follows: M P G P^T M / m with the translations P."""
        if not self.follows:
            return None
        pattern, given = self.pattern, u[self.first_input : self.first_input + 6]
        G, P, mass = np.zeros((3, 3)), np.zeros((pattern.n, 3)), np.zeros(pattern.size)
        G[UPPER] = G.T[UPPER] = given
        P[self.linear] = np.eye(3)
        for batch in self.masses:
            batch.mass(q, mass)
        left: Floats = (pattern.to_csc(mass) @ P)[: self.n_v]
        return LowRank(left, np.zeros_like(left), left @ G / self._centres(q[None])[0])

    def add_section_forces(self, beams: Batch, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        weights, _, Q, V, A = self._motions(u, q)
        for batch in self.masses:
            if isinstance(batch, BeamBatch | ExactBatch) and type(batch) is type(beams):
                forces = batch.section_forces(Q, V, A)
                out -= np.einsum("sk,skeij->seij", weights, forces.reshape(len(q), STATES, *forces.shape[1:]))

    def add_interface_forces(self, body: Batch, u: Floats, q: Floats, v: Floats, out: Floats) -> None:
        for batch in self.masses:
            if isinstance(batch, ModalBatch) and isinstance(body, ModalBatch) and batch.label == body.label:
                weights, _, Q, V, A = self._motions(u, q)
                forces = batch.interface_forces(Q, V, A)
                out -= np.einsum("sk,skij->sij", weights, forces.reshape(len(q), STATES, *forces.shape[1:]))

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Force, and torque about the origin of the field, of all moving parts; both in inertial axes."""
        force = np.zeros_like(frames.v)
        self.nonconservative_force(frames.u, frames.q, frames.v, force)
        own = force[:, self.first_v[self.own_frames][:, None] + AXES]
        at = self.origin - frames.time[:, None] * self.layout.origin_velocity
        if self.follows:
            at = self._centres(frames.q)[1]
        arms = frames.q[:, self.first_q[self.own_frames][:, None] + AXES] - at[:, None]
        torque = np.cross(arms, own).sum(axis=1)
        turning = self.own_frames[self.has_axes[self.own_frames]]
        attitudes = normalise(frames.q[:, self.first_q[turning, None] + 3 + np.arange(4)])
        torque += rotate(attitudes, force[:, self.first_v[turning, None] + 3 + AXES]).sum(axis=1)
        name = f"loads/{self.item.name}"
        return {f"{name}/force": own.sum(axis=1), f"{name}/torque": torque}


class _MovingPart:
    """A pattern for batches that have velocities of fixed frames too, from n_v on: those have no blocks."""

    def __init__(self, pattern: BlockPattern) -> None:
        self.pattern, self.n_v, self.n, self.size = pattern, pattern.n_v, pattern.n, pattern.size
        self.to_csc, self.from_csc = pattern.to_csc, pattern.from_csc

    def offsets(self, starts: Ints) -> tuple[Ints, Ints]:
        return self.pattern.offsets(np.where(starts < self.n_v, starts, -1))


def _unfixed(layout: Layout) -> Layout:
    """The layout with velocities of the fixed frames, after all others, so that they can take part in a rotation."""
    other, fixed = copy(layout), layout.frame_v < 0
    row = -1 - layout.frame_q[fixed]
    other.frame_q, other.frame_v = layout.frame_q.copy(), layout.frame_v.copy()
    other.frame_q[fixed], other.frame_v[fixed] = layout.n_q + 7 * row, layout.n_v + 6 * row
    other.frames = [replace(frame, freedom=frame.freedom or 6) for frame in layout.frames]
    return other


def _batches(layout: Layout, model: ModelView) -> Iterator[Batch]:
    """The batches of all bodies and beams."""
    kinds: dict[type[Any], list[Any]] = {}
    for item in model.items():
        if item.table in ("bodies", "beams"):
            kinds.setdefault(type(item), []).append(item)
    for kind, items in kinds.items():
        yield from kind.batches(items, layout, model)


def _count(batches: list[Batch]) -> int:
    """A number of inputs with which each of the batches can be evaluated; they have no effect on its inertia."""
    return max((sum(each.width for each in batch.inputs) for batch in batches), default=0)
