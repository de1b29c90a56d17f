"""Base class of formulations in coordinates of a joint tree: the rows that remain constraints."""

import numpy as np

from femb.base.types import Floats, Ints
from femb.formulations.joint_tree import JointTree
from femb.formulations.transformed import Transformed
from femb.layout.element import TrialError
from femb.numerics.newton import largest, newton
from femb.system.linear_solver import Factors

PROJECTION_TOLERANCE, PROJECTION_ITERATIONS = 1e-13, 10


class TreeForm(Transformed):
    """A System in coordinates of its joint tree.

    The rows of drivers and of engaged latches, which belong to no joint of the tree, are retained as constraints.
    retained : indices of these n_c rows in the System's multipliers.
    """

    def _select_rows(self, tree: JointTree) -> None:
        engaged = self.system.discrete.engaged
        idle = {latch.row for latch, on in zip(self.layout.latches, engaged, strict=True) if not on}
        rows = [row for row in tree.retained_rows if row not in idle]
        self.retained: Ints = np.asarray(self.layout.row_c[rows], dtype=np.int64)
        self.n_c = len(rows)

    def _all_multipliers(self, multipliers: Floats) -> Floats:
        """The System's multipliers (s, system.n_c), with zero for the rows of joints."""
        result = np.zeros((len(multipliers), self.system.n_c))
        result[:, self.retained] = multipliers
        return result

    def projected(self, u: Floats, q: Floats, v: Floats, factors: Factors | None = None) -> tuple[Floats, Floats]:
        """q (n_q,), v (n_v,) projected onto the retained rows in the metric of the mass matrix, or of its ``factors``
        where given. Raises TrialError."""
        if not self.n_c:
            return q, v

        def gaps(q: Floats) -> Floats:
            result: Floats = self.system.constraints(u[None], *self.to_system(q[None], v[None]))[0][0, self.retained]
            return result

        def retract(q: Floats, x: Floats, part: float) -> Floats:
            new: Floats = q + part * self.rates(q[None], x[None])[0]
            self.normalise(new)
            return new

        end = newton(
            q,
            gaps,
            lambda it: self._correction(u, it.x, it.residual),
            retract,
            lambda it: it.within(PROJECTION_TOLERANCE),
            iterations=PROJECTION_ITERATIONS,
            residual_size=largest,
        )
        if not end.size <= 100.0 * PROJECTION_TOLERANCE:
            raise TrialError("the drivers could not be followed")
        q = end.x
        rates = self.system.constraint_rates(u[None], *self.to_system(q[None], v[None]))[0, self.retained]
        return q, v + self._correction(u, q, rates)

    def rates(self, q: Floats, v: Floats) -> Floats:
        """q' (s, n_q) at s states."""
        raise NotImplementedError

    def normalise(self, q: Floats) -> float:
        """Scale quaternions to unit length, in place."""
        raise NotImplementedError

    def _correction(self, u: Floats, q: Floats, gap: Floats) -> Floats:
        """The smallest change of speeds, in the metric of the mass, that changes the retained rows by -gap."""
        raise NotImplementedError

    def power(self, u: Floats, q: Floats, v: Floats, multipliers: Floats | None = None) -> Floats:
        """(s,) W: power of loads, dampers and drivers."""
        full = None if multipliers is None else self._all_multipliers(multipliers)
        return self.system.power(u, *self.to_system(q, v), full)
