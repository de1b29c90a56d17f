"""Keys of kernels: a change of what a kernel computes changes its key, and nothing else does.

The machine code of a kernel contains that of the kernels it calls, the constants that both take from their modules, and
what Python functions wrote into it while it was made: those behind traced functions and intrinsics, with all that they
call. The key is a hash of the code of all of them, without lines, comments and the text of the function itself: an edit
compiles the kernels again that contain what it changes, and all checkouts share the others. Functions of plug-ins count
as femb's do; those of Python's and numba's own libraries are names. What the operators of lanes do is in no code of a
kernel; the name of the cache folder contains the sources of femb.numerics.compiler.
"""

import hashlib
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

# Packages whose functions are named only: their versions are part of the cache folder's name, or of numba's.
LIBRARIES = sys.stdlib_module_names | {"numba", "numpy", "llvmlite", "scipy"}


@cache
def key_of(function: Callable[..., Any]) -> str:
    """The key of a function that is compiled: kernels that have the same compute the same. It is the same in every
    process with the same version of Python."""
    digest = hashlib.sha256()
    for part in _parts(function, {}):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _parts(function: Any, seen: dict[Any, int]) -> Iterator[str]:
    """Texts that say what a function does; seen : the functions before it, numbered."""
    if function in seen:
        yield f"function {seen[function]}"
        return
    seen[function] = len(seen)
    yield from _of_code(function.__code__, function.__doc__)
    yield from _of_value((function.__defaults__, function.__kwdefaults__), seen)
    for cell in function.__closure__ or ():
        yield from _of_value(cell.cell_contents, seen)
    names = sorted(_names(function.__code__))
    for name in names:
        if name in function.__globals__:
            yield name
            value = function.__globals__[name]
            yield from _of_value(value, seen)
            if isinstance(value, ModuleType) and not _is_library(value.__name__):
                for attribute in names:
                    if hasattr(value, attribute):
                        yield attribute
                        yield from _of_value(getattr(value, attribute), seen)


def _names(code: CodeType) -> set[str]:
    """Names of globals and attributes, also in functions inside."""
    inside = [_names(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inside)


def _of_code(code: CodeType, text: str | None) -> Iterator[str]:
    """Texts of the code of a function; text : its docstring, which is left out."""
    yield repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags))
    yield repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount))
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _of_code(part, None)
        elif isinstance(part, frozenset):
            yield repr(sorted(part, key=repr))
        elif part is not text:
            yield repr(part)


def _of_value(value: Any, seen: dict[Any, int]) -> Iterator[str]:
    """Texts of the value of a global name or a constant."""
    inner = _python_of(value)
    if inner is not None and (inner is not value or not _is_library(inner.__module__)):
        yield from _parts(inner, seen)
    elif hasattr(value, "key_parts"):
        yield from _of_value(value.key_parts, seen)
    elif isinstance(value, type) and not _is_library(value.__module__):
        yield from _of_class(value, seen)
    elif isinstance(value, partial):
        yield from _of_value((value.func, value.args, value.keywords), seen)
    elif isinstance(value, list | tuple):
        yield f"{type(value).__qualname__} {len(value)}"
        for part in value:
            yield from _of_value(part, seen)
    elif isinstance(value, dict):
        yield from _of_value(tuple(value.items()), seen)
    elif isinstance(value, np.ndarray | np.generic):
        yield f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    elif isinstance(value, FunctionType | BuiltinFunctionType | type | ModuleType) or type(value) is type(np.cross):
        yield f"{getattr(value, '__module__', '')} {getattr(value, '__qualname__', value.__name__)}"
    else:
        yield f"{type(value).__module__} {type(value).__qualname__} {value!r}"


def _python_of(value: Any) -> Any:
    """The Python function behind a kernel, an intrinsic, a traced function, a method or a property; None of others."""
    for name, kind in (("py_func", None), ("_defn", None), ("__func__", MethodType | staticmethod | classmethod)):
        if kind is None or isinstance(value, kind):
            value = getattr(value, name, value)
    if isinstance(value, property):
        value = value.fget
    return value if isinstance(value, FunctionType) else None


def _of_class(kind: type, seen: dict[Any, int]) -> Iterator[str]:
    """Texts of a class: its name, the fields of a named tuple, and its functions."""
    yield f"{kind.__module__} {kind.__qualname__} {getattr(kind, '_fields', ())}"
    if kind in seen:
        return
    seen[kind] = len(seen)
    for base in kind.__mro__:
        for name, value in sorted(vars(base).items()) if not _is_library(base.__module__) else ():
            inner = _python_of(value)
            if inner is not None and not _is_library(inner.__module__):
                yield name
                yield from _parts(inner, seen)


def _is_library(module: str | None) -> bool:
    return module is None or module.partition(".")[0] in LIBRARIES
