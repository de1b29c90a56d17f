"""A straight rod that bends, twists, stretches and shears, clamped, with a dead force at its end: by collocation.

Equations of equilibrium of Simo and Reissner, r' = R (e1 + F_s n), q' = q (0, kappa) / 2, m' = -r' x f, at Chebyshev
points; independent of elements, and exact to rounding from some twenty points on.
"""

import numpy as np

STEP = 1e-30


def chebyshev(n, length):
    """Points from 0 to the length and the matrix of derivatives there."""
    x = np.cos(np.pi * np.arange(n + 1) / n)
    c = np.where((np.arange(n + 1) % n) == 0, 2.0, 1.0) * (-1.0) ** np.arange(n + 1)
    gaps = x[:, None] - x[None, :] + np.eye(n + 1)
    D = np.outer(c, 1.0 / c) / gaps
    D -= np.diag(D.sum(axis=1))
    return 0.5 * length * (x[::-1] + 1.0), 2.0 / length * D[::-1, ::-1]


def tip(force, length, stretch, bend, points=24, steps=4):
    """(3,) place of the end of a rod along x under a force (3,) there.

    stretch (3,) : compliances of extension and shear along y and z, 1/N; bend (3,) : of twist and bending about y and
    z, 1/(N m2).
    """
    s, D = chebyshev(points, length)
    u = np.zeros((len(s), 10))
    u[:, 0], u[:, 3] = s, 1.0

    def residual(u, f):
        r, p, v, m = u[:, :3], u[:, 3:4], u[:, 4:7], u[:, 7:]

        def turned(x, sign):
            t = 2.0 * np.cross(sign * v, x)
            return x + p * t + np.cross(sign * v, t)

        kappa = turned(m, -1.0) * bend
        slope = turned(np.array([1.0, 0.0, 0.0]) + turned(f + 0.0 * r, -1.0) * stretch, 1.0)
        turn = np.hstack([-0.5 * np.sum(v * kappa, axis=1, keepdims=True), 0.5 * (p * kappa + np.cross(v, kappa))])
        out = D @ u - np.hstack([slope, turn, -np.cross(slope, f + 0.0 * r)])
        out[0, :7] = u[0, :7] - np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        out[-1, 7:] = m[-1]
        return out.ravel()

    for part in np.arange(1, steps + 1) / steps:
        for _ in range(30):
            columns = []
            for k in range(u.size):
                x = u.astype(complex).ravel()
                x[k] += 1j * STEP
                columns.append(np.imag(residual(x.reshape(u.shape), part * force)) / STEP)
            change = np.linalg.solve(np.array(columns).T, -residual(u, part * force)).reshape(u.shape)
            u = u + change
            if np.abs(change).max() < 1e-13:
                break
    return u[-1, :3]
