"""Velocities from momenta and accelerations from forces by one recursion of cost O(n), and the energy matrix.

Sources: docs/theory/hamiltonian.md, sections 4, 5 and 7; Featherstone, Rigid Body Dynamics Algorithms, Springer 2008,
section 7.3 (there in link axes).
"""

import math
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.formulations.joint_tree_kernels import add_cross, add_force, transform
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.dop853_kernels import stage_state
from femb.numerics.rotations import cross_matrix
from femb.numerics.vector3 import cross, rotate, rotation, times_quaternion

# Columns of the array of segment data that the kernels read, one row for each segment.
#
# The rotation of a hinge is ``fixed + cos(q) cosine + sin(q) sine`` with three constant matrices, so that revolute and
# prismatic hinges need no branches: for a prismatic hinge only ``fixed`` is not zero, and ``SLIDE`` is one.

MASS = 0
CENTER = 1
INERTIA = 4
AT = 13
AXIS = 16  # in the parent's components
FIXED = 19
COSINE = 28
SINE = 37
SLIDE = 46
STIFFNESS = 47
REST = 48
DAMPING = 49
N_COLUMNS = 50


def pack(tree: Any) -> Floats:
    """Segment data (n + 1, N_COLUMNS) of a Tree, the base first."""
    n = tree.n
    data = np.zeros((n + 1, N_COLUMNS))
    if tree.base is not None:
        data[0, MASS] = tree.base.mass
        data[0, CENTER : CENTER + 3] = tree.base.center_of_mass
        data[0, INERTIA : INERTIA + 9] = tree.base.inertia.ravel()
    rows = data[1:]
    rows[:, MASS] = tree.mass
    rows[:, CENTER : CENTER + 3] = tree.center
    rows[:, INERTIA : INERTIA + 9] = tree.inertia.reshape(n, 9)
    rows[:, AT : AT + 3] = tree.at
    rows[:, AXIS : AXIS + 3] = (tree.mounting @ tree.axis[:, :, None])[:, :, 0]
    along = tree.mounting @ (tree.axis[:, :, None] * tree.axis[:, None, :])
    across = tree.mounting @ cross_matrix(tree.axis)
    fixed = np.where(tree.sliding[:, None, None], tree.mounting, along)
    rows[:, FIXED : FIXED + 9] = fixed.reshape(n, 9)
    rows[:, COSINE : COSINE + 9] = (tree.mounting - fixed).reshape(n, 9)
    rows[:, SINE : SINE + 9] = np.where(tree.sliding[:, None, None], 0.0, across).reshape(n, 9)
    rows[:, SLIDE] = tree.sliding
    rows[:, STIFFNESS], rows[:, REST], rows[:, DAMPING] = tree.stiffness, tree.rest, tree.damping
    return data


# Poses, spatial inertias and velocities of a tree by sweeps over its segments; row 0 is the base.
#
# Spatial vectors are in inertial axes about one common point, the origin of the base's frame: motions (omega, v),
# momenta and forces (moment, force). A recursion needs no change of frames. Source: docs/theory/hamiltonian.md, section
# 3.


@kernel
def poses(parent, data, q, R, hinge, c, S):
    """Attitudes R, hinge points hinge, mass centres c (rows, 3) and hinge motions S (rows, 6); R[0] is given.

    Equations (1) and (4).
    """
    base_pose(data, R, hinge, c)
    for k in range(1, parent.size):
        pose_of(k, parent[k], data, q[k - 1], R, hinge, c, S)


@inlined
def base_pose(data, R, hinge, c):
    """Pose of the base."""
    for i in range(3):
        hinge[0, i] = 0.0
        c[0, i] = R[0, i, 0] * data[0, CENTER] + R[0, i, 1] * data[0, CENTER + 1] + R[0, i, 2] * data[0, CENTER + 2]


