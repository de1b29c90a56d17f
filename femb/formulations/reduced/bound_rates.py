"""The rate of one state of the reduced form at given arrays, by kernels that one call makes one after the other."""

from collections.abc import Callable
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints
from femb.formulations.joint_tree_kernels import sweep
from femb.formulations.reduced.null_space import apply_H2, apply_H2_T, composite, fill, product, pulled_rows
from femb.layout.element import TrialError
from femb.numerics.block_kernels import clear
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.numerics.compiler.compile import kernel_with_entry
from femb.system.bound_equations import right_side, set_rates

NO_MASS = (
    "the reduced mass matrix is singular: a direction without mass, or rows that depend, which 'velocity' leaves out"
)


@kernel_with_entry
def solve_positive(A: Floats, x: Floats) -> int:
    """Solve in place for x (n,) by a positive definite A (n, n), of which the upper half is overwritten.

    Returns the number of a pivot that is not positive, or -1.
    """
    n = x.size
    for k in range(n):
        if not A[k, k] > 0.0:
            return k
        for i in range(k + 1, n):
            factor = A[k, i] / A[k, k]
            if factor != 0.0:
                for j in range(i, n):
                    A[i, j] -= factor * A[k, j]
                x[i] -= factor * x[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= A[k, j] * x[j]
        x[k] /= A[k, k]
    return -1


@kernel_with_entry
def scatter(source: Floats, first: int, places: Ints, out: Floats) -> None:
    """Set the entries of out (m,) at these places to those of source (n,) from the first one on."""
    for k in range(places.size):
        out[places[k]] = source[first + k]


@kernel_with_entry
def collect(source: Floats, places: Ints, first: int, out: Floats) -> None:
    """Set the entries of out (m,) from the first one on to those of source (n,) at these places, one beyond it."""
    for k in range(places.size):
        out[first + k] = source[places[k]] if places[k] < source.size else 1.0


@kernel_with_entry
def set_angles(places: Ints, q: Floats, u: Floats) -> None:
    """Set inputs u (n_u,) to coordinates in q (n_q,); places (k, 2) in q and in u."""
    for k in range(places.shape[0]):
        u[places[k, 1]] = q[places[k, 0]]


@kernel_with_entry
def masses_of_frames(data: Floats, offsets: Ints, M: Floats) -> None:
    """M (n, 6, 6) from block data (m,), zero at offsets (n, 6, 6) beyond it."""
    for k in range(M.shape[0]):
        for i in range(6):
            for j in range(6):
                M[k, i, j] = data[offsets[k, i, j]] if offsets[k, i, j] < data.size else 0.0


def defined(pivot: int | None) -> None:
    """Raise TrialError for a pivot that is not positive."""
    if pivot is not None and pivot >= 0:
        raise TrialError(NO_MASS)


class ReducedRates(BoundSequence):
    """The rate of a state y = (q, v, work) (n,) with inputs u (1, n_u), arrays whose entries change between the calls;
    of a form with a dense mass, without retained rows and couplings. Each overwrites ``rate`` (n,).

    form : the ``ReducedForm``. state : q (n_q,) and v (n_v,) in y. Raises TrialError.
    """

    def __init__(self, form: Any) -> None:
        self._form, system, tree = form, form.system, form.tree
        n_q, n_v, n, sizes = form.n_q, form.n_v, system.n_v, (form.n_q, form.n_q + form.n_v)
        self.u = np.zeros((1, system.n_u))
        self.y, self.rate = np.zeros((2, n_q + n_v + system.budget.size))
        q, v, _ = np.split(self.y[None], sizes, axis=1)
        self.state: tuple[Floats, Floats] = q[0], v[0]
        parts = np.split(self.rate[None], sizes, axis=1)
        Q, (V, A, force) = np.zeros((1, system.n_q)), np.zeros((3, 1, n))
        T, T1, B, B1 = frames = np.zeros((4, 1, len(tree.frames), 6, 6))
        still, pulled, x = np.zeros((1, n_v)), np.zeros((1, n_v)), np.zeros(n_v)
        data, mass, work = np.zeros((1, system.pattern.size)), np.zeros((n_v, n_v)), parts[2]
        (from_q, from_v), (to_q, to_v) = tree.internal, tree.internal_index
        calls: list[Callable[[], object]] = [
            Bound(set_angles, self._angles(), q[0], self.u[0]),
            *(Bound(clear, each) for each in (force, data, mass)),
            Bound(sweep, tree.index, tree.data, tree.fixed, q, v, Q, V, *frames),
            Bound(scatter, q[0], from_q.start, to_q, Q[0]),
            Bound(scatter, v[0], from_v.start, to_v, V[0]),
            Bound(apply_H2, tree.index, T, T1, B, B1, V, v, still, A),
            *system.evaluation.force_calls(self.u, Q, V, A, force),
            Bound(apply_H2_T, tree.index, T, B, force, pulled),
            Bound(collect, force[0], to_v, from_v.start, pulled[0]),
            Bound(right_side, pulled, np.zeros((1, 0)), x),
            *system.evaluation.mass_calls(Q, data),
            *self._mass_calls([each[0] for each in frames], data[0], mass),
            Bound(solve_positive, mass, x, check=defined),
            Bound(set_rates, form.coordinates, q, v, x, *parts[:2]),
            system.budget.bound_rates(system, self.u, Q, V, np.zeros((1, system.n_c)), work),
        ]
        super().__init__(calls)

    def _angles(self) -> Ints:
        """The places in q and in u (k, 2) of coordinates of joints that inputs read."""
        index, places = self._form.tree.coordinate_index, list[tuple[int, int]]()
        for input_, part in self._form.system.inputs.parts:
            places += [(int(index[number]), part.start + k) for k, number in enumerate(input_.joints or ())]
        return np.array([each for each in places if each[0] >= 0], dtype=np.int64).reshape(-1, 2)

    def _mass_calls(self, frames: list[Floats], data: Floats, out: Floats) -> list[Bound]:
        """The calls that set out (n_v, n_v), zero on entry, to H2^T M H2, of T, T', B, B' (n, 6, 6) and block data."""
        form, index = self._form, self._form.tree.index
        if form.mass_offsets is not None:
            M = np.empty(form.mass_offsets.shape)
            return [
                Bound(masses_of_frames, data, form.mass_offsets, M),
                Bound(composite, index, frames[0], frames[2], M, out),
            ]
        null_space, (numbers, places) = form.null_space, form.mass_entries
        H, H1 = np.empty((2, null_space.size))
        order, columns, first = null_space.structure
        ordered, entries, by_row = np.empty(len(order)), np.empty(len(numbers)), np.zeros((form.system.n_v, len(out)))
        return [
            Bound(clear, by_row),
            Bound(fill, index, null_space.start, null_space.width, *frames, H, H1),
            Bound(collect, H, order, 0, ordered),
            Bound(collect, data, numbers, 0, entries),
            Bound(product, *places, entries, first, columns, ordered, by_row),
            Bound(pulled_rows, first, columns, ordered, by_row, out),
        ]

    @staticmethod
    def serves(form: Any) -> bool:
        """Whether a form has a dense mass, and neither retained rows, couplings, nor velocities in body axes."""
        return form.dense and not (form.n_c or form.independent or form.body_roots)

    def is_of(self, form: Any) -> bool:
        """Whether these are the rates of another discrete state of the same form too."""
        own, system = self._form, form.system
        same = own.system.evaluation is system.evaluation and own.tree is getattr(form, "tree", None)
        return same and not form.n_c
