"""Real modes by shift-invert Lanczos on the block factorisation, in time proportional to the number of elements.

Of nets, whose factors are large, several vectors at a time (``femb.numerics.lanczos``): factors are then read once for
all of them.

    K phi = omega^2 M phi,   J phi = 0,   phi^T M phi = 1

Source: docs/theory/modes.md, section 2.
"""

from dataclasses import replace

import numpy as np

from femb.base.errors import ModelError, SolveError
from femb.base.types import Floats
from femb.base.values import shown, whole_number
from femb.numerics.lanczos import RESIDUAL, largest_eigenvalues
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import FreeMotions
from femb.system.block_lu import AnyFactorisation, SingularError

# The shift below the lowest eigenvalue, as part of it, where there are motions without stiffness.
BELOW = 0.5
# Of a symmetric stiffness: what it may lack, relative to its terms, and what rounding leaves of it.
SYMMETRIC, NO_ASYMMETRY = 1e-7, 1e-13
# Part of omega^2 by which a small asymmetry may move modes, and among how many it is looked at.
MOVED, AMONG = 1e-5, 8
ROUGH = 1e-2
FIRST_SHIFT = -1.0  # (rad/s)2, and smaller and smaller parts of it until the lowest mode is near
BESIDE, OTHERS = 1.1, 4  # of a shift that is an eigenvalue, and how many others are tried
FARTHER, FARTHEST = 4.0, 60  # of the shift of an unstable state, until nothing is below it, and how often
SEED = 1
# Below this number of freedoms, and where most modes are wanted, all of them are computed at once.
SMALL = 60
# Of omega^2: what rounding may leave without a refinement, and of shapes, after it; the most steps of it.
ROUNDED, REFINED, REFINEMENTS = 1e-8, 1e-9, 30
# Standard deviations of the sum of rounding errors that an estimate contains.
SURE = 6.0
# Of columns of unit mass: what is left of one that others contain. How many times the modes wanted are kept as a basis.
SAME, MOST = 1e-12, 4


NOT_SYMMETRIC = (
    "modes: the stiffness of this state is not symmetric, so that it has no real modes: a load follows the motion, or "
    "the state is not an equilibrium of the loads; leave the load out, start from 'equilibrium', or ask for complex "
    "modes"
)


def real_modes(motion: EigenProblem, free: FreeMotions, count: int, at_most: bool = False) -> tuple[Floats, Floats]:
    """The ``count`` lowest omega^2 (k,), rad2/s2, and shapes (n_v, k) beside the motions without stiffness.

    at_most : whether fewer are given where there are no more, else refused.
    The signs of shapes make their largest entry positive.
    Raises ModelError: more modes than there are; a stiffness that is not symmetric; an unstable state. Raises
    SolveError.
    """
    if at_most:
        count = max(1, min(count, freedoms(motion) - free.count))
    if _asymmetry(motion) <= NO_ASYMMETRY:
        squares, shapes = lowest(motion, free, count)
    else:
        check_count(motion, free, count)
        given, stiffness = motion, motion.stiffness
        symmetric = 0.5 * (stiffness + stiffness[motion.system.pattern.transposed])
        motion = replace(motion, stiffness=symmetric, of_state=False)
        squares, shapes = lowest(motion, free, max(count, min(AMONG, freedoms(motion) - free.count)))
        if moved_by_asymmetry(squares, shapes.T @ motion.times(given.stiffness, shapes)) > MOVED:
            raise ModelError(NOT_SYMMETRIC)
        squares, shapes = squares[:count], shapes[:, :count]
    # of what rounding hides no sign is known
    negative = (squares < 0.0) & (SURE * rounding(motion, squares, shapes) < 1.0)
    if np.any(negative):
        from femb.statics.equations import weights_of
        from femb.statics.neutral import motion_name

        layout = motion.system.layout
        moved = motion_name(layout, motion.q, shapes[:, np.argmax(negative)], weights_of(layout))
        raise ModelError(
            f"modes: the state is unstable: {int(np.sum(negative))} of its motions have a negative stiffness, as "
            f"beyond a buckling load; in the first, most of all, {moved}: reduce the load"
        )
    largest = shapes[np.argmax(np.abs(shapes), axis=0), np.arange(count)]
    return np.abs(squares), shapes * np.where(largest < 0.0, -1.0, 1.0)


def lowest(motion: EigenProblem, free: FreeMotions, count: int) -> tuple[Floats, Floats]:
    """Lowest eigenvalues and shapes of any state, sorted; values are negative where the state is unstable."""
    most = check_count(motion, free, count)
    if 2 * count > most or most < SMALL:
        squares, shapes = _dense(motion, free, count)
        lost = _loses(motion, squares, shapes)
        factors = _factors(motion, _below(motion, free, squares)) if lost else None
    else:
        factors, shift = _factors_and_shift(motion, free)
        squares, shapes = _lanczos(motion, free, count, factors, shift, 0.0)
        order = np.argsort(squares)
        squares, shapes = squares[order], shapes[:, order]
        lost = _loses(motion, squares, shapes)
    if lost:
        assert factors is not None
        return _refined(motion, free, shapes, factors)
    return squares, shapes


