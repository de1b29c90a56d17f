"""The part that a truncation leaves out, and a bound of its effect at any frequency.

The modes left out, of frequencies above omega_n, follow the motion q of the basis and the inputs u:

    (W^2 + i w D - w^2) eta = Phi^T (w^2 M - i w C) B q + Phi^T F u,    |(1 + i w W^-1 D W^-1 - w^2 W^-2)^-1| <= 1/(1 -
    w^2/omega_n^2) with any damping D that takes power

so that inner products weighted by W^-2, which static solutions give without the modes, bound the difference of the
transfer functions. Source: docs/theory/linearisation.md, equations (23) and (24).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Complexes, Floats
from femb.layout.element import LowRank
from femb.linear.model import LinearModel
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import FreeMotions, free_motions
from femb.vibration.appendages import appendages
from femb.vibration.eigen import freedoms, real_modes
from femb.vibration.flexibility import Flexibility


@dataclass(frozen=True, eq=False)
class SecondOrderModel:
    """A reduced model M q'' + C q' + K q = F u, y = P q + V q' + A q'' + D u, dense; r coordinates with names."""

    names: tuple[str, ...]
    mass: Floats
    damping: Floats
    stiffness: Floats
    forces: Floats
    position: Floats
    rate: Floats
    acceleration: Floats
    direct: Floats

    def inverse(self, s: complex) -> Complexes:
        """(r, r): (s^2 M + s C + K)^-1."""
        return np.asarray(np.linalg.inv(s * s * self.mass + s * self.damping + self.stiffness))

    def rows(self, s: complex) -> Complexes:
        """(p, r): P + s V + s^2 A."""
        return np.asarray(self.position + s * self.rate + s * s * self.acceleration, dtype=complex)

    def transfer(self, s: complex) -> Complexes:
        """(p, m) transfer matrix at s, 1/s."""
        return np.asarray(self.rows(s) @ self.inverse(s) @ self.forces + self.direct)


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
    for part in appendages(alone):
        own = alone.only(*part.frames)
        free = free_motions(own)
        if freedoms(own) - free.count < 1:
            continue
        values, found, after = modes_and_next(own, free, min(count, max(1, freedoms(own) - free.count)))
        shapes.append(found)
        squares.append(values)
        names += [f"{part.name}.mode {k + 1}" for k in range(len(values))]
        following = min(following, after)
    return np.hstack(shapes), np.concatenate(squares), names, following


def largest_gap(motion: EigenProblem, columns: Floats) -> float:
    if not motion.system.n_c:
        return 0.0
    return float(max(np.max(np.abs(motion.gaps(np.ascontiguousarray(x)))) for x in columns.T))


def products(motion: EigenProblem, data: Floats, columns: Floats) -> Floats:
    """Block data times columns (n_v, k)."""
    return by_columns(motion, partial(motion.times, data), columns)


def stiffness_products(motion: EigenProblem, columns: Floats) -> Floats:
    """The stiffness times columns (n_v, k), by exact products."""
    return by_columns(motion, motion.exact_stiffness, columns)


def damping_products(motion: EigenProblem, columns: Floats) -> Floats:
    """The damping without modal damping times columns (n_v, k), by exact products."""
    if not np.any(motion.damping):
        return np.zeros_like(columns)
    return by_columns(motion, motion.exact.damping, columns)


def modal_drags(full: LinearModel, columns: Floats) -> Floats:
    """The case's modal damping times columns (n_v, k); zero where a ratio of the kept modes is in its place, as this
    damps no others."""
    low = full.motion.low_rank
    if full.ratio is not None or not low.rank:
        return np.zeros_like(columns)
    return np.where(full.motion.held[:, None], 0.0, low.left @ (low.damping.T @ columns))


def takes_power(low: LowRank) -> bool:
    """Whether modal damping is symmetric and takes power from every motion: U c U^T with c of no negative number."""
    squares = np.sum(low.left**2, axis=0)
    factors = np.sum(low.left * low.damping, axis=0) / np.where(squares > 0.0, squares, 1.0)
    rest = np.abs(low.damping - factors * low.left)
    symmetric = np.max(rest, initial=0.0) <= ALIKE * np.max(np.abs(low.damping), initial=0.0)
    return bool(symmetric and np.all(factors >= 0.0))


def by_columns(motion: EigenProblem, product: Callable[[Floats], Floats], columns: Floats) -> Floats:
    found = [product(np.ascontiguousarray(column)) for column in columns.T]
    return np.array(found).reshape(-1, motion.system.n_v).T


# Of the largest entry of modal damping: larger differences are no rounding.
ALIKE = 1e-9

# A bound of the error of residual vectors, by the forces that the reduced model leaves unbalanced.
#
# With the basis B, G - G_r = r_c^T Z^-1 r_b with the residuals of Galerkin's method
#
#     r_b = F - Z B (B^T Z B)^-1 B^T F,   r_c = c - Z^T B (B^T Z B)^-T B^T c
#
# which act on the modes left out alone. Weighted by W^-1 their norms take static solutions only, as in
# ``femb.linear.tail``. Source: docs/theory/linearisation.md, equation (24a).


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
        """Of a basis whose last columns are the vectors (n_v, r), after the modes ``kept`` with omega^2 ``squares``."""
        M = full.matrices[0]
        rows = full.rows
        solved = [
            rows.forces,
            rows.position.T,
            rows.rate.T,
            rows.acceleration.T,
            M @ vectors,
            damping_products(full.motion, basis) + modal_drags(full, basis),
        ]
        columns = np.where(full.motion.held[:, None], 0.0, np.hstack(solved))
        flexible, used = np.zeros_like(columns), np.any(columns, axis=0)
        flexible[:, used] = flexibility(columns[:, used])
        stiff = stiffness_products(full.motion, vectors)
        gram = gram_of(np.hstack([columns, stiff]), np.hstack([flexible, vectors]), kept, squares)
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
