"""Poses, velocities and momenta of the segments at a state, and their accelerations with the forces in the hinges."""

from dataclasses import dataclass

import numpy as np

from femb.base.types import Floats
from femb.formulations.hamiltonian.momentum_kernels import energy_matrix
from femb.formulations.hamiltonian.sweep_kernels import momenta, poses, spatial_inertias
from femb.formulations.hamiltonian.tree import Tree
from femb.numerics.rotations import normalise, rotation_matrix


@dataclass(frozen=True)
class TreeMotion:
    """Rows are the base (0) and the segments (k + 1); spatial quantities are about the base's origin, inertial axes.

    R (rows, 3, 3): attitudes. hinge, center (rows, 3): hinge points and mass centres, from the base's origin, m.
    S (rows, 6): hinge motions. M (rows, 6, 6): spatial inertias. v (rows, 6): velocities. h (rows, 6): momenta of a
    segment and all segments outboard. origin_of_base (3,), m. q, rate (n,): coordinates and rates of the hinges.
    """

    tree: Tree
    q: Floats
    rate: Floats
    R: Floats
    hinge: Floats
    center: Floats
    S: Floats
    M: Floats
    v: Floats
    h: Floats
    origin_of_base: Floats

    @classmethod
    def of(cls, tree: Tree, q: Floats, rate: Floats, base: Floats, pose: Floats | None = None) -> "TreeMotion":
        """Motion for q, rate (n,); base (6,), pose (7,): velocity (omega, v), inertial axes, and pose of the base."""
        rows = tree.n + 1
        R, hinge, c, S = np.empty((rows, 3, 3)), np.empty((rows, 3)), np.empty((rows, 3)), np.zeros((rows, 6))
        M, v, h = np.empty((rows, 6, 6)), np.empty((rows, 6)), np.empty((rows, 6))
        R[0] = np.eye(3) if pose is None else rotation_matrix(normalise(pose[3:]))
        poses(tree.parent_rows, tree.data, q, R, hinge, c, S)
        spatial_inertias(tree.data, R, c, M)
        v[0] = base
        momenta(tree.parent_rows, S, M, rate, v, h)
        return cls(tree, q, rate, R, hinge, c, S, M, v, h, np.zeros(3) if pose is None else pose[:3].copy())

    @property
    def p(self) -> Floats:
        """(n,): momenta of the hinges, p_k = S_k . h_k, equation (8)."""
        result: Floats = np.einsum("ki,ki->k", self.S[1:], self.h[1:])
        return result

    @property
    def linear_momentum(self) -> Floats:
        """(3,) kg m/s of the whole tree."""
        return self.h[0, 3:].copy()

    @property
    def angular_momentum(self) -> Floats:
        """(3,) kg m2/s of the whole tree about the inertial origin."""
        return self.h[0, :3] + np.cross(self.origin_of_base, self.h[0, 3:])

    @property
    def energy_matrix(self) -> Floats:
        """A (6 + n, 6 + n), the base's six velocities (omega, v) first: T = 1/2 u.A u, equation (7)."""
        A = np.zeros((6 + self.tree.n, 6 + self.tree.n))
        energy_matrix(self.tree.parent_rows, self.S, self.M.copy(), A)
        return np.tril(A) + np.tril(A, -1).T


@dataclass(frozen=True)
class TreeAccelerations:
    """Accelerations of a motion: second (n,), of the hinges; a (rows, 6), rates of v at the fixed point; force (rows,
    6) of each hinge on its outer segment, about the base's origin; drive (n,), the force of a driver or latch along its
    coordinate, otherwise zero.
    """

    second: Floats
    a: Floats
    force: Floats
    drive: Floats
    motion: TreeMotion
