"""Progress of long work, on stderr."""

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Protocol


class Reporter(Protocol):
    """Receives the progress of a long analysis."""

    def message(self, text: str) -> None:
        """Show what is being done."""

    def update(self, t: float) -> None:
        """The time reached, s."""


COMPILING = "compiling kernels: once on this machine, 8 to 15 s"
_said: set[str] = set()


def announce(text: str, said: bool = False) -> None:
    """Print a text once on stderr, for a person at a terminal or in a notebook; said : they have been told."""
    if text not in _said and not said and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        print(text, file=sys.stderr)
    _said.add(text)


class Progress:
    """The bar of a run on stderr, over its time in s; without a terminal only its messages are printed.

    always : a bar also without a terminal; in notebooks it is one of theirs.
    """

    FORMAT = "{desc}{percentage:3.0f}% |{bar}| {n:.4g}/{total:.4g} s [{elapsed}<{remaining}]"

    def __init__(self, duration: float, quiet: bool = False, always: bool = False) -> None:
        self.time = 0.0
        self.duration = duration
        self.described = False
        shows = (always or sys.stderr.isatty()) and not quiet
        self.prints_messages = not quiet and not shows
        self.bar: Any = None
        if shows:
            self.bar = _bar(total=duration, file=sys.stderr, bar_format=self.FORMAT, dynamic_ncols=True)

    def message(self, text: str) -> None:
        """Show what is being done, such as compiling, until the next update."""
        self.described = True
        if self.prints_messages:
            print(text, file=sys.stderr)
        if self.bar is not None:
            self.bar.set_description(text)

    def update(self, t: float) -> None:
        """The time reached, s."""
        reached = min(t, self.duration)  # rounding may carry the last step past the end
        if self.bar is not None:
            if self.described:
                self.bar.set_description("", refresh=False)
            self.bar.update(reached - self.time)
        self.described = False
        self.time = reached

    def close(self) -> None:
        """Leave the bar as it is."""
        if self.bar is not None:
            self.bar.close()


class LoadProgress(Progress):
    """The bar of a path of equilibria, over its load factor."""

    FORMAT = Progress.FORMAT.replace(" s [", " [")


@contextlib.contextmanager
def reporting(
    progress: Reporter | bool | None, end: float, kind: type[Progress] = Progress
) -> Iterator[Reporter | None]:
    """The reporter of an analysis: the reporter given; of True a bar up to ``end``, closed at the end; else nothing."""
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield None
    else:
        bar = kind(end, always=True)
        try:
            yield bar
        finally:
            bar.close()


def _bar(**words: Any) -> Any:
    """A bar of tqdm, in notebooks one of their own, where these can show it."""
    with warnings.catch_warnings():
        # of notebooks without widgets, where the bar is one of characters
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

        # without tqdm's thread, which looks after bars that skip updates: beside it processes of a study are no forks
        return type("Bar", (tqdm,), {"monitor_interval": 0})(miniters=0, **words)


@contextlib.contextmanager
def counted(quiet: bool, unit: str = "file", always: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Progress bar of countable work; yields a function of the number done and of the total.

    always : also without a terminal.
    """
    if quiet:
        yield lambda done, total: None
        return
    with _bar(file=sys.stderr, unit=unit, disable=False if always else None) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield progress
