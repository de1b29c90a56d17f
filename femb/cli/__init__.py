"""The command line: ``femb run | inverse | compare | linearize | modal | warmup | check | schema | export | plot |
picture | animate``.

Exit codes: 0 done, 1 an analysis failed or its results could not be written, 2 bad input, 130 interrupted by Ctrl-C or
SIGTERM.
Only click is imported here; what a command needs is imported when it runs, so that help comes at once.
"""

import contextlib
import errno
import importlib
import inspect
import json
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import femb
from femb.base.errors import FembError, FembWarning, ModelError, ResultError, SolveError
from femb.base.progress import Progress, counted

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

CASE = click.argument("case", type=click.Path(path_type=Path), metavar="CASE")
RESULTS = click.argument("results", type=click.Path(path_type=Path), metavar="RESULTS")
SET = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Replace an entry, as beams.right.elements=4."
)
OUT = click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the results [out/CASE].")
QUIET = click.option("--quiet", is_flag=True, help="Print nothing but errors.")
FORCE = click.option("--force", is_flag=True, help="Replace results of a finished run, once the new ones are whole.")
FRAME = click.option("--frame", metavar="NAME", help="See the motion from a body or a beam's NAME[NODE] [inertial].")
FROM = click.option("--from", "first", type=float, metavar="T", help="First instant, s.")
TO = click.option("--to", "last", type=float, metavar="T", help="Last instant, s.")
DPI = click.option("--dpi", type=click.IntRange(10, 1200), default=150, show_default=True, help="Dots per inch.")
AZIMUTH = click.option("--azimuth", type=float, default=-60.0, show_default=True, help="Of the viewer, degrees.")
ELEVATION = click.option("--elevation", type=float, default=25.0, show_default=True, help="Above the plane, degrees.")