@inlined
def pose_of(k, h, data, x, R, hinge, c, S):
    """Pose of segment k with the parent h at the coordinate x."""
    slide = data[k, SLIDE]
    sine, cosine, shift, revolute = math.sin(x), math.cos(x), slide * x, 1.0 - slide
    for j in range(3):
        a = data[k, FIXED + j] + cosine * data[k, COSINE + j] + sine * data[k, SINE + j]
        b = data[k, FIXED + 3 + j] + cosine * data[k, COSINE + 3 + j] + sine * data[k, SINE + 3 + j]
        d = data[k, FIXED + 6 + j] + cosine * data[k, COSINE + 6 + j] + sine * data[k, SINE + 6 + j]
        for i in range(3):
            R[k, i, j] = R[h, i, 0] * a + R[h, i, 1] * b + R[h, i, 2] * d
    a = data[k, AT] + shift * data[k, AXIS]
    b = data[k, AT + 1] + shift * data[k, AXIS + 1]
    d = data[k, AT + 2] + shift * data[k, AXIS + 2]
    for i in range(3):
        hinge[k, i] = hinge[h, i] + R[h, i, 0] * a + R[h, i, 1] * b + R[h, i, 2] * d
    center_of(k, data, R, hinge, c)
    x, y, z = data[k, AXIS], data[k, AXIS + 1], data[k, AXIS + 2]
    a, b, d = (
        R[h, 0, 0] * x + R[h, 0, 1] * y + R[h, 0, 2] * z,
        R[h, 1, 0] * x + R[h, 1, 1] * y + R[h, 1, 2] * z,
        R[h, 2, 0] * x + R[h, 2, 1] * y + R[h, 2, 2] * z,
    )
    S[k, 0], S[k, 1], S[k, 2] = revolute * a, revolute * b, revolute * d
    S[k, 3] = revolute * (hinge[k, 1] * d - hinge[k, 2] * b) + slide * a
    S[k, 4] = revolute * (hinge[k, 2] * a - hinge[k, 0] * d) + slide * b
    S[k, 5] = revolute * (hinge[k, 0] * b - hinge[k, 1] * a) + slide * d


@inlined
def center_of(k, data, R, hinge, c):
    """The mass centre of segment k."""
    x, y, z = data[k, CENTER], data[k, CENTER + 1], data[k, CENTER + 2]
    for i in range(3):
        c[k, i] = hinge[k, i] + R[k, i, 0] * x + R[k, i, 1] * y + R[k, i, 2] * z


@kernel
def spatial_inertias(data, R, c, M):
    """M (rows, 6, 6) about the common point, equation (5)."""
    for k in range(M.shape[0]):
        m, x, y, z, J = data[k, MASS], c[k, 0], c[k, 1], c[k, 2], data[k, INERTIA : INERTIA + 9]
        square = m * (x * x + y * y + z * z)
        for i in range(3):
            a = R[k, i, 0] * J[0] + R[k, i, 1] * J[3] + R[k, i, 2] * J[6]
            b = R[k, i, 0] * J[1] + R[k, i, 1] * J[4] + R[k, i, 2] * J[7]
            d = R[k, i, 0] * J[2] + R[k, i, 1] * J[5] + R[k, i, 2] * J[8]
            for j in range(3):
                M[k, i, j] = a * R[k, j, 0] + b * R[k, j, 1] + d * R[k, j, 2] - m * c[k, i] * c[k, j]
                M[k, i, 3 + j] = M[k, 3 + i, j] = M[k, 3 + i, 3 + j] = 0.0
        for i in range(3):
            f, g = (i + 1) % 3, (i + 2) % 3
            M[k, i, i] += square
            M[k, 3 + i, 3 + i] = m
            M[k, i, 3 + f] = M[k, 3 + f, i] = -m * c[k, g]
            M[k, i, 3 + g] = M[k, 3 + g, i] = m * c[k, f]


@kernel
def momenta(parent, S, M, rate, v, h):
    """v (rows, 6) from hinge rates (n,) and v[0], and h (rows, 6), the momenta of segments with all those outboard."""
    for k in range(parent.size):
        if k > 0:
            for i in range(6):
                v[k, i] = v[parent[k], i] + S[k, i] * rate[k - 1]
        transform(M[k], v[k], h[k])
    for k in range(parent.size - 1, 0, -1):
        for i in range(6):
            h[parent[k], i] += h[k, i]


@kernel
def convective_rates(S, v, h, out):
    """out (n,) = h_k . (v_k x S_k): rates of the momenta of the hinges by the motion of their axes, equation (6)."""
    b = np.empty(6)
    for k in range(out.size):
        b[:] = 0.0
        add_cross(v[k + 1], S[k + 1], 1.0, b)
        out[k] = 0.0
        for i in range(6):
            out[k] += h[k + 1, i] * b[i]


