"""Kernels of shell elements: natural strains, forces, tangents, inertia and energies of quadrilaterals and triangles.

Source: docs/theory/shell.md. An element has n corners, 4 or 3, and m strains: 15 or 9 natural ones and n of drilling.
Its vectors y (2 n, 3) are the corners x and then their directors d. Elements are in groups of LANES; arguments of
kernels:

    index (e, 2 n) int     index of the frames of the corners in q, then in v; a negative frame index i means row -1-i
                           of ``fixed`` in q and a fixed frame in v
    kind (g, 2)            the rows of the groups in stiff, and in the next four arrays
    stiff (k, m, m)        S
    shape (k, m)           natural strains of the reference shape, zeros for drilling
    corner (k, n, 13)      per corner, frame axes: offset b, director D, edges P and M to the next and the previous
                           corner, 1 / (2 |P x M|)
    mass (k, n n + 4)      A (n, n), rho_0, rho_1, rho_2, beta
    tension (k, t)         of walls that carry no compression: for each point of integration the membrane strains 11, 22
                           and 12 by the first 5 or 3 strains, and Young's modulus times thickness and area; then
                           Poisson's ratio. Zeros for others, (k, 0) where there is none: section 11
    heats (h, g, m)        strains without stress by the h inputs from ``first_input``; (0, 0, 0) where nothing heats
    own (g, m)             strains in place of those of the state in the geometric stiffness, nan for those of the state

"""

from typing import NamedTuple

import numpy as np

from femb.base.types import Floats, Ints
from femb.elements.shell.wrinkles import add_wrinkles
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.lanes import LANES, every, lanes
from femb.numerics.vector3 import dot, rotation

# Signs of the corners of a quadrilateral in the directions r and s, and their product.
R_SIGN = np.array([-1.0, 1.0, 1.0, -1.0])
S_SIGN = np.array([-1.0, -1.0, 1.0, 1.0])
D_SIGN = np.array([1.0, -1.0, 1.0, -1.0])
# Corners at the ends of the edges A, B, C, D: where they lead to, and where they begin.
EDGE_TO = np.array([2, 1, 2, 3])
EDGE_FROM = np.array([3, 0, 1, 0])
OFFSET, DIRECTOR, NEXT, LAST, SIZE = 0, 3, 6, 9, 12
# Rows of the combinations of corners and directors of a quadrilateral.
XR, XS, XD, DR, DS, DD, EDGE, MEAN = 0, 1, 2, 3, 4, 5, 6, 10
COMBINATIONS = 14


@inlined
def combine(n, y, c):
    """c (14, 3): the combinations of the vectors y (2 n, 3) whose products are the natural strains: equation (2)."""
    for k in range(3):
        if n == 4:
            for o in range(2):
                a, b, e, f = y[4 * o, k], y[4 * o + 1, k], y[4 * o + 2, k], y[4 * o + 3, k]
                c[3 * o, k] = 0.25 * (b - a + e - f)
                c[3 * o + 1, k] = 0.25 * (e - a - b + f)
                c[3 * o + 2, k] = 0.25 * (a - b + e - f)
            for m in range(4):
                i, j = EDGE_TO[m], EDGE_FROM[m]
                c[EDGE + m, k] = 0.5 * (y[i, k] - y[j, k])
                c[MEAN + m, k] = 0.5 * (y[4 + i, k] + y[4 + j, k])
        else:
            c[DR, k] = y[4, k] - y[3, k]
            c[DS, k] = y[5, k] - y[3, k]
            for m in range(3):
                i, j = (m + 1) % 3, m
                c[EDGE + m, k] = y[i, k] - y[j, k]
                c[MEAN + m, k] = 0.5 * (y[3 + i, k] + y[3 + j, k])
            c[XR, k] = c[EDGE, k]
            c[XS, k] = -c[EDGE + 2, k]


