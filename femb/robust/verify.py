"""Worst parameters run in time: the decay of the slowest motion of a loop beside that of its pole.

The nonlinear model starts a little along the motion of the pole. Poles of the recorded signals are those of the matrix
that leads from one window of samples to the next (a matrix pencil), on the space of their largest singular vectors.
Source: docs/theory/robust.md, section 6; Y. Hua, T. K. Sarkar, IEEE Trans. ASSP 38 (1990) 814.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.html import Tabled
from femb.base.types import Complexes, Floats
from femb.base.values import numbered, shallow_copy
from femb.elements.control.laws import LinearController
from femb.elements.control.linear_law import Realisation
from femb.linear.begin import operating_point
from femb.linear.linearise import changed, laws_of, loop, with_gains_of, without_commands
from femb.linear.loop import STABLE, Loop
from femb.linear.second_order import chart_of
from femb.model.model import Model
from femb.results.names import named
from femb.results.results import Results
from femb.robust.worst import WorstCases
from femb.run.simulate import simulate
from femb.study.sensitivity import CaseFamily, read_either
from femb.study.study import Build, Study
from femb.vibration.completion import system_of

# Of coordinates (m or rad) at the start; run for so many periods, or times of decay, and samples of a period.
SMALL, PERIODS, DECAYS, SAMPLES = 1e-4, 4.0, 0.5, 24
# Of the largest singular value of the signals: smaller ones are rounding of a run.
NOISE = 1e-6
# Of a pole, what it differs from one of the plant that no law moves.
SAME = 1e-6
RATES = ("velocity", "angular_velocity")
FOLLOWED = ("reference", "setpoint")
# Errors of sensors, larger than what moves: they do not act.
ERRORS = {"noise": 0.0, "roll_noise": 0.0, "angle_random_walk": 0.0, "rate_random_walk": 0.0, "bias": 0.0,
          "quantum": None}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Decay:
    """The slowest pole of a loop (1/s) at values of its parameters, and that of its run in time.

    quantity, channel : of the worst case with these ``parameters``. phases : degrees, of its unmodelled dynamics.
    """

    quantity: str
    channel: str
    parameters: Mapping[str, float]
    phases: Mapping[str, float]
    pole: complex
    run: complex

    @property
    def difference(self) -> float:
        """The relative difference of the decays."""
        return self.run.real / self.pole.real - 1.0


@dataclass(frozen=True, eq=False)
class Verified(Tabled):
    """Worst cases of a loop run in time; decays : of each set of parameters. alone : why unmodelled dynamics, if any,
    are left out. slower : rad/s, of motions that no law moves and that decay slower than those that are run."""

    decays: tuple[Decay, ...]
    alone: str = ""
    slower: tuple[float, ...] = ()

    def table(self) -> str:
        """A row for each set of parameters."""
        names = [f"{each.quantity.replace('_', ' ')} {each.channel}".strip() for each in self.decays]
        width = max(map(len, (*names, "run in time")))
        lines = [f"{'run in time':{width}}{'decay 1/s':>12}{'of its pole':>13}{'difference':>12}{'rad/s':>10}"]
        for name, each in zip(names, self.decays, strict=True):
            values = f"{-each.run.real:12.6g}{-each.pole.real:13.6g}{100.0 * each.difference:10.2g} %"
            values += f"{abs(each.run.imag):10.5g}"
            parts = [f"{k} = {v:.6g}" for k, v in each.parameters.items()]
            at = ", ".join([*parts, *(f"{k} at {v:.0f} deg" for k, v in each.phases.items())])
            lines.append(f"{name:{width}}{values}  {at}")
        if self.alone:
            lines.append(f"without unmodelled dynamics: {self.alone}")
        if self.slower:
            found = numbered(len(self.slower), "motion")
            lines.append(f"not run: {found} that no law moves and that decay slower, from {min(self.slower):.6g} rad/s")
        return "\n".join(lines)


def verify(
    worst: WorstCases, case: Study | Build | str | Path, *, overrides: Iterable[str] = (), **point: Any
) -> Verified:
    """Run the worst parameters of a loop in time, each set once, by sensors without noise, bias and rounding.

    Unmodelled dynamics of continuous loops act behind or before the laws, with the phases of the worst case.

    Parameters:
        worst: of ``femb.worst`` of the same case.
        case: as in ``femb.worst``, with the controllers of the loop.
        overrides: likewise.
        point: options of ``femb.operating_point``.

    Raises:
        ModelError: a case without controllers, of which laws alone were given; a loop that does not decay.
    """
    study = read_either(case, overrides)
    family = CaseFamily(study, {each.name: each.of.parameter for each in worst.of.ranges}, {})
    point.setdefault("start", family.nominal.start)
    ranges = {each.name: each.of for each in worst.of.ranges}
    found: dict[tuple[float, ...], Decay] = {}
    slower: tuple[float, ...] = ()
    sampled = any(law.period is not None for law in worst.of.laws)
    for each in worst.cases:
        phases = {} if sampled else each.phases
        key = (*each.parameters.values(), *(round(x, 6) for x in phases.values()))
        if not key or key in found or each.quantity == "stability_radius":
            continue
        entries: dict[str, Any] = {}
        for name, value in each.parameters.items():
            entries |= ranges[name].entries(value)
        model = with_gains_of(family.analyses(entries).described.model, family.nominal.described.model)
        made = [block.realised(phases[block.name], each.omega) for block in worst.of.blocks if phases]
        pairs = [(block.at, error) for block, error in zip(worst.of.blocks, made, strict=False)]
        *poles, others = _decays(model, point, pairs)
        found[key] = Decay(each.quantity, each.channel, each.parameters, phases, *poles)
        slower = max(slower, others, key=len)
    return Verified(tuple(found.values()), "the loop is sampled" if sampled and worst.of.blocks else "", slower)


def _decays(
    model: Model, point: Mapping[str, Any], errors: Sequence[tuple[str, Realisation]]
) -> tuple[complex, complex, tuple[float, ...]]:
    """The slowest pole of the loop of a model that laws move, 1/s, that of its run, and rad/s of slower ones.

    errors : of inputs and outputs by name.
    """
    model = changed(without_commands(model, point.get("t", 0.0))[0], _exact)
    model = _with_errors(model, errors) if errors else model
    of = loop(model, **point)
    poles = of.poles()
    grows = poles.real > STABLE * np.maximum(np.abs(poles), 1.0)
    unmoved = np.array([_unmoved(of, pole) for pole in poles]) & ~grows
    moved = poles if np.all(unmoved) else poles[~unmoved]
    pole = complex(moved[np.argmax(moved.real)])
    if pole.real >= 0.0:
        raise ModelError(f"verify: the pole {pole:.4g} 1/s does not decay")
    size = max(abs(pole.imag), -pole.real)
    duration = max(PERIODS * 2.0 * np.pi / size, DECAYS / -pole.real)
    interval = 2.0 * np.pi / size / SAMPLES
    moved = _moved(model, of, pole, point)
    results = simulate(moved, duration=duration, output_interval=interval, rtol=1e-9, atol=1e-12)
    signals = _signals(results)
    measured = poles_of(signals, interval)
    pole = pole.conjugate() if pole.imag < 0.0 else pole
    slower = tuple(float(x.imag) for x in poles[unmoved] if x.imag > 0.0 and x.real > pole.real)
    return pole, complex(measured[np.argmin(np.abs(measured - pole))]), slower


def _unmoved(of: Loop, pole: complex) -> bool:
    """Whether a pole is one of the plant alone, of sampled laws at the instants of samples."""
    own, period = of.plant.eigenvalues(), of.common_period
    if period is None:
        return bool(np.min(np.abs(own - pole), initial=np.inf) <= SAME * max(abs(pole), 1.0))
    return bool(np.min(np.abs(np.exp(own * period) - np.exp(pole * period)), initial=np.inf) <= SAME)


def _with_errors(model: Model, errors: Sequence[tuple[str, Realisation]]) -> Model:
    """The model whose continuous laws have errors of what they set or read."""
    laws = {law.name: law for law in laws_of(system_of(model))}

    def with_errors(item: Any) -> Any:
        law = laws.get(item.name) if item.table == LinearController.table else None
        if law is None or not any(at in (*law.inputs, *law.outputs) for at, _ in errors):
            return item
        if any(getattr(item, word, None) is not getattr(type(item), word, None) for word in FOLLOWED):
            text = "follows a reference: unmodelled dynamics are run with laws that hold zero"
            raise ModelError(f"verify: controllers.{item.name} {text}")
        own = Realisation(law.A, law.B, law.C, law.D)
        for at, error in errors:
            if at in law.outputs:
                own = own.then(error.on_one(law.outputs.index(at), len(law.outputs)))
            elif at in law.inputs:
                own = error.on_one(law.inputs.index(at), len(law.inputs)).then(own)
        return LinearController(item.name, *own, inputs=item.reads, outputs=item.sets)

    return changed(model, with_errors)


def _exact(item: Any) -> Any:
    """An item, of sensors without errors."""
    wrong = [word for word in ERRORS if hasattr(item, word)] if hasattr(item, "sample_errors") else []
    if not wrong:
        return item
    found = shallow_copy(item)
    for word in wrong:
        object.__setattr__(found, word, ERRORS[word])
    return found


def _moved(model: Model, of: Any, pole: complex, point: Mapping[str, Any]) -> Any:
    """The system of a model that starts a little along the motion of a pole."""
    closed = of.closed((), ())
    values, vectors = np.linalg.eig(closed.A)
    # commands that wait have multipliers of zero, which have no pole
    motion = vectors[:, np.argmin(np.abs(values - (pole if closed.dt is None else np.exp(pole * closed.dt))))]
    at = operating_point(model, **point)
    chart = chart_of(at)
    p, w = np.zeros((2, chart.H.shape[1]))
    n = len(of.plant.states)
    largest = np.argmax(np.abs(motion[:n]))
    real = (motion[:n] * np.exp(-1j * np.angle(motion[largest]))).real
    real *= SMALL / np.max(np.abs(real))
    for name, value in zip(of.plant.states, real, strict=True):
        word = name.removesuffix(" rate")
        if word in chart.names:
            (p if word == name else w)[chart.names.index(word)] = value
    return at.system.starting_at(*chart.retract(p, w))


def _signals(results: Results) -> Floats:
    """(T, k) velocities of all bodies, which move in every motion, also in those that a sensor does not see."""
    found = [named(results, f"bodies.{body}.{word}").values for body in results.bodies for word in RATES]
    return np.hstack([np.asarray(values, dtype=float) for values in found])


def poles_of(signals: Floats, dt: float) -> Complexes:
    """Poles (1/s) of free motions from samples (T, k) at a distance of dt, s."""
    # not each by its own size: some are rounding alone
    signals = signals / (np.max(np.abs(signals)) or 1.0)
    depth = len(signals) // 3
    columns = len(signals) - depth
    blocks = np.array([signals[i : i + columns].T for i in range(depth + 1)])
    before, after = (part.reshape(-1, columns) for part in (blocks[:-1], blocks[1:]))
    U, sizes, V = np.linalg.svd(before, full_matrices=False)
    rank = int(np.sum(sizes > NOISE * sizes[0]))
    step = (U[:, :rank].T @ after @ V[:rank].T) / sizes[:rank]
    return np.asarray(np.log(np.linalg.eigvals(step).astype(complex)) / dt)
