"""The command line: ``femb new | cases | run | static | inverse | compare | linearize | loop | modal | modes | shake |
shaper | handover | reduce | sweep | warmup | check | schema | info | report | view | loads | pointing | export | plot |
picture | animate``.

Exit codes: 0 done, 1 an analysis failed or its results could not be written, 2 bad input, 130 interrupted by Ctrl-C or
SIGTERM.
Only click is imported here; commands import their modules when they run, so that help is fast.
"""

import atexit
import gc
import signal
import warnings
from typing import Any

import click

import femb
from femb.cli import analyses, begin, cases, handover, linear, modes, pages, reduce, results, sweep
from femb.cli.output import with_json
from femb.cli.report import print_warning

COMMANDS = (
    *(begin.new, begin.cases),
    *(analyses.run, analyses.static, analyses.inverse, analyses.compare, linear.linearize, linear.loop, linear.modal),
    *(modes.modes, modes.shake, modes.shaper, handover.handover, reduce.reduce, sweep.sweep),
    *(cases.warmup, cases.check, cases.schema),
    *(begin.info, pages.report, pages.view),
    *(results.loads, results.pointing, results.export, results.plot, results.picture, results.animate),
)


class InOrder(click.Group):
    """A group that lists its commands in the order of their addition."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(femb.__version__, prog_name="femb", message="%(prog)s %(version)s")
def cli() -> None:
    """Rigid-flexible multibody dynamics.

    CASE is a case file, in TOML or in Python; RESULTS is a results.h5 or the folder that holds it.
    """


for command in COMMANDS:
    cli.add_command(with_json(command))


def _interrupt(number: int, frame: Any) -> None:
    # A second signal must not stop the completion of the results.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _collect_seldom() -> None:
    """Look for cyclic garbage less often than Python does by itself, and not at the end of the process.

    Imports and kernels are a hundred thousand objects that remain: the searches through them take a sixth of the CPU
    time of a short run. A run itself leaves some twenty objects in cycles, however long it is.
    """
    gc.set_threshold(200_000, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def main() -> None:
    """Entry point of the command ``femb``."""
    _collect_seldom()
    warnings.showwarning = print_warning
    # Termination by another process, or by the end of the terminal, ends a run as Ctrl-C does: with its results.
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    cli(prog_name="femb")
