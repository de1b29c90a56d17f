"""Checks of descriptions: convert every field, collect every problem, then raise once."""

import dataclasses
import math
from functools import cache
from typing import Any, get_type_hints

import numpy as np

from femb.errors import ModelError, Problem
from femb.types import Floats, Shape


def shown(value: Any) -> str:
    """A value as messages show it: on one line and not too long."""
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
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


def array_problem(value: Any, shape: tuple[int, ...]) -> str | None:
    """Why ``value`` is not a finite array of ``shape``; None if it is."""
    array = as_numbers(value)
    if array is None or array.shape != shape:
        wanted = f"{shape[0]} numbers" if len(shape) == 1 else f"a {' x '.join(map(str, shape))} array of numbers"
        return f"got {shown(value)}, wanted {wanted}"
    if not np.all(np.isfinite(array)):
        return f"got {shown(value)}, every number must be finite"
    return None


def number_problem(value: Any) -> str | None:
    """Why ``value`` is not a finite number; None if it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return f"got {shown(value)}, wanted a number"
    try:
        finite = math.isfinite(value)
    except OverflowError:  # a whole number beyond the range of floats
        finite = False
    return None if finite else f"got {shown(value)}, must be finite"


def frozen_array(value: Any) -> Floats:
    """A read-only float copy of ``value``."""
    array = np.array(value, dtype=float)
    array.flags.writeable = False
    return array


@cache
def _fields(kind: type) -> tuple[tuple[str, Any], ...]:
    """Names and annotations of a dataclass's fields."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple((field.name, hints[field.name]) for field in dataclasses.fields(kind))


class Checks:
    """Collects the problems of one item: ``with Checks(self, "bodies", name) as check: ...``.

    On entry every field declared as a number or as an array of known shape is checked and arrays are
    stored read-only; on exit all problems are raised as one ModelError.
    """

    def __init__(self, item: Any, *place: str) -> None:
        self.item = item
        self.place = place
        self.problems: list[Problem] = []
        self.bad: set[str] = set()

    def __enter__(self) -> "Checks":
        name = getattr(self.item, "name", "a name")
        if not isinstance(name, str) or name in ("", ".") or "/" in name:
            # A name is a path component in the result file.
            self.fail("name", f"got {shown(name)}, wanted text that is not empty and has no '/'")
        kind: type = type(self.item)
        for name, hint in _fields(kind):
            self._field(name, hint)
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and self.problems:
            raise ModelError(*self.problems)

    def _field(self, name: str, hint: Any) -> None:
        value = getattr(self.item, name)
        options = [hint, *getattr(hint, "__args__", ())]
        if callable(value):
            return
        if value is None:
            marked = any(isinstance(mark, Shape) for mark in getattr(hint, "__metadata__", ()))
            if hint is float or marked:
                self.fail(name, "is missing")
            return
        problems: list[str | None] = []
        for option in options:
            shapes = [mark for mark in getattr(option, "__metadata__", ()) if isinstance(mark, Shape)]
            if shapes:
                problems.append(array_problem(value, shapes[0].dims))
            elif option is float:
                problems.append(number_problem(value))
            else:
                continue
            if problems[-1] is None:
                object.__setattr__(self.item, name, frozen_array(value) if shapes else float(value))
                return
        if problems:
            self.fail(name, " or ".join(filter(None, problems)))

    def fail(self, field: str, message: str) -> None:
        """Record a problem with a field."""
        self.bad.add(field)
        self.problems.append(Problem((*self.place, field), message))

    def require(self, field: str, condition: Any, message: str) -> None:
        """Record ``got VALUE, message`` unless the condition holds; silent on a field already refused."""
        if field not in self.bad and not condition:
            self.fail(field, f"got {shown(getattr(self.item, field))}, {message}")

    def positive(self, *fields: str) -> None:
        """Fields that must be numbers above zero."""
        for field in fields:
            if field not in self.bad:
                value = getattr(self.item, field)
                self.require(field, value is None or value > 0.0, "must be greater than 0")

    def not_negative(self, *fields: str) -> None:
        """Fields that must be numbers of at least zero."""
        for field in fields:
            if field not in self.bad:
                value = getattr(self.item, field)
                self.require(field, value is None or value >= 0.0, "must be at least 0")

    def numbers(self, *fields: str) -> None:
        """Fields that must be lists of finite numbers, at least one; stored as tuples."""
        for field in fields:
            try:
                numbers = tuple(float(x) for x in getattr(self.item, field))
            except (TypeError, ValueError):
                self.fail(field, f"got {shown(getattr(self.item, field))}, wanted a list of numbers")
                continue
            object.__setattr__(self.item, field, numbers)
            self.require(field, numbers and all(map(math.isfinite, numbers)), "must be finite numbers")

    def one_of(self, field: str, allowed: tuple[str, ...]) -> None:
        """A field that must be one of a few words."""
        self.require(field, getattr(self.item, field) in allowed, "must be one of " + ", ".join(map(repr, allowed)))

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
