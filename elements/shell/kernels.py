"""Kernels of shell elements: natural strains, forces, tangents, inertia and energies of quadrilaterals and triangles.

Source: docs/theory/shell.md. An element has n corners, 4 or 3, and m strains: 15 or 9 natural ones and n of drilling.
Its vectors y (2 n, 3) are the corners x and then their directors d. Elements are in groups of LANES; arguments of
kernels:

    index (e, 2 n) int     index of the frames of the corners in q, then in v; a negative frame index i means row -1-i
                           of ``fixed`` in q and a fixed frame in v
    kind (g,)              the row of the groups in the next four arrays
    stiff (k, m, m)        S
    shape (k, m)           natural strains of the reference shape, zeros for drilling
    corner (k, n, 13)      per corner, frame axes: offset b, director D, edges P and M to the next and the previous
                           corner, 1 / (2 |P x M|)
    mass (k, n n + 4)      A (n, n), rho_0, rho_1, rho_2, beta
    tension (k, t)         of walls that carry no compression: for each point of integration the membrane strains 11, 22
                           and 12 by the first 5 or 3 strains, and Young's modulus times thickness and area; then
                           Poisson's ratio. Zeros for others, (k, 0) where there is none: section 11
    free (s, g, m)         strains without stress, or an empty array for none
    own (g, m)             strains in place of those of the state in the geometric stiffness, nan for those of the state

"""

import math

import numpy as np

from femb.elements.shell.stiffness import LEAST_STRAIN
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.lanes import LANES, choose, every, lanes
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
def stresses(stiff, e, s):
    """s (m,) = S e."""
    for i in range(e.size):
        total = 0.0 * e[0]
        for j in range(e.size):
            total += stiff[i, j] * e[j]
        s[i] = total


@inlined
def wrinkle(count, strains, Y, nu, e, change):
    """change (9,): what wrinkling adds at a point, where membrane strains are ``strains`` (3 count,) times e, to the
    membrane forces 11, 22, 12 and to their derivatives by the strains 11, 12, 22 and 66 in principal axes; and the
    cosine and sine of twice the angle of these. Returns what it adds to the energy. Source: section 11.
    """
    a, b, c = 0.0 * Y, 0.0 * Y, 0.0 * Y
    for k in range(count):
        a += strains[k] * e[k]
        b += strains[count + k] * e[k]
        c += strains[2 * count + k] * e[k]
    half, zero = 0.5 * (a - b), 0.0 * Y
    radius = math.sqrt(half * half + 0.25 * c * c)
    first, second = 0.5 * (a + b) + radius, 0.5 * (a + b) - radius
    safe = choose(radius > 0.0, radius, 1.0 + zero)
    cosine, sine = half / safe, 0.5 * c / safe
    plane = Y / (1.0 - nu * nu)
    taut = second + nu * first >= -LEAST_STRAIN
    along = choose(first > 0.0, Y, zero)
    of_first = along * first - plane * (first + nu * second)
    of_second = -plane * (second + nu * first)
    mean, part = 0.5 * (of_first + of_second), 0.5 * (of_first - of_second)
    change[0] = choose(taut, zero, mean + part * cosine)
    change[1] = choose(taut, zero, mean - part * cosine)
    change[2] = choose(taut, zero, part * sine)
    change[3] = choose(taut, zero, along - plane)
    change[4] = choose(taut, zero, -plane * nu)
    change[5] = choose(taut, zero, -plane)
    change[6] = choose(taut, zero, 0.25 * along * first / safe - 0.5 * Y / (1.0 + nu))
    change[7], change[8] = cosine, sine
    return choose(taut, zero, 0.5 * (of_first * first + of_second * second))


@inlined
def add_wrinkles(n, tension, e, change, s):
    """s (m,) += what wrinkling adds to the stresses at strains e; returns what it adds to the energy."""
    count, total = 5 if n == 4 else 3, 0.0 * e[0]
    size = 3 * count + 1
    for o in range(0, tension.size - 1, size):
        total += wrinkle(count, tension[o : o + size - 1], tension[o + size - 1], tension[tension.size - 1], e, change)
        for k in range(count):
            for i in range(3):
                s[k] += tension[o + count * i + k] * change[i]
    return total


