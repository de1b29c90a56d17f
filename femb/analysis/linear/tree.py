"""Chart of a joint tree: coordinates of joints and free roots, and their exact derivatives by one sweep to the tips.

A frame hangs on its parent h: with X the parent's axes in the frame's, s the relative angular velocity, and the arms
g (axes of h) and b (own axes) from the two origins to the joint, of which one holds the strokes,

    omega = X omega_h + s,   r = r_h + R_h g - R b,   rdot = rdot_h + R_h (omega_h x g + g') - R (omega x b + b')

and once more for the accelerations. Their changes follow line by line, with the turn phi = X phi_h + S p of the frame:
the change of R y is R (phi x y + delta y), that of X y is X delta y - (S p) x X y.
Source: docs/theory/linearisation.md, section 3.
"""

from typing import Any

import numpy as np

from femb.analysis.linear.chart import Chart
from femb.analysis.linear.joint_turn import JointTurn
from femb.analysis.linear.motion import Arm, Motion
from femb.analysis.linear.point import OperatingPoint
from femb.analysis.linear.tree_state import apart, in_own_axes, is_root, moved, speeds_in_own_axes
from femb.base.types import Floats
from femb.formulations.joint_tree_kernels import BALL
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix


def tree_chart(point: OperatingPoint, tree: Any) -> Chart:
    """The chart of a JointTree of the point's system, at the point; coordinates that drivers prescribe come last.

    Coordinates of joints are their own; of a ball the turn in the axes of the second end, of a free root its
    displacement in its own axes and its turn, whatever the tree's velocities are. What a latch holds is left out.
    """
    system, layout, N = point.system, point.system.layout, tree.n_u
    q = tree.coordinates_at(point.q)
    u = tree.speeds_at(q, point.v)
    sweep = [each[0] for each in tree.sweep(q[None], u[None])]
    turning = _turning(tree, q, sweep, point)
    u, rate, G = in_own_axes(tree, point, u, _rates(tree, sweep, point, u))
    rows = np.zeros((3, system.n_v, 2 * N))
    E = np.zeros((N, N))
    motions: list[Motion] = []
    for each in tree.frames:
        parent = motions[each.parent] if each.parent >= 0 else _fixed(layout, each, N)
        motions.append(_hung(point, each, parent, q, u, rate, N))
        _kinematics(each, motions[-1], u, E)
        j, freedom = layout.frame_v[each.frame], layout.frames[each.frame].freedom
        m = motions[-1]
        rows[:, j : j + 3] = m.place, m.velocity, m.acceleration
        if freedom == 6:
            rows[:, j + 3 : j + 6] = m.turn, m.omega_change, m.spin_change
    at, own = tree.strain_places[1], tree.strains[1]
    rows[0, at, range(own.start, own.stop)] = rows[1, at, range(N + own.start, N + own.stop)] = 1.0
    free, driven, held = _parts(system, tree)
    order = [*free, *driven]
    pick = np.array([*order, *(N + k for k in order)], dtype=int)
    pose, velocity, acceleration = (each[:, pick] for each in rows)
    n, names = len(order), coordinate_names(tree)
    places = {k: order.index(p) for k, p in _joint_places(tree).items() if p in order}
    return Chart(
        tuple(names[k] for k in free),
        tuple(held[k] for k in driven),
        pose[:, :n],
        velocity[:, :n],
        acceleration[:, :n],
        acceleration[:, n:],
        E[np.ix_(order, order)],
        (G.T @ turning @ G)[np.ix_(free, order)],
        u[order],
        rate[order],
        lambda p, w: moved(point, tree, q, u, order, p, w),
        lambda Q, V: speeds_in_own_axes(point, tree, Q, V)[free],
        lambda Q, V: apart(point, tree, q, u, free, Q, V),
        places,
    )


def _rates(tree: Any, sweep: list[Floats], point: OperatingPoint, u: Floats) -> Floats:
    """u' (n_u,) of the accelerations: B u' = a - T a_h - T' v_h - B' u."""
    layout, (_, _, T, T1, B, B1) = point.system.layout, sweep
    rate, six = np.zeros(tree.n_u), np.zeros((2, len(tree.frames), 6))
    for k, each in enumerate(tree.frames):
        j, freedom, n = layout.frame_v[each.frame], layout.frames[each.frame].freedom, each.u.stop - each.u.start
        six[:, k, :freedom] = point.v[j : j + freedom], point.a[j : j + freedom]
        left = six[1, k] - B1[k, :, :n] @ u[each.u]
        if each.parent >= 0:
            left = left - T[k] @ six[1, each.parent] - T1[k] @ six[0, each.parent]
        rate[each.u] = np.linalg.lstsq(B[k, :freedom, :n], left[:freedom], rcond=None)[0]
    rate[tree.strains[1]] = point.a[tree.strain_places[1]]
    return rate


