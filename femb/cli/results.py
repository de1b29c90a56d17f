"""The commands that read results: ``femb report | view | loads | pointing | export | plot | picture | animate``."""

import inspect
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from femb.base.errors import ResultError
from femb.base.progress import counted
from femb.cli.options import CAMERA, DPI, FORCE, FRAME, ITEM, QUIET, RESULTS, SET, SPAN, OptionError, numbers
from femb.cli.output import check_free, check_target, read_results, reported, say, wants_json

if TYPE_CHECKING:
    from femb.base.types import Floats
    from femb.results.results import Results


@click.command()
@RESULTS
@ITEM
@SPAN
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder to write to [beside RESULTS].")
@FORCE
@QUIET
def loads(
    results: Path,
    items: tuple[str, ...],
    first: float | None,
    last: float | None,
    out: Path | None,
    force: bool,
    quiet: bool,
) -> None:
    """Print the peak loads of results, and write DIR/loads.csv and loads.h5.

    Root loads of appendages, section loads and stresses of beams, reactions of joints, forces of springs: the largest
    and smallest value of each, when and where. loads.h5 also has the envelopes along the beams.
    """
    from femb.linear.peak_loads import peak_loads

    with reported():
        file, data = read_results(results)
        folder = out or file.parent
        targets = [folder / f"loads{suffix}" for suffix in (".csv", ".h5")]
        for target in targets:
            check_target(target, force)
        found = peak_loads(data, items, (first, last))
        paths = [found.write(target) for target in targets]
        say(found.table(), "", *paths, {"peaks": [peak.row() for peak in found.peaks]}, quiet=quiet)


@click.command()
@RESULTS
@click.option("--of", metavar="NAME", help="Quantity, as controllers.attitude.error, or as bodies.hub.turn.")
@click.option("--window", "windows", type=float, multiple=True, metavar="T", help="Length of a window, s; repeatable.")
@click.option("--first", type=float, metavar="T", help="Leave out what is before T, s.")
@click.option("--linear", is_flag=True, help="Of a case in place of results: the budget of its loop in closed form.")
@click.option("--budget", type=click.Path(path_type=Path), metavar="FILE", help="Sources beside sensors (TOML).")
@click.option("--worst", is_flag=True, help="Of --linear: the worst sums over the ranges of [parameters], too.")
@click.option("--by", multiple=True, metavar="NAME", help="A parameter of that [all with a range].")
@click.option("--modes", type=int, metavar="N", help="Of that: keep N modes of the plant over the ranges.")
@SET
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Figure [pointing.png beside RESULTS].")
@DPI
@FORCE
@QUIET
def pointing(
    results: Path,
    of: str | None,
    windows: tuple[float, ...],
    first: float | None,
    linear: bool,
    budget: Path | None,
    worst: bool,
    by: tuple[str, ...],
    modes: int | None,
    overrides: tuple[str, ...],
    out: Path | None,
    dpi: int,
    force: bool,
    quiet: bool,
) -> None:
    """Print absolute, mean and relative pointing errors by windows of time, and draw them.

    The mean error is that of the mean over a window, the relative one what is left within it: RMS, and 99.7 % of the
    time. With --linear RESULTS is a case, and the errors are those of its linear loop by source and axis.
    """
    from femb.results.pointing import pointing as errors

    if out is not None and not out.suffix:
        out = out.with_name(f"{out.name}.png")
    with reported():
        if linear:
            if first is not None:
                raise OptionError("--first: is of results, not of --linear")
            if not worst and (by or modes is not None):
                raise OptionError("--by, --modes: are of --worst")
            target = out or Path("out") / results.stem / "pointing.png"
            over = {"by": by, "overrides": overrides} | ({} if modes is None else {"modes": modes})
            _budget(results, of, windows, budget, over if worst else None, overrides, target, dpi, force, quiet)
            return
        if budget is not None or overrides or worst or by or modes is not None:
            raise OptionError("--budget, --worst, --by, --modes, --set: are of --linear")
        if of is None:
            raise OptionError("--of: is missing; wanted a quantity, as controllers.attitude.error")
        file, data = read_results(results)
        target = out or file.parent / "pointing.png"
        check_target(target, force)
        found = errors(data, of, windows or None, first)
        found.plot().savefig(target, dpi=dpi)
        say(found.table(), "", target, {"windows": found.rows()}, quiet=quiet)


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _budget(
    case: Path, of: str | None, windows: Sequence[float], budget: Path | None, over: dict[str, Any] | None,
    overrides: Sequence[str], target: Path, dpi: int, force: bool, quiet: bool,
) -> None:  # fmt: skip
    """Print and draw the linear pointing budget of a case, a table for each window, and the worst ``over`` ranges."""
    from femb.case import load_case
    from femb.linear.pointing_budget import MEASURES, plot_budgets, pointing_budget, read_budget

    keys, sources = ({}, []) if budget is None else read_budget(budget)
    of, windows = of or keys.get("of"), windows or _listed(keys.get("window"))
    if of is None:
        raise OptionError("--of: is missing, here or in the budget file; wanted an output, as bodies.hub.turn")
    if not windows:
        raise OptionError("--window: is missing, here or in the budget file; wanted a time in s, as 10")
    check_target(target, force)
    loaded = load_case(case, overrides)
    words = {word: keys[word] for word in ("apart", "level") if word in keys}
    found = [pointing_budget(loaded, of, sources, window, **words) for window in windows]
    worst = []
    if over is not None:
        from femb.robust.worst_pointing import worst_pointing

        for window in windows:
            with counted(quiet, "budget") as bar:
                worst.append(worst_pointing(case, of, sources, window=window, progress=bar, **words, **over))
    target.parent.mkdir(parents=True, exist_ok=True)
    required = keys.get("required")
    largest: list[Floats | None] = [each.sums for each in worst] or [None] * len(found)
    plot_budgets(found, required, largest).savefig(target, dpi=dpi)
    kept = [] if required is None else [each.beside(required, own) for each, own in zip(found, largest, strict=True)]
    sums = [{word: each.total(word) for word in MEASURES} | {"window": each.window} for each in found]
    values = {"of": found[0].of, "sums": sums}
    values |= {"worst": [vars(error) | {"window": each.budget.window} for each in worst for error in each.errors]}
    texts = [*(each.table() for each in (*found, *worst)), "\n".join(kept)]
    say("\n\n".join(filter(None, texts)), "", target, values | ({"required": kept} if kept else {}), quiet=quiet)


