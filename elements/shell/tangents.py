"""Kernels of shell elements: exact tangents and mass matrices; arguments as in ``femb.elements.shell.kernels``.

Source: docs/theory/shell.md, equations (11) to (16).
"""

import numpy as np

from femb.elements.shell.kernels import (
    COMBINATIONS,
    DIRECTOR,
    LAST,
    NEXT,
    OFFSET,
    SIZE,
    add_torque,
    combine,
    drilling,
    drilling_inertia,
    free_strains,
    gather,
    gather_rates,
    gradient,
    inertia_forces,
    place,
    place_rates,
    products,
    spun,
    strains,
    stresses,
    vector_forces,
)
from femb.elements.shell.wrinkles import add_wrinkle_stiffness, add_wrinkles
from femb.numerics.compiler.compile import inlined, kernel, kernel_with_entry
from femb.numerics.compiler.lanes import LANES, choose, every, lanes
from femb.numerics.vector3 import dot


@inlined
def motion_rows(translates, levers, corner, R, g, y, edges, work, B):
    """B (m, 6 n) += derivatives of strains by the motion of the frames, of their gradients g by the vectors: (11).

    levers (n, 12 or more) : the vectors of the corners in frame axes. y, edges : the vectors of which the drilling
    strains are products. translates : whether frames translate, or only turn.
    """
    n, natural = R.shape[0], g.shape[0]
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
def times_cross(R, x, y, z, out):
    """out (3, 3) = R c~ of c = (x, y, z)."""
    for k in range(3):
        a, b, c = R[k, 0], R[k, 1], R[k, 2]
        out[k, 0], out[k, 1], out[k, 2] = b * z - c * y, c * x - a * z, a * y - b * x


@inlined
def skews(n, levers, R, L):
    """L (2 n, 3, 3) = R c~ of the offsets c and then of the directors."""
    for i in range(n):
        for part in range(2):
            o = DIRECTOR * part
            times_cross(R[i], levers[i, o], levers[i, o + 1], levers[i, o + 2], L[n * part + i])


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
            times_cross(R[i], factor * corner[i, o], factor * corner[i, o + 1], factor * corner[i, o + 2], work[part])
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
def add_stress_stiffness(s, corner, R, arms, weights, forces, turns, work, K):
    """K (6 n, 6 n) += the geometric stiffness of stresses s (m,) with the weights and forces of ``vector_forces``.

    arms : L of ``skews``, and its negative.
    """
    n, (L, minus), (xx, xd, dd) = R.shape[0], arms, weights
    add_turns(n, xx, xd, dd, L, minus, work, K)
    add_weights(n, xx, xd, L, K)
    add_drilling(n, s[s.size - n :], corner, R, L, work, K)
    for i in range(n):
        at = 6 * i + 3
        add_node(R[i], forces[i], corner[i, OFFSET:DIRECTOR], at, K)
        add_node(R[i], forces[n + i], corner[i, DIRECTOR:NEXT], at, K)
        add_node(R[i], turns[i], corner[i, NEXT:LAST], at, K)
        add_node(R[i], turns[n + i], corner[i, LAST:SIZE], at, K)


@inlined
def mass_weights(n, mass, xx, xd, dd):
    """The weights of the mass between vectors: equation (16)."""
    r0, r1, r2 = mass[n * n], mass[n * n + 1], mass[n * n + 2]
    for i in range(n):
        for j in range(n):
            h = mass[n * i + j]
            xx[i, j], xd[i, j], dd[i, j] = r0 * h, r1 * h, r2 * h


@inlined
def add_mass(corner, mass, arms, weights, work, M):
    """M (6 n, 6 n) += the mass matrix: section 7; arms as in ``add_stress_stiffness``."""
    n, (L, minus), (xx, xd, dd) = corner.shape[0], arms, weights
    mass_weights(n, mass, xx, xd, dd)
    add_turns(n, xx, xd, dd, L, minus, work, M)
    add_weights(n, xx, xd, L, M)
    for i in range(n):
        J, D = drilling_inertia(n, mass, i), corner[i, DIRECTOR:NEXT]
        for k in range(3):
            for o in range(3):
                M[6 * i + 3 + k, 6 * i + 3 + o] += J * D[k] * D[o]


