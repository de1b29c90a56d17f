"""Kernel of the energies and momenta of exact beam elements: equations (9) and (21) of docs/theory/exact_beam.md."""

import numpy as np

from femb.elements.exact.columns import LENGTH, MASS, POINTS, H
from femb.elements.exact.energy import compliance, solve, strain
from femb.elements.exact.force import element_coordinates
from femb.elements.exact.inertia import angular_momenta
from femb.numerics.compile import kernel
from femb.numerics.vector3 import assign


@kernel
def energy_momentum(index, ends, data, free, q, v, fixed, gravity, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the origin, at s states."""
    p, R, r, small = np.empty((2, 4)), np.empty((4, 3, 3)), np.empty((16, 3)), np.empty((6, 3))
    six, mats, three = np.empty((3, 6)), np.empty((2, 6, 6)), np.empty((2, 3, 3))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            d, e, e0 = six[0], six[1], six[2]
            element_coordinates(index[k], ends[k], q[s], fixed, p, R, r, small, d, three[0], three[1])
            compliance(data[k], d, mats[0], mats[1])
            strain(data[k], d, free[s, k], e)
            assign(e, e0)
            solve(mats[1], e)
            potential = 0.0
            for i in range(6):
                potential += 0.5 * e[i] * e0[i] / data[k, LENGTH]
            omega, h, x, xd = r[2:4], r[4:6], r[6:10], r[10:14]
            for m in range(4):
                f = m // 2
                i, j, o = index[k, f], index[k, 2 + f], POINTS + 3 * m
                y0, y1, y2 = data[k, o], data[k, o + 1], data[k, o + 2]
                for c in range(3):
                    omega[f, c] = v[s, j + 3 + c] if j >= 0 else 0.0
                w0, w1, w2 = omega[f, 0], omega[f, 1], omega[f, 2]
                c0, c1, c2 = w1 * y2 - w2 * y1, w2 * y0 - w0 * y2, w0 * y1 - w1 * y0
                Rn = R[2 * f]
                for c in range(3):
                    x[m, c] = Rn[c, 0] * y0 + Rn[c, 1] * y1 + Rn[c, 2] * y2
                    xd[m, c] = Rn[c, 0] * c0 + Rn[c, 1] * c1 + Rn[c, 2] * c2
                    if m % 2 == 0:
                        x[m, c] += q[s, i + c] if i >= 0 else fixed[-1 - i, c]
                        xd[m, c] += v[s, j + c] if j >= 0 else 0.0
            kinetic, mass = 0.0, data[k, MASS]
            for m in range(4):
                p0, p1, p2 = 0.0, 0.0, 0.0
                for n in range(4):
                    weight = mass * H[m, n]
                    p0 += weight * xd[n, 0]
                    p1 += weight * xd[n, 1]
                    p2 += weight * xd[n, 2]
                kinetic += 0.5 * (p0 * xd[m, 0] + p1 * xd[m, 1] + p2 * xd[m, 2])
                share = mass * (H[m, 0] + H[m, 2])
                potential -= share * (gravity[0] * x[m, 0] + gravity[1] * x[m, 1] + gravity[2] * x[m, 2])
                if m % 2 == 0:
                    out[s, 2] += p0
                    out[s, 3] += p1
                    out[s, 4] += p2
                out[s, 5] += x[m, 1] * p2 - x[m, 2] * p1
                out[s, 6] += x[m, 2] * p0 - x[m, 0] * p2
                out[s, 7] += x[m, 0] * p1 - x[m, 1] * p0
            angular_momenta(data[k], omega, h)
            for f in range(2):
                Rn = R[2 * f]
                for c in range(3):
                    kinetic += 0.5 * omega[f, c] * h[f, c]
                    out[s, 5 + c] += Rn[c, 0] * h[f, 0] + Rn[c, 1] * h[f, 1] + Rn[c, 2] * h[f, 2]
            out[s, 0] += kinetic
            out[s, 1] += potential
