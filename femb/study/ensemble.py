"""Ensembles: many models integrated together, as one system that nothing couples.

All members of a group take the same steps, those of the member with the largest error. The Python of a step, set-up of
kernels and output are then shared: docs/howto/sweep.md. Where a group cannot go on, each half of it starts anew,
down to single runs, which fail with their own message. Members with joints, discrete states and the like have runs of
their own.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from femb.base.errors import FembError, ModelError, Problem, ResultError, SolveError
from femb.base.html import Brief
from femb.base.options import AUTO, Run
from femb.base.progress import counted
from femb.base.types import Bools, Floats, Ints
from femb.base.values import shown, whole_number
from femb.elements.joint.constraint_set import ConstraintSet, ConstraintTable
from femb.elements.joint.coordinates import JointCoordinates
from femb.layout.element import Batch, Input, TrialError
from femb.layout.stacking import Shift, Stackable, stacked_layout
from femb.model.model import Model
from femb.recording.frames import Frames
from femb.recording.record import Recorder
from femb.results.results import Results
from femb.results.storage.file import MemoryWriter
from femb.run.calling import RunOptions, read_call
from femb.run.method_choice import with_method
from femb.run.simulate import simulate, tolerance_notes
from femb.run.time_loop import RunSummary, integrate
from femb.statics.start import started
from femb.steppers import make_stepper
from femb.study.outputs import history
from femb.system.block_lu import LowRankSolver
from femb.system.budget import Budget
from femb.system.pattern import StackedPattern
from femb.system.system import System
from femb.system.velocity_coordinates import VelocityCoordinates
from femb.vibration.completion import system_of


class StackedSystem(System):
    """The equations of motion of all ``members``, which nothing couples: evaluated and solved together.

    A step costs the Python of one model, and the arithmetic of all. The batches are those of the element library with
    the rows of all members: what replaces their compiled kernels, such as kernels on a GPU, serves both.
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
        self.pattern = StackedPattern(layout, [member.pattern for member in members])
        self.solver = LowRankSolver(self.pattern)
        self.constraint_set = ConstraintSet(layout, ConstraintTable.empty())
        self.budget = Budget([], layout, False)
        self.batches = []
        inputs: list[Input] = []
        self.parts_u: list[Ints] = [np.full(member.n_u, -1) for member in members]
        for kind in dict.fromkeys(type(batch) for member in members for batch in member.batches):
            inputs += self._stack(kind, shifts, _width(inputs))
        self.singular_batches = [batch for batch in self.batches if batch.singularities]
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
    if simple and not system.n_c and all(isinstance(batch, Stackable) for batch in system.batches):
        return problems
    for item in system.model.items():
        batches = type(item).batches([item], system.layout, system.model)
        coupled = item.constraint_rows(system.layout) or item.constraint_inputs(system.layout)
        if coupled or not all(isinstance(batch, Stackable) for batch in batches):
            problems.append(
                Problem(
                    (item.table, item.name), "is no body, point mass, beam, spring, orbit, or load that depends on time"
                )
            )
        elif any(input_.of_state for batch in batches for input_ in batch.inputs):
            problems.append(Problem((item.table, item.name), "depends on the state of the model"))
    return problems


METHODS = (AUTO, "radau", "bdf", "generalized-alpha", "rk")
# Members of a group: the Python of a step is then a small part, and the matrices stay in the cache of a core.
TOGETHER = 32


@dataclass(frozen=True, eq=False)
class Ensemble(Brief):
    """The results of the members of an ensemble, in their order.

    results : of each member, None of one that has not begun. messages : why a member failed, "" of the others. alone :
    why a member had a run of its own, "" of those that were integrated together.
    """

    results: tuple[Results | None, ...]
    messages: tuple[str, ...]
    alone: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """A sentence on members with runs of their own; empty if there are none."""
        reasons = [reason for reason in self.alone if reason]
        if not reasons:
            return ""
        return (
            f"{len(reasons)} of {len(self.alone)} members had runs of their own, the first of them since {reasons[0]}"
        )

    @property
    def failed(self) -> Bools:
        """(s,) whether a member failed."""
        return np.array([bool(message) for message in self.messages], dtype=bool)

    def history(self, name: str) -> tuple[Floats, Floats]:
        """Times (T,) s, and values (s, T) of a quantity of all members; NaN where a member has none.

        name : as of the outputs of a study, such as "beams.boom.-1.deflection.z". Raises ResultError: no such quantity.
        """
        known = [(k, history(results, name)) for k, results in enumerate(self.results) if results is not None]
        if not known:
            raise ResultError("no member of the ensemble has results")
        time = max((found.time for _, found in known), key=len)
        values = np.full((len(self.results), len(time)), np.nan)
        for k, found in known:
            values[k, : len(found.values)] = found.values
        return time, values


