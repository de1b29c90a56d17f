"""Rigid bodies, point masses fixed to frames, and free point masses, evaluated together."""

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from femb.base.types import Floats
from femb.elements.private_blocks import MassiveElements
from femb.layout.element import Batch, weighed
from femb.layout.layout import Layout
from femb.layout.stacking import Shift, shifted
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Tangent
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.vector3 import IN_Q, IN_V, cross, dot, rotate, rotate_back, rotation, scatter, times_skew

# Kernels over rigid bodies and point masses: a mass, and an inertia about it, at an offset in a frame.
#
# index (n, 2) int: index of the frame in q and in v. data (n, 13): MASS, offset (3) of the mass CENTER in frame axes,
# INERTIA (9) about the mass centre in frame axes. Source: docs/theory/rigid_body.md.

MASS, CENTER, INERTIA = 0, 1, 4

STARTS = np.array([0])
SIZES = np.array([6])


@inlined
def unpack(data, s, inertia):
    """Offset s (3,) and inertia (3, 3) from a row of data."""
    for i in range(3):
        s[i] = data[CENTER + i]
        for j in range(3):
            inertia[i, j] = data[INERTIA + 3 * i + j]


@kernel_with_entry
def force(index, data, gravity, q, v, a, out):
    """out (s, n_v) += inertia and gyroscopic force minus gravity."""
    R, inertia, w = np.empty((3, 3)), np.empty((3, 3)), np.empty((7, 3))
    s, acc, force, c1, c2, inertia_w, torque = w[0], w[1], w[2], w[3], w[4], w[5], w[6]
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j = index[k, IN_Q], index[k, IN_V]
            m = data[k, MASS]
            unpack(data[k], s, inertia)
            rotation(q[state, i + 3 : i + 7], R)
            omega, alpha = v[state, j + 3 : j + 6], a[state, j + 3 : j + 6]
            # acceleration of the mass centre: r'' + R (alpha x s + omega x (omega x s))
            cross(omega, s, c1)
            cross(omega, c1, c2)
            cross(alpha, s, c1)
            for o in range(3):
                c1[o] += c2[o]
            rotate(R, c1, acc)
            for o in range(3):
                force[o] = m * (a[state, j + o] + acc[o] - gravity[o])
                out[state, j + o] += force[o]
            rotate_back(R, force, c1)
            cross(s, c1, torque)
            rotate(inertia, omega, inertia_w)
            cross(omega, inertia_w, c2)
            rotate(inertia, alpha, c1)
            for o in range(3):
                out[state, j + 3 + o] += torque[o] + c1[o] + c2[o]


@kernel_with_entry
def add_mass(index, data, offset, stride, q, out):
    """Add the 6 x 6 mass matrices at every state to block data (s, size)."""
    R, inertia, s, A = np.empty((3, 3)), np.empty((3, 3)), np.empty(3), np.empty((6, 6))
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            first, m = index[k, IN_Q], data[k, MASS]
            unpack(data[k], s, inertia)
            rotation(q[state, first + 3 : first + 7], R)
            # velocity of the mass centre: r' - R s~ omega
            times_skew(-m, R, s, A[:3, 3:])
            for i in range(3):
                for j in range(3):
                    A[i, j] = m if i == j else 0.0
                    A[3 + j, i] = A[i, 3 + j]
                    A[3 + i, 3 + j] = inertia[i, j] - m * s[i] * s[j]
                A[3 + i, 3 + i] += m * dot(s, s)
            scatter(A, STARTS, SIZES, offset[k], stride[k], out[state])


