"""Velocities from momenta and accelerations from forces by one recursion of cost O(n), and the energy matrix.

Sources: docs/theory/hamiltonian.md, sections 4, 5 and 7; Featherstone, Rigid Body Dynamics Algorithms, Springer 2008,
section 7.3 (there in link axes).
"""

import math
from typing import Annotated, Any

import numpy as np

from femb.base.types import Floats
from femb.formulations.joint_tree_kernels import force_at, motion_cross, motionless
from femb.numerics.compiler.compile import inlined, kernel
from femb.numerics.compiler.duals import (
    Matrix3,
    Number,
    Vector3,
    Vector4,
    Vector6,
    blocks,
    cos,
    cross,
    identity,
    joined,
    outer,
    sin,
    skew,
)
from femb.numerics.compiler.traced import M3, M6, V3, V4, V6, add_to, put, traced
from femb.numerics.dop853_kernels import stage_state
from femb.numerics.rotations import cross_matrix
from femb.numerics.vector3 import attitude, quaternion_product, still, unturned

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
    put(still(), hinge[0])
    center_of(0, data, R, hinge, c)


@traced
def hinge_axes(fixed: Matrix3, cosine: Matrix3, sine: Matrix3, x: Number) -> Any:
    """Axes of a segment in its parent's at the coordinate x."""
    return fixed + cos(x) * cosine + sin(x) * sine


@traced
def rotation_about(point: Vector3, axis: Vector3) -> Any:
    """The motion (6,) of a rotation about an axis through a point."""
    return joined(axis, cross(point, axis))


@traced
def hinge_motion(point: Vector3, axis: Vector3, slide: Number) -> Any:
    """The motion (6,) of a hinge by its coordinate: along the axis if ``slide`` is one, about it if it is zero."""
    return (1.0 - slide) * rotation_about.run(point, axis) + slide * joined(0.0, 0.0, 0.0, axis)


@inlined
def pose_of(k, h, data, x, R, hinge, c, S):
    """Pose of segment k with the parent h at the coordinate x."""
    of_parent, axis, slide = M3(R[h]), V3(data[k, AXIS:]), data[k, SLIDE]
    put(of_parent @ hinge_axes(M3(data[k, FIXED:]), M3(data[k, COSINE:]), M3(data[k, SINE:]), x), R[k])
    point = V3(hinge[h]) + of_parent @ (V3(data[k, AT:]) + (slide * x) * axis)
    put(point, hinge[k])
    put(hinge_motion(point, of_parent @ axis, slide), S[k])
    center_of(k, data, R, hinge, c)


@inlined
def center_of(k, data, R, hinge, c):
    """The mass centre of segment k."""
    put(V3(hinge[k]) + M3(R[k]) @ V3(data[k, CENTER:]), c[k])


@traced
def spatial_inertia(R: Matrix3, J: Matrix3, m: Number, c: Vector3) -> Any:
    """The inertia (6, 6) of a segment about the common point, equation (5)."""
    mc = m * skew(c)
    return blocks((R @ J @ R.T - mc @ skew(c), mc), (-mc, m * identity(3)))


@kernel
def spatial_inertias(data, R, c, M):
    """M (rows, 6, 6) about the common point."""
    for k in range(M.shape[0]):
        put(spatial_inertia(M3(R[k]), M3(data[k, INERTIA:]), data[k, MASS], V3(c[k])), M[k])


@kernel
def momenta(parent, S, M, rate, v, h):
    """v (rows, 6) from hinge rates (n,) and v[0], and h (rows, 6), the momenta of segments with all those outboard."""
    for k in range(parent.size):
        if k > 0:
            put(V6(v[parent[k]]) + rate[k - 1] * V6(S[k]), v[k])
        put(M6(M[k]) @ V6(v[k]), h[k])
    for k in range(parent.size - 1, 0, -1):
        add_to(V6(h[k]), h[parent[k]])


@kernel
def convective_rates(S, v, h, out):
    """out (n,) = h_k . (v_k x S_k): rates of the momenta of the hinges by the motion of their axes, equation (6)."""
    for k in range(out.size):
        out[k] = V6(h[k + 1]) @ motion_cross(V6(v[k + 1]), V6(S[k + 1]))


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
        g, axis, inertia, force = parent[k], V6(S[k]), M6(M[k]), V6(bias[k])
        composite[g, 0] += composite[k, 0]
        composite[g, 1] += composite[k, 1]
        u = inertia @ axis
        put(u, U[k])
        if moving:
            force += inertia @ V6(c[k])
            put(force, bias[k])
        if driven[k - 1]:
            force += given[k - 1] * u
        else:
            d, w, turn, shift = axis @ u, p[k - 1] - axis @ force, axis[:3], axis[3:]
            if not d > ROUNDING * ((turn @ turn) * composite[k, 1] + composite[k, 0] * (shift @ shift)):
                failed = k
            D[k], W[k] = d, w
            inertia -= product_of(u / d, u)
            force += (w / d) * u
        add_to(inertia, M[g])
        add_to(force, bias[g])
    put(V6(h0) - V6(bias[0]) if floating else motionless(), v[0])
    if floating:
        cholesky_solve(M[0].copy(), v[0])
    for k in range(rows):
        if k > 0:
            g = parent[k]
            rate[k - 1] = given[k - 1] if driven[k - 1] else (W[k] - V6(U[k]) @ V6(v[g])) / D[k]
            put(V6(v[g]) + rate[k - 1] * V6(S[k]), v[k])
        put(V6(bias[k]) + M6(M[k]) @ V6(v[k]), h[k])  # with the momentum of c
        if moving:
            add_to(V6(c[k]), v[k])
    return failed


