"""Lines of the keys of a case file, for messages.

The parser of the standard library gives no positions, so that the text is scanned a second time. Only text that the
parser accepted is scanned: the scan follows TOML's structure and does not detect errors.
"""

import bisect
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property

Path = tuple[str, ...]

STRING = re.compile(
    r'"""(?:\\[\s\S]|(?!""")[\s\S])*"{3,5}'  # up to two quotes may precede the closing three
    r"|'''(?:(?!''')[\s\S])*'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
)
BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
LOOSE = re.compile(r"""\s*(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^\s."'=#\[\]{},\\][^."'=#\[\]{},\\\n]*)\s*""")
LOOSE_KEY = re.compile(rf"{LOOSE.pattern}(?:\.{LOOSE.pattern})*")
SCALAR = re.compile(r"[^,\]}\n#]*")


def key_lines(text: str) -> Mapping[Path, int]:
    """The line, from 1, of every key, table header and list entry of a valid TOML text, by its path.

    Entries of lists have their index in the path, as text. The line of a table is its first occurrence.
    """
    return _KeyLines(text)


class _KeyLines(Mapping[Path, int]):
    """The lines, found when one is asked for: a case without problems seldom needs any."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _lines(self) -> dict[Path, int]:
        return _Scan(self._text).lines

    def __getitem__(self, path: Path) -> int:
        return self._lines[path]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def line_of(lines: Mapping[Path, int], path: Path) -> int:
    """The line of a path, or of the innermost table around it; 1 for the whole file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def split_key(text: str) -> Path:
    """The parts of a dotted key such as ``beams."right boom".length``; ValueError if it is none."""
    parts: list[str] = []
    node = tomllib.loads(f"{text} = 0")
    while isinstance(node, dict):
        if len(node) != 1:
            raise ValueError(f"not one key: {text!r}")
        ((part, node),) = node.items()
        parts.append(part)
    return tuple(parts)


def typed_key(text: str) -> Path:
    """The same of a key in which names with blanks may stand without quotes, as ``beams.right boom.length``."""
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
        self.lines: dict[Path, int] = {}
        self.newlines = [match.start() for match in re.finditer("\n", text)]
        table: Path = ()
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

    def note(self, path: Path, position: int) -> None:
        line = bisect.bisect_left(self.newlines, position) + 1
        for size in range(1, len(path) + 1):
            self.lines.setdefault(path[:size], line)

    def key(self, stop: str) -> Path:
        """Read a dotted key up to the character ``stop``."""
        start = self.at
        while self.text[self.at] != stop:
            match = STRING.match(self.text, self.at)
            self.at = match.end() if match else self.at + 1
        return split_key(self.text[start : self.at].strip())

    def pair(self, table: Path) -> None:
        start = self.at
        path = table + self.key("=")
        self.note(path, start)
        self.at += 1
        self.value(path)

    def value(self, path: Path) -> None:
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
