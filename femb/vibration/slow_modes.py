"""Modes that a slow rotation, or the momentum of wheels, gives to rigid motions: nutation, far below all vibration.

With rigid motions and motions of joints B, B^T M B = 1, small matrices on the scale of the rotation have these modes
beside the states that are known, whatever the ratio of rotation and vibration is. Deformation adds to them

    Delta(lambda) = -g^H p + p^H (lambda^2 M + lambda C) p,   p = F_e g,   g = (lambda^2 M + lambda C + K) B c

to the first order. K of rigid motions follows from M and C + G, since rotations of everything are no force: nothing
large cancels. Source: docs/theory/modes.md, section 4.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from femb.base.types import Floats, Ints
from femb.layout.symmetry import nullity
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import FreeMotions, independent, stiffness_of_known
from femb.vibration.flexibility import Flexibility

Complex = NDArray[np.complex128]
# Rates by the lowest frequency of vibration up to which modes are computed so: the error is the fourth power of it.
SLOW = 1e-3
# Newton's steps for the small change by deformation, their differences, and the rounding of small matrices.
STEPS, DIFFERENCE, ROUNDING = 4, 1e-4, 1e-12


@dataclass(frozen=True, eq=False)
class SlowModes:
    """Eigenvalues (k,) with imaginary parts of zero or above, shapes (n_v, k), and their precision (k,).

    count : with those of negative imaginary parts. momenta (n_v, b) : M B of the rigid motions of which they consist.
    below : rad/s, the limit of their sizes.
    """

    eigenvalues: Complex
    shapes: Complex
    precision: Floats
    count: int
    momenta: Floats
    below: float

    def among(self, values: Complex, shapes: Complex) -> Ints:
        """The places of these modes among eigenvalues (k,) and shapes (n_v, k) of unit mass."""
        shares = np.sum(np.abs(self.momenta.T @ shapes) ** 2, axis=0) * (np.abs(values) < self.below)
        return np.asarray(np.argsort(-shares, kind="stable")[: self.count])

    def first(self, count: int) -> "SlowModes":
        """The first of those that are listed; ``count`` and momenta are of all."""
        parts = self.eigenvalues[:count], self.shapes[:, :count], self.precision[:count]
        return SlowModes(*parts, self.count, self.momenta, self.below)


def stiffness_of_rigid(motion: EigenProblem, columns: Floats) -> Floats:
    """K D (n_v, k) of rigid motions D (n_v, k), known and of joints, by M and C + G for the known ones."""
    known, forces = [np.zeros((motion.system.n_v, 0))], [np.zeros((motion.system.n_v, 0))]
    for structure in motion.structures:
        moves, force, _ = stiffness_of_known(motion, structure, structure.motions)
        known.append(moves)
        forces.append(force)
    D, KD = np.hstack(known), np.hstack(forces)
    c = np.linalg.lstsq(D, columns, rcond=None)[0] if D.shape[1] else np.zeros((0, columns.shape[1]))
    rest = columns - D @ c
    rest[:, np.linalg.norm(rest, axis=0) <= ROUNDING * np.linalg.norm(columns, axis=0)] = 0.0
    return np.asarray(KD @ c + motion.exact_stiffness(rest))


def _conservative(motion: EigenProblem, rigid: FreeMotions, steady: Ints) -> Floats:
    """(b, k) what the motions B (n_v, b) have of known ones whose momenta nothing changes, and of steady wheels."""
    known = [motion.moves_of(each, each.kept) for each in motion.structures]
    return independent(np.hstack([*(rigid.momenta.T @ each for each in known), rigid.momenta[steady].T]))


def slow_modes(
    motion: EigenProblem, rigid: FreeMotions, states: Floats, lowest: float, steady: Ints, wheels: Ints
) -> SlowModes:
    """The slow modes beside the known states (2 n_v, d); rigid : all rigid motions, those of joints and of wheels.

    lowest : omega^2 of the lowest mode of deformation, rad2/s2. wheels : places of the speeds of all wheels among the
    velocities, steady : of those without friction. Raises SolveError.
    """
    from scipy.linalg import eig

    B, (n, b) = rigid.shapes, rigid.shapes.shape
    none = SlowModes(np.zeros(0, dtype=complex), np.zeros((n, 0), dtype=complex), np.zeros(0), 0, rigid.momenta, 0.0)
    if not b or not states.shape[1]:
        return none
    CB, KB = motion.exact_damping(B), stiffness_of_rigid(motion, B)
    Q = _conservative(motion, rigid, steady)
    # no damper notices these, and what turns them back has a potential: the rest is rounding
    C, K = (Q.T @ B.T @ each @ Q for each in (CB, KB))
    CB = CB - rigid.momenta @ (Q @ (0.5 * (C + C.T)) @ Q.T)
    KB = KB - rigid.momenta @ (Q @ (0.5 * (K - K.T)) @ Q.T)
    C, K = B.T @ CB, B.T @ KB
    scale = max(float(np.linalg.norm(0.5 * (C - C.T), 2)), motion.spin)
    if not ROUNDING * np.linalg.norm(C, 2) < scale < SLOW * np.sqrt(lowest):
        return none
    C, K = C / scale, K / scale**2
    y, z = rigid.momenta.T @ states[:n], rigid.momenta.T @ states[n:] / scale
    known, conserved = independent(np.vstack([y, z])), independent(np.vstack([C.T @ y - z, y]))
    others = nullity(conserved.T).T
    whole = np.hstack([known, others])
    # no equation reads the angle of a wheel
    angles = np.linalg.solve(
        whole, np.vstack([momenta := rigid.momenta[np.setdiff1d(wheels, steady)].T, 0.0 * momenta])
    )
    read = nullity(independent(np.asarray(angles[known.shape[1] :], dtype=np.float64)).T).T
    small = read.T @ others.T @ np.block([[np.zeros((b, b)), np.eye(b)], [-K, -C]]) @ others @ read
    values, left, right = eig(small, left=True)
    # left vectors of the whole matrix have no product with the known states
    left = np.linalg.solve(whole.T, np.vstack([np.zeros((known.shape[1], len(values))), read @ left]))
    right = others @ read @ right
    bending = _Rigid(motion, rigid, CB, KB, Flexibility(motion.without_states(), rigid, lowest))
    # fast friction of wheels is left to the eigenvalue solver
    slow = np.abs(values) * scale < SLOW * np.sqrt(lowest)
    chosen = np.flatnonzero(slow & (values.imag >= -ROUNDING * np.abs(values)))
    chosen = chosen[np.argsort(np.abs(values[chosen]))]
    found = [bending.deformed(scale * values[k], right[:b, k], left[b:, k]) for k in chosen]
    eigenvalues = np.array([value for value, _ in found], dtype=complex)
    shapes = np.array([shape for _, shape in found], dtype=complex).reshape(-1, n).T
    precision = np.full(len(found), max(ROUNDING, float(scale**2 / lowest) ** 2))
    return SlowModes(
        eigenvalues, of_unit_mass(motion, shapes), precision, int(np.sum(slow)), rigid.momenta, SLOW * np.sqrt(lowest)
    )


@dataclass(frozen=True, eq=False)
class _Rigid:
    """Rigid motions B of a problem, (C + G) B and K B (n_v, b), and the flexibility beside them."""

    motion: EigenProblem
    rigid: FreeMotions
    CB: Floats
    KB: Floats
    flexibility: Flexibility

    def deformed(self, value: complex, c: Complex, left: Complex) -> tuple[complex, Complex]:
        """An eigenvalue with deformation, and its shape (n_v,), from that of the rigid motions B c; left: (b,)."""
        motion, B = self.motion, self.rigid.shapes
        (forces, moved), (_, by_left) = self._responses(self.CB, c), self._responses(motion.adjoint_damping(B), left)

        def change(at: complex) -> complex:
            """left^H (lambda^2 + lambda C + K + Delta) c."""
            g, p, p_left = _at(forces, at), _at(moved, at), np.conj(_at(by_left, at.conjugate()))
            inertia = at * motion.momenta(p) + motion.exact_damping(p)
            return complex(np.conj(left) @ (B.T @ g) - p_left @ g + at * (p_left @ inertia))

        for _ in range(STEPS):
            step = DIFFERENCE * value
            value -= 2.0 * step * change(value) / (change(value + step) - change(value - step))
        return value, np.asarray(B @ c - _at(moved, value))

    def _responses(self, CB: Floats, c: Complex) -> tuple[Complex, Complex]:
        """(n_v, 3) forces on B c of 1, lambda and lambda^2, and the deformations by them."""
        forces = np.stack([each @ c for each in (self.KB, CB, self.rigid.momenta)], axis=1)
        return forces, self.flexibility(forces.real) + 1j * self.flexibility(forces.imag)


def _at(parts: Complex, value: complex) -> Complex:
    """(n_v,) of parts (n_v, 3) of 1, lambda and lambda^2."""
    return np.asarray(parts @ np.array([1.0, value, value**2]))


def of_unit_mass(motion: EigenProblem, shapes: Complex) -> Complex:
    """The shapes (n_v, k) with phi^H M phi = 1, and with a real and positive largest entry."""
    largest = shapes[np.argmax(np.abs(shapes), axis=0), np.arange(shapes.shape[1])]
    return np.asarray(shapes * (np.abs(largest) / largest / motion.lengths(shapes)))
