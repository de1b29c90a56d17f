"""Loading of stored kernels without what their compilation needs.

Before numba loads a kernel it prepares for compilation: it imports what it knows of Python, numpy and LAPACK, which
takes longer than the start of femb itself. Machine code needs none of it, only the addresses of numba's runtime, so
with tested versions of numba kernels are loaded without it; numba prepares itself once there is something to compile.
Nor does machine code need the modules of those functions of numba, such as its ``numpy.empty``, that are part of it.
"""

import io
import pickle
import sys
from functools import cache
from importlib import import_module
from typing import Any

from numba.core import caching

from femb.numerics import kernel_compiler


def _loads_alone() -> bool:
    """Whether kernels can be loaded without what compilation needs: a tested numba with the names that this takes."""
    if not kernel_compiler.KNOWN or not hasattr(getattr(caching, "FunctionCache", None), "_load_overload"):
        return False
    try:
        from llvmlite.binding import add_symbol
        from numba.core.environment import Environment, _rebuild_env, lookup_environment
        from numba.core.runtime._nrt_python import c_helpers
    except ImportError:
        return False
    functions = (add_symbol, _rebuild_env, lookup_environment)
    return all(map(callable, functions)) and isinstance(c_helpers, dict) and hasattr(Environment, "_memo")


LOADS_ALONE = _loads_alone()


@cache
def add_runtime() -> None:
    """Give the linker the addresses of numba's runtime, under the names by which machine code refers to them."""
    from llvmlite.binding import add_symbol
    from numba.core.runtime._nrt_python import c_helpers

    for name, address in c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def loaded(content: bytes) -> Any:
    """What numba pickled."""
    return _Unpickler(io.BytesIO(content)).load() if LOADS_ALONE else pickle.loads(content)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """The names and constants of a function in machine code; without an import of the module if it is numba's own."""
    from numba.core.environment import Environment, lookup_environment

    known = lookup_environment(name)
    if known is not None:
        return known
    # machine code that handles no Python objects uses the constants alone
    left_out = module.startswith("numba.") and module not in sys.modules
    result = Environment({"__name__": module} if left_out else vars(import_module(module)))
    result.consts[:] = constants
    result.env_name = name
    Environment._memo[name] = result
    return result


class _Unpickler(pickle.Unpickler):
    """With ``_environment`` in place of numba's function."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)