@inlined
def products(n, c, z, e):
    """e: the rates of the natural strains at the combinations c of corners where those of their rates are z.

    At z = c it is twice the strains of equation (3).
    """
    for m in range(n):
        e[m] = dot(c[EDGE + m], z[EDGE + m])
    if n == 4:
        e[4] = dot(c[XR], z[XS]) + dot(z[XR], c[XS])
    o = 5 if n == 4 else 3
    e[o] = dot(c[XR], z[DR]) + dot(z[XR], c[DR])
    e[o + 1] = dot(c[XS], z[DS]) + dot(z[XS], c[DS])
    e[o + 2] = dot(c[XR], z[DS]) + dot(z[XR], c[DS]) + dot(c[XS], z[DR]) + dot(z[XS], c[DR])
    if n == 4:
        e[8] = dot(c[XR], z[DD]) + dot(z[XR], c[DD]) + dot(c[XD], z[DR]) + dot(z[XD], c[DR])
        e[9] = dot(c[XS], z[DD]) + dot(z[XS], c[DD]) + dot(c[XD], z[DS]) + dot(z[XD], c[DS])
        e[10] = dot(c[XD], z[DD]) + dot(z[XD], c[DD])
    o = 11 if n == 4 else 6
    for m in range(n):
        e[o + m] = dot(c[EDGE + m], z[MEAN + m]) + dot(z[EDGE + m], c[MEAN + m])


@inlined
def gradient(n, c, g):
    """g (m - n, 2 n, 3): the derivatives of the natural strains by the vectors y; entries that are always zero are not
    set."""
    for k in range(3):
        if n == 4:
            for m in range(4):
                i, j = EDGE_TO[m], EDGE_FROM[m]
                a, b = 0.5 * c[EDGE + m, k], 0.5 * c[MEAN + m, k]
                g[m, i, k], g[m, j, k] = a, -a
                g[11 + m, i, k], g[11 + m, j, k] = b, -b
                g[11 + m, 4 + i, k], g[11 + m, 4 + j, k] = a, a
            xr, xs, xd = 0.25 * c[XR, k], 0.25 * c[XS, k], 0.25 * c[XD, k]
            dr, ds, dd = 0.25 * c[DR, k], 0.25 * c[DS, k], 0.25 * c[DD, k]
            for i in range(4):
                r, s, d = R_SIGN[i], S_SIGN[i], D_SIGN[i]
                g[4, i, k] = r * xs + s * xr
                g[5, i, k] = r * dr
                g[5, 4 + i, k] = r * xr
                g[6, i, k] = s * ds
                g[6, 4 + i, k] = s * xs
                g[7, i, k] = r * ds + s * dr
                g[7, 4 + i, k] = r * xs + s * xr
                g[8, i, k] = r * dd + d * dr
                g[8, 4 + i, k] = d * xr + r * xd
                g[9, i, k] = s * dd + d * ds
                g[9, 4 + i, k] = d * xs + s * xd
                g[10, i, k] = d * dd
                g[10, 4 + i, k] = d * xd
        else:
            for m in range(3):
                i, j = (m + 1) % 3, m
                a, b = c[EDGE + m, k], c[MEAN + m, k]
                g[m, i, k], g[m, j, k] = a, -a
                g[6 + m, i, k], g[6 + m, j, k] = b, -b
                g[6 + m, 3 + i, k], g[6 + m, 3 + j, k] = 0.5 * a, 0.5 * a
            xr, xs, dr, ds = c[XR, k], c[XS, k], c[DR, k], c[DS, k]
            g[3, 0, k], g[3, 1, k], g[3, 3, k], g[3, 4, k] = -dr, dr, -xr, xr
            g[4, 0, k], g[4, 2, k], g[4, 3, k], g[4, 5, k] = -ds, ds, -xs, xs
            g[5, 0, k], g[5, 1, k], g[5, 2, k] = -dr - ds, ds, dr
            g[5, 3, k], g[5, 4, k], g[5, 5, k] = -xr - xs, xs, xr


