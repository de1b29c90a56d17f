"""Third-order inertia tensors: what the mass matrix changes by with the posture, and the gyroscopic force it gives.

For inspection, model reduction and checks; time steps use the element kernels, which never form them.
Source: docs/theory/inertia_tensor.md, equations (1) to (4).
"""

from typing import Any

import numpy as np

from femb.types import Floats


def mass_derivative(system: Any, q: Floats) -> Any:
    """D (n_v, n_v, n_v), sparse.COO, with the change of the mass matrix as the frames move: M' = D v.

    D[i, j, k] is the change of M[i, j] with q along column k of H: per metre of a frame's position (inertial axes), per
    radian of its turn about its own axes, per unit of axial strain. q (n_q,) : coordinates with unit quaternions.
    M v is linear in v, so D is the change of M e_j along every direction, for each column e_j in turn.

    Raises FoldedError where an element is turned by 180 degrees.
    """
    import sparse

    n = system.n_v
    rows, columns = system.pattern.rows_columns()
    places: list[Any] = []
    values: list[Floats] = []
    for j in range(n):
        unit = np.zeros(n)
        unit[j] = 1.0
        change = np.zeros(system.pattern.size)
        for batch in system.batches:
            batch.mass_change(q, unit, change)
        (found,) = np.nonzero(change)
        places.append(np.stack([rows[found], np.full(len(found), j), columns[found]]))
        values.append(change[found])
    return sparse.COO(np.concatenate(places, axis=1), np.concatenate(values), shape=(n, n, n))


def gyroscopic_force(system: Any, q: Floats, v: Floats) -> Floats:
    """h (n_v,) of M v' + h + ... = f by contraction: M' v - 1/2 v^T D v + omega x P in the rows of angular velocities.

    P = M v are the momenta. It equals the force of the element kernels at v' = 0 less that at rest, dampers aside.
    """
    import sparse

    derivative = mass_derivative(system, q)
    along = derivative @ v  # M'
    across = sparse.tensordot(derivative, v, axes=([0], [0]))  # v^T D, (n_v, n_v)
    force = along @ v - 0.5 * sparse.tensordot(across, v, axes=([0], [0]))
    momentum = system.mass_matrix(q) @ v
    omega = system.coordinates[3][:, None] + np.arange(3)
    force[omega] += np.cross(v[omega], momentum[omega])
    return np.asarray(force)