@inlined
def cholesky_solve(A, x):
    """x = A^-1 x in place, A symmetric and overwritten; returns whether A is positive definite."""
    n = x.size
    for j in range(n):
        for i in range(j, n):
            total = A[i, j]
            for m in range(j):
                total -= A[i, m] * A[j, m]
            if i == j:
                if not total > 0.0:
                    return False
                A[j, j] = math.sqrt(total)
            else:
                A[i, j] = total / A[j, j]
    for i in range(n):
        total = x[i]
        for m in range(i):
            total -= A[i, m] * x[m]
        x[i] = total / A[i, i]
    for i in range(n - 1, -1, -1):
        total = x[i]
        for m in range(i + 1, n):
            total -= A[m, i] * x[m]
        x[i] = total / A[i, i]
    return True


# Smallest ratio of a pivot to the inertia with all outboard hinges locked; a smaller one is a rounding error.
ROUNDING = 1e-13


@inlined
def articulated(tree, given, S, M, c, bias, p, h0, rate, v, h):
    """Articulated recursion, equations (9) to (11), for v_k = v_parent + c_k + S_k rate_k and h_k = M_k v_k + bias_k
    plus the h of the segments outboard, with S_k . h_k = p_k and, for a free base, h_0 = h0.

    tree : ``parent``, whether it floats, and ``driven``. p (n,), h0 (6,) : momenta of the hinges and of the tree about
    the base; or, for accelerations, the forces. Sets the rates (n,) of the hinges, v and h (rows, 6). c (rows, 6), or
    (0, 6) for zero. A driven hinge (``driven[k]``) has the rate ``given[k]``; its p is not read. On return M
    (rows, 6, 6) are the articulated inertias and bias (rows, 6) the articulated ones. Returns the number of the first
    segment whose pivot is a rounding error, or zero.
    """
    parent, floating, driven = tree
    rows, moving = parent.size, c.shape[0] > 0
    U, W, D, composite = np.empty((rows, 6)), np.empty(rows), np.empty(rows), np.empty((rows, 2))
    for k in range(rows):  # mass, and twice the mean of the second moments: a bound of the inertia about any axis
        composite[k, 0] = M[k, 3, 3]
        composite[k, 1] = M[k, 0, 0] + M[k, 1, 1] + M[k, 2, 2]
    failed = 0
    for k in range(rows - 1, 0, -1):
        g = parent[k]
        composite[g, 0] += composite[k, 0]
        composite[g, 1] += composite[k, 1]
        for i in range(6):
            total = 0.0
            for j in range(6):
                total += M[k, i, j] * S[k, j]
                if moving:
                    bias[k, i] += M[k, i, j] * c[k, j]
            U[k, i] = total
        if driven[k - 1]:
            for i in range(6):
                for j in range(6):
                    M[g, i, j] += M[k, i, j]
                bias[g, i] += bias[k, i] + U[k, i] * given[k - 1]
            continue
        d, w = 0.0, p[k - 1]
        for i in range(6):
            d += S[k, i] * U[k, i]
            w -= S[k, i] * bias[k, i]
        omega2 = S[k, 0] * S[k, 0] + S[k, 1] * S[k, 1] + S[k, 2] * S[k, 2]
        size = omega2 * composite[k, 1] + composite[k, 0] * (S[k, 3] * S[k, 3] + S[k, 4] * S[k, 4] + S[k, 5] * S[k, 5])
        if not d > ROUNDING * size:
            failed = k
        D[k], W[k] = d, w
        inverse = 1.0 / d
        f = w * inverse
        for i in range(6):
            e = U[k, i] * inverse
            for j in range(6):
                M[g, i, j] += M[k, i, j] - e * U[k, j]
            bias[g, i] += bias[k, i] + U[k, i] * f
    for i in range(6):
        v[0, i] = h0[i] - bias[0, i] if floating else 0.0
    if floating:
        cholesky_solve(M[0].copy(), v[0])
    for k in range(rows):
        if k > 0:
            g = parent[k]
            if driven[k - 1]:
                rate[k - 1] = given[k - 1]
            else:
                w = W[k]
                for i in range(6):
                    w -= U[k, i] * v[g, i]
                rate[k - 1] = w / D[k]
            for i in range(6):
                v[k, i] = v[g, i] + S[k, i] * rate[k - 1]
        for i in range(6):
            total = bias[k, i]  # with the momentum of c
            for j in range(6):
                total += M[k, i, j] * v[k, j]
            h[k, i] = total
        if moving:
            for i in range(6):
                v[k, i] += c[k, i]
    return failed


