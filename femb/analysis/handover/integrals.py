"""Integrals of mode shapes over the mass: what a simulator needs of a flexible body whose frame moves far.

    S1_j = int psi_j dm,   C0_j = int X x psi_j dm,   B_0j = int X psi_j^T dm,   B_ij = int psi_i psi_j^T dm

Mass, inertia, S1 and C0 follow from the mass matrix itself. The others follow from particles with rotary inertia, one
for each end of an element, whose mass and first moment are those of the rows of its mass matrix; they converge with the
square of the length of beam elements and are exact for rigid bodies. Source: docs/theory/handover.md, section 3.
"""

from dataclasses import dataclass

import numpy as np

from femb.analysis.modes.appendages import rigid_motions
from femb.analysis.modes.eigenproblem import EigenProblem, Flags
from femb.base.types import Floats
from femb.numerics import rotations
from femb.numerics.rotations import cross_matrix


@dataclass(frozen=True, eq=False)
class Integrals:
    """Of k shapes, about a point and along axes.

    mass kg. first_moment (3,) kg m. inertia (3, 3) kg m2, about the point. S1 (k, 3). C0 (k, 3). B0 (k, 3, 3) and B (k,
    k, 3, 3) : symmetric parts with rotary inertia, as it acts in the change of the inertia.
    """

    mass: float
    first_moment: Floats
    inertia: Floats
    S1: Floats
    C0: Floats
    B0: Floats
    B: Floats


@dataclass(frozen=True, eq=False)
class Particles:
    """n masses (n,) kg at X (n, 3) m from the point, with rotary inertias J (n, 3, 3) kg m2.

    psi (n, k, 3), theta (n, k, 3) : displacements and rotations by k shapes.
    """

    mass: Floats
    X: Floats
    J: Floats
    psi: Floats
    theta: Floats


def integrals(motion: EigenProblem, inside: Flags, shapes: Floats, point: Floats, axes: Floats) -> Integrals:
    """Of the elements with a velocity ``inside`` (n_v,), for shapes (n_v, k).

    point (3,) m, inertial, and axes (3, 3), as columns : what they are about and along.
    """
    D = rigid_motions(motion, point, axes)
    momenta, rigid = np.zeros_like(shapes), np.zeros((6, 6))
    for places, mass in motion.element_masses:
        own = np.any(inside[places], axis=1)
        places, mass = places[own], mass[own]
        np.add.at(momenta, places, mass @ shapes[places])
        rigid += np.einsum("eni,enj->ij", D[places], mass @ D[places])
    first = np.array([rigid[5, 1], rigid[3, 2], rigid[4, 0]])
    by_shape = momenta.T @ D
    S1, C0 = by_shape[:, :3], by_shape[:, 3:]
    J1, J2, Q = changes(_particles(motion, inside, shapes, point, axes, D))
    B0 = _symmetric(J1) + _antisymmetric(C0)
    B = _symmetric(J2) + _antisymmetric(0.5 * (Q - Q.swapaxes(0, 1)))
    return Integrals(float(rigid[0, 0]), first, rigid[3:, 3:], S1, C0, B0, B)


def _symmetric(J: Floats) -> Floats:
    """The symmetric B (..., 3, 3) whose change of the inertia is J = 2 tr(B) - 2 B."""
    trace = np.trace(J, axis1=-2, axis2=-1)[..., None, None]
    return np.asarray(0.25 * trace * np.eye(3) - 0.5 * J)


def _antisymmetric(c: Floats) -> Floats:
    """The antisymmetric B (..., 3, 3) whose axial vector (B_23 - B_32, ...) is c (..., 3)."""
    return np.asarray(-0.5 * np.cross(np.eye(3), c[..., None, :]))


def _axial(B: Floats) -> Floats:
    """(..., 3): the vector (B_23 - B_32, B_31 - B_13, B_12 - B_21) of B (..., 3, 3)."""
    forward, back = B[..., [1, 2, 0], [2, 0, 1]], B[..., [2, 0, 1], [1, 2, 0]]
    return np.asarray(forward - back)


