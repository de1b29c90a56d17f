"""Truncated models: modes of the whole with static correction, and Craig-Bampton with the hub as interface.

Source: docs/theory/linearisation.md, section 8; Craig and Kurdila, Fundamentals of Structural Dynamics, 2006.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.linear.model import LinearModel
from femb.linear.response import checked_frequencies
from femb.linear.state_space import StateSpace, Truncation
from femb.linear.tail import (
    ResidualTail,
    SecondOrderModel,
    Tail,
    at_rest,
    damping_products,
    gram_of,
    largest_gap,
    modal_drags,
    modes_and_next,
    modes_of_appendages,
    products,
    stiffness_products,
    takes_power,
)
from femb.numerics import rotations
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import FreeMotions, free_motions
from femb.vibration.appendages import relative_rates, rigid_motions
from femb.vibration.damping_ratios import source_of
from femb.vibration.flexibility import Flexibility

# Frequencies at which truncated models are compared with the full one: how many, from this part of the lowest mode to
# this part of the highest kept.
COUNT, FIRST, LAST = 10, 0.1, 0.9
# Of what adds up to an entry of a matrix: smaller ones are rounding. Of the largest entry: so much may be unlike in a
# symmetric matrix.
ROUNDING, UNLIKE = 1e-13, 1e-11
UNBOUNDED = "the damping is not symmetric, or brings power into some motions"
HUB = ("x", "y", "z", "turn_x", "turn_y", "turn_z")


@dataclass(frozen=True, eq=False)
class ModalReduction:
    """A reduced model in second order, the full model with the same damping, and what was left out.

    kind : in words. omega (k,) : of the kept modes, rad/s. integrators : how many of the first coordinates have no
    stiffness and no damping. tail : None where the damping of the model is not symmetric.
    """

    kind: str
    full: LinearModel
    reduced: SecondOrderModel
    omega: Floats
    integrators: int
    tail: Tail | ResidualTail | None

    def bound(self, omega: float) -> Floats:
        """(p, m) bound of the difference of the transfer matrices at omega, rad/s."""
        assert self.tail is not None
        return self.tail.bound(self.reduced, omega)

    def state_space(self, frequencies: ArrayLike | None = None) -> StateSpace:
        """The state space, compared with the full model at frequencies in Hz."""
        space = first_order(self.reduced, self.full.inputs, self.full.outputs)
        return self.compared(space, self.kind, frequencies, None if self.tail is None else self.bound)

    def compared(self, space: StateSpace, kind: str, frequencies: ArrayLike | None, bound: object) -> StateSpace:
        """A state space of the same inputs and outputs with its truncation error."""
        if frequencies is None:
            low, high = np.min(self.omega) / (2 * np.pi), np.max(self.omega) / (2 * np.pi)
            frequencies = np.geomspace(FIRST * low, max(LAST * high, FIRST * low), COUNT)
        found = checked_frequencies(frequencies)
        full = self.full.frequency_response(found)
        space = replace(space, units=self.full.units)
        reduced = space.frequency_response(found)
        truncation = Truncation(kind, full, reduced, bound, UNBOUNDED)  # type: ignore[arg-type]
        return replace(space, truncation=truncation)


def modal(model: LinearModel, count: int, *, damping: float | None = None, correction: bool = True) -> ModalReduction:
    """The ``count`` lowest modes of the whole, all motions without stiffness, and the static share of the others.

    damping : ratio of every kept mode in place of modal damping, by default 0.005 of a model without that; other
    dampers act beside it. correction : whether the direct part has the residual flexibility, of outputs that are
    displacements or forces.
    Raises ModelError: more modes than there are, a spinning or unstable state; SolveError.
    """
    motion = at_rest(model, "real modes")
    source = source_of(motion.system.model, damping)
    free = free_motions(motion)
    squares, shapes, following = modes_and_next(motion, free, count)
    omega = np.sqrt(squares)
    names = [f"rigid {k + 1}" for k in range(free.rigid)]
    names += [f"joint motion {k + 1}" for k in range(free.count - free.rigid)]
    names += [f"mode {k + 1}" for k in range(count)]
    momenta = products(motion, motion.mass, shapes)
    full = model.with_ratio(damping, momenta, omega)
    basis = np.hstack([free.shapes, shapes])
    words = f"{count} modes of the whole structure, {source}"
    return reduced(full, basis, names, free, free, squares, shapes, following, 0, correction, words)


def craig_bampton(
    model: LinearModel, count: int, *, damping: float | None = None, correction: bool = True
) -> ModalReduction:
    """The motions of the hub, with what it carries along, and the ``count`` lowest modes of each appendage beside it.

    The mass of the modes left out stays on the hub. damping : as of ``modal``, of the modes with the hub held.
    Raises ModelError: no hub, or a held one; more modes than there are; a spinning state; SolveError.
    """
    motion = at_rest(model, "Craig-Bampton")
    source = source_of(motion.system.model, damping)
    layout = motion.system.layout
    if model.hub is None or motion.held[motion.velocities_of(layout.bodies[model.hub])].any():
        what = "no hub is named" if model.hub is None else f"{model.hub!r} is held: ask for modes instead"
        raise ModelError(f"Craig-Bampton: {what}; wanted a hub that moves, one of {', '.join(layout.bodies)}")
    frame = layout.bodies[model.hub]
    i = layout.frame_q[frame]
    axes = rotations.rotation_matrix(rotations.normalise(motion.q[i + 3 : i + 7]))
    alone = motion.holding(frame)
    free = free_motions(alone)
    shapes, squares, names, following = modes_of_appendages(alone, count)
    if not len(squares):
        raise ModelError(f"Craig-Bampton: the hub {model.hub!r} carries nothing elastic: linearize without truncation")
    interface = rigid_motions(motion, motion.q[i : i + 3] + layout.origin, axes)
    interface = np.where(motion.held[:, None], 0.0, interface)
    pull = products(motion, motion.stiffness, interface)
    size = np.max(np.abs(motion.stiffness), initial=0.0)
    elsewhere = np.where(alone.held[:, None], 0.0, pull)
    if np.max(np.abs(elsewhere), initial=0.0) > 1e-10 * size or largest_gap(motion, interface) > 1e-9:
        raise ModelError(
            f"Craig-Bampton: what the hub {model.hub!r} carries is also held by the ground, so that it does not follow "
            "the hub as a rigid body: ask for modes instead"
        )
    rates = relative_rates(motion, frame, products(motion, motion.mass, shapes))
    full = model.with_ratio(damping, rates, np.sqrt(squares))
    basis = np.hstack([interface, free.shapes, shapes])
    names = [
        *(f"bodies.{model.hub}.{word}" for word in HUB),
        *(f"joint motion {k + 1}" for k in range(free.count)),
        *names,
    ]
    counts = set(Counter(name.rpartition(".")[0] for name in names[interface.shape[1] + free.count :]).values())
    there = str(count) if max(counts) == count else f"all {max(counts)}" if len(counts) == 1 else "all"
    words = f"Craig-Bampton, {there} modes of each appendage of {model.hub}, {source}"
    whole = free_motions(motion)
    return reduced(full, basis, names, free, whole, squares, shapes, following, 6, correction, words)


def reduced(
    full: LinearModel,
    basis: Floats,
    names: list[str],
    free: FreeMotions,
    whole: FreeMotions,
    squares: Floats,
    shapes: Floats,
    following: float,
    interface: int,
    correction: bool,
    words: str,
) -> ModalReduction:
    """Project the full model on a basis (n_v, r), whose first columns are the interface.

    free : motions without stiffness beside the interface; whole : of the model. squares, shapes : of the kept modes.
    following : omega of the first mode left out, rad/s.
    """
    motion, rows = full.motion, full.rows
    base = motion
    if interface:
        base = motion.holding(motion.system.layout.bodies[full.hub])  # type: ignore[index]
    M, C, _, _ = full.matrices
    drags = damping_products(motion, basis)
    mass, damping = basis.T @ (M @ basis), basis.T @ drags
    stiffness = basis.T @ stiffness_products(motion, basis)
    left, right = basis.T @ motion.low_rank.left, basis.T @ motion.low_rank.damping
    if whole.count == interface + free.count or not interface:
        # rigid motions and motions of joints without stiffness are known: no rounding is left of it
        stiffness[: whole.count] = stiffness[:, : whole.count] = left[: whole.count] = right[: whole.count] = 0.0
    first = len(names) - len(squares)
    stiffness[first:, first:] = np.diag(squares)
    # of the motions before the modes what rounds to no damping; a part of the largest would take that of slow modes
    noise = ROUNDING * (np.abs(basis).T @ (abs(C) @ np.abs(basis)))
    noise[first:, first:] = 0.0
    damping = np.where(np.abs(damping) > noise, damping, 0.0)
    direct, acceleration = rows.direct, rows.acceleration @ basis
    columns = [
        np.asarray(M @ basis[:, :interface]),
        drags + modal_drags(full, basis),
        *(rows.forces, rows.position.T, rows.rate.T, rows.acceleration.T),
    ]
    X = np.where(base.held[:, None], 0.0, np.hstack(columns))
    m, p, at = len(rows.inputs), len(rows.outputs), interface + len(names)
    gram, ratio = np.zeros((X.shape[1], X.shape[1])), 0.0
    if np.isfinite(following):
        flexibility = Flexibility(base, free, float(np.min(squares)))
        flexible, used = np.zeros_like(X), np.any(X, axis=0)
        flexible[:, used] = flexibility(X[:, used])
        gram = gram_of(X, flexible, shapes, squares)
        ratio = flexibility.largest_of(motion.damping) + _largest_modal(full, base, flexibility, shapes, squares)
    if correction:
        # what was left out follows statically: by the forces, and by the inertia of the interface's motion
        of_position = gram[at + m : at + m + p]
        direct = direct + of_position[:, at : at + m]
        acceleration[:, :interface] -= of_position[:, :interface]
    passive = abs(C - C.T).max() <= UNLIKE * abs(C).max() if C.nnz else True
    passive = passive and takes_power(motion.low_rank)
    tail = Tail(gram, interface, m, p, following, ratio, correction) if passive else None
    result = SecondOrderModel(
        tuple(names),
        0.5 * (mass + mass.T),
        damping + left @ right.T,
        stiffness,
        basis.T @ rows.forces,
        rows.position @ basis,
        rows.rate @ basis,
        acceleration,
        direct,
    )
    return ModalReduction(words, full, result, np.sqrt(squares), whole.count, tail)


def _largest_modal(
    full: LinearModel, base: EigenProblem, flexibility: Flexibility, kept: Floats, squares: Floats
) -> float:
    """The largest eigenvalue, by the stiffness, of the case's modal damping on the modes left out."""
    low = full.motion.low_rank
    if full.ratio is not None or not low.rank:
        return 0.0
    sizes = np.sum(low.left * low.damping, axis=0) / np.maximum(np.sum(low.left**2, axis=0), np.finfo(float).tiny)
    columns = np.where(base.held[:, None], 0.0, low.left * np.sqrt(np.maximum(sizes, 0.0)))
    gram = gram_of(columns, flexibility(columns), kept, squares)
    return float(np.max(np.linalg.eigvalsh(gram), initial=0.0))


def first_order(model: SecondOrderModel, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> StateSpace:
    """The state space with x = (q, q')."""
    r = len(model.names)
    right = np.linalg.solve(model.mass, np.hstack([-model.stiffness, -model.damping, model.forces]))
    A = np.block([[np.zeros((r, r)), np.eye(r)], [right[:, : 2 * r]]])
    B = np.vstack([np.zeros((r, len(inputs))), right[:, 2 * r :]])
    C = np.hstack([model.position, model.rate]) + model.acceleration @ right[:, : 2 * r]
    D = model.direct + model.acceleration @ right[:, 2 * r :]
    names = (*model.names, *(f"{name} rate" for name in model.names))
    return StateSpace(A, B, C, D, names, inputs, outputs)