@inlined
def add_inertia_tangent(rates, element, R, y, arms, weights, work, matrices):
    """C, K (6 n, 6 n) += derivatives of inertia and weight by velocities and poses: the end of section 7.

    element : its corners and mass. y : rows 3 and 5 are of ``inertia_forces``. arms : L of ``skews``, and work.
    """
    (corner, mass), (L, right), (xx, xd, dd), (C, K) = element, arms, weights, matrices
    n, u, phi = R.shape[0], y[3], y[5]
    mass_weights(n, mass, xx, xd, dd)
    for i in range(n):
        for part in range(2):
            j = n * part + i
            times_cross(R[i], -u[j, 0], -u[j, 1], -u[j, 2], right[j])
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
def tangents(of, own, exact, offset, stride, u, q, v, a, masses, damping, stiffness):
    """Add mass, damping and stiffness of all elements at s states to block data (s, size): sections 5 and 7.

    exact : whether inertia and damping forces are differentiated by the poses too, and no mass is added; otherwise the
    matrices are those of Newton's iteration.
    """
    index, kind, tension, n, m = of.places, of.kind, of.tension, of.corner.shape[1], of.shape.shape[1]
    poses, rates = np.empty((n, 7, LANES)), np.empty((2, n, 6, LANES))
    R, y = lanes(np.empty((n, 3, 3, LANES))), lanes(np.empty((6, 2 * n, 3, LANES)))
    ends, c, e = (
        lanes(np.empty((3, 2 * n, 3, LANES))),
        lanes(np.empty((2, COMBINATIONS, 3, LANES))),
        np.empty((5, m, LANES)),
    )
    strain, levers = lanes(e), lanes(np.empty((n, 13, LANES)))
    xx, xd, dd = lanes(np.empty((n, n, LANES))), lanes(np.empty((n, n, LANES))), lanes(np.empty((n, n, LANES)))
    L, minus = lanes(np.empty((2 * n, 3, 3, LANES))), lanes(np.empty((2 * n, 3, 3, LANES)))
    arms, weights = (L, minus), (xx, xd, dd)
    work, three = lanes(np.empty((3, LANES))), lanes(np.empty((3, 3, 3, LANES)))
    grad, grad_rate = np.zeros((m - n, 2 * n, 3, LANES)), np.zeros((m - n, 2 * n, 3, LANES))
    B, SB, changes = np.zeros((m, 6 * n, LANES)), lanes(np.empty((m, 6 * n, LANES))), np.zeros((m, 6 * n, LANES))
    K, C, M = (np.empty((6 * n, 6 * n, LANES)), np.empty((6 * n, 6 * n, LANES)), np.empty((6 * n, 6 * n, LANES)))
    change, rows, wrinkles = lanes(np.empty((9, LANES))), lanes(np.empty((6, 6 * n, LANES))), tension.shape[1] > 0
    for g in range(kind.shape[0]):
        first, row = g * LANES, kind[g, 1]
        S, e0, corners, h, given = (
            lanes(of.stiff[kind[g, 0]]),
            lanes(of.shape[row]),
            lanes(of.corner[row]),
            lanes(of.mass[row]),
            lanes(own[g]),
        )
        beta = h[n * n + 3]
        damps = not every(beta == 0.0)
        for s in range(q.shape[0]):
            gather(n, index, first, q[s], of.fixed, poses)
            place(n, lanes(poses), corners, R, y[0], ends[0])
            strains(n, corners, e0, y[0], ends[0], c[0], strain[0])
            B[:] = 0.0
            gradient(n, c[0], lanes(grad))
            motion_rows(True, corners, corners, R, lanes(grad), y[0], ends[0], work, lanes(B))
            stiffness_products(n, S, lanes(B), SB, lanes(K))
            stiff_, damp_ = lanes(K), lanes(C)
            if damps or exact:
                gather_rates(n, index, first, v[s], rates[0])
                for i in range(6 * n):
                    for j in range(6 * n):
                        damp_[i, j] = beta * stiff_[i, j]
            w, acc = lanes(rates[0]), lanes(rates[1])
            free_strains(of.heats, of.first_input, u[s], g, e0, strain[4])
            if wrinkles:
                for k in range(m):
                    strain[2, k] = strain[0, k] - strain[4, k]
                add_wrinkle_stiffness(n, lanes(tension[row]), strain[2], change, lanes(B), rows, stiff_)
            for k in range(m):
                strain[0, k] = choose(given[0] == given[0], given[k], strain[0, k]) - strain[4, k]
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
                    motion_rows(True, corners, corners, R, lanes(grad_rate), y[1], ends[1], work, lanes(changes))
                    motion_rows(False, levers, corners, R, lanes(grad), y[0], ends[0], work, lanes(changes))
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
            add_stress_stiffness(strain[2], corners, R, arms, weights, y[2], ends[2], three, stiff_)
            if exact:
                gather_rates(n, index, first, a[s], rates[1])
                inertia_forces(w, acc, corners, h, of.gravity, R, y)
                add_inertia_tangent(w, (corners, h), R, y, arms, weights, three, (damp_, stiff_))
            else:
                M[:] = 0.0
                add_mass(corners, h, arms, weights, three, lanes(M))
                scatter_group(n, M, first, offset, stride, masses[s])
            if damps or exact:
                scatter_group(n, C, first, offset, stride, damping[s])
            scatter_group(n, K, first, offset, stride, stiffness[s])


