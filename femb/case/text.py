"""The text of a case file, and its tables."""

import re
import tomllib
from pathlib import Path
from typing import Any

from femb.base.array_files import content_of
from femb.case.errors import CaseError

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
        line = data.count(b"\n", 0, error.start) + 1
        raise CaseError.of_file(path, f"is not UTF-8 text; wanted {wanted}", line) from error


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """The tables of a TOML text; path : of its file, for messages. Raises CaseError with the line of a problem."""
    try:
        # With a newline at the end, errors of the last line have its number instead of "at end of document".
        return tomllib.loads(text if text.endswith("\n") else text + "\n")
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