@inlined
def weights(n, s, xx, xd):
    """The matrix W of equation (12) for the stresses s: between corners xx (n, n), and corners and directors xd."""
    for i in range(n):
        for j in range(n):
            xx[i, j] = 0.0 * s[0]
    if n == 4:
        for i in range(4):
            ri, si, di = R_SIGN[i], S_SIGN[i], D_SIGN[i]
            a = 0.0625 * (ri * s[5] + si * s[7] + di * s[8])
            b = 0.0625 * (si * s[6] + ri * s[7] + di * s[9])
            d = 0.0625 * (ri * s[8] + si * s[9] + di * s[10])
            for j in range(4):
                xx[i, j] = (0.0625 * (ri * S_SIGN[j] + si * R_SIGN[j])) * s[4]
                xd[i, j] = R_SIGN[j] * a + S_SIGN[j] * b + D_SIGN[j] * d
    else:
        xd[1, 1], xd[1, 2], xd[2, 1], xd[2, 2] = s[3], s[5], s[5], s[4]
        xd[0, 1], xd[0, 2] = -s[3] - s[5], -s[5] - s[4]
        for j in range(3):
            if j > 0:
                xd[j, 0] = -xd[j, 1] - xd[j, 2]
        xd[0, 0] = -xd[0, 1] - xd[0, 2]
    half = 0.25 if n == 4 else 0.5
    o = 11 if n == 4 else 6
    for m in range(n):
        i = EDGE_TO[m] if n == 4 else (m + 1) % 3
        j = EDGE_FROM[m] if n == 4 else m
        a, b = (0.25 if n == 4 else 1.0) * s[m], half * s[o + m]
        xx[i, i] += a
        xx[j, j] += a
        xx[i, j] -= a
        xx[j, i] -= a
        xd[i, i] += b
        xd[i, j] += b
        xd[j, i] -= b
        xd[j, j] -= b


@inlined
def turned(R, c, out):
    """out (3,) = R c of lanes."""
    for i in range(3):
        out[i] = R[i, 0] * c[0] + R[i, 1] * c[1] + R[i, 2] * c[2]


@inlined
def add_torque(R, lever, force, out):
    """out (3,) += lever x R^T force."""
    f0 = R[0, 0] * force[0] + R[1, 0] * force[1] + R[2, 0] * force[2]
    f1 = R[0, 1] * force[0] + R[1, 1] * force[1] + R[2, 1] * force[2]
    f2 = R[0, 2] * force[0] + R[1, 2] * force[1] + R[2, 2] * force[2]
    out[0] += lever[1] * f2 - lever[2] * f1
    out[1] += lever[2] * f0 - lever[0] * f2
    out[2] += lever[0] * f1 - lever[1] * f0


@inlined
def gather(n, index, first, q, fixed, poses):
    """poses (n, 7, LANES) of the frames of the elements from ``first``; the last one fills the lanes left over."""
    for m in range(LANES):
        row = min(first + m, index.shape[0] - 1)
        for e in range(n):
            j = index[row, e]
            for i in range(7):
                poses[e, i, m] = q[j + i] if j >= 0 else fixed[-1 - j, i]


@inlined
def gather_rates(n, index, first, v, rates):
    """rates (n, 6, LANES) of the same frames."""
    for m in range(LANES):
        row = min(first + m, index.shape[0] - 1)
        for e in range(n):
            j = index[row, n + e]
            for i in range(6):
                rates[e, i, m] = v[j + i] if j >= 0 else 0.0


@inlined
def place(n, poses, corner, R, y, edges):
    """Axes R (n, 3, 3) of the frames, vectors y (2 n, 3), and edges (2 n, 3), R P and R M of the corners: (1)."""
    for i in range(n):
        rotation(poses[i, 3:7], R[i])
        turned(R[i], corner[i, OFFSET:DIRECTOR], y[i])
        for k in range(3):
            y[i, k] += poses[i, k]
        turned(R[i], corner[i, DIRECTOR:NEXT], y[n + i])
        turned(R[i], corner[i, NEXT:LAST], edges[i])
        turned(R[i], corner[i, LAST:SIZE], edges[n + i])


@inlined
def spun(w, c, out):
    """out (3,) = w x c."""
    out[0] = w[1] * c[2] - w[2] * c[1]
    out[1] = w[2] * c[0] - w[0] * c[2]
    out[2] = w[0] * c[1] - w[1] * c[0]


