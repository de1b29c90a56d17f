"""Second-order equations of small motions about an operating point, in independent coordinates.

    H^T (M alpha + C eta + K xi) + N p = H^T F u

M, C, K are the System's exact tangents: derivatives of all forces at the accelerations of the point, which need not be
zero. Source: docs/theory/linearisation.md, equations (7) and (8).
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.environment.orbital_frame import turn_of
from femb.elements.joint.primitives import IN_FORCE, INPUT, ORIENTATION, course_of_row
from femb.formulations.joint_tree import JointTree, coordinate_names
from femb.formulations.reduced.null_space import TreeTangent
from femb.linear.chart import Chart, OwnAxes, driven_coordinates, driver_slopes, frames_chart, solved
from femb.linear.modal_form import ExactForces, Invariant, columns_without_rounding
from femb.numerics import rotations
from femb.numerics.courses import Course
from femb.numerics.rotations import cross_matrix
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import free_motions
from femb.small_motions.point import OperatingPoint
from femb.system.degrees_of_freedom import rank_of_step
from femb.system.rigid_motion import rigid_motions
from femb.system.system import System

# Motions of frames, with changes to first order by the N coordinates of a chart, then by their N speeds, at given rates
# of the speeds. Source: docs/theory/linearisation.md, section 2.


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """Motion of a frame: its origin, inertial axes; axes R (3, 3), and in these omega and its rate spin (3,).

    turned (3, 3, 2 N) : changes of the attitude, of omega and of spin, own axes.
    """

    origin: Course
    R: Floats
    omega: Floats
    spin: Floats
    turned: Floats

    def axis(self, axis: Floats) -> Course:
        """The course of an axis of the frame, in its axes (3,): with y = a, omega x a, spin x a + omega x (omega x a)
        of R y the change is R (dy - y x turn)."""
        omega, spin, tilde = self.omega, self.spin, cross_matrix
        rate = np.cross(omega, axis)
        second = np.cross(spin, axis) + np.cross(omega, rate)
        turn, omega_change, spin_change = self.turned
        of_rate = -tilde(axis) @ omega_change
        of_second = tilde(omega) @ of_rate - tilde(axis) @ spin_change - tilde(rate) @ omega_change
        y, of_y = np.array([axis, rate, second]), (np.zeros_like(turn), of_rate, of_second)
        changes = [self.R @ (change - tilde(value) @ turn) for value, change in zip(y, of_y, strict=True)]
        return Course(y @ self.R.T, np.array(changes))

    def point(self, at: Floats) -> Course:
        """The course of a point of the frame, in its axes (3,)."""
        return self.origin + self.axis(at)


# Closed chart: constraints imposed on a chart, in any motion, with an independent part of its coordinates.
#
# Every row Phi = 0 of a joint or driver is a function of points and axes of two frames. To first order, at given w',
#
#     J p = 0,    J w + Phi_p p = 0,    J w' + Phi_pp p + Phi_pw w = 0
#
# from the changes of Phi, Phi' and Phi''; the dependent coordinates, speeds and rates follow from the independent ones.
# Source: docs/theory/linearisation.md, section 2.

STEADY = 1e-6  # m/s2 or rad/s2: largest acceleration in equilibrium


def closed_chart(point: OperatingPoint, base: Chart) -> Chart:
    """Impose the constraints of the system on the chart ``base``, whose coordinates are all free.

    Coordinates that drivers prescribe come last.
    """
    system, n = point.system, base.free
    driven = driven_coordinates(system)
    driven_columns = {at: k for k, at in enumerate(driven)}
    D = len(driven)
    M = n + D
    padded = {k: np.pad(getattr(base, k), ((0, 0), (0, D))) for k in ("H", "eta_p", "alpha_p", "alpha_w")}
    wide = replace(base, **padded)  # type: ignore[arg-type]
    equations = system.constraint_set
    motions = {k: _motion(point, wide, k) for k in {k for row in equations.rows for k in (row.first, row.second)}}
    changes = np.zeros((system.n_c, 3, 2 * M))
    # rows with one number are terms of one equation
    equation = system.layout.row_c[[row.number for row in equations.rows]].tolist()
    of_rows = zip(equations.rows, equation, equations.index[:, [INPUT, IN_FORCE]].tolist(), strict=True)
    for k, (row, number, (at, active)) in enumerate(of_rows):
        if active >= 0 and point.u[active] == 0.0:
            continue
        course = None
        if at >= 0:
            course = Course(point.u[at : at + 3, None], np.zeros((3, 1, 2 * M)))
            if at in driven_columns:
                course.changes[[0, 1], 0, [n + driven_columns[at], M + n + driven_columns[at]]] = 1.0
        found = course_of_row(row, motions[row.first], motions[row.second], course, equations.law(k, point.u))
        if found is not None:
            changes[number] += found.changes[:, 0]
    _add_orientations(point, wide, changes)
    J, P, Qp, Qw = changes[:, 0, :M], changes[:, 1, :M], changes[:, 2, :M], changes[:, 2, M:]

    def rank() -> int | None:
        kept = rank_of_step(system, point.u, point.q)
        return None if kept is None else n - (system.n_v - kept)

    S, independent, dependent, solve = solved(J, n, rank)
    columns = np.concatenate([independent, np.arange(n, M)])
    S1, S2, S3 = np.zeros((3, *S.shape))
    S1[dependent] = -solve @ P @ S
    S2[dependent] = -solve @ (Qp @ S + Qw @ S1)
    S3[dependent] = -solve @ Qw @ S
    H, free = wide.H @ S, len(independent)
    stiffness = H[:, :free].T @ (point.reaction_stiffness() @ H)
    E = np.pad(base.E, ((0, D), (0, D))) @ S

    def retract(p: Floats, w: Floats) -> tuple[Floats, Floats]:
        q, v = base.retract((S @ p)[:n], (S @ w + S1 @ p)[:n])
        return system.projected(point.u, q, v)

    prescribed = [[point.u[at + k] for at in driven_columns] for k in (1, 2)]
    return Chart(
        H,
        wide.eta_p @ S + wide.H @ S1,
        wide.alpha_p @ S + wide.alpha_w @ S1 + wide.H @ S2,
        wide.alpha_w @ S + wide.H @ S3,
        E[columns],
        tuple(base.names[k] for k in independent),
        tuple(driven.values()),
        stiffness,
        np.concatenate([base.speeds[independent], prescribed[0]]),
        np.concatenate([base.rates[independent], prescribed[1]]),
        retract,
        lambda q, v: base.speeds_at(q, v)[independent],
    )


def _add_orientations(point: OperatingPoint, chart: Chart, changes: Floats) -> None:
    """Add to changes (n_c, 3, 2 M) those of orientations that are driven, in equilibrium: their rates do not change.

    Raises ModelError at other points.
    """
    system = point.system
    driven = {row.number for row in system.constraint_set.rows if row.primitive == ORIENTATION}
    if not driven:
        return
    if not point.at_rest or np.max(np.abs(point.a), initial=0.0) > STEADY:
        raise ModelError.at(
            ("drivers",), "orientations are driven at this start, which is linearised in equilibrium only"
        )
    rows = [int(system.layout.row_c[number]) for number in sorted(driven)]
    slopes = driver_slopes(point)[1]
    changes[rows, 0, : chart.H.shape[1]] = system.jacobian(point.u, point.q)[rows] @ chart.H
    changes[rows, 0, chart.H.shape[1] - slopes.shape[1] : chart.H.shape[1]] += slopes[rows]


def _motion(point: OperatingPoint, chart: Chart, number: int) -> FrameMotion:
    """The motion of a frame, with its changes in a chart."""
    layout, M = point.system.layout, chart.H.shape[1]
    frame, still = layout.frames[number], np.zeros((3, 3, 2 * M))
    if not frame.freedom:
        at = Course(np.array([frame.position, np.zeros(3), np.zeros(3)]), still)
        return FrameMotion(at, rotations.rotation_matrix(frame.quaternion), np.zeros(3), np.zeros(3), still)
    i, j = layout.frame_q[number], layout.frame_v[number]
    line, spin = slice(j, j + 3), slice(j + 3, j + 6)
    changes = [
        np.hstack([chart.H, np.zeros_like(chart.H)]),
        np.hstack([chart.eta_p, chart.H]),
        np.hstack([chart.alpha_p, chart.alpha_w]),
    ]
    values = np.array([point.q[i : i + 3], point.v[line], point.a[line]])
    at = Course(values, np.array([each[line] for each in changes]))
    if frame.freedom == 3:
        return FrameMotion(at, np.eye(3), np.zeros(3), np.zeros(3), still)
    R = rotations.rotation_matrix(rotations.normalise(point.q[i + 3 : i + 7]))
    return FrameMotion(at, R, point.v[spin], point.a[spin], np.array([each[spin] for each in changes]))


# Chart of a joint tree: coordinates of joints and free roots, with the exact tangent of the reduced form.
#
# Source: docs/theory/linearisation.md, section 3.


def tree_chart(point: OperatingPoint, tree: JointTree, latched: bool = False) -> Chart:
    """The chart of a JointTree of the point's system, at the point; coordinates that drivers prescribe come last.

    The coordinates are those of the joints; of a ball joint the rotation in the axes of the second end; of a free root
    the displacement and the rotation in its own axes. Coordinates of engaged latches are left out unless ``latched``.
    """
    q = tree.coordinates_at(point.q)
    u = tree.speeds_at(q, point.v)
    tangent, sweep = TreeTangent(tree), tree.sweep(q[None], u[None])
    bias = tangent.null_space.matrices(*(array[0] for array in sweep[2:]))[1] @ u
    a = tree.speeds_at(q, point.a - bias)
    changes = tangent.changes(sweep, point.residual, q, u, a)
    by_u = changes.by_q + changes.H2_rate
    axes = OwnAxes.of_tree(tree)
    own = axes.changes(q, u, a)
    free, driven, driver_names = _parts(point.system, tree, latched)
    order = [*free, *driven]
    names = coordinate_names(tree)
    H, eta_p, alpha_p, alpha_w = (
        matrix[:, order]
        for matrix in (
            changes.H2 @ own.H,
            changes.by_q @ own.H + changes.H2 @ own.eta_p,
            changes.rate_by_q @ own.H + by_u @ own.eta_p + changes.H2 @ own.alpha_p,
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
        H,
        eta_p,
        alpha_p,
        alpha_w,
        own.E[np.ix_(order, order)],
        tuple(names[k] for k in free),
        tuple(driver_names[k] for k in driven),
        (own.H.T @ changes.geometric @ own.H)[np.ix_(free, order)],
        axes.speeds(q, u)[order],
        axes.rates(q, u, a)[order],
        retract,
        lambda Q, V: axes.speeds(*to_tree(Q, V))[free],
        lambda Q, V: np.concatenate([x[free] for x in axes.local_difference(q, u, *to_tree(Q, V))]),
        {k: order.index(j) for k, j in tree.joint_speeds.items() if j in order},
    )


def _parts(system: "System", tree: JointTree, latched: bool) -> tuple[list[int], list[int], dict[int, str]]:
    """Free coordinates, ``latched`` ones among them or not, coordinates that drivers prescribe, and names of these."""
    layout, index = system.layout, tree.joint_speeds
    driven = {
        index[driver.coordinate]: driver.inputs[0].label.removesuffix(".motion") for driver in layout.drivers.values()
    }
    held = {index[each.coordinate] for each in layout.latches if each.engaged(system.discrete) and not latched}
    free = [k for k in range(tree.n_u) if k not in driven and k not in held]
    return free, [k for k in driven if k not in held], driven


def covers(system: "System", tree: JointTree) -> bool:
    """Whether all rows besides those of the tree's joints are of drivers and latches on coordinates of the tree."""
    layout, index = system.layout, tree.joint_speeds
    rows = {row for driver in layout.drivers.values() if driver.coordinate in index for row in driver.rows}
    rows |= {latch.row for latch in layout.latches if latch.coordinate in index}
    return set(tree.retained_rows) <= rows


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

    @property
    def first_order(self) -> Floats:
        """(2 P, 2 P): the rates of free coordinates and their speeds by these."""
        P = self.chart.free
        right = -np.hstack([self.stiffness[:, :P], self.damping[:, :P]])
        return np.vstack([np.hstack([self.chart.E[:P, :P], np.eye(P)]), np.linalg.solve(self.mass[:, :P], right)])