@inlined
def add_wrinkle_stiffness(n, tension, e, change, B, rows, K):
    """K (6 n, 6 n) += what wrinkling adds to the stiffness at strains e; rows (6, 6 n) : strains and forces at a
    point by the motion."""
    count = 5 if n == 4 else 3
    size = 3 * count + 1
    for o in range(0, tension.size - 1, size):
        wrinkle(count, tension[o : o + size - 1], tension[o + size - 1], tension[tension.size - 1], e, change)
        if every(change[5] == 0.0):
            continue
        cosine, sine = change[7], change[8]
        for i in range(6 * n):
            for r in range(3):
                total = 0.0 * cosine
                for k in range(count):
                    total += tension[o + count * r + k] * B[k, i]
                rows[3 + r, i] = total
            a, b, c = rows[3, i], rows[4, i], rows[5, i]
            mean, part = 0.5 * (a + b), 0.5 * (a - b) * cosine + 0.5 * c * sine
            rows[0, i], rows[1, i], rows[2, i] = mean + part, mean - part, c * cosine - (a - b) * sine
            rows[3, i] = change[3] * rows[0, i] + change[4] * rows[1, i]
            rows[4, i] = change[4] * rows[0, i] + change[5] * rows[1, i]
            rows[5, i] = change[6] * rows[2, i]
        for i in range(6 * n):
            for j in range(6 * n):
                K[i, j] += rows[0, i] * rows[3, j] + rows[1, i] * rows[4, j] + rows[2, i] * rows[5, j]


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
def inertia_forces(n, rates, seconds, corner, mass, gravity, R, work, u, ydd, phi):
    """phi (2 n, 3): forces of inertia and weight on the vectors; ydd, their accelerations, u the same in frame axes."""
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
    return total * mass[n * n + 2]


@kernel_with_entry
def forces(
    index, kind, stiff, shape, corner, mass, tension, free, q, v, a, fixed, gravity, elastic, damped, inertial, sign,
    out, rows,
):  # fmt: skip
    """out (s, n_v) += sign times the residual of all elements at s states: equations (11), (16) and (17).

    rows (e, s, 6 n) : unless it is empty, it is set to
    what is otherwise added to out.
    """
    n, m = corner.shape[1], shape.shape[1]
    poses, rates = np.empty((n, 7, LANES)), np.empty((2, n, 6, LANES))
    R, y = lanes(np.empty((n, 3, 3, LANES))), lanes(np.empty((6, 2 * n, 3, LANES)))
    ends, c, e = (
        lanes(np.empty((3, 2 * n, 3, LANES))),
        lanes(np.empty((2, COMBINATIONS, 3, LANES))),
        lanes(np.empty((4, m, LANES))),
    )
    xx, xd = lanes(np.empty((n, n, LANES))), lanes(np.empty((n, n, LANES)))
    work, f = lanes(np.empty((3, LANES))), np.empty((6 * n, LANES))
    change, wrinkles = lanes(np.empty((9, LANES))), tension.shape[1] > 0
    for g in range(kind.shape[0]):
        first, row = g * LANES, kind[g]
        count = min(LANES, index.shape[0] - first)
        S, e0, corners, h = lanes(stiff[row]), lanes(shape[row]), lanes(corner[row]), lanes(mass[row])
        beta = h[n * n + 3]
        for s in range(q.shape[0]):
            gather(n, index, first, q[s], fixed, poses)
            f[:] = 0.0
            force, w, acc = lanes(f), lanes(rates[0]), lanes(rates[1])
            place(n, lanes(poses), corners, R, y[0], ends[0])
            damps = damped and not every(beta == 0.0)
            if damps or inertial:
                gather_rates(n, index, first, v[s], rates[0])
            if damps or elastic:
                strains(n, corners, e0, y[0], ends[0], c[0], e[0])
                if elastic and free.size:
                    heat = lanes(free[s, g])
                    for k in range(m):
                        e[0, k] -= heat[k]
                if elastic and wrinkles:
                    for k in range(m):
                        e[3, k] = 0.0 * e0[0]
                    add_wrinkles(n, lanes(tension[row]), e[0], change, e[3])
                if not elastic:
                    for k in range(m):
                        e[0, k] = 0.0 * e0[0]
                if damps:
                    place_rates(n, w, corners, R, work, y[1], ends[1])
                    combine(n, y[1], c[1])
                    products(n, c[0], c[1], e[1])
                    drilling(n, corners, y[0], ends[0], y[1], ends[1], e[1, m - n :])
                    for k in range(m):
                        e[0, k] += beta * e[1, k]
                stresses(S, e[0], e[2])
                if elastic and wrinkles:
                    for k in range(m):
                        e[2, k] += e[3, k]
                vector_forces(n, e[2], corners, y[0], ends[0], xx, xd, y[2], ends[2])
                add_frame_forces(n, corners, R, y[2], ends[2], force)
            if inertial:
                gather_rates(n, index, first, a[s], rates[1])
                inertia_forces(n, w, acc, corners, h, gravity, R, work, y[3], y[4], y[5])
                add_inertia(n, w, acc, corners, h, R, y[5], force)
            for lane in range(count):
                k = first + lane
                for i in range(n):
                    j = index[k, n + i]
                    if rows.size:
                        for o in range(6):
                            rows[k, s, 6 * i + o] = sign * f[6 * i + o, lane]
                    elif j >= 0:
                        for o in range(6):
                            out[s, j + o] += sign * f[6 * i + o, lane]


