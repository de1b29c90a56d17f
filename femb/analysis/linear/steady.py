"""Steady motion: what it is, measured at a point in the problem's own forces, and verified by going on a little.

A motion is steady, in equilibrium or a relative equilibrium, if the speeds w of its independent coordinates do not
change, M w' = 0, and if nothing depends on where they lead: K w = 0 with the exact stiffness. A pendulum that passes
its lowest point has w' = 0 there, but K w is not zero.
Source: docs/theory/linearisation.md, section 6.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from femb.analysis.linear.balanced import ROUNDING, Balanced
from femb.analysis.linear.chart import Chart
from femb.analysis.linear.point import OperatingPoint
from femb.analysis.linear.second_order import SecondOrder, chart_of, second_order
from femb.base.errors import SolveError
from femb.base.types import Bools, Floats
from femb.layout.element import Input
from femb.system.system import System

NEAR = 1e-8  # rad, or parts of the structure's size: how near a steady state counts as one
UNBALANCED = 1e-9  # of the largest force: what may be left over
UNCHANGED = 1e-6  # of the largest speed: how much speeds may change on the way
WAY = 0.5  # rad, or parts of the structure's size, to go on for
GROWTH = 10.0  # of rounding, by an unstable motion, on the way


@dataclass(frozen=True, eq=False)
class Balance:
    """Forces of a point in its chart, with what they are sums of; P free coordinates, D driven ones.

    rates (P + D,) : of the speeds at the point, which the chart and the equations may be taken without.
    """

    point: OperatingPoint
    chart: Chart
    equations: SecondOrder
    rates: Floats

    @classmethod
    def of(cls, point: OperatingPoint) -> "Balance":
        """Of a point, in the chart that it is linearised in."""
        chart = chart_of(point)
        return cls(point, chart, second_order(point, chart), chart.rates)

    def made_steady(self) -> "Balance":
        """The same forces with the derivatives that they have where the speeds do not change, w' = 0.

        Forces of a free structure then change with its shape alone, and leave its place and attitude out.
        """
        P = self.chart.free
        a = self.point.a - self.chart.H[:, :P] @ self.rates[:P]
        point = replace(self.point, a=a)
        chart = chart_of(point)
        return Balance(point, chart, second_order(point, chart), self.rates)

    @cached_property
    def left(self) -> Floats:
        """(P,) M w': the generalized forces that nothing balances."""
        return self.equations.mass @ self.rates

    @cached_property
    def drift(self) -> Floats:
        """(P,) K w: how fast the forces change along the motion, at constant speeds."""
        return self.equations.stiffness @ self.chart.speeds

    @cached_property
    def stiffness_size(self) -> Floats:
        """(P, P + D): absolute values of what K is a sum of, and of the forces that turn with the coordinates."""
        chart, H = self.chart, np.abs(self.chart.H)
        mass, damping, stiffness = (abs(each) for each in (self.point.mass, *self.point.tangents))
        parts = mass @ np.abs(chart.alpha_p) + damping @ np.abs(chart.eta_p) + stiffness @ H
        whole: Floats = H[:, : chart.free].T @ parts + np.abs(chart.geometric_stiffness)
        # forces are known to a rounding of the largest, and of those that a displacement by its rounding would make
        force = max(self.largest_force, float(np.max(whole, initial=0.0)) / 16.0)
        turned = [force * self.extent(unit, internal=False) for unit in np.eye(H.shape[1])]
        return whole + turned

    @cached_property
    def depends(self) -> Bools:
        """(P, P + D) bool: where K is more than rounding."""
        return np.abs(self.equations.stiffness) > ROUNDING * self.stiffness_size

    @cached_property
    def stiffness(self) -> Balanced:
        """K of the free coordinates, to be solved."""
        P = self.chart.free
        return Balanced(self.equations.stiffness[:, :P], self.stiffness_size[:, :P])

    @cached_property
    def largest_force(self) -> float:
        """Of all generalized forces, those of inertia among them."""
        point, system, free = self.point, self.point.system, np.abs(self.chart.H[:, : self.chart.free])
        sizes = np.abs(point.mass @ point.a)
        for batch in system.batches:
            out = np.zeros((1, system.n_v))
            batch.residual(point.u[None], point.q[None], point.v[None], np.zeros((1, system.n_v)), out)
            sizes = np.maximum(sizes, np.abs(out[0]))
        return float(np.max(free.T @ sizes, initial=0.0))

    @cached_property
    def size(self) -> float:
        """Of the structure, m: the greatest distance between frames along an inertial axis; 1 if there is but one."""
        layout, q = self.point.system.layout, self.point.q
        places = [
            q[i : i + 3] if frame.freedom else frame.position
            for i, frame in zip(layout.frame_q, layout.frames, strict=True)
        ]
        size = float(np.max(np.ptp(np.array(places), axis=0)))
        return size if size > 0.0 else 1.0

    def extent(self, change: Floats, internal: bool = True) -> float:
        """The largest turn (rad), displacement (parts of the structure's size) and internal coordinate of a change."""
        layout = self.point.system.layout
        moved = np.abs(self.chart.H[:, : len(change)] @ change)
        for frame, j in zip(layout.frames, layout.frame_v, strict=True):
            if frame.freedom:
                moved[j : j + 3] /= self.size
        if not internal:
            moved[layout.internal_v] = 0.0
        return float(np.max(moved, initial=0.0))

    def rounding_of(self, change: Floats) -> Floats:
        """(P,) the rounding of K times a change."""
        out: Floats = ROUNDING * (self.stiffness_size[:, : len(change)] @ np.abs(change))
        return out

    def drifts(self) -> bool:
        """Whether forces change along the motion, on a radian or the structure's size, by more than rounding."""
        speeds = self.chart.speeds
        allowed = UNBALANCED * self.largest_force * self.extent(speeds, internal=False) + self.rounding_of(speeds)
        return bool(np.any(np.abs(self.drift) > allowed))

    def unbalanced(self, left: Floats) -> bool:
        """Whether generalized forces (P,) are more than rounding of the forces there are."""
        places = np.where(np.any(self.stiffness_size != 0.0, axis=0), max(1.0, self.size), 0.0)
        rounding = float(np.max(self.rounding_of(places), initial=0.0))
        return float(np.max(np.abs(left), initial=0.0)) > UNBALANCED * self.largest_force + rounding


