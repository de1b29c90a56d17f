"""Second-order equations of small motions about an operating point, in independent coordinates.

    H^T (M alpha + C eta + K xi) + N p = H^T F u

M, C, K are the System's exact tangents: derivatives of all forces at the accelerations of the point, which need not be
zero. Source: docs/theory/linearisation.md, equations (7) and (8).
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.joint.constraint_kernels import (
    ANGLE,
    DISTANCE,
    DOT1,
    DOT2,
    IN_FORCE,
    INPUT,
    ORIENTATION,
    POINT,
    STROKE,
    TURN,
)
from femb.elements.joint.constraint_set import ConstraintRow
from femb.formulations.joint_tree import JointTree, coordinate_names
from femb.formulations.reduced.null_space import TreeTangent
from femb.linear.chart import Chart, OwnAxes, driven_coordinates, driver_slopes, frames_chart, solved
from femb.linear.modal_form import Invariant
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import free_motions
from femb.small_motions.point import OperatingPoint
from femb.system.system import System

# FrameMotion of frames and of vectors on them, with changes to first order in coordinates and speeds.
#
# Changes are (3, 2 N): by the N coordinates of a chart, then by their N speeds, at given rates of the speeds.
# Source: docs/theory/linearisation.md, section 2.


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """FrameMotion of a frame: axes R (3, 3), and in these omega and its rate spin (3,); and changes (3, 2 N).

    rotation : change of the attitude, own axes. displacement, velocity, acceleration : changes of the position and its
    rates, inertial axes. omega_change, spin_change : own axes.
    """

    R: Floats
    omega: Floats
    spin: Floats
    rotation: Floats
    displacement: Floats
    velocity: Floats
    acceleration: Floats
    omega_change: Floats
    spin_change: Floats


@dataclass(frozen=True, eq=False)
class Arm:
    """A vector y (3,) in the axes of a frame, its rates y1 and y2 in these, and their changes d, d1, d2 (3, 2 N)."""

    y: Floats
    y1: Floats
    y2: Floats
    d: Floats
    d1: Floats
    d2: Floats

    def values(self, on: FrameMotion) -> tuple[Floats, Floats, Floats]:
        """R y and its first and second rates, inertial axes."""
        rate = np.cross(on.omega, self.y) + self.y1
        second = np.cross(on.spin, self.y) + np.cross(on.omega, rate + self.y1) + self.y2
        return on.R @ self.y, on.R @ rate, on.R @ second

    def changes(self, on: FrameMotion) -> tuple[Floats, Floats, Floats]:
        """Changes of R y and of its first and second rates, inertial axes."""
        omega, spin, tilde = on.omega, on.spin, cross_matrix
        rate = np.cross(omega, self.y) + self.y1
        second = np.cross(spin, self.y) + np.cross(omega, rate + self.y1) + self.y2
        d_rate = tilde(omega) @ self.d - tilde(self.y) @ on.omega_change + self.d1
        d_second = tilde(spin) @ self.d - tilde(self.y) @ on.spin_change - tilde(rate + self.y1) @ on.omega_change
        d_second += tilde(omega) @ (d_rate + self.d1) + self.d2
        pairs = ((self.y, self.d), (rate, d_rate), (second, d_second))
        first, then, last = (on.R @ (change - tilde(value) @ on.rotation) for value, change in pairs)
        return first, then, last


# Closed chart: constraints imposed on a chart, in any motion, with an independent part of its coordinates.
#
# Every row Phi = 0 of a joint or driver is a function of points and axes of two frames. To first order, at given w',
#
#     J p = 0,    J w + Phi_p p = 0,    J w' + Phi_pp p + Phi_pw w = 0
#
# from the changes of Phi, Phi' and Phi''; the dependent coordinates, speeds and rates follow from the independent ones.
# Source: docs/theory/linearisation.md, section 2.

ZERO = np.zeros(3)
STEADY = 1e-6  # m/s2 or rad/s2: largest acceleration in equilibrium


@dataclass(frozen=True, eq=False)
class _Vector:
    """A vector x (3,) in inertial axes, its first and second rates x1, x2, and their changes d, d1, d2 (3, 2 M) by
    coordinates and speeds."""

    x: Floats
    x1: Floats
    x2: Floats
    d: Floats
    d1: Floats
    d2: Floats

    def __sub__(self, other: "_Vector") -> "_Vector":
        return _Vector(*(getattr(self, f) - getattr(other, f) for f in ("x", "x1", "x2", "d", "d1", "d2")))

    def dot(self, b: "_Vector") -> Floats:
        """(3, 2 M): the changes of the scalar product with b, of its rate and of its second rate."""
        a = self
        product = a.x @ b.d + b.x @ a.d
        rate = a.x1 @ b.d + b.x @ a.d1 + a.x @ b.d1 + b.x1 @ a.d
        second = a.x2 @ b.d + b.x @ a.d2 + a.x @ b.d2 + b.x2 @ a.d + 2.0 * (a.x1 @ b.d1 + b.x1 @ a.d1)
        return np.stack([product, rate, second])

    def values(self, b: "_Vector") -> Floats:
        """(3,): the scalar product with b, its rate and its second rate."""
        rate = self.x1 @ b.x + self.x @ b.x1
        return np.array([self.x @ b.x, rate, self.x2 @ b.x + self.x @ b.x2 + 2.0 * (self.x1 @ b.x1)])


def _turn(sine: tuple[Floats, Floats], cosine: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The rates (3,), from the second on, of the angle atan2(S, C), and the changes (3, 2 M) of it and of both rates,
    from those of S and C: with w = S^2 + C^2, w t' = C S' - S C' and w t'' = C S'' - S C'' - w' t'."""
    (s, ds), (c, dc) = sine, cosine
    w, dw = s[0] ** 2 + c[0] ** 2, 2.0 * (s[0] * ds[0] + c[0] * dc[0])
    w1 = 2.0 * (s[0] * s[1] + c[0] * c[1])
    dw1 = 2.0 * (s[1] * ds[0] + s[0] * ds[1] + c[1] * dc[0] + c[0] * dc[1])
    first, second = (c[0] * s[k] - s[0] * c[k] for k in (1, 2))
    d_first, d_second = (s[k] * dc[0] + c[0] * ds[k] - c[k] * ds[0] - s[0] * dc[k] for k in (1, 2))
    rate = first / w
    again = (second - rate * w1) / w
    d_rate = (d_first - rate * dw) / w
    d_again = (d_second - w1 * d_rate - rate * dw1 - again * dw) / w
    return np.array([0.0, rate, again]), np.stack([(c[0] * ds[0] - s[0] * dc[0]) / w, d_rate, d_again])


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
    of_rows = zip(system.constraint_set.rows, system.constraint_set.index[:, [INPUT, IN_FORCE]].tolist(), strict=True)
    rows = [_row(point, wide, row, motion, active, driven_columns, n) for row, (motion, active) in of_rows]
    # rows with one number are terms of one equation
    equation = np.unique([row.number for row in system.constraint_set.rows], return_inverse=True)[1]
    changes = np.zeros((system.n_c, 3, 2 * M))
    np.add.at(changes, equation, np.array([change for change, _ in rows]).reshape(-1, 3, 2 * M))
    _add_orientations(point, wide, changes)
    J, P, Qp, Qw = changes[:, 0, :M], changes[:, 1, :M], changes[:, 2, :M], changes[:, 2, M:]
    S, independent, dependent, solve = solved(J, n)
    columns = np.concatenate([independent, np.arange(n, M)])
    S1, S2, S3 = np.zeros((3, *S.shape))
    S1[dependent] = -solve @ P @ S
    S2[dependent] = -solve @ (Qp @ S + Qw @ S1)
    S3[dependent] = -solve @ Qw @ S
    H, free = wide.H @ S, len(independent)
    stiffness = H[:, :free].T @ (point.reaction_stiffness() @ H)
    for _, (column, force) in rows:
        if column >= 0:
            # the direction of this reaction depends on the driver
            stiffness[:, free + column - n] += S[:n, :free].T @ force
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


