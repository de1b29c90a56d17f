"""Magnetic torquer: a commanded magnetic dipole in the magnetic field of the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group, Quantity
from femb.base.types import POSITIVE, Floats, Unit, UnitVector
from femb.elements.environment.field import MagneticField, field_breakpoints, magnetic_field
from femb.elements.item import AtPoint, ItemStates, is_set
from femb.elements.load.at_stations import DIPOLE, StationForces
from femb.elements.marker import Place
from femb.layout.commands import Command
from femb.layout.discrete import DiscreteState
from femb.layout.element import Input, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.symmetry import AXES, NONE, Surroundings, Symmetry, along, twists
from femb.layout.views import ModelView, StartPoses
from femb.numerics import rotations
from femb.profiles import Constant, Profile

FIELD = "magnetic_torquers.field"


def recorded_dipole(item: "MagneticTorquer", at: ItemStates) -> Floats:
    """(s,) A m2."""
    result: Floats = at.input("dipole")[:, 0] + at.input("command")[:, 0]
    return result


def recorded_field(item: "MagneticTorquer", at: ItemStates) -> Floats:
    """(s, 3) T, axes of the host."""
    return rotations.rotate_back(rotations.normalise(at.motion(item.on)[1]), at.u[:, at.inputs[FIELD]])


def recorded_torque(item: "MagneticTorquer", at: ItemStates) -> Floats:
    """(s, 3) N m, axes of the host."""
    return np.cross(recorded_dipole(item, at)[:, None] * np.asarray(item.axis), recorded_field(item, at))


class TorquerResults(Group):
    """Dipole and torque of a magnetic torquer."""

    word: ClassVar[str] = "magnetic_torquer"

    dipole = Quantity("(T,)", "A m2", "along its axis", of=recorded_dipole)
    field = Quantity("(T, 3)", "T", "the magnetic field, in axes of the body or section", of=recorded_field)
    torque = Quantity("(T, 3)", "N m", "on its host, in axes of the body or section", of=recorded_torque)
    clips = Quantity(
        "(T,)", "-", "commands so far that exceeded max_dipole", of=lambda item, at: at.input("clips")[:, 0]
    )


@dataclass(frozen=True, eq=False)
class MagneticTorquer(AtPoint):
    """A magnetic dipole along an axis of a body or of a beam's section, which the magnetic field turns.

    The field is the sum of the model's ``fields`` at the origin of its frame. The command of a controller,
    ``magnetic_torquers.NAME.dipole`` (A m2), adds to the dipole.

    Raises ModelError: no axis, a limit that is not positive, a model without a field. Source: docs/theory/actuators.md,
    section 3.
    """

    table: ClassVar[str] = "magnetic_torquers"
    kind: ClassVar[str] = "magnetic_torquer"
    acts_on_attitude: ClassVar[bool] = True
    results: ClassVar[type[Group]] = TorquerResults
    batch: ClassVar[str] = "femb.elements.actuator.torquer:TorquerBatch"

    name: str
    axis: UnitVector
    """of the dipole, in axes of the body or section"""
    body: str | None = None
    beam: str | None = None
    node: int = -1
    dipole: Annotated[float, Unit("A m2")] = 0.0
    """constant part, times the profile"""
    max_dipole: Annotated[float | None, Unit("A m2"), POSITIVE] = None
    """limit of the command; clipped commands are counted"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen
    """factor of the constant dipole, not of the command: a profile or any function of time"""

    def check(self, check: Checks) -> None:
        self.on.report(check)

    @property
    def on(self) -> Place:
        """Its host."""
        return Place(self.body, self.beam, node=self.node)

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        return ("angular",)

    def symmetry(self, around: Surroundings) -> Symmetry:
        # Translations, and turns about a field that is the same everywhere; its torque is across the field.
        fields = [item.direction for item in around.model.items() if isinstance(item, MagneticField)]
        same = [field for field in fields if field is not None]
        turns = along(*same) if len(same) == len(fields) else NONE
        return Symmetry.of(twists(AXES, turns))

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        layout.add_discrete(self.key("command"), 0.0, carried=is_set(model, self.key("dipole")))
        layout.add_discrete(self.key("clips"), 0.0)

    def commands(self, layout: Layout) -> Mapping[str, Command]:
        """The dipole."""
        limit = inf if self.max_dipole is None else self.max_dipole
        held, clips = self.key("command"), self.key("clips")
        return {"dipole": Command("A m2", self.key("dipole"), limit=limit, held=held, clips=clips)}

    def commanded(self, word: str, value: Floats, t: float, discrete: DiscreteState) -> Mapping[str, Any]:
        """The states after the command ``value`` (1,), A m2, at the time t (s), where they were ``discrete``."""
        wanted, limit = float(np.ravel(value)[0]), inf if self.max_dipole is None else self.max_dipole
        change: dict[str, Any] = {self.key("command"): min(max(wanted, -limit), limit)}
        if abs(wanted) > limit:
            change[self.key("clips")] = discrete[self.key("clips")] + 1.0
        return change

    def inputs(self) -> tuple[Input, ...]:
        """Its own dipole, the command, and what is only recorded."""
        own = Input(
            1,
            lambda t: self.dipole * self.profile(t),
            breakpoints=breakpoints_of(self.profile),
            label=self.key("dipole"),
            unit="A m2",
        )
        return own, Input.of_array(self.key("command")), Input.of_array(self.key("clips"), recorded_only=True)


class TorquerBatch(StationForces):
    """Torquers, evaluated together; their first input is the field (3,) T, inertial axes."""

    def __init__(self, items: list[MagneticTorquer], layout: Layout, model: ModelView) -> None:
        super().__init__(items, layout)
        field = magnetic_field(model, (items[0].table, items[0].name))
        at, breakpoints = np.zeros(3), field_breakpoints(model)
        of_time = Input(3, lambda t: field(t, at), breakpoints=breakpoints, label=FIELD, unit="T", surroundings=True)
        self.inputs = (of_time, *(each for item in items for each in item.inputs()))
        self.set_law(DIPOLE, 3 + 3 * np.arange(len(items)), [self.in_frame([item.axis for item in items])])
