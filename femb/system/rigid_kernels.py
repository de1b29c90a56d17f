"""Rigid bodies, points and joints in velocity coordinates: stages of explicit steps, and projections on constraints.

The equations are those of ``femb.system.system`` and ``femb.system.constraints``, in the same order of operations,
of one state q (1, n_q), v (1, n_v) at a time. bodies : index, data, offset, stride of
``femb.elements.body.mass_batch``, and gravity. points : for the components of point masses the indices
in v, masses, weights (N) and offsets in block data. rows : index, data, offset, stride and fixed frames
of ``femb.elements.joint.constraint_kernels``; None for none. algebra : matrix, planes, scale, dependent, coordinates
and work. matrix : ``Pattern.structure``, ``targets``. scale (n,), dependent : ``diagonal_scale`` and ``dependent`` of
``femb.numerics.block_kernels.factor``, scale may be (0,). coordinates : as ``femb.numerics.kinematics`` takes them.
work : arrays for block data (1, size), pivots (n,), ranks (B,), the diagonal scale (n,) or (0,), a solution (n,), Phi,
gamma and J v + Phi_t (1, n_c), a force and zeros (1, n_v), and the block data that are factorised.

planes : of ``femb.system.planar.KeptUnknowns`` the velocities, those that are dropped, and ``gather``; the rows of all
constraints. matrix, scale, rows and work, but for the first block data and the force, are then those of the unknowns
that are kept. If all are, the block data of ``work`` share their memory.

A projection may also take factors that are known, in ``work``, of a system with any elements: then bodies is None.
"""

import math

from femb.elements.body import mass_batch as mass_kernels
from femb.elements.joint import constraint_kernels
from femb.numerics import kinematics
from femb.numerics.block_kernels import factor, pivot_ratios, solve
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.dop853_kernels import (
    EVALUATIONS,
    INSTANTS,
    LENGTH,
    LOST,
    STEPS,
    TIME,
    advance,
    copy_to,
    error_size,
    instants_until,
    interpolate,
    is_open,
    shortened,
    stage_state,
    trial_length,
)

# The size of gaps that may be rounding errors, in limits of what is closed.
ROUNDINGS = 100.0


@inlined
def factorised(bodies, points, rows, algebra, u, q, v):
    """Factorise [M J^T; J 0], and set Phi and gamma; returns the singular block, or -1."""
    matrix, planes, scale, dependent, _, work = algebra
    data, pivots, rank, diagonal, _, position, gamma, _, _, _, factors = work
    gather = planes[2]
    if gather.size == 0:
        data[:] = 0.0
    index, entries, offset, stride, _ = bodies
    mass_kernels.add_mass(index, entries, offset, stride, q, data)
    _, masses, _, places = points
    for i in range(masses.size):
        data[0, places[i]] += masses[i]
    if rows is not None:
        index, entries, offset, stride, fixed = rows
        constraint_kernels.jacobian(index, entries, offset, stride, u, q, v, fixed, data, position, gamma)
        for i in range(scale.size):
            diagonal[i] = scale[i]
    # entries that are not taken are of unknowns out of the planes: they may sum up, since nothing reads them
    for i in range(gather.size):
        factors[i] = 0.0
        if gather[i] >= 0:
            factors[i], data[0, gather[i]] = data[0, gather[i]], 0.0
    structure, targets = matrix
    return factor(structure, targets, factors, pivots, rank, diagonal, dependent)


@inlined
def solved(matrix, work):
    """Solve for the right-hand side in the array of the solution."""
    _, pivots, rank, _, x, _, _, _, _, _, factors = work
    solve(matrix[0], factors, pivots, rank, x)


@kernel
def stages(bodies, points, rows, algebra, u, A, first, last, h, y0, K, y):
    """Stages ``first`` to ``last`` - 1 of an explicit Runge-Kutta step of length h from y0 = (q, v, work).

    A (stages, .) : coefficients, so that stage s is evaluated at y0 + h sum A[s, m] K[m];
    K (stages, n_y) are the rates, y (n_y,) is the last of these states. Returns the singular block, or -1.
    """
    matrix, (kept, dropped, _, _), _, _, coordinates, work = algebra
    x, gamma, force, still = work[4], work[6], work[8], work[9]
    n_w, n_v, n_q = kept.size, still.shape[1], kinematics.count_of(coordinates)
    q, v = y[:n_q].reshape((1, n_q)), y[n_q : n_q + n_v].reshape((1, n_v))
    for s in range(first, last):
        stage_state(A, s, h, y0, K, y)
        force[:] = 0.0
        index, entries, _, _, gravity = bodies
        mass_kernels.force(index, entries, gravity, q, v, still, force)
        places, _, weights, _ = points
        for i in range(weights.size):
            force[0, places[i]] -= weights[i]
        bad = factorised(bodies, points, rows, algebra, u, q, v)
        if bad >= 0:
            return bad
        for i in range(n_w):
            x[i] = -force[0, kept[i]]
        for i in range(gamma.size):
            x[n_w + i] = gamma[0, i]
        solved(matrix, work)
        kinematics.rates(coordinates, q, v, K[s, :n_q].reshape((1, n_q)))
        for i in range(n_w):
            K[s, n_q + kept[i]] = x[i]
        for i in range(dropped.size):
            K[s, n_q + dropped[i]] = 0.0
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
    if size <= limit or (count > 1 and size <= ROUNDINGS * limit and size > 0.5 * previous):
        return True
    return change <= settled and size <= open_rows


