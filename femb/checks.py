"""Checks of descriptions: convert every field, collect every problem, then raise once."""

import dataclasses
import math
from typing import Any, get_type_hints

import numpy as np

from femb.errors import ModelError, Problem
from femb.types import Floats, Shape


def array_problem(value: Any, shape: tuple[int, ...]) -> str | None:
    """Why ``value`` is not a finite array of ``shape``; None if it is."""
    wanted = f"{shape[0]} numbers" if len(shape) == 1 else f"a {' x '.join(map(str, shape))} array of numbers"
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return f"got {value!r}, wanted {wanted}"
    if array.shape != shape:
        return f"got {value!r}, wanted {wanted}"
    if not np.all(np.isfinite(array)):
        return f"got {value!r}, every number must be finite"
    return None


def number_problem(value: Any) -> str | None:
    """Why ``value`` is not a finite number; None if it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return f"got {value!r}, wanted a number"
    return None if math.isfinite(value) else f"got {value!r}, must be finite"


def frozen_array(value: Any) -> Floats:
    """A read-only float copy of ``value``."""
    array = np.array(value, dtype=float)
    array.flags.writeable = False
    return array


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
        hints = get_type_hints(type(self.item), include_extras=True)
        for field in dataclasses.fields(self.item):
            self._field(field.name, hints[field.name])
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None and self.problems:
            raise ModelError(*self.problems)

    def _field(self, name: str, hint: Any) -> None:
        value = getattr(self.item, name)
        options = [hint, *getattr(hint, "__args__", ())]
        if value is None or callable(value):
            return
        for option in options:
            for mark in getattr(option, "__metadata__", ()):
                if isinstance(mark, Shape):
                    problem = array_problem(value, mark.dims)
                    if problem:
                        self.fail(name, problem)
                    else:
                        object.__setattr__(self.item, name, frozen_array(value))
                    return
        if float in options:
            problem = number_problem(value)
            if problem:
                self.fail(name, problem)

    def fail(self, field: str, message: str) -> None:
        """Record a problem with a field."""
        self.bad.add(field)
        self.problems.append(Problem((*self.place, field), message))

    def require(self, field: str, condition: Any, message: str) -> None:
        """Record ``got VALUE, message`` unless the condition holds; silent on a field already refused."""
        if field not in self.bad and not condition:
            self.fail(field, f"got {_shown(getattr(self.item, field))}, {message}")

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

    def one_of(self, field: str, allowed: tuple[str, ...]) -> None:
        """A field that must be one of a few words."""
        self.require(field, getattr(self.item, field) in allowed, "must be one of " + ", ".join(map(repr, allowed)))

    def at_most_one(self, *fields: str) -> None:
        """Fields that say the same thing in different words."""
        given = [field for field in fields if getattr(self.item, field) is not None]
        for field in given[1:]:
            self.fail(field, f"given beside {given[0]!r}, which says the same thing: give one of them")


def _shown(value: Any) -> str:
    return repr(value.tolist()) if isinstance(value, np.ndarray) else repr(value)


def inertia_matrix(value: Any) -> tuple[Floats | None, str | None]:
    """The 3x3 inertia of a scalar, three principal values or a matrix; or None and what is wrong with it.

    A physical inertia about the mass centre has principal moments that are positive and obey the triangle
    inequality (each at most the sum of the other two); equality is a flat or thin body and is allowed.
    """
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape == ():
        array = np.full(3, float(array))
    if array.shape == (3,):
        array = np.diag(array)
    if array.shape != (3, 3) or not np.all(np.isfinite(array)):
        return (
            None,
            f"got {value!r}, wanted a number, 3 principal moments or a 3 x 3 matrix, all finite (kg m2)",
        )
    if np.max(np.abs(array - array.T)) > 1e-9 * np.max(np.abs(array)):
        return None, f"got {value!r}, which is not symmetric"
    moments = np.linalg.eigvalsh(array)
    shown = ", ".join(f"{moment:.6g}" for moment in moments)
    if moments[0] <= 0.0:
        return None, f"principal moments {shown} kg m2: all must be greater than 0"
    if moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9):
        return None, (
            f"principal moments {shown} kg m2 break the triangle inequality: no body has one moment above the sum "
            "of the other two; check the signs of the products of inertia and the point the inertia refers to "
            "(the mass centre)"
        )
    return frozen_array(0.5 * (array + array.T)), None
