"""Chart of a joint tree: coordinates of joints and free roots, with the exact tangent of the reduced form.

Source: docs/theory/linearisation.md, section 3.
"""

from typing import TYPE_CHECKING

import numpy as np

from femb.analysis.linear.chart import Chart
from femb.analysis.linear.own_axes import OwnAxes
from femb.analysis.linear.point import OperatingPoint
from femb.base.types import Floats
from femb.formulations.joint_tree import JointTree
from femb.formulations.reduced.tangent import Tangent
from femb.formulations.tree_names import coordinate_names

if TYPE_CHECKING:
    from femb.system.system import System


def tree_chart(point: OperatingPoint, tree: JointTree) -> Chart:
    """The chart of a JointTree of the point's system, at the point; coordinates that drivers prescribe come last.

    The coordinates are those of the joints; of a ball joint the rotation in the axes of the second end; of a free root
    the displacement and the rotation in its own axes. Coordinates of engaged latches are left out.
    """
    q = tree.coordinates_at(point.q)
    u = tree.speeds_at(q, point.v)
    tangent, sweep = Tangent(tree), tree.sweep(q[None], u[None])
    bias = tangent.null_space.matrices(*(array[0] for array in sweep[2:]))[1] @ u
    a = tree.speeds_at(q, point.a - bias)
    changes = tangent.changes(sweep, point.residual, q, u, a)
    by_u = changes.by_q + changes.H2_rate
    axes = OwnAxes.of_tree(tree)
    own = axes.derivatives(q, u, a)
    free, driven, driver_names = _parts(point.system, tree)
    order = [*free, *driven]
    names = coordinate_names(tree)
    H, eta_p, alpha_p, alpha_w = (
        matrix[:, order]
        for matrix in (
            changes.H2 @ own.H,
            changes.by_q @ own.H + changes.H2 @ own.eta,
            changes.rate_by_q @ own.H + by_u @ own.eta + changes.H2 @ own.alpha_p,
            by_u @ own.H + changes.H2 @ own.alpha_w,
        )
    )

    def retract(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        p_w = np.zeros((2, tree.n_u))
        p_w[:, order] = p, w
        Q, V = tree.to_system(*(x[None] for x in axes.retract(q, u, *p_w)))
        return Q[0], V[0]

    def to_tree(Q: Floats, V: Floats) -> tuple[Floats, Floats]:
        tree_q = tree.coordinates_at(Q)
        return tree_q, tree.speeds_at(tree_q, V)

    return Chart(
        tuple(names[k] for k in free),
        tuple(driver_names[k] for k in driven),
        H,
        eta_p,
        alpha_p,
        alpha_w,
        own.E[np.ix_(order, order)],
        (own.H.T @ changes.geometric @ own.H)[np.ix_(free, order)],
        own.speeds[order],
        own.rates[order],
        retract,
        lambda Q, V: axes.speeds(*to_tree(Q, V))[free],
        lambda Q, V: np.concatenate([x[free] for x in axes.local_difference(q, u, *to_tree(Q, V))]),
        {k: order.index(j) for k, j in tree.joint_speeds.items() if j in order},
    )


def _parts(system: "System", tree: JointTree) -> tuple[list[int], list[int], dict[int, str]]:
    """Free coordinates, coordinates that drivers prescribe, and names of the latter."""
    layout, index = system.layout, tree.joint_speeds
    driven = {
        index[driver.coordinate]: driver.inputs[0].label.removesuffix(".motion") for driver in layout.drivers.values()
    }
    latches = zip(layout.latches, system.discrete.engaged, strict=True)
    latched = {index[latch.coordinate] for latch, engaged in latches if engaged}
    free = [k for k in range(tree.n_u) if k not in driven and k not in latched]
    return free, [k for k in driven if k not in latched], driven


def covers(system: "System", tree: JointTree) -> bool:
    """Whether all rows besides those of the tree's joints are of drivers and latches on coordinates of the tree."""
    layout, index = system.layout, tree.joint_speeds
    rows = {row for driver in layout.drivers.values() if driver.coordinate in index for row in driver.rows}
    rows |= {latch.row for latch in layout.latches if latch.coordinate in index}
    return set(tree.retained_rows) <= rows