@inlined
def motion_rows(n, translates, levers, corner, R, g, y, edges, work, B):
    """B (m, 6 n) += derivatives of strains by the motion of the frames, of their gradients g by the vectors: (11).

    levers (n, 12 or more) : the vectors of the corners in frame axes. y, edges : the vectors of which the drilling
    strains are products. translates : whether frames translate, or only turn.
    """
    natural = g.shape[0]
    for i in range(n):
        b, D = levers[i, OFFSET:DIRECTOR], levers[i, DIRECTOR:NEXT]
        for k in range(natural):
            if translates:
                for o in range(3):
                    B[k, 6 * i + o] += g[k, i, o]
            row = B[k, 6 * i + 3 : 6 * i + 6]
            add_torque(R[i], b, g[k, i], row)
            add_torque(R[i], D, g[k, n + i], row)
    for i in range(n):
        row, factor = B[natural + i], corner[i, SIZE]
        for part in range(3):
            a = (i + part) % n if part < 2 else (i + n - 1) % n
            for o in range(3):
                p, m = factor * edges[n + i, o], factor * edges[i, o]
                work[o] = m - p if part == 0 else (p if part == 1 else -m)
                if translates:
                    row[6 * a + o] += work[o]
            add_torque(R[a], levers[a, OFFSET:DIRECTOR], work, row[6 * a + 3 : 6 * a + 6])
        after, before = (i + 1) % n, (i + n - 1) % n
        for o in range(3):
            work[o] = factor * (y[after, o] - y[i, o])
        add_torque(R[i], levers[i, LAST:SIZE], work, row[6 * i + 3 : 6 * i + 6])
        for o in range(3):
            work[o] = -factor * (y[before, o] - y[i, o])
        add_torque(R[i], levers[i, NEXT:LAST], work, row[6 * i + 3 : 6 * i + 6])


