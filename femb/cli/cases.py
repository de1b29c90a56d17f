"""The commands without an analysis: ``femb warmup | check | schema``."""

import importlib
import json
from pathlib import Path

import click

from femb.cli.files import check_free, check_writable
from femb.cli.options import CASE, FORCE, QUIET, SET
from femb.cli.output import say, wants_json
from femb.cli.report import located, print_warning, reported


@click.command()
@QUIET
def warmup(quiet: bool) -> None:
    """Compile the kernels of beams now, in two processes, so that no run has to."""
    from femb.numerics.compiler.compile import is_compiled, kernel_cache

    with reported():
        importlib.import_module("femb.run.warmup").main([])
        if is_compiled():
            folder = kernel_cache().folder
            say(f"compiled kernels are in {folder}", {"folder": folder}, quiet=quiet)


@click.command()
@CASE
@SET
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw the model at its start.")
@FORCE
def check(case: Path, overrides: tuple[str, ...], picture: Path | None, force: bool) -> None:
    """Check a case and print what it describes.

    Counts, degrees of freedom, mass properties, how slow and fast it moves; warnings of numbers that are probably in
    other units, and advice on the options of the run.
    """
    from femb.case import load_case

    with reported():
        if picture is not None:
            check_free(picture, force)
        loaded = load_case(case, overrides)
        with located(loaded):
            found = importlib.import_module("femb.run.overview").overview(loaded.model, loaded.run)
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
        written = "femb.study.file" if study else "femb.case.json_schema"
        text = json.dumps(importlib.import_module(written).schema(), indent=2)
        if out is None:
            click.echo(text)
            return
        check_writable(out)
        check_free(out, force)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
        say(out)
