"""Rotor at rest: gyroscopic moments and unbalances of parts that turn about an axis, in a model where they rest."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.meanings import Description
from femb.base.types import NOT_NEGATIVE, Floats, Unit, UnitVector, Vector
from femb.base.values import listed
from femb.elements.beam.line import LineItem
from femb.elements.body.body import RigidBody
from femb.elements.item import Item
from femb.elements.load.load import Load
from femb.elements.marker import Place, axes_of
from femb.layout.layout import Layout, Station
from femb.layout.symmetry import EVERY, Surroundings, Symmetry
from femb.layout.views import ModelView, StartPoses
from femb.numerics import rotations
from femb.profiles import Sine


@dataclass(frozen=True, eq=False)
class Unbalance(Description):
    """A mass beside the axis of a rotor, which turns with it, on a body or at a ``node`` of a beam.

    Raises ModelError: neither body nor beam, or both.
    """

    size: Annotated[float, Unit("kg m"), NOT_NEGATIVE]
    """mass times distance from the axis"""
    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    node: int = -1
    phase: Annotated[float, Unit("rad")] = 0.0
    """angle from the rotor's x axis at t = 0, about its axis"""

    def __post_init__(self) -> None:
        with Checks(self, "unbalance") as check:
            check.exactly_one("body", "beam")


@dataclass(frozen=True, eq=False)
class Rotor(Item):
    """Parts that turn at a constant speed about an axis, in a model in which they do not turn.

    A part with the moment of inertia J about the axis has the angular momentum J speed about it. Parts are alike in all
    directions across the axis, which is not tested. Each of the ``unbalances`` is a force that turns at the speed.
    Damping of the shaft's material rests.

    Raises ModelError: no part, an unknown one, a speed or axis that is no number. Source: docs/theory/wheels.md,
    section 1.
    """

    table: ClassVar[str] = "rotors"
    kind: ClassVar[str] = "rotor"
    acts_on_attitude: ClassVar[bool] = True
    batch: ClassVar[str] = "femb.elements.wheel.rotor_batch:RotorBatch"

    name: str
    speed: Annotated[float, Unit("rad/s")]
    """about the axis"""
    axis: UnitVector
    """inertial axes at the start, of any length; the rotor's x axis is that of a joint with this axis"""
    beams: tuple[str, ...] = ()
    """that turn, with the inertia of their sections"""
    bodies: tuple[str, ...] = ()
    """rigid bodies that turn"""
    unbalances: list[Unbalance] | None = None
    """tables with ``size`` and a place"""

    def check(self, check: Checks) -> None:
        check.names("beams", "bodies")
        if not {"beams", "bodies"} & check.bad and not (self.beams or self.bodies):
            check.fail("beams", "no part is given: name beams or bodies that turn")

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        hosts = [("bodies", k, Place(name)) for k, name in enumerate(self.bodies)]
        hosts += [("beams", k, Place(beam=name, node=0)) for k, name in enumerate(self.beams)]
        return {(word, str(k)): place for word, k, place in hosts}

    def between(self, layout: Layout) -> frozenset[int]:
        """None: it acts on each by itself."""
        return frozenset()

    @property
    def spin(self) -> tuple[Floats, float]:
        return np.asarray(self.axis), float(self.speed)

    def symmetry(self, around: Surroundings) -> Symmetry:
        return EVERY

    def parts(self) -> tuple[Load, ...]:
        """Two forces across the axis for each unbalance, a quarter of a turn apart."""
        return self._loads

    @cached_property
    def _loads(self) -> tuple[Load, ...]:
        if not self.unbalances or not self.speed:
            return ()
        x, y, _ = axes_of(self.axis).T
        return tuple(
            Load(
                f"{self.name}_unbalance_{k + 1}{word}", each.body, each.beam, each.at, each.node,
                force=each.size * self.speed**2 * direction,
                profile=Sine(abs(self.speed) / (2.0 * np.pi), phase=phase),
            )
            for k, each in enumerate(self.unbalances)
            for word, direction, phase in (
                ("x", x, each.phase + 0.5 * np.pi if self.speed > 0.0 else 0.5 * np.pi - each.phase),
                ("y", np.sign(self.speed) * y, each.phase if self.speed > 0.0 else -each.phase),
            )
        )  # fmt: skip

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """None of its own. Raises ModelError: an unknown part, a part that is no rigid body."""
        items = {(item.table, item.name): item for item in model.items()}
        for table, names, wanted in (("beams", self.beams, LineItem), ("bodies", self.bodies, RigidBody)):
            for name in names:
                if not isinstance(items.get((table, name)), wanted):
                    known = [each for (_, each), item in items.items() if isinstance(item, wanted)]
                    raise ModelError.at(
                        (self.table, self.name, table), f"got {name!r}, wanted one of {listed(known, 8) or 'none'}"
                    )

    def momenta(self, layout: Layout, model: ModelView) -> list[tuple[Station, Floats]]:
        """Stations of its parts and their angular momenta (3,), N m s, inertial axes at the start."""
        found: list[tuple[Station, float]] = []
        items = {(item.table, item.name): item for item in model.items()}
        for name in self.bodies:
            station = Station(layout.bodies[name])
            n = rotations.rotate_back(layout.pose(station)[1], np.asarray(self.axis))
            found.append((station, float(n @ np.asarray(items["bodies", name].inertia) @ n)))
        for name in self.beams:
            beam, stations = items["beams", name], layout.beams[name].stations
            sections = beam.sections_along(model)
            each = sections * beam.elements if len(sections) == 1 else sections
            for ends, length, section in zip(pairwise(stations), beam.shape.lengths, each, strict=True):
                found += [(end, 0.5 * length * float(section.inertia()[0])) for end in ends]
        return [(station, J * self.speed * np.asarray(self.axis)) for station, J in found]
