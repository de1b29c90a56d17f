"""Separate blocks for every element: velocities are numbered by element, also where elements share a frame.

One call of a kernel then gives the contribution of a unit velocity or acceleration for all elements, without any
superposition between elements; and the residual of one element alone is the force on its ends, of which the exact
tangents are the derivatives.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from femb.base.types import Ability, Floats, Ints
from femb.base.values import shallow_copy
from femb.layout.element import Batch, OfMotion, OutputRows
from femb.layout.evaluation import Evaluation
from femb.layout.private_blocks import PrivateBlocks
from femb.layout.state import frame_pose
from femb.layout.views import LinearPoint
from femb.numerics.rotations import cross_matrix


class MassiveElements(Batch):
    """Base of elements with mass, a row of ``index`` each, whose velocities are in equal groups.

    in_v : columns of ``index`` with the first velocities of the groups. sizes : of the groups.
    """

    in_v: ClassVar[list[int]]
    sizes: ClassVar[tuple[int, ...]]
    index: Ints
    starts: Ints

    def set_index(self, index: Ints) -> None:
        """Take a row of indices for each element; the first velocities of its groups are negative where it is fixed."""
        self.index, self.starts = index, index[:, self.in_v]

    def alone(self) -> tuple[Self, PrivateBlocks]:
        """The elements with velocities and block data of their own."""
        private, other = PrivateBlocks(self.starts, self.sizes), shallow_copy(self)
        index = self.index.copy()
        index[:, self.in_v] = private.starts
        other.set_index(index)
        return other, private

    def inertial(self) -> Self:
        """The batch without weight, stiffness and other forces, whose residual at rest is M a."""
        raise NotImplementedError

    def mass_changes(self, q: Floats) -> list[tuple[Ints, Floats]]:
        other, private = self.inertial().alone()
        return [(private.indices, private.by_columns(partial(Evaluation([other], private).tangent, np.zeros(0), q)))]


# Free-body diagram: the forces on the ends of one element, at an operating point, and their exact derivatives.
#
# The residual of an element alone, with the loads along it, is the force with which it acts on its ends:
#
#     N = o S^T R^T f,    M = o S^T (c - d x R^T f)
#
# with f (inertial axes) and c (frame axes) the residual force and torque on the frame of an end, whose axes are R; d is
# the offset of the end on the frame, S its axes there, and o a sign. Inertia, damping and weight are part of f and c,
# as in results. Source: docs/theory/beam.md, docs/theory/exact_beam.md, docs/theory/modal_body.md.


@dataclass(frozen=True, eq=False)
class FreeBody:
    """One element cut free: ``batch``, with velocities of its own in groups, also on fixed frames.

    sizes (g,) : velocities of the groups. places (g,) : where these begin in v, negative if fixed. ends : of each end
    the number of its group, which is of a frame, its offset (3,) m and its axes (3, 3), as columns, in that frame.
    """

    batch: Batch
    sizes: tuple[int, ...]
    places: tuple[int, ...]
    ends: tuple[tuple[int, Floats, Floats], ...]

    @property
    def size(self) -> int:
        """The number n of its velocities."""
        return sum(self.sizes)

    @cached_property
    def starts(self) -> Ints:
        """(g,) where the groups begin among its own velocities."""
        return np.cumsum((0, *self.sizes[:-1]))

    @cached_property
    def _evaluation(self) -> Evaluation:
        return Evaluation([self.batch], self.blocks(self.sizes))

    def own(self, v: Floats) -> Floats:
        """(s, n) its velocities or accelerations of v (s, n_v)."""
        result = np.zeros((len(v), self.size))
        for start, size, place in zip(self.starts, self.sizes, self.places, strict=True):
            if place >= 0:
                result[:, start : start + size] = v[:, place : place + size]
        return result

    def spread(self, rows: Floats, n_v: int) -> Floats:
        """(k, n_v) of rows (k, n) on its velocities."""
        result = np.zeros((len(rows), n_v))
        for start, size, place in zip(self.starts, self.sizes, self.places, strict=True):
            if place >= 0:
                result[:, place : place + size] = rows[:, start : start + size]
        return result

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        """(s, n) at s states of the System."""
        return self._evaluation.residual(u, q, self.own(v), self.own(a))

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
        """Exact derivatives (n, n) of the residual by the velocities and by the pose, at one state of the System."""
        damping, stiffness = self._evaluation.tangent(u, q, self.own(v[None])[0], self.own(a[None])[0])
        return damping.reshape(self.size, -1), stiffness.reshape(self.size, -1)

    def mass(self, q: Floats) -> Floats:
        """(n, n) at one state of the System."""
        out = np.zeros((1, self.size**2))
        self._evaluation.add_masses(q[None], out)
        return out.reshape(self.size, -1)

    @staticmethod
    def blocks(sizes: tuple[int, ...]) -> PrivateBlocks:
        """The numbering of one element with groups of these sizes, all of which have velocities."""
        return PrivateBlocks(np.arange(len(sizes))[None], sizes)


@runtime_checkable
class CutsFree(Protocol, metaclass=Ability):
    """A batch that gives each of its elements alone."""

    def element_number(self, path: str, k: int) -> int:
        """The number of element k, from 0, of the item ``path``, TABLE.NAME, in the batch; -1 of other items."""

    def free_body(self, number: int) -> FreeBody:
        """One element alone."""


@runtime_checkable
class LoadsElements(Protocol, metaclass=Ability):
    """A batch of loads along the elements of another."""

    def load_on(self, batch: Batch, number: int) -> Batch | None:
        """The loads on one element of ``batch``, with the velocities of its free body; None where there are none."""


@runtime_checkable
class FieldOnElements(Protocol, metaclass=Ability):
    """A batch of a field of forces on every mass."""

    def field_part(self, batch: Any, of: "OfMotion[Any]", u: Floats, q: Floats) -> Floats | float:
        """The share of the field in of(batch, u, q, v, a), linear in forces of inertia."""

    def field_tangent(self, batch: CutsFree, number: int, u: Floats, q: Floats) -> Floats | float:
        """The derivative (n, n_v) by the pose of the field's residual on the free body of one element, at one state."""


