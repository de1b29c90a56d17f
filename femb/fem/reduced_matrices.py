"""Bodies from Craig-Bampton matrices alone: boundary motions of the interfaces, then modes.

Rigid motion of all interfaces about the root gives mass, first moment, inertia, S1 and C0; terms of second order are
not in such files, and the coupling is "constant". Source: docs/theory/modal_body.md, section 4.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import block_diag, eigh

from femb.base.errors import ModelError
from femb.base.types import Floats, Sparse
from femb.elements.modal.data import ReducedBody
from femb.fem.reduction import GROUNDED, MASS_FORM, check_size, check_supports, rounding_of
from femb.numerics.rotations import cross_matrix


def craig_bampton_body(
    mass: Sparse | Floats,
    stiffness: Sparse | Floats,
    names: Sequence[str],
    positions: Floats,
    damping: float = 0.005,
    axes: Floats | None = None,
) -> ReducedBody:
    """The body of matrices (6 k + m, 6 k + m) of k interfaces at positions (k, 3) m, the root first, and m modes.

    axes (k, 3, 3) : columns, along which the rows of each interface are; by default those of the positions.
    Raises ModelError: sizes, matrices that are not symmetric, stiffness against rigid motion, a mass of no body.
    """
    M, K = (np.asarray(each.toarray() if hasattr(each, "toarray") else each, dtype=float) for each in (mass, stiffness))
    positions = np.asarray(positions, dtype=float)
    b = 6 * len(names)
    if M.shape != K.shape or M.ndim != 2 or M.shape[0] != M.shape[1] or len(M) < b:
        raise ModelError(
            f"got a mass of {M.shape} and a stiffness of {K.shape}, wanted equal squares of {b} or more rows"
        )
    if axes is not None:
        turn = block_diag(*(each for own in axes for each in (own, own)), np.eye(len(M) - b))
        M, K = turn @ M @ turn.T, turn @ K @ turn.T
    D = np.zeros((len(M), 6))
    for k, arm in enumerate(positions - positions[0]):
        D[6 * k : 6 * k + 6] = np.eye(6)
        D[6 * k : 6 * k + 3, 3:] = -cross_matrix(arm)
    force = np.abs(K @ D).max()
    if force > GROUNDED * np.abs(K).max():
        raise ModelError(
            f"stiffness: rigid motion of the interfaces needs a force ({force / np.abs(K).max():.2g} of the largest "
            "stiffness): a support was left in, or positions or order of the interfaces differ from the matrices'"
        )
    rigid = D.T @ M @ D
    m = float(np.trace(rigid[:3, :3])) / 3.0
    if m <= 0.0 or np.abs(rigid[:3, :3] - m * np.eye(3)).max() > MASS_FORM * m:
        raise ModelError(
            f"mass: rigid motion has the masses {np.diag(rigid)[:3]} kg along x, y, z, wanted three equal ones"
        )
    moved = (M @ D)[6:]
    first = np.array([rigid[5, 1], rigid[3, 2], rigid[4, 0]])
    body = ReducedBody(
        interfaces=positions - positions[0],
        interface_axes=np.tile(np.eye(3), (len(names), 1, 1)),
        interface_names=tuple(names),
        mass=m,
        first_moment=first,
        inertia=0.5 * (rigid[3:, 3:] + rigid[3:, 3:].T),
        S1=moved[:, :3],
        C0=moved[:, 3:],
        M=M[6:, 6:],
        K=K[6:, 6:],
        damping_ratio=np.full(len(M) - 6, damping),
    )
    _check_first(M, K, D, m)
    return body


def _check_first(M: Floats, K: Floats, D: Floats, m: float) -> None:
    """Compare the first mode, with the root held, with the motion as a rigid body, and judge size and mass."""
    length = float(np.sqrt(np.trace((D.T @ M @ D)[3:, 3:]) / m)) or 1.0
    if len(M) == 6:
        check_size(None, length, m)
        return
    squares = eigh(K[6:, 6:], M[6:, 6:], eigvals_only=True)
    first = float(np.sqrt(max(squares[0], 0.0))) / (2.0 * np.pi)
    D = D / np.where(np.arange(6) < 3, 1.0, length)
    check_size(first, length, m)
    check_supports(D.T @ K @ D, D.T @ M @ D, rounding_of(K, D), first)
