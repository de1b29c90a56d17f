"""Linear models of structures as state spaces, of full order or truncated as asked for.

Source: docs/theory/linearisation.md, section 8.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.values import check_options, numbered, shown, whole_number
from femb.linear.balanced import balanced_states
from femb.linear.chart import frame_names, solved
from femb.linear.modal_form import Invariant, SecondOrderModel
from femb.linear.modal_reduction import ModalReduction, at_rest, modal, modes_of_appendages, space_of
from femb.linear.modal_reduction import craig_bampton as craig_bampton_modes
from femb.linear.model import LinearModel, linear_model
from femb.linear.second_order import exact_forces
from femb.linear.spinning_reduction import SpinningReduction, elastic_modes, spinning_modal
from femb.linear.state_space import StateSpace, Truncation
from femb.small_motions.free_motions import free_motions
from femb.vibration.appendages import relative_rates
from femb.vibration.damping_ratios import check_ratio, damping_in_words
from femb.vibration.eigen import freedoms

if TYPE_CHECKING:
    from femb.case import Given
    from femb.system.system import System

# Velocities of a dense state space, whose matrices then have a hundred million entries.
LARGEST = 5000
# Modes of the model from which states are balanced: so many, or a multiple of the states.
BASE, MULTIPLE = 20, 2


class OrderOptions(TypedDict, total=False):
    """The order of a state space and the damping of its modes, as options of ``state_space_of`` by name."""

    modes: int | None
    craig_bampton: int | None
    balanced: int | None
    residual_vectors: bool
    damping: float | None
    frequencies: ArrayLike | None


class StructureOptions(OrderOptions, total=False):
    """The options of ``linearize_structure`` by name, beside its inputs and outputs."""

    held: str | None
    hub: str | None
    start: str | None


def linearize_structure(
    model: "Given | System",
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    held: str | None = None,
    hub: str | None = None,
    start: str | None = None,
    **order: Unpack[OrderOptions],
) -> StateSpace:
    """The state space of a structure at rest or in steady rotation, truncated as asked for, by its sparse equations.

    Parameters:
        model: as in ``femb.linear_model``.
        inputs: as in ``femb.linear_model``.
        outputs: as in ``femb.linear_model``.
        held: as in ``femb.linear_model``.
        hub: as in ``femb.linear_model``.
        start: as in ``femb.linear_model``.
        order: modes, craig_bampton or balanced, numbers of modes or states, without which it is of full order;
            residual_vectors : whether more modes have the static share. damping : ratio of modes in place of the case's
            modal damping; by default a truncated model of a case without that has 0.005. frequencies (f,), Hz : where
            the error of the result, its ``truncation``, is computed.

    Raises:
        ModelError: as ``femb.linear_model``; more than one order, an order that there is not.
        SolveError: no equilibrium.
    """
    check_options(linearize_structure, order, OrderOptions)
    own = order.get("damping") is None
    return state_space_of(
        linear_model(model, inputs=inputs, outputs=outputs, held=held, hub=hub, start=start, own_ratios=own), **order
    )


def state_space_of(
    model: LinearModel,
    *,
    modes: int | None = None,
    craig_bampton: int | None = None,
    balanced: int | None = None,
    residual_vectors: bool = False,
    damping: float | None = None,
    frequencies: ArrayLike | None = None,
) -> StateSpace:
    """The state space of full order, or truncated by one of modes, craig_bampton and balanced: ``linearize_structure``.

    modes : of the whole with static correction, complex ones of a structure that turns; beside ``balanced`` those that
    are balanced. residual_vectors : one for each input, which has the static share, not the direct part. craig_bampton
    : so many of each appendage, and the motions of the hub. damping : of full order of the modes of appendages with the
    hub held. frequencies (f,) Hz : by default over the modes.
    Raises ModelError as the truncations; more than one of them; a full order that is too large.
    """
    if craig_bampton is not None and (modes is not None or balanced is not None):
        raise ModelError("linearize: Craig-Bampton goes without modes and balanced: give one order")
    if residual_vectors and (modes is None or balanced is not None):
        raise ModelError("linearize: residual vectors are of --modes alone: give a number of modes")
    for name, value in (("modes", modes), ("craig_bampton", craig_bampton), ("balanced", balanced)):
        if value is not None and (not whole_number(value) or value < 1):
            raise ModelError(f"linearize: {name}: got {shown(value)}, wanted a whole number from 1")
    if frequencies is not None and (modes, craig_bampton, balanced) == (None, None, None):
        raise ModelError("linearize: frequencies: are of the error of a truncation: name modes, or another order")
    spinning, places = model.motion.spinning, model.motion.system.layout.first_order_v
    if (modes, craig_bampton, balanced) != (None, None, None) and not np.all(model.motion.held[places]):
        order: OrderOptions = {"modes": modes, "craig_bampton": craig_bampton, "balanced": balanced}
        order |= {"residual_vectors": residual_vectors, "damping": damping, "frequencies": frequencies}
        return beside_states(model, partial(state_space_of, **order))
    if craig_bampton is not None:
        space = craig_bampton_modes(model, craig_bampton, damping=damping).state_space(frequencies)
    elif modes is not None or balanced is not None:
        count = min(max(BASE, MULTIPLE * (balanced or 0)), elastic_modes(model.motion)) if modes is None else modes
        kept: ModalReduction | SpinningReduction
        if spinning and not residual_vectors:
            kept = spinning_modal(model, count, damping=damping)
        else:
            kept = modal(model, count, damping=damping, vectors=residual_vectors)
        space = kept.state_space(frequencies) if balanced is None else balanced_states(kept, balanced, frequencies)
    else:
        space = full_order(model, damping)
    of = model.motion.system.model
    words = damping_in_words(of, damping, space.truncation is not None)
    return replace(space, units=model.units, title=of.title, damping=words)


def beside_states(model: LinearModel, truncated: Callable[[LinearModel], StateSpace]) -> StateSpace:
    """A truncated structure with the first-order states of the model beside it, all of them kept.

    The states z act on the structure by -M_sz z' - C_sz z, and it acts on their rows by M_zs p'' + C_zs p' + K_zs p:
    inputs and outputs of what is truncated, which are then connected. truncated : gives the state space of a structure.
    Raises ModelError as that; a continuous controller, whose states are in forces of many frames.
    Source: docs/theory/linearisation.md, equation (25c).
    """
    motion, rows, layout = model.motion, model.rows, model.motion.system.layout
    numbers = [k for k, place in enumerate(layout.first_order_v.tolist()) if not motion.held[place]]
    z, names = layout.first_order_v[numbers], [layout.first_order_names[k] for k in numbers]
    if any(np.any(part[z]) for part in (motion.low_rank.left, motion.low_rank.damping, motion.low_rank.stiffness)):
        raise ModelError(
            f"linearize: {names[0]} is a state of a continuous controller, which modes do not have: linearize without "
            "truncation, or take femb.loop"
        )
    M, C, K = (matrix.tocsr() for matrix in model.matrices[:3])
    position, rate, mass = (matrix[z].toarray() for matrix in (K, C, M))
    structure = motion.without_states()
    free = ~structure.held
    parts = {"position": position, "rate": rate, "acceleration": mass}
    extended: dict[str, Any] = {
        word: np.vstack([getattr(rows, word) * free, part * free]) for word, part in parts.items()
    }
    n, m, p = len(z), len(rows.inputs), len(rows.outputs)
    direct = np.zeros((p + n, m + 2 * n))
    direct[:p, :m] = rows.direct
    of_structure = replace(
        rows,
        inputs=(*rows.inputs, *(f"{name} rate" for name in names), *names),
        outputs=(*rows.outputs, *(f"row of {name}" for name in names)),
        forces=np.hstack([rows.forces, -M[:, z].toarray(), -C[:, z].toarray()]) * free[:, None],
        direct=direct,
        through=np.vstack([rows.through, np.zeros((n, len(free)))]),
        rates=np.hstack([rows.rates, np.zeros((len(free), 2 * n))]),
        **extended,
    )  # fmt: skip
    space = truncated(replace(model, motion=structure, rows=of_structure))
    k, by_rate, by_value = len(space.states), slice(m, m + n), slice(m + n, m + 2 * n)
    # E z' = F_z u - C_zz z - g by (x, z, u), with g the outputs at the rows of z less what z' gives
    E = mass[:, z] + space.D[p:, by_rate]
    drag = rate[:, z] + space.D[p:, by_value]
    z_rate = np.linalg.solve(E, np.hstack([-space.C[p:], -drag, rows.forces[z] - space.D[p:, :m]]))
    columns = np.eye(k + n + m)
    x, own, u = np.split(columns, [k, k + n])
    whole = np.vstack([u, z_rate, own])
    rates = np.vstack([space.A @ x + space.B @ whole, z_rate])
    y = space.C[:p] @ x + space.D[:p] @ whole + rows.rate[:, z] @ own + rows.acceleration[:, z] @ z_rate
    # integrals that outputs read, as the angle of a wheel
    read = np.flatnonzero(np.any(rows.position[:, z], axis=0))
    rates, nothing = np.vstack([rates, own[read]]), np.zeros((k + n + len(read), len(read)))
    found = StateSpace(
        np.hstack([rates[:, : k + n], nothing]), rates[:, k + n :],
        np.hstack([y[:, : k + n], rows.position[:, z[read]]]), y[:, k + n :],
        (*space.states, *names, *(f"{names[j]} integral" for j in read)), rows.inputs, rows.outputs,
        units=model.units, title=space.title, damping=space.damping,
    )  # fmt: skip
    if space.truncation is None:
        return found
    # the full structure has the damping of the truncated one: its response is connected with the states alike
    structure_response = space.truncation.full
    values = np.empty((len(structure_response.frequencies), p, m), dtype=complex)
    for i, (frequency, T) in enumerate(zip(structure_response.frequencies, structure_response.values, strict=True)):
        s = 2j * np.pi * frequency
        by_state = s * T[:, by_rate] + T[:, by_value]
        states = np.linalg.solve(s * mass[:, z] + rate[:, z] + by_state[p:], rows.forces[z] - T[p:, :m])
        read_states = rows.position[:, z] / s + rows.rate[:, z] + s * rows.acceleration[:, z]
        values[i] = T[:p, :m] + (by_state[:p] + read_states) @ states
    full = replace(
        structure_response, values=values, outputs=rows.outputs, inputs=rows.inputs, rounding=None, units=model.units
    )
    ours = found.frequency_response(structure_response.frequencies)
    kind = f"{space.truncation.kind}, and {numbered(n, 'first-order state')}"
    truncation = Truncation(kind, full, ours, None, "first-order states have no bound")
    return replace(found, truncation=truncation)


def full_order(model: LinearModel, damping: float | None = None) -> StateSpace:
    """All independent displacements and their rates; dense, with the dampers and the modal damping of the model.

    damping : ratio of all modes of the appendages, with the hub held, in place of modal damping. Raises ModelError: a
    model too large for that, a ratio without a hub.
    """
    if damping is not None:
        model = _with_ratio_of_appendages(model, damping)
    motion = model.motion
    moving = np.flatnonzero(~motion.held)
    if len(moving) > LARGEST:
        raise ModelError(
            f"linearize: the model has {len(moving)} velocities, and its dense matrices of full order are for up to "
            f"{LARGEST}: truncate it, as by --modes 20, or take the frequency response of femb.linear_model"
        )
    M, C, K, J = model.matrices
    names = frame_names(motion.system)
    displacements, independent, _, _ = solved(J.toarray()[:, moving], len(moving))
    basis = np.zeros((motion.system.n_v, len(independent)))
    basis[moving] = displacements
    mass, by_rates, by_pose = (basis.T @ (A @ basis) for A in (M, C, K))
    low, of = motion.low_rank, model.rows
    left = basis.T @ low.left
    by_rates, by_pose = by_rates + left @ (low.damping.T @ basis), by_pose + left @ (low.stiffness.T @ basis)
    P, V, A = (part @ basis for part in (of.position, of.rate, of.acceleration))
    names = tuple(names[k] for k in moving[independent])
    whole = SecondOrderModel(names, mass, by_rates, by_pose, basis.T @ of.forces, P, V, A, of.direct)
    integrated = motion.system.layout.first_order_names
    free, invariant, exact = None, None, None
    if motion.spinning:
        of_states = [k for k, name in enumerate(whole.names) if name in integrated]
        matrices = mass, by_rates, np.zeros_like(mass), by_pose, of_states
        invariant = Invariant.of(motion, lambda moves: moves[moving[independent]], *matrices)
    else:
        found = free_motions(motion)
        free, exact = (found.shapes[moving[independent]], found.kept), exact_forces(motion, basis)
    return space_of(
        whole, model.inputs, model.outputs, integrated, free, invariant=invariant, exact=exact, units=model.units
    )


def _with_ratio_of_appendages(model: LinearModel, damping: float) -> LinearModel:
    """The model with a ratio of all modes of the hub's appendages, in place of modal damping. Raises ModelError."""
    check_ratio(damping)
    motion = at_rest(model, "a damping ratio of full order")
    if model.hub is None:
        raise ModelError("linearize: a damping ratio is of the modes of appendages: name the hub, --hub or --held")
    frame = motion.system.layout.bodies[model.hub]
    alone = motion.holding(frame)
    shapes, squares, _, _ = modes_of_appendages(alone, freedoms(alone))
    rates = relative_rates(motion, frame, motion.momenta(shapes))
    return model.with_ratio(damping, rates, np.sqrt(squares))