def free_body(point: LinearPoint, path: str, k: int) -> "tuple[Batch, int] | None":
    """The batch of element k of an item, and its number there; None where no batch gives it alone."""
    for batch in point.system.batches:
        if isinstance(batch, CutsFree) and (number := batch.element_number(path, k)) >= 0:
            return batch, number  # type: ignore[return-value]
    return None


def end_rows_of(
    point: LinearPoint, cut: tuple[Batch, int], end: int, frame: int, quantity: str, sign: float
) -> OutputRows:
    """The rows of the "force" or "torque" at an end of an element, which is on a ``frame``, in the axes of the end.

    sign : of the residual force on the frame.
    """
    batch, number = cut
    assert isinstance(batch, CutsFree)
    system, layout = point.system, point.system.layout
    body = batch.free_body(number)
    u, q, v, a = point.u, point.q, point.v, point.a
    others = [other for other in system.batches if other is not batch]
    loads = [each.load_on(batch, number) for each in others if isinstance(each, LoadsElements)]
    parts = [body, *(replace(body, batch=load) for load in loads if load is not None)]
    fields = [each for each in others if isinstance(each, FieldOnElements)]

    def residual(inputs: Floats) -> Floats:
        """(n,) with other inputs."""
        state = inputs[None], q[None], v[None], a[None]
        found = sum(part.residual(*state)[0] for part in parts)
        of: OfMotion[Batch] = partial(_of_element, number)
        for each in fields:
            value = each.field_part(batch, of, inputs[None], q[None])
            found = found + (value[0] if isinstance(value, np.ndarray) else value)
        return np.asarray(found)

    tangents = [part.tangent(u, q, v, a) for part in parts]
    damping, stiffness = (np.sum(each, axis=0) for each in zip(*tangents, strict=True))
    group, d, S = body.ends[end]
    first = int(body.starts[group])
    R = frame_pose(layout, frame, q)[1]

    def at_end(force: Floats, torque: Floats) -> Floats:
        """(3, k) in the axes of the end, of changes in the axes of the frame."""
        return sign * S.T @ (force if quantity == "force" else torque - cross_matrix(d) @ force)

    def rows(change: Floats, turn: Floats) -> Floats:
        force = R.T @ change[first : first + 3]
        force[:, first + 3 : first + 6] += turn
        return body.spread(at_end(force, change[first + 3 : first + 6]), system.n_v)

    f = R.T @ residual(u)[first : first + 3]
    still = np.zeros((3, 3))
    pose, velocity, acceleration = rows(stiffness, cross_matrix(f)), rows(damping, still), rows(body.mass(q), still)
    for each in fields:
        by_field = each.field_tangent(batch, number, u, q)
        if isinstance(by_field, np.ndarray):
            pose = pose + at_end(R.T @ by_field[first : first + 3], by_field[first + 3 : first + 6])
    inputs = np.zeros((3, system.n_u))
    acting = [batch, *(each for each in others if isinstance(each, LoadsElements | FieldOnElements))]

    def by_input(k: int) -> Floats:
        change = point.by_input(residual, k)[first : first + 6]
        return at_end(R.T @ change[:3], change[3:])

    for of_batch, k, _ in point.input_components():
        if any(of_batch is one for one in acting):
            inputs[:, k] = by_input(k)
    for one in acting:
        for law in point.feedback_of(one):
            for k, (by_pose, by_velocity) in enumerate(zip(law.by_pose, law.by_velocity, strict=True), law.first):
                if np.any(by_pose) or np.any(by_velocity):
                    column = by_input(k)[:, None]
                    pose, velocity = pose + column * by_pose, velocity + column * by_velocity
    return OutputRows("N" if quantity == "force" else "N m", pose, velocity, acceleration, inputs=inputs)


def _of_element(number: int, batch: Batch, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
    assert isinstance(batch, CutsFree)
    return batch.free_body(number).residual(u, q, v, a)
