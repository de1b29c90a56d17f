"""Partial velocities of trees against automatic differentiation of positions and attitudes, and against [K]'s blocks.

Positions along a motion are functions of time built here from rotations alone; autograd gives their first and second
derivatives, a complex step those of the partial velocities.
"""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd.differential_operators import make_jvp
from models import refuses

from femb.base.errors import ModelError, SolveError
from femb.formulations import relative
from femb.formulations import relative as relative_angles
from femb.formulations.relative import SPEEDS, RelativePlacement, RelativeTree
from femb.numerics import rotations

every_speed = pytest.mark.parametrize("speeds", SPEEDS)
PARENTS = (-1, 0, 0, 2, 1, 3, 3)
TINY = 1e-30


def random_tree(rng, parents=PARENTS):
    n = len(parents)
    return RelativeTree(tuple(f"b{k}" for k in range(n)), parents, *rng.standard_normal((2, n, 3)))


def turn(axis, angle):
    """R_axis(angle): components before to components after the turn."""
    c, s, one, zero = anp.cos(angle), anp.sin(angle), 1.0, 0.0
    rows = {
        0: [one, zero, zero, zero, c, s, zero, -s, c],
        1: [c, zero, -s, zero, one, zero, s, zero, c],
        2: [c, s, zero, -s, c, zero, zero, zero, one],
    }[axis]
    return anp.reshape(anp.stack([x + zero * angle for x in rows]), (3, 3))


def attitude(theta):
    return anp.dot(turn(2, theta[2]), anp.dot(turn(1, theta[1]), turn(0, theta[0])))


def place(tree, s, theta):
    """(n, 12): mass centres and attitudes of all bodies, flattened, of s and theta (n, 3)."""
    r, A, out = [], [], []
    for k, h in enumerate(tree.parent):
        A_h, r_h = (A[h], r[h]) if h >= 0 else (np.eye(3), np.zeros(3))
        A.append(anp.dot(A_h, attitude(theta[k]).T))
        r.append(r_h + anp.dot(A_h, tree.joint[k] + s[k]) + anp.dot(A[k], tree.arm[k]))
        out.append(anp.concatenate([r[k], anp.reshape(A[k], (9,))]))
    return anp.stack(out)


def slope(function):
    """Derivative of a function of time, by autograd's forward mode."""
    return lambda t: make_jvp(function)(t)(1.0)[1]


class Motion:
    """A motion: s and theta as functions of time, and what autograd makes of it at t = 0."""

    def __init__(self, tree, rng, values=None):
        n = tree.n
        if values is None:
            values = rng.uniform(-1.0, 1.0, (2, 3, n, 3))
        (self.s, self.ds, self.dds), (self.theta, self.dtheta, self.ddtheta) = values
        at = lambda t: place(  # noqa: E731
            tree,
            self.s + t * self.ds + 0.5 * t**2 * self.dds,
            self.theta + t * self.dtheta + 0.5 * t**2 * self.ddtheta,
        )
        now, first, second = at(0.0), slope(at)(0.0), slope(slope(at))(0.0)
        A, dA, ddA = (x[:, 3:].reshape(n, 3, 3) for x in (now, first, second))
        self.r, self.v, self.a, self.A = now[:, :3], first[:, :3], second[:, :3], A
        self.w = np.array([vee(dA[k] @ A[k].T) for k in range(n)])
        self.alpha = np.array([vee(ddA[k] @ A[k].T + dA[k] @ dA[k].T) for k in range(n)])

    def speeds(self, kind, at=0.0):
        """u and u' (6 n,) of a choice of speeds, the latter by a complex step in time."""

        def of(t):
            theta, rate = self.theta + t * self.dtheta + 0.5 * t**2 * self.ddtheta, self.dtheta + t * self.ddtheta
            hat = np.einsum("kij,kj->ki", relative_angles.rate_map(theta), rate)
            if kind == "body":
                hat = np.einsum("kij,kj->ki", relative_angles.rotation_123(theta), hat)
            turning = rate if kind == "angles" else hat
            return np.concatenate([self.ds + t * self.dds, turning], axis=1).ravel()

        return of(0.0), of(1j * TINY).imag / TINY

    def placement(self, t=0.0):
        return RelativePlacement(
            self.s + t * self.ds + 0.5 * t**2 * self.dds, self.theta + t * self.dtheta + 0.5 * t**2 * self.ddtheta
        )


