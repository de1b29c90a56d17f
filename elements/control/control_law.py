"""Laws of controllers in a layout: what they read, the commands that they set, and their next states."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import numbered, without_rounding
from femb.elements.control.errors import Errors
from femb.elements.control.linear_law import LinearLaw, Realisation
from femb.elements.control.sample_kernels import linear_step
from femb.elements.control.signals import AXES, Moment, Signal, law_outputs
from femb.layout.commands import Command, TakesCommands
from femb.layout.layout import Layout
from femb.layout.views import ModelView, StateView


class Setting(NamedTuple):
    """A command that a controller sets: of an item, by its word, from a part of the controller's outputs."""

    item: TakesCommands
    word: str
    command: Command
    part: slice

    @property
    def label(self) -> str:
        return f"{self.item.table}.{self.item.name}.{self.word}"


class InLoop(Protocol):
    """The members of a controller (``femb.elements.control.controller.Controller``) that laws and batches need."""

    @property
    def table(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def period(self) -> float | None: ...
    @property
    def phase(self) -> float: ...
    @property
    def delay(self) -> float: ...
    @property
    def atol(self) -> float: ...
    @property
    def schedule(self) -> "Any | None": ...

    def settings(self, layout: Layout, model: ModelView) -> "list[Setting]":
        """Its commands."""

    def start_state(self, layout: Layout, model: ModelView) -> Floats:
        """(n,) its state at the start."""

    def law(self, layout: Layout, model: ModelView) -> "Law":
        """Its law."""


class Matrices(NamedTuple):
    """The matrices of a linear law at one instant; tracking (n, k) or None."""

    realisation: Realisation
    tracking: Floats | None


class Law:
    """The law of a controller in a layout: commands and next state by the time, what it reads, and its state."""

    def read(self, t: float, state: StateView, discrete: Mapping[str, Floats]) -> Floats:
        """(m,) what the law reads at time t (s)."""
        raise NotImplementedError

    def step(self, t: float, y: Floats, x: Floats, sample: int) -> tuple[Any, Any]:
        """Commands u (k,) and the next state x (n,)."""
        raise NotImplementedError


class LinearControl(Law):
    """u = C x + D y of errors y; x+ = A x + B y at samples, or x' = A x + B y.

    realisation : A, B, C, D, by the errors. errors : what the law reads. limits (k,) : of the commands. integrals (n,)
    : which of the states are held at samples while a command is at its limit. allocation (k, 3) : from the torque to
    the commands of wheels. tracking (n, k) : by which what a limit takes from the commands changes the states, added to
    A x + B y, in place of holding them.
    """

    def __init__(
        self,
        realisation: Realisation,
        errors: Errors,
        limits: Floats,
        integrals: Floats | None = None,
        allocation: Floats | None = None,
        tracking: Floats | None = None,
    ) -> None:
        self.realisation = Realisation(*(np.atleast_2d(np.asarray(each, dtype=float)) for each in realisation))
        self.errors, self.integrals, self.allocation = errors, integrals, allocation
        self.tracking = tracking
        # without commands that it sets, nothing limits its outputs
        self.limits = limits if limits.size else np.full(len(realisation.D), np.inf)
        held = np.zeros(len(realisation.A), dtype=bool) if integrals is None else integrals
        leads = np.zeros((0, 0)) if tracking is None else tracking
        # of the kernel ``linear_step``, which takes arrays of one kind
        self.arrays = tuple(np.array(each, order="C") for each in (*self.realisation, self.limits, held, leads))

    def check_sizes(self, item: InLoop, layout: Layout, model: ModelView) -> None:
        """Raise ModelError where its arrays do not fit the state at the start, what the controller reads, and its
        commands: kernels do not look at sizes."""
        n, m = np.size(item.start_state(layout, model)), self.errors.width
        settings = item.settings(layout, model)
        k = sum(each.command.width for each in settings) if settings else len(self.realisation.D)
        held = np.zeros(n) if self.integrals is None else self.integrals
        wanted: dict[str, tuple[Any, tuple[int, ...]]] = dict(
            zip("ABCD", zip(self.realisation, ((n, n), (n, m), (k, n), (k, m)), strict=True), strict=True)
        )
        wanted |= {"limits": (self.limits, (k,)), "integrals": (held, (n,))}
        if self.tracking is not None:
            wanted["tracking"] = self.tracking, (n, k)
        wanted["reference"] = self.errors.reference(0.0), (self.errors.count,)
        if self.errors.constant is not None:
            wanted["constant reference"] = self.errors.constant, (self.errors.count,)
        for word, (array, shape) in wanted.items():
            if np.shape(array) != shape:
                text = f"law: {word}: got an array {np.shape(array)}, wanted {shape}"
                read = ", ".join(f"{each.name} ({each.width})" for each in self.errors.signals) or "nothing"
                sets = ", ".join(f"{each.label} ({each.command.width})" for each in settings) or "nothing"
                states = f"it has {numbered(n, 'state')} by its start_state, reads {read} and sets {sets}"
                raise ModelError.at((item.table, item.name), f"{text}: {states}")

    # over which its matrices are a table
    signal: Signal | None = None

    def place(self, state: StateView | Moment) -> float:
        """The value of that signal at a state; zero without a schedule."""
        return 0.0 if self.signal is None else float(self.signal.value(state, {})[0])  # type: ignore[arg-type]

    def matrices(self, x: float) -> Matrices:
        """Its matrices where the signal of its schedule is x."""
        return Matrices(self.realisation, self.tracking)

    def read(self, t: float, state: StateView, discrete: Mapping[str, Floats]) -> Floats:
        values = [each.value(state, discrete) for each in self.errors.signals]
        return self.errors.of(values, self.errors.reference(t))

    def step(self, t: float, y: Floats, x: Floats, sample: int) -> tuple[Floats, Floats]:
        u, new = np.empty(len(self.limits)), np.empty(len(x))
        linear_step(self.arrays, x, y, u, new)
        return u, new

    def on_plant(self, item: InLoop, layout: Layout, model: ModelView, at: Moment | None = None) -> LinearLaw:
        """The law on the outputs and inputs of the linear plant, about the reference at the start.

        at : the state of which a schedule has its gains, by default the start.
        """
        from scipy.linalg import block_diag

        A, B, C, D = self.realisation
        if self.integrals is not None and (rank := int(np.linalg.matrix_rank(C))) < len(A):
            # integrals that no command follows, as about axes without a wheel
            seen = np.linalg.svd(C)[2][:rank]
            A, B, C = seen @ A @ seen.T, seen @ B, C @ seen.T
        names: list[str] = []
        gains = []
        for signal in self.errors.signals:
            if not signal.linear:
                raise ModelError.at((item.table, item.name), f"reads {signal.name!r}, which has no linear form")
            names += signal.linear
            gains.append(np.eye(len(signal.linear)) if signal.gain is None else signal.gain)
        derivatives = self.errors.derivatives(self.errors.at_reference(), self.errors.reference(0.0))
        inputs, merge = _merged(names)
        S = np.hstack(derivatives) @ block_diag(*gains) @ merge
        outputs, scales = self._outputs(item, layout, model)
        scale = (np.array(scales) * self._shares(item, layout, model))[:, None]
        channels = () if self.allocation is None else tuple(f"{item.name}.{axis}" for axis in AXES)
        return LinearLaw(
            item.name, A, B @ S, scale * C, scale * (D @ S), item.period, item.phase, item.delay,
            inputs, tuple(outputs), allocation=self.allocation, channels=channels,
        )  # fmt: skip

    def _outputs(self, item: InLoop, layout: Layout, model: ModelView) -> tuple[list[str], list[float]]:
        """The inputs of the plant that the law sets, and the factors from its commands to them; without commands the
        names by which other laws read it."""
        outputs: list[str] = []
        scales: list[float] = []
        for setting in item.settings(layout, model):
            command, count = setting.command, setting.command.width
            outputs += [command.input] if count == 1 else [f"{command.input}.{k}" for k in range(count)]
            scales += [1.0 / item.period if command.per_period and item.period else 1.0] * count
        if not outputs:
            outputs = list(law_outputs(f"controllers.{item.name}", len(self.realisation.D)))
            scales = [1.0] * len(outputs)
        return outputs, scales

    def _shares(self, item: InLoop, layout: Layout, model: ModelView) -> Floats:
        """(k,) parts of their derivatives that commands have at the reference: of those that are shut there none, of
        those to one side alone one half, max(u, 0) = (u + |u|)/2. Raises ModelError: effects of |u| are left."""
        (_, _, C, D), shares = self.realisation, np.ones(len(self.realisation.D))
        x, y = item.start_state(layout, model), self.errors.of(self.errors.at_reference(), self.errors.reference(0.0))
        at = without_rounding(C @ x + D @ y, np.abs(C) @ np.abs(x) + np.abs(D).sum(axis=1))
        gains, settings = np.hstack([C, D]), item.settings(layout, model)
        sides = [(each, k) for each in settings if each.command.least > -np.inf for k in range(len(D))[each.part]]
        shares[[k for _, k in sides]] = [at[k] >= each.command.least if at[k] else 0.5 for each, k in sides]
        closed = [(each, k, float(np.linalg.norm(gains[k]))) for each, k in sides if not at[k]]
        for setting, k, size in closed:
            # |u| of commands whose gains are along each other add, and no others cancel
            alike = [
                (each, part, effect)
                for each, j, part in closed
                if (effect := each.command.effect) is not None
                and not without_rounding(np.outer(gains[k], gains[j]) - np.outer(gains[j], gains[k]), size * part).any()
            ]
            frames = np.array([frame for _, _, (frame, _) in alike])
            effects = np.array([part * effect for _, part, (_, effect) in alike])
            if without_rounding((frames[:, None] == frames) @ effects, np.max(np.abs(effects), initial=0.0)).any():
                listed = ", ".join(f"{each.label} {part * np.linalg.norm(e[:3]):.4g}" for each, part, (_, e) in alike)
                raise ModelError.at(
                    (item.table, item.name),
                    f"sets {setting.label!r}, which acts above zero alone, and is zero at its reference, without a "
                    "derivative: wanted others in the same law whose forces and torques times gains are opposite; got "
                    f"the impulses (N s) by unit input {listed}: take equal ones on one line, or give a LinearLaw",
                )
        return shares


def _merged(names: Sequence[str]) -> tuple[tuple[str, ...], Floats]:
    """Names without repetitions, and the matrix from their values to those of all."""
    unique = tuple(dict.fromkeys(names))
    return unique, np.array([[float(name == each) for each in unique] for name in names]).reshape(-1, len(unique))
