"""Stages of an explicit step as calls of bound kernels, by Python or in one call."""

from collections.abc import Sequence

import numpy as np

from femb.base.types import Floats, Ints
from femb.formulations.contract import Formulation, RatesOfState
from femb.numerics.compiler.bound_calls import Program, call_each, calling
from femb.numerics.compiler.compile import kernel
from femb.numerics.dop853_kernels import copy_to, stage_state


@kernel
def set_state(A: Floats, s: int, h: float, y0: Floats, K: Floats, y: Floats) -> None:
    """``stage_state``, called by Python."""
    stage_state(A, s, h, y0, K, y)


@calling
def make_stages(
    calls: Ints, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats, U: Floats, u: Floats, y: Floats,
    rate: Floats,
) -> int:  # fmt: skip
    """Set rows ``first`` to ``last`` - 1 of the stages K (., n), by bound kernels that set the rate (n,) of y (n,) with
    the inputs u (1, n_u): those of U (., n_u) in turn. Returns the stage at which one fails, or -1.
    """
    for s in range(first, last):
        stage_state(A, s, h, y0, K, y)
        for k in range(u.shape[1]):
            u[0, k] = U[s - first, k]
        if call_each(calls) != calls.shape[0]:
            return s
        copy_to(K[s], rate)
    return -1


class StageProgram:
    """Stages of explicit steps of a formulation with bound rates, in any of its discrete states."""

    def __init__(self, rates: RatesOfState) -> None:
        self._rates, self.is_of = rates, rates.is_of
        self._program = Program([rates])

    def stages(
        self, form: Formulation, A: Floats, first: int, times: Sequence[float], h: float, y0: Floats, K: Floats
    ) -> Floats:
        """Set rows of the stages K of a step of length h (s) from y0 (n,), those at these times (s), from ``first`` on;
        returns the last state. A : coefficients. Raises TrialError.
        """
        rates, entries, last = self._rates, self._program.put_together({}), first + len(times)
        arguments = A, h, y0, K
        if not form.inputs_of_state:
            system = form.system
            U = np.empty((len(times), system.n_u))
            system.inputs_along(times, system.q0, system.v0, U)
            self._make(entries, first, last, U, *arguments)
        else:
            for s, t in enumerate(times, first):
                set_state(A, s, h, y0, K, rates.y)
                self._make(entries, s, s + 1, form.inputs_at(t, *rates.state)[None], *arguments)
        return rates.y.copy()

    def _make(
        self, entries: Ints, first: int, last: int, U: Floats, A: Floats, h: float, y0: Floats, K: Floats
    ) -> None:
        rates = self._rates
        if make_stages(entries, A, first, last, h, y0, K, U, rates.u, rates.y, rates.rate) >= 0:
            rates()  # raises, and says why
