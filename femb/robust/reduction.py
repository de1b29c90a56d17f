"""Reduction of uncertain models to shapes that stay valid over the ranges: modes and what parameters change of them.

Source: docs/theory/robust.md, section 5; R. B. Nelson, AIAA Journal 14 (1976) 1201, for derivatives of modes.
"""

from collections.abc import Sequence

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.linear.modal_form import SecondOrderModel
from femb.robust.matrices import independent

# Of the largest stiffness of a mode by its mass: smaller ones are rigid. Of the largest singular value of the shapes:
# smaller ones add nothing.
RIGID, SAME = 1e-11, 1e-4
# Of the largest part of a mode in the forces and outputs: modes with less are not seen.
UNSEEN = 1e-7


def shapes_of(
    models: Sequence[tuple[SecondOrderModel, Sequence[SecondOrderModel]]], modes: int, free: Floats | None = None
) -> tuple[Floats, float]:
    """(n, m) shapes, orthonormal by the mass of the first model, and the frequency, rad/s, of its last mode.

    Those are free motions, so many ``modes``, the static share of the others by all forces, and the derivatives of
    modes along the changes of parameters, all of them of every model.

    Parameters:
        models: at several values, each with models at other values of one parameter.
        modes: number of flexible modes, at most that of the model.
        free: (n, f) motions that no stiffness of any model acts on, and which come first; by default they are found.
    """
    mass = models[0][0].mass
    root = np.linalg.cholesky(0.5 * (mass + mass.T)).T
    found = [_columns(model, beside, modes) for model, beside in models]
    if free is None:
        free = np.zeros((len(mass), 0))
    leading = independent(free)

    def apart(columns: Floats) -> Floats:
        """Columns relative to the free motions, without those that are one."""
        left = columns - free @ np.linalg.solve(free[leading], columns[leading])
        left[leading] = 0.0
        return left[:, np.linalg.norm(root @ left, axis=0) > SAME * np.linalg.norm(root @ columns, axis=0)]

    # rigid motions and modes of the first model are kept as they are
    own = apart(found[0][0])
    later = [apart(each) for each in (*found[0][1:], *(each for columns in found[1:] for each in columns))]
    stiffness = np.sum(own[:, -1] * (models[0][0].stiffness @ own[:, -1]))
    basis = np.linalg.qr(root @ own)[0]
    rest = root @ np.hstack(later)
    sizes = np.linalg.norm(rest, axis=0)
    rest = rest[:, sizes > 0.0] / sizes[sizes > 0.0]
    for _ in range(2):
        rest = rest - basis @ (basis.T @ rest)
    left, values, _ = np.linalg.svd(rest, full_matrices=False)
    shapes = np.linalg.solve(root, np.hstack([basis, left[:, values > SAME]]))
    shapes[leading] = 0.0
    shapes = np.hstack([free @ np.linalg.inv(np.linalg.qr(root @ free)[1]), shapes])
    return np.asarray(shapes), float(np.sqrt(max(stiffness, 0.0)))


def _columns(model: SecondOrderModel, beside: Sequence[SecondOrderModel], modes: int) -> list[Floats]:
    """Rigid motions and modes, static shares, and derivatives of modes, none with parts in the others' span."""
    from scipy.linalg import eigh

    K, M = model.stiffness, model.mass
    if np.max(np.abs(K - K.T), initial=0.0) > 1e-9 * np.max(np.abs(K), initial=0.0):
        raise ModelError("uncertain: modes: the stiffness is not symmetric, as under a load: leave modes out")
    values, shapes = eigh(0.5 * (K + K.T), 0.5 * (M + M.T))
    rigid = int(np.sum(values < RIGID * values[-1]))
    through = np.hstack([model.forces, model.position.T, model.rate.T])
    seen = shapes.T @ (through / np.maximum(np.linalg.norm(through, axis=0), 1e-300))
    sizes = np.linalg.norm(seen[rigid:], axis=1)
    chosen = rigid + np.flatnonzero(sizes > UNSEEN * np.max(sizes, initial=0.0))[:modes]
    # of rigid motions, which are one eigenspace, what is seen
    turn, parts, _ = np.linalg.svd(seen[:rigid], full_matrices=False)
    own = np.hstack([shapes[:, :rigid] @ turn[:, parts > UNSEEN * np.max(parts, initial=0.0)], shapes[:, chosen]])
    squares_of = np.append(np.zeros(own.shape[1] - len(chosen)), values[chosen])
    rest = np.setdiff1d(np.arange(rigid, len(values)), chosen)
    others, squares = shapes[:, rest], values[rest]
    found = [own, others / squares @ (others.T @ model.forces)]
    for each in beside:
        for k, square in enumerate(squares_of):
            change = others.T @ ((each.stiffness - K) @ own[:, k] - square * ((each.mass - M) @ own[:, k]))
            found.append((others @ (change / (square - squares)))[:, None])
    return found