def simulate_ensemble(
    models: Iterable[Model],
    run: Run | None = None,
    *,
    together: int = TOGETHER,
    progress: Callable[[int, int], None] | bool | None = None,
    **options: Unpack[RunOptions],
) -> Ensemble:
    """Integrate many models in time, in groups that take the same steps; one core.

    models : those of bodies, point masses, beams, springs between them, and loads that depend on time, under one
    gravity, or in orbits of their own, are integrated together, whatever numbers they differ in. Others, as with
    joints, latches, sensors and sampled controllers, have runs of their own: their results are those of
    ``femb.simulate``, to the last bit, and ``alone`` of the result tells why. run, or its fields as keyword options, as
    of ``femb.simulate``; in velocity coordinates. together : members of a group; the results of a member depend on the
    others of its group within the tolerance of the run.
    progress : True for a bar; or called as ``progress(done, total)`` after every group.

    The results of members that are integrated together have no audit, and ``statistics`` of their group. A member that
    fails, also one whose model is wrong, has its message, and the others go on. Raises ModelError for options.
    """
    members = list(models)
    if not members:
        raise ModelError("models: got none, wanted at least one femb.Model")
    if not whole_number(together) or together < 1:
        raise ModelError(f"together: got {shown(together)}, wanted a whole number of members of a group")
    for k, model in enumerate(members):
        if not isinstance(model, Model):
            raise ModelError(f"models[{k}]: got {shown(model)}, wanted a femb.Model")
    _, run, _ = read_call(members[0], run, options)
    if run.formulation != "velocity":
        raise ModelError.at(
            ("run", "formulation"), f"got {run.formulation!r}, wanted 'velocity': an ensemble has no other coordinates"
        )
    if run.method not in METHODS:
        raise ModelError.at(("run", "method"), f"got {run.method!r}, wanted one of {', '.join(METHODS)} in an ensemble")
    results: list[Results | None] = [None] * len(members)
    messages, alone = [""] * len(members), [""] * len(members)
    with counted(quiet=progress is not True, unit="run", always=True) as bar:
        tell = progress if callable(progress) else bar
        for first in range(0, len(members), together):
            group = _Members(run, results, messages, alone)
            numbers = range(first, min(first + together, len(members)))
            built = [k for k in numbers if group.built(k, members[k])]
            for k in built:
                if alone[k]:
                    group.carry_out([k])
            group.carry_out([k for k in built if not alone[k]])
            tell(numbers[-1] + 1, len(members))
    return Ensemble(tuple(results), tuple(messages), tuple(alone))


class _Members:
    """Members that are integrated together; writes results, messages and reasons for own runs by their numbers."""

    def __init__(self, run: Run, results: list[Results | None], messages: list[str], alone: list[str]) -> None:
        self.run, self.results, self.messages, self.alone = run, results, messages, alone
        self.systems: dict[int, System] = {}

    def built(self, number: int, model: Model) -> bool:
        """Whether the equations of a member could be made; notes the reason why it cannot be with the others."""
        try:
            system = system_of(model, self.run.assembles)
        except ModelError as error:
            self.messages[number] = str(error)
            return False
        problems = refused(system)
        first = next((each for k, each in self.systems.items() if not self.alone[k]), system)
        if not np.array_equal(first.model.gravity, system.model.gravity):
            problems.append(Problem(("gravity",), "is another than that of the members before"))
        if problems:
            self.alone[number] = str(replace(problems[0], item=(f"models[{number}]", *problems[0].item)))
        self.systems[number] = system
        return True

    def carry_out(self, numbers: Sequence[int]) -> None:
        """Integrate these members together; where that fails, in halves."""
        if len(numbers) == 1:
            self._alone(numbers[0])
        elif numbers:
            try:
                self._together(numbers)
            except (SolveError, TrialError):
                half = len(numbers) // 2
                self.carry_out(numbers[:half])
                self.carry_out(numbers[half:])

    def _alone(self, number: int) -> None:
        try:
            self.results[number] = simulate(self.systems[number], self.run)
        except FembError as error:
            self.messages[number] = str(error)
            self.results[number] = getattr(error, "results", None)

    def _together(self, numbers: Sequence[int]) -> None:
        members = [started(self.systems[k], self.run) for k in numbers]
        run, reason = with_method(members[0], self.run)
        recorders = [Recorder(member, run.output) for member in members]
        forces = any(recorder.selection.wants_forces for recorder in recorders)
        form = StackedSystem(members, forces)
        stepper = make_stepper(form, run)
        instants = list(integrate(form, stepper, run.output_times(), RunSummary([]), max_steps=run.most_steps))
        all_frames = recorders[0].selection.evaluation(instants)
        statistics = stepper.statistics.as_dict() | {"members": len(members)}
        for k, number in enumerate(numbers):
            frames = _frames_of(form, k, all_frames)
            self.results[number] = _recorded(recorders[k], run, reason, frames, forces, statistics)


def _frames_of(form: StackedSystem, member: int, frames: Frames) -> Frames:
    """Output instants of one member; its work and unbalanced forces are those of all members."""
    in_q, in_v, in_u = form.parts_q[member], form.parts_v[member], form.parts_u[member]
    q, v, a = (np.ascontiguousarray(x) for x in (frames.q[:, in_q], frames.v[:, in_v], frames.a[:, in_v]))
    through = frames.through and replace(frames.through, nodes=_frames_of(form, member, frames.through.nodes))
    return replace(frames, q=q, v=v, a=a, u=np.ascontiguousarray(frames.u[:, in_u]), through=through)


def _recorded(
    recorder: Recorder, run: Run, reason: str, frames: Frames, forces: bool, statistics: dict[str, Any]
) -> Results:
    """The results of a member at all output instants, whose ``frames`` may have no ``forces``."""
    attributes = recorder.attributes("", run.method)
    if reason:
        attributes[""]["method_reason"] = reason
    writer = MemoryWriter(recorder.static(), attributes)
    writer.append(recorder.without_audit(frames, forces))
    writer.finish("complete", "; ".join(tolerance_notes(recorder.system, run)), statistics)
    return Results(*writer.content())
