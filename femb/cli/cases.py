"""The commands without an analysis: ``femb warmup | check | schema``."""

import importlib
import json
from pathlib import Path

import click

from femb.cli.files import check_writable
from femb.cli.options import CASE, QUIET, SET
from femb.cli.report import located, reported


@click.command()
@QUIET
def warmup(quiet: bool) -> None:
    """Compile the kernels of beams now, in two processes, so that no run has to."""
    from femb.numerics.compile import is_compiled, kernel_cache

    with reported():
        importlib.import_module("femb.analysis.warmup").main([])
        if not quiet and is_compiled():
            click.echo(f"compiled kernels are in {kernel_cache().folder}")


@click.command()
@CASE
@SET
def check(case: Path, overrides: tuple[str, ...]) -> None:
    """Check a case and print what it describes."""
    from femb.case import load_case

    with reported():
        loaded = load_case(case, overrides)
        with located(loaded):
            click.echo(importlib.import_module("femb.analysis.simulate").summary(loaded.model, loaded.run))


@click.command()
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="File to write [print it].")
@click.option("--study", is_flag=True, help="That of study files, for femb sweep.")
def schema(out: Path | None, study: bool) -> None:
    """Write the JSON Schema of case files, by which editors complete and check them."""
    with reported():
        written = "femb.study.json_schema" if study else "femb.case.json_schema"
        text = json.dumps(importlib.import_module(written).schema(), indent=2)
        if out is None:
            click.echo(text)
            return
        check_writable(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text + "\n", encoding="utf-8")
        click.echo(out)
