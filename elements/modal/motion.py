"""Kernels: the motion of the interfaces, and the coordinates of the body that follow; equations (16) to (21)."""

from femb.elements.modal.columns import (
    ACC,
    ALPHA,
    ARM_ACC,
    ARM_RATE,
    AT_REST,
    DA,
    DV,
    FRAME_OMEGA,
    IN_FRAME,
    OFF,
    OFFSET,
    OMEGA,
    POINT,
    RATE,
    SCALARS,
    THETA,
    TURNED,
    TURNED_ALPHA,
    G,
    R,
    X,
    Y,
)  # fmt: skip
from femb.numerics.compiler.compile import inlined
from femb.numerics.vector3 import IN_Q, IN_V, cross, dot, rotate, rotate_back, rotation

# Smallest 1 + tr C: the relative rotation of an interface stays below about 179 degrees.
LEAST_TRACE = 1e-4


@inlined
def station_motion(index, stations, rests, q, v, a, fixed, frames, axes, motion):
    """The axes of the frame (k, 3, 3), the axes (k, 3, 3) and the motion (k, 8, 3) of every station; see columns."""
    for s in range(stations.shape[0]):
        i, j = index[s, IN_Q], index[s, IN_V]
        row, d, w = stations[s], stations[s, OFFSET : OFFSET + 3], motion[s]
        if i >= 0:
            rotation(q[i + 3 : i + 7], frames[s])
        else:
            rotation(fixed[-1 - i, 3:7], frames[s])
        for k in range(3):
            w[R, k] = q[i + k] if i >= 0 else fixed[-1 - i, k]
            w[RATE, k] = v[j + k] if j >= 0 else 0.0
            w[ACC, k] = a[j + k] if j >= 0 else 0.0
            w[OMEGA, k] = v[j + 3 + k] if j >= 0 else 0.0
            w[ALPHA, k] = a[j + 3 + k] if j >= 0 else 0.0
            w[FRAME_OMEGA, k] = w[OMEGA, k]
        if row[OFF] == 0.0:
            for k in range(3):
                w[ARM_RATE, k], w[ARM_ACC, k] = 0.0, 0.0
                for m in range(3):
                    axes[s, k, m] = frames[s, k, m]
            continue
        E = rests[s, IN_FRAME]
        cross(w[OMEGA], d, w[ARM_RATE])
        cross(w[ALPHA], d, w[ARM_ACC])
        ox, oy, oz = w[OMEGA, 0], w[OMEGA, 1], w[OMEGA, 2]
        bx, by, bz = w[ARM_RATE, 0], w[ARM_RATE, 1], w[ARM_RATE, 2]
        w[ARM_ACC, 0] += oy * bz - oz * by
        w[ARM_ACC, 1] += oz * bx - ox * bz
        w[ARM_ACC, 2] += ox * by - oy * bx
        F = frames[s]
        for k in range(3):
            w[R, k] += dot(F[k], d)
            w[RATE, k] += dot(F[k], w[ARM_RATE])
            w[ACC, k] += dot(F[k], w[ARM_ACC])
        ax, ay, az = w[ALPHA, 0], w[ALPHA, 1], w[ALPHA, 2]
        for k in range(3):
            w[OMEGA, k] = E[0, k] * ox + E[1, k] * oy + E[2, k] * oz
            w[ALPHA, k] = E[0, k] * ax + E[1, k] * ay + E[2, k] * az
            for m in range(3):
                axes[s, k, m] = F[k, 0] * E[0, m] + F[k, 1] * E[1, m] + F[k, 2] * E[2, m]


@inlined
def measured(index, stations, rests, axes, motion, q, v, a, psi2, relative, turns, x, eta):
    """The coordinates measured, x (3, n): values, rates and second rates, and those that move the mass, eta (3, N).

    relative (k, 9, 3) : see columns. turns (k, 3, 3) : C. Returns 0, or the number of an interface whose rotation
    relative to the root has reached half a turn.
    """
    k, n = stations.shape[0], x.shape[1]
    first = 6 * (k - 1)
    i, j = index[k, IN_Q], index[k, IN_V]
    for m in range(n - first):
        x[0, first + m], x[1, first + m], x[2, first + m] = q[i + m], v[j + m], a[j + m]
    for s in range(1, k):
        if not interface_motion(
            stations[s], rests[s, AT_REST], axes[0], motion[0], axes[s], motion[s], relative[s], turns[s], x, s
        ):
            return s
    for row in range(3):
        for m in range(eta.shape[1]):
            eta[row, m] = x[row, m] if m < n else 0.0
    bends = psi2.shape[0] - (eta.shape[1] - n)
    for p in range(psi2.shape[0]):
        at = bent_coordinate(p, bends, n)
        for m in range(n):
            bent, bent_rate = 0.0, 0.0
            for o in range(n):
                bent += psi2[p, m, o] * x[0, o]
                bent_rate += psi2[p, m, o] * x[1, o]
            eta[0, at] -= 0.5 * x[0, m] * bent
            eta[1, at] -= x[1, m] * bent
            eta[2, at] -= x[2, m] * bent + x[1, m] * bent_rate
    return 0


