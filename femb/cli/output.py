"""Files that commands read and write, and their output: text for people or, with --json, one JSON object.

Errors are messages and exit codes, warnings are lines, and a run ends with its audit.
"""

import contextlib
import dataclasses
import errno
import functools
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from femb.base.errors import ContinuationError, FembError, FembWarning, ModelError, ResultError, SolveError
from femb.base.progress import Progress
from femb.cli.options import CASE

if TYPE_CHECKING:
    from femb.base.options import Run
    from femb.case import Case
    from femb.results.results import Results


FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


def print_warning(message: Warning | str, *details: Any, **more: Any) -> None:
    """Print a warning as one line, without the position in the source."""
    click.echo(f"warning: {message}", err=True)


@contextlib.contextmanager
def located(loaded: Any) -> Iterator[None]:
    """Add the lines of the case file to the problems of a model."""
    try:
        yield
    except ModelError as error:
        raise loaded.located(error) from error


@contextlib.contextmanager
def reported(leave: bool = True) -> Iterator[None]:
    """Turn errors into messages on stderr and exit codes, and femb's warnings into lines there.

    leave : whether an error ends the command.
    """
    try:
        with warnings.catch_warnings():
            show = warnings.showwarning

            def say(message: Warning | str, category: type[Warning], *details: Any, **more: Any) -> None:
                if issubclass(category, FembWarning):
                    print_warning(message)
                else:
                    show(message, category, *details, **more)

            warnings.showwarning = say
            warnings.simplefilter("always", FembWarning)
            yield
    except (FembError, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            raise  # the reader of a pipe has closed it; click ends without a message
        code = FAILED if isinstance(error, SolveError) else BAD_INPUT
        refuse(error, message_of(error), code)
        if leave:
            sys.exit(code)
    except KeyboardInterrupt as error:
        refuse(error, "interrupted", INTERRUPTED)
        sys.exit(INTERRUPTED)


def refuse(error: BaseException, message: str, code: int, kept: str = "") -> None:
    """Say why a command ends: on stderr or, with --json, as an object with the problems of the input by their items.

    code : its exit code. kept : text about what was written up to there, or empty.
    """
    if not wants_json():
        click.echo("\n".join(filter(None, (message, kept))), err=True)
        return
    problems = [{"item": list(each.item), "message": each.message} for each in getattr(error, "problems", ())]
    found = {"kind": type(error).__name__, "message": message, "exit_code": code}
    found |= ({"problems": problems} if problems else {}) | ({"kept": kept} if kept else {})
    click.echo(json.dumps({"error": plain(found)}, indent=1, ensure_ascii=False))


@contextlib.contextmanager
def running(
    loaded: Any, progress: Progress, reached: Callable[[], str], kept: Callable[[BaseException], str]
) -> Iterator[None]:
    """Compile the kernels of a case and run its analysis under a bar; exit with a message where it stops early.

    reached : text of an interruption. kept : text about the results of an analysis that stopped by an error, or empty.
    """
    from femb.run.warmup import compile_first

    try:
        with located(loaded):
            compile_first(loaded.model, progress)
            yield
    except (ModelError, ContinuationError):
        raise
    except (FembError, OSError, KeyboardInterrupt) as error:
        progress.close()
        interrupted = isinstance(error, KeyboardInterrupt)
        code = INTERRUPTED if interrupted else FAILED
        refuse(error, reached() if interrupted else message_of(error), code, kept(error))
        sys.exit(code)
    finally:
        progress.close()


def message_of(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def damped(results: Any) -> str:
    """The energy that ``run.filter`` took away, and what it kept, or what steps of a run to an accuracy damped; empty
    without them."""
    statistics = results.statistics
    if "accuracy" in statistics:
        return f"vibrations that no position shows: {float(statistics['damped']):.2g} J taken out as work"
    if "filter" not in statistics or "energy_error" not in results.audit:
        return ""
    energy, taken = float(results.audit["energy_error"][-1]), float(statistics.get("damped", 0.0))
    text = f"vibrations above {statistics['filter']:.4g} Hz, with an energy error of {energy:.2g} J at the end"
    text += f" and {taken:.2g} J taken out as work" if taken else ""
    # zero in coordinates without positions, as angles of joints
    kept = float(statistics["kept_error"])
    return text + (f"; local errors of the other motion {kept:.2g} m in all" if kept else "")


def _of_forces(balance: float, largest: float, rounding: float, finer: str) -> str:
    """The judgement of forces, as in ``femb info``."""
    from femb.results.verdicts import BALANCED, UNBALANCED

    if balance <= max(BALANCED * largest, rounding):
        return ": good"
    return ": not resolved" if balance > UNBALANCED * largest else f": compare peak loads with a smaller {finer}"


def works(results: Any) -> str:
    """The work of each kind of items at the end, where there is any."""
    found = {group.name: group["work"] for group in results.budget.values() if "work" in group}
    ends = {name: float(values[-1]) for name, values in found.items() if len(values) and values.any()}
    return ", ".join(f"{name.replace('_', ' ')} {work:.3g} J" for name, work in ends.items())


def real_time_factor(results: Any) -> str:
    """The simulated time over the wall time, of a run with sampled laws or sensors."""
    wall = results.statistics["wall_time"]
    if not (wall > 0.0 and any(path.endswith("/sample_time") for path in results.arrays)):
        return ""
    return f", real-time factor {(results.time[-1] - results.time[0]) / wall:.3g} (simulated time over it)"


def audit(results: Any) -> str:
    """Status, cost and audit of a run, one line per entry."""
    import numpy as np

    from femb.results.verdicts import Rounding, energy_line, finer_of, wrinkled

    def largest(name: str) -> float | None:
        if name not in results.audit or not len(results.audit[name]):
            return None
        values = np.asarray(results.audit[name])
        change = values - values[0] if name.endswith("momentum") else values
        return float(np.max(np.linalg.norm(change, axis=1) if change.ndim == 2 else np.abs(change)))

    def listed(*entries: tuple[str, str, str]) -> str:
        sizes = [(largest(name), words) for name, *words in entries]
        if not any(size for size, _ in sizes):
            return ""  # nothing in it
        return ", ".join(f"{label}{size:.2g}{unit}" for size, (label, unit) in sizes if size is not None)

    statistics = results.statistics
    steps = f"{statistics.get('steps', '?')} ({statistics.get('rejected', 0)} rejected)"
    forces = listed(("force_balance", "", " N"), ("moment_balance", "", " N m"))
    if forces and statistics.get("largest_force"):
        scale = statistics["largest_force"]
        judged = _of_forces(largest("force_balance") or 0.0, scale, Rounding.of(results).force, finer_of(results))
        forces += f" (largest force {scale:.2g} N){judged}"
    rows = {
        "method": results.method_reason,
        "status": results.status + (f": {results.message}" if results.message else ""),
        "steps": steps,
        "wall time": f"{statistics['wall_time']:.3g} s{real_time_factor(results)}" if "wall_time" in statistics else "",
        "accuracy": f"{statistics['accuracy']:.2g} of the way of each body, estimated"
        if "accuracy" in statistics
        else "",
        "energy error": energy_line(results),
        "work": works(results),
        "damped": damped(results),
        "membranes": "; ".join(f"{name}: {text}" for name, text in wrinkled(results).items()),
        "modal damping": "; ".join(group.description for group in results.of_table("modal_damping").values()),
        "momentum change": listed(("linear_momentum", "linear ", " N s"), ("angular_momentum", "angular ", " N m s")),
        "force balance": forces,
        "constraint violation": listed(
            ("constraint_position", "position ", ""),
            ("constraint_velocity", "velocity ", ""),
            ("quaternion_norm", "quaternion length ", ""),
        ),
    }
    return "\n".join(f"{label:22}{text}" for label, text in rows.items() if text)


# The files that commands read and write: cases, result files, and whether they may be replaced.


def folder_of(case: Path, out: Path | None) -> Path:
    """The folder of the results of a case; out : its name, or that of a case file to be written in it."""
    return Path("out") / case.stem if out is None else out.parent if out.suffix == ".toml" else out


def opened(case: Path, overrides: tuple[str, ...], out: Path | None, name: str) -> "tuple[Case, Path]":
    """A case, and the file of its results, which must be writable."""
    from femb.case import load_case

    loaded, file = load_case(case, overrides), folder_of(case, out) / name
    check_writable(file)
    return loaded, file


def runnable(case: Path, overrides: tuple[str, ...]) -> "tuple[Case, Run]":
    """A case and its ``[run]``. Raises CaseError if it has none."""
    from femb.case import CaseError, load_case
    from femb.case.text import key_lines

    loaded = load_case(case, overrides)
    if loaded.run is None:
        what = "run: is missing" if loaded.unended is None else "run.duration: is missing"
        line = 1 if loaded.unended is None or case.suffix == ".py" else key_lines(loaded.text).get(("run",), 1)
        raise CaseError.of_file(case, f"{what}; to be run, a case needs [run] with a duration (s)", line)
    return loaded, loaded.run


def check_writable(file: Path) -> None:
    """Raise ResultError if a file obviously cannot be written; nothing is created or changed."""
    folder = file.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if file.is_dir():
        raise ResultError(f"{file}: cannot be written: it is a folder")
    if not folder.is_dir():
        raise ResultError(f"{file}: cannot be written: {folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ResultError(f"{file}: cannot be written: no permission to write in {folder}; try --out DIR")


def check_target(file: Path, force: bool) -> None:
    """Raise ResultError if a file cannot be written, or is there and must not be replaced."""
    check_writable(file)
    check_free(file, force)


def check_free(file: Path, force: bool) -> None:
    """Raise ResultError if a file, or a folder with files, is there that must not be replaced, or another run writes to
    it. All commands that write have this one habit."""
    from femb.results.storage.read import is_being_written, is_finished, killed_at, part_of

    if file.is_dir():
        if not force and any(not old.name.startswith(".") for old in file.iterdir()):
            raise ResultError(f"{file}: has files already; --force replaces those, --out DIR writes to another folder")
        return
    of_run = file.suffix == ".h5"
    if not force and (is_finished(file) if of_run else file.exists()):
        what = "has the results of a finished run; --force replaces them" if of_run else "is there; --force replaces it"
        raise ResultError(f"{file}: {what}, --out writes to another place")
    if is_being_written(file):
        raise ResultError(f"{file}: another run writes to it now; wait for its end, or try --out")
    if of_run and not force and (end := killed_at(file)) is not None:
        resumes = "--resume continues it, " if file.stem == "results" else ""
        raise ResultError(
            f"{part_of(file)}: a run that ended at t = {end:.6g} s is here: {resumes}--force begins anew, "
            "--out writes to another place"
        )


def may_be_of(case: "Case", file: Path) -> bool:
    """Whether a file has finished results that may be those of this case: a case file in TOML, none of whose files
    was changed since."""
    from femb.results.storage.read import is_finished

    if case.path.suffix == ".py" or not is_finished(file):
        return False
    made = file.stat().st_mtime
    named = {case.path.parent / name for name in re.findall(r'"([^"\n]+)"', case.text)}
    return all(not path.is_file() or path.stat().st_mtime <= made for path in named)


def stamp(file: Path) -> tuple[int, int] | None:
    """Inode and time of modification of a file, which tell whether it was replaced; None if it does not exist."""
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns


def read_results(results: Path, lazy: bool = False) -> "tuple[Path, Results]":
    """The result file of a path, and the results in it; prints a note on a later unfinished run, and the output times
    of an unfinished run, on stderr.

    lazy : arrays of a complete run are read and checked on first use.
    """
    from femb.results.results import Results
    from femb.results.storage.read import find_results, part_of, read_content

    file = find_results(results)
    later = part_of(file).exists() and file.exists()
    data = Results(*read_content(file, lazy=True)) if lazy else None
    if data is None or data.status != "complete":
        data = Results.read(file)
    if later:
        click.echo(f"{part_of(file)}: a later run, not finished", err=True)
    if data.status == "running":
        reached = f"up to t = {data.time[-1]:.6g} s" if data.time.size else "none"
        click.echo(f"{file}: {data.message or 'the run goes on'}; output times: {data.time.size}, {reached}", err=True)
    return file, data


# Where click's context keeps that --json is given.
KEY = "femb.json"


def with_json(command: click.Command) -> click.Command:
    """Add the option --json to a command."""

    def remember(context: click.Context, option: click.Parameter, given: bool) -> None:
        context.meta[KEY] = given

    text = "Print one JSON object in place of text."
    command.params.append(click.Option(["--json"], is_flag=True, expose_value=False, callback=remember, help=text))
    return command


def wants_json() -> bool:
    """Whether the command that runs was given --json."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(KEY))


def say(*parts: object, quiet: bool = False) -> None:
    """Print the output of a command; nothing if ``quiet``.

    parts : texts, which are for people; paths of written files, for both; mappings of names to values, which are for
    --json alone. There the files are the list "files", and numbers that are not finite are null.
    """
    if quiet or not parts:
        return
    if not wants_json():
        click.echo("\n".join(str(part) for part in parts if not isinstance(part, Mapping)))
        return
    values: dict[str, object] = {}
    for part in parts:
        if isinstance(part, Mapping):
            values |= {str(name): plain(value) for name, value in part.items()}
    files = [str(part) for part in parts if isinstance(part, Path)]
    click.echo(json.dumps(values | ({"files": files} if files else {}), indent=1, allow_nan=False, ensure_ascii=False))


def fields_of(found: object, *names: str) -> dict[str, object]:
    """Attributes by name, of which --json gives the values."""
    return {name: getattr(found, name) for name in names}


def plain(value: object) -> object:
    """A value as JSON knows it: arrays as lists, complex numbers as [real, imaginary], dataclasses as objects.

    Raises TypeError for anything else.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if hasattr(value, "tolist"):  # of numpy
        return plain(value.tolist())
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Iterable):
        return [plain(entry) for entry in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


class Read(click.ParamType):  # type: ignore[type-arg]
    """The type of an option whose text a function reads, before a case is opened and any file is looked for."""

    name = "text"

    def __init__(self, read: Callable[[str], Any]) -> None:
        self.read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        with reported():
            return self.read(value)


# Commands that analyse a case and write files to its folder.


def of_case(
    name: str, written: Callable[[dict[str, Any]], Iterable[str]] | None = None
) -> Callable[[Callable[..., Iterable[object]]], click.Command]:
    """Make a command of a function of a case, of the file NAME in the folder of its results, and of further options.

    The function, which takes the options `WRITING`, returns the parts to print, as in `femb.cli.output.say`, and errors
    of parts that it could not make: these are reported after the others. Errors of the model are located in the case.

    written : names of the files, patterns with * among them, that options of the command write in place of NAME; those
    that exist are replaced only by --force.
    """

    def command_of(function: Callable[..., Iterable[object]]) -> click.Command:
        @click.command()
        @CASE
        @functools.wraps(function)
        def command(
            case: Path, out: Path | None, overrides: tuple[str, ...], force: bool, quiet: bool, **words: Any
        ) -> None:
            with reported():
                loaded, file = opened(case, overrides, out, name)
                for pattern in (name,) if written is None else written(words):
                    for old in sorted(file.parent.glob(pattern)) if file.parent.is_dir() else ():
                        check_free(old, force)
                with located(loaded):
                    parts = list(function(loaded, file, **words))
                errors = list({str(part): part for part in parts if isinstance(part, Exception)}.values())
                errors.sort(key=lambda error: not isinstance(error, FembError))  # what is no refusal ends the command
                say(*(part for part in parts if not isinstance(part, Exception)), quiet=quiet)
                for error in errors:
                    with reported(leave=error is errors[-1]), located(loaded):
                        raise error

        return command

    return command_of
