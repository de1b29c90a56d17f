"""An error estimate that passes through a step of the linear equations: fast vibrations are taken out of it."""

from typing import Any

import numpy as np

from femb.base.types import ErrorScale, Floats
from femb.formulations.contract import ImplicitFormulation
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.steppers.step_kernels import finish_filter, force_of_error, start_filter
from femb.steppers.step_program import BoundProduct, BoundSolution
from femb.system.block_lu import Factorisation, Factors, Matrix


class ErrorFilter(BoundSequence):
    """The call that replaces an error by x, y with

        x = error_q + reach H y,    mu M (y - error_v) + C y + K x = 0,

    and returns the norm of these at the start of a step.

    weights (2,) : mu and reach. q (1, n_q), rotations (1, F, 4) : a state of the step, and the rotations of frames to
    it since the matrices were formed. start : q (1, n_q) and v (1, n_v) there. error_q (1, n_q), error_v (1, n) : the
    error, in place, in the first n_v columns. All are arrays whose entries change between the calls.
    """

    def __init__(
        self, form: ImplicitFormulation, scales: tuple[ErrorScale, ErrorScale], weights: Floats, q: Floats,
        rotations: Floats, start: tuple[Floats, Floats], error_q: Floats, error_v: Floats,
    ) -> None:  # fmt: skip
        n = error_v.shape[1]
        (in_q, in_v), products = np.zeros((2, 1, n)), np.empty((2, n))
        self._inertial, self._elastic = BoundProduct(in_v[0], products[0]), BoundProduct(in_q[0], products[1])
        self.solution = BoundSolution(error_v[0])
        coordinates, turning_v, of_error = form.coordinates, form.corotated_frames[1], (error_q, error_v)
        super().__init__(
            [
                Bound(start_filter, *coordinates, turning_v, form.n_v, rotations, q, *of_error, in_q, in_v),
                self._inertial,
                self._elastic,
                Bound(force_of_error, form.n_v, weights, *products, error_v),
                self.solution,
                Bound(finish_filter, *coordinates, turning_v, *scales, weights, q, *start, rotations, *of_error),
            ]
        )

    def of(self, matrices: tuple[Matrix, Matrix, Matrix], solver: Any, factors: Factors) -> None:
        """Take these matrices M, C and K from now on; factors : of their sum, for the kind of the matrices."""
        blocks = type(factors) is Factorisation
        self._inertial.by(matrices[0], solver, blocks)
        self._elastic.by(matrices[2], solver, blocks)
