"""Coefficients of implicit Runge-Kutta methods: Gauss methods of orders 4 and 6, Radau IIA of order 5.

The coefficients of DOP853 are in ``femb.numerics.dop853``. Source: E. Hairer, G. Wanner, Solving Ordinary Differential
Equations II, sections IV.5 (coefficients) and IV.8 (Radau's transformation and error estimate).
"""

from math import sqrt

import numpy as np

from femb.base.types import Floats

_R3, _R6, _R15 = sqrt(3.0), sqrt(6.0), sqrt(15.0)

# Gauss: nodes c, weights b and matrix A by number of stages.
GAUSS: dict[int, tuple[Floats, Floats, Floats]] = {
    2: (
        np.array([0.5 - _R3 / 6.0, 0.5 + _R3 / 6.0]),
        np.array([0.5, 0.5]),
        np.array([[0.25, 0.25 - _R3 / 6.0], [0.25 + _R3 / 6.0, 0.25]]),
    ),
    3: (
        np.array([0.5 - _R15 / 10.0, 0.5, 0.5 + _R15 / 10.0]),
        np.array([5.0 / 18.0, 4.0 / 9.0, 5.0 / 18.0]),
        np.array(
            [
                [5.0 / 36.0, 2.0 / 9.0 - _R15 / 15.0, 5.0 / 36.0 - _R15 / 30.0],
                [5.0 / 36.0 + _R15 / 24.0, 2.0 / 9.0, 5.0 / 36.0 - _R15 / 24.0],
                [5.0 / 36.0 + _R15 / 30.0, 2.0 / 9.0 + _R15 / 15.0, 5.0 / 36.0],
            ]
        ),
    ),
}

# Radau IIA: nodes, matrix, its inverse with the eigenvalues, and the weights of the error estimate.
RADAU_C: Floats = np.array([(4.0 - _R6) / 10.0, (4.0 + _R6) / 10.0, 1.0])
RADAU_A: Floats = np.array(
    [
        [(88 - 7 * _R6) / 360, (296 - 169 * _R6) / 1800, (-2 + 3 * _R6) / 225],
        [(296 + 169 * _R6) / 1800, (88 + 7 * _R6) / 360, (-2 - 3 * _R6) / 225],
        [(16 - _R6) / 36, (16 + _R6) / 36, 1 / 9],
    ]
)
RADAU_INVERSE = np.linalg.inv(RADAU_A)
RADAU_REAL = 3.0 + 3.0 ** (2.0 / 3.0) - 3.0 ** (1.0 / 3.0)
RADAU_COMPLEX = 3.0 + 0.5 * (3.0 ** (1.0 / 3.0) - 3.0 ** (2.0 / 3.0)) - 0.5j * (3.0 ** (5.0 / 6.0) + 3.0 ** (7.0 / 6.0))
RADAU_ESTIMATE: Floats = np.divide([-13.0 - 7.0 * _R6, -13.0 + 7.0 * _R6, -1.0], 3.0)


def _eigenvectors() -> tuple[Floats, Floats]:
    """T and T^-1 with A^-1 = T diag(real, 2 x 2 block of the complex pair) T^-1."""
    values, vectors = np.linalg.eig(RADAU_INVERSE)
    real = vectors[:, np.argmin(abs(values - RADAU_REAL))].real
    pair = vectors[:, np.argmin(abs(values - RADAU_COMPLEX))]
    # Rows of T^-1: the left eigenvector of the real eigenvalue, real and imaginary part of that of the pair.
    T = np.stack([real, 2.0 * pair.real, -2.0 * pair.imag], axis=1)
    left = np.linalg.inv(np.stack([real, pair, pair.conj()], axis=1))
    return T, np.stack([left[0].real, left[1].real, left[1].imag])


RADAU_T, RADAU_T_INVERSE = _eigenvectors()
