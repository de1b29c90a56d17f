"""Projection of a state on the constraints Phi = 0 and J v + Phi_t = 0.

The steppers solve the equations with the constraints on velocities; their steps leave gaps in positions, which are
closed here after each accepted step, by the smallest change in the metric of a matrix A:

    [ A  J^T ] [ dx ]   [  0   ]
    [ J   0  ] [ .  ] = [ -Phi ],      q <- q + H dx,      and likewise for v.

With the iteration matrix of an implicit stepper for A, the change does not strain stiff members; with the mass it is
the projection of docs/theory/constraints.md, section 5. A dependent row is satisfied when the others are.
"""

from collections.abc import Callable
from math import isfinite

import numpy as np

from femb.base.types import Floats, Ints, Sparse
from femb.elements.joint.primitives import FIRST, IN_FORCE, ROW, SECOND, row_tangent
from femb.layout.element import TrialError
from femb.numerics.compiler.bound_calls import Bound
from femb.numerics.newton import largest
from femb.numerics.vector3 import HAS_AXES, IN_V
from femb.system.block_lu import DEPENDENT, NEARLY_DEPENDENT, AnyFactorisation, Factorisation, Factors, SingularError
from femb.system.motion_equations import MotionEquations
from femb.system.rigid_kernels import project_by_factors

# Tolerances of Phi and of J v + Phi_t, in their units (m, 1 or rad, and per s).
POSITION, VELOCITY = 1e-12, 1e-11
PASSES, AT_MOST = 3, 10
# A change up to SETTLED ends the iteration if the gaps, which are those of dependent rows, are up to OPEN.
SETTLED, OPEN = 1e-10, 1e-6


def projected(
    system: MotionEquations, u: Floats, q: Floats, v: Floats, factors: Factors | None = None
) -> tuple[Floats, Floats]:
    """q (n_q,) and v (n_v,) on the constraints, from a state close to them; unit quaternions.

    factors : of a matrix with J and J^T at a state nearby; without them, or where they do not converge in a few passes,
    those of the mass at the state itself. Near a singular configuration, rows that nearly depend on others are left
    out: their gaps are the product of two small angles, and to close them would move the mechanism to another branch.
    Raises TrialError where the constraints cannot be satisfied.
    """
    if not system.n_c or (factors is None and _is_closed(system, u, q, v)):
        return q, v
    found = None
    if isinstance(factors, Factorisation):
        found = _by_factors(system, u, q, v, factors)
    elif factors is None and system.rigid is not None:
        found = system.rigid.projected(system, q, v)
    if found is not None:
        return found
    try:
        return _projected(system, u, q, v, factors, DEPENDENT)
    except TrialError:
        if not system.layout.has_loops:
            raise
    return _projected(system, u, q, v, None, NEARLY_DEPENDENT)


def _is_closed(system: MotionEquations, u: Floats, q: Floats, v: Floats) -> bool:
    """Whether a state is on the constraints."""
    if largest(system.position_residual(u, q, v)) > position_limit(system):
        return False
    return largest(system.velocity_residual(u, q, v)) <= VELOCITY * (1.0 + largest(v))


def position_limit(system: MotionEquations) -> float:
    """The size of gaps Phi (m or 1) that are closed."""
    return max(POSITION, system.resolution)


def _by_factors(
    system: MotionEquations, u: Floats, q: Floats, v: Floats, factors: Factorisation
) -> tuple[Floats, Floats] | None:
    """Project as ``_projected`` in one compiled call; None where the iteration fails or would take other factors."""
    q, v = q[None].copy(), v[None].copy()
    closed = bound_projection(system, u[None], q, v, factors)() == -1
    return (q[0], v[0]) if closed else None


def bound_projection(
    system: MotionEquations, u: Floats, q: Floats, v: Floats, factors: Factorisation,
    check: Callable[[int], object] | None = None,
) -> Bound:  # fmt: skip
    """The call that projects q (1, n_q) and v (1, n_v) in place by factors of a state nearby.

    Its result is -1; otherwise the iteration has failed, or would take other factors.
    """
    rows, n_v, n_c = system.constraint_set, system.n_v, system.n_c
    structure, data, pivots, rank = factors.arguments
    # not read where the factors are given
    diagonal = np.zeros(0)
    work = data[None], pivots, rank, diagonal, np.empty(n_v + n_c), *np.zeros((3, 1, n_c)), *np.zeros((2, 1, n_v)), data
    spare = np.zeros((1, n_c)), np.empty((1, system.n_q)), tuple(np.zeros((3, 1, n_c)))
    limits = position_limit(system), VELOCITY, SETTLED, OPEN, AT_MOST, PASSES, 0
    matrix = structure, system.solver.targets
    of_rows = rows.index, rows.data, rows.offset, rows.stride, rows.fixed
    none: Ints = np.zeros(0, dtype=np.int64)
    planes = np.arange(n_v), none, none, of_rows
    algebra = matrix, planes, diagonal, 0.0, system.coordinates, work
    return Bound(project_by_factors, of_rows, algebra, spare, limits, u, q, v, check=check)


