"""Closed forms of one joint between two bodies: Phi_q, H1, H2, H2' and H2^+ of every kind of constraint.

Velocities are (v_b, w_b, v_c, w_c): of the bodies' points, inertial axes, and angular velocities, body axes. p is a
point of b, s one of c; f a unit vector of c, g and h ones of b. A takes b components to c components; w is the angular
velocity of c relative to b in c components, B theta' with the axes of successive rotations as columns of B, last first.
With b_b = -A_b p~ and b_c = -A_c s~, A_b and A_c taking body to inertial components:

    spherical        Phi = r_b + A_b p - r_c - A_c s                         u = (v_b, w_b, w_c)
    perpendicular    Phi = g . A^T f - constant,         Y = f~ A g          u = (v_b, w_b, v_c, beta', alpha')
    parallel         Phi = [g h]^T A^T f,                Y = f~ A [g h]      u = (v_b, w_b, v_c, theta')
    joint            spherical with perpendicular or parallel                u = (v_b, w_b, theta')

The spherical rows have the opposite sign of those of ``femb.elements.joint.joint``. All functions accept complex
entries, for differentiation by a complex step. Sources: docs/theory/reduced_order.md, section 6;
Thompson, AIAA 2011-6277, table 2, with Y (Y^T Y)^-1 for axes that are not perpendicular.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.brief import Brief
from femb.base.types import Floats
from femb.numerics.rotations import cross_matrix


@dataclass(frozen=True)
class Pair:
    """Two bodies at an instant: attitudes A_b, A_c (3, 3), body to inertial, angular velocities w_b, w_c (3,), body
    axes, and the points p, s (3,) m, body axes.

    f, held : None for the spherical joint; otherwise the axis f (3,) of c and the axes of b at constant angles to f,
    (3, 1) for perpendicular and (3, 2) for parallel.
    """

    A_b: Floats
    A_c: Floats
    w_b: Floats
    w_c: Floats
    p: Floats
    s: Floats
    f: Any = None
    held: Any = None

    @property
    def A(self) -> Floats:
        """Rotation matrix from components of b to components of c."""
        return self.A_c.T @ self.A_b

    @property
    def w(self) -> Floats:
        """Angular velocity of c relative to b (3,), axes of c."""
        return self.w_c - self.A @ self.w_b

    @property
    def A_rate(self) -> Floats:
        """A'."""
        return -cross_matrix(self.w) @ self.A

    def arms(self) -> tuple[Floats, Floats, Floats, Floats]:
        """b_b, b_c and their rates."""
        p, s, w_b, w_c = map(cross_matrix, (self.p, self.s, self.w_b, self.w_c))
        return -self.A_b @ p, -self.A_c @ s, -self.A_b @ w_b @ p, -self.A_c @ w_c @ s

    def rotation_columns(self) -> tuple[Floats, Floats, Floats]:
        """B (3, 1 or 2), B', and Y (3, 2 or 1)."""
        f, Y = self.f[:, None], cross_matrix(self.f) @ self.A @ self.held
        if self.held.shape[1] == 2:
            return f, 0.0 * f, Y
        Ag = self.A @ self.held
        return np.hstack([f, Ag]), np.hstack([0.0 * f, -cross_matrix(self.w) @ Ag]), Y


@dataclass(frozen=True, eq=False)
class Forms(Brief):
    """Phi_q (L, 12), H1 (12, L), H2 and H2' (12, P), H2^+ (P, 12) of one joint; Ha, Ha' (12, 12) and Hb, Hb' (12, P)
    of Ha v = Hb u, from which H2 = Ha^-1 Hb."""

    Phi_q: Floats
    H1: Floats
    H2: Floats
    H2_rate: Floats
    H2_inverse: Floats
    Ha: Floats
    Hb: Floats
    Ha_rate: Floats
    Hb_rate: Floats


