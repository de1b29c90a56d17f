"""Commands that analyse a case and write files to its folder."""

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from femb.base.errors import FembError
from femb.cli.files import check_free, opened
from femb.cli.options import CASE
from femb.cli.output import say
from femb.cli.report import located, reported


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