def vee(X):
    return np.array([X[2, 1] - X[1, 2], X[0, 2] - X[2, 0], X[1, 0] - X[0, 1]]) / 2.0


def close(got, wanted, tolerance=1e-12):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * max(1.0, np.abs(wanted).max()))


@every_speed
def test_velocities_and_accelerations_are_derivatives_of_positions(speeds):
    rng = np.random.default_rng(1)
    tree = random_tree(rng)
    motion = Motion(tree, rng)
    u, u_rate = motion.speeds(speeds)
    got = relative.velocities(tree, motion.placement(), u, speeds)
    for name in ("r", "v", "w", "A"):
        close(getattr(got, name), getattr(motion, name))
    parts = relative.partials(tree, motion.placement(), u, speeds)
    close(parts.V @ u, motion.v)
    close(parts.W @ u, motion.w)
    close(parts.V @ u_rate + parts.V_rate @ u, motion.a)
    close(parts.W @ u_rate + parts.W_rate @ u, motion.alpha)
    a, alpha = relative.accelerations(tree, motion.placement(), u, u_rate, speeds)
    close(a, motion.a)
    close(alpha, motion.alpha)


@every_speed
def test_every_entry_of_the_derivatives_is_exact(speeds):
    """V' and W' entry by entry: a complex step of V and W along the motion."""
    rng = np.random.default_rng(2)
    tree = random_tree(rng)
    motion = Motion(tree, rng)
    u, u_rate = motion.speeds(speeds)
    parts = relative.partials(tree, motion.placement(), u, speeds)
    moved = relative.partials(tree, motion.placement(1j * TINY), u + 1j * TINY * u_rate, speeds)
    close(parts.V_rate, moved.V.imag / TINY)
    close(parts.W_rate, moved.W.imag / TINY)
    _, rows_rate = relative.body_rows(relative.velocities(tree, motion.placement(), u, speeds), parts)
    moved_rows, _ = relative.body_rows(
        relative.velocities(tree, motion.placement(1j * TINY), u + 1j * TINY * u_rate, speeds), moved
    )
    close(rows_rate, moved_rows.imag / TINY)
    # joints that are not on a body's path do not move it
    assert not parts.V[1, :, 12:18].any()
    assert parts.V[5, :, 12:18].any()


def test_reference_case_of_the_three_choices():
    """Section 5 of docs/theory/relative.md."""
    tree = RelativeTree(("1", "2"), (-1, 0), [[0, 0, 0], [0.5, 0.1, -0.2]], [[0, 0, 0], [0.4, -0.3, 0.6]])
    values = [
        [[(0.1, 0.2, 0.3), (0.2, 0, 0.4)], [(1, -1, 0.5), (-0.3, 0.6, 0.1)], [(0, 0.1, 0.2), (0.05, -0.1, 0.2)]],
        [
            [(0.7, -0.5, 1.2), (-0.2, 0.9, 0.4)],
            [(0.3, -0.4, 0.2), (0.5, 0.1, -0.6)],
            [(0.1, 0.2, -0.3), (-0.2, 0.3, 0.4)],
        ],
    ]
    motion = Motion(tree, None, np.array(values, dtype=float))
    wanted = {
        "r": (0.4799713238885, 0.9506644778992, 1.5268968973640),
        "v": (0.1841796858476, -1.3784499158264, 0.5785496182722),
        "a": (0.6711846049109, 0.1584104697887, -0.6073766278807),
        "w": (0.3788691554968, -0.1695810956068, -0.3627167931053),
        "alpha": (-0.2333737222799, 0.6285884187258, 0.0557500864349),
    }
    for speeds in SPEEDS:
        u, u_rate = motion.speeds(speeds)
        got = relative.velocities(tree, motion.placement(), u, speeds)
        a, alpha = relative.accelerations(tree, motion.placement(), u, u_rate, speeds)
        for value, name in ((got.r, "r"), (got.v, "v"), (got.w, "w"), (a, "a"), (alpha, "alpha")):
            np.testing.assert_allclose(value[1], wanted[name], rtol=0.0, atol=2e-13)


