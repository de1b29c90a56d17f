"""The tangents of the steps of Radau's method: three stages in the transformed systems of Newton's iteration."""

from collections.abc import Sequence

import numpy as np

from femb.base.types import Floats
from femb.numerics.compiler.bound_calls import Bound
from femb.steppers.radau import FROM_ZERO
from femb.steppers.radau_kernels import INVERSE, T_INVERSE, A, C, T, shift_matrices
from femb.steppers.radau_tangent_kernels import solve_stages
from femb.steppers.step_tangent import MOST, SOLVED, End, Portion, StepTangents
from femb.system.pair import SystemPair


class RadauTangent(StepTangents):
    """See ``StepTangents``."""

    # stiff parts reduce the order to 3
    fractions, kinds, coarse, restarts = tuple(C.tolist()), (float, complex), 1.0 / 7.0, True

    def _shift(self, matrices: tuple[Floats, Floats, Floats], out: list[np.ndarray]) -> Bound:
        return Bound(shift_matrices, self._length, *matrices, *out)

    def _begin(self, pairs: Sequence[SystemPair], q: Floats, v: Floats) -> End:
        self._Z, self._L, self._last = np.zeros((3, *v.shape)), np.zeros((3, self.system.n_c, len(pairs))), 1.0
        return q, v, np.zeros_like(v), *np.zeros((2, len(pairs), self.system.budget.size))

    def _solve(self, part: Portion, k: int, start: tuple[Floats, Floats]) -> None:
        step, system, Z, L = part.steps[k], self.system, self._Z, self._L
        Z[:] = 0.0 if step.begins else _extrapolated(Z, step.length / self._last)
        self._last = step.length
        part.Q[k] = start[0]
        solve_stages(
            system.coordinates, system.solver.structure, self._matrices, self._reactions, self._factors,
            (A, INVERSE, T, T_INVERSE), step.length, step.q, step.v, part.equations[k], *start, Z, L, part.Q[k], SOLVED,
            MOST,
        )  # fmt: skip
        part.V[k], part.K[k], part.L[k] = start[1] + Z, (INVERSE @ Z.reshape(3, -1)).reshape(Z.shape) / step.length, L

    def work(self, lengths: Floats, powers: Floats, start: Floats) -> Floats:
        return np.asarray(np.einsum("m,i,mikw->mkw", lengths, A[2], powers))

    def nodes(self, part: Portion, k: int, v: Floats, a: Floats) -> tuple[Floats, Floats]:
        step = part.steps[k]
        if step.begins:
            a = np.stack([np.einsum("i,ijk", FROM_ZERO[0], part.V[k] - v) / step.length, a[1]])
        return a, np.concatenate([a[:1], part.K[k]])


def _extrapolated(Z: Floats, ratio: float) -> Floats:
    """The stages of a step after one with the stages Z (3, ...), longer by this ratio."""
    powers = np.arange(1, 4)
    weights = ((1.0 + ratio * C[:, None]) ** powers - 1.0) @ FROM_ZERO
    found: Floats = (weights @ Z.reshape(3, -1)).reshape(Z.shape)
    return found
