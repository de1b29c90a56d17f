"""Motions that items declare, against the matrices: what is left out as free must not be resisted.

A motion D turns the forces f of each item with it, so that K D = T f with T f their change by the rotation, and K of
this item at rest. Source: docs/theory/modes.md, section 2.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.elements.item import Item
from femb.layout.connections import groups_of
from femb.layout.protocols import LowRankTangent
from femb.system.known_motions import KnownStructure, is_load
from femb.system.parts import frames_of, rows_of
from femb.system.system import System

Flags = NDArray[np.bool_]
# Of the terms of K D, largest in a frame: more is a force. Tangents by differences have ten digits.
FORCE = 1e-7
# Of the largest terms of all: those of a frame that are less are rounding.
LEAST = 1e-6


class SmallMotions(Protocol):
    """The members of ``femb.small_motions.eigenproblem.EigenProblem`` that this needs."""

    @property
    def system(self) -> System: ...
    @property
    def q(self) -> Floats: ...
    @property
    def u(self) -> Floats: ...
    @property
    def held(self) -> Flags: ...
    @property
    def loaded(self) -> bool | None: ...

    def velocities_of(self, frame: int) -> slice:
        """The place of the velocities of a frame."""

    def times(self, data: Floats, x: Floats) -> Floats:
        """Block data times x."""

    def of_moving(self, x: Floats) -> Floats:
        """x with zeros for what is held."""


def check_declared(motion: SmallMotions, structures: Sequence[KnownStructure]) -> None:
    """Raise ModelError by the name of an item whose own forces resist a motion that its structures declare."""
    D, largest, turn = _moves(motion, structures)
    if not np.any(D):
        return
    system, least = motion.system, 0.0
    u, q, still = motion.u[None], motion.q[None], np.zeros((1, system.n_v))
    found = []
    for batch, items in zip(system.batches, system.items_of_batches, strict=True):
        if isinstance(batch, LowRankTangent) or (not motion.loaded and is_load(items[0])):
            continue  # without loads their declarations do not count
        terms = system.evaluation.of([batch])
        data, force = np.zeros((2, 1, system.pattern.size)), np.zeros((1, system.n_v))
        terms.add_tangents(u, q, still, still, *data)
        terms.add_residual(u, q, still, still, force)
        got = motion.times(data[1, 0], D)
        turned = _turned(motion, force[0], turn)
        # a constant force stays where it is: it has no derivative that resists
        left = np.minimum(np.max(np.abs(got), axis=1), np.max(np.abs(got - turned), axis=1))
        sizes = of_frames(motion, np.maximum(motion.times(np.abs(data[1, 0]), largest), np.abs(force[0])))
        least = max(least, LEAST * float(np.max(sizes, initial=0.0)))
        found.append((items, motion.of_moving(left), sizes))
    for items, left, sizes in found:
        if len(rows := np.flatnonzero(left > FORCE * np.maximum(sizes, least))):
            raise ModelError(_text(motion, items, set(rows.tolist())))


def _moves(motion: SmallMotions, structures: Sequence[KnownStructure]) -> tuple[Floats, Floats, Floats]:
    """Displacements (n_v, 6) of all structures by the motions of each, one after the other, which no element couples;
    the sizes (n_v,) of their terms, which cancel about a point beside the origin; the rotations (6, F, 3) of frames."""
    layout, system = motion.system.layout, motion.system
    free, D, turn = system.rigid_velocities(motion.q), np.zeros((system.n_v, 6)), np.zeros((6, len(layout.frames), 3))
    terms = np.zeros(system.n_v)
    for each in structures:
        own = [j for k in each.frames for j in range(system.n_v)[motion.velocities_of(k)]]
        count = len(each.motions)
        D[own, :count] = (each.motions @ free[:, own]).T
        terms[own] = np.max(np.abs(each.motions) @ np.abs(free[:, own]), axis=0, initial=0.0)
        turn[:count, list(each.frames)] = each.motions[:, None, 3:]
    return D, terms, turn


def _turned(motion: SmallMotions, x: Floats, turn: Floats) -> Floats:
    """(n_v, 6) the changes of x (n_v,) by rotations (6, F, 3) of all frames: what is along their own axes stays."""
    layout, changes = motion.system.layout, np.zeros((len(x), 6))
    moving = np.array([k for k, frame in enumerate(layout.frames) if frame.freedom], dtype=np.int64)
    places = layout.frame_v[moving, None] + np.arange(3)
    changes[places] = np.cross(turn[:, moving], x[places]).transpose(1, 2, 0)
    return changes


def _text(motion: SmallMotions, items: Sequence[Item], rows: set[int]) -> str:
    """The message: the first of some items whose forces are on these rows, and what to declare."""
    layout = motion.system.layout
    held = {k for k in range(len(layout.frames)) if not np.any(~motion.held[motion.velocities_of(k)])}
    group_of = {k: number for number, group in enumerate(groups_of(layout, True, held)) for k in group}
    item = next((each for each in items if not rows.isdisjoint(rows_of(each, layout))), items[0])
    if len({group_of[k] for k in frames_of(item, layout) - held}) > 1:
        return (
            f"{item.table}.{item.name}: its forces depend on bodies that it does not couple: let declare_dofs of its "
            "class call layout.couple with their frames, as docs/howto/extend.md shows"
        )
    return (
        f"{item.table}.{item.name}: its forces resist a rigid motion that its class declares not to notice: give it a "
        "method 'symmetry', by which ends on the ground notice motions, in place of turns_with_host, as "
        "docs/howto/extend.md shows"
    )


def of_frames(motion: SmallMotions, sizes: Floats) -> Floats:
    """(n_v,) of sizes of rows (n_v,), for each row of a frame: those of all its forces and moments. A moment may
    consist of forces on arms, of the length of the model; rows that are rounding alone have no size of their own."""
    layout, largest = motion.system.layout, sizes.copy()
    freedoms = np.array([frame.freedom for frame in layout.frames], dtype=np.int64)
    for freedom in set(freedoms.tolist()) - {0}:
        rows = layout.frame_v[freedoms == freedom][:, None] + np.arange(freedom)
        forces, moments = (np.max(sizes[part], axis=1, keepdims=True, initial=0.0) for part in np.split(rows, [3], 1))
        largest[rows] = forces
        largest[rows[:, 3:]] = np.maximum(moments, forces * layout.length)
    return largest
