"""Systems of rigid bodies and joints alone: the stages of explicit steps, whole steps and projections, compiled.

Source: docs/theory/constraints.md, section 6.
"""

from functools import cached_property
from typing import Any

import numpy as np

from femb.base.types import Floats, Ints, Loop
from femb.elements.body.mass_batch import MassBatch, PointBatch
from femb.elements.joint.primitives import ROW
from femb.numerics.dop853_kernels import STEPS
from femb.system.block_lu import DEPENDENT, SingularError
from femb.system.constraints import AT_MOST, OPEN, PASSES, SETTLED, VELOCITY, position_limit, singular_mass
from femb.system.motion_equations import MotionEquations
from femb.system.planar import kept_unknowns
from femb.system.rigid_kernels import angles, project, stages, steps

NEAR = 4.0  # steps to a singular configuration from which on ``femb.run.singularity`` watches every step


class RigidBodies:
    """The rates and projections of a system whose only forces are inertia, weight and those of constraints: all stages
    of an explicit step, and a projection, in one compiled call each.

    Results are those of ``System.forward`` and ``femb.system.constraints``, without Python between their parts.
    """

    def __init__(self, system: MotionEquations) -> None:
        pattern = system.pattern
        self._sizes = system.n_q, system.n_v, system.n_c
        self.kept = kept_unknowns(system)
        all_rows, kept = _rows(system), self.kept.pattern
        rows = all_rows if all_rows is None else _kept_rows(all_rows, self.kept.rows)
        self._parts = _bodies(system), _points(system), rows
        self._matrix = kept.structure, kept.targets
        self._planes = (self.kept.velocities, self.kept.dropped, self.kept.gather, all_rows)
        self._size, self._blocks = pattern.size, len(kept.diagonal)
        self._u = np.zeros((1, 0))

    @staticmethod
    def of(system: MotionEquations) -> "RigidBodies | None":
        """None for systems with other elements, and for nets."""
        bodies = [batch for batch in system.batches if type(batch) is MassBatch]
        weights = {tuple(batch.gravity.tolist()) for batch in bodies}
        alone = all(type(batch) in (MassBatch, PointBatch) for batch in system.batches)
        if not alone or not system.n_v or len(weights) > 1 or system.pattern.net:
            return None
        return RigidBodies(system)

    def stages(
        self, system: MotionEquations, A: Floats, first: int, last: int, h: float, y0: Floats, K: Floats
    ) -> Floats:
        """Stages of an explicit step; see ``femb.formulations.contract.WithStages``. Raises TrialError."""
        y = np.empty_like(y0)
        n_q, n_v, _ = self._sizes
        bad = stages(*self._arguments(system), self._u, A, first, last, h, y0, K, y)
        self._check(system, bad, y[:n_q], y[n_q : n_q + n_v])
        return y

    def _check(self, system: MotionEquations, bad: int, q: Floats, v: Floats) -> None:
        """Raise TrialError for a singular block of the kept unknowns."""
        if bad >= 0:
            unknowns = self.kept.unknowns[slice(*self.kept.pattern.block_start[bad : bad + 2])]
            error = SingularError(int(unknowns[0]), int(unknowns[-1]) + 1)
            raise singular_mass(system, error, q, v) from error

    def angles(self, system: MotionEquations, q: Floats, v: Floats) -> Floats:
        """The angles (n_c,) of the rows of constraints to the span of the others at a state, as sines: zero of
        dependent rows, one of those that planes leave out. Raises TrialError."""
        found, kept = np.ones(self._sizes[2]), np.empty(len(self.kept.rows))
        self._check(system, angles(*self._arguments(system), self._u, q[None], v[None], kept), q, v)
        found[self.kept.rows] = kept
        return found

    def projected(self, system: MotionEquations, q: Floats, v: Floats, again: int = 0) -> tuple[Floats, Floats] | None:
        """q (n_q,), v (n_v,) on the constraints; None where the iteration fails.

        again : corrections after the one that would be the last, since accelerations amplify the gaps that it leaves.
        """
        q, v = q[None].copy(), v[None].copy()
        closed = project(*self._arguments(system), *self._closing(system, again), self._u, q, v)
        return (q[0], v[0]) if closed else None

    def steps(self, system: MotionEquations, loop: Loop, states: bool) -> Floats:
        """Accepted steps of DOP853; see ``femb.formulations.contract.WithSteps``. states : whether the coordinates at
        their ends (s, n_q) are wanted, else there are none."""
        n_q, _, n_c = self._sizes
        closing = self._closing(system) if n_c else (None, None)
        near = float(NEAR) if system.layout.has_loops and n_c else 0.0
        ends = np.empty((len(loop[-1][-1]) if states else 0, n_q))
        more = self._u, near, np.zeros((2, len(self.kept.rows))), ends
        steps(*self._arguments(system), *closing, *more, loop)
        return ends[: loop[4][STEPS]] if states else ends

    def _closing(self, system: MotionEquations, again: int = 0) -> tuple[Any, ...]:
        """The arrays and limits of projections."""
        n_q, _, n_c = self._sizes
        spare = np.zeros((1, n_c)), np.empty((1, n_q)), tuple(np.zeros((3, 1, n_c)))
        return spare, (position_limit(system), VELOCITY, SETTLED, OPEN, AT_MOST, PASSES, again)

    def _arguments(self, system: MotionEquations) -> tuple[Any, ...]:
        """The arguments of the kernels up to ``algebra``."""
        scale = np.zeros(0)
        if self._sizes[2]:
            scale = np.zeros(len(self.kept.velocities) + len(self.kept.rows))
            scale[len(self.kept.velocities) :][system.solver.excluded_rows[self.kept.rows]] = -np.inf
        return *self._parts, (self._matrix, self._planes, scale, DEPENDENT, system.coordinates, self._work)

    @cached_property
    def _work(self) -> tuple[Any, ...]:
        """The work arrays of the kernels, which large models would wait for in every call."""
        kept = self.kept
        n_r = len(kept.rows)
        n, data = len(kept.velocities) + n_r, np.zeros((1, self._size))
        return (
            data,
            np.empty(n, dtype=np.int64),
            np.empty(self._blocks, dtype=np.int64),
            np.zeros(n if n_r else 0),
            np.empty(n),
            *np.zeros((3, 1, n_r)),
            *np.zeros((2, 1, self._sizes[1])),
            np.empty(len(kept.gather)) if len(kept.gather) else data[0],
        )