def _row(
    point: OperatingPoint,
    chart: Chart,
    row: ConstraintRow,
    motion: int,
    active: int,
    driven_columns: dict[int, int],
    n: int,
) -> tuple[Floats, tuple[int, Floats]]:
    """Changes (3, 2 M) of a row and its two rates; where the direction of its reaction depends on a driver, the column
    of the latter, else -1, and the derivative (n,) of the generalized reaction.

    motion, active : indices in u of the driver's motion, and of whether the row is active; or -1.
    """
    M = chart.H.shape[1]
    fixed_direction: tuple[int, Floats] = (-1, np.zeros(n))
    if row.primitive == ORIENTATION or (active >= 0 and point.u[active] == 0.0):
        return np.zeros((3, 2 * M)), fixed_direction
    f, f1, f2 = point.u[motion : motion + 3] if motion >= 0 else (0.0, 0.0, 0.0)
    column = n + driven_columns[motion] if motion in driven_columns else -1
    first, second = _motion(point, chart, row.first), _motion(point, chart, row.second)
    e = _axis(first, row.first_axis, M)
    if row.primitive == ANGLE:
        g, h = row.first_axis, row.first_axis_2
        y, slope = -np.sin(f) * g + np.cos(f) * h, -np.cos(f) * g - np.sin(f) * h
        by = np.zeros((3, 3, 2 * M))
        if column >= 0:
            by[:, :, column] = slope, -y * f1, -slope * f1**2 - y * f2
            by[1, :, M + column], by[2, :, M + column] = slope, -2.0 * y * f1
        arm = Arm(y, slope * f1, -y * f1**2 + slope * f2, *by)
        other = _axis(second, row.second_axis, M)
        slope_row = _axis(first, slope, M).dot(other)[0, :n]
        multiplier = point.multipliers[point.system.layout.row_c[row.number]]
        return _on_frame(first, arm).dot(other), (column, slope_row * multiplier) if column >= 0 else fixed_direction
    if row.primitive == TURN:
        quarter, (sine, cosine) = (
            _axis(first, row.first_axis_2, M),
            (_axis(second, axis, M) for axis in (row.second_point, row.second_axis)),
        )
        rates, changes = _turn((quarter.values(sine), quarter.dot(sine)), (e.values(cosine), e.dot(cosine)))
        return _of_term(point, row, motion, rates, changes), fixed_direction
    if row.primitive == DOT1:
        changes = e.dot(_axis(second, row.second_axis, M))
    else:
        d = _point(point, second, row.second, row.second_point, M) - _point(point, first, row.first, row.first_point, M)
        if row.primitive == POINT:
            constant = np.zeros((3, 2 * M))
            changes = _Vector(row.first_axis, ZERO, ZERO, constant, constant, constant).dot(d)
        elif row.primitive == DOT2:
            changes = e.dot(d)
        elif row.primitive == STROKE:
            return _of_term(point, row, motion, e.values(d), e.dot(d)), fixed_direction
        else:
            changes = d.dot(d) / (2.0 * row.constant)
    if column >= 0:
        scale = f / row.constant if row.primitive == DISTANCE else 1.0
        changes[0, column] -= scale
        changes[1, M + column] -= scale
        if row.primitive == DISTANCE:
            changes[1, column] -= f1 / row.constant
            changes[2, column] -= f2 / row.constant
            changes[2, M + column] -= 2.0 * f1 / row.constant
    return changes, fixed_direction


