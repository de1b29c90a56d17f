"""The control loop of a linear plant and the laws of its controllers: poles, margins, responses and simulation.

Sampled laws with delays and several periods are exact, as are continuous ones, whose states are among those of the
plant. Source: docs/theory/control_loop.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag

from femb.base.errors import ModelError
from femb.base.html import Tabled
from femb.base.types import Complexes, Floats
from femb.base.values import absent, nearest, number_problem, numbered, shown, without_rounding
from femb.elements.control.linear_law import LinearLaw
from femb.linear.conserved import null_space, scales, without_conserved
from femb.linear.loop_names import item_of, label, loop_states, place_of, six_of
from femb.linear.margins import InjectedLoop, Margins, Mode, OpenedLoop, margins_of
from femb.linear.modal_form import ClosedForm, KnownForm, LoopForm, ModalForm
from femb.linear.sampled_motion import (
    LoopInstant,
    LoopRun,
    SampledMotion,
    Tap,
    fundamental,
    merged,
    part_of,
    period_of,
    with_continuous,
)
from femb.linear.state_space import FORMATS, InModes, StateSpace, pole_lines
from femb.linear.staying import settled_loop, staying, unanswered
from femb.numerics.linear_systems import RIGID, continuous, eigenvalues, eigenvectors
from femb.numerics.threads import spared
from femb.results.array_file import write_arrays
from femb.vibration.damping_ratios import DEFAULT

# Growth (1/s) of a pole over its size below which a loop counts as stable.
STABLE = 1e-9
# Poles (1/s) below this may be at zero.
SLOW = 1e-5
# Multipliers over a common period below this are zero: of commands that wait, and act only once.
GONE = 1e-9
# As RIGID, of a plant whose rigid motions are known: their eigenvalues are zero.
KNOWN = 1e-14
# Vibrations above half the rate of a law that a table lists.
FAST = 6


@dataclass(frozen=True, eq=False)
class Loop(Tabled):
    """A plant in the loop of its controllers.

    plant : continuous, with the inputs that laws set and the outputs that they read, and more of both. laws : of the
    controllers; u of a law adds to the input of its name. commands : what acts of that which laws of a model command at
    the state itself, by input, in SI units; laws act on changes about it. limited : those that a limit reduces.

    Raises ModelError: names that the plant does not have, laws without outputs, a ring of laws, a plant whose modes
    have a default damping, on which no verdict may rest.
    """

    plant: StateSpace
    laws: tuple[LinearLaw, ...]
    commands: Mapping[str, float] = field(default_factory=dict)
    limited: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "laws", tuple(self.laws))
        if self.plant.dt is not None:
            raise ModelError("loop: the plant is a sampled one, wanted a continuous one: linearize the model")
        if self.plant.damping.endswith(DEFAULT):
            raise ModelError(
                f"loop: got a plant with {self.plant.damping}, on which its stability may rest: linearize with "
                "damping=0, or with the ratio that the structure has"
            )
        if not self.laws:
            raise ModelError("loop: there are no laws: the model has no controllers with linear laws")
        read = [name for law in self.laws for name in law.inputs]
        given = [name for law in self.laws for name in law.outputs]
        sides = ("sets", "outputs", "inputs", read), ("reads", "inputs", "outputs", given)
        for law in self.laws:
            for verb, of_law, of_plant, others in sides:
                there: tuple[str, ...] = getattr(self.plant, of_plant)
                for name in getattr(law, of_law):
                    if name not in there and name not in others:
                        raise ModelError(
                            f"controllers.{law.name}: {verb} {name!r}{nearest(name, there)}; the plant has the "
                            f"{of_plant} {', '.join(there) or 'none'}"
                        )
        if self._sampled and self._continuous:
            for law in self._continuous:
                if any(name in other.outputs for name in law.inputs for other in self._sampled):
                    raise ModelError(f"controllers.{law.name}: is continuous and reads a sampled law: sample it, too")

    @property
    def _sampled(self) -> tuple[LinearLaw, ...]:
        return tuple(law for law in self.laws if law.period is not None)

    @property
    def _continuous(self) -> tuple[LinearLaw, ...]:
        return tuple(law for law in self.laws if law.period is None)

    # Plants

    @cached_property
    def core(self) -> StateSpace:
        """The plant with the inputs that laws set and the outputs that they read, without what is conserved, in its
        modes if it knows these."""
        inputs = list(dict.fromkeys(name for law in self.laws for name in law.outputs if name in self.plant.inputs))
        outputs = list(dict.fromkeys(name for law in self.laws for name in law.inputs if name in self.plant.outputs))
        return without_conserved(part_of(self.plant, inputs, outputs), in_modes=True)

    @cached_property
    def without_effect(self) -> tuple[str, ...]:
        """Inputs that laws set and that move nothing at this state, as a torque that the power of its motor limits."""
        of, given = self.plant, {name for law in self.laws for name in law.outputs}
        moving = np.any(of.B, axis=0) | np.any(of.D, axis=0)
        return tuple(x for x, moves in zip(of.inputs, moving, strict=True) if x in given and not moves)

    @property
    def conserved(self) -> int:
        """The number of eigenvalues that no law moves: of what is conserved, and of motions unseen by laws.

        They are zero, and in a steady rotation also at the rate of this.
        """
        return len(self.plant.states) - len(self.core.states)

    @spared(lambda loop: len(loop.plant.states))
    def modes(self) -> list[Mode]:
        """The vibrations of the plant without controllers, by frequency."""
        return list(self._modes)

    @cached_property
    def _modes(self) -> tuple[Mode, ...]:
        (values, left, right), rigid = eigenvectors(self.plant.in_form().A), RIGID
        if (known := self.plant.known) is not None:
            left, right = known.form.inverse.T @ left, known.form.change @ right
            rigid = KNOWN if isinstance(known.form, ModalForm) else RIGID
        read = {item_of(name) for law in self.laws for name in law.inputs}
        found: list[Mode] = []
        for k in np.argsort(np.abs(values), kind="stable"):
            if values[k].imag > rigid * np.max(np.abs(values)):
                shares = np.abs(left[:, k] * right[:, k])
                found.append(Mode(len(found) + 1, complex(values[k]), label(self.plant.states, shares, read)))
        return tuple(found)

    def nearest_mode(self, omega: float) -> Mode | None:
        """The vibration whose frequency is nearest to omega, rad/s, above zero; None where there is none."""
        return min(self.modes(), key=lambda mode: abs(np.log(omega / mode.omega)), default=None)

    # Stability

    @cached_property
    def _period_matrix(self) -> tuple[Floats, list[str], float | None]:
        """The closed loop's matrix, the names of its states, and the common period, s; None of a continuous loop."""
        plant = with_continuous(self.core, self._continuous)
        if not self._sampled:
            return plant.A, list(plant.states), None
        motion = SampledMotion(plant, self._sampled)
        end, queues = motion.common_period(), motion.waiting()
        blocks = motion.blocks(queues)
        motion.over(blocks, motion.instants(end), end)
        return blocks.stacked(), loop_states(plant, self._sampled, queues), end

    @property
    def common_period(self) -> float | None:
        """The common period of its sampled laws (s); None of a continuous loop."""
        return self._period_matrix[2]

    @spared(lambda loop: len(loop.plant.states))
    def poles(self) -> Complexes:
        """(k,) 1/s: the poles of the closed loop, by size; those of ``conserved`` are not among them.

        Of sampled laws they are ln z/T of the multipliers z over the common period T; imaginary parts are those between
        -pi/T and pi/T. Commands that wait and act only once have z = 0, and no pole.
        """
        matrix, _, period = self._period_matrix
        values = eigenvalues(matrix if period is None else _without_zeros(matrix))
        if period is not None:
            values = continuous(values[np.abs(values) > GONE], period)
        return values[np.lexsort((-values.imag, np.round(np.abs(values), 9)))]

    def growth(self) -> float:
        """The largest real part of a pole, 1/s."""
        return float(np.max(self.poles().real, initial=-np.inf))

    @property
    def stable(self) -> bool:
        """Whether no pole grows or stays, but for those of ``conserved``."""
        poles = self.poles()
        return bool(np.all(poles.real < STABLE * np.maximum(np.abs(poles), 1.0))) and not self.staying

    @cached_property
    def staying(self) -> int:
        """The number of poles at zero that nothing conserved explains: what laws see of them, an error, stays."""
        idle, free = self.without_effect, part_of(self.plant, (), self.core.outputs)
        acting = [name for name in self.core.inputs if name not in idle]
        alone = unanswered(free.in_form(), self.laws, acting, idle) if idle else 0
        if not np.any(np.abs(self.poles()) <= SLOW):
            return alone
        matrix, _, period = self._period_matrix
        queues = SampledMotion(with_continuous(self.core, self._continuous), self._sampled).waiting()
        of_plant = partial(settled_loop, self.core, self.laws, queues, acting)
        return alone + staying(matrix, period is not None, len(self.core.states), of_plant)

    def delayed(self, delay: float) -> "Loop":
        """The loop with a longer ``delay`` (s) of all sampled laws that set inputs of the plant."""
        later = [law.period is not None and law in self._main for law in self.laws]
        pairs = zip(self.laws, later, strict=True)
        return replace(self, laws=tuple(replace(law, delay=law.delay + own * delay) for law, own in pairs))

    @spared(lambda loop: len(loop.plant.states))
    def largest_delay(self, limit: float | None = None) -> tuple[float, float]:
        """The delay (s) that all sampled laws that set inputs of the plant bear together beyond their own, and the
        frequency (rad/s) that then does not decay.

        limit : s, up to which it is looked for, by default 20 periods; infinity where the loop bears it.

        Raises ModelError: a loop without sampled laws, or one that is not stable.
        """
        from scipy.optimize import brentq

        if not self._sampled:
            raise ModelError("largest delay: is of sampled laws; margins() gives the delay margins of continuous ones")
        if not self.stable:
            raise ModelError(f"largest delay: the loop is not stable: a pole grows by {self.growth():.4g} 1/s")
        period = min(map(period_of, self._sampled))
        limit = 20.0 * period if limit is None else limit

        def growth(delay: float) -> float:
            return self.delayed(delay).growth()

        before = 0.0
        for delay in np.append(np.arange(0.25 * period, limit, 0.25 * period), limit):
            if growth(delay) >= 0.0:
                found = brentq(growth, before, delay, xtol=1e-13, rtol=1e-13)
                poles = self.delayed(found).poles()
                return float(found), float(abs(poles[np.argmax(poles.real)].imag))
            before = float(delay)
        return np.inf, np.nan

    # Margins

    @property
    def channels(self) -> tuple[str, ...]:
        """The names of the channels at which the loop can be opened."""
        return tuple(name for law in self._main for name in law.openings)

    @property
    def _main(self) -> list[LinearLaw]:
        """The laws that set inputs of the plant."""
        return [law for law in self.laws if any(name in self.plant.inputs for name in law.outputs)]

    def opened(self, channel: str) -> OpenedLoop | InjectedLoop:
        """The loop opened at a channel, all others closed; at one of a continuous law beside sampled ones, where a
        sinusoid gives all its aliases, that which an injected sinusoid measures.

        Raises ModelError: an unknown channel.
        """
        law = next((each for each in self._main if channel in each.openings), None)
        if law is None:
            raise ModelError(f"loop: no channel {absent(channel, self.channels)}")
        direction, weight = law.openings[channel]
        if law.period is None:
            plant = with_continuous(self.core, self._continuous, (law, direction, weight))
            if self._sampled:
                return self._injected(plant)
            return OpenedLoop(plant.A, plant.B[:, -1:], plant.C[-1:], plant.D[-1:, -1:], None)
        plant = with_continuous(self.core, self._continuous)
        motion = SampledMotion(plant, self._sampled)
        end, queues = motion.common_period(), motion.waiting()
        count = round(end / law.period)
        blocks = motion.blocks(queues, more=count)
        size = blocks.x.shape[1] - count
        tap = Tap(self._sampled.index(law), direction, weight, slice(size, size + count))
        taken = np.array(motion.over(blocks, motion.instants(end), end, tap=tap)).reshape(count, size + count)
        whole = blocks.stacked()
        return OpenedLoop(whole[:, :size], whole[:, size:], taken[:, :size], taken[:, size:], law.period)

    def _injected(self, opened: StateSpace) -> InjectedLoop:
        """The loop of a continuous channel beside sampled laws; opened : the plant with w and l.u as its last input and
        output."""
        # w = l.u + e acts, and is the last output
        through = 1.0 / (1.0 - opened.D[-1, -1])
        closing = through * np.vstack([opened.B[:, -1:], opened.D[:, -1:]])
        row = np.hstack([opened.C[-1], opened.D[-1, :-1], 1.0])[None]
        n = len(opened.states)
        whole = np.block([[opened.A, opened.B[:, :-1], np.zeros((n, 1))],
                          [opened.C, opened.D[:, :-1], np.zeros((len(opened.C), 1))]]) + closing @ row  # fmt: skip
        whole[-1] = through * row[0]
        plant = replace(opened, A=whole[:n, :n], B=whole[:n, n:], C=whole[n:, :n], D=whole[n:, n:], truncation=None)
        period = self._period_matrix[2]
        assert period is not None
        own = np.linalg.eigvals(opened.A).astype(complex)
        entering, last = np.eye(len(plant.inputs), dtype=complex)[-1], [len(plant.C) - 1]
        return InjectedLoop(
            lambda w: complex(fundamental(plant, self._sampled, w, entering, last)[0]), self.poles(), own, period
        )

    @spared(lambda loop: len(loop.plant.states))
    def margins(self, channels: Iterable[str] | None = None) -> list[Margins]:
        """The margins at each of the ``channels``, names, by default at all that have an effect."""
        effective = (name for name in self.channels if name not in self.without_effect)
        return [margins_of(name, self.opened(name)) for name in (effective if channels is None else channels)]

    # Responses

    @spared(lambda loop: len(loop.plant.states))
    def closed(self, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None) -> StateSpace:
        """The closed loop as a state space; of sampled laws the exact one over their common period, its dt.

        Parameters:
            inputs: names of inputs of the plant, which add to the commands, and of inputs of laws followed by " error",
                which add to what these read; by default all inputs of the plant. Both are constant between samples of
                the closed loop.
            outputs: names, by default all; they are those before anything changes at a sample.
        """
        names = self.plant.inputs if inputs is None else tuple(inputs)
        added = [name for name in names if not name.endswith(" error")]
        errors = [name.removesuffix(" error") for name in names if name.endswith(" error")]
        read = {name for law in self.laws for name in law.inputs}
        for name in errors:
            if name not in read:
                raise ModelError(f"loop: no law reads {name!r}{nearest(name, sorted(read))}, so that it has no error")
        set_ = [name for law in self.laws for name in law.outputs if name in self.plant.inputs]
        all_outputs = self.plant.outputs if outputs is None else tuple(outputs)
        seen = [name for law in self.laws for name in law.inputs if name in self.plant.outputs]
        whole_plant = part_of(self.plant, [*dict.fromkeys([*set_, *added])], [*dict.fromkeys([*all_outputs, *seen])])
        plant = with_continuous(whole_plant.in_form(), self._continuous, errors=tuple(dict.fromkeys(errors)))
        rows = [plant.index("outputs", name) for name in all_outputs]
        if not self._sampled:
            columns = [plant.index("inputs", name) for name in names]
            closed = replace(plant, B=plant.B[:, columns], C=plant.C[rows], D=plant.D[np.ix_(rows, columns)],
                inputs=names, outputs=all_outputs, unsteady=self.plant.unsteady,
                damping=self.plant.damping)  # fmt: skip
            return _named(closed, whole_plant, set_, seen)
        motion = SampledMotion(plant, self._sampled)
        end, queues = motion.common_period(), motion.waiting()
        count = len(names)
        blocks = motion.blocks(queues, more=count)
        size = blocks.x.shape[1] - count
        more = np.zeros((len(plant.inputs), size + count))
        of_laws = [np.zeros((len(law.inputs), size + count)) for law in self._sampled]
        for k, name in enumerate(names):
            if name in plant.inputs:
                more[plant.index("inputs", name), size + k] = 1.0
            for law, part in zip(self._sampled, of_laws, strict=True):
                if name.removesuffix(" error") in law.inputs and name.endswith(" error"):
                    part[law.inputs.index(name.removesuffix(" error")), size + k] = 1.0
        y = motion.outputs(blocks, more)[rows]
        motion.over(blocks, motion.instants(end), end, more, of_laws)
        whole = blocks.stacked()
        states = tuple(loop_states(plant, self._sampled, queues))
        closed = StateSpace(
            whole[:, :size], whole[:, size:], y[:, :size], y[:, size:], states, names, all_outputs,
            units=self.plant.units, unsteady=self.plant.unsteady, dt=end, title=self.plant.title,
            damping=self.plant.damping,
        )  # fmt: skip
        return _named(closed, whole_plant, set_, seen)

    @spared(lambda loop: len(loop.plant.states))
    def simulate(
        self,
        duration: float,
        *,
        start: Mapping[str, float] | None = None,
        added: Mapping[str, float] | None = None,
        times: ArrayLike | None = None,
    ) -> LoopRun:
        """The exact motion from a state, with no commands held or waiting at time 0; sensors have the values of that
        state.

        Parameters:
            duration: s, of the motion.
            start: values of states of the plant by name, in SI units, the others zero; of a body that nothing else
                holds, displacements and rates carry along, as rigid bodies, all that hangs together with it.
            added: constant inputs of the plant by name, in SI units, beside the commands.
            times: (k,) s, by default those of samples and of commands that begin to act; others are instants at which
                nothing happens.

        Raises:
            ModelError: a duration that is not positive, unknown names.
        """
        if number_problem(duration) or duration <= 0.0:
            raise ModelError(f"loop: duration: got {shown(duration)}, wanted seconds, above 0")
        plant = with_continuous(self.plant.in_form(), self._continuous)
        named = (*self.plant.states, *plant.states[len(plant.states) - sum(len(law.A) for law in self._continuous) :])
        x, more = np.zeros((len(named), 1)), np.zeros((len(plant.inputs), 1))
        for name, value in (start or {}).items():
            x[place_of(named, name), 0] = value
        self._carry(x, start or {})
        for name, value in (added or {}).items():
            more[plant.index("inputs", name), 0] = value
        motion = SampledMotion(plant, self._sampled)
        blocks = motion.start()
        if (known := self.plant.known) is not None:
            k = len(self.plant.states)
            x = np.vstack([known.form.inverse @ x[:k], x[k:]])
        blocks.x = x
        motion.begin(blocks, more)
        instants = motion.instants(duration * (1.0 + 1e-9), 0.0)
        if times is not None:
            instants = merged(instants, np.unique(np.asarray(times, dtype=float)))
        elif not instants or not self._sampled:
            instants = [LoopInstant(float(t), (), ()) for t in np.linspace(0.0, duration, 201)]
        rows: list[tuple[float, Floats, Floats]] = []
        t = 0.0
        for at in instants:
            motion.advance(blocks, at.time - t, more)
            y, t = motion.outputs(blocks, more)[:, 0], at.time
            motion.happen(blocks, at, more)
            rows.append((t, y, motion.commands(blocks)[:, 0]))
        time, values, commands = (np.array([row[k] for row in rows]) for k in range(3))
        if times is not None:
            chosen = np.isin(time, np.asarray(times, dtype=float))
            time, values, commands = time[chosen], values[chosen], commands[chosen]
        return LoopRun(time, values, commands, plant.outputs, plant.inputs)

    def _carry(self, x: Floats, start: Mapping[str, float]) -> None:
        """Add to states x (n, 1), in which bodies have their values of ``start``, what goes along with these."""
        if (known := self.plant.known) is None or not isinstance(known.form, ModalForm):
            return
        states, names = self.plant.states, known.form.model.names
        for of in ("", " rate"):
            for body in {name.rpartition(".")[0] for name in start if name.removesuffix(" rate") in names}:
                given = {name: start.get(f"{name}{of}", 0.0) for name in names if name in six_of(body)}
                carried = known.form.carried(given) if any(given.values()) else None
                for name, value in zip(names, carried if carried is not None else (), strict=carried is not None):
                    if name not in given and f"{name}{of}" in states:
                        x[states.index(f"{name}{of}"), 0] += value

    # What is shown

    def to_control(self) -> Any:
        """The plant as its laws see it, as control.StateSpace: its outputs at samples by the commands of samples, with
        their delay; of continuous laws the plant itself. Inputs and outputs are those of the laws, and what is
        conserved is left out. Sensors and filters without a delay, of the same samples, are parts of the laws.

        Raises ModelError: laws of several periods, phases or delays; python-control is not installed.
        """
        measured = {name for law in self.laws for name in law.inputs}
        inside = [law for law in self.laws if law.delay == 0.0 and law.outputs and measured.issuperset(law.outputs)]
        acting = [law for law in self.laws if law not in inside] or self.laws
        clocks = {(law.period, law.phase, law.delay) for law in acting}
        clocks |= {(law.period, law.phase, acting[0].delay) for law in inside}
        if len(clocks) > 1:
            raise ModelError("loop: laws of several periods, phases or delays see no single plant: take plant.sampled")
        period, _, delay = clocks.pop()
        return (self.core if period is None else self.core.sampled(period, delay)).to_control()

    @spared(lambda loop: len(loop.plant.states))
    def table(self) -> str:
        """Laws, poles, and the margins at each channel."""
        return loop_table(self, self.margins())

    def draw(
        self, path: str | Path, what: str = "all", *, margins: Sequence[Margins] | None = None, dpi: int = 150
    ) -> Path:
        """Draw the loop to a picture file.

        Parameters:
            path: of the picture.
            what: "bode", "nichols", "nyquist", "poles", or "all" of them.
            margins: of the channels that are shown, by default all of them.
            dpi: dots per inch.

        Raises:
            ResultError: unknown content, or a file that cannot be written.
        """
        from femb.pictures.drawing import save
        from femb.pictures.loop import draw_loop

        if margins is None:
            margins = [] if what == "poles" else self.margins()
        marks = [(mode.name, mode.omega) for mode in self.modes()]
        figure = draw_loop(what, margins, marks, self.poles(), self._period_matrix[2], self.plant.title)
        return save(figure, Path(path), dpi)

    def write(self, path: str | Path, margins: Sequence[Margins] | None = None) -> Path:
        """Write the closed loop and its margins to a .npz, a .mat or a results file .h5; returns the path.

        The closed loop is as ``StateSpace.write`` has it. poles_real, poles_imaginary : 1/s. Of each channel k
        from 1 on margins_K_crossovers and so on, as in ``Margins``, and margins_K_sensitivity, the frequency (rad/s)
        and the height of the peak; channels : their names.

        Parameters:
            path: of the file.
            margins: by default those of all channels.
        """
        return write_arrays(path, self._arrays(self.margins() if margins is None else margins), FORMATS, group="linear")

    def _arrays(self, margins: Sequence[Margins]) -> dict[str, Any]:
        poles = self.poles()
        found = self.closed().arrays() | {"poles_real": poles.real, "poles_imaginary": poles.imag}
        found["channels"] = tuple(each.channel for each in margins)
        for k, each in enumerate(margins):
            for word in ("crossovers", "phase_margins", "delay_margins", "phase_crossovers", "gain_margins"):
                found[f"margins_{k + 1}_{word}"] = getattr(each, word)
            found[f"margins_{k + 1}_sensitivity"] = np.array([each.at, each.sensitivity])
        return found


