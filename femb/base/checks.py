"""Checks of descriptions: convert every field by its annotation, collect every problem, then raise once."""

import dataclasses
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import inf, sqrt
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Arguments, Floats, LowerBound, OneOf, SeveralForms, Shape, Unit
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

# Annotations of a description's fields: the test of every alternative, made once per class.


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
        if isinstance(mark, (Arguments, Shape, OneOf, SeveralForms)):
            return mark
    return None


def is_function(option: Any) -> bool:
    """Whether an alternative of an annotation is a function in Python, which files do not express."""
    return get_origin(option) is Callable or isinstance(mark_of(option), Arguments)


M = TypeVar("M", Unit, LowerBound)


def declared(hint: Any, kind: type[M]) -> M | None:
    """The mark of a kind, as the unit, that an annotation, or one of its alternatives, has; None without one."""
    marks = [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, kind)]
    if marks:
        return marks[-1]
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else ()
    return next(filter(None, (declared(option, kind) for option in options)), None)


def unit_of(hint: Any) -> Unit | None:
    """The unit that an annotation, or one of its alternatives, declares; None without one."""
    return declared(hint, Unit)


def bound_problem(bound: LowerBound, value: Any) -> str | None:
    """Why the numbers of a value are below a bound; None if they are not, or if it has none, as a function."""
    least = value if isinstance(value, float | int) else inf if callable(value) else float(np.min(value))
    if bound.above and least <= bound.least:
        return f"got {shown(value)}, must be greater than {bound.least:g}"
    smallest = bound.least + (1.0 / LARGEST if bound.above else 0.0)  # so that dividing by it does not overflow
    return f"got {shown(value)}, must be at least {smallest:g}" if least < smallest else None


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
        case Shape(dims, nonzero, unit):
            problem = _direction_problem if nonzero else array_problem
            return Alternative(partial(problem, shape=dims), _unit_vector if unit else frozen_array)
        case OneOf(allowed):
            return Alternative(_is_word(allowed))
        case Arguments(text):
            return _plain(f"a function {text}", _is_callable)
    if option is type(None):
        return Alternative(lambda value: None if value is None else f"got {shown(value)}, wanted nothing", empty=True)
    if get_origin(option) is Callable or getattr(option, "_is_protocol", False):
        # a Profile is a protocol: anything that can be called with a time
        words = "a function" if get_origin(option) is Callable else "a profile of femb.profiles or a function of time"
        return _plain(words, _is_callable)
    if get_origin(option) is list and dataclasses.is_dataclass(kind := get_args(option)[0]):
        test = _plain(f"a list of femb.{kind.__name__}", lambda value: _all_of(kind, value))  # type: ignore[union-attr]
        return dataclasses.replace(test, stored=tuple)
    return _plain(*PLAIN.get(get_origin(option) or option, ("", lambda _: True)))


def _is_callable(value: Any) -> bool:
    """Whether a value can be called and is no class."""
    return callable(value) and not isinstance(value, type)


def _all_of(kind: Any, value: Any) -> bool:
    """Whether a value is a list of objects of a class."""
    return isinstance(value, list | tuple) and all(isinstance(each, kind) for each in value)


def _direction_problem(value: Any, shape: tuple[int | None, ...]) -> str | None:
    """Why a value is no array of a ``shape`` that is not zero."""
    problem = array_problem(value, shape)
    if problem is None and not any(value):
        return f"got {shown(value)}, {'a direction' if shape == (3,) else 'a quaternion'} must not be zero"
    return problem


def _unit_vector(value: Any) -> Floats:
    """A read-only copy of the length 1."""
    vector = np.array(value, dtype=float)
    length = sqrt(vector @ vector)
    if length != 1.0:
        vector /= length
    vector.setflags(write=False)
    return vector


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


# In place of a default that is to be checked in every item.
_UNCHECKED = object()


@dataclass(frozen=True, eq=False)
class _Field:
    """A field of a dataclass; required : whether it may not be None. bound : of its numbers, if it has one."""

    name: str
    alternatives: tuple[Alternative, ...]
    required: bool
    bound: LowerBound | None