class InOrder(click.Group):
    """Lists its commands in the order they are written."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(femb.__version__, prog_name="femb", message="%(prog)s %(version)s")
def cli() -> None:
    """Rigid-flexible multibody dynamics.

    CASE is a case file, in TOML or in Python; RESULTS is a results.h5 or the folder that holds it.
    """


@cli.command()
@CASE
@OUT
@SET
@FORCE
@QUIET
def run(case: Path, out: Path | None, overrides: tuple[str, ...], force: bool, quiet: bool) -> None:
    """Integrate a case in time and write DIR/results.h5."""
    _analyse("femb.analysis.simulate", "simulate", case, out, overrides, force, quiet)


@cli.command()
@CASE
@OUT
@SET
@FORCE
@QUIET
def inverse(case: Path, out: Path | None, overrides: tuple[str, ...], force: bool, quiet: bool) -> None:
    """Find the forces that a motion takes which drivers prescribe in full, and write DIR/results.h5."""
    _analyse("femb.analysis.inverse", "inverse", case, out, overrides, force, quiet)


@cli.command()
@CASE
@click.option("--against", type=click.Path(path_type=Path), metavar="RESULTS", help="Compare with these results.")
@OUT
@SET
@FORCE
@QUIET
def compare(
    case: Path, against: Path | None, out: Path | None, overrides: tuple[str, ...], force: bool, quiet: bool
) -> None:
    """Run a case in every formulation that admits it, and tabulate the largest differences in DIR/comparison.csv."""
    with _reported():
        loaded = _loaded(case, overrides)
        folder = _folder(case, out)
        check_writable(folder / "comparison.csv")
        for formulation in importlib.import_module("femb.base.options").FORMULATIONS:
            check_free(folder / formulation / "results.h5", force)
        module = importlib.import_module("femb.analysis.compare")
        progress = Progress(loaded.run.duration, quiet)
        other = None if against is None else _unfinished(against)[0]
        try:
            with _located(loaded):
                found = module.compare(
                    loaded.model, loaded.run, against=other, out=folder, case_text=loaded.text, progress=progress
                )
        finally:
            progress.close()
        paths = found.write(folder)
        if not quiet:
            click.echo(found.text())
            click.echo("\n".join(map(str, ("", *paths))))
        if found.failed:
            sys.exit(FAILED)


@cli.command()
@CASE
@click.option("--start", metavar="HOW", help="as_given, assembled or equilibrium [run.start].")
@click.option("--at-rest", is_flag=True, help="Start with no speeds but those of drivers and of --state.")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="NAME=VALUE",
    help="Start with this coordinate of a joint or this rate, as 'joints.mast.angle rate=32'.",
)
@click.option("--no-gravity", is_flag=True, help="Leave the weight out.")
@click.option("--trim", is_flag=True, help="Look for steady motion near the start first.")
@click.option("--vary", multiple=True, metavar="NAME", help="A state that may change for that, as 'bodies.hub.x rate'.")
@click.option("--periodic", "period", type=float, metavar="SECONDS", help="Look for a motion of this period instead.")
@click.option(
    "--multiblade",
    "groups",
    multiple=True,
    metavar="NAME=STATE,STATE,...",
    help="One motion of all blades, in the order of azimuth, seen from the frame that does not turn.",
)
@click.option("--rotor", metavar="STATE", help="The angle that turns the blades of --multiblade.")
@click.option("--blocks", is_flag=True, help="Give the nine blocks of a single free body, an aircraft, too.")
@click.option("--output", "outputs", multiple=True, metavar="NAME", help="An output, as joints.hinge.angle.")
@OUT
@SET
@QUIET
def linearize(
    case: Path,
    start: str | None,
    at_rest: bool,
    states: tuple[str, ...],
    no_gravity: bool,
    trim: bool,
    vary: tuple[str, ...],
    period: float | None,
    groups: tuple[str, ...],
    rotor: str | None,
    blocks: bool,
    outputs: tuple[str, ...],
    out: Path | None,
    overrides: tuple[str, ...],
    quiet: bool,
) -> None:
    """Linearise a case about its start, and write its state space: DIR/linear.npz, .mat and .h5.

    With --blocks write DIR/blocks.npz too. With --periodic find a periodic motion and its Floquet multipliers, and
    write DIR/periodic.npz.
    """
    from femb.case import load_case

    with _reported():
        loaded = load_case(case, overrides)
        folder = _folder(case, out)
        check_writable(folder / "linear.npz")
        module = importlib.import_module("femb.analysis.linear.report")
        if no_gravity:
            loaded.model.gravity = 0.0 * loaded.model.gravity
        begin = {"start": start, "at_rest": at_rest, "state": _numbers(states), "vary": vary}
        blades = {name: value.split(",") for name, value in (_pair("--multiblade", each) for each in groups)}
        with _located(loaded):
            if period is not None:
                if trim or blades or rotor or blocks or outputs:
                    raise ModelError("--periodic goes without --trim, --multiblade, --rotor, --blocks and --output")
                found, text = module.periodic_motion(loaded.model, loaded.run, period, **begin)
                paths = [found.write(folder / "periodic.npz")]
            else:
                words = {"trim": trim, "blades": blades, "rotor": rotor, "blocks": blocks}
                space, text, nine = module.linearized(loaded.model, loaded.run, outputs or None, **begin, **words)
                paths = [space.write(folder / f"linear{suffix}") for suffix in (".npz", ".mat", ".h5")]
                paths += [nine.write(folder / "blocks.npz")] if nine is not None else []
        if not quiet:
            click.echo("\n".join([text, "", *map(str, paths)]))


@cli.command()
@CASE
@click.option("--modes", type=int, default=6, metavar="N", show_default=True, help="How many elastic modes to keep.")
@click.option("--held", metavar="BODY", help="The body that is held in them, and whose frame it is.")
@OUT
@SET
@QUIET
def modal(case: Path, modes: int, held: str | None, out: Path | None, overrides: tuple[str, ...], quiet: bool) -> None:
    """Reduce a structure to modes with its quadratic velocity forces, and write DIR/modal.npz and .h5."""
    from femb.case import load_case

    with _reported():
        loaded = load_case(case, overrides)
        folder = _folder(case, out)
        check_writable(folder / "modal.npz")
        module = importlib.import_module("femb.analysis.modal")
        start = loaded.run.start if loaded.run is not None else "as_given"
        with _located(loaded):
            found = module.modal_model(loaded.model, modes, held=held, start=start)
        paths = [found.write(folder / f"modal{suffix}") for suffix in (".npz", ".h5")]
        if not quiet:
            click.echo("\n".join([*found.names, "", *map(str, paths)]))


@cli.command()
@QUIET
def warmup(quiet: bool) -> None:
    """Compile the kernels of beams now, in two processes, so that no run has to."""
    from femb.numerics.compile import cache_place, is_compiled

    with _reported():
        importlib.import_module("femb.analysis.warmup").main([])
        if not quiet and is_compiled():
            click.echo(f"compiled kernels are in {cache_place().folder}")


@cli.command()
@CASE
@SET
def check(case: Path, overrides: tuple[str, ...]) -> None:
    """Check a case and print what it describes."""
    from femb.case import load_case

    with _reported():
        loaded = load_case(case, overrides)
        with _located(loaded):
            click.echo(importlib.import_module("femb.analysis.simulate").summary(loaded.model, loaded.run))


@cli.command()
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="File to write [print it].")
def schema(out: Path | None) -> None:
    """Write the JSON Schema of case files, by which editors complete and check them."""
    with _reported():
        text = json.dumps(importlib.import_module("femb.case.json_schema").schema(), indent=2)
        if out is None:
            click.echo(text)
            return
        check_writable(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
        click.echo(out)


@cli.command()
@RESULTS
@click.option("--format", "form", default="vtu", metavar="NAME", show_default=True, help="Kind of file to write.")
@FRAME
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder to write to [beside RESULTS].")
@click.option("--every", type=click.IntRange(min=1), default=1, metavar="N", help="Only each N-th output time.")
@click.option("--lines-only", is_flag=True, help="Beams as lines, without solids.")
@QUIET
def export(
    results: Path, form: str, frame: str | None, out: Path | None, every: int, lines_only: bool, quiet: bool
) -> None:
    """Write results as files for other programs, such as ParaView."""
    with _reported():
        exporters = importlib.import_module("femb.export").EXPORTERS
        if form not in exporters:
            raise ResultError(f"--format {form}: must be one of {', '.join(exporters)}")
        file, word = _unfinished(results)
        options: dict[str, Any] = {"frame": frame} if frame else {}
        if lines_only:
            options["solids"] = False
        taken = inspect.signature(exporters[form]).parameters
        for name in options.keys() - taken.keys():
            flag = {"solids": "--lines-only"}.get(name, f"--{name}")
            raise ResultError(f"{flag}: the format {form} has no such option")
        with counted(quiet) as progress:
            data = _read(file, word)
            paths = exporters[form](data, out or file.parent / form, every=every, progress=progress, **options)
        for path in () if quiet else paths:
            click.echo(path)


@cli.command()
@RESULTS
@click.option("--what", multiple=True, metavar="TEXT", help="What to show; may be given several times [overview].")
@click.option("--item", "items", multiple=True, metavar="NAME", help="Show this item; * and ? are wildcards [all].")
@FROM
@TO
@FRAME
@click.option("--out", type=click.Path(path_type=Path), metavar="PNG", help="Picture to write [beside RESULTS].")
@DPI
@click.option("--list", "listed", is_flag=True, help="List what can be shown.")
def plot(
    results: Path,
    what: tuple[str, ...],
    items: tuple[str, ...],
    first: float | None,
    last: float | None,
    frame: str | None,
    out: Path | None,
    dpi: int,
    listed: bool,
) -> None:
    """Draw results over time.

    TEXT is a figure of the case, a figure or quantity that --list names, "TEXT of ITEM, ITEM", or the path of an
    array as bodies/hub/position; " | " puts two side by side. A beam's node is NAME[NODE].
    """
    with _reported():
        shown = importlib.import_module("femb.cli.show")
        file, word = _unfinished(results)
        data = _read(file, word)
        click.echo(
            shown.listing(data) if listed else shown.draw_plot(data, file, out, what, items, frame, (first, last), dpi)
        )


@cli.command()
@RESULTS
@click.option("--times", metavar="T,T,...", help="Instants to draw, s.")
@click.option("--count", type=click.IntRange(min=1), default=5, show_default=True, help="Or so many, evenly spread.")
@FRAME
@AZIMUTH
@ELEVATION
@click.option("--out", type=click.Path(path_type=Path), metavar="PNG", help="Picture to write [beside RESULTS].")
@DPI
def picture(
    results: Path,
    times: str | None,
    count: int,
    frame: str | None,
    azimuth: float,
    elevation: float,
    out: Path | None,
    dpi: int,
) -> None:
    """Draw bodies and beams at several instants."""
    with _reported():
        shown = importlib.import_module("femb.cli.show")
        file, word = _unfinished(results)
        data = _read(file, word)
        click.echo(shown.draw_picture(data, file, out, times, count, frame or "inertial", azimuth, elevation, dpi))


@cli.command()
@RESULTS
@FROM
@TO
@click.option("--speed", type=float, metavar="X", help="Seconds of motion in a second of film [1, or 10 s in all].")
@click.option("--fps", type=click.IntRange(min=1), default=20, show_default=True, help="Images a second.")
@FRAME
@AZIMUTH
@ELEVATION
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help=".gif or .mp4 [animation.gif].")
@click.option("--dpi", type=click.IntRange(10, 1200), default=80, show_default=True, help="Dots per inch.")
@QUIET
def animate(
    results: Path,
    first: float | None,
    last: float | None,
    speed: float | None,
    fps: int,
    frame: str | None,
    azimuth: float,
    elevation: float,
    out: Path | None,
    dpi: int,
    quiet: bool,
) -> None:
    """Draw the motion as a film."""
    with _reported():
        shown = importlib.import_module("femb.cli.show")
        view = (frame or "inertial", azimuth, elevation)
        file, word = _unfinished(results)
        data = _read(file, word)
        click.echo(shown.draw_animation(data, file, out, (first, last), speed, fps, *view, dpi, quiet))


def _folder(case: Path, out: Path | None) -> Path:
    """Where results of a case go."""
    return out or Path("out") / case.stem


def _loaded(case: Path, overrides: tuple[str, ...]) -> Any:
    """A case that has a ``[run]``."""
    from femb.case import CaseError, load_case

    loaded = load_case(case, overrides)
    if loaded.run is None:
        raise CaseError.of_file(case, "run: is missing; to be run, a case needs [run] with a duration (s)", 1)
    return loaded


def _pair(option: str, text: str) -> tuple[str, str]:
    """NAME=VALUE of an option. Raises ModelError."""
    name, sign, value = text.rpartition("=") if option == "--state" else text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise ModelError(f"{option} {text}: wanted NAME=VALUE")
    return name.strip(), value.strip()


def _numbers(texts: tuple[str, ...]) -> dict[str, float]:
    """Values of --state by name. Raises ModelError."""
    found = {}
    for text in texts:
        name, value = _pair("--state", text)
        try:
            found[name] = float(value)
        except ValueError:
            raise ModelError(f"--state {text}: {value!r} is not a number") from None
    return found


def _analyse(
    module: str, function: str, case: Path, out: Path | None, overrides: tuple[str, ...], force: bool, quiet: bool
) -> None:
    """Carry out an analysis over the time of ``[run]``, with its progress, and print its audit."""
    with _reported():
        loaded = _loaded(case, overrides)
        file = _folder(case, out) / "results.h5"
        check_writable(file)
        check_free(file, force)
        analysis = getattr(importlib.import_module(module), function)
        places = (file, importlib.import_module("femb.results.read").part_of(file))
        before = [_stamp(each) for each in places]
        progress = Progress(loaded.run.duration, quiet)
        try:
            with _located(loaded):
                importlib.import_module("femb.analysis.warmup").compile_first(loaded.model, progress)
                results = analysis(loaded.model, loaded.run, out=file, case_text=loaded.text, progress=progress)
        except ModelError:
            progress.close()
            raise
        except (FembError, OSError, KeyboardInterrupt) as error:
            progress.close()
            interrupted = isinstance(error, KeyboardInterrupt)
            click.echo(f"interrupted at t = {progress.time:.6g} s" if interrupted else _text(error), err=True)
            for each, stamp in zip(places, before, strict=True):
                if _stamp(each) not in (None, stamp):
                    click.echo(f"the results up to there are in {each}", err=True)
                    break
            sys.exit(INTERRUPTED if interrupted else FAILED)
        progress.close()
        if not quiet:
            click.echo(audit(results))
            click.echo(f"{'results':22}{file}")


def _said(message: Warning | str, *where: Any, **more: Any) -> None:
    """Print a warning as a line for the user, who does not know the lines of the source."""
    click.echo(f"warning: {message}", err=True)


def _interrupt(number: int, frame: Any) -> None:
    # Once only: it must not stop what the first one asked for, to put the results in order.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Entry point of the command ``femb``."""
    warnings.showwarning = _said
    # What ends a process from outside, and the end of its terminal, end a run as Ctrl-C does: with its results.
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    cli(prog_name="femb")