@inlined
def stiffness_products(n, stiff, B, SB, K):
    """SB (m, 6 n) = S B and K (6 n, 6 n) = B^T S B."""
    size = stiff.shape[0]
    for k in range(size):
        for i in range(n):
            o = 6 * i
            a = 0.0 * stiff[0, 0]
            x0, x1, x2, x3, x4, x5 = a, a, a, a, a, a
            for m in range(size):
                s = stiff[k, m]
                x0 += s * B[m, o]
                x1 += s * B[m, o + 1]
                x2 += s * B[m, o + 2]
                x3 += s * B[m, o + 3]
                x4 += s * B[m, o + 4]
                x5 += s * B[m, o + 5]
            SB[k, o], SB[k, o + 1], SB[k, o + 2] = x0, x1, x2
            SB[k, o + 3], SB[k, o + 4], SB[k, o + 5] = x3, x4, x5
    for i in range(n):
        for row in range(6 * i, 6 * i + 6):
            for j in range(i, n):
                block_row(6 * j, size, B, row, SB, K)
        for row in range(6 * i, 6 * i + 6):
            for column in range(6 * i + 6, 6 * n):
                K[column, row] = K[row, column]


@inlined
def block_row(o, size, left, row, right, K):
    """Six entries of row ``row`` of K = left^T right, from column o."""
    a = 0.0 * right[0, 0]
    x0, x1, x2, x3, x4, x5 = a, a, a, a, a, a
    for m in range(size):
        s = left[m, row]
        x0 += s * right[m, o]
        x1 += s * right[m, o + 1]
        x2 += s * right[m, o + 2]
        x3 += s * right[m, o + 3]
        x4 += s * right[m, o + 4]
        x5 += s * right[m, o + 5]
    K[row, o], K[row, o + 1], K[row, o + 2] = x0, x1, x2
    K[row, o + 3], K[row, o + 4], K[row, o + 5] = x3, x4, x5


@inlined
def skews(n, levers, R, L):
    """L (2 n, 3, 3) = R c~ of the offsets c and then of the directors."""
    for i in range(n):
        for part in range(2):
            o = DIRECTOR * part
            x, y, z = levers[i, o], levers[i, o + 1], levers[i, o + 2]
            out = L[n * part + i]
            for k in range(3):
                a, b, c = R[i, k, 0], R[i, k, 1], R[i, k, 2]
                out[k, 0], out[k, 1], out[k, 2] = b * z - c * y, c * x - a * z, a * y - b * x


@inlined
def add_turns(n, xx, xd, dd, L, right, work, K):
    """K (6 n, 6 n) += what the changes ``right`` (2 n, 3, 3) of the vectors by the turns of their frames give, for the
    weights xx, xd, dd (n, n) between vectors: columns of turns. L : of ``skews``."""
    for j in range(n):
        for i in range(n):
            a, b, c, d = xx[i, j], xd[i, j], xd[j, i], dd[i, j]
            for k in range(3):
                for o in range(3):
                    x, y = right[j, k, o], right[n + j, k, o]
                    work[0, k, o] = a * x + b * y
                    work[1, k, o] = c * x + d * y
                    K[6 * i + k, 6 * j + 3 + o] += work[0, k, o]
            for k in range(3):
                l0, l1, l2 = L[i, 0, k], L[i, 1, k], L[i, 2, k]
                m0, m1, m2 = L[n + i, 0, k], L[n + i, 1, k], L[n + i, 2, k]
                for o in range(3):
                    K[6 * i + 3 + k, 6 * j + 3 + o] -= (
                        l0 * work[0, 0, o] + l1 * work[0, 1, o] + l2 * work[0, 2, o]
                        + m0 * work[1, 0, o] + m1 * work[1, 1, o] + m2 * work[1, 2, o]
                    )  # fmt: skip


@inlined
def add_weights(n, xx, xd, L, K):
    """K (6 n, 6 n) += the columns of translations for the same weights."""
    for i in range(n):
        for j in range(n):
            a, c = xx[i, j], xd[j, i]
            for k in range(3):
                K[6 * i + k, 6 * j + k] += a
                for o in range(3):
                    K[6 * i + 3 + k, 6 * j + o] -= a * L[i, o, k] + c * L[n + i, o, k]


@inlined
def negative(n, L, out):
    """out = -L (2 n, 3, 3)."""
    for i in range(2 * n):
        for k in range(3):
            for o in range(3):
                out[i, k, o] = -L[i, k, o]


