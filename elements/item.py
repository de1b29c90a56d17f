"""The contract of descriptions: what an item of the catalogue must give, and what it gives by default.

A description is a frozen dataclass in ``femb.elements``, derived from ``Item``. It declares its ``table`` and ``kind``,
checks itself, and overrides the methods that apply to it; the rest have defaults. The machinery calls these members
alone and asks no item for anything else. What evaluates the equations is built by ``batches``: see
``femb.layout.element.Batch``; equations of constraint are ``constraint_rows``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from femb.base.types import Floats
from femb.elements.joint.constraint_set import Row
from femb.elements.marker import Marker
from femb.elements.records import RecordedSystem, Records
from femb.layout.element import Batch, Input
from femb.layout.layout import Layout, Station


@dataclass(frozen=True, eq=False)
class StartPose:
    """Position (3,) m, inertial axes, and quaternion (4,), body to inertial, that a description gives, or None."""

    position: Floats | None = None
    quaternion: Floats | None = None


@dataclass(frozen=True, eq=False)
class StartMotion:
    """Velocity (3,) m/s, inertial axes, of a frame and its angular velocity (3,) rad/s, own axes, where they are given.

    station : in the frame. alone : whether it is the motion of this frame alone, and not of the structure that the
    frame is connected to.
    """

    station: Station
    velocity: Floats | None = None
    angular_velocity: Floats | None = None
    alone: bool = False


class Item:
    """Base class of all descriptions.

    table : the table of a case file that its kind stands in. kind : its word there. name : unique within the table.
    acts_on_attitude : whether it acts on the attitude of what its places are on, which a point mass does not have.
    has_dofs : whether it brings frames or internal coordinates, so that a model may consist of its kind alone.
    slow_to_compile : whether its kernels take so long to compile that two processes share it at the first use.
    """

    table: ClassVar[str]
    kind: ClassVar[str]
    acts_on_attitude: ClassVar[bool] = False
    has_dofs: ClassVar[bool] = False
    slow_to_compile: ClassVar[bool] = False

    name: str

    # The model

    @property
    def markers(self) -> Mapping[tuple[str, ...], Marker]:
        """The places on bodies and beam nodes that it names, by field; the field () means the item's own fields."""
        return {}

    @property
    def joint_coordinate(self) -> tuple[str, str | None] | None:
        """The name of the joint that it acts on, and that of the coordinate, None for the first; None if it acts on no
        joint."""
        return None

    def parts(self) -> "tuple[Item, ...]":
        """Items that it was given instead of their names, and that the model then holds too."""
        return ()

    def start_pose(self) -> StartPose:
        """The pose that it gives for the start."""
        return StartPose()

    def start_motion(self, layout: Layout) -> StartMotion | None:
        """The motion that it gives for the start; None if it gives none."""
        return None

    # The equations

    def declare_dofs(self, layout: Layout, placement: Any, model: Any) -> None:
        """Declare frames, internal coordinates, rows of constraints and couplings. Raises ModelError."""

    @staticmethod
    def batches(items: list[Any], layout: Layout, model: Any) -> list[Batch]:
        """The Batches of all items of this class: one, several or none. Raises ModelError."""
        return []

    def constraint_rows(self, layout: Layout) -> list[Row]:
        """Its equations of constraint; ``follows`` and ``in_force`` number its inputs. Raises ModelError."""
        return []

    def constraint_inputs(self, layout: Layout) -> tuple[Input, ...]:
        """What its equations of constraint follow."""
        return ()

    # The results

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        """What items of this class write to the results; what their batches write is theirs, ``Batch.records``."""
        return Records()