def _kept_rows(rows: tuple[Any, ...], kept: Ints) -> tuple[Any, ...]:
    """The rows whose multipliers are kept, with their numbers among these."""
    index, *arrays, fixed = rows
    number = np.full(len(index), -1)
    number[kept] = np.arange(len(kept))
    stay = number[index[:, ROW]] >= 0
    index = index[stay]
    index[:, ROW] = number[index[:, ROW]]
    return index, *(array[stay] for array in arrays), fixed


def _bodies(system: MotionEquations) -> tuple[Any, ...]:
    found = [batch for batch in system.batches if isinstance(batch, MassBatch)]
    if not found:
        # kernels are compiled once for systems with bodies and without
        index: Ints = np.zeros((0, 0), dtype=np.int64)
        places: Ints = np.zeros((0, 0, 0), dtype=np.int64)
        return index, np.zeros((0, 0)), places, places, np.zeros(3)
    index, data, starts = (
        np.concatenate([getattr(batch, word) for batch in found]) for word in ("index", "data", "starts")
    )
    return index, data, *system.pattern.offsets(starts), found[0].gravity


def _points(system: MotionEquations) -> tuple[Any, ...]:
    """Indices of the three velocities of every point mass, their masses and weights, and their diagonal entries."""
    parts: list[tuple[Any, ...]] = []
    for batch in system.batches:
        if isinstance(batch, PointBatch):
            (term,), three, masses = batch.masses(), np.arange(3), np.repeat(batch.data, 3)
            offset, stride = (part[:, 0] for part in system.pattern.offsets(term.starts))
            places, entries = (term.starts + three).ravel(), (offset + (stride + 1) * three).ravel()
            parts.append((places, masses, masses * np.tile(batch.gravity, len(term.starts)), entries))
    none: Ints = np.zeros(0, dtype=np.int64)
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True)) or (none, np.zeros(0), np.zeros(0), none)


def _rows(system: MotionEquations) -> tuple[Any, ...] | None:
    rows = system.constraint_set
    return (rows.index, rows.data, rows.offset, rows.stride, rows.fixed) if system.n_c else None
