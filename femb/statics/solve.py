"""Statics with joints, drivers and latches: the state in which forces, reactions and constraints are in balance.

    f(q, p) + J^T lambda = 0,    Phi(q, p) = 0,    [K + S, J^T; J, 0] [delta; change of lambda] = -[f + J^T lambda; Phi]

f are the forces at given velocities and accelerations (zero at rest) and load factor p, K their exact tangent with that
of the reactions. S keeps the matrix regular, and changes no solution (femb.statics.equations). Beams take part in
K with strains of their own, which Newton's iteration advances beside the coordinates.
Source: docs/theory/statics.md, equations (1) to (5).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from femb.base.errors import SolveError
from femb.base.options import Tolerances
from femb.base.types import ErrorScale, Floats
from femb.layout.element import TrialError
from femb.numerics.kinematics import error_norm
from femb.numerics.newton import LARGEST_ROTATION, Iteration, largest, newton
from femb.statics.equations import OF_STRAINS, Regularisation, StaticEquations, Unbalanced, mover
from femb.statics.neutral import NeutralMotions
from femb.system.block_lu import SingularError

QUICKLY = 1e-2  # ratio of the last two steps of an iteration that ends with the next one
GAP = 1e-9  # of the rows of constraints of an equilibrium, by displacements of the extent and rotations of one
LOOSE = 1e-6  # of the forces: what an equilibrium that was found with a shift may leave unbalanced
ROUNDING = 16.0 * np.finfo(float).eps  # of positions, in forces by the stiffness


class Inverse(Protocol):
    """The inverse of a matrix, by its factors."""

    def solve(self, right: Floats) -> Floats:
        """The solution by a right side."""
        ...


# Factors of a stiffness, and the weights (n_c,) of J^T J in it.
KnownFactors = tuple[Inverse, Floats]


@dataclass(frozen=True, eq=False)
class Balanced:
    """A state in balance: q (n_q,), the forces f (n_v,) there without reactions, the multipliers (n_c,), the load
    factor, and after how many corrections it was found."""

    q: Floats
    force: Floats
    multipliers: Floats
    load: float = 0.0
    iterations: int = 0


@dataclass(frozen=True, eq=False)
class Trial:
    """A state of the iteration: coordinates, multipliers, own strains by batch, load factor, and what the step lacks of
    its length where the load factor is an unknown."""

    q: Floats
    multipliers: Floats
    own: list[Floats]
    load: float
    gap: float = 0.0


class Statics(StaticEquations):
    """The static equations, and Newton's iteration on them."""

    def trial(self, start: Balanced, load: float, gap: float = 0.0) -> Trial:
        """The start of an iteration: own strains are those of the coordinates."""
        still = np.zeros(self.twin.n_v)
        u = self.inputs(start.q, still, start.load)
        none = np.zeros(0)
        own = [none for _ in self.twin.batches]
        for k, batch in self.twin.strained_batches.items():
            own[k] = batch.own_strains(u, start.q, still)
        return Trial(start.q, start.multipliers, own, load, gap)

    def solve(
        self,
        start: Balanced,
        load: float,
        regularisation: Regularisation,
        normal: Any = None,
        gap: float = 0.0,
        neutral: NeutralMotions | None = None,
        factors: KnownFactors | None = None,
    ) -> Balanced:
        """The balance at a load factor, from the state of another; or, with the plane ``normal`` to which the distance
        is ``gap``, with the load factor as an unknown that begins at ``load``.

        neutral : motions of the start that do not change where it is in balance: they are held, without a force.
        factors : of the stiffness of the start, where they are known, and the weights of J^T J in it; the iteration
        begins with them.
        Raises SolveError where the iteration does not end, with the reason that the regularisation gives.
        """
        steps = Correction(self, regularisation, normal, neutral, factors)
        limits = [batch.largest_rotation for batch in self.twin.strained_batches.values()]
        try:
            end = newton(
                self.trial(start, load, gap),
                lambda x: self.unbalanced(x.q, x.multipliers, x.load, x.own),
                steps.of,
                steps.moved,
                regularisation.settled,
                iterations=regularisation.iterations,
                step_size=steps.size,
                rotations=self.twin.rotations,
                largest_rotation=min(limits, default=LARGEST_ROTATION),
            )
        except TrialError as error:
            raise SolveError(f"no equilibrium found to start from: {error}") from error
        except SingularError as error:
            raise SolveError(f"no equilibrium found to start from: {self._singular(error)}") from error
        if not end.converged:
            reason = regularisation.reason(end.size, mover(self.twin.layout, steps.last))
            raise SolveError(f"no equilibrium found to start from{reason}")
        found = Balanced(end.x.q, end.residual.force, end.x.multipliers, end.x.load, end.count)
        if neutral is not None:
            given = largest(self.unbalanced(start.q, start.multipliers, load).equations[: self.twin.n_v])
            if not self.in_balance(found, given, neutral):
                raise SolveError("no equilibrium found to start from: what turns freely at the start no longer does")
        return found

    def factors(
        self, x: Trial, at: Unbalanced, regularisation: Regularisation, neutral: NeutralMotions | None
    ) -> KnownFactors:
        """Factors of the stiffness at a trial, with what the regularisation adds and with neutral motions held."""
        twin = self.twin
        stiffness, jacobian = self.matrices(at.state, x.q, x.multipliers, at.system)
        weight = np.zeros(twin.n_c)
        if regularisation.augmented and twin.n_c:
            # more than what softens a heavy body in a rotation
            weight = 4.0 * self.scales(stiffness, jacobian)[1]
            stiffness += self.products(at.state[0], x.q, weight)
        shift = regularisation.added(twin.pattern, partial(twin.mass_data, x.q), stiffness)
        matrix = stiffness + shift + jacobian
        return twin.solver.factorise(matrix if neutral is None else neutral.holding(matrix)), weight

    @cached_property
    def scale(self) -> ErrorScale:
        """The tolerances of a step, which depend on the layout alone."""
        return self.twin.error_scale(1e-12, Tolerances(1e-12, 1e-12, 1e-13))[0]

    def in_balance(self, found: Balanced, given: float = 0.0, neutral: NeutralMotions | None = None) -> bool:
        """Whether no force and no gap is left of the equations that a state solves, also along what was held.

        given : the largest force that was left at its start. neutral : motions that were held; forces along those that
        are kept may be left.
        """
        equations = self.unbalanced(found.q, found.multipliers, found.load).equations
        left = equations[: self.twin.n_v]
        jacobian = np.zeros(self.twin.pattern.size)
        self.twin.constraint_set.jacobian(self.state(found.q, found.load)[0], found.q, jacobian)
        if largest(equations[self.twin.n_v :] / self.row_sizes(jacobian)) > GAP:
            return False
        shapes = neutral.shapes[:, : -neutral.kept].T if neutral is not None and neutral.kept else None
        left = left if shapes is None else shapes @ left
        allowed = LOOSE * (given + largest(found.force) + largest(self.by_load(found.q, found.load)))
        if largest(left) <= allowed:
            return True
        rounding = self.rounding(found) if shapes is None else np.abs(shapes) @ self.rounding(found)
        return bool(np.all(np.abs(left) <= allowed + rounding))

    def rounding(self, found: Balanced) -> Floats:
        """(n_v,) what rounding of positions may leave of the forces of a state: by stiff members, more than slow
        rotations take."""
        state, system = self.state(found.q, found.load), self.under(found.load)
        stiffness = self.twin.pattern.to_csc(self.matrices(state, found.q, found.multipliers, system)[0])
        sizes = np.where(self.weights > OF_STRAINS, 1.0 / np.sqrt(self.weights), 0.0)
        result: Floats = ROUNDING * (abs(stiffness)[: len(sizes), : len(sizes)] @ sizes)
        return result

    def _singular(self, error: SingularError) -> str:
        """The meaning of a singular matrix, by the frame that it concerns."""
        frames = zip(self.twin.layout.frames, self.twin.layout.frame_v, strict=True)
        moving = [frame.label for frame, j in frames if frame.freedom and error.first <= j < error.last]
        return f"the stiffness is singular, {moving[0]!r} moves with nothing against it" if moving else str(error)


