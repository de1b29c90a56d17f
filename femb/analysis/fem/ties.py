"""Interfaces tied to nodes: rigid sets (RBE2) replace degrees of freedom, mean motions (RBE3) are rows.

Source: docs/theory/modal_body.md, section 2, equation (2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from femb.analysis.fem.model import FeModel, MeshInterface, as_csc
from femb.base.errors import ModelError, Problem
from femb.base.types import Floats, Ints, Sparse

RANK = 1e-8  # least part of the largest principal moment of an interface's nodes


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
        """Of a rigid interface: its six degrees of freedom; of a mean one: its six rows."""
        first = 6 * int(self.places[number])
        return np.arange(first, first + 6) + (self.free if self.interfaces[number].kind == "rigid" else 0)


def tied(model: FeModel, interfaces: Sequence[MeshInterface]) -> Tied:
    """Tie interfaces, at least one, to their nodes. Raises ModelError: lists all problems."""
    from scipy.sparse import csc_array, csr_array

    problems, owner = [], np.full(len(model.nodes), -1)
    points = np.zeros((len(interfaces), 3))
    for k, each in enumerate(interfaces):
        problem = _problem(model, each)
        if problem is not None:
            problems.append(Problem(("interfaces", each.name), problem))
            continue
        points[k] = model.nodes[each.nodes].mean(axis=0) if each.position is None else each.position
        if each.kind == "rigid":
            taken = owner[each.nodes]
            if np.any(taken >= 0):
                other = interfaces[int(taken.max())].name
                node = model.numbers[each.nodes[int(np.argmax(taken))]]
                problems.append(
                    Problem(("interfaces", each.name), f"shares node {node} with the rigid interface {other!r}")
                )
            owner[each.nodes] = k
    if not interfaces:
        problems.append(Problem(("interfaces",), "none is given: name at least the root"))
    if len({each.name for each in interfaces}) < len(interfaces):
        problems.append(Problem(("interfaces",), "every interface needs a name of its own"))
    if problems:
        raise ModelError(*problems)
    of = np.where(model.component < 6, owner[model.node_of], -1)
    free = np.flatnonzero(of < 0)
    rows, columns, values = [free], [np.arange(len(free))], [np.ones(len(free))]
    places = np.zeros(len(interfaces), dtype=np.int64)
    rigid = mean = 0
    averages = []
    for k, each in enumerate(interfaces):
        D = model.rigid_motions(points[k])
        if each.kind == "rigid":
            own = np.flatnonzero(of == k)
            rows.append(np.repeat(own, 6))
            columns.append(np.tile(np.arange(6) + len(free) + 6 * rigid, len(own)))
            values.append(D[own].ravel())
            places[k], rigid = rigid, rigid + 1
        else:
            own = _weighted_dofs(model, each)
            A = D[own]
            R = np.zeros((6, model.size))
            R[:, own] = np.linalg.solve(A.T @ A, A.T)
            averages.append(csr_array(R))
            places[k], mean = mean, mean + 1
    shape = (model.size, len(free) + 6 * rigid)
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    expand = as_csc(csc_array(entries, shape=shape))
    from scipy.sparse import vstack

    averaged = csr_array(vstack(averages)) @ expand if averages else csr_array((0, shape[1]))
    return Tied(model, tuple(interfaces), expand, len(free), averaged, places, points)


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
