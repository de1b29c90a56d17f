"""The command line: ``femb COMMAND ...``, of the commands in ``COMMANDS``.

Exit codes: 0 done, 1 an analysis failed or its results could not be written, 2 bad input, 130 interrupted by Ctrl-C or
SIGTERM.
Only click is imported here; commands import their modules when they run, so that help is fast.
"""

import atexit
import gc
import signal
import sys
import warnings
from _thread import interrupt_main
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import Any

import click

import femb
from femb.base.version import numba_line
from femb.cli.output import BAD_INPUT, INTERRUPTED, KEY, print_warning, refuse, with_json

# The module of each command, in the order of the help.
COMMANDS = {
    **dict.fromkeys(("new", "cases"), "begin"),
    **dict.fromkeys(("run", "static", "inverse", "compare"), "analyses"),
    **dict.fromkeys(("linearize", "loop", "modal"), "linear"),
    **dict.fromkeys(("modes", "unbalance", "shake", "shaper"), "linear"),
    **{word: word for word in ("handover", "reduce")},
    "sweep": "analyses",
    "sensitivity": "sensitivity",
    "correlate": "sensitivity",
    "identify": "sensitivity",
    **dict.fromkeys(("warmup", "check", "schema"), "begin"),
    "info": "begin",
    "diff": "diff",
    **dict.fromkeys(("report", "view"), "results"),
    **dict.fromkeys(("loads", "pointing", "export", "plot", "picture", "animate"), "results"),
}


class Commands(click.Group):
    """A group whose commands are imported on their first use, in the order of ``COMMANDS``."""

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        ctx.meta[KEY] = "--json" in args  # also of a command whose options are wrong
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS)
            there = "; a command comes first, as femb check FILE" if Path(args[0]).exists() else ""
            meant = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
            guess = there or meant or f"; there are: {', '.join(COMMANDS)}"
            ctx.fail(f"there is no command {args[0]!r}{guess}")
        found = super().resolve_command(ctx, args)
        if getattr(signal.getsignal(signal.SIGINT), "__module__", "").endswith("__main__"):  # of the imports until here
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return found

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            refuse(error, "interrupted", INTERRUPTED)
            sys.exit(INTERRUPTED)
        except click.UsageError as error:
            if not ctx.meta.get(KEY):
                raise
            refuse(error, error.format_message(), BAD_INPUT)
            sys.exit(BAD_INPUT)

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.add_command(with_json(getattr(import_module(f"femb.cli.{COMMANDS[cmd_name]}"), cmd_name)))
        return self.commands.get(cmd_name)


VERSION_HELP = "Show the version and exit."


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(f"femb {femb.__version__}\n{numba_line()}")
        context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help=VERSION_HELP)
def cli() -> None:
    """Rigid-flexible multibody dynamics.

    CASE is a case file, in TOML or in Python; RESULTS is a results.h5 or the folder that holds it.
    """


# After so long (s) an interrupt that was lost is sent again.
SOON = 0.01


def _interrupt(number: int, frame: Any) -> None:
    # A second signal must not stop the completion of the results.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Interrupt once more where an interrupt came while compiled code was calling back, which no error can leave."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        Timer(SOON, interrupt_main).start()
    else:
        sys.__unraisablehook__(lost)


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
    sys.unraisablehook = _interrupt_again
    warnings.showwarning = print_warning
    # Termination by another process, or by the end of the terminal, ends a run as Ctrl-C does: with its results.
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    cli(prog_name="femb")
