"""What acts on a tree: loads, potentials, generalized forces, and hinges moved as functions of time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Vector


@dataclass(frozen=True)
class Load:
    """A force (N) and a torque (N m) on a body (the base too) at a point of its frame (m).

    Components are inertial; with ``follower`` they are the body's and turn with it. factor: a number or a function of
    time multiplying both.
    """

    body: str
    force: Vector = (0.0, 0.0, 0.0)
    torque: Vector = (0.0, 0.0, 0.0)
    at: Vector = (0.0, 0.0, 0.0)
    follower: bool = False
    factor: float | Callable[[float], float] = 1.0


class Potential(Protocol):
    """Energy (J) of the coordinates q (n,), and its gradient (n,); for linearisation also ``hessian(q)`` (n, n)."""

    def value(self, q: Floats) -> float: ...

    def gradient(self, q: Floats) -> Floats: ...


@dataclass(frozen=True)
class Quadratic:
    """1/2 (q - rest).K (q - rest): springs that couple hinges, such as a bent beam cut into segments."""

    stiffness: Floats
    rest: Floats | float = 0.0

    def __post_init__(self) -> None:
        K = np.asarray(self.stiffness, dtype=float)
        if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.allclose(K, K.T, rtol=1e-9, atol=0.0):
            raise ModelError(
                f"stiffness of a potential: got an array of shape {K.shape}, wanted a symmetric matrix (n, n)"
            )

    def value(self, q: Floats) -> float:
        x = q - self.rest
        return float(0.5 * x @ self.stiffness @ x)

    def gradient(self, q: Floats) -> Floats:
        return self.stiffness @ (q - self.rest)

    def hessian(self, q: Floats) -> Floats:
        return np.asarray(self.stiffness)


@dataclass(frozen=True)
class Functions:
    """A potential of functions of q (n,); the gradient is trusted, and energy drifts if it is not one.

    hessian (n, n) is needed for linearisation only.
    """

    value: Callable[[Floats], float]
    gradient: Callable[[Floats], Floats]
    hessian: Callable[[Floats], Floats] | None = None


GeneralizedForce = Callable[[float, Floats, Floats], Any]
"""Q (n,) of time, coordinates and hinge rates (n,): motors and controls, which do work."""


@dataclass(frozen=True)
class Drive:
    """A hinge moved at a rate (rad/s or m/s) that is a number or a function of time; as it stands, a latched hinge.

    acceleration : derivative of the rate, needed for accelerations and for the drive's torque.
    """

    coordinate: str
    rate: float | Callable[[float], float] = 0.0
    acceleration: float | Callable[[float], float] = 0.0


def at_time(value: float | Callable[[float], float], t: float) -> float:
    """A number, or a function's value."""
    return float(value(t)) if callable(value) else float(value)
