"""Rigid bodies, points and joints in velocity coordinates: stages of explicit steps, and projections on constraints.

The equations are those of ``femb.system.equations`` and ``femb.system.constraints``, in the same order of operations,
of one state q (1, n_q), v (1, n_v) at a time. bodies : index, data, offset, stride of
``femb.elements.body.mass_kernels``, and gravity. points : for the components of point masses the indices
in v, masses, weights (N) and offsets in block data. rows : index, data, offset, stride and fixed frames
of ``femb.elements.joint.constraint_kernels``; None for none. matrix : ``Pattern.structure``, ``targets``. scale (n,) :
``diagonal_scale`` of ``femb.numerics.block_kernels.factor`` on entry, or (0,). coordinates : as
``femb.numerics.kinematics`` takes them. work : arrays for block data (1, size), pivots (n,), ranks (B,), the diagonal
scale (n,) or (0,), a solution (n,), Phi, gamma and J v + Phi_t (1, n_c).

A projection may also take factors that are known, in ``work``, of a system with any elements: then bodies is None.
"""

from femb.elements.body import mass_kernels
from femb.elements.joint import constraint_kernels
from femb.numerics import kinematics
from femb.numerics.block_kernels import factor
from femb.numerics.block_solve_kernels import solve
from femb.numerics.compile import inlined, kernel
from femb.numerics.stage_kernels import stage_state


@inlined
def factorised(bodies, points, rows, matrix, scale, dependent, work, u, q, v):
    """Factorise [M J^T; J 0], and set Phi and gamma; returns the singular block, or -1."""
    data, pivots, rank, diagonal, _, position, gamma, _ = work
    data[:] = 0.0
    index, entries, offset, stride, _ = bodies
    mass_kernels.mass(index, entries, offset, stride, q, data)
    _, masses, _, places = points
    for i in range(masses.size):
        data[0, places[i]] += masses[i]
    if rows is not None:
        index, entries, offset, stride, fixed = rows
        constraint_kernels.jacobian(index, entries, offset, stride, u, q, v, fixed, data, position, gamma)
        for i in range(scale.size):
            diagonal[i] = scale[i]
    start, n_v, block, order, first, later, lower, upper, targets = matrix
    return factor(
        start, n_v, block, order, first, later, lower, upper, targets, data[0], pivots, rank, diagonal, dependent
    )  # fmt: skip


@inlined
def solved(matrix, work):
    """Solve for the right-hand side in the array of the solution."""
    data, pivots, rank, diagonal, x, _, _, _ = work
    start, n_v, block, order, first, later, lower, upper, _ = matrix
    solve(start, n_v, block, order, first, later, lower, upper, data[0], pivots, rank, diagonal, x)


@kernel
def stages(
    bodies, points, rows, matrix, scale, dependent, coordinates, work, still, u, A, first, last, h, n_q, y0, K, y
):
    """Stages ``first`` to ``last`` - 1 of an explicit Runge-Kutta step of length h from y0 = (q, v, work).

    still (1, n_v) : zeros. A (stages, .) : coefficients, so that stage s is evaluated at y0 + h sum A[s, m] K[m];
    K (stages, n_y) are the rates, y (n_y,) is the last of these states. Returns the singular block, or -1.
    """
    n_v, x, gamma = matrix[1], work[4], work[6]
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    q, v = y[:n_q].reshape((1, n_q)), y[n_q : n_q + n_v].reshape((1, n_v))
    force = x[:n_v].reshape((1, n_v))
    for s in range(first, last):
        stage_state(A, s, h, y0, K, y)
        x[:] = 0.0
        index, entries, _, _, gravity = bodies
        mass_kernels.residual(index, entries, q, v, still, gravity, force)
        places, _, weights, _ = points
        for i in range(weights.size):
            x[places[i]] -= weights[i]
        bad = factorised(bodies, points, rows, matrix, scale, dependent, work, u, q, v)
        if bad >= 0:
            return bad
        for i in range(n_v):
            x[i] = -x[i]
        for i in range(gamma.size):
            x[n_v + i] = gamma[0, i]
        solved(matrix, work)
        kinematics.rates(linear_q, linear_v, quaternion_q, omega_v, q, v, K[s, :n_q].reshape((1, n_q)))
        for i in range(n_v):
            K[s, n_q + i] = x[i]
        K[s, n_q + n_v] = 0.0
    return -1


@inlined
def largest(x):
    """The largest absolute value, or NaN."""
    worst = 0.0
    for i in range(x.size):
        if not abs(x[i]) <= worst:
            worst = abs(x[i])
    return worst


@inlined
def is_closed(count, size, previous, change, limit, settled, open_rows):
    """Whether the iteration ends: the gaps are closed, or no longer halved near that, or those of dependent rows."""
    if size <= limit or (count > 1 and size <= 100.0 * limit and size > 0.5 * previous):
        return True
    return change <= settled and size <= open_rows


@kernel
def project(bodies, points, rows, matrix, scale, dependent, coordinates, work, spare, limits, u, q, v):
    """Project q and v on the constraints, in place; returns whether it succeeded.

    The metric is that of the mass, or that of the factors in ``work`` if bodies is None; with these the iteration fails
    where it would take factors at a later state. spare : zeros (1, n_c), and arrays (1, n_v) and (1, n_q). limits : the
    largest Phi, the largest J v + Phi_t for v = 0, the change and the gap of dependent rows that end the iteration, the
    number of iterations, and of those with the factors of the first.
    """
    n_v, x, position, gamma, rates = matrix[1], work[4], work[5], work[6], work[7]
    linear_q, linear_v, quaternion_q, omega_v = coordinates
    index, entries, _, _, fixed = rows
    limit, velocity_limit, settled, open_rows, at_most, passes = limits
    free, force, step = spare
    factored = bodies is None  # at the present q, or at one near it
    for part in range(2):
        previous = size = change = 1e300
        if part == 1:
            limit = velocity_limit * (1.0 + largest(v[0]))
        closed = False
        for count in range(at_most):
            previous = size
            if part == 0:
                if bodies is not None and (not factored or count >= passes):
                    if factorised(bodies, points, rows, matrix, scale, dependent, work, u, q, v) >= 0:
                        return False
                    factored = True
                else:
                    constraint_kernels.constraints(index, entries, u, q, v, fixed, position, gamma)
                gaps = position[0]
            else:
                constraint_kernels.constraint_force(index, entries, u, q, v, fixed, free, force, rates)
                gaps = rates[0]
            size = largest(gaps)
            if is_closed(count, size, previous, change, limit, settled, open_rows):
                closed = True
                break
            if not size < 1e300:
                return False
            if bodies is None and count >= passes:
                return False
            if bodies is not None and part == 1 and not factored:
                if factorised(bodies, points, rows, matrix, scale, dependent, work, u, q, v) >= 0:
                    return False
                factored = True
            x[:n_v] = 0.0
            for i in range(gaps.size):
                x[n_v + i] = -gaps[i]
            solved(matrix, work)
            change = largest(x[:n_v])
            if part == 0:
                kinematics.rates(linear_q, linear_v, quaternion_q, omega_v, q, x[:n_v].reshape((1, n_v)), step)
                for i in range(q.size):
                    q[0, i] += step[0, i]
                kinematics.normalise(quaternion_q, q[0])
            else:
                for i in range(n_v):
                    v[0, i] += x[i]
        if not closed:
            return False
        if bodies is not None and part == 0:
            factored = change > 1e299
    return True
