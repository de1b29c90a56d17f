"""The commands of analyses in time: ``femb run | inverse | compare``."""

import importlib
import sys
from pathlib import Path

import click

from femb.base.errors import FembError, ModelError
from femb.base.progress import Progress
from femb.cli.files import check_free, check_writable, folder_of, result_file, runnable, stamp
from femb.cli.options import CASE, FORCE, OUT, QUIET, SET
from femb.cli.report import FAILED, INTERRUPTED, audit, located, message_of, reported


def _in_time(name: str, module: str, function: str, text: str) -> click.Command:
    """The command of an analysis over the time of ``[run]``."""

    @click.command(name, help=text)
    @CASE
    @OUT
    @SET
    @FORCE
    @QUIET
    def command(case: Path, out: Path | None, overrides: tuple[str, ...], force: bool, quiet: bool) -> None:
        _analyse(module, function, case, out, overrides, force, quiet)

    return command


run = _in_time("run", "femb.analysis.simulate", "simulate", "Integrate a case in time and write DIR/results.h5.")
inverse = _in_time(
    "inverse",
    "femb.analysis.inverse",
    "inverse",
    "Find the forces that a motion takes which drivers prescribe in full, and write DIR/results.h5.",
)


@click.command()
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
    with reported():
        loaded, options = runnable(case, overrides)
        folder = folder_of(case, out)
        check_writable(folder / "comparison.csv")
        for formulation in importlib.import_module("femb.base.options").FORMULATIONS:
            check_free(folder / formulation / "results.h5", force)
        module = importlib.import_module("femb.analysis.compare")
        progress = Progress(options.duration, quiet)
        other = None if against is None else result_file(against)[0]
        try:
            with located(loaded):
                comparison = module.compare(
                    loaded.model, options, against=other, out=folder, case_text=loaded.text, progress=progress
                )
        finally:
            progress.close()
        paths = comparison.write(folder)
        if not quiet:
            click.echo(comparison.text())
            click.echo("\n".join(map(str, ("", *paths))))
        if comparison.failed:
            sys.exit(FAILED)


def _analyse(
    module: str, function: str, case: Path, out: Path | None, overrides: tuple[str, ...], force: bool, quiet: bool
) -> None:
    """Run an analysis over the time of ``[run]``, with its progress, and print its audit."""
    from femb.results.read import part_of

    with reported():
        loaded, options = runnable(case, overrides)
        file = folder_of(case, out) / "results.h5"
        check_writable(file)
        check_free(file, force)
        analysis = getattr(importlib.import_module(module), function)
        files = (file, part_of(file))
        previous = [stamp(path) for path in files]
        progress = Progress(options.duration, quiet)
        try:
            with located(loaded):
                importlib.import_module("femb.analysis.warmup").compile_first(loaded.model, progress)
                results = analysis(loaded.model, options, out=file, case_text=loaded.text, progress=progress)
        except ModelError:
            progress.close()
            raise
        except (FembError, OSError, KeyboardInterrupt) as error:
            progress.close()
            interrupted = isinstance(error, KeyboardInterrupt)
            click.echo(f"interrupted at t = {progress.time:.6g} s" if interrupted else message_of(error), err=True)
            for path, old in zip(files, previous, strict=True):
                if stamp(path) not in (None, old):
                    click.echo(f"the results up to there are in {path}", err=True)
                    break
            sys.exit(INTERRUPTED if interrupted else FAILED)
        progress.close()
        if not quiet:
            click.echo(audit(results))
            click.echo(f"{'results':22}{file}")