def _fixed(layout: Any, each: Any, N: int) -> Motion:
    """The ground, or the inertial axes that free roots hang on."""
    R = np.eye(3)
    if each.above.frame >= 0:
        R = rotations.rotation_matrix(layout.frames[each.above.frame].quaternion)
    nothing = np.zeros((3, 2 * N))
    return Motion(R, np.zeros(3), np.zeros(3), nothing, nothing, nothing, nothing, nothing, nothing)


def _hung(point: OperatingPoint, each: Any, h: Motion, q: Floats, u: Floats, rate: Floats, N: int) -> Motion:
    """The motion of a frame from that of its parent."""
    layout, tilde = point.system.layout, cross_matrix
    i = layout.frame_q[each.frame]
    six = layout.frames[each.frame].freedom == 6
    R = rotations.rotation_matrix(rotations.normalise(point.q[i + 3 : i + 7])) if six else np.eye(3)
    if six:
        X = R.T @ h.R
        above, below = (rotations.rotation_matrix(end.rotation) for end in (each.above, each.below))
        t = JointTurn.of(each, (h.R @ above).T @ (R @ below), u, rate, N).turned(below)
        carried, carried_spin = X @ h.omega, X @ h.spin
        omega, spin = carried + t.s, carried_spin - np.cross(t.s, carried) + t.s1
        turn = X @ h.turn + t.turn
        carried_change = X @ h.omega_change + tilde(carried) @ t.turn
        omega_change = carried_change + t.s_change
        spin_change = X @ h.spin_change + tilde(carried_spin) @ t.turn + tilde(carried) @ t.s_change
        spin_change += -tilde(t.s) @ carried_change + t.s1_change
    else:
        omega, spin = np.zeros((2, 3))
        turn, omega_change, spin_change = np.zeros((3, 3, 2 * N))
    own = Motion(R, omega, spin, turn, turn, turn, turn, omega_change, spin_change)
    g, b = _arms(each, own, q, u, rate, N)
    parts = zip(g.moved(h), b.moved(own), (h.place, h.velocity, h.acceleration), strict=True)
    place, velocity, acceleration = (base + up - down for up, down, base in parts)
    return Motion(R, omega, spin, turn, place, velocity, acceleration, omega_change, spin_change)


def _arms(each: Any, own: Motion, q: Floats, u: Floats, rate: Floats, N: int) -> tuple[Arm, Arm]:
    """The arms from the parent's origin and from the frame's to the joint."""
    count = len(each.strokes)
    places = range(each.u.start, each.u.start + count)
    d, d1, d2 = (x[at : at + count] for x, at in ((q, each.q.start), (u, each.u.start), (rate, each.u.start)))
    nothing = np.zeros((3, 2 * N))
    if is_root(each):
        # the speeds are the velocity in the frame's axes, the coordinates displacements in them
        R, tilde = own.R, cross_matrix
        by_p, by_w = np.zeros((2, 3, 2 * N))
        by_p[:, places] = by_w[:, [N + k for k in places]] = np.eye(3)
        second = d2 + np.cross(own.omega, d1)
        first_change = R @ (by_w - tilde(d1) @ own.turn)
        second_change = tilde(own.omega) @ by_w - tilde(d1) @ own.omega_change - tilde(second) @ own.turn
        moving = Arm(d, R @ d1, R @ second, R @ by_p, first_change, R @ second_change)
    else:
        end = each.below if each.backward else each.above
        axes = rotations.rotation_matrix(end.rotation)[:, list(each.strokes)]
        by_p, by_w = np.zeros((2, 3, 2 * N))
        by_p[:, places], by_w[:, [N + k for k in places]] = axes, axes
        moving = Arm(end.offset + axes @ d, axes @ d1, axes @ d2, by_p, by_w, nothing)
    end = each.above if each.backward else each.below
    still = Arm(end.offset, np.zeros(3), np.zeros(3), nothing, nothing, nothing)
    return (still, moving) if each.backward else (moving, still)


