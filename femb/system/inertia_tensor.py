"""Third-order inertia tensors: what the mass matrix changes by with the posture, and the quadratic forces it gives.

For model reduction, inspection and checks; time steps use the element kernels, which never form them.
Source: docs/theory/inertia_tensor.md, equations (1) to (4).
"""

from typing import TYPE_CHECKING

import numpy as np

from femb.base.types import Floats, Ints, Sparse

if TYPE_CHECKING:
    from femb.system.system import System


class MassChange:
    """D (n_v, n_v, n_v) of a System at one state, kept element by element: M' = D v.

    D[i, j, k] is the change of M[i, j] with q along column k of H: per metre of a frame's position (inertial axes), per
    radian of its turn about its own axes, per unit of an internal coordinate. q (n_q,) : with unit quaternions.
    groups : elements alike, as ``Batch.mass_changes`` gives them; what is held has the place n_v.

    Raises FoldedError where an element is turned by 180 degrees.
    """

    def __init__(self, system: "System", q: Floats) -> None:
        self.system, self.q = system, q
        self.n = system.n_v
        self.groups: list[tuple[Ints, Floats]] = [
            (np.where(places >= 0, places, self.n), change)
            for batch in system.batches
            for places, change in batch.mass_changes(q)
        ]

    def tensor(self) -> Sparse:
        """D as sparse.COO; only the blocks of elements are built, and what they share is added up."""
        import sparse

        keys, values = [], []
        for places, change in self.groups:
            pairs = places[:, :, None] * self.n + places[:, None, :]
            key = pairs[:, :, :, None] * self.n + places[:, None, None, :]
            kept = change != 0.0  # also of what is held, for which the kernels add nothing
            keys.append(key[kept])
            values.append(change[kept])
        key, value = np.concatenate([[], *keys]).astype(np.int64), np.concatenate([[], *values])
        order = np.argsort(key, kind="stable")
        key, value = key[order], value[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        value = np.add.reduceat(value, first) if len(first) else value
        pair, k = np.divmod(key[first], self.n)
        places = np.stack([*np.divmod(pair, self.n), k])
        return sparse.COO(places, value, shape=(self.n,) * 3, has_duplicates=False, sorted=True)

    def projected(self, shapes: Floats) -> Floats:
        """(m, m, m) of shapes (n_v, m): the change of their mass matrix along each of them, shape by shape."""
        padded = np.vstack([shapes, np.zeros((1, shapes.shape[1]))])
        m = shapes.shape[1]
        out = np.zeros((m, m, m))
        for places, change in self.groups:
            own = padded[places]  # (e, g, m)
            last = change @ own[:, None]  # (e, g, g, m)
            middle = np.einsum("eijc,ejb->eibc", last, own, optimize=True)
            out += np.einsum("eibc,eia->abc", middle, own, optimize=True)
        return out

    def gyroscopic_force(self, v: Floats) -> Floats:
        """h (n_v,) at velocities v by contraction: M' v - 1/2 v^T D v + omega x P in the rows of angular velocities.

        P = M v are the momenta. It equals the force of the element kernels at v' = 0 less that at rest, dampers aside.
        """
        padded, force = np.append(v, 0.0), np.zeros(self.n + 1)
        for places, change in self.groups:
            own = padded[places]
            along = np.einsum("eijk,ek,ej->ei", change, own, own, optimize=True)
            across = np.einsum("eijk,ei,ej->ek", change, own, own, optimize=True)
            np.add.at(force, places, along - 0.5 * across)
        momentum = self.system.mass_matrix(self.q) @ v
        omega = angular_places(self.system)
        force[omega] += np.cross(v[omega], momentum[omega])
        return force[: self.n]

    def quadratic(self, shapes: Floats) -> Floats:
        """G (m, m, m) of shapes (n_v, m): the force on shape k is G[k, i, j] x_i x_j at velocities shapes @ x.

        Symmetric in the last two indices. Source: docs/theory/inertia_tensor.md, equation (5).
        """
        change = self.projected(shapes)
        omega = angular_places(self.system)
        momenta = self.system.mass_matrix(self.q) @ shapes
        turning = np.cross(shapes[omega][:, :, :, None], momenta[omega][:, :, None, :], axis=1)  # (frames, 3, i, j)
        force = change.transpose(0, 2, 1) - 0.5 * change.transpose(2, 0, 1)
        force += np.einsum("fok,foij->kij", shapes[omega], turning, optimize=True)
        return 0.5 * (force + force.swapaxes(1, 2))


def angular_places(system: "System") -> Ints:
    """(frames, 3) places of angular velocities among the velocities."""
    places: Ints = system.coordinates[3][:, None] + np.arange(3)
    return places


def mass_derivative(system: "System", q: Floats) -> Sparse:
    """D (n_v, n_v, n_v), sparse.COO, with the change of the mass matrix as the frames move: see ``MassChange``."""
    return MassChange(system, q).tensor()


def gyroscopic_force(system: "System", q: Floats, v: Floats) -> Floats:
    """h (n_v,) of M v' + h + ... = f at a state, contracted from the change of the mass: see ``MassChange``."""
    return MassChange(system, q).gyroscopic_force(v)
