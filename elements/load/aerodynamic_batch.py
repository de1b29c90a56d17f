"""Aerodynamic loads, evaluated together: a load (6) and its derivatives (6, 9), in the axes of their station.

The derivatives are by the velocity through the air, the angular velocity and a turn, all in station axes. A model has
a handful of them, so this is numpy. Source: docs/theory/rigid_body.md, equations (9) and (10).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.elements.load.airload import Airload
from femb.layout.element import Batch, ForceBatch, Input, breakpoints_of
from femb.layout.layout import Layout, Station
from femb.layout.state import station_motion
from femb.numerics import rotations
from femb.numerics.vector3 import scatter

STARTS, SIZES = np.array([0]), np.array([6])
WIDTH = 60  # of the inputs of a law: load (6) and derivatives (6, 9)


@dataclass(frozen=True)
class _Place:
    """One load: its station, places in q and v, axes C (3, 3) of the station in the frame, and first input."""

    load: Any
    station: Station
    i: int
    j: int
    axes: Floats
    first: int


class AerodynamicBatch(ForceBatch):
    """Loads by coefficients, times an input; or by laws, whose value and derivatives are inputs."""

    def __init__(self, loads: list[Any], layout: Layout, model: Any) -> None:
        self.places: list[_Place] = []
        inputs: list[Input] = []
        for load in loads:
            station = layout.station(load.on)
            if load.body is not None and load.at is None:
                station = replace(station, offset=np.array(model.body(load.body).center_of_mass))
            where = int(layout.frame_q[station.frame]), int(layout.frame_v[station.frame])
            axes = rotations.rotation_matrix(station.rotation)
            self.places.append(_Place(load, station, *where, axes, sum(input_.width for input_ in inputs)))
            inputs.append(_input(load, station, layout))
        self.inputs = tuple(inputs)

    def allocate(self, pattern: Any) -> None:
        self.offset, self.stride = pattern.offsets(np.array([[place.j] for place in self.places]))

    def _law(self, place: _Place, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Load (s, 6) and derivatives (s, 6, 9) at a station; velocity of the frame through the air, its axes."""
        load, k = place.load, self.first_input + place.first
        quaternion, omega = q[:, place.i + 3 : place.i + 7], v[:, place.j + 3 : place.j + 6]
        through = rotations.rotate_back(rotations.normalise(quaternion), v[:, place.j : place.j + 3] - load.wind)
        if load.law is not None:
            return u[:, k : k + 6], u[:, k + 6 : k + WIDTH].reshape(-1, 6, 9), through
        velocity = (through + np.cross(omega, place.station.offset)) @ place.axes
        state = np.concatenate([velocity - load.velocity, omega @ place.axes - load.angular_velocity], axis=1)
        slopes = np.block(
            [
                [load.force_by_velocity, load.force_by_angular_velocity, np.zeros((3, 3))],
                [load.torque_by_velocity, load.torque_by_angular_velocity, np.zeros((3, 3))],
            ]
        )
        value = np.concatenate([load.force, load.torque]) + state @ slopes[:, :6].T
        return u[:, k : k + 1] * value, u[:, k, None, None] * slopes, through

    def add_forces(self, u: Floats, q: Floats, v: Floats, elastic: float, rest: float, out: Floats) -> None:
        for place in self.places:
            value, _, _ = self._law(place, u, q, v)
            force, torque = value[:, :3] @ place.axes.T, value[:, 3:] @ place.axes.T
            i, j = place.i, place.j
            out[:, j : j + 3] -= rest * rotations.rotate(rotations.normalise(q[:, i + 3 : i + 7]), force)
            out[:, j + 3 : j + 6] -= rest * (torque + np.cross(place.station.offset, force))

    def records(self, frames: Any, batches: list[Batch]) -> dict[str, Floats]:
        """Force (inertial axes) and torque about its point (axes of the body or section) of every load."""
        block: dict[str, Floats] = {}
        for place in self.places:
            value, _, _ = self._law(place, frames.u, frames.q, frames.v)
            attitude = rotations.normalise(frames.q[:, place.i + 3 : place.i + 7])
            block[f"loads/{place.load.name}/force"] = rotations.rotate(attitude, value[:, :3] @ place.axes.T)
            block[f"loads/{place.load.name}/torque"] = value[:, 3:]
        return block

    def force_tangent(self, u: Floats, q: Floats, v: Floats, damping: Floats, stiffness: Floats) -> None:
        """Equation (10)."""
        for k, place in enumerate(self.places):
            value, slopes, through = (each[0] for each in self._law(place, u[None], q[None], v[None]))
            R = rotations.rotation_matrix(rotations.normalise(q[place.i + 3 : place.i + 7]))
            C, arm = place.axes, rotations.cross_matrix(place.station.offset)
            spread = np.block([[R @ C, np.zeros((3, 3))], [arm @ C, C]])
            by_v, by_q = np.zeros((2, 9, 6))
            by_v[:3, :3], by_v[:3, 3:], by_v[3:6, 3:] = C.T @ R.T, -C.T @ arm, C.T
            by_q[:3, 3:], by_q[6:, 3:] = C.T @ rotations.cross_matrix(through), C.T
            turned = spread @ slopes @ by_q
            turned[:3, 3:] -= R @ rotations.cross_matrix(C @ value[:3])
            scatter(-(spread @ slopes @ by_v), STARTS, SIZES, self.offset[k], self.stride[k], damping)
            scatter(-turned, STARTS, SIZES, self.offset[k], self.stride[k], stiffness)


def _input(load: Any, station: Station, layout: Layout) -> Input:
    label = f"loads.{load.name}.{'profile' if load.law is None else 'law'}"
    if load.law is None:
        return Input.of_profile(load.profile, label)

    def value(t: float, state: Any) -> Floats:
        q, v = state.arrays()
        _, quaternion, velocity, omega = (x[0] for x in station_motion(layout, station, q[None], v[None]))
        attitude = rotations.normalise(quaternion)
        found = load.law(t, rotations.rotate_back(attitude, velocity - load.wind), omega, attitude)
        if not isinstance(found, Airload):
            raise SolveError(f"{label}: got {found!r} at t = {t:.6g} s, wanted a femb.Airload")
        try:
            result: Floats = load.profile(t) * found.packed()
            return result
        except ValueError as error:
            raise SolveError(f"{label}: at t = {t:.6g} s: {error}") from error

    breakpoints = breakpoints_of(load.profile)
    return Input(WIDTH, value, of_state=True, breakpoints=breakpoints, label=label, differentiated=True)