def precision(motion: EigenProblem, free: FreeMotions, squares: Floats, shapes: Floats) -> Floats:
    """(k,) up to what part frequencies are known: by rounding of the stiffness, or, where these were refined, by the
    next correction of the shapes (n_v, k), the residual, and what rounding leaves in stiffnesses that are not refined.
    """
    found = rounding(motion, squares, shapes)
    if np.max(found, initial=0.0) <= ROUNDED:
        return 0.5 * found
    others = rounding(motion, squares, shapes, motion.exact.others[0])
    forces = motion.exact_stiffness(shapes) - motion.momenta(shapes) * squares
    more = _corrections(motion, free, forces, _factors(motion, _below(motion, free, squares)))
    return 0.5 * np.maximum(others, motion.lengths(more))


def rounding(motion: EigenProblem, squares: Floats, shapes: Floats, stiffness: Floats | None = None) -> Floats:
    """(k,) what rounding of the stiffness, at random, changes omega^2 (k,) of shapes (n_v, k) by, relative to these."""
    data = (motion.stiffness if stiffness is None else stiffness) ** 2
    sizes = np.sum(motion.times(data, shapes**2) * shapes**2, axis=0)
    return np.asarray(np.finfo(float).eps * np.sqrt(sizes) / np.maximum(np.abs(squares), np.finfo(float).tiny))


def _loses(motion: EigenProblem, squares: Floats, shapes: Floats) -> bool:
    """Whether rounding of the stiffness changes any of omega^2 (k,) by more than what it may."""
    # of the sum over all modes, which is more than any, in one product
    weighted = (shapes**2) @ (1.0 / np.maximum(np.abs(squares), np.finfo(float).tiny))
    together = weighted @ motion.times(motion.stiffness**2, weighted)
    if np.finfo(float).eps * np.sqrt(together) <= ROUNDED:
        return False
    return bool(np.max(rounding(motion, squares, shapes)) > ROUNDED)


def _refined(
    motion: EigenProblem, free: FreeMotions, shapes: Floats, factors: AnyFactorisation
) -> tuple[Floats, Floats]:
    """Refine by products of the stiffness in which nothing large cancels: Davidson's iteration, whose corrections are
    solutions by the rounded factors. Source: docs/theory/modes.md, section 2."""
    count = shapes.shape[1]
    basis, forces, momenta = (np.zeros((motion.system.n_v, 0)) for _ in range(3))
    more, largest = shapes, np.inf
    for _ in range(REFINEMENTS):
        more, momentum = orthonormal(motion, _closed(motion, more, factors), basis, momenta)
        if not more.shape[1]:
            break
        basis, momenta = np.hstack([basis, more]), np.hstack([momenta, momentum])
        forces = np.hstack([forces, motion.exact_stiffness(more)])
        stiffness = basis.T @ forces
        squares, parts = np.linalg.eigh(0.5 * (stiffness + stiffness.T))
        # of all that was found, the lowest: the next corrections begin beside these
        parts = parts[:, : MOST * count]
        basis, forces, momenta = (columns @ parts for columns in (basis, forces, momenta))
        more = _corrections(motion, free, forces[:, :count] - momenta[:, :count] * squares[:count], factors)
        sizes = motion.lengths(more)
        last, largest = largest, float(np.max(sizes))
        if largest <= REFINED or largest > 0.5 * last:
            break
        more = more[:, sizes > REFINED]
    return squares[:count], basis[:, :count]


def _closed(motion: EigenProblem, columns: Floats, factors: AnyFactorisation) -> Floats:
    """Motions (n_v, k) of unit mass without gaps of the constraints: what rounding leaves of them in small corrections
    is large in this unit, and may be motions of little stiffness."""
    columns = columns / np.maximum(motion.lengths(columns), np.finfo(float).tiny)
    if not motion.system.n_c:
        return columns
    return columns - factors.solve_columns(np.vstack([np.zeros_like(columns), motion.gaps(columns)]))[: len(columns)]


def _corrections(motion: EigenProblem, free: FreeMotions, forces: Floats, factors: AnyFactorisation) -> Floats:
    """Motions (n_v, k) by forces (n_v, k), beside those without stiffness."""
    x = motion.solve_columns(factors, free.without_force(forces))
    return free.without(x)


