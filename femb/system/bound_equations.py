"""The equations of a System at states in given arrays, which a stepper evaluates again and again.

What does not change from one iteration to the next, the arguments of the kernels and the arrays of the result, is put
together once; an evaluation then calls the kernels one after the other.
"""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats

if TYPE_CHECKING:
    from femb.system.equations import Equations


class BoundEquations:
    """``Equations.equations`` of u, q, v, a and multipliers: arrays whose entries change between the calls.

    batches : those of the system, by which a stepper knows that the equations are still those of its formulation. The
    result is overwritten by the next call.
    """

    def __init__(self, system: "Equations", u: Floats, q: Floats, v: Floats, a: Floats, multipliers: Floats) -> None:
        self.batches, n_v = system.batches, system.n_v
        self._force = np.zeros((len(v), n_v))
        self._evaluations = [batch.bound_residual(u, q, v, a, self._force) for batch in system.batches]
        self._parts: tuple[tuple[Floats, Floats], ...] = ()
        self._result = self._force
        if system.n_c:
            rates = np.zeros((len(v), system.n_c))
            constraint_force = system.constraint_set.constraint_force
            self._evaluations.append(partial(constraint_force, u, q, v, multipliers, self._force, rates))
            self._result = np.empty((len(v), n_v + system.n_c))
            self._parts = ((self._result[:, :n_v], self._force), (self._result[:, n_v:], rates))

    def __call__(self) -> Floats:
        """(s, n). Raises TrialError."""
        self._force.fill(0.0)
        for evaluate in self._evaluations:
            evaluate()
        for part, values in self._parts:
            part[:] = values
        return self._result
