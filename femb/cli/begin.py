"""The commands without an analysis: ``femb new | cases | info | warmup | check | schema``."""

import json
from pathlib import Path

import click

from femb.base.files import write_text
from femb.cli import library
from femb.cli import options as completion
from femb.cli.options import CASE, FORCE, QUIET, RESULTS, SET, OptionError, completing
from femb.cli.output import (
    check_target,
    check_writable,
    located,
    print_warning,
    read_results,
    reported,
    say,
    wants_json,
)


@click.command()
@click.argument("kind", required=False, metavar="[KIND]", shell_complete=completing(completion.starters))
@click.argument("file", required=False, type=click.Path(path_type=Path), metavar="[FILE]")
def new(kind: str | None, file: Path | None) -> None:
    """Write a commented case to begin with to FILE [KIND.toml]; without KIND list the kinds.

    A file that exists is not replaced.
    """
    with reported():
        kinds = library.starters()
        if kind is None:
            say(*_rows(kinds), {"kinds": {name: known.title for name, known in kinds.items()}})
            return
        known = library.chosen(kind, kinds, "kind of starter")
        target = file or Path(f"{kind}.toml")
        if target.suffix != ".toml":
            raise OptionError(f"{target}: a case to begin with is TOML; wanted a name that ends in .toml")
        check_writable(target)
        say(*library.copy(known, target))


@click.command()
@click.argument("action", required=False, type=click.Choice(("list", "copy")), default="list", metavar="[copy]")
@click.argument("name", required=False, shell_complete=completing(completion.cases), metavar="[NAME]")
@click.argument("folder", required=False, type=click.Path(path_type=Path), metavar="[DIR]")
def cases(action: str, name: str | None, folder: Path | None) -> None:
    """List the cases that come with femb; with copy NAME copy one to DIR, by default the current folder.

    The copy of a case has the data that it needs. A file that exists is not replaced.
    """
    with reported():
        known = library.cases()
        if action == "list":
            purposes = {each.name: {"title": each.title, "purpose": each.purpose} for each in known.values()}
            say(*_rows(known), {"cases": purposes})
            return
        if name is None:
            raise OptionError("copy: wanted a NAME, as femb cases lists them")
        case = library.chosen(name.removesuffix(".toml").removesuffix(".py"), known, "case")
        target = (folder or Path()) / case.file.name
        check_writable(target)
        say(*library.copy(case, target))


@click.command()
@RESULTS
def info(results: Path) -> None:
    """Print what results contain: what was run and how, statistics, the audit in words, quantities, time span."""
    from femb.results.verdicts import described, description

    with reported():
        file, data = read_results(results)
        content = description(data)
        size = file.stat().st_size if file.exists() else 0
        say(f"{'file':22}{file}, {size / 1e6:.3g} MB", described(content), {"file": file, "bytes": size}, content)


def _rows(known: dict[str, library.Known]) -> list[str]:
    """A line for the name and title of each, and its purpose below it."""
    width = max(map(len, known), default=0) + 2
    indent = " " * (width + 2)
    wrapped = {each.name: click.wrap_text(each.purpose, 100, indent, indent) for each in known.values()}
    return [f"{each.name:{width}}{each.title}\n{wrapped[each.name]}" for each in known.values()]


@click.command()
@QUIET
def warmup(quiet: bool) -> None:
    """Compile the kernels of beams now, in two processes, so that no run has to."""
    from femb.numerics.compiler.compile import kernel_cache
    from femb.run.warmup import main

    with reported():
        if main([]):
            folder = kernel_cache().folder
            say(f"compiled kernels are in {folder}", {"folder": folder}, quiet=quiet)


@click.command()
@CASE
@SET
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw the model at its start.")
@FORCE
def check(case: Path, overrides: tuple[str, ...], picture: Path | None, force: bool) -> None:
    """Check a case and print what it describes.

    Counts, degrees of freedom, mass properties, free motions and conserved momenta, how slow and fast it moves;
    warnings of numbers that are probably in other units, and advice on the options of the run.
    """
    from femb.case import load_case
    from femb.robust.unmodelled import check_names
    from femb.run.overview import overview

    with reported():
        if picture is not None:
            check_target(picture, force)
        loaded = load_case(case, overrides)
        with located(loaded):
            check_names(loaded)
            found = overview(loaded.model, loaded.run or loaded.unended)
        for line in () if wants_json() else found.warnings:
            print_warning(line)
        paths = [] if picture is None else [found.picture(picture)]
        say(found.text(), *paths, found.values())


@click.command()
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="File to write [print it].")
@click.option("--study", is_flag=True, help="That of study files, for femb sweep.")
@FORCE
def schema(out: Path | None, study: bool, force: bool) -> None:
    """Write the JSON Schema of case files, by which editors complete and check them."""
    with reported():
        if study:
            from femb.study.json_schema import schema as written
        else:
            from femb.case.json_schema import schema as written
        text = json.dumps(written(), indent=2)
        if out is None:
            click.echo(text)
            return
        check_target(out, force)
        say(write_text(out, text + "\n"))