@inlined
def place_rates(n, rates, corner, R, work, y, edges):
    """y (2 n, 3), edges (2 n, 3): the rates of those of ``place``."""
    for i in range(n):
        w = rates[i, 3:6]
        spun(w, corner[i, OFFSET:DIRECTOR], work)
        turned(R[i], work, y[i])
        for k in range(3):
            y[i, k] += rates[i, k]
        spun(w, corner[i, DIRECTOR:NEXT], work)
        turned(R[i], work, y[n + i])
        spun(w, corner[i, NEXT:LAST], work)
        turned(R[i], work, edges[i])
        spun(w, corner[i, LAST:SIZE], work)
        turned(R[i], work, edges[n + i])


@inlined
def drilling(n, corner, y, edges, z, turning, e):
    """e (n,): the rates of the drilling strains, equation (6), where those of y and edges are z and turning.

    At their own values it is twice the strains.
    """
    for i in range(n):
        after, before = (i + 1) % n, (i + n - 1) % n
        total = 0.0 * y[0, 0]
        for k in range(3):
            total += (y[after, k] - y[i, k]) * turning[n + i, k] + (z[after, k] - z[i, k]) * edges[n + i, k]
            total -= (y[before, k] - y[i, k]) * turning[i, k] + (z[before, k] - z[i, k]) * edges[i, k]
        e[i] = corner[i, SIZE] * total


@inlined
def strains(n, corner, shape, y, edges, c, e):
    """e (m,): natural strains less those of the reference shape, and drilling strains."""
    combine(n, y, c)
    products(n, c, c, e)
    o = shape.size - n
    drilling(n, corner, y, edges, y, edges, e[o:])
    for k in range(shape.size):
        e[k] = 0.5 * e[k] - shape[k]


@inlined
def free_strains(heats, first_input, u, g, shape, e):
    """e (m,): strains without stress of group g by the inputs u."""
    for k in range(e.size):
        e[k] = 0.0 * shape[0]
    for h in range(heats.shape[0]):
        by = lanes(heats[h, g])
        for k in range(e.size):
            e[k] += u[first_input + h] * by[k]


@inlined
def stresses(stiff, e, s):
    """s (m,) = S e."""
    for i in range(e.size):
        total = 0.0 * e[0]
        for j in range(e.size):
            total += stiff[i, j] * e[j]
        s[i] = total


@inlined
def vector_forces(n, s, corner, y, edges, xx, xd, fx, turns):
    """fx (2 n, 3): forces on the vectors y of the stresses s; turns (2 n, 3): those on the edges R P and R M."""
    weights(n, s, xx, xd)
    o = s.size - n
    for i in range(n):
        for k in range(3):
            a, b = 0.0 * s[0], 0.0 * s[0]
            for j in range(n):
                a += xx[i, j] * y[j, k] + xd[i, j] * y[n + j, k]
                b += xd[j, i] * y[j, k]
            fx[i, k], fx[n + i, k] = a, b
    for i in range(n):
        after, before = (i + 1) % n, (i + n - 1) % n
        factor = s[o + i] * corner[i, SIZE]
        for k in range(3):
            p, m = factor * edges[n + i, k], factor * edges[i, k]
            fx[after, k] += p
            fx[before, k] -= m
            fx[i, k] += m - p
            turns[i, k] = -factor * (y[before, k] - y[i, k])
            turns[n + i, k] = factor * (y[after, k] - y[i, k])


@inlined
def add_frame_forces(n, corner, R, fx, turns, f):
    """f (6 n,) += the forces of ``vector_forces`` on the frames: equation (11)."""
    for i in range(n):
        for k in range(3):
            f[6 * i + k] += fx[i, k]
        torque = f[6 * i + 3 : 6 * i + 6]
        add_torque(R[i], corner[i, OFFSET:DIRECTOR], fx[i], torque)
        add_torque(R[i], corner[i, DIRECTOR:NEXT], fx[n + i], torque)
        add_torque(R[i], corner[i, NEXT:LAST], turns[i], torque)
        add_torque(R[i], corner[i, LAST:SIZE], turns[n + i], torque)


