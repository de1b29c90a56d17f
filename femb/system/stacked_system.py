"""Several models as one system: their equations, which nothing couples, are evaluated and solved together.

A step costs the Python of one model, and the arithmetic of all. The state of member k is the slice ``parts_q[k]`` of q
and ``parts_v[k]`` of v. The batches are those of the element library with the rows of all members: what replaces their
compiled kernels, such as kernels on a GPU, serves members and single models alike.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from femb.base.errors import Problem
from femb.base.types import Floats, Ints
from femb.elements.joint.constraint_set import ConstraintSet, ConstraintTable
from femb.elements.joint.coordinates import JointCoordinates
from femb.layout.element import Batch, Input
from femb.layout.stacking import Shift, Stackable, stacked_layout
from femb.system.block_lu import LowRankSolver
from femb.system.budget import Budget
from femb.system.pattern import Pattern
from femb.system.system import System
from femb.system.velocity_coordinates import VelocityCoordinates


class StackedSystem(System):
    """The equations of motion of all ``members``.

    parts_q, parts_v : slices of the members' states. parts_u : indices of their inputs in u.
    members : of which ``refused`` finds nothing, under one gravity. forces_recorded : see ``Equations``.
    """

    # the unbalanced forces of all members say nothing about one, and their work is not integrated
    audited = False

    def __init__(self, members: Sequence[System], forces_recorded: bool = True) -> None:
        self.forces_recorded = forces_recorded
        self.members = tuple(members)
        self.model, self.items = members[0].model, members[0].items
        layout, shifts = stacked_layout([member.layout for member in members])
        VelocityCoordinates.__init__(self, layout)
        self.parts_q = [slice(shift.q, shift.q + member.n_q) for shift, member in zip(shifts, members, strict=True)]
        self.parts_v = [slice(shift.v, shift.v + member.n_v) for shift, member in zip(shifts, members, strict=True)]
        self.pattern = Pattern.of(layout)
        self.solver = LowRankSolver(self.pattern)
        self.constraint_set = ConstraintSet(layout, ConstraintTable.empty())
        self.budget = Budget([], layout, False)
        self.singular_batches = []
        self.batches = []
        inputs: list[Input] = []
        self.parts_u: list[Ints] = [np.full(member.n_u, -1) for member in members]
        for kind in dict.fromkeys(type(batch) for member in members for batch in member.batches):
            inputs += self._stack(kind, shifts, _width(inputs))
        self._set_inputs(inputs)
        self._functions = _functions(self.parts_of_inputs)
        for batch in self.batches:
            batch.bind(self.batches)
        self.coordinates_of_joints = JointCoordinates(layout)
        self.discrete = members[0].discrete
        self.q0 = np.concatenate([member.q0 for member in members])
        self.v0 = np.concatenate([member.v0 for member in members])

    def _stack(self, kind: type[Batch], shifts: list[Shift], first: int) -> list[Input]:
        """Add the batch of this class of all members; returns its inputs, whose components begin at ``first`` in u."""
        batches: list[Any] = []
        places: list[Shift] = []
        inputs: list[Input] = []
        for k, member in enumerate(self.members):
            for batch in (batch for batch in member.batches if type(batch) is kind):
                batches.append(batch)
                places.append(replace(shifts[k], inputs=_width(inputs)))
                own = np.arange(_width(batch.inputs))
                self.parts_u[k][batch.first_input + own] = first + _width(inputs) + own
                inputs += batch.inputs
        stack = batches[0].stacked(batches, places, self.layout)
        stack.first_input, stack.inputs = first, tuple(inputs)
        stack.allocate(self.pattern)
        self.batches.append(stack)
        return inputs

    def inputs_at(self, t: float, q: Floats, v: Floats) -> Floats:
        """u (n_u,); equal functions of time are evaluated once. Raises as that of a single system."""
        u = np.empty(self.n_u)
        try:
            for function, places in self._functions:
                u[places] = function(t)
        except Exception:
            u[:] = np.nan
        # one by one, for the input at fault
        return u if np.all(np.isfinite(u)) else super().inputs_at(t, q, v)

    def inputs_of_times(self, times: Floats, angles: Floats) -> Floats | None:
        """u (s, n_u) at s times; equal functions of time are evaluated once. None as that of a single system."""
        u = np.empty((len(times), self.n_u))
        try:
            for function, places in self._functions:
                values = np.array([function(t) for t in times.tolist()], dtype=float)
                u[:, places] = values.reshape(len(times), 1, -1)
        except Exception:
            return None
        return u if np.isfinite(u).all() else None


def _width(inputs: Sequence[Input]) -> int:
    """Number of components of inputs."""
    return sum(input_.width for input_ in inputs)


def _functions(parts: Sequence[tuple[Input, slice]]) -> list[tuple[Callable[..., Any], Ints]]:
    """The different functions of inputs, each with the places (m, width) of its m equal values in u.

    parts : the inputs, and the part of u of each.
    """
    functions: dict[Hashable, Callable[..., Any]] = {}
    places: dict[Hashable, list[Ints]] = {}
    for input_, part in parts:
        try:
            key: Hashable = (type(input_.function), input_.function, input_.width)
            hash(key)
        except TypeError:
            key = id(input_.function)
        functions.setdefault(key, input_.function)
        places.setdefault(key, []).append(np.arange(part.start, part.stop))
    return [(functions[key], np.array(same)) for key, same in places.items()]


def refused(system: System) -> list[Problem]:
    """The items of a model that cannot be integrated together with others."""
    problems: list[Problem] = []
    for update in system.layout.updates:
        problems.append(Problem((update.label,), "has discrete states"))
    simple = not (problems or any(input_.of_state for input_ in system.inputs))
    if (
        simple
        and not system.n_c
        and all(isinstance(batch, Stackable) and not batch.singularities for batch in system.batches)
    ):
        return problems
    for item in system.model.items():
        batches = type(item).batches([item], system.layout, system.model)
        coupled = item.constraint_rows(system.layout) or item.constraint_inputs(system.layout)
        if coupled or not all(isinstance(batch, Stackable) for batch in batches):
            problems.append(
                Problem((item.table, item.name), "is no body, point mass, beam, orbit, or load that depends on time")
            )
        elif any(input_.of_state for batch in batches for input_ in batch.inputs):
            problems.append(Problem((item.table, item.name), "depends on the state of the model"))
        elif any(batch.singularities for batch in batches):
            problems.append(Problem((item.table, item.name), "has singular configurations"))
    return problems
