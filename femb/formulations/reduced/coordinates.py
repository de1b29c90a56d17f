"""Coordinates and speeds of a joint tree for steppers: rates, groups for the error norm, unit quaternions.

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
from femb.numerics import kinematics, rotations
from femb.system.system import System
from femb.system.velocity_coordinates import corotated_vectors


class TreeCoordinates:
    """q (n_q,) and speeds v (n_v,) of a joint tree.

    corotated_frames : quaternions and speeds of the free frames that flexible elements couple; see the contract.
    """

    system: System

    def __init__(self, tree: JointTree) -> None:
        self.tree = tree
        self.n_q, self.n_v = tree.n_q, tree.n_u
        self._body_roots = [frame for frame in tree.frames if frame.body_velocity]
        self._group()

    def _group(self) -> None:
        """Set the groups of components for the error norm, and ``corotated_frames``."""
        coupled = {frame for frames, _ in self.tree.layout.couplings for frame in frames}
        lengths, angles, quaternions, corotated = [], [], [], []
        for frame in self.tree.frames:
            strokes, free = len(frame.strokes), frame.joint is None
            pairs = [(frame.q.start + k, frame.u.start + k) for k in range(strokes)]
            lengths += [(*pairs[0], 3)] if free else [(*pair, 1) for pair in pairs]
            if frame.rotation == SPHERICAL:
                quaternions.append((frame.q.stop - 4, frame.u.stop - 3))
                corotated += [quaternions[-1]] if free and frame.frame in coupled else []
            else:
                count = frame.q.stop - frame.angles.start
                angles += [(frame.angles.start + k, frame.u.start + strokes + k, -1) for k in range(count)]
        q, u = self.tree.internal
        signs = [-1 if item.quantity.unit == "rad" else 1 for item in self.tree.layout.internal]
        internal = [(q.start + k, u.start + k, size) for k, size in enumerate(signs)]
        self._groups = (lengths, angles, [(*pair, 4) for pair in quaternions], internal)
        quaternion_q, omega_u = np.array(corotated, dtype=np.int64).reshape(-1, 2).T
        self.corotated_frames = (np.ascontiguousarray(quaternion_q), corotated_vectors(omega_u - 3))

    @property
    def coordinates(self) -> Coordinates:
        """Indices as ``femb.numerics.kinematics`` takes them. Raises ModelError for velocities in body axes."""
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
            out[:, root.q.start : root.q.start + 3] = self._rotated(q, root, v[:, root.u][:, :3])
        return out

    def second_rates(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """q'' (s, n_q)."""
        rate = self.rates(q, v)
        by_rate = np.zeros_like(rate)
        kinematics.rates(*self.tree.coordinates, rate, v, by_rate)
        by_rate[:, self.tree.coordinates[0]] = 0.0
        out = self.rates(q, a) + by_rate
        for root in self._body_roots:
            speeds = v[:, root.u]
            out[:, root.q.start : root.q.start + 3] += self._rotated(q, root, np.cross(speeds[:, 3:], speeds[:, :3]))
        return out

    def tangents(self, q: Floats, dq: Floats) -> Floats:
        """The speeds (s, n_v) that change q (n_q,) or (s, n_q) at the rates dq (s, n_q)."""
        q = q if q.ndim == 2 else q[None]
        out = np.empty((len(dq), self.n_v))
        kinematics.tangents(*self.tree.coordinates, q, dq, out)
        for root in self._body_roots:
            back = self._rotated(q, root, dq[:, root.q.start : root.q.start + 3], back=True)
            out[:, root.u.start : root.u.start + 3] = back
        return out

    @staticmethod
    def _rotated(q: Floats, root: TreeFrame, x: Floats, back: bool = False) -> Floats:
        p = rotations.normalise(q[:, root.angles])
        return rotations.rotate_back(p, x) if back else rotations.rotate(p, x)

    def joint_angles(self, q: Floats) -> Floats:
        """The joint coordinates (s, m) that q (s, n_q) counts, and of the others those of the last step."""
        index = self.tree.coordinate_index
        return np.where(index >= 0, q[:, index], self.system.discrete.angles)

    def normalise(self, q: Floats) -> float:
        """Scale quaternions to unit length, in place; returns the largest |p.p - 1| before."""
        return float(kinematics.normalise_each(self.tree.coordinates[2], q.reshape(-1, self.n_q)))

    def error_scale(self, rtol: float, atol: Tolerances) -> tuple[ErrorScale, ErrorScale]:
        """Groups and tolerances for ``kinematics.error_norm``; angles have the tolerance of quaternions."""
        position, quaternion, _ = atol.values(rtol)
        lengths, angles, quaternions, internal = self._groups
        scale = [position] * len(lengths) + [quaternion] * (len(angles) + len(quaternions))
        scale += self.tree.layout.internal_tolerances(atol, rtol)[0].tolist()
        groups = [*lengths, *angles, *quaternions, *internal]
        starts = [(q, u) for q, u, _ in groups]
        sizes = [(size, min(abs(size), 3)) for _, _, size in groups]
        (of_q, of_v), (size_q, size_v), absolute = np.array(starts).T, np.array(sizes).T, np.array(scale)
        of_q, size_q, of_v, size_v = (np.ascontiguousarray(array) for array in (of_q, size_q, of_v, size_v))
        return (of_q, size_q, absolute, rtol), (of_v, size_v, absolute / atol.time, rtol)
