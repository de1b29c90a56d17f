"""Completion of names by the shell: keys of a case for --set, items of results for --item, kinds and cases."""

import dataclasses
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import click

from femb.base.errors import FembError

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
    from femb.results.read import find_results, read_content

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
