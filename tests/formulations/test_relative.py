"""Partial velocities of trees against automatic differentiation of positions and attitudes, and against [K]'s blocks.

Positions along a motion are functions of time built here from rotations alone; autograd gives their first and second
derivatives. Every joint of these trees has six coordinates.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import autograd.numpy as anp
import numpy as np
import pytest
from autograd.differential_operators import make_jvp
from models import of_parts

import femb
from femb.base.errors import SolveError
from femb.elements import registry
from femb.elements.joint.joint import Joint
from femb.formulations import relative
from femb.formulations.relative import SPEEDS
from femb.numerics import rotations
from femb.thompson import relative_kinematics

every_speed = pytest.mark.parametrize("speeds", SPEEDS)
PARENTS = (-1, 0, 0, 2, 1, 3, 3)


@dataclass(frozen=True, eq=False)
class Loose(Joint):
    """A joint that constrains nothing: three strokes and a rotation."""

    kind: ClassVar[str] = "loose"
    rows: ClassVar = ()


@pytest.fixture(autouse=True)
def loose(monkeypatch):
    monkeypatch.setattr(registry, "_registered", [Loose])


@dataclass
class Tree:
    """Bodies with their parents, joints (n, 3) from the mass centre of the parent, and arms from there."""

    parent: tuple
    joint: np.ndarray
    arm: np.ndarray

    @property
    def n(self):
        return len(self.parent)

    def kinematics(self, speeds):
        parts, axes = [], {"axis": (0, 0, 1), "reference": (1, 0, 0)}
        for k, h in enumerate(self.parent):
            parts.append(femb.RigidBody(f"b{k}", 1.0, (1.0, 1.0, 1.0), position=(0, 0, 0), euler_angles=(0, 0, 0)))
            first = femb.JointEnd(f"b{h}" if h >= 0 else "ground", at=tuple(self.joint[k]), **axes)
            parts.append(Loose(f"j{k}", first, femb.JointEnd(f"b{k}", at=tuple(-self.arm[k]), **axes)))
        return relative_kinematics(of_parts(*parts), speeds)


def random_tree(rng, parents=PARENTS):
    return Tree(parents, *rng.standard_normal((2, len(parents), 3)))


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
            tree, self.s + t * self.ds + 0.5 * t**2 * self.dds, self.theta + t * self.dtheta + 0.5 * t**2 * self.ddtheta
        )
        now, first, second = at(0.0), slope(at)(0.0), slope(slope(at))(0.0)
        A, dA, ddA = (x[:, 3:].reshape(n, 3, 3) for x in (now, first, second))
        self.r, self.v, self.a, self.A = now[:, :3], first[:, :3], second[:, :3], A
        self.w = np.array([vee(dA[k] @ A[k].T) for k in range(n)])
        self.alpha = np.array([vee(ddA[k] @ A[k].T + dA[k] @ dA[k].T) for k in range(n)])

    def speeds(self, kind):
        """u and u' (n, 6) of a choice of speeds, the latter by autograd."""

        def of(t):
            theta, rate = self.theta + t * self.dtheta + 0.5 * t**2 * self.ddtheta, self.dtheta + t * self.ddtheta
            R = [attitude(each) for each in theta]
            spin = make_jvp(lambda x: anp.stack([attitude(each) for each in x]))(theta)(rate)[1]
            # hat x = R^T' R, in the axes of the parent
            hat = [vee(anp.dot(dR.T, own)) for dR, own in zip(spin, R, strict=True)]
            if kind == "body":
                hat = [anp.dot(own, each) for own, each in zip(R, hat, strict=True)]
            turning = rate if kind == "angles" else anp.stack(hat)
            return anp.concatenate([self.ds + t * self.dds, turning], axis=1)

        return of(0.0), (of(1e-5) - of(-1e-5)) / 2e-5

    def state(self, form, kind, t=0.0):
        """q, u and u' of the form, in the order of its bodies; the state after a time t."""
        order = [int(name[1:]) for name in form.names]
        s, theta = (x + t * dx + 0.5 * t**2 * ddx for x, dx, ddx in (
            (self.s, self.ds, self.dds), (self.theta, self.dtheta, self.ddtheta)))  # fmt: skip
        turned = theta
        if kind != "angles":
            turned = np.array([rotations.from_matrix(attitude(each).T) for each in theta])
        q = np.concatenate([s, turned], axis=1)[order].ravel()
        u, u_rate = (x[order].ravel() for x in self.speeds(kind))
        return q, u + t * u_rate, u_rate, np.argsort(order)


def vee(X):
    return np.array([X[2, 1] - X[1, 2], X[0, 2] - X[2, 0], X[1, 0] - X[0, 1]]) / 2.0


def close(got, wanted, tolerance=1e-12):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * max(1.0, np.abs(wanted).max()))


@pytest.mark.slow
@every_speed
def test_velocities_and_accelerations_are_derivatives_of_positions(speeds):
    rng = np.random.default_rng(1)
    tree = random_tree(rng)
    motion, form = Motion(tree, rng), tree.kinematics(speeds)
    q, u, u_rate, back = motion.state(form, speeds)
    got = form.evaluate(q, u)
    close(got.position[back], motion.r)
    close(got.attitude[back], motion.A)
    for values, partial_velocity in ((got.velocity, got.V), (got.angular_velocity, got.W)):
        close(partial_velocity @ u, values)
    close(got.velocity[back], motion.v)
    close(got.angular_velocity[back], motion.w)
    close((got.V @ u_rate + got.V_rate @ u)[back], motion.a, 1e-9)
    close((got.W @ u_rate + got.W_rate @ u)[back], motion.alpha, 1e-9)
    # joints that are not on a body's path do not move it
    of = {name: k for k, name in enumerate(form.names)}
    assert not got.V[of["b1"]][:, 6 * of["b2"] : 6 * of["b2"] + 6].any()
    assert got.V[of["b5"]][:, 6 * of["b2"] : 6 * of["b2"] + 6].any()


