"""Stability of an equilibrium: how many motions lower its energy, and the motions without stiffness at a critical load.

A state is stable where the stiffness of the motions that the constraints allow is positive definite. Of loads that
follow the motion the stiffness is not symmetric; its symmetric part is judged: while that is positive definite there is
neither divergence nor flutter. Source: docs/theory/statics.md, section 4.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from femb.analysis.regularisation import scaled_mass
from femb.analysis.statics import Balanced, Statics
from femb.base.types import Floats, Ints
from femb.numerics.newton import largest
from femb.system.block_lu import Factorisation, SingularError

FREE = 1e-12  # of the stiffness: what holds a free structure, whose rigid motions have none
ITERATIONS = 8  # of inverse iteration: each gains the ratio of the two lowest stiffnesses


@dataclass(frozen=True, eq=False)
class Stability:
    """negative : how many eigenvalues of the stiffness are negative. asymmetry : of the stiffness, relative.

    stiffness : its symmetric part, block data; factors : of that with the constraints.
    """

    negative: int
    asymmetry: float
    stiffness: Floats
    factors: Factorisation


class Stiffness:
    """The symmetric stiffness of equilibria of static equations; ``free`` whether some structure is not held."""

    def __init__(self, statics: Statics, free: bool) -> None:
        self.statics, self.free = statics, free
        self.pattern = statics.twin.pattern

    @cached_property
    def _transposed(self) -> Ints:
        """Place of the transposed entry of every entry of block data."""
        rows, columns = self.pattern.rows_columns()
        result = np.empty(len(rows), dtype=np.int64)
        result[np.lexsort((columns, rows))] = np.lexsort((rows, columns))
        return result

    def at(self, found: Balanced) -> Stability:
        """How stable an equilibrium is. Raises SingularError where a motion has no stiffness at all."""
        statics = self.statics
        state = statics.state(found.q, found.load)
        system = statics.under(found.load)
        stiffness, jacobian = statics.matrices(state, found.q, found.multipliers, system=system)
        transposed = stiffness[self._transposed]
        size = largest(stiffness)
        asymmetry = largest(stiffness - transposed) / size if size else 0.0
        stiffness = 0.5 * (stiffness + transposed)
        if statics.twin.n_c:
            stiffness += size * statics.products(jacobian)
        if self.free:
            stiffness += FREE * scaled_mass(self.pattern, system.mass_data(found.q), stiffness)
        try:
            factors = statics.twin.solver.factorise(stiffness + jacobian)
        except SingularError:
            stiffness += FREE * scaled_mass(self.pattern, system.mass_data(found.q), stiffness)
            factors = statics.twin.solver.factorise(stiffness + jacobian)
        return Stability(factors.negative_eigenvalues(), asymmetry, stiffness, factors)

    def along(self, found: Balanced, mode: Floats) -> float:
        """Stiffness of an equilibrium along a motion (n_v,), x^T K x."""
        x = np.append(mode, np.zeros(self.statics.twin.n_c))
        return float(x @ self.statics.twin.solver.multiply(self.at(found).stiffness, x))

    def softest(self, found: Balanced, count: int) -> Floats:
        """(count, n_v): the motions of least stiffness, largest displacement or rotation one, by inverse iteration.

        Displacements are measured by the extent of the model, so that a rotation of one counts as much.
        """
        twin = self.statics.twin
        factors = self.at(found).factors
        weights = motion_weights(self.statics)
        x = np.random.default_rng(0).standard_normal((twin.n_v, count))
        for _ in range(ITERATIONS):
            for k in range(count):
                right = np.append(weights * x[:, k], np.zeros(twin.n_c))
                x[:, k] = factors.solve(right)[: twin.n_v]
            x = np.linalg.qr(np.sqrt(weights)[:, None] * x)[0]
            x /= np.sqrt(np.where(weights > 0.0, weights, 1.0))[:, None]
        return _plain(x.T, weights)


def motion_weights(statics: Statics) -> Floats:
    """(n_v,) by which squares of displacements (1/m2) and rotations are summed; a little for strains."""
    layout = statics.twin.layout
    weights = np.full(statics.twin.n_v, 1e-12)
    extent = max(float(np.ptp([frame.position for frame in layout.frames], axis=0).max()), 1e-3 * layout.extent)
    for frame, j in zip(layout.frames, layout.frame_v, strict=True):
        if frame.freedom:
            weights[j : j + 3] = 1.0 / max(extent, 1e-300) ** 2
        if frame.freedom == 6:
            weights[j + 3 : j + 6] = 1.0
    return weights


def _plain(modes: Floats, weights: Floats) -> Floats:
    """Modes (k, n_v) that are as far from each other as the axes allow, with the largest weighted component one.

    Of a group of equal loads any combination is a mode: the one with a single largest component is easy to read.
    """
    found = np.array(modes)
    for k in range(len(found)):
        rest = np.sqrt(weights) * found[k:]
        row, column = divmod(int(np.argmax(np.abs(rest))), rest.shape[1])
        found[[k, k + row]] = found[[k + row, k]]
        found[k] /= np.sqrt(weights[column]) * found[k, column]
        for j in range(len(found)):
            if j != k:
                found[j] -= found[j, column] / found[k, column] * found[k]
    return found