@click.command()
@RESULTS
@click.option("--format", "form", default="vtu", metavar="NAME", show_default=True, help="Kind of file to write.")
@click.option("--what", multiple=True, metavar="NAME", help="In a table alone: quantities, as hub.position.x.")
@ITEM
@SPAN
@FRAME
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder to write to [beside RESULTS].")
@click.option("--every", type=click.IntRange(min=1), default=1, metavar="N", help="Only each N-th output time.")
@click.option("--at", type=float, metavar="T", help="Only the output time nearest to T, in s.")
@click.option("--lines-only", is_flag=True, help="Beams as lines, without solids.")
@FORCE
@QUIET
def export(
    results: Path,
    form: str,
    what: tuple[str, ...],
    items: tuple[str, ...],
    first: float | None,
    last: float | None,
    frame: str | None,
    out: Path | None,
    every: int,
    at: float | None,
    lines_only: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Write results as files for other programs, such as ParaView."""
    from femb.export.formats import EXPORTERS

    with reported():
        if form not in EXPORTERS:
            raise ResultError(f"--format {form}: must be one of {', '.join(EXPORTERS)}")
        options: dict[str, Any] = {"frame": frame} if frame else {}
        if lines_only:
            options["solids"] = False
        if at is not None:
            options["at"] = at
        if (first, last) != (None, None):
            options["times"] = first, last
        options |= {name: given for name, given in (("what", what), ("items", items)) if given}
        taken = inspect.signature(EXPORTERS[form]).parameters
        for name in options.keys() - taken.keys():
            flags = {"solids": "--lines-only", "items": "--item", "times": "--from, --to"}
            flag = flags.get(name, f"--{name}")
            raise ResultError(f"{flag}: the format {form} has no such option")
        with counted(quiet) as progress:
            file, data = read_results(results, lazy=True)
            folder = out or file.parent / form
            check_free(folder, force)
            paths = EXPORTERS[form](data, folder, every=every, progress=progress, **options)
        if at is not None and not quiet:
            nearest = data.time[abs(data.time - at).argmin()]
            wanted, found = data.instants([at, nearest], ".6g")
            click.echo(f"the output time nearest to {wanted} is {found}", err=True)
        say(*paths, quiet=quiet)


@click.command()
@RESULTS
@click.option("--what", multiple=True, metavar="TEXT", help="What to show; may be given several times [overview].")
@ITEM
@SPAN
@FRAME
@click.option("--spectrum", type=click.Choice(["psd", "amplitude"]), help="Draw spectra over the frequency instead.")
@click.option("--out", type=click.Path(path_type=Path), metavar="PNG", help="Picture to write [beside RESULTS].")
@DPI
@FORCE
@click.option("--list", "listed", is_flag=True, help="List what can be shown.")
def plot(
    results: Path,
    what: tuple[str, ...],
    items: tuple[str, ...],
    first: float | None,
    last: float | None,
    out: Path | None,
    force: bool,
    listed: bool,
    **drawn: Any,
) -> None:
    """Draw results over time.

    TEXT is a figure of the case, a figure or quantity that --list names, "TEXT of ITEM, ITEM", or the path of an
    array as bodies/hub/position; or a quantity by its name, as hub.position or boom.tip.deflection. " | " puts two side
    by side. A beam's node is NAME[NODE].
    """
    from femb.pictures import figures

    with reported():
        file, data = read_results(results)
        if listed:
            rows = _listing(data)
            say(*(f"{title:22}{', '.join(names)}" for title, names in rows.items()), rows)
            return
        what = what or (figures.default_of(data),)
        text = "_".join(what)
        name = re.sub(r"[^\w.-]+", "_", text).strip("._")[:100] or "figure"
        target = out or file.with_name(f"{name}_over_time.png" if name in OF_COMMANDS else f"{name}.png")
        check_target(target, force)
        say(figures.plot(data, target, list(what) or None, items=items or None, times=(first, last), **drawn))


@click.command()
@RESULTS
@click.option("--times", metavar="T,T,...", help="Instants to draw, s.")
@click.option("--count", type=click.IntRange(min=1), default=5, show_default=True, help="Or so many, evenly spread.")
@CAMERA
@click.option("--out", type=click.Path(path_type=Path), metavar="PNG", help="Picture to write [beside RESULTS].")
@DPI
@FORCE
def picture(
    results: Path, times: str | None, count: int, frame: str | None, out: Path | None, force: bool, **view: Any
) -> None:
    """Draw bodies and beams at several instants."""
    from femb.pictures import figures

    with reported():
        file, data = read_results(results)
        wanted = "instants in s with commas between them, as 0,0.5,1"
        instants = count if times is None else numbers(f"--times {times}", times, wanted)
        target = out or file.with_name("picture.png")
        check_target(target, force)
        say(figures.picture(data, target, instants, frame=frame or "inertial", **view))


@click.command()
@RESULTS
@SPAN
@click.option("--speed", type=float, metavar="X", help="Seconds of motion in a second of film [1, or 10 s in all].")
@click.option("--fps", type=click.IntRange(min=1), default=20, show_default=True, help="Images a second.")
@CAMERA
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help=".gif, .webp or .mp4 [animation.gif].")
@click.option("--dpi", type=click.IntRange(10, 1200), default=80, show_default=True, help="Dots per inch.")
@FORCE
@QUIET
def animate(
    results: Path,
    first: float | None,
    last: float | None,
    frame: str | None,
    out: Path | None,
    force: bool,
    quiet: bool,
    **view: Any,
) -> None:
    """Draw the motion as a film."""
    from femb.pictures import figures

    with reported():
        file, data = read_results(results)
        target = out or file.with_name("animation.gif")
        check_target(target, force)
        with counted(quiet) as progress:
            path = figures.animate(
                data, target, progress=progress, frame=frame or "inertial", times=(first, last), **view
            )
        say(path)


def _listing(results: "Results") -> dict[str, list[str]]:
    """The figures, quantities and items of results that can be plotted."""
    from femb.pictures import figures as plots
    from femb.results.verdicts import items_of

    if results.method == "sweep":
        from femb.pictures.study import STUDY_FIGURES
        from femb.results.sweep import Sweep

        return {"figures": list(STUDY_FIGURES), "outputs": list(Sweep.of(results).outputs)}
    rows = {
        "figures of the case": list(plots.figures_of(results)) or ["none"],
        "figures": [*plots.FIGURES, *plots.DRAWINGS],
    }
    rows["quantities"] = list(plots.words())
    rows["by name"] = list(results.names)
    return rows | items_of(results)


# Figures of this name are those of the commands, of linear models and of all bodies.
OF_COMMANDS = ("loop", "picture", "pointing")


# The commands that show results in a browser: ``femb report | view``.

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
    static, sweep, sensitivity, linearize, loop and shake. RESULTS may be the folder of any of these. The plots of
    histories also show those of each OTHER run, dashed; of a study, as of margins, its map or curves stand there.
    """
    from femb.reporting.report import report as write

    with reported():
        file, data = read_results(results)
        page = out or file.with_name("report.html" if file.stem == "results" else f"{file.stem}_report.html")
        check_target(page, force)
        beside = {str(other): read_results(other)[1] for other in others}
        say(write(data, page, frames=frames, name=file.name, beside=beside), quiet=quiet)


@click.command()
@RESULTS
@FRAMES
@QUIET
def view(results: Path, quiet: bool, **words: Any) -> None:
    """Show results in the browser, by a temporary page as with femb report."""
    import webbrowser

    from femb.reporting.report import report as write

    with reported():
        file, data = read_results(results)
        folder = Path(tempfile.mkdtemp(prefix="femb_"))
        page = write(data, folder / f"{file.parent.name or file.stem}.html", name=file.name, **words)
        opened = webbrowser.open(page.as_uri())
        if opened or wants_json():
            say(page, quiet=quiet)
        else:
            say(f"{page}: no browser was found; open this page in one")
