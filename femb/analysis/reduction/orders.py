"""State spaces of sparse linear models, of full order or truncated as asked for.

Source: docs/theory/linearisation.md, section 8.
"""

import numpy as np
from numpy.typing import ArrayLike

from femb.analysis.linear.chart import dependent_columns, frame_names
from femb.analysis.linear.statespace import StateSpace
from femb.analysis.modes.appendages import relative_rates
from femb.analysis.modes.damping_ratios import check_ratio
from femb.analysis.modes.eigen import freedoms
from femb.analysis.reduction.balance import balanced as balanced_states
from femb.analysis.reduction.kept_modes import at_rest, modes_of_appendages, products
from femb.analysis.reduction.model import LinearModel
from femb.analysis.reduction.spinning import elastic_modes, spinning_modal
from femb.analysis.reduction.tail import SecondOrderModel
from femb.analysis.reduction.truncate import craig_bampton as craig_bampton_modes
from femb.analysis.reduction.truncate import first_order, modal
from femb.analysis.reduction.vectors import residual_vectors as modes_and_vectors
from femb.base.errors import ModelError
from femb.base.values import shown

# Velocities of a dense state space, whose matrices then have a hundred million entries.
LARGEST = 5000
# Modes of the model from which states are balanced: so many, or a multiple of the states.
BASE, MULTIPLE = 20, 2


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
    """The state space of full order, or truncated by one of modes, craig_bampton and balanced.

    modes : so many modes of the whole with static correction, complex ones of a structure that turns; beside
    ``balanced`` the modes that are balanced.
    residual_vectors : whether the static share is in more modes, one for each input, not in the direct part.
    craig_bampton : so many of each appendage, and the motions of the hub. balanced : so many balanced states.
    damping : ratio of every mode in place of the case's modal damping; by default a truncated model of a case without
    that has 0.005. Of full order, the modes are those of appendages with the hub held.
    frequencies (f,) Hz : where a truncated model is compared with the full one, by default over its modes.
    Raises ModelError as the truncations; more than one of them; a full order that is too large.
    """
    if craig_bampton is not None and (modes is not None or balanced is not None):
        raise ModelError("linearize: Craig-Bampton goes without modes and balanced: give one order")
    if residual_vectors and (modes is None or balanced is not None):
        raise ModelError("linearize: residual vectors are of --modes alone: give a number of modes")
    for name, value in (("modes", modes), ("craig_bampton", craig_bampton), ("balanced", balanced)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ModelError(f"linearize: {name}: got {shown(value)}, wanted a whole number from 1")
    spinning = model.motion.spinning
    if craig_bampton is not None:
        return craig_bampton_modes(model, craig_bampton, damping=damping).state_space(frequencies)
    if balanced is not None:
        if modes is None:
            modes = min(max(BASE, MULTIPLE * balanced), elastic_modes(model.motion))
        kept = spinning_modal(model, modes, damping=damping) if spinning else modal(model, modes, damping=damping)
        return balanced_states(kept, balanced, frequencies)
    if modes is not None and residual_vectors:
        return modes_and_vectors(model, modes, damping=damping).state_space(frequencies)
    if modes is not None and spinning:
        return spinning_modal(model, modes, damping=damping).state_space(frequencies)
    if modes is not None:
        return modal(model, modes, damping=damping).state_space(frequencies)
    return full_order(model, damping)


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
    if motion.system.n_c:
        rows = J.toarray()[:, moving]
        dependent, independent = dependent_columns(rows)
        spread = np.zeros((len(moving), len(independent)))
        spread[independent, np.arange(len(independent))] = 1.0
        spread[dependent] = -np.linalg.pinv(rows[:, dependent]) @ rows[:, independent]
        chosen = moving[independent]
    else:
        spread, chosen = np.eye(len(moving)), moving
    basis = np.zeros((motion.system.n_v, spread.shape[1]))
    basis[moving] = spread
    mass, by_rates, by_pose = (basis.T @ (A @ basis) for A in (M, C, K))
    low = motion.low_rank
    left = basis.T @ low.left
    by_rates, by_pose = by_rates + left @ (low.damping.T @ basis), by_pose + left @ (low.stiffness.T @ basis)
    rows_of = model.rows
    whole = SecondOrderModel(
        tuple(names[k] for k in chosen),
        mass,
        by_rates,
        by_pose,
        basis.T @ rows_of.forces,
        rows_of.position @ basis,
        rows_of.rate @ basis,
        rows_of.acceleration @ basis,
        rows_of.direct,
    )
    return first_order(whole, model.inputs, model.outputs)


def _with_ratio_of_appendages(model: LinearModel, damping: float) -> LinearModel:
    """The same with a ratio of all modes of the appendages of the hub, in place of modal damping. Raises ModelError."""
    check_ratio(damping)
    motion = at_rest(model, "a damping ratio of full order")
    if model.hub is None:
        raise ModelError("linearize: a damping ratio is of the modes of appendages: name the hub, --hub or --held")
    frame = motion.system.layout.bodies[model.hub]
    alone = motion.holding(frame)
    shapes, squares, _, _ = modes_of_appendages(alone, freedoms(alone))
    rates = relative_rates(motion, frame, products(motion, motion.mass, shapes))
    return model.with_ratio(damping, rates, np.sqrt(squares))
