"""One thread of dense linear algebra.

OpenBLAS divides products of matrices of some tens of rows among all cores, and its threads wait actively for each
other: on a busy machine they take many times the time of one thread.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _libraries() -> Any:
    """The loaded libraries of linear algebra, those of numpy and of scipy."""
    import scipy.linalg  # noqa: F401 - loads its library
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which numpy and scipy compute with one thread; the earlier number holds again after it."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield
