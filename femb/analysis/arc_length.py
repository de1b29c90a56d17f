"""Steps of given length along the path of equilibria, on which the load factor is an unknown too.

Source: docs/theory/statics.md, section 3 (Riks; the equations bordered by block elimination).
"""

from dataclasses import dataclass

import numpy as np

from femb.analysis.neutral import NeutralMotions
from femb.analysis.statics import Balanced, Statics
from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.numerics.newton import largest
from femb.system.block_lu import SingularError


@dataclass(frozen=True, eq=False)
class Tangent:
    """A unit vector along the path: displacements x (n_v,) and load factor, whose lengths the weights measure."""

    x: Floats
    load: float
    weights: Floats
    of_load: float

    @property
    def by_load(self) -> float:
        """The component of the load factor in products."""
        return self.of_load * self.load

    def along(self, x: Floats) -> float:
        """The product with displacements and rotations (n_v,)."""
        return float(self.x @ (self.weights * x))

    def product(self, other: "Tangent") -> float:
        """The product with another one."""
        return self.along(other.x) + self.by_load * other.load


class Path:
    """Measures lengths along the path: the root mean square of all frames' motions, and the load factor over ``unit``.

    A displacement counts by the extent of the model, a rotation in rad.
    """

    def __init__(self, statics: Statics, unit: float) -> None:
        self.statics = statics
        weights = statics.weights
        self.weights = weights / sum(frame.freedom > 0 for frame in statics.twin.layout.frames)
        self.of_load = 1.0 / unit**2

    def tangent(self, found: Balanced, neutral: NeutralMotions | None, before: Tangent | None = None) -> Tangent:
        """The unit vector along the path at an equilibrium, on in the sense of the one ``before``; at first towards
        larger loads; ``neutral`` motions are not along it. Raises SolveError where the stiffness is singular."""
        statics = self.statics
        state = statics.state(found.q, found.load)
        system = statics.under(found.load)
        stiffness, jacobian = statics.matrices(state, found.q, found.multipliers, system=system)
        if statics.twin.n_c:
            stiffness += largest(stiffness) * statics.products(jacobian)
        change, matrix = statics.by_load(found.q, found.load), stiffness + jacobian
        if neutral is not None:
            change[neutral.held], matrix = 0.0, neutral.holding(matrix)
        try:
            x = statics.twin.solver.factorise(matrix).solve(-change)[: statics.twin.n_v]
        except SingularError as error:
            raise SolveError(
                "arc length: a motion has no stiffness where the path begins; hold it, or leave out arc length"
            ) from error
        x = x if neutral is None else neutral.without(x)
        length = float(np.sqrt(x @ (self.weights * x) + self.of_load))
        forward = Tangent(x / length, 1.0 / length, self.weights, self.of_load)
        back = Tangent(-forward.x, -forward.load, self.weights, self.of_load)
        return forward if before is None or forward.product(before) > 0.0 else back
