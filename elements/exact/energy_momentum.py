"""Kernel of the energies and momenta of exact beam elements: equations (9) and (21) of docs/theory/exact_beam.md."""

import numpy as np

from femb.elements.exact.columns import LENGTH, MASSES, POINTS
from femb.elements.exact.energy import compliance, solve, strain
from femb.elements.exact.force import element_coordinates
from femb.elements.exact.frames import gather_poses, gather_rates
from femb.elements.exact.inertia import angular_momenta
from femb.numerics.compile import inlined, kernel
from femb.numerics.lanes import LANES, lanes


@kernel
def energy_momentum(index, kind, ends, data, free, q, v, fixed, gravity, out):
    """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the origin, at s states.

    Groups of elements as in ``femb.elements.exact.force.forces``.
    """
    none, sums = np.zeros((6, LANES)), np.empty((8, LANES))
    poses, rates = np.empty((2, 7, LANES)), np.empty((2, 6, LANES))
    p, R, small = lanes(np.empty((3, 4, LANES))), lanes(np.empty((4, 3, 3, LANES))), lanes(np.empty((6, 3, LANES)))
    r, six = lanes(np.empty((16, 3, LANES))), lanes(np.empty((3, 6, LANES)))
    mats, three = lanes(np.empty((2, 6, 6, LANES))), lanes(np.empty((2, 3, 3, LANES)))
    for g in range(kind.shape[0]):
        for s in range(q.shape[0]):
            gather_poses(index, g * LANES, q[s], fixed, poses)
            gather_rates(index, g * LANES, v[s], rates)
            strains = lanes(free[s, g] if free.size else none)
            element_energy_momentum(
                lanes(poses), lanes(rates), lanes(ends[kind[g]]), lanes(data[kind[g]]), strains, gravity,
                p, R, r, small, six, mats, three, lanes(sums),
            )  # fmt: skip
            for m in range(min(LANES, index.shape[0] - g * LANES)):
                for i in range(8):
                    out[s, i] += sums[i, m]


@inlined
def element_energy_momentum(poses, rates, ends, data, free, gravity, p, R, r, small, six, mats, three, sums):
    """sums (8,) of one element. r (16, 3), six (3, 6), and the arrays of ``element_force`` : work."""
    d, e, e0 = six[0], six[1], six[2]
    element_coordinates(poses, ends, p, R, r, small, d, three[0], three[1])
    compliance(data, d, mats[0], mats[1])
    strain(data, d, free, e)
    for i in range(6):
        e0[i] = e[i]
    solve(mats[1], e)
    sums[:] = 0.0
    for i in range(6):
        sums[1] += 0.5 * e[i] * e0[i] / data[LENGTH]
    omega, h, x, xd = r[2:4], r[4:6], r[6:10], r[10:14]
    for m in range(4):
        f, o = m // 2, POINTS + 3 * m
        y0, y1, y2 = data[o], data[o + 1], data[o + 2]
        for c in range(3):
            omega[f, c] = rates[f, 3 + c]
        w0, w1, w2 = omega[f, 0], omega[f, 1], omega[f, 2]
        c0, c1, c2 = w1 * y2 - w2 * y1, w2 * y0 - w0 * y2, w0 * y1 - w1 * y0
        Rn = R[2 * f]
        for c in range(3):
            x[m, c] = Rn[c, 0] * y0 + Rn[c, 1] * y1 + Rn[c, 2] * y2
            xd[m, c] = Rn[c, 0] * c0 + Rn[c, 1] * c1 + Rn[c, 2] * c2
            if m % 2 == 0:
                x[m, c] += poses[f, c]
                xd[m, c] += rates[f, c]
    for m in range(4):
        p0, p1, p2 = 0.0, 0.0, 0.0
        for n in range(4):
            weight = data[MASSES + 4 * m + n]
            p0 += weight * xd[n, 0]
            p1 += weight * xd[n, 1]
            p2 += weight * xd[n, 2]
        sums[0] += 0.5 * (p0 * xd[m, 0] + p1 * xd[m, 1] + p2 * xd[m, 2])
        share = data[MASSES + 4 * m] + data[MASSES + 4 * m + 2]
        sums[1] -= share * (gravity[0] * x[m, 0] + gravity[1] * x[m, 1] + gravity[2] * x[m, 2])
        if m % 2 == 0:
            sums[2] += p0
            sums[3] += p1
            sums[4] += p2
        sums[5] += x[m, 1] * p2 - x[m, 2] * p1
        sums[6] += x[m, 2] * p0 - x[m, 0] * p2
        sums[7] += x[m, 0] * p1 - x[m, 1] * p0
    angular_momenta(data, omega, h)
    for f in range(2):
        Rn = R[2 * f]
        for c in range(3):
            sums[0] += 0.5 * omega[f, c] * h[f, c]
            sums[5 + c] += Rn[c, 0] * h[f, 0] + Rn[c, 1] * h[f, 1] + Rn[c, 2] * h[f, 2]
