"""Vibrations above a frequency are damped, not followed: the part of an error estimate that controls the steps.

An implicit method damps vibrations that are faster than its steps. Undamped, small ones nevertheless keep the steps
short, because the error estimate sees them as long as the steps resolve them. With ``run.filter``, a frequency f in Hz,
the estimate e of coordinates and velocities passes four times through a step of length 1/mu of the linear equations,

    mu (x - e_q) = H y,    mu M (y - e_v) + C y + K x = 0,    mu = 2 pi f,

which weights the error of an undamped vibration of frequency g by 1/(1 + (g/f)^2)^4, and leaves that of rigid motions.
Source: docs/theory/integration.md, section 9.
"""

from dataclasses import dataclass
from math import pi

import numpy as np

from femb.base.types import ErrorScale, Floats
from femb.steppers.contract import Statistics
from femb.system.linear_solver import Factors, Matrix, Solver

# How often an estimate passes the filter.
PASSES = 4
# Number of components of a position in the groups of an ErrorScale.
POSITION = 3


@dataclass
class FilterStatistics(Statistics):
    """Counts of a run with a filter.

    filter : Hz. kept_error : sum over the steps of the largest local error of a position that the filter kept, m: the
    order of magnitude of the error of the motion, as long as errors do not grow by themselves; zero in coordinates
    without positions.
    """

    filter: float = 0.0
    kept_error: float = 0.0

    def add(self, low_pass: "LowPass") -> None:
        """Count an accepted step."""
        errors = low_pass.kept[low_pass.points]
        self.kept_error += float(np.sqrt(np.max(np.sum(errors**2, axis=1), initial=0.0)))


class LowPass:
    """The filter of a run: its factors; ``kept``, the estimate of q (n_q,) after it in the last step tried; and
    ``points`` (k, 3), the indices of positions in q."""

    def __init__(self, frequency: float, scale_q: ErrorScale) -> None:
        self.mu = 2.0 * pi * frequency
        first, size, _, _ = scale_q
        self.points = first[size == POSITION][:, None] + np.arange(POSITION)
        self.kept: Floats = np.zeros(0)
        self._of: object = None
        self._factors: Factors | None = None

    def factors(self, solver: Solver, matrices: tuple[Matrix, Matrix, Matrix]) -> Factors:
        """Of the step of length 1/mu, formed anew only for new matrices."""
        if self._factors is None or self._of is not matrices:
            self._factors, self._of = solver.factorise(solver.shifted(*matrices, self.mu)), matrices
        return self._factors
