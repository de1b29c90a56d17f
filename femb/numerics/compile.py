"""Compiled kernels: two decorators, and a cache that notices every edit.

numba's own cache key is the file of the compiled function, so an edit in a file that it calls into would go
unnoticed; the cache folder is therefore named by a hash of all of femb's sources that hold kernels.
"""

import hashlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from femb.numerics.kernel_cache import Place, find_place, keep
from femb.numerics.kernel_compiler import KNOWN, compiled, compiled_inside


@cache
def cache_place() -> Place:
    """Where compiled kernels of exactly these sources are kept."""
    digest = hashlib.sha256(f"{sys.version} numba {numba.__version__} {KNOWN}".encode())
    for folder in _source_folders():
        for source in sorted(folder.rglob("*.py")):
            text = source.read_bytes()
            if b"@kernel" in text or b"@inlined" in text:
                digest.update(text)
    return find_place(digest.hexdigest()[:16])


def _source_folders() -> list[Path]:
    """Those that femb and its elements are imported from, wherever an installation has put them."""
    folders = [Path(__file__).resolve().parents[1]]
    elements = importlib.util.find_spec("femb.elements")
    if elements is not None:
        folders += [Path(each).resolve() for each in elements.submodule_search_locations or ()]
    return folders


def is_compiled() -> bool:
    """Whether some kernels of these sources have been compiled on this machine before."""
    folder = cache_place().folder
    return folder is not None and any(folder.rglob("*.nbc"))


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first call and keep the machine code on disk."""
    return keep(compiled(function), function, cache_place())


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A ``kernel`` that only kernels call. It takes an eighth less time to compile; called from Python it raises."""
    return keep(compiled_inside(function), function, cache_place())
