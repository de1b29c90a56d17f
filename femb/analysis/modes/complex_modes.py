"""Complex modes of damped and of spinning structures, by shift-invert Arnoldi on the block factorisation.

    (lambda^2 M + lambda (C + G) + K) phi + J^T mu = 0,   J phi = 0

In first order, with x = (phi, lambda phi), (A - s)^-1 takes one factorisation of s^2 M + s (C + G) + K.
Source: docs/theory/modes.md, equation (9).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from femb.analysis.modes.eigen import REFINED, REFINEMENTS, ROUNDED, orthonormal, rounding
from femb.analysis.modes.eigenproblem import EigenProblem
from femb.analysis.modes.rigid_states import RigidStates
from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats
from femb.system.block_lu import SingularError

Complex = NDArray[np.complex128]
SEED = 1
# Of what rounding may leave: an eigenvalue that a refinement moves farther is that of another mode.
FARTHEST = 10.0
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
    eigenvalues, shapes = values[chosen], _of_unit_mass(motion, vectors[:n, chosen])
    if np.max(_rounding(motion, eigenvalues, shapes)) > ROUNDED:
        return _refined(motion, eigenvalues, shapes, solve, shift)
    return eigenvalues, shapes


def complex_precision(motion: EigenProblem, eigenvalues: Complex, shapes: Complex, shift: float) -> Floats:
    """(k,) up to what part of their size eigenvalues are known; see ``femb.analysis.modes.eigen.precision``."""
    found = _rounding(motion, eigenvalues, shapes)
    if np.max(found, initial=0.0) <= ROUNDED:
        return 0.5 * found
    others = _rounding(motion, eigenvalues, shapes, motion.exact.others[0])
    more = [_correction(motion, *pair, motion.shifted(shift)) for pair in zip(eigenvalues, shapes.T, strict=True)]
    return 0.5 * np.maximum(others, [_length(motion, x) for x in more])


def _refined(
    motion: EigenProblem, eigenvalues: Complex, shapes: Complex, solve: Callable[[Floats], Floats], shift: float
) -> tuple[Complex, Complex]:
    """The same by exact products, in a basis of the shapes and of corrections by the rounded factors.

    An eigenvalue that moves farther than rounding explains belongs to another mode: the given ones are returned then.
    """
    from scipy.linalg import eig

    given, most = (eigenvalues, shapes), FARTHEST * _rounding(motion, eigenvalues, shapes)
    basis, momenta, forces, drags = (np.zeros((motion.system.n_v, 0)) for _ in range(4))
    more, largest = np.hstack([shapes.real, shapes.imag]), np.inf
    for _ in range(REFINEMENTS):
        more = more[:, [_length(motion, x) > REFINED for x in more.T]]
        more, momentum = orthonormal(motion, more, basis, momenta)
        if not more.shape[1]:
            break
        basis, momenta = np.hstack([basis, more]), np.hstack([momenta, momentum])
        forces = np.hstack([forces, *(_stiffness(motion, x)[:, None] for x in more.T)])
        drags = np.hstack([drags, *(motion.exact_damping(x)[:, None] for x in more.T)])
        # of the inverse at the shift, whose largest eigenvalues the motions of high stiffness cannot round
        n = basis.shape[1]
        drag = basis.T @ drags + shift * np.eye(n)
        inner = np.linalg.inv(basis.T @ forces + shift * drag)
        values, vectors = eig(-np.block([[inner @ drag, inner], [shift * inner @ drag - np.eye(n), shift * inner]]))
        values = shift + 1.0 / values
        places = [int(np.argmin(np.abs(values - value))) for value in eigenvalues]
        eigenvalues, shapes = values[places], basis @ vectors[:n, places]
        shapes = _of_unit_mass(motion, shapes)
        columns = [_correction(motion, *pair, solve) for pair in zip(eigenvalues, shapes.T, strict=True)]
        sizes = np.array([_length(motion, x) for x in columns])
        last, largest = largest, float(np.max(sizes))
        if largest <= REFINED or largest > 0.5 * last:
            break
        wanted = np.array(columns).T[:, sizes > REFINED]
        more = np.hstack([wanted.real, wanted.imag])
    if np.any(np.abs(eigenvalues - given[0]) > most * np.abs(given[0])):
        return given
    return eigenvalues, shapes


def _correction(motion: EigenProblem, value: complex, phi: Complex, solve: Callable[[Floats], Floats]) -> Complex:
    """Displacement by (lambda^2 M + lambda (C + G) + K) phi, which should be zero, at the shift of ``solve``."""

    def unbalanced(x: Floats) -> Complex:
        force = value**2 * motion.times(motion.mass, x) + value * motion.exact_damping(x) + _stiffness(motion, x)
        return np.asarray(force, dtype=complex)

    force = unbalanced(phi.real.copy()) + 1j * unbalanced(phi.imag.copy())
    return np.asarray(solve(force.real.copy()) + 1j * solve(force.imag.copy()))


def _stiffness(motion: EigenProblem, x: Floats) -> Floats:
    low_rank = motion.low_rank.left @ (motion.low_rank.stiffness.T @ x)
    return np.where(motion.held, 0.0, motion.exact_stiffness(x) + low_rank)


def _rounding(motion: EigenProblem, eigenvalues: Complex, shapes: Complex, stiffness: Floats | None = None) -> Floats:
    """(k,) ``femb.analysis.modes.eigen.rounding`` of complex shapes."""
    return rounding(motion, np.abs(eigenvalues) ** 2, np.abs(shapes), stiffness)


def _length(motion: EigenProblem, phi: Complex) -> float:
    """Size of a shape (n_v,) in the mass."""
    return float(np.sqrt(sum(part @ motion.times(motion.mass, part) for part in (phi.real.copy(), phi.imag.copy()))))


def _of_unit_mass(motion: EigenProblem, shapes: Complex) -> Complex:
    """The same shapes (n_v, k) with phi^H M phi = 1, and with a real and positive largest entry."""
    largest = shapes[np.argmax(np.abs(shapes), axis=0), np.arange(shapes.shape[1])]
    sizes = np.array([_length(motion, phi) for phi in shapes.T])
    return np.asarray(shapes * (np.abs(largest) / largest / sizes))