@inlined
def bent_coordinate(p, bends, n):
    """The coordinate that the matrix p of psi2 changes, of which the first ``bends`` are of interfaces."""
    return 6 * (p // 3) + p % 3 if p < bends else n + p - bends


@inlined
def interface_motion(station, A, axes, root, its_axes, its, w, C, x, s):
    """Relative displacement and rotation of one interface, and their first and second rates; equations (16), (20),
    (21). Returns whether the rotation is below half a turn."""
    omega, alpha = root[OMEGA], root[ALPHA]
    at = 6 * (s - 1)
    for m in range(3):
        w[THETA, m], w[G, m], w[Y, m] = its[R, m] - root[R, m], its[RATE, m] - root[RATE, m], its[ACC, m] - root[ACC, m]
    rotate_back(axes, w[THETA], w[X])
    rotate_back(axes, w[G], w[DV])
    rotate_back(axes, w[Y], w[DA])
    # displacement: u, its rate dv - omega x x and its second rate
    cross(omega, w[X], w[TURNED])
    cross(omega, w[TURNED], w[G])
    cross(alpha, w[X], w[Y])
    for m in range(3):
        x[0, at + m] = w[X, m] - station[POINT + m]
        x[1, at + m] = w[DV, m] - w[TURNED, m]
        x[2, at + m] = w[DA, m] - w[Y, m] - w[G, m]
    cross(omega, x[1, at : at + 3], w[G])
    for m in range(3):
        x[2, at + m] -= 2.0 * w[G, m]
    # rotation: C = R^T R_P A^T
    for m in range(3):
        for o in range(3):
            C[m, o] = 0.0
            for k in range(3):
                C[m, o] += (
                    axes[0, m] * its_axes[0, k] + axes[1, m] * its_axes[1, k] + axes[2, m] * its_axes[2, k]
                ) * A[o, k]
    trace = 1.0 + C[0, 0] + C[1, 1] + C[2, 2]
    if not trace > LEAST_TRACE:
        return False
    for m in range(3):
        o, k = (m + 1) % 3, (m + 2) % 3
        w[THETA, m] = 2.0 * (C[k, o] - C[o, k]) / trace
    theta = w[THETA]
    rotate(A, its[OMEGA], w[Y])
    rotate_back(C, omega, w[TURNED])
    rotate_back(C, alpha, w[TURNED_ALPHA])
    for m in range(3):
        w[Y, m] -= w[TURNED, m]
    times_inverse(theta, w[Y], x[1, at + 3 : at + 6])
    cross(w[Y], w[TURNED], w[SCALARS])
    rotate(A, its[ALPHA], w[G])
    for m in range(3):
        w[G, m] += w[SCALARS, m] - w[TURNED_ALPHA, m]
    times_inverse(theta, w[G], x[2, at + 3 : at + 6])
    rest = 1.0 + 0.25 * dot(theta, theta)
    h = 0.5 * dot(theta, x[1, at + 3 : at + 6]) / rest
    for m in range(3):
        x[0, at + 3 + m] = theta[m]
        x[2, at + 3 + m] += h * x[1, at + 3 + m]
    w[SCALARS, 0], w[SCALARS, 1] = h, rest
    return True


@inlined
def times_inverse(theta, y, out):
    """out = B^-1 y = y + theta x y/2 + theta (theta . y)/4."""
    along = 0.25 * dot(theta, y)
    out[0] = y[0] + 0.5 * (theta[1] * y[2] - theta[2] * y[1]) + along * theta[0]
    out[1] = y[1] + 0.5 * (theta[2] * y[0] - theta[0] * y[2]) + along * theta[1]
    out[2] = y[2] + 0.5 * (theta[0] * y[1] - theta[1] * y[0]) + along * theta[2]


@inlined
def times_inverse_back(theta, f, out):
    """out = B^-T f = f - theta x f/2 + theta (theta . f)/4."""
    along = 0.25 * dot(theta, f)
    out[0] = f[0] - 0.5 * (theta[1] * f[2] - theta[2] * f[1]) + along * theta[0]
    out[1] = f[1] - 0.5 * (theta[2] * f[0] - theta[0] * f[2]) + along * theta[1]
    out[2] = f[2] - 0.5 * (theta[0] * f[1] - theta[1] * f[0]) + along * theta[2]
