"""Reaction wheels, evaluated together.

A wheel adds to its frame, whose mass contains it locked, what its spin adds: equations (1) to (3) of
docs/theory/wheels.md. A rotor with imbalance adds the first moment and the product of inertia that turn with it,
equation (6) with these alone: both equations are linear in the masses. Harmonics are loads by its angle, (7).
"""

from collections.abc import Sequence
from copy import copy
from math import inf, pi
from typing import Any, Self

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.base.values import shallow_copy
from femb.elements.private_blocks import MassiveElements
from femb.layout.commands import continuous_commands
from femb.layout.element import Batch
from femb.layout.evaluation import Evaluation
from femb.layout.layout import Layout
from femb.layout.protocols import SetsCommands
from femb.layout.stacking import Shift, shifted
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Tangent
from femb.layout.views import BlockPattern, ModelView, OutputStates
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.vector3 import assign, cross, dot, rotate, rotate_back, rotation, scatter

# index (n, 7) int: of each wheel the frame's indices IN_Q and IN_V, those of its ANGLE in q and its SPEED in v, the
# first of its INPUTS (torque of the motor, command, sign of the speed while that is at its limit), its FIRST row of
# ``harmonics`` and the row after its LAST. data (n, 22): AXIS, E1 and E2 in frame axes, its CENTRE in the frame, its
# SPIN inertia, STATIC and DYNAMIC imbalance, the numbers of its FRICTION: coulomb, static less coulomb, Stribeck speed,
# transition speed and viscous, the MOST speed and the most POWER. harmonics (m, 6): ORDER, RADIAL and AXIAL force,
# ROCKING and AXIAL_TORQUE by the square of the speed, PHASE.
IN_Q, IN_V, ANGLE, SPEED, INPUTS, FIRST, LAST = range(7)
AXIS, E1, E2, CENTRE, SPIN, STATIC, DYNAMIC, FRICTION, MOST, POWER = 0, 3, 6, 9, 12, 13, 14, 15, 20, 21
ORDER, RADIAL, AXIAL, ROCKING, AXIAL_TORQUE, PHASE = range(6)
INPUTS_OF_EACH = 3
# Least number of steps in a period of the fastest disturbance, of methods of order 5 and higher: see the page.
STEPS_A_PERIOD = 8.0

# 1/s, at which a motor brings a wheel back to its largest speed: the turn of its body leaves it off by the hub's
# acceleration over this rate.
HOLDING_RATE = 10.0

# Electrical numbers of a motor that loses nothing, whose power is that on the wheel.
IDEAL = (0.0, 0.0, inf)

STARTS = np.array([0, 6])
SIZES = np.array([6, 1])


@inlined
def friction(data, speed):
    """The torque of friction against the speed and its derivative, equation (4)."""
    coulomb, rise, stribeck = data[FRICTION], data[FRICTION + 1], data[FRICTION + 2]
    peak = rise * np.exp(-((speed / stribeck) ** 2))
    onset = np.tanh(speed / data[FRICTION + 3])
    slope = (coulomb + peak) * (1.0 - onset * onset) / data[FRICTION + 3]
    slope -= 2.0 * speed / stribeck**2 * peak * onset
    return (coulomb + peak) * onset + data[FRICTION + 4] * speed, slope + data[FRICTION + 4]


@inlined
def motor(index, data, u, speed):
    """The torque of the motor and its derivative by the speed: within its power, and at the limit of the speed what
    holds it there, where the command exceeds that: equations (4a) and (4b)."""
    torque, by_speed, side = u[index[INPUTS]] + u[index[INPUTS] + 1], 0.0, u[index[INPUTS] + 2]
    if abs(torque * speed) > data[POWER]:
        torque *= data[POWER] / abs(torque * speed)
        by_speed = -torque / speed
    if side == 0.0 or torque * side <= 0.0:
        return torque, by_speed
    against, slope = friction(data, speed)
    hold = against + data[SPIN] * HOLDING_RATE * (side * data[MOST] - speed)
    if side * torque <= side * hold:
        return torque, by_speed
    return hold, slope - data[SPIN] * HOLDING_RATE


