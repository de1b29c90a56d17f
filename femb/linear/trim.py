"""Trim: a state of steady motion near the start, in equilibrium or in steady rotation of bodies and joints.

    w'(p, w) = 0,    K w = 0,    p and w of independent coordinates in axes that move with the bodies

Newton's iteration with the exact stiffness K at the accelerations of each state (femb.linear.second_order).
Coordinates on which no force depends, such as the azimuth of a free rotor, keep their speeds, and change little since
each step is the shortest. The others come to rest: a motion along which forces change is not steady. A coordinate that
revolves is not oscillating about the equilibrium, and is refused.
Source: docs/theory/linearisation.md, section 6.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.types import Bools, Floats, Ints
from femb.case import Given
from femb.elements.environment.orbital_frame import TYPED, orbit_of, turn_of
from femb.layout.element import Input
from femb.linear.chart import Chart
from femb.linear.scaled_least_squares import ROUNDING, ScaledLeastSquares
from femb.linear.second_order import SecondOrder, chart_of, second_order
from femb.numerics.newton import Iteration, largest, newton
from femb.small_motions import steady
from femb.small_motions.point import OperatingPoint
from femb.system.rigid_motion import RigidMotion, rigid_motions
from femb.system.system import System
from femb.vibration.completion import mean_system_of

# Steady motion: conditions at a point, relative to the forces of the problem, and a check by integration.
#
# A motion is steady (equilibrium or relative equilibrium) if the speeds w of its independent coordinates are constant,
# M w' = 0, and remain so along the motion: K w = 0 with the exact stiffness K. A pendulum at its lowest point has
# w' = 0, but K w is not zero. On a circular orbit gravity turns with the frame of the orbit, and speeds count relative
# to it: K (w - w_o) = 0.
# Source: docs/theory/linearisation.md, section 6.

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
        """The forces, with their derivatives at constant speeds, w' = 0.

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
        force = self.equations.mass @ self.rates
        for T, motion in self._falls:
            # a mass centre at rest or in motion beside the orbit falls by the tide, of at most 2 n^2 a distance
            n, place = np.linalg.norm(self.turn[0]), self.point.system.layout.origin + motion.centre(self.point.q)
            speed, distance = np.linalg.norm(motion.velocity), np.linalg.norm(place) + TYPED * self.size
            if np.linalg.norm(T.T @ force) > motion.mass * n * (2.0 * n * distance + speed) * (1.0 + TYPED):
                return force
        return self._without_fall(force)

    @cached_property
    def _falls(self) -> list[tuple[Floats, RigidMotion]]:
        """Translations (P, 3) of free structures in orbit, whose mass centres fall freely, and their rigid motions."""
        if not self.turn[0].any():
            return []
        point, speeds_at = self.point, self.chart.speeds_at
        whole = point.system.rigid_velocities(point.q)[:3]
        motions = [each for each in rigid_motions(point.system.starting_at(point.q, point.v)) if each.free]
        return [(np.array([speeds_at(point.q, each.mask * part) for part in whole]).T, each) for each in motions]

    def _without_fall(self, force: Floats) -> Floats:
        """Generalized forces (P,) without the net ones of structures in orbit that fall freely."""
        for T, _ in self._falls:
            by_mass = self.equations.mass[:, : self.chart.free] @ T
            force = force - by_mass @ np.linalg.solve(T.T @ by_mass, T.T @ force)
        return force

    @cached_property
    def turn(self) -> tuple[Floats, bool]:
        """Angular velocity (3,) of the frame of the orbit, inertial axes, and whether this is circular; zero without
        an orbit."""
        return turn_of(self.point.system.model, self.point.t)

    @cached_property
    def orbital(self) -> Floats:
        """(P + D,) speeds of a structure that turns with the frame of the orbit."""
        speeds, system, (omega, _) = np.zeros(len(self.chart.speeds)), self.point.system, self.turn
        if omega.any():
            turns = np.concatenate([np.cross(omega, system.layout.origin), omega])
            v = turns @ system.rigid_velocities(self.point.q)
            speeds[: self.chart.free] = self.chart.speeds_at(self.point.q, v)
        return speeds

    @cached_property
    def relative(self) -> Floats:
        """(P + D,) speeds relative to the frame of the orbit, without the rounding of typed numbers."""
        if not self.turn[0].any():
            return self.chart.speeds
        extents = self.extents(np.eye(len(self.orbital)))
        relative = self.chart.speeds - self.orbital
        return np.where(np.abs(relative) * extents <= TYPED * float(np.linalg.norm(self.turn[0])), 0.0, relative)

    @cached_property
    def drift(self) -> Floats:
        """(P,) K (w - w_o): the rate of the forces along the motion, at constant speeds."""
        return self._without_fall(self.equations.stiffness @ self.relative)

    @cached_property
    def stiffness_size(self) -> Floats:
        """(P, P + D): sums of the absolute values of the terms of K, and of the forces that rotate with coordinates."""
        chart, H = self.chart, np.abs(self.chart.H)
        mass, damping, stiffness = (abs(matrix) for matrix in (self.point.mass, *self.point.tangents))
        parts = mass @ np.abs(chart.alpha_p) + damping @ np.abs(chart.eta_p) + stiffness @ H
        size: Floats = H[:, : chart.free].T @ parts + np.abs(chart.geometric_stiffness)
        # rounding of forces: that of the largest one, and the force of a displacement by its own rounding
        force = max(self.largest_force, float(np.max(size, initial=0.0)) / 16.0)
        return size + force * self.extents(np.eye(H.shape[1]), internal=False)

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
        state = point.u[None], point.q[None], point.v[None], np.zeros((1, system.n_v))
        for batch in system.batches:
            sizes = np.maximum(sizes, np.abs(system.evaluation.of([batch]).residual(*state)[0]))
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
        return float(self.extents(change[:, None], internal)[0])

    def extents(self, changes: Floats, internal: bool = True) -> Floats:
        """(k,) ``extent`` of changes (P, k)."""
        layout = self.point.system.layout
        poses = np.abs(self.chart.H[:, : len(changes)] @ changes)
        for frame, j in zip(layout.frames, layout.frame_v, strict=True):
            if frame.freedom:
                poses[j : j + 3] /= self.size
        if not internal:
            poses[layout.internal_v] = 0.0
        return np.asarray(np.max(poses, axis=0, initial=0.0))

    def rounding_of(self, change: Floats) -> Floats:
        """(P,) the rounding error of K times a change."""
        out: Floats = ROUNDING * (self.stiffness_size[:, : len(change)] @ np.abs(change))
        return out

    def drifts(self) -> bool:
        """Whether forces change by more than rounding along the motion, over a radian or the structure's size."""
        return self._changes(self.relative) or self.of_orbit

    @cached_property
    def of_orbit(self) -> bool:
        """Whether forces change since the orbit is not circular."""
        return not self.turn[1] and self._changes(self.orbital)

    def _changes(self, motion: Floats) -> bool:
        """Whether forces change by more than rounding by a motion (P + D,) relative to the frame of the orbit."""
        speeds = np.maximum(np.abs(self.chart.speeds), np.abs(self.orbital))
        allowed = UNBALANCED * self.largest_force * self.extent(speeds, internal=False) + self.rounding_of(speeds)
        return bool(np.any(np.abs(self._without_fall(self.equations.stiffness @ motion)) > allowed))

    def unbalanced(self, force: Floats) -> bool:
        """Whether generalized forces (P,) are above the rounding of all forces."""
        positions = np.where(np.any(self.stiffness_size != 0.0, axis=0), max(1.0, self.size), 0.0)
        rounding = float(np.max(self.rounding_of(positions), initial=0.0))
        return float(np.max(np.abs(force), initial=0.0)) > UNBALANCED * self.largest_force + rounding


