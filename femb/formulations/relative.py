"""Relative-coordinate kinematics of trees: partial velocities and their time derivatives, exact.

Body k hangs on body ``parent[k]`` (-1 the inertial frame); between them are a translation s_k and a rotation:

    r_P = r_h + A_h (q_k + s_k),    r_k = r_P + A_k r_arm,    A_k = A_h R_k^T,    w_k = w_h + A_h what_k

with r_h, r_k the mass centres, q_k (parent axes) and r_arm (body axes) constant, A body to inertial. The speeds of a
joint are sdot (3, parent axes) and three for its rotation, which may be chosen in three ways (``Speeds``):

    "fixed"    what_k, relative angular velocity in axes that are fixed in the parent
    "body"     R_k what_k, the same in body axes
    "angles"   rates of the 1-2-3 angles theta_k, R_k = R_3 R_2 R_1

Where the joint's axes are not those of the bodies, A_h and A_k are the joint's axes in the parent and in the body.

Velocities are then V u and W u, accelerations V u' + V' u and W u' + W' u. All functions accept complex entries, so
that they can be differentiated by a complex step. Sources: docs/theory/relative.md; Kamman, *Multibody Dynamics -
Accelerations Using Relative Coordinates*, equations (1) to (10).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from femb.base.checks import array_problem, as_numbers, frozen_array, shown
from femb.base.errors import ModelError, Problem, SolveError
from femb.base.types import Floats
from femb.numerics.rotations import cross_matrix

Speeds = Literal["fixed", "body", "angles"]
SPEEDS: tuple[Speeds, ...] = ("fixed", "body", "angles")
# Below this gimbal distance |cos theta_2| angle rates are not solved for: they would lose half of their digits.
GIMBAL = 1e-8


@dataclass(frozen=True)
class RelativeTree:
    """names (n); parent (n,), -1 the inertial frame, parents before children; joint (n, 3): q_k, from the parent's mass
    centre to the joint's frame, parent axes, m; arm (n, 3): from the joint to the mass centre, body axes, m.

    parent_axes, body_axes (n, 3, 3) : the joint's axes as columns, in axes of the parent and of the body; by default
    the same. slides_in_body (n,) bool : whether the joint's point slides along the body's axes, not the parent's:
    r_k = r_P + A_k (r_arm - s_k). two (n,) : 1 where the speeds of the turn are rates about z of the parent's and
    then of the body's axes, 2 about the body's and then the parent's, whatever speeds are chosen; 0 elsewhere.

    Raises ModelError for shapes, and for parents that do not come first (as in a closed loop).
    """

    names: tuple[str, ...]
    parent: Any
    joint: Any
    arm: Any
    parent_axes: Any = None
    body_axes: Any = None
    slides_in_body: Any = None
    two: Any = None

    def __post_init__(self) -> None:
        names, n = tuple(self.names), len(self.names)
        for word, default in (
            ("parent_axes", np.tile(np.eye(3), (n, 1, 1))),
            ("body_axes", np.tile(np.eye(3), (n, 1, 1))),
            ("slides_in_body", np.zeros(n)),
            ("two", np.zeros(n)),
        ):
            if getattr(self, word) is None:
                object.__setattr__(self, word, default)
        shapes = {"joint": (n, 3), "arm": (n, 3), "parent_axes": (n, 3, 3), "body_axes": (n, 3, 3)}
        shapes |= {"slides_in_body": (n,), "two": (n,)}
        problems = [
            Problem(("bodies", word), text)
            for word, shape in shapes.items()
            if (text := array_problem(getattr(self, word), shape))
        ]
        parent = as_numbers(self.parent)
        if parent is None or parent.shape != (n,) or np.any(parent != np.round(parent)):
            problems.append(Problem(("bodies", "parent"), f"got {shown(self.parent)}, wanted {n} body numbers"))
        else:
            problems += [
                Problem(
                    ("bodies", names[k], "parent"),
                    f"got {int(parent[k])}, wanted -1 (the inertial frame) or a body before it: number parents before "
                    "children; a closed loop has no place in a tree, cut it at a joint",
                )
                for k in range(n)
                if not -1 <= parent[k] < k
            ]
        if problems:
            raise ModelError(*problems)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "parent", tuple(int(h) for h in parent))  # type: ignore[union-attr]
        for word in shapes:
            object.__setattr__(self, word, frozen_array(getattr(self, word)))

    @property
    def n(self) -> int:
        """Number of bodies; speeds are 6 a body, translation first."""
        return len(self.names)

    def path(self, k: int) -> list[int]:
        """Bodies from the root to k, k included."""
        found = [k]
        while self.parent[found[-1]] >= 0:
            found.append(self.parent[found[-1]])
        return found[::-1]


@dataclass(frozen=True)
class Placement:
    """Where the bodies are: s (n, 3), m, and either angles (n, 3), rad, or relative attitudes R (n, 3, 3), parent to
    body components, for speeds that are not angle rates."""

    s: Floats
    angles: Any = None
    R: Any = None

    def rotations(self) -> Floats:
        """R (n, 3, 3)."""
        if self.R is not None:
            return np.asarray(self.R)
        if self.angles is None:
            raise ModelError("a placement needs angles or relative attitudes R; it has neither")
        return rotation_123(self.angles)


@dataclass(frozen=True)
class Velocities:
    """r, v: mass centres, inertial, m and m/s; A (n, 3, 3): body to inertial; w (n, 3): angular velocity, inertial
    axes, rad/s; joint, joint_rate (n, 3): the joint points P; hat (n, 3): relative angular velocity, parent axes;
    inner, outer (n, 3, 3): the joint's axes in the parent and in the body, as columns, inertial."""

    r: Floats
    A: Floats
    v: Floats
    w: Floats
    joint: Floats
    joint_rate: Floats
    hat: Floats
    inner: Floats
    outer: Floats


