"""Kernel of the drag on points of beams: see ``drag`` and docs/theory/beam_loads.md, section 3."""

import numpy as np

from femb.numerics.compile import kernel
from femb.numerics.vector3 import dot


@kernel
def drag(values, slopes, numbers, stream, factor, x, rates, force, by_v, by_slope):
    """Set the force per length at the points (s, e, 3, 3), and its derivatives (s, e, 3, 3, 3) unless they are empty.

    numbers (3,) : density width / 2 times the coefficients across and along the beam, and the viscous one. stream (3,)
    m/s : what the velocity of a point in ``rates`` lacks to be relative to the fluid. factor (s,) : of the force.
    """
    y = np.empty((4, 3))
    u, t, across, unit = y[0], y[1], y[2], y[3]
    across_c, along_c, viscous = numbers[0], numbers[1], numbers[2]
    for s in range(x.shape[0]):
        for n in range(x.shape[1]):
            for g in range(3):
                for o in range(3):
                    u[o], t[o] = stream[o], 0.0
                    for a in range(4):
                        u[o] += values[g, a] * rates[s, n, a, o]
                        t[o] += slopes[g, a] * x[s, n, a, o]
                size = np.sqrt(dot(t, t))
                for o in range(3):
                    t[o] /= size
                along = dot(u, t)
                for o in range(3):
                    across[o] = u[o] - along * t[o]
                speed = np.sqrt(dot(across, across))
                c, c_t = across_c * speed, along_c * abs(along)
                for o in range(3):
                    force[s, n, g, o] = factor[s] * (-c * across[o] - c_t * along * t[o] - viscous * u[o])
                    unit[o] = across[o] / speed if speed > 0.0 else 0.0
                if by_v.size == 0:
                    continue
                for i in range(3):
                    for j in range(3):
                        one = 1.0 if i == j else 0.0
                        tt = t[i] * t[j]
                        # of |u_n| u_n by u_n, times |u_n|; the change of u_n with t is -(t u_n^T + along (1 - t t^T))
                        both, turn = one - tt + unit[i] * unit[j], t[i] * across[j]
                        by_v[s, n, g, i, j] = factor[s] * (-c * both - 2.0 * c_t * tt - viscous * one)
                        by_slope[s, n, g, i, j] = (
                            factor[s] / size * (c * (turn + along * both) - c_t * (2.0 * turn + along * (one - tt)))
                        )
