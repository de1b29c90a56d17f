"""Steady motion: conditions at a point, relative to the forces of the problem, and a check by integration.

A motion is steady (equilibrium or relative equilibrium) if the speeds w of its independent coordinates are constant,
M w' = 0, and remain so along the motion: K w = 0 with the exact stiffness K. A pendulum at its lowest point has w' = 0,
but K w is not zero.
Source: docs/theory/linearisation.md, section 6.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from femb.analysis.linear.balanced import ROUNDING, ScaledLeastSquares
from femb.analysis.linear.chart import Chart
from femb.analysis.linear.point import OperatingPoint
from femb.analysis.linear.second_order import SecondOrder, chart_of, second_order
from femb.base.errors import SolveError
from femb.base.types import Bools, Floats
from femb.layout.element import Input
from femb.system.system import System

NEAR = 1e-8  # rad, or relative to the structure's size: largest distance from a steady state
UNBALANCED = 1e-9  # relative to the largest force: tolerance of unbalanced forces
UNCHANGED = 1e-6  # relative to the largest speed: tolerance of constant speeds in the check by integration
WAY = 0.5  # rad, or relative to the structure's size: length of the motion in this check
GROWTH = 10.0  # largest growth of rounding errors in this check, by an unstable motion


@dataclass(frozen=True, eq=False)
class Balance:
    """Generalized forces at a point in its chart, and the sizes of their terms; P free coordinates, D driven ones.

    rates (P + D,) : of the speeds at the point; the chart and the equations may be those of zero rates.
    """

    point: OperatingPoint
    chart: Chart
    equations: SecondOrder
    rates: Floats

    @classmethod
    def of(cls, point: OperatingPoint) -> "Balance":
        """The balance at a point, in the chart of its linearisation."""
        chart = chart_of(point)
        return cls(point, chart, second_order(point, chart), chart.rates)

    def with_constant_speeds(self) -> "Balance":
        """The same forces, with their derivatives at constant speeds, w' = 0.

        The forces of a free structure then depend on its deformation alone, not on its position and attitude.
        """
        P = self.chart.free
        a = self.point.a - self.chart.H[:, :P] @ self.rates[:P]
        point = replace(self.point, a=a)
        chart = chart_of(point)
        return Balance(point, chart, second_order(point, chart), self.rates)

    @cached_property
    def imbalance(self) -> Floats:
        """(P,) M w': the unbalanced generalized forces."""
        return self.equations.mass @ self.rates

    @cached_property
    def drift(self) -> Floats:
        """(P,) K w: the rate of the forces along the motion, at constant speeds."""
        return self.equations.stiffness @ self.chart.speeds

    @cached_property
    def stiffness_size(self) -> Floats:
        """(P, P + D): sums of the absolute values of the terms of K, and of the forces that rotate with coordinates."""
        chart, H = self.chart, np.abs(self.chart.H)
        mass, damping, stiffness = (abs(matrix) for matrix in (self.point.mass, *self.point.tangents))
        parts = mass @ np.abs(chart.alpha_p) + damping @ np.abs(chart.eta_p) + stiffness @ H
        size: Floats = H[:, : chart.free].T @ parts + np.abs(chart.geometric_stiffness)
        # rounding of forces: that of the largest one, and the force of a displacement by its own rounding
        force = max(self.largest_force, float(np.max(size, initial=0.0)) / 16.0)
        rotated = [force * self.extent(unit, internal=False) for unit in np.eye(H.shape[1])]
        return size + rotated

    @cached_property
    def nonzero_stiffness(self) -> Bools:
        """(P, P + D) bool: entries of K above rounding."""
        return np.abs(self.equations.stiffness) > ROUNDING * self.stiffness_size

    @cached_property
    def stiffness(self) -> ScaledLeastSquares:
        """K of the free coordinates, for solution."""
        P = self.chart.free
        return ScaledLeastSquares(self.equations.stiffness[:, :P], self.stiffness_size[:, :P])

    @cached_property
    def largest_force(self) -> float:
        """The largest generalized force, inertia forces included."""
        point, system, free = self.point, self.point.system, np.abs(self.chart.H[:, : self.chart.free])
        sizes = np.abs(point.mass @ point.a)
        for batch in system.batches:
            out = np.zeros((1, system.n_v))
            batch.residual(point.u[None], point.q[None], point.v[None], np.zeros((1, system.n_v)), out)
            sizes = np.maximum(sizes, np.abs(out[0]))
        return float(np.max(free.T @ sizes, initial=0.0))

    @cached_property
    def size(self) -> float:
        """Size of the structure, m: the largest distance between frames along an inertial axis; 1 for one frame."""
        layout, q = self.point.system.layout, self.point.q
        positions = [
            q[i : i + 3] if frame.freedom else frame.position
            for i, frame in zip(layout.frame_q, layout.frames, strict=True)
        ]
        size = float(np.max(np.ptp(np.array(positions), axis=0)))
        return size if size > 0.0 else 1.0

    def extent(self, change: Floats, internal: bool = True) -> float:
        """The largest rotation (rad), displacement (relative to the structure's size) and, with ``internal``, internal
        coordinate of a change of the coordinates."""
        layout = self.point.system.layout
        pose = np.abs(self.chart.H[:, : len(change)] @ change)
        for frame, j in zip(layout.frames, layout.frame_v, strict=True):
            if frame.freedom:
                pose[j : j + 3] /= self.size
        if not internal:
            pose[layout.internal_v] = 0.0
        return float(np.max(pose, initial=0.0))

    def rounding_of(self, change: Floats) -> Floats:
        """(P,) the rounding error of K times a change."""
        out: Floats = ROUNDING * (self.stiffness_size[:, : len(change)] @ np.abs(change))
        return out

    def drifts(self) -> bool:
        """Whether forces change by more than rounding along the motion, over a radian or the structure's size."""
        speeds = self.chart.speeds
        allowed = UNBALANCED * self.largest_force * self.extent(speeds, internal=False) + self.rounding_of(speeds)
        return bool(np.any(np.abs(self.drift) > allowed))

    def unbalanced(self, force: Floats) -> bool:
        """Whether generalized forces (P,) are above the rounding of all forces."""
        positions = np.where(np.any(self.stiffness_size != 0.0, axis=0), max(1.0, self.size), 0.0)
        rounding = float(np.max(self.rounding_of(positions), initial=0.0))
        return float(np.max(np.abs(force), initial=0.0)) > UNBALANCED * self.largest_force + rounding


