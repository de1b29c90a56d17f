"""Compiled kernels: two decorators, and a cache that notices every edit.

numba's own cache key is the file of the compiled function, so an edit in a file that it calls into would go
unnoticed; the cache folder is therefore named by a hash of all of femb's sources that hold kernels.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba

from femb.kernel_compiler import InnerKernel, KernelCompiler

OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
# What a kernel can make arrays with.
ALLOCATING = {"copy", "empty", "empty_like", "eye", "zeros", "zeros_like"}


@cache
def cache_folder() -> Path:
    """Where compiled kernels of exactly these sources are kept."""
    digest = hashlib.sha256(f"{sys.version} numba {numba.__version__}".encode())
    package = Path(__file__).resolve().parent
    for folder in (package, package / "elements"):
        for source in sorted(folder.rglob("*.py")):
            text = source.read_bytes()
            if b"@kernel" in text or b"@inner" in text:
                digest.update(text)
    root = Path(os.environ.get("FEMB_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "femb" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / "femb" / digest.hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def is_compiled() -> bool:
    """Whether some kernels of these sources have been compiled on this machine before."""
    return any(cache_folder().rglob("*.nbc"))


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first call and keep the machine code on disk.

    Division by zero gives inf, as in numpy: the steppers test what they get for finiteness.
    """
    with _cached():
        return numba.njit(cache=True, pipeline_class=KernelCompiler, **_options(function))(function)


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """A ``kernel`` that only kernels call. It takes an eighth less time to compile; called from Python it raises."""
    if numba.config.DISABLE_JIT:
        return function
    options = {"nopython": True, "no_cpython_wrapper": True, **_options(function)}
    with _cached():
        dispatcher = InnerKernel(function, targetoptions=options, pipeline_class=KernelCompiler)
        dispatcher.enable_caching()
    return dispatcher


def _options(function: Callable[..., Any]) -> dict[str, Any]:
    """numba's options. Only what allocates counts references: for every part of an array that takes longer than to
    compute with it, since the counts are atomic."""
    return {**OPTIONS, "_nrt": bool(ALLOCATING & set(function.__code__.co_names))}


@contextmanager
def _cached() -> Iterator[None]:
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
