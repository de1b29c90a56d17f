"""The command ``femb sensitivity``."""

from pathlib import Path
from typing import Any

import click

from femb.cli.options import ALLOW, WRITING, completing, keys
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
@WRITING
def sensitivity(
    case: Path, of: tuple[str, ...], by: tuple[str, ...], out: Path | None, overrides: tuple[str, ...], force: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Differentiate outputs of a case by its parameters; write DIR/sensitivity.csv, .npz and .png.

    CASE is a case or a study. The table has derivatives in SI units, an error of each, and what an output changes by
    over half of the range of a parameter.
    """
    with reported():
        from femb.study.sensitivity import sensitivities

        file = folder_of(case, out) / "sensitivity.npz"
        check_writable(file)
        check_free(file, force)
        found = sensitivities(case, of, by, overrides=overrides)
        paths = [found.write(file), found.write(file.with_suffix(".csv")), found.draw(file.with_suffix(".png"))]
        words = ("outputs", "parameters", "values", "nominal", "derivatives", "errors", "swings", "units")
        values: dict[str, Any] = {word: getattr(found, word) for word in words}
        say(found.table(), "", *paths, values, quiet=quiet)
