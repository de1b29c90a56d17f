"""Updates of discrete states as kernels bound to arrays."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from femb.base.types import Bools, Floats, Ints
from femb.layout.discrete import ANGLES, DiscreteState, Update, UpdateArrays
from femb.layout.views import StateView
from femb.numerics.compiler.bound_calls import Bound, Program

Group: TypeAlias = tuple[list[int], Program | None]
"""Numbers of updates, and the program of their kernels; None where they have none."""
View: TypeAlias = Callable[[DiscreteState, float, Floats, Floats], StateView]
"""The motion in a discrete state, at a time (s), of coordinates (n_q,) and velocities (n_v,)."""


def in_order(updates: Sequence[Update]) -> list[int]:
    """The numbers of updates of one instant in the order in which they are carried out."""
    return sorted(range(len(updates)), key=lambda k: updates[k].order)


class BoundUpdates:
    """Updates of a layout whose kernels are bound to ``arrays``; see ``Update.bind``.

    updates : all, in their order. clocks (k, 2) : of each the phase and the period, s, zero for none. places (k, 2) :
    of its count of samples and of its next instant in ``arrays.states``, -1 for none. recorded (k,) : whether its
    samples are.
    """

    # instants (s) that differ by less are one
    same = 0.0

    def __init__(self, updates: Sequence[Update], discrete: DiscreteState, n_q: int, n_v: int) -> None:
        arrays = self.arrays = UpdateArrays(discrete, n_q, n_v)
        self.updates = [updates[k] for k in in_order(updates)]
        found = {each: each.bind(arrays) for each in self.updates if each.bind is not None}
        self._bound = {each: kernel for each, kernel in found.items() if kernel is not None}
        self._groups: dict[tuple[Update, ...], list[Group]] = {}
        # of the states that have numbers their place, and the shape of tables
        parts = {name: part for name, part in arrays.parts.items() if part.stop > part.start}
        self._parts: list[tuple[str, Any, tuple[int, ...] | None]] = []
        for name, part in parts.items():
            shape = discrete[name].shape
            self._parts.append((name, part if shape else (part.start, ...), shape if len(shape) > 1 else None))
        self._starts = np.array([part.start for part in parts.values()], dtype=np.int64)
        # the discrete state that is in the arrays, and its numbers as integers, to compare them to the last bit
        self._there: DiscreteState | None = None
        self._before: Ints = arrays.states.view(np.int64)

    def groups(self, updates: tuple[Update, ...]) -> list[Group]:
        """Updates in their order, those with kernels that follow each other together."""
        found = self._groups.get(updates)
        if found is None:
            found = self._groups[updates] = []
            for has_kernels, group in groupby(in_order(updates), lambda k: updates[k] in self._bound):
                numbers = list(group)
                calls = Program([self._bound[updates[k]] for k in numbers]) if has_kernels else None
                found.append((numbers, calls))
        return found

    def changed(self, calls: Program, t: float, q: Floats, v: Floats, discrete: DiscreteState) -> DiscreteState | None:
        """The discrete state after a program of ``groups``; itself if nothing changes, None where one of its updates is
        left to ``Update.change``, without effect."""
        self.load(t, q, v, discrete)
        if not calls.made():
            self._there = None
            return None
        return self.present(discrete)

    def load(self, t: float, q: Floats, v: Floats, discrete: DiscreteState) -> None:
        """Let the arrays have a discrete state, the time (s) and the state of the motion."""
        arrays, there = self.arrays, self._there
        changed = list(arrays.parts) if there is None else [*discrete.changed_since(there)]
        if changed != [ANGLES]:
            for name in changed:
                if name != ANGLES:
                    arrays.states[arrays.parts[name]] = discrete[name].ravel()
            self._before = arrays.states.view(np.int64).copy()
        arrays.t[0], arrays.q[:], arrays.v[:], self._there = t, q, v, discrete

    def present(self, discrete: DiscreteState) -> DiscreteState:
        """The discrete state that the arrays have after changes of the one of ``load``; that itself without any."""
        numbers = self.arrays.states.copy()
        after = numbers.view(np.int64)
        different = np.logical_or.reduceat(after != self._before, self._starts).nonzero()[0]
        values = {
            name: numbers[place] if shape is None else numbers[place].reshape(shape)
            for name, place, shape in map(self._parts.__getitem__, different.tolist())
        }
        self._before = after
        self._there = discrete.with_arrays(values) if values else discrete
        return self._there

    # In loops over steps

    @property
    def in_loops(self) -> bool:
        """Whether a loop over steps may carry out all of them: they change nothing but held numbers."""
        return all(
            each.instant is None and not each.after_steps
            and not (each.zero or each.recorded or each.rows or each.loss or (each.sample and each.waits_in))
            for each in self.updates
        )  # fmt: skip

    def program(self, before: Floats, angles: Floats, view: View) -> Program:
        """All, in their order; Python carries out those without a kernel.

        before (n,) : the discrete states before the updates of an instant; angles (m,) : of joints there. view : the
        motion at a time, for a discrete state.
        """

        def carried_out(update: Update) -> int:
            t = float(arrays.t[0])
            there = self._there
            assert there is not None
            was, now = (self.state_of(there, x.copy()).with_angles(angles.copy()) for x in (before, arrays.states))
            state = view(was, t, arrays.q.copy(), arrays.v.copy())
            after = update.changed(t, state, now, sampled=update.samples(now, t + self.same))
            for name in after.changed_since(now):
                arrays.states[arrays.parts[name]] = after[name].ravel()
            return -1

        arrays = self.arrays
        return Program([self._bound.get(each) or Bound(carried_out, each) for each in self.updates])

    def clocks(self) -> tuple[Floats, Ints, Bools]:
        """For each update (k,) the phase and the period, s, zero for none; the places of its count of samples and of
        its next instant in the arrays, -1 for none; and whether its samples are recorded."""
        place, updates = self.arrays.place, self.updates
        clocks = [(each.phase, each.period or 0.0) for each in updates]
        places = [
            (-1 if each.period is None else place(each.count), place(each.waits_in) if each.waits_in else -1)
            for each in updates
        ]
        recorded = np.array([each.sample is not None for each in updates], dtype=bool)
        return np.array(clocks).reshape(-1, 2), np.array(places, dtype=np.int64).reshape(-1, 2), recorded

    def state_of(self, discrete: DiscreteState, numbers: Floats) -> DiscreteState:
        """A discrete state like another one, with these numbers (n,)."""
        return discrete.with_arrays(self.tables(discrete, numbers))

    def tables(self, discrete: DiscreteState, numbers: Floats) -> dict[str, Floats]:
        """The arrays by name in numbers (..., n)."""
        rows = numbers.shape[:-1]
        return {
            name: numbers[..., part].reshape((*rows, *discrete[name].shape)) for name, part in self.arrays.parts.items()
        }
