"""Linearisation of a case with a printed report; the functions behind ``femb linearize``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from femb.base.errors import ModelError
from femb.base.options import Run
from femb.base.values import numbered, without_rounding
from femb.linear.aircraft import NineBlocks, blocks_at
from femb.linear.begin import point_at, prepared
from femb.linear.linearise import state_space
from femb.linear.model import linear_model
from femb.linear.multiblade import multiblade
from femb.linear.orders import state_space_of
from femb.linear.periodic import Periodic, periodic
from femb.linear.state_space import StateSpace
from femb.linear.trim import Balance, fastest, moves, why_turning, why_unsteady
from femb.model.model import Model
from femb.vibration.complex_modes import rotations_of
from femb.vibration.damping_ratios import source_of

LINE = f"{'real 1/s':>14}{'imaginary 1/s':>16}{'frequency Hz':>14}{'damping':>11}"


def linearized(
    model: Model,
    run: Run | None = None,
    outputs: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    *,
    start: str | None = None,
    at_rest: bool = False,
    state: Mapping[str, float] | None = None,
    trim: bool = False,
    vary: Sequence[str] | None = None,
    blades: Mapping[str, Sequence[str]] | None = None,
    rotor: str | None = None,
    blocks: bool = False,
    differences: bool = False,
) -> tuple[StateSpace, str, NineBlocks | None]:
    """The state space about a state of a model, a text with its eigenvalues, and nine blocks or None.

    start : by default that of the run. outputs, inputs : as of ``femb.linearize``. at_rest, state, trim, vary : as of
    ``femb.operating_point``. blades : multi-blade coordinates of a rotor, as of ``femb.multiblade``. rotor : name of
    the state or driver that is the rotor's angle. blocks : whether to compute ``femb.thompson.nine_blocks`` of a single
    free body. differences : as of ``femb.linearize``.

    Raises as femb.linearize, femb.trim, femb.multiblade and femb.thompson.nine_blocks.
    """
    start = start or (run.start_word if run is not None else "as_given")
    point, stopped = point_at(prepared(model, start, at_rest, state, differences=differences), trim, vary)
    balance = Balance.of(point)
    space = state_space(point, balance.equations, outputs, inputs)
    space = replace(space, unsteady=why_unsteady(point, balance) or why_turning(balance))
    lines = [_heading(space, balance)]
    held = [item.name for item in model.items() if item.table == "controllers" and getattr(item, "period", None)]
    if held:
        listed = ", ".join(held)
        lines.append(f"commands of sampled controllers ({listed}) are held: --closed or femb loop close their loop")
    largest = max(map(abs, stopped.values()), default=0.0)
    lines += [f"brought to rest: {name}, {u:.4g} per s" for name, u in stopped.items() if abs(u) > 1e-9 * largest]
    if blades or rotor:
        azimuth, rate = _rotor(balance, blades, rotor)
        space = multiblade(space, blades or {}, rate, azimuth)
        lines.append(f"in multi-blade coordinates of a rotor that turns at {rate:.6g} rad/s")
    nine = blocks_at(point) if blocks else None
    table = [] if nine is None else ["", nine.table()]
    return space, "\n".join([*lines, "", *eigenvalue_table(space), *table]), nine


def periodic_motion(
    model: Model,
    run: Run | None,
    period: float,
    *,
    start: str | None = None,
    at_rest: bool = False,
    state: Mapping[str, float] | None = None,
    vary: Sequence[str] | None = None,
) -> tuple[Periodic, str]:
    """The motion of given period (s) near a state of a model, and a text with its Floquet multipliers.

    Raises as femb.operating_point and femb.linear.periodic.
    """
    start = start or (run.start_word if run is not None else "as_given")
    point, _ = point_at(prepared(model, start, at_rest, state))
    motion = periodic(point.system.starting_at(point.q, point.v), period, vary=vary or None)
    largest = float(np.max(np.abs(motion.multipliers), initial=0.0))
    verdict = "small motions grow" if largest > 1.0 + 1e-6 else "no small motion grows"
    lines = [
        f"{numbered(len(motion.states), 'state')}; periodic motion of {period:.6g} s; {verdict}",
        "",
        f"{'multiplier':>14}{'real 1/s':>14}{'imaginary 1/s':>16}",
    ]
    for value in motion.multipliers[motion.multipliers.imag >= 0.0]:
        lines.append(f"{abs(value):14.6g}{np.log(abs(value)) / period:14.6g}{np.angle(value) / period:16.6g}")
    return motion, "\n".join(lines)


def closed_text(space: StateSpace) -> str:
    """A text with the eigenvalues of a model whose controllers act; of a sampled one in 1/s."""
    clock = "" if space.dt is None else f", of samples every {space.dt:.6g} s"
    state = f"; about unsteady motion: {space.unsteady}" if space.unsteady else ""
    return "\n".join([f"{_counts(space)}; closed loop{clock}{state}", "", *eigenvalue_table(space)])


def _counts(space: StateSpace) -> str:
    named = {"state": space.states, "input": space.inputs, "output": space.outputs}
    return ", ".join(numbered(len(names), word) for word, names in named.items())


def _heading(space: StateSpace, balance: Balance) -> str:
    counts = _counts(space)
    if space.unsteady:
        return f"{counts}; about unsteady motion: {space.unsteady}"
    return f"{counts}; about steady motion ({fastest(balance) if moves(balance) else 'an equilibrium'})"


def _rotor(balance: Balance, blades: Mapping[str, Sequence[str]] | None, rotor: str | None) -> tuple[float, float]:
    """The angle (rad) and rate (rad/s) of a rotor. Raises ModelError: an unknown angle, or blades or a rotor alone."""
    if not blades or not rotor:
        raise ModelError(
            f"multi-blade coordinates: got {'blades' if blades else 'a rotor'} alone, wanted the coordinates of all "
            "blades and the angle that turns the rotor"
        )
    point, chart = balance.point, balance.chart
    names = (*chart.names, *chart.driven)
    if rotor not in names:
        raise ModelError(f"multi-blade coordinates: no state or driver {rotor!r} turns; there are: {', '.join(names)}")
    k = names.index(rotor)
    number = next((number for number, column in chart.joints.items() if column == k), -1)
    angle = float(point.system.joint_motion(point.q, point.v)[0][number]) if number >= 0 else 0.0
    return angle, float(chart.speeds[k])


def eigenvalue_table(space: StateSpace) -> list[str]:
    """A line for each finite eigenvalue, or conjugate pair, sorted by absolute value."""
    values = space.eigenvalues()
    values = values[np.isfinite(values) & (values.imag >= 0.0)]
    lines = [LINE]
    for value in values[np.argsort(np.abs(values), kind="stable")]:
        size = abs(value)
        real = float(without_rounding(np.array(value.real), size))
        damping = f"{0.0 - real / size:11.3g}" if size > 0.0 else f"{'':11}"
        lines.append(f"{real + 0.0:14.6g}{value.imag:16.6g}{size / (2.0 * np.pi):14.6g}{damping}")
    return lines


# Truncated linear models with a printed report; the function behind the orders of ``femb linearize``.


def truncated(
    model: Model,
    run: Run | None = None,
    outputs: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    *,
    start: str | None = None,
    held: str | None = None,
    hub: str | None = None,
    modes: int | None = None,
    craig_bampton: int | None = None,
    balanced: int | None = None,
    residual_vectors: bool = False,
    damping: float | None = None,
    frequencies: Sequence[float] | None = None,
) -> tuple[StateSpace, str]:
    """The state space of a sparse linear model, and a text with its eigenvalues and its truncation error.

    start : by default that of the run. Others as of ``femb.linearize``. Raises as that.
    """
    start = start or (run.start_word if run is not None else "as_given")
    sparse = linear_model(model, inputs=inputs, outputs=outputs, held=held, hub=hub, start=start)
    space = state_space_of(
        sparse,
        modes=modes,
        craig_bampton=craig_bampton,
        balanced=balanced,
        residual_vectors=residual_vectors,
        damping=damping,
        frequencies=frequencies,
    )
    counts = _counts(space)
    state = "about the state without loads" if start != "equilibrium" else "about the equilibrium"
    lines = [f"{counts}; {state}" + (f", {held} held" if held else "")]
    lines += [each.text(held) for each in rotations_of(sparse.motion)]
    lines += ["", *eigenvalue_table(space)]
    if space.truncation is not None:
        lines += ["", space.truncation.table()]
    elif damping is not None or sparse.motion.low_rank.rank:
        lines += ["", f"with {source_of(sparse.motion.system.model, damping)}"]
    return space, "\n".join(lines)