def spherical(pair: Pair) -> Forms:
    """Two points coincide."""
    b_b, b_c, b_b1, b_c1 = pair.arms()
    return Forms(
        _block([[1, b_b, -1, -b_c]]),
        _block([[0], [0], [-1], [0]]),
        _block([[1, 0, 0], [0, 1, 0], [1, b_b, -b_c], [0, 0, 1]]),
        _block([[0, 0, 0], [0, 0, 0], [0, b_b1, -b_c1], [0, 0, 0]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [-1, -b_b, 1, b_c], [0, 0, 0, 1]]),
        _block([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]),
        _block([[0, 0, 0, 0], [0, 0, 0, 0], [0, -b_b1, 0, b_c1], [0, 0, 0, 0]]),
        _block([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]),
    )


def rotation(pair: Pair) -> Forms:
    """An axis of c at a constant angle to one axis of b (perpendicular), or to two (parallel)."""
    A, (B, B1, Y) = pair.A, pair.rotation_columns()
    none, plus = np.zeros((3, B.shape[1])), _plus(B)
    held = np.zeros((3, Y.shape[1]))
    return Forms(
        _block([[held.T, -Y.T @ A, held.T, Y.T]]),
        _block([[held], [held], [held], [Y @ np.linalg.inv(Y.T @ Y)]]),
        _block([[1, 0, 0, none], [0, 1, 0, none], [0, 0, 1, none], [0, A, 0, B]]),
        _block([[0, 0, 0, none], [0, 0, 0, none], [0, 0, 0, none], [0, pair.A_rate, 0, B1]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [none.T, -plus @ A, none.T, plus]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, -A, 0, 1]]),
        _block([[1, 0, 0, none], [0, 1, 0, none], [0, 0, 1, none], [0, 0, 0, B]]),
        _block([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, -pair.A_rate, 0, 0]]),
        _block([[0, 0, 0, none], [0, 0, 0, none], [0, 0, 0, none], [0, 0, 0, B1]]),
    )


def joint(pair: Pair) -> Forms:
    """Two points coincide, with one constant angle (universal) or two (revolute)."""
    A, A1, (B, B1, Y) = pair.A, pair.A_rate, pair.rotation_columns()
    b_b, b_c, b_b1, b_c1 = pair.arms()
    none, plus, held = np.zeros((3, B.shape[1])), _plus(B), np.zeros((3, Y.shape[1]))
    right = Y @ np.linalg.inv(Y.T @ Y)
    b, b1 = b_b - b_c @ A, b_b1 - b_c1 @ A - b_c @ A1
    return Forms(
        _block([[1, b_b, -1, -b_c], [held.T, -Y.T @ A, held.T, Y.T]]),
        _block([[0, held], [0, held], [-1, -b_c @ right], [0, right]]),
        _block([[1, 0, none], [0, 1, none], [1, b, -b_c @ B], [0, A, B]]),
        _block([[0, 0, none], [0, 0, none], [0, b1, -b_c1 @ B - b_c @ B1], [0, A1, B1]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [none.T, -plus @ A, none.T, plus]]),
        _block([[1, 0, 0, 0], [0, 1, 0, 0], [-1, -b_b, 1, b_c], [0, -A, 0, 1]]),
        _block([[1, 0, none], [0, 1, none], [0, 0, none], [0, 0, B]]),
        _block([[0, 0, 0, 0], [0, 0, 0, 0], [0, -b_b1, 0, b_c1], [0, -A1, 0, 0]]),
        _block([[0, 0, none], [0, 0, none], [0, 0, none], [0, 0, B1]]),
    )


def _block(rows: list[list[Any]]) -> Floats:
    """Matrix of 3 x 3 blocks; numbers stand for multiples of the unit matrix."""
    return np.block([[block * np.eye(3) if isinstance(block, int) else block for block in row] for row in rows])


def _plus(B: Floats) -> Floats:
    """The left inverse of B."""
    return np.linalg.inv(B.T @ B) @ B.T
