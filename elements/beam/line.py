"""The contract of beams: a chain of elements between nodes, from a ``start`` to an ``end``.

Every kind in the table of beams derives from ``LineItem``, which locates its nodes, declares their frames and records
their motion. A kind adds the equations, and the interpolation between nodes (``sections_between``).
"""

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from femb.base.checks import Checks
from femb.base.types import Floats
from femb.elements.beam.records import beam_records
from femb.elements.beam.section import Section
from femb.elements.beam.section_frames import Sections
from femb.elements.beam.shape import Shape, uniform_shape
from femb.elements.item import Item, StartMotion
from femb.elements.marker import Attachment, Place, check_markers
from femb.elements.records import RecordedSystem, Records
from femb.layout.layout import BeamLayout, Layout, Station
from femb.layout.views import ModelView, StartPoses
from femb.numerics import rotations

# An element needs about 20 kB; a larger number is probably a typing error.
MOST_ELEMENTS = 100_000


class LineItem(Item):
    """Base class of beams. A kind is a dataclass with these fields or properties:

    section : a Section, or its name in the model. length : m; omitted where it is the distance of both ends. elements :
    their number. start, end : Attachments; an omitted end is free. velocity (m/s, of the start, inertial axes) and
    angular_velocity (rad/s, axes of the first section) of a free beam. carries_loads : whether its own batches evaluate
    distributed and thermal loads along it.
    """

    table: ClassVar[str] = "beams"
    has_dofs: ClassVar[bool] = True
    carries_loads: ClassVar[bool] = False

    name: str
    section: Section | str
    length: float | None
    elements: int
    start: Attachment | None
    end: Attachment | None
    velocity: Floats | None = None
    angular_velocity: Floats | None = None

    # Checks

    def check_line(self, check: Checks) -> None:
        """Report problems of the common fields of beams."""
        check.positive("length")
        check.whole("elements", 1)
        if "elements" not in check.bad:
            check.require("elements", self.elements <= MOST_ELEMENTS, f"must be at most {MOST_ELEMENTS}")
        check.require("section", isinstance(self.section, Section | str), "wanted a section or the name of one")
        check_markers(check, Attachment, *(end for end in ("start", "end") if getattr(self, end) is not None))

    @property
    def spans(self) -> bool:
        """Whether its length and direction are those from the point ``start`` to the point ``end``."""
        return self.length is None

    def check_ends(self, check: Checks) -> None:
        """Report problems of the combination of both ends; the fields themselves must be valid."""
        start, end = self.start, self.end
        attached = [e for e in (start, end) if e is not None and e.clamped]
        if start is None and end is None:
            check.fail(
                "start",
                "the beam is attached nowhere: give start or end with a body, or, for a free beam, "
                "start = { at = [x, y, z], direction = [x, y, z] }",
            )
        elif (
            len(attached) < 2
            and not self.spans
            and self.shape.first is None
            and not any(e is not None and e.direction is not None for e in (start, end))
        ):
            check.fail("start.direction", "is missing: the tangent of the beam at its attachment, in body axes")
        if attached:
            for name in ("velocity", "angular_velocity"):
                check.require(name, getattr(self, name) is None, "a beam on a body starts with the body: give it there")

    # The model

    def node(self, node: int, at: Any = (0.0, 0.0, 0.0)) -> Place:
        """A node for a mass or a load (0 is the start, -1 the end), or a point ``at`` (m) an offset, section axes."""
        return Place(beam=self.name, node=node, at=at)

    def at(self, node: int, at: Any = (0.0, 0.0, 0.0), direction: Any = None, up: Any = None) -> Attachment:
        """A point at a node for the end of another beam: offset (3,) m, that beam's tangent ``direction`` (3,) and
        ``up`` (3,), of any length, section axes."""
        return Attachment(beam=self.name, node=node, at=at, direction=direction, up=up)

    @property
    def attached(self) -> tuple[Any, Any]:
        """(start, end): each the Attachment if it names a body or a beam, else None."""
        ends = (self.start, self.end)
        return tuple(e if e is not None and e.clamped else None for e in ends)  # type: ignore[return-value]

    @property
    def markers(self) -> dict[tuple[str, ...], Attachment]:
        """Its ends that are attached, by field."""
        return {(word,): e for word, e in zip(("start", "end"), self.attached, strict=True) if e is not None}

    def parts(self) -> tuple[Section, ...]:
        """Its section, unless the field is a name."""
        return (self.section,) if isinstance(self.section, Section) else ()

    @property
    def uniform(self) -> bool:
        """Whether it has one section all along, of which stresses can be computed."""
        return True

    @property
    def section_names(self) -> tuple[str, ...]:
        """The names of its sections in the model."""
        return (self.section,) if isinstance(self.section, str) else ()

    def sections_along(self, model: ModelView) -> tuple[Section, ...]:
        """Its sections, from its start to its end."""
        return (model.section_of(self),)

    def start_motion(self, layout: Layout) -> StartMotion | None:
        if self.velocity is None and self.angular_velocity is None:
            return None
        return StartMotion(layout.beams[self.name].stations[0], self.velocity, self.angular_velocity)

    @cached_property
    def shape(self) -> Shape:
        """The shape of the undeformed beam: straight by default."""
        return uniform_shape(float(self.length or 0.0), self.elements)

    def reference(self) -> tuple[Floats, Floats]:
        """Positions (n, 3) m and quaternions (n, 4) of the undeformed beam's nodes, axes of its first section."""
        return self.shape.positions, self.shape.quaternions

    # The equations

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Frames for the nodes that are not attached; adjacent nodes are coupled."""
        stations = self.nodes(layout, placement)
        layout.beams[self.name] = BeamLayout(stations)
        for a, b in pairwise(stations):
            layout.couple((a.frame, b.frame))

    def nodes(self, layout: Layout, placement: StartPoses) -> list[Station]:
        """The stations of the nodes from start to end; nodes that are not attached get new frames."""
        origin, axes = placement.beams[self.name]
        positions, quaternions = self.reference()
        positions, quaternions = origin + rotations.rotate(axes, positions), rotations.multiply(axes, quaternions)
        ends = dict(zip((0, self.elements), zip(self.attached, placement.clamps[self.name], strict=True), strict=True))
        stations: list[Station] = []
        for k in range(self.elements + 1):
            clamp, rotation = ends.get(k, (None, None))
            if clamp is None or rotation is None:
                stations.append(Station(layout.add_frame(f"{self.name}, node {k}", positions[k], quaternions[k])))
            else:
                host = layout.station(clamp)
                stations.append(Station(host.frame, host.offset, rotations.multiply(host.rotation, rotation)))
        return stations

    # The results

    @staticmethod
    def records(items: list[Any], system: RecordedSystem) -> Records:
        return beam_records(items, system)

    @staticmethod
    def sections_between(recorded: Mapping[str, Floats], xi: Floats) -> Sections:
        """The sections at xi (s,), 0 to 1, along every element.

        recorded : arrays of a beam of this kind by their names in the results, at one or more instants: position (...,
        n, 3), quaternion (..., n, 4), velocity, angular_velocity, element_length (e,), corner (e, 4) and the other
        arrays that the kind records.
        """
        raise NotImplementedError