def moves(balance: Balance) -> bool:
    """Whether a free or driven coordinate has a speed, in orbit relative to its frame."""
    return bool(np.any(balance.relative != 0.0)) and not (balance.point.at_rest and not balance.turn[0].any())


def why_unsteady(balance: Balance) -> str:
    """The reason, as text, why a motion is not steady; empty for a steady motion."""
    return why_accelerated(balance) or (why_passing(balance) if moves(balance) or balance.of_orbit else "")


def why_changing(balance: Balance) -> str:
    """The reason why a motion is not steady, as far as its instant shows it: no motion is followed."""
    drifts = (moves(balance) and balance.drifts()) or balance.of_orbit
    return why_accelerated(balance) or (_drifting(balance) if drifts else why_turning(balance))


def why_turning(balance: Balance) -> str:
    """The reason why small motions about a steady one have no constant coefficients, as in bearings of unlike
    stiffness; empty where they have."""
    point, orbit = balance.point, orbit_of(balance.point.system.model)
    gravity = "" if orbit is None else f"loads.{orbit.name}"
    return "" if point.at_rest else steady.why_changing(point.system.starting_at(point.q, point.v), gravity)


def why_accelerated(balance: Balance) -> str:
    """The reason, as text, why the speeds of a state do not stay; empty where no force changes them."""
    chart = balance.chart
    k = int(np.argmax(np.abs(balance.rates))) if len(balance.rates) else 0
    names = (*chart.names, *chart.driven)
    changes = f"{names[k]} changes its speed by {balance.rates[k]:.3g} per s2" if len(names) else ""
    driven = np.abs(balance.rates[chart.free :])
    if np.any(driven > UNBALANCED * np.max(np.abs(balance.point.a), initial=0.0)):
        k = chart.free + int(np.argmax(driven))
        return f"{names[k]} changes its speed by {balance.rates[k]:.3g} per s2"
    if balance.unbalanced(balance.imbalance):
        # steady nevertheless, if a negligible displacement balances the forces
        step = balance.stiffness.solve(balance.imbalance)
        remaining = balance.imbalance - balance.equations.stiffness[:, : chart.free] @ step
        if balance.extent(step) > NEAR or balance.unbalanced(remaining):
            return changes
    return ""