@inlined
def disturbance(index, data, harmonics, angle, speed, F, T):
    """Force F[0] and torque T[0] (3,), frame axes, of the harmonics at the centre, equation (7), and their derivatives
    by the angle, F[1] and T[1], and by the speed, F[2] and T[2]."""
    F[:] = 0.0
    T[:] = 0.0
    for i in range(index[FIRST], index[LAST]):
        order = harmonics[i, ORDER]
        sine, cosine = np.sin(order * angle + harmonics[i, PHASE]), np.cos(order * angle + harmonics[i, PHASE])
        for by in range(3):
            across, other, factor = sine, -cosine, speed * speed
            if by == 1:
                across, other, factor = cosine, sine, order * speed * speed
            elif by == 2:
                factor = 2.0 * speed
            for o in range(3):
                radial = factor * (across * data[E1 + o] + other * data[E2 + o])
                axial = factor * across * data[AXIS + o]
                F[by, o] += harmonics[i, RADIAL] * radial + harmonics[i, AXIAL] * axial
                T[by, o] += harmonics[i, ROCKING] * radial + harmonics[i, AXIAL_TORQUE] * axial


@inlined
def imbalance(data, angle, by, s, p):
    """First moment s and p of the product of inertia p g^T + g p^T (3,), frame axes, at an angle; ``by`` 1: their
    derivatives by it."""
    sine, cosine = np.sin(angle), np.cos(angle)
    if by:
        sine, cosine = cosine, -sine
    for o in range(3):
        s[o] = data[STATIC] * (sine * data[E1 + o] - cosine * data[E2 + o])
        p[o] = data[DYNAMIC] * (cosine * data[E1 + o] + sine * data[E2 + o])


@inlined
def product_times(p, g, x, out):
    """out = (p g^T + g p^T) x."""
    along, across = dot(g, x), dot(p, x)
    for o in range(3):
        out[o] = along * p[o] + across * g[o]


@inlined
def add_rotor(s, p, g, w, z, turning, acc, work, F, T):
    """F += turning x s + w x (z x s), T += s x acc + J turning + w x J z, J = p g^T + g p^T: equation (6)."""
    c1, c2 = work[0], work[1]
    cross(z, s, c1)
    cross(w, c1, c2)
    cross(turning, s, c1)
    for o in range(3):
        F[o] += c1[o] + c2[o]
    product_times(p, g, z, c1)
    cross(w, c1, c2)
    for o in range(3):
        T[o] += c2[o]
    product_times(p, g, turning, c1)
    cross(s, acc, c2)
    for o in range(3):
        T[o] += c1[o] + c2[o]


@kernel_with_entry
def loads(index, data, harmonics, u, q, v, factors, out):
    """out (s, n_v) -= motor, friction and harmonics, with factors (2,), or (3,) where there are harmonics."""
    R, w = np.empty((3, 3)), np.empty((7, 3))
    F, T, c = w[:3], w[3:6], w[6]
    for s in range(q.shape[0]):
        for n in range(index.shape[0]):
            j, k = index[n, IN_V], index[n, SPEED]
            if factors[0] != 0.0:
                out[s, k] -= factors[0] * motor(index[n], data[n], u[s], v[s, k])[0]
            if factors[1] != 0.0:
                out[s, k] += factors[1] * friction(data[n], v[s, k])[0]
            if index[n, LAST] > index[n, FIRST] and factors[2] != 0.0:
                disturbance(index[n], data[n], harmonics, q[s, index[n, ANGLE]], v[s, k], F, T)
                rotation(q[s, index[n, IN_Q] + 3 : index[n, IN_Q] + 7], R)
                rotate(R, F[0], c)
                for o in range(3):
                    out[s, j + o] -= factors[2] * c[o]
                cross(data[n, CENTRE : CENTRE + 3], F[0], c)
                for o in range(3):
                    out[s, j + 3 + o] -= factors[2] * (c[o] + T[0, o])