@dataclass(frozen=True)
class Partials:
    """V, W (n, 3, 6 n) with v = V u, w = W u in inertial axes, and their time derivatives; gimbal_distance (n,): of
    each joint, |cos theta_2| for angle rates (0 is lock), one otherwise."""

    V: Floats
    W: Floats
    V_rate: Floats
    W_rate: Floats
    gimbal_distance: Floats


# 1-2-3 angles, docs/theory/relative.md, equations (9) to (12)


def rotation_123(theta: ArrayLike) -> Floats:
    """R (..., 3, 3) = R_3 R_2 R_1 of angles (..., 3): parent to body components."""
    theta = np.asarray(theta)
    c, s = np.cos(theta), np.sin(theta)
    (c1, c2, c3), (s1, s2, s3) = np.moveaxis(c, -1, 0), np.moveaxis(s, -1, 0)
    return _rows(
        (c2 * c3, c1 * s3 + s1 * s2 * c3, s1 * s3 - c1 * s2 * c3),
        (-c2 * s3, c1 * c3 - s1 * s2 * s3, s1 * c3 + c1 * s2 * s3),
        (s2, -s1 * c2, c1 * c2),
    )


def rate_map(theta: ArrayLike) -> Floats:
    """Omega_p (..., 3, 3): relative angular velocity in parent axes = Omega_p thetadot."""
    theta = np.asarray(theta)
    c1, s1 = np.cos(theta[..., 0]), np.sin(theta[..., 0])
    c2, s2 = np.cos(theta[..., 1]), np.sin(theta[..., 1])
    zero, one = np.zeros_like(c1), np.ones_like(c1)
    return _rows((one, zero, s2), (zero, c1, -s1 * c2), (zero, s1, c1 * c2))


def rate_map_rate(theta: ArrayLike, rate: ArrayLike) -> Floats:
    """Time derivative (..., 3, 3) of ``rate_map`` at angle rates (..., 3)."""
    theta, rate = np.asarray(theta), np.asarray(rate)
    c1, s1 = np.cos(theta[..., 0]), np.sin(theta[..., 0])
    c2, s2 = np.cos(theta[..., 1]), np.sin(theta[..., 1])
    t1, t2 = rate[..., 0], rate[..., 1]
    zero = np.zeros_like(c1 * t1)
    return _rows(
        (zero, zero, c2 * t2),
        (zero, -s1 * t1, -c1 * c2 * t1 + s1 * s2 * t2),
        (zero, c1 * t1, -s1 * c2 * t1 - c1 * s2 * t2),
    )


def gimbal_distance(theta: ArrayLike) -> Floats:
    """|cos theta_2| (...), the determinant of ``rate_map`` but for its sign: 0 at lock, 1 farthest from it."""
    result: Floats = np.abs(np.cos(np.real(np.asarray(theta)[..., 1])))
    return result