def _of_term(point: OperatingPoint, row: ConstraintRow, motion: int, rates: Floats, changes: Floats) -> Floats:
    """(3, 2 M): changes of a term k(c) and of its rates, from the rates (3,) and the changes of its coordinate.

    motion : index in u of c_0, k, k' and k'', whose parabola is the function; or -1.
    """
    if motion < 0:
        return row.constant * changes
    slope, bend = row.constant * point.u[motion + 2 : motion + 4]
    first = slope * changes[1] + bend * rates[1] * changes[0]
    second = slope * changes[2] + bend * (rates[2] * changes[0] + 2.0 * rates[1] * changes[1])
    return np.stack([slope * changes[0], first, second])


def _motion(point: OperatingPoint, chart: Chart, number: int) -> FrameMotion:
    """The motion of a frame, with its changes in a chart."""
    layout, M = point.system.layout, chart.H.shape[1]
    frame, zero = layout.frames[number], np.zeros((3, 2 * M))
    if not frame.freedom:
        R = rotations.rotation_matrix(frame.quaternion)
        return FrameMotion(R, ZERO, ZERO, zero, zero, zero, zero, zero, zero)
    i, j = layout.frame_q[number], layout.frame_v[number]
    pose = np.hstack([chart.H, np.zeros_like(chart.H)])
    velocity, acceleration = np.hstack([chart.eta_p, chart.H]), np.hstack([chart.alpha_p, chart.alpha_w])
    line, spin = slice(j, j + 3), slice(j + 3, j + 6)
    lines = pose[line], velocity[line], acceleration[line]
    if frame.freedom == 3:
        return FrameMotion(np.eye(3), ZERO, ZERO, zero, *lines, zero, zero)
    R = rotations.rotation_matrix(rotations.normalise(point.q[i + 3 : i + 7]))
    return FrameMotion(R, point.v[spin], point.a[spin], pose[spin], *lines, velocity[spin], acceleration[spin])