# Names and numbers


def _named(closed: StateSpace, plant: StateSpace, set_: Sequence[str], read: Sequence[str]) -> StateSpace:
    """A loop that was closed in the modes of a plant, by the states of this; laws ``set_`` inputs, and ``read``."""
    if (known := plant.known) is None:
        return closed
    form, of = known.form, plant.in_form()
    more = np.eye(len(closed.A) - form.change.shape[1])
    change, inverse = block_diag(form.change, more), block_diag(form.inverse, more)
    own = ClosedForm(closed.A, closed.B, closed.C, change, inverse)
    if isinstance(form, KnownForm):
        driven = of.B[:, [of.index("inputs", name) for name in set_]]
        rows = of.C[[of.index("outputs", name) for name in read]]
        own = LoopForm(*own.matrices, change, inverse, form, driven, rows)
    names = (*plant.states, *closed.states[form.change.shape[1] :])
    named = replace(closed, A=change @ closed.A @ inverse, B=change @ closed.B, C=closed.C @ inverse, states=names)
    return replace(named, form=InModes(own, named.A, named.B, named.C))


def _without_zeros(matrix: Floats) -> Floats:
    """A matrix with the same eigenvalues but those at zero, which rounding would spread where they are multiple."""
    while len(matrix):
        none = np.zeros((len(matrix), 0))
        scale = scales(matrix, none, none.T)[0]
        zero = null_space(matrix * scale / scale[:, None])
        if not zero.shape[1]:
            return matrix
        matrix = matrix * scale / scale[:, None]
        rest = null_space(zero.T)
        matrix = rest.T @ matrix @ rest
    return matrix


