"""Rigid bodies, point masses fixed to frames, and free point masses, evaluated together."""

from collections.abc import Sequence
from copy import copy
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from femb.base.types import Floats
from femb.elements.private_blocks import MassiveElements
from femb.layout.element import Batch, weighed
from femb.layout.layout import Layout
from femb.layout.stacking import Shift, shifted
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Tangent
from femb.numerics.compiler.compile import kernel, kernel_with_entry
from femb.numerics.compiler.duals import (
    Matrix3,
    Number,
    Vector3,
    Vector6,
    cross,
    dot,
    identity,
    joined,
    matrix,
    outer,
    skew,
    vector,
)
from femb.numerics.compiler.traced import V3, V4, V6, add_to, put, put_changes, reader, traced, unit_changes
from femb.numerics.vector3 import IN_Q, IN_V, attitude, scatter, turned_about

# Kernels over rigid bodies and point masses: a mass, and an inertia about it, at an offset in a frame.
#
# index (n, 2) int: index of the frame in q and in v. data (n, 13): MASS, offset (3) of the mass CENTER in frame axes,
# INERTIA (9) about the mass centre in frame axes. Source: docs/theory/rigid_body.md.

MASS, CENTER, INERTIA = 0, 1, 4

STARTS = np.array([0])
SIZES = np.array([6])


class BodyInertia(NamedTuple):
    """Mass, offset of its centre in the frame (3,), inertia about that centre in frame axes (3, 3)."""

    mass: Number
    s: Vector3
    J: Matrix3


row_of_data, pose_at = reader(13), reader(7)


@traced
def inertia_of(row: Annotated[Any, (13,)]) -> Any:
    """Inertia of a row of data (13,)."""
    return BodyInertia(row[MASS], row[CENTER:INERTIA], row[INERTIA:].shaped(3, 3))


@traced
def body_force(body: BodyInertia, R: Matrix3, omega: Vector3, acceleration: Vector6, gravity: Vector3) -> Any:
    """Force, inertial axes, and torque, frame axes, on a frame with the acceleration (6,)."""
    m, s, J = body
    alpha = acceleration[3:]
    specific = acceleration[:3] - gravity
    force = m * (specific + R @ (cross(alpha, s) + cross(omega, cross(omega, s))))
    return joined(force, cross(s, R.T @ force) + J @ alpha + cross(omega, J @ omega))


@traced
def body_mass(body: BodyInertia, R: Matrix3) -> Any:
    """Mass matrix (6, 6); the mass centre has the velocity r' - R s~ omega."""
    m, s, J = body
    coupling, about = -m * R @ skew(s), J + m * (dot(s, s) * identity(3) - outer(s, s))
    rows = [joined(m * e, row) for e, row in zip(identity(3), coupling, strict=True)]
    return matrix(*rows, *(joined(*each) for each in zip(coupling.T, about, strict=True)))


@traced
def point_energy(m: Number, r: Vector3, v: Vector3, gravity: Vector3) -> Any:
    """Kinetic and potential energy, linear momentum, angular momentum about the inertial origin, of a point mass."""
    return joined(0.5 * m * dot(v, v), -m * dot(gravity, r), m * v, cross(r, m * v))


@traced
def body_energy(body: BodyInertia, r: Vector3, R: Matrix3, velocity: Vector6, gravity: Vector3) -> Any:
    """``point_energy`` of a body; velocity (6,) of its frame."""
    m, s, J = body
    omega = velocity[3:]
    spin = J @ omega
    of_centre = point_energy(m, r + R @ s, velocity[:3] + R @ cross(omega, s), gravity)
    return of_centre + joined(0.5 * dot(omega, spin), vector(0.0, 0.0, 0.0, 0.0), R @ spin)


@kernel_with_entry
def force(index, data, gravity, q, v, a, out):
    """out (s, n_v) += inertia and gyroscopic force minus gravity."""
    g = V3(gravity)
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j = index[k, IN_Q], index[k, IN_V]
            body, R, omega = inertia_of(row_of_data(data[k])), attitude(V4(q[state, i + 3 :])), V3(v[state, j + 3 :])
            add_to(body_force(body, R, omega, V6(a[state, j:]), g), out[state, j:])


@kernel_with_entry
def add_mass(index, data, offset, stride, q, out):
    """Add the 6 x 6 mass matrices at every state to block data (s, size)."""
    A = np.empty((6, 6))
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            put(body_mass(inertia_of(row_of_data(data[k])), attitude(V4(q[state, index[k, IN_Q] + 3 :]))), A)
            scatter(A, STARTS, SIZES, offset[k], stride[k], out[state])


# Directions of the tangent: rotations about the frame's axes, and from 4 on components of the angular velocity.
turns, spins = unit_changes(0, 8), unit_changes(4, 8)


