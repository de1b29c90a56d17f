"""Declarations of batches against the layout: mistakes in items of one's own that would be wrong without a word."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.item import Item
from femb.layout.element import Batch
from femb.layout.evaluation import Evaluation
from femb.layout.layout import Layout
from femb.layout.terms import MassMatrix


def check_masses(of_items: Sequence[tuple[Batch, Sequence[Item]]], evaluation: Evaluation, layout: Layout) -> None:
    """Raise ModelError by the names of items: groups of a mass without a size, masses that fields of acceleration do
    not find, and internal coordinates without a mass."""
    with_mass = np.zeros(layout.n_v, dtype=bool)
    translations = np.isin(np.arange(layout.n_v), layout.frame_v)
    for (batch, items), terms in zip(of_items, evaluation.masses, strict=True):
        moves = False
        for term in terms:
            check_sizes(term, items)
            for starts, size in zip(term.starts.T, term.sizes, strict=True):
                places = starts[starts >= 0, None] + np.arange(size)
                places = places[places < layout.n_v]
                with_mass[places] = True
                moves = moves or bool(np.any(translations[places]))
        if moves and batch.gravity is None and not declares_gravity(batch):
            raise ModelError(
                f"{named(items)}: the batch {type(batch).__name__} has masses, but does not say its gravity, by which "
                "fields of acceleration find them: set self.gravity to that of the model, and use it in forces and "
                "energies; or to None where other items have this mass"
            )
    for item in (item for _, items in of_items for item in items):
        _, own = layout.declared[item.table, item.name]
        for number in range(own.start, own.stop):
            if not with_mass[layout.internal_v[number]]:
                raise ModelError(
                    f"{item.table}.{item.name}: its coordinate {layout.internal[number].quantity.name!r} has no mass: "
                    "let masses() of its batch give one; the row of a first-order state has the mass 1"
                )


def check_sizes(term: MassMatrix, items: Sequence[Item]) -> None:
    """Raise ModelError for a mass whose sizes are not those of its groups."""
    shape = np.shape(term.starts)
    if len(shape) != 2 or shape[1] != len(term.sizes):
        raise ModelError(
            f"{named(items)}: MassMatrix: got starts {shape} and sizes {term.sizes}, wanted starts (elements, groups) "
            "and a size of each group"
        )


def not_finite(system: Any, u: Floats, q: Floats, v: Floats, a: Floats) -> str:
    """The item whose forces or derivatives are not finite at a state, in words; empty if there is none.

    system : a ``femb.system.motion_equations.MotionEquations``.
    """
    # accelerations follow from forces
    state = u[None], q[None], v[None], np.where(np.isfinite(a), a, 0.0)[None]
    if not all(np.isfinite(each).all() for each in state):
        return ""
    layout = system.layout
    for batch, items in zip(system.batches, system.items_of_batches, strict=True):
        terms = system.evaluation.of([batch])
        force = np.zeros((1, system.n_v))
        terms.add_residual(*state, force)
        matrices = np.zeros((2, 1, system.pattern.size))
        terms.add_tangents(*state, *matrices)
        entries = ~np.isfinite(matrices[:, 0]).all(axis=0)
        of_matrices = system.pattern.rows_columns()[0][entries]
        for what, rows in (("forces", np.flatnonzero(~np.isfinite(force[0]))), ("derivatives", of_matrices)):
            if len(rows):
                return f"{_touching(items, layout, set(rows.tolist()))} returned {what} that are NaN or infinite"
    return ""


def _touching(items: Sequence[Item], layout: Layout, rows: set[int]) -> str:
    """The name of the first of some items with a frame or a coordinate in these rows of velocities."""
    for item in items:
        own = layout.declared[item.table, item.name][1]
        places = {int(layout.internal_v[k]) for k in range(own.start, own.stop)}
        for k in item.frames(layout):
            places |= set(range(int(layout.frame_v[k]), int(layout.frame_v[k]) + layout.frames[k].freedom))
        if not places.isdisjoint(rows):
            return f"{item.table}.{item.name}"
    return named(items)


def declares_gravity(batch: Batch) -> bool:
    """Whether a batch or its class sets its gravity, also to None."""
    return any("gravity" in vars(each) for each in (batch, *type(batch).__mro__) if each is not Batch)


def named(items: Sequence[Item]) -> str:
    """The name of the first item of a batch."""
    return f"{items[0].table}.{items[0].name}"
