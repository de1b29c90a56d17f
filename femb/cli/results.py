"""The commands that read results: ``femb export | plot | picture | animate``."""

import importlib
import inspect
from pathlib import Path
from typing import Any

import click

from femb.base.errors import ResultError
from femb.base.progress import counted
from femb.cli.files import read_results, result_file
from femb.cli.options import AZIMUTH, DPI, ELEVATION, FRAME, FROM, QUIET, RESULTS, TO
from femb.cli.report import reported


@click.command()
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
    with reported():
        exporters = importlib.import_module("femb.export").EXPORTERS
        if form not in exporters:
            raise ResultError(f"--format {form}: must be one of {', '.join(exporters)}")
        file, note = result_file(results)
        options: dict[str, Any] = {"frame": frame} if frame else {}
        if lines_only:
            options["solids"] = False
        taken = inspect.signature(exporters[form]).parameters
        for name in options.keys() - taken.keys():
            flag = {"solids": "--lines-only"}.get(name, f"--{name}")
            raise ResultError(f"{flag}: the format {form} has no such option")
        with counted(quiet) as progress:
            data = read_results(file, note)
            paths = exporters[form](data, out or file.parent / form, every=every, progress=progress, **options)
        for path in () if quiet else paths:
            click.echo(path)


@click.command()
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
    with reported():
        shown = importlib.import_module("femb.cli.show")
        file, note = result_file(results)
        data = read_results(file, note)
        click.echo(
            shown.listing(data) if listed else shown.draw_plot(data, file, out, what, items, frame, (first, last), dpi)
        )


@click.command()
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
    with reported():
        shown = importlib.import_module("femb.cli.show")
        file, note = result_file(results)
        data = read_results(file, note)
        click.echo(shown.draw_picture(data, file, out, times, count, frame or "inertial", azimuth, elevation, dpi))


@click.command()
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
    with reported():
        shown = importlib.import_module("femb.cli.show")
        view = (frame or "inertial", azimuth, elevation)
        file, note = result_file(results)
        data = read_results(file, note)
        click.echo(shown.draw_animation(data, file, out, (first, last), speed, fps, *view, dpi, quiet))
