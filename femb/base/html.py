"""Tables in HTML, by which notebooks show objects."""

from collections.abc import Iterable
from html import escape


def table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of two columns under a title."""
    lines = "".join(
        f"<tr><th style='text-align: left'>{escape(name)}</th><td style='text-align: left'>{escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table></div>"