@kernel
def tangent(index, data, gravity, offset, stride, q, v, a, damping, stiffness):
    """Add the exact d(residual)/dv and d(residual)/dq H at every state to block data (s, size)."""
    R, inertia, w = np.empty((3, 3)), np.empty((3, 3)), np.empty((12, 3))
    s, acc, c1, c2, jw, x, y, r = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
    force, torque, g1, g2 = w[8], w[9], w[10], w[11]
    C, K = np.zeros((6, 6)), np.zeros((6, 6))
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j = index[k, IN_Q], index[k, IN_V]
            m = data[k, MASS]
            unpack(data[k], s, inertia)
            rotation(q[state, i + 3 : i + 7], R)
            omega, alpha = v[state, j + 3 : j + 6], a[state, j + 3 : j + 6]
            cross(omega, s, c1)
            cross(omega, c1, c2)
            cross(alpha, s, acc)
            for o in range(3):
                acc[o] += c2[o]  # of the mass centre relative to the frame, frame axes
            rotate(inertia, omega, jw)
            # specific force of the frame, r'' - g, in frame axes
            for o in range(3):
                x[o] = a[state, j + o] - gravity[o]
            rotate_back(R, x, y)
            for col in range(3):
                # a unit angular velocity along the column
                x[:] = 0.0
                x[col] = 1.0
                # d(omega x (omega x s)) = col x (omega x s) + omega x (col x s)
                cross(x, s, c2)
                cross(x, c1, r)
                cross(omega, c2, g1)
                for o in range(3):
                    r[o] += g1[o]
                rotate(R, r, force)
                cross(s, r, torque)
                cross(omega, inertia[col], g1)
                cross(x, jw, g2)
                for o in range(3):
                    C[o, 3 + col] = m * force[o]
                    C[3 + o, 3 + col] = m * torque[o] + g1[o] + g2[o]
                # a unit rotation about the column's axis: changes of R acc and of R^T (r'' - g)
                cross(x, acc, r)
                rotate(R, r, force)
                cross(y, x, r)
                cross(s, r, torque)
                for o in range(3):
                    K[o, 3 + col] = m * force[o]
                    K[3 + o, 3 + col] = m * torque[o]
            scatter(C, STARTS, SIZES, offset[k], stride[k], damping[state])
            scatter(K, STARTS, SIZES, offset[k], stride[k], stiffness[state])


@kernel
def energy_momentum(index, data, gravity, q, v, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the inertial origin."""
    R, inertia, w = np.empty((3, 3)), np.empty((3, 3)), np.empty((7, 3))
    r, vel, c1, c2, spin, p, s = w[0], w[1], w[2], w[3], w[4], w[5], w[6]
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j = index[k, IN_Q], index[k, IN_V]
            m = data[k, MASS]
            rotation(q[state, i + 3 : i + 7], R)
            omega = v[state, j + 3 : j + 6]
            unpack(data[k], s, inertia)
            cross(omega, s, c1)
            rotate(R, c1, vel)
            rotate(R, s, c2)
            for o in range(3):
                vel[o] += v[state, j + o]
                r[o] = q[state, i + o] + c2[o]
                p[o] = m * vel[o]
            rotate(inertia, omega, c1)
            rotate(R, c1, spin)
            cross(r, p, c2)
            out[state, 0] += 0.5 * dot(p, vel) + 0.5 * dot(omega, c1)
            out[state, 1] -= m * dot(gravity, r)
            for o in range(3):
                out[state, 2 + o] += p[o]
                out[state, 5 + o] += c2[o] + spin[o]


@kernel_with_entry
def force_of_points(index, masses, gravity, a, out):
    """out (s, n_v) += inertia force minus weight of point masses (n,)."""
    for state in range(a.shape[0]):
        for k in range(masses.size):
            j = index[k, IN_V]
            for o in range(3):
                out[state, j + o] += masses[k] * (a[state, j + o] - gravity[o])


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
    p, c = np.empty(3), np.empty(3)
    for state in range(q.shape[0]):
        for k in range(masses.size):
            i, j = index[k, IN_Q], index[k, IN_V]
            r, speed = q[state, i : i + 3], v[state, j : j + 3]
            for o in range(3):
                p[o] = masses[k] * speed[o]
            cross(r, p, c)
            out[state, 0] += 0.5 * dot(p, speed)
            out[state, 1] -= masses[k] * dot(gravity, r)
            for o in range(3):
                out[state, 2 + o] += p[o]
                out[state, 5 + o] += c[o]


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
