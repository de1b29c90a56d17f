"""Tables in HTML, by which notebooks show objects."""

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

from femb.base.brief import Brief


def table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of two columns under a title."""
    lines = "".join(
        f"<tr><th style='text-align: left'>{escape(name)}</th><td style='text-align: left'>{escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table></div>"


def columns(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of columns with a heading; numbers are to be given as texts."""
    cells = "".join(f"<th style='text-align: right'>{escape(word)}</th>" for word in heading)
    lines = "".join(
        "<tr>" + "".join(f"<td style='text-align: right'>{escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{cells}</tr>{lines}</table>"


def text(lines: str) -> str:
    """A text as it stands, in letters of one width."""
    return f"<pre>{escape(lines)}</pre>"


def image(png: bytes, meaning: str) -> str:
    """A picture within the page."""
    return f'<img alt="{escape(meaning)}" src="data:image/png;base64,{b64encode(png).decode()}">'


class Tabled(Brief, ABC):
    """Base of dataclasses with a table as text, by which notebooks show them."""

    @abstractmethod
    def table(self) -> str:
        """The table as text."""

    def _repr_html_(self) -> str:
        return text(self.table())
