"""The meanings of the fields of descriptions, and the signatures and docstrings that are made of them at first use.

A meaning is the text below a field, where editors and the site look for it too::

    length: Annotated[float | None, Unit("m"), POSITIVE] = None
    '''from the start to the end; by default that of the path'''

A class derived from another says nothing again: a field without a text has that of the field of a base.
"""

import ast
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import dropwhile, pairwise, takewhile
from typing import Any, Union, get_args, get_origin, get_type_hints

from femb.base.checks import alternatives, mark_of, unit_of
from femb.base.types import OWN_UNITS, Arguments, OneOf, SeveralForms, Shape

FEW = 6  # words of a choice that are listed


@cache
def meanings(kind: type) -> Mapping[str, str]:
    """The texts below the fields of a class, its own and those of its bases, by name."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        texts |= _below_fields(base)
    return types.MappingProxyType(texts)


def _below_fields(kind: type) -> dict[str, str]:
    """The texts below the fields that a class itself has; none where its source is not known."""
    if not vars(kind).get("__annotations__") or kind.__qualname__ != kind.__name__:
        return {}
    heads = (f"class {kind.__name__}(", f"class {kind.__name__}:")
    begun = dropwhile(lambda line: not line.startswith(heads), _source(kind.__module__))
    # up to its first method: to parse whole modules takes ten times as long
    head = "\n".join(takewhile(lambda line: not line.startswith(("    def ", "    @")), begun))
    known, _, _ = head.partition("\n\n\n")
    body = ast.parse(known).body[0].body if known else []  # type: ignore[attr-defined]
    return {
        field.target.id: " ".join(text.value.value.replace("``", "").split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


@cache
def _source(module: str) -> list[str]:
    """The lines of a module; none of one without a file."""
    try:
        return inspect.getsource(sys.modules[module]).splitlines()
    except (KeyError, OSError, TypeError):
        return []


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return types.MappingProxyType(get_type_hints(kind, include_extras=True))


def told(kind: type, name: str) -> str:
    """The unit and the meaning of a field."""
    return ", ".join(filter(None, (unit_words(_hints(kind)[name]), meanings(kind).get(name, ""))))


def description(kind: type) -> str:
    """The docstring of a class or of a base, a paragraph a line, without the errors that it raises."""
    own = (vars(base).get("__doc__") for base in kind.__mro__)
    text = next((each.text for each in own if isinstance(each, _Docstring) and each.text), kind.__name__)
    parts = inspect.cleandoc(text).replace("``", "").split("\n\n")
    told = (part if part.startswith("    ") else " ".join(part.split()) for part in parts)
    return "\n\n".join(part for part in told if not part.startswith(("Raises ", "Source: ")))


def unit_words(hint: Any) -> str:
    """The unit of a field in words, "-" for numbers without one; empty where it declares none, or several."""
    unit = unit_of(hint)
    if unit is None or unit == OWN_UNITS:
        return ""
    return " or ".join(text or "-" for text in (unit.text, unit.stroke) if text is not None)


def plain(hint: Any) -> str:
    """An annotation as a short text: "float | None", "(3,)" for an array of three numbers."""
    return " | ".join(dict.fromkeys(map(_plain, alternatives(hint))))


def _plain(option: Any) -> str:
    """One alternative of an annotation."""
    match mark_of(option):
        case Shape(dims):
            sizes = ", ".join("n" if size is None else str(size) for size in dims)
            return f"({sizes},)" if len(dims) == 1 else f"({sizes})"
        case OneOf(words):
            return " | ".join(map(repr, words)) if len(words) <= FEW else "str"
        case SeveralForms(options):
            return " | ".join(map(plain, options)) or "Any"
        case Arguments(text):
            return f"function {text}"
    if option in (None, type(None)):
        return "None"
    origin, inside = get_origin(option), get_args(option)
    if origin in (list, tuple, dict):
        return f"{origin.__name__}[{', '.join('...' if each is ... else plain(each) for each in inside)}]"
    if origin is Callable or origin in (Union, types.UnionType):
        return "function" if origin is Callable else plain(option)
    return getattr(option, "__name__", str(option))


def _readable(kind: type) -> bool:
    """Whether a class is a complete dataclass whose annotations are known when a program runs."""
    # the decorator dataclass asks for docstring and signature before it has done its work
    if not is_dataclass(kind) or ("__dataclass_fields__" in vars(kind) and "__match_args__" not in vars(kind)):
        return False
    try:
        return bool(_hints(kind))
    except NameError:
        return False


class _Text(str):
    """A text that a signature shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _PlainSignature:
    """The signature of a description with plain types, which ``inspect`` asks for."""

    def __get__(self, item: Any, kind: type) -> inspect.Signature | None:
        return _signature(kind) if item is None and _readable(kind) else None


@cache
def _signature(kind: type) -> inspect.Signature:
    """The signature of the constructor of a dataclass, which shows it too."""
    make: Any = kind.__init__  # type: ignore[misc]
    given, hints = inspect.signature(make), _hints(kind)
    each = [
        value.replace(annotation=_Text(plain(hints[name]))) if name in hints else value
        for name, value in given.parameters.items()
    ]
    make.__signature__ = given.replace(parameters=each)
    return inspect.Signature(each[1:])


class _Docstring:
    """The docstring of a description: its own text, then a line for each field with its type, default and meaning."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, item: Any, kind: type) -> str | None:
        if not self.text or not _readable(kind):
            return self.text
        return f"{inspect.cleandoc(self.text)}\n\nFields\n------\n{field_lines(kind)}"


@cache
def field_lines(kind: type) -> str:
    """A line for each field that the constructor of a dataclass takes: its type, default, unit and meaning."""
    hints, lines = _hints(kind), []
    defaults = {name: value.default for name, value in inspect.signature(kind).parameters.items()}
    for field in (field for field in fields(kind) if field.init):
        default = defaults.get(field.name, inspect.Parameter.empty)
        given = "" if default is inspect.Parameter.empty else f" = {default!r}"
        text = told(kind, field.name)
        lines.append(f"{field.name}: {plain(hints[field.name])}{given}{f'  # {text}' if text else ''}")
    return "\n".join(lines)


class Description:
    """Base of dataclasses whose signature and docstring are made of their fields, when they are asked for."""

    __signature__ = _PlainSignature()

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        cls.__doc__ = _Docstring(vars(cls).get("__doc__"))  # type: ignore[assignment]
