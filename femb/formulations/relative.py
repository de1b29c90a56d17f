"""Kinematics of trees in relative coordinates: partial velocities and their exact time derivatives.

The parent of body k is body ``parent[k]`` (-1: the inertial frame); the joint is a translation s_k and a rotation:

    r_P = r_h + A_h (q_k + s_k),    r_k = r_P + A_k r_arm,    A_k = A_h R_k^T,    w_k = w_h + A_h what_k

with r_h, r_k the mass centres, q_k (parent axes) and r_arm (body axes) constant, A body to inertial. The speeds of a
joint are sdot (3, parent axes) and three for its rotation, in one of three choices (``Speeds``):

    "fixed"    what_k, relative angular velocity in axes fixed in the parent
    "body"     R_k what_k, the same in body axes
    "angles"   rates of the 1-2-3 angles theta_k, R_k = R_3 R_2 R_1

If the joint's axes differ from those of the bodies, A_h and A_k are the joint's axes in the parent and in the body.

Velocities are V u and W u, accelerations V u' + V' u and W u' + W' u. All functions accept complex entries, for
differentiation by a complex step. Sources: docs/theory/relative.md; Kamman, *Multibody Dynamics -
Accelerations Using Relative Coordinates*, equations (1) to (10).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import ModelError, Problem, SolveError
from femb.base.types import Floats
from femb.base.values import array_problem, as_numbers, frozen_array, shown
from femb.numerics.rotations import cross_matrix

# 1-2-3 angles of relative attitudes: rotation matrix, map of rates and its time derivative, gimbal lock.
#
# Complex entries are accepted. Source: docs/theory/relative.md, equations (9) to (12).

# Below this gimbal distance |cos theta_2| angle rates are not computed: they would lose half of their digits.
GIMBAL = 1e-8


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
    """|cos theta_2| (...), the absolute value of the determinant of ``rate_map``: 0 at lock, at most 1."""
    result: Floats = np.abs(np.cos(np.real(np.asarray(theta)[..., 1])))
    return result


def angle_rates(theta: ArrayLike, hat: ArrayLike) -> Floats:
    """thetadot (..., 3) of relative angular velocities (..., 3) in parent axes.

    Raises SolveError if the distance from gimbal lock is below ``GIMBAL``.
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


def _rows(*rows: tuple[Any, ...]) -> Floats:
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


# A tree of bodies in relative coordinates, and its placement. Source: docs/theory/relative.md, section 1.


@dataclass(frozen=True)
class RelativeTree:
    """The constants of a tree of n bodies: names (n); parent (n,), -1 for the inertial frame, parents before children;
    joint (n, 3): q_k, from the parent's mass centre to the joint, parent axes, m; arm (n, 3): from the joint to the
    mass centre, body axes, m.

    parent_axes, body_axes (n, 3, 3) : the joint's axes as columns, in axes of the parent and of the body; by default
    the same. slides_in_body (n,) bool : whether the joint's point slides along the body's axes, not the parent's:
    r_k = r_P + A_k (r_arm - s_k). universal (n,) : 1 if the first two speeds of the rotation are rates about z
    of the parent's and then of the body's axes, for all choices of speeds; 2 for the opposite order; else 0.

    Raises ModelError for wrong shapes, and for parents that do not precede their children (as in a closed loop).
    """

    names: tuple[str, ...]
    parent: Any
    joint: Any
    arm: Any
    parent_axes: Any = None
    body_axes: Any = None
    slides_in_body: Any = None
    universal: Any = None

    def __post_init__(self) -> None:
        names, n = tuple(self.names), len(self.names)
        for word, default in (
            ("parent_axes", np.tile(np.eye(3), (n, 1, 1))),
            ("body_axes", np.tile(np.eye(3), (n, 1, 1))),
            ("slides_in_body", np.zeros(n)),
            ("universal", np.zeros(n)),
        ):
            if getattr(self, word) is None:
                object.__setattr__(self, word, default)
        shapes = {"joint": (n, 3), "arm": (n, 3), "parent_axes": (n, 3, 3), "body_axes": (n, 3, 3)}
        shapes |= {"slides_in_body": (n,), "universal": (n,)}
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
        """Number of bodies; each has 6 speeds, translation first."""
        return len(self.names)

    def path(self, k: int) -> list[int]:
        """Bodies from the root to k, k included."""
        path = [k]
        while self.parent[path[-1]] >= 0:
            path.append(self.parent[path[-1]])
        return path[::-1]


