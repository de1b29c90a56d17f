"""Aerodynamic load: a force and a torque that depend on the velocity through the air."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import SolveError
from femb.base.html import Brief
from femb.base.quantity import Group
from femb.base.types import Floats, Matrix3, Unit, Vector
from femb.base.values import shown
from femb.elements.force_results import LoadResults
from femb.elements.item import AtPoint
from femb.elements.load.at_stations import AIRLOAD, AIRLOAD_BY_LAW, StationForces
from femb.elements.marker import Place
from femb.layout.element import Batch, Input, breakpoints_of
from femb.layout.layout import Layout, Station
from femb.layout.state import station_motion
from femb.layout.symmetry import TRANSLATIONS, Surroundings, Symmetry, in_air
from femb.layout.views import ModelView, OutputStates
from femb.numerics import rotations
from femb.profiles import Constant, Profile

NO_COEFFICIENTS = ((0.0, 0.0, 0.0),) * 3
STATE, LOAD = ("velocity", "angular_velocity"), ("force", "torque")


@dataclass(frozen=True, eq=False)
class AerodynamicLoad(AtPoint):
    """A force and a torque that follow the velocity through the air, given by coefficients or by a law.

    By coefficients, the load is linear about the reference state: the force is force + force_by_velocity (v - velocity)
    + force_by_angular_velocity (omega - angular_velocity), the torque likewise. Vectors but the wind are in axes of the
    body or section.

    Raises ModelError: neither coefficients nor law, or both; both or neither of body and beam. Source:
    docs/theory/rigid_body.md, equations (9) and (10).
    """

    table: ClassVar[str] = "loads"
    kind: ClassVar[str] = "aerodynamic"
    results: ClassVar[type[Group]] = LoadResults
    batch: ClassVar[str] = "femb.elements.load.aerodynamic:AerodynamicBatch"
    acts_on_attitude: ClassVar[bool] = True
    resists_flight: ClassVar[bool] = True

    name: str
    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector | None, Unit("m")] = None
    """the point on which it acts, and whose velocity it depends on; of a body by default its mass centre"""
    node: int = -1
    velocity: Annotated[Vector, Unit("m/s")] = (0.0, 0.0, 0.0)
    """of the reference state"""
    angular_velocity: Annotated[Vector, Unit("rad/s")] = (0.0, 0.0, 0.0)
    """of the reference state"""
    force: Annotated[Vector, Unit("N")] = (0.0, 0.0, 0.0)
    """in the reference state"""
    torque: Annotated[Vector, Unit("N m")] = (0.0, 0.0, 0.0)
    """about the point, in the reference state"""
    force_by_velocity: Annotated[Matrix3, Unit("N s/m")] = NO_COEFFICIENTS
    force_by_angular_velocity: Annotated[Matrix3, Unit("N s/rad")] = NO_COEFFICIENTS
    torque_by_velocity: Annotated[Matrix3, Unit("N s")] = NO_COEFFICIENTS
    torque_by_angular_velocity: Annotated[Matrix3, Unit("N m s/rad")] = NO_COEFFICIENTS
    wind: Annotated[Vector, Unit("m/s")] = (0.0, 0.0, 0.0)
    """velocity of the air, inertial axes"""
    law: Callable[..., Any] | None = None
    """in Python, a function ``law(t, velocity, angular_velocity, quaternion) -> Airload`` of the velocity through the
    air and the angular velocity in body axes and the attitude; the Airload contains derivatives for Newton's iterations
    and linearisation"""
    profile: Profile = Constant()  # noqa: RUF009 - frozen
    """factor of the load: a profile or any function of time"""

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

    def symmetry(self, around: Surroundings) -> Symmetry:
        # Translations at rest, and turns that keep the wind; a law knows the attitude.
        by_coefficients = in_air(self.wind)
        return by_coefficients if self.law is None else replace(by_coefficients, motions=TRANSLATIONS)

    @property
    def on(self) -> Place:
        """Its point; without ``at`` the origin of the host."""
        return Place(self.body, self.beam, (0.0, 0.0, 0.0) if self.at is None else self.at, self.node)

    def in_batch(self, layout: Layout, model: ModelView) -> bool:
        """Whether it is on a frame that moves."""
        return bool(layout.frames[layout.station(self.on).frame].freedom)


# The result of an aerodynamic law: a load and its derivatives at one state.


@dataclass(frozen=True)
class Airload(Brief):
    """The result of an aerodynamic law at one state: the load and its derivatives, all in body axes.

    force (3,) : N. torque (3,) : N m, about the point. by_velocity, by_angular_velocity, by_rotation (6, 3) :
    derivatives of force and torque, in this order, with respect to the velocity (m/s) and the angular velocity (rad/s)
    in body axes, and to a small rotation of the body (rad, body axes) at constant components of the velocities; the
    last is zero if the load does not depend on the attitude.
    """

    force: Any
    torque: Any
    by_velocity: Any
    by_angular_velocity: Any
    by_rotation: Any = field(default_factory=lambda: np.zeros((6, 3)))

    def packed(self) -> Floats:
        """(60,) load (6) and derivatives (6, 9) by rows. Raises ValueError: an array of wrong shape."""
        parts = (self.by_velocity, self.by_angular_velocity, self.by_rotation)
        for name, value, shape in (
            ("force", self.force, (3,)),
            ("torque", self.torque, (3,)),
            *zip(("by_velocity", "by_angular_velocity", "by_rotation"), parts, [(6, 3)] * 3, strict=True),
        ):
            if np.shape(value) != shape:
                raise ValueError(f"{name}: got {shown(value)}, wanted an array of shape {shape}")
        return np.concatenate([self.force, self.torque, np.hstack(parts).ravel()])


LAW_WIDTH = 60  # inputs of a law: load (6) and derivatives (6, 9)


class AerodynamicBatch(StationForces):
    """Loads by coefficients, times an input; or by laws, whose value and derivatives are inputs."""

    def __init__(self, loads: list[Any], layout: Layout, model: ModelView) -> None:
        super().__init__(loads, layout)
        for k, load in enumerate(loads):
            if load.body is not None and load.at is None:
                self.offset[k] = model.body(load.body).center_of_mass
        stations = [
            replace(layout.station(load.on), offset=offset) for load, offset in zip(loads, self.offset, strict=True)
        ]
        self.inputs = tuple(_input(load, station, layout) for load, station in zip(loads, stations, strict=True))
        first = np.cumsum([0, *(each.width for each in self.inputs[:-1])])
        slopes = [np.block([[getattr(x, f"{load}_by_{state}") for state in STATE] for load in LOAD]) for x in loads]
        numbers = [[getattr(load, word) for load in loads] for word in ("wind", *STATE, *LOAD)]
        laws = [AIRLOAD if load.law is None else AIRLOAD_BY_LAW for load in loads]
        self.set_law(laws, first, [*numbers, np.reshape(slopes, (-1, 36))])

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Force (inertial axes) and torque about its point (axes of the body or section) of every load."""
        force, torque = self.wrenches(frames.u, frames.q, frames.v)
        block: dict[str, Floats] = {}
        for k, load in enumerate(self.items):
            block |= {f"loads/{load.name}/force": force[:, k], f"loads/{load.name}/torque": torque[:, k] @ self.axes[k]}
        return block


def _input(load: Any, station: Station, layout: Layout) -> Input:
    label = f"loads.{load.name}.{'profile' if load.law is None else 'law'}"
    if load.law is None:
        return Input.of_profile(load.profile, label)

    def value(t: float, state: Any) -> Floats:
        q, v = state.arrays()
        _, quaternion, velocity, omega = (x[0] for x in station_motion(layout, station, q[None], v[None]))
        attitude = rotations.normalise(quaternion)
        airload = load.law(t, rotations.rotate_back(attitude, velocity - load.wind), omega, attitude)
        if not isinstance(airload, Airload):
            raise SolveError(f"{label}: got {airload!r} at t = {t:.6g} s, wanted a femb.Airload")
        try:
            result: Floats = load.profile(t) * airload.packed()
            return result
        except ValueError as error:
            raise SolveError(f"{label}: at t = {t:.6g} s: {error}") from error

    breakpoints = breakpoints_of(load.profile)
    return Input(LAW_WIDTH, value, of_state=True, breakpoints=breakpoints, label=label, differentiated=True)
