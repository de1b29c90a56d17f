"""A straight Euler-Bernoulli beam along x as a flexible body: finite elements, Craig-Bampton basis, arrays of second
order with geometric stiffening; sections 2, 3 and 9 of the theory, typed for this one case."""

import numpy as np
from oracles.modal_example import AXES, axial, inertia
from scipy.linalg import eigh, solve

from femb.elements.modal.data import ReducedBody
from femb.elements.modal.kernels import product_of
from femb.numerics.rotations import cross_matrix


def _plane(L, sign):
    """Hermite matrices of one element: stiffness, mass, stress stiffness, rotary inertia; sign of the slope's dof."""
    turn = np.diag([1.0, sign, 1.0, sign])
    K = np.array([[12, 6 * L, -12, 6 * L], [6 * L, 4 * L**2, -6 * L, 2 * L**2], [-12, -6 * L, 12, -6 * L],
                  [6 * L, 2 * L**2, -6 * L, 4 * L**2]]) / L**3  # fmt: skip
    M = np.array([[156, 22 * L, 54, -13 * L], [22 * L, 4 * L**2, 13 * L, -3 * L**2], [54, 13 * L, 156, -22 * L],
                  [-13 * L, -3 * L**2, -22 * L, 4 * L**2]]) * L / 420  # fmt: skip
    S = np.array([[36, 3 * L, -36, 3 * L], [3 * L, 4 * L**2, -3 * L, -(L**2)], [-36, -3 * L, 36, -3 * L],
                  [3 * L, -(L**2), -3 * L, 4 * L**2]]) / (30 * L)  # fmt: skip
    return [turn @ A @ turn for A in (K, M, S)]