@every_speed
def test_printed_blocks_of_two_bodies(speeds):
    """[K]'s blocks, in R_B1 = R_1 and R_B2 = R_2 R_1 (inertial to body), equal the recursion's."""
    rng = np.random.default_rng(3)
    tree = RelativeTree(
        ("1", "2"), (-1, 0), [np.zeros(3), rng.standard_normal(3)], [np.zeros(3), rng.standard_normal(3)]
    )
    motion = Motion(tree, rng)
    u, _ = motion.speeds(speeds)
    parts = relative.partials(tree, motion.placement(), u, speeds)
    R1, R2 = relative_angles.rotation_123(motion.theta)
    B1, B2 = R1.T, (R2 @ R1).T  # body to inertial
    T = rotations.cross_matrix
    qp, sp, rp, sdot = tree.joint[1], motion.s[1], tree.arm[1], motion.ds[1]
    q2, s2, r2 = B1 @ qp, B1 @ sp, B2 @ rp
    hat = relative_angles.rate_map(motion.theta)
    w1 = hat[0] @ motion.dtheta[0]
    w2 = w1 + B1 @ hat[1] @ motion.dtheta[1]
    q2dot, s2dot, r2dot = np.cross(w1, q2), np.cross(w1, s2) + B1 @ sdot, np.cross(w2, r2)  # (5) to (7)
    blocks = np.hstack([np.eye(3), -(T(q2) + T(s2) + T(r2)), B1, -T(r2) @ B1])
    rates = np.hstack(
        [np.zeros((3, 3)), -(T(q2dot) + T(s2dot) + T(r2dot)), T(w1) @ B1, -T(r2dot) @ B1 - T(r2) @ T(w1) @ B1]
    )  # (4), (8), (9)
    if speeds == "body":
        w1b, w2b, hat2 = B1.T @ w1, B2.T @ w2, R2 @ hat[1] @ motion.dtheta[1]
        blocks[:, 3:6] = -B1 @ (T(qp) + T(sp)) - B2 @ T(rp) @ R2
        blocks[:, 9:] = -B2 @ T(rp)
        rates[:, 3:6] = (
            -B1 @ T(w1b) @ (T(qp) + T(sp)) - B1 @ T(sdot) - B2 @ T(w2b) @ T(rp) @ R2 + B2 @ T(rp) @ T(hat2) @ R2
        )
        rates[:, 6:9] = B1 @ T(w1b)
        rates[:, 9:] = -B2 @ T(w2b) @ T(rp)
    if speeds == "angles":
        slope = relative_angles.rate_map_rate(motion.theta, motion.dtheta)
        for j, turning in ((0, slice(3, 6)), (1, slice(9, 12))):
            rates[:, turning] = rates[:, turning] @ hat[j] + blocks[:, turning] @ slope[j]
            blocks[:, turning] = blocks[:, turning] @ hat[j]
    close(parts.V[1], blocks)
    close(parts.V_rate[1], rates)


