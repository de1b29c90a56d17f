"""A report page read back, without a browser: its data, and its arrays by their description."""

import base64
import json
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
from checkout import ROOT

import femb

SCHEMA = json.loads((ROOT / "femb" / "reporting" / "web" / "schema.json").read_text())


class _Parts(HTMLParser):
    """The texts of script elements by their number or name, and the other tags and their texts."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.title = ""
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._inside = tag
        words = dict(attrs)
        self.sources += [str(words[name]) for name in ("src", "href") if name in words]
        if tag == "script":
            self.scripts.append((words, ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            words, text = self.scripts[-1]
            self.scripts[-1] = words, text + data
        elif self._inside == "title":
            self.title += data


class ReportPage:
    """``data``, ``title``, ``tags`` and ``sources`` (of files that it refers to) of a page."""

    def __init__(self, page: str | Path) -> None:
        text = page.read_text(encoding="utf-8") if isinstance(page, Path) else page
        parts = _Parts()
        parts.feed(text)
        named = {words.get("id"): content for words, content in parts.scripts}
        self.data: dict[str, Any] = json.loads(named["femb-data"])
        self.bytes = zlib.decompress(base64.b64decode(named["femb-arrays"]))
        self.title, self.tags, self.sources, self.size = parts.title, parts.tags, parts.sources, len(text.encode())

    def array(self, reference: dict[str, Any]) -> np.ndarray:
        """Values of a described array: bytes by their place, columns along the first axis, sums of differences."""
        shape, wide = reference["shape"], reference["bytes"]
        count = int(np.prod(shape, dtype=int))
        packed = np.frombuffer(self.bytes, np.uint8, count * wide, reference["at"]).reshape(wide, count)
        whole = np.frombuffer(packed.T.tobytes(), f"<i{wide}")
        columns = whole.reshape(-1, shape[0]) if count else whole
        for _ in range(reference["differences"]):
            columns = np.cumsum(columns, axis=1, dtype=columns.dtype)
        values = columns.T.reshape(shape).astype(float)
        return np.where(values == -(2.0**31), np.nan, values) * reference["step"]

    def entry(self, path: str) -> np.ndarray:
        """The values of a history."""
        (found,) = [entry for entry in self.data["histories"]["entries"] if entry["path"] == path]
        return self.array(found["values"])


def page_of(results: Any, folder: Path, **options: Any) -> ReportPage:
    """The page of results, read back, with data as the schema wants them."""
    page = ReportPage(femb.report(results, folder / "report.html", **options))
    jsonschema.validate(page.data, SCHEMA)
    return page