def orthonormal(
    motion: EigenProblem, columns: Floats, basis: Floats, momenta: Floats, least: float = SAME
) -> tuple[Floats, Floats]:
    """Columns (n_v, k) of unit mass, orthogonal to a basis (n_v, b) with momenta (n_v, b), and their own momenta.

    Columns that depend on others are left out: made of unit mass, they would consist of rounding. least : of the
    squares of what is left of columns of unit mass.
    """
    columns = columns / np.maximum(motion.lengths(columns), np.finfo(float).tiny)
    for _ in range(2):
        columns = columns - basis @ (momenta.T @ columns)
        own = motion.momenta(columns)
        values, axes = np.linalg.eigh(columns.T @ own)
        parts = axes[:, values > least] / np.sqrt(values[values > least])
        columns, own = columns @ parts, own @ parts
    return columns, own


def _factors(motion: EigenProblem, shift: float, others: int = OTHERS) -> AnyFactorisation:
    """Factors of the stiffness at a shift, or at one beside it where it is an eigenvalue."""
    try:
        return motion.factorise(motion.stiffness - shift * motion.mass, symmetric=True)
    except SingularError as error:
        if others and shift:
            return _factors(motion, BESIDE * shift, others - 1)
        why = "where the constraints leave motions of no mass"
        if not motion.system.n_c:
            why = (
                "beside the motions that it leaves free; strained springs out of equilibrium make it so: take "
                'start = "equilibrium"'
            )
        raise SolveError(f"modes: the stiffness is singular {why}") from error


def _below(motion: EigenProblem, free: FreeMotions, squares: Floats) -> float:
    """A shift below the lowest omega^2 of those known, where there has to be one."""
    return -BELOW * abs(float(squares[0])) if free.count or motion.system.n_c else 0.0


def _factors_and_shift(motion: EigenProblem, free: FreeMotions) -> tuple[AnyFactorisation, float]:
    """Factors of the stiffness at a shift below the lowest eigenvalue; zero where every block is regular by itself and
    the state is stable."""
    # bodies that only joints connect have no stiffness of their own: their blocks are regular with a shift alone
    shift = FIRST_SHIFT if free.count or motion.system.n_c else 0.0
    # translations across a rotation, which are left out, have the stiffness of its centrifugal forces
    shift -= 2.0 * motion.spin**2
    factors = _factors(motion, shift)
    for _ in range(6 if shift else 0):
        lowest = _lanczos(motion, free, 1, factors, shift, ROUGH)[0]
        previous, shift = shift, _below(motion, free, lowest)
        factors = _factors(motion, shift)
        if abs(shift) >= 0.01 * abs(previous):
            break
    # of an unstable state, the nearest eigenvalue is not the lowest: none may be below the shift
    tried = 0
    while below := factors.negative_eigenvalues():
        if tried == FARTHEST:
            raise SolveError(
                f"modes: {below} eigenvalues are below {shift:.3g} (rad/s)^2, as where a mass matrix is not positive "
                "definite: look for bodies of files whose mass is negative, or take kind = 'modal' with fewer modes"
            )
        tried += 1
        shift = -FARTHER * (abs(shift) or abs(float(_lanczos(motion, free, 1, factors, shift, ROUGH)[0][0])))
        factors = _factors(motion, shift)
    return factors, shift


def freedoms(motion: EigenProblem) -> int:
    """Number of independent velocities of what is not held."""
    rows = motion.system.n_c
    if rows:
        # mass on the scale of the stiffness: inertias that are small beside it stay visible; positive in any state
        scale = np.max(np.abs(motion.stiffness), initial=0.0) / np.max(np.abs(motion.mass), initial=1e-300)
        diagonal = motion.system.pattern.entries_of(np.arange(motion.system.pattern.n) < motion.system.n_v)[1]
        sizes = np.abs(motion.stiffness) + (scale or 1.0) * np.abs(motion.mass)
        factors = motion.factorise(np.where(diagonal, sizes, 0.0))
        rows -= factors.dependent + factors.idle
    return int(np.sum(~motion.held)) - rows


def without_forces(motion: EigenProblem) -> str:
    """Words on forces that the matrices lack; "" if there are none."""
    return "".join(f"; left out: {what}" for what in motion.left_out)


def check_count(motion: EigenProblem, free: FreeMotions, count: int) -> int:
    """The number of elastic modes; refuses more than these."""
    most = freedoms(motion) - free.count
    if most < 1:
        states = ", ".join(motion.system.layout.first_order_names)
        wheels = f"; damped modes have {states}, and with these nutation" if states else ""
        raise ModelError(f"modes: nothing vibrates: all motions are without stiffness{wheels}{without_forces(motion)}")
    check_within(count, most)
    return most


def check_within(count: int, most: int) -> None:
    """Raises ModelError: no number of modes from 1 to ``most``, the elastic ones."""
    if not whole_number(count) or not 1 <= count <= most:
        raise ModelError(f"modes: count: got {shown(count)}, wanted a whole number from 1 to {most}, the elastic modes")


