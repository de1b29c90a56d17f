"""Truncated models of structures that turn: complex modes, by left and right vectors of the first-order form.

    x' = A x + B u,   A X = X L,   Y^T A = L Y^T,   Y^T X = 1,   x = (p, p')
    q' = L q + Y^T B u,   y = C X q + (D + S) u,   S = -C (1 - X Y^T) A^-1 B

of rigid-body motions, which are exact, and of the lowest modes, with the static share S of the others.
Source: docs/theory/linearisation.md, section 8.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag
from scipy.sparse import csc_array

from femb.base.errors import ModelError
from femb.base.types import Complexes, Floats
from femb.layout.element import LowRank
from femb.linear.modal_form import NONE, Invariant, SteadyForm, product_without_rounding
from femb.linear.modal_reduction import compared_at
from femb.linear.model import LinearModel
from femb.linear.response import FrequencyResponse
from femb.linear.rows import Rows
from femb.linear.state_space import InModes, StateSpace, Truncation
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import FreeMotions, free_motions
from femb.vibration.complex_modes import REAL, RigidStates, complex_modes, rigid_states, shape_errors
from femb.vibration.damping_ratios import damping_source, ratio_of_modes
from femb.vibration.eigen import check_count, check_within, freedoms, is_symmetric, lowest
from femb.vibration.flexibility import Flexibility
from femb.vibration.mode_words import MULTIPLE
from femb.vibration.solution import BELOW

# The part that a truncation of complex modes leaves out of a turning structure: its static share and a bound.
#
# Without dampers A is skew in the energy E = diag(K, M), so that the modes left out are orthogonal in it. If their
# energies are positive, with z_b = A^-1 b, w_b = A^-1 z_b, z_c = A^-1 E^-1 c of inputs b and outputs c without the
# kept motions,
#
#     G(s) - G(0) = s <z_c, z_b> + s^2 <z_c, w_b> + rest,   |rest| <= w^3 / (w_n - w) |z_c| |w_b|
#
# Source: docs/theory/linearisation.md, section 8.

# Of the terms of a damping matrix: what may be lacking of skew symmetry.
SKEW = 1e-10
# Of the energy of a state: below this it is rounding.
ENERGY = 1e-8
# Motions of negative stiffness that are looked for.
NEGATIVE = 12
DAMPED = "the structure turns and has dampers or modal damping of its own, so that no energy is known to bound"
NEGATIVE_ENERGY = "modes left out may have a negative energy, as in a rotation above their frequencies: keep more modes"


@dataclass(frozen=True, eq=False)
class States:
    """Real right and left vectors (2 n_v, d) of an invariant subspace; left = [.., M adjoint]."""

    right: Floats
    left: Floats
    adjoint: Floats

    def beside(self, other: "States") -> "States":
        """Both subspaces."""
        pairs = ((self.right, other.right), (self.left, other.left), (self.adjoint, other.adjoint))
        return States(*(np.hstack(pair) for pair in pairs))

    def left_out(self, x: Floats) -> Floats:
        """States x (2 n_v, k) less their part in the subspace."""
        return np.asarray(x - self.right @ (self.left.T @ x))


class FirstOrder:
    """Products and static solutions of M p'' + C p' + K p + J^T mu = F in first order."""

    def __init__(self, motion: EigenProblem, free: FreeMotions, lowest: float) -> None:
        self.motion, self.free = motion, free
        self.flexibility = Flexibility(motion, free, lowest)
        C = motion.system.pattern.to_csc(motion.damping)[: motion.system.n_v, : motion.system.n_v]
        skew = abs(C + C.T).max() <= SKEW * abs(C).max() if C.nnz else True
        self.conservative = bool(skew and not motion.low_rank.rank)

    def solve(self, first: Floats, momenta: Floats) -> tuple[Floats, Floats]:
        """x (2 n_v, k) with A x = (first, M^-1 momenta), and the force K x_1, of what is orthogonal to free motions."""
        force = self.motion.of_moving(-(momenta + self.motion.exact_damping(first)))
        return np.vstack([self.flexibility(force), first]), force


