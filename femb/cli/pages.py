"""The commands that show results in a browser: ``femb report | view``."""

import importlib
import tempfile
from pathlib import Path
from typing import Any

import click

from femb.cli.files import check_free, check_writable, only_results, read_results
from femb.cli.options import FORCE, QUIET, RESULTS
from femb.cli.output import say, wants_json
from femb.cli.report import reported

FRAMES = click.option(
    "--frames", type=click.IntRange(2, 20_000), default=600, show_default=True, help="Most images of the animation."
)


@click.command()
@RESULTS
@click.argument("others", nargs=-1, type=click.Path(path_type=Path), metavar="[OTHER]...")
@click.option("--out", type=click.Path(path_type=Path), metavar="HTML", help="Page to write [beside RESULTS].")
@FRAMES
@FORCE
@QUIET
def report(results: Path, others: tuple[Path, ...], out: Path | None, frames: int, force: bool, quiet: bool) -> None:
    """Write a page of HTML that shows results in any browser, without a network.

    What was run, the audit in words, the moving structure, time histories, peak loads; also of the results of modes,
    static, sweep, linearize and shake. RESULTS may be the folder of any of these. The plots of histories also show
    those of each OTHER run, dashed.
    """
    with reported():
        file, data = read_results(only_results(results))
        page = out or file.with_name("report.html" if file.stem == "results" else f"{file.stem}_report.html")
        check_writable(page)
        check_free(page, force)
        beside = {str(other): read_results(only_results(other))[1] for other in others}
        write = importlib.import_module("femb.reporting.report").report
        say(write(data, page, frames=frames, name=file.name, beside=beside), quiet=quiet)


@click.command()
@RESULTS
@FRAMES
@QUIET
def view(results: Path, quiet: bool, **words: Any) -> None:
    """Show results in the browser, by a temporary page as of femb report."""
    import webbrowser

    with reported():
        file, data = read_results(only_results(results))
        folder = Path(tempfile.mkdtemp(prefix="femb_"))
        made = importlib.import_module("femb.reporting.report").report
        page = made(data, folder / f"{file.parent.name or file.stem}.html", name=file.name, **words)
        opened = webbrowser.open(page.as_uri())
        if opened or wants_json():
            say(page, quiet=quiet)
        else:
            say(f"{page}: no browser was found; open this page in one")
