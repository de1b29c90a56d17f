"""Which parameters of a test are long runs, carried out by ``-m slow`` alone."""

from collections.abc import Iterable

import pytest


def slow_but(quick: Iterable, values: Iterable) -> list:
    """Parameters of a test: those in quick show the same in the quick tests, the others are slow."""
    quick = list(quick)
    return [value if value in quick else slow(value) for value in values]


def slow(value):
    """A parameter, or a tuple of them, that is a long run."""
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
