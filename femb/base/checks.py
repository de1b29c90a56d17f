"""Checks of descriptions: convert every field, collect every problem, then raise once."""

import dataclasses
import math
import types
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Floats, Forms, OneOf, Shape

# Numbers beyond this, of any unit, are slips of the pen: products of a few of them overflow. What must be positive is
# not closer to zero than its inverse, since it may be divided by.
LARGEST = 1e50
LONGEST_NAME = 200
# Arrays are shown up to so many numbers, of which a message has room for few.
MANY = 1000


def shown(value: Any) -> str:
    """A value as messages show it: on one line and not too long."""
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.size <= MANY else value.ravel()[:MANY].tolist()
    try:
        text = " ".join(repr(value).split("\n"))
    except Exception:  # a user's object whose repr fails
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 100 else text[:97] + "..."


def numbered(number: int, word: str) -> str:
    """A number of things by name, as '1 body' or '2 bodies'."""
    if number == 1:
        return f"1 {word}"
    return f"{number} {word.removesuffix('y') + 'ies' if word.endswith('y') else word + 's'}"


def as_numbers(value: Any) -> Floats | None:
    """``value`` as a float array; None where not all of it is numbers (text and truth values are not)."""
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        return None
    return array.astype(float) if array.dtype.kind in "iuf" and not _has_bool(value) else None


def _has_bool(value: Any) -> bool:
    # numpy takes [1.0, True] for two numbers.
    return any(map(_has_bool, value)) if isinstance(value, list | tuple) else isinstance(value, bool | np.bool_)


def array_problem(value: Any, shape: tuple[int | None, ...]) -> str | None:
    """Why ``value`` is not a finite array of ``shape``; None if it is."""
    array = as_numbers(value)
    if array is None or array.shape != shape:
        wanted = f"{shape[0]} numbers" if len(shape) == 1 else f"a {' x '.join(map(str, shape))} array of numbers"
        return f"got {shown(value)}, wanted {wanted}"
    return finite_problem(value, array)


def finite_problem(value: Any, array: Floats) -> str | None:
    """Why the numbers of ``value``, as an array, are not finite or too large; None if they are neither."""
    if not np.all(np.isfinite(array)):
        return f"got {shown(value)}, every number must be finite"
    if np.any(np.abs(array) > LARGEST):
        return f"got {shown(value)}, every number must be within {LARGEST:g}, since larger ones overflow"
    return None


def number_problem(value: Any) -> str | None:
    """Why ``value`` is not a finite number; None if it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return f"got {shown(value)}, wanted a number"
    try:
        finite = math.isfinite(value)
    except OverflowError:  # a whole number beyond the range of floats
        finite = False
    if not finite:
        return f"got {shown(value)}, must be finite"
    if abs(float(value)) > LARGEST:
        return f"got {shown(value)}, must be within {LARGEST:g}, since larger numbers overflow"
    return None


def whole_number(value: Any) -> bool:
    """Whether ``value`` is a whole number, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def name_problem(name: Any) -> str | None:
    """Why ``name`` is no name of an item; None if it is.

    Names are components of paths in result files, and parts of file names.
    """
    if not isinstance(name, str) or name == "" or "/" in name:
        return f"got {shown(name)}, wanted text that is not empty and has no '/'"
    if name in (".", "..") or "\\" in name:
        return f"got {shown(name)}, which is a path: wanted text other than '.' and '..' and without '\\'"
    if not name.isprintable() or name != name.strip():
        return f"got {shown(name)}, wanted text on one line without control characters or blanks around it"
    if len(name) > LONGEST_NAME:
        return f"got a name of {len(name)} characters, wanted at most {LONGEST_NAME}"
    return None


def frozen_array(value: Any) -> Floats:
    """A read-only float copy of ``value``."""
    array = np.array(value, dtype=float)
    array.flags.writeable = False
    return array


