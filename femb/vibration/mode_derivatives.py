"""Derivatives of eigenvalues of small motions by a parameter, simple or in groups, real, damped or gyroscopic.

With B = l^2 M + l C + K, the right and left vectors x and z of an eigenvalue l and their reactions,

    B x + J^T m = 0,    B^T z + J^T n = 0,    J x = J z = 0
    l' = -[z.(l^2 M' + l C' + K') x + m.J' z + n.J' x] / z.(2 l M + C) x

and of a group of close eigenvalues the eigenvalues of the matrix of these numbers. The primes are those of the whole
matrices, about the state of each value of the parameter. Sources: R. L. Fox, M. P. Kapoor, AIAA J. 6 (1968) 2426; R. L.
Dailey, AIAA J. 27 (1989) 486.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Complexes
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.element_forms import element_forms
from femb.vibration.solution import Solution

if TYPE_CHECKING:
    from scipy.sparse import csc_array

# Relative distance of eigenvalues that are one group.
CLOSE = 1e-3
# Of the terms of z.(2 l M + C) x: less is a defective eigenvalue, which has no derivative.
DEFECTIVE = 1e-6
# The shift of inverse iteration, relative to the eigenvalue, by which left vectors are off, and its steps.
SHIFT, STEPS = 1e-13, 3


@dataclass(frozen=True, eq=False)
class ModeForm:
    """The bilinear form of a group of r modes of a state, of which number ``own`` is meant.

    value : the mean eigenvalue, 1/s. right, left (n_v, r) : vectors. reactions, of_left (n_c, r) : theirs. scale (r, r)
    : z.(2 l M + C) x. damped : whether forces of velocities count. axes (n_v, n_v) : those along which the vectors are.
    """

    value: complex
    own: int
    right: Complexes
    left: Complexes
    reactions: Complexes
    of_left: Complexes
    scale: Complexes
    damped: bool
    axes: "csc_array | None"

    @classmethod
    def of(cls, modes: Solution, number: int) -> "ModeForm":
        """The form of a mode by its number from 0. Raises ModelError: its eigenvalue is defective, or zero."""
        motion, values = modes.motion, modes.eigenvalues
        if not abs(values[number]):
            raise ModelError("modes: an eigenvalue of zero has no derivative")
        group = np.flatnonzero(np.abs(values - values[number]) <= CLOSE * abs(values[number]))
        value, damped = complex(np.mean(values[group])), modes.rigid_states is not None
        X = modes.shapes[:, group].astype(complex)
        reactions = _reactions(motion, _product(motion, value, X, damped))
        Z, of_left = X, reactions
        if damped and not _symmetric(motion):
            Z, of_left = _left(motion, value, len(group))
        terms = _momenta(motion, X, 2.0 * value), _complex(motion.exact_damping, X) if damped else 0.0 * X
        scale = Z.T @ (terms[0] + terms[1])
        sizes = sum(np.abs(Z).T @ np.abs(term) for term in terms)
        if np.linalg.svd(scale / np.max(sizes), compute_uv=False)[-1] < DEFECTIVE:
            raise ModelError(
                f"modes: the eigenvalue {value:.6g} 1/s is defective, as at critical damping, and has no derivative"
            )
        return cls(value, int(np.flatnonzero(group == number)[0]), X, Z, reactions, of_left, scale, damped, motion.axes)

    def numbers(self, motion: EigenProblem) -> Complexes:
        """(r r,) the form with the matrices of another state, along the same or along inertial axes.

        Raises ModelError: one of other unknowns.
        """
        if motion.system.n_v != len(self.right) or motion.system.n_c != len(self.reactions):
            raise ModelError("modes: the numbers of unknowns differ beside the value")
        left, right = self._along(motion)
        form = left.T @ _product(motion, self.value, right, self.damped)
        form = form + _gaps(motion, left).T @ self.reactions + self.of_left.T @ _gaps(motion, right)
        return np.asarray(form).ravel()

    def of_elements(self, motion: EigenProblem) -> list[Complexes]:
        """(e, r r + 1) the form element by element, as ``element_forms`` has it, where rows of constraints are the
        same."""
        return element_forms(motion, self.value, *self._along(motion), self.damped)

    def _along(self, motion: EigenProblem) -> tuple[Complexes, Complexes]:
        """The left and right vectors along the axes of another state, its own or inertial ones."""
        if self.axes is None or motion.axes is not None:
            return self.left, self.right
        return np.asarray(self.axes @ self.left), np.asarray(self.axes @ self.right)

    def derivative(self, changes: Complexes) -> complex:
        """l' (1/s by the parameter's unit) of the mode by changes (r r,) of the form; in a group in the order of the
        frequencies behind the value."""
        if self.scale.size == 1:
            return complex(-changes[0] / self.scale[0, 0])
        matrix = -np.linalg.solve(self.scale, changes.reshape(self.scale.shape))
        found = np.linalg.eigvals(matrix)
        along = np.conj(self.value) / abs(self.value)
        return complex(found[np.argsort((along * found).real, kind="stable")][self.own])


def _parts(of: "np.ndarray[tuple[int, ...], np.dtype[np.complex128]]") -> tuple[Complexes, Complexes]:
    return np.ascontiguousarray(of.real), np.ascontiguousarray(of.imag)


def _complex(product: Callable[[Any], Any], x: Complexes) -> Complexes:
    """A real linear function of x, whose imaginary part may be zero."""
    real, imaginary = _parts(x)
    found = product(real) + (1j * product(imaginary) if imaginary.any() else 0j)
    return np.asarray(found)


def _momenta(motion: EigenProblem, x: Complexes, factor: complex) -> Complexes:
    return np.asarray(factor * motion.of_moving(motion.momenta(motion.of_moving(x))))


def _gaps(motion: EigenProblem, x: Complexes) -> Complexes:
    if not motion.jacobian.any():
        return np.zeros((motion.system.n_c, x.shape[1]), dtype=complex)
    return _complex(motion.gaps, motion.of_moving(x))


def _product(motion: EigenProblem, value: complex, x: Complexes, damped: bool) -> Complexes:
    """B x (n_v, r), by products in which nothing large cancels."""
    found = _complex(motion.exact_stiffness, x) + _momenta(motion, x, value**2)
    if not damped:
        return np.asarray(found)
    low = motion.low_rank
    if low.rank:
        found = found + motion.of_moving(low.left @ (low.stiffness.T @ motion.of_moving(x)))
    return np.asarray(found + value * _complex(motion.exact_damping, x))


def _reactions(motion: EigenProblem, forces: Complexes) -> Complexes:
    """(n_c, r): m of B x + J^T m = 0 for forces B x (n_v, r)."""
    n, count = motion.system.n_v, motion.system.n_c
    if not count:
        return np.zeros((0, forces.shape[1]), dtype=complex)
    right = np.vstack([motion.of_moving(forces), np.zeros((count, forces.shape[1]))])
    real, imaginary = (motion.balance.solve_columns(part) for part in _parts(right))  # type: ignore[arg-type]
    return np.asarray(-(real + 1j * imaginary)[n:])


def _symmetric(motion: EigenProblem) -> bool:
    """Whether the matrices are symmetric to rounding: left vectors are then right ones."""
    transposed, low = motion.system.pattern.transposed, motion.low_rank
    of = [motion.damping, motion.stiffness]
    if any(np.any(np.abs(data - data[transposed]) > 1e-13 * np.max(np.abs(data), initial=0.0)) for data in of):
        return False
    return not low.rank or (not np.any(low.left @ low.damping.T - low.damping @ low.left.T) and not low.stiffness.any())


def _left(motion: EigenProblem, value: complex, count: int) -> tuple[Complexes, Complexes]:
    """z (n_v, r) and n (n_c, r) of a group of an eigenvalue, by inverse iteration."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    shifted, n = value * (1.0 + SHIFT), motion.system.n_v
    data = (shifted**2 * motion.mass + shifted * motion.damping + motion.stiffness).astype(complex) + motion.jacobian
    on_held, diagonal = motion.on_held
    data[on_held] = 0.0
    data[diagonal] = 1.0
    matrix = csc_array(motion.system.pattern.to_csc(data.real) + 1j * motion.system.pattern.to_csc(data.imag))
    low = motion.low_rank
    if low.rank:
        left, right = (motion.of_moving(part) for part in (low.left, shifted * low.damping + low.stiffness))
        whole = [np.vstack([part, np.zeros((motion.system.n_c, low.rank))]) for part in (left, right)]
        matrix = csc_array(matrix + csc_array(whole[0]) @ csc_array(whole[1]).T)
    factors = splu(matrix.tocsc())
    z = np.random.default_rng(0).standard_normal((matrix.shape[0], count)).astype(complex)
    z[np.append(motion.held, np.zeros(motion.system.n_c, dtype=bool))] = 0.0
    for _ in range(STEPS):
        z = np.linalg.qr(factors.solve(z, trans="T"))[0]
    return np.asarray(z[:n]), np.asarray(z[n:])