@inlined
def turn_rate(w, a, c, out):
    """out (3,) = a x c + w x (w x c): equation (17)."""
    wc = w[0] * c[0] + w[1] * c[1] + w[2] * c[2]
    ww = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    out[0] = a[1] * c[2] - a[2] * c[1] + w[0] * wc - c[0] * ww
    out[1] = a[2] * c[0] - a[0] * c[2] + w[1] * wc - c[1] * ww
    out[2] = a[0] * c[1] - a[1] * c[0] + w[2] * wc - c[2] * ww


@inlined
def inertia_forces(rates, seconds, corner, mass, gravity, R, y):
    """y (6, 2 n, 3): in row 5 forces of inertia and weight on the vectors; in row 4 their accelerations, in row 3 the
    same in frame axes."""
    n, u, ydd, phi = R.shape[0], y[3], y[4], y[5]
    for i in range(n):
        w, a = rates[i, 3:6], seconds[i, 3:6]
        turn_rate(w, a, corner[i, OFFSET:DIRECTOR], u[i])
        turn_rate(w, a, corner[i, DIRECTOR:NEXT], u[n + i])
        turned(R[i], u[i], ydd[i])
        turned(R[i], u[n + i], ydd[n + i])
        for k in range(3):
            ydd[i, k] += seconds[i, k] - gravity[k]
    weigh(n, mass, ydd, phi)


@inlined
def weigh(n, mass, y, out):
    """out (2 n, 3): the mass matrix of the vectors times y (2 n, 3): equation (16)."""
    r0, r1, r2 = mass[n * n], mass[n * n + 1], mass[n * n + 2]
    for i in range(n):
        for k in range(3):
            a, b = 0.0 * r0, 0.0 * r0
            for j in range(n):
                h = mass[n * i + j]
                a += h * (r0 * y[j, k] + r1 * y[n + j, k])
                b += h * (r1 * y[j, k] + r2 * y[n + j, k])
            out[i, k], out[n + i, k] = a, b


@inlined
def add_inertia(n, rates, seconds, corner, mass, R, phi, f):
    """f (6 n,) += the forces phi on the vectors, and the torques of drilling."""
    for i in range(n):
        w, a, D = rates[i, 3:6], seconds[i, 3:6], corner[i, DIRECTOR:NEXT]
        for k in range(3):
            f[6 * i + k] += phi[i, k]
        torque = f[6 * i + 3 : 6 * i + 6]
        add_torque(R[i], corner[i, OFFSET:DIRECTOR], phi[i], torque)
        add_torque(R[i], D, phi[n + i], torque)
        J = drilling_inertia(n, mass, i)
        Da, Dw = J * dot(D, a), J * dot(D, w)
        torque[0] += D[0] * Da + (w[1] * D[2] - w[2] * D[1]) * Dw
        torque[1] += D[1] * Da + (w[2] * D[0] - w[0] * D[2]) * Dw
        torque[2] += D[2] * Da + (w[0] * D[1] - w[1] * D[0]) * Dw


@inlined
def drilling_inertia(n, mass, i):
    """J of corner i: equation (16)."""
    total = mass[n * i]
    for j in range(1, n):
        total += mass[n * i + j]
    # about the middle of the mass: an offset has no inertia about the normal; of a wall without mass, zero
    r0, r1, r2 = mass[n * n], mass[n * n + 1], mass[n * n + 2]
    return total * (r2 - r1 * r1 / (r0 + 1e-300))


class Elements(NamedTuple):
    """Elements with n corners, as kernels take them: the arrays above; places is index."""

    places: Ints
    kind: Ints
    stiff: Floats
    shape: Floats
    corner: Floats
    mass: Floats
    tension: Floats
    heats: Floats
    first_input: int
    fixed: Floats
    gravity: Floats


