"""Kernel of the gravity of a central body: see ``orbit_batch`` and docs/theory/orbit.md, equations (4) and (5)."""

import numpy as np

from femb.numerics.compile import kernel
from femb.numerics.vector3 import IN_Q, cross, dot


@kernel
def gravity(index, mu, origin, R, q, middle, acceleration, axes, rates):
    """Gravity at the frames less that at the origin, and the axes of its gradient in all structures, at s states.

    index (F, 4), middle (s, g, 3) : as of ``mass_field_kernels``. R (s, 3) : origin of the frame from the central body.
    Set are: acceleration (s, F, 3); axes (s, g, 3, 3) : rows along the direction to the body and two across it, of the
    length 1 in the first structure, and in others in proportion to their n; rates (s,) : n of the first structure.
    """
    w = np.empty((3, 3))
    x, y, z = w[0], w[1], w[2]
    for state in range(q.shape[0]):
        square = dot(R[state], R[state])
        for g in range(middle.shape[1]):
            for o in range(3):
                x[o] = R[state, o] + origin[o] + middle[state, g, o]
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
            cross(x, y, z)
            length = np.sqrt(dot(z, z))
            for o in range(3):
                y[o] = z[o] / length
            cross(x, y, z)
            for o in range(3):
                axes[state, g, 0, o], axes[state, g, 1, o] = scale * x[o], scale * y[o]
                axes[state, g, 2, o] = scale * z[o]
        for k in range(index.shape[0]):
            for o in range(3):
                y[o] = origin[o] + q[state, index[k, IN_Q] + o]
            # Encke's form of gravity at R + y less that at R
            ratio = (dot(y, y) + 2.0 * dot(y, R[state])) / square
            cube = (1.0 + ratio) ** 1.5
            f = ratio * (3.0 + ratio * (3.0 + ratio)) / (1.0 + cube)
            for o in range(3):
                acceleration[state, k, o] = -mu / (square**1.5 * cube) * (y[o] - f * R[state, o])