@inlined
def add_node(R, force, lever, at, K):
    """K at (at, at) += pi c^T - (c . pi) 1, with pi = R^T force and c = lever: equation (14)."""
    p0 = R[0, 0] * force[0] + R[1, 0] * force[1] + R[2, 0] * force[2]
    p1 = R[0, 1] * force[0] + R[1, 1] * force[1] + R[2, 1] * force[2]
    p2 = R[0, 2] * force[0] + R[1, 2] * force[1] + R[2, 2] * force[2]
    along = lever[0] * p0 + lever[1] * p1 + lever[2] * p2
    for o in range(3):
        K[at, at + o] += p0 * lever[o]
        K[at + 1, at + o] += p1 * lever[o]
        K[at + 2, at + o] += p2 * lever[o]
        K[at + o, at + o] -= along


@inlined
def add_drilling(n, s, corner, R, L, work, K):
    """K (6 n, 6 n) += the pairs of corners and edges of the stresses s (n,) of the drilling strains: section 5."""
    for i in range(n):
        factor = s[i] * corner[i, SIZE]
        for part in range(2):
            o = LAST if part == 0 else NEXT
            x, y, z = corner[i, o], corner[i, o + 1], corner[i, o + 2]
            for k in range(3):
                a, b, c = factor * R[i, k, 0], factor * R[i, k, 1], factor * R[i, k, 2]
                work[part, k, 0], work[part, k, 1], work[part, k, 2] = b * z - c * y, c * x - a * z, a * y - b * x
        for part in range(3):
            a = (i + part) % n if part < 2 else (i + n - 1) % n
            for k in range(3):
                for o in range(3):
                    p, m = work[0, k, o], work[1, k, o]
                    work[2, k, o] = p - m if part == 0 else (-p if part == 1 else m)
                    K[6 * a + k, 6 * i + 3 + o] += work[2, k, o]
                    K[6 * i + 3 + o, 6 * a + k] += work[2, k, o]
            for k in range(3):
                for o in range(3):
                    x = L[a, 0, k] * work[2, 0, o] + L[a, 1, k] * work[2, 1, o] + L[a, 2, k] * work[2, 2, o]
                    K[6 * a + 3 + k, 6 * i + 3 + o] -= x
                    K[6 * i + 3 + o, 6 * a + 3 + k] -= x


@inlined
def mass_weights(n, mass, xx, xd, dd):
    """The weights of the mass between vectors: equation (16)."""
    r0, r1, r2 = mass[n * n], mass[n * n + 1], mass[n * n + 2]
    for i in range(n):
        for j in range(n):
            h = mass[n * i + j]
            xx[i, j], xd[i, j], dd[i, j] = r0 * h, r1 * h, r2 * h


@inlined
def add_mass(n, corner, mass, L, minus, xx, xd, dd, work, M):
    """M (6 n, 6 n) += the mass matrix: section 7."""
    mass_weights(n, mass, xx, xd, dd)
    add_turns(n, xx, xd, dd, L, minus, work, M)
    add_weights(n, xx, xd, L, M)
    for i in range(n):
        J, D = drilling_inertia(n, mass, i), corner[i, DIRECTOR:NEXT]
        for k in range(3):
            for o in range(3):
                M[6 * i + 3 + k, 6 * i + 3 + o] += J * D[k] * D[o]


