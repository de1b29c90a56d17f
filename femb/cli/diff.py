"""The command ``femb diff``."""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from femb.base.errors import ModelError
from femb.cli.options import FORCE, QUIET
from femb.cli.output import check_target, reported, say


@click.command()
@click.argument("first", type=click.Path(path_type=Path), metavar="A")
@click.argument("second", type=click.Path(path_type=Path), metavar="B")
@click.option("--rtol", type=float, metavar="PART", help="End with exit code 1 where a difference is above this part.")
@click.option("--draw", type=click.Path(path_type=Path), metavar="FILE", help="Write a picture of the differences.")
@FORCE
@QUIET
def diff(first: Path, second: Path, rtol: float | None, draw: Path | None, force: bool, quiet: bool) -> None:
    """Show two results side by side, the largest differences first.

    A and B are results of runs, modes, linear models, loops, studies and other analyses, or two cases in TOML.
    """
    from femb.study.diff import diff as compared

    with reported():
        if rtol is not None and not rtol >= 0.0:
            raise ModelError(f"--rtol {rtol}: wanted a number that is not below zero")
        if draw is not None:
            check_target(draw, force)
        found = compared(first, second)
        paths = [] if draw is None else [found.draw(draw)]
        values = {"kind": found.kind, "largest": found.largest, "rows": [asdict(row) for row in found.rows]}
        say(found.table(), *paths, values, quiet=quiet)
    if rtol is not None and found.largest > rtol:
        sys.exit(1)
