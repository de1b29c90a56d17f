"""Forces and torques at stations by the laws of their kinds: generalized forces and exact tangents.

A station is a point of a frame, with axes. A kind of item has a law: the force (inertial axes) and the torque about the
point (axes of the frame), with their derivatives by the velocity (inertial axes) and the angular velocity (axes of the
frame), by the place (inertial axes) and by a rotation of the frame (its own axes), each at constant others.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.environment.plates import plate_force
from femb.elements.frame_index import with_inputs
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.terms import Force, Tangent
from femb.layout.views import BlockPattern
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.vector3 import (
    IN_Q,
    IN_V,
    add_point_force,
    add_torque_tangent,
    cross,
    product,
    rotate,
    rotate_back,
    rotation,
    scatter,
    times_skew,
)

# index (n, 5) int: of the frame IN_Q and IN_V, the first INPUT of the item, an input that SHARED ones begin with, and
# the LAW. data (n, k): the point in the frame AT (3), AXES (9) of the station in the frame, and NUMBERS of the law.
#
# D (6, 12): derivatives of force and torque, BY_VELOCITY, BY_SPIN, BY_PLACE and BY_TURN.

INPUT, SHARED, LAW = 2, 3, 4
AT, AXES, NUMBERS = slice(0, 3), 3, slice(12, None)
BY_VELOCITY, BY_SPIN, BY_PLACE, BY_TURN = (slice(k, k + 3) for k in (0, 3, 6, 9))
STARTS, SIZES = np.array([0]), np.array([6])

# Laws, beside those of plates, whose numbers are those of ``plate_force`` after the normal (3,).
THRUST, DIPOLE, AIRLOAD, AIRLOAD_BY_LAW = 2, 3, 4, 5


@inlined
def thrust(numbers, time, values, R, F, D):
    """The force of a thruster, equation (1) of docs/theory/actuators.md.

    numbers (4,) : the full force, axes of the frame, and the time constant. values (5,) : a level that adds to that of
    the valve, and of this the instant of the last switch, the level then and that to which it goes.
    """
    level, lag = values[3], numbers[3]
    if lag > 0.0:
        level += (values[2] - values[3]) * np.exp(-max(time - values[1], 0.0) / lag)
    level += values[0]
    rotate(R, numbers[0:3], F)
    for o in range(3):
        F[o] *= level
    times_skew(-level, R, numbers[0:3], D[0:3, BY_TURN])


@inlined
def dipole(numbers, field, values, R, T, D):
    """The torque of a magnetic dipole in a field (3,) T; numbers (3,) : its axis in the frame. values (2,) A m2."""
    m, b, size = np.empty(3), np.empty(3), values[0] + values[1]
    rotate_back(R, field, b)
    for o in range(3):
        m[o] = size * numbers[o]
    cross(m, b, T)
    # m~ b~ = b m^T - (m . b) 1
    add_torque_tangent(1.0, b, m, 0, D[3:6, BY_TURN])


AIR_STATE, AIR_LOAD, AIR_SLOPES = 3, 9, 15


@inlined
def airload(numbers, by_law, values, axes, R, w, omega, F, T, D):
    """An aerodynamic load, equations (9) and (10) of docs/theory/rigid_body.md.

    numbers (54,) : the wind, the state (6) and the load (6) at it, and coefficients (6, 6). values : a factor; or, by a
    law, the load (6) and its slopes (6, 9) by velocity, angular velocity and rotation, axes of the station. axes (9,) :
    of the station in the frame.
    """
    C, RC, back, work = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((4, 3))
    through, x, y, load = work[0], work[1], work[2], work[3]
    for i in range(3):
        for j in range(3):
            C[i, j] = axes[3 * i + j]
        x[i] = w[i] - numbers[i]
    rotate_back(R, x, through)
    product(R, C, RC)
    state = np.empty(6)
    rotate_back(C, through, state[0:3])
    rotate_back(C, omega, state[3:6])
    # changes (9, 12) of velocity, angular velocity and rotation
    changes = np.zeros((9, 12))
    for i in range(3):
        for j in range(3):
            changes[i, j] = RC[j, i]
            changes[3 + i, 3 + j] = C[j, i]
            changes[6 + i, 9 + j] = C[j, i]
            back[i, j] = C[j, i]
    times_skew(1.0, back, through, changes[0:3, BY_TURN])
    slopes, value = np.zeros((6, 9)), np.empty(6)
    for i in range(6):
        if by_law:
            value[i] = values[i]
            for j in range(9):
                slopes[i, j] = values[6 + 9 * i + j]
            continue
        value[i] = numbers[AIR_LOAD + i]
        for j in range(6):
            slopes[i, j] = values[0] * numbers[AIR_SLOPES + 6 * i + j]
            value[i] += numbers[AIR_SLOPES + 6 * i + j] * (state[j] - numbers[AIR_STATE + j])
        value[i] *= values[0]
    rotate(RC, value[0:3], F)
    rotate(C, value[3:6], T)
    for column in range(12):
        for part in range(2):
            for i in range(3):
                y[i] = 0.0
                for j in range(9):
                    y[i] += slopes[3 * part + i, j] * changes[j, column]
            rotate(RC if part == 0 else C, y, x)
            for i in range(3):
                D[3 * part + i, column] = x[i]
    rotate(C, value[0:3], load)
    times_skew(-1.0, R, load, back)
    for i in range(3):
        for j in range(3):
            D[i, 9 + j] += back[i, j]


@inlined
def evaluate(index, data, levels, u, q, v, R, turning, F, T, D):
    """Set the attitude R of the frame, its angular velocity times the arm, the force, the torque and D at one state.

    levels : of the atmosphere. Returns -1, or as ``plate_force``.
    """
    i, j, law, first = index[IN_Q], index[IN_V], index[LAW], index[INPUT]
    y, by = np.empty((3, 3)), np.empty((4, 3, 3))
    place, velocity, normal, numbers, omega = y[0], y[1], y[2], data[NUMBERS], v[j + 3 : j + 6]
    rotation(q[i + 3 : i + 7], R)
    cross(omega, data[AT], turning)
    rotate(R, data[AT], place)
    rotate(R, turning, velocity)
    for o in range(3):
        place[o] += q[i + o]
        velocity[o] += v[j + o]
    F[:], T[:], D[:] = 0.0, 0.0, 0.0
    if law == THRUST:
        thrust(numbers, u[index[SHARED]], u[first : first + 5], R, F, D)
    elif law == DIPOLE:
        dipole(numbers, u[index[SHARED] : index[SHARED] + 3], u[first : first + 2], R, T, D)
    elif law >= AIRLOAD:
        airload(numbers, law == AIRLOAD_BY_LAW, u[first:], data[AXES:], R, velocity, omega, F, T, D)
    else:
        rotate(R, numbers[0:3], normal)
        found = plate_force(law, numbers[3:], levels, u, first, normal, velocity, place, F, by[0], by[1], by[2])
        if found >= 0:
            return found
        product(by[0], R, by[3])
        times_skew(-1.0, by[3], numbers[0:3], D[0:3, BY_TURN])
        for m in range(3):
            for o in range(3):
                D[m, o], D[m, 6 + o] = by[1, m, o], by[2, m, o]
    return -1


@kernel_with_entry
def forces(index, data, levels, u, q, v, out):
    """out (s, n_v) -= the generalized forces; returns as ``evaluate``."""
    R, w, D = np.empty((3, 3)), np.empty((4, 3)), np.empty((6, 12))
    turning, F, T, local = w[0], w[1], w[2], w[3]
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            found = evaluate(index[k], data[k], levels, u[s], q[s], v[s], R, turning, F, T, D)
            if found >= 0:
                return found
            rotate_back(R, F, local)
            add_point_force(-1.0, F, local, data[k, AT], index[k, IN_V], out[s])
            for o in range(3):
                out[s, index[k, IN_V] + 3 + o] -= T[o]
    return -1


@kernel
def wrenches(index, data, levels, u, q, v, force, torque):
    """Set force and torque (s, n, 3) in the axes of the laws; returns as ``evaluate``."""
    R, turning, D = np.empty((3, 3)), np.empty(3), np.empty((6, 12))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            found = evaluate(index[k], data[k], levels, u[s], q[s], v[s], R, turning, force[s, k], torque[s, k], D)
            if found >= 0:
                return found
    return -1


@kernel_with_entry
def tangent(index, data, levels, offset, stride, u, q, v, damping, stiffness):
    """Add the derivatives of minus the generalized forces to block data (s, size); returns as ``evaluate``."""
    R, w, D = np.empty((3, 3)), np.empty((5, 3)), np.empty((6, 12))
    turning, F, T, x, y = w[0], w[1], w[2], w[3], w[4]
    by, change, C, K = np.empty((3, 3)), np.empty((3, 3)), np.empty((6, 6)), np.empty((6, 6))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            found = evaluate(index[k], data[k], levels, u[s], q[s], v[s], R, turning, F, T, D)
            if found >= 0:
                return found
            arm = data[k, AT]
            for half in range(0, 6, 3):
                # the velocity of the point changes with the spin by -R d~, and with the turn by -R (omega x d)~
                product(D[half : half + 3, BY_VELOCITY], R, by)
                times_skew(-1.0, by, arm, C[half : half + 3, 3:])
                times_skew(-1.0, by, turning, K[half : half + 3, 3:])
                for i in range(3):
                    for j in range(3):
                        C[half + i, j], K[half + i, j] = D[half + i, j], D[half + i, 6 + j]
                        C[half + i, 3 + j] += D[half + i, 3 + j]
                        K[half + i, 3 + j] += D[half + i, 9 + j]
                product(D[half : half + 3, BY_PLACE], R, by)
                times_skew(-1.0, by, arm, change)
                for i in range(3):
                    for j in range(3):
                        K[half + i, 3 + j] += change[i, j]
            for A in (C, K):
                for j in range(6):
                    rotate_back(R, A[0:3, j], x)
                    cross(arm, x, y)
                    for i in range(3):
                        A[3 + i, j] += y[i]
            rotate_back(R, F, x)
            add_torque_tangent(1.0, x, arm, 3, K)
            for i in range(6):
                for j in range(6):
                    C[i, j], K[i, j] = -C[i, j], -K[i, j]
            scatter(C, STARTS, SIZES, offset[k], stride[k], damping[s])
            scatter(K, STARTS, SIZES, offset[k], stride[k], stiffness[s])
    return -1


class StationForces(Batch):
    """Forces at points of n frames with axes, each of an item with the marker ``on``.

    offset (n, 3) m and axes (n, 3, 3) : the stations in axes of the frames. Classes give the law and its numbers, by
    ``set_law``. levels, check : of the atmosphere, see ``PlateLaw``.

    Raises ModelError: an item on what is fixed.
    """

    levels: Floats = np.empty((0, 3))
    check: Callable[[int], object] | None = None

    def __init__(self, items: Sequence[Any], layout: Layout) -> None:
        self.items = list(items)
        stations = [layout.station(item.on) for item in items]
        self.frames = [station.frame for station in stations]
        for item, frame in zip(items, self.frames, strict=True):
            if not layout.frames[frame].freedom:
                raise ModelError.at((item.table, item.name), f"is on {item.on.host}, which is fixed and feels no force")
        self.in_q, self.in_v = layout.frame_q[self.frames], layout.frame_v[self.frames]
        self.offset = np.array([station.offset for station in stations])
        self.axes = np.array([station.axes for station in stations])

    def in_frame(self, vectors: Any) -> Floats:
        """(n, 3) of vectors in axes of the stations."""
        result: Floats = np.einsum("nij,nj->ni", self.axes, np.asarray(vectors, dtype=float))
        return result

    def set_law(self, law: Any, first: Any, numbers: Sequence[Any]) -> None:
        """Take the law of each item; first (n,) : its first input. numbers : columns of those of the law."""
        n = len(self.items)
        columns = np.column_stack([self.offset, self.axes.reshape(n, 9), *numbers])
        self.data: Floats = np.ascontiguousarray(columns, dtype=float)
        parts = self.in_q, self.in_v, first, np.zeros(n), np.broadcast_to(law, n)
        self.own_index = np.column_stack(parts).astype(np.int64)

    def allocate(self, pattern: BlockPattern) -> None:
        self.index = with_inputs(self.own_index, self.first_input, INPUT, SHARED)

    def forces(self) -> list[Force]:
        return [Force(forces, (self.index, self.data, self.levels), check=self.check)]

    def tangents(self) -> list[Tangent]:
        kept = self.index, self.data, self.levels
        return [Tangent(tangent, kept, self.index[:, [IN_V]], check=self.check)]

    def wrenches(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Forces, inertial axes, and torques about the points, axes of the frames, (s, n, 3) at s states."""
        force, torque = np.empty((2, len(q), len(self.items), 3))
        Bound(wrenches, self.index, self.data, self.levels, u, q, v, force, torque, check=self.check)()
        return force, torque