@kernel
def motor_torques(index, data, u, v, out):
    """out (s, n): the torques of the motors."""
    for s in range(v.shape[0]):
        for k in range(index.shape[0]):
            out[s, k] = motor(index[k], data[k], u[s], v[s, index[k, SPEED]])[0]


@kernel_with_entry
def inertia(index, data, gravity, q, v, a, out):
    """out (s, n_v) += what the spin and the rotor add to the inertia, less the weight."""
    R, w = np.empty((3, 3)), np.empty((10, 3))
    c, F, T, acc, turning, whole, s, p = w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9]
    for state in range(q.shape[0]):
        for n in range(index.shape[0]):
            j, k, spin = index[n, IN_V], index[n, SPEED], data[n, SPIN]
            g = data[n, AXIS : AXIS + 3]
            omega, alpha = v[state, j + 3 : j + 6], a[state, j + 3 : j + 6]
            speed, rate = v[state, k], a[state, k]
            cross(omega, g, c)
            for o in range(3):
                out[state, j + 3 + o] += spin * (rate * g[o] + speed * c[o])
            out[state, k] += spin * (rate + dot(g, alpha))
            if data[n, STATIC] != 0.0 or data[n, DYNAMIC] != 0.0:
                b = data[n, CENTRE : CENTRE + 3]
                for o in range(3):
                    turning[o] = alpha[o] + rate * g[o] + speed * c[o]
                    whole[o] = omega[o] + speed * g[o]
                    F[o] = a[state, j + o] - gravity[o]
                rotation(q[state, index[n, IN_Q] + 3 : index[n, IN_Q] + 7], R)
                rotate_back(R, F, acc)
                cross(omega, b, c)
                cross(omega, c, F)
                cross(alpha, b, c)
                for o in range(3):
                    acc[o] += F[o] + c[o]
                F[:] = 0.0
                T[:] = 0.0
                imbalance(data[n], q[state, index[n, ANGLE]], False, s, p)
                add_rotor(s, p, g, whole, whole, turning, acc, w[:2], F, T)
                rotate(R, F, c)
                for o in range(3):
                    out[state, j + o] += c[o]
                cross(b, F, c)
                for o in range(3):
                    out[state, j + 3 + o] += c[o] + T[o]
                out[state, k] += dot(g, T)


@kernel_with_entry
def add_mass(index, data, offset, stride, q, out):
    """Add the mass of what the spin adds, at every state, to block data (s, size)."""
    R, M, w = np.empty((3, 3)), np.empty((7, 7)), np.empty((9, 3))
    x, acc, F, T, s, p, zero = w[2], w[3], w[4], w[5], w[6], w[7], w[8]
    zero[:] = 0.0
    for state in range(q.shape[0]):
        for n in range(index.shape[0]):
            g, b, spin = data[n, AXIS : AXIS + 3], data[n, CENTRE : CENTRE + 3], data[n, SPIN]
            M[:] = 0.0
            for o in range(3):
                M[3 + o, 6] = M[6, 3 + o] = spin * g[o]
            M[6, 6] = spin
            if data[n, STATIC] != 0.0 or data[n, DYNAMIC] != 0.0:
                rotation(q[state, index[n, IN_Q] + 3 : index[n, IN_Q] + 7], R)
                imbalance(data[n], q[state, index[n, ANGLE]], False, s, p)
                for col in range(7):
                    for o in range(3):
                        x[o] = g[o] if col == 6 else 1.0 if col == 3 + o else 0.0
                        acc[o] = R[col, o] if col < 3 else 0.0
                    if 3 <= col < 6:
                        cross(x, b, acc)
                    F[:] = 0.0
                    T[:] = 0.0
                    add_rotor(s, p, g, zero, zero, x, acc, w[:2], F, T)
                    rotate(R, F, x)
                    cross(b, F, acc)
                    for o in range(3):
                        M[o, col] += x[o]
                        M[3 + o, col] += acc[o] + T[o]
                    M[6, col] += dot(g, T)
            scatter(M, STARTS, SIZES, offset[n], stride[n], out[state])


