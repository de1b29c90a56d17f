"""The command of studies: ``femb sweep``."""

import importlib
import sys
from pathlib import Path

import click

from femb.base.progress import counted
from femb.cli.options import FORCE, OUT, QUIET, SET, OptionError
from femb.cli.output import check_free, check_writable, folder_of, say
from femb.cli.report import FAILED, INTERRUPTED, reported


class Messages:
    """Prints what is being done on stderr."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def message(self, text: str) -> None:
        """Print what is being done."""
        if not self.quiet:
            click.echo(text, err=True)

    def update(self, t: float) -> None:
        """Nothing: compilation has no time."""


@click.command()
@click.argument("study", type=click.Path(path_type=Path), metavar="STUDY")
@click.option("--workers", type=click.IntRange(min=0), metavar="N", help="Processes [cores]; 0: none but this one.")
@click.option("--scheduler", metavar="ADDRESS", help="Run on the workers of this dask scheduler, as tcp://host:8786.")
@click.option("--cluster", metavar="KIND", help="Start dask workers: local, or slurm, by jobs of one core.")
@click.option("--together", is_flag=True, help="Integrate 50 runs at a time as one ensemble, in this process.")
@click.option("--optimize", type=click.IntRange(min=1), metavar="N", help="Search for the best, in at most N runs.")
@click.option("--sobol", is_flag=True, help="Sobol indices of all variables, from runs x (variables + 2) runs.")
@OUT
@SET
@FORCE
@QUIET
def sweep(
    study: Path,
    workers: int | None,
    scheduler: str | None,
    cluster: str | None,
    together: bool,
    optimize: int | None,
    sobol: bool,
    out: Path | None,
    overrides: tuple[str, ...],
    force: bool,
    quiet: bool,
) -> None:
    """Carry out the runs of a study, and write the tables DIR/sweep.csv and DIR/sweep.h5.

    STUDY is a TOML file with a case, its variables and outputs, and a design. The same command continues a study that
    was interrupted or killed. A run that fails has its message in the table. femb plot DIR/sweep.h5 draws the table.
    """
    with reported():
        module = importlib.import_module("femb.study.sweep")
        if sobol and optimize:
            raise OptionError("--optimize and --sobol: give one of the two")
        design = "saltelli" if sobol else "optimize" if optimize else None
        described = module.read_study(study, overrides, design=design, runs=optimize)
        folder = folder_of(study, out)
        table_file, part = folder / f"{module.TABLE}.h5", folder / f"{module.TABLE}.part"
        check_writable(table_file)
        if not part.exists():
            check_free(table_file, force)
        if workers is None:
            workers = (
                0 if scheduler or cluster or together else importlib.import_module("femb.numerics.threads").core_count()
            )
        module.compile_for(described, Messages(quiet))
        done = 0
        try:
            with counted(quiet, "run") as bar:

                def progress(finished: int, failed: int, total: int) -> None:
                    nonlocal done
                    done = finished
                    bar(finished, total)

                places = {"workers": workers, "scheduler": scheduler, "cluster": cluster}
                more = {"together": together, "again": force, "progress": progress}
                table = module.sweep(described, out=folder, **more, **places)
        except KeyboardInterrupt:
            count = f"{done} of {described.most} runs"
            click.echo(f"interrupted after {count}; the same command goes on with the others", err=True)
            sys.exit(INTERRUPTED)
        paths = [folder / f"{module.TABLE}.csv", table_file]
        texts: list[str] = [table.summary()]
        values: dict[str, object] = {"columns": table.columns()}
        if described.design == "saltelli":
            found, problems = importlib.import_module("femb.results.sobol").all_indices(table)
            texts += [*(indices.table() for indices in found.values()), *problems]
            values["sobol"] = found
            if found:
                plot = importlib.import_module("femb.pictures.figures").plot
                paths.append(plot(table.results(), folder / "sobol.png", f"sobol of {', '.join(found)}"))
        say("\n\n".join(texts), "", *paths, values, quiet=quiet)
        if table.failed.all():
            sys.exit(FAILED)
