"""Relative turn of a joint: its angular velocity, its rate, and how both change with the angles and their rates."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from femb.base.types import Floats
from femb.numerics.rotations import cross_matrix


@dataclass(frozen=True, eq=False)
class JointTurn:
    """Of the frame relative to its parent, in axes of the joint's end at the frame, or of the frame.

    s, s1 (3,) : relative angular velocity, and the rate of its components. turn, s_change, s1_change (3, 2 N) : the
    relative turn and the changes of s and s1, by the N coordinates and then by the N speeds.
    """

    s: Floats
    s1: Floats
    turn: Floats
    s_change: Floats
    s1_change: Floats

    @classmethod
    def of(cls, each: Any, C: Floats, u: Floats, rate: Floats, N: int) -> "JointTurn":
        """For a TreeFrame with the axes C of its end in those of the parent's end; u, rate (N,) speeds and their rates.

        With angles a, then b about axes that stay, s = z a' + e b' in axes of the second end, z = C^T e; z turns with
        b: dz/db = z x e. A ball's s is its speeds.
        """
        from femb.formulations.joint_tree_kernels import BALL, TWO

        first = each.u.start + len(each.strokes)
        n = each.u.stop - first
        if each.backward:
            C = C.T  # of the second end in the first's axes
        e, z = np.array([0.0, 0.0, 1.0]), C[2]
        u, rate = u[first : each.u.stop], rate[first : each.u.stop]
        S = np.eye(3) if each.turn == BALL else np.column_stack([z, e])[:, :n]
        s, s1 = S @ u, S @ rate
        by_p, by_w, by_p1, by_w1 = np.zeros((3, n)), S, np.zeros((3, n)), np.zeros((3, n))
        if each.turn == TWO:
            dz = np.cross(z, e)
            ddz = np.cross(dz, e)
            s1 = s1 + dz * u[0] * u[1]
            by_p[:, 1] = dz * u[0]
            by_p1[:, 1] = dz * rate[0] + ddz * u[0] * u[1]
            by_w1[:] = np.column_stack([dz * u[1], dz * u[0]])
        if each.backward:
            # of the first end relative to the second, in the first's axes: -C s, where C turns by the turn S p
            by_p, by_p1 = C @ (cross_matrix(s) @ S - by_p), C @ (cross_matrix(s1) @ S - by_p1)
            S, s, s1, by_w, by_w1 = (-C @ x for x in (S, s, s1, by_w, by_w1))
        places = np.arange(first, each.u.stop)
        turn, s_change, s1_change = np.zeros((3, 3, 2 * N))
        turn[:, places] = S
        s_change[:, places], s_change[:, N + places] = by_p, by_w
        s1_change[:, places], s1_change[:, N + places] = by_p1, by_w1
        return cls(s, s1, turn, s_change, s1_change)

    def turned(self, axes: Floats) -> "JointTurn":
        """The same in other axes."""
        return JointTurn(*(axes @ x for x in (self.s, self.s1, self.turn, self.s_change, self.s1_change)))
