"""The journal of a study: a line in JSON for each finished run, so that a killed study goes on where it was.

The first line has the fingerprint of the study; runs of another study are not mixed with its own. A line that a killed
process has not finished is left out.
"""

import hashlib
import inspect
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from femb import __version__
from femb.base.errors import ResultError
from femb.case.compose import composed
from femb.results.locks import lock
from femb.study.runner import Row, Runner
from femb.study.study import Study

# s; how long another process that only looks at the journal may hold it.
PATIENCE = 0.25


def fingerprint(study: Study, runner: Runner) -> dict[str, str]:
    """What the rows of a study depend on, part by part."""
    parts: dict[str, Any] = {
        "version of femb": __version__,
        "case": _case(runner.source),
        "entries of all runs": [*study.overrides, repr(study.run)],
        "variables": [[kind.kind, asdict(kind)] for kind in study.variables.values()],
        "outputs": [[kind.kind, asdict(kind)] for kind in study.outputs.values()],
        "design": [study.design, study.runs, study.seed],
        "keep": study.keep,
    }
    return {word: _digest(json.dumps(part, sort_keys=True, default=repr)) for word, part in parts.items()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _case(source: tuple[Path, str] | Callable[..., Any]) -> list[str]:
    """The text of a case and the content of files that it names; of a function its source, if it is known."""
    if callable(source):
        try:
            return [inspect.getsource(source)]
        except (OSError, TypeError):
            return [getattr(source, "__qualname__", repr(type(source)))]
    path, text = source
    found = [text]
    bodies = composed(path, text).document.get("bodies", {}) if path.suffix != ".py" else {}
    for body in bodies.values() if isinstance(bodies, dict) else ():
        file = body.get("file") if isinstance(body, dict) else None
        if isinstance(file, str) and (path.parent / file).is_file():
            found.append(hashlib.sha256((path.parent / file).read_bytes()).hexdigest())
    return found


class Journal:
    """The journal of a study at a path: ``rows`` has the finished runs, ``add`` writes another.

    Raises ResultError: a journal of another study, one that another process writes to, one that cannot be written.
    """

    def __init__(self, path: Path, parts: Mapping[str, str], again: bool = False) -> None:
        self.path = path
        self.rows: dict[int, Row] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise ResultError(f"{path}: cannot be written ({error.strerror})") from error
        try:
            self._begin(parts, again)
        except BaseException:
            os.close(self.file)
            raise

    def _begin(self, parts: Mapping[str, str], again: bool) -> None:
        try:
            lock(self.file, time.monotonic() + PATIENCE)
        except BlockingIOError:
            raise ResultError(
                f"{self.path}: another study writes to it now; wait for its end, or try --out DIR"
            ) from None
        content = b"" if again else self.path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if complete:
            self._read(complete.decode("utf-8", "replace").splitlines(), parts)
        os.ftruncate(self.file, len(complete))
        os.lseek(self.file, 0, os.SEEK_END)
        if not complete:
            self._write({"study": dict(parts)})

    def _read(self, lines: list[str], parts: Mapping[str, str]) -> None:
        try:
            earlier = json.loads(lines[0])["study"]
            rows = [Row(*json.loads(line)) for line in lines[1:]]
        except (ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{self.path}: is damaged ({error}); --force starts the study anew") from error
        different = [word for word in parts if earlier.get(word) != parts[word]]
        if different:
            raise ResultError(
                f"{self.path}: has {len(rows)} runs of another study, with other {', '.join(different)}; --force "
                "starts anew, --out DIR writes to another folder"
            )
        self.rows = {row.run: row._replace(outputs=tuple(row.outputs)) for row in rows}

    def add(self, row: Row) -> None:
        """Write a finished run."""
        self.rows[row.run] = row
        self._write(row)

    def _write(self, content: object) -> None:
        try:
            os.write(self.file, json.dumps(content).encode() + b"\n")
        except OSError as error:
            raise ResultError(f"{self.path}: cannot be written ({error.strerror})") from error

    def remove(self) -> None:
        """Delete the journal, when the table has all runs."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        os.close(self.file)
