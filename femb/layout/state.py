"""State: the bodies, beams and joints at one instant by name; users' functions of loads and events receive it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.layout.element import ForceColumns, OutputRows
from femb.layout.layout import Layout, Station
from femb.layout.views import LinearPoint
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix


@dataclass(frozen=True)
class NodeState:
    """A body's reference point or a beam's node: position, velocity (inertial axes), quaternion, angular velocity."""

    position: Floats
    quaternion: Floats
    velocity: Floats
    angular_velocity: Floats


@dataclass(frozen=True)
class BeamState:
    """A beam: its nodes from start to end, and its internal coordinates by name."""

    nodes: tuple[NodeState, ...]
    internal: dict[str, Floats]

    @property
    def strain(self) -> Floats:
        """(e, 2) the axial strain at both ends of every element, of beams that have it as a coordinate."""
        return self.internal["strain"]


@dataclass(frozen=True)
class JointState:
    """A joint: its coordinates (rad, unwrapped, or m) and their rates, in the order of ``names``."""

    names: tuple[str, ...]
    coordinates: Floats
    rates: Floats


class _Names:
    def __init__(self, names: dict[str, Any], get: Any) -> None:
        self._names, self._get = names, get

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(f"no {name!r}; there are {', '.join(map(repr, self._names))}")
        return self._get(name)

    def __iter__(self) -> Any:
        return iter(self._names)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._names)


class State:
    """An instant ``time`` of a system with coordinates q (n_q,) and velocities v (n_v,).

    Positions and velocities of bodies and nodes are inertial, those in q and v relative to ``layout.origin``.
    Its arrays are read-only: writing raises ValueError. Copy values to keep them, because the integration changes the
    arrays.
    """

    def __init__(
        self, layout: Layout, time: float, q: Floats, v: Floats, joint_motion: Any = None, forward: Any = None
    ) -> None:
        self.time = time
        self._layout, self._joint_motion, self._forward = layout, joint_motion, forward
        self._arrays = q, v
        self.q, self.v = q.view(), v.view()
        self.q.flags.writeable = self.v.flags.writeable = False

    def arrays(self) -> tuple[Floats, Floats]:
        """Writable q and v, for the elements' kernels, which are compiled for writable arrays."""
        return self._arrays

    def accelerations(self) -> Floats:
        """v' (n_v,), with the inputs just before this instant: one solution of the equations of motion."""
        result: Floats = self._forward()
        return result

    @property
    def bodies(self) -> Any:
        """NodeState by body name."""
        return _Names(self._layout.bodies, lambda name: self._node(Station(self._layout.bodies[name])))

    @property
    def beams(self) -> Any:
        """BeamState by beam name."""
        return _Names(self._layout.beams, self._beam)

    @property
    def coordinates(self) -> Floats:
        """(m,) coordinates of all joints, unwrapped."""
        result: Floats = self._joint_motion(*self._arrays)[0]
        return result

    @property
    def joints(self) -> Any:
        """JointState by joint name."""
        return _Names(self._layout.joints, self._joint)

    def __getattr__(self, table: str) -> Any:
        """The items of another table by name, with the quantities that they declare, as ``state.wheels["w"].speed``."""
        views = self.__dict__["_layout"].views if "_layout" in self.__dict__ else {}
        if table not in views:
            there = ", ".join(["bodies", "beams", "joints", *views])
            raise AttributeError(f"the state has no {table!r}; it has {there}")
        return _Names(views[table], lambda name: views[table][name](self))

    def _joint(self, name: str) -> JointState:
        coordinates, rates = self._joint_motion(*self._arrays)
        joint = self._layout.joints[name]
        return JointState(
            tuple(coordinate.name for coordinate in joint.coordinates), coordinates[joint.part], rates[joint.part]
        )

    def _beam(self, name: str) -> BeamState:
        beam = self._layout.beams[name]
        nodes = tuple(self._node(station) for station in beam.stations)
        internal = {name: self.q[self._layout.internal_q[k]] for name, k in beam.internal.items()}
        return BeamState(nodes, internal)

    def _node(self, station: Station) -> NodeState:
        columns = station_motion(self._layout, station, self.q[np.newaxis], self.v[np.newaxis])
        position, quaternion, velocity, omega = columns
        if self._layout.origin.any() or self._layout.origin_velocity.any():
            position, velocity = self._layout.to_inertial(np.array([self.time]), position, velocity)
        return NodeState(position[0], quaternion[0], velocity[0], omega[0])