def chart_of(point: OperatingPoint) -> Chart:
    """The chart of a point: the coordinates of a joint tree, of which couplings leave an independent part, else an
    independent part of the coordinates of all frames.

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
    if tree is None or system.layout.drivers:
        return closed_chart(point, frames_chart(point))
    # couplings close a chart of the joints, whose coordinates they name; without those that latches hold, the row of a
    # coupling between these would be rounding alone
    return closed_chart(point, tree_chart(point, tree, latched=True))


def second_order(point: OperatingPoint, chart: Chart) -> SecondOrder:
    """Mass, damping and stiffness of small changes. Source: docs/theory/linearisation.md, equation (7)."""
    damping, stiffness = point.tangents
    H = chart.H[:, : chart.free]
    K, C, M = (H.T @ matrix for matrix in chart.rows(stiffness, damping, point.mass))
    forces, names = point.force_inputs()
    return SecondOrder(chart, M, C, K + chart.geometric_stiffness, H.T @ forces, names)


def invariant_of(point: OperatingPoint, equations: SecondOrder, steady: bool = True) -> Invariant | None:
    """Motions and momenta that stay in a steady motion, by coordinates and speeds of a chart, and translations that
    stay in any other one; in orbit translations, which fall freely. None where a structure notices its own motion
    otherwise, or where axes of its coordinates turn at different rates in a motion that is not steady."""
    chart, P = equations.chart, equations.chart.free
    own = [k for k, name in enumerate(chart.names) if name in point.system.layout.first_order_names]
    M, C, K, E = (matrix[:P, :P] for matrix in (equations.mass, equations.damping, equations.stiffness, chart.E))
    found = Invariant.of(EigenProblem.of_point(point), partial(_coordinates, chart), M, C, E, K, own, steady)
    if (found is None or not steady) and turn_of(point.system.model, point.t)[0].any():
        steady, found = False, _falling(point, equations)
    return found if steady or (found is not None and found.holds(equations.first_order)) else None


def _falling(point: OperatingPoint, equations: SecondOrder) -> Invariant | None:
    """Translations T of free structures beside an orbit: (T, -E T) and (0, T) go over into each other, as the mass
    centre moves by gravity alone, which no attitude changes."""
    chart, system = equations.chart, point.system
    whole, P, E = system.rigid_velocities(point.q)[:3], chart.free, chart.E[: chart.free, : chart.free]
    free = [each for each in rigid_motions(system.starting_at(point.q, point.v)) if each.free]
    if not free:
        return None
    T = np.array([chart.speeds_at(point.q, each.mask * part) for each in free for part in whole]).T
    X = np.block([[T, np.zeros_like(T)], [-E @ T, T]])
    # the second rows of A X = X L; by the first ones a displacement has the rate of its speed
    second = equations.first_order[P:] @ X + np.hstack([np.zeros_like(T), E @ T])
    rates = np.vstack([np.eye(T.shape[1], len(X.T), T.shape[1]), np.linalg.lstsq(T, second, rcond=None)[0]])
    return Invariant(X, rates, np.zeros((len(X), 0)), np.zeros((0, 0)))


def exact_forces(motion: EigenProblem, basis: Floats) -> ExactForces:
    """Forces of a structure by coordinates, from the products that do not round the strains of short elements.

    basis (n_v, r) : displacements by the coordinates.
    """

    def forces(x: Floats) -> tuple[Floats, Floats, Floats]:
        y, low = basis @ x, motion.low_rank
        stiffness = motion.exact_stiffness(y) + low.left @ (low.stiffness.T @ y)
        return basis.T @ stiffness, basis.T @ motion.exact_damping(y), basis.T @ motion.adjoint_damping(y)

    return forces


def known_at_rest(point: OperatingPoint, chart: Chart) -> dict[str, Any]:
    """Arguments of ``space_of``: (P, f) motions of a chart without stiffness with how many of the first have momenta
    that nothing changes, and the exact forces by its coordinates."""
    motion = EigenProblem.of_point(point)
    found = free_motions(motion)
    free = _coordinates(chart, found.shapes), found.kept
    return {"free": free, "exact": exact_forces(motion, chart.H[:, : chart.free])}


def _coordinates(chart: Chart, moves: Floats) -> Floats:
    """(P, k) coordinates of displacements (n_v, k)."""
    return columns_without_rounding(np.linalg.lstsq(chart.H[:, : chart.free], moves, rcond=None)[0])
