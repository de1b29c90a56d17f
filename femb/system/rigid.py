"""Explicit steps of rigid bodies, point masses and joints: all stages, and a projection, in one compiled call each."""

from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.types import Floats, Ints, Loop
from femb.elements.body.mass_batch import MassBatch, PointBatch
from femb.layout.element import Batch
from femb.numerics.dop853_kernels import STEPS
from femb.system.block_lu import DEPENDENT, SingularError
from femb.system.constraints import AT_MOST, OPEN, PASSES, SETTLED, VELOCITY, position_limit, singular_mass
from femb.system.rigid_kernels import project, stages
from femb.system.rigid_step_kernels import steps

# Steps to a singular configuration from which on ``femb.analysis.singularity_crossing`` watches every step.
NEAR = 4.0

if TYPE_CHECKING:
    from femb.system.equations import Equations
    from femb.system.numbered_model import NumberedModel


class RigidBodies:
    """The rates and projections of a system whose only forces are inertia, weight and those of constraints.

    Results are those of ``Equations.forward`` and ``femb.system.constraints``, without Python between their parts.
    """

    def __init__(self, system: "NumberedModel") -> None:
        pattern = system.pattern
        self._sizes = system.n_q, system.n_v, system.n_c
        self._parts = _bodies(system.batches), _points(system.batches), _rows(system)
        self._matrix = (*pattern.structure, pattern.targets)
        self._size, self._blocks = pattern.size, len(pattern.diagonal)
        self._still, self._u, self._zero = np.zeros((1, system.n_v)), np.zeros((1, 0)), np.zeros((1, 1))

    @staticmethod
    def of(system: "NumberedModel") -> "RigidBodies | None":
        """None for systems with other elements, or with inputs."""
        bodies = [batch for batch in system.batches if type(batch) is MassBatch]
        weights = {tuple(batch.gravity.tolist()) for batch in bodies}
        alone = all(type(batch) in (MassBatch, PointBatch) for batch in system.batches)
        if not alone or not system.n_v or system.n_u or len(weights) > 1:
            return None
        return RigidBodies(system)

    def stages(self, system: "Equations", A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats) -> Floats:
        """Stages of an explicit step; see ``femb.formulations.contract.WithStages``. Raises TrialError."""
        y = np.empty_like(y0)
        n_q, n_v, _ = self._sizes
        arguments = self._arguments(system)
        bad = stages(*arguments, self._still, self._u, A, first, last, h, n_q, y0, K, y)
        if bad >= 0:
            start = system.pattern.block_start
            error = SingularError(int(start[bad]), int(start[bad + 1]))
            raise singular_mass(system, error, y[:n_q], y[n_q : n_q + n_v]) from error
        return y

    def projected(self, system: "Equations", q: Floats, v: Floats) -> tuple[Floats, Floats] | None:
        """q (n_q,), v (n_v,) on the constraints; None where the iteration fails."""
        q, v = q[None].copy(), v[None].copy()
        closed = project(*self._arguments(system), *self._closing(system), self._u, q, v)
        return (q[0], v[0]) if closed else None

    def steps(self, system: "Equations", loop: Loop) -> Floats | None:
        """Accepted steps of DOP853; see ``femb.formulations.contract.WithSteps``."""
        n_q, _, n_c = self._sizes
        closing = self._closing(system) if n_c else (None, None)
        near = NEAR if system.layout.has_loops and n_c else None
        states = np.empty((len(loop[-1][-1]) if system.has_angles else 0, n_q))
        more = self._u, self._still, n_q, self._zero, near, np.zeros((2, n_c)), states
        steps(*self._arguments(system), *closing, *more, loop)
        return system.angles_along(states[: loop[4][STEPS]]) if system.has_angles else None

    def _closing(self, system: "Equations") -> tuple[Any, ...]:
        """The arrays and limits of projections."""
        n_q, n_v, n_c = self._sizes
        spare = np.zeros((1, n_c)), np.empty((1, n_v)), np.empty((1, n_q))
        return spare, (position_limit(system), VELOCITY, SETTLED, OPEN, AT_MOST, PASSES)

    def _arguments(self, system: "Equations") -> tuple[Any, ...]:
        """The arguments of both kernels up to ``work``."""
        _, n_v, n_c = self._sizes
        n, scale, diagonal = n_v + n_c, np.zeros(0), np.zeros(0)
        if n_c:
            scale, diagonal = np.zeros((2, n))
            scale[n_v:][system.solver.excluded_rows] = -np.inf
        work = (
            np.empty((1, self._size)),
            np.empty(n, dtype=np.int64),
            np.empty(self._blocks, dtype=np.int64),
            diagonal,
            np.empty(n),
            *np.zeros((3, 1, n_c)),
        )
        return (*self._parts, self._matrix, scale, DEPENDENT, system.coordinates, work)


def _bodies(batches: list[Batch]) -> tuple[Any, ...]:
    found = [batch for batch in batches if isinstance(batch, MassBatch)]
    if not found:
        # kernels are compiled once for systems with bodies and without
        index: Ints = np.zeros((0, 0), dtype=np.int64)
        places: Ints = np.zeros((0, 0, 0), dtype=np.int64)
        return index, np.zeros((0, 0)), places, places, np.zeros(3)
    words = ("index", "data", "offset", "stride")
    return (*(np.concatenate([getattr(batch, word) for batch in found]) for word in words), found[0].gravity)


def _points(batches: list[Batch]) -> tuple[Any, ...]:
    found = [batch for batch in batches if isinstance(batch, PointBatch)]
    if not found:
        none: Ints = np.zeros(0, dtype=np.int64)
        return none, np.zeros(0), np.zeros(0), none
    return tuple(
        np.concatenate([getattr(batch, word) for batch in found]) for word in ("in_v", "masses", "weight", "entries")
    )


def _rows(system: "NumberedModel") -> tuple[Any, ...] | None:
    rows = system.constraint_set
    return (rows.index, rows.data, rows.offset, rows.stride, rows.fixed) if system.n_c else None