def why_passing(balance: Balance) -> str:
    """The reason, as text, why a motion without accelerations does not remain steady; empty if it does.

    The motion is integrated at constant loads, for half a radian or half the structure's size.
    """
    chart = balance.chart
    speed = balance.extent(balance.relative, internal=False)
    if balance.of_orbit or (speed > 0.0 and balance.drifts()):
        return _drifting(balance)
    if speed == 0.0:
        return ""
    try:
        after = _speeds_after(balance, WAY / speed)
    except SolveError as error:
        return f"it cannot be followed: {error}"
    change = after - chart.speeds[: chart.free]
    if balance.extent(change, internal=False) <= UNCHANGED * speed:
        return ""
    k = int(np.argmax(np.abs(change)))
    return f"{fastest(balance)}, and {chart.names[k]} changes its speed by {change[k]:.3g} per s on the way"


def _drifting(balance: Balance) -> str:
    if balance.of_orbit:
        return "the orbit is no undisturbed circle, and the forces change along it"
    return f"{fastest(balance)}, and the forces change on the way"


def fastest(balance: Balance) -> str:
    """The coordinate with the largest motion, and its speed, as text; in orbit relative to its frame."""
    names, speeds = (*balance.chart.names, *balance.chart.driven), balance.relative
    sizes = [balance.extent(speeds * (np.arange(len(names)) == k), internal=False) for k in range(len(names))]
    k = int(np.argmax(sizes))
    return f"{names[k]} moves at {speeds[k]:.4g} per s{' relative to the orbit' if balance.turn[0].any() else ''}"


def steady_in_words(balance: Balance) -> str:
    """The motion of a steady state, as text."""
    still = "at rest relative to the orbit" if balance.turn[0].any() else "an equilibrium"
    return fastest(balance) if moves(balance) and balance.extent(balance.relative, internal=False) > 0.0 else still


