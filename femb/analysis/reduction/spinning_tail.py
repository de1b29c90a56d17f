"""What a truncation of complex modes leaves out of a structure that turns: its static share, and a bound of its effect.

Without dampers A is skew in the energy E = diag(K, M), so that the modes left out are orthogonal in it. If their
energies are positive, with z_b = A^-1 b, w_b = A^-1 z_b, z_c = A^-1 E^-1 c of inputs b and outputs c without the
kept motions,

    G(s) - G(0) = s <z_c, z_b> + s^2 <z_c, w_b> + rest,   |rest| <= w^3 / (w_n - w) |z_c| |w_b|

Source: docs/theory/linearisation.md, section 8.
"""

from dataclasses import dataclass

import numpy as np

from femb.analysis.modes.eigen import check_count, lowest
from femb.analysis.modes.eigenproblem import EigenProblem
from femb.analysis.modes.flexibility import Flexibility
from femb.analysis.modes.rigid import FreeMotions
from femb.analysis.reduction.kept_modes import products
from femb.analysis.reduction.rows import Rows
from femb.base.types import Complexes, Floats

# Of the terms of a damping matrix: what may be lacking of skew symmetry.
SKEW = 1e-10
# Of the energy of a state: below this it is rounding.
ENERGY = 1e-8
# Motions of negative stiffness that are looked for.
NEGATIVE = 12


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

    def rows_left_out(self, c: Floats) -> Floats:
        """Rows c (2 n_v, k) on states, as columns, less their part on the subspace."""
        return np.asarray(c - self.left @ (self.right.T @ c))


class FirstOrder:
    """Products and static solutions of M p'' + C p' + K p + J^T mu = F in first order."""

    def __init__(self, motion: EigenProblem, free: FreeMotions, lowest: float) -> None:
        self.motion, self.free = motion, free
        self.flexibility = Flexibility(motion, free, lowest)
        C = motion.system.pattern.to_csc(motion.damping)[: motion.system.n_v, : motion.system.n_v]
        self._transposed = C.T
        skew = abs(C + C.T).max() <= SKEW * abs(C).max() if C.nnz else True
        self.conservative = bool(skew and not motion.low_rank.rank)

    def damping(self, x: Floats) -> Floats:
        """(C + G) x (n_v, k)."""
        columns = [self.motion.damping_times(column) for column in np.ascontiguousarray(x.T)]
        return np.array(columns).reshape(x.T.shape).T

    def damping_transposed(self, x: Complexes) -> Complexes:
        """(C + G)^T x (n_v, k)."""
        low = self.motion.low_rank
        return np.asarray(self._transposed @ x + low.damping @ (low.left.T @ x))

    def mass(self, x: Floats) -> Floats:
        """M x (n_v, k)."""
        return products(self.motion, self.motion.mass, x)

    def stiffness(self, x: Floats) -> Floats:
        """K x (n_v, k)."""
        return products(self.motion, self.motion.stiffness, x)

    def solve(self, first: Floats, momenta: Floats) -> tuple[Floats, Floats]:
        """x (2 n_v, k) with A x = (first, M^-1 momenta), and the force K x_1, of what is orthogonal to free motions."""
        force = np.where(self.motion.held[:, None], 0.0, -(momenta + self.damping(first)))
        return np.vstack([self.flexibility(force), first]), force


