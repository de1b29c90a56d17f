"""Small motions at rest of models beside a nominal one, of what differs alone.

Derivatives are made of differences of matrices. Where a parameter changes neither the start nor the rows of
constraints, most batches are the same to the last bit, and only the others are built and evaluated.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from femb.elements.item import Item
from femb.layout.element import Batch, LowRank, weighed
from femb.layout.protocols import LowRankTangent, OfPhase, Strained
from femb.layout.terms import MassMatrix, Tangent, same_arguments
from femb.model.model import Model
from femb.small_motions.eigenproblem import EigenProblem, FreeLayout, without_loads
from femb.small_motions.point import OperatingPoint
from femb.small_motions.strains import ExactProducts
from femb.system.parts import batches_of_kinds
from femb.system.system import System


class Beside:
    """The models that a parameter gives beside a nominal one; nominal : its problem.

    The first model tells what differs: all batches of the others are of the same kinds of items.
    """

    def __init__(self, nominal: EigenProblem) -> None:
        self.nominal = nominal
        # numbers of the batches that differ, None where more does or before the first model
        self.places: list[int] | None = None
        self.kinds: frozenset[type[Item]] | None = None

    def of(self, model: Model) -> EigenProblem | None:
        """The problem of a model, of what differs alone, along inertial axes; None where more than batches does."""
        if self.kinds is None:
            self.kinds = frozenset()
            batches = self._compared(model)
        else:
            batches = None if self.places is None else self._built(model)
        return None if batches is None else self._problem(batches)

    def central(self) -> EigenProblem | None:
        """The problem of the nominal model, of the same batches."""
        return None if self.places is None else self._problem(self._differing)

    @property
    def _differing(self) -> list[Batch]:
        batches = self.nominal.system.batches
        return [batches[k] for k in self.places or ()]

    def _compared(self, model: Model) -> list[Batch] | None:
        """The batches of the first model that differ; None where more does."""
        of, layout = self.nominal, self.nominal.system.layout
        if of.loaded is not False or of.low_rank.rank or not isinstance(layout, FreeLayout) or layout.coupled:
            return None
        side = System(model, assemble=None, layout=FreeLayout(layout.held))
        if not _same_start(side, of):
            return None
        side = side.with_discrete(of.system.discrete).at(of.q).balanced()
        if any(_tangent_of_low_rank(each, of) for each in side.batches):
            return None
        u = without_loads(side, side.inputs_at(0.0, of.q, of.v))
        if (
            not same_arguments(u, of.u)
            or OperatingPoint(side, 0.0, u, of.q, of.v, of.a, of.multipliers).of_functions().rank
        ):
            return None
        batches = self._still(side.batches)
        if list(map(type, batches)) != list(map(type, of.system.batches)):
            return None
        self.places = [
            k
            for k, pair in enumerate(zip(batches, of.system.batches, strict=True))
            if not same_arguments(*map(_terms, pair))
        ]
        owners = [side.items_of_batches[k] for k in self.places]
        self.kinds = frozenset(type(item) for items in owners for item in items)
        if any(item.sets for items in owners for item in items):
            self.places = None
        return [batches[k] for k in self.places] if self.places is not None else None

    def _built(self, model: Model) -> list[Batch] | None:
        """The batches of another model that differ; None where they are of other classes."""
        system, before = self.nominal.system, self._differing
        batches = batches_of_kinds(self.kinds or (), system.layout, model)
        batches = [each for each in batches if type(each) in set(map(type, before))]
        if list(map(type, batches)) != list(map(type, before)):
            return None
        for batch, known in zip(batches, before, strict=True):
            batch.first_input = known.first_input
            batch.allocate(system.pattern)
        for batch in batches:
            batch.bind(batches)
        return self._still(each.balanced() if isinstance(each, OfPhase) else each for each in batches)

    def _still(self, batches: Iterable[Batch]) -> list[Batch]:
        """Batches without weight and without the rounding of strains at the start."""
        u, q = self.nominal.u, self.nominal.q
        bare = [weighed(each, np.zeros(3)) for each in batches]
        return [(each.unstrained(u, q) if isinstance(each, Strained) else None) or each for each in bare]

    def _problem(self, batches: Sequence[Batch]) -> EigenProblem:
        of = self.nominal
        system = of.system.with_batches(batches)
        mass, nothing = system.mass_data(of.q), np.zeros(system.pattern.size)
        exact = ExactProducts(replace(of.point, system=system), mass, False)
        return replace(
            of, system=system, mass=mass, damping=nothing, stiffness=nothing, jacobian=nothing, axes=None, exact=exact,
            low_rank=LowRank.joined([], system.n_v),
        )  # fmt: skip


MotionKey: TypeAlias = tuple[str | None, str, bool]
"""The body that is held, the start, and whether motions are damped."""


class Neighbours:
    """The change by one parameter; nominal : gives the nominal problem of small motions."""

    def __init__(self, nominal: "Callable[[*MotionKey], EigenProblem]") -> None:
        self.nominal = nominal
        self.found: dict[MotionKey, Beside] = {}

    def beside(self, *key: *MotionKey) -> Beside:
        """That of the problem of these small motions."""
        if key not in self.found:
            self.found[key] = Beside(self.nominal(*key))
        return self.found[key]

    def central(self, *key: *MotionKey) -> EigenProblem:
        """The nominal problem, of what differs alone where that is known."""
        return self.beside(*key).central() or self.nominal(*key)


def _same_start(side: System, of: EigenProblem) -> bool:
    """Whether a System has the unknowns, the start and the rows of constraints of a problem."""
    one, other, rows = side.layout, of.system.layout, np.zeros((2, of.system.pattern.size))
    if (one.n_q, one.n_v, one.n_c, side.n_u) != (other.n_q, other.n_v, other.n_c, of.system.n_u):
        return False
    if one.couplings != other.couplings or one.row_labels != other.row_labels:
        return False
    starts = (one.start_coordinates(), one.start_velocities(), side.inputs_at(0.0, of.q, of.v))
    if not same_arguments(starts, (of.q, other.start_velocities(), of.system.inputs_at(0.0, of.q, of.v))):
        return False
    for system, data in zip((side, of.system), rows, strict=True):
        system.constraint_set.jacobian(of.u, of.q, data)
    return same_arguments(*rows)


def _tangent_of_low_rank(batch: Batch, of: EigenProblem) -> bool:
    return isinstance(batch, LowRankTangent) and batch.low_rank_tangent(of.u, of.q, of.v) is not None


def _terms(batch: Batch) -> list[object]:
    """The kernels of a batch for matrices at rest, with the arrays that they keep."""
    terms: list[MassMatrix | Tangent] = [*batch.masses(), *(term for term in batch.tangents() if term.exact)]
    return [(each.kernel, each.kept, each.starts) for each in terms]
