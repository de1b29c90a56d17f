"""The command of statics: ``femb static``."""

import importlib
import sys
from pathlib import Path

import click

from femb.base.errors import FembError, ModelError
from femb.base.progress import Progress
from femb.cli.files import check_free, check_writable, folder_of
from femb.cli.options import CASE, FORCE, OUT, QUIET, SET
from femb.cli.report import FAILED, INTERRUPTED, located, message_of, reported


class LoadProgress(Progress):
    """The bar of a path, over its load factor."""

    FORMAT = Progress.FORMAT.replace(" s [", " [")


@click.command()
@CASE
@click.option("--factor", type=float, default=1.0, show_default=True, metavar="P", help="Last load factor.")
@click.option("--steps", type=int, default=10, show_default=True, metavar="N", help="Load steps up to it.")
@click.option("--arc-length", is_flag=True, help="Follow the path also where the loads have to fall.")
@click.option(
    "--critical", type=int, default=0, metavar="N", help="Look for N critical load factors, and end with the last."
)
@click.option("--constant", multiple=True, metavar="LOAD", help="Keep this load, or gravity, at its full value.")
@click.option("--time", type=float, default=0.0, metavar="T", help="Instant (s) of the loads and drivers [0].")
@OUT
@SET
@FORCE
@QUIET
def static(
    case: Path,
    factor: float,
    steps: int,
    arc_length: bool,
    critical: int,
    constant: tuple[str, ...],
    time: float,
    out: Path | None,
    overrides: tuple[str, ...],
    force: bool,
    quiet: bool,
) -> None:
    """Find equilibria as the loads of a case grow, and write DIR/static.h5.

    The table shows for every load factor how many eigenvalues of the stiffness are negative: zero where the
    equilibrium is stable. The times of the results count the states from 0.
    """
    from femb.case import load_case

    with reported():
        loaded = load_case(case, overrides)
        file = folder_of(case, out) / "static.h5"
        check_writable(file)
        check_free(file, force)
        module = importlib.import_module("femb.analysis.static")
        progress = LoadProgress(abs(factor), quiet)
        try:
            with located(loaded):
                importlib.import_module("femb.analysis.warmup").compile_first(loaded.model, progress)
                results = module.static(
                    loaded.model,
                    factor=factor,
                    steps=steps,
                    arc_length=arc_length,
                    critical=critical,
                    constant=constant,
                    time=time,
                    assemble=loaded.run is not None and loaded.run.start == "assembled",
                    out=file,
                    case_text=loaded.text,
                    progress=progress,
                )
        except ModelError:
            progress.close()
            raise
        except (FembError, OSError, KeyboardInterrupt) as error:
            progress.close()
            interrupted = isinstance(error, KeyboardInterrupt)
            click.echo("interrupted" if interrupted else message_of(error), err=True)
            if getattr(getattr(error, "results", None), "time", None) is not None:
                click.echo(f"the states up to there are in {file}", err=True)
            sys.exit(INTERRUPTED if interrupted else FAILED)
        progress.close()
        if results.message:
            click.echo(f"warning: {results.message}", err=True)
        if not quiet:
            click.echo(module.report(results))
            click.echo(f"\n{file}")
