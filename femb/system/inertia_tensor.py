"""Third-order inertia tensors: derivatives of the mass matrix with respect to the pose, and the quadratic forces.

For model reduction, inspection and checks; the element kernels of time steps do not form them.
Source: docs/theory/inertia_tensor.md, equations (1) to (4).
"""

from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats, Ints, Sparse

if TYPE_CHECKING:
    from femb.system.system import System


class MassChange:
    """D (n_v, n_v, n_v) of a System at one state, stored by element: M' = D v.

    D[i, j, k] is the derivative of M[i, j] along column k of H: per metre of a frame's position (inertial axes), per
    radian of its rotation about its own axes, per unit of an internal coordinate. q (n_q,) : with unit quaternions.
    groups : velocity indices and D of elements of one kind, from ``Batch.mass_changes``; the index n_v : fixed.

    Raises FoldedError where an element is rotated by 180 degrees.
    """

    def __init__(self, system: "System", q: Floats) -> None:
        self.system, self.q = system, q
        self.n = system.n_v
        self.groups: list[tuple[Ints, Floats]] = [
            (np.where(index >= 0, index, self.n), change)
            for batch in system.batches
            for index, change in batch.mass_changes(q)
        ]

    def tensor(self) -> Sparse:
        """D as sparse.COO; only the blocks of elements are formed, and their common entries added."""
        import sparse

        keys, values = [], []
        for index, change in self.groups:
            pairs = index[:, :, None] * self.n + index[:, None, :]
            key = pairs[:, :, :, None] * self.n + index[:, None, None, :]
            nonzero = change != 0.0  # leaves out fixed velocities too, for which the kernels add nothing
            keys.append(key[nonzero])
            values.append(change[nonzero])
        key, value = np.concatenate([[], *keys]).astype(np.int64), np.concatenate([[], *values])
        order = np.argsort(key, kind="stable")
        key, value = key[order], value[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        value = np.add.reduceat(value, first) if len(first) else value
        pair, k = np.divmod(key[first], self.n)
        indices = np.stack([*np.divmod(pair, self.n), k])
        return sparse.COO(indices, value, shape=(self.n,) * 3, has_duplicates=False, sorted=True)

    def projected(self, shapes: Floats) -> Floats:
        """(m, m, m) of shapes (n_v, m): the derivative of their mass matrix along each of them."""
        padded = np.vstack([shapes, np.zeros((1, shapes.shape[1]))])
        m = shapes.shape[1]
        out = np.zeros((m, m, m))
        for index, change in self.groups:
            local = padded[index]  # (e, g, m)
            last = change @ local[:, None]  # (e, g, g, m)
            middle = np.einsum("eijc,ejb->eibc", last, local, optimize=True)
            out += np.einsum("eibc,eia->abc", middle, local, optimize=True)
        return out

    def gyroscopic_force(self, v: Floats) -> Floats:
        """h (n_v,) at velocities v by contraction: M' v - 1/2 v^T D v + omega x P in the rows of angular velocities.

        P = M v. It equals the force of the element kernels at v' = 0 less that at v = 0, without dampers.
        """
        padded, force = np.append(v, 0.0), np.zeros(self.n + 1)
        for index, change in self.groups:
            local = padded[index]
            along = np.einsum("eijk,ek,ej->ei", change, local, local, optimize=True)
            across = np.einsum("eijk,ei,ej->ek", change, local, local, optimize=True)
            np.add.at(force, index, along - 0.5 * across)
        momentum = self.system.mass_matrix(self.q) @ v
        omega = self.system.rotations.reshape(-1, 3)
        force[omega] += np.cross(v[omega], momentum[omega])
        return force[: self.n]

    def quadratic(self, shapes: Floats) -> Floats:
        """G (m, m, m) of shapes (n_v, m): the force on shape k is G[k, i, j] x_i x_j at velocities shapes @ x.

        Symmetric in the last two indices. Source: docs/theory/inertia_tensor.md, equation (5).
        """
        change = self.projected(shapes)
        omega = self.system.rotations.reshape(-1, 3)
        momenta = self.system.mass_matrix(self.q) @ shapes
        torque = np.cross(shapes[omega][:, :, :, None], momenta[omega][:, :, None, :], axis=1)  # (frames, 3, i, j)
        force = change.transpose(0, 2, 1) - 0.5 * change.transpose(2, 0, 1)
        force += np.einsum("fok,foij->kij", shapes[omega], torque, optimize=True)
        return 0.5 * (force + force.swapaxes(1, 2))


def mass_derivative(system: "System", q: Floats) -> Sparse:
    """D (n_v, n_v, n_v), sparse.COO, the derivative of the mass matrix of a ``system`` at q (n_q,), m and quaternions:
    see ``MassChange``."""
    return MassChange(system, q).tensor()


def gyroscopic_force(system: "System", q: Floats, v: Floats) -> Floats:
    """h (n_v,), N and N m, of M v' + h + ... = f of a ``system`` at a state q (n_q,), v (n_v,), m, rad and s, by
    contraction of D: see ``MassChange``."""
    return MassChange(system, q).gyroscopic_force(v)