def in_load_steps(
    solved: Callable[[Balanced, float], Balanced], start: Balanced, last: float, part: float, smallest: float,
    value: Callable[[Floats], float] | None = None,
) -> Balanced:  # fmt: skip
    """The balance at the load factor ``last``, from that of a start, in steps: halved where ``solved`` fails, else
    doubled; the first, and the smallest, are parts of the whole. Raises its SolveError where they do not suffice.

    value : what to raise to ``last`` instead of the load factor, by the state q (n_q,).
    """
    found, at = start, start.load if value is None else value(start.q)
    whole = last - at
    while at != last:
        ends_there = abs(last - at) <= abs(part * whole) * (1.0 + 1e-9)
        to = last if ends_there else at + part * whole
        try:
            found = solved(found, to)
        except SolveError:
            part *= 0.5
            if part < smallest:
                raise
            continue
        at, part = to, 2.0 * part
    return found


@dataclass(eq=False)
class Correction:
    """The corrections of an iteration, as ``Statics.solve`` describes them.

    factors : those of the last matrix, or those that are known at the start. last (n_v,) : the last finite correction.
    """

    statics: Statics
    regularisation: Regularisation
    normal: Any
    neutral: NeutralMotions | None
    factors: KnownFactors | None

    def __post_init__(self) -> None:
        self.twin, self.last = self.statics.twin, np.zeros(self.statics.twin.n_v)

    def of(self, it: Iteration[Trial, Unbalanced]) -> Floats | None:
        """The correction at the present state, or None where the regularisation takes it for too large."""
        x, n_v = it.x, self.twin.n_v
        # a step that is expected to be the last one takes the matrix of the one before
        slow = it.count > 0 and (it.expected > 1.0 or it.size > QUICKLY * it.previous)
        if self.factors is None or slow:
            self.factors = self.statics.factors(x, it.residual, self.regularisation, self.neutral)
        c = self._solved(self.factors, it.residual.equations)
        if self.normal is not None:
            with_load = self._solved(self.factors, self.statics.by_load(x.q, x.load))
            along = self.normal.by_load + self.normal.along(with_load[:n_v])
            part = (x.gap - self.normal.along(c[:n_v])) / along
            c = np.append(c + part * with_load, part)
        if np.all(np.isfinite(c)):
            self.last = c[:n_v].copy()
        return c if self.regularisation.accepts(largest(c[self.twin.rotations])) else None

    def _solved(self, factors: KnownFactors, equations: Floats) -> Floats:
        (inverse, weight), neutral = factors, self.neutral
        c = inverse.solve(-equations if neutral is None else np.where(neutral.held, 0.0, -equations))
        c[self.twin.n_v :] -= weight * equations[self.twin.n_v :]
        return c

    def moved(self, x: Trial, c: Floats, part: float) -> Trial:
        """The state after a part of a correction."""
        twin = self.twin
        d, multipliers = c[: twin.n_v], x.multipliers + c[twin.n_v : twin.n_v + twin.n_c]
        to, load, gap = x.load, x.load, 0.0
        if self.normal is not None:
            to, load, gap = x.load + c[-1], x.load + part * c[-1], (1.0 - part) * x.gap
        u, own = self.statics.inputs(x.q, np.zeros(twin.n_v), to), list(x.own)
        for k, batch in twin.strained_batches.items():
            own[k] = x.own[k] + part * (batch.own_strains(u, x.q, d, x.own[k]) - x.own[k])
        return Trial(twin.retract(x.q, d, part), multipliers, own, load, gap)

    def size(self, x: Trial, c: Floats, part: float, new: Trial) -> float:
        """The size of a step, by the tolerances of coordinates."""
        rates = self.twin.rates(x.q[None], c[None, : self.twin.n_v])[0]
        return float(error_norm(*self.statics.scale, part * rates, new.q))
