"""Stability of an equilibrium: how many motions lower its energy, and the motions without stiffness at a critical load.

A state is stable where the stiffness of the motions that the constraints allow is positive definite. Of loads that
follow the motion the stiffness is not symmetric; its symmetric part is judged: while that is positive definite there is
neither divergence nor flutter. Source: docs/theory/statics.md, section 4.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from femb.base.types import Floats
from femb.base.values import numbered
from femb.layout.connections import groups_of
from femb.numerics.newton import largest
from femb.statics.equations import scaled_mass
from femb.statics.neutral import NeutralMotions, neutral_motions, plain
from femb.statics.solve import Balanced, Statics
from femb.system.block_lu import AnyFactorisation, SingularError

CRITICAL = 1e-12  # of the stiffness: what makes one regular that is singular at a critical load
ITERATIONS = 8  # of inverse iteration: each gains the ratio of the two lowest stiffnesses
KEPT = 3  # states beside the latest one, whose neutral motions are kept


@dataclass(frozen=True, eq=False)
class Stability:
    """negative : how many eigenvalues of the stiffness are negative. asymmetry : of the stiffness, relative.

    stiffness : its symmetric part, block data, with J^T J by weights (n_c,); neutral : the motions without stiffness,
    which are not judged; factors : of the stiffness with the constraints, these motions held.
    """

    negative: int
    asymmetry: float
    stiffness: Floats
    weights: Floats
    neutral: NeutralMotions
    factors: "ScaledFactors"

    def solve(self, force: Floats) -> Floats:
        """Displacements (n_v,) by a force (n_v,); neither has a part along neutral motions."""
        n_v = len(force)
        right = np.where(self.neutral.held, 0.0, np.append(force, np.zeros(len(self.neutral.held) - n_v)))
        return self.neutral.without(self.factors.solve(right)[:n_v])


@dataclass(frozen=True, eq=False)
class ScaledFactors:
    """Factors of a matrix whose rows and columns have scales (n,): beside metres, angles would lose their digits in
    small structures."""

    factors: AnyFactorisation
    scales: Floats

    def solve(self, right: Floats) -> Floats:
        """The solution (n,) by the right side (n,)."""
        solution: Floats = self.scales * self.factors.solve(self.scales * right)
        return solution


class Stiffness:
    """The symmetric stiffness of equilibria of static equations."""

    def __init__(self, statics: Statics) -> None:
        self.statics = statics
        self.pattern = statics.twin.pattern
        # of the latest states: parts of a step begin at one state again and again
        self._kept: list[tuple[Balanced, NeutralMotions]] = []

    def at(self, found: Balanced) -> Stability:
        """The stability of an equilibrium, beside its neutral motions."""
        statics, system = self.statics, self.statics.under(found.load)
        stiffness, jacobian, asymmetry = self._symmetric(found)
        neutral = self._neutral(found, stiffness, jacobian)
        scales, weights = statics.scales(stiffness, jacobian)
        if statics.twin.n_c:
            stiffness += statics.products(statics.state(found.q, found.load)[0], found.q, weights)
        rows, columns = self.pattern.rows_columns()

        def factorised() -> AnyFactorisation:
            matrix = scales[rows] * (stiffness + jacobian) * scales[columns]
            return statics.twin.solver.factorise_symmetric(neutral.holding(matrix))

        try:
            factors = factorised()
        except SingularError:
            stiffness += CRITICAL * scaled_mass(self.pattern, system.mass_data(found.q), stiffness)
            factors = factorised()
        negative, scaled = factors.negative_eigenvalues(), ScaledFactors(factors, scales)
        return Stability(negative, asymmetry, stiffness, weights, neutral, scaled)

    def unmoved(self, found: Balanced, load: float) -> NeutralMotions | None:
        """The neutral motions of a state, if the forces at this load factor do not act along any of them; else None."""
        if self._without is not None:
            return self._without
        motions = self._known(found)
        if motions is None:
            stiffness, jacobian, _ = self._symmetric(found)
            motions = self._neutral(found, stiffness, jacobian)
        return motions.unmoved(self.statics.forces(found.q, load)[1]) if motions.count else motions

    def _neutral(self, found: Balanced, stiffness: Floats, jacobian: Floats) -> NeutralMotions:
        """The neutral motions of a state, which are kept for it."""
        if self._without is not None:
            return self._without
        motions = self._known(found)
        if motions is None:
            motions = neutral_motions(self.statics, found.q, found.multipliers, stiffness, jacobian)
            self._kept = [(found, motions), *self._kept[:KEPT]]
        return motions

    def _known(self, found: Balanced) -> NeutralMotions | None:
        """The neutral motions that are kept of a state; None without any."""
        return next((motions for state, motions in self._kept if state is found), None)

    @cached_property
    def _without(self) -> NeutralMotions | None:
        """No motions, where every structure is fixed to the ground by itself; else None."""
        frames = self.statics.twin.layout.frames
        groups = groups_of(self.statics.twin.layout, joined=False)
        if any(all(frames[k].freedom for k in group) for group in groups):
            return None
        return NeutralMotions.of(self.statics, np.zeros((self.statics.twin.n_v, 0)), 0)

    def _symmetric(self, found: Balanced) -> tuple[Floats, Floats, float]:
        """The symmetric part of the stiffness of a state and the Jacobian, block data, and the asymmetry."""
        state = self.statics.state(found.q, found.load)
        system = self.statics.under(found.load)
        stiffness, jacobian = self.statics.matrices(state, found.q, found.multipliers, system=system)
        transposed = stiffness[self.pattern.transposed]
        size = largest(stiffness)
        asymmetry = largest(stiffness - transposed) / size if size else 0.0
        return 0.5 * (stiffness + transposed), jacobian, asymmetry

    def along(self, found: Balanced, mode: Floats) -> float:
        """Stiffness of an equilibrium along a motion (n_v,), x^T K x."""
        x = np.append(mode, np.zeros(self.statics.twin.n_c))
        return float(x @ self.statics.twin.solver.multiply(self.at(found).stiffness, x))

    def softest(self, found: Balanced, count: int) -> Floats:
        """(count, n_v): the motions of least stiffness, largest displacement or rotation one, by inverse iteration.

        Displacements are measured by the extent of the model, so that a rotation of one counts as much.
        """
        twin, weights, stability = self.statics.twin, self.statics.weights, self.at(found)
        x = np.random.default_rng(0).standard_normal((twin.n_v, count))
        for _ in range(ITERATIONS):
            for k in range(count):
                x[:, k] = stability.solve(weights * stability.neutral.without(x[:, k]))
            x = np.linalg.qr(np.sqrt(weights)[:, None] * x)[0]
            x /= np.sqrt(np.where(weights > 0.0, weights, 1.0))[:, None]
        return plain(x.T, weights)


def negative_stiffness(count: int) -> str:
    """Words that say how many motions of an unstable equilibrium lower its energy."""
    return f"{numbered(count, 'motion')} {'has' if count == 1 else 'have'} a negative stiffness"
