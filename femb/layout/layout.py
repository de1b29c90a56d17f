"""Layout: what the elements declare - named items, frames, internal coordinates, constraint rows and couplings."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from femb.base.options import DEFAULT_RTOL, TOLERANCES, Tolerances
from femb.base.types import Bools, Floats, Ints
from femb.base.values import shallow_copy
from femb.layout.discrete import ANGLES, DiscreteArray, DiscreteState, Update
from femb.layout.element import Input
from femb.layout.numbering import Frame, InternalCoordinate, InternalQuantity, Numbering
from femb.numerics import rotations
from femb.numerics.components import kept

# Of every station at a frame: one array for all, which nothing can write to.
_ORIGIN, _AXES = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
for _array in (_ORIGIN, _AXES):
    _array.flags.writeable = False


@dataclass(frozen=True, eq=False, init=False)
class Station:
    """A point with axes fixed to a frame: offset (3,) m in the frame's axes, rotation (4,) station to frame."""

    frame: int
    offset: Floats
    rotation: Floats

    def __init__(self, frame: int, offset: Floats = _ORIGIN, rotation: Floats = _AXES) -> None:
        # a third of the time of the constructor that dataclasses make: a model has many stations
        vars(self).update(frame=frame, offset=offset, rotation=rotation)

    @property
    def on_frame(self) -> bool:
        """Whether the station coincides with the frame."""
        return not self.offset.any() and bool(np.all(self.rotation == (1.0, 0.0, 0.0, 0.0)))

    @cached_property
    def axes(self) -> Floats:
        """(3, 3) the station's axes as columns, in the frame's axes; read-only."""
        return _axes_of(self.rotation)


@kept
def _axes_of(rotation: Floats) -> Floats:
    axes = rotations.rotation_matrix(rotation)
    axes.flags.writeable = False
    return axes


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

    def node(self, text: str) -> Station | None:
        """The station of a node by its number, from 0, or from -1 at the end; None where there is none."""
        count = len(self.stations)
        known = text.removeprefix("-").isdecimal() and -count <= int(text) < count
        return self.stations[int(text)] if known else None

    @property
    def frames_of_elements(self) -> Ints:
        """(e, 2) frames of the first and the last node of every element."""
        frames = np.array([station.frame for station in self.stations])
        return np.column_stack([frames[:-1], frames[1:]])


@dataclass(frozen=True, eq=False)
class ShellLayout:
    """A shell's nodes as stations, the nodes of its quadrilaterals (q, 4) and triangles (t, 3), and the frames that are
    its own: those of nodes that are on no other item."""

    stations: list[Station]
    quads: Ints
    triangles: Ints
    own: list[int]

    @property
    def frames(self) -> list[int]:
        """The frames of all nodes."""
        return [station.frame for station in self.stations]


@dataclass(frozen=True, eq=False)
class FlexibleLayout:
    """The interfaces of a flexible body as stations by name, the numbers of its modes, which are one block, and its
    mass, kg."""

    stations: dict[str, Station]
    modes: list[int]
    mass: float


class JointLayout(NamedTuple):
    """A joint's ends as stations whose axes are the joint's, the numbers of its rows, and its coordinates.

    part : slice of its coordinates in those of all joints. same_way : the axes that its rows keep parallel but that
    could point in opposite directions. start (k,) : the coordinates from which its angles count revolutions; NaN where
    these are not given, and angles begin within half a turn.
    """

    first: Station
    second: Station
    rows: list[int]
    coordinates: tuple[Any, ...]
    part: slice
    same_way: tuple[int, ...]
    start: Floats


@dataclass(frozen=True, eq=False)
class LatchLayout:
    """A latch, the number of the joint coordinate that it locks, and the number of its row.

    Its discrete states are ``on``, one while it is engaged, else zero, and ``at``, the coordinate that it keeps, rad or
    m.
    """

    item: Any
    coordinate: int
    row: int

    @property
    def on(self) -> str:
        """The name of the first."""
        return f"latches.{self.item.name}.engaged"

    @property
    def at(self) -> str:
        """The name of the second."""
        return f"latches.{self.item.name}.coordinate"

    def engaged(self, discrete: DiscreteState) -> bool:
        """Whether it is engaged."""
        return bool(discrete[self.on])


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


class RelationLayout(NamedTuple):
    """The relation of a coupling: the number of its row, the numbers of its joint coordinates among those of all joints
    and their names, constant factors of these, none if they change, and the offset, m or rad."""

    row: int
    numbers: tuple[int, ...]
    words: tuple[str, ...]
    factors: tuple[float, ...]
    offset: float


