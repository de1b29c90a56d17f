"""Compiled kernels: three decorators, and a cache that notices every edit.

numba's cache key is the file of the compiled function; it does not change when another file with a called kernel is
edited. The name of the cache folder is therefore a hash of all source files of femb that contain kernels.
"""

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from femb.numerics.compiler.kernel_cache import CacheFolder, find_cache, keep
from femb.numerics.compiler.kernel_compiler import KNOWN, compiled, compiled_inside
from femb.numerics.compiler.kernel_loader import LOADS_ALONE

MARK = re.compile(rb"@(?:kernel|inlined|intrinsic)")  # what a source file with kernels contains


@cache
def kernel_cache() -> CacheFolder:
    """The cache folder for compiled kernels of exactly these sources."""
    digest = hashlib.sha256(f"{sys.version} numba {numba.__version__} {KNOWN} {LOADS_ALONE}".encode())
    for folder in _source_folders():
        # by os.walk, since this is part of every start, and pathlib takes three times as long
        paths = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".py")]
        for path in sorted(paths):
            with open(path, "rb", buffering=0) as source:
                text = source.read()
            if MARK.search(text):
                digest.update(text)
    return find_cache(digest.hexdigest()[:16])


def _source_folders() -> list[Path]:
    """The folders from which femb and its elements are imported; an installation may separate them."""
    folders = [Path(__file__).resolve().parents[2]]
    elements = importlib.util.find_spec("femb.elements")
    if elements is not None:
        folders += [Path(folder).resolve() for folder in elements.submodule_search_locations or ()]
    return folders


def is_compiled() -> bool:
    """Whether some kernels of these sources have been compiled on this machine before."""
    folder = kernel_cache().folder
    return folder is not None and any(folder.rglob("*.nbc"))


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on its first call and store the machine code on disk."""
    return keep(compiled(function), function, kernel_cache())


def kernel_with_entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """A ``kernel`` that others can call by address; see ``femb.numerics.compiler.bound_calls``."""
    return keep(compiled(function, has_entry=True), function, kernel_cache())


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A ``kernel`` that only kernels call: it compiles in an eighth less time, and raises if Python calls it."""
    return compiled_inside(function, lambda inner: keep(inner, function, kernel_cache()))