@kernel_with_entry
def tangent(index, data, harmonics, gravity, offset, stride, u, q, v, a, damping, stiffness):
    """Add the exact d(residual)/dv and d(residual)/dq H at every state to block data (s, size)."""
    R, w = np.empty((3, 3)), np.empty((20, 3))
    x, acc, dacc, turning, dturning, whole = w[6], w[7], w[8], w[9], w[10], w[11]
    F, T, s, p, y, c, ds, dp, zero = w[12], w[13], w[14], w[15], w[16], w[17], w[18], w[19], np.zeros(3)
    C, K = np.empty((7, 7)), np.empty((7, 7))
    for state in range(q.shape[0]):
        for n in range(index.shape[0]):
            i, j, k, spin = index[n, IN_Q], index[n, IN_V], index[n, SPEED], data[n, SPIN]
            g, b = data[n, AXIS : AXIS + 3], data[n, CENTRE : CENTRE + 3]
            omega, alpha, speed, rate = v[state, j + 3 : j + 6], a[state, j + 3 : j + 6], v[state, k], a[state, k]
            C[:] = 0.0
            K[:] = 0.0
            C[6, 6] = friction(data[n], speed)[1] - motor(index[n], data[n], u[state], speed)[1]
            cross(omega, g, c)
            for o in range(3):
                C[3 + o, 6] = spin * c[o]
                x[:] = 0.0
                x[o] = 1.0
                cross(x, g, y)
                for m in range(3):
                    C[3 + m, 3 + o] = spin * speed * y[m]
            if index[n, LAST] > index[n, FIRST]:
                disturbance(index[n], data[n], harmonics, q[state, index[n, ANGLE]], speed, w[:3], w[3:6])
                rotation(q[state, i + 3 : i + 7], R)
                for o in range(3):
                    x[:] = 0.0
                    x[o] = 1.0
                    cross(x, w[0], y)
                    rotate(R, y, dacc)
                    for m in range(3):
                        K[m, 3 + o] -= dacc[m]
                for by in range(1, 3):
                    rotate(R, w[by], x)
                    cross(b, w[by], y)
                    for o in range(3):
                        if by == 1:
                            K[o, 6] -= x[o]
                            K[3 + o, 6] -= y[o] + w[3 + by, o]
                        else:
                            C[o, 6] -= x[o]
                            C[3 + o, 6] -= y[o] + w[3 + by, o]
            if data[n, STATIC] != 0.0 or data[n, DYNAMIC] != 0.0:
                imbalance(data[n], q[state, index[n, ANGLE]], False, s, p)
                imbalance(data[n], q[state, index[n, ANGLE]], True, ds, dp)
                rotation(q[state, i + 3 : i + 7], R)
                for o in range(3):
                    turning[o] = alpha[o] + rate * g[o] + speed * c[o]
                    whole[o] = omega[o] + speed * g[o]
                    x[o] = a[state, j + o] - gravity[o]
                rotate_back(R, x, y)  # acceleration of the frame less gravity
                cross(omega, b, w[2])
                cross(omega, w[2], w[3])
                cross(alpha, b, acc)
                for o in range(3):
                    acc[o] += y[o] + w[3, o]
                # by the angular velocity, the speed, a rotation of the frame and the angle
                for col in range(8):
                    F[:] = 0.0
                    T[:] = 0.0
                    if col < 3:
                        x[:] = 0.0
                        x[col] = 1.0
                        cross(x, g, dturning)
                        cross(omega, b, w[2])
                        cross(x, w[2], dacc)
                        cross(x, b, w[2])
                        cross(omega, w[2], w[3])
                        for o in range(3):
                            dturning[o] *= speed
                            dacc[o] += w[3, o]
                    elif col == 3:
                        assign(g, x)
                        assign(c, dturning)
                        dacc[:] = 0.0
                    elif col == 7:
                        add_rotor(ds, dp, g, whole, whole, turning, acc, w[:2], F, T)
                    else:
                        x[:] = 0.0
                        x[col - 4] = 1.0
                        add_rotor(s, p, g, whole, whole, turning, acc, w[:2], F, T)
                        cross(x, F, w[2])
                        assign(w[2], F)
                        cross(y, x, w[2])
                        cross(s, w[2], T)
                    if col < 4:
                        add_rotor(s, p, g, x, whole, dturning, dacc, w[:2], F, T)
                        add_rotor(s, p, g, whole, x, zero, zero, w[:2], F, T)
                    rotate(R, F, w[2])
                    cross(b, F, w[3])
                    for o in range(3):
                        if 4 <= col < 7:
                            w[3, o] = 0.0
                        if col < 4:
                            C[o, 3 + col] += w[2, o]
                            C[3 + o, 3 + col] += w[3, o] + T[o]
                        else:
                            K[o, col - 1] += w[2, o]
                            K[3 + o, col - 1] += w[3, o] + T[o]
                    if col < 4:
                        C[6, 3 + col] += dot(g, T)
                    else:
                        K[6, col - 1] += dot(g, T)
            scatter(C, STARTS, SIZES, offset[n], stride[n], damping[state])
            scatter(K, STARTS, SIZES, offset[n], stride[n], stiffness[state])