@inlined
def inertia_force(M, v, h, out):
    """out (6,) = v x* (M v), equation (16), and h (6,) = M v."""
    transform(M, v, h)
    for i in range(3):
        m, n = (i + 1) % 3, (i + 2) % 3
        out[i] = v[m] * h[n] - v[n] * h[m] + v[3 + m] * h[3 + n] - v[3 + n] * h[3 + m]
        out[3 + i] = v[m] * h[3 + n] - v[n] * h[3 + m]


@kernel
def accelerations(tree, given, S, M, v, rate, force, W, second, a, f):
    """Hinge accelerations ``second`` (n,), segments' a (rows, 6) and the forces f (rows, 6) through their hinges.

    The integration of momenta does not need them; results and drive torques do. a is the rate of v at the common point,
    fixed in space. force (n,): spring, damper and other generalized forces; W (rows, 6): external wrenches of each
    segment. A driven hinge has the acceleration ``given[k]``. M is overwritten. f[0] is zero for a free base;
    otherwise it is the force of the ground.
    """
    rows = tree[0].size
    bias, c, h = np.empty((rows, 6)), np.zeros((rows, 6)), np.empty(6)
    for k in range(rows):
        inertia_force(M[k], v[k], h, bias[k])
        for i in range(6):
            bias[k, i] -= W[k, i]
        if k > 0:
            add_cross(v[k], S[k], rate[k - 1], c[k])
    articulated(tree, given, S, M, c, bias, force, np.zeros(6), second, a, f)


@kernel
def energy_matrix(parent, S, M, A):
    """A (6 + n, 6 + n), the base's six velocities first, from composite inertias, equation (7).

    Sets only the entries of the lower triangle for pairs on one path; on return M are the composite inertias.
    """
    rows = parent.size
    F = np.empty(6)
    for k in range(rows - 1, 0, -1):
        transform(M[k], S[k], F)
        for i in range(6):
            for j in range(6):
                M[parent[k], i, j] += M[k, i, j]
        i = k
        while i > 0:
            total = 0.0
            for j in range(6):
                total += S[i, j] * F[j]
            A[5 + k, 5 + i] = total
            i = parent[i]
        for j in range(6):
            A[5 + k, j] = F[j]
    for i in range(6):
        for j in range(6):
            A[i, j] = M[0, i, j]


# Rates of coordinates and momenta for several states. Source: docs/theory/hamiltonian.md, sections 2 to 6.
#
# A state is (q, p) for a base on the ground, (r, e, q, L, P, p) for a free base: position of its frame's origin,
# quaternion, coordinates, angular momentum of the tree about the inertial origin, linear momentum, momenta of the
# hinges.


@kernel
def wrenches(data, gravity, load_rows, loads, R, hinge, c, W):
    """W (rows, 6): weight and loads of each segment about the common point, equation (12).

    load_rows (m,): the row that each load acts on. loads (m, 9): its point (segment axes, from the origin of the
    segment's frame), force and torque (inertial axes).
    """
    x, f = np.empty(3), np.empty(3)
    W[:] = 0.0
    for k in range(W.shape[0]):
        for i in range(3):
            f[i] = data[k, MASS] * gravity[i]
        add_force(c[k], f, W[k])
    for m in range(load_rows.shape[0]):
        k = load_rows[m]
        rotate(R[k], loads[m, :3], x)
        for i in range(3):
            x[i] += hinge[k, i]
            W[k, i] += loads[m, 6 + i]
        add_force(x, loads[m, 3:6], W[k])


@inlined
def momentum_rates(parent, data, driven, q, rate, S, v, h, W, out):
    """out (n,) = p' of the hinges; on return W are the sums outboard. Equation (13)."""
    convective_rates(S, v, h, out)
    for k in range(parent.size - 1, 0, -1):
        for i in range(6):
            W[parent[k], i] += W[k, i]
        if driven[k - 1]:
            out[k - 1] = 0.0
            continue
        total = out[k - 1] - data[k, STIFFNESS] * (q[k - 1] - data[k, REST]) - data[k, DAMPING] * rate[k - 1]
        for i in range(6):
            total += S[k, i] * W[k, i]
        out[k - 1] = total


