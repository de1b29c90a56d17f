"""Continuous controllers: their states as first-order states, and their forces with derivatives of low rank.

With the errors y of positions and velocities, the states x and the generalized forces G of unit commands the rows are

    residual of v:  - G s,      of x:  x' - A x - B y - W (s - u),      u = C x + D y,    s = u within its limits

The derivatives couple all that a law reads with all that it sets: they are of low rank, n_y + n_u, and part of Newton's
matrix, so that a stiff law costs no steps. A command beyond its limit is constant; W, of integrals alone, then leads
the state back. Source: docs/theory/controllers.md, equations (6), (8) and (9).

A specific force is the rate of a velocity v_b plus a remainder w of positions and velocities. A law that only filters
it, x' = A x + B a, has the states z = x - B v_b, which need no acceleration: equation (10).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints
from femb.elements.control.control_law import InLoop, LinearControl, Matrices, Setting
from femb.elements.control.errors import Errors
from femb.elements.control.linear_law import Realisation
from femb.elements.control.schedule import ScheduledControl, law_of
from femb.elements.control.signals import NO_ARRAYS, Moment, Rows, Signal, law_outputs, rows_of
from femb.elements.joint.coordinates import JointCoordinates
from femb.layout.element import Batch, Input, LowRank
from femb.layout.layout import Layout
from femb.layout.numbering import InternalQuantity
from femb.layout.terms import Force, ForcePart, MassMatrix, Tangent
from femb.layout.views import ModelView, OutputStates
from femb.numerics.vector3 import add_constant


def declare_states(item: InLoop, layout: Layout, model: ModelView) -> None:
    """The states of a continuous controller, in a block of their own."""
    block: int | None = None
    for k, start in enumerate(item.start_state(layout, model).tolist()):
        quantity = InternalQuantity(f"state {k + 1}", "-", tolerance=item.atol)
        number = layout.add_internal(item.name, quantity, None, item.table, block=block, start=start)
        block = number if block is None else block


@dataclass(frozen=True, eq=False)
class _Loop:
    """A controller: law, commands, places of states in v, forces G (k, n_v) of unit commands, and of the reference.

    leads : pairs of a velocity v_b and a matrix B, by whose products the states x of the law lead those in v.
    """

    item: InLoop
    law: LinearControl
    settings: list[Setting]
    z: Ints
    G: Floats
    reference: slice
    leads: list[tuple[Signal, Floats]]

    @property
    def signals(self) -> list[Signal]:
        return self.law.errors.signals

    @property
    def groups(self) -> tuple[Ints, Ints]:
        """The states as groups of one, for ``add_constant``."""
        return np.arange(self.z.size), np.ones(self.z.size, dtype=np.int64)

    def lead(self, at: Moment) -> Floats:
        """(n,) what the states of the law have beside those in v."""
        result = np.zeros(self.z.size)
        for signal, B in self.leads:
            v_b: Floats = signal.value(at, NO_ARRAYS)  # type: ignore[arg-type]
            result += B.dot(v_b)
        return result


def free_of_accelerations(item: InLoop, law: LinearControl) -> tuple[LinearControl, list[tuple[Signal, Floats]]]:
    """The law on velocities and positions alone, and the ``leads`` of its states. Raises ModelError where commands
    follow an acceleration at once. Source: docs/theory/controllers.md, equation (10)."""
    errors = law.errors
    leads: list[tuple[Signal, Floats]] = []
    if not any(signal.integrated for signal in errors.signals):
        return law, leads
    if isinstance(law, ScheduledControl):
        text = "reads an acceleration with gains by a table: give the controller a period, or leave its schedule out"
        raise ModelError.at((item.table, item.name, "schedule"), text)
    A, B, C, D = law.realisation
    signals: list[Signal] = []
    of_B: list[Floats] = []
    of_D: list[Floats] = []
    numbers: list[Floats] = []
    start = 0
    for signal, size in zip(errors.signals, errors.sizes, strict=True):
        part = slice(start, start := start + size)
        if signal.integrated is None:
            signals.append(signal)
            of_B, of_D, numbers = [*of_B, B[:, part]], [*of_D, D[:, part]], [*numbers, np.eye(errors.count)[part]]
            continue
        if type(errors) is not Errors or D[:, part].any():
            raise ModelError.at(
                (item.table, item.name),
                f"sets its commands by {signal.name!r} at once, and these change that acceleration: an algebraic loop; "
                "read it through a filter, a state_space without D or a low_pass, or give the controller a period",
            )
        velocity, rest = signal.integrated
        leads.append((velocity, B[:, part]))
        signals += [velocity, rest]
        of_B += [A @ B[:, part], B[:, part]]
        of_D += [C @ B[:, part], 0.0 * D[:, part]]
        numbers += [np.zeros((size, errors.count)), np.eye(errors.count)[part]]
    matrix, reference = np.vstack(numbers), errors.reference
    on_velocities = Errors(signals, lambda t: matrix @ reference(t), errors.breakpoints)
    on_velocities.constant = None if errors.constant is None else matrix @ errors.constant
    realisation = Realisation(A, np.hstack(of_B), C, np.hstack(of_D))
    return LinearControl(realisation, on_velocities, law.limits, law.integrals, law.allocation, law.tracking), leads


def output_signal(item: Any, layout: Layout, model: ModelView) -> Signal:
    """The output of a continuous controller by its states and what it reads. Raises ModelError: it has a reference."""
    given: Any = law_of(item, layout, model)
    law, _ = free_of_accelerations(item, given)
    errors, n = law.errors, len(law.realisation.A)
    first = layout.internal_number(item.table, item.name, "state 1") if n else 0
    z, name = layout.internal_v[first : first + n], f"{item.table}.{item.name}"
    if errors.constant is None:
        raise ModelError(f"is the output of a law with a reference that moves: give {name} a period")
    reference = errors.constant

    def values(state: Any) -> list[Floats]:
        return [each.value(state, NO_ARRAYS) for each in errors.signals]

    def value(state: Any, discrete: Any) -> Floats:
        _, _, C, D = law.matrices(law.place(state)).realisation
        return np.asarray(C @ state.v[z] + D @ errors.of(values(state), reference))

    def rows(t: float, q: Floats, v: Floats) -> Rows:
        at = Moment(q, v, t, JointCoordinates(layout).motion(q[None], v[None])[0][0])
        y = errors.of(values(at), reference)
        motion = by_motion(errors, values(at), reference, q, v)
        _, C, D, by_pose, by_velocity = with_schedule(law, at, y, z, motion)
        by_velocity = D @ by_velocity
        by_velocity[:, z] += C
        return D @ by_pose, by_velocity

    width, unit = item.width_and_unit(layout, model)
    exact = all(each.rows is not None for each in (*errors.signals, *filter(None, [law.signal])))
    return Signal(name, unit, width, value, law_outputs(name, width), rows if exact else None)


def by_motion(errors: Errors, values: list[Floats], reference: Floats, q: Floats, v: Floats) -> Rows:
    """(m, n_v) derivatives of errors of the ``values`` of their signals by the pose and by the velocities."""
    by_pose, by_velocity = np.zeros((2, errors.width, len(v)))
    for signal, derivative in zip(errors.signals, errors.derivatives(values, reference), strict=True):
        pose, velocity = rows_of(signal)(np.nan, q, v)
        by_pose += derivative @ pose
        by_velocity += derivative @ velocity
    return by_pose, by_velocity


def with_schedule(
    law: LinearControl, at: Moment, y: Floats, z: Ints, motion: Rows, taken: Floats | None = None
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """B, C, D of a law at a state with the errors y, and what ``by_motion`` gives of these; with a schedule its signal,
    by which B x and so on change, and the states z, whose rates differ from those of its first row, are errors too.

    taken (k,) : what limits take from its commands.
    """
    x = law.place(at)
    (A, B, C, D), _ = law.matrices(x)
    by_pose, by_velocity = motion
    if not isinstance(law, ScheduledControl):
        return B, C, D, by_pose, by_velocity
    (dA, dB, dC, dD), leads = law.slopes(x)
    states = at.v[z]
    rates = dA @ states + dB @ y
    if leads is not None and taken is not None:
        rates = rates + leads @ taken
    pose, velocity = rows_of(law.signal)(np.nan, at.q, at.v)
    n, own = len(z), np.eye(len(at.v))[z]
    B = np.hstack([B, rates[:, None], A - law.realisation.A])
    D = np.hstack([D, (dC @ states + dD @ y)[:, None], np.zeros((len(D), n))])
    return B, C, D, np.vstack([by_pose, pose, 0.0 * own]), np.vstack([by_velocity, velocity, own])


class ContinuousBatch(Batch):
    """All continuous controllers of a model."""

    feeds_back = True

    def __init__(self, items: Sequence[InLoop], layout: Layout, model: ModelView) -> None:
        self.layout, self.coordinates = layout, JointCoordinates(layout)
        self.n_v = len(layout.start_velocities())
        at_start = layout.start_coordinates(), layout.start_velocities()
        start_moment = Moment(*at_start, np.nan, np.zeros(self.coordinates.count))
        self.loops: list[_Loop] = []
        inputs: list[Input] = []
        start = 0
        for item in items:
            law = law_of(item, layout, model)
            if not isinstance(law, LinearControl):
                raise ModelError.at((item.table, item.name, "period"), "is missing: this law is sampled")
            law, leads = free_of_accelerations(item, law)
            for signal in (*law.errors.signals, *filter(None, [law.signal])):
                if signal.rows is None:
                    text = f"is missing: {signal.name!r} has no exact derivatives, or is sampled"
                    raise ModelError.at((item.table, item.name, "period"), text)
                if np.isnan(signal.value(start_moment, NO_ARRAYS)).any():  # type: ignore[arg-type]
                    text = f"is missing: {signal.name!r} depends on the time, which a continuous law does not know"
                    raise ModelError.at((item.table, item.name, "period"), text)
            columns = []
            settings = item.settings(layout, model)
            for setting in settings:
                if setting.command.columns is None:
                    text = (
                        f"sets {setting.label!r}, which takes sampled commands only: give the controller a period; "
                        "continuous ones set wheels without max_speed, max_power and fails_at, torques of loads in "
                        "frame = 'body', and motors about the axis of a hinge"
                    )
                    raise ModelError.at((item.table, item.name), text)
                columns.append(setting.command.columns)
            G = np.vstack(columns) if columns else np.zeros((len(law.realisation.C), self.n_v))
            first = layout.internal_number(item.table, item.name, "state 1") if len(law.realisation.A) else 0
            z = layout.internal_v[first : first + len(law.realisation.A)]
            errors = law.errors
            part = slice(start, start + errors.count)
            self.loops.append(_Loop(item, law, settings, z, G, part, leads))
            start = part.stop
            inputs.append(
                Input(
                    errors.count,
                    errors.reference,
                    breakpoints=errors.breakpoints,
                    label=f"controllers.{item.name}.reference",
                    surroundings=True,
                )
            )
        self.angles = slice(start, start + self.coordinates.count)
        if self.coordinates.count:
            inputs.append(Input.of_angles(np.arange(self.coordinates.count)))
        self.inputs = tuple(inputs)
        limits = np.concatenate([np.zeros(0), *(loop.law.limits for loop in self.loops)])
        # no ``gaps``: a command that reaches its limit has a kink alone, which the error control resolves
        self.switches = bool(np.isfinite(limits).any())
        taking = [setting.item for loop in self.loops for setting in loop.settings]
        self.pushes = any(item.changes_momenta for item in taking)
        # those last that have impulses
        self._tables = tuple(
            dict.fromkeys(item.table for item in sorted(taking, key=lambda item: bool(item.changes_momenta)))
        )

    def begin(self, q: Floats, v: Floats) -> None:
        for loop in self.loops:
            if loop.leads:
                v[loop.z] -= loop.lead(Moment(q, v, np.nan, np.zeros(0)))

    # One state

    def moment(self, u: Floats, q: Floats, v: Floats) -> Moment:
        """A state with its joint coordinates unwrapped."""
        coordinates = np.zeros(0)
        if self.coordinates.count:
            values = self.coordinates.motion(q[None], v[None])[0][0]
            first = self.first_input + self.angles.start
            coordinates = self.coordinates.unwrapped(values, u[first : first + self.coordinates.count])
        return Moment(q, v, np.nan, coordinates)

    def commands(self, loop: _Loop, u: Floats, at: Moment) -> tuple[Floats, Floats, list[Floats], Matrices]:
        """Commands before their limits (k,), errors (m,), the values of the signals, and the matrices of the law."""
        values = [each.value(at, NO_ARRAYS) for each in loop.signals]  # type: ignore[arg-type]
        y = loop.law.errors.of(values, self.reference(loop, u))
        of = loop.law.matrices(loop.law.place(at))
        return of.realisation.C @ at.v[loop.z] + of.realisation.D @ y, y, values, of

    def reference(self, loop: _Loop, u: Floats) -> Floats:
        return u[self.first_input + loop.reference.start : self.first_input + loop.reference.stop]

    def forces(self) -> list[Force]:
        works = (ForcePart("work", f"_on_{table}") for table in self._tables)
        return [Force(self._add, (), "uqva", parts=(ForcePart.INERTIA, *works))]

    def _add(self, u: Floats, q: Floats, v: Floats, a: Floats, factors: Floats, out: Floats) -> None:
        """Add the rows of the states, and the forces of the commands on each table."""
        for loop in self.loops:
            commands, given, y, laws = self._of_loop(loop, u, q, v)
            weights = np.zeros(given.shape[1])
            for setting in loop.settings:
                weights[setting.part] = factors[1 + self._tables.index(setting.item.table)]
            out -= (weights * given) @ loop.G
            if loop.z.size:
                for k, ((A, B, _, _), tracking) in enumerate(laws):
                    rows = a[k, loop.z] - A @ v[k, loop.z] - B @ y[k]
                    if tracking is not None:
                        rows -= tracking @ (given[k] - commands[k])
                    out[k, loop.z] += factors[0] * rows

    def continuous_commands(self, u: Floats, q: Floats, v: Floats) -> dict[str, Floats]:
        result: dict[str, Floats] = {}
        for loop in self.loops:
            given = self._of_loop(loop, u, q, v)[1]
            result |= {setting.label: given[:, setting.part] for setting in loop.settings}
        return result

    def _of_loop(self, loop: _Loop, u: Floats, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, list[Matrices]]:
        """Commands (s, k), the same within their limits, errors (s, m), and the matrices at each state."""
        limits = loop.law.limits
        each = [self.commands(loop, state[0], self.moment(*state)) for state in zip(u, q, v, strict=True)]
        commands: Floats = np.reshape([wanted for wanted, *_ in each], (len(q), len(limits)))
        errors: Floats = np.reshape([y for _, y, *_ in each], (len(q), loop.law.errors.width))
        return commands, np.clip(commands, -limits, limits), errors, [of for *_, of in each]

    def masses(self) -> list[MassMatrix]:
        return [
            MassMatrix(add_constant, (np.eye(loop.z.size)[None], *loop.groups), loop.z[None], loop.z.size * (1,))
            for loop in self.loops
            if loop.z.size
        ]

    def tangents(self) -> list[Tangent]:
        """The derivative of the rows of states by the states; the others are of low rank."""
        return [
            Tangent(add_constant, (-loop.law.realisation.A[None], *loop.groups), loop.z[None], "q", gives="d")
            for loop in self.loops
            if loop.z.size
        ]

    def low_rank_tangent(self, u: Floats, q: Floats, v: Floats) -> LowRank:
        return LowRank.joined([self._low_rank(loop, u, q, v) for loop in self.loops], len(v))

    def low_rank_matrices(self, u: Floats, q: Floats, v: Floats) -> LowRank:
        return self.low_rank_tangent(u, q, v)

    def _low_rank(self, loop: _Loop, u: Floats, q: Floats, v: Floats) -> LowRank:
        at, limits = self.moment(u, q, v), loop.law.limits
        commands, y, values, of = self.commands(loop, u, at)
        motion = by_motion(loop.law.errors, values, self.reference(loop, u), q, v)
        taken = np.clip(commands, -limits, limits) - commands
        B, C, D, by_pose, by_velocity = with_schedule(loop.law, at, y, loop.z, motion, taken)
        m, k = len(by_pose), len(commands)
        left, damping, stiffness = np.zeros((3, len(v), m + k))
        free = np.abs(commands) <= limits
        left[loop.z, :m] = -B
        left[:, m:] = -(loop.G * free[:, None]).T
        if of.tracking is not None:
            left[loop.z, m:] = of.tracking * ~free
        damping[:, :m], damping[:, m:] = by_velocity.T, (D @ by_velocity).T
        damping[loop.z, m:] += C.T
        stiffness[:, :m], stiffness[:, m:] = by_pose.T, (D @ by_pose).T
        return LowRank(left, damping, stiffness)

    def records(self, frames: OutputStates, batches: list[Batch]) -> dict[str, Floats]:
        result: dict[str, Floats] = {}
        for loop in self.loops:
            path = f"controllers/{loop.item.name}"
            result[f"{path}/output"] = self._of_loop(loop, frames.u, frames.q, frames.v)[0]
            if loop.z.size:
                result[f"{path}/state"] = frames.v[:, loop.z]
                if loop.leads:
                    at = [self.moment(*each) for each in zip(frames.u, frames.q, frames.v, strict=True)]
                    result[f"{path}/state"] += [loop.lead(each) for each in at]
        return result
