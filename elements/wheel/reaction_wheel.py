"""Reaction wheel: a flywheel with a motor in a body, at a beam node or at an interface of a flexible body."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np

from femb.base.checks import Checks
from femb.base.errors import ModelError
from femb.base.meanings import Description
from femb.base.quantity import Group, Quantity
from femb.base.types import NOT_NEGATIVE, POSITIVE, Floats, Unit, UnitVector, Vector
from femb.base.values import shown
from femb.elements.body.body import RigidBody
from femb.elements.item import Item, ItemStates, is_set
from femb.elements.marker import Hosted, Place, axes_of
from femb.layout.commands import Command
from femb.layout.discrete import Crossing, DiscreteState, Update
from femb.layout.element import Batch, Input, OutputRows, breakpoints_of
from femb.layout.layout import Layout
from femb.layout.numbering import InternalQuantity
from femb.layout.views import LinearPoint, ModelView, StartPoses, StateView
from femb.numerics.rotations import rotate
from femb.profiles import Constant, Profile

# The speed, with the tolerance of angles by the default time of 0.01 s. Its coordinate is the angle, which equations of
# wheels with imbalance or harmonics alone read; its own tolerance is infinite.
SPEED = InternalQuantity("speed", "rad/s", tolerance=1e-5)
# Default Stribeck speed, in transition speeds, as with joints.
STRIBECK = 10.0


@dataclass(frozen=True, eq=False)
class WheelHarmonic(Description):
    """A disturbance of a wheel at a multiple of its speed, as tables of tests have it: amplitudes by the square of the
    speed in rad/s.

    Raises ModelError: an order that is not above zero. Source: docs/theory/wheels.md, equation (7).
    """

    order: Annotated[float, Unit(""), POSITIVE]
    """of the angle of the wheel, as 1 for that of an imbalance"""
    radial_force: Annotated[float, Unit("kg m")] = 0.0
    axial_force: Annotated[float, Unit("kg m")] = 0.0
    rocking_torque: Annotated[float, Unit("kg m2")] = 0.0
    """about axes across the axis of the wheel"""
    axial_torque: Annotated[float, Unit("kg m2")] = 0.0
    phase: Annotated[float, Unit("rad")] = 0.0
    """at the angle zero"""

    def __post_init__(self) -> None:
        with Checks(self, "harmonic"):
            pass

    @property
    def row(self) -> list[float]:
        """Its row of the harmonics of ``WheelBatch``."""
        torques = self.rocking_torque, self.axial_torque
        return [self.order, self.radial_force, self.axial_force, *torques, self.phase]


def speed(item: "ReactionWheel", at: ItemStates) -> Floats:
    """(s,) rad/s, relative to the body."""
    return at.rate("speed")


def angle(item: "ReactionWheel", at: ItemStates) -> Floats:
    """(s,) rad, counting full revolutions."""
    values: Floats = at.q[:, at.layout.internal_q[item.number(at.layout)]]
    return values


def friction(item: "ReactionWheel", at: ItemStates) -> Floats:
    """(s,) N m against the speed."""
    return item.friction_at(speed(item, at))


def momentum(item: "ReactionWheel", at: ItemStates) -> Floats:
    """(s,) N m s about the axis, with that of the rotation of the body."""
    omega = at.motion(item.on)[3]
    total: Floats = item.spin_inertia * (speed(item, at) + omega @ item.axis)
    return total


def speed_rows(item: "ReactionWheel", point: LinearPoint) -> OutputRows:
    row = np.zeros((1, point.system.n_v))
    row[0, item.place(point.system.layout)] = 1.0
    return OutputRows("rad/s", velocity=row, components=())


def angle_rows(item: "ReactionWheel", point: LinearPoint) -> OutputRows:
    row = np.zeros((1, point.system.n_v))
    row[0, item.place(point.system.layout)] = 1.0
    return OutputRows("rad", pose=row, components=())


def momentum_rows(item: "ReactionWheel", point: LinearPoint) -> OutputRows:
    layout = point.system.layout
    row = item.spin_inertia * np.asarray(speed_rows(item, point).velocity)
    station = layout.station(item.on)
    j = layout.frame_v[station.frame] + 3
    row[0, j : j + 3] = item.spin_inertia * rotate(station.rotation, item.axis)
    return OutputRows("N m s", velocity=row, components=())


def friction_rows(item: "ReactionWheel", point: LinearPoint) -> OutputRows:
    rate = float(point.v[item.place(point.system.layout)])
    coulomb, rise, stribeck, transition, viscous = item.friction_numbers
    peak, onset = rise * np.exp(-((rate / stribeck) ** 2)), np.tanh(rate / transition)
    slope = (coulomb + peak) * (1.0 - onset**2) / transition - 2.0 * rate / stribeck**2 * peak * onset + viscous
    return OutputRows("N m", velocity=slope * np.asarray(speed_rows(item, point).velocity), components=())


class WheelResults(Group):
    """Speed and momentum of a wheel, the torques on it, and the power of its motor."""

    word: ClassVar[str] = "wheel"

    speed = Quantity("(T,)", "rad/s", "relative to its body", rate="speed")
    angle = Quantity(
        "(T,)", "rad", "relative to its body, counting full revolutions", of=angle, rows=angle_rows, level="motion"
    )
    torque = Quantity("(T,)", "N m", "of the motor on the wheel, with the commands of controllers")
    friction = Quantity("(T,)", "N m", "against its speed", of=friction, rows=friction_rows, level="motion")
    momentum = Quantity(
        "(T,)", "N m s", "about its axis, with that of its body", of=momentum, rows=momentum_rows, level="motion"
    )
    power = Quantity("(T,)", "W", "electrical, of the motor: idle, mechanical and lost in its winding")
    clips = Quantity(
        "(T,)", "-", "commands of a controller so far that exceeded max_torque; without one not there", level="motion"
    )


@dataclass(frozen=True, eq=False)
class ReactionWheel(Hosted, Item):
    """A flywheel with a motor. Without ``mass`` its body contains it, with its inertia as if it were locked.

    Imbalances turn with a rotor that has mass, exactly; else they are a harmonic of order 1. An interface of a flexible
    body is a body. The command torque of a controller adds to the torque of the motor.

    Raises ModelError: no host or two, on the ground, an axis of length zero, a spin inertia that is not below that of
    the body, numbers below zero, a rotor that no body has. Source: docs/theory/wheels.md.
    """

    table: ClassVar[str] = "wheels"
    kind: ClassVar[str] = "reaction"
    drawn: ClassVar[str] = "ring"
    turns_with_host: ClassVar[bool] = True
    results: ClassVar[type[Group]] = WheelResults
    acts_on_attitude: ClassVar[bool] = True

    name: str
    body: str | None = None
    beam: str | None = None
    at: Annotated[Vector, Unit("m")] = (0.0, 0.0, 0.0)
    node: int = -1
    axis: UnitVector = field(kw_only=True)
    """of rotation, body or section axes"""
    spin_inertia: Annotated[float, Unit("kg m2"), POSITIVE] = field(kw_only=True)
    """about the axis"""
    speed: Annotated[float, Unit("rad/s")] = 0.0
    """at the start, relative to the body"""
    torque: Annotated[float | Profile, Unit("N m")] = 0.0
    """of the motor on the wheel"""
    viscous: Annotated[float, Unit("N m s/rad"), NOT_NEGATIVE] = 0.0
    coulomb: Annotated[float, Unit("N m"), NOT_NEGATIVE] = 0.0
    """dry friction"""
    static: Annotated[float | None, Unit("N m"), NOT_NEGATIVE] = None
    """peak of dry friction at small speeds, by default coulomb"""
    transition_speed: Annotated[float | None, Unit("rad/s"), POSITIVE] = None
    """over which dry friction is developed"""
    stribeck_speed: Annotated[float | None, Unit("rad/s"), POSITIVE] = None
    """over which it falls from static to coulomb, by default 10 transition_speed"""
    max_torque: Annotated[float | None, Unit("N m"), POSITIVE] = None
    """limit of the torque; clipped commands are counted"""
    max_power: Annotated[float | None, Unit("W"), POSITIVE] = None
    """the most torque times speed, driving or braking"""
    max_speed: Annotated[float | None, Unit("rad/s"), POSITIVE] = None
    """at which the motor gives what holds it, against friction and the turn of the body, while its command exceeds
    that"""
    fails_at: Annotated[float | None, Unit("s"), NOT_NEGATIVE] = None
    """the instant from which the motor gives no torque, whatever is commanded; friction stays"""
    static_imbalance: Annotated[float, Unit("kg m"), NOT_NEGATIVE] = 0.0
    """mass times distance of its mass centre from the axis"""
    dynamic_imbalance: Annotated[float, Unit("kg m2"), NOT_NEGATIVE] = 0.0
    """product of inertia between the axis and one across it"""
    mass: Annotated[float | None, Unit("kg"), POSITIVE] = None
    """of a rotor that the body does not contain"""
    transverse_inertia: Annotated[float | None, Unit("kg m2"), POSITIVE] = None
    """of such a rotor, across the axis about its centre"""
    harmonics: list[WheelHarmonic] | None = None
    """disturbances at multiples of the speed"""
    motor_constant: Annotated[float | None, Unit("N m/W^0.5"), POSITIVE] = None
    """torque by the root of the power lost in the winding; without it none is lost"""
    idle_power: Annotated[float, Unit("W"), NOT_NEGATIVE] = 0.0
    """of the electronics at any speed"""
    regenerative: bool = True
    """whether a motor that brakes gives power back"""

    # Checks

    def check(self, check: Checks) -> None:
        self.host.report(check)
        if not {"coulomb", "static", "transition_speed"} & check.bad:
            dry = self.coulomb > 0.0 or (self.static or 0.0) > 0.0
            if dry and self.transition_speed is None:
                check.fail("transition_speed", "is missing: dry friction is developed over this speed (rad/s)")
            check.require("static", self.static is None or self.static >= self.coulomb, "must be at least coulomb")
        if not {"speed", "max_speed"} & check.bad and self.max_speed is not None:
            check.require("speed", abs(self.speed) <= self.max_speed, f"must be at most max_speed, {self.max_speed:g}")
        if not {"torque", "max_torque"} & check.bad and self.max_torque is not None and not callable(self.torque):
            most = f"must be at most max_torque, {self.max_torque:g}"
            check.require("torque", abs(self.torque) <= self.max_torque, most)
        self._check_rotor(check)

    def _check_rotor(self, check: Checks) -> None:
        """The mass of a rotor is that of a body."""
        if (self.mass is None) != (self.transverse_inertia is None):
            word = "mass" if self.mass is None else "transverse_inertia"
            check.fail(word, "is missing: a rotor that the body does not contain has both mass and transverse_inertia")
        rotor = {"mass", "transverse_inertia", "spin_inertia", "static_imbalance", "dynamic_imbalance"}
        if self.mass is None or self.transverse_inertia is None or rotor & check.bad:
            return
        most = 2.0 * self.transverse_inertia
        check.require(
            "spin_inertia", self.spin_inertia <= most * (1.0 + 1e-9), f"must be at most twice the transverse, {most:g}"
        )
        s, p, m = self.static_imbalance, self.dynamic_imbalance, self.mass
        inertia = np.diag([self.transverse_inertia] * 2 + [self.spin_inertia])
        inertia[0, 2] = inertia[2, 0] = p
        inertia -= np.diag([0.0, s * s / m, s * s / m])  # about the mass centre, whose distance is along the first axis
        check.require(
            "static_imbalance", np.linalg.eigvalsh(inertia)[0] > 0.0, "no rotor of this mass and inertia has it"
        )

    @property
    def host(self) -> Place:
        """The point that its fields name."""
        return Place(self.body, self.beam, self.at, self.node)

    @property
    def on(self) -> Place:
        """Its centre, on what carries it."""
        return self.host

    @property
    def electrical_numbers(self) -> tuple[float, float, float]:
        """Watts by the square of the torque, those at rest, and zero where a motor gives none back, else infinity."""
        lost = 0.0 if self.motor_constant is None else self.motor_constant**-2
        return lost, self.idle_power, inf if self.regenerative else 0.0

    @property
    def markers(self) -> dict[tuple[str, ...], Place]:
        return {(): self.host}

    @property
    def sights(self) -> Floats:
        return np.asarray([self.axis])

    @property
    def friction_numbers(self) -> tuple[float, float, float, float, float]:
        """Coulomb, static less coulomb, Stribeck speed, transition speed and viscous friction."""
        transition = 1.0 if self.transition_speed is None else self.transition_speed
        stribeck = STRIBECK * transition if self.stribeck_speed is None else self.stribeck_speed
        static = self.coulomb if self.static is None else self.static
        return self.coulomb, static - self.coulomb, stribeck, transition, self.viscous

    def friction_at(self, rate: Floats) -> Floats:
        """(s,) N m against speeds ``rate`` (s,) rad/s: equation (4)."""
        coulomb, rise, stribeck, transition, viscous = self.friction_numbers
        dry = (coulomb + rise * np.exp(-((rate / stribeck) ** 2))) * np.tanh(rate / transition)
        return np.asarray(dry + viscous * rate)

    def in_flexible(self, model: ModelView) -> bool:
        """Whether it is part of what no rigid body has: a beam or a flexible body, without a mass of its own."""
        rigid = self.on.body is not None and isinstance(model.body(self.on.body), RigidBody)
        return self.mass is None and not rigid

    # The equations

    def declare_dofs(self, layout: Layout, placement: StartPoses, model: ModelView) -> None:
        """Its speed beside the velocities of its frame; ``command`` (N m), ``clips``, the number of commands that were
        clipped, ``limit``, the sign of a speed that the motor holds at its limit, zero while it does not, and
        ``failed``, one once the motor has failed."""
        frame = layout.station(self.on).frame
        if not layout.frames[frame].freedom:
            word, host = ("body", self.body) if self.body is not None else ("beam", self.beam)
            path = (self.table, self.name, word)
            raise ModelError.at(path, f"got {shown(host)}, which is fixed: a wheel there moves nothing")
        layout.couple([frame], [layout.add_internal(self.name, SPEED, frame, self.table, start=self.speed)])
        layout.add_discrete(self.key("command"), 0.0, carried=is_set(model, self.key("torque")))
        layout.add_discrete(self.key("clips"), 0.0)
        most = inf if self.max_speed is None else self.max_speed
        limit = layout.add_discrete(self.key("limit"), float(np.sign(self.speed) * (abs(self.speed) >= most)))
        if self.max_speed is not None:
            self._add_limit(layout, limit, most)
        # of results that a run starts from, a wheel that is sound here has not failed
        carried = self.fails_at is not None
        failed = layout.add_discrete(self.key("failed"), float(self.fails_at == 0.0), carried)
        if self.fails_at is not None:
            instant = Crossing(-1, self.fails_at)
            layout.add_update(
                Update(
                    self.key("failure"),
                    change=lambda t, state, discrete: {failed: 1.0},
                    zero=lambda t, state, discrete: instant.value(t, state),
                    crossing=lambda discrete: instant,
                    watched=lambda discrete: discrete[failed] == 0.0,
                    direction=1,
                    recorded=True,
                )
            )

    def _add_limit(self, layout: Layout, limit: str, most: float) -> None:
        """The updates at the largest speed: held once reached, released where the command is below what that takes."""

        def relative(state: StateView) -> float:
            return float(state.arrays()[1][self.place(layout)])

        def release(t: float, state: StateView, discrete: DiscreteState) -> dict[str, Any]:
            side, torque = discrete.number(limit), self.own_torque(t) + discrete.number(self.key("command"))
            given = min(side * torque, (self.max_power or inf) / most)
            holds = float(self.friction_at(np.array(relative(state))))
            return {limit: 0.0} if side != 0.0 and given < side * holds else {}

        layout.add_update(
            Update(
                f"{self.table}.{self.name}",
                change=lambda t, state, discrete: {limit: float(np.sign(relative(state)))},
                zero=lambda t, state, discrete: abs(relative(state)) - most,
                watched=lambda discrete: discrete[limit] == 0.0,
                direction=1,
                order=2,
                recorded=True,
            )
        )
        layout.add_update(Update(self.key("release"), release, after_steps=True))

    def number(self, layout: Layout) -> int:
        """The number of its internal coordinate."""
        return layout.internal_number(self.table, self.name, "speed")

    def place(self, layout: Layout) -> int:
        """The index of its speed in v."""
        return int(layout.internal_v[self.number(layout)])

    def numbers(self, layout: Layout) -> list[float]:
        """Its row of the data of ``WheelBatch``."""
        station = layout.station(self.on)
        e1, e2, g = (rotate(station.rotation, axis) for axis in axes_of(self.axis).T)
        imbalance = (0.0, 0.0) if self.mass is None else (self.static_imbalance, self.dynamic_imbalance)
        numbers = [*g, *e1, *e2, *station.offset, self.spin_inertia, *imbalance, *self.friction_numbers]
        return [*numbers, self.max_speed or 0.0, inf if self.max_power is None else self.max_power]

    @property
    def changes_momenta(self) -> tuple[str, ...]:
        """Both by disturbances, which are loads; the motor and an exact rotor change none."""
        return ("linear", "angular") if self.loads else ()

    @property
    def loads(self) -> list[list[float]]:
        """Rows of its harmonics; an imbalance without mass is one of order 1."""
        rows = [each.row for each in self.harmonics or ()]
        if self.mass is None and (self.static_imbalance or self.dynamic_imbalance):
            imbalance = WheelHarmonic(1.0, radial_force=self.static_imbalance, rocking_torque=self.dynamic_imbalance)
            rows.insert(0, imbalance.row)
        return rows

    def own_torque(self, t: float) -> float:
        """The torque of the motor (N m) at the time t (s) without commands, within its limit."""
        value = float(self.torque(t) if callable(self.torque) else self.torque)
        most = inf if self.max_torque is None else self.max_torque
        return min(max(value, -most), most)

    def inputs(self) -> tuple[Input, ...]:
        """The torque of the motor, its command, the sign of a speed that is at its limit, and whether it has failed."""
        torque = Input(
            1,
            self.own_torque if callable(self.torque) else Constant(self.own_torque(0.0)),
            breakpoints=breakpoints_of(self.torque),
            label=self.key("torque"),
            unit="N m",
        )
        return torque, *(Input.of_array(self.key(word)) for word in ("command", "limit", "failed"))

    @staticmethod
    def batches(items: list["ReactionWheel"], layout: Layout, model: ModelView) -> list[Batch]:
        """One batch of all wheels, and one of the masses of rotors. Raises ModelError: more spin inertia than the body
        has."""
        from femb.elements.body.mass_batch import MassBatch
        from femb.elements.item import RecordedArrays
        from femb.elements.wheel.batch import WheelBatch

        _check_contained(items, model)
        entries = [(layout.station(item.on), item) for item in items if item.mass is not None]
        rotors = [
            (station.frame, float(item.mass or 0.0), station.offset, item.inertia(rotate(station.rotation, item.axis)))
            for station, item in entries
        ]
        masses: list[Batch] = [MassBatch(layout, model.gravity, rotors)] if rotors else []
        commanded = [item for item in items if is_set(model, item.key("torque"))]
        clips = {f"wheels/{item.name}/clips": item.key("clips") for item in commanded}
        return [*masses, WheelBatch(items, layout, model), *RecordedArrays.of(clips, layout)]

    def inertia(self, axis: Floats) -> Floats:
        """(3, 3) kg m2 of a rotor without imbalance about its centre, with its axis along ``axis``."""
        across = self.transverse_inertia or 0.0
        result: Floats = across * np.eye(3) + (self.spin_inertia - across) * np.outer(axis, axis)
        return result

    # Commands

    def commands(self, layout: Any) -> Mapping[str, Command]:
        """Its only command, ``torque``; with its column where the ``layout`` has numbers, and the motor gives it at any
        speed."""
        limit = inf if self.max_torque is None else self.max_torque
        columns = None
        limits = self.max_speed, self.max_power, self.fails_at
        if hasattr(layout, "n_v") and limits == (None, None, None):
            columns = np.zeros((1, layout.n_v))
            columns[0, self.place(layout)] = 1.0
        held: dict[str, Any] = {}
        if limit == inf or not callable(self.torque):
            names = self._command_names
            held = {"held": names[0], "clips": names[1], "own": 0.0 if limit == inf else self.own_torque(0.0)}
        return {"torque": Command("N m", self.key("torque"), limit=limit, columns=columns, **held)}

    def commanded(self, word: str, value: Floats, t: float, discrete: DiscreteState) -> Mapping[str, Any]:
        """The torque ``value`` (1,) at the time t (s), with its own within its limit, and the count of those that are
        not. word : "torque". discrete : the present discrete state."""
        command, clips = self._command_names
        wanted, most = value.item(), self.max_torque
        if most is None:
            return {command: wanted}
        own = self.own_torque(t)
        if abs(own + wanted) <= most:
            return {command: wanted}
        given = min(max(own + wanted, -most), most) - own
        return {command: given} if given == wanted else {command: given, clips: float(discrete[clips]) + 1.0}

    @cached_property
    def _command_names(self) -> tuple[str, str]:
        return self.key("command"), self.key("clips")


def _check_contained(items: list[ReactionWheel], model: ModelView) -> None:
    """Refuse wheels with more inertia than the rigid body that contains them."""
    left: dict[str, Floats] = {}
    for item in items:
        host = item.on.body
        body = None if host is None else model.body(host)
        if item.mass is not None or not isinstance(body, RigidBody):
            continue
        inertia = left.get(body.name, np.asarray(body.inertia, dtype=float))
        left[body.name] = inertia - item.spin_inertia * np.outer(item.axis, item.axis)
        if not np.linalg.eigvalsh(left[body.name])[0] > 0.0:
            g = np.asarray(item.axis)
            raise ModelError.at(
                (item.table, item.name, "spin_inertia"),
                f"got {item.spin_inertia:g}, must be below the inertia of body {body.name!r} about the axis, "
                f"{g @ inertia @ g:g} kg m2 with other wheels locked: the body contains the wheel",
            )
