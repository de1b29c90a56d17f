"""The members of an ensemble as one system that nothing couples.

Whether a latch is engaged is an input, as the curve of a spring that snaps over is: members in all states share the
steps of one system. Each has its own clock.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from femb.base.errors import Problem
from femb.base.types import Floats, Ints
from femb.elements.joint.constraint_set import ConstraintSet
from femb.elements.joint.coordinates import JointCoordinates
from femb.elements.joint.force_batch import CoordinateForceBatch
from femb.layout.discrete import ANGLES, DiscreteState
from femb.layout.element import Batch, Input
from femb.layout.evaluation import Evaluation
from femb.layout.stacking import Shift, Stackable, stacked_layout
from femb.profiles import Constant
from femb.recording.frames import Frames
from femb.system.budget import Budget
from femb.system.inputs import Inputs
from femb.system.parts import Parts, allocated
from femb.system.pattern import StackedPattern
from femb.system.system import System


class Stack:
    """The equations of motion of all ``members``, which nothing couples, as one ``system``: solved together.

    A step costs the Python of one model, and the arithmetic of all. The batches are those of the element library with
    the rows of all members: what replaces their compiled kernels, such as kernels on a GPU, serves both.
    parts_q, parts_v : slices of the members' states. parts_c, parts_joints : of their multipliers and coordinates of
    joints. parts_u : indices of their inputs in u.
    members : of which ``refused`` finds nothing, under one gravity. forces_recorded : as in ``Parts``; the unbalanced
    forces of all members say nothing about one. late : how far (s) the common clock is behind that of each; their
    functions of time are constant after ``last``, s.
    """

    def __init__(self, members: Sequence[System], forces_recorded: bool, late: Sequence[float], last: float) -> None:
        self._late, self._last = late, last
        self.members = tuple(members)
        layout, shifts = stacked_layout([member.layout for member in members])
        pairs = list(zip(shifts, members, strict=True))
        self.parts_q = [slice(shift.q, shift.q + member.n_q) for shift, member in pairs]
        self.parts_v = [slice(shift.v, shift.v + member.n_v) for shift, member in pairs]
        self.parts_c = [slice(shift.c, shift.c + member.n_c) for shift, member in pairs]
        self.parts_joints = [
            slice(shift.joints, shift.joints + member.coordinates_of_joints.count) for shift, member in pairs
        ]
        self.parts_u: list[Ints] = [np.full(member.n_u, -1) for member in members]
        self._layout, self._shifts = layout, shifts
        pattern = StackedPattern(layout, [member.pattern for member in members])
        batches: list[Batch] = []
        inputs: list[Input] = []
        for kind in dict.fromkeys(type(batch) for member in members for batch in member.batches):
            batch, of_batch = self._stacked(kind, _width(inputs))
            batches.append(batch)
            inputs += of_batch
        rows, of_rows = self._stacked_rows(_width(inputs))
        allocated(batches, rows, pattern)
        joints = [member.coordinates_of_joints for member in members]
        parts = Parts(
            members[0].model, members[0].items, layout, pattern, Evaluation(batches, pattern), [], rows,
            StackedInputs([*inputs, *of_rows]), Budget([], layout, False),
            JointCoordinates.stacked(joints, shifts, layout), self.joined([member.discrete for member in members]),
            audited=False, forces_recorded=forces_recorded,
        )  # fmt: skip
        q, v = (np.concatenate([getattr(member, word) for member in members]) for word in ("q0", "v0"))
        self.system = System.of_parts(parts, q, v)

    def frames_of(self, member: int, frames: Frames) -> Frames:
        """Output instants of one member, without work and unbalanced forces."""
        in_v, in_joints = self.parts_v[member], self.parts_joints[member]
        parts: dict[str, Any] = {"q": self.parts_q[member], "v": in_v, "a": in_v, "u": self.parts_u[member]}
        parts |= {"multipliers": self.parts_c[member], "coordinates": in_joints, "coordinate_rates": in_joints}
        own = {word: np.ascontiguousarray(getattr(frames, word)[:, part]) for word, part in parts.items()}
        through = frames.through and replace(frames.through, nodes=self.frames_of(member, frames.through.nodes))
        own["work"] = np.zeros((len(frames.time), self.members[member].budget.size))
        return replace(frames, **own, through=through)

    def joined(self, states: Sequence[DiscreteState]) -> DiscreteState:
        """The discrete state of all members: their coordinates of joints, and their arrays by number and name."""
        arrays = {ANGLES: np.concatenate([state.angles for state in states])}
        for k, state in enumerate(states):
            arrays |= {_name(k, name): array for name, array in state.items() if name != ANGLES}
        return DiscreteState(arrays)

    def _stacked(self, kind: type[Batch], first: int) -> tuple[Batch, list[Input]]:
        """The batch of this class of all members, and its inputs, whose components begin at ``first`` in u.

        The angles of joints, which are the first input of a batch, are one input of all members.
        """
        found: list[tuple[int, Any]] = [
            (k, batch) for k, member in enumerate(self.members) for batch in member.batches if type(batch) is kind
        ]
        angles = [_angles_of(batch) + self._shifts[k].joints for k, batch in found]
        numbers: Ints = np.concatenate(angles)
        inputs = [Input.of_angles(numbers)] if len(numbers) else []
        places: list[Shift] = []
        before = 0
        for (k, batch), of_batch in zip(found, angles, strict=True):
            at, count = _width(inputs), len(of_batch)
            places.append(replace(self._shifts[k], inputs=at - count))
            others = batch.inputs[1 if count else 0 :]
            own = self.parts_u[k][batch.first_input :]
            own[:count] = first + before + np.arange(count)
            own[count : count + _width(others)] = first + at + np.arange(_width(others))
            before += count
            inputs += [self._of_member(k, each) for each in others]
        stack: Batch = found[0][1].stacked([batch for _, batch in found], places, self._layout)
        stack.inputs = tuple(inputs)
        return stack, inputs

    def _of_member(self, member: int, input_: Input) -> Input:
        """The input of a member, as one of all: a function of the common clock, or of the arrays of this member."""
        name, function, late = input_.array, input_.function, self._late[member]
        if name == ANGLES:
            part = self.parts_joints[member]
            return replace(input_, function=lambda all_: function({ANGLES: all_[ANGLES][..., part]}))
        if input_.of_discrete:
            key = _name(member, name)
            return replace(input_, array=key, function=lambda all_: function({name: all_[key]}))
        if not late or isinstance(function, Constant):
            return input_
        breakpoints = tuple(t - late for t in input_.breakpoints)
        return replace(input_, function=Delayed(function, late, self._last), breakpoints=breakpoints)

    def _stacked_rows(self, first: int) -> tuple[ConstraintSet, list[Input]]:
        """The rows of constraints of all members, and their inputs, whose components begin at ``first`` in u."""
        sets = [member.constraint_set for member in self.members]
        inputs: list[Input] = []
        places: list[Shift] = []
        for k, rows in enumerate(sets):
            places.append(replace(self._shifts[k], inputs=_width(inputs)))
            own = np.arange(_width(rows.inputs))
            self.parts_u[k][rows.first_input + own] = first + _width(inputs) + own
            inputs += [self._of_member(k, each) for each in rows.inputs]
        stack = ConstraintSet.stacked(sets, places, self._layout)
        stack.inputs = tuple(inputs)
        return stack, inputs


class StackedInputs(Inputs):
    """The inputs of all members, of which equal functions of time are evaluated once."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        super().__init__(inputs)
        self._functions = _functions([each for each in self.parts if not each[0].of_discrete])

    def at(self, t: float, held: Callable[[], Floats], state: Callable[[], Any]) -> Floats:
        u: Floats = np.empty((1, self.size))
        self.along((t,), held, state, u)
        return np.asarray(u[0])

    def along(self, times: Sequence[float], held: Callable[[], Floats], state: Callable[[], Any], out: Floats) -> None:
        out[:] = held()
        try:
            for function, places in self._functions:
                for u, t in zip(out, times, strict=True):
                    u[places] = function(t)
        except Exception:
            out[:] = np.nan
        if not np.isfinite(out).all():
            # one by one, for the input at fault
            for u, t in zip(out, times, strict=True):
                u[:] = super().at(t, held, state)

    def of_times(self, times: Floats, discrete: DiscreteState, angles: Floats) -> Floats | None:
        u = np.empty((len(times), self.size))
        try:
            for input_, part in self.held:
                u[:, part] = input_.at_angles(discrete, angles)
            for function, places in self._functions:
                values = np.array([function(t) for t in times.tolist()], dtype=float)
                u[:, places] = values.reshape(len(times), 1, -1)
        except Exception:
            return None
        return u if np.isfinite(u).all() else None