@kernel
def state_rates(tree, data, only_speeds, given, loading, Y, rate, velocity, out):
    """Sets the rates out (s, n_y) of states Y (s, n_y), hinge rates (s, n) and segment velocities (s, rows, 6).

    given (s, n): rates of driven hinges. loading : gravity and loads of ``wrenches``. only_speeds: out is not set.
    Returns the segment with a zero pivot, or 0.
    """
    (parent, floating, driven), (gravity, load_rows, loads) = tree, loading
    rows = parent.size
    n = rows - 1
    R, hinge, c, S = np.empty((rows, 3, 3)), np.empty((rows, 3)), np.empty((rows, 3)), np.empty((rows, 6))
    M, h, W, h0 = np.empty((rows, 6, 6)), np.empty((rows, 6)), np.empty((rows, 6)), np.zeros(6)
    bias, still, x = np.empty((rows, 6)), np.empty((0, 6)), np.empty(3)
    start = 7 if floating else 0
    p_start = start + n + (6 if floating else 0)
    for s in range(Y.shape[0]):
        q, p, v = Y[s, start : start + n], Y[s, p_start : p_start + n], velocity[s]
        if floating:
            rotation(Y[s, 3:7], R[0])
            L, P = Y[s, p_start - 6 : p_start - 3], Y[s, p_start - 3 : p_start]
            cross(Y[s, :3], P, x)
            for i in range(3):
                h0[i], h0[3 + i] = L[i] - x[i], P[i]
        else:
            for i in range(3):
                for j in range(3):
                    R[0, i, j] = 1.0 if i == j else 0.0
        poses(parent, data, q, R, hinge, c, S)
        spatial_inertias(data, R, c, M)
        bias[:] = 0.0
        failed = articulated(tree, given[s], S, M, still, bias, p, h0, rate[s], v, h)
        if failed:
            return failed
        if only_speeds:
            continue
        wrenches(data, gravity, load_rows, loads, R, hinge, c, W)
        momentum_rates(parent, data, driven, q, rate[s], S, v, h, W, out[s, p_start : p_start + n])
        for k in range(n):
            out[s, start + k] = rate[s, k]
        if floating:
            out[s, 3], out[s, 4], out[s, 5], out[s, 6] = times_quaternion(
                0.5 * v[0, 0], 0.5 * v[0, 1], 0.5 * v[0, 2], Y[s, 3], Y[s, 4], Y[s, 5], Y[s, 6]
            )
            cross(Y[s, :3], W[0, 3:], x)
            for i in range(3):
                out[s, i] = v[0, 3 + i]
                out[s, p_start - 6 + i], out[s, p_start - 3 + i] = W[0, i] + x[i], W[0, 3 + i]
    return 0


@kernel
def stage_rates(tree, data, given, loading, A, first, last, h, y0, K, y):
    """Stages ``first`` to ``last`` - 1 of an explicit Runge-Kutta step of length h from y0 = (q, v, work).

    A (stages, .) : coefficients, so that stage s is evaluated at y0 + h sum A[s, m] K[m]; K (stages, n_y) are the
    rates, y (n_y,) is the last of these states. The other arguments are those of ``state_rates``. Returns the segment
    with a zero pivot, or 0.
    """
    # a variable: for the constant False, state_rates would be compiled a second time
    n, rows, only_speeds = y0.size - 1, tree[0].size, last < first
    Y, out, rate, velocity = np.empty((1, n)), np.empty((1, n)), np.empty((1, rows - 1)), np.empty((1, rows, 6))
    for s in range(first, last):
        stage_state(A, s, h, y0, K, y)
        for i in range(n):
            Y[0, i] = y[i]
        failed = state_rates(tree, data, only_speeds, given, loading, Y, rate, velocity, out)
        if failed:
            return failed
        for i in range(n):
            K[s, i] = out[0, i]
        K[s, n] = 0.0
        for k in range(1, rows):
            K[s, n] -= data[k, DAMPING] * rate[0, k - 1] * rate[0, k - 1]
    return 0
