"""What commands print: text for people or, with --json, one JSON object for programs."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

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
