"""A bound of the error of residual vectors, by the forces that the reduced model leaves unbalanced.

With the basis B, G - G_r = r_c^T Z^-1 r_b with the residuals of Galerkin's method

    r_b = F - Z B (B^T Z B)^-1 B^T F,   r_c = c - Z^T B (B^T Z B)^-T B^T c

which act on the modes left out alone. Weighted by W^-1 their norms take static solutions only, as in
``femb.analysis.reduction.tail``. Source: docs/theory/linearisation.md, equation (24a).
"""

from dataclasses import dataclass

import numpy as np

from femb.analysis.modes.flexibility import Flexibility
from femb.analysis.reduction.kept_modes import damping_products, stiffness_products
from femb.analysis.reduction.model import LinearModel
from femb.analysis.reduction.tail import SecondOrderModel, gram_of
from femb.base.types import Complexes, Floats


@dataclass(frozen=True, eq=False)
class ResidualTail:
    """Inner products gram (t, t) of m inputs, the rows P, V, A of p outputs, M and K times r vectors, and C times the
    basis, on the modes beside the kept ones.

    damping (r,) : of the vectors, 1/s. next_omega : rad/s, of the lowest mode that is not kept; infinite without one.
    """

    gram: Floats
    inputs: int
    outputs: int
    damping: Floats
    next_omega: float

    @classmethod
    def of(
        cls,
        full: LinearModel,
        basis: Floats,
        vectors: Floats,
        damping: Floats,
        kept: Floats,
        squares: Floats,
        flexibility: Flexibility,
        next_omega: float,
    ) -> "ResidualTail":
        """Of a basis whose last columns are the vectors (n_v, r), after the modes ``kept`` with omega^2 ``squares``."""
        M = full.matrices[0]
        rows = full.rows
        solved = [
            rows.forces,
            rows.position.T,
            rows.rate.T,
            rows.acceleration.T,
            M @ vectors,
            damping_products(full.motion, basis),
        ]
        columns = np.where(full.motion.held[:, None], 0.0, np.hstack(solved))
        flexible, used = np.zeros_like(columns), np.any(columns, axis=0)
        flexible[:, used] = flexibility(columns[:, used])
        stiff = stiffness_products(full.motion, vectors)
        gram = gram_of(np.hstack([columns, stiff]), np.hstack([flexible, vectors]), kept, squares)
        return cls(gram, len(rows.inputs), len(rows.outputs), damping, next_omega)

    def bound(self, reduced: SecondOrderModel, omega: float) -> Floats:
        """(p, m): the largest difference of the transfer matrices at omega, rad/s; infinite where nothing is known."""
        m, p, r, n = self.inputs, self.outputs, len(self.damping), len(reduced.names)
        if omega >= self.next_omega:
            return np.full((p, m), np.inf)
        s, most = 1j * omega, 1.0 / (1.0 - (omega / self.next_omega) ** 2)
        inverse = reduced.inverse(s)
        values, axes = np.linalg.eigh(self.gram)
        root = axes * np.sqrt(np.maximum(values, 0.0))
        of_inputs, of_outputs = np.zeros((len(values), m), dtype=complex), np.zeros((len(values), p), dtype=complex)
        of_inputs[:m] = np.eye(m)
        for k in range(3):
            of_outputs[m + k * p : m + (k + 1) * p] = s**k * np.eye(p)
        by_motion = np.zeros((len(values), n), dtype=complex)
        at = m + 3 * p
        by_motion[at : at + r, n - r :] = np.diag(s * s + s * self.damping)
        by_motion[at + r : at + r + n] = s * np.eye(n)
        by_motion[at + r + n :, n - r :] = np.eye(r)
        of_inputs -= by_motion @ inverse @ reduced.forces
        of_outputs -= by_motion @ inverse.T @ reduced.rows(s).T
        own = self._own(reduced, s, root, by_motion[:, : n - r])
        if most * own >= 1.0:
            return np.full((p, m), np.inf)
        sizes = [np.linalg.norm(root.T @ x, axis=0) for x in (of_outputs, of_inputs)]
        return np.asarray(most / (1.0 - most * own) * np.outer(*sizes))

    def _own(self, reduced: SecondOrderModel, s: complex, root: Floats, coupled: Complexes) -> float:
        """How the modes left out act on themselves through dampers and the kept motions."""
        k = coupled.shape[1]
        Z = s * s * reduced.mass + s * reduced.damping + reduced.stiffness
        through = root.T @ coupled
        return float(np.linalg.norm(through @ np.linalg.inv(Z[:k, :k]) @ through.T, 2)) if k else 0.0