@dataclass(frozen=True, eq=False)
class SpinningTail:
    """The modes left out beside an invariant subspace, of m inputs and p outputs.

    static (p, m) : their response to constant inputs. slope, curvature (p, m) : its first and second derivative by s,
    the latter halved. sizes_of_outputs (p,), sizes_of_inputs (m,) : |z_c|, |w_b|. of_rates : (static, slope, curvature,
    sizes) of the rates of outputs that have accelerations. next_omega : rad/s. positive : whether all their energies
    are.
    """

    static: Floats
    slope: Floats
    curvature: Floats
    sizes_of_outputs: Floats
    sizes_of_inputs: Floats
    rates: tuple[Floats, Floats, Floats, Floats]
    next_omega: float
    positive: bool

    @classmethod
    def of(cls, equations: FirstOrder, kept: States, rows: Rows, next_omega: float) -> "SpinningTail":
        """With rows of the full model, and the frequency of the first mode left out, or infinity."""
        n, m, p = len(rows.forces), len(rows.inputs), len(rows.outputs)
        if not np.isfinite(next_omega):
            none, nothing = np.zeros((p, m)), np.zeros(p)
            return cls(none, none, none, nothing, np.zeros(m), (none, none, none, nothing), next_omega, True)
        share = kept.adjoint.T @ rows.forces
        first = -kept.right[:n] @ share
        momenta = rows.forces - equations.mass(kept.right[n:] @ share)
        z, _ = equations.solve(first, momenta)
        z = kept.left_out(z)
        w, force = equations.solve(z[:n], equations.mass(z[n:]))
        w = kept.left_out(w)
        energies = np.sum(w[:n] * force, axis=0) + np.sum(w[n:] * equations.mass(w[n:]), axis=0)
        sizes_of_inputs = np.sqrt(np.maximum(energies, 0.0))
        found = [_of_rows(equations, kept, c, z, w) for c in (_columns(rows.position, rows.rate), _rates(rows))]
        (static, slope, curvature, sizes), of_rates = found
        return cls(
            static,
            slope,
            curvature,
            sizes,
            sizes_of_inputs,
            of_rates,
            next_omega,
            equations.conservative and _positive(equations, kept),
        )

    def bound(self, omega: float) -> Floats:
        """(p, m): the largest difference of the transfer matrices at omega, rad/s; infinite where nothing is known."""
        if not np.isfinite(self.next_omega):
            return np.zeros_like(self.static)
        if omega >= self.next_omega:
            return np.full_like(self.static, np.inf)
        s, rest = 1j * omega, omega**3 / (self.next_omega - omega)
        static, slope, curvature, sizes = self.rates
        change = s * self.slope + s**2 * self.curvature + s * (static + s * slope + s**2 * curvature)
        return np.asarray(np.abs(change) + rest * np.outer(self.sizes_of_outputs + omega * sizes, self.sizes_of_inputs))


def _columns(position: Floats, rate: Floats) -> Floats:
    """Rows on p and p' as columns (2 n_v, p)."""
    return np.vstack([position.T, rate.T])


def _rates(rows: Rows) -> Floats:
    """Rows on p'' as those on p', whose rate they are."""
    return _columns(np.zeros_like(rows.acceleration), rows.acceleration)


def _of_rows(
    equations: FirstOrder, kept: States, c: Floats, z: Floats, w: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Static response, slope, curvature (p, m) and sizes (p,) of rows on states, as columns (2 n_v, p)."""
    n, static = len(z) // 2, -(c.T @ z)
    if not np.any(c):
        return static, static, static, np.zeros(len(static))
    rows = kept.rows_left_out(c)
    # E^-1 c = (K^-1 c_1, M^-1 c_2)
    first = equations.flexibility(rows[:n])
    z_c, force = equations.solve(first, rows[n:])
    z_c = kept.left_out(z_c)
    momenta = equations.mass(z_c[n:])
    slope, curvature = (force.T @ x[:n] + momenta.T @ x[n:] for x in (z, w))
    energies = np.sum(z_c[:n] * force, axis=0) + np.sum(z_c[n:] * momenta, axis=0)
    return static, slope, curvature, np.sqrt(np.maximum(energies, 0.0))


def _positive(equations: FirstOrder, kept: States) -> bool:
    """Whether all motions of negative energy are among the kept ones: their numbers, of K and of E, agree."""
    motion, free = equations.motion, equations.free
    most = check_count(motion, free, 1)
    squares, _ = lowest(motion, free, min(NEGATIVE, most))
    if squares[-1] < 0.0:
        return False
    n = motion.system.n_v
    p, rate = kept.right[:n], kept.right[n:]
    energy = p.T @ equations.stiffness(p) + rate.T @ equations.mass(rate)
    # rigid motions without energy have the scale of the lowest frequency
    moved = p.T @ equations.mass(p)
    scale = np.abs(np.diag(energy)) + np.min(np.abs(squares)) * np.diag(moved) + np.diag(rate.T @ equations.mass(rate))
    scale = 1.0 / np.sqrt(scale)
    values = np.linalg.eigvalsh(scale[:, None] * (0.5 * (energy + energy.T)) * scale)
    return int(np.sum(values < -ENERGY)) == int(np.sum(squares < 0.0))