@dataclass(frozen=True)
class RelativePlacement:
    """Relative coordinates of the bodies: s (n, 3), m, and angles (n, 3), rad, or relative attitudes R (n, 3, 3),
    parent to body components, for speeds that are not angle rates."""

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


Speeds = Literal["fixed", "body", "angles"]
SPEEDS: tuple[Speeds, ...] = ("fixed", "body", "angles")


@dataclass(frozen=True)
class Velocities:
    """Poses and velocities of n bodies. r, v (n, 3): mass centres, inertial axes, m and m/s; A (n, 3, 3): body to
    inertial; w (n, 3): angular velocity, inertial axes, rad/s; joint, joint_rate (n, 3): the joint points P;
    hat (n, 3): relative angular velocity, parent axes; inner, outer (n, 3, 3): the joint's axes fixed in the parent and
    in the body, columns in inertial components."""

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
    """Partial velocities: V, W (n, 3, 6 n) with v = V u, w = W u in inertial axes, and their time derivatives;
    gimbal_distance (n,): of each joint, |cos theta_2| for angle rates (0 at lock), one otherwise."""

    V: Floats
    W: Floats
    V_rate: Floats
    W_rate: Floats
    gimbal_distance: Floats


def velocities(tree: RelativeTree, placement: RelativePlacement, u: ArrayLike, speeds: Speeds) -> Velocities:
    """Positions, attitudes and velocities of all bodies at speeds u (6 n,), in one sweep from the root to the tips."""
    u, R = np.asarray(u).reshape(tree.n, 6), placement.rotations()
    s = np.asarray(placement.s)
    shape, kind = (tree.n, 3), np.result_type(u, R, s, float)
    r, v, w, P, Pdot, hat = (np.zeros(shape, dtype=kind) for _ in range(6))
    A, inner, outer = (np.zeros((tree.n, 3, 3), dtype=kind) for _ in range(3))
    zero = np.zeros(3)
    for k, h in enumerate(tree.parent):
        A_h, w_h, r_h, v_h = (A[h], w[h], r[h], v[h]) if h >= 0 else (np.eye(3), zero, zero, zero)
        inner[k] = A_h @ tree.parent_axes[k]
        outer[k] = inner[k] @ R[k].T
        A[k] = outer[k] @ tree.body_axes[k].T
        hat[k] = _relative_columns(tree, placement, R[k], k, u[k, 3:], speeds)[0] @ u[k, 3:]
        w[k] = w_h + inner[k] @ hat[k]
        d, arm = A_h @ tree.joint[k], A[k] @ tree.arm[k]
        slide = outer[k] if tree.slides_in_body[k] else inner[k]
        if tree.slides_in_body[k]:
            arm, sliding = arm - slide @ s[k], -slide @ u[k, :3]
            P[k], Pdot[k] = r_h + d, v_h + np.cross(w_h, d)
        else:
            d, sliding = d + slide @ s[k], slide @ u[k, :3]
            P[k], Pdot[k] = r_h + d, v_h + np.cross(w_h, d) + sliding
            sliding = zero
        r[k], v[k] = P[k] + arm, Pdot[k] + np.cross(w[k], arm) + sliding
    return Velocities(r, A, v, w, P, Pdot, hat, inner, outer)


