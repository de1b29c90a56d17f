"""Layout: what the elements declare - named items, frames, internal coordinates, constraint rows and couplings."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from femb.base.options import TOLERANCES, Tolerances
from femb.base.types import Bools, Floats, Ints
from femb.layout.element import Input
from femb.layout.internal import InternalCoordinate, InternalQuantity
from femb.layout.numbering import Frame, Numbering
from femb.numerics import rotations

# Of every station at a frame: one array for all, which nothing can write to.
_ORIGIN, _AXES = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
for _array in (_ORIGIN, _AXES):
    _array.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Station:
    """A point with axes fixed to a frame: offset (3,) m in the frame's axes, rotation (4,) station to frame."""

    frame: int
    offset: Floats = field(default_factory=lambda: _ORIGIN)
    rotation: Floats = field(default_factory=lambda: _AXES)

    @property
    def on_frame(self) -> bool:
        """Whether the station coincides with the frame."""
        return not self.offset.any() and bool(np.all(self.rotation == (1.0, 0.0, 0.0, 0.0)))

    @cached_property
    def axes(self) -> Floats:
        """(3, 3) the station's axes as columns, in the frame's axes."""
        return rotations.rotation_matrix(self.rotation)


@dataclass(frozen=True, eq=False)
class BeamLayout:
    """A beam's nodes as stations, and the numbers of its internal coordinates by their name in states and results.

    For e elements, internal["strain"] (e, 2) are the numbers of the axial strains at both ends of every element.
    """

    stations: list[Station]
    internal: dict[str, Ints] = field(default_factory=dict)

    @property
    def elements(self) -> int:
        """The number of elements."""
        return len(self.stations) - 1

    @property
    def frames_of_elements(self) -> Ints:
        """(e, 2) frames of the first and the last node of every element."""
        frames = np.array([station.frame for station in self.stations])
        return np.column_stack([frames[:-1], frames[1:]])


@dataclass(frozen=True, eq=False)
class FlexibleLayout:
    """The interfaces of a flexible body as stations by name, and the numbers of its modes, which are one block."""

    stations: dict[str, Station]
    modes: list[int]


@dataclass(frozen=True, eq=False)
class JointLayout:
    """A joint's ends as stations whose axes are the joint's, the numbers of its rows, and its coordinates.

    part : slice of its coordinates in those of all joints. same_way : the axes that its rows keep parallel but that
    could point in opposite directions.
    """

    first: Station
    second: Station
    rows: list[int]
    coordinates: tuple[Any, ...]
    part: slice
    same_way: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LatchLayout:
    """A latch, the number of the joint coordinate that it locks, and the number of its row."""

    item: Any
    coordinate: int
    row: int


@dataclass(frozen=True, eq=False)
class DriverLayout:
    """A driver's two ends, the numbers of its rows, the inputs that prescribe their motion, and the names of the
    components of its force, one for each row.

    coordinate : number of the joint coordinate that it drives among those of all joints; -1 if it drives none.
    """

    first: Station
    second: Station
    rows: list[int]
    inputs: tuple[Input, ...]
    components: tuple[str, ...]
    coordinate: int = -1


