"""Backward differences of a multistep method in quasi-constant-step form.

D_j = nabla^j y_n are the differences of the last values at equal distances h. When h changes, the interpolating
polynomial is sampled at the new distance, so that the formulas of constant steps always apply:

    predicted:   y = sum_{j=0..k} D_j
    derivative:  y' = mu d + slope,   d = y_{n+1} - predicted,   slope = 1/h sum_{j=1..k} gamma_j D_j,   mu = alpha_k/h

with gamma_j = 1 + 1/2 + ... + 1/j and alpha_k = (1 - kappa_k) gamma_k. kappa = 0 gives the BDF, other kappa the NDF.

L. F. Shampine, M. W. Reichelt, The MATLAB ODE suite, SIAM J. Sci. Comput. 18 (1997) 1-22.
"""

from typing import ClassVar

import numpy as np

from femb.base.types import Floats
from femb.formulations.contract import Formulation
from femb.steppers.dense import Nodes, through_nodes

MAX_ORDER = 5
# The NDF of order 1 and 2 keep A-stability and save steps. From order 3 on they would narrow the sector of stability
# by six degrees and more, and lightly damped vibrations lie at its edge: plain BDF.
KAPPA = np.array([0.0, -0.1850, -1.0 / 9.0, 0.0, 0.0, 0.0])
GAMMA = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, MAX_ORDER + 1))])
ALPHA = (1.0 - KAPPA) * GAMMA
# Local error of order k: ERROR[k] times the difference of order k + 1.
ERROR = KAPPA * GAMMA + 1.0 / np.arange(1, MAX_ORDER + 2)


def resampling(order: int, ratio: float) -> Floats:
    """W (order + 1, order + 1): differences at distance ratio h are W times those at distance h."""
    i, j = np.arange(1, order + 1)[:, None], np.arange(1, order + 1)

    def values(step: float) -> Floats:
        # product over i of (i - 1 - step j)/i: the weight of D_i of the old distance at the instant -step j
        terms = np.zeros((order + 1, order + 1))
        terms[0] = 1.0
        terms[1:, 1:] = (i - 1 - step * j) / i
        return np.cumprod(terms, axis=0, dtype=float)

    return (values(ratio) @ values(1.0)).T


class History:
    """Differences D (MAX_ORDER + 3, n) of y = (q, v, work) with their step length h (s), and the order in use.

    Row order + 2 gives the error estimate of the next higher order, once ``equal`` (steps since h or the order changed)
    exceeds the order.
    """

    memory: ClassVar[tuple[str, ...]] = ("D", "h", "order", "equal")

    def __init__(self, n: int) -> None:
        self.D = np.zeros((MAX_ORDER + 3, n))
        self.h, self.order, self.equal = 0.0, 1, 0

    def begin(self, y: Floats, rate: Floats, h: float) -> None:
        """Begin at order 1 from the value y (n,) and its rate."""
        self.D[:] = 0.0
        self.D[0], self.D[1] = y, h * rate
        self.h, self.order, self.equal = h, 1, 0

    def change(self, h: float, order: int) -> None:
        """Set the step length h (s) and the order, which may be one above the present one."""
        if h != self.h:
            rows = slice(0, order + 1)
            self.D[rows] = resampling(order, h / self.h) @ self.D[rows]
        elif order == self.order:
            return
        self.h, self.order, self.equal = h, order, 0

    def predict(self) -> tuple[Floats, Floats]:
        """Predicted value (n,) and slope (n,) of the next step."""
        k = self.order
        return self.D[: k + 1].sum(axis=0), GAMMA[1 : k + 1] @ self.D[1 : k + 1] / self.h

    def advance(self, d: Floats) -> None:
        """Append the value that differs by d (n,) from the predicted one."""
        D, k = self.D, self.order
        D[k + 2] = d - D[k + 1]
        D[k + 1] = d
        for j in range(k, -1, -1):
            D[j] += D[j + 1]
        self.equal += 1


class PolynomialStep:
    """A Step interpolated by the polynomial of the formula, with its differences D (order + 1, n) at ``end``.

    nodes : ends of the last steps of the smooth interval, and the accelerations there.

    In measurements more accurate than quintic Hermite interpolation with the accelerations at the step's ends: in a
    long step accelerations are less accurate than velocities.
    """

    def __init__(self, form: Formulation, start: float, end: float, D: Floats, nodes: Nodes) -> None:
        self.form, self.start, self.end = form, start, end
        self._D, self._nodes = D, nodes

    def __call__(self, times: Floats) -> tuple[Floats, Floats, Floats]:
        x = (np.asarray(times) - self.end) / (self.end - self.start)
        # weight of D_j: x (x + 1) ... (x + j - 1) / j!
        j = np.arange(1, len(self._D))
        factors = np.concatenate([np.ones((len(x), 1)), (x[:, None] + j - 1) / j], axis=1)
        y = np.cumprod(factors, axis=1) @ self._D
        n_q = self.form.n_q
        q, v = np.ascontiguousarray(y[:, :n_q]), np.ascontiguousarray(y[:, n_q:-1])
        for row in q:
            self.form.normalise(row)
        return q, v, y[:, -1]

    def accelerations(self, times: Floats) -> Floats:
        """v' (s, n_v) at times inside the step."""
        return through_nodes(self._nodes, times)