class Share(NamedTuple):
    """The share of modes that are left out in p outputs: static response, slope and curvature (p, m), its first and
    second derivative by s, the latter halved; sizes (p,), |z_c|."""

    static: Floats
    slope: Floats
    curvature: Floats
    sizes: Floats


@dataclass(frozen=True, eq=False)
class SpinningTail:
    """The modes left out beside an invariant subspace, of m inputs and p outputs.

    of_outputs, of_rates : their share in the outputs, and in the rates of those that have accelerations. sizes (m,) :
    |w_b|, of inputs. next_omega : rad/s. positive : whether all their energies are.
    """

    of_outputs: Share
    of_rates: Share
    sizes: Floats
    next_omega: float
    positive: bool

    @classmethod
    def of(cls, equations: FirstOrder, kept: States, rows: Rows, next_omega: float) -> "SpinningTail":
        """The tail with rows of the full model, and the frequency of the first mode left out, or infinity."""
        n, m, p = len(rows.forces), len(rows.inputs), len(rows.outputs)
        if not np.isfinite(next_omega):
            zero = np.zeros((p, m))
            none = Share(zero, zero, zero, np.zeros(p))
            return cls(none, none, np.zeros(m), next_omega, True)
        share = kept.adjoint.T @ rows.forces
        first = -kept.right[:n] @ share
        momenta = rows.forces - equations.motion.momenta(kept.right[n:] @ share)
        z, _ = equations.solve(first, momenta)
        z = kept.left_out(z)
        w, force = equations.solve(z[:n], equations.motion.momenta(z[n:]))
        w = kept.left_out(w)
        energies = np.sum(w[:n] * force, axis=0) + np.sum(w[n:] * equations.motion.momenta(w[n:]), axis=0)
        # rows on p'' as those on p', whose rate they are
        columns = [(rows.position, rows.rate), (np.zeros_like(rows.acceleration), rows.acceleration)]
        of_outputs, of_rates = (_of_rows(equations, kept, np.hstack(pair).T, z, w) for pair in columns)
        positive = equations.conservative and _positive(equations, kept)
        return cls(of_outputs, of_rates, np.sqrt(np.maximum(energies, 0.0)), next_omega, positive)

    def bound(self, omega: float) -> Floats:
        """(p, m): the largest difference of the transfer matrices at omega, rad/s; infinite where nothing is known."""
        if not np.isfinite(self.next_omega):
            return np.zeros_like(self.of_outputs.static)
        if omega >= self.next_omega:
            return np.full_like(self.of_outputs.static, np.inf)
        s, rest = 1j * omega, omega**3 / (self.next_omega - omega)
        of, rates = self.of_outputs, self.of_rates
        change = s * of.slope + s**2 * of.curvature + s * (rates.static + s * rates.slope + s**2 * rates.curvature)
        return np.asarray(np.abs(change) + rest * np.outer(of.sizes + omega * rates.sizes, self.sizes))


def _of_rows(equations: FirstOrder, kept: States, c: Floats, z: Floats, w: Floats) -> Share:
    """The share in outputs with rows on states, as columns (2 n_v, p)."""
    n, static = len(z) // 2, -(c.T @ z)
    if not np.any(c):
        return Share(static, static, static, np.zeros(len(static)))
    rows = np.asarray(c - kept.left @ (kept.right.T @ c))
    # E^-1 c = (K^-1 c_1, M^-1 c_2)
    first = equations.flexibility(rows[:n])
    z_c, force = equations.solve(first, rows[n:])
    z_c = kept.left_out(z_c)
    momenta = equations.motion.momenta(z_c[n:])
    slope, curvature = (force.T @ x[:n] + momenta.T @ x[n:] for x in (z, w))
    energies = np.sum(z_c[:n] * force, axis=0) + np.sum(z_c[n:] * momenta, axis=0)
    return Share(static, slope, curvature, np.sqrt(np.maximum(energies, 0.0)))