class Layout(Numbering):
    """Collects frames, internal coordinates, rows and couplings from the elements; ``finish`` numbers them.

    origin (3,) m : the inertial point at t = 0 from which positions, also those in q, are measured; see Placement.
    origin_velocity (3,) m/s : its velocity, relative to which velocities, also those in v, are measured; see
    ``femb.system.initial_velocity.shared_velocity``. Input and output of users are inertial; see ``to_inertial``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.row_labels: list[str] = []
        self.bodies: dict[str, int] = {}
        self.beams: dict[str, BeamLayout] = {}
        self.flexible_bodies: dict[str, FlexibleLayout] = {}
        self.joints: dict[str, JointLayout] = {}
        self.latches: list[LatchLayout] = []
        self.drivers: dict[str, DriverLayout] = {}
        self._shared: dict[tuple[InternalQuantity, int], int] = {}
        self._inertial: int | None = None
        self.origin: Floats = np.zeros(3)
        self.origin_velocity: Floats = np.zeros(3)

    def to_inertial(self, time: Floats, position: Floats, velocity: Floats) -> tuple[Floats, Floats]:
        """Inertial position and velocity (k, ..., 3) from those relative to the origin at the instants time (k,)."""
        if not self.origin_velocity.any():
            return self.origin + position, self.origin_velocity + velocity
        path = np.reshape(time, (-1,) + (1,) * (position.ndim - 1)) * self.origin_velocity
        return self.origin + path + position, self.origin_velocity + velocity

    def add_frame(self, label: str, position: Floats, quaternion: Floats, freedom: int = 6) -> int:
        """The number of a new frame in its start pose; freedom is 6, 3 (a point, without axes) or 0 (fixed)."""
        self.frames.append(Frame(label, position, quaternion, freedom))
        return len(self.frames) - 1

    def add_internal(
        self,
        label: str,
        quantity: InternalQuantity,
        owner: int | None,
        table: str,
        shared: bool = False,
        block: int | None = None,
    ) -> int:
        """The number of a new internal coordinate; see ``InternalCoordinate``.

        owner : the frame with which it is eliminated; None or a fixed frame gives it a separate block. shared : all
        elements that request this quantity at this frame get the same coordinate. block : the number of an earlier
        coordinate without owner; its separate block then contains this one too, at the next index.
        """
        if shared and owner is not None:
            known = self._shared.setdefault((quantity, owner), len(self.internal))
            if known < len(self.internal):
                return known
        moving = owner is not None and self.frames[owner].freedom > 0
        self.internal.append(InternalCoordinate(label, quantity, owner if moving else None, table, block))
        return len(self.internal) - 1

    def couple(self, frames: Iterable[int], internal: Iterable[int] = ()) -> None:
        """Declare that an element couples these frames and internal coordinates."""
        self.couplings.append((tuple(frames), tuple(internal)))

    def couple_by_spring(self, frames: Iterable[int]) -> None:
        """Declare that a spring or dashpot couples these frames: for start velocities they are separate structures."""
        self.spring_couplings.append((tuple(frames), ()))

    def add_row(self, label: str, first: int, second: int) -> int:
        """The number of a new constraint equation between two frames."""
        self.rows.append((first, second))
        self.row_labels.append(label)
        return len(self.rows) - 1

    def inertial_frame(self) -> int:
        """The number of the fixed frame at the inertial origin with inertial axes; the first call adds it."""
        if self._inertial is None:
            axes = np.array([1.0, 0.0, 0.0, 0.0])
            self._inertial = self.add_frame("the inertial frame", -self.origin, axes, freedom=0)
        return self._inertial

    def station(self, marker: Any) -> Station:
        """The station of a Marker: a point of a body, of inertial space, or of the section at a node of a beam."""
        if marker.anchor is not None:
            return Station(self.inertial_frame(), marker.anchor)
        if marker.body is not None:
            return Station(self.bodies[marker.body], marker.at)
        node = self.beams[marker.beam].stations[marker.node]
        return Station(node.frame, node.offset + rotations.rotate(node.rotation, marker.at), node.rotation)

    def parts_of(self, name: str) -> list[str]:
        """The parts of a quantity's name between its dots; the name of a body may contain dots, as "boom.tip" does."""
        table, *parts = name.split(".")
        if table == "bodies":
            for k in range(len(parts), 1, -1):
                if ".".join(parts[:k]) in self.bodies:
                    return [table, ".".join(parts[:k]), *parts[k:]]
        return [table, *parts]

    def frame_of(self, marker: Any) -> int:
        """The number of the frame of a marker's station."""
        if marker.anchor is not None:
            return self.inertial_frame()
        if marker.body is not None:
            return self.bodies[marker.body]
        node: Station = self.beams[marker.beam].stations[marker.node]
        return node.frame

    def internal_tolerances(self, atol: Tolerances, rtol: float) -> tuple[Floats, Bools]:
        """Absolute tolerances (S,) of the internal coordinates, and (S,) whether they are angles."""
        values = dict(zip(TOLERANCES, atol.values(rtol), strict=True))
        tolerances = np.array([values[item.quantity.tolerance] for item in self.internal], dtype=float)
        return tolerances, np.array([item.quantity.unit == "rad" for item in self.internal], dtype=bool)

    @property
    def extent(self) -> float:
        """Largest distance (m) of a frame from ``origin`` at the start."""
        return max((math.sqrt(frame.position.dot(frame.position)) for frame in self.frames), default=0.0)

    def pose(self, station: Station) -> tuple[Floats, Floats]:
        """Start position and quaternion of a station."""
        frame = self.frames[station.frame]
        position = frame.position + rotations.rotate(frame.quaternion, station.offset)
        return position, rotations.multiply(frame.quaternion, station.rotation)

    def poses(self, stations: Sequence[Station]) -> tuple[Floats, Floats]:
        """Start positions (n, 3) and quaternions (n, 4) of n stations."""
        frames = [self.frames[station.frame] for station in stations]
        axes = np.array([frame.quaternion for frame in frames])
        arms = rotations.rotate(axes, np.array([station.offset for station in stations]))
        positions = np.array([frame.position for frame in frames]) + arms
        return positions, rotations.multiply(axes, np.array([station.rotation for station in stations]))
