"""Annotations of a description's fields: the test of every alternative, made once per class."""

import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

import numpy as np

from femb.base.types import OneOf, SeveralForms, Shape, Unit
from femb.base.values import array_problem, frozen_array, number_problem, shown, whole_number


@dataclass(frozen=True, eq=False)
class Alternative:
    """One alternative of an annotation.

    problem : why a value does not fit it; None if it does, or if it is checked elsewhere. stored : conversion of a
    value that fits, if it is not stored as it is. empty : whether it is None, whose message is of use to nobody.
    """

    problem: Callable[[Any], str | None]
    stored: Callable[[Any], Any] | None = None
    empty: bool = False


def alternatives(hint: Any) -> list[Any]:
    """The alternatives of an annotation; that of a number with a unit is float."""
    if get_origin(hint) is Annotated and mark_of(hint) is None:
        return alternatives(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return [alternative for option in get_args(hint) for alternative in alternatives(option)]
    return [hint]


def mark_of(option: Any) -> Any:
    """The mark of femb.base.types for the form of a value in an annotation; None without one."""
    for mark in getattr(option, "__metadata__", ()):
        if isinstance(mark, (Shape, OneOf, SeveralForms)):
            return mark
    return None


def unit_of(hint: Any) -> Unit | None:
    """The unit that an annotation, or one of its alternatives, declares; None without one."""
    marks = [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Unit)]
    if marks:
        return marks[-1]
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else ()
    return next(filter(None, map(unit_of, options)), None)


# By plain type: the words for a value of it, and its test.
PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    int: ("a whole number", whole_number),
    bool: ("true or false", lambda value: isinstance(value, bool | np.bool_)),
    str: ("text in quotes", lambda value: isinstance(value, str)),
    dict: ("a table", lambda value: isinstance(value, dict)),
}


def fit(options: Iterable[Any], value: Any) -> str | None:
    """Why a value fits none of the alternatives of an annotation; None if it fits one."""
    return first_fit(tuple(map(alternative_of, options)), value)[1]


def first_fit(options: tuple[Alternative, ...], value: Any) -> tuple[Alternative | None, str | None]:
    """The alternative that a value fits, and None; or None and a message why it fits none."""
    problems = []
    for option in options:
        problem = option.problem(value)
        if problem is None:
            return option, None
        if not option.empty:
            problems.append(problem)
    return None, joined(problems) if problems else None


@cache
def alternative_of(option: Any) -> Alternative:
    """The test of an alternative of an annotation, and how a value that passes it is stored."""
    if option is float:
        return Alternative(number_problem, float)
    match mark_of(option):
        case Shape(dims):
            return Alternative(lambda value: array_problem(value, dims), frozen_array)
        case OneOf(allowed):
            return Alternative(_is_word(allowed))
    if option is type(None):
        return Alternative(lambda value: None if value is None else f"got {shown(value)}, wanted nothing", empty=True)
    if get_origin(option) is Callable or getattr(option, "_is_protocol", False):
        # a Profile is a protocol: anything that can be called with a time
        words = "a function" if get_origin(option) is Callable else "a profile of femb.profiles or a function of time"
        return _plain(words, lambda value: callable(value) and not isinstance(value, type))
    return _plain(*PLAIN.get(get_origin(option) or option, ("", lambda _: True)))


def _plain(words: str, fits: Callable[[Any], bool]) -> Alternative:
    """The alternative of values that pass a test, described by words."""
    return Alternative(lambda value: None if fits(value) else f"got {shown(value)}, wanted {words}")


def _is_word(allowed: tuple[str, ...]) -> Callable[[Any], str | None]:
    """The test of one of a few words."""
    text, listed = alternative_of(str).problem, ", ".join(map(repr, allowed))

    def problem(value: Any) -> str | None:
        if not isinstance(value, str) or value in allowed:
            return text(value)
        return f"got {shown(value)}, must be one of {listed}"

    return problem


def joined(problems: list[str]) -> str:
    """One message for a value that fits none of the alternatives."""
    # A problem other than the type, such as a number that is not finite, is the more precise message.
    for problem in problems:
        if ", wanted " not in problem:
            return problem
    first, *others = problems
    return " or ".join([first, *(problem.rsplit(", wanted ", 1)[-1] for problem in others)])