@kernel
def project(bodies, points, rows, algebra, spare, limits, u, q, v):
    """Project q and v on the constraints, in place; returns whether it succeeded.

    It has not if the rows that the planes leave out are open at its end.

    The metric is that of the mass, or that of the factors in ``work`` if bodies is None; with these the iteration fails
    where it would take factors at a later state. spare : zeros (1, n_c), an array (1, n_q), and three for Phi, gamma
    and J v + Phi_t of all rows. limits : the largest Phi, the largest J v + Phi_t for v = 0, the change and the gap of
    dependent rows that end the iteration, the number of iterations, of those with the factors of the first, and of
    those after the one that would be the last.
    """
    matrix, (kept, dropped, _, all_rows), _, _, coordinates, work = algebra
    n_w, x, position, gamma, rates, force = kept.size, work[4], work[5], work[6], work[7], work[8]
    index, entries, _, _, fixed = rows
    limit, velocity_limit, settled, open_rows, at_most, passes, again = limits
    free, step, gaps_of_all = spare
    factored = bodies is None  # at the present q, or at one near it
    for i in range(dropped.size):
        v[0, dropped[i]] = 0.0
    for part in range(2):
        previous = size = change = 1e300
        if part == 1:
            limit = velocity_limit * (1.0 + largest(v[0]))
        closed, left = False, again
        for count in range(at_most):
            previous = size
            if part == 0:
                if bodies is not None and (not factored or count >= passes or again > 0):
                    if factorised(bodies, points, rows, algebra, u, q, v) >= 0:
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
                closed = left == 0
                if closed:
                    break
                left -= 1
            if not size < 1e300:
                return False
            if bodies is None and count >= passes:
                return False
            if bodies is not None and part == 1 and not factored:
                if factorised(bodies, points, rows, algebra, u, q, v) >= 0:
                    return False
                factored = True
            x[:n_w] = 0.0
            for i in range(gaps.size):
                x[n_w + i] = -gaps[i]
            solved(matrix, work)
            change = largest(x[:n_w])
            if part == 0:
                force[:] = 0.0
                for i in range(n_w):
                    force[0, kept[i]] = x[i]
                kinematics.rates(coordinates, q, force, step)
                for i in range(q.size):
                    q[0, i] += step[0, i]
                kinematics.normalise(coordinates[2], q[0])
            else:
                for i in range(n_w):
                    v[0, kept[i]] += x[i]
        if not closed:
            return False
        if bodies is not None and part == 0:
            factored = change > 1e299
    if dropped.size == 0:
        return True
    index, entries, _, _, fixed = all_rows
    position, gamma, rates = gaps_of_all
    constraint_kernels.constraints(index, entries, u, q, v, fixed, position, gamma)
    constraint_kernels.constraint_force(index, entries, u, q, v, fixed, free, force, rates)
    return largest(position[0]) <= ROUNDINGS * limits[0] and largest(rates[0]) <= ROUNDINGS * limit


@kernel_with_entry
def project_by_factors(rows, algebra, spare, limits, u, q, v):
    """``project`` by factors that are known; returns -1, or 0 where it does not succeed."""
    return -1 if project(None, None, rows, algebra, spare, limits, u, q, v) else 0


# Many steps of DOP853 of rigid bodies, points and joints in one call, far from singular configurations.
#
# The arguments are those of ``femb.system.rigid_kernels``.

# Entries of a loop's clock: the start of the last step, and whether the pivots there are known: 0, 1, or NEAR, where a
# row nearly depends on others.
BEFORE, KNOWN = 2, 3
NEAR = -1.0