def loop_table(of: Loop, margins: Sequence[Margins]) -> str:
    """Laws, poles, and the margins of channels, as text."""
    poles = of.poles()
    growing = poles[poles.real >= STABLE * np.maximum(np.abs(poles), 1.0)]
    verdict = "stable" if not len(growing) else f"not stable: {numbered(len(growing), 'pole')} without decay"
    if of.staying and not len(growing):
        poles_at = f"{numbered(of.staying, 'pole')} at zero that no conserved momentum or free motion explains"
        verdict = f"not asymptotically stable: {poles_at}, so that an error stays for ever"
    setting = [any(name in of.plant.inputs for name in law.outputs) for law in of.laws]
    sensing = [all(name.startswith("sensors.") for name in law.outputs) for law in of.laws]
    count = len(of.laws) - sum(sensing)
    counts = numbered(count, "controller") + (f" and {numbered(sum(sensing), 'sensor')}" if any(sensing) else "")
    lines = [f"{counts}; the closed loop is {verdict}"]
    if len(growing) and np.all(np.abs(growing) < of.plant.smallest_pole):
        most = f"{np.max(np.abs(growing)):.2g} rad/s at most"
        rounding = f"these are what rounding leaves of zero beside the fastest vibration, {most}"
        lines.append(f"{rounding}: take the plant in modes (--modes, modes=)")
    if of.plant.damping:
        lines.append(f"damping: {of.plant.damping}")
    if of.plant.unsteady:
        lines.append(f"about a state that is not steady: {of.plant.unsteady}")
    if of.without_effect:
        lines.append(f"without effect at this state: {', '.join(of.without_effect)}")
    if of.commands:
        names = sorted(of.commands, key=lambda name: -abs(of.commands[name]))[:FAST]
        ends = [f"{of.plant.units.get(x, '').strip('-')}{' (at its limit)' * (x in of.limited)}".strip() for x in names]
        said = [f"{x} {of.commands[x]:.4g} {end}".rstrip() for x, end in zip(names, ends, strict=True)]
        lines.append(f"commanded at this state: {', '.join(said)}; laws act on changes about it")
    for law, sensor, main in zip(of.laws, sensing, setting, strict=True):
        clock = "continuous" if law.period is None else f"every {law.period:.6g} s, delay {law.delay:.6g} s"
        reads, sets = numbered(len(law.inputs), "signal"), numbered(len(law.outputs), "command" if main else "output")
        kind = "sensor" if sensor else "controller"
        lines.append(f"{kind} {law.name}: {clock}; {reads}, {sets}, {numbered(len(law.A), 'state')}")
    for law, main in zip(of.laws, setting, strict=True):
        fast = [f"{mode.number}" for mode in of.modes() if main and law.period and mode.omega > np.pi / law.period]
        if fast:
            listed = ", ".join(fast[:FAST]) + (", ..." if len(fast) > FAST else "")
            lines.append(f"{law.name}: vibrations above half its rate, as slow ones to it unless filtered: {listed}")
    if of.conserved:
        lines.append(f"{numbered(of.conserved, 'eigenvalue')} without effect on the loop: conserved, or unseen")
    lines += ["", *pole_lines(poles)]
    modes = of.modes()
    if modes:
        lines += ["", "vibrations without control", f"{'mode':>4}{'frequency Hz':>14}{'damping':>11}  moves most"]
        for mode in modes:
            damping = f"{0.0 - float(without_rounding(np.array(mode.eigenvalue.real), mode.omega)) / mode.omega:11.3g}"
            lines.append(f"{mode.number:4d}{mode.omega / (2.0 * np.pi):14.6g}{damping}  {mode.items}")
    for each in margins:
        lines += ["", *each.lines(of.nearest_mode)]
    return "\n".join(lines)
