"""The contract of beams: a chain of elements between nodes, from a ``start`` to an ``end``.

Every kind in the table of beams derives from ``LineItem``, which locates its nodes, declares their frames and records
their motion. A kind adds the equations, and the interpolation between nodes (``sections_between``).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import Floats, Ints, Vector
from femb.elements.beam.results import BeamResults
from femb.elements.beam.section import Section
from femb.elements.beam.section_shapes import shape_properties, thickness_in_torsion
from femb.elements.beam.shape import BeamShape, Path, Sections, path_shape, uniform_shape
from femb.elements.item import Item, StartMotion
from femb.elements.marker import Attachment, Place, check_markers
from femb.elements.records import RecordedSystem, Records, StationMotions, shape_changes
from femb.layout.element import ForceColumns, Input, OutputRows
from femb.layout.layout import BeamLayout, Layout, Station
from femb.layout.state import RATE, STATION_FORCES, internal_rows, motion_outputs, station_force_columns, station_rows
from femb.layout.views import LinearPoint, ModelView, OutputStates, StartPoses
from femb.numerics import rotations

# Data for stresses in the sections of a beam: points, area, second moments and torsional section modulus.
#
# Source: docs/theory/loads.md, section 2.


def recovery_points(section: "Section") -> Floats:
    """(p, 2) m: y and z of the points for stresses.

    By default those of the section's shape; without one the corners of the rectangle with its radii of gyration.
    """
    if section.recovery_points is not None:
        return np.array(section.recovery_points)
    if section.shape is not None:
        return section.outline()
    stiffness = np.diag(section.stiffness())
    z, y = np.sqrt(12.0 * stiffness[2:] / stiffness[0])
    return np.array([[-y, -z], [y, -z], [y, z], [-y, z]]) / 2.0


def stress_section(section: "Section") -> Floats | None:
    """(4,) area (m2), second moments about y and z (m4), torsional section modulus (m3) or NaN where it is unknown.

    None of a section without an area, or with a stiffness that couples stretching, bending and torsion. Second moments
    that are not given follow from the stiffnesses as with one material.
    """
    stiffness = section.stiffness()
    if section.area is None or np.any(stiffness - np.diag(np.diag(stiffness))):
        return None
    if section.second_moments is not None:
        moments = np.array(section.second_moments)
    else:
        moments = section.area * np.diag(stiffness)[2:] / stiffness[0, 0]
    return np.array([section.area, *moments, torsion_modulus(section)])


def torsion_modulus(section: "Section") -> float:
    """Torsion constant divided by the greatest shear stress per G and twist, that of a circle or a rectangle."""
    if section.torsion_modulus is not None:
        return float(section.torsion_modulus)
    constant = section.torsion_constant
    if section.shape is not None:
        shape = shape_properties(section.shape)
        return shape.torsion_modulus * (1.0 if constant is None else float(constant) / shape.torsion_constant)
    if constant is None:
        return float("nan")
    stiffness = np.diag(section.stiffness())
    sides = np.sqrt(12.0 * stiffness[2:] / stiffness[0])
    return constant / thickness_in_torsion(float(max(sides)), float(min(sides)))


# Results of beams: motion of the nodes, strains, rotation, deflection, and the reference shape.


def beam_records(beams: list[Any], system: RecordedSystem) -> Records:
    """The records of beams, without section forces, which the batch records (they depend on loads along beams)."""
    layout = system.layout
    static: dict[str, Floats] = {}
    attributes: dict[str, dict[str, Any]] = {}
    recorder = _BeamRecorder(beams, layout)
    for beam, rows, body in zip(beams, recorder.rows, recorder.deflection_bodies, strict=True):
        path = f"beams/{beam.name}"
        static[f"{path}/reference_position"] = layout.origin + recorder.position[rows]
        static[f"{path}/reference_quaternion"] = recorder.quaternion[rows]
        static[f"{path}/element_length"] = beam.shape.lengths
        static[f"{path}/corner"] = beam.shape.corners
        section = system.model.section_of(beam)
        static[f"{path}/outline"] = section.outline()
        if (stresses := beam.stresses(system.model)) is not None:
            static[f"{path}/recovery_points"], static[f"{path}/stress_section"] = stresses
        attributes[path] = {"kind": beam.kind}
        if body is not None:
            attributes[path]["deflection_body"] = body
    return Records(static, attributes, partial(recorder.series, True), partial(recorder.series, False))


class _BeamRecorder:
    """Computes the series of beams, of all their n nodes together; ``rows`` : of the nodes of every beam.

    position (n, 3), quaternion (n, 4) : reference pose of the nodes, inertial axes. carriers : the reference of each
    beam's deflection: the body of its start, or of its end if the start is free, which ``deflection_bodies`` names; if
    this is not on a body, the section of the first node, and the name is None.
    """

    def __init__(self, beams: list[Any], layout: Layout) -> None:
        self.layout, self.beams = layout, [layout.beams[beam.name] for beam in beams]
        self.names = [beam.name for beam in beams]
        self.stations = [station for beam in self.beams for station in beam.stations]
        ends = np.cumsum([len(beam.stations) for beam in self.beams]).tolist()
        self.rows = [slice(start, end) for start, end in pairwise([0, *ends])]
        self.beam_of: Ints = np.repeat(np.arange(len(beams)), [len(beam.stations) for beam in self.beams])
        self.position, self.quaternion = layout.poses(self.stations)
        self.carriers: list[Station] = []
        self.deflection_bodies: list[str | None] = []
        for beam, own in zip(beams, self.beams, strict=True):
            start, end = beam.attached
            clamp = start if start is not None else end
            body = clamp.body if clamp is not None else None
            self.carriers.append(own.stations[0] if body is None else Station(layout.bodies[body]))
            self.deflection_bodies.append(body)

    # Of recorded beams alone: the others have only arrays that do not change with time.

    @cached_property
    def motions(self) -> StationMotions:
        return StationMotions(self.layout, self.stations)

    @cached_property
    def carrier_motions(self) -> StationMotions:
        return StationMotions(self.layout, self.carriers)

    @cached_property
    def shape(self) -> Floats:
        """(n, 3) m: position of the nodes in the reference shape relative to the carrier, in its axes."""
        origin, axes = self.layout.poses(self.carriers)
        return rotations.rotate_back(axes[self.beam_of], self.position - origin[self.beam_of])

    def series(self, accelerations: bool, frames: OutputStates) -> dict[str, Floats]:
        """The arrays (k, ...) of all beams, with accelerations or without."""
        motion = self.motions.at(frames, accelerations)
        nodes = motion["position"]
        motion["position"], motion["velocity"] = self.layout.to_inertial(frames.time, nodes, motion["velocity"])
        rotation, deflection = np.empty_like(motion["quaternion"]), np.empty_like(nodes)
        carriers = self.carrier_motions.at(frames, accelerations=False)
        shape_changes(
            self.beam_of, carriers["position"], carriers["quaternion"], self.shape, self.quaternion, nodes,
            motion["quaternion"], rotation, deflection,
        )  # fmt: skip
        result: dict[str, Floats] = {}
        for name, beam, rows in zip(self.names, self.beams, self.rows, strict=True):
            path = f"beams/{name}"
            result |= {f"{path}/{word}": values[:, rows] for word, values in motion.items()}
            for word, numbers in beam.internal.items():
                result[f"{path}/{word}"] = frames.q[:, self.layout.internal_q[numbers]]
            result[f"{path}/rotation"], result[f"{path}/deflection"] = rotation[:, rows], deflection[:, rows]
        return result


@dataclass(frozen=True, eq=False)
class SectionStrains:
    """The strains of one section of a beam: (4,) axial strain, twist and the curvatures about y and z (1/m), less those
    of the undeformed beam, with what heat adds.

    of : a function (heat, q, x) of the factors (k,) of heating, the coordinates (n_q,) and displacements x (n_v,), by
    which the strains are changed to first order. velocities (m,) : the places in x on which they depend. inputs (k,) :
    of heating.
    """

    of: Callable[[Floats, Floats, Floats], Floats]
    velocities: Ints
    inputs: tuple[Input, ...] = ()

    @classmethod
    def of_element(
        cls,
        of: Callable[[Floats, Floats, Floats], Floats],
        starts: Ints,
        sizes: tuple[int, ...],
        inputs: tuple[Input, ...] = (),
    ) -> "SectionStrains":
        """Order along the beam by the first velocities (g,) of the groups of an element, negative where held, and their
        sizes.
        """
        groups = [np.arange(first, first + size) for first, size in zip(starts, sizes, strict=True) if first >= 0]
        return cls(of, np.concatenate([np.zeros(0, dtype=np.int64), *groups]), inputs)

    def heat(self, t: float) -> Floats:
        """(k,) the factors of heating at the time t (s)."""
        return np.array([each.function(t) for each in self.inputs], dtype=float)

    def rows(self, heat: Floats, q: Floats, n_v: int) -> Floats:
        """(4, n_v) exact derivatives by displacements."""
        result, still = np.zeros((4, n_v)), self.of(heat, q, np.zeros(n_v))
        for k in self.velocities.tolist():
            unit = np.zeros(n_v)
            unit[k] = 1.0
            result[:, k] = self.of(heat, q, unit) - still
        return result

    def by_heat(self, q: Floats, n_v: int) -> Floats:
        """(4, k) derivatives by the factors of heating, in which the strains are linear."""
        k, still = len(self.inputs), np.zeros(n_v)
        columns = [self.of(unit, q, still) - self.of(np.zeros(k), q, still) for unit in np.eye(k)]
        return np.array(columns).reshape(k, 4).T


# An element needs about 20 kB; a larger number is probably a typing error.
MOST_ELEMENTS = 100_000


# Section loads as outputs of linear models, and which of the two they are.
SECTION_LOADS = {"section_force": "force", "section_moment": "torque"}


# Factors of the first bending of a cantilever, and of a beam that is held at both ends or free.
CANTILEVER, BOTH = 1.8751040687, 4.7300407449
ALIKE = 1e-6  # flexibilities that differ by less have no direction of their own
LONGEST = 1000.0  # m of a beam


class LineItem(Item):
    """Base class of beams. A kind is a dataclass with these fields or properties.

    carries_loads : whether its own batches evaluate distributed and thermal loads along it.
    """

    table: ClassVar[str] = "beams"
    results: ClassVar[type[Group]] = BeamResults
    has_dofs: ClassVar[bool] = True
    deforms: ClassVar[bool] = True
    carries_loads: ClassVar[bool] = False

    name: str
    section: Section | str
    """a Section, or its name in the model"""
    length: float | None
    """by default that of the path, or the distance of both ends"""
    elements: int
    """number of equal elements"""
    start: Attachment | None
    """the first end; a free one without it"""
    end: Attachment | None
    """the last end; a free one without it"""
    velocity: Floats | None = None
    """of the start of a free beam, whose start has no body, inertial axes"""
    angular_velocity: Floats | None = None
    """of a free beam, in axes of the first section"""

    # Checks

    def check_line(self, check: Checks) -> None:
        """Report problems of the common fields of beams."""
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

    def at(
        self, node: int, at: Any = (0.0, 0.0, 0.0), direction: Any = None, up: Any = None, y_axis: Any = None
    ) -> Attachment:
        """A point at a node for the end of another beam: offset (3,) m, that beam's tangent ``direction`` (3,) and the
        y axis of its section ``y_axis`` (3,), or ``up``, of any length, section axes."""
        return Attachment(beam=self.name, node=node, at=at, direction=direction, up=up, y_axis=y_axis)

    @property
    def attached(self) -> tuple[Any, Any]:
        """(start, end): each the Attachment if it names a body or a beam, else None."""
        ends = (self.start, self.end)
        return tuple(e if e is not None and e.clamped else None for e in ends)  # type: ignore[return-value]

    @property
    def markers(self) -> dict[tuple[str, ...], Attachment]:
        return {(word,): e for word, e in zip(("start", "end"), self.attached, strict=True) if e is not None}

    def parts(self) -> tuple[Section, ...]:
        return (self.section,) if isinstance(self.section, Section) else ()

    @property
    def uniform(self) -> bool:
        """Whether it has one section all along."""
        return True

    def stresses(self, model: ModelView) -> tuple[Floats, Floats] | None:
        """Recovery points and properties for stresses of its section, or (e, 3, ...) of those at start, middle and end
        of its elements; None where they are not known."""
        section = model.section_of(self)
        properties = stress_section(section)
        return None if properties is None else (recovery_points(section), properties)

    @property
    def section_names(self) -> tuple[str, ...]:
        """The names of its sections in the model."""
        return (self.section,) if isinstance(self.section, str) else ()

    def sections_along(self, model: ModelView) -> tuple[Section, ...]:
        """Its sections, from its start to its end."""
        return (model.section_of(self),)

    def doubts(self, model: ModelView) -> Iterator[str]:
        length = self.shape.length
        if length > LONGEST:
            yield f"beams.{self.name}.length: {length:g} m; mm are to be multiplied by 1e-3"
        for section in dict.fromkeys(self.sections_along(model)):
            stiffness = np.diag(section.stiffness())
            radius = float(np.sqrt(max(stiffness[2:]) / stiffness[0]))
            if radius > length:
                yield (
                    f"beams.{self.name}: its section {section.name!r} has a radius of gyration of {radius:.3g} m, more "
                    f"than its length of {length:g} m; are both in m?"
                )

    def first_bending(self, model: ModelView) -> tuple[float, str, Floats | None]:
        """Frequency (Hz) of its first bending, how it is held there, and the direction (3,) in section axes of a
        straight beam, None where two are alike: by the mean of its sections, along the axis of
        largest flexibility, which couplings may turn.

            f = k^2 / (2 pi L^2) sqrt(EI/m),  k = 1.875104 held at one end, 4.730041 held at both or free

        of a straight uniform beam. Source: S. Timoshenko, Vibration Problems in Engineering, uniform beams.
        """
        sections = tuple(dict.fromkeys(self.sections_along(model)))
        found = [np.linalg.eigh(np.linalg.inv(section.stiffness())[2:, 2:]) for section in sections]
        flexible = [sizes[-1] for sizes, _ in found]
        stiffness, mass = np.mean(1.0 / np.array(flexible)), np.mean([section.line_mass() for section in sections])
        held = sum(end is not None for end in self.attached)
        factor = CANTILEVER if held == 1 else BOTH
        how = ("free", "one end held", "both ends held")[held]
        (first, last), axes = found[0]
        # a curvature about y moves the beam along z
        along = np.array([0.0, axes[1, 1], -axes[0, 1]])
        alone = last - first > ALIKE * last and not np.any(np.diff(self.shape.positions, axis=0)[:, 1:])
        rate = float(factor**2 / (2.0 * np.pi * self.shape.length**2) * np.sqrt(stiffness / mass))
        return rate, how, along if alone else None

    def start_motion(self, layout: Layout, model: ModelView) -> StartMotion | None:
        if self.velocity is None and self.angular_velocity is None:
            return None
        return StartMotion(layout.beams[self.name].stations[0], self.velocity, self.angular_velocity)

    @cached_property
    def shape(self) -> BeamShape:
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
        """The stations of the nodes from start to end, one structure; nodes that are not attached get new frames."""
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
        layout.connect(dict.fromkeys(station.frame for station in stations))
        return stations

    def section_strains(self, layout: Layout, model: ModelView, s: float) -> SectionStrains:
        """The strains of the section at the length s (m) from the start; at a node of the element before it."""
        raise NotImplementedError

    def element_at(self, s: float) -> tuple[int, float]:
        """The element at the length s (m) from the start, and the part of it before s, 0 to 1."""
        ends = np.cumsum(self.shape.lengths)
        k = min(int(np.searchsorted(ends, s * (1.0 - 1e-12))), self.elements - 1)
        return k, 1.0 - float((ends[k] - s) / self.shape.lengths[k])

    # Linear models

    def frames(self, layout: Layout) -> list[int]:
        return [*super().frames(layout), *(station.frame for station in layout.beams[self.name].stations)]

    def linear_outputs(self, layout: Layout) -> Mapping[str, bool]:
        """The motion of its nodes, its section forces and moments, and its internal coordinates there."""
        internal = [f"{word}{rate}" for word in layout.beams[self.name].internal for rate in ("", RATE)]
        words = (*motion_outputs(6), *SECTION_LOADS, *internal)
        return {f"{node}.{word}": False for node in (0, -1) for word in words}

    def output_rows(self, point: LinearPoint, quantity: str) -> OutputRows | None:
        """The rows of a ``quantity`` at a node, as "-1.position", on small motions about the ``point``.

        Section forces are those of the element before the node, or of the first. Raises ModelError where such a force
        has no exact rows.
        """
        layout, (text, _, word) = point.system.layout, quantity.partition(".")
        entry = layout.beams[self.name]
        station = entry.node(text)
        if station is None:
            return None
        node = int(text) % len(entry.stations)
        element, end = (node - 1, 1) if node else (0, 0)
        if word.removesuffix(RATE) in entry.internal:
            return internal_rows(point, int(entry.internal[word.removesuffix(RATE)][element, end]), word.endswith(RATE))
        if word not in SECTION_LOADS:
            return station_rows(point, station, word)
        from femb.elements.private_blocks import end_rows_of, free_body

        cut = free_body(point, f"{self.table}.{self.name}", element)
        if cut is None:
            raise ModelError(f"beams of the kind {self.kind!r} give no exact rows of their section forces")
        return end_rows_of(point, cut, end, station.frame, SECTION_LOADS[word], 1.0 if end else -1.0)

    def linear_forces(self, layout: Layout) -> tuple[str, ...]:
        """A force and a torque on a node, in the axes of its section."""
        return tuple(f"{node}.{word}" for node in (0, -1) for word in STATION_FORCES)

    def force_columns(self, point: LinearPoint, quantity: str) -> ForceColumns | None:
        """The columns of a ``quantity`` on a node at the ``point``, as "-1.force"."""
        text, _, word = quantity.partition(".")
        station = point.system.layout.beams[self.name].node(text)
        return None if station is None else station_force_columns(point, station, word)

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


# Beams whose undeformed shape is straight, of uniform curvature, or along a path.

# Pieces of an element in which the rotation angle along a path is summed.
PIECES = 8
ADVICE = ", wanted less than 180 degrees: give it more elements"


class ShapedBeam(LineItem):
    """Base class of the kinds with these fields beside those of ``LineItem``; without them a beam is straight."""

    curvature: Vector | None = None
    """uniform twist and curvatures about the section's y and z axes of the undeformed beam; (0, 0, 1/R) is an arc of
    radius R towards y"""
    path: Path | None = None
    """Path of the undeformed beam: points, an arc or a function; it gives the length unless it is a function of the
    length"""

    def check_shape(self, check: Checks) -> None:
        """Report problems of the length, the curvature and the path."""
        path = self.path
        if path is None or not isinstance(path, Path):
            check.require("path", path is None, "wanted a Path")
            if self.length is None and (self.start is None or self.end is None or self.curvature is not None):
                check.fail(
                    "length", "is missing: give it, or, for a straight beam, start and end, from which it follows"
                )
            if self.curvature is not None and not {"length", "curvature", "elements"} & check.bad:
                turn = float(np.linalg.norm(self.curvature)) * (self.length or 0.0) / self.elements
                check.require("curvature", turn < np.pi, f"turns each element by {_degrees(turn)}{ADVICE}")
            return
        if self.curvature is not None:
            check.fail("curvature", "given beside 'path', which says the shape too: give one of them")
        if path.curve is None and self.length is not None:
            check.fail("length", "given beside 'path', from which it follows: leave it out")
        if path.curve is not None and self.length is None:
            check.fail("length", "is missing: the path is a function of the length up to this one")
        if path.kinks and path.points is not None and self.elements < len(path.points) - 1:
            check.require("elements", False, f"wanted at least {len(path.points) - 1}, one for each straight piece")
        if not check.bad:
            try:
                object.__setattr__(self, "length", self.shape.length)
                turn = self._largest_turn(path)
                check.require("elements", turn < np.pi, f"but the path turns one of them by {_degrees(turn)}{ADVICE}")
            except ValueError as error:
                check.fail("path.curve", str(error))
            except Exception as error:  # of a user's function
                check.fail("path.curve", f"fails: {type(error).__name__}: {error}")

    def _largest_turn(self, path: Path) -> float:
        """The largest rotation angle (rad) along an element on a smooth path, summed over small pieces."""
        if path.kinks:
            return 0.0
        if path.radius is not None and path.angle is not None:
            return path.angle / self.elements
        guide = self.start if self.start is not None else self.end
        refined = path_shape(path, self.length, self.elements * PIECES, None if guide is None else guide.across, False)
        turns = rotations.multiply(rotations.conjugate(refined.quaternions[:-1]), refined.quaternions[1:])
        return float(rotations.axis_angle(turns)[1].reshape(self.elements, PIECES).sum(axis=1).max())

    @cached_property
    def shape(self) -> BeamShape:
        if self.path is None:
            return uniform_shape(float(self.length or 0.0), self.elements, self.curvature)
        by_end = self.start is None or (not self.start.clamped and self.end is not None and self.end.clamped)
        guide = self.end if by_end else self.start
        return path_shape(self.path, self.length, self.elements, None if guide is None else guide.across, by_end)


def _degrees(angle: float) -> str:
    return f"{np.degrees(angle):.0f} degrees"
