"""Bearing of a rotor: stiffness and damping across its axis, in axes of the housing, which may depend on the speed."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.quantity import Group
from femb.base.types import Direction, Floats, Numbers, SeveralForms, Shape, Unit
from femb.elements.force_results import SpringResults
from femb.elements.item import Item
from femb.elements.marker import Place, SpringEnd, axes_of, check_markers
from femb.elements.spring.spring import coupled_stations
from femb.elements.wheel.rotor import Rotor
from femb.layout.layout import Layout, Station
from femb.layout.symmetry import AXES, EVERY, NONE, SAME, Surroundings, Symmetry, twists
from femb.layout.views import ModelView, StartPoses
from femb.numerics import rotations

Coefficient = Annotated[Any, SeveralForms((float, Annotated[Any, Shape((None,))]))]
WORDS = ("kxx", "kxy", "kyx", "kyy", "kzz", "cxx", "cxy", "cyx", "cyy", "czz")


@dataclass(frozen=True, eq=False)
class Bearing(Item):
    """Stiffness and damping across the axis of a shaft, in axes of the housing, which do not turn with the shaft.

    The force on the shaft's point is -K (x, y) - C (x', y'). With ``speeds`` coefficients are tables over the speed of
    the shaft, with that of its rotor: monotone piecewise cubics, constant outside. Tilts of the shaft are free.

    Raises ModelError: no coefficient, tables of another length than ``speeds``, a reference along the axis, an unknown
    rotor. Source: docs/theory/rigid_body.md, section 5.
    """

    table: ClassVar[str] = "springs"
    kind: ClassVar[str] = "bearing"
    results: ClassVar[type[Group]] = SpringResults
    batch: ClassVar[str] = "femb.elements.spring.bearing_batch:BearingBatch"

    name: str
    shaft: SpringEnd
    """the point of the shaft, on a body or a beam node"""
    axis: Direction
    """z axis of the bearing, about which the shaft turns, in axes of the housing"""
    housing: SpringEnd | None = None
    """the centre, on a body; by default on the ground, where the shaft's point is at the start"""
    reference: Direction | None = None
    """its part across the axis is the bearing's x axis; by default x of the housing, or y within 25 degrees of the
    axis"""
    kxx: Annotated[Coefficient, Unit("N/m")] = 0.0
    kxy: Annotated[Coefficient, Unit("N/m")] = 0.0
    """force along x by a displacement along y"""
    kyx: Annotated[Coefficient, Unit("N/m")] = 0.0
    kyy: Annotated[Coefficient | None, Unit("N/m")] = None
    """by default kxx"""
    cxx: Annotated[Coefficient, Unit("N s/m")] = 0.0
    cxy: Annotated[Coefficient, Unit("N s/m")] = 0.0
    cyx: Annotated[Coefficient, Unit("N s/m")] = 0.0
    cyy: Annotated[Coefficient | None, Unit("N s/m")] = None
    """by default cxx"""
    kzz: Annotated[Coefficient, Unit("N/m")] = 0.0
    """along the axis"""
    czz: Annotated[Coefficient, Unit("N s/m")] = 0.0
    """along the axis"""
    speeds: Annotated[Numbers | None, Unit("rad/s")] = None
    """increasing: coefficients are then numbers, or lists of as many"""
    rotor: str | None = None
    """a rotor whose speed adds to that of the shaft"""

    def check(self, check: Checks) -> None:
        check_markers(check, SpringEnd, *(word for word in ("shaft", "housing") if getattr(self, word) is not None))
        for word in ("shaft", "housing"):
            end = getattr(self, word)
            if word not in check.bad and end is not None and end.anchor is not None:
                check.fail(f"{word}.anchor", 'a point in space: give a body, such as "ground"')
        if self.reference is not None and not {"axis", "reference"} & check.bad:
            sine = np.linalg.norm(np.cross(self.axis, self.reference))
            ahead = sine > 1e-6 * np.linalg.norm(self.axis) * np.linalg.norm(self.reference)
            check.require("reference", bool(ahead), "is along the axis: it must show a direction across it")
        if self.speeds is not None and "speeds" not in check.bad:
            check.numbers("speeds")
        if self.speeds is not None and "speeds" not in check.bad:
            rising = len(self.speeds) > 1 and bool(np.all(np.diff(self.speeds) > 0.0))
            check.require("speeds", rising, "wanted at least two speeds, each above the one before")
        number = None if "speeds" in check.bad or self.speeds is None else len(np.atleast_1d(self.speeds))
        wanted = "a number, or a list beside speeds" if number is None else f"a number, or {number}, as speeds has"
        for word in set(WORDS) - check.bad:
            if getattr(self, word) is not None:
                check.array(word, lambda x: x.ndim == 0 or x.shape == (number,), wanted)
        if not check.bad and not any(np.any(value) for value in self.coefficients.values()):
            check.fail("kxx", "no coefficient is given")

    @property
    def coefficients(self) -> dict[str, Any]:
        """All coefficients by their names, numbers or lists."""
        given = {word: getattr(self, word) for word in WORDS}
        return given | {word: given[other] for word, other in (("kyy", "kxx"), ("cyy", "cxx")) if given[word] is None}

    @property
    def start(self) -> SpringEnd:
        """The housing."""
        return SpringEnd(body="ground") if self.housing is None else self.housing

    @property
    def end(self) -> SpringEnd:
        """The shaft."""
        return self.shaft

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        return {("shaft",): self.shaft, ("housing",): self.start}

    def frames(self, layout: Layout) -> list[int]:
        return [layout.frame_of(self.start), layout.frame_of(self.end)]

    def centre(self, layout: Layout) -> tuple[Floats, Floats]:
        """The centre (3,) m and the bearing's axes (3, 3), in axes of the housing's frame."""
        station = layout.station(self.start)
        axes = station.axes @ axes_of(self.axis, self.reference)
        if self.housing is not None:
            return station.offset, axes
        (r1, p1), (r2, _) = layout.pose(Station(station.frame)), layout.pose(layout.station(self.end))
        return rotations.rotate_back(p1, r2 - r1), axes

    def speed_of(self, model: ModelView) -> float:
        """rad/s of its rotor, zero without one. Raises ModelError: an unknown one."""
        if self.rotor is None:
            return 0.0
        rotors = {item.name: item for item in model.items() if isinstance(item, Rotor)}
        if self.rotor not in rotors:
            known = ", ".join(map(repr, rotors)) or "none"
            raise ModelError.at((self.table, self.name, "rotor"), f"got {self.rotor!r}; there are: {known}")
        return rotors[self.rotor].speed

    def symmetry(self, around: Surroundings) -> Symmetry:
        # about its axis the force turns with the shaft where it is alike in all directions
        if not around.hold(self.frames(around.layout)):
            return EVERY
        layout, given = around.layout, self.coefficients
        housing = layout.frame_of(self.start)
        (r, R), (centre, axes) = around.pose(Station(housing)), self.centre(layout)
        alike = [np.array_equal(given[f"{a}xx"], given[f"{a}yy"]) for a in "kc"]
        turned = [np.array_equal(given[f"{a}xy"], np.negative(given[f"{a}yx"])) for a in "kc"]
        axis = (R @ axes[:, 2])[None]
        turns = axis if housing in around.fixed and all(alike + turned) else NONE
        shifts = NONE if np.any(given["kzz"]) or np.any(given["czz"]) else axis
        point, _ = around.pose(layout.station(self.end))
        apart = np.abs(axes.T @ (R.T @ (point - r) - centre)).max() > SAME * layout.extent
        still = twists(turns=NONE if apart else AXES, point=point)
        return Symmetry(twists(shifts, turns, r + R @ centre), twists(shifts), at_rest=still)

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        coupled_stations(self, layout)
        self.speed_of(model)
