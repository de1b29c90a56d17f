"""Tables in HTML, by which notebooks show objects."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from femb.base.meanings import Description

# Short texts of objects: what Python prints of them, with sizes in place of long arrays.

FEW = 4  # numbers of an array, and entries of a tuple, that are written out
LONG, NESTED = 60, 200  # characters of the text of one value, and of one that prints briefly itself


class Brief(Description):
    """Base of dataclasses that print briefly: fields with their defaults are left out, long arrays are their shapes."""

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        if "__repr__" not in vars(cls):
            # in the class itself, where the decorator dataclass would otherwise put its own
            cls.__repr__ = Brief.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        if not is_dataclass(self):
            return object.__repr__(self)
        # the name first, which follows the fields of base classes
        ordered = sorted(fields(self), key=lambda field: (field.name != "name", field.kw_only))
        given = ((field, getattr(self, field.name)) for field in ordered if field.repr)
        parts = [f"{field.name}={brief(value)}" for field, value in given if not _is_default(field, value)]
        return f"{type(self).__name__}({', '.join(parts)})"


def brief(value: Any) -> str:
    """A value as a short text."""
    if isinstance(value, np.ndarray):
        numbers = value.ndim == 1 and value.size <= FEW and value.dtype.kind in "biufc"
        return f"({', '.join(f'{x:.6g}' for x in value.tolist())})" if numbers else f"<array {value.shape}>"
    if isinstance(value, tuple | list | dict) and len(value) > FEW:
        return f"<{len(value)} entries>"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(brief, value))})"
    text = repr(value)
    if len(text) <= (NESTED if isinstance(value, Brief) else LONG):
        return text
    return f"{text[:LONG]}..." if isinstance(value, str) else f"<{type(value).__name__}>"


def _is_default(field: Any, value: Any) -> bool:
    """Whether a field has its default, of which arrays are made in some classes."""
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    if value is default:
        return True
    if default is MISSING or value is None or default is None:
        return False
    if isinstance(value, np.ndarray):
        return value.shape == np.shape(default) and bool(np.array_equal(value, np.asarray(default)))
    return type(value) is type(default) and isinstance(value, str | int | float) and bool(value == default)


def table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of two columns under a title."""
    from html import escape

    lines = "".join(
        f"<tr><th style='text-align: left'>{escape(name)}</th><td style='text-align: left'>{escape(text)}</td></tr>"
        for name, text in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table></div>"


def columns(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of columns with a heading; numbers are to be given as texts."""
    from html import escape

    cells = "".join(f"<th style='text-align: right'>{escape(word)}</th>" for word in heading)
    lines = "".join(
        "<tr>" + "".join(f"<td style='text-align: right'>{escape(text)}</td>" for text in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{cells}</tr>{lines}</table>"


def text(lines: str) -> str:
    """A text as it stands, in letters of one width."""
    from html import escape

    return f"<pre>{escape(lines)}</pre>"


def image(png: bytes, meaning: str) -> str:
    """A picture within the page."""
    from base64 import b64encode
    from html import escape

    return f'<img alt="{escape(meaning)}" src="data:image/png;base64,{b64encode(png).decode()}">'


class Tabled(Brief, ABC):
    """Base of dataclasses with a table as text, which ``print`` and notebooks show."""

    @abstractmethod
    def table(self) -> str:
        """The table as text."""

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return text(self.table())


@dataclass(frozen=True, eq=False)
class Shown:
    """A page as notebooks show it: what ``Results.show`` returns. page : its HTML. height : in pixels."""

    page: str
    height: int

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its styles and scripts do not meet those of the notebook."""
        from html import escape

        return (
            f'<iframe srcdoc="{escape(self.page)}" style="width:100%;height:{self.height}px;border:0" '
            'sandbox="allow-scripts allow-downloads" allowfullscreen></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Shown: a page of {len(self.page) / 1e6:.2g} MB, for notebooks; femb.report writes it to a file>"
