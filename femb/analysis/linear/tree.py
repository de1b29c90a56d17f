"""Chart of a joint tree: coordinates of joints and free roots, with the exact derivatives of the reduced form.

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

    Coordinates of joints are their own; of a ball the turn in the axes of the second end, of a free root its
    displacement in its own axes and its turn, whatever the tree's velocities are. What a latch holds is left out.
    """
    q = tree.coordinates_at(point.q)
    u = tree.speeds_at(q, point.v)
    tangent, swept = Tangent(tree), tree.sweep(q[None], u[None])
    bias = tangent.null_space.matrices(*(each[0] for each in swept[2:]))[1] @ u
    a = tree.speeds_at(q, point.a - bias)
    changes = tangent.changes(swept, point.residual, q, u, a)
    by_u = changes.by_q + changes.H2_rate
    axes = OwnAxes.of_tree(tree)
    own = axes.derivatives(q, u, a)
    free, driven, held = _parts(point.system, tree)
    order = [*free, *driven]
    names = coordinate_names(tree)
    H, eta_p, alpha_p, alpha_w = (
        each[:, order]
        for each in (
            changes.H2 @ own.H,
            changes.by_q @ own.H + changes.H2 @ own.eta,
            changes.rate_by_q @ own.H + by_u @ own.eta + changes.H2 @ own.alpha_p,
            by_u @ own.H + changes.H2 @ own.alpha_w,
        )
    )

    def retract(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        whole = np.zeros((2, tree.n_u))
        whole[:, order] = p, w
        Q, V = tree.to_system(*(each[None] for each in axes.retract(q, u, *whole)))
        return Q[0], V[0]

    def at(Q: Floats, V: Floats) -> tuple[Floats, Floats]:
        other = tree.coordinates_at(Q)
        return other, tree.speeds_at(other, V)

    return Chart(
        tuple(names[k] for k in free),
        tuple(held[k] for k in driven),
        H,
        eta_p,
        alpha_p,
        alpha_w,
        own.E[np.ix_(order, order)],
        (own.H.T @ changes.geometric @ own.H)[np.ix_(free, order)],
        own.speeds[order],
        own.rates[order],
        retract,
        lambda Q, V: axes.speeds(*at(Q, V))[free],
        lambda Q, V: np.concatenate([each[free] for each in axes.local_difference(q, u, *at(Q, V))]),
        {k: order.index(j) for k, j in tree.joint_speeds.items() if j in order},
    )


def _parts(system: "System", tree: JointTree) -> tuple[list[int], list[int], dict[int, str]]:
    """Coordinates that are free, and that drivers prescribe, and the names of the latter."""
    layout, places = system.layout, tree.joint_speeds
    held = {
        places[driver.coordinate]: driver.inputs[0].label.removesuffix(".motion") for driver in layout.drivers.values()
    }
    engaged = zip(layout.latches, system.discrete.engaged, strict=True)
    latched = {places[latch.coordinate] for latch, on in engaged if on}
    free = [k for k in range(tree.n_u) if k not in held and k not in latched]
    return free, [k for k in held if k not in latched], held


def covers(system: "System", tree: JointTree) -> bool:
    """Whether all rows that are of no joint of the tree hold one of its coordinates: drivers of joints, latches."""
    layout, places = system.layout, tree.joint_speeds
    held = {row for driver in layout.drivers.values() if driver.coordinate in places for row in driver.rows}
    held |= {latch.row for latch in layout.latches if latch.coordinate in places}
    return set(tree.retained_rows) <= held
