"""Real modes by shift-invert Lanczos on the block factorisation, in time proportional to the number of elements.

    K phi = omega^2 M phi,   J phi = 0,   phi^T M phi = 1

Source: docs/theory/modes.md, section 2.
"""

import numpy as np

from femb.analysis.modes.rigid import FreeMotions
from femb.analysis.modes.small_motion import SmallMotion
from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats
from femb.system.block_lu import SingularError

# The shift below the lowest eigenvalue, as part of it, where there are motions without stiffness.
BELOW = 0.5
# Of a symmetric stiffness: what it may lack, relative to its terms.
SYMMETRIC = 1e-7
ROUGH = 1e-2
FIRST_SHIFT = -1.0  # (rad/s)2, and smaller and smaller parts of it until the lowest mode is near
SEED = 1


def real_modes(motion: SmallMotion, free: FreeMotions, count: int) -> tuple[Floats, Floats]:
    """The ``count`` lowest omega^2 (k,), rad2/s2, and shapes (n_v, k) beside the motions without stiffness.

    The signs of shapes make their largest entry positive. Negative values are of an unstable state.
    Raises ModelError: more modes than there are; a stiffness that is not symmetric. Raises SolveError.
    """
    check_count(motion, free, count)
    check_symmetric(motion)
    shift = 0.0
    # bodies that only joints connect have no stiffness of their own: their blocks are regular with a shift alone
    if free.count or motion.system.n_c:
        shift = FIRST_SHIFT
        for _ in range(6):
            lowest = float(_lanczos(motion, free, 1, shift, ROUGH)[0][0])
            better = -BELOW * abs(lowest)
            near = abs(better) >= 0.01 * abs(shift)
            shift = better
            if near:
                break
    squares, shapes = _lanczos(motion, free, count, shift, 0.0)
    order = np.argsort(squares)
    squares, shapes = squares[order], shapes[:, order]
    largest = shapes[np.argmax(np.abs(shapes), axis=0), np.arange(count)]
    return squares, shapes * np.where(largest < 0.0, -1.0, 1.0)


def freedoms(motion: SmallMotion) -> int:
    """Number of independent velocities of what is not held."""
    rows = motion.system.n_c
    if rows:
        shifted = motion.mass if not np.any(motion.stiffness) else motion.stiffness + motion.mass
        rows -= motion.factorise(shifted.copy()).dependent
    return int(np.sum(~motion.held)) - rows


def check_count(motion: SmallMotion, free: FreeMotions, count: int) -> None:
    """Refuse more modes than there are."""
    most = freedoms(motion) - free.count
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= most:
        raise ModelError(f"modes: got {count!r}, wanted a whole number from 1 to {most}, the elastic freedoms there are")


def check_symmetric(motion: SmallMotion) -> None:
    """Refuse a stiffness that is not symmetric: it has no real modes."""
    x, y = np.where(motion.held, 0.0, np.random.default_rng(SEED).standard_normal((2, motion.system.n_v)))
    forward, back = y @ motion.times(motion.stiffness, x), x @ motion.times(motion.stiffness, y)
    terms = np.abs(y) @ motion.times(np.abs(motion.stiffness), np.abs(x))
    if abs(forward - back) > SYMMETRIC * terms:
        raise ModelError(
            "modes: the stiffness of this state is not symmetric, so that it has no real modes: a load follows the "
            "motion, or the state is not an equilibrium of the loads; leave the load out, start from "
            "'equilibrium', or ask for complex modes"
        )


def _lanczos(
    motion: SmallMotion, free: FreeMotions, count: int, shift: float, tolerance: float
) -> tuple[Floats, Floats]:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    n = motion.system.n_v
    try:
        factors = motion.factorise(motion.stiffness - shift * motion.mass)
    except SingularError as error:
        raise SolveError("modes: the stiffness is singular where the constraints leave motions of no mass") from error

    def inverse(force: Floats) -> Floats:
        x = motion.solve(factors, free.without_force(force.ravel()))
        return free.without(x)

    def mass(x: Floats) -> Floats:
        return motion.times(motion.mass, np.where(motion.held, 0.0, x.ravel()))

    start = inverse(mass(np.random.default_rng(SEED).standard_normal(n)))
    operators = [LinearOperator((n, n), matvec=f, dtype=np.float64) for f in (mass, mass, inverse)]
    most = freedoms(motion) - free.count
    if count >= min(most, n - 1) or most < 3:
        return _dense(inverse, mass, most, count, shift, motion)
    try:
        squares, shapes = eigsh(
            operators[0],
            k=count,
            M=operators[1],
            sigma=shift,
            OPinv=operators[2],
            v0=start,
            tol=tolerance,
            ncv=min(most, max(2 * count + 1, 20)),
        )
    except ArpackNoConvergence as error:
        raise SolveError(f"modes: the eigenvalue solver did not converge: {error}") from error
    return squares, shapes


def _dense(inverse, mass, most, count, shift, motion):  # type: ignore[no-untyped-def]
    """All modes of a small model."""
    from scipy.linalg import eigh

    basis: list[Floats] = []
    momenta: list[Floats] = []
    generator = np.random.default_rng(SEED)
    while len(basis) < most:
        x = inverse(mass(generator.standard_normal(motion.system.n_v)))
        for _ in range(3):
            for shape, momentum in zip(basis, momenta, strict=True):
                x = x - shape * (momentum @ x)
        x = x / np.sqrt(x @ mass(x))
        basis.append(x)
        momenta.append(mass(x))
    B = np.array(basis).T
    K = B.T @ np.array([motion.times(motion.stiffness, x) for x in basis]).T
    squares, parts = eigh(0.5 * (K + K.T))
    return squares[:count], (B @ parts)[:, :count]
