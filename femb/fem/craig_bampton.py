"""Craig-Bampton reduction of finite element models to interfaces and modes, the first interface held.

    Psi_b : unit motions of the other interfaces,   V : modes with all interfaces held                     (3), (4)

The eigenproblem is of the flexibility, so that rotations without inertia are admitted.
Source: R. R. Craig, M. C. C. Bampton, AIAA J. 6 (1968) 1313.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats, Ints, Sparse
from femb.fem.model import FeModel, Tied
from femb.numerics.fronts import Multifrontal, dissection
from femb.numerics.lanczos import largest_eigenvalues

# Static solutions of a free model with its interfaces held: sparse factors, and borders for mean interfaces.
#
#     [ K  R^T ] [ u ]   [ f ]
#     [ R   0  ] [ l ] = [ g ]                                                                    (4)
#
# K of the free degrees of freedom is definite if an interface is rigid; if none is, three nodes are supported, and
# rigid motions are added such that the supports carry nothing.

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
        # without freedoms beside those of the interfaces there is nothing to solve
        self.factors = _factorise(tied, inside, self.kept) if len(self.kept) else None
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
        if self.factors is not None:
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
        factors = Multifrontal.of(matrix, dissection(matrix, _places(tied, kept)))
    except np.linalg.LinAlgError:
        shift = 1e-10 * float(np.max(matrix.diagonal(), initial=1.0))
        from scipy.sparse import eye_array

        try:
            shifted = (matrix + shift * eye_array(matrix.shape[0])).tocsc()
            factors = Multifrontal.of(shifted, dissection(matrix, _places(tied, kept)))
        except np.linalg.LinAlgError as error:
            raise ModelError("stiffness: is not positive definite with the interfaces held") from error
        raise _mechanism(tied, kept, _loosest(factors, matrix)[1]) from None
    size, motion = _loosest(factors, matrix)
    if size > SINGULAR:
        raise _mechanism(tied, kept, motion)
    return factors


def _loosest(factors: Multifrontal, matrix: Sparse) -> tuple[float, Floats]:
    """The ratio of the stiffest entry to the stiffness of the softest motion, and this motion."""
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


FIRST_MODES = 10
DEPENDENT = 1e-10  # energy of a static displacement beside the modes and the others, of its own


@dataclass(frozen=True, eq=False)
class Shapes:
    """Shapes of a reduced model.

    boundary (n, b) : unit motions of the interfaces but the root. modes (n, m) : of unit mass, with all interfaces
    held, with their frequencies (m,) Hz. solver : static solutions with the interfaces held.
    """

    boundary: Floats
    modes: Floats
    frequencies: Floats
    solver: HeldSolver

    @property
    def all(self) -> Floats:
        """(n, b + m)."""
        return np.hstack([self.boundary, self.modes])


def shapes(tied: Tied, enough: Callable[[Floats, Floats], int | None], most: int) -> Shapes:
    """Shapes of a tied model.

    enough : the number of modes to keep by their frequencies (m,) Hz and shapes (n, m), or None where more are to be
    computed. most : the largest number. Raises ModelError: a mechanism; more modes than degrees of freedom.
    """
    solver = HeldSolver(tied)
    parts = [solver.constraint_shapes(k) for k in range(1, len(tied.interfaces))]
    boundary = np.hstack(parts) if parts else np.zeros((tied.model.size, 0))
    count = min(most, FIRST_MODES) if enough(np.zeros(0), np.zeros((tied.model.size, 0))) is None else most
    while True:
        frequencies, modes = held_modes(tied.model, solver, count)
        kept = enough(frequencies, modes)
        if kept is not None or count >= most:
            return Shapes(boundary, modes[:, :kept], frequencies[:kept], solver)
        count = min(most, 2 * count)


def with_static_shapes(model: FeModel, found: Shapes, forces: Floats) -> Shapes:
    """The shapes with the static displacements by forces (n, l), interfaces held, beside the modes, to which they are
    orthogonal in the mass and the stiffness, as modes of higher frequencies. Those that the modes contain are left out.
    """
    from scipy.linalg import eigh

    moved = found.solver.flexibility(forces)
    rest = moved
    for _ in range(2):  # once leaves what modes of a large range of frequencies lack of being orthogonal
        rest = rest - found.modes @ (found.modes.T @ (model.mass @ rest))
    sizes, whole = (np.einsum("nk,nk->k", x, model.stiffness @ x) for x in (rest, moved))
    own = sizes > DEPENDENT * whole
    rest = rest[:, own] / np.sqrt(sizes[own])
    values, axes = np.linalg.eigh(rest.T @ (model.stiffness @ rest))
    rest = rest @ (axes / np.sqrt(np.maximum(values, DEPENDENT)))[:, values > DEPENDENT]
    masses, parts = eigh(rest.T @ (model.mass @ rest))
    order = np.argsort(-masses)
    modes = rest @ parts[:, order] / np.sqrt(masses[order])
    frequencies = 1.0 / (2.0 * np.pi * np.sqrt(masses[order]))
    return replace(
        found, modes=np.hstack([found.modes, modes]), frequencies=np.concatenate([found.frequencies, frequencies])
    )


def held_modes(model: FeModel, solver: HeldSolver, count: int) -> tuple[Floats, Floats]:
    """Frequencies (count,) Hz and shapes (n, count) of unit mass of the lowest modes with all interfaces held."""
    from scipy.linalg import eigh

    tied = solver.tied
    n = tied.free
    expand = tied.expand[:, :n]
    mass = (expand.T @ model.mass @ expand).tocsc()
    if count == 0:
        return np.zeros(0), np.zeros((model.size, 0))
    independent = int(np.count_nonzero(mass.diagonal())) - tied.rows.shape[0]
    if count > independent:
        raise ModelError(f"modes: got {count}, wanted at most {independent}, the masses that can move")
    if n < 200 or 2 * count > n:
        flexible = solver.solve(np.eye(n))
        root = _root(mass.toarray())
        values, parts = eigh(root.T @ flexible @ root, subset_by_index=(root.shape[1] - count, root.shape[1] - 1))
        inner = flexible @ (root @ parts)[:, ::-1] / values[::-1]
        values = values[::-1]
    else:
        values, inner = largest_eigenvalues(solver.solve, mass, count)
    inner = inner / np.sqrt(np.einsum("nk,nk->k", inner, mass @ inner))
    peaks = inner[np.argmax(np.abs(inner), axis=0), np.arange(count)]
    return 1.0 / (2.0 * np.pi * np.sqrt(values)), np.asarray(expand @ (inner * np.sign(peaks)))


def _root(mass: Floats) -> Floats:
    """L with L L^T = mass, semidefinite: only columns of masses that are not zero."""
    values, axes = np.linalg.eigh(mass)
    own = values > 1e-14 * values[-1]
    return np.asarray(axes[:, own] * np.sqrt(values[own]))


def root_held(model: FeModel, found: Shapes) -> Callable[[Floats], Floats]:
    """Static displacements (n, q) by forces (n, q), with only the root held."""
    boundary = found.boundary
    if not boundary.shape[1]:
        return found.solver.flexibility
    loaded = boundary.T @ (model.stiffness @ boundary)

    def flexibility(force: Floats) -> Floats:
        return np.asarray(found.solver.flexibility(force) + boundary @ np.linalg.solve(loaded, boundary.T @ force))

    return flexibility
