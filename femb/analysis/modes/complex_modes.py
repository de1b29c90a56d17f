"""Complex modes of damped and of spinning structures, by shift-invert Arnoldi on the block factorisation.

    (lambda^2 M + lambda (C + G) + K) phi + J^T mu = 0,   J phi = 0

In first order, with x = (phi, lambda phi), (A - s)^-1 takes one factorisation of s^2 M + s (C + G) + K.
Source: docs/theory/modes.md, equation (9).
"""

import numpy as np
from numpy.typing import NDArray

from femb.analysis.modes.eigenproblem import EigenProblem
from femb.analysis.modes.rigid import FreeMotions
from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats
from femb.system.block_lu import SingularError

Complex = NDArray[np.complex128]
SEED = 1
# An imaginary part below this part of the eigenvalue is rounding.
REAL = 1e-9


def complex_modes(motion: EigenProblem, free: FreeMotions, count: int, shift: float) -> tuple[Complex, Complex]:
    """The ``count`` eigenvalues lambda (k,), 1/s, nearest to ``shift`` > 0 (rad/s), and shapes (n_v, k).

    free : motions that neither stiffness nor damping resists, which are left out. Of each conjugate pair the one with a
    positive imaginary part is given; sorted by size. Shapes have phi^H M phi = 1, and their largest entry is real and
    positive. Raises SolveError.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

    n = motion.system.n_v
    try:
        factors = motion.factorise(shift * shift * motion.mass + shift * motion.damping + motion.stiffness)
    except SingularError as error:
        raise SolveError(f"modes: the matrices are singular at the shift {shift:.6g} rad/s") from error

    def inverse(b: Floats) -> Floats:
        first, second = (free.without(np.where(motion.held, 0.0, part)) for part in (b[:n], b[n:]))
        force = motion.times(motion.damping, first) + motion.times(motion.mass, shift * first + second)
        x = free.without(motion.solve(factors, free.without_force(-force)))
        return np.concatenate([x, first + shift * x])

    start = inverse(np.tile(np.random.default_rng(SEED).standard_normal(n), 2))
    operator = LinearOperator((2 * n, 2 * n), matvec=inverse, dtype=np.float64)
    wanted = min(2 * count + 2, 2 * n - 2)
    try:
        values, vectors = eigs(
            operator, k=wanted, sigma=shift, OPinv=operator, v0=start, ncv=min(2 * n, 3 * wanted + 20)
        )
    except ArpackNoConvergence as error:
        raise SolveError(f"modes: the eigenvalue solver did not converge: {error}") from error
    chosen = np.flatnonzero(values.imag >= -REAL * np.abs(values))
    chosen = chosen[np.argsort(np.abs(values[chosen]), kind="stable")][:count]
    if len(chosen) < count:
        raise ModelError(f"modes: got {count} modes to compute, found {len(chosen)}: ask for fewer")
    shapes = vectors[:n, chosen]
    for k in range(count):
        phi = shapes[:, k]
        size = sum(part @ motion.times(motion.mass, part) for part in (phi.real.copy(), phi.imag.copy()))
        largest = phi[np.argmax(np.abs(phi))]
        shapes[:, k] = phi * (abs(largest) / largest / np.sqrt(size))
    return values[chosen], shapes