@cache
def _fields(kind: type) -> "tuple[tuple[str, Any, Any, _Field], ...]":
    """The fields of a dataclass to check, all but its name, each after its name, default and stored default."""
    hints = get_type_hints(kind, include_extras=True)
    result = []
    for field in dataclasses.fields(kind):
        if field.name == "name":
            continue
        hint = hints[field.name]
        options = tuple(map(alternative_of, alternatives(hint)))
        # a required field of a type that these checks do not know is checked by the class of the item
        required = not any(option.empty for option in options) and first_fit(options, None)[1] is not None
        default = stored = field.default
        if default is None and not required:
            pass
        elif default is None or default is dataclasses.MISSING or first_fit(options, default)[1]:
            default = _UNCHECKED
        else:
            stored = _stored(options, default)
        checked = _Field(field.name, options, required, declared(hint, LowerBound))
        result.append((field.name, default, stored, checked))
    return tuple(result)


def _stored(options: tuple[Alternative, ...], value: Any) -> Any:
    """The stored form of a value that fits one of the alternatives."""
    fitting, _ = first_fit(options, value)
    return value if fitting is None or fitting.stored is None else fitting.stored(value)


class Checks:
    """Collects the problems of one item: ``with Checks(self, "bodies", name) as check: ...``.

    On entry every field is checked by its annotation: numbers, arrays of known shape, which are stored read-only, whole
    numbers, truth values, text, functions and profiles. On exit all problems are raised as one ModelError.
    """

    def __init__(self, item: Any, *path: Any) -> None:
        self.item, self._parts = item, path
        self.problems: list[Problem] = []
        self.bad: set[str] = set()
        self._misfits: set[str] = set()  # fields refused by their annotation only

    def __enter__(self) -> "Checks":
        if hasattr(self.item, "name"):
            problem = name_problem(self.item.name)
            if problem:
                self.fail("name", problem)
        item = self.item
        kind: type = type(item)
        for name, default, stored, field in _fields(kind):
            value = getattr(item, name)
            if value is not default:
                self._field(field, value)
            elif stored is not value:
                object.__setattr__(item, name, stored)
        self._misfits = self.bad - {"name"}
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and self.problems:
            raise ModelError(*self.problems)

    @cached_property
    def path(self) -> tuple[str, ...]:
        """The path of the item in messages."""
        # a name that is no text is reported as a problem, and may be a part of the path of other problems
        return tuple(part if isinstance(part, str) and part.isprintable() else shown(part) for part in self._parts)

    def _field(self, field: _Field, value: Any) -> None:
        if value is None:
            if field.required:
                self.fail(field.name, "is missing")
            return
        for option in field.alternatives:
            if option.problem(value) is None:
                if option.stored is not None:
                    value = option.stored(value)
                    object.__setattr__(self.item, field.name, value)
                problem = None if field.bound is None else bound_problem(field.bound, value)
                break
        else:
            problem = first_fit(field.alternatives, value)[1]
        if problem:
            self.fail(field.name, problem)

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

    def names(self, *fields: str, wanted: str = "a list of names") -> None:
        """Fields of texts, of which one may stand alone; stored as tuples."""
        for field in fields:
            value = getattr(self.item, field)
            value = (value,) if isinstance(value, str) else value
            if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
                object.__setattr__(self.item, field, tuple(value))
            else:
                self.fail(field, f"got {shown(value)}, wanted {wanted}")

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


LOWEST, HIGHEST = 1e-3, 1e5  # Hz, of a first mode
SIZES, MASSES = (2e-3, 500.0), (1e-6, 1e6)  # m, kg
LIGHTEST = 1e-5  # kg/m, of mass by size


def size_problem(first: float | None, length: float, mass: float) -> str:
    """A sentence on a first frequency (Hz), a size (m) and a mass (kg) that are hardly in these units, or nothing."""
    odd = [
        first is not None and not LOWEST <= first <= HIGHEST,
        not SIZES[0] <= length <= SIZES[1],
        not MASSES[0] <= mass <= MASSES[1],
        mass < LIGHTEST * length,
    ]
    frequency = "" if first is None else f"the first frequency is {first:.3g} Hz, "
    return "" if not any(odd) else (
        f"{frequency}size {length:.3g} m, mass {mass:.3g} kg: check the units, which must be m, kg, N (not mm and "
        "tonnes): `femb reduce --unit 0.001` reads lengths in mm"
    )  # fmt: skip
