"""Forces and torques at stations by the laws of their kinds: generalized forces and exact tangents.

A station is a point of a frame, with axes. A kind of item has a law: the force (inertial axes) and the torque about the
point (axes of the frame) by the motion of the point. Its tangent is the law of a motion with changes.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

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
from femb.numerics.compiler.duals import Matrix3, Number, Vector3, Vector6, cross, joined, zeros_like
from femb.numerics.compiler.traced import M3, V3, V4, V6, add_to, put, put_changes, reader, traced, unit_changes
from femb.numerics.vector3 import IN_Q, IN_V, attitude, only_changes, scatter, turned_about

# index (n, 5) int: of the frame IN_Q and IN_V, the first INPUT of the item, an input that SHARED ones begin with, and
# the LAW. data (n, k): the point in the frame AT (3), AXES (9) of the station in the frame, and NUMBERS of the law.

INPUT, SHARED, LAW = 2, 3, 4
AT, AXES, NUMBERS = 0, 3, 12
STARTS, SIZES = np.array([0]), np.array([6])

# Laws, beside those of plates, whose numbers are those of ``plate_force`` after the normal (3,).
THRUST, DIPOLE, AIRLOAD, AIRLOAD_BY_LAW = 2, 3, 4, 5

# Directions of the tangent: place and turn of the frame, and its velocity (6,).
places, turns, rates = unit_changes(0, 12), unit_changes(3, 12), unit_changes(6, 12)
V51, V60 = reader(51), reader(60)


class LoadedPoint(NamedTuple):
    """Axes R (3, 3) of a frame, its turn (3,), of which only the changes count, place and velocity (3,) of a point of
    it, inertial axes, and angular velocity (3,), own axes."""

    R: Matrix3
    turn: Vector3
    place: Vector3
    velocity: Vector3
    omega: Vector3


@traced
def motion_of(R: Matrix3, turn: Vector3, place: Vector3, velocity: Vector6, at: Vector3) -> Any:
    """The motion of a point of a frame with this place and velocity."""
    R, omega = turned_about.run(R, only_changes(turn)), velocity[3:]
    return LoadedPoint(R, only_changes(turn), place + R @ at, velocity[:3] + R @ cross(omega, at), omega)


@traced
def no_load(motion: LoadedPoint) -> Any:
    """Zeros (3,) with the changes of a motion."""
    return zeros_like(motion.place + motion.velocity)


@traced
def in_frame(motion: LoadedPoint, a: Vector3) -> Any:
    """A vector of the frame, inertial axes."""
    return motion.R @ a


@traced
def dipole(motion: LoadedPoint, m: Vector3, field: Vector3) -> Any:
    """The torque of a magnetic dipole m, axes of the frame, in a field: equation (8) of docs/theory/actuators.md."""
    return cross(m, motion.R.T @ field)


@traced
def airload(motion: LoadedPoint, axes: Matrix3, numbers: Annotated[Any, (51,)], factor: Number) -> Any:
    """Force and torque of an aerodynamic load, equations (9) and (10) of docs/theory/rigid_body.md.

    numbers : the wind, the state (6) and the load (6) at it, and coefficients (6, 6). axes : of the station.
    """
    RC = motion.R @ axes
    state = joined(RC.T @ (motion.velocity - numbers[:3]), axes.T @ motion.omega)
    load = factor * (numbers[9:15] + numbers[15:].shaped(6, 6) @ (state - numbers[3:9]))
    return RC @ load[:3], axes @ load[3:]


@traced
def airload_by_law(motion: LoadedPoint, axes: Matrix3, wind: Vector3, given: Annotated[Any, (60,)]) -> Any:
    """That of a law; given : the load (6) and its slopes (6, 9) by velocity, angular velocity and rotation, axes of the
    station."""
    RC = motion.R @ axes
    state = joined(RC.T @ (motion.velocity - wind), axes.T @ motion.omega, axes.T @ motion.turn)
    load = given[:6] + given[6:].shaped(6, 9) @ only_changes(state)
    return RC @ load[:3], axes @ load[3:]


@traced
def on_frame(motion: LoadedPoint, at: Vector3, F: Vector3, T: Vector3) -> Any:
    """The residual force and torque (6,), axes of the frame, on it, of a force at a point and a torque."""
    return -joined(F, cross(at, motion.R.T @ F) + T)


@inlined
def thrust(numbers, time, values):
    """The level of a thruster, equation (1) of docs/theory/actuators.md.

    numbers (4,) : the full force, axes of the frame, and the time constant. values (5,) : a level that adds to that of
    the valve, and of this the instant of the last switch, the level then and that to which it goes.
    """
    level, lag = values[3], numbers[3]
    if lag > 0.0:
        level += (values[2] - values[3]) * np.exp(-max(time - values[1], 0.0) / lag)
    return level + values[0]


@inlined
def load_at(index, data, levels, u, motion):
    """The force, inertial axes, and the torque, axes of the frame, of the law of one item; and as ``plate_force``."""
    law, first, found = index[LAW], index[INPUT], -1
    numbers, F, T = data[NUMBERS:], no_load(motion), no_load(motion)
    if law == THRUST:
        F = F + in_frame(motion, thrust(numbers, u[index[SHARED]], u[first : first + 5]) * V3(numbers))
    elif law == DIPOLE:
        T = T + dipole(motion, (u[first] + u[first + 1]) * V3(numbers), V3(u[index[SHARED] :]))
    elif law == AIRLOAD:
        force, torque = airload(motion, M3(data[AXES:]), V51(numbers), u[first])
        F, T = F + force, T + torque
    elif law == AIRLOAD_BY_LAW:
        force, torque = airload_by_law(motion, M3(data[AXES:]), V3(numbers), V60(u[first:]))
        F, T = F + force, T + torque
    else:
        normal = in_frame(motion, V3(numbers))
        F, found = plate_force(law, numbers[3:], levels, u, first, normal, motion.velocity, motion.place)
    return F, T, found


@kernel_with_entry
def forces(index, data, levels, u, q, v, out):
    """out (s, n_v) -= the generalized forces; returns as ``plate_force``."""
    still = np.zeros(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j, at = index[k, IN_Q], index[k, IN_V], V3(data[k])
            motion = motion_of(attitude(V4(q[s, i + 3 :])), V3(still), V3(q[s, i:]), V6(v[s, j:]), at)
            F, T, found = load_at(index[k], data[k], levels, u[s], motion)
            if found >= 0:
                return found
            add_to(on_frame(motion, at, F, T), out[s, j:])
    return -1


@kernel
def wrenches(index, data, levels, u, q, v, force, torque):
    """Set force and torque (s, n, 3) in the axes of the laws; returns as ``plate_force``."""
    still = np.zeros(3)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j, at = index[k, IN_Q], index[k, IN_V], V3(data[k])
            motion = motion_of(attitude(V4(q[s, i + 3 :])), V3(still), V3(q[s, i:]), V6(v[s, j:]), at)
            F, T, found = load_at(index[k], data[k], levels, u[s], motion)
            if found >= 0:
                return found
            put(F, force[s, k])
            put(T, torque[s, k])
    return -1


@kernel_with_entry
def tangent(index, data, levels, offset, stride, u, q, v, damping, stiffness):
    """Add the derivatives of minus the generalized forces to block data (s, size); returns as ``plate_force``."""
    still, rows, C, K = np.zeros(3), np.empty((6, 12)), np.empty((6, 6)), np.empty((6, 6))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j, at = index[k, IN_Q], index[k, IN_V], V3(data[k])
            R, place, velocity = attitude(V4(q[s, i + 3 :])), places(V3(q[s, i:])), rates(V6(v[s, j:]))
            motion = motion_of(R, turns(V3(still)), place, velocity, at)
            F, T, found = load_at(index[k], data[k], levels, u[s], motion)
            if found >= 0:
                return found
            put_changes(on_frame(motion, at, F, T), rows)
            for m in range(6):
                for o in range(6):
                    K[m, o], C[m, o] = rows[m, o], rows[m, 6 + o]
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