@inlined
def add_inertia_tangent(n, rates, corner, mass, R, u, phi, L, right, xx, xd, dd, work, C, K):
    """C, K (6 n, 6 n) += derivatives of inertia and weight by velocities and poses: the end of section 7."""
    mass_weights(n, mass, xx, xd, dd)
    for i in range(n):
        for part in range(2):
            x, y, z = u[n * part + i, 0], u[n * part + i, 1], u[n * part + i, 2]
            out = right[n * part + i]
            for k in range(3):
                a, b, c = R[i, k, 0], R[i, k, 1], R[i, k, 2]
                out[k, 0], out[k, 1], out[k, 2] = c * y - b * z, a * z - c * x, b * x - a * y
    add_turns(n, xx, xd, dd, L, right, work, K)
    for i in range(n):
        w0, w1, w2 = rates[i, 3], rates[i, 4], rates[i, 5]
        for part in range(2):
            o = DIRECTOR * part
            x, y, z = corner[i, o], corner[i, o + 1], corner[i, o + 2]
            # (w x c)~ + w~ c~ = (w x c)~ + c w^T - (w . c) 1
            p, q, r = w1 * z - w2 * y, w2 * x - w0 * z, w0 * y - w1 * x
            wc = w0 * x + w1 * y + w2 * z
            T, out = work[0], right[n * part + i]
            T[0, 0], T[0, 1], T[0, 2] = x * w0 - wc, x * w1 - r, x * w2 + q
            T[1, 0], T[1, 1], T[1, 2] = y * w0 + r, y * w1 - wc, y * w2 - p
            T[2, 0], T[2, 1], T[2, 2] = z * w0 - q, z * w1 + p, z * w2 - wc
            for k in range(3):
                for o in range(3):
                    out[k, o] = -(R[i, k, 0] * T[0, o] + R[i, k, 1] * T[1, o] + R[i, k, 2] * T[2, o])
    add_turns(n, xx, xd, dd, L, right, work, C)
    for i in range(n):
        w, D, at = rates[i, 3:6], corner[i, DIRECTOR:NEXT], 6 * i + 3
        add_node(R[i], phi[i], corner[i, OFFSET:DIRECTOR], at, K)
        add_node(R[i], phi[n + i], D, at, K)
        J = drilling_inertia(n, mass, i)
        Dw = J * dot(D, w)
        p, q, r = J * (w[1] * D[2] - w[2] * D[1]), J * (w[2] * D[0] - w[0] * D[2]), J * (w[0] * D[1] - w[1] * D[0])
        for o in range(3):
            C[at, at + o] += p * D[o]
            C[at + 1, at + o] += q * D[o]
            C[at + 2, at + o] += r * D[o]
        C[at, at + 1] += Dw * D[2]
        C[at + 1, at] -= Dw * D[2]
        C[at, at + 2] -= Dw * D[1]
        C[at + 2, at] += Dw * D[1]
        C[at + 1, at + 2] += Dw * D[0]
        C[at + 2, at + 1] -= Dw * D[0]


@inlined
def scatter_group(n, local, first, offset, stride, data):
    """Add matrices (6 n, 6 n, LANES) of the elements from ``first`` to block data."""
    for lane in range(min(LANES, offset.shape[0] - first)):
        for a in range(n):
            for b in range(n):
                base, step = offset[first + lane, a, b], stride[first + lane, a, b]
                if base >= 0:
                    for k in range(6):
                        for m in range(6):
                            data[base + k * step + m] += local[6 * a + k, 6 * b + m, lane]


