"""Linear laws of controllers, and realisations of the usual filters: u = C x + D y with a state x.

    x' = A x + B y                         of a continuous law
    x[k+1] = A x[k] + B y[k]               of a sampled one

Source: docs/theory/control_loop.md, section 2; Astrom and Wittenmark, Computer-Controlled Systems, 1997.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isfinite, tan
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Complexes, Floats
from femb.base.values import finite_problem, names_of, number_problem, shown


class Realisation(NamedTuple):
    """A (n, n), B (n, m), C (p, n), D (p, m) of a linear law with m inputs and p outputs."""

    A: Floats
    B: Floats
    C: Floats
    D: Floats

    def transfer(self, s: complex) -> Complexes:
        """(p, m) complex: D + C (s - A)^-1 B; s is in 1/s of a continuous law, and z of a sampled one."""
        states = np.linalg.solve(s * np.eye(len(self.A)) - self.A, self.B.astype(complex))
        return np.asarray(self.D + self.C @ states, dtype=np.complex128)

    def tustin(self, period: float, exact_at: float = 0.0) -> "Realisation":
        """The sampled law of a continuous one by Tustin's rule, s = k (z - 1)/(z + 1).

        period : s. exact_at : the angular frequency, rad/s and below pi/period, at which both have the same transfer
        function; at 0 the rule is the usual one, k = 2/period. Raises ModelError: other frequencies, a pole at k.
        """
        _check_positive("tustin: period", period)
        if number_problem(exact_at) or not 0.0 <= exact_at < np.pi / period:
            raise ModelError(
                f"tustin: exact_at: got {shown(exact_at)}, wanted from 0 to below {np.pi / period:.6g} rad/s"
            )
        k = exact_at / tan(0.5 * exact_at * period) if exact_at else 2.0 / period
        left = k * np.eye(len(self.A)) - self.A
        if np.linalg.matrix_rank(left) < len(left):
            raise ModelError(f"tustin: the law has a pole at {k:.6g} 1/s, which the rule sends to infinity")
        X = np.linalg.inv(left)
        root = np.sqrt(2.0 * k)
        return Realisation(
            X @ (k * np.eye(len(self.A)) + self.A), root * X @ self.B, root * self.C @ X, self.D + self.C @ X @ self.B
        )

    def on_each(self, count: int) -> "Realisation":
        """The law on each of ``count`` groups of inputs alone, one after the other."""
        return Realisation(*(np.asarray(np.kron(np.eye(count), part), dtype=float) for part in self))

    def on_one(self, place: int, count: int) -> "Realisation":
        """The law, of one input and output, on one of ``count`` numbers, of which the others stay."""
        one, D = np.eye(count)[:, [place]], np.eye(count)
        D[place, place] = self.D.item()
        return Realisation(self.A, self.B @ one.T, one @ self.C, D)

    def then(self, other: "Realisation") -> "Realisation":
        """The other law on what this one gives."""
        A = np.block([[self.A, np.zeros((len(self.A), len(other.A)))], [other.B @ self.C, other.A]])
        B, C = np.vstack([self.B, other.B @ self.D]), np.hstack([other.D @ self.C, other.C])
        return Realisation(A, B, C, other.D @ self.D)


def low_pass(frequency: float, damping: float = 0.5 * 2.0**0.5) -> Realisation:
    """The low-pass filter of second order w^2/(s^2 + 2 z w s + w^2); frequency w, rad/s, damping ratio z."""
    w = _check_positive("low-pass: frequency", frequency)
    z = _check_positive("low-pass: damping", damping)
    return _single([[0.0, 1.0], [-w * w, -2.0 * z * w]], [0.0, w * w], [1.0, 0.0], 0.0)


def notch(frequency: float, damping: float, depth: float = 0.0) -> Realisation:
    """The notch (s^2 + 2 z d w s + w^2)/(s^2 + 2 z w s + w^2); frequency w, rad/s, damping ratio z, gain d at w."""
    w = _check_positive("notch: frequency", frequency)
    z = _check_positive("notch: damping", damping)
    if number_problem(depth) or depth < 0.0:
        raise ModelError(f"notch: depth: got {shown(depth)}, wanted the gain at its frequency, 0 or more")
    return _single([[0.0, 1.0], [-w * w, -2.0 * z * w]], [0.0, 1.0], [0.0, 2.0 * z * w * (depth - 1.0)], 1.0)


def lead_lag(zero: float, pole: float) -> Realisation:
    """The filter (1 + s/a)/(1 + s/p) of zero a and pole p, rad/s; a lag of first order where a is infinite."""
    p = _check_positive("lead-lag: pole", pole)
    a = zero if zero == inf else _check_positive("lead-lag: zero", zero)
    return _single([[-p]], [p], [1.0 - p / a], p / a)


@dataclass(frozen=True, eq=False)
class LinearLaw:
    """The linear law of a controller: its changes u (p,) of commands by changes y (m,) of what it reads.

    name : of the controller. A (n, n), B (n, m), C (p, n), D (p, m). inputs : for each component of y the name of an
    output of the linear plant, as "bodies.hub.turn.x" or "wheels.w1.speed". outputs : for each component of u the name
    of an input of the plant, as "wheels.w1.torque".

    period, phase : s; samples are at phase + k period; period None is a continuous law, without phase and delay. delay
    : s from the sample to the instant at which its command acts. units : SI, of inputs and outputs by name, where
    known.

    allocation (p, c), channels (c,) : where u = allocation tau, of torques tau to wheels, the names of these c numbers;
    margins are those of a loop that is opened at one of them. By default they are the outputs one by one.

    An output may also be the name of an input of other laws, which read its last value: that of a filter or a sensor.
    start_state (n, m), start_value (p, m) : by what it reads at the start, its state there, and the value of outputs
    that only other laws read until the first arrives, as with sensors; both are zero by default.

    Raises ModelError: shapes and names that do not agree, numbers that are not finite, a period that is not above zero.
    """

    name: str
    A: Floats
    B: Floats
    C: Floats
    D: Floats
    period: float | None = None
    phase: float = 0.0
    delay: float = 0.0
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    allocation: Floats | None = None
    channels: tuple[str, ...] = ()
    start_state: Floats | None = None
    start_value: Floats | None = None

    def __post_init__(self) -> None:
        what = f"controllers.{self.name}"
        for word in ("inputs", "outputs", "channels"):
            object.__setattr__(self, word, names_of(f"{what}: {word}", getattr(self, word)))
        if len(set(self.outputs)) < len(self.outputs):
            double = next(name for name in self.outputs if self.outputs.count(name) > 1)
            raise ModelError(f"{what}: outputs: {double!r} is there twice")
        n, m, p = len(np.atleast_1d(self.A)), len(self.inputs), len(self.outputs)
        for word, shape in (("A", (n, n)), ("B", (n, m)), ("C", (p, n)), ("D", (p, m))):
            matrix = _matrix(f"{what}: {word}", getattr(self, word), shape)
            object.__setattr__(self, word, matrix)
        state = np.zeros((n, m)) if self.start_state is None else self.start_state
        value = np.zeros((p, m)) if self.start_value is None else self.start_value
        object.__setattr__(self, "start_state", _matrix(f"{what}: start_state", state, (n, m)))
        object.__setattr__(self, "start_value", _matrix(f"{what}: start_value", value, (p, m)))
        if self.allocation is not None:
            matrix = _matrix(f"{what}: allocation", self.allocation, (p, len(self.channels)))
            if np.linalg.matrix_rank(matrix) < len(self.channels):
                raise ModelError(f"{what}: allocation: its columns, one for each channel, depend on each other")
            object.__setattr__(self, "allocation", matrix)
        elif self.channels:
            raise ModelError(f"{what}: channels: are the columns of an allocation: give it, too")
        if self.period is None:
            if self.phase or self.delay:
                raise ModelError(f"{what}: phase and delay are of samples: give a period, or leave them out")
            return
        _check_positive(f"{what}: period", self.period)
        for word in ("phase", "delay"):
            value = getattr(self, word)
            if number_problem(value) or value < 0.0:
                raise ModelError(f"{what}: {word}: got {shown(value)}, wanted seconds, 0 or more")

    @property
    def realisation(self) -> Realisation:
        """A, B, C, D."""
        return Realisation(self.A, self.B, self.C, self.D)

    @cached_property
    def openings(self) -> dict[str, tuple[Floats, Floats]]:
        """Directions d (p,) and l (p,) of each channel, by name, with l.d = 1: the signal l.u acts by d, and u is the
        sum of these.
        """
        allocation = np.eye(len(self.outputs)) if self.allocation is None else self.allocation
        names = self.outputs if self.allocation is None else self.channels
        return dict(zip(names, zip(allocation.T, np.linalg.pinv(allocation), strict=True), strict=True))

    @property
    def states(self) -> tuple[str, ...]:
        """(n,) names of the states, for linear models."""
        return tuple(f"controllers.{self.name}.state {k + 1}" for k in range(len(self.A)))


def _single(A: ArrayLike, B: ArrayLike, C: ArrayLike, D: float) -> Realisation:
    """One input and one output."""
    a, b, c = (np.asarray(part, dtype=float) for part in (A, B, C))
    return Realisation(a, b[:, None], c[None], np.array([[D]]))


def _matrix(what: str, value: ArrayLike, shape: tuple[int, int]) -> Floats:
    try:
        matrix = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what}: got {shown(value)}, wanted numbers {shape}") from None
    if matrix.size == 0 and 0 in shape:
        matrix = matrix.reshape(shape)
    if matrix.shape != shape:
        raise ModelError(
            f"{what}: got shape {matrix.shape}, wanted {shape}, by the numbers of states, inputs and outputs"
        )
    problem = finite_problem(value, matrix)
    if problem:
        raise ModelError(f"{what}: {problem}")
    matrix.flags.writeable = False
    return matrix


def _check_positive(what: str, value: float) -> float:
    if number_problem(value) or not isfinite(value) or value <= 0.0:
        raise ModelError(f"{what}: got {shown(value)}, wanted a number above 0")
    return value
