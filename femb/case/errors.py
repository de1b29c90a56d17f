"""The error of a case file: all of its problems with their lines."""

import re
from collections.abc import Iterable, Mapping

from femb.base.errors import ModelError, Problem
from femb.case.lines import Path, line_of


class CaseError(ModelError):
    """A case that describes no model; its text is one line per problem: ``case.toml:14: beams.right.length: ...``.

    ``problems`` are those of ModelError, without lines of the file.
    """

    def __init__(self, texts: Iterable[str], problems: Iterable[Problem] = ()) -> None:
        super().__init__(*problems)
        self.args = ("\n".join(texts),)

    @classmethod
    def of_file(cls, path: object, message: str, line: int | None = None) -> "CaseError":
        """The error of a file as a whole, or of one line of it."""
        location = f"{path}:{line}" if line else f"{path}"
        return cls([f"{location}: {message}"], [Problem((), message)])


def located(
    path: object,
    lines: Mapping[Path, int],
    problems: Iterable[Problem],
    overridden: Iterable[Path] = (),
    elsewhere: Mapping[Path, tuple[object, int]] | None = None,
) -> CaseError:
    """The error with the lines of ``problems``, in the order of the file.

    elsewhere : file and line of paths that are not in the file.
    Problems of items below a path in ``overridden``, or created by it, are reported as those of the command line.
    """
    overridden = tuple(overridden)
    elsewhere = elsewhere or {}
    texts: list[tuple[int, str]] = []
    problems = tuple(problems)
    for problem in problems:
        text = f"{dotted(problem.item)}: {problem.message}" if problem.item else problem.message
        item = problem.item
        created = item not in lines and any(key[: len(item)] == item for key in overridden)
        if created or any(item[: len(key)] == key for key in overridden):
            texts.append((0, f"--set {text}"))
        elif item[:2] not in lines and item[:2] in elsewhere:
            file, line = elsewhere[next(item[:size] for size in range(len(item), 0, -1) if item[:size] in elsewhere)]
            texts.append((line, f"{file}:{line}: {text}"))
        else:
            line = line_of(lines, item)
            texts.append((line, f"{path}:{line}: {text}" if lines else f"{path}: {text}"))
    return CaseError([text for _, text in sorted(texts, key=lambda pair: pair[0])], problems)


def dotted(path: Path) -> str:
    """A path in TOML syntax."""
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else f'"{part}"' for part in path)
