"""Keys of kernels: a change of what a kernel computes changes its key, and nothing else does.

The machine code of a kernel contains that of the kernels it calls, and the constants that both take from their modules.
The key is a hash of the code of all of them, without lines, comments and the text of the function itself: an edit
compiles the kernels again that contain what it changes, and all checkouts share the others. What the operators of lanes
do is in no code of a kernel; the name of the cache folder contains the sources of femb.numerics.compiler.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

OURS = __name__.partition(".")[0]


@cache
def key_of(function: Callable[..., Any]) -> str:
    """The key of a function that is compiled: kernels that have the same compute the same. It is the same in every
    process with the same version of Python."""
    digest = hashlib.sha256()
    for part in _parts(function, ()):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _parts(function: Any, within: tuple[Any, ...]) -> Iterator[str]:
    """Texts that say what a function does; within : the functions that call it."""
    if function in within:
        yield f"calls caller {within.index(function)}"
        return
    within = *within, function
    yield from _of_code(function.__code__, function.__doc__)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    yield from _of_value((function.__defaults__, *cells), within)
    names = sorted(_names(function.__code__))
    for name in names:
        if name in function.__globals__:
            yield name
            value = function.__globals__[name]
            yield from _of_value(value, within)
            if isinstance(value, ModuleType) and _ours(value.__name__):
                for attribute in names:
                    if hasattr(value, attribute):
                        yield attribute
                        yield from _of_value(getattr(value, attribute), within)


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


def _of_value(value: Any, within: tuple[Any, ...]) -> Iterator[str]:
    """Texts of the value of a global name or a constant."""
    inner = getattr(value, "py_func", value)
    if isinstance(value, tuple):
        yield f"{len(value)}"
        for part in value:
            yield from _of_value(part, within)
    elif isinstance(value, np.ndarray | np.generic):
        yield f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    elif isinstance(inner, FunctionType) and (inner is not value or _ours(inner.__module__)):
        yield from _parts(inner, within)
    elif isinstance(value, FunctionType | BuiltinFunctionType | type | ModuleType):
        yield f"{getattr(value, '__module__', '')} {getattr(value, '__qualname__', value.__name__)}"
    elif hasattr(value, "_defn"):
        yield f"intrinsic {value._defn.__module__} {value._defn.__qualname__}"
    else:
        yield f"{type(value).__module__} {type(value).__qualname__} {value!r}"


def _ours(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] == OURS