@kernel_with_entry
def forces(of, u, q, v, a, factors, out, rows):
    """out (s, n_v) += the residual of all elements at s states: equations (11), (16) and (17).

    factors (3,) or (4,) : of inertia, elastic forces, damping and, where there are heats, of what these change. rows
    (e, s, 6 n) : unless it is empty, it is set to what is otherwise added to out.
    """
    index, kind, tension, n, m = of.places, of.kind, of.tension, of.corner.shape[1], of.shape.shape[1]
    poses, rates = np.empty((n, 7, LANES)), np.empty((2, n, 6, LANES))
    R, y = lanes(np.empty((n, 3, 3, LANES))), lanes(np.empty((6, 2 * n, 3, LANES)))
    ends, c, e = (
        lanes(np.empty((3, 2 * n, 3, LANES))),
        lanes(np.empty((2, COMBINATIONS, 3, LANES))),
        lanes(np.empty((6, m, LANES))),
    )
    inertial, elastic, damped = factors[0] != 0.0, factors[1], factors[2]
    heated = factors[3] if of.heats.shape[0] > 0 else elastic
    xx, xd = lanes(np.empty((n, n, LANES))), lanes(np.empty((n, n, LANES)))
    work, f = lanes(np.empty((3, LANES))), np.empty((6 * n, LANES))
    change, wrinkles = lanes(np.empty((9, LANES))), tension.shape[1] > 0
    for g in range(kind.shape[0]):
        first, row = g * LANES, kind[g, 1]
        count = min(LANES, index.shape[0] - first)
        S, e0, corners, h = (
            lanes(of.stiff[kind[g, 0]]),
            lanes(of.shape[row]),
            lanes(of.corner[row]),
            lanes(of.mass[row]),
        )
        beta = h[n * n + 3]
        for s in range(q.shape[0]):
            gather(n, index, first, q[s], of.fixed, poses)
            f[:] = 0.0
            force, w, acc = lanes(f), lanes(rates[0]), lanes(rates[1])
            place(n, lanes(poses), corners, R, y[0], ends[0])
            damps = damped != 0.0 and not every(beta == 0.0)
            if damps or inertial:
                gather_rates(n, index, first, v[s], rates[0])
            if damps or elastic != 0.0 or heated != 0.0:
                strains(n, corners, e0, y[0], ends[0], c[0], e[4])
                free_strains(of.heats, of.first_input, u[s], g, e0, e[3])
                for k in range(m):
                    e[0, k] = elastic * e[4, k] - heated * e[3, k]
                if damps:
                    place_rates(n, w, corners, R, work, y[1], ends[1])
                    combine(n, y[1], c[1])
                    products(n, c[0], c[1], e[1])
                    drilling(n, corners, y[0], ends[0], y[1], ends[1], e[1, m - n :])
                    for k in range(m):
                        e[0, k] += damped * beta * e[1, k]
                stresses(S, e[0], e[2])
                # wrinkles are not linear in the strains: those of the heated elements, and those without heat
                for cold in range(2):
                    part = elastic - heated if cold else heated
                    if wrinkles and part != 0.0:
                        for k in range(m):
                            e[5, k], e[1, k] = e[4, k] - (1 - cold) * e[3, k], 0.0 * e0[0]
                        add_wrinkles(n, lanes(tension[row]), e[5], change, e[1])
                        for k in range(m):
                            e[2, k] += part * e[1, k]
                vector_forces(n, e[2], corners, y[0], ends[0], xx, xd, y[2], ends[2])
                add_frame_forces(n, corners, R, y[2], ends[2], force)
            if inertial:
                gather_rates(n, index, first, a[s], rates[1])
                inertia_forces(w, acc, corners, h, of.gravity, R, y)
                add_inertia(n, w, acc, corners, h, R, y[5], force)
            for lane in range(count):
                k = first + lane
                for i in range(n):
                    j = index[k, n + i]
                    if rows.size:
                        for o in range(6):
                            rows[k, s, 6 * i + o] = f[6 * i + o, lane]
                    elif j >= 0:
                        for o in range(6):
                            out[s, j + o] += f[6 * i + o, lane]