def is_symmetric(motion: EigenProblem) -> bool:
    """Whether the stiffness is symmetric, but for little beside its largest terms."""
    return _asymmetry(motion) <= SYMMETRIC


def _asymmetry(motion: EigenProblem) -> float:
    """Asymmetry of the stiffness, relative to its terms, along two motions at random."""
    x, y = np.where(motion.held, 0.0, np.random.default_rng(SEED).standard_normal((2, motion.system.n_v)))
    forward, back = y @ motion.times(motion.stiffness, x), x @ motion.times(motion.stiffness, y)
    terms = np.abs(y) @ motion.times(np.abs(motion.stiffness), np.abs(x))
    return float(abs(forward - back) / terms) if terms else 0.0


def moved_by_asymmetry(squares: Floats, stiffness: Floats) -> float:
    """The largest part of omega^2 (k,) by which two modes of the symmetric part of a stiffness move one another through
    the rest, which may be little beside the axial stiffness of soft members. stiffness (k, k) : along these modes, of
    unit mass. Source: docs/theory/modes.md, equation (1c)."""
    skew = 0.5 * (stiffness - stiffness.T)
    half = 0.5 * np.abs(np.subtract.outer(squares, squares))
    root = np.sqrt(np.abs(half**2 - skew**2))
    moved = np.where(half > np.abs(skew), half - root, np.hypot(half, root))
    return float(np.max(moved / np.maximum(np.abs(squares), np.finfo(float).tiny)))


def _lanczos(
    motion: EigenProblem, free: FreeMotions, count: int, factors: AnyFactorisation, shift: float, tolerance: float
) -> tuple[Floats, Floats]:
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    n = motion.system.n_v
    # blocks find the largest inverses: no eigenvalue may be below the shift
    if motion.system.pattern.net and not factors.negative_eigenvalues():

        def flexibility(forces: Floats) -> Floats:
            return free.without(motion.solve_columns(factors, free.without_force(forces)))

        inverses, shapes = largest_eigenvalues(flexibility, motion.sparse_mass, count, max(tolerance, RESIDUAL))
        return shift + 1.0 / inverses, shapes

    def inverse(force: Floats) -> Floats:
        x = motion.solve(factors, free.without_force(force.ravel()))
        return free.without(x)

    def mass(x: Floats) -> Floats:
        return motion.momenta(motion.of_moving(x.ravel()))

    start = inverse(mass(np.random.default_rng(SEED).standard_normal(n)))
    operators = [LinearOperator((n, n), matvec=f, dtype=np.float64) for f in (mass, mass, inverse)]
    try:
        squares, shapes = eigsh(
            operators[0],
            k=count,
            M=operators[1],
            sigma=shift,
            OPinv=operators[2],
            v0=start,
            tol=tolerance,
            ncv=min(n - 1, max(2 * count + 1, 20)),
        )
    except ArpackError as error:
        raise SolveError(f"modes: the eigenvalue solver did not converge: {error}") from error
    return squares, shapes


def _dense(motion: EigenProblem, free: FreeMotions, count: int) -> tuple[Floats, Floats]:
    """Eigenvalues and shapes where most modes are wanted: in a basis of the motions that the constraints leave."""
    from scipy.linalg import LinAlgError, cholesky, eigh, qr, solve_triangular

    n, moving = motion.system.n_v, ~motion.held
    mass, stiffness, rows = (motion.dense(data) for data in (motion.mass, motion.stiffness, motion.jacobian))
    conditions = np.vstack([rows[n:, :n], free.momenta.T])[:, moving]
    basis = np.eye(conditions.shape[1])
    if len(conditions):
        whole, _, _ = qr(conditions.T, pivoting=True)
        basis = whole[:, len(whole) - freedoms(motion) + free.count :]
    M, K = (basis.T @ part[:n, :n][np.ix_(moving, moving)] @ basis for part in (mass, stiffness))
    M, K = 0.5 * (M + M.T), 0.5 * (K + K.T)
    try:
        # of the inverse, whose largest eigenvalues are those of the lowest modes: the others cannot round these
        last = len(K) - 1
        inverses, parts = eigh(M, K, subset_by_index=(last - count + 1, last))
        squares = 1.0 / inverses[::-1]
        parts = parts[:, ::-1] * np.sqrt(squares)
    except LinAlgError:  # the stiffness is not positive
        squares, parts = eigh(K, M, subset_by_index=(0, count - 1))
    # of unit mass and orthogonal to the last bits
    parts = solve_triangular(cholesky(parts.T @ M @ parts, lower=True), parts.T, lower=True).T
    shapes = np.zeros((n, count))
    shapes[moving] = basis @ parts
    return squares, shapes
