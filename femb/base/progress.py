"""Progress of long work, on stderr."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol


class Reporter(Protocol):
    """Receives the progress of a long analysis."""

    def message(self, text: str) -> None:
        """Show what is being done."""

    def update(self, t: float) -> None:
        """The time reached, s."""


class Progress:
    """The bar of a run on stderr, over its time in s; without a terminal only its messages are printed."""

    FORMAT = "{desc}{percentage:3.0f}% |{bar}| {n:.4g}/{total:.4g} s [{elapsed}<{remaining}]"

    def __init__(self, duration: float, quiet: bool = False) -> None:
        self.time = 0.0
        self.duration = duration
        self.described = False
        terminal = sys.stderr.isatty()
        self.prints_messages = not quiet and not terminal
        self.bar: Any = None
        if terminal and not quiet:
            from tqdm import tqdm

            self.bar = tqdm(total=duration, file=sys.stderr, bar_format=self.FORMAT, dynamic_ncols=True)

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


@contextlib.contextmanager
def counted(quiet: bool, unit: str = "file") -> Iterator[Callable[[int, int], None]]:
    """Progress bar of countable work; yields a function of the number done and of the total."""
    from tqdm import tqdm

    with tqdm(file=sys.stderr, unit=unit, disable=True if quiet else None) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield progress
