"""Continuing a run: which file has its beginning, whether it is the same run, and how long it becomes."""

from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from typing import Any

from femb import __version__
from femb.base.errors import ContinuationError, ModelError, ResultError
from femb.base.options import Run, StartState
from femb.base.values import shown
from femb.recording.named_state import start_state
from femb.results.storage.read import (
    Earlier,
    is_being_written,
    is_finished,
    killed_at,
    part_of,
    read_earlier,
    unfinished,
)
from femb.system.system import System

# The duration and output interval of a run before it was extended, among its options.
BEFORE = "case_duration"


@dataclass(frozen=True)
class Continuation:
    """The run to be carried out, its options as results have them, and the part of it that exists.

    earlier : None where the run begins. finished : whether nothing is left to be done.
    """

    run: Run
    options: dict[str, Any]
    earlier: Earlier | None = None
    extended: bool = False
    finished: bool = False


def options_of(run: Run) -> dict[str, Any]:
    """The options of a run by name, with dots in the names of parts; those that are None are left out."""
    result: dict[str, Any] = {}
    for field in fields(run):
        value = getattr(run, field.name)
        if is_dataclass(value):
            parts = {f"{field.name}.{part.name}": getattr(value, part.name) for part in fields(value)}
            # lists are stored as text, and not if they are empty
            texts = {name: ", ".join(part) if isinstance(part, tuple) else part for name, part in parts.items()}
            result |= {name: part for name, part in texts.items() if part is not None and part != ""}
        elif value is not None:
            result[field.name] = value
    result["output_interval"] = run.output_interval or run.duration / 1000.0
    return result


def continued(
    run: Run, out: str | Path | None, case_text: str, resume: bool, extend: float | None, force: bool = False
) -> Continuation:
    """The continuation of a run whose results are in ``out``.

    resume : continue it where a process was ended; one that was never begun begins. extend : s, go on by so long after
    its end. force : begin anew over a run whose process was ended. Raises ResultError where that is not said,
    ContinuationError where the file has another run, or none that can be continued; ModelError for
    wrong arguments.
    """
    options = options_of(run)
    if force and (resume or extend is not None):
        raise ModelError("got force beside resume or extend: it begins anew")
    if not resume and extend is None:
        if out is not None and not force and (end := killed_at(Path(out))) is not None:
            raise ResultError(
                f"{part_of(Path(out))}: a run that ended at t = {end:.6g} s is here: resume=True continues it, "
                "force=True begins anew, another out writes to another place"
            )
        return Continuation(run, options)
    if out is None:
        raise ModelError.at(("out",), "is missing: a run is continued in its result file")
    path = Path(out)
    if resume and extend is not None:
        raise ModelError("got resume and extend: first resume the run, then extend it")
    if is_being_written(path):
        raise ContinuationError(f"{path}: another run writes to it now; wait for its end")
    return (
        _resumed(run, options, path, case_text) if extend is None else _extended(run, options, path, case_text, extend)
    )


def _resumed(run: Run, options: dict[str, Any], path: Path, case_text: str) -> Continuation:
    earlier = unfinished(path)
    if earlier is None:
        if not is_finished(path):
            return Continuation(run, options)
        earlier = read_earlier(path)
        _check_same(earlier, options, case_text)
        return Continuation(run, options, earlier, finished=True)
    _check_same(earlier, options, case_text)
    there = earlier.attributes.get("run", {})
    if BEFORE in there:
        run = replace(run, duration=float(there["duration"]), output_interval=float(there["output_interval"]))
        options |= {"duration": run.duration, BEFORE: there[BEFORE]}
    if not earlier.part("stepper"):
        # it had not come to its first checkpoint
        if BEFORE in there:
            raise ContinuationError(f"{earlier.path}: has no checkpoint, and cannot be continued")
        return Continuation(run, options)
    return Continuation(run, options, earlier, extended=BEFORE in there)


def _extended(run: Run, options: dict[str, Any], path: Path, case_text: str, extend: float) -> Continuation:
    if isinstance(extend, bool) or not isinstance(extend, int | float) or not isfinite(extend) or not extend > 0.0:
        raise ModelError(f"extend: got {shown(extend)}, wanted a duration above 0 (s)")
    if unfinished(path) is not None:
        raise ContinuationError(f"{path}: the run is not finished; resume it first, then extend it")
    earlier = read_earlier(path)
    _check_same(earlier, options, case_text)
    stopped_by = str(earlier.part("loop").get("stopped_by", ""))
    if stopped_by:
        raise ContinuationError(f"{path}: the run was ended by event {stopped_by!r}, and cannot be extended")
    if not earlier.part("stepper"):
        raise ContinuationError(f"{path}: has no checkpoint, and cannot be continued; carry out the run again")
    there = earlier.attributes["run"]
    longer = float(there["duration"]) + extend
    if longer < 1.0e-9 * float(there["output_interval"]) + float(there["duration"]):
        raise ModelError(f"extend: got {extend:g} s, which is next to nothing after {there['duration']:g} s")
    interval = float(there["output_interval"])
    options |= {"duration": longer, "output_interval": interval, BEFORE: there.get(BEFORE, run.duration)}
    return Continuation(replace(run, duration=longer, output_interval=interval), options, earlier, True)


def _check_same(earlier: Earlier, options: dict[str, Any], case_text: str) -> None:
    """Raise ContinuationError where the earlier run was of another case or version of femb, or had other options."""
    root, there = earlier.attributes[""], dict(earlier.attributes.get("run", {}))
    if not there:
        raise ContinuationError(f"{earlier.path}: is no run in time with a checkpoint, and cannot be continued")
    if root.get("femb_version") != __version__:
        raise ContinuationError(
            f"{earlier.path}: was made by femb {root.get('femb_version')}, this is {__version__}; continue it with "
            "that, or carry out the run from its beginning"
        )
    differences = _text_difference(str(root.get("case", "")), case_text)
    there["duration"] = there.pop(BEFORE, there["duration"])
    for name in {**there, **options} if not differences else ():
        before, now = there.get(name), options.get(name)
        if before != now:
            differences.append(f"run.{name} was {_word(before)}, now it is {_word(now)}")
    if differences:
        raise ContinuationError(
            f"{earlier.path}: has another run than this, which cannot continue it: {'; '.join(differences)}. Take back "
            "the change, or carry out the run from its beginning"
        )


def _text_difference(before: str, now: str) -> list[str]:
    lines = zip_longest(before.rstrip().splitlines(), now.rstrip().splitlines())
    for number, (old, new) in enumerate(lines, start=1):
        if (old or "").strip() != (new or "").strip():
            words = ["missing" if line is None else repr(line.strip()) for line in (old, new)]
            return [f"line {number} of the case was {words[0]}, now it is {words[1]}"]
    return []


def _word(value: Any) -> str:
    return "not given" if value is None else repr(value)


def started(system: "System", run: Run | None, held: str | None = None) -> "System":
    """The system at the start of a run, in equilibrium or in the last state of another run if ``run.start`` says so.

    held : as in ``femb.statics.equilibrium.in_equilibrium``.
    Raises as ``femb.statics.equilibrium.in_equilibrium``, and as ``femb.recording.named_state.start_state``.
    """
    if run is not None and isinstance(run.start, StartState):
        return start_state(system, run.start)
    if run is None or run.start != "equilibrium":
        return system
    from femb.statics.equilibrium import in_equilibrium

    return in_equilibrium(system, held)
