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
from femb.elements.item import AtPoint
from femb.elements.load.at_stations import StationForces
from femb.elements.load.load import LoadResults
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
    """factor of the load over time"""

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


# Aerodynamic loads, evaluated together: a load (6) and its derivatives (6, 9), in the axes of their station.
#
# The derivatives are with respect to the velocity through the air, the angular velocity and a rotation, in station
# axes. The batch uses numpy, since a model has few such loads. Source: docs/theory/rigid_body.md, equations (9) and
# (10).

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
        self.own_input = np.cumsum([0, *(each.width for each in self.inputs[:-1])])
        self.wind = np.array([load.wind for load in loads])

    def _laws(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Loads (s, n, 6), their derivatives (s, n, 6, 9), velocities (s, n, 3) of the frames through the air, frame
        axes, and attitudes (s, n, 4) of the frames."""
        attitude, axes = self.attitudes(q), np.arange(3)
        linear, omega = (v[:, self.in_v[:, None] + first + axes] for first in (0, 3))
        through = rotations.rotate_back(attitude, linear - self.wind)
        velocity = np.einsum("sni,nij->snj", through + np.cross(omega, self.offset), self.axes)
        turning = np.einsum("sni,nij->snj", omega, self.axes)
        value, slopes = np.empty((*velocity.shape[:2], 6)), np.zeros((*velocity.shape[:2], 6, 9))
        for k, (load, first) in enumerate(zip(self.items, self.first_input + self.own_input, strict=True)):
            if load.law is not None:
                value[:, k] = u[:, first : first + 6]
                slopes[:, k] = u[:, first + 6 : first + LAW_WIDTH].reshape(-1, 6, 9)
                continue
            state = np.concatenate([velocity[:, k] - load.velocity, turning[:, k] - load.angular_velocity], axis=1)
            coefficients = np.block(
                [
                    [load.force_by_velocity, load.force_by_angular_velocity],
                    [load.torque_by_velocity, load.torque_by_angular_velocity],
                ]
            )
            value[:, k] = u[:, first, None] * (np.concatenate([load.force, load.torque]) + state @ coefficients.T)
            slopes[:, k, :, :6] = u[:, first, None, None] * coefficients
        return value, slopes, through, attitude

    def wrench(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        value, _, _, attitude = self._laws(u, q, v)
        force, torque = (np.einsum("nij,snj->sni", self.axes, part) for part in (value[..., :3], value[..., 3:]))
        return rotations.rotate(attitude, force), torque + np.cross(self.offset, force)

    def slopes(self, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Equation (10)."""
        value, slopes, through, attitude = (x[0] for x in self._laws(u[None], q[None], v[None]))
        R, C, arm = rotations.rotation_matrix(attitude), self.axes, rotations.cross_matrix(self.offset)
        back = np.swapaxes(C, 1, 2)
        to_frame, (by_v, by_q) = np.zeros((len(C), 6, 6)), np.zeros((2, len(C), 9, 6))
        to_frame[:, :3, :3], to_frame[:, 3:, :3], to_frame[:, 3:, 3:] = R @ C, arm @ C, C
        by_v[:, :3, :3], by_v[:, :3, 3:], by_v[:, 3:6, 3:] = back @ np.swapaxes(R, 1, 2), -back @ arm, back
        by_q[:, :3, 3:], by_q[:, 6:, 3:] = back @ rotations.cross_matrix(through), back
        change = to_frame @ slopes @ by_q
        change[:, :3, 3:] -= R @ rotations.cross_matrix(np.einsum("nij,nj->ni", C, value[:, :3]))
        return to_frame @ slopes @ by_v, change

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        """Force (inertial axes) and torque about its point (axes of the body or section) of every load."""
        value, _, _, attitude = self._laws(frames.u, frames.q, frames.v)
        force = rotations.rotate(attitude, np.einsum("nij,snj->sni", self.axes, value[..., :3]))
        block: dict[str, Floats] = {}
        for k, load in enumerate(self.items):
            block |= {f"loads/{load.name}/force": force[:, k], f"loads/{load.name}/torque": value[:, k, 3:]}
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