class BeamModel:
    """K and M of a beam of ``elements`` with line mass, EA, GJ, EI (y, z) and inertia per length (x, y, z)."""

    def __init__(self, length, elements, line_mass, EA, GJ, EI, line_inertia=(0.0, 0.0, 0.0)):
        self.count, self.h = elements + 1, length / elements
        self.X = np.zeros((self.count, 3))
        self.X[:, 0] = np.linspace(0.0, length, self.count)
        self.EA = EA
        h, size = self.h, 6 * self.count
        self.K, self.M = np.zeros((2, size, size))
        bar = np.array([[1.0, -1.0], [-1.0, 1.0]]) / h
        rod = h / 6.0 * np.array([[2.0, 1.0], [1.0, 2.0]])
        for e in range(elements):
            for dof, stiff, mass in ((0, EA, line_mass), (3, GJ, line_inertia[0])):
                at = np.ix_([6 * e + dof, 6 * e + 6 + dof], [6 * e + dof, 6 * e + 6 + dof])
                self.K[at] += stiff * bar
                self.M[at] += mass * rod
            for (v, r, sign), stiff, rotary in zip(((1, 5, 1), (2, 4, -1)), EI[::-1], line_inertia[:0:-1], strict=True):
                K, M, S = _plane(h, sign)
                at = self._plane_dofs(e, v, r)
                self.K[at] += stiff * K
                self.M[at] += line_mass * M + rotary * S
        self.D0 = np.vstack([np.block([[AXES, -cross_matrix(x)], [np.zeros((3, 3)), AXES]]) for x in self.X])

    def _plane_dofs(self, e, v, r):
        dofs = [6 * e + v, 6 * e + r, 6 * e + 6 + v, 6 * e + 6 + r]
        return np.ix_(dofs, dofs)

    def stress_stiffness(self, u):
        """K_s of the tension in the elements at nodal displacements u."""
        K = np.zeros_like(self.K)
        for e in range(self.count - 1):
            tension = self.EA * (u[6 * e + 6] - u[6 * e]) / self.h
            for v, r, sign in ((1, 5, 1), (2, 4, -1)):
                K[self._plane_dofs(e, v, r)] += tension * _plane(self.h, sign)[2]
        return K

    def held(self, load):
        """Displacements under nodal loads (6 N, ...) with the root held."""
        return np.concatenate([np.zeros_like(load[:6]), solve(self.K[6:, 6:], load[6:], assume_a="pos")])

    def shapes(self, modes, tip):
        """Psi (6 N, n): constraint shapes of the tip, if it is an interface, and the first modes."""
        size = 6 * self.count
        inner = np.arange(6, size - 6 if tip else size)
        V = eigh(self.M[np.ix_(inner, inner)], self.K[np.ix_(inner, inner)])
        values, V = V[0][::-1][:modes], V[1][:, ::-1][:, :modes]
        fixed = np.zeros((size, modes))
        fixed[inner] = V / np.sqrt(values)
        if not tip:
            return fixed
        b = np.arange(size - 6, size)
        Psi = np.zeros((size, 6))
        Psi[b] = np.eye(6)
        Psi[inner] = -solve(self.K[np.ix_(inner, inner)], self.K[np.ix_(inner, b)])
        return np.hstack([Psi, fixed])

    def reduced(self, modes, tip=False, stiffening=True, second=True, **words):
        """The body of these shapes; without ``second`` only what is constant."""
        Psi = self.shapes(modes, tip)
        n, rigid = Psi.shape[1], self.D0.T @ self.M @ self.D0
        linear = (self.D0.T @ self.M @ Psi).T
        first = rigid[3:, :3]  # s0~
        s0 = np.array([first[2, 1], first[0, 2], first[1, 0]])
        J1, J2, Q = self.lumps(Psi)
        S2, psi2, inertia_of_rest, twist = np.zeros((n, n, 3)), np.zeros((1, 3, n, n)), J2.copy(), Q.copy()
        if stiffening:
            for a in range(3):
                S2[:, :, a] = G = self.geometric(Psi, np.outer(np.ones(self.count), AXES[a]))
                Q[:, :, a] += self.geometric(Psi, np.cross(AXES[a], self.X))
                load = np.zeros(6 * self.count)
                load[-6 + a] = 1.0
                psi2[0, a] = -Psi.T @ self.stress_stiffness(self.held(load)) @ Psi
                for b in range(3):
                    field = 0.5 * (np.outer(AXES[a], AXES[b]) + np.outer(AXES[b], AXES[a])) - (a == b) * AXES
                    J2[:, :, a, b] -= 2.0 * self.geometric(Psi, self.X @ field.T)
            assert np.allclose(G, G.T)
        arrays = {"J1": J1, "J2": J2, "Q": Q, "S2": S2, "included": True} if second else {}
        if second:
            arrays["B2"] = product_of(J2 - inertia_of_rest, Q - twist)
        return ReducedBody(
            self.X[[0, -1]] if tip else self.X[:1], np.tile(AXES, (1 + tip, 1, 1)), ("root", "tip")[: 1 + tip],
            rigid[0, 0], s0, rigid[3:, 3:], linear[:, :3], linear[:, 3:], Psi.T @ self.M @ Psi, Psi.T @ self.K @ Psi,
            psi2=psi2 if tip and stiffening else None, nodes=self.X,
            node_shapes=Psi.reshape(self.count, 6, n)[:, :3].transpose(2, 0, 1),
            cells={"line": np.stack([np.arange(self.count - 1), np.arange(1, self.count)], axis=1)}, **arrays, **words,
        )  # fmt: skip

    def geometric(self, Psi, field):
        """Psi^T K_s(u) Psi of the inertia load of an acceleration field (N, 3)."""
        c = np.zeros((self.count, 6))
        c[:, :3] = field
        c[:, 5], c[:, 4] = np.gradient(field[:, 1], self.h), -np.gradient(field[:, 2], self.h)
        return Psi.T @ self.stress_stiffness(self.held(-self.M @ c.ravel())) @ Psi

    def lumps(self, Psi):
        """J1, J2, Q of lumped nodes, equations (7) and (8)."""
        n = Psi.shape[1]
        u = Psi.reshape(self.count, 6, n)
        J1, J2, Q = np.zeros((n, 3, 3)), np.zeros((n, n, 3, 3)), np.zeros((n, n, 3))
        E, G = self.D0[:, :3], self.D0[:, 3:]
        for k, x in enumerate(self.X):
            columns = self.M[:, 6 * k : 6 * k + 6]
            m = np.trace(E.T @ columns[:, :3]) / 3.0
            skew = E.T @ columns[:, 3:]
            skew = -0.5 * (skew - skew.T) / m
            d = np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
            J = G.T @ columns[:, 3:] - cross_matrix(x + d) @ E.T @ columns[:, 3:]
            J = 0.5 * (J + J.T)
            theta = u[k, 3:].T
            psi = u[k, :3].T + np.cross(theta, d)
            B0, B = m * np.einsum("a,jb->jab", x + d, psi), m * np.einsum("ia,jb->ijab", psi, psi)
            t = cross_matrix(theta)
            J1 += 2.0 * inertia(B0) + t @ J - J @ t
            tt = np.einsum("iab,jbc->ijac", t, t)
            tt = tt + np.swapaxes(tt, 0, 1)
            turned = np.einsum("iab,bc,jcd->ijad", t, J, t)
            J2 += inertia(B) + np.swapaxes(inertia(B), 0, 1) - turned - np.swapaxes(turned, 0, 1)
            J2 += 0.5 * (tt @ J + J @ tt)
            Q += axial(B) + np.einsum("iab,jb->ija", t @ J - 0.5 * J @ t, theta)
        return J1, J2, Q
