"""Checks of descriptions: convert every field, collect every problem, then raise once."""

import dataclasses
import types
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats, Forms, OneOf, Shape
from femb.base.values import (
    LARGEST,
    array_problem,
    as_numbers,
    finite_problem,
    frozen_array,
    name_problem,
    number_problem,
    shown,
    whole_number,
)


@cache
def _fields(kind: type) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Names of a dataclass's fields, and the alternatives of their annotations."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple((field.name, tuple(alternatives(hints[field.name]))) for field in dataclasses.fields(kind))


def alternatives(hint: Any) -> list[Any]:
    """The alternatives of an annotation."""
    if get_origin(hint) in (Union, types.UnionType):
        return [alternative for option in get_args(hint) for alternative in alternatives(option)]
    return [hint]


def mark_of(option: Any) -> Any:
    """The mark of femb.base.types in an annotation; None without one."""
    for mark in getattr(option, "__metadata__", ()):
        if isinstance(mark, (Shape, OneOf, Forms)):
            return mark
    return None


# By plain type: the words for a value of it, and its test.
PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    int: ("a whole number", whole_number),
    bool: ("true or false", lambda value: isinstance(value, bool | np.bool_)),
    str: ("text in quotes", lambda value: isinstance(value, str)),
    dict: ("a table", lambda value: isinstance(value, dict)),
}


def fit(options: Iterable[Any], value: Any) -> tuple[Any, str | None]:
    """The alternative of an annotation that a value fits, and None; or None and a message why it fits none."""
    problems = []
    for option in options:
        problem = _option_problem(option, value)
        if problem is None:
            return option, None
        if option is not type(None):
            problems.append(problem)
    return None, joined(problems) if problems else None


def _option_problem(option: Any, value: Any) -> str | None:
    """Why a value does not fit one alternative of an annotation; None if it does, or if it is checked elsewhere."""
    if option is float:
        return number_problem(value)
    match mark_of(option):
        case Shape(dims):
            return array_problem(value, dims)
        case OneOf(allowed):
            if not isinstance(value, str) or value in allowed:
                return _option_problem(str, value)
            return f"got {shown(value)}, must be one of {', '.join(map(repr, allowed))}"
    if option is type(None):
        return f"got {shown(value)}, wanted nothing" if value is not None else None
    if get_origin(option) is Callable or getattr(option, "_is_protocol", False):
        # a Profile is a protocol: anything that can be called with a time
        words = "a function" if get_origin(option) is Callable else "a profile of femb.profiles or a function of time"
        return None if callable(value) and not isinstance(value, type) else f"got {shown(value)}, wanted {words}"
    words, fits = PLAIN.get(get_origin(option) or option, ("", lambda _: True))
    return None if fits(value) else f"got {shown(value)}, wanted {words}"


def joined(problems: list[str]) -> str:
    """One message for a value that fits none of the alternatives."""
    # A problem other than the type, such as a number that is not finite, is the more precise message.
    for problem in problems:
        if ", wanted " not in problem:
            return problem
    first, *others = problems
    return " or ".join([first, *(problem.rsplit(", wanted ", 1)[-1] for problem in others)])


