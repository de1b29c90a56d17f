"""Coordinates and speeds of a joint tree, as steppers take them: rates, groups for the error norm, unit quaternions.

Source: docs/theory/reduced_order.md, sections 2 and 3.
"""

import numpy as np

from femb.base.errors import ModelError
from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats
from femb.formulations.contract import Coordinates
from femb.formulations.joint_tree import JointTree
from femb.formulations.joint_tree_kernels import SPHERICAL
from femb.formulations.tree_frame import TreeFrame
from femb.layout.dof_index import internal_tolerances, turned_places
from femb.numerics import kinematics, rotations


class TreeCoordinates:
    """q (n_q,) and speeds v (n_v,) of a joint tree.

    corotated_frames : quaternions and speeds of the free frames that stiff members are on.
    """

    def __init__(self, tree: JointTree) -> None:
        self.tree = tree
        self.n_q, self.n_v = tree.n_q, tree.n_u
        self._body_roots = [frame for frame in tree.frames if frame.body_velocity]
        self._group()

    def _group(self) -> None:
        """Groups of components for the error norm, and frames whose stiff members turn with Newton's iteration."""
        members = {frame for frames, _ in self.tree.layout.couplings for frame in frames}
        lengths, angles, balls, turning = [], [], [], []
        for each in self.tree.frames:
            strokes, free = len(each.strokes), each.joint is None
            places = [(each.q.start + k, each.u.start + k) for k in range(strokes)]
            lengths += [(*places[0], 3)] if free else [(*place, 1) for place in places]
            if each.turn == SPHERICAL:
                balls.append((each.q.stop - 4, each.u.stop - 3))
                turning += [balls[-1]] if free and each.frame in members else []
            else:
                count = each.q.stop - each.angles.start
                angles += [(each.angles.start + k, each.u.start + strokes + k, -1) for k in range(count)]
        q, u = self.tree.internal
        signs = [-1 if each.quantity.unit == "rad" else 1 for each in self.tree.layout.internal]
        internal = [(q.start + k, u.start + k, size) for k, size in enumerate(signs)]
        self._groups = (lengths, angles, [(*ball, 4) for ball in balls], internal)
        pairs = np.array(turning, dtype=np.int64).reshape(-1, 2).T
        self.corotated_frames = (np.ascontiguousarray(pairs[0]), turned_places(pairs[1] - 3))

    @property
    def coordinates(self) -> Coordinates:
        """Places as ``femb.numerics.kinematics`` takes them. Raises ModelError where velocities in body axes have
        none."""
        if self._body_roots:
            raise ModelError.at(
                ("run", "method"), "velocities in body axes are no rates of coordinates: use 'rk', or inertial ones"
            )
        return self.tree.coordinates

    def rates(self, q: Floats, v: Floats) -> Floats:
        """q' (s, n_q)."""
        out = np.empty_like(q)
        kinematics.rates(*self.tree.coordinates, q, v, out)
        for root in self._body_roots:
            out[:, root.q.start : root.q.start + 3] = self._turned_by(q, root, v[:, root.u][:, :3])
        return out

    def second_rates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """q'' (s, n_q)."""
        rate = self.rates(q, v)
        turning = np.zeros_like(rate)
        kinematics.rates(*self.tree.coordinates, rate, v, turning)
        turning[:, self.tree.coordinates[0]] = 0.0
        out = self.rates(q, a) + turning
        for root in self._body_roots:
            speeds = v[:, root.u]
            out[:, root.q.start : root.q.start + 3] += self._turned_by(q, root, np.cross(speeds[:, 3:], speeds[:, :3]))
        return out

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The speeds (s, n_v) that change q (n_q,) at the rates dq (s, n_q)."""
        out = np.empty((len(dq), self.n_v))
        kinematics.tangents(*self.tree.coordinates, q[None], dq, out)
        for root in self._body_roots:
            back = self._turned_by(q[None], root, dq[:, root.q.start : root.q.start + 3], back=True)
            out[:, root.u.start : root.u.start + 3] = back
        return out

    @staticmethod
    def _turned_by(q: Floats, root: TreeFrame, x: Floats, back: bool = False) -> Floats:
        p = rotations.normalise(q[:, root.angles])
        return rotations.rotate_back(p, x) if back else rotations.rotate(p, x)

    def normalise(self, q: Floats) -> float:
        """Scale quaternions to unit length, in place; returns the largest |p.p - 1| before."""
        return float(kinematics.normalise(self.tree.coordinates[2], q))

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """Groups and tolerances for ``kinematics.error_norm``; angles have the tolerance of quaternions."""
        position, quaternion, _ = atol.values(rtol)
        lengths, angles, balls, internal = self._groups
        scale = [position] * len(lengths) + [quaternion] * (len(angles) + len(balls))
        scale += internal_tolerances(self.tree.layout, atol, rtol)[0].tolist()
        groups = [*lengths, *angles, *balls, *internal]
        starts = [(q, u) for q, u, _ in groups]
        sizes = [(size, min(abs(size), 3)) for _, _, size in groups]
        (of_q, of_v), (size_q, size_v), absolute = np.array(starts).T, np.array(sizes).T, np.array(scale)
        found = [np.ascontiguousarray(each) for each in (of_q, size_q, of_v, size_v)]
        return (found[0], found[1], absolute, rtol), (found[2], found[3], absolute / atol.time, rtol)
