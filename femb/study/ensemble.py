"""Ensembles: many models integrated together, as one system that nothing couples.

All members of a group take the same steps, those of the member with the largest error. The Python of a step, set-up of
kernels and output are then shared: docs/howto/sweep.md. Where a group cannot go on, each half of it starts anew,
down to single runs, which fail with their own message. Members with closed loops, sampled states and the like have runs
of their own.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from femb.base.errors import FembError, ModelError, Problem, ResultError, SolveError
from femb.base.html import Brief
from femb.base.options import AUTO, Run
from femb.base.progress import counted
from femb.base.types import Bools, Floats
from femb.base.values import shown, whole_number
from femb.model.model import Model
from femb.recording.frames import Frames
from femb.recording.instants import Part
from femb.recording.record import Recorder
from femb.results.results import Results
from femb.results.storage.file import MemoryWriter
from femb.run.calling import RunOptions, read_call
from femb.run.events import RunSummary
from femb.run.method_choice import with_defaults
from femb.run.simulate import simulate, tolerance_notes
from femb.run.start import started
from femb.study.run_outputs import history
from femb.study.stacked_system import refused
from femb.study.together import Member, moved, quiet
from femb.system.system import System
from femb.vibration.completion import system_of

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

        name : as in the outputs of a study, such as "beams.boom.-1.deflection.z". Raises ResultError: no such quantity.
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

    Models of bodies, point masses, beams, springs, joints in trees with what acts along them, drivers, latches, and
    loads that depend on time, under one gravity, or in orbits of their own, are integrated together, whatever numbers
    they differ in. A member in which a latch engages goes on with those that have had as many events. Others, as with
    closed loops, end stops, sensors and sampled controllers, have runs of their own: their results are those of
    ``femb.simulate``, to the last bit, and ``alone`` of the result tells why.

    The results of members that are integrated together have no audit, and ``statistics`` of their group. A member that
    fails, also one whose model is wrong, has its message, and the others go on.

    Parameters:
        models: the members.
        run: options of the integration in velocity coordinates, in place of options by name.
        together: number of members of a group; the results of a member depend on the others of its group within the
            tolerance of the run.
        progress: True for a bar; or called as ``progress(done, total)`` after every group.
        options: fields of ``femb.Run`` by name, as in ``simulate``.

    Raises:
        ModelError: options that are wrong.
    """
    if not isinstance(models, Iterable) or isinstance(models, type):
        raise ModelError(f"models: got {shown(models)}, wanted a list of femb.Model")
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
        """Integrate these members together."""
        if len(numbers) == 1:
            self._alone(numbers[0])
        elif numbers:
            self._together(numbers)

    def _alone(self, number: int) -> None:
        try:
            self.results[number] = simulate(self.systems[number], self.run)
        except FembError as error:
            self.messages[number] = str(error)
            self.results[number] = getattr(error, "results", None)

    def _together(self, numbers: Sequence[int]) -> None:
        begun: dict[int, System] = {}
        for k in numbers:
            try:
                begun[k] = started(self.systems[k], self.run)
            except SolveError:
                self._alone(k)
        if not begun:
            return
        run, reason, _ = with_defaults(next(iter(begun.values())), self.run)
        recorders = [Recorder(member, run.output) for member in begun.values()]
        forces = any(recorder.selection.wants_forces for recorder in recorders)
        evaluate = recorders[0].selection.evaluation
        found = moved([quiet(member, forces) for member in begun.values()], run, forces, evaluate)
        for number, recorder, member in zip(begun, recorders, found, strict=True):
            if member is not None:
                with suppress(SolveError):
                    self.results[number] = _recorded(recorder, run, reason, member, evaluate, forces, len(begun))
            if self.results[number] is None:
                self._alone(number)


def _recorded(
    recorder: Recorder,
    run: Run,
    reason: str,
    member: Member,
    evaluate: Callable[[Sequence[Part]], Frames],
    forces: bool,
    members: int,
) -> Results:
    """The results of a member at all output instants; forces : whether the output has forces."""
    attributes = recorder.attributes("", run.method)
    if reason:
        attributes[""]["method_reason"] = reason
    writer = MemoryWriter(recorder.static(), attributes)
    frames = evaluate(member.output)
    writer.append(recorder.without_audit(frames.part(np.flatnonzero(np.isin(frames.time, run.output_times()))), forces))
    notes, statistics = "; ".join(tolerance_notes(recorder.system, run)), {**member.statistics, "members": members}
    events = recorder.selection.of(dict(RunSummary([*member.events]).arrays()))
    writer.finish("complete", notes, statistics, events)
    return Results(*writer.content())
