"""Derivatives of users' functions of the state: those that the functions return, or central differences if asked for.

Source: docs/theory/linearisation.md, section 4.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from femb.analysis.linear.outputs import output
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.layout.differentiated import Differentiated, WithoutDerivatives
from femb.layout.element import Input

if TYPE_CHECKING:
    from femb.analysis.linear.point import OperatingPoint
    from femb.system.system import System

# Of central differences: rad, m, and their rates; relative to larger ones.
STEP = 6e-6


@dataclass(frozen=True, eq=False)
class Feedback:
    """Derivatives (w, n_v) of the inputs of the System from ``first`` on, by the pose and by the velocities."""

    first: int
    by_pose: Floats
    by_velocity: Floats


def with_differences(system: "System") -> "System":
    """The same system, whose functions of the state without derivatives are linearised by central differences."""
    return system.with_inputs([replace(each, by_differences=True) if each.of_state else each for each in system.inputs])


def check_differentiable(system: "System", t: float, q: Floats, v: Floats) -> None:
    """Raises ModelError, by name, for loads and springs that are functions of the state without derivatives."""
    state = system.state(t, q, v)
    for each in system.inputs:
        if each.of_state and not each.by_differences and _unknown(each, each.function(t, state)):
            raise ModelError(
                f"{each.label}: is a function of the state whose derivatives are not known, so that it cannot be "
                "linearised; springs and motors may return (force, by length, by rate), loads a femb.Differentiated, "
                "and laws of aerodynamic loads and of drags return them; or ask for differences (--differences)"
            )


def feedback(point: "OperatingPoint") -> list[Feedback]:
    """The derivatives of all users' functions of the state that are not in the tangents of the elements."""
    system, found = point.system, []
    state = system.state(point.t, point.q, point.v) if system.inputs_of_state else None
    for each, part in system.parts_of_inputs:
        if not each.of_state:
            continue
        value = each.function(point.t, state)
        if isinstance(value, Differentiated):
            found.append(_returned(point, part.start, value, each.label))
        elif _unknown(each, value):
            found.append(_differences(point, part.start, each))
    return found


def _unknown(of: Input, value: object) -> bool:
    """Whether the derivatives of a value are not known."""
    return not isinstance(value, Differentiated) and (not of.differentiated or isinstance(value, WithoutDerivatives))


def _returned(point: "OperatingPoint", first: int, value: Differentiated, label: str) -> Feedback:
    by_pose, by_velocity = np.zeros((2, 3, point.system.n_v))
    for name, matrix in value.by.items():
        try:
            rows = output(point, None, name)
        except ModelError as error:
            raise ModelError(f"{label}: derivative by {error}") from error
        if np.any(rows.acceleration) or rows.multipliers is not None or rows.by_input is not None:
            raise ModelError(f"{label}: derivative by {name!r}: wanted positions, rotations, coordinates or rates")
        if matrix.shape[1] != len(rows.names):
            raise ModelError(
                f"{label}: derivative by {name!r}: got shape {matrix.shape}, wanted (3, {len(rows.names)})"
            )
        by_pose += matrix @ rows.pose
        by_velocity += matrix @ rows.velocity
    return Feedback(first, by_pose, by_velocity)


def _differences(point: "OperatingPoint", first: int, of: Input) -> Feedback:
    system, n = point.system, point.system.n_v

    def value(q: Floats, v: Floats) -> Floats:
        result = of.function(point.t, system.state(point.t, q, v))
        found = np.array(result, dtype=float)
        if isinstance(result, WithoutDerivatives):
            found[1:] = 0.0  # of a law: the places of its derivatives
        return found

    by_pose, by_velocity = np.zeros((2, of.width, n))
    for j in range(n):
        for by, base in ((by_pose, 0.0), (by_velocity, point.v[j])):
            step = np.zeros(n)
            step[j] = STEP * max(1.0, abs(base))
            ends = [
                value(system.retract(point.q, sign * step), point.v)
                if by is by_pose
                else value(point.q, point.v + sign * step)
                for sign in (1.0, -1.0)
            ]
            by[:, j] = (ends[0] - ends[1]) / (2.0 * step[j])
    return Feedback(first, by_pose, by_velocity)
