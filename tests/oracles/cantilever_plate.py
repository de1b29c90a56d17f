"""Frequencies of a cantilever plate by Ritz's method with polynomials.

Source: A. W. Leissa, The free vibration of rectangular plates, J. Sound Vib. 31 (1973) 257, with beam functions.
"""

import numpy as np
from numpy.polynomial import Polynomial
from scipy.linalg import eigh


def cantilever_plate(length, width, poissons_ratio, terms=(8, 7)):
    """omega a^2 sqrt(rho h / D) of Kirchhoff's plate, held at x = 0, of the length a along x; ascending."""
    points, weights = np.polynomial.legendre.leggauss(24)
    ratio, nu = length / width, poissons_ratio

    def products(functions, at, weight):
        """(3, 3, n, n): integrals of products of derivatives of orders 0 to 2."""
        values = np.array([[(f.deriv(p) if p else f)(at) for f in functions] for p in range(3)])
        return np.einsum("pik,qjk,k->pqij", values, values, weight)

    X = products([Polynomial.basis(k + 2) for k in range(terms[0])], 0.5 * (points + 1.0), 0.5 * weights)
    Y = products([Polynomial.basis(k) for k in range(terms[1])], 0.5 * points, 0.5 * weights)
    K = np.kron(X[2, 2], Y[0, 0]) + ratio**4 * np.kron(X[0, 0], Y[2, 2])
    K += nu * ratio**2 * (np.kron(X[2, 0], Y[0, 2]) + np.kron(X[0, 2], Y[2, 0]))
    K += 2.0 * (1.0 - nu) * ratio**2 * np.kron(X[1, 1], Y[1, 1])
    return np.sqrt(eigh(K, np.kron(X[0, 0], Y[0, 0]), eigvals_only=True))
