"""Write docs/reference/cheat_sheet.md: words of a case, commands, quantities and units on one page to print.

    python docs/write_cheat_sheet.py

All is from the code: the tables of cases, ``femb.cli`` and ``femb.results.groups``. ``tests/docs/test_site.py``
checks that the page is up to date.
"""

from pathlib import Path

import click

from femb.case.build import OPTIONS, kinds
from femb.case.schema import keys_of
from femb.cli import cli
from femb.results.groups import groups

PAGE = Path(__file__).resolve().parent / "reference" / "cheat_sheet.md"
HEAD = """# Cheat sheet

Made by `python docs/write_cheat_sheet.py`. Keys: [the case file](case_file.md); options: `femb COMMAND --help`;
quantities: [results](results.md).
"""


def page() -> str:
    """The text of the page."""
    parts = [HEAD, "## A case\n", *case(), "\n## Commands\n", *commands(), "\n## Quantities\n", *quantities()]
    return "\n".join(parts) + "\n"


def case() -> list[str]:
    """A line for each table of items with its kinds, and the words of [run]."""
    lines = ["| table | kinds |", "| --- | --- |"]
    lines += [
        f"| `[{table}.NAME]` | {', '.join(words) if len(words) > 1 else ''} |" for table, words in kinds().items()
    ]
    keys = ", ".join(f"`{key}`" for key in keys_of(OPTIONS["run"]))
    lines += ["", f"`[run]` has {keys}."]
    return lines


def commands() -> list[str]:
    """A line for each command with its first sentence."""
    context = click.Context(cli)
    found = ((name, cli.get_command(context, name)) for name in cli.list_commands(context))
    lines = ["| command | what it does |", "| --- | --- |"]
    return [*lines, *(f"| `femb {name}` | {one.get_short_help_str(120)} |" for name, one in found if not one.hidden)]


def quantities() -> list[str]:
    """A line for each kind of item in results: names with units, those of one unit together."""
    lines = ["| of | quantities, SI |", "| --- | --- |"]
    for kind, group in groups().items():
        by_unit: dict[str, list[str]] = {}
        for name, quantity in group.quantities().items():
            by_unit.setdefault(quantity.unit, []).append(f"`{name}`")
        told = [", ".join(names) + (f" {unit}" if unit not in ("-", "own") else "") for unit, names in by_unit.items()]
        lines.append(f"| {kind.replace('_', ' ')} | {'; '.join(told)} |")
    return lines


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