product_of = traced(outer)


@traced
def inertia_force(M: Annotated[Any, (6, 6)], v: Vector6) -> Any:
    """v x* (M v), equation (16)."""
    h = M @ v
    (w, u), (L, P) = (v[:3], v[3:]), (h[:3], h[3:])
    return joined(cross(w, L) + cross(u, P), cross(w, P))


@kernel
def accelerations(tree, given, S, M, v, rate, force, W, second, a, f):
    """Hinge accelerations ``second`` (n,), segments' a (rows, 6) and the forces f (rows, 6) through their hinges.

    The integration of momenta does not need them; results and drive torques do. a is the rate of v at the common point,
    fixed in space. force (n,): spring, damper and other generalized forces; W (rows, 6): external wrenches of each
    segment. A driven hinge has the acceleration ``given[k]``. M is overwritten. f[0] is zero for a free base;
    otherwise it is the force of the ground.
    """
    rows = tree[0].size
    bias, c = np.empty((rows, 6)), np.zeros((rows, 6))
    for k in range(rows):
        put(inertia_force(M6(M[k]), V6(v[k])) - V6(W[k]), bias[k])
        if k > 0:
            put(rate[k - 1] * motion_cross(V6(v[k]), V6(S[k])), c[k])
    articulated(tree, given, S, M, c, bias, force, np.zeros(6), second, a, f)


@kernel
def energy_matrix(parent, S, M, A):
    """A (6 + n, 6 + n), the base's six velocities first, from composite inertias, equation (7).

    Sets only the entries of the lower triangle for pairs on one path; on return M are the composite inertias.
    """
    for k in range(parent.size - 1, 0, -1):
        force = M6(M[k]) @ V6(S[k])
        add_to(M6(M[k]), M[parent[k]])
        i = k
        while i > 0:
            A[5 + k, 5 + i] = V6(S[i]) @ force
            i = parent[i]
        put(force, A[5 + k])
    for i in range(6):
        put(V6(M[0, i]), A[i])


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
    for k in range(W.shape[0]):
        put(force_at(V3(c[k]), data[k, MASS] * V3(gravity)), W[k])
    for m in range(load_rows.shape[0]):
        k, load = load_rows[m], loads[m]
        add_to(force_at(V3(hinge[k]) + M3(R[k]) @ V3(load), V3(load[3:])), W[k])
        add_to(V3(load[6:]), W[k])


@inlined
def momentum_rates(tree, data, q, rate, S, v, h, W, out):
    """out (n,) = p' of the hinges; on return W are the sums outboard. Equation (13)."""
    parent, _, driven = tree
    convective_rates(S, v, h, out)
    for k in range(parent.size - 1, 0, -1):
        add_to(V6(W[k]), W[parent[k]])
        resisting = data[k, STIFFNESS] * (q[k - 1] - data[k, REST]) + data[k, DAMPING] * rate[k - 1]
        out[k - 1] = 0.0 if driven[k - 1] else out[k - 1] + V6(S[k]) @ V6(W[k]) - resisting


@traced
def about(x: Vector6, r: Vector3) -> Any:
    """A force or momentum (6,) with its moment about the point r in place of that about the origin."""
    return joined(x[:3] - cross(r, x[3:]), x[3:])


@traced
def turning(omega: Vector3, p: Vector4) -> Any:
    """The rate of a quaternion at an angular velocity in inertial axes."""
    return 0.5 * quaternion_product.run(joined(0.0, omega), p)


@kernel
def state_rates(tree, data, only_speeds, given, loading, Y, rate, velocity, out):
    """Sets the rates out (s, n_y) of states Y (s, n_y), hinge rates (s, n) and segment velocities (s, rows, 6).

    given (s, n): rates of driven hinges. loading : gravity and loads of ``wrenches``. only_speeds: out is not set.
    Returns the segment with a zero pivot, or 0.
    """
    (parent, floating, _), (gravity, load_rows, loads) = tree, loading
    rows = parent.size
    n = rows - 1
    R, hinge, c, S = np.empty((rows, 3, 3)), np.empty((rows, 3)), np.empty((rows, 3)), np.empty((rows, 6))
    M, h, W, h0 = np.empty((rows, 6, 6)), np.empty((rows, 6)), np.empty((rows, 6)), np.zeros(6)
    bias, none = np.empty((rows, 6)), np.empty((0, 6))
    start = 7 if floating else 0
    p_start = start + n + (6 if floating else 0)
    for s in range(Y.shape[0]):
        q, p, v = Y[s, start : start + n], Y[s, p_start : p_start + n], velocity[s]
        put(attitude(V4(Y[s, 3:]) if floating else unturned()), R[0])
        if floating:
            put(about(V6(Y[s, p_start - 6 :]), V3(Y[s])), h0)
        poses(parent, data, q, R, hinge, c, S)
        spatial_inertias(data, R, c, M)
        bias[:] = 0.0
        failed = articulated(tree, given[s], S, M, none, bias, p, h0, rate[s], v, h)
        if failed:
            return failed
        if only_speeds:
            continue
        wrenches(data, gravity, load_rows, loads, R, hinge, c, W)
        momentum_rates(tree, data, q, rate[s], S, v, h, W, out[s, p_start : p_start + n])
        for k in range(n):
            out[s, start + k] = rate[s, k]
        if floating:
            put(turning(V3(v[0]), V4(Y[s, 3:])), out[s, 3:])
            put(V3(v[0, 3:]), out[s])
            put(about(V6(W[0]), -V3(Y[s])), out[s, p_start - 6 :])
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
