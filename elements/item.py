"""The contract of descriptions: the members that every item of the catalogue has, and their defaults.

A description is a frozen dataclass in ``femb.elements``, derived from ``Item``. It declares its ``table`` and ``kind``,
checks itself, and overrides the methods that apply to it; the others have defaults. All other modules use only these
members of an item. ``batches`` builds the objects that evaluate the equations (``femb.layout.element.Batch``);
``constraint_rows`` gives equations of constraint.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from math import inf
from pkgutil import resolve_name
from typing import Any, ClassVar, NamedTuple

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.quantity import Group, Quantity
from femb.base.types import Floats
from femb.base.values import shown
from femb.elements.joint.constraint_set import ConstraintRow, ConstraintTable
from femb.elements.marker import Attachment, Hosted, Marker, Place
from femb.elements.records import RecordedSystem, Records
from femb.layout.commands import Command, add_command, clip_count, clipped_command, command_array
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout, Station
from femb.layout.state import station_motion
from femb.layout.symmetry import EVERY, NO_MOTION, Surroundings, Symmetry, with_host
from femb.layout.terms import Force
from femb.layout.views import ModelAtStart, ModelView, OutputStates, StartPoses

# What an attitude may be relative to: inertial axes, or the frame of the orbit.
FRAMES = ("inertial", "orbit")


class StartPose(NamedTuple):
    """Given position (3,) m, inertial axes, and quaternion (4,), body to inertial, at the start; None if not given."""

    position: Floats | None = None
    quaternion: Floats | None = None


@dataclass(frozen=True, eq=False)
class StartMotion:
    """Given velocity (3,) m/s, inertial axes, and angular velocity (3,) rad/s, frame axes; None if not given.

    station : the point of a frame that has this motion. alone : whether it is the motion of its frame alone, or of the
    whole structure that is connected to the frame.
    """

    station: Station
    velocity: Floats | None = None
    angular_velocity: Floats | None = None
    alone: bool = False


class Item(Brief):
    """Base class of all descriptions.

    table : its table in a case file. kind : its word there.
    acts_on_attitude : whether it acts on the attitude of its hosts; then no host may be a point mass.
    has_interfaces : whether it is a body whose interfaces are at other bodies, so that their start poses depend on each
        other.
    has_dofs : whether it declares frames or internal coordinates, so that a model may consist of this kind alone.
    deforms : whether it has mass and deforms between its points: results have its deflection, and the load on what
        carries it contains its inertia.
    resists_flight : whether its force depends on the inertial velocity of one host, as in air.
    turns_with_host : whether its forces turn with what they act on, whatever its attitude in space, as a thruster's.
    follows_joint : whether units of its numbers are those of the coordinate of the joint that it names.
    follows_origin : whether positions are relative to a moving origin that the item itself gives.
    slow_kernel : "module:name" of its kernel that takes longest to compile, if two processes share the compilation of
        all at the first use.
    batch : "module:class" of the batch that evaluates all its items; empty of a class that builds them otherwise.
    drawn : how pictures show it: as a "line" through its markers and anchors, or along its ``sights`` as a "ring", a
        "cone", an "arrow" or a "drum" of its ``drum_size``; empty, they do not.
    in_case_files : whether users describe it; otherwise other items make it, as their ``parts``.
    results : its quantities (``femb.base.quantity.Quantity``), declared in a class derived from ``Group``.

    Arguments of the methods: model, the model; layout, the numbering of its unknowns; placement, the poses at the
    start; system, its equations; check, the collection of the problems of the item.
    """

    table: ClassVar[str]
    kind: ClassVar[str]
    acts_on_attitude: ClassVar[bool] = False
    has_dofs: ClassVar[bool] = False
    has_interfaces: ClassVar[bool] = False
    deforms: ClassVar[bool] = False
    resists_flight: ClassVar[bool] = False
    turns_with_host: ClassVar[bool] = False
    follows_joint: ClassVar[bool] = False
    follows_origin: ClassVar[bool] = False
    slow_kernel: ClassVar[str] = ""
    batch: ClassVar[str] = ""
    drawn: ClassVar[str] = ""
    in_case_files: ClassVar[bool] = True
    results: ClassVar[type[Group]] = Group

    name: str
    """unique within its table"""

    def __post_init__(self) -> None:
        with Checks(self, self.table, self.name) as check:
            self.check(check)

    def check(self, check: Checks) -> None:
        """Report problems of the item itself."""

    @classmethod
    def class_problem(cls) -> str:
        """Why a model cannot contain its items, by a wrong member of the class; empty if it can."""
        if not (isinstance(cls.results, type) and issubclass(cls.results, Group)):
            return f"results: got {shown(cls.results)}, wanted a class derived from femb.base.quantity.Group"
        return ""

    @classmethod
    @cache
    def account(cls) -> str:
        """Its account in the budgets of energy and momentum, of kind and table: "thermal_loads"."""
        return cls.table if cls.kind.rstrip("s") == cls.table.rstrip("s") else f"{cls.kind}_{cls.table}"

    # The model

    def key(self, word: str) -> str:
        """The key TABLE.NAME.WORD of one of its discrete states or commands."""
        return f"{self.table}.{self.name}.{word}"

    @property
    def markers(self) -> Mapping[tuple[str, ...], Marker]:
        """Its markers on bodies and beam nodes, by field; the field () means that the item has the marker's fields."""
        return {}

    @property
    def anchors(self) -> Mapping[tuple[str, ...], Floats]:
        """Points (3,) m in space, inertial axes, in place of markers, by field."""
        return {}

    @property
    def sights(self) -> Floats | None:
        """(n, 3): unit vectors in the axes of its host along which pictures show it, of an item at one point."""
        return None

    @property
    def drum_size(self) -> tuple[float, float] | None:
        """Radius and height (m) of an item that pictures show as a drum."""
        return None

    def turns(self, marker: Marker) -> bool:
        """Whether it acts on the attitude of the host of a ``marker`` of its own, which is then no point mass."""
        return self.acts_on_attitude

    def frames(self, layout: Layout) -> list[int]:
        """The frames that it is on or that it has, of all its points; by default those of its markers and anchors."""
        return [layout.frame_of(marker) for marker in self.markers.values()] + [
            layout.inertial_frame() for _ in self.anchors
        ]

    def between(self, layout: Layout) -> frozenset[int]:
        """The frames between which it acts without mass, so that all its forces on them have no resultant; less than
        two of others."""
        if self.deforms:
            return frozenset()
        return frozenset(self.frames(layout)) if self.joint_coordinates else layout.frames_on(self)

    @classmethod
    def own_angles(cls) -> dict[str, bool] | None:
        """Whether a coordinate is an angle, else a stroke, by the names of those of a joint; None of no joint."""
        return None

    @property
    def carried_by(self) -> Attachment | None:
        """The place on another body that carries its frame, which is then that of the other; None of all others."""
        return None

    @property
    def joint_coordinates(self) -> Mapping[tuple[str, ...], tuple[str, str | None]]:
        """Names of the joints and coordinates (None: the first) that it acts on, by field; the field () means that the
        item has the fields joint and coordinate."""
        return {}

    @property
    def known_until(self) -> float:
        """The last instant (s) at which it is known, as with a table; by default infinity."""
        return inf

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """The momenta, "linear" and "angular", that it changes in a free model; by default loads change both.

        What acts between two ends changes none, unless one of them is on the ground.
        """
        return ("linear", "angular") if self.table == "loads" else ()

    def symmetry(self, around: Surroundings) -> Symmetry | None:
        """The rigid motions of what it acts on that it does not notice, in its surroundings, and momenta that it keeps;
        None where it does not say. By default what acts between moving frames, or between one and a coordinate of its
        own, notices none. around : what does not move with the model.
        """
        if self.turns_with_host:
            return with_host(self.changes_momenta)
        frames = self.frames(around.layout)
        if self.has_dofs:
            return NO_MOTION if around.hold(frames) else EVERY
        if self.changes_momenta or around.hold(frames):
            return None
        return EVERY if len(set(frames)) > 1 or around.layout.has_internal(self.table, self.name) else None

    @property
    def resists(self) -> bool:
        """Whether a stiffness, however small, is against every motion that it notices."""
        return False

    @property
    def sets(self) -> tuple[str, ...]:
        """The commands of other items that it sets, TABLE.NAME.WORD (``femb.layout.commands.TakesCommands``)."""
        return ()

    @property
    def spin(self) -> tuple[Floats, float] | None:
        """Axis (3,) and speed (rad/s) at which it takes parts to turn that rest in the model; None of all others."""
        return None

    def parts(self) -> "tuple[Item, ...]":
        """Items in its fields, in place of their names, and items that it makes: the model contains them too."""
        return ()

    def start_pose(self, model: ModelView) -> StartPose:
        """The given pose at the start, in a ``model`` that may have an orbit."""
        return StartPose()

    def start_motion(self, layout: Layout, model: ModelView) -> StartMotion | None:
        """The given motion at the start, in a ``model`` that may have an orbit; None if none is given."""
        return None

    def doubts(self, model: ModelView) -> Iterator[str]:
        """Sentences on numbers of it that are legal, but probably in other units than SI and radians."""
        yield from ()

    def without_derivative(self) -> str:
        """Why runs with the item have no derivative by parameters; empty for most."""
        return ""

    def misnamed(self, model: ModelView) -> Iterator[str]:
        """Sentences on names of other items and their quantities that a model does not have, before it is laid out."""
        yield from ()

    def beside_statics(self, time: float) -> str:
        """Words for a part of it that acts at a time (s), and that equilibria leave out; empty for none."""
        return ""

    def remarks(self, at: ModelAtStart) -> Iterator[str]:
        """Sentences on what would suit it better, in a model ``at`` its start."""
        yield from ()

    # The equations

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Declare frames, internal coordinates, first-order and discrete states with the updates of these, rows of
        constraints and couplings; see ``Layout`` and docs/theory/states.md. Raises ModelError.

        A first-order state is ``layout.add_internal`` with an ``InternalQuantity`` that has a tolerance. A discrete
        state is ``layout.add_discrete``, and ``layout.add_update`` says when it changes; the batch reads it by an
        ``Input.of_array``.
        """

    @classmethod
    def batches(cls, items: list[Any], layout: Layout, model: ModelView) -> list[Batch]:
        """The Batches that evaluate all items of this class: one, several or none; by default its ``batch`` of those
        that it evaluates. Raises ModelError."""
        own = [item for item in items if item.in_batch(layout, model)] if cls.batch else []
        return [resolve_name(cls.batch)(own, layout, model)] if own else []

    def in_batch(self, layout: Layout, model: ModelView) -> bool:
        """Whether its ``batch`` evaluates it, as one on a frame that moves."""
        return True

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        """Its equations of constraint; ``follows`` and ``in_force`` are indices of its inputs. Raises ModelError."""
        return []

    @classmethod
    def constraint_table(cls, items: list[Any], layout: Layout) -> ConstraintTable:
        """The equations of constraint of items of this class, as arrays."""
        none = cls.constraint_rows is Item.constraint_rows and cls.constraint_inputs is Item.constraint_inputs
        return ConstraintTable.empty() if none else ConstraintTable.of_items(items, layout)

    def constraint_inputs(self, layout: Layout) -> tuple[Input, ...]:
        """The inputs of its equations of constraint."""
        return ()

    # The results

    def angular(self, layout: Layout) -> tuple[bool, ...]:
        """Whether each coordinate that it measures is an angle, not a length, of quantities in "m or rad" and so on."""
        return ()

    @classmethod
    @cache
    def given_quantities(cls) -> dict[str, Quantity]:
        """Its quantities whose declaration gives their values, by name."""
        return {name: quantity for name, quantity in cls.results.quantities().items() if quantity.given}

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        """Results of items of this class, in addition to the results of their batches (``Batch.records``)."""
        return Records()


class AtPoint(Hosted, Item):
    """Base class of items at one point."""

    @property
    def on(self) -> Place:
        """Its point."""
        return Place(self.body, self.beam, self.at, self.node)

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        return {(): self.on}


class HoldsCommands(Item):
    """Base of items that do nothing but hold sampled commands, each within the limit in its field ``max_WORD``."""

    def held(self, word: str, unit: str, width: int = 1, columns: Floats | None = None) -> Command:
        """The command ``word`` of ``width`` numbers; unit, columns : as in ``femb.layout.commands.Command``."""
        name, limit = self.key(word), getattr(self, f"max_{word}")
        states = command_array(name), clip_count(name)
        return Command(unit, name, width, inf if limit is None else limit, False, columns, *states)

    def commands(self, layout: Any) -> Mapping[str, Command]:
        """Its commands by word, of a ``layout`` or of none."""
        raise NotImplementedError

    def commanded(self, word: str, value: Floats, t: float, discrete: Mapping[str, Floats]) -> dict[str, Any]:
        """The command ``word`` of ``value`` (k,) at t (s), within its limit, and the count of those beyond.

        discrete : the present discrete state, arrays (k,) by name.
        """
        return clipped_command(self.key(word), value, getattr(self, f"max_{word}"), discrete)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        for word, command in self.commands(layout).items():
            if is_set(model, self.key(word)):
                add_command(layout, command.input, command.width)

    @classmethod
    def clips(cls, items: "list[Any]", layout: Layout) -> list[Batch]:
        """The batch that records how often commands of items were clipped, of those that are set."""
        if not layout.discrete:
            return []
        names = [(item.name, word) for item in items for word in item.commands(layout)]
        arrays = {f"{cls.table}/{name}/{word}_clips": clip_count(f"{cls.table}.{name}.{word}") for name, word in names}
        return RecordedArrays.of(arrays, layout)


def is_set(model: ModelView, command: str) -> bool:
    """Whether an item of a model sets a command, TABLE.NAME.WORD."""
    return any(command in item.sets for item in model.items())


# The states of an item as its quantities read them, and the records that its quantities declare.
#
# A quantity that declares a coordinate, a rate or a function (``femb.base.quantity.Quantity``) is recorded and seen by
# users' functions from here, without code of its item for each of these.


class ItemStates:
    """An item at s states, as the functions of its quantities read it (``femb.base.quantity.Quantity``).

    item : its description. time (s,) s. q (s, n_q), v (s, n_v), u (s, n_u) : coordinates, velocities and inputs of the
    system. inputs : the parts of u by the labels of the inputs. a (s, n_v) : accelerations, and multipliers (s, n_c),
    None where they are not known.
    """

    def __init__(
        self,
        item: Any,
        layout: Layout,
        time: Floats,
        q: Floats,
        v: Floats,
        u: Floats,
        inputs: Mapping[str, slice],
        a: Floats | None = None,
        multipliers: Floats | None = None,
    ) -> None:
        self.item, self.layout, self.time, self.inputs = item, layout, time, inputs
        self.q, self.v, self.u, self.a, self.multipliers = q, v, u, a, multipliers

    def coordinate(self, name: str) -> Floats:
        """(s,) the value of an internal coordinate or of a first-order state of the item. Raises KeyError."""
        number, layout = self._number(name), self.layout
        if layout.internal[number].quantity.first_order:
            return self.rate(name)
        values: Floats = self.q[:, layout.internal_q[number]]
        return values

    def rate(self, name: str) -> Floats:
        """(s,) the rate of an internal coordinate of the item. Raises KeyError."""
        values: Floats = self.v[:, self.layout.internal_v[self._number(name)]]
        return values

    def input(self, word: str) -> Floats:
        """(s, width) the input TABLE.NAME.word of the item, or its discrete state of this name. Raises KeyError."""
        values: Floats = self.u[:, self.inputs[f"{self.item.table}.{self.item.name}.{word}"]]
        return values

    def motion(self, of: str | Marker) -> tuple[Floats, Floats, Floats, Floats]:
        """Position (m), quaternion, velocity (m/s) and angular velocity (rad/s) (s, 3 or 4) of a body or a marker.

        of : the name of a body, or a marker of the item (``Item.markers``). Position and velocity are inertial, the
        angular velocity is in the axes of the body or of the marker's station.
        """
        station = Station(self.layout.bodies[of]) if isinstance(of, str) else self.layout.station(of)
        position, quaternion, velocity, omega = station_motion(self.layout, station, self.q, self.v)
        position, velocity = self.layout.to_inertial(self.time, position, velocity)
        return position, quaternion, velocity, omega

    def _number(self, name: str) -> int:
        """The number of an internal coordinate."""
        return self.layout.internal_number(self.item.table, self.item.name, name)


def given_values(name: str, quantity: Quantity, at: ItemStates) -> Floats:
    """(s, ...) a quantity whose declaration gives its values. Raises ModelError: its function gives another shape."""
    if quantity.coordinate:
        return at.coordinate(quantity.coordinate)
    if quantity.rate:
        return at.rate(quantity.rate)
    assert quantity.of is not None
    values = np.asarray(quantity.of(at.item, at), dtype=float)
    if not quantity.admits(values, {"T": len(at.q)}, strict=True):
        path = (at.item.table, at.item.name, name)
        raise ModelError.at(path, f"its function gave an array of shape {values.shape}, wanted {quantity.shape}")
    return values


class ItemState:
    """An item at one instant for users' functions: its quantities of positions and velocities, by name."""

    def __init__(self, item: Any, layout: Layout, state: Any) -> None:
        q, v = state.arrays()
        none = np.zeros((1, 0))
        self._at = ItemStates(item, layout, np.array([state.time]), q[None], v[None], none, {})
        self._quantities = {name: each for name, each in item.given_quantities().items() if each.level != "forces"}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._quantities:
            there = ", ".join(self._quantities) if not name.startswith("_") else ""
            raise AttributeError(f"{self._at.item.name!r} has no {name!r} of its state; it has {there or 'none'}")
        return given_values(name, self._quantities[name], self._at)[0]

    def __dir__(self) -> list[str]:
        return list(self._quantities)


