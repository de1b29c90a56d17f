"""Second-order equations of small motions about an operating point, in independent coordinates.

    H^T (M alpha + C eta + K xi) + N p = H^T F u

M, C, K are the System's exact tangents: derivatives of all forces at the accelerations of the point, which need not be
zero. Source: docs/theory/linearisation.md, equations (7) and (8).
"""

from dataclasses import dataclass

from femb.analysis.linear.chart import Chart, frames_chart, resting_chart
from femb.analysis.linear.closed import closed_chart
from femb.analysis.linear.point import OperatingPoint
from femb.analysis.linear.tree import covers, tree_chart
from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements import OrientationDriver
from femb.formulations.joint_tree import JointTree


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """M w' + C w + K p = F u, P equations; the last D columns of M, C, K are those of driven coordinates.

    mass, damping, stiffness (P, P + D). forces (P, m). chart : of the coordinates. inputs : names of u.
    """

    chart: Chart
    mass: Floats
    damping: Floats
    stiffness: Floats
    forces: Floats
    inputs: tuple[str, ...]


def chart_of(point: OperatingPoint) -> Chart:
    """The chart of a point: the coordinates of a joint tree, else an independent part of the coordinates of all frames.

    Raises ModelError for driven orientations at a point that is no equilibrium.
    """
    system = point.system
    if not system.n_c:
        return frames_chart(point)
    try:
        tree = JointTree(system)
    except ModelError:
        tree = None  # closed loops, or joints without coordinates
    if tree is not None and covers(system, tree):
        return tree_chart(point, tree)
    if any(isinstance(driver, OrientationDriver) for driver in system.model.tables["drivers"].values()):
        return resting_chart(point)
    return closed_chart(point, frames_chart(point))


def second_order(point: OperatingPoint, chart: Chart) -> SecondOrder:
    """Mass, damping and stiffness of small changes. Source: docs/theory/linearisation.md, equation (7)."""
    damping, stiffness = point.tangents
    H = chart.H[:, : chart.free]
    forces, names = point.force_inputs()
    return SecondOrder(
        chart,
        H.T @ (point.mass @ chart.H),
        H.T @ (point.mass @ chart.alpha_w + damping @ chart.H),
        H.T @ (point.mass @ chart.alpha_p + damping @ chart.eta_p + stiffness @ chart.H) + chart.geometric_stiffness,
        H.T @ forces,
        names,
    )
