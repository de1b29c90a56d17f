"""Geometric stiffening: stress stiffness of inertia loads and of forces on interfaces, in the arrays of second order.

For each of twelve accelerations c(X) the root is held, K u = -M c, and G = Psi^T K_s(u) Psi; then

    S2_a += G^a      Q_a += G^alpha_a      J2_ab -= 2 G^ab                                               (28)

B2, the moments int X Psi2^T dm of second-order displacements, has what Q and J2 gain: ax(B2) and 2 I(B2).

Source: docs/theory/modal_body.md, section 9.
"""

import numpy as np

from femb.analysis.fem.model import FeModel
from femb.base.types import Floats
from femb.elements.modal.mass_moments import product_of, symmetric

PAIRS = ((0, 0), (1, 1), (2, 2), (1, 2), (2, 0), (0, 1))
# Names of the twelve accelerations.
LOADS = ("x", "y", "z", "rx", "ry", "rz", *("xyz"[i] + "xyz"[j] for i, j in PAIRS))


def acceleration_fields(model: FeModel, point: Floats) -> Floats:
    """(n, 12): accelerations along, accelerations about, and by products of spins about the three axes."""
    D = model.rigid_motions(point)
    fields = np.zeros((model.size, 12))
    fields[:, :6] = D
    lines = model.component < 3
    X, a = (model.nodes[model.node_of] - point)[lines], model.component[lines]
    for k, (i, j) in enumerate(PAIRS):
        c = np.zeros((3, 3))
        c[i, j] += 0.5
        c[j, i] += 0.5
        c -= float(i == j) * np.eye(3)
        fields[lines, 6 + k] = np.einsum("nb,nb->n", c[a], X)
    return fields


def stiffening(G: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """S2 (n, n, 3), what Q (n, n, 3) and J2 (n, n, 3, 3) gain, and B2 (n, n, 3, 3), of G (12, n, n)."""
    G = symmetric(G)
    J2 = np.zeros((*G.shape[1:], 3, 3))
    for k, (i, j) in enumerate(PAIRS):
        J2[:, :, i, j] = J2[:, :, j, i] = -2.0 * G[6 + k]
    Q = G[3:6].transpose(1, 2, 0)
    return G[:3].transpose(1, 2, 0), Q, J2, product_of(J2, Q)