@kernel_with_entry
def add_masses(index, kind, corner, mass, fixed, offset, stride, q, masses):
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
    arms, weights = (L, minus), (xx, xd, dd)
    three = lanes(np.empty((3, 3, 3, LANES)))
    for g in range(kind.shape[0]):
        corners, h = lanes(corner[kind[g, 1]]), lanes(mass[kind[g, 1]])
        for s in range(q.shape[0]):
            gather(n, index, g * LANES, q[s], fixed, poses)
            place(n, lanes(poses), corners, R, y, ends)
            skews(n, corners, R, L)
            negative(n, L, minus)
            M[:] = 0.0
            add_mass(corners, h, arms, weights, three, lanes(M))
            scatter_group(n, M, g * LANES, offset, stride, masses[s])


@kernel
def stress_stiffness(index, kind, stiff, shape, corner, q, fixed, strain, out):
    """out (e, 6 n, f, 6 n): the geometric stiffness at a state q (1, n_q) by strains (f, g, m, LANES): (13), (14)."""
    n, m = corner.shape[1], shape.shape[1]
    poses, K = np.empty((n, 7, LANES)), np.empty((6 * n, 6 * n, LANES))
    R, y = lanes(np.empty((n, 3, 3, LANES))), lanes(np.empty((2, 2 * n, 3, LANES)))
    ends, s = lanes(np.empty((2, 2 * n, 3, LANES))), lanes(np.empty((m, LANES)))
    xx, xd, dd = lanes(np.empty((n, n, LANES))), lanes(np.empty((n, n, LANES))), lanes(np.zeros((n, n, LANES)))
    L, minus = lanes(np.empty((2 * n, 3, 3, LANES))), lanes(np.empty((2 * n, 3, 3, LANES)))
    three = lanes(np.empty((3, 3, 3, LANES)))
    for g in range(kind.shape[0]):
        row, first = kind[g, 1], g * LANES
        corners = lanes(corner[row])
        gather(n, index, first, q[0], fixed, poses)
        place(n, lanes(poses), corners, R, y[0], ends[0])
        skews(n, corners, R, L)
        negative(n, L, minus)
        for f in range(strain.shape[0]):
            K[:] = 0.0
            stresses(lanes(stiff[kind[g, 0]]), lanes(strain[f, g]), s)
            vector_forces(n, s, corners, y[0], ends[0], xx, xd, y[1], ends[1])
            add_stress_stiffness(s, corners, R, (L, minus), (xx, xd, dd), y[1], ends[1], three, lanes(K))
            for lane in range(min(LANES, index.shape[0] - first)):
                for a in range(6 * n):
                    for b in range(6 * n):
                        out[first + lane, a, f, b] = K[a, b, lane]
