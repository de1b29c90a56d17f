"""Arguments and options that several commands share, and the forms of their texts."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from femb.base.errors import FembError
from femb.cli import completion
from femb.cli.completion import completing

Command = TypeVar("Command", bound=Callable[..., Any])


class OptionError(FembError):
    """An option that cannot be understood, or not together with another."""


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def pairs(option: str, texts: tuple[str, ...], wanted: str = "NAME=VALUE", last: bool = False) -> dict[str, str]:
    """The values of an option by name; ``last`` : names end at the last equals sign. Raises OptionError."""
    result = {}
    for text in texts:
        name, sign, value = (part.strip() for part in (text.rpartition("=") if last else text.partition("=")))
        if not sign or not name or not value:
            raise OptionError(f"{option} {text}: wanted {wanted}")
        result[name] = value
    return result


def numbers(given: str, text: str, wanted: str, separator: str = ",", count: int | None = None) -> list[float]:
    """The finite numbers of a text. Raises OptionError, which shows what was given."""
    try:
        result = [float(part) for part in text.split(separator)]
    except ValueError:
        result = [math.nan]
    if not all(map(math.isfinite, result)) or count not in (None, len(result)):
        raise OptionError(f"{given}: wanted {wanted}")
    return result


CASE = click.argument("case", type=click.Path(path_type=Path), metavar="CASE")
RESULTS = click.argument("results", type=click.Path(path_type=Path), metavar="RESULTS")
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completing(completion.keys),
    help="Replace an entry, as beams.right.elements=4; of a Python case run.KEY, or build.ARGUMENT of build().",
)
OUT = click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the results [out/CASE].")
ITEM = click.option(
    "--item",
    "items",
    multiple=True,
    metavar="NAME",
    shell_complete=completing(completion.items),
    help="Only this item; * and ? are wildcards [all].",
)
QUIET = click.option("--quiet", is_flag=True, help="Print nothing but errors.")
FORCE = click.option("--force", is_flag=True, help="Replace results that are there, once the new ones are whole.")
FRAME = click.option("--frame", metavar="NAME", help="See the motion from a body or a beam's NAME[NODE] [inertial].")
FROM = click.option("--from", "first", type=float, metavar="T", help="First instant, s.")
TO = click.option("--to", "last", type=float, metavar="T", help="Last instant, s.")
DPI = click.option("--dpi", type=click.IntRange(10, 1200), default=150, show_default=True, help="Dots per inch.")
AZIMUTH = click.option("--azimuth", type=float, default=-60.0, show_default=True, help="Of the viewer, degrees.")
ELEVATION = click.option("--elevation", type=float, default=25.0, show_default=True, help="Above the plane, degrees.")
WRITING = together(OUT, SET, FORCE, QUIET)
SPAN, CAMERA = together(FROM, TO), together(FRAME, AZIMUTH, ELEVATION)
