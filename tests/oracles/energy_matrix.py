"""The energy matrix as its source recurs it, to be read and to check the kernels by; real or complex coordinates.

Rows, as in the source: a vector is a row (X_k) of components, H_k = R_k^T takes axes of the inertial frame to those of
segment k. Source: docs/theory/hamiltonian.md, equations (22) to (28).
"""

from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.formulations.hamiltonian.segments import GROUND, Tree


def hinge_rotation(tree: Tree, k: int, q: Any) -> tuple[Any, Any]:
    """[alpha_k] (3, 3), axes of segment k in components of its parent, and its derivative by q_k; equation (22)."""
    mounting = tree.mounting[k].T
    if tree.sliding[k]:
        return mounting, np.zeros((3, 3))
    n = tree.axis[k]
    tilde = np.cross(np.eye(3), n)
    alpha = (np.cos(q) * np.eye(3) + (1.0 - np.cos(q)) * np.outer(n, n) - np.sin(q) * tilde) @ mounting
    return alpha, -tilde @ alpha


def partial_derivatives(tree: Tree, q: Any, attitude: Floats | None = None) -> tuple[list[Any], list[Any], list[Any]]:
    """H_k (3, 3), dH_k (N, 3, 3) and d(R_k,cg) (N, 3) by all N coordinates, for the base (last) and every segment.

    On a free base N = 6 + n and the first six are its turns about inertial axes and its translations; ``attitude`` (3,
    3) is its rotation matrix. On the ground N = n. Equations (23) to (26).
    """
    q = np.asarray(q)
    extra = 6 if tree.floating else 0
    count = extra + tree.n
    H = [np.eye(3, dtype=q.dtype)] * (tree.n + 1)
    dH = [np.zeros((count, 3, 3), dtype=q.dtype)] * (tree.n + 1)
    dR = [np.zeros((count, 3), dtype=q.dtype)] * (tree.n + 1)
    center = [*tree.center, np.zeros(3)]
    if tree.base is not None:
        H[GROUND] = (np.eye(3) if attitude is None else attitude).T.astype(q.dtype)
        center[GROUND] = tree.base.center_of_mass
        dH[GROUND], dR[GROUND] = dH[GROUND].copy(), dR[GROUND].copy()
        for a, axis in enumerate(np.eye(3)):
            dH[GROUND][a] = -H[GROUND] @ np.cross(np.eye(3), axis)
            dR[GROUND][a] = center[GROUND] @ dH[GROUND][a]
            dR[GROUND][3 + a] = axis
    for k in range(tree.n):
        h = tree.parent[k]
        alpha, turned = hinge_rotation(tree, k, q[k])
        slide = tree.mounting[k] @ tree.axis[k] if tree.sliding[k] else np.zeros(3)
        H[k] = alpha @ H[h]
        dH[k] = alpha @ dH[h]
        dH[k][extra + k] = turned @ H[h]
        arm = tree.at[k] + q[k] * slide - center[h]
        dR[k] = dR[h] + center[k] @ dH[k] + arm @ dH[h]
        dR[k][extra + k] += slide @ H[h]
    return H, dH, dR


def energy_matrix(tree: Tree, q: Any, attitude: Floats | None = None) -> Any:
    """[A] (N, N) with T = 1/2 (q') [A] {q'}: figure 2 of the source, equations (27) and (28); N as above."""
    _, dH, dR = partial_derivatives(tree, q, attitude)
    A = np.zeros((dR[0].shape[0], dR[0].shape[0]), dtype=dR[0].dtype)
    bodies = [(k, tree.mass[k], tree.inertia[k]) for k in range(tree.n)]
    if tree.base is not None:
        bodies.append((GROUND, tree.base.mass, tree.base.inertia))
    for k, mass, inertia in bodies:
        J = 0.5 * np.trace(inertia) * np.eye(3) - inertia
        A = A + mass * dR[k] @ dR[k].T + np.einsum("ixa,xy,jya->ij", dH[k], J, dH[k])
    return A
