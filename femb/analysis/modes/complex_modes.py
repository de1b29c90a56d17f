"""Complex modes of damped and of spinning structures, by shift-invert Arnoldi on the block factorisation.

    (lambda^2 M + lambda (C + G) + K) phi + J^T mu = 0,   J phi = 0

In first order, with x = (phi, lambda phi), (A - s)^-1 takes one factorisation of s^2 M + s (C + G) + K.
Source: docs/theory/modes.md, equation (9).
"""

import numpy as np
from numpy.typing import NDArray

from femb.analysis.modes.eigenproblem import EigenProblem
from femb.analysis.modes.rigid_states import RigidStates
from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats
from femb.system.block_lu import SingularError

Complex = NDArray[np.complex128]
SEED = 1
# An imaginary part below this part of the eigenvalue is rounding.
REAL = 1e-9


def complex_modes(motion: EigenProblem, rigid: RigidStates, count: int, shift: float) -> tuple[Complex, Complex]:
    """The ``count`` eigenvalues lambda (k,), 1/s, nearest to ``shift`` > 0 (rad/s), and shapes (n_v, k).

    rigid : motions that are left out. Of each conjugate pair the one with a positive imaginary part is given; sorted by
    size. Shapes have phi^H M phi = 1, and their largest entry is real and positive. Raises SolveError.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

    n = motion.system.n_v
    try:
        solve = motion.shifted(shift)
    except SingularError as error:
        raise SolveError(f"modes: the matrices are singular at the shift {shift:.6g} rad/s") from error

    held = np.tile(motion.held, 2)

    def inverse(b: Floats) -> Floats:
        first, second = np.split(rigid.without(np.where(held, 0.0, b)), 2)
        force = motion.damping_times(first) + motion.times(motion.mass, shift * first + second)
        x = solve(-force)
        return rigid.without(np.concatenate([x, first + shift * x]))

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
    # of equal sizes, as of a motion that grows and its reverse that falls, first what grows
    sizes = np.round(np.log(np.maximum(np.abs(values[chosen]), np.finfo(float).tiny)), 8)
    chosen = chosen[np.lexsort((-np.round(values[chosen].real / np.abs(values[chosen]), 8), sizes))][:count]
    if len(chosen) < count:
        raise ModelError(f"modes: got {count} modes to compute, found {len(chosen)}: ask for fewer")
    shapes = vectors[:n, chosen]
    for k in range(count):
        phi = shapes[:, k]
        size = sum(part @ motion.times(motion.mass, part) for part in (phi.real.copy(), phi.imag.copy()))
        largest = phi[np.argmax(np.abs(phi))]
        shapes[:, k] = phi * (abs(largest) / largest / np.sqrt(size))
    return values[chosen], shapes