@cache
def _fields(kind: type) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    """Names of a dataclass's fields, and the alternatives of their annotations."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple((field.name, tuple(alternatives(hints[field.name]))) for field in dataclasses.fields(kind))


def alternatives(hint: Any) -> list[Any]:
    """The alternatives of an annotation."""
    if get_origin(hint) in (Union, types.UnionType):
        return [each for option in get_args(hint) for each in alternatives(option)]
    return [hint]


def mark_of(option: Any) -> Any:
    """The mark of femb.base.types that an annotation has; None where it has none."""
    return next((mark for mark in getattr(option, "__metadata__", ()) if isinstance(mark, Shape | OneOf | Forms)), None)


# What a value of a plain type must be, and the words for it.
PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    int: ("a whole number", whole_number),
    bool: ("true or false", lambda value: isinstance(value, bool | np.bool_)),
    str: ("text in quotes", lambda value: isinstance(value, str)),
    dict: ("a table", lambda value: isinstance(value, dict)),
}


def fit(options: Iterable[Any], value: Any) -> tuple[Any, str | None]:
    """The alternative of an annotation that a value fits, and None; or None and why it fits none of them."""
    problems = []
    for option in options:
        problem = _option_problem(option, value)
        if problem is None:
            return option, None
        if option is not type(None):
            problems.append(problem)
    return None, joined(problems) if problems else None


def _option_problem(option: Any, value: Any) -> str | None:
    """Why a value does not fit one alternative of an annotation; None if it does, or if others must see to it."""
    match mark_of(option):
        case Shape(dims):
            return array_problem(value, dims)
        case OneOf(allowed):
            if not isinstance(value, str) or value in allowed:
                return _option_problem(str, value)
            return f"got {shown(value)}, must be one of {', '.join(map(repr, allowed))}"
    if option is float:
        return number_problem(value)
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
    # Of the right type but not finite, say: that tells more than the types it is not.
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

    def __init__(self, item: Any, *place: Any) -> None:
        self.item = item
        # a name that is no text is a problem of its own, and stands in the place of problems like any other
        self.place = tuple(each if isinstance(each, str) and each.isprintable() else shown(each) for each in place)
        self.problems: list[Problem] = []
        self.bad: set[str] = set()
        self._misfits: set[str] = set()  # fields refused for their type alone

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
            # what may be left out in one way of describing an item, and not in another, is looked at by its class
            if options == (float,) or (len(options) == 1 and isinstance(mark_of(options[0]), Shape)):
                self.fail(name, "is missing")
            return
        fitting, problem = fit(options, value)
        if problem:
            self.fail(name, problem)
        elif isinstance(mark_of(fitting), Shape):
            object.__setattr__(self.item, name, frozen_array(value))
        elif fitting is float:
            object.__setattr__(self.item, name, float(value))

    def fail(self, field: str, message: str) -> None:
        """Record a problem with a field; it says more than that the value does not fit the field's annotation."""
        if field in self._misfits:
            self._misfits.discard(field)
            self.problems = [each for each in self.problems if each.item != (*self.place, field)]
        self.bad.add(field)
        self.problems.append(Problem((*self.place, field), message))

    def require(self, field: str, condition: Any, message: str) -> None:
        """Record ``got VALUE, message`` unless the condition holds; silent on a field already refused."""
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
            value = getattr(self.item, field)
            array = as_numbers(value)
            if array is None or array.ndim != 1 or not len(array):
                self.fail(field, f"got {shown(value)}, wanted a list of numbers")
                continue
            problem = finite_problem(value, array)
            if problem:
                self.fail(field, problem)
                continue
            object.__setattr__(self.item, field, tuple(array.tolist()))

    def at_most_one(self, *fields: str) -> None:
        """Fields that say the same thing in different words."""
        given = [field for field in fields if getattr(self.item, field) is not None]
        for field in given[1:]:
            self.fail(field, f"given beside {given[0]!r}, which says the same thing: give one of them")


def inertia_matrix(value: Any) -> tuple[Floats | None, str | None]:
    """The 3x3 inertia of a scalar, three principal values or a matrix; or None and what is wrong with it.

    A physical inertia about the mass centre has principal moments that are positive and obey the triangle
    inequality (each at most the sum of the other two); equality is a flat or thin body and is allowed.
    """
    array = as_numbers(value)
    if array is None:
        array = np.empty(0)
    if array.shape == ():
        array = np.full(3, float(array))
    if array.shape == (3,):
        array = np.diag(array)
    if array.shape != (3, 3) or not np.all(np.isfinite(array)):
        return (
            None,
            f"got {shown(value)}, wanted a number, 3 principal moments or a 3 x 3 matrix, all finite (kg m2)",
        )
    problem = finite_problem(value, array)
    if problem:
        return None, problem
    if np.max(np.abs(array - array.T)) > 1e-9 * np.max(np.abs(array)):
        return None, f"got {shown(value)}, which is not symmetric"
    moments = np.linalg.eigvalsh(array)
    listed = ", ".join(f"{moment:.6g}" for moment in moments)
    if moments[0] <= 0.0:
        return None, f"principal moments {listed} kg m2: all must be greater than 0"
    if moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9):
        return None, (
            f"principal moments {listed} kg m2 break the triangle inequality: no body has one moment above the sum "
            "of the other two; check the signs of the products of inertia and the point the inertia refers to "
            "(the mass centre)"
        )
    return frozen_array(0.5 * (array + array.T)), None
