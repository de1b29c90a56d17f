"""The commands of analyses that show their progress: ``femb run | static | inverse | compare | sweep``."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from femb.base.errors import ContinuationError
from femb.base.progress import LoadProgress, Progress, counted
from femb.cli.options import ALLOW, CASE, FORCE, OUT, QUIET, SET, WRITING, OptionError
from femb.cli.output import (
    FAILED,
    INTERRUPTED,
    audit,
    check_free,
    check_target,
    check_writable,
    fields_of,
    folder_of,
    located,
    may_be_of,
    opened,
    reported,
    runnable,
    running,
    say,
    stamp,
    wants_json,
)

if TYPE_CHECKING:
    from femb.results.results import Results
    from femb.results.sweep import Sweep
    from femb.study.study import Study


def _in_time(
    analysis: Callable[..., "Results"],
    case: Path,
    out: Path | None,
    overrides: tuple[str, ...],
    force: bool,
    quiet: bool,
    resume: bool = False,
    extend: float | None = None,
) -> None:
    """Carry out an analysis over the time of ``[run]``, show its progress and print its audit.

    analysis : such as ``femb.simulate``. resume, extend : whether it continues a run, and by how long (s).
    """
    from femb.results.storage.read import last_time, part_of

    goes_on = resume or extend is not None
    with reported():
        if force and goes_on:
            raise OptionError("--force: begins anew, wanted without --resume and --extend")
        loaded, options = runnable(case, overrides)
        file = folder_of(case, out) / "results.h5"
        check_writable(file)
        continues: dict[str, Any] = {"resume": True} if resume else {}
        continues |= {} if extend is None else {"extend": extend}
        if not continues and not force and analysis.__name__ == "simulate" and may_be_of(loaded, file):
            # of another case, the results are refused below
            with contextlib.suppress(ContinuationError), located(loaded):
                results = analysis(loaded.model, options, out=file, case_text=loaded.text, resume=True)
                if not quiet:
                    click.echo(f"{file}: has the results of this case already; --force computes anew", err=True)
                _say(results, file, quiet)
                return
        if not continues:
            check_free(file, force)
            continues |= {"force": True} if force and analysis.__name__ == "simulate" else {}
        previous = {path: stamp(path) for path in (file, part_of(file))}
        progress = Progress(options.duration, quiet)

        def kept(error: BaseException) -> str:
            # a run that is continued may leave its earlier part, where that is longer
            written = [path for path, old in previous.items() if stamp(path) and (goes_on or stamp(path) != old)]
            if not written:
                return ""
            ends = [last_time(path) or 0.0 if goes_on else 0.0 for path in written]
            there = f"t = {max(ends):.6g} s" if max(ends) > progress.time else "there"
            return f"the results up to {there} are in {written[ends.index(max(ends))]}"

        def reached() -> str:
            # a run that is continued shows its time with its first step
            begun = progress.time or not goes_on
            return f"interrupted at t = {progress.time:.6g} s" if begun else "interrupted before the run went on"

        with running(loaded, progress, reached, kept):
            results = analysis(loaded.model, options, out=file, case_text=loaded.text, progress=progress, **continues)
        _say(results, file, quiet)


def _say(results: "Results", file: Path, quiet: bool) -> None:
    """Print the summary of results. Their description reads most of them, which nobody sees without --json."""
    from femb.results.verdicts import description

    details = [description(results)] if wants_json() else []
    say(audit(results), f"{'results':22}{file}", {"results": file}, *details, quiet=quiet)


@click.command()
@CASE
@click.option("--resume", is_flag=True, help="Continue a run that was killed or interrupted.")
@click.option(
    "--extend",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="DURATION",
    help="Go on with a finished run, by so long (s).",
)
@WRITING
def run(**words: Any) -> None:
    """Integrate a case in time and write DIR/results.h5."""
    from femb.run.simulate import simulate

    _in_time(simulate, **words)


@click.command()
@CASE
@WRITING
def inverse(**words: Any) -> None:
    """Find the forces of drivers that prescribe the whole motion; write DIR/results.h5."""
    from femb.run.inverse import inverse

    _in_time(inverse, **words)


def _control(text: str | None) -> tuple[str, float] | None:
    """A place and its last displacement from PLACE=M."""
    if text is None:
        return None
    place, _, last = text.partition("=")
    try:
        return place, float(last)
    except ValueError:
        raise OptionError(f"--control: got {text!r}, wanted PLACE=M, such as hub.z=-0.1 (m)") from None


# Fields that --json gives of equilibria.
STATIC = (
    "load_factor", "stability", "negative_eigenvalues", "neutral_motions", "critical_load_factors", "mode_names",
)  # fmt: skip


@click.command()
@CASE
@click.option("--factor", type=float, default=1.0, show_default=True, metavar="P", help="Last load factor.")
@click.option("--steps", type=int, default=10, show_default=True, metavar="N", help="Load steps up to it.")
@click.option("--arc-length", is_flag=True, help="Follow the path also where the loads have to fall.")
@click.option("--follow-mode", is_flag=True, help="The same, and along the mode where the structure buckles.")
@click.option("--control", metavar="PLACE=M", help="Steps of a displacement up to M (m), as hub.z=-0.1 or boom.8.z=1.")
@click.option(
    "--critical", type=int, default=0, metavar="N", help="Look for N critical load factors, and end with the last."
)
@click.option("--constant", multiple=True, metavar="LOAD", help="Keep this load, or gravity, at its full value.")
@click.option("--time", type=float, default=0.0, metavar="T", help="Instant (s) of the loads and drivers [0].")
@WRITING
def static(case: Path, out: Path | None, overrides: tuple[str, ...], force: bool, quiet: bool, **words: Any) -> None:
    """Find equilibria as the loads of a case grow, and write DIR/static.h5.

    The table shows for every load factor how many eigenvalues of the stiffness are negative, and whether the
    equilibrium is stable. The times of the results count the states from 0.
    """
    from femb.run import static as analysis

    with reported():
        loaded, file = opened(case, overrides, out, "static.h5")
        check_free(file, force)
        words["control"] = _control(words["control"])
        progress = LoadProgress(abs(words["factor"]), quiet)

        def kept(error: BaseException) -> str:
            written = getattr(getattr(error, "results", None), "time", None) is not None
            return f"the states up to there are in {file}" if written else ""

        with running(loaded, progress, lambda: "interrupted", kept):
            results = analysis.static(
                loaded.model,
                **words,
                assemble=loaded.start == "assembled",
                out=file,
                case_text=loaded.text,
                progress=progress,
            )
        if results.message:
            click.echo(f"warning: {results.message}", err=True)
        say(analysis.report(results), "", file, fields_of(results, *STATIC), quiet=quiet)


@click.command()
@CASE
@click.option("--against", type=click.Path(path_type=Path), metavar="RESULTS", help="Compare with these results.")
@WRITING
def compare(
    case: Path, against: Path | None, out: Path | None, overrides: tuple[str, ...], force: bool, quiet: bool
) -> None:
    """Run a case in every formulation that admits it, and tabulate the largest differences in DIR/comparison.csv."""
    from femb.base.options import FORMULATIONS
    from femb.results.storage.read import find_results
    from femb.run.compare import compare

    with reported():
        loaded, options = runnable(case, overrides)
        folder = folder_of(case, out)
        check_target(folder / "comparison.csv", force)
        for formulation in FORMULATIONS:
            check_free(folder / formulation / "results.h5", force)
        progress = Progress(options.duration, quiet)
        other = None if against is None else find_results(against)
        try:
            with located(loaded):
                comparison = compare(
                    loaded.model, options, against=other, out=folder, case_text=loaded.text, progress=progress
                )
        finally:
            progress.close()
        paths = comparison.write(folder)
        say(comparison.text(), "", *paths, comparison.content(), quiet=quiet)
        if comparison.failed:
            sys.exit(FAILED)


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
@ALLOW
@click.option("--workers", type=click.IntRange(min=0), metavar="N", help="Processes [cores]; 0: none but this one.")
@click.option("--scheduler", metavar="ADDRESS", help="Run on the workers of this dask scheduler, as tcp://host:8786.")
@click.option("--cluster", metavar="KIND", help="Start dask workers: local, or slurm, by jobs of one core.")
@click.option("--together", is_flag=True, help="Integrate 32 runs at a time as one ensemble, in this process.")
@click.option("--form", "exact", is_flag=True, help="Loops by the exact form of the case over its ranges, made once.")
@click.option("--modes", type=click.IntRange(min=1), metavar="N", help="Of --form: keep N flexible modes.")
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
    exact: bool,
    modes: int | None,
    optimize: int | None,
    sobol: bool,
    out: Path | None,
    overrides: tuple[str, ...],
    force: bool,
    quiet: bool,
) -> None:
    """Carry out the runs of a study, and write the tables DIR/sweep.csv and DIR/sweep.h5.

    STUDY is a TOML file with a case, its variables and outputs, and a design. The same command continues a study that
    was interrupted or killed, and computes nothing once it is finished. A run that fails has its message in the table.
    femb plot DIR/sweep.h5 draws the table.
    """
    from femb.numerics.threads import core_count
    from femb.study.study import read_study
    from femb.study.sweep import TABLE, compile_for, is_finished

    with reported():
        if sobol and optimize:
            raise OptionError("--optimize and --sobol: give one of the two")
        if modes and not exact:
            raise OptionError("--modes: is of --form")
        design = "saltelli" if sobol else "optimize" if optimize else None
        described = read_study(study, overrides, design=design, runs=optimize)
        folder = folder_of(study, out)
        table_file = folder / f"{TABLE}.h5"
        check_writable(table_file)
        form = None
        if exact:
            from femb.robust.uncertain import uncertain

            form = uncertain(described, modes=modes)
        if not force and is_finished(described, folder, form):
            if not quiet:
                click.echo(f"{table_file}: has the results of this study already; --force computes anew", err=True)
        else:
            if not (folder / f"{TABLE}.part").exists():
                check_free(table_file, force)
            compile_for(described, Messages(quiet))
        if workers is None:
            workers = 0 if scheduler or cluster or together or exact else core_count()
        table = _swept(
            described, quiet, workers=workers, out=folder, again=force, scheduler=scheduler, cluster=cluster,
            together=together, form=form,
        )  # fmt: skip
        _say_table(table, folder, [] if form is None else [form.table()], quiet)
        if table.failed.all():
            if quiet:
                first = " ".join(table.messages[0].split())
                click.echo(f"all {len(table)} runs failed, the first by: {first}", err=True)
            sys.exit(FAILED)


def _swept(study: "Study", quiet: bool, **options: Any) -> "Sweep":
    """The table of a study, whose runs are counted by a bar; where it is interrupted the command ends."""
    from femb.study.sweep import sweep

    done = 0
    try:
        with counted(quiet, "run") as bar:

            def progress(finished: int, failed: int, total: int) -> None:
                nonlocal done
                done = finished
                bar(finished, total)

            return sweep(study, progress=progress, **options)
    except KeyboardInterrupt as stop:
        count = f"{done} of {study.most} runs"
        click.echo(f"interrupted after {count}; the same command goes on with the others", err=True)
        click.echo("\n".join(filter(None, getattr(stop, "__notes__", ()))), err=True)
        sys.exit(INTERRUPTED)


def _say_table(table: "Sweep", folder: Path, more: list[str], quiet: bool) -> None:
    """Say what the table of a study has, with more texts, and draw the Sobol indices of its design."""
    from femb.study.sweep import TABLE

    paths, texts = [folder / f"{TABLE}.csv", folder / f"{TABLE}.h5"], [table.summary(), *more]
    values: dict[str, object] = {"columns": table.columns()}
    if table.design == "saltelli":
        from femb.results.sobol import all_indices

        found, problems = all_indices(table)
        texts += [*(indices.table() for indices in found.values()), *problems]
        values["sobol"] = found
        if found:
            from femb.pictures.figures import plot

            paths.append(plot(table.results(), folder / "sobol.png", f"sobol of {', '.join(found)}"))
    say("\n\n".join(texts), "", *paths, values, quiet=quiet)