class Checks:
    """Collects the problems of one item: ``with Checks(self, "bodies", name) as check: ...``.

    On entry every field is checked by its annotation: numbers, arrays of known shape, which are stored read-only, whole
    numbers, truth values, text, functions and profiles. On exit all problems are raised as one ModelError.
    """

    def __init__(self, item: Any, *path: Any) -> None:
        self.item = item
        # a name that is no text is reported as a problem, and may be a part of the path of other problems
        self.path = tuple(part if isinstance(part, str) and part.isprintable() else shown(part) for part in path)
        self.problems: list[Problem] = []
        self.bad: set[str] = set()
        self._misfits: set[str] = set()  # fields refused by their annotation only

    def __enter__(self) -> "Checks":
        if hasattr(self.item, "name"):
            problem = name_problem(self.item.name)
            if problem:
                self.fail("name", problem)
        kind: type = type(self.item)
        for name, options in _fields(kind):
            if name != "name":
                self._field(name, options)
        self._misfits = self.bad - {"name"}
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and self.problems:
            raise ModelError(*self.problems)

    def _field(self, name: str, options: tuple[Any, ...]) -> None:
        value = getattr(self.item, name)
        if value is None:
            # a required field of a type that these checks do not know is checked by the class of the item
            if type(None) not in options and fit(options, None)[1]:
                self.fail(name, "is missing")
            return
        fitting, problem = fit(options, value)
        if problem:
            self.fail(name, problem)
        elif fitting is float:
            object.__setattr__(self.item, name, float(value))
        elif isinstance(mark_of(fitting), Shape):
            object.__setattr__(self.item, name, frozen_array(value))

    def fail(self, field: str, message: str) -> None:
        """Record a problem with a field; it replaces the message that the value does not fit the annotation."""
        if field in self._misfits:
            self._misfits.discard(field)
            self.problems = [problem for problem in self.problems if problem.item != (*self.path, field)]
        self.bad.add(field)
        self.problems.append(Problem((*self.path, field), message))

    def fail_at(self, path: tuple[str, ...], message: str) -> None:
        """Record a problem of an item below this one, by its path from here."""
        self.bad.add(path[0])
        self.problems.append(Problem((*self.path, *path), message))

    def require(self, field: str, condition: Any, message: str) -> None:
        """Record ``got VALUE, message`` unless the condition is true; ignored for a field already refused."""
        if field not in self.bad and not condition:
            self.fail(field, f"got {shown(getattr(self.item, field))}, {message}")

    def whole(self, field: str, least: int, most: int | None = None) -> None:
        """A field that must be None or a whole number from ``least`` to ``most``."""
        value = getattr(self.item, field)
        fits = value is None or (whole_number(value) and value >= least and (most is None or value <= most))
        if not fits:
            span = f"from {least} to {most}" if most is not None else f"of at least {least}"
            self.fail(field, f"got {shown(value)}, must be a whole number {span}")

    def positive(self, *fields: str) -> None:
        """Fields that must be numbers above zero, and not so small that dividing by them overflows."""
        for field in fields:
            if field not in self.bad:
                value = getattr(self.item, field)
                self.require(field, value is None or value > 0.0, "must be greater than 0")
                self.require(field, value is None or value >= 1.0 / LARGEST, f"must be at least {1.0 / LARGEST:g}")

    def not_negative(self, *fields: str) -> None:
        """Fields that must be numbers of at least zero."""
        for field in fields:
            if field not in self.bad:
                value = getattr(self.item, field)
                self.require(field, value is None or value >= 0.0, "must be at least 0")

    def numbers(self, *fields: str) -> None:
        """Fields that must be lists of finite numbers, at least one; stored as tuples."""
        for field in fields:
            array = self.array(field, lambda x: x.ndim == 1 and bool(len(x)), "a list of numbers")
            if array is not None:
                object.__setattr__(self.item, field, tuple(array.tolist()))

    def array(self, field: str, fits: Callable[[Floats], bool], wanted: str) -> Floats | None:
        """The numbers of a field if they fit and are finite; None if they are refused."""
        value = getattr(self.item, field)
        array = as_numbers(value)
        if array is None or not fits(array):
            self.fail(field, f"got {shown(value)}, wanted {wanted}")
        elif problem := finite_problem(value, array):
            self.fail(field, problem)
        else:
            return array
        return None

    def exactly_one(self, *fields: str) -> None:
        """Fields that are alternatives: exactly one must be given."""
        given = [field for field in fields if getattr(self.item, field) is not None]
        if len(given) != 1:
            got, wanted = " and ".join(given) or "none", f"{', '.join(fields[:-1])} and {fields[-1]}"
            self.fail(given[1] if given else fields[0], f"got {got}, wanted one of {wanted}")

    def at_most_one(self, *fields: str) -> None:
        """Fields that are alternatives: at most one may be given."""
        given = [field for field in fields if getattr(self.item, field) is not None]
        for field in given[1:]:
            self.fail(field, f"given beside {given[0]!r}, which says the same thing: give one of them")
