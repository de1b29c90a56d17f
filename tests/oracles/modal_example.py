"""A small flexible body of particles with random shapes, and its arrays from sums over the particles."""

import numpy as np

from femb.elements.modal.data import ReducedBody
from femb.numerics import rotations

AXES = np.eye(3)


def inertia(P):
    """I(P) of section 3."""
    return np.trace(P, axis1=-2, axis2=-1)[..., None, None] * AXES - 0.5 * (P + np.swapaxes(P, -1, -2))


def axial(B):
    return np.stack([B[..., 1, 2] - B[..., 2, 1], B[..., 2, 0] - B[..., 0, 2], B[..., 0, 1] - B[..., 1, 0]], axis=-1)


class Particles:
    """Masses m (N,), places X (N, 3), shapes Psi (n, N, 3) and second-order displacements Psi2 (n, n, N, 3)."""

    def __init__(self, seed=0, interfaces=2, modes=3, shape=0.15, second=0.05):
        rng = np.random.default_rng(seed)
        self.interfaces, self.n = interfaces, 6 * (interfaces - 1) + modes
        n = self.n
        self.m, self.X = rng.uniform(0.05, 0.1, 40), rng.normal(size=(40, 3))
        self.Psi = shape * rng.normal(size=(n, 40, 3))
        bent = second * rng.normal(size=(n, n, 40, 3))
        self.Psi2 = 0.5 * (bent + np.swapaxes(bent, 0, 1))
        stiff, damped = rng.normal(size=(2, n, n))
        self.K, self.D = stiff @ stiff.T + 5.0 * np.eye(n), 0.05 * damped @ damped.T
        points = rng.normal(size=(interfaces, 3))
        points[0] = 0.0
        axes = rotations.rotation_matrix(rotations.exponential(rng.normal(size=(interfaces, 3))))
        axes[0] = AXES
        self.points, self.axes = points, axes
        curls = 0.1 * rng.normal(size=(interfaces - 1, 3, n, n))
        self.psi2 = 0.5 * (curls + np.swapaxes(curls, 2, 3))

    def strained(self, scale=0.1):
        """With second-order displacements that are linear in X, for which the arrays of ``consistent`` are exact."""
        rng = np.random.default_rng(1)
        bent = scale * rng.normal(size=(self.n, self.n, 3, 4))
        bent = 0.5 * (bent + np.swapaxes(bent, 0, 1))
        self.Psi2 = np.einsum("ijaA,kA->ijka", bent, np.column_stack([np.ones(len(self.X)), self.X]))
        return self

    def reduced(self, full=True, psi2=True, second=True, consistent=False):
        """Its arrays; without ``second`` the second-order displacements are left out; ``consistent`` with B2."""
        m, X, Psi = self.m, self.X, self.Psi
        Psi2 = self.Psi2 if second else np.zeros_like(self.Psi2)
        B0 = np.einsum("k,ka,jkb->jab", m, X, Psi)
        B = np.einsum("k,ika,jkb->ijab", m, Psi, Psi)
        B2 = np.einsum("k,ka,ijkb->ijab", m, X, Psi2)
        arrays = {}
        if full:
            arrays = {
                "J1": 2.0 * inertia(B0), "J2": inertia(B) + np.swapaxes(inertia(B), 0, 1) + 2.0 * inertia(B2),
                "Q": axial(B) + axial(B2), "S2": np.einsum("k,ijka->ija", m, Psi2), "included": True,
            }  # fmt: skip
        if consistent:
            arrays["B2"] = B2
        return ReducedBody(
            self.points, self.axes, ("root", *(f"p{k}" for k in range(1, self.interfaces))), m.sum(), m @ X,
            inertia(np.einsum("k,ka,kb->ab", m, X, X)), np.einsum("k,jka->ja", m, Psi), axial(B0),
            np.einsum("k,ika,jka->ij", m, Psi, Psi), self.K, D=self.D, psi2=self.psi2 if psi2 else None,
            nodes=X, node_shapes=Psi, cells={"vertex": np.arange(40)[:, None]}, **arrays,
        )  # fmt: skip