def _speeds_after(balance: Balance, time: float) -> Floats:
    """The free speeds (P,) after a time (s), a shorter one where an unstable motion amplifies rounding errors."""
    from femb.base.options import Run, Tolerances
    from femb.recording.evaluation import evaluated
    from femb.run.time_loop import RunSummary, integrate
    from femb.steppers import make_stepper

    point = balance.point
    growth = float(np.max(np.linalg.eigvals(balance.equations.first_order).real, initial=0.0))
    time = min(time, np.log(GROWTH) / growth) if growth > 0.0 else time
    tolerance = Tolerances(position=1e-9 * balance.size, quaternion=1e-9, strain=1e-10, time=time)
    run = Run(duration=time, rtol=1e-9, atol=tolerance)
    system = _with_steady_loads(point).starting_at(point.q, point.v)
    frames = evaluated(list(integrate(system, make_stepper(system, run), np.array([0.0, time]), RunSummary([]))))
    return balance.chart.speeds_at(frames.q[-1], frames.v[-1])


def _with_steady_loads(point: OperatingPoint) -> System:
    """The system of a point with its loads constant from that time on; drivers, and gravity in orbit, continue."""
    t, of_drivers = point.t, {id(input_) for input_ in point.system.constraint_set.inputs}
    in_orbit = turn_of(point.system.model, t)[0].any()

    def later(function: Callable[[float], object]) -> Callable[[float], object]:
        return lambda s: function(t + s)

    def now(function: Callable[..., object], of_state: bool) -> Callable[..., object]:
        if of_state:
            return lambda s, state: function(t, state)
        value = function(t)
        return lambda s: value

    inputs: list[Input] = []
    for input_ in point.system.inputs:
        if input_.of_discrete or (input_.of_state and id(input_) in of_drivers):
            inputs.append(input_)
        elif id(input_) in of_drivers or (in_orbit and input_.surroundings and not input_.of_state):
            inputs.append(
                replace(input_, function=later(input_.function), breakpoints=tuple(b - t for b in input_.breakpoints))
            )
        else:
            inputs.append(replace(input_, function=now(input_.function, input_.of_state), breakpoints=()))
    return point.system.with_inputs(inputs)


ITERATIONS = 50
LARGEST_STEP = 0.3  # rad, or relative to the structure's size, of one iteration
CONVERGED = 1e-11  # a step up to this, in the same units, ends the iteration
ROUNDED = 1e-7  # and so does a step up to this that no longer decreases
REVOLVING = 2.0  # speed, relative to the frequency about the equilibrium, above which a pendulum revolves


def trim(model: "Given | System", *, vary: Sequence[str] | None = None, t: float = 0.0) -> OperatingPoint:
    """A state of steady motion, in equilibrium or in steady rotation. It is sought from the start of a model or System.

    In a steady motion the speeds of the independent coordinates (rates of joints, velocities in axes of the bodies) are
    constant; this is checked by integration over half a radian with the loads of time t.

    Parameters:
        model: or a System of it, a case, or the path of its file.
        vary: names of states, as in `linearize`, that may change: coordinates, or their "rate". By default all
            coordinates; speeds of coordinates on which no force depends stay, the others come to rest.
        t: s, time of the loads.

    Raises:
        ModelError: an unknown name, or a model that cannot be linearised.
        SolveError: there is no such state nearby, with the name of a coordinate that revolves while forces depend on
            it: its motion may be periodic.
    """
    return trimmed(model, vary, t)[0]


def trimmed(model: "Given | System", vary: Sequence[str] | None, t: float) -> tuple[OperatingPoint, dict[str, float]]:
    """The steady state of ``trim``, and the speeds of the start that it does not have, by names of coordinates."""
    system = mean_system_of(model)
    q, v = _near(system)
    given = Balance.of(OperatingPoint.of(system, q, v, t))
    if vary is not None:
        balance = _nearest(given, lambda state: _varied(state, vary))
    else:
        balance = _nearest(given, lambda state: _resting(state, given.chart.speeds, _persistent(given)))
        if given.chart.joints:
            # coordinates without forces in the steady state, though not at the start, keep their speeds as well
            persistent = _persistent(given) | ~np.any(balance.nonzero_stiffness, axis=0)[: given.chart.free]
            balance = _nearest(balance, lambda state: _resting(state, given.chart.speeds, persistent))
    why = why_unsteady(balance)
    if why:
        raise SolveError(f"no steady motion found near the start: {why}; {_advice(balance)}")
    return balance.point, {} if vary is not None else _stopped_speeds(given, balance)


