"""Thruster: a force that is on for the time of a pulse, given beforehand or commanded."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, expm1, inf
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.quantity import Group, Quantity
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, SeveralForms, Shape, Unit, UnitVector, Vector
from femb.base.values import frozen_array
from femb.elements.item import AtPoint, ItemStates, is_set
from femb.elements.load.at_stations import THRUST, StationForces
from femb.layout.commands import Command
from femb.layout.discrete import DiscreteState, Update
from femb.layout.element import Input
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StartPoses, StateView
from femb.numerics import rotations

# Gravity (m/s2) by which a specific impulse in seconds is defined.
STANDARD_GRAVITY = 9.80665
# Shortest pulse (s) that is distinguished from none.
SHORTEST = 1e-6
# After sensors, controllers and what these set.
SWITCHES = 100

Pulses = Annotated[Any, SeveralForms((Annotated[Any, Shape((None, 2))],))]


def level(elapsed: Floats, start: Floats, target: Floats, rise_time: Any) -> Floats:
    """The level (s,) of the force a time after a switch, by equation (1) of docs/theory/actuators.md."""
    lags = np.asarray(rise_time) > 0.0
    result: Floats = target + (start - target) * np.exp(-elapsed / np.where(lags, rise_time, 1.0)) * lags
    return result


def level_integral(elapsed: Floats, start: Floats, target: Floats, rise_time: float) -> Floats:
    """(s,) s: the integral of ``level`` since the switch."""
    rest = -np.expm1(-elapsed / rise_time) if rise_time else np.zeros_like(elapsed)
    result: Floats = target * elapsed + (start - target) * rise_time * rest
    return result


def valve_of(at: ItemStates) -> tuple[Floats, Floats, Floats]:
    """Time since the last switch (s), level at that switch, and level to which it goes, (s,) each."""
    since, start, target, _ = at.input("valve").T
    return np.maximum(at.time - since, 0.0), start, target


def recorded_level(item: "Thruster", at: ItemStates) -> Floats:
    """(s,) of the force, in parts of the full one."""
    return at.input("level")[:, 0] + level(*valve_of(at), item.rise_time)


def recorded_force(item: "Thruster", at: ItemStates) -> Floats:
    """(s, 3) N, inertial axes."""
    full = rotations.rotate(rotations.normalise(at.motion(item.on)[1]), item.force * np.asarray(item.direction))
    return recorded_level(item, at)[:, None] * full


def recorded_impulse(item: "Thruster", at: ItemStates) -> Floats:
    """(s,) N s since the start of the run."""
    return item.force * (at.input("valve")[:, 3] + level_integral(*valve_of(at), item.rise_time))


def recorded_propellant(item: "Thruster", at: ItemStates) -> Floats:
    """(s,) kg; zero without a specific impulse."""
    if item.specific_impulse is None:
        return np.zeros(len(at.q))
    return recorded_impulse(item, at) / (item.specific_impulse * STANDARD_GRAVITY)


class ThrusterResults(Group):
    """Force of a thruster, its impulse and its pulses."""

    word: ClassVar[str] = "thruster"

    level = Quantity("(T,)", "-", "of the force, in parts of the full one", of=recorded_level)
    force = Quantity("(T, 3)", "N", "on its host, inertial axes", of=recorded_force)
    impulse = Quantity("(T,)", "N s", "integral of the size of the force since the start", of=recorded_impulse)
    propellant = Quantity(
        "(T,)", "kg", "consumed since the start; zero without specific_impulse", of=recorded_propellant
    )
    pulses = Quantity("(T,)", "-", "number of pulses so far", of=lambda item, at: at.input("pulses")[:, 0])


@dataclass(frozen=True, eq=False)
class Thruster(AtPoint):
    """A force at a point of a body or of a beam's section, in a direction that is fixed there, switched by a valve.

    A controller commands thrusters.NAME.on_time (s): a command replaces the pulse before, zero closes the valve. The
    impulse of a pulse is force times on-time. A run that goes on from another starts with closed valves.

    Raises ModelError: a force that is not positive, no direction, times below zero, pulses that overlap or are shorter
    than ``minimum_pulse``. Source: docs/theory/actuators.md, section 1.
    """

    table: ClassVar[str] = "thrusters"
    kind: ClassVar[str] = "thruster"
    drawn: ClassVar[str] = "cone"
    turns_with_host: ClassVar[bool] = True
    acts_on_attitude: ClassVar[bool] = True
    results: ClassVar[type[Group]] = ThrusterResults
    batch: ClassVar[str] = "femb.elements.actuator.thruster:ThrusterBatch"

    name: str
    force: Annotated[float, Unit("N"), POSITIVE]
    """full thrust"""
    direction: UnitVector
    """of the force, opposite to the plume, in axes of the body or section"""
    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    node: int = -1
    rise_time: Annotated[float, Unit("s"), NOT_NEGATIVE] = 0.0
    """time constant with which the force follows the valve, both ways"""
    minimum_pulse: Annotated[float, Unit("s"), NOT_NEGATIVE] = 0.0
    """shorter pulses do not fire"""
    specific_impulse: Annotated[float | None, Unit("s"), POSITIVE] = None
    """for the record of propellant; masses do not change"""
    pulses: Annotated[Pulses | None, Unit("s")] = None
    """rows (start, on-time), in the order of time"""

    @property
    def sights(self) -> Floats:
        return np.asarray([self.direction])

    def check(self, check: Checks) -> None:
        self.on.report(check)
        if self.pulses is not None:
            self._check_pulses(check)

    def _check_pulses(self, check: Checks) -> None:
        wanted = "rows (start, on-time), s"
        given = check.array("pulses", lambda x: x.ndim == 2 and x.shape[1] == 2 and bool(np.isfinite(x).all()), wanted)
        if given is None or "minimum_pulse" in check.bad:
            return
        object.__setattr__(self, "pulses", frozen_array(given))
        end = 0.0
        for k, (start, on_time) in enumerate(given.tolist()):
            if not start >= end:
                before = f"the pulse before ends at {end:.6g} s" if k else "the start of the run is at 0"
                check.fail("pulses", f"pulse {k + 1} starts at {start:.6g} s, but {before}")
            elif not on_time >= self.shortest:
                limit = f"wanted at least the shortest that fires, {self.shortest:.6g} s"
                check.fail("pulses", f"pulse {k + 1} lasts {on_time:.6g} s, {limit}")
            else:
                end = start + on_time
                continue
            return

    def beside_statics(self, time: float) -> str:
        given = () if self.pulses is None else self.pulses.tolist()
        on = any(start <= time < start + on_time for start, on_time in given)
        return f"the thrust of thrusters.{self.name}, whose valve opens at the start" * on

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        return ("linear", "angular")

    @property
    def shortest(self) -> float:
        """The shortest pulse (s) that fires."""
        return max(self.minimum_pulse, SHORTEST)

    # The valve: what switches it, and when

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Its valve and the instant at which it closes, the next of its pulses, and counts."""
        given = np.zeros((0, 2)) if self.pulses is None else np.asarray(self.pulses)
        # of the valve the instant of the last switch, the level then, that to which it goes, and its integral till then
        valve, off = layout.add_discrete(self.key("valve"), np.zeros(4), carried=False), self.key("off")
        layout.add_discrete(off, inf, carried=False)
        layout.add_discrete(self.key("command"), 0.0, carried=is_set(model, self.key("on_time")))
        for word in ("clips", "pulses"):
            layout.add_discrete(self.key(word), 0.0)

        def close(t: float, state: StateView, discrete: DiscreteState) -> dict[str, Any]:
            if float(discrete[off]) > t + 0.5 * SHORTEST or not discrete[valve][2]:
                return {}  # a command has replaced the pulse at this instant
            return self._closed(t, discrete)

        if len(given):
            following = layout.add_discrete(self.key("next"), 0.0, carried=False)

            def fire(t: float, state: StateView, discrete: DiscreteState) -> dict[str, Any]:
                number = int(discrete[following])
                return {following: number + 1.0, **self._opened(t, float(given[number, 1]), discrete)}

            def start(discrete: DiscreteState) -> float:
                number = int(discrete[following])
                return float(given[number, 0]) if number < len(given) else inf

            layout.add_update(Update(f"thrusters.{self.name}", fire, instant=start, order=SWITCHES))
        layout.add_update(
            Update(f"thrusters.{self.name}", close, instant=lambda discrete: float(discrete[off]), order=SWITCHES + 1)
        )

    def commands(self, layout: Layout) -> Mapping[str, Command]:
        """The on-time of a pulse that begins with the command."""
        effect = None
        if hasattr(layout, "n_v"):
            station = layout.station(self.on)
            force = station.axes @ np.asarray(self.direction) * self.force
            effect = station.frame, np.concatenate([force, np.cross(station.offset, force)])
        return {"on_time": Command("s", self.key("level"), per_period=True, least=self.shortest, effect=effect)}

    def commanded(self, word: str, value: Floats, t: float, discrete: DiscreteState) -> Mapping[str, Any]:
        """The states of the valve after the command ``value`` (1,), s, at the time t (s), where they were ``discrete``.

        Commands other than zero that are shorter than the shortest pulse do not fire, and count as clips.
        """
        on_time = float(np.ravel(value)[0])
        change: dict[str, Any] = {self.key("command"): on_time}
        if on_time >= self.shortest:
            return change | self._opened(t, on_time, discrete)
        if on_time != 0.0:
            change[self.key("clips")] = discrete[self.key("clips")] + 1.0
        return change | self._closed(t, discrete)

    def _opened(self, t: float, on_time: float, discrete: DiscreteState) -> dict[str, Any]:
        """The states after the start of a pulse; an open valve stays as it is, and closes later."""
        count = {self.key("pulses"): discrete[self.key("pulses")] + 1.0, self.key("off"): t + on_time}
        return count if discrete[self.key("valve")][2] else self._switched(t, 1.0, discrete) | count

    def _closed(self, t: float, discrete: DiscreteState) -> dict[str, Any]:
        """The states after the valve is closed; none if it is."""
        if not discrete[self.key("valve")][2]:
            return {}
        return self._switched(t, 0.0, discrete) | {self.key("off"): inf}

    def _switched(self, t: float, target: float, discrete: DiscreteState) -> dict[str, Any]:
        since, start, before, burnt = discrete[self.key("valve")].tolist()
        elapsed, tau = t - since, self.rise_time
        level = before + ((start - before) * exp(-elapsed / tau) if tau else 0.0)
        burnt += before * elapsed - ((start - before) * tau * expm1(-elapsed / tau) if tau else 0.0)
        return {self.key("valve"): np.array([t, level, target, burnt])}

    def inputs(self) -> tuple[Input, ...]:
        """A level beside that of the pulses, which is zero in runs, the valve, and the count of pulses."""
        added = Input(1, lambda t: 0.0, label=self.key("level"))
        count = Input.of_array(self.key("pulses"), recorded_only=True)
        return added, Input.of_array(self.key("valve"), 4), count


class ThrusterBatch(StationForces):
    """Thrusters, evaluated together; their first input is the time."""

    def __init__(self, items: list[Thruster], layout: Layout, model: ModelView) -> None:
        super().__init__(items, layout)
        time = Input(1, lambda t: t, label="thrusters.time", unit="s", surroundings=True)
        self.inputs = (time, *(each for item in items for each in item.inputs()))
        full = self.in_frame([item.force * np.asarray(item.direction) for item in items])
        self.set_law(THRUST, 1 + 6 * np.arange(len(items)), [full, [item.rise_time for item in items]])
