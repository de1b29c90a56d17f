"""The residual of a flexible body by Lagrange's equations for any arrays, with complex steps; typed from the kinetic
energy (13) and the coordinates (16), (20), (29), for frames without offsets."""

import numpy as np

STEP = 1e-30


def cross(x):
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def rotation(p):
    s, x = p[0], cross(p[1:])
    return np.eye(3) + (2.0 / (p @ p)) * (s * x + x @ x)


class Lagrange:
    """q: 7 numbers for each interface, then the modes; v: 6 for each, angular velocities in own axes, and the modes."""

    def __init__(self, body, gravity, particles=None):
        self.body, self.gravity, self.k, self.particles = body, gravity, len(body.interfaces), particles

    def measured(self, q, v):
        """eta and its rate."""
        b, k = self.body, self.k
        R, x, rate = rotation(q[3:7]), [], []
        for s in range(1, k):
            at, A = q[7 * s : 7 * s + 7], b.interface_axes[s]
            arm = R.T @ (at[:3] - q[:3])
            C = R.T @ rotation(at[3:]) @ A.T
            theta = 2.0 * np.array([C[2, 1] - C[1, 2], C[0, 2] - C[2, 0], C[1, 0] - C[0, 1]]) / (1.0 + np.trace(C))
            B = (np.eye(3) - 0.5 * cross(theta)) / (1.0 + 0.25 * theta @ theta)
            x += [arm - b.interfaces[s], theta]
            rate += [R.T @ (v[6 * s : 6 * s + 3] - v[:3]) - np.cross(v[3:6], arm),
                     np.linalg.solve(B, A @ v[6 * s + 3 : 6 * s + 6] - C.T @ v[3:6])]  # fmt: skip
        x, rate = np.concatenate([*x, q[7 * k :]]), np.concatenate([*rate, v[6 * k :]])
        eta, eta_rate, self.raw = x.copy(), rate.copy(), (x, rate)
        for s in range(k - 1 if b.psi2 is not None else 0):
            for a in range(3):
                eta[6 * s + a] -= 0.5 * x @ b.psi2[s, a] @ x
                eta_rate[6 * s + a] -= x @ b.psi2[s, a] @ rate
        return eta, eta_rate

    def energies(self, q, v):
        b = self.body
        eta, rate = self.measured(q, v)
        s_j = b.S1 + np.einsum("jka,k->ja", b.S2, eta)
        s = b.first_moment + b.S1.T @ eta + 0.5 * np.einsum("jka,j,k->a", b.S2, eta, eta)
        J = b.inertia + np.einsum("jab,j->ab", b.J1, eta) + 0.5 * np.einsum("jkab,j,k->ab", b.J2, eta, eta)
        C = b.C0 + np.einsum("ija,i->ja", b.Q, eta)
        R, w = rotation(q[3:7]), v[3:6]
        u = R.T @ v[:3]
        if self.particles is not None:
            return self.by_particles(u, w, R, q, eta, rate)
        p = b.mass * u + np.cross(w, s) + s_j.T @ rate
        h = np.cross(s, u) + J @ w + C.T @ rate
        kinetic = 0.5 * (u @ p + w @ h + rate @ (s_j @ u + C @ w + b.M @ rate))
        potential = 0.5 * eta @ b.K @ eta - self.gravity @ (b.mass * q[:3] + R @ s)
        return kinetic, potential

    def by_particles(self, u, w, R, q, eta, rate):
        """The energies as sums over particles, where the second-order displacements depend on what is measured."""
        of, b = self.particles, self.body
        x, x_rate = self.raw
        place = of.X + np.einsum("j,jka->ka", eta, of.Psi) + 0.5 * np.einsum("i,j,ijka->ka", x, x, of.Psi2)
        speed = np.einsum("j,jka->ka", rate, of.Psi) + np.einsum("i,j,ijka->ka", x, x_rate, of.Psi2)
        speed = speed + u + np.cross(w, place)
        kinetic = 0.5 * np.einsum("k,ka,ka", of.m, speed, speed)
        return kinetic, 0.5 * eta @ b.K @ eta - self.gravity @ (b.mass * q[:3] + R @ (of.m @ place))

    def along(self, q, v, complex_part):
        """q moved by a complex step along velocities v."""
        moved = q.astype(complex)
        for s in range(self.k):
            i, j = 7 * s, 6 * s
            moved[i : i + 3] += complex_part * v[j : j + 3]
            w, p = v[j + 3 : j + 6], q[i + 3 : i + 7]
            moved[i + 3 : i + 7] += 0.5 * complex_part * np.concatenate([[-p[1:] @ w], p[0] * w + np.cross(p[1:], w)])
        moved[7 * self.k :] += complex_part * v[6 * self.k :]
        return moved

    def momenta(self, q, v):
        """dT/dv, exact since T is quadratic in v."""
        unit = np.eye(len(v))
        return np.array([0.5 * (self.energies(q, v + e)[0] - self.energies(q, v - e)[0]) for e in unit])

    def residual(self, q, v, a):
        """d/dt dT/dv + omega x dT/domega - dL along the coordinates + D etadot, by velocities."""
        step = 1j * STEP
        later = self.along(q, v, step)
        out = self.momenta(later, v + step * a).imag / STEP
        p = self.momenta(q, v)
        unit = np.eye(len(v))
        eta_rate = self.measured(q, v)[1]
        for j, e in enumerate(unit):
            kinetic, potential = self.energies(self.along(q, e, step), v.astype(complex))
            out[j] -= (kinetic - potential).imag / STEP
            out[j] += self.measured(q, e)[1] @ self.body.D @ eta_rate
        for s in range(self.k):
            j = 6 * s + 3
            out[j : j + 3] += np.cross(v[j : j + 3], p[j : j + 3])
        return out