def changes(of: Particles) -> tuple[Floats, Floats, Floats]:
    """J1 (k, 3, 3), J2 (k, k, 3, 3), Q (k, k, 3): derivatives of the inertia, and int psi_i x psi_j dm."""
    m, one = of.mass, np.eye(3)

    def inertia(P: Floats) -> Floats:
        return np.asarray(np.trace(P, axis1=-2, axis2=-1)[..., None, None] * one - 0.5 * (P + P.swapaxes(-1, -2)))

    B0 = np.einsum("n,na,nkb->kab", m, of.X, of.psi, optimize=True)
    B = np.einsum("n,nia,nkb->ikab", m, of.psi, of.psi, optimize=True)
    t = np.cross(one, of.theta[:, :, None, :])  # (n, k, 3, 3) cross matrices
    tJ = t @ of.J[:, None]
    J1 = 2.0 * inertia(B0) + np.sum(tJ + tJ.swapaxes(-1, -2), axis=0)
    both = np.einsum("niab,nkbc->ikac", tJ, t, optimize=True)
    second = np.einsum("niab,nkbc->ikac", t, tJ, optimize=True)
    J2 = 2.0 * inertia(B) - both - both.swapaxes(0, 1)
    half = 0.5 * (second + second.swapaxes(0, 1))
    J2 = J2 + half + half.swapaxes(-1, -2)
    Q = _axial(B)
    turned = np.einsum("niab,nkb->ika", tJ - 0.5 * (of.J[:, None] @ t), of.theta, optimize=True)
    return J1, J2, Q + turned


def _particles(
    motion: EigenProblem, inside: Flags, shapes: Floats, point: Floats, axes: Floats, D: Floats
) -> Particles:
    """Particles at the frames of each element: the rows of its mass matrix. Source: docs/theory/handover.md, (9)."""
    layout, k = motion.system.layout, shapes.shape[1]
    frame_of, part_of = np.full(motion.system.n_v, -1), np.full(motion.system.n_v, -1)
    for number in range(len(layout.frames)):
        own = motion.velocities_of(number)
        frame_of[own], part_of[own] = number, np.arange(own.stop - own.start) // 3
    rows: list[tuple[float, Floats, Floats, Floats, Floats]] = []
    for places, masses in motion.element_masses:
        for place, mass in zip(places, masses, strict=True):
            if not np.any(inside[place]):
                continue
            E, G = D[place, :3], D[place, 3:]
            for number in np.unique(frame_of[place][frame_of[place] >= 0]):
                i = layout.frame_q[number]
                X = axes.T @ (motion.q[i : i + 3] + layout.origin - point)
                line = mass[:, (frame_of[place] == number) & (part_of[place] == 0)] @ axes
                m = float(np.trace(E.T @ line)) / 3.0
                rows_of_frame = shapes[motion.velocities_of(number)]
                d, J, u, theta = np.zeros(3), np.zeros((3, 3)), axes.T @ rows_of_frame[:3], np.zeros((3, k))
                if layout.frames[number].freedom == 6:
                    R = axes.T @ rotations.rotation_matrix(motion.q[i + 3 : i + 7])
                    turn = mass[:, (frame_of[place] == number) & (part_of[place] == 1)] @ R.T
                    across = E.T @ turn
                    if m > 0.0:
                        d = _axial(across) / (2.0 * m)
                    J = G.T @ turn - cross_matrix(X + d) @ across
                    theta = R @ rows_of_frame[3:]
                rows.append((m, X + d, 0.5 * (J + J.T), u.T + np.cross(theta.T, d), theta.T))
    mass, X, J, psi, theta = (np.array(part) for part in zip(*rows, strict=True))
    return Particles(mass, X, J, psi, theta)
