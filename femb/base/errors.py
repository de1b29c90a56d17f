"""The errors femb raises on purpose: each names the item, what was got, what was wanted, and what to try."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a model: its place, such as ``("beams", "right", "length")``, and the message."""

    item: tuple[str, ...]
    message: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.item))}: {self.message}" if self.item else self.message


class FembError(Exception):
    """Base of all errors that are the input's or the problem's, not femb's own."""


class ModelError(FembError):
    """A description of no physical system; ``problems`` lists everything found, not only the first."""

    def __init__(self, *problems: Problem | str) -> None:
        self.problems = tuple(Problem((), problem) if isinstance(problem, str) else problem for problem in problems)
        super().__init__("\n".join(map(str, self.problems)))

    @classmethod
    def at(cls, item: tuple[str, ...], message: str) -> "ModelError":
        """The error of a single problem."""
        return cls(Problem(item, message))


class FembWarning(UserWarning):
    """What may be meant, but has no effect or another one than it seems; the command line prints it as a warning."""


class SolveError(FembError):
    """An analysis that could not go on; what was computed so far is kept."""


class ResultError(FembError):
    """A result file that cannot be read or written."""