def _width(inputs: Sequence[Input]) -> int:
    return sum(input_.width for input_ in inputs)


def _name(member: int, name: str) -> str:
    """The name of an array of the discrete state of a member in that of all."""
    return f"{member}.{name}"


def _angles_of(batch: Batch) -> Ints:
    """The numbers of the coordinates of joints that are the first input of a batch; of others none."""
    none: Ints = np.zeros(0, dtype=np.int64)
    return batch.numbers if isinstance(batch, CoordinateForceBatch) else none


@dataclass(frozen=True)
class Delayed:
    """A function of the time by a clock that is ``late``, s; constant after ``last``, s."""

    function: Callable[[float], Any]
    late: float
    last: float

    def __call__(self, clock: float) -> Any:
        return self.function(min(clock + self.late, self.last))


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
    layout = system.layout
    problems = [
        Problem((each.label,), "has discrete states" if each.zero is None else "waits for a function of the state")
        for each in layout.updates
        if each.crossing is None
    ]
    simple = not (problems or any(input_.of_state for input_ in system.inputs))
    simple = simple and all(isinstance(batch, Stackable) and not _touches(batch) for batch in system.batches)
    for item in [] if simple else system.model.items():
        path, batches = (item.table, item.name), type(item).batches([item], layout, system.model)
        if not all(isinstance(batch, Stackable) for batch in batches):
            words = "is no body, point mass, beam, spring, joint, orbit, or load that depends on time"
            problems.append(Problem(path, words))
        elif any(input_.of_state for batch in batches for input_ in batch.inputs):
            problems.append(Problem(path, "depends on the state of the model"))
        elif any(map(_touches, batches)):
            problems.append(Problem(path, "ends steps where it touches"))
    if layout.has_loops:
        problems.append(Problem(("joints",), "are tied by couplings" if layout.relations else "close loops"))
    if system.pattern.net:
        problems.append(Problem(("beams",), "are a net"))
    return problems


def _touches(batch: Batch) -> bool:
    """Whether forces in joints jump where they touch: at the instants of each member, to which all would step."""
    return isinstance(batch, CoordinateForceBatch) and bool(len(batch.limits[0]))