def _projected(
    system: MotionEquations, u: Floats, q: Floats, v: Floats, factors: Factors | None, dependent: float
) -> tuple[Floats, Floats]:
    def metric(x: Floats) -> Factors:
        return mass_factors(system, u, x, dependent)

    limit, words = position_limit(system), "stays open by {:.3g}"
    q = _closed(system, lambda x: system.position_residual(u, x, v), q, system.retract, limit, words, factors, metric)
    limit, words = VELOCITY * (1.0 + largest(v)), "opens at {:.3g} per s"
    rates, add = (lambda x: system.velocity_residual(u, q, x)), (lambda x, c, part: x + c)
    return q, _closed(system, rates, v, add, limit, words, factors, lambda x: metric(q))


def _closed(
    system: MotionEquations,
    residual: Callable[[Floats], Floats],
    x: Floats,
    retract: Callable[[Floats, Floats, float], Floats],
    limit: float,
    words: str,
    factors: Factors | None,
    metric: Callable[[Floats], Factors],
) -> Floats:
    """x on the constraints, by the given factors or, after a few passes, those of the metric."""
    # not by ``femb.numerics.newton``: this is done twice after every step, mostly with one correction or none
    size, c = np.inf, None
    for count in range(AT_MOST):
        gaps, previous = residual(x), size
        size = largest(gaps)
        if size <= limit:
            return x
        if not isfinite(size):
            break
        # a gap that no longer decreases is rounding; one after a settled change belongs to dependent rows
        rounding = count > 1 and size <= 100.0 * limit and size > 0.5 * previous
        if rounding or (size <= OPEN and c is not None and largest(c) <= SETTLED):
            return x
        if factors is None or count >= PASSES:
            factors = metric(x)
        right = np.zeros(system.n_v + system.n_c)
        right[system.n_v :] = -gaps
        c = factors.solve(right)[: system.n_v]
        x = retract(x, c, 1.0)
    raise TrialError(f"the constraints could not be met: {_widest(system, gaps, words)}")


def _widest(system: MotionEquations, gaps: Floats, words: str) -> str:
    """The row with the largest gap; ``words`` : a format for its size."""
    layout = system.layout
    if not np.all(np.isfinite(gaps)):
        return "the state is not finite"
    k = int(np.argmax(np.abs(gaps)))
    labels = [label for label, row in zip(layout.row_labels, layout.row_c, strict=True) if row == k]
    item, _, what = (labels[0] if labels else f"row {k}").partition(": ")
    return f"{f'{item} ({what})' if what else item} {words.format(abs(gaps[k]))}"


def mass_factors(system: MotionEquations, u: Floats, q: Floats, dependent: float = DEPENDENT) -> AnyFactorisation:
    """Factors of [M J^T; J 0] at one state."""
    data = system.mass_data(q)
    system.constraint_set.jacobian(u, q, data)
    try:
        return system.solver.factorise(data, dependent)
    except SingularError as error:
        raise singular_mass(system, error, q) from error


def singular_mass(system: MotionEquations, error: SingularError, *state: Floats) -> TrialError:
    """The error for a mass matrix that cannot be factorised, with the item of the singular block."""
    if not all(np.all(np.isfinite(x)) for x in state):
        return TrialError("the state is not finite")
    item = ""
    if error.last > error.first:
        if error.first < system.n_v:
            item = system.layout.velocity_labels()[error.first].partition(": ")[0]
        else:
            rows = zip(system.layout.row_labels, system.layout.row_c, strict=True)
            item = next(label for label, row in rows if row + system.n_v >= error.first).partition(": ")[0]
    return TrialError(
        f"the mass matrix is singular{f' at {item!r}' if item else ''}: a mass or an inertia is too small beside the "
        "others, or too large for their sum"
    )


# Derivative of the forces of constraints with respect to the coordinates, d(J^T lambda)/dq H, complete.
#
# Row by row, as a sparse matrix: block data have no blocks for two frames that are coupled by a joint alone.


def reaction_stiffness(system: MotionEquations, u: Floats, q: Floats, v: Floats, multipliers: Floats) -> Sparse:
    """(n_v, n_v), scipy.sparse, at one state, at constant multipliers (n_c,)."""
    from scipy.sparse import coo_array

    K, T = np.zeros((12, 12)), np.zeros(12)
    rows, columns, values = [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)], [np.zeros(0)]
    constraints = system.constraint_set
    for n, index in enumerate(constraints.index):
        multiplier = multipliers[index[ROW]]
        if multiplier == 0.0 or (index[IN_FORCE] >= 0 and u[index[IN_FORCE]] == 0.0):
            continue  # an open latch
        row_tangent(n, constraints.index, constraints.data, u, q, v, system.layout.fixed, K, T)
        frames = index[FIRST : FIRST + 3], index[SECOND : SECOND + 3]
        counts = [(6 if frame[HAS_AXES] else 3) if frame[IN_V] >= 0 else 0 for frame in frames]
        free = np.concatenate([np.arange(counts[0]), 6 + np.arange(counts[1])])
        at = np.concatenate([frame[IN_V] + np.arange(count) for frame, count in zip(frames, counts, strict=True)])
        rows.append(np.repeat(at, len(at)))
        columns.append(np.tile(at, len(at)))
        values.append(multiplier * K[np.ix_(free, free)].ravel())
    indices = (np.concatenate(rows), np.concatenate(columns))
    return coo_array((np.concatenate(values), indices), shape=(system.n_v, system.n_v)).tocsc()