def angle_rates(theta: ArrayLike, hat: ArrayLike) -> Floats:
    """thetadot (..., 3) of relative angular velocities (..., 3) in parent axes.

    Raises SolveError with the distance from gimbal lock where that is below ``GIMBAL``.
    """
    theta = np.asarray(theta)
    distance = gimbal_distance(theta)
    if np.any(distance < GIMBAL):
        raise SolveError(
            f"1-2-3 angles are locked: the second is within {np.min(distance):.2g} of a right angle "
            f"(|cos theta_2|, at least {GIMBAL:g}), where the rates of the first and third are undetermined. Take "
            "angular velocities as speeds"
        )
    return np.linalg.solve(rate_map(theta), np.asarray(hat)[..., None])[..., 0]


# Recursions


def velocities(tree: RelativeTree, placement: Placement, u: ArrayLike, speeds: Speeds) -> Velocities:
    """Positions, attitudes and velocities of all bodies at speeds u (6 n,), from the root to the tips, in one pass."""
    u, R = np.asarray(u).reshape(tree.n, 6), placement.rotations()
    s = np.asarray(placement.s)
    shape, kind = (tree.n, 3), np.result_type(u, R, s, float)
    r, v, w, P, Pdot, hat = (np.zeros(shape, dtype=kind) for _ in range(6))
    A, inner, outer = (np.zeros((tree.n, 3, 3), dtype=kind) for _ in range(3))
    still = np.zeros(3)
    for k, h in enumerate(tree.parent):
        A_h, w_h, r_h, v_h = (A[h], w[h], r[h], v[h]) if h >= 0 else (np.eye(3), still, still, still)
        inner[k] = A_h @ tree.parent_axes[k]
        outer[k] = inner[k] @ R[k].T
        A[k] = outer[k] @ tree.body_axes[k].T
        hat[k] = _relative_velocity(tree, placement, R[k], k, u[k, 3:], speeds)
        w[k] = w_h + inner[k] @ hat[k]
        d, arm = A_h @ tree.joint[k], A[k] @ tree.arm[k]
        slide = outer[k] if tree.slides_in_body[k] else inner[k]
        if tree.slides_in_body[k]:
            arm, sliding = arm - slide @ s[k], -slide @ u[k, :3]
            P[k], Pdot[k] = r_h + d, v_h + np.cross(w_h, d)
        else:
            d, sliding = d + slide @ s[k], slide @ u[k, :3]
            P[k], Pdot[k] = r_h + d, v_h + np.cross(w_h, d) + sliding
            sliding = still
        r[k], v[k] = P[k] + arm, Pdot[k] + np.cross(w[k], arm) + sliding
    return Velocities(r, A, v, w, P, Pdot, hat, inner, outer)


def partials(tree: RelativeTree, placement: Placement, u: ArrayLike, speeds: Speeds) -> Partials:
    """V, W and their derivatives along the motion with speeds u (6 n,); zero for joints not on a body's path.

    docs/theory/relative.md, equations (4) to (8).
    """
    motion = velocities(tree, placement, u, speeds)
    spins = _spins(motion)
    # from every joint to every mass centre
    rho, rho_rate = cross_matrix(np.stack([motion.r - motion.joint[:, None], motion.v - motion.joint_rate[:, None]]))
    rates = np.asarray(u).reshape(tree.n, 6)[:, 3:]
    V, W, V_rate, W_rate = (np.zeros((tree.n, 3, 6 * tree.n), dtype=motion.v.dtype) for _ in range(4))
    for j, h in enumerate(tree.parent):
        F, F_rate = _rotation_columns(tree, placement, motion, spins, j, rates[j], speeds)
        if tree.slides_in_body[j]:
            A_p, A_rate = -motion.outer[j], -spins[j] @ motion.outer[j]
        else:
            A_p, A_rate = motion.inner[j], spins[h] @ motion.inner[j]
        slide, turn = slice(6 * j, 6 * j + 3), slice(6 * j + 3, 6 * j + 6)
        for k in range(j, tree.n):
            if j not in tree.path(k):
                continue
            V[k, :, slide], V_rate[k, :, slide] = A_p, A_rate
            V[k, :, turn], V_rate[k, :, turn] = -rho[j, k] @ F, -rho_rate[j, k] @ F - rho[j, k] @ F_rate
            W[k, :, turn], W_rate[k, :, turn] = F, F_rate
    distance = np.ones(tree.n) if speeds != "angles" else gimbal_distance(placement.angles)
    return Partials(V, W, V_rate, W_rate, distance)


