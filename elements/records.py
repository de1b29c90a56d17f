"""Results of elements: the arrays that they write, and the data of a run from which they compute them."""

import math
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
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.vector3 import hamilton

# Kernels of the motion of stations and of the deflection of beams at many output instants.


@inlined
def turned(p0, p1, p2, p3, x, y, z):
    """The vector x, y, z turned by the unit quaternion p."""
    a, b, c = 2.0 * (p2 * z - p3 * y), 2.0 * (p3 * x - p1 * z), 2.0 * (p1 * y - p2 * x)
    return x + p0 * a + p2 * c - p3 * b, y + p0 * b + p3 * a - p1 * c, z + p0 * c + p1 * b - p2 * a


@kernel
def station_motions(of_frames, q, v, rate, motion):
    """Motion (k, n, 3 or 4) of those stations (m,) of n whose frames have six degrees of freedom.

    of_frames : stations; in_q, in_v (m,), the first index of the frame in q (k, n_q), v and its rate (k, n_v); offset
    (m, 3), rotation (m, 4) of the station in axes of its frame. motion : the arrays of ``MOTION``, of which the last
    two may have no rows, and are left then.
    """
    stations, in_q, in_v, offset, rotation = of_frames
    position, quaternion, velocity, omega, acceleration, alpha = motion
    for s in range(q.shape[0]):
        for m in range(stations.size):
            o, i, j = stations[m], in_q[m], in_v[m]
            p0, p1, p2, p3 = q[s, i + 3], q[s, i + 4], q[s, i + 5], q[s, i + 6]
            x, y, z = offset[m, 0], offset[m, 1], offset[m, 2]
            w0, w1, w2 = v[s, j + 3], v[s, j + 4], v[s, j + 5]
            for k in range(3):
                position[s, o, k], velocity[s, o, k] = q[s, i + k], v[s, j + k]
            if acceleration.shape[0] > 0:
                alpha0, alpha1, alpha2 = rate[s, j + 3], rate[s, j + 4], rate[s, j + 5]
                # alpha x offset + omega x (omega x offset)
                u0, u1, u2 = w1 * z - w2 * y, w2 * x - w0 * z, w0 * y - w1 * x
                b0, b1, b2 = turned(
                    p0, p1, p2, p3,
                    alpha1 * z - alpha2 * y + w1 * u2 - w2 * u1,
                    alpha2 * x - alpha0 * z + w2 * u0 - w0 * u2,
                    alpha0 * y - alpha1 * x + w0 * u1 - w1 * u0,
                )  # fmt: skip
                acceleration[s, o, 0] = rate[s, j] + b0
                acceleration[s, o, 1] = rate[s, j + 1] + b1
                acceleration[s, o, 2] = rate[s, j + 2] + b2
                r0, r1, r2, r3 = rotation[m, 0], rotation[m, 1], rotation[m, 2], rotation[m, 3]
                alpha0, alpha1, alpha2 = turned(r0, -r1, -r2, -r3, alpha0, alpha1, alpha2)
                alpha[s, o, 0], alpha[s, o, 1], alpha[s, o, 2] = alpha0, alpha1, alpha2
            if x != 0.0 or y != 0.0 or z != 0.0:
                a, b, c = turned(p0, p1, p2, p3, x, y, z)
                position[s, o, 0] += a
                position[s, o, 1] += b
                position[s, o, 2] += c
                a, b, c = turned(p0, p1, p2, p3, w1 * z - w2 * y, w2 * x - w0 * z, w0 * y - w1 * x)
                velocity[s, o, 0] += a
                velocity[s, o, 1] += b
                velocity[s, o, 2] += c
            r0, r1, r2, r3 = rotation[m, 0], rotation[m, 1], rotation[m, 2], rotation[m, 3]
            if r0 != 1.0:
                p0, p1, p2, p3 = hamilton(p0, p1, p2, p3, r0, r1, r2, r3)
                w0, w1, w2 = turned(r0, -r1, -r2, -r3, w0, w1, w2)
            quaternion[s, o, 0], quaternion[s, o, 1], quaternion[s, o, 2], quaternion[s, o, 3] = p0, p1, p2, p3
            omega[s, o, 0], omega[s, o, 1], omega[s, o, 2] = w0, w1, w2


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
            a0, a1, a2, a3 = axes[s, m, 0], axes[s, m, 1], axes[s, m, 2], axes[s, m, 3]
            # a length that is not exactly one would scale the positions, and cause a false deflection
            f = 1.0 / math.sqrt(a0 * a0 + a1 * a1 + a2 * a2 + a3 * a3)
            x = position[s, n, 0] - origin[s, m, 0]
            y = position[s, n, 1] - origin[s, m, 1]
            z = position[s, n, 2] - origin[s, m, 2]
            x, y, z = turned(f * a0, -f * a1, -f * a2, -f * a3, x, y, z)
            deflection[s, n, 0] = x - shape[n, 0]
            deflection[s, n, 1] = y - shape[n, 1]
            deflection[s, n, 2] = z - shape[n, 2]
            p0, p1, p2, p3 = hamilton(
                quaternion[s, n, 0], quaternion[s, n, 1], quaternion[s, n, 2], quaternion[s, n, 3],
                reference[n, 0], -reference[n, 1], -reference[n, 2], -reference[n, 3],
            )  # fmt: skip
            rotation[s, n, 0], rotation[s, n, 1], rotation[s, n, 2], rotation[s, n, 3] = p0, p1, p2, p3


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
