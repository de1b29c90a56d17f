"""Aerodynamic load: a force and a torque that depend on the velocity through the air."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group
from femb.base.types import Matrix3, Unit, Vector
from femb.base.values import shown
from femb.elements.item import AtPoint
from femb.elements.load.load import LoadResults
from femb.elements.marker import Place
from femb.layout.element import Batch
from femb.layout.layout import Layout
from femb.layout.views import ModelView
from femb.profiles import Constant, Profile

NO_COEFFICIENTS = ((0.0, 0.0, 0.0),) * 3
STATE, LOAD = ("velocity", "angular_velocity"), ("force", "torque")


@dataclass(frozen=True, eq=False)
class AerodynamicLoad(AtPoint):
    """A force and a torque that follow the velocity through the air, given by coefficients or by a law.

    body and at (m, body axes; by default its mass centre), or beam, node and at (m, section axes) : the point on which
    it acts, and whose velocity it depends on. Vectors are in the axes of the body or section, except wind : velocity of
    the air, inertial axes, m/s.

    velocity : m/s, of the reference state. angular_velocity : rad/s, of the reference state. force : N, in the
    reference state. torque : N m, about the point, in the reference state.

    By coefficients, the load is linear about the reference state:

        force + force_by_velocity (v - velocity) + force_by_angular_velocity (omega - angular_velocity)

    and correspondingly the torque, with torque_by_velocity and torque_by_angular_velocity; each matrix is 3 x 3, zero
    by default. Or law : in Python, a function ``law(t, velocity, angular_velocity, quaternion) -> Airload`` of the
    velocity through the air and the angular velocity in body axes and the attitude; the Airload contains derivatives
    for Newton's iterations and linearisation.

    profile : factor of the load; a Profile of femb.profiles or any callable of time.

    Raises ModelError: neither coefficients nor law, or both; both or neither of body and beam.
    Source: docs/theory/rigid_body.md, equations (9) and (10).
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "aerodynamic"
    results: ClassVar[type[Group]] = LoadResults
    acts_on_attitude: ClassVar[bool] = True
    resists_flight: ClassVar[bool] = True

    name: str
    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector | None, Unit("m")] = None
    node: int = -1
    velocity: Annotated[Vector, Unit("m/s")] = (0.0, 0.0, 0.0)
    angular_velocity: Annotated[Vector, Unit("rad/s")] = (0.0, 0.0, 0.0)
    force: Annotated[Vector, Unit("N")] = (0.0, 0.0, 0.0)
    torque: Annotated[Vector, Unit("N m")] = (0.0, 0.0, 0.0)
    force_by_velocity: Annotated[Matrix3, Unit("N s/m")] = NO_COEFFICIENTS
    force_by_angular_velocity: Annotated[Matrix3, Unit("N s/rad")] = NO_COEFFICIENTS
    torque_by_velocity: Annotated[Matrix3, Unit("N s")] = NO_COEFFICIENTS
    torque_by_angular_velocity: Annotated[Matrix3, Unit("N m s/rad")] = NO_COEFFICIENTS
    wind: Annotated[Vector, Unit("m/s")] = (0.0, 0.0, 0.0)
    law: Callable[..., Any] | None = None
    profile: Profile = Constant()  # noqa: RUF009 - frozen

    def check(self, check: Checks) -> None:
        self.on.report(check)
        if self.law is not None and not callable(self.law):
            check.fail("law", f"got {shown(self.law)}, wanted a function: in a case file give coefficients instead")
        words = (*LOAD, *(f"{load}_by_{state}" for load in LOAD for state in STATE))
        for word in (*words, *STATE, "wind"):
            if callable(getattr(self, word)):
                check.fail(word, f"got {shown(getattr(self, word))}, wanted numbers; functions go to law")
        given = [word for word in words if word not in check.bad and np.any(getattr(self, word))]
        if self.law is None and not given and not check.bad:
            check.fail("force_by_velocity", "no coefficient is given, and no law: the load would be nothing")
        if self.law is not None and given:
            check.fail(given[0], "given beside a law, which says the whole load: give one of the two")

    @property
    def on(self) -> Place:
        """Its point; without ``at`` the origin of the host."""
        return Place(self.body, self.beam, (0.0, 0.0, 0.0) if self.at is None else self.at, self.node)

    @staticmethod
    def batches(items: list["AerodynamicLoad"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all aerodynamic loads; loads on fixed frames are omitted."""
        from femb.elements.load.aerodynamic_batch import AerodynamicBatch

        moving = [item for item in items if layout.frames[layout.station(item.on).frame].freedom]
        return [AerodynamicBatch(moving, layout, model)] if moving else []
