"""Truncated models: modes of the whole with static correction, Craig-Bampton with the hub as interface, and bounds
of their errors.

Source: docs/theory/linearisation.md, section 8; Craig and Kurdila, Fundamentals of Structural Dynamics, 2006.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from femb.base.errors import ModelError
from femb.base.types import Complexes, Floats
from femb.layout.element import LowRank
from femb.linear.modal_form import ExactForces, Invariant, ModalForm, SecondOrderModel, SteadyForm
from femb.linear.model import LinearModel
from femb.linear.response import checked_frequencies
from femb.linear.state_space import InModes, StateSpace, Truncation, names_of_states
from femb.numerics import rotations
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import FreeMotions, free_motions
from femb.vibration.appendages import appendages, relative_rates, rigid_motions
from femb.vibration.damping_ratios import damping_source
from femb.vibration.eigen import freedoms, orthonormal, real_modes
from femb.vibration.flexibility import Flexibility

# The part that a truncation leaves out, and a bound of its effect at any frequency.
#
# The modes left out, of frequencies above omega_n, follow the motion q of the basis and the inputs u:
#
#     (W^2 + i w D - w^2) eta = Phi^T (w^2 M - i w C) B q + Phi^T F u,
#     |(1 + i w W^-1 D W^-1 - w^2 W^-2)^-1| <= 1/(1 - w^2/omega_n^2) with any damping D that takes power
#
# so that inner products weighted by W^-2, which static solutions give without the modes, bound the difference of the
# transfer functions. Source: docs/theory/linearisation.md, equations (23) and (24).


@dataclass(frozen=True, eq=False)
class Tail:
    """Inner products gram (t, t) of the modes left out, between M times l interface motions, C times all r motions of
    the basis, modal damping of the case included, m inputs, and the rows P, V, A of p outputs.

    next_omega : rad/s, of the lowest of these modes; infinite if there are none. damping : s, the largest eigenvalue of
    C by K. corrected : whether the reduced model has the static share of the rows P.
    """

    gram: Floats
    interface: int
    inputs: int
    outputs: int
    next_omega: float
    damping: float
    corrected: bool

    def bound(self, reduced: SecondOrderModel, omega: float) -> Floats:
        """(p, m): the largest difference of the transfer matrices at omega, rad/s; infinite where nothing is known."""
        m, p, k, r = self.inputs, self.outputs, self.interface, len(reduced.names)
        if not np.isfinite(self.next_omega):
            return np.zeros((p, m))
        ratio = (omega / self.next_omega) ** 2
        if ratio >= 1.0:
            return np.full((p, m), np.inf)
        most, s = 1.0 / (1.0 - ratio), 1j * omega
        g = most * (ratio + omega * self.damping)
        first_input, t = k + r, len(self.gram)
        first_output = first_input + m
        inverse, rows = reduced.inverse(s), reduced.rows(s)
        if self.corrected:  # the rows before the correction
            rows[:, :k] += s * s * self.gram[first_output : first_output + p, :k]
        # the columns by which motions of the basis, inputs and outputs drive what was left out
        by_motion = np.zeros((t, r), dtype=complex)
        by_motion[:k, :k] = omega**2 * np.eye(k)
        by_motion[k:first_input] = -s * np.eye(r)
        of_inputs, of_outputs = by_motion @ inverse @ reduced.forces, by_motion @ inverse.T @ rows.T
        of_inputs[first_input:first_output] += np.eye(m)
        for j, factor in enumerate((1.0, s, s * s)):
            at = first_output + j * p
            of_outputs[at : at + p] += factor * np.eye(p)
        values, axes = np.linalg.eigh(self.gram)
        root = axes * np.sqrt(np.maximum(values, 0.0))
        coupled = root.T @ by_motion
        own = float(np.linalg.norm(coupled @ inverse @ coupled.T, 2))
        if most * own >= 1.0:
            return np.full((p, m), np.inf)
        static = of_outputs.T @ self.gram @ of_inputs
        if self.corrected:
            known = np.r_[0:k, first_input:first_output]
            static = static - self.gram[first_output : first_output + p, known] @ of_inputs[known]
        sizes = [np.linalg.norm(root.T @ x, axis=0) for x in (of_outputs, of_inputs)]
        rest = g + most**2 * own / (1.0 - most * own)
        return np.asarray(np.abs(static) + rest * np.outer(*sizes))


def gram_of(columns: Floats, flexible: Floats, kept: Floats, squares: Floats) -> Floats:
    """X^T F_e X less the share of the kept modes (n_v, k) with omega^2 (k,); flexible : F_e X (n_v, t)."""
    shares = kept.T @ columns / np.sqrt(squares)[:, None]
    gram = columns.T @ flexible - shares.T @ shares
    return np.asarray(0.5 * (gram + gram.T))


# Modes that a truncated model keeps, and what they have in common: products, gaps of constraints, ratios.


def at_rest(model: LinearModel, what: str) -> EigenProblem:
    """The motions of a model at rest. Raises ModelError: a rotation, which has no truncation of this kind."""
    if model.motion.spinning:
        raise ModelError(
            f"{what}: the state is a steady rotation, whose modes are complex: those of an appendage with the hub held "
            "are no basis beside its motions, nor are static responses beside the modes; truncate to modes with the "
            "static share of the others, or to balanced states (--modes, --balanced)"
        )
    return model.motion


def modes_and_next(motion: EigenProblem, free: FreeMotions, count: int) -> tuple[Floats, Floats, float]:
    """omega^2 (k,) and shapes (n_v, k) of ``count`` modes, and omega of the next one, or infinity."""
    most = freedoms(motion) - free.count
    more = count + 1 if isinstance(count, int) and 1 <= count < most else count
    squares, shapes = real_modes(motion, free, more)
    following = float(np.sqrt(squares[count])) if more > count else np.inf
    return squares[:count], shapes[:, :count], following


def modes_of_appendages(alone: EigenProblem, count: int) -> tuple[Floats, Floats, list[str], float]:
    """Shapes, omega^2 and names of the lowest modes of each appendage, and omega of the next of all."""
    shapes, squares, names, following = [np.zeros((alone.system.n_v, 0))], [np.zeros(0)], [], np.inf
    for part in appendages(alone, whole=True):
        own = alone.only(part)
        free = free_motions(own)
        if freedoms(own) - free.count < 1:
            continue
        values, found, after = modes_and_next(own, free, min(count, max(1, freedoms(own) - free.count)))
        shapes.append(found)
        squares.append(values)
        names += [f"{part.name}.mode {k + 1}" for k in range(len(values))]
        following = min(following, after)
    return np.hstack(shapes), np.concatenate(squares), names, following


def damping_products(motion: EigenProblem, columns: Floats) -> Floats:
    """The damping without modal damping times columns (n_v, k), by exact products."""
    if not np.any(motion.damping):
        return np.zeros_like(columns)
    return motion.exact.damping(columns)


def modal_drags(full: LinearModel, columns: Floats) -> Floats:
    """The case's modal damping times columns (n_v, k); zero where a ratio of the kept modes is in its place, as this
    damps no others."""
    low = full.motion.low_rank
    if full.ratio is not None or not low.rank:
        return np.zeros_like(columns)
    return full.motion.of_moving(low.left @ (low.damping.T @ columns))


def takes_power(low: LowRank) -> bool:
    """Whether modal damping is symmetric and takes power from every motion: U c U^T with c of no negative number."""
    squares = np.sum(low.left**2, axis=0)
    factors = np.sum(low.left * low.damping, axis=0) / np.where(squares > 0.0, squares, 1.0)
    rest = np.abs(low.damping - factors * low.left)
    symmetric = np.max(rest, initial=0.0) <= ALIKE * np.max(np.abs(low.damping), initial=0.0)
    return bool(symmetric and np.all(factors >= 0.0))


# Of the largest entry of modal damping: larger differences are no rounding.
ALIKE = 1e-9

# A bound of the error of residual vectors, by the forces that the reduced model leaves unbalanced.
#
# With the basis B, G - G_r = r_c^T Z^-1 r_b with the residuals of Galerkin's method
#
#     r_b = F - Z B (B^T Z B)^-1 B^T F,   r_c = c - Z^T B (B^T Z B)^-T B^T c
#
# which act on the modes left out alone. Weighted by W^-1 their norms take static solutions only, as above. Source:
# docs/theory/linearisation.md, equation (24a).


@dataclass(frozen=True, eq=False)
class ResidualTail:
    """Inner products gram (t, t) of m inputs, the rows P, V, A of p outputs, M and K times r vectors, and C times the
    basis, on the modes beside the kept ones.

    damping (r,) : of the vectors, 1/s. next_omega : rad/s, of the lowest mode that is not kept; infinite without one.
    """

    gram: Floats
    inputs: int
    outputs: int
    damping: Floats
    next_omega: float

    @classmethod
    def of(
        cls,
        full: LinearModel,
        basis: Floats,
        vectors: Floats,
        damping: Floats,
        kept: Floats,
        squares: Floats,
        flexibility: Flexibility,
        next_omega: float,
    ) -> "ResidualTail":
        """The tail of a basis whose last columns are the vectors (n_v, r), after the modes ``kept`` with omega^2
        ``squares``.
        """
        M, rows = full.matrices[0], full.rows
        solved = [
            rows.forces,
            rows.position.T,
            rows.rate.T,
            rows.acceleration.T,
            M @ vectors,
            damping_products(full.motion, basis) + modal_drags(full, basis),
        ]
        columns = full.motion.of_moving(np.hstack(solved))
        stiff = full.motion.exact_stiffness(vectors)
        gram = gram_of(np.hstack([columns, stiff]), np.hstack([flexibility(columns), vectors]), kept, squares)
        return cls(gram, len(rows.inputs), len(rows.outputs), damping, next_omega)

    def bound(self, reduced: SecondOrderModel, omega: float) -> Floats:
        """(p, m): the largest difference of the transfer matrices at omega, rad/s; infinite where nothing is known."""
        m, p, r, n = self.inputs, self.outputs, len(self.damping), len(reduced.names)
        if omega >= self.next_omega:
            return np.full((p, m), np.inf)
        s, most = 1j * omega, 1.0 / (1.0 - (omega / self.next_omega) ** 2)
        inverse = reduced.inverse(s)
        values, axes = np.linalg.eigh(self.gram)
        root = axes * np.sqrt(np.maximum(values, 0.0))
        of_inputs, of_outputs = np.zeros((len(values), m), dtype=complex), np.zeros((len(values), p), dtype=complex)
        of_inputs[:m] = np.eye(m)
        for k in range(3):
            of_outputs[m + k * p : m + (k + 1) * p] = s**k * np.eye(p)
        by_motion = np.zeros((len(values), n), dtype=complex)
        at = m + 3 * p
        by_motion[at : at + r, n - r :] = np.diag(s * s + s * self.damping)
        by_motion[at + r : at + r + n] = s * np.eye(n)
        by_motion[at + r + n :, n - r :] = np.eye(r)
        of_inputs -= by_motion @ inverse @ reduced.forces
        of_outputs -= by_motion @ inverse.T @ reduced.rows(s).T
        own = self._own(reduced, s, root, by_motion[:, : n - r])
        if most * own >= 1.0:
            return np.full((p, m), np.inf)
        sizes = [np.linalg.norm(root.T @ x, axis=0) for x in (of_outputs, of_inputs)]
        return np.asarray(most / (1.0 - most * own) * np.outer(*sizes))

    def _own(self, reduced: SecondOrderModel, s: complex, root: Floats, coupled: Complexes) -> float:
        """The action of the modes left out on themselves, through dampers and the kept motions."""
        k = coupled.shape[1]
        Z = s * s * reduced.mass + s * reduced.damping + reduced.stiffness
        through = root.T @ coupled
        return float(np.linalg.norm(through @ np.linalg.inv(Z[:k, :k]) @ through.T, 2)) if k else 0.0


# Frequencies at which truncated models are compared with the full one: how many, from this part of the lowest mode to
# this part of the highest kept.
COUNT, FIRST, LAST = 10, 0.1, 0.9
# Of what adds up to an entry of a matrix: smaller ones are rounding. Of the largest entry: so much may be unlike in a
# symmetric matrix.
ROUNDING, UNLIKE = 1e-13, 1e-11
DEPENDENT = 1e-6  # of the largest of vectors of unit size: below this they depend on each other
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
        r = self.integrators
        known = not np.any(self.reduced.stiffness[:r]) and not np.any(self.reduced.stiffness[:, :r])
        space = first_order(self.reduced, self.full, np.eye(len(self.reduced.names))[:, :r] if known else None)
        return self.compared(space, self.kind, frequencies, None if self.tail is None else self.bound)

    def compared(self, space: StateSpace, kind: str, frequencies: ArrayLike | None, bound: object) -> StateSpace:
        """A state space of the same inputs and outputs with its truncation error."""
        found = compared_at(self.omega, frequencies)
        full = self.full.frequency_response(found)
        space = replace(space, units=self.full.units)
        reduced = space.frequency_response(found)
        truncation = Truncation(kind, full, reduced, bound, UNBOUNDED)  # type: ignore[arg-type]
        return replace(space, truncation=truncation)


def compared_at(omega: Floats, frequencies: ArrayLike | None) -> Floats:
    """The frequencies (Hz) at which a model is compared that keeps modes of omega (rad/s); those given are checked."""
    if frequencies is None:
        low, high = np.min(omega) / (2 * np.pi), np.max(omega) / (2 * np.pi)
        frequencies = np.geomspace(FIRST * low, max(LAST * high, FIRST * low), COUNT)
    return checked_frequencies(frequencies)


def modal(
    model: LinearModel, count: int, *, damping: float | None = None, correction: bool = True, vectors: bool = False
) -> ModalReduction:
    """The ``count`` lowest modes of the whole, all motions without stiffness, and the static share of the others.

    damping : ratio of every kept mode in place of modal damping, by default 0.005 of a model without that; other
    dampers act beside it. correction : whether the direct part has the residual flexibility, of outputs that are
    displacements or forces. vectors : whether the static responses of the others to the inputs are more modes in its
    place, by which outputs of all kinds have the static share, at the cost of states.
    Raises ModelError: more modes than there are, a spinning or unstable state; SolveError.
    """
    motion = at_rest(model, "residual vectors" if vectors else "real modes")
    source = damping_source(motion, damping)
    free = free_motions(motion)
    of_kept, kept, following = modes_and_next(motion, free, count)
    more, own, flexibility = kept[:, :0], of_kept[:0], None
    if vectors and np.isfinite(following):
        flexibility = Flexibility(motion, free, float(of_kept[0]))
        more, own = _residual_vectors(motion, flexibility, model.rows.forces, kept, of_kept)
    squares, shapes = np.concatenate([of_kept, own]), np.hstack([kept, more])
    names = [f"rigid {k + 1}" for k in range(free.rigid)]
    names += [f"joint motion {k + 1}" for k in range(free.count - free.rigid)]
    names += [f"mode {k + 1}" for k in range(count)] + [f"residual {k + 1}" for k in range(len(own))]
    full = model.with_ratio(damping, motion.momenta(shapes), np.sqrt(squares))
    basis = np.hstack([free.shapes, shapes])
    words = f"{count} modes of the whole structure{f' and {len(own)} residual vectors' * vectors}, {source}"
    left_out, correction = np.inf if vectors else following, correction and not vectors
    found = reduced(full, basis, names, free, free, squares, shapes, left_out, 0, correction, words)
    if found.tail is None or flexibility is None:
        return replace(found, omega=np.sqrt(of_kept))
    ratios = 2.0 * (full.ratio or 0.0) * np.sqrt(own)
    tail = ResidualTail.of(full, basis, more, ratios, kept, of_kept, flexibility, following)
    # compared over the modes, not up to the residual ones
    return replace(found, omega=np.sqrt(of_kept), tail=tail)


def _residual_vectors(
    motion: EigenProblem, flexibility: Flexibility, forces: Floats, kept: Floats, squares: Floats
) -> tuple[Floats, Floats]:
    """Shapes (n_v, r) of unit mass and omega^2 (r,), with diagonal stiffness, in the span of static responses to forces
    (n_v, m) beside the modes ``kept`` (n_v, k) with omega^2 ``squares`` (k,)."""
    vectors = flexibility(forces) - (kept / squares) @ (kept.T @ forces)
    # once more, since the modes outweigh what is left
    vectors = vectors - kept @ (kept.T @ motion.momenta(vectors))
    none = np.zeros((motion.system.n_v, 0))
    basis, _ = orthonormal(motion, vectors, none, none, DEPENDENT)
    own, parts = np.linalg.eigh(basis.T @ motion.exact_stiffness(basis))
    return basis @ parts, own


def craig_bampton(
    model: LinearModel, count: int, *, damping: float | None = None, correction: bool = True
) -> ModalReduction:
    """The motions of the hub, with what it carries along, and the ``count`` lowest modes of each appendage beside it.

    The mass of the modes left out stays on the hub. damping : as in ``modal``, of the modes with the hub held.
    Raises ModelError: no hub, or a held one; more modes than there are; a spinning state; SolveError.
    """
    motion = at_rest(model, "Craig-Bampton")
    source = damping_source(motion, damping)
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
    interface = motion.of_moving(interface)
    pull = motion.times(motion.stiffness, interface)
    size = np.max(np.abs(motion.stiffness), initial=0.0)
    # reactions between its parts turn with them
    elsewhere = alone.unbalanced(pull)
    gap = np.max(np.abs(motion.gaps(interface)), initial=0.0)
    if np.max(np.abs(elsewhere), initial=0.0) > 1e-10 * size or gap > 1e-9:
        raise ModelError(
            f"Craig-Bampton: what the hub {model.hub!r} carries is also held by the ground, so that it does not follow "
            "the hub as a rigid body: ask for modes instead"
        )
    rates = relative_rates(motion, frame, motion.momenta(shapes))
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
    motion = base = full.motion
    rows = full.rows
    if interface:
        base = motion.holding(motion.system.layout.bodies[full.hub])  # type: ignore[index]
    M, C, _, _ = full.matrices
    drags = damping_products(motion, basis)
    mass, damping = basis.T @ (M @ basis), basis.T @ drags
    stiffness = basis.T @ motion.exact_stiffness(basis)
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
    X = base.of_moving(np.hstack(columns))
    m, p, at = len(rows.inputs), len(rows.outputs), interface + len(names)
    gram, ratio = np.zeros((X.shape[1], X.shape[1])), 0.0
    if np.isfinite(following):
        flexibility = Flexibility(base, free, float(np.min(squares)))
        gram = gram_of(X, flexibility(X), shapes, squares)
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
    columns = base.of_moving(low.left * np.sqrt(np.maximum(sizes, 0.0)))
    gram = gram_of(columns, flexibility(columns), kept, squares)
    return float(np.max(np.linalg.eigvalsh(gram), initial=0.0))


def first_order(model: SecondOrderModel, full: LinearModel, free: Floats | None = None) -> StateSpace:
    """The state space with x = (q, q'), and the inputs and outputs of ``full`` with their units.

    free (r, f) : motions that are known to have no stiffness; None where it is not known which these are.
    """
    known = None if free is None else (free, free.shape[1])
    return space_of(model, full.inputs, full.outputs, free=known, units=full.units)


def space_of(
    model: SecondOrderModel,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    integrated: Collection[str] = (),
    free: tuple[Floats, int] | None = None,
    kinematics: Floats | None = None,
    invariant: Invariant | None = None,
    exact: ExactForces | None = None,
    **words: Any,
) -> StateSpace:
    """The state space with x = (q, w) of a second-order model, where q' = w + E q.

    integrated : names of first-order states among the coordinates, as in ``names_of_states``. free : motions
    (r, f) that are known to have no stiffness, and how many of them are kept, as in ``ModalForm``; None where it is not
    known. kinematics (r, r + m) : E, and of driven motions that are inputs; by default zero. invariant : about a
    steady rotation, by all states (q, w). exact : as in ``ModalForm``. words : others of the state space.
    """
    r = len(model.names)
    right = np.hstack([-model.stiffness, -model.damping, model.forces])
    if r:  # scipy before 1.14 refuses no rows
        right = cho_solve(cho_factor(model.mass), right)
    turning = np.zeros((r, r + len(inputs))) if kinematics is None else kinematics
    A = np.block([[turning[:, :r], np.eye(r)], [right[:, : 2 * r]]])
    B = np.vstack([turning[:, r:], right[:, 2 * r :]])
    C = np.hstack([model.position, model.rate]) + model.acceleration @ right[:, : 2 * r]
    D = model.direct + model.acceleration @ right[:, 2 * r :]
    states, names = names_of_states(model.names, integrated, A, C)
    A, B, C = A[np.ix_(states, states)], B[states], C[:, states]
    space = StateSpace(A, B, C, D, names, inputs, outputs, **words)
    if invariant is not None:
        steady = SteadyForm.of(space.A, space.B, space.C, invariant.of_states(states))
        return replace(space, form=InModes(steady, space.A, space.B, space.C))
    own = [k for k, name in enumerate(model.names) if name in integrated]
    alone = not np.any(model.stiffness[own]) and not np.any(model.stiffness[:, own])
    if free is None or not alone or np.any(turning):
        return space
    unseen = np.setdiff1d(np.arange(r), states).tolist()
    seen = [k for k in own if k not in unseen]
    form = ModalForm(model, np.hstack([np.eye(r)[:, seen], free[0]]), unseen, len(seen) + free[1], exact)
    return replace(space, form=InModes(form, space.A, space.B, space.C))
