"""Finite element models as matrices: nodes, degrees of freedom, mass and stiffness, interfaces, stress stiffness."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from scipy.linalg import block_diag

from femb.base.bulk_cards import SI, Units
from femb.base.errors import ModelError, Problem
from femb.base.html import Brief
from femb.base.types import Bools, Floats, Ints, Sparse
from femb.base.values import vector
from femb.fem.recovery import Recoverable

TRANSLATIONS, ROTATIONS, INTERNAL = (0, 1, 2), (3, 4, 5), 6


class StressStiffness(Protocol):
    """Products of the stress stiffness of displacement fields with shapes."""

    def __call__(self, fields: Floats, shapes: Floats) -> Floats:
        """G (f, s, s) = shapes^T K_s(u) shapes of fields u (n, f) and shapes (n, s), by the degrees of freedom."""
        ...


@dataclass(frozen=True, eq=False)
class GivenStress:
    """Stress stiffness that is given with the matrices: one matrix (n, n) for each load by its name, root held.

    Names are x, y, z and rx, ry, rz of unit accelerations along and about the axes at the root (m/s2, rad/s2); xx, yy,
    zz, yz, zx, xy of products of spins (1/s2), as in docs/theory/modal_body.md, section 4; INTERFACE_x, _y and _z of
    unit forces on other interfaces (N).
    """

    matrices: Mapping[str, Sparse]

    def of(self, names: Sequence[str], shapes: Floats) -> Floats:
        """(f, s, s): shapes^T K_s shapes of the named loads. Raises ModelError: those that are missing."""
        absent = [name for name in names if name not in self.matrices]
        if absent:
            raise ModelError(
                f"stress: has no {', '.join(f'stress_{name}' for name in absent)}: give the stress stiffness of every "
                "load, or take coupling = 'constant'"
            )
        return np.array([shapes.T @ (self.matrices[name] @ shapes) for name in names])

    def in_unit(self, unit: float, coordinates: Floats) -> "GivenStress":
        """Convert to SI units, as ``FeModel.in_unit``; stresses of accelerations are of 1 m/s2 then."""
        found = {name: scaled(each, coordinates, unit) for name, each in self.matrices.items()}
        return GivenStress({name: each / unit if name in ("x", "y", "z") else each for name, each in found.items()})


@dataclass(frozen=True, eq=False)
class MeshInterface(Brief):
    """A frame of the body that can be connected, and the nodes that carry it.

    name : of the interface. nodes (m,) : numbers of rows of the nodes of the model. kind : "rigid", the nodes move as
    one rigid body with the frame (RBE2); "mean", the frame has the mean motion of the nodes, which stay elastic (RBE3).
    position (3,) m, by default the mean of the nodes' positions. axes (3, 3) : columns, by default those of the model.
    """

    name: str
    nodes: Ints
    kind: Literal["rigid", "mean"] = "rigid"
    position: Floats | None = None
    axes: Floats = field(default_factory=lambda: np.eye(3))


@dataclass(frozen=True, eq=False)
class FeModel(Brief):
    """A linear finite element model at rest, without supports; SI units, one set of axes for all nodes.

    nodes (N, 3) m. node_of (n,) and component (n,) : node and component of each degree of freedom: 0 to 2
    displacements, 3 to 5 rotations, 6 internal coordinates of elements, which rigid motion leaves at zero. mass,
    stiffness (n, n) : sparse and symmetric. numbers (N,) : the nodes' numbers in their source. node_sets : (m,) numbers
    of rows of the nodes by name. stress : the stress stiffness, or None. cells : (c, k) nodes of the cells by their
    type in meshio, for pictures. joints (m, n) : rows whose products with displacements are zero, or None. idle (i, n)
    : such rows of directions without stiffness and mass, which rigid interfaces move all the same. supports (h, n) :
    such rows of supports, which are not of the model. load_set : forces (n,) of a set of loads by its number,
    and those of elements, by their numbers, where nothing moves.
    recoverable : axes of grids and forces of elements of a deck, see ``femb.fem.recovery``.
    """

    nodes: Floats
    node_of: Ints
    component: Ints
    mass: Sparse
    stiffness: Sparse
    numbers: Ints
    node_sets: Mapping[str, Ints] = field(default_factory=dict)
    stress: "StressStiffness | GivenStress | None" = None
    cells: Mapping[str, Ints] = field(default_factory=dict)
    joints: Sparse | None = None
    idle: Sparse | None = None
    supports: Sparse | None = None
    load_set: Callable[[int], tuple[Floats, Mapping[int, Floats]]] | None = None
    recoverable: Recoverable | None = None

    @classmethod
    def of(
        cls,
        nodes: Floats,
        mass: Sparse,
        stiffness: Sparse,
        *,
        numbers: Ints | None = None,
        components: int | None = None,
        node_sets: Mapping[str, Ints] | None = None,
    ) -> "FeModel":
        """A model whose nodes all have three or all have six degrees of freedom, node after node.

        nodes (N, 3) m; mass, stiffness (n, n) : sparse or dense; numbers (N,), node_sets : as in the class.
        components : 3 or 6, by default the size of the matrices divided by the number of nodes. Raises ModelError:
        matrices of different sizes, or of a size that fits the nodes in neither way.
        """
        nodes = np.asarray(nodes, dtype=float)
        count = len(nodes)
        per_node = components or (mass.shape[0] // count if count else 0)
        if mass.shape != stiffness.shape or mass.shape[0] != mass.shape[1]:
            raise ModelError(f"got a mass of {mass.shape} and a stiffness of {stiffness.shape}, wanted equal squares")
        if per_node not in (3, 6) or per_node * count != mass.shape[0]:
            raise ModelError(
                f"got matrices of {mass.shape[0]} rows for {count} nodes, wanted 3 or 6 rows for each node: check the "
                "table of nodes and the list of degrees of freedom"
            )
        node_of, component = np.divmod(np.arange(per_node * count), per_node)
        known = np.arange(1, count + 1) if numbers is None else np.asarray(numbers)
        return cls(nodes, node_of, component, as_csc(mass), as_csc(stiffness), known, node_sets or {})

    @property
    def size(self) -> int:
        """The number n of degrees of freedom."""
        return len(self.node_of)

    @cached_property
    def dofs(self) -> Ints:
        """(N, 6): the degree of freedom of each node and component, -1 where there is none."""
        table = np.full((len(self.nodes), 6), -1)
        own = self.component < INTERNAL
        table[self.node_of[own], self.component[own]] = np.flatnonzero(own)
        return table

    @property
    def known(self) -> Bools:
        """(N,) whether a node has displacements."""
        return np.asarray(self.dofs[:, 0] >= 0)

    @cached_property
    def length(self) -> float:
        """The diagonal of the box around the nodes, m."""
        return float(np.linalg.norm(np.ptp(self.nodes, axis=0))) or 1.0

    def rigid_motions(self, point: Floats) -> Floats:
        """(n, 6): displacements in unit translations along, and rotations about, the axes through a point (3,) m."""
        D = np.zeros((self.size, 6))
        arms = self.nodes[self.node_of] - point
        for a in TRANSLATIONS:
            rows = self.component == a
            D[rows, a] = 1.0
            D[rows, 3:] = np.cross(arms[rows], np.eye(3)[a])
            D[self.component == 3 + a, 3 + a] = 1.0
        return D

    def in_unit(self, given: float | str) -> "FeModel":
        """The model in SI units, of lengths in a unit (m), forces in N and times in s: of mm and tonnes 0.001; or of a
        system of units by its name.

        Raises ModelError: a unit that is not greater than 0; stress stiffness in pounds, or milliseconds.
        """
        units = Units.of(given)
        if units == SI:
            return self
        unit = units.length
        if isinstance(self.stress, GivenStress) and (units.force, units.time) != (1.0, 1.0):
            raise ModelError(f"unit: got {given!r} beside stress stiffness, which is of unit loads in N and s")
        turned = np.where(self.component < 3, 1.0 / unit, 1.0)
        mass = scaled(self.mass, turned, unit * units.force * units.time**2)
        stiffness = scaled(self.stiffness, turned, unit * units.force)
        stress = self.stress.in_unit(unit, turned) if isinstance(self.stress, GivenStress) else self.stress
        return replace(self, nodes=self.nodes * unit, mass=mass, stiffness=stiffness, stress=stress)

    def label(self, dof: int) -> str:
        """A degree of freedom, by its number ``dof``, for messages, as "node 12, z"."""
        word = ("x", "y", "z", "rotation x", "rotation y", "rotation z", "internal")[self.component[dof]]
        return f"node {self.numbers[self.node_of[dof]]}, {word}"


def scaled(matrix: Sparse, coordinates: Floats, unit: float) -> Sparse:
    """A mass or stiffness (n, n) in SI units: coordinates (n,) are its coordinates by those in SI units."""
    from scipy.sparse import diags_array

    turn = diags_array(coordinates)
    return as_csc(turn @ as_csc(matrix) @ turn * unit)


def as_csc(matrix: Sparse) -> Sparse:
    """The matrix as a csc_array of floats, without stored zeros, with indices of four bytes if they suffice."""
    from scipy.sparse import csc_array

    out = csc_array(matrix, dtype=float)
    out.eliminate_zeros()
    if max(out.nnz, *out.shape) < np.iinfo(np.int32).max:
        out.indices, out.indptr = (each.astype(np.int32, copy=False) for each in (out.indices, out.indptr))
    return out


# Interfaces tied to nodes: rigid sets (RBE2) replace degrees of freedom, mean motions (RBE3) are rows. Joints take away
# as many degrees of freedom as they have independent rows.

RANK = 1e-8  # least part of the largest principal moment of an interface's nodes
DEPENDENT = 1e-10  # of the largest row of a joint: one that depends on the others


@dataclass(frozen=True, eq=False)
class Tied:
    """A model whose degrees of freedom are those that are free of rigid interfaces, then six of each of these.

    expand (n, r) : all degrees of freedom by those. free : how many come before the rigid interfaces'. rows (6 m, r) :
    motions of the m mean interfaces. places (k,) : number of each interface among the rigid or the mean ones. points
    (k, 3) m.
    """

    model: FeModel
    interfaces: tuple[MeshInterface, ...]
    expand: Sparse
    free: int
    rows: Sparse
    places: Ints
    points: Floats

    def columns(self, number: int) -> Ints:
        """Columns of an interface: the six degrees of freedom of a rigid one, the six rows of a mean one."""
        first = 6 * int(self.places[number])
        return np.arange(first, first + 6) + (self.free if self.interfaces[number].kind == "rigid" else 0)


def tied(model: FeModel, interfaces: Sequence[MeshInterface]) -> Tied:
    """Tie interfaces, at least one, to their nodes. Raises ModelError: lists all problems."""
    from scipy.sparse import csc_array, csr_array, vstack

    points, owner = _placed(model, interfaces)
    of = np.where(model.component < 6, owner[model.node_of], -1)
    free = np.flatnonzero(of < 0)
    rows, columns, values = [free], [np.arange(len(free))], [np.ones(len(free))]
    places = np.zeros(len(interfaces), dtype=np.int64)
    rigid = mean = 0
    averages = []
    for k, each in enumerate(interfaces):
        D = model.rigid_motions(points[k])
        own = np.flatnonzero(of == k) if each.kind == "rigid" else _weighted_dofs(model, each)
        A = _without_idle(model, own, D[own])
        if k or each.kind == "mean":
            _check_moves(model, each, A)
        if each.kind == "rigid":
            rows.append(np.repeat(own, 6))
            columns.append(np.tile(np.arange(6) + len(free) + 6 * rigid, len(own)))
            values.append(D[own].ravel())
            places[k], rigid = rigid, rigid + 1
        else:
            R = np.zeros((6, model.size))
            R[:, own] = np.linalg.solve(A.T @ A, A.T)
            averages.append(csr_array(R))
            places[k], mean = mean, mean + 1
    shape = (model.size, len(free) + 6 * rigid)
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    expand, count = as_csc(csc_array(entries, shape=shape)), len(free)
    idle = None if model.idle is None else model.idle[abs(model.idle) @ (of >= 0) == 0.0]
    held = [each for each in (model.joints, idle) if each is not None and each.shape[0]]
    if held:
        joined = _joined(vstack(held) @ expand, count, [each.name for each in interfaces if each.kind == "rigid"])
        expand, count = as_csc(expand @ joined), count - joined.shape[0] + joined.shape[1]
    averaged = csr_array(vstack(averages)) @ expand if averages else csr_array((0, expand.shape[1]))
    return Tied(model, tuple(interfaces), expand, count, averaged, places, points)


def _placed(model: FeModel, interfaces: Sequence[MeshInterface]) -> tuple[Floats, Ints]:
    """Positions (k, 3) of interfaces, and which rigid one each node is in, -1 in none. Raises ModelError."""
    problems, owner = [], np.full(len(model.nodes), -1)
    points = np.zeros((len(interfaces), 3))
    for k, each in enumerate(interfaces):
        if (problem := _problem(model, each)) is not None:
            problems.append(Problem(("interfaces", each.name), problem))
            continue
        points[k] = model.nodes[each.nodes].mean(axis=0) if each.position is None else each.position
        if each.kind == "rigid":
            taken = owner[each.nodes]
            if np.any(taken >= 0):
                other, node = interfaces[int(taken.max())].name, model.numbers[each.nodes[int(np.argmax(taken))]]
                text = f"shares node {node} with the rigid interface {other!r}"
                problems.append(Problem(("interfaces", each.name), text))
            owner[each.nodes] = k
    if not interfaces:
        problems.append(Problem(("interfaces",), "none is given: name at least the root"))
    if len({each.name for each in interfaces}) < len(interfaces):
        problems.append(Problem(("interfaces",), "every interface needs a name of its own"))
    if problems:
        raise ModelError(*problems)
    return points, owner


def _without_idle(model: FeModel, own: Ints, motions: Floats) -> Floats:
    """Motions (q, 6) of degrees of freedom (q,) but for the directions without stiffness and mass."""
    if model.idle is None:
        return motions
    rows = model.idle[:, own].toarray()
    rows = rows[rows.any(axis=1)]
    return np.asarray(motions - np.linalg.pinv(rows) @ (rows @ motions))


def _check_moves(model: FeModel, interface: MeshInterface, motions: Floats) -> None:
    """Raise ModelError where the nodes of an interface do not move, by ``motions`` (q, 6), in one of the six ways."""
    scale = np.where(np.arange(6) < 3, 1.0, model.length)
    _, sizes, ways = np.linalg.svd(np.linalg.qr(motions / scale, mode="r"))
    if len(sizes) < 6 or sizes[-1] <= RANK * sizes[0]:
        way = ways[-1] / scale
        what, axis = ("rotation about", way[3:]) if np.any(np.abs(ways[-1, 3:]) > RANK) else ("motion along", way[:3])
        axis = np.where(np.abs(axis) < RANK * np.abs(axis).max(), 0.0, axis)
        axis *= np.sign(axis[np.argmax(np.abs(axis))]) / np.linalg.norm(axis)
        raise ModelError.at(
            ("interfaces", interface.name),
            f"its nodes have neither stiffness nor mass in {what} {vector(axis)}, as at a pinned end: make it the "
            "root, which is held, and rigid; or add nodes",
        )


def _joined(rows: Sparse, free: int, names: Sequence[str] = ()) -> Sparse:
    """The degrees of freedom (n, r) of which ``rows`` (m, n) are zero, by those that remain: others are of the first
    ``free``. Raises ModelError: interfaces, by their ``names``, that cannot move by themselves."""
    from scipy.linalg import qr, solve_triangular
    from scipy.sparse import csgraph, csr_array, eye_array

    rows = csr_array(rows)
    n, dependent, entries = rows.shape[1], [], []
    count, group = csgraph.connected_components(abs(rows) @ abs(rows).T, directed=False)
    for own in np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group, minlength=count))[:-1]):
        part = rows[own]
        columns = np.unique(part.indices)
        A = part[:, columns].toarray()
        inner = columns < free
        Q, U, order = qr(A[:, inner], pivoting=True)
        sizes = np.abs(np.diagonal(U))
        rank = int(np.sum(sizes > DEPENDENT * np.max(np.abs(A), initial=0.0)))
        outside = Q.T @ A[:, ~inner]
        left = np.any(np.abs(outside[rank:]) > DEPENDENT * np.max(np.abs(A), initial=0.0), axis=0)
        if left.any():
            known = dict.fromkeys(names[k] for k in (columns[~inner][left] - free) // 6)
            raise ModelError(
                f"interfaces: a joint or an equation connects {' and '.join(known)}, which then cannot move by "
                "itself: take a place on the other side of the joint"
            )
        owners = columns[inner][order]
        right = np.hstack([U[:rank, rank:], outside[:rank]])
        found = -solve_triangular(U[:rank, :rank], right)
        others = np.concatenate([owners[rank:], columns[~inner]])
        i, j = np.nonzero(np.abs(found) > DEPENDENT)
        dependent.append(owners[:rank])
        entries.append((owners[i], others[j], found[i, j]))
    kept = np.setdiff1d(np.arange(n), np.concatenate(dependent))
    i, j, values = (np.concatenate([each[k] for each in entries]) for k in range(3))
    whole = eye_array(n).tocsc()[:, kept]
    return as_csc(whole + csr_array((values, (i, np.searchsorted(kept, j))), shape=whole.shape))


def free_of(rows: Sparse, size: int) -> Sparse:
    """(n, r): all degrees of freedom by those that remain where ``rows`` (m, n) are zero."""
    return _joined(rows, size)


def _weighted_dofs(model: FeModel, interface: MeshInterface) -> Ints:
    """Displacements of the nodes, and rotations too where displacements do not define a rotation."""
    dofs = model.dofs[interface.nodes]
    if _spread(model, interface) <= RANK:
        return dofs[dofs >= 0]
    own = dofs[:, :3]
    return own[own >= 0]


def _spread(model: FeModel, interface: MeshInterface) -> float:
    """The second principal moment of the nodes' positions, of the model's size squared: zero on a line."""
    arms = model.nodes[interface.nodes]
    arms = arms - arms.mean(axis=0)
    return float(np.linalg.eigvalsh(arms.T @ arms / len(arms))[1]) / model.length**2


def _problem(model: FeModel, interface: MeshInterface) -> str | None:
    nodes = interface.nodes
    if not len(nodes):
        return "has no nodes"
    if np.min(nodes) < 0 or np.max(nodes) >= len(model.nodes):
        return f"names nodes outside the model, which has {len(model.nodes)}"
    dofs = model.dofs[nodes]
    lacking = np.flatnonzero(~np.any(dofs >= 0, axis=1))
    if len(lacking):
        return f"node {model.numbers[nodes[lacking[0]]]} has no degrees of freedom: it is in no element"
    if not np.any(dofs[:, 3:] >= 0) and _spread(model, interface) <= RANK:
        return (
            f"its {len(nodes)} nodes are at one point or on a line and have no rotations, so that they define no "
            "frame: take nodes on a face"
        )
    return None


# A reduced body in other shapes, or along other axes: which axes of its arrays are coordinates, and which vectors.

# Axes of the arrays of ReducedBody that number its coordinates, and those that are along x, y and z.
COORDINATES = {
    "S1": (0,), "C0": (0,), "M": (0, 1), "K": (0, 1), "D": (0, 1), "J1": (0,), "J2": (0, 1), "Q": (0, 1),
    "S2": (0, 1), "B2": (0, 1), "psi2": (2, 3), "node_shapes": (0,), "recovery": (1,), "stress_shapes": (0,),
    "load_modal": (1,),
}  # fmt: skip
VECTORS = {
    "S1": (1,), "C0": (1,), "J1": (1, 2), "J2": (2, 3), "Q": (2,), "S2": (2,), "B2": (2, 3), "psi2": (1,),
    "node_shapes": (2,), "first_moment": (0,), "inertia": (0, 1), "interfaces": (1,), "interface_axes": (1,),
    "nodes": (1,), "stress_shapes": (2, 3), "load_force": (1,), "load_torque": (1,), "load_stress": (2, 3),
}  # fmt: skip


def combined_arrays(arrays: dict[str, Floats], T: Floats) -> dict[str, Floats]:
    """Arrays of the shapes Psi T (n, m) in place of those of the shapes Psi."""
    return {name: _along(value, T, COORDINATES.get(name, ())) for name, value in arrays.items()}


def turned_arrays(arrays: dict[str, Floats], axes: Floats, boundary: int) -> dict[str, Floats]:
    """Arrays along ``axes`` (3, 3), columns, in place of the present axes.

    boundary : how many coordinates are of interfaces.
    """
    size = len(arrays["K"])
    T = block_diag(*[axes] * (boundary // 3), np.eye(size - boundary))
    out = combined_arrays(arrays, T)
    return {name: _along(value, axes, VECTORS.get(name, ())) for name, value in out.items()}


def _along(value: Floats, T: Floats, axes: tuple[int, ...]) -> Floats:
    for axis in axes:
        value = np.moveaxis(np.tensordot(value, T, (axis, 0)), -1, axis)
    return value