def moves(balance: Balance) -> bool:
    """Whether a free or driven coordinate has a speed."""
    return bool(np.any(np.abs(balance.chart.speeds) > 0.0)) and not balance.point.at_rest


def why_unsteady(point: OperatingPoint, balance: Balance | None = None) -> str:
    """The reason, as text, why a motion is not steady; empty for a steady motion."""
    balance = Balance.of(point) if balance is None else balance
    chart = balance.chart
    k = int(np.argmax(np.abs(balance.rates))) if len(balance.rates) else 0
    names = (*chart.names, *chart.driven)
    changes = f"{names[k]} changes its speed by {balance.rates[k]:.3g} per s2" if len(names) else ""
    if np.any(balance.rates[chart.free :]):
        return changes
    if balance.unbalanced(balance.imbalance):
        # steady nevertheless, if a negligible displacement balances the forces
        step = balance.stiffness.solve(balance.imbalance)
        remaining = balance.imbalance - balance.equations.stiffness[:, : chart.free] @ step
        if balance.extent(step) > NEAR or balance.unbalanced(remaining):
            return changes
    return why_passing(balance) if moves(balance) else ""


def why_passing(balance: Balance) -> str:
    """The reason, as text, why a motion without accelerations does not remain steady; empty if it does.

    The motion is integrated at constant loads, for half a radian or half the structure's size.
    """
    chart = balance.chart
    speed = balance.extent(chart.speeds, internal=False)
    if speed == 0.0:
        return ""
    if balance.drifts():
        return f"{fastest(balance)}, and the forces change on the way"
    try:
        after = _speeds_after(balance, WAY / speed)
    except SolveError as error:
        return f"it cannot be followed: {error}"
    change = after - chart.speeds[: chart.free]
    if balance.extent(change, internal=False) <= UNCHANGED * speed:
        return ""
    k = int(np.argmax(np.abs(change)))
    return f"{fastest(balance)}, and {chart.names[k]} changes its speed by {change[k]:.3g} per s on the way"


def fastest(balance: Balance) -> str:
    """The coordinate with the largest motion, and its speed, as text."""
    chart = balance.chart
    names = (*chart.names, *chart.driven)
    sizes = [balance.extent(chart.speeds * (np.arange(len(names)) == k), internal=False) for k in range(len(names))]
    k = int(np.argmax(sizes))
    return f"{names[k]} moves at {chart.speeds[k]:.4g} per s"


def _speeds_after(balance: Balance, time: float) -> Floats:
    """The free speeds (P,) after a time (s), a shorter one where an unstable motion amplifies rounding errors."""
    from femb.analysis.time_loop import RunSummary, integrate
    from femb.base.options import Run, Tolerances
    from femb.results.instants import evaluated
    from femb.steppers import make_stepper

    point, equations, P = balance.point, balance.equations, balance.chart.free
    blocks = np.hstack([-equations.stiffness[:, :P], -equations.damping[:, :P]])
    A = np.vstack([np.hstack([balance.chart.E[:P, :P], np.eye(P)]), np.linalg.solve(equations.mass[:, :P], blocks)])
    growth = float(np.max(np.linalg.eigvals(A).real, initial=0.0))
    time = min(time, np.log(GROWTH) / growth) if growth > 0.0 else time
    tolerance = Tolerances(position=1e-9 * balance.size, quaternion=1e-9, strain=1e-10, time=time)
    run = Run(duration=time, rtol=1e-9, atol=tolerance)
    system = _with_steady_loads(point).starting_at(point.q, point.v)
    frames = evaluated(list(integrate(system, make_stepper(system, run), np.array([0.0, time]), RunSummary([]))))
    return balance.chart.speeds_at(frames.q[-1], frames.v[-1])


def _with_steady_loads(point: OperatingPoint) -> System:
    """The system of a point with its loads constant from that time on; drivers continue."""
    t, of_drivers = point.t, {id(input_) for input_ in point.system.constraint_set.inputs}

    def later(function: Callable[[float], object]) -> Callable[[float], object]:
        return lambda s: function(t + s)

    def now(function: Callable[..., object], of_state: bool) -> Callable[..., object]:
        if of_state:
            return lambda s, state: function(t, state)
        value = function(t)
        return lambda s: value

    inputs: list[Input] = []
    for input_ in point.system.inputs:
        if input_.of_discrete:
            inputs.append(input_)
        elif id(input_) in of_drivers:
            inputs.append(
                replace(input_, function=later(input_.function), breakpoints=tuple(b - t for b in input_.breakpoints))
            )
        else:
            inputs.append(replace(input_, function=now(input_.function, input_.of_state), breakpoints=()))
    return point.system.with_inputs(inputs)
