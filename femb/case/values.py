"""What a value of a case file may be, by the annotation of the field it is for; messages in femb's words."""

from collections.abc import Callable
from typing import Annotated, Any, get_origin

from pydantic import PlainValidator
from pydantic_core import PydanticCustomError

from femb.base.checks import array_problem, joined, number_problem, shown
from femb.base.types import Shape

Reader = Callable[[Any], str | None]
"""Says what is wrong with a value; None if it fits."""


def value_type(options: list[Any]) -> Any:
    """The pydantic type of a value that fits one of several annotations.

    With no annotation it is that of text: the field takes an item of the model, and a file names it.
    """
    readers = [_reader(option) for option in options or [str]]

    def read(value: Any) -> Any:
        problems = [problem for problem in (reader(value) for reader in readers) if problem]
        if len(problems) == len(readers):
            raise _error(joined(problems))
        return value

    return Annotated[Any, PlainValidator(read)]


def no_value(wanted: str) -> Any:
    """The pydantic type of what is never right: the refusal of a value where something else was wanted."""

    def refuse(value: Any) -> Any:
        raise _error(f"got {shown(value)}, wanted {wanted}")

    return Annotated[Any, PlainValidator(refuse)]


def _error(text: str) -> PydanticCustomError:
    return PydanticCustomError("femb", "{text}", {"text": text})


def _reader(option: Any) -> Reader:
    for mark in getattr(option, "__metadata__", ()):
        if isinstance(mark, Shape):
            return lambda value: array_problem(value, mark.dims)
    if option is float:
        return number_problem
    wanted: dict[Any, tuple[str, Callable[[Any], bool]]] = {
        int: ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
        bool: ("true or false", lambda value: isinstance(value, bool)),
        str: ("text in quotes", lambda value: isinstance(value, str)),
        dict: ("a table", lambda value: isinstance(value, dict)),
    }
    # Anything else, such as Any, is left to the checks of the dataclass.
    words, fits = wanted.get(get_origin(option) or option, ("", lambda value: True))
    return lambda value: None if fits(value) else f"got {shown(value)}, wanted {words}"
