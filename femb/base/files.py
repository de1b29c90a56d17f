"""Files that femb writes: their folder is made, and what the system refuses becomes a ResultError."""

import csv
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from femb.base.errors import ResultError


@contextmanager
def to_write(path: str | Path) -> Iterator[Path]:
    """The path of a file that is written within, in a folder that is there. Raises ResultError where it cannot be."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path
    except OSError as error:
        raise ResultError(f"{path}: cannot be written ({error.strerror or error})") from error


def write_text(path: str | Path, text: str, **encoding: Any) -> Path:
    """Write a text, by default in UTF-8; its path. Raises ResultError."""
    with to_write(path) as file:
        file.write_text(text, **({"encoding": "utf-8"} | encoding))
    return file


def write_table(path: str | Path, head: Iterable[str], rows: Iterable[Iterable[object]]) -> Path:
    """Write rows below their head as CSV, numbers with all digits; its path. Raises ResultError."""
    with to_write(path) as place, place.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        # numpy's numbers print with the digits that a user has chosen
        writer.writerows([float(x) if isinstance(x, float) else x for x in row] for row in rows)
    return place


def write_json(path: str | Path, document: dict[str, Any]) -> Path:
    """Write a document, with arrays in it, as JSON; its path. Raises ResultError."""
    return write_text(path, json.dumps(document, indent=1, default=lambda array: array.tolist()) + "\n")
