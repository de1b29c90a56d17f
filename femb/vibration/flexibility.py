"""Static solutions of free structures: forces balanced by inertia, motions without rigid parts.

    F_e = A^T K^+ A = sum_j phi_j phi_j^T / omega_j^2,   A = 1 - M D D^T,   D^T M D = 1

over all elastic modes, without computing any. K is singular on the free motions D: the factorised matrix is K + s M
with a small s, and iteration, x = (K + s M)^-1 (f + s M x), removes s.
Source: docs/theory/linearisation.md, equation (20).
"""

import numpy as np

from femb.base.errors import SolveError
from femb.base.types import Floats
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import FreeMotions
from femb.system.block_lu import SingularError

# The shift, as part of the lowest omega^2: each iteration gains three digits.
SHIFT, ITERATIONS, CONVERGED = 1e-3, 30, 1e-14
# Rounding that is left in a solution, in slender structures whose stiffnesses differ by ten powers of ten.
ROUNDED = 1e-5
# Of the work of a force: what rounding may change without exact products.
PRECISE = 1e-10
# Of the response to forces anywhere: less is rounding, of a force that the constraints balance.
BALANCED = 1e-13
SEED = 1


class Flexibility:
    """F_e of what is not held; lowest : omega^2 of the first elastic mode, rad2/s2."""

    def __init__(self, motion: EigenProblem, free: FreeMotions, lowest: float) -> None:
        self.motion, self.free = motion, free
        self.shifted = bool(free.count or motion.system.n_c)
        self.shift = SHIFT * lowest if self.shifted else 0.0
        try:
            self.factors = motion.factorise(motion.stiffness + self.shift * motion.mass)
        except SingularError as error:
            raise SolveError("linear model: the stiffness is singular") from error
        self._squares = motion.stiffness**2
        force = np.random.default_rng(SEED).standard_normal(motion.system.n_v)
        self.typical = float(np.linalg.norm(motion.solve(self.factors, force)) / np.linalg.norm(force))

    def __call__(self, forces: Floats) -> Floats:
        """(n_v, k): F_e times forces (n_v, k). Raises SolveError: a state beyond its buckling load."""
        found = np.zeros_like(forces)
        for k in np.flatnonzero(np.any(forces, axis=0)):
            found[:, k] = self._one(forces[:, k])
        return found

    def _one(self, force: Floats) -> Floats:
        motion, free = self.motion, self.free
        force = np.where(motion.held, 0.0, free.without_force(np.where(motion.held, 0.0, force)))
        x = free.without(motion.solve(self.factors, force))
        if not self.shifted and not self._loses(x, force):
            return x
        product = self._exact if self._loses(x, force) else self._shifted_away
        first, size = x, np.inf
        for _ in range(ITERATIONS):
            step = product(x, force, first)
            previous, size = size, float(np.linalg.norm(step))
            if size >= 0.5 * previous:
                break
            x = x + step
            if size <= CONVERGED * np.linalg.norm(x):
                break
        if size > ROUNDED * np.linalg.norm(x):
            x = self._of_few_slow(first)
            size = float(np.linalg.norm(first + self._shifted(x) - x))
        if size > ROUNDED * np.linalg.norm(x):
            if np.linalg.norm(x) <= BALANCED * self.typical * np.linalg.norm(force):
                return np.zeros_like(x)
            raise SolveError("linear model: the static solution does not converge: the state may be unstable")
        return x

    def _loses(self, x: Floats, force: Floats) -> bool:
        """Whether rounding of the stiffness, at random, is felt in a solution."""
        squares = x * x
        rounding = np.finfo(float).eps * np.sqrt(squares @ self.motion.times(self._squares, squares))
        return bool(rounding > PRECISE * abs(x @ force))

    def _exact(self, x: Floats, force: Floats, first: Floats) -> Floats:
        """The correction of x by an exact product of the stiffness."""
        left = self.free.without_force(force - self.motion.exact_stiffness(x))
        return self.free.without(self.motion.solve(self.factors, left))

    def _shifted_away(self, x: Floats, force: Floats, first: Floats) -> Floats:
        return first + self._shifted(x) - x

    def _shifted(self, x: Floats) -> Floats:
        """(K + s M)^-1 s M x (n_v,), without the free motions."""
        # the mass alone, not the stiffness: products of this would cancel to less than their rounding
        inertia = self.free.without_force(self.shift * self.motion.times(self.motion.mass, x))
        return self.free.without(self.motion.solve(self.factors, inertia))

    def _of_few_slow(self, first: Floats) -> Floats:
        """The solution where few motions have eigenvalues of the size of the shift, as the tilt of a heavy hub."""
        from scipy.sparse.linalg import LinearOperator, gmres

        operator = LinearOperator(
            (len(first), len(first)), matvec=lambda x: x - self._shifted(np.ravel(x)), dtype=np.float64
        )
        return np.asarray(gmres(operator, first, rtol=CONVERGED, restart=ITERATIONS, maxiter=2)[0])

    def largest_of(self, data: Floats) -> float:
        """The largest eigenvalue of F_e times a symmetric matrix that is not negative, given as block data."""
        from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

        n = self.motion.system.n_v

        def product(x: Floats) -> Floats:
            return self._one(self.motion.times(data, np.ascontiguousarray(x.ravel())))

        force = self.motion.times(data, np.random.default_rng(SEED).standard_normal(n))
        start = self._one(force)
        # what acts on motions without stiffness alone moves no others but by rounding
        if np.linalg.norm(start) <= PRECISE * self.typical * np.linalg.norm(force):
            return 0.0
        try:
            values = eigs(
                LinearOperator((n, n), matvec=product, dtype=np.float64),
                k=1,
                v0=start,
                tol=1e-3,
                return_eigenvectors=False,
            )
        except ArpackNoConvergence as error:
            raise SolveError(f"linear model: the damping of the modes left out is not known: {error}") from error
        return float(abs(values[0])) * (1.0 + 1e-2)