class Layout(Numbering):
    """Collects frames, internal coordinates, rows and couplings from the elements; ``finish`` numbers them.

    origin (3,) m : the inertial point at t = 0 from which positions, also those in q, are measured; see Placement.
    origin_velocity (3,) m/s : its velocity, relative to which velocities, also those in v, are measured; see
    ``femb.system.initial_state.shared_velocity``. Input and output of users are inertial; see ``to_inertial``.
    slow_time : s, below which no motion of a body alone is of interest, as items say; 0 where they do not. Of layouts
    that are stacked one of each frame. gyration : m, largest radius of gyration of bodies, as they declare.
    """

    def __init__(self) -> None:
        super().__init__()
        self.row_labels: list[str] = []
        self.bodies: dict[str, int] = {}
        self.beams: dict[str, BeamLayout] = {}
        self.shells: dict[str, ShellLayout] = {}
        self.flexible_bodies: dict[str, FlexibleLayout] = {}
        self.joints: dict[str, JointLayout] = {}
        # the joints along lines of hinges, one at each node
        self.hinges: dict[str, list[JointLayout]] = {}
        self.latches: list[LatchLayout] = []
        self.discrete: dict[str, DiscreteArray] = {}
        self.updates: list[Update] = []
        self.drivers: dict[str, DriverLayout] = {}
        self.relations: dict[str, RelationLayout] = {}
        # by table and name: what users' functions see of an item that declares its quantities, from a State
        self.views: dict[str, dict[str, Callable[[Any], Any]]] = {}
        # by the system: the inertia (3, 3) of the model about its mass centre at the start, kg m2, inertial axes
        self.locked_inertia: Callable[[], Floats]
        self._shared: dict[tuple[InternalQuantity, int], int] = {}
        self.inertial: int | None = None  # of points in space
        self._frames_on: dict[Any, frozenset[int]] = {}
        self.origin: Floats = np.zeros(3)
        self.origin_velocity: Floats = np.zeros(3)
        # couplings and internal coordinates of each item, by its table and name
        self.declared: dict[tuple[str, str], tuple[slice, slice]] = {}
        self.slow_time: float | Floats = 0.0
        self.gyration = 0.0

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
        start: float = 0.0,
        start_rate: float = 0.0,
    ) -> int:
        """The number of a new internal coordinate, or of a first-order state; see ``InternalCoordinate``.

        owner : the frame with which it is eliminated; None or a fixed frame gives it a separate block. shared : all
        elements that request this quantity at this frame get the same coordinate. block : the number of an earlier
        coordinate without owner; its separate block then contains this one too, at the next index. start, start_rate :
        at the start of the motion; of a first-order state ``start`` is its value.

        The batch of the item gives the row of its equation. That of a first-order state z' = g has z' = a[internal_v]
        with the mass 1 (or another), z = v[internal_v], and nothing by q[internal_q].
        """
        if quantity.first_order:
            start, start_rate = 0.0, start
        if shared and owner is not None:
            known = self._shared.setdefault((quantity, owner), len(self.internal))
            if known < len(self.internal):
                return known
        moving = owner is not None and self.frames[owner].freedom > 0
        owner = owner if moving else None
        self.internal.append(InternalCoordinate(label, quantity, owner, table, block, start, start_rate))
        return len(self.internal) - 1

    def add_discrete(self, name: str, start: Any, carried: bool | Callable[[Floats, float], Floats] = True) -> str:
        """The name of a new discrete state, such as "thrusters.t1.level"; see ``femb.layout.discrete``.

        start, carried : as in ``DiscreteArray``. Raises ValueError where there is one of this name, or it has a slash.
        """
        if name in self.discrete or name == ANGLES or "/" in name:
            raise ValueError(f"got the discrete state {name!r}, wanted a name that is new and has no '/'")
        self.discrete[name] = DiscreteArray(start, carried)
        return name

    def add_update(self, update: Update) -> None:
        """Declare when and how discrete states change; one with a period counts its samples. Raises ValueError."""
        if update.period is not None:
            if not (update.period > 0.0 and update.phase >= 0.0):
                raise ValueError(f"{update.label}: got the period {update.period} s and the phase {update.phase} s")
            self.add_discrete(update.count, 0.0, carried=False)
        self.updates.append(update)

    def has_internal(self, table: str, item: str) -> bool:
        """Whether an item has internal coordinates under its own name."""
        return any((each.table, each.label) == (table, item) for each in self.internal)

    def internal_number(self, table: str, item: str, name: str) -> int:
        """The number of an internal coordinate of an item by its name. Raises KeyError, which says what there is."""
        of_item = {
            each.quantity.name: k for k, each in enumerate(self.internal) if (each.table, each.label) == (table, item)
        }
        if name not in of_item:
            raise KeyError(
                f"{table}.{item}: no internal coordinate {name!r}; there are: {', '.join(of_item) or 'none'}"
            )
        return of_item[name]

    def couple(self, frames: Iterable[int], internal: Iterable[int] = ()) -> None:
        """Declare that the matrices of an element have entries between these frames and internal coordinates."""
        self.couplings.append((tuple(frames), tuple(internal)))

    def connect(self, frames: Iterable[int]) -> None:
        """Declare that these frames are of one structure, as the nodes of a beam: where the velocity of one of them is
        given at the start, the others start with it as one rigid body."""
        self.structures.append(tuple(frames))

    def add_rows(self, labels: Sequence[str], *frames: int) -> list[int]:
        """The numbers of new constraint equations between two frames, or more."""
        count = len(self.rows)
        self.rows += [frames] * len(labels)
        self.row_labels += labels
        return list(range(count, len(self.rows)))

    def add_row(self, label: str, *frames: int) -> int:
        """The number of a new constraint equation between two frames, or more."""
        return self.add_rows([label], *frames)[0]

    def inertial_frame(self) -> int:
        """The number of the fixed frame at the inertial origin with inertial axes; the first call adds it."""
        if self.inertial is None:
            axes = np.array([1.0, 0.0, 0.0, 0.0])
            self.inertial = self.add_frame("the inertial frame", -self.origin, axes, freedom=0)
        return self.inertial

    def station(self, marker: Any) -> Station:
        """The station of a Marker: a point of a body, of inertial space, or of the section at a node of a beam."""
        if marker.anchor is not None:
            return Station(self.inertial_frame(), marker.anchor)
        if marker.body is not None:
            return Station(self.bodies[marker.body], np.asarray(marker.at, dtype=float))
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

    def named_station(self, name: str) -> Station | None:
        """The station of "bodies.NAME", or of "beams.NAME.NODE" with a node from 0, or from -1 at the end, or None."""
        match self.parts_of(name):
            case ["bodies", body] if body in self.bodies:
                return Station(self.bodies[body])
            case ["beams", beam, node] if beam in self.beams:
                return self.beams[beam].node(node)
        return None

    def frame_of(self, marker: Any) -> int:
        """The number of the frame of a marker's station."""
        if marker.anchor is not None:
            return self.inertial_frame()
        if marker.body is not None:
            return self.bodies[marker.body]
        node: Station = self.beams[marker.beam].stations[marker.node]
        return node.frame

    def frames_on(self, item: Any) -> frozenset[int]:
        """The frames of an item's markers."""
        found = self._frames_on.get(item)
        if found is None:
            found = self._frames_on[item] = frozenset([self.frame_of(marker) for marker in item.markers.values()])
        return found

    def internal_tolerances(self, atol: Tolerances, rtol: float) -> tuple[Floats, Floats, Bools]:
        """Absolute tolerances (S,) of the internal coordinates and (S,) of their rates, and whether they are angles.

        That of the coordinate of a first-order state is infinite. Its own is for the default relative tolerance, with
        which it changes as those of coordinates do.
        """
        if not self.internal:
            return np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool)
        values = dict(zip(TOLERANCES, atol.values(rtol, self.length), strict=True))
        share = Tolerances().values(rtol)[0] / Tolerances().values(DEFAULT_RTOL)[0]
        quantities = [coordinate.quantity for coordinate in self.internal]
        of_q = [math.inf if each.first_order else values[each.kind] for each in quantities]
        of_v = [
            first / atol.rate_time if each.tolerance is None else share * each.tolerance
            for each, first in zip(quantities, of_q, strict=True)
        ]
        angles = [each.unit == "rad" and not each.first_order for each in quantities]
        return np.array(of_q, dtype=float), np.array(of_v, dtype=float), np.array(angles, dtype=bool)

    @cached_property
    def extent(self) -> float:
        """Largest distance (m) of a frame from ``origin`` at the start."""
        positions = np.array([frame.position for frame in self.frames]).reshape(-1, 3)
        return math.sqrt((positions * positions).sum(axis=1).max(initial=0.0))

    @cached_property
    def length(self) -> float:
        """Size (m) by which the default tolerance of positions is reduced: the largest distance between frames along
        an axis at the start, or radius of gyration; one of larger models, in which small motions count too."""
        positions = np.array([frame.position for frame in self.frames]).reshape(-1, 3)
        extent = np.ptp(positions, axis=0).max() if len(positions) else 0.0
        return min(1.0, max(extent, self.gyration)) or 1.0

    def at(self, q: Floats) -> "Layout":
        """A copy whose start poses are those of q (n_q,)."""
        result = shallow_copy(self)
        result.frames = []
        for each, i in zip(self.frames, self.frame_q, strict=True):
            turn = q[i + 3 : i + 7] if each.freedom == 6 else each.quaternion
            result.frames.append(each._replace(position=q[i : i + 3], quaternion=turn) if each.freedom else each)
        return result

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


# Fixed frames among the moving ones: where their coordinates and velocities follow all others.


def unfixed_frames(index: Ints, n_q: int, n_v: int, in_q: list[int], in_v: list[int]) -> Ints:
    """A copy of index rows in which the fixed frame i has the place n_q + 7 i in q and n_v + 6 i in v.

    in_q, in_v : columns of indices of the same frames in q, which are -1-i for the fixed frame i, and in v.
    """
    result = index.copy()
    held = index[:, in_q] < 0
    number = -1 - index[:, in_q]
    result[:, in_q] = np.where(held, n_q + 7 * number, index[:, in_q])
    result[:, in_v] = np.where(held, n_v + 6 * number, index[:, in_v])
    return result
