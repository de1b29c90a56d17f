"""The tangents of the steps of methods, by their names."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from femb.base.options import Run
from femb.base.types import Floats
from femb.numerics import rotations
from femb.numerics.block_kernels import solve_columns
from femb.numerics.compiler.bound_calls import Bound
from femb.steppers.dense import SolvedStep
from femb.steppers.generalized_alpha import SAME_TIME, weights_of
from femb.steppers.radau import FROM_ZERO, Radau
from femb.steppers.radau_kernels import INVERSE, T_INVERSE, A, C, T, shift_matrices
from femb.steppers.radau_tangent_kernels import STALLS, solve_stages
from femb.steppers.step_kernels import shift_matrix
from femb.steppers.step_tangent import MOST, SOLVED, End, Portion, StepTangents
from femb.system.pair import SystemPair

# Angle of a step below which a series is taken; and what keeps zero from the divisor.
NEAR, TINY = 1e-2, 1e-300


class RadauTangent(StepTangents):
    """Three stages in the transformed systems of Newton's iteration; see ``StepTangents``."""

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


class AlphaTangent(StepTangents):
    """One stage, and the accelerations that a step takes from the last; see ``StepTangents``.

        A+ = ((1 - alpha_f) a+ + alpha_f a - alpha_m A)/(1 - alpha_m),        v+ = v + h ((1 - gamma) A + gamma A+)
        S+ = R(x)^T S + T(x) x',        x = h v + h^2 ((1/2 - beta) A + beta A+)

    with the small motions S of coordinates, and of rotations the tangent T of the exponential. Other than those of
    radau they do not go on over corners and updates, where the method begins anew with accelerations of several steps.
    """

    fractions, kinds, coarse, restarts = (1.0,), (float,), 1.0 / 3.0, False

    def __init__(self, steps: Sequence[SolvedStep], run: Run) -> None:
        self._weights, self._shifts = weights_of(run.spectral_radius), np.empty(2)
        super().__init__(steps, run)

    def _shift(self, matrices: tuple[Floats, Floats, Floats], out: list[np.ndarray]) -> Bound:
        return Bound(shift_matrix, self._shifts, *matrices, *out)

    def _begin(self, pairs: Sequence[SystemPair], q: Floats, v: Floats) -> End:
        a, power = np.empty_like(v), np.empty((len(pairs), self.system.budget.size))
        for j, pair in enumerate(pairs):
            found = []
            for side in pair.sides:
                u = side.inputs_at(self.steps[0].step.start, side.q0, side.v0)
                found.append((side.acceleration(u, side.q0, side.v0), Radau.power_at(side, u, side.q0, side.v0)()))
            a[:, j], power[j] = ((one - other) / pair.distance for one, other in zip(*found, strict=True))
        self._a, self._A, self._L, self._slope, self._last = a, a, np.zeros((self.system.n_c, len(pairs))), 0.0 * a, 0.0
        self._nodes = list[Floats]()
        self._ends, self._means = deque[Floats](maxlen=3), deque[Floats](maxlen=2)
        return q, v, a, np.zeros_like(power), power

    def _take(self, part: Portion, k: int, start: tuple[Floats, Floats]) -> None:
        h, (*_, gamma_a, beta_a) = part.steps[k].length, self._weights
        self._shifts[:] = 1.0 / (gamma_a * h), beta_a * h / gamma_a
        super()._take(part, k, start)

    def _solve(self, part: Portion, k: int, start: tuple[Floats, Floats]) -> None:
        step, (alpha_m, alpha_f, gamma, beta, gamma_a, beta_a) = part.steps[k], self._weights
        (q, v), h, a0, A0, L, n_v = start, step.length, self._a, self._A, self._L, self.system.n_v
        if self._last and abs(self._last - h) > SAME_TIME * h:
            A0 = a0 + (alpha_m - alpha_f) * h * self._slope
        # A at the end but for its part in a
        known = (alpha_f * a0 - alpha_m * A0) / (1.0 - alpha_m)
        of_v = v + h * ((1.0 - gamma) * A0 + gamma * known)
        of_x = h * v + h * h * ((0.5 - beta) * A0 + beta * known)
        moved, none, a = self._moved(step, q), np.zeros_like(L), a0.copy()
        before, stalls = np.zeros((2, v.shape[1]))
        for _ in range(MOST):
            V, S = of_v + gamma_a * h * a, moved(of_x + beta_a * h * h * a)
            motion = [np.vstack(each) for each in ((a, none), (V, L), (S, none))]
            change = np.ascontiguousarray(part.equations[k, 0] + self._products(motion))
            solve_columns(*self._factors[0], change.shape[1], change.reshape(-1))
            a, L = a - change[:n_v] / (gamma_a * h), L - change[n_v:]
            # as in ``solve_stages``
            size = np.max(np.abs(change[:n_v]), axis=0, initial=0.0)
            shrinks = np.where(before > 0.0, size / np.maximum(before, TINY), 1.0)
            stalls, before = stalls + ((before > 0.0) & (shrinks > 0.9)), size
            left = size * np.minimum(1.0, 2.0 * shrinks) > SOLVED * np.max(np.abs(V), axis=0, initial=0.0)
            if not np.any(left & (stalls < STALLS)):
                break
        S = moved(of_x + beta_a * h * h * a)
        part.Q[k, 0] = self.system.rates(np.repeat(step.q, S.shape[1], axis=0), np.ascontiguousarray(S.T)).T
        part.V[k, 0], part.K[k, 0], part.L[k, 0] = of_v + gamma_a * h * a, a, L
        self._A, self._slope, self._last = known + (1.0 - alpha_f) / (1.0 - alpha_m) * a, (a - a0) / h, h
        self._a, self._L = a, L
        if self._ends:
            self._means.append(0.5 * (self._ends[-1] + a))
        self._ends.append(a)
        self._nodes = ([] if k == 0 else self._nodes) + [np.array(self._means if len(self._ends) > 2 else self._ends)]

    def _moved(self, step: SolvedStep, q: Floats) -> Callable[[Floats], Floats]:
        """The small motions at the end of a step, by x' (n_v, k), from those of coordinates (n_q, k) at its start."""
        q0, (_, _, quaternions, rows) = step.step.state0[0], self.system.coordinates
        start = self.system.tangents(np.repeat(q0[None], q.shape[1], axis=0), np.ascontiguousarray(q.T)).T
        places, rows = quaternions[:, None] + np.arange(4), rows[:, None] + np.arange(3)
        x = rotations.logarithm(rotations.multiply(rotations.conjugate(q0[places]), step.q[0][places]))
        angle, X = np.linalg.norm(x, axis=-1)[:, None, None], rotations.cross_matrix(x)
        of_sine, of_cosine = np.sinc(angle / np.pi), 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
        of_cube = np.where(angle > NEAR, (1.0 - of_sine) / np.maximum(angle, NEAR) ** 2, 1.0 / 6.0 - angle**2 / 120.0)
        back, tangent = np.eye(3) - of_sine * X + of_cosine * X @ X, np.eye(3) - of_cosine * X + of_cube * X @ X
        turned = back @ start[rows]

        def moved(x: Floats) -> Floats:
            S = start + x
            S[rows] = turned + tangent @ x[rows]
            return np.asarray(S)

        return moved

    def _products(self, motion: list[Floats]) -> Floats:
        """M a + C v + K S with the forces of reactions, of columns that have rows for multipliers."""
        multiply, (frames, blocks) = self.system.solver.multiply_columns, self._reactions
        found: Floats = np.sum([multiply(A[0], x) for A, x in zip(self._matrices, motion, strict=True)], axis=0)
        places = (frames[:, :, None] + np.arange(3)).reshape(-1, 12)
        # blocks are zero where there is no frame
        np.add.at(found, places, blocks[0] @ motion[2][places])
        return found

    def work(self, lengths: Floats, powers: Floats, start: Floats) -> Floats:
        before = np.concatenate([start[None], powers[:-1, 0]])
        return np.asarray(0.5 * lengths[:, None, None] * (before + powers[:, 0]))

    def nodes(self, part: Portion, k: int, v: Floats, a: Floats) -> tuple[Floats, Floats]:
        return a, self._nodes[k]


TANGENTS: Mapping[str, type[StepTangents]] = {"radau": RadauTangent, "generalized-alpha": AlphaTangent}