def _positive(equations: FirstOrder, kept: States) -> bool:
    """Whether all motions of negative energy are among the kept ones: their numbers, of K and of E, agree."""
    motion, free = equations.motion, equations.free
    most = check_count(motion, free, 1)
    squares, _ = lowest(motion, free, min(NEGATIVE, most))
    if squares[-1] < 0.0:
        return False
    n = motion.system.n_v
    p, rate = kept.right[:n], kept.right[n:]
    kinetic = rate.T @ motion.momenta(rate)
    energy = p.T @ motion.exact_stiffness(p) + kinetic
    # rigid motions without energy have the scale of the lowest frequency
    moved = np.diag(p.T @ motion.momenta(p))
    scale = np.abs(np.diag(energy)) + np.min(np.abs(squares)) * moved + np.diag(kinetic)
    scale = 1.0 / np.sqrt(scale)
    values = np.linalg.eigvalsh(scale[:, None] * (0.5 * (energy + energy.T)) * scale)
    return int(np.sum(values < -ENERGY)) == int(np.sum(squares < 0.0))


# Modes computed beyond those kept, so that the set ends between eigenvalues, of left and right vectors alike.
SPARE = 4


@dataclass(frozen=True, eq=False)
class SpinningReduction:
    """Rigid-body motions and modes of a structure that turns, and the full model.

    kind : in words. rigid, elastic : state spaces, whose sum is the reduced model; the static share is in the second.
    undamped : the second without the ratio of damping. omega (k,) : of the kept modes, rad/s. tail : None where the
    model has dampers, or where energies of the modes left out may be negative, which ``unbounded`` says in words.
    precision : the largest part of a kept shape that is not known.
    """

    kind: str
    full: LinearModel
    rigid: StateSpace
    elastic: StateSpace
    undamped: StateSpace
    omega: Floats
    tail: SpinningTail | None
    unbounded: str = ""
    precision: float = 0.0

    def bound(self, omega: float) -> Floats:
        """(p, m) bound of the difference of the transfer matrices at omega, rad/s."""
        assert self.tail is not None
        return self.tail.bound(omega)

    def state_space(self, frequencies: ArrayLike | None = None) -> StateSpace:
        """The state space, compared with the full model at frequencies in Hz."""
        space, r = beside(self.rigid, self.elastic), len(self.rigid.states)
        rigid = np.eye(len(space.states))[:, :r]
        known = SteadyForm.of(space.A, space.B, space.C, Invariant(rigid, self.rigid.A, rigid, self.rigid.A))
        space = replace(space, form=InModes(known, space.A, space.B, space.C))
        return self.compared(space, self.kind, frequencies, None if self.tail is None else self.bound)

    def compared(self, space: StateSpace, kind: str, frequencies: ArrayLike | None, bound: object) -> StateSpace:
        """A state space of the same inputs and outputs with its truncation error.

        The full model is the one in which the kept modes have their ratios of damping.
        """
        found = compared_at(self.omega, frequencies)
        full = self.full.frequency_response(found)
        space = replace(space, units=full.units)
        change = self.elastic.frequency_response(found).values - self.undamped.frequency_response(found).values
        damped = FrequencyResponse(found, full.values + change, full.outputs, full.inputs, full.rounding, full.units)
        reduced = space.frequency_response(found)
        unknown = self.precision * full.largest_alike(np.abs(reduced.values))
        reduced = replace(reduced, rounding=unknown if reduced.rounding is None else reduced.rounding + unknown)
        truncation = Truncation(kind, damped, reduced, bound, self.unbounded)  # type: ignore[arg-type]
        return replace(space, truncation=truncation)