def partials(tree: RelativeTree, placement: RelativePlacement, u: ArrayLike, speeds: Speeds) -> Partials:
    """V, W and their derivatives at speeds u (6 n,); zero for joints that are not on the path to a body.

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
        slide, rotation = slice(6 * j, 6 * j + 3), slice(6 * j + 3, 6 * j + 6)
        for k in range(j, tree.n):
            if j not in tree.path(k):
                continue
            V[k, :, slide], V_rate[k, :, slide] = A_p, A_rate
            V[k, :, rotation], V_rate[k, :, rotation] = -rho[j, k] @ F, -rho_rate[j, k] @ F - rho[j, k] @ F_rate
            W[k, :, rotation], W_rate[k, :, rotation] = F, F_rate
    distance = np.ones(tree.n) if speeds != "angles" else gimbal_distance(placement.angles)
    return Partials(V, W, V_rate, W_rate, distance)


def accelerations(
    tree: RelativeTree, placement: RelativePlacement, u: ArrayLike, u_rate: ArrayLike, speeds: Speeds
) -> tuple[Floats, Floats]:
    """Accelerations (n, 3) of mass centres, m/s2, and angular accelerations (n, 3), rad/s2, inertial axes.

    A recursion without matrices; with u_rate = 0 it gives V' u and W' u.
    """
    motion = velocities(tree, placement, u, speeds)
    spins = _spins(motion)
    rates, second = np.asarray(u).reshape(tree.n, 6), np.asarray(u_rate).reshape(tree.n, 6)
    a, alpha = np.zeros_like(motion.v), np.zeros_like(motion.w)
    zero = np.zeros(3)
    for k, h in enumerate(tree.parent):
        w_p, a_p, alpha_p, r_p = (motion.w[h], a[h], alpha[h], motion.r[h]) if h >= 0 else (zero, zero, zero, zero)
        F, F_rate = _rotation_columns(tree, placement, motion, spins, k, rates[k, 3:], speeds)
        alpha[k] = alpha_p + F @ second[k, 3:] + F_rate @ rates[k, 3:]
        d, arm, w = motion.joint[k] - r_p, motion.r[k] - motion.joint[k], motion.w[k]
        # the sliding axes are fixed in the body, or in the parent
        axes, carrier = (-motion.outer[k], w) if tree.slides_in_body[k] else (motion.inner[k], w_p)
        a[k] = a_p + np.cross(alpha_p, d) + np.cross(w_p, np.cross(w_p, d))
        a[k] += np.cross(carrier, 2.0 * axes @ rates[k, :3]) + axes @ second[k, :3]
        a[k] += np.cross(alpha[k], arm) + np.cross(w, np.cross(w, arm))
    return a, alpha


def body_rows(motion: Velocities, parts: Partials) -> tuple[Floats, Floats]:
    """[V; A^T W] (6 n, 6 n) of all bodies in turn, with angular velocities in body axes, and its derivative.

    The null-space matrix of the reduced equations of motion, equation (8).
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


def _relative_columns(
    tree: RelativeTree, placement: RelativePlacement, R: Floats, k: int, rate: Floats, speeds: Speeds
) -> tuple[Floats, Floats]:
    """Relative angular velocity by joint k's rotation speeds (3, 3), joint's axes in the parent, and the rate of these
    columns at the speeds ``rate`` (3,). Equations (5) to (7)."""
    if not tree.universal[k] and speeds not in ("fixed", "body"):
        theta = _angles(placement, speeds)[k]
        return rate_map(theta), rate_map_rate(theta, rate)
    if tree.universal[k]:
        order = [0, 1, 2] if tree.universal[k] == 1 else [1, 0, 2]
        columns = np.stack([0.0 * R[2] + [0.0, 0.0, 1.0], R[2], 0.0 * R[2]], axis=1)[:, order]
        in_body = np.array([False, True, False])[order]
    else:
        columns, in_body = (np.eye(3), np.zeros(3, bool)) if speeds == "fixed" else (R.T, np.ones(3, bool))
    return columns, np.where(in_body, cross_matrix(columns @ rate) @ columns, 0.0)


def _rotation_columns(
    tree: RelativeTree,
    placement: RelativePlacement,
    motion: Velocities,
    spins: Floats,
    j: int,
    rate: Floats,
    speeds: Speeds,
) -> tuple[Floats, Floats]:
    """F_j and its rate (3, 3): angular velocity, inertial axes, by joint j's rotation speeds."""
    inner, R = motion.inner[j], motion.outer[j].T @ motion.inner[j]
    columns, change = _relative_columns(tree, placement, R, j, rate, speeds)
    F = inner @ columns
    return F, spins[tree.parent[j]] @ F + inner @ change


def _angles(placement: RelativePlacement, speeds: Any) -> Floats:
    if speeds not in SPEEDS:
        raise ModelError(f"speeds: got {shown(speeds)}, must be one of {', '.join(map(repr, SPEEDS))}")
    if placement.angles is None:
        raise ModelError("angle rates as speeds need a placement by angles; it has relative attitudes R")
    return np.asarray(placement.angles)


def _spins(motion: Velocities) -> Floats:
    """w~ (n + 1, 3, 3) of all bodies and, as the last (parent -1), of the inertial frame."""
    return cross_matrix(np.vstack([motion.w, np.zeros(3)]))
