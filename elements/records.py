"""Results of elements: the arrays that they write, and the data of a run from which they compute them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.joint.constraint_set import ConstraintSet
from femb.elements.joint.coordinates import JointCoordinates
from femb.layout.element import Batch
from femb.layout.layout import Layout, Station
from femb.layout.state import station_acceleration, station_motion
from femb.layout.views import OutputStates
from femb.numerics.compiler.compile import kernel
from femb.numerics.compiler.duals import Vector3, Vector4, cross
from femb.numerics.compiler.traced import V3, V4, put, traced
from femb.numerics.vector3 import attitude, conjugate, in_axes, quaternion_product

# Kernels of the motion of stations and of the deflection of beams at many output instants.


@traced
def station_at(p: Vector4, r: Vector3, v: Vector3, omega: Vector3, at: Vector3, turn: Vector4) -> Any:
    """Position, quaternion, velocity and angular velocity of a station at a point of a frame, turned beside it."""
    R = attitude.run(p)
    return r + R @ at, quaternion_product.run(p, turn), v + R @ cross(omega, at), attitude.run(turn).T @ omega


@traced
def station_rates(p: Vector4, omega: Vector3, a: Vector3, alpha: Vector3, at: Vector3, turn: Vector4) -> Any:
    """Acceleration and angular acceleration of a station."""
    swept = cross(alpha, at) + cross(omega, cross(omega, at))
    return a + attitude.run(p) @ swept, attitude.run(turn).T @ alpha


@kernel
def station_motions(of_frames, q, v, rate, motion):
    """Motion (k, n, 3 or 4) of those stations (m,) of n whose frames have six degrees of freedom.

    of_frames : stations; in_q, in_v (m,), the first index of the frame in q (k, n_q), v and its rate (k, n_v); offset
    (m, 3), rotation (m, 4) of the station in axes of its frame. motion : the arrays of ``MOTION``, of which the last
    two may have no rows, and are left then.
    """
    stations, in_q, in_v, offset, rotation = of_frames
    position, quaternion, velocity, angular_velocity, acceleration, alpha = motion
    for s in range(q.shape[0]):
        for m in range(stations.size):
            o, i, j, at, turn = stations[m], in_q[m], in_v[m], V3(offset[m]), V4(rotation[m])
            p, omega = V4(q[s, i + 3 :]), V3(v[s, j + 3 :])
            found = station_at(p, V3(q[s, i:]), V3(v[s, j:]), omega, at, turn)
            put(found[0], position[s, o])
            put(found[1], quaternion[s, o])
            put(found[2], velocity[s, o])
            put(found[3], angular_velocity[s, o])
            if acceleration.shape[0] > 0:
                rates = station_rates(p, omega, V3(rate[s, j:]), V3(rate[s, j + 3 :]), at, turn)
                put(rates[0], acceleration[s, o])
                put(rates[1], alpha[s, o])


@kernel
def shape_changes(carrier, origin, axes, shape, reference, position, quaternion, rotation, deflection):
    """rotation (k, n, 4) from the reference quaternions (n, 4), and deflection (k, n, 3) in axes of the carriers.

    carrier (n,) : of each node, with positions origin (k, m, 3) and quaternions axes (k, m, 4) of any length. shape
    (n, 3) : the nodes without deflection, relative to their carrier and in its axes. position, quaternion : of the
    nodes at k instants.
    """
    for s in range(position.shape[0]):
        for n in range(carrier.size):
            m = carrier[n]
            # the quaternion of a carrier may have any length
            place = in_axes(V4(axes[s, m]), V3(position[s, n]) - V3(origin[s, m]))
            put(place - V3(shape[n]), deflection[s, n])
            put(quaternion_product(V4(quaternion[s, n]), conjugate(V4(reference[n]))), rotation[s, n])


# Names of the arrays of ``motion_of`` in the results, in this order.
MOTION = ("position", "quaternion", "velocity", "angular_velocity", "acceleration", "angular_acceleration")


class RecordedSystem(Protocol):
    """The members of a System (``femb.system.system.System``) that elements need for their results."""

    @property
    def layout(self) -> Layout: ...
    @property
    def inputs(self) -> Any: ...
    @property
    def model(self) -> Any: ...
    @property
    def constraint_set(self) -> ConstraintSet: ...
    @property
    def coordinates_of_joints(self) -> JointCoordinates: ...


def no_series(frames: OutputStates) -> dict[str, Floats]:
    """No arrays that change with time."""
    return {}


@dataclass(frozen=True, eq=False)
class Records:
    """Results of the items of one class, by path in the result file.

    static : arrays that do not change with time. attributes : of groups of the file. series : a function of k output
    instants that returns arrays (k, ...). motion : one that returns those of them that follow from positions and
    velocities alone, by default ``series`` itself.
    """

    static: dict[str, Floats] = field(default_factory=dict)
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)
    series: Callable[[OutputStates], dict[str, Floats]] = no_series
    motion: Callable[[OutputStates], dict[str, Floats]] | None = None

    def at(self, frames: OutputStates, motion_only: bool = False) -> dict[str, Floats]:
        """The arrays at k output instants."""
        return (self.motion if motion_only and self.motion is not None else self.series)(frames)


def motion_of(layout: Layout, station: Station, frames: OutputStates, accelerations: bool = True) -> tuple[Floats, ...]:
    """The arrays (k, 3 or 4) of ``MOTION`` of a station, with accelerations or without; positions and velocities are
    relative to ``layout.origin``."""
    q, v = frames.q, frames.v
    motion = station_motion(layout, station, q, v)
    return (*motion, *station_acceleration(layout, station, q, v, frames.a)) if accelerations else motion


def inertial_motion_of(
    layout: Layout, station: Station, frames: OutputStates, accelerations: bool = True
) -> dict[str, Floats]:
    """Motion of an item by its name, with inertial positions and velocities."""
    motion = dict(zip(MOTION, motion_of(layout, station, frames, accelerations), strict=False))
    motion["position"], motion["velocity"] = layout.to_inertial(frames.time, motion["position"], motion["velocity"])
    return motion


class StationMotions:
    """The motion of n stations, such as the nodes of a beam, computed together where their frames have axes and move.

    Positions and velocities are relative to ``layout.origin``.
    """

    def __init__(self, layout: Layout, stations: Sequence[Station]) -> None:
        self.layout, self.count = layout, len(stations)
        of_stations: Ints = np.array([station.frame for station in stations], dtype=np.int64)
        moving = layout.freedom[of_stations] == 6
        offset = np.array([station.offset for station in stations]).reshape(-1, 3)
        rotation = np.array([station.rotation for station in stations]).reshape(-1, 4)
        self.moving: Ints = np.flatnonzero(moving)
        self.others = [(k, stations[k]) for k in np.flatnonzero(~moving).tolist()]
        frames = of_stations[self.moving]
        self.in_q: Ints = layout.frame_q[frames]
        self.in_v: Ints = layout.frame_v[frames]
        self.offset, self.rotation = offset[moving], rotation[moving]

    def at(self, frames: OutputStates, accelerations: bool = True) -> dict[str, Floats]:
        """The arrays (k, n, 3 or 4) of ``MOTION`` by name, with accelerations or without."""
        count = len(frames.time)
        result = [np.empty((count, self.count, size)) for size in (3, 4, 3, 3)]
        result += [np.empty((count if accelerations else 0, self.count, 3)) for _ in range(2)]
        of_frames = self.moving, self.in_q, self.in_v, self.offset, self.rotation
        station_motions(of_frames, frames.q, frames.v, frames.a, tuple(result))
        result = result if accelerations else result[:4]
        for k, station in self.others:
            for out, values in zip(result, motion_of(self.layout, station, frames, accelerations), strict=True):
                out[:, k] = values
        return dict(zip(MOTION, result, strict=False))


def load_factors(batch: Batch, frames: OutputStates) -> dict[str, Floats]:
    """The factor of every load of a batch with one input per load, i.e. the value of its profile."""
    columns = [frames.u[:, batch.first_input + k] for k in range(len(batch.inputs))]
    return {f"{each.label.replace('.', '/', 1)}/factor": u for each, u in zip(batch.inputs, columns, strict=True)}
