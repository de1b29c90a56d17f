"""The contract of descriptions: the members that every item of the catalogue has, and their defaults.

A description is a frozen dataclass in ``femb.elements``, derived from ``Item``. It declares its ``table`` and ``kind``,
checks itself, and overrides the methods that apply to it; the others have defaults. All other modules use only these
members of an item. ``batches`` builds the objects that evaluate the equations (``femb.layout.element.Batch``);
``constraint_rows`` gives equations of constraint.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from femb.base.checks import Checks
from femb.base.html import Brief
from femb.base.quantity import Group, Quantity
from femb.base.types import Floats
from femb.elements.joint.constraint_set import ConstraintRow
from femb.elements.marker import Marker, Place
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout, Station
from femb.layout.views import ModelView, StartPoses


@dataclass(frozen=True, eq=False)
class StartPose:
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

    table : its table in a case file. kind : its word there. name : unique within the table.
    acts_on_attitude : whether it acts on the attitude of its hosts; then no host may be a point mass.
    has_dofs : whether it declares frames or internal coordinates, so that a model may consist of this kind alone.
    deforms : whether it has mass and deforms between its points: results have its deflection, and the load on what
        carries it contains its inertia.
    resists_flight : whether its force depends on the inertial velocity of one host, as in air.
    follows_origin : whether positions are relative to a moving origin that the item itself gives.
    slow_to_compile : whether two processes share the compilation of its kernels at the first use.
    in_case_files : whether users describe it; otherwise other items make it, as their ``parts``.
    results : its quantities (``femb.base.quantity.Quantity``), declared in a class derived from ``Group``.

    Arguments of the methods: model, the model; layout, the numbering of its unknowns; placement, the poses at the
    start; system, its equations; check, the collection of the problems of the item.
    """

    table: ClassVar[str]
    kind: ClassVar[str]
    acts_on_attitude: ClassVar[bool] = False
    has_dofs: ClassVar[bool] = False
    deforms: ClassVar[bool] = False
    resists_flight: ClassVar[bool] = False
    follows_origin: ClassVar[bool] = False
    slow_to_compile: ClassVar[bool] = False
    in_case_files: ClassVar[bool] = True
    results: ClassVar[type[Group]] = Group

    name: str

    def __post_init__(self) -> None:
        with Checks(self, self.table, self.name) as check:
            self.check(check)

    def check(self, check: Checks) -> None:
        """Report problems of the item itself."""

    @classmethod
    @cache
    def account(cls) -> str:
        """Its account in the budgets of energy and momentum, of kind and table: "thermal_loads"."""
        return cls.table if cls.kind.rstrip("s") == cls.table.rstrip("s") else f"{cls.kind}_{cls.table}"

    # The model

    @property
    def markers(self) -> Mapping[tuple[str, ...], Marker]:
        """Its markers on bodies and beam nodes, by field; the field () means that the item has the marker's fields."""
        return {}

    def turns(self, marker: Marker) -> bool:
        """Whether it acts on the attitude of the host of a ``marker`` of its own, which is then no point mass."""
        return self.acts_on_attitude

    def frames(self, layout: Layout) -> list[int]:
        """The frames that it is on or that it has, of all its points; by default those of its markers."""
        return [layout.frame_of(marker) for marker in self.markers.values()]

    @property
    def joint_coordinate(self) -> tuple[str, str | None] | None:
        """Names of the joint and of the coordinate (None: the first) that it acts on; None if it acts on no joint."""
        return None

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """The momenta, "linear" and "angular", that it changes in a free model; by default loads change both.

        What acts between two ends changes none, unless one of them is on the ground.
        """
        return ("linear", "angular") if self.table == "loads" else ()

    @property
    def sets(self) -> tuple[str, ...]:
        """The commands of other items that it sets, TABLE.NAME.WORD (``femb.layout.element.TakesCommands``)."""
        return ()

    def parts(self) -> "tuple[Item, ...]":
        """Items in its fields, in place of their names, and items that it makes: the model contains them too."""
        return ()

    def start_pose(self) -> StartPose:
        """The given pose at the start."""
        return StartPose()

    def start_motion(self, layout: Layout) -> StartMotion | None:
        """The given motion at the start; None if none is given."""
        return None

    # The equations

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Declare frames, internal coordinates, first-order and discrete states with the updates of these, rows of
        constraints and couplings; see ``Layout`` and docs/theory/states.md. Raises ModelError.

        A first-order state is ``layout.add_internal`` with an ``InternalQuantity`` that has a tolerance. A discrete
        state is ``layout.add_discrete``, and ``layout.add_update`` says when it changes; the batch reads it by an
        ``Input.of_array``.
        """

    @staticmethod
    def batches(items: list[Any], layout: Layout, model: ModelView) -> list[Batch]:
        """The Batches that evaluate all items of this class: one, several or none. Raises ModelError."""
        return []

    def constraint_rows(self, layout: Layout) -> list[ConstraintRow]:
        """Its equations of constraint; ``follows`` and ``in_force`` are indices of its inputs. Raises ModelError."""
        return []

    def constraint_inputs(self, layout: Layout) -> tuple[Input, ...]:
        """The inputs of its equations of constraint."""
        return ()

    # The results

    @classmethod
    @cache
    def given_quantities(cls) -> dict[str, Quantity]:
        """Its quantities whose declaration gives their values, by name."""
        return {name: quantity for name, quantity in cls.results.quantities().items() if quantity.given}

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        """Results of items of this class, in addition to the results of their batches (``Batch.records``)."""
        return Records()


class AtPoint(Item):
    """Base class of items at one point: with the fields body and at, or beam, node and at.

    body : a name, of a body or an interface of a flexible body. beam : a name, in place of it. node : of the beam,
    counted from the start, 0 to the number of elements; negative numbers count from the end. at : m, the point, in body
    or section axes.
    """

    body: str | None
    beam: str | None
    at: Any
    node: int

    @property
    def on(self) -> Place:
        """Its point."""
        return Place(self.body, self.beam, self.at, self.node)

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        """Its marker, which has the fields of the item."""
        return {(): self.on}


def is_set(model: ModelView, command: str) -> bool:
    """Whether an item of a model sets a command, TABLE.NAME.WORD."""
    return any(command in item.sets for item in model.items())