@every_speed
def test_joints_by_columns_are_the_constrained_system(speeds):
    """Free root, a slider and a hinge: reduced equations on kept columns against multipliers in maximal coordinates."""
    rng = np.random.default_rng(4)
    tree = random_tree(rng, (-1, 0, 1))
    motion = Motion(tree, rng)
    motion.ds[1:], motion.dtheta[1:] = 0.0, 0.0
    motion.ds[1, 0], motion.dtheta[2, 0] = 0.7, -0.4  # slides along the parent's x, turns about it
    if speeds != "angles":
        motion.theta[2, 1:] = 0.0  # the first axis is then a coordinate axis of parent and body
    u, _ = motion.speeds(speeds)
    keep = [0, 1, 2, 3, 4, 5, 6, 15]
    lost = [k for k in range(18) if k not in keep]
    assert not np.abs(u[lost]).max() > 1e-15
    placement = motion.placement()
    moving = relative.velocities(tree, placement, u, speeds)
    H, H_rate = relative.body_rows(moving, relative.partials(tree, placement, u, speeds))
    mass, inertia = rng.uniform(1.0, 2.0, 3), rng.uniform(1.0, 1.5, (3, 3))
    M = np.diag(np.concatenate([np.concatenate([np.full(3, mass[k]), inertia[k]]) for k in range(3)]))
    w = np.einsum("kji,kj->ki", moving.A, moving.w)
    Q = rng.standard_normal((3, 6))
    Q[:, 3:] -= np.cross(w, inertia * w)
    Q = Q.ravel()
    N = H[:, keep]
    reduced = N @ np.linalg.solve(N.T @ M @ N, N.T @ (Q - M @ H_rate @ u)) + H_rate @ u
    # constraint rows: what spans the left null space of the kept columns, with Phi (H_rate u) on the right
    Phi = np.linalg.svd(N)[0][:, len(keep) :].T
    L = len(Phi)
    full = np.linalg.solve(np.block([[M, Phi.T], [Phi, np.zeros((L, L))]]), np.concatenate([Q, Phi @ H_rate @ u]))[:18]
    close(reduced, full)
    # and the constraints are those of a slider and a hinge: relative motion of bodies 0-1 and 1-2 along lost directions
    a, alpha = full.reshape(3, 6)[:, :3], np.einsum("kij,kj->ki", moving.A, full.reshape(3, 6)[:, 3:])
    wi = moving.w
    close(alpha[1], alpha[0])
    x = moving.A[1][:, 0] if speeds != "angles" else moving.A[1] @ relative_angles.rate_map(motion.theta[2])[:, 0]
    turning = alpha[2] - alpha[1] - np.cross(wi[1], wi[2] - wi[1])
    close(np.cross(x, turning), np.zeros(3))
    arm1, arm2 = moving.joint[2] - moving.r[1], moving.joint[2] - moving.r[2]
    ends = [a[k] + np.cross(alpha[k], d) + np.cross(wi[k], np.cross(wi[k], d)) for k, d in ((1, arm1), (2, arm2))]
    close(ends[0], ends[1])


def test_stacked_rows_are_those_of_the_null_space_method():
    """Ball joints: [V; A^T W] is Ha^-1 Hb of constraints written with both bodies' speeds (Thompson, (16) to (18))."""
    rng = np.random.default_rng(7)
    n, parents = 5, (-1, 0, 0, 2, 2)
    joint, arm = rng.standard_normal((2, n, 3))
    joint[0] = arm[0] = 0.0
    tree = RelativeTree(tuple("abcde"), parents, joint, arm)
    motion = Motion(tree, rng)
    motion.s[1:], motion.ds[1:] = 0.0, 0.0
    u, _ = motion.speeds("body")
    placement = motion.placement()
    moving = relative.velocities(tree, placement, u, "body")
    rows, rows_rate = relative.body_rows(moving, relative.partials(tree, placement, u, "body"))
    T, A = rotations.cross_matrix, moving.A
    w = np.einsum("kji,kj->ki", A, moving.w)
    Ha, Ha_rate = np.eye(6 * n), np.zeros((6 * n, 6 * n))
    keep = [*range(6), *(6 * k + 3 + i for k in range(1, n) for i in range(3))]
    Hb = np.eye(6 * n)[:, keep]
    for i in range(1, n):
        k = parents[i]
        v, o, v_k, o_k = (slice(6 * b + d, 6 * b + d + 3) for b, d in ((i, 0), (i, 3), (k, 0), (k, 3)))
        p, s, between = -arm[i], joint[i], A[i].T @ A[k]  # the joint's point in i and in k
        Ha[v, o], Ha_rate[v, o] = -A[i] @ T(p), -A[i] @ T(w[i]) @ T(p)
        Ha[v, v_k], Ha[v, o_k], Ha_rate[v, o_k] = -np.eye(3), A[k] @ T(s), A[k] @ T(w[k]) @ T(s)
        Ha[o, o_k], Ha_rate[o, o_k] = -between, T(w[i] - between @ w[k]) @ between
    H2 = np.linalg.solve(Ha, Hb)
    close(rows[:, keep], H2)
    close(rows_rate[:, keep], np.linalg.solve(Ha, -Ha_rate @ H2))