def station_acceleration(layout: Layout, station: Station, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
    """Acceleration (inertial axes) and angular acceleration (own axes) (s, 3) of a station at s states with v' = a."""
    frame = layout.frames[station.frame]
    i, j = layout.frame_q[station.frame], layout.frame_v[station.frame]
    if frame.freedom == 0:
        still = np.zeros((len(q), 3))
        return still, still.copy()
    linear = a[:, j : j + 3]
    if frame.freedom == 3:
        return linear, np.zeros((len(q), 3))
    omega, alpha = v[:, j + 3 : j + 6], a[:, j + 3 : j + 6]
    if station.on_frame:
        return linear, alpha
    relative = rotations.cross(alpha, station.offset) + rotations.cross(omega, rotations.cross(omega, station.offset))
    return linear + rotations.rotate(q[:, i + 3 : i + 7], relative), rotations.rotate_back(station.rotation, alpha)


def station_motion(layout: Layout, station: Station, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Position, quaternion, velocity and angular velocity (s, 3 or 4) of a station at s states.

    Positions and velocities are relative to ``layout.origin``.
    """
    frame = layout.frames[station.frame]
    i, j = layout.frame_q[station.frame], layout.frame_v[station.frame]
    count = len(q)
    if frame.freedom == 0:
        position, quaternion = layout.pose(station)
        still = np.zeros((count, 3))
        return np.tile(position, (count, 1)), np.tile(quaternion, (count, 1)), still, still.copy()
    position, velocity = q[:, i : i + 3], v[:, j : j + 3]
    if frame.freedom == 3:
        return position, np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)), velocity, np.zeros((count, 3))
    quaternion, omega = q[:, i + 3 : i + 7], v[:, j + 3 : j + 6]
    if station.on_frame:
        return position, quaternion, velocity, omega
    return moved_by(station.offset, station.rotation, position, quaternion, velocity, omega)


def station_pose(layout: Layout, station: Station, q: Floats) -> tuple[Floats, Floats]:
    """Position and quaternion (s, 3 or 4) of a station at s states, as in ``station_motion``."""
    frame, i = layout.frames[station.frame], layout.frame_q[station.frame]
    if frame.freedom != 6:
        return station_motion(layout, station, q, np.zeros((len(q), layout.n_v)))[:2]
    position, quaternion = q[:, i : i + 3], q[:, i + 3 : i + 7]
    if station.on_frame:
        return position, quaternion
    return position + rotations.rotate(quaternion, station.offset), rotations.multiply(quaternion, station.rotation)


def moved_by(
    offset: Floats, rotation: Floats, position: Floats, quaternion: Floats, velocity: Floats, omega: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Position, quaternion, velocity and angular velocity (..., 3 or 4) of stations, from those of their frames."""
    return (
        position + rotations.rotate(quaternion, offset),
        rotations.multiply(quaternion, rotation),
        velocity + rotations.rotate(quaternion, rotations.cross(omega, offset)),
        rotations.rotate_back(rotation, omega),
    )


# Stations in linear models: rows of their motion, and columns of forces on them.

STATION_MOTION = {
    "position": "m",
    "turn": "rad",
    "velocity": "m/s",
    "angular_velocity": "rad/s",
    "acceleration": "m/s2",
    "angular_acceleration": "rad/s2",
}
"""Outputs of a station, with units: inertial axes; own axes for "turn", the change of the attitude, and its rates."""
LINEAR_MOTION = ("position", "velocity", "acceleration")
RATE = " rate"
"""After the name of a coordinate: its rate."""
RATES = {"-": "1/s", "m/s": "m/s2", "rad/s": "rad/s2"}
STATION_FORCES = {"force": "N", "torque": "N m"}
"""Forces on a station, in its own axes, with units."""


def motion_outputs(freedom: int) -> tuple[str, ...]:
    """The outputs of a station on a frame with this number of velocities; a point mass does not turn."""
    return LINEAR_MOTION if freedom == 3 else tuple(STATION_MOTION)


def frame_pose(layout: Layout, frame: int, q: Floats) -> tuple[Floats, Floats]:
    """Position (3,) from ``layout.origin`` and axes (3, 3) of a frame at one state."""
    if not layout.frames[frame].freedom:
        return layout.frames[frame].position, rotations.rotation_matrix(layout.frames[frame].quaternion)
    i = layout.frame_q[frame]
    if layout.frames[frame].freedom == 3:
        return q[i : i + 3], np.eye(3)
    return q[i : i + 3], rotations.rotation_matrix(rotations.normalise(q[i + 3 : i + 7]))


def station_rows(point: LinearPoint, station: Station, quantity: str) -> OutputRows | None:
    """The rows of the motion of a station, one of ``STATION_MOTION``; None of another quantity.

    Raises ModelError: the turn of a point mass.
    """
    if quantity not in STATION_MOTION:
        return None
    layout, n = point.system.layout, point.system.n_v
    frame = layout.frames[station.frame]
    pose, velocity, acceleration = np.zeros((3, 3, n))
    rows = OutputRows(STATION_MOTION[quantity], pose, velocity, acceleration)
    if not frame.freedom:
        return rows
    j = layout.frame_v[station.frame]
    line, spin = slice(j, j + 3), slice(j + 3, j + 6)
    if frame.freedom == 3:
        if quantity not in LINEAR_MOTION:
            raise ModelError("a point mass does not turn")
        {"position": pose, "velocity": velocity, "acceleration": acceleration}[quantity][:, line] = np.eye(3)
        return rows
    R = frame_pose(layout, station.frame, point.q)[1]
    arm, omega = station.offset, point.v[spin]
    tilde = cross_matrix
    speed = np.cross(omega, arm)
    if quantity in ("turn", "angular_velocity", "angular_acceleration"):
        changes = {"turn": pose, "angular_velocity": velocity, "angular_acceleration": acceleration}[quantity]
        changes[:, spin] = rotations.rotation_matrix(station.rotation).T
    elif quantity == "position":
        pose[:, line], pose[:, spin] = np.eye(3), -R @ tilde(arm)
    elif quantity == "velocity":
        pose[:, spin] = -R @ tilde(speed)
        velocity[:, line], velocity[:, spin] = np.eye(3), -R @ tilde(arm)
    else:
        pose[:, spin] = -R @ tilde(np.cross(point.a[spin], arm) + np.cross(omega, speed))
        velocity[:, spin] = -R @ (tilde(speed) + tilde(omega) @ tilde(arm))
        acceleration[:, line], acceleration[:, spin] = np.eye(3), -R @ tilde(arm)
    return rows


def motion_rows(point: LinearPoint, station: Station, quantity: str) -> tuple[Floats, Floats]:
    """(3, n_v) twice: ``station_rows`` of one of ``STATION_MOTION`` by the pose and by the velocities."""
    rows = station_rows(point, station, quantity)
    assert rows is not None
    return rows.by_motion


def internal_rows(point: LinearPoint, number: int, rate: bool = False) -> OutputRows:
    """The row of an internal coordinate or a first-order state, by its number in the layout, or of its rate."""
    layout = point.system.layout
    row = np.zeros((1, point.system.n_v))
    row[0, layout.internal_v[number]] = 1.0
    quantity = layout.internal[number].quantity
    unit = RATES.get(quantity.unit, f"{quantity.unit}/s") if rate else quantity.unit
    # the value of a first-order state is a velocity
    derivative = int(rate) + int(quantity.first_order)
    pose, velocity, acceleration = (row if k == derivative else None for k in range(3))
    return OutputRows(unit, pose, velocity, acceleration, components=())


def station_force_columns(point: LinearPoint, station: Station, quantity: str) -> ForceColumns | None:
    """The columns of a force or a torque on a station along its axes; None of another quantity.

    Raises ModelError: a torque on a point mass.
    """
    if quantity not in STATION_FORCES:
        return None
    layout = point.system.layout
    frame = layout.frames[station.frame]
    columns = np.zeros((3, point.system.n_v))
    j = layout.frame_v[station.frame]
    if frame.freedom == 3:
        if quantity == "torque":
            raise ModelError("a point mass does not turn")
        columns[:, j : j + 3] = np.eye(3)
    elif frame.freedom and quantity == "force":
        columns[:, j : j + 3] = (frame_pose(layout, station.frame, point.q)[1] @ station.axes).T
        columns[:, j + 3 : j + 6] = np.cross(station.offset, station.axes.T)
    elif frame.freedom:
        columns[:, j + 3 : j + 6] = station.axes.T
    return ForceColumns(STATION_FORCES[quantity], columns)


# Motion of the stations of elements, and the transfer of forces and matrices to the frames; for elements in numpy.
#
# A station is a point with axes fixed to a frame. An element formulates its forces and matrices in velocities (inertial
# axes) and angular velocities (axes of the station) of its stations; this module transforms them to the frames.


@dataclass(frozen=True, eq=False)
class StationMotion:
    """Motion of the e stations of n elements at s states: position (s, n, e, 3) m and axes (s, n, e, 3, 3), as columns;
    velocity (s, n, e, 3) m/s, inertial axes, and omega (s, n, e, 3) rad/s, axes of the station."""

    position: Floats
    axes: Floats
    velocity: Floats
    omega: Floats


class Stations:
    """The stations of n elements, a list of e stations for each."""

    def __init__(self, stations: list[list[Station]], layout: Layout) -> None:
        self.count = len(stations[0])
        all_stations = [station for element in stations for station in element]
        frames = [station.frame for station in all_stations]
        in_q, self.in_v = layout.frame_q[frames], layout.frame_v[frames]
        self.moving = self.in_v >= 0
        self.q = np.maximum(in_q, 0)[:, None] + np.arange(7)
        self.v = self.in_v[self.moving][:, None] + np.arange(6)
        self.fixed = layout.fixed[np.where(self.moving, 0, -1 - in_q)]
        self.offset = np.array([station.offset for station in all_stations])
        self.rotation = np.array([station.axes for station in all_stations])

    def motion(self, q: Floats, v: Floats) -> StationMotion:
        """Motion at s states q (s, n_q), v (s, n_v)."""
        rates = np.zeros((len(q), len(self.moving), 6))
        rates[:, self.moving] = v[:, self.v]
        velocity, omega = rates[..., :3], rates[..., 3:]
        position, R = self._frames(q)
        arm = rotations.cross(omega, self.offset)
        return StationMotion(
            self._by_element(position + _apply(R, self.offset)),
            self._by_element(R @ self.rotation),
            self._by_element(velocity + _apply(R, arm)),
            self._by_element(_apply(np.swapaxes(self.rotation, -1, -2), omega)),
        )

    @property
    def starts(self) -> Ints:
        """(n, e) the first velocity of the frame of each station, negative if it is fixed."""
        return self.in_v.reshape(-1, self.count)

    def add_force(self, q: Floats, force: Floats, torque: Floats, out: Floats) -> None:
        """out (s, n_v) += forces (s, n, e, 3), inertial axes, and torques (s, n, e, 3), axes of the station."""
        _, R = self._frames(q)
        force, torque = (x.reshape(len(q), -1, 3) for x in (force, torque))
        arm = rotations.cross(self.offset, _apply(np.swapaxes(R, -1, -2), force))
        wrench = np.concatenate([force, arm + _apply(self.rotation, torque)], axis=-1)
        np.add.at(out.T, self.v, np.moveaxis(wrench[:, self.moving], 0, -1))  # stations may share a frame

    def add_matrix(
        self, q: Floats, matrix: Floats, places: tuple[Ints, Ints], data: Floats, force: Floats | None = None
    ) -> None:
        """Add matrices (n, 6 e, 6 e), by the velocities of the stations, to block data at one state.

        places : offset and stride (n, e, e) of the blocks of the frames. force (n, e, 3) : adds the stiffness due to
        the rotation of its lever arms, for the derivative of ``add_force``.
        """
        from femb.numerics.vector3 import scatter

        (R,), count = self._frames(q[None])[1], self.count
        # velocities of the stations by those of their frames
        by_frames = np.zeros((len(R), 6, 6))
        by_frames[:, :3, :3], by_frames[:, 3:, 3:] = np.eye(3), np.swapaxes(self.rotation, -1, -2)
        by_frames[:, :3, 3:] = -R @ cross_matrix(self.offset)
        frames = by_frames.reshape(-1, count, 6, 6)
        by_rows = np.swapaxes(frames, -1, -2) @ np.asarray(matrix).reshape(-1, count, 6, 6 * count)
        columns = by_rows.reshape(-1, count, 6, count, 6).transpose(0, 3, 1, 2, 4).reshape(-1, count, 6 * count, 6)
        blocks = (columns @ frames).reshape(-1, count, count, 6, 6).transpose(0, 2, 3, 1, 4)
        if force is not None:
            local = _apply(np.swapaxes(R, -1, -2), force.reshape(-1, 3))
            arms = (cross_matrix(self.offset) @ cross_matrix(local)).reshape(-1, count, 3, 3)
            for end in range(count):
                blocks[:, end, 3:, end, 3:] += arms[:, end]
        starts, sizes = 6 * np.arange(count), np.full(count, 6)
        for k, block in enumerate(blocks.reshape(-1, 6 * count, 6 * count)):
            scatter(block, starts, sizes, places[0][k], places[1][k], data)

    def _frames(self, q: Floats) -> tuple[Floats, Floats]:
        """Positions (s, m, 3) and axes (s, m, 3, 3) of the frames of all m stations."""
        poses = np.where(self.moving[:, None], q[:, self.q], self.fixed)
        return poses[..., :3], rotations.rotation_matrix(rotations.normalise(poses[..., 3:]))

    def _by_element(self, values: Floats) -> Floats:
        return values.reshape(len(values), -1, self.count, *values.shape[2:])


def _apply(R: Floats, x: Floats) -> Floats:
    """Matrices (..., 3, 3) times vectors (..., 3)."""
    return (R @ x[..., None])[..., 0]