def declared_records(items: list[Any], system: RecordedSystem) -> Records:
    """The records of items of one class that their quantities declare."""
    layout, quantities = system.layout, type(items[0]).given_quantities()
    inputs = {given.label: part for given, part in system.inputs.parts}
    motion = {name: quantity for name, quantity in quantities.items() if quantity.level != "forces"}

    def series(of: dict[str, Quantity], frames: OutputStates) -> dict[str, Floats]:
        arrays = {}
        for item in items:
            at = ItemStates(
                item, layout, frames.time, frames.q, frames.v, frames.u, inputs, frames.a, frames.multipliers
            )
            for name, quantity in of.items():
                arrays[f"{item.table}/{item.name}/{name}"] = given_values(name, quantity, at)
        return arrays

    return Records(series=partial(series, quantities), motion=partial(series, motion))


class RecordedArrays(Batch):
    """Discrete states that are recorded and that no equation reads: their names by the paths TABLE/NAME/WORD."""

    records_motion: ClassVar[bool] = True

    @classmethod
    def of(cls, arrays: Mapping[str, str], layout: Layout) -> list[Batch]:
        """One batch of those arrays that a layout has, if it has any."""
        declared = {path: name for path, name in arrays.items() if name in layout.discrete}
        return [cls(declared, layout)] if declared else []

    def __init__(self, arrays: Mapping[str, str], layout: Layout) -> None:
        self.paths, names = list(arrays), list(arrays.values())
        starts = [np.asarray(layout.discrete[name].start) for name in names]
        self.scalar, widths = [start.ndim == 0 for start in starts], [start.size for start in starts]
        self.inputs = tuple(
            Input.of_array(name, width, recorded_only=True) for name, width in zip(names, widths, strict=True)
        )

    def forces(self) -> list[Force]:
        """None."""
        return []

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        result, start = {}, self.first_input
        for path, scalar, input_ in zip(self.paths, self.scalar, self.inputs, strict=True):
            values = frames.u[:, start : start + input_.width]
            result[path] = values[:, 0] if scalar else values
            start += input_.width
        return result