@kernel
def tangents(
    index, kind, stiff, shape, corner, mass, tension, free, own, q, v, a, fixed, gravity, exact, offset, stride, masses,
    damping, stiffness,
):  # fmt: skip
    """Add mass, damping and stiffness of all elements at s states to block data (s, size): sections 5 and 7.

    exact : whether inertia and damping forces are differentiated by the poses too, and no mass is added; otherwise the
    matrices are those of Newton's iteration.
    """
    n, m = corner.shape[1], shape.shape[1]
    poses, rates = np.empty((n, 7, LANES)), np.empty((2, n, 6, LANES))
    R, y = lanes(np.empty((n, 3, 3, LANES))), lanes(np.empty((6, 2 * n, 3, LANES)))
    ends, c, e = (
        lanes(np.empty((3, 2 * n, 3, LANES))),
        lanes(np.empty((2, COMBINATIONS, 3, LANES))),
        np.empty((4, m, LANES)),
    )
    strain, levers = lanes(e), lanes(np.empty((n, 13, LANES)))
    xx, xd, dd = lanes(np.empty((n, n, LANES))), lanes(np.empty((n, n, LANES))), lanes(np.empty((n, n, LANES)))
    L, minus = lanes(np.empty((2 * n, 3, 3, LANES))), lanes(np.empty((2 * n, 3, 3, LANES)))
    work, three = lanes(np.empty((3, LANES))), lanes(np.empty((3, 3, 3, LANES)))
    grad, grad_rate = np.zeros((m - n, 2 * n, 3, LANES)), np.zeros((m - n, 2 * n, 3, LANES))
    B, SB, changes = np.zeros((m, 6 * n, LANES)), lanes(np.empty((m, 6 * n, LANES))), np.zeros((m, 6 * n, LANES))
    K, C, M = (np.empty((6 * n, 6 * n, LANES)), np.empty((6 * n, 6 * n, LANES)), np.empty((6 * n, 6 * n, LANES)))
    change, rows, wrinkles = lanes(np.empty((9, LANES))), lanes(np.empty((6, 6 * n, LANES))), tension.shape[1] > 0
    for g in range(kind.shape[0]):
        first, row = g * LANES, kind[g]
        S, e0, corners, h, given = (
            lanes(stiff[row]),
            lanes(shape[row]),
            lanes(corner[row]),
            lanes(mass[row]),
            lanes(own[g]),
        )
        beta = h[n * n + 3]
        damps = not every(beta == 0.0)
        for s in range(q.shape[0]):
            gather(n, index, first, q[s], fixed, poses)
            place(n, lanes(poses), corners, R, y[0], ends[0])
            strains(n, corners, e0, y[0], ends[0], c[0], strain[0])
            B[:] = 0.0
            gradient(n, c[0], lanes(grad))
            motion_rows(n, True, corners, corners, R, lanes(grad), y[0], ends[0], work, lanes(B))
            stiffness_products(n, S, lanes(B), SB, lanes(K))
            stiff_, damp_ = lanes(K), lanes(C)
            if damps or exact:
                gather_rates(n, index, first, v[s], rates[0])
                for i in range(6 * n):
                    for j in range(6 * n):
                        damp_[i, j] = beta * stiff_[i, j]
            w, acc = lanes(rates[0]), lanes(rates[1])
            if wrinkles:
                for k in range(m):
                    strain[2, k] = strain[0, k]
                if free.size:
                    heat = lanes(free[s, g])
                    for k in range(m):
                        strain[2, k] -= heat[k]
                add_wrinkle_stiffness(n, lanes(tension[row]), strain[2], change, lanes(B), rows, stiff_)
            for k in range(m):
                strain[0, k] = choose(given[0] == given[0], given[k], strain[0, k])
            if free.size:
                heat = lanes(free[s, g])
                for k in range(m):
                    strain[0, k] -= heat[k]
            if wrinkles:
                for k in range(m):
                    strain[3, k] = 0.0 * e0[0]
                add_wrinkles(n, lanes(tension[row]), strain[0], change, strain[3])
            if damps:
                place_rates(n, w, corners, R, work, y[1], ends[1])
                combine(n, y[1], c[1])
                products(n, c[0], c[1], strain[1])
                drilling(n, corners, y[0], ends[0], y[1], ends[1], strain[1, m - n :])
                for k in range(m):
                    strain[0, k] += beta * strain[1, k]
                if exact:
                    for i in range(n):
                        for part in range(4):
                            o = 3 * part
                            spun(w[i, 3:6], corners[i, o : o + 3], levers[i, o : o + 3])
                    changes[:] = 0.0
                    gradient(n, c[1], lanes(grad_rate))
                    motion_rows(n, True, corners, corners, R, lanes(grad_rate), y[1], ends[1], work, lanes(changes))
                    motion_rows(n, False, levers, corners, R, lanes(grad), y[0], ends[0], work, lanes(changes))
                    by = lanes(changes)
                    for i in range(6 * n):
                        for j in range(6 * n):
                            x = 0.0 * beta
                            for k in range(m):
                                x += SB[k, i] * by[k, j]
                            stiff_[i, j] += beta * x
            stresses(S, strain[0], strain[2])
            if wrinkles:
                for k in range(m):
                    strain[2, k] += strain[3, k]
            vector_forces(n, strain[2], corners, y[0], ends[0], xx, xd, y[2], ends[2])
            skews(n, corners, R, L)
            negative(n, L, minus)
            for i in range(n):
                for j in range(n):
                    dd[i, j] = 0.0 * beta
            add_turns(n, xx, xd, dd, L, minus, three, stiff_)
            add_weights(n, xx, xd, L, stiff_)
            add_drilling(n, strain[2, m - n :], corners, R, L, three, stiff_)
            for i in range(n):
                at = 6 * i + 3
                add_node(R[i], y[2, i], corners[i, OFFSET:DIRECTOR], at, stiff_)
                add_node(R[i], y[2, n + i], corners[i, DIRECTOR:NEXT], at, stiff_)
                add_node(R[i], ends[2, i], corners[i, NEXT:LAST], at, stiff_)
                add_node(R[i], ends[2, n + i], corners[i, LAST:SIZE], at, stiff_)
            if exact:
                gather_rates(n, index, first, a[s], rates[1])
                inertia_forces(n, w, acc, corners, h, gravity, R, work, y[3], y[4], y[5])
                add_inertia_tangent(n, w, corners, h, R, y[3], y[5], L, minus, xx, xd, dd, three, damp_, stiff_)
            else:
                M[:] = 0.0
                add_mass(n, corners, h, L, minus, xx, xd, dd, three, lanes(M))
                scatter_group(n, M, first, offset, stride, masses[s])
            if damps or exact:
                scatter_group(n, C, first, offset, stride, damping[s])
            scatter_group(n, K, first, offset, stride, stiffness[s])