def test_angle_rates_report_their_gimbal_distance():
    tree = random_tree(np.random.default_rng(5), (-1, 0))
    theta = np.array([[0.3, 0.4, 0.5], [0.2, 0.5 * np.pi - 1e-3, 0.1]])
    u = np.ones(12)
    parts = relative.partials(tree, RelativePlacement(np.zeros((2, 3)), angles=theta), u, "angles")
    np.testing.assert_allclose(parts.gimbal_distance, np.cos(theta[:, 1]), rtol=1e-12)
    locked = theta.copy()
    locked[1, 1] = 0.5 * np.pi
    parts = relative.partials(tree, RelativePlacement(np.zeros((2, 3)), angles=locked), u, "angles")
    assert parts.gimbal_distance[1] < 1e-15
    assert np.all(np.isfinite(parts.V_rate))
    with pytest.raises(SolveError, match=r"locked: the second is within 6\.1e-17 of a right angle"):
        relative_angles.angle_rates(locked, np.ones((2, 3)))
    for speeds in ("fixed", "body"):
        parts = relative.partials(
            tree, RelativePlacement(np.zeros((2, 3)), R=relative_angles.rotation_123(locked)), u, speeds
        )
        np.testing.assert_array_equal(parts.gimbal_distance, 1.0)
        assert np.linalg.cond(parts.W[1, :, 9:]) < 1.0 + 1e-12


def test_angle_rates_invert_the_rate_map():
    rng = np.random.default_rng(6)
    theta, rate = rng.uniform(-1.0, 1.0, (2, 5, 3))
    hat = np.einsum("kij,kj->ki", relative_angles.rate_map(theta), rate)
    close(relative_angles.angle_rates(theta, hat), rate)
    body = np.linalg.det(relative_angles.rotation_123(theta) @ relative_angles.rate_map(theta))
    np.testing.assert_allclose(np.abs(body), relative_angles.gimbal_distance(theta), rtol=1e-12)


@pytest.mark.parametrize(
    ("parent", "joint", "message"),
    [
        ([1, 0], np.zeros((2, 3)), r"bodies\.a\.parent: got 1, wanted -1 .*closed loop"),
        ([-1, 5], np.zeros((2, 3)), r"bodies\.b\.parent: got 5"),
        ([-1, 0.5], np.zeros((2, 3)), "wanted 2 body numbers"),
        ([-1, 0], np.zeros((3, 3)), r"bodies\.joint: .*2 x 3"),
    ],
)
def test_trees_that_cannot_be(parent, joint, message):
    refuses(message, RelativeTree, ("a", "b"), parent, joint, np.zeros((2, 3)))


def test_speeds_and_placements_that_do_not_fit():
    tree = RelativeTree(("a",), (-1,), np.zeros((1, 3)), np.zeros((1, 3)))
    with pytest.raises(ModelError, match="speeds: got 'euler', must be one of 'fixed', 'body', 'angles'"):
        relative.velocities(tree, RelativePlacement(np.zeros((1, 3)), angles=np.zeros((1, 3))), np.zeros(6), "euler")
    with pytest.raises(ModelError, match="need a placement by angles"):
        relative.velocities(tree, RelativePlacement(np.zeros((1, 3)), R=np.eye(3)[None]), np.zeros(6), "angles")
    refuses("it has neither", relative.velocities, tree, RelativePlacement(np.zeros((1, 3))), np.zeros(6), "body")
