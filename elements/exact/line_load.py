"""Kernels over forces and moments along exact beam elements.

A row is one element under one load. At each of three Gauss points it has a force f and a moment c per length, in
inertial axes or in the axes of the section. Forces act on the four vectors of the inertia, moments on the natural
coordinates, both with the bubble that a linear curvature makes.

index, ends, data, free : arrays of ``columns``, one row per load and element. kind (n,) int : INERTIAL or SECTION axes.
first (n,) int : input that multiplies the row. values (n, 3, 6) : f and c at the Gauss points.
Source: docs/theory/exact_beam.md, section 10.
"""

import math

import numpy as np

from femb.elements.beam.strain import POINTS, WEIGHTS
from femb.elements.exact.columns import LENGTH, QUADRATIC, REFERENCE
from femb.elements.exact.energy import coadjoint, compliance, solve, strain, stress_force
from femb.elements.exact.force import add_to_frames, element_coordinates, end_sections, ends_force
from femb.elements.exact.frames import frame_poses
from femb.elements.load.line_load_kernels import INERTIAL, SECTION
from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import rotate, rotate_back


@inlined
def rotation_and_mean(psi, E, A):
    """E (3, 3) = exp(psi) and A (3, 3), the mean of the rotations from none to psi: equation (27)."""
    x, y, z = psi[0], psi[1], psi[2]
    t = x * x + y * y + z * z
    if t < 1e-2:
        s = 1.0 - t / 6.0 * (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0)))
        a = 0.5 - t / 24.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0 * (1.0 - t / 90.0)))
        b = 1.0 / 6.0 - t / 120.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0)))
    else:
        size = math.sqrt(t)
        s = math.sin(size) / size
        a = (1.0 - math.cos(size)) / t
        b = (1.0 - s) / t
    for i in range(3):
        for j in range(3):
            E[i, j] = a * psi[i] * psi[j]
            A[i, j] = b * psi[i] * psi[j]
        E[i, i] += 1.0 - a * t
        A[i, i] += 1.0 - b * t
    E[0, 1] -= s * z
    E[1, 0] += s * z
    E[0, 2] += s * y
    E[2, 0] -= s * y
    E[1, 2] -= s * x
    E[2, 1] += s * x
    A[0, 1] -= a * z
    A[1, 0] += a * z
    A[0, 2] += a * y
    A[2, 0] -= a * y
    A[1, 2] -= a * x
    A[2, 1] += a * x


@inlined
def bubble(xi, length, y, E, turn_b, Eb, Ab):
    """Rotation turn_b (3,) of the section at xi beside that of the helix, with its Eb and Ab (3, 3): equation (27)."""
    for i in range(3):
        turn_b[i] = -6.0 * length * xi * (1.0 - xi) * y[3 + i]
    rotation_and_mean(turn_b, Eb, Ab)


@inlined
def local_vectors(R1, kind, values, weight, E, Eb, f, c, small):
    """f, c (3,): weighted force and moment at one point, axes of end I."""
    if kind == INERTIAL:
        rotate_back(R1, values[0:3], f)
        rotate_back(R1, values[3:6], c)
    else:
        rotate(Eb, values[0:3], small)
        rotate(E, small, f)
        rotate(Eb, values[3:6], small)
        rotate(E, small, c)
    for k in range(3):
        f[k] *= weight
        c[k] *= weight


@inlined
def share(m, xi):
    """The m-th of the four functions along the line of equation (20)."""
    if m == 0:
        return 1.0 - xi
    if m == 2:
        return xi
    return 0.5 * xi * (1.0 - xi) if m == 1 else -0.5 * xi * (1.0 - xi)


