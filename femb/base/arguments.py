"""Checks of the arguments of analyses and results: names, numbers and spans of time, refused in one manner."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import FembError, ModelError
from femb.base.types import Floats
from femb.base.values import as_numbers, number_problem, shown

Refusal = type[FembError]


def check_text(what: str, value: Any, wanted: str = "a name", error: Refusal = ModelError) -> None:
    """Raise the error where a value is no text."""
    if not isinstance(value, str):
        raise error(f"{what}: got {shown(value)}, wanted {wanted}")


def names_of(what: str, value: Any, error: Refusal = ModelError) -> tuple[str, ...]:
    """A list or tuple of names as a tuple. Raises the error: anything else."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        advice = f": [{value!r}]" if isinstance(value, str) else ""
        raise error(f"{what}: got {shown(value)}, wanted a list of names{advice}")
    return tuple(value)


def check_flag(what: str, value: Any, error: Refusal = ModelError) -> None:
    """Raise the error where a value is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise error(f"{what}: got {shown(value)}, wanted True or False")


def span_of(what: str, value: Any, error: Refusal = ModelError) -> tuple[float | None, float | None]:
    """The first and the last instant, s, each a number or None. Raises the error: anything else."""
    pair = isinstance(value, list | tuple) and len(value) == 2
    if not pair or not all(each is None or not number_problem(each) for each in value):
        raise error(f"{what}: got {shown(value)}, wanted the first and the last instant in s, such as (0.0, 2.5)")
    return value[0], value[1]


def check_table(what: str, value: Any, error: Refusal = ModelError) -> None:
    """Raise the error where a value is no dictionary of numbers by names."""
    if not isinstance(value, Mapping) or not all(
        isinstance(name, str) and not number_problem(x) for name, x in value.items()
    ):
        raise error(f"{what}: got {shown(value)}, wanted numbers by their names, such as {{'joints.pin.angle': 0.1}}")


def numbers_of(what: str, value: ArrayLike, unit: str, error: Refusal = ModelError) -> Floats:
    """A number or a list of numbers as (n,). Raises the error: no numbers, none, or any that is not finite."""
    array = as_numbers(value)
    if array is None or array.ndim > 1 or not array.size or not np.all(np.isfinite(array)):
        raise error(f"{what}: got {shown(value)}, wanted finite numbers in {unit}")
    return np.atleast_1d(array)