def moves(balance: Balance) -> bool:
    """Whether a coordinate has a speed, its own or a driver's."""
    return bool(np.any(np.abs(balance.chart.speeds) > 0.0)) and not balance.point.at_rest


def why_unsteady(point: OperatingPoint, balance: Balance | None = None) -> str:
    """Why a motion is not steady, in words; empty where it is: nothing accelerates, now and on the way."""
    balance = Balance.of(point) if balance is None else balance
    chart = balance.chart
    k = int(np.argmax(np.abs(balance.rates))) if len(balance.rates) else 0
    names = (*chart.names, *chart.driven)
    changes = f"{names[k]} changes its speed by {balance.rates[k]:.3g} per s2" if len(names) else ""
    if np.any(balance.rates[chart.free :]):
        return changes
    if balance.unbalanced(balance.left):
        # by less than a displacement that does not matter, or by more
        step = balance.stiffness.solve(balance.left)
        left = balance.left - balance.equations.stiffness[:, : chart.free] @ step
        if balance.extent(step) > NEAR or balance.unbalanced(left):
            return changes
    return why_passing(balance) if moves(balance) else ""


def why_passing(balance: Balance) -> str:
    """Why a motion without accelerations does not stay so, in words; empty where it does.

    It goes on with its loads as they are, for half a radian or half the structure's size.
    """
    chart = balance.chart
    speed = balance.extent(chart.speeds, internal=False)
    if speed == 0.0:
        return ""
    if balance.drifts():
        return f"{fastest(balance)}, and the forces change on the way"
    try:
        after = _gone_on(balance, WAY / speed)
    except SolveError as error:
        return f"it cannot be followed: {error}"
    change = after - chart.speeds[: chart.free]
    if balance.extent(change, internal=False) <= UNCHANGED * speed:
        return ""
    k = int(np.argmax(np.abs(change)))
    return f"{fastest(balance)}, and {chart.names[k]} changes its speed by {change[k]:.3g} per s on the way"


def fastest(balance: Balance) -> str:
    """The coordinate that moves most, with its speed."""
    chart = balance.chart
    names = (*chart.names, *chart.driven)
    sizes = [balance.extent(chart.speeds * (np.arange(len(names)) == k), internal=False) for k in range(len(names))]
    k = int(np.argmax(sizes))
    return f"{names[k]} moves at {chart.speeds[k]:.4g} per s"


def _gone_on(balance: Balance, time: float) -> Floats:
    """The free speeds (P,) after a time, shortened where an unstable motion would let rounding grow."""
    from femb.analysis.time_loop import RunSummary, integrate
    from femb.base.options import Run, Tolerances
    from femb.steppers import make_stepper

    point, equations, P = balance.point, balance.equations, balance.chart.free
    blocks = np.hstack([-equations.stiffness[:, :P], -equations.damping[:, :P]])
    A = np.vstack([np.hstack([balance.chart.E[:P, :P], np.eye(P)]), np.linalg.solve(equations.mass[:, :P], blocks)])
    growth = float(np.max(np.linalg.eigvals(A).real, initial=0.0))
    time = min(time, np.log(GROWTH) / growth) if growth > 0.0 else time
    tolerance = Tolerances(position=1e-9 * balance.size, quaternion=1e-9, strain=1e-10, time=time)
    run = Run(duration=time, rtol=1e-9, atol=tolerance)
    system = _with_steady_loads(point).starting_at(point.q, point.v)
    frames = list(integrate(system, make_stepper(system, run), np.array([0.0, time]), RunSummary([])))
    return balance.chart.speeds_at(frames[-1].q[-1], frames[-1].v[-1])


def _with_steady_loads(point: OperatingPoint) -> System:
    """The system of a point with its loads as they are at that time; drivers go on."""
    t, held = point.t, {id(input_) for input_ in point.system.constraint_set.inputs}

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
        elif id(input_) in held:
            inputs.append(
                replace(input_, function=later(input_.function), breakpoints=tuple(b - t for b in input_.breakpoints))
            )
        else:
            inputs.append(replace(input_, function=now(input_.function, input_.of_state), breakpoints=()))
    return point.system.with_inputs(inputs)