def beside(first: StateSpace, second: StateSpace) -> StateSpace:
    """The sum of two state spaces with the same inputs and outputs."""
    n, m = len(first.states), len(second.states)
    A = np.block([[first.A, np.zeros((n, m))], [np.zeros((m, n)), second.A]])
    B, C = np.vstack([first.B, second.B]), np.hstack([first.C, second.C])
    return StateSpace(A, B, C, first.D + second.D, (*first.states, *second.states), first.inputs, first.outputs)


def elastic_modes(motion: EigenProblem) -> int:
    """The number of modes beside motions without stiffness, and those of a free structure that turns."""
    rigid = len(_rigid(motion)[2].rates) // 2 if motion.spinning else free_motions(motion).count
    return freedoms(motion) - rigid


def _rigid(motion: EigenProblem) -> tuple[FreeMotions, float, RigidStates]:
    """Motions without stiffness, |omega^2| of the lowest other, rad2/s2, and the states of rigid-body motions."""
    free = free_motions(motion)
    square = abs(float(lowest(motion, free, 1)[0][0]))
    return free, square, rigid_states(motion, free, square)


def spinning_modal(model: LinearModel, count: int, *, damping: float | None = None) -> SpinningReduction:
    """The ``count`` lowest complex modes of a structure that turns, its rigid-body motions, and the static share.

    damping : ratio of every kept mode in place of modal damping, by default 0.005 of a model without that: its
    eigenvalue moves by that part of its size. Other dampers act beside it. Raises ModelError: more modes than there
    are, a stiffness that is not symmetric; SolveError.
    """
    ratio = ratio_of_modes(model.motion.system.model, damping)
    if ratio is not None:
        # added to the eigenvalues of the kept modes, not to the matrices
        model = model.with_low_rank(LowRank.joined((), model.motion.system.n_v), ratio)
    motion = model.motion
    if not is_symmetric(motion):
        raise ModelError(
            "truncation: the stiffness of this rotation is not symmetric, as with loads that follow the motion: leave "
            "them out, take the frequency response, or linearize without truncation"
        )
    free, square, rigid = _rigid(motion)
    most = freedoms(motion) - len(rigid.rates) // 2
    check_within(count, most)
    equations = FirstOrder(motion, free, square)
    values, right, left, unknown = _both(equations, rigid, count, most, square)
    size = right.shape[1]
    if size < count:
        raise ModelError(
            f"modes: count: got {count}, wanted at most {size}: those beyond are overdamped and have the same "
            "eigenvalue, so that they cannot be told from each other"
        )
    kept, rates = _kept(equations, values[:size], right, left, count)
    of_rigid = States(rigid.states, rigid.left, rigid.adjoint)
    following = float(abs(values[count])) if len(values) > count else np.inf
    tail = SpinningTail.of(equations, of_rigid.beside(kept), model.rows, following)
    values = values[:count]
    names = [f"mode {k + 1}{part}" for k, value in enumerate(values) for part in _parts(value)]
    sizes = np.diag([abs(value) for value in values for _ in _parts(value)])
    direct = model.rows.direct + tail.of_outputs.static
    undamped, elastic = (_space(model, kept, each, names, direct) for each in (rates, rates - (ratio or 0.0) * sizes))
    rigid_names = [f"rigid {k + 1}" for k in range(len(rigid.rates))]
    return SpinningReduction(
        f"{count} modes of the structure that turns, {damping_source(motion, damping)}",
        model,
        _space(model, of_rigid, rigid.rates, rigid_names, np.zeros_like(direct), NONE),
        elastic,
        undamped,
        np.abs(values),
        tail if tail.positive else None,
        NEGATIVE_ENERGY if equations.conservative else DAMPED,
        float(np.max(unknown[:count])),
    )