@kernel
def tangent(index, data, gravity, offset, stride, q, v, a, damping, stiffness):
    """Add the exact d(residual)/dv and d(residual)/dq H at every state to block data (s, size)."""
    C, K, rows = np.zeros((6, 6)), np.zeros((6, 6)), np.empty((6, 8))
    g = V3(gravity)
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j = index[k, IN_Q], index[k, IN_V]
            body, omega = inertia_of(row_of_data(data[k])), V3(v[state, j + 3 :])
            R = turned_about(attitude(V4(q[state, i + 3 :])), turns(0.0 * omega))
            put_changes(body_force(body, R, spins(omega), V6(a[state, j:]), g), rows)
            for m in range(6):
                for o in range(3):
                    K[m, 3 + o], C[m, 3 + o] = rows[m, o], rows[m, 4 + o]
            scatter(C, STARTS, SIZES, offset[k], stride[k], damping[state])
            scatter(K, STARTS, SIZES, offset[k], stride[k], stiffness[state])


@kernel
def energy_momentum(index, data, gravity, q, v, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the inertial origin."""
    g = V3(gravity)
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j = index[k, IN_Q], index[k, IN_V]
            body, place, velocity = inertia_of(row_of_data(data[k])), pose_at(q[state, i:]), V6(v[state, j:])
            add_to(body_energy(body, place[:3], attitude(place[3:]), velocity, g), out[state])


@kernel_with_entry
def force_of_points(index, masses, gravity, a, out):
    """out (s, n_v) += inertia force minus weight of point masses (n,)."""
    g = V3(gravity)
    for state in range(a.shape[0]):
        for k in range(masses.size):
            j = index[k, IN_V]
            add_to(masses[k] * (V3(a[state, j:]) - g), out[state, j:])


@kernel_with_entry
def add_point_masses(masses, offset, stride, q, out):
    """Add masses (n,) at every state to block data (s, size)."""
    for state in range(q.shape[0]):
        for k in range(masses.size):
            for o in range(3):
                out[state, offset[k, 0, 0] + (stride[k, 0, 0] + 1) * o] += masses[k]


@kernel
def energy_of_points(index, masses, gravity, q, v, out):
    """``energy_momentum`` of point masses (n,)."""
    g = V3(gravity)
    for state in range(q.shape[0]):
        for k in range(masses.size):
            r, speed = V3(q[state, index[k, IN_Q] :]), V3(v[state, index[k, IN_V] :])
            add_to(point_energy(masses[k], r, speed, g), out[state])


class MassBatch(MassiveElements):
    """Masses and inertias at offsets in moving frames with axes.

    entries : (frame, mass, offset of the mass centre in the frame (3,), inertia about the mass centre (3, 3)).
    """

    in_v, sizes = [IN_V], (6,)

    def __init__(self, layout: Layout, gravity: Floats, entries: list[tuple[int, float, Floats, Floats]]) -> None:
        frames = [frame for frame, *_ in entries]
        self.set_index(np.stack([layout.frame_q[frames], layout.frame_v[frames]], axis=1))
        self.data = np.empty((len(entries), 13))
        self.data[:, 0] = [mass for _, mass, *_ in entries]
        self.data[:, 1:4] = [offset for _, _, offset, _ in entries]
        self.data[:, 4:] = np.array([inertia for *_, inertia in entries]).reshape(-1, 9)
        self.gravity: Floats = np.array(gravity)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = copy(batches[0])
        result.set_index(shifted([batch.index for batch in batches], shifts, [IN_Q], [IN_V]))
        result.data = np.concatenate([batch.data for batch in batches])
        return result

    def forces(self) -> list[Force]:
        return [Force(force, (self.index, self.data, self.gravity), "qva", ForcePart.INERTIA)]

    def masses(self) -> list[MassMatrix]:
        return [MassMatrix(add_mass, (self.index, self.data), self.starts, self.sizes)]

    def tangents(self) -> list[Tangent]:
        return [Tangent(tangent, (self.index, self.data, self.gravity), self.starts, "qva", step=False)]

    def energies(self) -> list[Energy]:
        return [Energy(energy_momentum, (self.index, self.data, self.gravity))]

    def inertial(self) -> Self:
        return weighed(self, np.zeros(3))


class PointBatch(Batch):
    """Free point masses: three coordinates each, linear equations."""

    def __init__(self, layout: Layout, gravity: Floats, entries: list[tuple[int, float]]) -> None:
        frames = [frame for frame, _ in entries]
        self.index = np.stack([layout.frame_q[frames], layout.frame_v[frames]], axis=1)
        self.data = np.array([mass for _, mass in entries])
        self.gravity: Floats = np.array(gravity)

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = copy(batches[0])
        result.index = shifted([batch.index for batch in batches], shifts, [IN_Q], [IN_V])
        result.data = np.concatenate([batch.data for batch in batches])
        return result

    def forces(self) -> list[Force]:
        return [Force(force_of_points, (self.index, self.data, self.gravity), "a", ForcePart.INERTIA)]

    def masses(self) -> list[MassMatrix]:
        return [MassMatrix(add_point_masses, (self.data,), self.index[:, [IN_V]], (3,))]

    def energies(self) -> list[Energy]:
        return [Energy(energy_of_points, (self.index, self.data, self.gravity))]
