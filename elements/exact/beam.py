"""Geometrically exact beam, flexible in shear."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import FembWarning, ModelError
from femb.base.types import POSITIVE, Floats, Numbers, SeveralForms, Unit, Vector
from femb.base.values import as_numbers, finite_problem, frozen_array, order_problem, shown
from femb.elements.beam.line import SectionStrains, ShapedBeam, recovery_points, stress_section
from femb.elements.beam.section import Section, sections_of
from femb.elements.beam.shape import Path, Sections, element_ends, end_sections
from femb.elements.marker import Attachment
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelAtStart, ModelView, StartPoses
from femb.numerics import rotations

if TYPE_CHECKING:
    from femb.elements.exact.element_data import ElementProperties, Spanwise

# Tension in a free beam by EI / L2 of an element beyond which tension carries it, and bending stiffness does not.
WIRE = 100.0


@dataclass(frozen=True, eq=False)
class ExactBeam(ShapedBeam):
    """A beam of equal elements that bends, twists, stretches and shears, for any rotation between its nodes.

    It has one section, or sections at stations. Sizes of shapes of one kind are linear between them; otherwise
    stiffness and mass are, and always damping and expansion.

    Raises ModelError: beside the problems of a Beam, stations out of order or not from the start to the end, sections
    of which some shear and some do not, a file that cannot be read or whose matrices are not those of sections. Source:
    docs/theory/exact_beam.md.
    """

    kind: ClassVar[str] = "exact"
    slow_kernel: ClassVar[str] = "femb.elements.exact.force:forces"
    carries_loads: ClassVar[bool] = True

    name: str
    section: Section | str | None = None  # type: ignore[assignment]
    """a Section, or its name in the model; one without shear stiffness makes a beam that does not shear"""
    length: Annotated[float | None, Unit("m"), POSITIVE] = None
    elements: int = 1
    start: Attachment | None = None
    end: Attachment | None = None
    curvature: Annotated[Vector | None, Unit("rad/m")] = None
    velocity: Annotated[Vector | None, Unit("m/s")] = None
    angular_velocity: Annotated[Vector | None, Unit("rad/s")] = None
    path: Path | None = None
    stations: Annotated[Numbers, Unit("m")] = None
    """lengths from 0 to that of the beam, one for each of the sections"""
    sections: Annotated[Any, SeveralForms((list[str], str))] = None
    """two or more Sections or names; or a file: a blade of BeamDyn, a table (.csv), or one section of VABS or BECAS; in
    a case file relative to its folder"""

    def check(self, check: Checks) -> None:
        relative = False
        if isinstance(self.sections, str | os.PathLike):
            relative = self._read_sections(check, self.sections)
        else:
            self._check_sections(check)
        self.check_line(check)
        self.check_shape(check)
        if self.sections is not None and self.length is None and not check.bad:
            check.fail("length", "is missing: sections along the beam need it")
        if not check.bad:
            if relative:
                object.__setattr__(self, "stations", frozen_array(self.stations * self.shape.length))
            self._check_stations(check)
        if not check.bad:
            self.check_ends(check)

    def _read_sections(self, check: Checks, file: str | os.PathLike[str]) -> bool:
        """Take the sections of a file, and their stations; whether these are parts of the length."""
        for word in ("section", "stations"):
            if getattr(self, word) is not None:
                check.fail(word, f"given beside the file {str(file)!r} of sections, which says it: give one of them")
        known = "length" not in check.bad and (self.length or 0.0) > 0.0  # that of a path is not, yet
        try:
            table, relative = sections_of(file, None, self.name, self.length if known else None)
        except ModelError as error:
            check.fail("sections", str(error))
            check.bad.add("section")
            return False
        object.__setattr__(self, "section", table.sections[0])
        uniform = len(table.sections) == 1
        object.__setattr__(self, "sections", None if uniform else table.sections)
        object.__setattr__(self, "stations", None if uniform else frozen_array(table.stations))
        return relative and not uniform

    def _check_sections(self, check: Checks) -> None:
        given = self.sections
        if given is None:
            if self.stations is not None:
                check.fail("stations", "given without 'sections' at them")
            return
        if not isinstance(given, Sequence) or len(given) < 2 or not all(isinstance(x, Section | str) for x in given):
            check.fail("sections", f"got {shown(given)}, wanted two or more sections or names of sections")
            return
        if self.section is not None and self.section is not given[0]:
            check.fail("section", "given beside 'sections': give one of them")
        # what needs one section, for pictures, takes that of the start
        object.__setattr__(self, "section", given[0])
        object.__setattr__(self, "sections", tuple(given))
        stations = as_numbers(self.stations)
        if stations is None or stations.shape != (len(given),) or not np.all(np.isfinite(stations)):
            check.fail("stations", f"got {shown(self.stations)}, wanted a length (m) for each of {len(given)} sections")
            return
        if problem := finite_problem(self.stations, stations) or order_problem(stations):
            check.fail("stations", problem)
        object.__setattr__(self, "stations", frozen_array(stations))

    def _check_stations(self, check: Checks) -> None:
        if self.sections is not None:
            first, last, length = self.stations[0], self.stations[-1], self.shape.length
            covered = abs(first) <= 1e-9 * length and abs(last - length) <= 1e-6 * length
            if not covered:
                wanted = f"wanted from 0 to {length:.6g} m, the length of the beam"
                check.fail("stations", f"got stations from {first:.6g} to {last:.6g} m, {wanted}")

    @property
    def uniform(self) -> bool:
        return self.sections is None

    def stresses(self, model: ModelView) -> tuple[Floats, Floats] | None:
        if self.uniform:
            return super().stresses(model)
        lengths, spanwise = self.shape.lengths, self.spanwise(model)
        s = (np.cumsum(lengths) - lengths)[:, None] + lengths[:, None] * np.array([0.0, 0.5, 1.0])
        points = {recovery_points(each).shape for each in spanwise.sections}
        if not spanwise.shaped or len(points) > 1 or any(stress_section(each) is None for each in spanwise.sections):
            return None
        return spanwise.along(recovery_points, s), spanwise.along(stress_section, s)

    @property
    def _given(self) -> tuple[Section | str | None, ...]:
        """Its sections, or their names; of a file that is not read, none."""
        return tuple(self.sections) if isinstance(self.sections, tuple | list) else (self.section,)

    @property
    def section_names(self) -> tuple[str, ...]:
        return tuple(each for each in self._given if isinstance(each, str))

    def parts(self) -> tuple[Section, ...]:
        """Its sections, but those that are names; one that is given twice is one."""
        return tuple({id(each): each for each in self._given if isinstance(each, Section)}.values())

    def sections_along(self, model: ModelView) -> tuple[Section, ...]:
        if self.sections is None:
            return super().sections_along(model)
        named = {item.name: item for item in model.items() if isinstance(item, Section)}
        return tuple(named[each] if isinstance(each, str) else each for each in self._given if each is not None)

    def remarks(self, at: ModelAtStart) -> Iterator[str]:
        """On beams that their rotation at the start pulls to wires: docs/howto/beams.md, section on wires."""
        layout, v = at.system.layout, at.system.v0
        frames = [each.frame for each in layout.beams[self.name].stations if layout.frames[each.frame].freedom == 6]
        spin = max((float(np.linalg.norm(v[layout.frame_v[k] + 3 :][:3])) for k in frames), default=0.0)
        sections = self.sections_along(at.system.model)
        stiffness = max(np.linalg.eigvalsh(section.stiffness()[2:, 2:])[-1] for section in sections)
        tension = 0.125 * np.mean([section.line_mass() for section in sections]) * (spin * self.shape.length) ** 2
        if tension * self.shape.lengths[0] ** 2 > WIRE * stiffness:
            yield (
                f"beams.{self.name}: the tension of its rotation carries it, not its bending stiffness: frequencies of "
                'such wires are of order 4 in the length of exact elements, of order 6 with kind = "beam"'
            )

    def spanwise(self, model: ModelView) -> "Spanwise":
        """Its sections along it."""
        from femb.elements.exact.element_data import Spanwise

        return Spanwise(np.zeros(1) if self.sections is None else self.stations, self.sections_along(model))

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """The nodes. Raises ModelError if some of its sections shear and some do not. Warns of sections that change
        much between stations without a common shape."""
        sections = self.sections_along(model)
        rigid = [each.name for each in sections if not each.shears]
        if 0 < len(rigid) < len(sections):
            what = f"{rigid[0]!r} has no shear stiffness and others have one: give it to all or to none"
            raise ModelError.at((self.table, self.name, "sections"), what)
        if remark := self.spanwise(model).remark():
            warnings.warn(f"beams.{self.name}.sections: {remark}", FembWarning, stacklevel=2)
        super().declare_dofs(layout, placement, model)

    def expansions(self, model: ModelView) -> Floats:
        """(e, 2) mean of the coefficient of thermal expansion over every element, 1/K, and its first moment about the
        middle in lengths of the element; nan without one."""
        spanwise = self.spanwise(model)
        return spanwise.moments(spanwise.expansion, self.shape.lengths, 1)

    def element_properties(self, model: ModelView) -> "ElementProperties":
        """The properties of its elements; those of a few with one section are kept, for beams that are alike."""
        from femb.elements.exact.element_data import MOST_KEPT, PROPERTIES

        spanwise = self.spanwise(model)
        if not spanwise.uniform or self.elements > MOST_KEPT:
            return self._element_properties(spanwise)
        (section,) = spanwise.sections
        arrays = section.compliance(), section.mass(), np.array(section.damping)
        key = self.shape, bool(section.shears), *[array.tobytes() for array in arrays]
        return PROPERTIES.get(key, lambda: self._element_properties(spanwise))

    def _element_properties(self, spanwise: "Spanwise") -> "ElementProperties":
        from femb.elements.exact.element_data import (
            BY_DIRECTION,
            ElementProperties,
            first_moments,
            natural_coordinates,
            reference_changes,
        )

        shape = self.shape
        lengths = shape.lengths
        if shape.straight:
            # without the rounding of positions, so that equal elements have equal parameters
            reference, moments = np.zeros((self.elements, 6)), np.zeros((self.elements, 3))
            reference[:, 0] = lengths
        else:
            reference = natural_coordinates(*shape.element(np.arange(self.elements)))
            places = spanwise.places(lengths)
            moments = first_moments(places, spanwise.mass(places.s), reference, lengths)
        damping, viscous = np.full(self.elements, spanwise.damping(0.0)[0]), None
        if spanwise.damped_by_direction:
            damping[:], viscous = BY_DIRECTION, spanwise.moments(spanwise.viscous_compliance, lengths, 2)
        return ElementProperties(
            lengths, shape.corners, reference, reference_changes(shape),
            spanwise.moments(spanwise.compliance, lengths, 2), damping, viscous,
            spanwise.moments(spanwise.mass, lengths, 4), moments,
        )  # fmt: skip

    def section_strains(self, layout: Layout, model: ModelView, s: float) -> SectionStrains:
        """The strains of the stress that equilibrium carries along an element."""
        from femb.elements.exact.batch import SIZES, VELOCITIES
        from femb.elements.exact.element_data import STRAINS

        k, xi = self.element_at(s)
        batch: Any = self.batches([self], layout, model)[0]
        one, compliance = batch.row(k), self.spanwise(model).compliance(s)

        def of(heat: Floats, q: Floats, x: Floats) -> Floats:
            result: Floats = one.section_strains(heat, q, x, xi, compliance)[0, STRAINS]
            return result

        return SectionStrains.of_element(of, one.index[0, VELOCITIES], SIZES, one.inputs)

    @staticmethod
    def batches(items: list["ExactBeam"], layout: Layout, model: ModelView) -> list[Batch]:
        from femb.elements.exact.batch import ExactBatch
        from femb.elements.exact.line_load import ExactLineLoadBatch
        from femb.elements.load.line_load import DistributedLoad, ThermalLoad

        names = {beam.name for beam in items}
        heating = [item for item in model.items() if isinstance(item, ThermalLoad) and item.beam in names]
        loads = [item for item in model.items() if isinstance(item, DistributedLoad) and item.beam in names]
        beams = ExactBatch(items, heating, layout, model)
        return [beams, ExactLineLoadBatch(loads, beams)] if loads else [beams]

    @staticmethod
    def sections_between(recorded: Mapping[str, Floats], xi: Floats) -> Sections:
        return helix_sections(recorded, xi)


def helix_sections(recorded: Mapping[str, Floats], xi: Floats) -> Sections:
    """Sections at xi (s,) on the helix of constant strain through both ends: section 11 of the theory."""
    from femb.elements.exact.mean_rotation import helix_map

    quaternions, position = end_sections(recorded), element_ends(recorded["position"])
    first = quaternions[..., 0, :]
    theta = rotations.logarithm(rotations.multiply(rotations.conjugate(first), quaternions[..., 1, :]))
    x = rotations.rotate_back(first, position[..., 1, :] - position[..., 0, :])
    inverse = np.linalg.inv(helix_map(theta))
    u = np.einsum("...ij,...j->...i", inverse, x)
    turn = xi[:, None] * theta[..., None, :]
    arm = xi[:, None] * np.einsum("...ij,...j->...i", helix_map(turn), np.broadcast_to(u[..., None, :], turn.shape))
    axes = rotations.rotation_matrix(rotations.multiply(first[..., None, :], rotations.exponential(turn)))
    spins = rotations.rotate(recorded["quaternion"], recorded["angular_velocity"])
    ends = element_ends(spins)
    velocity = element_ends(recorded["velocity"])
    linear = velocity[..., :1, :] + xi[:, None] * (velocity[..., 1:, :] - velocity[..., :1, :])
    spin = ends[..., :1, :] + xi[:, None] * (ends[..., 1:, :] - ends[..., :1, :])
    place = position[..., :1, :] + rotations.rotate(first[..., None, :], arm)
    return Sections(place, axes, linear, spin)
