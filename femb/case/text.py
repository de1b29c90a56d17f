"""The text of a case file: its tables, the lines of its keys, and its problems with their lines."""

import bisect
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from femb.base.array_files import content_of
from femb.base.errors import ModelError, Problem

# Lines of the keys of a case file, for messages.
#
# The parser of the standard library gives no positions, so that the text is scanned a second time. Only text that the
# parser accepted is scanned: the scan follows TOML's structure and does not detect errors.

KeyPath = tuple[str, ...]

STRING = re.compile(
    r'"""(?:\\[\s\S]|(?!""")[\s\S])*"{3,5}'  # up to two quotes may precede the closing three
    r"|'''(?:(?!''')[\s\S])*'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
)
BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
LOOSE = re.compile(r"""\s*(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^\s."'=#\[\]{},\\][^."'=#\[\]{},\\\n]*)\s*""")
BARE = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
LOOSE_KEY = re.compile(rf"{LOOSE.pattern}(?:\.{LOOSE.pattern})*")
SCALAR = re.compile(r"[^,\]}\n#]*")


def key_lines(text: str) -> Mapping[KeyPath, int]:
    """The line, from 1, of every key, table header and list entry of a valid TOML text, by its path.

    Entries of lists have their index in the path, as text. The line of a table is its first occurrence.
    """
    return _KeyLines(text)


class _KeyLines(Mapping[KeyPath, int]):
    """The lines, found when one is asked for: a case without problems seldom needs any."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _lines(self) -> dict[KeyPath, int]:
        return _Scan(self._text).lines

    def __getitem__(self, path: KeyPath) -> int:
        return self._lines[path]

    def __iter__(self) -> Iterator[KeyPath]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """The line of a path, or of the innermost table around it; 1 for the whole file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def split_key(text: str) -> KeyPath:
    """The parts of a dotted key such as ``beams."right boom".length``; ValueError if it is none."""
    parts: list[str] = []
    node = tomllib.loads(f"{text} = 0")
    while isinstance(node, dict):
        if len(node) != 1:
            raise ValueError(f"not one key: {text!r}")
        ((part, node),) = node.items()
        parts.append(part)
    return tuple(parts)


def typed_key(text: str) -> KeyPath:
    """Read a key in which names with blanks may stand without quotes, as ``beams.right boom.length``."""
    if BARE.fullmatch(text):
        return tuple(text.split("."))
    try:
        return split_key(text)
    except ValueError:
        if LOOSE_KEY.fullmatch(text) is None:
            raise
    return tuple(
        split_key(part)[0] if part[0] in "\"'" else part
        for part in (match[0].strip() for match in LOOSE.finditer(text))
    )


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.newlines = [match.start() for match in re.finditer("\n", text)]
        table: KeyPath = ()
        self.skip(BLANK)
        while self.at < len(text):
            if text[self.at] == "[":
                start = self.at
                self.skip(re.compile(r"\[+"))
                table = self.key("]")
                self.note(table, start)
                self.skip(re.compile(r"\]+"))
            else:
                self.pair(table)
            self.skip(BLANK)

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def note(self, path: KeyPath, position: int) -> None:
        line = bisect.bisect_left(self.newlines, position) + 1
        for size in range(1, len(path) + 1):
            self.lines.setdefault(path[:size], line)

    def key(self, stop: str) -> KeyPath:
        """Read a dotted key up to the character ``stop``."""
        start = self.at
        while self.text[self.at] != stop:
            match = STRING.match(self.text, self.at)
            self.at = match.end() if match else self.at + 1
        return split_key(self.text[start : self.at].strip())

    def pair(self, table: KeyPath) -> None:
        start = self.at
        path = table + self.key("=")
        self.note(path, start)
        self.at += 1
        self.value(path)

    def value(self, path: KeyPath) -> None:
        self.skip(BLANK)
        first = self.text[self.at]
        if first in "\"'":
            self.skip(STRING)
        elif first in "[{":
            self.at += 1
            index = 0
            self.skip(BLANK)
            while self.text[self.at] not in "]}":
                if first == "{":
                    self.pair(path)
                else:
                    self.note((*path, str(index)), self.at)
                    self.value((*path, str(index)))
                    index += 1
                self.skip(BLANK)
                if self.text[self.at] == ",":
                    self.at += 1
                    self.skip(BLANK)
            self.at += 1
        else:
            self.skip(SCALAR)


