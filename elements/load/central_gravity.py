"""Gravity of a central body on all masses, in a frame that moves on an orbit. Source: docs/theory/orbit.md."""

from collections.abc import Callable, Sequence
from math import inf
from typing import Annotated, Any, Self, TypeAlias

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.load.mass_field import (
    DIRECTIONS,
    STRUCTURE,
    MassField,
    Rotations,
    length,
    set_nothing,
    set_weights,
    triad,
)
from femb.layout.element import Input
from femb.layout.evaluation import Call
from femb.layout.layout import Layout
from femb.layout.stacking import Shift
from femb.layout.views import BlockPattern
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import kernel_with_entry
from femb.numerics.compiler.duals import Matrix3, Number, Vector3, dot, identity, matrix, outer, sqrt
from femb.numerics.compiler.traced import V3, put, reader, traced
from femb.numerics.paths import Central
from femb.numerics.vector3 import IN_Q

body_at = reader(5)
Body: TypeAlias = Annotated[Any, (5,)]


@traced
def gradient_at(x: Vector3, body: Body) -> Any:
    """The gradient (3, 3) of gravity at x from the centre of a body, see ``gravity``: equation (5b)."""
    square, along, pole = dot(x, x), dot(x, body[2:]), body[2:]
    n2, s2, up, one = body[0] / (square * sqrt(square)), along * along / square, outer(x, x) / square, identity(3)
    both = along / square * (outer(x, pole) + outer(pole, x))
    of_oblateness = (1.0 - 5.0 * s2) * one + 2.0 * outer(pole, pole) - 10.0 * both + (35.0 * s2 - 5.0) * up
    return n2 * (3.0 * up - one) - body[1] / (square * square * sqrt(square)) * of_oblateness


@traced
def axes_of_gradient(G: Matrix3, x: Vector3, y: Vector3, z: Vector3, rate2: Number) -> Any:
    """Rows e_k (3, 3) that give G as the sum of w_k e_k e_k^T, with ``set_weights`` of rate2; beside x, y, z."""
    rows = []
    for along, weight in ((x, 2.0 * rate2), (y, -rate2), (z, -rate2)):
        axis = G @ along
        axis = axis / sqrt(weight * dot(axis, along))
        G = G - weight * outer(axis, axis)
        rows.append(axis)
    return matrix(*rows)


def of_oblateness(x: Any, body: Any) -> Any:
    """The part of gravity at x that J2 gives."""
    square, height = dot(x, x), dot(x, body[2:])
    part = (5.0 * height * height / square - 1.0) * x - 2.0 * height * body[2:]
    return body[1] / (square * square * sqrt(square)) * part


@traced
def difference(y: Vector3, R: Vector3, b: Vector3, body: Body) -> Any:
    """Gravity at R + y less that at R, in Encke's form, and the acceleration b: equations (4), (5)."""
    square = dot(R, R)
    ratio = (dot(y, y) + 2.0 * dot(y, R)) / square
    cube = (1.0 + ratio) * sqrt(1.0 + ratio)
    f = ratio * (3.0 + ratio * (3.0 + ratio)) / (1.0 + cube)
    spherical = body[0] / (square * sqrt(square) * cube) * (f * R - y)
    return spherical + b + of_oblateness(R + y, body) - of_oblateness(R, body)


@kernel_with_entry
def gravity(index, bodies, origin, u, first, q, middle, acceleration, weights, axes):
    """Gravity at the frames less that at the origin: docs/theory/orbit.md, equations (4) to (5b).

    Of each structure: bodies (g, 5), with the constant mu of its central body, 3/2 J2 mu radius^2 and the pole; origin
    (g, 3) of its coordinates; and first (g,), where in u (s, n_u) its six numbers begin: R (3,), the origin of the
    frame from the central body, and the acceleration (3,) of a mass there. middle (s, g, 3) : of the frames of each
    structure. axes are vectors whose squares, times the weights, add up to the gradient.
    """
    for state in range(q.shape[0]):
        rate2 = 0.0
        for g in range(middle.shape[1]):
            R, body = u[state, first[g] :], body_at(bodies[g])
            axes[state, g] = 0.0
            if R[0] != 0.0 or R[1] != 0.0 or R[2] != 0.0:
                x = V3(R) + V3(origin[g]) + V3(middle[state, g])
                distance = length(x)
                up = x / distance
                if rate2 == 0.0:
                    rate2 = bodies[g, 0] / distance**3
                y, z = triad(up)
                put(axes_of_gradient(gradient_at(x, body), up, y, z, rate2), axes[state, g])
        if rate2 == 0.0:
            set_nothing(state, acceleration, weights, axes)
            continue
        set_weights(rate2, weights[:, state])
        for k in range(index.shape[0]):
            g, acceleration[state, k] = index[k, STRUCTURE], 0.0
            R = u[state, first[g] :]
            if R[0] != 0.0 or R[1] != 0.0 or R[2] != 0.0:
                y = V3(origin[g]) + V3(q[state, index[k, IN_Q] :])
                put(difference(y, V3(R), V3(R[3:]), body_at(bodies[g])), acceleration[state, k])


class OrbitBatch(MassField):
    """The forces of an ``femb.elements.Orbit``; its input is the position (3,) of the frame's origin and the
    acceleration (3,) of a mass there, a function of time.

    bodies (g, 5) and origin (g, 3) : of each structure, its central body, see ``gravity``, and the origin of its
    coordinates; own_input (g,) : where its numbers begin among the inputs of the batch. spacing : s, of the instants
    of a table of origins, over which no step goes.
    """

    def __init__(
        self, name: str, body: Central, field: Callable[[float], Floats], spacing: float, layout: Layout
    ) -> None:
        super().__init__(layout)
        self.spacing, self.limits_steps = spacing, spacing < inf
        self.bodies: Floats = np.tile([body.mu, body.oblate, *body.pole], (self.count, 1)).astype(float)
        self.origin: Floats = np.tile(layout.origin, (self.count, 1))
        self.own_input: Ints = np.zeros(self.count, dtype=np.int64)
        self.inputs = (Input(6, field, label=f"the orbit of loads.{name}", surroundings=True),)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = cls._stacked_field(batches, shifts, layout)
        result.bodies = np.concatenate([batch.bodies for batch in batches])
        result.origin = np.concatenate([batch.origin for batch in batches])
        result.spacing = min(batch.spacing for batch in batches)
        result.limits_steps = result.spacing < inf
        result.own_input = np.concatenate(
            [batch.own_input + shift.inputs for batch, shift in zip(batches, shifts, strict=True)]
        )
        return result

    def allocate(self, pattern: BlockPattern) -> None:
        super().allocate(pattern)
        self.first: Ints = self.first_input + self.own_input

    def longest_step(self, q: Floats, v: Floats) -> float:
        return self.spacing

    def field_calls(self, u: Floats, of: Rotations) -> list[Call]:
        bodies, field = (self.bodies, self.origin), (of.acceleration, of.weights, of.axes)
        return [Bound(gravity, self.index, *bodies, u, self.first, of.q, of.middle, *field)]

    def slopes(self, u: Floats, q: Floats) -> Floats:
        structure = self.index[:, STRUCTURE]
        at = u[self.first[structure, None] + DIRECTIONS] + self.origin[structure]
        body = self.bodies[structure]
        central = Central(body[:, 0], body[:, 1], body[:, 2:])
        return central.gradient(at + q[self.index[:, IN_Q, None] + DIRECTIONS])