@inlined
def load_vector(m, ends, data, y):
    """y (3,): the m-th of the four vectors, for loads on the reference axis, axes of its frame."""
    end, o = ends[m // 2], REFERENCE
    for i in range(3):
        if m % 2 == 0:
            y[i] = end[1 + i]
        else:
            y[i] = end[4 + 3 * i] * data[o] + end[5 + 3 * i] * data[o + 1] + end[6 + 3 * i] * data[o + 2]


@inlined
def element_stress(data, free, d, X, C, sigma, w, y, n):
    """X, the factor C, the stress, and w, y, n of equation (11)."""
    compliance(data, d, X, C)
    strain(data, d, free, sigma)
    solve(C, sigma)
    for i in range(6):
        sigma[i] /= data[LENGTH]
    stress_force(data, d, sigma, w, y, n)


@inlined
def row_force(R1, data, kind, factor, values, d, X, C, sigma, y, E, A, Eb, Ab, small, e, F, n, h, moment):
    """Forces of a row, axes of end I: F (4, 3) on the four vectors, n (6,) on d, moment (3,) on end I.

    h (3,) : what the bubble does work on. small (4, 3), e (4, 6), E, A, Eb, Ab (3, 3) : work.
    """
    length, theta, f, c = data[LENGTH], d[3:6], small[0], small[1]
    F[:] = 0.0
    n[:] = 0.0
    h[:] = 0.0
    moment[:] = 0.0
    for i in range(3):
        xi = POINTS[i]
        for k in range(3):
            small[2, k] = xi * theta[k]
        rotation_and_mean(small[2], E, A)
        if kind == SECTION:
            bubble(xi, length, y, E, small[3], Eb, Ab)
        local_vectors(R1, kind, values[i], factor * length * WEIGHTS[i], E, Eb, f, c, small[2])
        for m in range(4):
            for k in range(3):
                F[m, k] += share(m, xi) * f[k]
        for k in range(3):
            moment[k] += c[k]
            for j in range(3):
                n[3 + k] += xi * A[j, k] * c[j]
                h[k] -= 6.0 * xi * (1.0 - xi) * E[j, k] * c[j]
    if h[0] != 0.0 or h[1] != 0.0 or h[2] != 0.0:
        # n += L Y^T (0, h) with Y, the change of y with d: Lambda^T eta - L S(sigma) Fq (0, h), eta = C^-1 X (0, h)
        eta, a = e[0], e[1]
        for i in range(6):
            eta[i] = X[i, 3] * h[0] + X[i, 4] * h[1] + X[i, 5] * h[2]
        solve(C, eta)
        bubble_argument(data, X, eta, h, a)
        coadjoint(y[0:3], y[3:6], eta, e[2])
        coadjoint(a[0:3], a[3:6], sigma, e[3])
        for i in range(6):
            n[i] += eta[i] + length * (e[2, i] + e[3, i])


@inlined
def bubble_argument(data, X, eta, h, a):
    """a (6,) = X^T eta - Fq (0, h)."""
    for i in range(6):
        o = QUADRATIC + 6 * i + 3
        a[i] = -(data[o] * h[0] + data[o + 1] * h[1] + data[o + 2] * h[2])
        for k in range(6):
            a[i] += X[k, i] * eta[k]


@inlined
def row_to_frames(ends, data, R, x, P, W, F, n, moment, g, small, f):
    """f (12,) += forces F, n and the moment of ``row_force`` on the frames; g (9,), small (6, 3) : work."""
    for m in range(4):
        o, frame = 6 * (m // 2), 2 * (m // 2)
        rotate(R[1], F[m], small[0])
        if m % 2 == 0:
            for i in range(3):
                f[o + i] += small[0, i]
        rotate_back(R[frame], small[0], small[1])
        load_vector(m, ends, data, small[2])
        f[o + 3] += small[2, 1] * small[1, 2] - small[2, 2] * small[1, 1]
        f[o + 4] += small[2, 2] * small[1, 0] - small[2, 0] * small[1, 2]
        f[o + 5] += small[2, 0] * small[1, 1] - small[2, 1] * small[1, 0]
    ends_force(x, P, W, n, g)
    for i in range(3):
        g[3 + i] += moment[i]
    add_to_frames(ends, R, g, small, f)


@kernel
def line_forces(index, ends, data, free, kind, first, values, u, q, fixed, sign, out, section):
    """out (s, n_v) += sign times the residual force; section (s, n, 2, 6), unless of length 0, its section forces.

    free (s, n, 6). Returns -1, or the number of a row with a folded element.
    """
    p, poses, R, r, small = np.empty((3, 4)), np.empty((2, 7)), np.empty((4, 3, 3)), np.empty((4, 3)), np.empty((6, 3))
    six, mats, three, work = np.empty((10, 6)), np.empty((2, 6, 6)), np.empty((6, 3, 3)), np.empty((6, 3))
    F, h, moment, g, f = np.empty((4, 3)), np.empty(3), np.empty(3), np.empty(9), np.empty(12)
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            d, P, W = six[0], three[0], three[1]
            frame_poses(index[k], q[s], fixed, poses)
            _, _, _, whole = element_coordinates(poses, ends[k], p, R, r, small, d, P, W)
            if not whole:
                return k
            element_stress(data[k], free[s, k], d, mats[0], mats[1], six[1], six[2], six[3], six[4])
            row_force(
                R[1], data[k], kind[k], -u[s, first[k]], values[k], d, mats[0], mats[1], six[1], six[3],
                three[2], three[3], three[4], three[5], work[0:4], six[6:10], F, six[5], h, moment,
            )  # fmt: skip
            f[:] = 0.0
            row_to_frames(ends[k], data[k], R, small[0], P, W, F, six[5], moment, g, work, f)
            for e in range(2):
                j = index[k, 2 + e]
                if j >= 0:
                    for i in range(6):
                        out[s, j + i] += sign * f[6 * e + i]
            if section.shape[0] > 0:
                end_sections(ends[k], R, small, f, section[s, k])
    return -1


@inlined
def quadratic_times(data, h, out):
    """out (6,) = Fq (0, h)."""
    for i in range(6):
        o = QUADRATIC + 6 * i + 3
        out[i] = data[o] * h[0] + data[o + 1] * h[1] + data[o + 2] * h[2]