def accelerations(
    tree: RelativeTree, placement: Placement, u: ArrayLike, u_rate: ArrayLike, speeds: Speeds
) -> tuple[Floats, Floats]:
    """(n, 3) accelerations of mass centres and (n, 3) angular ones, inertial axes, without forming matrices.

    V' u is the same recursion at speed rates zero; m/s2, rad/s2.
    """
    motion = velocities(tree, placement, u, speeds)
    spins = _spins(motion)
    rates, second = np.asarray(u).reshape(tree.n, 6), np.asarray(u_rate).reshape(tree.n, 6)
    a, alpha = np.zeros_like(motion.v), np.zeros_like(motion.w)
    still = np.zeros(3)
    for k, h in enumerate(tree.parent):
        w_p, a_p, alpha_p, r_p = (motion.w[h], a[h], alpha[h], motion.r[h]) if h >= 0 else (still, still, still, still)
        F, F_rate = _rotation_columns(tree, placement, motion, spins, k, rates[k, 3:], speeds)
        alpha[k] = alpha_p + F @ second[k, 3:] + F_rate @ rates[k, 3:]
        d, arm, w = motion.joint[k] - r_p, motion.r[k] - motion.joint[k], motion.w[k]
        # what slides is carried by the body, or by the parent
        axes, carrier = (-motion.outer[k], w) if tree.slides_in_body[k] else (motion.inner[k], w_p)
        a[k] = a_p + np.cross(alpha_p, d) + np.cross(w_p, np.cross(w_p, d))
        a[k] += np.cross(carrier, 2.0 * axes @ rates[k, :3]) + axes @ second[k, :3]
        a[k] += np.cross(alpha[k], arm) + np.cross(w, np.cross(w, arm))
    return a, alpha


def body_rows(motion: Velocities, parts: Partials) -> tuple[Floats, Floats]:
    """[V; A^T W] (6 n, 6 n) and its derivative: a body after another, angular velocities in body axes.

    The matrix that independent speeds are multiplied with in reduced equations of motion; equation (8).
    """
    A_T = np.swapaxes(motion.A, 1, 2)
    n = len(A_T)
    W = A_T @ parts.W
    w = np.einsum("kij,kj->ki", A_T, motion.w)
    W_rate = A_T @ parts.W_rate - cross_matrix(w) @ W
    return (
        np.concatenate([parts.V, W], axis=1).reshape(6 * n, -1),
        np.concatenate([parts.V_rate, W_rate], axis=1).reshape(6 * n, -1),
    )


def _relative_velocity(
    tree: RelativeTree, placement: Placement, R: Floats, k: int, rate: Floats, speeds: Speeds
) -> Floats:
    if tree.two[k]:
        own, carried = (rate[0], rate[1]) if tree.two[k] == 1 else (rate[1], rate[0])
        result: Floats = own * np.array([0.0, 0.0, 1.0]) + carried * R[2]
        return result
    if speeds == "fixed":
        return rate
    if speeds == "body":
        return R.T @ rate
    return rate_map(_angles(placement, speeds)[k]) @ rate


def _rotation_columns(
    tree: RelativeTree, placement: Placement, motion: Velocities, spins: Floats, j: int, rate: Floats, speeds: Speeds
) -> tuple[Floats, Floats]:
    """F_j and its rate (3, 3): angular velocity, inertial axes, by joint j's rotation speeds. Equations (5) to (7)."""
    inner, outer, w_p, w = motion.inner[j], motion.outer[j], spins[tree.parent[j]], spins[j]
    if tree.two[j]:
        still = 0.0 * inner[:, 2]
        axes = np.stack([inner[:, 2], outer[:, 2], still], axis=1)
        change = np.stack([w_p @ axes[:, 0], w @ axes[:, 1], still], axis=1)
        order = [0, 1, 2] if tree.two[j] == 1 else [1, 0, 2]
        return axes[:, order], change[:, order]
    if speeds == "fixed":
        return inner, w_p @ inner
    if speeds == "body":
        return outer, w @ outer
    theta = _angles(placement, speeds)[j]
    Omega = rate_map(theta)
    return inner @ Omega, w_p @ inner @ Omega + inner @ rate_map_rate(theta, rate)


def _angles(placement: Placement, speeds: Any) -> Floats:
    if speeds not in SPEEDS:
        raise ModelError(f"speeds: got {shown(speeds)}, must be one of {', '.join(map(repr, SPEEDS))}")
    if placement.angles is None:
        raise ModelError("angle rates as speeds need a placement by angles; it has relative attitudes R")
    return np.asarray(placement.angles)


def _spins(motion: Velocities) -> Floats:
    """w~ (n + 1, 3, 3) of all bodies, and last, where the parent is -1, of the inertial frame."""
    return cross_matrix(np.vstack([motion.w, np.zeros(3)]))


def _rows(*rows: tuple[Any, ...]) -> Floats:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