def _both(
    equations: FirstOrder, rigid: RigidStates, count: int, most: int, square: float
) -> tuple[Complexes, Complexes, Complexes, Floats]:
    """The eigenvalues, shapes (n_v, k) of right and of left vectors of the first, which end between eigenvalues, and
    the parts (k,) of these that are not known."""
    motion, count = equations.motion, min(count + SPARE, most)
    shift = max(BELOW * float(np.sqrt(square)), np.finfo(float).tiny)
    values, right = complex_modes(motion, rigid, count, shift)
    unknown = shape_errors(motion, values, right, shift)
    if equations.conservative:
        return values, right, right.conj(), unknown
    opposite = _transposed(motion)
    others, left = complex_modes(opposite, rigid_states(opposite, equations.free, square), count, shift)
    unknown = np.maximum(unknown, shape_errors(opposite, others, left, shift))
    size = len(values)
    if size < most:
        # the set ends between eigenvalues, so that left and right vectors are of the same ones
        alike = np.abs(np.diff(values)) <= MULTIPLE * np.abs(values[1:])
        size = int(np.flatnonzero(~alike)[-1]) + 1 if not np.all(alike) else 0
        # overdamped ones of one eigenvalue, as with parts without mass, have no vectors of their own
        merged = alike & (np.abs(values[1:].imag) <= REAL * np.abs(values[1:]))
        size = min(size, int(np.argmax(merged)) if np.any(merged) else size)
    return values, right[:, :size], left[:, :size], unknown


def _transposed(motion: EigenProblem) -> EigenProblem:
    """The adjoint equations, which are those of the opposite rotation with the same dampers."""
    pattern, low = motion.system.pattern, motion.low_rank
    n = motion.system.n_v
    damping = pattern.to_csc(motion.damping)[:n, :n].T.tocoo()
    whole = csc_array((damping.data, (damping.row, damping.col)), shape=(pattern.n, pattern.n))
    swapped = LowRank(low.damping, low.left, np.zeros_like(low.stiffness))
    exact = replace(motion.exact, transposed=not motion.exact.transposed)
    return replace(motion, v=-motion.v, damping=pattern.from_csc(whole), low_rank=swapped, exact=exact)


def _kept(
    equations: FirstOrder, values: Complexes, right: Complexes, left: Complexes, count: int
) -> tuple[States, Floats]:
    """Real states of the first modes, (Re, Im) of each, biorthogonal, and their rates."""
    x = np.vstack([right, values * right])
    momenta = equations.motion.momenta(left)
    y = np.vstack([values * momenta + equations.motion.adjoint_damping(left), momenta])
    X, Y, Z = (_real(each, values) for each in (x, y, left))
    products = Y.T @ X
    Y, Z = (np.asarray(np.linalg.solve(products, part.T).T) for part in (Y, Z))
    blocks = [
        np.array([[value.real, value.imag], [-value.imag, value.real]]) if len(_parts(value)) == 2 else value.real
        for value in values[:count]
    ]
    rates = block_diag(*blocks)
    size = len(rates)
    return States(X[:, :size], Y[:, :size], Z[:, :size]), rates


def _real(columns: Complexes, values: Complexes) -> Floats:
    """(Re, Im) of the vector of each eigenvalue; Re alone of a real one."""
    parts = [[x.real, x.imag][: len(_parts(value))] for x, value in zip(columns.T, values, strict=True)]
    return np.array([part for each in parts for part in each]).T


def _parts(value: complex) -> tuple[str, ...]:
    """Names of the states of an eigenvalue."""
    return ("", " quadrature") if value.imag > REAL * abs(value) else ("",)


def _space(
    model: LinearModel, states: States, rates: Floats, names: list[str], direct: Floats, none: float = 0.0
) -> StateSpace:
    """The motions of an invariant subspace alone. none : of its terms; what an output sees less of is not seen."""
    rows, n = model.rows, model.motion.system.n_v
    B = states.adjoint.T @ rows.forces
    p, rate = states.right[:n], states.right[n:]
    seen = np.hstack([rows.position, rows.rate, rows.acceleration])
    C = product_without_rounding(seen, np.vstack([p, rate, rate @ rates]), none)
    D = direct + rows.acceleration @ (rate @ B)
    return StateSpace(rates, B, C, D, tuple(names), rows.inputs, rows.outputs, units=rows.units)
