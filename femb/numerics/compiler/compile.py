"""Compiled kernels: four decorators, and a cache that notices every edit."""

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from femb.numerics.compiler.kernel_cache import CacheFolder, find_cache, keep
from femb.numerics.compiler.kernel_compiler import KNOWN, compiled, compiled_inside
from femb.numerics.compiler.kernel_loader import LOADS_ALONE


@cache
def kernel_cache() -> CacheFolder:
    """The cache folder for kernels that this compiler compiled; see ``femb.numerics.compiler.kernel_key``."""
    digest = hashlib.sha256(f"{sys.version} numba {numba.__version__} {KNOWN} {LOADS_ALONE}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return find_cache(digest.hexdigest()[:16])


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on its first call and store the machine code on disk."""
    return keep(compiled(function), function, kernel_cache())


def kernel_with_entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """A ``kernel`` that others can call by address; see ``femb.numerics.compiler.bound_calls``."""
    return keep(compiled(function, has_entry=True), function, kernel_cache())


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A ``kernel`` that only kernels call: it compiles in an eighth less time, and raises if Python calls it."""
    return compiled_inside(function, lambda inner: keep(inner, function, kernel_cache()))


def merged(function: Callable[..., Any]) -> Callable[..., Any]:
    """``inlined``, and its instructions stand in place of every call: for short functions that return vectors."""
    return compiled_inside(function, lambda inner: keep(inner, function, kernel_cache()), merged=True)