@kernel
def add_masses(index, kind, corner, mass, q, fixed, offset, stride, masses):
    """Add the mass matrices of all elements at s states to block data (s, size)."""
    n = corner.shape[1]
    poses, M = np.empty((n, 7, LANES)), np.empty((6 * n, 6 * n, LANES))
    R, y, ends = (
        lanes(np.empty((n, 3, 3, LANES))),
        lanes(np.empty((2 * n, 3, LANES))),
        lanes(np.empty((2 * n, 3, LANES))),
    )
    xx, xd, dd = lanes(np.empty((n, n, LANES))), lanes(np.empty((n, n, LANES))), lanes(np.empty((n, n, LANES)))
    L, minus = lanes(np.empty((2 * n, 3, 3, LANES))), lanes(np.empty((2 * n, 3, 3, LANES)))
    three = lanes(np.empty((3, 3, 3, LANES)))
    for g in range(kind.shape[0]):
        corners, h = lanes(corner[kind[g]]), lanes(mass[kind[g]])
        for s in range(q.shape[0]):
            gather(n, index, g * LANES, q[s], fixed, poses)
            place(n, lanes(poses), corners, R, y, ends)
            skews(n, corners, R, L)
            negative(n, L, minus)
            M[:] = 0.0
            add_mass(n, corners, h, L, minus, xx, xd, dd, three, lanes(M))
            scatter_group(n, M, g * LANES, offset, stride, masses[s])


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
        corners, e0 = lanes(corner[kind[g]]), lanes(shape[kind[g]])
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
def energy_momentum(index, kind, stiff, shape, corner, mass, tension, q, v, fixed, gravity, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the origin: (10), (16)."""
    n, m = corner.shape[1], shape.shape[1]
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
        row = kind[g]
        S, e0, corners, h = lanes(stiff[row]), lanes(shape[row]), lanes(corner[row]), lanes(mass[row])
        for s in range(q.shape[0]):
            gather(n, index, g * LANES, q[s], fixed, poses)
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
                    y[3, i, k], y[3, n + i, k] = gravity[k] + 0.0 * total[0], 0.0 * total[0]
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
