"""Bilinear forms of the matrices of a state, element by element.

    f_e = z_e.(l^2 M_e + l C_e + K_e) x_e

Where an element resists no motion as a rigid body, that of its first frame is taken off both vectors, so that nothing
large cancels. The last number of each element is a form with a fixed arbitrary vector: it tells which parameter changes
the element.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from femb.base.types import Complexes, Floats, Ints
from femb.small_motions.eigenproblem import EigenProblem
from femb.system.pattern import Pattern

# Of the products of a matrix and rigid motions: less is none.
RIGID = 1e-12


def element_forms(
    motion: EigenProblem, value: complex, left: Complexes, right: Complexes, damped: bool
) -> list[Complexes]:
    """(e, r r + 1) of each class of elements: forms of vectors left and right (n_v, r), along inertial axes."""
    system, found = motion.system, list[Complexes]()
    arbitrary = np.random.default_rng(0).standard_normal((len(right), 1))
    vectors = (left, right), (arbitrary, arbitrary)
    rigid = system.rigid_velocities(motion.q).T
    for places, mass in system.evaluation.element_masses(motion.q):
        found.append(_forms(mass, places, vectors, value**2))
    state = motion.u, motion.q, motion.v, motion.a
    for places, damping, stiffness in system.evaluation.element_tangents(*state, sizes_in(system.pattern)):
        for matrices, by in ((stiffness, 1.0), (damping, value)) if damped else ((stiffness, 1.0),):
            found.append(_forms(matrices, places, vectors, by, rigid))
    return found


def element_mass(motion: EigenProblem) -> list[Complexes]:
    """(e, 2) : the masses of elements, and the form that tells them."""
    along = motion.system.rigid_velocities(motion.q)[:1].T
    arbitrary = np.random.default_rng(0).standard_normal(along.shape)
    masses = motion.system.evaluation.element_masses(motion.q)
    return [_forms(mass, places, ((along, along), (arbitrary, arbitrary)), 1.0) for places, mass in masses]


def sizes_in(pattern: Pattern) -> Callable[[Ints], tuple[int, ...]]:
    """The numbers of velocities of groups (e, groups) that begin at these, up to the ends of their blocks."""

    def sizes(starts: Ints) -> tuple[int, ...]:
        block = pattern.block_of[starts * (starts >= 0)]
        left = pattern.sizes[block] - (starts - pattern.block_start[block])
        return tuple(np.max(np.where(starts >= 0, left, 1), axis=0, initial=1).tolist())

    return sizes


def _forms(
    matrices: Floats, places: Ints, vectors: tuple[tuple[NDArray[Any], NDArray[Any]], ...], by: complex,
    rigid: Floats | None = None,
) -> Complexes:  # fmt: skip
    """(e, .) the forms of matrices (e, g, g) with pairs of vectors, all of these one after the other."""
    columns = []
    moves = None if rigid is None else _of_elements(rigid, places)
    for left, right in vectors:
        z, x = (_of_elements(each, places) for each in (left, right))
        if moves is not None:
            z, x = _relative(matrices, moves, places, z, x)
        # a size of -1 is not known where there are no elements
        forms = np.einsum("eir,eis->ers", z, matrices @ x)
        columns.append(by * forms.reshape(len(z), forms.shape[1] * forms.shape[2]))
    return np.concatenate(columns, axis=1).astype(complex)


def _of_elements(x: NDArray[Any], places: Ints) -> NDArray[Any]:
    """(e, g, r) of x (n_v, r), zero where an element is fixed, or has no velocity: groups may be too long."""
    there = (places >= 0) & (places < len(x))
    return np.where(there[..., None], x[places * there], 0.0)


def _relative(matrices: Floats, rigid: Floats, places: Ints, z: Complexes, x: Complexes) -> tuple[Complexes, Complexes]:
    """z and x without the motion of the first frame, for elements (e,) of frames that nothing fixes."""
    if places.shape[1] % 6 or places.shape[1] == 6:
        return z, x
    free = np.all(places >= 0, axis=1)
    for product in (matrices @ rigid, np.swapaxes(matrices, 1, 2) @ rigid):
        terms = np.abs(matrices).max(axis=(1, 2)) * np.abs(rigid).max(axis=(1, 2))
        free &= np.abs(product).max(axis=(1, 2)) <= RIGID * terms * places.shape[1]
    motions = rigid[free]
    inverse = np.linalg.inv(motions[:, :6])
    moved = []
    for each in (z, x):
        own = each.copy()
        own[free] -= motions @ (inverse @ each[free, :6])
        moved.append(own)
    return moved[0], moved[1]