def _kinematics(each: Any, own: Motion, u: Floats, E: Floats) -> None:
    """Rows of E of what is not simply p' = w: turns of balls, displacements in the frame's axes."""
    turn, strokes = slice(each.u.stop - 3, each.u.stop), slice(each.u.start, each.u.start + 3)
    if each.turn == BALL:
        E[turn, turn] = -cross_matrix(u[turn])
    if is_root(each):
        E[strokes, strokes], E[strokes, turn] = -cross_matrix(own.omega), -cross_matrix(u[strokes])


def _turning(tree: Any, q: Floats, sweep: list[Floats], point: OperatingPoint) -> Floats:
    """(N, N): the change of H^T with each coordinate, times the residual r that the joints balance.

    H is linear along the tree, v_i = T_i v_h + B_i u_i, and its rate at the speeds e_k is its change with coordinate
    k: one sweep at N unit speeds gives them all, and a sweep back from the tips the products.
    """
    layout, N = point.system.layout, tree.n_u
    out = np.zeros((N, N))
    *_, T1, _, B1 = tree.sweep(np.tile(q, (N, 1)), np.eye(N))
    T, B = sweep[2], sweep[4]
    force = np.zeros((len(tree.frames), 6))
    change = np.zeros((N, len(tree.frames), 6))
    for k in reversed(range(len(tree.frames))):
        each = tree.frames[k]
        j, freedom, n = layout.frame_v[each.frame], layout.frames[each.frame].freedom, each.u.stop - each.u.start
        force[k, :freedom] += point.residual[j : j + freedom]
        out[each.u] = (B1[:, k, :, :n].transpose(0, 2, 1) @ force[k] + change[:, k] @ B[k, :, :n]).T
        if each.parent >= 0:
            change[:, each.parent] += force[k] @ T1[:, k] + change[:, k] @ T[k]
            force[each.parent] += T[k].T @ force[k]
    return out


def _joint_places(tree: Any) -> dict[int, int]:
    """Speeds of joint coordinates, by the number of the coordinate."""
    speed_of = dict(zip(tree.coordinates[0].tolist(), tree.coordinates[1].tolist(), strict=True))
    return {k: speed_of[int(place)] for k, place in enumerate(tree.place) if place >= 0}


def _parts(system: Any, tree: Any) -> tuple[list[int], list[int], dict[int, str]]:
    """Coordinates that are free, and that drivers prescribe, and the names of the latter."""
    layout, places = system.layout, _joint_places(tree)
    held = {
        places[driver.coordinate]: driver.inputs[0].label.removesuffix(".motion") for driver in layout.drivers.values()
    }
    engaged = zip(layout.latches, system.discrete.engaged, strict=True)
    latched = {places[latch.coordinate] for latch, on in engaged if on}
    free = [k for k in range(tree.n_u) if k not in held and k not in latched]
    return free, [k for k in held if k not in latched], held


def covers(system: Any, tree: Any) -> bool:
    """Whether all rows that are of no joint of the tree hold one of its coordinates: drivers of joints, latches."""
    layout, places = system.layout, _joint_places(tree)
    held = {row for driver in layout.drivers.values() if driver.coordinate in places for row in driver.rows}
    held |= {latch.row for latch in layout.latches if latch.coordinate in places}
    return set(tree.kept) <= held


def coordinate_names(tree: Any) -> list[str]:
    """Names of the coordinates."""
    layout = tree.layout
    names = [""] * tree.n_u
    bodies = {frame: f"bodies.{name}" for name, frame in layout.bodies.items()}
    for each in tree.frames:
        owner = f"joints.{each.joint}" if each.joint else bodies.get(each.frame, layout.frames[each.frame].label)
        words = ["xyz"[k] if each.joint is None else f"stroke_{'xyz'[k]}" for k in each.strokes]
        turns = each.u.stop - each.u.start - len(words)
        words += [f"turn_{'xyz'[k]}" for k in range(turns)]
        names[each.u] = [f"{owner}.{word}" for word in words]
    for number, place in _joint_places(tree).items():
        joint = next(name for name, each in layout.joints.items() if each.part.start <= number < each.part.stop)
        where = layout.joints[joint]
        names[place] = f"joints.{joint}.{where.coordinates[number - where.part.start].name}"
    for k, label in zip(range(tree.strains[1].start, tree.strains[1].stop), layout.strain_labels, strict=True):
        names[k] = f"{label}.strain"
    return names
