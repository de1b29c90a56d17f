"""Copies of objects that are never changed, with other values of a few attributes."""

from typing import TypeVar

T = TypeVar("T")


def shallow_copy(original: T) -> T:
    """A copy with the same attributes, of an object without slots; ``copy.copy`` takes several times as long."""
    result: T = object.__new__(type(original))
    result.__dict__.update(original.__dict__)
    return result