def _near(system: System) -> tuple[Floats, Floats]:
    """The start; with beams or shells, too stiff for one step of trim, the equilibrium of its steady motion."""
    from femb.statics.equilibrium import steady_start

    if system.layout.beams or system.layout.shells or system.layout.internal:
        with contextlib.suppress(SolveError, ModelError):
            return steady_start(system)
    return system.q0, system.v0


@dataclass(frozen=True, eq=False)
class TrimStep:
    """Changes (P,) of coordinates and of speeds, the forces (P,) that remain to first order, the largest motion."""

    change: Floats
    speed_change: Floats
    remaining: Floats
    extent: float = 0.0


def _nearest(balance: Balance, stepped: Callable[[Balance], TrimStep]) -> Balance:
    """The steady state nearest to a point; stepped : the step from a state. Raises SolveError."""

    def step(balance: Balance) -> TrimStep:
        result = stepped(balance.with_constant_speeds())
        return replace(result, extent=balance.extent(result.change))

    def after(balance: Balance, change: Floats, _: float) -> Balance:
        point = balance.point
        return Balance.of(OperatingPoint.of(point.system, *balance.chart.after(change), point.t))

    def settled(it: Iteration[Balance, TrimStep]) -> bool:
        if not it.within(CONVERGED, rounding=ROUNDED):
            return False
        balance = it.x
        slow = largest(it.residual.speed_change) <= 1e-12 * largest(balance.chart.speeds)
        still = balance.point.at_rest and not balance.turn[0].any()
        return still or slow or balance.unbalanced(it.residual.remaining)

    end = newton(
        balance,
        step,
        lambda it: np.concatenate([it.residual.change, it.residual.speed_change]),
        after,
        settled,
        iterations=ITERATIONS,
        residual_size=lambda step: step.extent,
    )
    balance = end.x
    if end.converged and not balance.unbalanced(end.residual.remaining):
        return balance
    rates = balance.rates[: balance.chart.free]
    k = int(np.argmax(np.abs(rates)))
    raise SolveError(
        f"no steady motion found near the start: {balance.chart.names[k]} still changes its speed by {rates[k]:.3g} "
        f"per s2; {_advice(balance)}"
    )


def _resting(balance: Balance, given: Floats, persistent: Bools) -> TrimStep:
    """A step to a state of constant speeds.

    given : the speeds of the start. persistent (P,) : which coordinates of a tree keep them.
    """
    equations, chart, P = balance.equations, balance.chart, balance.chart.free
    stiffness, damping, speeds = equations.stiffness[:, :P], equations.damping[:, :P], chart.speeds[:P]
    if chart.joints:
        dw = np.where(persistent, given[:P], balance.orbital[:P]) - speeds
    else:
        # rigid motions of free structures, and other motions that do not change the forces, keep their speeds
        dw = -balance.stiffness.solve(balance.drift) if balance.drifts() else np.zeros(P)
    # speeds of the size of rounding are zero
    small = 1e-12 * np.max(np.abs(chart.speeds), initial=0.0)
    dw = np.where(np.abs(speeds + dw) <= small, -speeds, np.where(np.abs(dw) <= small, 0.0, dw))
    force = balance.imbalance - damping @ dw
    # an angle that revolves has no steady value: it is not changed, and its equation is checked at the end
    left = speeds + dw != balance.orbital[:P]
    moving = bool(chart.joints) and np.any(left)
    varied = np.flatnonzero(~(left & _angular(balance)[:P])) if moving else np.arange(P)
    block = np.ix_(varied, varied)
    solver = ScaledLeastSquares(stiffness[block], balance.stiffness_size[block]) if moving else balance.stiffness
    rounding = ROUNDING * balance.largest_force
    x = solver.solve_within(force[varied], LARGEST_STEP, lambda x: balance.extent(_spread(P, varied, x)), rounding)
    step = _spread(P, varied, x)
    return TrimStep(step, dw, force - stiffness @ step)


