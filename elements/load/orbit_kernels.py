"""Kernel of the gravity of a central body: see ``orbit_batch`` and docs/theory/orbit.md, equations (4) and (7)."""

import numpy as np

from femb.numerics.compile import kernel
from femb.numerics.vector3 import IN_Q, IN_V, cross, dot, rotate_back, rotation

AXES, STRUCTURE = 2, 3


@kernel
def rotations(index, count, mu, origin, R, q, v, a, omega, rates):
    """Rotations of all structures about the direction to the body and two axes across it, and gravity at the frames.

    index (F, 4) : of each frame IN_Q, IN_V, AXES (whether it has them) and its STRUCTURE. count : number of structures.
    R (s, 3) : origin of the frame from the central body. Set are, at s states: v (3, s, n_v); omega (3, s, F, 3),
    inertial axes; a (s, n_v) : gravity less that at the origin; rates (s,) : n of the first structure, rad/s. The first
    structure rotates at 1 rad/s, the others in proportion to their n.
    """
    middle, number, axes = np.empty((count, 3)), np.empty(count), np.empty((count, 3, 3))
    A, w = np.empty((3, 3)), np.empty((3, 3))
    x, y, spin = w[0], w[1], w[2]
    for state in range(q.shape[0]):
        middle[:] = 0.0
        number[:] = 0.0
        for k in range(index.shape[0]):
            g = index[k, STRUCTURE]
            number[g] += 1.0
            for o in range(3):
                middle[g, o] += origin[o] + q[state, index[k, IN_Q] + o]
        square = dot(R[state], R[state])
        for g in range(count):
            for o in range(3):
                middle[g, o] /= number[g]
                x[o] = R[state, o] + middle[g, o]
            distance = np.sqrt(dot(x, x))
            rate = np.sqrt(mu / distance**3)
            if g == 0:
                rates[state] = rate
            scale = rate / rates[state]
            least = 0
            for o in range(3):
                x[o] /= distance
                if abs(x[o]) < abs(x[least]):
                    least = o
            y[:] = 0.0
            y[least] = 1.0
            cross(x, y, spin)
            length = np.sqrt(dot(spin, spin))
            for o in range(3):
                y[o] = spin[o] / length
            cross(x, y, spin)
            for o in range(3):
                axes[g, 0, o], axes[g, 1, o], axes[g, 2, o] = scale * x[o], scale * y[o], scale * spin[o]
        for k in range(index.shape[0]):
            i, j, g = index[k, IN_Q], index[k, IN_V], index[k, STRUCTURE]
            for o in range(3):
                y[o] = origin[o] + q[state, i + o]
            # Encke's form of gravity at R + y less that at R
            ratio = (dot(y, y) + 2.0 * dot(y, R[state])) / square
            cube = (1.0 + ratio) ** 1.5
            f = ratio * (3.0 + ratio * (3.0 + ratio)) / (1.0 + cube)
            for o in range(3):
                a[state, j + o] = -mu / (square**1.5 * cube) * (y[o] - f * R[state, o])
                y[o] -= middle[g, o]
            if index[k, AXES]:
                rotation(q[state, i + 3 : i + 7], A)
            for m in range(3):
                cross(axes[g, m], y, x)
                for o in range(3):
                    v[m, state, j + o] = x[o]
                    omega[m, state, k, o] = axes[g, m, o]
                if index[k, AXES]:
                    rotate_back(A, axes[g, m], x)
                    for o in range(3):
                        v[m, state, j + 3 + o] = x[o]
