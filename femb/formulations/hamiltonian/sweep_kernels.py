"""Poses, spatial inertias and velocities of a tree by sweeps over its segments; row 0 is the base.

Spatial vectors are in inertial axes about one common point, the origin of the base's frame: motions (omega, v), momenta
and forces (moment, force). A recursion needs no change of frames. Source: docs/theory/hamiltonian.md, section 3.
"""

import math

import numpy as np

from femb.formulations.hamiltonian.columns import AT, AXIS, CENTER, COSINE, FIXED, INERTIA, MASS, SINE, SLIDE
from femb.formulations.spatial_kernels import add_cross, transform
from femb.numerics.compile import inlined, kernel


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
    """The same of the base."""
    for i in range(3):
        hinge[0, i] = 0.0
        c[0, i] = R[0, i, 0] * data[0, CENTER] + R[0, i, 1] * data[0, CENTER + 1] + R[0, i, 2] * data[0, CENTER + 2]


@inlined
def pose_of(k, h, data, x, R, hinge, c, S):
    """The same of segment k with the parent h at the coordinate x."""
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
