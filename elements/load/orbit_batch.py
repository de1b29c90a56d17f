"""Gravity of a central body on all masses, in a frame that moves on an orbit.

Within a connected structure gravity varies linearly, as the accelerations of rigid rotations do: with the direction u
to the body and e_2, e_3 across it, the gradient is n2 (3 u u^T - 1) = n2 (2 A(u) - A(e_2) - A(e_3)), where A(e) x is
the acceleration in a steady rotation about e at 1 rad/s. Its forces are thus the inertia forces that the elements have
in these three rotations, exact for every element with mass. Source: docs/theory/orbit.md, section 3.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.frame_index import frame_indices
from femb.elements.load.orbit_kernels import rotations
from femb.layout.connections import components
from femb.layout.element import Batch, ForceBatch, Input
from femb.layout.layout import Layout
from femb.layout.views import BlockPattern
from femb.numerics.kepler import gradient_of_gravity
from femb.numerics.rotations import cross_matrix
from femb.numerics.vector3 import HAS_AXES, IN_Q, IN_V

# Of the rotations about u, e_2 and e_3; their sum of zero cancels all but inertia forces.
WEIGHTS = np.array([-2.0, 1.0, 1.0])
AXES = np.arange(3)


@dataclass(frozen=True, eq=False)
class Rotations:
    """Three rotations of all structures at each of s states: velocities v and accelerations a (3, s, n_v), angular
    velocities (3, s, F, 3) of all frames, inertial axes; and weights (3, s): sums of inertia forces times weights are
    those of the field of gravity, to be added to the residual.
    """

    v: Floats
    a: Floats
    omega: Floats
    weights: Floats


class OrbitBatch(ForceBatch):
    """The forces of an ``femb.elements.Orbit``; its input is the position (3,) of the frame's origin, a function of
    time."""

    def __init__(self, name: str, mu: float, position: Callable[[float], Floats], layout: Layout) -> None:
        self.mu, self.origin = mu, layout.origin
        self.inputs = (Input(3, position, label=f"the orbit of loads.{name}", is_motion=True),)
        self.masses: list[Batch] = []
        frames = np.arange(len(layout.frames))
        found = components(len(frames), (frames for frames, _ in layout.couplings))
        numbers, structure = np.unique(found, return_inverse=True)
        self.count = len(numbers)
        indices = [frame_indices(layout, frame) for frame in frames.tolist()]
        self.index: Ints = np.column_stack([np.array(indices, dtype=np.int64), structure])

    def bind(self, batches: Sequence[Batch]) -> None:
        self.masses = [batch for batch in batches if batch.gravity is not None]

    def allocate(self, pattern: BlockPattern) -> None:
        self.size = pattern.n_v
        in_v, turning = self.index[:, IN_V], self.index[:, HAS_AXES] == 1
        groups = np.concatenate([in_v, in_v[turning] + 3])
        _, columns = pattern.rows_columns()
        first = np.full(int(columns.max()) + 1, -1)
        first[groups] = np.arange(len(groups))
        # entries in the first of three columns of a frame's translation or rotation, and the number of these columns
        self.entries = np.flatnonzero(first[columns] >= 0)
        self.group = first[columns[self.entries]]

    def _rotations(self, u: Floats, q: Floats) -> Rotations | None:
        """At s states; None without the central body."""
        R = np.ascontiguousarray(u[:, self.first_input : self.first_input + 3])
        if not R.any():
            return None
        v, a = np.zeros((2, 3, len(q), self.size))
        omega, rates = np.empty((3, len(q), len(self.index), 3)), np.empty(len(q))
        rotations(self.index, self.count, self.mu, self.origin, R, q, v, a[1], omega, rates)
        weights = WEIGHTS[:, None] * rates**2
        a[1] /= -weights[1][:, None]
        return Rotations(v, a, omega, weights)

    def field_part(self, of: Callable[..., Floats], u: Floats, q: Floats) -> Floats | float:
        three = self._rotations(u, q)
        if three is None:
            return 0.0
        n = self.size
        parts = of(np.tile(u, (3, 1)), np.tile(q, (3, 1)), three.v.reshape(-1, n), three.a.reshape(-1, n))
        result: Floats = np.einsum("ks,ks...->s...", three.weights, parts.reshape(3, len(q), *parts.shape[1:]))
        return result

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        if rest:
            out += rest * self.field_part(self._inertia, u, q)

    def _inertia(self, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        out = np.zeros(v.shape)
        for batch in self.masses:
            batch.residual(u, q, v, a, out)
        return out

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        """Nothing: without these derivatives, an iteration of a step h leaves about (n h)^2 / 10 of the error."""

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        """Exact but for the change of the gradient within a structure with its place on the orbit."""
        three = self._rotations(u[None], q[None])
        if three is None:
            return
        in_q, in_v = self.index[:, IN_Q], self.index[:, IN_V]
        turning = in_v[self.index[:, HAS_AXES] == 1]
        position = u[self.first_input : self.first_input + 3] + self.origin + q[in_q[:, None] + AXES]
        for k, weight in enumerate(three.weights[:, 0]):
            by_v, by_q = np.zeros((2, len(stiffness)))
            for batch in self.masses:
                batch.tangent(u, q, three.v[k, 0], three.a[k, 0], by_v, by_q)
            # v of a rotation follows the position, and in the axes of a frame its own rotation
            turns = cross_matrix(three.omega[k, 0])
            own = cross_matrix(three.v[k, 0, turning[:, None] + 3 + AXES])
            stiffness += weight * by_q
            self._add(weight * by_v, np.concatenate([turns, own]), stiffness)
        mass = np.zeros(len(stiffness))
        for batch in self.masses:
            batch.mass(q, mass)
        slopes = np.zeros((len(in_v) + len(turning), 3, 3))
        slopes[: len(in_v)] = -gradient_of_gravity(self.mu, position)
        self._add(mass, slopes, stiffness)

    def _add(self, data: Floats, by_group: Floats, out: Floats) -> None:
        """out += the matrix of block data times the matrices (groups, 3, 3) on the diagonal."""
        columns = self.entries[:, None] + AXES
        out[columns] += np.einsum("ni,nij->nj", data[columns], by_group[self.group])