@kernel
def energy_momentum(index, data, gravity, q, v, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the origin."""
    R, w = np.empty((3, 3)), np.empty((10, 3))
    c, d, h, P, s, p, whole, velocity, r = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]
    for state in range(q.shape[0]):
        for n in range(index.shape[0]):
            i, j, spin, speed = index[n, IN_Q], index[n, IN_V], data[n, SPIN], v[state, index[n, SPEED]]
            g, b = data[n, AXIS : AXIS + 3], data[n, CENTRE : CENTRE + 3]
            omega = v[state, j + 3 : j + 6]
            rotation(q[state, i + 3 : i + 7], R)
            for o in range(3):
                h[o] = spin * speed * g[o]
            out[state, 0] += spin * speed * (dot(g, omega) + 0.5 * speed)
            if data[n, STATIC] != 0.0 or data[n, DYNAMIC] != 0.0:
                imbalance(data[n], q[state, index[n, ANGLE]], False, s, p)
                for o in range(3):
                    whole[o] = omega[o] + speed * g[o]
                rotate_back(R, v[state, j : j + 3], velocity)
                cross(omega, b, c)
                for o in range(3):
                    velocity[o] += c[o]
                product_times(p, g, whole, c)
                cross(s, velocity, d)
                for o in range(3):
                    d[o] += c[o]
                    h[o] += d[o]
                cross(whole, s, c)
                out[state, 0] += 0.5 * (dot(velocity, c) + dot(whole, d))
                rotate(R, c, P)
                rotate(R, s, c)
                out[state, 1] -= dot(gravity, c)
                rotate(R, b, r)
                for o in range(3):
                    r[o] += q[state, i + o]
                    out[state, 2 + o] += P[o]
                cross(r, P, c)
                for o in range(3):
                    out[state, 5 + o] += c[o]
            rotate(R, h, c)
            for o in range(3):
                out[state, 5 + o] += c[o]


class WheelBatch(MassiveElements):
    """The wheels of a model.

    places, data, harmonics : rows for the kernels, of ``places`` without the first input of the batch. contained : the
    wheels that are part of what no rigid body has, by their row: at beam nodes and interfaces.
    """

    in_v, sizes = [IN_V, SPEED], (6, 1)

    def __init__(self, items: Sequence[Any], layout: Layout, model: ModelView) -> None:
        index: list[list[int]] = []
        data: list[list[float]] = []
        harmonics: list[list[float]] = []
        for item in items:
            frame = layout.station(item.on).frame
            number = item.number(layout)
            rows = item.loads
            index.append(
                [
                    layout.frame_q[frame],
                    layout.frame_v[frame],
                    layout.internal_q[number],
                    layout.internal_v[number],
                    INPUTS_OF_EACH * len(index),
                    len(harmonics),
                    len(harmonics) + len(rows),
                ]
            )
            data.append(item.numbers(layout))
            harmonics += rows
        self.places: Ints = np.array(index, dtype=np.int64)
        self.index = self.places  # of inputs the numbers in the batch, until they are allocated
        self.data: Floats = np.array(data, dtype=float)
        self.harmonics = np.array(harmonics, dtype=float).reshape(-1, PHASE + 1)
        self.electrical: Floats = np.array([item.electrical_numbers for item in items])
        # continuous controllers, whose commands are torques of motors too
        self._controllers: list[Batch] = []
        self.inputs = tuple(each for item in items for each in item.inputs())
        unbalanced: Floats = self.data[:, [STATIC, DYNAMIC]].any(axis=1).astype(float)
        self.gravity = np.array(model.gravity, dtype=float) if unbalanced.any() else None
        # the highest order of the disturbances of each
        self.orders: Floats = np.array(
            [max(own, *(row[ORDER] for row in item.loads), 0.0) for own, item in zip(unbalanced, items, strict=True)]
        )
        self.limits_steps = bool(self.orders.any())
        self.layout, self.items = layout, items
        self.disturbing = {
            f"{item.table}.{item.name}": (
                item.number(layout),
                [*([own] if own else []), *(row[ORDER] for row in item.loads)],
            )
            for own, item in zip(unbalanced.tolist(), items, strict=True)
            if own or item.loads
        }
        self.contained = {k: item for k, item in enumerate(items) if item.in_flexible(model)}

    @classmethod
    def stacked(cls, batches: Sequence[Self], shifts: Sequence[Shift], layout: Layout) -> Self:
        result = copy(batches[0])
        result.places = shifted([batch.places for batch in batches], shifts, [IN_Q, ANGLE], [IN_V, SPEED], [INPUTS])
        before = np.cumsum([0, *(len(batch.harmonics) for batch in batches[:-1])])
        result.places[:, FIRST:] += np.repeat(before, [len(batch.places) for batch in batches])[:, None]
        result.data = np.concatenate([batch.data for batch in batches])
        result.harmonics = np.concatenate([batch.harmonics for batch in batches])
        result.electrical = np.concatenate([batch.electrical for batch in batches])
        result.orders = np.concatenate([batch.orders for batch in batches])
        result.limits_steps, result.contained = bool(result.orders.any()), {}
        result.gravity = next((batch.gravity for batch in batches if batch.gravity is not None), None)
        return result

    def allocate(self, pattern: BlockPattern) -> None:
        self.pattern = pattern
        index = self.places.copy()
        index[:, INPUTS] += self.first_input
        self.set_index(index)

    def bind(self, batches: Sequence[Batch]) -> None:
        """Refuse wheels with more spin inertia than the beam or the flexible body that contains them has there."""
        self._controllers = [each for each in batches if isinstance(each, SetsCommands)]
        if not self.contained:
            return
        from scipy.sparse.linalg import splu

        q, data = self.layout.start_coordinates(), np.zeros((1, self.pattern.size))
        Evaluation([batch for batch in batches if batch is not self], self.pattern).add_masses(q[None], data)
        axes = np.zeros((self.layout.n_v, len(self.contained)))
        for column, k in enumerate(self.contained):
            axes[self.index[k, IN_V] + 3 + np.arange(3), column] = self.data[k, AXIS : AXIS + 3]
        mass = self.pattern.to_csc(data[0]).tolil()[: len(axes), : len(axes)]
        own = self.layout.internal_v[[item.number(self.layout) for item in self.items]]
        mass[own, own] = 1.0
        mobility = axes.T @ splu(mass.tocsc()).solve(axes)
        root = np.sqrt(self.data[list(self.contained), SPIN])
        if np.linalg.eigvalsh(root[:, None] * mobility * root)[-1] < 1.0:
            return
        worst = int(np.argmax(root**2 * np.diag(mobility)))
        item = list(self.contained.values())[worst]
        raise ModelError.at(
            (item.table, item.name, "spin_inertia"),
            f"got {item.spin_inertia:g}, must be below the inertia about the axis of what contains it there, "
            f"{1.0 / mobility[worst, worst]:.3g} kg m2: give mass and transverse_inertia of the rotor, which are added",
        )

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Torque of the motor, with the commands of controllers, and its electrical power."""
        torque = self._commanded_torque(frames.u, frames.q, frames.v)
        power = self._electrical_power(torque, frames.v)
        paths = [f"{item.table}/{item.name}" for item in self.items]
        return {f"{path}/torque": torque[:, k] for k, path in enumerate(paths)} | {
            f"{path}/power": power[:, k] for k, path in enumerate(paths)
        }

    def longest_step(self, q: Floats, v: Floats) -> float:
        fastest = float(np.max(self.orders * np.abs(v[self.index[:, SPEED]])))
        return 2.0 * pi / (STEPS_A_PERIOD * fastest) if fastest > 0.0 else inf

    def forces(self) -> list[Force]:
        words = "_motor", "_friction", *(["_harmonics"] if len(self.harmonics) else [])
        parts = tuple(ForcePart("work", word) for word in words)
        return [
            Force(inertia, (self.index, self.data, self._weight), "qva", ForcePart.INERTIA),
            Force(loads, (self.index, self.data, self.harmonics), "uqv", parts=parts),
        ]

    def masses(self) -> list[MassMatrix]:
        return [MassMatrix(add_mass, (self.index, self.data), self.starts, self.sizes)]

    def tangents(self) -> list[Tangent]:
        return [Tangent(tangent, (self.index, self.data, self.harmonics, self._weight), self.starts, "uqva")]

    def energies(self) -> list[Energy]:
        return [Energy(energy_momentum, (self.index, self.data, self._weight))]

    @property
    def _weight(self) -> Floats:
        """Gravity (3,); of balanced wheels, whose frames have the weight, zeros."""
        return np.zeros(3) if self.gravity is None else self.gravity

    def inertial(self) -> Self:
        other = shallow_copy(self)
        other.index, other.gravity = self.index.copy(), np.zeros(3)
        other.index[:, LAST] = other.index[:, FIRST]
        return other

    def balanced(self) -> Self:
        other = shallow_copy(self)
        other.index, other.data = self.index.copy(), self.data.copy()
        other.index[:, LAST] = other.index[:, FIRST]
        other.data[:, [STATIC, DYNAMIC]] = 0.0
        return other

    def motor_torque(self, u: Floats, v: Floats) -> Floats:
        """(s, n) N m: of the motor of each wheel, but for continuous commands."""
        torque = np.empty((len(v), len(self.index)))
        motor_torques(self.index, self.data, u, v, torque)
        return torque

    def input_derivative(self, u: Floats, q: Floats, v: Floats, k: int) -> Floats:
        """By the torque of a motor: none where its power or its speed limits it, equations (4a) and (4b)."""
        row, number = np.zeros(len(v)), int(np.searchsorted(self.index[:, INPUTS], k, side="right")) - 1
        wanted = u[self.index[number, INPUTS]] + u[self.index[number, INPUTS] + 1]
        row[self.index[number, SPEED]] = -float(self.motor_torque(u[None], v[None])[0, number] == wanted)
        return row

    def supply_account(self, own: str) -> str:
        numbers = [item.electrical_numbers != IDEAL for item in self.items]
        return f"{own}_motor" if any(numbers) else ""

    def electrical_power(self, u: Floats, q: Floats, v: Floats) -> Floats:
        return self._electrical_power(self._commanded_torque(u, q, v), v)

    def _commanded_torque(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """(s, n) N m: of the motor of each wheel, with continuous commands."""
        torque = self.motor_torque(u, v)
        commands = continuous_commands(self._controllers, u, q, v) if self._controllers else {}
        for k, item in enumerate(self.items):
            name = item.state_name("torque")
            if name in commands:
                torque[:, k] += commands[name][:, 0]
        return torque

    def _electrical_power(self, torque: Floats, v: Floats) -> Floats:
        """(s, n) W: equation (5)."""
        lost, idle, back = self.electrical.T
        motor = torque * v[:, self.index[:, SPEED]] + lost * torque**2
        result: Floats = idle + np.maximum(motor, -back)
        return result
