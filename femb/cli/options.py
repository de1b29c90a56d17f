"""Arguments and options that several commands share, and the forms of their texts."""

import dataclasses
import math
import os
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from femb.base.errors import FembError
from femb.base.progress import COMPILING, announce

# Completion of names by the shell: keys of a case for --set, items of results for --item, kinds and cases.

Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[str]]
# Groups of results that are no items.
NO_ITEMS = ("audit", "static", "modes", "sweep", "events", "statistics")


def completing(names: Callable[[click.Context, str], Iterable[str]]) -> Complete:
    """The function that click asks, of a function of its context and of what was typed; nothing where that fails."""

    def complete(context: click.Context, option: click.Parameter, begun: str) -> list[str]:
        try:
            return [name for name in names(context, begun) if name.startswith(begun)]
        except (FembError, OSError, ValueError):
            return []

    return complete


def keys(context: click.Context, begun: str) -> list[str]:
    """Dotted keys of the case that was typed before, up to the next dot, and the options of a run."""
    case = _typed(context, "case")
    document = tomllib.loads(case.read_text(encoding="utf-8")) if case and case.suffix == ".toml" else {}
    from femb.base.options import Run

    document["run"] = {field.name: None for field in dataclasses.fields(Run)} | document.get("run", {})
    *tables, _ = begun.split(".")
    found: object = document
    for table in tables:
        found = found.get(table) if isinstance(found, dict) else None
    return [".".join([*tables, str(key)]) for key in found] if isinstance(found, dict) else []


def items(context: click.Context, begun: str) -> list[str]:
    """Names of the items of the results that were typed before."""
    from femb.results.storage.read import find_results, read_content

    results = _typed(context, "results")
    if results is None:
        return []
    content = read_content(find_results(results), lazy=True)
    parts = [path.split("/") for path in (*content.series, *content.static)]
    return sorted({path[1] for path in parts if len(path) > 2 and path[0] not in NO_ITEMS})


def _typed(context: click.Context, argument: str) -> Path | None:
    """The value of an argument; click has it among the rest where the option that is completed has no value yet."""
    words = [context.params.get(argument), *context.args]
    return next((Path(word) for word in words if word), None)


def starters(context: click.Context, begun: str) -> list[str]:
    """Kinds of starters."""
    from femb.cli import library

    return list(library.starters())


def cases(context: click.Context, begun: str) -> list[str]:
    """Names of the cases that come with femb."""
    from femb.cli import library

    return list(library.cases())


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
    """The finite numbers of a text. Raises OptionError, which shows what was given, and the part that is no number."""
    result, parts = [], text.split(separator)
    for part in parts if count in (None, len(parts)) else ():
        try:
            result.append(float(part))
        except ValueError:
            result.append(math.nan)
        if not math.isfinite(result[-1]):
            raise OptionError(f"{given}: {part.strip()!r} is no number: wanted {wanted}")
    if not result:
        raise OptionError(f"{given}: wanted {wanted}")
    return result


def _allow_code(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        from femb.case import ALLOW_CODE

        os.environ[ALLOW_CODE] = "1"


# With every case comes the permission to run functions in Python that it names.
ALLOW = click.option(
    "--allow-code",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_allow_code,
    help="Let controllers call functions of Python files, and a study name one; read these first.",
)
CASE = together(click.argument("case", type=click.Path(path_type=Path), metavar="CASE"), ALLOW)
RESULTS = click.argument("results", type=click.Path(path_type=Path), metavar="RESULTS")
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completing(keys),
    help="Replace an entry, as beams.right.elements=4; of a Python case run.KEY, or build.ARGUMENT of build().",
)
OUT = click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the results [out/CASE].")
ITEM = click.option(
    "--item",
    "items",
    multiple=True,
    metavar="NAME",
    shell_complete=completing(items),
    help="Only this item; * and ? are wildcards [all].",
)


def _silent(context: click.Context, parameter: click.Parameter, quiet: bool) -> bool:
    """--quiet: nothing is said of compilation either."""
    if quiet:
        announce(COMPILING, said=True)
    return quiet


QUIET = click.option("--quiet", is_flag=True, callback=_silent, help="Print nothing but errors.")
FORCE = click.option("--force", is_flag=True, help="Replace what is there, once the new files are whole.")
FRAME = click.option("--frame", metavar="NAME", help="See the motion from a body or a beam's NAME[NODE] [inertial].")
FROM = click.option("--from", "first", type=float, metavar="T", help="First instant, s.")
TO = click.option("--to", "last", type=float, metavar="T", help="Last instant, s.")
DPI = click.option("--dpi", type=click.IntRange(10, 1200), default=150, show_default=True, help="Dots per inch.")
AZIMUTH = click.option("--azimuth", type=float, default=-60.0, show_default=True, help="Of the viewer, degrees.")
ELEVATION = click.option("--elevation", type=float, default=25.0, show_default=True, help="Above the plane, degrees.")
START = click.option("--start", metavar="HOW", help="as_given, assembled or equilibrium [run.start].")
WRITING = together(OUT, SET, FORCE, QUIET)
SPAN, CAMERA = together(FROM, TO), together(FRAME, AZIMUTH, ELEVATION)


def damping_of(modes: str, default: str = "0.005") -> Callable[[Command], Command]:
    """The option of a damping ratio of some modes, and its default value where the model has no modal damping."""
    text = f"Of {modes}, in place of [modal_damping, else {default}]."
    return click.option("--damping", type=float, metavar="RATIO", help=text)
