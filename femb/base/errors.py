"""The errors that femb raises; messages name the item, the value given, the value expected, and a remedy."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Problem:
    """One problem of a model: the path of the item, such as ``("beams", "right", "length")``, and the message."""

    item: tuple[str, ...]
    message: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.item))}: {self.message}" if self.item else self.message


class FembError(Exception):
    """Base of all errors caused by the input or the mechanical problem, not by femb."""


class ModelError(FembError):
    """A description of no physical system; ``problems`` lists all problems."""

    def __init__(self, *problems: Problem | str) -> None:
        self.problems = tuple(Problem((), problem) if isinstance(problem, str) else problem for problem in problems)
        super().__init__("\n".join(map(str, self.problems)))

    @classmethod
    def at(cls, item: tuple[str, ...], message: str) -> "ModelError":
        """The error of a single problem: ``message``, at the ``item``, a path such as ("beams", "boom")."""
        return cls(Problem(item, message))


class FembWarning(UserWarning):
    """A warning about input that is valid, but has no effect or an unexpected one."""


class SolveError(FembError):
    """An analysis that could not continue; the results up to there remain."""


class ResultError(FembError):
    """A result file that cannot be read or written."""


class ContinuationError(ResultError):
    """A result file whose run cannot be continued by the one that was asked for."""


def optional(module: str, extra: str, what: str, error: type[ModelError | ResultError] = ModelError) -> Any:
    """A module of an optional package, an ``extra`` of femb's. Raises the error, with ``what`` is missing, without."""
    try:
        return import_module(module)
    except ImportError as missing:
        raise error(f"pip install 'femb[{extra}]': {what}") from missing
