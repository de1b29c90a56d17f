"""Static solutions of a free model with its interfaces held: sparse factors, and borders for mean interfaces.

    [ K  R^T ] [ u ]   [ f ]
    [ R   0  ] [ l ] = [ g ]                                                                    (4)

K of the free degrees of freedom is definite if an interface is rigid; if none is, three nodes are supported, and rigid
motions are added such that the supports carry nothing. Source: docs/theory/modal_body.md, section 2.
"""

import numpy as np

from femb.analysis.fem.dissection import dissection
from femb.analysis.fem.model import FeModel
from femb.analysis.fem.multifrontal import Multifrontal
from femb.analysis.fem.ties import Tied
from femb.base.errors import ModelError
from femb.base.types import Floats, Ints, Sparse

SINGULAR = 1e14  # largest amplification of a stiffness that is not singular


class HeldSolver:
    """Solves for the free degrees of freedom of ``tied`` with all interfaces held.

    Raises ModelError: a mechanism, named by the node that it moves most.
    """

    def __init__(self, tied: Tied) -> None:
        self.tied = tied
        reduced = (tied.expand.T @ tied.model.stiffness @ tied.expand).tocsc()
        self.inner, self.outer = np.arange(tied.free), np.arange(tied.free, reduced.shape[0])
        self.coupling: Sparse = reduced[: tied.free, tied.free :]
        self.rows = tied.rows[:, : tied.free]
        self.rows_outer = tied.rows[:, tied.free :]
        self.kept, self.rigid = self.inner, np.zeros((tied.free, 0))
        if not len(self.outer):
            self.rigid = tied.expand.T @ tied.model.rigid_motions(tied.model.nodes.mean(axis=0))
            self.rigid[:, 3:] /= tied.model.length
            self.kept = np.setdiff1d(self.inner, supports(self.rigid))
        inside = reduced[: tied.free, : tied.free]
        del reduced  # as large as the stiffness
        if len(self.kept) < tied.free:
            inside = inside[self.kept][:, self.kept]
        self.factors = _factorise(tied, inside, self.kept)
        border = self.rows.shape[0]
        if border:
            self.border = self._supported(self.rows.T.toarray())
            corner = self.rows @ self.border
            carried = self.rows @ self.rigid
            zero = np.zeros((self.rigid.shape[1], self.rigid.shape[1]))
            self.small = np.block([[corner, -carried], [carried.T, zero]])

    def _supported(self, force: Floats) -> Floats:
        """(free, q): with the supports, if there are any."""
        out = np.zeros_like(force)
        out[self.kept] = self.factors.solve(np.ascontiguousarray(force[self.kept]))
        return out

    def solve(self, force: Floats, mean: Floats | None = None) -> Floats:
        """Displacements (free, q) by forces (free, q), and by motions (6 m, q) of the mean interfaces, else zero."""
        u = self._supported(force)
        if not self.rows.shape[0]:
            return u
        gap = self.rows @ u - (0.0 if mean is None else mean)
        z = np.linalg.solve(self.small, np.vstack([gap, self.rigid.T @ force]))
        split = self.rows.shape[0]
        return np.asarray(u - self.border @ z[:split] + self.rigid @ z[split:])

    def flexibility(self, force: Floats) -> Floats:
        """Displacements (n, q) of all degrees of freedom by forces (n, q) on them."""
        inner = (self.tied.expand.T @ force)[: self.tied.free]
        whole = np.zeros((self.tied.expand.shape[1], force.shape[1]))
        whole[: self.tied.free] = self.solve(inner)
        return np.asarray(self.tied.expand @ whole)

    def constraint_shapes(self, number: int) -> Floats:
        """(n, 6): displacements by unit motions of one interface, with the others held."""
        tied, q = self.tied, 6
        outer = np.zeros((len(self.outer), q))
        mean = np.zeros((self.rows.shape[0], q))
        columns = tied.columns(number)
        if tied.interfaces[number].kind == "rigid":
            outer[columns - tied.free, np.arange(6)] = 1.0
        else:
            mean[columns, np.arange(6)] = 1.0
        force = -(self.coupling @ outer) if len(self.outer) else np.zeros((tied.free, q))
        inner = self.solve(force, mean - self.rows_outer @ outer)
        return np.asarray(tied.expand @ np.vstack([inner, outer]))


def supports(rigid: Floats) -> Ints:
    """Six rows of rigid motions (n, 6) that are far from dependent: degrees of freedom that support a body."""
    from scipy.linalg import qr

    _, _, order = qr(rigid.T, mode="economic", pivoting=True)
    return np.asarray(order[:6])


def _factorise(tied: Tied, matrix: Sparse, kept: Ints) -> Multifrontal:
    try:
        factors = Multifrontal(matrix, dissection(matrix, _places(tied, kept)))
    except np.linalg.LinAlgError:
        shift = 1e-10 * float(np.max(matrix.diagonal(), initial=1.0))
        from scipy.sparse import eye_array

        try:
            shifted = (matrix + shift * eye_array(matrix.shape[0])).tocsc()
            factors = Multifrontal(shifted, dissection(matrix, _places(tied, kept)))
        except np.linalg.LinAlgError as error:
            raise ModelError("stiffness: is not positive definite with the interfaces held") from error
        raise _mechanism(tied, kept, _loosest(factors, matrix)[1]) from None
    size, motion = _loosest(factors, matrix)
    if size > SINGULAR:
        raise _mechanism(tied, kept, motion)
    return factors


def _loosest(factors: Multifrontal, matrix: Sparse) -> tuple[float, Floats]:
    """How many times softer than the stiffest entry the model is, and the motion."""
    x = np.random.default_rng(1).standard_normal((matrix.shape[0], 1))
    for _ in range(2):
        x = factors.solve(x / np.linalg.norm(x))
    return float(np.linalg.norm(x)) * float(np.max(np.abs(matrix.diagonal()), initial=0.0)), x[:, 0]


def _mechanism(tied: Tied, kept: Ints, motion: Floats) -> ModelError:
    free = np.zeros(tied.expand.shape[1])
    free[kept] = motion
    model: FeModel = tied.model
    most = int(np.argmax(np.abs(tied.expand @ free)))
    return ModelError(
        f"stiffness: the model has a mechanism beside its six rigid motions: {model.label(most)} moves most, without "
        "stiffness, while the interfaces are held. A part is not connected, or rotations of nodes have no stiffness"
    )


def _places(tied: Tied, kept: Ints) -> Floats:
    """(kept, 3) m: positions of free degrees of freedom."""
    rows = tied.expand.tocsc()[:, : tied.free].tocoo()
    place = np.zeros((tied.free, 3))
    place[rows.col] = tied.model.nodes[tied.model.node_of[rows.row]]
    return place[kept]
