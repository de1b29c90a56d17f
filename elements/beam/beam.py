"""Quaternion Euler-Bernoulli beam."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.types import POSITIVE, Floats, Ints, OneOf, Unit, Vector
from femb.elements.beam.line import SectionStrains, ShapedBeam
from femb.elements.beam.section import Section
from femb.elements.beam.shape import Path, Sections, beam_sections
from femb.elements.marker import Attachment
from femb.layout.layout import BeamLayout, Layout, Station
from femb.layout.numbering import InternalQuantity
from femb.layout.views import ModelView, StartPoses

STRAIN = InternalQuantity("strain", "-")


@dataclass(frozen=True, eq=False)
class Beam(ShapedBeam):
    """A beam of equal elements between its ``start`` and its ``end``.

    Raises ModelError. Source: docs/theory/beam.md.
    """

    kind: ClassVar[str] = "beam"
    batch: ClassVar[str] = "femb.elements.beam.batch:BeamBatch"
    slow_kernel: ClassVar[str] = "femb.elements.beam.force:forces"

    name: str
    section: Section | str
    length: Annotated[float | None, Unit("m"), POSITIVE] = None
    elements: int = 1
    start: Attachment | None = None
    end: Attachment | None = None
    strain: Annotated[str, OneOf(("exact", "source"))] = "exact"
    """either "exact" curvatures per unit stretched length, or "source" for those of the thesis"""
    share_strain: bool = False
    """one axial strain for all elements that meet at a node, and for collinear beams on one body. By default clamped
    ends and loaded or connected nodes have strains of their own"""
    curvature: Annotated[Vector | None, Unit("rad/m")] = None
    velocity: Annotated[Vector | None, Unit("m/s")] = None
    angular_velocity: Annotated[Vector | None, Unit("rad/s")] = None
    path: Path | None = None

    def check(self, check: Checks) -> None:
        self.check_line(check)
        self.check_shape(check)
        if not check.bad:
            self.check_ends(check)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Frames for the nodes that are not attached; axial strains of the element ends, with couplings.

        Raises ModelError if the section shears.
        """
        section = model.section_of(self)
        if section.shears:
            what = f"the section {section.name!r} has {section.shears}, and a beam of this kind does not shear"
            raise ModelError.at((self.table, self.name, "section"), f'{what}: give the beam kind = "exact"')
        if section.damped_by_direction:
            what = f"the section {section.name!r} has six damping coefficients, and a beam of this kind takes one"
            raise ModelError.at((self.table, self.name, "section"), f'{what}: give the beam kind = "exact"')
        stations = self.nodes(layout, placement)
        jumps = self.shape.corner_nodes | (set() if self.share_strain else _nodes_in_use(self, model))
        ends = self._strains(layout, stations, jumps)
        layout.beams[self.name] = BeamLayout(stations, {"strain": ends})
        for k in range(self.elements):
            layout.couple((stations[k].frame, stations[k + 1].frame), ends[k])

    def _strains(self, layout: Layout, stations: list[Station], jumps: set[int]) -> Ints:
        """Strain numbers (e, 2) of both ends of every element; at the inner nodes ``jumps`` the two differ."""
        strains = np.empty((self.elements, 2), dtype=np.int64)
        for end, clamp in enumerate(self.attached):
            k = end * self.elements
            label, frame = f"{self.name}, node {k}", stations[k].frame
            if clamp is not None and self.share_strain:
                strains[-end, end] = layout.add_internal(label, STRAIN, frame, self.table, shared=True)
            else:
                # a body's block remains 6 x 6: the strain of a clamped end is eliminated with the next node
                inward = stations[1 - 2 * end + k].frame
                strains[-end, end] = layout.add_internal(label, STRAIN, frame if clamp is None else inward, self.table)
        for k in range(1, self.elements):
            label, frame = f"{self.name}, node {k}", stations[k].frame
            strains[k - 1, 1] = strains[k, 0] = layout.add_internal(label, STRAIN, frame, self.table)
            if k in jumps:
                strains[k, 0] = layout.add_internal(f"{label}, towards the end", STRAIN, frame, self.table)
        return strains

    def section_strains(self, layout: Layout, model: ModelView, s: float) -> SectionStrains:
        """The parabola through the strains at the three strain points of an element, which are all that its energy
        knows: exact where bending is linear along it."""
        from femb.elements.beam.batch import SIZES, VELOCITIES, BeamBatch
        from femb.elements.beam.strain import POINTS

        k, xi = self.element_at(s)
        one, others = BeamBatch([self], layout, model).row(k), POINTS[[[1, 2], [0, 2], [0, 1]]]
        weights = np.prod((xi - others) / (POINTS[:, None] - others), axis=1)

        def of(heat: Floats, q: Floats, x: Floats) -> Floats:
            result: Floats = weights @ one.own_strains(q, q, x).reshape(3, 4)
            return result

        return SectionStrains.of_element(of, one.index[0, VELOCITIES], SIZES)

    @staticmethod
    def sections_between(recorded: Mapping[str, Floats], xi: Floats) -> Sections:
        return beam_sections(recorded, xi)


def _nodes_in_use(beam: Beam, model: ModelView) -> set[int]:
    """Nodes of a beam with a marker of an item: a load, a mass, a spring, the end of another beam."""
    markers = [marker for item in model.items() for marker in item.markers.values()]
    return {marker.node % (beam.elements + 1) for marker in markers if marker.beam == beam.name}
