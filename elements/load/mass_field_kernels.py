"""Kernels of a field of acceleration on everything that has mass: see ``mass_field``, docs/theory/mass_field.md."""

import numpy as np

from femb.numerics.compile import inlined, kernel
from femb.numerics.vector3 import IN_Q, IN_V, cross, dot, rotate_back, rotation

AXES, STRUCTURE = 2, 3


@kernel
def middles(index, q, middle):
    """Set middle (s, g, 3) : means of the positions of the frames of each structure, at s states.

    index (F, 4) : of each frame IN_Q, IN_V, AXES (whether it has them) and its STRUCTURE.
    """
    number = np.zeros(middle.shape[1])
    middle[:] = 0.0
    for k in range(index.shape[0]):
        number[index[k, STRUCTURE]] += 1.0
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            g = index[k, STRUCTURE]
            for o in range(3):
                middle[state, g, o] += q[state, index[k, IN_Q] + o] / number[g]


@inlined
def triad(x, y, z):
    """Set y, z (3,) such that the unit vector x, y and z are perpendicular unit vectors."""
    least = 0
    for o in range(1, 3):
        if abs(x[o]) < abs(x[least]):
            least = o
    y[:] = 0.0
    y[least] = 1.0
    cross(x, y, z)
    length = np.sqrt(dot(z, z))
    for o in range(3):
        y[o] = z[o] / length
    cross(x, y, z)


@kernel
def rotations(index, q, middle, acceleration, weights, axes, v, a, omega):
    """Set v, a (3, s, n) and omega (3, s, F, 3), inertial axes, of three rotations of all structures at s states.

    index, middle : as of ``middles``; the structures rotate about these points. acceleration (s, F, 3), weights (3, s)
    and axes (s, g, 3, 3) : the field, see ``mass_field.Rotations``. Other entries of v and a are not set.
    """
    A, w = np.empty((3, 3)), np.empty((2, 3))
    x, y = w[0], w[1]
    for state in range(q.shape[0]):
        for k in range(index.shape[0]):
            i, j, g = index[k, IN_Q], index[k, IN_V], index[k, STRUCTURE]
            for o in range(3):
                y[o] = q[state, i + o] - middle[state, g, o]
            if index[k, AXES]:
                rotation(q[state, i + 3 : i + 7], A)
            for o in range(3):
                a[0, state, j + o] = acceleration[state, k, o] / weights[0, state] if weights[0, state] else 0.0
            for m in range(3):
                cross(axes[state, g, m], y, x)
                for o in range(3):
                    v[m, state, j + o] = x[o]
                    omega[m, state, k, o] = axes[state, g, m, o]
                if index[k, AXES]:
                    rotate_back(A, axes[state, g, m], x)
                    for o in range(3):
                        v[m, state, j + 3 + o] = x[o]


@kernel
def subtract_weighted(weights, parts, factor, out):
    """out (s, m) -= factor times the sums of parts (3, s, n), n >= m, times weights (3, s)."""
    for state in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            for m in range(3):
                total += weights[m, state] * parts[m, state, j]
            out[state, j] -= factor * total