@kernel
def angles(bodies, points, rows, algebra, u, q, v, found):
    """Set the angles (n_c,) of the rows to the span of the others, zero of excluded ones; returns the singular block,
    or -1."""
    (structure, _), _, _, _, _, work = algebra
    _, pivots, rank, diagonal, _, _, _, _, _, _, factors = work
    found[:] = 0.0
    bad = factorised(bodies, points, rows, algebra, u, q, v)
    if bad < 0:
        pivot_ratios(structure, factors, pivots, rank, diagonal, found)
        for i in range(found.size):
            found[i] = math.sqrt(found[i])
    return bad


@inlined
def is_far(bodies, points, rows, algebra, u, q, v, clock, ratios, earlier, near):
    """Whether no row of a closed loop is about to depend on others; excludes the rows that depend already.

    near : the number of steps to a dependence from which on it is near. A step is the longer of the last and the
    planned one. ratios, earlier (n_c,) : the angles of the rows at the state, which are set, and at the start of the
    last step. Source: ``femb.run.time_loop``.
    """
    (structure, _), _, scale, _, _, _ = algebra
    n_v = structure[1]
    for i in range(ratios.size):
        scale[n_v + i] = 0.0
    if angles(bodies, points, rows, algebra, u, q, v, ratios) >= 0:
        return False
    passed = clock[TIME] - clock[BEFORE]
    longest = near * max(passed, clock[LENGTH])
    for i in range(ratios.size):
        falls = clock[KNOWN] > 0.0 and 0.0 < ratios[i] < earlier[i]
        if falls and ratios[i] * passed <= longest * (earlier[i] - ratios[i]):
            clock[KNOWN] = NEAR
            return False
    for i in range(ratios.size):
        earlier[i] = ratios[i]
        if ratios[i] == 0.0:
            scale[n_v + i] = -math.inf
    clock[BEFORE], clock[KNOWN] = clock[TIME], 1.0
    return True


@kernel
def steps(bodies, points, rows, algebra, spare, limits, u, near, ratios, states, loop):
    """Accepted steps of DOP853, as ``femb.numerics.dop853_kernels`` tells; ends before one that this loop cannot make.

    spare, limits : as in ``project``, None without rows. near, ratios (2, n_c) : see ``is_far``; near is 0 without
    closed loops. states (s or 0, n_q) : q at the ends of the steps, if wanted.
    """
    coefficients, norms, bounds, clock, counts, (y, rate, K, y1, state, fifth), output = loop
    A, E5, E3, _, _ = coefficients
    _, _, _, _, coordinates, work = algebra
    last, n_v, n_q, quaternion_q = K.shape[0] - 4, work[9].shape[1], kinematics.count_of(coordinates), coordinates[2]
    second = min(1, last)  # a number written below would be a type of its own, and compile the stages once more
    while is_open(bounds, clock, counts, output):
        t, h, rejections, error = clock[TIME], clock[LENGTH], 0, LOST
        if rows is not None:
            q, v = y[:n_q].reshape((1, n_q)), y[n_q : n_q + n_v].reshape((1, n_v))
            if near > 0.0 and not is_far(bodies, points, rows, algebra, u, q, v, clock, ratios[0], ratios[1], near):
                return
        copy_to(K[0], rate)
        while error > 1.0:
            if error < LOST:
                h = shortened(h, error)
                rejections += 1
            h = trial_length(bounds, t, h)
            if h == 0.0 or stages(bodies, points, rows, algebra, u, A, second, last + 1, h, y, K, y1) >= 0:
                return
            error = error_size((E5, E3), norms, n_q, h, y, y1, K, fifth)
            if not error < LOST:
                return
        first = counts[INSTANTS]
        count = instants_until(bounds, output, first, t, h)
        if count > 0:
            if first + count > output[1].shape[0] or (
                stages(bodies, points, rows, algebra, u, A, last + 1, last + 4, h, y, K, state) >= 0
            ):
                return
            interpolate(coefficients, bounds, output, n_q, first, count, t, h, y, y1, K)
        kinematics.normalise(quaternion_q, y1[:n_q])
        if rows is not None:
            q, v = y1[:n_q].reshape((1, n_q)), y1[n_q : n_q + n_v].reshape((1, n_v))
            if not project(bodies, points, rows, algebra, spare, limits, u, q, v):
                return
            # a stage of no length: the rates at y1
            if stages(bodies, points, rows, algebra, u, A, last, last + 1, 0.0, y1, K, state) >= 0:
                return
            counts[EVALUATIONS] += 1
        if count > 0:
            counts[INSTANTS] += count
            counts[EVALUATIONS] += 3
        counts[EVALUATIONS] += last * (1 + rejections)
        copy_to(rate, K[last])
        if states.shape[0] > 0:
            copy_to(states[counts[STEPS]], y1[:n_q])
        advance(bounds, clock, counts, output, h, error, rejections, y, y1)