# The error of a case file: all of its problems with their lines.


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
    lines: Mapping[KeyPath, int],
    problems: Iterable[Problem],
    overridden: Iterable[KeyPath] = (),
    elsewhere: Mapping[KeyPath, tuple[object, int]] | None = None,
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


def dotted(path: KeyPath) -> str:
    """A path in TOML syntax."""
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else f'"{part}"' for part in path)


LARGEST = 50 * 10**6  # bytes of a case


def text_of(path: Path, wanted: str = "a case file (TOML or Python)") -> str:
    """The text of a file, without the byte order mark that some editors write. Raises CaseError."""
    try:
        data = content_of(path, LARGEST)
    except FileNotFoundError:
        raise CaseError.of_file(path, "there is no such file") from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and path.is_dir():
            raise CaseError.of_file(path, f"is a folder, wanted {wanted}") from None
        what = getattr(error, "strerror", None) or error
        raise CaseError.of_file(path, f"cannot be read: {what}; wanted {wanted}") from error
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        if data.startswith(b"\x89HDF"):
            raise CaseError.of_file(path, f"has results; wanted {wanted}, of which femb makes them") from error
        line = data.count(b"\n", 0, error.start) + 1
        raise CaseError.of_file(path, f"is not UTF-8 text; wanted {wanted}", line) from error


DEEPEST = 50  # of tables and lists in each other


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """The tables of a TOML text; path : of its file, for messages. Raises CaseError with the line of a problem."""
    try:
        # With a newline at the end, errors of the last line have its number instead of "at end of document".
        document = tomllib.loads(text if text.endswith("\n") else text + "\n")
        level: list[Any] = [document]
        for _ in range(DEEPEST):
            level = [part for each in level for part in (each.values() if isinstance(each, dict) else each)]
            level = [part for part in level if isinstance(part, dict | list)]
            if not level:
                return document
        raise RecursionError
    except RecursionError:
        raise CaseError.of_file(path, "lists or tables are nested too deeply", 1) from None
    except ValueError as error:
        line, message = _syntax_problem(text, str(error))
        raise CaseError.of_file(path, message, line) from error


def _syntax_problem(text: str, message: str) -> tuple[int, str]:
    """Line and message with column, from a message of the parser such as "Invalid value (at line 3, column 5)"."""
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    if match is None:
        return 1, f"not valid TOML: {message}"
    if match[2] is None:
        return text.rstrip("\n").count("\n") + 1, f"not valid TOML: {match[1]}, at the end of the file: is it complete?"
    line = int(match[2])
    if re.match(r"Cannot (overwrite|declare|mutate)", match[1]):
        return line, _given_twice(text.splitlines(), line)
    return line, f"not valid TOML: {match[1]} (column {match[3]})"


def _given_twice(lines: list[str], number: int) -> str:
    """The message about a key or table given twice, with the line where it is first given."""

    def key_of(line: str) -> str:
        bare = line.split("#")[0].strip()
        return re.sub(r"\s", "", bare) if bare.startswith("[") else re.sub(r"\s", "", bare.split("=")[0])

    key = key_of(lines[number - 1])
    if key.startswith("["):
        earlier, kind = range(number - 1), "the table"
    else:
        header = max((k for k in range(number - 1) if lines[k].lstrip().startswith("[")), default=-1)
        earlier, kind = range(header + 1, number - 1), "the key"
    first = next((k + 1 for k in earlier if key_of(lines[k]) == key), None)
    position = f", first in line {first}" if first is not None else ""
    return f"not valid TOML: {kind} {key} is given twice{position}"
