"""The command ``femb sensitivity``."""

from pathlib import Path

import click

from femb.cli.options import ALLOW, WRITING, OptionError, completing, keys
from femb.cli.output import check_free, check_writable, folder_of, reported, say


@click.command()
@click.argument("case", type=click.Path(path_type=Path), metavar="CASE")
@ALLOW
@click.option("--of", multiple=True, metavar="OUTPUT", help="An output, as 'natural_frequency mode=2' [of the study].")
@click.option(
    "--by",
    multiple=True,
    metavar="KEY",
    shell_complete=completing(keys),
    help="A parameter, or an entry as bodies.hub.mass [all parameters].",
)
@click.option("--tolerances", is_flag=True, help="The scatter of outputs by the ranges of parameters instead.")
@click.option("--samples", type=click.IntRange(min=2), metavar="N", help="Of --tolerances: random runs beside it.")
@WRITING
def sensitivity(
    case: Path, of: tuple[str, ...], by: tuple[str, ...], tolerances: bool, samples: int | None, out: Path | None,
    overrides: tuple[str, ...], force: bool, quiet: bool,
) -> None:  # fmt: skip
    """Differentiate outputs of a case by its parameters; write DIR/sensitivity.csv, .npz and .png.

    With --tolerances write DIR/tolerances.npz and .png: deviations of outputs, and the share of each parameter.

    CASE is a case or a study. The table has derivatives in SI units, an error of each, and what an output changes by
    over half of the range of a parameter.
    """
    with reported():
        if samples and not tolerances:
            raise OptionError("--samples: is of --tolerances; give that too")
        if tolerances:
            from femb.study.tolerances import tolerances as scatter

            file = folder_of(case, out) / "tolerances.npz"
            check_writable(file)
            check_free(file, force)
            spread = scatter(case, of, by, samples=samples or 0, overrides=overrides)
            values = {word: getattr(spread, word) for word in ("sigma", "second", "shares", "shift", "deviations")}
            say(spread.table(), "", spread.write(file), spread.draw(file.with_suffix(".png")), values, quiet=quiet)
            return
        from femb.study.sensitivity import sensitivities

        file = folder_of(case, out) / "sensitivity.npz"
        check_writable(file)
        check_free(file, force)
        found = sensitivities(case, of, by, overrides=overrides)
        paths = [found.write(file), found.write(file.with_suffix(".csv")), found.draw(file.with_suffix(".png"))]
        words = ("outputs", "parameters", "values", "nominal", "derivatives", "errors", "swings", "units")
        values = {word: getattr(found, word) for word in words}
        say(found.table(), "", *paths, values, quiet=quiet)