@pytest.mark.slow
@every_speed
def test_every_entry_of_the_derivatives_is_exact(speeds):
    """V' and W' entry by entry: differences of V and W along the motion."""
    rng = np.random.default_rng(2)
    tree = random_tree(rng)
    motion, form = Motion(tree, rng), tree.kinematics(speeds)
    at = partial(motion.state, form, speeds)
    here = form.evaluate(*at()[:2])
    for name in ("V", "W"):
        ends = [getattr(form.evaluate(*at(t)[:2]), name) for t in (2e-3, 1e-3, -1e-3, -2e-3)]
        slope = (-ends[0] + 8.0 * ends[1] - 8.0 * ends[2] + ends[3]) / 12e-3
        close(getattr(here, f"{name}_rate"), slope, 1e-8)


@pytest.mark.slow
def test_reference_case_of_the_three_choices():
    """Section 5 of docs/theory/relative.md."""
    tree = Tree((-1, 0), np.array([[0, 0, 0], [0.5, 0.1, -0.2]]), np.array([[0, 0, 0], [0.4, -0.3, 0.6]]))
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
        form = tree.kinematics(speeds)
        q, u, u_rate, _ = motion.state(form, speeds)
        got = form.evaluate(q, u)
        a, alpha = got.V @ u_rate + got.V_rate @ u, got.W @ u_rate + got.W_rate @ u
        found = ((got.position, "r"), (got.velocity, "v"), (got.angular_velocity, "w"), (a, "a"), (alpha, "alpha"))
        for value, name in found:
            np.testing.assert_allclose(value[1], wanted[name], rtol=0.0, atol=1e-9 if name[0] == "a" else 2e-13)


def rotation_123(theta):
    """R (..., 3, 3) = R_3 R_2 R_1 of angles (..., 3): parent to body components."""
    c, s = np.cos(theta), np.sin(theta)
    (c1, c2, c3), (s1, s2, s3) = np.moveaxis(c, -1, 0), np.moveaxis(s, -1, 0)
    return np.stack(
        [
            np.stack(row, axis=-1)
            for row in (
                (c2 * c3, c1 * s3 + s1 * s2 * c3, s1 * s3 - c1 * s2 * c3),
                (-c2 * s3, c1 * c3 - s1 * s2 * s3, s1 * c3 + c1 * s2 * s3),
                (s2, -s1 * c2, c1 * c2),
            )
        ],
        axis=-2,
    )


@every_speed
def test_printed_blocks_of_two_bodies(speeds):
    """[K]'s blocks, in R_B1 = R_1 and R_B2 = R_2 R_1 (inertial to body), equal the recursion's."""
    rng = np.random.default_rng(3)
    joint, arm = np.zeros((2, 2, 3))
    joint[1], arm[1] = rng.standard_normal((2, 3))
    tree = Tree((-1, 0), joint, arm)
    motion, form = Motion(tree, rng), tree.kinematics(speeds)
    parts = form.evaluate(*motion.state(form, speeds)[:2])
    R1, R2 = rotation_123(motion.theta)
    B1, B2 = R1.T, (R2 @ R1).T  # body to inertial
    T = rotations.cross_matrix
    qp, sp, rp, sdot = tree.joint[1], motion.s[1], tree.arm[1], motion.ds[1]
    q2, s2, r2 = B1 @ qp, B1 @ sp, B2 @ rp
    hat = relative.rate_map(motion.theta)
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
        slope = relative.rate_map_rate(motion.theta, motion.dtheta)
        for j, turning in ((0, slice(3, 6)), (1, slice(9, 12))):
            rates[:, turning] = rates[:, turning] @ hat[j] + blocks[:, turning] @ slope[j]
            blocks[:, turning] = blocks[:, turning] @ hat[j]
    close(parts.V[1], blocks)
    close(parts.V_rate[1], rates)


def test_angle_rates_report_their_gimbal_distance():
    tree = random_tree(np.random.default_rng(5), (-1, 0))
    theta = np.array([[0.3, 0.4, 0.5], [0.2, 0.5 * np.pi - 1e-3, 0.1]])
    form = tree.kinematics("angles")
    q = np.concatenate([np.zeros((2, 3)), theta], axis=1).ravel()
    np.testing.assert_allclose(list(form.gimbal_distances(q).values()), np.cos(theta[:, 1]), rtol=1e-12)
    locked = theta.copy()
    locked[1, 1] = 0.5 * np.pi
    with pytest.raises(SolveError, match=r"locked: the second is within 6\.1e-17 of a right angle"):
        relative.angle_rates(locked, np.ones((2, 3)))
    for speeds in ("fixed", "body"):
        form = tree.kinematics(speeds)
        assert set(form.gimbal_distances(form.q0).values()) == {1.0}


def test_angle_rates_invert_the_rate_map():
    rng = np.random.default_rng(6)
    theta, rate = rng.uniform(-1.0, 1.0, (2, 5, 3))
    hat = np.einsum("kij,kj->ki", relative.rate_map(theta), rate)
    close(relative.angle_rates(theta, hat), rate)
    body = np.linalg.det(rotation_123(theta) @ relative.rate_map(theta))
    np.testing.assert_allclose(np.abs(body), relative.gimbal_distance(theta), rtol=1e-12)