def _spread(P: int, columns: Ints | Sequence[int], x: Floats) -> Floats:
    result = np.zeros(P)
    result[columns] = x
    return result


def _varied(balance: Balance, vary: Sequence[str]) -> TrimStep:
    """A step to a state of constant speeds by changes of the named states."""
    equations, chart, P = balance.equations, balance.chart, balance.chart.free
    columns = [_column(chart, name) for name in vary]
    size = np.hstack([balance.stiffness_size[:, :P], np.abs(equations.damping[:, :P])])[:, columns]
    slopes = np.hstack([equations.stiffness[:, :P], equations.damping[:, :P]])[:, columns]
    x = ScaledLeastSquares(slopes, size).solve_within(
        balance.imbalance, LARGEST_STEP, lambda x: balance.extent(_spread(2 * P, columns, x)[:P])
    )
    change = _spread(2 * P, columns, x)
    if balance.extent(change[:P]) < CONVERGED and balance.extent(change[P:]) < CONVERGED * balance.extent(chart.speeds):
        change[P:] = 0.0
    return TrimStep(change[:P], change[P:], balance.imbalance - slopes @ x)


def _persistent(balance: Balance) -> Bools:
    """(P,) which coordinates of a tree keep their speeds: angles that revolve, and those on which no force depends."""
    P = balance.chart.free
    frequency2 = np.abs(np.diag(balance.equations.stiffness)) / np.diag(balance.equations.mass)
    result: Bools = _angular(balance)[:P] & (balance.relative[:P] ** 2 > REVOLVING**2 * frequency2)
    result |= ~np.any(balance.nonzero_stiffness, axis=0)[:P]
    return result


def _angular(balance: Balance) -> Bools:
    """(P + D,) which coordinates rotate a frame."""
    layout = balance.point.system.layout
    frames = zip(layout.frames, layout.frame_v, strict=True)
    spins = [j + k for frame, j in frames for k in range(3, frame.freedom)]
    rotates: Bools = np.any(balance.chart.H[spins] != 0.0, axis=0)
    internal = {coordinate.name for coordinate in layout.internal}
    return rotates & [name not in internal for name in (*balance.chart.names, *balance.chart.driven)]


def _advice(balance: Balance) -> str:
    """Advice where there is no steady motion, with the period of an angle that revolves while forces depend on it."""
    chart = balance.chart
    names = (*chart.names, *chart.driven)
    allowed = 1e-6 * np.max(np.abs(chart.speeds), initial=0.0)
    forced = _angular(balance) & np.any(balance.nonzero_stiffness, axis=0) & (np.abs(balance.relative) > allowed)
    rates = np.where(forced, np.abs(balance.relative), 0.0)
    k = int(np.argmax(rates)) if len(rates) else -1
    if k < 0 or rates[k] == 0.0:
        return "start nearer, or let more vary"
    return (
        f"{names[k]} turns at {rates[k]:.4g} rad/s and the forces change with it, so that the motion may be periodic: "
        f"look for one with the period {2.0 * np.pi / rates[k]:.6g} s (femb.periodic, --periodic), or start "
        "at rest"
    )


def _column(chart: Chart, name: str) -> int:
    word = name.removesuffix(" rate")
    if word not in chart.names:
        raise ModelError(f"trim: no state {name!r}; there are: {', '.join(chart.names)}, and their 'rate'")
    return chart.names.index(word) + (chart.free if name.endswith(" rate") else 0)


def _stopped_speeds(start: Balance, steady: Balance) -> dict[str, float]:
    """Speeds of the start, in orbit relative to its frame, that the steady state does not have."""
    after = dict(zip(steady.chart.names, steady.relative, strict=False))
    largest = float(np.max(np.abs(start.relative), initial=0.0))
    speeds = zip(start.chart.names, start.relative, strict=False)
    return {name: float(u) for name, u in speeds if abs(after.get(name, u) - u) > 1e-9 * largest}
