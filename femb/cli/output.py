"""Output of commands: text for people or, with --json, one JSON object for programs."""

import dataclasses
import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from femb.base.errors import FembError
from femb.cli.files import check_free, opened
from femb.cli.options import CASE
from femb.cli.report import located, reported

# Where click's context keeps that --json is given.
KEY = "femb.json"


def with_json(command: click.Command) -> click.Command:
    """The same command with the option --json."""

    def remember(context: click.Context, option: click.Parameter, given: bool) -> None:
        context.meta[KEY] = given

    text = "Print one JSON object in place of text."
    command.params.append(click.Option(["--json"], is_flag=True, expose_value=False, callback=remember, help=text))
    return command


def wants_json() -> bool:
    """Whether the command that runs was given --json."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(KEY))


def say(*parts: object, quiet: bool = False) -> None:
    """Print the output of a command; nothing if ``quiet``.

    parts : texts, which are for people; paths of written files, for both; mappings of names to values, which are for
    --json alone. There the files are the list "files", and numbers that are not finite are null.
    """
    if quiet or not parts:
        return
    if not wants_json():
        click.echo("\n".join(str(part) for part in parts if not isinstance(part, Mapping)))
        return
    values: dict[str, object] = {}
    for part in parts:
        if isinstance(part, Mapping):
            values |= {str(name): plain(value) for name, value in part.items()}
    files = [str(part) for part in parts if isinstance(part, Path)]
    click.echo(json.dumps(values | ({"files": files} if files else {}), indent=1, allow_nan=False, ensure_ascii=False))


def plain(value: object) -> object:
    """A value as JSON knows it: arrays as lists, complex numbers as [real, imaginary], dataclasses as objects.

    Raises TypeError for anything else.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if hasattr(value, "tolist"):  # of numpy
        return plain(value.tolist())
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Iterable):
        return [plain(entry) for entry in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


# Commands that analyse a case and write files to its folder.


def of_case(
    name: str, written: Callable[[dict[str, Any]], Iterable[str]] | None = None
) -> Callable[[Callable[..., Iterable[object]]], click.Command]:
    """Make a command of a function of a case, of the file NAME in the folder of its results, and of further options.

    The function, which takes the options `WRITING`, returns the parts to print, as of `femb.cli.output.say`, and errors
    of parts that it could not make: these are reported after the others. Errors of the model are located in the case.

    written : names of the files, patterns with * among them, that options of the command write in place of NAME; those
    that exist are replaced only by --force.
    """

    def command_of(function: Callable[..., Iterable[object]]) -> click.Command:
        @click.command()
        @CASE
        @functools.wraps(function)
        def command(
            case: Path, out: Path | None, overrides: tuple[str, ...], force: bool, quiet: bool, **words: Any
        ) -> None:
            with reported():
                loaded, file = opened(case, overrides, out, name)
                for pattern in (name,) if written is None else written(words):
                    for old in sorted(file.parent.glob(pattern)) if file.parent.is_dir() else ():
                        check_free(old, force)
                with located(loaded):
                    parts = list(function(loaded, file, **words))
                errors = list({str(part): part for part in parts if isinstance(part, FembError)}.values())
                say(*(part for part in parts if not isinstance(part, FembError)), quiet=quiet)
                for error in errors:
                    with reported(leave=error is errors[-1]), located(loaded):
                        raise error

        return command

    return command_of