def _on_frame(on: FrameMotion, arm: Arm) -> _Vector:
    x, x1, x2 = arm.values(on)
    return _Vector(x, x1, x2, *arm.changes(on))


def _axis(on: FrameMotion, axis: Floats, M: int) -> _Vector:
    """An axis of a frame."""
    constant = np.zeros((3, 2 * M))
    return _on_frame(on, Arm(np.asarray(axis, dtype=float), ZERO, ZERO, constant, constant, constant))


def _point(point: OperatingPoint, on: FrameMotion, number: int, at: Floats, M: int) -> _Vector:
    """A point of a frame."""
    layout = point.system.layout
    frame, i, j = layout.frames[number], layout.frame_q[number], layout.frame_v[number]
    line = slice(j, j + 3)
    base = (point.q[i : i + 3], point.v[line], point.a[line]) if frame.freedom else (frame.position, ZERO, ZERO)
    arm = _axis(on, at, M)
    x, x1, x2 = (origin + y for origin, y in zip(base, (arm.x, arm.x1, arm.x2), strict=True))
    return _Vector(x, x1, x2, on.displacement + arm.d, on.velocity + arm.d1, on.acceleration + arm.d2)


# Chart of a joint tree: coordinates of joints and free roots, with the exact tangent of the reduced form.
#
# Source: docs/theory/linearisation.md, section 3.


def tree_chart(point: OperatingPoint, tree: JointTree) -> Chart:
    """The chart of a JointTree of the point's system, at the point; coordinates that drivers prescribe come last.

    The coordinates are those of the joints; of a ball joint the rotation in the axes of the second end; of a free root
    the displacement and the rotation in its own axes. Coordinates of engaged latches are left out.
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
    free, driven, driver_names = _parts(point.system, tree)
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


def _parts(system: "System", tree: JointTree) -> tuple[list[int], list[int], dict[int, str]]:
    """Free coordinates, coordinates that drivers prescribe, and names of the latter."""
    layout, index = system.layout, tree.joint_speeds
    driven = {
        index[driver.coordinate]: driver.inputs[0].label.removesuffix(".motion") for driver in layout.drivers.values()
    }
    latched = {index[latch.coordinate] for latch in layout.latches if latch.engaged(system.discrete)}
    free = [k for k in range(tree.n_u) if k not in driven and k not in latched]
    return free, [k for k in driven if k not in latched], driven


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
    # couplings close a chart of the joints, whose coordinates they name
    return closed_chart(
        point, frames_chart(point) if tree is None or system.layout.drivers else tree_chart(point, tree)
    )


def second_order(point: OperatingPoint, chart: Chart) -> SecondOrder:
    """Mass, damping and stiffness of small changes. Source: docs/theory/linearisation.md, equation (7)."""
    damping, stiffness = point.tangents
    H = chart.H[:, : chart.free]
    K, C, M = (H.T @ matrix for matrix in chart.rows(stiffness, damping, point.mass))
    forces, names = point.force_inputs()
    return SecondOrder(chart, M, C, K + chart.geometric_stiffness, H.T @ forces, names)


# Of the largest entry of a motion: smaller ones are rounding.
ROUNDING = 1e-13


def invariant_of(point: OperatingPoint, equations: SecondOrder) -> Invariant | None:
    """Motions and momenta that stay in a steady motion, by coordinates and speeds of a chart; None where a structure
    notices its own motion."""
    chart, P = equations.chart, equations.chart.free
    own = [k for k, name in enumerate(chart.names) if name in point.system.layout.first_order_names]
    M, C, K, E = (matrix[:P, :P] for matrix in (equations.mass, equations.damping, equations.stiffness, chart.E))
    return Invariant.of(EigenProblem.of_point(point), partial(_coordinates, chart), M, C, E, K, own)


def free_motions_of(point: OperatingPoint, chart: Chart) -> tuple[Floats, int]:
    """(P, f) motions of a chart without stiffness, and how many of the first have momenta that nothing changes."""
    found = free_motions(EigenProblem.of_point(point))
    return _coordinates(chart, found.shapes), found.kept


def _coordinates(chart: Chart, moves: Floats) -> Floats:
    """(P, k) coordinates of displacements (n_v, k)."""
    found = np.linalg.lstsq(chart.H[:, : chart.free], moves, rcond=None)[0]
    return np.where(np.abs(found) <= ROUNDING * np.max(np.abs(found), axis=0, initial=0.0), 0.0, found)