def audit(results: Any) -> str:
    """What should be conserved or zero in a run, and what it cost, one line each."""
    import numpy as np

    def largest(name: str) -> float | None:
        if name not in results.audit or not len(results.audit[name]):
            return None
        values = np.asarray(results.audit[name])
        change = values - values[0] if name.endswith("momentum") else values
        return float(np.max(np.linalg.norm(change, axis=1) if change.ndim == 2 else np.abs(change)))

    def listed(*entries: tuple[str, str, str]) -> str:
        sizes = [(largest(name), words) for name, *words in entries]
        return ", ".join(f"{label}{size:.2g}{unit}" for size, (label, unit) in sizes if size is not None)

    statistics = results.statistics
    steps = f"{statistics.get('steps', '?')} ({statistics.get('rejected', 0)} rejected)"
    energy = listed(("energy_error", "", " J"))
    scale = max((largest(f"{kind}_energy") or 0.0 for kind in ("kinetic", "potential")), default=0.0)
    if energy and scale:
        energy += f" (largest energy {scale:.2g} J)"
    rows = {
        "status": results.status + (f": {results.message}" if results.message else ""),
        "steps": steps,
        "wall time": f"{statistics['wall_time']:.3g} s" if "wall_time" in statistics else "",
        "energy error": energy,
        "momentum change": listed(("linear_momentum", "linear ", " N s"), ("angular_momentum", "angular ", " N m s")),
        "force balance": listed(("force_balance", "", " N"), ("moment_balance", "", " N m")),
        "constraint violation": listed(
            ("constraint_position", "position ", ""),
            ("constraint_velocity", "velocity ", ""),
            ("quaternion_norm", "quaternion length ", ""),
        ),
    }
    return "\n".join(f"{label:22}{text}" for label, text in rows.items() if text)