@kernel
def changed_strains(index, kind, shape, corner, q, fixed, x, out):
    """out (s, g, m, LANES): strains at s states, changed to first order by displacements x (s, n_v): equation (15)."""
    n, m = corner.shape[1], shape.shape[1]
    poses, rates = np.empty((n, 7, LANES)), np.empty((n, 6, LANES))
    R, y, ends = (
        lanes(np.empty((n, 3, 3, LANES))),
        lanes(np.empty((2, 2 * n, 3, LANES))),
        lanes(np.empty((2, 2 * n, 3, LANES))),
    )
    c, e, work = lanes(np.empty((2, COMBINATIONS, 3, LANES))), lanes(np.empty((m, LANES))), lanes(np.empty((3, LANES)))
    for g in range(kind.shape[0]):
        corners, e0 = lanes(corner[kind[g, 1]]), lanes(shape[kind[g, 1]])
        for s in range(q.shape[0]):
            found = lanes(out[s, g])
            gather(n, index, g * LANES, q[s], fixed, poses)
            gather_rates(n, index, g * LANES, x[s], rates)
            place(n, lanes(poses), corners, R, y[0], ends[0])
            strains(n, corners, e0, y[0], ends[0], c[0], found)
            place_rates(n, lanes(rates), corners, R, work, y[1], ends[1])
            combine(n, y[1], c[1])
            products(n, c[0], c[1], e)
            drilling(n, corners, y[0], ends[0], y[1], ends[1], e[m - n :])
            for k in range(m):
                found[k] += e[k]


@kernel
def energy_momentum(of, q, v, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the origin: (10), (16)."""
    index, kind, tension, n, m = of.places, of.kind, of.tension, of.corner.shape[1], of.shape.shape[1]
    poses, rates, sums = np.empty((n, 7, LANES)), np.empty((n, 6, LANES)), np.empty((8, LANES))
    R, y, ends = (
        lanes(np.empty((n, 3, 3, LANES))),
        lanes(np.empty((4, 2 * n, 3, LANES))),
        lanes(np.empty((2, 2 * n, 3, LANES))),
    )
    c, e, work = (
        lanes(np.empty((COMBINATIONS, 3, LANES))),
        lanes(np.empty((2, m, LANES))),
        lanes(np.empty((2, 3, LANES))),
    )
    total, change = lanes(sums), lanes(np.empty((9, LANES)))
    for g in range(kind.shape[0]):
        row = kind[g, 1]
        S, e0, corners, h = (
            lanes(of.stiff[kind[g, 0]]),
            lanes(of.shape[row]),
            lanes(of.corner[row]),
            lanes(of.mass[row]),
        )
        for s in range(q.shape[0]):
            gather(n, index, g * LANES, q[s], of.fixed, poses)
            gather_rates(n, index, g * LANES, v[s], rates)
            w = lanes(rates)
            place(n, lanes(poses), corners, R, y[0], ends[0])
            place_rates(n, w, corners, R, work[0], y[1], ends[1])
            strains(n, corners, e0, y[0], ends[0], c, e[0])
            stresses(S, e[0], e[1])
            sums[:] = 0.0
            for k in range(m):
                total[1] += 0.5 * e[0, k] * e[1, k]
            if tension.shape[1] > 0:
                total[1] += add_wrinkles(n, lanes(tension[row]), e[0], change, e[1])
            weigh(n, h, y[1], y[2])
            for i in range(n):
                for k in range(3):
                    y[3, i, k], y[3, n + i, k] = of.gravity[k] + 0.0 * total[0], 0.0 * total[0]
            for i in range(2 * n):
                x, p = y[0, i], y[2, i]
                total[0] += 0.5 * dot(p, y[1, i])
                total[5] += x[1] * p[2] - x[2] * p[1]
                total[6] += x[2] * p[0] - x[0] * p[2]
                total[7] += x[0] * p[1] - x[1] * p[0]
            for i in range(n):
                for k in range(3):
                    total[2 + k] += y[2, i, k]
            weigh(n, h, y[3], y[2])
            for i in range(2 * n):
                total[1] -= dot(y[0, i], y[2, i])
            for i in range(n):
                D = corners[i, DIRECTOR:NEXT]
                Dw = drilling_inertia(n, h, i) * dot(D, w[i, 3:6])
                total[0] += 0.5 * Dw * dot(D, w[i, 3:6])
                for k in range(3):
                    total[5 + k] += Dw * y[0, n + i, k]
            for lane in range(min(LANES, index.shape[0] - g * LANES)):
                for i in range(8):
                    out[s, i] += sums[i, lane]
