"""Kernels of the mass beside the axis of exact beam elements; arguments as in ``force``.

The points of the mass move by three vectors more than the four of the axis, z_i = t (l_i . s_i - e_i), the first with
the bubble of a linear curvature. All of t, l and s are linear in eight points: the four, and k and c of both ends.
Source: docs/theory/exact_beam.md, section 9, equations (20d) and (22d).
"""

from femb.elements.exact.element_data import BESIDE, LENGTH, PRODUCTS
from femb.numerics.compiler.compile import inlined


@inlined
def bubble_vectors(data, x, v, n):
    """v (12, 3), rows n to n + 3: t, k, s and s_0 of the points x (8, 3), or of their rates those of these."""
    for i in range(3):
        v[n, i] = 0.5 * (x[1, i] + x[3, i]) / data[LENGTH]
        v[n + 1, i] = 0.5 * (x[4, i] + x[6, i])
        v[n + 2, i] = x[2, i] - x[0, i] - 0.5 * (x[1, i] + x[3, i])
        v[n + 3, i] = v[n + 2, i] + x[5, i] - x[7, i]


@inlined
def dot_rows(a, i, b, j):
    """Product of two rows of arrays (., 3)."""
    return a[i, 0] * b[j, 0] + a[i, 1] * b[j, 1] + a[i, 2] * b[j, 2]


@inlined
def factors(i):
    """Rows of l_i and s_i among t, k, s and s_0."""
    return 1 if i == 0 else 0, 2 if i == 1 else 3


@inlined
def add_bubbles(data, t, one, other, share, z):
    """z (9, 3) += the three z_i, their rates, and their second derivatives, with t, l_i and s_i of three arrays (12, 3)
    with those of ``bubble_vectors``, and a share of the products e_i."""
    for i in range(3):
        a, b = factors(i)
        p0 = dot_rows(one, a, other, b) - share * data[PRODUCTS + i]
        p1 = dot_rows(one, 4 + a, other, b) + dot_rows(one, a, other, 4 + b)
        p2 = dot_rows(one, 8 + a, other, b) + 2.0 * dot_rows(one, 4 + a, other, 4 + b) + dot_rows(one, a, other, 8 + b)
        for j in range(3):
            z[i, j] += t[0, j] * p0
            z[3 + i, j] += t[4, j] * p0 + t[0, j] * p1
            z[6 + i, j] += t[8, j] * p0 + 2.0 * t[4, j] * p1 + t[0, j] * p2


@inlined
def bubble_force(data, i, xdd, zdd, f):
    """f (3,): force on z_i, of the accelerations xdd (8, 3) of the points and zdd (3,) of it; or momentum, of rates."""
    o = BESIDE + 5 * i
    for j in range(3):
        f[j] = data[o + 4] * zdd[j]
        for b in range(4):
            f[j] += data[o + b] * xdd[b, j]


@inlined
def add_bubble_forces(data, v, xdd, z, G, F):
    """F (8, 3) += the forces of the z_i on the points. G (5, 3) : work."""
    G[:] = 0.0
    f = G[4]
    for i in range(3):
        a, b = factors(i)
        bubble_force(data, i, xdd, z[6 + i], f)
        p0 = dot_rows(v, a, v, b) - data[PRODUCTS + i]
        along = dot_rows(G, 4, v, 0)
        for j in range(3):
            for c in range(4):
                F[c, j] += data[BESIDE + 5 * i + c] * z[6 + i, j]
            G[0, j] += p0 * f[j]
            G[a, j] += along * v[b, j]
            G[b, j] += along * v[a, j]
    to_points(data, G, F)


@inlined
def to_points(data, G, F):
    """F (8, 3) += forces G (4, 3) on t, k, s and s_0: the transpose of ``bubble_vectors``."""
    for j in range(3):
        s, bend = G[2, j] + G[3, j], 0.5 * G[0, j] / data[LENGTH]
        F[0, j] -= s
        F[2, j] += s
        F[1, j] += bend - 0.5 * s
        F[3, j] += bend - 0.5 * s
        F[4, j] += 0.5 * G[1, j]
        F[6, j] += 0.5 * G[1, j]
        F[5, j] += G[3, j]
        F[7, j] -= G[3, j]


@inlined
def add_bubble_force_changes(data, v, dv, xdd, dxdd, z, dz, G, F):
    """F (8, 3) += changes of ``add_bubble_forces`` with those of v, xdd and z. G (6, 3) : work."""
    G[:] = 0.0
    f, df = G[4], G[5]
    for i in range(3):
        a, b = factors(i)
        bubble_force(data, i, xdd, z[6 + i], f)
        bubble_force(data, i, dxdd, dz[6 + i], df)
        p0 = dot_rows(v, a, v, b) - data[PRODUCTS + i]
        d0 = dot_rows(dv, a, v, b) + dot_rows(v, a, dv, b)
        along, change = dot_rows(G, 4, v, 0), dot_rows(G, 5, v, 0) + dot_rows(G, 4, dv, 0)
        for j in range(3):
            for c in range(4):
                F[c, j] += data[BESIDE + 5 * i + c] * dz[6 + i, j]
            G[0, j] += p0 * df[j] + d0 * f[j]
            G[a, j] += change * v[b, j] + along * dv[b, j]
            G[b, j] += change * v[a, j] + along * dv[a, j]
    to_points(data, G, F)


@inlined
def turned(R, j, a, out):
    """out (3,) = R times the j-th axis x a."""
    n, m = (j + 1) % 3, (j + 2) % 3
    for i in range(3):
        out[i] = R[i, m] * a[n] - R[i, n] * a[m]