def check_writable(file: Path) -> None:
    """Raise ResultError if a file plainly cannot be written; nothing is made or touched."""
    folder = file.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if file.is_dir():
        raise ResultError(f"{file}: cannot be written: it is a folder")
    if not folder.is_dir():
        raise ResultError(f"{file}: cannot be written: {folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ResultError(f"{file}: cannot be written: no permission to write in {folder}; try --out DIR")


def check_free(file: Path, force: bool) -> None:
    """Raise ResultError if a file has results that must not be replaced, or another run writes to it."""
    if not force and importlib.import_module("femb.results.read").is_finished(file):
        raise ResultError(
            f"{file}: has the results of a finished run; --force replaces them, --out DIR writes to another folder"
        )
    if importlib.import_module("femb.results.read").is_being_written(file):
        raise ResultError(f"{file}: another run writes to it now; wait for its end, or try --out DIR")


@contextlib.contextmanager
def _located(loaded: Any) -> Iterator[None]:
    """Give the problems of a model the lines of its case file."""
    try:
        yield
    except ModelError as error:
        raise loaded.located(error) from error


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    """Turn errors into messages on stderr and exit codes, and femb's warnings into lines there."""
    try:
        with warnings.catch_warnings():
            show = warnings.showwarning

            def say(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
                if issubclass(category, FembWarning):
                    click.echo(f"warning: {message}", err=True)
                else:
                    show(message, category, *place, **more)

            warnings.showwarning = say
            warnings.simplefilter("always", FembWarning)
            yield
    except SolveError as error:
        click.echo(_text(error), err=True)
        sys.exit(FAILED)
    except (FembError, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            raise  # the reader of a pipe has left; click ends quietly
        click.echo(_text(error), err=True)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)


def _text(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _stamp(file: Path) -> tuple[int, int] | None:
    """What tells whether a file was replaced."""
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns


def _unfinished(results: Path) -> tuple[Path, str]:
    """The result file that is meant, and what is to be said of a run beside it."""
    reading = importlib.import_module("femb.results.read")
    file = reading.find_results(results)
    part = reading.part_of(file)
    return file, f"{part}: a later run, not finished" if file.exists() and part.exists() else ""


def _read(file: Path, word: str) -> Any:
    """Results, with a word on stderr where they are not all."""
    data = importlib.import_module("femb.results.results").Results.read(file)
    if word:
        click.echo(word, err=True)
    if data.status == "running":
        reached = f"up to t = {data.time[-1]:.6g} s" if data.time.size else "none"
        click.echo(f"{file}: {data.message or 'the run goes on'}; output times: {data.time.size}, {reached}", err=True)
    return data
