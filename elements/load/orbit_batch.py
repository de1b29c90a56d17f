"""Gravity of a central body on all masses, in a frame that moves on an orbit. Source: docs/theory/orbit.md."""

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.load.mass_field import DIRECTIONS, STRUCTURE, MassField, Rotations, triad
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.stacking import Shift
from femb.layout.views import BlockPattern
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.orbits import gradient_of_gravity
from femb.numerics.vector3 import IN_Q, dot

# Kernels of the gravity of a central body, and of its gradient alone: see ``orbit_batch``, ``gravity_gradient_batch``.
#
# Both set the field of ``mass_field.Rotations`` at s states: acceleration (s, F, 3) at the frames, weights (3, s), and
# axes (s, g, 3, 3) : rows along the direction to the body and two across it. index (F, 4) : as of
# ``mass_field_kernels``. All are zero at a state at which the body has no gravity, as at a load factor of zero; they
# return whether any state has gravity.


@inlined
def set_weights(factor, weights):
    """weights (3,) : factor times those of the gradient along the direction to the body and across it."""
    weights[0], weights[1], weights[2] = 2.0 * factor, -factor, -factor


@inlined
def set_nothing(state, acceleration, weights, axes):
    """No field at a state."""
    acceleration[state] = 0.0
    weights[:, state] = 0.0
    axes[state] = 0.0


@kernel
def gravity(index, mu, origin, u, first, q, middle, acceleration, weights, axes):
    """Gravity at the frames less that at the origin: docs/theory/orbit.md, equations (4) and (5).

    Of each structure: mu (g,), origin (g, 3) of its coordinates, and first (g,), where in u (s, n_u) its R (3,) begins,
    the origin of the frame from the central body. middle (s, g, 3) : of the frames of each structure. axes have the
    length 1 in the first structure with gravity, and in others in proportion to their n.
    """
    w, found = np.empty((3, 3)), False
    x, y, z = w[0], w[1], w[2]
    for state in range(q.shape[0]):
        first_rate = 0.0
        for g in range(middle.shape[1]):
            R = u[state, first[g] : first[g] + 3]
            if dot(R, R) == 0.0:
                axes[state, g] = 0.0
                continue
            for o in range(3):
                x[o] = R[o] + origin[g, o] + middle[state, g, o]
            distance = np.sqrt(dot(x, x))
            rate = np.sqrt(mu[g] / distance**3)
            if first_rate == 0.0:
                first_rate = rate
            scale = rate / first_rate
            for o in range(3):
                x[o] /= distance
            triad(x, y, z)
            for o in range(3):
                axes[state, g, 0, o], axes[state, g, 1, o] = scale * x[o], scale * y[o]
                axes[state, g, 2, o] = scale * z[o]
        if first_rate == 0.0:
            set_nothing(state, acceleration, weights, axes)
            continue
        found = True
        set_weights(first_rate**2, weights[:, state])
        for k in range(index.shape[0]):
            g = index[k, STRUCTURE]
            R = u[state, first[g] : first[g] + 3]
            square = dot(R, R)
            if square == 0.0:
                acceleration[state, k] = 0.0
                continue
            for o in range(3):
                y[o] = origin[g, o] + q[state, index[k, IN_Q] + o]
            # Encke's form of gravity at R + y less that at R
            ratio = (dot(y, y) + 2.0 * dot(y, R)) / square
            cube = (1.0 + ratio) ** 1.5
            f = ratio * (3.0 + ratio * (3.0 + ratio)) / (1.0 + cube)
            for o in range(3):
                acceleration[state, k, o] = -mu[g] / (square**1.5 * cube) * (y[o] - f * R[o])
    return found


@kernel
def gradient(index, u, first, centre, q, acceleration, weights, axes):
    """The linear field of a gravity gradient G = n^2 (3 o o^T - 1): docs/theory/gravity_gradient.md, equation (1).

    u (s, n_u), from ``first`` on : n^2, n^2 o (3,), and the acceleration b (3,) at the origin of q, which a load factor
    multiplies; the field is G (r - centre) + b. centre (s, 3).
    """
    w, found = np.empty((4, 3)), False
    vertical, y, z, r = w[0], w[1], w[2], w[3]
    for state in range(q.shape[0]):
        factor, b = u[state, first], u[state, first + 4 : first + 7]
        if factor == 0.0:
            set_nothing(state, acceleration, weights, axes)
            continue
        found = True
        for o in range(3):
            vertical[o] = u[state, first + 1 + o] / factor
        set_weights(factor, weights[:, state])
        triad(vertical, y, z)
        for g in range(axes.shape[1]):
            for o in range(3):
                axes[state, g, 0, o], axes[state, g, 1, o], axes[state, g, 2, o] = vertical[o], y[o], z[o]
        for k in range(index.shape[0]):
            for o in range(3):
                r[o] = q[state, index[k, IN_Q] + o] - centre[state, o]
            up = 3.0 * dot(vertical, r)
            for o in range(3):
                acceleration[state, k, o] = b[o] + factor * (up * vertical[o] - r[o])
    return found


class OrbitBatch(MassField):
    """The forces of an ``femb.elements.Orbit``; its input is the position (3,) of the frame's origin, a function of
    time.

    mu (g,) and origin (g, 3) : of each structure, the constant of its central body and the origin of its coordinates;
    own_input (g,) : where its position of the frame begins among the inputs of the batch.
    """

    def __init__(self, name: str, mu: float, position: Callable[[float], Floats], layout: Layout) -> None:
        super().__init__(layout)
        self.mu: Floats = np.full(self.count, mu)
        self.origin: Floats = np.tile(layout.origin, (self.count, 1))
        self.own_input: Ints = np.zeros(self.count, dtype=np.int64)
        self.inputs = (Input(3, position, label=f"the orbit of loads.{name}", surroundings=True),)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = cls._stacked_field(batches, shifts, layout)
        result.mu = np.concatenate([batch.mu for batch in batches])
        result.origin = np.concatenate([batch.origin for batch in batches])
        result.own_input = np.concatenate(
            [batch.own_input + shift.inputs for batch, shift in zip(batches, shifts, strict=True)]
        )
        return result

    def allocate(self, pattern: BlockPattern) -> None:
        super().allocate(pattern)
        self.first: Ints = self.first_input + self.own_input

    def set_field(self, u: Floats, of: Rotations) -> bool:
        field = of.acceleration, of.weights, of.axes
        found: bool = gravity(self.index, self.mu, self.origin, u, self.first, of.q, of.middle, *field)
        return found

    def slopes(self, u: Floats, q: Floats) -> Floats:
        structure = self.index[:, STRUCTURE]
        at = u[self.first[structure, None] + DIRECTIONS] + self.origin[structure]
        return gradient_of_gravity(self.mu[structure], at + q[self.index[:, IN_Q, None] + DIRECTIONS])
