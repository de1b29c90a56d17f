"""Constraints held: projection of a state on Phi = 0 and J v + Phi_t = 0.

The steppers solve the equations with the constraints on velocities; what their steps leave in positions is taken away
here after each accepted step, as the smallest change in the metric of a matrix A:

    [ A  J^T ] [ dx ]   [  0   ]
    [ J   0  ] [ .  ] = [ -Phi ],      q <- q + H dx,      and likewise for v.

With the iteration matrix of an implicit stepper for A the change leaves stiff members unstrained; with the mass it is
the projection of docs/theory/constraints.md, section 5. A row that depends on others is met when they are.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from femb.base.types import Floats, Sparse
from femb.elements.joint.constraint_set import ConstraintSet
from femb.layout.element import TrialError
from femb.layout.layout import Layout
from femb.numerics.newton import Iteration, largest, newton
from femb.system.block_lu import DEPENDENT, NEARLY_DEPENDENT, Factorisation, LinearSolver, SingularError
from femb.system.linear_solver import Factors

# What is left of Phi and of J v + Phi_t, in their units (m, 1 or rad, and per s).
POSITION, VELOCITY = 1e-12, 1e-11
PASSES, AT_MOST = 3, 10
# A change this small is the last; with a gap up to this size it leaves dependent rows alone.
SETTLED, OPEN = 1e-10, 1e-6
# Up to this many rows a dense solution is the faster one.
DENSE = 150


class Constrained(Protocol):
    """What a projection uses of a System, of one state unless (s, ...) says otherwise."""

    n_v: int
    n_c: int
    layout: Layout
    solver: LinearSolver
    constraint_set: ConstraintSet

    @property
    def resolution(self) -> float:
        """Gaps (m) that the rounding of positions may leave."""
        ...

    def mass_data(self, q: Floats) -> Floats:
        """Mass, block data."""
        ...

    def position_residual(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """Phi (n_c,)."""
        ...

    def velocity_residual(self, u: Floats, q: Floats, v: Floats) -> Floats:
        """J v + Phi_t (n_c,)."""
        ...

    def jacobian(self, u: Floats, q: Floats) -> Sparse:
        """J (n_c, n_v), scipy.sparse."""
        ...

    def retract(self, q: Floats, x: Floats, part: float = 1.0) -> Floats:
        """q (n_q,) after the displacements and rotations part x, x (n_v,); unit quaternions."""
        ...


def projected(
    system: Constrained, u: Floats, q: Floats, v: Floats, factors: Factors | None = None
) -> tuple[Floats, Floats]:
    """q (n_q,) and v (n_v,) on the constraints, from a state close to them; unit quaternions.

    factors : of a matrix with J and J^T at a state nearby; without them, or where they do not converge in a few passes,
    the mass at the state itself. Near a singular posture, rows that nearly depend on others are left as they are: they
    are open by the product of two small angles, and closing them would move the mechanism to another branch.
    Raises TrialError where the constraints cannot be met.
    """
    if not system.n_c:
        return q, v
    try:
        return _projected(system, u, q, v, factors, DEPENDENT)
    except TrialError:
        if not system.layout.has_loops:
            raise
    return _projected(system, u, q, v, None, NEARLY_DEPENDENT)


def _projected(
    system: Constrained, u: Floats, q: Floats, v: Floats, factors: Factors | None, dependent: float
) -> tuple[Floats, Floats]:
    def metric(x: Floats) -> Factors:
        return mass_factors(system, u, x, dependent)

    limit, words = max(POSITION, system.resolution), "stays open by {:.3g}"
    on = _closed(system, lambda x: system.position_residual(u, x, v), q, system.retract, limit, words, factors, metric)
    limit, words = VELOCITY * (1.0 + largest(v)), "opens at {:.3g} per s"
    rates, add = (lambda x: system.velocity_residual(u, on, x)), (lambda x, c, part: x + c)
    return on, _closed(system, rates, v, add, limit, words, factors, lambda x: metric(on))


def _closed(
    system: Constrained,
    residual: Callable[[Floats], Floats],
    x: Floats,
    retract: Callable[[Floats, Floats, float], Floats],
    limit: float,
    words: str,
    factors: Factors | None,
    metric: Callable[[Floats], Factors],
) -> Floats:
    """x on the constraints, with the factors given or, after a few passes, those of the metric."""
    change = np.inf

    def correction(it: Iteration[Floats, Floats]) -> Floats:
        nonlocal factors, change
        if factors is None or it.count >= PASSES:
            factors = metric(it.x)
        c: Floats = factors.solve(np.concatenate([np.zeros(system.n_v), -it.residual]))[: system.n_v]
        change = largest(c)
        return c

    def converged(it: Iteration[Floats, Floats]) -> bool:
        if it.within(limit, rounding=100.0 * limit if it.count > 1 else 0.0):
            return True
        # what is left belongs to rows that depend on others here
        return change <= SETTLED and it.size <= OPEN

    end = newton(x, residual, correction, retract, converged, iterations=AT_MOST, residual_size=largest)
    if not end.converged:
        raise TrialError(f"the constraints could not be met: {_widest(system, end.residual, words)}")
    return end.x


def _widest(system: Constrained, left: Floats, words: str) -> str:
    """The row that is off by most, with ``words`` for by how much."""
    layout = system.layout
    if not np.all(np.isfinite(left)):
        return "the state is not finite"
    k = int(np.argmax(np.abs(left)))
    labels = [label for label, row in zip(layout.row_labels, layout.row_c, strict=True) if row == k]
    item, _, what = (labels[0] if labels else f"row {k}").partition(": ")
    return f"{f'{item} ({what})' if what else item} {words.format(abs(left[k]))}"


def mass_factors(system: Constrained, u: Floats, q: Floats, dependent: float = DEPENDENT) -> Factorisation:
    """Factors of [M J^T; J 0] at one state."""
    data = system.mass_data(q)
    system.constraint_set.jacobian(u, q, data)
    try:
        return system.solver.factorise(data, dependent)
    except SingularError as error:
        raise singular_mass(system, error, q) from error


def singular_mass(system: Constrained, error: SingularError, *state: Floats) -> TrialError:
    """The error for a mass matrix that cannot be factorised: at whose block that shows."""
    if not all(np.all(np.isfinite(each)) for each in state):
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


def least_multipliers(system: Constrained, u: Floats, q: Floats, multipliers: Floats) -> Floats:
    """The multipliers (n_c,) of least norm with the same forces J^T lambda.

    Where rows depend on others the equations of motion leave their multipliers open: what elasticity would decide,
    rigid bodies cannot. docs/theory/constraints.md, section 6.
    """
    if not system.n_c or not system.layout.has_loops:
        return multipliers
    J = system.jacobian(u, q)
    force = J.T @ multipliers
    result: Floats
    if system.n_c <= DENSE:
        result = np.linalg.lstsq(J.T.toarray(), force, rcond=1e-10)[0]
    else:
        from scipy.sparse.linalg import lsqr

        result = lsqr(J.T, force, atol=1e-14, btol=1e-14)[0]
    return result
