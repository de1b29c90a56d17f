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
    for (batch, items), terms in zip(of_items, evaluation.masses, strict=True):
        for term in terms:
            check_sizes(term, items)
            for starts, size in zip(term.starts.T, term.sizes, strict=True):
                places = starts[starts >= 0, None] + np.arange(size)
                with_mass[places[places < layout.n_v]] = True
        if terms and batch.gravity is None and not declares_gravity(batch) and _moves(batch, evaluation, layout):
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


def _moves(batch: Batch, evaluation: Evaluation, layout: Layout) -> bool:
    """Whether the elements of a batch have mass where frames are shifted, at the start."""
    return any(
        bool(np.any(np.diagonal(M, axis1=1, axis2=2)[np.isin(places, layout.frame_v) & (places >= 0)]))
        for places, M in evaluation.of([batch]).element_masses(layout.start_coordinates())
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
    found = (item for item in items if not rows_of(item, layout).isdisjoint(rows))
    return named([*found, *items])


def frames_of(item: Item, layout: Layout) -> set[int]:
    """The frames that an item names or couples."""
    coupled = layout.couplings[layout.declared[item.table, item.name][0]]
    return set(item.frames(layout)).union(*(frames for frames, _ in coupled))


def rows_of(item: Item, layout: Layout) -> set[int]:
    """The velocities of these frames, and of its internal coordinates."""
    own = layout.declared[item.table, item.name][1]
    places = set(layout.internal_v[own].tolist())
    for k in frames_of(item, layout):
        places |= set(range(int(layout.frame_v[k]), int(layout.frame_v[k]) + layout.frames[k].freedom))
    return places


def declares_gravity(batch: Batch) -> bool:
    """Whether a batch or its class sets its gravity, also to None."""
    return any("gravity" in vars(each) for each in (batch, *type(batch).__mro__) if each is not Batch)


def named(items: Sequence[Item]) -> str:
    """The name of the first item of a batch."""
    return f"{items[0].table}.{items[0].name}"
