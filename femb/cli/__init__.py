"""The command line: ``femb run | static | inverse | compare | linearize | modal | modes | warmup | check | schema |
export | plot | picture | animate``.

Exit codes: 0 done, 1 an analysis failed or its results could not be written, 2 bad input, 130 interrupted by Ctrl-C or
SIGTERM.
Only click is imported here; what a command needs is imported when it runs, so that help comes at once.
"""

import signal
import warnings
from typing import Any

import click

import femb
from femb.cli import analyses, cases, linear, modes, results, static
from femb.cli.report import print_warning

COMMANDS = (
    *(analyses.run, static.static, analyses.inverse, analyses.compare, linear.linearize, linear.modal),
    modes.modes,
    *(cases.warmup, cases.check, cases.schema),
    *(results.export, results.plot, results.picture, results.animate),
)


class InOrder(click.Group):
    """Lists its commands in the order they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(femb.__version__, prog_name="femb", message="%(prog)s %(version)s")
def cli() -> None:
    """Rigid-flexible multibody dynamics.

    CASE is a case file, in TOML or in Python; RESULTS is a results.h5 or the folder that holds it.
    """


for command in COMMANDS:
    cli.add_command(command)


def _interrupt(number: int, frame: Any) -> None:
    # Once only: it must not stop what the first one asked for, to put the results in order.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Entry point of the command ``femb``."""
    warnings.showwarning = print_warning
    # What ends a process from outside, and the end of its terminal, end a run as Ctrl-C does: with its results.
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    cli(prog_name="femb")
